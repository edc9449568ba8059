/* test_buckets.c - the engine of hybrid indexes: how batches are cut, how many buckets are in
 * flight, several calls at once, workers that are kept and that a fork() loses, and a lack of
 * memory and threads at every point. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "on_device.h"
#include "stand_in.h"

static unsigned idle_of(const sx_device *dev)
{
    return sx_workers_idle(&dev->workers);
}

/* ---- how batches are cut ----------------------------------------------------------- */

static void test_cut(void **state)
{
    (void)state;
    static const sx_balance plain = { 0, 0, 0 }, walked = { 0, 1, 0 };
    static const uint64_t buckets[] = { 16, 17, 48, 8191, 8192, 8193, 100000, 1 << 18, 1 << 21,
                                        (1 << 21) + 5, 1 << 24 };
    for (size_t i = 0; i < COUNT_OF(buckets); i++)
        for (unsigned columns = 1; columns <= 2; columns++)
            for (uint64_t n = 0; n < 1ull << 27; n = n < 20 ? n + 1 : n + n / 3) {
                sx_buckets cut = sx_buckets_of(n, buckets[i], columns, 0, &plain);
                uint64_t at = 0, before = 0;
                assert_in_range(cut.buffers, 2, 8);
                assert_true(cut.most * columns <= buckets[i] && cut.first <= cut.most);
                assert_true(cut.first >= 8 && cut.first <= 8192);
                assert_true(cut.buffers * cut.most * columns <= sx_ring_states(buckets[i]));
                assert_true(cut.most <= n / 8 || cut.most == cut.first);
                while (at < n && at < 1 << 25) {
                    uint64_t length = sx_bucket_length(&cut, n, at);
                    assert_true(length > 0 && length <= cut.most && length <= n - at);
                    assert_true(at == 0 ? length == (n < cut.first ? n : cut.first)
                                        : length >= before || at + length == n);
                    before = length;
                    at += length;
                }
                assert_true(at == n || at >= 1 << 25);
            }
    /* Three where the CPU walks, too; one if the strategy says so. */
    for (size_t i = 0; i < COUNT_OF(buckets); i++)
        for (unsigned columns = 1; columns <= 2; columns++)
            for (uint64_t n = 0; n < 1ull << 27; n = n < 20 ? n + 1 : n + n / 3) {
                sx_buckets usual = sx_buckets_of(n, buckets[i], columns, SX_BUCKETS_DOUBLE, &plain);
                sx_buckets cut = sx_buckets_of(n, buckets[i], columns, SX_BUCKETS_PIPELINED, &walked);
                assert_in_range(cut.buffers, 3, 8);
                assert_true(cut.first <= cut.most && cut.most <= usual.most);
                assert_true(cut.buffers * cut.most * columns <= sx_ring_states(buckets[i]));
                cut = sx_buckets_of(n, buckets[i], columns, SX_BUCKETS_SEQUENTIAL, &plain);
                assert_true(cut.buffers == 1 && cut.most == usual.most);
            }
    /* Four where the CPU has queries of its own, and all are of one size. */
    for (size_t i = 0; i < COUNT_OF(buckets); i++)
        for (unsigned columns = 1; columns <= 2; columns++)
            for (uint64_t n = 0; n < 1ull << 27; n = n < 20 ? n + 1 : n + n / 3) {
                sx_balance b = { 0, n % 2 ? 100 : 0, 1 + n % 1023 };
                sx_buckets usual = sx_buckets_of(n, buckets[i], columns, 0, &plain);
                sx_buckets cut = sx_buckets_of(n, buckets[i], columns, 0, &b);
                assert_in_range(cut.buffers, 4, 8);
                assert_true(cut.first == cut.most && cut.most <= usual.most);
                assert_true(cut.most == usual.most || usual.buffers < 4);
                assert_true(cut.buffers * cut.most * columns <= sx_ring_states(buckets[i]));
            }
    /* A GPU's: all eight if buckets are small, two of the largest. */
    assert_int_equal(sx_buckets_of(1 << 20, 1 << 21, 1, 0, &plain).buffers, 8);
    assert_int_equal(sx_buckets_of(1 << 23, 1 << 21, 1, 0, &plain).buffers, 4);
    assert_int_equal(sx_buckets_of(1 << 26, 1 << 21, 1, 0, &plain).buffers, 2);
    assert_int_equal(sx_buckets_of(1 << 26, 1 << 21, 1, 0, &plain).first, 8192);
}

/* ---- buckets in flight ------------------------------------------------------------------ */

enum { BUCKET = 16, QUERIES = 700 };

typedef struct {
    sx_device *dev;
    dataset *d;
    sx_index *ix;
    sx_plan plan;
    sx_entered ask;
} scene;

static scene make_scene(const char *options, const char *spec)
{
    scene s = { .dev = device_open(kernel_with(options)) };
    rnd r = rnd_start(test_seed());
    s.d = data_make(SX_U64, KEYS_DUPLICATES, 2500, ROWS_U64_SMALL, QUERIES, &r);
    s.ix = index_of(s.dev, s.d, spec);
    s.plan = (sx_plan){ .now = now_of(s.ix), .by = replica_of(s.ix, 0),
                        .entries = replica_of(s.ix, 1), .cut = { BUCKET, BUCKET, 8 } };
    s.ask = (sx_entered){ .key_type = SX_U64, .columns = 1,
                          .q = { sx_slice_fixed(s.d->q.data, 8, QUERIES, SX_HOST) } };
    return s;
}

/* One worker or two, and with levels that the CPU walks before the GPU or without: 0 to 3. */
enum { WAYS_IN_FLIGHT = 4 };
static void take_way(scene *s, unsigned way)
{
    s->plan.workers = 1 + way % 2;
    s->plan.balance = way / 2 ? (sx_balance){ 1, 400, 0 } : (sx_balance){ 0, 0, 0 };
}

static void free_scene(scene *s)
{
    sx_free(s->ix);
    sx_close(s->dev);
    data_free(s->d);
}

typedef struct {
    const scene *s;
    uint64_t n, bucket;           /* queries in all, and in a bucket */
    uint64_t own, own_next;       /* the CPU's own queries, the first of them that is not answered */
    uint64_t given;               /* the first of them that the GPU got, from the last one down */
    unsigned more;                /* buckets of these */
    uint64_t next, with;          /* first query of the next bucket; queries with entries */
    unsigned buffers;
    unsigned fork_at;             /* bucket; 0: none */
    uint64_t with_then;           /* queries with entries up to that one */
    bool in_child;
    uint64_t out[QUERIES];
} run_state;

/* The GPU makes entries as far ahead as there are buffers, and no farther. */
static void await_ahead(const run_state *w, uint64_t b)
{
    uint64_t all = (w->n + w->bucket - 1) / w->bucket;
    uint64_t most = b + w->buffers < all ? b + w->buffers : all;
    for (unsigned ms = 0; atomic_load(&asked) < most; ms++) {
        if (ms > HANGS_S * 1000u)
            die("bucket %llu: %u were made, not %llu", (unsigned long long)b, atomic_load(&asked),
                (unsigned long long)most);
        usleep(1000);
    }
    usleep(200);
    if (atomic_load(&asked) != most)
        die("bucket %llu: %u were made, more than %llu", (unsigned long long)b,
            atomic_load(&asked), (unsigned long long)most);
}

static sx_status answer(void *work, uint64_t at, uint64_t n, const sx_help *help, sx_err *err)
{
    run_state *w = work;
    const sx_replica *by = w->s->plan.by;
    sx_lookup get = { .op = SX_OP_GET, .key_type = SX_U64, .n = n,
                      .q = sx_slice_part(&w->s->ask.q[0], at, at + n),
                      .out = sx_slice_fixed(w->out + at, 8, n, SX_HOST),
                      .entry = help->entry[0], .how.beside = help->beside };
    bool given = at < w->own && help->entry[0];
    uint64_t *next = at < w->own ? &w->own_next : &w->next;
    if (given ? at + n != w->given || w->next != w->n : at != *next || (at < w->own && at + n > w->given))
        die("queries %llu to %llu, not from %llu on or up to %llu", (unsigned long long)at,
            (unsigned long long)(at + n), (unsigned long long)*next, (unsigned long long)w->given);
    if (given) {
        w->given = at;
        w->more++;
    } else {
        *next = at + n;
    }
    w->with += help->entry[0] ? n : 0;
    if (w->buffers)
        await_ahead(w, at / w->bucket);
    if (w->fork_at && at / w->bucket == w->fork_at) {
        pid_t pid = fork();
        if (pid < 0)
            die("fork");
        w->in_child = pid == 0;
        w->with_then = w->with;
        w->fork_at = 0;
        if (w->in_child) {
            alarm(HANGS_S);
        } else {
            int status;
            if (waitpid(pid, &status, 0) != pid || status != 0)
                die("the child: status %d", status);
        }
    }
    return by->dev->backend->lookup(by->dev->self, SX_ONE_VIEW(&by->view), &get, err);
}

static void run_it(const scene *s, run_state *w, uint64_t n)
{
    sx_err err;
    w->s = s;
    w->n = n;
    w->bucket = s->plan.cut.most;
    w->own = (n * s->plan.balance.own + 512) / 1024;
    w->next = w->own;
    w->given = w->own;
    w->own_next = w->with = 0;
    memset(w->out, GUARD_FILL, sizeof w->out);
    if (sx_hybrid_run(&s->plan, &s->ask, n, answer, w, NULL, &err) != SX_OK)
        die("%s", err.text);
    if (w->next != n || w->own_next != w->given || memcmp(w->out, s->d->get, n * 8) != 0)
        die("%llu queries: wrong answers", (unsigned long long)n);
}

static void test_in_flight(void **state)
{
    (void)state;
    scene s = make_scene("bucket=16,side=gpu", "pivot place=hybrid");
    for (unsigned way = 0; way < WAYS_IN_FLIGHT * 8; way++)
        for (uint64_t n = 0; n <= 12 * BUCKET + 1; n += n % BUCKET ? 1 : BUCKET - 1) {
            run_state w = { .buffers = 1 + way % 8 };
            s.plan.cut.buffers = w.buffers;
            take_way(&s, way / 8);
            stand_in(s.dev, OF_ENTRIES);
            run_it(&s, &w, n);
            stand_back(s.dev);
            assert_int_equal(w.with, n);
            assert_int_equal(asked, (n + BUCKET - 1) / BUCKET);
        }
    assert_int_equal(idle_of(s.dev), 2);          /* the same workers, all the time */
    free_scene(&s);
}

/* Queries that a GPU can't read are copied while buckets are answered, but for those of the first
 * buckets, one for each buffer; with one buffer, or if they are pinned, none are. Entries of wrong
 * queries would be wrong, and so would answers. */
static void test_copied_ahead(void **state)
{
    (void)state;
    scene s = make_scene("bucket=16,side=gpu", "pivot place=hybrid");
    for (unsigned way = 0; way < WAYS_IN_FLIGHT * 16; way++)
        for (uint64_t n = 0; n <= 12 * BUCKET + 1; n += n % BUCKET ? 1 : BUCKET - 1) {
            run_state w = { .buffers = 0 };
            unsigned buckets = (unsigned)((n + BUCKET - 1) / BUCKET);
            s.plan.cut.buffers = 1 + way % 8;
            take_way(&s, way / 16);
            stand_in(s.dev, OF_ENTRIES);
            all_pinned = way / 8 % 2;
            none_pinned = !all_pinned;
            column_from = s.d->q.data;
            column_bytes = QUERIES * 8;
            run_it(&s, &w, n);
            stand_back(s.dev);
            assert_int_equal(w.with, n);
            if (all_pinned || s.plan.cut.buffers == 1 || buckets < s.plan.cut.buffers)
                assert_int_equal(elsewhere, 0);
            else
                assert_int_equal(elsewhere, buckets - s.plan.cut.buffers);
        }
    free_scene(&s);
}

/* ---- queries of the CPU alone ------------------------------------------------------------- */

/* The first queries of a batch are answered without entries, and the GPU hears nothing of them but for
 * the last ones, if it is through with all others: of any part, also where that is all or nothing, and
 * with buckets of one query or that grow from one. */
static void test_own(void **state)
{
    (void)state;
    static const uint32_t owns[] = { 0, 1, 64, 300, 512, 900, 1023, 1024 };
    static const uint64_t sizes[] = { 1, 3, BUCKET };
    scene s = make_scene("bucket=16,side=gpu", "pivot place=hybrid");
    unsigned copied = 0, given = 0;
    for (unsigned i = 0; i < COUNT_OF(owns) * COUNT_OF(sizes) * 2 * WAYS_IN_FLIGHT; i++) {
        unsigned turn = i / (COUNT_OF(owns) * COUNT_OF(sizes));
        uint64_t size = sizes[i / COUNT_OF(owns) % COUNT_OF(sizes)];
        for (uint64_t n = 0; n <= 9 * size + 1; n += size > 3 && n % size == 1 ? size - 2 : 1) {
            run_state w = { .buffers = 0 };
            unsigned jobs = 0, buffers = 1 + (i + (unsigned)n) % 8;
            s.plan.cut = (sx_buckets){ n % 3 ? 1 : size, size, buffers };
            take_way(&s, turn % WAYS_IN_FLIGHT);
            s.plan.balance.own = owns[i % COUNT_OF(owns)];
            uint64_t with = n - (n * s.plan.balance.own + 512) / 1024;
            for (uint64_t at = 0; at < with; at += sx_bucket_length(&s.plan.cut, with, at))
                jobs++;
            stand_in(s.dev, OF_ENTRIES);
            all_pinned = turn / WAYS_IN_FLIGHT;
            none_pinned = !all_pinned;
            column_from = s.d->q.data;
            column_bytes = QUERIES * 8;
            run_it(&s, &w, n);
            stand_back(s.dev);
            assert_int_equal(w.with, with + (w.own - w.given));
            assert_int_equal(asked, jobs + w.more);
            given += w.more;
            assert_int_equal(elsewhere, all_pinned || buffers == 1 || jobs < buffers ? 0
                                                                              : jobs - buffers);
            copied += elsewhere;
        }
    }
    assert_true(copied > 0 && given > 0);
    free_scene(&s);
}

/* A process forks while it answers queries of its own, or others. The child has no worker any more,
 * and answers the rest alone. */
static void test_own_fork(void **state)
{
    (void)state;
    if (UNDER_TSAN)
        SKIP("ThreadSanitizer can't follow a fork with threads");
    if (kernel_is_gpu())
        SKIP("a GPU can't be used after fork()");
    scene s = make_scene("bucket=16,side=gpu", "pivot place=hybrid");
    for (unsigned way = 0; way < 2 * WAYS_IN_FLIGHT; way++) {
        run_state w = { .fork_at = way < WAYS_IN_FLIGHT ? 5 : 20 };
        take_way(&s, way % WAYS_IN_FLIGHT);
        s.plan.balance.own = 300;                 /* 205 queries */
        fflush(NULL);
        run_it(&s, &w, QUERIES);
        if (w.in_child) {
            if (w.with != w.with_then)
                die("with entries: %llu", (unsigned long long)w.with);
            _exit(0);
        }
        assert_int_equal(w.with, QUERIES - 205 + (w.own - w.given));
    }
    free_scene(&s);
}

/* ---- two columns --------------------------------------------------------------------------- */

/* Counts ranges from each query to the next, which may be empty. */
static sx_status count(void *work, uint64_t at, uint64_t n, const sx_help *help, sx_err *err)
{
    run_state *w = work;
    const sx_replica *by = w->s->plan.by;
    sx_span_query ask = { .key_type = SX_U64, .n = n, .limit = UINT64_MAX,
                          .lo = sx_slice_part(&w->s->ask.q[0], at, at + n),
                          .hi = sx_slice_part(&w->s->ask.q[1], at, at + n),
                          .entry_lo = help->entry[0], .entry_hi = help->entry[1],
                          .how.beside = help->beside };
    sx_spans to = { .n = n, .first = w->out + at };
    w->with += help->entry[1] ? n : 0;
    return by->dev->backend->spans(by->dev->self, SX_ONE_VIEW(&by->view), &ask, &to, err);
}

/* Buckets that are answered, and so copied, in several chunks; then the same of two columns. */
static void test_copied_in_parts(void **state)
{
    (void)state;
    enum { LONG = 200, RANGES = QUERIES - 1 };
    scene s = make_scene("bucket=1024,side=gpu", "pivot place=hybrid");
    const uint64_t *q = (const uint64_t *)(const void *)s.d->q.data;
    run_state w = { .buffers = 0 };
    sx_err err;
    s.plan.cut = (sx_buckets){ LONG, LONG, 2 };
    s.plan.workers = 1;
    stand_in(s.dev, OF_ENTRIES);
    none_pinned = true;
    column_from = q;
    column_bytes = QUERIES * 8;
    run_it(&s, &w, QUERIES);
    assert_int_equal(w.with, QUERIES);
    assert_int_equal(elsewhere, 2);
    s.ask.columns = 2;
    s.ask.q[1] = sx_slice_fixed(q + 1, 8, RANGES, SX_HOST);
    s.ask.side[1] = SX_RIGHT;
    w.with = 0;
    if (sx_hybrid_run(&s.plan, &s.ask, RANGES, count, &w, NULL, &err) != SX_OK)
        die("%s", err.text);
    stand_back(s.dev);
    assert_int_equal(w.with, RANGES);
    assert_int_equal(elsewhere, 2 + 4);
    for (uint64_t i = 0; i < RANGES; i++)
        assert_int_equal(w.out[i], q[i] > q[i + 1] ? 0 : s.d->right[i + 1] - s.d->left[i]);
    /* The same, where a quarter of them is the CPU's own. */
    s.plan.balance.own = 256;
    w.with = 0;
    memset(w.out, GUARD_FILL, sizeof w.out);
    stand_in(s.dev, OF_ENTRIES);
    none_pinned = true;
    column_from = q;
    column_bytes = QUERIES * 8;
    if (sx_hybrid_run(&s.plan, &s.ask, RANGES, count, &w, NULL, &err) != SX_OK)
        die("%s", err.text);
    stand_back(s.dev);
    assert_int_equal(w.with, RANGES - 175);
    assert_int_equal(elsewhere, 2);
    for (uint64_t i = 0; i < RANGES; i++)
        assert_int_equal(w.out[i], q[i] > q[i + 1] ? 0 : s.d->right[i + 1] - s.d->left[i]);
    free_scene(&s);
}

/* ---- batches from the first bucket on ------------------------------------------------------- */

/* Questions of every kind and size, in which buckets grow; those of ranges are half as large. */
static void test_sizes(void **state)
{
    (void)state;
    static const char *const options[] = { "side=gpu,bucket=10000", "side=gpu,bucket=1048576" };
    enum { MOST = 30000 };
    rnd r = rnd_start(test_seed());
    uint64_t n = 9000, *keys = need(n * sizeof *keys);
    keys_make(SX_U64, KEYS_RANDOM, n, &r, keys);
    dataset *d = data_wrap(SX_U64, n, keys, ROWS_NULL, NULL, MOST, &r);
    uint64_t *out = need(MOST * 8), *upper = need(MOST * 8), *its = need(MOST * 8);
    free(keys);
    /* The upper end of a range is the next one's lower end, if that is not below its own. */
    for (uint64_t j = 0; j < MOST; j++) {
        const uint64_t *q = (const uint64_t *)(const void *)d->q.data;
        its[j] = j + 1 < MOST && q[j + 1] >= q[j] ? j + 1 : j;
        upper[j] = q[its[j]];
    }
    for (size_t o = 0; o < COUNT_OF(options); o++) {
        sx_device *dev = device_open(kernel_with(options[o]));
        sx_index *ix = index_of(dev, d, o ? "guide place=hybrid" : "pivot place=hybrid");
        static const uint64_t sizes[] = { 1, 4999, 5000, 5001, 8191, 8192, 8193, 9999, 10000,
                                          10001, 16384, 16385, 19999, 20000, 20001, MOST };
        stand_in(dev, OF_ENTRIES);
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            sx_column q = column(SX_U64, sizes[i], d->q.data), to = column(SX_U64, sizes[i], out);
            sx_column lo = column(SX_U64, sizes[i], d->q.data);
            sx_column hi = column(SX_U64, sizes[i], upper);
            sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
            asked = 0;
            none_pinned = i % 2;
            OK(sx_get(ix, &q, &to, NULL));
            assert_memory_equal(out, d->get, sizes[i] * 8);
            assert_int_equal(asked > 0, sizes[i] >= 8192);
            asked = 0;
            OK(sx_range_count(ix, &ranges, &to, NULL));
            for (uint64_t j = 0; j < sizes[i]; j++)
                assert_int_equal(out[j], d->right[its[j]] - d->left[j]);
            assert_int_equal(asked > 0, sizes[i] >= (o ? 8192 : 5000));
            assert_int_equal(asked % 2, 0);
        }
        stand_back(dev);
        sx_free(ix);
        sx_close(dev);
    }
    free(its);
    free(upper);
    free(out);
    data_free(d);
}

/* ---- calls at once --------------------------------------------------------------------------- */

enum { THREADS = 7, CALLS = 12 };

typedef struct {
    pthread_t thread;
    const scene *s;
    pthread_barrier_t *together;
    char why[600];
} caller;

static void *call_often(void *arg)
{
    caller *c = arg;
    asker *a = asker_new();
    pthread_barrier_wait(c->together);
    for (unsigned i = 0; i < CALLS && !c->why[0]; i++) {
        const char *why = i % 3 ? ask_points(a, c->s->ix, c->s->d, SX_U64, NULL)
                                : ask_limit(a, c->s->ix, c->s->d, 4, 0, SX_U64, NULL);
        if (why)
            snprintf(c->why, sizeof c->why, "%s", why);
    }
    asker_free(a);
    return NULL;
}

static void test_calls_at_once(void **state)
{
    (void)state;
    uint64_t live = sx_alloc_live();
    scene s = make_scene("bucket=16,side=gpu", "eytzinger place=hybrid");
    pthread_barrier_t together;
    caller c[THREADS];
    pthread_barrier_init(&together, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        c[i] = (caller){ .s = &s, .together = &together };
        if (pthread_create(&c[i].thread, NULL, call_often, &c[i]) != 0)
            die("no thread");
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(c[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        if (c[i].why[0])
            fail_msg("%s", c[i].why);
    pthread_barrier_destroy(&together);
    assert_in_range(idle_of(s.dev), 1, SX_WORKERS_IDLE);
    free_scene(&s);               /* with idle workers */
    assert_int_equal(sx_alloc_live(), live);
}

/* More tasks at once than workers are kept idle: a barrier holds all until each has a worker. */
static void wait_for_all(sx_worker *me, void *work)
{
    (void)me;
    pthread_barrier_wait(work);
}

static void test_workers(void **state)
{
    (void)state;
    enum { MANY = 3 * SX_WORKERS_IDLE };
    uint64_t live = sx_alloc_live();
    sx_workers all;
    sx_workers_begin(&all);
    for (unsigned round = 0; round < 20; round++) {
        unsigned n = 1 + round % MANY;
        sx_worker *w[MANY];
        pthread_barrier_t together;
        pthread_barrier_init(&together, NULL, n);
        for (unsigned i = 0; i < n; i++) {
            w[i] = sx_worker_start(&all, wait_for_all, &together);
            assert_non_null(w[i]);
            for (unsigned j = 0; j < i; j++)
                assert_ptr_not_equal(w[i], w[j]);
        }
        for (unsigned i = 0; i < n; i++)
            sx_worker_finish(&all, w[i]);
        pthread_barrier_destroy(&together);
        assert_true(sx_workers_idle(&all) >= (n < SX_WORKERS_IDLE ? n : SX_WORKERS_IDLE));
        assert_true(sx_workers_idle(&all) <= SX_WORKERS_IDLE);
    }
    sx_workers_end(&all);
    assert_int_equal(sx_alloc_live(), live);
}

/* ---- fork() -------------------------------------------------------------------------------------- */

/* In the middle of a call, as a tick might do it. The child ends the call alone, starts its
 * worker again for the next one, and closes all. */
static void test_fork_in_call(void **state)
{
    (void)state;
    if (UNDER_TSAN)
        SKIP("ThreadSanitizer can't follow a fork with threads");
    if (kernel_is_gpu())
        SKIP("a GPU can't be used after fork()");
    scene s = make_scene("bucket=16,side=gpu", "pivot place=hybrid");
    for (unsigned at = 1; at < 40; at += 3) {
        run_state w = { .fork_at = at };
        unsigned way = at % WAYS_IN_FLIGHT, workers = at > 1 ? 2 : 1 + way % 2;
        take_way(&s, way);
        fflush(NULL);
        run_it(&s, &w, QUERIES);
        if (w.in_child) {
            if (w.with != (at + 1) * BUCKET)
                die("with entries: %llu", (unsigned long long)w.with);
            if (idle_of(s.dev) != workers)
                die("%u workers", idle_of(s.dev));
            run_it(&s, &w, QUERIES);
            if (w.with != QUERIES)
                die("again, with entries: %llu", (unsigned long long)w.with);
            free_scene(&s);
            _exit(0);
        }
        assert_int_equal(w.with, QUERIES);
    }
    free_scene(&s);
}

/* With idle workers, and while other threads have theirs at work. */
static void test_fork_beside(void **state)
{
    (void)state;
    if (UNDER_TSAN)
        SKIP("ThreadSanitizer can't follow a fork with threads");
    if (UNDER_ASAN)               /* its allocator's locks stay held in the child */
        SKIP("AddressSanitizer's allocator hangs after a fork while threads allocate");
    if (kernel_is_gpu())
        SKIP("a GPU can't be used after fork()");
    scene s = make_scene("bucket=16,side=gpu", "guide place=hybrid");
    pthread_barrier_t together;
    caller c[THREADS];
    pthread_barrier_init(&together, NULL, THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++) {
        c[i] = (caller){ .s = &s, .together = &together };
        if (pthread_create(&c[i].thread, NULL, call_often, &c[i]) != 0)
            die("no thread");
    }
    pthread_barrier_wait(&together);
    for (unsigned i = 0; i < 20; i++) {
        int status;
        fflush(NULL);
        pid_t pid = fork();
        if (pid < 0)
            die("fork");
        if (pid == 0) {
            run_state w = { 0 };
            alarm(HANGS_S);
            run_it(&s, &w, QUERIES);
            run_it(&s, &w, QUERIES);
            if (w.with != QUERIES)
                die("with entries: %llu", (unsigned long long)w.with);
            sx_free(s.ix);
            sx_close(s.dev);
            _exit(0);
        }
        if (waitpid(pid, &status, 0) != pid || status != 0)
            fail_msg("child %u: status %d", i, status);
        usleep(i * 300);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(c[i].thread, NULL);
        if (c[i].why[0])
            fail_msg("%s", c[i].why);
    }
    pthread_barrier_destroy(&together);
    free_scene(&s);
}

/* ---- no memory, no threads ----------------------------------------------------------------- */

/* Every allocation of a call fails once, on a device that keeps nothing yet. The CPU goes on
 * alone, and nothing is lost. */
static void test_no_memory(void **state)
{
    (void)state;
    unsigned alone = 0;
    for (long nth = 1; nth <= 25; nth++) {
        uint64_t live = sx_alloc_live();
        scene s = make_scene("bucket=16,side=gpu", "pivot place=hybrid");
        run_state w = { 0 };
        take_way(&s, (unsigned)nth % WAYS_IN_FLIGHT);
        sx_alloc_fail_at(nth);
        run_it(&s, &w, QUERIES);
        sx_alloc_fail_at(0);
        alone += w.with < QUERIES;
        run_it(&s, &w, QUERIES);
        assert_int_equal(w.with, QUERIES);
        free_scene(&s);
        assert_int_equal(sx_alloc_live(), live);
    }
    /* The worker, and the ring if it is such memory. */
    assert_true(alone >= (kernel_is_gpu() ? 1 : 2));
}

static void test_no_threads(void **state)
{
    (void)state;
    uint64_t live = sx_alloc_live();
    scene s = make_scene("bucket=16,side=gpu", "pgm(eps=8) place=hybrid");
    run_state w = { 0 };
    sx_thread_fail_from(1);
    run_it(&s, &w, QUERIES);
    assert_int_equal(w.with, 0);
    assert_int_equal(idle_of(s.dev), 0);
    sx_thread_fail_from(2);       /* one thread is started, and kept */
    for (unsigned i = 0; i < 2 * WAYS_IN_FLIGHT; i++) {
        take_way(&s, i % WAYS_IN_FLIGHT);
        run_it(&s, &w, QUERIES);
        assert_int_equal(w.with, QUERIES);
    }
    sx_thread_fail_from(0);
    assert_int_equal(idle_of(s.dev), 1);
    free_scene(&s);
    assert_int_equal(sx_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_copied_ahead),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_own_fork),
        cmocka_unit_test(test_copied_in_parts),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_calls_at_once),
        cmocka_unit_test(test_fork_in_call),
        cmocka_unit_test(test_fork_beside),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_threads),
    };
    test_seed();
    return cmocka_run_group_tests_name("buckets", tests, NULL, NULL) != 0;
}
