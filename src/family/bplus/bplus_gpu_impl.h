/* bplus_gpu_impl.h - bplus_gpu.cu for one width of key. */
#include "family/generic/gpu_begin.h"
#include "family/generic/gpu_columns_impl.h"
#include "family/generic/gpu_near_impl.h"
#include "family/generic/gpu_halving_impl.h"
#include "family/bplus/bplus_bound_impl.h"

SX_DEV uint64_t F(bound_near)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                              const unsigned char *top, uint64_t top_bytes)
{
    *slot = SX_NO_SLOT;
    return v->n == 0 ? 0 : F(bplus_bound)(v, q, slot, unit, top, top_bytes);
}

SX_DEV void F(fill_top)(const sx_gpu_lookup *ap)
{
    if (ap->top_bytes > 0)
        F(fill_copy)(ap, SX_GPU_VIEW(&ap->views)->of.bplus.nodes);
}

#include "family/generic/gpu_bound_impl.h"
#include "family/generic/gpu_points_impl.h"
#include "family/generic/gpu_ranges_impl.h"
#include "family/generic/gpu_climb_impl.h"
#include "family/generic/gpu_reorders_impl.h"
#include "family/generic/gpu_leaf_impl.h"
#include "family/generic/gpu_line_impl.h"

SX_DEV uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(bplus_enter)(v, l, at);
}

SX_DEV uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(bplus_step)(v, l, at, q);
}
#include "family/generic/gpu_steps_impl.h"

/* ---- lanes that search together ----------------------------------------------------- */

#if GPU_LAB
#include "family/generic/gpu_group_impl.h"

SX_DEV uint64_t F(group_bound)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    const sx_bplus *t = &v->of.bplus;
    uint64_t at = t->root, position;
    uint32_t c, d;

    *slot = SX_NO_SLOT;
    if (v->n == 0)
        return 0;
    for (uint32_t l = 0; l < t->levels; l++) {
        const unsigned char *node = F(bplus_node)(t, l, at);
        c = F(group_node)(v, node, 1, 0, SX_BPLUS_KEYS(W), w, ap->lanes);
        d = F(group_node)(v, F(bplus_line)(node, c), 1, 0, SX_BPLUS_KEYS(W), w, ap->lanes);
        at = F(bplus_next)(t, l, at, c, d, F(bplus_latest)(t, l + 1));
    }
    c = F(group_node)(v, F(bplus_leaf)(v, at), 1, 0, ap->unit, w, ap->lanes);
    position = F(bplus_position)(v, at, c, ap->unit);
    *slot = F(bplus_slot)(v, at, c, position, ap->unit);
    return position;
}

#define SX_GROUP_KERNEL
#include "family/generic/gpu_group_impl.h"
#undef SX_GROUP_KERNEL
#endif

/* ---- lanes that read together -----------------------------------------------------------
 *
 * Lines of a pool have 32-bit numbers. */

/* The child that one lane finds alone in a node. */
SX_DEV uint32_t F(child_alone)(const unsigned char *node, KEY w)
{
    uint32_t c = F(bplus_place)(F(count_alone)(node, w));
    uint32_t d = F(count_alone)(F(bplus_line)(node, c), w);

    return *F(bplus_child)(node, c * SX_BPLUS_KEYS(W) + F(bplus_place)(d));
}

/* Down to a line of a leaf. Levels that are near, as a build numbers nodes, are read by each lane
 * alone: in shared memory, unless the node has another number. */
SX_DEV uint32_t F(shared_levels)(const sx_gpu_lookup *ap, KEY w)
{
    const sx_bplus *t = &SX_GPU_VIEW(&ap->views)->of.bplus;
    const uint32_t lines = SX_BPLUS_INNER(W) / SX_BPLUS_LINE;
    const uint32_t near = (uint32_t)ap->top_bytes / SX_BPLUS_INNER(W);    /* nodes there */
    unsigned me = SX_LANE & (SX_BPLUS_LANES - 1);
    uint32_t at = (uint32_t)t->root, line, c, d, l = 0;
    KEY ws[SX_BPLUS_LANES];

    SX_UNROLL
    for (unsigned j = 0; j < SX_BPLUS_LANES; j++)
        ws[j] = F(shuffle_key)(w, SX_LANE - me + j);
    for (; l + 1u < t->levels; l++) {
        uint32_t latest = (uint32_t)F(bplus_latest)(t, l + 1);
        const unsigned char *node = t->nodes + (uint64_t)at * SX_BPLUS_INNER(W);
        if (l < ap->near_levels) {
            at = at < near ? F(child_alone)(SX_SHARED + at * SX_BPLUS_INNER(W), w)
                           : F(child_alone)(node, w);
        } else {
            line = at * lines;
            c = F(bplus_place)(F(count_lines)(t->nodes, line, ws, SX_BPLUS_LANES));
            d = F(count_lines)(t->nodes, line + 1 + c, ws, SX_BPLUS_LANES);
            at = *F(bplus_child)(node, c * SX_BPLUS_KEYS(W) + F(bplus_place)(d));
        }
        at = at < latest ? at : latest;
    }
    line = at * (SX_BPLUS_LAST(W) / SX_BPLUS_LINE);
    c = F(bplus_place)(F(count_lines)(t->lasts, line, ws, SX_BPLUS_LANES));
    d = F(count_lines)(t->lasts, line + 1 + c, ws, SX_BPLUS_LANES);
    return at * SX_BPLUS_FAN(W) + c * SX_BPLUS_KEYS(W) + F(bplus_place)(d);
}

/* get: SX_OP_GET with rows and without keys, which is asked most and can do with fewer
 * registers, and without records. */
SX_DEV void F(ask_shared)(const sx_gpu_lookup *ap, uint32_t rows, int get)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    const uint32_t keys = rows ? SX_BPLUS_ROWS_AT / (W > rows ? W : rows) : SX_BPLUS_KEYS(W);

    F(fill_top)(ap);
    /* Lanes past the end ask the last question again: all must take part. */
    for (uint32_t base = (uint32_t)SX_THREAD - SX_LANE, n = (uint32_t)ap->n; base < n;
         base += (uint32_t)SX_THREADS) {
        uint32_t i = base + SX_LANE < n ? base + SX_LANE : n - 1, at;
        uint64_t slot, number, position;
        int end = 0;
        KEY w = F(read_query)(ap->key_type, ap->q, i);
        F(leaf) leaf;
        if (!get)
            w = F(walked)(w, sx_side_of(ap->op), &end);
        at = F(shared_levels)(ap, w);
        leaf = F(read_line)(v->keys, at, w, keys, rows, SX_BPLUS_ROWS_AT, 1, W == 16 ? 1 : 2);
        number = leaf.row | (uint64_t)leaf.row_high << 32;
        if (get) {                /* unused slots have a row that matches nothing */
            int miss = !leaf.equal || (rows == 4 && leaf.row == SX_MISS32);
            sx_put_result(ap->out, ap->out_bytes, i, miss ? SX_MISS : number);
            continue;
        }
        position = F(bplus_position)(v, at, leaf.below, keys);
        slot = F(bplus_slot)(v, at, leaf.below, position, keys);
        if (ap->op == SX_OP_GET && !leaf.equal)
            slot = SX_NO_SLOT;
        if (ap->op != SX_OP_GET || rows == 0)
            number = F(number)(ap, w, F(bounded_slot)(v, end, position, &slot), &slot, 1);
        else if (slot == SX_NO_SLOT)
            number = SX_MISS;
        F(put)(ap, i, number, slot);
    }
}

#define SX_LINE_KERNELS
#include "family/generic/gpu_line_impl.h"
#undef SX_LINE_KERNELS

/* ---- building ------------------------------------------------------------------------- */

/* Separators and index keys of inner nodes, one a thread. ap->own[0]: their pool. */
SX_KERNEL(F(k_inner), sx_gpu_build)
{
    const sx_bplus *t = &ap->v.of.bplus;
    const KEY *from = (const KEY *)ap->from_keys;
    const uint32_t m = SX_BPLUS_KEYS(W), places = m + m * m;

    for (uint64_t i = SX_THREAD; i < t->inner * places; i += SX_THREADS) {
        uint64_t node = i / places, g, begin, size;
        uint32_t l = 0, place = (uint32_t)(i % places), j = place < m ? (place + 1) * m - 1 : place - m;
        KEY *to = (KEY *)(void *)(ap->own[0] + node * SX_BPLUS_INNER(W));
        while (t->first[l + 1] <= node)
            l++;
        g = node - t->first[l];
        begin = sx_bplus_before(sx_bplus_nodes(t, l + 1), sx_bplus_nodes(t, l), g);
        size = sx_bplus_before(sx_bplus_nodes(t, l + 1), sx_bplus_nodes(t, l), g + 1) - begin;
        to[place] = j + 1 < size ? from[sx_bplus_end(t, ap->v.n, l + 1, begin + j) - 1] : (KEY)~(KEY)0;
    }
}

/* The same of last inner nodes. */
SX_KERNEL(F(k_lasts), sx_gpu_build)
{
    const sx_bplus *t = &ap->v.of.bplus;
    const KEY *from = (const KEY *)ap->from_keys;
    const uint32_t m = SX_BPLUS_KEYS(W), places = m + m * m;

    for (uint64_t i = SX_THREAD; i < t->leaves * places; i += SX_THREADS) {
        uint64_t p = i / places, source;
        uint32_t place = (uint32_t)(i % places), j = place < m ? (place + 1) * m - 1 : place - m;
        KEY *to = (KEY *)(void *)(ap->own[0] + p * SX_BPLUS_LAST(W));
        /* a line that has another behind it */
        source = sx_bplus_before(ap->v.n, t->leaves, p) + (uint64_t)(j + 1) * t->leaf;
        to[place] = source < sx_bplus_before(ap->v.n, t->leaves, p + 1) ? from[source - 1]
                                                                        : (KEY)~(KEY)0;
    }
}

#include "family/generic/gpu_end.h"
