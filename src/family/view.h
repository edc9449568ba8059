/* view.h - an index as its walks see it: plain data, all that n and a
 * resolved spec determine, and where the sections lie.
 *
 * Keys and rows live in slots 0..slots-1, of which the first n are used.
 * In which order is the family's matter (FAM/FAM.h). Slots come in two
 * layouts:
 *
 *   split   keys   |k0|k1|k2| ...                     rows |r0|r1|r2| ...
 *
 *   pairs   blocks of B keys followed by their B rows (B a power of two,
 *           large enough that every key and every row is aligned)
 *           |k0|..|kB-1|r0|..|rB-1|kB|..|k2B-1|rB|..|r2B-1| ...
 *
 * One formula addresses both: split is a single block without end.
 *
 * Row bytes 0: rows are not stored, a key's row is its rank.
 * Unused slots hold the largest key: no key is below it, so they never
 * count in a lower bound. */
#ifndef SX_VIEW_H
#define SX_VIEW_H

#include "family/parts.h"
#include "keys/encode.h"

/* What is true of a view's family, as bits, so that nobody need ask which it is. */
enum {
    SX_SLOTS_ARE_RANKS = 1,       /* else sx_slot_of_rank() computes them */
    SX_HAS_UPPER = 2,             /* sections, or a part of one, above the leaves, which
                                     can be in another memory than they are */
    SX_SIZES_KNOWN = 4,           /* n and the spec determine all sizes; else the keys do */
    SX_CHOSEN = 8                 /* it is no index, but becomes one */
};

/* The head is what every walk ends in; `of` is the family's own. */
typedef struct {
    uint64_t n;
    uint64_t slots;
    uint32_t family;              /* SX_FAM_, never AUTO */
    uint32_t traits;
    uint32_t width;               /* bytes of a key */
    uint32_t row_bytes;           /* 0, 4, 8 */
    uint32_t unit;                /* keys that a walk compares at once where it ends:
                                     aligned to 16 bytes, in a line; 1: one by one */
    uint32_t distinct;            /* no key comes twice */
    uint32_t block;               /* keys in a block; split: 0 */
    uint32_t block_shift;         /* log2(block); split: 63 */
    uint64_t block_bytes;
    const unsigned char *keys;    /* slot 0's key */
    const unsigned char *rows;    /* slot 0's row, or NULL */
    union {
#define SX_FAMILY(TAG, name) struct sx_part_##name name;
#include "family/families.def"
#undef SX_FAMILY
    } of;
} sx_view;

/* A view and what its keys are: what kernels of a user's own get by value. */
#define SX_KERNEL_VIEW_VERSION 4u
typedef struct {
    uint32_t version;
    int32_t key_type;
    sx_view view;
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

/* The row in a slot, whose key has this rank. */
SX_FN uint64_t sx_row_at(const sx_view *v, uint64_t slot, uint64_t rank)
{
    const unsigned char *p;

    if (v->row_bytes == 0)
        return rank;
    p = v->rows + sx_row_offset(v, slot);
    return v->row_bytes == 8 ? *(const uint64_t *)(const void *)p
                             : *(const uint32_t *)(const void *)p;
}

/* Of a power of two, as every unit that keys are compared in is: a division by it
 * is a shift, which on a GPU is worth a lot. */
SX_FN uint32_t sx_log2(uint32_t power)
{
#ifdef __CUDA_ARCH__
    return (uint32_t)__ffs((int)power) - 1;
#else
    return (uint32_t)__builtin_ctz(power);
#endif
}

/* yes where take (0 or 1), no else; never a branch, which a search would
 * take at random. */
SX_FN uint64_t sx_pick(int take, uint64_t yes, uint64_t no)
{
    return no ^ ((yes ^ no) & (0 - (uint64_t)take));
}

/* A product in a walk. Proofs (test/prove) put a number there of which they know only what
 * follows from the shape: products of unknowns are beyond their solver. */
#ifndef SX_TIMES
#define SX_TIMES(a, b) ((a) * (b))
#endif

#define SX_NO_SLOT UINT64_MAX

#endif
