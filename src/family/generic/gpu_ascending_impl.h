/* gpu_ascending_impl.h - questions that ascend, among keys whose slots are ranks, for one
 * width and one family. Behind gpu_points_impl.h and gpu_bound_impl.h. */

/* Copies `count` keys from slot `from` on into shared memory. Both are multiples of the
 * keys in 16 bytes. */
SX_DEV void F(fill_window)(const sx_view *v, KEY *window, uint64_t from, uint32_t count)
{
    uint32_t per = 16 / W;

    if (!v->block || (v->block % per == 0 && v->block_bytes % 16 == 0)) {
        SX_UNROLL_BY_4
        for (uint32_t i = SX_TID * per; i < count; i += SX_BLOCK_THREADS * per)
            *(uint4 *)(void *)(window + i) = sx_load16(v->keys + sx_key_offset(v, from + i));
    } else {
        for (uint32_t i = SX_TID; i < count; i += SX_BLOCK_THREADS)
            window[i] = F(slot_key)(v, from + i);
    }
}

/* A block takes consecutive tiles of questions. The next tile begins where the last
 * question of a tile has its bound. From there on, as many keys as the tile before needed,
 * and some more, are read into shared memory, side by side, and searched there. A question
 * that falls outside (since questions do not ascend, or leap) is walked from the top.
 *
 * Shared memory: where the next tile begins, then the window's keys. */
SX_KERNEL_1536(F(k_ascending), sx_gpu_lookup)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    uint64_t *next = (uint64_t *)(void *)SX_SHARED;
    KEY *window = (KEY *)(void *)(SX_SHARED + SX_WINDOW_HEAD);
    uint32_t n = (uint32_t)ap->n, tile = SX_BLOCK_THREADS * ap->each, tiles = (n - 1) / tile + 1;
    uint32_t mine = (tiles - 1) / SX_BLOCKS + 1, t = SX_BLOCK * mine, per = 16 / W;
    uint32_t stop = t + mine < tiles ? t + mine : tiles, first = t;
    uint64_t from = 0, span = 0;

    for (; t < stop; t++) {
        uint32_t begin = t * tile, end = n - begin < tile ? n : begin + tile, count;
        int beyond;
        if (t == first) {         /* both ends are walked from the top */
            if (SX_TID == 0 || SX_TID == SX_BLOCK_THREADS - 1) {
                KEY q = F(read_key)(ap->key_type, ap->q, SX_TID == 0 ? begin : end - 1);
                next[SX_TID != 0] = F(left_far)(v, F(walked)(q, sx_side_of(ap->op), &beyond),
                                                ap->unit);
            }
            SX_BARRIER();
            from = next[0];
            span = next[1] > from ? next[1] - from : 0;
        }
        /* a piece sooner, so that its first key is below questions */
        from = from / per * per;
        from -= from > 0 ? per : 0;
        count = span >= ap->window ? 0 : (uint32_t)sx_min64(2 * span + 64, ap->window) / per * per;
        count = (uint32_t)sx_min64(count, v->slots - from);
        F(fill_window)(v, window, from, count);
        SX_BARRIER();
        for (uint32_t i = begin + SX_TID; i < end; i += SX_BLOCK_THREADS) {
            KEY q = F(read_key)(ap->key_type, ap->q, i);
            KEY w = F(walked)(q, sx_side_of(ap->op), &beyond);
            uint64_t rank, slot, number;
            int equal = 1;        /* near, and a get: if the key at the bound is q */
            int near = count > 0 && (from == 0 || window[0] < w) &&
                       (from + count >= v->n || w <= window[count - 1]);
            if (near) {
                uint32_t at = 0, len = count;
                while (len > 0) {
                    uint32_t half = len / 2;
                    int right = window[at + half] < w;
                    at = right ? at + half + 1 : at;
                    len = right ? len - half - 1 : half;
                }
                rank = sx_min64(from + at, v->n);
                if (ap->op == SX_OP_GET)
                    equal = at < count && window[at] == q;
            } else {              /* no call, which would read the view from memory */
                rank = F(bound_near)(v, w, &slot, ap->unit, 0, 0);
            }
            if (i == end - 1)
                next[0] = rank;
            rank = F(bounded)(v, beyond, rank);
            slot = rank < v->n && equal ? rank : SX_NO_SLOT;
            number = F(number)(ap, q, rank, &slot, near);
            F(put)(ap, i, number, slot);
        }
        SX_BARRIER();
        span = next[0] > from ? next[0] - from : 0;
        from = next[0];
    }
}
