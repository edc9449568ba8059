/* test_radix.c - the radix tree: it has the nodes that a plain recursion over the keys counts,
 * the same bytes whoever builds it, and walks that end in files whose nodes lead anywhere. */
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

static asker *asking;
static const int widths[] = { SX_U32, SX_U64, SX_B16 };

/* ---- what the tree must be ------------------------------------------------------------- */

/* Nodes by their numbers of children, and the longest way down, over keys of `width` bytes that
 * are sorted as bytes. */
typedef struct {
    const unsigned char *keys;
    size_t width;
    uint64_t leaf, kinds[5], levels;
} model;

static void count_nodes(model *m, uint64_t from, uint64_t end, uint64_t level)
{
    const unsigned char *a = m->keys + from * m->width, *z = m->keys + (end - 1) * m->width;
    uint64_t children = 0, depth = 0;
    if (end - from <= m->leaf || memcmp(a, z, m->width) == 0)
        return;
    while (a[depth] == z[depth])
        depth++;
    m->levels = level + 1 > m->levels ? level + 1 : m->levels;
    for (uint64_t i = from; i < end; children++) {
        uint64_t j = i;
        while (j < end && m->keys[j * m->width + depth] == m->keys[i * m->width + depth])
            j++;
        count_nodes(m, i, j, level + 1);
        i = j;
    }
    if (depth + 1 == m->width && children == end - from)
        m->kinds[4]++;
    else
        m->kinds[children <= 4 ? 0 : children <= 16 ? 1 : children <= 48 ? 2 : 3]++;
}

/* The keys of the oracle as bytes, the highest first. */
static unsigned char *as_bytes(const dataset *d)
{
    unsigned char *out = need(d->n * d->width);
    for (uint64_t i = 0; i < d->n; i++)
        for (size_t b = 0; b < d->width; b++)
            out[i * d->width + b] = ((const unsigned char *)oracle_key(d->truth, i))
                [d->type == SX_B16 ? b : d->width - 1 - b];
    return out;
}

static void check_tree(const sx_index *ix, const dataset *d, const char *spec, const char *what)
{
    unsigned char *bytes = as_bytes(d);
    const sx_radix *t = &view_of(ix)->of.radix;
    model m = { .keys = bytes, .width = d->width, .leaf = t->leaf };
    count_nodes(&m, 0, d->n, 0);
    if (t->levels != m.levels)
        fail_msg("%s, %s: %u levels, not %llu", spec, what, t->levels, (unsigned long long)m.levels);
    for (unsigned k = 0; k < 5; k++)
        if (t->count[k] != m.kinds[k])
            fail_msg("%s, %s: %llu nodes of kind %u, not %llu", spec, what,
                     (unsigned long long)t->count[k], k, (unsigned long long)m.kinds[k]);
    free(bytes);
}

/* A tree on this device: its nodes, its invariants, and every answer. */
static void try_tree(sx_device *dev, bool kernels, const dataset *d, const char *spec,
                     const char *what)
{
    sx_index *ix = NULL;
    const char *wrong;
    asker_use(asking, kernels ? dev : NULL);
    asking->no_streams = strstr(spec, "hybrid") != NULL;
    if (data_build(d, dev, spec, NULL, &ix) != SX_OK)
        fail_msg("%s, %s: %s", spec, what, sx_detail());
    if (!strstr(spec, "once"))
        check_tree(ix, d, spec, what);
    wrong = ask_description(asking, ix, d);
    if (!wrong)
        wrong = ask(asking, ix, d, SX_U64, NULL);
    if (wrong)
        fail_msg("%s, %s, %llu keys of %s: %s", spec, what, (unsigned long long)d->n,
                 sx_type_name(d->type), wrong);
    sx_free(ix);
    asker_use(asking, NULL);
}

/* ---- keys ------------------------------------------------------------------------------- */

/* A key from bytes, the highest first. */
static void put_key(int type, const unsigned char *bytes, void *out)
{
    size_t width = sx_type_bytes(type);
    for (size_t b = 0; b < width; b++)
        ((unsigned char *)out)[type == SX_B16 ? b : width - 1 - b] = bytes[b];
}

/* A node of so many children under a stem of `depth` bytes, each with 1 to `most` keys. */
static dataset *with_children(int type, unsigned children, unsigned depth, unsigned most, rnd *r)
{
    size_t width = sx_type_bytes(type);
    unsigned char stem[16], key[16], *keys = need(256 * 8 * width);
    uint64_t n = 0;
    unsigned first = (unsigned)rnd_below(r, 257 - children);
    for (unsigned b = 0; b < 16; b++)
        stem[b] = (unsigned char)rnd_next(r);
    for (unsigned c = 0; c < children; c++)
        for (uint64_t k = 1 + rnd_below(r, most); k > 0; k--, n++) {
            for (unsigned b = 0; b < 16; b++)
                key[b] = b < depth ? stem[b] : (unsigned char)rnd_next(r);
            key[depth] = (unsigned char)(first + c);
            put_key(type, key, keys + n * width);
        }
    dataset *d = data_wrap(type, n, keys, ROWS_NULL, NULL, 80, r);
    free(keys);
    return d;
}

/* Books: a prefix, a group, a publisher with a run of titles, and a check digit. */
static dataset *books(uint64_t n, rnd *r)
{
    uint64_t *keys = need(n * sizeof *keys), at = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (at % 37 == 0)
            at = rnd_below(r, 200) * 1000000 + rnd_below(r, 40) * 1000;
        keys[i] = (978000000000ull + at) * 10 + at % 10;
        at += 1 + rnd_below(r, 3);
    }
    dataset *d = data_wrap(SX_U64, n, keys, ROWS_NULL, NULL, 120, r);
    free(keys);
    return d;
}

static const char *const specs[] = {
    "radix(leaf=1)", "radix(leaf=2,layout=pairs)", "radix", "radix(leaf=4,layout=pairs,block=1)",
    "radix(leaf=1,layout=once)",
};

static void try_all(sx_device *dev, bool kernels, const char *place, unsigned *turn)
{
    static const unsigned children[] = { 2, 3, 4, 5, 6, 15, 16, 17, 18, 47, 48, 49, 50, 255, 256 };
    rnd r = rnd_start(test_seed() + *turn);
    char spec[SX_SPEC_MAX];
    for (unsigned t = 0; t < COUNT_OF(widths); t++)
        for (unsigned c = 0; c < COUNT_OF(children); c++, ++*turn) {
            unsigned depth = (unsigned)rnd_below(&r, sx_type_bytes(widths[t]));
            dataset *d = with_children(widths[t], children[c], depth, 1 + *turn % 4, &r);
            char what[80];
            snprintf(what, sizeof what, "%u children behind %u bytes", children[c], depth);
            snprintf(spec, sizeof spec, "%s%s", specs[*turn % COUNT_OF(specs)], place);
            try_tree(dev, kernels, d, spec, what);
            data_free(d);
        }
    dataset *d = books(kernels ? 900 : 4000, &r);
    snprintf(spec, sizeof spec, "%s%s", specs[*turn % COUNT_OF(specs)], place);
    try_tree(dev, kernels, d, spec, "books");
    data_free(d);
}

static void test_children(void **state)
{
    (void)state;
    sx_device *devices[SIMD_LEVELS];
    unsigned turn = 0;
    devices_open(devices);
    for (unsigned i = 0; i < SIMD_LEVELS; i++)
        if (devices[i])
            try_all(devices[i], false, "", &turn);
    devices_close(devices);
}

static void test_children_kernels(void **state)
{
    (void)state;
    static const char *const places[] = { "", " place=hybrid", " place=both" };
    unsigned turn = 1;
    for (unsigned i = 0; i < 6; i++) {
        sx_device *dev = device_open(kernel_device(i * 7 % kernel_devices()));
        try_all(dev, true, places[i % COUNT_OF(places)], &turn);
        sx_close(dev);
    }
}

/* A way down of as many nodes as a key has bytes: keys that share 0, 1, ... bytes with one. */
static void test_long_ways(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu");
    rnd r = rnd_start(test_seed());
    for (unsigned t = 0; t < COUNT_OF(widths); t++) {
        unsigned char key[16] = { 0 }, keys[17 * 16];
        size_t width = sx_type_bytes(widths[t]);
        sx_index *ix = NULL;
        for (unsigned b = 0; b < width; b++) {
            memset(key, 7, sizeof key);
            key[b] = (unsigned char)(b % 2 ? 9 : 3);
            put_key(widths[t], key, keys + b * width);
        }
        memset(key, 7, sizeof key);
        put_key(widths[t], key, keys + width * width);
        dataset *d = data_wrap(widths[t], width + 1, keys, ROWS_NULL, NULL, 200, &r);
        assert_int_equal(data_build(d, dev, "radix(leaf=1)", NULL, &ix), SX_OK);
        assert_int_equal(view_of(ix)->of.radix.levels, width);
        sx_free(ix);
        try_tree(dev, false, d, "radix(leaf=1)", "a long way");
        data_free(d);
    }
    sx_close(dev);
}

/* ---- who builds ------------------------------------------------------------------------- */

/* The same bytes in the section, by one thread, by three, and by kernels. Enough keys for nodes
 * that begin in several parts. */
static void test_same_bytes(void **state)
{
    (void)state;
    static const char *const names[] = { "cpu:threads=1", "cpu:threads=3", "" };
    static const key_kind some[] = { KEYS_RANDOM, KEYS_DENSE, KEYS_DUPLICATES, KEYS_LONG_RUN,
                                      KEYS_ROOTS };
    rnd r = rnd_start(test_seed());
    for (unsigned i = 0; i < COUNT_OF(some) * COUNT_OF(widths); i++) {
        dataset *d = data_make(widths[i % COUNT_OF(widths)], some[i / COUNT_OF(widths)],
                               20000 + rnd_below(&r, 30000), ROWS_NULL, 2, &r);
        unsigned char *first = NULL;
        size_t bytes = 0, more;
        for (unsigned k = 0; k < COUNT_OF(names); k++) {
            sx_device *dev = device_open(*names[k] ? names[k] : kernel_with(""));
            sx_index *ix = NULL;
            char *path = temp_path("same.sxt");
            assert_int_equal(data_build(d, dev, i % 2 ? "radix(leaf=1)" : "radix", NULL, &ix), SX_OK);
            unsigned char *its = saved_bytes(ix, path, &more);
            if (first && (more != bytes || memcmp(first, its, bytes) != 0))
                fail_msg("%s builds another tree of %s", *names[k] ? names[k] : "the kernels",
                         sx_type_name(d->type));
            if (!first)
                bytes = more;
            free(first ? its : NULL);
            first = first ? first : its;
            free(path);
            sx_free(ix);
            sx_close(dev);
        }
        free(first);
        data_free(d);
    }
}

/* ---- nodes that lead anywhere ----------------------------------------------------------- */

/* Nodes of a file lead anywhere, and its checksums are right. Every call must end, and find ranks up to
 * n. */
static void ask_astray(sx_index *ix, const dataset *d)
{
    uint64_t *ranks = need(d->queries * sizeof *ranks);
    sx_column q = column(d->type, d->queries, d->q.data);
    sx_column out = column(SX_U64, d->queries, ranks);
    OK(sx_rank(ix, &q, SX_LEFT, &out, NULL));
    for (uint64_t i = 0; i < d->queries; i++)
        assert_true(ranks[i] <= d->n);
    OK(sx_rank(ix, &q, SX_RIGHT, &out, NULL));
    for (uint64_t i = 0; i < d->queries; i++)
        assert_true(ranks[i] <= d->n);
    free(ranks);
}

static void test_astray(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *cpu = device_open("cpu"), *kernels = device_open(kernel_with(""));
    for (unsigned i = 0; i < 36; i++) {
        dataset *d = data_make(widths[i % 3], i % 2 ? KEYS_RANDOM : KEYS_DUPLICATES,
                               700 + rnd_below(&r, 900), ROWS_NULL, 60, &r);
        char *path = astray_file(cpu, d, i / 12, &r);
        for (unsigned k = 0; k < 2; k++) {
            sx_index *ix = NULL;
            OK(sx_load(&ix, k ? kernels : cpu, path, 0, NULL));
            ask_astray(ix, d);
            assert_int_equal(sx_check(ix, NULL), SX_ECORRUPT);
            sx_free(ix);
        }
        free(path);
        data_free(d);
    }
    sx_close(kernels);
    sx_close(cpu);
}

/* ---- memory ------------------------------------------------------------------------------ */

static uint64_t node_bytes(int type, uint64_t n, uint64_t step)
{
    sx_device *dev = device_open("cpu");
    size_t width = sx_type_bytes(type);
    unsigned char *keys = need(n * width);
    sx_index *ix = NULL;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t x = i * step;
        memcpy(keys + i * width, &x, width);
    }
    sx_column c = column(type, n, keys);
    OK(sx_build(&ix, dev, "radix", &c, NULL, NULL));
    uint64_t bytes = sx_section_bytes(view_of(ix), SX_SEC_RADIX_NODES);
    sx_free(ix);
    free(keys);
    sx_close(dev);
    return bytes;
}

/* Keys without gaps are bits: a fourth of a byte each, a fifth where they are many. Keys far apart take what 2^26 of them take:
 * nodes of 256 with four keys a child, and little above. */
static void test_memory(void **state)
{
    (void)state;
    assert_true(node_bytes(SX_U32, 1u << 18, 1) < (1u << 18) / 4);
    assert_true(node_bytes(SX_U32, 1u << 16, 64) <= (1u << 16) * 0.6 + 8192);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_children),
        cmocka_unit_test(test_children_kernels),
        cmocka_unit_test(test_long_ways),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_astray),
        cmocka_unit_test(test_memory),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("radix", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
