/* radix_walk_impl.h - the left bound in a sorted array under a radix tree.
 *
 * Parameters: as array_walk_impl.h, which comes before it, and
 *   SX_BYTES_BELOW(p, b)      how many of the 16 bytes at p, a boundary of 16, are below b
 *   SX_BYTES_BELOW_4(p, b)    the same of 4 bytes, at a boundary of 4
 *   SX_RADIX_NUMBER(type, p)  a number of a node: a plain read, unless it is defined before
 *
 * A walk goes from state to state (radix.h), a node each, and ends with a window of the array.
 * It is over after as many steps as the tree has levels, whatever the bytes in the sections
 * are, and each step stays inside of them: a state's units are at most the last one's, and
 * behind that there is space for any node. Ranks end in a minimum with n. */

#ifndef SX_RADIX_NUMBER
#define SX_RADIX_NUMBER(type, p) (*(const type *)(const void *)(p))
#endif

SX_WALK uint32_t F(radix_depth)(uint64_t state)
{
    uint32_t depth = (uint32_t)(state >> 40) & 255u;

    return depth < W - 1 ? depth : W - 1;
}

SX_WALK const unsigned char *F(radix_node)(const sx_view *v, uint64_t state)
{
    return v->of.radix.nodes + (state & SX_RADIX_AT) * SX_RADIX_UNIT;
}

SX_WALK KEY F(radix_stem)(const unsigned char *node)
{
    return SX_LOAD(node + (W == 16 ? 16 : 8));
}

/* The byte of q behind so many, and, as a number, those before it. */
SX_WALK KEY F(radix_split)(KEY q, uint32_t depth, uint32_t *byte)
{
    KEY upper = (KEY)(q >> 8 * (W - 1 - depth));

    *byte = (uint32_t)upper & 255u;
    return (KEY)(upper >> 8);
}

SX_WALK uint32_t F(radix_narrow)(const unsigned char *entries, uint32_t i)
{
    return SX_RADIX_NUMBER(uint16_t, entries + 2 * (uint64_t)i);
}

SX_WALK uint64_t F(radix_wide)(const unsigned char *entries, uint32_t i)
{
    return SX_RADIX_NUMBER(uint64_t, entries + 8 * (uint64_t)i);
}

/* Which child of a node is the first whose byte is not below b. *hit: it is b's. In a node of
 * kind 256 each byte has an entry. body: behind head and stem. */
SX_WALK uint32_t F(radix_child)(const unsigned char *body, uint32_t kind, uint32_t b, int *hit)
{
    uint32_t i, most;

    *hit = 1;
    if ((kind & 7u) == SX_RADIX_256)
        return b;
    if ((kind & 7u) == SX_RADIX_4) {
        i = SX_BYTES_BELOW_4(body, b);
        most = 4;
    } else if ((kind & 7u) == SX_RADIX_16) {
        i = SX_BYTES_BELOW(body, b);
        most = 16;
    } else {
        i = SX_BYTES_BELOW(body, b) + SX_BYTES_BELOW(body + 16, b) + SX_BYTES_BELOW(body + 32, b);
        most = 48;
    }
    *hit = i < most && SX_RADIX_NUMBER(uint8_t, body + (i < most ? i : 0)) == b;
    return i;
}

/* A window that begins at any rank and has any count, inside the array. */
SX_WALK uint64_t F(radix_inside)(const sx_view *v, uint64_t start, uint64_t count)
{
    start = sx_min64(start, v->n);
    return sx_radix_window(start, sx_min64(count, v->n - start));
}

/* Bits of a node: how many are below byte b, which may be 256. */
SX_WALK uint32_t F(radix_bits)(const unsigned char *body, uint32_t b)
{
    uint32_t below = 0;

    for (uint32_t i = 0; i < 8; i++) {
        uint32_t word = SX_RADIX_NUMBER(uint32_t, body + 4 * i);
        uint32_t some = b >= 32 * i + 32 ? ~0u : b <= 32 * i ? 0 : (1u << (b - 32 * i)) - 1;
        below += SX_RADIX_POPC(word & some);
    }
    return below;
}

/* The query's bytes are not a node's stem: its bound is before all keys of the node, or behind
 * them. */
SX_WALK uint64_t F(radix_beside)(const sx_view *v, const unsigned char *body, uint32_t kind,
                                 uint64_t start, int behind)
{
    uint32_t plain = kind & 7u, last = sx_radix_space(plain);
    const unsigned char *entries = body + sx_radix_entries(kind);

    if (behind && plain >= SX_RADIX_BITS)
        start += F(radix_bits)(body, 256);
    else if (behind && kind & SX_RADIX_WIDE)
        start = F(radix_wide)(entries, last) & SX_RADIX_RANK;
    else if (behind)
        start += F(radix_narrow)(entries, last);
    return F(radix_inside)(v, start, 0);
}

/* From an entry of a wide node: a leaf's window, or the next state; where the child begins, if
 * it is not the query's. */
SX_WALK uint64_t F(radix_enter_child)(const sx_view *v, uint64_t state, uint64_t entry, int hit)
{
    uint64_t at = (state & SX_RADIX_AT) + (entry & SX_RADIX_AT), last = v->of.radix.units - 1;

    at = sx_min64(at, last);
    if (entry & SX_RADIX_DONE)
        return F(radix_inside)(v, entry & SX_RADIX_RANK, hit ? entry >> 48 & SX_RADIX_MANY : 0);
    if (hit)
        return (entry & ~(SX_RADIX_AT | SX_RADIX_DONE)) | at;
    return F(radix_inside)(v, SX_RADIX_NUMBER(uint64_t, F(radix_node)(v, at)) & SX_RADIX_RANK, 0);
}

/* From a state that is not done to the next. */
SX_WALK uint64_t F(radix_step)(const sx_view *v, uint64_t state, KEY q)
{
    const unsigned char *node = F(radix_node)(v, state), *body = node + sx_radix_head(W), *entries;
    uint32_t kind = (uint32_t)(state >> 48) & 15u, b, i, a;
    uint64_t start = SX_RADIX_NUMBER(uint64_t, node) & SX_RADIX_RANK;
    KEY path = F(radix_split)(q, F(radix_depth)(state), &b), stem = F(radix_stem)(node);
    int hit;

    if (path != stem)
        return F(radix_beside)(v, body, kind, start, path > stem);
    if ((kind & 7u) >= SX_RADIX_BITS) {
        start = sx_min64(start + F(radix_bits)(body, b), v->n);
        hit = SX_RADIX_NUMBER(uint32_t, body + 4 * (b / 32)) >> b % 32 & 1u;
        return hit ? SX_RADIX_DONE | (uint64_t)SX_RADIX_HERE << 48 | start
                   : sx_radix_window(start, 0);
    }
    i = F(radix_child)(body, kind, b, &hit);
    entries = body + sx_radix_entries(kind);
    if (kind & SX_RADIX_WIDE)
        return F(radix_enter_child)(v, state, F(radix_wide)(entries, i), hit);
    a = F(radix_narrow)(entries, i);
    return F(radix_inside)(v, start + a,
                           hit ? (F(radix_narrow)(entries, i + 1) - a) & 0xffffu : 0);
}

/* Any number as a state at level l. */
SX_WALK uint64_t F(radix_enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    const sx_radix *t = &v->of.radix;

    if (l == 0)
        return t->root;
    if (l >= t->levels || at & SX_RADIX_DONE)
        return at | SX_RADIX_DONE;
    return (at & ~SX_RADIX_AT) | sx_min64(at & SX_RADIX_AT, t->units - 1);
}

/* Where a walk has ended: *count keys from the rank that is returned on. The bound is among
 * them, or right behind. A walk that has not ended after all levels, in a damaged file, is
 * among all keys. */
SX_WALK uint64_t F(radix_ended)(const sx_view *v, uint64_t state, uint64_t *count)
{
    uint64_t start = sx_min64(state & SX_RADIX_RANK, v->n);

    *count = state >> 48 & SX_RADIX_MANY;
    if (!(state & SX_RADIX_DONE))
        start = 0;
    if (*count == SX_RADIX_HERE)
        *count = 0;
    if (*count == SX_RADIX_MANY || !(state & SX_RADIX_DONE) || *count > v->n - start)
        *count = v->n - start;
    return start;
}

SX_WALK uint64_t F(radix_walk)(const sx_view *v, KEY q)
{
    uint64_t state = v->of.radix.root;

    for (uint32_t l = 0; l < v->of.radix.levels && !(state & SX_RADIX_DONE); l++)
        state = F(radix_step)(v, state, q);
    return state;
}

/* ---- prefixes -------------------------------------------------------------------------------
 *
 * A prefix is the first `bits` of q, which has zeros behind them. Its keys lie side by side, so
 * both of their ends are in the node that the prefix ends in. One walk comes to it, by the steps
 * above, and reads no other node but the heads of children that begin at an end.
 *
 * An end is a window, in which it is searched for, or a node, at whose first key it is. */

/* The bits of a key behind its first ones; none, if these are all or more. */
SX_WALK KEY F(prefix_rest)(uint32_t bits)
{
    return bits < 8 * W ? (KEY)((KEY)~(KEY)0 >> bits) : 0;
}

/* Whether the prefix goes on behind the byte that a node splits by. */
SX_WALK int F(radix_goes_on)(uint64_t state, uint32_t bits)
{
    return bits > 8 * F(radix_depth)(state) + 8;
}

/* Where entry i of a node begins. */
SX_WALK uint64_t F(radix_edge)(const sx_view *v, uint64_t state, const unsigned char *entries,
                               uint32_t i, uint64_t start)
{
    uint64_t entry;

    if (!((state >> 48) & SX_RADIX_WIDE))
        return F(radix_inside)(v, start + F(radix_narrow)(entries, i), 0);
    entry = F(radix_wide)(entries, i);
    if (entry & SX_RADIX_DONE)
        return F(radix_inside)(v, entry & SX_RADIX_RANK, 0);
    return F(radix_enter_child)(v, state, entry, 1);
}

/* The node that the prefix ends in, by its state: both ends. Its stem has all of the prefix, or is
 * all of the prefix but the bits that bytes b up to, not with, `behind` begin with. */
SX_WALK void F(radix_ends)(const sx_view *v, uint64_t state, KEY q, uint32_t bits, uint64_t *lo,
                           uint64_t *hi)
{
    const unsigned char *node = F(radix_node)(v, state), *body = node + sx_radix_head(W), *entries;
    uint32_t kind = (uint32_t)(state >> 48) & 15u, depth = F(radix_depth)(state), b, behind, i, j;
    uint32_t rest = bits < 8 * depth ? 8 * depth - bits : 0;
    uint64_t start = SX_RADIX_NUMBER(uint64_t, node) & SX_RADIX_RANK;
    KEY path = F(radix_split)(q, depth, &b), stem = F(radix_stem)(node);
    int hit;

    if (path >> rest != stem >> rest) {
        *lo = *hi = F(radix_beside)(v, body, kind, start, path > stem);
        return;
    }
    if (bits <= 8 * depth) {
        *lo = F(radix_inside)(v, start, 0);
        *hi = F(radix_beside)(v, body, kind, start, 1);
        return;
    }
    behind = b + (256u >> (bits - 8 * depth));
    if ((kind & 7u) >= SX_RADIX_BITS) {
        *lo = F(radix_inside)(v, start + F(radix_bits)(body, b), 0);
        *hi = F(radix_inside)(v, start + F(radix_bits)(body, behind), 0);
        return;
    }
    entries = body + sx_radix_entries(kind);
    i = F(radix_child)(body, kind, b, &hit);
    j = behind < 256 ? F(radix_child)(body, kind, behind, &hit) : sx_radix_space(kind & 7u);
    *lo = F(radix_edge)(v, state, entries, i, start);
    *hi = i == j ? *lo : F(radix_edge)(v, state, entries, j, start);
}

/* An end that is a node becomes a window. */
SX_WALK uint64_t F(radix_end_window)(const sx_view *v, uint64_t end)
{
    if (end & SX_RADIX_DONE)
        return end;
    return F(radix_inside)(v, SX_RADIX_NUMBER(uint64_t, F(radix_node)(v, end)) & SX_RADIX_RANK, 0);
}
