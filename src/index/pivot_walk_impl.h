/* pivot_walk_impl.h - the lower bound in a sorted array under pivots.
 *
 * Parameters: W; SX_WALK, put before each function; F(name); KEY;
 * SX_COUNT(p, m, q) and SX_COUNT_UNIT(p, m, q), how many of the m keys from
 * p on are below q, where for the latter p is aligned to 16 bytes and m keys
 * are a multiple of them; SX_LOAD(p), the key at p.
 *
 * A walk is levels 0..levels-1, then halvings of a window, then the finish;
 * the driver owns the loops, so that it can interleave queries or run some
 * levels elsewhere. The state is one number, `at`. Whatever the bytes in
 * the sections are, `at` stays inside them: each step ends in a minimum.
 *
 * A driver may count the keys of a node or unit in its own way, between
 * pivot_node() and pivot_child(), pivot_unit() and pivot_rank().
 *
 * Below the pivots `at` counts units of `unit` keys (sx_pivot_unit()), which
 * are compared at once; unit 1 is a slot. */

/* All of the keys in units of `at`, and how many of them a window has. */
SX_WALK uint64_t F(pivot_units)(const sx_view *v, uint32_t unit)
{
    return unit > 1 ? v->slots >> sx_log2(unit) : v->n;
}

SX_WALK uint64_t F(pivot_window)(const sx_view *v, uint32_t unit)
{
    uint64_t all = F(pivot_units)(v, unit), len = (v->window + unit - 1) >> sx_log2(unit);

    return len < all ? len : all;
}

/* Where window w begins; the last one begins early enough to be whole. */
SX_WALK uint64_t F(pivot_begin)(const sx_view *v, uint64_t w, uint64_t len, uint32_t unit)
{
    uint64_t at = w * len, latest = F(pivot_units)(v, unit) - len;

    return at < latest ? at : latest;
}

/* The last node that level l's children are: of the next level, or windows. */
SX_WALK uint64_t F(pivot_last_child)(const sx_view *v, uint32_t l)
{
    return (l + 1 < v->levels ? v->level_nodes[l + 1] : v->windows) - 1;
}

SX_WALK const unsigned char *F(pivot_node)(const sx_view *v, uint32_t l, uint64_t at,
                                           uint32_t unit)
{
    return v->pivots + (v->level_first[l] + at * (unit > 1 ? unit : v->k - 1)) * W;
}

/* c keys of node `at` are below q: its child for q, a node of the next level,
 * at most `last`. */
SX_WALK uint64_t F(pivot_child)(const sx_view *v, uint64_t at, uint64_t c, uint64_t last,
                                uint32_t unit)
{
    uint64_t child = at * (unit > 1 ? unit + 1 : v->k) + c;

    return child < last ? child : last;
}

/* The same of level l, counting. */
SX_WALK uint64_t F(pivot_level)(const sx_view *v, uint32_t l, uint64_t at,
                                uint64_t last, KEY q, uint32_t unit)
{
    const unsigned char *node = F(pivot_node)(v, l, at, unit);
    uint64_t c = unit > 1 ? SX_COUNT_UNIT(node, unit, q) : SX_COUNT(node, v->k - 1, q);

    return F(pivot_child)(v, at, c, last, unit);
}

/* The address of unit `at`. */
SX_WALK const unsigned char *F(pivot_unit)(const sx_view *v, uint64_t at, uint32_t unit)
{
    if (unit > 1)
        return v->keys + at * (v->block ? v->block_bytes : unit * W);
    return v->keys + sx_key_offset(v, at);
}

/* One halving: the bound is in [at, at + len); skip the first `half` units
 * if the last key in them is below q. */
SX_WALK uint64_t F(pivot_halve)(const sx_view *v, uint64_t at, uint64_t half,
                                KEY q, uint32_t unit)
{
    const unsigned char *p = F(pivot_unit)(v, at + half - 1, unit);

    return at + sx_pick(SX_LOAD(p + (unit - 1) * W) < q, half, 0);
}

/* One unit is left, of which c keys are below q: the rank of the bound. */
SX_WALK uint64_t F(pivot_rank)(const sx_view *v, uint64_t at, uint64_t c, uint32_t unit)
{
    uint64_t rank = at * unit + c;

    return rank < v->n ? rank : v->n;
}

SX_WALK uint64_t F(pivot_finish)(const sx_view *v, uint64_t at, KEY q, uint32_t unit)
{
    const unsigned char *p = F(pivot_unit)(v, at, unit);

    return F(pivot_rank)(v, at, unit > 1 ? SX_COUNT_UNIT(p, unit, q) : SX_LOAD(p) < q, unit);
}

/* ---- a walk in two parts ------------------------------------------------------
 *
 * Where the pivots are on another device than the keys, a walk ends there in a
 * hint, one number, and goes on from it here. A hint here is the window. unit:
 * sx_pivot_node_unit() there, sx_pivot_unit() here. */

SX_WALK uint64_t F(pivot_hint)(const sx_view *v, KEY q, uint32_t unit)
{
    uint64_t at = 0;

    for (uint32_t l = 0; l < v->levels; l++)
        at = F(pivot_level)(v, l, at, F(pivot_last_child)(v, l), q, unit);
    return at;
}

/* Where that window of len units begins; or some window, as pivot_begin() ends in a
 * minimum. */
SX_WALK uint64_t F(pivot_from_hint)(const sx_view *v, uint64_t hint, uint64_t len, uint32_t unit)
{
    return F(pivot_begin)(v, hint, len, unit);
}
