/* test_help.c - a hybrid index whose CPU would wait for its GPU: it answers queries from the end of
 * the batch alone, each query is answered once, and failures in between leave nothing behind. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "on_device.h"
#include "inside.h"
#include "stand_in.h"

static asker *asking;

/* ---- stand-ins ------------------------------------------------------------------------------ */

/* What both sides have done in one call, and what they wait for. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t total;               /* queries of the call */
    uint64_t held;                /* of buckets that the GPU has been asked for */
    uint64_t alone, entered;      /* that the CPU has answered, without and with entries */
    uint64_t fail_after;          /* queries answered alone; then one such job fails */
    int failed;                   /* it has */
    int gave_up;                  /* somebody waited too long */
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static const sx_backend *gpu_own, *cpu_own;
static sx_backend gpu_table, cpu_table;

/* The GPU has no entries before the CPU has answered all that nobody else has begun. */
static sx_status patient_steps(void *self, const sx_views *v, const sx_steps *job, sx_err *err)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 300;
    pthread_mutex_lock(&seen.lock);
    seen.held += job->n;
    pthread_cond_broadcast(&seen.changed);
    while (seen.alone + seen.held < seen.total && !seen.failed && !seen.gave_up)
        seen.gave_up = pthread_cond_timedwait(&seen.changed, &seen.lock, &end) != 0;
    pthread_mutex_unlock(&seen.lock);
    return gpu_own->steps(self, v, job, err);
}

/* The GPU takes now longer, now not. */
static sx_status moody_steps(void *self, const sx_views *v, const sx_steps *job, sx_err *err)
{
    static _Atomic unsigned calls;
    for (unsigned i = calls++ * 2654435761u >> 20; i > 0; i--)
        sched_yield();
    return gpu_own->steps(self, v, job, err);
}

static sx_status counted_lookup(void *self, const sx_views *v, const sx_lookup *job, sx_err *err)
{
    sx_status st = cpu_own->lookup(self, v, job, err);
    pthread_mutex_lock(&seen.lock);
    if (st == SX_OK && !job->entry && !seen.failed && seen.alone >= seen.fail_after) {
        seen.failed = 1;
        st = sx_fail(err, SX_EIO, "told to fail");
    }
    if (st == SX_OK)
        *(job->entry ? &seen.entered : &seen.alone) += job->n;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
    return st;
}

static void stand_beside(sx_device *dev, sx_device *host)
{
    gpu_own = dev->backend;
    cpu_own = host->backend;
    gpu_table = *gpu_own;
    cpu_table = *cpu_own;
    cpu_table.lookup = counted_lookup;
    dev->backend = &gpu_table;
    host->backend = &cpu_table;
}

static void count_anew(uint64_t total, uint64_t fail_after)
{
    seen.total = total;
    seen.held = seen.alone = seen.entered = 0;
    seen.fail_after = fail_after;
    seen.failed = seen.gave_up = 0;
}

/* ---- tests ------------------------------------------------------------------------------------ */

typedef struct {
    sx_device *dev, *host;
    dataset *d;
    uint64_t *rows;
    sx_column q, out;
} world;

static world world_of(const char *options, uint64_t queries)
{
    rnd r = rnd_start(test_seed());
    sx_err err;
    world w = { .dev = device_open(kernel_with(options)) };
    assert_int_equal(sx_device_host(w.dev, &w.host, &err), SX_OK);
    w.d = data_make(SX_U64, KEYS_RANDOM, 4000, ROWS_U32, queries, &r);
    w.rows = need(w.d->queries * 8);
    w.q = column(w.d->type, w.d->queries, w.d->q.data);
    w.out = column(SX_U64, w.d->queries, w.rows);
    return w;
}

static void world_end(world *w)
{
    free(w->rows);
    data_free(w->d);
    sx_close(w->dev);
}

static const char *const specs[] = { "pivot(k=3,leaf=3) place=hybrid", "btree place=hybrid",
                                     "eytzinger(k=4) place=hybrid" };

/* A GPU that is slower than all that the CPU could do: what no worker has begun is answered
 * alone, and nothing is answered twice. */
static void test_waiting(void **state)
{
    (void)state;
    world w = world_of("bucket=64,side=gpu", 3000);
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        sx_index *ix = index_of(w.dev, w.d, specs[s]);
        stand_beside(w.dev, w.host);
        gpu_table.steps = patient_steps;
        count_anew(w.d->queries, UINT64_MAX);
        memset(w.rows, GUARD_FILL, w.d->queries * 8);
        sx_status st = sx_get(ix, &w.q, &w.out, NULL);
        w.dev->backend = gpu_own;
        w.host->backend = cpu_own;
        OK(st);
        assert_memory_equal(w.rows, w.d->get, w.d->queries * 8);
        assert_false(seen.gave_up);
        assert_int_equal(seen.alone + seen.entered, w.d->queries);
        assert_int_equal(seen.entered, seen.held);
        assert_true(seen.alone >= w.d->queries - 2 * 64);    /* two workers, a bucket each */
        sx_free(ix);
    }
    world_end(&w);
}

/* The CPU fails while it helps, sooner or later: the call says so, and the next one is right. */
static void test_failing(void **state)
{
    (void)state;
    world w = world_of("bucket=64,side=gpu", 1000);
    sx_index *ix = index_of(w.dev, w.d, specs[0]);
    for (uint64_t after = 0; after < w.d->queries - 2 * 64; after += 100) {
        stand_beside(w.dev, w.host);
        gpu_table.steps = patient_steps;
        count_anew(w.d->queries, after);
        sx_status st = sx_get(ix, &w.q, &w.out, NULL);
        w.dev->backend = gpu_own;
        w.host->backend = cpu_own;
        REFUSED(st, SX_EIO, "told to fail");
        assert_false(seen.gave_up);
        OK(sx_get(ix, &w.q, &w.out, NULL));
        assert_memory_equal(w.rows, w.d->get, w.d->queries * 8);
    }
    sx_free(ix);
    world_end(&w);
}

/* Every question, of a GPU whose speed changes. */
static void test_answers(void **state)
{
    (void)state;
    world w = world_of("bucket=16,side=gpu", 300);
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        sx_index *ix = index_of(w.dev, w.d, specs[s]);
        for (unsigned walks = 0; walks < 2; walks++) {
            now_of(ix)->cost.entries.balance = (sx_balance){ walks, walks * 300 };
            stand_beside(w.dev, w.host);
            gpu_table.steps = moody_steps;
            count_anew(w.d->queries, UINT64_MAX);
            asking->no_streams = true;
            ask_all(asking, w.dev, ix, w.d, specs[s]);
            asking->no_streams = false;
            w.dev->backend = gpu_own;
            w.host->backend = cpu_own;
        }
        sx_free(ix);
    }
    world_end(&w);
}

/* Who tells a balance or a strategy gets it: nobody helps. */
static void test_told(void **state)
{
    (void)state;
    static const char *const told[] = { "bucket=64,side=gpu,depth=0,share=0",
                                        "bucket=64,side=gpu,strategy=pipelined" };
    for (size_t i = 0; i < COUNT_OF(told); i++) {
        world w = world_of(told[i], 1000);
        sx_index *ix = index_of(w.dev, w.d, specs[0]);
        stand_beside(w.dev, w.host);
        count_anew(w.d->queries, UINT64_MAX);
        sx_status st = sx_get(ix, &w.q, &w.out, NULL);
        w.dev->backend = gpu_own;
        w.host->backend = cpu_own;
        OK(st);
        assert_int_equal(seen.alone, 0);
        assert_int_equal(seen.entered, w.d->queries);
        assert_memory_equal(w.rows, w.d->get, w.d->queries * 8);
        sx_free(ix);
        world_end(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_failing),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_told),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("help", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
