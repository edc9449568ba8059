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
#include "show.h"
#include "verbs.h"

enum {
    STEP = 1 << 16                /* keys per call */
};

typedef struct {
    open_options open;
    const char *index, *of, *parents, *parent_column, *out;
    word_list given;              /* --key */
    text_options text;
    bool rows, keys, steps, json;
    int format;
    uint64_t limit;
} climb_options;

static void print_json(FILE *to, const notation *as, const sx_column *of, uint64_t i,
                       uint64_t row, const sx_column *keys, uint32_t step)
{
    json j = json_line(to);

    key_json(&j, "query", as, of, i);
    if (row == SX_MISS) {
        json_null(&j, "row");
        json_null(&j, "key");
        json_null(&j, "steps");
    } else {
        json_unsigned(&j, "row", row);
        key_json(&j, "key", as, keys, i);
        json_unsigned(&j, "steps", step);
    }
    json_end_line(&j);
}

/* One line for each key: what it was asked for; '-' if the key is not there. */
static void print_tops(FILE *to, const climb_options *o, const notation *as, const sx_column *of,
                       const sx_column *rows, const sx_column *keys, const sx_column *steps)
{
    bool as_csv = output_is_csv(o->out, FORMAT_UNKNOWN);

    for (uint64_t i = 0; i < rows->n; i++) {
        const uint64_t *row = (const uint64_t *)rows->data + i;
        uint32_t step = ((const uint32_t *)steps->data)[i];

        if (o->json) {
            print_json(to, as, of, i, *row, keys, step);
        } else if (*row == SX_MISS) {
            fputs("-\n", to);
        } else if (o->keys) {
            key_print(to, as, keys, i, as_csv ? KEY_CSV : KEY_ALONE);
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
    print_tops(out->to, o, as, of, &rows, &keys, &steps);
    output_check(out);
    free(rows.data);
    key_free(&keys);
    free(steps.data);
}

/* With --key the file is that of the parents. */
static void check_options(climb_options *o)
{
    if (o->given.n && o->parents)
        fail_usage("give KEYS or --key, not both");
    if (o->given.n) {
        o->parents = o->of;
        o->of = NULL;
    }
    if (!o->parents)
        fail_usage("PARENTS is missing");
    if (o->rows + o->keys + o->steps + o->json != 1)
        fail_usage("give one of --rows, --keys, --steps and --json");
    if (o->limit >= UINT32_MAX)
        fail_usage("--limit is %llu; allowed: up to 4294967294", (unsigned long long)o->limit);
    expect_other_file(o->out, o->index);
    expect_other_file(o->out, o->parents);
    if (o->of) {
        expect_one_stdin(o->of, o->parents);
        expect_other_file(o->out, o->of);
        format_needed(o->of, (file_format)o->format);
    }
    format_needed(o->parents, (file_format)o->format);
}

int cmd_climb(int argc, char **argv)
{
    climb_options o = { .out = "-" };
    const operand operands[] = { OPERAND("INDEX", &o.index), OPERAND("KEYS", &o.of),
                                 OPERAND_OPTIONAL("PARENTS", &o.parents), OPERAND_END };
    const option options[] = {
        { "--key", 0, OPT_WORDS, "KEY", &o.given, "a key, in place of KEYS; again for more" },
        { "--rows", 0, OPT_FLAG, 0, &o.rows, "the row of each key's top" },
        { "--keys", 0, OPT_FLAG, 0, &o.keys, "the top itself" },
        { "--steps", 0, OPT_FLAG, 0, &o.steps, "how many steps it is away" },
        { "--limit", 0, OPT_COUNT, "N", &o.limit, "take at most N steps" },
        OPTIONS_TEXT(&o.text, "keys"),
        { "--parent-column", 0, OPT_WORD, "NAME|NUMBER", &o.parent_column,
          "csv, tsv: the column that has the parents (as --column)" },
        OPTION_OUTPUT(&o.out, "where to (stdout)"),
        OPTION_IN_FORMAT(&o.format, "format of KEYS and PARENTS (by their names)"),
        OPTIONS_OPEN_INDEX(&o.open, &o.json),
        OPTION_END
    };
    const command_line line = { "Goes from each of KEYS to its parent, and on to the top. PARENTS has "
                                "those of rows 0, 1, ...",
                                operands, options };
    reading how;
    sx_column of, parents;
    sx_index *ix;
    output out;

    parse_arguments(&line, argc, argv);
    check_options(&o);
    out = output_open(o.out);
    ix = open_index(&o.open, o.index, 0);
    how = (reading){ .format = (file_format)o.format, .type = describe(ix).key_type,
                     .as = notation_of(ix), .text = o.text, .unit = unit_of_index(ix) };
    if (how.as->networks)
        fail("%s: an index of networks has no parents: its keys are where pieces of networks "
             "begin", o.index);
    of = o.of ? read_keys(&o.of, 1, &how, NULL)
              : keys_of_words(&o.given, "--key", how.as, how.type);
    if (o.parent_column)
        how.text.column = o.parent_column;
    parents = read_keys(&o.parents, 1, &how, NULL);
    progress_start("climbing", of.n);
    for (uint64_t i = 0; i < of.n; i += STEP) {
        uint64_t n = of.n - i < STEP ? of.n - i : STEP;
        sx_column part = column_part(&of, i, n);

        climb_part(ix, &o, how.as, &part, &parents, &out);
        progress_at(i + n);
    }
    progress_stop();
    output_close(&out);
    key_free(&of);
    key_free(&parents);
    sx_free(ix);
    return EXIT_OK;
}
