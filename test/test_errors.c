/* test_errors.c - everything a caller can get wrong.
 *
 * Each misuse must get its status, a sentence in sx_detail() that names the
 * offending value, and must leave every output byte as it was. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "support.h"

#define N 10                      /* keys of the index the tests ask */
#define BIG 64                    /* elements of the arrays around */

/* ---- what every test starts from ------------------------------------------ */

static sx_device *dev;
static sx_index *ix;              /* u64 keys 0,10..90, rows as positions */
static uint64_t key_array[N], q_array[BIG], outs[4][BIG];
static sx_column keys, q, out, out2;
static sx_call call;

static void refresh(void)
{
    for (uint64_t i = 0; i < N; i++)
        key_array[i] = i * 10;
    for (uint64_t i = 0; i < BIG; i++)
        q_array[i] = i * 5;
    memset(outs, GUARD_FILL, sizeof outs);
    keys = column(SX_U64, N, key_array);
    q = column(SX_U64, 4, q_array);
    out = column(SX_U64, 4, outs[0]);
    out2 = column(SX_U64, 4, outs[1]);
    call = (sx_call){ .size = sizeof call };
}

static bool outputs_untouched(void)
{
    const unsigned char *b = (const void *)outs;
    for (size_t i = 0; i < sizeof outs; i++)
        if (b[i] != GUARD_FILL)
            return false;
    return true;
}

/* The call was refused with this status, and its sentence has these words in
 * it. */
static void check_refusal(sx_status got, sx_status want, const char *words,
                          const char *text, int line)
{
    const char *detail = sx_detail();
    if (got != want)
        fail_msg("line %d: %s gave %d, not %d; detail: %s", line, text,
                 (int)got, (int)want, detail);
    if (!strstr(detail, words))
        fail_msg("line %d: %s: '%s' is not in the detail: %s", line, text,
                 words, detail);
    if (strlen(detail) < strlen(words) + 4)
        fail_msg("line %d: %s: not a sentence: %s", line, text, detail);
    if (!outputs_untouched())
        fail_msg("line %d: %s wrote to an output", line, text);
    refresh();
}
#define REFUSED(call_, status, words) \
    check_refusal((call_), (status), (words), #call_, __LINE__)

static int fresh(void **state)
{
    (void)state;
    refresh();
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    refresh();
    dev = device_open("cpu:scalar,threads=1");
    if (sx_build(&ix, dev, "sorted", &keys, NULL, NULL) != SX_OK)
        die("%s", sx_detail());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sx_free(ix);
    sx_close(dev);
    return 0;
}

/* ---- devices -------------------------------------------------------- */

static void test_open(void **state)
{
    (void)state;
    sx_device *const mark = (sx_device *)outs, *d = mark;
    static const struct { const char *name, *word; } unknown[] = {
        { "abacus", "abacus" }, { "", "''" }, { "CPU", "CPU" },
        { "cpux", "cpux" }, { "cuda:99", "cuda:99" }, { "cpu:", "cpu:" },
    }, bad[] = {
        { "cpu:avx9", "avx9" },
        { "cpu:scalar:avx2", "scalar:avx2" },
        { "cpu:scalar,", "," },
        { "cpu:,scalar", "," },
        { "cpu:threads=0", "threads=0" },
        { "cpu:threads=", "threads=" },
        { "cpu:threads=-1", "threads=-1" },
        { "cpu:threads= 1", "threads= 1" },
        { "cpu:threads=2x", "threads=2x" },
        { "cpu:threads=99999999999999999999", "99999999999999999999" },
        { "cpu:scalar,threads=two", "threads=two" },
        { "cpu:scalar,colour=red", "colour=red" },
        { "cpu:threads=1,threads=2", "threads= is given twice" },
        { "cpu:threads=2,scalar,threads=2", "threads= is given twice" },
        { "cpu:search=complete,search=concise", "search= is given twice" },
        { "cpu:scalar,scalar", "instructions are given twice" },
        { "cpu:scalar,avx2", "instructions are given twice" },
    };
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        REFUSED(sx_open(&d, unknown[i].name), SX_ENODEV, unknown[i].word);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        REFUSED(sx_open(&d, bad[i].name), SX_EINVAL, bad[i].word);
    assert_ptr_equal(d, mark);
    REFUSED(sx_open(NULL, "cpu"), SX_EINVAL, "NULL");
    sx_close(NULL);               /* as free(NULL) */

    sx_device_info info = { .size = sizeof info }, empty;
    memset(&empty, 0, sizeof empty);
    REFUSED(sx_device_at(1000, &info), SX_ENODEV, "1000");
    REFUSED(sx_device_at(0, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_device_at(0, &empty), SX_EINVAL, "size");
    empty.size = 7;
    REFUSED(sx_device_at(0, &empty), SX_EINVAL, "7");
    REFUSED(sx_device_describe(dev, &empty), SX_EINVAL, "7");
    REFUSED(sx_device_describe(NULL, &info), SX_EINVAL, "NULL");
    REFUSED(sx_device_describe(dev, NULL), SX_EINVAL, "NULL");
    assert_int_equal(empty.name[0], 0);

    /* Devices that are listed as usable open, and no others do. */
    unsigned usable = 0;
    for (unsigned i = 0; sx_device_at(i, &info) == SX_OK; i++) {
        sx_status s = sx_open(&d, info.name);
        assert_int_equal(s, info.usable ? SX_OK : SX_ENODEV);
        if (s == SX_OK) {
            usable++;
            assert_int_equal(sx_device_describe(d, &info), SX_OK);
            assert_true(info.usable && info.threads > 0);
            sx_close(d);
        }
        info.size = sizeof info;
    }
    assert_true(usable > 0);
}

/* ---- building ------------------------------------------------------------ */

static sx_status build(const char *spec, const sx_column *rows)
{
    sx_index *const mark = (sx_index *)outs, *made = mark;
    sx_status s = sx_build(&made, dev, spec, &keys, rows, &call);
    if (s == SX_OK)
        sx_free(made);
    else if (made != mark)
        fail_msg("a failed build changed *out");
    return s;
}

static void test_build_arguments(void **state)
{
    (void)state;
    sx_index *made = NULL;
    REFUSED(sx_build(NULL, dev, "sorted", &keys, NULL, NULL), SX_EINVAL,
            "NULL");
    REFUSED(sx_build(&made, NULL, "sorted", &keys, NULL, NULL), SX_EINVAL,
            "NULL");
    REFUSED(sx_build(&made, dev, "sorted", NULL, NULL, NULL), SX_EINVAL,
            "NULL");
    assert_null(made);
    sx_free(NULL);                /* as free(NULL) */

    keys.type = 0;                REFUSED(build("sorted", NULL), SX_EINVAL, "0");
    keys.type = 9;                REFUSED(build("sorted", NULL), SX_EINVAL, "9");
    keys.type = -1;               REFUSED(build("sorted", NULL), SX_EINVAL, "-1");
    keys.type = 4711;             REFUSED(build("sorted", NULL), SX_EINVAL, "4711");
    keys.place = 3;               REFUSED(build("sorted", NULL), SX_EINVAL, "3");
    keys.data = NULL;             REFUSED(build("sorted", NULL), SX_EINVAL, "NULL");
    for (int i = 0; i < 3; i++) {
        keys.reserved[i] = 1;
        REFUSED(build("sorted", NULL), SX_EINVAL, "reserved");
    }
    keys.offsets = &keys;         REFUSED(build("sorted", NULL), SX_EINVAL, "offsets of keys");
    keys.validity = &keys;        REFUSED(build("sorted", NULL), SX_EINVAL, "validity of keys");
    keys.offset_bytes = 8;        REFUSED(build("sorted", NULL), SX_EINVAL, "offset_bytes of keys");
    keys.bytes = 1;               REFUSED(build("sorted", NULL), SX_EINVAL, "bytes of keys");
    call.size = 0;                REFUSED(build("sorted", NULL), SX_EINVAL, "size");
    call.size = 5;                REFUSED(build("sorted", NULL), SX_EINVAL, "5");
    call.hints = 2;               REFUSED(build("sorted", NULL), SX_EINVAL, "hints");

    /* Sizes that overflow, or that no memory holds. */
    keys.n = UINT64_MAX;
    REFUSED(build("sorted", NULL), SX_EINVAL, "18446744073709551615");
    keys.n = 1ull << 61;          /* times 8 is 0 */
    REFUSED(build("sorted", NULL), SX_EINVAL, "2305843009213693952");
    keys.n = (1ull << 48) + 1;
    REFUSED(build("pivot", NULL), SX_EINVAL, "281474976710657");

    call.max_bytes = 16;
    REFUSED(build("sorted", NULL), SX_ENOMEM, "16");
    call.max_bytes = 1;
    REFUSED(build("auto", NULL), SX_ENOMEM, "1");
}

static void test_build_rows(void **state)
{
    (void)state;
    uint32_t rows32[N] = { 0 };
    uint64_t rows64[N] = { 0 };
    sx_column r32 = column(SX_U32, N, rows32), r64 = column(SX_U64, N, rows64);
    for (uint64_t at = 0; at < N; at += 3) {
        char text[32];
        snprintf(text, sizeof text, "%u", (unsigned)at);
        rows32[at] = UINT32_MAX;
        REFUSED(build("sorted", &r32), SX_EINVAL, "4294967295");
        assert_non_null(strstr(sx_detail(), text));
        rows32[at] = 0;
        rows64[at] = UINT64_MAX;
        REFUSED(build("pivot", &r64), SX_EINVAL, "18446744073709551615");
        assert_non_null(strstr(sx_detail(), text));
        rows64[at] = UINT32_MAX;  /* no reserved row of 64 bits */
        assert_int_equal(build("eytzinger", &r64), SX_OK);
        rows64[at] = 0;
    }
    assert_int_equal(build("sorted", &r32), SX_OK);

    r32.n = N - 1;                REFUSED(build("sorted", &r32), SX_EINVAL, "9");
    r32.n = N + 1;                REFUSED(build("sorted", &r32), SX_EINVAL, "11");
    r32.n = N;
    r32.data = NULL;              REFUSED(build("sorted", &r32), SX_EINVAL, "NULL");
    r64.type = SX_I64;            REFUSED(build("sorted", &r64), SX_EINVAL, "i64");
    r64.type = SX_F64;            REFUSED(build("sorted", &r64), SX_EINVAL, "f64");
    r64.type = 0;                 REFUSED(build("sorted", &r64), SX_EINVAL, "0");
    r64.type = SX_U64;
    r64.place = 1;                REFUSED(build("sorted", &r64), SX_EINVAL, "1");
    r64.place = SX_HOST;
    r64.reserved[2] = 9;          REFUSED(build("sorted", &r64), SX_EINVAL, "reserved");
}

/* unique: the sentence names the key and both its places in the input. */
static void test_build_unique(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "sorted unique", "eytzinger(k=3) unique", "pivot unique",
        "pivot(k=5,layout=pairs) unique", "auto unique"
    };
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        assert_int_equal(build(specs[i], NULL), SX_OK);
        key_array[7] = key_array[4];              /* 40 twice, unsorted */
        REFUSED(build(specs[i], NULL), SX_EINVAL, "40");
        assert_non_null(strstr(sx_detail(), "4 and 7"));
        key_array[3] = key_array[2] = 20;         /* sorted */
        REFUSED(build(specs[i], NULL), SX_EINVAL, "20");
        assert_non_null(strstr(sx_detail(), "2 and 3"));
    }
    /* -0.0 and 0.0 are one key, and so are two NaNs. */
    double f[2] = { 0.0, -0.0 };
    keys = column(SX_F64, 2, f);
    REFUSED(build("sorted unique", NULL), SX_EINVAL, "0 and 1");
    unsigned char b[32] = { 0 };
    keys = column(SX_B16, 2, b);
    REFUSED(build("sorted unique", NULL), SX_EINVAL, "0 and 1");
    /* With rows given, these name the two. */
    uint32_t rows[N] = { 100, 101, 102, 103, 104, 105, 106, 107, 108, 109 };
    sx_column r = column(SX_U32, N, rows);
    key_array[9] = key_array[0];
    REFUSED(build("sorted unique", &r), SX_EINVAL, "rows 100 and 109");
}

static void test_estimate(void **state)
{
    (void)state;
    sx_estimate_info e = { .size = sizeof e, .host_resident = 77 };
    REFUSED(estimate_of(NULL, "sorted", SX_U64, 1, 0, &e), SX_EINVAL, "NULL");
    REFUSED(estimate_of(dev, "sorted", SX_U64, 1, 0, NULL), SX_EINVAL, "NULL");
    REFUSED(estimate_of(dev, "sorted", 0, 1, 0, &e), SX_EINVAL, "0");
    REFUSED(estimate_of(dev, "sorted", 99, 1, 0, &e), SX_EINVAL, "99");
    REFUSED(estimate_of(dev, "sorted", SX_U64, 1, SX_F32, &e), SX_EINVAL, "5");
    REFUSED(estimate_of(dev, "sorted", SX_U64, 1, 99, &e), SX_EINVAL, "99");
    REFUSED(estimate_of(dev, "sorted", SX_U64, UINT64_MAX, 0, &e), SX_EINVAL,
            "18446744073709551615");
    e.size = 3;
    REFUSED(estimate_of(dev, "sorted", SX_U64, 1, 0, &e), SX_EINVAL, "3");
    assert_int_equal(e.host_resident, 77);
}

/* ---- questions ---------------------------------------------------------- */

typedef enum { GET, RANK, FLOOR, CEIL, KEY_AT, POINT_VERBS } point_verb;

static sx_status point(point_verb verb)
{
    switch (verb) {
    case GET: return sx_get(ix, &q, &out, &call);
    case RANK: return sx_rank(ix, &q, SX_LEFT, &out, &call);
    case FLOOR: return sx_floor(ix, &q, &out, &out2, &call);
    case CEIL: return sx_ceil(ix, &q, &out, &out2, &call);
    default: return sx_key_at(ix, &q, &out2, &out, &call);
    }
}

static void test_points(void **state)
{
    (void)state;
    for (int v = 0; v < POINT_VERBS; v++) {
        point_verb verb = (point_verb)v;
        q.type = SX_I64;          REFUSED(point(verb), SX_EINVAL, "i64");
        q.type = SX_F32;          REFUSED(point(verb), SX_EINVAL, "f32");
        q.type = 0;               REFUSED(point(verb), SX_EINVAL, "0");
        q.place = 2;              REFUSED(point(verb), SX_EINVAL, "2");
        q.data = NULL;            REFUSED(point(verb), SX_EINVAL, "NULL");
        q.reserved[0] = 1;        REFUSED(point(verb), SX_EINVAL, "reserved");
        q.offsets = &q;           REFUSED(point(verb), SX_EINVAL, "offsets of");
        q.validity = &q;          REFUSED(point(verb), SX_EINVAL, "validity of");
        out.offset_bytes = 4;     REFUSED(point(verb), SX_EINVAL, "offset_bytes of");
        out.type = SX_I64;        REFUSED(point(verb), SX_EINVAL, "i64");
        out.type = SX_B16;        REFUSED(point(verb), SX_EINVAL, "b16");
        out.type = 12;            REFUSED(point(verb), SX_EINVAL, "12");
        out.place = 1;            REFUSED(point(verb), SX_EINVAL, "1");
        out.data = NULL;          REFUSED(point(verb), SX_EINVAL, "NULL");
        out.reserved[2] = 1;      REFUSED(point(verb), SX_EINVAL, "reserved");
        out.n = 3;                REFUSED(point(verb), SX_ESPACE, "3");
        out.n = 0;                REFUSED(point(verb), SX_ESPACE, "4");
        call.size = 0;            REFUSED(point(verb), SX_EINVAL, "size");
        call.size = 9;            REFUSED(point(verb), SX_EINVAL, "9");
        call.hints = 4;           REFUSED(point(verb), SX_EINVAL, "hints");
        q.n = UINT64_MAX / 8 + 1; /* times 8 overflows */
        out.n = out2.n = q.n;     REFUSED(point(verb), SX_EINVAL, "2305843009213693952");
        out.data = (char *)outs[0] + 4;
        REFUSED(point(verb), SX_EINVAL, "multiple of 8");
        if (verb < FLOOR)
            continue;
        out2.type = SX_U32;       REFUSED(point(verb), SX_EINVAL, "u32");
        out2.type = 0;            REFUSED(point(verb), SX_EINVAL, "0");
        out2.n = 2;               REFUSED(point(verb), SX_ESPACE, "2");
        out2.place = 5;           REFUSED(point(verb), SX_EINVAL, "5");
        out2.data = NULL;         REFUSED(point(verb), SX_EINVAL, "NULL");
        out2.reserved[1] = 1;     REFUSED(point(verb), SX_EINVAL, "reserved");
    }
    REFUSED(sx_get(NULL, &q, &out, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_get(ix, NULL, &out, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_get(ix, &q, NULL, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_rank(NULL, &q, SX_LEFT, &out, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_rank(ix, NULL, SX_LEFT, &out, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_rank(ix, &q, SX_LEFT, NULL, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_rank(ix, &q, (sx_side)2, &out, NULL), SX_EINVAL, "2");
    REFUSED(sx_floor(NULL, &q, &out, NULL, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_floor(ix, NULL, &out, NULL, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_floor(ix, &q, NULL, NULL, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_ceil(ix, &q, NULL, NULL, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_key_at(NULL, &q, &out2, &out, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_key_at(ix, NULL, &out2, &out, NULL), SX_EINVAL, "NULL");
}

/* A 32-bit column is refused from the first row that it can't hold. */
static void test_narrow_outputs(void **state)
{
    (void)state;
    static const struct { uint64_t row; bool fits; } cases[] = {
        { UINT32_MAX - 1, true }, { UINT32_MAX, false },
        { 1ull << 32, false }, { UINT64_MAX - 1, false },
    };
    sx_index *const saved = ix;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t rows[N] = { 0, 1, cases[i].row };
        sx_column r = column(SX_U64, N, rows);
        char text[32];
        snprintf(text, sizeof text, "%llu", (unsigned long long)cases[i].row);
        assert_int_equal(sx_build(&ix, dev, "sorted", &keys, &r, NULL), SX_OK);
        for (int v = 0; v < POINT_VERBS; v++) {
            out.type = SX_U32;
            if (cases[i].fits || v == RANK)
                assert_int_equal(point((point_verb)v), SX_OK);
            else
                REFUSED(point((point_verb)v), SX_EINVAL, text);
            refresh();
        }
        sx_ranges ranges = { .size = sizeof ranges, .lo = &q, .hi = &q };
        sx_column first = column(SX_U64, BIG, outs[2]);
        out = column(SX_U32, BIG, outs[0]);
        if (cases[i].fits)
            assert_int_equal(sx_range(ix, &ranges, &first, &out, NULL, NULL),
                             SX_OK);
        else
            REFUSED(sx_range(ix, &ranges, &first, &out, NULL, NULL),
                    SX_EINVAL, text);
        refresh();
        sx_free(ix);
    }
    ix = saved;
}

/* ---- ranges ------------------------------------------------------------ */

static sx_column lo, hi, first;
static sx_ranges ranges;

static void refresh_ranges(void)
{
    refresh();
    lo = column(SX_U64, 3, q_array);
    hi = column(SX_U64, 3, q_array + 10);
    first = column(SX_U64, 4, outs[2]);
    out = column(SX_U64, BIG, outs[0]);
    out2 = column(SX_U64, BIG, outs[1]);
    ranges = (sx_ranges){ .size = sizeof ranges, .lo = &lo, .hi = &hi };
}

static sx_status range_call(int verb)
{
    sx_aggregates g = { .size = sizeof g, .sum = &out };
    sx_status s = verb == 0 ? sx_range_count(ix, &ranges, &out, &call)
                : verb == 1 ? sx_range(ix, &ranges, &first, &out, &out2, &call)
                : sx_range_aggregate(ix, &ranges, &g, &call);
    return s;
}
#define RANGE_REFUSED(verb, status, words) do { \
        REFUSED(range_call(verb), status, words); \
        refresh_ranges(); \
    } while (0)

static void test_ranges(void **state)
{
    (void)state;
    sx_column none = column(SX_U64, 0, NULL);
    refresh_ranges();
    for (int v = 0; v < 3; v++) {
        ranges.size = 0;          RANGE_REFUSED(v, SX_EINVAL, "size");
        ranges.size = 11;         RANGE_REFUSED(v, SX_EINVAL, "11");
        ranges.reserved = 1;      RANGE_REFUSED(v, SX_EINVAL, "reserved");
        ranges.lo = NULL;         RANGE_REFUSED(v, SX_EINVAL, "NULL");
        ranges.hi = NULL;         RANGE_REFUSED(v, SX_EINVAL, "NULL");
        hi.n = 2;                 RANGE_REFUSED(v, SX_EINVAL, "2");
        hi.n = 6;                 RANGE_REFUSED(v, SX_EINVAL, "6");
        lo.n = 7;                 RANGE_REFUSED(v, SX_EINVAL, "7");
        lo.type = SX_U32;         RANGE_REFUSED(v, SX_EINVAL, "u32");
        hi.type = SX_F64;         RANGE_REFUSED(v, SX_EINVAL, "f64");
        lo.data = NULL;           RANGE_REFUSED(v, SX_EINVAL, "NULL");
        hi.place = 8;             RANGE_REFUSED(v, SX_EINVAL, "8");
        hi.reserved[2] = 1;       RANGE_REFUSED(v, SX_EINVAL, "reserved");
        call.size = 2;            RANGE_REFUSED(v, SX_EINVAL, "2");
        call.hints = 6;           RANGE_REFUSED(v, SX_EINVAL, "hints");
        out.type = SX_F64;        RANGE_REFUSED(v, SX_EINVAL, "f64");
        out.place = 4;            RANGE_REFUSED(v, SX_EINVAL, "4");
        out.data = NULL;          RANGE_REFUSED(v, SX_EINVAL, "NULL");
        out.reserved[0] = 1;      RANGE_REFUSED(v, SX_EINVAL, "reserved");
        if (v == 1)
            continue;             /* its outputs are tried below */
        out.type = SX_U32;        RANGE_REFUSED(v, SX_EINVAL, "u32");
        out.n = 2;                RANGE_REFUSED(v, SX_ESPACE, "2");
    }
    REFUSED(sx_range_count(NULL, &ranges, &out, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_range_count(ix, NULL, &out, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_range_count(ix, &ranges, NULL, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_range(NULL, &ranges, &first, NULL, NULL, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_range(ix, NULL, &first, NULL, NULL, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_range(ix, &ranges, NULL, &out, NULL, NULL), SX_EINVAL, "NULL");
    refresh_ranges();
    first.n = 3;                  RANGE_REFUSED(1, SX_EINVAL, "3");
    first.type = SX_U32;          RANGE_REFUSED(1, SX_EINVAL, "u32");
    first.place = 6;              RANGE_REFUSED(1, SX_EINVAL, "6");
    first.data = NULL;            RANGE_REFUSED(1, SX_EINVAL, "NULL");
    first.reserved[2] = 1;        RANGE_REFUSED(1, SX_EINVAL, "reserved");
    out2.type = SX_I64;           RANGE_REFUSED(1, SX_EINVAL, "i64");
    out2.place = 6;               RANGE_REFUSED(1, SX_EINVAL, "6");
    out2.reserved[2] = 1;         RANGE_REFUSED(1, SX_EINVAL, "reserved");

    sx_aggregates g = { .size = 0, .sum = &out };
    REFUSED(sx_range_aggregate(ix, &ranges, &g, NULL), SX_EINVAL, "size");
    g.size = sizeof g;
    refresh_ranges();
    REFUSED(sx_range_aggregate(NULL, &ranges, &g, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_range_aggregate(ix, NULL, &g, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_range_aggregate(ix, &ranges, NULL, NULL), SX_EINVAL, "NULL");
    /* A bad column among good ones: none of them is written. */
    refresh_ranges();
    first.type = SX_U32;
    g = (sx_aggregates){ sizeof g, &out, &out2, &first, NULL };
    REFUSED(sx_range_aggregate(ix, &ranges, &g, NULL), SX_EINVAL, "u32");
    refresh_ranges();
    first.n = 1;
    REFUSED(sx_range_aggregate(ix, &ranges, &g, NULL), SX_ESPACE, "1");
    /* Scratch for three ranges is more than a byte. */
    refresh_ranges();
    call.max_bytes = 1;           RANGE_REFUSED(1, SX_ENOMEM, "max_bytes = 1");
    /* No range at all is fine. */
    refresh_ranges();
    ranges.lo = ranges.hi = &none;
    assert_int_equal(range_call(1), SX_OK);
    assert_true(outs[2][0] == 0);
}

/* Too little space for rows or keys: first is filled, nothing else is. */
static void test_range_space(void **state)
{
    (void)state;
    /* [0,50] [5,55] [10,60]: 6 + 5 + 6 keys */
    const uint64_t want[4] = { 0, 6, 11, 17 };
    for (int which = 0; which < 4; which++) {
        refresh_ranges();
        out.n = which == 0 ? 16 : which == 3 ? 0 : BIG;
        out2.n = which == 1 ? 16 : BIG;
        sx_status s = sx_range(ix, &ranges, &first, which == 1 ? NULL : &out,
                               which == 2 ? NULL : &out2, &call);
        assert_int_equal(s, which == 2 ? SX_OK : SX_ESPACE);
        assert_memory_equal(outs[2], want, sizeof want);
        memset(outs[2], GUARD_FILL, sizeof outs[2]);
        if (s == SX_OK)
            continue;
        assert_true(outputs_untouched());
        assert_non_null(strstr(sx_detail(), "17"));
        assert_non_null(strstr(sx_detail(), which == 3 ? "0" : "16"));
    }
    refresh_ranges();
    out.n = out2.n = 17;          /* just enough */
    assert_int_equal(range_call(1), SX_OK);
    assert_int_equal(outs[0][16], 6);
    assert_int_equal(outs[1][16], 60);
}

/* ---- looking at an index -------------------------------------------------- */

static void test_looking(void **state)
{
    (void)state;
    sx_index_info info = { .size = sizeof info, .n = 77 };
    char text[8] = "unharmd";
    size_t bytes = sizeof text, need_text;
    REFUSED(sx_describe(NULL, &info), SX_EINVAL, "NULL");
    REFUSED(sx_describe(ix, NULL), SX_EINVAL, "NULL");
    info.size = 1;
    REFUSED(sx_describe(ix, &info), SX_EINVAL, "size");
    assert_int_equal(info.n, 77);
    REFUSED(sx_check(NULL, NULL), SX_EINVAL, "NULL");

    REFUSED(sx_explain(NULL, SX_TEXT, text, &bytes), SX_EINVAL, "NULL");
    REFUSED(sx_explain(ix, SX_TEXT, text, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_explain(ix, (sx_format)9, text, &bytes), SX_EINVAL, "9");
    assert_int_equal(bytes, sizeof text);
    assert_int_equal(sx_explain(ix, SX_TEXT, text, &bytes), SX_ESPACE);
    assert_true(bytes > sizeof text);
    need_text = bytes;
    assert_int_equal(sx_explain(ix, SX_TEXT, NULL, &bytes), SX_ESPACE);
    assert_int_equal(bytes, need_text);

    assert_int_equal(sx_type_bytes(0), 0);
    assert_int_equal(sx_type_bytes(8), 0);
    assert_int_equal(sx_type_bytes(-5), 0);
    assert_int_equal(sx_type_named("u16"), 0);
    assert_int_equal(sx_type_named(""), 0);
    assert_int_equal(sx_type_named(NULL), 0);
    for (size_t i = 0; i < COUNT_OF(key_types); i++)
        assert_int_equal(sx_type_named(sx_type_name(key_types[i])),
                         key_types[i]);
    for (int s = SX_OK; s <= SX_ECANCELED; s++)
        assert_true(strlen(sx_strerror((sx_status)s)) > 3);
    assert_non_null(sx_strerror((sx_status)12345));
    assert_int_equal(sx_version(), SX_VERSION);
}

/* ---- files -------------------------------------------------------------- */

static void hung(int signal_number)
{
    static const char text[] = "sx_load() waits for a pipe\n";
    (void)signal_number;
    _exit(write(2, text, sizeof text - 1) < 0 ? 2 : 1);
}

static void test_files(void **state)
{
    (void)state;
    sx_index *const mark = (sx_index *)outs, *loaded = mark;
    char *missing = temp_path("missing.sxt"), *dir = temp_path("a-directory");
    char *garbage = temp_path("garbage.sxt"), *empty = temp_path("empty.sxt");
    char *inside = temp_path("no/such/directory.sxt");
    unsigned char noise[5000];
    rnd r = rnd_start(test_seed());
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)rnd_next(&r);
    char *pipe = temp_path("pipe.sxt");
    mkdir(dir, 0700);
    if (mkfifo(pipe, 0600) != 0)
        die("making a pipe");
    write_file(garbage, noise, sizeof noise);
    write_file(empty, noise, 0);
    signal(SIGALRM, hung);
    alarm(HANGS_S);
    for (unsigned flags = 0; flags < 4; flags++) {
        REFUSED(sx_load(&loaded, dev, missing, flags, NULL), SX_EIO, missing);
        REFUSED(sx_load(&loaded, dev, dir, flags, NULL), SX_EIO, dir);
        REFUSED(sx_load(&loaded, dev, garbage, flags, NULL), SX_ECORRUPT, garbage);
        REFUSED(sx_load(&loaded, dev, empty, flags, NULL), SX_ECORRUPT, empty);
        REFUSED(sx_load(&loaded, dev, "/dev/null", flags, NULL), SX_EIO,
                "/dev/null");
        /* A pipe that nobody writes to must not be waited for. */
        REFUSED(sx_load(&loaded, dev, pipe, flags, NULL), SX_EIO, pipe);
    }
    alarm(0);
    REFUSED(sx_load(&loaded, dev, garbage, 64u, NULL), SX_EINVAL, "64");
    REFUSED(sx_load(&loaded, dev, garbage, SX_LOAD_HYBRID | SX_LOAD_BOTH, NULL), SX_EINVAL, "48");
    REFUSED(sx_load(&loaded, dev, NULL, 0, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_load(&loaded, NULL, garbage, 0, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_load(NULL, dev, garbage, 0, NULL), SX_EINVAL, "NULL");
    assert_ptr_equal(loaded, mark);
    REFUSED(sx_save(ix, inside, NULL), SX_EIO, inside);
    REFUSED(sx_save(ix, dir, NULL), SX_EIO, dir);
    REFUSED(sx_save(ix, "", NULL), SX_EIO, "''");
    REFUSED(sx_save(ix, NULL, NULL), SX_EINVAL, "NULL");
    REFUSED(sx_save(NULL, garbage, NULL), SX_EINVAL, "NULL");
    char *paths[] = { missing, dir, garbage, empty, inside, pipe };
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        free(paths[i]);
}

/* ---- details belong to their thread ---------------------------------------- */

static void *other_thread(void *arg)
{
    sx_index *made;
    sx_column c = column(SX_U64, 0, NULL);
    if (sx_detail()[0] != '\0')   /* nothing has failed here */
        return "the detail came from another thread";
    if (sx_build(&made, arg, "fromanotherthread", &c, NULL, NULL) != SX_EINVAL
        || !strstr(sx_detail(), "fromanotherthread"))
        return "no detail of its own";
    return NULL;
}

static void test_detail(void **state)
{
    (void)state;
    pthread_t thread;
    void *wrong;
    assert_int_equal(build("frommain", NULL), SX_EINVAL);
    assert_int_equal(pthread_create(&thread, NULL, other_thread, dev), 0);
    assert_int_equal(pthread_join(thread, &wrong), 0);
    if (wrong)
        fail_msg("%s", (char *)wrong);
    assert_non_null(strstr(sx_detail(), "frommain"));
    assert_int_equal(sx_get(ix, &q, &out, NULL), SX_OK);
    assert_non_null(strstr(sx_detail(), "frommain"));   /* still */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_open, fresh),
        cmocka_unit_test_setup(test_build_arguments, fresh),
        cmocka_unit_test_setup(test_build_rows, fresh),
        cmocka_unit_test_setup(test_build_unique, fresh),
        cmocka_unit_test_setup(test_estimate, fresh),
        cmocka_unit_test_setup(test_points, fresh),
        cmocka_unit_test_setup(test_narrow_outputs, fresh),
        cmocka_unit_test_setup(test_ranges, fresh),
        cmocka_unit_test_setup(test_range_space, fresh),
        cmocka_unit_test_setup(test_looking, fresh),
        cmocka_unit_test_setup(test_files, fresh),
        cmocka_unit_test_setup(test_detail, fresh),
    };
    return cmocka_run_group_tests_name("errors", tests, set_up, tear_down)
           != 0;
}
