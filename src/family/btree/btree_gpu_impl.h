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
        F(fill_copy)(ap, ap->v.of.btree.nodes);
}

#include "family/generic/gpu_points_impl.h"
#include "family/generic/gpu_far_impl.h"
#include "family/generic/gpu_ascending_impl.h"
#include "family/generic/gpu_ranges_impl.h"
#include "family/generic/gpu_reorders_impl.h"

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
    const sx_view *v = &ap->v;
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
