/* test_device.c - devices that run kernels: their columns, their options,
 * and what they refuse.
 *
 * It runs on the emulator, or on the GPU that SX_TEST_GPU names. Only sx_column_*()
 * takes, fills and reads memory of a device, as a GPU needs it. */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "gpu/gpu_tune.h"
#include "on_device.h"

static asker *asking;

/* ---- columns --------------------------------------------------------------------- */

/* Host to device to device to host, with neighbours that stay as they are. */
static void round_trip(sx_device *dev, int type, uint64_t n, rnd *r)
{
    size_t width = sx_type_bytes(type);
    uint64_t all = n + 9;
    unsigned char *from = need(all * width), *to = need(all * width);
    sx_column a, b, fill = column(type, all, to), whole = column(type, all, to);
    OK(sx_column_new(&a, dev, type, all));
    OK(sx_column_new(&b, dev, type, all));
    for (uint64_t i = 0; i < all * width; i++)
        from[i] = (unsigned char)rnd_next(r);
    memset(to, GUARD_FILL, all * width);
    OK(sx_column_copy(&b, &fill, dev));
    sx_column host = column(type, n, from), at_4 = slice(&a, 4, n), at_2 = slice(&b, 2, n + 1);
    OK(sx_column_copy(&at_4, &host, dev));
    OK(sx_column_copy(&at_2, &at_4, dev));
    OK(sx_column_copy(&whole, &b, dev));
    for (uint64_t i = 0; i < all; i++)
        for (size_t byte = 0; byte < width; byte++) {
            unsigned char want = i >= 2 && i < 2 + n ? from[(i - 2) * width + byte] : GUARD_FILL;
            if (to[i * width + byte] != want)
                fail_msg("%" PRIu64 " of %s: element %" PRIu64 " is another", n,
                         sx_type_name(type), i);
        }
    /* and from host to host, where they may overlap */
    sx_column here = column(type, n, from), further = column(type, n, from + width);
    memmove(to, from, n * width);
    OK(sx_column_copy(&further, &here, dev));
    assert_memory_equal(from + width, to, n * width);
    sx_column_free(&a, dev);
    sx_column_free(&b, dev);
    free(from);
    free(to);
}

static void test_columns(void **state)
{
    /* within one chunk, several, several turns of every channel */
    static const uint64_t sizes[] = { 0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256,
                                      257, 511, 512, 513, 1000, 2047, 2048, 2049, 5000, 33333 };
    (void)state;
    sx_device *devices[] = { device_open(kernel_with("")), device_open("cpu") };
    rnd r = rnd_start(test_seed());
    for (size_t d = 0; d < COUNT_OF(devices); d++)
        for (size_t t = 0; t < COUNT_OF(key_types); t++) {
            sx_column c = { .type = 77 };
            OK(sx_column_new(&c, devices[d], key_types[t], 0));
            assert_true(c.n == 0 && !c.data && c.type == key_types[t]);
            OK(sx_column_copy(&c, &c, devices[d]));
            sx_column_free(&c, devices[d]);
            OK(sx_column_new(&c, devices[d], key_types[t], 10));
            assert_int_equal(c.place, d == 0 ? SX_DEVICE : SX_HOST);
            assert_true(c.n == 10 && c.data && !c.offsets && !c.validity &&
                        !c.offset_bytes && !c.reserved[0] && !c.reserved[2] && !c.bytes);
            sx_column_free(&c, devices[d]);
            assert_true(!c.data && c.n == 0);
            sx_column_free(&c, devices[d]);     /* as free(NULL) */
            for (size_t i = 0; i < COUNT_OF(sizes); i++)
                round_trip(devices[d], key_types[t], sizes[i], &r);
        }
    if (kernel_is_gpu())          /* channels have 16 MiB there */
        for (uint64_t n = 1u << 20; n <= 1u << 24; n <<= 2)
            round_trip(devices[0], SX_U64, n + 3, &r);
    sx_column_free(NULL, devices[0]);
    sx_column_free(NULL, NULL);
    sx_close(devices[0]);
    sx_close(devices[1]);
}

static void test_columns_refused(void **state)
{
    (void)state;
    sx_device *dev = device_open(kernel_with(""));
    uint32_t numbers[4] = { 1, 2, 3, 4 };
    sx_column none = { .type = 77, .n = 5 }, c, host = column(SX_U32, 4, numbers), bad;
    REFUSED(sx_column_new(&none, dev, 0, 4), SX_EINVAL, "type is 0");
    REFUSED(sx_column_new(&none, dev, 9, 4), SX_EINVAL, "type is 9");
    REFUSED(sx_column_new(&none, dev, SX_U64, UINT64_MAX), SX_EINVAL, "18446744073709551615");
    REFUSED(sx_column_new(&none, dev, SX_U32, 1ull << 61), SX_EINVAL, "elements of 4 bytes");
    /* more than there is of a GPU's memory, and of addresses */
    REFUSED(sx_column_new(&none, dev, SX_U64, kernel_is_gpu() ? 1ull << 40 : 1ull << 55),
            SX_ENOMEM, "memory");
    REFUSED(sx_column_new(NULL, dev, SX_U32, 4), SX_EINVAL, "NULL");
    REFUSED(sx_column_new(&none, NULL, SX_U32, 4), SX_EINVAL, "NULL");
    assert_true(none.type == 77 && none.n == 5 && !none.data);

    OK(sx_column_new(&c, dev, SX_U32, 4));
    OK(sx_column_copy(&c, &host, dev));
    REFUSED(sx_column_copy(NULL, &host, dev), SX_EINVAL, "to is NULL");
    REFUSED(sx_column_copy(&c, NULL, dev), SX_EINVAL, "from is NULL");
    REFUSED(sx_column_copy(&c, &host, NULL), SX_EINVAL, "device is NULL");
    bad = slice(&c, 0, 3);
    REFUSED(sx_column_copy(&bad, &host, dev), SX_ESPACE, "room for 3");
    bad = host;
    bad.type = SX_I32;
    REFUSED(sx_column_copy(&c, &bad, dev), SX_EINVAL, "i32");
    bad.type = 0;
    REFUSED(sx_column_copy(&c, &bad, dev), SX_EINVAL, "type of from is 0");
    bad = c;
    bad.place = 2;
    REFUSED(sx_column_copy(&bad, &host, dev), SX_EINVAL, "place of to is 2");
    bad = c;
    bad.reserved[2] = 9;
    REFUSED(sx_column_copy(&bad, &host, dev), SX_EINVAL, "reserved[2]");
    bad = c;
    bad.data = (char *)c.data + 1;
    bad.n = 3;
    REFUSED(sx_column_copy(&host, &bad, dev), SX_EINVAL, "multiple of 4");
    bad = host;
    bad.data = NULL;
    REFUSED(sx_column_copy(&bad, &c, dev), SX_EINVAL, "data of to is NULL");
    uint32_t back[4] = { 0 };
    sx_column b = column(SX_U32, 4, back);
    OK(sx_column_copy(&b, &c, dev));
    assert_memory_equal(back, numbers, sizeof back);
    sx_column_free(&c, dev);
    sx_close(dev);
}

/* ---- sx_call ---------------------------------------------------------------------------- */

static void test_calls(void **state)
{
    (void)state;
    sx_device *dev = device_open(kernel_with("")), *cpu = device_open("cpu");
    uint64_t keys[4] = { 10, 20, 30, 40 }, out[5] = { 7, 7, 7, 7, 7 }, ns = 77;
    sx_column k = column(SX_U64, 4, keys), o = column(SX_U64, 5, out), there[5], word;
    sx_index *ix = NULL, *on_cpu = NULL;
    OK(sx_build(&ix, dev, "pivot", &k, NULL, NULL));
    OK(sx_build(&on_cpu, cpu, "pivot", &k, NULL, NULL));
    for (unsigned i = 0; i < 5; i++)
        OK(sx_column_new(&there[i], dev, SX_U64, 5));
    OK(sx_column_new(&word, dev, SX_U32, 1));
    OK(sx_column_copy(&there[0], &k, dev));
    sx_column q = slice(&there[0], 0, 4);

    sx_call call = { .size = sizeof call, .stream = (void *)2 };
    REFUSED(sx_get(on_cpu, &k, &o, &call), SX_ENOSYS, "stream");
    REFUSED(sx_build(&on_cpu, cpu, "sorted", &k, NULL, &call), SX_ENOSYS, "stream");
    call = (sx_call){ .size = sizeof call, .status = word.data };
    REFUSED(sx_get(ix, &q, &there[1], &call), SX_EINVAL, "status");
    call = (sx_call){ .size = sizeof call, .stream = (void *)2, .device_ns = &ns };
    REFUSED(sx_get(ix, &q, &there[1], &call), SX_EINVAL, "device_ns");
    assert_true(ns == 77);
    call = (sx_call){ .size = sizeof call, .hints = 2 };
    REFUSED(sx_get(ix, &q, &there[1], &call), SX_EINVAL, "hints");
    const size_t sizes[] = { 0, 8, offsetof(sx_call, stream) - 1, offsetof(sx_call, stream) + 1,
                             sizeof call - 1, sizeof call + 1 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        call = (sx_call){ .size = sizes[i] };
        REFUSED(sx_get(ix, &k, &o, &call), SX_EINVAL, "size in sx_call");
    }
    for (unsigned i = 0; i < 5; i++)
        assert_true(out[i] == 7);

    /* A call of the first version: bytes behind it are not read. */
    call = (sx_call){ .size = offsetof(sx_call, stream), .hints = SX_ASCENDING,
                      .stream = (void *)77, .status = (void *)77, .device_ns = (void *)77 };
    OK(sx_get(ix, &k, &o, &call));
    assert_true(out[0] == 0 && out[3] == 3 && out[4] == 7);

    /* With a stream all columns are in device memory; each is named. */
    call = (sx_call){ .size = sizeof call, .stream = (void *)2 };
    sx_ranges lo = { .size = sizeof lo, .lo = &k, .hi = &q };
    sx_ranges hi = { .size = sizeof hi, .lo = &q, .hi = &k };
    sx_ranges both = { .size = sizeof both, .lo = &q, .hi = &q };
    REFUSED(sx_get(ix, &k, &there[1], &call), SX_EINVAL, "queries is on the host");
    REFUSED(sx_get(ix, &q, &o, &call), SX_EINVAL, "rows is on the host");
    REFUSED(sx_rank(ix, &q, SX_LEFT, &o, &call), SX_EINVAL, "ranks is on the host");
    REFUSED(sx_floor(ix, &q, &there[1], &o, &call), SX_EINVAL, "keys is on the host");
    REFUSED(sx_key_at(ix, &k, &there[1], NULL, &call), SX_EINVAL, "ranks is on the host");
    REFUSED(sx_range_count(ix, &lo, &there[1], &call), SX_EINVAL, "lo is on the host");
    REFUSED(sx_range_count(ix, &hi, &there[1], &call), SX_EINVAL, "hi is on the host");
    REFUSED(sx_range(ix, &both, &o, NULL, NULL, &call), SX_EINVAL, "first is on the host");
    REFUSED(sx_range(ix, &both, &there[1], &o, NULL, &call), SX_EINVAL, "rows is on the host");
    REFUSED(sx_range(ix, &both, &there[1], NULL, &o, &call), SX_EINVAL, "keys is on the host");
    REFUSED(sx_build(&on_cpu, dev, "sorted", &k, NULL, &call), SX_EINVAL, "keys is on the host");
    sx_aggregates g = { .size = sizeof g, .sum = &o };
    REFUSED(sx_range_aggregate(ix, &both, &g, &call), SX_EINVAL, "sum is on the host");
    sx_column bare = column(SX_U64, 0, NULL), no_space = slice(&there[1], 0, 3);
    OK(sx_get(ix, &bare, &bare, &call));
    /* Faults that can be found at once are. */
    REFUSED(sx_get(ix, &q, &no_space, &call), SX_ESPACE, "room for 3");
    REFUSED(sx_range(ix, &both, &no_space, NULL, NULL, &call), SX_EINVAL, "room for 3");
    assert_true(out[0] == 0 && out[3] == 3 && out[4] == 7);

    call = (sx_call){ .size = sizeof call, .device_ns = &ns };
    OK(sx_get(ix, &k, &o, &call));
    assert_true(ns != 77);
    REFUSED(sx_build(&on_cpu, cpu, "sorted", &q, NULL, NULL), SX_EINVAL, "place of keys is 1");
    REFUSED(sx_get(on_cpu, &q, &o, NULL), SX_EINVAL, "place of queries is 1");
    sx_column odd = { .type = SX_U64, .place = SX_DEVICE, .n = 1, .data = (char *)q.data + 4 };
    REFUSED(sx_get(ix, &odd, &o, NULL), SX_EINVAL, "multiple of 8");
    for (unsigned i = 0; i < 5; i++)
        sx_column_free(&there[i], dev);
    sx_column_free(&word, dev);
    sx_free(ix);
    sx_free(on_cpu);
    sx_close(dev);
    sx_close(cpu);
}

/* ---- options ---------------------------------------------------------------------------- */

static void test_bad_options(void **state)
{
    (void)state;
    static const struct { const char *options, *name, *value; } bad[] = {
        { "walk=both", "walk", "'both'" }, { "walk=", "walk", "''" }, { "walk", "walk", "option" },
        { "Walk=group", "Walk", "option" }, { "walk=Group", "walk", "'Group'" },
        { "walk=groups", "walk", "'groups'" }, { "walk=grou", "walk", "'grou'" },
        { "pin", "pin", "option" }, { "pin=all", "pin", "'all'" },
        { "reorder=triple", "reorder", "'triple'" }, { "schedule=never", "schedule", "'never'" },
        { "scan=block", "scan", "'block'" }, { "block=100", "block", "100" },
        { "block=64", "block", "64" }, { "block=2048", "block", "2048" },
        { "block=0", "block", "0" }, { "block=", "block", "''" }, { "block=many", "block", "many" },
        { "each=0", "each", "0" }, { "each=65", "each", "65" }, { "each=-1", "each", "-1" },
        { "each=2x", "each", "2x" }, { "each= 2", "each", "' 2'" }, { "each=+2", "each", "+2" },
        { "memory=5XB", "memory", "5XB" }, { "memory=", "memory", "''" },
        { "memory=-5", "memory", "-5" }, { "memory=5GiBs", "memory", "5GiBs" },
        { "memory=5GB", "memory", "5GB" }, { "memory=KiB", "memory", "KiB" },
        { "memory=99999999999GiB", "memory", "99999999999GiB', which is too large" },
        { "memory=99999999999999999999999", "memory", "too large" },
        { "persist=much", "persist", "much" }, { "colour=red", "colour", "option" },
        { "walk=group,", "", "comma" }, { "walk=group,,pin=none", "", "option ''" },
        { ",walk=group", "", "option ''" }, { "walk=group,pin=much", "pin", "'much'" },
        { "walk=alone,walk=group", "walk=", "given twice" },
        { "side=cpu,side=gpu", "side=", "given twice" },
        { "side=cpu,memory=1KiB,memory=1KiB", "memory=", "given twice" },
        { "search=concise,each=2,search=complete", "search=", "given twice" },
        { "persist=0,persist=1", "persist=", "given twice" },
        { "block=1KiB", "block", "'1KiB', not a number" },
        { "each=0KiB", "each", "not a number" }, { "bucket=1KiB", "bucket", "not a number" },
        { "each=99999999999999999999999", "each", "999999; allowed: 1 to 64" },
        { "bucket=4294967312", "bucket", "4294967312; allowed: 16 to 1073741824" },
        { "memory=99999999999999999999999XB", "memory", "not a number" },
        { "depth=65", "depth", "65; allowed: 0 to 64" }, { "depth=-1", "depth", "'-1'" },
        { "depth=", "depth", "''" }, { "depth=1.5", "depth", "'1.5', not a number" },
        { "share=1.01", "share", "'1.01'; allowed: a number from 0 to 1" },
        { "share=2", "share", "'2'; allowed" }, { "share=", "share", "''" },
        { "share=.", "share", "'.'" }, { "share=-0.5", "share", "'-0.5'" },
        { "share=half", "share", "'half'" }, { "share=0.5x", "share", "'0.5x'" },
        { "share=0,5", "", "option '5'" }, { "share=99999999999999999999999", "share", "999" },
        { "share=0.5,share=0.5", "share=", "given twice" },
        { "own=1.01", "own", "'1.01'; allowed: a number from 0 to 1" }, { "own=-1", "own", "'-1'" },
        { "own=", "own", "''" }, { "own=most", "own", "'most'; allowed: a number from 0 to 1, such" },
        { "own=0.5,own=0", "own=", "given twice" }, { "own", "", "option 'own'" },
        { "blocks=0", "blocks", "0; allowed: 1 to 65536" }, { "blocks=65537", "blocks", "65537" },
        { "bucket=15", "bucket", "15; allowed: 16 to 1073741824" },
        { "strategy=triple", "strategy", "'triple'; allowed: sequential, pipelined, double" },
        { "walk=group pin=none", "walk", "group pin" }, { "walk=group=alone", "walk", "group=" },
    };
    static const char *const good[] = {
        "memory=5KiB", "memory=1000000", "memory=3MiB,persist=0", "persist=1GiB", "block=128",
        "block=1024,each=64", "depth=0", "depth=64,share=1", "share=1.000", "share=.25",
        "share=0.1234567890123", "strategy=double,depth=3,share=0", "own=0", "own=1", "own=.36,depth=2",
        "strategy=sequential", "blocks=1", "blocks=65536", "each=1", "walk=group,pin=none", "memory=17179869183GiB",
        "memory=4G,persist=4g", "memory=1TiB,persist=20m", "persist=16Kib,memory=2^32", "memory=1e9",
    };
    sx_device *const mark = (sx_device *)bad, *dev = mark;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        sx_status st = sx_open(&dev, kernel_with(bad[i].options));
        if (st != SX_EINVAL || !strstr(sx_detail(), bad[i].name) ||
            !strstr(sx_detail(), bad[i].value))
            fail_msg("%s: status %d: %s", bad[i].options, (int)st, st ? sx_detail() : "opened");
        assert_ptr_equal(dev, mark);
    }
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        OK(sx_open(&dev, kernel_with(good[i])));
        sx_close(dev);
    }
    static const char *const emulator[] = {
        "simt,", "simt:", "simt:reversed,", "simt:seed=7,", "simt:seed=7x", "simt:seed=",
        "simt:seed=7x,walk=group", "simt:reversed:walk=group", "simt:reversedly", "simt,reversed=1",
        "simt:seed=99999999999999999999999",
    };
    for (size_t i = 0; i < COUNT_OF(emulator); i++) {
        dev = mark;
        sx_status st = sx_open(&dev, emulator[i]);
        if (st != SX_EINVAL && st != SX_ENODEV)
            fail_msg("%s: status %d", emulator[i], (int)st);
        assert_ptr_equal(dev, mark);
    }
    if (!kernel_is_gpu())
        return;
    static const char *const cuda[] = { "cuda:0,", "cuda:99", "cuda:0x", "cuda:-1", "cuda:0:1" };
    for (size_t i = 0; i < COUNT_OF(cuda); i++) {
        sx_status st = sx_open(&dev, cuda[i]);
        if (st != SX_EINVAL && st != SX_ENODEV)
            fail_msg("%s: status %d", cuda[i], (int)st);
    }
}

/* Every kernel there is, by the options that choose it, gives the same answers,
 * also in batches that leave most of a block without work. */
static void test_options(void **state)
{
    (void)state;
    static const char *const more[] = {
        "block=128,each=8", "block=128,each=16", "block=256,each=4", "block=256,each=8",
        "block=512,each=2", "block=512,each=4", "block=1024,each=1", "block=1024,each=2",
    };
    static const char *const kinds[] = {
        "reorder=lookup,pin=none", "reorder=double,pin=full", "walk=alone,schedule=dynamic",
        "walk=shared,schedule=static", "walk=group,schedule=dynamic", "",
    };
    static const uint64_t batches[] = { 0, 1, 2, 31, 32, 33, 63, 64, 65, 1023, 1025, 2049 };
    rnd r = rnd_start(test_seed());
    unsigned turn = 0;
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (size_t m = 0; m < COUNT_OF(more); m++) {
            char options[128];
            snprintf(options, sizeof options, "%s%s%s", kinds[k], *kinds[k] ? "," : "", more[m]);
            sx_device *dev = device_open(kernel_with(options));
            for (unsigned w = 0; w < 3; w++, turn++) {
                uint64_t n = 1 + rnd_below(&r, 1500);
                dataset *d = data_make(device_widths[w], KEYS_DUPLICATES, n,
                                       (row_kind)(turn % ROWS_KINDS),
                                       batches[turn % COUNT_OF(batches)], &r);
                const char *spec = device_specs[turn % DEVICE_SPECS];
                char what[300];
                snprintf(what, sizeof what, "%s, %s, %" PRIu64 " keys of %s, %" PRIu64 " queries",
                         options, spec, n, sx_type_name(device_widths[w]), d->queries);
                sx_index *ix = index_of(dev, d, spec);
                ask_all(asking, dev, ix, d, what);
                sx_free(ix);
                data_free(d);
            }
            sx_close(dev);
        }
}

static void test_small_batches(void **state)
{
    (void)state;
    static const uint64_t batches[] = { 0, 1, 2, 3, 31, 32, 33, 63, 64, 65 };
    rnd r = rnd_start(test_seed());
    for (unsigned i = 0; i < KERNEL_OPTIONS; i++) {
        sx_device *dev = device_open(kernel_device(i));
        for (size_t b = 0; b < COUNT_OF(batches); b++) {
            const char *spec = device_specs[(i + b) % DEVICE_SPECS];
            dataset *d = data_make(key_types[(i + b) % COUNT_OF(key_types)], KEYS_RANDOM,
                                   rnd_below(&r, 400), ROWS_NULL, batches[b], &r);
            sx_index *ix = index_of(dev, d, spec);
            ask_all(asking, dev, ix, d, kernel_device(i));
            sx_free(ix);
            data_free(d);
        }
        sx_close(dev);
    }
}

/* ---- devices --------------------------------------------------------------------------- */

/* Two devices on one GPU: neither knows the other's indexes and columns. */
static void test_two_devices(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 3000, ROWS_U32, 500, &r);
    sx_device *one = device_open(kernel_with("")), *two = device_open(kernel_with("walk=alone"));
    sx_index *a = index_of(one, d, "pivot"), *b = index_of(two, d, "eytzinger");
    ask_all(asking, one, a, d, "the first");
    ask_all(asking, two, b, d, "the second");
    sx_free(a);
    sx_close(one);
    ask_all(asking, two, b, d, "the second alone");
    one = device_open(kernel_with(""));
    a = index_of(one, d, "sorted");
    sx_close(two);
    ask_all(asking, NULL, b, d, "the second, closed");
    ask_all(asking, one, a, d, "the first again");
    sx_free(b);
    sx_free(a);
    sx_close(one);
    data_free(d);
}

/* Threads that ask one index at once, in every way, each on a stream of its own. */
typedef struct {
    pthread_t thread;
    unsigned number;
    sx_device *dev;
    const sx_index *ix;
    const dataset *d;
    char why[600];
} asking_thread;

static void *ask_often(void *arg)
{
    asking_thread *t = arg;
    asker *a = asker_new();
    a->r = rnd_start(test_seed() + t->number);  /* no two take the same ways */
    asker_use(a, t->dev);
    for (unsigned i = 0; i < 4 && !t->why[0]; i++) {
        const char *why = ask(a, t->ix, t->d, i % 2 ? SX_U32 : SX_U64, NULL);
        if (why)
            snprintf(t->why, sizeof t->why, "%s", why);
    }
    asker_free(a);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    sx_device *dev = device_open(kernel_with(""));
    rnd r = rnd_start(test_seed());
    for (unsigned s = 0; s < DEVICE_SPECS; s++) {
        asking_thread t[THREADS];
        dataset *d = data_make(device_widths[s % 3], KEYS_RANDOM, 2000, ROWS_U32, 400, &r);
        begin_step("threads, %s", device_specs[s]);
        sx_index *ix = index_of(dev, d, device_specs[s]);
        for (unsigned i = 0; i < THREADS; i++) {
            t[i] = (asking_thread){ .number = i, .dev = dev, .ix = ix, .d = d };
            if (pthread_create(&t[i].thread, NULL, ask_often, &t[i]) != 0)
                die("no thread");
        }
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(t[i].thread, NULL);
        for (unsigned i = 0; i < THREADS; i++)
            if (t[i].why[0])
                fail_msg("%s, thread %u: %s", device_specs[s], i, t[i].why);
        sx_free(ix);
        data_free(d);
    }
    sx_close(dev);
}

/* A pointer that is not in the memory its column says. The emulator can't tell. */
static void test_pointers(void **state)
{
    (void)state;
    if (!kernel_is_gpu())
        SKIP("the emulator can't tell where a pointer points to: make gpu-test");
    sx_device *dev = device_open(kernel_with(""));
    uint64_t keys[4] = { 1, 2, 3, 4 }, out[5] = { 7, 7, 7, 7, 7 };
    sx_column host = column(SX_U64, 4, keys), to = column(SX_U64, 5, out), there;
    sx_index *ix = NULL;
    OK(sx_column_new(&there, dev, SX_U64, 5));
    OK(sx_build(&ix, dev, "sorted", &host, NULL, NULL));
    sx_column said_there = host, out_there = to, said_host = there;
    said_there.place = out_there.place = SX_DEVICE;
    said_host.place = SX_HOST;
    sx_ranges lo = { .size = sizeof lo, .lo = &said_there, .hi = &host };
    sx_ranges hi = { .size = sizeof hi, .lo = &host, .hi = &said_host };
    sx_ranges both = { .size = sizeof both, .lo = &host, .hi = &host };
    sx_call call = { .size = sizeof call, .stream = (void *)2, .status = (uint32_t *)out };
    sx_column q = slice(&there, 0, 4);
    REFUSED(sx_get(ix, &said_there, &to, NULL), SX_EINVAL, "queries");
    REFUSED(sx_get(ix, &said_host, &to, NULL), SX_EINVAL, "queries");
    REFUSED(sx_get(ix, &host, &out_there, NULL), SX_EINVAL, "rows");
    REFUSED(sx_get(ix, &host, &said_host, NULL), SX_EINVAL, "rows");
    REFUSED(sx_floor(ix, &host, &to, &said_host, NULL), SX_EINVAL, "keys");
    REFUSED(sx_rank(ix, &host, SX_LEFT, &out_there, NULL), SX_EINVAL, "ranks");
    REFUSED(sx_key_at(ix, &said_there, &to, NULL, NULL), SX_EINVAL, "ranks");
    REFUSED(sx_range_count(ix, &lo, &to, NULL), SX_EINVAL, "lo");
    REFUSED(sx_range_count(ix, &hi, &to, NULL), SX_EINVAL, "hi");
    REFUSED(sx_range(ix, &both, &out_there, NULL, NULL, NULL), SX_EINVAL, "first");
    REFUSED(sx_build(&ix, dev, "sorted", &said_there, NULL, NULL), SX_EINVAL, "keys");
    REFUSED(sx_build(&ix, dev, "sorted", &host, &said_there, NULL), SX_EINVAL, "rows");
    REFUSED(sx_column_copy(&to, &said_host, dev), SX_EINVAL, "from");
    REFUSED(sx_column_copy(&out_there, &host, dev), SX_EINVAL, "to");
    REFUSED(sx_get(ix, &q, &there, &call), SX_EINVAL, "status");
    for (unsigned i = 0; i < 5; i++)
        assert_true(out[i] == 7);
    sx_column_free(&there, dev);
    sx_free(ix);
    sx_close(dev);
}

/* In a child a GPU is gone: every call says so, and letting go is harmless.
 * Exits with the number of the step that went wrong, or 0. */
static int child(sx_device *dev, sx_index *ix, sx_column *there, const dataset *d)
{
    sx_index *made = NULL;
    uint64_t out[4] = { 7, 7, 7, 7 };
    sx_column q = column(d->type, 4, d->q.data), o = column(SX_U64, 4, out), c;
    alarm(HANGS_S);
    if (data_build(d, dev, "pivot", NULL, &made) != SX_EFORK || made)
        return 1;
    if (!strstr(sx_detail(), "fork"))
        return 2;
    if (sx_get(ix, &q, &o, NULL) != SX_EFORK || out[0] != 7)
        return 3;
    if (sx_column_new(&c, dev, SX_U32, 4) != SX_EFORK)
        return 4;
    if (sx_column_copy(there, &q, dev) != SX_EFORK)
        return 5;
    sx_column_free(there, dev);
    sx_free(ix);
    sx_close(dev);
    return 0;
}

static void test_fork(void **state)
{
    (void)state;
    if (!kernel_is_gpu())
        SKIP("an emulated GPU works on after fork(): make gpu-test");
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 3000, ROWS_U32, 500, &r);
    sx_device *dev = device_open(kernel_with(""));
    sx_column there;
    int status = 0;
    sx_index *ix = index_of(dev, d, "pivot");
    OK(sx_column_new(&there, dev, SX_U64, 4));
    ask_all(asking, dev, ix, d, "before");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(dev, ix, &there, d));
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        die("fork");
    if (status != 0)
        fail_msg("the child: step %d, signal %d", WEXITSTATUS(status), WTERMSIG(status));
    ask_all(asking, dev, ix, d, "the parent goes on");
    sx_column_free(&there, dev);
    sx_free(ix);
    sx_close(dev);
    data_free(d);
}

/* A backend without the kernels of a lab refuses the options that choose them, and no
 * others. */
static void test_lab(void **state)
{
    (void)state;
    static const char *const lab[] = { "walk=group", "pin=constant", "reorder=none", "schedule=static",
                                       "block=256", "each=2", "memory=1GiB,each=2" };
    static const char *const plain[] = { "", "walk=alone", "walk=shared,pin=full", "walk=whole", "pin=none",
                                         "scan=warp,bucket=32,search=concise,side=cpu,persist=0" };
    sx_gpu_tune tune;
    sx_err err;
    for (unsigned i = 0; i < COUNT_OF(lab); i++) {
        assert_int_equal(sx_gpu_tune_parse(&tune, lab[i], "cuda", 1, &err), SX_OK);
        assert_int_equal(sx_gpu_tune_parse(&tune, lab[i], "cuda", 0, &err), SX_EINVAL);
        assert_non_null(strstr(err.text, "doc/LAB.md"));
    }
    for (unsigned i = 0; i < COUNT_OF(plain); i++)
        for (int with = 0; with < 2; with++)
            assert_int_equal(sx_gpu_tune_parse(&tune, plain[i], "cuda", with, &err), SX_OK);
    assert_int_equal(sx_gpu_tune_parse(&tune, "walk=some", "cuda", 0, &err), SX_EINVAL);
    assert_non_null(strstr(err.text, "allowed: alone, shared, whole"));
    assert_null(strstr(err.text, "group"));
}

/* Keys that ascend but for one place, keys that are distinct but for one pair, and rows that may be but for
 * one. That place is seen wherever it is, between threads, warps or blocks that look at them. */
static void one_place(sx_device *dev, uint32_t n)
{
    uint32_t data[300] = { 0 }, row[300] = { 0 };
    sx_column keys = column(SX_U32, n, data), rows = column(SX_U32, n, row);
    sx_index *ix = NULL;
    for (uint32_t place = 1; place < n; place++) {
        uint32_t found = 0;
        sx_column q = column(SX_U32, 1, &data[place]), out = column(SX_U32, 1, &found);
        char word[40];
        begin_step("place %u of %u", place, n);
        for (uint32_t i = 0; i < n; i++) {
            data[i] = 2 * i + (i < place ? 2 * n : 0);
            row[i] = i == place ? UINT32_MAX : i;
        }
        OK(sx_build(&ix, dev, "sorted", &keys, NULL, NULL));
        OK(sx_check(ix, NULL));
        OK(sx_get(ix, &q, &out, NULL));
        assert_int_equal(found, place);
        sx_free(ix);
        snprintf(word, sizeof word, "at position %u is reserved", place);
        REFUSED(sx_build(&ix, dev, "sorted", &keys, &rows, NULL), SX_EINVAL, word);
        for (uint32_t i = 0; i < n; i++)
            data[i] = 2 * (i - (i >= place));
        snprintf(word, sizeof word, "rows %u and %u ", place - 1, place);
        REFUSED(sx_build(&ix, dev, "sorted unique", &keys, NULL, NULL), SX_EINVAL, word);
        OK(sx_build(&ix, dev, "sorted(layout=once)", &keys, NULL, NULL));
        OK(sx_check(ix, NULL));
        sx_free(ix);
    }
}

static void test_one_place(void **state)
{
    (void)state;
    sx_device *dev = device_open(kernel_with(""));
    one_place(dev, 300);          /* more than a block of the emulator looks at once */
    one_place(dev, 200);          /* sorted there before anything is known of them */
    one_place(dev, 100);          /* sorted by comparing each pair */
    sx_close(dev);
}

/* The right bound of the largest key there is: behind all, however lanes walk. Three such keys
 * are among n, which fill no leaf. */
static void test_largest_key(void **state)
{
    (void)state;
    static const char *const walks[] = { "walk=alone", "walk=shared", "walk=shared,pin=full" };
    static const char *const specs[] = { "pivot(k=9)", "pivot(k=5)", "guide", "pgm(eps=4)", "btree",
                                         "eytzinger(k=9)" };
    enum { MANY = 1003, ASKED = 40 };
    uint64_t keys[MANY], asked[ASKED], rank[ASKED];
    for (unsigned i = 0; i < MANY; i++)
        keys[i] = i < MANY - 3 ? i * 1000ull : UINT64_MAX;
    for (unsigned i = 0; i < ASKED; i++)
        asked[i] = i % 3 ? UINT64_MAX : i * 1000ull;
    for (unsigned w = 0; w < 3; w++) {
        sx_device *dev = device_open(kernel_with(walks[w]));
        for (unsigned s = 0; s < sizeof specs / sizeof specs[0]; s++) {
            sx_column k = column(SX_U64, MANY, keys), q = column(SX_U64, ASKED, asked);
            sx_column out = column(SX_U64, ASKED, rank);
            sx_index *ix = NULL;
            OK(sx_build(&ix, dev, specs[s], &k, NULL, NULL));
            OK(sx_rank(ix, &q, SX_RIGHT, &out, NULL));
            for (unsigned i = 0; i < ASKED; i++)
                if (rank[i] != (i % 3 ? MANY : i + 1))
                    fail_msg("%s, %s: question %u has rank %llu", walks[w], specs[s], i,
                             (unsigned long long)rank[i]);
            sx_free(ix);
        }
        sx_close(dev);
    }
}

/* Builds of about as many keys as the last that are sorted pair by pair, and as the last that are sorted
 * before anything is known of them: the emulator's, and a GPU's. Some are the largest key there is,
 * which also fills what is behind the last. */
static void test_build_sizes(void **state)
{
    (void)state;
    static const uint64_t here[] = { 64, 128, 160, 256 }, gpu[] = { 96, 4096, 1 << 18, 1 << 20 };
    static const key_kind kinds[] = { KEYS_DUPLICATES, KEYS_MOST, KEYS_EXTREMES };
    static const char *const specs[] = { "sorted", "sorted(layout=once)", "auto(for=point)" };
    const uint64_t *sizes = kernel_is_gpu() ? gpu : here;
    sx_device *dev = device_open(kernel_with(""));
    rnd r = rnd_start(test_seed());
    unsigned turn = 0;
    for (unsigned w = 0; w < 3; w++)
        for (unsigned i = 0; i < 3 * COUNT_OF(here); i++)
            for (unsigned k = 0; k < COUNT_OF(kinds); k++, turn++) {
                uint64_t n = sizes[i / 3] + i % 3 - 1;
                const char *spec = specs[(w + i + k) % COUNT_OF(specs)];
                dataset *d = data_make(device_widths[w], kinds[k], n,
                                       turn % 2 ? ROWS_NULL : ROWS_U32, 100, &r);
                sx_index *ix = index_of(dev, d, spec);
                char what[100];
                snprintf(what, sizeof what, "%s, %" PRIu64 " keys of %s, kind %d", spec, n,
                         sx_type_name(device_widths[w]), (int)kinds[k]);
                ask_all(asking, dev, ix, d, what);
                sx_free(ix);
                data_free(d);
            }
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lab),
        cmocka_unit_test(test_build_sizes),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_columns_refused),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_small_batches),
        cmocka_unit_test(test_two_devices),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_one_place),
        cmocka_unit_test(test_largest_key),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("device", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
