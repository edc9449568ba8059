/* pgm_truth.h - what the segments of a pgm must be.
 *
 * Written from the description in pgm.h, not from the code that makes segments
 * or walks them: slow, obvious, and exact. It does not use cmocka, like support.h.
 */
#ifndef PGM_TRUTH_H
#define PGM_TRUTH_H

#include "oracle.h"
#include "support.h"

typedef unsigned __int128 number; /* a key, 0 for the least of its type */

#define PGM_LEVELS 24

typedef struct {
    int type;
    unsigned width;
    uint64_t n;
    uint64_t eps, eps2, cuts;     /* as its spec says */
    uint64_t levels, count[PGM_LEVELS];
    uint64_t first[PGM_LEVELS + 1];             /* entry that a level begins with */
    unsigned char *keys, *segments;  /* in the file: of entry 0 */
} pgm_file;

/* A section of a file; NULL: it has none of that name. */
unsigned char *file_section(unsigned char *file, const char *name, uint64_t *bytes);

/* Finds its way in the bytes of a saved file. Returns what is wrong, or NULL. */
const char *pgm_open(pgm_file *p, unsigned char *file);

/* Compares the segments in the file with the keys: where they begin (only if
 * `starts`: that takes the square of n), how wrong they are, what is behind them,
 * and that every window holds the bound. Returns what is wrong, or NULL. */
const char *pgm_wrong(const pgm_file *p, const oracle *o, bool starts);

/* The least number of segments that there can be. */
uint64_t pgm_fewest(const oracle *o, uint64_t eps);

number key_number(int type, const void *key);
void number_key(int type, number x, void *key); /* u32, u64, b16 */
number number_most(int type);

#endif
