/* test_device_fill.c - rows and keys of ranges of every length, written by kernels. Rank r has key r,
 * or r / 3, and a row that depends on r alone. So every output is known without a search. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "on_device.h"

#define BEHIND 40u                /* outputs that nobody may write */
#define RANGES 2000u

typedef struct {
    int type;                     /* of keys */
    int row_type;                 /* 0: a row is a rank */
    uint64_t same;                /* ranks of a key */
    const char *spec;
} table;

typedef struct {
    uint64_t n, total;
    uint64_t start[RANGES], count[RANGES];        /* in ranks */
} range_set;

static uint64_t row_of(const table *t, uint64_t rank)
{
    uint64_t mixed = (rank + 1) * 0x9e3779b97f4a7c15ull;
    return t->row_type == 0 ? rank : t->row_type == SX_U32 ? mixed >> 33 : mixed >> 1;
}

static void key_of(const table *t, uint64_t rank, void *out)
{
    key_small(t->type, rank / t->same, out);
}

static sx_index *table_build(const table *t, sx_device *dev, uint64_t n)
{
    size_t width = sx_type_bytes(t->type), row_width = t->row_type == SX_U32 ? 4 : 8;
    unsigned char *keys = need(n * width), *rows = need(n * 8);
    for (uint64_t r = 0; r < n; r++) {
        uint64_t row = row_of(t, r);
        key_of(t, r, keys + r * width);
        if (row_width == 4)
            ((uint32_t *)(void *)rows)[r] = (uint32_t)row;
        else
            ((uint64_t *)(void *)rows)[r] = row;
    }
    sx_column k = column(t->type, n, keys), v = column(row_width == 4 ? SX_U32 : SX_U64, n, rows);
    sx_index *ix = NULL;
    OK(sx_build(&ix, dev, t->spec, &k, t->row_type ? &v : NULL, NULL));
    free(keys);
    free(rows);
    return ix;
}

/* ---- ranges -------------------------------------------------------------------------- */

static void add(range_set *s, const table *t, uint64_t n, uint64_t length, rnd *r)
{
    uint64_t count = length / t->same * t->same, places = (n - count) / t->same + 1;
    if (s->n == RANGES)
        die("too many ranges");
    s->start[s->n] = rnd_below(r, places) * t->same;
    s->count[s->n++] = count;
    s->total += count;
}

/* A warp takes 128 outputs at a time in the emulator, 256 on a GPU, and 1024 one after the other. So
 * lengths are around multiples of 32, with nothing, a little or much between them. */
static void make_ranges(range_set *s, unsigned kind, const table *t, uint64_t n, rnd *r)
{
    static const uint64_t edges[] = { 1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 192, 255, 256, 257, 511,
                                      512, 513, 1023, 1024, 1025 };
    memset(s, 0, sizeof *s);
    switch (kind) {
    case 0:                       /* all at once, and one that ends where the keys do */
        add(s, t, n, n, r);
        add(s, t, n, n / 2, r);
        s->start[1] = n / t->same * t->same - s->count[1];
        break;
    case 1:                       /* long ones */
        for (unsigned i = 0; i < 12; i++)
            add(s, t, n, 200 + rnd_below(r, n / 2), r);
        break;
    case 2:                       /* each edge, and back again */
        for (unsigned i = 0; i < 2 * COUNT_OF(edges); i++)
            add(s, t, n, i < COUNT_OF(edges) ? edges[i] : edges[2 * COUNT_OF(edges) - 1 - i], r);
        break;
    case 3:                       /* a few outputs, then many, and nothing many times over */
        for (unsigned i = 0; i < 8; i++) {
            add(s, t, n, 100 + rnd_below(r, 900), r);
            for (unsigned j = 0; j < i * i; j++)
                add(s, t, n, 0, r);
            for (unsigned j = 0; j < i; j++)
                add(s, t, n, rnd_below(r, 5), r);
        }
        for (unsigned j = 0; j < 100; j++)
            add(s, t, n, 0, r);
        break;
    case 4:                       /* as many as lanes, and twice as many, in a step each */
        for (unsigned i = 0; i < 20; i++) {
            uint64_t length = rnd_below(r, 2) ? 64 : 128;
            add(s, t, n, length - 1 - rnd_below(r, 2), r);
            add(s, t, n, 1 + rnd_below(r, 2), r);
        }
        break;
    default:                      /* short ones only */
        for (unsigned i = 0; i < 600; i++)
            add(s, t, n, rnd_below(r, 9), r);
    }
}
#define RANGE_KINDS 6u

/* ---- one question ---------------------------------------------------------------------- */

typedef enum { HERE, THERE, QUEUED, PLACES } way;

/* A column of the device with what this one has, or, here, the column itself. */
static sx_column bring(sx_device *dev, const sx_column *c, way how)
{
    sx_column there = *c;
    if (how != HERE) {
        OK(sx_column_new(&there, dev, c->type, c->n));
        OK(sx_column_copy(&there, c, dev));
    }
    return there;
}

static void fetch(sx_device *dev, sx_column *c, sx_column *there, way how)
{
    if (how == HERE)
        return;
    OK(sx_column_copy(c, there, dev));
    sx_column_free(there, dev);
}

static uint64_t number(const sx_column *c, uint64_t i)
{
    return c->type == SX_U32 ? ((const uint32_t *)c->data)[i] : ((const uint64_t *)c->data)[i];
}

static bool untouched(const sx_column *c, uint64_t i)
{
    const unsigned char *p = (const unsigned char *)c->data + i * sx_type_bytes(c->type);
    for (size_t b = 0; b < sx_type_bytes(c->type); b++)
        if (p[b] != GUARD_FILL)
            return false;
    return true;
}

static void check(const table *t, const range_set *s, const sx_column *first, const sx_column *rows,
                  const sx_column *keys, const char *what)
{
    size_t width = sx_type_bytes(t->type);
    unsigned char key[16];
    uint64_t o = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        if (number(first, i) != o)
            fail_msg("%s: range %" PRIu64 " begins at %" PRIu64 ", not %" PRIu64, what, i,
                     number(first, i), o);
        for (uint64_t j = 0; j < s->count[i]; j++, o++) {
            uint64_t rank = s->start[i] + j;
            if (rows && number(rows, o) != row_of(t, rank))
                fail_msg("%s: output %" PRIu64 ", of range %" PRIu64 ", is %" PRIu64 ", not %" PRIu64,
                         what, o, i, number(rows, o), row_of(t, rank));
            key_of(t, rank, key);
            if (keys && memcmp((const unsigned char *)keys->data + o * width, key, width) != 0)
                fail_msg("%s: output %" PRIu64 ", of range %" PRIu64 ", has another key", what, o, i);
        }
    }
    assert_true(number(first, s->n) == s->total);
    for (; o < s->total + BEHIND; o++)
        if ((rows && !untouched(rows, o)) || (keys && !untouched(keys, o)))
            fail_msg("%s: output %" PRIu64 " of %" PRIu64 " was written", what, o, s->total);
}

/* askew: outputs of the device begin one element behind an aligned address. */
static void ask_set(sx_device *dev, const sx_index *ix, const table *t, const range_set *s,
                       int out_type, bool with_rows, bool with_keys, way how, bool askew)
{
    size_t width = sx_type_bytes(t->type);
    uint64_t space = s->total + BEHIND + 1;
    unsigned char *lo = need(s->n * width), *hi = need(s->n * width);
    uint64_t *first = need((s->n + 1) * 8), *rows = need(space * 8);
    unsigned char *keys = need(space * width);
    char what[200];
    snprintf(what, sizeof what, "%s of %s, rows %d as %s, %s%s, %" PRIu64 " ranges, way %d", t->spec,
             sx_type_name(t->type), t->row_type, sx_type_name(out_type), with_rows ? "rows" : "",
             with_keys ? " keys" : "", s->n, (int)how);
    begin_step("%s", what);
    for (uint64_t i = 0; i < s->n; i++) {         /* nothing: the ends are crossed */
        bool none = s->count[i] == 0;
        key_of(t, s->start[i] + (none ? t->same : 0), lo + i * width);
        key_of(t, s->start[i] + (none ? 0 : s->count[i] - 1), hi + i * width);
    }
    memset(rows, GUARD_FILL, space * 8);
    memset(keys, GUARD_FILL, space * width);
    sx_column l = column(t->type, s->n, lo), h = column(t->type, s->n, hi);
    sx_column f = column(SX_U64, s->n + 1, first), r = column(out_type, space, rows);
    sx_column k = column(t->type, space, keys);
    sx_column at_l = bring(dev, &l, how), at_h = bring(dev, &h, how), at_f = bring(dev, &f, how);
    sx_column at_r = bring(dev, &r, how), at_k = bring(dev, &k, how);
    sx_column to_r = slice(&at_r, askew, space - 1), to_k = slice(&at_k, askew, space - 1);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &at_l, .hi = &at_h };
    sx_call call = { .size = sizeof call, .stream = how == QUEUED ? (void *)2 : NULL };
    OK(sx_range(ix, &ranges, &at_f, with_rows ? &to_r : NULL, with_keys ? &to_k : NULL, &call));
    fetch(dev, &l, &at_l, how);   /* on the same stream: the answers are there by now */
    fetch(dev, &h, &at_h, how);
    fetch(dev, &f, &at_f, how);
    fetch(dev, &r, &at_r, how);
    fetch(dev, &k, &at_k, how);
    sx_column got_r = slice(&r, askew, space - 1), got_k = slice(&k, askew, space - 1);
    if (askew && (!untouched(&r, 0) || !untouched(&k, 0)))
        fail_msg("%s: what is before the outputs was written", what);
    check(t, s, &f, with_rows ? &got_r : NULL, with_keys ? &got_k : NULL, what);
    free(lo);
    free(hi);
    free(first);
    free(rows);
    free(keys);
}

/* ---- tests ------------------------------------------------------------------------------ */

static void ask_table(sx_device *dev, const table *t, uint64_t n, rnd *r)
{
    sx_index *ix = table_build(t, dev, n);
    range_set *s = need(sizeof *s);
    for (unsigned kind = 0; kind < RANGE_KINDS; kind++) {
        make_ranges(s, kind, t, n, r);
        for (unsigned w = 0; w < PLACES; w++) {
            unsigned turn = kind + w;
            int out_type = t->row_type == SX_U64 || turn % 2 ? SX_U64 : SX_U32;
            ask_set(dev, ix, t, s, out_type, true, turn % 3 == 0, (way)w, turn % 4 == 1);
            if (turn % 3 == 1)
                ask_set(dev, ix, t, s, SX_U64, false, true, (way)w, turn % 4 == 3);
        }
    }
    free(s);
    sx_free(ix);
}

static void test_lengths(void **state)
{
    (void)state;
    static const table tables[] = {
        { SX_U32, SX_U32, 1, "sorted(layout=split)" },    /* in order of rank: rows, and keys, ... */
        { SX_F64, SX_U64, 1, "pivot(layout=split)" },
        { SX_U64, SX_U32, 1, "radix" },
        { SX_B16, SX_U64, 1, "sorted(layout=split)" },
        { SX_I32, 0, 1, "pgm(layout=split)" },
        { SX_I64, SX_U32, 3, "sorted(layout=once)" },     /* ... rows alone, ... */
        { SX_U32, SX_U64, 3, "pivot(layout=once)" },
        { SX_F32, 0, 3, "sorted(layout=once)" },
        { SX_U64, 0, 1, "eytzinger(layout=pairs)" },      /* ... rows that are ranks ... */
        { SX_U32, SX_U32, 1, "eytzinger(layout=split)" }, /* ... or nothing */
        { SX_U64, SX_U64, 1, "pivot(layout=pairs)" },
        { SX_U32, SX_U32, 1, "btree(fill=70)" },
    };
    rnd r = rnd_start(test_seed());
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        sx_device *dev = device_open(kernel_with(i % 3 == 2 ? "blocks=2" : ""));
        ask_table(dev, &tables[i], kernel_is_gpu() ? 60000 : 3000, &r);
        sx_close(dev);
    }
}

/* Every output is the same one. */
static void test_one_key(void **state)
{
    (void)state;
    static const table tables[] = {
        { SX_U32, SX_U32, 1, "sorted(layout=split)" },
        { SX_U32, 0, 1, "sorted(layout=split)" },
    };
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with(""));
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        sx_index *ix = table_build(&tables[i], dev, 1);
        range_set *s = need(sizeof *s);
        memset(s, 0, sizeof *s);
        for (unsigned j = 0; j < 300; j++)
            add(s, &tables[i], 1, rnd_below(&r, 4) > 0, &r);
        for (unsigned w = 0; w < PLACES; w++)
            ask_set(dev, ix, &tables[i], s, SX_U32, true, w % 2, (way)w, false);
        free(s);
        sx_free(ix);
    }
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_one_key),
    };
    return cmocka_run_group_tests_name("rows and keys of ranges", tests, NULL, NULL) != 0;
}
