/* gpu_fold.h - the kernel that folds the rows of ranges, for one family. Behind gpu_ranges_impl.h of
 * all widths: they differ in how ends of ranges are found, which is a call, and the rest is there
 * once. */

/* Finds and folds. A warp has ap->ranges ranges at a time: that many lanes find the lower
 * ends, and as many the upper ends. Then SX_FOLD_LANES lanes read each short range,
 * several at a time. The whole warp reads long ranges, one after the other. */
SX_KERNEL_1024(k_fold, sx_gpu_folds)
{
    const sx_view *v = SX_GPU_VIEW(&ap->spans.views);
    unsigned ranges = ap->ranges, upper = SX_LANE / ranges & 1, lanes = SX_FOLD_LANES;
    unsigned readers = ap->scan == SX_SCAN_THREAD ? 1 : lanes;
    int extremes = ap->min || ap->max;
    uint64_t most_short = ap->scan == SX_SCAN_WARP ? 0 : ap->scan == SX_SCAN_MIXED
                          ? lanes * SX_FOLD_SHORT : UINT64_MAX;

    for (uint64_t base = SX_THREAD / 32 * ranges; base < ap->spans.n;
         base += SX_THREADS / 32 * ranges) {
        uint64_t i = base + SX_LANE % ranges, bound = 0, start, end, count = 0;
        int crossed = 0;
        if (i < ap->spans.n && SX_LANE < 2 * ranges)
            bound = v->width == 4   ? range_end_4(&ap->spans, i, upper, ap->unit, &crossed)
                    : v->width == 8 ? range_end_8(&ap->spans, i, upper, ap->unit, &crossed)
                                    : range_end_16(&ap->spans, i, upper, ap->unit, &crossed);
        start = SX_SHUFFLE(bound, SX_LANE % ranges);
        end = SX_SHUFFLE(bound, SX_LANE % ranges + ranges);
        if (i < ap->spans.n && SX_LANE < ranges) {
            count = sx_span(&ap->spans, crossed, &start, end);
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
