/* test_hybrid.c - indexes on the host of a GPU, and hybrid ones: right and wrong entries,
 * buckets, failures of the GPU in the middle, places that can't be, files, estimates, and
 * what auto does. */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "on_device.h"
#include "inside.h"
#include "stand_in.h"

static const char *const specs[] = {
    "pivot", "pivot(k=17,leaf=40)", "pivot(k=5,levels=2,layout=pairs)", "pivot(k=3,leaf=3)",
    "guide", "guide(bucket=3,pieces=5,layout=pairs)", "guide(bucket=128)",
    "eytzinger", "eytzinger(k=2)", "eytzinger(k=4,layout=pairs)",
    "pgm(eps=8)", "pgm(eps=3,eps2=2,layout=pairs)",
    "btree", "btree(k=3)", "btree(k=5,layout=split)", "btree(k=2,layout=once)",
    "btree(fill=60)", "btree(fill=100,layout=split)",
    "radix", "radix(leaf=1)", "radix(leaf=2,layout=pairs)", "radix(leaf=1,layout=once)",
};

/* ThreadSanitizer is slow: each list of options has some of the specs. */
#define FIRST_SPEC(o) (UNDER_TSAN ? (o) : 0)
#define NEXT_SPEC (UNDER_TSAN ? 5 : 1)

static asker *asking;

/* The spec with this place, in one of a few static buffers. */
static const char *placed(const char *spec, const char *place)
{
    static char texts[4][SX_SPEC_MAX];
    static unsigned turn;
    char *text = texts[turn++ % COUNT_OF(texts)];
    snprintf(text, sizeof texts[0], "%s place=%s", spec, place);
    return text;
}

static void ask_beside(sx_device *dev, const sx_index *ix, const dataset *d, const char *what)
{
    asking->no_streams = true;
    ask_all(asking, dev, ix, d, what);
    asking->no_streams = false;
}

/* ---- answers ------------------------------------------------------------------------ */

static void test_places(void **state)
{
    (void)state;
    static const char *const options[] = { "", "bucket=16,side=gpu",
                                           "bucket=100,memory=1GiB,side=gpu" };
    rnd r = rnd_start(test_seed());
    for (size_t o = 0; o < COUNT_OF(options); o++) {
        sx_device *dev = device_open(kernel_with(options[o]));
        for (size_t s = FIRST_SPEC(o); s < COUNT_OF(specs); s += NEXT_SPEC) {
            dataset *d = data_make(key_types[(s + o) % COUNT_OF(key_types)],
                                   s % 2 ? KEYS_DUPLICATES : KEYS_RANDOM, 3000,
                                   (row_kind)(s % ROWS_KINDS), 400, &r);
            static const char *const places[] = { "hybrid", "host", "device" };
            for (unsigned p = 0; p < 3; p++) {
                const char *spec = placed(specs[s], places[p]);
                sx_index_info info = { .size = sizeof info };
                sx_index *ix = index_of(dev, d, spec);
                ask_beside(dev, ix, d, spec);
                OK(sx_check(ix, NULL));
                OK(sx_describe(ix, &info));
                /* The spec does not name the usual place. */
                assert_true((strstr(info.spec, "place=") != NULL) == (p < 2));
                assert_true(p == 2 || strstr(info.spec, places[p]));
                sx_free(ix);
            }
            data_free(d);
        }
        sx_close(dev);
    }
}

/* The device may be closed first. */
static void test_closed_before(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 2000, ROWS_U32, 300, &r);
    for (unsigned p = 0; p < 2; p++) {
        sx_device *dev = device_open(kernel_with("bucket=16,side=gpu"));
        sx_index *ix = index_of(dev, d, placed("pivot", p ? "host" : "hybrid"));
        sx_index *other = index_of(dev, d, placed("guide", "hybrid"));
        sx_close(dev);
        ask_beside(NULL, ix, d, "closed");
        sx_free(ix);
        ask_beside(NULL, other, d, "closed, the other");
        sx_free(other);
    }
    data_free(d);
}

/* ---- entries ---------------------------------------------------------------------------- */

static sx_slice queries_of(const dataset *d)
{
    return sx_slice_fixed(d->q.data, d->width, d->queries, SX_HOST);
}

/* Some levels, by the device that has them as replica `r`. */
static void steps(const sx_index *ix, unsigned r, const sx_steps *job)
{
    const sx_replica *by = replica_of(ix, r);
    sx_err err;
    if (by->dev->backend->steps(by->dev->self, SX_ONE_VIEW(&by->view), job, &err) != SX_OK)
        fail_msg("%s", err.text);
}

/* Levels [from, to) for all queries. */
static void step(const sx_index *ix, unsigned r, const dataset *d, sx_side side, uint32_t from,
                 uint32_t to, const sx_state *in, sx_state *out)
{
    sx_steps job = { .key_type = d->type, .side = side, .n = d->queries,
                     .q = queries_of(d), .from = from, .to = to, .in = in, .out = out };
    steps(ix, r, &job);
}

/* All levels, cut in two: one level later for the first queries, `head` of them. */
static void step_twice(const sx_index *ix, unsigned first, const dataset *d, sx_side side,
                       uint32_t cut, uint32_t levels, uint64_t head, sx_state *state)
{
    sx_steps job = { .key_type = d->type, .side = side, .n = d->queries, .q = queries_of(d),
                     .to = cut, .head = head, .head_to = cut + 1, .out = state };
    steps(ix, first, &job);
    job.from = cut;
    job.head_from = cut + 1;
    job.to = job.head_to = levels;
    job.in = state;
    steps(ix, !first, &job);
}

/* The CPU continues from entries. */
static void go_on(const sx_index *ix, const dataset *d, sx_op op, const sx_state *entry,
                  uint64_t *out, void *keys)
{
    const sx_replica *side = replica_of(ix, 0);
    sx_err err;
    sx_lookup ask = { .op = op, .key_type = d->type, .n = d->queries, .q = queries_of(d),
                      .out = sx_slice_fixed(out, 8, d->queries, SX_HOST),
                      .keys = sx_slice_fixed(keys, d->width, d->queries, SX_HOST),
                      .entry = entry };
    assert_int_equal(side->dev->backend->lookup(side->dev->self, SX_ONE_VIEW(view_of(ix)), &ask,
                                                &err), SX_OK);
}

static uint32_t levels_of(const sx_index *ix)
{
    uint32_t levels = sx_view_levels(view_of(ix));
    assert_int_equal(levels, sx_view_levels(&replica_of(ix, 1)->view));
    return levels;
}

/* Walks are cut between any two levels, and either side takes either part: the entries are the
 * same, and the CPU's answers are right. */
static void try_cuts(const sx_index *ix, const dataset *d)
{
    uint64_t n = d->queries, *out = need(n * 8), bytes = n * sizeof(sx_state);
    uint32_t levels = levels_of(ix);
    sx_state *all = need(bytes), *state = need(bytes);
    for (sx_side side = SX_LEFT; side <= SX_RIGHT; side++) {
        step(ix, 1, d, side, 0, levels, NULL, all);
        go_on(ix, d, side == SX_RIGHT ? SX_OP_RANK_RIGHT : SX_OP_RANK_LEFT, all, out, NULL);
        assert_memory_equal(out, side == SX_RIGHT ? d->right : d->left, n * 8);
        for (uint32_t cut = 0; cut <= levels; cut++)
            for (unsigned first = 0; first < 2; first++) {
                step(ix, first, d, side, 0, cut, NULL, state);
                step(ix, !first, d, side, cut, levels, state, state);
                assert_memory_equal(state, all, bytes);
                for (uint64_t head = 1; cut < levels && head <= n; head += n / 3) {
                    memset(state, GUARD_FILL, bytes);
                    step_twice(ix, first, d, side, cut, levels, head, state);
                    assert_memory_equal(state, all, bytes);
                }
            }
        for (uint32_t l = 0; l < levels; l++)     /* each level by another */
            step(ix, l % 2, d, side, l, l + 1, l ? state : NULL, state);
        assert_memory_equal(state, all, bytes);
    }
    free(out);
    free(all);
    free(state);
}

/* Any states lead to some answer, from any level on. */
static void try_any_state(const sx_index *ix, const dataset *d, rnd *r)
{
    static const sx_op ops[] = { SX_OP_GET, SX_OP_RANK_LEFT, SX_OP_RANK_RIGHT, SX_OP_FLOOR,
                                 SX_OP_CEIL };
    uint64_t n = d->queries, *out = need(n * 8), *keys = need(n * 16);
    uint32_t levels = levels_of(ix);
    sx_state *state = need(n * sizeof *state);
    for (unsigned round = 0; round < 20; round++) {
        sx_op op = ops[round % COUNT_OF(ops)];
        int ranks = op == SX_OP_RANK_LEFT || op == SX_OP_RANK_RIGHT;
        for (uint64_t i = 0; i < n; i++) {
            uint64_t x = rnd_next(r);
            state[i].at = round < 5 ? UINT64_MAX : round < 10 ? x : x >> (x & 63);
            if (round % 2)
                state[i].at &= ~SX_STATE_DONE;
        }
        for (uint32_t l = levels - round % (levels + 1); l < levels; l++)
            step(ix, (round + l) % 2, d, op == SX_OP_RANK_RIGHT || op == SX_OP_FLOOR, l, l + 1,
                 state, state);
        go_on(ix, d, op, state, out, ranks ? NULL : keys);
        for (uint64_t i = 0; i < n && ranks; i++)
            assert_true(out[i] <= d->n);
    }
    free(state);
    free(out);
    free(keys);
}

/* A walk that is done stays as it is, on either side, at all levels. */
static void try_done(const sx_index *ix, const dataset *d, rnd *r)
{
    uint64_t n = d->queries;
    uint32_t levels = levels_of(ix);
    sx_state *plain = need(n * sizeof *plain), *in = need(n * sizeof *in),
             *out = need(n * sizeof *out);
    step(ix, 0, d, 0, 0, levels, NULL, plain);
    for (unsigned side = 0; side < 2; side++) {
        for (uint64_t i = 0; i < n; i++)
            in[i].at = i % 3 ? 0 : rnd_next(r) | SX_STATE_DONE;
        step(ix, side, d, 0, 0, levels, in, out);
        for (uint64_t i = 0; i < n; i++)
            assert_int_equal(out[i].at, i % 3 ? plain[i].at : in[i].at);
    }
    free(plain);
    free(in);
    free(out);
}

static void test_entries(void **state)
{
    (void)state;
    static const char *const searches[] = { "", "search=concise", "search=complete" };
    rnd r = rnd_start(test_seed());
    for (size_t o = 0; o < COUNT_OF(searches); o++) {
        sx_device *dev = device_open(kernel_with(searches[o]));
        for (size_t s = FIRST_SPEC(o); s < COUNT_OF(specs); s += NEXT_SPEC)
            for (unsigned t = 0; t < COUNT_OF(device_widths); t++) {
                key_kind kind = (key_kind)(s % 6);
                if (kind == KEYS_EQUAL && strncmp(specs[s], "radix", 5) == 0)
                    kind = KEYS_RANDOM;           /* equal keys need no tree */
                dataset *d = data_make(device_widths[t], kind, 700 + 900 * t,
                                       (row_kind)(s % ROWS_KINDS), 300, &r);
                if (o > 0 && strncmp(specs[s], "pgm", 3) != 0) {
                    data_free(d);
                    continue;
                }
                begin_step("entries of %s", specs[s]);
                sx_index *ix = index_of(dev, d, placed(specs[s], "hybrid"));
                assert_non_null(replica_of(ix, 1)->block);
                assert_true(levels_of(ix) > 0);
                assert_true(o != 1 || levels_of(ix) == 1);
                try_cuts(ix, d);
                try_any_state(ix, d, &r);
                try_done(ix, d, &r);
                sx_free(ix);
                data_free(d);
            }
        sx_close(dev);
    }
}

/* ---- a GPU that fails --------------------------------------------------------------------- */

static void test_failing_gpu(void **state)
{
    (void)state;
    enum { BUCKET = 16 };
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with("bucket=16,side=gpu"));
    dataset *d = data_make(SX_I64, KEYS_DUPLICATES, 2500, ROWS_U64_SMALL, 300, &r);
    uint64_t n = d->queries, *rows = need(n * 8);
    unsigned buckets = (unsigned)((n + BUCKET - 1) / BUCKET);
    sx_column q = column(d->type, n, d->q.data), out = column(SX_U64, n, rows);
    sx_index *ix = index_of(dev, d, "pivot place=hybrid");
    stand_in(dev, OF_ENTRIES);

    /* Without failures every bucket has entries. */
    OK(sx_get(ix, &q, &out, NULL));
    assert_int_equal(asked, buckets);
    assert_memory_equal(rows, d->get, n * 8);
    /* The CPU believes entries: wrong ones make wrong answers. */
    entries_lie = true;
    OK(sx_get(ix, &q, &out, NULL));
    assert_memory_not_equal(rows, d->get, n * 8);
    entries_lie = false;
    for (fail_from = 0; fail_from <= buckets; fail_from++) {
        /* Without memory the CPU goes on alone. */
        fail_with = SX_ENOMEM;
        asked = 0;
        memset(rows, GUARD_FILL, n * 8);
        OK(sx_get(ix, &q, &out, NULL));
        assert_memory_equal(rows, d->get, n * 8);
        /* A GPU that fails ends the call, and whole buckets before the failure are answered.
         * Two workers ask for neighbours in any order, and a bucket in work when a later one
         * fails is not waited for: so there are as many as before the failure, or fewer by the
         * buffers at most. */
        fail_with = SX_EDEVICE;
        asked = 0;
        memset(rows, GUARD_FILL, n * 8);
        if (fail_from == buckets) {
            OK(sx_get(ix, &q, &out, NULL));
            continue;
        }
        REFUSED(sx_get(ix, &q, &out, NULL), SX_EDEVICE, "told to fail");
        uint64_t answered = fail_from * BUCKET;
        unsigned before = 0;
        while (answered > 0 && rows[answered - 1] == GUARD_FILL * 0x0101010101010101ull) {
            answered -= BUCKET;
            before++;
        }
        assert_true(before <= SX_BUFFERS_MOST);
        assert_memory_equal(rows, d->get, answered * 8);
        for (uint64_t i = answered * 8; i < n * 8; i++)
            assert_int_equal(((unsigned char *)rows)[i], GUARD_FILL);
    }
    fail_with = SX_ENOMEM;
    for (fail_from = 0; fail_from < 5; fail_from++) {
        asked = 0;
        ask_beside(dev, ix, d, "without memory for hints");
    }
    stand_back(dev);
    ask_beside(dev, ix, d, "afterwards");
    sx_free(ix);
    sx_close(dev);
    free(rows);
    data_free(d);
}

/* Two calls at once: the first waits in its first bucket until the second has its answers.
 * The device keeps memory for the entries of one, and gives the other's back. */
static sx_backend waiting;
static const sx_backend *its_own;
static _Atomic int first_is_in, may_go_on;

static sx_status wait_in_entry(void *self, const sx_views *top, const sx_steps *job, sx_err *err)
{
    if (atomic_exchange(&first_is_in, 1) == 0)
        while (!atomic_load(&may_go_on))
            usleep(100);
    return its_own->steps(self, top, job, err);
}

typedef struct {
    const sx_index *ix;
    const dataset *d;
    uint64_t *rows;
} getting;

static void *get_all(void *arg)
{
    const getting *g = arg;
    sx_column q = column(g->d->type, g->d->queries, g->d->q.data);
    sx_column out = column(SX_U64, g->d->queries, g->rows);
    return sx_get(g->ix, &q, &out, NULL) == SX_OK ? NULL : arg;
}

static void test_two_calls(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_I64, KEYS_DUPLICATES, 2500, ROWS_U64_SMALL, 300, &r);
    getting first = { .d = d, .rows = need(d->queries * 8) };
    getting second = { .d = d, .rows = need(d->queries * 8) };
    uint64_t before = sx_alloc_live();
    sx_device *dev = device_open(kernel_with("bucket=16,side=gpu"));
    pthread_t thread;
    void *failed = NULL;
    sx_index *ix = index_of(dev, d, "pivot place=hybrid");
    first.ix = second.ix = ix;
    atomic_store(&first_is_in, 0);
    atomic_store(&may_go_on, 0);
    its_own = dev->backend;
    waiting = *its_own;
    waiting.steps = wait_in_entry;
    dev->backend = &waiting;
    assert_int_equal(pthread_create(&thread, NULL, get_all, &first), 0);
    while (!atomic_load(&first_is_in))
        usleep(100);
    assert_null(get_all(&second));
    atomic_store(&may_go_on, 1);
    pthread_join(thread, &failed);
    assert_null(failed);
    dev->backend = its_own;
    assert_memory_equal(first.rows, d->get, d->queries * 8);
    assert_memory_equal(second.rows, d->get, d->queries * 8);
    sx_free(ix);
    sx_close(dev);
    assert_int_equal(sx_alloc_live(), before);
    free(first.rows);
    free(second.rows);
    data_free(d);
}

/* The CPU answers a batch of less than one bucket. */
static void test_small_batches(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with("bucket=30,side=gpu"));
    dataset *d = data_make(SX_U32, KEYS_RANDOM, 500, ROWS_U32, 200, &r);
    uint64_t rows[200];
    sx_index *ix = index_of(dev, d, "guide place=hybrid");
    stand_in(dev, OF_ENTRIES);
    for (uint64_t n = 0; n <= 100; n++) {
        sx_column q = column(d->type, n, d->q.data), out = column(SX_U64, n, rows);
        asked = 0;
        OK(sx_get(ix, &q, &out, NULL));
        assert_int_equal(asked, n >= 30 ? (n + 29) / 30 : 0);
        assert_memory_equal(rows, d->get, n * 8);
    }
    stand_back(dev);
    sx_free(ix);
    sx_close(dev);
    data_free(d);
}

/* ---- what can't be ---------------------------------------------------------------------------- */

static void test_refused(void **state)
{
    (void)state;
    uint64_t key[4] = { 9, 4, 3, 1 }, got[4];
    sx_column keys = column(SX_U64, 4, key), rows = column(SX_U64, 4, got), there;
    sx_device *dev = device_open(kernel_with("")), *cpu = device_open("cpu");
    sx_estimate_info e = { .size = sizeof e };
    sx_call call = { .size = sizeof call, .stream = (void *)2 };
    sx_kernel_view handle;
    sx_index *ix = NULL;
    for (unsigned p = 0; p < 2; p++) {
        const char *place = p ? "device" : "hybrid", *spec = placed("pivot", place);
        REFUSED(sx_build(&ix, cpu, spec, &keys, NULL, NULL), SX_ENOSYS, "needs a GPU");
        assert_non_null(strstr(sx_detail(), spec));
        assert_non_null(strstr(sx_detail(), "cpu"));
        REFUSED(estimate_of(cpu, spec, SX_U64, 1000, 0, &e), SX_ENOSYS, "needs a GPU");
        REFUSED(sx_build(&ix, cpu, placed("auto", place), &keys, NULL, NULL), SX_ENOSYS, "GPU");
    }
    OK(sx_build(&ix, cpu, "pivot place=host", &keys, NULL, NULL));
    sx_free(ix);
    ix = NULL;
    REFUSED(sx_build(&ix, dev, "sorted place=hybrid", &keys, NULL, NULL), SX_ENOSYS, "no upper part");
    REFUSED(estimate_of(dev, "sorted place=hybrid", SX_U64, 9, 0, &e), SX_ENOSYS, "no upper part");
    REFUSED(sx_build(&ix, dev, "pivot place=here", &keys, NULL, NULL), SX_EINVAL, "hybrid");
    REFUSED(sx_build(&ix, dev, "pivot place=host place=hybrid", &keys, NULL, NULL), SX_EINVAL,
            "repeated");
    assert_null(ix);
    OK(sx_column_new(&there, dev, SX_U64, 4));
    OK(sx_column_copy(&there, &keys, dev));
    REFUSED(sx_build(&ix, dev, "pivot place=hybrid", &there, NULL, &call), SX_ENOSYS, "stream");
    for (unsigned p = 0; p < 2; p++) {
        const char *place = p ? "host" : "hybrid";
        sx_column out;
        OK(sx_column_new(&out, dev, SX_U64, 5));
        OK(sx_build(&ix, dev, placed("pivot", place), &there, NULL, NULL));
        sx_ranges ranges = { .size = sizeof ranges, .lo = &there, .hi = &there };
        REFUSED(sx_get(ix, &there, &out, &call), SX_ENOSYS, place);
        REFUSED(sx_key_at(ix, &there, NULL, &out, &call), SX_ENOSYS, place);
        REFUSED(sx_range_count(ix, &ranges, &out, &call), SX_ENOSYS, place);
        REFUSED(sx_range(ix, &ranges, &out, NULL, NULL, &call), SX_ENOSYS, place);
        REFUSED(sx_kernel_handle(ix, &handle, sizeof handle), SX_ENOSYS, "not on a GPU");
        OK(sx_get(ix, &keys, &rows, NULL));
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(got[i], i);
        sx_free(ix);
        ix = NULL;
        sx_column_free(&out, dev);
    }
    sx_column_free(&there, dev);
    sx_close(dev);
    sx_close(cpu);
    REFUSED(sx_open(&dev, kernel_with("bucket=15")), SX_EINVAL, "bucket is 15");
    REFUSED(sx_open(&dev, kernel_with("bucket=many")), SX_EINVAL, "not a number");
}

/* ---- memory ----------------------------------------------------------------------------------- */

/* The bytes of the upper part, by the explanation. */
static uint64_t told_top(const sx_index *ix)
{
    char text[8000], *at;
    size_t bytes = sizeof text;
    OK(sx_explain(ix, SX_TEXT, text, &bytes));
    at = strstr(text, "the upper part on the device, ");
    assert_non_null(at);
    return strtoull(at + strlen("the upper part on the device, "), NULL, 10);
}

/* memory= that is too small for the upper part is an error with numbers. Memory for it and a
 * little for its way there is enough to build and to ask. */
static void test_little_memory(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    const uint64_t n = 200000;    /* so many are tried, and a pgm of them searched either way */
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        dataset *d = data_make(SX_U64, KEYS_RANDOM, n, ROWS_U64_WIDE, 300, &r);
        const char *spec = placed(specs[s], "hybrid");
        sx_device *dev = device_open(kernel_with(""));
        char options[64], words[64];
        sx_index *ix = index_of(dev, d, spec);
        uint64_t top = told_top(ix);
        sx_free(ix);
        ix = NULL;
        sx_close(dev);
        snprintf(options, sizeof options, "memory=%" PRIu64 ",bucket=32,side=gpu", top - 1);
        snprintf(words, sizeof words, "%" PRIu64 " bytes needed", top);
        dev = device_open(kernel_with(options));
        REFUSED(data_build(d, dev, spec, NULL, &ix), SX_ENOMEM, words);
        assert_non_null(strstr(sx_detail(), "memory= allows"));
        assert_null(ix);
        sx_close(dev);
        snprintf(options, sizeof options, "memory=%" PRIu64 ",bucket=32,side=gpu",
                 top + (1u << 20));
        dev = device_open(kernel_with(options));
        ix = index_of(dev, d, spec);
        ask_beside(NULL, ix, d, "the top, and hardly anything else");
        sx_free(ix);
        sx_close(dev);
        data_free(d);
    }
}

/* A device with exactly the estimated memory is enough for an index. */
static void capped_build(const dataset *d, const char *spec, const char *place, uint64_t bytes)
{
    char options[64];
    snprintf(options, sizeof options, "memory=%" PRIu64, bytes);
    sx_device *capped = device_open(kernel_with(options));
    sx_index *ix = index_of(capped, d, placed(spec, place));
    sx_free(ix);
    sx_close(capped);
}

static void test_estimates(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        dataset *d = data_make(SX_U32, KEYS_RANDOM, 5000, ROWS_U32, 10, &r);
        sx_device *dev = device_open(kernel_with("")), *cpu = device_open("cpu");
        sx_estimate_info e = { .size = sizeof e }, host = e, there = e, plain = e;
        sx_index_info info = { .size = sizeof info };
        OK(estimate_of(dev, placed(specs[s], "hybrid"), SX_U32, 5000, SX_U32, &e));
        OK(estimate_of(dev, placed(specs[s], "host"), SX_U32, 5000, SX_U32, &host));
        OK(estimate_of(dev, placed(specs[s], "device"), SX_U32, 5000, SX_U32, &there));
        OK(estimate_of(cpu, specs[s], SX_U32, 5000, SX_U32, &plain));
        assert_memory_equal(&host, &plain, sizeof host);
        assert_int_equal(host.device_peak, 0);
        assert_true(e.host_resident >= host.host_resident && e.host_peak >= host.host_peak);
        assert_true(e.device_resident > 0 && e.device_peak >= e.device_resident);
        assert_true(e.device_resident < there.device_resident);
        capped_build(d, specs[s], "hybrid", e.device_peak);
        capped_build(d, specs[s], "device", there.device_peak);
        sx_index *ix = index_of(dev, d, placed(specs[s], "hybrid"));
        OK(sx_describe(ix, &info));
        assert_true(info.bytes <= e.host_resident);
        assert_true(told_top(ix) <= e.device_resident);
        sx_free(ix);
        sx_close(dev);
        sx_close(cpu);
        data_free(d);
    }
}

/* ---- files ------------------------------------------------------------------------------------ */

/* The file is the same as a CPU's, and says nothing of places. */
static void test_files(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with("bucket=16,side=gpu")), *cpu = device_open("cpu");
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        dataset *d = data_make(key_types[s % COUNT_OF(key_types)], KEYS_DUPLICATES, 1500,
                               (row_kind)(s % ROWS_KINDS), 200, &r);
        sx_index *hybrid = index_of(dev, d, placed(specs[s], "hybrid"));
        sx_index *plain = index_of(cpu, d, specs[s]);
        check_file(asking, dev, hybrid, plain, d);
        sx_free(plain);
        sx_free(hybrid);
        data_free(d);
    }
    sx_close(dev);
    sx_close(cpu);
}

/* ---- auto, and places that the spec names ------------------------------------------------ */

/* Builds an index that has these words in its explanation, and answers right (with NULL: only
 * with host columns). */
static void built_so(sx_device *dev, sx_device *with, const dataset *d, const char *spec,
                     const char *text, const char *json)
{
    sx_index *ix = index_of(dev, d, spec);
    explained(ix, text, json);
    ask_beside(with, ix, d, spec);
    sx_free(ix);
}

static void test_auto(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, kernel_is_gpu() ? 400000 : 4000, ROWS_U32, 200, &r);
    /* There is space for the upper part, but not for the index. */
    sx_device *small = device_open(kernel_with(kernel_is_gpu()
                                                   ? "memory=4MiB,bucket=16,side=gpu"
                                                   : "memory=20000,bucket=16,side=gpu"));
    sx_device *tiny = device_open(kernel_with("memory=256"));
    sx_device *large = device_open(kernel_with("bucket=16,side=gpu"));
    sx_estimate_info e = { .size = sizeof e };
    sx_index_info info = { .size = sizeof info };
    static const char *const purposes[] = { "auto", "auto(for=point)", "auto(for=memory)" };
    for (unsigned i = 0; i < COUNT_OF(purposes); i++) {
        OK(estimate_of(small, purposes[i], SX_U64, d->n, SX_U32, &e));
        assert_true(e.host_resident > d->n * 12 && e.device_resident > 0);
        sx_index *ix = index_of(small, d, purposes[i]);
        OK(sx_describe(ix, &info));
        assert_non_null(strstr(info.spec, "place=hybrid"));
        explained(ix, "would take up to", "\"place\": \"hybrid\"");
        ask_beside(NULL, ix, d, purposes[i]);
        sx_free(ix);
        ix = NULL;                /* a place that the spec names is not changed */
        REFUSED(data_build(d, small, placed(purposes[i], "device"), NULL, &ix), SX_ENOMEM,
                "memory=");
        assert_null(ix);
        built_so(tiny, NULL, d, purposes[i], "alone, as its upper part", "\"place\": \"host\"");
        ix = index_of(large, d, purposes[i]);
        OK(sx_describe(ix, &info));
        assert_null(strstr(info.spec, "place="));
        explained(ix, "place    device\n", "\"place\": \"device\"");
        sx_free(ix);
        built_so(large, large, d, placed(purposes[i], "hybrid"), "place    hybrid",
                 "\"device_bytes\"");
        built_so(small, NULL, d, placed(purposes[i], "host"), "place    host\n",
                 "\"place\": \"host\"");
    }
    sx_close(tiny);
    sx_close(small);
    sx_close(large);
    data_free(d);
}

static void test_explained(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 3000, ROWS_U32, 10, &r);
    sx_device *dev = device_open(kernel_with("")), *cpu = device_open("cpu");
    built_so(dev, dev, d, "pivot place=hybrid", "bytes, on the host and on the device\n",
             "\"name\": \"keys\"");
    built_so(dev, dev, d, "eytzinger(k=5) place=hybrid", "also on the device\n",
             "\"device_bytes\": 0}");
    built_so(cpu, NULL, d, "pivot", "place    host\n", "\"place\": \"host\"");
    sx_close(dev);
    sx_close(cpu);
    data_free(d);
}

/* Indexes too small for an upper part can be hybrid, too. */
static void test_tiny(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with("bucket=16,side=gpu"));
    for (size_t s = 0; s < COUNT_OF(specs); s++)
        for (uint64_t n = 0; n < 40; n += 1 + n / 8) {
            dataset *d = data_make(SX_I32, KEYS_RANDOM, n, (row_kind)(n % ROWS_KINDS), 60, &r);
            sx_index *ix = index_of(dev, d, placed(specs[s], "hybrid"));
            ask_beside(dev, ix, d, specs[s]);
            sx_free(ix);
            data_free(d);
        }
    sx_close(dev);
}

/* ---- whether the GPU is asked -------------------------------------------------------- */

static const sx_backend *host_backend;
static uint64_t entered_ns, plain_ns;

static sx_status timed_lookup(void *self, const sx_views *v, const sx_lookup *job, sx_err *err)
{
    clock_move(job->n * (job->entry ? entered_ns : plain_ns));
    return host_backend->lookup(self, v, job, err);
}

/* Entries that make answers slower on this host are not asked for, whatever the model
 * says; entries that make them faster are. */
static void test_gain(void **state)
{
    (void)state;
    static const struct {
        uint64_t plain, entered;
        bool asked;
    } cases[] = { { 300, 100, true }, { 100, 99, false }, { 100, 300, false } };
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 9000, ROWS_U32, 500, &r);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        sx_device *dev = device_open(kernel_with("bucket=64")), *host;
        sx_backend table;
        sx_err err;
        assert_int_equal(sx_device_host(dev, &host, &err), SX_OK);
        host_backend = host->backend;
        table = *host_backend;
        table.lookup = timed_lookup;
        host->backend = &table;
        plain_ns = cases[i].plain;
        entered_ns = cases[i].entered;
        clock_stop();
        sx_index *ix = index_of(dev, d, "pivot place=hybrid");
        clock_go();
        host->backend = host_backend;
        stand_in(dev, OF_ENTRIES);
        ask_beside(NULL, ix, d, "after a trial");
        if ((atomic_load(&asked) > 0) != cases[i].asked)
            fail_msg("case %zu: the GPU was asked %u times; gain %.2f", i, atomic_load(&asked),
                     now_of(ix)->cost.entries.gain);
        stand_back(dev);
        sx_free(ix);
        sx_close(dev);
    }
    data_free(d);
}

/* An index that is in the host's caches has no use for entries, whatever the model says. */
static void test_small_index(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 3000, ROWS_U32, 500, &r);
    sx_device *dev = device_open(kernel_with("bucket=64"));
    sx_index *ix = index_of(dev, d, "pivot place=hybrid");
    explained(ix, "answers  the CPU alone", "\"entered_from\": null");
    stand_in(dev, OF_ENTRIES);
    ask_beside(NULL, ix, d, "a small index");
    assert_int_equal(asked, 0);
    stand_back(dev);
    sx_free(ix);
    sx_close(dev);
    data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_closed_before),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_failing_gpu),
        cmocka_unit_test(test_two_calls),
        cmocka_unit_test(test_small_batches),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_explained),
        cmocka_unit_test(test_tiny),
        cmocka_unit_test(test_gain),
        cmocka_unit_test(test_small_index),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("hybrid", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
