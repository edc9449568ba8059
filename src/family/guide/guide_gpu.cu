/* guide_gpu.cu - walks under a guide on a GPU, and the guide. */
#define SX_UNIT_OF SX_FAM_GUIDE
#include "family/family_gpu.h"
#define SX_REORDERS 0
#include "family/generic/gpu_launch.h"
#include "family/shape.h"

#define SX_BODY "family/guide/guide_gpu_impl.h"
#include "family/generic/gpu_each.h"

/* Two lanes read a leaf in two reads each, four lanes in one. With two, fewer bytes
 * are on their way for each query, but there is less to do. First guesses are mostly
 * right, so four are better only if leaves come from far. */
static sx_gpu_habits habits(const sx_gpu *g, const sx_view *v)
{
    sx_gpu_habits h = {0, 0, SX_REORDER_NONE, 0, 1, 2, 0, 0};

    h.two = v->width > 4 || gpu_leaves_bytes(v) <= 8 * g->l2_bytes;
    return h;
}

static uint64_t search_bytes(const sx_view *v, const void **top)
{
    *top = v->of.guide.records;
    return sx_section_bytes(v, SX_SEC_RECORDS);
}

static void shared_args(const sx_view *v, sx_gpu_lookup *a)
{
    if (a->unit > 1 && v->n > 0 && v->slots / a->unit < UINT32_MAX &&
        sx_guide_cells(&v->of.guide) <= UINT32_MAX)
        gpu_unit_leaves(v, a);
}

#define SHARED(w) GPU_LAUNCH_WINDOW(k_window, w)
GPU_POINTS_HOST(GPU_LAUNCH_POINTS, SHARED)
GPU_HOSTS
GPU_CLIMB_HOST
GPU_STEPS_HOST

/* There are no more warps than there can be at a time: from then on they have several records each. */
#define RECORD_WARPS ((uint64_t)GPU_RESIDENT_WARPS * g->multiprocessors)

static void fill(sx_gpu *g, gpu_stream stream, const sx_view *v, const void *keys,
                 void *const base[SX_SECTIONS])
{
    const sx_guide *guide = &v->of.guide;
    uint64_t records = sx_guide_records(guide);
    sx_gpu_build a = {0};

    a.v = *v;
    a.from_keys = keys;
    a.own[0] = (unsigned char *)base[SX_SEC_PIECES];
    a.own[1] = (unsigned char *)base[SX_SEC_RECORDS];
    GPU_RUN_W(k_pieces, v->width, sx_piece_key_bytes(guide, v->width) / v->width, stream, &a);
    sx_view_bind(&a.v, (const void *const *)base);
    GPU_RUN_W(k_guide, v->width, (records < RECORD_WARPS ? records : RECORD_WARPS) * 32, stream, &a);
}

const sx_family_gpu sx_gpu_of_guide = {habits, search_bytes, NULL, shared_args, points, spans, fold,
                                       climb, climb_texts, steps, NULL, fill, NULL};
