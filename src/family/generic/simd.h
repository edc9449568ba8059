/* simd.h - what instruction sets differ in: how many of some consecutive keys
 * are below a query. By level, and width:
 *
 *   count_line_WIDTH_LEVEL(p, q)     the 64/WIDTH keys of one line
 *   count_WIDTH_LEVEL(p, m, q)       m keys; reads no byte behind them
 *
 * p need not be aligned. Instruction sets are chosen by function attribute,
 * so that every file compiles with the plain compiler flags. */
#ifndef SX_SIMD_H
#define SX_SIMD_H

#include "keys/encode.h"

#include <string.h>

#define SX_INLINE static inline __attribute__((always_inline))

#define LOADER(w)                                          \
    SX_INLINE sx_key##w load_##w(const void *p)            \
    {                                                      \
        sx_key##w k;                                       \
        memcpy(&k, p, sizeof k);                           \
        return k;                                          \
    }
LOADER(4)
LOADER(8)
LOADER(16)
#undef LOADER

#define SCALAR(w)                                                              \
    SX_INLINE unsigned count_##w##_scalar(const void *p, uint32_t m, sx_key##w q) \
    {                                                                          \
        const unsigned char *c = p;                                            \
        unsigned below = 0;                                                    \
        for (uint32_t i = 0; i < m; i++)                                       \
            below += load_##w(c + i * w) < q;                                  \
        return below;                                                          \
    }                                                                          \
    SX_INLINE unsigned count_line_##w##_scalar(const void *p, sx_key##w q)     \
    {                                                                          \
        return count_##w##_scalar(p, 64 / w, q);                               \
    }
SCALAR(4)
SCALAR(8)
SCALAR(16)
#undef SCALAR

#define SX_TARGET_scalar

#if defined(__x86_64__)
#define SX_HAVE_X86 1
#include <immintrin.h>

/* A 16-byte key is two elements of a vector, low half first. From the bits of
 * elements that are below, and that are equal, come the bits (at even places) of
 * keys that are below: high below, or high equal and low below. */
SX_INLINE unsigned wide_below(unsigned below, unsigned equal)
{
    return ((below >> 1) | ((equal >> 1) & below)) & 0x55u;
}

/* ---- AVX2 ---------------------------------------------------------------- */

#define SX_TARGET_avx2 __attribute__((target("avx2,bmi,bmi2,popcnt")))

SX_TARGET_avx2 SX_INLINE __m256i load256(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Elements 0..m-1 of 4 bytes, of which there are 8, as a mask for maskload. */
SX_TARGET_avx2 SX_INLINE __m256i first_lanes(int m)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(m),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* Bits of the elements whose key is not below: max(key, q) == key. */
SX_TARGET_avx2 SX_INLINE unsigned not_below_4(__m256i keys, __m256i q)
{
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(
        _mm256_cmpeq_epi32(_mm256_max_epu32(keys, q), keys)));
}

SX_TARGET_avx2 SX_INLINE unsigned count_line_4_avx2(const void *p, sx_key4 q)
{
    const unsigned char *c = p;
    __m256i x = _mm256_set1_epi32((int)q);
    unsigned bits = not_below_4(load256(c), x) | not_below_4(load256(c + 32), x) << 8;

    return 16 - (unsigned)__builtin_popcount(bits);
}

SX_TARGET_avx2 SX_INLINE unsigned count_4_avx2(const void *p, uint32_t m, sx_key4 q)
{
    const unsigned char *c = p;
    __m256i x = _mm256_set1_epi32((int)q);
    unsigned below = 0;

    for (; m >= 8; m -= 8, c += 32)
        below += 8 - (unsigned)__builtin_popcount(not_below_4(load256(c), x));
    if (m) {
        __m256i keys = _mm256_maskload_epi32((const int *)(const void *)c, first_lanes((int)m));
        below += (unsigned)__builtin_popcount(~not_below_4(keys, x) & ((1u << m) - 1));
    }
    return below;
}

/* Unsigned order by signed comparison: flip the sign bits. */
SX_TARGET_avx2 SX_INLINE __m256i flip8(__m256i x)
{
    return _mm256_xor_si256(x, _mm256_set1_epi64x((long long)0x8000000000000000u));
}

SX_TARGET_avx2 SX_INLINE unsigned below_8(__m256i keys, __m256i q_flipped)
{
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(
        _mm256_cmpgt_epi64(q_flipped, flip8(keys))));
}

SX_TARGET_avx2 SX_INLINE unsigned count_line_8_avx2(const void *p, sx_key8 q)
{
    const unsigned char *c = p;
    __m256i x = flip8(_mm256_set1_epi64x((long long)q));

    return (unsigned)__builtin_popcount(below_8(load256(c), x) |
                                        below_8(load256(c + 32), x) << 4);
}

SX_TARGET_avx2 SX_INLINE unsigned count_8_avx2(const void *p, uint32_t m, sx_key8 q)
{
    const unsigned char *c = p;
    __m256i x = flip8(_mm256_set1_epi64x((long long)q));
    unsigned below = 0;

    for (; m >= 4; m -= 4, c += 32)
        below += (unsigned)__builtin_popcount(below_8(load256(c), x));
    if (m) {
        __m256i keys = _mm256_maskload_epi64((const long long *)(const void *)c,
                                             first_lanes((int)m * 2));
        below += (unsigned)__builtin_popcount(below_8(keys, x) & ((1u << m) - 1));
    }
    return below;
}

SX_TARGET_avx2 SX_INLINE unsigned below_16(__m256i keys, __m256i q, __m256i q_flipped)
{
    unsigned equal = (unsigned)_mm256_movemask_pd(
        _mm256_castsi256_pd(_mm256_cmpeq_epi64(keys, q)));

    return wide_below(below_8(keys, q_flipped), equal);
}

SX_TARGET_avx2 SX_INLINE __m256i spread_16(sx_key16 q)
{
    return _mm256_set_epi64x((long long)(uint64_t)(q >> 64), (long long)(uint64_t)q,
                             (long long)(uint64_t)(q >> 64), (long long)(uint64_t)q);
}

SX_TARGET_avx2 SX_INLINE unsigned count_line_16_avx2(const void *p, sx_key16 q)
{
    const unsigned char *c = p;
    __m256i x = spread_16(q), f = flip8(x);

    return (unsigned)__builtin_popcount(below_16(load256(c), x, f) |
                                        below_16(load256(c + 32), x, f) << 4);
}

SX_TARGET_avx2 SX_INLINE unsigned count_16_avx2(const void *p, uint32_t m, sx_key16 q)
{
    const unsigned char *c = p;
    __m256i x = spread_16(q), f = flip8(x);
    unsigned below = 0;

    for (; m >= 2; m -= 2, c += 32)
        below += (unsigned)__builtin_popcount(below_16(load256(c), x, f));
    return below + (m && load_16(c) < q);
}

/* ---- AVX-512 ---------------------------------------------------------------- */

#define SX_TARGET_avx512 __attribute__((target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))

SX_TARGET_avx512 SX_INLINE unsigned count_line_4_avx512(const void *p, sx_key4 q)
{
    return (unsigned)__builtin_popcount(
        _mm512_cmplt_epu32_mask(_mm512_loadu_si512(p), _mm512_set1_epi32((int)q)));
}

SX_TARGET_avx512 SX_INLINE unsigned count_4_avx512(const void *p, uint32_t m, sx_key4 q)
{
    const unsigned char *c = p;
    __m512i x = _mm512_set1_epi32((int)q);
    unsigned below = 0;

    for (; m > 16; m -= 16, c += 64)
        below += (unsigned)__builtin_popcount(
            _mm512_cmplt_epu32_mask(_mm512_loadu_si512(c), x));
    __mmask16 some = (__mmask16)((1u << m) - 1);
    return below + (unsigned)__builtin_popcount(_mm512_mask_cmplt_epu32_mask(
                       some, _mm512_maskz_loadu_epi32(some, c), x));
}

SX_TARGET_avx512 SX_INLINE unsigned count_line_8_avx512(const void *p, sx_key8 q)
{
    return (unsigned)__builtin_popcount(
        _mm512_cmplt_epu64_mask(_mm512_loadu_si512(p), _mm512_set1_epi64((long long)q)));
}

SX_TARGET_avx512 SX_INLINE unsigned count_8_avx512(const void *p, uint32_t m, sx_key8 q)
{
    const unsigned char *c = p;
    __m512i x = _mm512_set1_epi64((long long)q);
    unsigned below = 0;

    for (; m > 8; m -= 8, c += 64)
        below += (unsigned)__builtin_popcount(
            _mm512_cmplt_epu64_mask(_mm512_loadu_si512(c), x));
    __mmask8 some = (__mmask8)((1u << m) - 1);
    return below + (unsigned)__builtin_popcount(_mm512_mask_cmplt_epu64_mask(
                       some, _mm512_maskz_loadu_epi64(some, c), x));
}

SX_TARGET_avx512 SX_INLINE unsigned count_16_masked(const void *p, __mmask8 some, __m512i x)
{
    __m512i keys = _mm512_maskz_loadu_epi64(some, p);

    return (unsigned)__builtin_popcount(
        wide_below(_mm512_mask_cmplt_epu64_mask(some, keys, x),
                   _mm512_mask_cmpeq_epu64_mask(some, keys, x)));
}

SX_TARGET_avx512 SX_INLINE __m512i spread_16x4(sx_key16 q)
{
    return _mm512_broadcast_i64x2(_mm_set_epi64x((long long)(uint64_t)(q >> 64),
                                                 (long long)(uint64_t)q));
}

SX_TARGET_avx512 SX_INLINE unsigned count_line_16_avx512(const void *p, sx_key16 q)
{
    return count_16_masked(p, 0xff, spread_16x4(q));
}

SX_TARGET_avx512 SX_INLINE unsigned count_16_avx512(const void *p, uint32_t m, sx_key16 q)
{
    const unsigned char *c = p;
    __m512i x = spread_16x4(q);
    unsigned below = 0;

    for (; m > 4; m -= 4, c += 64)
        below += count_16_masked(c, 0xff, x);
    return below + count_16_masked(c, (__mmask8)((1u << 2 * m) - 1), x);
}
#endif /* x86-64 */

#endif
