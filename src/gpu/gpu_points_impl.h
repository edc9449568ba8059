/* gpu_points_impl.h - kernels for questions about single keys, one width.
 *
 * Parameters as in gpu_walk_impl.h. How a question is walked:
 *
 *   k_lookup     a thread by itself
 *   k_shared     a thread has a question of its own, but neighbouring lanes
 *                read each other's nodes and leaves with it, in turns: their
 *                bytes are asked for once and together
 *   k_group      several lanes walk one question, each with its share of a
 *                node's keys
 *   k_ascending  questions that (mostly) ascend: a block finds the window
 *                that all of its questions fall in, and has it near
 *   k_reorder    (gpu_reorder_impl.h) a block sorts its questions first
 */

/* ---- what is asked, what is answered ------------------------------------------- */

/* The key whose lower bound answers question q: q, or the next key above it.
 * *all: there is none above, every key counts. */
SX_DEV KEY F(walked)(const sx_gpu_lookup *ap, KEY q, int *all)
{
    int right = ap->op == SX_OP_RANK_RIGHT || ap->op == SX_OP_FLOOR;

    *all = right && q == (KEY)~(KEY)0;
    return (KEY)(q + (right && !*all));
}

/* The number that answers q, whose walk ended with rank and *slot; *slot
 * becomes that of the key that answers. checked: a slot's key is equal to q
 * where that is asked for. */
SX_DEV uint64_t F(number)(const sx_gpu_lookup *ap, KEY q, int all, uint64_t rank, uint64_t *slot,
                          int checked)
{
    const sx_view *v = &ap->v;

    if (all) {
        rank = v->n;
        *slot = SX_NO_SLOT;
    }
    if (ap->op == SX_OP_RANK_LEFT || ap->op == SX_OP_RANK_RIGHT)
        return rank;
    if (ap->op == SX_OP_FLOOR) {
        rank--;                   /* 0 - 1 is past the end: no such key */
        *slot = rank < v->n ? sx_slot_of_rank(v, rank) : SX_NO_SLOT;
    }
    if (ap->op == SX_OP_GET && !checked && *slot != SX_NO_SLOT && F(slot_key)(v, *slot) != q)
        *slot = SX_NO_SLOT;
    return *slot == SX_NO_SLOT || !ap->out ? SX_MISS : sx_row_at(v, *slot, rank);
}

SX_DEV void F(put)(const sx_gpu_lookup *ap, uint64_t i, uint64_t number, uint64_t slot)
{
    if (ap->out)
        sx_put_result(ap->out, ap->out_bytes, i, number);
    if (ap->keys && slot != SX_NO_SLOT)
        F(write_key)(ap->key_type, ap->keys, i, F(slot_key)(&ap->v, slot));
}

/* ---- the top of a search, in shared memory ---------------------------------------- */

/* The key that a plain array's search compares with after `path` (a 1, then a
 * bit per step so far); 0 where the search is over before. */
SX_DEV KEY F(top_key)(const sx_view *v, uint32_t unit, uint64_t path)
{
    uint64_t at = 0, len = F(pivot_window)(v, unit);
    const unsigned char *p;
    uint32_t steps = 0;

    while (path >> (steps + 1))
        steps++;
    while (steps-- > 0 && len > 1) {
        at += (path >> steps & 1) * (len / 2);
        len -= len / 2;
    }
    if (len <= 1)
        return 0;
    p = F(pivot_unit)(v, at + len / 2 - 1, unit) + (unit - 1) * W;
    return *(const KEY *)(const void *)p;
}

/* Every thread of the block takes part. */
SX_DEV void F(fill_top)(const sx_gpu_lookup *ap)
{
    const sx_view *v = &ap->v;
    KEY *top = (KEY *)(void *)SX_SHARED;
    const KEY *from = (const KEY *)(const void *)(v->family == SX_FAM_EYTZ ? v->keys : v->pivots);

    if (ap->top_bytes == 0)
        return;
    if (v->family == SX_FAM_PGM) {        /* keys, then lines, of as many entries */
        uint32_t keys = ap->top_bytes / (W + SX_SEGMENT) * W;
        for (uint32_t i = SX_TID * 16; i < ap->top_bytes; i += SX_BLOCK_THREADS * 16)
            *(uint4 *)(void *)(SX_SHARED + i) =
                sx_load16(i < keys ? v->segment_keys + i : v->segments + (i - keys));
        SX_BARRIER();
        return;
    }
    for (uint32_t i = SX_TID; i < ap->top_bytes / W; i += SX_BLOCK_THREADS)
        top[i] = v->family == SX_FAM_EYTZ || v->levels > 0 ? from[i]
                 : i > 0 ? F(top_key)(v, ap->unit, i) : 0;
    SX_BARRIER();
}

/* ---- alone ---------------------------------------------------------------------------- */

SX_KERNEL_1024(F(k_lookup), sx_gpu_lookup)
{
    F(fill_top)(ap);
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY q = F(read_query)(ap->key_type, ap->q, i);
        int all;
        KEY w = F(walked)(ap, q, &all);
        uint64_t slot, rank = F(bound_near)(&ap->v, w, &slot, ap->unit, SX_SHARED, ap->top_bytes);
        uint64_t number = F(number)(ap, q, all, rank, &slot, 0);
        F(put)(ap, i, number, slot);
    }
}

SX_KERNEL(F(k_key_at), sx_gpu_lookup)
{
    const sx_view *v = &ap->v;

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        uint64_t rank = sx_number_at(ap->q, ap->rank_bytes, i);
        uint64_t slot = rank < v->n ? sx_slot_of_rank(v, rank) : SX_NO_SLOT;
        F(put)(ap, i, slot == SX_NO_SLOT || !ap->out ? SX_MISS : sx_row_at(v, slot, rank), slot);
    }
}

/* ---- lanes that read together ----------------------------------------------------------- */

SX_DEV KEY F(shuffle_key)(KEY k, unsigned lane)
{
#if W == 16
    uint64_t low = SX_SHUFFLE((uint64_t)k, lane), high = SX_SHUFFLE((uint64_t)(k >> 64), lane);

    return (KEY)high << 64 | low;
#else
    return SX_SHUFFLE(k, lane);
#endif
}

/* How many of the keys in 16 bytes are q. */
SX_DEV unsigned F(equal_16)(uint4 x, KEY q)
{
#if W == 4
    return (unsigned)((x.x == q) + (x.y == q) + (x.z == q) + (x.w == q));
#elif W == 8
    return (unsigned)(((uint64_t)x.x | (uint64_t)x.y << 32) == q) +
           (unsigned)(((uint64_t)x.z | (uint64_t)x.w << 32) == q);
#else
    return (unsigned)(((KEY)((uint64_t)x.z | (uint64_t)x.w << 32) << 64 |
                       ((uint64_t)x.x | (uint64_t)x.y << 32)) == q);
#endif
}

/* Each lane is at a node of `bytes` (32 or 64) and wants its keys below w;
 * `other` is its neighbour's w. Both nodes are read by both: each lane takes
 * one half of either. */
SX_DEV unsigned F(count_both)(const sx_gpu_lookup *ap, uint32_t node, KEY w, KEY other,
                              uint32_t bytes)
{
    const unsigned char *half = ap->v.pivots + (SX_LANE & 1) * (bytes / 2);
    const unsigned char *p = half + (uint64_t)node * bytes;
    const unsigned char *its = half + (uint64_t)SX_SHUFFLE_XOR(node, 1) * bytes;
    uint4 a = sx_load16(p), b = sx_load16(its);
    unsigned mine, for_it;

    if (bytes == 64) {
        uint4 c = sx_load16(p + 16), d = sx_load16(its + 16);
        mine = F(count_16)(a, w) + F(count_16)(c, w);
        for_it = F(count_16)(b, other) + F(count_16)(d, other);
    } else {
        mine = F(count_16)(a, w);
        for_it = F(count_16)(b, other);
    }
    return mine + SX_SHUFFLE_XOR(for_it, 1);
}

/* Down to a leaf. Levels that are near are read there by each lane alone. */
SX_DEV uint32_t F(shared_levels)(const sx_gpu_lookup *ap, KEY w, KEY other, uint32_t bytes)
{
    uint32_t at = 0;

    for (uint32_t l = 0; l < ap->v.levels; l++) {
        uint32_t node = ap->node_first[l] + at;
        unsigned c = 0;
        if (l < ap->near_levels) {
            const KEY *near = (const KEY *)(const void *)(SX_SHARED + node * bytes);
            SX_UNROLL
            for (uint32_t j = 0; j < bytes / W; j++)
                c += near[j] < w;
        } else {
            c = F(count_both)(ap, node, w, other, bytes);
        }
        at = at * (bytes / W + 1) + c;
        at = at < ap->last_child[l] ? at : ap->last_child[l];
    }
    return at;
}

/* What a leaf says about the lane's question. */
typedef struct {
    unsigned below, equal;        /* of its keys */
    uint64_t row;                 /* pairs: behind the key at `below` */
} F(leaf);

/* The bytes [at, at + bytes) of 16, bytes 4 or 8, as a number. */
SX_DEV uint64_t F(word_of)(uint4 x, uint32_t at, uint32_t bytes)
{
    uint32_t low = at & 8 ? (at & 4 ? x.w : x.z) : (at & 4 ? x.y : x.x);

    return bytes == 4 ? low : low | (uint64_t)(at & 8 ? x.w : x.y) << 32;
}

/* Each lane has a leaf. `lanes` of them read the leaf of each in turn, 16
 * bytes at a time side by side, once or (twice) two times. rows: bytes of a
 * row behind the keys; 0: there are none. */
SX_DEV F(leaf) F(read_leaf)(const sx_gpu_lookup *ap, uint32_t leaf, KEY w, unsigned lanes, int twice,
                            uint32_t rows)
{
    unsigned me = SX_LANE & (lanes - 1), first = SX_LANE - me;
    uint32_t key_bytes = ap->leaf_key_bytes;
    F(leaf) mine;

    mine.below = mine.equal = 0;
    mine.row = SX_MISS;
    SX_UNROLL
    for (unsigned turn = 0; turn < lanes; turn++) {
        uint64_t its = (uint64_t)SX_SHUFFLE(leaf, first + turn) * ap->leaf_step;
        KEY key = F(shuffle_key)(w, first + turn);
        const unsigned char *p;
        uint4 a = {0, 0, 0, 0}, b = {0, 0, 0, 0};
        unsigned counts = 0;      /* below, and equal in the upper half */
        if (rows == 0)            /* blocks are whole, an array may end sooner */
            its = its < ap->leaf_latest ? its : ap->leaf_latest;
        p = ap->v.keys + its + me * 16;
        if (me * 16 < ap->leaf_bytes)
            a = sx_load16_once(p);
        if (twice && (me + lanes) * 16 < ap->leaf_bytes)
            b = sx_load16_once(p + lanes * 16);
        if (me * 16 < key_bytes)
            counts = F(count_16)(a, key) + (F(equal_16)(a, key) << 16);
        if (twice && (me + lanes) * 16 < key_bytes)
            counts += F(count_16)(b, key) + (F(equal_16)(b, key) << 16);
        SX_UNROLL
        for (unsigned s = 1; s < lanes; s *= 2)
            counts += SX_SHUFFLE_XOR(counts, s);
        if (rows > 0) {
            /* the row's place, and the number that each lane has there */
            uint32_t at = key_bytes + (counts & 0xffff) * rows;
            uint64_t row = F(word_of)(twice && at >= lanes * 16 ? b : a, at, rows);
            unsigned from = first + (at / 16 & (lanes - 1));
            if (rows == 4)
                row = SX_SHUFFLE((uint32_t)row, from);
            else
                row = SX_SHUFFLE(row, from);
            if (turn == me)
                mine.row = row;
        }
        if (turn == me) {
            mine.below = counts & 0xffff;
            mine.equal = counts >> 16;
        }
    }
    return mine;
}

/* For pivots over whole leaves (gpu_shared_args()). */
SX_DEV void F(ask_shared)(const sx_gpu_lookup *ap, unsigned lanes, int twice, uint32_t rows)
{
    const sx_view *v = &ap->v;

    F(fill_top)(ap);
    /* Lanes past the end ask the last question again: all must take part. */
    for (uint32_t base = (uint32_t)SX_THREAD - SX_LANE, n = (uint32_t)ap->n; base < n;
         base += (uint32_t)SX_THREADS) {
        uint32_t i = base + SX_LANE < n ? base + SX_LANE : n - 1;
        uint64_t rank, row = SX_MISS;
        int all;
        KEY q = F(read_query)(ap->key_type, ap->q, i), w = F(walked)(ap, q, &all);
        KEY other = F(shuffle_key)(w, SX_LANE ^ 1);
        uint32_t at = ap->node_bytes == 32 ? F(shared_levels)(ap, w, other, 32)
                                           : F(shared_levels)(ap, w, other, 64);
        F(leaf) leaf = F(read_leaf)(ap, at, w, lanes, twice, rows);
        rank = (uint64_t)at * v->leaf;
        if (rows == 0)            /* the last leaf begins early enough to be whole */
            rank = sx_min64(rank, v->slots - v->leaf);
        rank = sx_min64(rank + leaf.below, v->n);
        if (ap->op == SX_OP_RANK_LEFT || ap->op == SX_OP_RANK_RIGHT) {
            sx_put_result(ap->out, ap->out_bytes, i, all ? v->n : rank);
            continue;
        }
        if (ap->op == SX_OP_GET && !leaf.equal)
            rank = v->n;
        else if (ap->op == SX_OP_FLOOR)
            rank = (all ? v->n : rank) - 1;       /* 0 - 1 is past the end */
        if (rank < v->n && ap->out)
            row = ap->op == SX_OP_GET && rows ? leaf.row : sx_row_at(v, rank, rank);
        F(put)(ap, i, row, rank < v->n ? rank : SX_NO_SLOT);
    }
}

/* For a guide, or (lines) a pgm: each lane finds its window by itself, lanes
 * read the unit that is guessed for each in turn, and those of its neighbours
 * where it is there. */
SX_DEV void F(ask_window)(const sx_gpu_lookup *ap, unsigned lanes, int twice, uint32_t rows,
                          int lines)
{
    const sx_view *v = &ap->v;

    if (lines)
        F(fill_top)(ap);

    for (uint32_t base = (uint32_t)SX_THREAD - SX_LANE, n = (uint32_t)ap->n; base < n;
         base += (uint32_t)SX_THREADS) {
        uint32_t i = base + SX_LANE < n ? base + SX_LANE : n - 1, unit = ap->unit, fraction, at;
        int all, left = 0, right = 0, on = 1;
        KEY q = F(read_query)(ap->key_type, ap->q, i), w = F(walked)(ap, q, &all);
        uint64_t count, start, rank, row = SX_MISS;
        F(leaf) leaf, behind;     /* behind: the unit to the right of where it ended */
        behind.below = behind.equal = 0;
        behind.row = SX_MISS;
        if (lines) {
            start = F(pgm_segment_near)(v, w, SX_SHARED, ap->top_bytes);
            start = F(pgm_window)(v, start, w, &count);
            fraction = 1u << 31;
        } else {
            start = F(guide_window)(v, F(guide_bucket)(v, w, v->piece_keys, &fraction), &count);
        }
        at = (uint32_t)F(guide_guess)(v, w, start, count, fraction, unit);
        for (;;) {                /* as guide_finish() does, all lanes at once */
            leaf = F(read_leaf)(ap, at, w, lanes, twice, rows);
            rank = (uint64_t)at * unit;
            on = 0;
            if (leaf.below == unit && rank + unit < start + count && !left)
                on = right = 1;
            else if (leaf.below == 0 && rank > start && !right)
                on = left = 1;
            if (on && left)
                behind = leaf;
            if (!SX_ANY(on))
                break;
            at += on ? (right ? 1u : ~0u) : 0u;
        }
        rank = sx_min64(rank + leaf.below, v->n);
        if (left && leaf.below == unit)   /* the bound is the first key there */
            leaf = behind;
        if (ap->op == SX_OP_RANK_LEFT || ap->op == SX_OP_RANK_RIGHT) {
            sx_put_result(ap->out, ap->out_bytes, i, all ? v->n : rank);
            continue;
        }
        if (ap->op == SX_OP_GET && !leaf.equal)
            rank = v->n;
        else if (ap->op == SX_OP_FLOOR)
            rank = (all ? v->n : rank) - 1;       /* 0 - 1 is past the end */
        if (rank < v->n && ap->out)
            row = ap->op == SX_OP_GET && rows ? leaf.row : sx_row_at(v, rank, rank);
        F(put)(ap, i, row, rank < v->n ? rank : SX_NO_SLOT);
    }
}

/* Kernels by how leaves are read: k_shared_W_LANES_TWICE_ROWS, k_guided_..., k_lines_... .
 * Each has only what it needs, and so few registers that a multiprocessor is
 * full. */
#define SX_SHARED_KERNEL(lanes, twice, rows)                                              \
    SX_KERNEL_2048(NAME5(k_shared, W, lanes, NAME3(twice, rows)), sx_gpu_lookup)          \
    {                                                                                     \
        F(ask_shared)(ap, lanes, twice, rows);                                            \
    }                                                                                     \
    SX_KERNEL_1536(NAME5(k_guided, W, lanes, NAME3(twice, rows)), sx_gpu_lookup)          \
    {                                                                                     \
        F(ask_window)(ap, lanes, twice, rows, 0);                                         \
    }                                                                                     \
    SX_KERNEL_1536(NAME5(k_lines, W, lanes, NAME3(twice, rows)), sx_gpu_lookup)           \
    {                                                                                     \
        F(ask_window)(ap, lanes, twice, rows, 1);                                         \
    }
SX_SHARED_KERNEL(4, 0, 0)
SX_SHARED_KERNEL(8, 0, 0)
SX_SHARED_KERNEL(8, 1, 0)
SX_SHARED_KERNEL(4, 0, 4)
SX_SHARED_KERNEL(8, 0, 4)
SX_SHARED_KERNEL(8, 1, 4)
SX_SHARED_KERNEL(8, 0, 8)
SX_SHARED_KERNEL(8, 1, 8)
#undef SX_SHARED_KERNEL

/* ---- lanes that search together ------------------------------------------------------------- */

/* The lanes of this lane's group, of `lanes`, where pred holds. */
SX_DEV unsigned F(group_count)(int pred, unsigned lanes)
{
    unsigned all = SX_BALLOT(pred) >> (SX_LANE & ~(lanes - 1));

    return SX_POPC(lanes == 32 ? all : all & ((1u << lanes) - 1));
}

/* Keys below w among m, key j at keys + sx_key_offset(first + j), or at
 * keys + j * W where `flat`. */
SX_DEV unsigned F(group_node)(const sx_view *v, const unsigned char *keys, int flat, uint64_t first,
                              uint32_t m, KEY w, unsigned lanes)
{
    unsigned below = 0;

    for (uint32_t j = SX_LANE & (lanes - 1); j - (SX_LANE & (lanes - 1)) < m; j += lanes) {
        int less = 0;
        if (j < m)
            less = *(const KEY *)(const void *)(keys + (flat ? j * (uint64_t)W
                                                             : sx_key_offset(v, first + j))) < w;
        below += F(group_count)(less, lanes);
    }
    return below;
}

/* From a window to one unit: each lane looks at the end of a part of it. The
 * parts are those of the longest window any group of the warp has, so that
 * all take as many steps. */
SX_DEV uint64_t F(group_window)(const sx_view *v, uint64_t at, uint64_t len, KEY w, uint32_t unit,
                                unsigned lanes)
{
    uint64_t longest = len;

    while (longest > 1) {
        uint64_t part = (longest + lanes) / (lanes + 1);
        uint64_t end = ((SX_LANE & (lanes - 1)) + 1) * part;
        unsigned c;
        int less = 0;
        if (end < len)
            less = *(const KEY *)(const void *)(F(pivot_unit)(v, at + end - 1, unit) +
                                                (unit - 1) * W) < w;
        c = F(group_count)(less, lanes);
        at += c * part;
        len = len - c * part < part ? len - c * part : part;
        longest = part;
    }
    return at;
}

SX_DEV uint64_t F(group_bound)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    const sx_view *v = &ap->v;
    uint32_t unit = ap->unit, lanes = ap->lanes;
    uint64_t at = 0, len, rank;

    *slot = SX_NO_SLOT;
    if (v->n == 0)
        return 0;
    if (v->family == SX_FAM_GUIDE || v->family == SX_FAM_PGM)     /* nothing to share: all lanes do the same */
        return F(bound_near)(v, w, slot, unit, 0, 0);
    if (v->family == SX_FAM_EYTZ) {
        for (uint32_t t = 0; t < v->levels; t++) {
            uint64_t first = F(eytz_first)(v, t, at, unit);
            at = F(eytz_down)(v, first, at,
                              F(group_node)(v, v->keys, 0, first, v->k - 1, w, lanes), slot, unit);
        }
        if (v->bottom == 0)
            return at;
        return F(eytz_end)(v, at, F(group_node)(v, v->keys, 0, F(eytz_last)(v, at, unit), v->k - 1,
                                                w, lanes),
                           slot, unit);
    }
    for (uint32_t l = 0; l < v->levels; l++)
        at = F(pivot_child)(v, at, F(group_node)(v, F(pivot_node)(v, l, at, unit), 1, 0, v->k - 1,
                                                 w, lanes),
                            F(pivot_last_child)(v, l), unit);
    len = F(pivot_window)(v, unit);
    at = F(group_window)(v, F(pivot_begin)(v, at, len, unit), len, w, unit, lanes);
    rank = F(pivot_rank)(v, at, F(group_node)(v, F(pivot_unit)(v, at, unit), 1, 0, unit, w, lanes),
                         unit);
    *slot = rank < v->n ? rank : SX_NO_SLOT;
    return rank;
}

SX_KERNEL_2048(F(k_group), sx_gpu_lookup)
{
    unsigned lanes = ap->lanes;
    uint64_t groups = SX_THREADS / lanes;

    for (uint64_t first = (SX_THREAD - SX_LANE) / lanes; first < ap->n; first += groups) {
        uint64_t i = first + SX_LANE / lanes, slot, rank, number;
        int live = i < ap->n, all;
        KEY q = F(read_key)(ap->key_type, ap->q, live ? i : ap->n - 1), w = F(walked)(ap, q, &all);
        rank = F(group_bound)(ap, w, &slot);
        if (live && (SX_LANE & (lanes - 1)) == 0) {
            number = F(number)(ap, q, all, rank, &slot, 0);
            F(put)(ap, i, number, slot);
        }
    }
}

/* ---- questions that ascend --------------------------------------------------------------------- */

/* The walk where it is rare: a call, which leaves the registers to the rest. */
SX_DEV_FAR uint64_t F(bound_far)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    return F(bound_near)(&ap->v, w, slot, ap->unit, 0, 0);
}

/* `count` keys from slot `from` on into shared memory, both multiples of what
 * 16 bytes hold. */
SX_DEV void F(fill_window)(const sx_view *v, KEY *window, uint64_t from, uint32_t count)
{
    uint32_t per = 16 / W;

    if (!v->block || (v->block % per == 0 && v->block_bytes % 16 == 0)) {
        SX_UNROLL_BY_4
        for (uint32_t i = SX_TID * per; i < count; i += SX_BLOCK_THREADS * per)
            *(uint4 *)(void *)(window + i) = sx_load16(v->keys + sx_key_offset(v, from + i));
    } else {
        for (uint32_t i = SX_TID; i < count; i += SX_BLOCK_THREADS)
            window[i] = F(slot_key)(v, from + i);
    }
}

/* A block takes tiles of questions that follow each other. What the last
 * question of one tile found is where the next one begins: from there on as
 * many keys as the tile before needed, and some more, are read into shared
 * memory, side by side, and searched there. A question that falls outside
 * (since questions do not ascend, or leap) is walked from the top.
 *
 * Shared memory: where the next tile begins, then the window's keys. */
SX_KERNEL_1536(F(k_ascending), sx_gpu_lookup)
{
    const sx_view *v = &ap->v;
    uint64_t *next = (uint64_t *)(void *)SX_SHARED;
    KEY *window = (KEY *)(void *)(SX_SHARED + SX_WINDOW_HEAD);
    uint32_t n = (uint32_t)ap->n, tile = SX_BLOCK_THREADS * ap->each, tiles = (n - 1) / tile + 1;
    uint32_t mine = (tiles - 1) / SX_BLOCKS + 1, t = SX_BLOCK * mine, per = 16 / W;
    uint32_t stop = t + mine < tiles ? t + mine : tiles, first = t;
    uint64_t from = 0, span = 0;

    for (; t < stop; t++) {
        uint32_t begin = t * tile, end = n - begin < tile ? n : begin + tile, count;
        uint64_t slot;
        int all;
        if (t == first) {         /* both ends from the top */
            if (SX_TID == 0 || SX_TID == SX_BLOCK_THREADS - 1) {
                KEY q = F(read_key)(ap->key_type, ap->q, SX_TID == 0 ? begin : end - 1);
                next[SX_TID != 0] = F(bound_far)(ap, F(walked)(ap, q, &all), &slot);
            }
            SX_BARRIER();
            from = next[0];
            span = next[1] > from ? next[1] - from : 0;
        }
        /* a piece before, so that its first key is below what is asked */
        from = from / per * per;
        from -= from > 0 ? per : 0;
        count = span >= ap->window ? 0 : (uint32_t)sx_min64(2 * span + 64, ap->window) / per * per;
        count = (uint32_t)sx_min64(count, v->slots - from);
        F(fill_window)(v, window, from, count);
        SX_BARRIER();
        for (uint32_t i = begin + SX_TID; i < end; i += SX_BLOCK_THREADS) {
            KEY q = F(read_key)(ap->key_type, ap->q, i), w = F(walked)(ap, q, &all);
            uint64_t rank, number;
            int near = count > 0 && (from == 0 || window[0] < w) &&
                       (from + count >= v->n || w <= window[count - 1]);
            if (near) {
                uint32_t at = 0, len = count;
                while (len > 0) {
                    uint32_t half = len / 2;
                    int right = window[at + half] < w;
                    at = right ? at + half + 1 : at;
                    len = right ? len - half - 1 : half;
                }
                rank = sx_min64(from + at, v->n);
                slot = rank < v->n ? rank : SX_NO_SLOT;
                if (ap->op == SX_OP_GET && (at >= count || window[at] != q))
                    slot = SX_NO_SLOT;
            } else {
                rank = F(bound_far)(ap, w, &slot);
            }
            if (i == end - 1)
                next[0] = rank;
            number = F(number)(ap, q, all, rank, &slot, near);
            F(put)(ap, i, number, slot);
        }
        SX_BARRIER();
        span = next[0] > from ? next[0] - from : 0;
        from = next[0];
    }
}
