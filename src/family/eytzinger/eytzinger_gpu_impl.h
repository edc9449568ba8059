/* eytzinger_gpu_impl.h - eytzinger_gpu.cu for one width of key. */
#include "family/generic/gpu_begin.h"
#include "family/generic/gpu_columns_impl.h"
#include "family/generic/gpu_near_impl.h"
#include "family/generic/gpu_halving_impl.h"
#include "family/eytzinger/eytzinger_bound_impl.h"

SX_DEV uint64_t F(bound_near)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                              const unsigned char *top, uint64_t top_bytes)
{
    *slot = SX_NO_SLOT;
    return v->n == 0 ? 0 : F(eytzinger_bound)(v, q, slot, unit, top, top_bytes);
}

SX_DEV void F(fill_top)(const sx_gpu_lookup *ap)
{
    if (ap->top_bytes > 0)
        F(fill_copy)(ap, SX_GPU_VIEW(&ap->views)->keys);
}

#include "family/generic/gpu_bound_impl.h"
#include "family/generic/gpu_points_impl.h"

#if W == 4
/* The same if nodes are lines and none is staged, as it mostly is. For 8-byte keys it was
 * slower than the other kernel on an H200: 7.2 G/s, 8.5. */
SX_KERNEL_1024(F(k_lines), sx_gpu_lookup)
{
    F(ask_alone)(ap, 64 / W, 0, 0);
}
#endif

#include "family/generic/gpu_ranges_impl.h"
#include "family/generic/gpu_climb_impl.h"
#include "family/generic/gpu_reorders_impl.h"

SX_DEV uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(eytz_enter)(v, l, at);
}

SX_DEV uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(eytz_step)(v, l, at, q);
}
#include "family/generic/gpu_steps_impl.h"
#if GPU_LAB
#include "family/generic/gpu_group_impl.h"

SX_DEV uint64_t F(group_bound)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    const sx_eytzinger *e = &v->of.eytzinger;
    uint32_t unit = ap->unit, lanes = ap->lanes;
    uint64_t at = 0;

    *slot = SX_NO_SLOT;
    if (v->n == 0)
        return 0;
    for (uint32_t t = 0; t < e->levels; t++) {
        uint64_t first = F(eytz_first)(v, t, at, unit);
        at = F(eytz_down)(v, first, at, F(group_node)(v, v->keys, 0, first, e->k - 1, w, lanes),
                          slot, unit);
    }
    if (e->bottom == 0)
        return at;
    return F(eytz_end)(v, at, F(group_node)(v, v->keys, 0, F(eytz_last)(v, at, unit), e->k - 1, w,
                                            lanes), slot, unit);
}

#define SX_GROUP_KERNEL
#include "family/generic/gpu_group_impl.h"
#undef SX_GROUP_KERNEL
#endif

#include "family/generic/gpu_end.h"
