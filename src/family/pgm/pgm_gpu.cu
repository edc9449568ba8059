/* pgm_gpu.cu - walks under segments on a GPU; and the segments: a few lanes fit those of a
 * part of the keys, and then of a part of the segments' first keys, until one segment is left.
 * The host asks how many there are after each level. */
#define SX_UNIT_OF SX_FAM_PGM
#include "family/family_gpu.h"
#define SX_REORDERS 0
#include "family/generic/gpu_launch.h"
#ifdef __cplusplus
extern "C" {
#endif
#include "family/pgm/pgm_shape.h"
#include "family/shape.h"
#ifdef __cplusplus
}
#endif

#define SX_BODY "family/pgm/pgm_gpu_impl.h"
#include "family/generic/gpu_each.h"

/* Segments lead to windows of many units. If those come from L2, lanes that each search their
 * own are faster than lanes that read every unit together: pairs up to all of L2, separate
 * keys and rows up to half of it. */
static sx_gpu_habits habits(const sx_gpu *g, const sx_view *v)
{
    sx_gpu_habits h = {0, 0, SX_REORDER_NONE, 0, 1, 2, 1, 0};

    h.alone = gpu_leaves_bytes(v) <= (v->block ? g->l2_bytes : g->l2_bytes / 2);
    return h;
}

static uint64_t search_bytes(const sx_view *v, const void **top)
{
    *top = v->of.pgm.segment_keys;
    return sx_section_bytes(v, SX_SEC_SEGMENTS);
}

/* Whole levels, keys and records. */
static uint32_t staged_bytes(const sx_view *v, uint32_t staged, uint64_t space)
{
    const sx_pgm *t = &v->of.pgm;
    uint64_t bytes = 0;

    (void)staged;
    if (t->concise)                       /* the levels above the last are not read */
        return 0;
    for (uint32_t l = 1; l <= t->levels; l++) {
        uint64_t entries = t->level_first[l] * (v->width + SX_SEGMENT);
        bytes = entries <= space ? entries : bytes;
    }
    return (uint32_t)bytes;
}

static void shared_args(const sx_view *v, sx_gpu_lookup *a)
{
    if (a->unit > 1 && v->n > 0 && v->slots / a->unit < UINT32_MAX)
        gpu_unit_leaves(v, a);
}

#if GPU_LAB
/* The top goes into the arguments, which takes a copy and a wait. This is an option to compare
 * with, and is never chosen. */
static sx_status constant_launch(sx_gpu *g, const gpu_plan *p, gpu_stream stream,
                                 const sx_gpu_lookup *a, sx_err *err)
{
    sx_gpu_lookup_constant c = {0};
    const sx_view *v = SX_GPU_VIEW(&a->views);
    uint64_t entries = a->top_bytes / (v->width + SX_SEGMENT), keys = entries * v->width;
    unsigned char *top = (unsigned char *)c.top;
    sx_status st = SX_OK;

    if (a->top_bytes > 0)
        st = sx_gpu_copy(g, stream, top, v->of.pgm.segment_keys, keys, err);
    if (st == SX_OK && a->top_bytes > 0)
        st = sx_gpu_copy(g, stream, top + keys, v->of.pgm.segments, a->top_bytes - keys, err);
    if (st == SX_OK)
        st = sx_gpu_wait(g, stream, "reading the upper part", err);
    if (st != SX_OK)
        return st;
    c.a = *a;
    if (v->width == 4)
        SX_LAUNCH(k_constant_4, p->grid, p->block, 0, stream, &c);
    else if (v->width == 8)
        SX_LAUNCH(k_constant_8, p->grid, p->block, 0, stream, &c);
    else
        SX_LAUNCH(k_constant_16, p->grid, p->block, 0, stream, &c);
    return SX_OK;
}
#endif

#define SHARED(w) GPU_LAUNCH_WINDOW(k_window, w)
#define points points_launch
GPU_POINTS_HOST(GPU_LAUNCH_POINTS, SHARED)
#undef points
GPU_HOSTS
GPU_CLIMB_HOST
GPU_STEPS_HOST

static sx_status points(sx_gpu *g, const gpu_plan *p, gpu_stream stream, const sx_gpu_lookup *a,
                        sx_err *err)
{
#if GPU_LAB
    if (p->constant)
        return constant_launch(g, p, stream, a, err);
#endif
    return points_launch(g, p, stream, a, err);
}

/* ---- building --------------------------------------------------------------------------- */

/* One level in device memory, one segment behind the other. */
typedef struct {
    uint64_t count;
    void *keys, *segments;
} gpu_level;

static void gpu_drop_level(sx_gpu *g, gpu_stream stream, gpu_level *w)
{
    sx_gpu_free(g, stream, w->keys);
    sx_gpu_free(g, stream, w->segments);
    w->keys = w->segments = NULL;
}

/* Counts become where the segments of each part begin. Returns how many there are. */
static uint64_t gpu_sum_parts(uint64_t *count, uint32_t parts)
{
    uint64_t sum = 0;

    for (uint32_t p = 0; p <= parts; p++) {
        uint64_t here = p < parts ? count[p] : 0;
        count[p] = sum;
        sum += here;
    }
    return sum;
}

/* Launches name##_4, name##_8 or name##_16: kernels of few, slow threads, whose blocks have
 * GPU_FIT_PARTS parts each. */
#define GPU_FIT_PARTS (GPU_FIT_BLOCK / SX_FIT_LANES)
#define GPU_FIT_RUN(name, parts, shared, stream, args)                                     \
    SX_LAUNCH(name, (unsigned)(((parts) + GPU_FIT_PARTS - 1) / GPU_FIT_PARTS), GPU_FIT_BLOCK, \
              (shared), (stream), (args))
#define GPU_FIT_RUN_W(name, width, parts, shared, stream, args)            \
    do {                                                                   \
        if ((width) == 4)                                                  \
            GPU_FIT_RUN(name##_4, (parts), (shared), (stream), (args));    \
        else if ((width) == 8)                                             \
            GPU_FIT_RUN(name##_8, (parts), (shared), (stream), (args));    \
        else                                                               \
            GPU_FIT_RUN(name##_16, (parts), (shared), (stream), (args));   \
    } while (0)

/* Arrays that are only needed while a level is made. */
typedef struct {
    void *hulls, *keys, *segments, *count;
    uint64_t *host_count;
} gpu_fitting;

static sx_status gpu_copy_counts(sx_gpu *g, gpu_stream stream, gpu_fitting *f, uint32_t parts,
                                 sx_err *err)
{
    sx_status st = sx_gpu_launched(g, "fitting segments", err);

    if (st == SX_OK)
        st = sx_gpu_copy(g, stream, f->host_count, f->count, parts * sizeof(uint64_t), err);
    return st == SX_OK ? sx_gpu_wait(g, stream, "fitting segments", err) : st;
}

/* Parts whose hulls are too large for shared memory. There are hardly ever any. */
static sx_status gpu_fit_again(sx_gpu *g, gpu_stream stream, const sx_view *v, sx_gpu_fit *a,
                               gpu_fitting *f, sx_err *err)
{
    uint64_t again = 0, bytes;
    sx_status st;

    for (uint32_t p = 0; p < a->parts; p++)
        if (f->host_count[p] == SX_FIT_AGAIN)
            f->host_count[p] += again++;
    if (again == 0)
        return SX_OK;
    bytes = again * a->hull_space * sizeof(uint32_t);
    st = sx_gpu_alloc(g, stream, &f->hulls, bytes, "hulls", err);
    if (st == SX_OK)
        st = sx_gpu_copy(g, stream, f->count, f->host_count, a->parts * sizeof(uint64_t), err);
    if (st != SX_OK)
        return st;
    a->hulls = (uint32_t *)f->hulls;
    GPU_FIT_RUN_W(k_fit_again, v->width, a->parts, 0, stream, a);
    return gpu_copy_counts(g, stream, f, a->parts, err);
}

static sx_status gpu_fit_parts(sx_gpu *g, gpu_stream stream, const sx_view *v, sx_gpu_fit *a,
                               gpu_fitting *f, sx_err *err)
{
    uint64_t longest = (a->n + a->parts - 1) / a->parts + 1;
    uint64_t counts = (a->parts + 1) * sizeof(uint64_t);
    sx_status st;

    a->hull_space = sx_hull_entries(longest);
    a->space = sx_pgm_most(longest, a->eps);
    st = sx_gpu_alloc(g, stream, &f->keys, a->parts * a->space * v->width, "segments", err);
    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, &f->segments, a->parts * a->space * SX_SEGMENT, "segments", err);
    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, &f->count, counts, "segments", err);
    if (st == SX_OK)
        st = sx_alloc((void **)&f->host_count, counts, "segments", err);
    if (st != SX_OK)
        return st;
    a->keys = (unsigned char *)f->keys;
    a->segments = (sx_segment *)f->segments;
    a->count = (uint64_t *)f->count;
    GPU_FIT_RUN_W(k_fit, v->width, a->parts, GPU_FIT_PARTS * SX_FIT_SHARED(v->width), stream, a);
    st = gpu_copy_counts(g, stream, f, a->parts, err);
    return st == SX_OK ? gpu_fit_again(g, stream, v, a, f, err) : st;
}

static sx_status gpu_fit_level(sx_gpu *g, gpu_stream stream, const sx_view *v, const void *below,
                               sx_fitting of, gpu_level *w, sx_err *err)
{
    gpu_fitting f = {0};
    sx_gpu_fit a = {0};
    sx_status st;

    a.below = below;
    a.n = of.n;
    a.eps = of.eps;
    a.parts = of.cuts;
    st = gpu_fit_parts(g, stream, v, &a, &f, err);
    if (st == SX_OK) {
        w->count = gpu_sum_parts(f.host_count, of.cuts);
        st = sx_gpu_copy(g, stream, f.count, f.host_count, (of.cuts + 1) * sizeof(uint64_t), err);
    }
    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, &w->keys, w->count * v->width, "segments", err);
    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, &w->segments, w->count * SX_SEGMENT, "segments", err);
    if (st == SX_OK) {
        a.to_keys = (unsigned char *)w->keys;
        a.to_segments = (sx_segment *)w->segments;
        a.total = w->count;
        GPU_RUN_W(k_collect, v->width, w->count, stream, &a);
        st = sx_gpu_launched(g, "collecting segments", err);
    }
    if (st == SX_OK)                      /* the host's counts are on their way */
        st = sx_gpu_wait(g, stream, "collecting segments", err);
    sx_release(f.host_count);
    sx_gpu_free(g, stream, f.hulls);
    sx_gpu_free(g, stream, f.keys);
    sx_gpu_free(g, stream, f.segments);
    sx_gpu_free(g, stream, f.count);
    return st;
}

/* The levels, from the keys up, become the sections of a shape. */
static sx_status gpu_put_levels(sx_gpu *g, gpu_stream stream, sx_view *v, const gpu_level *w,
                                uint32_t levels, void *base[SX_SECTIONS], sx_err *err)
{
    uint64_t counts[SX_PGM_LEVELS];
    sx_status st;

    for (uint32_t l = 0; l < levels; l++)
        counts[l] = w[levels - 1 - l].count;
    st = sx_shape_levels(v, counts, levels, err);
    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, &base[SX_SEC_LEVELS], sx_section_bytes(v, SX_SEC_LEVELS),
                       "levels", err);
    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, &base[SX_SEC_SEGMENTS], sx_section_bytes(v, SX_SEC_SEGMENTS),
                       "segments", err);
    if (st == SX_OK)
        st = sx_gpu_copy(g, stream, base[SX_SEC_LEVELS], counts, levels * sizeof *counts, err);
    for (uint32_t l = 0; l < levels && st == SX_OK; l++) {
        sx_gpu_fit a = {0};
        a.total = counts[l];
        a.n = sx_level_below(&v->of.pgm, v->n, l);
        a.entries = v->of.pgm.level_first[l + 1] - v->of.pgm.level_first[l];
        a.below = w[levels - 1 - l].keys;
        a.segments = (sx_segment *)w[levels - 1 - l].segments;
        a.to_keys = (unsigned char *)base[SX_SEC_SEGMENTS] + v->of.pgm.level_first[l] * v->width;
        a.to_segments = (sx_segment *)(void *)((unsigned char *)base[SX_SEC_SEGMENTS] +
                                               sx_segment_key_bytes(&v->of.pgm, v->width)) + v->of.pgm.level_first[l];
        GPU_RUN_W(k_level, v->width, a.entries, stream, &a);
    }
    if (st == SX_OK)
        st = sx_gpu_launched(g, "putting levels together", err);
    return st == SX_OK ? sx_gpu_wait(g, stream, "putting levels together", err) : st;
}

static sx_status fit(sx_gpu *g, gpu_stream stream, sx_view *v, const void *keys,
                     sx_progress *progress, void *base[SX_SECTIONS], sx_err *err)
{
    gpu_level w[SX_PGM_LEVELS];
    uint32_t levels = 0;
    sx_status st;

    memset(w, 0, sizeof w);
    do {
        const gpu_level *below = levels ? &w[levels - 1] : NULL;
        sx_fitting of = sx_level_fitting(&v->of.pgm, below ? below->count : v->n, levels);
        st = gpu_fit_level(g, stream, v, below ? below->keys : keys, of, &w[levels], err);
        sx_progress_add(progress, of.n);
        if (st == SX_OK)
            st = sx_progress_status(progress, err);
        levels++;
    } while (st == SX_OK && w[levels - 1].count > 1 && levels < SX_PGM_LEVELS);
    if (st == SX_OK)
        st = gpu_put_levels(g, stream, v, w, levels, base, err);
    for (uint32_t l = 0; l < levels; l++)
        gpu_drop_level(g, stream, &w[l]);
    return st;
}

const sx_family_gpu sx_gpu_of_pgm = {habits, search_bytes, staged_bytes, shared_args, points, spans,
                                     fold, climb, climb_texts, steps, fit, NULL, NULL};
