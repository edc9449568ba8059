/* cpu_walks_impl.h - walks driven on the CPU, for one width and one
 * instruction set.
 *
 * Parameters: W (4, 8, 16), LEVEL (scalar, avx2, avx512).
 *
 * A walk alone waits for memory most of the time. So up to GROUP walks go
 * down level by level together: each step ends by asking for the line that
 * its walk needs next, and that line travels while the other walks step.
 * (Under a guide they follow each other instead, see cpu_walks.c.)
 * A batch with FEW walks has no others to wait with; there a step asks
 * ahead for the lines of either outcome. */

#define NAME4_(a, b, c) a##_##b##_##c
#define NAME4(a, b, c) NAME4_(a, b, c)
#define F(name) NAME4(name, W, LEVEL)
#define NAME2_(a, b) a##b
#define NAME2(a, b) NAME2_(a, b)
#define KEY NAME2(sx_key, W)
#define TARGET NAME2(SX_TARGET_, LEVEL)
#define SX_WALK TARGET SX_INLINE
#define SX_LOAD NAME2(load_, W)
#define SX_COUNT NAME4(count, W, LEVEL)
/* Units are lines here, or halves of lines, as a GPU has them. */
#define SX_COUNT_UNIT(p, m, q) \
    ((m) == 64 / W ? NAME4(count_line, W, LEVEL)((p), (q)) : SX_COUNT((p), (m), (q)))

#define SX_RECORD_WINDOW(p, j, count) NAME2(record_window_, LEVEL)((p), (j), (count))

#define SX_LOAD_SEGMENT(p, s) memcpy(&(s), (p), SX_SEGMENT)
#define SX_COUNT_FROM(keys, i, m, q) F(count_from)((keys), (i), (m), (q))

/* Line by line, each wherever it begins. */
SX_WALK uint64_t F(count_from)(const unsigned char *keys, uint64_t i, uint64_t m, KEY q)
{
    const unsigned char *p = keys + i * W;
    uint64_t c = SX_COUNT_UNIT(p, 64 / W, q);

    for (uint64_t seen = 64 / W; seen < m; seen += 64 / W)
        c += SX_COUNT_UNIT(p + seen * W, 64 / W, q);
    return c;
}

#include "index/eytz_walk_impl.h"
#include "index/pivot_walk_impl.h"
#include "index/guide_walk_impl.h"
#include "index/pgm_walk_impl.h"

/* ---- pivot, sorted, pgm -------------------------------------------------------- */

/* From windows of `len` units, each beginning at at[j], whose middle is asked
 * for, to the unit that holds the bound; that is asked for, with its rows. */
SX_WALK void F(narrow)(const sx_view *v, const KEY *q, unsigned m, uint64_t at[GROUP],
                       uint64_t len, uint32_t unit, int rows)
{
    uint64_t row_step = v->block ? v->block_bytes : unit * (uint64_t)v->row_bytes;
    uint64_t last_key = (unit - 1) * W;

    while (len > 1) {
        uint64_t half = len / 2;
        len -= half;
        if (m <= FEW && len > 1)
            for (unsigned j = 0; j < m; j++) {
                uint64_t probe = at[j] + len / 2 - 1;
                __builtin_prefetch(F(pivot_unit)(v, probe, unit) + last_key);
                __builtin_prefetch(F(pivot_unit)(v, probe + half, unit) + last_key);
            }
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(pivot_halve)(v, at[j], half, q[j], unit);
            __builtin_prefetch(F(pivot_unit)(v, at[j] + (len > 1 ? len / 2 - 1 : 0), unit) +
                               (len > 1 ? last_key : 0));
            if (rows && unit > 1 && len == 1)
                __builtin_prefetch(v->rows + at[j] * row_step);
        }
    }
}

/* Down to the line or slot that holds the bound, which is asked for, and
 * with it its rows. hint: NULL, or the pivots have been walked elsewhere. */
SX_WALK void F(pivot_descend)(const sx_view *v, const KEY *q, unsigned m, const uint64_t *hint,
                              uint64_t at[GROUP], uint32_t unit, int rows)
{
    uint64_t len = F(pivot_window)(v, unit);
    uint64_t row_step = v->block ? v->block_bytes : unit * (uint64_t)v->row_bytes;
    uint64_t last_key = (unit - 1) * W;

    rows = rows && v->row_bytes != 0;
    for (unsigned j = 0; j < GROUP; j++)
        at[j] = 0;
    for (uint32_t l = 0; !hint && l + 1 < v->levels; l++) {
        uint64_t last = F(pivot_last_child)(v, l);
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(pivot_level)(v, l, at[j], last, q[j], unit);
            const unsigned char *p = F(pivot_node)(v, l + 1, at[j], unit);
            __builtin_prefetch(p);
            if (unit == 1)
                __builtin_prefetch(p + (v->k - 2) * W);
        }
    }
    if (v->levels > 0) {
        uint32_t l = v->levels - 1;
        uint64_t last = F(pivot_last_child)(v, l);
        for (unsigned j = 0; j < m; j++) {
            if (hint)
                at[j] = F(pivot_from_hint)(v, hint[j], len, unit);
            else
                at[j] = F(pivot_begin)(v, F(pivot_level)(v, l, at[j], last, q[j], unit), len,
                                       unit);
            __builtin_prefetch(F(pivot_unit)(v, at[j] + (len > 1 ? len / 2 - 1 : 0), unit) +
                               (len > 1 ? last_key : 0));
            if (rows && unit > 1 && len == 1)
                __builtin_prefetch(v->rows + at[j] * row_step);
        }
    }
    F(narrow)(v, q, m, at, len, unit, rows);
}

/* The same under lines: each step asks for the keys it will look at, or for
 * the line of the segment it has found. */
SX_WALK void F(pgm_descend)(const sx_view *v, const KEY *q, unsigned m, const uint64_t *hint,
                            uint64_t at[GROUP], uint32_t unit, int rows)
{
    uint64_t len = F(pgm_units)(v, unit), latest = F(pivot_units)(v, unit) - len, count;
    uint64_t first = v->level_first[v->levels - 1], last_key = (unit - 1) * W;

    for (unsigned j = 0; j < GROUP; j++)
        at[j] = 0;
    for (uint32_t l = 1; l < v->levels && !v->concise && !hint; l++) {
        const unsigned char *keys = v->segment_keys + (v->level_first[l] + 1) * W;
        const unsigned char *segments = v->segments + v->level_first[l] * SX_SEGMENT;
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(pgm_start)(v, l - 1, at[j], q[j], v->segment_keys, v->segments);
            __builtin_prefetch(keys + at[j] * W);
            __builtin_prefetch(keys + at[j] * W + 63);
            if (W > 4)
                __builtin_prefetch(keys + at[j] * W + 127);
        }
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(pgm_find)(v, l, at[j], q[j], v->segment_keys);
            __builtin_prefetch(segments + at[j] * SX_SEGMENT);
            __builtin_prefetch(segments + at[j] * SX_SEGMENT + 31);
        }
    }
    for (uint64_t some = v->level_nodes[v->levels - 1]; some > 1 && v->concise && !hint;
         some -= some / 2)
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(pgm_halve)(v, at[j], some / 2, q[j]);
            if (some == 2)
                __builtin_prefetch(v->segments + (first + at[j]) * SX_SEGMENT);
        }
    for (unsigned j = 0; j < m; j++) {
        at[j] = (hint ? hint[j] : F(pgm_window)(v, at[j], q[j], &count)) / unit;
        at[j] = at[j] < latest ? at[j] : latest;
        __builtin_prefetch(F(pivot_unit)(v, at[j] + (len > 1 ? len / 2 - 1 : 0), unit) +
                           (len > 1 ? last_key : 0));
    }
    F(narrow)(v, q, m, at, len, unit, rows && v->row_bytes != 0);
}

SX_WALK void F(pivot_finish_all)(const sx_view *v, const KEY *q, unsigned m,
                                 const uint64_t at[GROUP], uint64_t *rank, uint32_t unit, int rows)
{
    rows = rows && v->row_bytes != 0;
    for (unsigned j = 0; j < m; j++) {
        rank[j] = F(pivot_finish)(v, at[j], q[j], unit);
        if (rows)
            __builtin_prefetch(v->rows + sx_row_offset(v, rank[j]));
    }
}

/* A group is finished after the next one has gone down: by then the lines
 * it asked for have come. */
SX_WALK void F(pivot_groups)(const sx_view *v, const KEY *q, unsigned m, const uint64_t *hint,
                             uint64_t *rank, uint32_t unit, int rows, int lines)
{
    uint64_t at[2][GROUP];
    unsigned i = 0, before = 0, part;

    for (; i < m; before = i, i += part) {
        part = m - i < GROUP ? m - i : GROUP;
        const uint64_t *h = hint ? hint + i : NULL;
        if (lines)
            F(pgm_descend)(v, q + i, part, h, at[i / GROUP % 2], unit, rows);
        else
            F(pivot_descend)(v, q + i, part, h, at[i / GROUP % 2], unit, rows);
        if (i > 0)
            F(pivot_finish_all)(v, q + before, GROUP, at[before / GROUP % 2], rank + before,
                                unit, rows);
    }
    F(pivot_finish_all)(v, q + before, m - before, at[before / GROUP % 2], rank + before,
                        unit, rows);
}

TARGET static void F(pivot_bounds)(const sx_view *v, const KEY *q, unsigned m,
                                   const uint64_t *hint, uint64_t *rank, uint64_t *slot, int rows)
{
    int line = sx_pivot_unit(v) == 64 / W, lines = v->family == SX_FAM_PGM;
    int half = sx_pivot_unit(v) == 32 / W;

    /* Constants: one comparison of a line, no test for hints. */
    if (line && !hint && lines)
        F(pivot_groups)(v, q, m, NULL, rank, 64 / W, rows, 1);
    else if (line && !hint)
        F(pivot_groups)(v, q, m, NULL, rank, 64 / W, rows, 0);
    else if (line)
        F(pivot_groups)(v, q, m, hint, rank, 64 / W, rows, lines);
    else if (half && !lines)
        F(pivot_groups)(v, q, m, hint, rank, 32 / W, rows, 0);
    else if (!hint)
        F(pivot_groups)(v, q, m, NULL, rank, 1, rows, lines);
    else
        F(pivot_groups)(v, q, m, hint, rank, 1, rows, lines);
    for (unsigned i = 0; slot && i < m; i++)
        slot[i] = rank[i] < v->n ? rank[i] : SX_NO_SLOT;
}

/* ---- eytzinger -------------------------------------------------------------- */

/* From level `level` on, to which hints have led unless it is 0. */
SX_WALK void F(eytz_group)(const sx_view *v, const KEY *q, unsigned m, const uint64_t *hint,
                           uint32_t level, uint64_t *rank, uint64_t *slot, uint32_t unit, int rows)
{
    /* Kept here and copied out at the end: stores through `slot` inside the
     * loops might change *v, for all the compiler knows. */
    uint64_t g[GROUP], s[GROUP];
    uint64_t per_node = F(eytz_keys)(v, unit);

    rows = rows && v->row_bytes != 0;
    for (unsigned j = 0; j < GROUP; j++) {
        g[j] = 0;
        s[j] = SX_NO_SLOT;
    }
    for (unsigned j = 0; level > 0 && j < m; j++) {
        g[j] = F(eytz_from_hint)(v, hint[j], level);
        __builtin_prefetch(F(eytz_node)(v, v->level_first[level] + g[j] * per_node, unit));
    }
    for (uint32_t t = level; t < v->levels; t++) {
        uint64_t next = v->level_first[t + 1];
        if (unit == 1 && m <= FEW && t + 3 <= v->levels)
            for (unsigned j = 0; j < m; j++) {    /* all descendants 3 levels down */
                const unsigned char *p = v->keys + (v->level_first[t + 3] + g[j] * 8) * W;
                __builtin_prefetch(p);
                __builtin_prefetch(p + 7 * W);
            }
        for (unsigned j = 0; j < m; j++) {
            g[j] = F(eytz_level)(v, t, g[j], &s[j], q[j], unit);
            const unsigned char *p = F(eytz_node)(v, next + g[j] * per_node, unit);
            __builtin_prefetch(p);
            if (unit == 0 && !v->block)
                __builtin_prefetch(p + (v->k - 2) * W);
        }
    }
    for (unsigned j = 0; j < m; j++) {
        rank[j] = F(eytz_finish)(v, g[j], &s[j], q[j], unit);
        if (level > 0 && s[j] == SX_NO_SLOT && rank[j] < v->n)
            s[j] = sx_eytz_slot_of_rank(v, rank[j]);      /* in a level above */
        if (rows && s[j] != SX_NO_SLOT)
            __builtin_prefetch(v->rows + sx_row_offset(v, s[j]));
    }
    if (slot)
        memcpy(slot, s, m * sizeof *s);
}

TARGET static void F(eytz_bounds)(const sx_view *v, const KEY *q, unsigned m,
                                  uint64_t *rank, uint64_t *slot, int rows)
{
    int line = sx_eytz_unit(v) == 64 / W, binary = sx_eytz_unit(v) == 1;

    for (unsigned i = 0; i < m; i += GROUP) {
        unsigned part = m - i < GROUP ? m - i : GROUP;
        uint64_t *s = slot ? slot + i : NULL;
        if (line && s)
            F(eytz_group)(v, q + i, part, NULL, 0, rank + i, s, 64 / W, rows);
        else if (line)
            F(eytz_group)(v, q + i, part, NULL, 0, rank + i, NULL, 64 / W, rows);
        else if (binary && s)
            F(eytz_group)(v, q + i, part, NULL, 0, rank + i, s, 1, rows);
        else if (binary)
            F(eytz_group)(v, q + i, part, NULL, 0, rank + i, NULL, 1, rows);
        else
            F(eytz_group)(v, q + i, part, NULL, 0, rank + i, s, 0, rows);
    }
}

TARGET static void F(eytz_hinted)(const sx_view *v, const KEY *q, unsigned m, const uint64_t *hint,
                                  uint64_t *rank, uint64_t *slot, int rows)
{
    int line = sx_eytz_unit(v) == 64 / W, binary = sx_eytz_unit(v) == 1;
    uint32_t level = sx_eytz_upper_levels(v);

    for (unsigned i = 0; i < m; i += GROUP) {
        unsigned part = m - i < GROUP ? m - i : GROUP;
        uint64_t *s = slot ? slot + i : NULL;
        if (line)
            F(eytz_group)(v, q + i, part, hint + i, level, rank + i, s, 64 / W, rows);
        else if (binary)
            F(eytz_group)(v, q + i, part, hint + i, level, rank + i, s, 1, rows);
        else
            F(eytz_group)(v, q + i, part, hint + i, level, rank + i, s, 0, rows);
    }
}

/* ---- guide --------------------------------------------------------------------- */

/* A unit is asked for, and its rows if they are wanted. */
SX_WALK void F(guide_ask)(const sx_view *v, uint64_t at, uint32_t unit, int rows)
{
    const unsigned char *p = F(pivot_unit)(v, at, unit);

    __builtin_prefetch(p);
    if (v->block && unit > 1)             /* in two lines, perhaps */
        __builtin_prefetch(p + (rows ? v->block_bytes : unit * W) - 1);
    else if (rows)
        __builtin_prefetch(v->rows + sx_row_offset(v, at * unit));
}

/* The buckets of all walks; their pieces as guide_piece() finds them, all walks step
 * by step. */
SX_WALK void F(guide_begin)(const sx_view *v, const KEY *q, unsigned m, guide_walks *g)
{
    for (unsigned j = 0; j < m; j++)
        g->at[j] = 0;
    for (uint32_t len = v->pieces; len > 1; len -= len / 2)
        for (unsigned j = 0; j < m; j++)
            g->at[j] += sx_pick(SX_LOAD(v->piece_keys + (g->at[j] + len / 2) * W) < q[j], len / 2, 0);
    for (unsigned j = 0; j < m; j++)
        g->at[j] = F(guide_bucket_in)(v, q[j], (uint32_t)g->at[j], &g->fraction[j]);
}

/* Walk j has its record, or a hint: its window, and the unit that it guesses. */
SX_WALK void F(guide_enter)(const sx_view *v, KEY q, const uint64_t *hint, guide_walks *g,
                            unsigned j, uint32_t unit)
{
    uint64_t count;

    g->start[j] = hint ? F(guide_from_hint)(v, q, hint[j], &count, &g->fraction[j])
                       : F(guide_window)(v, g->at[j], &count);
    g->end[j] = g->start[j] + count;
    g->at[j] = F(guide_guess)(v, q, g->start[j], count, g->fraction[j], unit);
}

/* Walk j looks at its unit, as guide_finish() does: it has found its bound, or its
 * window is smaller, and it goes on in that. Guesses are wrong at random, so there is
 * no branch. */
SX_WALK void F(guide_look)(const sx_view *v, KEY q, guide_walks *g, unsigned j, int halve,
                           uint32_t unit)
{
    const unsigned char *p = F(pivot_unit)(v, g->at[j], unit);
    uint64_t first = g->at[j] * unit, c = unit > 1 ? SX_COUNT_UNIT(p, unit, q) : SX_LOAD(p) < q;
    int right = (c == unit) & (first + unit < g->end[j]);
    int left = (c == 0) & (first > g->start[j]) & !((v->distinct != 0) & (SX_LOAD(p) == q));

    c += first;
    g->rank[j] = c < v->n ? c : v->n;
    g->start[j] = right ? first + unit : g->start[j];
    g->end[j] = left ? first : g->end[j];
    g->at[j] = F(guide_next)(g->start[j], g->end[j], g->at[j], unit, halve);
    g->late[g->lates] = (uint16_t)j;
    g->lates += (unsigned)(right | left);
}

/* Walks whose guess was wrong, until all have found their bounds. */
SX_WALK void F(guide_late)(const sx_view *v, const KEY *q, guide_walks *g, uint32_t unit, int rows)
{
    for (unsigned turn = 2; g->lates > 0; turn++) {
        unsigned lates = g->lates;
        g->lates = 0;
        for (unsigned i = 0; i < lates; i++) {
            unsigned j = g->late[i], before = g->lates;
            F(guide_look)(v, q[j], g, j, turn > SX_GUIDE_NEXT, unit);
            if (g->lates > before)
                F(guide_ask)(v, g->at[j], unit, rows);
        }
    }
}

/* The record first, then the unit that is guessed, then the bound: each waits for
 * one line of memory while other walks step. */
SX_WALK void F(guide_walk)(const sx_view *v, const KEY *q, unsigned m, const uint64_t *hint,
                           uint64_t *rank, uint32_t unit, int rows)
{
    guide_walks g;

    /* Rows that lie elsewhere are read faster later, all in one short loop, unless
     * there are few, or all cores are after them (hints). */
    rows = rows && v->row_bytes != 0 && (v->block || hint || m <= PART);
    g.lates = 0;
    if (!hint)
        F(guide_begin)(v, q, m, &g);
    for (unsigned i = 0; i < m + LOOK; i += PART) {
        unsigned a = i - ENTER, b = a + PART < m ? a + PART : m, late = g.lates;
        for (unsigned j = i; j < i + PART && j < m && !hint; j++)
            __builtin_prefetch(v->guide + g.at[j] / SX_GUIDE_BUCKETS * SX_GUIDE_RECORD);
        for (unsigned j = a; i >= ENTER && j < b; j++)
            F(guide_enter)(v, q[j], hint, &g, j, unit);
        for (unsigned j = a; i >= ENTER && j < b; j++)
            F(guide_ask)(v, g.at[j], unit, rows);
        a = i - LOOK;
        b = a + PART < m ? a + PART : m;
        for (unsigned j = a; i >= LOOK && j < b; j++)
            F(guide_look)(v, q[j], &g, j, 0, unit);
        for (unsigned j = late; j < g.lates; j++)
            F(guide_ask)(v, g.at[g.late[j]], unit, rows);
    }
    F(guide_late)(v, q, &g, unit, rows);
    memcpy(rank, g.rank, m * sizeof *rank);
}

TARGET static void F(guide_bounds)(const sx_view *v, const KEY *q, unsigned m,
                                   const uint64_t *hint, uint64_t *rank, uint64_t *slot, int rows)
{
    int line = sx_pivot_unit(v) == 64 / W, half = sx_pivot_unit(v) == 32 / W;

    if (line && !hint && rows)
        F(guide_walk)(v, q, m, NULL, rank, 64 / W, 1);
    else if (line && !hint)
        F(guide_walk)(v, q, m, NULL, rank, 64 / W, 0);
    else if (line)
        F(guide_walk)(v, q, m, hint, rank, 64 / W, rows);
    else if (half)
        F(guide_walk)(v, q, m, hint, rank, 32 / W, rows);
    else if (!hint)
        F(guide_walk)(v, q, m, NULL, rank, 1, rows);
    else
        F(guide_walk)(v, q, m, hint, rank, 1, rows);
    for (unsigned i = 0; slot && i < m; i++)
        slot[i] = rank[i] < v->n ? rank[i] : SX_NO_SLOT;
}

TARGET static void F(bounds)(const sx_view *v, const void *q, unsigned m, const uint64_t *hint,
                             uint64_t *rank, uint64_t *slot, int rows)
{
    if (v->n == 0) {
        for (unsigned i = 0; i < m; i++) {
            rank[i] = 0;
            if (slot)
                slot[i] = SX_NO_SLOT;
        }
    } else if (v->family == SX_FAM_EYTZ && hint) {
        F(eytz_hinted)(v, q, m, hint, rank, slot, rows);
    } else if (v->family == SX_FAM_EYTZ) {
        F(eytz_bounds)(v, q, m, rank, slot, rows);
    } else if (v->family == SX_FAM_GUIDE) {
        F(guide_bounds)(v, q, m, hint, rank, slot, rows);
    } else {
        F(pivot_bounds)(v, q, m, hint, rank, slot, rows);
    }
}

/* ---- keys ---------------------------------------------------------------------- */

TARGET static void F(successors)(const void *q, void *next, unsigned char *max, unsigned m)
{
    const KEY *k = q;
    KEY *s = next;

    for (unsigned i = 0; i < m; i++) {
        max[i] = k[i] == (KEY)~(KEY)0;
        s[i] = (KEY)(k[i] + !max[i]);
    }
}

TARGET static void F(equal)(const sx_view *v, const void *q, const uint64_t *slot,
                            unsigned char *hit, unsigned m)
{
    const KEY *k = q;

    for (unsigned i = 0; i < m; i++)
        hit[i] = slot[i] != SX_NO_SLOT &&
                 SX_LOAD(v->keys + sx_key_offset(v, slot[i])) == k[i];
}

TARGET static void F(crossed)(const void *lo, const void *hi, unsigned char *empty, unsigned m)
{
    const KEY *a = lo, *b = hi;

    for (unsigned i = 0; i < m; i++)
        empty[i] = a[i] > b[i];
}

#undef SX_COUNT_FROM
#undef SX_LOAD_SEGMENT
#undef SX_RECORD_WINDOW
#undef SX_COUNT_UNIT
#undef SX_COUNT
#undef SX_LOAD
#undef SX_WALK
#undef TARGET
#undef KEY
#undef F
