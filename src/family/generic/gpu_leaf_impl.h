/* gpu_leaf_impl.h - neighbouring lanes that read leaves together, for one width of key,
 * so that bytes are asked for once, and side by side. Behind gpu_points_impl.h. */

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

/* What a leaf says about the lane's question. */
typedef struct {
    uint32_t below, equal;        /* of its keys */
    uint32_t row, row_high;       /* pairs: of the key at `below` */
} F(leaf);

/* The bytes [at, at + bytes) of 16, bytes 4 or 8, as a number. */
SX_DEV uint64_t F(word_of)(uint4 x, uint32_t at, uint32_t bytes)
{
    uint32_t low = at & 8 ? (at & 4 ? x.w : x.z) : (at & 4 ? x.y : x.x);

    return bytes == 4 ? low : low | (uint64_t)(at & 8 ? x.w : x.y) << 32;
}

/* Lane `from` has the row of the lane whose turn it is, my_turn, which takes it. rows: its bytes. */
SX_DEV void F(take_row)(F(leaf) *mine, uint64_t row, unsigned from, uint32_t rows, int my_turn)
{
    uint32_t low = SX_SHUFFLE((uint32_t)row, from);
    uint32_t high = rows == 8 ? SX_SHUFFLE((uint32_t)(row >> 32), from) : 0;

    mine->row = my_turn ? low : mine->row;
    mine->row_high = my_turn ? high : mine->row_high;
}

/* Each lane has a leaf, or none (SX_NO_LEAF). `lanes` lanes read the leaf of each of
 * them in turn, side by side, 16 bytes each, once or (twice) two times. The leaves of
 * `turns` turns, 1 to 4, are asked for before the first is needed. rows: bytes of a row
 * behind the keys; 0: there are none.
 *
 * The lanes add up what they find, keys below and keys equal, for these turns at once,
 * in numbers of few bits: 4 for each if a leaf has at most 8 keys, otherwise 8. */
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
            a[t] = b[t] = none;
            if (rows == 0 && lanes <= 4) {
                /* Lanes without a leaf, or past its end, read some bytes that don't count: if
                 * some lanes did not read, each read would wait for the one before. */
                p = SX_GPU_VIEW(&ap->views)->keys + its;
                a[t] = sx_load16_once(p + (me * 16 < ap->leaf_bytes ? me * 16 : 0));
                continue;
            }
            p = SX_GPU_VIEW(&ap->views)->keys + its + me * 16;
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
                F(take_row)(&mine, row, from, rows, part + t == me);
            }
            if (part + t == me) {
                mine.below = below;
                mine.equal = counts >> bits & ((1u << bits) - 1);
            }
        }
    }
    return mine;
}

/* Answers question i by the leaf that holds the bound, or would hold it. end: see
 * gpu_side_impl.h. Slots are positions. */
SX_DEV void F(answer)(const sx_gpu_lookup *ap, uint32_t i, uint64_t at, int end, F(leaf) leaf,
                      uint32_t rows)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    uint64_t row = SX_MISS;

    if (ap->op == SX_OP_RANK_LEFT || ap->op == SX_OP_RANK_RIGHT) {
        sx_put_result(ap->out, ap->out_bytes, i, sx_rank_at(v, F(bounded)(v, end, at)));
        return;
    }
    if (ap->op == SX_OP_GET && !leaf.equal)
        at = v->n;
    else if (ap->op == SX_OP_FLOOR)
        at = F(bounded)(v, end, at) - 1;          /* 0 - 1 is past the end */
    if (at < v->n && ap->out)
        row = ap->op == SX_OP_GET && rows ? leaf.row | (uint64_t)leaf.row_high << 32
                                          : sx_row_of(v, at, at, ap->op == SX_OP_FLOOR);
    F(put)(ap, i, row, at < v->n ? at : SX_NO_SLOT);
}
