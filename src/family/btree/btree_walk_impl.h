/* btree_walk_impl.h - the lower bound in a tree of lines.
 *
 * Parameters as in array_walk_impl.h; it need not come before.
 *
 * A walk is levels 0..levels-1, then one leaf. The driver owns the loop, so that it can
 * interleave queries or run some levels elsewhere. The state is one number, `at`: the node in
 * its level, then the leaf. Whatever the bytes in the sections are, `at` stays inside
 * them: each step ends in a minimum.
 *
 * A driver may count the keys of a node or a leaf in its own way, between btree_node() and
 * btree_child(), or btree_leaf() and btree_position(). leaf: the keys of one, t->leaf, which a
 * driver may know as a constant. */

/* The last node that level l's children are: of the next level, or leaves. */
SX_WALK uint64_t F(btree_last_child)(const sx_btree *t, uint32_t l)
{
    return (l + 1 < t->levels ? t->first[l + 2] - t->first[l + 1] : t->leaves) - 1;
}

SX_WALK const unsigned char *F(btree_node)(const sx_btree *t, uint32_t l, uint64_t at)
{
    return t->nodes + (t->first[l] + at) * SX_BTREE_LINE;
}

/* c separators of node `at` are below q: its child for q, a node of the next level, at most
 * `last`. */
SX_WALK uint64_t F(btree_child)(uint32_t k, uint64_t at, uint64_t c, uint64_t last)
{
    uint64_t child = SX_TIMES(at, k) + c;

    return child < last ? child : last;
}

/* The same of level l, counting. */
SX_WALK uint64_t F(btree_level)(const sx_btree *t, uint32_t l, uint64_t at, uint64_t last, KEY q,
                                uint32_t k)
{
    return F(btree_child)(k, at, SX_COUNT_UNIT(F(btree_node)(t, l, at), SX_BTREE_LINE / W, q), last);
}

/* ---- leaves ------------------------------------------------------------------------ */

SX_WALK const unsigned char *F(btree_leaf)(const sx_view *v, uint64_t at)
{
    return v->keys + at * SX_BTREE_LINE;
}

/* c keys of leaf `at` are below q: the position of the bound among n keys. */
SX_WALK uint64_t F(btree_position)(uint64_t n, uint64_t at, uint64_t c, uint32_t leaf)
{
    uint64_t position = at * leaf + c;

    return position < n ? position : n;
}

/* And its slot (SX_NO_SLOT: every key is below q). Where c is `leaf`, which among keys that
 * ascend is so at their end alone, it is in the next leaf, not in a hole. */
SX_WALK uint64_t F(btree_slot)(uint64_t n, uint64_t at, uint64_t c, uint32_t leaf)
{
    uint64_t places = sx_btree_places(leaf);
    uint64_t slot = at * places + (places == leaf ? c : sx_pick(c < leaf, c, places));

    return at * leaf + c < n ? slot : SX_NO_SLOT;
}

/* ---- a walk that is cut between levels (state.h) ----------------------------------
 *
 * The state at level l is the node there, at the last level, the entry, the leaf. */

SX_WALK uint64_t F(btree_enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    uint64_t last = l > 0 ? F(btree_last_child)(&v->of.btree, l - 1) : 0;

    return at < last ? at : last;
}

SX_WALK uint64_t F(btree_step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    const sx_btree *t = &v->of.btree;

    return F(btree_level)(t, l, at, F(btree_last_child)(t, l), q, t->k);
}

/* That leaf, or the last one. */
SX_WALK uint64_t F(btree_from_entry)(const sx_view *v, sx_state entry)
{
    return entry.at < v->of.btree.leaves ? entry.at : v->of.btree.leaves - 1;
}
