/* gpu_cuda.cu - NVIDIA GPUs: the runtime under gpu_backend_impl.h. nvcc builds
 * libsextant-cuda.so of it, sort_cuda.cu and the families' units; backend_load.c loads that when
 * a cuda device is opened.
 *
 * Each thread of the caller has its own stream (the per-thread one) for calls that wait, and a
 * call waits for its own work only. Device memory comes from a pool of our own, in the order of
 * streams, and returns there. */
#include "family/family_gpu.h"

extern "C" {
#include "base/machine.h"
#include "place/ranges.h"
}

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu_kernels.h"
#include "gpu/sort_cuda.h"

/* The error is reported here, so the next call must not find it again. */
static sx_status gpu_failed(cudaError_t e, const char *doing, sx_err *err)
{
    (void)cudaGetLastError();
    return sx_fail(err, SX_EDEVICE, "CUDA, %s: %s", doing, cudaGetErrorString(e));
}

/* CUDA can't be used in a child of a process that has used it: calls fail there, or wait for a
 * thread that only the parent has. So only the first process that comes here may use it. */
static sx_status gpu_process(sx_err *err)
{
    static pid_t first;           /* 0: none yet */
    pid_t owner = 0, self = getpid();

    if (__atomic_compare_exchange_n(&first, &owner, self, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
        owner == self)
        return SX_OK;
    return sx_fail(err, SX_EFORK, "CUDA was used before fork(), by process %ld; a child can use it "
                   "after exec()", (long)owner);
}

static sx_status gpu_enter(sx_gpu *g, sx_err *err)
{
    int now = -1;
    cudaError_t e;

    if (gpu_process(err) != SX_OK)
        return SX_EFORK;
    e = cudaGetDevice(&now);
    if (e == cudaSuccess && now != g->device)
        e = cudaSetDevice(g->device);
    return e == cudaSuccess ? SX_OK : gpu_failed(e, "choosing the device", err);
}

/* ---- streams --------------------------------------------------------------------- */

static gpu_stream gpu_stream_of(void *callers)
{
    return callers ? (cudaStream_t)callers : cudaStreamPerThread;
}

static sx_status gpu_stream_new(gpu_stream *out, sx_err *err)
{
    cudaError_t e = cudaStreamCreateWithFlags(out, cudaStreamNonBlocking);

    return e == cudaSuccess ? SX_OK : gpu_failed(e, "making a stream", err);
}

static void gpu_stream_free(gpu_stream stream)
{
    if (stream)
        (void)cudaStreamDestroy(stream);
}

sx_status sx_gpu_launched(sx_gpu *g, const char *what, sx_err *err)
{
    cudaError_t e = cudaGetLastError();

    (void)g;
    return e == cudaSuccess ? SX_OK : gpu_failed(e, what, err);
}

sx_status sx_gpu_wait(sx_gpu *g, gpu_stream stream, const char *what, sx_err *err)
{
    cudaError_t e = cudaGetLastError(), end = cudaStreamSynchronize(stream);

    (void)g;
    e = e == cudaSuccess ? end : e;
    return e == cudaSuccess ? SX_OK : gpu_failed(e, what, err);
}

/* Whether a kernel has set a word of pinned memory that was 0, for which it has a moment. That is
 * seen sooner than its end. A kernel that fails does not set it. */
#define TOLD_NS 200000u
static int gpu_told(const unsigned long long *word)
{
    uint64_t begin = sx_clock_ns();

    while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
        if (sx_clock_ns() - begin > TOLD_NS)
            return 0;
    return 1;
}

/* Work that is queued on `stream` from now on comes after work that the caller queued on the
 * default stream, the thread's or the legacy one. */
static sx_status gpu_follow_caller(gpu_stream stream, sx_err *err)
{
    cudaEvent_t now = NULL;
    cudaError_t e = cudaEventCreateWithFlags(&now, cudaEventDisableTiming);

    if (e == cudaSuccess)
        e = cudaEventRecord(now, cudaStreamPerThread);
    if (e == cudaSuccess)
        e = cudaStreamWaitEvent(stream, now, 0);
    if (now)
        (void)cudaEventDestroy(now);
    return e == cudaSuccess ? SX_OK : gpu_failed(e, "following the default stream", err);
}

/* Before memory is given back: streams of the caller may still use it, also in kernels of the
 * caller's own, of which nobody told us. */
static void gpu_settle(void)
{
    (void)cudaDeviceSynchronize();
}

typedef struct {
    cudaEvent_t begin, end;
} gpu_timer;

static void gpu_timer_begin(gpu_timer *t, gpu_stream stream, const uint64_t *wanted)
{
    t->begin = t->end = NULL;
    if (!wanted)
        return;
    if (cudaEventCreate(&t->begin) != cudaSuccess || cudaEventCreate(&t->end) != cudaSuccess)
        (void)cudaGetLastError();         /* no time is measured then */
    else
        (void)cudaEventRecord(t->begin, stream);
}

static void gpu_timer_mark(gpu_timer *t, gpu_stream stream)
{
    if (t->end)
        (void)cudaEventRecord(t->end, stream);
}

static void gpu_timer_end(gpu_timer *t, uint64_t *ns)
{
    float ms = 0;

    if (t->end && ns && cudaEventSynchronize(t->end) == cudaSuccess &&
        cudaEventElapsedTime(&ms, t->begin, t->end) == cudaSuccess)
        *ns += (uint64_t)(ms * 1e6f);
    if (t->begin)
        (void)cudaEventDestroy(t->begin);
    if (t->end)
        (void)cudaEventDestroy(t->end);
}

/* ---- launching ---------------------------------------------------------------------- */

unsigned sx_gpu_grid(const sx_gpu *g, uint64_t threads)
{
    uint64_t blocks = (threads + GPU_BLOCK - 1) / GPU_BLOCK;

    return gpu_grid_of(g, blocks, (uint64_t)g->multiprocessors * 64);
}

/* Blocks share a multiprocessor's memory, of which the larger part stays a cache. */
static uint64_t gpu_staged_space(const sx_gpu *g, uint32_t blocks)
{
    uint64_t space = g->shared_bytes / 4 / blocks, most = 220u << 10;

    return space < most ? space : most;
}

/* The same for all keys of an index. Other reads of the threads need little of L1. */
static uint64_t gpu_whole_space(const sx_gpu *g, uint32_t blocks)
{
    return g->shared_bytes / 5 * 3 / blocks;
}

/* ---- memory --------------------------------------------------------------------------- */

/* To ask for the device's memory takes as long as some kernels, so our pool is asked first. Where there was
 * more than twice as much a moment ago, nobody asks again. */
#define FREE_KNOWN_NS 10000000ull
static uint64_t gpu_free_bytes(sx_gpu *g, uint64_t enough)
{
    size_t free_bytes = 0, all = 0;
    uint64_t used = 0, reserved = 0, in_pool, now = sx_clock_ns(), limit = g->tune.memory;
    int known;

    if (enough < __atomic_load_n(&g->free_seen, __ATOMIC_RELAXED) / 2 && !limit &&
        now - __atomic_load_n(&g->free_seen_at, __ATOMIC_RELAXED) < FREE_KNOWN_NS)
        return enough;
    known = g->memory &&
        cudaMemPoolGetAttribute(g->memory, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess &&
        cudaMemPoolGetAttribute(g->memory, cudaMemPoolAttrReservedMemCurrent, &reserved) ==
            cudaSuccess;
    in_pool = known && reserved > used ? reserved - used : 0;
    if (in_pool < enough || limit)
        (void)cudaMemGetInfo(&free_bytes, &all);
    free_bytes += in_pool;
    __atomic_store_n(&g->free_seen, free_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&g->free_seen_at, now, __ATOMIC_RELAXED);
    if (known && limit && (used > limit || limit - used < free_bytes))
        return used > limit ? 0 : limit - used;
    return free_bytes;
}

/* One try. With a limit threads take turns, so that memory that one has seen free is its own. */
static cudaError_t gpu_take(sx_gpu *g, gpu_stream stream, void **out, uint64_t bytes)
{
    uint64_t used = 0;
    cudaError_t e = cudaSuccess;

    if (g->from.take) {
        *out = g->from.take(g->from.context, bytes, stream);
        return *out ? cudaSuccess : cudaErrorMemoryAllocation;
    }
    if (g->tune.memory) {
        pthread_mutex_lock(&g->limit);
        e = cudaMemPoolGetAttribute(g->memory, cudaMemPoolAttrUsedMemCurrent, &used);
        if (e == cudaSuccess && (used > g->tune.memory || bytes > g->tune.memory - used))
            e = cudaErrorMemoryAllocation;
    }
    if (e == cudaSuccess)
        e = cudaMallocFromPoolAsync(out, bytes, g->memory, stream);
    if (g->tune.memory)
        pthread_mutex_unlock(&g->limit);
    (void)cudaGetLastError();
    return e;
}

static int gpu_give_up_idle(sx_gpu *g);

sx_status sx_gpu_alloc(sx_gpu *g, gpu_stream stream, void **out, uint64_t bytes,
                           const char *what, sx_err *err)
{
    void *p = NULL;
    cudaError_t e;

    bytes = bytes ? bytes : 1;
    e = gpu_take(g, stream, &p, bytes);
    if (e == cudaErrorMemoryAllocation && gpu_give_up_idle(g))
        e = gpu_take(g, stream, &p, bytes);
    if (e == cudaSuccess && g->from.take && (uintptr_t)p % SX_GIVEN_ALIGN) {
        g->from.give(g->from.context, p, stream);
        return sx_fail(err, SX_EINVAL, "the allocator given returned %p for %s, not at a multiple "
                       "of %u", p, what, SX_GIVEN_ALIGN);
    }
    if (e == cudaSuccess) {
        *out = p;
        return SX_OK;
    }
    if (e != cudaErrorMemoryAllocation)
        return gpu_failed(e, what, err);
    if (g->from.take)
        return sx_fail(err, SX_ENOMEM, "cuda:%d has no memory for %s: the allocator given has "
                       "none for %llu bytes", g->device, what, (unsigned long long)bytes);
    return sx_fail(err, SX_ENOMEM, "cuda:%d has no memory for %s: %llu bytes needed, %llu free%s",
                   g->device, what, (unsigned long long)bytes,
                   (unsigned long long)gpu_free_bytes(g, UINT64_MAX),
                   g->tune.memory ? " of what memory= allows" : "");
}

void sx_gpu_free(sx_gpu *g, gpu_stream stream, void *p)
{
    if (p && g->from.take)
        g->from.give(g->from.context, p, stream);
    else if (p)
        (void)cudaFreeAsync(p, stream);
}

sx_status sx_gpu_copy(sx_gpu *g, gpu_stream stream, void *to, const void *from, uint64_t bytes,
                          sx_err *err)
{
    cudaError_t e = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);

    (void)g;
    return e == cudaSuccess ? SX_OK : gpu_failed(e, "copying", err);
}

static sx_status gpu_set(sx_gpu *g, gpu_stream stream, void *p, int byte, uint64_t n, sx_err *err)
{
    cudaError_t e = n ? cudaMemsetAsync(p, byte, n, stream) : cudaSuccess;

    (void)g;
    return e == cudaSuccess ? SX_OK : gpu_failed(e, "setting memory", err);
}

static sx_status gpu_pin(void **out, uint64_t bytes, sx_err *err)
{
    cudaError_t e = cudaHostAlloc(out, bytes, cudaHostAllocPortable);

    (void)cudaGetLastError();
    if (e == cudaErrorMemoryAllocation)
        return sx_fail(err, SX_ENOMEM, "no pinned memory for a batch: %llu bytes needed",
                       (unsigned long long)bytes);
    return e == cudaSuccess ? SX_OK : gpu_failed(e, "pinning memory", err);
}

static void gpu_unpin(void *p)
{
    if (p)
        (void)cudaFreeHost(p);
}

static int gpu_is_pinned(const void *p)
{
    cudaPointerAttributes a;

    if (cudaPointerGetAttributes(&a, p) == cudaSuccess)
        return a.type == cudaMemoryTypeHost || a.type == cudaMemoryTypeManaged;
    (void)cudaGetLastError();
    return 0;
}

static sx_status cuda_check_pointer(void *self, const void *p, uint64_t bytes, int place,
                                    const char *verb, const char *name, sx_err *err)
{
    static const char *const kinds[] = {"ordinary host memory", "pinned host memory",
                                        "device memory", "managed memory"};
    sx_gpu *g = (sx_gpu *)self;
    sx_status st = gpu_enter(g, err);
    cudaPointerAttributes a;

    (void)bytes;
    if (st != SX_OK)
        return st;
    if (cudaPointerGetAttributes(&a, p) != cudaSuccess) {
        (void)cudaGetLastError();
        return SX_OK;             /* CUDA can't say */
    }
    if (place == SX_HOST && a.type == cudaMemoryTypeDevice)
        return sx_fail(err, SX_EINVAL, "%s: %s is said to be on the host, but %p is device memory",
                       verb, name, p);
    if (place == SX_DEVICE && a.type != cudaMemoryTypeDevice && a.type != cudaMemoryTypeManaged)
        return sx_fail(err, SX_EINVAL, "%s: %s is said to be in device memory, but %p is %s", verb,
                       name, p, kinds[a.type & 3]);
    if (place == SX_DEVICE && a.type == cudaMemoryTypeDevice && a.device != g->device)
        return sx_fail(err, SX_EINVAL, "%s: %s is in memory of cuda:%d, the index on cuda:%d", verb,
                       name, a.device, g->device);
    return SX_OK;
}

/* ---- device-wide primitives --------------------------------------------------------------- */

/* Sorts keys and rows into s->keys and s->rows. spare: device memory that it may use. */
static sx_status gpu_sort(sx_gpu *g, gpu_stream stream, sx_sorted *s, const void *keys,
                          const void *rows, void *spare, uint64_t spare_bytes, sx_err *err)
{
    sx_cuda_pairs pairs = {s->width, s->row_bytes, s->n, keys, rows, s->keys, s->rows};
    size_t bytes = 0;
    void *scratch = NULL;
    cudaError_t e = sx_cuda_sort(NULL, &bytes, &pairs, stream);
    sx_status st;

    if (e != cudaSuccess)
        return gpu_failed(e, "planning the sort", err);
    if (bytes <= spare_bytes) {
        e = sx_cuda_sort(spare, &bytes, &pairs, stream);
        return e == cudaSuccess ? SX_OK : gpu_failed(e, "sorting", err);
    }
    st = sx_gpu_alloc(g, stream, &scratch, bytes, "sorting", err);
    if (st != SX_OK)
        return st;
    e = sx_cuda_sort(scratch, &bytes, &pairs, stream);
    sx_gpu_free(g, stream, scratch);
    return e == cudaSuccess ? SX_OK : gpu_failed(e, "sorting", err);
}

/* n numbers become the sums of the numbers before them. scratch NULL: only says how many bytes
 * it must have. */
static sx_status gpu_sum_up(sx_gpu *g, gpu_stream stream, void *scratch, uint64_t *bytes,
                            uint64_t *numbers, uint64_t n, sx_err *err)
{
    size_t space = *bytes;
    cudaError_t e = sx_cuda_sum_up(scratch, &space, numbers, n, stream);

    (void)g;
    *bytes = space;
    return e == cudaSuccess ? SX_OK : gpu_failed(e, "summing up", err);
}

#include "gpu/gpu_backend_impl.h"

/* ---- the device ----------------------------------------------------------------- */

static sx_status cuda_use_allocator(void *self, const sx_allocator *allocator, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_status st = gpu_enter(g, err);

    if (st != SX_OK)
        return st;
    gpu_settle();
    (void)gpu_give_up_idle(g);           /* their memory came from elsewhere */
    g->from = *allocator;
    return SX_OK;
}

/* Sets a part of L2 aside for what every lookup reads. The driver has the last word. */
static uint64_t set_persist(const cudaDeviceProp *props, const sx_gpu_tune *tune)
{
    uint64_t want = tune->persist;

    if (want > (uint64_t)props->persistingL2CacheMaxSize)
        want = (uint64_t)props->persistingL2CacheMaxSize;
    if (want > (uint64_t)props->accessPolicyMaxWindowSize)
        want = (uint64_t)props->accessPolicyMaxWindowSize;
    if (want > 0 && cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, want) != cudaSuccess) {
        (void)cudaGetLastError();
        want = 0;
    }
    return want;
}

/* A pool of our own, so that the process's default one stays as it is. It keeps an eighth of the
 * device's memory for the next call rather than giving it back. */
static cudaError_t new_pool(cudaMemPool_t *out, int device, uint64_t all, uint64_t limit)
{
    cudaMemPoolProps props = {};
    uint64_t keep = limit && limit < all / 8 ? limit : all / 8;
    int no = 0;
    cudaError_t e;

    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    e = cudaMemPoolCreate(out, &props);
    if (e == cudaSuccess)
        e = cudaMemPoolSetAttribute(*out, cudaMemPoolAttrReleaseThreshold, &keep);
    /* memory that a busy stream has yet to free is not for other streams: they would wait */
    if (e == cudaSuccess)
        e = cudaMemPoolSetAttribute(*out, cudaMemPoolReuseAllowInternalDependencies, &no);
    return e;
}

static sx_status cuda_open(void **self, const char *args, sx_err *err)
{
    int count = 0, device = 0;
    char *end = (char *)args;
    cudaDeviceProp props;
    sx_gpu_tune tune;
    cudaMemPool_t pool = NULL;
    cudaError_t e;
    void *memory;
    sx_gpu *g;
    sx_status st = gpu_process(err);

    if (st != SX_OK)
        return st;
    e = cudaGetDeviceCount(&count);
    if (e != cudaSuccess)
        return sx_fail(err, SX_ENODEV, "no device 'cuda:%.40s': CUDA says: %s", args[0] ? args : "0",
                       cudaGetErrorString(e));
    if (args[0] >= '0' && args[0] <= '9') {
        long n = strtol(args, &end, 10);
        if ((*end && *end != ',') || n >= count)
            return sx_fail(err, SX_ENODEV, "no device 'cuda:%.40s'; there %s %d, from cuda:0 on",
                           args, count == 1 ? "is" : "are", count);
        device = (int)n;
        if (*end == ',' && !end[1])
            return sx_fail(err, SX_EINVAL, "device 'cuda:%.40s' ends in a comma", args);
        end += *end == ',';
    }
    st = sx_gpu_tune_parse(&tune, end, "cuda", GPU_LAB, err);
    if (st != SX_OK)
        return st;
    e = cudaSetDevice(device);
    if (e == cudaSuccess)
        e = cudaGetDeviceProperties(&props, device);
    if (e == cudaSuccess)
        e = new_pool(&pool, device, props.totalGlobalMem, tune.memory);
    if (e != cudaSuccess) {
        if (pool)
            (void)cudaMemPoolDestroy(pool);
        (void)cudaGetLastError();
        return sx_fail(err, SX_ENODEV, "cuda:%d can't be used: %s", device, cudaGetErrorString(e));
    }
    st = sx_alloc_zero(&memory, sizeof *g, "a device", err);
    if (st != SX_OK) {
        (void)cudaMemPoolDestroy(pool);
        return st;
    }
    g = (sx_gpu *)memory;
    st = sx_pool_new(&g->pool, GPU_COPY_THREADS, 0, err);
    if (st != SX_OK) {
        (void)cudaMemPoolDestroy(pool);
        sx_release(g);
        return st;
    }
    g->device = device;
    g->multiprocessors = (unsigned)props.multiProcessorCount;
    g->resident = (unsigned)props.maxThreadsPerMultiProcessor / GPU_BLOCK_MOST * GPU_BLOCK_MOST;
    g->shared_bytes = props.sharedMemPerMultiprocessor;
    g->l2_bytes = (uint64_t)props.l2CacheSize;
    g->persist = set_persist(&props, &tune);
    g->tune = tune;
    g->memory = pool;
    pthread_mutex_init(&g->lock, NULL);
    pthread_mutex_init(&g->limit, NULL);
    *self = g;
    return SX_OK;
}

static void cuda_close(void *self)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_err err;

    if (gpu_enter(g, &err) == SX_OK) {    /* a child has none of it */
        gpu_settle();
        (void)gpu_give_up_idle(g);
        (void)cudaStreamSynchronize(cudaStreamPerThread);
        (void)cudaMemPoolDestroy(g->memory);
    }
    sx_pool_free(g->pool);
    pthread_mutex_destroy(&g->lock);
    pthread_mutex_destroy(&g->limit);
    sx_release(g);
}

static void cuda_describe(const void *self, sx_device_info *info)
{
    const sx_gpu *g = (const sx_gpu *)self;
    cudaDeviceProp props;
    sx_err err;

    snprintf(info->name, sizeof info->name, "cuda:%d", g->device);
    info->usable = gpu_process(&err) == SX_OK;
    info->threads = g->multiprocessors;
    info->memory = 0;
    if (!info->usable) {
        snprintf(info->detail, sizeof info->detail, "%.255s", err.text);
        return;
    }
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
    SX_BACKEND_ABI, "cuda", 1,
    {1, 32},                           /* a sector: measured faster than 64 and 16 */
    cuda_open, cuda_close, cuda_describe,
    gpu_backend_alloc, gpu_backend_release, gpu_backend_settle, gpu_backend_copy,
    gpu_backend_sort, gpu_backend_once, gpu_backend_build, gpu_backend_peak,
    gpu_backend_lookup, gpu_backend_spans, gpu_backend_fill,
    gpu_backend_take_strings, NULL, gpu_backend_text_scratch, gpu_backend_fold, gpu_backend_climb,
    cuda_use_allocator, cuda_check_pointer,
    gpu_backend_scratch, gpu_backend_unscratch, gpu_backend_sum_up, gpu_backend_offsets,
    gpu_backend_prefix_ends,
    gpu_backend_steps, gpu_backend_bucket, gpu_backend_pin, gpu_backend_unpin, gpu_backend_space,
    gpu_backend_search,
    gpu_backend_travel, gpu_backend_is_pinned, gpu_backend_peek,
};

extern "C" __attribute__((visibility("default"))) const sx_backend *sx_backend_entry(void)
{
    return &cuda_backend;
}
