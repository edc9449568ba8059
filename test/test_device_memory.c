/* test_device_memory.c - where the memory of a device comes from, and what
 * happens when there is none: an allocator of the caller's, memory=, and every
 * piece of memory refused once. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "on_device.h"

static asker *asking;

/* ---- the caller's allocator ------------------------------------------------------------ */

#define BLOCKS 20000

/* Blocks are columns of another device on the same GPU. What comes back is
 * kept until the end: streams may not be done with it. */
typedef struct {
    sx_device *source;
    sx_column block[BLOCKS];
    bool given[BLOCKS];
    unsigned taken, live;
    unsigned fail_at, failed;     /* the so manieth from now fails; ... */
    bool fail_on;                 /* ... and all behind it */
    bool wrong;
} blocks;

static void *take(void *context, uint64_t bytes, void *stream)
{
    blocks *b = context;
    (void)stream;
    if (b->fail_at && --b->fail_at == 0) {
        b->failed++;
        b->fail_at = b->fail_on;
        return NULL;
    }
    if (b->taken == BLOCKS || bytes == 0 ||
        sx_column_new(&b->block[b->taken], b->source, SX_U64, (bytes + 7) / 8) != SX_OK)
        die("memory for the allocator");
    b->live++;
    return b->block[b->taken++].data;
}

static void give(void *context, void *block, void *stream)
{
    blocks *b = context;
    unsigned i = 0;
    (void)stream;
    while (i < b->taken && (b->block[i].data != block || b->given[i]))
        i++;
    b->wrong |= i == b->taken;
    if (i < b->taken) {
        b->given[i] = true;
        b->live--;
    }
}

static blocks *blocks_new(void)
{
    blocks *b = need(sizeof *b);
    *b = (blocks){ .source = device_open(kernel_with("")) };
    return b;
}

static void blocks_free(blocks *b)
{
    assert_false(b->wrong);
    assert_int_equal(b->live, 0);
    for (unsigned i = 0; i < b->taken; i++)
        sx_column_free(&b->block[i], b->source);
    sx_close(b->source);
    free(b);
}

static sx_device *open_with(blocks *b)
{
    sx_device *dev = device_open(kernel_with(""));
    sx_allocator from = { sizeof from, take, give, b };
    OK(sx_device_allocator(dev, &from));
    return dev;
}

static void test_allocator(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    for (size_t s = 0; s < DEVICE_SPECS; s++) {
        dataset *d = data_make(device_widths[s % 3], KEYS_DUPLICATES, 900, (row_kind)s, 300, &r);
        blocks *b = blocks_new();
        sx_device *dev = open_with(b);
        sx_index *ix = NULL;
        OK(data_build(d, dev, device_specs[s], NULL, &ix));
        assert_true(b->taken > 0);
        ask_all(asking, dev, ix, d, device_specs[s]);
        sx_close(dev);            /* the index holds it */
        asker *host = asker_new();
        const char *wrong = ask(host, ix, d, SX_U64, NULL);
        if (wrong)
            fail_msg("%s, closed: %s", device_specs[s], wrong);
        asker_free(host);
        sx_free(ix);
        blocks_free(b);
        data_free(d);
    }
}

static void test_allocator_refused(void **state)
{
    (void)state;
    sx_device *dev = device_open(kernel_with("")), *cpu = device_open("cpu");
    blocks *b = blocks_new();
    sx_allocator good = { sizeof good, take, give, b }, bad = good;
    uint32_t key[1] = { 5 };
    sx_column keys = column(SX_U32, 1, key);
    sx_index *ix = NULL;
    REFUSED(sx_device_allocator(NULL, &good), SX_EINVAL, "device is NULL");
    REFUSED(sx_device_allocator(dev, NULL), SX_EINVAL, "allocator is NULL");
    bad.size = 8;
    REFUSED(sx_device_allocator(dev, &bad), SX_EINVAL, "is 8");
    bad = good;
    bad.take = NULL;
    REFUSED(sx_device_allocator(dev, &bad), SX_EINVAL, "take() is NULL");
    bad = good;
    bad.give = NULL;
    REFUSED(sx_device_allocator(dev, &bad), SX_EINVAL, "give() is NULL");
    REFUSED(sx_device_allocator(cpu, &good), SX_ENOSYS, "cpu");
    OK(sx_build(&ix, dev, "sorted", &keys, NULL, NULL));
    REFUSED(sx_device_allocator(dev, &good), SX_EINVAL, "index");
    assert_int_equal(b->taken, 0);
    sx_free(ix);
    OK(sx_device_allocator(dev, &good));
    OK(sx_build(&ix, dev, "sorted", &keys, NULL, NULL));
    assert_true(b->taken > 0);
    sx_free(ix);
    sx_close(dev);
    sx_close(cpu);
    blocks_free(b);
}

/* ---- memory that is not there --------------------------------------------------------------- */

/* One question, its columns wholly on the host or wholly in device memory,
 * with or without a stream. */
typedef struct {
    sx_device *dev;
    const dataset *d;
    sx_index *ix;
    int place;
    bool queued;
    sx_column in[3], out[4];      /* queries, lo, hi; numbers, keys, first, more */
    sx_column mark[2];            /* one element each, in device memory */
    unsigned char *fill, *seen;   /* as outputs begin; and what they are now */
    uint64_t room;                /* bytes of the largest output */
} scene;

#define SCENE_VERBS 9

static sx_status scene_call(scene *s, int verb)
{
    sx_column *q = &s->in[0], *numbers = &s->out[0], *keys = &s->out[1], *first = &s->out[2];
    sx_ranges ranges = { .size = sizeof ranges, .lo = &s->in[1], .hi = &s->in[2] };
    sx_aggregates g = { sizeof g, numbers, first, &s->out[3], NULL };
    sx_call call = { .size = sizeof call, .stream = s->queued ? (void *)2 : NULL };
    sx_index *ix = NULL;
    sx_status st;
    switch (verb) {
    case 0: return sx_get(s->ix, q, numbers, &call);
    case 1: return sx_rank(s->ix, q, SX_RIGHT, numbers, &call);
    case 2: return sx_floor(s->ix, q, numbers, keys, &call);
    case 3: return sx_ceil(s->ix, q, numbers, keys, &call);
    case 4: return sx_range_count(s->ix, &ranges, numbers, &call);
    case 5: return sx_range(s->ix, &ranges, first, numbers, keys, &call);
    case 6: return sx_range(s->ix, &ranges, first, NULL, NULL, &call);
    case 7: return sx_range_aggregate(s->ix, &ranges, &g, &call);
    default:
        st = sx_build(&ix, s->dev, "pivot(layout=pairs)", q, NULL, &call);
        sx_free(ix);
        return st;
    }
}

/* The same, waiting if it was queued: copies inside device memory are made on
 * the stream of this thread, and wait for it. */
static sx_status scene_ask(scene *s, int verb)
{
    sx_status st = scene_call(s, verb);
    if (s->queued && sx_column_copy(&s->mark[0], &s->mark[1], s->dev) != SX_OK)
        die("%s", sx_detail());
    return st;
}

static void scene_poison(scene *s)
{
    for (unsigned i = 0; i < 4; i++) {
        sx_column c = s->out[i], fill = column(c.type, c.n, s->fill);
        if (c.place == SX_HOST)
            memset(c.data, GUARD_FILL, c.n * sx_type_bytes(c.type));
        else
            OK(sx_column_copy(&c, &fill, s->dev));
    }
}

/* All outputs are as they were. */
static bool scene_untouched(scene *s)
{
    bool same = true;
    for (unsigned i = 0; i < 4; i++) {
        sx_column c = s->out[i], host = column(c.type, c.n, s->seen);
        OK(sx_column_copy(&host, &c, s->dev));
        same &= memcmp(s->seen, s->fill, c.n * sx_type_bytes(c.type)) == 0;
    }
    return same;
}

static void scene_new(scene *s, sx_device *dev, const dataset *d, const char *spec, int place,
                      bool queued)
{
    sx_device *from = place == SX_DEVICE ? dev : NULL;
    const void *in[3] = { d->q.data, d->lo.data, d->hi.data };
    uint64_t hits = d->queries;
    *s = (scene){ .dev = dev, .d = d, .place = place, .queued = queued };
    for (uint64_t i = 0; i < d->ranges; i++)
        hits += d->spans[0][i].count;
    s->room = hits * 16;
    s->fill = need(s->room);
    s->seen = need(s->room);
    memset(s->fill, GUARD_FILL, s->room);
    for (unsigned i = 0; i < 3; i++) {
        sx_column host = column(d->type, i ? d->ranges : d->queries, in[i]);
        s->in[i] = host;
        if (from) {
            OK(sx_column_new(&s->in[i], dev, d->type, host.n));
            OK(sx_column_copy(&s->in[i], &host, dev));
        }
    }
    const uint64_t rooms[4] = { hits, hits, d->ranges + 1, d->ranges };
    for (unsigned i = 0; i < 4; i++) {
        int type = i == 1 ? d->type : SX_U64;
        if (from)
            OK(sx_column_new(&s->out[i], dev, type, rooms[i]));
        else
            s->out[i] = column(type, rooms[i], need(rooms[i] * sx_type_bytes(type)));
    }
    for (unsigned i = 0; i < 2; i++)
        OK(sx_column_new(&s->mark[i], dev, SX_U32, 1));
    OK(data_build(d, dev, spec, NULL, &s->ix));
}

static void scene_free(scene *s)
{
    sx_free(s->ix);
    for (unsigned i = 0; i < 7; i++) {
        sx_column *c = i < 3 ? &s->in[i] : &s->out[i - 3];
        if (c->place == SX_DEVICE)
            sx_column_free(c, s->dev);
        else if (i >= 3)
            free(c->data);
    }
    for (unsigned i = 0; i < 2; i++)
        sx_column_free(&s->mark[i], s->dev);
    free(s->fill);
    free(s->seen);
}

/* What fails, and how it is told to. */
typedef struct {
    blocks *b;                    /* the caller's allocator, or ... */
    bool on;                      /* ... all of the library's own memory */
} failing;

static void fail_at(failing *f, unsigned nth)
{
    if (f->b) {
        f->b->fail_at = nth;
        f->b->fail_on = f->on;
    } else {
        sx_alloc_fail_at(nth);
    }
}

static uint64_t live_now(failing *f)
{
    return f->b ? f->b->live : sx_alloc_live();
}

/* The nth piece of memory of a call is refused, for all n: the call says so
 * (or does without), keeps nothing, and changes nothing. */
static unsigned every_failure(scene *s, failing *f, int verb, const char *spec)
{
    unsigned failures = 0, successes = 0;
    begin_step("%s, verb %d, %s%s", spec, verb, s->place ? "device" : "host",
               s->queued ? ", queued" : "");
    OK(scene_ask(s, verb));       /* what is kept for later calls is there now */
    for (unsigned nth = 1; successes < 6; nth++) {
        scene_poison(s);
        uint64_t live = live_now(f);
        fail_at(f, nth);
        sx_status st = scene_ask(s, verb);
        fail_at(f, 0);
        if (st == SX_OK) {
            successes++;
            continue;
        }
        failures++;
        successes = 0;
        if (st != SX_ENOMEM || !strstr(sx_detail(), "memory"))
            fail_msg("%s, verb %d, block %u: status %d: %s", spec, verb, nth, (int)st,
                     sx_detail());
        if (live_now(f) > live)
            fail_msg("%s, verb %d, block %u: kept %" PRIu64, spec, verb, nth, live_now(f) - live);
        if (!scene_untouched(s))
            fail_msg("%s, verb %d, block %u, %s%s: wrote outputs", spec, verb, nth,
                     s->place ? "device" : "host", s->queued ? ", queued" : "");
        if (nth > 3000)
            fail_msg("%s, verb %d: never ends", spec, verb);
    }
    OK(scene_ask(s, verb));
    return failures;
}

/* Of the caller's allocator, or of the library's own (the emulator's memory
 * comes from there as well). */
static void check_failures(bool own, bool on)
{
    rnd r = rnd_start(test_seed() + own + 2 * on);
    unsigned failures = 0;
    for (size_t spec = 0; spec < DEVICE_SPECS; spec++)
        for (int way = 0; way < 3; way++) {
            dataset *d = data_make(device_widths[(spec + (size_t)way) % 3], KEYS_DUPLICATES, 300,
                                   (row_kind)(spec % ROWS_KINDS), 250, &r);
            failing f = { .b = own ? blocks_new() : NULL, .on = on };
            sx_device *dev = own ? open_with(f.b) : device_open(kernel_with(""));
            scene s;
            scene_new(&s, dev, d, device_specs[spec], way ? SX_DEVICE : SX_HOST, way == 2);
            for (int verb = 0; verb < SCENE_VERBS; verb++)
                failures += every_failure(&s, &f, verb, device_specs[spec]);
            ask_all(asking, dev, s.ix, d, device_specs[spec]);
            scene_free(&s);
            sx_close(dev);
            if (own)
                blocks_free(f.b);
            data_free(d);
        }
    assert_true(failures > 50);
}

static void test_failing_allocator(void **state)
{
    (void)state;
    check_failures(true, false);
    check_failures(true, true);
}

static void test_failing_memory(void **state)
{
    (void)state;
    if (kernel_is_gpu())          /* whose memory does not come from there */
        skip();
    uint64_t live = sx_alloc_live();
    check_failures(false, false);
    assert_true(sx_alloc_live() == live);
}

/* memory=: what does not fit is refused, what fits is built, and questions
 * that are larger than what is left are cut into pieces. */
static void test_little_memory(void **state)
{
    (void)state;
    enum { KEPT = 60 };
    const uint64_t cap = (kernel_is_gpu() ? 1024 : 1) * 40000u, most = cap / 4;
    rnd r = rnd_start(test_seed());
    char options[64];
    uint32_t *keys = calloc(most, sizeof *keys);
    sx_column large = column(SX_U32, most, keys);
    if (!keys)
        die("memory");
    for (uint64_t i = 0; i < most; i++)
        keys[i] = (uint32_t)rnd_next(&r);
    snprintf(options, sizeof options, "memory=%" PRIu64, cap);
    for (size_t s = 0; s < DEVICE_SPECS; s++) {
        sx_device *dev = device_open(kernel_with(options));
        sx_column kept[KEPT];
        unsigned count = 0;
        sx_index *ix = NULL;
        dataset *d = data_make(SX_U32, KEYS_RANDOM, cap / 80, (row_kind)s, 2000, &r);
        for (unsigned i = 0; i < 3; i++) {
            REFUSED(sx_build(&ix, dev, device_specs[s], &large, NULL, NULL), SX_ENOMEM,
                    "bytes needed");
            assert_non_null(strstr(sx_detail(), " free"));
            assert_null(ix);
            OK(data_build(d, dev, device_specs[s], NULL, &ix));
            ask_all(asking, NULL, ix, d, device_specs[s]);
            if (i < 2) {
                sx_free(ix);
                ix = NULL;
            }
        }
        for (uint64_t size = cap / 4; size > cap / 8 && count < KEPT;) {
            sx_status st = sx_column_new(&kept[count], dev, SX_U32, size / 4);
            if (st == SX_OK)
                count++;
            else
                size = size * 3 / 4;
            assert_true(st == SX_OK || st == SX_ENOMEM);
        }
        assert_true(count > 0 && count < KEPT);
        ask_all(asking, NULL, ix, d, "with hardly any memory left");
        for (unsigned i = 0; i < count; i++)
            sx_column_free(&kept[i], dev);
        ask_all(asking, NULL, ix, d, "with memory again");
        sx_free(ix);
        sx_close(dev);
        data_free(d);
    }
    free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocator),
        cmocka_unit_test(test_allocator_refused),
        cmocka_unit_test(test_failing_allocator),
        cmocka_unit_test(test_failing_memory),
        cmocka_unit_test(test_little_memory),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("device memory", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
