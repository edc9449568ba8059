/* slots.h - rank <-> slot for every family. Where equal keys are stored once, a rank here is
 * a position (view.h), but for rows. */
#ifndef SX_SLOTS_H
#define SX_SLOTS_H

#include "family/view.h"

/* rank < n */
SX_FN uint64_t sx_slot_of_rank(const sx_view *v, uint64_t rank)
{
    return v->traits & SX_SLOTS_ARE_RANKS ? rank : sx_eytz_slot_of_rank(&v->of.eytzinger, rank);
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
    return v->traits & SX_SLOTS_ARE_RANKS ? slot : sx_eytz_rank_of_slot(&v->of.eytzinger, slot);
}

/* A span of ranks [a, b) is a few stretches of slots: one where slots are ranks,
 * one per level in a tree in level order. All stretches together hold every key
 * of the span once, and in a stretch keys ascend. */
typedef struct {
    uint64_t slot, n;             /* slots [slot, slot + n) */
    uint64_t first;               /* of its level (or of all): the number of
                                     the stretch's first key there */
    uint32_t level;
} sx_stretch;

SX_FN uint32_t sx_stretch_count(const sx_view *v)
{
    return v->traits & SX_SLOTS_ARE_RANKS ? 1 : v->of.eytzinger.levels + 1;
}

/* Stretch i < sx_stretch_count() of the span; it may be empty. */
SX_FN sx_stretch sx_stretch_of(const sx_view *v, uint32_t i, uint64_t a, uint64_t b)
{
    const sx_eytzinger *e = &v->of.eytzinger;
    sx_stretch r;

    r.level = i;
    if (v->traits & SX_SLOTS_ARE_RANKS) {
        r.slot = r.first = a;
        r.n = b - a;
    } else if (i == e->levels) {
        r.first = sx_eytz_bottom_below(e, a);
        r.n = sx_eytz_bottom_below(e, b) - r.first;
        r.slot = e->level_first[i] + r.first;
    } else {
        r.first = sx_eytz_level_below(e, i, a - sx_eytz_bottom_below(e, a));
        r.n = sx_eytz_level_below(e, i, b - sx_eytz_bottom_below(e, b)) - r.first;
        r.slot = e->level_first[i] + r.first;
    }
    return r;
}

/* The same for rows, whose places (`once`) are ranks. */
SX_FN uint32_t sx_row_stretch_count(const sx_view *v)
{
    return v->starts ? 1 : sx_stretch_count(v);
}

SX_FN sx_stretch sx_row_stretch_of(const sx_view *v, uint32_t i, uint64_t a, uint64_t b)
{
    sx_stretch r;

    if (!v->starts)
        return sx_stretch_of(v, i, a, b);
    r.slot = r.first = a;
    r.n = b - a;
    r.level = 0;
    return r;
}

/* The ranks of a stretch's keys, one after the other. In a tree in level order
 * the keys of a level are evenly spaced, but every k-th such place belongs
 * to a level above. */
typedef struct {
    uint64_t at;                  /* place among the keys of full levels, or
                                     (bottom, ascending arrays) the rank */
    uint64_t spacing;
    uint64_t left, node;          /* until a place is left out; of how many */
    int inner;                    /* in a full level */
} sx_stretch_ranks;

SX_FN sx_stretch_ranks sx_stretch_begin(const sx_view *v, const sx_stretch *r, uint64_t j)
{
    const sx_eytzinger *e = &v->of.eytzinger;
    int ranked = (v->traits & SX_SLOTS_ARE_RANKS) != 0;
    sx_stretch_ranks it;
    uint64_t i = r->first + j, m = ranked ? 1 : e->k - 1;

    it.inner = !ranked && r->level < e->levels;
    it.spacing = it.inner ? sx_eytz_spacing(e, r->level) : 1;
    it.node = ranked ? UINT64_MAX : m;
    it.left = ranked ? UINT64_MAX : m - i % m;
    it.at = it.inner ? sx_eytz_inner_rank(e, r->level, i) : ranked ? i : sx_eytz_rank_of_bottom(e, i);
    return it;
}

/* sx_pivot_source() of pivots i, i+1, ... of a level: evenly spaced too. */
SX_FN sx_stretch_ranks sx_pivot_sources(const sx_pivot *t, uint32_t l, uint64_t i)
{
    sx_stretch_ranks it;

    it.inner = 0;
    it.at = sx_pivot_source(t, l, i);
    it.spacing = (sx_pivot_source(t, l, 0) + 1);
    it.node = t->k - 1u;
    it.left = it.node - i % it.node;
    return it;
}

/* The rank of the key here, then on to the next. */
SX_FN uint64_t sx_stretch_next(const sx_view *v, sx_stretch_ranks *it)
{
    uint64_t rank = it->inner ? sx_eytz_rank_of_inner(&v->of.eytzinger, it->at) : it->at;

    it->at += it->spacing;
    if (--it->left == 0) {
        it->at += it->spacing;
        it->left = it->node;
    }
    return rank;
}

#endif
