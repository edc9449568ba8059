/* guide.h - a sorted array under a histogram of its key space.
 *
 * Slots are ranks. The key space is cut into cells of equal width, as many
 * as make `bucket` keys each on average. A record of 32 bytes says for 26
 * cells where the first one's keys begin and how many each has:
 *
 *     | begin, 48 bits | c0 | c1 | c2 | ... | c25 |     counts of a byte each
 *
 * So one sector says where a query's keys are. If one of the 26 has more than
 * 254 keys, the record is crowded: all its counts are 255, and a query is
 * searched among all keys up to the next record's begin. One more record, at
 * the end, begins at n.
 *
 * Keys that crowd in places would crowd a few cells. So there can be several
 * pieces of equally many keys. Each has equally many cells of its own, from its
 * first key to the next piece's: a piecewise linear map that flattens the
 * distribution.
 *
 *     pieces   | first keys, in whole lines | maps of 16 bytes each |
 *     guide    | record | record | ...
 *
 * The map of a query to its cell ascends with the query, whatever is in the
 * pieces; and a key's cell is that of a query equal to it. Hence keys in cells
 * before a query's are below it, and keys in cells behind it are above: its left
 * bound is in its own cell, or right behind.
 *
 * What a query costs at most: the pieces, halved; a record, and the next one's begin
 * if it is crowded; then, of the cell's keys, at most 254, the unit that is guessed,
 * SX_GUIDE_NEXT beside it, and as many as it takes to halve them; of a crowded record's
 * keys as many as it takes to halve those. That follows from G1 and G2.
 *
 * Invariants (index_check.c, guide.c):
 *   P1, P2  as of a sorted array (sorted.h)
 *   G1  piece p begins with the key of rank p*n/pieces, and its map is the one
 *       that this key and the next piece's first determine (or, for the last
 *       piece, the last key)
 *   G2  every record is the one that these maps and the keys determine */
#ifndef SX_GUIDE_H
#define SX_GUIDE_H

#include "family/stretch.h"

typedef struct sx_part_guide {
    uint32_t pieces;
    uint32_t bucket;              /* keys of a cell, on average */
    uint64_t piece_cells;       /* cells of a piece */
    const unsigned char *records, *piece_keys, *piece_maps;    /* or NULL */
} sx_guide;
SX_SLOTS_BY_RANK(guide)

typedef struct sx_params_guide {
    uint32_t bucket, pieces;
} sx_guide_params;
enum { SX_GUIDE_BUCKET = 1, SX_GUIDE_PIECES = 2 };        /* given */

enum { SX_SEC_PIECES = SX_SEC_OWN, SX_SEC_RECORDS };

#define SX_BUCKET_MAX 128u
#define SX_PIECES_MAX 65536u

#define SX_GUIDE_RECORD 32u
#define SX_GUIDE_CELLS 26u      /* of a record */
#define SX_GUIDE_HEAD 6u          /* bytes of begin */
#define SX_GUIDE_MOST 254u        /* keys of a cell in a record not crowded */
#define SX_GUIDE_CROWDED 255u
/* An entry (family/state.h) is a cell's window, and where the query is in it:
 *
 *     | start, 47 bits | count, 8 | fraction, its upper 8 | 0 |
 *
 * A count of SX_GUIDE_CROWDED says that the window is too large for it: the walk begins anew. */
#define SX_GUIDE_START_BITS 47
#define SX_GUIDE_FRACTION_AT (SX_GUIDE_START_BITS + 8)
/* A wrong guess is mostly wrong by one unit. So SX_GUIDE_NEXT units beside it are looked
 * at, one after the other. Then the rest of the window is halved, so that keys that lie
 * badly in their cell cost a few steps, not a scan. */
#define SX_GUIDE_NEXT 3u
#define SX_PIECE_CELLS_MAX (1ull << 31)

/* A query is reduced to 32 bits (its distance from the first key, shifted, at most
 * `most`). Times scale, the upper half is its cell. */
typedef struct {
    uint64_t scale;
    uint32_t shift, most;
} sx_piece_map;

SX_FN uint64_t sx_guide_cells(const sx_guide *g)
{
    return g->piece_cells * g->pieces;
}

SX_FN uint64_t sx_guide_records(const sx_guide *g)
{
    return (sx_guide_cells(g) + SX_GUIDE_CELLS - 1) / SX_GUIDE_CELLS + 1;
}

SX_FN uint64_t sx_piece_key_bytes(const sx_guide *g, uint32_t width)
{
    return (g->pieces * (uint64_t)width + 63) / 64 * 64;
}

/* The rank that a piece begins with, among n keys. */
SX_FN uint64_t sx_piece_rank(const sx_guide *g, uint64_t n, uint64_t piece)
{
    return piece * n / g->pieces;         /* below 2^64: 16 and 48 bits */
}

SX_FN uint32_t sx_sum_bytes(uint64_t x)
{
    x = (x & 0x00ff00ff00ff00ffull) + (x >> 8 & 0x00ff00ff00ff00ffull);
    return (uint32_t)(x * 0x0001000100010001ull >> 48);
}

/* The record at p: where the keys of its cell j begin, and how many there are.
 * SX_GUIDE_CROWDED: the count is not known. */
SX_FN uint64_t sx_record_window(const unsigned char *p, uint32_t j, uint32_t *count)
{
    const uint64_t *w = (const uint64_t *)(const void *)p;
    uint32_t byte = SX_GUIDE_HEAD + j, before = 0;
    uint64_t word = 0;

    for (uint32_t i = 0; i < 4; i++) {
        uint64_t x = i == 0 ? w[0] & 0xffff000000000000ull : w[i];
        uint32_t end = 8 * i;     /* the bytes of this word before `byte` */
        before += sx_sum_bytes(byte >= end + 8 ? x : byte <= end ? 0
                                               : x & ((1ull << 8 * (byte - end)) - 1));
        word = byte / 8 == i ? w[i] : word;
    }
    *count = (uint32_t)(word >> 8 * (byte % 8)) & 255u;
    return (w[0] & 0xffffffffffffull) + (*count == SX_GUIDE_CROWDED ? 0 : before);
}

#endif
