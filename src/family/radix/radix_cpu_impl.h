/* radix_cpu_impl.h - radix_cpu.c for one width and one instruction set. */
#include "family/generic/cpu_begin.h"
#define SX_BYTES_BELOW(p, b) NAME2(bytes_below_, LEVEL)((p), (b))
#define SX_BYTES_BELOW_4(p, b) sx_radix_below_4(load_4(p), (b))
#include "family/generic/array_walk_impl.h"
#include "family/radix/radix_walk_impl.h"

/* Prefetches what a step reads of a node: its head, and the bytes or the entry. */
SX_WALK void F(radix_ask)(const sx_view *v, uint64_t state, KEY q)
{
    const unsigned char *node = F(radix_node)(v, state);
    uint32_t kind = (uint32_t)(state >> 48) & 15u, b;

    SX_ASK(node);
    (void)F(radix_split)(q, F(radix_depth)(state), &b);
    if ((kind & 7u) == SX_RADIX_256)
        SX_ASK(sx_ahead(node, sx_radix_head(W) + (kind & SX_RADIX_WIDE ? 8 : 2) * b));
    else
        SX_ASK(sx_ahead(node, 64));
}

/* A window in units: how many, from *at on. */
SX_WALK uint64_t F(radix_units)(const sx_view *v, uint64_t window, uint32_t unit, uint64_t *at)
{
    uint64_t count, start = F(radix_ended)(v, window, &count);

    *at = start / unit;
    return count ? (start + count - 1) / unit - *at + 1 : 0;
}

/* Prefetches what a search of `len` units reads next: the one that they are halved by, or the only
 * one. */
SX_WALK void F(radix_ask_unit)(const sx_view *v, uint64_t at, uint64_t len, uint32_t unit)
{
    SX_ASK(F(array_unit)(v, at + (len > 1 ? len / 2 - 1 : 0), unit));
}

/* Prefetches the keys of a window, if they are few, or where it is halved; and rows. */
SX_WALK void F(radix_ask_keys)(const sx_view *v, uint64_t window, uint32_t unit, int rows)
{
    uint64_t at, len = F(radix_units)(v, window, unit, &at), few = 192 / W / unit + 1;

    F(radix_ask_unit)(v, at, len, unit);
    if (len > 1 && len <= few)
        SX_ASK(F(array_unit)(v, at + len - 1, unit));
    if (rows)
        SX_ASK(sx_ahead(v->rows, sx_row_offset(v, (at + len / 2) * unit)));
}

/* Walks go down together, a level at a time, until each has ended; *window is where. */
SX_WALK void F(radix_descend)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                              uint64_t window[GROUP], uint32_t unit, int rows)
{
    const sx_radix *t = &v->of.radix;

    for (unsigned j = 0; j < m; j++)
        window[j] = entry ? entry[j].at : t->root;
    for (uint32_t l = 0; l < t->levels && !entry; l++)
        for (unsigned j = 0; j < m; j++) {
            if (window[j] & SX_RADIX_DONE)
                continue;
            window[j] = F(radix_step)(v, window[j], q[j]);
            if (!(window[j] & SX_RADIX_DONE))
                F(radix_ask)(v, window[j], q[j]);
        }
    for (unsigned j = 0; j < m; j++)
        F(radix_ask_keys)(v, window[j], unit, rows);
}

/* Bounds in windows. These are halved together, until each is a unit, so that their misses
 * overlap. */
SX_WALK void F(radix_finish_all)(const sx_view *v, const KEY *q, unsigned m,
                                 const uint64_t window[GROUP], uint64_t *rank, uint32_t unit,
                                 int rows)
{
    uint64_t at[GROUP], len[GROUP], most = 0, none;

    for (unsigned j = 0; j < m; j++) {
        len[j] = F(radix_units)(v, window[j], unit, &at[j]);
        most = len[j] > most ? len[j] : most;
    }
    for (; most > 1; most -= most / 2)
        for (unsigned j = 0; j < m; j++)
            if (len[j] > 1) {
                at[j] = F(array_halve)(v, at[j], len[j] / 2, q[j], unit);
                len[j] -= len[j] / 2;
                F(radix_ask_unit)(v, at[j], len[j], unit);
            }
    for (unsigned j = 0; j < m; j++) {
        rank[j] = len[j] ? F(array_finish)(v, at[j], q[j], unit)
                         : F(radix_ended)(v, window[j], &none);
        if (rows)
            SX_ASK(sx_ahead(v->rows, sx_row_offset(v, rank[j])));
    }
}

/* A group is finished after the next one has gone down, as in array_groups_impl.h. */
SX_WALK void F(radix_groups)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                             uint64_t *rank, uint32_t unit, int rows)
{
    uint64_t window[2][GROUP];
    unsigned i = 0, before = 0, part;

    rows = rows && v->row_bytes != 0;
    for (; i < m; before = i, i += part) {
        part = m - i < GROUP ? m - i : GROUP;
        F(radix_descend)(v, q + i, part, entry ? entry + i : NULL, window[i / GROUP % 2], unit,
                         rows);
        if (i > 0)
            F(radix_finish_all)(v, q + before, GROUP, window[before / GROUP % 2], rank + before,
                                unit, rows);
    }
    F(radix_finish_all)(v, q + before, m - before, window[before / GROUP % 2], rank + before, unit,
                        rows);
}

TARGET static void F(left_bounds)(const sx_view *v, const void *queries, unsigned m,
                                  const sx_state *entry, uint64_t *rank, uint64_t *slot, int rows)
{
    const KEY *q = queries;

    if (v->unit == 64 / W)        /* a constant: one comparison of a line */
        F(radix_groups)(v, q, m, entry, rank, 64 / W, rows);
    else
        F(radix_groups)(v, q, m, entry, rank, v->unit, rows);
    for (unsigned i = 0; slot && i < m; i++)
        slot[i] = rank[i] < v->n ? rank[i] : SX_NO_SLOT;
}

#include "family/generic/cpu_side_impl.h"

SX_WALK uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(radix_enter)(v, l, at);
}

SX_WALK uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    (void)l;
    return F(radix_step)(v, at, q);
}
#include "family/generic/cpu_steps_impl.h"

#undef SX_BYTES_BELOW_4
#undef SX_BYTES_BELOW
#include "family/generic/cpu_end.h"
