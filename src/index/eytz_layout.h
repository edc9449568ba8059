/* eytz_layout.h - a complete k-ary search tree in level order.
 *
 * Node g of level t (both from 0) holds k-1 = m keys and has the children
 * g*k .. g*k+k-1 of level t+1. Levels follow each other in the slots:
 *
 *     slots  | level 0 | level 1          | level 2 ...          | bottom |
 *            |  m keys | k*m keys         | k*k*m keys           | b keys |
 *
 * `levels` = L levels are full and hold k^L - 1 keys; the last one, the
 * bottom, has the b = n - (k^L - 1) keys left, from its left end on.
 *
 * Below the full levels there are k^L gaps between their keys; gap g is
 * where the bottom's node g belongs. From this follows all arithmetic:
 *
 *   - the rank of a full level's key that has q such keys before it is
 *     q + min(b, m*(q+1));
 *   - the rank of the bottom's key i is i + i/m;
 *   - a walk that arrives in gap g and finds c keys of its node below the
 *     query has found the rank g + min(b, m*g) + c.
 *
 * Invariants (index_check.c):
 *   E1  keys ascend with the rank (strictly if unique)
 *   E2  unused slots hold the largest key
 */
#ifndef SX_EYTZ_LAYOUT_H
#define SX_EYTZ_LAYOUT_H

#include "index/view.h"

/* How a node lies in memory, for the walks (eytz_walk_impl.h): its k-1 keys
 * if they are in one piece, aligned to 16 bytes, in a line, and can be
 * compared at once; 1, a single key in one array; 0, anything else. */
SX_FN uint32_t sx_eytz_unit(const sx_view *v)
{
    uint32_t m = v->k - 1, bytes = m * v->width;

    if (m == 1 && v->block == 0)
        return 1;
    if (m > 1 && (bytes == 16 || bytes == 32 || bytes == 64) &&
        (v->block == 0 || (v->block == m && v->block_bytes % 16 == 0)))
        return m;
    return 0;
}

SX_FN uint64_t sx_min64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* k^(L-1-t) = full levels' keys between two neighbours of level t, plus 1. */
SX_FN uint64_t sx_eytz_spacing(const sx_view *v, uint32_t t)
{
    return v->level_first[v->levels - 1 - t] + 1;
}

/* Key i of full level t: how many keys of the full levels are before it.
 * Of the multiples of the spacing, every k-th belongs to a level above. */
SX_FN uint64_t sx_eytz_inner_rank(const sx_view *v, uint32_t t, uint64_t i)
{
    return sx_eytz_spacing(v, t) * (1 + i + i / (v->k - 1)) - 1;
}

SX_FN uint64_t sx_eytz_rank_of_inner(const sx_view *v, uint64_t q)
{
    return q + sx_min64(v->bottom, (v->k - 1) * (q + 1));
}

SX_FN uint64_t sx_eytz_rank_of_bottom(const sx_view *v, uint64_t i)
{
    return i + i / (v->k - 1);
}

/* rank < n */
SX_FN uint64_t sx_eytz_slot_of_rank(const sx_view *v, uint64_t rank)
{
    uint64_t k = v->k, m = k - 1, g = rank / k, w = rank % k, q, i;
    uint32_t t;

    if (w < m && g * m + w < v->bottom)
        return v->level_first[v->levels] + g * m + w;
    q = (g + 1) * m <= v->bottom ? g : rank - v->bottom;
    /* q + 1 = k^h * u, u no multiple of k: level L-1-h, and u-1 less the
     * multiples of k before it is the place there. */
    i = q + 1;
    for (t = v->levels - 1; i % k == 0; t--)
        i /= k;
    return v->level_first[t] + i - 1 - i / k;
}

/* Full levels that are the tree's top, where another device walks it: as many
 * as an eighth of the keys is in, so that one more level is most of them. */
SX_FN uint32_t sx_eytz_upper_levels(const sx_view *v)
{
    uint32_t t = 0;

    while (t < v->levels && v->level_first[t + 1] <= v->n / 8)
        t++;
    return t;
}

/* ---- ranges: the ranks below r, level by level --------------------------
 *
 * Within a level keys ascend, so the keys of a span of ranks [a, b) are one
 * run of slots per level: from those below a to those below b. */

/* Keys of the bottom with a rank below r. */
SX_FN uint64_t sx_eytz_bottom_below(const sx_view *v, uint64_t r)
{
    uint64_t k = v->k, m = k - 1;

    return sx_min64(v->bottom, r / k * m + sx_min64(r % k, m));
}

/* Keys of full level t among the first q of the full levels. */
SX_FN uint64_t sx_eytz_level_below(const sx_view *v, uint32_t t, uint64_t q)
{
    uint64_t multiples = q / sx_eytz_spacing(v, t);

    return multiples - multiples / v->k;
}

#endif
