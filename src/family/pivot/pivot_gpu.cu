/* pivot_gpu.cu - walks under pivots on a GPU, and the pivots. */
#define SX_UNIT_OF SX_FAM_PIVOT
#include "family/family_gpu.h"
#define SX_REORDERS 1             /* its plans sort questions */
#include "family/generic/gpu_launch.h"
#include "family/shape.h"

#define SX_BODY "family/pivot/pivot_gpu_impl.h"
#include "family/generic/gpu_each.h"

static sx_gpu_habits habits(const sx_gpu *g, const sx_view *v)
{
    sx_gpu_habits h = {0, 1, SX_REORDER_NONE, 0, 0, 8, 0, 0};

    (void)g;
    if (v->of.pivot.levels > 0)
        h.lanes = gpu_group_lanes(v->of.pivot.k - 1u);
    else
        h.reorder = SX_REORDER_LOOKUP;
    return h;
}

static uint64_t search_bytes(const sx_view *v, const void **top)
{
    *top = v->of.pivot.pivots;
    return sx_section_bytes(v, SX_SEC_PIVOTS);
}

static uint32_t staged_bytes(const sx_view *v, uint32_t staged, uint64_t space)
{
    const sx_pivot *t = &v->of.pivot;
    const void *top;
    uint64_t node = (t->k - 1u) * v->width, bytes;

    if (t->levels == 0)
        return gpu_staged_halvings(v, staged, space);
    bytes = gpu_staged_section(search_bytes(v, &top), staged, space);
    if (bytes == 0)
        bytes = t->first[gpu_whole_levels(t->first, t->levels, node, space)] * node;
    return (uint32_t)(bytes / 16 * 16);
}

/* Nodes of 32 or 64 bytes, over whole leaves of up to 256 bytes. */
static void shared_args(const sx_view *v, sx_gpu_lookup *a)
{
    const sx_pivot *t = &v->of.pivot;
    uint64_t key_bytes = t->leaf * (uint64_t)v->width, bytes = v->block ? v->block_bytes : key_bytes;
    uint64_t node_bytes = (t->k - 1u) * (uint64_t)v->width;

    if (t->levels == 0 || t->levels > SX_SHARED_LEVELS || t->window != t->leaf ||
        (v->block && v->block != t->leaf) || key_bytes % 16 || bytes % 16 || bytes > 256 ||
        (node_bytes != 32 && node_bytes != 64) || t->windows >> 32)
        return;
    a->node_bytes = (uint32_t)node_bytes;
    gpu_level_args(a, t->first, t->levels, t->windows);
    a->leaf_bytes = a->leaf_step = (uint32_t)bytes;
    a->leaf_key_bytes = (uint32_t)key_bytes;
    a->leaf_latest = sx_key_offset(v, v->slots - t->leaf);
}

#define SHARED(w) GPU_LAUNCH_LEAVES(k_shared, w)
#define points points_launch
GPU_POINTS_HOST(GPU_LAUNCH_POINTS, SHARED)
#undef points
GPU_HOSTS
GPU_CLIMB_HOST
GPU_STEPS_HOST

/* Lanes that read together need to know which levels are whole in shared memory. */
static sx_status points(sx_gpu *g, const gpu_plan *p, gpu_stream stream, const sx_gpu_lookup *a,
                        sx_err *err)
{
    const sx_view *v = SX_GPU_VIEW(&a->views);
    const sx_pivot *t = &v->of.pivot;
    sx_gpu_lookup with = *a;

    if (t->levels <= SX_SHARED_LEVELS)
        with.near_levels = gpu_whole_levels(t->first, t->levels, (t->k - 1u) * (uint64_t)v->width,
                                            a->top_bytes);
    return points_launch(g, p, stream, &with, err);
}

static void fill(sx_gpu *g, gpu_stream stream, const sx_view *v, const void *keys,
                 void *const base[SX_SECTIONS])
{
    sx_gpu_build a = {0};

    a.v = *v;
    a.from_keys = keys;
    a.own[0] = (unsigned char *)base[SX_SEC_PIVOTS];
    if (a.own[0])
        GPU_RUN_W(k_pivots, v->width, sx_pivot_keys(&v->of.pivot), stream, &a);
}

const sx_family_gpu sx_gpu_of_pivot = {habits, search_bytes, staged_bytes, shared_args, points,
                                       spans, fold, climb, climb_texts, steps, NULL, fill, NULL};
