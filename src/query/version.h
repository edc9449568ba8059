/* version.h - an index is a pointer to its present version, and a version never changes.
 *
 *     sx_index --now--> version 3 --> run --> replica on the host
 *                       |    n, max_row, cost   '-> replica on the device
 *                       (version 2: two calls are still in it)
 *
 * Every verb holds the version, checks its arguments, answers and lets it go, all with that one
 * version. A version that is published meanwhile is for later calls.
 *
 * Holding is counting. A reader adds one to a counter and then reads `now`; when it is done, it
 * takes that one away again. A publisher stores `now` and then waits until it has seen each
 * counter at zero, once. It waits for all readers that counted before that look. A reader that
 * counted after it has read the new version, since it counted before it read, and the publisher
 * stored before it looked (all four are sequentially consistent). So no reader has the old
 * version any more, and the publisher gives it back. Readers never free anything.
 *
 * There are two counters, so that readers who come and go without a gap can't keep a counter
 * above zero for ever: new readers take one of them, and the other runs dry. There are
 * SX_HOLD_LINES such pairs, each in a line of its own, so that few threads share a line. Threads
 * take the pairs by turns, in the order of their first calls.
 *
 * What keeps a version longer than a call does:
 *   - work on a stream. Calls queue it, so all of it is queued when no call has the version any
 *     more, and the device is settled before memory is given back;
 *   - a handle of the user's kernels. A version that has one stays until the index is freed;
 *   - fork(). The child's only thread may be in a call, in a tick, and other threads of the
 *     parent may have counted. So the child begins with counters of zero, calls from before
 *     the fork do not count down, and the version of that moment stays as if it had a handle. */
#ifndef SX_QUERY_VERSION_H
#define SX_QUERY_VERSION_H

#include "base/alloc.h"
#include "place/run.h"
#include "query/cost.h"

typedef struct sx_index_version {
    sx_device *dev;               /* the index's: where its columns may be */
    int key_type;
    uint64_t n;                   /* keys, of all runs */
    uint64_t max_row;             /* 0 if there are no keys */
    sx_cost cost;                 /* if a run has two replicas */
    unsigned runs;                /* the newest first: one, until there are updates */
    sx_run *run[SX_RUNS_MAX];     /* (sx_views says what several will mean) */
    _Atomic int stays;            /* until the index is freed: somebody has it who does not count */
    struct sx_index_version *next;        /* in the list of versions that stay */
} sx_index_version;

#define SX_HOLD_LINES 32u

typedef struct {
    _Alignas(SX_LINE) _Atomic uint32_t readers[2];
} sx_hold_line;

struct sx_index {
    sx_device *dev;
    _Atomic(sx_index_version *) now;
    _Atomic uint32_t turn;        /* which counter readers take: 0, 1 */
    _Atomic uint32_t forks;       /* how often this process has become a child */
    sx_forked forked;
    sx_notes notes;               /* what callers wrote down, of all versions */
    pthread_mutex_t publishing;   /* guards `stay` and `turn` */
    sx_index_version *stay;       /* versions that were replaced, but stay */
    sx_hold_line line[SX_HOLD_LINES];
};

/* ---- readers ------------------------------------------------------------------- */

typedef struct {
    const sx_index_version *now;
    _Atomic uint32_t *counter;
    uint32_t forks;
} sx_hold;

/* Between these two a thread must not be cancelled (base/cancel.h): nobody would let go. */
sx_hold sx_hold_version(const sx_index *ix);
void sx_let_go(const sx_index *ix, const sx_hold *held);

/* ---- versions ------------------------------------------------------------------ */

/* The one run that there is now. Callers need another look when there are more. */
static inline sx_run *sx_one_run(const sx_index_version *v)
{
    return v->run[0];
}

/* Views of all runs in the memory that has the replica `like`: of replicas of the same part,
 * on the same device. Every run has one. */
sx_views sx_version_views(const sx_index_version *v, const sx_replica *like);

/* Makes a version of one run, whose replica 0 is a complete store in the memory of `at`. On
 * failure the store is gone. */
sx_status sx_version_new(sx_index_version **out, sx_device *dev, sx_device *at, sx_store *store,
                         sx_err *err);
/* Makes a version that is as `v`, and has its memory, each run following one of v's (place/grow.h):
 * to be changed, then published. v is the present version, or will not be. */
sx_status sx_version_follow(sx_index_version **out, const sx_index_version *v, sx_err *err);
/* Gives back a version that nobody has seen, or that nobody can see any more. NULL is fine. */
void sx_version_drop(sx_index_version *v);

/* Makes an index of this version. It holds its device. On failure the version is gone. */
sx_status sx_index_new(sx_index **out, sx_index_version *first, sx_err *err);
/* Makes `next`, of the same device and key type, the present version. Returns when no call has
 * the version before, which is given back then. So a tick of a question to this index must not
 * call it. */
void sx_index_publish(sx_index *ix, sx_index_version *next);

#endif
