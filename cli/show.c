#include "show.h"

#include <stdlib.h>
#include <string.h>

#include "key_column.h"
#include "networks.h"
#include "open.h"
#include "say.h"

show show_open(const show_options *o, const sx_index *ix, file_format out_format,
               bool keys, bool row_wanted, bool as_json)
{
    const char *none = sx_note_of(ix, NOTE_NONE);
    bool binary = !as_json && out_format != FORMAT_TEXT;
    show s = { .as = notation_of(ix), .key_type = describe(ix).key_type, .keys = keys,
               .unit = unit_of_index(ix),
               .json = as_json, .fallback = o->fallback, .values = o->values.n,
               .rows = row_wanted || as_json || (!o->lines.n && !o->values.n),
               .none = SX_MISS };

    if (o->columns.n && !o->lines.n)
        fail_usage("--columns is for --lines");
    if (o->lines_as.n && !o->lines.n)
        fail_usage("--lines-as is for --lines");
    if (binary && o->lines.n)
        fail_usage("--lines needs text or --json output: other formats hold numbers");
    if (binary && keys && s.key_type == SX_STR)
        fail_usage("strings are written as text or --json");
    if (binary && keys + s.values > 1)
        fail_usage("a file of numbers holds one column: give --keys or one --values");
    if (o->fallback && !keys && !s.values)
        fail_usage("--default is for --keys and --values");
    if (s.as->networks && none)
        s.none = strtoull(none, NULL, 10);
    for (unsigned i = 0; i < s.values; i++) {
        text_facts facts = { 0 };

        s.value[i] = read_keys(&o->values.word[i], 1, &(reading){ .format = FORMAT_NPY },
                               &facts);
        if (i == 0)
            s.value_unit = facts.unit;
    }
    if (o->lines.n)
        s.lines = lines_open(&o->lines, &o->lines_as, &o->columns, ix);
    return s;
}

void show_close(show *s)
{
    for (unsigned i = 0; i < s->values; i++)
        free(s->value[i].data);
    if (s->lines)
        lines_free(s->lines);
}

void show_expect_other_files(const show_options *o, const char *out)
{
    for (unsigned i = 0; i < o->lines.n; i++)
        expect_other_file(out, o->lines.word[i]);
    for (unsigned i = 0; i < o->values.n; i++)
        expect_other_file(out, o->values.word[i]);
}

void show_expect_one_stdin(const show_options *o, const char *path)
{
    for (unsigned i = 0; i < o->lines.n; i++) {
        if (path)
            expect_one_stdin(path, o->lines.word[i]);
        for (unsigned other = 0; other < i; other++)
            expect_one_stdin(o->lines.word[other], o->lines.word[i]);
    }
}

sx_column keys_of_words(const word_list *words, const char *name, const notation *as,
                        int type)
{
    size_t size = sx_type_bytes(type);
    growing_column strings = { .column = column_over(type, 0, NULL) };
    char *data;

    for (unsigned i = 0; i < words->n && type == SX_STR; i++)
        key_append(&strings, words->word[i], strlen(words->word[i]));
    if (type == SX_STR)
        return strings.column;
    data = must_alloc(words->n, size);
    for (unsigned i = 0; i < words->n; i++)
        if (!as->parse(type, words->word[i], strlen(words->word[i]), data + i * size))
            fail_usage("%s '%s' is not %s", name, words->word[i], as->expected(type));
    return column_over(type, words->n, data);
}

void show_settle(const show *s, uint64_t *rows, uint64_t n)
{
    if (s->none == SX_MISS)
        return;
    for (uint64_t i = 0; i < n; i++)
        if (rows[i] == s->none)
            rows[i] = SX_MISS;
}

static const void *value_of(const sx_column *values, uint64_t row)
{
    if (row >= values->n)
        fail("row %llu has no value: a file of --values has %llu",
             (unsigned long long)row, (unsigned long long)values->n);
    return (const char *)values->data + row * sx_type_bytes(values->type);
}

/* ---- text and JSON ------------------------------------------------------------- */

static void print_between(const show *s, FILE *to, bool *any)
{
    if (*any)
        fputc(s->csv ? ',' : ' ', to);
    *any = true;
}

static void print_word(const show *s, FILE *to, bool *any, const char *word, size_t length)
{
    print_between(s, to, any);
    if (s->csv)
        csv_print(to, word, length);
    else
        fwrite(word, 1, length, to);
}

void show_print(const show *s, FILE *to, uint64_t row, const sx_column *keys, uint64_t i)
{
    char text[VALUE_TEXT_MAX];
    const char *none = s->fallback ? s->fallback : "-";
    bool any = false, miss = row == SX_MISS;

    if (s->rows && miss)
        print_word(s, to, &any, "-", 1);
    else if (s->rows)
        print_word(s, to, &any, text, value_print(SX_U64, &row, text));
    if (s->keys && !keys) {
        print_word(s, to, &any, none, strlen(none));
    } else if (s->keys) {
        print_between(s, to, &any);
        key_print(to, s->as, keys, i, s->csv ? KEY_CSV
                                      : s->values || s->lines ? KEY_LISTED : KEY_ALONE);
    }
    for (unsigned v = 0; v < s->values; v++) {
        if (miss)
            print_word(s, to, &any, none, strlen(none));
        else
            print_word(s, to, &any, text, value_print(s->value[v].type,
                                                      value_of(&s->value[v], row), text));
    }
    if (s->lines) {
        print_between(s, to, &any);
        lines_print(s->lines, to, row, s->csv);
    }
}

void show_json(const show *s, json *j, uint64_t row, const sx_column *keys, uint64_t i)
{
    bool miss = row == SX_MISS;

    if (miss)
        json_null(j, "row");
    else
        json_unsigned(j, "row", row);
    if (s->keys && !keys)
        json_null(j, "key");
    else if (s->keys)
        key_json(j, "key", s->as, keys, i);
    if (s->values) {
        json_begin_array(j, "values");
        for (unsigned v = 0; v < s->values; v++)
            if (miss)
                json_null(j, NULL);
            else
                json_value(j, NULL, s->value[v].type, value_of(&s->value[v], row));
        json_end_array(j);
    }
    if (s->lines)
        lines_json(s->lines, j, row);
}

/* ---- numbers --------------------------------------------------------------------- */

int show_type(const show *s)
{
    return s->keys ? s->key_type : s->values ? s->value[0].type : SX_U64;
}

time_unit show_unit(const show *s)
{
    return s->keys ? s->unit : s->value_unit;
}

/* What stands for no match in a column of keys or values. */
static void fallback_value(const show *s, uint64_t query, void *out)
{
    const notation *as = s->keys ? s->as : notation_at(0);
    int type = show_type(s);

    if (!s->fallback)
        fail("answer %llu is no match, for which %s has no number: --default VALUE says "
             "what to write", (unsigned long long)query,
             s->keys ? "a column of keys" : "a column of values");
    if (!as->parse(type, s->fallback, strlen(s->fallback), out))
        fail_usage("--default: '%s' is not %s", s->fallback, as->expected(type));
}

void show_put(const show *s, column_writer *w, const uint64_t *rows, const void *keys,
              uint64_t n, uint64_t from)
{
    size_t size = sx_type_bytes(show_type(s));
    char *out;

    if (!s->keys && !s->values) {
        writer_put(w, rows, n);
        return;
    }
    out = must_alloc(n, size);
    for (uint64_t i = 0; i < n; i++) {
        void *to = out + i * size;

        if (rows[i] == SX_MISS)
            fallback_value(s, from + i, to);
        else
            memcpy(to, s->keys ? (const char *)keys + i * size
                               : value_of(&s->value[0], rows[i]), size);
    }
    writer_put(w, out, n);
    free(out);
}
