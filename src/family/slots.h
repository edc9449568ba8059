/* slots.h - rank <-> slot for every family (stretch.h). If equal keys are stored once, a rank
 * here is a position (view.h), except for rows.
 *
 * Code that serves one family, as a unit of kernels does, says so before it includes this:
 *     #define SX_UNIT_OF SX_FAM_TAG
 * and has that family's functions alone. All other code asks the view which family it has. */
#ifndef SX_SLOTS_H
#define SX_SLOTS_H

#include "family/stretch.h"
#include "family/view.h"

/* A constant in such a unit, so that the compiler removes the switches. */
#ifdef SX_UNIT_OF
#define SX_SLOTS_FAMILY(v) ((uint32_t)(SX_UNIT_OF))
#else
#define SX_SLOTS_FAMILY(v) ((v)->family)
#endif

/* rank < n */
SX_FN uint64_t sx_slot_of_rank(const sx_view *v, uint64_t rank)
{
    switch (SX_SLOTS_FAMILY(v)) {
#define SX_FAMILY(TAG, name) \
    case SX_FAM_##TAG: return sx_##name##_slot_of_rank(&v->of.name, rank);
#include "family/families.def"
#undef SX_FAMILY
    default: return rank;
    }
}

/* slot < slots; n or more: it is unused, or SX_HOLE */
SX_FN uint64_t sx_rank_of_slot(const sx_view *v, uint64_t slot)
{
    switch (SX_SLOTS_FAMILY(v)) {
#define SX_FAMILY(TAG, name) \
    case SX_FAM_##TAG: return sx_##name##_rank_of_slot(&v->of.name, slot);
#include "family/families.def"
#undef SX_FAMILY
    default: return slot;
    }
}

/* Whether there are unused slots, or holes, before the last key. Then there may be many
 * stretches, in order. */
SX_FN int sx_slots_gaps(const sx_view *v)
{
    switch (SX_SLOTS_FAMILY(v)) {
#define SX_FAMILY(TAG, name) \
    case SX_FAM_##TAG: return sx_##name##_gaps(&v->of.name);
#include "family/families.def"
#undef SX_FAMILY
    default: return 0;
    }
}

/* Keys of a block of pairs: as many as its slots, unless numbers of slots have holes. Then a
 * block is what a walk compares at once. */
SX_FN uint32_t sx_block_keys(const sx_view *v)
{
    return v->block && v->unit < v->block && sx_slots_gaps(v) ? v->unit : v->block;
}

/* a < b */
SX_FN uint64_t sx_stretch_count(const sx_view *v, uint64_t a, uint64_t b)
{
    switch (SX_SLOTS_FAMILY(v)) {
#define SX_FAMILY(TAG, name) \
    case SX_FAM_##TAG: return sx_##name##_stretch_count(&v->of.name, a, b);
#include "family/families.def"
#undef SX_FAMILY
    default: return 1;
    }
}

/* Stretch i < sx_stretch_count() of the span; it may be empty. */
SX_FN sx_stretch sx_stretch_of(const sx_view *v, uint64_t i, uint64_t a, uint64_t b)
{
    switch (SX_SLOTS_FAMILY(v)) {
#define SX_FAMILY(TAG, name) \
    case SX_FAM_##TAG: return sx_##name##_stretch_of(&v->of.name, i, a, b);
#include "family/families.def"
#undef SX_FAMILY
    default: return sx_stretch_whole(a, b);
    }
}

/* The ranks of a stretch's keys, from its key j on, one after the other. */
SX_FN sx_stretch_ranks sx_stretch_begin(const sx_view *v, const sx_stretch *r, uint64_t j)
{
    switch (SX_SLOTS_FAMILY(v)) {
#define SX_FAMILY(TAG, name) \
    case SX_FAM_##TAG: return sx_##name##_stretch_begin(&v->of.name, r, j);
#include "family/families.def"
#undef SX_FAMILY
    default: return sx_ranks_from(r->first + j);
    }
}

/* Returns the rank of the key here, then goes on to the next. */
SX_FN uint64_t sx_stretch_next(const sx_view *v, sx_stretch_ranks *it)
{
    switch (SX_SLOTS_FAMILY(v)) {
#define SX_FAMILY(TAG, name) \
    case SX_FAM_##TAG: return sx_##name##_stretch_next(&v->of.name, it);
#include "family/families.def"
#undef SX_FAMILY
    default: return it->at++;
    }
}

/* The same for rows, whose places are ranks if `once`. */
SX_FN uint64_t sx_row_stretch_count(const sx_view *v, uint64_t a, uint64_t b)
{
    return v->starts ? 1 : sx_stretch_count(v, a, b);
}

SX_FN sx_stretch sx_row_stretch_of(const sx_view *v, uint64_t i, uint64_t a, uint64_t b)
{
    return v->starts ? sx_stretch_whole(a, b) : sx_stretch_of(v, i, a, b);
}

/* A rank for question i, if any will do: `ahead` of one that depends on i alone. Such ranks are
 * all over the n keys, and those of neighbours are far apart. */
SX_FN uint64_t sx_some_rank(uint64_t i, uint32_t ahead, uint64_t n)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull;

    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    x = (x ^ x >> 32) % n + ahead;
    return x < n ? x : n - 1;
}

#endif
