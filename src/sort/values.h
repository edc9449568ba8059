/* values.h - the values among sorted keys: how many there are, and each of them once. */
#ifndef SX_VALUES_H
#define SX_VALUES_H

#include "base/pool.h"
#include "base/tick.h"

typedef struct {
    uint32_t width;               /* bytes of a key: 4, 8, 16 */
    uint64_t n;
    const void *keys;             /* they ascend */
    sx_progress *progress;        /* or NULL; a key is a unit. If it is stopped, results
                                     are of no use */
} sx_ascending;

/* How many values there are. *repeat: the first i with key i == key i+1, or n. */
uint64_t sx_values_count(sx_pool *pool, unsigned threads, const sx_ascending *of,
                         uint64_t *repeat);

/* Takes each value to `keys`, the place of its first key to `starts` (4 or 8 bytes each, n
 * behind the last), and the row of its first key, one of `rows` (4 or 8 bytes each), to
 * `firsts`. `values` says how many values there are. */
typedef struct {
    uint64_t values;
    uint32_t start_bytes, row_bytes;      /* row_bytes 0: there are no rows */
    void *keys, *starts, *firsts;
    const void *rows;
} sx_values;
void sx_values_take(sx_pool *pool, unsigned threads, const sx_ascending *of,
                    const sx_values *to);

#endif
