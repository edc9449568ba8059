#define _GNU_SOURCE
#include "base/pool.h"

#include "base/alloc.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

struct sx_pool {
    unsigned threads;             /* the caller's thread included */
    unsigned started;             /* of them, running in the pool */
    sx_pool *prev, *link;         /* in the list of all pools */
    pthread_mutex_t busy;         /* held by the thread whose work runs */
    pthread_mutex_t lock;         /* guards what follows */
    pthread_cond_t wake, done;
    uint64_t round;               /* counts pieces of work */
    int stop;
    unsigned helpers;             /* more that may join this round */
    unsigned inside;              /* pool threads at work in this round */
    sx_pool_fn *fn;
    void *work;
    unsigned parts;
    _Atomic unsigned next;        /* first part that nobody has taken */
    pthread_t *thread;
};

/* All pools, for fork(): the child has only the thread that forked, so
 * each of its pools goes back to the state before any thread was started. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static sx_pool *all_pools;
static pthread_once_t watch_fork = PTHREAD_ONCE_INIT;

static void reset(sx_pool *pool)
{
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

static void before_fork(void)
{
    pthread_mutex_lock(&list_lock);
}

static void parent_after_fork(void)
{
    pthread_mutex_unlock(&list_lock);
}

static void child_after_fork(void)
{
    for (sx_pool *pool = all_pools; pool; pool = pool->link)
        reset(pool);
    pthread_mutex_unlock(&list_lock);
}

static void install_fork_watch(void)
{
    pthread_atfork(before_fork, parent_after_fork, child_after_fork);
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
    sx_status st;

    pthread_once(&watch_fork, install_fork_watch);
    st = sx_alloc((void **)&pool, sizeof *pool + threads * sizeof(pthread_t),
                  "a thread pool", err);
    if (st != SX_OK)
        return st;
    memset(pool, 0, sizeof *pool);
    pool->threads = threads;
    pool->thread = (pthread_t *)(void *)(pool + 1);
    reset(pool);
    pthread_mutex_lock(&list_lock);
    pool->link = all_pools;
    if (all_pools)
        all_pools->prev = pool;
    all_pools = pool;
    pthread_mutex_unlock(&list_lock);
    *out = pool;
    return SX_OK;
}

void sx_pool_free(sx_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&list_lock);
    *(pool->prev ? &pool->prev->link : &all_pools) = pool->link;
    if (pool->link)
        pool->link->prev = pool->prev;
    pthread_mutex_unlock(&list_lock);

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

/* Signals belong to the program's own threads, so ours block them all. A
 * thread that can't be started is done without. */
static void start_threads(sx_pool *pool)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->started + 1 < pool->threads) {
        if (pthread_create(&pool->thread[pool->started], NULL, pool_thread, pool) != 0)
            break;
        pool->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sx_pool_run(sx_pool *pool, unsigned threads, unsigned parts,
                 sx_pool_fn *fn, void *work)
{
    int before;

    if (threads == 0 || threads > pool->threads)
        threads = pool->threads;
    if (threads > parts)
        threads = parts;
    if (threads < 2 || pthread_mutex_trylock(&pool->busy) != 0) {
        for (unsigned part = 0; part < parts; part++)
            fn(work, part);
        return;
    }
    /* Others work with the caller's memory: it can't be cancelled before they end. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
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
    else                          /* each costs, also one that finds nothing to do */
        for (unsigned i = 1; i < threads; i++)
            pthread_cond_signal(&pool->wake);
    pthread_mutex_unlock(&pool->lock);

    take_parts(pool);

    pthread_mutex_lock(&pool->lock);
    pool->helpers = 0;            /* who has not woken yet need not */
    while (pool->inside > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->busy);
    pthread_setcancelstate(before, NULL);
}
