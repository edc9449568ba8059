/* bplus_gpu.cu - walks in a tree of nodes in pools on a GPU, and its nodes and links. */
#define SX_UNIT_OF SX_FAM_BPLUS
#include "family/family_gpu.h"
#include "family/generic/gpu_launch.h"
#include "family/shape.h"

/* Lanes that read a line of a node together: 1, 2 or 4. */
#ifndef SX_BPLUS_LANES
#define SX_BPLUS_LANES 2
#endif
#define SX_BODY "family/bplus/bplus_gpu_impl.h"
#include "family/generic/gpu_each.h"

/* Children of inner nodes, one a thread, and how many each has. own: their pool, links. */
SX_KERNEL(k_bplus_children, sx_gpu_build)
{
    const sx_bplus *t = &ap->v.of.bplus;
    uint32_t fan = 1u << t->fan_shift;
    uint32_t *sizes = (uint32_t *)(void *)(ap->own[1] + sx_bplus_sizes_at(t));

    for (uint64_t i = SX_THREAD; i < t->inner << t->fan_shift; i += SX_THREADS) {
        uint64_t node = i >> t->fan_shift, g, begin, size, base;
        uint32_t l = 0, j = (uint32_t)i & (fan - 1);
        uint32_t *to = (uint32_t *)(void *)(ap->own[0] + node * SX_BPLUS_INNER(ap->v.width) +
                                            SX_BPLUS_LAST(ap->v.width));
        while (t->first[l + 1] <= node)
            l++;
        g = node - t->first[l];
        begin = sx_bplus_before(sx_bplus_nodes(t, l + 1), sx_bplus_nodes(t, l), g);
        size = sx_bplus_before(sx_bplus_nodes(t, l + 1), sx_bplus_nodes(t, l), g + 1) - begin;
        base = l + 2u < t->levels ? t->first[l + 1] : 0;
        to[j] = j < size ? (uint32_t)(base + begin + j) : 0;
        if (j == 0)
            sizes[node] = (uint32_t)size;
    }
}

/* Records of leaves, and their chain. own[0]: links. */
SX_KERNEL(k_bplus_links, sx_gpu_build)
{
    const sx_bplus *t = &ap->v.of.bplus;
    sx_bplus_record *records = (sx_bplus_record *)(void *)ap->own[0];
    uint32_t *chain = (uint32_t *)(void *)(ap->own[0] + sx_bplus_chain_at(t));

    for (uint64_t p = SX_THREAD; p < t->leaves; p += SX_THREADS) {
        records[p].first = sx_bplus_before(ap->v.n, t->leaves, p);
        records[p].keys = (uint32_t)(sx_bplus_before(ap->v.n, t->leaves, p + 1) - records[p].first);
        records[p].place = chain[p] = (uint32_t)p;
    }
}

/* What lines of leaves have beside pairs: words of 4 bytes. own[0]: pairs. */
SX_KERNEL(k_bplus_clear, sx_gpu_build)
{
    const sx_bplus *t = &ap->v.of.bplus;
    uint32_t keys = t->leaf * ap->v.width, rows = SX_BPLUS_ROWS_AT + t->leaf * ap->v.row_bytes;

    for (uint64_t i = SX_THREAD; i < t->leaves << t->fan_shift; i += SX_THREADS) {
        uint32_t *line = (uint32_t *)(void *)(ap->own[0] + i * SX_BPLUS_LINE);
        for (uint32_t byte = keys; byte < SX_BPLUS_ROWS_AT; byte += 4)
            line[byte / 4] = 0;
        for (uint32_t byte = rows; byte < SX_BPLUS_LINE; byte += 4)
            line[byte / 4] = 0;
    }
}

static sx_gpu_habits habits(const sx_gpu *g, const sx_view *v)
{
    sx_gpu_habits h = {0, 1, SX_REORDER_NONE, 0, 0, 8, 0, 0};

    (void)g;
    h.lanes = gpu_group_lanes(SX_BPLUS_KEYS(v->width));
    h.windows = v->width == 16;   /* kernels of 512 threads, 1536 at a time */
    return h;
}

static uint64_t search_bytes(const sx_view *v, const void **top)
{
    *top = v->of.bplus.nodes;
    return sx_section_bytes(v, SX_SEC_INNER);
}

/* Nodes lie level by level, as they are built. */
static uint32_t near_levels(const sx_view *v, uint64_t space)
{
    const sx_bplus *t = &v->of.bplus;

    return gpu_whole_levels(t->first, t->levels - 1u, SX_BPLUS_INNER(v->width), space);
}

static uint32_t staged_bytes(const sx_view *v, uint32_t staged, uint64_t space)
{
    const void *top;
    uint64_t bytes = gpu_staged_section(search_bytes(v, &top), staged, space);

    if (bytes == 0)
        bytes = v->of.bplus.first[near_levels(v, space)] * SX_BPLUS_INNER(v->width);
    return (uint32_t)bytes;
}

/* Lines of pools have 32-bit numbers. */
static void shared_args(const sx_view *v, sx_gpu_lookup *a)
{
    const sx_bplus *t = &v->of.bplus;

    if (v->n == 0 || (t->last_pool << t->fan_shift) >> 32 ||
        t->inner_pool * (SX_BPLUS_INNER(v->width) / SX_BPLUS_LINE) >> 32)
        return;
    a->node_bytes = a->leaf_bytes = a->leaf_step = SX_BPLUS_LINE;
    a->leaf_key_bytes = t->leaf * (uint32_t)v->width;
}

#define points points_launch
GPU_POINTS_HOST(GPU_LAUNCH_ANY_ORDER, GPU_LAUNCH_LINES)
#undef points
GPU_HOSTS
GPU_CLIMB_HOST
GPU_STEPS_HOST

/* Lanes that read together need to know which levels are whole in shared memory. */
static sx_status points(sx_gpu *g, const gpu_plan *p, gpu_stream stream, const sx_gpu_lookup *a,
                        sx_err *err)
{
    sx_gpu_lookup with = *a;

    if (GPU_VIEW->n > 0)
        with.near_levels = near_levels(GPU_VIEW, a->top_bytes);
    return points_launch(g, p, stream, &with, err);
}

static void fill(sx_gpu *g, gpu_stream stream, const sx_view *v, const void *keys,
                 void *const base[SX_SECTIONS])
{
    const sx_bplus *t = &v->of.bplus;
    uint64_t places = SX_BPLUS_LAST(v->width) / v->width;     /* keys of a node */
    sx_gpu_build a = {0};

    a.v = *v;
    a.from_keys = keys;
    a.own[0] = (unsigned char *)base[SX_SEC_INNER];
    a.own[1] = (unsigned char *)base[SX_SEC_LINKS];
    if (a.own[0]) {
        GPU_RUN_W(k_inner, v->width, t->inner * places, stream, &a);
        GPU_RUN(k_bplus_children, t->inner << t->fan_shift, stream, &a);
    }
    a.own[0] = (unsigned char *)base[SX_SEC_LAST];
    GPU_RUN_W(k_lasts, v->width, t->leaves * places, stream, &a);
    a.own[0] = (unsigned char *)base[SX_SEC_LINKS];
    GPU_RUN(k_bplus_links, t->leaves, stream, &a);
    if (v->block && v->width != v->row_bytes) {
        a.own[0] = (unsigned char *)base[SX_SEC_PAIRS];
        GPU_RUN(k_bplus_clear, t->leaves << t->fan_shift, stream, &a);
    }
}

const sx_family_gpu sx_gpu_of_bplus = {habits, search_bytes, staged_bytes, shared_args, points,
                                       spans, fold, climb, climb_texts, steps, NULL, fill, NULL};
