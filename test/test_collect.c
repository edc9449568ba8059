/* test_collect.c - the collector: every answer against the oracle, whoever
 * comes, waits, gives up, fails or closes meanwhile; clean under
 * ThreadSanitizer.
 *
 * Threads can't use cmocka: each leaves a sentence about what is wrong, and the
 * test fails with the first. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/machine.h"
#include "on_device.h"
#include "query/index.h"

#define QUESTIONS 5
#define FOREVER (-1)
#define LONG_US (2u * HANGS_S * 1000000u)     /* an interval that no test waits for */
#define MARK 0x5ca1ab1edeadbeefu  /* an answer nobody gives */

/* ThreadSanitizer can't follow the emulator's fibers. */
#define DEVICES (UNDER_TSAN ? 1u : 2u)

static const char *device_name(unsigned i)
{
    return i == 0 ? "cpu:threads=2" : kernel_with("");
}

/* ---- an index, and what its answers must be ------------------------------------ */

typedef struct {
    sx_device *dev;
    sx_index *ix;
    dataset *d;
    sx_collector *c;
} scene;

static bool eager;                /* scenes to come */

static scene scene_of(unsigned device, int type, const char *spec, uint32_t batch,
                      uint32_t interval_us, rnd *r)
{
    scene s = { .dev = device_open(device_name(device)) };
    sx_collect_options o = { sizeof o, batch, interval_us, eager, 0 };
    s.d = data_make(type, KEYS_DUPLICATES, 700, ROWS_U64_WIDE, 200, r);
    OK(data_build(s.d, s.dev, spec, NULL, &s.ix));
    OK(sx_collector_new(&s.c, s.ix, &o));
    return s;
}

static void scene_free(scene *s)
{
    sx_collector_free(s->c);
    sx_free(s->ix);
    sx_close(s->dev);
    data_free(s->d);
}

static uint64_t row_of(const dataset *d, uint64_t position)
{
    return position == ORACLE_NONE ? SX_MISS : d->truth->rows[position];
}

static uint64_t right_answer(const dataset *d, unsigned what, uint64_t i)
{
    switch (what) {
    case SX_ASK_GET: return d->get[i];
    case SX_ASK_RANK_LEFT: return d->left[i];
    case SX_ASK_RANK_RIGHT: return d->right[i];
    case SX_ASK_FLOOR: return row_of(d, d->floor[i]);
    default: return row_of(d, d->ceil[i]);
    }
}

static const void *query(const dataset *d, uint64_t i)
{
    return d->q.data + i * d->width;
}

static sx_collector_info info_of(sx_collector *c)
{
    sx_collector_info info = { .size = sizeof info };
    if (sx_collector_describe(c, &info) != SX_OK)
        die("%s", sx_detail());
    return info;
}

static void sleep_us(uint64_t us)
{
    struct timespec t = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };
    nanosleep(&t, NULL);
}

/* Until the collector has counted so many keys that gave up. */
static void wait_timed_out(sx_collector *c, uint64_t n)
{
    while (info_of(c).timed_out < n)
        sleep_us(1000);
}

/* ---- threads ---------------------------------------------------------------------- */

#define THREADS_MOST 64

typedef struct worker worker;
struct worker {
    void (*fn)(worker *w);
    const scene *s;
    unsigned number, asks;
    int what;                     /* below 0: any question */
    int64_t timeout_us;
    pthread_t thread;
    rnd r;
    uint64_t answered, timed_out, failed, refused;
    sx_status status;             /* of the last one, and ... */
    char detail[512];             /* ... its sentence */
    char why[800];                /* what is wrong */
};

static worker workers[THREADS_MOST];

/* One question; everything that can be wrong about its outcome. */
static void ask_one(worker *w, unsigned what, uint64_t i, int64_t timeout_us)
{
    uint64_t answer = MARK, right = right_answer(w->s->d, what, i);
    w->status = sx_collect(w->s->c, (sx_ask)what, query(w->s->d, i), &answer, timeout_us);
    if (w->status == SX_OK) {
        w->answered++;
        if (answer != right)
            snprintf(w->why, sizeof w->why, "thread %u, question %u, query %llu: %llu, not %llu",
                     w->number, what, (unsigned long long)i, (unsigned long long)answer,
                     (unsigned long long)right);
        return;
    }
    snprintf(w->detail, sizeof w->detail, "%s", sx_detail());
    if (w->status == SX_ETIMEDOUT && timeout_us >= 0)
        w->timed_out++;
    else if (w->status == SX_EINVAL && strstr(w->detail, "is closing"))
        w->refused++;
    else
        w->failed++;
    if (answer != MARK)
        snprintf(w->why, sizeof w->why, "thread %u: status %d, but the answer is %llu", w->number,
                 (int)w->status, (unsigned long long)answer);
}

static unsigned any_question(worker *w)
{
    return w->what < 0 ? (unsigned)rnd_below(&w->r, QUESTIONS) : (unsigned)w->what;
}

static void ask_in_turn(worker *w)
{
    for (unsigned i = 0; i < w->asks; i++)
        ask_one(w, any_question(w), (i * 7 + w->number) % w->s->d->queries, w->timeout_us);
}

/* Asks, pauses and gives up at random. */
static void ask_wildly(worker *w)
{
    for (unsigned i = 0; i < w->asks; i++) {
        uint64_t dice = rnd_below(&w->r, 8);
        int64_t timeout_us = dice == 0 ? 0 : dice < 3 ? (int64_t)rnd_below(&w->r, 200) : FOREVER;
        ask_one(w, any_question(w), rnd_below(&w->r, w->s->d->queries), timeout_us);
        if (rnd_below(&w->r, 4) == 0)
            sleep_us(rnd_below(&w->r, 100));
    }
}

static void ask_until_refused(worker *w)
{
    while (!w->refused && !w->failed && !w->why[0])
        ask_one(w, any_question(w), rnd_below(&w->r, w->s->d->queries),
                rnd_below(&w->r, 4) ? FOREVER : (int64_t)rnd_below(&w->r, 100));
}

static void *run_worker(void *arg)
{
    worker *w = arg;
    w->fn(w);
    return NULL;
}

static void start(unsigned threads, const worker *like)
{
    static uint64_t turn;
    for (unsigned i = 0; i < threads; i++) {
        workers[i] = *like;
        workers[i].number = i;
        workers[i].r = rnd_start(test_seed() + ++turn);
        if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) != 0)
            die("no thread");
    }
}

/* The sums of all workers, which the collector's counters equal. */
static worker join(unsigned threads, const scene *s)
{
    worker sum = { 0 };
    const char *why = NULL;
    for (unsigned i = 0; i < threads; i++) {
        worker *w = &workers[i];
        pthread_join(w->thread, NULL);
        sum.answered += w->answered;
        sum.timed_out += w->timed_out;
        sum.failed += w->failed;
        sum.refused += w->refused;
        if (w->why[0])
            why = w->why;
    }
    if (why)
        fail_msg("%s", why);
    sx_collector_info info = info_of(s->c);
    assert_int_equal(info.answered, sum.answered);
    assert_int_equal(info.timed_out, sum.timed_out);
    assert_int_equal(info.failed, sum.failed);
    return sum;
}

/* ---- a backend that waits and fails when told ------------------------------------ */

static sx_backend gate_backend;
static const sx_backend *behind_gate;
static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_turn = PTHREAD_COND_INITIALIZER;
static bool gate_shut;
static unsigned gate_waiting;
static atomic_int gate_fails;     /* so many lookups from now fail */

static sx_status gate_lookup(void *self, const sx_views *v, const sx_lookup *job, sx_err *err)
{
    pthread_mutex_lock(&gate_lock);
    gate_waiting++;
    pthread_cond_broadcast(&gate_turn);
    while (gate_shut)
        pthread_cond_wait(&gate_turn, &gate_lock);
    gate_waiting--;
    pthread_mutex_unlock(&gate_lock);
    if (atomic_load(&gate_fails) > 0)
        return sx_fail(err, SX_EDEVICE, "failure number %d", atomic_fetch_sub(&gate_fails, 1));
    return behind_gate->lookup(self, v, job, err);
}

static void gate_install(scene *s)
{
    behind_gate = s->dev->backend;
    gate_backend = *behind_gate;
    gate_backend.lookup = gate_lookup;
    s->dev->backend = &gate_backend;
}

static void gate_set(bool shut)
{
    pthread_mutex_lock(&gate_lock);
    gate_shut = shut;
    pthread_cond_broadcast(&gate_turn);
    pthread_mutex_unlock(&gate_lock);
}

static void gate_await(unsigned lookups)
{
    pthread_mutex_lock(&gate_lock);
    while (gate_waiting < lookups)
        pthread_cond_wait(&gate_turn, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

/* ---- arguments -------------------------------------------------------------------- */

static void test_arguments(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    scene s = scene_of(0, SX_U64, "pivot", 0, 0, &r);
    sx_collector *c = NULL;
    sx_collect_options o = { sizeof o, 65536, 1, 0, 0 };
    sx_collector_info info = info_of(s.c);
    uint64_t key = 1, answer = MARK;
    assert_int_equal(info.batch, 1024);
    assert_int_equal(info.interval_us, 50);
    REFUSED(sx_collector_new(NULL, s.ix, NULL), SX_EINVAL, "output is NULL");
    REFUSED(sx_collector_new(&c, NULL, NULL), SX_EINVAL, "index is NULL");
    o.size = 8;
    REFUSED(sx_collector_new(&c, s.ix, &o), SX_EINVAL, "is 8");
    o = (sx_collect_options){ sizeof o, 65537, 1, 0, 0 };
    REFUSED(sx_collector_new(&c, s.ix, &o), SX_EINVAL, "65537; at most: 65536");
    o = (sx_collect_options){ sizeof o, 0, 0, 2, 0 };
    REFUSED(sx_collector_new(&c, s.ix, &o), SX_EINVAL, "eager of sx_collect_options is 2");
    o = (sx_collect_options){ sizeof o, 0, 0, 1, 7 };
    REFUSED(sx_collector_new(&c, s.ix, &o), SX_EINVAL, "is 7, not 0");
    o = (sx_collect_options){ sizeof o, 65536, 1, 0, 0 };
    sx_alloc_fail_at(1);
    REFUSED(sx_collector_new(&c, s.ix, NULL), SX_ENOMEM, "a collector");
    assert_null(c);
    OK(sx_collector_new(&c, s.ix, &o));
    sx_alloc_fail_at(1);
    REFUSED(sx_collect(c, SX_ASK_GET, &key, &answer, FOREVER), SX_ENOMEM, "batch");
    assert_int_equal(answer, MARK);
    OK(sx_collect(c, SX_ASK_GET, query(s.d, 0), &answer, FOREVER));
    assert_int_equal(answer, s.d->get[0]);
    sx_collector_free(c);
    answer = MARK;
    REFUSED(sx_collect(NULL, SX_ASK_GET, &key, &answer, 0), SX_EINVAL, "collector is NULL");
    REFUSED(sx_collect(s.c, SX_ASK_GET, NULL, &answer, 0), SX_EINVAL, "key is NULL");
    REFUSED(sx_collect(s.c, SX_ASK_GET, &key, NULL, 0), SX_EINVAL, "answer is NULL");
    REFUSED(sx_collect(s.c, (sx_ask)5, &key, &answer, 0), SX_EINVAL, "question is 5");
    REFUSED(sx_collect(s.c, (sx_ask)-1, &key, &answer, 0), SX_EINVAL, "question is -1");
    assert_int_equal(answer, MARK);
    REFUSED(sx_collector_describe(NULL, &info), SX_EINVAL, "collector is NULL");
    REFUSED(sx_collector_describe(s.c, NULL), SX_EINVAL, "output is NULL");
    info.size = 3;
    REFUSED(sx_collector_describe(s.c, &info), SX_EINVAL, "is 3");
    sx_collector_free(NULL);
    sx_collector_close(NULL);
    sx_collector_close(s.c);
    REFUSED(sx_collect(s.c, SX_ASK_GET, &key, &answer, FOREVER), SX_EINVAL, "is closing");
    sx_collector_close(s.c);
    scene_free(&s);
    assert_int_equal(sx_alloc_live(), 0);
}

/* ---- answers ------------------------------------------------------------------------ */

static void test_answers(void **state)
{
    (void)state;
    static const unsigned threads[] = { 1, 3, 16 }, batches[] = { 1, 2, 5, 1024 };
    rnd r = rnd_start(test_seed() + 1);
    unsigned turn = 0;
    for (unsigned device = 0; device < DEVICES; device++)
        for (unsigned t = 0; t < COUNT_OF(key_types); t++, turn++) {
            unsigned many = threads[turn % COUNT_OF(threads)];
            eager = turn % 5 == 0;
            scene s = scene_of(device, key_types[t], device_specs[turn % DEVICE_SPECS],
                               batches[turn % COUNT_OF(batches)], 30, &r);
            for (int what = 0; what < QUESTIONS; what++) {
                worker like = { .fn = ask_in_turn, .s = &s, .asks = 60 / many, .what = what,
                                .timeout_us = FOREVER };
                start(many, &like);
                for (unsigned i = 0; i < many; i++) {
                    pthread_join(workers[i].thread, NULL);
                    if (workers[i].why[0] || workers[i].answered != 60 / many)
                        fail_msg("%s, type %d: %s %s", device_name(device), key_types[t],
                                 workers[i].why, workers[i].detail);
                }
            }
            assert_int_equal(info_of(s.c).answered, 60 / many * many * QUESTIONS);
            scene_free(&s);
        }
}

/* An index without keys, and one key for everybody. */
static void test_empty_and_equal(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 2);
    scene s = scene_of(0, SX_U32, "pivot", 8, 20, &r);
    sx_collector_free(s.c);
    sx_free(s.ix);
    data_free(s.d);
    s.d = data_make(SX_U32, KEYS_EQUAL, 0, ROWS_NULL, 20, &r);
    OK(data_build(s.d, s.dev, "sorted", NULL, &s.ix));
    OK(sx_collector_new(&s.c, s.ix, NULL));
    worker like = { .fn = ask_in_turn, .s = &s, .asks = 5, .what = -1, .timeout_us = FOREVER };
    start(8, &like);
    assert_int_equal(join(8, &s).answered, 40);
    sx_collector_free(s.c);
    sx_free(s.ix);
    data_free(s.d);
    s.d = data_make(SX_U32, KEYS_EQUAL, 50, ROWS_U32, 1, &r);
    OK(data_build(s.d, s.dev, "sorted", NULL, &s.ix));
    OK(sx_collector_new(&s.c, s.ix, NULL));
    start(8, &like);
    assert_int_equal(join(8, &s).answered, 40);
    scene_free(&s);
}

/* 1 to 64 threads that come, pause and give up at random. */
static void test_crowds(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 3);
    for (unsigned device = 0; device < DEVICES; device++)
        for (unsigned threads = 1; threads <= 64; threads *= 2) {
            unsigned asks = (device ? 400 : 4000) / threads;
            eager = !eager;
            scene s = scene_of(device, SX_I64, "pivot(k=5)", 1 + (uint32_t)rnd_below(&r, threads),
                               1 + (uint32_t)rnd_below(&r, 100), &r);
            worker like = { .fn = ask_wildly, .s = &s, .asks = asks, .what = -1 };
            start(threads, &like);
            worker sum = join(threads, &s);
            assert_int_equal(sum.answered + sum.timed_out, (uint64_t)asks * threads);
            assert_int_equal(sum.failed + sum.refused, 0);
            sx_collector_info info = info_of(s.c);
            assert_true(info.full <= info.batches);
            scene_free(&s);
        }
}

/* ---- when a batch is asked about --------------------------------------------------- */

/* Nobody waits for an interval where the batch is full. */
static void test_full(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 4);
    for (unsigned device = 0; device < DEVICES; device++) {
        scene s = scene_of(device, SX_U64, "pivot", 8, LONG_US, &r);
        worker like = { .fn = ask_in_turn, .s = &s, .asks = 6, .what = SX_ASK_FLOOR,
                        .timeout_us = FOREVER };
        start(8, &like);
        assert_int_equal(join(8, &s).answered, 48);
        sx_collector_info info = info_of(s.c);
        assert_int_equal(info.batches, 6);
        assert_int_equal(info.full, 6);
        scene_free(&s);
    }
}

static void test_interval(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 5);
    scene s = scene_of(0, SX_U64, "pivot", 8, 20000, &r);
    uint64_t begin = sx_clock_ns(), answer = MARK;
    OK(sx_collect(s.c, SX_ASK_GET, query(s.d, 3), &answer, FOREVER));
    assert_int_equal(answer, s.d->get[3]);
    assert_true(sx_clock_ns() - begin >= 20000000);
    OK(sx_collect(s.c, SX_ASK_GET, query(s.d, 4), &answer, INT64_MAX));
    sx_collector_info info = info_of(s.c);
    assert_int_equal(info.batches, 2);
    assert_int_equal(info.full, 0);
    scene_free(&s);
}

/* An eager collector asks at once; what comes meanwhile goes together, when the
 * first is back and not before. */
static void test_eager(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 14);
    eager = true;
    scene s = scene_of(0, SX_U64, "pivot", 64, LONG_US, &r);
    uint64_t answer = MARK;
    assert_int_equal(info_of(s.c).eager, 1);
    OK(sx_collect(s.c, SX_ASK_GET, query(s.d, 3), &answer, 0));
    assert_int_equal(answer, s.d->get[3]);
    gate_install(&s);
    gate_set(true);
    for (unsigned i = 0; i < 12; i++) {
        /* who is not woken when the first is back would wait for the interval */
        workers[i] = (worker){ .fn = ask_in_turn, .s = &s, .number = i, .asks = 1,
                               .what = SX_ASK_GET, .timeout_us = LONG_US / 2 };
        if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) != 0)
            die("no thread");
        if (i == 0)
            gate_await(1);
    }
    REFUSED(sx_collect(s.c, SX_ASK_GET, query(s.d, 3), &answer, 2000), SX_ETIMEDOUT, "not full");
    assert_int_equal(info_of(s.c).batches, 1);
    sleep_us(20000);              /* let them come in; it is right either way */
    gate_set(false);
    for (unsigned i = 0; i < 12; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_string_equal(workers[i].why, "");
        assert_int_equal(workers[i].answered, 1);
    }
    assert_in_range(info_of(s.c).batches, 3, 13);
    scene_free(&s);
}

/* ---- cancelling ------------------------------------------------------------------------ */

static void ask_and_end(worker *w)
{
    ask_in_turn(w);
    pthread_testcancel();
}

/* A thread that is cancelled ends when it has its answer. */
static void test_cancelled(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 15);
    scene s = scene_of(0, SX_U64, "pivot", 64, 10000, &r);
    worker like = { .fn = ask_and_end, .s = &s, .asks = 1, .what = SX_ASK_GET,
                    .timeout_us = FOREVER };
    start(4, &like);
    for (unsigned i = 0; i < 4; i++)
        pthread_cancel(workers[i].thread);
    assert_int_equal(join(4, &s).answered, 4);
    uint64_t answer;
    OK(sx_collect(s.c, SX_ASK_GET, query(s.d, 3), &answer, FOREVER));
    scene_free(&s);
}

/* ---- giving up --------------------------------------------------------------------- */

static void test_alone(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 6);
    scene s = scene_of(0, SX_F32, "pivot", 2, LONG_US, &r);
    uint64_t answer = MARK;
    for (int64_t t = 0; t < 1500; t += 500)
        REFUSED(sx_collect(s.c, SX_ASK_GET, query(s.d, 0), &answer, t), SX_ETIMEDOUT, "not full");
    assert_int_equal(answer, MARK);
    sx_collector_info info = info_of(s.c);
    assert_int_equal(info.timed_out, 3);
    assert_int_equal(info.batches, 0);            /* about nobody's keys */
    scene_free(&s);
    s = scene_of(0, SX_F32, "pivot", 1, LONG_US, &r);
    OK(sx_collect(s.c, SX_ASK_GET, query(s.d, 0), &answer, 0));
    assert_int_equal(answer, s.d->get[0]);
    scene_free(&s);
}

/* The first of a batch, who keeps its time, gives up, and the next ones too:
 * who is left gets an answer when the interval is over. */
static void test_time_keepers(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 7);
    for (unsigned round = 0; round < 5; round++) {
        scene s = scene_of(0, SX_U64, "sorted", 64, 60000, &r);
        worker like = { .fn = ask_in_turn, .s = &s, .asks = 1, .what = SX_ASK_GET };
        for (unsigned i = 0; i < 12; i++) {
            workers[i] = like;
            workers[i].number = i;
            workers[i].timeout_us = i < 8 ? 500 * (int64_t)(i + 1) : FOREVER;
            if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) != 0)
                die("no thread");
        }
        worker sum = join(12, &s);
        assert_int_equal(sum.answered + sum.timed_out, 12);
        assert_true(sum.answered >= 4);
        scene_free(&s);
    }
}

/* While its batch is being asked about: the others of the batch don't notice,
 * and later ones go their own way meanwhile. Of the four of a batch one asks,
 * and one waits forever, perhaps the same. */
static void test_gives_up_in_flight(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 8);
    for (unsigned device = 0; device < DEVICES; device++) {
        scene s = scene_of(device, SX_U32, "pivot", 4, LONG_US, &r);
        gate_install(&s);
        gate_set(true);
        clock_stop();
        for (unsigned i = 0; i < 8; i++) {
            workers[i] = (worker){ .fn = ask_in_turn, .s = &s, .number = i, .asks = 1,
                                   .what = SX_ASK_RANK_RIGHT,
                                   .timeout_us = i % 4 ? 200000 : FOREVER };
            if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) != 0)
                die("no thread");
            if (i % 4 == 3)
                gate_await(i / 4 + 1);
        }
        assert_int_equal(info_of(s.c).timed_out, 0);
        clock_move(200000000);
        wait_timed_out(s.c, 4);
        gate_set(false);
        worker sum = join(8, &s);
        clock_go();
        assert_int_equal(sum.answered + sum.timed_out, 8);
        assert_in_range(sum.answered, 2, 4);
        assert_int_equal(info_of(s.c).full, 2);
        scene_free(&s);
    }
}

/* ---- failures ------------------------------------------------------------------------- */

static void test_failures(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 9);
    for (unsigned device = 0; device < DEVICES; device++) {
        scene s = scene_of(device, SX_B16, "pivot", 8, LONG_US, &r);
        worker like = { .fn = ask_in_turn, .s = &s, .asks = 1, .what = SX_ASK_CEIL,
                        .timeout_us = FOREVER };
        gate_install(&s);
        for (int fails = 3; fails > 0; fails--) {
            char sentence[40];
            snprintf(sentence, sizeof sentence, "failure number %d", fails);
            atomic_store(&gate_fails, fails);
            start(8, &like);
            for (unsigned i = 0; i < 8; i++) {
                pthread_join(workers[i].thread, NULL);
                assert_int_equal(workers[i].status, SX_EDEVICE);
                assert_string_equal(workers[i].detail, sentence);
                assert_string_equal(workers[i].why, "");
            }
        }
        atomic_store(&gate_fails, 0);
        assert_int_equal(info_of(s.c).failed, 24);
        assert_int_equal(info_of(s.c).answered, 0);
        start(8, &like);
        for (unsigned i = 0; i < 8; i++) {
            pthread_join(workers[i].thread, NULL);
            assert_int_equal(workers[i].status, SX_OK);
            assert_string_equal(workers[i].why, "");
        }
        scene_free(&s);
    }
}

/* Failures now and then among all else. */
static void test_failures_in_crowds(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 10);
    scene s = scene_of(0, SX_U64, "pivot", 5, 40, &r);
    worker like = { .fn = ask_wildly, .s = &s, .asks = 200, .what = -1 };
    gate_install(&s);
    start(12, &like);
    for (unsigned i = 0; i < 20; i++) {
        atomic_store(&gate_fails, 3);
        sleep_us(500);
    }
    worker sum = join(12, &s);
    assert_int_equal(sum.answered + sum.timed_out + sum.failed, 2400);
    assert_int_equal(sum.refused, 0);
    atomic_store(&gate_fails, 0);
    scene_free(&s);
}

/* ---- closing ------------------------------------------------------------------------- */

static void *close_it(void *arg)
{
    sx_collector_close(arg);
    return NULL;
}

static void test_close_while_submitting(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 11);
    for (unsigned round = 0; round < 12; round++) {
        unsigned threads = round % 2 ? 32 : 6;
        eager = round % 4 > 1;
        scene s = scene_of(round % DEVICES, SX_I32, "eytzinger(k=9)",
                           1 + (uint32_t)rnd_below(&r, 2 * threads),
                           round % 3 ? 50 : LONG_US, &r);
        worker like = { .fn = ask_until_refused, .s = &s, .what = -1 };
        pthread_t other;
        start(threads, &like);
        sleep_us(rnd_below(&r, 5000));
        if (pthread_create(&other, NULL, close_it, s.c) != 0)
            die("no thread");
        sx_collector_close(s.c);
        pthread_join(other, NULL);
        sx_collector_info info = info_of(s.c);
        worker sum = join(threads, &s);           /* nothing came behind the closing */
        assert_int_equal(sum.answered, info.answered);
        assert_int_equal(sum.failed, 0);
        assert_int_equal(sum.refused, threads);
        scene_free(&s);
    }
}

/* Who waits for others gets an answer, each question's batch; freeing waits for
 * a batch that is being asked about. */
static void test_close_answers(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 12);
    scene s = scene_of(0, SX_F64, "pivot", 4, LONG_US, &r);
    gate_install(&s);
    gate_set(true);
    for (unsigned i = 0; i < 4 + QUESTIONS; i++) {
        workers[i] = (worker){ .fn = ask_in_turn, .s = &s, .number = i, .asks = 1,
                               .what = i < 4 ? SX_ASK_GET : (int)i - 4, .timeout_us = FOREVER };
        if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) != 0)
            die("no thread");
        if (i == 3)
            gate_await(1);
    }
    pthread_t closer;
    sleep_us(20000);              /* let them come in; who does not is refused */
    if (pthread_create(&closer, NULL, close_it, s.c) != 0)
        die("no thread");
    sleep_us(20000);
    gate_set(false);
    pthread_join(closer, NULL);
    worker sum = join(4 + QUESTIONS, &s);
    assert_int_equal(sum.answered + sum.refused, 4 + QUESTIONS);
    assert_true(sum.answered >= 4);
    scene_free(&s);
}

/* ---- fork --------------------------------------------------------------------------- */

static void test_fork(void **state)
{
    (void)state;
    if (UNDER_TSAN)
        SKIP("ThreadSanitizer can't follow a fork with threads");
    rnd r = rnd_start(test_seed() + 13);
    scene s = scene_of(0, SX_U64, "pivot", 6, 30, &r);
    worker like = { .fn = ask_until_refused, .s = &s, .what = -1 };
    start(8, &like);
    for (unsigned i = 0; i < 20; i++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid < 0)
            die("fork");
        if (pid == 0) {
            worker mine = { .s = &s };
            alarm(HANGS_S);
            for (unsigned k = 0; k < 20; k++)
                ask_one(&mine, k % QUESTIONS, k, FOREVER);
            sx_collector_free(s.c);
            if (mine.why[0])
                fprintf(stderr, "child: %s\n", mine.why);
            _exit(mine.answered == 20 && !mine.why[0] ? 0 : 1);
        }
        int status;
        if (waitpid(pid, &status, 0) != pid)
            die("waitpid");
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    sx_collector_close(s.c);
    assert_int_equal(join(8, &s).refused, 8);
    scene_free(&s);
}

static int not_eager(void **state)
{
    (void)state;
    eager = false;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_arguments, not_eager),
        cmocka_unit_test_setup(test_answers, not_eager),
        cmocka_unit_test_setup(test_empty_and_equal, not_eager),
        cmocka_unit_test_setup(test_crowds, not_eager),
        cmocka_unit_test_setup(test_full, not_eager),
        cmocka_unit_test_setup(test_interval, not_eager),
        cmocka_unit_test_setup(test_eager, not_eager),
        cmocka_unit_test_setup(test_cancelled, not_eager),
        cmocka_unit_test_setup(test_alone, not_eager),
        cmocka_unit_test_setup(test_time_keepers, not_eager),
        cmocka_unit_test_setup(test_gives_up_in_flight, not_eager),
        cmocka_unit_test_setup(test_failures, not_eager),
        cmocka_unit_test_setup(test_failures_in_crowds, not_eager),
        cmocka_unit_test_setup(test_close_while_submitting, not_eager),
        cmocka_unit_test_setup(test_close_answers, not_eager),
        cmocka_unit_test_setup(test_fork, not_eager),
    };
    test_seed();
    return cmocka_run_group_tests_name("collect", tests, NULL, NULL) != 0;
}
