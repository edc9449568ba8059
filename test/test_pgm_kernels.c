/* test_pgm_kernels.c - a device makes the processor's segments, bit for bit: of keys that
 * lanes fit together, runs of equal ones within a window, across windows and parts, and
 * hulls that do not fit into shared memory.
 *
 * SX_KERNEL_ROUNDS=n makes fewer of each, for tools that take long. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "on_device.h"
#include "oracle.h"
#include "support.h"

/* The emulator and the sanitizers take many times as long. */
#if UNDER_ASAN
static unsigned rounds = 2;
#else
static unsigned rounds = 8;
#endif
#define ORDERS 3u

static sx_device *cpu, *kernels[ORDERS];    /* threads take turns in three orders */
static char *path;

static unsigned char *file_of(sx_device *dev, int type, const void *keys, uint64_t n,
                              const char *spec, size_t *bytes)
{
    sx_column column_of_keys = column(type, n, (void *)(uintptr_t)keys);
    sx_index *ix = NULL;
    if (sx_build(&ix, dev, spec, &column_of_keys, NULL, NULL) != SX_OK)
        fail_msg("%s: %s", step_now, sx_detail());
    unsigned char *file = saved_bytes(ix, path, bytes);
    sx_free(ix);
    return file;
}

static void same(int type, const void *keys, uint64_t n, unsigned eps, unsigned eps2, uint64_t cuts,
                 unsigned order, const char *what)
{
    char spec[SX_SPEC_MAX];
    size_t bytes, other_bytes;
    snprintf(spec, sizeof spec, "pgm(eps=%u,eps2=%u,cuts=%" PRIu64 ")", eps, eps2, cuts);
    begin_step("%s, %" PRIu64 " keys of %s, %s, order %u", spec, n, sx_type_name(type), what,
               order);
    unsigned char *file = file_of(cpu, type, keys, n, spec, &bytes);
    unsigned char *other = file_of(kernels[order], type, keys, n, spec, &other_bytes);
    if (other_bytes != bytes || memcmp(other, file, bytes) != 0)
        fail_msg("%s: other bytes", step_now);
    free(file);
    free(other);
}

/* An epsilon, mostly a small one, and cuts: few, as many as keys, or any number. */
static unsigned some_eps(rnd *r)
{
    return rnd_below(r, 30) == 0 ? 1u << 20 : 1 + (unsigned)rnd_below(r, 1u << rnd_below(r, 9));
}

static uint64_t some_cuts(rnd *r, uint64_t n)
{
    uint64_t few = n < 9 ? n : 9;
    return rnd_below(r, 2) ? 1 + rnd_below(r, few) : rnd_below(r, 4) ? 1 + rnd_below(r, n) : n;
}

static void test_kinds(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    unsigned turn = 0;
    for (size_t t = 0; t < COUNT_OF(key_types); t++)
        for (int kind = 0; kind < KEYS_KINDS; kind++)
            for (unsigned round = 0; round < rounds; round++) {
                uint64_t n = 1 + rnd_below(&r, round == 0 ? 1500 : 150);
                unsigned char *keys = need(n * 16);
                keys_make(key_types[t], (key_kind)kind, n, &r, keys);
                same(key_types[t], keys, n, some_eps(&r), 1 + (unsigned)rnd_below(&r, 4),
                     some_cuts(&r, n), turn++ % ORDERS, "of a kind");
                free(keys);
            }
}

/* Ascending, in the order of a width's unsigned numbers. */
static void put_key(unsigned width, uint64_t high, uint64_t low, unsigned char *to)
{
    if (width == 16)
        for (unsigned i = 0; i < 16; i++)
            to[i] = (unsigned char)((i < 8 ? high : low) >> (56 - i % 8 * 8));
    else
        memcpy(to, &low, width);                /* little-endian */
}

static const struct { int type; unsigned width; } widths[] = {
    { SX_U32, 4 }, { SX_U64, 8 }, { SX_B16, 16 },
};

/* Runs of equal keys, one value apart or more, up to the largest there is. */
static void test_runs(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 1);
    for (unsigned round = 0; round < 60 * rounds; round++) {
        unsigned width = widths[round % 3].width;
        uint64_t n = 1 + rnd_below(&r, round % 7 ? 300 : 3000), run = 0;
        uint64_t longest = 1 + rnd_below(&r, 1u << rnd_below(&r, 11)), gap = 1 + rnd_below(&r, 4);
        uint64_t most = width == 4 ? UINT32_MAX : UINT64_MAX, x = 0;
        unsigned char *keys = need(n * 16);
        bool at_end = rnd_below(&r, 2) == 0;
        for (uint64_t i = n; i-- > 0;) {        /* as far from an end */
            if (run == 0) {
                run = 1 + rnd_below(&r, longest);
                x += i + 1 < n ? 1 + rnd_below(&r, gap) : rnd_below(&r, 3);
            }
            run--;
            put_key(width, at_end ? most : 0, at_end ? most - x : x,
                    keys + (at_end ? i : n - 1 - i) * width);
        }
        same(widths[round % 3].type, keys, n, some_eps(&r), 2, some_cuts(&r, n), round / 3 % ORDERS,
             "in runs");
        free(keys);
    }
}

/* On curves, where every point is a corner; and close to a line, where few are. */
static void test_curves(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 2);
    for (unsigned round = 0; round < 6 * rounds; round++) {
        unsigned width = widths[round % 3].width, eps = 16u << rnd_below(&r, 4);
        uint64_t n = 2000 + rnd_below(&r, 4000);
        unsigned char *keys = need(n * 16);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t bent = round / 3 % 2 ? i * i : n * n - (n - i) * (n - i);
            uint64_t x = round / 6 % 2 ? bent : i * 1000 + rnd_below(&r, 1000);
            put_key(width, width == 16 ? x : 0, width == 16 ? x << 32 : x, keys + i * width);
        }
        same(widths[round % 3].type, keys, n, eps, 2, 1 + rnd_below(&r, 3), round / 3 % ORDERS,
             "on a curve");
        free(keys);
    }
}

/* Short curves, each a step behind the last: a far corner removes many from a hull. */
static void test_arcs(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 3);
    for (unsigned round = 0; round < 60 * rounds; round++) {
        unsigned width = widths[round % 3].width, eps = 8 + (unsigned)rnd_below(&r, 100);
        uint64_t n = 1 + rnd_below(&r, 600), x = 0, left = 0, gap = 1;
        bool grows = false;
        unsigned char *keys = need(n * 16);
        for (uint64_t i = 0; i < n; i++) {
            if (left-- == 0) {
                left = 2 + rnd_below(&r, 28);
                grows = rnd_below(&r, 2);
                gap = grows ? 1 + rnd_below(&r, 9) : left * 7 + 1;
                x += rnd_below(&r, 2) ? rnd_below(&r, 5000) : 0;
            }
            x += gap;
            gap = grows ? gap + rnd_below(&r, 7) : gap - rnd_below(&r, 7);
            put_key(width, width == 16 ? x : 0, width == 16 ? x << 32 : x, keys + i * width);
        }
        same(widths[round % 3].type, keys, n, eps, 2, 1 + rnd_below(&r, 3), round / 3 % ORDERS,
             "in arcs");
        free(keys);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_curves),
        cmocka_unit_test(test_arcs),
    };
    test_seed();
    if (getenv("SX_KERNEL_ROUNDS") && atoi(getenv("SX_KERNEL_ROUNDS")) > 0)
        rounds = (unsigned)atoi(getenv("SX_KERNEL_ROUNDS"));
    cpu = device_open("cpu:threads=2");
    for (unsigned i = 0; i < ORDERS; i++)
        kernels[i] = device_open(kernel_device(i));
    path = temp_path("pgm_kernels.sxt");
    int failed = cmocka_run_group_tests_name("pgm_kernels", tests, NULL, NULL);
    free(path);
    for (unsigned i = 0; i < ORDERS; i++)
        sx_close(kernels[i]);
    sx_close(cpu);
    return failed != 0;
}
