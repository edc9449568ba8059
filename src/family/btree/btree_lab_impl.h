/* btree_lab_impl.h - ways to search a node, and how many walks go down together, to compare with
 * (doc/LAB.md), for one width and one instruction set. Behind the functions of btree_cpu_impl.h.
 * line_ways_impl.h says what sequential and hierarchical are; linear is all keys, in as many
 * comparisons as vectors take. */
#include "family/generic/line_ways_impl.h"

/* way: a constant. */
SX_WALK uint64_t F(lab_level)(const sx_btree *t, uint32_t l, uint64_t at, KEY q, uint32_t way)
{
    const unsigned char *node = F(btree_node)(t, l, at);
    uint64_t c = way == SX_NODE_SEQUENTIAL     ? F(count_sequential)(node, SX_BTREE_LINE / W, q)
                 : way == SX_NODE_HIERARCHICAL ? F(count_hierarchical)(node, q)
                                               : SX_COUNT_UNIT(node, SX_BTREE_LINE / W, q);

    return F(btree_child)(t->k, at, c, F(btree_last_child)(t, l));
}

SX_WALK void F(lab_group)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                          uint64_t *rank, uint64_t *slot, uint32_t leaf, uint32_t way)
{
    const sx_btree *t = &v->of.btree;
    uint64_t at[GROUP], n = v->n;

    for (unsigned j = 0; j < m; j++)
        at[j] = entry ? F(btree_from_entry)(v, entry[j]) : 0;
    for (uint32_t l = 0; !entry && l < t->levels; l++)
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(lab_level)(t, l, at[j], q[j], way);
            SX_ASK(l + 1 < t->levels ? F(btree_node)(t, l + 1, at[j])
                                                 : F(btree_leaf)(v, at[j]));
        }
    for (unsigned j = 0; j < m; j++) {
        const unsigned char *p = F(btree_leaf)(v, at[j]);
        uint64_t c = way == SX_NODE_SEQUENTIAL ? F(count_sequential)(p, leaf, q[j])
                                               : SX_COUNT(p, leaf, q[j]);
        rank[j] = F(btree_position)(n, at[j], c, leaf);
        if (slot)
            slot[j] = F(btree_slot)(n, at[j], c, leaf);
    }
}

SX_WALK void F(lab_groups)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                           uint64_t *rank, uint64_t *slot, uint32_t way)
{
    unsigned depth = v->of.btree.lab_pipeline ? v->of.btree.lab_pipeline : GROUP, part;

    for (unsigned i = 0; i < m; i += part) {
        part = m - i < depth ? m - i : depth;
        F(lab_group)(v, q + i, part, entry ? entry + i : NULL, rank + i, slot ? slot + i : NULL,
                     v->unit, way);
    }
}

TARGET static void F(lab_bounds)(const sx_view *v, const void *queries, unsigned m,
                                 const sx_state *entry, uint64_t *rank, uint64_t *slot)
{
    if (v->of.btree.lab_node == SX_NODE_SEQUENTIAL)
        F(lab_groups)(v, queries, m, entry, rank, slot, SX_NODE_SEQUENTIAL);
    else if (v->of.btree.lab_node == SX_NODE_HIERARCHICAL)
        F(lab_groups)(v, queries, m, entry, rank, slot, SX_NODE_HIERARCHICAL);
    else
        F(lab_groups)(v, queries, m, entry, rank, slot, SX_NODE_LINEAR);
}
