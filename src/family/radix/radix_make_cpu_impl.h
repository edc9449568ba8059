/* radix_make_cpu_impl.h - building in radix_cpu.c, for one width W. */
#include "family/generic/width_begin.h"

#include "family/radix/radix_make_impl.h"

/* Nodes that begin in part p. If `to` is not NULL, they go there. Returns how many there are. */
static uint64_t F(list_part)(const making *w, uint64_t p, sx_radix_making *to)
{
    const KEY *keys = w->keys;
    uint64_t n = w->v->n, end = (p + 1) * PART < n ? (p + 1) * PART : n, count = 0;
    uint32_t leaf = w->v->of.radix.leaf;

    for (uint64_t i = p * PART; i < end; i++) {
        uint32_t here;
        if (n - i <= leaf)
            break;
        if (i > 0 && keys[i] == keys[i - 1])
            continue;
        here = F(radix_begin)(keys, n, leaf, i, NULL, 0);
        if (here && to)
            (void)F(radix_begin)(keys, n, leaf, i, to + count, here);
        count += here;
    }
    return count;
}

/* Where the keys of each byte begin, and which bytes have keys. Few keys are looked at one by
 * one. */
static void F(bounds_of)(const making *w, const sx_radix_making *m, uint64_t from[257],
                         uint32_t bits[8])
{
    const KEY *keys = w->keys;
    uint32_t shift = 8 * (W - 1 - (uint32_t)(m->at >> 48)), b = 0;

    if (m->end - (m->at & SX_RADIX_RANK) <= 4096) {
        for (uint64_t i = m->at & SX_RADIX_RANK; i < m->end; i++)
            while (b <= ((uint32_t)(keys[i] >> shift) & 255u))
                from[b++] = i;
        while (b <= 256)
            from[b++] = m->end;
    } else {
        for (b = 0; b <= 256; b++)
            from[b] = F(radix_from)(keys, m, b);
    }
    memset(bits, 0, 8 * sizeof *bits);
    for (b = 0; b < 256; b++)
        bits[b / 32] |= (uint32_t)(from[b + 1] > from[b]) << b % 32;
}

static void F(size_node)(const making *w, sx_radix_making *m)
{
    uint64_t from[257];
    uint32_t bits[8], children = 0, kind;
    int wide = 0;

    F(bounds_of)(w, m, from, bits);
    for (uint32_t b = 0; b < 256; b++) {
        children += from[b + 1] > from[b];
        wide |= from[b + 1] > from[b] &&
                F(radix_is_node)(w->keys, w->v->of.radix.leaf, from[b], from[b + 1]);
    }
    kind = F(radix_kind)(m, children, wide);
    m->place = (uint64_t)kind << 56 | sx_radix_bytes(kind, W) / SX_RADIX_UNIT;
}

static void F(fill_node)(const making *w, const sx_radix_making *m)
{
    uint64_t from[257];
    uint32_t bits[8];

    F(bounds_of)(w, m, from, bits);
    F(radix_fill)(w->keys, w->v->of.radix.leaf, w->nodes, w->count, m, from, bits,
                  w->to + (m->place & SX_RADIX_AT) * SX_RADIX_UNIT, 0, 1);
}

#include "family/generic/width_end.h"
