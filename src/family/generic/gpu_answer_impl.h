/* gpu_answer_impl.h - what a question is walked with, and how what its walk found becomes an
 * answer, for one width of key. Behind gpu_begin.h and gpu_columns_impl.h. */

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
    const sx_view *v = SX_GPU_VIEW(&ap->views);

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
        F(write_key)(ap->key_type, ap->keys, i, F(slot_key)(SX_GPU_VIEW(&ap->views), slot));
}
