/* test_choose.c - choices: a guide's pieces, from a look at the keys, and the spec that
 * `auto` takes, by that look or by a contest whose times are the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "on_device.h"
#include "query/index.h"

enum { EVEN, CROWDED, ROUGH, UNEVEN, REPEATED, TWICE, FIVE_TIMES, SOMETIMES, KINDS };
static uint64_t n = 1 << 17;      /* keys */

/* Ascending keys. EVEN: equally far apart; CROWDED: at one end, but even within some pieces;
 * ROUGH: runs with gaps of all magnitudes between them; UNEVEN: short runs with gaps of many;
 * REPEATED: a thousand values; TWICE, FIVE_TIMES: each value as often; SOMETIMES: rough keys,
 * of which the first third is one value. */
static uint64_t *keys_of(unsigned kind)
{
    uint64_t *keys = need(n * sizeof *keys), x = 0;
    rnd r = rnd_start(7);
    for (uint64_t i = 0; i < n; i++) {
        x += kind == UNEVEN ? (i % 8 ? 1 : 1ull << rnd_below(&r, 14))
             : (kind == ROUGH || kind == SOMETIMES) && i % 97 == 0 ? 1ull << rnd_below(&r, 50) : 1;
        keys[i] = kind == EVEN ? i << 40 : kind == CROWDED ? i * i * i + i
                  : kind == REPEATED ? i * 1000 / n << 30
                  : kind == TWICE ? i / 2 << 30
                  : kind == FIVE_TIMES ? i / 5 << 30
                  : kind == SOMETIMES && i < n / 3 ? 1 : x;
    }
    return keys;
}

/* Builds an index, which is right and not larger than estimated; its resolved spec. */
static void build(sx_device *dev, const char *spec, uint64_t *keys, char out[SX_SPEC_MAX])
{
    sx_column k = column(SX_U64, n, keys), rows;
    uint32_t *row = need(n * sizeof *row);
    sx_index_info info = { .size = sizeof info };
    sx_estimate_info e = { .size = sizeof e };
    sx_index *ix = NULL;
    for (uint64_t i = 0; i < n; i++)
        row[i] = (uint32_t)(n - i);
    rows = column(SX_U32, n, row);
    OK(sx_build(&ix, dev, spec, &k, &rows, NULL));
    OK(sx_check(ix, NULL));
    OK(sx_describe(ix, &info));
    OK(estimate_of(dev, spec, SX_U64, n, SX_U32, &e));
    if (info.bytes > e.host_resident + e.device_resident)
        fail_msg("%s: %llu bytes, estimated %llu and %llu", spec, (unsigned long long)info.bytes,
                 (unsigned long long)e.host_resident, (unsigned long long)e.device_resident);
    memcpy(out, info.spec, SX_SPEC_MAX);
    if (!e.device_resident)       /* where there is no GPU, nothing is hybrid by itself */
        assert_null(strstr(info.spec, "place="));
    sx_free(ix);
    free(row);
}

static void begins(sx_device *dev, unsigned kind, const char *spec, const char *wanted)
{
    uint64_t *keys = keys_of(kind);
    char got[SX_SPEC_MAX];
    build(dev, spec, keys, got);
    if (strncmp(got, wanted, strlen(wanted)) != 0)
        fail_msg("'%s' of keys %u became '%s', not '%s...'", spec, kind, got, wanted);
    free(keys);
}

static void test_pieces(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu");
    begins(dev, EVEN, "guide", "guide(bucket=16,pieces=1,");
    begins(dev, CROWDED, "guide", "guide(bucket=16,pieces=128,");
    begins(dev, ROUGH, "guide", "guide(bucket=1,pieces=128,");
    begins(dev, ROUGH, "guide(bucket=9)", "guide(bucket=9,pieces=128,");
    begins(dev, UNEVEN, "guide", "guide(bucket=1,pieces=1,");
    begins(dev, ROUGH, "guide(pieces=3)", "guide(bucket=16,pieces=3,");
    sx_close(dev);
}

/* A hybrid guide's upper part is no larger than its device has space for. A GPU wants a little
 * more to get it there, so that takes more keys. */
static void test_space(void **state)
{
    (void)state;
    uint64_t before = n, more = kernel_is_gpu() ? 1 << 20 : 4096;
    n = kernel_is_gpu() ? 1 << 21 : n;
    sx_device *dev = device_open(kernel_with(""));
    sx_estimate_info e = { .size = sizeof e };
    char options[64];
    OK(estimate_of(dev, "guide(bucket=16,pieces=1) place=hybrid", SX_U64, n, SX_U32, &e));
    begins(dev, UNEVEN, "guide place=hybrid", "guide(bucket=1,pieces=1,");
    sx_close(dev);
    snprintf(options, sizeof options, "memory=%llu", (unsigned long long)(e.device_resident + more));
    dev = device_open(kernel_with(options));
    uint64_t *keys = keys_of(UNEVEN);
    char got[SX_SPEC_MAX];
    build(dev, "guide place=hybrid", keys, got);
    if (strncmp(got, "guide(bucket=1,", 15) == 0)
        fail_msg("'%s' with %s", got, options);
    free(keys);
    sx_close(dev);
    n = before;
}

/* ---- contests ------------------------------------------------------------------ */

typedef struct {
    uint32_t family, pairs, eps;
} who;

static const sx_backend *honest;
static who met[16], fast[2];      /* contenders; those that are fast at points, at ranges */
static unsigned met_count;
static who poor;                  /* this one gets no memory: ... */
static unsigned built;            /* ... after it was built this often; ... */
static enum { TO_BE_BUILT, TO_BE_BUILT_AGAIN, TO_BE_ASKED } poor_when;

static bool is_who(who a, who b)
{
    return a.family == b.family && a.pairs == b.pairs && a.eps == b.eps;
}

static who who_is(const sx_view *v)
{
    return (who){ v->family, v->block > 0, v->family == SX_FAM_PGM ? v->of.pgm.eps : 0 };
}

/* As long as the contender takes, by its device's clock and by the host's. */
static void take_time(const sx_view *v, unsigned kind, const sx_how *how)
{
    who w = who_is(v);
    uint64_t ns = is_who(w, fast[kind]) ? 1000000 : 2000000;
    unsigned i = 0;
    while (i < met_count && !is_who(w, met[i]))
        i++;
    if (i == met_count)
        met[met_count++] = w;
    if (how->device_ns)
        *how->device_ns = ns;
    clock_move(ns);
}

static sx_status poor_build(void *self, sx_view *v, sx_sorted *sorted, uint32_t threads,
                            void *base[SX_SECTIONS], sx_err *err)
{
    if (is_who(who_is(v), poor) && poor_when != TO_BE_ASKED &&
        built++ >= (poor_when == TO_BE_BUILT_AGAIN))
        return sx_fail(err, SX_ENOMEM, "told to have no memory");
    return honest->build(self, v, sorted, threads, base, err);
}

static sx_status timed_lookup(void *self, const sx_views *v, const sx_lookup *job, sx_err *err)
{
    if (job->op == SX_OP_GET && is_who(who_is(sx_one_view(v)), poor) && poor_when == TO_BE_ASKED)
        return sx_fail(err, SX_ENOMEM, "told to have no memory");
    sx_status st = honest->lookup(self, v, job, err);
    if (job->op == SX_OP_GET)
        take_time(sx_one_view(v), 0, &job->how);
    return st;
}

static sx_status timed_fold(void *self, const sx_views *v, const sx_span_query *job,
                            const sx_range_folds *out, sx_err *err)
{
    sx_status st = honest->fold(self, v, job, out, err);
    take_time(sx_one_view(v), 1, &job->how);
    return st;
}

/* What auto takes if these are fast. */
static who contest(sx_device *dev, const char *spec, unsigned kind, who at_points, who at_ranges)
{
    uint64_t *keys = keys_of(kind);
    char got[SX_SPEC_MAX];
    sx_spec chosen;
    sx_err err;
    sx_backend table = *dev->backend;
    honest = dev->backend;
    table.lookup = timed_lookup;
    table.fold = timed_fold;
    table.build = poor_build;
    built = 0;
    fast[0] = at_points;
    fast[1] = at_ranges;
    met_count = 0;
    dev->backend = &table;
    clock_stop();
    build(dev, spec, keys, got);
    clock_go();
    dev->backend = honest;
    free(keys);
    assert_int_equal(sx_spec_parse(&chosen, got, &err), SX_OK);
    return (who){ chosen.family, chosen.layout == SX_PAIRS,
                  chosen.family == SX_FAM_PGM ? chosen.of.pgm.eps : 0 };
}

/* The fastest is taken, for each purpose. Ranges do not count for points, nor points for
 * ranges. If both count, none is taken that is slow at one kind and no faster at the
 * other. */
static void fastest_wins(const char *name, uint64_t keys)
{
    static const char *const specs[] = { "auto(for=point)", "auto(for=range)", "auto" };
    uint64_t before = n;
    sx_device *dev = device_open(name);
    n = keys;
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned s = 0; s < COUNT_OF(specs); s++) {
            who nobody = { 0 }, all[COUNT_OF(met)];
            contest(dev, specs[s], kind, nobody, nobody);
            unsigned count = met_count;
            memcpy(all, met, sizeof all);
            for (unsigned i = 0; i < count; i++) {
                who other = all[(i + 1) % count];
                who got = contest(dev, specs[s], kind, s == 1 ? other : all[i],
                                  s == 0 ? other : all[i]);
                if (!is_who(got, all[i]))
                    fail_msg("%s of keys %u on %s: family %u, pairs %u, eps %u is the fastest, but "
                             "%u, %u, %u was taken", specs[s], kind, name, all[i].family,
                             all[i].pairs, all[i].eps, got.family, got.pairs, got.eps);
            }
        }
    sx_close(dev);
    n = before;
}

static void test_contest(void **state)
{
    (void)state;
    fastest_wins("cpu", 1 << 16);
}

/* A contender that gets no memory to be built, or to be built once more, or to be asked, is
 * left out, and another is taken. */
static void test_poor(void **state)
{
    (void)state;
    uint64_t before = n;
    sx_device *dev = device_open("cpu");
    who nobody = { 0 }, all[COUNT_OF(met)];
    n = 1 << 16;
    contest(dev, "auto(for=point)", EVEN, nobody, nobody);
    unsigned count = met_count;
    memcpy(all, met, sizeof all);
    assert_true(count > 2);
    for (unsigned i = 0; i < count; i++)
        for (poor_when = TO_BE_BUILT; poor_when <= TO_BE_ASKED; poor_when++) {
            poor = all[i];
            who got = contest(dev, "auto(for=point)", EVEN, all[i], nobody);
            /* The last one is not built again. */
            bool stays = poor_when == TO_BE_BUILT_AGAIN && i + 1 == count;
            if (is_who(got, poor) != stays)
                fail_msg("%u is poor at %d: %u, %u, %u was taken", i, (int)poor_when, got.family,
                         got.pairs, got.eps);
        }
    poor = nobody;
    sx_close(dev);
    n = before;
}

/* The explanation names contenders as they were built: equal keys once, or each. */
static void test_said(void **state)
{
    (void)state;
    static const struct {
        unsigned kind;
        const char *said, *not_said;
    } cases[] = { { TWICE, "(layout=once) took", "layout=split" },
                  { EVEN, "(layout=split) took", "layout=once" } };
    uint64_t before = n;
    sx_device *dev = device_open("cpu");
    n = 1 << 18;
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        uint64_t *keys = keys_of(cases[i].kind);
        sx_column k = column(SX_U64, n, keys);
        char text[4096];
        size_t bytes = sizeof text;
        sx_index *ix = NULL;
        OK(sx_build(&ix, dev, "auto(for=point)", &k, NULL, NULL));
        OK(sx_explain(ix, SX_TEXT, text, &bytes));
        if (!strstr(text, cases[i].said) || strstr(text, cases[i].not_said))
            fail_msg("keys %u: %s", cases[i].kind, text);
        sx_free(ix);
        free(keys);
    }
    sx_close(dev);
    n = before;
}

/* More memory never makes a build fail: questions that leave none for an index are given
 * up. */
static void test_memory(void **state)
{
    (void)state;
    uint64_t before = n;
    bool built_before = false;
    if (kernel_is_gpu())
        SKIP("a GPU's memory is not capped so narrowly");
    n = 1 << 14;
    uint64_t *keys = keys_of(EVEN);
    sx_column k = column(SX_U64, n, keys);
    for (unsigned kib = 120; kib <= 200; kib += 2) {
        char name[64];
        sx_index *ix = NULL;
        snprintf(name, sizeof name, "memory=%uKiB", kib);
        sx_device *dev = device_open(kernel_with(name));
        sx_status st = sx_build(&ix, dev, "auto place=device", &k, NULL, NULL);
        if (built_before && st != SX_OK)
            fail_msg("%u KiB: %s", kib, sx_detail());
        built_before |= st == SX_OK;
        sx_free(ix);
        sx_close(dev);
    }
    assert_true(built_before);
    free(keys);
    n = before;
}

/* The keys decide who takes part: a guide does if they lie well in one. For points of keys that
 * have rows a btree does. */
static void test_contenders(void **state)
{
    (void)state;
    static const struct {
        unsigned kind;
        bool guide;
    } cases[] = { { EVEN, true }, { CROWDED, true }, { UNEVEN, true }, { ROUGH, false },
                  { REPEATED, false } };
    uint64_t before = n;
    sx_device *dev = device_open("cpu");
    n = 1 << 17;
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        bool guide = false, btree = false;
        contest(dev, "auto(for=point)", cases[i].kind, (who){ 0 }, (who){ 0 });
        for (unsigned m = 0; m < met_count; m++) {
            guide |= met[m].family == SX_FAM_GUIDE;
            btree |= met[m].family == SX_FAM_BTREE && met[m].pairs;
        }
        if (guide != cases[i].guide)
            fail_msg("keys %u: guide %d", cases[i].kind, guide);
        if (btree != (cases[i].kind != REPEATED))         /* which are stored once */
            fail_msg("keys %u: btree %d", cases[i].kind, btree);
        contest(dev, "auto(for=range)", cases[i].kind, (who){ 0 }, (who){ 0 });
        for (unsigned m = 0; m < met_count; m++)
            assert_int_not_equal(met[m].family, SX_FAM_BTREE);
    }
    sx_close(dev);
    n = before;
}

/* On a GPU the look settles it, and nobody is asked. A guide of one piece wins if all is in
 * the cache, one of several pieces beyond. for=memory gets a family without extra memory. */
static void test_settled(void **state)
{
    (void)state;
    static const struct {
        unsigned kind, log_n;
        const char *spec, *wanted;
    } cases[] = {
        { EVEN, 17, "auto(for=point)", "guide(bucket=4,pieces=1,layout=pairs," },
        { EVEN, 17, "auto", "guide(bucket=4,pieces=1,layout=pairs," },
        { EVEN, 17, "auto(for=range)", "guide(bucket=4,pieces=1,layout=split)" },
        { CROWDED, 17, "auto(for=point)", "pivot(k=5,leaf=8,levels=7,layout=split)" },
        { CROWDED, 23, "auto(for=point)", "guide(bucket=4,pieces=" },
        { ROUGH, 17, "auto(for=point)", "pivot(k=5,leaf=8,levels=7,layout=split)" },
        { ROUGH, 23, "auto", "pivot(k=5,leaf=8,levels=9,layout=pairs," },
        { REPEATED, 20, "auto(for=point)", "pivot(k=5,leaf=8,levels=3,layout=once)" },
        { REPEATED, 20, "auto", "pivot(k=5,leaf=8,levels=3,layout=once)" },
        { REPEATED, 23, "auto(for=range)", "pivot(k=5,leaf=8,levels=3,layout=once)" },
        { REPEATED, 20, "auto(for=memory)", "sorted(layout=once)" },
        { TWICE, 18, "auto(for=point)", "guide(bucket=4,pieces=1,layout=once)" },
        { SOMETIMES, 18, "auto(for=point)", "pivot(k=5,leaf=8,levels=7,layout=once)" },
        { SOMETIMES, 18, "auto", "pivot(k=5,leaf=8,levels=7,layout=split)" },
        { FIVE_TIMES, 20, "auto(for=memory)", "eytzinger(k=5,layout=once)" },
        { FIVE_TIMES, 20, "auto(for=point)", "guide(bucket=4,pieces=1,layout=once)" },
    };
    uint64_t before = n;
    sx_device *dev = device_open(kernel_with(""));
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        n = 1ull << cases[i].log_n;
        met_count = 0;
        begins(dev, cases[i].kind, cases[i].spec, cases[i].wanted);
    }
    sx_close(dev);
    n = before;
}

/* Few keys, and specs for little memory, are not measured. */
static void test_without_contest(void **state)
{
    (void)state;
    uint64_t before = n;
    sx_device *dev = device_open(kernel_with(""));
    begins(dev, EVEN, "auto(for=memory)", "eytzinger(");
    n = 4096;
    begins(dev, EVEN, "auto", "pivot(");
    begins(dev, EVEN, "auto(for=memory)", "sorted");
    sx_close(dev);
    n = before;
}

/* Keys at some ranks come with the sort, as they are stored, be it made at once or after a look;
 * ranks beyond the end are the last one. */
static void peek_at(sx_device *dev, int type, uint64_t count, bool ascending)
{
    enum { RANKS = 300 };
    uint32_t width = (uint32_t)sx_type_bytes(type);
    unsigned char *keys = need(count * width), *sorted_keys = need(count * width);
    unsigned char peeked[RANKS * 16];
    uint64_t rank[RANKS];
    sx_peek peek = { .n = RANKS, .rank = rank, .keys = peeked };
    sx_column k = column(type, count, keys);
    sx_input in = { .key_type = type, .n = count, .keys = sx_slice_of(&k), .peek = &peek };
    sx_sorted s = { 0 };
    sx_err err;
    rnd r = rnd_start(count + width);
    memset(keys, 0, count * width);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t x = (uint32_t)(ascending ? i * 3 : rnd_below(&r, 4 * count));
        memcpy(keys + i * width, &x, sizeof x);
    }
    for (unsigned i = 0; i < RANKS; i++)
        rank[i] = i < 2 ? count - 1 + i : rnd_below(&r, count);
    if (dev->backend->sort(dev->self, &in, &s, &err) != SX_OK)
        fail_msg("sort: %s", err.text);
    assert_int_equal(peek.taken, 1);
    assert_int_equal(s.row_bytes, ascending ? 0 : 4);
    assert_int_equal(dev->backend->copy(dev->self, sorted_keys, 0, s.keys, 1, count * width, &err),
                     SX_OK);
    for (unsigned i = 0; i < RANKS; i++) {
        uint64_t from = rank[i] < count ? rank[i] : count - 1;
        if (memcmp(peeked + i * width, sorted_keys + from * width, width))
            fail_msg("type %d, %llu keys: another key at rank %llu", type,
                     (unsigned long long)count, (unsigned long long)rank[i]);
    }
    dev->backend->release(dev->self, s.keys);
    dev->backend->release(dev->self, s.rows);
    dev->backend->release(dev->self, s.tally);
    dev->backend->release(dev->self, s.early_keys);
    dev->backend->release(dev->self, s.early_starts);
    free(keys);
    free(sorted_keys);
}

static void test_peek(void **state)
{
    (void)state;
    static const int types[] = { SX_U32, SX_U64 };
    sx_device *dev = device_open(kernel_with(""));
    for (unsigned i = 0; i < 2 * COUNT_OF(types); i++)
        for (uint64_t count = 50; count < 5000; count *= 7)
            peek_at(dev, types[i / 2], count, i % 2);
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_space),
        cmocka_unit_test(test_contest),
        cmocka_unit_test(test_poor),
        cmocka_unit_test(test_said),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_contenders),
        cmocka_unit_test(test_settled),
        cmocka_unit_test(test_peek),
        cmocka_unit_test(test_without_contest),
    };
    return cmocka_run_group_tests_name("choose", tests, NULL, NULL) != 0;
}
