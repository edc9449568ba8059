/* share.h - a piece of work shared out over a pool, in pieces of many items. */
#ifndef SX_SHARE_H
#define SX_SHARE_H

#include "base/pool.h"
#include "base/tick.h"

/* Who takes part. If progress is stopped, some pieces are left out, and the caller looks
 * at its status then. */
typedef struct {
    sx_pool *pool;
    uint32_t threads;             /* at most */
    sx_progress *progress;        /* or NULL: each item is a unit, and pieces are short enough
                                     for ticks */
} sx_sharing;

/* Calls fn(work, first, end) for n items, in pieces of a multiple of `grain` items. Each
 * thread that is woken has at least SX_SHARE_EACH grains to do: 2048 queries take 40 us and
 * more, and waking one thread takes 9 (Zen 4, idle). */
typedef void sx_share_fn(void *work, uint64_t first, uint64_t end);
#define SX_SHARE_EACH 8u
void sx_share(const sx_sharing *sharing, uint64_t n, uint64_t grain, sx_share_fn *fn, void *work);

#endif
