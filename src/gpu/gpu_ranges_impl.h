/* gpu_ranges_impl.h - kernels for ranges, one width. Parameters as in
 * gpu_walk_impl.h. */

/* Range i as a span of ranks, from the bounds of its ends. */
SX_DEV uint64_t F(span)(const sx_gpu_spans *ap, KEY lo, KEY hi, uint64_t *start, uint64_t end)
{
    uint64_t count = lo > hi || end < *start ? 0 : end - *start;

    if (count > ap->limit) {
        *start += ap->last ? count - ap->limit : 0;
        count = ap->limit;
    }
    return count;
}

SX_KERNEL_2048(F(k_spans), sx_gpu_spans)
{
    const sx_view *v = &ap->v;

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY lo = F(read_key)(ap->key_type, ap->lo, i), hi = F(read_key)(ap->key_type, ap->hi, i);
        uint64_t slot, start = F(bound)(v, lo, &slot), end = F(right_rank)(v, hi);
        uint64_t count = F(span)(ap, lo, hi, &start, end);
        if (ap->start)
            ap->start[i] = start;
        ap->count[i] = count;
    }
}

/* Finds and folds. A warp has ap->ranges of them at a time, so 32 / ranges
 * lanes for each: the first finds the lower end, the second the upper one,
 * and together they read the rows of a short range. Long ones are read by
 * the whole warp, one after the other. */
SX_KERNEL_2048(F(k_fold), sx_gpu_folds)
{
    const sx_view *v = &ap->spans.v;
    unsigned lanes = 32 / ap->ranges, me = SX_LANE % lanes;
    uint64_t stride = SX_THREADS / 32 * ap->ranges;

    for (uint64_t base = SX_THREAD / 32 * ap->ranges; base < ap->spans.n; base += stride) {
        uint64_t i = base + SX_LANE / lanes, bound = 0, slot, start, end, count = 0;
        int live = i < ap->spans.n;
        sx_gpu_fold_state f = sx_fold_begin();
        if (live && me < 2) {
            KEY key = F(read_key)(ap->spans.key_type, me ? ap->spans.hi : ap->spans.lo, i);
            int all = me && key == (KEY)~(KEY)0;
            bound = F(bound_near)(v, (KEY)(key + (me && !all)), &slot, ap->unit, 0, 0);
            bound = all ? v->n : bound;
        }
        start = SX_SHUFFLE(bound, SX_LANE - me);
        end = SX_SHUFFLE(bound, SX_LANE - me + 1);
        if (live)
            count = F(span)(&ap->spans, F(read_key)(ap->spans.key_type, ap->spans.lo, i),
                            F(read_key)(ap->spans.key_type, ap->spans.hi, i), &start, end);
        if (live && ap->spans.count && me == 0)
            ap->spans.count[i] = count;
        if (!ap->min && !ap->max && !ap->sum)
            continue;
        if (ap->scan == SX_SCAN_THREAD) {
            if (me == 0)
                sx_fold_span(v, &f, start, count, 0, 1, ap->min || ap->max);
        } else if (ap->scan == SX_SCAN_MIXED && count <= lanes * SX_FOLD_SHORT) {
            sx_fold_span(v, &f, start, count, me, lanes, ap->min || ap->max);
        }
        sx_fold_lanes(&f, lanes);
        for (unsigned r = 0; r < ap->ranges; r++) {
            uint64_t its = SX_SHUFFLE(count, r * lanes), its_start = SX_SHUFFLE(start, r * lanes);
            sx_gpu_fold_state g = sx_fold_begin();
            if (ap->scan == SX_SCAN_THREAD ||
                (ap->scan == SX_SCAN_MIXED && its <= lanes * SX_FOLD_SHORT))
                continue;
            sx_fold_span(v, &g, its_start, its, SX_LANE, 32, ap->min || ap->max);
            sx_fold_lanes(&g, 32);
            if (SX_LANE / lanes == r)
                f = g;
        }
        if (live && me == 0) {
            if (ap->min)
                ap->min[i] = f.min;
            if (ap->max)
                ap->max[i] = count ? f.max : SX_MISS;
            if (ap->sum)
                ap->sum[i] = f.sum;
        }
    }
}

/* The span that output o belongs to: the last whose first is at or before o;
 * known to be at or behind i. */
SX_DEV uint64_t F(span_of)(const uint64_t *first, uint64_t n, uint64_t i, uint64_t o)
{
    uint64_t end = n;             /* first[end] > o, or end is n */

    if (i + 1 < n && first[i + 1] > o)
        return i;
    while (end - i > 1) {
        uint64_t mid = i + (end - i) / 2;
        if (first[mid] <= o)
            i = mid;
        else
            end = mid;
    }
    return i;
}

/* A warp takes so many outputs that follow each other. */
#define SX_FILL_TILE 1024u

SX_KERNEL_2048(F(k_fill), sx_gpu_fill)
{
    const sx_view *v = &ap->v;
    uint64_t end = ap->to == UINT64_MAX ? ap->first[ap->n] : ap->to;

    if (ap->to == UINT64_MAX && end > ap->room)
        return;                   /* k_room says so */
    for (uint64_t o = ap->from + SX_THREAD / 32 * SX_FILL_TILE; o < end;
         o += SX_THREADS / 32 * SX_FILL_TILE) {
        uint64_t stop = end - o < SX_FILL_TILE ? end : o + SX_FILL_TILE;
        uint64_t i = F(span_of)(ap->first, ap->n, 0, o), rank, slot;
        for (uint64_t to = o + SX_LANE; to < stop; to += 32) {
            i = F(span_of)(ap->first, ap->n, i, to);
            rank = ap->start[i] + (to - ap->first[i]);
            slot = sx_slot_of_rank(v, rank);
            if (ap->rows)
                sx_put_number(ap->rows, ap->row_bytes, to - ap->from, sx_row_at(v, slot, rank));
            if (ap->keys)
                F(write_key)(ap->key_type, ap->keys, to - ap->from, F(slot_key)(v, slot));
        }
    }
}
