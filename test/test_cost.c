/* test_cost.c - which side answers: the model with made-up numbers, the numbers that are
 * measured, and indexes on both sides (place=both). */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "on_device.h"
#include "inside.h"
#include "stand_in.h"

static asker *asking;

/* ---- the model ------------------------------------------------------------------------ */

/* A GPU behind a bus, and 16 threads. */
static sx_cost made_up(void)
{
    return (sx_cost){
        .travel = { .direct_bytes = 128 << 10, .chunk = 1 << 18, .channel_bytes = 16 << 20,
                    .sample = 1 << 20 },
        .link = { .direct_ns = 12e3, .direct_byte_ns = 0.05, .staged_ns = 40e3,
                  .in_ns = { 0.06, 0.02 }, .out_ns = { 0.06, 0.02 },
                  .chunk = { { 128e3, 55e3 }, { 512e3, 100e3 }, { 2e6, 200e3 },
                             { 4.2e6, 400e3 } } },
        .cpu = { .call_ns = 200, .query_ns = 40, .pool_ns = 10e3, .pooled_ns = 4, .threads = 16,
                 .share = 2048, .at_part = 0.5 },
        .gpu = { .call_ns = 3e3, .query_ns = 0.1 },
        .entries = { .call_ns = 50e3, .query_ns = 0.5, .entered_ns = 2, .gain = 2 },
        .measured = 1,
    };
}

static sx_batch batch_of(uint64_t n)
{
    return (sx_batch){ .n = n, .in_bytes = 8, .out_bytes = 8, .searches = 1, .trips = 1 };
}

static void test_times_ascend(void **state)
{
    (void)state;
    sx_cost c = made_up();
    for (unsigned variant = 0; variant < 8; variant++) {
        double cpu = 0, gpu = 0;
        for (uint64_t n = 1; n < 1ull << 34; n += n / 5 + 1) {
            sx_batch b = batch_of(n);
            b.pinned = variant & 1;
            b.searches = variant & 2 ? 2 : 1;
            b.threads = variant & 4 ? 1 : 0;
            double now = sx_cost_of_cpu(&c, &b);
            /* one more thread may make it less */
            assert_true(now >= cpu || n >= 2 * c.cpu.share);
            assert_true(isfinite(now) && now > 0);
            cpu = now;
            now = sx_cost_of_gpu(&c, &b);
            assert_true(isfinite(now) && now > 0 && now >= gpu);
            gpu = now;
        }
    }
}

/* Chunks overlap: many take less than the sum of each alone, and not less than the
 * slowest part of their way. */
static void test_chunks_overlap(void **state)
{
    (void)state;
    sx_cost c = made_up();
    sx_batch one = batch_of(1 << 18), many = batch_of(1 << 24);
    double alone = sx_cost_of_gpu(&c, &one) - c.gpu.call_ns;
    double all = sx_cost_of_gpu(&c, &many) - c.gpu.call_ns;
    assert_true(all < 64 * alone);
    assert_true(all > (double)many.n * 8 * (c.link.in_ns[0] + c.link.out_ns[0]));
    many.pinned = 1;
    double pinned = sx_cost_of_gpu(&c, &many) - c.gpu.call_ns;
    assert_true(pinned < all && pinned > (double)many.n * 8 * c.link.in_ns[1]);
}

static void check_crossover(const sx_cost *c, const sx_batch *like)
{
    uint64_t n = sx_cost_crossover(c, like);
    sx_batch b = *like;
    assert_true(n > 0);
    b.n = n;
    assert_int_equal(sx_cost_side(c, &b), SX_SIDE_GPU);
    assert_true(sx_cost_of_gpu(c, &b) < sx_cost_of_cpu(c, &b));
    for (b.n = n - 1; b.n > 0; b.n = b.n * 7 / 8)
        assert_int_equal(sx_cost_side(c, &b), SX_SIDE_CPU);
}

static void test_crossover(void **state)
{
    (void)state;
    sx_cost c = made_up();
    sx_batch b = batch_of(0);
    uint64_t usual = sx_cost_crossover(&c, &b), last = 0;
    check_crossover(&c, &b);
    /* by hand: 12000 + 3000 + n (16 * 0.05 + 0.1) < 200 + 40 n */
    assert_int_equal(usual, (uint64_t)(14800 / 39.1) + 1);
    for (double fixed = 1e3; fixed < 1e6; fixed *= 1.3) {  /* a dearer call: later */
        c.link.direct_ns = fixed;
        c.link.staged_ns = fixed * 2;
        for (unsigned i = 0; i < SX_LINK_POINTS; i++)
            c.link.chunk[i].ns = fixed * (2 + i) + 50e3 * i;
        uint64_t n = sx_cost_crossover(&c, &b);
        assert_true(n >= last);
        check_crossover(&c, &b);
        last = n;
    }
    c = made_up();
    last = UINT64_MAX;
    for (double each = 5; each < 1000; each *= 1.4) {      /* a slower CPU: sooner */
        c.cpu.query_ns = each;
        c.cpu.pooled_ns = each / 8;
        uint64_t n = sx_cost_crossover(&c, &b);
        assert_true(n <= last);
        check_crossover(&c, &b);
        last = n;
    }
    c = made_up();
    c.cpu.query_ns = c.cpu.pooled_ns = 0.01;               /* never */
    assert_int_equal(sx_cost_crossover(&c, &b), 0);
    c = made_up();
    c.link.direct_ns = c.gpu.call_ns = 1e-3;               /* always */
    assert_int_equal(sx_cost_crossover(&c, &b), 1);
    c = made_up();
    b.searches = 2;                                        /* more work, the same way */
    assert_true(sx_cost_crossover(&c, &b) < usual);
    b.searches = 0;
    assert_true(sx_cost_crossover(&c, &b) > usual);
    b = batch_of(0);
    b.trips = 3;
    assert_true(sx_cost_crossover(&c, &b) > 2 * usual);
}

static void test_told_side(void **state)
{
    (void)state;
    sx_cost c = made_up();
    for (uint32_t side = SX_SIDE_CPU; side <= SX_SIDE_GPU; side++)
        for (uint64_t n = 1; n < 1ull << 40; n *= 3) {
            sx_batch b = batch_of(n);
            c.side = side;
            assert_int_equal(sx_cost_side(&c, &b), side);
        }
    sx_batch b = batch_of(0);
    assert_int_equal(sx_cost_crossover(&c, &b), 1);
    c.side = SX_SIDE_CPU;
    assert_int_equal(sx_cost_crossover(&c, &b), 0);
}

static void test_threads_count(void **state)
{
    (void)state;
    sx_cost c = made_up();
    double last = INFINITY;
    for (uint32_t threads = 1; threads <= 16; threads++) {
        sx_batch b = batch_of(1 << 20);
        b.threads = threads;
        double now = sx_cost_of_cpu(&c, &b);
        /* One more thread, which memory does not need, is only woken. */
        assert_true(now <= last + c.cpu.pool_ns / c.cpu.threads * 1.001);
        last = now;
    }
    sx_batch all = batch_of(1 << 20);
    assert_true(sx_cost_of_cpu(&c, &all) == last);
}

static void test_entries_pay(void **state)
{
    (void)state;
    sx_cost c = made_up();
    sx_batch b = batch_of(1 << 20);
    assert_true(sx_cost_entries_pay(&c, &b, 1 << 20, 1));    /* in buckets of 2^17 */
    c.entries.least = b.n + 1;                               /* smaller ones did not gain */
    assert_false(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    c.entries.least = b.n;
    assert_true(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    b.n = 1 << 14;                                           /* a trip takes longer */
    c.entries.least = 0;
    assert_false(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    c.entries.call_ns = 1e3;                                 /* it does not, and */
    c.cpu.query_ns = c.cpu.pooled_ns = 40;                   /* one thread is slow */
    assert_true(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    b.n = 8192;
    assert_true(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    b.n = 8191;
    assert_false(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    c = made_up();
    b.n = 1 << 26;
    assert_true(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    c.entries.entered_ns = 5;                                 /* they make it slower */
    for (b.threads = 0; b.threads < 17; b.threads++)       /* whoever answers */
        assert_false(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    b.threads = 0;
    c = made_up();
    c.entries.gain = 1.04;                                   /* tried, it did not pay */
    assert_false(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    c.side = SX_SIDE_GPU;
    assert_true(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    b.n = 16;
    assert_false(sx_cost_entries_pay(&c, &b, 17, 1));
    assert_true(sx_cost_entries_pay(&c, &b, 16, 1));
    assert_true(sx_cost_entries_pay(&c, &b, 32, 2));         /* of each column 16 */
    c = made_up();
    b.n = 1 << 26;
    c.entries.query_ns = 100;                                /* a slow GPU */
    assert_false(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    c.entries.query_ns = 0.5;
    c.side = SX_SIDE_CPU;
    assert_false(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    c = made_up();
    c.entries.query_ns = 5;                                  /* a slower one, of which the CPU */
    c.entries.call_ns = 1e3;                                 /* answers a part alone */
    assert_false(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    c.entries.balance.own = 400;
    assert_true(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    c.entries.entered_ns = 4;                                /* which the others do not wait for */
    assert_false(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    c = made_up();
    c.entries.query_ns = 100;                                /* a slow GPU, by the model, */
    c.entries.gain = 1.2;                                    /* which gained when it was tried */
    c.entries.least = b.n = 1 << 26;
    b.threads = 0;
    assert_true(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
    b.n--;
    assert_false(sx_cost_entries_pay(&c, &b, 1 << 20, 1));
}

/* ---- numbers that are measured --------------------------------------------------------- */

static void sane(double x)
{
    if (!isfinite(x) || x <= 0 || x > 1e15)
        fail_msg("%g is no time", x);
}

static void sane_cost(const sx_cost *c)
{
    const double all[] = {
        c->link.direct_ns, c->link.direct_byte_ns, c->link.staged_ns, c->link.in_ns[0],
        c->link.in_ns[1], c->link.out_ns[0], c->link.out_ns[1], c->cpu.call_ns, c->cpu.query_ns,
        c->cpu.pool_ns, c->cpu.pooled_ns, c->cpu.at_part, c->gpu.call_ns, c->gpu.query_ns,
        c->entries.call_ns, c->entries.query_ns, c->entries.entered_ns,
    };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        sane(all[i]);
    for (unsigned i = 0; i < SX_LINK_POINTS; i++) {
        sane(c->link.chunk[i].ns);
        sane(c->link.chunk[i].bytes);
        assert_true(i == 0 || (c->link.chunk[i].bytes > c->link.chunk[i - 1].bytes &&
                               c->link.chunk[i].ns >= c->link.chunk[i - 1].ns));
    }
    assert_true(c->cpu.threads > 0 && c->cpu.share > 0);
    for (uint64_t n = 1; n < 1ull << 30; n *= 2) {
        sx_batch b = batch_of(n);
        sane(sx_cost_of_cpu(c, &b));
        sane(sx_cost_of_gpu(c, &b));
    }
}

/* Few keys are not measured, many are; the device is, once. */
static void test_measured(void **state)
{
    (void)state;
    static const char *const specs[] = { "pivot place=both", "guide place=hybrid",
                                         "sorted place=both", "eytzinger place=hybrid" };
    static const uint64_t sizes[] = { 0, 1, 3000, 20000 };
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with(""));
    sx_link first = { 0 };
    for (size_t n = 0; n < COUNT_OF(sizes); n++)
        for (size_t s = 0; s < COUNT_OF(specs); s++) {
            dataset *d = data_make(key_types[(n + s) % COUNT_OF(key_types)], KEYS_RANDOM, sizes[n],
                                   ROWS_U32, 50, &r);
            begin_step("%s of %llu", specs[s], (unsigned long long)sizes[n]);
            sx_index *ix = index_of(dev, d, specs[s]);
            assert_int_equal(now_of(ix)->cost.measured, sizes[n] > 8192);
            sane_cost(&now_of(ix)->cost);
            assert_true(dev->link_known);
            if (n == 0 && s == 0)
                first = now_of(ix)->cost.link;
            assert_memory_equal(&now_of(ix)->cost.link, &first, sizeof first);
            explained(ix, now_of(ix)->cost.measured ? "cost     measured" : "usual numbers",
                      sx_run_place(run_of(ix)) == SX_PLACE_BOTH ? "\"crossover\": "
                                                                : "\"entered_from\": ");
            explained(ix, "answers  the CPU", "\"direct_ns\": ");
            sx_free(ix);
            data_free(d);
        }
    sx_close(dev);
}

/* ---- who is asked ------------------------------------------------------------------------ */

/* How many questions of host columns went to the GPU. */
static unsigned asked_gpu(sx_device *dev, const sx_index *ix, const dataset *d, const char *what)
{
    stand_in(dev, OF_QUESTIONS);
    ask_all(asking, NULL, ix, d, what);
    stand_back(dev);
    return asked;
}

static const char *const both_specs[] = {
    "pivot place=both", "sorted place=both", "guide(pieces=3) place=both",
    "eytzinger(k=4,layout=pairs) place=both", "pgm place=both", "auto place=both",
};

/* Either side answers every question right, and so do both. */
static void test_both_sides(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    for (size_t s = 0; s < COUNT_OF(both_specs); s++)
        for (unsigned side = 0; side < 3; side++) {
            static const char *const told[] = { "", "side=cpu", "side=gpu" };
            sx_device *dev = device_open(kernel_with(told[side]));
            dataset *d = data_make(key_types[(s + side) % COUNT_OF(key_types)],
                                   s % 2 ? KEYS_DUPLICATES : KEYS_RANDOM, 2000,
                                   (row_kind)(s % ROWS_KINDS), 300, &r);
            sx_index_info info = { .size = sizeof info };
            sx_index *ix = index_of(dev, d, both_specs[s]);
            OK(sx_describe(ix, &info));
            assert_non_null(strstr(info.spec, " place=both"));
            ask_all(asking, dev, ix, d, both_specs[s]);
            unsigned of_gpu = asked_gpu(dev, ix, d, both_specs[s]);
            assert_true(side == 0 || (of_gpu > 0) == (side == 2));
            explained(ix, side == 1   ? "answers  the CPU, as the device's name says"
                          : side == 2 ? "answers  the GPU, as the device's name says"
                                      : "answers  the CPU", "\"place\": \"both\"");
            explained(ix, "on the device, and as many on the host",
                      side == 1   ? "\"below\": \"cpu\", \"above\": \"cpu\""
                      : side == 2 ? "\"below\": \"gpu\", \"above\": \"gpu\""
                                  : "\"below\": \"cpu\"");
            OK(sx_check(ix, NULL));
            sx_close(dev);        /* first: the index keeps it open */
            sx_free(ix);
            data_free(d);
        }
}

/* Batches below the crossover are the CPU's, those from there on the GPU's. */
static void test_threshold(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with(""));
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 1000, ROWS_U32, 400, &r);
    uint64_t rows[400];
    sx_batch like = batch_of(0);
    sx_index *ix = index_of(dev, d, "pivot place=both");
    now_of(ix)->cost = made_up();
    now_of(ix)->cost.link.direct_ns = 0.1;
    now_of(ix)->cost.gpu.call_ns = 5000;
    uint64_t from = sx_cost_crossover(&now_of(ix)->cost, &like);
    assert_in_range(from, 20, 300);
    stand_in(dev, OF_QUESTIONS);
    for (uint64_t n = 1; n <= 400; n += 1 + n / 100) {
        sx_column q = column(d->type, n, d->q.data), out = column(SX_U64, n, rows);
        asked = 0;
        OK(sx_get(ix, &q, &out, NULL));
        assert_int_equal(asked, n >= from);
        assert_memory_equal(rows, d->get, n * 8);
    }
    stand_back(dev);
    sx_free(ix);
    sx_close(dev);
    data_free(d);
}

/* Columns that need no copy go to the GPU where others go to the CPU. */
static void test_pinned_columns(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with(""));
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 1000, ROWS_U32, 400, &r);
    uint64_t rows[400];
    sx_batch pageable = batch_of(400), pinned = pageable;
    sx_index *ix = index_of(dev, d, "pivot place=both");
    sx_column q = column(d->type, 400, d->q.data), out = column(SX_U64, 400, rows);
    pinned.pinned = 1;
    now_of(ix)->cost = made_up();
    now_of(ix)->cost.travel.direct_bytes = 0;
    now_of(ix)->cost.link.staged_ns = now_of(ix)->cost.gpu.call_ns = 1;
    assert_int_equal(sx_cost_side(&now_of(ix)->cost, &pageable), SX_SIDE_CPU);
    assert_int_equal(sx_cost_side(&now_of(ix)->cost, &pinned), SX_SIDE_GPU);
    stand_in(dev, OF_QUESTIONS);
    for (unsigned i = 0; i < 2; i++) {
        all_pinned = i;
        asked = 0;
        OK(sx_get(ix, &q, &out, NULL));
        assert_int_equal(asked, i);
        assert_memory_equal(rows, d->get, sizeof rows);
    }
    stand_back(dev);
    sx_free(ix);
    sx_close(dev);
    data_free(d);
}

/* A batch that a GPU has no memory for goes to the CPU; a failure of the GPU does not. */
static void test_other_side(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with("side=gpu"));
    dataset *d = data_make(SX_U64, KEYS_DUPLICATES, 1000, ROWS_U32, 200, &r);
    uint64_t *rows = need(d->queries * 8);
    sx_column q = column(d->type, d->queries, d->q.data);
    sx_column out = column(SX_U64, d->queries, rows), there;
    sx_index *ix = index_of(dev, d, "pivot place=both");
    OK(sx_column_new(&there, dev, SX_U64, d->queries));
    stand_in(dev, OF_QUESTIONS);
    fail_with = SX_ENOMEM;
    OK(sx_get(ix, &q, &out, NULL));
    assert_memory_equal(rows, d->get, d->queries * 8);
    ask_all(asking, NULL, ix, d, "without memory");
    REFUSED(sx_get(ix, &q, &there, NULL), SX_ENOMEM, "told to fail");
    fail_with = SX_EDEVICE;
    REFUSED(sx_get(ix, &q, &out, NULL), SX_EDEVICE, "told to fail");
    stand_back(dev);
    sx_column_free(&there, dev);
    sx_free(ix);
    sx_close(dev);
    free(rows);
    data_free(d);
}

/* Columns in device memory, or on a stream, go to the device, whatever side= says. */
static void test_device_columns(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with("side=cpu"));
    dataset *d = data_make(SX_I64, KEYS_RANDOM, 700, ROWS_U32, 100, &r);
    sx_column q = column(d->type, d->queries, d->q.data), there, out;
    sx_kernel_view handle;
    uint64_t *rows = need(d->queries * 8);
    sx_column back = column(SX_U64, d->queries, rows);
    sx_index *ix = index_of(dev, d, "pivot place=both");
    OK(sx_kernel_handle(ix, &handle, sizeof handle));
    OK(sx_column_new(&there, dev, d->type, d->queries));
    OK(sx_column_new(&out, dev, SX_U64, d->queries));
    OK(sx_column_copy(&there, &q, dev));
    stand_in(dev, OF_QUESTIONS);
    for (unsigned way = 0; way < 4; way++) {
        sx_call call = { .size = sizeof call, .stream = way == 3 ? (void *)2 : NULL };
        sx_column *to = way == 1 ? &back : &out;
        asked = 0;
        OK(sx_get(ix, way == 0 ? &q : &there, to, &call));
        assert_int_equal(asked, 1);
        if (way != 1)
            OK(sx_column_copy(&back, &out, dev));
        assert_memory_equal(rows, d->get, d->queries * 8);
        memset(rows, 0, d->queries * 8);
    }
    asked = 0;
    OK(sx_get(ix, &q, &back, NULL));
    assert_int_equal(asked, 0);
    stand_back(dev);
    sx_column_free(&there, dev);
    sx_column_free(&out, dev);
    sx_free(ix);
    sx_close(dev);
    free(rows);
    data_free(d);
}

/* ---- memory, files, damage ----------------------------------------------------------------- */

static void test_estimates(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with("")), *cpu = device_open("cpu");
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 4000, ROWS_U32, 10, &r);
    for (size_t s = 0; s < COUNT_OF(both_specs); s++) {
        sx_estimate_info both = { .size = sizeof both }, there = both;
        sx_index_info info = { .size = sizeof info };
        sx_call call = { .size = sizeof call };
        char plain[SX_SPEC_MAX];
        sx_index *ix = NULL;
        snprintf(plain, sizeof plain, "%s", both_specs[s]);
        *strstr(plain, " place=") = '\0';
        OK(estimate_of(dev, both_specs[s], SX_U64, d->n, SX_U32, &both));
        OK(estimate_of(dev, plain, SX_U64, d->n, SX_U32, &there));
        assert_int_equal(both.device_resident, there.device_resident);
        assert_true(both.device_peak >= there.device_peak);
        assert_true(both.host_resident >= there.host_resident + there.device_resident);
        assert_true(both.host_peak >= both.host_resident);
        call.max_bytes = both.host_peak + both.device_peak;
        OK(data_build(d, dev, both_specs[s], &call, &ix));
        OK(sx_describe(ix, &info));
        assert_true(info.bytes <= both.device_resident && info.bytes <= both.host_resident);
        sx_free(ix);
        ix = NULL;
        call.max_bytes--;
        REFUSED(data_build(d, dev, both_specs[s], &call, &ix), SX_ENOMEM, "max_bytes");
        REFUSED(data_build(d, cpu, both_specs[s], NULL, &ix), SX_ENOSYS, "place=both needs a GPU");
        REFUSED(estimate_of(cpu, both_specs[s], SX_U64, 9, 0, &both), SX_ENOSYS, "needs a GPU");
        assert_null(ix);
    }
    REFUSED(sx_open(&dev, kernel_with("side=tpu")), SX_EINVAL, "side is 'tpu'; allowed: cpu, gpu");
    sx_close(dev);
    sx_close(cpu);
    data_free(d);
}

/* The file is that of the device's index, and loads into every place. */
static void test_files(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with(""));
    dataset *d = data_make(SX_U32, KEYS_DUPLICATES, 1500, ROWS_U32, 200, &r);
    sx_index *both = index_of(dev, d, "guide place=both"), *plain = index_of(dev, d, "guide");
    check_file(asking, dev, both, plain, d);
    sx_free(plain);
    sx_free(both);
    sx_close(dev);
    data_free(d);
}

static void test_damaged_copy(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with(""));
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 1500, ROWS_U32, 20, &r);
    sx_index *ix = index_of(dev, d, "pivot place=both");
    OK(sx_check(ix, NULL));
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        unsigned char *byte = replica_of(ix, 1)->base[kind];
        if (!byte)
            continue;
        *byte ^= 1;
        REFUSED(sx_check(ix, NULL), SX_ECORRUPT, sx_section_name(view_of(ix), kind));
        *byte ^= 1;
    }
    OK(sx_check(ix, NULL));
    sx_free(ix);
    sx_close(dev);
    data_free(d);
}

/* Without memory for measuring a build succeeds; if the GPU fails, it does not. */
static void test_failing_measurements(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 10000, ROWS_U32, 60, &r);
    for (unsigned p = 0; p < 2; p++)
        for (unsigned fails = 0; fails < 2; fails++) {
            sx_device *dev = device_open(kernel_with(""));
            const char *spec = p ? "pivot place=hybrid" : "pivot place=both";
            sx_index *ix = NULL;
            stand_in(dev, OF_QUESTIONS);
            fail_with = fails ? SX_EDEVICE : SX_ENOMEM;
            if (fails) {
                REFUSED(data_build(d, dev, spec, NULL, &ix), SX_EDEVICE, "told to fail");
                assert_null(ix);
            } else {
                ix = index_of(dev, d, spec);
                assert_false(dev->link_known);
                sane_cost(&now_of(ix)->cost);
            }
            stand_back(dev);
            if (ix) {
                asking->no_streams = p;
                ask_all(asking, dev, ix, d, spec);
                asking->no_streams = false;
            }
            sx_free(ix);
            sx_close(dev);
        }
    data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_ascend),
        cmocka_unit_test(test_chunks_overlap),
        cmocka_unit_test(test_crossover),
        cmocka_unit_test(test_told_side),
        cmocka_unit_test(test_threads_count),
        cmocka_unit_test(test_entries_pay),
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_both_sides),
        cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_pinned_columns),
        cmocka_unit_test(test_other_side),
        cmocka_unit_test(test_device_columns),
        cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_damaged_copy),
        cmocka_unit_test(test_failing_measurements),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("cost", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
