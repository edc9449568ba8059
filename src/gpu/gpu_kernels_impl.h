/* gpu_kernels_impl.h - the kernels for one width of key.
 *
 * Parameter: W (4, 8, 16). Written in the common subset of C11 and CUDA
 * C++, over vendor_cuda.h or vendor_simt.h. */

#define NAME3_(a, b) a##_##b
#define NAME3(a, b) NAME3_(a, b)
#define F(name) NAME3(name, W)
#ifndef NAME5
#define NAME5_(a, b, c, d) a##_##b##_##c##_##d
#define NAME5(a, b, c, d) NAME5_(a, b, c, d)
#endif
#define NAME2_(a, b) a##b
#define NAME2(a, b) NAME2_(a, b)
#define KEY NAME2(sx_key, W)
#include "gpu/gpu_walk_impl.h"

/* ---- keys in columns ------------------------------------------------------- */

SX_DEV KEY F(read_key)(int type, const void *column, uint64_t i)
{
#if W == 4
    uint32_t b = ((const uint32_t *)column)[i];
    return type == SX_U32 ? b : type == SX_I32 ? sx_enc_i32(b) : sx_enc_f32(b);
#elif W == 8
    uint64_t b = ((const uint64_t *)column)[i];
    return type == SX_U64 ? b : type == SX_I64 ? sx_enc_i64(b) : sx_enc_f64(b);
#else
    (void)type;
    return sx_enc_b16((const unsigned char *)column + i * 16);
#endif
}

/* The same, of questions, which are read once. */
SX_DEV KEY F(read_query)(int type, const void *column, uint64_t i)
{
#if W == 4
    uint32_t b = SX_STREAM_LOAD((const uint32_t *)column + i);
    return type == SX_U32 ? b : type == SX_I32 ? sx_enc_i32(b) : sx_enc_f32(b);
#elif W == 8
    uint64_t b = SX_STREAM_LOAD((const uint64_t *)column + i);
    return type == SX_U64 ? b : type == SX_I64 ? sx_enc_i64(b) : sx_enc_f64(b);
#else
    return F(read_key)(type, column, i);
#endif
}

SX_DEV void F(write_key)(int type, void *column, uint64_t i, KEY k)
{
#if W == 4
    ((uint32_t *)column)[i] = type == SX_U32 ? k : type == SX_I32 ? sx_dec_i32(k) : sx_dec_f32(k);
#elif W == 8
    ((uint64_t *)column)[i] = type == SX_U64 ? k : type == SX_I64 ? sx_dec_i64(k) : sx_dec_f64(k);
#else
    (void)type;
    sx_dec_b16(k, (unsigned char *)column + i * 16);
#endif
}

/* SX_SHUFFLE() of a key. */
SX_DEV KEY F(shuffle_key)(KEY k, unsigned lane)
{
#if W == 16
    uint64_t low = SX_SHUFFLE((uint64_t)k, lane), high = SX_SHUFFLE((uint64_t)(k >> 64), lane);

    return (KEY)high << 64 | low;
#else
    return SX_SHUFFLE(k, lane);
#endif
}

#include "gpu/gpu_points_impl.h"
#include "gpu/gpu_shared_impl.h"
#include "gpu/gpu_hint_impl.h"
#include "gpu/gpu_ranges_impl.h"
#include "gpu/gpu_make_impl.h"

/* Blocks of the sorting kernels: 1024 or 2048 questions. */
#define BLOCK 128
#define ITEMS 8
#include "gpu/gpu_reorder_impl.h"
#undef ITEMS
#define ITEMS 16
#include "gpu/gpu_reorder_impl.h"
#undef ITEMS
#undef BLOCK
#define BLOCK 256
#define ITEMS 4
#include "gpu/gpu_reorder_impl.h"
#undef ITEMS
#define ITEMS 8
#include "gpu/gpu_reorder_impl.h"
#undef ITEMS
#undef BLOCK
#define BLOCK 512
#define ITEMS 2
#include "gpu/gpu_reorder_impl.h"
#undef ITEMS
#define ITEMS 4
#include "gpu/gpu_reorder_impl.h"
#undef ITEMS
#undef BLOCK
#define BLOCK 1024
#define ITEMS 1
#include "gpu/gpu_reorder_impl.h"
#undef ITEMS
#define ITEMS 2
#include "gpu/gpu_reorder_impl.h"
#undef ITEMS
#undef BLOCK

#undef KEY
#undef F
