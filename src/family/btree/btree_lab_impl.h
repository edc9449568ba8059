/* btree_lab_impl.h - ways to search a node, and how many walks go down together, to compare with
 * (doc/LAB.md), for one width and one instruction set. Behind the functions of btree_cpu_impl.h.
 *
 *   sequential     key by key, until one is not below
 *   linear         all keys, in as many comparisons as vectors take
 *   hierarchical   first the keys that end each part of the line, then one part: W = 8 has three
 *                  parts of 3, 3 and 2 keys, W = 4 four of 4, W = 16 two of 2 */

SX_WALK uint64_t F(count_sequential)(const unsigned char *p, uint32_t m, KEY q)
{
    uint32_t c = 0;

    while (c < m && SX_LOAD(p + c * W) < q)
        c++;
    return c;
}

/* Of the keys that end parts, those below q. */
SX_WALK uint64_t F(count_ends)(const unsigned char *p, KEY q)
{
#if W == 4 && NAME2(SX_VECTORS_, LEVEL)
    __m128i keys = _mm_setr_epi32((int)SX_LOAD(p + 12), (int)SX_LOAD(p + 28), (int)SX_LOAD(p + 44),
                                  (int)SX_LOAD(p + 60));
    __m128i not_below = _mm_cmpeq_epi32(_mm_max_epu32(keys, _mm_set1_epi32((int)q)), keys);

    return 4 - (uint64_t)__builtin_popcount((unsigned)_mm_movemask_ps(_mm_castsi128_ps(not_below)));
#elif W == 4
    return (uint64_t)(SX_LOAD(p + 12) < q) + (SX_LOAD(p + 28) < q) + (SX_LOAD(p + 44) < q) +
           (SX_LOAD(p + 60) < q);
#elif W == 8 && NAME2(SX_VECTORS_, LEVEL)
    __m128i sign = _mm_set1_epi64x((long long)0x8000000000000000u);
    __m128i keys = _mm_set_epi64x((long long)SX_LOAD(p + 40), (long long)SX_LOAD(p + 16));
    __m128i below = _mm_cmpgt_epi64(_mm_xor_si128(_mm_set1_epi64x((long long)q), sign),
                                    _mm_xor_si128(keys, sign));

    return (uint64_t)__builtin_popcount((unsigned)_mm_movemask_pd(_mm_castsi128_pd(below)));
#elif W == 8
    return (uint64_t)(SX_LOAD(p + 16) < q) + (SX_LOAD(p + 40) < q);
#else
    return SX_LOAD(p + 16) < q;
#endif
}

SX_WALK uint64_t F(count_hierarchical)(const unsigned char *p, KEY q)
{
    uint64_t part = F(count_ends)(p, q);

#if W == 4
    return part == 4 ? 16 : 4 * part + SX_COUNT(p + part * 16, 3, q);
#elif W == 8
    return 3 * part + SX_COUNT(p + part * 24, 2, q);
#else
    return 2 * part + (SX_LOAD(p + part * 32) < q) + (part ? SX_LOAD(p + 48) < q : 0);
#endif
}

/* way: a constant. */
SX_WALK uint64_t F(lab_level)(const sx_btree *t, uint32_t l, uint64_t at, KEY q, uint32_t way)
{
    const unsigned char *node = F(btree_node)(t, l, at);
    uint64_t c = way == SX_NODE_SEQUENTIAL     ? F(count_sequential)(node, SX_BTREE_LINE / W, q)
                 : way == SX_NODE_HIERARCHICAL ? F(count_hierarchical)(node, q)
                                               : SX_COUNT_UNIT(node, SX_BTREE_LINE / W, q);

    return F(btree_child)(t->k, at, c, F(btree_last_child)(t, l));
}

SX_WALK void F(lab_group)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                          uint64_t *rank, uint64_t *slot, uint32_t leaf, uint32_t way)
{
    const sx_btree *t = &v->of.btree;
    uint64_t at[GROUP], n = v->n;

    for (unsigned j = 0; j < m; j++)
        at[j] = entry ? F(btree_from_entry)(v, entry[j]) : 0;
    for (uint32_t l = 0; !entry && l < t->levels; l++)
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(lab_level)(t, l, at[j], q[j], way);
            __builtin_prefetch(l + 1 < t->levels ? F(btree_node)(t, l + 1, at[j])
                                                 : F(btree_leaf)(v, at[j]));
        }
    for (unsigned j = 0; j < m; j++) {
        const unsigned char *p = F(btree_leaf)(v, at[j]);
        uint64_t c = way == SX_NODE_SEQUENTIAL ? F(count_sequential)(p, leaf, q[j])
                                               : SX_COUNT(p, leaf, q[j]);
        rank[j] = F(btree_position)(n, at[j], c, leaf);
        if (slot)
            slot[j] = F(btree_slot)(n, at[j], c, leaf);
    }
}

SX_WALK void F(lab_groups)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                           uint64_t *rank, uint64_t *slot, uint32_t way)
{
    unsigned depth = v->of.btree.lab_pipeline ? v->of.btree.lab_pipeline : GROUP, part;

    for (unsigned i = 0; i < m; i += part) {
        part = m - i < depth ? m - i : depth;
        F(lab_group)(v, q + i, part, entry ? entry + i : NULL, rank + i, slot ? slot + i : NULL,
                     v->unit, way);
    }
}

TARGET static void F(lab_bounds)(const sx_view *v, const void *queries, unsigned m,
                                 const sx_state *entry, uint64_t *rank, uint64_t *slot)
{
    if (v->of.btree.lab_node == SX_NODE_SEQUENTIAL)
        F(lab_groups)(v, queries, m, entry, rank, slot, SX_NODE_SEQUENTIAL);
    else if (v->of.btree.lab_node == SX_NODE_HIERARCHICAL)
        F(lab_groups)(v, queries, m, entry, rank, slot, SX_NODE_HIERARCHICAL);
    else
        F(lab_groups)(v, queries, m, entry, rank, slot, SX_NODE_LINEAR);
}
