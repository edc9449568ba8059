/* test_simt.c - the emulator that runs GPU kernels: threads of a block meet
 * at barriers and in warps as on a GPU, in every order of turns, and what
 * would hang or go wrong there is reported with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gpu/simt.h"

#define BLOCKS 3u
#define THREADS 96u

typedef struct {
    uint64_t in[BLOCKS * THREADS];
    uint64_t out[BLOCKS * THREADS];
    uint64_t block_memory[THREADS];       /* one block runs at a time */
} arrays;

#define SELF (simt_self.block * THREADS + simt_self.thread)
#define HERE __FILE__, __LINE__

static void each_order(void (*kernel)(const void *), arrays *a, int expected)
{
    static const simt_order orders[] = { SIMT_FORWARD, SIMT_REVERSED,
                                         SIMT_SHUFFLED, SIMT_SHUFFLED };
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; j < BLOCKS * THREADS; j++) {
            a->in[j] = j * j + 1;
            a->out[j] = 0;
        }
        simt_set_order(orders[i], i);
        assert_int_equal(simt_launch(kernel, a, BLOCKS, THREADS), expected);
        assert_int_equal(simt_fault()[0] != '\0', expected != 0);
    }
    simt_set_order(SIMT_FORWARD, 0);
}

/* Every thread writes, all meet, every thread reads its neighbour's. */
static void rotate(const void *args)
{
    arrays *a = (arrays *)args;
    a->block_memory[simt_self.thread] = a->in[SELF];
    simt_barrier(HERE);
    a->out[SELF] = a->block_memory[(simt_self.thread + 1) % THREADS];
    simt_barrier(HERE);
}

static void test_barrier(void **state)
{
    arrays *a = calloc(1, sizeof *a);
    (void)state;
    each_order(rotate, a, 0);
    for (unsigned b = 0; b < BLOCKS; b++)
        for (unsigned t = 0; t < THREADS; t++)
            assert_int_equal(a->out[b * THREADS + t],
                             a->in[b * THREADS + (t + 1) % THREADS]);
    free(a);
}

/* Each warp adds up its lanes; a part of its lanes counts among itself. */
static void add_up(const void *args)
{
    arrays *a = (arrays *)args;
    uint64_t sum = a->in[SELF];
    unsigned lane = simt_self.thread & 31, ballot = 0;
    for (unsigned lanes = 16; lanes > 0; lanes /= 2)
        sum += simt_shuffle_xor(~0u, sum, lanes, HERE);
    if (lane < 8)
        ballot = simt_ballot(0xff, lane % 2 == 0, HERE);
    a->out[SELF] = sum + ballot;
}

static void test_warps(void **state)
{
    arrays *a = calloc(1, sizeof *a);
    (void)state;
    each_order(add_up, a, 0);
    for (unsigned i = 0; i < BLOCKS * THREADS; i++) {
        uint64_t sum = 0;
        for (unsigned l = 0; l < 32; l++)
            sum += a->in[i / 32 * 32 + l];
        assert_int_equal(a->out[i], sum + (i % 32 < 8 ? 0x55 : 0));
    }
    free(a);
}

/* Threads that are done do not hold up a barrier. */
static void leave_early(const void *args)
{
    arrays *a = (arrays *)args;
    if (simt_self.thread >= 40)
        return;
    simt_barrier(HERE);
    a->out[SELF] = 1;
}

static void test_early_exit(void **state)
{
    arrays *a = calloc(1, sizeof *a);
    (void)state;
    each_order(leave_early, a, 0);
    for (unsigned i = 0; i < BLOCKS * THREADS; i++)
        assert_int_equal(a->out[i], i % THREADS < 40);
    free(a);
}

/* ---- faults --------------------------------------------------------------- */

static void divergent_barriers(const void *args)
{
    (void)args;
    if (simt_self.thread % 2)
        simt_barrier(HERE);
    else
        simt_barrier(HERE);
}

static void lanes_missing(const void *args)
{
    (void)args;
    if (simt_self.thread != 5)
        simt_shuffle_xor(~0u, 1, 1, HERE);
}

static void not_in_mask(const void *args)
{
    (void)args;
    simt_ballot(0x0000ffffu, 1, HERE);
}

static void shuffle_from_outside(const void *args)
{
    (void)args;
    if (simt_self.thread % 32 < 16)
        simt_shuffle_xor(0x0000ffffu, 1, 16, HERE);
}

static void misaligned(const void *args)
{
    simt_expect_aligned((const char *)args + 4, 16, HERE);
}

static void test_faults(void **state)
{
    static const struct {
        void (*kernel)(const void *);
        const char *word;
    } faults[] = {
        { divergent_barriers, "another barrier" },
        { lanes_missing, "other lanes never reach" },
        { not_in_mask, "mask leaves it out" },
        { shuffle_from_outside, "mask leaves out" },
        { misaligned, "misaligned" },
    };
    arrays *a = aligned_alloc(64, (sizeof *a + 63) / 64 * 64);
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        each_order(faults[i].kernel, a, -1);
        assert_int_equal(simt_launch(faults[i].kernel, a, 1, THREADS), -1);
        assert_non_null(strstr(simt_fault(), faults[i].word));
        assert_non_null(strstr(simt_fault(), "test_simt.c:"));
    }
    /* and the next launch is well again */
    each_order(rotate, a, 0);
    assert_int_equal(simt_launch(rotate, a, 1, 1025), -1);
    assert_non_null(strstr(simt_fault(), "1025"));
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_warps),
        cmocka_unit_test(test_early_exit),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests_name("simt", tests, NULL, NULL) != 0;
}
