/* test_btree.c - the tree of lines: its lines are as btree.h draws them, it has the levels
 * that it needs and no more, and trees that are just full, or just not, answer as others do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "family/shape.h"
#include "inside.h"
#include "on_device.h"

#define W 8
#include "family/generic/width_begin.h"
#define SX_LOAD(p) (*(const KEY *)(const void *)(p))
#define SX_COUNT(p, m, q) ((void)(p), (void)(m), (void)(q), 0u)
#define SX_COUNT_UNIT(p, m, q) SX_COUNT(p, m, q)
#include "family/btree/btree_walk_impl.h"

static const struct { int type; unsigned width, line; } types[] = {
    { SX_U32, 4, 16 }, { SX_F64, 8, 8 }, { SX_B16, 16, 4 },
};
static const struct { row_kind kind; unsigned bytes; } rows[] = {
    { ROWS_IMPLICIT, 0 }, { ROWS_U32, 4 }, { ROWS_U64_WIDE, 8 },
};

/* As the drawing has it, not as the code computes it. */
static unsigned pairs_of(unsigned width, unsigned row_bytes)
{
    static const unsigned pairs[3][3] = { { 16, 8, 5 }, { 8, 5, 4 }, { 4, 3, 2 } };
    return pairs[width / 8][row_bytes / 4];
}

static unsigned rows_begin(unsigned width, unsigned row_bytes)
{
    static const unsigned byte[3][3] = { { 0, 32, 24 }, { 0, 40, 32 }, { 0, 48, 32 } };
    return byte[width / 8][row_bytes / 4];
}

static asker *asking;

/* ---- boundaries ------------------------------------------------------------------------ */

/* Numbers of keys around leaf * k^l, in ascending order. */
static uint64_t boundary(unsigned leaf, unsigned k, unsigned i)
{
    uint64_t n = leaf;
    for (unsigned l = 0; l < i / 3; l++)
        n *= k;
    return n + i % 3 - 1;
}

/* The levels that so many keys need. */
static unsigned levels_of(uint64_t n, unsigned leaf, unsigned k)
{
    unsigned levels = 0;
    for (uint64_t under = leaf; under < n; under *= k)
        levels++;
    return levels;
}

/* A tree of n keys, and one where equal keys run over leaves and nodes. */
static void try_boundary(sx_device *dev, bool kernels, unsigned t, unsigned r, unsigned k, uint64_t n,
                         const char *place, rnd *random)
{
    for (unsigned kind = 0; kind < 2; kind++) {
        dataset *d = data_make(types[t].type, kind ? KEYS_DUPLICATES : KEYS_DENSE, n, rows[r].kind, 60,
                               random);
        char spec[SX_SPEC_MAX];
        snprintf(spec, sizeof spec, "btree(k=%u)", k);
        sx_index *ix = asked_index(asking, dev, kernels, d, spec, place);
        const sx_btree *tree = &view_of(ix)->of.btree;
        unsigned leaf = pairs_of(types[t].width, view_of(ix)->row_bytes);
        if (tree->levels != levels_of(n, leaf, k))
            fail_msg("%s of %llu keys has %u levels", spec, (unsigned long long)n, tree->levels);
        sx_free(ix);
        data_free(d);
    }
}

static void try_boundaries(sx_device *const devices[], unsigned count, bool kernels, uint64_t most,
                           const char *const places[], unsigned place_count)
{
    rnd random = rnd_start(test_seed());
    unsigned turn = 0, tried = 0;
    for (unsigned t = 0; t < COUNT_OF(types); t++)
        for (unsigned r = 0; r < COUNT_OF(rows); r++) {
            unsigned leaf = pairs_of(types[t].width, rows[r].bytes);
            const unsigned ks[] = { 2, 3, types[t].line, types[t].line + 1 };
            for (unsigned i = 0; i < COUNT_OF(ks); i++)
                for (unsigned b = 0; boundary(leaf, ks[i], b) <= most; b++, turn++, tried++)
                    if (devices[turn % count])
                        try_boundary(devices[turn % count], kernels, t, r, ks[i],
                                     boundary(leaf, ks[i], b),
                                     places[turn / count % place_count], &random);
        }
    assert_true(tried > 300);
}

static void test_boundaries(void **state)
{
    (void)state;
    static const char *const places[] = { "" };
    sx_device *devices[SIMD_LEVELS];
    devices_open(devices);
    for (unsigned turn = 0; turn < SIMD_LEVELS; turn++) {         /* each gets all */
        sx_device *first = devices[0];
        memmove(devices, devices + 1, (SIMD_LEVELS - 1) * sizeof devices[0]);
        devices[SIMD_LEVELS - 1] = first;
        try_boundaries(devices, SIMD_LEVELS, false, 5000, places, COUNT_OF(places));
    }
    devices_close(devices);
}

static void test_boundaries_kernels(void **state)
{
    (void)state;
    static const char *const places[] = { "", "hybrid", "both" };
    sx_device *devices[KERNEL_DEVICES] = { NULL };
    for (unsigned i = 0; i < kernel_devices(); i++)
        devices[i] = device_open(kernel_device(i));
    try_boundaries(devices, kernel_devices(), true, 1300, places, COUNT_OF(places));
    for (unsigned i = 0; i < kernel_devices(); i++)
        sx_close(devices[i]);
}

/* ---- ways to search nodes (doc/LAB.md) -------------------------------------------------- */

/* Where the library has them; else they are refused. */
static void test_lab(void **state)
{
    (void)state;
    static const char *const options[] = {
        "node=sequential", "node=linear", "node=hierarchical", "pipeline=1",
        "node=sequential,pipeline=3", "node=hierarchical,pipeline=17,pages=small",
        "node=linear,pipeline=32,pages=upper", "pages=huge",
    };
    static const char *const wrong[] = { "node=fast", "pipeline=0", "pipeline=33", "pages=large",
                                         "node=linear,node=linear" };
    rnd random = rnd_start(test_seed());
    bool lab = false;
    for (unsigned i = 0; i < COUNT_OF(options) * SIMD_LEVELS; i++) {
        char name[120];
        sx_device *dev = NULL;
        const char *level = simd_names[i % SIMD_LEVELS];
        snprintf(name, sizeof name, "%s%s%s", level, strchr(level, ':') ? "," : ":",
                 options[i / SIMD_LEVELS]);
        sx_status st = sx_open(&dev, name);
        if (st == SX_ENODEV)
            continue;
        if (st != SX_OK) {
            assert_int_equal(st, SX_EINVAL);
            assert_non_null(strstr(sx_detail(), "doc/LAB.md"));
            assert_false(lab);
            continue;
        }
        lab = true;
        for (unsigned t = 0; t < COUNT_OF(types); t++)
            for (unsigned r = 0; r < COUNT_OF(rows); r++)
                for (unsigned k = 2; k <= types[t].line + 1; k += 1 + k / 2)
                    try_boundary(dev, false, t, r, k, 1 + rnd_below(&random, 2000), "", &random);
        sx_close(dev);
    }
    for (unsigned i = 0; i < COUNT_OF(wrong); i++) {
        char name[80];
        sx_device *dev = NULL;
        snprintf(name, sizeof name, "cpu:%s", wrong[i]);
        assert_int_equal(sx_open(&dev, name), SX_EINVAL);
        assert_null(dev);
    }
    if (!lab)
        skip();
}

/* ---- lines ------------------------------------------------------------------------------ */

static void check_leaves(const sx_view *v, const sx_view *sorted, const char *what)
{
    unsigned width = v->width, bytes = v->row_bytes, leaf = pairs_of(width, bytes);
    for (uint64_t rank = 0; rank < v->n; rank++) {
        const unsigned char *line = v->keys + rank / leaf * 64;
        uint64_t row = 0, wanted = sx_row_at(sorted, rank, rank);
        if (memcmp(line + rank % leaf * width, sorted->keys + rank * width, width) != 0)
            fail_msg("%s: key %llu", what, (unsigned long long)rank);
        memcpy(&row, line + rows_begin(width, bytes) + rank % leaf * bytes, bytes);
        if (bytes && row != wanted)
            fail_msg("%s: row %llu", what, (unsigned long long)rank);
    }
}

/* Child j of node g of level l, and what is the last key under it. */
static void check_nodes(const sx_view *v, const sx_view *sorted, unsigned k, const char *what)
{
    const sx_btree *t = &v->of.btree;
    unsigned width = v->width, line = 64 / width;
    uint64_t leaves = (v->n + t->leaf - 1) / t->leaf;
    static const unsigned char largest[16] = { 255, 255, 255, 255, 255, 255, 255, 255,
                                               255, 255, 255, 255, 255, 255, 255, 255 };
    for (unsigned l = 0; l < t->levels; l++) {
        uint64_t nodes = t->first[l + 1] - t->first[l], under = t->leaf;      /* a child */
        for (unsigned h = l + 1; h < t->levels; h++)
            under *= k;
        assert_int_equal(nodes, (leaves * t->leaf + under * k - 1) / (under * k));
        for (uint64_t g = 0; g < nodes; g++)
            for (unsigned j = 0; j < line; j++) {
                uint64_t end = (g * k + j + 1) * under;
                const unsigned char *wanted = j < k - 1 && end <= v->n
                                              ? sorted->keys + (end - 1) * width : largest;
                if (memcmp(t->nodes + (t->first[l] + g) * 64 + j * width, wanted, width) != 0)
                    fail_msg("%s: level %u, node %llu, separator %u", what, l,
                             (unsigned long long)g, j);
            }
    }
}

static void test_lines(void **state)
{
    (void)state;
    rnd random = rnd_start(test_seed());
    sx_device *dev = device_open("cpu:threads=2");
    for (unsigned t = 0; t < COUNT_OF(types); t++)
        for (unsigned r = 0; r < COUNT_OF(rows); r++)
            for (unsigned k = 2; k <= types[t].line + 1; k++) {
                uint64_t n = 1 + rnd_below(&random, 3000);
                dataset *d = data_make(types[t].type, KEYS_DUPLICATES, n, rows[r].kind, 3, &random);
                char spec[SX_SPEC_MAX];
                sx_index *ix = NULL, *sorted = NULL;
                snprintf(spec, sizeof spec, "btree(k=%u)", k);
                assert_int_equal(data_build(d, dev, spec, NULL, &ix), SX_OK);
                assert_int_equal(data_build(d, dev, "sorted(layout=split)", NULL, &sorted), SX_OK);
                check_leaves(view_of(ix), view_of(sorted), spec);
                check_nodes(view_of(ix), view_of(sorted), k, spec);
                sx_free(ix);
                sx_free(sorted);
                data_free(d);
            }
    sx_close(dev);
}

/* ---- slots ------------------------------------------------------------------------------ */

/* Whatever a walk has counted in its last leaf, also what damaged keys make it count, the slot is
 * that of the position; and stretches have the ranks of a span, each once. */
static void test_slots(void **state)
{
    (void)state;
    static const unsigned leaves[] = { 2, 3, 4, 5, 8, 16 };
    rnd random = rnd_start(test_seed());
    for (unsigned i = 0; i < COUNT_OF(leaves); i++) {
        sx_btree t = { .leaf = (uint16_t)leaves[i] };
        uint64_t n = 1000 + rnd_below(&random, 50), full = (n + t.leaf - 1) / t.leaf;
        for (uint64_t at = 0; at < full; at++)
            for (unsigned c = 0; c <= t.leaf; c++) {
                uint64_t position = btree_position_8(n, at, c, t.leaf);
                uint64_t slot = btree_slot_8(n, at, c, t.leaf);
                assert_int_equal(position, at * t.leaf + c < n ? at * t.leaf + c : n);
                assert_int_equal(slot, position < n ? sx_btree_slot_of_rank(&t, position)
                                                    : SX_NO_SLOT);
                if (position < n)
                    assert_int_equal(sx_btree_rank_of_slot(&t, slot), position);
            }
        for (unsigned round = 0; round < 300; round++) {
            uint64_t a = rnd_below(&random, n), b = a + 1 + rnd_below(&random, n - a), rank = a;
            for (uint64_t s = 0; s < sx_btree_stretch_count(&t, a, b); s++) {
                sx_stretch r = sx_btree_stretch_of(&t, s, a, b);
                sx_stretch_ranks it = sx_btree_stretch_begin(&t, &r, 0);
                for (uint64_t j = 0; j < r.n; j++, rank++) {
                    assert_int_equal(sx_btree_rank_of_slot(&t, r.slot + j), rank);
                    assert_int_equal(sx_btree_stretch_next(&t, &it), rank);
                }
            }
            assert_int_equal(rank, b);
        }
    }
}

/* ---- memory, and what can't be ---------------------------------------------------------- */

static void test_nodes_are_few(void **state)
{
    (void)state;
    for (unsigned t = 0; t < 2; t++)              /* of 16 bytes there are more */
        for (unsigned r = 0; r < COUNT_OF(rows); r++)
            for (uint64_t n = 10000; n < SX_KEYS_MAX / 2; n += n / 3)
                for (unsigned gpu = 0; gpu < 2; gpu++) {
                    sx_target target = { .gpu = gpu, .node_bytes = 64 };
                    sx_facts facts = { .n = n, .ranks = n, .width = types[t].width,
                                       .row_bytes = rows[r].bytes };
                    sx_spec spec;
                    sx_view v;
                    sx_err err;
                    assert_int_equal(sx_spec_parse(&spec, "btree", &err), SX_OK);
                    assert_int_equal(sx_shape(&v, &spec, &target, &facts, &err), SX_OK);
                    assert_int_equal(v.of.btree.k, types[t].line + !gpu);
                    assert_true(sx_section_bytes(&v, SX_SEC_NODES) <=
                                0.15 * (double)(v.of.btree.leaves * 64));
                }
}

/* A node has so many children at most. */
static void test_too_many_children(void **state)
{
    (void)state;
    unsigned char zeros[160] = { 0 };
    sx_device *dev = device_open("cpu");
    for (unsigned t = 0; t < COUNT_OF(types); t++) {
        sx_column keys = column(types[t].type, 10, zeros);
        char spec[SX_SPEC_MAX], words[40];
        sx_index *ix = NULL;
        snprintf(spec, sizeof spec, "btree(k=%u)", types[t].line + 1);
        assert_int_equal(sx_build(&ix, dev, spec, &keys, NULL, NULL), SX_OK);
        sx_free(ix);
        if (types[t].line + 2 > SX_BTREE_K_MAX)
            continue;
        snprintf(spec, sizeof spec, "btree(k=%u)", types[t].line + 2);
        snprintf(words, sizeof words, "allowed: 2 to %u", types[t].line + 1);
        ix = NULL;
        assert_int_equal(sx_build(&ix, dev, spec, &keys, NULL, NULL), SX_EINVAL);
        assert_null(ix);
        assert_non_null(strstr(sx_detail(), words));
    }
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boundaries),
        cmocka_unit_test(test_boundaries_kernels),
        cmocka_unit_test(test_lab),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_nodes_are_few),
        cmocka_unit_test(test_too_many_children),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("btree", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
