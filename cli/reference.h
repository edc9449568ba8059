/* reference.h - a sorted array and textbook binary search.
 *
 * The tool's own idea of order, written without the library: it says what
 * the right answers are (bench, gen --misses) and how long plain binary
 * search takes for them. */
#ifndef CLI_REFERENCE_H
#define CLI_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "sextant.h"

typedef enum {                    /* in the order of OP_WORDS */
    OP_GET,
    OP_RANK,
    OP_FLOOR,
    OP_CEIL,
    OP_KEY_AT,
    OP_RANGE,
    OP_COUNT
} bench_op;

typedef struct {
    int type;
    uint64_t n;
    void *keys;                   /* sorted; huge pages where possible */
    uint64_t *rows;               /* of the keys, equal keys in input order */
} reference;

/* rows NULL: rows are positions. Otherwise U32 or U64. */
reference reference_build(const sx_column *keys, const sx_column *rows);
void reference_free(reference *ref);

/* -1, 0 or 1: a comes before b, equals it, or comes after it. */
int reference_compare(int type, const void *a, const void *b);

/* Answers queries q[0..n), one by one:
 *     get, floor, ceil   the row, all ones where there is none
 *     rank               keys below
 *     key_at             q are ranks (uint64_t); the row, and the key to
 *                        keys_out
 *     range              the sum of the rows in q[i]..hi[i] */
void reference_answer(const reference *ref, bench_op op, const void *q,
                      const void *hi, uint64_t n, uint64_t *out,
                      void *keys_out);
/* How many keys lie in q[i]..hi[i], for all i together. */
uint64_t reference_hits(const reference *ref, const void *q, const void *hi,
                        uint64_t n);

/* Sorts keys in place. */
void reference_sort_keys(sx_column *keys);

/* Zeroed memory at 2 MiB boundaries that asks for huge pages, as the memory of
 * indexes does. */
void *huge_alloc(uint64_t bytes);
void huge_free(void *p, uint64_t bytes);

#endif
