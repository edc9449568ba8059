/* prefixes.c - how fast a device finds keys that begin with some bits, beside the ranges that these
 * are, whose ends are made beforehand:
 *
 *     prefixes DEVICE SPEC u32|u64|b16 N LEAST MOST [QUERIES [RUNS]]
 *
 * N random keys; prefixes of LEAST to MOST bits of random ones, as drawn, counted only. All columns
 * are in the device's memory. Prints a JSON line. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alone.h"

/* Byte b of a key of `width` bytes, counted from the highest. */
static unsigned char *byte_of(unsigned char *key, size_t width, size_t b)
{
    return key + (width == 16 ? b : width - 1 - b);
}

/* Seconds. Whole calls are timed: the making of ends is a part of those that need them. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static void draw(unsigned char *to, size_t width, uint64_t x)
{
    uint64_t halves[2] = { mixed(2 * x + 1), mixed(2 * x + 2) };

    memcpy(to, halves, width);
}

static void make_ends(const unsigned char *of, size_t width, uint32_t bits, unsigned char *lo,
                      unsigned char *hi)
{
    memcpy(lo, of, width);
    memcpy(hi, of, width);
    for (size_t b = 0; b < width; b++) {
        unsigned rest = bits >= 8 * b + 8 ? 0 : bits <= 8 * b ? 255 : 255u >> (bits - 8 * b);
        *byte_of(lo, width, b) &= (unsigned char)~rest;
        *byte_of(hi, width, b) |= (unsigned char)rest;
    }
}

int main(int argc, char **argv)
{
    int type = argc > 3 ? sx_type_named(argv[3]) : 0;
    uint64_t n = argc > 4 ? strtoull(argv[4], NULL, 10) : 0, wrong = 0;
    uint32_t least = argc > 5 ? (uint32_t)atoi(argv[5]) : 0, most = argc > 6 ? (uint32_t)atoi(argv[6]) : 0;
    uint64_t m = argc > 7 ? strtoull(argv[7], NULL, 10) : 1u << 24;
    int runs = argc > 8 ? atoi(argv[8]) : 5;
    double best[2] = { 1e9, 1e9 };
    size_t width = type ? sx_type_bytes(type) : 0;
    sx_device *dev;
    sx_index *ix;

    if (n == 0 || width == 0 || most < least || most > 8 * width) {
        fprintf(stderr, "usage: prefixes DEVICE SPEC u32|u64|b16 N LEAST MOST [QUERIES [RUNS]]\n");
        return 2;
    }
    expect(sx_open(&dev, argv[1]));
    sx_column keys = made(type, n), of = made(type, m), lo = made(type, m), hi = made(type, m);
    sx_column bits = made(SX_U32, m), counts = made(SX_U64, m + 1), others = made(SX_U64, m + 1);
    for (uint64_t i = 0; i < n; i++)
        draw((unsigned char *)keys.data + i * width, width, i);
    for (uint64_t i = 0; i < m; i++) {
        unsigned char *key = (unsigned char *)of.data + i * width;
        uint32_t its = least + (uint32_t)(mixed(i + 5 * n) % (most - least + 1));
        draw(key, width, mixed(i + n) % n);
        ((uint32_t *)bits.data)[i] = its;
        make_ends(key, width, its, (unsigned char *)lo.data + i * width,
                  (unsigned char *)hi.data + i * width);
    }
    expect(sx_build(&ix, dev, argv[2], &keys, NULL, NULL));
    sx_column q = placed(dev, of), l = placed(dev, lo), h = placed(dev, hi), b = placed(dev, bits);
    sx_column f = placed(dev, counts), g = placed(dev, others);
    sx_prefixes prefixes = { .size = sizeof prefixes, .of = &q, .bits = &b };
    sx_ranges ranges = { .size = sizeof ranges, .lo = &l, .hi = &h };
    for (int i = 0; i < runs; i++) {
        double begin = now();
        expect(sx_prefix(ix, &prefixes, &f, NULL, NULL, NULL));
        best[0] = lesser(best[0], now() - begin);
        begin = now();
        expect(sx_range(ix, &ranges, &g, NULL, NULL, NULL));
        best[1] = lesser(best[1], now() - begin);
    }
    if (f.data != counts.data) {
        expect(sx_column_copy(&counts, &f, dev));
        expect(sx_column_copy(&others, &g, dev));
    }
    for (uint64_t i = 0; i < m; i++) {            /* the key itself begins so */
        const uint64_t *a = (const uint64_t *)counts.data + i, *c = (const uint64_t *)others.data + i;
        wrong += a[1] - a[0] != c[1] - c[0] || a[1] == a[0];
    }
    printf("{\"op\": \"prefix\", \"device\": \"%s\", \"spec\": \"%s\", \"type\": \"%s\", \"n\": %llu, "
           "\"bits\": [%u, %u], \"queries\": %llu, \"prefix_mps\": %.4g, \"range_mps\": %.4g, "
           "\"times\": %.3g, \"wrong\": %llu}\n", argv[1], argv[2], argv[3], (unsigned long long)n,
           least, most, (unsigned long long)m, (double)m / best[0] / 1e6,
           (double)m / best[1] / 1e6, best[1] / best[0],
           (unsigned long long)wrong);
    return wrong != 0;
}
