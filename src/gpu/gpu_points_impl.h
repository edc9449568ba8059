/* gpu_points_impl.h - kernels for questions about single keys, one width.
 *
 * Parameters as in gpu_walk_impl.h. How a question is walked:
 *
 *   k_lookup     a thread by itself
 *   k_constant   the same, with the top of a pgm in constant memory
 *   k_shared, k_guided, k_lines    (gpu_shared_impl.h) a thread has a question
 *                of its own, but neighbouring lanes read with it
 *   k_group      several lanes walk one question, each with its share of a
 *                node's keys
 *   k_ascending  questions that (mostly) ascend: a block finds the window
 *                that all of its questions fall in, and has it near
 *   k_reorder    (gpu_reorder_impl.h) a block sorts its questions first
 */

/* ---- what is asked, what is answered ------------------------------------------- */

/* The key whose lower bound answers question q: q, or the next key above it.
 * *all: there is none above, every key counts. */
SX_DEV KEY F(walked)(const sx_gpu_lookup *ap, KEY q, int *all)
{
    int right = ap->op == SX_OP_RANK_RIGHT || ap->op == SX_OP_FLOOR;

    *all = right && q == (KEY)~(KEY)0;
    return (KEY)(q + (right && !*all));
}

/* The number that answers q, whose walk ended with rank and *slot; *slot
 * becomes that of the key that answers. checked: a slot's key is equal to q
 * where that is asked for. */
SX_DEV uint64_t F(number)(const sx_gpu_lookup *ap, KEY q, int all, uint64_t rank, uint64_t *slot,
                          int checked)
{
    const sx_view *v = &ap->v;

    if (all) {
        rank = v->n;
        *slot = SX_NO_SLOT;
    }
    if (ap->op == SX_OP_RANK_LEFT || ap->op == SX_OP_RANK_RIGHT)
        return rank;
    if (ap->op == SX_OP_FLOOR) {
        rank--;                   /* 0 - 1 is past the end: no such key */
        *slot = rank < v->n ? sx_slot_of_rank(v, rank) : SX_NO_SLOT;
    }
    if (ap->op == SX_OP_GET && !checked && *slot != SX_NO_SLOT && F(slot_key)(v, *slot) != q)
        *slot = SX_NO_SLOT;
    return *slot == SX_NO_SLOT || !ap->out ? SX_MISS : sx_row_at(v, *slot, rank);
}

SX_DEV void F(put)(const sx_gpu_lookup *ap, uint64_t i, uint64_t number, uint64_t slot)
{
    if (ap->out)
        sx_put_result(ap->out, ap->out_bytes, i, number);
    if (ap->keys && slot != SX_NO_SLOT)
        F(write_key)(ap->key_type, ap->keys, i, F(slot_key)(&ap->v, slot));
}

/* ---- the top of a search, in shared memory ---------------------------------------- */

/* Units that the search in a plain array begins with. */
SX_DEV uint64_t F(plain_units)(const sx_view *v, uint32_t unit)
{
    return v->family == SX_FAM_SORTED ? F(array_units)(v, unit) : F(pivot_window)(v, unit);
}

/* The key that a plain array's search compares with after `path` (a 1, then a
 * bit per step so far); 0 where the search is over before. */
SX_DEV KEY F(top_key)(const sx_view *v, uint32_t unit, uint64_t path)
{
    uint64_t at = 0, len = F(plain_units)(v, unit);
    const unsigned char *p;
    uint32_t steps = 0;

    while (path >> (steps + 1))
        steps++;
    while (steps-- > 0 && len > 1) {
        at += (path >> steps & 1) * (len / 2);
        len -= len / 2;
    }
    if (len <= 1)
        return 0;
    p = F(array_unit)(v, at + len / 2 - 1, unit) + (unit - 1) * W;
    return *(const KEY *)(const void *)p;
}

/* Every thread of the block takes part. */
SX_DEV void F(fill_top)(const sx_gpu_lookup *ap)
{
    const sx_view *v = &ap->v;
    KEY *top = (KEY *)(void *)SX_SHARED;
    const KEY *from = (const KEY *)(const void *)(v->family == SX_FAM_EYTZ ? v->keys : v->of.pivot.pivots);

    if (ap->top_bytes == 0)
        return;
    if (v->family == SX_FAM_PGM) {        /* keys, then lines, of as many entries */
        uint32_t keys = ap->top_bytes / (W + SX_SEGMENT) * W;
        for (uint32_t i = SX_TID * 16; i < ap->top_bytes; i += SX_BLOCK_THREADS * 16)
            *(uint4 *)(void *)(SX_SHARED + i) =
                sx_load16(i < keys ? v->of.pgm.segment_keys + i : v->of.pgm.segments + (i - keys));
        SX_BARRIER();
        return;
    }
    for (uint32_t i = SX_TID; i < ap->top_bytes / W; i += SX_BLOCK_THREADS)
        top[i] = v->family == SX_FAM_EYTZ || (v->family == SX_FAM_PIVOT && v->of.pivot.levels) ? from[i]
                 : i > 0 ? F(top_key)(v, ap->unit, i) : 0;
    SX_BARRIER();
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

SX_KERNEL_1024(F(k_constant), sx_gpu_lookup_constant)
{
    const sx_gpu_lookup *a = &ap->a;

    for (uint64_t i = SX_THREAD; i < a->n; i += SX_THREADS) {
        KEY q = F(read_query)(a->key_type, a->q, i);
        int all;
        KEY w = F(walked)(a, q, &all);
        uint64_t slot, rank = F(bound_near)(&a->v, w, &slot, a->unit,
                                            (const unsigned char *)ap->top, a->top_bytes);
        uint64_t number = F(number)(a, q, all, rank, &slot, 0);
        F(put)(a, i, number, slot);
    }
}

SX_KERNEL(F(k_key_at), sx_gpu_lookup)
{
    const sx_view *v = &ap->v;

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        uint64_t rank = ap->rank_bytes ? sx_number_at(ap->q, ap->rank_bytes, i)
                                       : sx_some_rank(i, ap->ahead, v->n);
        uint64_t slot = rank < v->n ? sx_slot_of_rank(v, rank) : SX_NO_SLOT;
        F(put)(ap, i, slot == SX_NO_SLOT || !ap->out ? SX_MISS : sx_row_at(v, slot, rank), slot);
    }
}

/* ---- lanes that search together ------------------------------------------------------------- */

/* The lanes of this lane's group, of `lanes`, where pred holds. */
SX_DEV unsigned F(group_count)(int pred, unsigned lanes)
{
    unsigned all = SX_BALLOT(pred) >> (SX_LANE & ~(lanes - 1));

    return SX_POPC(lanes == 32 ? all : all & ((1u << lanes) - 1));
}

/* Keys below w among m, key j at keys + sx_key_offset(first + j), or at
 * keys + j * W where `flat`. */
SX_DEV unsigned F(group_node)(const sx_view *v, const unsigned char *keys, int flat, uint64_t first,
                              uint32_t m, KEY w, unsigned lanes)
{
    unsigned below = 0;

    for (uint32_t j = SX_LANE & (lanes - 1); j - (SX_LANE & (lanes - 1)) < m; j += lanes) {
        int less = 0;
        if (j < m)
            less = *(const KEY *)(const void *)(keys + (flat ? j * (uint64_t)W
                                                             : sx_key_offset(v, first + j))) < w;
        below += F(group_count)(less, lanes);
    }
    return below;
}

/* From a window to one unit: each lane looks at the end of a part of it. The
 * parts are those of the longest window any group of the warp has, so that
 * all take as many steps. */
SX_DEV uint64_t F(group_window)(const sx_view *v, uint64_t at, uint64_t len, KEY w, uint32_t unit,
                                unsigned lanes)
{
    uint64_t longest = len;

    while (longest > 1) {
        uint64_t part = (longest + lanes) / (lanes + 1);
        uint64_t end = ((SX_LANE & (lanes - 1)) + 1) * part;
        unsigned c;
        int less = 0;
        if (end < len)
            less = *(const KEY *)(const void *)(F(array_unit)(v, at + end - 1, unit) +
                                                (unit - 1) * W) < w;
        c = F(group_count)(less, lanes);
        at += c * part;
        len = len - c * part < part ? len - c * part : part;
        longest = part;
    }
    return at;
}

SX_DEV uint64_t F(group_bound)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    const sx_view *v = &ap->v;
    uint32_t unit = ap->unit, lanes = ap->lanes;
    uint64_t at = 0, len, rank;

    *slot = SX_NO_SLOT;
    if (v->n == 0)
        return 0;
    if (v->family == SX_FAM_GUIDE || v->family == SX_FAM_PGM)     /* nothing to share: all lanes do the same */
        return F(bound_near)(v, w, slot, unit, 0, 0);
    if (v->family == SX_FAM_EYTZ) {
        const sx_eytzinger *e = &v->of.eytzinger;
        for (uint32_t t = 0; t < e->levels; t++) {
            uint64_t first = F(eytz_first)(v, t, at, unit);
            at = F(eytz_down)(v, first, at,
                              F(group_node)(v, v->keys, 0, first, e->k - 1, w, lanes), slot, unit);
        }
        if (e->bottom == 0)
            return at;
        return F(eytz_end)(v, at, F(group_node)(v, v->keys, 0, F(eytz_last)(v, at, unit), e->k - 1,
                                                w, lanes),
                           slot, unit);
    }
    len = F(plain_units)(v, unit);
    if (v->family == SX_FAM_PIVOT) {
        const sx_pivot *t = &v->of.pivot;
        for (uint32_t l = 0; l < t->levels; l++)
            at = F(pivot_child)(t, at,
                                F(group_node)(v, F(pivot_node)(t, l, at, unit), 1, 0, t->k - 1u, w,
                                              lanes),
                                F(pivot_last_child)(t, l), unit);
        at = F(pivot_begin)(v, at, len, unit);
    }
    at = F(group_window)(v, at, len, w, unit, lanes);
    rank = F(array_rank)(v, at, F(group_node)(v, F(array_unit)(v, at, unit), 1, 0, unit, w, lanes),
                         unit);
    *slot = rank < v->n ? rank : SX_NO_SLOT;
    return rank;
}

SX_KERNEL_2048(F(k_group), sx_gpu_lookup)
{
    unsigned lanes = ap->lanes;
    uint64_t groups = SX_THREADS / lanes;

    for (uint64_t first = (SX_THREAD - SX_LANE) / lanes; first < ap->n; first += groups) {
        uint64_t i = first + SX_LANE / lanes, slot, rank, number;
        int live = i < ap->n, all;
        KEY q = F(read_key)(ap->key_type, ap->q, live ? i : ap->n - 1), w = F(walked)(ap, q, &all);
        rank = F(group_bound)(ap, w, &slot);
        if (live && (SX_LANE & (lanes - 1)) == 0) {
            number = F(number)(ap, q, all, rank, &slot, 0);
            F(put)(ap, i, number, slot);
        }
    }
}

/* ---- questions that ascend --------------------------------------------------------------------- */

/* The walk where it is rare: a call, which leaves the registers to the rest. */
SX_DEV_FAR uint64_t F(bound_far)(const sx_view *v, KEY w, uint64_t *slot, uint32_t unit)
{
    return F(bound_near)(v, w, slot, unit, 0, 0);
}

/* `count` keys from slot `from` on into shared memory, both multiples of what
 * 16 bytes hold. */
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

/* A block takes tiles of questions that follow each other. What the last
 * question of one tile found is where the next one begins: from there on as
 * many keys as the tile before needed, and some more, are read into shared
 * memory, side by side, and searched there. A question that falls outside
 * (since questions do not ascend, or leap) is walked from the top.
 *
 * Shared memory: where the next tile begins, then the window's keys. */
SX_KERNEL_1536(F(k_ascending), sx_gpu_lookup)
{
    const sx_view *v = &ap->v;
    uint64_t *next = (uint64_t *)(void *)SX_SHARED;
    KEY *window = (KEY *)(void *)(SX_SHARED + SX_WINDOW_HEAD);
    uint32_t n = (uint32_t)ap->n, tile = SX_BLOCK_THREADS * ap->each, tiles = (n - 1) / tile + 1;
    uint32_t mine = (tiles - 1) / SX_BLOCKS + 1, t = SX_BLOCK * mine, per = 16 / W;
    uint32_t stop = t + mine < tiles ? t + mine : tiles, first = t;
    uint64_t from = 0, span = 0;

    for (; t < stop; t++) {
        uint32_t begin = t * tile, end = n - begin < tile ? n : begin + tile, count;
        uint64_t slot;
        int all;
        if (t == first) {         /* both ends from the top */
            if (SX_TID == 0 || SX_TID == SX_BLOCK_THREADS - 1) {
                KEY q = F(read_key)(ap->key_type, ap->q, SX_TID == 0 ? begin : end - 1);
                next[SX_TID != 0] = F(bound_far)(&ap->v, F(walked)(ap, q, &all), &slot, ap->unit);
            }
            SX_BARRIER();
            from = next[0];
            span = next[1] > from ? next[1] - from : 0;
        }
        /* a piece before, so that its first key is below what is asked */
        from = from / per * per;
        from -= from > 0 ? per : 0;
        count = span >= ap->window ? 0 : (uint32_t)sx_min64(2 * span + 64, ap->window) / per * per;
        count = (uint32_t)sx_min64(count, v->slots - from);
        F(fill_window)(v, window, from, count);
        SX_BARRIER();
        for (uint32_t i = begin + SX_TID; i < end; i += SX_BLOCK_THREADS) {
            KEY q = F(read_key)(ap->key_type, ap->q, i), w = F(walked)(ap, q, &all);
            uint64_t rank, number;
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
                slot = rank < v->n ? rank : SX_NO_SLOT;
                if (ap->op == SX_OP_GET && (at >= count || window[at] != q))
                    slot = SX_NO_SLOT;
            } else {
                rank = F(bound_far)(&ap->v, w, &slot, ap->unit);
            }
            if (i == end - 1)
                next[0] = rank;
            number = F(number)(ap, q, all, rank, &slot, near);
            F(put)(ap, i, number, slot);
        }
        SX_BARRIER();
        span = next[0] > from ? next[0] - from : 0;
        from = next[0];
    }
}
