/* bplus_cpu_impl.h - bplus_cpu.c for one width and one instruction set. */
#include "family/generic/cpu_begin.h"
#include "family/bplus/bplus_walk_impl.h"
#ifdef SX_LAB
#include "family/generic/line_ways_impl.h"
#endif

/* Keys below q in a line of a node. way: SX_NODE_, a constant. */
SX_WALK uint32_t F(count_way)(const unsigned char *line, KEY q, uint32_t way)
{
#ifdef SX_LAB
    if (way == SX_NODE_SEQUENTIAL)
        return (uint32_t)F(count_sequential)(line, SX_BPLUS_KEYS(W), q);
    if (way == SX_NODE_HIERARCHICAL)
        return (uint32_t)F(count_hierarchical)(line, q);
#endif
    (void)way;
    return (uint32_t)SX_COUNT_UNIT(line, SX_BPLUS_KEYS(W), q);
}

/* One level of m walks. Each line is asked for as soon as its address is known: that of
 * separators with the children beside them, then the next node's index, or the leaf's line with
 * its record and, where these are not in it, its rows. */
SX_WALK void F(descend_level)(const sx_view *v, const KEY *q, unsigned m, uint32_t l,
                              uint64_t at[GROUP], uint64_t row_step, uint32_t way)
{
    const sx_bplus *t = &v->of.bplus;
    uint32_t c[GROUP];
    uint64_t latest = F(bplus_latest)(t, l + 1);
    int inner = l + 1u < t->levels;

    for (unsigned j = 0; j < m; j++) {
        const unsigned char *node = F(bplus_node)(t, l, at[j]);
        c[j] = F(bplus_place)(F(count_way)(node, q[j], way));
        SX_ASK(F(bplus_line)(node, c[j]));
        if (inner)
            SX_ASK(F(bplus_child)(node, c[j] * SX_BPLUS_KEYS(W)));
    }
    for (unsigned j = 0; j < m; j++) {
        const unsigned char *node = F(bplus_node)(t, l, at[j]);
        at[j] = F(bplus_next)(t, l, at[j], c[j], F(count_way)(F(bplus_line)(node, c[j]), q[j], way),
                              latest);
        if (inner) {
            SX_ASK(F(bplus_node)(t, l + 1, at[j]));
            continue;
        }
        SX_ASK(F(bplus_leaf)(v, at[j]));
        SX_ASK(sx_bplus_record_of(t, at[j] >> t->fan_shift));
        if (row_step)
            SX_ASK(sx_ahead(v->rows, at[j] * row_step));
    }
}

/* Down to the line that holds the bound. entry: NULL, or the nodes have been walked elsewhere. */
SX_WALK void F(descend)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                        uint64_t at[GROUP], uint64_t row_step, uint32_t way)
{
    const sx_bplus *t = &v->of.bplus;

    for (unsigned j = 0; j < m; j++)
        at[j] = t->root;
    for (uint32_t l = 0; !entry && l < t->levels; l++)
        F(descend_level)(v, q, m, l, at, row_step, way);
    for (unsigned j = 0; entry && j < m; j++) {
        at[j] = F(bplus_enter)(v, t->levels, entry[j].at);
        SX_ASK(F(bplus_leaf)(v, at[j]));
        SX_ASK(sx_bplus_record_of(t, at[j] >> t->fan_shift));
        if (row_step)
            SX_ASK(sx_ahead(v->rows, at[j] * row_step));
    }
}

SX_WALK void F(finish)(const sx_view *v, const KEY *q, unsigned m, const uint64_t at[GROUP],
                       uint64_t *rank, uint64_t *slot, uint32_t leaf)
{
    for (unsigned j = 0; j < m; j++) {
        uint32_t c = (uint32_t)SX_COUNT(F(bplus_leaf)(v, at[j]), leaf, q[j]);
        uint64_t position = F(bplus_position)(v, at[j], c, leaf);
        rank[j] = position;
        if (slot)
            slot[j] = F(bplus_slot)(v, at[j], c, position, leaf);
    }
}

/* A group is finished after the next one has gone down: by then the lines it asked for have
 * come. */
SX_WALK void F(groups)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                       uint64_t *rank, uint64_t *slot, uint32_t leaf, int rows)
{
    uint64_t at[2][GROUP], row_step = rows && !v->block ? leaf * (uint64_t)v->row_bytes : 0;
    unsigned i = 0, before = 0, part;

    for (; i < m; before = i, i += part) {
        part = m - i < GROUP ? m - i : GROUP;
        F(descend)(v, q + i, part, entry ? entry + i : NULL, at[i / GROUP % 2], row_step,
                   SX_NODE_USUAL);
        if (i > 0)
            F(finish)(v, q + before, GROUP, at[before / GROUP % 2], rank + before,
                      slot ? slot + before : NULL, leaf);
    }
    F(finish)(v, q + before, m - before, at[before / GROUP % 2], rank + before,
              slot ? slot + before : NULL, leaf);
}

#ifdef SX_LAB
/* Walks by another way, and as many together as the laboratory says (doc/LAB.md). */
SX_WALK void F(lab_groups)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                           uint64_t *rank, uint64_t *slot, uint32_t way)
{
    unsigned depth = v->of.bplus.lab_pipeline ? v->of.bplus.lab_pipeline : GROUP, part;
    uint64_t at[GROUP];

    for (unsigned i = 0; i < m; i += part) {
        part = m - i < depth ? m - i : depth;
        F(descend)(v, q + i, part, entry ? entry + i : NULL, at, 0, way);
        F(finish)(v, q + i, part, at, rank + i, slot ? slot + i : NULL, v->unit);
    }
}

TARGET static void F(lab_bounds)(const sx_view *v, const void *queries, unsigned m,
                                 const sx_state *entry, uint64_t *rank, uint64_t *slot)
{
    if (v->of.bplus.lab_node == SX_NODE_SEQUENTIAL)
        F(lab_groups)(v, queries, m, entry, rank, slot, SX_NODE_SEQUENTIAL);
    else if (v->of.bplus.lab_node == SX_NODE_HIERARCHICAL)
        F(lab_groups)(v, queries, m, entry, rank, slot, SX_NODE_HIERARCHICAL);
    else
        F(lab_groups)(v, queries, m, entry, rank, slot, SX_NODE_LINEAR);
}
#endif

TARGET static void F(left_bounds)(const sx_view *v, const void *queries, unsigned m,
                                  const sx_state *entry, uint64_t *rank, uint64_t *slot, int rows)
{
#ifdef SX_LAB
    if (v->of.bplus.lab_node || v->of.bplus.lab_pipeline) {
        F(lab_bounds)(v, queries, m, entry, rank, slot);
        return;
    }
#endif
    /* Constants: one comparison of a line. */
    if (v->unit == SX_BPLUS_KEYS(W))
        F(groups)(v, queries, m, entry, rank, slot, SX_BPLUS_KEYS(W), rows);
    else if (v->unit == SX_BPLUS_KEYS(W) / 2)
        F(groups)(v, queries, m, entry, rank, slot, SX_BPLUS_KEYS(W) / 2, rows);
    else
        F(groups)(v, queries, m, entry, rank, slot, 4, rows);         /* 4 + 8 bytes */
}
#include "family/generic/cpu_side_impl.h"

SX_WALK uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(bplus_enter)(v, l, at);
}

SX_WALK uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(bplus_step)(v, l, at, q);
}
#include "family/generic/cpu_steps_impl.h"

#include "family/generic/cpu_end.h"
