/* bench_sort.c - the sort beside qsort(), and building beside the sort. */
#include "sextant.h"

#include "base/alloc.h"
#include "base/machine.h"
#include "sort/sort.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N (1u << 24)
#define RUNS 5

static int compare(const void *a, const void *b)
{
    uint64_t x, y;

    memcpy(&x, a, 8);
    memcpy(&y, b, 8);
    return (x > y) - (x < y);
}

static void fill(uint64_t *key, uint64_t *row)
{
    uint64_t x = 1;

    for (uint64_t i = 0; i < N; i++) {
        x += 0x9e3779b97f4a7c15u;
        uint64_t z = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        key[i] = z ^ z >> 31;
        if (row)
            row[i] = (1ull << 33) + i;
    }
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *s)
{
    qsort(s, RUNS, sizeof *s, by_number);
    return s[RUNS / 2];
}

int main(void)
{
    static const char *const specs[] = {"sorted", "pivot", "pivot(layout=pairs)", "eytzinger(k=9)",
                                        "eytzinger(k=2)"};
    sx_err err;
    sx_pool *pool;
    sx_device *dev;
    double t[RUNS], sort_s;
    sx_sort_arrays a = {.width = 8, .row_bytes = 8, .n = N};
    uint64_t *key = malloc(N * 8ull), *row = malloc(N * 8ull);

    if (!key || !row || sx_pool_new(&pool, 1, 0, &err) || sx_open(&dev, "cpu:threads=1"))
        return 1;
    for (int i = 0; i < 2; i++)
        if (sx_alloc(&a.keys[i], N * 8ull, "keys", &err) || sx_alloc(&a.rows[i], N * 8ull, "rows", &err))
            return 1;
    memset(a.keys[1], 0, N * 8ull);
    memset(a.rows[1], 0, N * 8ull);
    for (int r = 0; r < RUNS; r++) {
        fill(a.keys[0], a.rows[0]);
        a.in_keys = a.keys[0];
        a.in_rows = a.rows[0];
        uint64_t begin = sx_clock_ns();
        if (sx_sort(pool, 1, &a, &err))
            return 1;
        t[r] = (double)(sx_clock_ns() - begin) * 1e-9;
    }
    sort_s = median(t);
    fill(key, row);
    uint64_t begin = sx_clock_ns();
    qsort(key, N, 8, compare);
    double qsort_s = (double)(sx_clock_ns() - begin) * 1e-9;
    printf("{\"n\": %u, \"sort\": \"u64 keys with u64 rows, 1 thread\", \"sort_s\": %.4f, "
           "\"qsort_keys_only_s\": %.4f, \"times_as_fast\": %.2f}\n", N, sort_s, qsort_s,
           qsort_s / sort_s);
    for (int i = 0; i < 2; i++) {
        sx_release(a.keys[i]);
        sx_release(a.rows[i]);
    }

    fill(key, row);
    sx_column keys = {.type = SX_U64, .n = N, .data = key}, rows = {.type = SX_U64, .n = N, .data = row};
    for (unsigned s = 0; s < sizeof specs / sizeof *specs; s++) {
        for (int r = 0; r < RUNS; r++) {
            sx_index *ix;
            begin = sx_clock_ns();
            if (sx_build(&ix, dev, specs[s], &keys, &rows, NULL))
                return puts(sx_detail()), 1;
            t[r] = (double)(sx_clock_ns() - begin) * 1e-9;
            sx_free(ix);
        }
        double build_s = median(t);
        printf("{\"n\": %u, \"build\": \"%s\", \"build_s\": %.4f, \"times_the_sort\": %.2f}\n", N,
               specs[s], build_s, build_s / sort_s);
    }
    sx_close(dev);
    sx_pool_free(pool);
    return 0;
}
