/* btree_gpu.cu - walks in a tree of lines on a GPU, and its nodes. */
#define SX_UNIT_OF SX_FAM_BTREE
#include "family/family_gpu.h"
#include "family/generic/gpu_launch.h"
#include "family/shape.h"

/* Lanes that read a node together: 1, 2 or 4. */
#ifndef SX_BTREE_LANES
#define SX_BTREE_LANES 2
#endif
#define SX_BODY "family/btree/btree_gpu_impl.h"
#include "family/generic/gpu_each.h"

/* What leaves have beside pairs: words of 4 bytes. */
SX_KERNEL(k_btree_clear, sx_gpu_build)
{
    const sx_btree *t = &ap->v.of.btree;
    uint32_t keys_end = sx_btree_keys_end(t, ap->v.width);
    uint32_t rows_end = sx_btree_rows_end(t, ap->v.row_bytes);

    for (uint64_t i = SX_THREAD; i < t->leaves; i += SX_THREADS) {
        uint32_t *leaf = (uint32_t *)(void *)(ap->own[0] + i * SX_BTREE_LINE);
        for (uint32_t byte = keys_end; byte < t->rows_at; byte += 4)
            leaf[byte / 4] = 0;
        for (uint32_t byte = rows_end; byte < SX_BTREE_LINE; byte += 4)
            leaf[byte / 4] = 0;
    }
}

static sx_gpu_habits habits(const sx_gpu *g, const sx_view *v)
{
    sx_gpu_habits h = {0, 1, SX_REORDER_NONE, 0, 0, 8, 0, 0};

    (void)g;
    h.lanes = gpu_group_lanes(SX_BTREE_LINE / v->width);
    h.windows = v->width == 16;   /* kernels of 512 threads, 1536 at a time */
    return h;
}

static uint64_t search_bytes(const sx_view *v, const void **top)
{
    *top = v->of.btree.nodes;
    return sx_section_bytes(v, SX_SEC_NODES);
}

static uint32_t staged_bytes(const sx_view *v, uint32_t staged, uint64_t space)
{
    const sx_btree *t = &v->of.btree;
    const void *top;
    uint64_t bytes = gpu_staged_section(search_bytes(v, &top), staged, space);

    if (bytes == 0)
        bytes = t->first[gpu_whole_levels(t->first, t->levels, SX_BTREE_LINE, space)] * SX_BTREE_LINE;
    return (uint32_t)bytes;
}

/* Leaves have 32-bit numbers. */
static void shared_args(const sx_view *v, sx_gpu_lookup *a)
{
    const sx_btree *t = &v->of.btree;

    if (v->n == 0 || t->levels > SX_SHARED_LEVELS || t->leaves >> 32)
        return;
    a->node_bytes = a->leaf_bytes = a->leaf_step = SX_BTREE_LINE;
    gpu_level_args(a, t->first, t->levels, t->leaves);
    a->leaf_key_bytes = t->leaf * (uint32_t)v->width;
}

#define points points_launch
GPU_POINTS_HOST(GPU_LAUNCH_POINTS, GPU_LAUNCH_LINES)
#undef points
GPU_HOSTS
GPU_CLIMB_HOST
GPU_STEPS_HOST

/* Lanes that read together need to know which levels are whole in shared memory. */
static sx_status points(sx_gpu *g, const gpu_plan *p, gpu_stream stream, const sx_gpu_lookup *a,
                        sx_err *err)
{
    const sx_btree *t = &GPU_VIEW->of.btree;
    sx_gpu_lookup with = *a;

    if (t->levels <= SX_SHARED_LEVELS)
        with.near_levels = gpu_whole_levels(t->first, t->levels, SX_BTREE_LINE, a->top_bytes);
    return points_launch(g, p, stream, &with, err);
}

static void fill(sx_gpu *g, gpu_stream stream, const sx_view *v, const void *keys,
                 void *const base[SX_SECTIONS])
{
    sx_gpu_build a = {0};

    a.v = *v;
    a.from_keys = keys;
    a.own[0] = (unsigned char *)base[SX_SEC_NODES];
    if (a.own[0])
        GPU_RUN_W(k_nodes, v->width, v->of.btree.first[v->of.btree.levels] * (SX_BTREE_LINE / v->width),
                  stream, &a);
    if (!sx_btree_full(&v->of.btree, v->width, v->row_bytes)) {
        a.own[0] = (unsigned char *)base[SX_SEC_PAIRS];
        GPU_RUN(k_btree_clear, v->of.btree.leaves, stream, &a);
    }
}

const sx_family_gpu sx_gpu_of_btree = {habits, search_bytes, staged_bytes, shared_args, points,
                                       spans, fold, climb, climb_texts, steps, NULL, fill, NULL};
