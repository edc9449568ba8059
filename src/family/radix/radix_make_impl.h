/* radix_make_impl.h - a radix tree's nodes out of a sorted array, for one width W, in the common
 * subset of C11 and CUDA C++.
 *
 * Parameters: W, F(name), KEY, SX_WALK.
 *
 * Which nodes there are is a question to each key alone, so all keys are asked at once, twice:
 * how many nodes begin with this key, and which. A node begins with key i if its stem is longer
 * than what keys i - 1 and i have in common, and it has more than `leaf` keys if its stem is no
 * longer than what keys i and i + leaf have in common. Nodes in the order of their first keys,
 * then of their depths, are in the order of the section. So sums of their sizes are where they
 * go (sx_radix_sum()), and each is filled by itself. */

/* How many bytes, from the highest on, two keys have in common. */
SX_WALK int F(radix_common)(KEY a, KEY b)
{
    KEY x = a ^ b;
    int common = 0;

    if (x == 0)
        return W;
    while (!(uint32_t)((x >> 8 * (W - 1)) & 255u)) {
        x = (KEY)(x << 8);
        common++;
    }
    return common;
}

/* The rank behind the last key that has the first `depth` bytes of `key`; the one before `from`
 * has, so the end is not before that. depth is at least 1. */
SX_WALK uint64_t F(radix_end)(const KEY *keys, uint64_t n, uint64_t from, uint32_t depth, KEY key)
{
    uint32_t shift = 8 * (W - depth);
    uint64_t step = 1, len;

    while (from < n && n - from > step && keys[from + step - 1] >> shift == key >> shift) {
        from += step;
        step *= 2;
    }
    len = n - from < step ? n - from : step;
    while (len > 0) {             /* the end is in [from, from + len] */
        uint64_t half = (len + 1) / 2;
        if (keys[from + half - 1] >> shift == key >> shift) {
            from += half;
            len -= half;
        } else {
            len = half - 1;
        }
    }
    return from;
}

/* How many nodes begin with key i. If `to` is not NULL, they go there, the shallowest first;
 * `count` is how many there are then. */
SX_WALK uint32_t F(radix_begin)(const KEY *keys, uint64_t n, uint32_t leaf, uint64_t i,
                                sx_radix_making *to, uint32_t count)
{
    int before = i > 0 ? F(radix_common)(keys[i - 1], keys[i]) : -1;
    int depth = n - i > leaf ? F(radix_common)(keys[i], keys[i + leaf]) : -1;
    uint64_t end = i + leaf;
    uint32_t nodes = 0;

    while (depth > before) {
        end = depth > 0 ? F(radix_end)(keys, n, end, (uint32_t)depth, keys[i]) : n;
        if (depth < W && to) {
            sx_radix_making *m = to + (count - 1 - nodes);
            m->at = i | (uint64_t)depth << 48;
            m->end = end;
            m->place = 0;
        }
        nodes += depth < W;
        depth = end < n ? F(radix_common)(keys[i], keys[end]) : -1;
    }
    return nodes;
}

/* Where the keys of a node begin whose byte behind the stem is b or above; b is up to 256. */
SX_WALK uint64_t F(radix_from)(const KEY *keys, const sx_radix_making *m, uint32_t b)
{
    uint64_t at = m->at & SX_RADIX_RANK, len = m->end - at;
    uint32_t shift = 8 * (W - 1 - (uint32_t)(m->at >> 48));

    while (len > 0) {             /* it is in [at, at + len] */
        uint64_t half = (len + 1) / 2;
        if (((uint32_t)(keys[at + half - 1] >> shift) & 255u) < b) {
            at += half;
            len -= half;
        } else {
            len = half - 1;
        }
    }
    return at;
}

/* Whether keys [from, end) of a node, all those of a child, are a node. */
SX_WALK int F(radix_is_node)(const KEY *keys, uint32_t leaf, uint64_t from, uint64_t end)
{
    return end - from > leaf && keys[from] != keys[end - 1];
}

/* The kind of a node with so many children. */
SX_WALK uint32_t F(radix_kind)(const sx_radix_making *m, uint32_t children, int wide)
{
    uint32_t depth = (uint32_t)(m->at >> 48);
    uint64_t keys = m->end - (m->at & SX_RADIX_RANK);
    uint32_t kind = children <= 4    ? SX_RADIX_4
                    : children <= 16 ? SX_RADIX_16
                    : children <= 48 ? SX_RADIX_48 : SX_RADIX_256;

    if (depth == W - 1 && children == keys)
        return SX_RADIX_BITS;
    return kind | (wide || keys > SX_RADIX_NARROW_MOST ? SX_RADIX_WIDE : 0);
}

/* Of all nodes, the first that begins with this key and is deeper. */
SX_WALK uint64_t F(radix_find)(const sx_radix_making *all, uint64_t nodes, uint64_t rank,
                               uint32_t depth)
{
    uint64_t at = 0;

    while (nodes > 0) {
        uint64_t half = (nodes + 1) / 2;
        const sx_radix_making *m = &all[at + half - 1];
        uint64_t its = m->at & SX_RADIX_RANK;
        if (its < rank || (its == rank && (uint32_t)(m->at >> 48) <= depth)) {
            at += half;
            nodes -= half;
        } else {
            nodes = half - 1;
        }
    }
    return at;
}

/* The entry of keys [from, end) in a wide node. */
SX_WALK uint64_t F(radix_entry)(const KEY *keys, uint32_t leaf, const sx_radix_making *all,
                                uint64_t nodes, const sx_radix_making *m, uint64_t from,
                                uint64_t end)
{
    const sx_radix_making *child;

    if (from == end || !F(radix_is_node)(keys, leaf, from, end))
        return sx_radix_window(from, end - from);
    child = &all[F(radix_find)(all, nodes, from, (uint32_t)(m->at >> 48))];
    return sx_radix_state((uint32_t)(child->place >> 56), (uint32_t)(child->at >> 48),
                          (child->place & SX_RADIX_AT) - (m->place & SX_RADIX_AT));
}

/* Fills a node, of whose work this is share `lane` of `lanes`. from[b], b up to 256: where the
 * keys of byte b begin; bits: which bytes have a child. node: its bytes, all zero. */
SX_WALK void F(radix_fill)(const KEY *keys, uint32_t leaf, const sx_radix_making *all,
                           uint64_t nodes, const sx_radix_making *m, const uint64_t *from,
                           const uint32_t bits[8], unsigned char *node, uint32_t lane,
                           uint32_t lanes)
{
    uint32_t kind = (uint32_t)(m->place >> 56), plain = kind & 7u, children = 0;
    uint64_t start = m->at & SX_RADIX_RANK;
    unsigned char *body = node + sx_radix_head(W), *entries = body + sx_radix_entries(kind);
    uint32_t depth = (uint32_t)(m->at >> 48);

    for (uint32_t w = 0; w < 8; w++)
        children += SX_RADIX_POPC(bits[w]);
    if (lane == 0) {
        *(uint64_t *)(void *)node = m->at | (uint64_t)kind << 56;
        *(KEY *)(void *)(node + (W == 16 ? 16 : 8)) =
            depth == 0 ? 0 : (KEY)(keys[start] >> 8 * (W - 1 - depth) >> 8);
    }
    if (plain == SX_RADIX_BITS) {
        for (uint32_t w = lane; w < 8; w += lanes)
            ((uint32_t *)(void *)body)[w] = bits[w];
        return;
    }
    for (uint32_t b = lane; b <= 256; b += lanes) {
        int there = b < 256 && (bits[b / 32] >> b % 32 & 1u);
        uint32_t i = b;           /* its entry */
        uint64_t end = b < 256 ? from[b + 1] : from[b];
        if (plain != SX_RADIX_256 && !there)
            continue;
        if (plain != SX_RADIX_256) {
            i = SX_RADIX_POPC(bits[b / 32] & ((1u << b % 32) - 1));
            for (uint32_t w = 0; w < b / 32; w++)
                i += SX_RADIX_POPC(bits[w]);
            body[i] = (unsigned char)b;
        }
        if (kind & SX_RADIX_WIDE)
            ((uint64_t *)(void *)entries)[i] =
                F(radix_entry)(keys, leaf, all, nodes, m, from[b], end);
        else
            ((uint16_t *)(void *)entries)[i] = (uint16_t)(from[b] - start);
    }
    if (plain == SX_RADIX_256)
        return;
    for (uint32_t i = children + lane; i <= sx_radix_space(plain); i += lanes) {
        if (i < sx_radix_space(plain))
            body[i] = 255;
        if (kind & SX_RADIX_WIDE)
            ((uint64_t *)(void *)entries)[i] = sx_radix_window(m->end, 0);
        else
            ((uint16_t *)(void *)entries)[i] = (uint16_t)(m->end - start);
    }
}
