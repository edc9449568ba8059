/* test_total.c - ranges that together hold 2^64 keys are refused, and nothing is written;
 * and folds of more rows than anybody could look at.
 *
 * The index has 2^44 keys. Its file says so, and the keys are a hole in a file that is on
 * no disk. The emulator's memory is the host's, so its kernels can ask the same keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "on_device.h"
#include "inside.h"
#include "sxfile.h"

#define KEYS (1ull << 44)         /* all 0 */
#define RANGES (1ull << 20)       /* of all keys: 2^64 hits */

/* The path of a file of that many keys. */
static const char *huge_file(sx_device *dev)
{
    uint32_t few[16] = { 0 };
    sx_column keys = column(SX_U32, COUNT_OF(few), few);
    char *path = temp_path("few.sxt");
    sx_index *ix = NULL;
    size_t bytes;
    OK(sx_build(&ix, dev, "sorted", &keys, NULL, NULL));
    unsigned char *file = saved_bytes(ix, path, &bytes);
    assert_int_equal(get32(file + F_SECTIONS), 1);
    uint64_t begin = get64(file + F_TABLE + S_OFFSET);
    put_keys(file, KEYS, KEYS - 1);
    put(file + F_BYTES, begin + KEYS * 4, 8);
    put(file + F_TABLE + S_BYTES, KEYS * 4, 8);
    seal_header(file, bytes);
    const char *huge = memory_file(file, bytes);
    assert_int_equal(truncate(huge, (off_t)(begin + KEYS * 4)), 0);
    sx_free(ix);
    free(file);
    free(path);
    return huge;
}

typedef struct {
    uint32_t *lo, *hi;
    uint64_t *first, *before;
    const char *huge;
} scene;

static int setup(void **state)
{
    scene *s = need(sizeof *s);
    sx_device *dev = device_open("cpu:threads=1");
    size_t bytes = (RANGES + 1) * 8;
    *s = (scene){ need(RANGES * 4), need(RANGES * 4), need(bytes), need(bytes), huge_file(dev) };
    memset(s->lo, 0, RANGES * 4);
    memset(s->hi, 0xff, RANGES * 4);
    memset(s->before, 0x5a, bytes);
    sx_close(dev);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    scene *s = *state;
    free(s->lo);
    free(s->hi);
    free(s->first);
    free(s->before);
    free(s);
    return 0;
}

/* One key too many: the call is refused, whatever is wanted, and first stays as it was. */
static void too_many(scene *s, const sx_index *ix, int place, void *stream, const char *word)
{
    sx_column lo = column(SX_U32, RANGES, s->lo), hi = column(SX_U32, RANGES, s->hi);
    sx_column first = column(SX_U64, RANGES + 1, s->first);
    uint64_t row[1] = { 77 };
    sx_column rows = column(SX_U64, 1, row);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
    sx_call call = { .size = sizeof call, .stream = stream };
    lo.place = hi.place = first.place = rows.place = place;
    for (int wanted = 0; wanted < 2; wanted++) {
        memcpy(s->first, s->before, (RANGES + 1) * 8);
        REFUSED(sx_range(ix, &ranges, &first, wanted ? &rows : NULL, NULL, &call), SX_EINVAL, word);
        if (memcmp(s->first, s->before, (RANGES + 1) * 8) != 0)
            fail_msg("%s: first was written", sx_detail());
        assert_int_equal(row[0], 77);
    }
}

/* As many keys as can be, and a limit that makes them few. */
static void just_enough(scene *s, const sx_index *ix, int place)
{
    sx_column lo = column(SX_U32, RANGES, s->lo), hi = column(SX_U32, RANGES, s->hi);
    sx_column first = column(SX_U64, RANGES + 1, s->first);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
    lo.place = hi.place = first.place = place;
    s->lo[5] = 1;                 /* a range that holds none */
    OK(sx_range(ix, &ranges, &first, NULL, NULL, NULL));
    s->lo[5] = 0;
    for (uint64_t i = 0; i <= RANGES; i++)
        assert_true(s->first[i] == (i - (i > 5)) * KEYS);
    ranges.limit = 3;
    OK(sx_range(ix, &ranges, &first, NULL, NULL, NULL));
    for (uint64_t i = 0; i <= RANGES; i++)
        assert_true(s->first[i] == 3 * i);
}

/* Rows that are not stored are folded without a look at each: 2^44 of them at once. */
static void folded(const sx_index *ix, int place)
{
    uint32_t lo_key = 0, hi_key = 7;
    uint64_t count = 0, min = 1, max = 0, sum = 0;
    sx_column lo = column(SX_U32, 1, &lo_key), hi = column(SX_U32, 1, &hi_key);
    sx_column counts = column(SX_U64, 1, &count), mins = column(SX_U64, 1, &min);
    sx_column maxs = column(SX_U64, 1, &max), sums = column(SX_U64, 1, &sum);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
    sx_aggregates out = { .size = sizeof out, .count = &counts, .min = &mins, .max = &maxs,
                          .sum = &sums };
    lo.place = hi.place = counts.place = mins.place = maxs.place = sums.place = place;
    for (uint64_t odd = 0; odd < 2; odd++) {
        uint64_t n = KEYS - odd;
        ranges.limit = n;
        ranges.last = odd != 0;
        OK(sx_range_aggregate(ix, &ranges, &out, NULL));
        assert_true(count == n && min == odd && max == KEYS - 1);
        assert_true(sum == (KEYS - 1) * (KEYS / 2));      /* modulo 2^64, with row 0 or not */
    }
}

static void test_cpu(void **state)
{
    scene *s = *state;
    sx_device *dev = device_open("cpu");
    sx_index *ix = NULL;
    OK(sx_load(&ix, dev, s->huge, 0, NULL));
    too_many(s, ix, SX_HOST, NULL, "2^64");
    just_enough(s, ix, SX_HOST);
    folded(ix, SX_HOST);
    sx_free(ix);
    sx_close(dev);
}

/* An index on the host of a device that has kernels. */
static void test_beside(void **state)
{
    scene *s = *state;
    sx_device *dev = device_open("simt");
    sx_index *ix = NULL;
    OK(sx_load(&ix, dev, s->huge, SX_LOAD_HOST, NULL));
    too_many(s, ix, SX_HOST, NULL, "2^64");
    too_many(s, ix, SX_DEVICE, NULL, "2^64");
    just_enough(s, ix, SX_HOST);
    sx_free(ix);
    sx_close(dev);
}

/* Kernels: loading would copy the keys, so they are asked where they are. */
static void test_kernels(void **state)
{
    scene *s = *state;
    sx_device *cpu = device_open("cpu"), *dev = device_open("simt");
    sx_index *ix = NULL;
    OK(sx_load(&ix, cpu, s->huge, 0, NULL));
    ix->dev = now_of(ix)->dev = replica_of(ix, 0)->dev = dev;
    too_many(s, ix, SX_HOST, NULL, "2^64");
    too_many(s, ix, SX_DEVICE, NULL, "2^64");
    too_many(s, ix, SX_DEVICE, (void *)2, "stream");
    just_enough(s, ix, SX_DEVICE);
    folded(ix, SX_HOST);
    folded(ix, SX_DEVICE);
    ix->dev = now_of(ix)->dev = replica_of(ix, 0)->dev = cpu;
    sx_free(ix);
    sx_close(dev);
    sx_close(cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_beside),
        cmocka_unit_test(test_kernels),
    };
    test_seed();
    return cmocka_run_group_tests_name("total", tests, setup, teardown) != 0;
}
