/* worker.h - threads that each do one task beside the thread that wants it done, and then wait
 * for a task of another owner.
 *
 *     owner    start ........ goes on ........ finish
 *     worker     | task, beside it         |   idle, until the next start
 *
 * Workers are started when they are needed first, as many as there are tasks at once. A few
 * stay idle, and sx_workers_end() joins these. Workers block signals that are sent (thread.h).
 * A thread must not be cancelled while it starts or finishes one.
 *
 * After fork() the child has none of the threads. It finds their records, and starts threads
 * for them again when it needs them. A worker that the forking thread owned itself, because it
 * forked in a tick, is lost: its task goes no further, and nobody may touch its lock. */
#ifndef SX_WORKER_H
#define SX_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

typedef struct sx_worker sx_worker;
typedef void sx_task_fn(sx_worker *me, void *work);

struct sx_worker {
    /* For its task and its owner: they guard with these what they share, and tell each other
     * that it has changed. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The rest is worker.c's, guarded by the same lock. */
    pthread_t thread;
    uint32_t forks;               /* of sx_workers, when the thread was started */
    int stop;
    sx_task_fn *task;             /* NULL: none */
    void *work;
    sx_worker *next;              /* in the list of idle workers */
    unsigned depth;               /* workers in that list from here on */
};

#define SX_WORKERS_IDLE 4u        /* at most */

typedef struct {
    pthread_mutex_t lock;
    /* Changed under the lock, and by one store each time, so that a fork() at any moment
     * leaves the child a whole list. */
    _Atomic(sx_worker *) idle;
    _Atomic uint32_t forks;       /* how often this process has become a child */
} sx_workers;

void sx_workers_begin(sx_workers *all);
void sx_workers_in_child(sx_workers *all);
/* While no task is under way. */
void sx_workers_end(sx_workers *all);

/* task(worker, work) runs from now on. NULL: there is no memory or no thread for it, and
 * the task does not run. */
sx_worker *sx_worker_start(sx_workers *all, sx_task_fn *task, void *work);
/* By its owner: whether a fork() has lost it. */
int sx_worker_lost(const sx_workers *all, const sx_worker *w);
/* By its owner: returns when the task has ended, or at once if the worker is lost. */
void sx_worker_finish(sx_workers *all, sx_worker *w);

/* How many workers are idle. For tests. */
unsigned sx_workers_idle(const sx_workers *all);

#endif
