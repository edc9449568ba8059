/* cpu_side_impl.h - F(bounds) of a family (sx_bounds_fn) for one width and one instruction set.
 * It stands behind the family's F(left_bounds), which takes no side and finds left bounds.
 *
 * Keys of a fixed width have successors. So their walks need not know a side: the right bound
 * of a key is the left bound of its successor, and that of the largest key, which has none, is
 * the end. This is the one place on a CPU that says so. A family whose keys have no successors
 * compares by the side, and has an F(bounds) of its own. */

/* The largest key stays as it is. */
SX_WALK void F(successors)(const KEY *q, unsigned m, KEY *next)
{
    for (unsigned i = 0; i < m; i++)
        next[i] = (KEY)(q[i] + (q[i] != (KEY)~(KEY)0));
}

/* Not inlined, so that left bounds take no stack for successors. */
TARGET static __attribute__((noinline)) void
F(right_bounds)(const sx_view *v, const void *queries, unsigned m, const sx_state *entry,
                uint64_t *rank, uint64_t *slot, int rows)
{
    const KEY *q = queries;
    _Alignas(64) KEY next[SX_CHUNK];

    if (m == 0)
        return;
    F(successors)(q, m, next);
    F(left_bounds)(v, next, m, entry, rank, slot, rows);
    for (unsigned i = 0; i < m; i++) {
        if (q[i] != (KEY)~(KEY)0)
            continue;
        rank[i] = v->n;
        if (slot)
            slot[i] = SX_NO_SLOT;
    }
}

TARGET static void F(bounds)(const sx_view *v, const void *q, unsigned m, sx_side side,
                             const sx_state *entry, uint64_t *rank, uint64_t *slot, int rows)
{
    if (side == SX_LEFT)
        F(left_bounds)(v, q, m, entry, rank, slot, rows);
    else
        F(right_bounds)(v, q, m, entry, rank, slot, rows);
}
