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
 *
 * and in a family's own kernels neighbouring lanes read together (gpu_leaf_impl.h). */

/* ---- what is asked, what is answered ------------------------------------------- */

/* The key whose lower bound answers question q: q, or the next key above it.
 * *all: there is none above, every key counts. */
SX_DEV KEY F(walked)(const sx_gpu_lookup *ap, KEY q, int *all)
{
    int right = ap->op == SX_OP_RANK_RIGHT || ap->op == SX_OP_FLOOR;

    *all = right && q == (KEY)~(KEY)0;
    return (KEY)(q + (right && !*all));
}

/* The number that answers q, whose walk ended with a position and *slot; *slot
 * becomes that of the key that answers. checked: a slot's key is equal to q
 * where that is asked for. */
SX_DEV uint64_t F(number)(const sx_gpu_lookup *ap, KEY q, int all, uint64_t position,
                          uint64_t *slot, int checked)
{
    const sx_view *v = &ap->v;

    if (all) {
        position = v->n;
        *slot = SX_NO_SLOT;
    }
    if (ap->op == SX_OP_RANK_LEFT || ap->op == SX_OP_RANK_RIGHT)
        return sx_rank_at(v, position);
    if (ap->op == SX_OP_FLOOR) {
        position--;               /* 0 - 1 is past the end: no such key */
        *slot = position < v->n ? sx_slot_of_rank(v, position) : SX_NO_SLOT;
    }
    if (ap->op == SX_OP_GET && !checked && *slot != SX_NO_SLOT && F(slot_key)(v, *slot) != q)
        *slot = SX_NO_SLOT;
    return *slot == SX_NO_SLOT || !ap->out ? SX_MISS
                                           : sx_row_of(v, *slot, position, ap->op == SX_OP_FLOOR);
}

SX_DEV void F(put)(const sx_gpu_lookup *ap, uint64_t i, uint64_t number, uint64_t slot)
{
    if (ap->out)
        sx_put_result(ap->out, ap->out_bytes, i, number);
    if (ap->keys && slot != SX_NO_SLOT)
        F(write_key)(ap->key_type, ap->keys, i, F(slot_key)(&ap->v, slot));
}

/* ---- alone ---------------------------------------------------------------------------- */

SX_KERNEL_1024(F(k_lookup), sx_gpu_lookup)
{
    F(fill_top)(ap);
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY q = F(read_query)(ap->key_type, ap->q, i);
        int all;
        KEY w = F(walked)(ap, q, &all);
        uint64_t slot, rank = F(bound_near)(&ap->v, w, &slot, ap->unit, SX_SHARED, ap->top_bytes);
        uint64_t number = F(number)(ap, q, all, rank, &slot, 0);
        F(put)(ap, i, number, slot);
    }
}
