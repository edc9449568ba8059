/* gpu_line_impl.h - lanes that read lines together, for families whose nodes and leaves are lines
 * of 64 bytes, one width of key. Behind gpu_leaf_impl.h. With SX_LINE_KERNELS, behind the family's
 * F(ask_shared)(ap, rows, get): the kernels.
 *
 * Neighbouring lanes have a question each and read the lines of all of them together, 16 bytes
 * at a time side by side. So each line is asked for in whole sectors, and once. */
#ifndef SX_LINE_KERNELS

#define SX_LINE_BYTES 64u

/* Each lane is at a line of `lines` and wants its keys below its own w; ws: the keys of the `lanes`
 * (1, 2, 4) that read together, in their order. What each lane counts for the others they add
 * up in one number. */
SX_DEV uint32_t F(count_lines)(const unsigned char *lines, uint32_t line, const KEY *ws,
                               unsigned lanes)
{
    unsigned me = SX_LANE & (lanes - 1), counts = 0;
    uint4 x[4];

    SX_UNROLL
    for (unsigned t = 0; t < lanes; t++) {
        uint32_t its = SX_SHUFFLE(line, SX_LANE - me + t);
        const unsigned char *p = lines + (uint64_t)its * SX_LINE_BYTES + me * 16;
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

/* The same by each lane alone, in shared memory or not. */
SX_DEV uint32_t F(count_alone)(const unsigned char *line, KEY w)
{
    const KEY *keys = (const KEY *)(const void *)line;
    uint32_t c = 0;

    SX_UNROLL
    for (uint32_t j = 0; j < SX_LINE_BYTES / W; j++)
        c += keys[j] < w;
    return c;
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

/* The leaf's line of each lane, number `at` of `leaves`, read by fours; the lines of `turns` turns,
 * 1 or 2, are asked for before the first is needed. The rest are constants: keys of a line; bytes
 * of a row in it, 0 if there are none; the byte where rows begin. whole: no 16 bytes have keys
 * and others, whatever the rows. */
SX_DEV F(leaf) F(read_line)(const unsigned char *leaves, uint32_t at, KEY w, uint32_t keys,
                            uint32_t rows, uint32_t rows_at, int whole, unsigned turns)
{
    unsigned me = SX_LANE & 3, first = SX_LANE - me;
    int mine_too = me * 16 < keys * W, some = (int)keys - (int)me * (16 / W);   /* my keys */
    F(leaf) mine;

    mine.below = mine.equal = 0;
    mine.row = mine.row_high = ~0u;
    SX_UNROLL
    for (unsigned part = 0; part < 4; part += turns) {
        uint4 x[2];
        uint32_t sum = 0;
        SX_UNROLL
        for (unsigned t = 0; t < turns; t++) {
            uint32_t its = SX_SHUFFLE(at, first + part + t);
            x[t] = sx_load16_once(leaves + (uint64_t)its * SX_LINE_BYTES + me * 16);
        }
        SX_UNROLL
        for (unsigned t = 0; t < turns; t++) {
            KEY key = F(shuffle_key)(w, first + part + t);
            if (!whole)
                sum += F(compare_some)(x[t], key, some) << 16 * t;
            else if (mine_too)
                sum += (F(count_16)(x[t], key) + (F(equal_16)(x[t], key) << 8)) << 16 * t;
        }
        sum += SX_SHUFFLE_XOR(sum, 1);
        sum += SX_SHUFFLE_XOR(sum, 2);
        SX_UNROLL
        for (unsigned t = 0; t < turns; t++) {
            uint32_t below = sum >> 16 * t & 255;
            if (rows > 0) {
                /* the row's place, and the number that each lane has there */
                uint32_t byte = rows_at + below * rows;
                uint64_t row = F(word_of)(x[t], byte, rows);
                unsigned from = first + (byte / 16 & 3);
                F(take_row)(&mine, row, from, rows, part + t == me);
            }
            if (part + t == me) {
                mine.below = below;
                mine.equal = sum >> (16 * t + 8) & 255;
            }
        }
    }
    return mine;
}

#else

/* Kernels by bytes of rows in a line: k_shared_W_ROWS, and k_shared_get_W_ROWS
 * (GPU_LAUNCH_LINES()). Those of wide keys need more registers (habits()). */
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

#endif
