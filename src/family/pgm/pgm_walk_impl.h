/* pgm_walk_impl.h - the left bound in a sorted array under segments.
 *
 * Parameters as in array_walk_impl.h, which comes before; and
 *   SX_LOAD_SEGMENT(p, s)          the record at p, a multiple of 16
 *   SX_COUNT_FROM(keys, i, m, q)   how many of keys i, i+1, ... are below q.
 *                                  They ascend, and at least m of them are
 *                                  looked at; a line more can be read
 *
 * A walk is levels 0..levels-1, or (`concise`) a search among the segments of
 * the last level, then a window of keys. The state is one number, the segment
 * within its level. Whatever the bytes in the sections are, none leads outside
 * of them: each step ends in a minimum.
 *
 * keys, segments: the arrays of the section, or copies of their beginnings. */

/* What entry i predicts for q. */
SX_WALK uint64_t F(pgm_predict)(const unsigned char *keys, const unsigned char *segments,
                                uint64_t i, KEY q)
{
    const unsigned char *p = segments + i * SX_SEGMENT;
    KEY first = SX_LOAD(keys + i * W), d = q > first ? (KEY)(q - first) : 0;
    uint64_t next = ((const uint64_t *)(const void *)p)[3] >> 16, height;
    sx_segment s;
#if W == 4
    uint32_t distance;
#else
    uint64_t distance;
#endif
    uint32_t zeros;

    SX_LOAD_SEGMENT(p, s);
    zeros = (uint32_t)s.base & (W == 16 ? 127 : W == 8 ? 63 : 31);
    d = d > (KEY)~(KEY)0 >> zeros ? (KEY)~(KEY)0 : (KEY)(d << zeros);
#if W == 4                        /* zeros of 64 bits: 32 more */
    distance = d;
    height = SX_TIMES(s.slope >> 32, distance) + (SX_TIMES(s.slope & 0xffffffffu, distance) >> 32);
#else
    distance = (uint64_t)(d >> (8 * W - 64));
    height = (uint64_t)(SX_TIMES((unsigned __int128)distance, s.slope) >> 64);
#endif
    height = ((s.base >> 8) + height) >> 8;
    return height < next ? height : next;
}

/* From segment `at` of level l: the first segment of level l+1 that may be
 * q's. */
SX_WALK uint64_t F(pgm_start)(const sx_view *v, uint32_t l, uint64_t at, KEY q,
                              const unsigned char *keys, const unsigned char *segments)
{
    uint64_t p = F(pgm_predict)(keys, segments, v->of.pgm.level_first[l] + at, q);
    uint64_t last = v->of.pgm.level_count[l + 1] - 1;

    p = p > v->of.pgm.eps2 ? p - v->of.pgm.eps2 - 1 : 0;
    return p < last ? p : last;
}

/* From there to the last segment of level l that does not begin behind q: counts the keys
 * below the next value. No key is behind the largest value, which has none. */
SX_WALK uint64_t F(pgm_find)(const sx_view *v, uint32_t l, uint64_t start, KEY q,
                             const unsigned char *keys)
{
    uint64_t last = v->of.pgm.level_count[l] - 1, m = 2 * (uint64_t)v->of.pgm.eps2 + 1;

    m = m < last - start ? m : last - start;
    start += SX_COUNT_FROM(keys, v->of.pgm.level_first[l] + start + 1, m, (KEY)(q + 1));
    return start < last && q != (KEY)~(KEY)0 ? start : last;
}

/* The same in the last level, by halving: skips `half` segments from `at` on if q's is behind
 * them. */
SX_WALK uint64_t F(pgm_halve)(const sx_view *v, uint64_t at, uint64_t half, KEY q)
{
    const unsigned char *keys = v->of.pgm.segment_keys + v->of.pgm.level_first[v->of.pgm.levels - 1] * W;

    return at + sx_pick(SX_LOAD(keys + (at + half) * W) <= q, half, 0);
}

SX_WALK uint64_t F(pgm_search)(const sx_view *v, KEY q)
{
    uint64_t at = 0;

    for (uint64_t len = v->of.pgm.level_count[v->of.pgm.levels - 1]; len > 1; len -= len / 2)
        at = F(pgm_halve)(v, at, len / 2, q);
    return at;
}

/* The same in the last level, level by level or at once. */
SX_WALK uint64_t F(pgm_segment)(const sx_view *v, KEY q)
{
    uint64_t at = 0;

    if (v->of.pgm.concise)
        return F(pgm_search)(v, q);
    for (uint32_t l = 1; l < v->of.pgm.levels; l++) {
        at = F(pgm_start)(v, l - 1, at, q, v->of.pgm.segment_keys, v->of.pgm.segments);
        at = F(pgm_find)(v, l, at, q, v->of.pgm.segment_keys);
    }
    return at;
}

/* From segment `at` of the last level to the keys: the bound is in
 * [start, start + count]. */
SX_WALK uint64_t F(pgm_window)(const sx_view *v, uint64_t at, KEY q, uint64_t *count)
{
    uint64_t p = F(pgm_predict)(v->of.pgm.segment_keys, v->of.pgm.segments,
                                v->of.pgm.level_first[v->of.pgm.levels - 1] + at, q);
    uint64_t start;

    start = p > v->of.pgm.eps ? p - v->of.pgm.eps : 0;
    start = start < v->n ? start : v->n;
    *count = p + v->of.pgm.eps + 1 - start;
    *count = *count < v->n - start ? *count : v->n - start;
    return start;
}

/* Units of a window, whichever key it begins with. */
SX_WALK uint64_t F(pgm_units)(const sx_view *v, uint32_t unit)
{
    uint64_t all = F(array_units)(v, unit), len;

    len = ((2 * (uint64_t)v->of.pgm.eps + 1) >> sx_log2(unit)) + 2;
    return len < all ? len : all;
}

/* ---- a walk that is cut between levels (state.h): the state at level l is the segment there.
 * Behind the last level it is the entry, where the window of keys begins. A search at once is
 * one level (sx_pgm_walk_levels()). Drivers move a window that begins too late to the last one
 * there can be. */

SX_WALK uint64_t F(pgm_enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    uint64_t last = l < sx_pgm_walk_levels(&v->of.pgm) ? v->of.pgm.level_count[l] - 1 : v->n;

    return at < last ? at : last;
}

SX_WALK uint64_t F(pgm_step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    const sx_pgm *t = &v->of.pgm;
    uint64_t count;

    if (t->concise)
        return F(pgm_window)(v, F(pgm_search)(v, q), q, &count);
    if (l + 1 == t->levels)
        return F(pgm_window)(v, at, q, &count);
    at = F(pgm_start)(v, l, at, q, t->segment_keys, t->segments);
    return F(pgm_find)(v, l + 1, at, q, t->segment_keys);
}
