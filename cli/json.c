#include "json.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "sextant.h"
#include "utf8.h"
#include "value.h"

/* JSON is UTF-8: bytes that are not become U+FFFD, one for each. */
static void quote(FILE *to, const char *text, size_t length)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + length;

    fputc('"', to);
    while (p < end) {
        size_t n = utf8_character(p, (size_t)(end - p));

        if (*p == '"' || *p == '\\')
            fprintf(to, "\\%c", *p);
        else if (*p < 0x20)
            fprintf(to, "\\u%04x", *p);
        else if (n)
            fwrite(p, 1, n, to);
        else
            fputs("\\ufffd", to);
        p += n ? n : 1;
    }
    fputc('"', to);
}

static void before(json *j, const char *name)
{
    if (j->comma)
        fputs(", ", j->to);
    j->comma = true;
    if (name) {
        quote(j->to, name, strlen(name));
        fputs(": ", j->to);
    }
}

json json_line(FILE *to)
{
    fputc('{', to);
    return (json){ .to = to, .comma = false };
}

void json_end_line(json *j)
{
    fputs("}\n", j->to);
}

void json_bytes(json *j, const char *name, const char *text, size_t length)
{
    before(j, name);
    quote(j->to, text, length);
}

void json_string(json *j, const char *name, const char *text)
{
    json_bytes(j, name, text, strlen(text));
}

void json_unsigned(json *j, const char *name, uint64_t value)
{
    json_value(j, name, SX_U64, &value);
}

void json_real(json *j, const char *name, double value)
{
    before(j, name);
    if (isfinite(value))
        fprintf(j->to, "%.6g", value);
    else
        fputs("null", j->to);
}

void json_bool(json *j, const char *name, bool value)
{
    before(j, name);
    fputs(value ? "true" : "false", j->to);
}

void json_null(json *j, const char *name)
{
    before(j, name);
    fputs("null", j->to);
}

void json_value(json *j, const char *name, int type, const void *value)
{
    char text[VALUE_TEXT_MAX];

    before(j, name);
    value_print(type, value, text);
    if (type == SX_B16 || value_is_not_finite(type, value))
        quote(j->to, text, strlen(text));
    else
        fputs(text, j->to);
}

void json_key(json *j, const char *name, const notation *as, int type,
              const void *value)
{
    char text[VALUE_TEXT_MAX];

    if (as->numbers) {
        json_value(j, name, type, value);
        return;
    }
    json_bytes(j, name, text, as->print(type, value, text));
}

void json_begin_object(json *j, const char *name)
{
    before(j, name);
    fputc('{', j->to);
    j->comma = false;
}

void json_end_object(json *j)
{
    fputc('}', j->to);
    j->comma = true;
}

void json_begin_array(json *j, const char *name)
{
    before(j, name);
    fputc('[', j->to);
    j->comma = false;
}

void json_end_array(json *j)
{
    fputc(']', j->to);
    j->comma = true;
}

void json_text(json *j, const char *name, const char *text)
{
    before(j, name);
    json_squeeze(j->to, text);
}

void json_squeeze(FILE *to, const char *text)
{
    bool inside = false;          /* a string, where blanks count */

    for (; *text; text++) {
        if (!inside && isspace((unsigned char)*text))
            continue;
        fputc(*text, to);
        if (*text == '"')
            inside = !inside;
        else if (inside && *text == '\\' && text[1])
            fputc(*++text, to);
    }
}
