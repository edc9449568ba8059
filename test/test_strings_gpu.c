/* test_strings_gpu.c - strings on a device that runs kernels: every family and place, columns in
 * device memory, streams, hostile offsets and files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sxfile.h"
#include "texts.h"

#define REFUSED(call, status, words) do { \
        assert_int_equal((call), (status)); \
        if (!strstr(sx_detail(), (words))) \
            fail_msg("'%s' does not say '%s'", sx_detail(), (words)); \
    } while (0)

static const char *const places[] = { "host", "device", "hybrid", "both" };

/* ---- every family and place ---------------------------------------------------------------- */

/* Where both sides could answer, or one may help the other, a name says which does. */
static const char *device_for(const char *place, unsigned turn)
{
    if (strcmp(place, "hybrid") == 0)
        return kernel_with(turn % 2 ? "bucket=16,side=gpu" : "bucket=40,side=gpu,strategy=double");
    if (strcmp(place, "both") == 0)
        return kernel_with(turn % 2 ? "side=gpu" : "side=cpu");
    return kernel_device(turn % kernel_devices());
}

/* What can be is done, and the rest is refused with the sentence that sx_possible() has. */
static void test_places(void **state)
{
    (void)state;
    static const unsigned flags[] = { SX_LOAD_HOST, SX_LOAD_DEVICE, SX_LOAD_HYBRID, SX_LOAD_BOTH };
    rnd r = rnd_start(test_seed() + 1);
    sx_family_info f = { .size = sizeof f };
    texts keys = texts_make(TEXTS_WORDS, 400, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    unsigned turn = (unsigned)rnd_below(&r, 100);
    for (unsigned i = 0; sx_family_at(i, &f) == SX_OK; i++)
        for (unsigned p = 0; p < COUNT_OF(places); p++) {
            char spec[64], name[160];
            sx_index *ix = NULL;
            snprintf(name, sizeof name, "%s", device_for(places[p], turn++));
            sx_device *dev = device_open(name);
            snprintf(spec, sizeof spec, "%s place=%s", f.name, places[p]);
            if (text_can_be(f.name, "build", places[p], name))
                text_verbs(text_try(spec, dev, name, flags[p], true, &r), f.name, places[p], name);
            else
                REFUSED(text_build(&c, dev, spec, NULL, &ix), SX_ENOSYS, "place=");
            sx_close(dev);
        }
    text_case_free(&c);
    texts_free(&keys);
}

/* Layouts, and strings that are stored once, on the device. */
static void test_layouts(void **state)
{
    (void)state;
    static const char *const specs[] = { "pivot(layout=pairs)", "sorted(layout=once)",
                                         "eytzinger(layout=once)", "guide(layout=once)",
                                         "auto(for=memory)", "btree(fill=70)" };
    rnd r = rnd_start(test_seed() + 2);
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        sx_device *dev = device_open(kernel_device(s % kernel_devices()));
        text_try(specs[s], dev, kernel_device(s % kernel_devices()), SX_LOAD_DEVICE, true, &r);
        sx_close(dev);
    }
}

/* ---- columns in device memory ------------------------------------------------------------ */

/* Keys and rows in device memory, whose offsets are looked at when they are on the host; and what
 * a stream can't do. */
static void test_there(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 16);
    sx_device *kernels = device_open(kernel_device(0));
    texts keys = texts_make(TEXTS_WORDS, 90, 8, &r);
    uint64_t *rows = text_rows(keys.n, &r);
    text_case c = text_case_of(&keys, rows);
    sx_column from = texts_column(&keys), numbers = column(SX_U64, keys.n, rows), there, row;
    assert_int_equal(sx_column_strings(&there, kernels, keys.n, keys.bytes, 8), SX_OK);
    assert_int_equal(sx_column_copy(&there, &from, kernels), SX_OK);
    assert_int_equal(sx_column_new(&row, kernels, SX_U64, keys.n), SX_OK);
    assert_int_equal(sx_column_copy(&row, &numbers, kernels), SX_OK);
    sx_call queued = { .size = sizeof queued, .stream = (void *)2 };
    for (unsigned p = 0; p < COUNT_OF(places); p++) {
        char spec[64];
        sx_index *ix = NULL;
        snprintf(spec, sizeof spec, "pivot place=%s", places[p]);
        bool streams = strcmp(places[p], "host") && strcmp(places[p], "hybrid");
        if (sx_build(&ix, kernels, spec, &there, &row, streams ? &queued : NULL) != SX_OK)
            text_must(sx_detail(), spec, "", keys.n, 0);
        text_must(text_ask(&c, ix, 60, &r), spec, "", keys.n, 0);
        if (streams)
            REFUSED(sx_ceil(ix, &there, NULL, &there, &queued), SX_ENOSYS, "without a stream");
        sx_free(ix);
        uint64_t *offset = (uint64_t *)from.offsets + 40, before = *offset;
        *offset = UINT64_MAX;     /* a copy of what is wrong */
        assert_int_equal(sx_column_copy(&there, &from, kernels), SX_OK);
        REFUSED(sx_build(&ix, kernels, spec, &there, &row, NULL), SX_EINVAL, "offset 40 of keys");
        *offset = before;
        assert_int_equal(sx_column_copy(&there, &from, kernels), SX_OK);
    }
    sx_column_free(&there, kernels);
    sx_column_free(&row, kernels);
    text_case_free(&c);
    texts_free(&keys);
    free(rows);
    sx_close(kernels);
}

/* Queries in device memory, whose offsets nobody looks at: answers may be any, and no byte outside
 * is read. */
static void test_hostile_offsets(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 17);
    sx_device *kernels = device_open(kernel_device(0));
    texts keys = texts_make(TEXTS_PATHS, 300, 4, &r), q = texts_near(&keys, 60, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    uint64_t row[60];
    sx_column good = texts_column(&q), there, back, rows = column(SX_U64, 60, row);
    assert_int_equal(sx_column_strings(&there, kernels, q.n, q.bytes, 4), SX_OK);
    assert_int_equal(sx_column_strings(&back, kernels, q.n, 1 << 16, 4), SX_OK);
    for (unsigned p = 0; p < COUNT_OF(places); p++) {
        char spec[64];
        sx_index *ix = NULL;
        snprintf(spec, sizeof spec, "pivot place=%s", places[p]);
        assert_int_equal(text_build(&c, kernels, spec, NULL, &ix), SX_OK);
        sx_ranges ranges = { .size = sizeof ranges, .lo = &there, .hi = &there };
        for (unsigned i = 0; i < 30; i++) {
            uint32_t *offset = (uint32_t *)good.offsets + rnd_below(&r, q.n + 1), before = *offset;
            *offset = rnd_below(&r, 2) ? (uint32_t)rnd_next(&r) : (uint32_t)rnd_below(&r, q.bytes);
            assert_int_equal(sx_column_copy(&there, &good, kernels), SX_OK);
            *offset = before;
            assert_int_equal(sx_get(ix, &there, &rows, NULL), SX_OK);
            assert_int_equal(sx_floor(ix, &there, &rows, &back, NULL), SX_OK);
            assert_int_equal(sx_range_count(ix, &ranges, &rows, NULL), SX_OK);
        }
        sx_free(ix);
    }
    sx_column_free(&there, kernels);
    sx_column_free(&back, kernels);
    text_case_free(&c);
    texts_free(&q);
    texts_free(&keys);
    sx_close(kernels);
}

/* ---- hostile files ------------------------------------------------------------------------ */

/* Walks of damaged indexes end, and read nothing outside. */
static void test_hostile(void **state)
{
    (void)state;
    static const char *const sections[] = { "offsets", "bytes", "groups", "keys" };
    static const char *const specs[] = { "sorted", "eytzinger", "pivot", "guide", "pgm" };
    static const unsigned flags[] = { SX_LOAD_DEVICE, SX_LOAD_HYBRID };
    rnd r = rnd_start(test_seed() + 3);
    sx_device *kernels = device_open(kernel_device(0));
    char *path = temp_path("hostile.sxt");
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        texts keys = texts_make(TEXTS_PATHS, 900, 4, &r), q = texts_near(&keys, 60, 4, &r);
        text_case c = text_case_of(&keys, NULL);
        sx_index *ix = NULL;
        size_t bytes;
        assert_int_equal(text_build(&c, kernels, specs[s], NULL, &ix), SX_OK);
        unsigned char *file = saved_bytes(ix, path, &bytes), *bad = need(bytes);
        for (unsigned i = 0; i < 40; i++) {
            uint64_t its, many = 1 + rnd_below(&r, 12);
            memcpy(bad, file, bytes);
            unsigned char *at = text_section(bad, sections[i % COUNT_OF(sections)], &its);
            while (many-- > 0) {
                uint64_t where = rnd_below(&r, its) / 4 * 4;
                uint32_t x = rnd_below(&r, 3) ? (uint32_t)rnd_next(&r)
                                              : (uint32_t)rnd_below(&r, 3) - 1;
                memcpy(at + where, &x, its - where < 4 ? its - where : 4);
            }
            seal_sections(bad, bytes);
            seal_header(bad, bytes);
            sx_index *loaded = NULL;
            unsigned to = flags[s > 0 && i % 8 >= 4];     /* sorted has no upper part */
            assert_int_equal(sx_load(&loaded, kernels, memory_file(bad, bytes), to, NULL), SX_OK);
            text_ask_anything(loaded, &q);
            sx_free(loaded);
        }
        free(file);
        free(bad);
        sx_free(ix);
        text_case_free(&c);
        texts_free(&q);
        texts_free(&keys);
    }
    free(path);
    sx_close(kernels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_there),
        cmocka_unit_test(test_hostile_offsets),
        cmocka_unit_test(test_hostile),
    };
    if (getenv("SX_STRINGS_ONLY"))
        cmocka_set_test_filter(getenv("SX_STRINGS_ONLY"));
    return cmocka_run_group_tests_name("strings on a GPU", tests, NULL, NULL);
}
