/* cmd_range.c - sextant range: what lies between lo[i] and hi[i]. */
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "json.h"
#include "key_column.h"
#include "open.h"
#include "opts.h"
#include "progress.h"
#include "say.h"
#include "show.h"
#include "verbs.h"

enum {
    STEP = 1 << 16,               /* ranges per call */
    RESULTS = 1 << 21             /* rows or keys per call, or one range */
};

typedef struct {
    open_options open;
    const char *index, *lo, *hi, *out, *first;
    word_list given_lo, given_hi; /* --lo, --hi */
    show_options shown;
    text_options text;
    bool count, sum, min, max, rows, keys, last, json;
    int format, out_format;
    uint64_t limit;
} range_options;

/* The line of range i, which begins with its ends. */
static json json_range(FILE *to, const show *s, const sx_ranges *ranges, uint64_t i)
{
    json j = json_line(to);

    key_json(&j, "lo", s->as, ranges->lo, i);
    key_json(&j, "hi", s->as, ranges->hi, i);
    return j;
}

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

static void print_numbers(const sx_index *ix, const range_options *o, const show *s,
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
            json j = json_range(w->out.to, s, ranges, i);

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

typedef struct {                  /* grows to the longest list met */
    uint64_t space;
    sx_column out;                /* rows, or keys */
} list_buffer;

static uint64_t row_at(const sx_column *rows, uint64_t i)
{
    return ((const uint64_t *)rows->data)[i];
}

static void print_json_list(json j, const range_options *o, const show *s,
                            const sx_column *out, uint64_t from, uint64_t n)
{
    bool more = s->values || s->lines;

    json_begin_array(&j, more ? "answers" : o->rows ? "rows" : "keys");
    for (uint64_t i = from; i < from + n; i++) {
        if (more) {
            json_begin_object(&j, NULL);
            show_json(s, &j, row_at(out, i), NULL, 0);
            json_end_object(&j);
        } else if (o->rows) {
            json_unsigned(&j, NULL, row_at(out, i));
        } else {
            key_json(&j, NULL, s->as, out, i);
        }
    }
    json_end_array(&j);
    json_end_line(&j);
}

/* Prints the n results of one range on one line; their lines, or values, on a line
 * each. */
static void print_list(FILE *to, const range_options *o, const show *s,
                       const sx_column *out, uint64_t from, uint64_t n)
{
    bool more = s->values || s->lines;

    for (uint64_t i = from; i < from + n; i++) {
        if (more) {
            show_print(s, to, row_at(out, i), NULL, 0);
            fputc('\n', to);
            continue;
        }
        key_print(to, o->rows ? notation_at(0) : s->as, out, i, s->csv ? KEY_CSV : KEY_LISTED);
        fputc(i + 1 == from + n ? '\n' : s->csv ? ',' : ' ', to);
    }
    if (!n && !more)
        fputc('\n', to);
}

/* Asks for ranges [from, from + n), which have `results` results together. */
static void fill_and_print(const sx_index *ix, const range_options *o, const show *s,
                           const sx_ranges *ranges, uint64_t from, uint64_t n,
                           uint64_t results, list_buffer *buffer, column_writer *w)
{
    sx_column lo = column_part(ranges->lo, from, n);
    sx_column hi = column_part(ranges->hi, from, n);
    sx_column first = column_over(SX_U64, n + 1, must_alloc(n + 1, 8));
    sx_ranges part = *ranges;
    const uint64_t *starts = first.data;
    sx_column *out = &buffer->out;
    sx_status status;

    part.lo = &lo;
    part.hi = &hi;
    if (results > buffer->space) {
        key_free(out);
        *out = key_space(out->type, results);
        buffer->space = results;
    }
    out->n = buffer->space;
    do {
        status = sx_range(ix, &part, &first, o->rows ? out : NULL, o->keys ? out : NULL,
                          NULL);
    } while (key_again(status, out, results));
    expect_ok(status, NULL);
    if (w->format != FORMAT_TEXT && o->keys)
        writer_put(w, out->data, results);
    else if (w->format != FORMAT_TEXT)
        show_put(s, w, out->data, NULL, results, 0);
    else if (o->json)
        for (uint64_t i = 0; i < n; i++)
            print_json_list(json_range(w->out.to, s, &part, i), o, s, out, starts[i],
                            starts[i + 1] - starts[i]);
    else
        for (uint64_t i = 0; i < n; i++)
            print_list(w->out.to, o, s, out, starts[i], starts[i + 1] - starts[i]);
    free(first.data);
}

/* Counts first. Then it takes as many ranges at a time as RESULTS has space
 * for, but at least one, so the longest range bounds the memory. */
static void print_lists(const sx_index *ix, const range_options *o, const show *s,
                        const sx_ranges *ranges, list_buffer *buffer,
                        column_writer *w)
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
        fill_and_print(ix, o, s, ranges, from, some, results, buffer, w);
        from += some;
    }
    free(counts.data);
}

/* ---- all ranges -------------------------------------------------------- */

static sx_ranges ranges_of(const range_options *o, const sx_column *lo,
                           const sx_column *hi)
{
    return (sx_ranges){ .size = sizeof(sx_ranges), .lo = lo, .hi = hi,
                        .limit = o->limit, .last = o->last };
}

/* Where each range begins among the results, n + 1 numbers: a file of numbers does
 * not tell, and its head says how many there are. To be freed. */
static uint64_t *count_all(const sx_index *ix, const range_options *o,
                           const sx_column *lo, const sx_column *hi)
{
    sx_ranges ranges = ranges_of(o, lo, hi);
    uint64_t *first = must_alloc(lo->n + 1, 8);
    sx_column counts = column_over(SX_U64, lo->n, first + 1);

    first[0] = 0;
    expect_ok(sx_range_count(ix, &ranges, &counts, NULL), NULL);
    for (uint64_t i = 0; i < lo->n; i++)
        first[i + 1] += first[i];
    return first;
}

static void write_first(const range_options *o, output out, const uint64_t *first,
                        uint64_t n)
{
    column_writer w = writer_start(out, format_of_output(o->first, FORMAT_UNKNOWN),
                                   SX_U64, (time_unit){ 0 }, n);

    writer_put(&w, first, n);
    writer_close(&w);
}

static void range_all(const sx_index *ix, const sx_column *lo,
                      const sx_column *hi, const range_options *o, const show *s,
                      column_writer *w)
{
    list_buffer buffer = { .out = key_space(o->rows ? SX_U64 : lo->type, 0) };

    progress_start("searching", lo->n);
    for (uint64_t i = 0; i < lo->n; i += STEP) {
        uint64_t n = lo->n - i < STEP ? lo->n - i : STEP;
        sx_column lo_part = column_part(lo, i, n);
        sx_column hi_part = column_part(hi, i, n);
        sx_ranges ranges = ranges_of(o, &lo_part, &hi_part);

        if (o->rows || o->keys)
            print_lists(ix, o, s, &ranges, &buffer, w);
        else
            print_numbers(ix, o, s, &ranges, w);
        output_check(&w->out);
        progress_at(i + n);
    }
    progress_stop();
    key_free(&buffer.out);
}

static void expect_other_output(const range_options *o, const char *out)
{
    expect_other_file(out, o->index);
    show_expect_other_files(&o->shown, out);
    if (o->lo) {
        expect_other_file(out, o->lo);
        expect_other_file(out, o->hi);
    }
}

static void check_options(range_options *o)
{
    bool more = o->shown.lines.n || o->shown.values.n;

    if (o->lo && !o->hi)
        fail_usage("HI is missing");
    if (more && !o->keys && !o->count && !o->sum && !o->min && !o->max)
        o->rows = true;
    if (o->count + o->sum + o->min + o->max + o->rows + o->keys != 1)
        fail_usage("give one of --count, --sum, --min, --max, --rows and "
                   "--keys");
    if (more && !o->rows)
        fail_usage("--lines and --values show rows, and are not for --count, --sum, --min, "
                   "--max or --keys");
    if (o->last && !o->limit)
        fail_usage("--last needs --limit");
    if (o->first && !o->rows && !o->keys)
        fail_usage("--first is for --rows and --keys");
    if (o->first && !strcmp(o->first, o->out))
        fail_usage("--first and -o are the same, %s", o->out);
    if (!o->lo && (!o->given_lo.n || o->given_lo.n != o->given_hi.n))
        fail_usage("LO and HI are missing, or as many --lo as --hi");
    if (o->lo && (o->given_lo.n || o->given_hi.n))
        fail_usage("give LO and HI, or --lo and --hi, not both");
    if (o->lo)
        expect_one_stdin(o->lo, o->hi);
    show_expect_one_stdin(&o->shown, o->lo);
    show_expect_one_stdin(&o->shown, o->hi);
    expect_other_output(o, o->out);
    if (o->first)
        expect_other_output(o, o->first);
}

static sx_column read_bounds(const range_options *o, bool high, const show *s)
{
    const char *path = high ? o->hi : o->lo;
    reading how = { .format = (file_format)o->format, .type = s->key_type, .as = s->as,
                    .text = o->text, .unit = s->unit };

    return path ? read_keys(&path, 1, &how, NULL)
                : keys_of_words(high ? &o->given_hi : &o->given_lo,
                                high ? "--hi" : "--lo", s->as, s->key_type);
}

/* Answers into the output, which is open. */
static void answer(const sx_index *ix, const range_options *o, const show *s,
                   file_format format, output out)
{
    sx_column lo = read_bounds(o, false, s), hi = read_bounds(o, true, s);
    bool lists = o->rows || o->keys;
    uint64_t *first = NULL, n = lo.n;
    column_writer w;
    output to_first;

    if (lo.n != hi.n)
        fail("%s has %llu values, %s has %llu: each range needs both", o->lo,
             (unsigned long long)lo.n, o->hi, (unsigned long long)hi.n);
    if (o->first)
        to_first = output_open(o->first);
    if (lists && (format != FORMAT_TEXT || o->first)) {
        first = count_all(ix, o, &lo, &hi);
        n = first[lo.n];
    }
    w = writer_start(out, format, lists ? show_type(s) : SX_U64, show_unit(s), n);
    w.dash_for_miss = o->min || o->max;
    range_all(ix, &lo, &hi, o, s, &w);
    if (o->first)
        write_first(o, to_first, first, lo.n + 1);
    writer_close(&w);
    free(first);
    key_free(&lo);
    key_free(&hi);
}

int cmd_range(int argc, char **argv)
{
    range_options o = { .out = "-" };
    const operand operands[] = { OPERAND("INDEX", &o.index),
                                 OPERAND_OPTIONAL("LO", &o.lo),
                                 OPERAND_OPTIONAL("HI", &o.hi), OPERAND_END };
    const option options[] = {
        { "--count", 0, OPT_FLAG, 0, &o.count, "how many keys" },
        { "--sum", 0, OPT_FLAG, 0, &o.sum, "sum of the rows, modulo 2^64" },
        { "--min", 0, OPT_FLAG, 0, &o.min, "least row" },
        { "--max", 0, OPT_FLAG, 0, &o.max, "greatest row" },
        { "--rows", 0, OPT_FLAG, 0, &o.rows, "all rows, by ascending key" },
        { "--keys", 0, OPT_FLAG, 0, &o.keys, "all keys, ascending" },
        { "--lo", 0, OPT_WORDS, "KEY", &o.given_lo,
          "with --hi, a range in place of LO and HI; again for more" },
        { "--hi", 0, OPT_WORDS, "KEY", &o.given_hi, "its upper end, which is included" },
        { "--limit", 0, OPT_COUNT, "K", &o.limit,
          "of each range at most the first K keys" },
        { "--last", 0, OPT_FLAG, 0, &o.last,
          "with --limit: the last K instead" },
        { "--first", 0, OPT_WORD, "FILE", &o.first,
          "rows, keys: also write where each range begins among them" },
        OPTIONS_SHOW(&o.shown),
        OPTIONS_TEXT(&o.text, "bounds"),
        OPTION_OUTPUT(&o.out, "where to (stdout)"),
        OPTION_IN_FORMAT(&o.format, "format of LO and HI (by their names)"),
        OPTION_OUT_FORMAT(&o.out_format),
        OPTIONS_OPEN_INDEX(&o.open, &o.json),
        OPTION_END
    };
    const command_line line = { "For each i, tells about the keys from lo[i] "
                                "to hi[i], both included: a line each.",
                                operands, options };
    file_format out_format = FORMAT_TEXT;
    output out;
    sx_index *ix;
    show s;

    parse_arguments(&line, argc, argv);
    if (!o.json)
        out_format = format_of_output(o.out, (file_format)o.out_format);
    check_options(&o);
    if (o.lo) {
        format_needed(o.lo, (file_format)o.format);
        format_needed(o.hi, (file_format)o.format);
    }
    out = output_open(o.out);
    ix = open_index(&o.open, o.index, 0);
    s = show_open(&o.shown, ix, out_format, o.keys, false, o.json);
    s.csv = !o.json && output_is_csv(o.out, (file_format)o.out_format);
    if (s.as->networks)
        fail("%s: an index of networks has no ranges: its keys are where pieces of "
             "networks begin", o.index);
    answer(ix, &o, &s, out_format, out);
    show_close(&s);
    sx_free(ix);
    return EXIT_OK;
}
