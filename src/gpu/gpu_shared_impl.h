/* gpu_shared_impl.h - kernels in which neighbouring lanes read together, for one
 * width of key: their bytes are asked for once, and side by side.
 *
 *   k_shared     nodes and leaves of pivots
 *   k_guided     leaves under a guide
 *   k_lines      leaves under lines (pgm)
 *
 * Parameters as in gpu_walk_impl.h; gpu_points_impl.h comes before. */

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
    const unsigned char *half = ap->v.of.pivot.pivots + (SX_LANE & 1) * (bytes / 2);
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

    for (uint32_t l = 0; l < ap->v.of.pivot.levels; l++) {
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
    uint32_t below, equal;        /* of its keys */
    uint32_t row, row_high;       /* pairs: behind the key at `below` */
} F(leaf);

/* The bytes [at, at + bytes) of 16, bytes 4 or 8, as a number. */
SX_DEV uint64_t F(word_of)(uint4 x, uint32_t at, uint32_t bytes)
{
    uint32_t low = at & 8 ? (at & 4 ? x.w : x.z) : (at & 4 ? x.y : x.x);

    return bytes == 4 ? low : low | (uint64_t)(at & 8 ? x.w : x.y) << 32;
}

/* Each lane has a leaf, or (SX_NO_LEAF) none. `lanes` of them read the leaf of
 * each in turn, 16 bytes at a time side by side, once or (twice) two times; the
 * leaves of `turns` turns, 1 to 4, are asked for before the first is needed. rows:
 * bytes of a row behind the keys; 0: there are none.
 *
 * What the lanes find, keys below and keys equal, they add up for these turns at
 * once, in numbers of few bits: 4 of each where a leaf has at most 8 keys, else 8. */
#define SX_NO_LEAF (~0u)

SX_DEV F(leaf) F(read_leaf)(const sx_gpu_lookup *ap, uint32_t leaf, KEY w, unsigned lanes, int twice,
                            uint32_t rows, unsigned turns)
{
    unsigned me = SX_LANE & (lanes - 1), first = SX_LANE - me;
    unsigned bits = lanes <= 4 && rows ? 4 : 8;
    uint32_t key_bytes = ap->leaf_key_bytes;
    F(leaf) mine;

    mine.below = mine.equal = 0;
    mine.row = mine.row_high = ~0u;
    SX_UNROLL
    for (unsigned part = 0; part < lanes; part += turns) {
        uint4 a[4], b[4];
        uint32_t sum[2] = {0, 0};
        SX_UNROLL
        for (unsigned t = 0; t < turns; t++) {
            uint32_t number = SX_SHUFFLE(leaf, first + part + t);
            uint64_t its = (uint64_t)number * ap->leaf_step;
            uint4 none = {0, 0, 0, 0};
            const unsigned char *p;
            if (rows == 0)        /* blocks are whole, an array may end sooner */
                its = its < ap->leaf_latest ? its : ap->leaf_latest;
            p = ap->v.keys + its + me * 16;
            a[t] = b[t] = none;
            if (number != SX_NO_LEAF && me * 16 < ap->leaf_bytes)
                a[t] = sx_load16_once(p);
            if (number != SX_NO_LEAF && twice && (me + lanes) * 16 < ap->leaf_bytes)
                b[t] = sx_load16_once(p + lanes * 16);
        }
        SX_UNROLL
        for (unsigned t = 0; t < turns; t++) {
            KEY key = F(shuffle_key)(w, first + part + t);
            unsigned counts = 0;
            if (me * 16 < key_bytes)
                counts = F(count_16)(a[t], key) + (F(equal_16)(a[t], key) << bits);
            if (twice && (me + lanes) * 16 < key_bytes)
                counts += F(count_16)(b[t], key) + (F(equal_16)(b[t], key) << bits);
            sum[t * bits / 16] += counts << (t * bits * 2 & 31);
        }
        SX_UNROLL
        for (unsigned s = 1; s < lanes; s *= 2) {
            sum[0] += SX_SHUFFLE_XOR(sum[0], s);
            if (turns * bits > 16)
                sum[1] += SX_SHUFFLE_XOR(sum[1], s);
        }
        SX_UNROLL
        for (unsigned t = 0; t < turns; t++) {
            uint32_t counts = sum[t * bits / 16] >> (t * bits * 2 & 31);
            uint32_t below = counts & ((1u << bits) - 1);
            if (rows > 0) {
                /* the row's place, and the number that each lane has there */
                uint32_t at = key_bytes + below * rows;
                uint64_t row = F(word_of)(twice && at >= lanes * 16 ? b[t] : a[t], at, rows);
                unsigned from = first + (at / 16 & (lanes - 1));
                uint32_t low = SX_SHUFFLE((uint32_t)row, from);
                uint32_t high = rows == 8 ? SX_SHUFFLE((uint32_t)(row >> 32), from) : 0;
                mine.row = part + t == me ? low : mine.row;
                mine.row_high = part + t == me ? high : mine.row_high;
            }
            if (part + t == me) {
                mine.below = below;
                mine.equal = counts >> bits & ((1u << bits) - 1);
            }
        }
    }
    return mine;
}

/* Answers question i by the leaf that holds the bound, or is where it would be. */
SX_DEV void F(answer)(const sx_gpu_lookup *ap, uint32_t i, uint64_t rank, int all, F(leaf) leaf,
                      uint32_t rows)
{
    const sx_view *v = &ap->v;
    uint64_t row = SX_MISS;

    if (ap->op == SX_OP_RANK_LEFT || ap->op == SX_OP_RANK_RIGHT) {
        sx_put_result(ap->out, ap->out_bytes, i, all ? v->n : rank);
        return;
    }
    if (ap->op == SX_OP_GET && !leaf.equal)
        rank = v->n;
    else if (ap->op == SX_OP_FLOOR)
        rank = (all ? v->n : rank) - 1;           /* 0 - 1 is past the end */
    if (rank < v->n && ap->out)
        row = ap->op == SX_OP_GET && rows ? leaf.row | (uint64_t)leaf.row_high << 32
                                          : sx_row_at(v, rank, rank);
    F(put)(ap, i, row, rank < v->n ? rank : SX_NO_SLOT);
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
        uint64_t rank;
        int all;
        KEY q = F(read_query)(ap->key_type, ap->q, i), w = F(walked)(ap, q, &all);
        KEY other = F(shuffle_key)(w, SX_LANE ^ 1);
        uint32_t at = ap->node_bytes == 32 ? F(shared_levels)(ap, w, other, 32)
                                           : F(shared_levels)(ap, w, other, 64);
        F(leaf) leaf = F(read_leaf)(ap, at, w, lanes, twice, rows, 1);
        rank = (uint64_t)at * v->of.pivot.leaf;
        if (rows == 0)            /* the last leaf begins early enough to be whole */
            rank = sx_min64(rank, v->slots - v->of.pivot.leaf);
        F(answer)(ap, i, sx_min64(rank + leaf.below, v->n), all, leaf, rows);
    }
}

/* A guide's window for w, in units [*from, *to), and which of them to look at
 * first. Buckets have 32-bit numbers (gpu_shared_args()). */
SX_DEV uint32_t F(find_bucket)(const sx_gpu_lookup *ap, KEY w, uint32_t *from, uint32_t *to)
{
    const sx_view *v = &ap->v;
    uint32_t fraction, count, shift = sx_log2(ap->unit), last = (uint32_t)((v->slots - 1) >> shift);
    uint32_t bucket = (uint32_t)F(guide_bucket)(v, w, &fraction);
    uint32_t record = bucket / SX_GUIDE_BUCKETS, at;
    uint64_t start = F(record_window)(v->of.guide.records + (uint64_t)record * SX_GUIDE_RECORD,
                                       bucket - record * SX_GUIDE_BUCKETS, &count);

    if (count == SX_GUIDE_CROWDED) {
        uint64_t keys;
        start = F(guide_window)(v, bucket, &keys);
        *from = (uint32_t)(start >> shift);
        *to = (uint32_t)((start + keys + ap->unit - 1) >> shift);
        return (uint32_t)F(guide_guess)(v, w, start, keys, fraction, ap->unit);
    }
    at = (uint32_t)((start + ((uint64_t)count * fraction >> 32)) >> shift);
    *from = (uint32_t)(start >> shift);
    *to = (uint32_t)((start + count + ap->unit - 1) >> shift);
    *to = *to < last + 1 ? *to : last + 1;
    return at < last ? at : last;
}

/* The same under lines. */
SX_DEV uint32_t F(find_lines)(const sx_gpu_lookup *ap, KEY w, uint32_t *from, uint32_t *to)
{
    const sx_view *v = &ap->v;
    uint32_t shift = sx_log2(ap->unit);
    uint64_t count;
    uint64_t start = F(pgm_window)(v, F(pgm_segment_near)(v, w, SX_SHARED, ap->top_bytes), w, &count);

    *from = (uint32_t)(start >> shift);
    *to = (uint32_t)((start + count + ap->unit - 1) >> shift);
    return (uint32_t)(sx_min64(start + count / 2, v->slots - 1) >> shift);
}

/* For a guide, or (lines) a pgm: each lane finds its window by itself, lanes
 * read the unit that is guessed for each in turn. Where the bound is not in it,
 * they go on in what is left of the window: under a guide, whose guesses are
 * close, to the next unit, SX_GUIDE_NEXT times; then, and under lines, to the middle.
 * Among distinct keys one equal to the query is the bound, what is before it need not
 * be looked at.
 *
 * get: SX_OP_GET with rows and without keys, what is asked most and can do with
 * the fewest registers. */
SX_DEV void F(ask_window)(const sx_gpu_lookup *ap, unsigned lanes, int twice, uint32_t rows,
                          int lines, int get)
{
    const sx_view *v = &ap->v;

    F(fill_top)(ap);
    for (uint32_t base = (uint32_t)SX_THREAD - SX_LANE, n = (uint32_t)ap->n; base < n;
         base += (uint32_t)SX_THREADS) {
        uint32_t i = base + SX_LANE < n ? base + SX_LANE : n - 1, unit = ap->unit;
        uint32_t at, from, to;    /* units of the window */
        int all = 0, on = 1;
        KEY w = F(read_query)(ap->key_type, ap->q, i);
        F(leaf) leaf;             /* the one that begins with the bound, or has it; below
                                     is of the last one read, unit `at` */
        if (!get)
            w = F(walked)(ap, w, &all);
        at = lines ? F(find_lines)(ap, w, &from, &to) : F(find_bucket)(ap, w, &from, &to);
        leaf.below = leaf.equal = leaf.row = leaf.row_high = 0;
        for (uint32_t turn = 1;; turn++) {
            F(leaf) next = F(read_leaf)(ap, on ? at : SX_NO_LEAF, w, lanes, twice, rows,
                                        twice ? 2 : 4);
            if (on && next.below == unit) {       /* the bound is behind it */
                leaf.below = unit;
                from = at + 1;
            } else if (on) {
                leaf = next;
                if (next.below == 0 && !(v->distinct && next.equal))
                    to = at;
                else
                    from = to;
            }
            on = on && from < to;
            if (!SX_ANY(on))
                break;
            if (on)
                at = lines || turn > SX_GUIDE_NEXT ? from + (to - from) / 2
                     : from > at ? from : to - 1;
        }
        if (get) {                /* unused slots have a row that matches nothing */
            int miss = !leaf.equal || (rows == 4 && leaf.row == SX_MISS32);
            sx_put_result(ap->out, ap->out_bytes, i,
                          miss ? SX_MISS : leaf.row | (uint64_t)leaf.row_high << 32);
        } else {
            F(answer)(ap, i, sx_min64((uint64_t)at * unit + leaf.below, v->n), all, leaf, rows);
        }
    }
}

/* Kernels by how leaves are read: k_shared_W_LANES_TWICE_ROWS, k_guided_... and
 * k_lines_..., and of these k_guided_get_..., k_lines_get_... . Each has only what
 * it needs, and so few registers that a multiprocessor is full. */
#define SX_SHARED_KERNEL(lanes, twice, rows)                                              \
    SX_KERNEL_2048(NAME5(k_shared, W, lanes, NAME3(twice, rows)), sx_gpu_lookup)          \
    {                                                                                     \
        F(ask_shared)(ap, lanes, twice, rows);                                            \
    }                                                                                     \
    SX_KERNEL_1536(NAME5(k_guided, W, lanes, NAME3(twice, rows)), sx_gpu_lookup)          \
    {                                                                                     \
        F(ask_window)(ap, lanes, twice, rows, 0, 0);                                      \
    }                                                                                     \
    SX_KERNEL_1536(NAME5(k_lines, W, lanes, NAME3(twice, rows)), sx_gpu_lookup)           \
    {                                                                                     \
        F(ask_window)(ap, lanes, twice, rows, 1, 0);                                      \
    }
#define SX_GET_KERNEL(lanes, twice, rows)                                                 \
    SX_KERNEL_1536(NAME5(k_guided_get, W, lanes, NAME3(twice, rows)), sx_gpu_lookup)      \
    {                                                                                     \
        F(ask_window)(ap, lanes, twice, rows, 0, 1);                                      \
    }                                                                                     \
    SX_KERNEL_1536(NAME5(k_lines_get, W, lanes, NAME3(twice, rows)), sx_gpu_lookup)       \
    {                                                                                     \
        F(ask_window)(ap, lanes, twice, rows, 1, 1);                                      \
    }
SX_SHARED_KERNEL(4, 0, 0)
SX_SHARED_KERNEL(8, 0, 0)
SX_SHARED_KERNEL(8, 1, 0)
SX_SHARED_KERNEL(4, 0, 4)
SX_SHARED_KERNEL(8, 0, 4)
SX_SHARED_KERNEL(8, 1, 4)
SX_SHARED_KERNEL(8, 0, 8)
SX_SHARED_KERNEL(8, 1, 8)
SX_GET_KERNEL(2, 1, 4)
SX_GET_KERNEL(4, 0, 4)
SX_GET_KERNEL(8, 0, 4)
SX_GET_KERNEL(8, 0, 8)
#undef SX_GET_KERNEL
#undef SX_SHARED_KERNEL
