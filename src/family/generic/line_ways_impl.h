/* line_ways_impl.h - ways to count the keys of a line that are below q, to compare with (doc/LAB.md),
 * for one width and one instruction set. Where it is included, SX_VECTORS_LEVEL says of each
 * instruction set whether it has vectors.
 *
 *   sequential     key by key, until one is not below
 *   hierarchical   first the keys that end each part of the line, then one part: W = 8 has three
 *                  parts of 3, 3 and 2 keys, W = 4 four of 4, W = 16 two of 2 */

SX_WALK uint64_t F(count_sequential)(const unsigned char *p, uint32_t m, KEY q)
{
    uint32_t c = 0;

    while (c < m && SX_LOAD(p + c * W) < q)
        c++;
    return c;
}

/* Of the keys that end parts, those below q. */
SX_WALK uint64_t F(count_ends)(const unsigned char *p, KEY q)
{
#if W == 4 && NAME2(SX_VECTORS_, LEVEL)
    __m128i keys = _mm_setr_epi32((int)SX_LOAD(p + 12), (int)SX_LOAD(p + 28), (int)SX_LOAD(p + 44),
                                  (int)SX_LOAD(p + 60));
    __m128i not_below = _mm_cmpeq_epi32(_mm_max_epu32(keys, _mm_set1_epi32((int)q)), keys);

    return 4 - (uint64_t)__builtin_popcount((unsigned)_mm_movemask_ps(_mm_castsi128_ps(not_below)));
#elif W == 4
    return (uint64_t)(SX_LOAD(p + 12) < q) + (SX_LOAD(p + 28) < q) + (SX_LOAD(p + 44) < q) +
           (SX_LOAD(p + 60) < q);
#elif W == 8 && NAME2(SX_VECTORS_, LEVEL)
    __m128i sign = _mm_set1_epi64x((long long)0x8000000000000000u);
    __m128i keys = _mm_set_epi64x((long long)SX_LOAD(p + 40), (long long)SX_LOAD(p + 16));
    __m128i below = _mm_cmpgt_epi64(_mm_xor_si128(_mm_set1_epi64x((long long)q), sign),
                                    _mm_xor_si128(keys, sign));

    return (uint64_t)__builtin_popcount((unsigned)_mm_movemask_pd(_mm_castsi128_pd(below)));
#elif W == 8
    return (uint64_t)(SX_LOAD(p + 16) < q) + (SX_LOAD(p + 40) < q);
#else
    return SX_LOAD(p + 16) < q;
#endif
}

SX_WALK uint64_t F(count_hierarchical)(const unsigned char *p, KEY q)
{
    uint64_t part = F(count_ends)(p, q);

#if W == 4
    return part == 4 ? 16 : 4 * part + SX_COUNT(p + part * 16, 3, q);
#elif W == 8
    return 3 * part + SX_COUNT(p + part * 24, 2, q);
#else
    return 2 * part + (SX_LOAD(p + part * 32) < q) + (part ? SX_LOAD(p + 48) < q : 0);
#endif
}
