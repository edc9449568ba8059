/* sorted_gpu.cu - searches in a sorted array on a GPU. */
#define SX_UNIT_OF SX_FAM_SORTED
#include "family/family_gpu.h"
#define SX_REORDERS 1             /* its plans sort questions */
#include "family/generic/gpu_launch.h"

#define SX_BODY "family/sorted/sorted_gpu_impl.h"
#include "family/generic/gpu_each.h"

static sx_gpu_habits habits(const sx_gpu *g, const sx_view *v)
{
    sx_gpu_habits h = {0, 1, SX_REORDER_LOOKUP, 0, 0, 8, 0, 0};

    /* L2 is the limit, unless keys come from L1, which more threads would take from
     * each other. */
    if (v->n * v->width <= g->l2_bytes)
        h.resident = 1024;
    return h;
}

static uint64_t search_bytes(const sx_view *v, const void **top)
{
    (void)v;
    *top = NULL;
    return 0;
}

#define NONE(w) GPU_LAUNCH_PLAN(k_lookup_##w);
GPU_POINTS_HOST(GPU_LAUNCH_POINTS, NONE)
GPU_HOSTS
GPU_CLIMB_HOST

const sx_family_gpu sx_gpu_of_sorted = {habits, search_bytes, gpu_staged_halvings, NULL, points,
                                        spans, fold, climb, climb_texts, NULL, NULL, NULL, NULL};
