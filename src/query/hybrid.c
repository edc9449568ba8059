/* hybrid.c - the upper part of an index on a GPU, all of it on the host: the GPU walks
 * the upper part for a bucket of queries, and the CPU goes on from its entries, while the
 * GPU walks it for the next ones.
 *
 *     a thread, the GPU   | entries 0 | entries 1 | entries 2 | entries 3 ...
 *     the caller, the CPU           | answers 0 | answers 1 | answers 2 ...
 *
 * Entries only save the CPU a part of its walks. So where there is no memory or no
 * thread for them the CPU answers alone; but a GPU that fails is an error. */
#include "query/index.h"

#include "base/alloc.h"
#include "base/thread.h"

#include <pthread.h>

/* Buckets that may be ready or on their way: one is walked while the other is
 * made. */
#define BUFFERS 2u

typedef struct {
    const sx_replica *upper;      /* on the GPU */
    const sx_entered *ask;
    uint64_t n, bucket;           /* queries, of which a bucket has so many */
    sx_state *entries;            /* BUFFERS times those of a bucket */
    pthread_mutex_t lock;         /* guards what follows */
    pthread_cond_t changed;
    uint64_t made, used;          /* buckets whose entries are there; are used up */
    int ended;                    /* no more entries come, or none are wanted */
    sx_status st;                 /* of the GPU's side */
    sx_err err;
} pipeline;

/* Where the entries of column c of a bucket are. */
static sx_state *entries_of(const pipeline *p, uint64_t b, unsigned c)
{
    return p->entries + (b % BUFFERS * p->ask->columns + c) * p->bucket;
}

static uint64_t bucket_length(const pipeline *p, uint64_t b)
{
    uint64_t left = p->n - b * p->bucket;

    return left < p->bucket ? left : p->bucket;
}

/* ---- the GPU's side ----------------------------------------------------------- */

static sx_status make_entries(const pipeline *p, uint64_t b, sx_err *err)
{
    const sx_device *dev = p->upper->dev;
    uint64_t bytes = sx_type_bytes(p->ask->key_type);
    sx_status st = SX_OK;

    for (unsigned c = 0; c < p->ask->columns && st == SX_OK; c++) {
        sx_steps job = {.key_type = p->ask->key_type, .right = p->ask->right[c],
                        .n = bucket_length(p, b), .threads = p->ask->threads,
                        .q = (const unsigned char *)p->ask->q[c] + b * p->bucket * bytes,
                        .to = sx_view_levels(&p->upper->view), .out = entries_of(p, b, c)};
        st = dev->backend->steps(dev->self, &p->upper->view, &job, err);
    }
    return st;
}

static void *entry_thread(void *arg)
{
    pipeline *p = arg;
    sx_status st = SX_OK;
    sx_err err;

    for (uint64_t b = 0; b * p->bucket < p->n && st == SX_OK; b++) {
        int ended;
        pthread_mutex_lock(&p->lock);
        while (b >= p->used + BUFFERS && !p->ended)
            pthread_cond_wait(&p->changed, &p->lock);
        ended = p->ended;
        pthread_mutex_unlock(&p->lock);
        if (ended)
            break;
        st = make_entries(p, b, &err);
        pthread_mutex_lock(&p->lock);
        p->made += st == SX_OK;
        pthread_cond_signal(&p->changed);
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_lock(&p->lock);
    p->ended = 1;
    p->st = st;
    if (st != SX_OK)
        p->err = err;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- the CPU's side -------------------------------------------------------------- */

/* Waits for the entries of bucket b; *entered: they are there. Without them the CPU
 * goes on alone, if it was for want of memory. */
static sx_status await_entries(pipeline *p, uint64_t b, int *entered, sx_err *err)
{
    sx_status st = SX_OK;

    pthread_mutex_lock(&p->lock);
    while (p->made <= b && !p->ended)
        pthread_cond_wait(&p->changed, &p->lock);
    *entered = p->made > b;
    if (!*entered && p->st != SX_ENOMEM) {
        st = p->st;
        *err = p->err;
    }
    pthread_mutex_unlock(&p->lock);
    return st;
}

static sx_status answer_buckets(pipeline *p, sx_answer_fn *answer, void *work, sx_err *err)
{
    sx_status st = SX_OK;

    for (uint64_t b = 0; b * p->bucket < p->n && st == SX_OK; b++) {
        const sx_state *entry[2] = {NULL, NULL};
        int entered;
        st = await_entries(p, b, &entered, err);
        for (unsigned c = 0; entered && c < p->ask->columns; c++)
            entry[c] = entries_of(p, b, c);
        if (st == SX_OK)
            st = answer(work, b * p->bucket, bucket_length(p, b), entry, err);
        pthread_mutex_lock(&p->lock);
        p->used++;
        p->ended |= st != SX_OK;
        pthread_cond_signal(&p->changed);
        pthread_mutex_unlock(&p->lock);
    }
    return st;
}

/* ---- both ------------------------------------------------------------------------ */

/* The device keeps the entries' memory of one call for the next: pinning takes long. */
static sx_status take_entries(sx_device *dev, void **out, sx_err *err)
{
    *out = atomic_exchange(&dev->entries, NULL);
    return *out ? SX_OK
                : dev->backend->pin(dev->self, out,
                                    BUFFERS * dev->backend->bucket(dev->self) * sizeof(sx_state),
                                    err);
}

static void give_entries(sx_device *dev, void *entries)
{
    void *none = NULL;

    if (!atomic_compare_exchange_strong(&dev->entries, &none, entries))
        dev->backend->unpin(dev->self, entries);
}

void sx_hybrid_rest(sx_device *dev)
{
    void *entries = atomic_exchange(&dev->entries, NULL);

    if (entries)
        dev->backend->unpin(dev->self, entries);
}

static sx_status run_pipeline(pipeline *p, sx_answer_fn *answer, void *work, sx_err *err)
{
    static const sx_state *const none[2] = {NULL, NULL};
    pthread_t thread;
    sx_status st;

    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    if (sx_thread_start(&thread, entry_thread, p)) {
        st = answer_buckets(p, answer, work, err);
        pthread_join(thread, NULL);
    } else {
        st = answer(work, 0, p->n, none, err);
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    return st;
}

sx_status sx_hybrid_run(const sx_plan *plan, const sx_entered *ask, uint64_t n,
                        sx_answer_fn *answer, void *work, sx_err *err)
{
    static const sx_state *const none[2] = {NULL, NULL};
    pipeline p = {.upper = plan->entries, .ask = ask, .n = n, .bucket = plan->bucket};
    void *entries = NULL;
    sx_status st = SX_OK;

    if (p.upper)
        st = take_entries(p.upper->dev, &entries, err);
    if (st != SX_OK && st != SX_ENOMEM)
        return st;
    if (!entries)
        return n > 0 ? answer(work, 0, n, none, err) : SX_OK;
    p.entries = entries;
    st = run_pipeline(&p, answer, work, err);
    give_entries(p.upper->dev, entries);
    return st;
}
