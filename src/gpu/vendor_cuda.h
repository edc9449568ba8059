/* vendor_cuda.h - all that differs between the dialects: CUDA's side.
 *
 * Kernels are written once, in the common subset of C11 and CUDA C++, and
 * compiled twice: by nvcc with this header and as host C with
 * vendor_simt.h. A kernel takes one struct:
 *
 *     SX_KERNEL(name, args_type) { ... ap->n ... }
 *     SX_LAUNCH(name, grid, block, shared_bytes, stream, &args)
 *
 * Blocks are whole warps. Inside a kernel:
 *
 *   SX_TID, SX_BLOCK_THREADS   this thread in its block, how many there are
 *   SX_BLOCK, SX_BLOCKS        this block, how many there are
 *   SX_THREAD, SX_THREADS      this thread of all, how many there are
 *   SX_SHARED                  the block's shared memory, at a 16-byte boundary
 *   SX_BARRIER()               for all threads of the block that are left
 *   SX_FENCE()                 what this thread wrote before it, others of the GPU see before
 *                              what it writes after it; _HOST: the host, too
 *
 * and, for all 32 lanes of a warp at once (none may have left), or with _IN
 * for all lanes of a mask:
 *
 *   SX_WARP_SYNC()             what lanes wrote before it, others see after it
 *   SX_SHUFFLE(v, lane)        v of that lane
 *   SX_SHUFFLE_XOR(v, lanes)   v of lane SX_LANE ^ lanes
 *   SX_BALLOT(pred)            the set of lanes where pred is true
 *   SX_ANY(pred)               whether it is true in any lane
 *
 * Values are integers of up to 64 bits. Atomics are CUDA's: atomicMin, Max
 * and Add on sx_word. */
#ifndef SX_VENDOR_CUDA_H
#define SX_VENDOR_CUDA_H

#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>

#define SX_FN static __host__ __device__ __forceinline__
#define SX_ENC static __host__ __device__ __forceinline__
#define SX_DEV static __device__ __forceinline__
#define SX_DEV_FAR static __device__ __noinline__

/* SX_KERNEL_1024 is for blocks of up to 1024 threads. So is SX_KERNEL_2048, and
 * 2048 of its threads are on a multiprocessor at a time, if it has that many.
 * SX_KERNEL_1536 is for blocks of up to 512, with 1536 threads at a time. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ >= 900)
#define SX_BLOCKS_OF_2048 2
#else
#define SX_BLOCKS_OF_2048 1
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define SX_BLOCKS_OF_1536 3
#else
#define SX_BLOCKS_OF_1536 2
#endif
#define SX_KERNEL(name, type) SX_KERNEL_(name, type, )
#define SX_KERNEL_1024(name, type) SX_KERNEL_(name, type, __launch_bounds__(1024))
#define SX_KERNEL_1536(name, type) \
    SX_KERNEL_(name, type, __launch_bounds__(512, SX_BLOCKS_OF_1536))
#define SX_KERNEL_2048(name, type) \
    SX_KERNEL_(name, type, __launch_bounds__(1024, SX_BLOCKS_OF_2048))
#define SX_KERNEL_(name, type, bounds)                                     \
    static __device__ void name##_body(const type *ap);                    \
    static __global__ void bounds name(const __grid_constant__ type args)  \
    {                                                                      \
        name##_body(&args);                                                \
    }                                                                      \
    static __device__ __forceinline__ void name##_body(const type *ap)

/* top, top_bytes: what the kernel reads most, to be kept in L2 as far as the device
 * has space set aside for that. NULL and 0: nothing. */
#define SX_LAUNCH_TOP(name, grid, block, shared_bytes, stream, args, top, top_bytes) \
    sx_launch(name, (grid), (block), (shared_bytes), (cudaStream_t)(stream), (args), (top), \
              (top_bytes))
#define SX_LAUNCH(name, grid, block, shared_bytes, stream, args) \
    SX_LAUNCH_TOP(name, grid, block, shared_bytes, stream, args, NULL, 0)

/* A kernel has to ask for more shared memory than it gets by itself; a little is always there. Its
 * limit holds for all threads, so it is only ever raised. */
#define SX_SHARED_UNASKED 1024u
static void sx_allow_shared(const void *kernel, int bytes)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    cudaFuncAttributes has;

    pthread_mutex_lock(&lock);
    if (cudaFuncGetAttributes(&has, kernel) == cudaSuccess && has.maxDynamicSharedSizeBytes < bytes)
        (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    pthread_mutex_unlock(&lock);
}

/* Errors show in cudaGetLastError(). */
template <class type>
static void sx_launch(void (*kernel)(type), unsigned grid, unsigned block, size_t shared_bytes,
                      cudaStream_t stream, const type *args, const void *top, size_t top_bytes)
{
    cudaLaunchAttribute window = {};
    cudaLaunchConfig_t config = {};

    if (shared_bytes > SX_SHARED_UNASKED)
        sx_allow_shared((const void *)kernel, (int)shared_bytes);
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    if (top_bytes > 0) {
        window.id = cudaLaunchAttributeAccessPolicyWindow;
        window.val.accessPolicyWindow.base_ptr = (void *)top;
        window.val.accessPolicyWindow.num_bytes = top_bytes;
        window.val.accessPolicyWindow.hitRatio = 1.0f;
        window.val.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
        window.val.accessPolicyWindow.missProp = cudaAccessPropertyNormal;
        config.attrs = &window;
        config.numAttrs = 1;
    }
    (void)cudaLaunchKernelEx(&config, kernel, *args);
}

/* Before a loop whose number of turns is known. */
#define SX_UNROLL _Pragma("unroll")
#define SX_UNROLL_BY_4 _Pragma("unroll 4")

#define SX_TID threadIdx.x
#define SX_BLOCK blockIdx.x
#define SX_BLOCK_THREADS blockDim.x
#define SX_BLOCKS gridDim.x
#define SX_THREAD ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define SX_THREADS ((uint64_t)gridDim.x * blockDim.x)
#define SX_LANE (threadIdx.x & 31u)

extern __shared__ __align__(16) unsigned char sx_shared[];
#define SX_SHARED ((unsigned char *)sx_shared)

typedef unsigned long long sx_word;      /* what 64-bit atomics take */

#define SX_BARRIER() __syncthreads()
#define SX_FENCE() __threadfence()
#define SX_FENCE_HOST() __threadfence_system()
#define SX_WARP_SYNC() __syncwarp(0xffffffffu)
#define SX_SHUFFLE(v, lane) SX_SHUFFLE_IN(0xffffffffu, (v), (lane))
#define SX_SHUFFLE_IN(mask, v, lane) ((__typeof__(v))__shfl_sync((mask), (v), (lane)))
#define SX_SHUFFLE_XOR(v, lanes) ((__typeof__(v))__shfl_xor_sync(0xffffffffu, (v), (lanes)))
#define SX_BALLOT(pred) SX_BALLOT_IN(0xffffffffu, (pred))
#define SX_BALLOT_IN(mask, pred) __ballot_sync((mask), !!(pred))
#define SX_ANY(pred) __any_sync(0xffffffffu, !!(pred))
#define SX_POPC(x) ((unsigned)__popc(x))
#define SX_CLZ(x) ((unsigned)__clz((int)(x)))      /* leading zeros; x is not 0 */
/* The sum of four bytes and `sum`; a number whose lowest bits are set, up to all 32. */
#define SX_SUM_BYTES(x, sum) __dp4a((uint32_t)(x), 0x01010101u, (uint32_t)(sum))
#define SX_LOW_BITS(bits) __funnelshift_lc(~0u, 0u, (uint32_t)(bits))

/* 16 or 8 bytes at a boundary of as many, through the read-only path. */
SX_DEV uint4 sx_load16(const void *p)
{
    return __ldg((const uint4 *)p);
}

/* The same from memory that may be shared. */
SX_DEV uint4 sx_load16_any(const void *p)
{
    return *(const uint4 *)p;
}

/* The same for bytes that are hardly read again soon: they are the first to leave
 * L2, so that bytes that are read often stay. */
SX_DEV uint4 sx_load16_once(const void *p)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint4 v;
    uint64_t policy;

    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p), "l"(policy));
    return v;
#else
    return __ldg((const uint4 *)p);
#endif
}

SX_DEV uint2 sx_load8(const void *p)
{
    return __ldg((const uint2 *)p);
}

/* Numbers that are read or written once, and should not push other data out of the
 * caches: uint32_t or uint64_t. */
#define SX_STREAM_LOAD(p) sx_stream_load(p)
#define SX_STREAM_STORE(p, v) sx_stream_store((p), (v))

SX_DEV uint32_t sx_stream_load(const uint32_t *p)
{
    return __ldcs(p);
}

SX_DEV uint64_t sx_stream_load(const uint64_t *p)
{
    return __ldcs((const unsigned long long *)p);
}

SX_DEV void sx_stream_store(uint32_t *p, uint32_t v)
{
    __stcs(p, v);
}

SX_DEV void sx_stream_store(uint64_t *p, uint64_t v)
{
    __stcs((unsigned long long *)p, (unsigned long long)v);
}

#endif
