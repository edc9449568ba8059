/* gpu_launch.h - which kernel of a family answers: macros that take p (gpu_plan), a
 * (sx_gpu_lookup) and stream from where they stand. */
#ifndef SX_GPU_LAUNCH_H
#define SX_GPU_LAUNCH_H

#if defined(__CUDACC__) && (GPU_LAB || SX_REORDERS)
#include "gpu/block_sort_cuda.h"
#endif

#define GPU_VIEW SX_GPU_VIEW(&a->views)

#if GPU_LAB
/* The sorting kernel of a width, by its block and questions per thread. */
#define GPU_LAUNCH_REORDER(w)                                \
    switch (p->block * 100 + p->each) {                      \
    case 128 * 100 + 8: GPU_LAUNCH_PLAN(k_reorder_##w##_128_8); break;    \
    case 128 * 100 + 16: GPU_LAUNCH_PLAN(k_reorder_##w##_128_16); break;  \
    case 256 * 100 + 4: GPU_LAUNCH_PLAN(k_reorder_##w##_256_4); break;    \
    case 256 * 100 + 8: GPU_LAUNCH_PLAN(k_reorder_##w##_256_8); break;    \
    case 512 * 100 + 2: GPU_LAUNCH_PLAN(k_reorder_##w##_512_2); break;    \
    case 512 * 100 + 4: GPU_LAUNCH_PLAN(k_reorder_##w##_512_4); break;    \
    case 1024 * 100 + 1: GPU_LAUNCH_PLAN(k_reorder_##w##_1024_1); break;  \
    default: GPU_LAUNCH_PLAN(k_reorder_##w##_1024_2); break; \
    }
#define GPU_LAUNCH_GROUP(w) GPU_LAUNCH_PLAN(k_group_##w)
#elif SX_REORDERS
/* Plans take one of two shapes. */
#define GPU_LAUNCH_REORDER(w)                                \
    if (p->block == 256 && p->each == 4)                     \
        GPU_LAUNCH_PLAN(k_reorder_##w##_256_4);              \
    else if (p->block == 1024 && p->each == 1)               \
        GPU_LAUNCH_PLAN(k_reorder_##w##_1024_1);             \
    else                                                     \
        GPU_LAUNCH_PLAN(k_lookup_##w);
#else
#define GPU_LAUNCH_REORDER(w) GPU_LAUNCH_PLAN(k_lookup_##w);
#endif
#if !GPU_LAB                      /* no plan asks for groups */
#define GPU_LAUNCH_GROUP(w) GPU_LAUNCH_PLAN(k_lookup_##w)
#endif

/* The kernel by lanes that read a leaf, whether they read twice, and bytes of a row in it. */
#define GPU_LAUNCH_LEAVES(name, w)                                                        \
    switch (GPU_VIEW->block ? GPU_VIEW->row_bytes : 0) {                                  \
    case 0:                                                                               \
        if (a->leaf_bytes <= 64)                                                          \
            GPU_LAUNCH_PLAN(name##_##w##_4_0_0);                                        \
        else if (a->leaf_bytes <= 128)                                                    \
            GPU_LAUNCH_PLAN(name##_##w##_8_0_0);                                        \
        else                                                                              \
            GPU_LAUNCH_PLAN(name##_##w##_8_1_0);                                        \
        break;                                                                            \
    case 4:                                                                               \
        if (a->leaf_bytes <= 64)                                                          \
            GPU_LAUNCH_PLAN(name##_##w##_4_0_4);                                        \
        else if (a->leaf_bytes <= 128)                                                    \
            GPU_LAUNCH_PLAN(name##_##w##_8_0_4);                                        \
        else                                                                              \
            GPU_LAUNCH_PLAN(name##_##w##_8_1_4);                                        \
        break;                                                                            \
    default:                                                                              \
        if (a->leaf_bytes <= 128)                                                         \
            GPU_LAUNCH_PLAN(name##_##w##_8_0_8);                                        \
        else                                                                              \
            GPU_LAUNCH_PLAN(name##_##w##_8_1_8);                                        \
    }

/* The same if leaves are units of up to a line of keys (gpu_window_impl.h says how large that
 * makes them). Gets of rows alone, and ranks, have kernels of their own. */
#define GPU_LAUNCH_WINDOW(name, w)                                                        \
    if (a->op == SX_OP_GET && a->out && !a->keys && GPU_VIEW->block &&                    \
        a->leaf_bytes <= 128) {                                                           \
        if (GPU_VIEW->row_bytes == 8)                                                     \
            GPU_LAUNCH_PLAN(name##_get_##w##_8_0_8);                                      \
        else                                                                              \
            GPU_LAUNCH_GET_##w(name)                                                      \
    } else if (GPU_VIEW->block && GPU_VIEW->row_bytes == 4) {                             \
        GPU_LAUNCH_ROWS_4_##w(name)                                                       \
    } else if (GPU_VIEW->block) {                                                         \
        GPU_LAUNCH_ROWS_8_##w(name)                                                       \
    } else if (a->op == SX_OP_RANK_LEFT || a->op == SX_OP_RANK_RIGHT) {                   \
        GPU_LAUNCH_PLAN(name##_rank_##w##_4);                                             \
    } else {                                                                              \
        GPU_LAUNCH_PLAN(name##_##w##_4_0_0);                                              \
    }
#define GPU_LAUNCH_GET_SMALL(name, w)                                                     \
    if (a->leaf_bytes <= 64 && p->two)                                                    \
        GPU_LAUNCH_PLAN(name##_get_##w##_2_1_4);                                          \
    else if (a->leaf_bytes <= 64)                                                         \
        GPU_LAUNCH_PLAN(name##_get_##w##_4_0_4);                                          \
    else                                                                                  \
        GPU_LAUNCH_PLAN(name##_get_##w##_8_0_4);
#define GPU_LAUNCH_GET_4(name) GPU_LAUNCH_GET_SMALL(name, 4)
#define GPU_LAUNCH_GET_8(name) GPU_LAUNCH_GET_SMALL(name, 8)
#define GPU_LAUNCH_GET_16(name) GPU_LAUNCH_PLAN(name##_get_16_8_0_4);
#define GPU_LAUNCH_ROWS_4_SMALL(name, w)                                                  \
    if (a->leaf_bytes <= 64)                                                              \
        GPU_LAUNCH_PLAN(name##_##w##_4_0_4);                                              \
    else                                                                                  \
        GPU_LAUNCH_PLAN(name##_##w##_8_0_4);
#define GPU_LAUNCH_ROWS_4_4(name) GPU_LAUNCH_ROWS_4_SMALL(name, 4)
#define GPU_LAUNCH_ROWS_4_8(name) GPU_LAUNCH_ROWS_4_SMALL(name, 8)
#define GPU_LAUNCH_ROWS_4_16(name) GPU_LAUNCH_PLAN(name##_16_8_0_4);
#define GPU_LAUNCH_ROWS_8_4(name)                                                         \
    if (a->leaf_bytes <= 128)                                                             \
        GPU_LAUNCH_PLAN(name##_4_8_0_8);                                                  \
    else                                                                                  \
        GPU_LAUNCH_PLAN(name##_4_8_1_8);
#define GPU_LAUNCH_ROWS_8_8(name) GPU_LAUNCH_PLAN(name##_8_8_0_8);
#define GPU_LAUNCH_ROWS_8_16(name) GPU_LAUNCH_PLAN(name##_16_8_0_8);

/* Launches for width w. SHARED(w) has the family's kernels in which lanes read together.
 * Trees in level order have no kernel for questions that ascend. */
#define GPU_LAUNCH_POINTS(w, SHARED)                \
    if (p->ascending)                               \
        GPU_LAUNCH_PLAN(k_ascending_##w);           \
    else                                            \
        GPU_LAUNCH_ANY_ORDER(w, SHARED)
#define GPU_LAUNCH_ANY_ORDER(w, SHARED)             \
    if (p->reorder != SX_REORDER_NONE) {            \
        GPU_LAUNCH_REORDER(w)                       \
    } else if (p->walk == SX_WALK_SHARED)             \
        SHARED(w)                                   \
    else if (p->walk == SX_WALK_GROUP)              \
        GPU_LAUNCH_GROUP(w);                        \
    else                                            \
        GPU_LAUNCH_ALONE(w)
/* Lanes that read lines together (gpu_line_impl.h). */
#define GPU_LAUNCH_LINES_OF(w, rows)                          \
    if (a->op == SX_OP_GET && a->out && !a->keys)             \
        GPU_LAUNCH_PLAN(k_shared_get_##w##_##rows);           \
    else                                                      \
        GPU_LAUNCH_PLAN(k_shared_##w##_##rows)
#define GPU_LAUNCH_LINES(w)                                   \
    {                                                         \
        if (!GPU_VIEW->block)                                 \
            GPU_LAUNCH_PLAN(k_shared_##w##_0);                \
        else if (GPU_VIEW->row_bytes == 4) {                  \
            GPU_LAUNCH_LINES_OF(w, 4);                        \
        } else {                                              \
            GPU_LAUNCH_LINES_OF(w, 8);                        \
        }                                                     \
    }
#ifndef GPU_LAUNCH_ALONE          /* a family may have more kernels for it */
#define GPU_LAUNCH_ALONE(w) GPU_LAUNCH_PLAN(k_lookup_##w)
#endif

/* Host functions of generic kernels, as sx_family_gpu has them. */
#define GPU_HOSTS                                                                          \
    static void spans(sx_gpu *g, gpu_stream stream, const sx_gpu_spans *a)                 \
    {                                                                                      \
        GPU_RUN_W(k_spans, GPU_VIEW->width, a->n, stream, a);                              \
    }                                                                                      \
    static void fold(sx_gpu *g, gpu_stream stream, const sx_gpu_folds *a, uint64_t threads) \
    {                                                                                      \
        GPU_RUN(k_fold, threads, stream, a);                                               \
    }
#define GPU_CLIMB_HOST                                                                     \
    static void climb(sx_gpu *g, gpu_stream stream, const sx_gpu_climb *a)                 \
    {                                                                                      \
        GPU_RUN_W(k_climb, GPU_VIEW->width, a->n, stream, a);                              \
    }                                                                                      \
    static void climb_texts(sx_gpu *g, gpu_stream stream, const sx_gpu_text_climb *a)      \
    {                                                                                      \
        GPU_RUN(k_climb_texts, a->a.n, stream, a);                                         \
    }
#define GPU_STEPS_HOST                                                                     \
    static void steps(sx_gpu *g, gpu_stream stream, const sx_gpu_steps *a)                 \
    {                                                                                      \
        GPU_RUN_W(k_steps, GPU_VIEW->width, a->n, stream, a);                              \
    }
#define GPU_POINTS_HOST(LAUNCH, SHARED)                                                    \
    static sx_status points(sx_gpu *g, const gpu_plan *p, gpu_stream stream,               \
                            const sx_gpu_lookup *a, sx_err *err)                           \
    {                                                                                      \
        (void)g;                                                                           \
        (void)err;                                                                         \
        if (GPU_VIEW->width == 4) {                                                        \
            LAUNCH(4, SHARED);                                                             \
        } else if (GPU_VIEW->width == 8) {                                                 \
            LAUNCH(8, SHARED);                                                             \
        } else {                                                                           \
            LAUNCH(16, SHARED);                                                            \
        }                                                                                  \
        return SX_OK;                                                                      \
    }

/* Bytes of the first steps in a sorted array, whose search begins in many places. */
static inline uint32_t gpu_staged_halvings(const sx_view *v, uint32_t staged, uint64_t space)
{
    uint64_t steps = 0;

    while ((2ull << steps) * v->width <= space && (2ull << steps) <= v->n)
        steps++;
    return (uint32_t)(staged == SX_STAGE_FULL && (2ull << steps) <= v->n
                          ? space / 16 * 16 : sx_round_up((1ull << steps) * v->width, 16));
}

/* Bytes to stage of a section of `all` bytes: all; or as much as there is space for; or
 * 0, if whole steps are asked for, which the family counts. */
static inline uint32_t gpu_staged_section(uint64_t all, uint32_t staged, uint64_t space)
{
    return (uint32_t)(all <= space ? all / 16 * 16 : staged == SX_STAGE_FULL ? space / 16 * 16 : 0);
}

/* How many levels fit into `space`, of a tree whose nodes of `node` bytes lie level by level:
 * level l begins with node first[l], level 0 with node 0. */
static inline uint32_t gpu_whole_levels(const uint64_t *first, uint32_t levels, uint64_t node,
                                        uint64_t space)
{
    uint32_t l = 0;

    while (l < levels && first[l + 1] * node <= space)
        l++;
    return l;
}

/* What lanes that read together know of its levels. `below`: leaves under the last level. */
static inline void gpu_level_args(sx_gpu_lookup *a, const uint64_t *first, uint32_t levels,
                                  uint64_t below)
{
    a->levels = levels;
    for (uint32_t l = 0; l < levels; l++) {
        a->node_first[l] = (uint32_t)first[l];
        a->last_child[l] = (uint32_t)((l + 1 < levels ? first[l + 2] - first[l + 1] : below) - 1);
    }
}

/* Bytes of keys and rows, wherever they lie. */
static inline uint64_t gpu_leaves_bytes(const sx_view *v)
{
    return v->slots * (uint64_t)(v->width + v->row_bytes);
}

/* Leaves are units, which lie side by side. */
static inline void gpu_unit_leaves(const sx_view *v, sx_gpu_lookup *a)
{
    a->leaf_key_bytes = a->unit * v->width;
    a->leaf_bytes = a->leaf_step = v->block ? (uint32_t)v->block_bytes : a->leaf_key_bytes;
    a->leaf_latest = sx_key_offset(v, v->slots - a->unit);
}

/* Lanes of a group: the largest power of two up to a node's keys, from 2 to 32. */
static inline uint32_t gpu_group_lanes(uint32_t node_keys)
{
    uint32_t lanes = 2;

    while (lanes < 32 && lanes * 2 <= node_keys)
        lanes *= 2;
    return lanes;
}

#endif
