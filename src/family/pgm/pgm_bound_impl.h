/* pgm_bound_impl.h - a walk under segments by one thread of a GPU, one width of key.
 * Behind gpu_near_impl.h. */
#define SX_LOAD_SEGMENT(p, s)                                 \
    do {                                                      \
        uint4 a_ = sx_load16_any(p);                              \
        (s).slope = a_.x | (uint64_t)a_.y << 32;              \
        (s).base = a_.z | (uint64_t)a_.w << 32;               \
    } while (0)
#define SX_COUNT_FROM(keys, i, m, q) F(count_from)((keys), (i), (m), (q))

/* In pieces of 16 bytes. The first piece may begin with keys before i: these are all
 * below q, or no key is, and i is behind the level's first. Up to 9 keys, those around a
 * prediction wrong by at most 4, are all on their way before any is needed. */
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

#include "family/pgm/pgm_walk_impl.h"

/* Levels whose entries are in top, keys before records, are walked there. */
SX_DEV uint64_t F(pgm_segment_near)(const sx_view *v, KEY q, const unsigned char *top,
                                    uint64_t top_bytes)
{
    const sx_pgm *t = &v->of.pgm;
    uint64_t entries = top_bytes / (W + SX_SEGMENT), at = 0;
    const unsigned char *segments;
    uint32_t l = 1;

    if (t->concise || entries == 0)
        return F(pgm_segment)(v, q);
    segments = top + entries * W;
    for (; l < t->levels && t->level_first[l + 1] <= entries; l++) {
        at = F(pgm_start)(v, l - 1, at, q, top, segments);
        at = F(pgm_find)(v, l, at, q, top);
    }
    if (l < t->levels) {
        at = F(pgm_start)(v, l - 1, at, q, top, segments);
        at = F(pgm_find)(v, l, at, q, t->segment_keys);
    }
    for (l++; l < t->levels; l++) {
        at = F(pgm_start)(v, l - 1, at, q, t->segment_keys, t->segments);
        at = F(pgm_find)(v, l, at, q, t->segment_keys);
    }
    return at;
}

SX_DEV uint64_t F(pgm_bound)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                             const unsigned char *top, uint64_t top_bytes)
{
    uint64_t len = F(pgm_units)(v, unit), latest = F(array_units)(v, unit) - len, count;
    uint64_t at = F(pgm_window)(v, F(pgm_segment_near)(v, q, top, top_bytes), q, &count);

    at >>= sx_log2(unit);
    at = F(halvings)(v, at < latest ? at : latest, len, q, unit, 0, 0);
    return F(array_slot)(v, F(array_finish)(v, at, q, unit), slot);
}

#undef SX_COUNT_FROM
#undef SX_LOAD_SEGMENT
