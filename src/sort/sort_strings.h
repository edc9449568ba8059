/* sort_strings.h - stable sort of strings. */
#ifndef SX_SORT_STRINGS_H
#define SX_SORT_STRINGS_H

#include "base/pool.h"
#include "base/tick.h"

/* Strings, and two arrays of 8 bytes and two of positions for each. After the sort rows[0] has the
 * positions of strings in ascending order, and the other arrays nothing of use. The data belong to
 * the caller, who may change them meanwhile: then the order is any. */
typedef struct {
    uint64_t n;
    const unsigned char *data;
    const uint64_t *begin;        /* n + 1 offsets, ours; they never descend */
    uint32_t row_bytes;           /* of a position: 4, 8 */
    void *keys[2], *rows[2];      /* each at a line boundary */
    sx_progress *progress;        /* or NULL. If it is stopped: SX_ECANCELED */
} sx_string_arrays;

/* Takes scratch from the heap, as sx_sort() does, and at most these bytes beside: runs that wait
 * are made of more than 4,096 strings each, at most 256 of 32 bytes, in a list that doubles. */
#define SX_SORT_STRINGS_SCRATCH(n) ((2ull << 20) + 4 * (n))
sx_status sx_sort_strings(sx_pool *pool, unsigned threads, const sx_string_arrays *a, sx_err *err);

/* Whether they ascend, and need no sort. */
int sx_strings_ascend(const sx_string_arrays *a);

#endif
