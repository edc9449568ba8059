/* hybrid.c - the top of an index on a GPU, all of it on the host: the GPU walks
 * the top for a bucket of queries, and the CPU goes on from its hints, while the
 * GPU walks the top for the next ones.
 *
 *     a thread, the GPU   | hints 0 | hints 1 | hints 2 | hints 3 ...
 *     the caller, the CPU           | answers 0 | answers 1 | answers 2 ...
 *
 * Hints only save the CPU a part of its walks. So where there is no memory or no
 * thread for them the CPU answers alone; but a GPU that fails is an error. */
#include "query/index.h"

#include "base/alloc.h"
#include "base/thread.h"

#include <pthread.h>

/* Buckets that may be ready or on their way: one is walked while the other is
 * made. */
#define BUFFERS 2u

typedef struct {
    const sx_index *ix;
    const sx_hinted *ask;
    uint64_t n, bucket;           /* queries, of which a bucket has so many */
    uint64_t *hints;              /* BUFFERS times those of a bucket */
    pthread_mutex_t lock;         /* guards what follows */
    pthread_cond_t changed;
    uint64_t made, used;          /* buckets whose hints are there; are used up */
    int ended;                    /* no more hints come, or none are wanted */
    sx_status st;                 /* of the GPU's side */
    sx_err err;
} pipeline;

/* Whether hints pay, and how many queries make a bucket; 0: they do not. */
static uint64_t bucket_of(const sx_index *ix, const sx_hinted *ask, uint64_t n)
{
    sx_batch b = {0};
    uint64_t bucket;

    if (!ix->hybrid || !ix->hybrid->top.block || ask->columns == 0)
        return 0;
    bucket = ix->dev->backend->bucket(ix->dev->self) / ask->columns;
    b.n = n;
    b.threads = ask->threads;
    b.searches = ask->columns;
    return sx_cost_hints_pay(&ix->cost, &b, bucket, ask->columns) ? bucket : 0;
}

/* Where the hints of column c of a bucket are. */
static uint64_t *hints_of(const pipeline *p, uint64_t b, unsigned c)
{
    return p->hints + (b % BUFFERS * p->ask->columns + c) * p->bucket;
}

static uint64_t bucket_length(const pipeline *p, uint64_t b)
{
    uint64_t left = p->n - b * p->bucket;

    return left < p->bucket ? left : p->bucket;
}

/* ---- the GPU's side ----------------------------------------------------------- */

static sx_status make_hints(const pipeline *p, uint64_t b, sx_err *err)
{
    const sx_index *ix = p->ix;
    uint64_t bytes = sx_type_bytes(ix->store.key_type);
    sx_status st = SX_OK;

    for (unsigned c = 0; c < p->ask->columns && st == SX_OK; c++) {
        sx_hints job = {.key_type = ix->store.key_type, .right = p->ask->right[c],
                        .n = bucket_length(p, b), .threads = p->ask->threads,
                        .q = (const unsigned char *)p->ask->q[c] + b * p->bucket * bytes,
                        .out = hints_of(p, b, c)};
        st = ix->dev->backend->hint(ix->dev->self, &ix->hybrid->top.view, &job, err);
    }
    return st;
}

static void *hint_thread(void *arg)
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
        st = make_hints(p, b, &err);
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

/* Waits for the hints of bucket b; *hinted: they are there. Without them the CPU
 * goes on alone, if it was for want of memory. */
static sx_status await_hints(pipeline *p, uint64_t b, int *hinted, sx_err *err)
{
    sx_status st = SX_OK;

    pthread_mutex_lock(&p->lock);
    while (p->made <= b && !p->ended)
        pthread_cond_wait(&p->changed, &p->lock);
    *hinted = p->made > b;
    if (!*hinted && p->st != SX_ENOMEM) {
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
        const uint64_t *hint[2] = {NULL, NULL};
        int hinted;
        st = await_hints(p, b, &hinted, err);
        for (unsigned c = 0; hinted && c < p->ask->columns; c++)
            hint[c] = hints_of(p, b, c);
        if (st == SX_OK)
            st = answer(work, b * p->bucket, bucket_length(p, b), hint, err);
        pthread_mutex_lock(&p->lock);
        p->used++;
        p->ended |= st != SX_OK;
        pthread_cond_signal(&p->changed);
        pthread_mutex_unlock(&p->lock);
    }
    return st;
}

/* ---- both ------------------------------------------------------------------------ */

/* The index keeps the hints' memory of one call for the next: pinning takes long. */
static sx_status take_hints(const sx_index *ix, void **out, sx_err *err)
{
    const sx_device *dev = ix->dev;

    *out = atomic_exchange(&ix->hybrid->spare, NULL);
    return *out ? SX_OK
                : dev->backend->pin(dev->self, out,
                                    BUFFERS * dev->backend->bucket(dev->self) * sizeof(uint64_t),
                                    err);
}

static void give_hints(const sx_index *ix, void *hints)
{
    void *none = NULL;

    if (!atomic_compare_exchange_strong(&ix->hybrid->spare, &none, hints))
        ix->dev->backend->unpin(ix->dev->self, hints);
}

static sx_status run_pipeline(pipeline *p, sx_answer_fn *answer, void *work, sx_err *err)
{
    static const uint64_t *const none[2] = {NULL, NULL};
    pthread_t thread;
    sx_status st;

    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    if (sx_thread_start(&thread, hint_thread, p)) {
        st = answer_buckets(p, answer, work, err);
        pthread_join(thread, NULL);
    } else {
        st = answer(work, 0, p->n, none, err);
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    return st;
}

sx_status sx_hybrid_run(const sx_index *ix, const sx_hinted *ask, uint64_t n,
                        sx_answer_fn *answer, void *work, sx_err *err)
{
    static const uint64_t *const none[2] = {NULL, NULL};
    pipeline p = {.ix = ix, .ask = ask, .n = n, .bucket = bucket_of(ix, ask, n)};
    void *hints = NULL;
    sx_status st = SX_OK;

    if (p.bucket > 0)
        st = take_hints(ix, &hints, err);
    if (st != SX_OK && st != SX_ENOMEM)
        return st;
    if (!hints)
        return n > 0 ? answer(work, 0, n, none, err) : SX_OK;
    p.hints = hints;
    st = run_pipeline(&p, answer, work, err);
    give_hints(ix, hints);
    return st;
}

/* ---- an index's top ----------------------------------------------------------------- */

sx_status sx_hybrid_new(sx_index *ix, sx_err *err)
{
    sx_hybrid *h;
    sx_status st = sx_alloc_zero((void **)&h, sizeof *h, "a hybrid index", err);

    if (st != SX_OK)
        return st;
    atomic_init(&h->spare, NULL);
    st = sx_top_place(&h->top, &ix->store, ix->dev->backend, ix->dev->self, err);
    sx_take_usual_search(ix->dev, &h->top.view);      /* not as the CPU does */
    if (st == SX_OK)
        ix->hybrid = h;
    else
        sx_release(h);
    return st;
}

void sx_hybrid_free(sx_index *ix)
{
    sx_hybrid *h = ix->hybrid;

    if (!h)
        return;
    ix->dev->backend->unpin(ix->dev->self, atomic_load(&h->spare));
    ix->dev->backend->release(ix->dev->self, h->top.block);
    sx_release(h);
    ix->hybrid = NULL;
}
