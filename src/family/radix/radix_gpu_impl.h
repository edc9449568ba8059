/* radix_gpu_impl.h - radix_gpu.cu for one width of key. */
#include "family/generic/gpu_begin.h"
#include "family/generic/gpu_columns_impl.h"
#include "family/generic/gpu_near_impl.h"
#include "family/radix/radix_bound_impl.h"

SX_DEV uint64_t F(bound_near)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                              const unsigned char *top, uint64_t top_bytes)
{
    *slot = SX_NO_SLOT;
    return v->n == 0 ? 0 : F(radix_bound)(v, q, slot, unit, top, top_bytes);
}

SX_DEV void F(fill_top)(const sx_gpu_lookup *ap)
{
    (void)ap;                     /* nothing is staged */
}

#include "family/generic/gpu_bound_impl.h"
#include "family/generic/gpu_points_impl.h"
#include "family/generic/gpu_ascending_impl.h"

/* As k_lookup. But where the walk knows whether there is such a key, a get reads no key: of keys
 * without gaps it only reads the row. */
SX_KERNEL_1024(F(k_radix), sx_gpu_lookup)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY q = F(read_query)(ap->key_type, ap->q, i), w;
        uint64_t slot = SX_NO_SLOT, at = 0, state = 0, count, number;
        int end;
        w = F(walked)(q, sx_side_of(ap->op), &end);
        if (v->n > 0) {
            state = F(radix_walk)(v, w);
            at = F(radix_ended)(v, state, &count);
            at = F(array_slot)(v, F(radix_finish)(v, at, count, w, ap->unit), &slot);
        }
        at = F(bounded_slot)(v, end, at, &slot);
        if (ap->op == SX_OP_GET && state >> 48 == SX_RADIX_DONE >> 48)
            slot = SX_NO_SLOT;
        number = F(number)(ap, q, at, &slot, state >> 48 == (SX_RADIX_DONE >> 48 | SX_RADIX_HERE));
        F(put)(ap, i, number, slot);
    }
}

#include "family/generic/gpu_ranges_impl.h"

/* As k_spans, of prefixes: both ends by one walk. */
SX_KERNEL_1024(F(k_radix_prefixes), sx_gpu_spans)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    const uint32_t *bits = (const uint32_t *)ap->hi;

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY q = F(read_query)(ap->key_type, ap->lo, i);
        uint64_t end = 0, start = 0, count;
        if (v->n > 0)
            start = F(radix_prefix)(v, q, bits ? bits[i] : ap->length, &end);
        start = sx_rank_at(v, start);
        count = sx_span(ap, 0, &start, sx_rank_at(v, end));
        if (ap->start)
            ap->start[i] = start;
        ap->count[i] = count;
    }
}

#include "family/generic/gpu_climb_impl.h"
#include "family/generic/gpu_reorders_impl.h"

SX_DEV uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(radix_enter)(v, l, at);
}

SX_DEV uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    (void)l;
    return F(radix_step)(v, at, q);
}
#include "family/generic/gpu_steps_impl.h"

#if GPU_LAB
/* There is nothing to share: all lanes do the same. */
SX_DEV uint64_t F(group_bound)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    return F(bound_near)(SX_GPU_VIEW(&ap->views), w, slot, ap->unit, 0, 0);
}

#define SX_GROUP_KERNEL
#include "family/generic/gpu_group_impl.h"
#undef SX_GROUP_KERNEL
#endif

/* ---- building ------------------------------------------------------------------------- */

#include "family/radix/radix_make_impl.h"

/* A warp has a part of the keys: it counts the nodes that begin there, or lists them where the
 * sums of counts say. */
SX_KERNEL(F(k_radix_list), sx_gpu_radix)
{
    const KEY *keys = (const KEY *)ap->keys;
    uint64_t n = ap->v.n;
    uint32_t leaf = ap->v.of.radix.leaf;

    for (uint64_t p = SX_THREAD / 32; p < ap->parts; p += SX_THREADS / 32) {
        uint64_t count = 0;
        for (uint32_t k = 0; k < SX_RADIX_PART; k += 32) {
            uint64_t i = p * SX_RADIX_PART + k + SX_LANE;
            uint32_t here = i < n && n - i > leaf
                                ? F(radix_begin)(keys, n, leaf, i, (sx_radix_making *)0, 0) : 0;
            uint32_t sum = here;
            for (uint32_t d = 1; d < 32; d *= 2) {
                uint32_t before = SX_SHUFFLE(sum, (SX_LANE - d) & 31u);
                sum += SX_LANE >= d ? before : 0;
            }
            if (here && ap->nodes)
                (void)F(radix_begin)(keys, n, leaf, i,
                                     ap->nodes + ap->part[p] + count + (sum - here), here);
            count += SX_SHUFFLE(sum, 31);
        }
        if (!ap->nodes && SX_LANE == 0)
            ap->part[p] = count;
    }
}

/* Where the keys of each byte of a node begin, in the warp's shared memory, and which bytes have
 * keys. */
SX_DEV const uint64_t *F(radix_bytes_of)(const KEY *keys, const sx_radix_making *m,
                                         uint32_t bits[8])
{
    uint64_t *from = (uint64_t *)(void *)(SX_SHARED + SX_TID / 32 * SX_RADIX_SHARED);

    SX_WARP_SYNC();               /* the one before is not needed any more */
    for (uint32_t b = SX_LANE; b <= 256; b += 32)
        from[b] = F(radix_from)(keys, m, b);
    SX_WARP_SYNC();
    for (uint32_t w = 0; w < 8; w++)
        bits[w] = SX_BALLOT(from[32 * w + SX_LANE + 1] > from[32 * w + SX_LANE]);
    return from;
}

/* A warp has a node: its kind, and its size. */
SX_KERNEL(F(k_radix_size), sx_gpu_radix)
{
    const KEY *keys = (const KEY *)ap->keys;

    for (uint64_t i = SX_THREAD / 32; i < ap->count; i += SX_THREADS / 32) {
        sx_radix_making *m = &ap->nodes[i];
        uint32_t bits[8], children = 0, kind;
        const uint64_t *from = F(radix_bytes_of)(keys, m, bits);
        int wide = 0;
        for (uint32_t w = 0; w < 8; w++) {
            uint32_t b = 32 * w + SX_LANE;
            children += SX_POPC(bits[w]);
            wide |= (bits[w] >> SX_LANE & 1u) &&
                    F(radix_is_node)(keys, ap->v.of.radix.leaf, from[b], from[b + 1]);
        }
        wide = SX_ANY(wide);
        kind = F(radix_kind)(m, children, wide);
        if (SX_LANE == 0)
            m->place = (uint64_t)kind << 56 | sx_radix_bytes(kind, W) / SX_RADIX_UNIT;
    }
}

SX_KERNEL(F(k_radix_fill), sx_gpu_radix)
{
    const KEY *keys = (const KEY *)ap->keys;
    uint4 zero = {0, 0, 0, 0};

    for (uint64_t i = SX_THREAD; i < SX_RADIX_SPARE / 16; i += SX_THREADS)
        ((uint4 *)(void *)ap->to)[ap->v.of.radix.units + i] = zero;
    for (uint64_t i = SX_THREAD / 32; i < ap->count; i += SX_THREADS / 32) {
        const sx_radix_making *m = &ap->nodes[i];
        uint32_t bits[8];
        const uint64_t *from = F(radix_bytes_of)(keys, m, bits);
        unsigned char *node = ap->to + (m->place & SX_RADIX_AT) * SX_RADIX_UNIT;
        for (uint32_t u = SX_LANE; u < sx_radix_bytes((uint32_t)(m->place >> 56), W) / 16; u += 32)
            ((uint4 *)(void *)node)[u] = zero;
        SX_WARP_SYNC();
        F(radix_fill)(keys, ap->v.of.radix.leaf, ap->nodes, ap->count, m, from, bits, node, SX_LANE,
                      32);
    }
}

#include "family/generic/gpu_end.h"
