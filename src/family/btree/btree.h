/* btree.h - a tree of lines without pointers (HB+'s implicit B+-tree).
 *
 * Leaves are lines of 64 bytes with keys and their rows, in order of rank. Above them lie
 * nodes of one line each, levels stored from the top, each in breadth-first order. A node
 * has up to k children and k-1 separators; what is left of its line is the largest key:
 *
 *     level 0                     | s s . |                  k = 3
 *     level 1        | s s . |    | s s . |    | s * . |
 *     leaves       |leaf|leaf|leaf|leaf|leaf|leaf|leaf|leaf|
 *
 * Child j of node g is node g*k + j of the next level. Separator j is the last key of what
 * lies under child j, and a query goes to the first child whose separator is not below it,
 * so that its lower bound is in the leaf it is led to.
 *
 * A leaf has as many pairs as a line holds, keys before rows, each aligned:
 *
 *     key + row   pairs   bytes of a line
 *       4 + 4       8     | 8 keys         0..31 | 8 rows 32..63 |
 *       4 + 8       5     | 5 keys  0..19 | 0 | 5 rows    24..63 |
 *       8 + 4       5     | 5 keys            0..39 | 40..59 | 0 |
 *       8 + 8       4     | 4 keys         0..31 | 4 rows 32..63 |
 *      16 + 4       3     | 3 keys                0..47 |..59| 0 |
 *      16 + 8       2     | 2 keys         0..31 | 32..47 | 0    |
 *
 * Where rows are not stored, or not here (layout=split, once), it is a line of keys: 16, 8
 * or 4 of them.
 *
 * Slots have blocks of a power of two. A leaf of 5 pairs has the first 5 of 8 slots, one of
 * 3 the first 3 of 4: slot numbers have holes, and addresses follow from them as in any
 * layout (view.h). Other leaves have as many slots as keys, and slots are ranks.
 *
 * Invariants (index_check.c and btree.c prove them by these numbers):
 *   B1  keys ascend with the rank (strictly if unique)
 *   B2  slots of the last line that have no key hold the largest one
 *   B3  separator j of a node is the key that sx_btree_source() names, or the largest key
 *       where that lies past the end; so are the places of a node behind separator k-2
 *   B4  bytes of a leaf that belong to no pair are 0
 */
#ifndef SX_BTREE_H
#define SX_BTREE_H

#include "family/stretch.h"

#define SX_BTREE_LINE 64u
#define SX_BTREE_K_MAX 17u        /* 16 separators of 4 bytes */

typedef struct sx_part_btree {
    uint16_t k;                   /* children of a node */
    uint16_t levels;              /* of nodes */
    uint16_t leaf;                /* keys of a leaf */
    uint16_t rows_at;             /* pairs: the byte of a leaf where its rows begin */
    uint64_t leaves;
    const unsigned char *nodes;   /* or NULL */
    uint32_t lab_node, lab_pipeline;      /* sx_cpu_lab of family_cpu.h; 0: the usual ones */
    uint64_t first[SX_LEVELS_MAX + 1];    /* node of each level, counted from the first
                                             of all; and how many there are */
} sx_btree;

typedef struct sx_params_btree {
    uint32_t k;
} sx_btree_params;
enum { SX_BTREE_K = 1 };          /* given */

enum { SX_SEC_NODES = SX_SEC_OWN };

/* The byte of a leaf where rows begin: behind its keys, aligned. */
#define SX_BTREE_ROWS_AT(width, row_bytes) \
    (((SX_BTREE_LINE / ((width) + (row_bytes)) * (width)) + (row_bytes) - 1) / (row_bytes) * (row_bytes))

/* Pairs of a line. */
SX_FN uint32_t sx_btree_pairs(uint32_t width, uint32_t row_bytes)
{
    return SX_BTREE_LINE / (width + row_bytes);
}

/* Pairs: where the parts of a leaf end. Bytes behind keys, up to rows_at, and behind rows
 * belong to no pair. */
SX_FN uint32_t sx_btree_keys_end(const sx_btree *t, uint32_t width)
{
    return t->leaf * width;
}

SX_FN uint32_t sx_btree_rows_end(const sx_btree *t, uint32_t row_bytes)
{
    return t->rows_at + t->leaf * row_bytes;
}

/* All bytes of a leaf belong to pairs, or it is one of keys alone. */
SX_FN int sx_btree_full(const sx_btree *t, uint32_t width, uint32_t row_bytes)
{
    return t->rows_at == 0 || t->leaf * (width + row_bytes) == SX_BTREE_LINE;
}

/* Slots of a leaf: its keys, and holes up to a power of two. */
SX_FN uint32_t sx_btree_places(uint32_t leaf)
{
    return leaf == 5 ? 8 : leaf == 3 ? 4 : leaf;
}

/* The rank that separator j < k-1 of node g of level l takes its key from; n or more: past
 * the end. (One load, one store per separator.) */
SX_FN uint64_t sx_btree_source(const sx_btree *t, uint32_t l, uint64_t g, uint32_t j)
{
    uint64_t under = t->leaf;     /* keys under one child of this level */

    for (uint32_t h = l + 1; h < t->levels; h++)
        under *= t->k;
    return under * (g * t->k + j + 1) - 1;
}

/* ---- slots (stretch.h) --------------------------------------------------------------
 *
 * Divisions are by constants: a uniform branch is cheaper than a division by a number. */

SX_FN int sx_btree_gaps(const sx_btree *t)
{
    return t->leaf == 5 || t->leaf == 3;
}

SX_FN uint64_t sx_btree_slot_of_rank(const sx_btree *t, uint64_t rank)
{
    return t->leaf == 5 ? rank / 5 * 8 + rank % 5 : t->leaf == 3 ? rank / 3 * 4 + rank % 3 : rank;
}

SX_FN uint64_t sx_btree_rank_of_slot(const sx_btree *t, uint64_t slot)
{
    if (t->leaf == 5)
        return slot % 8 < 5 ? slot / 8 * 5 + slot % 8 : SX_HOLE;
    if (t->leaf == 3)
        return slot % 4 < 3 ? slot / 4 * 3 + slot % 4 : SX_HOLE;
    return slot;
}

/* The leaf of a rank, where there are gaps. */
SX_FN uint64_t sx_btree_leaf_of(const sx_btree *t, uint64_t rank)
{
    return t->leaf == 5 ? rank / 5 : rank / 3;
}

SX_FN uint64_t sx_btree_stretch_count(const sx_btree *t, uint64_t a, uint64_t b)
{
    return sx_btree_gaps(t) ? sx_btree_leaf_of(t, b - 1) - sx_btree_leaf_of(t, a) + 1 : 1;
}

/* What of a leaf is in the span. */
SX_FN sx_stretch sx_btree_stretch_of(const sx_btree *t, uint64_t i, uint64_t a, uint64_t b)
{
    sx_stretch r;
    uint64_t begin;               /* its first rank */

    if (!sx_btree_gaps(t))
        return sx_stretch_whole(a, b);
    r.level = sx_btree_leaf_of(t, a) + i;
    begin = r.level * t->leaf;
    r.first = a < begin ? begin : a;
    r.n = sx_min64(b, begin + t->leaf) - r.first;
    r.slot = r.level * sx_btree_places(t->leaf) + (r.first - begin);
    return r;
}

SX_FN sx_stretch_ranks sx_btree_stretch_begin(const sx_btree *t, const sx_stretch *r, uint64_t j)
{
    (void)t;
    return sx_ranks_from(r->first + j);
}

SX_FN uint64_t sx_btree_stretch_next(const sx_btree *t, sx_stretch_ranks *it)
{
    (void)t;
    return it->at++;
}

#endif
