/* bplus_gpu_impl.h - bplus_gpu.cu for one width of key. */
#include "family/generic/gpu_begin.h"
#include "family/generic/gpu_columns_impl.h"
#include "family/generic/gpu_near_impl.h"
#include "family/generic/gpu_halving_impl.h"
#include "family/bplus/bplus_bound_impl.h"

SX_DEV uint64_t F(bound_near)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                              const unsigned char *top, uint64_t top_bytes)
{
    *slot = SX_NO_SLOT;
    return v->n == 0 ? 0 : F(bplus_bound)(v, q, slot, unit, top, top_bytes);
}

SX_DEV void F(fill_top)(const sx_gpu_lookup *ap)
{
    if (ap->top_bytes > 0)
        F(fill_copy)(ap, SX_GPU_VIEW(&ap->views)->of.bplus.nodes);
}

#include "family/generic/gpu_bound_impl.h"
#include "family/generic/gpu_points_impl.h"
#include "family/generic/gpu_ranges_impl.h"
#include "family/generic/gpu_climb_impl.h"
#include "family/generic/gpu_reorders_impl.h"
#include "family/generic/gpu_leaf_impl.h"

SX_DEV uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(bplus_enter)(v, l, at);
}

SX_DEV uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(bplus_step)(v, l, at, q);
}
#include "family/generic/gpu_steps_impl.h"

/* ---- lanes that search together ----------------------------------------------------- */

#if GPU_LAB
#include "family/generic/gpu_group_impl.h"

SX_DEV uint64_t F(group_bound)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    const sx_bplus *t = &v->of.bplus;
    uint64_t at = t->root, position;
    uint32_t c, d;

    *slot = SX_NO_SLOT;
    if (v->n == 0)
        return 0;
    for (uint32_t l = 0; l < t->levels; l++) {
        const unsigned char *node = F(bplus_node)(t, l, at);
        c = F(group_node)(v, node, 1, 0, SX_BPLUS_KEYS(W), w, ap->lanes);
        d = F(group_node)(v, F(bplus_line)(node, c), 1, 0, SX_BPLUS_KEYS(W), w, ap->lanes);
        at = F(bplus_next)(t, l, at, c, d, F(bplus_latest)(t, l + 1));
    }
    c = F(group_node)(v, F(bplus_leaf)(v, at), 1, 0, ap->unit, w, ap->lanes);
    position = F(bplus_position)(v, at, c, ap->unit);
    *slot = F(bplus_slot)(v, at, c, position, ap->unit);
    return position;
}

#define SX_GROUP_KERNEL
#include "family/generic/gpu_group_impl.h"
#undef SX_GROUP_KERNEL
#endif

/* ---- lanes that read together -----------------------------------------------------------
 *
 * Neighbouring lanes have a question each and read the lines of all of them together, 16 bytes
 * at a time side by side. So each line is asked for in whole sectors, and once. Lines of a pool
 * have 32-bit numbers. */

/* Each lane is at a line of a pool and wants its keys below its own w; ws: the keys of the
 * SX_BPLUS_LANES that read together, in their order. What each lane counts for the others they
 * add up in one number. */
SX_DEV uint32_t F(count_lines)(const unsigned char *pool, uint32_t line, const KEY *ws)
{
    const unsigned lanes = SX_BPLUS_LANES, parts = 4 / SX_BPLUS_LANES;
    unsigned me = SX_LANE & (lanes - 1), counts = 0;
    uint4 x[4];

    SX_UNROLL
    for (unsigned t = 0; t < lanes; t++) {
        uint32_t its = SX_SHUFFLE(line, SX_LANE - me + t);
        const unsigned char *p = pool + (uint64_t)its * SX_BPLUS_LINE + me * 16;
        SX_UNROLL
        for (unsigned j = 0; j < parts; j++)
            x[t * parts + j] = sx_load16(p + j * lanes * 16);
    }
    SX_UNROLL
    for (unsigned t = 0; t < lanes; t++)
        SX_UNROLL
        for (unsigned j = 0; j < parts; j++)
            counts += F(count_16)(x[t * parts + j], ws[t]) << 8 * t;
    SX_UNROLL
    for (unsigned s = 1; s < lanes; s *= 2)
        counts += SX_SHUFFLE_XOR(counts, s);
    return counts >> 8 * me & 255;
}

/* The same by each lane alone, in shared memory or not. */
SX_DEV uint32_t F(count_alone)(const unsigned char *line, KEY w)
{
    const KEY *keys = (const KEY *)(const void *)line;
    uint32_t c = 0;

    SX_UNROLL
    for (uint32_t j = 0; j < SX_BPLUS_KEYS(W); j++)
        c += keys[j] < w;
    return c;
}

/* The child that one lane finds alone in a node. */
SX_DEV uint32_t F(child_alone)(const unsigned char *node, KEY w)
{
    uint32_t c = F(bplus_place)(F(count_alone)(node, w));
    uint32_t d = F(count_alone)(F(bplus_line)(node, c), w);

    return *F(bplus_child)(node, c * SX_BPLUS_KEYS(W) + F(bplus_place)(d));
}

/* Down to a line of a leaf. Levels that are near, as a build numbers nodes, are read by each lane
 * alone: in shared memory, unless the node has another number. */
SX_DEV uint32_t F(shared_levels)(const sx_gpu_lookup *ap, KEY w)
{
    const sx_bplus *t = &SX_GPU_VIEW(&ap->views)->of.bplus;
    const uint32_t lines = SX_BPLUS_INNER(W) / SX_BPLUS_LINE;
    const uint32_t near = (uint32_t)ap->top_bytes / SX_BPLUS_INNER(W);    /* nodes there */
    unsigned me = SX_LANE & (SX_BPLUS_LANES - 1);
    uint32_t at = (uint32_t)t->root, c, d, l = 0;
    KEY ws[SX_BPLUS_LANES];

    SX_UNROLL
    for (unsigned j = 0; j < SX_BPLUS_LANES; j++)
        ws[j] = F(shuffle_key)(w, SX_LANE - me + j);
    for (; l + 1u < t->levels; l++) {
        uint32_t line = at * lines, latest = (uint32_t)F(bplus_latest)(t, l + 1);
        const unsigned char *node = t->nodes + (uint64_t)at * SX_BPLUS_INNER(W);
        if (l < ap->near_levels) {
            at = at < near ? F(child_alone)(SX_SHARED + at * SX_BPLUS_INNER(W), w)
                           : F(child_alone)(node, w);
        } else {
            c = F(bplus_place)(F(count_lines)(t->nodes, line, ws));
            d = F(count_lines)(t->nodes, line + 1 + c, ws);
            at = *F(bplus_child)(node, c * SX_BPLUS_KEYS(W) + F(bplus_place)(d));
        }
        at = at < latest ? at : latest;
    }
    c = F(bplus_place)(F(count_lines)(t->lasts, at * (SX_BPLUS_LAST(W) / SX_BPLUS_LINE), ws));
    d = F(count_lines)(t->lasts, at * (SX_BPLUS_LAST(W) / SX_BPLUS_LINE) + 1 + c, ws);
    return at * SX_BPLUS_FAN(W) + c * SX_BPLUS_KEYS(W) + F(bplus_place)(d);
}

/* The line of each lane, read by fours: keys before byte 32 if it has rows. The lines of `turns`
 * turns, 1 or 2, are asked for before the first is needed. rows: bytes of a row in it; 0: there
 * are none. keys: of a line. */
SX_DEV F(leaf) F(read_line)(const sx_gpu_lookup *ap, uint32_t at, KEY w, uint32_t rows, uint32_t keys,
                            unsigned turns)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    unsigned me = SX_LANE & 3, first = SX_LANE - me;
    int mine_too = me * 16 < keys * W;    /* whether I have keys, not rows */
    F(leaf) mine;

    mine.below = mine.equal = 0;
    mine.row = mine.row_high = ~0u;
    SX_UNROLL
    for (unsigned part = 0; part < 4; part += turns) {
        uint4 x[2];
        uint32_t sum = 0;
        SX_UNROLL
        for (unsigned t = 0; t < turns; t++)
            x[t] = sx_load16_once(F(bplus_leaf)(v, SX_SHUFFLE(at, first + part + t)) + me * 16);
        SX_UNROLL
        for (unsigned t = 0; t < turns; t++) {
            KEY key = F(shuffle_key)(w, first + part + t);
            if (mine_too)
                sum += (F(count_16)(x[t], key) + (F(equal_16)(x[t], key) << 8)) << 16 * t;
        }
        sum += SX_SHUFFLE_XOR(sum, 1);
        sum += SX_SHUFFLE_XOR(sum, 2);
        SX_UNROLL
        for (unsigned t = 0; t < turns; t++) {
            uint32_t below = sum >> 16 * t & 255;
            if (rows > 0) {
                /* the row's place, and the number that each lane has there */
                uint32_t byte = SX_BPLUS_ROWS_AT + below * rows;
                uint64_t row = F(word_of)(x[t], byte, rows);
                unsigned from = first + (byte / 16 & 3);
                uint32_t low = SX_SHUFFLE((uint32_t)row, from);
                uint32_t high = rows == 8 ? SX_SHUFFLE((uint32_t)(row >> 32), from) : 0;
                mine.row = part + t == me ? low : mine.row;
                mine.row_high = part + t == me ? high : mine.row_high;
            }
            if (part + t == me) {
                mine.below = below;
                mine.equal = sum >> (16 * t + 8) & 255;
            }
        }
    }
    return mine;
}

/* get: SX_OP_GET with rows and without keys, which is asked most and can do with fewer
 * registers, and without records. */
SX_DEV void F(ask_shared)(const sx_gpu_lookup *ap, uint32_t rows, int get)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    const uint32_t keys = rows ? SX_BPLUS_ROWS_AT / (W > rows ? W : rows) : SX_BPLUS_KEYS(W);

    F(fill_top)(ap);
    /* Lanes past the end ask the last question again: all must take part. */
    for (uint32_t base = (uint32_t)SX_THREAD - SX_LANE, n = (uint32_t)ap->n; base < n;
         base += (uint32_t)SX_THREADS) {
        uint32_t i = base + SX_LANE < n ? base + SX_LANE : n - 1, at;
        uint64_t slot, number, position;
        int end = 0;
        KEY w = F(read_query)(ap->key_type, ap->q, i);
        F(leaf) leaf;
        if (!get)
            w = F(walked)(w, sx_side_of(ap->op), &end);
        at = F(shared_levels)(ap, w);
        leaf = F(read_line)(ap, at, w, rows, keys, W == 16 ? 1 : 2);
        number = leaf.row | (uint64_t)leaf.row_high << 32;
        if (get) {                /* unused slots have a row that matches nothing */
            int miss = !leaf.equal || (rows == 4 && leaf.row == SX_MISS32);
            sx_put_result(ap->out, ap->out_bytes, i, miss ? SX_MISS : number);
            continue;
        }
        position = F(bplus_position)(v, at, leaf.below, keys);
        slot = F(bplus_slot)(v, at, leaf.below, position, keys);
        if (ap->op == SX_OP_GET && !leaf.equal)
            slot = SX_NO_SLOT;
        if (ap->op != SX_OP_GET || rows == 0)
            number = F(number)(ap, w, F(bounded_slot)(v, end, position, &slot), &slot, 1);
        else if (slot == SX_NO_SLOT)
            number = SX_MISS;
        F(put)(ap, i, number, slot);
    }
}

/* Kernels by bytes of rows in a line: k_shared_W_ROWS, and k_shared_get_W_ROWS. Those of wide
 * keys need more registers (habits()). */
#if W == 16
#define SX_LINE_KERNEL SX_KERNEL_1536
#else
#define SX_LINE_KERNEL SX_KERNEL_2048
#endif
#define SX_SHARED_KERNEL(rows)                                                            \
    SX_LINE_KERNEL(NAME3(k_shared, NAME3(W, rows)), sx_gpu_lookup)                        \
    {                                                                                     \
        F(ask_shared)(ap, rows, 0);                                                       \
    }
#define SX_GET_KERNEL(rows)                                                               \
    SX_LINE_KERNEL(NAME3(k_shared_get, NAME3(W, rows)), sx_gpu_lookup)                    \
    {                                                                                     \
        F(ask_shared)(ap, rows, 1);                                                       \
    }
SX_SHARED_KERNEL(0)
SX_SHARED_KERNEL(4)
SX_SHARED_KERNEL(8)
SX_GET_KERNEL(4)
SX_GET_KERNEL(8)
#undef SX_GET_KERNEL
#undef SX_SHARED_KERNEL
#undef SX_LINE_KERNEL

/* ---- building ------------------------------------------------------------------------- */

/* Separators and index keys of inner nodes, one a thread. ap->own[0]: their pool. */
SX_KERNEL(F(k_inner), sx_gpu_build)
{
    const sx_bplus *t = &ap->v.of.bplus;
    const KEY *from = (const KEY *)ap->from_keys;
    const uint32_t m = SX_BPLUS_KEYS(W), places = m + m * m;

    for (uint64_t i = SX_THREAD; i < t->inner * places; i += SX_THREADS) {
        uint64_t node = i / places, g, begin, size;
        uint32_t l = 0, place = (uint32_t)(i % places), j = place < m ? (place + 1) * m - 1 : place - m;
        KEY *to = (KEY *)(void *)(ap->own[0] + node * SX_BPLUS_INNER(W));
        while (t->first[l + 1] <= node)
            l++;
        g = node - t->first[l];
        begin = sx_bplus_before(sx_bplus_nodes(t, l + 1), sx_bplus_nodes(t, l), g);
        size = sx_bplus_before(sx_bplus_nodes(t, l + 1), sx_bplus_nodes(t, l), g + 1) - begin;
        to[place] = j + 1 < size ? from[sx_bplus_end(t, ap->v.n, l + 1, begin + j) - 1] : (KEY)~(KEY)0;
    }
}

/* The same of last inner nodes. */
SX_KERNEL(F(k_lasts), sx_gpu_build)
{
    const sx_bplus *t = &ap->v.of.bplus;
    const KEY *from = (const KEY *)ap->from_keys;
    const uint32_t m = SX_BPLUS_KEYS(W), places = m + m * m;

    for (uint64_t i = SX_THREAD; i < t->leaves * places; i += SX_THREADS) {
        uint64_t p = i / places, source;
        uint32_t place = (uint32_t)(i % places), j = place < m ? (place + 1) * m - 1 : place - m;
        KEY *to = (KEY *)(void *)(ap->own[0] + p * SX_BPLUS_LAST(W));
        /* a line that has another behind it */
        source = sx_bplus_before(ap->v.n, t->leaves, p) + (uint64_t)(j + 1) * t->leaf;
        to[place] = source < sx_bplus_before(ap->v.n, t->leaves, p + 1) ? from[source - 1]
                                                                        : (KEY)~(KEY)0;
    }
}

#include "family/generic/gpu_end.h"
