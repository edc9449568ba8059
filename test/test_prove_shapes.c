/* test_prove_shapes.c - views are what the proofs take them to be (prove/shapes.h), for
 * every family, width and layout, with few keys and with as many as there can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/status.h"
#include "family/family.h"
#include "family/pgm/pgm_shape.h"
#include "family/radix/radix_make.h"
#include "family/shape.h"
#include "family/spec.h"
#include "prove/shapes.h"
#include "support.h"

_Static_assert(SX_BLOCK_MOST == SX_BLOCK_MAX, "blocks of the proofs are those of specs");

static const char *const specs[] = {
    "sorted", "sorted(layout=pairs)", "sorted(layout=pairs,block=1)", "sorted(layout=pairs,block=64)",
    "pivot", "pivot(k=2,leaf=1)", "pivot(k=3)", "pivot(k=33,leaf=4096)", "pivot(k=5,leaf=8,levels=1)",
    "pivot(k=2,leaf=1,levels=0)", "pivot(k=9,layout=pairs)", "pivot(k=17,leaf=16,layout=pairs,block=16)",
    "pivot(k=7,layout=pairs,block=32)", "pivot(k=33,leaf=1,levels=1)",
    "eytzinger", "eytzinger(k=2)", "eytzinger(k=3)", "eytzinger(k=4,layout=pairs,block=2)",
    "eytzinger(k=5)", "eytzinger(k=7)", "eytzinger(k=9,layout=pairs)", "eytzinger(k=17)",
    "eytzinger(k=33)", "eytzinger(k=33,layout=pairs,block=64)", "eytzinger(k=2,layout=pairs)",
    "guide", "guide(pieces=65536,bucket=1)", "guide(pieces=3,bucket=128)", "guide(layout=pairs)",
    "guide(layout=pairs,block=64,pieces=256)",
    "btree", "btree(k=2)", "btree(k=3,layout=split)", "btree(k=5)", "btree(k=9)", "btree(k=17)",
    "btree(fill=50)", "btree(fill=73)", "btree(fill=100)", "btree(fill=88,layout=split)",
    "btree(fill=50,layout=once)",
    "radix", "radix(leaf=1)", "radix(leaf=255,layout=pairs)",
    "pgm(eps=1)", "pgm(eps=64)", "pgm(eps=1048576,eps2=1024)", "pgm(eps=4,eps2=2,layout=pairs)",
};
#define SPECS (sizeof specs / sizeof specs[0])

/* Numbers of keys: all small ones, and round ones and their neighbours up to 2^48. */
#define SMALL_N 200u
#define NUMBERS (SMALL_N + 3 * 49)
static uint64_t number(unsigned i)
{
    uint64_t n = i < SMALL_N ? i + 1 : (1ull << (i - SMALL_N) / 3) + (i - SMALL_N) % 3 - 1;

    return n < 1 ? 1 : n > SX_KEYS_MAX ? SX_KEYS_MAX : n;
}

static int pivots_are(const sx_view *v)
{
    const sx_pivot *t = &v->of.pivot;

    for (uint32_t l = 0; l < t->levels; l++) {
        uint64_t nodes = t->first[l + 1] - t->first[l];
        if (!pivot_level_is(v, l) || !pivot_node_is(v, l, 0) || !pivot_node_is(v, l, nodes / 2) ||
            !pivot_node_is(v, l, nodes - 1))
            return 0;
    }
    if (sx_section_bytes(v, SX_SEC_PIVOTS) != t->first[t->levels] * (t->k - 1u) * v->width)
        return 0;
    /* a walk begins at the one node of level 0 */
    return pivot_is(v) && t->first[0] == 0 && (t->levels == 0 || t->first[1] == 1);
}

static int lines_are(const sx_view *v)
{
    const sx_btree *t = &v->of.btree;

    for (uint32_t l = 0; l < t->levels; l++)
        if (!btree_level_is(v, l))
            return 0;
    if (sx_section_bytes(v, SX_SEC_NODES) != t->first[t->levels] * 64 ||
        sx_section_bytes(v, v->block ? SX_SEC_PAIRS : SX_SEC_KEYS) != t->leaves * 64)
        return 0;
    return btree_is(v) && t->first[0] == 0 && (t->levels == 0 || t->first[1] == 1);
}

static int pools_are(const sx_view *v)
{
    const sx_bplus *t = &v->of.bplus;
    uint64_t m = 64 / v->width;

    if (sx_section_bytes(v, SX_SEC_INNER) != t->inner * (64 + 64 * m + 4 * m * m) ||
        sx_section_bytes(v, SX_SEC_LAST) != t->leaves * (64 + 64 * m) ||
        sx_section_bytes(v, SX_SEC_LINKS) != t->leaves * 20 + t->inner * 4 ||
        sx_section_bytes(v, v->block ? SX_SEC_PAIRS : SX_SEC_KEYS) != t->leaves * m * m * 64)
        return 0;
    /* a walk begins at node 0 of a pool */
    return bplus_is(v) && t->first[0] == 0 && t->first[t->levels - 1] == t->inner &&
           (t->levels == 1 || t->first[1] == 1) && t->each * t->leaves + t->more == v->n;
}

static int tree_is(const sx_view *v)
{
    const sx_eytzinger *e = &v->of.eytzinger;
    uint64_t last = e->bottom ? (e->bottom - 1) / (e->k - 1) : 0;

    for (uint32_t t = 0; t < e->levels; t++) {
        uint64_t nodes = e->level_first[t] + 1;
        if (!eytzinger_level_is(v, t, 0) || !eytzinger_level_is(v, t, nodes / 2) ||
            !eytzinger_level_is(v, t, nodes - 1))
            return 0;
    }
    return eytzinger_is(v) && e->level_first[0] == 0 && eytzinger_node_is(v, 0) &&
           eytzinger_node_is(v, last) && eytzinger_node_is(v, last + 1) &&
           eytzinger_node_is(v, e->level_first[e->levels]);
}

static int segments_are(const sx_view *v)
{
    for (uint32_t l = 0; l < v->of.pgm.levels; l++)
        if (!pgm_level_is(v, l))
            return 0;
    return pgm_is(v) && v->of.pgm.level_first[0] == 0 && v->of.pgm.level_count[0] == 1;
}

/* The levels that a file may have: as many segments as there can be, and at each level a
 * few less than at the one below. */
static int levels_are(sx_view *v)
{
    uint64_t segments[SX_PGM_LEVELS];
    sx_err err;

    for (uint64_t least = 1; least <= 3; least++) {
        uint32_t levels = 0;
        for (uint64_t m = v->n / least; m > 1 && levels < SX_PGM_LEVELS - 1; m = m > 9 ? m - m / 9 : m - 1)
            segments[SX_PGM_LEVELS - ++levels] = m;
        segments[SX_PGM_LEVELS - ++levels] = 1;
        assert_int_equal(sx_shape_levels(v, segments + SX_PGM_LEVELS - levels, levels, &err), SX_OK);
        if (!segments_are(v))
            return 0;
    }
    sx_family_of(v->family)->most(v);
    return segments_are(v);
}

/* The trees that a file may have: none, and one with this root. */
static int trees_are(sx_view *v)
{
    sx_radix_meta meta = {.root = sx_radix_window(0, v->n)};
    sx_err err;

    assert_int_equal(sx_radix_shape(v, &meta, &err), SX_OK);
    if (!radix_is(v))
        return 0;
    for (uint32_t kind = 0; kind < 16; kind++) {
        meta = (sx_radix_meta){.root = sx_radix_state(kind, v->width - 1u, 0), .levels = v->width,
                               .units = 1000};
        int there = kind == SX_RADIX_BITS || (kind & 7u) < SX_RADIX_BITS;
        assert_int_equal(sx_radix_shape(v, &meta, &err), there ? SX_OK : SX_ECORRUPT);
        if (!radix_is(v))
            return 0;
    }
    meta.levels++;
    assert_int_equal(sx_radix_shape(v, &meta, &err), SX_ECORRUPT);
    return 1;
}

static int view_is(sx_view *v)
{
    switch (v->family) {
    case SX_FAM_SORTED:
        return sorted_is(v);
    case SX_FAM_PIVOT:
        return pivots_are(v);
    case SX_FAM_EYTZ:
        return tree_is(v);
    case SX_FAM_GUIDE:
        return guide_is(v);
    case SX_FAM_BTREE:
        return lines_are(v);
    case SX_FAM_BPLUS:
        return pools_are(v);
    case SX_FAM_RADIX:
        return trees_are(v);
    default:
        return levels_are(v);
    }
}

/* 0: there can be no such index. */
static int shaped(sx_view *v, const char *text, uint32_t node_bytes, uint32_t width, uint32_t rows,
                  uint64_t n)
{
    sx_target target = {.node_bytes = node_bytes};
    sx_facts facts = {.n = n, .ranks = n, .width = width, .row_bytes = rows};
    sx_spec spec;
    sx_err err;

    assert_int_equal(sx_spec_parse(&spec, text, &err), SX_OK);
    return sx_shape(v, &spec, &target, &facts, &err) == SX_OK;
}

static void test_all(void **state)
{
    unsigned families = 0;

    (void)state;
    for (unsigned s = 0; s < SPECS; s++)
        for (unsigned w = 4; w <= 16; w *= 2)
            for (unsigned rows = 0; rows <= 8; rows += 4)
                for (unsigned i = 0; i < 2 * NUMBERS; i++) {
                    uint64_t n = number(i / 2);
                    sx_view v;
                    if (!shaped(&v, specs[s], i % 2 ? 32 : 64, w, rows, n))
                        continue;
                    if (!view_is(&v))
                        fail_msg("%s of %llu keys of %u bytes, rows of %u, is not what proofs "
                                 "assume", specs[s], (unsigned long long)n, w, rows);
                    families |= 1u << v.family;
                }
    assert_int_equal(families, (1u << SX_FAM_AUTO) - 1);   /* each has been met */
}

/* Views that would make a proof wrong are seen. */
static void test_others_are_refused(void **state)
{
    sx_view v, w;

    (void)state;
    assert_true(shaped(&v, "sorted", 64, 8, 4, 16));
    w = v;
    w.slots--;
    assert_false(view_is(&w));
    w = v;
    w.unit = 3;
    assert_false(view_is(&w));
    assert_true(shaped(&v, "pivot(k=3,leaf=2)", 64, 8, 4, 100));
    w = v;
    w.of.pivot.windows = 0;
    assert_false(view_is(&w));
    w = v;
    w.of.pivot.first[1] = w.of.pivot.first[2];
    assert_false(view_is(&w));
    assert_true(shaped(&v, "eytzinger(k=4)", 64, 16, 4, 4));
    w = v;
    w.slots = 4;                  /* the last node is not whole */
    assert_false(view_is(&w));
    assert_true(shaped(&v, "btree(k=3)", 64, 8, 4, 100));
    assert_true(view_is(&v));
    w = v;
    w.of.btree.rows_at = 48;      /* the last row is in the next line */
    assert_false(view_is(&w));
    w = v;
    w.slots = w.of.btree.leaves * w.of.btree.leaf;
    assert_false(view_is(&w));
    assert_true(shaped(&v, "btree(fill=60)", 64, 8, 4, 1000));
    assert_true(view_is(&v));
    w = v;
    w.slots -= 4;                 /* the last leaf is not whole */
    assert_false(view_is(&w));
    w = v;
    w.of.bplus.leaf *= 2;         /* keys lie where rows begin */
    assert_false(view_is(&w));
    assert_false(shaped(&v, "btree(fill=60)", 64, 8, 4, SX_KEYS_MAX));
    assert_true(shaped(&v, "guide", 64, 8, 4, 100));
    w = v;
    w.of.guide.piece_cells = 0;
    assert_false(view_is(&w));
    assert_true(shaped(&v, "pgm", 64, 8, 4, 1000));
    assert_true(view_is(&v));
    w = v;
    w.of.pgm.level_first[1]--;
    assert_false(segments_are(&w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_others_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
