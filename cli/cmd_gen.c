/* cmd_gen.c - sextant gen: keys of a distribution, or queries for keys. */
#include <stdlib.h>

#include "gen.h"
#include "io.h"
#include "opts.h"
#include "progress.h"
#include "queries.h"
#include "reference.h"
#include "say.h"
#include "verbs.h"

enum { WRITE_STEP = 1 << 20 };    /* values between two looks at the bar */

typedef struct {
    int type, dist, format, skew;
    uint64_t n, seed;
    bool sorted, zipf;
    double misses;
    const char *from, *out;
} gen_options;

static sx_column make_keys(const gen_options *o)
{
    sx_column keys;

    require_option(o->type != 0, "--type");
    if (o->misses > 0 || o->zipf || o->skew)
        fail_usage("--misses, --zipf and --skew are for queries, that is for "
                   "--from");
    keys = column_over(o->type, o->n,
                       must_alloc(o->n, sx_type_bytes(o->type)));
    gen_keys((distribution)(o->dist ? o->dist : DIST_UNIFORM), o->type, o->n,
             o->seed, keys.data);
    return keys;
}

static sx_column make_queries(const gen_options *o, time_unit *unit)
{
    file_format format = format_of_name(o->from, FORMAT_UNKNOWN);
    query_mix wanted = { .misses = o->misses, .seed = o->seed,
                         .skew = skew_settled(o->skew, o->zipf) };
    bool ordered = needs_order(&wanted);
    sx_column keys, queries;
    text_facts facts = { 0 };
    reference ref;

    if (o->dist)
        fail_usage("--dist is for keys, --from for queries: give one");
    if (format == FORMAT_UNKNOWN)
        format = format_needed(o->from, (file_format)o->format);
    keys = read_keys(&o->from, 1, &(reading){ .format = format, .type = o->type }, &facts);
    *unit = facts.unit;
    if (ordered)
        ref = reference_build(&keys, NULL);
    queries = draw_queries(&keys, ordered ? &ref : NULL, o->n, &wanted);
    if (ordered)
        reference_free(&ref);
    free(keys.data);
    return queries;
}

static void write_all(const sx_column *column, output out, file_format format,
                      time_unit unit)
{
    column_writer w = writer_start(out, format, column->type, unit, column->n);

    progress_start("writing", column->n);
    for (uint64_t i = 0; i < column->n; i += WRITE_STEP) {
        uint64_t rest = column->n - i;
        sx_column part = column_part(column, i, rest < WRITE_STEP
                                                    ? rest : WRITE_STEP);

        writer_put(&w, part.data, part.n);
        progress_at(i);
    }
    progress_stop();
    writer_close(&w);
}

int cmd_gen(int argc, char **argv)
{
    gen_options o = { .n = NOT_GIVEN, .seed = 1, .out = "-" };
    const operand operands[] = { OPERAND_END };
    const option options[] = {
        OPTION_TYPE(&o.type, "type of the keys"),
        { "--dist", 0, OPT_CHOICE, DIST_CHOICES, &o.dist,
          "distribution of the keys (uniform)" },
        { "--n", 'n', OPT_SIZE, "N", &o.n,
          "how many: 1000, 2^24, 16M (of 2^20), 1e6" },
        { "--seed", 0, OPT_SIZE, "S", &o.seed,
          "same seed, same keys (1)" },
        { "--sorted", 0, OPT_FLAG, 0, &o.sorted,
          "in ascending order (else random)" },
        { "--from", 0, OPT_WORD, "KEYS", &o.from,
          "draw queries from the keys of this file instead" },
        { "--misses", 0, OPT_FRACTION, "F", &o.misses,
          "with --from: part of the queries that lie between keys (0)" },
        { "--zipf", 0, OPT_FLAG, 0, &o.zipf,
          "with --from: few keys are asked for very often" },
        { "--skew", 0, OPT_CHOICE, SKEW_CHOICES, &o.skew,
          "with --from: " SKEW_HELP },
        OPTION_OUTPUT(&o.out, "where to (stdout)"),
        OPTION_FORMAT(&o.format, "format of the output (by its name)"),
        OPTION_END
    };
    const command_line line = { "Makes keys of a distribution, or queries "
                                "for given keys.", operands, options };
    time_unit unit = { 0 };
    file_format format;
    sx_column column;
    output out;

    parse_arguments(&line, argc, argv);
    require_option(o.n != NOT_GIVEN, "--n");
    format = format_needed(o.out, (file_format)o.format);
    if (o.from)
        expect_other_file(o.out, o.from);
    out = output_open(o.out);
    column = o.from ? make_queries(&o, &unit) : make_keys(&o);
    if (o.sorted)
        reference_sort_keys(&column);
    write_all(&column, out, format, unit);
    free(column.data);
    return EXIT_OK;
}
