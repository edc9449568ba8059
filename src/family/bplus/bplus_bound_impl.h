/* bplus_bound_impl.h - a walk in a tree of nodes in pools by one thread of a GPU, one width of
 * key. Behind gpu_near_impl.h. */
#include "family/bplus/bplus_walk_impl.h"

/* Keys below q in a line of inner nodes, which may be near. */
SX_DEV uint32_t F(bplus_near)(const sx_bplus *t, const unsigned char *line, KEY q,
                              const unsigned char *top, uint64_t top_bytes)
{
    return F(count_node)(line, SX_BPLUS_KEYS(W), SX_BPLUS_KEYS(W), q, t->nodes, top, top_bytes);
}

SX_DEV uint64_t F(bplus_bound)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                               const unsigned char *top, uint64_t top_bytes)
{
    const sx_bplus *t = &v->of.bplus;
    uint64_t at = t->root, position;
    uint32_t c, l = 0;

    for (; l + 1u < t->levels; l++) {
        const unsigned char *node = F(bplus_node)(t, l, at);
        c = F(bplus_near)(t, node, q, top, top_bytes);
        at = F(bplus_next)(t, l, at, c, F(bplus_near)(t, F(bplus_line)(node, c), q, top, top_bytes),
                           F(bplus_latest)(t, l + 1));
    }
    at = F(bplus_step)(v, l, at, q);
    c = F(count_unit)(F(bplus_leaf)(v, at), unit, q);
    position = F(bplus_position)(v, at, c, unit);
    *slot = F(bplus_slot)(v, at, c, position, unit);
    return position;
}
