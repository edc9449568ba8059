/* pivot_gpu_impl.h - pivot_gpu.cu for one width of key. */
#include "family/generic/gpu_begin.h"
#include "family/generic/gpu_columns_impl.h"
#include "family/generic/gpu_near_impl.h"
#include "family/generic/gpu_halving_impl.h"
#include "family/pivot/pivot_bound_impl.h"

SX_DEV uint64_t F(bound_near)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                              const unsigned char *top, uint64_t top_bytes)
{
    *slot = SX_NO_SLOT;
    return v->n == 0 ? 0 : F(pivot_bound)(v, q, slot, unit, top, top_bytes);
}

SX_DEV void F(fill_top)(const sx_gpu_lookup *ap)
{
    if (ap->top_bytes == 0)
        return;
    if (SX_GPU_VIEW(&ap->views)->of.pivot.levels > 0)
        F(fill_copy)(ap, SX_GPU_VIEW(&ap->views)->of.pivot.pivots);
    else
        F(fill_halvings)(ap, F(pivot_window)(SX_GPU_VIEW(&ap->views), ap->unit));
}

#include "family/generic/gpu_bound_impl.h"
#include "family/generic/gpu_points_impl.h"
#include "family/generic/gpu_ascending_impl.h"
#include "family/generic/gpu_ranges_impl.h"
#include "family/generic/gpu_climb_impl.h"
#include "family/generic/gpu_reorders_impl.h"

SX_DEV uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(pivot_enter)(v, l, at);
}

SX_DEV uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(pivot_step)(v, l, at, q);
}
#include "family/generic/gpu_steps_impl.h"

/* ---- lanes that search together ----------------------------------------------------- */

#if GPU_LAB
#include "family/generic/gpu_group_impl.h"

SX_DEV uint64_t F(group_bound)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    const sx_pivot *t = &v->of.pivot;
    uint32_t unit = ap->unit, lanes = ap->lanes;
    uint64_t at = 0, len;

    *slot = SX_NO_SLOT;
    if (v->n == 0)
        return 0;
    for (uint32_t l = 0; l < t->levels; l++)
        at = F(pivot_child)(t, at, F(group_node)(v, F(pivot_node)(t, l, at, unit), 1, 0, t->k - 1u,
                                                 w, lanes),
                            F(pivot_last_child)(t, l), unit);
    len = F(pivot_window)(v, unit);
    at = F(group_window)(v, F(pivot_begin)(v, at, len, unit), len, w, unit, lanes);
    return F(array_slot)(v, F(array_rank)(v, at, F(group_node)(v, F(array_unit)(v, at, unit), 1, 0,
                                                               unit, w, lanes), unit), slot);
}

#define SX_GROUP_KERNEL
#include "family/generic/gpu_group_impl.h"
#undef SX_GROUP_KERNEL
#endif

/* ---- lanes that read together --------------------------------------------------------- */

#include "family/generic/gpu_leaf_impl.h"

/* Each lane is at a node of `bytes` (32 or 64) and wants its keys below w. `other` is its
 * neighbour's w. Both lanes read both nodes: each takes one half of either. */
SX_DEV unsigned F(count_both)(const sx_gpu_lookup *ap, uint32_t node, KEY w, KEY other,
                              uint32_t bytes)
{
    const unsigned char *pivots = SX_GPU_VIEW(&ap->views)->of.pivot.pivots;
    const unsigned char *half = pivots + (SX_LANE & 1) * (bytes / 2);
    const unsigned char *p = half + (uint64_t)node * bytes;
    const unsigned char *its = half + (uint64_t)SX_SHUFFLE_XOR(node, 1) * bytes;
    uint4 a = sx_load16(p), b = sx_load16(its);
    unsigned mine, for_it;

    if (bytes == 64) {
        uint4 c = sx_load16(p + 16), d = sx_load16(its + 16);
        mine = F(count_16)(a, w) + F(count_16)(c, w);
        for_it = F(count_16)(b, other) + F(count_16)(d, other);
    } else {
        mine = F(count_16)(a, w);
        for_it = F(count_16)(b, other);
    }
    return mine + SX_SHUFFLE_XOR(for_it, 1);
}

/* Down to a leaf. Each lane alone reads levels that are in shared memory. */
SX_DEV uint32_t F(shared_levels)(const sx_gpu_lookup *ap, KEY w, KEY other, uint32_t bytes)
{
    uint32_t at = 0;

    for (uint32_t l = 0; l < ap->levels; l++) {
        uint32_t node = ap->node_first[l] + at;
        unsigned c = 0;
        if (l < ap->near_levels) {
            const KEY *near = (const KEY *)(const void *)(SX_SHARED + node * bytes);
            SX_UNROLL
            for (uint32_t j = 0; j < bytes / W; j++)
                c += near[j] < w;
        } else {
            c = F(count_both)(ap, node, w, other, bytes);
        }
        at = at * (bytes / W + 1) + c;
        at = at < ap->last_child[l] ? at : ap->last_child[l];
    }
    return at;
}

/* For pivots over whole leaves (shared_args()). */
SX_DEV void F(ask_shared)(const sx_gpu_lookup *ap, unsigned lanes, int twice, uint32_t rows)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    F(fill_top)(ap);
    /* Lanes past the last question ask it again: all must take part. */
    for (uint32_t i = (uint32_t)SX_THREAD, n = (uint32_t)ap->n; i - SX_LANE < n;
         i += (uint32_t)SX_THREADS) {
        uint64_t rank;
        int end;
        KEY q = F(read_query)(ap->key_type, ap->q, i < n ? i : n - 1);
        KEY w = F(walked)(q, sx_side_of(ap->op), &end), other = F(shuffle_key)(w, SX_LANE ^ 1);
        uint32_t at;
        F(leaf) leaf;
        i |= (uint32_t)end << 31; /* one register for both: i is below 2^31 here */
        at = ap->node_bytes == 32 ? F(shared_levels)(ap, w, other, 32)
                                  : F(shared_levels)(ap, w, other, 64);
        leaf = F(read_leaf)(ap, at, w, lanes, twice, rows, 1);
        end = (int)(i >> 31);
        i &= ~(1u << 31);
        rank = (uint64_t)at * v->of.pivot.leaf;
        if (rows == 0)            /* the last leaf begins early enough to be whole */
            rank = sx_min64(rank, v->slots - v->of.pivot.leaf);
        if (i < n)
            F(answer)(ap, i, sx_min64(rank + leaf.below, v->n), end, leaf, rows);
    }
}

/* Kernels by how leaves are read: k_shared_W_LANES_TWICE_ROWS. Each has only what
 * it needs, and so few registers that a multiprocessor is full. */
#define SX_SHARED_KERNEL(lanes, twice, rows)                                              \
    SX_KERNEL_2048(NAME5(k_shared, W, lanes, NAME3(twice, rows)), sx_gpu_lookup)          \
    {                                                                                     \
        F(ask_shared)(ap, lanes, twice, rows);                                            \
    }
SX_SHARED_KERNEL(4, 0, 0)
SX_SHARED_KERNEL(8, 0, 0)
SX_SHARED_KERNEL(8, 1, 0)
SX_SHARED_KERNEL(4, 0, 4)
SX_SHARED_KERNEL(8, 0, 4)
SX_SHARED_KERNEL(8, 1, 4)
SX_SHARED_KERNEL(8, 0, 8)
SX_SHARED_KERNEL(8, 1, 8)
#undef SX_SHARED_KERNEL

/* ---- building ------------------------------------------------------------------------- */

SX_KERNEL(F(k_pivots), sx_gpu_build)
{
    const sx_pivot *t = &ap->v.of.pivot;
    const KEY *from = (const KEY *)ap->from_keys;
    KEY *to = (KEY *)(void *)ap->own[0];
    uint64_t m = t->k - 1u;

    for (uint64_t i = SX_THREAD; i < t->first[t->levels] * m; i += SX_THREADS) {
        uint32_t l = 0;
        while (l + 1 < t->levels && t->first[l + 1] * m <= i)
            l++;
        uint64_t source = sx_pivot_source(t, l, i - t->first[l] * m);
        to[i] = source < ap->v.n ? from[source] : (KEY)~(KEY)0;
    }
}

#include "family/generic/gpu_end.h"
