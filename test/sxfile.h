/* sxfile.h - the bytes of an index file, for tests that forge them.
 *
 * Written from the description of the format, not from the library, so that
 * a change of the format shows. Files are native little-endian:
 *
 *   header, 128 bytes | the run, 192 bytes | 64 bytes per section |
 *   sections, each at a multiple of 64, with zeros between them
 *
 * The file's length is a multiple of 64.
 */
#ifndef SXFILE_H
#define SXFILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <xxhash.h>

enum {                            /* offsets in the header */
    F_MAGIC = 0,                  /* 8 bytes */
    F_VERSION = 8,                /* u32: 2 */
    F_ORDER = 12,                 /* u32: 0x01020304 */
    F_BYTES = 16,                 /* u64: of the whole file */
    F_HASH = 24,                  /* u64: of the front, itself zero */
    F_FRONT_BYTES = 32,           /* u32: 128 + 192 * runs + 64 * sections */
    F_RUNS = 36,                  /* u32 */
    F_SECTIONS = 40,              /* u32 */
    F_TYPE = 44,                  /* u32 */
    F_N = 48,                     /* u64: keys there are */
    F_MAX_ROW = 56,               /* u64 */
    F_FLAGS = 64,                 /* u32: bit 0 unique */
    F_ZERO = 68,                  /* 60 bytes */
    F_HEADER = 128,

    R_SPEC = F_HEADER,            /* char[128]; the run, from the file's begin */
    R_SIGN = F_HEADER + 128,      /* i32: 1 */
    R_SECTIONS = F_HEADER + 132,  /* u32: all but notes */
    R_STORED = F_HEADER + 136,    /* u64: layout=once: each value once */
    R_N = F_HEADER + 144,         /* u64 */
    R_MAX_ROW = F_HEADER + 152,   /* u64 */
    R_WIDTH = F_HEADER + 160,     /* u8 */
    R_ROW_BYTES = F_HEADER + 161, /* u8: 0, 4, 8 */
    R_FLAGS = F_HEADER + 162,     /* u16: bit 0 unique, bit 1 stored keys are distinct */
    R_ZERO = F_HEADER + 164,      /* 28 bytes */
    F_TABLE = F_HEADER + 192,     /* the sections' entries */

    S_NAME = 0,                   /* char[16]; offsets in a section's entry */
    S_RUN = 16,                   /* u32: 0, or all ones: of none */
    S_FLAGS = 20,                 /* u32: bit 0, others' sizes follow from it */
    S_OFFSET = 24,                /* u64 */
    S_BYTES = 32,                 /* u64 */
    S_HASH = 40,                  /* u64: of it and the gap behind */
    S_ZERO = 48,                  /* 16 bytes */
    S_ENTRY = 64
};

#define F_MAGIC_BYTES "\x89SXT\r\n\x1a\n"

static inline uint32_t get32(const unsigned char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline uint64_t get64(const unsigned char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline void put(unsigned char *p, uint64_t x, size_t bytes)
{
    memcpy(p, &x, bytes);
}

/* Sets how many keys there are, all stored, where the header and the run say it; and the
 * largest row. */
static inline void put_keys(unsigned char *file, uint64_t n, uint64_t max_row)
{
    put(file + F_N, n, 8);
    put(file + R_N, n, 8);
    put(file + R_STORED, n, 8);
    put(file + F_MAX_ROW, max_row, 8);
    put(file + R_MAX_ROW, max_row, 8);
}

static inline uint64_t front_hash(const unsigned char *file, size_t length)
{
    static const unsigned char zero[8];
    XXH3_state_t *state = XXH3_createState();
    uint64_t hash = 0;
    if (state) {
        XXH3_64bits_reset(state);
        XXH3_64bits_update(state, file, F_HASH);
        XXH3_64bits_update(state, zero, sizeof zero);
        XXH3_64bits_update(state, file + F_HASH + 8, length - F_HASH - 8);
        hash = XXH3_64bits_digest(state);
    }
    XXH3_freeState(state);
    return hash;
}

/* Makes the front's hash right for its present bytes, as far as the header says
 * that it reaches and the file does. */
static inline void seal_header(unsigned char *file, size_t bytes)
{
    if (bytes < F_HEADER)
        return;
    size_t length = get32(file + F_FRONT_BYTES);
    if (length < F_HEADER || length > bytes)
        length = F_HEADER;
    put(file + F_HASH, front_hash(file, length), 8);
}

/* Bytes that a section takes with the gap behind it. */
static inline uint64_t with_gap(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* The same for the sections, as far as they lie inside the file. */
static inline void seal_sections(unsigned char *file, size_t bytes)
{
    uint64_t sections = get32(file + F_SECTIONS);
    for (uint64_t i = 0; i < sections; i++) {
        unsigned char *entry = file + F_TABLE + i * S_ENTRY;
        if (F_TABLE + (i + 1) * S_ENTRY > bytes)
            return;
        uint64_t at = get64(entry + S_OFFSET), n = get64(entry + S_BYTES);
        if (at <= bytes && n <= bytes - at && with_gap(n) <= bytes - at)
            put(entry + S_HASH, XXH3_64bits(file + at, with_gap(n)), 8);
    }
}

#endif
