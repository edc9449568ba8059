/* test_tick.c - progress of calls, and calls that are stopped.
 *
 * The library's clock goes on by the shortest time between two ticks whenever it is read,
 * so every place that could tick does. Each verb is stopped at its first tick, its second
 * one, and so on until no tick stops it. Each time all is as it was before the call. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "on_device.h"
#include "base/alloc.h"
#include "base/machine.h"
#include "base/tick.h"
#include "place/registry.h"

/* ---- ticks -------------------------------------------------------------------- */

static uint64_t quick_clock(void)
{
    static _Atomic uint64_t now;
    return atomic_fetch_add(&now, SX_TICK_NS) + SX_TICK_NS;
}

#define NEVER UINT64_MAX

typedef struct {
    uint64_t stop_at;             /* this tick stops the call; NEVER: none does */
    uint64_t ticks, done, total;  /* how many came; what the last one said */
    pthread_t caller;
    const char *wrong;
    void (*inside)(void);         /* each tick calls it, if not NULL */
} progress;

static int tick(void *context, uint64_t done, uint64_t total)
{
    progress *p = context;
    if (!pthread_equal(pthread_self(), p->caller))
        p->wrong = "a tick of another thread";
    else if (p->ticks == 0 && done != 0)
        p->wrong = "the first tick is not of nothing";
    else if (p->ticks > 0 && (done < p->done || total != p->total))
        p->wrong = "it went back";
    else if (p->ticks > 0 && p->done == p->total)
        p->wrong = "a tick after the last one";
    else if (done > total || total == 0)
        p->wrong = "more than all";
    else if (p->ticks > p->stop_at)
        p->wrong = "a tick after the call was stopped";
    p->done = done;
    p->total = total;
    if (p->inside)
        p->inside();
    return p->ticks++ == p->stop_at ? -1 : 0;
}

static sx_call ticking(progress *p, uint64_t stop_at)
{
    *p = (progress){ .stop_at = stop_at, .caller = pthread_self() };
    return (sx_call){ .size = sizeof(sx_call), .tick = tick, .tick_context = p };
}

/* ---- verbs ---------------------------------------------------------------------- */

#define KEYS 131072u              /* more than a sort has in the cache, and pieces enough */
#define FEW 3000u                 /* for the emulator */

typedef struct work {
    const char *what;
    sx_status (*run)(struct work *w, const sx_call *call);
    void (*check)(struct work *w);        /* after it was stopped; or NULL */
    sx_device *dev;
    dataset *d;
    sx_index *ix;
    const char *spec, *path;
    unsigned flags;
    bool there;                   /* columns in device memory */
} work;

static unsigned open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

/* Sanitizers take long: they stop at the first ticks and then at some. */
#define FIRST_TICKS 8u
#define STRIDE (UNDER_TSAN ? 29u : UNDER_ASAN ? 7u : 1u)

/* Stops the call at each tick in turn, until it succeeds; nothing is left behind. Returns
 * how many ticks there were in the end. */
static uint64_t stop_everywhere(work *w)
{
    progress p;
    sx_call call = ticking(&p, NEVER);
    OK(w->run(w, &call));         /* now things that are made once are there */
    for (uint64_t k = 0;; k += k < FIRST_TICKS ? 1 : STRIDE) {
        uint64_t live = sx_alloc_live();
        unsigned files = open_files();
        call = ticking(&p, k);
        begin_step("%s, %s, stopped at tick %llu", w->what, w->spec, (unsigned long long)k);
        sx_status st = w->run(w, &call);
        if (p.wrong)
            fail_msg("%s: %s, at %llu of %llu", step_now, p.wrong, (unsigned long long)p.done,
                     (unsigned long long)p.total);
        if (st == SX_OK) {
            if (p.done != p.total || p.ticks < 2 || (p.ticks > k && p.ticks != k + 1))
                fail_msg("%s: succeeded after %llu ticks, at %llu of %llu", step_now,
                         (unsigned long long)p.ticks, (unsigned long long)p.done,
                         (unsigned long long)p.total);
            if (sx_alloc_live() != live)
                fail_msg("%s: %llu bytes before, %llu after", step_now, (unsigned long long)live,
                         (unsigned long long)sx_alloc_live());
            return p.ticks;
        }
        if (st != SX_ECANCELED || p.ticks != k + 1 || p.done == p.total)
            fail_msg("%s: status %d after %llu ticks: %s", step_now, (int)st,
                     (unsigned long long)p.ticks, sx_detail());
        if (!strstr(sx_detail(), "tick"))
            fail_msg("%s: %s", step_now, sx_detail());
        if (sx_alloc_live() != live || open_files() != files)
            fail_msg("%s: %llu bytes and %u files before, %llu and %u after", step_now,
                     (unsigned long long)live, files, (unsigned long long)sx_alloc_live(),
                     open_files());
        if (w->check)
            w->check(w);
    }
}

/* Builds, asks, frees. A build that is stopped leaves no index. */
static sx_status run_build(work *w, const sx_call *call)
{
    sx_index *const none = (sx_index *)w, *ix = none;
    sx_status st = data_build(w->d, w->dev, w->spec, call, &ix);
    if (st == SX_OK)
        sx_free(ix);
    else if (ix != none)
        fail_msg("%s: it failed, but *out is another", step_now);
    return st;
}

static sx_status run_check(work *w, const sx_call *call)
{
    return sx_check(w->ix, call);
}

static sx_status run_save(work *w, const sx_call *call)
{
    sx_status st = sx_save(w->ix, w->path, call);
    if (st == SX_OK)
        OK(unlink(w->path) ? SX_EIO : SX_OK);
    return st;
}

static unsigned beside(const char *path)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    DIR *dir = opendir(folder);
    unsigned n = 0;
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;)
        n += strstr(e->d_name, ".tmp") != NULL;
    if (dir)
        closedir(dir);
    return n;
}

static void no_file(work *w)
{
    if (access(w->path, F_OK) == 0 || beside(w->path))
        fail_msg("%s: a file is left", step_now);
}

static sx_status run_replace(work *w, const sx_call *call)
{
    sx_status st = sx_save(w->ix, w->path, call);
    if (st == SX_OK)
        write_file(w->path, "old", 3);
    return st;
}

static void old_file(work *w)
{
    size_t bytes;
    unsigned char *was = read_file(w->path, &bytes);
    if (bytes != 3 || memcmp(was, "old", 3) != 0 || beside(w->path))
        fail_msg("%s: the old file is another", step_now);
    free(was);
}

static sx_status run_load(work *w, const sx_call *call)
{
    sx_index *const none = (sx_index *)w, *ix = none;
    sx_status st = sx_load(&ix, w->dev, w->path, w->flags, call);
    if (st == SX_OK)
        sx_free(ix);
    else if (ix != none)
        fail_msg("%s: it failed, but *out is another", step_now);
    return st;
}

/* ---- questions ------------------------------------------------------------------ */

#define ASKED 100000u

static uint64_t q_array[ASKED], hi_array[ASKED], out_array[4][ASKED + 1];
static uint64_t *rows_array, *keys_array;        /* of ranges */
static uint64_t hits;

/* A column of the work's device; inputs are copied there. */
static sx_column placed(const work *w, uint64_t *host, uint64_t n, bool in)
{
    sx_column here = column(SX_U64, n, host), c;
    if (!w->there)
        return here;
    OK(sx_column_new(&c, w->dev, SX_U64, n));
    if (in)
        OK(sx_column_copy(&c, &here, w->dev));
    return c;
}

static void unplaced(const work *w, sx_column *c)
{
    if (w->there)
        sx_column_free(c, w->dev);
}

static uint64_t asked(const work *w)
{
    return w->dev->backend->gpu && !strstr(w->spec, "place=host") ? 700 : ASKED;
}

static sx_status run_points(work *w, const sx_call *call)
{
    uint64_t n = asked(w);
    sx_column q = placed(w, q_array, n, true), out = placed(w, out_array[0], n, false);
    sx_column keys = placed(w, out_array[1], n, false);
    sx_status st = SX_OK;
    switch (w->flags) {
    case 0: st = sx_get(w->ix, &q, &out, call); break;
    case 1: st = sx_rank(w->ix, &q, SX_LEFT, &out, call); break;
    case 2: st = sx_rank(w->ix, &q, SX_RIGHT, &out, call); break;
    case 3: st = sx_floor(w->ix, &q, &out, &keys, call); break;
    case 4: st = sx_ceil(w->ix, &q, &out, &keys, call); break;
    case 5: st = sx_key_at(w->ix, &q, &keys, &out, call); break;
    }
    unplaced(w, &q);
    unplaced(w, &out);
    unplaced(w, &keys);
    return st;
}
#define POINT_VERBS 6u

static sx_status run_ranges(work *w, const sx_call *call)
{
    uint64_t n = asked(w);
    sx_column lo = placed(w, q_array, n, true), hi = placed(w, hi_array, n, true);
    sx_column first = placed(w, out_array[0], n + 1, false);
    sx_column out[4], rows = { 0 }, keys = { 0 };
    sx_ranges r = { .size = sizeof r, .lo = &lo, .hi = &hi, .limit = 3 };
    sx_aggregates g = { .size = sizeof g, .count = &out[0], .min = &out[1], .max = &out[2],
                        .sum = &out[3] };
    sx_status st = SX_OK;
    for (unsigned i = 0; i < 4; i++)
        out[i] = placed(w, out_array[i], n, false);
    if (w->flags > 2) {
        rows = placed(w, rows_array, 3 * n, false);
        keys = placed(w, keys_array, 3 * n, false);
    }
    switch (w->flags) {
    case 0: st = sx_range_count(w->ix, &r, &out[0], call); break;
    case 1: st = sx_range(w->ix, &r, &first, NULL, NULL, call); break;
    case 2: st = sx_range_aggregate(w->ix, &r, &g, call); break;
    case 3: st = sx_range(w->ix, &r, &first, &rows, &keys, call); break;
    case 4: lo.n = hi.n = 100; first.n = 101; r.limit = 0;        /* few, with many keys */
            for (unsigned i = 0; i < 4; i++)
                out[i].n = 100;
            st = sx_range_aggregate(w->ix, &r, &g, call); break;
    }
    unplaced(w, &lo);
    unplaced(w, &hi);
    unplaced(w, &first);
    for (unsigned i = 0; i < 4; i++)
        unplaced(w, &out[i]);
    if (w->flags > 2) {
        unplaced(w, &rows);
        unplaced(w, &keys);
    }
    return st;
}
#define RANGE_VERBS 5u

/* ---- data, devices and specs ------------------------------------------------------- */

static dataset *many, *few;
static sx_device *one, *two, *simt;

/* Specs of every family, both layouts, and of what is measured. */
#define SPECS_MOST 40u
/* ThreadSanitizer can't follow the emulator's fibers. */
#define KERNELS (!UNDER_TSAN)
#define NEEDS_KERNELS do { \
        if (!KERNELS) \
            SKIP("fibers are more than ThreadSanitizer follows"); \
    } while (0)
#define STEP (UNDER_TSAN ? 9u : UNDER_ASAN ? 3u : 1u) /* sanitizers take some */
static char specs[SPECS_MOST][64];
static unsigned spec_count;

static void add_spec(const char *name, const char *rest)
{
    snprintf(specs[spec_count++], sizeof specs[0], "%s%s", name, rest);
}

static int setup(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_family_info family = { .size = sizeof family };
    many = data_make(SX_U64, KEYS_RANDOM, KEYS, ROWS_U32, 40, &r);
    few = data_make(SX_U64, KEYS_DUPLICATES, FEW, ROWS_U64_WIDE, 40, &r);
    one = device_open("cpu:threads=1");
    two = device_open("cpu:threads=2");
    simt = device_open("simt");
    for (unsigned i = 0; sx_family_at(i, &family) == SX_OK; i++) {
        add_spec(family.name, "");
        if (strstr(family.parameters, "layout") && !strchr(family.name, '('))
            add_spec(family.name, "(layout=pairs)");
    }
    add_spec("auto", "");
    add_spec("auto(for=range)", "");
    add_spec("pgm(eps=16,cuts=100)", "");
    add_spec("pgm(budget=64)", "");
    for (uint64_t i = 0; i < ASKED; i++) {
        q_array[i] = rnd_next(&r);
        hi_array[i] = q_array[i] + (UINT64_MAX - q_array[i]) / 50;
    }
    hits = 3 * ASKED;
    rows_array = need(hits * sizeof *rows_array);
    keys_array = need(hits * sizeof *keys_array);
    sx_clock_replace(quick_clock);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sx_clock_replace(NULL);
    free(rows_array);
    free(keys_array);
    data_free(many);
    data_free(few);
    sx_close(one);
    sx_close(two);
    sx_close(simt);
    return 0;
}

static work on(sx_device *dev, const char *what, const char *spec)
{
    return (work){ .what = what, .dev = dev, .d = dev->backend->gpu ? few : many, .spec = spec };
}

/* ---- tests -------------------------------------------------------------------------- */

static void test_build(void **state)
{
    (void)state;
    for (unsigned s = 0; s < spec_count; s += STEP) {
        work w = on(one, "sx_build", specs[s]);
        w.run = run_build;
        assert_true(stop_everywhere(&w) > 100);
    }
}

static void test_build_small(void **state)
{
    (void)state;
    rnd r = rnd_start(7);
    for (unsigned n = 0; n < 3; n++)
        for (unsigned s = 0; s < spec_count; s++) {
            if (!strcmp(specs[s], "pgm(eps=16,cuts=100)"))
                continue;         /* more parts than keys */
            dataset *d = data_make(SX_F32, KEYS_RANDOM, n, ROWS_NULL, 5, &r);
            work w = on(n % 2 && KERNELS ? simt : one, "sx_build", specs[s]);
            w.run = run_build;
            w.d = d;
            stop_everywhere(&w);
            data_free(d);
        }
}

static void test_build_threads(void **state)
{
    (void)state;
    for (unsigned s = 0; s < spec_count; s += 2 + STEP) {
        work w = on(two, "sx_build", specs[s]);
        w.run = run_build;
        stop_everywhere(&w);
    }
}

static void test_build_kernels(void **state)
{
    static const char *const places[] = { "", " place=host", " place=both", " place=hybrid" };
    (void)state;
    NEEDS_KERNELS;
    for (unsigned s = 0; s < spec_count; s += STEP)
        for (unsigned p = 0; p < COUNT_OF(places); p++) {
            char spec[128];
            if (p == 3 && !strncmp(specs[s], "sorted", 6))
                continue;         /* has no upper part */
            snprintf(spec, sizeof spec, "%s%s", specs[s], places[p]);
            work w = on(simt, "sx_build", spec);
            w.run = run_build;
            assert_true(stop_everywhere(&w) > 5);
        }
}

static void test_check(void **state)
{
    (void)state;
    for (unsigned s = 0; s < spec_count; s++)
        for (unsigned on_gpu = 0; on_gpu < 1 + KERNELS; on_gpu++) {
            work w = on(on_gpu ? simt : one, "sx_check", specs[s]);
            w.run = run_check;
            w.ix = index_of(w.dev, w.d, specs[s]);
            assert_true(stop_everywhere(&w) > 3);
            sx_free(w.ix);
        }
}

static void test_files(void **state)
{
    static const unsigned flags[] = { 0, SX_LOAD_VERIFY, SX_LOAD_COPY,
                                      SX_LOAD_COPY | SX_LOAD_VERIFY };
    static const unsigned places[] = { 0, SX_LOAD_HOST, SX_LOAD_BOTH, SX_LOAD_HYBRID };
    (void)state;
    char *path = temp_path("ticked"), *other = temp_path("new");
    for (unsigned s = 0; s < spec_count; s += 1 + STEP)
        for (unsigned on_gpu = 0; on_gpu < 1 + KERNELS; on_gpu++) {
            work w = on(on_gpu ? simt : one, "sx_save", specs[s]);
            w.ix = index_of(w.dev, w.d, specs[s]);
            w.path = other;
            w.run = run_save;
            w.check = no_file;
            assert_true(stop_everywhere(&w) > 5);
            write_file(other, "old", 3);
            w.run = run_replace;
            w.check = old_file;
            stop_everywhere(&w);
            unlink(other);
            OK(sx_save(w.ix, path, NULL));
            w.what = "sx_load";
            w.path = path;
            w.run = run_load;
            w.check = NULL;
            for (unsigned f = 0; f < COUNT_OF(flags); f++)
                for (unsigned p = 0; p < (on_gpu ? COUNT_OF(places) : 1); p++) {
                    if (places[p] == SX_LOAD_HYBRID && !strncmp(specs[s], "sorted", 6))
                        continue;
                    w.flags = flags[f] | places[p];
                    uint64_t ticks = stop_everywhere(&w);
                    assert_true(ticks > (f ? 4 : 1));
                }
            sx_free(w.ix);
        }
    free(path);
    free(other);
}

/* Asks every question, stopped everywhere; then the answer is right. */
static void ask_stopped(sx_device *dev, const char *spec)
{
    work w = on(dev, "points", spec);
    asker *a = asker_new();
    /* Another thread may take all pieces. */
    uint64_t least = dev == one ? 5 : 2;
    w.ix = index_of(dev, w.d, spec);
    for (unsigned there = 0; there < 1u + dev->backend->gpu; there++) {
        w.there = there;
        w.what = "points";
        w.run = run_points;
        for (w.flags = 0; w.flags < POINT_VERBS; w.flags++)
            assert_true(stop_everywhere(&w) >= least);
        w.what = "ranges";
        w.run = run_ranges;
        for (w.flags = 0; w.flags < RANGE_VERBS; w.flags++)
            assert_true(stop_everywhere(&w) >= least);
    }
    ask_all(a, NULL, w.ix, w.d, spec);
    asker_free(a);
    sx_free(w.ix);
}

static void test_questions(void **state)
{
    (void)state;
    for (unsigned s = 0; s < spec_count; s += 1 + STEP)
        ask_stopped(s % 4 ? two : one, specs[s]);
}

static void test_questions_kernels(void **state)
{
    (void)state;
    NEEDS_KERNELS;
    static const char *const placed_specs[] = {
        "sorted", "pivot(layout=pairs)", "eytzinger", "guide", "pgm(eps=4)", "pivot place=both",
        "guide place=host", "pivot place=hybrid", "pgm(eps=4) place=hybrid", "btree",
        "btree place=hybrid", "btree(fill=75)",
        "radix(leaf=1)",
    };
    for (unsigned s = 0; s < COUNT_OF(placed_specs); s++)
        ask_stopped(simt, placed_specs[s]);
}

/* If no time passes, only the first and the last tick come. */
static void test_seldom(void **state)
{
    (void)state;
    progress p;
    sx_call call = ticking(&p, NEVER);
    sx_index *ix = NULL;
    clock_stop();
    OK(data_build(many, one, "pivot", &call, &ix));
    clock_go();
    sx_clock_replace(quick_clock);
    assert_int_equal(p.ticks, 2);
    assert_null(p.wrong);
    assert_true(p.done == p.total);
    sx_free(ix);
}

/* A tick may call the library, on the same device. */
static sx_index *other_index;

static void ask_inside(void)
{
    sx_column q = column(SX_U64, ASKED, q_array), out = column(SX_U64, ASKED, out_array[0]);
    OK(sx_get(other_index, &q, &out, NULL));
}

static void test_inside(void **state)
{
    (void)state;
    progress p;
    sx_call call = ticking(&p, NEVER);
    sx_index *ix = NULL;
    other_index = index_of(two, many, "pivot");
    p.inside = ask_inside;
    OK(data_build(many, two, "pivot", &call, &ix));
    assert_null(p.wrong);
    sx_free(ix);
    sx_free(other_index);
}

/* If the call is refused, there is no tick; if it fails, there is only the first. */
static void test_refused(void **state)
{
    (void)state;
    NEEDS_KERNELS;
    progress p;
    sx_index *ix = NULL;
    sx_call call = ticking(&p, NEVER);
    REFUSED(data_build(many, one, "pivot(k=1)", &call, &ix), SX_EINVAL, "k");
    assert_int_equal(p.ticks, 0);
    call.max_bytes = 10;
    REFUSED(data_build(many, one, "pivot", &call, &ix), SX_ENOMEM, "max_bytes");
    assert_int_equal(p.ticks, 0);
    call = ticking(&p, NEVER);
    REFUSED(data_build(few, one, "pivot unique", &call, &ix), SX_EINVAL, "unique");
    assert_true(p.ticks > 0 && p.done < p.total);
    assert_null(ix);

    ix = index_of(simt, few, "pivot");
    sx_column q, out;
    OK(sx_column_new(&q, simt, SX_U64, 4));
    OK(sx_column_new(&out, simt, SX_U64, 4));
    call = ticking(&p, NEVER);
    call.stream = (void *)2;
    REFUSED(sx_get(ix, &q, &out, &call), SX_EINVAL, "tick");
    REFUSED(sx_save(ix, "/nowhere", &call), SX_EINVAL, "stream");
    REFUSED(sx_check(ix, &call), SX_EINVAL, "stream");
    assert_int_equal(p.ticks, 0);
    sx_column_free(&q, simt);
    sx_column_free(&out, simt);
    sx_free(ix);
}

/* The memory that counts for max_bytes. */
static void test_max_bytes(void **state)
{
    (void)state;
    NEEDS_KERNELS;
    sx_index_info info = { .size = sizeof info };
    sx_call call = { .size = sizeof call, .max_bytes = 1 };
    char *path = temp_path("limited");
    sx_index *ix = index_of(one, few, "pivot"), *loaded = NULL;
    OK(sx_describe(ix, &info));
    OK(sx_check(ix, &call));
    OK(sx_save(ix, path, &call));
    OK(sx_load(&loaded, one, path, SX_LOAD_VERIFY, &call));
    sx_free(loaded);
    sx_free(ix);
    loaded = NULL;

    ix = index_of(simt, few, "pivot");
    const struct { sx_device *dev; unsigned flags; uint64_t times; } loads[] = {
        { one, SX_LOAD_COPY, 1 }, { simt, 0, 1 }, { simt, SX_LOAD_COPY, 2 },
        { simt, SX_LOAD_BOTH, 2 }, { simt, SX_LOAD_BOTH | SX_LOAD_COPY, 3 },
        { simt, SX_LOAD_HOST | SX_LOAD_COPY, 1 }, { simt, SX_LOAD_HOST, 0 },
    };
    for (unsigned i = 0; i < COUNT_OF(loads); i++) {
        uint64_t live = sx_alloc_live();
        call.max_bytes = loads[i].times * info.bytes - 1;
        if (loads[i].times > 0)
            REFUSED(sx_load(&loaded, loads[i].dev, path, loads[i].flags, &call), SX_ENOMEM,
                    "max_bytes");
        assert_null(loaded);
        assert_true(sx_alloc_live() == live || i == 3);   /* 3 opens the host's device */
        call.max_bytes = loads[i].times * info.bytes + !loads[i].times;
        OK(sx_load(&loaded, loads[i].dev, path, loads[i].flags, &call));
        sx_free(loaded);
        loaded = NULL;
    }
    OK(sx_describe(ix, &info));
    call.max_bytes = info.bytes - 1;
    REFUSED(sx_check(ix, &call), SX_ENOMEM, "max_bytes");
    REFUSED(sx_save(ix, path, &call), SX_ENOMEM, "max_bytes");
    call.max_bytes = info.bytes;
    OK(sx_check(ix, &call));
    OK(sx_save(ix, path, &call));
    sx_free(ix);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build),
        cmocka_unit_test(test_build_small),
        cmocka_unit_test(test_build_threads),
        cmocka_unit_test(test_build_kernels),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_questions_kernels),
        cmocka_unit_test(test_seldom),
        cmocka_unit_test(test_inside),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_max_bytes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
