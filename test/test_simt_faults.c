/* test_simt_faults.c - kernels that would hang on a GPU, or go wrong there: the emulator
 * reports them with their line, in every order of turns. test_simt.c has accesses outside
 * of shared memory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "on_simt.h"
#include "support.h"

SX_KERNEL(run_well, columns)
{
    ap->out[SX_THREAD] = 1;
}

SX_KERNEL(divergent_barriers, columns)
{
    (void)ap;
    if (SX_TID % 2)
        SX_BARRIER();
    else
        SX_BARRIER();
}

SX_KERNEL(sort_too_many, columns)
{
    uint32_t keys[33] = {1}, values[33] = {1};

    (void)ap;
    SX_BLOCK_SORT(THREADS, 33, keys, values, 32);
}

#define ONE_LANE_MISSING(name, operation)                                           \
    SX_KERNEL(name, columns)                                                        \
    {                                                                               \
        if (SX_TID != 37)                                                           \
            ap->out[SX_THREAD] = (operation);                                       \
    }

ONE_LANE_MISSING(missing_shuffle, SX_SHUFFLE(1u, 2u))
ONE_LANE_MISSING(missing_xor, SX_SHUFFLE_XOR(1u, 2u))
ONE_LANE_MISSING(missing_ballot, SX_BALLOT(1))
ONE_LANE_MISSING(missing_any, SX_ANY(1))
ONE_LANE_MISSING(missing_sync, (SX_WARP_SYNC(), 1))
ONE_LANE_MISSING(missing_ballot_in, SX_LANE < 8 ? SX_BALLOT_IN(0xffu, 1) : 0)
ONE_LANE_MISSING(missing_shuffle_in, SX_LANE < 8 ? SX_SHUFFLE_IN(0xffu, 1u, 2u) : 0)

/* The lane is there, but waits for the others elsewhere. */
SX_KERNEL(lane_at_barrier, columns)
{
    if (SX_TID != 37)
        ap->out[SX_THREAD] = SX_BALLOT(1);
    SX_BARRIER();
}

SX_KERNEL(lanes_on_two_lines, columns)
{
    if (SX_TID % 2)
        ap->out[SX_THREAD] = SX_BALLOT(1);
    else
        ap->out[SX_THREAD] = SX_BALLOT(1);
}

SX_KERNEL(different_masks, columns)
{
    if (SX_LANE < 16)
        ap->out[SX_THREAD] = SX_BALLOT_IN(SX_LANE < 8 ? 0xffffu : 0x1ffffu, 1);
}

SX_KERNEL(not_in_mask, columns)
{
    ap->out[SX_THREAD] = SX_BALLOT_IN(0x0000ffffu, 1);
}

SX_KERNEL(shuffle_from_outside, columns)
{
    if (SX_LANE < 16)
        ap->out[SX_THREAD] = SX_SHUFFLE_IN(0x0000ffffu, 1u, SX_LANE + 1);
}

SX_KERNEL(misaligned16, columns)
{
    ap->out[SX_THREAD] = sx_load16((const char *)ap->in + (uintptr_t)ap->in % 16 + 8).x;
}

SX_KERNEL(misaligned8, columns)
{
    ap->out[SX_THREAD] = sx_load8((const char *)ap->in + 4).x;
}

SX_KERNEL(sort_without_one, columns)
{
    uint32_t keys[1] = {1}, values[1] = {1};

    (void)ap;
    if (SX_TID != 37)
        SX_BLOCK_SORT(THREADS, 1, keys, values, 32);
}

SX_KERNEL(sort_or_barrier, columns)
{
    uint32_t keys[1] = {1}, values[1] = {1};

    (void)ap;
    if (SX_TID != 37)
        SX_BLOCK_SORT(THREADS, 1, keys, values, 32);
    else
        SX_BARRIER();
}

SX_KERNEL(sort_for_other_blocks, columns)
{
    uint32_t keys[1] = {1}, values[1] = {1};

    (void)ap;
    SX_BLOCK_SORT(THREADS * 2, 1, keys, values, 32);
}

SX_KERNEL(sort_by_nothing, columns)
{
    uint32_t keys[1] = {1}, values[1] = {1};

    (void)ap;
    SX_BLOCK_SORT(THREADS, 1, keys, values, 0);
}

SX_KERNEL(sort_by_too_much, columns)
{
    uint32_t keys[1] = {1}, values[1] = {1};

    (void)ap;
    SX_BLOCK_SORT(THREADS, 1, keys, values, 33);
}

SX_KERNEL(sort_by_different_bits, columns)
{
    uint32_t keys[1] = {1}, values[1] = {1};

    (void)ap;
    SX_BLOCK_SORT(THREADS, 1, keys, values, SX_TID == 37 ? 31 : 32);
}

static void test_faults(void **state)
{
    static const struct {
        void (*kernel)(const void *);
        const char *words;
    } faults[] = {
        {divergent_barriers, "another barrier"},
        {missing_shuffle, "other lanes never reach"},
        {missing_xor, "other lanes never reach"},
        {missing_ballot, "other lanes never reach"},
        {missing_any, "other lanes never reach"},
        {missing_sync, "other lanes never reach"},
        {missing_ballot_in, "other lanes never reach"},
        {missing_shuffle_in, "other lanes never reach"},
        {lane_at_barrier, "other lanes never reach"},
        {lanes_on_two_lines, "other lanes never reach"},
        {different_masks, "other lanes never reach"},
        {not_in_mask, "mask leaves it out"},
        {shuffle_from_outside, "mask leaves out"},
        {misaligned16, "misaligned"},
        {misaligned8, "misaligned"},
        {sort_without_one, "other threads never reach"},
        {sort_or_barrier, "another barrier"},
        {sort_for_other_blocks, "another size"},
        {sort_by_nothing, "not 1 to 32"},
        {sort_by_too_much, "not 1 to 32"},
        {sort_by_different_bits, "unlike its block"},
        {sort_too_many, "more than 32 items"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        EACH_ORDER (o) {
            assert_int_equal(simt_launch(faults[i].kernel, &arrays, BLOCKS, THREADS, 0), -1);
            if (!strstr(simt_fault(), faults[i].words) ||
                !strstr(simt_fault(), "test_simt_faults.c:") ||
                !strstr(simt_fault(), " of block 0 "))
                fail_msg("fault %zu: %s", i, simt_fault());
        }
    }
    EACH_ORDER (o)                /* and the next launch is well again */
        RUN(run_well);
}

static void test_refused(void **state)
{
    static const struct {
        unsigned threads;
        size_t shared_bytes;
        const char *words;
    } refused[] = {
        {0, 0, "of 0 threads"},         {33, 0, "of 33 threads"},
        {1025, 0, "of 1025 threads"},   {1056, 0, "of 1056 threads"},
        {32, SIMT_SHARED_MAX + 1, "with 232449 bytes of shared memory"},
    };

    (void)state;
    EACH_ORDER (o) {
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
            assert_int_equal(simt_launch(run_well, &arrays, 1, refused[i].threads,
                                         refused[i].shared_bytes), -1);
            assert_non_null(strstr(simt_fault(), refused[i].words));
        }
        assert_int_equal(sum_of_out(), 0);
    }
}

/* Several launches may come before the one question after them. */
static void test_fault_is_kept(void **state)
{
    (void)state;
    EACH_ORDER (o) {
        assert_int_equal(simt_launch(divergent_barriers, &arrays, BLOCKS, THREADS, 0), -1);
        assert_int_equal(simt_launch(run_well, &arrays, BLOCKS, THREADS, 0), -1);
        assert_int_equal(sum_of_out(), 0);
        assert_non_null(strstr(simt_fault(), "another barrier"));
        RUN(run_well);
        assert_string_equal(simt_fault(), "");
    }
}

static void *launch_well(void *failed)
{
    *(int *)failed = simt_launch(run_well, &arrays, BLOCKS, THREADS, 0);
    if (simt_fault()[0])
        *(int *)failed = 1;
    return NULL;
}

/* A fault is the thread's whose kernel it was: no other finds it, or takes it away. */
static void test_fault_is_its_threads(void **state)
{
    pthread_t thread;
    int failed = -1;

    (void)state;
    simt_set_order(SIMT_FORWARD, 0);
    assert_int_equal(simt_launch(divergent_barriers, &arrays, BLOCKS, THREADS, 0), -1);
    assert_int_equal(pthread_create(&thread, NULL, launch_well, &failed), 0);
    pthread_join(thread, NULL);
    assert_int_equal(failed, 0);
    assert_non_null(strstr(simt_fault(), "another barrier"));
    RUN(run_well);
}

/* ---- no memory ------------------------------------------------------------------- */

static void limit_memory(int on)
{
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (!f || fscanf(f, "%lu", &pages) != 1)
        die("/proc/self/statm");
    fclose(f);
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = on ? pages * (rlim_t)sysconf(_SC_PAGESIZE) + (16u << 20) : limit.rlim_max;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        die("setrlimit");
}

/* In a child without the emulator's stacks, since the first launch makes them for good. */
static int build_without_memory(void)
{
    static uint64_t key[100];
    sx_column keys = column(SX_U64, 100, key);
    sx_device *dev = device_open("simt");
    sx_index *ix = NULL;
    sx_status status;

    for (unsigned i = 0; i < 100; i++)
        key[i] = i * 7 % 100;
    limit_memory(1);
    status = sx_build(&ix, dev, "pivot", &keys, NULL, NULL);
    if (status != SX_ENOMEM || ix || !strstr(sx_detail(), "no memory for the stacks of 1024")) {
        fprintf(stderr, "status %d: %s\n", (int)status, status ? sx_detail() : "");
        return 1;
    }
    limit_memory(0);
    if (sx_build(&ix, dev, "pivot", &keys, NULL, NULL) != SX_OK || sx_check(ix, NULL) != SX_OK) {
        fprintf(stderr, "afterwards: %s\n", sx_detail());
        return 1;
    }
    return 0;
}

/* The first of all tests. */
static void test_no_stacks(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid < 0)
        die("fork");
    if (pid == 0)
        _exit(build_without_memory());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_stacks),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_fault_is_kept),
        cmocka_unit_test(test_fault_is_its_threads),
    };
    return cmocka_run_group_tests_name("simt_faults", tests, NULL, NULL) != 0;
}
