/* gpu_window_impl.h - kernels of a family that leads each question to a window of units,
 * for one width of key. Behind gpu_leaf_impl.h; SX_BESIDE, how many units beside a wrong
 * guess are looked at before the window is halved; and the family's
 *
 *   F(find_window)(ap, w, &from, &to)   the units [from, to) that the bound is in, or right
 *                                       behind; returns which of them to look at first */

/* Each lane finds its window by itself. Lanes read the unit that is guessed for each in
 * turn. If the bound is not in it, they go on in the rest of the window: SX_BESIDE times to
 * the unit beside it, then to the middle. Among distinct keys one equal to the query is the
 * bound, and keys before it need not be looked at.
 *
 * get: SX_OP_GET with rows and without keys. ranks: SX_OP_RANK_LEFT or _RIGHT. Both are
 * asked most and can do with fewer registers and instructions. */
SX_DEV void F(ask_window)(const sx_gpu_lookup *ap, unsigned lanes, int twice, uint32_t rows,
                          int get, int ranks)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    F(fill_top)(ap);
    /* Lanes past the last question ask it again: all must take part. */
    for (uint32_t i = (uint32_t)SX_THREAD, n = (uint32_t)ap->n; i - SX_LANE < n;
         i += (uint32_t)SX_THREADS) {
        uint32_t unit = ap->unit;
        uint32_t at, from, to;    /* units of the window */
        int end = 0, on = 1;
        KEY w = F(read_query)(ap->key_type, ap->q, i < n ? i : n - 1);
        F(leaf) leaf;             /* the leaf that begins with the bound, or has it; below
                                     is of the last leaf read, unit `at` */
        if (!get)
            w = F(walked)(w, sx_side_of(ap->op), &end);
        at = F(find_window)(ap, w, &from, &to);
        if (end) {                /* no unit is read: the bound is behind all */
            at = SX_NO_LEAF;
            on = 0;
        }
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
                at = turn > SX_BESIDE ? from + (to - from) / 2 : from > at ? from : to - 1;
        }
        if (i >= n)
            continue;
        if (get) {                /* unused slots have a row that matches nothing */
            int miss = !leaf.equal || (rows == 4 && leaf.row == SX_MISS32);
            sx_put_result(ap->out, ap->out_bytes, i,
                          miss ? SX_MISS : leaf.row | (uint64_t)leaf.row_high << 32);
        } else if (ranks) {
            uint64_t rank = sx_min64((uint64_t)at * unit + leaf.below, v->n);
            sx_put_result(ap->out, ap->out_bytes, i, sx_rank_at(v, rank));
        } else {
            F(answer)(ap, i, sx_min64((uint64_t)at * unit + leaf.below, v->n), 0, leaf, rows);
        }
    }
}

/* Kernels by how leaves are read: k_window_W_LANES_TWICE_ROWS, k_window_get_... and
 * k_window_rank_W_LANES. Each has only what it needs, and so few registers that a
 * multiprocessor is full.
 *
 * A leaf is a unit: up to a line of keys, and their rows if they are in pairs. So it has at
 * most these bytes (and always, if keys have 16 bytes and rows 4, as a block has four of them):
 *     width    keys alone    rows of 4    rows of 8
 *       4          64           128          192
 *       8          64            96          128
 *      16          64            80           96
 * There are no other kernels than these need (gpu_launch.h). */
#define SX_WINDOW_KERNEL(lanes, twice, rows)                                              \
    SX_KERNEL_1536(NAME5(k_window, W, lanes, NAME3(twice, rows)), sx_gpu_lookup)          \
    {                                                                                     \
        F(ask_window)(ap, lanes, twice, rows, 0, 0);                                      \
    }
#define SX_GET_KERNEL(lanes, twice, rows)                                                 \
    SX_KERNEL_1536(NAME5(k_window_get, W, lanes, NAME3(twice, rows)), sx_gpu_lookup)      \
    {                                                                                     \
        F(ask_window)(ap, lanes, twice, rows, 1, 0);                                      \
    }
#define SX_RANK_KERNEL(lanes)                                                             \
    SX_KERNEL_1536(NAME3(k_window_rank, NAME3(W, lanes)), sx_gpu_lookup)                  \
    {                                                                                     \
        F(ask_window)(ap, lanes, 0, 0, 0, 1);                                             \
    }
SX_WINDOW_KERNEL(4, 0, 0)
SX_WINDOW_KERNEL(8, 0, 4)
SX_WINDOW_KERNEL(8, 0, 8)
SX_GET_KERNEL(8, 0, 4)
SX_GET_KERNEL(8, 0, 8)
SX_RANK_KERNEL(4)
#if W < 16
SX_WINDOW_KERNEL(4, 0, 4)
SX_GET_KERNEL(2, 1, 4)
SX_GET_KERNEL(4, 0, 4)
#endif
#if W == 4
SX_WINDOW_KERNEL(8, 1, 8)
#endif
#undef SX_RANK_KERNEL
#undef SX_GET_KERNEL
#undef SX_WINDOW_KERNEL
