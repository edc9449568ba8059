/* gpu_fill_impl.h - kernels that write rows and keys of ranges, for one width of key. Behind gpu_fill.h
 * and what gpu_kernels_impl.h includes. */

/* Whatever the view. */
SX_KERNEL_2048(F(k_fill), sx_gpu_fill)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    uint64_t end = sx_fill_end(ap);

    for (uint64_t o = ap->from + SX_THREAD / 32 * SX_FILL_TILE; o < end;
         o += SX_THREADS / 32 * SX_FILL_TILE) {
        uint64_t stop = sx_fill_stop(o, end), i = sx_span_of(ap->first, ap->n, o), rank, slot;
        for (uint64_t to = o + SX_LANE; to < stop; to += 32) {
            i = sx_span_from(ap->first, ap->n, i, to);
            rank = ap->start[i] + (to - ap->first[i]);
            if (rank >= v->ranks) /* the caller changed ranges, or first, meanwhile */
                continue;
            slot = 0;
            if (!v->starts || ap->keys)
                slot = sx_slot_of_rank(v, sx_position_of(v, rank));
            if (ap->at)
                ap->at[to - ap->from] = sx_position_of(v, rank);
            if (ap->rows)
                sx_put_number(ap->rows, ap->row_bytes, to - ap->from, sx_row_at(v, slot, rank));
            if (ap->keys)
                F(write_key)(ap->key_type, ap->keys, to - ap->from, F(slot_key)(v, slot));
        }
    }
}

/* Writes the keys of these ranks from output `to` on; of wide ones a few at a time. */
#define SX_KEYS_EACH (W == 16 ? 2u : SX_FILL_EACH)
SX_DEV void F(put_keys)(const sx_gpu_fill *ap, const uint64_t rank[SX_FILL_EACH], uint64_t to)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    SX_UNROLL
    for (unsigned from = 0; from < SX_FILL_EACH; from += SX_KEYS_EACH) {
        KEY key[SX_KEYS_EACH];
        SX_UNROLL
        for (unsigned t = 0; t < SX_KEYS_EACH; t++)
            key[t] = ((const KEY *)(const void *)v->keys)[rank[from + t] < v->ranks ? rank[from + t] : 0];
        SX_UNROLL
        for (unsigned t = 0; t < SX_KEYS_EACH; t++)
            if (rank[from + t] < v->ranks)
                F(write_key)(ap->key_type, ap->keys, to + 32 * (from + t), key[t]);
    }
}
#undef SX_KEYS_EACH

/* As k_fill, where rows, and keys if they are wanted, lie in order of rank in one array. A lane has
 * SX_FILL_EACH of them on their way before it stores one: with one at a time a GPU waits for memory longer
 * than it reads. */
SX_KERNEL_1024(F(k_fill_ranks), sx_gpu_fill)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    uint64_t end = sx_fill_end(ap);

    if (v->ranks == 0)            /* nor is there an output, unless the caller changed first */
        return;
    for (uint64_t o = ap->from + SX_THREAD / 32 * SX_FILL_TILE; o < end;
         o += SX_THREADS / 32 * SX_FILL_TILE) {
        uint64_t stop = sx_fill_stop(o, end);
        sx_fill_span s = sx_fill_at(ap, sx_span_of(ap->first, ap->n, o));
        for (uint64_t step = o; step < stop; step += SX_FILL_STEP) {
            uint64_t rank[SX_FILL_EACH], to = step + SX_LANE - ap->from;
            sx_fill_ranks(ap, step, stop, &s, rank);
            if (ap->rows)
                sx_put_rows(ap, v, rank, to);
            if (ap->keys)
                F(put_keys)(ap, rank, to);
        }
    }
}
