/* test_device_memory.c - where the memory of a device comes from, and what
 * happens if there is none: the caller's allocator, memory=, every piece of
 * memory refused once, and outputs without space. */
#include <inttypes.h>
#include <limits.h>
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

/* Blocks are columns of another device on the same GPU. Blocks that come back are
 * kept until the end: streams may still use them. */
typedef struct {
    sx_device *source;
    sx_column block[BLOCKS];
    void *at[BLOCKS];             /* in the column, at a multiple of 256 and ... */
    unsigned askew;               /* ... this many bytes */
    bool given[BLOCKS];
    unsigned taken, live;
    unsigned fail_at, fail_run;   /* fail_run blocks fail, the first fail_at from now */
    bool wrong;
} blocks;

static void *take(void *context, uint64_t bytes, void *stream)
{
    blocks *b = context;
    (void)stream;
    if (b->fail_at && --b->fail_at == 0) {
        b->fail_at = --b->fail_run > 0;
        return NULL;
    }
    if (b->taken == BLOCKS || bytes == 0 ||
        sx_column_new(&b->block[b->taken], b->source, SX_U64, (bytes + 511) / 8) != SX_OK)
        die("memory for the allocator");
    uintptr_t data = (uintptr_t)b->block[b->taken].data;
    b->live++;
    return b->at[b->taken++] = (void *)((data + 255) / 256 * 256 + b->askew);
}

static void give(void *context, void *block, void *stream)
{
    blocks *b = context;
    unsigned i = 0;
    (void)stream;
    while (i < b->taken && (b->at[i] != block || b->given[i]))
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
        sx_index *ix = index_of(dev, d, device_specs[s]);
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

/* Memory with the wrong alignment is refused, and given back. */
static void test_allocator_askew(void **state)
{
    (void)state;
    sx_device *dev = device_open(kernel_with(""));
    blocks *b = blocks_new();
    sx_allocator from = { sizeof from, take, give, b };
    uint32_t key[3] = { 5, 2, 9 };
    sx_column keys = column(SX_U32, 3, key), mark = keys, made = mark;
    sx_index *ix = NULL;
    OK(sx_device_allocator(dev, &from));
    for (b->askew = 8; b->askew < 256; b->askew *= 2) {
        for (size_t s = 0; s < DEVICE_SPECS; s++) {
            REFUSED(sx_build(&ix, dev, device_specs[s], &keys, NULL, NULL), SX_EINVAL,
                    "not at a multiple of 256");
            assert_null(ix);
            assert_int_equal(b->live, 0);
        }
        REFUSED(sx_column_new(&made, dev, SX_U64, 10), SX_EINVAL, "not at a multiple of 256");
        assert_memory_equal(&made, &mark, sizeof made);
        assert_int_equal(b->live, 0);
    }
    assert_true(b->taken > 0);
    sx_close(dev);
    blocks_free(b);
}

/* ---- memory that is not there --------------------------------------------------------------- */

/* One question, and where its columns are; the last four are of ranges only. */
typedef enum {
    SCENE_HOST, SCENE_DEVICE, SCENE_QUEUED,     /* wholly; in device memory and with a stream */
    SCENE_FIRST_THERE,                          /* outputs in device memory, inputs not */
    SCENE_FIRST_ONLY,                           /* first in device memory, nothing else */
    SCENE_FIRST_HERE,                           /* first on the host, nothing else */
    SCENE_ROWS_HERE,                            /* rows and keys on the host, nothing else */
    SCENE_WAYS
} scene_way;

static const char *const scene_ways[SCENE_WAYS] = {
    "host", "device", "device, queued", "outputs on the device", "first on the device",
    "first on the host", "rows and keys on the host",
};

typedef struct {
    sx_device *dev;
    const dataset *d;
    sx_index *ix;
    scene_way way;
    bool queued;
    const char *spec;
    uint64_t *right;              /* what first must be */
    sx_column in[3], out[4];      /* queries, lo, hi; numbers, keys, first, more */
    sx_column mark[2];            /* one element each, in device memory */
    unsigned char *fill, *seen;   /* as outputs begin; and what they are now */
    uint64_t space;                /* bytes of the largest output */
} scene;

#define SCENE_VERBS 9
#define SCENE_RANGE 5             /* the verb, with all its outputs; the next has only first */

/* Indexes on the host of their device have no streams. */
static bool beside(const char *spec)
{
    return strstr(spec, "place=h") != NULL;
}

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
    case SCENE_RANGE: return sx_range(s->ix, &ranges, first, numbers, keys, &call);
    case 6: return sx_range(s->ix, &ranges, first, NULL, NULL, &call);
    case 7: return sx_range_aggregate(s->ix, &ranges, &g, &call);
    default:
        st = sx_build(&ix, s->dev, s->spec, q, NULL, &call);
        sx_free(ix);
        return st;
    }
}

/* The same, and waits if it was queued: copies inside device memory are made on the
 * stream of this thread, and wait for it. */
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

/* All outputs are as they were. But first may be filled already if there is no memory
 * for other outputs on the host. */
static bool scene_untouched(scene *s, int verb)
{
    bool same = true;
    for (unsigned i = 0; i < 4; i++) {
        sx_column c = s->out[i], host = column(c.type, c.n, s->seen);
        size_t bytes = c.n * sx_type_bytes(c.type);
        OK(sx_column_copy(&host, &c, s->dev));
        same &= memcmp(s->seen, s->fill, bytes) == 0 ||
                (i == 2 && verb == SCENE_RANGE && s->out[0].place == SX_HOST &&
                 memcmp(s->seen, s->right, bytes) == 0);
    }
    return same;
}

/* The inputs are columns 0 to 2, the outputs 3 to 6. */
static bool scene_there(scene_way way, unsigned column)
{
    switch (way) {
    case SCENE_HOST: return false;
    case SCENE_FIRST_THERE: return column >= 3;
    case SCENE_FIRST_ONLY: return column == 5;
    case SCENE_FIRST_HERE: return column != 5;
    case SCENE_ROWS_HERE: return column != 3 && column != 4;
    default: return true;
    }
}

static void scene_new(scene *s, sx_device *dev, const dataset *d, const char *spec, scene_way way)
{
    const void *in[3] = { d->q.data, d->lo.data, d->hi.data };
    uint64_t hits = d->queries;
    *s = (scene){ .dev = dev, .d = d, .way = way, .queued = way == SCENE_QUEUED,
                  .spec = strstr(spec, "place=") ? spec : "pivot(layout=pairs)",
                  .right = need((d->ranges + 1) * sizeof *s->right) };
    s->right[0] = 0;
    for (uint64_t i = 0; i < d->ranges; i++) {
        s->right[i + 1] = s->right[i] + d->spans[0][i].count;
        hits += d->spans[0][i].count;
    }
    s->space = hits * 16;
    s->fill = need(s->space);
    s->seen = need(s->space);
    memset(s->fill, GUARD_FILL, s->space);
    for (unsigned i = 0; i < 3; i++) {
        sx_column host = column(d->type, i ? d->ranges : d->queries, in[i]);
        s->in[i] = host;
        if (scene_there(way, i)) {
            OK(sx_column_new(&s->in[i], dev, d->type, host.n));
            OK(sx_column_copy(&s->in[i], &host, dev));
        }
    }
    const uint64_t spaces[4] = { hits, hits, d->ranges + 1, d->ranges };
    for (unsigned i = 0; i < 4; i++) {
        int type = i == 1 ? d->type : SX_U64;
        if (scene_there(way, i + 3))
            OK(sx_column_new(&s->out[i], dev, type, spaces[i]));
        else
            s->out[i] = column(type, spaces[i], need(spaces[i] * sx_type_bytes(type)));
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
    free(s->right);
}

/* What fails. */
typedef struct {
    blocks *b;                    /* the caller's allocator; NULL: the library's own memory */
    unsigned run;                 /* blocks of the caller's that fail in a row */
} failing;

static void fail_at(failing *f, unsigned nth)
{
    if (f->b) {
        f->b->fail_at = nth;
        f->b->fail_run = f->run;
    } else {
        sx_alloc_fail_at(nth);
    }
}

static uint64_t live_now(failing *f)
{
    return f->b ? f->b->live : sx_alloc_live();
}

/* Stages that a device keeps for later calls. Those of a hybrid index take two at a time. */
#define STAGES 4u

/* The nth piece of memory of a call is refused, for all n. The call says so, or does
 * without; it keeps nothing, and changes nothing. */
static unsigned every_failure(scene *s, failing *f, int verb, const char *spec)
{
    unsigned failures = 0, successes = 0;
    begin_step("%s, verb %d, %s", spec, verb, scene_ways[s->way]);
    OK(scene_ask(s, verb));       /* now memory that is kept for later calls is there */
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
        for (unsigned again = 0; again < STAGES && live_now(f) > live; again++) {
            live = live_now(f);   /* a stage may keep memory of another size, but only once */
            fail_at(f, nth);
            (void)scene_ask(s, verb);
            fail_at(f, 0);
        }
        if (live_now(f) > live)
            fail_msg("%s, verb %d, block %u: kept %" PRIu64, spec, verb, nth, live_now(f) - live);
        if (!scene_untouched(s, verb))
            fail_msg("%s, verb %d, block %u, %s: wrote outputs", spec, verb, nth,
                     scene_ways[s->way]);
        if (nth > 3000)
            fail_msg("%s, verb %d: never ends", spec, verb);
    }
    OK(scene_ask(s, verb));
    return failures;
}

/* Pieces of the caller's allocator, or of the library's own memory (which the
 * emulator's device memory is, too). */
static void check_failures(bool own, unsigned run, unsigned least)
{
    static const char *const hybrid_specs[] = { "pivot place=hybrid", "guide place=hybrid",
                                                "eytzinger(k=3,layout=pairs) place=hybrid",
                                                "sorted place=host", "pivot place=both" };
    const char *specs[DEVICE_SPECS + COUNT_OF(hybrid_specs)];
    rnd r = rnd_start(test_seed() + own + 2 * run);
    unsigned failures = 0;
    memcpy(specs, device_specs, sizeof device_specs);
    memcpy(specs + DEVICE_SPECS, hybrid_specs, sizeof hybrid_specs);
    for (size_t spec = 0; spec < COUNT_OF(specs); spec++)
        for (int way = 0; way < SCENE_WAYS; way++) {
            if (way == SCENE_QUEUED && beside(specs[spec]))
                continue;
            dataset *d = data_make(device_widths[(spec + (size_t)way) % 3], KEYS_DUPLICATES, 300,
                                   (row_kind)(spec % ROWS_KINDS), 250, &r);
            failing f = { .b = own ? blocks_new() : NULL, .run = run };
            sx_device *dev = own ? open_with(f.b) : device_open(kernel_with(""));
            scene s;
            bool ranges = way > SCENE_QUEUED;
            scene_new(&s, dev, d, specs[spec], (scene_way)way);
            for (int verb = ranges ? SCENE_RANGE : 0;
                 verb < (ranges ? SCENE_RANGE + 2 : SCENE_VERBS); verb++)
                failures += every_failure(&s, &f, verb, specs[spec]);
            asking->no_streams = beside(specs[spec]);
            ask_all(asking, dev, s.ix, d, specs[spec]);
            asking->no_streams = false;
            scene_free(&s);
            sx_close(dev);
            if (own)
                blocks_free(f.b);
            data_free(d);
        }
    assert_true(failures >= least);
}

static void test_failing_allocator(void **state)
{
    (void)state;
    check_failures(true, 1, 0);           /* memory that earlier calls kept may help */
    check_failures(true, 2, 50);
    check_failures(true, UINT_MAX, 50);
}

static void test_failing_memory(void **state)
{
    (void)state;
    if (kernel_is_gpu())
        SKIP("a GPU's memory does not come from where it is made to fail");
    uint64_t live = sx_alloc_live();
    check_failures(false, 1, 5);
    assert_true(sx_alloc_live() == live);
}

/* A column of the host in memory of a device. */
static sx_column there(sx_device *dev, const sx_column *here)
{
    sx_column c;
    OK(sx_column_new(&c, dev, here->type, here->n));
    OK(sx_column_copy(&c, here, dev));
    return c;
}

/* A build whose nth piece of memory is refused, and `run` in all. */
static sx_status build_failing(blocks *b, sx_device *dev, const char *spec, const sx_column *keys,
                               const sx_column *rows, unsigned nth, unsigned run, sx_index **out)
{
    begin_step("%s, %u blocks from %u on", spec, run, nth);
    b->fail_at = nth;
    b->fail_run = run;
    sx_status st = sx_build(out, dev, spec, keys, rows->data ? rows : NULL, NULL);
    b->fail_at = 0;
    return st;
}

/* The nth piece of memory of a build of few keys is refused, for all n: the build says so, or does
 * without, and what it took is given back with the index. A build that gets no memory at all gives up what
 * the device keeps for later calls. */
static void few_failures(blocks *b, sx_device *dev, const dataset *d, const char *spec, unsigned run)
{
    sx_column here = column(d->type, d->n, d->keys.data), keys = there(dev, &here), rows = { 0 };
    unsigned successes = 0, failures = 0;
    sx_index *ix = NULL;
    if (d->row_kind == ROWS_U32) {
        here = column(SX_U32, d->n, d->rows.data);
        rows = there(dev, &here);
    }
    for (unsigned nth = 1; successes < 3; nth++) {
        sx_status st = build_failing(b, dev, spec, &keys, &rows, nth, run, &ix);
        if (st == SX_OK) {
            successes++;
            OK(sx_check(ix, NULL));
            sx_free(ix);
        } else {
            failures++;
            successes = 0;
            assert_int_equal(st, SX_ENOMEM);
        }
        assert_int_equal(build_failing(b, dev, spec, &keys, &rows, 1, UINT_MAX, &ix), SX_ENOMEM);
        if (b->live != (rows.data ? 2 : 1))
            fail_msg("%s, block %u: %u blocks are kept", spec, nth, b->live);
    }
    assert_true(failures >= (run > 1 ? 3 : 2));   /* keys, rows, and if there is no more, what is known */
    ix = index_of(dev, d, spec);
    ask_all(asking, dev, ix, d, spec);
    sx_free(ix);
    sx_column_free(&keys, dev);
    sx_column_free(&rows, dev);
}

static void test_few_keys(void **state)
{
    (void)state;
    static const char *const specs[] = { "auto", "sorted(layout=once)", "auto(for=point)", "sorted" };
    rnd r = rnd_start(test_seed());
    for (unsigned w = 0; w < 3; w++)
        for (unsigned s = 0; s < COUNT_OF(specs); s++) {
            dataset *d = data_make(device_widths[w], KEYS_DUPLICATES, 60, s % 2 ? ROWS_NULL : ROWS_U32, 50, &r);
            blocks *b = blocks_new();
            sx_device *dev = open_with(b);
            few_failures(b, dev, d, specs[s], 1);
            few_failures(b, dev, d, specs[s], UINT_MAX);
            sx_close(dev);
            blocks_free(b);
            data_free(d);
        }
}

/* memory=: an index that does not fit is refused, one that fits is built, and
 * questions that are larger than the rest of memory are cut into pieces. */
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
        sx_column kept[KEPT], little;
        unsigned count = 0;
        sx_index *ix = NULL;
        dataset *d = data_make(SX_U32, KEYS_RANDOM, cap / 80, (row_kind)s, 2000, &r);
        for (unsigned i = 0; i < 3; i++) {
            REFUSED(sx_build(&ix, dev, device_specs[s], &large, NULL, NULL), SX_ENOMEM,
                    "bytes needed");
            assert_non_null(strstr(sx_detail(), " free"));
            assert_null(ix);
            ix = index_of(dev, d, device_specs[s]);
            ask_all(asking, NULL, ix, d, device_specs[s]);
            if (i < 2) {
                sx_free(ix);
                ix = NULL;
            }
        }
        OK(sx_column_new(&little, dev, SX_U32, cap / 40));      /* what will be left */
        for (uint64_t size = cap / 4; size > cap / 8 && count < KEPT;) {
            sx_status st = sx_column_new(&kept[count], dev, SX_U32, size / 4);
            if (st == SX_OK)
                count++;
            else
                size = size * 3 / 4;
            assert_true(st == SX_OK || st == SX_ENOMEM);
        }
        assert_true(count > 0 && count < KEPT);
        sx_column_free(&little, dev);
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

/* Memory in which columns travelled is kept for the next ones, unless a column
 * needs it. */
static void test_idle_memory(void **state)
{
    (void)state;
    const uint64_t cap = (kernel_is_gpu() ? 1024 : 1) * 40960u, n = cap / 8;
    uint32_t *q = calloc(n, sizeof *q), *rows = calloc(n, sizeof *rows), key[4] = { 0, 7, 3, 1 };
    sx_column keys = column(SX_U32, 4, key), from = column(SX_U32, n, q);
    sx_column to = column(SX_U32, n, rows), large;
    sx_device *dev = device_open(kernel_with(kernel_is_gpu() ? "memory=40MiB" : "memory=40KiB"));
    sx_index *ix = NULL;
    if (!q || !rows)
        die("memory");
    for (unsigned round = 0; round < 3; round++) {
        OK(sx_build(&ix, dev, "sorted", &keys, NULL, NULL));
        OK(sx_get(ix, &from, &to, NULL));
        OK(sx_column_new(&large, dev, SX_U32, cap / 4 * 9 / 10));       /* beside the index */
        memset(rows, GUARD_FILL, n * sizeof *rows);
        OK(sx_get(ix, &from, &to, NULL));
        for (uint64_t i = 0; i < n; i++)
            assert_int_equal(rows[i], 0);
        sx_column_free(&large, dev);
        OK(sx_get(ix, &from, &to, NULL));
        sx_free(ix);
        OK(sx_column_new(&large, dev, SX_U32, cap / 4));                /* and all there is */
        sx_column_free(&large, dev);
    }
    sx_close(dev);
    free(q);
    free(rows);
}

/* ---- outputs without space, status words ------------------------------------------------------ */

/* One range with hits, or without, into columns without space. which: 1 rows, 2 keys,
 * 3 both. Returns the status, which first shows, too. */
static sx_status range_no_space(sx_device *dev, const sx_index *ix, bool hits, unsigned which,
                               bool there, bool queued)
{
    uint64_t ends[2] = { 3, hits ? 6 : 2 }, seen[2] = { 9, 9 };
    uint32_t word = 99;
    sx_column in = column(SX_U64, 2, ends), out = column(SX_U64, 2, seen);
    sx_column ask = in, first = out, status = { 0 }, host = column(SX_U32, 1, &word);
    sx_column rows = column(SX_U64, 0, NULL), keys = rows;
    sx_call call = { .size = sizeof call };
    if (there) {
        OK(sx_column_new(&ask, dev, SX_U64, 2));
        OK(sx_column_new(&first, dev, SX_U64, 2));
        OK(sx_column_copy(&ask, &in, dev));
        OK(sx_column_copy(&first, &out, dev));
        rows.place = keys.place = SX_DEVICE;
    }
    if (queued) {
        OK(sx_column_new(&status, dev, SX_U32, 1));
        OK(sx_column_copy(&status, &host, dev));
        call.stream = (void *)2;
        call.status = status.data;
    }
    sx_column lo = slice(&ask, 0, 1), hi = slice(&ask, 1, 1);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
    sx_status st = sx_range(ix, &ranges, &first, which & 1 ? &rows : NULL, which & 2 ? &keys : NULL,
                            &call);
    if (queued) {
        assert_int_equal(st, SX_OK);
        OK(sx_column_copy(&host, &status, dev));
        st = (sx_status)word;
        sx_column_free(&status, dev);
    }
    if (there) {
        OK(sx_column_copy(&out, &first, dev));
        sx_column_free(&ask, dev);
        sx_column_free(&first, dev);
    }
    assert_int_equal(seen[0], 0);
    assert_int_equal(seen[1], hits ? 3 : 0);
    return st;
}

/* max_bytes bounds the memory that ranges take on the device, and the columns that an index on
 * the host brings from there. */
static void test_scratch(void **state)
{
    (void)state;
    enum { N = 5, HITS = 3 };
    uint64_t keys[] = { 1, 3, 4, 6, 9 }, low[N] = { 3, 3, 3, 3, 3 }, high[N] = { 6, 6, 6, 6, 6 };
    uint64_t offsets[N + 1] = { 0 }, rows[N * HITS];
    sx_device *dev = device_open(kernel_with(""));
    static const struct { const char *place; bool there; uint64_t least; } ways[] = {
        { "device", false, 3 * 8 * (N + 1) },
        { "hybrid", false, 8 * (N + 1) },
        { "hybrid", true, (2 + 2) * 8 * (N + 1) + 8 * N * HITS },
    };
    for (unsigned w = 0; w < COUNT_OF(ways); w++) {
        char spec[40];
        sx_column of = column(SX_U64, 5, keys), l = column(SX_U64, N, low), lo = l;
        sx_column h = column(SX_U64, N, high), hi = h, f = column(SX_U64, N + 1, offsets), first = f;
        sx_column r = column(SX_U64, N * HITS, rows), out = r;
        sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
        sx_call call = { .size = sizeof call, .max_bytes = ways[w].least - 1 };
        sx_index *ix = NULL;
        snprintf(spec, sizeof spec, "pivot place=%s", ways[w].place);
        OK(sx_build(&ix, dev, spec, &of, NULL, NULL));
        if (ways[w].there) {
            OK(sx_column_new(&lo, dev, SX_U64, N));
            OK(sx_column_new(&hi, dev, SX_U64, N));
            OK(sx_column_new(&first, dev, SX_U64, N + 1));
            OK(sx_column_new(&out, dev, SX_U64, N * HITS));
            OK(sx_column_copy(&lo, &l, dev));
            OK(sx_column_copy(&hi, &h, dev));
        }
        REFUSED(sx_range(ix, &ranges, &first, &out, NULL, &call), SX_ENOMEM, "max_bytes");
        call.max_bytes++;
        OK(sx_range(ix, &ranges, &first, &out, NULL, &call));
        if (ways[w].there) {
            OK(sx_column_copy(&r, &out, dev));
            sx_column_free(&lo, dev);
            sx_column_free(&hi, dev);
            sx_column_free(&first, dev);
            sx_column_free(&out, dev);
        }
        for (unsigned i = 0; i < N * HITS; i++)
            assert_int_equal(rows[i], 1 + i % HITS);
        if (w == 0) {             /* offsets alone are summed up there, too */
            memset(offsets, 0x5a, sizeof offsets);
            call.max_bytes = 2 * 8 * (N + 1) - 1;
            REFUSED(sx_range(ix, &ranges, &f, NULL, NULL, &call), SX_ENOMEM, "max_bytes");
            assert_true(offsets[0] == 0x5a5a5a5a5a5a5a5aull);
            call.max_bytes++;
            OK(sx_range(ix, &ranges, &f, NULL, NULL, &call));
            assert_int_equal(offsets[N], N * HITS);
        }
        sx_free(ix);
    }
    sx_close(dev);
}

static void test_no_space(void **state)
{
    (void)state;
    uint64_t key[6] = { 9, 4, 3, 1, 6, 7 };
    sx_column keys = column(SX_U64, 6, key);
    for (size_t s = 0; s < DEVICE_SPECS; s++)
        for (int way = 0; way < 4; way++) {     /* the CPU; host, device, and a stream */
            sx_device *dev = device_open(way ? kernel_with("") : "cpu");
            sx_index *ix = NULL;
            OK(sx_build(&ix, dev, device_specs[s], &keys, NULL, NULL));
            for (unsigned which = 1; which < 4; which++)
                for (int hits = 0; hits < 2; hits++) {
                    begin_step("%s, way %d, outputs %u, hits %d", device_specs[s], way, which,
                               hits);
                    sx_status st = range_no_space(dev, ix, hits, which, way >= 2, way == 3);
                    if (st != (hits ? SX_ESPACE : SX_OK))
                        fail_msg("%s: status %d", step_now, (int)st);
                }
            sx_free(ix);
            sx_close(dev);
        }
}

static void test_status_word(void **state)
{
    (void)state;
    sx_device *dev = device_open(kernel_with(""));
    uint64_t key[4] = { 9, 4, 3, 1 };
    sx_column keys = column(SX_U64, 4, key), q, rows, words;
    sx_call call = { .size = sizeof call, .stream = (void *)2 };
    sx_index *ix = NULL;
    OK(sx_column_new(&q, dev, SX_U64, 4));
    OK(sx_column_new(&rows, dev, SX_U64, 4));
    OK(sx_column_new(&words, dev, SX_U32, 4));
    OK(sx_column_copy(&q, &keys, dev));
    OK(sx_build(&ix, dev, "sorted", &keys, NULL, NULL));
    for (size_t off = 0; off < 8; off++) {
        void *at = (char *)words.data + off;
        call.status = at;
        if (off % 4)
            REFUSED(sx_get(ix, &q, &rows, &call), SX_EINVAL, "multiple of 4");
        else
            OK(sx_get(ix, &q, &rows, &call));
    }
    sx_free(ix);
    sx_column_free(&q, dev);
    sx_column_free(&rows, dev);
    sx_column_free(&words, dev);
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocator),
        cmocka_unit_test(test_allocator_refused),
        cmocka_unit_test(test_allocator_askew),
        cmocka_unit_test(test_failing_allocator),
        cmocka_unit_test(test_failing_memory),
        cmocka_unit_test(test_few_keys),
        cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_idle_memory),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_no_space),
        cmocka_unit_test(test_status_word),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("device memory", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
