/* vendor_simt.h - all that differs between the dialects: the emulator's
 * side (see vendor_cuda.h). */
#ifndef SX_VENDOR_SIMT_H
#define SX_VENDOR_SIMT_H

#include "gpu/simt.h"

#define SX_DEV static inline
#define SX_DEV_FAR static

#define SX_KERNEL(name, type) SX_KERNEL_(name, type)
#define SX_KERNEL_1024(name, type) SX_KERNEL_(name, type)
#define SX_KERNEL_1536(name, type) SX_KERNEL_(name, type)
#define SX_KERNEL_2048(name, type) SX_KERNEL_(name, type)
#define SX_KERNEL_(name, type)                                             \
    static void name##_body(const type *ap);                               \
    static void name(const void *args)                                     \
    {                                                                      \
        name##_body((const type *)args);                                   \
    }                                                                      \
    static void name##_body(const type *ap)

#define SX_LAUNCH_TOP(name, grid, block, shared_bytes, stream, args, top, top_bytes) \
    ((void)(top), (void)(top_bytes), SX_LAUNCH(name, grid, block, shared_bytes, stream, args))
#define SX_LAUNCH(name, grid, block, shared_bytes, stream, args) \
    ((void)(stream), simt_launch(name, (args), (grid), (block), (shared_bytes)))

/* Before a loop whose number of turns is known. */
#define SX_UNROLL 
#define SX_UNROLL_BY_4 

#define SX_TID (simt_self.thread)
#define SX_BLOCK (simt_self.block)
#define SX_BLOCK_THREADS (simt_self.block_threads)
#define SX_BLOCKS (simt_self.blocks)
#define SX_THREAD ((uint64_t)simt_self.block * simt_self.block_threads + simt_self.thread)
#define SX_THREADS ((uint64_t)simt_self.blocks * simt_self.block_threads)
#define SX_LANE (simt_self.thread & 31u)

#define SX_SHARED (simt_self.shared)

typedef unsigned long long sx_word;

#define SIMT_HERE __FILE__, __LINE__

#define SX_BARRIER() simt_barrier(SIMT_HERE)
#define SX_FENCE() ((void)0)      /* all see what a thread wrote at once */
#define SX_FENCE_HOST() ((void)0)
#define SX_WARP_SYNC() simt_warp_sync(SIMT_HERE)
#define SX_SHUFFLE(v, lane) SX_SHUFFLE_IN(0xffffffffu, v, lane)
#define SX_SHUFFLE_IN(mask, v, lane) \
    ((__typeof__(v))simt_shuffle((mask), (uint64_t)(v), (lane), SIMT_HERE))
#define SX_SHUFFLE_XOR(v, lanes) \
    ((__typeof__(v))simt_shuffle_xor(0xffffffffu, (uint64_t)(v), (lanes), SIMT_HERE))
#define SX_BALLOT(pred) SX_BALLOT_IN(0xffffffffu, pred)
#define SX_BALLOT_IN(mask, pred) simt_ballot((mask), !!(pred), SIMT_HERE)
#define SX_ANY(pred) (SX_BALLOT(pred) != 0)
#define SX_POPC(x) ((unsigned)__builtin_popcount(x))
#define SX_CLZ(x) ((unsigned)__builtin_clz(x))
#define SX_SUM_BYTES(x, sum) simt_sum_bytes((x), (sum))
#define SX_LOW_BITS(bits) ((bits) < 32 ? (1u << (bits)) - 1 : ~0u)

#define atomicMin(p, v) simt_atomic64(SIMT_ATOMIC_MIN, (p), (v))
#define atomicMax(p, v) simt_atomic64(SIMT_ATOMIC_MAX, (p), (v))
#define atomicAdd(p, v) simt_atomic64(SIMT_ATOMIC_ADD, (p), (v))

#define SX_BLOCK_SORT(BLOCK, ITEMS, keys, values, bits) \
    simt_block_sort((BLOCK), (ITEMS), (keys), (values), (bits), SIMT_HERE)

typedef struct {
    uint32_t x, y;
} uint2;

typedef struct {
    uint32_t x, y, z, w;
} uint4;

SX_DEV uint32_t simt_sum_bytes(uint32_t x, uint32_t sum)
{
    return sum + (x & 255) + (x >> 8 & 255) + (x >> 16 & 255) + (x >> 24);
}

/* Macros, so that a fault names the line of the kernel. */
#define sx_load16_once(p) sx_load16(p)
#define sx_load16_any(p) sx_load16(p)
#define sx_load16(p) sx_load16_at((p), SIMT_HERE)
#define sx_load8(p) sx_load8_at((p), SIMT_HERE)

SX_DEV uint4 sx_load16_at(const void *p, const char *file, int line)
{
    uint4 v;

    simt_expect_aligned(p, sizeof v, file, line);
    memcpy(&v, p, sizeof v);
    return v;
}

SX_DEV uint2 sx_load8_at(const void *p, const char *file, int line)
{
    uint2 v;

    simt_expect_aligned(p, sizeof v, file, line);
    memcpy(&v, p, sizeof v);
    return v;
}

#define SX_STREAM_LOAD(p) (*(p))
#define SX_STREAM_STORE(p, v) ((void)(*(p) = (v)))

#endif
