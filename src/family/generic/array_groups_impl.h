/* array_groups_impl.h - F(left_bounds) of a family whose walks end in a sorted array: behind
 * array_cpu_impl.h and the family's own
 *
 *   F(descend)(v, q, m, entry, at, unit, rows)
 *
 * which leads m <= GROUP walks down to the unit that holds the bound, at[], and prefetches
 * it and, if they are wanted, its rows. entry: NULL, or where each walk goes on. */

/* A group is finished after the next one has gone down. By then the lines that it prefetched
 * have come. */
SX_WALK void F(groups)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                       uint64_t *rank, uint32_t unit, int rows)
{
    uint64_t at[2][GROUP];
    unsigned i = 0, before = 0, part;

    for (; i < m; before = i, i += part) {
        part = m - i < GROUP ? m - i : GROUP;
        F(descend)(v, q + i, part, entry ? entry + i : NULL, at[i / GROUP % 2], unit, rows);
        if (i > 0)
            F(finish_all)(v, q + before, GROUP, at[before / GROUP % 2], rank + before, unit, rows);
    }
    F(finish_all)(v, q + before, m - before, at[before / GROUP % 2], rank + before, unit, rows);
}

TARGET static void F(left_bounds)(const sx_view *v, const void *queries, unsigned m,
                                  const sx_state *entry, uint64_t *rank, uint64_t *slot, int rows)
{
    const KEY *q = queries;

    /* Constants: one comparison of a line, no test for entries. */
    if (v->unit == 64 / W && !entry)
        F(groups)(v, q, m, NULL, rank, 64 / W, rows);
    else if (v->unit == 64 / W)
        F(groups)(v, q, m, entry, rank, 64 / W, rows);
    else if (v->unit == 32 / W)
        F(groups)(v, q, m, entry, rank, 32 / W, rows);
    else if (!entry)
        F(groups)(v, q, m, NULL, rank, 1, rows);
    else
        F(groups)(v, q, m, entry, rank, 1, rows);
    for (unsigned i = 0; slot && i < m; i++)
        slot[i] = rank[i] < v->n ? rank[i] : SX_NO_SLOT;
}
