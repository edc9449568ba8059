/* test_changing.c - columns that change while the library reads them.
 *
 * That is against the contract, but it may cost no more than a wrong answer: nothing
 * may be read or written outside. Columns lie in memory that is watched. Each time the
 * library begins to read it anew, it traps, and at one of these times all of it
 * changes. So every moment between two passes has its turn. If several threads work,
 * passes have no such order, and another thread keeps changing columns instead.
 *
 * Arrays are small enough to come from the heap, which AddressSanitizer watches, and
 * those of the sort are between pages that trap. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "ask.h"
#include "exercise.h"
#include "keys/encode.h"
#include "sort/sort.h"

/* ---- memory that is watched ------------------------------------------------- */

/* Either its first page or its last is shut. An access to that page opens it, and shuts the
 * other. So a thread that reads it from begin to end, again and again, is seen once at the
 * begin of each pass. */
typedef struct {
    unsigned char *data;
    size_t bytes;                 /* whole pages, two or more */
    const unsigned char *other;   /* what it changes to ... */
    unsigned at;                  /* ... when this pass begins, from 1; 0: never */
    volatile unsigned passes;     /* seen so far */
} watched;

static watched *watched_now;
static size_t page;
/* Threads of the library block signals: a trap would kill them. */
static const sx_call alone = { .size = sizeof alone, .threads = 1 };

static void shut(unsigned char *at, int how)
{
    if (mprotect(at, page, how))
        abort();
}

static void trapped(int signal_number, siginfo_t *info, void *context)
{
    watched *w = watched_now;
    unsigned char *at = info->si_addr;
    (void)context;
    if (w && at >= w->data && at < w->data + page) {
        shut(w->data, PROT_READ | PROT_WRITE);
        if (++w->passes == w->at) {
            shut(w->data + w->bytes - page, PROT_READ | PROT_WRITE);
            memcpy(w->data, w->other, w->bytes);
        }
        shut(w->data + w->bytes - page, PROT_NONE);
    } else if (w && at >= w->data + w->bytes - page && at < w->data + w->bytes) {
        shut(w->data + w->bytes - page, PROT_READ | PROT_WRITE);
        shut(w->data, PROT_NONE);
    } else {
        signal(signal_number, SIG_DFL);         /* a real fault: it comes again, and kills */
    }
}

static watched watched_new(size_t bytes)
{
    struct sigaction action = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_NODEFER };
    watched w = { 0 };
    page = (size_t)sysconf(_SC_PAGESIZE);
    w.bytes = (bytes + page - 1) / page * page;
    if (w.bytes < 2 * page)
        w.bytes = 2 * page;
    w.data = mmap(NULL, w.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigemptyset(&action.sa_mask);
    if (w.data == MAP_FAILED || sigaction(SIGSEGV, &action, NULL))
        die("watched memory: %s", strerror(errno));
    return w;
}

static void watched_free(watched *w)
{
    munmap(w->data, w->bytes);
}

/* Begins with these contents, and changes to the others when pass `at` begins. */
static void watch(watched *w, const unsigned char *contents, const unsigned char *other, unsigned at)
{
    memcpy(w->data, contents, w->bytes);
    w->other = other;
    w->at = at;
    w->passes = 0;
    watched_now = w;
    shut(w->data, PROT_NONE);
}

static void watch_end(watched *w)
{
    shut(w->data, PROT_READ | PROT_WRITE);
    shut(w->data + w->bytes - page, PROT_READ | PROT_WRITE);
    watched_now = NULL;
}

/* The first passes each have their turn, and the last ones; of the many between, some. */
static unsigned next_pass(unsigned at, unsigned passes)
{
    if (at < 6 || at + 5 > passes)
        return at + 1;
    return 3 * at < passes - 4 ? 3 * at : passes - 4;
}

/* ---- what columns change to -------------------------------------------------- */

typedef enum { TO_ONES, TO_ZEROS, TO_RANDOM, TO_SWAPPED, CHANGES } change;

/* The bytes that `w` changes to, if it was `before`. Free them. */
static unsigned char *changed(const watched *w, const unsigned char *before, change how, rnd *r)
{
    unsigned char *to = need(w->bytes);
    for (size_t i = 0; i < w->bytes; i++)
        to[i] = how == TO_ONES ? 0xff : how == TO_ZEROS ? 0 : how == TO_RANDOM
              ? (unsigned char)rnd_next(r) : before[w->bytes - 1 - i];
    return to;
}

static unsigned char *random_bytes(size_t bytes, rnd *r)
{
    unsigned char *b = need(bytes + 8);
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t x = rnd_next(r);
        memcpy(b + i, &x, 8);
    }
    return b;
}

/* ---- the sort, between pages that trap ------------------------------------------- */

static bool ascends(unsigned width, uint64_t n, const unsigned char *keys)
{
    for (uint64_t i = 0; i + 1 < n; i++) {
        sx_key16 a = 0, b = 0;
        memcpy(&a, keys + i * width, width);              /* little-endian, as everywhere */
        memcpy(&b, keys + (i + 1) * width, width);
        if (a > b)
            return false;
    }
    return true;
}

static void test_sort(void **state)
{
    (void)state;
    static const unsigned widths[] = { 4, 8, 16 };
    rnd r = rnd_start(test_seed());
    sx_pool *pool;
    sx_err err;
    unsigned refused = 0;
    assert_int_equal(sx_pool_new(&pool, 1, 0, &err), SX_OK);
    for (unsigned t = 0; t < 2 * COUNT_OF(widths) * CHANGES; t++) {
        const uint64_t n = 160000;                        /* larger than IN_CACHE */
        unsigned width = widths[t % 3], row_bytes = t % 2 ? 4 : 8;
        watched w = watched_new(n * width);
        unsigned char *keys = random_bytes(w.bytes, &r);
        unsigned char *other = changed(&w, keys, (change)(t / 6), &r);
        unsigned char *rows = random_bytes(n * row_bytes, &r);
        guard g[4] = { { 0 } };
        sx_sort_arrays a = { .width = width, .row_bytes = row_bytes, .n = n, .in_keys = w.data,
                             .in_rows = rows };
        for (unsigned i = 0; i < 2; i++) {
            a.keys[i] = guard_fit(&g[i], n * width, true);
            a.rows[i] = guard_fit(&g[2 + i], n * row_bytes, true);
        }
        unsigned passes = 0;
        for (unsigned at = 0; at <= passes; at = next_pass(at, passes)) {
            watch(&w, keys, other, at);
            sx_status st = sx_sort(pool, 1, &a, &err);
            watch_end(&w);
            if (at == 0)
                passes = w.passes;
            if (st != SX_OK && (st != SX_EINVAL || at == 0 || !strstr(err.text, "changed")))
                fail_msg("change %u in pass %u: status %d, %s", t, at, (int)st, err.text);
            refused += st != SX_OK;
            for (unsigned i = 0; i < COUNT_OF(g); i++)
                assert_true(guard_intact(&g[i]));
            if (st == SX_OK && !ascends(width, n, a.keys[0]))
                fail_msg("change %u in pass %u: not sorted, and nothing said", t, at);
        }
        assert_true(passes >= 3);                         /* it looks, counts, spreads */
        for (unsigned i = 0; i < COUNT_OF(g); i++)
            guard_free(&g[i]);
        free(keys);
        free(other);
        free(rows);
        watched_free(&w);
    }
    assert_true(refused > 0);                             /* it did change in between */
    sx_pool_free(pool);
}

/* ---- builds ------------------------------------------------------------------------ */

static const char *const specs[] = {
    "sorted", "sorted(layout=pairs)", "pivot", "pivot(layout=pairs)", "eytzinger(k=9)",
    "eytzinger(k=4,layout=pairs)", "guide", "guide(layout=pairs)", "pgm(eps=4,cuts=7)",
    "pgm(eps=2,layout=pairs)", "btree", "btree(fill=90)", "pivot unique",
    "radix(leaf=2)",
};

/* The sort spreads only more keys than these. */
static uint64_t enough_keys(int type)
{
    return (1u << 20) / (sx_type_bytes(type) + 4) + 3000;
}

static void judge(sx_status st, sx_index *ix, const char *what)
{
    if (st != SX_OK && st != SX_EINVAL)
        fail_msg("%s: status %d: %s", what, (int)st, sx_detail());
    const char *wrong = st == SX_OK ? exercise(ix, test_seed()) : NULL;
    if (wrong)
        fail_msg("%s: %s", what, wrong);
    if (st == SX_OK)
        sx_free(ix);
}

/* Changes the keys (or the rows) of a build in each of its passes. Of n keys the first `skip` are not the
 * build's, and then each pass has its turn. */
static void build_in_passes(sx_device *dev, int place, const char *spec, int type, uint64_t n, uint64_t skip,
                            bool ascending, bool change_rows, change how, rnd *r)
{
    size_t width = sx_type_bytes(type), row_bytes = (place == SX_DEVICE || type % 2) && skip == 0 ? 8 : 4;
    watched w = watched_new(n * (change_rows ? row_bytes : width));
    unsigned char *keys = need(n * width + w.bytes), *rows = need(n * row_bytes + w.bytes), *other;
    unsigned passes = 0;
    char what[200];
    keys_make(type, KEYS_RANDOM, n, r, keys);
    if (ascending) {
        oracle *o = oracle_new(type, n, keys, NULL);
        memcpy(keys, o->keys, n * width);
        oracle_free(o);
    }
    if (skip > 0)                 /* the last of a page is the largest */
        memset(keys + (page / width - 1) * width, 0xff, width);
    for (uint64_t i = 0; i < n; i++)
        memcpy(rows + i * row_bytes, &i, row_bytes);
    other = changed(&w, change_rows ? rows : keys, how, r);
    for (unsigned at = 0; at <= passes; at = skip > 0 ? at + 1 : next_pass(at, passes)) {
        sx_column k = column(type, n - skip, (change_rows ? keys : w.data) + skip * width);
        sx_column rw = column(row_bytes == 8 ? SX_U64 : SX_U32, n - skip,
                              (change_rows ? w.data : rows) + skip * row_bytes);
        sx_index *ix = NULL;
        k.place = rw.place = place;
        snprintf(what, sizeof what, "%s of %s, %s change in pass %u of %u", spec, sx_type_name(type),
                 change_rows ? "rows" : "keys", at, passes);
        watch(&w, change_rows ? rows : keys, other, at);
        sx_status st = sx_build(&ix, dev, spec, &k, change_rows || at % 2 ? &rw : NULL, &alone);
        watch_end(&w);
        if (at == 0)
            passes = w.passes;
        if (at == 0 && st == SX_OK && !strstr(spec, "unique"))
            assert_int_equal(sx_check(ix, NULL), SX_OK);
        judge(st, ix, what);
    }
    assert_true(passes >= 1);
    free(keys);
    free(rows);
    free(other);
    watched_free(&w);
}

static void test_build(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=1");
    rnd r = rnd_start(test_seed());
    for (size_t t = 0; t < COUNT_OF(key_types); t++)
        for (size_t s = 0; s < COUNT_OF(specs); s++) {
            int type = key_types[t];
            change how = (change)((t + s) % CHANGES);
            build_in_passes(dev, SX_HOST, specs[s], type, enough_keys(type), 0, s % 4 == 3, false,
                            how, &r);
            if (s % 3 == t % 3)
                build_in_passes(dev, SX_HOST, specs[s], type, 5000, 0, s % 4 == 1, s % 2, how, &r);
        }
    sx_close(dev);
}

/* On a device, in its memory and in the host's. */
static void test_build_kernels(void **state)
{
    (void)state;
    static const int types[] = { SX_U64, SX_U32, SX_F64, SX_B16 };
    sx_device *dev = device_open("simt");
    rnd r = rnd_start(test_seed());
    for (size_t t = 0; t < 2; t++)
        for (int how = 0; how < CHANGES; how++)
            build_in_passes(dev, SX_DEVICE, "sorted", types[t], enough_keys(types[t]) + t, 0, false,
                            false, (change)how, &r);
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (size_t s = 0; s < COUNT_OF(specs); s += 2)
            build_in_passes(dev, s % 4 ? SX_HOST : SX_DEVICE, specs[(s + t) % COUNT_OF(specs)],
                            types[t], 3000, 0, s == 4, s == 6, (change)((t + s) % CHANGES), &r);
    sx_close(dev);
}

/* Few keys, which a GPU compares with each other where they are: half of them in one page, the others in
 * the next. A thread that has read its key, and the one behind it, sees another in its place then. */
static void test_build_few(void **state)
{
    (void)state;
    static const char *const names[] = { "simt", "simt:reversed" };
    static const int types[] = { SX_U64, SX_U32, SX_B16 };
    rnd r = rnd_start(test_seed());
    for (size_t d = 0; d < COUNT_OF(names); d++) {
        sx_device *dev = device_open(names[d]);
        for (size_t t = 0; t < COUNT_OF(types); t++) {
            uint64_t skip = (uint64_t)sysconf(_SC_PAGESIZE) / sx_type_bytes(types[t]) - 32;
            build_in_passes(dev, SX_DEVICE, t % 2 ? "sorted" : "auto(for=point)", types[t], skip + 64, skip,
                            false, false, TO_ZEROS, &r);
        }
        sx_close(dev);
    }
}

/* ---- a thread that keeps changing columns ----------------------------------------- */

typedef struct {
    unsigned char *data[3];
    size_t bytes[3];
    atomic_int stop;
    uint64_t seed;
} changer;

static void *keep_changing(void *arg)
{
    changer *c = arg;
    rnd r = rnd_start(c->seed);
    while (!atomic_load(&c->stop))
        for (unsigned i = 0; i < COUNT_OF(c->data); i++) {
            size_t at = rnd_below(&r, c->bytes[i] / 8) * 8, n = 8 * rnd_below(&r, 4000);
            uint64_t x = rnd_below(&r, 3) ? rnd_next(&r) : UINT64_MAX;
            if (!c->data[i])
                continue;
            for (; n > 0 && at + 8 <= c->bytes[i]; n -= 8, at += 8)
                __atomic_store_n((uint64_t *)(void *)(c->data[i] + at), x += x < 2, __ATOMIC_RELAXED);
        }
    return NULL;
}

static pthread_t start_changing(changer *c)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, keep_changing, c))
        die("no thread");
    return thread;
}

static void stop_changing(changer *c, pthread_t thread)
{
    atomic_store(&c->stop, 1);
    pthread_join(thread, NULL);
}

static void test_build_by_thread(void **state)
{
    (void)state;
    static const char *const names[] = { "cpu:threads=1", "cpu:threads=2" };
    rnd r = rnd_start(test_seed());
    for (size_t d = 0; d < COUNT_OF(names); d++) {
        sx_device *dev = device_open(names[d]);
        for (size_t t = 0; t < COUNT_OF(key_types); t++) {
            int type = key_types[t];
            uint64_t n = enough_keys(type);
            size_t width = sx_type_bytes(type), row_bytes = t % 2 ? 8 : 4;
            changer c = { .bytes = { n * width / 8 * 8, n * row_bytes / 8 * 8 },
                          .seed = rnd_next(&r) };
            c.data[0] = random_bytes(n * width, &r);
            c.data[1] = random_bytes(n * row_bytes, &r);
            pthread_t thread = start_changing(&c);
            for (size_t s = 0; s < 4; s++) {
                const char *spec = specs[(2 * t + s) % COUNT_OF(specs)];
                sx_column keys = column(type, n, c.data[0]);
                sx_column rows = column(row_bytes == 8 ? SX_U64 : SX_U32, n, c.data[1]);
                sx_index *ix = NULL;
                sx_status st = sx_build(&ix, dev, spec, &keys, s % 2 ? &rows : NULL, NULL);
                judge(st, ix, spec);
            }
            stop_changing(&c, thread);
            free(c.data[0]);
            free(c.data[1]);
        }
        sx_close(dev);
    }
}

/* ---- ranges: counted, then filled ---------------------------------------------------- */

#define RANGES 3000u

typedef struct {
    sx_device *dev;
    sx_index *ix;
    uint64_t n;
} scene;

static scene make_scene(const char *device, const char *spec)
{
    scene s = { .dev = device_open(device), .n = 2000 };
    uint64_t keys[2000];
    for (uint64_t i = 0; i < s.n; i++)
        keys[i] = i * 10;
    sx_column k = column(SX_U64, s.n, keys), rows = column(SX_U64, s.n, keys);
    if (sx_build(&s.ix, s.dev, spec, &k, &rows, NULL) != SX_OK)
        die("%s: %s", spec, sx_detail());
    return s;
}

static void free_scene(scene *s)
{
    sx_free(s->ix);
    sx_close(s->dev);
}

/* Ends of short ranges, all over the keys (begin) or just before their end. */
static void make_ends(uint64_t *lo, uint64_t *hi, size_t space, bool at_end)
{
    for (size_t i = 0; i < space; i++) {
        lo[i] = at_end ? 19980 : i * 6 % 19000;
        hi[i] = lo[i] + (at_end ? 5 : 60);
    }
}

/* The ranges that are filled differ from those that were counted. */
static void ranges_in_passes(const char *device, const char *spec, int place, unsigned which)
{
    scene s = make_scene(device, spec);
    watched w = watched_new(RANGES * 8 + 8);
    size_t space = w.bytes / 8;
    uint64_t *ends[2][2], *first = need(w.bytes), *none = need(w.bytes);
    unsigned passes = 0;
    for (unsigned i = 0; i < 4; i++)
        ends[i / 2][i % 2] = need(w.bytes);
    make_ends(ends[0][0], ends[0][1], space, false);
    make_ends(ends[1][0], ends[1][1], space, true);
    memset(first, 0x5a, w.bytes);
    for (size_t i = 0; i < space; i++)           /* offsets that are nonsense */
        none[i] = i % 3 ? (uint64_t)i << (i % 60) : 7;
    for (unsigned at = 0; at <= passes; at = next_pass(at, passes)) {
        sx_column lo = column(SX_U64, RANGES, which == 0 ? (uint64_t *)(void *)w.data : ends[0][0]);
        sx_column hi = column(SX_U64, RANGES, which == 1 ? (uint64_t *)(void *)w.data : ends[0][1]);
        sx_column to = column(SX_U64, RANGES + 1, which == 2 ? (uint64_t *)(void *)w.data : first);
        sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
        guard g[2] = { { 0 } };
        uint64_t hits = 7 * RANGES;
        sx_column rows = column(SX_U64, hits, guard_fit(&g[0], hits * 8, true));
        sx_column keys = column(SX_U64, hits, guard_fit(&g[1], hits * 8, true));
        lo.place = hi.place = to.place = rows.place = keys.place = place;
        watch(&w, which == 2 ? (unsigned char *)first : (unsigned char *)ends[0][which],
              which == 2 ? (unsigned char *)none : (unsigned char *)ends[1][which], at);
        sx_status st = sx_range(s.ix, &ranges, &to, &rows, &keys, &alone);
        watch_end(&w);
        if (at == 0)
            passes = w.passes;
        if (st != SX_OK && (at == 0 || st != SX_ESPACE))
            fail_msg("%s, %s, pass %u of %u: status %d: %s", device, spec, at, passes, (int)st,
                     sx_detail());
        for (unsigned i = 0; i < 2; i++) {
            assert_true(guard_intact(&g[i]));
            guard_free(&g[i]);
        }
    }
    assert_true(passes >= 1);
    for (unsigned i = 0; i < 4; i++)
        free(ends[i / 2][i % 2]);
    free(first);
    free(none);
    watched_free(&w);
    free_scene(&s);
}

static void test_ranges(void **state)
{
    (void)state;
    static const char *const families[] = { "sorted", "eytzinger(k=9)", "pivot(layout=pairs)" };
    for (size_t i = 0; i < COUNT_OF(families); i++)
        for (unsigned which = 0; which < 3; which++) {
            char hosted[SX_SPEC_MAX];
            snprintf(hosted, sizeof hosted, "%s place=host", families[i]);
            ranges_in_passes("cpu:threads=1", families[i], SX_HOST, which);
            ranges_in_passes("simt", families[i], SX_HOST, which);
            ranges_in_passes("simt", families[i], SX_DEVICE, which);
            ranges_in_passes("simt", hosted, SX_HOST, which);
            ranges_in_passes("simt", hosted, SX_DEVICE, which);
        }
}

/* The same with a thread that changes both ends and the offsets all the time. */
static void test_ranges_by_thread(void **state)
{
    (void)state;
    static const char *const devices[] = { "cpu:threads=2", "simt" };
    rnd r = rnd_start(test_seed());
    for (size_t d = 0; d < COUNT_OF(devices); d++)
        for (unsigned round = 0; round < 60; round++) {
            scene s = make_scene(devices[d], specs[round % 6]);
            uint64_t *ends[2] = { need(RANGES * 8), need(RANGES * 8) };
            uint64_t hits = 7 * RANGES, *first = need((RANGES + 1) * 8);
            guard g[2] = { { 0 } };
            sx_column rows = column(SX_U64, hits, guard_fit(&g[0], hits * 8, true));
            sx_column keys = column(SX_U64, hits, guard_fit(&g[1], hits * 8, true));
            sx_column lo = column(SX_U64, RANGES, ends[0]), hi = column(SX_U64, RANGES, ends[1]);
            sx_column to = column(SX_U64, RANGES + 1, first);
            sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi, .limit = 7 };
            changer c = { .data = { (unsigned char *)ends[0], (unsigned char *)ends[1],
                                    (unsigned char *)first },
                          .bytes = { RANGES * 8, RANGES * 8, (RANGES + 1) * 8 },
                          .seed = rnd_next(&r) };
            make_ends(ends[0], ends[1], RANGES, round % 2);
            pthread_t thread = start_changing(&c);
            for (unsigned i = 0; i < 5; i++) {
                sx_status st = sx_range(s.ix, &ranges, &to, &rows, &keys, NULL);
                if (st != SX_OK && st != SX_ESPACE)
                    fail_msg("%s: status %d: %s", devices[d], (int)st, sx_detail());
            }
            stop_changing(&c, thread);
            for (unsigned i = 0; i < 2; i++) {
                assert_true(guard_intact(&g[i]));
                guard_free(&g[i]);
                free(ends[i]);
            }
            free(first);
            free_scene(&s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_build),
        cmocka_unit_test(test_build_kernels),
        cmocka_unit_test(test_build_few),
        cmocka_unit_test(test_build_by_thread),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_ranges_by_thread),
    };
    test_seed();
    return cmocka_run_group_tests_name("changing", tests, NULL, NULL) != 0;
}
