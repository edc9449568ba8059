/* test_string_marks.c - strings with equal codes, which marks tell apart (keys/string_marks.h), and
 * offsets in lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cpu/cpu_strings.h"
#include "keys/string_marks.h"
#include "sxfile.h"
#include "texts.h"


/* ---- by themselves --------------------------------------------------------------------- */

/* Of all strings of up to some bytes out of a few, a run; its marks are made, and every other string is
 * searched for in it. */
static void test_runs(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 1);
    for (unsigned turn = 0; turn < 3000; turn++) {
        enum { MOST = 40, SAME = 3 };
        static const unsigned char bytes_of[] = { 0, 1, 'a', 0x80, 0xff };
        uint64_t n = 1 + rnd_below(&r, MOST), size = 0;
        unsigned longest = turn % 4 ? 4 : 60, kinds = 2 + (unsigned)rnd_below(&r, 4);
        text of[MOST + 1];
        unsigned char data[MOST + 1][64], marks[MOST], all[MOST * 64];
        uint32_t offsets[MOST + 1];
        for (uint64_t i = 0; i <= n; i++) {       /* the last one is asked for */
            unsigned m = SAME + (unsigned)rnd_below(&r, longest);
            memset(data[i], 'a', sizeof data[i]);
            for (unsigned k = longest > 50 && m > 40 ? 36 : SAME; k < m; k++)
                data[i][k] = bytes_of[rnd_below(&r, kinds)];
            of[i] = (text){ data[i], m };
        }
        text q = rnd_below(&r, 3) ? of[n] : of[rnd_below(&r, n)];
        text_oracle *o = text_oracle_new(n, of, NULL);
        for (uint64_t i = 0; i < n; i++) {
            offsets[i] = (uint32_t)size;
            memcpy(all + size, o->keys[i].data, o->keys[i].bytes);
            size += o->keys[i].bytes;
        }
        offsets[n] = (uint32_t)size;
        sx_strings s = { .offsets = (unsigned char *)offsets, .bytes = all, .size = size,
                         .marks = marks, .offset_bytes = 4, .marked = 1 };
        marks[0] = (unsigned char)n;
        for (uint64_t i = 1; i < n; i++)
            marks[i] = sx_mark_of(&s, i, SAME);
        uint64_t want = 0;        /* the left bound */
        while (want < n && text_compare(o->keys[want], q) < 0)
            want++;
        sx_mark_bits bits = sx_mark_bits_of(q.data, q.bytes, SAME);
        uint64_t at = sx_mark_nearest(&s, 0, n, &bits), length;
        const unsigned char *p = sx_string_at(&s, at, &length);
        sx_mark_bits other = sx_mark_bits_of(p, length, SAME);
        uint32_t bit = sx_mark_between(&bits, &other);
        int order = sx_bytes_order(p, length, q.data, q.bytes);
        assert_int_equal(sx_mark_run(&s, n, 0, SAME), n);
        assert_int_equal(sx_mark_run(&s, n, 0, 0), 0);
        if (order == 0 || (bit == SX_MARK_FAR && order > 0))
            assert_int_equal(at, want);
        else if (bit == SX_MARK_FAR)
            assert_true(want > at && want <= sx_mark_far_end(&s, n, at));
        else
            assert_int_equal(sx_mark_bound(&s, 0, n, at, bit, order < 0), want);
        text_oracle_free(o);
    }
}

/* As many runs at once as there may be get the strings that each gets alone, by every instruction set:
 * whatever the marks are, up to the last one of a section, and for queries up to the last byte of a
 * column. */
static void test_together(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 7);
    for (unsigned turn = 0; turn < 3000; turn++) {
        uint64_t n = 1 + rnd_below(&r, turn % 2 ? 400 : 80), bytes = 1 + rnd_below(&r, 200);
        unsigned kinds = 1 + (unsigned)rnd_below(&r, turn % 3 ? 12 : 256);
        unsigned m = 1 + (unsigned)rnd_below(&r, SX_SEARCHES);
        unsigned char *marks = need(n), *column = need(bytes);
        sx_strings s = { .marks = marks, .marked = 1 };
        sx_run_search all[SX_SEARCHES];
        uint64_t want[SX_SEARCHES];
        for (uint64_t i = 0; i < n; i++)
            marks[i] = (unsigned char)(rnd_below(&r, 20) ? rnd_below(&r, kinds) : SX_MARK_FAR);
        for (uint64_t i = 0; i < bytes; i++)
            column[i] = (unsigned char)rnd_below(&r, 256);
        for (unsigned k = 0; k < m; k++) {
            uint64_t lo = rnd_below(&r, n), most = turn % 5 ? 40 : SX_MARK_MOST, at = rnd_below(&r, bytes);
            uint64_t length = rnd_below(&r, bytes - at + 1), same = rnd_below(&r, length + 1);
            most = most < n - lo ? most : n - lo;
            all[k] = (sx_run_search){ .lo = lo, .hi = lo + 1 + rnd_below(&r, most), .q = column + at,
                                      .length = length, .same = same };
            sx_mark_bits bits = sx_mark_bits_of(all[k].q, length, same);
            want[k] = sx_mark_nearest(&s, lo, all[k].hi, &bits);
        }
        for (unsigned level = 0; level <= sx_simd_best(); level++) {
            for (unsigned k = 0; k < m; k++)
                all[k].at = UINT64_MAX;
            sx_cpu_nearest((sx_simd)level, &s, n, column + bytes, all, m);
            for (unsigned k = 0; k < m; k++)
                if (all[k].at != want[k])
                    fail_msg("%s: run %u of %u, [%llu, %llu): %llu, but %llu is nearest",
                             sx_simd_name((sx_simd)level), k, m, (unsigned long long)all[k].lo,
                             (unsigned long long)all[k].hi, (unsigned long long)all[k].at,
                             (unsigned long long)want[k]);
        }
        free(marks);
        free(column);
    }
}

/* ---- in an index ------------------------------------------------------------------------- */

static bool has_marks(const sx_index *ix)
{
    char buf[8192];
    size_t bytes = sizeof buf;
    assert_int_equal(sx_explain(ix, SX_JSON, buf, &bytes), SX_OK);
    return strstr(buf, "\"marks\": true") != NULL;
}

static void ask_all(sx_device *dev, const char *name)
{
    static const char *const specs[] = { "sorted", "eytzinger", "pivot(layout=pairs)", "btree",
                                         "sorted(layout=once)", "pivot(layout=once)", "radix" };
    static const uint64_t sizes[] = { 700, 3000, 6000 };
    rnd r = rnd_start(test_seed() + 2);
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        for (size_t k = 0; k < COUNT_OF(sizes); k++) {
            texts keys = texts_make(TEXTS_TIED, sizes[k], 4, &r);
            text_case c = text_case_of(&keys, NULL);
            sx_index *ix = NULL;
            if (text_build(&c, dev, specs[i], NULL, &ix) != SX_OK)
                text_must(sx_detail(), specs[i], name, sizes[k], TEXTS_TIED);
            assert_true(has_marks(ix));
            assert_int_equal(sx_check(ix, NULL), SX_OK);
            text_must(text_ask(&c, ix, 3000, &r), specs[i], name, sizes[k], TEXTS_TIED);
            sx_free(ix);
            text_case_free(&c);
            texts_free(&keys);
        }
}

static void test_tied(void **state)
{
    (void)state;
    ask_all(text_cpu, "cpu");
}

static void test_tied_kernels(void **state)
{
    (void)state;
    sx_device *dev = device_open(kernel_device(0));
    ask_all(dev, kernel_device(0));
    sx_close(dev);
}

/* Strings that few share a code with others have none. */
static void test_none(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 3);
    texts keys = texts_make(sx_codes_told == 4 ? TEXTS_RANDOM : TEXTS_PATHS, 3000, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    sx_index *ix = NULL;
    assert_int_equal(text_build(&c, text_cpu, "pivot", NULL, &ix), SX_OK);
    assert_false(has_marks(ix));
    sx_free(ix);
    text_case_free(&c);
    texts_free(&keys);
}

/* A file whose bytes were changed is loaded, and its check finds that invariant broken. */
static void is_broken(unsigned char *file, size_t bytes, const char *invariant)
{
    sx_index *loaded = NULL;
    seal_sections(file, bytes);
    seal_header(file, bytes);
    assert_int_equal(sx_load(&loaded, text_cpu, memory_file(file, bytes), 0, NULL), SX_OK);
    assert_int_equal(sx_check(loaded, NULL), SX_ECORRUPT);
    assert_non_null(strstr(sx_detail(), invariant));
    sx_free(loaded);
}

/* Each mark that is another one is seen by the check. */
static void test_checked(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 4);
    char *path = temp_path("marks.sxt");
    texts keys = texts_make(TEXTS_TIED, 1500, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    sx_index *ix = NULL;
    size_t bytes;
    assert_int_equal(text_build(&c, text_cpu, "pivot", NULL, &ix), SX_OK);
    unsigned char *file = saved_bytes(ix, path, &bytes);
    uint64_t n;
    unsigned char *marks = text_section(file, "marks", &n);
    assert_int_equal(n, 1500);
    for (unsigned i = 0; i < 200; i++) {
        unsigned char *mark = marks + (i < 2 ? i * (n - 1) : rnd_below(&r, n)), before = *mark;
        *mark = (unsigned char)(before + 1 + rnd_below(&r, 255));
        is_broken(file, bytes, "S5");
        *mark = before;
    }
    sx_free(ix);
    free(file);
    free(path);
    text_case_free(&c);
    texts_free(&keys);
}

/* ---- older files --------------------------------------------------------------------------- */

enum { R_KIND = R_ZERO + 24 };    /* u16, behind the numbers of strings: how codes are made, 2; and 1
                                     more with marks, 2 more with offsets in lines */

/* A file as it would be without its section of marks, or with offsets of 4 bytes one behind the
 * other, or both. */
static unsigned char *older(const unsigned char *file, size_t bytes, bool marks, bool lines,
                            const text_oracle *o, size_t *length)
{
    uint32_t sections = get32(file + F_SECTIONS), kept = sections - !marks;
    uint64_t front = F_TABLE + kept * S_ENTRY, end = 0;
    unsigned char *to = need(bytes + 4 * o->n + 256), *entry = to + F_TABLE;
    memset(to, 0, bytes + 4 * o->n + 256);
    memcpy(to, file, F_TABLE);
    uint64_t at = with_gap(front);
    for (uint32_t i = 0; i < sections; i++) {
        const unsigned char *e = file + F_TABLE + i * S_ENTRY;
        const char *name = (const char *)e + S_NAME;
        uint64_t its = get64(e + S_BYTES);
        if (!marks && strcmp(name, "marks") == 0)
            continue;
        memcpy(entry, e, S_ENTRY);
        if (!lines && strcmp(name, "offsets") == 0) {
            uint32_t sum = 0;
            for (uint64_t k = 0; k <= o->n; k++) {
                memcpy(to + at + 4 * k, &sum, 4);
                sum += k < o->n ? (uint32_t)o->keys[k].bytes : 0;
            }
            its = (o->n + 1) * 4;
        } else {
            memcpy(to + at, file + get64(e + S_OFFSET), its);
        }
        put(entry + S_OFFSET, at, 8);
        put(entry + S_BYTES, its, 8);
        at += with_gap(its);
        end = at;
        entry += S_ENTRY;
    }
    put(to + F_FRONT_BYTES, front, 4);
    put(to + F_SECTIONS, kept, 4);
    put(to + R_SECTIONS, get32(file + R_SECTIONS) - !marks, 4);
    put(to + F_BYTES, end, 8);
    put(to + R_KIND, 2 + marks + 2 * lines, 2);
    seal_sections(to, end);
    seal_header(to, end);
    *length = end;
    return to;
}

/* Files of before there were marks, or lines of offsets, are loaded and answer as others do. */
static void ask_older(sx_device *dev, unsigned flags)
{
    rnd r = rnd_start(test_seed() + 6);
    char *path = temp_path("older.sxt");
    texts keys = texts_make(TEXTS_TIED, 1700, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    sx_index *ix = NULL, *loaded = NULL;
    size_t bytes, length;
    assert_int_equal(text_build(&c, text_cpu, "pivot", NULL, &ix), SX_OK);
    assert_true(has_marks(ix));
    unsigned char *file = saved_bytes(ix, path, &bytes);
    assert_int_equal(file[R_KIND], 5);
    for (unsigned kind = 2; kind <= 5; kind++) {
        bool marks = (kind - 2) & 1, lines = (kind - 2) & 2;
        unsigned char *old = older(file, bytes, marks, lines, c.truth, &length);
        if (sx_load(&loaded, dev, memory_file(old, length), flags | SX_LOAD_VERIFY, NULL) != SX_OK)
            fail_msg("kind %u: %s", kind, sx_detail());
        assert_true(has_marks(loaded) == marks);
        assert_int_equal(sx_check(loaded, NULL), SX_OK);
        text_must(text_ask(&c, loaded, 500, &r), "older", "", keys.n, (int)kind);
        size_t again;             /* it is saved as it is */
        unsigned char *copy = saved_bytes(loaded, path, &again);
        assert_int_equal(again, length);
        assert_memory_equal(copy, old, length);
        sx_free(loaded);
        loaded = NULL;
        if (kind == 5) {          /* as today's */
            assert_int_equal(length, bytes);
            assert_memory_equal(old, file, bytes);
        }
        put(old + R_KIND, kind ^ 1, 2);           /* it says what is not so: other marks */
        seal_header(old, length);
        if (sx_load(&loaded, dev, memory_file(old, length), flags, NULL) != SX_ECORRUPT ||
            !strstr(sx_detail(), "damaged"))
            fail_msg("kind %u for %u: %s", kind ^ 1, kind, sx_detail());
        put(old + R_KIND, 1, 2);
        seal_header(old, length);
        if (sx_load(&loaded, dev, memory_file(old, length), flags, NULL) != SX_ECORRUPT ||
            !strstr(sx_detail(), "codes of kind 1, but this library reads kinds 2 to 5; build it again"))
            fail_msg("kind 1: %s", sx_detail());
        free(copy);
        free(old);
    }
    sx_free(ix);
    free(file);
    free(path);
    text_case_free(&c);
    texts_free(&keys);
}

static void test_older(void **state)
{
    (void)state;
    ask_older(text_cpu, 0);
}

static void test_older_kernels(void **state)
{
    (void)state;
    sx_device *dev = device_open(kernel_device(0));
    ask_older(dev, SX_LOAD_DEVICE);
    sx_close(dev);
}

/* ---- offsets ------------------------------------------------------------------------------- */

/* Strings around the end of a line of offsets, and such that a line just holds, or does not. */
static void test_lines(void **state)
{
    (void)state;
    static const uint64_t counts[] = { 1, 26, 27, 28, 29, 55, 56, 57, 84 };
    enum { MOST = 84, LONG = 70000 };
    rnd r = rnd_start(test_seed() + 5);
    char *path = temp_path("lines.sxt");
    for (unsigned turn = 0; turn < 4 * COUNT_OF(counts); turn++) {
        uint64_t n = counts[turn % COUNT_OF(counts)], its;
        /* The line has n, or 27, strings before its last offset; one of them is long. */
        uint64_t reach = SX_LINE_REACH - 4 * (n < 28 ? n - 1 : 26);
        uint64_t large = turn / COUNT_OF(counts) == 0 ? 4 : reach - 3 + turn / COUNT_OF(counts);
        bool lines = large < reach;
        unsigned char *data = need(MOST * 4 + LONG);
        text of[MOST];
        for (unsigned i = 0; i < n; i++) {
            unsigned char *to = data + 4 * i;
            for (unsigned k = 0; k < 4; k++)
                to[k] = (unsigned char)((i + 1) >> (24 - 8 * k));
            of[i] = (text){ to, 4 };
        }
        memset(data + 4 * n, 0, LONG);            /* the first one */
        of[rnd_below(&r, n)] = (text){ data + 4 * n, large };
        texts keys = texts_from(n, of, 4);
        text_case c = text_case_of(&keys, NULL);
        sx_index *ix = NULL;
        size_t bytes;
        assert_int_equal(text_build(&c, text_cpu, "sorted", NULL, &ix), SX_OK);
        unsigned char *file = saved_bytes(ix, path, &bytes);
        unsigned char *offsets = text_section(file, "offsets", &its);
        assert_int_equal(its, lines ? (n / 28 + 1) * 64 : (n + 1) * 4);
        text_must(text_ask(&c, ix, 100, &r), "sorted", "cpu", n, TEXTS_KINDS);
        assert_int_equal(sx_check(ix, NULL), SX_OK);
        if (lines) {              /* a byte behind the last offset, if there is one, or a first one */
            offsets[n % 28 == 27 ? 8 : its - 2] ^= 1;
            is_broken(file, bytes, "S1");
        }
        sx_free(ix);
        free(file);
        free(data);
        text_case_free(&c);
        texts_free(&keys);
    }
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_tied),
        cmocka_unit_test(test_tied_kernels),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_checked),
        cmocka_unit_test(test_older),
        cmocka_unit_test(test_older_kernels),
        cmocka_unit_test(test_lines),
    };
    return TEXT_GROUPS("string_marks", tests, text_cpu_open, text_cpu_close);
}
