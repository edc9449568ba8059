/* gpu_make_impl.h - kernels that look at an input and make sections, one
 * width. Parameters as in gpu_walk_impl.h. */

SX_KERNEL(F(k_encode), sx_gpu_input)
{
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS)
        ((KEY *)ap->keys)[i] = F(read_key)(ap->key_type, ap->in_keys, i);
}

/* Four keys of each lane are on their way at a time. One lane of a warp reports: atomics
 * on one word come one after the other; and keys behind what it found are no sooner. */
#define SX_LOOK 4u

SX_KERNEL(F(k_descent), sx_gpu_input)
{
    const KEY *k = (const KEY *)ap->keys;

    for (uint64_t base = (SX_THREAD - SX_LANE) * SX_LOOK; base + 1 < ap->n;
         base += SX_THREADS * SX_LOOK) {
        int descends = 0;
        SX_UNROLL
        for (unsigned t = 0; t < SX_LOOK; t++) {
            uint64_t i = base + t * 32 + SX_LANE;
            descends |= i + 1 < ap->n && k[i] > k[i + 1];
        }
        if (SX_ANY(descends)) {
            if (SX_LANE == 0)
                atomicMin(&ap->facts->descent_at, (sx_word)base);
            return;
        }
    }
}

SX_KERNEL(F(k_repeat), sx_gpu_input)
{
    const KEY *k = (const KEY *)ap->keys;

    for (uint64_t base = (SX_THREAD - SX_LANE) * SX_LOOK; base + 1 < ap->n;
         base += SX_THREADS * SX_LOOK) {
        int same[SX_LOOK];
        SX_UNROLL
        for (unsigned t = 0; t < SX_LOOK; t++) {
            uint64_t i = base + t * 32 + SX_LANE;
            same[t] = i + 1 < ap->n && k[i] == k[i + 1];
        }
        SX_UNROLL
        for (unsigned t = 0; t < SX_LOOK; t++) {
            unsigned repeats = SX_BALLOT(same[t]);
            if (repeats) {        /* the lowest lane that saw one */
                if (SX_LANE == 0)
                    atomicMin(&ap->facts->repeat_at,
                              (sx_word)(base + t * 32 + SX_POPC((repeats - 1) & ~repeats)));
                return;
            }
        }
    }
}
#undef SX_LOOK

/* One load and one store per slot: where its key comes from is arithmetic. */
SX_KERNEL(F(k_slots), sx_gpu_build)
{
    const sx_view *v = &ap->v;

    for (uint64_t slot = ap->whole + SX_THREAD; slot < v->slots; slot += SX_THREADS) {
        KEY *to = (KEY *)(void *)(ap->keys + sx_key_offset(v, slot));
        unsigned char *row = ap->rows ? ap->rows + sx_row_offset(v, slot) : 0;
        uint64_t rank;
        if (slot >= v->n) {
            *to = (KEY)~(KEY)0;
            if (v->block)
                sx_put_number(row, v->row_bytes, 0, SX_MISS);
            continue;
        }
        rank = sx_rank_of_slot(v, slot);
        *to = ((const KEY *)ap->from_keys)[rank];
        if (v->row_bytes)
            sx_put_number(row, v->row_bytes, 0,
                          sx_number_at(ap->from_rows, v->row_bytes, rank));
    }
}

SX_KERNEL(F(k_pivots), sx_gpu_build)
{
    const sx_pivot *t = &ap->v.of.pivot;
    const KEY *from = (const KEY *)ap->from_keys;
    KEY *to = (KEY *)(void *)ap->pivots;
    uint64_t m = t->k - 1u;

    for (uint64_t i = SX_THREAD; i < t->first[t->levels] * m; i += SX_THREADS) {
        uint32_t l = 0;
        while (l + 1 < t->levels && t->first[l + 1] * m <= i)
            l++;
        uint64_t source = sx_pivot_source(t, l, i - t->first[l] * m);
        to[i] = source < ap->v.n ? from[source] : (KEY)~(KEY)0;
    }
}

/* A thread makes a piece: its first key and its map. */
SX_KERNEL(F(k_pieces), sx_gpu_build)
{
    const sx_view *v = &ap->v;
    const KEY *from = (const KEY *)ap->from_keys;
    KEY *firsts = (KEY *)(void *)ap->pieces;
    const sx_guide *g = &v->of.guide;
    sx_piece_map *maps = (sx_piece_map *)(void *)(ap->pieces + sx_piece_key_bytes(g, W));

    for (uint64_t p = SX_THREAD; p < sx_piece_key_bytes(g, W) / W; p += SX_THREADS) {
        KEY first = p < g->pieces ? from[sx_piece_rank(g, v->n, p)] : (KEY)~(KEY)0;
        firsts[p] = first;
        if (p < g->pieces)
            maps[p] = F(guide_map)(v, first, from[p + 1 < g->pieces
                                                      ? sx_piece_rank(g, v->n, p + 1) : v->n - 1]);
    }
}

/* A thread makes a record, out of the keys and the pieces in v. */
SX_KERNEL(F(k_guide), sx_gpu_build)
{
    for (uint64_t r = SX_THREAD; r < sx_guide_records(&ap->v.of.guide); r += SX_THREADS)
        F(guide_record)(&ap->v, (const unsigned char *)ap->from_keys, r,
                        ap->guide + r * SX_GUIDE_RECORD);
}

/* ---- pgm -------------------------------------------------------------------------- */

#define SX_WALK SX_DEV
#include "family/pgm/pgm_fit_impl.h"
#undef SX_WALK

#include "gpu/gpu_lanes_impl.h"

/* SX_FIT_LANES lanes of a warp fit lines to a part. */
SX_KERNEL(F(k_fit), sx_gpu_fit)
{
    uint64_t groups = 32 / SX_FIT_LANES;
    F(near_corner) *hulls = (F(near_corner) *)(void *)SX_SHARED +
                            SX_TID / SX_FIT_LANES * (2 * SX_FIT_NEAR);

    for (uint64_t warp = SX_THREAD / 32; warp * groups < ap->parts; warp += SX_THREADS / 32) {
        uint64_t p = warp * groups + SX_LANE / SX_FIT_LANES, first = 0, end = 0, count;
        if (p < ap->parts) {
            first = sx_pgm_part(ap->n, ap->parts, p);
            end = sx_pgm_part(ap->n, ap->parts, p + 1);
        }
        count = F(near_fit_part)((const KEY *)ap->below, ap->n, first, end, ap->eps, hulls,
                                 (KEY *)(void *)ap->keys + p * ap->room,
                                 ap->segments + p * ap->room);
        if (p < ap->parts && SX_LANE % SX_FIT_LANES == 0)
            ap->count[p] = count;
    }
}

/* SX_AGAIN_LANES lanes of a warp fit lines to a part each, of those that need more
 * memory. */
SX_KERNEL(F(k_fit_again), sx_gpu_fit)
{
    if (SX_LANE >= SX_AGAIN_LANES)
        return;
    for (uint64_t p = SX_THREAD / 32 * SX_AGAIN_LANES + SX_LANE; p < ap->parts;
         p += SX_THREADS / 32 * SX_AGAIN_LANES) {
        uint64_t place = ap->count[p] - SX_FIT_AGAIN;
        if (ap->count[p] >= SX_FIT_AGAIN)
            ap->count[p] = F(pgm_fit_part)((const KEY *)ap->below, ap->n,
                                           sx_pgm_part(ap->n, ap->parts, p),
                                           sx_pgm_part(ap->n, ap->parts, p + 1), ap->eps,
                                           ap->hulls + place * ap->hull_room,
                                           (KEY *)(void *)ap->keys + p * ap->room,
                                           ap->segments + p * ap->room);
    }
}

/* Segments of all parts, one behind the other: count[p] is where those of part
 * p go. */
SX_KERNEL(F(k_collect), sx_gpu_fit)
{
    for (uint64_t i = SX_THREAD; i < ap->total; i += SX_THREADS) {
        uint64_t p = 0, len = ap->parts, from;
        while (len > 1) {         /* the last part that does not begin behind i */
            uint64_t half = len / 2;
            p += ap->count[p + half] <= i ? half : 0;
            len -= half;
        }
        from = p * ap->room + (i - ap->count[p]);
        ((KEY *)(void *)ap->to_keys)[i] = ((const KEY *)(const void *)ap->keys)[from];
        ap->to_segments[i] = ap->segments[from];
    }
}

/* The entries of a level: segments, the end, and what is behind it. */
SX_KERNEL(F(k_level), sx_gpu_fit)
{
    for (uint64_t i = SX_THREAD; i < ap->entries; i += SX_THREADS) {
        sx_segment s;
        s.slope = 0;
        s.base = i == ap->total ? ap->n << 16 : 0;
        ((KEY *)(void *)ap->to_keys)[i] = i < ap->total ? ((const KEY *)ap->below)[i] : (KEY)~(KEY)0;
        ap->to_segments[i] = i < ap->total ? ap->segments[i] : s;
    }
}
