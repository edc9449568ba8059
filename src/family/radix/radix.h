/* radix.h - a sorted array under an adaptive radix tree.
 *
 * Slots are ranks. A node stands for all keys that begin with the same `depth` bytes, its
 * stem, and has a child for each byte that follows the stem in some key. A child with at most
 * `leaf` keys, or with equal keys only, is no node but a leaf: a window of the array (lazy
 * expansion). A stem is as long as it can be, so every node has two children or more (path
 * compression), and it is stored whole: a walk compares it where it finds it, however many
 * bytes were skipped.
 *
 *     nodes  | node | its first child that is a node, and all below | the second ... |
 *            depth-first, in units of 16 bytes; behind them SX_RADIX_SPARE bytes of zeros, so
 *            that any node can be read wherever one is said to be
 *     node   | head | stem | bytes | entries |
 *            head  8 bytes: rank of the first key (48 bits), depth (8), kind (8)
 *            stem  the first `depth` bytes as a number, in 8 bytes (keys of 16 bytes: in 16,
 *                  at the next boundary of 16)
 *
 *     kind   children   bytes                      entries, one more than children can be
 *     4      2 to 4     4, ascending               5
 *     16     5 to 16    16                         17
 *     48     17 to 48   48                         49
 *     256    49 to 256  none: a byte is a number   257
 *     bits   any        none: 32 bytes, a bit for each byte that ends a key; no entries
 *
 * Bytes and entries behind the last child are 255 and the end of the node's keys. So is entry
 * 256. In a node of kind 256 the entry of a byte without child is where the next child begins.
 * The first child whose byte is not below the query's byte is the query's, or it begins where
 * the query's keys would be: left bounds come out of one way down.
 *
 * A node is narrow if all its children are leaves and it has fewer than 2^16 keys. Its entries
 * have 2 bytes: the rank of the child's first key, less the node's. Other nodes are wide. Their
 * entries have 8 bytes:
 *
 *     a leaf   | 1 | how many keys, 15 bits | rank of the first, 48 bits |
 *     a node   | 0 | unused | kind, 4 bits | depth, 8 bits | how many units behind this, 40 bits |
 *
 * A count of SX_RADIX_MANY stands for so many or more, or one or two less. Only keys that are all
 * equal are so many. What a leaf's entry says is also what a walk ends with: a count of 0 if no
 * key is the query, and SX_RADIX_HERE, which no entry has, if the key of this rank is the query
 * for certain. What a node's entry says is where a walk stands: its state (state.h), in which the
 * units are counted from the section's start. So a step knows the kind and the depth before it
 * reads the node, and asks for the head and the entry at the same time.
 *
 * Bits are for nodes whose stems lack one byte and whose keys are distinct: each key is one
 * bit, and 256 of them take 48 bytes.
 *
 *     meta   | state of the root | levels | units | nodes of each kind, 4 to bits |
 *
 * Levels are the nodes on the longest way down. If all keys are one leaf, there are none, and
 * the root's state is that leaf.
 *
 * Keys of any length. A node's stem is then longer than it has space for: depth is counted in
 * the skipped bytes, whose first 8 take the stem's place, and the rest are compared with the
 * key at the node's rank. A key that ends where others go on is a child of its own before byte 0.
 *
 * Invariants (index_check.c, radix_check.c):
 *   P1, P2  as of a sorted array (sorted.h)
 *   T1  nodes lie in the order of a walk through all of the tree that visits a node before its
 *       children, and fill the section: each is reached exactly once
 *   T2  a node's stem and depth are what its first and last key have in common, all of it
 *   T3  its children are the bytes that follow the stem, in order; each has the keys that have
 *       this byte, and is a leaf if, and only if, these are at most `leaf` or all equal
 *   T4  its kind is the smallest that holds its children; it is narrow, or has bits, if it can
 *   T5  unused bytes, entries and the bytes behind the nodes are as said above
 *   T6  meta says what is so */
#ifndef SX_RADIX_H
#define SX_RADIX_H

#include "family/radix/radix_bytes.h"
#include "family/stretch.h"

enum { SX_RADIX_4, SX_RADIX_16, SX_RADIX_48, SX_RADIX_256, SX_RADIX_BITS, SX_RADIX_KINDS };
#define SX_RADIX_WIDE 8u          /* added to a kind */

typedef struct sx_part_radix {
    uint32_t leaf;                /* most keys of a leaf that are not all equal */
    uint32_t levels;
    uint64_t root;                /* the state that walks begin with */
    uint64_t units;               /* of all nodes */
    uint64_t count[SX_RADIX_KINDS];
    const unsigned char *nodes;   /* or NULL */
} sx_radix;
SX_SLOTS_BY_RANK(radix)

typedef struct sx_params_radix {
    uint32_t leaf;
} sx_radix_params;
enum { SX_RADIX_LEAF = 1 };       /* given */

enum { SX_SEC_TREE = SX_SEC_OWN, SX_SEC_RADIX_NODES };

#define SX_RADIX_LEAF_MAX 255u
#define SX_RADIX_UNIT 16u
#define SX_RADIX_SPARE 2112u      /* the largest node has 32 + 257 * 8 bytes, in units */
#define SX_RADIX_DONE (1ull << 63)
#define SX_RADIX_MANY 0x7fffu
#define SX_RADIX_HERE 0x7ffeu
#define SX_RADIX_RANK 0xffffffffffffull
#define SX_RADIX_AT 0xffffffffffull
#define SX_RADIX_NARROW_MOST 65535u

/* What the section `meta` has. */
typedef struct {
    uint64_t root, levels, units, count[SX_RADIX_KINDS];
} sx_radix_meta;

/* A node while the tree is made. */
typedef struct {
    uint64_t at;                  /* rank of its first key, and depth above 48 bits */
    uint64_t end;                 /* rank behind its last key */
    uint64_t place;               /* kind above 56 bits; its units, then those before it */
} sx_radix_making;

SX_FN uint64_t sx_radix_window(uint64_t start, uint64_t count)
{
    return SX_RADIX_DONE | (count < SX_RADIX_HERE ? count : SX_RADIX_MANY) << 48 | start;
}

SX_FN uint64_t sx_radix_state(uint32_t kind, uint32_t depth, uint64_t units)
{
    return (uint64_t)kind << 48 | (uint64_t)depth << 40 | units;
}

/* Bytes of head and stem. */
SX_FN uint32_t sx_radix_head(uint32_t width)
{
    return width == 16 ? 32 : 16;
}

/* Children that a node of this kind has space for; then where its entries begin, behind head
 * and stem; then all its bytes. */
SX_FN uint32_t sx_radix_space(uint32_t kind)
{
    return kind == SX_RADIX_4 ? 4 : kind == SX_RADIX_16 ? 16 : kind == SX_RADIX_48 ? 48 : 256;
}

SX_FN uint32_t sx_radix_entries(uint32_t kind)
{
    uint32_t plain = kind & 7u;

    return plain == SX_RADIX_256 ? 0 : plain == SX_RADIX_4 ? (kind & SX_RADIX_WIDE ? 8 : 4)
                                                           : sx_radix_space(plain);
}

SX_FN uint32_t sx_radix_bytes(uint32_t kind, uint32_t width)
{
    uint32_t plain = kind & 7u, each = kind & SX_RADIX_WIDE ? 8 : 2;
    uint32_t body = plain == SX_RADIX_BITS
                        ? 32 : sx_radix_entries(kind) + (sx_radix_space(plain) + 1) * each;

    return sx_radix_head(width) + (body + SX_RADIX_UNIT - 1) / SX_RADIX_UNIT * SX_RADIX_UNIT;
}

#endif
