/* btree_bound_impl.h - a walk in a tree of lines by one thread of a GPU, one width of key.
 * Behind gpu_near_impl.h. */
#include "family/btree/btree_walk_impl.h"

/* Keys below q in a leaf: in pieces of 16 bytes, which are on their way together, and keys
 * behind these. */
SX_DEV unsigned F(btree_count_leaf)(const unsigned char *p, uint32_t leaf, KEY q)
{
    if (leaf * W == 16 || leaf * W == 32 || leaf * W == 64)
        return F(count_unit)(p, leaf, q);
    return F(count)(p, leaf, q);
}

SX_DEV uint64_t F(btree_bound)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                               const unsigned char *top, uint64_t top_bytes)
{
    const sx_btree *t = &v->of.btree;
    uint64_t at = 0;
    unsigned c;

    for (uint32_t l = 0; l < t->levels; l++)
        at = F(btree_child)(t->k, at,
                            F(count_node)(F(btree_node)(t, l, at), SX_BTREE_LINE / W,
                                          SX_BTREE_LINE / W, q, t->nodes, top, top_bytes),
                            F(btree_last_child)(t, l));
    c = F(btree_count_leaf)(F(btree_leaf)(v, at), unit, q);
    *slot = F(btree_slot)(v->n, at, c, unit);
    return F(btree_position)(v->n, at, c, unit);
}
