/* ask.c - see ask.h. */
#include "ask.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct range_mode range_modes[RANGE_MODES] = {
    { 0, 0 }, { 1, 1 }, { 3, 0 }, { 5, 1 }
};

/* ---- data ----------------------------------------------------------- */

static bool rows_are_positions(row_kind kind)
{
    return kind == ROWS_NULL || kind == ROWS_IMPLICIT;
}

static void limits_of_type(int type, void *least, void *most)
{
    unsigned char k[16];
    size_t width = oracle_width(type);
    for (unsigned i = 0; key_special(type, i, k); i++) {
        if (i == 0 || oracle_compare(type, k, least) < 0)
            memcpy(least, k, width);
        if (i == 0 || oracle_compare(type, k, most) > 0)
            memcpy(most, k, width);
    }
}

/* Special keys first, then keys of the index and their neighbours (all of
 * them if there is room), then random ones. */
static void make_queries(dataset *d, rnd *r)
{
    unsigned char *q = guard_fit(&d->q, d->queries * d->width, true);
    uint64_t step = d->queries ? d->n / (d->queries / 4 + 1) + 1 : 1;
    uint64_t at = rnd_below(r, step), i = 0;
    while (i < d->queries && key_special(d->type, (unsigned)i, q))
        i++, q += d->width;
    for (; i < d->queries; i++, q += d->width) {
        const unsigned char *key = oracle_key(d->truth, at);
        switch (at < d->n ? i % 3 : 3) {
        case 0: memcpy(q, key, d->width); break;
        case 1: key_step(d->type, key, 1, q); break;
        case 2:
            key_step(d->type, key, -1, q);
            at += 1 + rnd_below(r, 2 * step - 1);
            break;
        default: key_random(d->type, r, q); break;
        }
    }
}

/* The whole index, one key, a short run, between two keys, anything; when
 * all ranges together have three times the index, empty ones. */
static void make_ranges(dataset *d, rnd *r)
{
    uint64_t hits = 0;
    unsigned char *lo = guard_fit(&d->lo, d->ranges * d->width, true);
    unsigned char *hi = guard_fit(&d->hi, d->ranges * d->width, true);
    for (uint64_t i = 0; i < d->ranges; i++) {
        uint64_t a = rnd_below(r, d->n), len = rnd_below(r, 9);
        if (rnd_below(r, d->ranges < 1000 ? 8 : 100) == 0)
            len = rnd_below(r, d->n / 8 + 1);
        uint64_t b = a + len < d->n ? a + len : d->n - 1;
        if (i == 0) {
            limits_of_type(d->type, lo, hi);
        } else if (d->n == 0 || i % 6 == 5) {
            key_random(d->type, r, lo);
            if (d->n > 300)       /* keeps the number of hits small */
                key_step(d->type, lo, rnd_below(r, 2) ? 1 : -1, hi);
            else
                key_random(d->type, r, hi);
        } else if (i % 6 == 4) {  /* inside, without the ends */
            key_step(d->type, oracle_key(d->truth, a), 1, lo);
            key_step(d->type, oracle_key(d->truth, b), -1, hi);
        } else {
            memcpy(lo, oracle_key(d->truth, i % 6 == 1 ? b : a), d->width);
            memcpy(hi, oracle_key(d->truth, i % 6 < 2 ? a : b), d->width);
        }
        uint64_t left = oracle_rank(d->truth, lo, 0);
        uint64_t right = oracle_rank(d->truth, hi, 1);
        if (right > left)
            hits += right - left;
        if (hits > 3 * d->n) {
            hits -= right - left;
            key_step(d->type, lo, -1, hi);
            if (oracle_rank(d->truth, hi, 1) > left)      /* wrapped */
                limits_of_type(d->type, hi, lo);
        }
        lo += d->width;
        hi += d->width;
    }
}

static oracle_span *oracle_spans(const dataset *d, uint64_t limit,
                                 uint32_t last)
{
    oracle_span *spans = need(d->ranges * sizeof *spans);
    for (uint64_t i = 0; i < d->ranges; i++)
        spans[i] = oracle_range(d->truth, d->lo.data + i * d->width,
                                d->hi.data + i * d->width, limit, last != 0);
    return spans;
}

static void answer(dataset *d)
{
    uint64_t bytes = d->queries * sizeof (uint64_t);
    uint64_t **lists[] = { &d->get, &d->left, &d->right, &d->floor,
                           &d->ceil };
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        *lists[i] = need(bytes);
    for (uint64_t i = 0; i < d->queries; i++) {
        const void *q = d->q.data + i * d->width;
        d->get[i] = oracle_get(d->truth, q);
        d->left[i] = oracle_rank(d->truth, q, 0);
        d->right[i] = oracle_rank(d->truth, q, 1);
        d->floor[i] = oracle_floor(d->truth, q);
        d->ceil[i] = oracle_ceil(d->truth, q);
    }
    for (int mode = 0; mode < RANGE_MODES; mode++)
        d->spans[mode] = oracle_spans(d, range_modes[mode].limit,
                                      range_modes[mode].last);
}

dataset *data_wrap(int type, uint64_t n, const void *keys, row_kind rows_as,
                   const uint64_t *rows, uint64_t queries, rnd *r)
{
    dataset *d = need(sizeof *d);
    *d = (dataset){ .type = type, .width = oracle_width(type), .n = n,
                    .row_kind = rows_as, .queries = queries,
                    .ranges = queries / 3 };
    void *copy = guard_fit(&d->keys, n * d->width, true);
    if (n)
        memcpy(copy, keys, n * d->width);
    if (rows_as == ROWS_IMPLICIT && n) {
        oracle *sorted = oracle_new(type, n, keys, NULL);
        memcpy(copy, sorted->keys, n * d->width);
        oracle_free(sorted);
    }
    if (rows_as == ROWS_U32) {
        uint32_t *out = guard_fit(&d->rows, n * sizeof *out, true);
        for (uint64_t i = 0; i < n; i++)
            out[i] = (uint32_t)rows[i];
    } else if (!rows_are_positions(rows_as)) {
        void *out = guard_fit(&d->rows, n * sizeof *rows, true);
        if (n)
            memcpy(out, rows, n * sizeof *rows);
    }
    d->truth = oracle_new(type, n, copy,
                          rows_are_positions(rows_as) ? NULL : rows);
    make_queries(d, r);
    make_ranges(d, r);
    answer(d);
    return d;
}

dataset *data_make(int type, key_kind kind, uint64_t n, row_kind rows_as,
                   uint64_t queries, rnd *r)
{
    void *keys = need(n * oracle_width(type));
    uint64_t *rows = need(n * sizeof *rows);
    keys_make(type, kind, n, r, keys);
    rows_make(rows_as, n, r, rows);
    dataset *d = data_wrap(type, n, keys, rows_as, rows, queries, r);
    free(keys);
    free(rows);
    return d;
}

void data_free(dataset *d)
{
    if (!d)
        return;
    guard *guards[] = { &d->keys, &d->rows, &d->q, &d->lo, &d->hi };
    for (size_t i = 0; i < COUNT_OF(guards); i++)
        guard_free(guards[i]);
    oracle_free(d->truth);
    free(d->get);
    free(d->left);
    free(d->right);
    free(d->floor);
    free(d->ceil);
    for (int mode = 0; mode < RANGE_MODES; mode++)
        free(d->spans[mode]);
    free(d);
}

sx_status data_build(const dataset *d, sx_device *dev, const char *spec,
                     const sx_call *call, sx_index **out)
{
    sx_column keys = column(d->type, d->n, d->keys.data);
    sx_column rows = column(d->row_kind == ROWS_U32 ? SX_U32 : SX_U64, d->n,
                            d->rows.data);
    return sx_build(out, dev, spec, &keys,
                    rows_are_positions(d->row_kind) ? NULL : &rows, call);
}

/* ---- looking at answers ----------------------------------------------- */

asker *asker_new(void)
{
    asker *a = need(sizeof *a);
    *a = (asker){ 0 };
    return a;
}

void asker_free(asker *a)
{
    guard_free(&a->numbers);
    guard_free(&a->keys);
    guard_free(&a->first);
    for (size_t i = 0; i < COUNT_OF(a->aggregates); i++)
        guard_free(&a->aggregates[i]);
    free(a);
}

static const char *complain(asker *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *complain(asker *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(a->why, sizeof a->why, format, args);
    va_end(args);
    return a->why;
}

/* Room for n elements, sometimes with one more that must stay as it is. */
static sx_column output(asker *a, guard *g, int type, uint64_t n)
{
    uint64_t room = n + (a->turn / 2) % 2;
    return column(type, room, guard_fit(g, room * oracle_width(type),
                                        a->turn++ % 2));
}

static bool untouched(const void *data, size_t bytes)
{
    const unsigned char *b = data;
    for (size_t i = 0; i < bytes; i++)
        if (b[i] != GUARD_FILL)
            return false;
    return true;
}

/* Nothing was written behind the n answers, nor before them. */
static const char *check_edges(asker *a, const char *what, const guard *g,
                               const sx_column *c, uint64_t n)
{
    size_t width = oracle_width(c->type);
    if (!guard_intact(g) ||
        !untouched((unsigned char *)c->data + n * width, (c->n - n) * width))
        return complain(a, "%s: wrote outside its %" PRIu64 " answers",
                        what, n);
    return NULL;
}

static uint64_t number_at(const sx_column *c, uint64_t i)
{
    if (c->type == SX_U64)
        return ((const uint64_t *)c->data)[i];
    uint32_t x = ((const uint32_t *)c->data)[i];
    return x == SX_MISS32 ? ORACLE_NONE : x;
}

static const char *check_numbers(asker *a, const char *what, const guard *g,
                                 const sx_column *c, const uint64_t *want,
                                 uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (number_at(c, i) != want[i])
            return complain(a, "%s [%" PRIu64 " of %" PRIu64 "]: %" PRIu64
                            ", not %" PRIu64, what, i, n, number_at(c, i),
                            want[i]);
    return check_edges(a, what, g, c, n);
}

/* The key at places[i] of the oracle; left alone where there is none. */
static const char *check_keys(asker *a, const char *what, const sx_column *c,
                              const oracle *truth, const uint64_t *places,
                              uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const unsigned char *k = (unsigned char *)c->data + i * truth->width;
        bool right = places[i] == ORACLE_NONE
            ? untouched(k, truth->width)
            : oracle_compare(truth->type, k,
                             oracle_key(truth, places[i])) == 0;
        if (!right)
            return complain(a, "%s: key %" PRIu64 " of %" PRIu64
                            " is not the one at %" PRId64, what, i, n,
                            (int64_t)places[i]);
    }
    return check_edges(a, what, &a->keys, c, n);
}

static const char *check_status(asker *a, const char *what, sx_status got,
                                sx_status want)
{
    if (got == want)
        return NULL;
    return complain(a, "%s: status %d, not %d; detail: %s", what, (int)got,
                    (int)want, got == SX_OK ? "none" : sx_detail());
}

/* Every failure of a step ends the walk with its sentence. */
#define TRY(step) do { \
        const char *why_ = (step); \
        if (why_) \
            return why_; \
    } while (0)

/* ---- points ----------------------------------------------------------- */

/* A verb that gives the row, the key or both at one place per query. */
typedef sx_status verb(const sx_index *, const sx_column *, sx_column *,
                       sx_column *, const sx_call *);

static sx_status key_at(const sx_index *ix, const sx_column *in,
                        sx_column *rows, sx_column *keys, const sx_call *call)
{
    return sx_key_at(ix, in, keys, rows, call);
}

static const char *ask_places(asker *a, const char *what, verb *ask_verb,
                              const sx_index *ix, const oracle *truth,
                              const sx_column *in, const uint64_t *places,
                              int out_type, const sx_call *call)
{
    uint64_t n = in->n;
    unsigned which = a->turn / 4 % 3;     /* 0: both, 1: rows, 2: keys */
    sx_column rows = output(a, &a->numbers, out_type, n);
    sx_column keys = output(a, &a->keys, truth->type, n);
    bool fits = out_type == SX_U64 || truth->max_row < SX_MISS32;
    sx_status want = fits || which == 2 ? SX_OK : SX_EINVAL;
    TRY(check_status(a, what, ask_verb(ix, in, which == 2 ? NULL : &rows,
                                       which == 1 ? NULL : &keys, call),
                     want));
    if (want != SX_OK || which == 2)
        TRY(check_edges(a, what, &a->numbers, &rows, 0));
    if (want != SX_OK || which == 1)
        TRY(check_edges(a, what, &a->keys, &keys, 0));
    if (want != SX_OK)
        return NULL;
    if (which != 1)
        TRY(check_keys(a, what, &keys, truth, places, n));
    if (which != 2) {
        for (uint64_t i = 0; i < n; i++) {
            uint64_t row = places[i] == ORACLE_NONE ? ORACLE_NONE
                                                    : truth->rows[places[i]];
            if (number_at(&rows, i) != row)
                return complain(a, "%s: row %" PRIu64 " of %" PRIu64 ": %"
                                PRIu64 ", not %" PRIu64, what, i, n,
                                number_at(&rows, i), row);
        }
        TRY(check_edges(a, what, &a->numbers, &rows, n));
    }
    return NULL;
}

/* Ranks up to the end and behind it, as U32 or U64. */
static const char *ask_key_at(asker *a, const sx_index *ix, const dataset *d,
                              int out_type, const sx_call *call)
{
    uint64_t step = d->n / (d->queries + 1) + 1, n = 0;
    uint64_t count = d->n / step + 8;
    int type = a->turn % 2 ? SX_U32 : SX_U64;
    uint64_t top = type == SX_U32 ? UINT32_MAX : UINT64_MAX;
    uint64_t *places = need(count * sizeof *places);
    const uint64_t behind[] = { d->n, d->n + 1, top, top - 1 };
    for (uint64_t at = 0; at < d->n; at += step)
        places[n++] = at;
    for (size_t i = 0; i < COUNT_OF(behind); i++)
        places[n++] = behind[i];
    void *in = guard_fit(&a->first, n * oracle_width(type), true);
    for (uint64_t i = 0; i < n; i++) {
        if (type == SX_U32)
            ((uint32_t *)in)[i] = (uint32_t)places[i];
        else
            ((uint64_t *)in)[i] = places[i];
        if (places[i] >= d->n)
            places[i] = ORACLE_NONE;
    }
    sx_column ranks = column(type, n, in);
    const char *why = ask_places(a, "key_at", key_at, ix, d->truth, &ranks,
                                 places, out_type, call);
    free(places);
    return why;
}

const char *ask_points(asker *a, const sx_index *ix, const dataset *d,
                       int out_type, const sx_call *call)
{
    sx_column q = column(d->type, d->queries, d->q.data);
    bool fits = out_type == SX_U64 || d->truth->max_row < SX_MISS32;

    sx_column out = output(a, &a->numbers, out_type, q.n);
    TRY(check_status(a, "get", sx_get(ix, &q, &out, call),
                     fits ? SX_OK : SX_EINVAL));
    if (fits)
        TRY(check_numbers(a, "get", &a->numbers, &out, d->get, q.n));
    else
        TRY(check_edges(a, "get refused", &a->numbers, &out, 0));

    out = output(a, &a->numbers, out_type, q.n);
    TRY(check_status(a, "rank left", sx_rank(ix, &q, SX_LEFT, &out, call),
                     SX_OK));
    TRY(check_numbers(a, "rank left", &a->numbers, &out, d->left, q.n));

    out = output(a, &a->numbers, out_type, q.n);
    TRY(check_status(a, "rank right", sx_rank(ix, &q, SX_RIGHT, &out, call),
                     SX_OK));
    TRY(check_numbers(a, "rank right", &a->numbers, &out, d->right, q.n));

    TRY(ask_places(a, "floor", sx_floor, ix, d->truth, &q, d->floor,
                   out_type, call));
    TRY(ask_places(a, "ceil", sx_ceil, ix, d->truth, &q, d->ceil, out_type,
                   call));
    return ask_key_at(a, ix, d, out_type, call);
}

/* ---- ranges ----------------------------------------------------------- */

static const char *ask_range_rows(asker *a, const sx_index *ix,
                                  const dataset *d, const sx_ranges *ranges,
                                  const oracle_span *spans, int out_type,
                                  const sx_call *call)
{
    uint64_t hits = 0;
    unsigned which = a->turn / 4 % 3;     /* 0: both, 1: rows, 2: keys */
    bool fits = out_type == SX_U64 || d->truth->max_row < SX_MISS32;
    sx_status want = fits || which == 2 ? SX_OK : SX_EINVAL;
    for (uint64_t i = 0; i < d->ranges; i++)
        hits += spans[i].count;

    /* 1. Sizes. */
    sx_column first = output(a, &a->first, SX_U64, d->ranges + 1);
    TRY(check_status(a, "range sizes",
                     sx_range(ix, ranges, &first, NULL, NULL, call), SX_OK));
    uint64_t *at = first.data, sum = 0;
    for (uint64_t i = 0; i <= d->ranges; i++) {
        if (at[i] != sum)
            return complain(a, "range: first[%" PRIu64 "] is %" PRIu64
                            ", not %" PRIu64, i, at[i], sum);
        sum += i < d->ranges ? spans[i].count : 0;
    }
    TRY(check_edges(a, "range first", &a->first, &first, d->ranges + 1));

    /* 2. Rows, keys or both. */
    first = output(a, &a->first, SX_U64, d->ranges + 1);
    sx_column rows = output(a, &a->numbers, out_type, hits);
    sx_column keys = output(a, &a->keys, d->type, hits);
    TRY(check_status(a, "range",
                     sx_range(ix, ranges, &first, which == 2 ? NULL : &rows,
                              which == 1 ? NULL : &keys, call), want));
    bool wrote_rows = want == SX_OK && which != 2;
    bool wrote_keys = want == SX_OK && which != 1;
    at = first.data;
    for (uint64_t i = 0; want == SX_OK && i < d->ranges; i++)
        for (uint64_t j = 0; j < spans[i].count; j++) {
            uint64_t place = spans[i].first + j, o = at[i] + j;
            if (o >= hits)
                return complain(a, "range: first[%" PRIu64 "] is %" PRIu64,
                                i, at[i]);
            if (wrote_rows && number_at(&rows, o) != d->truth->rows[place])
                return complain(a, "range %" PRIu64 ": row %" PRIu64 " is %"
                                PRIu64 ", not %" PRIu64, i, j,
                                number_at(&rows, o), d->truth->rows[place]);
            if (wrote_keys &&
                oracle_compare(d->type,
                               (unsigned char *)keys.data + o * d->width,
                               oracle_key(d->truth, place)) != 0)
                return complain(a, "range %" PRIu64 ": key %" PRIu64
                                " is not the one at %" PRIu64, i, j, place);
        }
    TRY(check_edges(a, "range rows", &a->numbers, &rows,
                    wrote_rows ? hits : 0));
    return check_edges(a, "range keys", &a->keys, &keys,
                       wrote_keys ? hits : 0);
}

static const char *ask_aggregates(asker *a, const sx_index *ix,
                                  const dataset *d, const sx_ranges *ranges,
                                  const oracle_span *spans,
                                  const sx_call *call)
{
    static const char *const names[4] = { "count", "min", "max", "sum" };
    sx_column out[4];
    sx_column *wanted[4];
    unsigned missing = a->turn / 4 % 5;   /* one of them NULL, or none */
    for (unsigned i = 0; i < 4; i++) {
        out[i] = output(a, &a->aggregates[i], SX_U64, d->ranges);
        wanted[i] = i == missing ? NULL : &out[i];
    }
    sx_aggregates g = { sizeof g, wanted[0], wanted[1], wanted[2],
                        wanted[3] };
    TRY(check_status(a, "aggregate", sx_range_aggregate(ix, ranges, &g, call),
                     SX_OK));
    for (unsigned c = 0; c < 4; c++) {
        const uint64_t *got = out[c].data;
        for (uint64_t i = 0; c != missing && i < d->ranges; i++) {
            uint64_t want = c == 0 ? spans[i].count : c == 1 ? spans[i].min
                          : c == 2 ? spans[i].max : spans[i].sum;
            if (got[i] != want)
                return complain(a, "aggregate %s [%" PRIu64 "]: %" PRIu64
                                ", not %" PRIu64, names[c], i, got[i], want);
        }
        TRY(check_edges(a, names[c], &a->aggregates[c], &out[c],
                        c == missing ? 0 : d->ranges));
    }
    return NULL;
}

/* All about ranges with one limit, whose answers are known. */
static const char *ask_spans(asker *a, const sx_index *ix, const dataset *d,
                             uint64_t limit, uint32_t last,
                             const oracle_span *spans, int out_type,
                             const sx_call *call)
{
    sx_column lo = column(d->type, d->ranges, d->lo.data);
    sx_column hi = column(d->type, d->ranges, d->hi.data);
    sx_ranges ranges = { sizeof ranges, &lo, &hi, limit, last, 0 };
    sx_column out = output(a, &a->numbers, SX_U64, d->ranges);
    TRY(check_status(a, "range_count",
                     sx_range_count(ix, &ranges, &out, call), SX_OK));
    for (uint64_t i = 0; i < d->ranges; i++)
        if (number_at(&out, i) != spans[i].count)
            return complain(a, "range_count [%" PRIu64 "] limit %" PRIu64
                            " %s: %" PRIu64 ", not %" PRIu64, i, limit,
                            last ? "last" : "first", number_at(&out, i),
                            spans[i].count);
    TRY(check_edges(a, "range_count", &a->numbers, &out, d->ranges));
    TRY(ask_range_rows(a, ix, d, &ranges, spans, out_type, call));
    return ask_aggregates(a, ix, d, &ranges, spans, call);
}

const char *ask_ranges(asker *a, const sx_index *ix, const dataset *d,
                       int out_type, const sx_call *call)
{
    for (int mode = 0; mode < RANGE_MODES; mode++)
        TRY(ask_spans(a, ix, d, range_modes[mode].limit,
                      range_modes[mode].last, d->spans[mode], out_type,
                      call));
    return NULL;
}

const char *ask_limit(asker *a, const sx_index *ix, const dataset *d,
                      uint64_t limit, uint32_t last, int out_type,
                      const sx_call *call)
{
    oracle_span *spans = oracle_spans(d, limit, last);
    const char *why = ask_spans(a, ix, d, limit, last, spans, out_type, call);
    free(spans);
    return why;
}

const char *ask(asker *a, const sx_index *ix, const dataset *d, int out_type,
                const sx_call *call)
{
    TRY(ask_points(a, ix, d, out_type, call));
    return ask_ranges(a, ix, d, out_type, call);
}

/* ---- the index itself -------------------------------------------------- */

const char *ask_description(asker *a, const sx_index *ix, const dataset *d)
{
    sx_index_info info = { .size = sizeof info };
    TRY(check_status(a, "check", sx_check(ix), SX_OK));
    TRY(check_status(a, "describe", sx_describe(ix, &info), SX_OK));
    uint64_t max_row = d->truth->max_row;
    int row_type = max_row < SX_MISS32 ? SX_U32 : SX_U64;
    bool implicit = rows_are_positions(d->row_kind);
    for (uint64_t i = 0; implicit && i < d->n; i++)
        implicit = d->truth->rows[i] == i;
    if (info.n != d->n || info.key_type != d->type ||
        info.max_row != max_row || info.row_type != row_type ||
        (d->n && info.implicit_rows != implicit) || info.unique)
        return complain(a, "describe: n %" PRIu64 " key type %d max row %"
                        PRIu64 " row type %d implicit %u unique %u, not %"
                        PRIu64 " %d %" PRIu64 " %d %d 0", info.n,
                        info.key_type, info.max_row, info.row_type,
                        info.implicit_rows, info.unique, d->n, d->type,
                        max_row, row_type, implicit);
    if (!memchr(info.spec, 0, sizeof info.spec) || !info.spec[0])
        return complain(a, "describe: no spec");
    return NULL;
}
