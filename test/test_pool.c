/* test_pool.c - threads that share work: each part once, whoever is awake.
 *
 * Between two pieces of work the caller waits for no time, for about as long as threads stay awake, or for
 * longer, so that they are met awake, asleep, and on their way there. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "support.h"
#include "base/machine.h"
#include "base/pool.h"

#define PARTS 200

typedef struct {
    unsigned parts;
    _Atomic unsigned times[PARTS];
    _Atomic unsigned now;         /* threads that are at it */
    unsigned long turns;          /* how long a part takes */
} work;

static void do_part(void *w, unsigned part)
{
    work *all = w;

    atomic_fetch_add(&all->now, 1);
    for (volatile unsigned long i = 0; i < all->turns; i++)
        ;
    if (part < PARTS)
        atomic_fetch_add(&all->times[part], 1);
    atomic_fetch_sub(&all->now, 1);
}

/* One piece of work. Returns what is wrong, or NULL: cmocka is for one thread. */
static const char *run(sx_pool *pool, unsigned threads, unsigned parts, unsigned long turns)
{
    work w = {.parts = parts, .turns = turns};

    sx_pool_run(pool, threads, parts, do_part, &w);
    if (atomic_load(&w.now))
        return "a thread is still at it";
    for (unsigned i = 0; i < PARTS; i++)
        if (atomic_load(&w.times[i]) != (i < parts))
            return "a part was not done once";
    return NULL;
}

static void wait_us(unsigned us)
{
    struct timespec t = {0, (long)us * 1000};

    if (us)
        nanosleep(&t, NULL);
}

/* Rounds with threads, parts and waits by chance. */
static const char *rounds(sx_pool *pool, uint64_t seed, unsigned count)
{
    static const unsigned waits[] = {0, 0, 0, 1, 20, 90, 300};
    rnd r = rnd_start(seed);

    for (unsigned i = 0; i < count; i++) {
        unsigned threads = (unsigned)(rnd_next(&r) % 6), parts = (unsigned)(rnd_next(&r) % PARTS);
        const char *wrong = run(pool, threads, parts, rnd_next(&r) % 3 ? 0 : 2000);
        if (wrong)
            return wrong;
        wait_us(waits[rnd_next(&r) % (sizeof waits / sizeof waits[0])]);
    }
    return NULL;
}

static sx_pool *new_pool(unsigned threads, int lingers)
{
    sx_pool *pool;
    sx_err err;

    assert_int_equal(sx_pool_new(&pool, threads, lingers, &err), SX_OK);
    return pool;
}

static void test_once(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 5; threads++)
        for (int lingers = 0; lingers < 2; lingers++) {
            sx_pool *pool = new_pool(threads, lingers);
            assert_null(rounds(pool, test_seed() + threads, 400));
            sx_pool_free(pool);
        }
}

/* A pool that ends while its threads are on their way to sleep, or not yet awake. */
static void test_short_lives(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        sx_pool *pool = new_pool(2 + i % 3, 1);
        assert_null(run(pool, 0, 8, 0));
        wait_us(i % 4 * 40);
        sx_pool_free(pool);
    }
}

typedef struct {
    sx_pool *pool;
    uint64_t seed;
    const char *wrong;
} caller;

static void *call(void *arg)
{
    caller *c = arg;

    c->wrong = rounds(c->pool, c->seed, 500);
    return NULL;
}

static void test_callers(void **state)
{
    (void)state;
    sx_pool *pool = new_pool(3, 1);
    caller all[3];
    pthread_t thread[3];

    for (unsigned i = 0; i < 3; i++) {
        all[i] = (caller){pool, test_seed() + 10 + i, NULL};
        assert_int_equal(pthread_create(&thread[i], NULL, call, &all[i]), 0);
    }
    for (unsigned i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < 3; i++)
        assert_null(all[i].wrong);
    sx_pool_free(pool);
}

/* Who waits long sleeps: a pool at rest takes no time of a processor. */
static uint64_t processor_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void test_rest(void **state)
{
    (void)state;
    sx_pool *pool = new_pool(2, 1);
    uint64_t took;

    assert_null(run(pool, 0, PARTS, 100000));
    wait_us(200000);
    took = processor_ns();
    wait_us(500000);
    took = processor_ns() - took;
    assert_true(took < 100000000);        /* a fifth of the wait */
    sx_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_short_lives),
        cmocka_unit_test(test_callers),
        cmocka_unit_test(test_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
