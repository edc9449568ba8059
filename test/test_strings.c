/* test_strings.c - strings as keys: every family, layout and instruction set, hard strings, real
 * words, bad columns, hostile files. What can be and what was done is compared, as in
 * test_matrix.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "keys/string_groups.h"
#include "query/index.h"
#include "sxfile.h"
#include "texts.h"


#define REFUSED(call, status, words) do { \
        assert_int_equal((call), (status)); \
        if (!strstr(sx_detail(), (words))) \
            fail_msg("'%s' does not say '%s'", sx_detail(), (words)); \
    } while (0)

/* ---- every family -------------------------------------------------------------------- */

static const char *const layouts[] = { "split", "pairs", "once" };

static void test_families(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *levels[SIMD_LEVELS];
    sx_family_info f = { .size = sizeof f };
    devices_open(levels);
    for (unsigned i = 0; sx_family_at(i, &f) == SX_OK; i++)
        for (unsigned l = 0; l < COUNT_OF(layouts); l++) {
            char spec[64];
            bool layout = strstr(f.parameters, "layout") != NULL;
            size_t rest = strcspn(f.name, ")");   /* some names have a parameter of their own */
            snprintf(spec, sizeof spec, layout ? "%.*s%slayout=%s)" : "%.*s", (int)rest, f.name,
                     f.name[rest] ? "," : "(", layouts[l]);
            for (unsigned level = 0; level < SIMD_LEVELS; level++) {
                if (!levels[level])
                    continue;
                text_verbs(text_try(spec, levels[level], simd_names[level], 0, false, &r), f.name,
                           "host", "cpu");
            }
        }
    devices_close(levels);
}

/* ---- many, long and equal strings ------------------------------------------------------------ */

/* Enough strings to be dealt out by bytes, in several parts. */
static void test_many(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 2);
    sx_device *two = device_open("cpu:threads=2");
    for (int kind = 0; kind < TEXTS_KINDS; kind++) {
        uint64_t n = 20000;
        texts keys = texts_make(kind, n, 4, &r);
        text_case c = text_case_of(&keys, NULL);
        sx_index *ix = NULL;
        if (text_build(&c, two, kind % 2 ? "pivot" : "auto", NULL, &ix) != SX_OK)
            text_must(sx_detail(), "", "", n, kind);
        text_must(text_ask(&c, ix, 500, &r), "", "", n, kind);
        sx_free(ix);
        text_case_free(&c);
        texts_free(&keys);
    }
    sx_close(two);
}

static void test_long(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 3);
    enum { LONG = 1 << 20, N = 7 };
    unsigned char *all = need(N * (size_t)(LONG + 2));
    text of[N + 2];
    for (unsigned i = 0; i < N; i++) {            /* differ in the last byte, or in length */
        unsigned char *p = all + i * (size_t)(LONG + 2);
        memset(p, 'l', LONG + 2);
        p[LONG - 1] = (unsigned char)(i / 2);
        of[i] = (text){ p, LONG - (i % 2) * 5000 };
    }
    of[N] = (text){ (const unsigned char *)"", 0 };
    of[N + 1] = (text){ (const unsigned char *)"\0", 1 };
    texts keys = texts_from(N + 2, of, 8);
    text_case c = text_case_of(&keys, NULL);
    sx_index *ix = NULL;
    assert_int_equal(text_build(&c, text_cpu, "sorted", NULL, &ix), SX_OK);
    text_must(text_ask(&c, ix, 40, &r), "sorted", "cpu", N, 0);
    sx_free(ix);
    text_case_free(&c);
    texts_free(&keys);
    free(all);
}

static void test_equal(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 4);
    enum { MANY = 1000000 };
    text *of = need(MANY * sizeof *of);
    static const char same[] = "the very same string, again";
    for (unsigned i = 0; i < MANY; i++)
        of[i] = (text){ (const unsigned char *)same, sizeof same - 1 };
    of[MANY / 3].bytes = 3;
    of[MANY / 2] = (text){ (const unsigned char *)"the very same string, again and more", 30 };
    texts keys = texts_from(MANY, of, 4);
    static const char *const specs[] = { "pivot", "guide", "sorted(layout=once)" };
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        sx_index *ix = NULL;
        sx_column q = texts_column(&keys), rows;
        uint64_t got[2] = { 0, 0 }, lo, hi;
        assert_int_equal(sx_build(&ix, text_cpu, specs[s], &q, NULL, NULL), SX_OK);
        texts asked = texts_from(2, (text[]){ of[0], of[MANY / 2] }, 4);
        q = texts_column(&asked);
        rows = column(SX_U64, 2, got);
        assert_int_equal(sx_get(ix, &q, &rows, NULL), SX_OK);
        assert_true(got[0] == 0 && got[1] == MANY / 2);
        assert_int_equal(sx_rank(ix, &q, SX_LEFT, &rows, NULL), SX_OK);
        lo = got[0];
        assert_int_equal(sx_rank(ix, &q, SX_RIGHT, &rows, NULL), SX_OK);
        hi = got[0];
        assert_true(lo == 1 && hi == MANY - 1);
        if (s == 2)
            assert_int_equal(sx_check(ix, NULL), SX_OK);
        texts_free(&asked);
        sx_free(ix);
    }
    texts_free(&keys);
    free(of);
    (void)r;
}

/* ---- codes ----------------------------------------------------------------------------- */

/* A query shares with each string of its code the bytes that its walk says, as far as both have
 * these. */
static void check_same(const sx_strings *s, const text_oracle *o, const texts *q)
{
    uint64_t *code = need(o->n * sizeof *code);
    for (uint64_t i = 0; i < o->n; i++)
        code[i] = sx_string_code(s, o->keys[i].data, o->keys[i].bytes);
    for (uint64_t i = 0; i < q->n; i++) {
        text t = q->of[i];
        sx_code_walk w = { 0, 0, 0, 0 };
        while (!sx_code_step(s, t.data, t.bytes, &w))
            ;
        for (uint64_t k = 0; k < o->n; k++) {
            uint64_t same = w.same < t.bytes ? w.same : t.bytes;
            if (code[k] != w.code)
                continue;
            if (w.same == SX_SAME_WHOLE)  /* nobody would compare them */
                assert_true(text_compare(t, o->keys[k]) == 0);
            same = same < o->keys[k].bytes ? same : o->keys[k].bytes;
            assert_true(same == 0 || memcmp(t.data, o->keys[k].data, same) == 0);
        }
    }
    free(code);
}

/* Whatever the strings, codes of any two never descend, and memory is what the header says. */
static void test_codes(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 5);
    unsigned rows = 0;            /* sets that have several rows of shares */
    for (int set = 0; set < 2 * TEXTS_KINDS; set++) {
        int kind = set / 2;
        uint64_t n = set % 2 ? 16000 : 3000, size = 0;
        texts keys = texts_make(kind, n, 4, &r);
        text_oracle *o = text_oracle_new(n, keys.of, NULL);
        uint32_t *offsets = need((n + 1) * sizeof *offsets), *shared = need(n * sizeof *shared);
        unsigned char *bytes = need(keys.bytes + 1);
        sx_strings s = { .offsets = (unsigned char *)offsets, .bytes = bytes, .offset_bytes = 4,
                         .code_bytes = (uint8_t)sx_codes_told };
        void *groups = NULL;
        sx_err err;
        for (uint64_t i = 0; i < n; i++) {
            offsets[i] = (uint32_t)size;
            if (o->keys[i].bytes)
                memcpy(bytes + size, o->keys[i].data, o->keys[i].bytes);
            size += o->keys[i].bytes;
            shared[i] = 0;
            while (i > 0 && shared[i] < o->keys[i].bytes && shared[i] < o->keys[i - 1].bytes &&
                   o->keys[i].data[shared[i]] == o->keys[i - 1].data[shared[i]])
                shared[i]++;
            if (i > 0 && text_compare(o->keys[i - 1], o->keys[i]) == 0)
                shared[i] = SX_EQUAL;
        }
        offsets[n] = (uint32_t)size;
        s.size = size;
        assert_int_equal(sx_groups_make(&s, n, shared, &groups, &err), SX_OK);
        assert_int_equal(sx_groups_check(&s, &err), SX_OK);
        assert_true(sx_groups_bytes(&s) <= sx_groups_most(n));
        rows += s.rows > 1;
        for (unsigned row = 0; row < s.rows; row++) {     /* the check sees one out of order */
            uint16_t *share = (uint16_t *)groups + SX_DIGITS_BYTES / 2 + row * (s.base + 1u);
            share[s.base / 2u] ^= 0x2000;
            assert_int_equal(sx_groups_check(&s, &err), SX_ECORRUPT);
            share[s.base / 2u] ^= 0x2000;
        }
        texts q = texts_near(&keys, set % 2 ? 700 : 4000, 4, &r);
        text_oracle *sorted = text_oracle_new(q.n, q.of, NULL);
        for (uint64_t i = 1; i < q.n; i++)
            assert_true(sx_string_code(&s, sorted->keys[i - 1].data, sorted->keys[i - 1].bytes) <=
                        sx_string_code(&s, sorted->keys[i].data, sorted->keys[i].bytes));
        check_same(&s, o, &q);
        uint64_t ties = 0;        /* different strings with equal codes */
        for (uint64_t i = 1; i < n; i++)
            ties += shared[i] != SX_EQUAL &&
                    sx_string_code(&s, o->keys[i - 1].data, o->keys[i - 1].bytes) ==
                        sx_string_code(&s, o->keys[i].data, o->keys[i].bytes);
        if (kind == TEXTS_PATHS || kind == TEXTS_WORDS)
            assert_true(ties < n / (sx_codes_told == 4 ? 2 : 8));
        text_oracle_free(sorted);
        texts_free(&q);
        text_oracle_free(o);
        texts_free(&keys);
        sx_release(groups);
        free(offsets);
        free(shared);
        free(bytes);
    }
    assert_true(rows > 2);
}

/* What a GPU compares by, 8 bytes at a time: at any place in memory, up to any byte. */
static void test_by_words(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 18);
    uint64_t words[2][8];
    for (unsigned i = 0; i < 4000; i++) {
        unsigned char *a = (unsigned char *)words[0] + rnd_below(&r, 16);
        unsigned char *b = (unsigned char *)words[1] + rnd_below(&r, 16);
        uint64_t m = rnd_below(&r, 49), same = 0, left = rnd_below(&r, 49);
        memset(words, (int)rnd_next(&r), sizeof words);
        for (unsigned k = 0; k < m; k++)
            a[k] = b[k] = (unsigned char)rnd_next(&r);
        if (m > 0 && i % 3)
            b[rnd_below(&r, m)] ^= 1;
        while (same < m && a[same] == b[same])
            same++;
        assert_true(sx_bytes_same(a, b, m) == same);
        /* The words that are read end before the bytes do. */
        assert_true(!sx_word_inside(a, left) || ((uintptr_t)a + 7) / 8 * 8 + 8 <= (uintptr_t)a + left);
        assert_true(sx_word_inside(a, left) || left < 15);
        uint64_t x = sx_word_swapped(sx_word_from(a)), first = 0;
        for (unsigned k = 0; k < 8; k++)
            first = first << 8 | a[k];
        assert_true(x == first);
    }
}

/* ---- words ------------------------------------------------------------------------------- */

static void test_words(void **state)
{
    (void)state;
    static const char *const lists[] = { "/usr/share/dict/american-english",
                                         "/usr/share/dict/british-english", "/usr/share/dict/words" };
    rnd r = rnd_start(test_seed() + 6);
    unsigned char *file = NULL;
    size_t bytes = 0, n = 0;
    for (size_t i = 0; i < COUNT_OF(lists) && !file; i++) {
        FILE *there = fopen(lists[i], "rb");
        if (!there)
            continue;
        fclose(there);
        file = read_file(lists[i], &bytes);
    }
    if (!file)
        SKIP("no list of words in /usr/share/dict (Debian's wamerican or wbritish)");
    text *of = need((bytes + 1) * sizeof *of);
    for (size_t at = 0; at < bytes;) {
        unsigned char *end = memchr(file + at, '\n', bytes - at);
        size_t length = end ? (size_t)(end - file) - at : bytes - at;
        of[n++] = (text){ file + at, length };
        at += length + 1;
    }
    texts keys = texts_from(n, of, 4);
    text_case c = text_case_of(&keys, NULL);
    sx_index_info info = { .size = sizeof info };
    static const char *const specs[] = { "pivot", "pgm", "btree" };
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        sx_index *ix = NULL;
        assert_int_equal(text_build(&c, text_cpu, specs[s], NULL, &ix), SX_OK);
        text_must(text_ask(&c, ix, 400, &r), specs[s], "cpu", n, 0);
        assert_int_equal(sx_describe(ix, &info), SX_OK);
        /* A line of a btree has holes: 12.8 bytes for a code and its row. */
        assert_true(info.bytes <= keys.bytes + (strcmp(specs[s], "btree") ? 18 : 20) * n);
        sx_free(ix);
    }
    text_case_free(&c);
    texts_free(&keys);
    free(of);
    free(file);
}

/* ---- prefixes ------------------------------------------------------------------------------ */

/* sx_span_query with prefix: all strings that begin with others. */
static void test_prefixes(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 15);
    for (int kind = 0; kind < TEXTS_KINDS; kind++)
        for (unsigned l = 0; l < COUNT_OF(layouts); l++) {
            char spec[64];
            snprintf(spec, sizeof spec, "pivot(layout=%s)", layouts[l]);
            texts keys = texts_make(kind, 700, 4, &r), q = texts_near(&keys, 300, 8, &r);
            text_case c = text_case_of(&keys, NULL);
            sx_index *ix = NULL;
            uint64_t got[300];
            sx_err err;
            assert_int_equal(text_build(&c, text_cpu, spec, NULL, &ix), SX_OK);
            sx_hold held = sx_hold_version(ix);
            sx_column prefixes = texts_column(&q);
            sx_span_query job = { .key_type = SX_STR, .prefix = 1, .n = q.n,
                                  .lo = sx_slice_of(&prefixes), .hi = sx_slice_of(&prefixes),
                                  .limit = UINT64_MAX };
            sx_slice to = sx_slice_fixed(got, 8, q.n, SX_HOST);
            assert_int_equal(sx_answer_count(held.now, &job, &to, &err), SX_OK);
            sx_let_go(ix, &held);
            for (uint64_t i = 0; i < q.n; i++)
                assert_int_equal(got[i], text_prefix(c.truth, q.of[i]).count);
            sx_free(ix);
            text_case_free(&c);
            texts_free(&q);
            texts_free(&keys);
        }
}

/* ---- bad columns --------------------------------------------------------------------------- */

static void test_columns(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 7);
    texts keys = texts_make(TEXTS_WORDS, 50, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    sx_index *ix = NULL, *made = NULL;
    assert_int_equal(text_build(&c, text_cpu, "sorted", NULL, &ix), SX_OK);
    sx_column q = texts_column(&keys), good = q;
    uint64_t row[50];
    sx_column rows = column(SX_U64, 50, row);
    uint32_t *offsets = need(51 * sizeof *offsets);
    memcpy(offsets, keys.offsets.data, 51 * sizeof *offsets);

#define BAD(words) do { \
        REFUSED(sx_get(ix, &q, &rows, NULL), SX_EINVAL, words); \
        REFUSED(sx_build(&made, text_cpu, "sorted", &q, NULL, NULL), SX_EINVAL, words); \
        q = good; } while (0)
    q.offsets = NULL;             BAD("offsets of");
    q.offset_bytes = 3;           BAD("offset_bytes of");
    q.offset_bytes = 0;           BAD("offset_bytes of");
    q.offsets = (char *)q.offsets + 2;    BAD("not at a multiple of 4");
    q.data = NULL;                BAD("NULL");
    q.validity = &q;              BAD("validity");
    q.reserved[1] = 1;            BAD("reserved[1]");
    q.bytes -= 1;                 BAD("offset 50 of");
    q.n = UINT64_MAX;             BAD("can't have");
    offsets[7] = offsets[6] - 1;
    if (offsets[6] > 0) {
        q.offsets = offsets;      BAD("offset 7 of");
    }
    memcpy(offsets, keys.offsets.data, 51 * sizeof *offsets);
    offsets[20] = UINT32_MAX;
    q.offsets = offsets;          BAD("offset 20 of");

    uint64_t huge[2] = { 0, 1ull << 32 };
    q.offsets = huge;
    q.offset_bytes = 8;
    q.n = 1;
    q.bytes = 1ull << 32;         BAD("string 0 of");
    assert_null(made);

    /* An offset need not begin at 0, and offsets of 8 bytes are the same strings. */
    q.n = 10;
    q.offsets = (uint32_t *)good.offsets + 5;
    assert_int_equal(sx_get(ix, &q, &rows, NULL), SX_OK);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(row[i], text_get(c.truth, keys.of[i + 5]));
    q = good;

    sx_column numbers = column(SX_U64, 50, row), out = q;
    REFUSED(sx_get(ix, &numbers, &rows, NULL), SX_EINVAL, "u64");
    REFUSED(sx_floor(ix, &q, NULL, &numbers, NULL), SX_EINVAL, "u64");
    REFUSED(sx_get(ix, &q, &out, NULL), SX_EINVAL, "str");
    numbers.bytes = 5;
    REFUSED(sx_get(ix, &q, &numbers, NULL), SX_EINVAL, "bytes of rows");
    out.n = 49;
    REFUSED(sx_ceil(ix, &q, NULL, &out, NULL), SX_ESPACE, "50 are needed");
    sx_column none;
    REFUSED(sx_column_new(&none, text_cpu, SX_STR, 5), SX_EINVAL, "sx_column_strings");
    REFUSED(sx_column_strings(&none, text_cpu, 5, 5, 2), SX_EINVAL, "offset_bytes is 2");
    REFUSED(sx_column_strings(&none, text_cpu, UINT64_MAX, 5, 4), SX_EINVAL, "can't have");
    assert_int_equal(sx_type_bytes(SX_STR), 0);
    assert_int_equal(sx_type_named("str"), SX_STR);

    texts twice = texts_from(2, (text[]){ { (const unsigned char *)"a\x01z", 3 },
                                          { (const unsigned char *)"a\x01z", 3 } }, 4);
    q = texts_column(&twice);
    REFUSED(sx_build(&made, text_cpu, "sorted unique", &q, NULL, NULL), SX_EINVAL, "'a\\x01z'");
    texts_free(&twice);
    free(offsets);
    sx_free(ix);
    text_case_free(&c);
    texts_free(&keys);
}

static void test_copies(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 8);
    sx_device *kernels = device_open(kernel_device(0));
    sx_device *const devices[] = { text_cpu, kernels };
    texts keys = texts_make(TEXTS_WORDS, 90, 8, &r);
    sx_column from = texts_column(&keys);
    for (unsigned d = 0; d < COUNT_OF(devices); d++) {
        sx_column there, back;
        assert_int_equal(sx_column_strings(&there, devices[d], keys.n, keys.bytes, 8), SX_OK);
        assert_int_equal(sx_column_copy(&there, &from, devices[d]), SX_OK);
        assert_int_equal(sx_column_strings(&back, text_cpu, keys.n, keys.bytes, 8), SX_OK);
        assert_int_equal(sx_column_copy(&back, &there, devices[d]), SX_OK);
        assert_memory_equal(back.data, from.data, keys.bytes);
        assert_memory_equal(back.offsets, from.offsets, (keys.n + 1) * 8);
        back.bytes--;
        REFUSED(sx_column_copy(&back, &there, devices[d]), SX_ESPACE, "are needed");
        back.bytes++;
        back.offset_bytes = 4;
        REFUSED(sx_column_copy(&back, &there, devices[d]), SX_EINVAL, "offsets of 8");
        sx_column_free(&there, devices[d]);
        sx_column_free(&back, text_cpu);
        assert_true(!there.data && !there.offsets && there.n == 0);
    }
    texts_free(&keys);
    sx_close(kernels);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void test_estimates(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 9);
    for (int set = 0; set < 2 * TEXTS_KINDS; set++) {
        int kind = set / 2, radix = set % 2;
        const char *spec = radix ? "radix" : "pivot";
        uint64_t n = 6000, most = sx_codes_told == 4 ? 14 : 18;
        texts keys = texts_make(kind, n, 4, &r);
        text_case c = text_case_of(&keys, NULL);
        sx_estimate_ask ask = { .size = sizeof ask, .n = n, .key_type = SX_STR,
                                .bytes = keys.bytes };
        sx_estimate_info e = { .size = sizeof e };
        sx_index_info info = { .size = sizeof info };
        sx_index *ix = NULL;
        assert_int_equal(sx_estimate(text_cpu, spec, &ask, &e), SX_OK);
        uint64_t live = sx_alloc_live();
        sx_alloc_most();
        assert_int_equal(text_build(&c, text_cpu, spec, NULL, &ix), SX_OK);
        assert_true(sx_alloc_most() - live <= e.host_peak);
        assert_int_equal(sx_describe(ix, &info), SX_OK);
        assert_true(info.bytes <= e.host_resident);
        if (!radix || sx_codes_told == 4)
            assert_true(info.bytes <= keys.bytes + most * n);
        sx_call call = { .size = sizeof call, .max_bytes = e.host_peak - 1 };
        sx_index *none = NULL;
        REFUSED(text_build(&c, text_cpu, spec, &call, &none), SX_ENOMEM, "max_bytes");
        sx_free(ix);
        text_case_free(&c);
        texts_free(&keys);
    }
    sx_estimate_ask wrong = { .size = sizeof wrong, .n = 5, .key_type = SX_U32, .bytes = 7 };
    sx_estimate_info e = { .size = sizeof e };
    REFUSED(sx_estimate(text_cpu, "pivot", &wrong, &e), SX_EINVAL, "for strings");
}

/* Each allocation of a build, and of questions with strings as results, fails once. */
static void test_allocations(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 10);
    texts keys = texts_make(TEXTS_PATHS, 5000, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    static const char *const specs[] = { "pivot", "sorted(layout=once)" };
    for (size_t s = 0; s < COUNT_OF(specs); s++)
        for (long nth = 1, works = 0; works < 3; nth++) {
            uint64_t live = sx_alloc_live();
            sx_index *ix = NULL;
            sx_alloc_fail_at(nth);
            sx_status st = text_build(&c, text_cpu, specs[s], NULL, &ix);
            sx_alloc_fail_at(0);
            assert_true(st == SX_OK || st == SX_ENOMEM);
            works = st == SX_OK ? works + 1 : 0;
            sx_free(ix);
            assert_true(sx_alloc_live() == live);
        }
    sx_index *ix = NULL;
    assert_int_equal(text_build(&c, text_cpu, "pivot", NULL, &ix), SX_OK);
    texts q = texts_near(&keys, 100, 4, &r);
    sx_column queries = texts_column(&q), back;
    assert_int_equal(sx_column_strings(&back, text_cpu, 100, 100 * 300, 4), SX_OK);
    for (long nth = 1, works = 0; works < 3; nth++) {
        uint64_t live = sx_alloc_live();
        sx_alloc_fail_at(nth);
        sx_status st = sx_floor(ix, &queries, NULL, &back, NULL);
        sx_alloc_fail_at(0);
        assert_true(st == SX_OK || st == SX_ENOMEM);
        works = st == SX_OK ? works + 1 : 0;
        assert_true(sx_alloc_live() == live);
    }
    sx_column_free(&back, text_cpu);
    texts_free(&q);
    sx_free(ix);
    text_case_free(&c);
    texts_free(&keys);
}

/* ---- collectors ---------------------------------------------------------------------------- */

static void test_collector(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 11);
    texts keys = texts_make(TEXTS_WORDS, 300, 4, &r), q = texts_near(&keys, 200, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    sx_index *ix = NULL;
    sx_collector *collector = NULL;
    sx_collect_options eager = { .size = sizeof eager, .eager = 1 };
    assert_int_equal(text_build(&c, text_cpu, "pivot", NULL, &ix), SX_OK);
    assert_int_equal(sx_collector_new(&collector, ix, &eager), SX_OK);
    for (uint64_t i = 0; i < q.n; i++) {
        sx_string key = { q.of[i].data, q.of[i].bytes };
        uint64_t row = 0, rank = 0;
        assert_int_equal(sx_collect(collector, SX_ASK_GET, &key, &row, -1), SX_OK);
        assert_true(row == text_get(c.truth, q.of[i]));
        assert_int_equal(sx_collect(collector, SX_ASK_RANK_RIGHT, &key, &rank, -1), SX_OK);
        assert_true(rank == text_rank(c.truth, q.of[i], 1));
    }
    sx_string bad = { NULL, 3 };
    uint64_t row;
    REFUSED(sx_collect(collector, SX_ASK_GET, &bad, &row, -1), SX_EINVAL, "3 bytes");
    bad = (sx_string){ "x", 1ull << 33 };
    REFUSED(sx_collect(collector, SX_ASK_GET, &bad, &row, -1), SX_EINVAL, "8589934592");
    bad.bytes = 1;
    assert_int_equal(sx_collect(collector, SX_ASK_GET, &bad, &row, -1), SX_OK);
    sx_collector_free(collector);
    sx_free(ix);
    text_case_free(&c);
    texts_free(&q);
    texts_free(&keys);
}

/* ---- hostile files ---------------------------------------------------------------------- */

static void test_hostile(void **state)
{
    (void)state;
    static const char *const specs[] = { "sorted", "eytzinger", "pivot", "guide", "pgm" };
    rnd r = rnd_start(test_seed() + 12);
    char *path = temp_path("hostile.sxt");
    unsigned refused = 0, checked = 0;
    for (size_t s = 0; s < COUNT_OF(specs); s++) {
        texts keys = texts_make(TEXTS_TIED, 2500, 4, &r), q = texts_near(&keys, 60, 4, &r);
        text_case c = text_case_of(&keys, NULL);
        sx_index *ix = NULL;
        size_t bytes;
        assert_int_equal(text_build(&c, text_cpu, specs[s], NULL, &ix), SX_OK);
        unsigned char *file = saved_bytes(ix, path, &bytes), *bad = need(bytes);
        for (unsigned i = 0; i < 160; i++) {
            memcpy(bad, file, bytes);
            text_damage(bad, bytes, i, &r);
            sx_index *loaded = NULL;
            if (sx_load(&loaded, text_cpu, memory_file(bad, bytes), SX_LOAD_VERIFY, NULL) != SX_OK) {
                refused++;
                continue;
            }
            text_ask_anything(loaded, &q);
            checked += sx_check(loaded, NULL) == SX_ECORRUPT;
            sx_free(loaded);
        }
        free(file);
        free(bad);
        sx_free(ix);
        text_case_free(&c);
        texts_free(&q);
        texts_free(&keys);
    }
    assert_int_equal(refused, 0);         /* no section's contents are believed, or looked at */
    assert_true(checked > 700);
    free(path);
}

/* Numbers of the run that do not fit its sections, or can't be. */
static void test_forged(void **state)
{
    (void)state;
    enum { R_FORKS = R_ZERO, R_STRING_BYTES = R_ZERO + 4, R_CELLS = R_ZERO + 12,
           R_POOL = R_ZERO + 16, R_BASE = R_ZERO + 20, R_ROWS = R_ZERO + 22,
           R_CODES = R_ZERO + 24, R_CHARS = R_ZERO + 26 };
    static const struct { int at; size_t bytes; uint64_t x; } forged[] = {
        { R_FORKS, 4, UINT32_MAX }, { R_FORKS, 4, 0x7fffffff }, { R_CELLS, 4, 0 },
        { R_CELLS, 4, UINT32_MAX }, { R_POOL, 4, UINT32_MAX }, { R_STRING_BYTES, 8, UINT64_MAX },
        { R_STRING_BYTES, 8, 1ull << 33 }, { R_STRING_BYTES, 8, 0 }, { R_BASE, 2, 1 },
        { R_BASE, 2, 300 }, { R_BASE, 2, 0 }, { R_ROWS, 2, 0 }, { R_ROWS, 2, 2 },
        { R_ROWS, 2, UINT16_MAX }, { R_CHARS, 2, 0 }, { R_CHARS, 2, SX_CHARS_MOST + 1 },
        { F_TYPE, 4, SX_U64 }, { F_TYPE, 4, 9 },
    };
    rnd r = rnd_start(test_seed() + 13);
    char *path = temp_path("forged.sxt");
    texts keys = texts_make(TEXTS_TIED, 2500, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    sx_index *ix = NULL, *loaded = NULL;
    size_t bytes;
    assert_int_equal(text_build(&c, text_cpu, "sorted", NULL, &ix), SX_OK);
    unsigned char *file = saved_bytes(ix, path, &bytes), *bad = need(bytes);
    assert_true(get32(file + R_FORKS) > 0 && get32(file + R_CELLS) > get32(file + R_FORKS));
    for (size_t i = 0; i < COUNT_OF(forged); i++) {
        memcpy(bad, file, bytes);
        put(bad + forged[i].at, forged[i].x, forged[i].bytes);
        seal_header(bad, bytes);
        REFUSED(sx_load(&loaded, text_cpu, memory_file(bad, bytes), 0, NULL), SX_ECORRUPT, "damaged");
    }
    /* Codes as they were made before, and as they may be one day. */
    assert_int_equal(get32(file + R_CODES) & 0xffff, 5);
    for (unsigned kind = 0; kind < 8; kind++) {
        memcpy(bad, file, bytes);
        put(bad + R_CODES, kind, 2);
        seal_header(bad, bytes);
        if (kind != 5)            /* 2 to 4: without marks, or lines of offsets, that are there */
            REFUSED(sx_load(&loaded, text_cpu, memory_file(bad, bytes), 0, NULL), SX_ECORRUPT,
                    kind >= 2 && kind < 5 ? "damaged" : "build it again from its keys");
    }
    /* A file that is right in itself, but has no groups: its last section is taken away. */
    uint32_t sections = get32(file + F_SECTIONS);
    uint64_t its, end = get64(file + F_TABLE + (sections - 1) * S_ENTRY + S_OFFSET) - S_ENTRY;
    text_section(file, "groups", &its);
    memcpy(bad, file, F_TABLE + (sections - 1) * S_ENTRY);
    memcpy(bad + F_TABLE + (sections - 1) * S_ENTRY, file + F_TABLE + sections * S_ENTRY,
           end + S_ENTRY - (F_TABLE + sections * S_ENTRY));
    for (uint32_t i = 0; i < sections - 1; i++) {
        unsigned char *e = bad + F_TABLE + i * S_ENTRY;
        put(e + S_OFFSET, get64(e + S_OFFSET) - S_ENTRY, 8);
    }
    put(bad + F_SECTIONS, sections - 1, 4);
    put(bad + R_SECTIONS, sections - 1, 4);
    put(bad + F_FRONT_BYTES, F_TABLE + (sections - 1) * S_ENTRY, 4);
    put(bad + F_BYTES, end, 8);
    memset(bad + R_FORKS, 0, 4);
    memset(bad + R_CELLS, 0, 12);
    memset(bad + R_CHARS, 0, 2);
    seal_sections(bad, end);
    seal_header(bad, end);
    REFUSED(sx_load(&loaded, text_cpu, memory_file(bad, end), 0, NULL), SX_ECORRUPT, "impossible size");

    /* And strings in a file of numbers. */
    uint64_t numbers[9] = { 5, 4, 3 };
    sx_column column_of = column(SX_U64, 9, numbers);
    sx_index *other = NULL;
    assert_int_equal(sx_build(&other, text_cpu, "sorted", &column_of, NULL, NULL), SX_OK);
    free(file);
    file = saved_bytes(other, path, &bytes);
    put(file + R_CELLS, 1, 4);
    seal_header(file, bytes);
    REFUSED(sx_load(&loaded, text_cpu, memory_file(file, bytes), 0, NULL), SX_ECORRUPT, "no strings");
    sx_free(other);
    sx_free(ix);
    free(file);
    free(bad);
    free(path);
    text_case_free(&c);
    texts_free(&keys);
}

/* ---- others --------------------------------------------------------------------------------- */

static void test_explained(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 14);
    texts keys = texts_make(TEXTS_TIED, 2500, 4, &r);
    text_case c = text_case_of(&keys, NULL);
    sx_index *ix = NULL;
    char buf[8192];
    size_t bytes = sizeof buf;
    assert_int_equal(text_build(&c, text_cpu, "pivot", NULL, &ix), SX_OK);
    assert_int_equal(sx_explain(ix, SX_TEXT, buf, &bytes), SX_OK);
    assert_non_null(strstr(buf, "strings "));
    assert_non_null(strstr(buf, "section  groups"));
    assert_non_null(strstr(buf, "section  marks"));
    assert_non_null(strstr(buf, "have marks"));
    bytes = sizeof buf;
    assert_int_equal(sx_explain(ix, SX_JSON, buf, &bytes), SX_OK);
    assert_true(is_json(buf) && strstr(buf, "\"string_bytes\"") &&
                strstr(buf, "\"marks\": true"));
    sx_free(ix);
    text_case_free(&c);
    texts_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_by_words),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_collector),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_forged),
        cmocka_unit_test(test_explained),
    };
    if (getenv("SX_STRINGS_ONLY"))
        cmocka_set_test_filter(getenv("SX_STRINGS_ONLY"));
    return TEXT_GROUPS("strings", tests, text_cpu_open, text_cpu_close);
}
