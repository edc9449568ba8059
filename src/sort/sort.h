/* sort.h - stable sort of unsigned keys with their rows. */
#ifndef SX_SORT_H
#define SX_SORT_H

#include "base/pool.h"
#include "base/tick.h"

/* The input, which is only read, and two arrays for keys and two for rows. After
 * the sort [0] holds the result and [1] nothing of use. The input's keys, its
 * rows, or both may be [0]. Otherwise they belong to the caller, who may change them
 * meanwhile: then the keys that were read are sorted, or SX_EINVAL says that they changed. */
typedef struct {
    uint32_t width;               /* bytes of a key: 4, 8, 16 */
    uint32_t row_bytes;           /* 4, 8 */
    uint64_t n;
    const void *in_keys, *in_rows;
    void *keys[2], *rows[2];      /* each at a line boundary */
    sx_progress *progress;        /* or NULL. If it is stopped: SX_ECANCELED, and [0]
                                     holds nothing of use either */
} sx_sort_arrays;

#define SX_SORT_UNITS 4u          /* of progress, for each key */

/* Takes scratch beside the arrays from the heap. SX_ENOMEM if there is none; the
 * input is unchanged then. */
sx_status sx_sort(sx_pool *pool, unsigned threads, sx_sort_arrays *a, sx_err *err);

/* Heap bytes that sx_sort() takes beside the arrays. A key and its row have
 * pair_bytes. */
uint64_t sx_sort_scratch(unsigned threads, uint64_t n, uint32_t pair_bytes);

/* Whether keys ascend, and need no sort. Then they have been copied to `keys` (where
 * they may be already), and it is the copy that ascends. If not, some may have been
 * copied. */
int sx_take_ascending(sx_pool *pool, unsigned threads, uint32_t width, uint64_t n,
                      void *keys, const void *from, sx_progress *progress);

#endif
