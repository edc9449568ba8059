/* gpu_ranges_impl.h - the kernel that finds ranges, for one width and one family, and how gpu_fold.h
 * finds one. Behind gpu_bound_impl.h. */

SX_KERNEL_1024(F(k_spans), sx_gpu_spans)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY lo = F(read_key)(ap->key_type, ap->lo, i), hi = F(read_key)(ap->key_type, ap->hi, i);
        uint64_t start = sx_rank_at(v, F(position)(v, lo, SX_LEFT));
        uint64_t end = sx_rank_at(v, F(position)(v, hi, SX_RIGHT));
        uint64_t count = sx_span(ap, lo > hi, &start, end);
        if (ap->start)
            ap->start[i] = start;
        ap->count[i] = count;
    }
}

/* The rank where range i begins, or, upper, ends. *crossed: its ends are, so it has nothing. */
SX_DEV uint64_t F(range_end)(const sx_gpu_spans *ap, uint64_t i, unsigned upper, uint32_t unit,
                             int *crossed)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    KEY lo = F(read_key)(ap->key_type, ap->lo, i), hi = F(read_key)(ap->key_type, ap->hi, i);

    *crossed = lo > hi;
    return sx_rank_at(v, F(bound_far)(v, upper ? hi : lo, upper ? SX_RIGHT : SX_LEFT, unit));
}
