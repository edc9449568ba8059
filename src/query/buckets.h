/* buckets.h - how a batch for a hybrid index is cut, and how many buckets have space for their
 * entries at once.
 *
 *     queries  | f | f |  2f   |      4f      | ... |  most  |  most  |  rest |
 *
 * The first bucket is small, so that the CPU soon has entries to go on from. Each further one is
 * as large as all before it together, up to an eighth of the batch or the device's limit
 * (bucket=). So small batches have buckets, too, and large ones few trips.
 *
 * Entries are in a ring of buffers, each for one bucket of the largest size. The GPU makes them
 * as far ahead as there are buffers: two of the largest buckets, or up to eight. Where the CPU
 * walks the first levels, too, there are three at least: one whose first levels it walks, one on
 * the GPU, and one that it answers. If the CPU has queries of its own, there are four at least: two
 * on the GPU, and two for entries that wait while it is at these. And the first bucket is as large as
 * the others, as nobody waits for it. A strategy may say that there is one only. */
#ifndef SX_BUCKETS_H
#define SX_BUCKETS_H

#include "place/backend.h"

#include <stdint.h>

#define SX_BUCKET_FIRST 8192u
#define SX_BUFFERS_LEAST 2u
#define SX_BUFFERS_WALKED 3u
#define SX_BUFFERS_OWN 4u
#define SX_BUFFERS_MOST 8u
#define SX_RING_STATES (1u << 22) /* or two buckets, if that is more */

typedef struct {
    uint64_t first, most;         /* queries of a bucket */
    unsigned buffers;
} sx_buckets;

/* States that a device's ring has space for. `bucket` is the device's, for one column. */
static inline uint64_t sx_ring_states(uint64_t bucket)
{
    uint64_t states = SX_BUFFERS_MOST * bucket;

    if (states > SX_RING_STATES)
        states = SX_RING_STATES;
    return states < SX_BUFFERS_LEAST * bucket ? SX_BUFFERS_LEAST * bucket : states;
}

/* Of n queries, each with an entry in every column but for the CPU's own, by such a strategy
 * (SX_BUCKETS_). The CPU's own make buckets fewer, not smaller: a small one keeps less of a GPU at
 * work. */
static inline sx_buckets sx_buckets_of(uint64_t n, uint64_t bucket, unsigned columns,
                                       uint32_t strategy, const sx_balance *balance)
{
    sx_buckets cut = {SX_BUCKET_FIRST, n / 8, SX_BUFFERS_MOST};
    uint64_t states = sx_ring_states(bucket) / columns, buffers;

    if (cut.most < cut.first)
        cut.most = cut.first;
    if (cut.most > bucket / columns)
        cut.most = bucket / columns;
    if (sx_balance_walks(balance) && cut.most > states / SX_BUFFERS_WALKED)
        cut.most = states / SX_BUFFERS_WALKED;
    if (balance->own > 0 && cut.most > states / SX_BUFFERS_OWN)
        cut.most = states / SX_BUFFERS_OWN;
    if (cut.first > cut.most || balance->own > 0)
        cut.first = cut.most;
    buffers = states / cut.most;
    if (buffers < cut.buffers)
        cut.buffers = (unsigned)buffers;
    if (strategy == SX_BUCKETS_SEQUENTIAL)
        cut.buffers = 1;
    return cut;
}

/* The smallest batch that is worth a bucket. */
static inline uint64_t sx_bucket_least(uint64_t bucket, unsigned columns)
{
    return sx_buckets_of(0, bucket, columns, 0, &(sx_balance){0, 0, 0}).first;
}

/* The bucket that begins with query `at`, below n. */
static inline uint64_t sx_bucket_length(const sx_buckets *cut, uint64_t n, uint64_t at)
{
    uint64_t length = at < cut->first ? cut->first : at < cut->most ? at : cut->most;

    return length < n - at ? length : n - at;
}

#endif
