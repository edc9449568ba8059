/* guide_cpu_impl.h - guide_cpu.c for one width and one instruction set. */
#include "family/generic/cpu_begin.h"
#define SX_RECORD_WINDOW(p, j, count) NAME2(record_window_, LEVEL)((p), (j), (count))
#include "family/generic/array_walk_impl.h"
#include "family/guide/guide_walk_impl.h"

/* Prefetches a unit, and its rows if they are wanted. */
SX_WALK void F(guide_ask)(const sx_view *v, uint64_t at, uint32_t unit, int rows)
{
    const unsigned char *p = F(array_unit)(v, at, unit);

    SX_ASK(p);
    if (v->block && unit > 1)             /* in two lines, perhaps */
        SX_ASK(p + (rows ? v->block_bytes : unit * W) - 1);
    else if (rows)
        SX_ASK(v->rows + sx_row_offset(v, at * unit));
}

/* The cells of all walks. Pieces are found as guide_piece() does it, all walks step
 * by step. */
SX_WALK void F(guide_begin)(const sx_view *v, const KEY *q, unsigned m, guide_walks *g)
{
    for (unsigned j = 0; j < m; j++)
        g->at[j] = 0;
    for (uint32_t len = v->of.guide.pieces; len > 1; len -= len / 2)
        for (unsigned j = 0; j < m; j++)
            g->at[j] = F(guide_skip)(q[j], v->of.guide.piece_keys, (uint32_t)g->at[j], len / 2);
    for (unsigned j = 0; j < m; j++)
        g->at[j] = F(guide_cell_in)(v, q[j], (uint32_t)g->at[j], &g->fraction[j]);
}

/* Walk j has its record, or an entry: finds its window, and the unit that it guesses. */
SX_WALK void F(guide_open)(const sx_view *v, KEY q, const sx_state *entry, guide_walks *g,
                           unsigned j, uint32_t unit)
{
    uint64_t count;

    g->start[j] = entry ? F(guide_from_entry)(v, q, entry[j], &count, &g->fraction[j])
                       : F(guide_window)(v, g->at[j], &count);
    g->end[j] = g->start[j] + count;
    g->at[j] = F(guide_guess)(v, q, g->start[j], count, g->fraction[j], unit);
}

/* Walk j looks at its unit, as in guide_turn(): it has found its bound, or its window is
 * smaller, and it goes on in that. Guesses are wrong at random, so there is no branch. */
SX_WALK void F(guide_look)(const sx_view *v, KEY q, guide_walks *g, unsigned j, int halve,
                           uint32_t unit)
{
    const unsigned char *p = F(array_unit)(v, g->at[j], unit);
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

/* Walks whose guess was wrong look again, until all have found their bounds. */
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

/* The record first, then the unit that is guessed, then the bound: each waits for one
 * line of memory while other walks step. */
SX_WALK void F(guide_walk)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                           uint64_t *rank, uint32_t unit, int rows)
{
    guide_walks g;

    /* Rows that lie elsewhere are read faster later, all in one short loop; unless
     * there are few, or all cores read them (entries). */
    rows = rows && v->row_bytes != 0 && (v->block || entry || m <= PART);
    g.lates = 0;
    if (!entry)
        F(guide_begin)(v, q, m, &g);
    for (unsigned i = 0; i < m + LOOK; i += PART) {
        unsigned a = i - ENTER, b = a + PART < m ? a + PART : m, late = g.lates;
        for (unsigned j = i; j < i + PART && j < m && !entry; j++)
            SX_ASK(v->of.guide.records + g.at[j] / SX_GUIDE_CELLS * SX_GUIDE_RECORD);
        for (unsigned j = a; i >= ENTER && j < b; j++)
            F(guide_open)(v, q[j], entry, &g, j, unit);
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

TARGET static void F(left_bounds)(const sx_view *v, const void *queries, unsigned m,
                                  const sx_state *entry, uint64_t *rank, uint64_t *slot, int rows)
{
    const KEY *q = queries;
    int line = v->unit == 64 / W, half = v->unit == 32 / W;

    if (line && !entry && rows)
        F(guide_walk)(v, q, m, NULL, rank, 64 / W, 1);
    else if (line && !entry)
        F(guide_walk)(v, q, m, NULL, rank, 64 / W, 0);
    else if (line)
        F(guide_walk)(v, q, m, entry, rank, 64 / W, rows);
    else if (half)
        F(guide_walk)(v, q, m, entry, rank, 32 / W, rows);
    else if (!entry)
        F(guide_walk)(v, q, m, NULL, rank, 1, rows);
    else
        F(guide_walk)(v, q, m, entry, rank, 1, rows);
    for (unsigned i = 0; slot && i < m; i++)
        slot[i] = rank[i] < v->n ? rank[i] : SX_NO_SLOT;
}

#include "family/generic/cpu_side_impl.h"

SX_WALK uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(guide_enter)(v, l, at);
}

SX_WALK uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(guide_step)(v, l, at, q);
}
#include "family/generic/cpu_steps_impl.h"

#undef SX_RECORD_WINDOW
#include "family/generic/cpu_end.h"
