/* values.h - the values among sorted keys: how many there are, and each of them once. */
#ifndef SX_VALUES_H
#define SX_VALUES_H

#include "base/pool.h"
#include "base/tick.h"

typedef struct {
    uint32_t width;               /* bytes of a key: 4, 8, 16 */
    uint64_t n;
    const void *keys;             /* they ascend */
    sx_progress *progress;        /* or NULL; a key is a unit. Where it is stopped, what
                                     comes out does not matter */
} sx_ascending;

/* How many values there are; *repeat: the first i with key i == key i+1, or n. */
uint64_t sx_values_count(sx_pool *pool, unsigned threads, const sx_ascending *of,
                         uint64_t *repeat);

/* Each value, `keys`, and the place of its first key, `starts`, of 4 or 8 bytes; behind
 * the last one n. There are so many values. And, of `rows` of 4 or 8 bytes, those of first
 * keys. */
typedef struct {
    uint64_t values;
    uint32_t start_bytes, row_bytes;      /* row_bytes 0: there are no rows */
    void *keys, *starts, *firsts;
    const void *rows;
} sx_values;
void sx_values_take(sx_pool *pool, unsigned threads, const sx_ascending *of,
                    const sx_values *to);

#endif
