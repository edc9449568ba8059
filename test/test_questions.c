/* test_questions.c - how contenders are timed, by a clock that is the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "on_device.h"
#include "choose/questions.h"
#include "inside.h"

#define MS 1000000u

static uint64_t times[16];        /* of the lookups of an ask, one after the other */
static unsigned lookups;
static bool own_clock;            /* the device says a seventh of that */
static const sx_backend *honest;

static sx_status timed_lookup(void *self, const sx_views *v, const sx_lookup *job, sx_err *err)
{
    uint64_t ns = times[lookups++];
    sx_status st = honest->lookup(self, v, job, err);
    if (job->how.device_ns)
        *job->how.device_ns = own_clock ? ns / 7 : 0;
    clock_move(ns);
    return st;
}

/* The time that an index of the device is said to take. */
static uint64_t ask_timed(const char *device, sx_questions q)
{
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(device);
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 500, ROWS_U32, 10, &r);
    sx_index *ix = index_of(dev, d, "pivot");
    sx_input in = { .key_type = SX_U64 };
    sx_backend table = *dev->backend;
    uint64_t best = 0;
    sx_err err;
    assert_int_equal(sx_questions_make(dev, view_of(ix), &in, &q, &err), SX_OK);
    honest = dev->backend;
    table.lookup = timed_lookup;
    dev->backend = &table;
    lookups = 0;
    clock_stop();
    sx_status st = sx_questions_ask(dev, view_of(ix), &in, &q, &best, &err);
    clock_go();
    dev->backend = honest;
    assert_int_equal(st, SX_OK);
    assert_int_equal(lookups, SX_ASK_ROUNDS + (q.warm > 0));
    sx_questions_drop(dev, &q);
    sx_free(ix);
    data_free(d);
    sx_close(dev);
    return best;
}

static void set_times(uint64_t warm, uint64_t a, uint64_t b, uint64_t c)
{
    unsigned i = 0;
    memset(times, 0, sizeof times);
    if (warm)
        times[i++] = warm;
    times[i++] = a;
    times[i++] = b;
    times[i++] = c;
}

/* The best of three rounds counts, whichever that is. */
static void test_best_round(void **state)
{
    (void)state;
    for (unsigned best = 0; best < SX_ASK_ROUNDS; best++) {
        set_times(0, best == 0 ? 3 * MS : 9 * MS, best == 1 ? 3 * MS : 7 * MS,
                  best == 2 ? 3 * MS : 8 * MS);
        assert_int_equal(ask_timed("cpu:threads=1", (sx_questions){ .points = 20 }), 3 * MS);
    }
}

/* What warms up is asked first and not timed, however fast it was. */
static void test_warm(void **state)
{
    (void)state;
    for (unsigned slow = 0; slow < 2; slow++) {
        set_times(slow ? 90 * MS : 1, 9 * MS, 5 * MS, 8 * MS);
        assert_int_equal(ask_timed("cpu:threads=1", (sx_questions){ .points = 20, .warm = 7 }),
                         5 * MS);
    }
}

/* A device's own clock counts, where it has one. */
static void test_device_clock(void **state)
{
    (void)state;
    set_times(0, 21 * MS, 14 * MS, 28 * MS);
    own_clock = true;
    assert_int_equal(ask_timed(kernel_with(""), (sx_questions){ .points = 20 }), 2 * MS);
    own_clock = false;
    assert_int_equal(ask_timed(kernel_with(""), (sx_questions){ .points = 20 }), 14 * MS);
}

/* By 7 % or more: clocks are not better than that. */
static void test_clearly(void **state)
{
    (void)state;
    static const struct { uint64_t ns, than; int less; } cases[] = {
        { 0, 0, 0 }, { 1, 0, 0 }, { 100, 100, 0 }, { 99, 100, 0 }, { 93, 100, 0 }, { 92, 100, 1 },
        { 0, 100, 1 }, { 101, 100, 0 }, { 929999, 1000000, 1 }, { 930000, 1000000, 0 },
        { UINT64_MAX, UINT64_MAX, 0 }, { UINT64_MAX / 2, UINT64_MAX, 1 }, { UINT64_MAX, 5, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (sx_clearly_less(cases[i].ns, cases[i].than) != cases[i].less)
            fail_msg("%llu, %llu", (unsigned long long)cases[i].ns,
                     (unsigned long long)cases[i].than);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best_round),
        cmocka_unit_test(test_warm),
        cmocka_unit_test(test_device_clock),
        cmocka_unit_test(test_clearly),
    };
    test_seed();
    return cmocka_run_group_tests_name("questions", tests, NULL, NULL) != 0;
}
