/* radix_check.c - goes through a radix tree in the order of its section, and compares each node
 * with the keys under it. It shares nothing with the code that makes trees. */
#include "family/radix/radix_check.h"

#include "family/index_check.h"
#include "family/radix/radix_make.h"

#include <string.h>

/* A node on the way to the one that is looked at. */
typedef struct {
    uint64_t end;                 /* of its keys */
    uint64_t from;                /* where the keys of the next child begin */
    const unsigned char *node;
    uint64_t at;                  /* its units */
    uint32_t kind, depth, child;  /* child: the next one's number */
} visit;

typedef struct {
    const sx_view *v;
    sx_err *err;
    visit way[17];
    uint32_t levels;              /* of the way */
    uint64_t next;                /* units of the next node in the section */
    sx_radix_meta found;
} walk;

static sx_key16 key_at(const sx_view *v, uint64_t rank)
{
    return sx_check_key(v, v->keys + sx_key_offset(v, rank));
}

static uint32_t common(const sx_view *v, sx_key16 a, sx_key16 b)
{
    uint32_t bytes = 0;

    while (bytes < v->width && (uint8_t)(a >> 8 * (v->width - 1 - bytes)) ==
                                   (uint8_t)(b >> 8 * (v->width - 1 - bytes)))
        bytes++;
    return bytes;
}

static uint32_t byte_at(const sx_view *v, uint64_t rank, uint32_t depth)
{
    return (uint8_t)(key_at(v, rank) >> 8 * (v->width - 1 - depth));
}

/* The rank behind the keys of [from, end) that have the byte of the first. They are few or many,
 * and looked at once: a tree's check is linear. */
static uint64_t same_byte(const sx_view *v, uint64_t from, uint64_t end, uint32_t depth)
{
    uint32_t b = byte_at(v, from, depth);

    while (from < end && byte_at(v, from, depth) == b)
        from++;
    return from;
}

static sx_status broken(const walk *w, const char *rule, const char *what, uint64_t where)
{
    return sx_check_broken(w->v, rule, what, where, w->err);
}

/* How many children keys [from, end) make, and whether one of them is a node. */
static uint32_t children_of(const walk *w, uint64_t from, uint64_t end, uint32_t depth, int *inner)
{
    uint32_t children = 0;

    *inner = 0;
    while (from < end) {
        uint64_t behind = same_byte(w->v, from, end, depth);
        children++;
        *inner |= behind - from > w->v->of.radix.leaf &&
                  key_at(w->v, from) != key_at(w->v, behind - 1);
        from = behind;
    }
    return children;
}

static uint64_t read_64(const unsigned char *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof x);
    return x;
}

/* Entry i of a node as a wide one, its start relative to the node's in a narrow one. */
static uint64_t entry_of(const sx_view *v, const visit *n, uint32_t i)
{
    const unsigned char *entries = n->node + sx_radix_head(v->width) + sx_radix_entries(n->kind);
    uint16_t narrow;

    if (n->kind & SX_RADIX_WIDE)
        return read_64(entries + 8 * (uint64_t)i);
    memcpy(&narrow, entries + 2 * (uint64_t)i, sizeof narrow);
    return narrow;
}

/* The entry that child [from, end) of a node has, unless it is a node. */
static uint64_t leaf_entry(const visit *n, uint64_t from, uint64_t end)
{
    uint64_t start = read_64(n->node) & SX_RADIX_RANK;

    return n->kind & SX_RADIX_WIDE ? sx_radix_window(from, end - from) : from - start;
}

/* T5 for bytes of a node that belong to nothing. */
static sx_status check_rest(const walk *w, const visit *n)
{
    uint32_t width = w->v->width, head = sx_radix_head(width), plain = n->kind & 7u;
    uint32_t from = plain == SX_RADIX_BITS
                        ? head + 32 : head + sx_radix_entries(n->kind) +
                              (sx_radix_space(plain) + 1) * (n->kind & SX_RADIX_WIDE ? 8 : 2);

    for (uint32_t i = from; i < sx_radix_bytes(n->kind, width); i++)
        if (n->node[i])
            return broken(w, "T5", "not 0 behind the entries of the node in unit", n->at);
    for (uint32_t i = width == 16 ? 8 : 8 + width; i < (width == 16 ? 16u : 16u); i++)
        if (n->node[i])
            return broken(w, "T5", "not 0 beside the stem of the node in unit", n->at);
    if (n->kind == (SX_RADIX_4 | SX_RADIX_WIDE) && (n->node[head + 4] || n->node[head + 5] ||
                                                    n->node[head + 6] || n->node[head + 7]))
        return broken(w, "T5", "not 0 beside the bytes of the node in unit", n->at);
    return SX_OK;
}

/* A node's bits, one for each key. */
static sx_status check_bits(const walk *w, const visit *n, uint64_t from)
{
    const unsigned char *body = n->node + sx_radix_head(w->v->width);

    for (uint32_t b = 0; b < 256; b++) {
        int there = from < n->end && byte_at(w->v, from, n->depth) == b;
        if ((body[b / 8] >> b % 8 & 1) != there)
            return broken(w, "T3", "bits that are not those of its keys, in unit", n->at);
        from += (uint64_t)there;
    }
    return SX_OK;
}

/* Behind the last child: bytes and entries. Of a node of kind 256 the entries of bytes without a
 * child are looked at here, too. */
static sx_status check_ends(const walk *w, const visit *n, uint64_t from)
{
    const unsigned char *body = n->node + sx_radix_head(w->v->width);
    uint32_t plain = n->kind & 7u, i = n->child;

    if (plain != SX_RADIX_256) {
        for (; i <= sx_radix_space(plain); i++)
            if (entry_of(w->v, n, i) != leaf_entry(n, n->end, n->end) ||
                (i < sx_radix_space(plain) && body[i] != 255))
                return broken(w, "T5", "another end than that of its keys, node in unit", n->at);
        return SX_OK;
    }
    for (uint32_t b = 0; b <= 256; b++) {
        if (b < 256 && from < n->end && byte_at(w->v, from, n->depth) == b)
            from = same_byte(w->v, from, n->end, n->depth);
        else if (entry_of(w->v, n, b) != leaf_entry(n, from, from))
            return broken(w, "T5", "a byte without child leads astray, node in unit", n->at);
    }
    return SX_OK;
}

/* The next node in the section has keys [from, end): T1, T2, T4. Its children come later. */
static sx_status check_node(walk *w, uint64_t at, uint32_t kind, uint32_t depth, uint64_t from,
                            uint64_t end)
{
    const sx_view *v = w->v;
    const sx_radix *t = &v->of.radix;
    visit *n = &w->way[w->levels];
    uint32_t children, smallest;
    sx_key16 first, stem;
    int inner;

    if (at != w->next || at >= t->units || w->levels >= v->width)
        return broken(w, "T1", "not where the order of nodes says, the node in unit", at);
    *n = (visit){.end = end, .from = from, .node = t->nodes + at * SX_RADIX_UNIT, .at = at,
                 .kind = kind, .depth = depth};
    first = key_at(v, from);
    if (depth >= v->width || common(v, first, key_at(v, end - 1)) != depth)
        return broken(w, "T2", "its keys have another number of bytes in common, node in unit", at);
    stem = sx_check_key(v, n->node + (v->width == 16 ? 16 : 8));
    if (stem != (depth ? first >> 8 * (v->width - depth) : 0) ||
        read_64(n->node) != (from | (uint64_t)depth << 48 | (uint64_t)kind << 56))
        return broken(w, "T2", "another stem or head than its keys have, node in unit", at);
    children = children_of(w, from, end, depth, &inner);
    smallest = depth + 1 == v->width && children == end - from ? SX_RADIX_BITS
               : (children <= 4 ? SX_RADIX_4 : children <= 16 ? SX_RADIX_16
                  : children <= 48 ? SX_RADIX_48 : SX_RADIX_256) |
                     (inner || end - from > SX_RADIX_NARROW_MOST ? SX_RADIX_WIDE : 0);
    if (kind != smallest)
        return broken(w, "T4", "another kind than its children need, node in unit", at);
    w->next += sx_radix_bytes(kind, v->width) / SX_RADIX_UNIT;
    if (w->next > t->units)
        return broken(w, "T1", "past the end of all nodes, the node in unit", at);
    w->found.count[kind & 7u]++;
    w->levels++;
    w->found.levels = w->levels > w->found.levels ? w->levels : w->found.levels;
    if (kind == SX_RADIX_BITS) {
        n->from = end;
        return check_bits(w, n, from);
    }
    return SX_OK;
}

/* The next child of the node that the way ends with: T3. It may be a node; then the way is one
 * longer. */
static sx_status check_child(walk *w)
{
    const sx_view *v = w->v;
    visit *n = &w->way[w->levels - 1];
    uint64_t from = n->from, end = same_byte(v, from, n->end, n->depth), entry;
    uint32_t b = byte_at(v, from, n->depth), i = (n->kind & 7u) == SX_RADIX_256 ? b : n->child;

    n->from = end;
    n->child++;
    if ((n->kind & 7u) != SX_RADIX_256 && n->node[sx_radix_head(v->width) + i] != b)
        return broken(w, "T3", "another byte than its keys have, node in unit", n->at);
    entry = entry_of(v, n, i);
    if (end - from > v->of.radix.leaf && key_at(v, from) != key_at(v, end - 1)) {
        if (entry >> 52)
            return broken(w, "T3", "no node for many keys, under that in unit", n->at);
        return check_node(w, n->at + (entry & SX_RADIX_AT), (uint32_t)(entry >> 48) & 15u,
                          (uint32_t)(entry >> 40) & 255u, from, end);
    }
    return entry == leaf_entry(n, from, end)
               ? SX_OK : broken(w, "T3", "a leaf of other keys, under the node in unit", n->at);
}

static sx_status check_meta(const walk *w)
{
    const sx_radix *t = &w->v->of.radix;

    if (w->next != t->units || w->found.levels != t->levels ||
        memcmp(w->found.count, t->count, sizeof t->count) != 0)
        return broken(w, "T6", "other numbers of nodes than there are; units that were found:",
                      w->next);
    for (uint64_t i = 0; t->units && i < SX_RADIX_SPARE; i++)
        if (t->nodes[t->units * SX_RADIX_UNIT + i])
            return broken(w, "T5", "not 0 behind all nodes, in byte", i);
    return SX_OK;
}

sx_status sx_radix_check(const sx_view *v, sx_err *err)
{
    walk w = {.v = v, .err = err};
    const sx_radix *t = &v->of.radix;
    int leaf = v->n <= t->leaf || key_at(v, 0) == key_at(v, v->n - 1);
    sx_status st = SX_OK;

    if (leaf != (t->levels == 0))
        return broken(&w, "T6", "a tree and no need for one, or none; levels:", t->levels);
    if (!leaf)
        st = check_node(&w, 0, (uint32_t)(t->root >> 48) & 15u, (uint32_t)(t->root >> 40) & 255u, 0,
                        v->n);
    while (st == SX_OK && w.levels > 0) {
        visit *n = &w.way[w.levels - 1];
        if (n->from < n->end) {
            st = check_child(&w);
            continue;
        }
        if (n->kind != SX_RADIX_BITS)
            st = check_ends(&w, n, read_64(n->node) & SX_RADIX_RANK);
        if (st == SX_OK)
            st = check_rest(&w, n);
        w.levels--;
    }
    return st == SX_OK ? check_meta(&w) : st;
}
