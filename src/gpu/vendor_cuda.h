/* vendor_cuda.h - all that differs between the dialects: CUDA's side.
 *
 * Kernels are written once, in the common subset of C11 and CUDA C++, and
 * compiled twice: by nvcc with this header and as host C with
 * vendor_simt.h. A kernel takes one struct:
 *
 *     SX_KERNEL(name, args_type) { ... ap->n ... }
 *     SX_LAUNCH(name, grid, block, stream, &args)
 */
#ifndef SX_VENDOR_CUDA_H
#define SX_VENDOR_CUDA_H

#include <cuda_runtime.h>
#include <stdint.h>

#define SX_FN static __host__ __device__ __forceinline__
#define SX_ENC static __host__ __device__ __forceinline__
#define SX_DEV static __device__ __forceinline__

#define SX_KERNEL(name, type) SX_KERNEL_(name, type)
#define SX_KERNEL_(name, type)                                             \
    static __device__ void name##_body(const type *ap);                    \
    static __global__ void name(const __grid_constant__ type args)         \
    {                                                                      \
        name##_body(&args);                                                \
    }                                                                      \
    static __device__ __forceinline__ void name##_body(const type *ap)

#define SX_LAUNCH(name, grid, block, stream, args) \
    name<<<(grid), (block), 0, (cudaStream_t)(stream)>>>(*(args))

#define SX_THREAD ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define SX_THREADS ((uint64_t)gridDim.x * blockDim.x)
#define SX_LANE (threadIdx.x & 31u)

typedef unsigned long long sx_word;      /* what 64-bit atomics take */

#define SX_SHUFFLE_XOR(v, lanes) __shfl_xor_sync(0xffffffffu, (v), (lanes))

/* 16 bytes at a 16-byte boundary, through the read-only path. */
SX_DEV uint4 sx_load16(const void *p)
{
    return __ldg((const uint4 *)p);
}

#endif
