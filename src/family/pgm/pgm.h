/* pgm.h - a sorted array under lines that know its ranks.
 *
 * Slots are ranks. The keys are cut into segments; a segment has a line that
 * says where its keys are, wrong by at most eps. The segments' first keys are
 * a sorted array themselves, with segments of their own, wrong by at most
 * eps2; and so on up to a single segment.
 *
 *     level 0          |s|
 *     level 1          |s|s|s|                   of the first keys of level 2
 *     level 2          |s|s|s|s|s|s|s|s|s|       of the keys
 *
 *     segments   | first keys, level after level | records, the same |
 *     levels     | how many segments each level has, 64 bits each |
 *
 * Each level takes whole lines of either array: behind its last segment is an
 * end, whose line says where the level below ends, then the largest key and
 * zeros, so that a few keys more can be read than there are.
 *
 * Points. Segments are fitted to points (x, y), x a value of the key type, y a
 * rank:
 *   - every distinct key x with the rank of its first occurrence;
 *   - behind a run of equal keys x of last rank b, b above the first rank: the
 *     extra point (x + 1, b), unless x + 1 is a key itself, or b is n - 1;
 *   - behind the last run the final point (x + 1, n), unless x is the largest
 *     value there is.
 * x ascends strictly from point to point, y too. Extra and final points need
 * not be keys, and a segment may begin with one. Its first key, x0, is the x of
 * its first point. Of the keys that a level is over, the same.
 *
 * A record of 16 bytes is a line in fixed point:
 *
 *     | slope, 64 bits | C, height at x0, 48.8 bits | lz, 8 bits |
 *
 * It predicts for q >= x0, with d = q - x0:
 *     D = d << lz kept to 64 bits: d is widened to 64 bits (4, 8 bytes; 16: to
 *         128, and the upper 64 are taken); if bits would fall out, all ones
 *     g(q) = (C + high 64 bits of (D * slope)) >> 8
 * lz is the count of leading zeros of (last x of the segment's points - x0), so
 * for these nothing falls out. It is 32..63, 0..63, 0..127 for keys of 4, 8, 16
 * bytes. g never falls as q rises. C < 2^56 and slope <= 2^57 + 3: no sum wraps.
 *
 * (G) max(y - eps, 0) <= g(x) <= y + eps for every point (x, y) of the segment.
 *
 * Windows. Let s be the last segment with x0 <= q (the first, with d = 0, if
 * there is none), and p = min(g(q), C >> 8 of the entry behind s), which for the
 * last segment is the end's, n. Then
 *
 * (L) the lower bound of q among the keys is in [p - eps, p + eps + 1];
 * (U) if keys are distinct, the last key <= q, if any, has its rank in
 *     [p - eps - 1, p + eps].
 *
 * Proof. Let (x, y) be the last point with x <= q, (x', y') the one behind it.
 * (x, y) is in s, as segments are cut between points and begin with one. By (G)
 * and as g does not fall, g(q) >= y - eps. C' >> 8 of the next segment is its g
 * at its first point, whose rank is at least y', so it is >= y' - eps too; hence
 * p >= y - eps (n >= y as well).
 *   If q == x: p <= g(x) <= y + eps. If x is a key, its lower bound is y. If it is
 *   an extra point, the lower bound is y + 1; if it is the final one, y = n.
 *   If q > x, x' is not x + 1, so it is no extra or final point but a key, and
 *   y' = y + 1 is the lower bound of q. If x' is in s, g(q) <= g(x') <= y' + eps;
 *   if not, p <= C' >> 8 <= y' + eps. So p - eps <= y + 1.
 *   If q > x and there is no x': (x, y) is the final point, y = n is the lower
 *   bound, and p <= n.
 *   If q is below all points: the lower bound is 0, and 0 <= p <= C >> 8 <= eps.
 * In each case p - eps <= bound, and bound <= y + 1 <= p + eps + 1. For (U) there
 * are no extra points; the last key <= q has rank y (n - 1 at or behind the final
 * point, where p <= n), and y <= p + eps, and p <= y + 1 + eps. []
 *
 * (Segments that begin below q, x0 < q, would not do for (L): where one begins
 * with an extra point and q == x0, the one before it predicts for x0 - 1, a whole
 * run of equal keys too low.)
 *
 * Invariants (index_check.c, pgm_check.c):
 *   P1, P2  as of a sorted array (sorted.h)
 *   S1  a level's first keys ascend strictly; behind its segments are an end, the
 *       largest key, and zeros, as above
 *   S2  (G) at every key, and of every level; slope and lz in their ranges
 *   S3  every query there can be ends in its windows, (L) and (U)
 */
#ifndef SX_PGM_H
#define SX_PGM_H

#include "family/stretch.h"

#define SX_PGM_LEVELS 24u         /* each is a third of the one below, or less: enough for */
#define SX_PGM_MOST_TIGHT (1ull << 36)        /* so many keys where eps2 is 1 */

typedef struct sx_part_pgm {
    uint32_t eps, eps2;           /* how wrong lines may be, for keys and for segments */
    uint32_t cuts;                /* parts that segments were made in */
    uint32_t concise;             /* search the last level, skip those above */
    uint32_t levels;              /* 0: segments are not made yet */
    const unsigned char *segment_keys, *segments;     /* or NULL */
    uint64_t level_first[SX_PGM_LEVELS + 1];  /* entry of each level, and of all */
    uint64_t level_count[SX_PGM_LEVELS];      /* its segments */
} sx_pgm;
SX_SLOTS_BY_RANK(pgm)

typedef struct sx_params_pgm {
    uint32_t eps, eps2, cuts, budget;
} sx_pgm_params;
enum { SX_PGM_EPS = 1, SX_PGM_EPS2 = 2, SX_PGM_CUTS = 4, SX_PGM_BUDGET = 8 };   /* given */

enum { SX_SEC_LEVELS = SX_SEC_OWN, SX_SEC_SEGMENTS };

#define SX_EPS_MAX (1u << 20)
#define SX_EPS2_MAX 1024u
#define SX_BUDGET_MAX 999999999u  /* KiB */

typedef struct {
    uint64_t slope;
    uint64_t base;                /* C << 8 | lz */
} sx_segment;

#define SX_SEGMENT 16u            /* bytes of a record */
#define SX_SLOPE_MOST ((1ull << 57) + 3)
#define SX_PGM_MOST (1ull << 41)  /* keys: above, a level has too many for its parts */
#define SX_CUTS_MAX 4096u
#define SX_PART_MOST (1u << 29)   /* see pgm_fit_impl.h */
#define SX_PART_LEAST 4096u       /* keys of a part, unless told */

/* Entries that a level with m segments takes: with its end, and at least a
 * line of keys more to be read (of 4-byte keys, 16), in whole lines. */
SX_FN uint64_t sx_level_entries(uint64_t m)
{
    return (m + 1 + 15) / 16 * 16 + 16;
}

SX_FN uint64_t sx_segment_key_bytes(const sx_pgm *t, uint32_t width)
{
    return t->level_first[t->levels] * width;
}

/* Levels of a walk down to the keys: a search among all segments of the last one counts as
 * one level. */
SX_FN uint32_t sx_pgm_walk_levels(const sx_pgm *t)
{
    return t->concise && t->levels > 0 ? 1 : t->levels;
}

/* What the segments of level l are of: segments, or the n keys. */
SX_FN uint64_t sx_level_below(const sx_pgm *t, uint64_t n, uint32_t l)
{
    return l + 1 < t->levels ? t->level_count[l + 1] : n;
}

/* Segments are made in parts, each for itself, so that many can be made at
 * once; a part adds one segment at most. As many as there are of `m` keys,
 * where nobody says else: no more than SX_CUTS_MAX, so that they add little,
 * and each large enough for many segments. */
SX_FN uint32_t sx_pgm_cuts(uint64_t m, uint32_t eps)
{
    uint64_t least = 64 * (2 * (uint64_t)eps + 2);
    uint64_t cuts = m / (least > SX_PART_LEAST ? least : SX_PART_LEAST);

    return (uint32_t)(cuts < 1 ? 1 : cuts > SX_CUTS_MAX ? SX_CUTS_MAX : cuts);
}

/* What a level is made of, `up` levels above the keys: n of these, or of the first keys
 * of the segments below, in parts; as many as told for the keys, and above no more than
 * that. */
typedef struct {
    uint64_t n;
    uint32_t eps, cuts;
} sx_fitting;

SX_FN sx_fitting sx_level_fitting(const sx_pgm *t, uint64_t n, uint32_t up)
{
    sx_fitting f;

    f.n = n;
    f.eps = up ? t->eps2 : t->eps;
    f.cuts = sx_pgm_cuts(n, f.eps);
    if (up == 0 || f.cuts > t->cuts)
        f.cuts = t->cuts;
    return f;
}

/* Part p of m keys in `cuts` begins here. */
SX_FN uint64_t sx_pgm_part(uint64_t m, uint32_t cuts, uint64_t p)
{
    return m / cuts * p + (m % cuts) * p / cuts;
}

/* Segments that a part of so many keys can have: a level line fits all points
 * from rank y to y + 2 * eps, so they begin at least 2 * eps + 1 ranks apart; all
 * but the last in the part. */
SX_FN uint64_t sx_pgm_most(uint64_t keys, uint32_t eps)
{
    return keys / (2 * (uint64_t)eps + 1) + 2;
}

/* Entries of both hulls of such a part: of each of its points, and one more. */
SX_FN uint64_t sx_hull_entries(uint64_t keys)
{
    return 2 * (keys + 1);
}

#endif
