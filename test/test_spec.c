/* test_spec.c - spec strings: which are refused and how, what a spec resolves to, and what
 * its index will cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ask.h"
#include "base/alloc.h"

static sx_device *dev;
static uint64_t key_array[10] = { 0, 10, 20, 30, 40, 50, 60, 70, 80, 90 };
static const sx_column keys = { .type = SX_U64, .n = 10, .data = key_array };

static int set_up(void **state)
{
    (void)state;
    dev = device_open("cpu:scalar,threads=1");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sx_close(dev);
    return 0;
}

/* ---- what is wrong ----------------------------------------------------- */

/* Build and estimate both refuse it; both words are in the sentence. */
static void refused_spec(sx_status with, const char *spec, const char *word, const char *word2)
{
    sx_index *const mark = (sx_index *)key_array, *made = mark;
    sx_estimate_info e = { .size = sizeof e, .host_peak = 77 };
    for (int how = 0; how < 2; how++) {
        sx_status s = how ? estimate_of(dev, spec, SX_U64, 10, SX_U32, &e)
                          : sx_build(&made, dev, spec, &keys, NULL, NULL);
        if (s != with || !strstr(sx_detail(), word) ||
            (word2 && !strstr(sx_detail(), word2)))
            fail_msg("spec '%.80s' gave %d: %s", spec, (int)s, sx_detail());
    }
    assert_ptr_equal(made, mark);
    assert_int_equal(e.host_peak, 77);
}

static void bad_spec(const char *spec, const char *word, const char *word2)
{
    refused_spec(SX_EINVAL, spec, word, word2);
}

static void test_bad_specs(void **state)
{
    (void)state;
    bad_spec("bushtree", "bushtree", "sorted"); /* lists what is allowed */
    bad_spec("bushtree", "eytzinger", "pivot");
    bad_spec("", "family", "sorted");
    bad_spec("   ", "family", "sorted");
    bad_spec("Sorted", "Sorted", "sorted");
    bad_spec("(k=2)", "family", "sorted");
    bad_spec("sorted(k=2)", "k", "layout");
    bad_spec("sorted(levels=1)", "levels", "layout");
    bad_spec("eytzinger(leaf=3)", "leaf", "k");
    bad_spec("pivot(depth=3)", "depth", "levels");
    bad_spec("btree(leaf=3)", "leaf", "k, layout");
    bad_spec("btree(k=1)", "1", "17");
    bad_spec("btree(k=18)", "18", "2");
    bad_spec("btree(fill=49)", "49", "50 to 100");
    bad_spec("btree(fill=101)", "101", "50 to 100");
    bad_spec("btree(k=4,fill=80)", "btree with fill= has no parameter 'k'", "fill, layout");
    bad_spec("btree(layout=pairs,block=4)", "block", "k, layout");
    bad_spec("radix(leaf=0)", "0", "255");
    bad_spec("radix(k=4)", "k", "leaf, layout");
    bad_spec("auto(k=3)", "k", "for");
    bad_spec("pivot(k=1)", "1", "33");
    bad_spec("pivot(k=34)", "34", "2");
    bad_spec("eytzinger(k=0)", "0", "33");
    bad_spec("eytzinger(k=4294967298)", "4294967298", "33");  /* 2^32 + 2 */
    bad_spec("eytzinger(k=18446744073709551618)", "18446744073709551618",
             "33");
    bad_spec("eytzinger(k=-3)", "-3", "33");
    bad_spec("eytzinger(k=)", "k", "33");
    bad_spec("eytzinger(k)", "=", NULL);
    bad_spec("eytzinger(k=nine)", "nine", "33");
    bad_spec("eytzinger(k=9x)", "9x", "33");
    bad_spec("eytzinger(k=0x9)", "0x9", "33");
    bad_spec("eytzinger(k=9.5)", ".5", NULL);
    bad_spec("pivot(k=9,leaf=0)", "0", "4096");
    bad_spec("pivot(k=9,leaf=4097)", "4097", "4096");
    bad_spec("pivot(k=9,levels=49)", "49", "48");
    bad_spec("pivot(k=9,k=9)", "twice", "k");
    bad_spec("pivot(k=9,,levels=1)", "pivot", "levels");
    bad_spec("pivot(k=9,)", "pivot", "levels");
    bad_spec("pivot(,k=9)", "pivot", "levels");
    bad_spec("pivot(k=9", ")", NULL);
    bad_spec("pivot(", "pivot", "k");
    bad_spec("pivot k=9", "k", "unique");
    bad_spec("pivot(k=9))", ")", "unique");
    bad_spec("pivot(k=9)(k=9)", "(", "unique");
    bad_spec("pivot(k=9]", "]", NULL);
    bad_spec("sorted(layout=rows)", "rows", "pairs");
    bad_spec("sorted(layout=)", "layout", "pairs");
    bad_spec("sorted(block=4)", "block", "pairs");
    bad_spec("sorted(layout=split,block=4)", "character 21: block", "pairs");
    bad_spec("sorted(layout=pairs,block=3)", "character 21: block can't be 3", "64");
    bad_spec("sorted(layout=pairs,block=128)", "128", "64");
    bad_spec("pgm(eps=0)", "eps can't be '0'", "1 to 1048576");
    bad_spec("pgm(eps=1048577)", "1048577", "1 to 1048576");
    bad_spec("pgm(eps=99999999999)", "99999999999", "1 to 1048576");
    bad_spec("pgm(eps=-1)", "-1", "1 to 1048576");
    bad_spec("pgm(eps=)", "eps can't be", "1 to 1048576");
    bad_spec("pgm(eps2=0)", "eps2 can't be '0'", "1 to 1024");
    bad_spec("pgm(eps2=1025)", "1025", "1 to 1024");
    bad_spec("pgm(cuts=0)", "cuts can't be '0'", "1 to 1048576");
    bad_spec("pgm(cuts=1048577)", "1048577", "1 to 1048576");
    bad_spec("pgm(budget=0)", "budget can't be '0'", "1 to 999999999");
    bad_spec("pgm(budget=1000000000)", "1000000000", "1 to 999999999");
    bad_spec("pgm(budget=64KiB)", "64KiB", "1 to 999999999");
    bad_spec("pgm(eps=64,budget=10)", "character 12: eps=", "budget=");
    bad_spec("pgm( budget=10, eps=64)", "character 17: ", "don't go together");
    bad_spec("pgm(budget=10,budget=10)", "twice", "budget");
    bad_spec("sorted(budget=10)", "sorted has no parameter 'budget'", "layout");
    bad_spec("pivot(budget=10)", "pivot has no parameter 'budget'", "levels");
    bad_spec("guide(budget=10)", "guide has no parameter 'budget'", "pieces");
    bad_spec("eytzinger(budget=10)", "no parameter 'budget'", "k");
    bad_spec("auto(budget=10)", "auto has no parameter 'budget'", "for");
    bad_spec("auto(for=speed)", "speed", "point");
    bad_spec("auto(for=speed)", "mixed", "memory");
    bad_spec("sorted fast", "fast", "unique");
    bad_spec("sorted unique unique", "unique", "place");
    refused_spec(SX_ENOSYS, "sorted place=device", "place=device needs a GPU", "cpu");
    bad_spec("sorted place", "place", "=");
    bad_spec("sorted place=host place=host", "place", "unique");
    bad_spec("sorted,unique", ",", "unique");
    bad_spec("sorted\n", "sorted", NULL);
    bad_spec("sorted\xff\xfe", "sorted", NULL);

    /* Very long ones. */
    static char text[100000];
    memset(text, 'x', sizeof text - 1);
    bad_spec(text, "xxxx", "sorted");
    memcpy(text, "pivot(k=", 8);
    memset(text + 8, '9', sizeof text - 9);
    bad_spec(text, "999", "33");
    memcpy(text, "sorted unique ", 14);
    memset(text + 14, '(', sizeof text - 15);
    bad_spec(text, "(", "unique");
}

/* ---- what is right ---------------------------------------------------------- */

/* Builds an index and returns its resolved spec. */
static void resolve(const char *spec, const sx_column *k, const sx_column *rows,
                    char out[SX_SPEC_MAX])
{
    sx_index *ix = NULL;
    sx_index_info info = { .size = sizeof info };
    if (sx_build(&ix, dev, spec, k, rows, NULL) != SX_OK)
        fail_msg("spec '%s': %s", spec ? spec : "NULL", sx_detail());
    assert_int_equal(sx_describe(ix, &info), SX_OK);
    assert_int_equal(info.unique, spec && strstr(spec, "unique") != NULL);
    sx_free(ix);
    memcpy(out, info.spec, SX_SPEC_MAX);
}

/* A resolved spec names a family and its parameters, and resolves to
 * itself. */
static void test_good_specs(void **state)
{
    (void)state;
    static const struct { const char *spec, *family, *has; } good[] = {
        { NULL, "", "" },
        { "auto", "", "" },
        { "auto()", "", "" },
        { "auto(for=point)", "", "" },
        { "auto(for=range) unique", "", "unique" },
        { "auto(for=mixed)", "", "" },
        { "auto(for=memory) place=host", "", "" },
        { "sorted", "sorted", "layout=" },
        { "sorted()", "sorted", "layout=" },
        { "sorted(layout=pairs)", "sorted", "layout=pairs,block=" },
        { "sorted(layout=pairs,block=64)", "sorted", "block=64" },
        { "sorted(block=16,layout=pairs)", "sorted", "block=16" },
        { "eytzinger", "eytzinger", "k=9" },
        { "eytzinger(k=2)", "eytzinger", "k=2" },
        { "eytzinger(k=33) unique", "eytzinger", "unique" },
        { "pivot", "pivot", "k=9" },
        { "pivot(k=33)", "pivot", "k=33" },
        { "pivot(levels=0)", "pivot", "levels=0" },
        { "pivot(k=2,levels=48)", "pivot", "levels=" },
        { "pivot(k=2,leaf=4096)", "pivot", "leaf=4096" },
        { "btree", "btree", "(k=9,layout=pairs)" },
        { "btree(k=2) unique", "btree", "(k=2,layout=pairs) unique" },
        { "btree(layout=split,k=8)", "btree", "(k=8,layout=split)" },
        { "btree(layout=once)", "btree", "(k=9,layout=once)" },
        { "btree(fill=50)", "btree", "(fill=50,layout=pairs)" },
        { "btree(layout=split,fill=100) unique", "btree", "(fill=100,layout=split) unique" },
        { "btree ( layout = once , fill = 66 )", "btree", "(fill=66,layout=once)" },
        { "radix", "radix", "(leaf=24,layout=split)" },
        { "radix(leaf=255,layout=pairs)", "radix", "(leaf=255,layout=pairs" },
        { "pgm", "pgm", "(eps=16,eps2=4,cuts=1,layout=split)" },
        { "pgm(budget=1)", "pgm", "(eps=16,eps2=4,cuts=1,layout=split)" },
        { "pgm(eps=1048576,eps2=1024,cuts=1048576)", "pgm", "(eps=1048576,eps2=1024,cuts=10" },
        { "pgm(budget=999999999,eps2=1)", "pgm", "(eps=16,eps2=1," },
        { "  pivot ( k = 9 , layout=split )  unique  place=host ", "pivot",
          "layout=split) unique" },
    };
    uint32_t row_array[10] = { 5, 4, 3, 2, 1, 9, 8, 7, 6, 0 };
    sx_column rows = column(SX_U32, 10, row_array);
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        char once[SX_SPEC_MAX], twice[SX_SPEC_MAX];
        resolve(good[i].spec, &keys, &rows, once);
        if (strncmp(once, good[i].family, strlen(good[i].family)) ||
            !strstr(once, good[i].has) || !strncmp(once, "auto", 4))
            fail_msg("'%s' became '%s'", good[i].spec, once);
        resolve(once, &keys, &rows, twice);
        assert_string_equal(once, twice);
    }
}

/* The natural k fills a line of 64 bytes. */
static void test_natural_k(void **state)
{
    (void)state;
    static const struct { int type; const char *k; } natural[] = {
        { SX_U32, "(k=17," }, { SX_F32, "(k=17," }, { SX_I64, "(k=9," },
        { SX_F64, "(k=9," }, { SX_B16, "(k=5," },
    };
    unsigned char zeros[160] = { 0 };
    for (size_t i = 0; i < COUNT_OF(natural); i++)
        for (unsigned family = 0; family < 3; family++) {
            static const char *const families[] = { "pivot", "eytzinger", "btree" };
            char spec[SX_SPEC_MAX];
            sx_column k = column(natural[i].type, 10, zeros);
            resolve(families[family], &k, NULL, spec);
            if (!strstr(spec, natural[i].k))
                fail_msg("%s: %s", sx_type_name(natural[i].type), spec);
        }
}

/* ---- estimates ----------------------------------------------------------- */

/* The finished index is not larger than estimated, and the peak is enough for the build. */
static void test_estimates_are_bounds(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "sorted", "sorted(layout=pairs)", "eytzinger(k=2)", "eytzinger(k=33)",
        "eytzinger(layout=pairs,block=64)", "pivot", "pivot(k=2)",
        "pivot(k=33,leaf=1,layout=pairs)", "auto", "auto(for=memory)",
        "pgm", "pgm(budget=3)", "pgm(eps=1,layout=pairs)", "guide", "guide(layout=pairs)",
        "btree", "btree(k=2)", "btree(layout=split)", "btree(layout=once)", "btree(fill=50)",
        "btree(fill=83,layout=split)", "btree(fill=100,layout=once)",
        "radix", "radix(leaf=1)", "radix(leaf=255,layout=pairs)",
    };
    static const uint64_t sizes[] = { 0, 1, 2, 63, 64, 65, 1000, 4096, 70000 };
    rnd r = rnd_start(test_seed());
    for (size_t t = 0; t < COUNT_OF(key_types); t++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            row_kind rows = (row_kind)rnd_below(&r, ROWS_KINDS);
            dataset *d = data_make(key_types[t], i % 2 ? KEYS_RANDOM : KEYS_SQUARES, sizes[i],
                                   rows, 1, &r);
            for (size_t s = 0; s < COUNT_OF(specs); s++) {
                sx_estimate_info e = { .size = sizeof e };
                sx_index_info info = { .size = sizeof info };
                sx_index *ix = NULL;
                int row_type = rows == ROWS_NULL || rows == ROWS_IMPLICIT ? 0
                             : rows == ROWS_U32 ? SX_U32 : SX_U64;
                assert_int_equal(estimate_of(dev, specs[s], d->type, d->n,
                                             row_type, &e), SX_OK);
                sx_call call = { .size = sizeof call,
                                 .max_bytes = e.host_peak };
                uint64_t before = sx_alloc_live();
                sx_alloc_most();
                if (data_build(d, dev, specs[s], &call, &ix) != SX_OK)
                    fail_msg("%s, %d: within %llu bytes: %s", specs[s],
                             d->type, (unsigned long long)e.host_peak,
                             sx_detail());
                assert_int_equal(sx_describe(ix, &info), SX_OK);
                if (info.bytes > e.host_resident || e.host_resident > e.host_peak ||
                    sx_alloc_most() - before > e.host_peak)
                    fail_msg("%s, %llu keys of %s: %llu bytes, estimated %llu,"
                             " peak %llu", specs[s], (unsigned long long)d->n,
                             sx_type_name(d->type),
                             (unsigned long long)info.bytes,
                             (unsigned long long)e.host_resident,
                             (unsigned long long)e.host_peak);
                assert_true(e.device_resident == 0 && e.device_peak == 0);
                sx_free(ix);
            }
            data_free(d);
        }
}

/* ---- families, verbs, and what can be ------------------------------------ */

static void test_families(void **state)
{
    (void)state;
    sx_family_info f = { .size = sizeof f };
    unsigned n = 0;
    bool pivot = false;
    for (; sx_family_at(n, &f) == SX_OK; n++) {
        char spec[64];
        assert_true(f.name[0] && f.what[0] && f.parameters[0]);
        pivot = pivot || (strcmp(f.name, "pivot") == 0 &&
                          strcmp(f.parameters, "k, leaf, levels, layout, block") == 0);
        size_t word = strcspn(f.name, "("), rest = strcspn(f.name, ")");
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)word, f.name);
        snprintf(spec, sizeof spec, "%.*s%snothing=1)", (int)rest, f.name, f.name[word] ? "," : "(");
        bad_spec(spec, name, f.parameters);     /* the same lists */
    }
    assert_true(n >= 7 && pivot);
    assert_int_equal(sx_family_at(n, &f), SX_EINVAL);
    assert_non_null(strstr(sx_detail(), "family number"));
    assert_int_equal(sx_family_at(0, NULL), SX_EINVAL);
    f.size = 3;
    assert_int_equal(sx_family_at(0, &f), SX_EINVAL);
    assert_non_null(strstr(sx_detail(), "sx_family_info"));
}

static void check_possible(const char *spec, int type, const char *verb, const char *place,
                           const char *device, sx_status want, const char *words)
{
    sx_status got = sx_possible(spec, type, verb, place, device);
    if (got != want || (want != SX_OK && !strstr(sx_detail(), words)))
        fail_msg("%s, %d, %s, %s, %s: %d, not %d: %s", spec, type, verb, place, device, (int)got,
                 (int)want, got ? sx_detail() : "none");
}

static void test_possible(void **state)
{
    (void)state;
    check_possible("pivot(k=9) unique", SX_U32, "get", "host", "cpu:avx2,threads=3", SX_OK, "");
    check_possible("guide", SX_B16, "streams", "device", "cuda:7", SX_OK, "");
    check_possible("sorted", SX_I64, "streams", "both", "simt", SX_OK, "");
    check_possible("guide", SX_B16, "load", "device", "simt,pin=none", SX_OK, "");
    /* why not */
    check_possible("sorted", SX_U32, "get", "device", "cpu", SX_ENOSYS, "cpu has no memory");
    check_possible("pivot", SX_U32, "get", "hybrid", "cpu", SX_ENOSYS, "needs a GPU");
    check_possible("pivot", SX_U32, "get", "both", "cpu", SX_ENOSYS, "needs a GPU");
    check_possible("pivot", SX_U32, "get", "device", "cpu:scalar", SX_ENOSYS, "needs a GPU");
    check_possible("sorted", SX_U32, "get", "hybrid", "cuda:0", SX_ENOSYS, "no upper part");
    check_possible("sorted", SX_U32, "streams", "host", "cpu", SX_ENOSYS, "cpu has no streams");
    check_possible("sorted", SX_U32, "device_columns", "host", "cpu", SX_ENOSYS, "columns");
    /* words that are no names */
    check_possible("bushtree", SX_U32, "get", "host", "cpu", SX_EINVAL, "bushtree");
    check_possible("pivot(k=1)", SX_U32, "get", "host", "cpu", SX_EINVAL, "k can't be");
    check_possible("pivot", 99, "get", "host", "cpu", SX_EINVAL, "99");
    check_possible("pivot", SX_U32, "put", "host", "cpu", SX_EINVAL, "'put'");
    check_possible("pivot", SX_U32, "get", "moon", "cpu", SX_EINVAL, "'moon'; allowed: host");
    check_possible("pivot", SX_U32, "get", "host", "tpu", SX_ENODEV, "tpu");
    for (unsigned none = 0; none < 4; none++) {
        static const char *const names[] = { "the spec", "the verb", "the place", "the device" };
        const char *words[] = { "pivot", "get", "host", "cpu" };
        words[none] = NULL;
        assert_int_equal(sx_possible(words[0], SX_U32, words[1], words[2], words[3]), SX_EINVAL);
        assert_non_null(strstr(sx_detail(), names[none]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_specs),
        cmocka_unit_test(test_good_specs),
        cmocka_unit_test(test_natural_k),
        cmocka_unit_test(test_estimates_are_bounds),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_possible),
    };
    test_seed();
    return cmocka_run_group_tests_name("spec", tests, set_up, tear_down)
           != 0;
}
