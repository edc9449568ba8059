/* io_text.c - columns out of text: one value a line, CSV and TSV.
 *
 * Which records have keys: all of them but a header. --header yes|no says whether
 * there is one; if it does not, then a column that is named asks for one, and
 * otherwise the first record of a csv or tsv file is a header if its field is no
 * key. A value a line has no header. */
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "io.h"
#include "key_column.h"
#include "progress.h"
#include "say.h"
#include "table.h"

enum { RECORDS_BETWEEN = 1 << 14 };   /* two looks at the bar */

static char one_character(const char *option, const char *word, char usual)
{
    if (!word)
        return usual;
    if (!strcmp(word, "\\t") || !strcmp(word, "tab"))
        return '\t';
    if (strlen(word) != 1 || strchr("\"\r\n", *word))
        fail_usage("%s wants one character, and neither a quote nor a line end, not '%s'",
                   option, word);
    return *word;
}

dialect dialect_of(file_format format, const text_options *o)
{
    dialect how = {
        .comment = one_character("--comment", o->comment, 0),
        .ragged = o->ragged,
    };

    if (format == FORMAT_TEXT) {
        if (o->column || o->delimiter)
            fail_usage("%s is for csv and tsv: lines of text are one value each",
                       o->column ? "--column" : "--delimiter");
        return how;
    }
    how.delimiter = one_character("--delimiter", o->delimiter,
                                  format == FORMAT_CSV ? ',' : '\t');
    how.quotes = format == FORMAT_CSV && !o->no_quotes;
    how.skips_empty = true;
    if (how.comment == how.delimiter)
        fail_usage("--comment and --delimiter are the same, '%c'", how.comment);
    return how;
}

bool column_is_named(const char *column)
{
    return column && strspn(column, "0123456789") < strlen(column);
}

/* ---- columns by name -------------------------------------------------------- */

_Noreturn static void fail_no_column(csv *c, const char *name, unsigned fields)
{
    char list[400] = "", *scratch = NULL;
    size_t used = 0;

    for (unsigned i = 0; i < fields && used + 80 < sizeof list; i++) {
        csv_field f = csv_get(c, i);
        size_t length;
        const char *text = csv_meant(&f, &scratch, &length);

        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s",
                                 i ? ", " : "", (int)(length < 60 ? length : 60), text);
    }
    fail("%s:%llu: no column is named '%s': there are %s", c->name,
         (unsigned long long)c->record_line, name, list);
}

unsigned column_named(csv *c, const char *name)
{
    unsigned fields = csv_fields(c), found = fields;
    char *scratch = NULL;

    for (unsigned i = 0; i < fields; i++) {
        csv_field f = csv_get(c, i);
        size_t length;
        const char *text = csv_meant(&f, &scratch, &length);

        trim(&text, &length);
        if (length != strlen(name) || memcmp(text, name, length))
            continue;
        if (found < fields)
            fail("%s:%llu: columns %u and %u are both named '%s'; a number says which", c->name,
                 (unsigned long long)c->record_line, found + 1, i + 1, name);
        found = i;
    }
    free(scratch);
    if (found == fields)
        fail_no_column(c, name, fields);
    return found;
}

unsigned column_numbered(const char *option, const char *word)
{
    unsigned long number = strtoul(word, NULL, 10);

    if (number < 1 || number > COLUMNS_MOST)
        fail_usage("%s wants a name, or a number from 1 to %u, not '%s'", option,
                   COLUMNS_MOST, word);
    return (unsigned)number - 1;
}

/* ---- the column of keys ------------------------------------------------------- */

void trim(const char **text, size_t *length)
{
    while (*length && (**text == ' ' || **text == '\t')) {
        ++*text;
        --*length;
    }
    while (*length && ((*text)[*length - 1] == ' ' || (*text)[*length - 1] == '\t' ||
                       (*text)[*length - 1] == '\r'))
        --*length;
}

/* Which field has the keys, at the first record. */
static unsigned choose_column(csv *c, const text_options *o)
{
    if (column_is_named(o->column))
        return column_named(c, o->column);
    if (o->column)
        return column_numbered("--column", o->column);
    if (csv_fields(c) != 1)
        fail_usage("%s has %u columns: --column NAME|NUMBER says which one has the keys",
                   c->name, csv_fields(c));
    return 0;
}

typedef struct {                  /* what is done with a field */
    text_taker take;
    void *context;
    bool whole;                   /* with the blanks round it */
} taking;

/* What is taken out of the record: NULL, or what its text should have been. */
static const char *take_field(csv *c, unsigned i, const taking *t, char **scratch)
{
    csv_field f = csv_get(c, i);
    size_t length;
    const char *text;

    if (!f.text)
        fail("%s:%llu: the line has %u fields, and the keys are in column %u", c->name,
             (unsigned long long)c->record_line, csv_fields(c), i + 1);
    text = csv_meant(&f, scratch, &length);
    if (!t->whole)
        trim(&text, &length);
    return t->take(t->context, text, length);
}

/* "FILE:LINE:COLUMN: 'TEXT' is not ...", of a field that is no key. */
static void describe_field(csv *c, unsigned i, const char *expected, char *out,
                           size_t space)
{
    csv_field f = csv_get(c, i);
    const char *text = f.text;
    size_t length = f.length;
    csv_place where;

    trim(&text, &length);
    where = csv_where(c, length ? text : f.text);
    snprintf(out, space, "%s:%llu:%llu: '%.*s'%s is not %s", c->name,
             (unsigned long long)where.line, (unsigned long long)where.column,
             length < 60 ? (int)length : 60, text, length > 60 ? "..." : "", expected);
}

/* Reads the first record: true if it was a header. */
static bool take_first(csv *c, const text_options *o, unsigned *field, const taking *t,
                       char **scratch, const char **expected)
{
    bool named = column_is_named(o->column);

    if (named && o->header == 2)
        fail_usage("--column %s needs a header, and --header no says there is none",
                   o->column);
    *field = choose_column(c, o);
    if (named || o->header == 1) {
        csv_get(c, 0);            /* other records are held against its width */
        return true;
    }
    *expected = take_field(c, *field, t, scratch);
    return *expected && c->how.delimiter && o->header == 0;
}

/* Rows count through all files, so all have a header or none has. */
static void expect_agreement(text_facts *facts, const char *path, bool header)
{
    int this_one = header ? 1 : 2;

    if (!facts->header) {
        facts->header = this_one;
        facts->path = path;
    }
    if (facts->header != this_one)
        fail("%s begins with %s, but %s with %s: --header yes or no says what is right",
             path, header ? "a header" : "a key", facts->path,
             header ? "a key" : "a header");
}

static void read_fields(const char *path, file_format format,
                        const text_options *options, const taking *t, text_facts *facts)
{
    input in = input_open(path, true);
    csv c = csv_of_input(&in, dialect_of(format, options));
    char wrong[512] = "", *scratch = NULL;
    const char *expected = NULL;
    unsigned field = 0;
    uint64_t records = 0;
    bool header = false;

    progress_start("reading", in.packed);
    if (csv_next(&c)) {
        header = take_first(&c, options, &field, t, &scratch, &expected);
        if (expected)
            describe_field(&c, field, expected, wrong, sizeof wrong);
        if (expected && !header)
            fail("%s", wrong);
        while (csv_next(&c)) {
            expected = take_field(&c, field, t, &scratch);
            if (expected) {
                describe_field(&c, field, expected, wrong, sizeof wrong);
                fail("%s", wrong);
            }
            if (++records % RECORDS_BETWEEN == 0)
                progress_at(input_progress(&in));
        }
        /* A header was only guessed, and nothing supports that. */
        if (*wrong && !records)
            fail("%s; if it is a name, add --header yes", wrong);
        expect_agreement(facts, in.name, header);
    } else if (column_is_named(options->column)) {
        fail("%s: is empty, and has no column '%s'", in.name, options->column);
    }
    progress_stop();
    free(scratch);
    csv_free(&c);
    input_close(&in);
}

void read_text(const char *path, file_format format, const text_options *options,
               text_taker take, void *context, text_facts *facts)
{
    read_fields(path, format, options, &(taking){ take, context, false }, facts);
}

void read_text_whole(const char *path, file_format format, const text_options *options,
                     text_taker take, void *context, text_facts *facts)
{
    read_fields(path, format, options, &(taking){ take, context, true }, facts);
}

const char *take_key(void *growing, const char *text, size_t length)
{
    growing_column *to = growing;
    size_t size = sx_type_bytes(to->column.type);

    if (to->column.type == SX_STR) {
        key_append(to, text, length);
        return NULL;
    }
    if (to->column.n == to->space) {
        to->space += to->space / 2 + (1 << 14);
        to->column.data = must_grow(to->column.data, to->space, size);
    }
    if (!to->as->parse(to->column.type, text, length,
                       (char *)to->column.data + to->column.n * size))
        return to->as->expected(to->column.type);
    to->column.n++;
    return NULL;
}
