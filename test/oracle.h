/* oracle.h - what every answer must be.
 *
 * A sorted array and plain loops, written without a look at the library. It
 * shares no code with it, and takes nothing from the header but the numbers of
 * the key types. It is slow and obvious on purpose.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdint.h>
#include <stddef.h>

#define ORACLE_NONE UINT64_MAX    /* no such row, no such position */

/* Keys one behind the other. What has to know how long they are asks the two functions, the
 * only ones to change for keys that differ in length. */
typedef struct {
    const unsigned char *data;
    size_t width;                 /* bytes of each */
} oracle_elements;

const unsigned char *oracle_element(const oracle_elements *e, uint64_t i);
size_t oracle_element_bytes(const oracle_elements *e, uint64_t i);

typedef struct {
    int type;                     /* sx_type of the keys */
    size_t width;                 /* bytes of one key */
    uint64_t n;
    unsigned char *keys;          /* ascending; equal keys as they came */
    uint64_t *rows;               /* of keys[i] */
    uint64_t max_row;             /* 0 when empty */
} oracle;

/* rows NULL: the row of a key is its position. */
oracle *oracle_new(int type, uint64_t n, const void *keys,
                   const uint64_t *rows);
void oracle_free(oracle *o);

size_t oracle_width(int type);

/* Below 0, 0, or above 0, in the order of the type: all NaNs are equal and
 * last, -0.0 equals 0.0, 16-byte keys compare as bytes. */
int oracle_compare(int type, const void *a, const void *b);

const void *oracle_key(const oracle *o, uint64_t i);

/* How many keys are below q, or (right) not above it. */
uint64_t oracle_rank(const oracle *o, const void *q, int right);

/* Row of the first key equal to q; ORACLE_NONE. */
uint64_t oracle_get(const oracle *o, const void *q);

/* Position of the last key <= q, of the first key >= q; ORACLE_NONE. */
uint64_t oracle_floor(const oracle *o, const void *q);
uint64_t oracle_ceil(const oracle *o, const void *q);

typedef struct {                  /* lo <= key <= hi, the limit applied */
    uint64_t first, count;        /* positions [first, first + count) */
    uint64_t min, max;            /* of the rows; ORACLE_NONE if empty */
    uint64_t sum;                 /* modulo 2^64 */
} oracle_span;

oracle_span oracle_range(const oracle *o, const void *lo, const void *hi,
                         uint64_t limit, int last);

#endif
