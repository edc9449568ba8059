/* array_walk_impl.h - the left bound in a sorted array, or in a window of it.
 *
 * Parameters: W; SX_WALK, put before each function; F(name); KEY;
 * SX_COUNT(p, m, q) and SX_COUNT_UNIT(p, m, q), how many of the m keys from
 * p on are below q, where for the latter p is aligned to 16 bytes and m keys
 * are a multiple of 16 bytes; SX_LOAD(p), the key at p.
 *
 * A walk halves a window until one unit is left, and counts the keys of that. The driver
 * owns the loops, so that it can interleave queries. The state is one number, `at`, in
 * units of `unit` keys (v->unit, or 1), which are compared at once. Whatever the bytes in
 * the sections are, `at` stays inside them. */

/* All keys, in units. */
SX_WALK uint64_t F(array_units)(const sx_view *v, uint32_t unit)
{
    return unit > 1 ? v->slots >> sx_log2(unit) : v->n;
}

/* The address of unit `at`. */
SX_WALK const unsigned char *F(array_unit)(const sx_view *v, uint64_t at, uint32_t unit)
{
    if (unit > 1)
        return v->keys + at * (v->block ? v->block_bytes : unit * W);
    return v->keys + sx_key_offset(v, at);
}

/* One halving: the bound is in [at, at + len). Skips the first `half` units if the last
 * key in them is below q. */
SX_WALK uint64_t F(array_halve)(const sx_view *v, uint64_t at, uint64_t half,
                                KEY q, uint32_t unit)
{
    const unsigned char *p = F(array_unit)(v, at + half - 1, unit);

    return at + sx_pick(SX_LOAD(p + (unit - 1) * W) < q, half, 0);
}

/* One unit is left, of which c keys are below q: the rank of the bound. */
SX_WALK uint64_t F(array_rank)(const sx_view *v, uint64_t at, uint64_t c, uint32_t unit)
{
    uint64_t rank = at * unit + c;

    return rank < v->n ? rank : v->n;
}

SX_WALK uint64_t F(array_finish)(const sx_view *v, uint64_t at, KEY q, uint32_t unit)
{
    const unsigned char *p = F(array_unit)(v, at, unit);

    return F(array_rank)(v, at, unit > 1 ? SX_COUNT_UNIT(p, unit, q) : SX_LOAD(p) < q, unit);
}
