/* hybrid.c - all of an index is on the host, its upper part also on a GPU. The GPU walks the
 * upper part for a bucket of queries. The CPU goes on from these entries while the GPU makes
 * those of the next buckets (buckets.h).
 *
 *     a worker, the GPU   | entries 0 | entries 1 | entries 2 | entries 3 ...
 *     the caller, the CPU             | answers 0 | answers 1 | answers 2 ...
 *
 * Where that is more work for the GPU than for the CPU, the CPU walks the first levels of the
 * upper part, too (sx_balance), as far ahead as there are buffers:
 *
 *     the caller, the CPU | walks 0 | walks 1 | walks 2 | answers 0 | walks 3 | answers 1 ...
 *     a worker, the GPU             | entries 0    | entries 1    | entries 2    | ...
 *
 * Or the first queries of the batch are its own: it answers them without entries, in pieces, while it
 * would wait for the next bucket's, and what is left of them at last.
 *
 *     queries             | own ...         | bucket 0 | bucket 1 | ...
 *     the caller, the CPU | own | own | answers 0 | own | answers 1 | own | answers 2 ...
 *     a worker, the GPU   | entries 0   | entries 1   | entries 2   | ...
 *
 * How many are its own was found by trials of other batches. If the GPU is through before, and many of
 * them are left, it gets the last of these, as one more bucket and one more.
 *
 *     queries             | own ...     | bucket n + 1 | bucket n | bucket 0 | bucket 1 | ...
 *
 * The GPU reads queries in pinned memory. If the caller's are not, the threads that answer a bucket
 * copy, chunk by chunk, those of the bucket that will have its buffer next: they wait for memory
 * anyway, and a worker's copy would take a core from them. Only of the first buckets, one for each
 * buffer, and of wide keys do workers have queries copied.
 *
 *     queries in the ring  | 0 -> 2 | 1 -> 3 |       two buffers: while bucket 0 is answered from its
 *     entries in the ring  | 0      | 1      |       entries, queries of bucket 2 come where its own were
 *
 * There may be two workers, who take the next bucket in turns. Workers and the buffers of one
 * call are kept by the device for later calls.
 *
 * Entries only save the CPU a part of its walks. So if there is no memory or no thread for
 * them, the CPU answers alone. But a GPU that fails is an error. */
#include "query/index.h"

#include "base/machine.h"
#include "base/past.h"
#include "base/worker.h"


/* Queries of its own that the CPU answers before it looks for entries again: so many that waking
 * its threads is a small part of it. */
#define OWN_PIECE (1u << 17)

typedef struct {
    const sx_replica *upper;      /* on the GPU */
    const sx_replica *whole;      /* on the host */
    sx_views views, here;         /* of such ones */
    const sx_entered *ask;
    uint64_t own, behind;         /* queries that are at first the CPU's own; those behind them */
    uint64_t own_at;              /* the first of its own that is not answered; the CPU's */
    sx_buckets cut;
    sx_balance balance;
    int walks;                    /* the CPU walks levels before the GPU */
    sx_state *states;             /* the ring: cut.buffers times those of a bucket */
    unsigned char *queries;       /* the same of queries; NULL: nobody copies these ahead */
    uint64_t ahead_at;            /* first query of the bucket whose queries are copied next;
                                     the CPU's */
    uint64_t walked_at;           /* first query whose first levels are not walked; the CPU's */
    uint64_t cpu_ns;              /* the CPU's, too */
    sx_worker *first;             /* whose lock guards what follows; only the caller and the
                                     second worker read this */
    uint64_t n;                   /* queries with entries: those behind, and what of its own the CPU
                                     has given away, which alone changes it */
    int all;                      /* no more will be given away */
    uint64_t walked;              /* buckets whose first levels are walked, */
    uint64_t taken, taken_at;     /* that a worker has taken, and the next one's first query, */
    uint64_t used;                /* whose entries are used up */
    unsigned char made[SX_BUFFERS_MOST];          /* whether a buffer has entries to be used, */
    unsigned char copied[SX_BUFFERS_MOST];        /* the next bucket's queries */
    int ended;                    /* no more entries come, or none are wanted */
    sx_status st;                 /* of the GPU's side */
    sx_err err;
    uint64_t gpu_ns;              /* of the worker that took longer */
} pipeline;

/* Where the states of column c of bucket b are. */
static sx_state *states_of(const pipeline *p, uint64_t b, unsigned c)
{
    return p->states + (b % p->cut.buffers * p->ask->columns + c) * p->cut.most;
}

/* Where its queries are, if they are copied. */
static unsigned char *queries_of(const pipeline *p, uint64_t b, unsigned c)
{
    return p->queries + (b % p->cut.buffers * p->ask->columns + c) * p->cut.most * p->ask->q[c].each;
}

/* Queries are counted from the first one behind the CPU's own on, here and everywhere below. Those that
 * it has given away come last, the last bucket of them first: where n such queries, which are one
 * bucket or a part of it, begin in the batch. */
static uint64_t place_of(const pipeline *p, uint64_t at, uint64_t n)
{
    return at < p->behind ? p->own + at : p->own - (at - p->behind) - n;
}

/* The bucket that begins with query `at`, which is below p->n. Those that are given away are of the
 * largest size. */
static uint64_t length_at(const pipeline *p, uint64_t at)
{
    return at < p->behind ? sx_bucket_length(&p->cut, p->behind, at) : p->cut.most;
}

/* Of bucket b, n queries from `at` on, column c: the levels that are still to be set. */
static sx_steps steps_of(const pipeline *p, uint64_t b, uint64_t at, uint64_t n, unsigned c)
{
    uint64_t from = place_of(p, at, n);

    return (sx_steps){.key_type = p->ask->key_type, .side = p->ask->side[c], .n = n,
                      .threads = p->ask->threads, .head = sx_balance_head(&p->balance, n),
                      .q = sx_slice_part(&p->ask->q[c], from, from + n),
                      .out = states_of(p, b, c)};
}

/* ---- the GPU's side ----------------------------------------------------------- */

/* Of bucket b, n queries from `at` on: all levels that the CPU has not walked. copied: its queries
 * are in the ring. */
static sx_status make_entries(const pipeline *p, uint64_t b, uint64_t at, uint64_t n, int copied,
                              sx_err *err)
{
    const sx_device *dev = p->upper->dev;
    sx_status st = SX_OK;

    for (unsigned c = 0; c < p->ask->columns && st == SX_OK; c++) {
        sx_steps job = steps_of(p, b, at, n, c);
        job.from = p->balance.depth;
        job.head_from = p->balance.depth + 1;
        job.to = job.head_to = sx_view_levels(&p->upper->view);
        job.in = p->walks ? job.out : NULL;
        if (copied)
            job.q = sx_slice_fixed(queries_of(p, b, c), job.q.each, n, SX_HOST);
        st = dev->backend->steps(dev->self, &p->views, &job, err);
    }
    return st;
}

/* Whether nobody can take the next bucket yet: it has no buffer, or its first levels are not walked, or
 * the CPU may still give it away. The lock is held. */
static int must_wait(const pipeline *p)
{
    if (p->taken_at >= p->n)
        return !p->all;
    return p->taken >= p->used + p->cut.buffers || p->taken >= p->walked;
}

/* Takes the next bucket; 0: there is none, or it is not wanted. The lock is held. */
static int take_bucket(pipeline *p, sx_worker *first, uint64_t *b, uint64_t *at, uint64_t *n)
{
    while (!p->ended && must_wait(p))
        pthread_cond_wait(&first->changed, &first->lock);
    if (p->ended || p->taken_at >= p->n)
        return 0;
    *b = p->taken++;
    *at = p->taken_at;
    *n = length_at(p, *at);
    p->taken_at += *n;
    return 1;
}

static void make_all(pipeline *p, sx_worker *first)
{
    sx_status st = SX_OK;
    sx_err err;
    uint64_t b, at, n, took = 0;

    pthread_mutex_lock(&first->lock);
    while (take_bucket(p, first, &b, &at, &n)) {
        uint64_t begin;
        int copied = p->copied[b % p->cut.buffers];
        pthread_mutex_unlock(&first->lock);
        begin = sx_clock_ns();
        st = make_entries(p, b, at, n, copied, &err);
        took += sx_clock_ns() - begin;
        pthread_mutex_lock(&first->lock);
        p->made[b % p->cut.buffers] = st == SX_OK;
        if (st != SX_OK && !p->ended) {
            p->ended = 1;
            p->st = st;
            p->err = err;
        }
        pthread_cond_broadcast(&first->changed);
    }
    p->gpu_ns = took > p->gpu_ns ? took : p->gpu_ns;
    pthread_cond_broadcast(&first->changed);      /* the other one, if all are taken */
    pthread_mutex_unlock(&first->lock);
}

static void first_task(sx_worker *me, void *work)
{
    make_all(work, me);
}

static void second_task(sx_worker *me, void *work)
{
    pipeline *p = work;

    (void)me;
    make_all(p, p->first);
}

/* ---- the CPU's side -------------------------------------------------------------- */

static int lost(const pipeline *p)
{
    return sx_worker_lost(&p->upper->dev->workers, p->first);
}

/* The first levels of bucket b, n queries from walked_at on. */
static sx_status walk_bucket(const pipeline *p, uint64_t b, uint64_t n, sx_err *err)
{
    const sx_device *dev = p->whole->dev;
    sx_status st = SX_OK;

    for (unsigned c = 0; c < p->ask->columns && st == SX_OK; c++) {
        sx_steps job = steps_of(p, b, p->walked_at, n, c);
        job.to = p->balance.depth;
        job.head_to = p->balance.depth + 1;
        st = dev->backend->steps(dev->self, &p->here, &job, err);
    }
    return st;
}

/* The first levels of bucket b and those behind it that have buffers: a GPU that has enough to
 * do does not wait. Nobody walks for a worker who is lost or takes no more. */
static sx_status walk_ahead(pipeline *p, uint64_t b, sx_err *err)
{
    sx_status st = SX_OK;
    uint64_t next, n;
    int wanted = p->walks && !lost(p);

    while (wanted && st == SX_OK && p->walked_at < p->n) {
        pthread_mutex_lock(&p->first->lock);
        next = p->walked;
        wanted = !p->ended && next < b + p->cut.buffers;
        pthread_mutex_unlock(&p->first->lock);
        if (!wanted)
            break;
        n = length_at(p, p->walked_at);
        st = walk_bucket(p, next, n, err);
        p->walked_at += n;
        pthread_mutex_lock(&p->first->lock);
        p->walked += st == SX_OK;
        p->ended |= st != SX_OK;
        pthread_cond_broadcast(&p->first->changed);
        pthread_mutex_unlock(&p->first->lock);
    }
    return st == SX_ENOMEM ? SX_OK : st;
}

/* Waits for the entries of bucket b; *entered: they are there. Without them the CPU
 * goes on alone, if it was for want of memory, or after a fork() in a tick. */
static sx_status await_entries(pipeline *p, uint64_t b, int *entered, sx_err *err)
{
    const unsigned char *made = &p->made[b % p->cut.buffers];
    sx_status st = SX_OK;

    *entered = 0;
    if (lost(p))
        return SX_OK;
    pthread_mutex_lock(&p->first->lock);
    while (!*made && !p->ended)
        pthread_cond_wait(&p->first->changed, &p->first->lock);
    *entered = *made;
    if (!*entered && p->st != SX_ENOMEM) {
        st = p->st;
        *err = p->err;
    }
    pthread_mutex_unlock(&p->first->lock);
    return st;
}

/* Queries of a bucket, copied in parts while another one is answered. */
typedef struct {
    const pipeline *p;
    uint64_t b, at, n;            /* the bucket, its queries */
    uint64_t of;                  /* queries of the one that is answered */
} copying;

static void copy_queries(void *work, uint64_t first, uint64_t end)
{
    const copying *k = work;
    uint64_t a = first * k->n / k->of, b = end * k->n / k->of;

    for (unsigned c = 0; c < k->p->ask->columns; c++) {
        const sx_slice *q = &k->p->ask->q[c];
        sx_copy_past(queries_of(k->p, k->b, c) + a * q->each, sx_slice_at(q, k->p->own + k->at + a),
                     (b - a) * q->each);  /* only the GPU reads these */
    }
}

/* What is to be copied beside bucket b of n queries, if its entries are there: so the GPU has no use
 * for its queries any more, whose place those of the next bucket in its buffer take. *k.n is 0 if
 * there are none. Buckets that are given away later are not known yet. */
static sx_beside copy_ahead(pipeline *p, uint64_t b, uint64_t n, int entered, copying *k)
{
    *k = (copying){p, b + p->cut.buffers, p->ahead_at, 0, n};
    if (p->ahead_at < p->behind)
        k->n = length_at(p, p->ahead_at);
    p->ahead_at += k->n;
    if (!p->queries || !entered)
        k->n = 0;
    return (sx_beside){k->n > 0 ? copy_queries : NULL, k};
}

/* Bucket b is answered, or the call has failed. copied: its buffer has queries of the next one. */
static void say_used(pipeline *p, uint64_t b, int copied, sx_status st)
{
    if (lost(p))
        return;
    pthread_mutex_lock(&p->first->lock);
    p->made[b % p->cut.buffers] = 0;
    p->copied[b % p->cut.buffers] = copied != 0;
    p->used++;
    p->ended |= st != SX_OK;
    pthread_cond_broadcast(&p->first->changed);
    pthread_mutex_unlock(&p->first->lock);
}

/* Whether there is nothing to wait for: bucket b has its entries, or no more will come. */
static int has_entries(pipeline *p, uint64_t b)
{
    int has;

    if (lost(p))
        return 1;
    pthread_mutex_lock(&p->first->lock);
    has = p->made[b % p->cut.buffers] || p->ended;
    pthread_mutex_unlock(&p->first->lock);
    return has;
}

/* The CPU's own queries that are not answered. */
static uint64_t own_left(const pipeline *p)
{
    return p->own - (p->n - p->behind) - p->own_at;
}

/* Gives the GPU a bucket of them, if it has no other. The CPU keeps enough for the time that the bucket
 * takes on a GPU that is slower than it is; it never has more again. */
#define OWN_KEPT 2u
static void give_away(pipeline *p)
{
    int enough = own_left(p) >= (OWN_KEPT + 1) * p->cut.most;

    if (p->all || lost(p))
        return;
    pthread_mutex_lock(&p->first->lock);
    if (!enough || p->ended)
        p->all = 1;
    else if (p->taken_at >= p->n)
        p->n += p->cut.most;
    pthread_cond_broadcast(&p->first->changed);
    pthread_mutex_unlock(&p->first->lock);
}

/* At most n of the CPU's own queries. */
static sx_status answer_own(pipeline *p, uint64_t n, sx_answer_fn *answer, void *work, sx_err *err)
{
    static const sx_help none = {.entry = {NULL, NULL}};
    uint64_t at = p->own_at, left = own_left(p);

    n = n < left ? n : left;
    p->own_at += n;
    return n > 0 ? answer(work, at, n, &none, err) : SX_OK;
}

/* As many of them as there is time for before bucket b has its entries. */
static sx_status answer_meanwhile(pipeline *p, uint64_t b, sx_answer_fn *answer, void *work,
                                  sx_err *err)
{
    uint64_t piece = p->cut.most < OWN_PIECE ? p->cut.most : OWN_PIECE;
    sx_status st = SX_OK;

    while (st == SX_OK && own_left(p) > 0 && !has_entries(p, b)) {
        st = answer_own(p, piece, answer, work, err);
        give_away(p);
    }
    return st;
}

/* No more entries come: what the CPU has given away of bucket `at` and those behind it is its own again.
 * Returns how many of the others are left. */
static uint64_t take_back(pipeline *p, uint64_t at)
{
    p->n = at < p->behind ? p->behind : at;
    return p->n - at;
}

/* Answers bucket by bucket. If no more entries come, it answers the rest at once. *waited: what came
 * of waiting for entries. */
static sx_status answer_buckets(pipeline *p, sx_answer_fn *answer, void *work, sx_status *waited,
                                sx_err *err)
{
    sx_status st = SX_OK;
    uint64_t n;

    give_away(p);                 /* there may be none behind its own */
    for (uint64_t b = 0, at = 0; at < p->n && st == SX_OK; b++, at += n) {
        sx_help help = {.entry = {NULL, NULL}};
        copying k;
        uint64_t begin = sx_clock_ns();
        int entered = 0;
        st = walk_ahead(p, b, err);
        if (st == SX_OK)
            st = answer_meanwhile(p, b, answer, work, err);
        p->cpu_ns += sx_clock_ns() - begin;
        if (st == SX_OK)
            st = *waited = await_entries(p, b, &entered, err);
        begin = sx_clock_ns();
        n = entered ? length_at(p, at) : st == SX_OK || *waited != SX_OK ? take_back(p, at) : 0;
        for (unsigned c = 0; entered && c < p->ask->columns; c++)
            help.entry[c] = states_of(p, b, c);
        help.beside = copy_ahead(p, b, n, entered, &k);
        if (st == SX_OK && n > 0)
            st = answer(work, place_of(p, at, n), n, &help, err);
        p->cpu_ns += sx_clock_ns() - begin;
        say_used(p, b, k.n > 0, st);
        give_away(p);
    }
    return st;
}

/* All queries. Where the GPU fails, the CPU's own are answered nevertheless: so answers are right up
 * to some bucket. */
static sx_status answer_all(pipeline *p, sx_answer_fn *answer, void *work, sx_err *err)
{
    sx_status waited = SX_OK, own = SX_OK, st = answer_buckets(p, answer, work, &waited, err);
    uint64_t begin = sx_clock_ns();

    if (st == SX_OK || waited != SX_OK)   /* no worker writes p->err any more */
        own = answer_own(p, p->own, answer, work, st == SX_OK ? err : &p->err);
    p->cpu_ns += sx_clock_ns() - begin;
    return st == SX_OK ? own : st;
}

/* ---- both ------------------------------------------------------------------------ */

/* A query in the ring has so many bytes at most. */
#define QUERY_MOST 8u

/* The device keeps the ring of one call for the next, since page-locking takes long: states, and
 * then as many queries. */
static sx_status take_ring(sx_device *dev, void **out, uint64_t *states, sx_err *err)
{
    *states = sx_ring_states(dev->backend->bucket(dev->self));
    *out = atomic_exchange(&dev->entries, NULL);
    return *out ? SX_OK : dev->backend->pin(dev->self, out,
                                            *states * (sizeof(sx_state) + QUERY_MOST), err);
}

/* Whether queries are copied ahead: they are in memory that the GPU can't read, and there are
 * buckets behind those that are under way at first. With one buffer one side is to wait for the
 * other (SX_BUCKETS_SEQUENTIAL). */
static int copies_ahead(const pipeline *p)
{
    const sx_device *dev = p->upper->dev;

    return p->cut.buffers > 1 && p->ask->q[0].each <= QUERY_MOST && p->ahead_at < p->n &&
           !dev->backend->is_pinned(dev->self, p->ask->q[0].data);
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

/* Two workers where the plan says so and there is one more; the second ends first, as it uses
 * the other's lock. */
static sx_status run_workers(pipeline *p, unsigned count, sx_answer_fn *answer, void *work,
                             sx_err *err)
{
    sx_workers *workers = &p->upper->dev->workers;
    sx_worker *second = count > 1 ? sx_worker_start(workers, second_task, p) : NULL;
    sx_status st = answer_all(p, answer, work, err);

    if (second)
        sx_worker_finish(workers, second);
    sx_worker_finish(workers, p->first);
    return st;
}

sx_status sx_hybrid_run(const sx_plan *plan, const sx_entered *ask, uint64_t n,
                        sx_answer_fn *answer, void *work, sx_sides *took, sx_err *err)
{
    static const sx_help none = {.entry = {NULL, NULL}};
    uint64_t own = sx_balance_own(&plan->balance, n);
    pipeline p = {.upper = plan->entries, .whole = plan->by, .ask = ask, .own = own,
                  .behind = n - own, .n = n - own,
                  .cut = plan->cut, .balance = plan->balance,
                  .walks = sx_balance_walks(&plan->balance),
                  .all = own == 0 || took};       /* whose sides are timed has the share it is told */
    void *ring = NULL;
    uint64_t states = 0;
    sx_status st = SX_OK;

    if (p.upper) {
        p.views = sx_version_views(plan->now, p.upper);
        p.here = sx_plan_views(plan);
        st = take_ring(p.upper->dev, &ring, &states, err);
    }
    if (st != SX_OK && st != SX_ENOMEM)
        return st;
    p.states = ring;
    for (unsigned i = 0; ring && i < p.cut.buffers && p.ahead_at < p.n; i++)
        p.ahead_at += sx_bucket_length(&p.cut, p.n, p.ahead_at);
    if (ring && copies_ahead(&p))
        p.queries = (unsigned char *)(p.states + states);
    p.walked = p.walks ? 0 : UINT64_MAX;
    p.first = ring ? sx_worker_start(&p.upper->dev->workers, first_task, &p) : NULL;
    if (p.first) {
        st = run_workers(&p, plan->workers, answer, work, err);
    } else {
        uint64_t begin = sx_clock_ns();
        st = n > 0 ? answer(work, 0, n, &none, err) : SX_OK;
        p.cpu_ns = sx_clock_ns() - begin;
    }
    if (took)
        *took = (sx_sides){p.cpu_ns, p.gpu_ns};
    if (ring)
        give_ring(p.upper->dev, ring);
    return st;
}
