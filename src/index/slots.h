/* slots.h - rank <-> slot for every family. */
#ifndef SX_SLOTS_H
#define SX_SLOTS_H

#include "index/eytz_layout.h"
#include "index/guide_layout.h"
#include "index/pgm_layout.h"
#include "index/pivot_layout.h"

/* What a walk compares at once; see there. */
SX_FN uint32_t sx_walk_unit(const sx_view *v)
{
    return v->family == SX_FAM_EYTZ ? sx_eytz_unit(v) : sx_pivot_unit(v);
}

/* rank < n */
SX_FN uint64_t sx_slot_of_rank(const sx_view *v, uint64_t rank)
{
    return v->family == SX_FAM_EYTZ ? sx_eytz_slot_of_rank(v, rank) : rank;
}

/* The rank of question i where any will do, `ahead` of one that hangs on i alone: all
 * over the n keys, and neighbours far apart. */
SX_FN uint64_t sx_some_rank(uint64_t i, uint32_t ahead, uint64_t n)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull;

    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    x = (x ^ x >> 32) % n + ahead;
    return x < n ? x : n - 1;
}

/* slot < n */
SX_FN uint64_t sx_rank_of_slot(const sx_view *v, uint64_t slot)
{
    uint32_t t = 0;

    if (v->family != SX_FAM_EYTZ)
        return slot;
    if (slot >= v->level_first[v->levels])
        return sx_eytz_rank_of_bottom(v, slot - v->level_first[v->levels]);
    while (v->level_first[t + 1] <= slot)
        t++;
    return sx_eytz_rank_of_inner(v, sx_eytz_inner_rank(v, t, slot - v->level_first[t]));
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

/* The rank of a run's j-th key. */
SX_FN uint64_t sx_run_rank(const sx_view *v, const sx_run *r, uint64_t j)
{
    return sx_rank_of_slot(v, r->slot + j);
}

/* The ranks of a run's keys, one after the other. In a tree in level order
 * the keys of a level are evenly spaced, but every k-th such place belongs
 * to a level above. */
typedef struct {
    uint64_t at;                  /* place among the keys of full levels, or
                                     (bottom, ascending arrays) the rank */
    uint64_t spacing;
    uint64_t left, node;          /* until a place is left out; of how many */
    int inner;                    /* in a full level */
} sx_run_ranks;

SX_FN sx_run_ranks sx_run_begin(const sx_view *v, const sx_run *r, uint64_t j)
{
    sx_run_ranks it;
    uint64_t i = r->first + j, m = v->k - 1;

    it.inner = v->family == SX_FAM_EYTZ && r->level < v->levels;
    it.spacing = it.inner ? sx_eytz_spacing(v, r->level) : 1;
    it.node = v->family == SX_FAM_EYTZ ? m : UINT64_MAX;
    it.left = v->family == SX_FAM_EYTZ ? m - i % m : UINT64_MAX;
    it.at = it.inner ? sx_eytz_inner_rank(v, r->level, i)
            : v->family == SX_FAM_EYTZ ? sx_eytz_rank_of_bottom(v, i) : i;
    return it;
}

/* sx_pivot_source() of pivots i, i+1, ... of a level: evenly spaced too. */
SX_FN sx_run_ranks sx_pivot_sources(const sx_view *v, uint32_t l, uint64_t i)
{
    sx_run_ranks it;

    it.inner = 0;
    it.at = sx_pivot_source(v, l, i);
    it.spacing = (sx_pivot_source(v, l, 0) + 1);
    it.node = v->k - 1;
    it.left = it.node - i % it.node;
    return it;
}

/* The rank of the key here, then on to the next. */
SX_FN uint64_t sx_run_next(const sx_view *v, sx_run_ranks *it)
{
    uint64_t rank = it->inner ? sx_eytz_rank_of_inner(v, it->at) : it->at;

    it->at += it->spacing;
    if (--it->left == 0) {
        it->at += it->spacing;
        it->left = it->node;
    }
    return rank;
}

#endif
