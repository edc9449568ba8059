#include "csv.h"

#include <stdlib.h>
#include <string.h>

#include "say.h"

enum { WINDOW_BYTES = 1 << 20 };
#define RECORD_MOST (1ull << 28)  /* bytes: more is a quote that was forgotten */

/* ---- the window ---------------------------------------------------------- */

static void find_quote(csv *c)
{
    c->quote = c->how.quotes ? memchr(c->at, '"', (size_t)(c->end - c->at)) : NULL;
    if (!c->quote)
        c->quote = c->end;
}

_Noreturn static void fail_at(const csv *c, csv_place where, const char *what)
{
    fail("%s:%llu:%llu: %s", c->name, (unsigned long long)where.line,
         (unsigned long long)where.column, what);
}

/* Brings more of the file behind `end`: false if there is nothing. What is not read
 * yet moves to the front, and pointers into it change. */
static bool more(csv *c)
{
    uint64_t rest = (uint64_t)(c->end - c->at);
    size_t got;

    if (c->over)
        return false;
    if (rest >= RECORD_MOST)
        fail_at(c, (csv_place){ c->line, 1 }, "a record of more than 256 MiB begins "
                "here: is a quote not closed?");
    if (rest)
        memmove(c->buffer, c->at, rest);
    if (c->space - rest < WINDOW_BYTES) {
        c->space = 2 * c->space;
        c->buffer = must_grow(c->buffer, c->space, 1);
    }
    got = input_some(c->in, c->buffer + rest, c->space - rest);
    c->over = got < c->space - rest;
    c->at = c->buffer;
    c->end = c->buffer + rest + got;
    find_quote(c);
    return true;
}

/* Skips the three bytes that some editors put before UTF-8. */
static void skip_mark(csv *c)
{
    size_t n = (size_t)(c->end - c->at);

    if (n >= 3 && !memcmp(c->at, "\xef\xbb\xbf", 3))
        c->at += 3;
    else if (n >= 2 && (!memcmp(c->at, "\xff\xfe", 2) || !memcmp(c->at, "\xfe\xff", 2)))
        fail("%s: is UTF-16; UTF-8 can be read (iconv -f UTF-16 -t UTF-8)", c->name);
    else if (n >= 2 && !memcmp(c->at, "\x1f\x8b", 2))
        fail("%s: is compressed twice, or this tool was built without zlib", c->name);
}

csv csv_of_input(input *in, dialect how)
{
    csv c = { .how = how, .name = in->name, .in = in, .line = 1,
              .space = 2 * WINDOW_BYTES };

    c.buffer = must_alloc(c.space, 1);
    c.at = c.end = c.buffer;
    more(&c);
    skip_mark(&c);
    return c;
}

csv csv_of_memory(const char *text, uint64_t length, const char *name, dialect how)
{
    csv c = { .how = how, .name = name, .at = text, .end = text + length, .over = true,
              .line = 1 };

    find_quote(&c);
    skip_mark(&c);
    return c;
}

void csv_free(csv *c)
{
    free(c->buffer);
    free(c->field);
}

csv_place csv_where(const csv *c, const char *at)
{
    csv_place where = { c->record_line, 1 };
    const char *line = c->begin, *next;

    while ((next = memchr(line, '\n', (size_t)(at - line)))) {
        line = next + 1;
        where.line++;
    }
    where.column += (uint64_t)(at - line);
    return where;
}

/* ---- eight bytes at a time -------------------------------------------------- */

#define EACH_BYTE 0x0101010101010101u

/* The top bit of each byte of the word that is 0, and of no other. */
static uint64_t zero_bytes(uint64_t word)
{
    const uint64_t low = 0x7f * EACH_BYTE;

    return ~(((word & low) + low) | word | low);
}

static uint64_t load_word(const char *p)
{
    uint64_t word;

    memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* As memchr(). Most fields are short, and for these a call takes longer than the search. */
static const char *find_near(const char *p, const char *end, char byte)
{
    const uint64_t pattern = (unsigned char)byte * EACH_BYTE;

    for (int word = 0; word < 2 && end - p >= 8; word++, p += 8) {
        uint64_t found = zero_bytes(load_word(p) ^ pattern);

        if (found)
            return p + __builtin_ctzll(found) / 8;
    }
    return memchr(p, byte, (size_t)(end - p));
}

/* ---- records with quotes ------------------------------------------------- */

static csv_field *new_field(csv *c)
{
    if (c->fields == c->field_space) {
        c->field_space = 2 * c->field_space + 16;
        c->field = must_grow(c->field, c->field_space, sizeof *c->field);
    }
    c->field[c->fields] = (csv_field){ 0 };
    return &c->field[c->fields++];
}

/* Reads a quoted field at p; returns what is behind its closing quote, NULL: more
 * of the file is needed. */
static const char *quoted_field(csv *c, csv_field *f, const char *p)
{
    const char *open = p++;

    f->text = p;
    f->quoted = true;
    for (;;) {
        const char *q = find_near(p, c->end, '"');

        if (!q && c->over)
            fail_at(c, csv_where(c, open), "the quote that begins here is not closed");
        if (!q || (q + 1 == c->end && !c->over))
            return NULL;
        if (q + 1 == c->end || q[1] != '"') {
            f->length = (size_t)(q - f->text);
            return q + 1;
        }
        f->doubled = true;
        p = q + 2;
    }
}

static const char *bare_field(csv *c, csv_field *f, const char *p)
{
    const uint64_t delimiter = (unsigned char)c->how.delimiter * EACH_BYTE;
    uint64_t word;

    f->text = p;
    for (; c->end - p >= 8; p += 8) {
        word = load_word(p);
        if (zero_bytes(word ^ delimiter) | zero_bytes(word ^ '\n' * EACH_BYTE) |
            zero_bytes(word ^ '"' * EACH_BYTE))
            break;
    }
    for (; p < c->end && *p != c->how.delimiter && *p != '\n'; p++)
        if (*p == '"')
            fail_at(c, csv_where(c, p), "a quote inside a field that does not begin with "
                    "one (--no-quotes takes it as it is)");
    if (p == c->end && !c->over)
        return NULL;
    f->length = (size_t)(p - f->text);
    return p;
}

/* Where the line end at p begins and ends, if it is one. */
static bool line_ends(const csv *c, const char *p, const char **next)
{
    const char *end = p;

    if (end < c->end && *end == '\r')
        end++;
    if (end < c->end && *end != '\n')
        return false;
    *next = end < c->end ? end + 1 : end;
    return true;
}

/* Reads the fields of a record at `at`; false: more of the file is needed. */
static bool parse(csv *c, const char **next)
{
    const char *p = c->at;

    c->fields = 0;
    c->begin = p;
    c->record_line = c->line;
    for (;; p++) {
        csv_field *f = new_field(c);
        bool quoted = p < c->end && *p == '"';

        p = quoted ? quoted_field(c, f, p) : bare_field(c, f, p);
        if (!p || (p + 1 >= c->end && !c->over))
            return false;
        if (p < c->end && *p == c->how.delimiter)
            continue;
        if (!line_ends(c, p, next))
            fail_at(c, csv_where(c, p), "a quoted field goes on behind its closing "
                    "quote (a quote inside is written twice)");
        c->stop = p;
        if (!quoted && c->stop > f->text && c->stop[-1] == '\r') {
            f->length--;
            c->stop--;
        }
        return true;
    }
}

/* ---- all records ----------------------------------------------------------- */

static uint64_t line_ends_in(const char *from, const char *to)
{
    uint64_t n = 0;

    while ((from = memchr(from, '\n', (size_t)(to - from)))) {
        n++;
        from++;
    }
    return n;
}

bool csv_next(csv *c)
{
    for (;;) {
        const char *next, *newline;
        bool comment;

        if (c->at == c->end && (!more(c) || c->at == c->end))
            return false;
        newline = memchr(c->at, '\n', (size_t)(c->end - c->at));
        if (!newline && !c->over) {
            more(c);
            continue;
        }
        comment = c->how.comment && *c->at == c->how.comment;
        if (c->quote < c->at)
            find_quote(c);
        c->parsed = c->quote < (newline ? newline : c->end) && !comment;
        if (c->parsed) {
            if (!parse(c, &next)) {
                more(c);
                continue;
            }
            c->line += newline && newline + 1 == next ? 1 : line_ends_in(c->begin, next);
        } else {
            c->begin = c->at;
            c->stop = newline ? newline : c->end;
            next = newline ? newline + 1 : c->end;
            c->record_line = c->line++;
            if (c->stop > c->begin && c->stop[-1] == '\r')
                c->stop--;
        }
        c->at = next;
        if (!comment && !(c->how.skips_empty && c->begin == c->stop))
            return true;
    }
}

/* ---- fields ----------------------------------------------------------------- */

unsigned csv_split(const char *text, const char *stop, char delimiter, unsigned i,
                   const char **from, const char **to)
{
    const uint64_t pattern = (unsigned char)delimiter * EACH_BYTE;
    unsigned seen = 0;            /* delimiters before p */
    const char *p = text;

    *from = i == 0 ? text : NULL;
    *to = stop;
    if (!delimiter)
        return 1;
    for (; p + 8 <= stop; p += 8) {
        uint64_t found = zero_bytes(load_word(p) ^ pattern);

        for (; found && seen <= i; found &= found - 1) {
            const char *here = p + __builtin_ctzll(found) / 8;

            if (seen == i)
                *to = here;
            if (++seen == i)
                *from = here + 1;
        }
        seen += (unsigned)((found >> 7) * EACH_BYTE >> 56);
    }
    for (; p < stop; p++) {
        if (*p != delimiter)
            continue;
        if (seen == i)
            *to = p;
        if (++seen == i)
            *from = p + 1;
    }
    return seen + 1;
}

static void check_width(csv *c, unsigned fields)
{
    if (!c->width)
        c->width = fields;
    if (fields != c->width && !c->how.ragged)
        fail("%s:%llu: the line has %u fields, but the first has %u (--ragged allows "
             "that)", c->name, (unsigned long long)c->record_line, fields, c->width);
}

csv_field csv_get(csv *c, unsigned i)
{
    const char *from, *to;
    unsigned fields;

    if (c->parsed) {
        check_width(c, c->fields);
        return i < c->fields ? c->field[i] : (csv_field){ 0 };
    }
    fields = csv_split(c->begin, c->stop, c->how.delimiter, i, &from, &to);
    if (fields != c->width)
        check_width(c, fields);
    return (csv_field){ .text = from, .length = from ? (size_t)(to - from) : 0 };
}

unsigned csv_fields(csv *c)
{
    const char *from, *to;

    if (c->parsed)
        return c->fields;
    return csv_split(c->begin, c->stop, c->how.delimiter, 0, &from, &to);
}

const char *csv_meant(const csv_field *f, char **scratch, size_t *length)
{
    size_t n = 0;

    *length = f->length;
    if (!f->doubled)
        return f->text;
    *scratch = must_grow(*scratch, f->length, 1);
    for (size_t i = 0; i < f->length; i++) {
        (*scratch)[n++] = f->text[i];
        i += f->text[i] == '"';   /* the second of two */
    }
    *length = n;
    return *scratch;
}

/* ---- writing --------------------------------------------------------------------- */

void csv_print(FILE *to, const char *text, size_t length)
{
    bool quotes = !length || (unsigned char)*text == 0xef;   /* an empty line; a BOM */

    for (size_t i = 0; i < length && !quotes; i++)
        quotes = text[i] && strchr(",\"\r\n", text[i]);
    if (quotes)
        csv_print_quoted(to, text, length);
    else
        fwrite(text, 1, length, to);
}

void csv_print_quoted(FILE *to, const char *text, size_t length)
{
    fputc('"', to);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"')
            fputc('"', to);
        fputc(text[i], to);
    }
    fputc('"', to);
}
