/* gpu_walk_impl.h - a lookup by one thread, for one width of key.
 *
 * Parameters: W, F(name), KEY; a vendor header before it. Kernels include
 * it, and sextant_device.cuh, for kernels of the user's own. */

#define SX_WALK SX_DEV
#define SX_LOAD(p) (*(const KEY *)(const void *)(p))
#define SX_COUNT(p, m, q) F(count)((p), (m), (q))
#define SX_COUNT_UNIT(p, m, q) F(count_unit)((p), (m), (q))

SX_DEV unsigned F(count)(const unsigned char *p, uint32_t m, KEY q)
{
    unsigned below = 0;

    for (uint32_t i = 0; i < m; i++)
        below += SX_LOAD(p + i * W) < q;
    return below;
}

/* The keys in 16 bytes that are below q. */
SX_DEV unsigned F(count_16)(uint4 x, KEY q)
{
#if W == 4
    return (unsigned)((x.x < q) + (x.y < q) + (x.z < q) + (x.w < q));
#elif W == 8
    return (unsigned)(((uint64_t)x.x | (uint64_t)x.y << 32) < q) +
           (unsigned)(((uint64_t)x.z | (uint64_t)x.w << 32) < q);
#else
    return (unsigned)(((KEY)((uint64_t)x.z | (uint64_t)x.w << 32) << 64 |
                       ((uint64_t)x.x | (uint64_t)x.y << 32)) < q);
#endif
}

/* m keys are 1, 2 or 4 times 16 bytes (sx_pivot_unit()). All loads are on
 * their way before the first is needed. */
SX_DEV unsigned F(count_unit)(const unsigned char *p, uint32_t m, KEY q)
{
    uint4 a = sx_load16(p), b, c, d;
    unsigned below;

    if (m * W == 16)
        return F(count_16)(a, q);
    b = sx_load16(p + 16);
    if (m * W == 32)
        return F(count_16)(a, q) + F(count_16)(b, q);
    c = sx_load16(p + 32);
    d = sx_load16(p + 48);
    below = F(count_16)(a, q) + F(count_16)(b, q);
    return below + F(count_16)(c, q) + F(count_16)(d, q);
}

#define SX_RECORD_WINDOW(p, j, count) F(record_window)((p), (j), (count))

/* Four counts of a record, of bytes `first` to first + 3: adds up those before
 * `byte`, and finds that one. */
SX_DEV void F(record_part)(uint32_t counts, uint32_t first, uint32_t byte, uint32_t *before,
                           uint32_t *count)
{
    *before = SX_SUM_BYTES(counts & SX_LOW_BITS(byte > first ? 8 * (byte - first) : 0), *before);
    *count = byte / 4 == first / 4 ? counts >> 8 * (byte & 3) & 255u : *count;
}

/* sx_record_window() in 32 bits. Both halves are on their way before either is
 * needed. */
SX_DEV uint64_t F(record_window)(const unsigned char *p, uint32_t j, uint32_t *count)
{
    uint4 a = sx_load16(p), b = sx_load16(p + 16);
    uint32_t byte = SX_GUIDE_HEAD + j, before = 0, c = 0;

    F(record_part)(a.y & 0xffff0000u, 4, byte, &before, &c);     /* the rest is of begin */
    F(record_part)(a.z, 8, byte, &before, &c);
    F(record_part)(a.w, 12, byte, &before, &c);
    F(record_part)(b.x, 16, byte, &before, &c);
    F(record_part)(b.y, 20, byte, &before, &c);
    F(record_part)(b.z, 24, byte, &before, &c);
    F(record_part)(b.w, 28, byte, &before, &c);
    *count = c;
    return (a.x | (uint64_t)(a.y & 0xffff) << 32) + (c == SX_GUIDE_CROWDED ? 0 : before);
}

#define SX_LOAD_SEGMENT(p, s)                                 \
    do {                                                      \
        uint4 a_ = sx_load16_any(p);                              \
        (s).slope = a_.x | (uint64_t)a_.y << 32;              \
        (s).base = a_.z | (uint64_t)a_.w << 32;               \
    } while (0)
#define SX_COUNT_FROM(keys, i, m, q) F(count_from)((keys), (i), (m), (q))

/* In pieces of 16 bytes, the first of which may begin with keys before i: all
 * below q, or i is behind the very first key. Up to 9 keys, those around a
 * line wrong by at most 4, are all on their way before any is needed. */
SX_DEV uint64_t F(count_from)(const unsigned char *keys, uint64_t i, uint64_t m, KEY q)
{
    uint32_t per = 16 / W, before = (uint32_t)i & (per - 1);
    const unsigned char *p = keys + (i - before) * W;
    uint64_t c = 0;

    if (m <= 9) {
        SX_UNROLL
        for (uint32_t j = 0; j < (9 + 2 * per - 2) / per; j++)
            c += F(count_16)(sx_load16_any(p + j * 16), q);
    } else {
        for (uint64_t j = 0; j < before + m; j += per)
            c += F(count_16)(sx_load16_any(p + j * W), q);
    }
    return c > before ? c - before : 0;
}

#include "family/eytzinger/eytzinger_walk_impl.h"
#include "family/generic/array_walk_impl.h"
#include "family/pivot/pivot_walk_impl.h"
#include "family/guide/guide_walk_impl.h"
#include "family/pgm/pgm_walk_impl.h"

SX_DEV KEY F(slot_key)(const sx_view *v, uint64_t slot)
{
    return SX_LOAD(v->keys + sx_key_offset(v, slot));
}

/* ---- one walk ------------------------------------------------------------------
 *
 * top: the first top_bytes of the section that a search begins in (pivots, or
 * the keys of a tree in level order), copied to where they are near. Without
 * pivots there is a sorted array, whose search begins in many places; top is
 * then the keys of its first steps (sx_top_key() in gpu_points_impl.h). */

/* Keys below q in a node of m keys at p; unit > 1: aligned, see above. */
SX_DEV unsigned F(count_node)(const unsigned char *p, uint32_t m, uint32_t unit, KEY q,
                              const unsigned char *section, const unsigned char *top,
                              uint64_t top_bytes)
{
    uint64_t offset = (uint64_t)(p - section);

    if (offset + m * W <= top_bytes) {
        const KEY *near = (const KEY *)(const void *)(top + offset);
        unsigned below = 0;
        for (uint32_t i = 0; i < m; i++)
            below += near[i] < q;
        return below;
    }
    return unit > 1 ? F(count_unit)(p, m, q) : F(count)(p, m, q);
}

/* The halvings of a window; those of a plain array begin in top. */
SX_DEV uint64_t F(halvings)(const sx_view *v, uint64_t at, uint64_t len, KEY q, uint32_t unit,
                                  const unsigned char *top, uint64_t top_bytes)
{
    uint64_t path = 1;            /* of steps so far: where their key is in top */

    while (len > 1 && (path + 1) * W <= top_bytes) {
        uint64_t half = len / 2;
        int right = ((const KEY *)(const void *)top)[path] < q;
        len -= half;
        at += sx_pick(right, half, 0);
        path = 2 * path + (uint64_t)right;
    }
    while (len > 1) {
        uint64_t half = len / 2;
        len -= half;
        at = F(array_halve)(v, at, half, q, unit);
    }
    return at;
}

SX_DEV uint64_t F(pivot_bound)(const sx_view *v, KEY q, uint32_t unit, const unsigned char *top,
                               uint64_t top_bytes)
{
    const sx_pivot *t = &v->of.pivot;
    uint64_t len = F(pivot_window)(v, unit), at = 0;
    uint32_t pivots = sx_pivot_node_unit(t, W);

    for (uint32_t l = 0; l < t->levels; l++) {
        const unsigned char *node = F(pivot_node)(t, l, at, 1);
        at = F(pivot_child)(t, at,
                            F(count_node)(node, t->k - 1u, pivots, q, t->pivots, top, top_bytes),
                            F(pivot_last_child)(t, l), 1);
    }
    at = F(halvings)(v, F(pivot_begin)(v, at, len, unit), len, q, unit, top,
                     t->levels ? 0 : top_bytes);
    return F(array_finish)(v, at, q, unit);
}

SX_DEV uint64_t F(sorted_bound)(const sx_view *v, KEY q, uint32_t unit, const unsigned char *top,
                                uint64_t top_bytes)
{
    uint64_t at = F(halvings)(v, 0, F(array_units)(v, unit), q, unit, top, top_bytes);

    return F(array_finish)(v, at, q, unit);
}

SX_DEV uint64_t F(eytz_bound)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                              const unsigned char *top, uint64_t top_bytes)
{
    const sx_eytzinger *e = &v->of.eytzinger;
    uint64_t g = 0;

    for (uint32_t t = 0; t < e->levels; t++) {
        uint64_t first = F(eytz_first)(v, t, g, unit), c;
        if (top_bytes > 0)        /* then nodes are in one piece */
            c = F(count_node)(F(eytz_node)(v, first, unit), e->k - 1, unit, q, v->keys, top,
                              top_bytes);
        else
            c = F(eytz_count)(v, first, q, unit);
        g = F(eytz_down)(v, first, g, c, slot, unit);
    }
    return F(eytz_finish)(v, g, slot, q, unit);
}

SX_DEV uint64_t F(guide_bound)(const sx_view *v, KEY q, uint32_t unit)
{
    uint32_t fraction;
    uint64_t bucket = F(guide_bucket)(v, q, &fraction), count;
    uint64_t start = F(guide_window)(v, bucket, &count);

    return F(guide_finish)(v, q, start, count,
                           F(guide_guess)(v, q, start, count, fraction, unit), unit);
}

/* The levels whose entries are in top, keys before lines, are walked there. */
SX_DEV uint64_t F(pgm_segment_near)(const sx_view *v, KEY q, const unsigned char *top,
                                    uint64_t top_bytes)
{
    const sx_pgm *t = &v->of.pgm;
    uint64_t entries = top_bytes / (W + SX_SEGMENT), at = 0;
    const unsigned char *lines;
    uint32_t l = 1;

    if (t->concise || entries == 0)
        return F(pgm_segment)(v, q);
    lines = top + entries * W;
    for (; l < t->levels && t->level_first[l + 1] <= entries; l++) {
        at = F(pgm_start)(v, l - 1, at, q, top, lines);
        at = F(pgm_find)(v, l, at, q, top);
    }
    if (l < t->levels) {
        at = F(pgm_start)(v, l - 1, at, q, top, lines);
        at = F(pgm_find)(v, l, at, q, t->segment_keys);
    }
    for (l++; l < t->levels; l++) {
        at = F(pgm_start)(v, l - 1, at, q, t->segment_keys, t->segments);
        at = F(pgm_find)(v, l, at, q, t->segment_keys);
    }
    return at;
}

SX_DEV uint64_t F(pgm_bound)(const sx_view *v, KEY q, uint32_t unit, const unsigned char *top,
                             uint64_t top_bytes)
{
    uint64_t len = F(pgm_units)(v, unit), latest = F(array_units)(v, unit) - len, count;
    uint64_t at = F(pgm_window)(v, F(pgm_segment_near)(v, q, top, top_bytes), q, &count);

    at >>= sx_log2(unit);
    at = F(halvings)(v, at < latest ? at : latest, len, q, unit, 0, 0);
    return F(array_finish)(v, at, q, unit);
}

/* The rank of the lower bound of q, and its slot. unit: v->unit. */
SX_DEV uint64_t F(bound_near)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                              const unsigned char *top, uint64_t top_bytes)
{
    uint64_t rank;

    *slot = SX_NO_SLOT;
    if (v->n == 0)
        return 0;
    if (v->family == SX_FAM_EYTZ)
        return F(eytz_bound)(v, q, slot, unit, top, top_bytes);
    if (v->family == SX_FAM_GUIDE)
        rank = F(guide_bound)(v, q, unit);
    else if (v->family == SX_FAM_PGM)
        rank = F(pgm_bound)(v, q, unit, top, top_bytes);
    else if (v->family == SX_FAM_SORTED)
        rank = F(sorted_bound)(v, q, unit, top, top_bytes);
    else
        rank = F(pivot_bound)(v, q, unit, top, top_bytes);
    if (rank < v->n)
        *slot = rank;
    return rank;
}

SX_DEV uint64_t F(bound)(const sx_view *v, KEY q, uint64_t *slot)
{
    return F(bound_near)(v, q, slot, v->unit, 0, 0);
}

SX_DEV uint64_t F(right_rank)(const sx_view *v, KEY q)
{
    uint64_t slot;

    return q == (KEY)~(KEY)0 ? v->n : F(bound)(v, (KEY)(q + 1), &slot);
}

#undef SX_COUNT_FROM
#undef SX_LOAD_SEGMENT
#undef SX_RECORD_WINDOW
#undef SX_COUNT_UNIT
#undef SX_COUNT
#undef SX_LOAD
#undef SX_WALK
