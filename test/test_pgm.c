/* test_pgm.c - segments over sorted keys: as few as there can be, right for every
 * query, the same whatever makes them; and damaged ones. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "exercise.h"
#include "on_device.h"
#include "pgm_truth.h"
#include "sxfile.h"

/* The emulator and the sanitizers take many times as long. */
#if UNDER_ASAN || UNDER_TSAN
#define ROUNDS 2u
#else
#define ROUNDS 7u
#endif
#if UNDER_TSAN                    /* it does not know the emulator's fibers */
#define KERNELS 0
#else
#define KERNELS 1
#endif

static sx_device *cpu, *simt;     /* with three threads; one that runs kernels, or the same */
static asker *asking;
static char *path;

/* ---- building -------------------------------------------------------------- */

typedef struct {
    sx_index *ix;
    unsigned char *file;          /* as saved */
    size_t bytes;
    pgm_file p;
} built;

static void built_free(built *b)
{
    sx_free(b->ix);
    free(b->file);
}

static built build_of(sx_device *dev, const oracle *o, const char *spec, uint32_t threads)
{
    sx_column keys = column(o->type, o->n, o->keys);
    sx_call call = { .size = sizeof call, .threads = threads };
    built b = { 0 };
    begin_step("%s, %" PRIu64 " keys of %s, threads %u", spec, o->n, sx_type_name(o->type),
               threads);
    if (sx_build(&b.ix, dev, spec, &keys, NULL, &call) != SX_OK)
        fail_msg("%s: %s", step_now, sx_detail());
    if (sx_check(b.ix, NULL) != SX_OK)
        fail_msg("%s: %s", step_now, sx_detail());
    b.file = saved_bytes(b.ix, path, &b.bytes);
    const char *wrong = pgm_open(&b.p, b.file);
    if (wrong)
        fail_msg("%s: %s", step_now, wrong);
    return b;
}

/* With these cuts every device makes the same. */
static void same_elsewhere(const built *b, const oracle *o, const char *spec, bool kernels)
{
    for (uint32_t threads = 1; threads <= (kernels ? 4u : 3u); threads++) {
        built other = build_of(threads > 3 ? simt : cpu, o, spec, threads > 3 ? 0 : threads);
        if (other.bytes != b->bytes || memcmp(other.file, b->file, b->bytes) != 0)
            fail_msg("%s: other bytes", step_now);
        built_free(&other);
    }
}

static uint64_t segments_of(const built *b)
{
    return b->p.levels ? b->p.count[b->p.levels - 1] : 0;
}

/* ---- as few segments as there can be ------------------------------------------ */

static void check_fewest(const oracle *o, rnd *r)
{
    static const unsigned eps2s[] = { 1, 2, 4, 1024 };
    unsigned eps = 1u << rnd_below(r, 7);
    eps = eps > 2 && rnd_below(r, 2) ? eps - 1 : eps;
    unsigned cuts = 2 + (unsigned)rnd_below(r, rnd_below(r, 2) ? 6 : 70);
    unsigned eps2 = eps2s[rnd_below(r, COUNT_OF(eps2s))];
    char spec[SX_SPEC_MAX];
    snprintf(spec, sizeof spec, "pgm(eps=%u,eps2=%u,cuts=1)", eps, eps2);
    built one = build_of(cpu, o, spec, 0);
    const char *wrong = pgm_wrong(&one.p, o, true);
    if (wrong)
        fail_msg("%s: %s", step_now, wrong);
    if (o->n && segments_of(&one) != pgm_fewest(o, eps))
        fail_msg("%s: %" PRIu64 " segments, not %" PRIu64, step_now, segments_of(&one),
                 pgm_fewest(o, eps));
    snprintf(spec, sizeof spec, "pgm(eps=%u,eps2=%u,cuts=%u)", eps, eps2, cuts);
    built many = build_of(cpu, o, spec, 0);
    wrong = pgm_wrong(&many.p, o, true);
    if (wrong)
        fail_msg("%s: %s", step_now, wrong);
    if (segments_of(&many) < segments_of(&one) || segments_of(&many) >= segments_of(&one) + cuts)
        fail_msg("%s: %" PRIu64 " segments, %" PRIu64 " without cuts", step_now,
                 segments_of(&many), segments_of(&one));
    same_elsewhere(&many, o, spec, rnd_below(r, 8) == 0);
    built_free(&one);
    built_free(&many);
}

static void test_fewest(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    for (size_t t = 0; t < COUNT_OF(key_types); t++)
        for (int kind = 0; kind < KEYS_KINDS; kind++)
            for (unsigned round = 0; round < ROUNDS; round++) {
                uint64_t n = rnd_below(&r, round % 2 ? 400 : 40);
                unsigned char *keys = need(n * 16 + 1);
                keys_make(key_types[t], (key_kind)kind, n, &r, keys);
                oracle *o = oracle_new(key_types[t], n, keys, NULL);
                check_fewest(o, &r);
                oracle_free(o);
                free(keys);
            }
}

/* Steps that grow and shrink at random scales: hulls of many corners, and
 * slopes that differ little. */
static void random_walk(rnd *r, int type, uint64_t n, unsigned char *out)
{
    unsigned bits = 8 * (unsigned)sx_type_bytes(type), scale = (unsigned)rnd_below(r, bits - 9);
    number most = number_most(type), x = rnd_below(r, 2) ? 0 : most / 5 * rnd_below(r, 5);
    for (uint64_t i = 0; i < n; i++) {
        number step = ((number)rnd_next(r) << 64 | rnd_next(r)) & (((number)1 << scale) - 1);
        number_key(type, x, out + i * sx_type_bytes(type));
        x = step > most - x ? most : x + step;
        if (rnd_below(r, 50) == 0)
            scale = (unsigned)rnd_below(r, bits - 9);
    }
}

/* Keys on a curve: one hull has a corner at every point. */
static void random_curve(rnd *r, int type, uint64_t n, unsigned char *out)
{
    number most = number_most(type), unit = most / (n * n + 1);
    if (rnd_below(r, 2))
        unit = 1 + rnd_below(r, 9);
    unit = unit ? unit : 1;
    bool root = rnd_below(r, 2);
    for (uint64_t i = 0; i < n; i++) {
        number x = root ? (number)(n * n - (n - i) * (n - i)) * unit : (number)(i * i) * unit;
        number_key(type, x > most ? most : x, out + i * sx_type_bytes(type));
    }
}

static void test_random_shapes(void **state)
{
    (void)state;
    static const int types[] = { SX_U32, SX_U64, SX_B16 };
    rnd r = rnd_start(test_seed() + 1);
    for (unsigned round = 0; round < 60 * ROUNDS; round++) {
        int type = types[round % 3];
        uint64_t n = 1 + rnd_below(&r, 350);
        unsigned char *keys = need(n * 16);
        if (round / 3 % 2)
            random_walk(&r, type, n, keys);
        else
            random_curve(&r, type, n, keys);
        oracle *o = oracle_new(type, n, keys, NULL);
        check_fewest(o, &r);
        oracle_free(o);
        free(keys);
    }
}

/* A device that has one thread, because there is one processor for it. */
static sx_device *open_bound(void)
{
    cpu_set_t all, one;
    int first = 0;
    CPU_ZERO(&one);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    sx_device *dev = device_open("cpu");
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    return dev;
}

/* threads=1 makes as few segments as there can be. A machine with one processor makes what
 * any number of them makes. */
static void test_one_thread(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    const uint64_t n = 100000;
    uint64_t *keys = need(n * 8);
    keys_make(SX_U64, KEYS_RANDOM, n, &r, keys);
    oracle *o = oracle_new(SX_U64, n, keys, NULL);
    sx_device *alone = device_open("cpu:threads=1,walk=alone"), *bound = open_bound();
    built b[4] = { build_of(cpu, o, "pgm(eps=8)", 1), build_of(alone, o, "pgm(eps=8)", 0),
                   build_of(cpu, o, "pgm(eps=8)", 0), build_of(bound, o, "pgm(eps=8)", 0) };
    assert_int_equal(b[0].p.cuts, 1);
    assert_int_equal(b[1].p.cuts, 1);
    assert_int_equal(b[2].p.cuts, n / 4096);
    assert_int_equal(b[3].p.cuts, n / 4096);
    assert_true(segments_of(&b[2]) < segments_of(&b[0]) + b[2].p.cuts);
    assert_true(segments_of(&b[2]) >= segments_of(&b[0]));
    same_elsewhere(&b[2], o, (const char *)b[2].file + R_SPEC, true);
    for (unsigned i = 0; i < 4; i++)
        built_free(&b[i]);
    sx_close(bound);
    sx_close(alone);
    oracle_free(o);
    free(keys);
}

/* ---- keys that are hard on segments ---------------------------------------------- */

typedef enum { ON_POWERS, ON_GAPS, ON_TOP, ON_STEPS, ON_ISLANDS, ON_SQUARES, ON_BENT, ON_RUNS,
               ON_EQUAL, ON_MOST, ON_ALL_BITS, SHAPES } shape;

/* Key i of n. */
static number shaped(shape s, int type, uint64_t i, uint64_t n, uint64_t eps)
{
    number most = number_most(type), unit = most / (n + 1);
    unsigned bits = 8 * (unsigned)sx_type_bytes(type);
    switch (s) {
    case ON_POWERS: return i < bits ? (number)1 << i : most - (number)(n - i);
    case ON_GAPS:                 /* as far as all before together */
        return i % bits == 0 ? 0 : ((number)1 << i % bits) - 1;
    case ON_TOP: return most - (n - 1 - i);
    case ON_STEPS: return i / (2 * eps + 2) * (unit * (2 * eps + 2));
    case ON_ISLANDS: return i / 100 * (unit * 100) + i % 100;
    case ON_SQUARES: return (number)i * i * (unit / n ? unit / n : 1);
    case ON_BENT:                 /* off a line by exactly eps, or by one more */
        return (i % (8 * eps) < eps + i / (8 * eps) % 2 ? i - i % (8 * eps) : i) * 16 +
               i % (8 * eps) % 16;
    case ON_RUNS: return i / 300 * 1000 + i % 300 / (1 + i / 300 * 7);
    case ON_EQUAL: return most / 3;
    case ON_MOST: return most;
    default: {                    /* all bits are used */
        number x = (number)(i + 1) * 0x9e3779b97f4a7c15u;
        x ^= x << 61;
        return (x ^ x << 70) & most;
    }
    }
}

static dataset *shaped_data(shape s, int type, uint64_t n, uint64_t eps, uint64_t queries, rnd *r)
{
    unsigned char *keys = need(n * 16 + 1);
    for (uint64_t i = 0; i < n; i++)
        number_key(type, shaped(s, type, i, n, eps), keys + i * sx_type_bytes(type));
    dataset *d = data_wrap(type, n, keys, ROWS_NULL, NULL, queries, r);
    free(keys);
    return d;
}

static void answers_right(sx_device *dev, const dataset *d, const char *spec, const char *where)
{
    sx_index *ix = NULL;
    begin_step("%s on %s, %" PRIu64 " keys of %s", spec, where, d->n, sx_type_name(d->type));
    OK(data_build(d, dev, spec, NULL, &ix));
    const char *wrong = ask_description(asking, ix, d);
    if (!wrong)
        wrong = ask(asking, ix, d, SX_U64, NULL);
    if (wrong)
        fail_msg("%s: %s", step_now, wrong);
    sx_free(ix);
}

static void test_shapes(void **state)
{
    (void)state;
    static const int types[] = { SX_U32, SX_U64, SX_B16 };
    static const struct { unsigned eps, eps2, cuts; } ways[] = {
        { 1, 1, 1 }, { 3, 1024, 64 }, { 16, 1, 7 }, { 1048576, 4, 2 }, { 5, 2, 1048576 },
    };
    rnd r = rnd_start(test_seed());
    sx_device *devices[SIMD_LEVELS];
    devices_open(devices);
    for (int s = 0; s < SHAPES; s++)
        for (size_t t = 0; t < 3; t++)
            for (size_t w = 0; w < COUNT_OF(ways); w++) {
                uint64_t eps = ways[w].eps > 64 ? 64 : ways[w].eps, n = 1 + rnd_below(&r, 1500);
                dataset *d = shaped_data((shape)s, types[t], n, eps, 3 * n + 60, &r);
                char spec[SX_SPEC_MAX];
                snprintf(spec, sizeof spec, "pgm(eps=%u,eps2=%u,cuts=%u%s)", ways[w].eps,
                         ways[w].eps2, ways[w].cuts, rnd_below(&r, 3) ? "" : ",layout=pairs");
                for (unsigned i = 0; i < SIMD_LEVELS; i++)
                    if (devices[i])
                        answers_right(devices[i], d, spec, simd_names[i]);
                if (rnd_below(&r, 6) == 0)
                    answers_right(simt, d, spec, "kernels");
                if (n < 600) {
                    built b = build_of(cpu, d->truth, spec, 0);
                    const char *wrong = pgm_wrong(&b.p, d->truth, true);
                    if (wrong)
                        fail_msg("shape %d, %s: %s", s, step_now, wrong);
                    built_free(&b);
                }
                data_free(d);
            }
    devices_close(devices);
}

/* Many keys: parts at every level, long hulls, runs across cuts. */
static void test_many(void **state)
{
    (void)state;
    static const struct { shape s; int type; const char *spec; } many[] = {
        { ON_SQUARES, SX_U64, "pgm(eps=1,eps2=1)" },
        { ON_ALL_BITS, SX_B16, "pgm(eps=2,eps2=1)" },
        { ON_ISLANDS, SX_U32, "pgm(eps=4,eps2=2,cuts=4096)" },
        { ON_STEPS, SX_U64, "pgm(eps=64,eps2=1024,cuts=3)" },
        { ON_EQUAL, SX_B16, "pgm(eps=1,cuts=64)" },
        { ON_SQUARES, SX_B16, "pgm(eps=1048576)" },
        { ON_RUNS, SX_U32, "pgm(eps=1,eps2=1,cuts=100)" },
    };
    rnd r = rnd_start(test_seed());
    for (size_t i = 0; i < COUNT_OF(many); i++) {
        uint64_t n = ROUNDS > 2 ? i % 3 ? 1u << 18 : 1u << 20 : 1u << 16;
        dataset *d = shaped_data(many[i].s, many[i].type, n, 64, 5000, &r);
        answers_right(cpu, d, many[i].spec, "cpu");
        built b = build_of(cpu, d->truth, many[i].spec, 0);
        same_elsewhere(&b, d->truth, (const char *)b.file + R_SPEC, i == 1);
        built_free(&b);
        data_free(d);
    }
}

/* ---- planted faults ----------------------------------------------------------- */

/* If sx_check() accepts it, every device answers right. */
static bool found(const built *b, const dataset *d, sx_device *const devices[SIMD_LEVELS],
                  const char *what, uint64_t where)
{
    sx_index *ix = NULL;
    bool bad = false;
    begin_step("%s, %" PRIu64 ": %s of %" PRIu64, b->file + R_SPEC, d->n, what, where);
    seal_sections(b->file, b->bytes);
    seal_header(b->file, b->bytes);
    for (unsigned i = 0; i < SIMD_LEVELS && !bad; i++) {
        if (!devices[i])
            continue;
        sx_status st = sx_load(&ix, devices[i], memory_file(b->file, b->bytes), i % 2 ? SX_LOAD_COPY
                                                                                      : 0, NULL);
        if (st == SX_ECORRUPT)
            return true;
        OK(st);
        st = sx_check(ix, NULL);
        bad = st != SX_OK;
        if (bad && (st != SX_ECORRUPT || !strstr(sx_detail(), "invariant")))
            fail_msg("%s: status %d: %s", step_now, (int)st, sx_detail());
        const char *wrong = bad ? exercise(ix, where) : ask_points(asking, ix, d, SX_U64, NULL);
        if (wrong)
            fail_msg("%s: %s%s", step_now, bad ? "" : "passes the check, but ", wrong);
        sx_free(ix);
    }
    return bad;
}

typedef struct {
    sx_device *devices[SIMD_LEVELS];
    dataset *d;
    built b;
    unsigned char *pristine;
    uint64_t tried, missed;
} planting;

static bool plant(planting *s, const char *what, uint64_t where)
{
    bool yes = memcmp(s->b.file, s->pristine, s->b.bytes) == 0 ||
               found(&s->b, s->d, s->devices, what, where);
    memcpy(s->b.file, s->pristine, s->b.bytes);
    s->tried++;
    s->missed += !yes;
    return yes;
}

/* Flips a bit of each byte of the section. */
static void plant_bits(planting *s)
{
    const pgm_file *p = &s->b.p;
    uint64_t entries = p->first[p->levels];
    for (uint64_t i = 0; i < entries * (p->width + 16); i++) {
        uint64_t entry = i < entries * p->width ? i / p->width : (i - entries * p->width) / 16;
        uint64_t l = 0;
        while (p->first[l + 1] <= entry)
            l++;
        p->keys[i] ^= (unsigned char)(1u << (i * 5 + i / 7) % 8);
        if (!plant(s, "bit", i) && entry >= p->first[l] + p->count[l])
            fail_msg("%s: behind a level, and not found", step_now);
    }
}

static number entry_x(const pgm_file *p, uint64_t i)
{
    number x = 0;
    memcpy(&x, p->keys + i * p->width, p->width);
    return x;
}

static void set_x(const pgm_file *p, uint64_t i, number x)
{
    memcpy(p->keys + i * p->width, &x, p->width);
}

static void plant_fields(planting *s, uint64_t i, rnd *r)
{
    const pgm_file *p = &s->b.p;
    unsigned char *slope = p->segments + 16 * i, *base = slope + 8;
    static const uint64_t slopes[] = { 0, 1, 1ull << 57, 1ull << 58, 1ull << 63, UINT64_MAX,
                                       UINT64_MAX - 4096, UINT64_MAX - 400000 };
    number x = entry_x(p, i), most = (number)-1 >> (128 - 8 * p->width);
    const number moved[] = { x - 1, x + 1, x / 2, x + (entry_x(p, i + 1) - x) / 2, 0, most,
                             entry_x(p, i + 1), entry_x(p, i + 1) - 1 };
    for (size_t k = 0; k < COUNT_OF(slopes); k++) {
        put(slope, slopes[k], 8);
        plant(s, "slope", i);
        put(slope, slopes[k], 8);     /* and a segment that is too short for it */
        *base = 127;
        plant(s, "slope and zeros", i);
    }
    for (unsigned lz = 0; lz < 256; lz += lz < 130 ? 13 : 60) {
        *base = (unsigned char)lz;
        plant(s, "zeros", i);
    }
    for (int64_t off = -9; off <= 9; off += 3) {
        put(base, get64(base) + (uint64_t)off * 65536, 8);
        plant(s, "height", i);
    }
    put(base, get64(base) | ~0ull << 9, 8);
    plant(s, "all of height", i);
    for (size_t k = 0; k < COUNT_OF(moved); k++) {
        set_x(p, i, moved[k]);
        plant(s, "first key", i);
        /* The segment before hides it, or the one behind. */
        set_x(p, i, moved[k]);
        put(base, rnd_below(r, 2) ? get64(base) | ~0ull << 9 : get64(base) & 255, 8);
        put(slope, slopes[rnd_below(r, COUNT_OF(slopes))], 8);
        plant(s, "first key and record", i);
    }
}

static void plant_levels(planting *s)
{
    uint64_t bytes;
    unsigned char *levels = file_section(s->b.file, "levels", &bytes);
    for (uint64_t l = 0; l < s->b.p.levels; l++)
        for (int off = -2; off <= 2; off++)
            if (off) {
                put(levels + 8 * l, s->b.p.count[l] + (uint64_t)off, 8);
                if (!plant(s, "count", l))
                    fail_msg("%s: not found", step_now);
            }
}

static void test_faults(void **state)
{
    (void)state;
    static const int types[] = { SX_U32, SX_U64, SX_B16 };
    static const key_kind kinds[] = { KEYS_RANDOM, KEYS_DUPLICATES, KEYS_POWERS, KEYS_RUNS };
    rnd r = rnd_start(test_seed());
    for (unsigned i = 0; i < 12; i++) {
        planting s = { .pristine = NULL };
        uint64_t n = 60 + rnd_below(&r, 60);
        unsigned char *keys = need(n * 16);
        keys_make(types[i % 3], kinds[i / 3], n, &r, keys);
        s.d = data_wrap(types[i % 3], n, keys, ROWS_IMPLICIT, NULL, 5 * n, &r);
        free(keys);
        s.b = build_of(cpu, s.d->truth, i % 2 ? "pgm(eps=1,eps2=1,cuts=3)"
                                              : "pgm(eps=2,eps2=1,cuts=1)", 0);
        devices_open(s.devices);
        if (ROUNDS <= 2) {
            sx_close(s.devices[1]);
            s.devices[1] = NULL;
        }
        s.pristine = need(s.b.bytes);
        memcpy(s.pristine, s.b.file, s.b.bytes);
        plant_bits(&s);
        for (uint64_t l = 0; l < s.b.p.levels; l++)
            for (uint64_t k = 0; k < s.b.p.count[l]; k++)
                plant_fields(&s, s.b.p.first[l] + k, &r);
        plant_levels(&s);
        if (s.missed * 3 > s.tried)
            fail_msg("%s: of %" PRIu64 " faults %" PRIu64 " change nothing", step_now, s.tried,
                     s.missed);
        devices_close(s.devices);
        built_free(&s.b);
        data_free(s.d);
        free(s.pristine);
    }
}

/* A damaged record that is right at every key and beside it, but not far from keys: the
 * check has to look there, too. */
static void hidden(built *b, number q, uint64_t rank, bool harmless, const char *what)
{
    uint64_t x = (uint64_t)q, got = 0;
    sx_column one = column(SX_U64, 1, &x), out = column(SX_U64, 1, &got);
    sx_index *ix = NULL;
    seal_sections(b->file, b->bytes);
    seal_header(b->file, b->bytes);
    OK(sx_load(&ix, cpu, memory_file(b->file, b->bytes), SX_LOAD_VERIFY, NULL));
    OK(sx_rank(ix, &one, SX_LEFT, &out, NULL));
    assert_true((got == rank) == harmless);
    if (sx_check(ix, NULL) != SX_ECORRUPT)
        fail_msg("%s: not found, but the rank of %" PRIu64 " is %" PRIu64 ", not %" PRIu64, what, x,
                 got, rank);
    sx_free(ix);
}

static void test_hidden_faults(void **state)
{
    (void)state;
    uint64_t keys[202];
    for (uint64_t i = 0; i < 202; i++)
        keys[i] = i < 100 ? i : i == 100 ? 250 : 251;
    /* So steep that heights wrap, shortly before the largest key only. */
    oracle *o = oracle_new(SX_U64, 102, keys, NULL);
    built b = build_of(cpu, o, "pgm(eps=1,cuts=1)", 0);
    uint64_t last = b.p.first[b.p.levels - 1] + b.p.count[b.p.levels - 1] - 1;
    assert_true(entry_x(&b.p, last) == 250);
    put(b.p.segments + 16 * last, UINT64_MAX, 8);
    put(b.p.segments + 16 * last + 8, (256 * 101 + 255) << 8, 8);
    hidden(&b, (number)UINT64_MAX - 25000, 102, false, "a wrapped height");
    built_free(&b);
    oracle_free(o);
    /* A segment that begins between keys, and does not bound the one before. */
    for (uint64_t i = 100; i < 202; i++)
        keys[i] = i == 100 ? 10000 : 1000000000 + i;
    o = oracle_new(SX_U64, 202, keys, NULL);
    b = build_of(cpu, o, "pgm(eps=1,cuts=2)", 0);
    last = b.p.first[b.p.levels - 1] + b.p.count[b.p.levels - 1] - 2;
    assert_true(entry_x(&b.p, last) == 10000);
    set_x(&b.p, last, 5000);
    uint64_t base = get64(b.p.segments + 16 * last + 8);
    put(b.p.segments + 16 * last + 8, base | ~0ull << 8, 8);
    hidden(&b, 2000, 100, false, "a beginning between keys");
    /* A segment that no query comes to: nothing is wrong but their order. */
    put(b.p.segments + 16 * last + 8, base, 8);
    set_x(&b.p, last, entry_x(&b.p, last + 1));
    hidden(&b, 10000, 100, true, "two beginnings in one place");
    built_free(&b);
    oracle_free(o);
}

/* ---- forged levels -------------------------------------------------------------- */

/* The file with another section of levels (NULL: none), and the sections behind it moved;
 * `extra` adds a section of that name. Hashes are right. Free it. */
static unsigned char *with_levels(const built *b, const void *levels, size_t bytes,
                                  const char *extra, size_t *size)
{
    uint32_t sections = get32(b->file + F_SECTIONS), kept = 0;
    unsigned char *file = need(b->bytes + bytes + 1024);
    memset(file, 0, b->bytes + bytes + 1024);
    memcpy(file, b->file, F_TABLE);
    uint32_t count = sections - !levels + (extra != NULL);
    size_t at = F_TABLE + count * S_ENTRY;
    for (uint32_t i = 0; i < sections + (extra != NULL); i++) {
        const unsigned char *from = i < sections ? b->file + F_TABLE + i * S_ENTRY : NULL;
        bool is = from && strncmp((const char *)from, "levels", 16) == 0;
        unsigned char *e = file + F_TABLE + kept * S_ENTRY;
        size_t m = is ? bytes : from ? get64(from + S_BYTES) : 64;
        if (is && !levels)
            continue;
        kept++;
        memcpy(e, from ? (const char *)from : extra, from ? S_OFFSET : strlen(extra));
        put(e + S_OFFSET, at, 8);
        put(e + S_BYTES, m, 8);
        if (from)
            memcpy(file + at, is ? levels : b->file + get64(from + S_OFFSET), m);
        at = (at + m + 63) / 64 * 64;
    }
    put(file + F_SECTIONS, count, 4);
    put(file + R_SECTIONS, count, 4);
    put(file + F_FRONT_BYTES, F_TABLE + count * S_ENTRY, 4);
    put(file + F_BYTES, at, 8);
    seal_sections(file, at);
    seal_header(file, at);
    *size = at;
    return file;
}

static void levels_refused(const built *b, const void *levels, size_t bytes, const char *extra,
                           const char *word, const char *what)
{
    size_t size;
    unsigned char *file = with_levels(b, levels, bytes, extra, &size);
    begin_step("%s: %s", b->file + R_SPEC, what);
    for (unsigned flags = 0; flags < 4; flags++) {
        sx_index *ix = NULL;
        sx_status st = sx_load(&ix, flags % 2 ? simt : cpu, memory_file(file, size), flags, NULL);
        if (st == SX_OK && !*word) {            /* a few more take no more space */
            const char *wrong = exercise(ix, flags);
            if (wrong)
                fail_msg("%s: %s", step_now, wrong);
            st = sx_check(ix, NULL);
            sx_free(ix);
            ix = NULL;
        }
        if (st != SX_ECORRUPT || ix || !strstr(sx_detail(), word))
            fail_msg("%s: status %d, '%s' in: %s", step_now, (int)st, word,
                     st ? sx_detail() : "none");
    }
    free(file);
}

static void test_forged_levels(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    uint64_t keys[500], lie[PGM_LEVELS + 1] = { 1 };
    static const uint64_t lies[] = { 0, 2, 500, 501, 1ull << 32, 1ull << 48, 1ull << 60, 1ull << 63,
                                     UINT64_MAX };
    for (uint64_t i = 0, key = 0; i < 500; i++)   /* so uneven that there are many segments */
        keys[i] = key += 1ull << rnd_below(&r, 32);
    oracle *o = oracle_new(SX_U64, 500, keys, NULL);
    built b = build_of(cpu, o, "pgm(eps=1,eps2=1)", 0);
    uint64_t levels = b.p.levels, bytes = levels * 8, *right = need(bytes), size;
    assert_true(levels >= 3);
    memcpy(right, b.p.count, bytes);
    unsigned char *same = with_levels(&b, right, bytes, NULL, &size);
    assert_true(size == b.bytes && memcmp(same, b.file, size) == 0);
    free(same);

    levels_refused(&b, right, 0, NULL, "impossible size", "0 levels");
    for (uint64_t i = 1; i < 8; i++) {
        levels_refused(&b, right, i, NULL, "impossible size", "a part of a level");
        levels_refused(&b, right, bytes - i, NULL, "impossible size", "a part of a level");
    }
    for (uint64_t i = 0; i <= PGM_LEVELS; i++)
        lie[i] = i + 1;
    levels_refused(&b, lie, 8 * (PGM_LEVELS + 1), NULL, "impossible size", "25 levels");
    levels_refused(&b, lie, 8 * PGM_LEVELS, NULL, "sections do not fit", "24 levels");
    levels_refused(&b, right, bytes - 8, NULL, "sections do not fit", "a level less");
    levels_refused(&b, right + 1, bytes - 8, NULL, "levels of segments", "without the first");
    levels_refused(&b, NULL, 0, NULL, "no section 'levels'", "none");
    levels_refused(&b, right, bytes, "levels", "sections", "twice");
    levels_refused(&b, right, bytes, "more", "sections", "one more");
    levels_refused(&b, right, bytes, "guide", "sections", "a guide");
    levels_refused(&b, NULL, 0, "levels", "", "at the end");
    for (uint64_t l = 0; l < levels; l++)
        for (size_t k = 0; k < COUNT_OF(lies); k++) {
            memcpy(lie, right, bytes);
            if (lie[l] == lies[k])
                continue;
            lie[l] = lies[k];
            levels_refused(&b, lie, bytes, NULL, "", "a lie");
            for (uint64_t j = l; j < levels; j++)
                lie[j] = lies[k];
            levels_refused(&b, lie, bytes, NULL, "", "lies");
        }
    for (uint64_t l = 1; l + 1 < levels; l++) {     /* not ascending */
        memcpy(lie, right, bytes);
        lie[l] = right[l + 1];
        lie[l + 1] = right[l];
        levels_refused(&b, lie, bytes, NULL, "segments over", "two exchanged");
        memcpy(lie, right, bytes);
        lie[l] = right[l + 1];
        levels_refused(&b, lie, bytes, NULL, "segments over", "two equal");
    }
    /* Other families, and no keys, have none. */
    built none = build_of(cpu, &(oracle){ .type = SX_U64, .width = 8 }, "pgm", 0);
    uint64_t one = 1;
    assert_int_equal(get32(none.file + F_SECTIONS), 0);
    levels_refused(&none, &one, 8, "levels", "sections", "levels of nothing");
    built_free(&none);
    built_free(&b);
    oracle_free(o);
    free(right);
}

/* ---- memory ---------------------------------------------------------------------- */

static void test_estimate(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "pgm", "pgm(eps=1,eps2=1)", "pgm(eps=1,cuts=1)", "pgm(eps=2,eps2=3,cuts=7)",
        "pgm(eps=1,eps2=1,cuts=1048576)", "pgm(eps=1048576,eps2=1024)",
        "pgm(eps=1,cuts=300,layout=pairs)",
    };
    static const uint64_t sizes[] = { 0, 1, 2, 3, 5, 64, 1000, 30000 };
    static const row_kind rows[] = { ROWS_IMPLICIT, ROWS_NULL, ROWS_U32, ROWS_U64_WIDE };
    rnd r = rnd_start(test_seed());
    for (unsigned round = 0; round < COUNT_OF(sizes) * KEYS_KINDS; round++)
        for (size_t s = 0; s < COUNT_OF(specs); s++) {
            key_kind kind = (key_kind)(round / COUNT_OF(sizes));
            int type = key_types[(round + s) % COUNT_OF(key_types)];
            row_kind row = rows[rnd_below(&r, 4)];
            uint64_t n = sizes[round % COUNT_OF(sizes)];
            dataset *d = data_make(type, kind, n, row, 1, &r);
            sx_device *dev = round % 5 == 0 && n <= 64 ? simt : cpu;
            sx_estimate_info e = { .size = sizeof e };
            sx_index_info info = { .size = sizeof info };
            sx_index *ix = NULL;
            begin_step("%s, %" PRIu64 " keys of %s, kind %d, rows %d", specs[s], n,
                       sx_type_name(type), (int)kind, (int)row);
            OK(estimate_of(dev, specs[s], type, n, row == ROWS_U32 ? SX_U32
                           : row == ROWS_U64_WIDE ? SX_U64 : 0, &e));
            sx_call call = { .size = sizeof call, .threads = (uint32_t)rnd_below(&r, 3),
                             .max_bytes = e.host_peak + e.device_peak };
            uint64_t before = sx_alloc_live();
            sx_alloc_most();
            OK(data_build(d, dev, specs[s], &call, &ix));
            uint64_t peak = sx_alloc_most() - before;
            OK(sx_describe(ix, &info));
            uint64_t resident = e.host_resident + e.device_resident;
            uint64_t now = dev == cpu ? sx_alloc_live() - before : info.bytes;
            if (info.bytes > resident || now > resident)
                fail_msg("%s: %" PRIu64 " bytes, estimated %" PRIu64, step_now, now, resident);
            if (dev == cpu && peak > e.host_peak)
                fail_msg("%s, threads %u: a peak of %" PRIu64 " bytes, estimated %" PRIu64,
                         step_now, call.threads, peak, e.host_peak);
            sx_free(ix);
            data_free(d);
        }
}

/* Each allocation fails once: nothing is left behind, and the next build works. */
static void fail_each(sx_device *dev, const dataset *d, const char *spec)
{
    unsigned failures = 0, successes = 0;
    for (long nth = 1; successes < 12; nth++) {
        sx_index *ix = NULL;
        uint64_t live = sx_alloc_live();
        begin_step("%s, allocation %ld", spec, nth);
        sx_alloc_fail_at(nth);
        sx_status st = data_build(d, dev, spec, NULL, &ix);
        sx_alloc_fail_at(0);
        if (st != SX_OK && (st != SX_ENOMEM || ix || !strstr(sx_detail(), "memory")))
            fail_msg("%s: status %d: %s", step_now, (int)st, sx_detail());
        successes = st == SX_OK ? successes + 1 : 0;
        failures += st != SX_OK;
        sx_free(ix);
        if (sx_alloc_live() != live)
            fail_msg("%s: %" PRId64 " bytes leaked", step_now, (int64_t)(sx_alloc_live() - live));
    }
    assert_true(failures >= 12);
    answers_right(dev, d, spec, "cpu");
}

static void test_no_memory(void **state)
{
    (void)state;
    static const char *const specs[] = { "pgm(eps=1,eps2=1,cuts=1)", "pgm(eps=1,eps2=1,cuts=17)",
                                         "pgm(eps=1,cuts=5,layout=pairs)" };
    rnd r = rnd_start(test_seed());
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        dataset *d = data_make(device_widths[i], KEYS_RANDOM, 3000, (row_kind)i, 50, &r);
        fail_each(cpu, d, specs[i]);
        data_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fewest),
        cmocka_unit_test(test_one_thread),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_no_memory),
#if KERNELS                       /* those above show what threads do */
        cmocka_unit_test(test_random_shapes),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_hidden_faults),
        cmocka_unit_test(test_forged_levels),
        cmocka_unit_test(test_estimate),
#endif
    };
    (void)test_random_shapes, (void)test_shapes, (void)test_faults, (void)test_hidden_faults;
    (void)test_forged_levels, (void)test_estimate;
    test_seed();
    cpu = device_open("cpu:threads=3,walk=alone");
    simt = device_open(KERNELS ? kernel_with("") : "cpu:threads=2");
    asking = asker_new();
    path = temp_path("pgm.sxt");
    int failed = cmocka_run_group_tests_name("pgm", tests, NULL, NULL);
    asker_free(asking);
    free(path);
    sx_close(simt);
    sx_close(cpu);
    return failed != 0;
}
