/* radix_gpu.cu - walks in a radix tree on a GPU; and the tree: warps count the nodes that begin
 * in their parts of the keys, and list them; then each node has a warp, which finds its kind and
 * fills it. The host adds up counts and sizes in between. */
#define SX_UNIT_OF SX_FAM_RADIX
#include "family/family_gpu.h"
#define SX_REORDERS 0
#include "family/generic/gpu_launch.h"
#ifdef __cplusplus
extern "C" {
#endif
#include "family/radix/radix_make.h"
#include "family/shape.h"
#ifdef __cplusplus
}
#endif

#define SX_RADIX_PART 1024u       /* keys of a warp */
#define SX_RADIX_SHARED 2064u     /* bytes of a warp: 257 ranks */

typedef struct {
    sx_view v;
    const void *keys;             /* sorted */
    uint64_t parts;
    uint64_t *part;               /* nodes that begin in each; then, of all before it */
    sx_radix_making *nodes;       /* NULL: only count */
    uint64_t count;
    unsigned char *to;
} sx_gpu_radix;

#define SX_BODY "family/radix/radix_gpu_impl.h"
#include "family/generic/gpu_each.h"

/* Windows are short, so a lane reads its own. */
static sx_gpu_habits habits(const sx_gpu *g, const sx_view *v)
{
    sx_gpu_habits h = {1, 0, SX_REORDER_NONE, 0, 0, 2, 0, 0};

    (void)g;
    (void)v;
    return h;
}

static uint64_t search_bytes(const sx_view *v, const void **top)
{
    *top = v->of.radix.nodes;
    return sx_section_bytes(v, SX_SEC_RADIX_NODES);
}

/* Lanes read nothing together, so that SHARED is never asked for. */
#define NONE(w) GPU_LAUNCH_PLAN(k_lookup_##w);
#define LAUNCH_RADIX(w, SHARED)                                  \
    if (!p->ascending && p->reorder == SX_REORDER_NONE &&        \
        p->walk == SX_WALK_ALONE)                                \
        GPU_LAUNCH_PLAN(k_radix_##w);                            \
    else                                                         \
        GPU_LAUNCH_POINTS(w, SHARED)
GPU_POINTS_HOST(LAUNCH_RADIX, NONE)
GPU_HOSTS
GPU_CLIMB_HOST
GPU_STEPS_HOST

static void prefixes(sx_gpu *g, gpu_stream stream, const sx_gpu_spans *a)
{
    GPU_RUN_W(k_radix_prefixes, GPU_VIEW->width, a->n, stream, a);
}

/* ---- building --------------------------------------------------------------------------- */

/* Launches name##_4, name##_8 or name##_16, a warp for each of so many nodes. */
#define RADIX_RUN(name, nodes, stream, args)                                                  \
    SX_LAUNCH(name, sx_gpu_grid(g, (nodes) * 32), GPU_BLOCK, GPU_BLOCK / 32 * SX_RADIX_SHARED, \
              (stream), (args))
#define RADIX_RUN_W(name, width, nodes, stream, args)          \
    do {                                                       \
        if ((width) == 4)                                      \
            RADIX_RUN(name##_4, (nodes), (stream), (args));    \
        else if ((width) == 8)                                 \
            RADIX_RUN(name##_8, (nodes), (stream), (args));    \
        else                                                   \
            RADIX_RUN(name##_16, (nodes), (stream), (args));   \
    } while (0)

/* What is only needed while the tree is made. */
typedef struct {
    void *part, *nodes;           /* on the device */
    uint64_t *host_part;
    sx_radix_making *host_nodes;
} gpu_making;

/* Queues a copy behind what was launched, and waits for both. */
static sx_status fetch(sx_gpu *g, gpu_stream stream, void *to, const void *from, uint64_t bytes,
                       sx_err *err)
{
    sx_status st = sx_gpu_launched(g, "making a radix tree", err);

    if (st == SX_OK)
        st = sx_gpu_copy(g, stream, to, from, bytes, err);
    return st == SX_OK ? sx_gpu_wait(g, stream, "making a radix tree", err) : st;
}

/* Counts become sums: where the nodes of each part go. */
static uint64_t sum_parts(uint64_t *part, uint64_t parts)
{
    uint64_t sum = 0;

    for (uint64_t p = 0; p < parts; p++) {
        uint64_t here = part[p];
        part[p] = sum;
        sum += here;
    }
    return sum;
}

/* The list of nodes, with kinds and sizes, on both sides. */
static sx_status list_nodes(sx_gpu *g, gpu_stream stream, sx_gpu_radix *a, gpu_making *m,
                            sx_err *err)
{
    uint64_t bytes = a->parts * sizeof(uint64_t);
    sx_status st = sx_gpu_alloc(g, stream, &m->part, bytes, "a radix tree", err);

    if (st == SX_OK)
        st = sx_alloc((void **)&m->host_part, bytes, "a radix tree", err);
    if (st != SX_OK)
        return st;
    a->part = (uint64_t *)m->part;
    GPU_RUN_W(k_radix_list, a->v.width, a->parts * 32, stream, a);
    st = fetch(g, stream, m->host_part, m->part, bytes, err);
    if (st != SX_OK)
        return st;
    a->count = sum_parts(m->host_part, a->parts);
    st = sx_gpu_copy(g, stream, m->part, m->host_part, bytes, err);
    bytes = (a->count + 1) * sizeof(sx_radix_making);
    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, &m->nodes, bytes, "a radix tree", err);
    if (st == SX_OK)
        st = sx_alloc((void **)&m->host_nodes, bytes, "a radix tree", err);
    if (st != SX_OK)
        return st;
    a->nodes = (sx_radix_making *)m->nodes;
    if (a->count == 0)
        return SX_OK;
    GPU_RUN_W(k_radix_list, a->v.width, a->parts * 32, stream, a);
    RADIX_RUN_W(k_radix_size, a->v.width, a->count, stream, a);
    return fetch(g, stream, m->host_nodes, m->nodes, a->count * sizeof(sx_radix_making), err);
}

static sx_status put_nodes(sx_gpu *g, gpu_stream stream, sx_view *v, sx_gpu_radix *a, gpu_making *m,
                           void *base[SX_SECTIONS], sx_err *err)
{
    sx_radix_meta meta;
    uint64_t bytes;
    sx_status st;

    sx_radix_sum(m->host_nodes, a->count, v->n, &meta);
    st = sx_radix_shape(v, &meta, err);
    bytes = sx_section_bytes(v, SX_SEC_RADIX_NODES);
    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, &base[SX_SEC_TREE], sizeof meta, "tree", err);
    if (st == SX_OK)
        st = sx_gpu_copy(g, stream, base[SX_SEC_TREE], &meta, sizeof meta, err);
    if (st == SX_OK && bytes)
        st = sx_gpu_alloc(g, stream, &base[SX_SEC_RADIX_NODES], bytes, "nodes", err);
    if (st == SX_OK && bytes) {
        st = sx_gpu_copy(g, stream, m->nodes, m->host_nodes, a->count * sizeof(sx_radix_making),
                         err);
        a->v = *v;
        a->to = (unsigned char *)base[SX_SEC_RADIX_NODES];
        if (st == SX_OK)
            RADIX_RUN_W(k_radix_fill, v->width, a->count, stream, a);
    }
    if (st == SX_OK)
        st = sx_gpu_launched(g, "making a radix tree", err);
    return st == SX_OK ? sx_gpu_wait(g, stream, "making a radix tree", err) : st;
}

static sx_status fit(sx_gpu *g, gpu_stream stream, sx_view *v, const void *keys,
                     sx_progress *progress, void *base[SX_SECTIONS], sx_err *err)
{
    sx_gpu_radix a = {0};
    gpu_making m = {0};
    sx_status st;

    a.v = *v;
    a.keys = keys;
    a.parts = (v->n + SX_RADIX_PART - 1) / SX_RADIX_PART;
    st = list_nodes(g, stream, &a, &m, err);
    sx_progress_add(progress, v->n);
    if (st == SX_OK)
        st = sx_progress_status(progress, err);
    if (st == SX_OK)
        st = put_nodes(g, stream, v, &a, &m, base, err);
    sx_release(m.host_part);
    sx_release(m.host_nodes);
    sx_gpu_free(g, stream, m.part);
    sx_gpu_free(g, stream, m.nodes);
    return st;
}

const sx_family_gpu sx_gpu_of_radix = {habits, search_bytes, NULL, NULL, points, spans, fold, climb,
                                       climb_texts, steps, fit, NULL, prefixes};
