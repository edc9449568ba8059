/* cpu_marks.c - the string of each run that shares most with a query (keys/string_marks.h), for 32 runs
 * at a time.
 *
 * A search by marks takes a few instructions a mark, each of which waits for the one before, and how
 * many there are no processor can foretell. So 32 searches go on together, each in a byte of a vector:
 *
 *     1. of each run 32 marks, and where `least` goes at each: a row
 *
 *            marks | -| 9| 3|12|255| ...       behind the run's end SX_MARK_FAR, which nothing is above
 *            next  | -| 9|255|12|255| ...      SX_MARK_FAR if that bit of q is 1, or the mark
 *
 *     2. rows become columns, 16 by 16 bytes
 *     3. columns from left to right: where the mark is below `least`, that becomes `next`, and where this
 *        is SX_MARK_FAR, the string of this column takes the place of the last one
 *
 * Longer runs, and those at the end of their section or of the column of queries, are left to
 * sx_mark_nearest(), which says what is right. */
#include "cpu/cpu_strings.h"

#include "family/generic/simd.h"
#include "keys/string_marks.h"

static void nearest_one(const sx_strings *s, sx_run_search *r)
{
    sx_mark_bits q;

    r->at = r->lo;
    if (r->hi - r->lo > 1) {
        q = sx_mark_bits_of(r->q, r->length, r->same);
        r->at = sx_mark_nearest(s, r->lo, r->hi, &q);
    }
}

#ifdef SX_HAVE_X86
#define ROWS SX_SEARCHES
#define MOST 64u                  /* strings of a run */
#define LANE 16u                  /* bytes that instructions move about in */

_Static_assert(ROWS == 32, "a row for each byte of a vector");

typedef struct {
    _Alignas(32) unsigned char mark[ROWS][ROWS], next[ROWS][ROWS];
} rows;

/* Whether a row's bytes can be read: marks up to MOST, and 32 bytes of q. */
static inline int is_row(const sx_run_search *r, uint64_t n, const unsigned char *end)
{
    return r->hi - r->lo <= MOST && n - r->lo >= MOST && r->same <= r->length && end &&
           (uint64_t)(end - r->q) >= r->same + ROWS;
}

/* Step 1, from string `first` of the run on: of each mark's bit, first the byte of q, then the bit of
 * that. */
SX_TARGET_avx2 SX_INLINE void take_row(const sx_strings *s, const sx_run_search *r, unsigned first,
                                       rows *to, unsigned k)
{
    const __m256i number = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                                            17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    const __m256i bits = _mm256_set1_epi64x(0x0102040810204080);
    uint64_t left = r->length - r->same;
    int last = (int)(r->hi - r->lo) - 1 - (int)first;
    __m256i marks = load256(s->marks + r->lo + first), q = load256(r->q + r->same), byte, bit, one;
    __m256i at = _mm256_and_si256(_mm256_srli_epi16(marks, 3), _mm256_set1_epi8(31));

    q = _mm256_and_si256(q, _mm256_cmpgt_epi8(_mm256_set1_epi8((char)(left < ROWS ? left : ROWS)),
                                              number));
    byte = _mm256_blendv_epi8(_mm256_shuffle_epi8(_mm256_permute2x128_si256(q, q, 0x00), at),
                              _mm256_shuffle_epi8(_mm256_permute2x128_si256(q, q, 0x11), at),
                              _mm256_slli_epi16(at, 3));
    bit = _mm256_shuffle_epi8(bits, _mm256_and_si256(marks, _mm256_set1_epi8(7)));
    one = _mm256_cmpeq_epi8(_mm256_and_si256(byte, bit), bit);
    marks = _mm256_or_si256(marks, _mm256_cmpgt_epi8(number, _mm256_set1_epi8((char)last)));
    _mm256_store_si256((__m256i *)to->mark[k], marks);
    _mm256_store_si256((__m256i *)to->next[k], _mm256_or_si256(marks, one));
}

/* Step 2, of 16 columns. Row k and row k + 16 are the halves of a vector. Interleaving each with the
 * one 8 further on, four times, brings bytes where they belong: each time the number of a byte, four
 * bits for its row and four for its column, goes round by a bit. */
SX_TARGET_avx2 SX_INLINE void turn(unsigned char (*row)[ROWS], unsigned first, __m256i to[LANE])
{
    __m256i from[LANE];

    for (unsigned k = 0; k < LANE; k++)
        to[k] = _mm256_inserti128_si256(
            _mm256_castsi128_si256(_mm_load_si128((const __m128i *)(row[k] + first))),
            _mm_load_si128((const __m128i *)(row[k + LANE] + first)), 1);
#pragma GCC unroll 4
    for (unsigned round = 0; round < 4; round++) {
#pragma GCC unroll 16
        for (unsigned k = 0; k < LANE; k++)
            from[k] = to[k];
#pragma GCC unroll 8
        for (unsigned k = 0; k < LANE / 2; k++) {
            to[2 * k] = _mm256_unpacklo_epi8(from[k], from[k + LANE / 2]);
            to[2 * k + 1] = _mm256_unpackhi_epi8(from[k], from[k + LANE / 2]);
        }
    }
}

typedef struct {
    __m256i least, at;
} states;

/* Steps 2 and 3, of columns [first, end) of runs, of which there are at most 32. */
SX_TARGET_avx2 SX_INLINE void scan(rows *of, unsigned first, unsigned end, states *t)
{
    const __m256i far = _mm256_set1_epi8((char)SX_MARK_FAR);
    __m256i mark[LANE], next[LANE];

    for (unsigned from = first; from < end; from += LANE) {
        turn(of->mark, from - first, mark);
        turn(of->next, from - first, next);
#pragma GCC unroll 16
        for (unsigned k = 0; k < LANE; k++) {
            __m256i above = _mm256_cmpeq_epi8(_mm256_max_epu8(mark[k], t->least), mark[k]);
            __m256i takes = _mm256_andnot_si256(above, _mm256_cmpeq_epi8(next[k], far));
            t->at = _mm256_blendv_epi8(t->at, _mm256_set1_epi8((char)(from + k)), takes);
            t->least = _mm256_blendv_epi8(next[k], t->least, above);
        }
    }
}

SX_TARGET_avx2 SX_INLINE void nearest(const sx_strings *s, uint64_t n, const unsigned char *end,
                                      sx_run_search *all, unsigned m)
{
    states t = {_mm256_set1_epi8((char)SX_MARK_FAR), _mm256_setzero_si256()};
    rows of;
    unsigned char at[ROWS], length[ROWS] = {0};
    unsigned most = 0;

    for (unsigned k = 0; k < m; k++)
        if (is_row(&all[k], n, end)) {
            length[k] = (unsigned char)(all[k].hi - all[k].lo);
            most = length[k] > most ? length[k] : most;
        }
    for (unsigned first = 0; first < most; first += ROWS) {
        for (unsigned k = 0; k < ROWS; k++)
            if (length[k] > first) {
                take_row(s, &all[k], first, &of, k);
            } else {
                memset(of.mark[k], SX_MARK_FAR, ROWS);
                memset(of.next[k], SX_MARK_FAR, ROWS);
            }
        for (unsigned k = 0; k < ROWS && first == 0; k++)
            of.mark[k][0] = SX_MARK_FAR;      /* says how long the run is */
        scan(&of, first, most < first + ROWS ? most : first + ROWS, &t);
    }
    _mm256_storeu_si256((__m256i *)at, t.at);
    for (unsigned k = 0; k < m; k++)
        if (length[k])
            all[k].at = all[k].lo + at[k];
        else
            nearest_one(s, &all[k]);
}

SX_TARGET_avx2 static void nearest_avx2(const sx_strings *s, uint64_t n, const unsigned char *end,
                                        sx_run_search *all, unsigned m)
{
    nearest(s, n, end, all, m);
}

/* The same, with as many registers as step 2 needs. */
SX_TARGET_avx512 static void nearest_avx512(const sx_strings *s, uint64_t n, const unsigned char *end,
                                            sx_run_search *all, unsigned m)
{
    nearest(s, n, end, all, m);
}
#endif

void sx_cpu_nearest(sx_simd level, const sx_strings *s, uint64_t n, const unsigned char *end,
                    sx_run_search *all, unsigned m)
{
#ifdef SX_HAVE_X86
    if (level > SX_SCALAR) {
        (level == SX_AVX512 ? nearest_avx512 : nearest_avx2)(s, n, end, all, m);
        return;
    }
#endif
    (void)level;
    (void)n;
    (void)end;
    for (unsigned k = 0; k < m; k++)
        nearest_one(s, &all[k]);
}
