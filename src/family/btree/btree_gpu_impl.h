/* btree_gpu_impl.h - btree_gpu.cu for one width of key. */
#include "family/generic/gpu_begin.h"
#include "family/generic/gpu_columns_impl.h"
#include "family/generic/gpu_near_impl.h"
#include "family/generic/gpu_halving_impl.h"
#include "family/btree/btree_bound_impl.h"

SX_DEV uint64_t F(bound_near)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                              const unsigned char *top, uint64_t top_bytes)
{
    *slot = SX_NO_SLOT;
    return v->n == 0 ? 0 : F(btree_bound)(v, q, slot, unit, top, top_bytes);
}

SX_DEV void F(fill_top)(const sx_gpu_lookup *ap)
{
    if (ap->top_bytes > 0)
        F(fill_copy)(ap, SX_GPU_VIEW(&ap->views)->of.btree.nodes);
}

#include "family/generic/gpu_bound_impl.h"
#include "family/generic/gpu_points_impl.h"
#include "family/generic/gpu_ascending_impl.h"
#include "family/generic/gpu_ranges_impl.h"
#include "family/generic/gpu_climb_impl.h"
#include "family/generic/gpu_reorders_impl.h"
#include "family/generic/gpu_leaf_impl.h"
#include "family/generic/gpu_line_impl.h"

SX_DEV uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(btree_enter)(v, l, at);
}

SX_DEV uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(btree_step)(v, l, at, q);
}
#include "family/generic/gpu_steps_impl.h"

/* ---- lanes that search together ----------------------------------------------------- */

#if GPU_LAB
#include "family/generic/gpu_group_impl.h"

SX_DEV uint64_t F(group_bound)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    const sx_btree *t = &v->of.btree;
    uint64_t at = 0;
    unsigned c;

    *slot = SX_NO_SLOT;
    if (v->n == 0)
        return 0;
    for (uint32_t l = 0; l < t->levels; l++)
        at = F(btree_child)(t->k, at, F(group_node)(v, F(btree_node)(t, l, at), 1, 0,
                                                    SX_BTREE_LINE / W, w, ap->lanes),
                            F(btree_last_child)(t, l));
    c = F(group_node)(v, F(btree_leaf)(v, at), 1, 0, ap->unit, w, ap->lanes);
    *slot = F(btree_slot)(v->n, at, c, ap->unit);
    return F(btree_position)(v->n, at, c, ap->unit);
}

#define SX_GROUP_KERNEL
#include "family/generic/gpu_group_impl.h"
#undef SX_GROUP_KERNEL
#endif

/* ---- lanes that read together ----------------------------------------------------------- */

/* Down to a leaf. Levels that are near are read there by each lane alone. */
SX_DEV uint32_t F(shared_levels)(const sx_gpu_lookup *ap, KEY w, unsigned lanes)
{
    const sx_btree *t = &SX_GPU_VIEW(&ap->views)->of.btree;
    unsigned me = SX_LANE & (lanes - 1);
    uint32_t at = 0;
    KEY ws[4];

    SX_UNROLL
    for (unsigned j = 0; j < lanes; j++)
        ws[j] = F(shuffle_key)(w, SX_LANE - me + j);
    for (uint32_t l = 0; l < t->levels; l++) {
        uint32_t node = ap->node_first[l] + at, c;
        if (l < ap->near_levels)
            c = F(count_alone)(SX_SHARED + node * SX_BTREE_LINE, w);
        else
            c = F(count_lines)(t->nodes, node, ws, lanes);
        at = at * t->k + c;
        at = at < ap->last_child[l] ? at : ap->last_child[l];
    }
    return at;
}

/* get: SX_OP_GET with rows and without keys, which is asked most and can do with fewer
 * registers. */
SX_DEV void F(ask_shared)(const sx_gpu_lookup *ap, uint32_t rows, int get)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    const uint32_t keys = SX_BTREE_LINE / (W + rows);

    F(fill_top)(ap);
    /* Lanes past the end ask the last question again: all must take part. */
    for (uint32_t base = (uint32_t)SX_THREAD - SX_LANE, n = (uint32_t)ap->n; base < n;
         base += (uint32_t)SX_THREADS) {
        uint32_t i = base + SX_LANE < n ? base + SX_LANE : n - 1, at;
        uint64_t slot, number;
        int end = 0;
        KEY w = F(read_query)(ap->key_type, ap->q, i);
        F(leaf) leaf;
        if (!get)
            w = F(walked)(w, sx_side_of(ap->op), &end);
        at = F(shared_levels)(ap, w, SX_BTREE_LANES);
        leaf = F(read_line)(v->keys, at, w, keys, rows, rows ? SX_BTREE_ROWS_AT(W, rows) : 0, 0,
                            W == 16 ? 1 : 2);
        number = leaf.row | (uint64_t)leaf.row_high << 32;
        if (get) {                /* unused slots have no key */
            int hit = leaf.equal && (uint64_t)at * keys + leaf.below < v->n;
            sx_put_result(ap->out, ap->out_bytes, i, hit ? number : SX_MISS);
            continue;
        }
        slot = F(btree_slot)(v->n, at, leaf.below, keys);
        if (ap->op == SX_OP_GET && !leaf.equal)
            slot = SX_NO_SLOT;
        if (ap->op != SX_OP_GET || rows == 0)
            number = F(number)(ap, w, F(bounded_slot)(v, end, F(btree_position)(v->n, at, leaf.below,
                                                                                keys), &slot),
                               &slot, 1);
        else if (slot == SX_NO_SLOT)
            number = SX_MISS;
        F(put)(ap, i, number, slot);
    }
}

#define SX_LINE_KERNELS
#include "family/generic/gpu_line_impl.h"
#undef SX_LINE_KERNELS

/* ---- building ------------------------------------------------------------------------- */

SX_KERNEL(F(k_nodes), sx_gpu_build)
{
    const sx_btree *t = &ap->v.of.btree;
    const KEY *from = (const KEY *)ap->from_keys;
    KEY *to = (KEY *)(void *)ap->own[0];
    uint32_t places = SX_BTREE_LINE / W;

    for (uint64_t i = SX_THREAD; i < t->first[t->levels] * places; i += SX_THREADS) {
        uint64_t g = i / places, source = ap->v.n;
        uint32_t l = 0, j = (uint32_t)(i % places);
        while (l + 1 < t->levels && t->first[l + 1] <= g)
            l++;
        if (j + 1 < t->k)
            source = sx_btree_source(t, l, g - t->first[l], j);
        to[i] = source < ap->v.n ? from[source] : (KEY)~(KEY)0;
    }
}

#include "family/generic/gpu_end.h"
