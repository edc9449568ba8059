/* eytzinger_gpu.cu - walks in a tree in level order on a GPU. */
#define SX_UNIT_OF SX_FAM_EYTZ
#include "family/family_gpu.h"
#define SX_REORDERS 1             /* its plans sort questions */
#define GPU_LAUNCH_ALONE(w) LAUNCH_ALONE_##w
#define LAUNCH_ALONE_4                               \
    if (a->unit == 64 / 4 && a->top_bytes == 0)      \
        GPU_LAUNCH_PLAN(k_lines_4);                  \
    else                                             \
        GPU_LAUNCH_PLAN(k_lookup_4)
#define LAUNCH_ALONE_8 GPU_LAUNCH_PLAN(k_lookup_8)
#define LAUNCH_ALONE_16 GPU_LAUNCH_PLAN(k_lookup_16)
#include "family/generic/gpu_launch.h"
#include "family/shape.h"

#define SX_BODY "family/eytzinger/eytzinger_gpu_impl.h"
#include "family/generic/gpu_each.h"

/* The top of the tree is in L1 anyway. Binary trees have many steps, so there it pays to
 * sort questions, and to sort results back. */
static sx_gpu_habits habits(const sx_gpu *g, const sx_view *v)
{
    sx_gpu_habits h = {0, 0, SX_REORDER_NONE, 0, 0, 0, 0, 0};

    (void)g;
    h.reorder = v->unit == 1 ? SX_REORDER_DOUBLE : SX_REORDER_NONE;
    h.lanes = gpu_group_lanes(v->of.eytzinger.k - 1);
    return h;
}

static uint64_t search_bytes(const sx_view *v, const void **top)
{
    *top = v->keys;
    return sx_section_bytes(v, v->block ? SX_SEC_PAIRS : SX_SEC_KEYS);
}

static uint32_t staged_bytes(const sx_view *v, uint32_t staged, uint64_t space)
{
    const sx_eytzinger *e = &v->of.eytzinger;
    const void *top;
    uint64_t node = v->block ? v->block_bytes / v->block : v->width, bytes;

    if (v->unit == 0 && v->block)
        return 0;                 /* nodes in pieces */
    bytes = gpu_staged_section(search_bytes(v, &top), staged, space);
    for (uint32_t l = 0; bytes == 0 && l < e->levels && e->level_first[l + 1] * node <= space; l++)
        if (l + 1 == e->levels || e->level_first[l + 2] * node > space)
            bytes = e->level_first[l + 1] * node;
    return (uint32_t)(bytes / 16 * 16);
}

#define NONE(w) GPU_LAUNCH_PLAN(k_lookup_##w);
GPU_POINTS_HOST(GPU_LAUNCH_ANY_ORDER, NONE)
GPU_HOSTS
GPU_CLIMB_HOST
GPU_STEPS_HOST

const sx_family_gpu sx_gpu_of_eytzinger = {habits, search_bytes, staged_bytes, NULL, points, spans,
                                           fold, climb, climb_texts, steps, NULL, NULL, NULL};
