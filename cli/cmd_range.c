/* cmd_range.c - sextant range: what lies between lo[i] and hi[i]. */
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
    STEP = 1 << 16,               /* ranges per call */
    RESULTS = 1 << 21             /* rows or keys per call, or one range */
};

typedef struct {
    open_options open;
    const char *index, *lo, *hi, *out;
    bool count, sum, min, max, rows, keys, last, json;
    int format, out_format;
    uint64_t limit;
} range_options;

/* ---- one number per range ---------------------------------------------- */

static const char *number_name(const range_options *o)
{
    return o->count ? "count" : o->sum ? "sum" : o->min ? "min" : "max";
}

static void ask_number(const sx_index *ix, const range_options *o,
                       const sx_ranges *ranges, sx_column *out)
{
    sx_aggregates wanted = { .size = sizeof wanted };

    if (o->count) {
        expect_ok(sx_range_count(ix, ranges, out, NULL), NULL);
        return;
    }
    wanted.sum = o->sum ? out : NULL;
    wanted.min = o->min ? out : NULL;
    wanted.max = o->max ? out : NULL;
    expect_ok(sx_range_aggregate(ix, ranges, &wanted, NULL), NULL);
}

static void print_numbers(const sx_index *ix, const range_options *o,
                          const sx_ranges *ranges, column_writer *w)
{
    uint64_t n = ranges->lo->n;
    sx_column out = column_over(SX_U64, n, must_alloc(n, 8));
    const uint64_t *numbers = out.data;

    ask_number(ix, o, ranges, &out);
    if (!o->json) {
        writer_put(w, numbers, n);
    } else {
        for (uint64_t i = 0; i < n; i++) {
            json j = json_line(w->out.to);

            if (w->dash_for_miss && numbers[i] == SX_MISS)
                json_null(&j, number_name(o));
            else
                json_unsigned(&j, number_name(o), numbers[i]);
            json_end_line(&j);
        }
    }
    free(out.data);
}

/* ---- lists of rows or keys --------------------------------------------- */

/* Prints the rows or keys of one range on one line. */
static void print_list(FILE *to, const range_options *o, int type,
                       const char *values, uint64_t n)
{
    size_t size = sx_type_bytes(type);
    char text[VALUE_TEXT_MAX];

    if (o->json) {
        json j = json_line(to);

        json_begin_array(&j, o->rows ? "rows" : "keys");
        for (uint64_t i = 0; i < n; i++)
            json_value(&j, NULL, type, values + i * size);
        json_end_array(&j);
        json_end_line(&j);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        value_print(type, values + i * size, text);
        if (i)
            fputc(' ', to);
        fputs(text, to);
    }
    fputc('\n', to);
}

typedef struct {                  /* grows to the longest list met */
    int type;
    uint64_t space;
    void *data;
} list_buffer;

/* Asks for ranges [from, from + n), which have `total` results together. */
static void fill_and_print(const sx_index *ix, const range_options *o,
                           const sx_ranges *ranges, uint64_t from,
                           uint64_t n, uint64_t results, list_buffer *buffer,
                           FILE *to)
{
    sx_column lo = column_part(ranges->lo, from, n);
    sx_column hi = column_part(ranges->hi, from, n);
    sx_column first = column_over(SX_U64, n + 1, must_alloc(n + 1, 8));
    sx_ranges part = *ranges;
    const uint64_t *starts = first.data;
    size_t size = sx_type_bytes(buffer->type);
    sx_column out;

    part.lo = &lo;
    part.hi = &hi;
    if (results > buffer->space) {
        buffer->data = must_grow(buffer->data, results, size);
        buffer->space = results;
    }
    out = column_over(buffer->type, buffer->space, buffer->data);
    expect_ok(sx_range(ix, &part, &first, o->rows ? &out : NULL,
                       o->keys ? &out : NULL, NULL), NULL);
    for (uint64_t i = 0; i < n; i++)
        print_list(to, o, out.type, (char *)out.data + starts[i] * size,
                   starts[i + 1] - starts[i]);
    free(first.data);
}

/* Counts first. Then it takes as many ranges at a time as RESULTS has space
 * for, but at least one, so the longest range bounds the memory. */
static void print_lists(const sx_index *ix, const range_options *o,
                        const sx_ranges *ranges, list_buffer *buffer,
                        FILE *to)
{
    uint64_t n = ranges->lo->n, from = 0;
    sx_column counts = column_over(SX_U64, n, must_alloc(n, 8));
    const uint64_t *count = counts.data;

    expect_ok(sx_range_count(ix, ranges, &counts, NULL), NULL);
    while (from < n) {
        uint64_t results = count[from], some = 1;

        while (from + some < n && results < RESULTS &&
               count[from + some] <= RESULTS - results)
            results += count[from + some++];
        fill_and_print(ix, o, ranges, from, some, results, buffer, to);
        from += some;
    }
    free(counts.data);
}

/* ---- all ranges -------------------------------------------------------- */

static void range_all(const sx_index *ix, const sx_column *lo,
                      const sx_column *hi, const range_options *o,
                      column_writer *w)
{
    list_buffer buffer = { .type = o->rows ? SX_U64 : lo->type };

    progress_start("searching", lo->n);
    for (uint64_t i = 0; i < lo->n; i += STEP) {
        uint64_t n = lo->n - i < STEP ? lo->n - i : STEP;
        sx_column lo_part = column_part(lo, i, n);
        sx_column hi_part = column_part(hi, i, n);
        sx_ranges ranges = { .size = sizeof ranges, .lo = &lo_part,
                             .hi = &hi_part, .limit = o->limit,
                             .last = o->last };

        if (o->rows || o->keys)
            print_lists(ix, o, &ranges, &buffer, w->out.to);
        else
            print_numbers(ix, o, &ranges, w);
        output_check(&w->out);
        progress_at(i + n);
    }
    progress_stop();
    free(buffer.data);
}

static void check_options(const range_options *o, file_format out_format)
{
    if (o->count + o->sum + o->min + o->max + o->rows + o->keys != 1)
        fail_usage("give one of --count, --sum, --min, --max, --rows and "
                   "--keys");
    if (o->last && !o->limit)
        fail_usage("--last needs --limit");
    if ((o->rows || o->keys) && out_format != FORMAT_TEXT)
        fail_usage("--rows and --keys need text or --json output: other "
                   "formats hold one column");
    expect_one_stdin(o->lo, o->hi);
    expect_other_file(o->out, o->index);
    expect_other_file(o->out, o->lo);
    expect_other_file(o->out, o->hi);
}

int cmd_range(int argc, char **argv)
{
    range_options o = { .out = "-" };
    const operand operands[] = { { "INDEX", &o.index }, { "LO", &o.lo },
                                 { "HI", &o.hi }, { 0, 0 } };
    const option options[] = {
        { "--count", 0, OPT_FLAG, 0, &o.count, "how many keys" },
        { "--sum", 0, OPT_FLAG, 0, &o.sum, "sum of the rows, modulo 2^64" },
        { "--min", 0, OPT_FLAG, 0, &o.min, "least row" },
        { "--max", 0, OPT_FLAG, 0, &o.max, "greatest row" },
        { "--rows", 0, OPT_FLAG, 0, &o.rows, "all rows, by ascending key" },
        { "--keys", 0, OPT_FLAG, 0, &o.keys, "all keys, ascending" },
        { "--limit", 0, OPT_COUNT, "K", &o.limit,
          "of each range at most the first K keys" },
        { "--last", 0, OPT_FLAG, 0, &o.last,
          "with --limit: the last K instead" },
        OPTION_OUTPUT(&o.out, "where to (stdout)"),
        OPTION_FORMAT(&o.format, "format of LO and HI (by their names)"),
        { "--out-format", 0, OPT_CHOICE, FORMAT_CHOICES, &o.out_format,
          "format of the output (by its name)" },
        OPTIONS_OPEN_INDEX(&o.open, &o.json),
        OPTION_END
    };
    const command_line line = { "For each i, tells about the keys from lo[i] "
                                "to hi[i], both included: a line each.",
                                operands, options };
    file_format out_format = FORMAT_TEXT;
    column_writer w;
    output out;
    sx_column lo, hi;
    sx_index *ix;
    int type;

    parse_arguments(&line, argc, argv);
    if (!o.json)
        out_format = format_of_output(o.out, (file_format)o.out_format);
    check_options(&o, out_format);
    out = output_open(o.out);
    ix = open_index(&o.open, o.index, 0);
    type = describe(ix).key_type;
    lo = read_column(o.lo, format_needed(o.lo, (file_format)o.format), type);
    hi = read_column(o.hi, format_needed(o.hi, (file_format)o.format), type);
    if (lo.n != hi.n)
        fail("%s has %llu values, %s has %llu: each range needs both", o.lo,
             (unsigned long long)lo.n, o.hi, (unsigned long long)hi.n);
    w = writer_start(out, out_format, SX_U64, lo.n);
    w.dash_for_miss = o.min || o.max;
    range_all(ix, &lo, &hi, &o, &w);
    writer_close(&w);
    free(lo.data);
    free(hi.data);
    sx_free(ix);
    return EXIT_OK;
}
