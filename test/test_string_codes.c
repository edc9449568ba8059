/* test_string_codes.c - codes of 4 and of 8 bytes: which family has which, what an index takes, and
 * files of either. Every question about either is asked in test_strings.c and test_strings_gpu.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cpu/cpu_strings.h"
#include "inside.h"
#include "keys/string_marks.h"
#include "sxfile.h"
#include "texts.h"


#define REFUSED(call, status, words) do { \
        assert_int_equal((call), (status)); \
        if (!strstr(sx_detail(), (words))) \
            fail_msg("'%s' does not say '%s'", sx_detail(), (words)); \
    } while (0)

static bool explains(const sx_index *ix, sx_format format, const char *words)
{
    char buf[8192];
    size_t bytes = sizeof buf;
    assert_int_equal(sx_explain(ix, format, buf, &bytes), SX_OK);
    return strstr(buf, words) != NULL;
}

/* Codes are as wide as the family's table says, also where a GPU has them, and explained so. */
static void test_widths(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 1);
    sx_device *kernels = device_open(kernel_device(0));
    texts keys = texts_make(TEXTS_PATHS, 500, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    sx_family_info f = { .size = sizeof f };
    for (unsigned i = 0; sx_family_at(i, &f) == SX_OK; i++)
        for (unsigned there = 0; there < 2; there++) {
            sx_device *dev = there ? kernels : text_cpu;
            bool narrow = strcmp(f.name, "radix") == 0;
            sx_index *ix = NULL;
            assert_int_equal(text_build(&c, dev, f.name, NULL, &ix), SX_OK);
            assert_int_equal(view_of(ix)->width, narrow ? 4 : 8);
            assert_int_equal(view_of(ix)->strings.code_bytes, narrow ? 4 : 8);
            assert_true(explains(ix, SX_TEXT, narrow ? "searched as 4-byte unsigned keys"
                                                     : "searched as 8-byte unsigned keys"));
            assert_true(explains(ix, SX_JSON, narrow ? "\"width\": 4" : "\"width\": 8"));
            text_must(text_ask(&c, ix, 200, &r), f.name, there ? "kernels" : "cpu", 500, 0);
            sx_free(ix);
        }
    text_case_free(&c);
    texts_free(&keys);
    sx_close(kernels);
}

/* Strings that are coded together get the codes, and share the bytes, that sx_string_walk() says of
 * each alone. Returns how many are alone with their codes. */
static uint64_t check_together(const sx_cpu *cpu, const sx_view *v, const texts *q, rnd *r)
{
    sx_column column_of = texts_column(q);
    sx_slice slice = sx_slice_of(&column_of);
    sx_asked asked = { &slice, NULL };
    uint64_t codes[SX_CHUNK], same[SX_CHUNK], whole = 0;
    for (uint64_t at = 0, m; at < q->n; at += m) {
        m = 1 + rnd_below(r, rnd_below(r, 2) ? SX_CHUNK : 70);
        m = m < q->n - at ? m : q->n - at;
        sx_cpu_codes(cpu, v, &asked, at, (unsigned)m, codes, same);
        for (uint64_t i = 0; i < m; i++) {
            text t = q->of[at + i];
            sx_code_walk w = sx_string_walk(&v->strings, t.data, t.bytes);
            assert_true(sx_code_load(codes, v->width, i) == w.code && same[i] == w.same);
            whole += w.same == SX_SAME_WHOLE;
        }
    }
    return whole;
}

/* Codes of many strings at once, by every instruction set, are those of each. */
static void test_together(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 5);
    sx_device *dev[SIMD_LEVELS];
    devices_open(dev);
    for (unsigned turn = 0; turn < 4 * TEXTS_KINDS; turn++) {
        int kind = (int)turn / 4;
        uint64_t n = turn / 2 % 2 ? 70000 : 3000, whole = 0;
        if (n > 3000 && (kind == TEXTS_ZEROS || kind == TEXTS_NESTED))
            continue;             /* these would have gigabytes */
        texts keys = texts_make(kind, n, 4, &r), q = texts_near(&keys, 3000, turn % 3 ? 4 : 8, &r);
        text_case c = text_case_of(&keys, NULL);
        sx_index *ix = NULL;
        sx_codes_told = turn % 2 ? 8 : 4;
        assert_int_equal(text_build(&c, text_cpu, "sorted", NULL, &ix), SX_OK);
        sx_codes_told = 0;
        for (unsigned i = 0; i < SIMD_LEVELS; i++)
            if (dev[i])
                whole += check_together(dev[i]->self, view_of(ix), &q, &r);
        if (kind == TEXTS_WORDS && turn % 2)
            assert_true(whole > 0);
        sx_free(ix);
        text_case_free(&c);
        texts_free(&keys);
        texts_free(&q);
    }
    devices_close(dev);
}

/* All bytes of an index beside its strings' own, for each string. */
static double extra(const texts *keys, const char *spec)
{
    sx_index_info info = { .size = sizeof info };
    sx_column column_of = texts_column(keys);
    sx_index *ix = NULL;
    if (sx_build(&ix, text_cpu, spec, &column_of, NULL, NULL) != SX_OK ||
        sx_describe(ix, &info) != SX_OK)
        fail_msg("%s", sx_detail());
    sx_free(ix);
    return ((double)info.bytes - (double)keys->bytes) / (double)keys->n;
}

/* What radix trees take beside strings, rows of 4 bytes among it: 14 bytes a string. */
static void test_memory(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 5000, 20000, 70000 };
    rnd r = rnd_start(test_seed() + 2);
    for (int kind = 0; kind < TEXTS_KINDS; kind++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            if (kind == TEXTS_ZEROS || kind == TEXTS_NESTED)
                continue;         /* a long one for each: these would have gigabytes */
            texts keys = texts_make(kind, sizes[i], 4, &r);
            double bytes = extra(&keys, "radix");
            if (bytes > 14)
                fail_msg("%.2f bytes for each of %llu strings of kind %d", bytes,
                         (unsigned long long)sizes[i], kind);
            texts_free(&keys);
        }
}

/* ---- files ------------------------------------------------------------------------------- */

/* An index that says the width in its file is the same for whoever would make another one. */
static void test_files(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 3);
    char *path = temp_path("codes.sxt");
    for (unsigned turn = 0; turn < 2 * TEXTS_KINDS; turn++) {
        uint32_t codes = turn % 2 ? 8 : 4;
        texts keys = texts_make(turn / 2, 700, 4, &r);
        text_case c = text_case_of(&keys, NULL);
        sx_index *ix = NULL, *loaded = NULL;
        sx_codes_told = codes;
        assert_int_equal(text_build(&c, text_cpu, "radix", NULL, &ix), SX_OK);
        sx_codes_told = 0;
        size_t bytes;
        unsigned char *file = saved_bytes(ix, path, &bytes);
        assert_int_equal(file[R_WIDTH], codes);
        assert_int_equal(sx_load(&loaded, text_cpu, path, SX_LOAD_VERIFY, NULL), SX_OK);
        assert_int_equal(view_of(loaded)->strings.code_bytes, codes);
        assert_int_equal(sx_check(loaded, NULL), SX_OK);
        text_must(text_ask(&c, loaded, 200, &r), "radix", "cpu", 700, (int)turn / 2);
        sx_free(loaded);
        loaded = NULL;
        /* It can't be read as one of the other width, or of one that there is not. */
        static const unsigned char others[] = { 0, 2, 16, 12 };
        for (unsigned i = 0; i < COUNT_OF(others); i++) {
            file[R_WIDTH] = i == 3 ? (unsigned char)(12 - codes) : others[i];
            seal_header(file, bytes);
            REFUSED(sx_load(&loaded, text_cpu, memory_file(file, bytes), 0, NULL), SX_ECORRUPT,
                    i == 3 ? "damaged" : "key type");
        }
        sx_free(ix);
        free(file);
        text_case_free(&c);
        texts_free(&keys);
    }
    free(path);
}

/* Numbers have the width of their type. */
static void test_numbers(void **state)
{
    (void)state;
    char *path = temp_path("numbers.sxt");
    uint64_t numbers[40] = { 5, 4, 3 };
    sx_column column_of = column(SX_U64, 40, numbers);
    sx_index *ix = NULL, *loaded = NULL;
    size_t bytes;
    assert_int_equal(sx_build(&ix, text_cpu, "radix", &column_of, NULL, NULL), SX_OK);
    unsigned char *file = saved_bytes(ix, path, &bytes);
    assert_int_equal(file[R_WIDTH], 8);
    file[R_WIDTH] = 4;
    seal_header(file, bytes);
    REFUSED(sx_load(&loaded, text_cpu, memory_file(file, bytes), 0, NULL), SX_ECORRUPT, "key type");
    sx_free(ix);
    free(file);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests_name("string_codes", tests, text_cpu_open, text_cpu_close);
}
