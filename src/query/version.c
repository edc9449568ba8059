#include "query/index.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "place/grow.h"

#include <sched.h>
#include <time.h>

/* ---- readers ------------------------------------------------------------------- */

static _Atomic uint32_t threads_seen;

static uint32_t my_line(void)
{
    static _Thread_local uint32_t mine;   /* 0: none yet */

    if (mine == 0)
        mine = atomic_fetch_add_explicit(&threads_seen, 1, memory_order_relaxed) % SX_HOLD_LINES + 1;
    return mine - 1;
}

sx_hold sx_hold_version(const sx_index *ix)
{
    sx_index *counted = (sx_index *)ix;   /* to ask an index is to count in it */
    uint32_t turn = atomic_load_explicit(&counted->turn, memory_order_relaxed);
    sx_hold held = {.counter = &counted->line[my_line()].readers[turn],
                    .forks = atomic_load_explicit(&counted->forks, memory_order_relaxed)};

    atomic_fetch_add(held.counter, 1);
    held.now = atomic_load(&counted->now);
    return held;
}

void sx_let_go(const sx_index *ix, const sx_hold *held)
{
    if (atomic_load_explicit(&((sx_index *)ix)->forks, memory_order_relaxed) == held->forks)
        atomic_fetch_sub_explicit(held->counter, 1, memory_order_release);
}

/* ---- versions -------------------------------------------------------------------- */

sx_views sx_version_views(const sx_index_version *v, const sx_replica *like)
{
    sx_views views = {.count = v->runs};

    for (unsigned i = 0; i < v->runs; i++)
        for (unsigned r = 0; r < v->run[i]->replicas; r++)
            if (v->run[i]->replica[r].dev == like->dev && v->run[i]->replica[r].part == like->part)
                views.of[i] = &v->run[i]->replica[r].view;
    return views;
}

sx_status sx_version_new(sx_index_version **out, sx_device *dev, sx_device *at, sx_store *store,
                         sx_err *err)
{
    sx_index_version *v = NULL;
    sx_run *run = NULL;
    sx_status st = sx_alloc_zero((void **)&v, sizeof *v, "a version of an index", err);

    if (st == SX_OK)
        st = sx_alloc_zero((void **)&run, sizeof *run, "a run of an index", err);
    if (st != SX_OK) {
        sx_release(v);
        sx_store_drop(store, at->backend, at->self);
        return st;
    }
    sx_run_begin(run, store, at);
    v->run[v->runs++] = run;
    v->dev = dev;
    v->key_type = store->key_type;
    v->n = store->view.ranks;
    v->max_row = store->max_row;
    atomic_init(&v->stays, 0);
    *out = v;
    return SX_OK;
}

sx_status sx_version_follow(sx_index_version **out, const sx_index_version *v, sx_err *err)
{
    sx_index_version *next = NULL;
    sx_status st = sx_alloc_zero((void **)&next, sizeof *next, "a version of an index", err);

    if (st != SX_OK)
        return st;
    next->dev = v->dev;
    next->key_type = v->key_type;
    next->n = v->n;
    next->max_row = v->max_row;
    next->cost = v->cost;
    atomic_init(&next->stays, 0);
    for (unsigned i = 0; i < v->runs && st == SX_OK; i++) {
        sx_run *run = NULL;
        st = sx_alloc_zero((void **)&run, sizeof *run, "a run of an index", err);
        if (st == SX_OK)
            st = sx_run_follow(run, v->run[i], err);
        if (st == SX_OK)
            next->run[next->runs++] = run;
        else
            sx_release(run);
    }
    if (st != SX_OK) {
        sx_version_drop(next);
        return st;
    }
    *out = next;
    return SX_OK;
}

void sx_version_drop(sx_index_version *v)
{
    if (!v)
        return;
    for (unsigned i = 0; i < v->runs; i++) {
        sx_run_drop(v->run[i]);
        sx_release(v->run[i]);
    }
    sx_release(v);
}

/* ---- publishing -------------------------------------------------------------------- */

/* Another thread may hold the lock, and others may have counted. */
static void in_child(void *object)
{
    sx_index *ix = object;
    sx_index_version *now = atomic_load(&ix->now);

    pthread_mutex_init(&ix->publishing, NULL);
    atomic_fetch_add(&ix->forks, 1);
    for (unsigned i = 0; i < SX_HOLD_LINES; i++) {
        atomic_store(&ix->line[i].readers[0], 0);
        atomic_store(&ix->line[i].readers[1], 0);
    }
    if (now)
        atomic_store(&now->stays, 1);
}

sx_status sx_index_new(sx_index **out, sx_index_version *first, sx_err *err)
{
    sx_index *ix = NULL;
    sx_status st = sx_alloc_zero((void **)&ix, sizeof *ix, "an index", err);

    if (st != SX_OK) {
        sx_version_drop(first);
        return st;
    }
    ix->dev = first->dev;
    atomic_init(&ix->now, first);
    pthread_mutex_init(&ix->publishing, NULL);
    sx_fork_join(&ix->forked, in_child, ix);
    sx_device_hold(ix->dev);
    *out = ix;
    return SX_OK;
}

#define YIELDS 64u                /* a short call is over by then */
#define NAP_NS 50000

/* Returns when each of these counters was zero once. */
static void await_readers(sx_index *ix, uint32_t turn)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    unsigned looks = 0;

    for (unsigned i = 0; i < SX_HOLD_LINES; i++)
        while (atomic_load(&ix->line[i].readers[turn]) > 0)
            if (looks++ < YIELDS)
                sched_yield();
            else
                nanosleep(&nap, NULL);
}

/* Streams may still use memory that is about to be given back. */
static void settle(const sx_device *dev)
{
    if (dev->backend->settle)
        dev->backend->settle(dev->self);
}

void sx_index_publish(sx_index *ix, sx_index_version *next)
{
    SX_UNCANCELLED;
    sx_index_version *before;
    uint32_t turn;

    pthread_mutex_lock(&ix->publishing);
    before = atomic_exchange(&ix->now, next);
    turn = atomic_load(&ix->turn);
    await_readers(ix, !turn);     /* readers that read turn before its last change */
    atomic_store(&ix->turn, !turn);
    await_readers(ix, turn);
    if (atomic_load(&before->stays)) {
        before->next = ix->stay;
        ix->stay = before;
        before = NULL;
    }
    pthread_mutex_unlock(&ix->publishing);
    if (before) {
        settle(ix->dev);
        sx_version_drop(before);
    }
}

/* ---- the end ------------------------------------------------------------------------ */

void sx_free(sx_index *ix)
{
    SX_UNCANCELLED;
    sx_index_version *now;

    if (!ix)
        return;
    settle(ix->dev);
    sx_fork_leave(&ix->forked);
    now = atomic_load(&ix->now);
    if (now && sx_run_find(sx_one_run(now), 1, SX_UPPER))
        sx_hybrid_rest(ix->dev);
    if (now)
        sx_device_rest(sx_one_run(now)->replica[0].dev);
    sx_version_drop(now);
    for (sx_index_version *v = ix->stay, *next; v; v = next) {
        next = v->next;
        sx_version_drop(v);
    }
    pthread_mutex_destroy(&ix->publishing);
    sx_notes_drop(&ix->notes);
    sx_device_drop(ix->dev);
    sx_release(ix);
}
