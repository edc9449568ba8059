#include "gen.h"

#include <math.h>
#include <string.h>

#include "parallel.h"
#include "progress.h"
#include "real.h"
#include "say.h"

enum { PROGRESS_EVERY = 1 << 16 };

const char *dist_name(distribution dist)
{
    static const char *const names[] = {
        "", "uniform", "dense", "normal", "lognormal", "exponential",
        "zipf-gapped", "clustered", "duplicates", "clustered",
        "books-like", "wiki-like", "fb-like", "one-value", "two-values",
        "few-values", "zipf-values", "half-equal", "repeated", "blocks",
        "holes", "outliers", "jitter", "power", "log-uniform", "two-bells",
        "segments",
    };

    return names[dist];
}

/* ---- from numbers to keys of a type ------------------------------------ */

static void put_big_endian(unsigned char *out, uint64_t high, uint64_t low)
{
    for (int i = 0; i < 8; i++) {
        out[i] = (unsigned char)(high >> (56 - 8 * i));
        out[8 + i] = (unsigned char)(low >> (56 - 8 * i));
    }
}

/* A place in the whole range of the type: 0 is its least value, 2^64 - 1
 * its greatest. low: the other 64 bits of a 16-byte key. */
static void put_place(int type, void *out, uint64_t i, uint64_t place,
                      uint64_t low)
{
    switch (type) {
    case SX_U32: ((uint32_t *)out)[i] = (uint32_t)(place >> 32); break;
    case SX_U64: ((uint64_t *)out)[i] = place; break;
    case SX_I32:
        ((int32_t *)out)[i] = (int32_t)((place >> 32) ^ 0x80000000u);
        break;
    case SX_I64: case SX_T64: ((int64_t *)out)[i] = (int64_t)(place ^ 1ull << 63); break;
    case SX_F32:
        ((float *)out)[i] = (float)(place >> 40) * 0x1p-23f - 1;
        break;
    case SX_F64:
        ((double *)out)[i] = (double)(place >> 11) * 0x1p-52 - 1;
        break;
    case SX_B16:
        put_big_endian((unsigned char *)out + 16 * i, place, low);
        break;
    }
}

/* A whole number of 0..total-1. Signed types and floats centre the range on
 * 0. */
static void put_integer(int type, void *out, uint64_t i, uint64_t number,
                        uint64_t total)
{
    int64_t centred = (int64_t)(number - total / 2);

    switch (type) {
    case SX_U32: ((uint32_t *)out)[i] = (uint32_t)number; break;
    case SX_U64: ((uint64_t *)out)[i] = number; break;
    case SX_I32: ((int32_t *)out)[i] = (int32_t)centred; break;
    case SX_I64: case SX_T64: ((int64_t *)out)[i] = centred; break;
    case SX_F32: ((float *)out)[i] = (float)centred; break;
    case SX_F64: ((double *)out)[i] = (double)centred; break;
    case SX_B16:
        put_big_endian((unsigned char *)out + 16 * i, 0, number);
        break;
    }
}

/* A real number x times unit, shifted to the middle of the range if centred.
 * Units are those of a 64-bit range; narrower types see the upper half of
 * it. */
static void put_real(int type, void *out, uint64_t i, double x, double unit,
                     bool centred, rng *r)
{
    double scaled = x * unit + (centred ? 0x1p63 : 0);
    uint64_t place;

    if (type == SX_F32) {
        ((float *)out)[i] = (float)x;
        return;
    }
    if (type == SX_F64) {
        ((double *)out)[i] = x;
        return;
    }
    if (scaled < 0)
        place = 0;
    else if (scaled >= 0x1p64)
        place = UINT64_MAX;
    else
        place = (uint64_t)scaled;
    /* A double has 53 bits; the lower ones that it can't carry are drawn. */
    if (place >> 53)
        place |= rng_next(r) >> 53;
    /* Signed types start where the unsigned do, at 0, unless centred. */
    if (!centred && (type == SX_I32 || type == SX_I64 || type == SX_T64))
        place = place >> 1 | 1ull << 63;
    put_place(type, out, i, place, rng_next(r));
}

/* ---- distributions ----------------------------------------------------- */

typedef struct {
    int type;
    uint64_t n;
    uint64_t seed;
    void *out;
    rng r;
} request;

static void draw_uniform(request *q, uint64_t i)
{
    uint64_t place = rng_next(&q->r);

    put_place(q->type, q->out, i, place, rng_next(&q->r));
}

static void draw_bell(request *q, uint64_t i)
{
    put_real(q->type, q->out, i, draw_normal(&q->r), 0x1p60, true, &q->r);
}

/* 4-byte types see the upper 32 bits, so they need a larger unit to have
 * more than a handful of keys. */
static void draw_lognormal(request *q, uint64_t i)
{
    bool narrow = q->type == SX_U32 || q->type == SX_I32;

    put_real(q->type, q->out, i, our_exp(2 * draw_normal(&q->r)),
             narrow ? 0x1p46 : 0x1p40, false, &q->r);
}

static void draw_exponential(request *q, uint64_t i)
{
    put_real(q->type, q->out, i, -our_log(rng_unit(&q->r)), 0x1p58, false,
             &q->r);
}

/* Halves the range again and again, and goes left or right with odds that
 * depend on the place. So full and empty regions are inside of full and empty
 * regions, like towns on a map. The last bits are even, so that keys stay
 * apart. */
static void draw_clustered(request *q, uint64_t i)
{
    int levels = sx_type_bytes(q->type) == 4 ? 12 : 28;
    uint64_t prefix = 1, dice = 0, place;

    for (int level = 0; level < levels; level++) {
        uint64_t odds = mix(prefix * 0x9e3779b97f4a7c15u ^ q->seed) >> 56;

        /* Odds between 1/8 and 7/8 of going right. */
        odds = 32 + odds * 192 / 256;
        if (level % 8 == 0)
            dice = rng_next(&q->r);
        prefix = prefix << 1 | ((dice & 255) < odds);
        dice >>= 8;
    }
    place = prefix << (64 - levels) | rng_next(&q->r) >> levels;
    put_place(q->type, q->out, i, place, rng_next(&q->r));
}

/* Value number v of D has odds of about 1/v: v = D^u for u uniform. */
static void draw_duplicates(request *q, uint64_t i)
{
    double distinct = (double)(q->n / 100 + 1);
    double v = floor(our_exp(our_log(distinct) * rng_unit(&q->r)));
    uint64_t place = mix((uint64_t)v * 0x9e3779b97f4a7c15u ^ q->seed);

    put_place(q->type, q->out, i, place, mix(place));
}

/* ---- stand-ins for data sets -------------------------------------------
 *
 * To an index of segments a data set is its curve of ranks: how it bends in
 * the large, how rough it is in the small. The stand-ins resemble the data
 * sets in both, and in nothing else. */

/* Odds of 0..255 that belong to a place, the same for all keys there. */
static uint64_t odds_at(const request *q, uint64_t cell)
{
    return mix((cell + 1) * 0x9e3779b97f4a7c15u ^ q->seed) >> 56;
}

/* A hump with a long tail over the whole range. It has a cell for about 128
 * keys, and some cells have up to three times as many keys as others. */
static void draw_books_like(request *q, uint64_t i)
{
    unsigned bits = 1;
    uint64_t place;

    while (bits < 32 && q->n >> (bits + 7))
        bits++;
    do {
        double x = our_exp(draw_normal(&q->r) * 0.75) * 0.125;

        place = x < 1 ? (uint64_t)(x * 0x1p64) | rng_next(&q->r) >> 53
                      : rng_next(&q->r);
    } while ((rng_next(&q->r) & 255) > 85 + odds_at(q, place >> (64 - bits)) *
                                                  2 / 3);
    put_place(q->type, q->out, i, place, rng_next(&q->r));
}

/* Of 3/2 n seconds later ones are likelier, and those in the middle of a day
 * are likelier than those at its ends. Some hours have far fewer. */
static void draw_wiki_like(request *q, uint64_t i)
{
    uint64_t total = q->n + q->n / 2 + 1, second, of_day, odds;

    do {
        uint64_t a = rng_below(&q->r, total), b = rng_below(&q->r, total);

        second = a > b ? a : b;
        of_day = second % 86400;
        odds = (of_day < 43200 ? of_day : 86399 - of_day) * 128 / 43200 + 64;
        odds += odds_at(q, second / 3600) / 4;
    } while ((rng_next(&q->r) & 255) > odds);
    put_integer(q->type, q->out, i, second, total);
}

/* Ids below 1024 n, or 2^30, that were handed out in cells of about 2^12.
 * Inside of a cell halves of halves get very unequal parts. */
static void draw_fb_like(request *q, uint64_t i)
{
    bool narrow = sx_type_bytes(q->type) == 4;
    unsigned bits = 12, cells, levels = 7;
    uint64_t prefix = 1, dice = rng_next(&q->r);

    while (bits < 40 && q->n >> bits)
        bits++;
    cells = bits - 12;
    if (narrow && cells > 20)             /* the levels need the rest of 30 bits */
        cells = 20;
    bits = narrow ? 30 : bits + 10;
    if (i % (q->n / 21 + 1) == 0) {
        put_integer(q->type, q->out, i,
                    narrow ? (1ull << 31) + (dice >> 44)
                           : (1ull << 62) + (dice >> 24), 1ull << bits);
        return;
    }
    if (cells)
        prefix = 1ull << cells | rng_next(&q->r) >> (64 - cells);
    for (unsigned level = 0; level < levels; level++) {
        uint64_t odds = 16 + odds_at(q, prefix) * 7 / 8;

        prefix = prefix << 1 | ((dice & 255) < odds);
        dice >>= 8;
    }
    bits -= cells + levels;
    prefix -= 1ull << (cells + levels);
    put_integer(q->type, q->out, i,
                prefix << bits | rng_next(&q->r) >> (64 - bits),
                1ull << (bits + cells + levels));
}

/* ---- few and frequent values, steps, gaps ------------------------------
 *
 * Real columns have these beside smooth curves: flags, categories, ids with
 * gaps, clocks that tick, values of every order of magnitude. */

/* A place of its own for value number v, the same for all keys. */
static uint64_t place_of(const request *q, uint64_t v)
{
    return mix((v + 1) * 0x9e3779b97f4a7c15u ^ q->seed);
}

static void draw_some_value(request *q, uint64_t i, uint64_t values)
{
    uint64_t place = place_of(q, rng_below(&q->r, values));

    put_place(q->type, q->out, i, place, mix(place));
}

static void draw_one_value(request *q, uint64_t i)
{
    draw_some_value(q, i, 1);
}

static void draw_two_values(request *q, uint64_t i)
{
    draw_some_value(q, i, 2);
}

static void draw_few_values(request *q, uint64_t i)
{
    draw_some_value(q, i, 1000);
}

/* Numbers from 0 on, each v + 1 with odds of about 1/(v + 1). */
static void draw_zipf_values(request *q, uint64_t i)
{
    uint64_t total = q->n / 16 + 2;
    double v = our_exp(our_log((double)total) * rng_unit(&q->r));

    put_integer(q->type, q->out, i, (uint64_t)v - 1, total);
}

static void draw_half_equal(request *q, uint64_t i)
{
    if (rng_next(&q->r) >> 63)
        draw_uniform(q, i);
    else
        draw_one_value(q, i);
}

/* About 16 of each number. */
static void draw_repeated(request *q, uint64_t i)
{
    uint64_t total = q->n / 16 + 1;

    put_integer(q->type, q->out, i, rng_below(&q->r, total), total);
}

/* 64 runs of neighbouring integers; each run of a 4-byte type has space for
 * 2^26 of them. */
static void draw_blocks(request *q, uint64_t i)
{
    bool narrow = sx_type_bytes(q->type) == 4;
    uint64_t length = q->n / 48 + 1, block = rng_below(&q->r, 64), start;

    start = narrow ? block << 26 : block << 58 | place_of(q, block) >> 8;
    if (narrow && length > 1ull << 26)
        length = 1ull << 26;
    start += rng_below(&q->r, length);
    put_place(q->type, q->out, i, narrow ? start << 32 : start, start);
}

/* Neighbouring integers, without every third run of 100. */
static void draw_holes(request *q, uint64_t i)
{
    uint64_t number = rng_below(&q->r, q->n), run = number / 100;

    number += (run / 2) * 100;
    put_integer(q->type, q->out, i, number, q->n + q->n / 2 + 100);
}

/* Even, but for one key in a thousand, which is anywhere in the range. */
static void draw_outliers(request *q, uint64_t i)
{
    if (rng_below(&q->r, 1000) == 0)
        draw_uniform(q, i);
    else
        put_place(q->type, q->out, i,
                  1ull << 62 | rng_next(&q->r) >> (sx_type_bytes(q->type) == 4 ? 8 : 20),
                  rng_next(&q->r));
}

/* A clock that ticks at intervals, and is early or late by a little. */
static void draw_jitter(request *q, uint64_t i)
{
    uint64_t step = UINT64_MAX / (q->n + 2);
    uint64_t place = (1 + rng_below(&q->r, q->n)) * step;

    place += rng_next(&q->r) % (step / 16 + 1);
    put_place(q->type, q->out, i, place, rng_next(&q->r));
}

/* The cube of an even number: crowded at one end, without an edge. */
static void draw_power(request *q, uint64_t i)
{
    double u = rng_unit(&q->r);

    put_real(q->type, q->out, i, u * u * u, 0x1p64, false, &q->r);
}

/* Equally many keys between 2^k and 2^(k+1) for every k. */
static void draw_log_uniform(request *q, uint64_t i)
{
    unsigned bits = sx_type_bytes(q->type) == 4 ? 31 : 63;
    double x = our_exp(rng_unit(&q->r) * bits * LN2);

    put_integer(q->type, q->out, i, (uint64_t)x, 0);
}

/* Two narrow bells far apart. */
static void draw_two_bells(request *q, uint64_t i)
{
    double far = rng_next(&q->r) >> 63 ? 4 : -4;

    put_real(q->type, q->out, i, draw_normal(&q->r) * 0.25 + far, 0x1p60,
             true, &q->r);
}

/* 1000 stretches, each crowded in its own way: some a million times as much
 * as others. */
static void draw_segments(request *q, uint64_t i)
{
    uint64_t s = rng_below(&q->r, 1000);
    unsigned less = (unsigned)(odds_at(q, s) % 20);
    uint64_t length = UINT64_MAX / 1000;

    if (sx_type_bytes(q->type) == 4)
        less /= 4;
    put_place(q->type, q->out, i, s * length + rng_next(&q->r) % (length >> less),
              rng_next(&q->r));
}

static void gen_each(request *q, void (*draw)(request *, uint64_t))
{
    for (uint64_t i = 0; i < q->n; i++) {
        if (i % PROGRESS_EVERY == 0)
            progress_at(i);
        draw(q, i);
    }
}

/* How many neighbouring integers the type can hold. */
static uint64_t integers_of(int type)
{
    switch (type) {
    case SX_U32: case SX_I32: return 1ull << 32;
    case SX_F32: return 1ull << 25; /* -2^24 to 2^24, exactly */
    case SX_F64: return 1ull << 54;
    }
    return UINT64_MAX;
}

static void gen_dense(request *q)
{
    shuffle order = shuffle_of(q->n, &q->r);

    if (q->n > integers_of(q->type))
        fail("%llu dense keys do not fit into %s, which holds %llu "
             "neighbouring integers", (unsigned long long)q->n,
             sx_type_name(q->type),
             (unsigned long long)integers_of(q->type));
    for (uint64_t i = 0; i < q->n; i++) {
        if (i % PROGRESS_EVERY == 0)
            progress_at(i);
        put_integer(q->type, q->out, i, shuffle_at(&order, i), q->n);
    }
}

/* At most 2^32, so that even 2^31 of the largest would not overflow. */
static uint64_t draw_gap(rng *r)
{
    double gap = 1 / rng_unit(r);

    return gap < 0x1p32 ? (uint64_t)gap : 1ull << 32;
}

/* The gaps are drawn twice, first for their sum: if it is more than the type
 * can count, all keys are scaled down and some become equal. */
static void gen_zipf_gapped(request *q)
{
    shuffle order = shuffle_of(q->n, &q->r);
    rng again = q->r;
    uint64_t total = 0, at = 0;
    double scale = 1;

    for (uint64_t i = 0; i < q->n; i++)
        total += draw_gap(&q->r);
    if (total >= integers_of(q->type)) {
        scale = (double)(integers_of(q->type) - 1) / (double)total;
        total = integers_of(q->type) - 1;
    }
    q->r = again;
    for (uint64_t i = 0; i < q->n; i++) {
        if (i % PROGRESS_EVERY == 0)
            progress_at(i);
        put_integer(q->type, q->out, shuffle_at(&order, i),
                    scale < 1 ? (uint64_t)((double)at * scale) : at, total);
        at += draw_gap(&q->r);
    }
}

/* For distributions whose keys do not depend on each other. */
static void (*const draw_one[])(request *, uint64_t) = {
    [DIST_NONE] = draw_uniform,
    [DIST_UNIFORM] = draw_uniform,
    [DIST_NORMAL] = draw_bell,
    [DIST_LOGNORMAL] = draw_lognormal,
    [DIST_EXPONENTIAL] = draw_exponential,
    [DIST_CLUSTERED] = draw_clustered,
    [DIST_DUPLICATES] = draw_duplicates,
    [DIST_OSM_LIKE] = draw_clustered,
    [DIST_BOOKS_LIKE] = draw_books_like,
    [DIST_WIKI_LIKE] = draw_wiki_like,
    [DIST_FB_LIKE] = draw_fb_like,
    [DIST_ONE_VALUE] = draw_one_value,
    [DIST_TWO_VALUES] = draw_two_values,
    [DIST_FEW_VALUES] = draw_few_values,
    [DIST_ZIPF_VALUES] = draw_zipf_values,
    [DIST_HALF_EQUAL] = draw_half_equal,
    [DIST_REPEATED] = draw_repeated,
    [DIST_BLOCKS] = draw_blocks,
    [DIST_HOLES] = draw_holes,
    [DIST_OUTLIERS] = draw_outliers,
    [DIST_JITTER] = draw_jitter,
    [DIST_POWER] = draw_power,
    [DIST_LOG_UNIFORM] = draw_log_uniform,
    [DIST_TWO_BELLS] = draw_two_bells,
    [DIST_SEGMENTS] = draw_segments,
};

static uint64_t stream_of(distribution dist)
{
    return dist == DIST_OSM_LIKE ? DIST_CLUSTERED : dist;
}

void gen_keys(distribution dist, int type, uint64_t n, uint64_t seed,
              void *out)
{
    request q = { .type = type, .n = n, .seed = mix(seed), .out = out,
                  .r = rng_of(seed, stream_of(dist)) };

    progress_start("generating", n);
    if (dist == DIST_DENSE)
        gen_dense(&q);
    else if (dist == DIST_ZIPF_GAPPED)
        gen_zipf_gapped(&q);
    else
        gen_each(&q, draw_one[dist]);
    progress_stop();
}

/* ---- by many threads --------------------------------------------------- */

typedef struct {
    distribution dist;
    uint64_t seed;
    request all;
} parts;

static void gen_part(void *context, uint64_t from, uint64_t to)
{
    const parts *p = context;
    request q = p->all;

    q.r = rng_of(p->seed, stream_of(p->dist) +
                              (from / PARALLEL_PART << 32));
    for (uint64_t i = from; i < to; i++)
        draw_one[p->dist](&q, i);
}

void gen_keys_parallel(distribution dist, int type, uint64_t n,
                       uint64_t seed, void *out)
{
    parts p = { .dist = dist, .seed = seed,
                .all = { .type = type, .n = n, .seed = mix(seed),
                         .out = out } };

    if (dist == DIST_DENSE || dist == DIST_ZIPF_GAPPED) {
        gen_keys(dist, type, n, seed, out);
        return;
    }
    progress_start("generating", n);
    parallel_for(n, gen_part, &p);
    progress_stop();
}

/* ---- no two equal ------------------------------------------------------ */

/* As many bits as put_place() takes of a place. */
unique_keys unique_of(int type, uint64_t seed)
{
    unique_keys u = { .type = type, .bits = 64 };
    rng r = rng_of(seed, 4000);

    if (type == SX_U32 || type == SX_I32)
        u.bits = 32;
    else if (type == SX_F32)
        u.bits = 24;
    else if (type == SX_F64)
        u.bits = 53;
    u.order = shuffle_of(unique_count(&u), &r);
    return u;
}

uint64_t unique_count(const unique_keys *u)
{
    return u->bits == 64 ? UINT64_MAX : 1ull << u->bits;
}

void unique_put(const unique_keys *u, uint64_t number, void *out, uint64_t i)
{
    uint64_t place = shuffle_at(&u->order, number) << (64 - u->bits);

    put_place(u->type, out, i, place, mix(place));
}

typedef struct {
    unique_keys keys;
    void *out;
} unique_request;

static void unique_part(void *context, uint64_t from, uint64_t to)
{
    unique_request *q = context;

    for (uint64_t i = from; i < to; i++)
        unique_put(&q->keys, i, q->out, i);
}

void gen_unique(int type, uint64_t n, uint64_t seed, void *out)
{
    unique_request q = { .keys = unique_of(type, seed), .out = out };

    if (n > unique_count(&q.keys))
        fail("there are no %llu different uniform keys of type %s, only "
             "%llu", (unsigned long long)n, sx_type_name(type),
             (unsigned long long)unique_count(&q.keys));
    progress_start("generating", n);
    parallel_for(n, unique_part, &q);
    progress_stop();
}
