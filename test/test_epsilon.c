/* test_epsilon.c - a pgm whose spec leaves something open: eps that is found,
 * budgets that are kept, bounds that are known beforehand; and segments searched
 * in either way. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "on_device.h"
#include "stand_in.h"
#include "inside.h"

/* A CPU measures from this many keys on. Kernels do from 2^22 on, more than the
 * emulator is given here. */
#define MEASURED 65536u

static asker *asking;

static const char *const devices[] = { "cpu", "cpu:scalar,threads=1", "" };  /* "": kernels */

static sx_device *open_nth(unsigned i)
{
    return device_open(*devices[i] ? devices[i] : kernel_with(""));
}

static uint64_t lines_of(const sx_index *ix)
{
    return sx_section_bytes(view_of(ix), SX_SEC_SEGMENTS);
}

static void spec_of(const sx_index *ix, char spec[SX_SPEC_MAX])
{
    sx_index_info info = { .size = sizeof info };
    OK(sx_describe(ix, &info));
    memcpy(spec, info.spec, SX_SPEC_MAX);
}

static const char *explanation(const sx_index *ix, sx_format format)
{
    static char text[8000];
    size_t bytes = sizeof text;
    OK(sx_explain(ix, format, text, &bytes));
    return text;
}

/* Both indexes have the same sections, byte for byte. */
static void same_sections(const sx_index *a, const sx_index *b)
{
    sx_store of[2];
    const sx_index *ix[2] = { a, b };
    sx_err err;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(sx_run_on_host(run_of(ix[i]), &of[i], NULL, &err), SX_OK);
    for (int kind = 0; kind < SX_SECTIONS; kind++) {
        uint64_t bytes = sx_section_bytes(&of[0].view, kind);
        assert_int_equal(bytes, sx_section_bytes(&of[1].view, kind));
        if (bytes > 0)
            assert_memory_equal(of[0].base[kind], of[1].base[kind], bytes);
    }
    for (unsigned i = 0; i < 2; i++)
        sx_run_leave(run_of(ix[i]), &of[i]);
}

/* The resolved spec of the index has no budget, and builds the same again. */
static void check_resolved(sx_device *dev, const sx_index *ix, const dataset *d)
{
    char once[SX_SPEC_MAX], twice[SX_SPEC_MAX];
    spec_of(ix, once);
    if (!strstr(once, "(eps=") || strstr(once, "budget"))
        fail_msg("resolved to '%s'", once);
    sx_index *again = index_of(dev, d, once);
    spec_of(again, twice);
    assert_string_equal(once, twice);
    assert_null(strstr(explanation(again, SX_JSON), "\"why\""));    /* the spec says eps */
    same_sections(ix, again);
    sx_free(again);
}

/* ---- eps ------------------------------------------------------------------------------ */

static void try_automatic(sx_device *dev, const char *spec, const dataset *d)
{
    sx_index *ix, *loaded = NULL;
    char *path = temp_path("eps.sxt"), *why;
    bool gpu = dev->backend->gpu;
    begin_step("%s, %" PRIu64 " keys of %s on %s", spec, d->n, sx_type_name(d->type),
               dev->backend->name);
    ix = index_of(dev, d, spec);
    OK(sx_check(ix, NULL));
    assert_true(is_json(explanation(ix, SX_JSON)));
    if (d->n >= MEASURED && !gpu) {
        if (!strstr(run_of(ix)->info.why, "points among these keys"))
            fail_msg("%s: why '%s'", spec, run_of(ix)->info.why);
        assert_in_range(run_of(ix)->info.spec.of.pgm.eps, 4, 2048);
    } else if (!kernel_is_gpu() || !gpu) {
        assert_true((strstr(run_of(ix)->info.why, "not measured") != NULL) == (d->n > 0));
        assert_int_equal(run_of(ix)->info.spec.of.pgm.eps, gpu ? 8 : 16);
    }
    check_resolved(dev, ix, d);
    ask_all(asking, gpu ? dev : NULL, ix, d, spec);
    why = strdup(run_of(ix)->info.why);
    OK(sx_save(ix, path, NULL));
    OK(sx_load(&loaded, dev, path, SX_LOAD_VERIFY, NULL));
    assert_string_equal(run_of(loaded)->info.why, why);
    same_sections(ix, loaded);
    sx_free(loaded);
    sx_free(ix);
    free(why);
    free(path);
}

static void test_automatic(void **state)
{
    (void)state;
    static const char *const specs[] = { "pgm", "pgm(layout=pairs)", "pgm(eps2=1,cuts=9)" };
    static const key_kind kinds[] = { KEYS_RANDOM, KEYS_LINE, KEYS_SQUARES };
    rnd r = rnd_start(test_seed());
    for (unsigned i = 0; i < COUNT_OF(devices); i++) {
        sx_device *dev = open_nth(i);
        bool gpu = dev->backend->gpu;
        uint64_t sizes[] = { 0, 1, 2000, gpu ? 900 : 70000, gpu ? 3000 : 300000 };
        for (size_t s = 0; s < COUNT_OF(sizes); s++)
            for (size_t k = 0; k < COUNT_OF(specs); k++) {
                dataset *d = data_make(key_types[(s + k) % COUNT_OF(key_types)], kinds[k],
                                       sizes[s], (row_kind)((s + k) % ROWS_KINDS), 200, &r);
                try_automatic(dev, specs[k], d);
                data_free(d);
            }
        sx_close(dev);
    }
}

/* ---- budgets ---------------------------------------------------------------------------- */

/* Returns whether there was an index. */
static bool try_budget(sx_device *dev, const char *more, unsigned kib, const dataset *d)
{
    char spec[SX_SPEC_MAX];
    sx_index *const mark = (sx_index *)spec, *ix = mark;
    bool gpu = dev->backend->gpu;
    snprintf(spec, sizeof spec, "pgm(budget=%u%s)", kib, more);
    begin_step("%s, %" PRIu64 " keys of %s on %s", spec, d->n, sx_type_name(d->type),
               dev->backend->name);
    sx_status st = data_build(d, dev, spec, NULL, &ix);
    if (st == SX_ENOMEM) {
        unsigned least = 0;
        int end = 0;
        const char *at = strstr(sx_detail(), "at least ");
        snprintf(spec, sizeof spec, "more than budget=%u allows", kib);
        if (!at || sscanf(at, "at least %u KiB %n", &least, &end) != 1 || end == 0 ||
            !strstr(sx_detail(), spec))
            fail_msg("%s", sx_detail());
        assert_true(least > kib);
        assert_ptr_equal(ix, mark);
        /* That much is enough: the segments of the largest eps, and less than a KiB more. */
        snprintf(spec, sizeof spec, "pgm(eps=1048576%s)", more);
        ix = index_of(dev, d, spec);
        assert_in_range(lines_of(ix), (least - 1) * 1024ull + 1, least * 1024ull);
        sx_free(ix);
        assert_true(try_budget(dev, more, least, d));
        return false;
    }
    OK(st);
    if (lines_of(ix) > kib * 1024ull)
        fail_msg("%s: %" PRIu64 " bytes", spec, lines_of(ix));
    uint32_t eps = run_of(ix)->info.spec.of.pgm.eps, usual = gpu ? 8 : 16;
    if (d->n > 0 && d->n < MEASURED)
        assert_non_null(strstr(run_of(ix)->info.why, "the smallest that fits budget="));
    check_resolved(dev, ix, d);
    ask_all(asking, gpu ? dev : NULL, ix, d, spec);
    sx_free(ix);
    if (d->n > 0 && d->n < MEASURED && eps > usual) {     /* half would not have done */
        snprintf(spec, sizeof spec, "pgm(eps=%" PRIu32 "%s)", eps / 2, more);
        ix = index_of(dev, d, spec);
        if (lines_of(ix) <= kib * 1024ull)
            fail_msg("budget %u: eps=%u was taken, but %u has %" PRIu64 " bytes", kib, eps,
                     eps / 2, lines_of(ix));
        sx_free(ix);
    }
    return true;
}

static void test_budgets(void **state)
{
    (void)state;
    static const unsigned budgets[] = { 1, 2, 3, 5, 16, 100000 };
    static const char *const more[] = { "", ",layout=pairs", ",eps2=1,cuts=40", ",eps2=50,cuts=3" };
    rnd r = rnd_start(test_seed());
    unsigned made = 0, failed = 0;
    for (unsigned i = 0; i < COUNT_OF(devices); i++) {
        sx_device *dev = open_nth(i);
        bool gpu = dev->backend->gpu;
        for (unsigned k = 0; k < KEYS_KINDS; k += 1 + (unsigned)gpu) {
            dataset *d = data_make(key_types[k % COUNT_OF(key_types)], (key_kind)k,
                                   gpu ? 1500 : 9000, (row_kind)(k % ROWS_KINDS), 60, &r);
            for (size_t b = 0; b < COUNT_OF(budgets); b++)
                if (try_budget(dev, more[(k + b) % COUNT_OF(more)], budgets[b], d))
                    made++;
                else
                    failed++;
            data_free(d);
        }
        sx_close(dev);
    }
    assert_true(made > 0 && failed > 0);
}

/* Enough keys to measure from the smallest eps that fits. */
static void test_measured_budgets(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu");
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 200000, ROWS_U32, 200, &r);
    for (unsigned kib = 1; kib <= 4096; kib *= 4) {
        assert_true(try_budget(dev, "", kib, d));
        assert_true(try_budget(dev, ",layout=pairs,cuts=1", kib, d));
    }
    assert_false(try_budget(dev, ",cuts=1000", 1, d));
    data_free(d);
    sx_close(dev);
}

/* ---- searches ----------------------------------------------------------------------------- */

/* search= says either way: the answers are the same, and so is the file. */
static void try_searches(const char *base, const char *spec, const dataset *d)
{
    static const char *const words[] = { "complete", "concise" };
    unsigned char *saved[2];
    size_t bytes[2];
    for (unsigned concise = 0; concise < 2; concise++) {
        char name[80];
        snprintf(name, sizeof name, "%s%csearch=%s", base, strpbrk(base, ":,") ? ',' : ':',
                 words[concise]);
        sx_device *dev = device_open(name);
        sx_index *ix, *loaded = NULL;
        bool columns = dev->backend->gpu && !strstr(spec, "place=");
        char *path = temp_path("search.sxt");
        begin_step("%s on %s, %" PRIu64 " keys of %s", spec, name, d->n, sx_type_name(d->type));
        ix = index_of(dev, d, spec);
        assert_int_equal(view_of(ix)->of.pgm.concise, concise && view_of(ix)->of.pgm.levels > 1);
        if (sx_run_place(run_of(ix)) == SX_PLACE_HYBRID)
            assert_int_equal(replica_of(ix, 1)->view.of.pgm.concise, view_of(ix)->of.pgm.concise);
        assert_true((strstr(explanation(ix, SX_TEXT), "searched at once") != NULL) ==
                    (view_of(ix)->of.pgm.concise != 0));
        asking->no_streams = !columns;
        ask_all(asking, columns ? dev : NULL, ix, d, name);
        saved[concise] = saved_bytes(ix, path, &bytes[concise]);
        OK(sx_load(&loaded, dev, path, 0, NULL));
        assert_int_equal(view_of(loaded)->of.pgm.concise, view_of(ix)->of.pgm.concise);
        asking->no_streams = false;
        ask_all(asking, dev->backend->gpu ? dev : NULL, loaded, d, name);
        sx_free(loaded);
        sx_free(ix);
        sx_close(dev);
        free(path);
    }
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(saved[0], saved[1], bytes[0]);
    free(saved[0]);
    free(saved[1]);
}

static void test_searches(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "pgm", "pgm(eps=1,eps2=1)", "pgm(eps=2,layout=pairs)", "pgm(eps=1,cuts=50)",
        "pgm(eps=1000000)",
    };
    static const char *const bases[] = { "cpu:scalar", "cpu:avx2", "cpu" };
    rnd r = rnd_start(test_seed());
    for (unsigned k = 0; k < KEYS_KINDS; k++) {
        dataset *d = data_make(key_types[k % COUNT_OF(key_types)], (key_kind)k, 2500,
                               (row_kind)(k % ROWS_KINDS), 150, &r);
        const char *spec = specs[k % COUNT_OF(specs)];
        char hybrid[SX_SPEC_MAX];
        const char *base = bases[k % COUNT_OF(bases)];
        sx_device *dev = NULL;
        if (sx_open(&dev, base) == SX_OK) {
            sx_close(dev);
            try_searches(base, spec, d);
        }
        snprintf(hybrid, sizeof hybrid, "%s place=hybrid", spec);
        try_searches(kernel_with("bucket=32"), k % 3 ? spec : hybrid, d);
        data_free(d);
    }
}

/* Without search= the way is measured if there are many keys; otherwise few segments are
 * searched at once. After loading that rule always counts. */
static void test_usual_search(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    for (unsigned i = 0; i < COUNT_OF(devices); i++) {
        sx_device *dev = open_nth(i);
        for (unsigned k = 0; k < 8; k++) {
            dataset *d = data_make(SX_U32, KEYS_RANDOM, 300 + 400 * k, ROWS_NULL, 50, &r);
            sx_index *ix, *loaded = NULL;
            char *path = temp_path("usual.sxt");
            ix = index_of(dev, d, k % 2 ? "pgm(eps=2)" : "pgm(eps=8)");
            const sx_view *v = view_of(ix);
            assert_int_equal(v->of.pgm.concise, v->of.pgm.levels > 1 && v->of.pgm.level_count[v->of.pgm.levels - 1] <= 32);
            OK(sx_save(ix, path, NULL));
            OK(sx_load(&loaded, dev, path, 0, NULL));
            assert_int_equal(view_of(loaded)->of.pgm.concise, v->of.pgm.concise);
            sx_free(loaded);
            sx_free(ix);
            data_free(d);
            free(path);
        }
        sx_close(dev);
    }
    sx_device *dev = device_open("cpu");
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 100000, ROWS_U32, 300, &r);
    sx_index *ix = index_of(dev, d, "pgm(eps=4)");
    assert_string_equal(run_of(ix)->info.why, "");       /* the search is no part of it */
    for (uint32_t concise = 0; concise < 2; concise++) {
        view_of(ix)->of.pgm.concise = concise;
        ask_all(asking, NULL, ix, d, concise ? "concise" : "complete");
    }
    sx_free(ix);
    data_free(d);
    sx_close(dev);
}

/* ---- what is faster ----------------------------------------------------------------------- */

static uint32_t fast_eps, fast_concise;
static bool late;                 /* calls are slow at first, whatever is asked */

/* How many times eps is to be doubled or halved to become the fast one. */
static unsigned steps_off(uint64_t eps)
{
    unsigned off = 0;
    for (; fast_eps && eps != fast_eps; off++)
        eps = eps < fast_eps ? eps * 2 : eps / 2;
    return off;
}

static uint64_t sort_ns;          /* the sort takes this; so long may trying take */

/* Segments of one level, which some keys have with a large eps, are searched in one way. */
static bool is_slow_way(const sx_view *v)
{
    return v->of.pgm.levels > 1 && v->of.pgm.concise != fast_concise;
}

/* The further a candidate is from the fast one, the longer it takes. */
static uint64_t slower(const sx_view *v, unsigned n)
{
    if (!v)
        return sort_ns;
    if (v->family != SX_FAM_PGM)
        return 0;
    return 1000 * steps_off(v->of.pgm.eps) + (is_slow_way(v) ? 1000 : 0) +
           (late && n < 6 ? 5000 : 0);
}

/* The candidate that answers faster is chosen. An eps is tried only as long as there is time,
 * except for the first, which is twice 16. */
static void test_faster_wins(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint32_t fast, becomes;
        uint64_t sort_ns;
        bool late;
    } trials[] = {
        { "pgm(eps=4)", 0, 4, 0, false }, { "pgm(eps=4)", 0, 4, 0, true },
        { "pgm", 4, 4, 100000000, false }, { "pgm", 16, 16, 100000000, false },
        { "pgm", 128, 128, 100000000, false },
        { "pgm", 4, 16, 0, false }, { "pgm", 128, 32, 0, false },
    };
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu:threads=1");
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 1 << 16, ROWS_NULL, 10, &r);
    for (unsigned t = 0; t < COUNT_OF(trials); t++)
        for (fast_concise = 0; fast_concise < 2; fast_concise++) {
            begin_step("%s, fast with eps %" PRIu32 " and %s", trials[t].spec, trials[t].fast,
                       fast_concise ? "concise" : "complete");
            stand_in(dev, OF_QUESTIONS);
            fast_eps = trials[t].fast;
            sort_ns = trials[t].sort_ns;
            late = trials[t].late;
            takes_ns = slower;
            clock_stop();
            sx_index *ix = index_of(dev, d, trials[t].spec);
            clock_go();
            stand_back(dev);
            uint32_t eps = run_of(ix)->info.spec.of.pgm.eps;
            if (is_slow_way(view_of(ix)) || eps != trials[t].becomes)
                fail_msg("%s: eps=%" PRIu32 ", concise %" PRIu32, step_now, eps,
                         view_of(ix)->of.pgm.concise);
            sx_free(ix);
        }
    data_free(d);
    sx_close(dev);
}

static void test_bad_words(void **state)
{
    (void)state;
    sx_device *dev = NULL;
    REFUSED(sx_open(&dev, "cpu:search=fast"), SX_EINVAL, "search=concise");
    REFUSED(sx_open(&dev, "cpu:search="), SX_EINVAL, "search=complete");
    REFUSED(sx_open(&dev, "simt,search=fast"), SX_EINVAL, "complete, concise");
    REFUSED(sx_open(&dev, "simt,search"), SX_EINVAL, "search=");
    assert_null(dev);
}

/* ---- beforehand ----------------------------------------------------------------------------- */

static const char *const bound_specs[] = {
    "pgm", "pgm(budget=1)", "pgm(budget=7,layout=pairs)", "pgm(cuts=5)", "pgm(eps=1,eps2=1)",
    "pgm(eps=1,cuts=100)", "pgm(eps=3,eps2=7,layout=pairs)", "pgm(eps=70000)",
};

static void try_bounds(sx_device *dev, const char *spec, const dataset *d)
{
    sx_estimate_info e = { .size = sizeof e };
    sx_index_info info = { .size = sizeof info };
    sx_index *ix = NULL;
    int row_type = rows_are_positions(d->row_kind) ? 0 : d->row_kind == ROWS_U32 ? SX_U32 : SX_U64;
    bool gpu = dev->backend->gpu;
    begin_step("%s, %" PRIu64 " keys of %s on %s", spec, d->n, sx_type_name(d->type),
               dev->backend->name);
    OK(estimate_of(dev, spec, d->type, d->n, row_type, &e));
    sx_call call = { .size = sizeof call, .max_bytes = e.host_peak + e.device_peak };
    uint64_t resident = gpu ? e.device_resident : e.host_resident;
    OK(data_build(d, dev, spec, &call, &ix));
    OK(sx_describe(ix, &info));
    if (info.bytes > resident || e.host_resident > e.host_peak ||
        e.device_resident > e.device_peak)
        fail_msg("%s: %" PRIu64 " bytes, at most %" PRIu64 " were said, %" PRIu64 " on the way",
                 step_now, info.bytes, resident, gpu ? e.device_peak : e.host_peak);
    sx_free(ix);
    sx_index *const mark = (sx_index *)&call;
    ix = mark;
    call.max_bytes--;
    REFUSED(data_build(d, dev, spec, &call, &ix), SX_ENOMEM, "max_bytes");
    assert_ptr_equal(ix, mark);
    if (!gpu || kernel_is_gpu())
        return;
    char name[80];                /* the emulator gets no more than was estimated */
    snprintf(name, sizeof name, "simt,memory=%" PRIu64, e.device_peak);
    sx_device *small = device_open(name);
    ix = index_of(small, d, spec);
    sx_free(ix);
    sx_close(small);
}

static void test_bounds(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    for (unsigned i = 0; i < COUNT_OF(devices); i++) {
        sx_device *dev = open_nth(i);
        bool gpu = dev->backend->gpu;
        uint64_t sizes[] = { 1, 2, 33, 700, gpu ? 1500 : 10000 };
        for (unsigned k = 0; k < KEYS_KINDS; k++)
            for (size_t s = gpu ? k % 2 * 2 : 0; s < COUNT_OF(sizes); s += 1 + (size_t)gpu) {
                dataset *d = data_make(key_types[(k + s) % COUNT_OF(key_types)], (key_kind)k,
                                       sizes[s], (row_kind)((k + s) % ROWS_KINDS), 1, &r);
                for (size_t b = 0; b < COUNT_OF(bound_specs); b++)
                    try_bounds(dev, bound_specs[b], d);
                data_free(d);
            }
        if (!gpu) {
            dataset *d = data_make(SX_F64, KEYS_RANDOM, 80000, ROWS_U64_WIDE, 1, &r);
            for (size_t b = 0; b < COUNT_OF(bound_specs); b++)
                try_bounds(dev, bound_specs[b], d);
            data_free(d);
        }
        sx_close(dev);
    }
}

/* A budget bounds the resident bytes, whatever the keys are. */
static void test_budget_bounds(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu");
    sx_estimate_info all = { .size = sizeof all }, some = all, plain = all;
    OK(estimate_of(dev, "pgm", SX_U64, 1u << 26, SX_U32, &all));
    OK(estimate_of(dev, "pgm(budget=64)", SX_U64, 1u << 26, SX_U32, &some));
    OK(estimate_of(dev, "sorted", SX_U64, 1u << 26, SX_U32, &plain));
    assert_true(some.host_resident < all.host_resident);
    assert_in_range(some.host_resident - plain.host_resident, 1, 65536 + 1024);
    assert_int_equal(some.host_peak, all.host_peak);
    sx_close(dev);
}

/* ---- no memory ------------------------------------------------------------------------ */

/* Whichever allocation fails, nothing leaks, and there is a whole index or none. */
static void test_allocations(void **state)
{
    (void)state;
    static const struct { const char *spec; uint64_t n; } cases[] = {
        { "pgm", 66000 }, { "pgm(layout=pairs)", 66000 }, { "pgm(budget=2)", 66000 },
        { "pgm(budget=1)", 3000 }, { "pgm(eps=8)", 66000 },
    };
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu:threads=1");
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        dataset *d = data_make(SX_U64, KEYS_RANDOM, cases[c].n, ROWS_U32, 20, &r);
        unsigned failures = 0, successes = 0;
        for (long nth = 1; successes < 60; nth++) {
            sx_index *ix = NULL;
            uint64_t live = sx_alloc_live();
            sx_alloc_fail_at(nth);
            sx_status st = data_build(d, dev, cases[c].spec, NULL, &ix);
            sx_alloc_fail_at(0);
            if (st == SX_OK) {
                successes++;
                if (successes % 20 == 1)
                    ask_all(asking, NULL, ix, d, cases[c].spec);
                sx_free(ix);
            } else {
                if (st != SX_ENOMEM || ix)
                    fail_msg("%s, allocation %ld: %d: %s", cases[c].spec, nth, (int)st,
                             sx_detail());
                failures++;
            }
            if (sx_alloc_live() != live)
                fail_msg("%s, allocation %ld: %lld bytes lost", cases[c].spec, nth,
                         (long long)(sx_alloc_live() - live));
        }
        assert_true(failures > 5);
        data_free(d);
    }
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_automatic),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_measured_budgets),
        cmocka_unit_test(test_searches),
        cmocka_unit_test(test_usual_search),
        cmocka_unit_test(test_faster_wins),
        cmocka_unit_test(test_bad_words),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_budget_bounds),
        cmocka_unit_test(test_allocations),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("epsilon", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
