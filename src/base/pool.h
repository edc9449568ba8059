/* pool.h - threads that share one piece of work at a time.
 *
 * The thread that brings work takes part in it. Work that arrives while the
 * pool is busy is done by the thread that brought it, at once and alone, so
 * nobody ever waits for somebody else's work. Threads start with the first
 * piece of work that two can share, and sx_pool_free() joins them. After fork()
 * the child finds a pool without threads, which start again when needed. */
#ifndef SX_POOL_H
#define SX_POOL_H

#include "base/status.h"

typedef struct sx_pool sx_pool;
typedef void sx_pool_fn(void *work, unsigned part);

/* lingers: threads stay awake for a moment after a piece of work, unless there are more of them than
 * processors. */
sx_status sx_pool_new(sx_pool **out, unsigned threads, int lingers, sx_err *err);
void sx_pool_free(sx_pool *pool);

/* Calls fn(work, part) for every part in [0, parts), by at most `threads`
 * threads (0: all), each part once; returns when all are done. */
void sx_pool_run(sx_pool *pool, unsigned threads, unsigned parts,
                 sx_pool_fn *fn, void *work);

#endif
