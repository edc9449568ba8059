/* test_simt.c - the emulator that runs GPU kernels: threads of a block meet at barriers, in
 * warps, in sorts and in shared memory as on a GPU, in every order of turns.
 * test_simt_faults.c has kernels that would hang or go wrong there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "on_simt.h"

#ifdef SIMT_WITH_ASAN
#include <sanitizer/asan_interface.h>
#endif

/* ---- blocks ----------------------------------------------------------------- */

SX_KERNEL(where_am_i, columns)
{
    ap->out[SX_THREAD] = SX_TID + 1000 * SX_BLOCK + 1000000 * SX_BLOCK_THREADS +
                         1000000000ull * SX_BLOCKS + 10000000000ull * SX_LANE +
                         1000000000000ull * (SX_THREADS == ALL && SX_SHARED != NULL);
}

static void test_places(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        RUN(where_am_i);
        for (unsigned i = 0; i < ALL; i++)
            assert_int_equal(out[i], i % THREADS + 1000 * (i / THREADS) + 1000000 * THREADS +
                                     1000000000ull * BLOCKS + 10000000000ull * (i % 32) +
                                     1000000000000ull);
    }
}

/* The order in which threads come. */
SX_KERNEL(take_numbers, columns)
{
    ap->out[SX_THREAD] = ap->word[0]++;
}

static void test_turns(void **state)
{
    uint64_t before[ALL] = {0};

    (void)state;
    EACH_ORDER (o) {
        unsigned as_counted = 0;
        RUN(take_numbers);
        for (unsigned i = 0; i < ALL; i++) {
            unsigned first = i / THREADS * THREADS;
            if (orders[o].order == SIMT_FORWARD)
                assert_int_equal(out[i], i);
            if (orders[o].order == SIMT_REVERSED)
                assert_int_equal(out[i], first + THREADS - 1 - (i - first));
            as_counted += out[i] == i;
        }
        if (orders[o].order == SIMT_SHUFFLED)
            assert_in_range(as_counted, 0, ALL / 8);
        assert_memory_not_equal(out, before, sizeof out);     /* each seed has its own */
        memcpy(before, out, sizeof out);
    }
}

/* Every thread writes, all meet, every thread reads its neighbour's. */
SX_KERNEL(rotate, columns)
{
    uint64_t *shared = (uint64_t *)SX_SHARED;

    shared[SX_TID] = ap->in[SX_THREAD];
    SX_BARRIER();
    ap->out[SX_THREAD] = shared[(SX_TID + 1) % SX_BLOCK_THREADS];
    SX_BARRIER();
}

static void test_barrier(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        RUN_WITH(rotate, BLOCKS, THREADS, THREADS * 8, &arrays);
        for (unsigned b = 0; b < BLOCKS; b++)
            for (unsigned t = 0; t < THREADS; t++)
                assert_int_equal(out[b * THREADS + t], in[b * THREADS + (t + 1) % THREADS]);
    }
}

/* Threads that are done do not hold up a barrier. */
SX_KERNEL(leave_early, columns)
{
    if (SX_TID >= 40)
        return;
    SX_BARRIER();
    ap->out[SX_THREAD] = 1;
}

static void test_early_exit(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        RUN(leave_early);
        for (unsigned i = 0; i < ALL; i++)
            assert_int_equal(out[i], i % THREADS < 40);
    }
}

/* ---- shared memory ------------------------------------------------------------ */

#define ODD_BYTES 1037u

/* Counts the bytes that are as they should be, and changes all of them. */
SX_KERNEL(read_fill, columns)
{
    for (unsigned i = SX_TID; i < ODD_BYTES; i += SX_BLOCK_THREADS)
        ap->out[SX_THREAD] += SX_SHARED[i] == 0xa5;
    ap->out[SX_THREAD] += (uintptr_t)SX_SHARED % 16 * 1000000;
    SX_BARRIER();
    for (unsigned i = SX_TID; i < ODD_BYTES; i += SX_BLOCK_THREADS)
        SX_SHARED[i] = 0;
}

static void test_shared_fill(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        RUN_WITH(read_fill, BLOCKS, THREADS, ODD_BYTES, &arrays);
        for (unsigned b = 0; b < BLOCKS; b++) {
            uint64_t sum = 0;
            for (unsigned t = 0; t < THREADS; t++)
                sum += out[b * THREADS + t];
            assert_int_equal(sum, ODD_BYTES);
        }
    }
}

SX_KERNEL(touch_both_ends, columns)
{
    (void)ap;
    SX_SHARED[0] = 1;
    SX_SHARED[SIMT_SHARED_MAX - 1] = 1;
}

#ifdef SIMT_WITH_ASAN
/* AddressSanitizer would stop the program. We ask which bytes it minds instead. */
SX_KERNEL(ask_asan, columns)
{
    int outside = __asan_address_is_poisoned(SX_SHARED - 1) &&
                  __asan_address_is_poisoned(SX_SHARED + ODD_BYTES);
    int inside = __asan_region_is_poisoned(SX_SHARED, ODD_BYTES) != NULL;

    ap->out[SX_THREAD] = outside && !inside;
}

static void test_shared_bounds(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        RUN_WITH(ask_asan, BLOCKS, THREADS, ODD_BYTES, &arrays);
        for (unsigned i = 0; i < ALL; i++)
            assert_int_equal(out[i], 1);
        RUN_WITH(touch_both_ends, BLOCKS, THREADS, SIMT_SHARED_MAX, &arrays);
    }
}
#else
#define WORDS 25u

SX_KERNEL(write_past_end, columns)
{
    uint32_t *shared = (uint32_t *)SX_SHARED;

    (void)ap;
    if (SX_BLOCK == 1 && SX_TID == 70)
        shared[WORDS] = 0;
}

SX_KERNEL(write_past_end_then_meet, columns)
{
    write_past_end_body(ap);
    SX_BARRIER();
    ap->out[SX_THREAD] = 1;
}

SX_KERNEL(write_before_start, columns)
{
    (void)ap;
    if (SX_BLOCK == 2)
        ((uint32_t *)SX_SHARED)[-1] = SX_TID;
    SX_BARRIER();
}

static void expect_outside(void (*kernel)(const void *), const char *block, const char *found)
{
    assert_int_equal(simt_launch(kernel, &arrays, BLOCKS, THREADS, WORDS * 4), -1);
    assert_non_null(strstr(simt_fault(), block));
    assert_non_null(strstr(simt_fault(), "shared memory outside its 100 bytes"));
    assert_non_null(strstr(simt_fault(), found));
}

static void test_shared_bounds(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        expect_outside(write_past_end, "block 1 ", "at byte 100; found at its end");
        expect_outside(write_past_end_then_meet, "block 1 ", "test_simt.c:");
        for (unsigned i = 0; i < ALL; i++)          /* and nobody passed that barrier */
            assert_int_equal(out[i], i < THREADS);
        expect_outside(write_before_start, "block 2 ", "at byte -4; found at the barrier");
        RUN_WITH(touch_both_ends, BLOCKS, THREADS, SIMT_SHARED_MAX, &arrays);
    }
}
#endif

/* ---- warps -------------------------------------------------------------------- */

/* Each warp adds up its lanes. */
SX_KERNEL(add_up, columns)
{
    uint64_t sum = ap->in[SX_THREAD];

    for (unsigned lanes = 16; lanes > 0; lanes /= 2)
        sum += SX_SHUFFLE_XOR(sum, lanes);
    ap->out[SX_THREAD] = sum;
}

static void test_warp_sums(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        RUN(add_up);
        for (unsigned i = 0; i < ALL; i++) {
            uint64_t sum = 0;
            for (unsigned l = 0; l < 32; l++)
                sum += in[i / 32 * 32 + l];
            assert_int_equal(out[i], sum);
        }
    }
}

typedef struct {
    uint64_t u64;
    uint32_t u32;
    uint16_t u16;
    uint8_t u8;
    int64_t i64;
    int32_t i32;
    int8_t i8;
} integers;

static integers integers_of(uint64_t x)
{
    x *= 0x9e3779b97f4a7c15u;
    return (integers){x, (uint32_t)(x >> 3), (uint16_t)(x >> 5), (uint8_t)(x >> 7),
                      (int64_t)x, (int32_t)(x >> 9), (int8_t)(x >> 11)};
}

static int same_integers(const integers *a, const integers *b)
{
    return a->u64 == b->u64 && a->u32 == b->u32 && a->u16 == b->u16 && a->u8 == b->u8 &&
           a->i64 == b->i64 && a->i32 == b->i32 && a->i8 == b->i8;
}

typedef struct {
    integers *up, *across;        /* by one lane round, xor nine */
} shuffled;

#define SHUFFLE_EACH(to, OP, from, n)                                               \
    do {                                                                            \
        integers *it = &(to);                                                       \
        it->u64 = OP(from.u64, n);                                                  \
        it->u32 = OP(from.u32, n);                                                  \
        it->u16 = OP(from.u16, n);                                                  \
        it->u8 = OP(from.u8, n);                                                    \
        it->i64 = OP(from.i64, n);                                                  \
        it->i32 = OP(from.i32, n);                                                  \
        it->i8 = OP(from.i8, n);                                                    \
    } while (0)

SX_KERNEL(shuffle_all_types, shuffled)
{
    integers mine = integers_of(SX_THREAD);

    SHUFFLE_EACH(ap->up[SX_THREAD], SX_SHUFFLE, mine, SX_LANE + 31);
    SHUFFLE_EACH(ap->across[SX_THREAD], SX_SHUFFLE_XOR, mine, 9);
}

static void test_shuffles(void **state)
{
    static integers up[ALL], across[ALL];
    const shuffled a = {up, across};

    (void)state;
    EACH_ORDER (o) {
        RUN_WITH(shuffle_all_types, BLOCKS, THREADS, 0, &a);
        for (unsigned i = 0; i < ALL; i++) {
            unsigned first = i / 32 * 32, lane = i % 32;
            integers above = integers_of(first + (lane + 31) % 32);
            integers opposite = integers_of(first + (lane ^ 9));
            assert_true(same_integers(&up[i], &above));
            assert_true(same_integers(&across[i], &opposite));
        }
    }
}

/* Lanes of three warps vote: some of the second, all of the first, none of the last. */
SX_KERNEL(vote, columns)
{
    unsigned warp = SX_TID / 32;
    uint64_t high_bit = warp == 0 || (warp == 1 && SX_LANE % 5 == 2) ? 1ull << 40 : 0;
    unsigned set = SX_BALLOT(high_bit);

    ap->out[SX_THREAD] = set + ((uint64_t)SX_POPC(set) << 32) +
                         (SX_ANY(high_bit) ? 1ull << 40 : 0);
}

static void test_votes(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        RUN(vote);
        for (unsigned i = 0; i < ALL; i++) {
            unsigned warp = i % THREADS / 32;
            assert_int_equal(out[i], warp == 0 ? 0xffffffffu + (32ull << 32) + (1ull << 40)
                                     : warp == 1 ? 0x08421084u + (6ull << 32) + (1ull << 40)
                                                 : 0);
        }
    }
}

/* Groups of lanes that walk lists of different lengths, each among itself. */
SX_KERNEL(groups_apart, columns)
{
    static const unsigned masks[] = {0x000000ffu, 0x00f0ff00u, 0xff0f0000u};
    unsigned group = SX_LANE < 8 ? 0 : masks[1] >> SX_LANE & 1 ? 1 : 2, mask = masks[group];
    unsigned first = group == 0 ? 0 : group == 1 ? 8 : 16;
    uint64_t sum = 0;

    for (unsigned step = 0; step <= group * 3; step++) {
        sum += SX_BALLOT_IN(mask, SX_LANE % 2 == step % 2);
        sum += SX_SHUFFLE_IN(mask, ap->in[SX_THREAD] + step, first);
    }
    ap->out[SX_THREAD] = sum;
}

static void test_groups(void **state)
{
    static const unsigned masks[] = {0x000000ffu, 0x00f0ff00u, 0xff0f0000u};

    (void)state;
    EACH_ORDER (o) {
        RUN(groups_apart);
        for (unsigned i = 0; i < ALL; i++) {
            unsigned group = masks[0] >> i % 32 & 1 ? 0 : masks[1] >> i % 32 & 1 ? 1 : 2;
            uint64_t leader = in[i / 32 * 32 + group * 8], sum = 0;
            for (unsigned step = 0; step <= group * 3; step++)
                sum += (masks[group] & (step % 2 ? 0xaaaaaaaau : 0x55555555u)) + leader + step;
            assert_int_equal(out[i], sum);
        }
    }
}

/* Lanes that have left are in no mask. */
SX_KERNEL(lanes_leave, columns)
{
    unsigned left = 0x000fffffu;

    if (SX_LANE >= 20)
        return;
    ap->out[SX_THREAD] = SX_BALLOT_IN(left, SX_LANE > 3);
    ap->out[SX_THREAD] += SX_SHUFFLE_IN(left, SX_LANE, 19u - SX_LANE);
}

static void test_lanes_leave(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        RUN(lanes_leave);
        for (unsigned i = 0; i < ALL; i++)
            assert_int_equal(out[i], i % 32 < 20 ? 0x000ffff0u + 19 - i % 32 : 0);
    }
}

/* A warp uses a part of shared memory of its own, without barriers. */
SX_KERNEL(reverse_warps, columns)
{
    uint32_t *mine = (uint32_t *)SX_SHARED + SX_TID / 32 * 32;

    for (uint32_t step = 0; step < 3; step++) {
        mine[SX_LANE] = 100 * step + SX_LANE;
        SX_WARP_SYNC();
        ap->out[SX_THREAD] += mine[31 - SX_LANE];
        SX_WARP_SYNC();
    }
}

static void test_warp_sync(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        RUN_WITH(reverse_warps, BLOCKS, THREADS, THREADS * 4, &arrays);
        for (unsigned i = 0; i < ALL; i++)
            assert_int_equal(out[i], 300 + 3 * (31 - i % 32));
    }
}

/* ---- atomics ------------------------------------------------------------------ */

enum { SUM, LEAST, MOST };

SX_KERNEL(atomics, columns)
{
    sx_word *w = ap->long_word, x = (sx_word)(SX_THREAD + 1) << 50;

    atomicAdd(&w[SUM], x);
    atomicMin(&w[LEAST], x);
    atomicMax(&w[MOST], x);
}

static void test_atomics(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        uint64_t sum = ALL * (ALL + 1) / 2;

        long_word[LEAST] = UINT64_MAX;
        RUN(atomics);
        assert_int_equal(long_word[SUM], sum << 50);
        assert_int_equal(long_word[LEAST], 1ull << 50);
        assert_int_equal(long_word[MOST], (uint64_t)ALL << 50);
    }
}

/* Two tickets in a row are neighbours, unless others ran in between. */
SX_KERNEL(two_tickets, columns)
{
    sx_word first = atomicAdd(ap->long_word, 1u), second = atomicAdd(ap->long_word, 1u);

    ap->out[SX_THREAD] = second - first != 1;
}

static void test_atomics_yield(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        RUN(two_tickets);
        assert_int_equal(long_word[0], 2 * ALL);
        if (orders[o].order == SIMT_SHUFFLED)
            assert_in_range(sum_of_out(), ALL / 8, ALL / 2);
        else
            assert_int_equal(sum_of_out(), 0);
    }
}

/* ---- sorts of blocks ------------------------------------------------------------ */

#define PAIRS_MAX 2048u

typedef struct {
    const uint32_t *keys;
    uint32_t *sorted_keys, *sorted_values;
    unsigned bits;
} sort_args;

#define SORT_KERNEL(name, BLOCK, ITEMS)                                             \
    SX_KERNEL(name, sort_args)                                                      \
    {                                                                               \
        uint32_t keys[ITEMS], values[ITEMS];                                        \
        for (uint32_t j = 0; j < ITEMS; j++) {                                      \
            values[j] = SX_TID * ITEMS + j;                                         \
            keys[j] = ap->keys[values[j]];                                          \
        }                                                                           \
        SX_BLOCK_SORT(BLOCK, ITEMS, keys, values, ap->bits);                        \
        for (uint32_t j = 0; j < ITEMS; j++) {                                      \
            ap->sorted_keys[j * BLOCK + SX_TID] = keys[j];                          \
            ap->sorted_values[j * BLOCK + SX_TID] = values[j];                      \
        }                                                                           \
    }

SORT_KERNEL(sort_32_1, 32, 1)
SORT_KERNEL(sort_64_3, 64, 3)
SORT_KERNEL(sort_96_4, 96, 4)
SORT_KERNEL(sort_1024_2, 1024, 2)

/* Where the i-th of n keys belongs: after the smaller, and the equal before it. */
static uint32_t place_of(const uint32_t *keys, uint32_t n, uint32_t i, unsigned bits)
{
    uint32_t mask = (uint32_t)((1ull << bits) - 1), place = 0;

    for (uint32_t j = 0; j < n; j++)
        place += (keys[j] & mask) < (keys[i] & mask) ||
                 ((keys[j] & mask) == (keys[i] & mask) && j < i);
    return place;
}

static void test_block_sort(void **state)
{
    static const struct {
        void (*kernel)(const void *);
        unsigned block, items;
    } sorts[] = {{sort_32_1, 32, 1}, {sort_64_3, 64, 3}, {sort_96_4, 96, 4},
                 {sort_1024_2, 1024, 2}};
    static const unsigned bit_counts[] = {1, 5, 17, 32};
    static uint32_t keys[PAIRS_MAX], places[PAIRS_MAX], k[PAIRS_MAX], v[PAIRS_MAX];

    (void)state;
    for (uint32_t i = 0; i < PAIRS_MAX; i++)        /* many are equal, all bits are used */
        keys[i] = i % 3 ? i * 0x9e3779b9u : (i % 7) * 0x20842108u;
    for (unsigned s = 0; s < 4; s++) {
        for (unsigned b = 0; b < 4; b++) {
            uint32_t n = sorts[s].block * sorts[s].items;
            sort_args a = {keys, k, v, bit_counts[b]};
            for (uint32_t i = 0; i < n; i++)
                places[i] = place_of(keys, n, i, a.bits);
            EACH_ORDER (o) {
                memset(v, 0xff, sizeof v);
                if (simt_launch(sorts[s].kernel, &a, 1, sorts[s].block, 0) != 0)
                    fail_msg("%s", simt_fault());
                for (uint32_t i = 0; i < n; i++) {
                    assert_int_equal(k[places[i]], keys[i]);
                    assert_int_equal(v[places[i]], i);
                }
            }
        }
    }
}

/* Three sorts in a row; the last brings back what the first two mixed. */
SX_KERNEL(sort_again, columns)
{
    uint32_t keys[2] = {31 - SX_LANE, SX_TID % 7}, values[2] = {2 * SX_TID, 2 * SX_TID + 1};
    uint32_t back[2];

    for (unsigned bits = 3; bits < 6; bits += 2)
        SX_BLOCK_SORT(THREADS, 2, keys, values, bits);
    back[0] = values[0];
    back[1] = values[1];
    SX_BLOCK_SORT(THREADS, 2, values, back, 32);
    ap->out[SX_THREAD] = values[0] | (uint64_t)back[1] << 32;
}

static void test_sort_again(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        RUN(sort_again);
        for (unsigned i = 0; i < ALL; i++)
            assert_int_equal(out[i], i % THREADS | (uint64_t)(i % THREADS + THREADS) << 32);
    }
}

/* ---- loads and stores ------------------------------------------------------------ */

SX_KERNEL(load_and_store, columns)
{
    const uint32_t *halves = (const uint32_t *)ap->in;
    uint2 two = sx_load8(ap->in + SX_THREAD);
    uint4 four = sx_load16(ap->in + SX_THREAD / 2 * 2);

    SX_STREAM_STORE(ap->out + SX_THREAD, SX_STREAM_LOAD(ap->in + SX_THREAD) + two.x + two.y +
                                         four.x + four.y + four.z + four.w);
    if (SX_THREAD < 8)
        SX_STREAM_STORE(ap->word + SX_THREAD, SX_STREAM_LOAD(halves + SX_THREAD));
}

static uint64_t halves_of(uint64_t x)
{
    return (x & UINT32_MAX) + (x >> 32);
}

static void test_loads(void **state)
{
    static _Alignas(16) uint64_t aligned[ALL];
    const columns a = {aligned, out, word, long_word};

    (void)state;
    EACH_ORDER (o) {
        memcpy(aligned, in, sizeof in);
        RUN_WITH(load_and_store, BLOCKS, THREADS, 0, &a);
        for (unsigned i = 0; i < ALL; i++)
            assert_int_equal(out[i], in[i] + (uint32_t)halves_of(in[i]) +
                                     (uint32_t)(halves_of(in[i & ~1u]) + halves_of(in[i | 1])));
        assert_memory_equal(word, in, sizeof word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_early_exit),
        cmocka_unit_test(test_shared_fill),
        cmocka_unit_test(test_shared_bounds),
        cmocka_unit_test(test_warp_sums),
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_votes),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_lanes_leave),
        cmocka_unit_test(test_warp_sync),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_atomics_yield),
        cmocka_unit_test(test_block_sort),
        cmocka_unit_test(test_sort_again),
        cmocka_unit_test(test_loads),
    };
    return cmocka_run_group_tests_name("simt", tests, NULL, NULL) != 0;
}
