/* pivot_layout.h - a sorted array, alone (sorted) or under pivots (pivot).
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
 * and w = n is a plain sorted array: `sorted` is that case.
 *
 * Invariants (index_check.c proves them by these numbers):
 *   P1  keys ascend with the slot (strictly if unique)
 *   P2  unused slots hold the largest key
 *   P3  pivot i of level l is the key pivot_source() names, or the largest
 *       key where that lies past the end
 */
#ifndef SX_PIVOT_LAYOUT_H
#define SX_PIVOT_LAYOUT_H

#include "index/view.h"

/* The rank that pivot i of level l (counted from the level's first) takes
 * its key from; n or more: past the end. (One load, one store per pivot.) */
SX_FN uint64_t sx_pivot_source(const sx_view *v, uint32_t l, uint64_t i)
{
    uint64_t under = v->window;   /* keys under one child of this level */

    for (uint32_t h = l + 1; h < v->levels; h++)
        under *= v->k;
    return under * (1 + i + i / (v->k - 1)) - 1;
}

/* Pivots of a node, if they can be compared at once (16, 32 or 64 bytes: then
 * every node is aligned to 16 bytes and in a line); else 1. */
SX_FN uint32_t sx_pivot_node_unit(const sx_view *v)
{
    uint32_t bytes = (v->k - 1) * v->width;

    return bytes == 16 || bytes == 32 || bytes == 64 ? v->k - 1 : 1;
}

/* Keys that a walk may compare at once where it finishes: the k-1 of a node,
 * if leaves are made of such pieces and each lies in one piece, aligned to
 * 16 bytes, in a line. Else 1. An array without pivots has lines, or blocks. */
SX_FN uint32_t sx_pivot_unit(const sx_view *v)
{
    uint32_t line = sx_line_keys(v), pivots = v->family == SX_FAM_PIVOT ? v->levels : 0;
    uint32_t unit = pivots ? v->k - 1 : v->block ? v->block : line;

    if (line % unit || unit * v->width < 16 || (pivots && v->leaf % unit) ||
        (v->block && (v->block != unit || v->block_bytes % 16)))
        return 1;
    return unit;
}

#endif
