/* exercise.h - asks an index whose contents may be anything.
 *
 * A forged file can hold unsorted keys and any rows, so its answers can't be
 * known. But every rank and every count must lie in [0, n], and nothing may be
 * read or written outside: outputs are exact heap blocks, which AddressSanitizer
 * watches. The tests of files and the fuzzer share this. */
#ifndef EXERCISE_H
#define EXERCISE_H

#include <stdint.h>
#include <stdlib.h>

#include "sextant.h"

#define EXERCISE_QUERIES 40u

typedef struct {
    const sx_index *ix;
    uint64_t n;
    sx_column lo, hi;             /* queries */
    sx_column keys, numbers, first;
} exercise_state;

#define EXERCISE_TEXT 16u         /* bytes of a query that is a string; as a result none, at first */
#define EXERCISE_TEXT_MOST (64u << 20)

static inline sx_column exercise_column(int type, uint64_t n)
{
    size_t bytes = n * (type == SX_STR ? EXERCISE_TEXT : sx_type_bytes(type));
    sx_column c = { .type = type, .n = n, .data = malloc(bytes + !bytes) };
    if (type == SX_STR) {
        c.offset_bytes = 8;
        c.bytes = bytes;
        c.offsets = malloc((n + 1) * sizeof(uint64_t));
        for (uint64_t i = 0; c.offsets && i <= n; i++)    /* 13 to 16 bytes each, the first none */
            ((uint64_t *)c.offsets)[i] = i == 0 ? 0 : (i - 1) * EXERCISE_TEXT + i % 4;
    }
    if (!c.data || (type == SX_STR && !c.offsets))
        abort();
    return c;
}

static inline void exercise_free(sx_column *c)
{
    free(c->data);
    if (c->type == SX_STR)
        free(c->offsets);
}

/* Whether there was too little space for n strings, and there is enough now. */
static inline int exercise_more(sx_column *c, uint64_t n, sx_status st)
{
    uint64_t bytes = c->type == SX_STR && st == SX_ESPACE ? ((uint64_t *)c->offsets)[n] : 0;
    if (bytes <= c->bytes || bytes > EXERCISE_TEXT_MOST)
        return 0;
    free(c->data);
    c->bytes = bytes;
    c->data = malloc(bytes);
    if (!c->data)
        abort();
    return 1;
}

/* Strings that nobody has space for are fine, too. */
static inline int exercise_right(const sx_column *c, sx_status st)
{
    return st == SX_OK || (c->type == SX_STR && st == SX_ESPACE);
}

static inline const char *exercise_bounds(const sx_column *c, uint64_t n,
                                          uint64_t most, const char *what)
{
    const uint64_t *x = c->data;
    for (uint64_t i = 0; i < n; i++)
        if (x[i] > most)
            return what;
    return NULL;
}

static inline const char *exercise_points(exercise_state *s)
{
    const char *wrong = NULL;
    uint64_t *ranks = s->first.data, n = s->lo.n;
    sx_column in = { .type = SX_U64, .n = n, .data = ranks };
    for (int side = SX_LEFT; side <= SX_RIGHT && !wrong; side++) {
        if (sx_rank(s->ix, &s->lo, (sx_side)side, &s->numbers, NULL) != SX_OK)
            return "rank failed";
        wrong = exercise_bounds(&s->numbers, n, s->n, "a rank past the end");
    }
    if (sx_get(s->ix, &s->hi, &s->numbers, NULL) != SX_OK)
        return "get failed";
    sx_status st;
    do
        st = sx_floor(s->ix, &s->lo, &s->numbers, &s->keys, NULL);
    while (exercise_more(&s->keys, n, st));
    if (!exercise_right(&s->keys, st))
        return "floor failed";
    do
        st = sx_ceil(s->ix, &s->hi, &s->numbers, &s->keys, NULL);
    while (exercise_more(&s->keys, n, st));
    if (!exercise_right(&s->keys, st))
        return "ceil failed";
    for (uint64_t i = 0; i < n; i++)            /* both ends; may wrap */
        ranks[i] = i < n / 2 ? i : s->n + 2 - (i - n / 2);
    do
        st = sx_key_at(s->ix, &in, &s->keys, &s->numbers, NULL);
    while (exercise_more(&s->keys, n, st));
    if (!exercise_right(&s->keys, st))
        return "key_at failed";
    return wrong;
}

static inline const char *exercise_ranges(exercise_state *s, uint64_t limit,
                                          uint32_t last)
{
    uint64_t n = s->lo.n;
    const uint64_t *first = s->first.data;
    sx_ranges ranges = { .size = sizeof ranges, .lo = &s->lo, .hi = &s->hi,
                         .limit = limit, .last = last };
    sx_aggregates all = { .size = sizeof all, .sum = &s->numbers };
    if (sx_range_count(s->ix, &ranges, &s->numbers, NULL) != SX_OK)
        return "range_count failed";
    if (exercise_bounds(&s->numbers, n, s->n, ""))
        return "a count past the end";
    if (sx_range_aggregate(s->ix, &ranges, &all, NULL) != SX_OK)
        return "aggregate failed";
    if (sx_range(s->ix, &ranges, &s->first, NULL, NULL, NULL) != SX_OK)
        return "range failed";
    uint64_t hits = first[n];
    if (hits > n * s->n)
        return "more hits than keys";
    sx_column rows = exercise_column(SX_U64, hits);
    sx_column keys = exercise_column(s->keys.type, hits);
    sx_status status;
    do
        status = sx_range(s->ix, &ranges, &s->first, &rows, &keys, NULL);
    while (exercise_more(&keys, hits, status));
    int right = exercise_right(&keys, status);
    exercise_free(&rows);
    exercise_free(&keys);
    return !right ? "range failed with room"
         : first[n] != hits ? "range counted differently" : NULL;
}

/* What is wrong, or NULL. */
static inline const char *exercise(const sx_index *ix, uint64_t seed)
{
    sx_index_info info = { .size = sizeof info };
    if (sx_describe(ix, &info) != SX_OK)
        return "describe failed";
    const uint64_t n = EXERCISE_QUERIES;
    exercise_state s = { .ix = ix, .n = info.n,
                         .lo = exercise_column(info.key_type, n),
                         .hi = exercise_column(info.key_type, n),
                         .keys = exercise_column(info.key_type, n),
                         .numbers = exercise_column(SX_U64, n),
                         .first = exercise_column(SX_U64, n + 1) };
    /* All zeros, all ones, then random bytes and random small numbers. */
    unsigned char *lo = s.lo.data, *hi = s.hi.data;
    size_t width = info.key_type == SX_STR ? EXERCISE_TEXT : sx_type_bytes(info.key_type);
    for (size_t i = 0; i < n * width; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        lo[i] = i < width ? 0 : i < 2 * width ? 0xff
              : i % width && seed >> 63 ? 0 : (unsigned char)(seed >> 40);
        hi[i] = i < 3 * width ? 0xff : (unsigned char)(seed >> 48);
    }
    const char *wrong = exercise_points(&s);
    if (!wrong)
        wrong = exercise_ranges(&s, 0, 0);
    if (!wrong)
        wrong = exercise_ranges(&s, 3, 0);
    if (!wrong)
        wrong = exercise_ranges(&s, 5, 1);
    (void)sx_check(ix, NULL);           /* either result is right */
    exercise_free(&s.lo);
    exercise_free(&s.hi);
    exercise_free(&s.keys);
    exercise_free(&s.numbers);
    exercise_free(&s.first);
    return wrong;
}

#endif
