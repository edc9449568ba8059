/* cmd_lookup.c - sextant lookup: get, rank, floor and ceil for a column of
 * queries. */
#include <stdlib.h>

#include "io.h"
#include "json.h"
#include "key_column.h"
#include "open.h"
#include "opts.h"
#include "progress.h"
#include "say.h"
#include "show.h"
#include "verbs.h"

/* Queries per call: enough to keep every thread busy, few enough for the
 * bar to move and the answers to stay small. */
enum { STEP = 1 << 20 };

enum { MODE_GET = 1, MODE_RANK, MODE_FLOOR, MODE_CEIL }; /* as --mode has */

typedef struct {
    open_options open;
    const char *index, *queries, *out;
    word_list given;              /* --key */
    int mode, side, format, out_format;
    show_options shown;
    text_options text;
    bool keys, json;
} lookup_options;

typedef struct {                  /* of one call */
    sx_column queries;
    sx_column rows;               /* or ranks */
    sx_column keys;               /* found; only with --keys */
} answers;

static sx_status ask_once(const sx_index *ix, const lookup_options *o, answers *a)
{
    sx_column *keys = o->keys ? &a->keys : NULL;

    switch (o->mode) {
    case MODE_GET:
        return sx_get(ix, &a->queries, &a->rows, NULL);
    case MODE_RANK:
        return sx_rank(ix, &a->queries, o->side == 2 ? SX_RIGHT : SX_LEFT, &a->rows,
                       NULL);
    case MODE_FLOOR:
        return sx_floor(ix, &a->queries, &a->rows, keys, NULL);
    default:
        return sx_ceil(ix, &a->queries, &a->rows, keys, NULL);
    }
}

static void ask(const sx_index *ix, const lookup_options *o, answers *a)
{
    sx_status status;

    do {
        status = ask_once(ix, o, a);
    } while (key_again(status, &a->keys, a->queries.n));
    expect_ok(status, NULL);
}

/* The keys that were found; NULL: there is none for this query. */
static const sx_column *key_of(const answers *a, uint64_t i)
{
    return ((const uint64_t *)a->rows.data)[i] == SX_MISS ? NULL : &a->keys;
}

static void print_json(FILE *to, const lookup_options *o, const show *s,
                       const answers *a)
{
    for (uint64_t i = 0; i < a->queries.n; i++) {
        uint64_t row = ((const uint64_t *)a->rows.data)[i];
        json j = json_line(to);

        key_json(&j, "query", s->as, &a->queries, i);
        if (o->mode == MODE_RANK)
            json_unsigned(&j, "rank", row);
        else
            show_json(s, &j, row, key_of(a, i), i);
        json_end_line(&j);
    }
}

static void print_text(FILE *to, const show *s, const answers *a)
{
    for (uint64_t i = 0; i < a->queries.n; i++) {
        show_print(s, to, ((const uint64_t *)a->rows.data)[i], key_of(a, i), i);
        fputc('\n', to);
    }
}

/* from: the number of the first of these queries. */
static void print(column_writer *w, const lookup_options *o, const show *s,
                  const answers *a, uint64_t from)
{
    const uint64_t *rows = a->rows.data;

    if (o->json)
        print_json(w->out.to, o, s, a);
    else if (w->format != FORMAT_TEXT || (!o->keys && !s->values && !s->lines))
        show_put(s, w, rows, a->keys.data, a->queries.n, from);
    else
        print_text(w->out.to, s, a);
    output_check(&w->out);
}

static void lookup_all(const sx_index *ix, const sx_column *queries,
                       const lookup_options *o, const show *s, column_writer *w)
{
    uint64_t space = queries->n < STEP ? queries->n : STEP;
    answers a = {
        .rows = column_over(SX_U64, space, must_alloc(space, 8)),
        .keys = key_space(queries->type, space)
    };

    progress_start("looking up", queries->n);
    for (uint64_t i = 0; i < queries->n; i += STEP) {
        uint64_t rest = queries->n - i;

        a.queries = column_part(queries, i, rest < STEP ? rest : STEP);
        ask(ix, o, &a);
        if (o->mode != MODE_RANK)
            show_settle(s, a.rows.data, a.queries.n);
        print(w, o, s, &a, i);
        progress_at(i + a.queries.n);
    }
    progress_stop();
    free(a.rows.data);
    key_free(&a.keys);
}

static void check_options(const lookup_options *o)
{
    bool more = o->shown.lines.n || o->shown.values.n;

    if (o->side && o->mode != MODE_RANK)
        fail_usage("--side is for --mode rank only");
    if (o->keys && o->mode != MODE_FLOOR && o->mode != MODE_CEIL && o->mode)
        fail_usage("--keys is for --mode floor and --mode ceil only");
    if (more && o->mode == MODE_RANK)
        fail_usage("--lines and --values are not for --mode rank");
    if (!o->queries && !o->given.n)
        fail_usage("QUERIES is missing, or --key");
    if (o->queries && o->given.n)
        fail_usage("give QUERIES or --key, not both");
    expect_other_file(o->out, o->index);
    if (o->queries)
        expect_other_file(o->out, o->queries);
    show_expect_other_files(&o->shown, o->out);
    show_expect_one_stdin(&o->shown, o->queries);
}

/* What is asked if --mode does not say it, and what can't be. */
static void settle_mode(lookup_options *o, const notation *as)
{
    if (as->networks && o->mode && o->mode != MODE_FLOOR)
        fail_usage("an index of networks is asked with --mode floor: which network holds "
                   "the address");
    if (!o->mode)
        o->mode = as->networks ? MODE_FLOOR : MODE_GET;
    if (o->keys && o->mode == MODE_GET)
        fail_usage("--keys is for --mode floor and --mode ceil only");
}

/* The queries of the command line, or of the file. */
static sx_column read_queries(const lookup_options *o, const show *s)
{
    reading how = { .format = (file_format)o->format, .type = s->key_type, .as = s->as,
                    .text = o->text, .unit = s->unit };

    return o->queries ? read_keys(&o->queries, 1, &how, NULL)
                      : keys_of_words(&o->given, "--key", s->as, s->key_type);
}

int cmd_lookup(int argc, char **argv)
{
    lookup_options o = { .out = "-" };
    const operand operands[] = { OPERAND("INDEX", &o.index),
                                 OPERAND_OPTIONAL("QUERIES", &o.queries), OPERAND_END };
    const option options[] = {
        { "--mode", 0, OPT_CHOICE, "get|rank|floor|ceil", &o.mode,
          "equal key's row; keys below; row at or below; row at or "
          "above" },
        { "--key", 0, OPT_WORDS, "KEY", &o.given,
          "a query, in place of QUERIES; again for more" },
        { "--side", 0, OPT_CHOICE, "left|right", &o.side,
          "rank: keys below (left), or below and equal (right)" },
        { "--keys", 0, OPT_FLAG, 0, &o.keys,
          "floor, ceil: the key found, behind its row" },
        OPTIONS_SHOW(&o.shown),
        OPTIONS_TEXT(&o.text, "queries"),
        OPTION_OUTPUT(&o.out, "where to (stdout)"),
        OPTION_IN_FORMAT(&o.format, "format of QUERIES (by its name)"),
        OPTION_OUT_FORMAT(&o.out_format),
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
    show s;

    parse_arguments(&line, argc, argv);
    if (!o.json)
        out_format = format_of_output(o.out, (file_format)o.out_format);
    check_options(&o);
    if (o.queries)
        format_needed(o.queries, (file_format)o.format);
    out = output_open(o.out);
    ix = open_index(&o.open, o.index, 0);
    s = show_open(&o.shown, ix, out_format, o.keys, false, o.json);
    s.csv = !o.json && output_is_csv(o.out, (file_format)o.out_format);
    settle_mode(&o, s.as);
    queries = read_queries(&o, &s);
    w = writer_start(out, out_format, show_type(&s), show_unit(&s), queries.n);
    w.dash_for_miss = true;
    lookup_all(ix, &queries, &o, &s, &w);
    writer_close(&w);
    key_free(&queries);
    show_close(&s);
    sx_free(ix);
    return EXIT_OK;
}
