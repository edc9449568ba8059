/* slots.h - rank <-> slot for every family. */
#ifndef SX_SLOTS_H
#define SX_SLOTS_H

#include "index/eytz_layout.h"
#include "index/pivot_layout.h"

/* rank < n */
SX_FN uint64_t sx_slot_of_rank(const sx_view *v, uint64_t rank)
{
    return v->family == SX_FAM_EYTZ ? sx_eytz_slot_of_rank(v, rank) : rank;
}

/* A span of ranks [a, b) is a few runs of slots: one where slots are ranks,
 * one per level in a tree in level order. All runs together hold every key
 * of the span once, and in a run keys ascend. */
typedef struct {
    uint64_t slot, n;             /* slots [slot, slot + n) */
    uint64_t first;               /* of its level (or of all): the number of
                                     the run's first key there */
    uint32_t level;
} sx_run;

SX_FN uint32_t sx_run_count(const sx_view *v)
{
    return v->family == SX_FAM_EYTZ ? v->levels + 1 : 1;
}

/* Run i < sx_run_count() of the span; it may be empty. */
SX_FN sx_run sx_run_of(const sx_view *v, uint32_t i, uint64_t a, uint64_t b)
{
    sx_run r;

    r.level = i;
    if (v->family != SX_FAM_EYTZ) {
        r.slot = r.first = a;
        r.n = b - a;
    } else if (i == v->levels) {
        r.first = sx_eytz_bottom_below(v, a);
        r.n = sx_eytz_bottom_below(v, b) - r.first;
        r.slot = v->level_first[i] + r.first;
    } else {
        r.first = sx_eytz_level_below(v, i, a - sx_eytz_bottom_below(v, a));
        r.n = sx_eytz_level_below(v, i, b - sx_eytz_bottom_below(v, b)) - r.first;
        r.slot = v->level_first[i] + r.first;
    }
    return r;
}

/* The rank of the run's j-th key. */
SX_FN uint64_t sx_run_rank(const sx_view *v, const sx_run *r, uint64_t j)
{
    if (v->family != SX_FAM_EYTZ)
        return r->first + j;
    if (r->level == v->levels)
        return sx_eytz_rank_of_bottom(v, r->first + j);
    return sx_eytz_rank_of_inner(v, sx_eytz_inner_rank(v, r->level, r->first + j));
}

#endif
