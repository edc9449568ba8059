/* gpu_points_impl.h - kernels for questions about single keys, for one width and one
 * family. Behind gpu_begin.h, gpu_columns_impl.h and the family's
 *
 *   F(bound_near)(v, q, &slot, unit, top, top_bytes)   the rank of the lower bound, and its
 *                                                      slot, by one thread
 *   F(fill_top)(ap)                                    every thread of the block takes part:
 *                                                      the beginning of the search, ap->top_bytes
 *                                                      of it, into shared memory
 *
 * How a question is walked:
 *
 *   k_lookup     a thread by itself
 *   k_group      (gpu_group_impl.h) several lanes walk one question, each with its share of
 *                a node's keys
 *   k_ascending  (gpu_ascending_impl.h) questions that (mostly) ascend: a block finds the
 *                window that all of its questions fall in, and has it near
 *   k_reorder    (gpu_reorder_impl.h) a block sorts its questions first
 *   k_whole      (gpu_whole_impl.h) a block has all keys in shared memory; of no family
 *
 * and in a family's own kernels neighbouring lanes read together (gpu_leaf_impl.h). */

#include "family/generic/gpu_answer_impl.h"

/* ---- alone ---------------------------------------------------------------------------- */

SX_KERNEL_1024(F(k_lookup), sx_gpu_lookup)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    F(fill_top)(ap);
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY q = F(read_query)(ap->key_type, ap->q, i);
        int all;
        KEY w = F(walked)(ap, q, &all);
        uint64_t slot, rank = F(bound_near)(v, w, &slot, ap->unit, SX_SHARED, ap->top_bytes);
        uint64_t number = F(number)(ap, q, all, rank, &slot, 0);
        F(put)(ap, i, number, slot);
    }
}
