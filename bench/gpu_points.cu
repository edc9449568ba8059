/* gpu_points.cu - point lookups on a GPU, keys, queries and rows in its
 * memory; every answer is checked there. One JSON object per line.
 *
 *     build/bench-gpu [log2 of keys ...]     (default: 24 28)
 *
 * Beside each size: the floor, a random gather of 4 bytes per query over an
 * array as large as the keys. */
#include "sextant.h"

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUERIES (1ull << 27)
#define RUNS 5

static void must(int bad, const char *what)
{
    if (bad) {
        fprintf(stderr, "%s: %s, %s\n", what, sx_detail(), cudaGetErrorString(cudaGetLastError()));
        exit(1);
    }
}

/* A bijection on 32-bit numbers: unique keys that look random. */
__host__ __device__ static uint32_t mix(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

__global__ static void make_keys(void *keys, uint32_t *rows, uint64_t n, int wide)
{
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n;
         i += (uint64_t)gridDim.x * blockDim.x) {
        uint32_t k = mix((uint32_t)i);
        if (wide)
            ((uint64_t *)keys)[i] = (uint64_t)k << 32 | mix(k);
        else
            ((uint32_t *)keys)[i] = k;
        rows[i] = (uint32_t)i;
    }
}

/* Query j asks for the key of row pick(j). */
__device__ static uint32_t pick(uint64_t j, uint64_t n)
{
    return (uint32_t)(((uint64_t)mix((uint32_t)j + 77u) * n) >> 32);
}

__global__ static void make_queries(void *q, uint64_t n, int wide)
{
    for (uint64_t j = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; j < QUERIES;
         j += (uint64_t)gridDim.x * blockDim.x) {
        uint32_t k = mix(pick(j, n));
        if (wide)
            ((uint64_t *)q)[j] = (uint64_t)k << 32 | mix(k);
        else
            ((uint32_t *)q)[j] = k;
    }
}

__global__ static void count_wrong(const uint32_t *rows, uint64_t n, unsigned long long *wrong)
{
    for (uint64_t j = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; j < QUERIES;
         j += (uint64_t)gridDim.x * blockDim.x)
        if (rows[j] != pick(j, n))
            atomicAdd(wrong, 1ull);
}

__global__ static void gather(const uint32_t *from, uint32_t *to, uint64_t n)
{
    for (uint64_t j = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; j < QUERIES;
         j += (uint64_t)gridDim.x * blockDim.x)
        to[j] = from[pick(j, n)];
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *t)
{
    qsort(t, RUNS, sizeof *t, by_size);
    return t[RUNS / 2];
}

static void bench(sx_device *dev, int log2n, int wide)
{
    static const char *const narrow_specs[] = {"sorted", "eytzinger(k=2)", "eytzinger(k=9)",
        "eytzinger(k=17)", "pivot(k=5)", "pivot(k=9)", "pivot(k=17)", "pivot(k=9,layout=pairs,block=8)",
        "pivot(k=17,layout=pairs)", "eytzinger(k=9,layout=pairs)", NULL};
    static const char *const wide_specs[] = {"sorted", "eytzinger(k=5)", "eytzinger(k=9)", "pivot(k=5)",
        "pivot(k=9)", "pivot(k=9,layout=pairs)", "pivot(k=5,layout=pairs,block=4)", NULL};
    uint64_t n = 1ull << log2n;
    size_t each = wide ? 8 : 4;
    void *keys, *q;
    uint32_t *rows, *out;
    unsigned long long *wrong, bad;
    double t[RUNS], floor_g;

    must(cudaMalloc(&keys, n * each) || cudaMalloc((void **)&rows, n * 4) ||
         cudaMalloc(&q, QUERIES * each) || cudaMalloc((void **)&out, QUERIES * 4) ||
         cudaMalloc((void **)&wrong, 8), "memory");
    make_keys<<<4096, 256>>>(keys, rows, n, wide);
    make_queries<<<4096, 256>>>(q, n, wide);
    must(cudaDeviceSynchronize(), "making keys");
    for (int r = 0; r < RUNS; r++) {
        double begin = now();
        gather<<<132 * 64, 256>>>((const uint32_t *)keys, out, n);
        must(cudaDeviceSynchronize(), "gather");
        t[r] = now() - begin;
    }
    floor_g = (double)QUERIES / median(t) * 1e-9;
    for (const char *const *spec = wide ? wide_specs : narrow_specs; *spec; spec++) {
        sx_column k = {}, rw = {}, qc = {}, oc = {};
        sx_index_info info = {};
        sx_index *ix;
        double begin = now(), build, speed[2];
        k.type = qc.type = wide ? SX_U64 : SX_U32;
        rw.type = oc.type = SX_U32;
        k.place = rw.place = qc.place = oc.place = SX_DEVICE;
        k.n = rw.n = n;
        qc.n = oc.n = QUERIES;
        k.data = keys;
        rw.data = rows;
        qc.data = q;
        oc.data = out;
        must(sx_build(&ix, dev, *spec, &k, &rw, NULL), *spec);
        build = now() - begin;
        for (int op = 0; op < 2; op++) {
            for (int r = 0; r < RUNS; r++) {
                begin = now();
                must(op ? sx_rank(ix, &qc, SX_LEFT, &oc, NULL) : sx_get(ix, &qc, &oc, NULL), *spec);
                t[r] = now() - begin;
            }
            speed[op] = (double)QUERIES / median(t) * 1e-9;
            if (op == 0) {
                must(cudaMemset(wrong, 0, 8), "memory");
                count_wrong<<<4096, 256>>>(out, n, wrong);
                must(cudaMemcpy(&bad, wrong, 8, cudaMemcpyDeviceToHost), "checking");
            }
        }
        info.size = sizeof info;
        sx_describe(ix, &info);
        printf("{\"spec\": \"%s\", \"type\": \"%s\", \"n\": %llu, \"queries\": %llu, ", info.spec,
               wide ? "u64" : "u32", (unsigned long long)n, QUERIES);
        if (bad)
            printf("\"wrong\": %llu}\n", bad);
        else
            printf("\"get_g_per_s\": %.2f, \"rank_g_per_s\": %.2f, \"gather_floor_g_per_s\": %.2f, "
                   "\"bytes_per_key\": %.3f, \"build_s\": %.4f, \"wrong\": 0}\n", speed[0], speed[1],
                   floor_g, (double)info.bytes / (double)n, build);
        fflush(stdout);
        sx_free(ix);
    }
    cudaFree(keys);
    cudaFree(rows);
    cudaFree(q);
    cudaFree(out);
    cudaFree(wrong);
}

int main(int argc, char **argv)
{
    sx_device *dev;

    must(sx_open(&dev, "cuda:0"), "opening cuda:0");
    for (int i = 1; i < argc || i == 1; i++) {
        if (argc == 1) {
            bench(dev, 24, 0);
            bench(dev, 28, 0);
            bench(dev, 28, 1);
            break;
        }
        bench(dev, atoi(argv[i]), 0);
        bench(dev, atoi(argv[i]), 1);
    }
    sx_close(dev);
    return 0;
}
