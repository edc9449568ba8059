/* version.h - an index is a pointer to its present version, and a version never changes.
 *
 *     sx_index --now--> version 3 --> run --> replica on the host
 *                       |    n, max_row, cost   '-> replica on the device
 *                       (version 2: two calls are still in it)
 *
 * Every verb pins the version, looks at its arguments, answers and unpins, all of it with
 * that one version: what is published meanwhile is for calls that come later.
 *
 * Pinning is counting. A reader adds one to a counter and then reads `now`; it takes that
 * one away again when it is done. Who publishes stores `now` and then waits until it has
 * seen each counter at zero, once. A reader that counted before that look is waited for. One
 * that counted after it has read the new version, as its count came before its reading and
 * the store before the look (all four are sequentially consistent). So nobody has the old
 * one any more, and it is given back by who published; readers never free anything.
 *
 * There are two counters, so that readers who come and go without a gap do not keep a
 * counter above zero for ever: those who come take the one, and the other runs dry. And
 * there are SX_PIN_LINES such pairs, each in a line of its own, so that threads do not share
 * a line: a thread has its pair from the order of their first calls.
 *
 * What holds a version longer than a call does:
 *   - work on a stream. It is queued by a call, so when no call has the version any more all
 *     of it is queued, and the device is settled before memory is given back;
 *   - a handle of the user's kernels. A version of which there is one stays until the index
 *     is freed;
 *   - fork(). The child's only thread may be in a call, in a tick, and other threads of the
 *     parent may have counted. So the child begins with counters of zero, calls from before
 *     do not count down, and the version of that moment stays as if it had a handle. */
#ifndef SX_QUERY_VERSION_H
#define SX_QUERY_VERSION_H

#include "base/alloc.h"
#include "place/run.h"
#include "query/cost.h"

typedef struct sx_index_version {
    sx_device *dev;               /* the index's: where its columns may be */
    int key_type;
    uint64_t n;                   /* keys, of all runs */
    uint64_t max_row;             /* 0 where there are none */
    sx_cost cost;                 /* where a run has two replicas */
    unsigned runs;                /* the newest first: one, until there are updates */
    sx_run *run[SX_RUNS_MAX];     /* (sx_views says what several will mean) */
    _Atomic int stays;            /* until the index is freed: somebody has it who does
                                     not count */
    struct sx_index_version *next;        /* in the list of those that stay */
} sx_index_version;

#define SX_PIN_LINES 32u

typedef struct {
    _Alignas(SX_LINE) _Atomic uint32_t readers[2];
} sx_pin_line;

struct sx_index {
    sx_device *dev;
    _Atomic(sx_index_version *) now;
    _Atomic uint32_t turn;        /* which counter readers take: 0, 1 */
    _Atomic uint32_t forks;       /* how often this process has become a child */
    sx_forked forked;
    sx_notes notes;               /* what a caller writes down, of all versions */
    pthread_mutex_t publishing;   /* guards what follows, and turn */
    sx_index_version *stay;       /* replaced, but with handles */
    sx_pin_line line[SX_PIN_LINES];
};

/* ---- readers ------------------------------------------------------------------- */

typedef struct {
    const sx_index_version *now;
    _Atomic uint32_t *counter;
    uint32_t forks;
} sx_pin;

/* Between these two a thread can't be cancelled (base/cancel.h): nobody would unpin. */
sx_pin sx_pin_version(const sx_index *ix);
void sx_unpin(const sx_index *ix, const sx_pin *pin);

/* ---- versions ------------------------------------------------------------------ */

/* The one run that there is now: whoever calls this is to be looked at when there are more. */
static inline sx_run *sx_one_run(const sx_index_version *v)
{
    return v->run[0];
}

/* All runs, as the memory has them that a replica `like` is in: replicas of the same part, on
 * the same device. Every run has such a one. */
sx_views sx_version_views(const sx_index_version *v, const sx_replica *like);

/* One run, whose replica 0 is a store that is complete, in the memory of `at`. On failure
 * that is gone. */
sx_status sx_version_new(sx_index_version **out, sx_device *dev, sx_device *at, sx_store *store,
                         sx_err *err);
/* Gives back one that nobody has seen, or nobody can see any more. NULL is fine. */
void sx_version_drop(sx_index_version *v);

/* An index of this version, which holds its device. On failure the version is gone. */
sx_status sx_index_new(sx_index **out, sx_index_version *first, sx_err *err);
/* Makes `next`, of the same device and key type, the present version. Returns when no call
 * has the one before, which is given back then: so not from a tick of a question to this
 * index. */
void sx_index_publish(sx_index *ix, sx_index_version *next);

#endif
