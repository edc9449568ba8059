/* stretch.h - stretches of slots, and what a family says of its slots, in the common subset of
 * C11 and CUDA C++.
 *
 * A span of ranks [a, b) is some stretches of slots: one if slots are ranks, one per level in a
 * tree in level order, one per leaf if leaves have unused slots. All stretches together hold
 * every key of the span once, and in a stretch keys ascend. If equal keys are stored once, a
 * rank here is a position (view.h).
 *
 * A family says in FAM.h, of its part of the view:
 *
 *   slot_of_rank(t, rank)         of a rank below n
 *   rank_of_slot(t, slot)         of any slot; n or more: it is unused; SX_HOLE: numbers have a
 *                                 hole here, and bytes at its address belong to others
 *   gaps(t)                       whether there are unused slots, or holes, before the last
 *                                 key. Then the stretches of a span come in the order of their
 *                                 ranks, which are consecutive in a stretch; and there may be
 *                                 as many as leaves. Without gaps they are few, and code that
 *                                 has a span may look at each of them again and again.
 *   stretch_count(t, a, b)        of the span; a < b
 *   stretch_of(t, i, a, b)        stretch i < stretch_count() of the span, which may be empty.
 *                                 This takes a time that does not grow with i.
 *   stretch_begin(t, r, j)        the ranks of a stretch's keys, from its key j on,
 *   stretch_next(t, it)           one after the other
 *
 * each with sx_NAME_ before it. A family whose slots are ranks says SX_SLOTS_BY_RANK(NAME).
 * slots.h has these functions for every family. */
#ifndef SX_STRETCH_H
#define SX_STRETCH_H

#include "family/family_id.h"

#define SX_NO_RANK UINT64_MAX
#define SX_HOLE (UINT64_MAX - 1)

typedef struct {
    uint64_t slot, n;             /* slots [slot, slot + n) */
    uint64_t first;               /* the number of its first key in its level; of a leaf: the
                                     rank of that key, in the span whatever bytes say */
    uint64_t level;               /* or leaf */
} sx_stretch;

/* Places that are evenly spaced, but after `node` of them one is left out. */
typedef struct {
    uint64_t at;                  /* a rank; or what the family says */
    uint64_t spacing;
    uint64_t left, node;          /* places until one is left out; between two such */
    int inner;                    /* for the family's own use */
} sx_stretch_ranks;

/* Returns the place here, then goes on to the next. */
SX_FN uint64_t sx_place_next(sx_stretch_ranks *it)
{
    uint64_t at = it->at;

    it->at += it->spacing;
    if (--it->left == 0) {
        it->at += it->spacing;
        it->left = it->node;
    }
    return at;
}

/* Consecutive ranks. */
SX_FN sx_stretch_ranks sx_ranks_from(uint64_t rank)
{
    sx_stretch_ranks it;

    it.at = rank;
    it.spacing = 1;
    it.left = it.node = UINT64_MAX;
    it.inner = 0;
    return it;
}

/* The span as one stretch. */
SX_FN sx_stretch sx_stretch_whole(uint64_t a, uint64_t b)
{
    sx_stretch r;

    r.slot = r.first = a;
    r.n = b - a;
    r.level = 0;
    return r;
}

#define SX_SLOTS_BY_RANK(name)                                                            \
    SX_FN uint64_t sx_##name##_slot_of_rank(const struct sx_part_##name *t, uint64_t rank)  \
    {                                                                                       \
        (void)t;                                                                            \
        return rank;                                                                        \
    }                                                                                       \
    SX_FN uint64_t sx_##name##_rank_of_slot(const struct sx_part_##name *t, uint64_t slot)  \
    {                                                                                       \
        (void)t;                                                                            \
        return slot;                                                                        \
    }                                                                                       \
    SX_FN int sx_##name##_gaps(const struct sx_part_##name *t)                              \
    {                                                                                       \
        (void)t;                                                                            \
        return 0;                                                                           \
    }                                                                                       \
    SX_FN uint64_t sx_##name##_stretch_count(const struct sx_part_##name *t, uint64_t a,    \
                                             uint64_t b)                                    \
    {                                                                                       \
        (void)t;                                                                            \
        (void)a;                                                                            \
        (void)b;                                                                            \
        return 1;                                                                           \
    }                                                                                       \
    SX_FN sx_stretch sx_##name##_stretch_of(const struct sx_part_##name *t, uint64_t i,     \
                                            uint64_t a, uint64_t b)                         \
    {                                                                                       \
        (void)t;                                                                            \
        (void)i;                                                                            \
        return sx_stretch_whole(a, b);                                                      \
    }                                                                                       \
    SX_FN sx_stretch_ranks sx_##name##_stretch_begin(const struct sx_part_##name *t,        \
                                                     const sx_stretch *r, uint64_t j)       \
    {                                                                                       \
        (void)t;                                                                            \
        return sx_ranks_from(r->first + j);                                                 \
    }                                                                                       \
    SX_FN uint64_t sx_##name##_stretch_next(const struct sx_part_##name *t,                 \
                                            sx_stretch_ranks *it)                           \
    {                                                                                       \
        (void)t;                                                                            \
        return it->at++;                                                                    \
    }

#endif
