/* vendor_simt.h - all that differs between the dialects: the emulator's
 * side (see vendor_cuda.h). */
#ifndef SX_VENDOR_SIMT_H
#define SX_VENDOR_SIMT_H

#include "gpu/simt.h"

#define SX_DEV static inline

#define SX_KERNEL(name, type) SX_KERNEL_(name, type)
#define SX_KERNEL_(name, type)                                             \
    static void name##_body(const type *ap);                               \
    static void name(const void *args)                                     \
    {                                                                      \
        name##_body((const type *)args);                                   \
    }                                                                      \
    static void name##_body(const type *ap)

#define SX_LAUNCH(name, grid, block, stream, args) \
    simt_launch(name, (args), (grid), (block))

#define SX_THREAD ((uint64_t)simt_self.block * simt_self.block_threads + simt_self.thread)
#define SX_THREADS ((uint64_t)simt_self.blocks * simt_self.block_threads)
#define SX_LANE (simt_self.thread & 31u)

typedef unsigned long long sx_word;

#define SX_SHUFFLE_XOR(v, lanes)                                           \
    ((__typeof__(v))simt_shuffle_xor(0xffffffffu, (uint64_t)(v), (lanes), __FILE__, __LINE__))

#define atomicMin(p, v) simt_atomic_min((p), (v))
#define atomicMax(p, v) simt_atomic_max((p), (v))

typedef struct {
    uint32_t x, y, z, w;
} uint4;

SX_DEV uint4 sx_load16(const void *p)
{
    uint4 v;

    simt_expect_aligned(p, 16, __FILE__, __LINE__);
    memcpy(&v, p, 16);
    return v;
}

#endif
