/* sxfile.h - the bytes of an index file, for tests that forge them.
 *
 * Written from the description of the format, not from the library, so that
 * a change of the format shows. Files are native little-endian:
 *
 *   header, 256 bytes | 64 bytes per section | sections, each at a multiple
 *   of 64, gaps zero, the file's length a multiple of 64
 */
#ifndef SXFILE_H
#define SXFILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <xxhash.h>

enum {                            /* offsets in the header */
    F_MAGIC = 0,                  /* 8 bytes */
    F_VERSION = 8,                /* u32: 1 */
    F_ORDER = 12,                 /* u32: 0x01020304 */
    F_BYTES = 16,                 /* u64: of the whole file */
    F_HASH = 24,                  /* u64: of the header, itself zero */
    F_HEADER_BYTES = 32,          /* u32: 256 + 64 * sections */
    F_SECTIONS = 36,              /* u32 */
    F_N = 40,                     /* u64 */
    F_MAX_ROW = 48,               /* u64 */
    F_TYPE = 56,                  /* u32 */
    F_WIDTH = 60,                 /* u8 */
    F_ROW_BYTES = 61,             /* u8: 0, 4, 8 */
    F_FLAGS = 62,                 /* u16: bit 0 unique, bit 1 distinct */
    F_SPEC = 64,                  /* char[128] */
    F_ZERO = 192,                 /* 64 bytes */
    F_HEADER = 256,

    S_NAME = 0,                   /* char[16]; offsets in a section's entry */
    S_OFFSET = 16,                /* u64 */
    S_BYTES = 24,                 /* u64 */
    S_HASH = 32,                  /* u64 */
    S_ZERO = 40,                  /* 24 bytes */
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

static inline uint64_t header_hash(const unsigned char *file, size_t length)
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

/* Makes the header's hash right for what is there, as far as the header
 * claims to reach and the file does. */
static inline void seal_header(unsigned char *file, size_t bytes)
{
    if (bytes < F_HEADER)
        return;
    size_t length = get32(file + F_HEADER_BYTES);
    if (length < F_HASH + 8 || length > bytes)
        length = F_HEADER;
    put(file + F_HASH, header_hash(file, length), 8);
}

/* The same for the sections, as far as they lie inside the file. */
static inline void seal_sections(unsigned char *file, size_t bytes)
{
    uint64_t sections = get32(file + F_SECTIONS);
    for (uint64_t i = 0; i < sections; i++) {
        unsigned char *entry = file + F_HEADER + i * S_ENTRY;
        if (F_HEADER + (i + 1) * S_ENTRY > bytes)
            return;
        uint64_t at = get64(entry + S_OFFSET), n = get64(entry + S_BYTES);
        if (at <= bytes && n <= bytes - at)
            put(entry + S_HASH, XXH3_64bits(file + at, n), 8);
    }
}

#endif
