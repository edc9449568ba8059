/* ask_data.c - data with known answers: see ask.h. */
#define _GNU_SOURCE               /* qsort_r() */
#include "ask.h"

#include <stdlib.h>
#include <string.h>

const struct range_mode range_modes[RANGE_MODES] = {
    { 0, 0 }, { 1, 1 }, { 3, 0 }, { 5, 1 }
};

bool rows_are_positions(row_kind kind)
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

/* Special keys first, then the neighbours of the first key and the last on
 * the outside, then keys of the index and their neighbours (all of
 * them if there is space), then random ones. */
static void make_queries(dataset *d, rnd *r)
{
    unsigned char *q = guard_fit(&d->q, d->queries * d->width, true);
    uint64_t step = d->queries ? d->n / (d->queries / 4 + 1) + 1 : 1;
    uint64_t at = rnd_below(r, step), i = 0;
    while (i < d->queries && key_special(d->type, (unsigned)i, q))
        i++, q += d->width;
    for (int end = 0; end < 2 && d->n && i < d->queries; end++, i++, q += d->width)
        key_step(d->type, oracle_key(d->truth, end ? d->n - 1 : 0), end ? 1 : -1, q);
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

/* The whole index, one key, a short run, between two keys, anything. When all
 * ranges together hold three times the index, the rest are empty. */
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

oracle_span *data_spans(const dataset *d, uint64_t limit, uint32_t last)
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
        d->spans[mode] = data_spans(d, range_modes[mode].limit,
                                    range_modes[mode].last);
}

static int compare_queries(const void *a, const void *b, void *data)
{
    const dataset *d = data;
    return oracle_compare(d->type, d->q.data + *(const uint64_t *)a * d->width,
                          d->q.data + *(const uint64_t *)b * d->width);
}

/* Queries and answers in ascending order. */
static void answer_up(dataset *d)
{
    uint64_t *order = need(d->queries * sizeof *order);
    const uint64_t *from[] = { d->get, d->left, d->right, d->floor, d->ceil };
    uint64_t **to[] = { &d->up.get, &d->up.left, &d->up.right, &d->up.floor, &d->up.ceil };
    unsigned char *q = guard_fit(&d->up.q, d->queries * d->width, true);
    for (uint64_t i = 0; i < d->queries; i++)
        order[i] = i;
    qsort_r(order, d->queries, sizeof *order, compare_queries, d);
    for (uint64_t i = 0; i < d->queries; i++)
        memcpy(q + i * d->width, d->q.data + order[i] * d->width, d->width);
    for (size_t list = 0; list < COUNT_OF(to); list++) {
        *to[list] = need(d->queries * sizeof **to[list]);
        for (uint64_t i = 0; i < d->queries; i++)
            (*to[list])[i] = from[list][order[i]];
    }
    free(order);
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
    answer_up(d);
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
    guard *guards[] = { &d->keys, &d->rows, &d->q, &d->lo, &d->hi, &d->up.q };
    uint64_t *lists[] = { d->get, d->left, d->right, d->floor, d->ceil, d->up.get, d->up.left,
                          d->up.right, d->up.floor, d->up.ceil };
    for (size_t i = 0; i < COUNT_OF(guards); i++)
        guard_free(guards[i]);
    oracle_free(d->truth);
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        free(lists[i]);
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

/* ---- prefixes and climbs ------------------------------------------------ */

/* Whether a key begins with the first bits of another: whole bytes, and bits of one more. */
static bool begins(const dataset *d, const unsigned char *key, const unsigned char *of, unsigned bits)
{
    for (unsigned i = 0; 8 * i < bits; i++) {
        size_t byte = d->type == SX_B16 ? i : d->width - 1 - i;
        unsigned rest = bits - 8 * i;
        if ((key[byte] ^ of[byte]) >> (rest < 8 ? 8 - rest : 0))
            return false;
    }
    return true;
}

oracle_span data_prefix(const dataset *d, const unsigned char *of, unsigned bits, uint64_t limit,
                            uint32_t last)
{
    /* Keys with the same first bits are neighbours, and `of` would be among them or beside them. */
    uint64_t at = oracle_ceil(d->truth, of), end;
    oracle_span s = { 0 };
    at = at == ORACLE_NONE ? d->n : at;
    for (end = at; end < d->n && begins(d, oracle_key(d->truth, end), of, bits); end++)
        ;
    while (at > 0 && begins(d, oracle_key(d->truth, at - 1), of, bits))
        at--;
    s.first = at;
    s.count = end - at;
    if (limit && s.count > limit) {
        s.first += last ? s.count - limit : 0;
        s.count = limit;
    }
    return s;
}

uint64_t data_top(const dataset *d, const unsigned char *parents, const void *q, uint32_t limit,
                       uint32_t *steps)
{
    uint64_t at = oracle_ceil(d->truth, q);
    *steps = 0;
    if (at == ORACLE_NONE || oracle_compare(d->type, oracle_key(d->truth, at), q) != 0)
        return ORACLE_NONE;
    while (!limit || *steps < limit) {
        const unsigned char *above = parents + d->truth->rows[at] * d->width;
        uint64_t next = oracle_ceil(d->truth, above);
        if (next == ORACLE_NONE || next == at ||
            oracle_compare(d->type, oracle_key(d->truth, next), above) != 0)
            break;
        at = next;
        ++*steps;
    }
    return at;
}
