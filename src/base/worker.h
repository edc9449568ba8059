/* worker.h - threads that each do one task beside the thread that wants it done, and then wait
 * for somebody else's.
 *
 *     owner    start ........ goes on ........ finish
 *     worker     | task, beside it         |   idle, until the next start
 *
 * A worker is started when it is needed first: as many as there are tasks at once. A few are
 * kept idle; the last of them are joined by sx_workers_end(). Signals that are sent are blocked
 * in them (thread.h). Who starts or finishes one can't be cancelled meanwhile.
 *
 * After fork() the child has none of the threads. It finds their records, and starts threads
 * for them again when it needs them; a worker that the forking thread owned itself, in a tick,
 * is lost: its task goes no further, and its lock must not be touched. */
#ifndef SX_WORKER_H
#define SX_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

typedef struct sx_worker sx_worker;
typedef void sx_task_fn(sx_worker *me, void *work);

struct sx_worker {
    /* For its task and its owner: to guard what they share, and to tell each other that it
     * has changed. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The rest is worker.c's, guarded by the same lock. */
    pthread_t thread;
    uint32_t forks;               /* there were so many when the thread was started */
    int stop;
    sx_task_fn *task;             /* NULL: none */
    void *work;
    sx_worker *next;              /* in the list of those that are idle, ... */
    unsigned depth;               /* ... which has so many from here on */
};

#define SX_WORKERS_IDLE 4u        /* at most */

typedef struct {
    pthread_mutex_t lock;
    /* Changed under the lock, and by one store each time: a fork() at any moment leaves the
     * child a list that is whole. */
    _Atomic(sx_worker *) idle;
    _Atomic uint32_t forks;       /* how often this process has become a child */
} sx_workers;

void sx_workers_begin(sx_workers *all);
void sx_workers_in_child(sx_workers *all);
/* No task is under way. */
void sx_workers_end(sx_workers *all);

/* task(worker, work) runs from now on. NULL: there is no memory or no thread for it, and
 * nothing runs. */
sx_worker *sx_worker_start(sx_workers *all, sx_task_fn *task, void *work);
/* By its owner: whether it is lost. */
int sx_worker_lost(const sx_workers *all, const sx_worker *w);
/* By its owner: returns when the task has ended, unless it is lost. */
void sx_worker_finish(sx_workers *all, sx_worker *w);

/* How many are idle. For tests. */
unsigned sx_workers_idle(const sx_workers *all);

#endif
