/* hybrid.c - the upper part of an index on a GPU, all of it on the host: the GPU walks
 * the upper part for a bucket of queries, and the CPU goes on from its entries, while the
 * GPU walks it for the next ones (buckets.h).
 *
 *     a worker, the GPU   | entries 0 | entries 1 | entries 2 | entries 3 ...
 *     the caller, the CPU             | answers 0 | answers 1 | answers 2 ...
 *
 * Workers and the buffers of one call are kept by the device for later calls.
 *
 * Entries only save the CPU a part of its walks. So where there is no memory or no
 * thread for them the CPU answers alone; but a GPU that fails is an error. */
#include "query/index.h"

#include "base/worker.h"

typedef struct {
    const sx_replica *upper;      /* on the GPU */
    sx_views views;               /* of such ones */
    const sx_entered *ask;
    uint64_t n;
    sx_buckets cut;
    sx_state *states;             /* the ring: cut.buffers times those of a bucket */
    sx_worker *worker;            /* whose lock guards what follows */
    uint64_t made, used;          /* buckets whose entries are there; are used up */
    int ended;                    /* no more entries come, or none are wanted */
    sx_status st;                 /* of the GPU's side */
    sx_err err;
} pipeline;

/* Where the entries of column c of bucket b are. */
static sx_state *entries_of(const pipeline *p, uint64_t b, unsigned c)
{
    return p->states + (b % p->cut.buffers * p->ask->columns + c) * p->cut.most;
}

/* ---- the GPU's side ----------------------------------------------------------- */

/* Of bucket b, n queries from `at` on: all levels of the upper part. */
static sx_status make_entries(const pipeline *p, uint64_t b, uint64_t at, uint64_t n, sx_err *err)
{
    const sx_device *dev = p->upper->dev;
    uint64_t bytes = sx_type_bytes(p->ask->key_type);
    sx_status st = SX_OK;

    for (unsigned c = 0; c < p->ask->columns && st == SX_OK; c++) {
        sx_steps job = {.key_type = p->ask->key_type, .right = p->ask->right[c], .n = n,
                        .threads = p->ask->threads,
                        .q = (const unsigned char *)p->ask->q[c] + at * bytes,
                        .to = sx_view_levels(&p->upper->view), .out = entries_of(p, b, c)};
        st = dev->backend->steps(dev->self, &p->views, &job, err);
    }
    return st;
}

/* Waits until bucket b has a buffer; whether it still is wanted. */
static int await_buffer(pipeline *p, sx_worker *me, uint64_t b)
{
    int ended;

    pthread_mutex_lock(&me->lock);
    while (b >= p->used + p->cut.buffers && !p->ended)
        pthread_cond_wait(&me->changed, &me->lock);
    ended = p->ended;
    pthread_mutex_unlock(&me->lock);
    return !ended;
}

static void entries_task(sx_worker *me, void *work)
{
    pipeline *p = work;
    sx_status st = SX_OK;
    sx_err err;
    uint64_t n;

    for (uint64_t b = 0, at = 0; at < p->n && st == SX_OK; b++, at += n) {
        n = sx_bucket_length(&p->cut, p->n, at);
        if (!await_buffer(p, me, b))
            break;
        st = make_entries(p, b, at, n, &err);
        pthread_mutex_lock(&me->lock);
        p->made += st == SX_OK;
        pthread_cond_broadcast(&me->changed);
        pthread_mutex_unlock(&me->lock);
    }
    pthread_mutex_lock(&me->lock);
    p->ended = 1;
    p->st = st;
    if (st != SX_OK)
        p->err = err;
    pthread_cond_broadcast(&me->changed);
    pthread_mutex_unlock(&me->lock);
}

/* ---- the CPU's side -------------------------------------------------------------- */

/* Waits for the entries of bucket b; *entered: they are there. Without them the CPU
 * goes on alone, if it was for want of memory, or after a fork() in a tick. */
static sx_status await_entries(pipeline *p, uint64_t b, int *entered, sx_err *err)
{
    sx_status st = SX_OK;

    *entered = 0;
    if (sx_worker_lost(&p->upper->dev->workers, p->worker))
        return SX_OK;
    pthread_mutex_lock(&p->worker->lock);
    while (p->made <= b && !p->ended)
        pthread_cond_wait(&p->worker->changed, &p->worker->lock);
    *entered = p->made > b;
    if (!*entered && p->st != SX_ENOMEM) {
        st = p->st;
        *err = p->err;
    }
    pthread_mutex_unlock(&p->worker->lock);
    return st;
}

/* One more bucket is answered, or the call has failed. */
static void say_used(pipeline *p, sx_status st)
{
    if (sx_worker_lost(&p->upper->dev->workers, p->worker))
        return;
    pthread_mutex_lock(&p->worker->lock);
    p->used++;
    p->ended |= st != SX_OK;
    pthread_cond_broadcast(&p->worker->changed);
    pthread_mutex_unlock(&p->worker->lock);
}

/* Bucket by bucket; what is left where no more entries come, at once. */
static sx_status answer_buckets(pipeline *p, sx_answer_fn *answer, void *work, sx_err *err)
{
    sx_status st = SX_OK;
    uint64_t n;

    for (uint64_t b = 0, at = 0; at < p->n && st == SX_OK; b++, at += n) {
        const sx_state *entry[2] = {NULL, NULL};
        int entered;
        st = await_entries(p, b, &entered, err);
        n = entered ? sx_bucket_length(&p->cut, p->n, at) : p->n - at;
        for (unsigned c = 0; entered && c < p->ask->columns; c++)
            entry[c] = entries_of(p, b, c);
        if (st == SX_OK)
            st = answer(work, at, n, entry, err);
        say_used(p, st);
    }
    return st;
}

/* ---- both ------------------------------------------------------------------------ */

/* The device keeps the ring of one call for the next: pinning takes long. */
static sx_status take_ring(sx_device *dev, void **out, sx_err *err)
{
    uint64_t states = sx_ring_states(dev->backend->bucket(dev->self));

    *out = atomic_exchange(&dev->entries, NULL);
    return *out ? SX_OK : dev->backend->pin(dev->self, out, states * sizeof(sx_state), err);
}

static void give_ring(sx_device *dev, void *ring)
{
    void *none = NULL;

    if (!atomic_compare_exchange_strong(&dev->entries, &none, ring))
        dev->backend->unpin(dev->self, ring);
}

void sx_hybrid_rest(sx_device *dev)
{
    void *ring = atomic_exchange(&dev->entries, NULL);

    if (ring)
        dev->backend->unpin(dev->self, ring);
}

sx_status sx_hybrid_run(const sx_plan *plan, const sx_entered *ask, uint64_t n,
                        sx_answer_fn *answer, void *work, sx_err *err)
{
    static const sx_state *const none[2] = {NULL, NULL};
    pipeline p = {.upper = plan->entries, .ask = ask, .n = n, .cut = plan->cut};
    sx_workers *workers = p.upper ? &p.upper->dev->workers : NULL;
    void *ring = NULL;
    sx_status st = SX_OK;

    if (p.upper) {
        p.views = sx_version_views(plan->now, p.upper);
        st = take_ring(p.upper->dev, &ring, err);
    }
    if (st != SX_OK && st != SX_ENOMEM)
        return st;
    p.states = ring;
    p.worker = ring ? sx_worker_start(workers, entries_task, &p) : NULL;
    if (p.worker) {
        st = answer_buckets(&p, answer, work, err);
        sx_worker_finish(workers, p.worker);
    } else {
        st = n > 0 ? answer(work, 0, n, none, err) : SX_OK;
    }
    if (ring)
        give_ring(p.upper->dev, ring);
    return st;
}
