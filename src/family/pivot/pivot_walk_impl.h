/* pivot_walk_impl.h - the left bound in a sorted array under pivots.
 *
 * Parameters as in array_walk_impl.h, which comes before.
 *
 * A walk is levels 0..levels-1, then a search in a window of the array. The driver owns
 * the loops, so that it can interleave queries or run some levels elsewhere. The state is
 * one number, `at`: the node in its level, then the window. Whatever the bytes in the
 * sections are, `at` stays inside them: each step ends in a minimum.
 *
 * A driver may count the keys of a node in its own way, between pivot_node() and
 * pivot_child(). */

/* Units of a window. */
SX_WALK uint64_t F(pivot_window)(const sx_view *v, uint32_t unit)
{
    uint64_t all = F(array_units)(v, unit), len = (v->of.pivot.window + unit - 1) >> sx_log2(unit);

    return len < all ? len : all;
}

/* Where window w begins; the last one begins early enough to be whole. */
SX_WALK uint64_t F(pivot_begin)(const sx_view *v, uint64_t w, uint64_t len, uint32_t unit)
{
    uint64_t at = w * len, latest = F(array_units)(v, unit) - len;

    return at < latest ? at : latest;
}

/* The last child of level l: a node of the next level, or a window. */
SX_WALK uint64_t F(pivot_last_child)(const sx_pivot *t, uint32_t l)
{
    return (l + 1 < t->levels ? t->first[l + 2] - t->first[l + 1] : t->windows) - 1;
}

SX_WALK const unsigned char *F(pivot_node)(const sx_pivot *t, uint32_t l, uint64_t at,
                                           uint32_t unit)
{
    return t->pivots + SX_TIMES(t->first[l] + at, unit > 1 ? unit : t->k - 1u) * W;
}

/* c keys of node `at` are below q. Returns its child for q, a node of the next level, at
 * most `last`. */
SX_WALK uint64_t F(pivot_child)(const sx_pivot *t, uint64_t at, uint64_t c, uint64_t last,
                                uint32_t unit)
{
    uint64_t child = SX_TIMES(at, unit > 1 ? unit + 1 : t->k) + c;

    return child < last ? child : last;
}

/* The same in level l, and counts. */
SX_WALK uint64_t F(pivot_level)(const sx_pivot *t, uint32_t l, uint64_t at,
                                uint64_t last, KEY q, uint32_t unit)
{
    const unsigned char *node = F(pivot_node)(t, l, at, unit);
    uint64_t c = unit > 1 ? SX_COUNT_UNIT(node, unit, q) : SX_COUNT(node, t->k - 1u, q);

    return F(pivot_child)(t, at, c, last, unit);
}

/* ---- a walk that is cut between levels (state.h) ----------------------------------
 *
 * The state at level l is the node there. Behind the last level it is the entry, the window.
 * unit: sx_pivot_node_unit() in nodes, v->unit where the CPU goes on in the window. */

SX_WALK uint64_t F(pivot_enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    uint64_t last = l > 0 ? F(pivot_last_child)(&v->of.pivot, l - 1) : 0;

    return at < last ? at : last;
}

SX_WALK uint64_t F(pivot_step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    const sx_pivot *t = &v->of.pivot;

    return F(pivot_level)(t, l, at, F(pivot_last_child)(t, l), q, sx_pivot_node_unit(t, W));
}

/* Where that window of len units begins. Any number gives some window, as pivot_begin()
 * ends in a minimum. */
SX_WALK uint64_t F(pivot_from_entry)(const sx_view *v, sx_state entry, uint64_t len, uint32_t unit)
{
    return F(pivot_begin)(v, entry.at, len, unit);
}
