/* eytzinger_bound_impl.h - a walk in a tree in level order by one thread of a GPU, one
 * width of key. Behind gpu_near_impl.h. */
#include "family/eytzinger/eytzinger_walk_impl.h"

SX_DEV uint64_t F(eytzinger_bound)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                                   const unsigned char *top, uint64_t top_bytes)
{
    const sx_eytzinger *e = &v->of.eytzinger;
    uint64_t g = 0;

    for (uint32_t t = 0; t < e->levels; t++) {
        uint64_t first = F(eytz_first)(v, t, g, unit), c;
        if (top_bytes > 0)        /* then nodes are in one piece */
            c = F(count_node)(F(eytz_node)(v, first, unit), e->k - 1, unit, q, v->keys, top,
                              top_bytes);
        else
            c = F(eytz_count)(v, first, q, unit);
        g = F(eytz_down)(v, first, g, c, slot, unit);
    }
    return F(eytz_finish)(v, g, slot, q, unit);
}
