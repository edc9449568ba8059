/* gpu_near_impl.h - walks of one thread whose upper part, or the beginning of it, may be
 * staged, for one width of key.
 *
 * top: the first top_bytes of the section that a search begins in (pivots, or the keys of
 * a tree in level order). A sorted array has no such section, and its search begins in
 * many places. Its top is the keys of its first steps (gpu_halving_impl.h). */
#include "family/generic/array_walk_impl.h"

/* Keys below q in a node of m keys at p. unit > 1: the node is aligned, see
 * array_walk_impl.h. */
SX_DEV unsigned F(count_node)(const unsigned char *p, uint32_t m, uint32_t unit, KEY q,
                              const unsigned char *section, const unsigned char *top,
                              uint64_t top_bytes)
{
    uint64_t offset = (uint64_t)(p - section);

    if (offset + m * W <= top_bytes) {
        const KEY *near = (const KEY *)(const void *)(top + offset);
        unsigned below = 0;
        for (uint32_t i = 0; i < m; i++)
            below += near[i] < q;
        return below;
    }
    return unit > 1 ? F(count_unit)(p, m, q) : F(count)(p, m, q);
}

/* The halvings of a window; those of a plain array begin in top. */
SX_DEV uint64_t F(halvings)(const sx_view *v, uint64_t at, uint64_t len, KEY q, uint32_t unit,
                                  const unsigned char *top, uint64_t top_bytes)
{
    uint64_t path = 1;            /* the steps so far, and where the next key is in top */

    while (len > 1 && (path + 1) * W <= top_bytes) {
        uint64_t half = len / 2;
        int right = ((const KEY *)(const void *)top)[path] < q;
        len -= half;
        at += sx_pick(right, half, 0);
        path = 2 * path + (uint64_t)right;
    }
    while (len > 1) {
        uint64_t half = len / 2;
        len -= half;
        at = F(array_halve)(v, at, half, q, unit);
    }
    return at;
}

/* The rank as it is, and its slot, in an array whose slots are ranks. */
SX_DEV uint64_t F(array_slot)(const sx_view *v, uint64_t rank, uint64_t *slot)
{
    *slot = rank < v->n ? rank : SX_NO_SLOT;
    return rank;
}
