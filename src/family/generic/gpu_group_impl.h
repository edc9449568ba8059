/* gpu_group_impl.h - lanes that search for one question together: their steps, and
 * (SX_GROUP_KERNEL) the kernel, behind the family's F(group_bound)(ap, w, &slot). */
#ifndef SX_GROUP_KERNEL

/* How many lanes have pred, in this lane's group of `lanes`. */
SX_DEV unsigned F(group_count)(int pred, unsigned lanes)
{
    unsigned all = SX_BALLOT(pred) >> (SX_LANE & ~(lanes - 1));

    return SX_POPC(lanes == 32 ? all : all & ((1u << lanes) - 1));
}

/* Keys below w among m. Key j is at keys + sx_key_offset(first + j), or at keys + j * W
 * if `flat`. */
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

/* From a window to one unit: each lane looks at the end of a part of it. The parts are those
 * of the longest window that a group of the warp has, so that all take equally many steps. */
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

#else

SX_KERNEL_2048(F(k_group), sx_gpu_lookup)
{
    unsigned lanes = ap->lanes;
    uint64_t groups = SX_THREADS / lanes;

    for (uint64_t first = (SX_THREAD - SX_LANE) / lanes; first < ap->n; first += groups) {
        uint64_t i = first + SX_LANE / lanes, slot, rank, number;
        int live = i < ap->n, end;
        KEY q = F(read_key)(ap->key_type, ap->q, live ? i : ap->n - 1);
        KEY w = F(walked)(q, sx_side_of(ap->op), &end);
        rank = F(group_bound)(ap, w, &slot);
        if (live && (SX_LANE & (lanes - 1)) == 0) {
            rank = F(bounded_slot)(SX_GPU_VIEW(&ap->views), end, rank, &slot);
            number = F(number)(ap, q, rank, &slot, 0);
            F(put)(ap, i, number, slot);
        }
    }
}

#endif
