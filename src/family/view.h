/* view.h - an index as its walks see it: plain data, all that n and a
 * resolved spec determine, and where the sections lie.
 *
 * Keys and rows live in slots 0..slots-1, of which n are used: the first n, unless the
 * family leaves gaps (stretch.h). Their order is the family's matter (FAM/FAM.h). Slots
 * come in two layouts:
 *
 *   split   keys   |k0|k1|k2| ...                     rows |r0|r1|r2| ...
 *
 *   pairs   blocks of B keys followed by their B rows (B a power of two,
 *           large enough that every key and every row is aligned)
 *           |k0|..|kB-1|r0|..|rB-1|kB|..|k2B-1|rB|..|r2B-1| ...
 *
 * One formula addresses both: split is a single block without end. A family that leaves
 * gaps may have rows begin sooner in a block, behind the keys that are used (its bind()).
 *
 *   once    as split, but equal keys are in one slot, and rows are in order of rank. The
 *           section `starts` says where the rows of each key begin, and has the first of
 *           these rows, which is asked for most.
 *           keys   |k0|k1|..|kn-1|                          rows |r0|r1| ...
 *           starts |s0|s1|..|sn-1|ranks|0..|f0|f1|..|fn-1|  fi is the row of rank si, from
 *                                                           a multiple of 16 bytes on; if
 *                                                           rows are stored
 *
 * So a key has a position, its place among the n keys that are stored, and a rank, its
 * place among all keys there are. Walks find positions. sx_rank_at() says the rank of the
 * first key of a position: the same number, unless the layout is `once`.
 *
 * Row bytes 0: rows are not stored, a key's row is its rank.
 * Unused slots hold the largest key. It is below no query, so they never count in a left
 * bound. */
#ifndef SX_VIEW_H
#define SX_VIEW_H

#include <stddef.h>

#include "family/parts.h"
#include "family/state.h"
#include "keys/strings.h"

/* What is true of a view's family and layout, as bits, so that nobody need ask which they are. */
enum {
    SX_SLOTS_ARE_RANKS = 1,       /* slots are positions, and so, unless `once`, ranks; if
                                     not, sx_slot_of_rank() computes them */
    SX_HAS_UPPER = 2,             /* sections, or a part of one, above the leaves; they can
                                     be in another memory than the leaves */
    SX_SIZES_KNOWN = 4,           /* n and the spec determine all sizes; if not, the keys do */
    SX_CHOSEN = 8,                /* it is no index, but becomes one */
    SX_ONCE = 16,                 /* of a view's layout: equal keys are stored once */
    SX_NARROW_CODES = 32,         /* codes of strings have 4 bytes, not 8 */
    SX_FINDS_PREFIXES = 64        /* of keys that are no strings, by one walk; without it they are
                                     the range between two bounds */
};

/* The head is what every walk ends in; `of` is the family's own. */
typedef struct {
    uint64_t n;                   /* keys that are stored */
    uint64_t ranks;               /* all keys there are: n, unless `once` */
    uint64_t slots;
    uint32_t family;              /* SX_FAM_, never AUTO */
    uint32_t traits;
    uint16_t width;               /* bytes of a key */
    uint16_t row_bytes;           /* 0, 4, 8 */
    uint16_t unit;                /* keys that a walk compares at once where it ends:
                                     aligned to 16 bytes, in a line; 1: one by one */
    uint16_t distinct;            /* no key is stored twice */
    uint16_t block;               /* keys in a block; split: 0 */
    uint16_t block_shift;         /* log2(block); split: 63 */
    uint32_t block_bytes;
    const unsigned char *keys;    /* slot 0's key */
    const unsigned char *rows;    /* slot 0's row, or (`once`) that of rank 0; or NULL */
    const unsigned char *starts;  /* `once`: the rank of each position's first key, how
                                     many ranks there are, and first rows; or NULL */
    union {
#define SX_FAMILY(TAG, name) struct sx_part_##name name;
#include "family/families.def"
#undef SX_FAMILY
    } of;
#ifndef SX_HANDLE_VIEW
    sx_strings strings;           /* of each position, if keys are codes of strings; walks do
                                     not look at them, and kernels of a user's own lack them */
#endif
} sx_view;

/* A view and its key type: what kernels of a user's own get by value. */
#define SX_KERNEL_VIEW_VERSION 8u
typedef struct {
    uint32_t version;
    int32_t key_type;
#ifdef SX_HANDLE_VIEW
    sx_view view;
#else
    uint64_t view[offsetof(sx_view, strings) / 8];    /* the same bytes */
#endif
} sx_kernel_view;

/* Keys that fill a line: the natural node. */
SX_FN uint32_t sx_line_keys(const sx_view *v)
{
    return 64u / v->width;
}

SX_FN uint64_t sx_key_offset(const sx_view *v, uint64_t slot)
{
    return (slot >> v->block_shift) * v->block_bytes +
           (slot & ((1ull << v->block_shift) - 1)) * v->width;
}

SX_FN uint64_t sx_row_offset(const sx_view *v, uint64_t slot)
{
    return (slot >> v->block_shift) * v->block_bytes +
           (slot & ((1ull << v->block_shift) - 1)) * v->row_bytes;
}

/* ---- ranks and positions ---------------------------------------------------------- */

/* Bytes of a rank in the section `starts`. */
SX_FN uint32_t sx_start_bytes(uint64_t ranks)
{
    return ranks > UINT32_MAX ? 8 : 4;
}

/* Where first rows begin in that section, if rows are stored; then the bytes of all of it. */
SX_FN uint64_t sx_firsts_offset(uint64_t n, uint64_t ranks)
{
    return ((n + 1) * sx_start_bytes(ranks) + 15) / 16 * 16;
}

SX_FN uint64_t sx_starts_bytes(uint64_t n, uint64_t ranks, uint32_t row_bytes)
{
    return row_bytes ? sx_firsts_offset(n, ranks) + n * row_bytes : (n + 1) * sx_start_bytes(ranks);
}

/* The start of a position <= n: as a file has it; then never above the number of ranks. */
SX_FN uint64_t sx_start_raw(const sx_view *v, uint64_t position)
{
    return sx_start_bytes(v->ranks) == 8
               ? ((const uint64_t *)(const void *)v->starts)[position]
               : ((const uint32_t *)(const void *)v->starts)[position];
}

SX_FN uint64_t sx_start_at(const sx_view *v, uint64_t position)
{
    return sx_min64(sx_start_raw(v, position), v->ranks);
}

/* The rank of a position's first key; of position n: how many ranks there are. */
SX_FN uint64_t sx_rank_at(const sx_view *v, uint64_t position)
{
    return v->starts ? sx_start_at(v, position) : position;
}

/* One halving in the search for a rank's position: skips `half` positions if it is behind
 * them. */
SX_FN uint64_t sx_position_halve(const sx_view *v, uint64_t at, uint64_t half, uint64_t rank)
{
    return sx_start_at(v, at + half) <= rank ? at + half : at;
}

/* The position that has this rank, which is below v->ranks. */
SX_FN uint64_t sx_position_of(const sx_view *v, uint64_t rank)
{
    uint64_t at = 0, len = v->n;

    if (!v->starts)
        return rank;
    while (len > 1) {             /* it is in [at, at + len) */
        uint64_t half = len / 2;
        at = sx_position_halve(v, at, half, rank);
        len -= half;
    }
    return at;
}

SX_FN uint64_t sx_row_load(const sx_view *v, const unsigned char *p)
{
    return v->row_bytes == 8 ? *(const uint64_t *)(const void *)p
                             : *(const uint32_t *)(const void *)p;
}

/* The row that is stored in this place: a slot, or (`once`) a rank. */
SX_FN uint64_t sx_row_in(const sx_view *v, uint64_t place)
{
    return sx_row_load(v, v->rows + sx_row_offset(v, place));
}

/* `once`, and rows are stored: the row of a position's first key. */
SX_FN uint64_t sx_first_row(const sx_view *v, uint64_t position)
{
    return sx_row_load(v, v->starts + sx_firsts_offset(v->n, v->ranks) + position * v->row_bytes);
}

/* The row of the key with this rank, below v->ranks, which is in this slot. */
SX_FN uint64_t sx_row_at(const sx_view *v, uint64_t slot, uint64_t rank)
{
    return v->row_bytes == 0 ? rank : sx_row_in(v, v->starts ? rank : slot);
}

/* The row of the first key, or the last, of a position, which is in this slot. */
SX_FN uint64_t sx_row_of(const sx_view *v, uint64_t slot, uint64_t position, int last)
{
    uint64_t rank = position;

    if (v->starts && !last && v->row_bytes)
        return sx_first_row(v, position);
    if (v->starts) {
        rank = last ? sx_start_at(v, position + 1) - 1 : sx_start_at(v, position);
        if (rank >= v->ranks)     /* in a damaged file */
            return UINT64_MAX;
    }
    return sx_row_at(v, slot, rank);
}

/* The logarithm of a power of two, as every unit is that keys are compared in. Then a
 * division is a shift, which on a GPU is worth a lot. */
SX_FN uint32_t sx_log2(uint32_t power)
{
#ifdef __CUDA_ARCH__
    return (uint32_t)__ffs((int)power) - 1;
#else
    return (uint32_t)__builtin_ctz(power);
#endif
}

/* The number of the lowest bit that is 0, counted from 1. There is one. */
SX_FN uint32_t sx_first_zero(uint32_t x)
{
#ifdef __CUDA_ARCH__
    return (uint32_t)__ffs((int)~x);
#else
    return (uint32_t)__builtin_ffs((int)~x);
#endif
}

/* yes if take is 1, no if it is 0; never by a branch, which a search would take at random. */
SX_FN uint64_t sx_pick(int take, uint64_t yes, uint64_t no)
{
    return no ^ ((yes ^ no) & (0 - (uint64_t)take));
}

/* A product in a walk. Proofs (test/prove) put a number in its place of which they know
 * only what follows from the shape: products of unknowns are beyond their solver. */
#ifndef SX_TIMES
#define SX_TIMES(a, b) ((a) * (b))
#endif

#define SX_NO_SLOT UINT64_MAX

#endif
