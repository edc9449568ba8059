/* test_fill.c - rows of short ranges and of gets, as many as no cache holds; and memory that a device
 * keeps from one call to the next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "on_device.h"
#include "base/alloc.h"
#include "base/past.h"
#include "place/registry.h"
#include "query/index.h"

#define KEYS 6000u                /* of rank r: r / 2 * 3, so each is there twice */
#define RANGES 60000u
#define HITS_MOST 400u
#define LONGEST 64u               /* that counts as short; see SHORT of cpu_fill.c */

typedef struct {
    uint64_t *keys, *rows, *lo, *hi, *first, *start;
    uint32_t *rows4;
    uint64_t total;
} scene;

/* Hits of range i: none, one pair, few, around what is short, and now and then many more. */
static uint64_t hits_of(uint64_t i, rnd *r)
{
    static const uint64_t near[] = { 0, 2, 8, 32, LONGEST - 2, LONGEST, LONGEST + 2 };
    return i % 97 == 0 ? HITS_MOST : i % 3 == 0 ? rnd_below(r, 45) * 2
                                                : near[rnd_below(r, COUNT_OF(near))];
}

static scene scene_new(rnd *r)
{
    scene s = { need(KEYS * 8), need(KEYS * 8), need(RANGES * 8), need(RANGES * 8),
                need((RANGES + 1) * 8), need(RANGES * 8), need(KEYS * 4), 0 };
    for (uint64_t i = 0; i < KEYS; i++) {
        s.keys[i] = i / 2 * 3;
        s.rows4[i] = (uint32_t)(i * 7919 % 100003);
        s.rows[i] = s.rows4[i] + (i << 40);
    }
    for (uint64_t i = 0; i < RANGES; i++) {
        uint64_t n = hits_of(i, r), a = rnd_below(r, (KEYS - HITS_MOST) / 2) * 2;
        if (i % 50 == 1 && n > 0)  /* up to the last key */
            a = KEYS - n;
        s.start[i] = a;
        s.first[i] = s.total;
        s.lo[i] = s.keys[a] - (i % 2 && a > 0);
        s.hi[i] = n ? s.keys[a + n - 1] + i % 2 : s.lo[i] - (s.lo[i] > 0);
        if (n == 0 && s.lo[i] == 0)
            s.lo[i] = 1, s.hi[i] = 0;
        if (n == 0 && i % 2)      /* between two keys */
            s.lo[i] = s.keys[a] + 1, s.hi[i] = s.keys[a] + 2;
        s.total += n;
    }
    s.first[RANGES] = s.total;
    return s;
}

static void scene_free(scene *s)
{
    void *all[] = { s->keys, s->rows, s->lo, s->hi, s->first, s->start, s->rows4 };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        free(all[i]);
}

/* The rows of ranges [0, n), each up to a limit, its first ones or its last. */
static void try_rows(const scene *s, const sx_index *ix, uint64_t n, uint64_t limit, uint32_t last,
                     int wide, int out_type, const char *what)
{
    size_t each = out_type == SX_U64 ? 8 : 4;
    uint64_t *first = need((n + 1) * 8), total = 0, wrong = 0;
    unsigned char *rows = need(s->total * each + 1);
    sx_column lo = column(SX_U64, n, s->lo), hi = column(SX_U64, n, s->hi);
    sx_column f = column(SX_U64, n + 1, first), to;
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi, .limit = limit, .last = last };
    for (uint64_t i = 0; i < n; i++) {
        uint64_t hits = s->first[i + 1] - s->first[i];
        total += limit && hits > limit ? limit : hits;
    }
    memset(rows, GUARD_FILL, s->total * each + 1);
    to = column(out_type, total > 0 ? total - 1 : 0, rows);
    if (total > 0)                /* one too few: nothing is written */
        assert_int_equal(sx_range(ix, &ranges, &f, &to, NULL, NULL), SX_ESPACE);
    for (uint64_t i = 0; i < s->total * each; i++)
        wrong += rows[i] != GUARD_FILL;
    assert_int_equal(wrong, 0);
    to = column(out_type, total, rows);
    OK(sx_range(ix, &ranges, &f, &to, NULL, NULL));
    assert_int_equal(first[n], total);
    for (uint64_t i = 0, at = 0; i < n; i++) {
        uint64_t hits = s->first[i + 1] - s->first[i], a = s->start[i];
        if (limit && hits > limit) {
            a += last ? hits - limit : 0;
            hits = limit;
        }
        wrong += first[i] != at;
        for (uint64_t k = 0; k < hits; k++, at++) {
            uint64_t right = wide ? s->rows[a + k] : s->rows4[a + k];
            wrong += (each == 8 ? ((const uint64_t *)(const void *)rows)[at]
                                : ((const uint32_t *)(const void *)rows)[at]) != right;
        }
    }
    if (wrong > 0 || rows[total * each] != GUARD_FILL)
        fail_msg("%s: %llu wrong", what, (unsigned long long)wrong);
    free(first);
    free(rows);
}

/* More rows than any cache holds, and fewer; in one thread, and in many; rows of 8 bytes and of 4,
 * and wider ones than are stored. */
static void test_rows(void **state)
{
    (void)state;
    static const char *const specs[] = { "btree(layout=pairs)", "sorted", "sorted(layout=once)",
                                         "pivot(layout=pairs)", "eytzinger", "btree(fill=80)",
                                         "sorted(layout=pairs,block=1)", "sorted(layout=pairs,block=2)",
                                         "pivot(layout=pairs,block=64)" };
    static const char *const devices[] = { "cpu:threads=1", "cpu", "cpu:scalar" };
    rnd r = rnd_start(test_seed());
    scene s = scene_new(&r);
    assert_true(s.total * 4 > 8u << 20 && s.total * 8 > 16u << 20);
    for (size_t k = 0; k < COUNT_OF(specs) * 2; k++) {
        sx_device *dev = device_open(devices[k % COUNT_OF(devices)]);
        int wide = k >= COUNT_OF(specs);
        const char *spec = specs[k % COUNT_OF(specs)];
        sx_column keys = column(SX_U64, KEYS, s.keys);
        sx_column rows = wide ? column(SX_U64, KEYS, s.rows) : column(SX_U32, KEYS, s.rows4);
        sx_index *ix = NULL;
        OK(sx_build(&ix, dev, spec, &keys, &rows, NULL));
        try_rows(&s, ix, RANGES, 0, 0, wide, SX_U64, spec);
        try_rows(&s, ix, RANGES / 8, 0, 0, wide, wide ? SX_U64 : SX_U32, spec);
        try_rows(&s, ix, RANGES / 8, 3, 0, wide, SX_U64, spec);
        try_rows(&s, ix, RANGES / 8, 5, 1, wide, SX_U64, spec);
        try_rows(&s, ix, 1, 0, 0, wide, SX_U64, spec);
        sx_free(ix);
        sx_close(dev);
    }
    scene_free(&s);
}

/* The same rows of 4 bytes, past the caches. */
static void test_narrow_rows(void **state)
{
    (void)state;
    enum { N = 70000, EACH = 72 };   /* 17 MiB of rows */
    uint32_t *numbers = need(KEYS * 4), *lo = need(N * 4), *hi = need(N * 4), *rows;
    uint64_t *first = need((N + 1) * 8), wrong = 0;
    sx_device *dev = device_open("cpu");
    sx_column keys = column(SX_U32, KEYS, numbers), ends[2] = { column(SX_U32, N, lo),
                                                                column(SX_U32, N, hi) };
    sx_ranges ranges = { .size = sizeof ranges, .lo = &ends[0], .hi = &ends[1], .limit = 64 };
    sx_column f = column(SX_U64, N + 1, first), to = column(SX_U32, N * 64, rows = need(N * 64 * 4));
    sx_index *ix = NULL;
    for (uint32_t i = 0; i < KEYS; i++)
        numbers[i] = KEYS - 1 - i;        /* row i has key KEYS - 1 - i */
    for (uint32_t i = 0; i < N; i++) {
        lo[i] = i * 37 % (KEYS - EACH);
        hi[i] = lo[i] + EACH - 1;
    }
    OK(sx_build(&ix, dev, "btree(layout=pairs)", &keys, NULL, NULL));
    OK(sx_range(ix, &ranges, &f, &to, NULL, NULL));
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t k = 0; k < 64; k++)
            wrong += rows[i * 64 + k] != KEYS - 1 - (lo[i] + k);
    assert_int_equal(first[N], N * 64);
    assert_int_equal(wrong, 0);
    sx_free(ix);
    sx_close(dev);
    free(numbers);
    free(lo);
    free(hi);
    free(rows);
    free(first);
}

/* Each range of the last keys, whose section ends where a page traps: nothing behind it is read. */
static void try_last_rows(const char *spec, const uint64_t *numbers, const uint64_t *rows, uint64_t n)
{
    enum { LAST = 80, RANGES_MOST = LAST * LAST };
    static uint64_t start[RANGES_MOST], first[RANGES_MOST + 1], got[RANGES_MOST * LAST];
    sx_device *dev = device_open("cpu:threads=1");
    sx_column keys = column(SX_U64, n, numbers), of = column(SX_U64, n, rows);
    sx_index *ix = NULL;
    sx_spans spans = { .start = start, .first = first };
    sx_span_query job = { .key_type = SX_U64 };
    sx_range_out out = { .rows = sx_slice_fixed(got, 8, COUNT_OF(got), SX_HOST) };
    uint64_t total = 0, wrong = 0;
    OK(sx_build(&ix, dev, spec, &keys, &of, NULL));
    sx_hold held = sx_hold_version(ix);
    const sx_replica *r = &sx_one_run(held.now)->replica[0];
    sx_view v = r->view;
    uint64_t bytes = v.slots / v.block * v.block_bytes;
    guard space = guard_new(bytes);
    unsigned char *copy = guard_fit(&space, bytes, true);
    memcpy(copy, v.keys, bytes);
    v.rows = copy + (v.rows - v.keys);
    v.keys = copy;
    for (uint64_t a = n - LAST; a < n; a++)
        for (uint64_t b = a; b < n && b - a < LONGEST; b++, spans.n++) {
            start[spans.n] = a;
            first[spans.n] = total;
            total += b - a + 1;
        }
    first[spans.n] = total;
    sx_err err;
    OK(r->dev->backend->fill(r->dev->self, SX_ONE_VIEW(&v), &job, &spans, &out, total, &err));
    for (uint64_t i = 0; i < spans.n; i++)
        for (uint64_t k = first[i]; k < first[i + 1]; k++)
            wrong += got[k] != rows[start[i] + k - first[i]];
    assert_int_equal(wrong, 0);
    guard_free(&space);
    sx_let_go(ix, &held);
    sx_free(ix);
    sx_close(dev);
}

static void test_last_rows(void **state)
{
    (void)state;
    enum { N = 4096 };            /* fill every block */
    static const char *const specs[] = { "sorted(layout=pairs,block=1)", "sorted(layout=pairs,block=2)",
                                         "sorted(layout=pairs,block=4)", "btree(layout=pairs)",
                                         "pivot(layout=pairs,block=64)" };
    uint64_t *numbers = need(N * 8), *rows = need(N * 8);
    for (uint64_t i = 0; i < N; i++) {
        numbers[i] = i * 5;
        rows[i] = i + (i << 40);
    }
    for (size_t k = 0; k < COUNT_OF(specs); k++)
        try_last_rows(specs[k], numbers, rows, N);
    free(numbers);
    free(rows);
}

/* From any place to any, of any length: these bytes and no others. */
static void test_copy_past(void **state)
{
    (void)state;
    _Alignas(64) unsigned char from[400], to[400];
    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7 + 1);
    for (unsigned a = 0; a < 70; a++)
        for (unsigned n = 0; n <= 200; n += n < 140 ? 1 : 13) {
            unsigned b = (a * 5 + n) % 67;
            memset(to, 0, sizeof to);
            sx_copy_past(to + a, from + b, n);
            sx_past_end();
            assert_memory_equal(to + a, from + b, n);
            for (unsigned i = 0; i < sizeof to; i++)
                if ((i < a || i >= a + n) && to[i])
                    fail_msg("%u bytes at %u: byte %u, too", n, a, i);
        }
    assert_true(sx_goes_past((16u << 20) + 1) && !sx_goes_past(16u << 20));
}

/* Gets and ranges of one key, more than any cache holds answers of; answers begin and end in the
 * middle of lines. */
static void test_many_answers(void **state)
{
    (void)state;
    enum { N = (2 << 20) + 77 };
    uint64_t *numbers = need(KEYS * 8), *q = need(N * 8), *out = need((N + 12) * 8), *first = need((N + 10) * 8);
    static const char *const devices[] = { "cpu", "cpu:threads=1" };
    for (uint32_t i = 0; i < KEYS; i++)
        numbers[i] = 3ull * (KEYS - 1 - i);       /* row i */
    for (uint64_t i = 0; i < N; i++)
        q[i] = (i * 7919 + i / 5) % (3 * KEYS);   /* two in three are not there */
    for (unsigned k = 0; k < 4; k++) {
        static const char *const specs[] = { "btree(layout=pairs)", "sorted" };
        sx_device *dev = device_open(devices[k / 2]);
        sx_column keys = column(SX_U64, KEYS, numbers), asked = column(SX_U64, N, q);
        sx_column rows = column(SX_U64, N, out + 3 + k), f = column(SX_U64, N + 1, first + 1 + k);
        sx_ranges ranges = { .size = sizeof ranges, .lo = &asked, .hi = &asked };
        sx_index *ix = NULL;
        uint64_t wrong = 0, at = 0;
        memset(out, GUARD_FILL, (N + 12) * 8);
        OK(sx_build(&ix, dev, specs[k % 2], &keys, NULL, NULL));
        OK(sx_get(ix, &asked, &rows, NULL));
        for (uint64_t i = 0; i < N; i++)
            wrong += out[3 + k + i] != (q[i] % 3 ? UINT64_MAX : KEYS - 1 - q[i] / 3);
        wrong += out[2 + k] != GUARD_FILL * 0x0101010101010101ull;
        wrong += out[3 + k + N] != GUARD_FILL * 0x0101010101010101ull;
        OK(sx_range(ix, &ranges, &f, &rows, NULL, NULL));
        for (uint64_t i = 0; i < N; i++) {
            wrong += first[1 + k + i] != at;
            if (q[i] % 3 == 0)
                wrong += out[3 + k + at++] != KEYS - 1 - q[i] / 3;
        }
        wrong += first[1 + k + N] != at;
        assert_int_equal(wrong, 0);
        sx_free(ix);
        sx_close(dev);
    }
    free(numbers);
    free(q);
    free(out);
    free(first);
}

/* A device keeps one block, of a size within bounds, and gives it to who needs no more. */
static void test_spare(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=1");
    uint64_t live = sx_alloc_live();
    void *a, *b, *c;
    sx_err err;
    OK(sx_device_spare(dev, &a, SX_SPARE_LEAST + 4096, "a test", &err));
    OK(sx_device_spare(dev, &b, SX_SPARE_LEAST, "a test", &err));
    sx_device_keep(dev, a);
    sx_device_keep(dev, b);                       /* there is one already */
    assert_int_equal(sx_alloc_live(), live + SX_SPARE_LEAST + 4096);
    OK(sx_device_spare(dev, &b, SX_SPARE_LEAST - 1, "a test", &err));     /* the heap's */
    assert_ptr_not_equal(a, b);
    sx_device_keep(dev, b);
    OK(sx_device_spare(dev, &b, SX_SPARE_LEAST, "a test", &err));
    assert_ptr_equal(a, b);
    OK(sx_device_spare(dev, &c, SX_SPARE_LEAST, "a test", &err));         /* while that is in use */
    assert_ptr_not_equal(b, c);
    sx_device_keep(dev, c);
    sx_device_keep(dev, b);
    OK(sx_device_spare(dev, &a, 2 * SX_SPARE_LEAST, "a test", &err));     /* the one kept is too small */
    assert_true(sx_alloc_most_of(a) >= 2 * SX_SPARE_LEAST);
    assert_int_equal(sx_alloc_live(), live + 2 * SX_SPARE_LEAST);
    sx_device_keep(dev, a);
    sx_device_rest(dev);
    assert_int_equal(sx_alloc_live(), live);
    OK(sx_device_spare(dev, &a, SX_SPARE_MOST + 1ull, "a test", &err));   /* too large to be kept */
    sx_device_keep(dev, a);
    sx_device_keep(dev, NULL);
    assert_int_equal(sx_alloc_live(), live);
    sx_close(dev);
}

/* Ranges take such memory, and the end of an index gives it back. */
static void test_kept(void **state)
{
    (void)state;
    enum { N = 600000 };
    uint64_t *q = need(N * 8), *first = need((N + 1) * 8), *rows = need(N * 8), live;
    sx_device *dev = device_open("cpu");
    sx_column keys = column(SX_U64, 64, q), all = column(SX_U64, N, q);
    sx_column f = column(SX_U64, N + 1, first), to = column(SX_U64, N, rows);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &all, .hi = &all };
    sx_index *ix = NULL;
    for (uint64_t i = 0; i < N; i++)
        q[i] = i % 64;
    OK(sx_build(&ix, dev, "sorted", &keys, NULL, NULL));
    live = sx_alloc_live();
    for (unsigned i = 0; i < 3; i++) {
        OK(sx_range(ix, &ranges, &f, &to, NULL, NULL));
        assert_int_equal(sx_alloc_live(), live + N * 8);
        assert_int_equal(rows[N - 1], (N - 1) % 64);
    }
    sx_free(ix);
    assert_true(sx_alloc_live() < live);
    sx_close(dev);
    free(q);
    free(first);
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_narrow_rows),
        cmocka_unit_test(test_last_rows),
        cmocka_unit_test(test_copy_past),
        cmocka_unit_test(test_many_answers),
        cmocka_unit_test(test_spare),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
