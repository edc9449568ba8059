/* test_strings_gpu.c - strings on a device that runs kernels: every family and place, columns in
 * device memory, streams, hostile offsets and files. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "sxfile.h"
#include "texts.h"

#define REFUSED(call, status, words) do { \
        assert_int_equal((call), (status)); \
        if (!strstr(sx_detail(), (words))) \
            fail_msg("'%s' does not say '%s'", sx_detail(), (words)); \
    } while (0)

static const char *const places[] = { "host", "device", "hybrid", "both" };

/* ---- every family and place ---------------------------------------------------------------- */

/* Where both sides could answer, or one may help the other, a name says which does. */
static const char *device_for(const char *place, unsigned turn)
{
    if (strcmp(place, "hybrid") == 0)
        return kernel_with(turn % 2 ? "bucket=16,side=gpu"
                                    : "bucket=40,side=gpu,strategy=double,own=0.3");
    if (strcmp(place, "both") == 0)
        return kernel_with(turn % 2 ? "side=gpu" : "side=cpu");
    return kernel_device(turn % kernel_devices());
}

/* What can be is done, and the rest is refused with the sentence that sx_possible() has. */
static void test_places(void **state)
{
    (void)state;
    static const unsigned flags[] = { SX_LOAD_HOST, SX_LOAD_DEVICE, SX_LOAD_HYBRID, SX_LOAD_BOTH };
    rnd r = rnd_start(test_seed() + 1);
    sx_family_info f = { .size = sizeof f };
    texts keys = texts_make(TEXTS_WORDS, 400, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    unsigned turn = (unsigned)rnd_below(&r, 100);
    for (unsigned i = 0; sx_family_at(i, &f) == SX_OK; i++)
        for (unsigned p = 0; p < COUNT_OF(places); p++) {
            char spec[64], name[160];
            sx_index *ix = NULL;
            snprintf(name, sizeof name, "%s", device_for(places[p], turn++));
            sx_device *dev = device_open(name);
            snprintf(spec, sizeof spec, "%s place=%s", f.name, places[p]);
            if (text_can_be(f.name, "build", places[p], name))
                text_verbs(text_try(spec, dev, name, flags[p], true, &r), f.name, places[p], name);
            else
                REFUSED(text_build(&c, dev, spec, NULL, &ix), SX_ENOSYS, "place=");
            sx_close(dev);
        }
    text_case_free(&c);
    texts_free(&keys);
}

/* Layouts, and strings that are stored once, on the device. */
static void test_layouts(void **state)
{
    (void)state;
    static const char *const specs[] = { "pivot(layout=pairs)", "sorted(layout=once)",
                                         "eytzinger(layout=once)", "guide(layout=once)",
                                         "auto(for=memory)", "btree(fill=70)" };
    rnd r = rnd_start(test_seed() + 2);
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        sx_device *dev = device_open(kernel_device(s % kernel_devices()));
        text_try(specs[s], dev, kernel_device(s % kernel_devices()), SX_LOAD_DEVICE, true, &r);
        sx_close(dev);
    }
}

/* n strings of `values` different ones, in any order. */
static texts few_values(uint64_t n, uint64_t values, rnd *r)
{
    char *data = need(values * 24);
    text *of = need(n * sizeof *of);
    for (uint64_t i = 0; i < values; i++)
        snprintf(data + i * 24, 24, "value %08x of few", (unsigned)(i * 2654435761u));
    for (uint64_t i = 0; i < n; i++)
        of[i] = (text){ (unsigned char *)data + rnd_below(r, values) * 24, 23 };
    texts t = texts_from(n, of, 4);
    free(of);
    free(data);
    return t;
}

/* Whether an index says this of itself. */
static void must_explain(const sx_index *ix, const char *words, bool says)
{
    char said[16384];
    size_t bytes = sizeof said;
    assert_int_equal(sx_explain(ix, SX_TEXT, said, &bytes), SX_OK);
    if ((strstr(said, words) != NULL) != says)
        fail_msg("'%s' is %s: %s", words, says ? "missing" : "said", said);
}

/* `auto` stores equal strings once where that takes less memory, as it does numbers, says so, and
 * leaves others as they come. */
static void test_auto_once(void **state)
{
    (void)state;
    static const char *const specs[] = { "auto", "auto(for=point)", "auto(for=range)",
                                         "auto(for=memory)", "auto place=both",
                                         "auto place=hybrid" };
    rnd r = rnd_start(test_seed() + 18);
    sx_device *kernels = device_open(kernel_device(0));
    for (unsigned big = 0; big < 2; big++) {
        texts keys = few_values(big ? 1000000 : 3000, big ? 1000 : 40, &r);
        uint64_t *rows = big ? text_rows(keys.n, &r) : NULL;
        text_case c = text_case_of(&keys, rows);
        for (size_t s = 0; s < (big ? 1 : COUNT_OF(specs)); s++) {
            sx_index *ix = NULL;
            if (text_build(&c, kernels, specs[s], NULL, &ix) != SX_OK)
                text_must(sx_detail(), specs[s], "", keys.n, 0);
            must_explain(ix, "layout=once", true);
            must_explain(ix, big ? "1000000 keys have 1000 values, so equal keys are stored once"
                                 : "3000 keys have 40 values, so equal keys are stored once", true);
            assert_int_equal(sx_check(ix, NULL), SX_OK);
            text_must(text_ask(&c, ix, big ? 2 : 60, &r), specs[s], "", keys.n, 0);
            sx_free(ix);
        }
        text_case_free(&c);
        texts_free(&keys);
        free(rows);
    }
    texts keys = few_values(3000, 1 << 20, &r);
    text_case c = text_case_of(&keys, NULL);
    sx_index *ix = NULL;
    assert_int_equal(text_build(&c, kernels, "auto(for=point)", NULL, &ix), SX_OK);
    must_explain(ix, "once", false);
    text_must(text_ask(&c, ix, 60, &r), "auto(for=point)", "", keys.n, 0);
    sx_free(ix);
    text_case_free(&c);
    texts_free(&keys);
    sx_close(kernels);
}

/* ---- columns in device memory ------------------------------------------------------------ */

/* Keys and rows in device memory, whose offsets are looked at when they are on the host; and what
 * a stream can't do. */
static void test_there(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 16);
    sx_device *kernels = device_open(kernel_device(0));
    texts keys = texts_make(TEXTS_WORDS, 90, 8, &r);
    uint64_t *rows = text_rows(keys.n, &r);
    text_case c = text_case_of(&keys, rows);
    sx_column from = texts_column(&keys), numbers = column(SX_U64, keys.n, rows), there, row;
    assert_int_equal(sx_column_strings(&there, kernels, keys.n, keys.bytes, 8), SX_OK);
    assert_int_equal(sx_column_copy(&there, &from, kernels), SX_OK);
    assert_int_equal(sx_column_new(&row, kernels, SX_U64, keys.n), SX_OK);
    assert_int_equal(sx_column_copy(&row, &numbers, kernels), SX_OK);
    sx_call queued = { .size = sizeof queued, .stream = (void *)2 };
    for (unsigned p = 0; p < COUNT_OF(places); p++) {
        char spec[64];
        sx_index *ix = NULL;
        snprintf(spec, sizeof spec, "pivot place=%s", places[p]);
        bool streams = strcmp(places[p], "host") && strcmp(places[p], "hybrid");
        if (sx_build(&ix, kernels, spec, &there, &row, streams ? &queued : NULL) != SX_OK)
            text_must(sx_detail(), spec, "", keys.n, 0);
        text_must(text_ask(&c, ix, 60, &r), spec, "", keys.n, 0);
        sx_column few = there;
        few.n--;                  /* `first` has one more */
        sx_ranges all = { .size = sizeof all, .lo = &few, .hi = &few };
        sx_prefixes begun = { .size = sizeof begun, .of = &few };
        if (streams) {
            REFUSED(sx_range(ix, &all, &row, NULL, &there, &queued), SX_ENOSYS, "without a stream");
            REFUSED(sx_prefix(ix, &begun, &row, NULL, &there, &queued), SX_ENOSYS, "without a stream");
        }
        sx_free(ix);
        uint64_t *offset = (uint64_t *)from.offsets + 40, before = *offset;
        *offset = UINT64_MAX;     /* a copy of what is wrong */
        assert_int_equal(sx_column_copy(&there, &from, kernels), SX_OK);
        REFUSED(sx_build(&ix, kernels, spec, &there, &row, NULL), SX_EINVAL, "offset 40 of keys");
        *offset = before;
        assert_int_equal(sx_column_copy(&there, &from, kernels), SX_OK);
    }
    sx_column_free(&there, kernels);
    sx_column_free(&row, kernels);
    text_case_free(&c);
    texts_free(&keys);
    free(rows);
    sx_close(kernels);
}

/* Queries in device memory, whose offsets nobody looks at: answers may be any, and no byte outside
 * is read. */
static void test_hostile_offsets(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 17);
    sx_device *kernels = device_open(kernel_device(0));
    texts keys = texts_make(TEXTS_PATHS, 300, 4, &r), near = texts_near(&keys, 60, 4, &r);
    /* The last one goes on as keys do, and ends where memory does, which comes in lines. */
    uint64_t others = near.bytes - near.of[59].bytes;
    near.of[59] = (text){ keys.of[0].data, (64 - others % 64) % 64 };
    texts q = texts_from(60, near.of, 4);
    text_case c = text_case_of(&keys, NULL);
    uint64_t row[60];
    sx_column good = texts_column(&q), there, back, rows = column(SX_U64, 60, row);
    assert_int_equal(sx_column_strings(&there, kernels, q.n, q.bytes, 4), SX_OK);
    assert_int_equal(sx_column_strings(&back, kernels, q.n, 1 << 16, 4), SX_OK);
    for (unsigned p = 0; p < COUNT_OF(places); p++) {
        char spec[64];
        sx_index *ix = NULL;
        snprintf(spec, sizeof spec, "pivot place=%s", places[p]);
        assert_int_equal(text_build(&c, kernels, spec, NULL, &ix), SX_OK);
        sx_ranges ranges = { .size = sizeof ranges, .lo = &there, .hi = &there };
        for (unsigned i = 0; i < 30; i++) {
            uint32_t *offset = (uint32_t *)good.offsets + (i % 3 ? rnd_below(&r, q.n + 1) : q.n);
            uint32_t before = *offset;
            *offset = rnd_below(&r, 2) ? (uint32_t)rnd_next(&r) : (uint32_t)rnd_below(&r, q.bytes);
            assert_int_equal(sx_column_copy(&there, &good, kernels), SX_OK);
            *offset = before;
            assert_int_equal(sx_get(ix, &there, &rows, NULL), SX_OK);
            assert_int_equal(sx_floor(ix, &there, &rows, &back, NULL), SX_OK);
            assert_int_equal(sx_range_count(ix, &ranges, &rows, NULL), SX_OK);
        }
        sx_free(ix);
    }
    sx_column_free(&there, kernels);
    sx_column_free(&back, kernels);
    text_case_free(&c);
    texts_free(&q);
    texts_free(&near);
    texts_free(&keys);
    sx_close(kernels);
}

/* An offset is believed as far as the column has bytes, whatever comes behind them. */
static void test_offsets_past_the_end(void **state)
{
    (void)state;
    static const text all[] = { { (const unsigned char *)"ab", 2 }, { (const unsigned char *)"abX", 3 } };
    sx_device *kernels = device_open(kernel_device(0));
    texts keys = texts_from(2, all, 4), q = texts_from(1, all + 1, 4);
    text_case c = text_case_of(&keys, NULL);
    sx_index *ix = NULL;
    uint64_t row = 7;
    sx_column there = text_there(kernels, texts_column(&q)), rows = column(SX_U64, 1, &row);
    assert_int_equal(text_build(&c, kernels, "pivot", NULL, &ix), SX_OK);
    assert_int_equal(sx_get(ix, &there, &rows, NULL), SX_OK);
    assert_int_equal(row, 1);
    there.bytes = 2;              /* its X is not the column's any more */
    assert_int_equal(sx_get(ix, &there, &rows, NULL), SX_OK);
    assert_int_equal(row, 0);
    there.bytes = 3;
    sx_free(ix);
    sx_column_free(&there, kernels);
    text_case_free(&c);
    texts_free(&q);
    texts_free(&keys);
    sx_close(kernels);
}

/* A thread that changes offsets of a column for as long as it is asked about. */
typedef struct {
    uint32_t *offset;
    uint64_t n, bytes;
    _Atomic int stop;
} changing;

static void *change(void *work)
{
    changing *w = work;
    rnd r = rnd_start(77);
    while (!w->stop) {
        uint64_t i = rnd_below(&r, w->n + 1);
        uint32_t before = __atomic_load_n(&w->offset[i], __ATOMIC_RELAXED);
        uint32_t wrong = rnd_below(&r, 2) ? (uint32_t)w->bytes : (uint32_t)rnd_below(&r, w->bytes);
        __atomic_store_n(&w->offset[i], wrong, __ATOMIC_RELAXED);
        sched_yield();
        __atomic_store_n(&w->offset[i], before, __ATOMIC_RELAXED);
        for (unsigned k = 0; k < 50; k++)
            sched_yield();
    }
    return NULL;
}

/* Offsets on the host that change meanwhile: answers may be any, but all stays inside of the columns
 * and of the memory that they travel through. */
static void test_changing(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 6);
    sx_device *kernels = device_open(kernel_with(""));
    texts keys = texts_make(TEXTS_PATHS, 200, 4, &r), q = texts_near(&keys, 400, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    uint64_t *row = need(q.n * sizeof *row);
    sx_column queries = texts_column(&q), rows = column(SX_U64, q.n, row);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &queries, .hi = &queries };
    answers a = answers_new(q.n, 1 << 17, 4);
    sx_index *ix = NULL;
    pthread_t thread;
    changing w = { .offset = queries.offsets, .n = q.n, .bytes = q.bytes };
    assert_int_equal(text_build(&c, kernels, "pivot", NULL, &ix), SX_OK);
    assert_int_equal(pthread_create(&thread, NULL, change, &w), 0);
    for (unsigned i = 0; i < 60; i++) {
        sx_status st[] = { sx_get(ix, &queries, &rows, NULL),
                           sx_range_count(ix, &ranges, &rows, NULL),
                           sx_floor(ix, &queries, &rows, &a.given, NULL) };
        for (size_t k = 0; k < COUNT_OF(st); k++)
            assert_true(st[k] == SX_OK || st[k] == SX_EINVAL || st[k] == SX_ESPACE);
    }
    w.stop = 1;
    pthread_join(thread, NULL);
    assert_true(guard_intact(&a.data) && guard_intact(&a.offsets));
    /* All offsets are as they were, so all answers are right again. */
    assert_int_equal(sx_get(ix, &queries, &rows, NULL), SX_OK);
    for (uint64_t i = 0; i < q.n; i++)
        assert_int_equal(row[i], text_get(c.truth, q.of[i]));
    sx_free(ix);
    answers_free(&a);
    free(row);
    text_case_free(&c);
    texts_free(&q);
    texts_free(&keys);
    sx_close(kernels);
}

/* ---- memory -------------------------------------------------------------------------------- */

static void test_estimates(void **state)
{
    (void)state;
    static const char *const specs[] = { "pivot", "sorted(layout=once)", "guide place=both" };
    rnd r = rnd_start(test_seed() + 4);
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        sx_device *kernels = device_open(kernel_with("side=gpu"));
        uint64_t n = 3000;
        texts keys = texts_make(s == 1 ? TEXTS_DUPLICATES : TEXTS_PATHS, n, 4, &r);
        text_case c = text_case_of(&keys, NULL);
        sx_estimate_ask ask = { .size = sizeof ask, .n = n, .key_type = SX_STR,
                                .bytes = keys.bytes };
        sx_estimate_info e = { .size = sizeof e };
        sx_index_info info = { .size = sizeof info };
        sx_index *ix = NULL;
        assert_int_equal(sx_estimate(kernels, specs[s], &ask, &e), SX_OK);
        assert_int_equal(text_build(&c, kernels, specs[s], NULL, &ix), SX_OK);
        assert_int_equal(sx_describe(ix, &info), SX_OK);
        assert_true(info.bytes <= e.device_resident);
        sx_free(ix);
        uint64_t live = sx_alloc_live();          /* with what a device keeps */
        sx_alloc_most();
        assert_int_equal(text_build(&c, kernels, specs[s], NULL, &ix), SX_OK);
        if (!kernel_is_gpu())     /* the emulator takes both from one allocator */
            assert_true(sx_alloc_most() - live <= e.host_peak + e.device_peak);
        sx_free(ix);
        sx_call call = { .size = sizeof call, .max_bytes = e.host_peak + e.device_peak - 1 };
        ix = NULL;
        REFUSED(text_build(&c, kernels, specs[s], &call, &ix), SX_ENOMEM, "max_bytes");
        text_case_free(&c);
        texts_free(&keys);
        sx_close(kernels);
    }
}

/* Each allocation of a build and of questions fails once; nothing is lost. */
static void test_allocations(void **state)
{
    (void)state;
    static const char *const specs[] = { "pivot", "sorted(layout=once)", "pivot place=hybrid",
                                         "pivot place=both", "auto" };
    if (kernel_is_gpu())
        SKIP("allocations of a GPU don't fail when a test wants it");
    rnd r = rnd_start(test_seed() + 5);
    texts words = texts_make(TEXTS_WORDS, 300, 4, &r), few = few_values(300, 12, &r);
    texts q = texts_near(&words, 90, 4, &r);
    text_case of_words = text_case_of(&words, NULL), of_few = text_case_of(&few, NULL);
    answers a = answers_new(90, 90 * 300, 4);
    uint64_t row[90];
    sx_column queries = texts_column(&q), rows = column(SX_U64, 90, row);
    for (size_t s = 0; s < COUNT_OF(specs); s++)
        for (long nth = 1, works = 0; works < 12; nth++) {       /* some failures are made good */
            uint64_t live = sx_alloc_live();
            sx_device *kernels = device_open(kernel_with("bucket=16,side=gpu"));
            const text_case *c = strcmp(specs[s], "auto") ? &of_words : &of_few;
            sx_index *ix = NULL;
            sx_ranges ranges = { .size = sizeof ranges, .lo = &queries, .hi = &queries };
            sx_alloc_fail_at(nth);
            sx_status st = text_build(c, kernels, specs[s], NULL, &ix);
            if (st == SX_OK)
                st = sx_floor(ix, &queries, &rows, &a.given, NULL);
            if (st == SX_OK)
                st = sx_range_count(ix, &ranges, &rows, NULL);
            sx_alloc_fail_at(0);
            works = st == SX_OK ? works + 1 : 0;
            if (st != SX_OK && st != SX_ENOMEM)
                fail_msg("%s, allocation %ld: %s", specs[s], nth, sx_detail());
            if (st == SX_OK)
                assert_int_equal(row[0], text_range(c->truth, q.of[0], q.of[0], 0, 0).count);
            sx_free(ix);
            sx_close(kernels);
            assert_true(sx_alloc_live() == live);
        }
    answers_free(&a);
    text_case_free(&of_words);
    text_case_free(&of_few);
    texts_free(&q);
    texts_free(&words);
    texts_free(&few);
}

/* ---- hostile files ------------------------------------------------------------------------ */

/* Walks of damaged indexes end, and read nothing outside. */
static void test_hostile(void **state)
{
    (void)state;
    static const char *const specs[] = { "sorted", "eytzinger", "pivot", "guide", "pgm" };
    static const unsigned flags[] = { SX_LOAD_DEVICE, SX_LOAD_HYBRID };
    rnd r = rnd_start(test_seed() + 3);
    sx_device *kernels = device_open(kernel_device(0));
    char *path = temp_path("hostile.sxt");
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        texts keys = texts_make(TEXTS_TIED, 900, 4, &r), q = texts_near(&keys, 60, 4, &r);
        text_case c = text_case_of(&keys, NULL);
        sx_index *ix = NULL;
        size_t bytes;
        assert_int_equal(text_build(&c, kernels, specs[s], NULL, &ix), SX_OK);
        unsigned char *file = saved_bytes(ix, path, &bytes), *bad = need(bytes);
        for (unsigned i = 0; i < 40; i++) {
            memcpy(bad, file, bytes);
            text_damage(bad, bytes, i, &r);
            sx_index *loaded = NULL;
            unsigned to = flags[s > 0 && i % 8 >= 4];     /* sorted has no upper part */
            assert_int_equal(sx_load(&loaded, kernels, memory_file(bad, bytes), to, NULL), SX_OK);
            text_ask_anything(loaded, &q);
            sx_free(loaded);
        }
        free(file);
        free(bad);
        sx_free(ix);
        text_case_free(&c);
        texts_free(&q);
        texts_free(&keys);
    }
    free(path);
    sx_close(kernels);
}

/* An allocator that has nothing from its take number `last` on. */
static uint64_t takes, last;

static void *take_some(void *context, uint64_t bytes, void *stream)
{
    (void)context;
    (void)stream;
    return takes++ >= last ? NULL : aligned_alloc(256, (bytes + 511) / 256 * 256);
}

static void give_some(void *context, void *block, void *stream)
{
    (void)context;
    (void)stream;
    free(block);
}

/* A call that runs out of memory leaves its outputs as they were, wherever that happens. */
static void test_untouched(void **state)
{
    (void)state;
    enum { N = 700 };             /* several chunks */
    rnd r = rnd_start(test_seed() + 9);
    texts keys = texts_make(TEXTS_WORDS, N, 4, &r);
    sx_column k = texts_column(&keys);
    uint64_t out[N], want[N];
    sx_column numbers = { .type = SX_U64, .n = N, .data = out };
    sx_allocator some = { .size = sizeof some, .take = take_some, .give = give_some };
    sx_ranges ranges = { .size = sizeof ranges, .lo = &k, .hi = &k };
    sx_aggregates sums = { .size = sizeof sums, .sum = &numbers };
    sx_device *dev = device_open("simt");
    sx_index *ix = NULL;
    last = UINT64_MAX;
    assert_int_equal(sx_device_allocator(dev, &some), SX_OK);
    assert_int_equal(sx_build(&ix, dev, "pivot", &k, NULL, NULL), SX_OK);
    for (unsigned verb = 0; verb < 3; verb++) {
        unsigned failed = 0;
        for (unsigned i = 0; i <= 12; i++) {
            sx_status st;
            memset(out, 0x55, sizeof out);
            takes = 0;
            last = i ? i - 1 : UINT64_MAX;        /* the first time all is there */
            st = verb == 0   ? sx_get(ix, &k, &numbers, NULL)
                 : verb == 1 ? sx_range_count(ix, &ranges, &numbers, NULL)
                             : sx_range_aggregate(ix, &ranges, &sums, NULL);
            assert_true(st == SX_OK || (i && st == SX_ENOMEM));
            failed += st != SX_OK;
            if (!i)
                memcpy(want, out, sizeof out);
            for (unsigned q = 0; q < N; q++)
                if (out[q] != (st == SX_OK ? want[q] : 0x5555555555555555u))
                    fail_msg("verb %u, %u takes, status %d: output %u", verb, i - 1, (int)st, q);
        }
        assert_true(failed > 0);
    }
    last = UINT64_MAX;
    sx_free(ix);
    sx_close(dev);
    texts_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_auto_once),
        cmocka_unit_test(test_there),
        cmocka_unit_test(test_hostile_offsets),
        cmocka_unit_test(test_offsets_past_the_end),
        cmocka_unit_test(test_changing),
        cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_untouched),
        cmocka_unit_test(test_hostile),
    };
    if (getenv("SX_STRINGS_ONLY"))
        cmocka_set_test_filter(getenv("SX_STRINGS_ONLY"));
    return TEXT_GROUPS("strings on a GPU", tests, NULL, NULL);
}
