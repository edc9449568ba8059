/* eytzinger.h - a complete k-ary search tree in level order.
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
#ifndef SX_EYTZINGER_H
#define SX_EYTZINGER_H

#include "family/stretch.h"

typedef struct sx_part_eytzinger {
    uint32_t k;                   /* children of a node */
    uint32_t levels;              /* full ones */
    uint64_t bottom;              /* keys below them */
    uint64_t level_first[SX_LEVELS_MAX + 1];  /* slot of each full level, and the bottom's */
} sx_eytzinger;

typedef struct sx_params_eytzinger {
    uint32_t k;
} sx_eytzinger_params;
enum { SX_EYTZ_K = 1 };           /* given */

/* How a node lies in memory, for the walks (eytzinger_walk_impl.h): its k-1 keys
 * if they are in one piece, aligned to 16 bytes, in a line, and can be
 * compared at once; 1, a single key in one array; 0, anything else. */
SX_FN uint32_t sx_eytz_unit(uint32_t k, uint32_t width, uint32_t block, uint64_t block_bytes)
{
    uint32_t m = k - 1, bytes = m * width;

    if (m == 1 && block == 0)
        return 1;
    if (m > 1 && (bytes == 16 || bytes == 32 || bytes == 64) &&
        (block == 0 || (block == m && block_bytes % 16 == 0)))
        return m;
    return 0;
}

/* k^(L-1-t) = full levels' keys between two neighbours of level t, plus 1. */
SX_FN uint64_t sx_eytz_spacing(const sx_eytzinger *e, uint32_t t)
{
    return e->level_first[e->levels - 1 - t] + 1;
}

/* Key i of full level t: how many keys of the full levels are before it.
 * Of the multiples of the spacing, every k-th belongs to a level above. */
SX_FN uint64_t sx_eytz_inner_rank(const sx_eytzinger *e, uint32_t t, uint64_t i)
{
    return sx_eytz_spacing(e, t) * (1 + i + i / (e->k - 1)) - 1;
}

SX_FN uint64_t sx_eytz_rank_of_inner(const sx_eytzinger *e, uint64_t q)
{
    return q + sx_min64(e->bottom, (e->k - 1) * (q + 1));
}

SX_FN uint64_t sx_eytz_rank_of_bottom(const sx_eytzinger *e, uint64_t i)
{
    return i + i / (e->k - 1);
}

/* rank < n */
SX_FN uint64_t sx_eytzinger_slot_of_rank(const sx_eytzinger *e, uint64_t rank)
{
    uint64_t k = e->k, m = k - 1, g = rank / k, w = rank % k, q, i;
    uint32_t t;

    if (w < m && g * m + w < e->bottom)
        return e->level_first[e->levels] + g * m + w;
    q = (g + 1) * m <= e->bottom ? g : rank - e->bottom;
    /* q + 1 = k^h * u, u no multiple of k: level L-1-h, and u-1 less the
     * multiples of k before it is the place there. */
    i = q + 1;
    for (t = e->levels - 1; i % k == 0; t--)
        i /= k;
    return e->level_first[t] + i - 1 - i / k;
}

SX_FN uint64_t sx_eytzinger_rank_of_slot(const sx_eytzinger *e, uint64_t slot)
{
    uint32_t t = 0;

    if (slot >= e->level_first[e->levels] + e->bottom)
        return SX_NO_RANK;
    if (slot >= e->level_first[e->levels])
        return sx_eytz_rank_of_bottom(e, slot - e->level_first[e->levels]);
    while (e->level_first[t + 1] <= slot)
        t++;
    return sx_eytz_rank_of_inner(e, sx_eytz_inner_rank(e, t, slot - e->level_first[t]));
}

/* Full levels that are the tree's top, where another device walks it: as many
 * as an eighth of the keys is in, so that one more level is most of them. */
SX_FN uint32_t sx_eytz_upper_levels(const sx_eytzinger *e)
{
    uint32_t t = 0;

    while (t < e->levels && e->level_first[t + 1] <= (e->level_first[e->levels] + e->bottom) / 8)
        t++;
    return t;
}

/* ---- ranges: the ranks below r, level by level --------------------------
 *
 * Within a level keys ascend, so the keys of a span of ranks [a, b) are one
 * stretch of slots per level: from those below a to those below b. */

/* Keys of the bottom with a rank below r. */
SX_FN uint64_t sx_eytz_bottom_below(const sx_eytzinger *e, uint64_t r)
{
    uint64_t k = e->k, m = k - 1;

    return sx_min64(e->bottom, r / k * m + sx_min64(r % k, m));
}

/* Keys of full level t among the first q of the full levels. */
SX_FN uint64_t sx_eytz_level_below(const sx_eytzinger *e, uint32_t t, uint64_t q)
{
    uint64_t multiples = q / sx_eytz_spacing(e, t);

    return multiples - multiples / e->k;
}

SX_FN int sx_eytzinger_gaps(const sx_eytzinger *e)
{
    (void)e;
    return 0;
}

SX_FN uint64_t sx_eytzinger_stretch_count(const sx_eytzinger *e, uint64_t a, uint64_t b)
{
    (void)a;
    (void)b;
    return e->levels + 1;
}

SX_FN sx_stretch sx_eytzinger_stretch_of(const sx_eytzinger *e, uint64_t i, uint64_t a, uint64_t b)
{
    uint32_t t = (uint32_t)i;
    sx_stretch r;

    r.level = t;
    if (t == e->levels) {
        r.first = sx_eytz_bottom_below(e, a);
        r.n = sx_eytz_bottom_below(e, b) - r.first;
    } else {
        r.first = sx_eytz_level_below(e, t, a - sx_eytz_bottom_below(e, a));
        r.n = sx_eytz_level_below(e, t, b - sx_eytz_bottom_below(e, b)) - r.first;
    }
    r.slot = e->level_first[t] + r.first;
    return r;
}

/* The keys of a level are evenly spaced among those of full levels, but every k-th such place
 * belongs to a level above. */
SX_FN sx_stretch_ranks sx_eytzinger_stretch_begin(const sx_eytzinger *e, const sx_stretch *r,
                                                  uint64_t j)
{
    uint64_t i = r->first + j, m = e->k - 1;
    uint32_t t = (uint32_t)r->level;
    sx_stretch_ranks it;

    it.inner = t < e->levels;
    it.spacing = it.inner ? sx_eytz_spacing(e, t) : 1;
    it.node = m;
    it.left = m - i % m;
    it.at = it.inner ? sx_eytz_inner_rank(e, t, i) : sx_eytz_rank_of_bottom(e, i);
    return it;
}

SX_FN uint64_t sx_eytzinger_stretch_next(const sx_eytzinger *e, sx_stretch_ranks *it)
{
    uint64_t at = sx_place_next(it);

    return it->inner ? sx_eytz_rank_of_inner(e, at) : at;
}

#endif
