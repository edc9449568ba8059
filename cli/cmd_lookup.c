/* cmd_lookup.c - sextant lookup: get, rank, floor and ceil for a column of
 * queries. */
#include <stdlib.h>

#include "io.h"
#include "json.h"
#include "open.h"
#include "opts.h"
#include "progress.h"
#include "say.h"
#include "value.h"
#include "verbs.h"

/* Queries per call: enough to keep every thread busy, few enough for the
 * bar to move and the answers to stay small. */
enum { STEP = 1 << 20 };

enum { MODE_GET = 1, MODE_RANK, MODE_FLOOR, MODE_CEIL }; /* as --mode has */

typedef struct {
    open_options open;
    const char *index, *queries, *out;
    int mode, side, format, out_format;
    bool keys, json;
} lookup_options;

typedef struct {                  /* of one call */
    sx_column queries;
    sx_column rows;               /* or ranks */
    sx_column keys;               /* found; only with --keys */
} answers;

static void ask(const sx_index *ix, const lookup_options *o, answers *a)
{
    sx_column *keys = o->keys ? &a->keys : NULL;
    sx_status status = SX_OK;

    switch (o->mode) {
    case MODE_GET:
        status = sx_get(ix, &a->queries, &a->rows, NULL);
        break;
    case MODE_RANK:
        status = sx_rank(ix, &a->queries, o->side == 2 ? SX_RIGHT : SX_LEFT,
                         &a->rows, NULL);
        break;
    case MODE_FLOOR:
        status = sx_floor(ix, &a->queries, &a->rows, keys, NULL);
        break;
    case MODE_CEIL:
        status = sx_ceil(ix, &a->queries, &a->rows, keys, NULL);
        break;
    }
    expect_ok(status, NULL);
}

static const void *value_at(const sx_column *c, uint64_t i)
{
    return (const char *)c->data + i * sx_type_bytes(c->type);
}

static void print_json(FILE *to, const lookup_options *o, const answers *a)
{
    const char *name = o->mode == MODE_RANK ? "rank" : "row";

    for (uint64_t i = 0; i < a->queries.n; i++) {
        uint64_t row = ((const uint64_t *)a->rows.data)[i];
        json j = json_line(to);

        json_value(&j, "query", a->queries.type, value_at(&a->queries, i));
        if (row == SX_MISS)
            json_null(&j, name);
        else
            json_unsigned(&j, name, row);
        if (o->keys && row == SX_MISS)
            json_null(&j, "key");
        else if (o->keys)
            json_value(&j, "key", a->keys.type, value_at(&a->keys, i));
        json_end_line(&j);
    }
}

static void print_rows_and_keys(FILE *to, const answers *a)
{
    char row_text[VALUE_TEXT_MAX], key_text[VALUE_TEXT_MAX];

    for (uint64_t i = 0; i < a->queries.n; i++) {
        uint64_t row = ((const uint64_t *)a->rows.data)[i];

        if (row == SX_MISS) {
            fputs("- -\n", to);
            continue;
        }
        value_print(SX_U64, &row, row_text);
        value_print(a->keys.type, value_at(&a->keys, i), key_text);
        fprintf(to, "%s %s\n", row_text, key_text);
    }
}

static void print(column_writer *w, const lookup_options *o,
                  const answers *a)
{
    if (o->json)
        print_json(w->out.to, o, a);
    else if (o->keys)
        print_rows_and_keys(w->out.to, a);
    else
        writer_put(w, a->rows.data, a->queries.n);
    output_check(&w->out);
}

static void lookup_all(const sx_index *ix, const sx_column *queries,
                       const lookup_options *o, column_writer *w)
{
    uint64_t space = queries->n < STEP ? queries->n : STEP;
    answers a = {
        .rows = column_over(SX_U64, space, must_alloc(space, 8)),
        .keys = column_over(queries->type, space,
                            must_alloc(space, sx_type_bytes(queries->type)))
    };

    progress_start("looking up", queries->n);
    for (uint64_t i = 0; i < queries->n; i += STEP) {
        uint64_t rest = queries->n - i;

        a.queries = column_part(queries, i, rest < STEP ? rest : STEP);
        ask(ix, o, &a);
        print(w, o, &a);
        progress_at(i + a.queries.n);
    }
    progress_stop();
    free(a.rows.data);
    free(a.keys.data);
}

static void check_options(const lookup_options *o, file_format out_format)
{
    if (o->side && o->mode != MODE_RANK)
        fail_usage("--side is for --mode rank only");
    if (o->keys && o->mode != MODE_FLOOR && o->mode != MODE_CEIL)
        fail_usage("--keys is for --mode floor and --mode ceil only");
    if (o->keys && !o->json && out_format != FORMAT_TEXT)
        fail_usage("--keys needs text or --json output: other formats hold "
                   "one column");
    expect_other_file(o->out, o->index);
    expect_other_file(o->out, o->queries);
}

int cmd_lookup(int argc, char **argv)
{
    lookup_options o = { .out = "-", .mode = MODE_GET };
    const operand operands[] = { { "INDEX", &o.index },
                                 { "QUERIES", &o.queries }, { 0, 0 } };
    const option options[] = {
        { "--mode", 0, OPT_CHOICE, "get|rank|floor|ceil", &o.mode,
          "equal key's row; keys below; row at or below; row at or "
          "above" },
        { "--side", 0, OPT_CHOICE, "left|right", &o.side,
          "rank: keys below (left), or below and equal (right)" },
        { "--keys", 0, OPT_FLAG, 0, &o.keys,
          "floor, ceil: the key found, behind its row" },
        OPTION_OUTPUT(&o.out, "where to (stdout)"),
        OPTION_FORMAT(&o.format, "format of QUERIES (by its name)"),
        { "--out-format", 0, OPT_CHOICE, FORMAT_CHOICES, &o.out_format,
          "format of the output (by its name)" },
        OPTIONS_OPEN_INDEX(&o.open, &o.json),
        OPTION_END
    };
    const command_line line = { "Looks up a column of queries: a line for "
                                "each, '-' for no match.", operands, options };
    file_format out_format = FORMAT_TEXT;
    column_writer w;
    output out;
    sx_column queries;
    sx_index *ix;

    parse_arguments(&line, argc, argv);
    if (!o.json)
        out_format = format_of_output(o.out, (file_format)o.out_format);
    check_options(&o, out_format);
    out = output_open(o.out);
    ix = open_index(&o.open, o.index, 0);
    queries = read_column(o.queries,
                          format_needed(o.queries, (file_format)o.format),
                          describe(ix).key_type);
    w = writer_start(out, out_format, SX_U64, queries.n);
    w.dash_for_miss = true;
    lookup_all(ix, &queries, &o, &w);
    writer_close(&w);
    free(queries.data);
    sx_free(ix);
    return EXIT_OK;
}
