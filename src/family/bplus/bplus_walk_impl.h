/* bplus_walk_impl.h - the lower bound in a tree of nodes in pools.
 *
 * Parameters as in array_walk_impl.h; it need not come before.
 *
 * A walk is levels 0..levels-1, then one line of a leaf. The driver owns the loop, so that it
 * can interleave queries or run some levels elsewhere. The state is one number, `at`: the node
 * in its pool, then the line among those of all leaves. Whatever the bytes in the sections are,
 * `at` stays inside them, as each step ends in a minimum; and a walk has as many steps as there
 * are levels, wherever numbers lead.
 *
 * A level is two steps, for drivers that count in their own way and ask for lines ahead:
 *
 *     c keys of the index are below q     -> F(bplus_line), and the children beside it
 *     d keys of that line are below q     -> F(bplus_next) */

#define BPLUS_M SX_BPLUS_KEYS(W)

/* The last number that states of level l have. */
SX_WALK uint64_t F(bplus_latest)(const sx_bplus *t, uint32_t l)
{
    return (l == t->levels       ? t->last_pool << t->fan_shift
            : l + 1u == t->levels ? t->last_pool
                                  : t->inner_pool) - 1;
}

/* Node `at` of a level; it begins with its index. */
SX_WALK const unsigned char *F(bplus_node)(const sx_bplus *t, uint32_t l, uint64_t at)
{
    return l + 1u < t->levels ? t->nodes + at * SX_BPLUS_INNER(W) : t->lasts + at * SX_BPLUS_LAST(W);
}

/* A count, as the number of a line, or of a key in it. */
SX_WALK uint32_t F(bplus_place)(uint32_t c)
{
    return c < BPLUS_M ? c : BPLUS_M - 1;
}

/* The line of separators that c leads to. */
SX_WALK const unsigned char *F(bplus_line)(const unsigned char *node, uint32_t c)
{
    return node + SX_BPLUS_LINE + F(bplus_place)(c) * SX_BPLUS_LINE;
}

/* Child j of an inner node, as its bytes say. */
SX_WALK const uint32_t *F(bplus_child)(const unsigned char *node, uint32_t j)
{
    return (const uint32_t *)(const void *)(node + SX_BPLUS_LAST(W)) + j;
}

/* The state at the next level. latest: F(bplus_latest) of that. */
SX_WALK uint64_t F(bplus_next)(const sx_bplus *t, uint32_t l, uint64_t at, uint32_t c, uint32_t d,
                               uint64_t latest)
{
    uint32_t j = F(bplus_place)(c) * BPLUS_M + F(bplus_place)(d);
    uint64_t next = l + 1u < t->levels ? *F(bplus_child)(F(bplus_node)(t, l, at), j)
                                       : (at << t->fan_shift) + j;

    return next < latest ? next : latest;
}

/* ---- leaves ------------------------------------------------------------------------ */

SX_WALK const unsigned char *F(bplus_leaf)(const sx_view *v, uint64_t at)
{
    return v->keys + at * SX_BPLUS_LINE;
}

/* c keys of line `at` are below q: the position of the bound. leaf: the keys of a line. */
SX_WALK uint64_t F(bplus_position)(const sx_view *v, uint64_t at, uint32_t c, uint32_t leaf)
{
    const sx_bplus *t = &v->of.bplus;
    uint64_t in = (at & ((1u << t->fan_shift) - 1)) * leaf + c;
    uint64_t position = sx_bplus_record_of(t, at >> t->fan_shift)->first + in;

    return position < v->n ? position : v->n;
}

/* And its slot (SX_NO_SLOT: every key is below q). */
SX_WALK uint64_t F(bplus_slot)(const sx_view *v, uint64_t at, uint32_t c, uint64_t position,
                               uint32_t leaf)
{
    uint64_t slot = at * leaf + c;

    return position < v->n ? (slot < v->slots ? slot : v->slots - 1) : SX_NO_SLOT;
}

/* ---- a walk that is cut between levels (state.h) ---------------------------------- */

SX_WALK uint64_t F(bplus_enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    uint64_t latest = F(bplus_latest)(&v->of.bplus, l);

    return l == 0 ? v->of.bplus.root : at < latest ? at : latest;
}

SX_WALK uint64_t F(bplus_step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    const sx_bplus *t = &v->of.bplus;
    const unsigned char *node = F(bplus_node)(t, l, at);
    uint32_t c = (uint32_t)SX_COUNT_UNIT(node, BPLUS_M, q);
    uint32_t d = (uint32_t)SX_COUNT_UNIT(F(bplus_line)(node, c), BPLUS_M, q);

    return F(bplus_next)(t, l, at, c, d, F(bplus_latest)(t, l + 1));
}

#undef BPLUS_M
