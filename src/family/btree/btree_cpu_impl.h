/* btree_cpu_impl.h - btree_cpu.c for one width and one instruction set. */
#include "family/generic/cpu_begin.h"
#include "family/btree/btree_walk_impl.h"

/* Down to the leaf that holds the bound, which is asked for, and with it its rows where these
 * are not in it. entry: NULL, or the nodes have been walked elsewhere. */
SX_WALK void F(descend)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                        uint64_t at[GROUP], uint64_t row_step)
{
    const sx_btree *t = &v->of.btree;

    for (unsigned j = 0; j < GROUP; j++)
        at[j] = 0;
    for (uint32_t l = 0; !entry && l + 1 < t->levels; l++) {
        uint64_t last = F(btree_last_child)(t, l);
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(btree_level)(t, l, at[j], last, q[j], t->k);
            SX_ASK(F(btree_node)(t, l + 1, at[j]));
        }
    }
    if (t->levels > 0) {
        uint32_t l = t->levels - 1;
        for (unsigned j = 0; j < m; j++) {
            at[j] = entry ? F(btree_from_entry)(v, entry[j])
                          : F(btree_level)(t, l, at[j], t->leaves - 1, q[j], t->k);
            SX_ASK(F(btree_leaf)(v, at[j]));
            if (row_step)
                SX_ASK(sx_ahead(v->rows, at[j] * row_step));
        }
    }
}

SX_WALK void F(finish)(const sx_view *v, const KEY *q, unsigned m, const uint64_t at[GROUP],
                       uint64_t *rank, uint64_t *slot, uint32_t leaf)
{
    uint64_t n = v->n;            /* stores into rank might change *v, for all the compiler knows */

    for (unsigned j = 0; j < m; j++) {
        uint64_t c = SX_COUNT(F(btree_leaf)(v, at[j]), leaf, q[j]);
        rank[j] = F(btree_position)(n, at[j], c, leaf);
        if (slot)
            slot[j] = F(btree_slot)(n, at[j], c, leaf);
    }
}

/* A group is finished after the next one has gone down: by then the leaves it asked for have
 * come. */
SX_WALK void F(groups)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                       uint64_t *rank, uint64_t *slot, uint32_t leaf, int rows)
{
    uint64_t at[2][GROUP], row_step = rows && !v->block ? leaf * (uint64_t)v->row_bytes : 0;
    unsigned i = 0, before = 0, part;

    for (; i < m; before = i, i += part) {
        part = m - i < GROUP ? m - i : GROUP;
        F(descend)(v, q + i, part, entry ? entry + i : NULL, at[i / GROUP % 2], row_step);
        if (i > 0)
            F(finish)(v, q + before, GROUP, at[before / GROUP % 2], rank + before,
                      slot ? slot + before : NULL, leaf);
    }
    F(finish)(v, q + before, m - before, at[before / GROUP % 2], rank + before,
              slot ? slot + before : NULL, leaf);
}

#ifdef SX_LAB
#include "family/btree/btree_lab_impl.h"
#endif

TARGET static void F(left_bounds)(const sx_view *v, const void *queries, unsigned m,
                                  const sx_state *entry, uint64_t *rank, uint64_t *slot, int rows)
{
#ifdef SX_LAB
    if (v->of.btree.lab_node || v->of.btree.lab_pipeline) {
        F(lab_bounds)(v, queries, m, entry, rank, slot);
        return;
    }
#endif
    /* Constants: one comparison of a leaf. */
    if (v->unit == SX_BTREE_LINE / (W + 8))
        F(groups)(v, queries, m, entry, rank, slot, SX_BTREE_LINE / (W + 8), rows);
    else if (v->unit == SX_BTREE_LINE / (W + 4))
        F(groups)(v, queries, m, entry, rank, slot, SX_BTREE_LINE / (W + 4), rows);
    else
        F(groups)(v, queries, m, entry, rank, slot, SX_BTREE_LINE / W, rows);
}
#include "family/generic/cpu_side_impl.h"

SX_WALK uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(btree_enter)(v, l, at);
}

SX_WALK uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(btree_step)(v, l, at, q);
}
#include "family/generic/cpu_steps_impl.h"

#include "family/generic/cpu_end.h"
