/* share.h - a piece of work shared out over a pool, in pieces of many items. */
#ifndef SX_SHARE_H
#define SX_SHARE_H

#include "base/pool.h"
#include "base/tick.h"

/* Who takes part: at most so many threads. */
typedef struct {
    sx_pool *pool;
    uint32_t threads;
    sx_progress *progress;        /* or NULL: an item is a unit, and a piece is short enough
                                     for ticks. Some pieces are left out where it is
                                     stopped: the caller looks at its status then */
} sx_sharing;

/* Shares n items, in pieces of a multiple of `grain` items;
 * fn(work, first, end). Each thread that is woken has SX_SHARE_EACH grains to do, or
 * more: 2048 queries take 40 us and more, and waking one thread 9 (Zen 4, idle). */
typedef void sx_share_fn(void *work, uint64_t first, uint64_t end);
#define SX_SHARE_EACH 8u
void sx_share(const sx_sharing *sharing, uint64_t n, uint64_t grain, sx_share_fn *fn, void *work);

#endif
