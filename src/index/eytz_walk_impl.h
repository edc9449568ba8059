/* eytz_walk_impl.h - the lower bound in a k-ary tree in level order.
 *
 * Parameters as in pivot_walk_impl.h. The state is the node (within its
 * level) and the slot of the last key seen that is not below q.
 *
 * shape: SX_EYTZ_LINE, nodes are lines of keys; SX_EYTZ_BINARY, nodes are
 * single keys in one array; SX_EYTZ_ANY, anything else. */

SX_WALK const unsigned char *F(eytz_node)(const sx_view *v, uint64_t slot, int shape)
{
    if (shape == SX_EYTZ_LINE)
        return v->keys + slot / (64 / W) * (v->block ? v->block_bytes : 64);
    if (shape == SX_EYTZ_BINARY)
        return v->keys + slot * W;
    return v->keys + sx_key_offset(v, slot);
}

/* How many keys of the node that starts at this slot are below q. */
SX_WALK uint64_t F(eytz_count)(const sx_view *v, uint64_t slot, KEY q, int shape)
{
    const unsigned char *p = F(eytz_node)(v, slot, shape);
    uint64_t c = 0, m = v->k - 1;

    if (shape == SX_EYTZ_LINE)
        return SX_COUNT_UNIT(p, 64 / W, q);
    if (shape == SX_EYTZ_BINARY)
        return SX_LOAD(p) < q;
    if (!v->block || v->block % m == 0)           /* the node is in one piece */
        return SX_COUNT(p, (uint32_t)m, q);
    for (uint64_t j = 0; j < m; j++)
        c += SX_LOAD(v->keys + sx_key_offset(v, slot + j)) < q;
    return c;
}

/* From node g of full level t to the child for q; *slot follows. */
SX_WALK uint64_t F(eytz_level)(const sx_view *v, uint32_t t, uint64_t g,
                               uint64_t *slot, KEY q, int shape)
{
    uint64_t m = shape == SX_EYTZ_LINE ? 64 / W : shape == SX_EYTZ_BINARY ? 1 : v->k - 1;
    uint64_t first = v->level_first[t] + g * m;
    uint64_t c = F(eytz_count)(v, first, q, shape);

    *slot = sx_pick(c < m, first + c, *slot);
    return g * (m + 1) + c;
}

/* Gap g below the full levels: the rank of the lower bound, and its slot
 * (SX_NO_SLOT: every key is below q). A gap right of the bottom's end looks
 * at the bottom's first node instead, in vain. */
SX_WALK uint64_t F(eytz_finish)(const sx_view *v, uint64_t g, uint64_t *slot,
                                KEY q, int shape)
{
    uint64_t m = shape == SX_EYTZ_LINE ? 64 / W : shape == SX_EYTZ_BINARY ? 1 : v->k - 1;
    uint64_t first = v->level_first[v->levels], before = g * m, c;
    int in = before < v->bottom;

    if (v->bottom == 0)
        return g;
    c = F(eytz_count)(v, first + sx_pick(in, before, 0), q, shape);
    c = sx_pick(before + c > v->bottom, v->bottom - before, c);   /* damaged padding */
    *slot = sx_pick(in & (c < m) & (before + c < v->bottom), first + before + c, *slot);
    return g + sx_pick(in, before + c, v->bottom);
}
