/* cmd_climb.c - sextant climb: from each key to its parent, and on to the top. */
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "json.h"
#include "key_column.h"
#include "notation.h"
#include "open.h"
#include "opts.h"
#include "progress.h"
#include "say.h"
#include "verbs.h"

enum {
    STEP = 1 << 16                /* keys per call */
};

typedef struct {
    open_options open;
    const char *index, *of, *parents, *out;
    bool rows, keys, steps, json;
    int format;
    uint64_t limit;
} climb_options;

/* One line for each key: what it was asked for; '-' if the key is not there. */
static void print_tops(FILE *to, const climb_options *o, const notation *as, const sx_column *rows,
                       const sx_column *keys, const sx_column *steps)
{
    for (uint64_t i = 0; i < rows->n; i++) {
        const uint64_t *row = (const uint64_t *)rows->data + i;
        uint32_t step = ((const uint32_t *)steps->data)[i];

        if (o->json) {
            json j = json_line(to);

            if (*row == SX_MISS) {
                json_null(&j, "row");
            } else {
                json_unsigned(&j, "row", *row);
                key_json(&j, "key", as, keys, i);
                json_unsigned(&j, "steps", step);
            }
            json_end_line(&j);
        } else if (*row == SX_MISS) {
            fputs("-\n", to);
        } else if (o->keys) {
            key_print(to, as, keys, i, false);
            fputc('\n', to);
        } else {
            fprintf(to, "%llu\n", (unsigned long long)(o->rows ? *row : step));
        }
    }
}

static void climb_part(const sx_index *ix, const climb_options *o, const notation *as,
                       const sx_column *of, const sx_column *parents, output *out)
{
    sx_climbs climbs = { .size = sizeof climbs, .of = of, .parents = parents,
                         .limit = (uint32_t)o->limit };
    sx_column rows = column_over(SX_U64, of->n, must_alloc(of->n, 8));
    sx_column keys = key_space(of->type, of->n);
    sx_column steps = column_over(SX_U32, of->n, must_alloc(of->n, 4));
    sx_status status;

    do {                          /* of strings once more, when their bytes are known */
        status = sx_climb(ix, &climbs, &rows, &keys, &steps, NULL);
    } while (key_again(status, &keys, of->n));
    expect_ok(status, NULL);
    print_tops(out->to, o, as, &rows, &keys, &steps);
    output_check(out);
    free(rows.data);
    key_free(&keys);
    free(steps.data);
}

/* KEYS or PARENTS, written as the keys of the index were. */
static sx_column read_climbers(const climb_options *o, const char *path, const notation *as,
                               int type)
{
    reading how = { .format = format_needed(path, (file_format)o->format), .type = type, .as = as };

    return read_keys(&path, 1, &how, NULL);
}

int cmd_climb(int argc, char **argv)
{
    climb_options o = { .out = "-" };
    const operand operands[] = { OPERAND("INDEX", &o.index), OPERAND("KEYS", &o.of),
                                 OPERAND("PARENTS", &o.parents), OPERAND_END };
    const option options[] = {
        { "--rows", 0, OPT_FLAG, 0, &o.rows, "the row of each key's top" },
        { "--keys", 0, OPT_FLAG, 0, &o.keys, "the top itself" },
        { "--steps", 0, OPT_FLAG, 0, &o.steps, "how many steps it is away" },
        { "--limit", 0, OPT_COUNT, "N", &o.limit, "take at most N steps" },
        OPTION_OUTPUT(&o.out, "where to (stdout)"),
        OPTION_FORMAT(&o.format, "format of KEYS and PARENTS (by their names)"),
        OPTIONS_OPEN_INDEX(&o.open, &o.json),
        OPTION_END
    };
    const command_line line = { "Goes from each of KEYS to its parent, and on to the top. PARENTS has "
                                "those of rows 0, 1, ...",
                                operands, options };
    sx_column of, parents;
    const notation *as;
    sx_index *ix;
    output out;

    parse_arguments(&line, argc, argv);
    if (o.rows + o.keys + o.steps + o.json != 1)
        fail_usage("give one of --rows, --keys, --steps and --json");
    if (o.limit >= UINT32_MAX)
        fail_usage("--limit is %llu; allowed: up to 4294967294", (unsigned long long)o.limit);
    expect_one_stdin(o.of, o.parents);
    expect_other_file(o.out, o.index);
    expect_other_file(o.out, o.of);
    expect_other_file(o.out, o.parents);
    out = output_open(o.out);
    ix = open_index(&o.open, o.index, 0);
    as = notation_of(ix);
    if (as->networks)
        fail("%s: networks have no parents to climb to: the keys of this index are where pieces of "
             "networks begin", o.index);
    of = read_climbers(&o, o.of, as, describe(ix).key_type);
    parents = read_climbers(&o, o.parents, as, describe(ix).key_type);
    progress_start("climbing", of.n);
    for (uint64_t i = 0; i < of.n; i += STEP) {
        uint64_t n = of.n - i < STEP ? of.n - i : STEP;
        sx_column part = column_part(&of, i, n);

        climb_part(ix, &o, as, &part, &parents, &out);
        progress_at(i + n);
    }
    progress_stop();
    output_close(&out);
    key_free(&of);
    key_free(&parents);
    sx_free(ix);
    return EXIT_OK;
}
