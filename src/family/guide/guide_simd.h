/* guide_simd.h - sx_record_window() by instruction set: it adds up the bytes of a
 * record before one of them. */
#ifndef SX_GUIDE_SIMD_H
#define SX_GUIDE_SIMD_H

#include "family/generic/simd.h"
#include "family/guide/guide.h"

SX_INLINE uint64_t record_window_scalar(const unsigned char *p, uint32_t j, uint32_t *count)
{
    return sx_record_window(p, j, count);
}

#ifdef SX_HAVE_X86
/* Where the keys of cell j begin. `counts` has the bytes that are before j, and zeros. */
SX_TARGET_avx2 SX_INLINE uint64_t record_begin(const unsigned char *p, uint32_t j, __m256i counts,
                                               uint32_t *count)
{
    __m256i sums = _mm256_sad_epu8(counts, _mm256_setzero_si256());
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    uint64_t before = (uint64_t)(_mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1)), begin;

    memcpy(&begin, p, sizeof begin);
    *count = p[SX_GUIDE_HEAD + j];
    return (begin & 0xffffffffffffu) + (*count == SX_GUIDE_CROWDED ? 0 : before);
}

SX_TARGET_avx2 SX_INLINE uint64_t record_window_avx2(const unsigned char *p, uint32_t j,
                                                     uint32_t *count)
{
    __m256i at = _mm256_setr_epi8(127, 127, 127, 127, 127, 127, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                  11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25);
    __m256i before = _mm256_cmpgt_epi8(_mm256_set1_epi8((char)j), at);

    return record_begin(p, j, _mm256_and_si256(load256(p), before), count);
}

SX_TARGET_avx512 SX_INLINE uint64_t record_window_avx512(const unsigned char *p, uint32_t j,
                                                         uint32_t *count)
{
    __mmask32 before = (__mmask32)(((1ull << (SX_GUIDE_HEAD + j)) - 1) & ~0x3full);

    return record_begin(p, j, _mm256_maskz_loadu_epi8(before, p), count);
}
#endif

#endif
