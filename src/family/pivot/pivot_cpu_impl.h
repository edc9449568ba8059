/* pivot_cpu_impl.h - pivot_cpu.c for one width and one instruction set. */
#include "family/generic/cpu_begin.h"
#include "family/generic/array_cpu_impl.h"
#include "family/pivot/pivot_walk_impl.h"

/* Down to the unit that holds the bound. Prefetches it, and its rows. entry:
 * NULL, or the pivots have been walked elsewhere. */
SX_WALK void F(descend)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                              uint64_t at[GROUP], uint32_t unit, int rows)
{
    const sx_pivot *t = &v->of.pivot;
    uint64_t len = F(pivot_window)(v, unit);
    uint64_t row_step = v->block ? v->block_bytes : unit * (uint64_t)v->row_bytes;
    uint64_t last_key = (unit - 1) * W;

    rows = rows && v->row_bytes != 0;
    for (unsigned j = 0; j < GROUP; j++)
        at[j] = 0;
    for (uint32_t l = 0; !entry && l + 1 < t->levels; l++) {
        uint64_t last = F(pivot_last_child)(t, l);
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(pivot_level)(t, l, at[j], last, q[j], unit);
            const unsigned char *p = F(pivot_node)(t, l + 1, at[j], unit);
            SX_ASK(p);
            if (unit == 1)
                SX_ASK(p + (t->k - 2u) * W);
        }
    }
    if (t->levels > 0) {
        uint32_t l = t->levels - 1;
        uint64_t last = F(pivot_last_child)(t, l);
        for (unsigned j = 0; j < m; j++) {
            if (entry)
                at[j] = F(pivot_from_entry)(v, entry[j], len, unit);
            else
                at[j] = F(pivot_begin)(v, F(pivot_level)(t, l, at[j], last, q[j], unit), len,
                                       unit);
            SX_ASK(F(array_unit)(v, at[j] + (len > 1 ? len / 2 - 1 : 0), unit) +
                               (len > 1 ? last_key : 0));
            if (rows && unit > 1 && len == 1)
                SX_ASK(sx_ahead(v->rows, at[j] * row_step));
        }
    }
    F(narrow)(v, q, m, at, len, unit, rows);
}

#include "family/generic/array_groups_impl.h"
#include "family/generic/cpu_side_impl.h"

SX_WALK uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(pivot_enter)(v, l, at);
}

SX_WALK uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(pivot_step)(v, l, at, q);
}
#include "family/generic/cpu_steps_impl.h"

#include "family/generic/cpu_end.h"
