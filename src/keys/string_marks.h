/* string_marks.h - marks tell strings with one code apart by comparing one of them.
 *
 * Strings with the code of a neighbour are a run (strings.h). Where there are many runs, an index has
 * a section `marks`, a byte for each string:
 *
 *     marks |4|17| 3|255|1|1|2|40| ...
 *            '-- run ---' | | '---'
 *
 * The mark of the first string of a run is how many strings it has: at most SX_MARK_MOST.
 * SX_MARK_MANY says that they are more, and 0 that its strings are not coded up to the same byte:
 * such runs are halved by comparing strings.
 *
 * The marks of the others say in which bit each first differs from the string before: there the one
 * before has 0, and it has 1. Bits are counted from 0 on behind the bytes that codes stand for
 * (`same` of sx_code_walk). Behind its end a string has zeros. SX_MARK_FAR says that they differ
 * behind that, or in length alone, or not at all.
 *
 * So the marks of a run are a binary tree, in the order of its leaves: string i is the first one to
 * the right of the node that its mark stands for, and of a node's marks, all below it are larger.
 * A search goes by the bits of q from left to right, as if q were one of the strings:
 *
 *     mark is smaller than `least`, bit of q is 1     string i takes the place of the last one
 *                                      bit of q is 0     all behind it with larger marks are skipped
 *
 * It ends at a string that shares more with q than any other of the run, or as much. One comparison
 * with it says in which bit q differs, and on which side of it q is. All strings below that bit's
 * place in the tree are on the same side, so q's bound is where they begin or end: where a mark is
 * smaller than the bit. Strings with FAR marks behind the one that was compared are left to halving,
 * if q is above that one and does not differ before.
 *
 * Written in the common subset of C11 and CUDA C++. Nothing here trusts the bytes it reads: every
 * position stays in [lo, hi). */
#ifndef SX_STRING_MARKS_H
#define SX_STRING_MARKS_H

#include "keys/strings.h"

#define SX_MARK_MOST 254u
#define SX_MARK_MANY 255u
#define SX_MARK_FAR 255u
#define SX_MARK_WORDS 4u          /* that its bits are in */

/* The bits that marks count, of a string: 0 behind its end. */
typedef struct {
    uint64_t word[SX_MARK_WORDS];
} sx_mark_bits;

SX_FN sx_mark_bits sx_mark_bits_of(const unsigned char *q, uint64_t length, uint64_t same)
{
    sx_mark_bits b;

    for (uint32_t k = 0; k < SX_MARK_WORDS; k++)
        b.word[k] = same + 8 * k < length ? sx_string_word(q, length, same + 8 * k) : 0;
    return b;
}

/* The first bit in which two differ, or SX_MARK_FAR. */
SX_FN uint32_t sx_mark_between(const sx_mark_bits *a, const sx_mark_bits *b)
{
    for (uint32_t k = 0; k < SX_MARK_WORDS; k++) {
        uint64_t x = a->word[k] ^ b->word[k];
        if (x) {
#ifdef __CUDA_ARCH__
            return 64 * k + (uint32_t)__clzll((long long)x);
#else
            return 64 * k + (uint32_t)__builtin_clzll(x);
#endif
        }
    }
    return SX_MARK_FAR;
}

/* A bit of these: all ones if it is 1, or 0. */
SX_FN int32_t sx_mark_bit(const sx_mark_bits *b, uint32_t mark)
{
#ifdef __CUDA_ARCH__              /* registers have no index */
    uint64_t word = mark < 128 ? mark < 64 ? b->word[0] : b->word[1]
                               : mark < 192 ? b->word[2] : b->word[3];
#else
    uint64_t word = b->word[mark / 64];
#endif
    return -(int32_t)(word >> (63 - mark % 64) & 1);
}

/* How many strings the run has that begins at lo, of n. 0: its marks say nothing, or (same 0) q is no
 * string that they could be of. */
SX_FN uint64_t sx_mark_run(const sx_strings *s, uint64_t n, uint64_t lo, uint64_t same)
{
    uint64_t m = s->marks[lo];

    if (m > SX_MARK_MOST || same == 0)
        return 0;
    return m < n - lo ? m : n - lo;
}

/* The string of the run [lo, hi) that shares most with q. */
SX_FN uint64_t sx_mark_nearest(const sx_strings *s, uint64_t lo, uint64_t hi, const sx_mark_bits *q)
{
    const unsigned char *marks = s->marks + lo;
    uint32_t m = (uint32_t)(hi - lo), at = 0;
    int32_t least = SX_MARK_FAR;

    for (uint32_t i = 1; i < m; i++) {
        int32_t mark = marks[i];
        int32_t one = sx_mark_bit(q, (uint32_t)mark);
        int32_t near = (mark - least) >> 31;      /* all ones, or 0; branches would be at random */
        at ^= (at ^ i) & (uint32_t)(near & one);
        least ^= (least ^ (mark | (one & SX_MARK_FAR))) & near;
    }
    return lo + at;
}

/* The bound of q, which differs from the string `at` in a bit that is not FAR, and is above it, or
 * below. */
SX_FN uint64_t sx_mark_bound(const sx_strings *s, uint64_t lo, uint64_t hi, uint64_t at,
                             uint32_t bit, int above)
{
    if (above) {
        for (at++; at < hi && s->marks[at] >= bit; at++)
            ;
        return at;
    }
    while (at > lo && s->marks[at] >= bit)
        at--;
    return at;
}

/* Where strings end that are as far from `at` as it is from q. */
SX_FN uint64_t sx_mark_far_end(const sx_strings *s, uint64_t hi, uint64_t at)
{
    for (at++; at < hi && s->marks[at] == SX_MARK_FAR; at++)
        ;
    return at;
}

/* ---- making them -------------------------------------------------------------------------- */

#define SX_MARKS_PART 16u         /* one tie in so many strings is not worth a mark for each */

/* Whether so many ties among n strings are worth marks. */
SX_FN int sx_marks_pay(uint64_t ties, uint64_t n)
{
    return ties > n / SX_MARKS_PART;
}

/* The mark of the first string of a run of equal codes, if it is not 0. */
SX_FN unsigned char sx_marks_count(const void *codes, uint32_t code_bytes, uint64_t n,
                                   uint64_t first)
{
    uint64_t m = 1, code = sx_code_load(codes, code_bytes, first);

    while (m < SX_MARK_MANY && first + m < n && sx_code_load(codes, code_bytes, first + m) == code)
        m++;
    return (unsigned char)m;
}

/* The mark of another one, whose code stands for its first `same` bytes. */
SX_FN unsigned char sx_mark_of(const sx_strings *s, uint64_t i, uint64_t same)
{
    uint64_t a_length, b_length;
    const unsigned char *a = sx_string_at(s, i - 1, &a_length);
    const unsigned char *b = sx_string_at(s, i, &b_length);
    sx_mark_bits before = sx_mark_bits_of(a, a_length, same);
    sx_mark_bits own = sx_mark_bits_of(b, b_length, same);

    return (unsigned char)sx_mark_between(&before, &own);
}

#endif
