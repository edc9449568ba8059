/* eytzinger_walk_impl.h - the left bound in a k-ary tree in level order.
 *
 * Parameters as in array_walk_impl.h. The state is the node (within its level) and the slot of the
 * last key seen that is not below q.
 *
 * unit: v->unit. A driver may count a node's keys in its own way, between eytz_node() and
 * eytz_down(), and between eytz_last() and eytz_end(). */

SX_WALK uint64_t F(eytz_keys)(const sx_view *v, uint32_t unit)
{
    return unit ? unit : v->of.eytzinger.k - 1;
}

/* Where the node that starts at this slot lies, in bytes from the first node. */
SX_WALK uint64_t F(eytz_offset)(const sx_view *v, uint64_t slot, uint32_t unit)
{
    if (unit > 1)
        return (slot >> sx_log2(unit)) * (v->block ? v->block_bytes : unit * W);
    return unit == 1 ? slot * W : sx_key_offset(v, slot);
}

SX_WALK const unsigned char *F(eytz_node)(const sx_view *v, uint64_t slot, uint32_t unit)
{
    return v->keys + F(eytz_offset)(v, slot, unit);
}

/* How many keys of the node are below q. */
SX_WALK uint64_t F(eytz_count)(const sx_view *v, uint64_t slot, KEY q, uint32_t unit)
{
    const unsigned char *p = F(eytz_node)(v, slot, unit);
    uint64_t c = 0, m = v->of.eytzinger.k - 1;

    if (unit > 1)
        return SX_COUNT_UNIT(p, unit, q);
    if (unit == 1)
        return SX_LOAD(p) < q;
    if (!v->block || v->block % m == 0)           /* the node is in one piece */
        return SX_COUNT(p, (uint32_t)m, q);
    for (uint64_t j = 0; j < m; j++)
        c += SX_LOAD(v->keys + sx_key_offset(v, slot + j)) < q;
    return c;
}

/* The slot where node g of full level t starts. */
SX_WALK uint64_t F(eytz_first)(const sx_view *v, uint32_t t, uint64_t g, uint32_t unit)
{
    return v->of.eytzinger.level_first[t] + SX_TIMES(g, F(eytz_keys)(v, unit));
}

/* c keys of node g, which starts at slot `first`, are below q. Returns its child for q; *slot
 * follows. */
SX_WALK uint64_t F(eytz_down)(const sx_view *v, uint64_t first, uint64_t g, uint64_t c,
                              uint64_t *slot, uint32_t unit)
{
    uint64_t m = F(eytz_keys)(v, unit);

    *slot = sx_pick(c < m, first + c, *slot);
    return SX_TIMES(g, m + 1) + c;
}

SX_WALK uint64_t F(eytz_level)(const sx_view *v, uint32_t t, uint64_t g,
                               uint64_t *slot, KEY q, uint32_t unit)
{
    uint64_t first = F(eytz_first)(v, t, g, unit);

    return F(eytz_down)(v, first, g, F(eytz_count)(v, first, q, unit), slot, unit);
}

/* The slot where the node of gap g starts, if there are keys below the full levels (bottom > 0).
 * For a gap right of the bottom's end it is the bottom's first node, which is looked at in vain. */
SX_WALK uint64_t F(eytz_last)(const sx_view *v, uint64_t g, uint32_t unit)
{
    uint64_t before = SX_TIMES(g, F(eytz_keys)(v, unit));

    return v->of.eytzinger.level_first[v->of.eytzinger.levels] + sx_pick(before < v->of.eytzinger.bottom, before, 0);
}

/* c keys of that node are below q: the rank of the left bound, and its slot (SX_NO_SLOT: every key
 * is below q). */
SX_WALK uint64_t F(eytz_end)(const sx_view *v, uint64_t g, uint64_t c, uint64_t *slot,
                             uint32_t unit)
{
    uint64_t m = F(eytz_keys)(v, unit), first = v->of.eytzinger.level_first[v->of.eytzinger.levels], before = SX_TIMES(g, m);
    int in = before < v->of.eytzinger.bottom;

    c = sx_pick(before + c > v->of.eytzinger.bottom, v->of.eytzinger.bottom - before, c);   /* damaged padding */
    *slot = sx_pick(in & (c < m) & (before + c < v->of.eytzinger.bottom), first + before + c, *slot);
    return g + sx_pick(in, before + c, v->of.eytzinger.bottom);
}

SX_WALK uint64_t F(eytz_finish)(const sx_view *v, uint64_t g, uint64_t *slot,
                                KEY q, uint32_t unit)
{
    if (v->of.eytzinger.bottom == 0)
        return g;
    return F(eytz_end)(v, g, F(eytz_count)(v, F(eytz_last)(v, g, unit), q, unit), slot, unit);
}

/* ---- a walk that is cut between levels (state.h): the state at level l is the node there.
 * It knows no keys of the levels above. If no key below is at or above q, the bound's slot
 * follows from its rank. -------------------------------------------------------------------- */

/* Level l has k^l nodes, one more than there are keys above it. */
SX_WALK uint64_t F(eytz_enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return at < v->of.eytzinger.level_first[l] ? at : v->of.eytzinger.level_first[l];
}

SX_WALK uint64_t F(eytz_step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    uint64_t slot = SX_NO_SLOT;

    return F(eytz_level)(v, l, at, &slot, q, v->unit);
}
