/* gpu_reorder_impl.h - a block sorts its questions before it walks them, so
 * that neighbours take nearly the same way.
 *
 * Behind gpu_points_impl.h. Parameters: BLOCK threads with ITEMS questions
 * each. */
/* Bits that questions are sorted by: of a key's place between the smallest key
 * and the largest. Locality needs no more. */
#ifndef SX_PLACE_BITS
#define SX_PLACE_BITS 20u
#endif

/* Shared memory: the top, then (double) one number per question. */
SX_KERNEL_1024(NAME5(k_reorder, W, BLOCK, ITEMS), sx_gpu_lookup)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    uint64_t tile = (uint64_t)BLOCK * ITEMS;
    uint64_t *numbers = (uint64_t *)(void *)(SX_SHARED + ap->top_bytes);
    KEY least = 0, span = 0;
    unsigned shift = 0;

    F(fill_top)(ap);
    if (v->n > 0) {
        least = F(slot_key)(v, sx_slot_of_rank(v, 0));
        span = (KEY)(F(slot_key)(v, sx_slot_of_rank(v, v->n - 1)) - least);
        while (span >> shift >> SX_PLACE_BITS)
            shift++;
    }
    for (uint64_t begin = SX_BLOCK * tile; begin < ap->n; begin += SX_BLOCKS * tile) {
        uint32_t place[ITEMS], which[ITEMS];
        for (unsigned j = 0; j < ITEMS; j++) {
            uint64_t i = begin + j * BLOCK + SX_TID;
            KEY q = i < ap->n ? F(read_key)(ap->key_type, ap->q, i) : least;
            q = q < least ? 0 : (KEY)(q - least);
            place[j] = (uint32_t)((q > span ? span : q) >> shift);
            which[j] = j * BLOCK + SX_TID;
        }
        SX_BLOCK_SORT(BLOCK, ITEMS, place, which, SX_PLACE_BITS);
        for (unsigned j = 0; j < ITEMS; j++) {
            uint64_t i = begin + which[j], slot, rank, number;
            KEY q;
            if (i >= ap->n)
                continue;
            q = F(read_key)(ap->key_type, ap->q, i);
            rank = F(bound)(v, q, sx_side_of(ap->op), &slot, ap->unit, SX_SHARED, ap->top_bytes);
            number = F(number)(ap, q, rank, &slot, 0);
            if (!ap->twice) {
                F(put)(ap, i, number, slot);
            } else {
                numbers[which[j]] = number;
                if (ap->keys && slot != SX_NO_SLOT)
                    F(write_key)(ap->key_type, ap->keys, i, F(slot_key)(v, slot));
            }
        }
        if (ap->twice) {
            SX_BARRIER();
            for (unsigned j = 0; j < ITEMS; j++) {
                uint64_t i = begin + j * BLOCK + SX_TID;
                if (i < ap->n && ap->out)
                    sx_put_number(ap->out, ap->out_bytes, i, numbers[j * BLOCK + SX_TID]);
            }
            SX_BARRIER();
        }
    }
}
