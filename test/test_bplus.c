/* test_bplus.c - the tree of nodes in pools, btree(fill=): it has the nodes that its fill asks
 * for, each as bplus.h draws it; trees whose pools are in another order, and whose nodes have
 * other sizes than a build gives them, as updates will leave them, answer as others do; and
 * sx_check() finds what is wrong in its links. */
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

static const struct { int type; unsigned width, fan; } types[] = {
    { SX_U32, 4, 256 }, { SX_F64, 8, 64 }, { SX_B16, 16, 16 },
};
static const struct { row_kind kind; unsigned bytes; } rows[] = {
    { ROWS_IMPLICIT, 0 }, { ROWS_U32, 4 }, { ROWS_U64_WIDE, 8 },
};
static const unsigned fills[] = { 50, 75, 100 };

/* As the drawing has it, not as the code computes it. pairs: rows are beside keys. */
static unsigned line_keys(unsigned width, unsigned row_bytes, bool pairs)
{
    static const unsigned keys[3][3] = { { 16, 8, 4 }, { 8, 4, 4 }, { 4, 2, 2 } };
    return keys[width / 8][pairs ? row_bytes / 4 : 0];
}

static asker *asking;

/* ---- shapes ------------------------------------------------------------------------------ */

/* Nodes for m members: the fewest of which none has more than fill allows; but so few that none
 * has less than half of what it can hold. */
static uint64_t nodes_of(uint64_t m, uint64_t most, unsigned fill)
{
    uint64_t nodes = 1;
    while ((m + nodes - 1) / nodes > most * fill / 100)
        nodes++;
    while (nodes > 1 && m / nodes < most / 2)
        nodes--;
    return nodes;
}

static unsigned levels_of(uint64_t leaves, unsigned fan, unsigned fill)
{
    unsigned levels = 1;
    for (uint64_t nodes = leaves; nodes > 1; levels++)
        nodes = nodes_of(nodes, fan, fill);
    return levels;
}

static void try_size(sx_device *dev, bool kernels, unsigned t, unsigned r, unsigned fill, uint64_t n,
                     const char *place, rnd *random)
{
    static unsigned turn;
    dataset *d = data_make(types[t].type, ++turn % 2 ? KEYS_DUPLICATES : KEYS_DENSE, n, rows[r].kind, 60,
                           random);
    char spec[SX_SPEC_MAX];
    snprintf(spec, sizeof spec, "btree(fill=%u)", fill);
    sx_index *ix = asked_index(asking, dev, kernels, d, spec, place);
    const sx_bplus *tree = &view_of(ix)->of.bplus;
    unsigned fan = types[t].fan;
    uint64_t most = fan * line_keys(types[t].width, view_of(ix)->row_bytes, true);
    if (tree->leaves != nodes_of(n, most, fill) || tree->levels != levels_of(tree->leaves, fan, fill))
        fail_msg("%s of %llu keys has %llu leaves and %u levels", spec, (unsigned long long)n,
                 (unsigned long long)tree->leaves, tree->levels);
    sx_free(ix);
    data_free(d);
}

/* Numbers of keys where a tree gets its second, third or fourth leaf, or another level, and one
 * less. */
static void try_sizes(sx_device *const devices[], unsigned count, bool kernels, uint64_t most,
                      const char *const places[], unsigned place_count)
{
    rnd random = rnd_start(test_seed());
    unsigned turn = 0;
    for (unsigned t = 0; t < COUNT_OF(types); t++)
        for (unsigned r = 0; r < COUNT_OF(rows); r++)
            for (unsigned f = 0; f < COUNT_OF(fills); f++) {
                uint64_t cap = types[t].fan * line_keys(types[t].width, rows[r].bytes, true);
                uint64_t leaves = 1, found = 0;
                unsigned levels = 1;
                for (uint64_t n = 1; n <= most; n++) {
                    uint64_t now = nodes_of(n, cap, fills[f]);
                    unsigned deep = now == leaves ? levels : levels_of(now, types[t].fan, fills[f]);
                    for (unsigned less = 0; less < 2 && ((now > leaves && now <= 4) || deep > levels);
                         less++, turn++, found++)
                        if (devices[turn % count])
                            try_size(devices[turn % count], kernels, t, r, fills[f], n - less,
                                     places[turn / count % place_count], &random);
                    leaves = now;
                    levels = deep;
                }
                assert_true(found > 0 || cap >= most);
            }
    assert_true(turn > 40);
}

static void test_sizes(void **state)
{
    (void)state;
    static const char *const places[] = { "" };
    sx_device *devices[SIMD_LEVELS];
    devices_open(devices);
    try_sizes(devices, SIMD_LEVELS, false, 16500, places, COUNT_OF(places));
    devices_close(devices);
}

static void test_sizes_kernels(void **state)
{
    (void)state;
    static const char *const places[] = { "", "hybrid", "both" };
    sx_device *devices[KERNEL_DEVICES] = { NULL };
    for (unsigned i = 0; i < kernel_devices(); i++)
        devices[i] = device_open(kernel_device(i));
    try_sizes(devices, kernel_devices(), true, 2100, places, COUNT_OF(places));
    for (unsigned i = 0; i < kernel_devices(); i++)
        sx_close(devices[i]);
}

/* ---- trees that the test plants ---------------------------------------------------------- */

/* Members of each node of a level: in order, and which number it has in its pool. */
typedef struct { uint64_t nodes; uint32_t *size, *number; } level;

static level make_level(uint64_t all, uint64_t nodes, uint64_t first)
{
    level l = { nodes, need(nodes * 4), need(nodes * 4) };
    for (uint64_t g = 0; g < nodes; g++) {
        l.size[g] = (uint32_t)(all / nodes + (g < all % nodes));
        l.number[g] = (uint32_t)(first + g);
    }
    return l;
}

static void free_level(level *l)
{
    free(l->size);
    free(l->number);
}

/* Members go from one node to another, as many as both may. */
static void disorder(level *l, uint64_t least, uint64_t most, rnd *r)
{
    for (uint64_t i = 0; i < 4 * l->nodes; i++) {
        uint32_t *from = &l->size[rnd_below(r, l->nodes)], *to = &l->size[rnd_below(r, l->nodes)];
        uint64_t moved = *from - least < most - *to ? *from - least : most - *to;
        if (from == to)
            continue;
        moved = rnd_below(r, moved + 1);
        *from -= (uint32_t)moved;
        *to += (uint32_t)moved;
    }
}

static void shuffle(uint32_t *number, uint64_t n, rnd *r)
{
    for (uint64_t i = n; i > 1; i--) {
        uint64_t j = rnd_below(r, i);
        uint32_t x = number[i - 1];
        number[i - 1] = number[j];
        number[j] = x;
    }
}

/* One node: `count` separators of the ranks before ends[], then the largest key; and the index. */
static void plant_keys(unsigned char *node, unsigned width, const unsigned char *keys,
                       const uint64_t *ends, uint64_t count)
{
    unsigned m = 64 / width;
    memset(node, 0xff, 64 + 64 * m);
    for (uint64_t j = 0; j < count; j++)
        memcpy(node + 64 + j * width, keys + (ends[j] - 1) * width, width);
    for (unsigned s = 0; s < m; s++)
        memcpy(node + s * width, node + 64 + (s * m + m - 1) * width, width);
}

/* The leaf that has number p, with ranks [begin, begin + n). */
static void plant_leaf(unsigned char *keys, unsigned char *row_section, const sx_view *v,
                       const sx_view *sorted, uint64_t p, uint64_t begin, uint64_t n)
{
    unsigned width = v->width, bytes = v->row_bytes, m = line_keys(width, bytes, v->block > 0);
    unsigned fan = (64 / width) * (64 / width);
    bool rows_here = bytes && !(v->traits & SX_ONCE);
    for (uint64_t line = 0; line < fan; line++) {
        unsigned char *at = keys + (p * fan + line) * 64;
        memset(at, 0, 64);
        for (unsigned j = 0; j < m; j++) {
            uint64_t i = line * m + j, row = UINT64_MAX;
            if (i < n)
                memcpy(at + j * width, sorted->keys + (begin + i) * width, width);
            else
                memset(at + j * width, 0xff, width);
            if (i < n && bytes)
                row = sx_row_at(sorted, begin + i, begin + i);
            if (rows_here)
                memcpy(v->block ? at + 32 + j * bytes
                                : row_section + ((p * fan + line) * m + j) * bytes, &row, bytes);
        }
    }
}

/* Writes the sections of a tree into `base`: levels[] from the top, the last one of leaves. */
static void plant(void *const base[SX_SECTIONS], const sx_view *v, const sx_view *sorted,
                  const level *levels, unsigned count)
{
    unsigned width = v->width, m = 64 / width, fan = m * m, last = 64 + 64 * m;
    unsigned leaf = line_keys(width, v->row_bytes, v->block > 0);
    uint64_t leaves = levels[count - 1].nodes, *end = need(leaves * 8), *ends = need((fan + 1) * 8);
    unsigned char *links = base[SX_SEC_LINKS];
    uint64_t begin = 0;
    for (uint64_t o = 0; o < leaves; o++) {
        uint64_t p = levels[count - 1].number[o], n = levels[count - 1].size[o];
        uint32_t of[2] = { (uint32_t)n, (uint32_t)o }, number = (uint32_t)p;
        uint64_t used = 0;
        plant_leaf(base[v->block ? SX_SEC_PAIRS : SX_SEC_KEYS], base[SX_SEC_ROWS], v, sorted, p, begin,
                   n);
        for (uint64_t i = leaf; i < n; i += leaf)
            ends[used++] = begin + i;
        plant_keys((unsigned char *)base[SX_SEC_LAST] + p * last, width, sorted->keys, ends, used);
        memcpy(links + p * 16, &begin, 8);
        memcpy(links + p * 16 + 8, of, 8);
        memcpy(links + leaves * 16 + o * 4, &number, 4);
        begin += n;
        end[o] = begin;
    }
    assert_int_equal(begin, v->n);
    for (unsigned l = count - 1; l-- > 0;) {
        uint64_t child = 0;
        for (uint64_t g = 0; g < levels[l].nodes; g++) {
            uint64_t number = levels[l].number[g], size = levels[l].size[g];
            unsigned char *node = (unsigned char *)base[SX_SEC_INNER] + number * (last + fan * 4);
            memset(node + last, 0, fan * 4);
            for (uint64_t j = 0; j < size; j++) {
                memcpy(node + last + j * 4, &levels[l + 1].number[child + j], 4);
                ends[j] = end[child + j];
            }
            plant_keys(node, width, sorted->keys, ends, size - 1);
            memcpy(links + leaves * 20 + number * 4, &levels[l].size[g], 4);
            child += size;
            end[g] = end[child - 1];
        }
    }
    free(end);
    free(ends);
}

/* A tree as the library builds it, planted by the test: not a byte differs. Then one in disorder,
 * in place. */
static void plant_both(sx_index *ix, const sx_index *array, const char *what, rnd *r)
{
    const sx_view *v = view_of(ix), *sorted = view_of(array);
    const sx_bplus *t = &v->of.bplus;
    void *const *base = replica_of(ix, 0)->base, *own[SX_SECTIONS] = { NULL };
    level levels[SX_BPLUS_LEVELS];
    unsigned count = t->levels;
    for (unsigned l = 0; l < count; l++) {
        uint64_t nodes = l + 1 < count ? t->first[l + 1] - t->first[l] : t->leaves;
        uint64_t below = l + 2 < count ? t->first[l + 2] - t->first[l + 1] : l + 1 < count ? t->leaves : v->n;
        levels[l] = make_level(below, nodes, l + 1 < count ? t->first[l] : 0);
    }
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
        if (base[kind]) {
            own[kind] = need(sx_section_bytes(v, kind));
            memcpy(own[kind], base[kind], sx_section_bytes(v, kind));
        }
    for (unsigned kind = SX_SEC_OWN; kind < SX_SECTIONS; kind++)
        if (own[kind])
            memset(own[kind], 0x55, sx_section_bytes(v, kind));
    plant(own, v, sorted, levels, count);
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        if (base[kind] && memcmp(base[kind], own[kind], sx_section_bytes(v, kind)) != 0)
            fail_msg("%s: section %s is not as it is drawn", what, sx_section_name(v, kind));
        free(own[kind]);
    }
    uint32_t *all = need((t->inner + 1) * 4);     /* numbers of inner nodes, but for the first */
    for (uint64_t i = 0; i < t->inner; i++)
        all[i] = (uint32_t)i;
    if (t->inner > 1)
        shuffle(all + 1, t->inner - 1, r);
    for (unsigned l = 0; l < count; l++) {
        uint64_t fan = 1u << t->fan_shift, most = l + 1 < count ? fan : 1u << t->slot_shift;
        if (levels[l].nodes > 1)
            disorder(&levels[l], most / 2, most, r);
        for (uint64_t g = 0; l + 1 < count && g < levels[l].nodes; g++)
            levels[l].number[g] = all[t->first[l] + g];
    }
    shuffle(levels[count - 1].number, t->leaves, r);
    plant(base, v, sorted, levels, count);
    free(all);
    for (unsigned l = 0; l < count; l++)
        free_level(&levels[l]);
}

/* The index, from a file, on a device with kernels. */
static void ask_elsewhere(const sx_index *ix, const dataset *d, const char *what)
{
    static const struct { uint32_t flags; const char *place; } to[] = {
        { 0, "device" }, { SX_LOAD_HYBRID, "hybrid" }, { SX_LOAD_BOTH, "both" }, { SX_LOAD_HOST, "host" },
    };
    static unsigned turn;
    sx_device *dev = device_open(kernel_device(turn % kernel_devices()));
    sx_index *there = NULL;
    char *path = temp_path("planted.sxt"), where[200];
    unsigned i = turn++ % COUNT_OF(to);
    snprintf(where, sizeof where, "%s, place=%s", what, to[i].place);
    OK(sx_save(ix, path, NULL));
    OK(sx_load(&there, dev, path, to[i].flags | SX_LOAD_VERIFY, NULL));
    OK(sx_check(there, NULL));
    asking->no_streams = i == 1 || i == 3;
    ask_all(asking, dev, there, d, where);
    sx_free(there);
    sx_close(dev);
    free(path);
}

static void test_planted(void **state)
{
    (void)state;
    static const char *const layouts[] = { "", ",layout=split", ",layout=once" };
    rnd r = rnd_start(test_seed());
    sx_device *devices[SIMD_LEVELS];
    unsigned turn = 0;
    devices_open(devices);
    for (unsigned t = 0; t < COUNT_OF(types); t++)
        for (unsigned k = 0; k < COUNT_OF(rows); k++)
            for (unsigned f = 0; f < COUNT_OF(fills); f++, turn++) {
                sx_device *dev = devices[turn % SIMD_LEVELS] ? devices[turn % SIMD_LEVELS] : devices[0];
                const char *layout = layouts[turn % COUNT_OF(layouts)];
                uint64_t n = 1 + rnd_below(&r, types[t].width == 4 ? 9000 : 3000);
                bool once = strstr(layout, "once") != NULL;
                dataset *d = data_make(types[t].type, once ? KEYS_DENSE : KEYS_DUPLICATES, n, rows[k].kind,
                                       60, &r);
                sx_index *ix, *sorted;
                char spec[SX_SPEC_MAX];
                snprintf(spec, sizeof spec, "btree(fill=%u%s)", fills[f], layout);
                ix = index_of(dev, d, spec);
                sorted = index_of(dev, d, "sorted(layout=split)");
                OK(sx_check(ix, NULL));
                plant_both(ix, sorted, spec, &r);
                OK(sx_check(ix, NULL));
                ask_all(asking, NULL, ix, d, spec);
                if (n < 2100)     /* the emulator takes its time */
                    ask_elsewhere(ix, d, spec);
                sx_free(ix);
                sx_free(sorted);
                data_free(d);
            }
    devices_close(devices);
}

/* ---- what is wrong ------------------------------------------------------------------------ */

/* Each bit of inner nodes and links, and some of last inner nodes. Whatever it is, sx_check() finds
 * it, and questions end. */
static void test_every_link(void **state)
{
    (void)state;
    static const unsigned kinds[] = { SX_SEC_INNER, SX_SEC_LINKS, SX_SEC_LAST };
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu:threads=1");
    dataset *d = data_make(SX_B16, KEYS_RANDOM, 700, ROWS_U64_WIDE, 40, &r);
    sx_index *ix = index_of(dev, d, "btree(fill=75)");
    const sx_view *v = view_of(ix);
    uint64_t q[2 * 64], answer[64];
    sx_column queries = column(SX_B16, 64, q), got = column(SX_U64, 64, answer);
    assert_true(v->of.bplus.levels == 3);
    for (unsigned i = 0; i < COUNT_OF(kinds); i++) {
        unsigned char *section = replica_of(ix, 0)->base[kinds[i]];
        uint64_t bits = 8 * sx_section_bytes(v, kinds[i]);
        for (uint64_t bit = 0; bit < bits; bit += kinds[i] == SX_SEC_LAST ? 1 + rnd_below(&r, 30) : 1) {
            section[bit / 8] ^= (unsigned char)(1u << bit % 8);
            if (sx_check(ix, NULL) != SX_ECORRUPT)
                fail_msg("bit %llu of %s", (unsigned long long)bit, sx_section_name(v, kinds[i]));
            if (bit % 16 == 0) {
                for (unsigned j = 0; j < COUNT_OF(q); j++)
                    q[j] = rnd_next(&r);
                OK(sx_rank(ix, &queries, SX_LEFT, &got, NULL));
            }
            section[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
    }
    OK(sx_check(ix, NULL));
    sx_free(ix);
    data_free(d);
    sx_close(dev);
}

/* Two things that are right each by itself change places. */
static void test_exchanged(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu:threads=1");
    dataset *d = data_make(SX_B16, KEYS_RANDOM, 700, ROWS_U64_WIDE, 40, &r);
    sx_index *ix = index_of(dev, d, "btree(fill=75)");
    const sx_bplus *t = &view_of(ix)->of.bplus;
    unsigned char *links = replica_of(ix, 0)->base[SX_SEC_LINKS], *inner = replica_of(ix, 0)->base[SX_SEC_INNER];
    const struct { const char *what, *rule; unsigned char *a, *b; unsigned bytes; } pairs[] = {
        { "leaves of the chain", "T", links + t->leaves * 16, links + t->leaves * 16 + 4, 4 },
        { "records", "T", links, links + 16, 16 },
        { "places", "T5", links + 12, links + 28, 4 },
        { "children", "T", inner + 320, inner + 324, 4 },
        { "children of two nodes", "T", inner + 384 + 320, inner + 2 * 384 + 320, 4 },
        { "inner nodes", "T", inner + 384, inner + 2 * 384, 384 },
    };
    for (unsigned i = 0; i < COUNT_OF(pairs); i++)
        for (unsigned turn = 0; turn < 2; turn++) {
            unsigned char x[384];
            memcpy(x, pairs[i].a, pairs[i].bytes);
            memcpy(pairs[i].a, pairs[i].b, pairs[i].bytes);
            memcpy(pairs[i].b, x, pairs[i].bytes);
            if (turn == 0)
                REFUSED(sx_check(ix, NULL), SX_ECORRUPT, pairs[i].rule);
            else
                OK(sx_check(ix, NULL));
        }
    sx_free(ix);
    data_free(d);
    sx_close(dev);
}

/* ---- ways to search nodes (doc/LAB.md) -------------------------------------------------- */

static void test_lab(void **state)
{
    (void)state;
    static const char *const options[] = {
        "node=sequential", "node=linear", "node=hierarchical", "pipeline=1",
        "node=sequential,pipeline=3", "node=hierarchical,pipeline=17,pages=small",
        "node=linear,pipeline=32,pages=upper", "pages=huge",
    };
    rnd random = rnd_start(test_seed());
    bool lab = false;
    for (unsigned i = 0; i < COUNT_OF(options) * SIMD_LEVELS; i++) {
        char name[120];
        sx_device *dev = NULL;
        const char *simd = simd_names[i % SIMD_LEVELS];
        snprintf(name, sizeof name, "%s%s%s", simd, strchr(simd, ':') ? "," : ":",
                 options[i / SIMD_LEVELS]);
        if (sx_open(&dev, name) != SX_OK)
            continue;
        lab = true;
        for (unsigned t = 0; t < COUNT_OF(types); t++)
            try_size(dev, false, t, (i + t) % COUNT_OF(rows), fills[(i + t) / 3 % COUNT_OF(fills)],
                     1 + rnd_below(&random, 2000), "", &random);
        sx_close(dev);
    }
    if (!lab)
        skip();
}

/* ---- memory, and what can't be ---------------------------------------------------------- */

static void test_memory(void **state)
{
    (void)state;
    for (unsigned t = 0; t < COUNT_OF(types); t++)
        for (unsigned r = 0; r < COUNT_OF(rows); r++)
            for (unsigned fill = 50; fill <= 100; fill++)
                for (uint64_t n = 100000; n < 1ull << 36; n += n / 2) {
                    sx_target target = { .node_bytes = 64 };
                    sx_facts facts = { .n = n, .ranks = n, .width = types[t].width, .row_bytes = rows[r].bytes };
                    char text[40];
                    sx_spec spec;
                    sx_view v;
                    sx_err err;
                    snprintf(text, sizeof text, "btree(fill=%u)", fill);
                    assert_int_equal(sx_spec_parse(&spec, text, &err), SX_OK);
                    assert_int_equal(sx_shape(&v, &spec, &target, &facts, &err), SX_OK);
                    double used = (double)n / (double)v.slots, one = 1.0 / (double)v.of.bplus.leaves;
                    /* whole keys of a leaf, and one leaf more or less */
                    assert_true(used >= 0.5 && used >= (fill / 100.0 - 1.0 / 32) * (1 - one));
                    assert_true(used <= fill / 100.0 || used <= 0.5 * (1 + one));
                    if (types[t].width < 16)
                        assert_true(sx_section_bytes(&v, SX_SEC_INNER) + sx_section_bytes(&v, SX_SEC_LAST) <=
                                    0.15 * (double)(v.slots / v.of.bplus.leaf * 64));
                }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct { const char *spec, *words[3]; } of[] = {
        { "btree(fill=49)", { "49", "50 to 100", "fill" } },
        { "btree(fill=101)", { "101", "50 to 100", "fill" } },
        { "btree(fill=)", { "fill", "50 to 100", "fill" } },
        { "btree(fill=80,k=9)", { "btree with fill=", "'k'", "fill, layout" } },
        { "btree(k=9,fill=80)", { "btree with fill=", "'k'", "character 7" } },
        { "btree(layout=split,fill=80,fill=90)", { "fill", "twice", "once" } },
        { "btree(fill=80,block=4)", { "block", "fill, layout", "btree" } },
        { "sorted(fill=80)", { "sorted has no parameter", "'fill'", "layout" } },
    };
    uint64_t zeros[10] = { 0 };
    sx_column keys = column(SX_U64, 10, zeros);
    sx_device *dev = device_open("cpu");
    for (unsigned i = 0; i < COUNT_OF(of); i++) {
        sx_index *ix = NULL;
        for (unsigned w = 0; w < COUNT_OF(of[i].words); w++)
            REFUSED(sx_build(&ix, dev, of[i].spec, &keys, NULL, NULL), SX_EINVAL, of[i].words[w]);
        assert_null(ix);
    }
    REFUSED(sx_build(&(sx_index *){ NULL }, dev, "btree(fill=80) place=hybrid", &keys, NULL, NULL),
            SX_ENOSYS, "needs a GPU");
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_sizes_kernels),
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_every_link),
        cmocka_unit_test(test_exchanged),
        cmocka_unit_test(test_lab),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_refused),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("bplus", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
