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

/* ---- prefixes --------------------------------------------------------------------------- */

/* Those of m ends that are windows with keys, listed. Which they are nobody could foresee, nor below
 * which ends are nodes: so there is no branch. */
SX_WALK unsigned F(radix_list_windows)(const uint64_t *end, unsigned m, uint16_t list[GROUP])
{
    unsigned count = 0;

    for (unsigned j = 0; j < m; j++) {
        list[count] = (uint16_t)j;
        count += end[j] >> 48 > SX_RADIX_DONE >> 48;
    }
    return count;
}

/* What says at which rank an end is, or its window begins: the head of a node, or the end itself. */
SX_WALK const uint64_t *F(radix_end_at)(const sx_view *v, const uint64_t *end)
{
    const uint64_t *node = sx_ahead(v->of.radix.nodes, (*end & SX_RADIX_AT) * SX_RADIX_UNIT);

    return *end & SX_RADIX_DONE ? end : node;
}

/* The same as radix_ask() for a node that the prefix may end in: then it has two entries there. */
SX_WALK void F(radix_ask_prefix)(const sx_view *v, uint64_t state, KEY q, uint32_t bits)
{
    uint32_t kind = (uint32_t)(state >> 48) & 15u, depth = F(radix_depth)(state), b;

    F(radix_ask)(v, state, q);
    if ((kind & 7u) == SX_RADIX_256 && !F(radix_goes_on)(state, bits)) {
        uint32_t behind = bits > 8 * depth ? 256u >> (bits - 8 * depth) : 256;
        (void)F(radix_split)(q, depth, &b);
        SX_ASK(sx_ahead(F(radix_node)(v, state),
                        sx_radix_head(W) + (kind & SX_RADIX_WIDE ? 8 : 2) * (uint64_t)(b + behind)));
    }
}

/* Walks of prefixes go down together, a level at a time; lo and hi are where they end. Prefixes of
 * different lengths end at different levels, in no order that a processor could foresee. So those
 * that go on and those that end in a node are listed, without a branch, and lists are worked off. */
SX_WALK void F(radix_descend_prefixes)(const sx_view *v, const KEY *q, const unsigned char *bits,
                                       unsigned m, uint64_t lo[GROUP], uint64_t hi[GROUP],
                                       uint32_t unit)
{
    const sx_radix *t = &v->of.radix;
    uint16_t walk[GROUP], end[GROUP];
    unsigned walks = 0, ends;

    for (unsigned j = 0; j < m; j++) {
        lo[j] = hi[j] = t->root;
        walk[walks] = (uint16_t)j;
        walks += !(t->root & SX_RADIX_DONE);
    }
    for (uint32_t l = 0; l < t->levels && walks > 0; l++) {
        unsigned all = walks, go = 0;
        ends = 0;
        for (unsigned k = 0; k < all; k++) {
            unsigned j = walk[k], on = F(radix_goes_on)(lo[j], bits[j]) != 0;
            end[ends] = (uint16_t)j;
            ends += !on;
            walk[go] = (uint16_t)j;
            go += on;
        }
        for (unsigned k = walks = 0; k < go; k++) {
            unsigned j = walk[k];
            lo[j] = hi[j] = F(radix_step)(v, lo[j], q[j]);
            walk[walks] = (uint16_t)j;
            walks += !(lo[j] & SX_RADIX_DONE);
        }
        for (unsigned k = 0; k < walks; k++)
            F(radix_ask_prefix)(v, lo[walk[k]], q[walk[k]], bits[walk[k]]);
        for (unsigned k = 0; k < ends; k++) {
            unsigned j = end[k];
            F(radix_ends)(v, lo[j], q[j], bits[j], &lo[j], &hi[j]);
        }
    }
    for (unsigned j = 0; j < m; j++) {
        SX_ASK(F(radix_end_at)(v, &lo[j]));
        SX_ASK(F(radix_end_at)(v, &hi[j]));
    }
    ends = F(radix_list_windows)(lo, m, end);
    for (unsigned k = 0; k < ends; k++)
        F(radix_ask_keys)(v, lo[end[k]], unit, 0);
}

/* Ends become ranks. Both ends of a prefix are searched for in one window, or in none. What lies
 * behind all keys of a prefix is where the next prefix begins; behind the last prefix it is the end
 * of its window. */
SX_WALK void F(radix_finish_prefixes)(const sx_view *v, const KEY *q, const unsigned char *bits,
                                      unsigned m, const uint64_t lo[GROUP], const uint64_t hi[GROUP],
                                      uint64_t *from, uint64_t *to, uint32_t unit)
{
    uint16_t list[GROUP];
    unsigned some = F(radix_list_windows)(lo, m, list);
    uint64_t window[GROUP], rank[GROUP];
    KEY first[GROUP];

    for (unsigned j = 0; j < m; j++) {
        from[j] = sx_min64(*F(radix_end_at)(v, &lo[j]) & SX_RADIX_RANK, v->n);
        to[j] = sx_min64(*F(radix_end_at)(v, &hi[j]) & SX_RADIX_RANK, v->n);
    }
    for (unsigned k = 0; k < some; k++) {
        window[k] = lo[list[k]];
        first[k] = q[list[k]];
    }
    F(radix_finish_all)(v, first, some, window, rank, unit, 0);
    for (unsigned k = 0; k < some; k++) {
        KEY last = (KEY)(first[k] | F(prefix_rest)(bits[list[k]]));
        from[list[k]] = rank[k];
        first[k] = (KEY)(last + (last != (KEY)~(KEY)0));
    }
    F(radix_finish_all)(v, first, some, window, rank, unit, 0);
    for (unsigned k = 0; k < some; k++) {
        uint64_t count, start = F(radix_ended)(v, window[k], &count);
        KEY last = (KEY)(q[list[k]] | F(prefix_rest)(bits[list[k]]));
        to[list[k]] = last == (KEY)~(KEY)0 ? start + count : rank[k];
    }
}

SX_WALK void F(radix_prefix_groups)(const sx_view *v, const KEY *q, const unsigned char *bits, unsigned m,
                                    uint64_t *from, uint64_t *to, uint32_t unit)
{
    uint64_t lo[2][GROUP], hi[2][GROUP];
    unsigned i = 0, before = 0, part, of;

    for (; i < m; before = i, i += part) {
        part = m - i < GROUP ? m - i : GROUP;
        of = i / GROUP % 2;
        F(radix_descend_prefixes)(v, q + i, bits + i, part, lo[of], hi[of], unit);
        if (i > 0)
            F(radix_finish_prefixes)(v, q + before, bits + before, GROUP, lo[!of], hi[!of],
                                     from + before, to + before, unit);
    }
    of = before / GROUP % 2;
    F(radix_finish_prefixes)(v, q + before, bits + before, m - before, lo[of], hi[of],
                             from + before, to + before, unit);
}

TARGET static void F(prefixes)(const sx_view *v, const void *queries, const unsigned char *bits,
                               unsigned m, uint64_t *from, uint64_t *to)
{
    const KEY *q = queries;

    if (v->unit == 64 / W)
        F(radix_prefix_groups)(v, q, bits, m, from, to, 64 / W);
    else
        F(radix_prefix_groups)(v, q, bits, m, from, to, v->unit);
}

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
