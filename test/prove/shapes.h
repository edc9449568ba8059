/* shapes.h - what the proofs assume of a view: facts about shapes, one function a family.
 *
 * The proofs assume these of a view and nothing else, so they hold for every index that
 * sx_shape() and a family's complete() let through. test_prove_shapes.c asserts them of the
 * views that these functions make, so that neither can change alone.
 *
 * Facts about levels are about one level, which the caller picks: a proof of a step needs
 * those of its own level, a test asks for all. */
#ifndef SX_PROVE_SHAPES_H
#define SX_PROVE_SHAPES_H

#include "family/view.h"

#define SX_BLOCK_MOST 64u         /* SX_BLOCK_MAX of spec.h */

/* a is a multiple of b, a power of two. */
static inline int multiple_of(uint64_t a, uint64_t b)
{
    return (a & (b - 1)) == 0;
}

static inline int power_of_two(uint64_t a)
{
    return a && !(a & (a - 1));
}

/* Not more than keys and slots can be. Written in bits, which a solver sees at once. */
static inline int small(uint64_t a)
{
    return a >> 50 == 0;
}

/* Slots in whole lines and whole blocks, of either layout. */
static inline int head_is(const sx_view *v)
{
    uint64_t line = 64 / v->width, whole = v->block > line ? v->block : line;

    if (!small(v->n) || !small(v->slots) || v->n < 1 || v->n > SX_KEYS_MAX || v->slots < v->n || !multiple_of(v->slots, whole) ||
        v->slots - v->n >= whole + SX_K_MAX)
        return 0;
    if (v->block == 0)
        return v->block_shift == 63;
    return power_of_two(v->block) && v->block <= SX_BLOCK_MOST && v->block_shift == sx_log2(v->block) &&
           v->row_bytes > 0 && v->block_bytes == v->block * (uint64_t)(v->width + v->row_bytes) &&
           v->block * v->row_bytes >= v->width && v->block * v->width >= v->row_bytes;
}

/* How a walk may compare keys where it ends: one by one, or in pieces of 16, 32 or 64 bytes
 * that are aligned to 16. In pairs these pieces are blocks. */
static inline int unit_is(const sx_view *v, uint32_t unit)
{
    uint32_t bytes = unit * v->width;

    if (unit == 1)
        return 1;
    return (bytes == 16 || bytes == 32 || bytes == 64) &&
           (v->block == 0 || (v->block == unit && v->block_bytes % 16 == 0));
}

/* Slots that are ranks: as few as there can be. */
static inline int array_is(const sx_view *v)
{
    uint64_t line = 64 / v->width, whole = v->block > line ? v->block : line;

    return head_is(v) && v->slots - v->n < whole && unit_is(v, v->unit);
}

static inline int sorted_is(const sx_view *v)
{
    return array_is(v);
}

/* With levels, a unit is a node's keys. */
static inline int pivot_is(const sx_view *v)
{
    const sx_pivot *t = &v->of.pivot;

    return array_is(v) && t->k >= 2 && t->k <= SX_K_MAX &&
           (v->unit == 1 || t->levels == 0 || v->unit == t->k - 1u) &&
           t->levels <= SX_LEVELS_MAX && t->window >= 1 && t->window <= SX_KEYS_MAX * 64 &&
           t->windows >= 1 && small(t->windows) && small(t->first[t->levels]) &&
           small(SX_TIMES(t->first[t->levels], t->k - 1u));
}

/* Level l < levels has nodes. */
static inline int pivot_level_is(const sx_view *v, uint32_t l)
{
    const sx_pivot *t = &v->of.pivot;

    return small(t->first[l]) && small(t->first[l + 1]) && t->first[l] < t->first[l + 1] &&
           t->first[l + 1] <= t->first[t->levels];
}

/* The keys of node `at` of level l are among all. If they are compared at once, whole nodes
 * are before them. */
static inline int pivot_node_is(const sx_view *v, uint32_t l, uint64_t at)
{
    const sx_pivot *t = &v->of.pivot;
    uint64_t m = t->k - 1u, before = SX_TIMES(t->first[l] + at, m);

    return small(at) && small(before) && before + m <= SX_TIMES(t->first[t->levels], m) &&
           (!power_of_two(m) || multiple_of(before, m));
}

/* Leaves in whole lines, of pairs or of keys, and nodes above them. */
static inline int btree_is(const sx_view *v)
{
    const sx_btree *t = &v->of.btree;
    uint64_t line = 64 / v->width, places = t->leaf == 5 ? 8 : t->leaf == 3 ? 4 : t->leaf;

    if (!small(v->n) || v->n < 1 || v->n > SX_KEYS_MAX || !small(t->leaves) || t->leaves < 1 ||
        t->k < 2 || t->k > line + 1 || t->levels > SX_LEVELS_MAX || !small(t->first[t->levels]) ||
        v->unit != t->leaf || v->n > t->leaves * t->leaf || v->n <= (t->leaves - 1) * t->leaf ||
        v->slots != t->leaves * places)
        return 0;
    if (v->block == 0)
        return t->leaf == line && v->block_shift == 63;
    return t->leaf == 64 / (v->width + v->row_bytes) && v->block == places &&
           v->block_shift == sx_log2(v->block) && v->block_bytes == 64 && v->row_bytes > 0 &&
           t->rows_at >= t->leaf * v->width && t->rows_at % v->row_bytes == 0 &&
           t->rows_at + t->leaf * v->row_bytes <= 64;
}

/* Level l < levels has nodes. */
static inline int btree_level_is(const sx_view *v, uint32_t l)
{
    const sx_btree *t = &v->of.btree;

    return small(t->first[l]) && small(t->first[l + 1]) && t->first[l] < t->first[l + 1] &&
           t->first[l + 1] <= t->first[t->levels];
}

/* Pools of nodes and leaves; a leaf has a power of two of slots. */
static inline int bplus_is(const sx_view *v)
{
    const sx_bplus *t = &v->of.bplus;
    uint64_t line = 64 / v->width;

    if (!small(v->n) || v->n < 1 || v->n > SX_KEYS_MAX || t->leaves < 1 ||
        t->last_pool < t->leaves || t->last_pool >> 32 || t->inner_pool < t->inner ||
        t->inner_pool >> 32 || t->levels < 1 || t->levels > SX_BPLUS_LEVELS ||
        (t->levels > 1) != (t->inner > 0) || 1u << t->fan_shift != line * line ||
        !power_of_two(t->leaf) || t->slot_shift != t->fan_shift + sx_log2(t->leaf) ||
        v->unit != t->leaf || v->slots != t->last_pool << t->slot_shift ||
        t->root >= (t->levels > 1 ? t->inner_pool : t->last_pool) || v->n > v->slots ||
        t->each < 1 || t->each > 1ull << t->slot_shift || t->more >= t->leaves)
        return 0;
    if (v->block == 0)
        return t->leaf == line && v->block_shift == 63;
    return v->block == t->leaf && v->block_shift == sx_log2(v->block) && v->block_bytes == 64 &&
           v->row_bytes > 0 && t->leaf * v->width <= 32 && t->leaf * v->row_bytes <= 32;
}

/* Full levels, and a bottom. */
static inline int eytzinger_is(const sx_view *v)
{
    const sx_eytzinger *e = &v->of.eytzinger;
    uint64_t above = e->level_first[e->levels];

    return head_is(v) && e->k >= 2 && e->k <= SX_K_MAX && e->levels <= SX_LEVELS_MAX &&
           small(above) && small(e->bottom) && v->n == above + e->bottom &&
           v->unit == sx_eytz_unit(e->k, v->width, v->block, v->block_bytes);
}

/* If nodes are powers of two, the keys before a node are a multiple of its keys. Before a node
 * that is not there, they may be k times as many as all. */
static inline int eytzinger_keys_are(const sx_view *v, uint64_t keys)
{
    uint64_t m = v->of.eytzinger.k - 1;

    return keys >> 55 == 0 && (!power_of_two(m) || multiple_of(keys, m));
}

/* Node g of full level t, which has level_first[t] + 1 nodes: it ends before the next level
 * begins, and so do its children there. */
static inline int eytzinger_level_is(const sx_view *v, uint32_t t, uint64_t g)
{
    const sx_eytzinger *e = &v->of.eytzinger;
    uint64_t m = e->k - 1, first = e->level_first[t], next = e->level_first[t + 1];
    uint64_t before = SX_TIMES(g, m), children = SX_TIMES(g, m + 1);

    return small(g) && small(first) && small(next) && small(children) &&
           eytzinger_keys_are(v, first) && eytzinger_keys_are(v, before) && g <= first &&
           next <= e->level_first[e->levels] && first + before + m <= next &&
           children + m <= next;
}

/* Node g of the bottom, if it has keys there, is whole. */
static inline int eytzinger_node_is(const sx_view *v, uint64_t g)
{
    const sx_eytzinger *e = &v->of.eytzinger;
    uint64_t m = e->k - 1, first = e->level_first[e->levels], before = SX_TIMES(g, m);

    return small(g) && eytzinger_keys_are(v, first) && eytzinger_keys_are(v, before) &&
           (before >= e->bottom || first + before + m <= v->slots);
}

static inline int guide_is(const sx_view *v)
{
    const sx_guide *g = &v->of.guide;

    return array_is(v) && g->pieces >= 1 && g->pieces <= SX_PIECES_MAX &&
           g->piece_cells >= 1 && g->piece_cells <= SX_PIECE_CELLS_MAX;
}

/* What the section `tree` can say: the state of a node, and nodes; or all keys in a window. */
static inline int radix_is(const sx_view *v)
{
    const sx_radix *t = &v->of.radix;

    return array_is(v) && t->leaf >= 1 && t->leaf <= SX_RADIX_LEAF_MAX && t->levels <= v->width &&
           t->units <= SX_RADIX_AT &&
           (t->levels == 0 ? t->units == 0 && (t->root & SX_RADIX_DONE) != 0
                           : t->units > 0 && t->root >> 52 == 0 && (t->root & SX_RADIX_AT) == 0);
}

static inline int pgm_is(const sx_view *v)
{
    const sx_pgm *t = &v->of.pgm;

    return array_is(v) && v->n <= SX_PGM_MOST && t->eps >= 1 &&
           t->eps <= SX_EPS_MAX && t->eps2 >= 1 && t->eps2 <= SX_EPS2_MAX && t->levels >= 1 &&
           t->levels <= SX_PGM_LEVELS &&
           t->level_first[t->levels] <= SX_PGM_MOST * 32;
}

/* Level l < levels. */
static inline int pgm_level_is(const sx_view *v, uint32_t l)
{
    const sx_pgm *t = &v->of.pgm;

    return small(t->level_count[l]) && small(t->level_first[l]) && small(t->level_first[l + 1]) &&
           small(t->level_first[t->levels]) && t->level_count[l] >= 1 && t->level_count[l] <= v->n &&
           multiple_of(t->level_first[l], 16) && t->level_first[l] <= SX_PGM_MOST * 32 &&
           t->level_first[l + 1] == t->level_first[l] + sx_level_entries(t->level_count[l]) &&
           t->level_first[l + 1] <= t->level_first[t->levels];
}

#endif
