/* pivot_walk_impl.h - the lower bound in a sorted array under pivots.
 *
 * Parameters: W; SX_WALK, put before each function; F(name); KEY;
 * SX_COUNT_LINE(p, q) and SX_COUNT(p, m, q), how many of the 64/W or m keys
 * from p on are below q; SX_LOAD(p), the key at p.
 *
 * A walk is levels 0..levels-1, then halvings of a window, then the finish;
 * the driver owns the loops, so that it can interleave queries or run some
 * levels elsewhere. The state is one number, `at`. Whatever the bytes in
 * the sections are, `at` stays inside them: each step ends in a minimum.
 *
 * natural: nodes and leaves are lines (k-1 = 64/W, split or blocks of one
 * line). Then `at` counts lines ("groups" of keys) once below the pivots.
 * Else it counts slots there. */

/* All of the keys in units of `at`, and how many of them a window has. */
SX_WALK uint64_t F(pivot_units)(const sx_view *v, int natural)
{
    return natural ? v->slots / (64 / W) : v->n;
}

SX_WALK uint64_t F(pivot_window)(const sx_view *v, int natural)
{
    uint64_t unit = natural ? 64 / W : 1, all = F(pivot_units)(v, natural);
    uint64_t len = (v->window + unit - 1) / unit;

    return len < all ? len : all;
}

/* Where window w begins; the last one begins early enough to be whole. */
SX_WALK uint64_t F(pivot_begin)(const sx_view *v, uint64_t w, uint64_t len, int natural)
{
    uint64_t at = w * len, latest = F(pivot_units)(v, natural) - len;

    return at < latest ? at : latest;
}

/* The last node that level l's children are: of the next level, or windows. */
SX_WALK uint64_t F(pivot_last_child)(const sx_view *v, uint32_t l)
{
    return (l + 1 < v->levels ? v->level_nodes[l + 1] : v->windows) - 1;
}

SX_WALK const unsigned char *F(pivot_node)(const sx_view *v, uint32_t l, uint64_t at,
                                           int natural)
{
    return v->pivots + (v->level_first[l] + at * (natural ? 64 / W : v->k - 1)) * W;
}

/* From node `at` of level l to its child for q: a node of the next level,
 * at most `last`. */
SX_WALK uint64_t F(pivot_level)(const sx_view *v, uint32_t l, uint64_t at,
                                uint64_t last, KEY q, int natural)
{
    const unsigned char *node = F(pivot_node)(v, l, at, natural);
    uint64_t child = natural ? at * (64 / W + 1) + SX_COUNT_LINE(node, q)
                             : at * v->k + SX_COUNT(node, v->k - 1, q);

    return child < last ? child : last;
}

/* The address of unit `at`: a line, or a slot's key. */
SX_WALK const unsigned char *F(pivot_unit)(const sx_view *v, uint64_t at, int natural)
{
    if (natural)
        return v->keys + at * (v->block ? v->block_bytes : 64);
    return v->keys + sx_key_offset(v, at);
}

/* One halving: the bound is in [at, at + len); skip the first `half` units
 * if the last key in them is below q. */
SX_WALK uint64_t F(pivot_halve)(const sx_view *v, uint64_t at, uint64_t half,
                                KEY q, int natural)
{
    const unsigned char *p = F(pivot_unit)(v, at + half - 1, natural);

    return at + sx_pick(SX_LOAD(p + (natural ? 64 - W : 0)) < q, half, 0);
}

/* One unit is left: the rank of the lower bound. */
SX_WALK uint64_t F(pivot_finish)(const sx_view *v, uint64_t at, KEY q, int natural)
{
    const unsigned char *p = F(pivot_unit)(v, at, natural);
    uint64_t rank = natural ? at * (64 / W) + SX_COUNT_LINE(p, q)
                            : at + (SX_LOAD(p) < q);

    return rank < v->n ? rank : v->n;
}
