#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sx_text_add(sx_text *t, const char *format, ...)
{
    size_t used = t->length < t->space ? t->length : t->space;
    va_list args;

    va_start(args, format);
    int n = vsnprintf(t->buf ? t->buf + used : NULL, t->space - used, format, args);
    va_end(args);
    if (n > 0)
        t->length += (size_t)n;
}

void sx_text_fixed(sx_text *t, double x, unsigned decimals)
{
    unsigned long long scale = 1, n;

    for (unsigned i = 0; i < decimals; i++)
        scale *= 10;
    n = (unsigned long long)(x * (double)scale + 0.5);
    sx_text_add(t, "%llu.%0*llu", n / scale, (int)decimals, n % scale);
}

/* ---- characters ------------------------------------------------------------------ */

unsigned sx_text_char(const char *s, uint32_t *code)
{
    /* The least code that needs as many bytes behind the first as the subscript says. */
    static const uint32_t least[] = {1, 0x80, 0x800, 0x10000};
    unsigned char c = (unsigned char)*s;
    unsigned more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    uint32_t x = more ? c & (0x3fu >> more) : c;

    if ((c >= 0x80 && c < 0xc0) || c >= 0xf8)
        return 0;
    for (unsigned i = 1; i <= more; i++) {
        if (((unsigned char)s[i] & 0xc0) != 0x80)
            return 0;             /* also at the 0 that ends s */
        x = x << 6 | ((unsigned char)s[i] & 0x3f);
    }
    if (x < least[more] || x > 0x10ffff || (x >= 0xd800 && x < 0xe000))
        return 0;
    *code = x;
    return more + 1;
}

int sx_text_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

static void add_code(sx_text *t, uint32_t code)
{
    if (code >= 0x10000)
        sx_text_add(t, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
                    0xdc00 + (code & 0x3ff));
    else
        sx_text_add(t, "\\u%04x", code);
}

/* Bytes that are not UTF-8 become the replacement character. */
static void add_escaped(sx_text *t, const char *s, const char *escaped, uint32_t first_coded)
{
    uint32_t code = 0;

    for (unsigned n; *s; s += n) {
        n = sx_text_char(s, &code);
        if (n == 0) {
            code = 0xfffd;
            n = 1;
            add_code(t, code);
        } else if (code < 0x80 && strchr(escaped, (int)code)) {
            sx_text_add(t, "\\%c", (int)code);
        } else if (sx_text_control(code) || code >= first_coded) {
            add_code(t, code);
        } else {
            sx_text_add(t, "%.*s", (int)n, s);
        }
    }
}

void sx_text_json(sx_text *t, const char *s)
{
    sx_text_add(t, "\"");
    add_escaped(t, s, "\"\\", 0x80);
    sx_text_add(t, "\"");
}

void sx_text_line(sx_text *t, const char *s)
{
    add_escaped(t, s, "\\", UINT32_MAX);
}
