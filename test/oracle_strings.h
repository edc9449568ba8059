/* oracle_strings.h - what answers about strings must be: an array of them, sorted and searched
 * with memcmp(), written without a look at the library, as oracle.h is. */
#ifndef ORACLE_STRINGS_H
#define ORACLE_STRINGS_H

#include "oracle.h"

typedef struct {
    const unsigned char *data;
    uint64_t bytes;
} text;

typedef struct {
    uint64_t n;
    text *keys;                   /* ascending; equal ones as they came. They point into what was
                                     given */
    uint64_t *rows;
    uint64_t max_row;
} text_oracle;

/* rows NULL: the row of a key is its position. */
text_oracle *text_oracle_new(uint64_t n, const text *keys, const uint64_t *rows);
void text_oracle_free(text_oracle *o);

int text_compare(text a, text b);
/* How many keys are below q, or (right) not above it. */
uint64_t text_rank(const text_oracle *o, text q, int right);
/* The row of the first key equal to q; ORACLE_NONE. */
uint64_t text_get(const text_oracle *o, text q);
oracle_span text_range(const text_oracle *o, text lo, text hi, uint64_t limit, int last);
/* From q to the string above it, and on: the position of the first key equal to the top. ORACLE_NONE: q
 * is no key; or, without a limit, it leads in a circle, and *steps is ORACLE_CIRCLE. parents[r] is
 * above keys of row r. */
#define ORACLE_CIRCLE UINT32_MAX
uint64_t text_top(const text_oracle *o, const text *parents, text q, uint32_t limit, uint32_t *steps);
/* All keys that begin with q. */
oracle_span text_prefix(const text_oracle *o, text q);

#endif
