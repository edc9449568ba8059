/* pgm_gpu_impl.h - pgm_gpu.cu for one width of key. */
#include "family/generic/gpu_begin.h"
#include "family/generic/gpu_columns_impl.h"
#include "family/generic/gpu_near_impl.h"
#include "family/pgm/pgm_bound_impl.h"

SX_DEV uint64_t F(bound_near)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                              const unsigned char *top, uint64_t top_bytes)
{
    *slot = SX_NO_SLOT;
    return v->n == 0 ? 0 : F(pgm_bound)(v, q, slot, unit, top, top_bytes);
}

/* Keys, then as many records. */
SX_DEV void F(fill_top)(const sx_gpu_lookup *ap)
{
    const sx_pgm *t = &SX_GPU_VIEW(&ap->views)->of.pgm;
    uint32_t keys = ap->top_bytes / (W + SX_SEGMENT) * W;

    if (ap->top_bytes == 0)
        return;
    for (uint32_t i = SX_TID * 16; i < ap->top_bytes; i += SX_BLOCK_THREADS * 16)
        *(uint4 *)(void *)(SX_SHARED + i) =
            sx_load16(i < keys ? t->segment_keys + i : t->segments + (i - keys));
    SX_BARRIER();
}

#include "family/generic/gpu_bound_impl.h"
#include "family/generic/gpu_points_impl.h"
#include "family/generic/gpu_ascending_impl.h"
#include "family/generic/gpu_ranges_impl.h"
#include "family/generic/gpu_climb_impl.h"
#include "family/generic/gpu_reorders_impl.h"

#if GPU_LAB
SX_KERNEL_1024(F(k_constant), sx_gpu_lookup_constant)
{
    const sx_gpu_lookup *a = &ap->a;

    for (uint64_t i = SX_THREAD; i < a->n; i += SX_THREADS) {
        KEY q = F(read_query)(a->key_type, a->q, i);
        uint64_t slot, at = F(bound)(SX_GPU_VIEW(&a->views), q, sx_side_of(a->op), &slot, a->unit,
                                     (const unsigned char *)ap->top, a->top_bytes);
        uint64_t number = F(number)(a, q, at, &slot, 0);
        F(put)(a, i, number, slot);
    }
}
#endif

SX_DEV uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(pgm_enter)(v, l, at);
}

SX_DEV uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(pgm_step)(v, l, at, q);
}
#include "family/generic/gpu_steps_impl.h"

#if GPU_LAB
/* There is nothing to share: all lanes do the same. */
SX_DEV uint64_t F(group_bound)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    return F(bound_near)(SX_GPU_VIEW(&ap->views), w, slot, ap->unit, 0, 0);
}

#define SX_GROUP_KERNEL
#include "family/generic/gpu_group_impl.h"
#undef SX_GROUP_KERNEL
#endif

/* ---- lanes that read together --------------------------------------------------------- */

#include "family/generic/gpu_leaf_impl.h"

SX_DEV uint32_t F(find_window)(const sx_gpu_lookup *ap, KEY w, uint32_t *from, uint32_t *to)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    uint32_t shift = sx_log2(ap->unit);
    uint64_t count;
    uint64_t start = F(pgm_window)(v, F(pgm_segment_near)(v, w, SX_SHARED, ap->top_bytes), w, &count);

    *from = (uint32_t)(start >> shift);
    *to = (uint32_t)((start + count + ap->unit - 1) >> shift);
    return (uint32_t)(sx_min64(start + count / 2, v->slots - 1) >> shift);
}

#define SX_BESIDE 0u
#include "family/generic/gpu_window_impl.h"
#undef SX_BESIDE

/* ---- building ------------------------------------------------------------------------- */

#include "family/pgm/pgm_fit_impl.h"

#include "family/pgm/pgm_lanes_impl.h"

/* SX_FIT_LANES lanes of a warp fit the segments of a part. */
SX_KERNEL(F(k_fit), sx_gpu_fit)
{
    uint64_t groups = 32 / SX_FIT_LANES;
    F(near_corner) *hulls = (F(near_corner) *)(void *)SX_SHARED +
                            SX_TID / SX_FIT_LANES * (2 * SX_FIT_NEAR);

    for (uint64_t warp = SX_THREAD / 32; warp * groups < ap->parts; warp += SX_THREADS / 32) {
        uint64_t p = warp * groups + SX_LANE / SX_FIT_LANES, first = 0, end = 0, count;
        if (p < ap->parts) {
            first = sx_pgm_part(ap->n, ap->parts, p);
            end = sx_pgm_part(ap->n, ap->parts, p + 1);
        }
        count = F(near_fit_part)((const KEY *)ap->below, ap->n, first, end, ap->eps, hulls,
                                 (KEY *)(void *)ap->keys + p * ap->space,
                                 ap->segments + p * ap->space);
        if (p < ap->parts && SX_LANE % SX_FIT_LANES == 0)
            ap->count[p] = count;
    }
}

/* SX_AGAIN_LANES lanes of a warp fit the segments of a part each, of those that need more
 * memory. */
SX_KERNEL(F(k_fit_again), sx_gpu_fit)
{
    if (SX_LANE >= SX_AGAIN_LANES)
        return;
    for (uint64_t p = SX_THREAD / 32 * SX_AGAIN_LANES + SX_LANE; p < ap->parts;
         p += SX_THREADS / 32 * SX_AGAIN_LANES) {
        uint64_t place = ap->count[p] - SX_FIT_AGAIN;
        if (ap->count[p] >= SX_FIT_AGAIN)
            ap->count[p] = F(pgm_fit_part)((const KEY *)ap->below, ap->n,
                                           sx_pgm_part(ap->n, ap->parts, p),
                                           sx_pgm_part(ap->n, ap->parts, p + 1), ap->eps,
                                           ap->hulls + place * ap->hull_space,
                                           (KEY *)(void *)ap->keys + p * ap->space,
                                           ap->segments + p * ap->space);
    }
}

/* Segments of all parts, one behind the other: count[p] is where those of part
 * p go. */
SX_KERNEL(F(k_collect), sx_gpu_fit)
{
    for (uint64_t i = SX_THREAD; i < ap->total; i += SX_THREADS) {
        uint64_t p = 0, len = ap->parts, from;
        while (len > 1) {         /* the last part that does not begin behind i */
            uint64_t half = len / 2;
            p += ap->count[p + half] <= i ? half : 0;
            len -= half;
        }
        from = p * ap->space + (i - ap->count[p]);
        ((KEY *)(void *)ap->to_keys)[i] = ((const KEY *)(const void *)ap->keys)[from];
        ap->to_segments[i] = ap->segments[from];
    }
}

/* The entries of a level: segments, the end, and what is behind it. */
SX_KERNEL(F(k_level), sx_gpu_fit)
{
    for (uint64_t i = SX_THREAD; i < ap->entries; i += SX_THREADS) {
        sx_segment s;
        s.slope = 0;
        s.base = i == ap->total ? ap->n << 16 : 0;
        ((KEY *)(void *)ap->to_keys)[i] = i < ap->total ? ((const KEY *)ap->below)[i] : (KEY)~(KEY)0;
        ap->to_segments[i] = i < ap->total ? ap->segments[i] : s;
    }
}

#include "family/generic/gpu_end.h"
