/* test_check.c - sx_check() proves what loading believes: files whose checksums are right
 * and whose contents are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exercise.h"
#include "forge.h"

static sx_device *dev;

/* The file loads, and the check refuses it; or loading refuses it. */
static void checked(specimen *s, const char *what)
{
    sx_index *ix = NULL;
    seal_sections(s->file, s->bytes);
    seal_header(s->file, s->bytes);
    sx_status status = sx_load(&ix, dev, memory_file(s->file, s->bytes),
                               SX_LOAD_VERIFY, NULL);
    if (status == SX_OK) {
        status = sx_check(ix, NULL);
        sx_free(ix);
    }
    if (status != SX_ECORRUPT)
        fail_msg("%s, %s: status %d", what, s->file + R_SPEC, (int)status);
    assert_true(strlen(sx_detail()) > 10);
}

static void test_check_finds(void **state)
{
    (void)state;
    static const char *const with_keys[] = { "keys", "pairs", "pivots", "nodes",
                                              "inner", "last" };
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        specimen s = make_specimen(dev, kind, 500);
        unsigned char *pristine = need(s.bytes), *p;
        uint64_t n, width = s.d->width;
        memcpy(pristine, s.file, s.bytes);
        for (size_t i = 0; i < COUNT_OF(with_keys); i++) {
            if (!(p = section(&s, with_keys[i], &n)))
                continue;
            /* A key changes places with the next, at the start and later. */
            for (int end = 0; end < 2 && i != 1; end++) {
                uint64_t last = n / width > 200 ? 200 : n / width - 2;
                unsigned char *a = end ? p + last * width : p, t[16];
                memcpy(t, a, width);
                memmove(a, a + width, width);
                memcpy(a + width, t, width);
                if (memcmp(s.file, pristine, s.bytes) != 0)
                    checked(&s, "two keys exchanged");
                memcpy(s.file, pristine, s.bytes);
            }
            memset(p, 0xff, width);             /* the largest comes first, unless it did */
            if (memcmp(s.file, pristine, s.bytes) != 0)
                checked(&s, "largest first");
            memcpy(s.file, pristine, s.bytes);
            fill(p, n, 3, NULL);
            checked(&s, "backwards");
            memcpy(s.file, pristine, s.bytes);
        }
        /* The keys determine a guide, to the last bit. */
        for (unsigned i = 0; i < 2; i++)
            if ((p = section(&s, i ? "guide" : "pieces", &n)))
                for (uint64_t at = 0; at < n; at += 1 + at / 8) {
                    p[at] ^= (unsigned char)(1u << at % 8);
                    checked(&s, i ? "another record" : "another piece");
                    memcpy(s.file, pristine, s.bytes);
                }
        if ((p = section(&s, "rows", &n))) {
            /* A row above the largest, as the header says it. */
            unsigned char *row = p + n / 2 / 8 * 8;
            if (get32(row) == UINT32_MAX)       /* of a slot that is not used */
                row = p;
            memset(row, 0xff, s.file[R_ROW_BYTES]);
            checked(&s, "a reserved row");
            memcpy(s.file, pristine, s.bytes);
        }
        put(s.file + F_MAX_ROW, get64(s.file + F_MAX_ROW) - 1, 8);
        put(s.file + R_MAX_ROW, get64(s.file + R_MAX_ROW) - 1, 8);
        checked(&s, "a smaller largest row");
        memcpy(s.file, pristine, s.bytes);
        if (s.file[R_ROW_BYTES] == 4) {
            s.file[R_ROW_BYTES] = 8;
            checked(&s, "wider rows");
            memcpy(s.file, pristine, s.bytes);
        }
        if (s.file[R_FLAGS] & 2) {
            s.file[R_FLAGS] ^= 2;
            checked(&s, "distinct keys that are not said to be");
        }
        free(pristine);
        free_specimen(&s);
    }
    /* Equal keys in an index that says unique. */
    size_t unique = COUNT_OF(kinds) - 1;        /* the last kind is */
    specimen s = make_specimen(dev, unique, 500);
    uint64_t n;
    unsigned char *keys = section(&s, "keys", &n);
    assert_non_null(keys);
    memcpy(keys + 100 * s.d->width, keys + 99 * s.d->width, s.d->width);
    checked(&s, "equal keys and unique");
    free_specimen(&s);
    /* ... or distinct, which only this flag says. */
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        rnd r = rnd_start(test_seed());
        s = (specimen){ .path = temp_path("specimen.sxt") };
        s.d = data_make(kinds[kind].type, KEYS_DUPLICATES, 300, kinds[kind].rows, 60, &r);
        if (is_once(kind)) {
            free(s.path);
            data_free(s.d);
            continue;
        }
        if (kind == unique || data_build(s.d, dev, kinds[kind].spec, NULL, &s.ix) != SX_OK) {
            assert_int_equal(kind, unique);
        } else {
            s.file = saved_bytes(s.ix, s.path, &s.bytes);
            if (!strstr((const char *)s.file + R_SPEC, "layout=once")) {      /* auto's, too */
                assert_int_equal(s.file[R_FLAGS], 0);
                s.file[R_FLAGS] = 2;
                checked(&s, "equal keys and distinct");
            }
        }
        free_specimen(&s);
    }
}

/* Whether a byte of a section belongs to a key or row that is there. */
static bool is_entry(const specimen *s, const char *name, uint64_t at)
{
    const char *block = strstr((const char *)s->file + R_SPEC, "block=");
    uint64_t width = s->d->width, row_bytes = s->file[R_ROW_BYTES];
    if (strcmp(name, "keys") == 0)
        return at < get64(s->file + R_STORED) * width;
    if (strcmp(name, "rows") == 0)
        return true;
    if (strcmp(name, "pairs") != 0)
        return false;
    if (!block) {                 /* lines of whole pairs, rows aligned behind keys */
        bool halves = strstr((const char *)s->file + R_SPEC, "fill=") != NULL;
        uint64_t m = halves ? 32 / (width > row_bytes ? width : row_bytes) : 64 / (width + row_bytes);
        uint64_t rows_at = halves ? 32 : (m * width + row_bytes - 1) / row_bytes * row_bytes;
        uint64_t byte = at % 64, pair = byte < rows_at ? byte / width : (byte - rows_at) / row_bytes;
        return pair < m && at / 64 * m + pair < s->d->n;
    }
    uint64_t b = strtoull(block + 6, NULL, 10), in = at % (b * (width + row_bytes));
    uint64_t slot = in < b * width ? in / width : (in - b * width) / row_bytes;
    return at / (b * (width + row_bytes)) * b + slot < s->d->n;
}

/* If sx_check() passes and every hash is right, it is another index: other keys in order, or
 * other rows. Every byte is looked at. (Segments may differ, if they are right.) */
static void test_check_every_bit(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        specimen s = make_specimen(dev, kind, 21);
        unsigned found = 0;
        for (uint32_t i = 0; i < get32(s.file + F_SECTIONS); i++) {
            unsigned char *e = s.file + F_TABLE + i * S_ENTRY, *p = s.file + get64(e + S_OFFSET);
            const char *name = (const char *)e;
            if (strcmp(name, "why") == 0 || strcmp(name, "segments") == 0 ||
                strcmp(name, "starts") == 0 || strcmp(name, "notes") == 0)
                continue;
            /* of a large section some, in no order of bytes or of bits */
            uint64_t step = get64(e + S_BYTES) > 2048 ? get64(e + S_BYTES) / 1024 | 1 : 1;
            for (uint64_t bit = 0; bit < 8 * get64(e + S_BYTES); bit += step) {
                if (is_entry(&s, name, bit / 8))
                    continue;
                p[bit / 8] ^= (unsigned char)(1u << bit % 8);
                checked(&s, name);
                p[bit / 8] ^= (unsigned char)(1u << bit % 8);
                found++;
            }
        }
        assert_true(found > 0);
        free_specimen(&s);
    }
}

/* The starts of values ascend from 0 to the number of ranks: then they are those of another
 * index. If there are rows, the rows of first keys follow, from a multiple of 16 bytes on, with
 * zeros before them. */
static bool starts_are_sound(specimen *s, const unsigned char *p)
{
    uint64_t stored = get64(s->file + R_STORED), ranks = get64(s->file + R_N), bytes;
    uint64_t row_bytes = s->file[R_ROW_BYTES], end = 4 * (stored + 1), firsts = (end + 15) / 16 * 16;
    const unsigned char *rows = section(s, "rows", &bytes);
    for (uint64_t i = 0; i < stored; i++)
        if (get32(p + 4 * i) >= get32(p + 4 * i + 4) || get32(p + 4 * i) >= ranks ||
            (row_bytes && memcmp(p + firsts + i * row_bytes, rows + get32(p + 4 * i) * row_bytes,
                                 row_bytes) != 0))
            return false;
    for (uint64_t i = end; row_bytes && i < firsts; i++)
        if (p[i])
            return false;
    return get32(p) == 0 && get32(p + 4 * stored) == ranks;
}

static void check_starts(specimen *s, uint64_t stored, const unsigned char *starts,
                         const char *what)
{
    sx_index *ix = NULL;
    seal_sections(s->file, s->bytes);
    seal_header(s->file, s->bytes);
    if (sx_load(&ix, dev, memory_file(s->file, s->bytes), SX_LOAD_VERIFY, NULL) != SX_OK)
        fail_msg("%s: %s", what, sx_detail());
    bool sound = starts_are_sound(s, starts);
    sx_status status = sx_check(ix, NULL);
    if (status != (sound ? SX_OK : SX_ECORRUPT) || (!sound && !strstr(sx_detail(), "V1") && !strstr(sx_detail(), "V2")))
        fail_msg("%s, %s: status %d, '%s'", what, s->file + R_SPEC, (int)status, sx_detail());
    const char *wrong = exercise(ix, stored);
    if (wrong)
        fail_msg("%s: %s", what, wrong);
    sx_free(ix);
}

/* Starts can be anything: such files load, no question leaves the index, and a check names
 * the starts. */
static void test_starts(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    unsigned tried = 0;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        if (!is_once(kind))
            continue;
        specimen s = make_specimen(dev, kind, 61);
        uint64_t n = 0, stored = get64(s.file + R_STORED), ranks = get64(s.file + R_N);
        unsigned char *p = section(&s, "starts", &n), *pristine = need(n);
        assert_non_null(p);
        uint64_t row_bytes = s.file[R_ROW_BYTES], end = 4 * (stored + 1);
        assert_true(stored < ranks && starts_are_sound(&s, p));
        assert_int_equal(n, row_bytes ? (end + 15) / 16 * 16 + stored * row_bytes : end);
        memcpy(pristine, p, n);
        for (uint64_t bit = 0; bit < 8 * n; bit++, tried++) {
            p[bit / 8] ^= (unsigned char)(1u << bit % 8);
            check_starts(&s, stored, p, "a flipped bit of starts");
            memcpy(p, pristine, n);
        }
        for (int how = 0; how < 5; how++)
            for (unsigned round = 0; round < 20; round++) {
                fill(p, n, how, &r);
                check_starts(&s, stored, p, "filled starts");
                memcpy(p, pristine, n);
            }
        /* More keys, or fewer, than the starts say. */
        for (uint64_t other = ranks - 1; other <= ranks + 1; other += 2)
            if (s.file[R_ROW_BYTES] == 0) {
                put(s.file + F_N, other, 8);
                put(s.file + R_N, other, 8);
                put(s.file + F_MAX_ROW, other - 1, 8);
                put(s.file + R_MAX_ROW, other - 1, 8);
                check_starts(&s, stored, p, "another number of keys");
            }
        free(pristine);
        free_specimen(&s);
    }
    assert_true(tried > 0);
}

/* An index of unsigned keys whose header says floats. It is right if each stored key is the
 * code of a float. Codes that no query can have are found. */
static void test_check_floats(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "sorted", "sorted(layout=pairs)", "eytzinger", "eytzinger(k=2,layout=pairs)",
        "pivot(k=3)", "pivot(k=3,layout=pairs)", "guide(bucket=1,pieces=2)",
        "guide(bucket=1,pieces=2,layout=pairs)", "pgm(eps=1)", "pgm(eps=1,layout=pairs)", "btree",
        "btree(k=2)", "btree(layout=split)", "btree(fill=60)",
        "radix(leaf=1)", "radix(leaf=2,layout=pairs)",
    };
    static const struct {
        int stored, type;
        uint64_t right[8];        /* -inf, -1, 0, the least above, 1, inf, NaN, NaN */
        uint64_t wrong[7];        /* -NaN, -NaN, -0, NaNs around the one, and the largest */
    } of[] = {
        { SX_U32, SX_F32,
          { 0x007fffff, 0x407fffff, 0x80000000, 0x80000001, 0xbf800000, 0xff800000, 0xffc00000,
            0xffc00000 },
          { 0, 0x003fffff, 0x007ffffe, 0x7fffffff, 0xff800001, 0xffc00001, 0xffffffff } },
        { SX_U64, SX_F64,
          { 0x000fffffffffffff, 0x400fffffffffffff, 0x8000000000000000, 0x8000000000000001,
            0xbff0000000000000, 0xfff0000000000000, 0xfff8000000000000, 0xfff8000000000000 },
          { 0, 0x0007ffffffffffff, 0x000ffffffffffffe, 0x7fffffffffffffff, 0xfff0000000000001,
            0xfff8000000000001, 0xffffffffffffffff } },
    };
    char *path = temp_path("floats.sxt");
    for (size_t t = 0; t < COUNT_OF(of); t++)
        for (size_t i = 0; i < COUNT_OF(specs); i++)
            for (size_t w = 0; w <= COUNT_OF(of[t].wrong); w++) {
                uint32_t narrow[9];
                uint64_t wide[9], rows[9] = { 8, 7, 6, 5, 4, 3, 2, 1, 0 }, n = 8;
                bool right = w == COUNT_OF(of[t].wrong);
                memcpy(wide, of[t].right, sizeof of[t].right);
                if (!right)
                    wide[n++] = of[t].wrong[w];
                for (uint64_t j = 0; j < n; j++)
                    narrow[j] = (uint32_t)wide[j];
                sx_column keys = column(of[t].stored, n,
                                        t == 0 ? (void *)narrow : (void *)wide);
                sx_column row = column(SX_U64, n, rows);
                specimen s = { .path = path };
                if (sx_build(&s.ix, dev, specs[i], &keys, &row, NULL) != SX_OK)
                    fail_msg("%s", sx_detail());
                s.file = saved_bytes(s.ix, path, &s.bytes);
                put(s.file + F_TYPE, (uint64_t)of[t].type, 4);
                if (right) {
                    sx_index *ix = NULL;
                    seal_header(s.file, s.bytes);
                    assert_int_equal(sx_load(&ix, dev, memory_file(s.file, s.bytes), 2, NULL),
                                     SX_OK);
                    assert_int_equal(sx_check(ix, NULL), SX_OK);
                    sx_free(ix);
                } else {
                    checked(&s, "no float's key");
                    if (!strstr(sx_detail(), "K1"))
                        fail_msg("%s", sx_detail());
                }
                sx_free(s.ix);
                free(s.file);
            }
    free(path);
}

/* Two nodes of a radix tree that change places, and are found there: all that is wrong is their
 * order. */
static void test_check_order_of_nodes(void **state)
{
    (void)state;
    uint32_t four[] = { 0x01000001, 0x01000002, 0x02000001, 0x02000002 };
    sx_column keys = column(SX_U32, 4, four);
    specimen s = { .path = temp_path("order.sxt") };
    if (sx_build(&s.ix, dev, "radix(leaf=1)", &keys, NULL, NULL) != SX_OK)
        fail_msg("%s", sx_detail());
    s.file = saved_bytes(s.ix, s.path, &s.bytes);
    uint64_t n = 0;
    unsigned char *root = section(&s, "nodes", &n), *a = root + 4 * 16, *b = root + 7 * 16, t[48];
    unsigned char *entry = root + 16 + 8;         /* behind head, stem and bytes; two of them */
    assert_true(n >= 10 * 16 && get32(entry) == 4 && get32(entry + 8) == 7);
    memcpy(t, a, sizeof t);
    memcpy(a, b, sizeof t);
    memcpy(b, t, sizeof t);
    put(entry, 7, 4);
    put(entry + 8, 4, 4);
    checked(&s, "nodes in another order");
    if (!strstr(sx_detail(), "T1"))
        fail_msg("%s", sx_detail());
    sx_free(s.ix);
    free(s.file);
    free((char *)s.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_finds),
        cmocka_unit_test(test_check_every_bit),
        cmocka_unit_test(test_starts),
        cmocka_unit_test(test_check_floats),
        cmocka_unit_test(test_check_order_of_nodes),
    };
    test_seed();
    dev = device_open("cpu:threads=1");
    int failed = cmocka_run_group_tests_name("check", tests, NULL, NULL);
    sx_close(dev);
    return failed != 0;
}
