/* test_threads.c - many threads at once, clean under ThreadSanitizer.
 *
 * Threads can't use cmocka: each returns a sentence about what is wrong, or
 * NULL, and the test fails with the first. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "ask.h"

#define THREADS 4

/* Large enough for a batch to be shared by the pool. */
#define KEYS 20000
#define QUERIES 30000

static const char *const specs[] = {
    "sorted", "eytzinger(k=9)", "eytzinger(k=2,layout=pairs)", "pivot",
    "pivot(k=5,layout=pairs)", "btree", "btree(fill=75)",
    "radix(leaf=2)",
};

/* ---- running threads ---------------------------------------------------- */

typedef struct worker worker;
typedef const char *worker_fn(worker *w);

struct worker {
    unsigned number;
    worker_fn *fn;
    pthread_t thread;
    sx_device *dev;
    sx_index *ix;
    const dataset *d;
    char *path;
    asker *asking;
    char why[600];
};

static void *run_worker(void *arg)
{
    worker *w = arg;
    w->asking = asker_new();
    const char *why = w->fn(w);
    if (why)
        snprintf(w->why, sizeof w->why, "thread %u: %s", w->number, why);
    asker_free(w->asking);
    return NULL;
}

static void start_workers(worker w[THREADS], worker_fn *fn, const worker *like)
{
    for (unsigned i = 0; i < THREADS; i++) {
        w[i] = *like;
        w[i].number = i;
        w[i].fn = fn;
        if (pthread_create(&w[i].thread, NULL, run_worker, &w[i]) != 0)
            die("no thread");
    }
}

static void join_workers(worker w[THREADS])
{
    const char *why = NULL;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        if (!why && w[i].why[0])
            why = w[i].why;
    }
    if (why)
        fail_msg("%s", why);
}

static const char *sentence(sx_status s)
{
    return s == SX_OK ? NULL : sx_detail();
}

/* ---- readers -------------------------------------------------------- */

static const char *read_all(worker *w)
{
    static const uint32_t at_most[] = { 0, 2, 1 };
    for (unsigned i = 0; i < 3; i++) {
        sx_call call = { .size = sizeof call, .threads = at_most[i] };
        const char *why = ask(w->asking, w->ix, w->d,
                              (i + w->number) % 2 ? SX_U32 : SX_U64, &call);
        if (why)
            return why;
        if (sx_check(w->ix, NULL) != SX_OK)
            return sx_detail();
    }
    return NULL;
}

static void test_readers(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=2");
    rnd r = rnd_start(test_seed());
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        dataset *d = data_make(key_types[i % COUNT_OF(key_types)],
                               KEYS_RANDOM, KEYS, (row_kind)(i % ROWS_KINDS),
                               QUERIES, &r);
        worker w[THREADS], like = { .dev = dev, .d = d };
        assert_int_equal(data_build(d, dev, specs[i], NULL, &like.ix), SX_OK);
        start_workers(w, read_all, &like);
        join_workers(w);
        sx_free(like.ix);
        data_free(d);
    }
    sx_close(dev);
}

/* ---- hybrid ---------------------------------------------------------- */

/* Each thread builds an index of its own, so that the first of them open the host of the
 * device at the same time; then all ask one index. */
static const char *build_hybrid(worker *w)
{
    static const char *const hybrid[] = {
        "pivot place=hybrid", "guide place=hybrid", "eytzinger(k=3) place=hybrid",
        "sorted place=host", "guide place=both", "pivot(layout=pairs) place=both",
    };
    sx_index *ix = NULL;
    const char *why = sentence(data_build(w->d, w->dev, hybrid[w->number % COUNT_OF(hybrid)], NULL,
                                          &ix));
    if (!why)
        why = ask(w->asking, ix, w->d, SX_U64, NULL);
    sx_free(ix);
    return why ? why : w->ix ? read_all(w) : NULL;
}

/* Batches of many buckets: each call has a thread that drives the GPU. */
static void test_hybrid(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 5);
    dataset *d = data_make(SX_U64, KEYS_DUPLICATES, 3000, ROWS_U32, 700, &r);
    for (unsigned round = 0; round < 2; round++) {
        sx_device *dev = device_open(kernel_with("bucket=64,side=gpu"));
        worker w[THREADS], like = { .dev = dev, .d = d };
        if (round > 0)
            assert_int_equal(data_build(d, dev, "pivot place=hybrid", NULL, &like.ix), SX_OK);
        start_workers(w, build_hybrid, &like);
        join_workers(w);
        sx_free(like.ix);
        sx_close(dev);
    }
    data_free(d);
}

/* ---- builders -------------------------------------------------------- */

static const char *build_and_ask(worker *w)
{
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        sx_index *ix = NULL;
        const char *spec = specs[(i + w->number) % COUNT_OF(specs)];
        if (data_build(w->d, w->dev, spec, NULL, &ix) != SX_OK)
            return sx_detail();
        const char *why = ask_points(w->asking, ix, w->d, SX_U64, NULL);
        if (!why)
            why = ask_description(w->asking, ix, w->d);
        sx_free(ix);
        if (why)
            return why;
    }
    return NULL;
}

static void test_builders(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=2");
    rnd r = rnd_start(test_seed() + 1);
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 100000, ROWS_U64_WIDE, 500,
                           &r);
    worker w[THREADS], like = { .dev = dev, .d = d };
    start_workers(w, build_and_ask, &like);
    join_workers(w);
    data_free(d);
    sx_close(dev);
}

/* ---- devices and indexes that come and go ------------------------------------ */

/* The device is closed before its index, which another thread frees. */
static const char *come_and_go(worker *w)
{
    for (unsigned i = 0; i < 5; i++) {
        sx_device *dev = NULL;
        sx_index *ix = NULL;
        if (sx_open(&dev, i % 2 ? "cpu:threads=2" : "cpu:scalar") != SX_OK ||
            data_build(w->d, dev, specs[i], NULL, &ix) != SX_OK)
            return sx_detail();
        sx_close(dev);
        const char *why = ask(w->asking, ix, w->d, SX_U64, NULL);
        if (why)
            return why;
        if (i == 4)
            w->ix = ix;           /* left to the main thread */
        else
            sx_free(ix);
    }
    return NULL;
}

static void test_lifetimes(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 2);
    /* Readers have batches for the pool; here ThreadSanitizer, which is slow, needs few. */
    dataset *d = data_make(SX_I32, KEYS_DUPLICATES, KEYS, ROWS_U32, UNDER_TSAN ? 2000 : 20000, &r);
    worker w[THREADS], like = { .d = d };
    start_workers(w, come_and_go, &like);
    join_workers(w);
    for (unsigned i = 0; i < THREADS; i++)
        sx_free(w[i].ix);
    data_free(d);
}

/* ---- files -------------------------------------------------------------- */

/* Every thread saves to the same path, and to one of its own. The file at either is always
 * whole. */
static const char *save_and_load(worker *w)
{
    char *own = need(strlen(w->path) + 16);
    const char *why = NULL;
    sprintf(own, "%s.%u", w->path, w->number);
    for (unsigned i = 0; i < 6 && !why; i++) {
        sx_index *ix = NULL;
        why = sentence(sx_save(w->ix, w->path, NULL));
        if (!why)
            why = sentence(sx_save(w->ix, own, NULL));
        if (!why)
            why = sentence(sx_load(&ix, w->dev, i % 2 ? own : w->path,
                                   i % 4, NULL));
        if (!why)
            why = ask(w->asking, ix, w->d, SX_U64, NULL);
        sx_free(ix);
    }
    free(own);
    return why;
}

static void test_files(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=2");
    rnd r = rnd_start(test_seed() + 3);
    dataset *d = data_make(SX_F64, KEYS_SPECIAL, 5000, ROWS_NULL, 300, &r);
    worker w[THREADS], like = { .dev = dev, .d = d };
    like.path = temp_path("threads.sxt");
    assert_int_equal(data_build(d, dev, "pivot", NULL, &like.ix), SX_OK);
    start_workers(w, save_and_load, &like);
    join_workers(w);
    sx_free(like.ix);
    free(like.path);
    data_free(d);
    sx_close(dev);
}

/* ---- cancelling ------------------------------------------------------- */

/* Asks after it was cancelled: that counts when it has all its answers. */
static void *ask_cancelled(void *arg)
{
    worker *w = arg;
    w->asking = asker_new();
    pthread_cancel(pthread_self());
    const char *why = ask(w->asking, w->ix, w->d, SX_U64, NULL);
    snprintf(w->why, sizeof w->why, "%s", why ? why : "");
    asker_free(w->asking);
    pthread_testcancel();
    return NULL;
}

static void test_cancelled(void **state)
{
    (void)state;
    static const char *const on[][2] = {
        { "cpu:threads=4", "pivot" }, { "simt,bucket=64,side=gpu", "pivot place=hybrid" },
    };
    rnd r = rnd_start(test_seed() + 5);
    for (size_t i = 0; i < COUNT_OF(on); i++) {
        sx_device *dev = device_open(on[i][0]);
        dataset *d = data_make(SX_U64, KEYS_RANDOM, i ? 2000 : KEYS, ROWS_NULL,
                               i ? 300 : QUERIES, &r);
        worker w = { .dev = dev, .d = d };
        void *end = NULL;
        assert_int_equal(data_build(d, dev, on[i][1], NULL, &w.ix), SX_OK);
        snprintf(w.why, sizeof w.why, "%s: cancelled in the middle", on[i][1]);
        assert_int_equal(pthread_create(&w.thread, NULL, ask_cancelled, &w), 0);
        assert_int_equal(pthread_join(w.thread, &end), 0);
        assert_string_equal(w.why, "");
        assert_ptr_equal(end, PTHREAD_CANCELED);
        sx_free(w.ix);
        data_free(d);
        sx_close(dev);
    }
}

/* ---- failures -------------------------------------------------------- */

static const char *fail_often(worker *w)
{
    static char why[600];
    char spec[64];
    for (unsigned i = 0; i < 300; i++) {
        sx_index *ix = NULL;
        snprintf(spec, sizeof spec, "family%u-%u", w->number, i);
        if (data_build(w->d, w->dev, spec, NULL, &ix) != SX_EINVAL)
            return "an unknown family was built";
        if (!strstr(sx_detail(), spec)) {
            snprintf(why, sizeof why, "another's detail: %s", sx_detail());
            return why;
        }
    }
    return NULL;
}

static void test_failures(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=2");
    rnd r = rnd_start(test_seed() + 4);
    dataset *d = data_make(SX_U32, KEYS_DENSE, 10, ROWS_NULL, 3, &r);
    worker w[THREADS], like = { .dev = dev, .d = d };
    start_workers(w, fail_often, &like);
    join_workers(w);
    data_free(d);
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readers),
        cmocka_unit_test(test_hybrid),
        cmocka_unit_test(test_builders),
        cmocka_unit_test(test_lifetimes),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_failures),
    };
    test_seed();
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL) != 0;
}
