/* cmd_prefix.c - sextant prefix: the keys that begin with the first bits of each given one; strings,
 * with all of its bytes. */
#include <stdlib.h>

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
    STEP = 1 << 14                /* prefixes per call */
};

typedef struct {
    open_options open;
    const char *index, *of, *bits_from, *out;
    word_list given;              /* --key */
    text_options text;
    bool count, rows, keys, last, json;
    int format;
    uint64_t limit, bits;
} prefix_options;

typedef struct {                  /* a prefix: number i of these */
    const sx_column *of;
    const notation *as;
    uint64_t i;
} question;

/* What one prefix has found, on one line: n of these from `from` on. as: how they are written. */
static void print_found(FILE *to, const prefix_options *o, question q, const notation *as,
                        const sx_column *found, uint64_t from, uint64_t n)
{
    bool as_csv = output_is_csv(o->out, FORMAT_UNKNOWN);

    if (o->json) {
        json j = json_line(to);

        key_json(&j, "query", q.as, q.of, q.i);
        if (o->count) {
            json_unsigned(&j, "count", n);
        } else {
            json_begin_array(&j, o->rows ? "rows" : "keys");
            for (uint64_t i = from; i < from + n; i++)
                key_json(&j, NULL, as, found, i);
            json_end_array(&j);
        }
        json_end_line(&j);
        return;
    }
    if (o->count)
        fprintf(to, "%llu", (unsigned long long)n);
    for (uint64_t i = from; !o->count && i < from + n; i++) {
        if (i > from)
            fputc(as_csv ? ',' : ' ', to);
        key_print(to, as, found, i, as_csv ? KEY_CSV : KEY_LISTED);
    }
    fputc('\n', to);
}

/* Asks twice: how many there are, then for them; for strings once more, when it is known how many
 * bytes they have. */
static void ask_part(const sx_index *ix, const prefix_options *o, const notation *as,
                     const sx_column *of, const sx_column *bits, output *out)
{
    sx_prefixes prefixes = { .size = sizeof prefixes, .of = of, .bits = bits, .last = o->last,
                             .length = o->bits == NOT_GIVEN ? 0 : (uint32_t)o->bits,
                             .limit = o->limit };
    sx_column first = column_over(SX_U64, of->n + 1, must_alloc(of->n + 1, 8));
    const uint64_t *starts = first.data;
    int type = o->rows ? SX_U64 : of->type;
    sx_column found = { 0 };
    sx_status status;

    expect_ok(sx_prefix(ix, &prefixes, &first, NULL, NULL, NULL), NULL);
    if (!o->count) {
        found = key_space(type, starts[of->n]);
        do {
            status = sx_prefix(ix, &prefixes, &first, o->rows ? &found : NULL,
                               o->keys ? &found : NULL, NULL);
        } while (key_again(status, &found, found.n));
        expect_ok(status, NULL);
    }
    for (uint64_t i = 0; i < of->n; i++)
        print_found(out->to, o, (question){ of, as, i }, o->rows ? notation_at(0) : as, &found, starts[i],
                    starts[i + 1] - starts[i]);
    output_check(out);
    key_free(&found);
    free(first.data);
}

static void check_options(const prefix_options *o, bool bits_given)
{
    if (o->count + o->rows + o->keys != 1)
        fail_usage("give one of --count, --rows and --keys");
    if (bits_given && o->bits_from)
        fail_usage("give --bits, or --bits-from for prefixes of different lengths, not both");
    if (!o->of == !o->given.n)
        fail_usage("give KEYS or --key");
    if (o->last && !o->limit)
        fail_usage("--last needs --limit");
    if (o->bits > 128 && bits_given)
        fail_usage("--bits is %llu: no key is longer than 128 bits", (unsigned long long)o->bits);
    expect_other_file(o->out, o->index);
    if (o->of)
        expect_other_file(o->out, o->of);
    if (o->of)
        expect_one_stdin(o->of, o->bits_from ? o->bits_from : "");
}

/* What the keys of this index have to do with bits. */
static void check_type(const prefix_options *o, const notation *as, int type)
{
    bool bits = o->bits != NOT_GIVEN || o->bits_from;

    if (as->networks)
        fail("%s: an index of networks has no prefixes: its keys are where pieces of networks "
             "begin", o->index);
    if (type == SX_STR && bits)
        fail_usage("%s has strings, whose prefixes are strings: --bits and --bits-from are for "
                   "other keys", o->index);
    if (type != SX_STR && !bits)
        fail_usage("give --bits, or --bits-from for prefixes of different lengths");
    if (o->bits != NOT_GIVEN && o->bits > 8 * sx_type_bytes(type))
        fail_usage("--bits is %llu: %s keys have %zu bits", (unsigned long long)o->bits,
                   sx_type_name(type), 8 * sx_type_bytes(type));
}

/* The prefixes of the command line, or of the file. */
static sx_column read_prefixes(const prefix_options *o, const notation *as, int type,
                               time_unit unit)
{
    reading how = { .format = (file_format)o->format, .type = type, .as = as,
                    .text = o->text, .unit = unit };

    return o->of ? read_keys(&o->of, 1, &how, NULL)
                 : keys_of_words(&o->given, "--key", as, type);
}

int cmd_prefix(int argc, char **argv)
{
    prefix_options o = { .out = "-", .bits = NOT_GIVEN };
    const operand operands[] = { OPERAND("INDEX", &o.index), OPERAND_OPTIONAL("KEYS", &o.of),
                                 OPERAND_END };
    const option options[] = {
        { "--key", 0, OPT_WORDS, "KEY", &o.given, "a prefix, in place of KEYS; again for more" },
        { "--bits", 0, OPT_SIZE, "N", &o.bits,
          "how many leading bits of each key count; of strings, all bytes do" },
        { "--bits-from", 0, OPT_WORD, "FILE", &o.bits_from, "the same, a number for each key" },
        { "--count", 0, OPT_FLAG, 0, &o.count, "how many keys begin so" },
        { "--rows", 0, OPT_FLAG, 0, &o.rows, "their rows, by ascending key" },
        { "--keys", 0, OPT_FLAG, 0, &o.keys, "the keys, ascending" },
        { "--limit", 0, OPT_COUNT, "K", &o.limit, "of each prefix at most the first K keys" },
        { "--last", 0, OPT_FLAG, 0, &o.last, "with --limit: the last K instead" },
        OPTIONS_TEXT(&o.text, "prefixes"),
        OPTION_OUTPUT(&o.out, "where to (stdout)"),
        OPTION_IN_FORMAT(&o.format, "format of KEYS (by its name)"),
        OPTIONS_OPEN_INDEX(&o.open, &o.json),
        OPTION_END
    };
    const command_line line = { "For each of KEYS, tells about keys of the index that "
                                "begin with the same bits or bytes: a line each.", operands, options };
    sx_column of, bits = { 0 };
    const notation *as;
    int type;
    sx_index *ix;
    output out;

    parse_arguments(&line, argc, argv);
    check_options(&o, o.bits != NOT_GIVEN);
    if (o.of)
        format_needed(o.of, (file_format)o.format);
    out = output_open(o.out);
    ix = open_index(&o.open, o.index, 0);
    as = notation_of(ix);
    type = describe(ix).key_type;
    check_type(&o, as, type);
    of = read_prefixes(&o, as, type, unit_of_index(ix));
    if (o.bits_from) {
        bits = read_column(o.bits_from, format_needed(o.bits_from, FORMAT_UNKNOWN), SX_U32);
        if (bits.n != of.n)
            fail("%s has %llu values, %s has %llu: each prefix needs both", o.of ? o.of : "--key",
                 (unsigned long long)of.n, o.bits_from, (unsigned long long)bits.n);
    }
    progress_start("searching", of.n);
    for (uint64_t i = 0; i < of.n; i += STEP) {
        uint64_t n = of.n - i < STEP ? of.n - i : STEP;
        sx_column part = column_part(&of, i, n), lengths = bits;

        if (o.bits_from)
            lengths = column_part(&bits, i, n);
        ask_part(ix, &o, as, &part, o.bits_from ? &lengths : NULL, &out);
        progress_at(i + n);
    }
    progress_stop();
    output_close(&out);
    key_free(&of);
    free(bits.data);
    sx_free(ix);
    return EXIT_OK;
}
