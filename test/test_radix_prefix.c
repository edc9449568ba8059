/* test_radix_prefix.c - prefixes in a radix tree, which one walk finds: of every length, of keys that
 * are there and of others, in trees of every shape, against the oracle; and walks that end in files
 * whose nodes lead anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "forge.h"
#include "inside.h"
#include "on_device.h"
#include "radix_astray.h"

static const int widths[] = { SX_U32, SX_U64, SX_B16 };

/* ---- questions --------------------------------------------------------------------------- */

typedef struct {
    uint64_t n;
    unsigned char *of;            /* keys */
    uint32_t *bits;
} asked;

/* Byte b of a key, counted from the highest, whose bits a prefix has first. */
static unsigned char *byte_of(int type, unsigned char *key, unsigned b)
{
    return key + (type == SX_B16 ? b : sx_type_bytes(type) - 1 - b);
}

/* A key, one that differs in a bit, and both ends of all keys. */
static void some_key(const dataset *d, unsigned char *to, unsigned i, rnd *r)
{
    unsigned bit = (unsigned)rnd_below(r, 8 * d->width);
    if (i < 2 || d->n == 0) {
        memset(to, i % 2 ? 0xff : 0, d->width);
        return;
    }
    memcpy(to, oracle_key(d->truth, rnd_below(r, d->n)), d->width);
    if (i % 2)
        *byte_of(d->type, to, bit / 8) ^= (unsigned char)(0x80u >> bit % 8);
}

/* Each of some keys with every number of bits. The bits behind them are any. */
static asked every_length(const dataset *d, unsigned keys, rnd *r)
{
    unsigned lengths = 8 * (unsigned)d->width + 1;
    asked a = { .n = (uint64_t)keys * lengths };
    a.of = need(a.n * d->width);
    a.bits = need(a.n * sizeof *a.bits);
    for (uint64_t i = 0; i < a.n; i++) {
        unsigned char *to = a.of + i * d->width;
        uint32_t bits = a.bits[i] = (uint32_t)(i % lengths);
        if (bits == 0)
            some_key(d, to, (unsigned)(i / lengths), r);
        else
            memcpy(to, to - d->width, d->width);
    }
    for (uint64_t i = 0; i < a.n; i++)
        for (unsigned b = a.bits[i]; b < 8 * d->width && i % 3 == 0; b++)
            if (rnd_below(r, 2))
                *byte_of(d->type, a.of + i * d->width, b / 8) ^= (unsigned char)(0x80u >> b % 8);
    return a;
}

static void asked_free(asked *a)
{
    free(a->of);
    free(a->bits);
}

/* A column as the question has it: the host's, or a copy in device memory. */
static sx_column given(sx_device *there, sx_column here)
{
    sx_column c;
    if (!there)
        return here;
    OK(sx_column_new(&c, there, here.type, here.n));
    OK(sx_column_copy(&c, &here, there));
    return c;
}

/* Counts; or rows of at most `limit` of each. */
static void ask_prefixes(const sx_index *ix, sx_device *there, const dataset *d, const asked *a,
                         uint64_t limit, uint32_t last, const char *what)
{
    oracle_span *want = need(a->n * sizeof *want);
    uint64_t total = 0, *first = need((a->n + 1) * 8), *rows;
    for (uint64_t i = 0; i < a->n; i++) {
        want[i] = data_prefix(d, a->of + i * d->width,
                              a->bits[i] < 8 * d->width ? a->bits[i] : 8 * (unsigned)d->width, limit, last);
        total += want[i].count;
    }
    rows = need((total + 1) * 8);
    sx_column of = given(there, column(d->type, a->n, a->of));
    sx_column bits = given(there, column(SX_U32, a->n, a->bits));
    sx_column f = column(SX_U64, a->n + 1, first), out = column(SX_U64, total, rows);
    sx_prefixes p = { .size = sizeof p, .of = &of, .bits = &bits, .limit = limit, .last = last };
    OK(sx_prefix(ix, &p, &f, limit ? &out : NULL, NULL, NULL));
    for (uint64_t i = 0; i < a->n; i++) {
        if (first[i + 1] - first[i] != want[i].count)
            fail_msg("%s: %u bits of key %llu: %llu keys, not %llu", what, a->bits[i],
                     (unsigned long long)i, (unsigned long long)(first[i + 1] - first[i]),
                     (unsigned long long)want[i].count);
        for (uint64_t k = 0; limit && k < want[i].count; k++)
            if (rows[first[i] + k] != d->truth->rows[want[i].first + k])
                fail_msg("%s: %u bits of key %llu: another row %llu", what, a->bits[i],
                         (unsigned long long)i, (unsigned long long)k);
    }
    if (there) {
        sx_column_free(&of, there);
        sx_column_free(&bits, there);
    }
    free(rows);
    free(first);
    free(want);
}

/* Every length, with columns on the host and, of kernels, in device memory. */
static void try_prefixes(sx_device *dev, bool kernels, const dataset *d, unsigned keys, const char *spec,
                         const char *what, rnd *r)
{
    sx_index *ix = index_of(dev, d, spec);
    asked a = every_length(d, keys, r);
    char said[200];
    snprintf(said, sizeof said, "%s, %s, %llu keys of %s", spec, what, (unsigned long long)d->n,
             sx_type_name(d->type));
    begin_step("%s", said);
    for (unsigned there = 0; there <= (kernels ? 1u : 0u); there++) {
        ask_prefixes(ix, there ? dev : NULL, d, &a, 0, 0, said);
        ask_prefixes(ix, there ? dev : NULL, d, &a, 2, there, said);
        ask_prefixes(ix, there ? dev : NULL, d, &a, 1, !there, said);
        for (uint64_t i = 0; i < a.n; i++)        /* in device memory they are not refused */
            a.bits[i] += a.bits[i] == 8 * d->width ? 100 : 0;
    }
    asked_free(&a);
    sx_free(ix);
}

/* ---- trees ------------------------------------------------------------------------------ */

/* A key from bytes, the highest first. */
static void put_key(int type, const unsigned char *bytes, unsigned char *out)
{
    for (unsigned b = 0; b < sx_type_bytes(type); b++)
        *byte_of(type, out, b) = bytes[b];
}

/* A node of so many children, side by side or far apart, under a stem of `depth` bytes, each with 1
 * to `most` keys. few: children's keys differ in their last bytes only, so that stems are long. */
static dataset *with_children(int type, unsigned children, unsigned depth, unsigned most, bool few,
                              rnd *r)
{
    size_t width = sx_type_bytes(type);
    unsigned char stem[16], key[16], *keys = need(256 * 8 * width);
    unsigned step = rnd_below(r, 2) ? 1 : 255 / children, at = (unsigned)rnd_below(r, 257 - children * step);
    uint64_t n = 0;
    for (unsigned b = 0; b < 16; b++)
        stem[b] = (unsigned char)rnd_next(r);
    for (unsigned c = 0; c < children; c++)
        for (uint64_t k = 1 + rnd_below(r, most); k > 0; k--, n++) {
            for (unsigned b = 0; b < 16; b++)
                key[b] = b < depth || (few && b + 1 < width) ? stem[b] : (unsigned char)rnd_next(r);
            key[depth] = (unsigned char)(at + c * step);
            put_key(type, key, keys + n * width);
        }
    dataset *d = data_wrap(type, n, keys, ROWS_NULL, NULL, 2, r);
    free(keys);
    return d;
}

static const char *const specs[] = {
    "radix(leaf=1)", "radix(leaf=2,layout=pairs)", "radix", "radix(leaf=4,layout=pairs,block=1)",
    "radix(leaf=1,layout=once)", "radix(leaf=3,layout=once)", "radix(leaf=255)",
};

static void try_all(sx_device *dev, bool kernels, const char *place, unsigned *turn)
{
    static const unsigned children[] = { 2, 3, 4, 5, 6, 15, 16, 17, 18, 47, 48, 49, 50, 255, 256 };
    rnd r = rnd_start(test_seed() + *turn);
    char spec[SX_SPEC_MAX];
    for (unsigned t = 0; t < COUNT_OF(widths); t++)
        for (unsigned c = 0; c < COUNT_OF(children); c++, ++*turn) {
            unsigned depth = (unsigned)rnd_below(&r, sx_type_bytes(widths[t]));
            dataset *d = with_children(widths[t], children[c], depth, 1 + *turn % 8, *turn % 3 == 0, &r);
            char what[80];
            snprintf(what, sizeof what, "%u children behind %u bytes", children[c], depth);
            snprintf(spec, sizeof spec, "%s%s", specs[*turn % COUNT_OF(specs)], place);
            try_prefixes(dev, kernels, d, kernels ? 8 : 16, spec, what, &r);
            data_free(d);
        }
}

static void test_lengths(void **state)
{
    (void)state;
    /* walk=alone: small arrays, too, are searched by the family's own walks */
    static const char *const names[] = { "cpu:scalar,walk=alone", "cpu:avx2,walk=alone",
                                         "cpu:avx512,walk=alone", "cpu" };
    unsigned turn = 0;
    for (unsigned i = 0; i < COUNT_OF(names); i++) {
        sx_device *dev = NULL;
        sx_status status = sx_open(&dev, names[i]);
        if (status == SX_ENODEV && i > 0)
            continue;
        assert_int_equal(status, SX_OK);
        try_all(dev, false, "", &turn);
        sx_close(dev);
    }
}

static void test_lengths_kernels(void **state)
{
    (void)state;
    static const char *const places[] = { "", " place=hybrid", " place=both", " place=host" };
    unsigned turn = 1;
    for (unsigned i = 0; i < COUNT_OF(places); i++) {
        sx_device *dev = device_open(kernel_device(i * 7 % kernel_devices()));
        try_all(dev, true, places[i], &turn);
        sx_close(dev);
    }
    /* Here the GPU makes entries of both ends for sure. */
    sx_device *dev = device_open(kernel_with("bucket=100,side=gpu"));
    try_all(dev, true, " place=hybrid", &turn);
    sx_close(dev);
}

/* Keys of every kind, many enough that the CPU has no faster search for small arrays and that walks
 * of different lengths are in one group. */
static void test_kinds(void **state)
{
    (void)state;
    static const key_kind some[] = { KEYS_RANDOM, KEYS_DENSE, KEYS_DUPLICATES, KEYS_LONG_RUN, KEYS_ROOTS };
    rnd r = rnd_start(test_seed());
    sx_device *cpu = device_open("cpu:walk=alone"), *kernels = device_open(kernel_with(""));
    for (unsigned i = 0; i < COUNT_OF(some) * COUNT_OF(widths); i++) {
        dataset *d = data_make(widths[i % COUNT_OF(widths)], some[i / COUNT_OF(widths)],
                               9000 + rnd_below(&r, 2000), ROWS_NULL, 2, &r);
        try_prefixes(cpu, false, d, 8, specs[i % COUNT_OF(specs)], "a kind", &r);
        if (i % 2)
            try_prefixes(kernels, true, d, 4, specs[i % COUNT_OF(specs)], "a kind", &r);
        data_free(d);
    }
    sx_close(kernels);
    sx_close(cpu);
}

/* So many equal keys that their entry does not say how many, before, between and behind others. */
static void test_many_equal(void **state)
{
    (void)state;
    enum { MANY = 33000 };
    rnd r = rnd_start(test_seed());
    sx_device *cpu = device_open("cpu:walk=alone"), *kernels = device_open(kernel_with(""));
    uint32_t *keys = need((MANY + 300) * sizeof *keys);
    static const uint32_t value[] = { 0, 0x01020304, 0xffffffff };
    for (unsigned v = 0; v < COUNT_OF(value); v++) {
        for (unsigned i = 0; i < MANY + 300; i++)
            keys[i] = i < MANY ? value[v] : i % 2 ? (uint32_t)rnd_next(&r) : value[v] ^ (i % 256);
        dataset *d = data_wrap(SX_U32, MANY + 300, keys, ROWS_NULL, NULL, 2, &r);
        try_prefixes(cpu, false, d, 4, "radix", "many equal", &r);
        try_prefixes(cpu, false, d, 4, "radix(layout=once)", "many equal", &r);
        try_prefixes(kernels, true, d, 3, "radix", "many equal", &r);
        data_free(d);
    }
    free(keys);
    sx_close(kernels);
    sx_close(cpu);
}

/* No key at all, and one. */
static void test_hardly_any(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *cpu = device_open("cpu:walk=alone"), *kernels = device_open(kernel_with(""));
    for (unsigned t = 0; t < COUNT_OF(widths); t++)
        for (uint64_t n = 0; n < 3; n++) {
            dataset *d = data_make(widths[t], KEYS_RANDOM, n, ROWS_NULL, 2, &r);
            try_prefixes(cpu, false, d, 6, "radix(leaf=1)", "hardly any", &r);
            try_prefixes(kernels, true, d, 6, "radix(leaf=1)", "hardly any", &r);
            data_free(d);
        }
    sx_close(kernels);
    sx_close(cpu);
}

/* ---- memory ------------------------------------------------------------------------------ */

/* One walk takes no columns of ends: less memory than these would be is enough. On a GPU other
 * families have them; a hybrid index may. */
static void test_scratch(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        bool kernels, ends;
    } cases[] = { { "radix", false, false }, { "pivot", false, false }, { "radix", true, false },
                  { "pivot", true, true }, { "radix place=host", true, false },
                  { "radix place=hybrid", true, true } };
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 5000, ROWS_NULL, 2, &r);
    asked a = every_length(d, 8, &r);
    uint64_t *first = need((a.n + 1) * 8);
    sx_column of = column(SX_U64, a.n, a.of), bits = column(SX_U32, a.n, a.bits);
    sx_column f = column(SX_U64, a.n + 1, first);
    sx_prefixes p = { .size = sizeof p, .of = &of, .bits = &bits };
    /* Offsets are summed up on a device, in two words a range; ends take two more. */
    sx_call call = { .size = sizeof call, .max_bytes = (a.n + 1) * 16 };
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        sx_device *dev = device_open(cases[i].kernels ? kernel_with("") : "cpu");
        sx_index *ix = index_of(dev, d, cases[i].spec);
        call.max_bytes -= strstr(cases[i].spec, "hybrid") != NULL;
        if (cases[i].ends)
            REFUSED(sx_prefix(ix, &p, &f, NULL, NULL, &call), SX_ENOMEM, "scratch");
        else
            OK(sx_prefix(ix, &p, &f, NULL, NULL, &call));
        call.max_bytes += strstr(cases[i].spec, "hybrid") != NULL;
        sx_free(ix);
        sx_close(dev);
    }
    free(first);
    asked_free(&a);
    data_free(d);
}

/* ---- nodes that lead anywhere ----------------------------------------------------------- */

/* Rows, too, which are read at the ranks that were found. */
static void ask_astray(const sx_index *ix, const dataset *d, const asked *a)
{
    uint64_t *first = need((a->n + 1) * 8), *rows = need(2 * a->n * 8);
    sx_column of = column(d->type, a->n, a->of), bits = column(SX_U32, a->n, a->bits);
    sx_column f = column(SX_U64, a->n + 1, first), out = column(SX_U64, 2 * a->n, rows);
    sx_prefixes p = { .size = sizeof p, .of = &of, .bits = &bits };
    OK(sx_prefix(ix, &p, &f, NULL, NULL, NULL));
    for (uint64_t i = 0; i < a->n; i++)
        assert_true(first[i + 1] - first[i] <= d->n);
    p.limit = 2;
    OK(sx_prefix(ix, &p, &f, &out, NULL, NULL));
    for (uint64_t i = 0; i < first[a->n]; i++)
        assert_true(rows[i] < d->n);
    free(rows);
    free(first);
}

static void test_astray(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *cpu = device_open("cpu:walk=alone"), *kernels = device_open(kernel_with(""));
    for (unsigned i = 0; i < 36; i++) {
        uint64_t n = i % 6 < 3 ? 700 + rnd_below(&r, 900) : 9000;     /* more than small arrays have */
        dataset *d = data_make(widths[i % 3], i % 2 ? KEYS_RANDOM : KEYS_DUPLICATES, n, ROWS_NULL, 2, &r);
        char *path = astray_file(cpu, d, i / 12, &r);
        asked a = every_length(d, 8, &r);
        for (unsigned k = 0; k < 2; k++) {
            sx_index *ix = NULL;
            OK(sx_load(&ix, k ? kernels : cpu, path, 0, NULL));
            ask_astray(ix, d, &a);
            sx_free(ix);
        }
        asked_free(&a);
        free(path);
        data_free(d);
    }
    sx_close(kernels);
    sx_close(cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_lengths_kernels),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_many_equal),
        cmocka_unit_test(test_hardly_any),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_astray),
    };
    test_seed();
    return cmocka_run_group_tests_name("radix_prefix", tests, NULL, NULL) != 0;
}
