/* climbs.c - how fast keys climb to their tops, beside single lookups:
 *
 *     climbs DEVICE SPEC sparse|dense N [QUERIES [RUNS]]
 *
 * N keys of 4 bytes, the parent of the i-th being the (i / 10)-th, as in the hierarchical lookups
 * of the paper on GRT; random keys to begin with, in the device's memory. Prints a JSON line. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alone.h"

int main(int argc, char **argv)
{
    int dense = argc > 3 && strcmp(argv[3], "dense") == 0;
    uint64_t n = argc > 4 ? strtoull(argv[4], NULL, 10) : 0, steps = 0, wrong = 0;
    uint64_t m = argc > 5 ? strtoull(argv[5], NULL, 10) : 1u << 24;
    int runs = argc > 6 ? atoi(argv[6]) : 5;
    uint64_t best[2] = { UINT64_MAX, UINT64_MAX }, ns = 0;
    sx_device *dev;
    sx_index *ix;

    if (n == 0) {
        fprintf(stderr, "usage: climbs DEVICE SPEC sparse|dense N [QUERIES [RUNS]]\n");
        return 2;
    }
    expect(sx_open(&dev, argv[1]));
    sx_column keys = made(SX_U32, n), parents = made(SX_U32, n), of = made(SX_U32, m);
    sx_column far = made(SX_U32, m), row = made(SX_U32, m);
    uint32_t *key = keys.data;
    uint64_t gap = (UINT32_MAX - 1ull) / n;
    for (uint64_t i = 0; i < n; i++)              /* ascending, so that a row is a position */
        key[i] = (uint32_t)(dense ? i : i * gap + mixed(i) % gap);
    for (uint64_t i = 0; i < n; i++)
        ((uint32_t *)parents.data)[i] = key[i / 10];
    for (uint64_t i = 0; i < m; i++)
        ((uint32_t *)of.data)[i] = key[mixed(i + n) % n];
    expect(sx_build(&ix, dev, argv[2], &keys, NULL, NULL));
    sx_column p = placed(dev, parents), q = placed(dev, of), s = placed(dev, far), r = placed(dev, row);
    sx_climbs climbs = { .size = sizeof climbs, .of = &q, .parents = &p };
    sx_call call = { .size = sizeof call, .device_ns = &ns };
    for (int i = 0; i < runs; i++) {
        expect(sx_get(ix, &q, &r, &call));
        best[0] = ns < best[0] ? ns : best[0];
        expect(sx_climb(ix, &climbs, &r, NULL, &s, &call));
        best[1] = ns < best[1] ? ns : best[1];
    }
    if (s.data != far.data) {
        expect(sx_column_copy(&far, &s, dev));
        expect(sx_column_copy(&row, &r, dev));
    }
    for (uint64_t i = 0; i < m; i++) {
        uint64_t at = mixed(i + n) % n, its = 0;
        for (; at > 0; at /= 10)
            its++;
        steps += its + 1;                         /* the first lookup counts */
        wrong += ((uint32_t *)far.data)[i] != its || ((uint32_t *)row.data)[i] != 0;
    }
    printf("{\"op\": \"climb\", \"device\": \"%s\", \"spec\": \"%s\", \"keys\": \"%s\", \"n\": %llu, "
           "\"queries\": %llu, \"get_gps\": %.4g, \"steps_gps\": %.4g, \"times\": %.3g, \"wrong\": %llu}\n",
           argv[1], argv[2], argv[3], (unsigned long long)n, (unsigned long long)m,
           (double)m / (double)best[0], (double)steps / (double)best[1],
           (double)steps / (double)best[1] / ((double)m / (double)best[0]), (unsigned long long)wrong);
    return wrong != 0;
}
