/* pivot.h - a sorted array under pivots.
 *
 * Slots are ranks. The array is cut into windows of w keys; above them lies
 * a tree of nodes of k-1 pivots, all leaves at the same depth, levels stored
 * from the top, each in whole nodes:
 *
 *     level 0                  | p p |                        k = 3
 *     level 1       | p p |    | p p |    | p * |
 *     keys      | w | w | w || w | w | w || w | w |
 *
 * Pivot j of a node is the last key of what lies under its child j, and a
 * query goes to the first child whose pivot is not below it, so that its
 * lower bound is always inside the window it is led to. Every boundary
 * between windows is in one level only: n/w pivots in all, and some padding.
 *
 * With all levels, w = leaf (k-1 keys, unless told). Dropping the lowest d
 * levels (the coarse pivot buffer) leaves w = leaf * k^d. No level at all
 * and w = n is a plain sorted array.
 *
 * Invariants (index_check.c and pivot.c prove them by these numbers):
 *   P1, P2  as of a sorted array (sorted.h)
 *   P3  pivot i of level l is the key pivot_source() names, or the largest
 *       key where that lies past the end
 */
#ifndef SX_PIVOT_H
#define SX_PIVOT_H

#include "family/stretch.h"

typedef struct sx_part_pivot {
    uint16_t k;                   /* children of a node */
    uint16_t levels;              /* of pivots */
    uint32_t leaf;                /* keys of a leaf */
    uint64_t window, windows;     /* keys under a lowest pivot's child, and how many
                                     such windows there are */
    const unsigned char *pivots;  /* or NULL */
    uint64_t first[SX_LEVELS_MAX + 1];    /* node of each level, counted from the first
                                             of all; and how many there are */
} sx_pivot;
SX_SLOTS_BY_RANK(pivot)

typedef struct sx_params_pivot {
    uint32_t k, leaf, levels;
} sx_pivot_params;
enum { SX_PIVOT_K = 1, SX_PIVOT_LEAF = 2, SX_PIVOT_LEVELS = 4 };  /* given */

enum { SX_SEC_PIVOTS = SX_SEC_OWN };

#define SX_K_MAX 33u
#define SX_LEAF_MAX 4096u

/* The rank that pivot i of level l (counted from the level's first) takes
 * its key from; n or more: past the end. (One load, one store per pivot.) */
SX_FN uint64_t sx_pivot_source(const sx_pivot *t, uint32_t l, uint64_t i)
{
    uint64_t under = t->window;   /* keys under one child of this level */

    for (uint32_t h = l + 1; h < t->levels; h++)
        under *= t->k;
    return under * (1 + i + i / (t->k - 1)) - 1;
}

/* The same of pivots i, i+1, ... of a level, by sx_place_next(). */
SX_FN sx_stretch_ranks sx_pivot_sources(const sx_pivot *t, uint32_t l, uint64_t i)
{
    sx_stretch_ranks it;

    it.inner = 0;
    it.at = sx_pivot_source(t, l, i);
    it.spacing = sx_pivot_source(t, l, 0) + 1;
    it.node = t->k - 1u;
    it.left = it.node - i % it.node;
    return it;
}

/* Pivots of all levels. */
SX_FN uint64_t sx_pivot_keys(const sx_pivot *t)
{
    return t->first[t->levels] * (t->k - 1u);
}

/* Pivots of a node, if they can be compared at once (16, 32 or 64 bytes: then
 * every node is aligned to 16 bytes and in a line); else 1. */
SX_FN uint32_t sx_pivot_node_unit(const sx_pivot *t, uint32_t width)
{
    uint32_t bytes = (t->k - 1u) * width;

    return bytes == 16 || bytes == 32 || bytes == 64 ? t->k - 1u : 1;
}

#endif
