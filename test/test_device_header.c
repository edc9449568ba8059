/* test_device_header.c - sextant_device.cuh, as users get it, in kernels of
 * our own that the emulator runs; and the kernel of examples/own_kernel.cu.
 *
 * All families and layouts, all key types, all three orders of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gpu/vendor_simt.h"

#include "own_kernel.h"           /* includes sextant_device.cuh */

#include "ask.h"

#define THREADS 64u
#define BLOCKS 2u

static const char *const specs[] = {
    "sorted", "sorted(layout=pairs)",
    "eytzinger", "eytzinger(k=2)", "eytzinger(k=4)", "eytzinger(layout=pairs)",
    "eytzinger(k=6,layout=pairs,block=1)",
    "pivot", "pivot(k=3,levels=1)", "pivot(k=4,leaf=10)", "pivot(layout=pairs)",
    "pivot(k=5,layout=pairs,block=1)",
    "btree", "btree(k=2)", "btree(k=4,layout=split)", "btree(k=5,layout=once)",
    "radix", "radix(leaf=1)", "radix(leaf=2,layout=pairs)", "radix(leaf=1,layout=once)",
};

static const struct { key_kind kind; uint64_t n; row_kind rows; } sets[] = {
    { KEYS_RANDOM, 0, ROWS_U32 },
    { KEYS_RANDOM, 1, ROWS_NULL },
    { KEYS_EXTREMES, 9, ROWS_U64_WIDE },
    { KEYS_EQUAL, 40, ROWS_U32 },
    { KEYS_DUPLICATES, 300, ROWS_U64_WIDE },
    { KEYS_SPECIAL, 257, ROWS_IMPLICIT },
    { KEYS_DENSE, 600, ROWS_NULL },
    { KEYS_RANDOM, 1000, ROWS_U64_SMALL },
};

static const simt_order orders[] = { SIMT_FORWARD, SIMT_REVERSED, SIMT_SHUFFLED };

/* ---- a kernel that asks everything ----------------------------------------- */

typedef struct {
    sx_handle h;
    int ask_as;                   /* the functions of this type */
    uint64_t queries, ranges, ranks;
    const unsigned char *q, *lo, *hi;
    uint64_t *get, *left, *right, *floor; /* of q */
    uint64_t *start, *count;              /* of lo, hi */
    uint64_t *begin, *begun;              /* of prefixes of lo; floats have none */
    uint64_t *row_at;                     /* of ranks 0, 1, ... */
    unsigned char *key_at;
    uint64_t *n;                          /* of each thread */
} probe_args;

/* How a key of the type is read from a column, passed, and returned. */
#define PREFIX(name, width)                                                        \
    ap->begun[i] = sx_device_prefix_##name(h, a, PREFIX_BITS(i, width), &ap->begin[i])
#define NO_PREFIX(name, width) ap->begun[i] = ap->begin[i] = 0
#define PREFIX_BITS(i, width) (uint32_t)((i) * 7 % (8 * (width) + 9))
#define PROBE(name, T, prefix)                                                             \
    static void probe_##name(const probe_args *ap)                                 \
    {                                                                              \
        const sx_handle *h = &ap->h;                                               \
        T a, b;                                                                    \
        for (uint64_t i = SX_THREAD; i < ap->queries; i += SX_THREADS) {           \
            memcpy(&a, ap->q + i * sizeof a, sizeof a);                            \
            ap->get[i] = sx_device_get_##name(h, a);                               \
            ap->left[i] = sx_device_rank_##name(h, a, SX_LEFT);                    \
            ap->right[i] = sx_device_rank_##name(h, a, SX_RIGHT);                  \
            ap->floor[i] = sx_device_row_at(h, ap->right[i] - 1);                  \
        }                                                                          \
        for (uint64_t i = SX_THREAD; i < ap->ranges; i += SX_THREADS) {            \
            memcpy(&a, ap->lo + i * sizeof a, sizeof a);                           \
            memcpy(&b, ap->hi + i * sizeof a, sizeof a);                           \
            ap->count[i] = sx_device_range_##name(h, a, b, &ap->start[i]);         \
            prefix(name, sizeof a);                                                \
        }                                                                          \
        for (uint64_t i = SX_THREAD; i < ap->ranks; i += SX_THREADS) {             \
            a = sx_device_key_at_##name(h, i);                                     \
            memcpy(ap->key_at + i * sizeof a, &a, sizeof a);                       \
        }                                                                          \
    }

PROBE(u32, uint32_t, PREFIX)
PROBE(u64, uint64_t, PREFIX)
PROBE(i32, int32_t, PREFIX)
PROBE(i64, int64_t, PREFIX)
PROBE(t64, int64_t, NO_PREFIX)
PROBE(f32, float, NO_PREFIX)
PROBE(f64, double, NO_PREFIX)

static void probe_b16(const probe_args *ap)
{
    const sx_handle *h = &ap->h;

    for (uint64_t i = SX_THREAD; i < ap->queries; i += SX_THREADS) {
        ap->get[i] = sx_device_get_b16(h, ap->q + i * 16);
        ap->left[i] = sx_device_rank_b16(h, ap->q + i * 16, SX_LEFT);
        ap->right[i] = sx_device_rank_b16(h, ap->q + i * 16, SX_RIGHT);
        ap->floor[i] = sx_device_row_at(h, ap->right[i] - 1);
    }
    for (uint64_t i = SX_THREAD; i < ap->ranges; i += SX_THREADS) {
        const unsigned char *a = ap->lo + i * 16;
        ap->count[i] = sx_device_range_b16(h, a, ap->hi + i * 16, &ap->start[i]);
        PREFIX(b16, 16);
    }
    for (uint64_t i = SX_THREAD; i < ap->ranks; i += SX_THREADS)
        sx_device_key_at_b16(h, i, ap->key_at + i * 16);
}

SX_KERNEL(probe, probe_args)
{
    switch (ap->ask_as) {
    case SX_U32: probe_u32(ap); break;
    case SX_U64: probe_u64(ap); break;
    case SX_I32: probe_i32(ap); break;
    case SX_I64: probe_i64(ap); break;
    case SX_T64: probe_t64(ap); break;
    case SX_F32: probe_f32(ap); break;
    case SX_F64: probe_f64(ap); break;
    case SX_B16: probe_b16(ap); break;
    }
    for (uint64_t i = SX_THREAD; i < ap->ranks; i += SX_THREADS)
        ap->row_at[i] = sx_device_row_at(&ap->h, i);
    ap->n[SX_THREAD] = sx_device_count(&ap->h);
}

/* ---- its answers against the oracle's --------------------------------------- */

#define PAST_END 5u               /* ranks asked for past the last key */

static probe_args probe_new(const sx_index *ix, const dataset *d)
{
    probe_args a = { .ask_as = d->type, .queries = d->queries, .ranges = d->ranges,
                     .ranks = d->n + PAST_END, .q = d->q.data, .lo = d->lo.data,
                     .hi = d->hi.data };
    uint64_t numbers = 4 * a.queries + 4 * a.ranges + a.ranks;

    assert_int_equal(sx_kernel_handle(ix, &a.h, sizeof a.h), SX_OK);
    a.get = need((numbers + THREADS * BLOCKS) * sizeof *a.get);
    a.left = a.get + a.queries;
    a.right = a.left + a.queries;
    a.floor = a.right + a.queries;
    a.start = a.floor + a.queries;
    a.count = a.start + a.ranges;
    a.begin = a.count + a.ranges;
    a.begun = a.begin + a.ranges;
    a.row_at = a.begun + a.ranges;
    a.n = a.row_at + a.ranks;
    a.key_at = need(a.ranks * 16);
    return a;
}

static void probe_free(probe_args *a)
{
    free(a->get);
    free(a->key_at);
}

static void probe_run(probe_args *a, unsigned order)
{
    memset(a->get, 0x5a, (size_t)((unsigned char *)(a->n + THREADS * BLOCKS) -
                                  (unsigned char *)a->get));
    memset(a->key_at, 0x5a, a->ranks * 16);
    simt_set_order(orders[order], order);
    SX_LAUNCH(probe, BLOCKS, THREADS, 0, NULL, a);
    assert_string_equal(simt_fault(), "");
}

#define AGREE(got, expected)                                                       \
    do {                                                                           \
        if ((got) != (expected))                                                   \
            die("%s, order %u: " #got " is %llu, not %llu, at %llu", where, order, \
                (unsigned long long)(got), (unsigned long long)(expected),         \
                (unsigned long long)i);                                            \
    } while (0)

static void expect_truth(const probe_args *a, const dataset *d, const char *where, unsigned order)
{
    for (uint64_t i = 0; i < d->queries; i++) {
        AGREE(a->get[i], d->get[i]);
        AGREE(a->left[i], d->left[i]);
        AGREE(a->right[i], d->right[i]);
        AGREE(a->floor[i], d->right[i] > 0 ? d->truth->rows[d->right[i] - 1] : SX_MISS);
    }
    for (uint64_t i = 0; i < d->ranges; i++) {
        AGREE(a->count[i], d->spans[0][i].count);
        AGREE(a->start[i], oracle_rank(d->truth, d->lo.data + i * d->width, 0));
        if (d->type == SX_F32 || d->type == SX_F64 || d->type == SX_T64)
            continue;
        uint32_t bits = PREFIX_BITS(i, d->width);
        oracle_span s = data_prefix(d, d->lo.data + i * d->width,
                                    bits > 8 * d->width ? (unsigned)(8 * d->width) : bits, 0, 0);
        AGREE(a->begun[i], s.count);
        if (s.count)
            AGREE(a->begin[i], s.first);
    }
    for (uint64_t i = 0; i < a->ranks; i++) {
        static const unsigned char zeros[16];
        const unsigned char *key = a->key_at + i * d->width;
        AGREE(a->row_at[i], i < d->n ? d->truth->rows[i] : SX_MISS);
        if (i < d->n)
            AGREE(oracle_compare(d->type, key, oracle_key(d->truth, i)), 0);
        else
            AGREE(memcmp(key, zeros, d->width), 0);
    }
    for (uint64_t i = 0; i < THREADS * BLOCKS; i++)
        AGREE(a->n[i], d->n);
}

/* What a function must answer if it has no keys. */
static void expect_nothing(const probe_args *a, const char *where, unsigned order)
{
    size_t width = sx_type_bytes(a->ask_as);

    for (uint64_t i = 0; i < a->queries; i++) {
        AGREE(a->get[i], SX_MISS);
        AGREE(a->left[i], 0);
        AGREE(a->right[i], 0);
        AGREE(a->floor[i], SX_MISS);
    }
    for (uint64_t i = 0; i < a->ranges; i++) {
        AGREE(a->count[i], 0);
        AGREE(a->start[i], 0);
        AGREE(a->begun[i], 0);
        AGREE(a->begin[i], 0);
    }
    for (uint64_t i = 0; i < a->ranks * width; i++)
        AGREE(a->key_at[i], 0);
}

static void test_answers(void **state)
{
    int type = *(int *)*state;
    sx_device *dev = device_open("simt");

    for (size_t s = 0; s < COUNT_OF(sets); s++) {
        rnd r = rnd_start(test_seed() + (uint64_t)type * 100 + s);
        dataset *d = data_make(type, sets[s].kind, sets[s].n, sets[s].rows, 200, &r);
        for (size_t k = 0; k < COUNT_OF(specs); k++) {
            char where[128];
            sx_index *ix;
            probe_args a;
            snprintf(where, sizeof where, "%s, %s, set %zu", specs[k], sx_type_name(type), s);
            if (data_build(d, dev, specs[k], NULL, &ix) != SX_OK)
                die("%s: %s", where, sx_detail());
            a = probe_new(ix, d);
            for (unsigned order = 0; order < COUNT_OF(orders); order++) {
                probe_run(&a, order);
                expect_truth(&a, d, where, order);
            }
            probe_free(&a);
            sx_free(ix);
        }
        data_free(d);
    }
    sx_close(dev);
}

/* Functions of every other type, and a handle of a library with another version:
 * they find no keys. */
static void test_other_handles(void **state)
{
    sx_device *dev = device_open("simt");
    rnd r = rnd_start(test_seed());

    (void)state;
    for (size_t t = 0; t < COUNT_OF(key_types); t++) {
        dataset *d = data_make(key_types[t], KEYS_DENSE, 50, ROWS_U32, 30, &r);
        unsigned char wide[30 * 16] = { 0 };      /* keys of any type */
        sx_index *ix;
        probe_args a;
        assert_int_equal(data_build(d, dev, "pivot", NULL, &ix), SX_OK);
        a = probe_new(ix, d);
        a.q = a.lo = a.hi = wide;
        for (size_t other = 0; other < COUNT_OF(key_types); other++) {
            a.ask_as = key_types[other];
            probe_run(&a, 0);
            if (other == t)
                assert_int_equal(a.row_at[0], d->truth->rows[0]);
            else
                expect_nothing(&a, sx_type_name(a.ask_as), 0);
        }
        a.ask_as = d->type;
        a.h.version++;
        probe_run(&a, 0);
        expect_nothing(&a, "another version", 0);
        for (uint64_t i = 0; i < a.ranks; i++)
            assert_true(a.row_at[i] == SX_MISS);
        assert_int_equal(a.n[0], 0);
        probe_free(&a);
        sx_free(ix);
        data_free(d);
    }
    sx_close(dev);
}

static void test_no_handle(void **state)
{
    uint32_t key[3] = { 3, 1, 2 };
    sx_column keys = column(SX_U32, 3, key);
    sx_device *cpu = device_open("cpu"), *dev = device_open("simt");
    sx_index *on_cpu, *ix;
    sx_handle h, before;

    (void)state;
    memset(&h, 0x5a, sizeof h);
    before = h;
    assert_int_equal(sx_build(&on_cpu, cpu, "pivot", &keys, NULL, NULL), SX_OK);
    assert_int_equal(sx_build(&ix, dev, "pivot", &keys, NULL, NULL), SX_OK);
    assert_int_equal(sx_kernel_handle(on_cpu, &h, sizeof h), SX_ENOSYS);
    assert_non_null(strstr(sx_detail(), "cpu"));
    assert_int_equal(sx_kernel_handle(ix, &h, sizeof h - 8), SX_EINVAL);
    assert_non_null(strstr(sx_detail(), "another version"));
    assert_int_equal(sx_kernel_handle(ix, NULL, sizeof h), SX_EINVAL);
    assert_int_equal(sx_kernel_handle(NULL, &h, sizeof h), SX_EINVAL);
    assert_memory_equal(&h, &before, sizeof h);
    sx_free(on_cpu);
    sx_free(ix);
    sx_close(cpu);
    sx_close(dev);
}

/* ---- the example's kernel --------------------------------------------------- */

#define TRADES 500u
#define ORDERS 150u

typedef struct {
    sx_handle h;
    own_orders orders;
    uint64_t n;
} example_args;

SX_KERNEL(example, example_args)
{
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS)
        own_order(&ap->h, &ap->orders, i);
}

/* Looks at all trades, for each time at which there was one. */
static uint64_t reach(const uint64_t *when, const uint32_t *amount, uint64_t at, uint32_t wanted,
                      uint64_t window)
{
    for (uint64_t back = 0; back <= window && back <= at; back++) {
        uint64_t sum = 0;
        int traded = 0;
        for (unsigned i = 0; i < TRADES; i++) {
            traded |= when[i] == at - back;
            if (when[i] <= at && when[i] >= at - back)
                sum += amount[i];
        }
        if (traded && sum >= wanted)
            return at - back;
    }
    return SX_MISS;
}

static void test_example(void **state)
{
    uint64_t when[TRADES], at[ORDERS], since[ORDERS], expected[ORDERS], window = 40;
    uint32_t amount[TRADES], wanted[ORDERS];
    sx_column keys;
    sx_device *dev = device_open("simt");
    rnd r = rnd_start(test_seed());
    unsigned missed = 0;

    (void)state;
    for (unsigned i = 0; i < TRADES; i++) {
        when[i] = rnd_below(&r, 1000);
        amount[i] = (uint32_t)rnd_below(&r, 100);
    }
    for (unsigned i = 0; i < ORDERS; i++) {
        at[i] = rnd_below(&r, 1100);
        wanted[i] = 1 + (uint32_t)rnd_below(&r, 1500);
        expected[i] = reach(when, amount, at[i], wanted[i], window);
        missed += expected[i] == SX_MISS;
    }
    assert_in_range(missed, 1, ORDERS - 1);
    keys = column(SX_U64, TRADES, when);
    for (size_t k = 0; k < COUNT_OF(specs); k++) {
        example_args a = { .n = ORDERS, .orders = { .amount = amount, .at = at, .wanted = wanted,
                                                    .window = window, .since = since } };
        sx_index *ix;
        assert_int_equal(sx_build(&ix, dev, specs[k], &keys, NULL, NULL), SX_OK);
        assert_int_equal(sx_kernel_handle(ix, &a.h, sizeof a.h), SX_OK);
        for (unsigned order = 0; order < COUNT_OF(orders); order++) {
            memset(since, 0x5a, sizeof since);
            simt_set_order(orders[order], order);
            SX_LAUNCH(example, BLOCKS, THREADS, 0, NULL, &a);
            assert_string_equal(simt_fault(), "");
            assert_memory_equal(since, expected, sizeof since);
        }
        sx_free(ix);
    }
    sx_close(dev);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(key_types) + 3] = {
        cmocka_unit_test(test_other_handles),
        cmocka_unit_test(test_no_handle),
        cmocka_unit_test(test_example),
    };
    char names[COUNT_OF(key_types)][32];
    int types[COUNT_OF(key_types)];

    for (size_t t = 0; t < COUNT_OF(key_types); t++) {
        types[t] = key_types[t];
        snprintf(names[t], sizeof names[t], "test_answers of %s", sx_type_name(types[t]));
        tests[3 + t] = (struct CMUnitTest){ .name = names[t], .test_func = test_answers,
                                            .initial_state = &types[t] };
    }
    return cmocka_run_group_tests_name("device_header", tests, NULL, NULL) != 0;
}
