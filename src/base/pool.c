#include "base/pool.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/fork.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdatomic.h>

struct sx_pool {
    unsigned threads;             /* the caller's thread included */
    unsigned started;             /* of these, running in the pool */
    sx_forked forked;
    pthread_mutex_t busy;         /* held by the thread whose work runs */
    pthread_mutex_t lock;         /* guards what follows */
    pthread_cond_t wake, done;
    uint64_t round;               /* counts pieces of work */
    int stop;
    unsigned helpers;             /* more threads that may join this round */
    unsigned inside;              /* pool threads at work in this round */
    sx_pool_fn *fn;
    void *work;
    unsigned parts;
    _Atomic unsigned next;        /* first part that nobody has taken */
    pthread_t *thread;
};

/* Back to the state before any thread was started, in which a child begins, too. */
static void reset(void *object)
{
    sx_pool *pool = object;

    pool->started = 0;
    pool->round = 0;
    pool->stop = 0;
    pool->helpers = 0;
    pool->inside = 0;
    pthread_mutex_init(&pool->busy, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
}

static void take_parts(sx_pool *pool)
{
    for (;;) {
        unsigned part = atomic_fetch_add(&pool->next, 1);
        if (part >= pool->parts)
            return;
        pool->fn(pool->work, part);
    }
}

static void *pool_thread(void *arg)
{
    sx_pool *pool = arg;
    uint64_t seen = 0;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && (pool->round == seen || pool->helpers == 0))
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->stop)
            break;
        seen = pool->round;
        pool->helpers--;
        pool->inside++;
        pthread_mutex_unlock(&pool->lock);
        take_parts(pool);
        pthread_mutex_lock(&pool->lock);
        if (--pool->inside == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

sx_status sx_pool_new(sx_pool **out, unsigned threads, sx_err *err)
{
    sx_pool *pool;
    sx_status st = sx_alloc_zero((void **)&pool, sizeof *pool + threads * sizeof(pthread_t),
                                 "a thread pool", err);

    if (st != SX_OK)
        return st;
    pool->threads = threads;
    pool->thread = (pthread_t *)(void *)(pool + 1);
    reset(pool);
    sx_fork_join(&pool->forked, reset, pool);
    *out = pool;
    return SX_OK;
}

void sx_pool_free(sx_pool *pool)
{
    if (!pool)
        return;
    sx_fork_leave(&pool->forked);
    pthread_mutex_lock(&pool->lock);
    pool->stop = 1;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->thread[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->busy);
    sx_release(pool);
}

/* The pool does without threads that can't be started. */
static void start_threads(sx_pool *pool)
{
    while (pool->started + 1 < pool->threads &&
           sx_thread_start(&pool->thread[pool->started], pool_thread, pool))
        pool->started++;
}

void sx_pool_run(sx_pool *pool, unsigned threads, unsigned parts,
                 sx_pool_fn *fn, void *work)
{
    if (threads == 0 || threads > pool->threads)
        threads = pool->threads;
    if (threads > parts)
        threads = parts;
    if (threads < 2 || pthread_mutex_trylock(&pool->busy) != 0) {
        for (unsigned part = 0; part < parts; part++)
            fn(work, part);
        return;
    }
    /* Other threads work with the caller's memory, so it can't be cancelled before they end. */
    SX_UNCANCELLED;
    if (pool->started + 1 < pool->threads)
        start_threads(pool);

    pthread_mutex_lock(&pool->lock);
    pool->fn = fn;
    pool->work = work;
    pool->parts = parts;
    atomic_store(&pool->next, 0);
    pool->helpers = threads - 1;
    pool->round++;
    if (threads == pool->threads)
        pthread_cond_broadcast(&pool->wake);
    else                          /* waking costs, even a thread that finds nothing to do */
        for (unsigned i = 1; i < threads; i++)
            pthread_cond_signal(&pool->wake);
    pthread_mutex_unlock(&pool->lock);

    take_parts(pool);

    pthread_mutex_lock(&pool->lock);
    pool->helpers = 0;            /* threads that have not woken yet may sleep on */
    while (pool->inside > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->busy);
}
