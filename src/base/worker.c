#include "base/worker.h"

#include "base/alloc.h"
#include "base/thread.h"

void sx_workers_begin(sx_workers *all)
{
    pthread_mutex_init(&all->lock, NULL);
    atomic_init(&all->idle, NULL);
    atomic_init(&all->forks, 0);
}

void sx_workers_in_child(sx_workers *all)
{
    pthread_mutex_init(&all->lock, NULL);
    atomic_fetch_add(&all->forks, 1);
}

int sx_worker_lost(const sx_workers *all, const sx_worker *w)
{
    return w->forks != atomic_load(&all->forks);
}

unsigned sx_workers_idle(const sx_workers *all)
{
    const sx_worker *first = atomic_load(&all->idle);

    return first ? first->depth : 0;
}

/* ---- the list of idle ones ----------------------------------------------------------- */

static sx_worker *take_idle(sx_workers *all)
{
    sx_worker *w;

    pthread_mutex_lock(&all->lock);
    w = atomic_load(&all->idle);
    if (w)
        atomic_store(&all->idle, w->next);
    pthread_mutex_unlock(&all->lock);
    return w;
}

/* Whether the list took it: the list has a limit. */
static int keep_idle(sx_workers *all, sx_worker *w)
{
    int kept;

    pthread_mutex_lock(&all->lock);
    w->next = atomic_load(&all->idle);
    w->depth = w->next ? w->next->depth + 1 : 1;
    kept = w->depth <= SX_WORKERS_IDLE;
    if (kept)
        atomic_store(&all->idle, w);
    pthread_mutex_unlock(&all->lock);
    return kept;
}

/* ---- a thread ------------------------------------------------------------------------ */

static void *worker_thread(void *arg)
{
    sx_worker *w = arg;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->task && !w->stop)
            pthread_cond_wait(&w->changed, &w->lock);
        if (w->stop)
            break;
        pthread_mutex_unlock(&w->lock);
        w->task(w, w->work);
        pthread_mutex_lock(&w->lock);
        w->task = NULL;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Starts a thread for a worker without one. On failure the worker is gone. */
static sx_worker *start_thread(const sx_workers *all, sx_worker *w, sx_task_fn *task, void *work)
{
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->forks = atomic_load(&all->forks);
    w->stop = 0;
    w->task = task;
    w->work = work;
    if (sx_thread_start(&w->thread, worker_thread, w))
        return w;
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    sx_release(w);
    return NULL;
}

static void end_worker(const sx_workers *all, sx_worker *w)
{
    if (!sx_worker_lost(all, w)) {
        pthread_mutex_lock(&w->lock);
        w->stop = 1;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
        pthread_cond_destroy(&w->changed);
        pthread_mutex_destroy(&w->lock);
    }
    sx_release(w);
}

void sx_workers_end(sx_workers *all)
{
    for (sx_worker *w = take_idle(all); w; w = take_idle(all))
        end_worker(all, w);
    pthread_mutex_destroy(&all->lock);
}

/* ---- tasks --------------------------------------------------------------------------- */

sx_worker *sx_worker_start(sx_workers *all, sx_task_fn *task, void *work)
{
    sx_worker *w = take_idle(all);
    void *memory;
    sx_err err;

    if (!w && sx_alloc_zero(&memory, sizeof *w, "a worker", &err) != SX_OK)
        return NULL;
    if (!w)
        return start_thread(all, memory, task, work);
    if (sx_worker_lost(all, w))
        return start_thread(all, w, task, work);
    pthread_mutex_lock(&w->lock);
    w->task = task;
    w->work = work;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return w;
}

void sx_worker_finish(sx_workers *all, sx_worker *w)
{
    if (!sx_worker_lost(all, w)) {
        pthread_mutex_lock(&w->lock);
        while (w->task)
            pthread_cond_wait(&w->changed, &w->lock);
        pthread_mutex_unlock(&w->lock);
    }
    if (!keep_idle(all, w))
        end_worker(all, w);
}
