/* test_alloc.c - every allocation fails once.
 *
 * A call is made again and again, and its 1st, 2nd, 3rd ... allocation fails,
 * until it needs no more of them. Each failure must say SX_ENOMEM, leak nothing,
 * leave the outputs alone, and the same call must work afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ask.h"
#include "base/alloc.h"
#include "stand_in.h"

/* A call may do without an allocation that fails. After this many successes in a
 * row there was nothing left to fail. */
#define ENOUGH 12

typedef struct {
    sx_device *dev;
    const char *spec;
    const dataset *d;
    const sx_index *ix;
    sx_index *noted;
    const char *path;
    unsigned flags;
    sx_index *made;               /* by the call, or NULL */
    sx_device *opened;
    int verb;
    guard out[4];
} attempt;

typedef sx_status attempt_fn(attempt *a);

static void release(attempt *a)
{
    sx_free(a->made);
    a->made = NULL;
    sx_close(a->opened);
    a->opened = NULL;
}

static bool all_fill(const guard *g)
{
    for (size_t i = 0; i < g->bytes; i++)
        if (g->data[i] != GUARD_FILL)
            return false;
    return true;
}

/* Returns how many of the call's allocations could be made to fail. */
static unsigned every_failure(const char *name, attempt_fn *fn, attempt *a)
{
    unsigned failures = 0, successes = 0;
    if (fn(a) != SX_OK)           /* things that are made once are made now */
        fail_msg("%s: %s", name, sx_detail());
    release(a);
    for (long nth = 1; successes < ENOUGH; nth++) {
        for (size_t i = 0; i < COUNT_OF(a->out); i++)
            if (a->out[i].base)
                memset(a->out[i].data, GUARD_FILL, a->out[i].bytes);
        uint64_t live = sx_alloc_live();
        sx_alloc_fail_at(nth);
        sx_status s = fn(a);
        sx_alloc_fail_at(0);
        if (s == SX_OK) {
            successes++;
            release(a);
        } else {
            failures++;
            successes = 0;
            if (s != SX_ENOMEM || !strstr(sx_detail(), "memory"))
                fail_msg("%s, allocation %ld: status %d: %s", name, nth,
                         (int)s, sx_detail());
            if (a->made || a->opened)
                fail_msg("%s, allocation %ld: gave something", name, nth);
            for (size_t i = 0; i < COUNT_OF(a->out); i++)
                if (a->out[i].base && !all_fill(&a->out[i]))
                    fail_msg("%s, allocation %ld: wrote output %zu", name,
                             nth, i);
        }
        if (sx_alloc_live() != live)
            fail_msg("%s, allocation %ld: %lld bytes leaked", name, nth,
                     (long long)(sx_alloc_live() - live));
        if (nth > 5000)
            fail_msg("%s: never ends", name);
    }
    if (fn(a) != SX_OK)
        fail_msg("%s, afterwards: %s", name, sx_detail());
    return failures;
}

/* ---- building ------------------------------------------------------------ */

static sx_status build(attempt *a)
{
    return data_build(a->d, a->dev, a->spec, NULL, &a->made);
}

static const char *const specs[] = {
    "sorted", "sorted(layout=pairs)", "eytzinger(k=2)",
    "eytzinger(k=9,layout=pairs)", "pivot", "pivot(k=5,layout=pairs,block=1)",
    "pivot unique", "pgm(eps=2,eps2=1)", "pgm(eps=1,cuts=9,layout=pairs)", "btree",
    "btree(k=3,layout=split)", "btree(fill=80)", "btree(fill=50,layout=once)", "auto", "auto(for=range)",
    "radix(leaf=1)",
};

static void check_build(sx_device *dev, uint64_t n, bool with_auto)
{
    rnd r = rnd_start(test_seed());
    asker *asking = asker_new();
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        for (int rows = 0; rows < ROWS_KINDS; rows++) {
            int type = key_types[(i + (size_t)rows) % COUNT_OF(key_types)];
            bool is_auto = strncmp(specs[i], "auto", 4) == 0;
            bool unique = strstr(specs[i], "unique") != NULL;
            if (is_auto && !with_auto)
                continue;
            dataset *d = data_make(type, unique ? KEYS_DENSE : KEYS_RANDOM,
                                   n, (row_kind)rows, 50, &r);
            attempt a = { .dev = dev, .spec = specs[i], .d = d };
            unsigned failures = every_failure(specs[i], build, &a);
            assert_true(failures >= 2);         /* index and sections */
            const char *wrong = ask(asking, a.made, d, SX_U64, NULL);
            if (wrong)
                fail_msg("%s afterwards: %s", specs[i], wrong);
            release(&a);
            data_free(d);
        }
    asker_free(asking);
}

static void test_build(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=1");
    check_build(dev, 700, true);
    sx_close(dev);
}

/* Large enough for the pool, and for the sort's other ways. */
static void test_build_parallel(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=2");
    check_build(dev, 70000, false);
    sx_close(dev);
}

/* A build that is refused for its data gives everything back, too. */
static sx_status build_duplicates(attempt *a)
{
    uint64_t keys[] = { 3, 1, 2, 3 };
    sx_column k = column(SX_U64, 4, keys);
    sx_status s = sx_build(&a->made, a->dev, a->spec, &k, NULL, NULL);
    return s == SX_EINVAL ? SX_OK : s;
}

static void test_build_refused(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=1");
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        char spec[SX_SPEC_MAX];
        snprintf(spec, sizeof spec, "%s%s", specs[i],
                 strstr(specs[i], "unique") ? "" : " unique");
        attempt a = { .dev = dev, .spec = spec };
        every_failure(spec, build_duplicates, &a);
        assert_null(a.made);
    }
    sx_close(dev);
}

/* Questions that only measure fail, from the 1st, 2nd, 3rd ... on. The build goes on with
 * what it has. */
static void check_measuring(sx_device *dev, const char *spec, const dataset *d, asker *asking)
{
    unsigned calls = 1;
    for (unsigned from = 0; from < calls; from++) {
        uint64_t live = sx_alloc_live();
        sx_index *ix = NULL;
        asked = 0;
        fail_from = from;
        fail_with = SX_ENOMEM;
        sx_status s = data_build(d, dev, spec, NULL, &ix);
        fail_with = SX_OK;
        calls = asked;
        if (s != SX_OK)
            fail_msg("%s, question %u: status %d: %s", spec, from, (int)s, sx_detail());
        if (from == 0)
            assert_true(calls > 0);       /* something is measured */
        const char *wrong = ask(asking, ix, d, SX_U64, NULL);
        if (wrong)
            fail_msg("%s, question %u: %s", spec, from, wrong);
        sx_free(ix);
        if (sx_alloc_live() != live)
            fail_msg("%s, question %u: %lld bytes leaked", spec, from,
                     (long long)(sx_alloc_live() - live));
    }
}

static void test_measuring(void **state)
{
    (void)state;
    static const char *const measured[] = {
        "pgm", "pgm(layout=pairs)", "pgm(eps=8)", "pgm(budget=64)", "auto", "auto(for=range)",
    };
    rnd r = rnd_start(test_seed());
    asker *asking = asker_new();
    sx_device *dev = device_open("cpu:threads=1");
    stand_in(dev, OF_QUESTIONS);
    for (size_t i = 0; i < COUNT_OF(measured); i++) {
        dataset *d = data_make(key_types[i % COUNT_OF(key_types)], KEYS_RANDOM, 70000,
                               (row_kind)(i % ROWS_KINDS), 50, &r);
        check_measuring(dev, measured[i], d, asking);
        data_free(d);
    }
    stand_back(dev);
    sx_close(dev);
    asker_free(asking);
}

/* ---- devices -------------------------------------------------------- */

static sx_status open_device(attempt *a)
{
    return sx_open(&a->opened, a->spec);
}

static void test_open(void **state)
{
    (void)state;
    static const char *const names[] = { NULL, "cpu", "cpu:scalar,threads=4" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        uint64_t live = sx_alloc_live();
        attempt a = { .spec = names[i] };
        assert_true(every_failure("open", open_device, &a) >= 1);
        release(&a);
        assert_true(sx_alloc_live() == live);
    }
}

/* ---- questions and files, on one index per spec --------------------------- */

static sx_status save(attempt *a)
{
    return sx_save(a->ix, a->path, NULL);
}

static sx_status load(attempt *a)
{
    return sx_load(&a->made, a->dev, a->path, a->flags, NULL);
}

/* The note replaces an equal one. */
static sx_status note(attempt *a)
{
    return sx_note(a->noted, "unit", "ns");
}

static sx_status question(attempt *a)
{
    const dataset *d = a->d;
    sx_column q = column(d->type, d->queries, d->q.data);
    sx_column lo = column(d->type, d->ranges, d->lo.data);
    sx_column hi = column(d->type, d->ranges, d->hi.data);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
    sx_column numbers = column(SX_U64, a->out[0].bytes / 8, a->out[0].data);
    sx_column keys = column(d->type, a->out[1].bytes / d->width,
                            a->out[1].data);
    sx_column first = column(SX_U64, a->out[2].bytes / 8, a->out[2].data);
    sx_column more = column(SX_U64, a->out[3].bytes / 8, a->out[3].data);
    sx_aggregates g = { sizeof g, &numbers, &first, &more, NULL };
    sx_column ranks = column(SX_U64, d->queries, d->left);
    switch (a->verb) {
    case 0: return sx_get(a->ix, &q, &numbers, NULL);
    case 1: return sx_rank(a->ix, &q, SX_RIGHT, &numbers, NULL);
    case 2: return sx_floor(a->ix, &q, &numbers, &keys, NULL);
    case 3: return sx_ceil(a->ix, &q, &numbers, &keys, NULL);
    case 4: return sx_key_at(a->ix, &ranks, &keys, &numbers, NULL);
    case 5: return sx_range_count(a->ix, &ranges, &numbers, NULL);
    case 6: return sx_range(a->ix, &ranges, &first, &numbers, &keys, NULL);
    case 7: return sx_range_aggregate(a->ix, &ranges, &g, NULL);
    default: return sx_check(a->ix, NULL);
    }
}
#define VERBS 9

static void check_questions(sx_device *dev, uint64_t n, uint64_t queries)
{
    rnd r = rnd_start(test_seed());
    asker *asking = asker_new();
    char *path = temp_path("alloc.sxt");
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        bool unique = strstr(specs[i], "unique") != NULL;
        dataset *d = data_make(key_types[i % COUNT_OF(key_types)],
                               unique ? KEYS_DENSE : KEYS_DUPLICATES, n,
                               (row_kind)(i % ROWS_KINDS), queries, &r);
        sx_index *ix = NULL;
        uint64_t space = queries, hits = 0;
        assert_int_equal(data_build(d, dev, specs[i], NULL, &ix), SX_OK);
        for (uint64_t j = 0; j < d->ranges; j++)
            hits += d->spans[0][j].count;
        if (hits > space)
            space = hits;
        attempt a = { .dev = dev, .spec = specs[i], .d = d, .ix = ix,
                      .path = path };
        guard_fit(&a.out[0], space * 8, true);
        guard_fit(&a.out[1], space * d->width, true);
        guard_fit(&a.out[2], (d->ranges + 1) * 8, true);
        guard_fit(&a.out[3], d->ranges * 8, true);
        for (a.verb = 0; a.verb < VERBS; a.verb++) {
            char name[SX_SPEC_MAX + 32];
            snprintf(name, sizeof name, "question %d, %s", a.verb, specs[i]);
            every_failure(name, question, &a);
        }
        if (i % 2 == 0) {         /* files with notes, and without */
            assert_int_equal(sx_note(ix, "unit", "ns"), SX_OK);
            a.noted = ix;
            assert_int_equal(every_failure("note", note, &a), 1);
            assert_string_equal(sx_note_of(ix, "unit"), "ns");
        }
        every_failure("save", save, &a);
        for (a.flags = 0; a.flags < 4; a.flags++) {
            assert_true(every_failure("load", load, &a) >= 1);
            const char *wrong = ask(asking, a.made, d, SX_U64, NULL);
            if (wrong)
                fail_msg("%s after loads: %s", specs[i], wrong);
            release(&a);
        }
        const char *wrong = ask(asking, ix, d, SX_U64, NULL);
        if (wrong)
            fail_msg("%s after questions: %s", specs[i], wrong);
        for (size_t j = 0; j < COUNT_OF(a.out); j++)
            guard_free(&a.out[j]);
        sx_free(ix);
        data_free(d);
    }
    free(path);
    asker_free(asking);
}

static void test_questions(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=1");
    check_questions(dev, 500, 100);
    sx_close(dev);
}

static void test_questions_parallel(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=2");
    check_questions(dev, 3000, 20000);
    sx_close(dev);
}

/* When all is closed, nothing is left of anything above. */
static void test_nothing_left(void **state)
{
    (void)state;
    assert_int_equal(sx_alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_build),
        cmocka_unit_test(test_build_parallel),
        cmocka_unit_test(test_build_refused),
        cmocka_unit_test(test_measuring),
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_questions_parallel),
        cmocka_unit_test(test_nothing_left),
    };
    test_seed();
    return cmocka_run_group_tests_name("alloc", tests, NULL, NULL) != 0;
}
