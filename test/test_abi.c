/* test_abi.c - the library called by programs that are older or newer than it.
 *
 * Each struct that begins with its size is passed as another version would pass it:
 * shorter, down to the first version, with a page that traps right behind it; and longer,
 * with zeros in the unknown part, and with other bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "on_device.h"
#include "query/sizes.h"

#define N 6u
#define MOST 4096u                /* bytes that a size may say */

static sx_device *dev, *gpu;
static sx_index *ix;
static sx_collector *collector;
static uint64_t key_array[N] = { 10, 20, 30, 40, 50, 60 }, hi_array[N], outs[N + 1];
static sx_column keys, hi, out, firsts;

/* ---- one verb for each struct ------------------------------------------------- */

static sx_status with_call(void *s)
{
    return sx_get(ix, &keys, &out, s);
}

static sx_status with_device_info(void *s)
{
    return sx_device_describe(dev, s);
}

static sx_status with_device_at(void *s)
{
    return sx_device_at(0, s);
}

static sx_status with_allocator(void *s)
{
    return sx_device_allocator(gpu, s);
}

static sx_status with_estimate_ask(void *s)
{
    sx_estimate_info e = { .size = sizeof e };
    return sx_estimate(dev, "sorted", s, &e);
}

static sx_status with_estimate_info(void *s)
{
    return estimate_of(dev, "sorted", SX_U64, 1000, SX_U32, s);
}

static sx_status with_family_info(void *s)
{
    return sx_family_at(1, s);
}

static sx_status with_ranges(void *s)
{
    return sx_range_count(ix, s, &out, NULL);
}

static sx_status with_prefixes(void *s)
{
    return sx_prefix(ix, s, &firsts, NULL, NULL, NULL);
}

static sx_status with_climbs(void *s)
{
    return sx_climb(ix, s, &out, NULL, NULL, NULL);
}

static sx_status with_aggregates(void *s)
{
    sx_ranges r = { .size = sizeof r, .lo = &keys, .hi = &hi };
    return sx_range_aggregate(ix, &r, s, NULL);
}

static sx_status with_options(void *s)
{
    sx_collector *c = NULL;
    sx_status st = sx_collector_new(&c, ix, s);
    sx_collector_free(c);
    return st;
}

static sx_status with_collector_info(void *s)
{
    return sx_collector_describe(collector, s);
}

static sx_status with_index_info(void *s)
{
    return sx_describe(ix, s);
}

/* ---- the structs ------------------------------------------------------------------ */

static void *take(void *context, uint64_t bytes, void *stream)
{
    (void)context, (void)stream;
    return aligned_alloc(256, (bytes + 255) / 256 * 256);
}

static void give(void *context, void *block, void *stream)
{
    (void)context, (void)stream;
    free(block);
}

static sx_call a_call;
static sx_device_info a_device;
static sx_allocator an_allocator = { .take = take, .give = give };
static sx_estimate_ask an_ask = { .n = 1000, .key_type = SX_U64, .row_type = SX_U32 };
static sx_estimate_info an_estimate;
static sx_family_info a_family;
static sx_ranges some_ranges = { .lo = &keys, .hi = &hi };
static sx_prefixes some_prefixes = { .of = &keys, .length = 3 };
static sx_climbs some_climbs = { .of = &keys, .parents = &keys };
static sx_aggregates some_folds = { .sum = &out };
static sx_collect_options some_options = { .batch = 4 };
static sx_collector_info a_collector;
static sx_index_info an_index;

/* first: the size of its first version. These numbers never change. */
static const struct {
    const char *name;
    sx_status (*verb)(void *s);
    size_t first, now;
    const void *with;             /* fields that make a good call */
    bool output;
} structs[] = {
    { "sx_call", with_call, 24, sizeof(sx_call), &a_call, false },
    { "sx_device_info", with_device_info, 344, sizeof(sx_device_info), &a_device, true },
    { "sx_device_info", with_device_at, 344, sizeof(sx_device_info), &a_device, true },
    { "sx_allocator", with_allocator, 32, sizeof(sx_allocator), &an_allocator, false },
    { "sx_estimate_ask", with_estimate_ask, 24, sizeof(sx_estimate_ask), &an_ask, false },
    { "sx_estimate_info", with_estimate_info, 40, sizeof(sx_estimate_info), &an_estimate, true },
    { "sx_family_info", with_family_info, 264, sizeof(sx_family_info), &a_family, true },
    { "sx_prefixes", with_prefixes, 48, sizeof(sx_prefixes), &some_prefixes, false },
    { "sx_climbs", with_climbs, 32, sizeof(sx_climbs), &some_climbs, false },
    { "sx_ranges", with_ranges, 40, sizeof(sx_ranges), &some_ranges, false },
    { "sx_aggregates", with_aggregates, 40, sizeof(sx_aggregates), &some_folds, false },
    { "sx_collect_options", with_options, 24, sizeof(sx_collect_options), &some_options, false },
    { "sx_collector_info", with_collector_info, 64, sizeof(sx_collector_info), &a_collector, true },
    { "sx_index_info", with_index_info, 176, sizeof(sx_index_info), &an_index, true },
};

static guard space;

/* Struct i of a caller that knows `size` bytes of it. Bytes that this version does not have
 * are zero in an input, and anything in an output. A page that traps follows. */
static unsigned char *struct_of(size_t i, size_t size)
{
    unsigned char *s = guard_fit(&space, size, true);
    size_t known = size < structs[i].now ? size : structs[i].now;
    if (!structs[i].output) {
        memset(s, 0, size);
        memcpy(s, structs[i].with, known);
    }
    if (size >= sizeof size)
        memcpy(s, &size, sizeof size);
    return s;
}

static void refused(size_t i, void *s, const char *words, size_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", number);
    sx_status st = structs[i].verb(s);
    if (st != SX_EINVAL || !strstr(sx_detail(), structs[i].name) ||
        !strstr(sx_detail(), words) || !strstr(sx_detail(), text))
        fail_msg("%s, %zu: status %d, '%s' without '%s'", structs[i].name, number, (int)st,
                 sx_detail(), words);
}

static void accepted(size_t i, void *s, size_t size)
{
    sx_status st = structs[i].verb(s);
    if (st != SX_OK)
        fail_msg("%s of %zu bytes: %s", structs[i].name, size, sx_detail());
    if (!guard_intact(&space))
        fail_msg("%s of %zu bytes: something before it was written", structs[i].name, size);
}

/* ---- tests ---------------------------------------------------------------------- */

static void test_older(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(structs); i++) {
        unsigned char all[MOST];
        memcpy(all, struct_of(i, structs[i].now), structs[i].now);
        OK(structs[i].verb(all));
        for (size_t size = structs[i].first; size <= structs[i].now; size += 8) {
            unsigned char *s = struct_of(i, size);
            memset(outs, 0xff, sizeof outs);
            accepted(i, s, size);
            size_t said;
            memcpy(&said, s, sizeof said);
            assert_int_equal(said, size);
            if (structs[i].output)
                assert_memory_equal(s + sizeof size, all + sizeof size, size - sizeof size);
        }
    }
}

static void test_newer(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(structs); i++) {
        const size_t now = structs[i].now, sizes[] = { now + 8, now + 64, MOST };
        for (size_t k = 0; k < COUNT_OF(sizes); k++) {
            unsigned char *s = struct_of(i, sizes[k]);
            accepted(i, s, sizes[k]);
            for (size_t b = now; structs[i].output && b < sizes[k]; b++)
                assert_int_equal(s[b], 0);
            for (size_t b = now; !structs[i].output && b < sizes[k]; b += k < 2 ? 1 : 500) {
                s = struct_of(i, sizes[k]);
                s[b] = 1;
                refused(i, s, "newer", b);
            }
        }
    }
}

static void test_no_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(structs); i++) {
        const size_t first = structs[i].first, now = structs[i].now;
        const size_t sizes[] = { 0, 1, 8, first - 8, first - 1, first + 1, first + 4, now + 1,
                                 now + 7, MOST + 8, (size_t)1 << 32, SIZE_MAX - 7, SIZE_MAX };
        for (size_t k = 0; k < COUNT_OF(sizes); k++) {
            unsigned char *s = struct_of(i, now), before[MOST];
            memcpy(s, &sizes[k], sizeof *sizes);
            memcpy(before, s, now);
            refused(i, s, "size", sizes[k]);
            assert_memory_equal(s, before, now);
        }
    }
}

/* The first sx_call ended with hints: fields that came later count as zero. */
static void test_first_call(void **state)
{
    (void)state;
    sx_call call = { .size = 24, .hints = SX_ASCENDING, .stream = (void *)77,
                     .status = (void *)77, .device_ns = (void *)77 };
    OK(sx_get(ix, &keys, &out, &call));
    OK(sx_check(ix, &call));
    call.size = sizeof call;
    assert_int_equal(sx_get(ix, &keys, &out, &call), SX_ENOSYS);
    assert_int_equal(sx_check(ix, &call), SX_ENOSYS);
}

/* Columns have no size that says their version. Their size is frozen, and fields behind `data`
 * that a program of the first version left zero must still be zero. */
static void test_columns(void **state)
{
    (void)state;
    static const struct { const char *name; size_t at, bytes; } fields[] = {
        { "offsets", 24, 8 }, { "validity", 32, 8 }, { "offset_bytes", 40, 4 },
        { "reserved[0]", 44, 4 }, { "reserved[1]", 48, 4 }, { "reserved[2]", 52, 4 },
        { "bytes", 56, 8 },
    };
    assert_int_equal(sizeof(sx_column), 64);
    assert_true(offsetof(sx_column, type) == 0 && offsetof(sx_column, place) == 4 &&
                offsetof(sx_column, n) == 8 && offsetof(sx_column, data) == 16);
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        for (size_t b = 0; b < fields[i].bytes; b++)
            for (int wrong = 0; wrong < 2; wrong++) {
                sx_column q = keys, rows = out;
                ((unsigned char *)(wrong ? &rows : &q))[fields[i].at + b] = 1;
                REFUSED(sx_get(ix, &q, &rows, NULL), SX_EINVAL, fields[i].name);
                REFUSED(sx_get(ix, &q, &rows, NULL), SX_EINVAL, wrong ? "rows" : "queries");
            }
}

static int setup(void **state)
{
    (void)state;
    dev = device_open("cpu:threads=1");
    gpu = device_open("simt");
    keys = column(SX_U64, N, key_array);
    memcpy(hi_array, key_array, sizeof hi_array);
    hi = column(SX_U64, N, hi_array);
    out = column(SX_U64, N, outs);
    firsts = column(SX_U64, N + 1, outs);
    space = guard_new(MOST + 4096);
    return sx_build(&ix, dev, "sorted", &keys, NULL, NULL) ||
           sx_collector_new(&collector, ix, NULL);
}

/* No output has grown yet. If one has, it is not written where an older caller's ends, and the
 * further fields of a newer caller become 0. */
static void test_grown_output(void **state)
{
    (void)state;
    struct { size_t size; uint64_t first, later, behind; } own = { .first = 1, .later = 2 }, its;
    for (size_t size = 16; size <= sizeof its; size += 8) {
        memset(&its, 0x5a, sizeof its);
        its.size = size;
        sx_give_struct(&its, &own, 24);
        assert_true(its.size == size && its.first == 1);
        assert_true(its.later == (size < 24 ? 0x5a5a5a5a5a5a5a5aull : 2));
        assert_true(its.behind == (size < 32 ? 0x5a5a5a5a5a5a5a5aull : 0));
    }
}

static int teardown(void **state)
{
    (void)state;
    sx_collector_free(collector);
    sx_free(ix);
    sx_close(gpu);
    sx_close(dev);
    guard_free(&space);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older),
        cmocka_unit_test(test_newer),
        cmocka_unit_test(test_no_size),
        cmocka_unit_test(test_first_call),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_grown_output),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
