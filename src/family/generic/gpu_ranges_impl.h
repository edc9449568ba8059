/* gpu_ranges_impl.h - kernels that find ranges and fold their rows, for one width and one
 * family. Behind gpu_far_impl.h. */

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

SX_KERNEL_1024(F(k_spans), sx_gpu_spans)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY lo = F(read_key)(ap->key_type, ap->lo, i), hi = F(read_key)(ap->key_type, ap->hi, i);
        uint64_t slot, start = sx_rank_at(v, F(bound_near)(v, lo, &slot, v->unit, 0, 0));
        uint64_t end = sx_rank_at(v, F(right_bound)(v, hi));
        uint64_t count = F(span)(ap, lo, hi, &start, end);
        if (ap->start)
            ap->start[i] = start;
        ap->count[i] = count;
    }
}

/* Finds and folds. A warp has ap->ranges of them at a time: as many lanes find
 * the lower ends, as many the upper ones. Then ranges that are short are read
 * by SX_FOLD_LANES lanes each, several at a time; long ones by the whole warp,
 * one after the other. */
SX_KERNEL_1024(F(k_fold), sx_gpu_folds)
{
    const sx_view *v = SX_GPU_VIEW(&ap->spans.views);
    unsigned ranges = ap->ranges, upper = SX_LANE / ranges & 1, lanes = SX_FOLD_LANES;
    unsigned readers = ap->scan == SX_SCAN_THREAD ? 1 : lanes;
    int extremes = ap->min || ap->max;
    uint64_t most_short = ap->scan == SX_SCAN_WARP ? 0 : ap->scan == SX_SCAN_MIXED
                          ? lanes * SX_FOLD_SHORT : UINT64_MAX;

    for (uint64_t base = SX_THREAD / 32 * ranges; base < ap->spans.n;
         base += SX_THREADS / 32 * ranges) {
        uint64_t i = base + SX_LANE % ranges, bound = 0, slot, start, end, count = 0;
        KEY lo = 0, hi = 0;
        if (i < ap->spans.n && SX_LANE < 2 * ranges) {
            lo = F(read_key)(ap->spans.key_type, ap->spans.lo, i);
            hi = F(read_key)(ap->spans.key_type, ap->spans.hi, i);
            int all = upper && hi == (KEY)~(KEY)0;
            bound = F(bound_far)(v, upper ? (KEY)(hi + !all) : lo, &slot, ap->unit);
            bound = sx_rank_at(v, all ? v->n : bound);
        }
        start = SX_SHUFFLE(bound, SX_LANE % ranges);
        end = SX_SHUFFLE(bound, SX_LANE % ranges + ranges);
        if (i < ap->spans.n && SX_LANE < ranges) {
            count = F(span)(&ap->spans, lo, hi, &start, end);
            if (ap->spans.count)
                ap->spans.count[i] = count;
        }
        if (!ap->sum && !extremes)
            continue;
        /* Lane r < ranges has range base + r from here on. */
        for (unsigned r = 0; r < ranges; r += 32 / lanes) {
            unsigned mine = r + SX_LANE / lanes;
            uint64_t n = SX_SHUFFLE(count, mine & 31), from = SX_SHUFFLE(start, mine & 31);
            sx_gpu_fold_state f = sx_fold_begin();
            int here = mine < ranges && base + mine < ap->spans.n && n <= most_short;
            if (here && SX_LANE % lanes < readers)
                sx_fold_span(v, &f, from, n, SX_LANE % lanes, readers, extremes);
            sx_fold_lanes(&f, lanes);
            if (here && SX_LANE % lanes == 0)
                sx_put_fold(ap, base + mine, n, &f);
        }
        for (unsigned r = 0; r < ranges; r++) {
            uint64_t n = SX_SHUFFLE(count, r), from = SX_SHUFFLE(start, r);
            sx_gpu_fold_state f = sx_fold_begin();
            int short_ones = n <= most_short && (n > 0 || ap->scan != SX_SCAN_WARP);
            if (short_ones || base + r >= ap->spans.n)
                continue;         /* done above, or past the end */
            sx_fold_span(v, &f, from, n, SX_LANE, 32, extremes);
            sx_fold_lanes(&f, 32);
            if (SX_LANE == 0)
                sx_put_fold(ap, base + r, n, &f);
        }
    }
}
