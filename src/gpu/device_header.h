/* sextant_device.cuh - asking an index from within a CUDA kernel, one thread
 * at a time: for kernels of your own that look things up on their way.
 *
 *     __global__ void k(const __grid_constant__ sx_handle h, ...)
 *     {
 *         uint64_t row = sx_device_get_u64(&h, key);
 *     }
 *     ...
 *     sx_handle h;                              // on the host, `ix` on cuda:N
 *     sx_kernel_handle(ix, &h, sizeof h);
 *     k<<<blocks, threads>>>(h, ...);
 *
 * A handle is plain data, less than 1 KiB, and goes by value. If it is a
 * __grid_constant__, no thread copies it. It is valid as long as the index is.
 * The functions wait for no other thread: any thread may call them in any
 * branch. Their names end in the type of the keys: u32 u64 i32 i64 t64 f32 f64,
 * or b16, where a key is a pointer to its 16 bytes.
 *
 *   uint64_t sx_device_count(h)
 *       How many keys the index has.
 *   uint64_t sx_device_get_u64(h, key)
 *       Row of the first key equal to `key`; SX_MISS: there is none.
 *   uint64_t sx_device_rank_u64(h, key, side)
 *       How many keys are below `key` (SX_LEFT), or below or equal (SX_RIGHT).
 *   uint64_t sx_device_range_u64(h, lo, hi, &start)
 *       How many keys are in lo <= key <= hi. They have the ranks from
 *       `start` on. start is set in any case.
 *   uint64_t sx_device_prefix_u64(h, key, bits, &start)
 *       The same for keys whose first bits are those of `key`. Floats and times have none.
 *   uint64_t sx_device_row_at(h, rank)
 *   uint64_t sx_device_key_at_u64(h, rank)
 *   void     sx_device_key_at_b16(h, rank, key)
 *       Row and key at a rank in ascending order. A rank past the end gives
 *       the row SX_MISS, and a key of zero bytes.
 *
 * A function of another type than the index's keys, or a handle of another
 * version, answers as if there were no keys: SX_MISS, 0.
 *
 * In C++ sx_keys<uint64_t>::get, rank, range and key_at are the same, for
 * kernels that are templates over the type of their keys (except b16).
 *
 * SX_DEVICE_FUNCTION is what stands in front of each function. Every one is
 * internal to its translation unit. Host code gets sx_handle and no function.
 * Of Sextant's files this one needs sextant.h and no other. */
#ifndef SEXTANT_DEVICE_CUH
#define SEXTANT_DEVICE_CUH

#include "sextant.h"

/* What goes in front of a function, unless an earlier header says it for another
 * compiler. */
#if defined(__CUDACC__) && !defined(SX_DEV)
#define SX_DEVICE_DIALECT
#define SX_FN static __host__ __device__ __forceinline__
#define SX_ENC SX_FN
#define SX_DEV static __device__ __forceinline__
#define SX_DEVICE_FUNCTION static __device__ __forceinline__
#elif defined(SX_DEV)
#define SX_DEVICE_FUNCTION SX_DEV
#endif

#define SX_HANDLE_VIEW            /* a view as a handle has it */
#include "family/view.h"

typedef sx_kernel_view sx_handle;

#ifdef SX_DEVICE_FUNCTION

#include <string.h>

#include "family/slots.h"

#ifdef SX_DEVICE_DIALECT
SX_DEV uint4 sx_load16(const void *p)
{
    return __ldg((const uint4 *)p);
}

SX_DEV uint4 sx_load16_any(const void *p)
{
    return *(const uint4 *)p;
}

#define SX_UNROLL _Pragma("unroll")
#define SX_SUM_BYTES(x, sum) __dp4a((uint32_t)(x), 0x01010101u, (uint32_t)(sum))
#define SX_LOW_BITS(bits) __funnelshift_lc(~0u, 0u, (uint32_t)(bits))
#endif

#pragma push_macro("W")
#pragma push_macro("F")
#pragma push_macro("KEY")
#undef W
#undef F
#undef KEY

#define W 4
#define F(name) sx_dev_##name##_4
#define KEY sx_key4
#include "gpu/device_walk_impl.h"
#undef W
#undef F
#undef KEY

#define W 8
#define F(name) sx_dev_##name##_8
#define KEY sx_key8
#include "gpu/device_walk_impl.h"
#undef W
#undef F
#undef KEY

#define W 16
#define F(name) sx_dev_##name##_16
#define KEY sx_key16
#include "gpu/device_walk_impl.h"
#undef W
#undef F
#undef KEY

#pragma pop_macro("KEY")
#pragma pop_macro("F")
#pragma pop_macro("W")

/* ---- of no type ---------------------------------------------------------------- */

/* This is the same for all threads, and costs a comparison of two words in constant
 * memory. */
SX_DEV int sx_handle_is(const sx_handle *h, int type)
{
    return h->version == SX_KERNEL_VIEW_VERSION && h->key_type == type;
}

SX_DEVICE_FUNCTION uint64_t sx_device_count(const sx_handle *h)
{
    return h->version == SX_KERNEL_VIEW_VERSION ? h->view.ranks : 0;
}

SX_DEVICE_FUNCTION uint64_t sx_device_row_at(const sx_handle *h, uint64_t rank)
{
    return rank < sx_device_count(h)
               ? sx_row_at(&h->view, sx_slot_of_rank(&h->view, sx_position_of(&h->view, rank)), rank)
               : SX_MISS;
}

/* ---- of each type --------------------------------------------------------------- */

/* get, rank and range. T is how a key is passed, `width` that of its unsigned key,
 * which encoded(key) makes. */
#define SX_DEVICE_ASK(TAG, name, T, width, encoded)                                             \
    SX_DEVICE_FUNCTION uint64_t sx_device_get_##name(const sx_handle *h, T key)                 \
    {                                                                                           \
        return sx_handle_is(h, TAG) ? sx_dev_get_##width(&h->view, encoded(key)) : SX_MISS;     \
    }                                                                                           \
    SX_DEVICE_FUNCTION uint64_t sx_device_rank_##name(const sx_handle *h, T key, sx_side side)  \
    {                                                                                           \
        return sx_handle_is(h, TAG) ? sx_dev_rank_##width(&h->view, encoded(key), side) : 0;    \
    }                                                                                           \
    SX_DEVICE_FUNCTION uint64_t sx_device_range_##name(const sx_handle *h, T lo, T hi,          \
                                                       uint64_t *start)                         \
    {                                                                                           \
        *start = 0;                                                                             \
        return sx_handle_is(h, TAG)                                                             \
                   ? sx_dev_range_##width(&h->view, encoded(lo), encoded(hi), start) : 0;       \
    }

/* The same for keys that have prefixes. */
#define SX_DEVICE_PREFIX(TAG, name, T, width, encoded)                                          \
    SX_DEVICE_FUNCTION uint64_t sx_device_prefix_##name(const sx_handle *h, T key,              \
                                                        uint32_t bits, uint64_t *start)         \
    {                                                                                           \
        *start = 0;                                                                             \
        return sx_handle_is(h, TAG)                                                             \
                   ? sx_dev_prefix_##width(&h->view, encoded(key), bits, start) : 0;            \
    }

/* The bits of a key as an unsigned number, and back. */
#define SX_DEVICE_TYPE(TAG, name, T, bits, width)                                               \
    SX_DEV bits sx_dev_encode_##name(T key)                                                     \
    {                                                                                           \
        bits b;                                                                                 \
        memcpy(&b, &key, sizeof b);                                                             \
        return sx_enc_##name(b);                                                                \
    }                                                                                           \
    SX_DEVICE_ASK(TAG, name, T, width, sx_dev_encode_##name)                                    \
    SX_DEVICE_FUNCTION T sx_device_key_at_##name(const sx_handle *h, uint64_t rank)             \
    {                                                                                           \
        bits b = 0;                                                                             \
        T key;                                                                                  \
        if (sx_handle_is(h, TAG) && rank < h->view.ranks)                                       \
            b = sx_dec_##name(sx_dev_key_##width(&h->view, rank));                              \
        memcpy(&key, &b, sizeof key);                                                           \
        return key;                                                                             \
    }

SX_DEVICE_TYPE(SX_U32, u32, uint32_t, uint32_t, 4)
SX_DEVICE_TYPE(SX_U64, u64, uint64_t, uint64_t, 8)
SX_DEVICE_TYPE(SX_I32, i32, int32_t, uint32_t, 4)
SX_DEVICE_TYPE(SX_I64, i64, int64_t, uint64_t, 8)
SX_DEVICE_TYPE(SX_T64, t64, int64_t, uint64_t, 8)
SX_DEVICE_TYPE(SX_F32, f32, float, uint32_t, 4)
SX_DEVICE_TYPE(SX_F64, f64, double, uint64_t, 8)

SX_DEVICE_PREFIX(SX_U32, u32, uint32_t, 4, sx_dev_encode_u32)
SX_DEVICE_PREFIX(SX_U64, u64, uint64_t, 8, sx_dev_encode_u64)
SX_DEVICE_PREFIX(SX_I32, i32, int32_t, 4, sx_dev_encode_i32)
SX_DEVICE_PREFIX(SX_I64, i64, int64_t, 8, sx_dev_encode_i64)

SX_DEV sx_key16 sx_dev_encode_b16(const void *key)
{
    return sx_enc_b16((const unsigned char *)key);
}

SX_DEVICE_ASK(SX_B16, b16, const void *, 16, sx_dev_encode_b16)
SX_DEVICE_PREFIX(SX_B16, b16, const void *, 16, sx_dev_encode_b16)

SX_DEVICE_FUNCTION void sx_device_key_at_b16(const sx_handle *h, uint64_t rank, void *key)
{
    int there = sx_handle_is(h, SX_B16) && rank < h->view.ranks;

    sx_dec_b16(there ? sx_dev_key_16(&h->view, rank) : 0, (unsigned char *)key);
}

#undef SX_DEVICE_TYPE
#undef SX_DEVICE_PREFIX
#undef SX_DEVICE_ASK

/* ---- of a type that a template names ------------------------------------------- */

#ifdef __cplusplus
template <typename T> struct sx_keys;

#define SX_DEVICE_KEYS(T, name)                                                                 \
    template <> struct sx_keys<T> {                                                             \
        SX_DEVICE_FUNCTION uint64_t get(const sx_handle *h, T key)                              \
        {                                                                                       \
            return sx_device_get_##name(h, key);                                                \
        }                                                                                       \
        SX_DEVICE_FUNCTION uint64_t rank(const sx_handle *h, T key, sx_side side)               \
        {                                                                                       \
            return sx_device_rank_##name(h, key, side);                                         \
        }                                                                                       \
        SX_DEVICE_FUNCTION uint64_t range(const sx_handle *h, T lo, T hi, uint64_t *start)      \
        {                                                                                       \
            return sx_device_range_##name(h, lo, hi, start);                                    \
        }                                                                                       \
        SX_DEVICE_FUNCTION T key_at(const sx_handle *h, uint64_t rank)                          \
        {                                                                                       \
            return sx_device_key_at_##name(h, rank);                                            \
        }                                                                                       \
    };

SX_DEVICE_KEYS(unsigned, u32)
SX_DEVICE_KEYS(unsigned long, u64)        /* uint64_t is one of them, */
SX_DEVICE_KEYS(unsigned long long, u64)   /* CUDA's atomics take the other */
SX_DEVICE_KEYS(int, i32)
SX_DEVICE_KEYS(long, i64)
SX_DEVICE_KEYS(long long, i64)
SX_DEVICE_KEYS(float, f32)
SX_DEVICE_KEYS(double, f64)
#undef SX_DEVICE_KEYS
#endif

#endif

#ifdef SX_DEVICE_DIALECT
#undef SX_LOW_BITS
#undef SX_SUM_BYTES
#undef SX_UNROLL
#undef SX_DEV
#undef SX_ENC
#undef SX_FN
#undef SX_DEVICE_DIALECT
#endif

#endif
