/* gpu_cuda.cu - NVIDIA GPUs: the runtime under gpu_backend_impl.h, built by
 * nvcc into libsextant-cuda.so, which registry.c loads when a cuda device is
 * opened.
 *
 * Each thread of the caller has its own stream (the per-thread one), and a
 * call waits for its own work only. */
#include "gpu/vendor_cuda.h"

extern "C" {
#include "base/alloc.h"
#include "gpu/gpu_args.h"
#include "index/slots.h"
}

#include <cub/device/device_radix_sort.cuh>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu_kernels.h"

#define GPU_BLOCK 256u

typedef struct {
    int device;
    unsigned multiprocessors;
    pid_t owner;                  /* a GPU can't be used after fork() */
    cudaStream_t stream;
} sx_gpu;

static sx_status gpu_failed(cudaError_t e, const char *doing, sx_err *err)
{
    return sx_fail(err, SX_EDEVICE, "CUDA, %s: %s", doing, cudaGetErrorString(e));
}

static sx_status gpu_enter(sx_gpu *g, sx_err *err)
{
    cudaError_t e;

    if (g->owner != getpid())
        return sx_fail(err, SX_EFORK, "cuda:%d was opened before fork(), by process %ld; a child "
                       "must open it anew after exec()", g->device, (long)g->owner);
    e = cudaSetDevice(g->device);
    return e == cudaSuccess ? SX_OK : gpu_failed(e, "choosing the device", err);
}

static unsigned gpu_grid(const sx_gpu *g, uint64_t items)
{
    uint64_t blocks = (items + GPU_BLOCK - 1) / GPU_BLOCK;
    uint64_t most = (uint64_t)g->multiprocessors * 64;

    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

static sx_status gpu_alloc(sx_gpu *g, void **out, uint64_t bytes, const char *what, sx_err *err)
{
    size_t free_bytes = 0, all = 0;
    void *p = NULL;
    cudaError_t e = cudaMallocAsync(&p, bytes ? bytes : 1, g->stream);

    if (e == cudaSuccess) {
        *out = p;
        return SX_OK;
    }
    (void)cudaGetLastError();
    if (e != cudaErrorMemoryAllocation)
        return gpu_failed(e, what, err);
    (void)cudaMemGetInfo(&free_bytes, &all);
    return sx_fail(err, SX_ENOMEM, "cuda:%d has no memory for %s: %llu bytes needed, %llu free",
                   g->device, what, (unsigned long long)bytes, (unsigned long long)free_bytes);
}

static void gpu_free(sx_gpu *g, void *p)
{
    if (p)
        (void)cudaFreeAsync(p, g->stream);
}

static sx_status gpu_copy(sx_gpu *g, void *to, const void *from, uint64_t bytes,
                          cudaMemcpyKind kind, sx_err *err)
{
    cudaError_t e = cudaMemcpyAsync(to, from, bytes, kind, g->stream);

    if (e == cudaSuccess)
        e = cudaStreamSynchronize(g->stream);
    return e == cudaSuccess ? SX_OK : gpu_failed(e, "copying", err);
}

static sx_status gpu_in(sx_gpu *g, void *to, const void *host, uint64_t bytes, sx_err *err)
{
    return gpu_copy(g, to, host, bytes, cudaMemcpyHostToDevice, err);
}

static sx_status gpu_out(sx_gpu *g, void *host, const void *from, uint64_t bytes, sx_err *err)
{
    return gpu_copy(g, host, from, bytes, cudaMemcpyDeviceToHost, err);
}

static sx_status gpu_set(sx_gpu *g, void *p, int byte, uint64_t n, sx_err *err)
{
    cudaError_t e = n ? cudaMemsetAsync(p, byte, n, g->stream) : cudaSuccess;

    return e == cudaSuccess ? SX_OK : gpu_failed(e, "setting memory", err);
}

static sx_status gpu_done(sx_gpu *g, const char *what, sx_err *err)
{
    cudaError_t e = cudaGetLastError();

    if (e == cudaSuccess)
        e = cudaStreamSynchronize(g->stream);
    return e == cudaSuccess ? SX_OK : gpu_failed(e, what, err);
}

template <class key, class row>
static sx_status sort_pairs(sx_gpu *g, uint64_t n, void *keys[2], void *rows[2], unsigned *where,
                            sx_err *err)
{
    cub::DoubleBuffer<key> k((key *)keys[0], (key *)keys[1]);
    cub::DoubleBuffer<row> r((row *)rows[0], (row *)rows[1]);
    size_t bytes = 0;
    void *scratch = NULL;
    cudaError_t e = cub::DeviceRadixSort::SortPairs(NULL, bytes, k, r, n, 0, (int)sizeof(key) * 8,
                                                    g->stream);
    sx_status st;

    if (e != cudaSuccess)
        return gpu_failed(e, "planning the sort", err);
    st = gpu_alloc(g, &scratch, bytes, "sorting", err);
    if (st != SX_OK)
        return st;
    e = cub::DeviceRadixSort::SortPairs(scratch, bytes, k, r, n, 0, (int)sizeof(key) * 8,
                                        g->stream);
    gpu_free(g, scratch);
    if (e != cudaSuccess)
        return gpu_failed(e, "sorting", err);
    *where = k.Current() == (key *)keys[0] ? 0 : 1;
    /* keys and rows take the same number of passes, so they end together */
    return gpu_done(g, "sorting", err);
}

static sx_status gpu_sort(sx_gpu *g, uint32_t width, uint32_t row_bytes, uint64_t n, void *keys[2],
                          void *rows[2], unsigned *where, sx_err *err)
{
    if (width == 4)
        return row_bytes == 4 ? sort_pairs<uint32_t, uint32_t>(g, n, keys, rows, where, err)
                              : sort_pairs<uint32_t, uint64_t>(g, n, keys, rows, where, err);
    if (width == 8)
        return row_bytes == 4 ? sort_pairs<uint64_t, uint32_t>(g, n, keys, rows, where, err)
                              : sort_pairs<uint64_t, uint64_t>(g, n, keys, rows, where, err);
    return row_bytes == 4 ? sort_pairs<sx_key16, uint32_t>(g, n, keys, rows, where, err)
                          : sort_pairs<sx_key16, uint64_t>(g, n, keys, rows, where, err);
}

#include "gpu/gpu_backend_impl.h"

/* ---- the device ----------------------------------------------------------------- */

static sx_status cuda_open(void **self, const char *args, sx_err *err)
{
    int count = 0, device = 0;
    char *end;
    cudaDeviceProp props;
    cudaMemPool_t pool;
    uint64_t keep = 1ull << 30;   /* scratch that is not given back between calls */
    cudaError_t e = cudaGetDeviceCount(&count);
    void *memory;
    sx_gpu *g;
    sx_status st;

    if (e != cudaSuccess)
        return sx_fail(err, SX_ENODEV, "no device 'cuda:%.40s': CUDA says: %s", args[0] ? args : "0",
                       cudaGetErrorString(e));
    if (args[0]) {
        long n = strtol(args, &end, 10);
        if (*end || args[0] < '0' || args[0] > '9' || n >= count)
            return sx_fail(err, SX_ENODEV, "no device 'cuda:%.40s'; there %s %d, from cuda:0 on",
                           args, count == 1 ? "is" : "are", count);
        device = (int)n;
    }
    e = cudaSetDevice(device);
    if (e == cudaSuccess)
        e = cudaGetDeviceProperties(&props, device);
    if (e == cudaSuccess)
        e = cudaDeviceGetDefaultMemPool(&pool, device);
    if (e == cudaSuccess)
        e = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
    if (e != cudaSuccess)
        return sx_fail(err, SX_ENODEV, "cuda:%d can't be used: %s", device, cudaGetErrorString(e));
    st = sx_alloc(&memory, sizeof *g, "a device", err);
    if (st != SX_OK)
        return st;
    g = (sx_gpu *)memory;
    g->device = device;
    g->multiprocessors = (unsigned)props.multiProcessorCount;
    g->owner = getpid();
    g->stream = cudaStreamPerThread;
    *self = g;
    return SX_OK;
}

static void cuda_close(void *self)
{
    sx_release(self);
}

static void cuda_describe(const void *self, sx_device_info *info)
{
    const sx_gpu *g = (const sx_gpu *)self;
    cudaDeviceProp props;

    snprintf(info->name, sizeof info->name, "cuda:%d", g->device);
    info->usable = 1;
    info->threads = g->multiprocessors;
    info->memory = 0;
    if (cudaGetDeviceProperties(&props, g->device) != cudaSuccess) {
        snprintf(info->detail, sizeof info->detail, "does not answer");
        return;
    }
    snprintf(info->detail, sizeof info->detail, "%s, compute capability %d.%d, %d multiprocessors, "
             "%d MiB of L2", props.name, props.major, props.minor, props.multiProcessorCount,
             props.l2CacheSize >> 20);
    info->memory = props.totalGlobalMem;
}

/* In the order of sx_backend. */
static const sx_backend cuda_backend = {
    SX_BACKEND_ABI, "cuda", 0, 1,
    32,                           /* a sector: measured faster than 64 and 16 */
    cuda_open, cuda_close, cuda_describe,
    gpu_backend_alloc, gpu_backend_release, gpu_backend_copy_in, gpu_backend_copy_out,
    gpu_backend_sort, gpu_backend_build, gpu_backend_peak,
    gpu_backend_lookup, gpu_backend_spans, gpu_backend_fill, gpu_backend_fold,
};

extern "C" __attribute__((visibility("default"))) const sx_backend *sx_backend_entry(void)
{
    return &cuda_backend;
}
