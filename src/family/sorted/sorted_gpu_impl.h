/* sorted_gpu_impl.h - sorted_gpu.cu for one width of key. */
#include "family/generic/gpu_begin.h"
#include "family/generic/gpu_columns_impl.h"
#include "family/generic/gpu_near_impl.h"
#include "family/generic/gpu_halving_impl.h"
#include "family/sorted/sorted_bound_impl.h"

SX_DEV uint64_t F(bound_near)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                              const unsigned char *top, uint64_t top_bytes)
{
    *slot = SX_NO_SLOT;
    return v->n == 0 ? 0 : F(sorted_bound)(v, q, slot, unit, top, top_bytes);
}

SX_DEV void F(fill_top)(const sx_gpu_lookup *ap)
{
    if (ap->top_bytes > 0)
        F(fill_halvings)(ap, F(array_units)(SX_GPU_VIEW(&ap->views), ap->unit));
}

#include "family/generic/gpu_bound_impl.h"
#include "family/generic/gpu_points_impl.h"
#include "family/generic/gpu_ascending_impl.h"
#include "family/generic/gpu_ranges_impl.h"
#include "family/generic/gpu_climb_impl.h"
#include "family/generic/gpu_reorders_impl.h"
#if GPU_LAB
#include "family/generic/gpu_group_impl.h"

SX_DEV uint64_t F(group_bound)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    uint32_t unit = ap->unit, lanes = ap->lanes;
    uint64_t at;

    *slot = SX_NO_SLOT;
    if (v->n == 0)
        return 0;
    at = F(group_window)(v, 0, F(array_units)(v, unit), w, unit, lanes);
    return F(array_slot)(v, F(array_rank)(v, at, F(group_node)(v, F(array_unit)(v, at, unit), 1, 0,
                                                               unit, w, lanes), unit), slot);
}

#define SX_GROUP_KERNEL
#include "family/generic/gpu_group_impl.h"
#undef SX_GROUP_KERNEL
#endif

#include "family/generic/gpu_end.h"
