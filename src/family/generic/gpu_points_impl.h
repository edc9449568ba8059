/* gpu_points_impl.h - kernels for questions about single keys, for one width and one
 * family. Behind gpu_begin.h, gpu_columns_impl.h and the family's
 *
 *   F(bound)(v, q, side, &slot, unit, top, top_bytes)  the position of q's bound on that side,
 *                                                      and its slot, by one thread
 *                                                      (gpu_bound_impl.h)
 *   F(fill_top)(ap)                                    stages the beginning of the search,
 *                                                      ap->top_bytes of it, in shared memory;
 *                                                      every thread of the block takes part
 *
 * How a question is walked:
 *
 *   k_lookup     a thread by itself
 *   k_group      (gpu_group_impl.h) several lanes walk one question, each with its share of
 *                a node's keys
 *   k_ascending  (gpu_ascending_impl.h) questions that (mostly) ascend: a block finds the
 *                window that all of its questions fall in, and has it in shared memory
 *   k_reorder    (gpu_reorder_impl.h) a block sorts its questions first
 *   k_whole      (gpu_whole_impl.h) a block has all keys in shared memory; of no family
 *
 * In a family's own kernels neighbouring lanes read together (gpu_leaf_impl.h). */

#include "family/generic/gpu_answer_impl.h"

/* ---- alone ---------------------------------------------------------------------------- */

/* top: where a search begins, top_bytes of it, or 0. */
SX_DEV void F(ask_alone)(const sx_gpu_lookup *ap, uint32_t unit, const unsigned char *top,
                         uint32_t top_bytes)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY q = F(read_query)(ap->key_type, ap->q, i);
        uint64_t slot, at = F(bound)(v, q, sx_side_of(ap->op), &slot, unit, top, top_bytes);
        uint64_t number = F(number)(ap, q, at, &slot, 0);
        F(put)(ap, i, number, slot);
    }
}

SX_KERNEL_1024(F(k_lookup), sx_gpu_lookup)
{
    F(fill_top)(ap);
    F(ask_alone)(ap, ap->unit, SX_SHARED, ap->top_bytes);
}
