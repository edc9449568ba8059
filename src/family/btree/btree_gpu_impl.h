/* btree_gpu_impl.h - btree_gpu.cu for one width of key. */
#include "family/generic/gpu_begin.h"
#include "family/generic/gpu_columns_impl.h"
#include "family/generic/gpu_near_impl.h"
#include "family/generic/gpu_halving_impl.h"
#include "family/btree/btree_bound_impl.h"

SX_DEV uint64_t F(bound_near)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                              const unsigned char *top, uint64_t top_bytes)
{
    *slot = SX_NO_SLOT;
    return v->n == 0 ? 0 : F(btree_bound)(v, q, slot, unit, top, top_bytes);
}

SX_DEV void F(fill_top)(const sx_gpu_lookup *ap)
{
    if (ap->top_bytes > 0)
        F(fill_copy)(ap, SX_GPU_VIEW(&ap->views)->of.btree.nodes);
}

#include "family/generic/gpu_bound_impl.h"
#include "family/generic/gpu_points_impl.h"
#include "family/generic/gpu_ascending_impl.h"
#include "family/generic/gpu_ranges_impl.h"
#include "family/generic/gpu_climb_impl.h"
#include "family/generic/gpu_reorders_impl.h"
#include "family/generic/gpu_leaf_impl.h"

SX_DEV uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(btree_enter)(v, l, at);
}

SX_DEV uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(btree_step)(v, l, at, q);
}
#include "family/generic/gpu_steps_impl.h"

/* ---- lanes that search together ----------------------------------------------------- */

#if GPU_LAB
#include "family/generic/gpu_group_impl.h"

SX_DEV uint64_t F(group_bound)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    const sx_btree *t = &v->of.btree;
    uint64_t at = 0;
    unsigned c;

    *slot = SX_NO_SLOT;
    if (v->n == 0)
        return 0;
    for (uint32_t l = 0; l < t->levels; l++)
        at = F(btree_child)(t->k, at, F(group_node)(v, F(btree_node)(t, l, at), 1, 0,
                                                    SX_BTREE_LINE / W, w, ap->lanes),
                            F(btree_last_child)(t, l));
    c = F(group_node)(v, F(btree_leaf)(v, at), 1, 0, ap->unit, w, ap->lanes);
    *slot = F(btree_slot)(v->n, at, c, ap->unit);
    return F(btree_position)(v->n, at, c, ap->unit);
}

#define SX_GROUP_KERNEL
#include "family/generic/gpu_group_impl.h"
#undef SX_GROUP_KERNEL
#endif

/* ---- lanes that read together -----------------------------------------------------------
 *
 * Neighbouring lanes have a question each and read the lines of all of them together, 16 bytes
 * at a time side by side. So each line is asked for in whole sectors, and once. */

/* Each lane is at a node and wants its separators below its own w; ws: the keys of the `lanes`
 * (1, 2, 4) that read together, in their order. What each lane counts for the others they add
 * up in one number. */
SX_DEV unsigned F(count_nodes)(const unsigned char *nodes, uint32_t node, const KEY *ws,
                               unsigned lanes)
{
    unsigned me = SX_LANE & (lanes - 1), counts = 0;
    uint4 x[4];

    SX_UNROLL
    for (unsigned t = 0; t < lanes; t++) {
        uint32_t its = SX_SHUFFLE(node, SX_LANE - me + t);
        const unsigned char *p = nodes + (uint64_t)its * SX_BTREE_LINE + me * 16;
        SX_UNROLL
        for (unsigned j = 0; j < 4 / lanes; j++)
            x[t * (4 / lanes) + j] = sx_load16(p + j * lanes * 16);
    }
    SX_UNROLL
    for (unsigned t = 0; t < lanes; t++)
        SX_UNROLL
        for (unsigned j = 0; j < 4 / lanes; j++)
            counts += F(count_16)(x[t * (4 / lanes) + j], ws[t]) << 8 * t;
    SX_UNROLL
    for (unsigned s = 1; s < lanes; s *= 2)
        counts += SX_SHUFFLE_XOR(counts, s);
    return counts >> 8 * me & 255;
}

/* Down to a leaf. Levels that are near are read there by each lane alone. */
SX_DEV uint32_t F(shared_levels)(const sx_gpu_lookup *ap, KEY w, unsigned lanes)
{
    const sx_btree *t = &SX_GPU_VIEW(&ap->views)->of.btree;
    unsigned me = SX_LANE & (lanes - 1);
    uint32_t at = 0;
    KEY ws[4];

    SX_UNROLL
    for (unsigned j = 0; j < lanes; j++)
        ws[j] = F(shuffle_key)(w, SX_LANE - me + j);
    for (uint32_t l = 0; l < t->levels; l++) {
        uint32_t node = ap->node_first[l] + at;
        unsigned c = 0;
        if (l < ap->near_levels) {
            const KEY *near = (const KEY *)(const void *)(SX_SHARED + node * SX_BTREE_LINE);
            SX_UNROLL
            for (uint32_t j = 0; j < SX_BTREE_LINE / W; j++)
                c += near[j] < w;
        } else {
            c = F(count_nodes)(t->nodes, node, ws, lanes);
        }
        at = at * t->k + c;
        at = at < ap->last_child[l] ? at : ap->last_child[l];
    }
    return at;
}

/* Of the first `keys` keys in 16 bytes: those below q, and in the next byte of the number those
 * that are q. */
SX_DEV unsigned F(compare_some)(uint4 x, KEY q, int keys)
{
#if W == 4
    return (keys > 0 ? (unsigned)(x.x < q) + ((unsigned)(x.x == q) << 8) : 0) +
           (keys > 1 ? (unsigned)(x.y < q) + ((unsigned)(x.y == q) << 8) : 0) +
           (keys > 2 ? (unsigned)(x.z < q) + ((unsigned)(x.z == q) << 8) : 0) +
           (keys > 3 ? (unsigned)(x.w < q) + ((unsigned)(x.w == q) << 8) : 0);
#elif W == 8
    uint64_t a = (uint64_t)x.x | (uint64_t)x.y << 32, b = (uint64_t)x.z | (uint64_t)x.w << 32;

    return (keys > 0 ? (unsigned)(a < q) + ((unsigned)(a == q) << 8) : 0) +
           (keys > 1 ? (unsigned)(b < q) + ((unsigned)(b == q) << 8) : 0);
#else
    return keys > 0 ? F(count_16)(x, q) + (F(equal_16)(x, q) << 8) : 0;
#endif
}

/* The leaf of each lane, read by fours; the leaves of `turns` turns, 1 or 2, are asked for before
 * the first is needed. rows: bytes of a row in it; 0: there are none. */
SX_DEV F(leaf) F(read_line)(const sx_gpu_lookup *ap, uint32_t at, KEY w, uint32_t rows,
                            unsigned turns)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    unsigned me = SX_LANE & 3, first = SX_LANE - me;
    int keys = (int)(SX_BTREE_LINE / (W + rows)) - (int)me * (16 / W);        /* mine */
    F(leaf) mine;

    mine.below = mine.equal = 0;
    mine.row = mine.row_high = ~0u;
    SX_UNROLL
    for (unsigned part = 0; part < 4; part += turns) {
        uint4 x[2];
        uint32_t sum = 0;
        SX_UNROLL
        for (unsigned t = 0; t < turns; t++)
            x[t] = sx_load16_once(F(btree_leaf)(v, SX_SHUFFLE(at, first + part + t)) + me * 16);
        SX_UNROLL
        for (unsigned t = 0; t < turns; t++)
            sum += F(compare_some)(x[t], F(shuffle_key)(w, first + part + t), keys) << 16 * t;
        sum += SX_SHUFFLE_XOR(sum, 1);
        sum += SX_SHUFFLE_XOR(sum, 2);
        SX_UNROLL
        for (unsigned t = 0; t < turns; t++) {
            uint32_t below = sum >> 16 * t & 255;
            if (rows > 0) {
                /* the row's place, and the number that each lane has there */
                uint32_t byte = SX_BTREE_ROWS_AT(W, rows) + below * rows;
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
 * registers. */
SX_DEV void F(ask_shared)(const sx_gpu_lookup *ap, uint32_t rows, int get)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    const uint32_t keys = SX_BTREE_LINE / (W + rows);

    F(fill_top)(ap);
    /* Lanes past the end ask the last question again: all must take part. */
    for (uint32_t base = (uint32_t)SX_THREAD - SX_LANE, n = (uint32_t)ap->n; base < n;
         base += (uint32_t)SX_THREADS) {
        uint32_t i = base + SX_LANE < n ? base + SX_LANE : n - 1, at;
        uint64_t slot, number;
        int end = 0;
        KEY w = F(read_query)(ap->key_type, ap->q, i);
        F(leaf) leaf;
        if (!get)
            w = F(walked)(w, sx_side_of(ap->op), &end);
        at = F(shared_levels)(ap, w, SX_BTREE_LANES);
        leaf = F(read_line)(ap, at, w, rows, W == 16 ? 1 : 2);
        number = leaf.row | (uint64_t)leaf.row_high << 32;
        if (get) {                /* unused slots have no key */
            int hit = leaf.equal && (uint64_t)at * keys + leaf.below < v->n;
            sx_put_result(ap->out, ap->out_bytes, i, hit ? number : SX_MISS);
            continue;
        }
        slot = F(btree_slot)(v->n, at, leaf.below, keys);
        if (ap->op == SX_OP_GET && !leaf.equal)
            slot = SX_NO_SLOT;
        if (ap->op != SX_OP_GET || rows == 0)
            number = F(number)(ap, w, F(bounded_slot)(v, end, F(btree_position)(v->n, at, leaf.below,
                                                                                keys), &slot),
                               &slot, 1);
        else if (slot == SX_NO_SLOT)
            number = SX_MISS;
        F(put)(ap, i, number, slot);
    }
}

/* Kernels by bytes of rows in a leaf: k_shared_W_ROWS, and k_shared_get_W_ROWS. Those of wide keys
 * need more registers (habits()). */
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

SX_KERNEL(F(k_nodes), sx_gpu_build)
{
    const sx_btree *t = &ap->v.of.btree;
    const KEY *from = (const KEY *)ap->from_keys;
    KEY *to = (KEY *)(void *)ap->own[0];
    uint32_t places = SX_BTREE_LINE / W;

    for (uint64_t i = SX_THREAD; i < t->first[t->levels] * places; i += SX_THREADS) {
        uint64_t g = i / places, source = ap->v.n;
        uint32_t l = 0, j = (uint32_t)(i % places);
        while (l + 1 < t->levels && t->first[l + 1] <= g)
            l++;
        if (j + 1 < t->k)
            source = sx_btree_source(t, l, g - t->first[l], j);
        to[i] = source < ap->v.n ? from[source] : (KEY)~(KEY)0;
    }
}

#include "family/generic/gpu_end.h"
