/* eytzinger_cpu_impl.h - eytzinger_cpu.c for one width and one instruction set. */
#include "family/generic/cpu_begin.h"
#include "family/eytzinger/eytzinger_walk_impl.h"

/* The address of the node at this slot, to be prefetched and never read. Past the bottom's end
 * there is no node, so no pointer is computed. */
SX_WALK const void *F(eytz_ahead)(const sx_view *v, uint64_t slot, uint64_t bytes, uint32_t unit)
{
    return (const void *)((uintptr_t)v->keys + F(eytz_offset)(v, slot, unit) + bytes);
}

/* From level `level` on. Entries have led there, unless it is 0. */
SX_WALK void F(eytz_group)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                           uint32_t level, uint64_t *rank, uint64_t *slot, uint32_t unit, int rows)
{
    /* These are kept here and copied out at the end: for all the compiler knows, stores through
     * `slot` inside the loops might change *v. */
    uint64_t g[GROUP], s[GROUP];
    uint64_t per_node = F(eytz_keys)(v, unit);

    rows = rows && v->row_bytes != 0;
    for (unsigned j = 0; j < GROUP; j++) {
        g[j] = 0;
        s[j] = SX_NO_SLOT;
    }
    for (unsigned j = 0; level > 0 && j < m; j++) {
        g[j] = F(eytz_enter)(v, level, entry[j].at);
        SX_ASK(F(eytz_ahead)(v, v->of.eytzinger.level_first[level] + g[j] * per_node, 0,
                                         unit));
    }
    for (uint32_t t = level; t < v->of.eytzinger.levels; t++) {
        uint64_t next = v->of.eytzinger.level_first[t + 1];
        if (unit == 1 && m <= FEW && t + 3 <= v->of.eytzinger.levels)
            for (unsigned j = 0; j < m; j++) {    /* all descendants 3 levels down */
                uint64_t ahead = v->of.eytzinger.level_first[t + 3] + g[j] * 8;
                SX_ASK(F(eytz_ahead)(v, ahead, 0, 1));
                SX_ASK(F(eytz_ahead)(v, ahead, 7 * W, 1));
            }
        for (unsigned j = 0; j < m; j++) {
            g[j] = F(eytz_level)(v, t, g[j], &s[j], q[j], unit);
            uint64_t ahead = next + g[j] * per_node;
            SX_ASK(F(eytz_ahead)(v, ahead, 0, unit));
            if (unit == 0 && !v->block)
                SX_ASK(F(eytz_ahead)(v, ahead, (v->of.eytzinger.k - 2) * W, unit));
        }
    }
    for (unsigned j = 0; j < m; j++) {
        rank[j] = F(eytz_finish)(v, g[j], &s[j], q[j], unit);
        if (level > 0 && s[j] == SX_NO_SLOT && rank[j] < v->n)
            s[j] = sx_eytzinger_slot_of_rank(&v->of.eytzinger, rank[j]);      /* in a level above */
        if (rows && s[j] != SX_NO_SLOT)
            SX_ASK(v->rows + sx_row_offset(v, s[j]));
    }
    if (slot)
        memcpy(slot, s, m * sizeof *s);
}

TARGET static void F(eytz_bounds)(const sx_view *v, const KEY *q, unsigned m,
                                  uint64_t *rank, uint64_t *slot, int rows)
{
    int line = v->unit == 64 / W, binary = v->unit == 1;

    for (unsigned i = 0; i < m; i += GROUP) {
        unsigned part = m - i < GROUP ? m - i : GROUP;
        uint64_t *s = slot ? slot + i : NULL;
        if (line && s)
            F(eytz_group)(v, q + i, part, NULL, 0, rank + i, s, 64 / W, rows);
        else if (line)
            F(eytz_group)(v, q + i, part, NULL, 0, rank + i, NULL, 64 / W, rows);
        else if (binary && s)
            F(eytz_group)(v, q + i, part, NULL, 0, rank + i, s, 1, rows);
        else if (binary)
            F(eytz_group)(v, q + i, part, NULL, 0, rank + i, NULL, 1, rows);
        else
            F(eytz_group)(v, q + i, part, NULL, 0, rank + i, s, 0, rows);
    }
}

TARGET static void F(eytz_entered)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                                  uint64_t *rank, uint64_t *slot, int rows)
{
    int line = v->unit == 64 / W, binary = v->unit == 1;
    uint32_t level = sx_eytz_upper_levels(&v->of.eytzinger);

    for (unsigned i = 0; i < m; i += GROUP) {
        unsigned part = m - i < GROUP ? m - i : GROUP;
        uint64_t *s = slot ? slot + i : NULL;
        if (line)
            F(eytz_group)(v, q + i, part, entry + i, level, rank + i, s, 64 / W, rows);
        else if (binary)
            F(eytz_group)(v, q + i, part, entry + i, level, rank + i, s, 1, rows);
        else
            F(eytz_group)(v, q + i, part, entry + i, level, rank + i, s, 0, rows);
    }
}

TARGET static void F(left_bounds)(const sx_view *v, const void *q, unsigned m,
                                  const sx_state *entry, uint64_t *rank, uint64_t *slot, int rows)
{
    if (entry)
        F(eytz_entered)(v, q, m, entry, rank, slot, rows);
    else
        F(eytz_bounds)(v, q, m, rank, slot, rows);
}

#include "family/generic/cpu_side_impl.h"

SX_WALK uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(eytz_enter)(v, l, at);
}

SX_WALK uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(eytz_step)(v, l, at, q);
}
#include "family/generic/cpu_steps_impl.h"

#include "family/generic/cpu_end.h"
