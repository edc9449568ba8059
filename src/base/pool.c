#include "base/pool.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/fork.h"
#include "base/machine.h"
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* What threads agree on without a lock:
 *
 *     | round, 32 bits | threads that may still join it, 16 | pool threads at work in it, 16 | */
#define ONE_HELPER ((uint64_t)1 << 16)
#define ROUND(state) ((uint32_t)((state) >> 32))
#define HELPERS(state) ((unsigned)((state) >> 16) & 0xffffu)
#define INSIDE(state) ((unsigned)(state) & 0xffffu)

struct sx_pool {
    unsigned threads;             /* the caller's thread included */
    unsigned started;             /* of these, running in the pool */
    int lingers;
    sx_forked forked;
    pthread_mutex_t busy;         /* held by the thread whose work runs */
    pthread_mutex_t lock;         /* of those who sleep */
    pthread_cond_t wake, done;
    _Atomic uint64_t state;
    _Atomic unsigned asleep;      /* pool threads that wait for `wake`, or are about to */
    _Atomic int waiting;          /* the caller waits for `done`, or is about to */
    _Atomic int stop;
    _Atomic uint64_t linger_ns;
    sx_pool_fn *fn;               /* of a round, as the next two: set before it begins */
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
    atomic_store(&pool->state, 0);
    atomic_store(&pool->asleep, 0);
    atomic_store(&pool->waiting, 0);
    atomic_store(&pool->stop, 0);
    pthread_mutex_init(&pool->busy, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
}

/* ---- lingering ------------------------------------------------------------------------- */

/* A thread that sleeps takes long to wake, in a virtual machine longer than a small round, and work often
 * comes in several rounds. So threads stay awake for a moment: as long as the last round took, so that at
 * most as much time is spent in vain as in work, and no longer than this. */
#define LINGER_MOST_NS 100000u
#define PAUSES 32u

typedef struct {
    uint64_t since;               /* 0: it has not begun */
    unsigned pauses;
} lingering;

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* 0: that was long enough. Others who need the processor get it. */
static int linger(const sx_pool *pool, lingering *l)
{
    if (++l->pauses % PAUSES) {
        pause_briefly();
        return 1;
    }
    if (!l->since)
        l->since = sx_machine_ns();
    sched_yield();
    return sx_machine_ns() - l->since < atomic_load(&pool->linger_ns);
}

/* ---- pool threads ------------------------------------------------------------------------ */

static void take_parts(sx_pool *pool)
{
    for (;;) {
        unsigned part = atomic_fetch_add(&pool->next, 1);
        if (part >= pool->parts)
            return;
        pool->fn(pool->work, part);
    }
}

/* Whether there is a round that a thread can join that has seen this one, or the pool ends. */
static int called(const sx_pool *pool, uint32_t seen)
{
    uint64_t state = atomic_load(&pool->state);

    return (ROUND(state) != seen && HELPERS(state) > 0) || atomic_load(&pool->stop);
}

static int join(sx_pool *pool, uint32_t *seen)
{
    uint64_t state = atomic_load(&pool->state);

    while (ROUND(state) != *seen && HELPERS(state) > 0)
        if (atomic_compare_exchange_weak(&pool->state, &state, state - ONE_HELPER + 1)) {
            *seen = ROUND(state);
            return 1;
        }
    return 0;
}

/* The last one to leave wakes a caller that sleeps. Whoever says that it is about to sleep looks once
 * more after that, and whoever wakes looks for sleepers last: so one of them sees the other. */
static void leave(sx_pool *pool)
{
    if (INSIDE(atomic_fetch_sub(&pool->state, 1)) > 1 || !atomic_load(&pool->waiting))
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->lock);
}

static void await_call(sx_pool *pool, uint32_t seen)
{
    lingering l = {0, 0};

    while (!called(pool, seen) && linger(pool, &l))
        ;
    if (called(pool, seen))
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->asleep, 1);
    while (!called(pool, seen))
        pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->asleep, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void *pool_thread(void *arg)
{
    sx_pool *pool = arg;
    uint32_t seen = 0;

    while (!atomic_load(&pool->stop)) {
        if (join(pool, &seen)) {
            take_parts(pool);
            leave(pool);
        }
        await_call(pool, seen);
    }
    return NULL;
}

/* ---- the pool ------------------------------------------------------------------------------ */

sx_status sx_pool_new(sx_pool **out, unsigned threads, int lingers, sx_err *err)
{
    sx_pool *pool;
    sx_status st = sx_alloc_zero((void **)&pool, sizeof *pool + threads * sizeof(pthread_t),
                                 "a thread pool", err);

    if (st != SX_OK)
        return st;
    pool->threads = threads;
    pool->lingers = lingers && threads <= sx_cpu_count();
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
    atomic_store(&pool->stop, 1);
    pthread_mutex_lock(&pool->lock);
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

/* Begins a round for so many threads beside the caller, and wakes as many as those who are awake are
 * too few: waking costs, even a thread that finds nothing to do. */
static void begin_round(sx_pool *pool, unsigned helpers)
{
    uint32_t round = ROUND(atomic_load(&pool->state)) + 1;
    unsigned asleep, awake;

    atomic_store(&pool->state, (uint64_t)round << 32 | helpers * ONE_HELPER);
    asleep = atomic_load(&pool->asleep);
    awake = pool->started > asleep ? pool->started - asleep : 0;
    if (asleep == 0 || awake >= helpers)
        return;
    pthread_mutex_lock(&pool->lock);
    if (helpers - awake >= asleep)
        pthread_cond_broadcast(&pool->wake);
    else
        for (unsigned i = awake; i < helpers; i++)
            pthread_cond_signal(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

/* Threads that have not joined yet may sleep on; waits for those that have. */
static void end_round(sx_pool *pool)
{
    lingering l = {0, 0};
    uint64_t state = atomic_load(&pool->state);

    while (HELPERS(state) > 0 &&
           !atomic_compare_exchange_weak(&pool->state, &state, state - HELPERS(state) * ONE_HELPER))
        ;
    while (INSIDE(atomic_load(&pool->state)) > 0 && linger(pool, &l))
        ;
    if (INSIDE(atomic_load(&pool->state)) == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->waiting, 1);
    while (INSIDE(atomic_load(&pool->state)) > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->waiting, 0);
    pthread_mutex_unlock(&pool->lock);
}

void sx_pool_run(sx_pool *pool, unsigned threads, unsigned parts,
                 sx_pool_fn *fn, void *work)
{
    uint64_t begin;

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
    pool->fn = fn;
    pool->work = work;
    pool->parts = parts;
    atomic_store(&pool->next, 0);
    begin = sx_machine_ns();
    begin_round(pool, threads - 1);
    take_parts(pool);
    if (pool->lingers) {
        uint64_t took = sx_machine_ns() - begin;
        atomic_store(&pool->linger_ns, took < LINGER_MOST_NS ? took : LINGER_MOST_NS);
    }
    end_round(pool);
    pthread_mutex_unlock(&pool->busy);
}
