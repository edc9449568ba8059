/* pgm_check_impl.h - pgm_check.c for one width W. */
#include "family/generic/width_begin.h"
#define SX_LOAD(p) F(load)(p)
#define SX_COUNT(p, m, q) F(count_from)((p), 0, (m), (q))
#define SX_COUNT_UNIT(p, m, q) F(count_from)((p), 0, (m), (q))
#define SX_LOAD_SEGMENT(p, s) memcpy(&(s), (p), SX_SEGMENT)
#define SX_COUNT_FROM(keys, i, m, q) F(count_from)((keys), (i), (m), (q))

SX_WALK KEY F(load)(const unsigned char *p)
{
    KEY k;

    memcpy(&k, p, W);
    return k;
}

SX_WALK uint64_t F(count_from)(const unsigned char *keys, uint64_t i, uint64_t m, KEY q)
{
    uint64_t below = 0;

    for (uint64_t j = 0; j < m; j++)
        below += SX_LOAD(keys + (i + j) * W) < q;
    return below;
}

#include "family/generic/array_walk_impl.h"
#include "family/pgm/pgm_walk_impl.h"

/* q's left bound is `bound`, and its segment on level l is at[l], which only grows
 * from one q to the next. */
static sx_status F(check_query)(const sx_view *v, uint64_t at[SX_PGM_LEVELS], KEY q,
                                uint64_t bound, sx_err *err)
{
    uint64_t start, count;

    for (uint32_t l = 1; l < v->of.pgm.levels; l++) {
        const unsigned char *keys = v->of.pgm.segment_keys + v->of.pgm.level_first[l] * W;
        while (at[l] + 1 < v->of.pgm.level_count[l] && SX_LOAD(keys + (at[l] + 1) * W) <= q) {
            if (SX_LOAD(keys + at[l] * W) >= SX_LOAD(keys + (at[l] + 1) * W))
                return broken("S1", "no larger key follows that of segment", l, at[l], err);
            at[l]++;
        }
        start = F(pgm_start)(v, l - 1, at[l - 1], q, v->of.pgm.segment_keys, v->of.pgm.segments);
        if (start > at[l] || at[l] - start > 2 * (uint64_t)v->of.pgm.eps2 + 1)
            return broken("S3", "a query is not led to its segment,", l, at[l], err);
    }
    start = F(pgm_window)(v, at[v->of.pgm.levels - 1], q, &count);
    if (bound < start || bound - start > count)
        return broken("S3", "the window of a query misses its lower bound, rank", v->of.pgm.levels, bound,
                      err);
    return SX_OK;
}

/* (G): entry `at` of level l is right about q, which has rank y below. */
static sx_status F(check_segment)(const sx_view *v, uint32_t l, uint64_t at, KEY q, uint64_t y,
                                  uint64_t eps, sx_err *err)
{
    uint64_t p = F(pgm_predict)(v->of.pgm.segment_keys, v->of.pgm.segments, v->of.pgm.level_first[l] + at, q);

    if (p > y + eps || p + eps < y)
        return broken("S2", "a segment is wrong by more than epsilon for rank", l, y, err);
    return SX_OK;
}

/* Segments of inner levels, at the first keys of the level below. */
static sx_status F(check_inner)(const sx_view *v, sx_err *err)
{
    sx_status st = SX_OK;

    for (uint32_t l = 0; l + 1 < v->of.pgm.levels; l++) {
        const unsigned char *keys = v->of.pgm.segment_keys + v->of.pgm.level_first[l] * W;
        const unsigned char *below = v->of.pgm.segment_keys + v->of.pgm.level_first[l + 1] * W;
        uint64_t at = 0;
        for (uint64_t i = 0; i < v->of.pgm.level_count[l + 1] && st == SX_OK; i++) {
            KEY q = SX_LOAD(below + i * W);
            while (at + 1 < v->of.pgm.level_count[l] && SX_LOAD(keys + (at + 1) * W) <= q)
                at++;
            st = F(check_segment)(v, l, at, q, i, v->of.pgm.eps2, err);
        }
    }
    return st;
}

/* Where to look next in [q, end]: where a segment ends, or begins. */
static KEY F(next_query)(const sx_view *v, const uint64_t at[SX_PGM_LEVELS], KEY q, KEY end)
{
    for (uint32_t l = 1; l < v->of.pgm.levels; l++) {
        KEY next;
        if (at[l] + 1 == v->of.pgm.level_count[l])
            continue;
        next = SX_LOAD(v->of.pgm.segment_keys + (v->of.pgm.level_first[l] + at[l] + 1) * W);
        next = next == (KEY)(q + 1) ? next : (KEY)(next - 1);     /* it is above q */
        end = next < end ? next : end;
    }
    return end;
}

/* All queries from q to end, whose left bound is `bound`. */
static sx_status F(check_queries)(const sx_view *v, uint64_t at[SX_PGM_LEVELS], KEY q, KEY end,
                                  uint64_t bound, sx_err *err)
{
    sx_status st = F(check_query)(v, at, q, bound, err);

    while (st == SX_OK && q < end) {
        q = F(next_query)(v, at, q, end);
        st = F(check_query)(v, at, q, bound, err);
    }
    return st;
}

/* Numbers are in their ranges: nothing wraps, and predictions do not fall. */
static sx_status F(check_records)(const sx_view *v, sx_err *err)
{
    for (uint32_t l = 0; l < v->of.pgm.levels; l++)
        for (uint64_t i = 0; i < v->of.pgm.level_count[l]; i++) {
            sx_segment s;
            uint32_t lz;
            SX_LOAD_SEGMENT(v->of.pgm.segments + (v->of.pgm.level_first[l] + i) * SX_SEGMENT, s);
            lz = (uint32_t)s.base & 255;
            if (s.slope > SX_SLOPE_MOST || lz > (W == 16 ? 127 : 63) || (W == 4 && lz < 32))
                return broken("S2", "an impossible number in segment", l, i, err);
        }
    return SX_OK;
}

static sx_status F(check_pgm)(const sx_view *v, sx_err *err)
{
    uint64_t at[SX_PGM_LEVELS] = {0};
    KEY most = (KEY)~(KEY)0, q = 0;       /* the first query not looked at */
    sx_status st = F(check_records)(v, err);

    if (st == SX_OK)
        st = F(check_inner)(v, err);
    for (uint64_t first = 0, end; first < v->n && st == SX_OK; first = end) {
        KEY x = SX_LOAD(v->keys + sx_key_offset(v, first));
        for (end = first + 1; end < v->n; end++)
            if (SX_LOAD(v->keys + sx_key_offset(v, end)) != x)
                break;
        st = F(check_queries)(v, at, q, x, first, err);
        if (st == SX_OK)
            st = F(check_segment)(v, v->of.pgm.levels - 1, at[v->of.pgm.levels - 1], x, first, v->of.pgm.eps, err);
        if (st == SX_OK && x < most) {
            q = (KEY)(x + 1);
            if (end == v->n)
                st = F(check_queries)(v, at, q, most, v->n, err);
        }
    }
    return st;
}

#undef SX_COUNT_FROM
#undef SX_LOAD_SEGMENT
#undef SX_COUNT_UNIT
#undef SX_COUNT
#undef SX_LOAD
#include "family/generic/width_end.h"
