/* test_large.c - more keys than fit the caches.
 *
 * Large inputs are sorted, allocated and shared out differently from small
 * ones. The oracle would take long to sort them, so an index is first read back
 * in order, and proves itself: keys ascend, each row leads back to its key in the
 * input, equal keys have ascending rows, no row comes twice. The keys that were
 * read back are then the oracle for all questions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "ask.h"

#define BYTES (5u << 20)          /* of keys: blocks of their own, many passes */
#define QUERIES 3000

static asker *asking;

/* ---- keys that are hard to sort ---------------------------------------------- */

typedef enum {
    UNIFORM,
    SORTED,
    REVERSED,
    NEARLY_SORTED,                /* but for the last key */
    ONE_OUTLIER,                  /* all others share their top bits */
    FEW_BITS,                     /* 16 distinct keys */
    TOP_BITS,                     /* only the highest byte varies */
    NESTED,                       /* ever more keys share ever more bits */
    SHAPES
} shape;
static const char *const shape_names[] = {
    "uniform", "sorted", "reversed", "nearly sorted", "one outlier",
    "few bits", "top bits", "nested"
};

/* The key of this width with these bits. */
static void put_key(int type, unsigned char *out, uint64_t high, uint64_t low)
{
    if (type == SX_B16) {         /* big-endian */
        for (int i = 0; i < 8; i++) {
            out[i] = (unsigned char)(high >> (56 - 8 * i));
            out[8 + i] = (unsigned char)(low >> (56 - 8 * i));
        }
    } else if (oracle_width(type) == 8) {
        memcpy(out, &high, 8);
    } else {
        uint32_t x = (uint32_t)(high >> 32);
        memcpy(out, &x, 4);
    }
}

static void make_keys(int type, shape how, uint64_t n, rnd *r,
                      unsigned char *out)
{
    size_t width = oracle_width(type);
    uint64_t step = UINT64_MAX / n;
    for (uint64_t i = 0; i < n; i++, out += width) {
        uint64_t x = rnd_next(r), y = rnd_next(r);
        unsigned shared = (unsigned)rnd_below(r, 56);
        switch (how) {
        case UNIFORM: put_key(type, out, x, y); break;
        case SORTED: put_key(type, out, i * step, y >> 1); break;
        case REVERSED: put_key(type, out, (n - i) * step, y >> 1); break;
        case NEARLY_SORTED:
            put_key(type, out, i + 1 < n ? (i + 1) * step : 0, y >> 1);
            break;
        case ONE_OUTLIER:
            put_key(type, out, i == n / 3 ? UINT64_MAX : x >> 20, y);
            break;
        case FEW_BITS: put_key(type, out, x >> 62 << 33, y >> 62); break;
        case TOP_BITS: put_key(type, out, x >> 56 << 56, 0); break;
        case NESTED: put_key(type, out, x >> shared, y >> shared); break;
        default: die("shape %d", (int)how);
        }
    }
}

/* ---- reading an index back --------------------------------------------------- */

/* Row of the i-th key: i itself, or a number of 64 bits made from it. */
static uint64_t row_of(uint64_t i, bool wide)
{
    return wide ? i << 20 | 0xfffff : i;
}

/* All keys and rows in order; NULL or what is wrong with them. */
static const char *read_back(const sx_index *ix, int type, uint64_t n,
                             const unsigned char *input, bool wide,
                             unsigned char *keys, uint64_t *rows)
{
    size_t width = oracle_width(type);
    const char *wrong = NULL;
    unsigned char *seen = calloc(n, 1);
    uint64_t *ranks = need(n * sizeof *ranks);
    if (!seen)
        die("memory");
    for (uint64_t i = 0; i < n; i++)
        ranks[i] = i;
    sx_column in = column(SX_U64, n, ranks), k = column(type, n, keys);
    sx_column r = column(SX_U64, n, rows);
    if (sx_key_at(ix, &in, &k, &r, NULL) != SX_OK)
        wrong = sx_detail();
    for (uint64_t i = 0; i < n && !wrong; i++) {
        uint64_t at = wide ? rows[i] >> 20 : rows[i];
        int c = i ? oracle_compare(type, keys + (i - 1) * width,
                                   keys + i * width) : -1;
        if (at >= n || rows[i] != row_of(at, wide))
            wrong = "a row that is none";
        else if (seen[at]++)
            wrong = "a row comes twice";
        else if (oracle_compare(type, keys + i * width,
                                input + at * width) != 0)
            wrong = "a row of another key";
        else if (c > 0)
            wrong = "keys descend";
        else if (c == 0 && rows[i - 1] > rows[i])
            wrong = "equal keys have changed places";
    }
    free(seen);
    free(ranks);
    return wrong;
}

static const char *build_and_ask(sx_device *dev, const char *spec, int type,
                                 shape how, bool wide, rnd *r)
{
    size_t width = oracle_width(type);
    uint64_t n = BYTES / width;
    unsigned char *input = need(n * width), *keys = need(n * width);
    uint64_t *rows = need(n * sizeof *rows);
    sx_index *ix = NULL;
    const char *wrong = NULL;
    make_keys(type, how, n, r, input);
    for (uint64_t i = 0; i < n; i++)
        rows[i] = row_of(i, wide);
    sx_column k = column(type, n, input), given = column(SX_U64, n, rows);
    if (sx_build(&ix, dev, spec, &k, wide ? &given : NULL, NULL) != SX_OK ||
        sx_check(ix, NULL) != SX_OK)
        wrong = sx_detail();
    if (!wrong)
        wrong = read_back(ix, type, n, input, wide, keys, rows);
    if (!wrong) {
        dataset *d = data_wrap(type, n, keys, ROWS_U64_WIDE, rows, QUERIES,
                               r);
        wrong = ask(asking, ix, d, wide ? SX_U64 : SX_U32, NULL);
        data_free(d);
    }
    sx_free(ix);
    free(input);
    free(keys);
    free(rows);
    return wrong;
}

/* ---- tests: one per shape ------------------------------------------------------ */

static const char *const specs[] = {
    "sorted", "eytzinger", "pivot", "sorted(layout=pairs)",
    "eytzinger(k=4,layout=pairs)", "pivot(layout=pairs)", "auto",
    "pivot(k=3,levels=4)", "auto(for=memory)", "pgm",
    "pgm(eps=1,layout=pairs)", "pgm(budget=40)", "btree", "btree(fill=70)",
    "radix", "radix(leaf=3,layout=pairs)",
};

static void test_shape(void **state)
{
    const shape how = *(const shape *)*state;
    static const int types[] = { SX_U32, SX_U64, SX_B16 };
    sx_device *one = device_open("cpu:threads=1");
    sx_device *two = device_open("cpu:threads=2");
    rnd r = rnd_start(test_seed() + how);
    for (unsigned i = 0; i < 2 * COUNT_OF(types); i++) {
        const char *spec = specs[(i + 5 * how) % COUNT_OF(specs)];
        const char *wrong = build_and_ask((i + how) % 2 ? one : two, spec,
                                          types[i / 2], how, i % 2, &r);
        if (wrong)
            fail_msg("%s, %s keys of %s, %s rows, %u threads: %s", spec,
                     shape_names[how], sx_type_name(types[i / 2]),
                     i % 2 ? "wide" : "no", (i + how) % 2 ? 1 : 2, wrong);
    }
    sx_close(one);
    sx_close(two);
}

/* ---- memory ------------------------------------------------------------ */

/* Sanitizers keep freed blocks, and have shadows of the others. */
#define OWN_MEMORY_ONLY (!UNDER_ASAN && !UNDER_TSAN)

/* The most memory of this process so far, in bytes; 0: the system does not say it.
 * reset: counts from now on. */
static uint64_t peak_memory(bool reset)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *f = reset ? fopen("/proc/self/clear_refs", "w") : NULL;
    if (f) {
        fputs("5", f);
        fclose(f);
    }
    f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %llu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

/* Building takes no more than estimated. A child builds, so that memory used before
 * does not count. */
static void test_peak(void **state)
{
    (void)state;
    const uint64_t n = 3u << 20, slack = 12u << 20;  /* huge pages round up */
    if (!OWN_MEMORY_ONLY)
        SKIP("a sanitizer takes memory, too");
    if (peak_memory(true) == 0)
        SKIP("the system does not say how much memory a process took");
    sx_device *dev = device_open("cpu:threads=2");
    rnd r = rnd_start(test_seed());
    unsigned char *input = need(n * 8);
    uint64_t *rows = need(n * sizeof *rows);
    make_keys(SX_U64, UNIFORM, n, &r, input);
    for (uint64_t i = 0; i < n; i++)
        rows[i] = row_of(i, true);
    sx_column k = column(SX_U64, n, input), given = column(SX_U64, n, rows);
    for (unsigned i = 0; i < 2 * COUNT_OF(specs); i++) {
        const char *spec = specs[i / 2];
        sx_estimate_info e = { .size = sizeof e };
        assert_int_equal(estimate_of(dev, spec, SX_U64, n, i % 2 ? SX_U64 : 0,
                                     &e), SX_OK);
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            sx_index *ix = NULL;
            uint64_t before = peak_memory(true);
            sx_status s = sx_build(&ix, dev, spec, &k, i % 2 ? &given : NULL,
                                   NULL);
            uint64_t taken = peak_memory(false) - before;
            if (s == SX_OK && taken <= e.host_peak + slack)
                _exit(0);
            fprintf(stderr, "%s: status %d, %llu bytes, estimated %llu\n",
                    spec, (int)s, (unsigned long long)taken,
                    (unsigned long long)e.host_peak);
            _exit(1);
        }
        int status = 1;
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            die("fork");
        assert_int_equal(status, 0);
    }
    free(input);
    free(rows);
    sx_close(dev);
}

/* Keys that ascend but for one place, and keys that are distinct but for one pair. That place
 * is seen wherever it is, between the parts that threads look at, or the pieces of these. */
static void test_one_place(void **state)
{
    (void)state;
    enum { PARTS = 64, PIECE = 1024 };    /* sort/sort.c, sort/values.c */
    uint32_t n = (1u << 16) + 200, *data = need(n * 4), *rank = need(n * 4);
    sx_column keys = column(SX_U32, n, data), ranks = column(SX_U32, n, rank);
    sx_device *dev = device_open("cpu:threads=2");
    for (unsigned i = 0; i < 3 * (PARTS + 3); i++) {
        uint32_t part = i / 3 % PARTS, place = n / PARTS * part + i % 3;
        if (i / 3 >= PARTS)               /* pieces of the last part */
            place = n / PARTS * (PARTS - 1) + (i / 3 - PARTS + 1) * (PIECE / 2) + i % 3;
        place -= place > 1;
        if (place == 0 || place >= n)
            continue;
        sx_index *ix = NULL;
        sx_status st;
        char word[60];
        for (uint32_t j = 0; j < n; j++)
            data[j] = 2 * j + (j < place ? 2 * n : 0);
        st = sx_build(&ix, dev, "sorted", &keys, NULL, NULL);
        if (st == SX_OK)
            st = sx_check(ix, NULL);
        sx_free(ix);
        if (st != SX_OK)
            fail_msg("a descent at %u: %s", place, sx_detail());
        for (uint32_t j = 0; j < n; j++)
            data[j] = 2 * (j - (j >= place));
        snprintf(word, sizeof word, "rows %u and %u ", place - 1, place);
        st = sx_build(&ix, dev, "sorted unique", &keys, NULL, NULL);
        if (st != SX_EINVAL || !strstr(sx_detail(), word))
            fail_msg("equal keys at %u: status %d, %s", place, (int)st, sx_detail());
        st = sx_build(&ix, dev, "sorted(layout=once)", &keys, NULL, NULL);
        if (st == SX_OK)
            st = sx_check(ix, NULL);
        if (st == SX_OK)
            st = sx_rank(ix, &keys, SX_LEFT, &ranks, NULL);
        if (st != SX_OK)
            fail_msg("a value twice at %u: %s", place, sx_detail());
        for (uint32_t j = 0; j < n; j++)
            assert_int_equal(rank[j], j - (j == place));
        sx_free(ix);
    }
    sx_close(dev);
    free(data);
    free(rank);
}

static int go_on(void *context, uint64_t done, uint64_t all)
{
    (void)context;
    (void)done;
    (void)all;
    return 0;
}

/* A range with so many keys that its rows are folded in pieces: by threads or, with a tick, by
 * one thread, piece by piece. The least and the largest row are in pieces in the middle. */
static void test_folded_in_pieces(void **state)
{
    (void)state;
    uint32_t n = 3u << 20, *data = need(n * 4), *row = need(n * 4), ends[2] = { 0, 2 * n };
    uint64_t count = 0, min = 0, max = 0, sum = 0, wanted = 0;
    for (uint32_t i = 0; i < n; i++) {
        data[i] = 2 * i;
        row[i] = i == n / 3 ? 5 : i == n / 2 ? 3000000000u : 1000 + i % 77;
        wanted += row[i];
    }
    sx_column keys = column(SX_U32, n, data), rows = column(SX_U32, n, row);
    sx_column lo = column(SX_U32, 1, &ends[0]), hi = column(SX_U32, 1, &ends[1]);
    sx_column counts = column(SX_U64, 1, &count), mins = column(SX_U64, 1, &min);
    sx_column maxs = column(SX_U64, 1, &max), sums = column(SX_U64, 1, &sum);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
    sx_aggregates out = { .size = sizeof out, .count = &counts, .min = &mins, .max = &maxs,
                          .sum = &sums };
    static const char *const three[] = { "sorted", "sorted(layout=pairs)", "eytzinger(k=9)" };
    sx_device *dev = device_open("cpu:threads=2");
    for (unsigned i = 0; i < 2 * COUNT_OF(three); i++) {
        sx_call call = { .size = sizeof call, .threads = i % 2, .tick = i % 2 ? go_on : NULL };
        sx_index *ix = NULL;
        assert_int_equal(sx_build(&ix, dev, three[i / 2], &keys, &rows, NULL), SX_OK);
        assert_int_equal(sx_range_aggregate(ix, &ranges, &out, &call), SX_OK);
        assert_true(count == n && min == 5 && max == 3000000000u && sum == wanted);
        sx_free(ix);
    }
    sx_close(dev);
    free(data);
    free(row);
}

/* So many ranges that threads share the sums of their counts. Key i is 2i and has the row i. */
static void test_many_ranges(void **state)
{
    (void)state;
    enum { N = 5000, EACH = 7 };
    static const uint32_t lengths[] = { 1, 32767, 32768, 32769, 70003 };
    uint32_t data[N], *lo = need(70003 * 4), *hi = need(70003 * 4);
    uint32_t *rows = need(70003 * EACH * sizeof *rows);
    uint64_t *first = need(70004 * 8);
    rnd r = rnd_start(test_seed());
    for (uint32_t i = 0; i < N; i++)
        data[i] = 2 * i;
    sx_column keys = column(SX_U32, N, data);
    for (unsigned t = 0; t < 2 * COUNT_OF(lengths); t++) {
        uint32_t n = lengths[t / 2], i = 0;
        sx_device *dev = device_open(t % 2 ? "cpu:threads=1" : "cpu:threads=3");
        sx_column l = column(SX_U32, n, lo), h = column(SX_U32, n, hi);
        sx_column at = column(SX_U64, n + 1, first), out = column(SX_U32, 70003 * EACH, rows);
        sx_ranges ranges = { .size = sizeof ranges, .lo = &l, .hi = &h };
        uint64_t sum = 0;
        sx_index *ix = NULL;
        for (i = 0; i < n; i++) {
            uint32_t many = (uint32_t)rnd_below(&r, EACH + 1), from = (uint32_t)rnd_below(&r, N);
            lo[i] = 2 * from;             /* those at the end have fewer keys */
            hi[i] = many ? 2 * (from + many) - 1 : 0;
        }
        assert_int_equal(sx_build(&ix, dev, "btree", &keys, NULL, NULL), SX_OK);
        assert_int_equal(sx_range(ix, &ranges, &at, &out, NULL, NULL), SX_OK);
        for (i = 0; i < n; i++) {
            assert_int_equal(first[i], sum);
            for (uint32_t row = lo[i] / 2; lo[i] <= hi[i] && row < N && 2 * row <= hi[i]; row++)
                assert_int_equal(rows[sum++], row);
        }
        assert_int_equal(first[n], sum);
        sx_free(ix);
        sx_close(dev);
    }
    free(lo);
    free(hi);
    free(rows);
    free(first);
}

int main(void)
{
    static shape shapes[SHAPES];
    struct CMUnitTest tests[SHAPES + 4];
    for (int i = 0; i < SHAPES; i++) {
        shapes[i] = (shape)i;
        tests[i] = (struct CMUnitTest){ shape_names[i], test_shape, NULL,
                                        NULL, &shapes[i] };
    }
    tests[SHAPES] = (struct CMUnitTest){ "peak", test_peak, NULL, NULL, NULL };
    tests[SHAPES + 1] = (struct CMUnitTest){ "one place", test_one_place, NULL, NULL, NULL };
    tests[SHAPES + 2] = (struct CMUnitTest){ "folded in pieces", test_folded_in_pieces, NULL, NULL,
                                             NULL };
    tests[SHAPES + 3] = (struct CMUnitTest){ "many ranges", test_many_ranges, NULL, NULL, NULL };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("large", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
