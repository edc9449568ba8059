/* cmd_prefix.c - sextant prefix: the keys that begin with the first bits of each given one. */
#include <stdlib.h>

#include "io.h"
#include "json.h"
#include "open.h"
#include "opts.h"
#include "progress.h"
#include "say.h"
#include "value.h"
#include "verbs.h"

enum {
    STEP = 1 << 14                /* prefixes per call */
};

typedef struct {
    open_options open;
    const char *index, *of, *bits_from, *out;
    bool count, rows, keys, last, json;
    int format;
    uint64_t limit, bits;
} prefix_options;

/* What one prefix has found, on one line. */
static void print_found(FILE *to, const prefix_options *o, int type, const char *values,
                        uint64_t n)
{
    size_t size = sx_type_bytes(type);
    char text[VALUE_TEXT_MAX];

    if (o->json) {
        json j = json_line(to);

        if (o->count) {
            json_unsigned(&j, "count", n);
        } else {
            json_begin_array(&j, o->rows ? "rows" : "keys");
            for (uint64_t i = 0; i < n; i++)
                json_value(&j, NULL, type, values + i * size);
            json_end_array(&j);
        }
        json_end_line(&j);
        return;
    }
    if (o->count)
        fprintf(to, "%llu", (unsigned long long)n);
    for (uint64_t i = 0; !o->count && i < n; i++) {
        value_print(type, values + i * size, text);
        fprintf(to, "%s%s", i ? " " : "", text);
    }
    fputc('\n', to);
}

/* Asks twice: how many there are, then for them. */
static void ask_part(const sx_index *ix, const prefix_options *o, const sx_column *of,
                     const sx_column *bits, output *out)
{
    sx_prefixes prefixes = { .size = sizeof prefixes, .of = of, .bits = bits,
                             .length = (uint32_t)o->bits, .last = o->last, .limit = o->limit };
    sx_column first = column_over(SX_U64, of->n + 1, must_alloc(of->n + 1, 8));
    const uint64_t *starts = first.data;
    int type = o->rows ? SX_U64 : of->type;
    sx_column found = column_over(type, 0, NULL);

    expect_ok(sx_prefix(ix, &prefixes, &first, NULL, NULL, NULL), NULL);
    if (!o->count) {
        found = column_over(type, starts[of->n], must_alloc(starts[of->n] + 1, sx_type_bytes(type)));
        expect_ok(sx_prefix(ix, &prefixes, &first, o->rows ? &found : NULL, o->keys ? &found : NULL,
                            NULL), NULL);
    }
    for (uint64_t i = 0; i < of->n; i++)
        print_found(out->to, o, type, (const char *)found.data + (o->count ? 0 : starts[i]) *
                    sx_type_bytes(type), starts[i + 1] - starts[i]);
    output_check(out);
    free(found.data);
    free(first.data);
}

static void check_options(const prefix_options *o, bool bits_given)
{
    if (o->count + o->rows + o->keys != 1)
        fail_usage("give one of --count, --rows and --keys");
    if (bits_given == (o->bits_from != NULL))
        fail_usage("give --bits, or --bits-from for prefixes of different lengths");
    if (o->last && !o->limit)
        fail_usage("--last needs --limit");
    if (o->bits > 128 && bits_given)
        fail_usage("--bits is %llu: no key is longer than 128 bits", (unsigned long long)o->bits);
    expect_one_stdin(o->of, o->bits_from ? o->bits_from : "");
    expect_other_file(o->out, o->index);
    expect_other_file(o->out, o->of);
}

int cmd_prefix(int argc, char **argv)
{
    prefix_options o = { .out = "-", .bits = NOT_GIVEN };
    const operand operands[] = { OPERAND("INDEX", &o.index), OPERAND("KEYS", &o.of), OPERAND_END };
    const option options[] = {
        { "--bits", 0, OPT_SIZE, "N", &o.bits, "how many leading bits of each key count" },
        { "--bits-from", 0, OPT_WORD, "FILE", &o.bits_from, "the same, a number for each key" },
        { "--count", 0, OPT_FLAG, 0, &o.count, "how many keys begin so" },
        { "--rows", 0, OPT_FLAG, 0, &o.rows, "their rows, by ascending key" },
        { "--keys", 0, OPT_FLAG, 0, &o.keys, "the keys, ascending" },
        { "--limit", 0, OPT_COUNT, "K", &o.limit, "of each prefix at most the first K keys" },
        { "--last", 0, OPT_FLAG, 0, &o.last, "with --limit: the last K instead" },
        OPTION_OUTPUT(&o.out, "where to (stdout)"),
        OPTION_FORMAT(&o.format, "format of KEYS (by its name)"),
        OPTIONS_OPEN_INDEX(&o.open, &o.json),
        OPTION_END
    };
    const command_line line = { "For each key of KEYS, tells about the keys of the index that "
                                "begin with the same bits: a line each.", operands, options };
    sx_column of, bits = { 0 };
    sx_index *ix;
    output out;

    parse_arguments(&line, argc, argv);
    check_options(&o, o.bits != NOT_GIVEN);
    out = output_open(o.out);
    ix = open_index(&o.open, o.index, 0);
    of = read_column(o.of, format_needed(o.of, (file_format)o.format), describe(ix).key_type);
    if (o.bits_from) {
        bits = read_column(o.bits_from, format_needed(o.bits_from, FORMAT_UNKNOWN), SX_U32);
        if (bits.n != of.n)
            fail("%s has %llu values, %s has %llu: each prefix needs both", o.of,
                 (unsigned long long)of.n, o.bits_from, (unsigned long long)bits.n);
    }
    progress_start("searching", of.n);
    for (uint64_t i = 0; i < of.n; i += STEP) {
        uint64_t n = of.n - i < STEP ? of.n - i : STEP;
        sx_column part = column_part(&of, i, n), lengths = bits;

        if (o.bits_from)
            lengths = column_part(&bits, i, n);
        ask_part(ix, &o, &part, o.bits_from ? &lengths : NULL, &out);
        progress_at(i + n);
    }
    progress_stop();
    output_close(&out);
    free(of.data);
    free(bits.data);
    sx_free(ix);
    return EXIT_OK;
}
