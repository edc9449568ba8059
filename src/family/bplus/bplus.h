/* bplus.h - a tree of nodes that point to each other (HB+'s regular B+-tree). Its spec is
 * btree(fill=50..100): families of one name are told apart by a parameter.
 *
 * Nodes are numbers of pools. A pool is an array of nodes of one size, in any order; a number
 * in a node says which one is meant. So a changed node can be written behind the others, and
 * the rest stays as it is. There are three pools, and what belongs to a node but is no key of
 * it is kept apart from all of them, in `links`:
 *
 *     level 0            inner |0|            the root, which may be any number
 *                            /     \
 *     level 1        inner |2|     |1|        a child is a number in the next level's pool
 *                         /   \       \
 *     level 2       last |1|  |0|     |2|     the last inner nodes: number p owns leaf p
 *                         |    |       |
 *     leaves             |1|  |0|     |2|
 *
 * A pool may have free numbers, which the tree has not: nodes that the tree before had, or will
 * be taken (bplus_pools.h). It grows at its end, where it has space (place/grow.h). The pools of
 * last inner nodes and of leaves have the same numbers, used and free:
 *
 *     inner |0|1|2|free|4| space ... |        numbers of the pool: 5; inner nodes: 4
 *     last  |0|1|free|3|free| space  |        numbers: 5; leaves: 3
 *     leaf  |0|1|free|3|free| space  |
 *
 * As built, and in a file, nothing is free, and the root is number 0.
 *
 * All leaves are under equally many nodes. A line has m keys, 16, 8 or 4 of 4, 8 or 16 bytes,
 * and a node F = m * m children: 256, 64 or 16. Separator j of a node is the last key under
 * its child j; behind the separators, one fewer than children, comes the largest key.
 *
 *     inner   | index: m keys | m lines of m separators | F children of 4 bytes, then 0 |
 *     last    | index: m keys | m lines of m separators |     its children are lines
 *
 * Key s of the index is the last of line s. So a walk reads the index, one of the lines, and
 * the one line of children that goes with it: 33, 13 or 6 lines are an inner node, 17, 9 or 5
 * a last one, and three of them, or two, are read.
 *
 * A leaf is F lines of pairs, keys in the first half of a line and rows in the second, as many
 * as both halves hold. Its keys are in its first slots, without gaps between them:
 *
 *     key + row   pairs   bytes of a line                       pairs of a leaf
 *       4 + 4       8     | 8 keys    0..31 | 8 rows 32..63 |        2048
 *       4 + 8       4     | 4 keys 0..15 |0 | 4 rows 32..63 |        1024
 *       8 + 4       4     | 4 keys    0..31 | 32..47 | 0    |         256
 *       8 + 8       4     | 4 keys    0..31 | 4 rows 32..63 |         256
 *      16 + 4       2     | 2 keys    0..31 | 32..39 | 0    |          32
 *      16 + 8       2     | 2 keys    0..31 | 32..47 | 0    |          32
 *
 * Where rows are not stored, or not here (layout=split, once), it is lines of m keys: a leaf
 * has 4096, 512 or 64. A leaf has a power of two of slots, and leaf p has slots p * that on.
 *
 *     links   | record of each leaf: first rank, keys, place | chain: leaf at each place |
 *             | children of each inner node | free leaves | free inner nodes |
 *
 * Records and numbers of children are by number in the pool, and 0 of free ones. Free numbers
 * ascend.
 *
 * The place of a leaf is its number in order of keys. Positions come from records: a walk adds
 * what it has counted to the leaf's first rank. Records and chain are what a version of the
 * tree has of its own, 20 bytes a leaf. A rank is looked for among the places by halves, but
 * first where it is in a tree as it is built.
 *
 * Nothing but a build and the sizes of sections knows how many members a node would get by
 * arithmetic; walks, slots and the check read children, records and chain.
 *
 * Invariants (index_check.c and bplus_check.c prove them by these numbers):
 *   T1  keys ascend with the rank (strictly if unique)
 *   T2  slots of a leaf behind its keys hold the largest key
 *   T3  separators, index and what is behind them are the keys that are said above
 *   T4  bytes of a line that belong to no pair are 0, and children behind the last
 *   T5  every node that is not free is the child of one, but for the root; leaves are in the
 *       chain in the order in which the tree has them, and records say their places
 *   T6  a node has from F/2 to F children, the first one from 2 on; a leaf is half full at
 *       least, unless it is the only one; records say how many keys there are before and in it
 *   T7  free numbers ascend, are numbers of their pool, and have records, or children, of 0; so
 *       every number is the tree's, or is free, once
 *
 * Slots of a free leaf are no slots (SX_HOLE): readers of a tree before may read them still.
 */
#ifndef SX_BPLUS_H
#define SX_BPLUS_H

#include "family/stretch.h"

#define SX_BPLUS_LINE 64u
#define SX_BPLUS_ROWS_AT 32u      /* pairs: the byte of a line where rows begin */
#define SX_BPLUS_LEVELS 16u       /* 8 children and more: 2^32 leaves have 12 */
#define SX_BPLUS_MOST 0xffffffffull       /* nodes of a pool: their numbers have 4 bytes */

/* By width of key: m, F, bytes of nodes, and where children begin in one. */
#define SX_BPLUS_KEYS(w) (SX_BPLUS_LINE / (w))
#define SX_BPLUS_FAN(w) (SX_BPLUS_KEYS(w) * SX_BPLUS_KEYS(w))
#define SX_BPLUS_LAST(w) ((1 + SX_BPLUS_KEYS(w)) * SX_BPLUS_LINE)
#define SX_BPLUS_INNER(w) (SX_BPLUS_LAST(w) + SX_BPLUS_FAN(w) * 4)

typedef struct {
    uint64_t first;               /* rank of its first key */
    uint32_t keys;
    uint32_t place;
} sx_bplus_record;

typedef struct sx_part_bplus {
    uint16_t levels;              /* of nodes, at least 1; the last one is of last inner nodes */
    uint16_t leaf;                /* keys of a line of a leaf */
    uint16_t fan_shift;           /* log2 of F, lines of a leaf; */
    uint16_t slot_shift;          /* log2 of its slots */
    uint32_t lab_node, lab_pipeline;      /* sx_cpu_lab of family_cpu.h; 0: the usual ones */
    uint64_t leaves, inner;       /* of the tree */
    uint64_t last_pool, inner_pool;       /* numbers of each pool: nodes of the tree, and free ones */
    uint64_t root;                /* the node of level 0 */
    uint64_t each, more;          /* as built: keys of a leaf, and how many of the first leaves
                                     have one more */
    const unsigned char *nodes, *lasts;   /* pools of inner and of last inner nodes */
    const unsigned char *links;
    uint64_t first[SX_BPLUS_LEVELS + 1];  /* as built: the number of each level's first inner
                                             node; and how many there are */
} sx_bplus;

typedef struct sx_params_bplus {
    uint32_t fill;                /* percent */
} sx_bplus_params;
enum { SX_BPLUS_FILL = 1 };       /* given */

enum { SX_SEC_INNER = SX_SEC_OWN, SX_SEC_LAST, SX_SEC_LINKS };

/* Pairs of a line. */
SX_FN uint32_t sx_bplus_pairs(uint32_t width, uint32_t row_bytes)
{
    return SX_BPLUS_ROWS_AT / (width > row_bytes ? width : row_bytes);
}

/* ---- as built -----------------------------------------------------------------------
 *
 * `all` members lie in `nodes` nodes, in order; sizes differ by one at most. */

/* Members before node g. */
SX_FN uint64_t sx_bplus_before(uint64_t all, uint64_t nodes, uint64_t g)
{
    return g * (all / nodes) + sx_min64(g, all % nodes);
}

/* Nodes of level l; behind the last one there are as many leaves as nodes. */
SX_FN uint64_t sx_bplus_nodes(const sx_bplus *t, uint32_t l)
{
    return l + 1u < t->levels ? t->first[l + 1] - t->first[l] : t->leaves;
}

/* The rank before which node g of level l ends: its last key has one less. */
SX_FN uint64_t sx_bplus_end(const sx_bplus *t, uint64_t n, uint32_t l, uint64_t g)
{
    uint64_t end = g + 1;         /* nodes up to there, level by level */

    for (uint32_t h = l; h + 1u < t->levels; h++)
        end = sx_bplus_before(sx_bplus_nodes(t, h + 1), sx_bplus_nodes(t, h), end);
    return sx_bplus_before(n, t->leaves, end);
}

/* ---- links ------------------------------------------------------------------------- */

SX_FN uint64_t sx_bplus_chain_at(const sx_bplus *t)
{
    return t->last_pool * sizeof(sx_bplus_record);
}

SX_FN uint64_t sx_bplus_sizes_at(const sx_bplus *t)
{
    return sx_bplus_chain_at(t) + t->leaves * 4;
}

/* Free numbers of the pool of last inner nodes, then of that of inner nodes; and the end. */
SX_FN uint64_t sx_bplus_free_at(const sx_bplus *t)
{
    return sx_bplus_sizes_at(t) + t->inner_pool * 4;
}

SX_FN uint64_t sx_bplus_free_inner_at(const sx_bplus *t)
{
    return sx_bplus_free_at(t) + (t->last_pool - t->leaves) * 4;
}

SX_FN uint64_t sx_bplus_links_bytes(const sx_bplus *t)
{
    return sx_bplus_free_inner_at(t) + (t->inner_pool - t->inner) * 4;
}

SX_FN const sx_bplus_record *sx_bplus_record_of(const sx_bplus *t, uint64_t p)
{
    return (const sx_bplus_record *)(const void *)t->links + p;
}

/* The leaf at a place; any bytes say one. */
SX_FN uint64_t sx_bplus_leaf_at(const sx_bplus *t, uint64_t place)
{
    const uint32_t *chain = (const uint32_t *)(const void *)(t->links + sx_bplus_chain_at(t));

    return sx_min64(chain[place], t->last_pool - 1);
}

SX_FN uint32_t sx_bplus_size_of(const sx_bplus *t, uint64_t node)
{
    return ((const uint32_t *)(const void *)(t->links + sx_bplus_sizes_at(t)))[node];
}

/* A quotient; of small numbers, as most are, by a division of 32 bits. */
SX_FN uint64_t sx_bplus_quotient(uint64_t a, uint64_t b)
{
    return a >> 32 ? a / b : (uint32_t)a / (uint32_t)b;
}

/* The place that has a rank in a tree as it is built. */
SX_FN uint64_t sx_bplus_guess(const sx_bplus *t, uint64_t rank)
{
    uint64_t longer = t->more * (t->each + 1), place;

    place = rank < longer ? sx_bplus_quotient(rank, t->each + 1)
                          : t->more + sx_bplus_quotient(rank - longer, t->each);
    return sx_min64(place, t->leaves - 1);
}

/* One halving in the search for a rank's place: skips `half` places if it is behind them. */
SX_FN uint64_t sx_bplus_halve(const sx_bplus *t, uint64_t at, uint64_t half, uint64_t rank)
{
    const sx_bplus_record *r = sx_bplus_record_of(t, sx_bplus_leaf_at(t, at + half));

    return r->first <= rank ? at + half : at;
}

/* The place of the leaf that has a rank, which is below n. */
SX_FN uint64_t sx_bplus_place_of(const sx_bplus *t, uint64_t rank)
{
    uint64_t at = sx_bplus_guess(t, rank), len = t->leaves;
    const sx_bplus_record *r = sx_bplus_record_of(t, sx_bplus_leaf_at(t, at));

    if (rank - r->first < r->keys)
        return at;
    for (at = 0; len > 1;) {      /* it is in [at, at + len) */
        uint64_t half = len / 2;
        at = sx_bplus_halve(t, at, half, rank);
        len -= half;
    }
    return at;
}

/* ---- slots (stretch.h) --------------------------------------------------------------
 *
 * Stretches are leaves, in the order of the chain. Whatever records say, slots are those of a
 * leaf, and ranks those of the span. */

SX_FN int sx_bplus_gaps(const sx_bplus *t)
{
    (void)t;
    return 1;
}

/* The slot of a rank that the leaf at this place has. */
SX_FN uint64_t sx_bplus_slot_at(const sx_bplus *t, uint64_t place, uint64_t rank)
{
    uint64_t leaf = sx_bplus_leaf_at(t, place), in = rank - sx_bplus_record_of(t, leaf)->first;

    return (leaf << t->slot_shift) + sx_min64(in, (1ull << t->slot_shift) - 1);
}

SX_FN uint64_t sx_bplus_slot_of_rank(const sx_bplus *t, uint64_t rank)
{
    return sx_bplus_slot_at(t, sx_bplus_place_of(t, rank), rank);
}

SX_FN uint64_t sx_bplus_rank_of_slot(const sx_bplus *t, uint64_t slot)
{
    const sx_bplus_record *r = sx_bplus_record_of(t, slot >> t->slot_shift);
    uint64_t in = slot & ((1ull << t->slot_shift) - 1);

    return in < r->keys ? r->first + in : r->keys ? SX_NO_RANK : SX_HOLE;
}

SX_FN uint64_t sx_bplus_stretch_count(const sx_bplus *t, uint64_t a, uint64_t b)
{
    uint64_t first = sx_bplus_place_of(t, a), last = sx_bplus_place_of(t, b - 1);

    return last < first ? 1 : last - first + 1;
}

/* What of the leaf at this place is in the span. */
SX_FN sx_stretch sx_bplus_stretch_at(const sx_bplus *t, uint64_t place, uint64_t a, uint64_t b)
{
    sx_stretch r;
    uint64_t begin, end;          /* its ranks */

    r.level = sx_bplus_leaf_at(t, place);
    begin = sx_bplus_record_of(t, r.level)->first;
    end = begin + sx_min64(sx_bplus_record_of(t, r.level)->keys, 1ull << t->slot_shift);
    end = end < b ? end : b;
    r.slot = r.level << t->slot_shift;
    r.first = a < begin ? begin : a;
    r.n = r.first < end ? end - r.first : 0;
    if (r.n > 0)
        r.slot += r.first - begin;
    else
        r.first = a;              /* in the span, whatever the record says */
    return r;
}

SX_FN sx_stretch sx_bplus_stretch_of(const sx_bplus *t, uint64_t i, uint64_t a, uint64_t b)
{
    return sx_bplus_stretch_at(t, sx_min64(sx_bplus_place_of(t, a) + i, t->leaves - 1), a, b);
}

SX_FN sx_stretch_ranks sx_bplus_stretch_begin(const sx_bplus *t, const sx_stretch *r, uint64_t j)
{
    (void)t;
    return sx_ranks_from(r->first + j);
}

SX_FN uint64_t sx_bplus_stretch_next(const sx_bplus *t, sx_stretch_ranks *it)
{
    (void)t;
    return it->at++;
}

#endif
