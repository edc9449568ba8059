/* test_choose.c - what is chosen from a look at the keys: the pieces of a guide,
 * and whether `auto` takes one. Below 2^22 keys a GPU measures nothing, so it is
 * always the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "on_device.h"

enum { EVEN, CROWDED, ROUGH, UNEVEN };
static uint64_t n = 1 << 17;      /* keys */

/* Ascending keys: equally far apart; crowded at one end, but even within some pieces;
 * runs with gaps of all magnitudes between them; and short runs with gaps of many. */
static uint64_t *keys_of(unsigned kind)
{
    uint64_t *keys = need(n * sizeof *keys), x = 0;
    rnd r = rnd_start(7);
    for (uint64_t i = 0; i < n; i++) {
        x += kind == UNEVEN ? (i % 8 ? 1 : 1ull << rnd_below(&r, 14))
             : kind == ROUGH && i % 97 == 0 ? 1ull << rnd_below(&r, 50) : 1;
        keys[i] = kind == EVEN ? i << 40 : kind == CROWDED ? i * i * i + i : x;
    }
    return keys;
}

/* The resolved spec of an index that is right, and not larger than was said. */
static void build(sx_device *dev, const char *spec, uint64_t *keys, char out[SX_SPEC_MAX])
{
    sx_column k = column(SX_U64, n, keys), rows;
    uint32_t *row = need(n * sizeof *row);
    sx_index_info info = { .size = sizeof info };
    sx_estimate_info e = { .size = sizeof e };
    sx_index *ix = NULL;
    for (uint64_t i = 0; i < n; i++)
        row[i] = (uint32_t)(n - i);
    rows = column(SX_U32, n, row);
    OK(sx_build(&ix, dev, spec, &k, &rows, NULL));
    OK(sx_check(ix));
    OK(sx_describe(ix, &info));
    OK(sx_estimate(dev, spec, SX_U64, n, SX_U32, &e));
    if (info.bytes > e.host_resident + e.device_resident)
        fail_msg("%s: %llu bytes, estimated %llu and %llu", spec, (unsigned long long)info.bytes,
                 (unsigned long long)e.host_resident, (unsigned long long)e.device_resident);
    memcpy(out, info.spec, SX_SPEC_MAX);
    sx_free(ix);
    free(row);
}

static void begins(sx_device *dev, unsigned kind, const char *spec, const char *wanted)
{
    uint64_t *keys = keys_of(kind);
    char got[SX_SPEC_MAX];
    build(dev, spec, keys, got);
    if (strncmp(got, wanted, strlen(wanted)) != 0)
        fail_msg("'%s' of keys %u became '%s', not '%s...'", spec, kind, got, wanted);
    free(keys);
}

static void test_pieces(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu");
    begins(dev, EVEN, "guide", "guide(bucket=16,pieces=1,");
    begins(dev, CROWDED, "guide", "guide(bucket=16,pieces=128,");
    begins(dev, ROUGH, "guide", "guide(bucket=1,pieces=128,");
    begins(dev, ROUGH, "guide(bucket=9)", "guide(bucket=9,pieces=128,");
    begins(dev, UNEVEN, "guide", "guide(bucket=1,pieces=1,");
    begins(dev, ROUGH, "guide(pieces=3)", "guide(bucket=16,pieces=3,");
    sx_close(dev);
}

/* A hybrid guide's top is no larger than its device has room for. A GPU wants a little
 * more to get it there, so that takes more keys. */
static void test_room(void **state)
{
    (void)state;
    uint64_t before = n, more = kernel_is_gpu() ? 1 << 20 : 4096;
    n = kernel_is_gpu() ? 1 << 21 : n;
    sx_device *dev = device_open(kernel_with(""));
    sx_estimate_info e = { .size = sizeof e };
    char options[64];
    OK(sx_estimate(dev, "guide(bucket=16,pieces=1) place=hybrid", SX_U64, n, SX_U32, &e));
    begins(dev, UNEVEN, "guide place=hybrid", "guide(bucket=1,pieces=1,");
    sx_close(dev);
    snprintf(options, sizeof options, "memory=%llu", (unsigned long long)(e.device_resident + more));
    dev = device_open(kernel_with(options));
    uint64_t *keys = keys_of(UNEVEN);
    char got[SX_SPEC_MAX];
    build(dev, "guide place=hybrid", keys, got);
    if (strncmp(got, "guide(bucket=1,", 15) == 0)
        fail_msg("'%s' with %s", got, options);
    free(keys);
    sx_close(dev);
    n = before;
}

static void test_auto(void **state)
{
    (void)state;
    sx_device *dev = device_open(kernel_with(""));
    begins(dev, EVEN, "auto", "guide(bucket=4,pieces=1,layout=pairs");
    begins(dev, CROWDED, "auto(for=point)", "guide(bucket=4,pieces=128,layout=pairs");
    begins(dev, UNEVEN, "auto", "guide(bucket=1,pieces=1,layout=pairs");
    begins(dev, ROUGH, "auto", "pivot(");
    begins(dev, EVEN, "auto(for=range)", "pivot(");
    begins(dev, EVEN, "auto(for=memory)", "eytzinger(");
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_auto),
    };
    return cmocka_run_group_tests_name("choose", tests, NULL, NULL) != 0;
}
