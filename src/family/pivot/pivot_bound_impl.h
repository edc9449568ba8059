/* pivot_bound_impl.h - a walk under pivots by one thread of a GPU, one width of key. Behind
 * gpu_near_impl.h. */
#include "family/pivot/pivot_walk_impl.h"

SX_DEV uint64_t F(pivot_bound)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                               const unsigned char *top, uint64_t top_bytes)
{
    const sx_pivot *t = &v->of.pivot;
    uint64_t len = F(pivot_window)(v, unit), at = 0;
    uint32_t pivots = sx_pivot_node_unit(t, W);

    for (uint32_t l = 0; l < t->levels; l++) {
        const unsigned char *node = F(pivot_node)(t, l, at, 1);
        at = F(pivot_child)(t, at,
                            F(count_node)(node, t->k - 1u, pivots, q, t->pivots, top, top_bytes),
                            F(pivot_last_child)(t, l), 1);
    }
    at = F(halvings)(v, F(pivot_begin)(v, at, len, unit), len, q, unit, top,
                     t->levels ? 0 : top_bytes);
    return F(array_slot)(v, F(array_finish)(v, at, q, unit), slot);
}
