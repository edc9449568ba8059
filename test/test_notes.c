/* test_notes.c - pairs of text in an index: what they can be, that files keep them, and
 * that showing them does no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "on_device.h"
#include "sxfile.h"

static sx_device *dev;

static sx_index *build_on(sx_device *on, const char *spec)
{
    uint64_t array[40];
    for (unsigned i = 0; i < COUNT_OF(array); i++)
        array[i] = i / 3;
    sx_column keys = column(SX_U64, COUNT_OF(array), array);
    sx_index *ix = NULL;
    OK(sx_build(&ix, on, spec, &keys, NULL, NULL));
    return ix;
}

static unsigned count(const sx_index *ix)
{
    const char *name, *value;
    unsigned n = 0;
    while (sx_note_at(ix, n, &name, &value) == SX_OK)
        n++;
    return n;
}

static char *explained(const sx_index *ix, sx_format format)
{
    size_t bytes = 0;
    assert_int_equal(sx_explain(ix, format, NULL, &bytes), SX_ESPACE);
    char *text = need(bytes);
    OK(sx_explain(ix, format, text, &bytes));
    assert_int_equal(strlen(text) + 1, bytes);
    return text;
}

/* ---- setting ------------------------------------------------------------------ */

static void test_set(void **state)
{
    (void)state;
    sx_index *ix = build_on(dev, "sorted");
    const char *name = "x", *value = "y";
    assert_int_equal(count(ix), 0);
    assert_null(sx_note_of(ix, "unit"));
    REFUSED(sx_note_at(ix, 0, &name, &value), SX_EINVAL, "no note number 0: 0 notes are there");
    assert_true(strcmp(name, "x") == 0 && strcmp(value, "y") == 0);
    OK(sx_note(ix, "unit", NULL));              /* there is none to take away */
    assert_int_equal(count(ix), 0);

    OK(sx_note(ix, "unit", "ns"));
    OK(sx_note(ix, "b", ""));
    OK(sx_note(ix, "\xc3\xa4", "umlaut"));      /* behind all of ASCII */
    OK(sx_note(ix, "uni", "a shorter name"));
    assert_int_equal(count(ix), 4);
    static const char *const order[] = { "b", "uni", "unit", "\xc3\xa4" };
    for (unsigned i = 0; i < 4; i++) {
        OK(sx_note_at(ix, i, &name, &value));
        assert_string_equal(name, order[i]);
        assert_ptr_equal(value, sx_note_of(ix, name));
    }
    assert_string_equal(sx_note_of(ix, "b"), "");
    OK(sx_note(ix, "uni", "another value, which is longer"));
    OK(sx_note(ix, "b", NULL));
    OK(sx_note(ix, "b", NULL));
    assert_int_equal(count(ix), 3);
    assert_null(sx_note_of(ix, "b"));
    assert_string_equal(sx_note_of(ix, "uni"), "another value, which is longer");
    assert_string_equal(sx_note_of(ix, "unit"), "ns");
    assert_string_equal(sx_note_of(ix, "\xc3\xa4"), "umlaut");
    /* Texts of the index's own. */
    OK(sx_note(ix, "unit", sx_note_of(ix, "uni")));
    assert_string_equal(sx_note_of(ix, "unit"), "another value, which is longer");
    OK(sx_note_at(ix, 0, &name, &value));
    OK(sx_note(ix, name, NULL));
    assert_int_equal(count(ix), 2);
    OK(sx_note(ix, "unit", NULL));
    OK(sx_note(ix, "\xc3\xa4", NULL));
    assert_int_equal(count(ix), 0);

    REFUSED(sx_note(NULL, "a", "b"), SX_EINVAL, "sx_note: the index is NULL");
    REFUSED(sx_note(ix, NULL, "b"), SX_EINVAL, "sx_note: the name is NULL");
    REFUSED(sx_note_at(NULL, 0, &name, &value), SX_EINVAL, "the index is NULL");
    REFUSED(sx_note_at(ix, 0, NULL, &value), SX_EINVAL, "the name is NULL");
    REFUSED(sx_note_at(ix, 0, &name, NULL), SX_EINVAL, "the value is NULL");
    assert_null(sx_note_of(NULL, "a"));
    assert_null(sx_note_of(ix, NULL));
    sx_free(ix);
}

/* Notes are set in any order, over older ones: the last value counts. */
static void test_at_random(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_index *ix = build_on(dev, "sorted");
    char truth[40][32] = { "" };                /* "": none */
    for (unsigned round = 0; round < 3000; round++) {
        unsigned i = (unsigned)rnd_below(&r, COUNT_OF(truth));
        char name[16], value[32];
        snprintf(name, sizeof name, "%x", i * 7919u);
        snprintf(value, sizeof value, "%.*s%u", (int)rnd_below(&r, 20), "aaaaaaaaaaaaaaaaaaaaaaaa",
                 round);
        bool away = rnd_below(&r, 3) == 0;
        OK(sx_note(ix, name, away ? NULL : value));
        strcpy(truth[i], away ? "" : value);
        unsigned there = 0;
        for (unsigned j = 0; j < COUNT_OF(truth); j++) {
            snprintf(name, sizeof name, "%x", j * 7919u);
            const char *got = sx_note_of(ix, name);
            assert_string_equal(got ? got : "", truth[j]);
            there += got != NULL;
        }
        assert_int_equal(count(ix), there);
        for (unsigned j = 1; j < there; j++) {
            const char *a, *b, *ignored;
            OK(sx_note_at(ix, j - 1, &a, &ignored));
            OK(sx_note_at(ix, j, &b, &ignored));
            assert_true(strcmp(a, b) < 0);
        }
    }
    sx_free(ix);
}

/* ---- limits --------------------------------------------------------------------- */

static void test_limits(void **state)
{
    (void)state;
    sx_index *ix = build_on(dev, "sorted");
    char name[80], *value = need(5000);
    memset(name, 'n', sizeof name);
    memset(value, 'v', 5000);
    name[63] = '\0';
    value[4095] = '\0';
    OK(sx_note(ix, name, value));
    assert_string_equal(sx_note_of(ix, name), value);
    value[4095] = 'v', value[4096] = '\0';
    REFUSED(sx_note(ix, name, value), SX_EINVAL, "4096 bytes; allowed: up to 4095");
    assert_int_equal(strlen(sx_note_of(ix, name)), 4095);
    name[63] = 'n', name[64] = '\0';
    REFUSED(sx_note(ix, name, "v"), SX_EINVAL, "64 bytes; allowed: 1 to 63");
    REFUSED(sx_note(ix, name, NULL), SX_EINVAL, "64 bytes; allowed: 1 to 63");
    REFUSED(sx_note(ix, "", "v"), SX_EINVAL, "0 bytes; allowed: 1 to 63");
    REFUSED(sx_note(ix, "a=b", "v"), SX_EINVAL, "U+003D at byte 1");
    REFUSED(sx_note(ix, "ab\n", "v"), SX_EINVAL, "U+000A at byte 2");
    REFUSED(sx_note(ix, "a\x7f", "v"), SX_EINVAL, "U+007F at byte 1");
    REFUSED(sx_note(ix, "\xc2\x9b", "v"), SX_EINVAL, "U+009B at byte 0");
    REFUSED(sx_note(ix, "a\xff", "v"), SX_EINVAL, "byte 1 is 0xff");
    REFUSED(sx_note(ix, "a", "vv\xc3"), SX_EINVAL, "note 'a' is not UTF-8: byte 2 is 0xc3");
    assert_int_equal(count(ix), 1);

    /* 64, and one of them may change. */
    for (unsigned i = 1; i < 64; i++) {
        snprintf(name, sizeof name, "%u", i);
        OK(sx_note(ix, name, "a value"));
    }
    assert_int_equal(count(ix), 64);
    REFUSED(sx_note(ix, "64", ""), SX_EINVAL, "'64' would be one more than the 64");
    OK(sx_note(ix, "63", ""));
    OK(sx_note(ix, "63", NULL));
    OK(sx_note(ix, "64", ""));
    REFUSED(sx_note(ix, "65", ""), SX_EINVAL, "64");

    /* 64 KiB: 15 of 4 + 4095 bytes and two 0s, and a rest. */
    sx_index *full = build_on(dev, "sorted");
    value[4095] = '\0';
    for (unsigned i = 0; i < 15; i++) {
        snprintf(name, sizeof name, "n%03u", i);
        OK(sx_note(full, name, value));
    }
    unsigned left = 65536 - 15 * 4101;
    value[left - 3] = '\0';
    REFUSED(sx_note(full, "x", (value[left - 3] = 'v', value[left - 2] = '\0', value)), SX_EINVAL,
            "65537 bytes; allowed: up to 65536");
    value[left - 3] = '\0';
    OK(sx_note(full, "x", value));
    REFUSED(sx_note(full, "y", ""), SX_EINVAL, "65539 bytes");
    OK(sx_note(full, "x", value + 1));
    OK(sx_note(full, "x", value));
    /* The most notes there can be come back. */
    sx_index *again = NULL;
    char *path = temp_path("notes.sxt");
    OK(sx_save(full, path, NULL));
    OK(sx_load(&again, dev, path, SX_LOAD_VERIFY, NULL));
    assert_int_equal(count(again), 16);
    assert_string_equal(sx_note_of(again, "x"), value);
    sx_free(again);
    again = NULL;
    OK(sx_save(ix, path, NULL));
    OK(sx_load(&again, dev, path, SX_LOAD_VERIFY, NULL));
    assert_int_equal(count(again), 64);
    sx_free(again);
    sx_free(full);
    sx_free(ix);
    free(value);
    free(path);
}

/* Whether bytes are well-formed, by the table 3-7 of the Unicode Standard. */
static bool well_formed(const unsigned char *s)
{
    static const unsigned char rows[][5] = {    /* first: from, to; second: from, to; more */
        { 0x01, 0x7f, 0, 0, 0 },          { 0xc2, 0xdf, 0x80, 0xbf, 1 },
        { 0xe0, 0xe0, 0xa0, 0xbf, 2 },    { 0xe1, 0xec, 0x80, 0xbf, 2 },
        { 0xed, 0xed, 0x80, 0x9f, 2 },    { 0xee, 0xef, 0x80, 0xbf, 2 },
        { 0xf0, 0xf0, 0x90, 0xbf, 3 },    { 0xf1, 0xf3, 0x80, 0xbf, 3 },
        { 0xf4, 0xf4, 0x80, 0x8f, 3 },
    };
    while (*s) {
        size_t i = 0;
        while (i < COUNT_OF(rows) && (*s < rows[i][0] || *s > rows[i][1]))
            i++;
        if (i == COUNT_OF(rows))
            return false;
        s++;
        for (unsigned more = rows[i][4], j = 0; j < more; j++, s++)
            if (*s < (j ? 0x80 : rows[i][2]) || *s > (j ? 0xbf : rows[i][3]))
                return false;
    }
    return true;
}

static void test_utf8(void **state)
{
    (void)state;
    static const unsigned char edges[] = { 0x01, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                           0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
                                           0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf7, 0xf8, 0xff };
    const unsigned e = COUNT_OF(edges);
    sx_index *ix = build_on(dev, "sorted");
    unsigned right = 0;
    for (unsigned i = 0; i < 65536 + e * e * e * e; i++) {
        unsigned char s[8] = { (unsigned char)i, (unsigned char)(i >> 8) };
        for (unsigned k = 0, x = i - 65536; k < 4 && i >= 65536; k++, x /= e)
            s[k] = edges[x % e];
        bool good = well_formed(s);
        sx_status st = sx_note(ix, "v", (const char *)s);
        if ((st == SX_OK) != good)
            fail_msg("%02x %02x %02x %02x: %d", s[0], s[1], s[2], s[3], (int)st);
        right += good;
    }
    assert_true(right > 1000);
    sx_free(ix);
}

/* ---- files ----------------------------------------------------------------------- */

static const char *const texts[][2] = {
    { "unit", "ns since 1970" },
    { "Einheit", "\xc2\xb5m \xf0\x9f\x98\x80" },
    { "quoted \"\\ name", "a \"value\" with \\ and /" },
    { "lines", "one\ntwo\tthree\r\x1b[31m\x7f \xc2\x85" },
    { "empty", "" },
};

static void test_round_trip(void **state)
{
    (void)state;
    static const struct { const char *device, *spec; unsigned flags; } on[] = {
        { "cpu:threads=1", "sorted", 0 },
        { "cpu:threads=1", "pgm(eps=1)", SX_LOAD_COPY },
        { "cpu:threads=1", "auto", SX_LOAD_COPY | SX_LOAD_VERIFY },
        { "simt", "pivot", SX_LOAD_DEVICE },
        { "simt", "guide place=host", SX_LOAD_HOST | SX_LOAD_VERIFY },
        { "simt", "eytzinger place=hybrid", SX_LOAD_HYBRID },
        { "simt", "pgm(eps=2,layout=once) place=both", SX_LOAD_BOTH },
    };
    char *path = temp_path("notes.sxt");
    for (size_t i = 0; i < COUNT_OF(on); i++) {
        sx_device *its = device_open(on[i].device);
        sx_index *ix = build_on(its, on[i].spec), *again = NULL;
        sx_index_info before = { .size = sizeof before }, after = before;
        size_t bare, bytes, bytes2;
        unsigned char *without = saved_bytes(ix, path, &bare);
        OK(sx_describe(ix, &before));
        for (size_t j = 0; j < COUNT_OF(texts); j++)
            OK(sx_note(ix, texts[(i + j) % COUNT_OF(texts)][0],
                       texts[(i + j) % COUNT_OF(texts)][1]));
        unsigned char *file = saved_bytes(ix, path, &bytes);
        OK(sx_describe(ix, &after));
        assert_memory_equal(&before, &after, sizeof before);
        OK(sx_check(ix, NULL));

        /* The last section, in the order of names. */
        uint32_t sections = get32(file + F_SECTIONS);
        const unsigned char *e = file + F_TABLE + (sections - 1) * S_ENTRY;
        assert_int_equal(get32(without + F_SECTIONS), sections - 1);
        assert_int_equal(get32(file + R_SECTIONS), sections - 1);
        assert_string_equal((const char *)e + S_NAME, "notes");
        assert_int_equal(get32(e + S_RUN), UINT32_MAX);
        assert_int_equal(get32(e + S_FLAGS), 0);
        assert_memory_equal(file + get64(e + S_OFFSET), "Einheit", 8);

        OK(sx_load(&again, its, path, on[i].flags, NULL));
        assert_int_equal(count(again), COUNT_OF(texts));
        for (size_t j = 0; j < COUNT_OF(texts); j++)
            assert_string_equal(sx_note_of(again, texts[j][0]), texts[j][1]);
        unsigned char *file2 = saved_bytes(again, path, &bytes2);
        assert_int_equal(bytes, bytes2);
        assert_memory_equal(file, file2, bytes);
        /* Without notes the file is as if they had never been. */
        for (size_t j = 0; j < COUNT_OF(texts); j++)
            OK(sx_note(again, texts[j][0], NULL));
        free(file2);
        file2 = saved_bytes(again, path, &bytes2);
        assert_int_equal(bare, bytes2);
        assert_memory_equal(without, file2, bare);
        free(file2);
        free(file);
        free(without);
        sx_free(again);
        sx_free(ix);
        sx_close(its);
    }
    free(path);
}

/* ---- showing -------------------------------------------------------------------- */

static void test_explain(void **state)
{
    (void)state;
    sx_index *ix = build_on(dev, "sorted");
    char *text = explained(ix, SX_TEXT), *json = explained(ix, SX_JSON);
    assert_null(strstr(text, "note"));
    assert_null(strstr(json, "notes"));
    free(text);
    free(json);
    for (size_t j = 0; j < COUNT_OF(texts); j++)
        OK(sx_note(ix, texts[j][0], texts[j][1]));
    text = explained(ix, SX_TEXT);
    json = explained(ix, SX_JSON);
    assert_non_null(strstr(text, "note     Einheit=\xc2\xb5m \xf0\x9f\x98\x80\n"
                                 "note     empty=\n"
                                 "note     lines=one\\u000atwo\\u0009three\\u000d\\u001b[31m\\u007f "
                                 "\\u0085\n"
                                 "note     quoted \"\\\\ name=a \"value\" with \\\\ and /\n"
                                 "note     unit=ns since 1970\n"));
    assert_true(is_json(json));
    assert_non_null(strstr(json, "\"notes\": {\"Einheit\": \"\\u00b5m \\ud83d\\ude00\", "
                                 "\"empty\": \"\", \"lines\": \"one\\u000atwo\\u0009three\\u000d"
                                 "\\u001b[31m\\u007f \\u0085\", "
                                 "\"quoted \\\"\\\\ name\": \"a \\\"value\\\" with \\\\ and /\", "
                                 "\"unit\": \"ns since 1970\"}"));
    free(text);
    free(json);
    sx_free(ix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_at_random),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_explain),
    };
    test_seed();
    dev = device_open("cpu:threads=1");
    int failed = cmocka_run_group_tests_name("notes", tests, NULL, NULL);
    sx_close(dev);
    return failed != 0;
}
