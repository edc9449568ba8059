/* bench_kernels_cuda.cu - the kernels of bench_kernels.h on NVIDIA GPUs, built
 * by nvcc into libsextant-bench-cuda.so.
 *
 * Blocks, stream and memory are chosen as the library's backend chooses them
 * for its own kernels, and the sort is the very unit it sorts with. So the
 * figures can be compared. */
#include "gpu/vendor_cuda.h"

#include <stdio.h>

#include "bench_kernels.h"
#include "gpu/sort_cuda.h"
#include "sextant.h"

#include "bench_kernels_impl.h"

#define BLOCK 256u
#define STREAM cudaStreamPerThread
#define REST_BYTES (32ull << 20)  /* that the pool may keep */

static struct {
    int device;
    unsigned multiprocessors;
    cudaMemPool_t pool;
} gpu;

static const char *failed(cudaError_t e, const char *doing)
{
    static char text[256];

    (void)cudaGetLastError();     /* or the next call would find it again */
    snprintf(text, sizeof text, "CUDA, %s: %s", doing, cudaGetErrorString(e));
    return text;
}

/* The pool keeps an eighth of the device's memory between two sorts, as the
 * backend's does, so that only the first one waits for memory. */
static const char *cuda_open(int device)
{
    cudaMemPoolProps wanted = {};
    cudaDeviceProp props;
    cudaError_t e = cudaSetDevice(device);

    if (e == cudaSuccess)
        e = cudaGetDeviceProperties(&props, device);
    if (e == cudaSuccess) {
        wanted.allocType = cudaMemAllocationTypePinned;
        wanted.location.type = cudaMemLocationTypeDevice;
        wanted.location.id = device;
        e = cudaMemPoolCreate(&gpu.pool, &wanted);
    }
    if (e == cudaSuccess) {
        uint64_t keep = props.totalGlobalMem / 8;

        gpu.device = device;
        gpu.multiprocessors = (unsigned)props.multiProcessorCount;
        e = cudaMemPoolSetAttribute(gpu.pool, cudaMemPoolAttrReleaseThreshold,
                                    &keep);
    }
    return e == cudaSuccess ? NULL : failed(e, "choosing the device");
}

static unsigned grid_for(uint64_t threads)
{
    uint64_t blocks = (threads + BLOCK - 1) / BLOCK;
    uint64_t most = (uint64_t)gpu.multiprocessors * 64;

    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

static const char *sort(const measure_job *job)
{
    sx_cuda_pairs pairs = {job->width, job->row_bytes, job->n, job->keys,
                           job->rows, job->keys_out, job->rows_out};
    size_t bytes = 0;
    void *scratch = NULL;
    cudaError_t e = sx_cuda_sort(NULL, &bytes, &pairs, STREAM);

    if (e == cudaSuccess)
        e = cudaMallocFromPoolAsync(&scratch, bytes ? bytes : 1, gpu.pool,
                                    STREAM);
    if (e == cudaSuccess)
        e = sx_cuda_sort(scratch, &bytes, &pairs, STREAM);
    if (scratch)
        (void)cudaFreeAsync(scratch, STREAM);
    return e == cudaSuccess ? NULL : failed(e, "sorting");
}

/* Times the job between two events; without them ns stays 0. */
static const char *run_timed(measure_job *job, sx_word *found)
{
    cudaEvent_t begin = NULL, end = NULL;
    const char *why = NULL;
    cudaError_t e;
    float ms = 0;

    if (cudaEventCreate(&begin) != cudaSuccess ||
        cudaEventCreate(&end) != cudaSuccess)
        (void)cudaGetLastError();
    else
        (void)cudaEventRecord(begin, STREAM);
    if (job->what == MEASURE_SORT)
        why = sort(job);
    else
        launch(job, found, grid_for(job->queries), BLOCK, STREAM);
    e = cudaGetLastError();
    if (end)
        (void)cudaEventRecord(end, STREAM);
    if (e == cudaSuccess && found)
        e = cudaMemcpyAsync(&job->found, found, sizeof *found,
                            cudaMemcpyDefault, STREAM);
    if (e == cudaSuccess)
        e = cudaStreamSynchronize(STREAM);
    if (!why && e != cudaSuccess)
        why = failed(e, "measuring");
    if (!why && end && cudaEventElapsedTime(&ms, begin, end) == cudaSuccess)
        job->ns = (uint64_t)(ms * 1e6f);
    if (begin)
        (void)cudaEventDestroy(begin);
    if (end)
        (void)cudaEventDestroy(end);
    return why;
}

static const char *cuda_run(measure_job *job)
{
    void *found = NULL;
    const char *why;
    cudaError_t e = cudaSetDevice(gpu.device);

    job->ns = job->found = 0;
    if (e == cudaSuccess && job->what == MEASURE_DIFFER)
        e = cudaMallocFromPoolAsync(&found, sizeof(sx_word), gpu.pool, STREAM);
    if (e == cudaSuccess && found)
        e = cudaMemsetAsync(found, 0, sizeof(sx_word), STREAM);
    why = e == cudaSuccess ? run_timed(job, (sx_word *)found)
                           : failed(e, "counting");
    if (found)
        (void)cudaFreeAsync(found, STREAM);
    return why;
}

static void cuda_rest(void)
{
    (void)cudaMemPoolTrimTo(gpu.pool, REST_BYTES);
}

/* In the order of bench_kernels. */
static const bench_kernels cuda_kernels = {
    BENCH_KERNELS_ABI, cuda_open, cuda_run, cuda_rest,
};

extern "C" __attribute__((visibility("default")))
const bench_kernels *bench_kernels_entry(void)
{
    return &cuda_kernels;
}
