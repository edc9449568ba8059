/* test_hostile_kernels.c - damaged indexes, asked by kernels.
 *
 * As in test_hostile.c answers can't be known. But every call must succeed, every
 * rank and count must lie in [0, n], and nothing may be read or written outside: on
 * the emulator sections and columns are blocks of exactly their size, which
 * AddressSanitizer watches. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "on_device.h"
#include "sxfile.h"

#if UNDER_ASAN
#define DEVICES_EACH 11u          /* that load one damaged file */
#else
#define DEVICES_EACH KERNEL_OPTIONS
#endif

static const char *const specs[] = {
    "sorted", "sorted(layout=pairs)", "sorted(layout=pairs,block=1)",
    "sorted(layout=pairs,block=64)",
    "eytzinger(k=2)", "eytzinger(k=2,layout=pairs)", "eytzinger(k=3)", "eytzinger(k=5)",
    "eytzinger(k=9,layout=pairs)", "eytzinger(k=17)", "eytzinger(k=33,layout=pairs,block=2)",
    "pivot", "pivot(layout=pairs)", "pivot(k=3,leaf=1)", "pivot(k=3,leaf=4)",
    "pivot(k=4,leaf=40,levels=1)", "pivot(k=5,leaf=12)", "pivot(k=5,leaf=2,layout=pairs,block=2)",
    "pivot(k=9)", "pivot(k=9,leaf=16,layout=pairs)", "pivot(k=17,leaf=64)",
    "guide", "guide(pieces=5)", "guide(bucket=1,layout=pairs)",
    "pgm", "pgm(eps=1,eps2=1)", "pgm(eps=2,eps2=1,cuts=7)", "pgm(eps=1,eps2=2,layout=pairs)",
    "pgm(eps=3,cuts=64,layout=pairs,block=1)",
    "btree", "btree(k=2)", "btree(k=4,layout=split)", "btree(k=5)",
    "btree(fill=50)", "btree(fill=80,layout=split)",
    "radix(leaf=1)", "radix(leaf=2,layout=pairs)", "radix",
};

/* ---- memory of exactly the size asked for -------------------------------------------- */

static void *take(void *context, uint64_t bytes, void *stream)
{
    void *p = NULL;
    (void)context, (void)stream;
    return posix_memalign(&p, 256, bytes) == 0 ? p : NULL;
}

static void give(void *context, void *block, void *stream)
{
    (void)context, (void)stream;
    free(block);
}

static sx_device *open_exact(const char *name)
{
    sx_device *dev = device_open(name);
    sx_allocator from = { sizeof from, take, give, NULL };
    if (!kernel_is_gpu())
        OK(sx_device_allocator(dev, &from));
    return dev;
}

/* ---- one index, asked in one way ------------------------------------------------------- */

typedef enum { IN_HOST, IN_DEVICE, IN_BOTH, ON_STREAM, PLACES } placement;

typedef struct {
    sx_device *dev;
    sx_index *ix;
    sx_index_info info;
    const dataset *d;             /* before the damage */
    placement place;
    rnd *r;
    uint64_t m;                   /* queries */
    int number;                   /* type of rows and ranks */
    sx_call call;
    sx_column status;             /* for ON_STREAM */
} probe;

typedef struct { sx_column host, given; } spot;     /* a column; given may be a copy of it */

static spot spot_new(probe *p, int type, uint64_t n)
{
    size_t bytes = n * sx_type_bytes(type);
    spot s = { .host = column(type, n, need(bytes)) };
    memset(s.host.data, GUARD_FILL, bytes);
    s.given = s.host;
    if (p->place != IN_HOST && (p->place != IN_BOTH || rnd_below(p->r, 2)))
        OK(sx_column_new(&s.given, p->dev, type, n));
    return s;
}

static void spot_free(probe *p, spot *s)
{
    if (s->given.place == SX_DEVICE)
        sx_column_free(&s->given, p->dev);
    free(s->host.data);
}

static void spot_send(probe *p, spot *s)
{
    if (s->given.place == SX_DEVICE)
        OK(sx_column_copy(&s->given, &s->host, p->dev));
}

static void spot_fetch(probe *p, spot *s)
{
    if (s->given.place == SX_DEVICE)
        OK(sx_column_copy(&s->host, &s->given, p->dev));
}

/* The call was right, and so is the status that came later. */
static void asked(probe *p, sx_status st, const char *verb)
{
    uint32_t word = 99;
    sx_column host = column(SX_U32, 1, &word);
    if (st == SX_OK && p->place == ON_STREAM) {
        OK(sx_column_copy(&host, &p->status, p->dev));
        st = (sx_status)word;
        word = 99;
        OK(sx_column_copy(&p->status, &host, p->dev));
    }
    if (st != SX_OK)
        fail_msg("%s: %s: status %d: %s", step_now, verb, (int)st, sx_detail());
}

/* No number is above n. */
static void bounded(probe *p, spot *s, const char *what)
{
    spot_fetch(p, s);
    for (uint64_t i = 0; i < p->m; i++) {
        uint64_t x = s->host.type == SX_U32 ? ((uint32_t *)s->host.data)[i]
                                            : ((uint64_t *)s->host.data)[i];
        if (x > p->info.n)
            fail_msg("%s: %s %" PRIu64 " of %" PRIu64, step_now, what, x, p->info.n);
    }
}

/* Zeros, ones, keys that are or were in the index, and noise. */
static void fill_queries(probe *p, spot *s, unsigned char first)
{
    unsigned char *to = s->host.data;
    size_t width = p->d->width;
    for (uint64_t i = 0; i < p->m; i++, to += width)
        if (i < 2)
            memset(to, i ? ~first : first, width);
        else if (i % 3 == 0 && p->d->queries > 0)
            memcpy(to, p->d->q.data + rnd_below(p->r, p->d->queries) * width, width);
        else
            for (size_t b = 0; b < width; b++)
                to[b] = (unsigned char)rnd_next(p->r);
    spot_send(p, s);
}

static void probe_points(probe *p)
{
    spot q = spot_new(p, p->info.key_type, p->m), numbers = spot_new(p, p->number, p->m);
    spot keys = spot_new(p, p->info.key_type, p->m), ranks = spot_new(p, SX_U64, p->m);
    uint64_t *rank = ranks.host.data;
    fill_queries(p, &q, 0);
    asked(p, sx_get(p->ix, &q.given, &numbers.given, &p->call), "get");
    for (int side = SX_LEFT; side <= SX_RIGHT; side++) {
        asked(p, sx_rank(p->ix, &q.given, (sx_side)side, &numbers.given, &p->call), "rank");
        bounded(p, &numbers, "rank");
    }
    asked(p, sx_floor(p->ix, &q.given, &numbers.given, &keys.given, &p->call), "floor");
    asked(p, sx_ceil(p->ix, &q.given, &numbers.given, &keys.given, &p->call), "ceil");
    for (uint64_t i = 0; i < p->m; i++)         /* past the end, too */
        rank[i] = i % 9 ? rnd_below(p->r, p->info.n + 2) : i ? UINT64_MAX - i : p->info.n;
    spot_send(p, &ranks);
    asked(p, sx_key_at(p->ix, &ranks.given, &keys.given, &numbers.given, &p->call), "key_at");
    spot_free(p, &q);
    spot_free(p, &numbers);
    spot_free(p, &keys);
    spot_free(p, &ranks);
}

static void probe_ranges(probe *p, uint64_t limit, uint32_t last)
{
    spot lo = spot_new(p, p->info.key_type, p->m), hi = spot_new(p, p->info.key_type, p->m);
    spot first = spot_new(p, SX_U64, p->m + 1), folds[4];
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo.given, .hi = &hi.given, .limit = limit,
                         .last = last };
    for (unsigned i = 0; i < 4; i++)
        folds[i] = spot_new(p, SX_U64, p->m);
    sx_aggregates all = { sizeof all, &folds[0].given, &folds[1].given, &folds[2].given,
                          &folds[3].given };
    fill_queries(p, &lo, 0);
    fill_queries(p, &hi, 0xff);
    asked(p, sx_range_count(p->ix, &ranges, &folds[0].given, &p->call), "range_count");
    bounded(p, &folds[0], "count");
    asked(p, sx_range_aggregate(p->ix, &ranges, &all, &p->call), "range_aggregate");
    bounded(p, &folds[0], "count");
    asked(p, sx_range(p->ix, &ranges, &first.given, NULL, NULL, &p->call), "range, for its size");
    spot_fetch(p, &first);
    uint64_t *end = (uint64_t *)first.host.data + p->m, hits = *end;
    if (hits > p->m * p->info.n)
        fail_msg("%s: %" PRIu64 " hits", step_now, hits);
    spot rows = spot_new(p, p->number, hits), keys = spot_new(p, p->info.key_type, hits);
    asked(p, sx_range(p->ix, &ranges, &first.given, &rows.given, &keys.given, &p->call), "range");
    spot_fetch(p, &first);
    if (*end != hits)
        fail_msg("%s: %" PRIu64 " hits, then %" PRIu64, step_now, hits, *end);
    spot_free(p, &rows);
    spot_free(p, &keys);
    for (unsigned i = 0; i < 4; i++)
        spot_free(p, &folds[i]);
    spot_free(p, &lo);
    spot_free(p, &hi);
    spot_free(p, &first);
}

static void probe_all(probe *p)
{
    p->m = 1 + rnd_below(p->r, 120);
    p->info.size = sizeof p->info;
    OK(sx_describe(p->ix, &p->info));
    p->number = p->info.row_type == SX_U32 && rnd_below(p->r, 2) ? SX_U32 : SX_U64;
    p->call = (sx_call){ .size = sizeof p->call, .hints = rnd_below(p->r, 2) ? SX_ASCENDING : 0 };
    if (p->place == ON_STREAM) {
        uint32_t word = 99;
        sx_column host = column(SX_U32, 1, &word);
        OK(sx_column_new(&p->status, p->dev, SX_U32, 1));
        OK(sx_column_copy(&p->status, &host, p->dev));
        p->call.stream = (void *)2;
        p->call.status = p->status.data;
    }
    probe_points(p);
    probe_ranges(p, 0, 0);
    probe_ranges(p, 3, 0);
    probe_ranges(p, 5, 1);
    if (p->place == ON_STREAM)
        sx_column_free(&p->status, p->dev);
}

/* ---- damage --------------------------------------------------------------------------- */

static const char *const damages[] = {
    "none", "noise", "zeros", "ones", "a byte in 16", "backwards", "numbers about n",
};

static void damage(unsigned char *p, uint64_t bytes, unsigned how, uint64_t n, rnd *r)
{
    for (uint64_t i = 0; i < bytes; i++)
        switch (how) {
        case 0: return;
        case 1: p[i] = (unsigned char)rnd_next(r); break;
        case 2: p[i] = 0; break;
        case 3: p[i] = 0xff; break;
        case 4:
            if (rnd_below(r, 16) == 0)
                p[i] = (unsigned char)rnd_next(r);
            break;
        case 5:
            if (i < bytes / 2) {
                unsigned char t = p[i];
                p[i] = p[bytes - 1 - i];
                p[bytes - 1 - i] = t;
            }
            break;
        default:                  /* numbers around the last position */
            if (i % 4 == 0 && bytes - i >= 4)
                put(p + i, n + 2 - rnd_below(r, 5), 4);
            break;
        }
}

/* Damages all sections of the file, or one. A pgm's levels, and the reason of its eps, are
 * left alone: these are checked when it is loaded. */
static void damage_file(unsigned char *file, unsigned how, rnd *r)
{
    uint32_t sections = get32(file + F_SECTIONS);
    uint64_t only = rnd_below(r, 2) ? rnd_below(r, sections) : sections;
    for (uint32_t i = 0; i < sections; i++) {
        const unsigned char *entry = file + F_TABLE + i * S_ENTRY;
        if ((only == sections || only == i) && strcmp((const char *)entry, "levels") != 0 &&
            strcmp((const char *)entry, "tree") != 0 &&
            strcmp((const char *)entry, "why") != 0)
            damage(file + get64(entry + S_OFFSET), get64(entry + S_BYTES), how, get64(file + F_N),
                   r);
    }
}

static void test_damaged(void **state)
{
    (void)state;
    static const char *const places[PLACES] = { "host", "device", "host and device", "stream" };
    static const key_kind keys[] = { KEYS_RANDOM, KEYS_DUPLICATES, KEYS_DENSE, KEYS_EQUAL };
    rnd r = rnd_start(test_seed());
    sx_device *devices[KERNEL_DEVICES];
    unsigned count = kernel_devices(), turn = 0;
    char *path = temp_path("hostile.sxt");
    for (unsigned i = 0; i < count; i++)
        devices[i] = open_exact(kernel_device(i));
    for (size_t spec = 0; spec < COUNT_OF(specs); spec++)
        for (unsigned how = 0; how < COUNT_OF(damages); how++) {
            int type = key_types[rnd_below(&r, COUNT_OF(key_types))];
            uint64_t n = 1 + rnd_below(&r, rnd_below(&r, 4) ? 300 : 1500);
            dataset *d = data_make(type, keys[rnd_below(&r, COUNT_OF(keys))], n,
                                   (row_kind)rnd_below(&r, ROWS_KINDS), 30, &r);
            sx_index *ix = NULL;
            size_t bytes = 0;
            OK(data_build(d, devices[turn % count], specs[spec], NULL, &ix));
            unsigned char *file = saved_bytes(ix, path, &bytes);
            sx_free(ix);
            damage_file(file, how, &r);
            write_file(path, file, bytes);
            for (unsigned i = 0; i < DEVICES_EACH; i++, turn++) {
                probe p = { .dev = devices[turn % count], .d = d, .r = &r,
                            .place = (placement)rnd_below(&r, PLACES) };
                begin_step("%s on %s, %" PRIu64 " of %s, damage: %s, columns: %s", specs[spec],
                           kernel_device(turn % count), n, sx_type_name(type), damages[how],
                           places[p.place]);
                OK(sx_load(&p.ix, p.dev, path, rnd_below(&r, 2) ? SX_LOAD_COPY : 0, NULL));
                probe_all(&p);
                sx_free(p.ix);
            }
            free(file);
            data_free(d);
        }
    for (unsigned i = 0; i < count; i++)
        sx_close(devices[i]);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged),
    };
    test_seed();
    return cmocka_run_group_tests_name("hostile kernels", tests, NULL, NULL) != 0;
}
