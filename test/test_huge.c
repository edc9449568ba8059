/* test_huge.c - indexes of more keys than 32 bits count, and indexes larger than the memory of
 * their GPU.
 *
 * Rank r has the key r * STEP + some number below STEP, so keys ascend in uneven steps, and the
 * answer to any question is arithmetic. Every answer is looked at. Keys come in two ways: they
 * ascend and have no rows (rows are ranks); or they are pairs, in another order, with rows of 64
 * bits.
 *
 * Everywhere there are few keys, so that all of this is run: on the CPU, and with the emulator as
 * the GPU. SX_HUGE_KEYS=4311744517 SX_HUGE_LOG2=30 makes it more than 2^32 keys, and 2^30 pairs,
 * for which a host needs 100 GiB of memory, or 64 and a disk (TMPDIR). SX_HUGE_SPECS=btree leaves
 * the other one out. */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "on_device.h"

#define STEP (1ull << 30)         /* up to 2^34 keys */
#define SMALL_KEYS 30011u
#define SMALL_LOG2 14
#define LARGE (1ull << 26)        /* more keys than this: fewer things are done twice */

static uint64_t keys_many;        /* that ascend */
static uint64_t pairs_all;        /* a power of two */

/* ---- what answers must be ------------------------------------------------- */

typedef struct {
    uint64_t n;
    bool pairs;
} keyset;

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t key_of(uint64_t rank)
{
    return rank * STEP + mixed(rank) % STEP;
}

static uint64_t rank_left(const keyset *s, uint64_t q)
{
    uint64_t r = q / STEP;
    return r >= s->n ? s->n : r + (key_of(r) < q);
}

static uint64_t rank_right(const keyset *s, uint64_t q)
{
    uint64_t r = q / STEP;
    return r >= s->n ? s->n : r + (key_of(r) <= q);
}

static uint64_t row_at(const keyset *s, uint64_t rank)
{
    return rank >= s->n ? SX_MISS : s->pairs ? 7 * rank + (1ull << 33) : rank;
}

/* The sum of the rows of ranks [begin, end), modulo 2^64. */
static uint64_t rows_sum(const keyset *s, uint64_t begin, uint64_t end)
{
    uint64_t count = end - begin, ends = begin + end - 1;         /* one of both is even */
    uint64_t ranks = count % 2 ? ends / 2 * count : count / 2 * ends;
    return s->pairs ? 7 * ranks + (count << 33) : ranks;
}

/* ---- keys ----------------------------------------------------------------------- */

#define HELPERS 16u

typedef struct {
    const keyset *s;
    uint64_t *keys, *rows, begin, end;
    pthread_t thread;
} maker;

/* Position i has the rank i, or of pairs another one. */
static void *make_part(void *arg)
{
    const maker *m = arg;
    uint64_t other = m->s->pairs ? 0x2c9277b5u & (m->s->n - 1) : 0;
    for (uint64_t i = m->begin; i < m->end; i++) {
        m->keys[i] = key_of(i ^ other);
        if (m->rows)
            m->rows[i] = row_at(m->s, i ^ other);
    }
    return NULL;
}

static void make_keys(const keyset *s, uint64_t *keys, uint64_t *rows)
{
    maker m[HELPERS];
    for (unsigned i = 0; i < HELPERS; i++) {
        m[i] = (maker){ s, keys, rows, s->n / HELPERS * i,
                        i + 1 < HELPERS ? s->n / HELPERS * (i + 1) : s->n, 0 };
        if (pthread_create(&m[i].thread, NULL, make_part, &m[i]) != 0)
            die("no thread");
    }
    for (unsigned i = 0; i < HELPERS; i++)
        pthread_join(m[i].thread, NULL);
}

/* Memory that is not taken before it is used. */
static void *reserve(uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED)
        die("%" PRIu64 " bytes of memory", bytes);
    return p;
}

/* The memory that the system has left; if it does not say: enough. */
static uint64_t host_memory(void)
{
    char line[256];
    unsigned long long kib = UINT64_MAX / 1024;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double report(const keyset *s, const char *what, double since)
{
    double took = seconds() - since;
    if (s->n > LARGE) {
        printf("    %-52s %8.2f s\n", what, took);
        fflush(stdout);
    }
    return took;
}

/* ---- questions ------------------------------------------------------------------- */

static char wrong_text[200];
static const char *wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *wrong(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(wrong_text, sizeof wrong_text, format, args);
    va_end(args);
    return wrong_text;
}

typedef struct {
    uint64_t n;
    uint64_t *q, *hi, *out, *keys, *first;
} questions;

/* Ranks anywhere, and a quarter of them about 2^32, or the middle of fewer keys. */
static uint64_t some_rank(const keyset *s, rnd *r)
{
    uint64_t middle = s->n > 1ull << 32 ? 1ull << 32 : s->n / 2, near = rnd_below(r, 2000);
    if (rnd_below(r, 4))
        return rnd_below(r, s->n + 2);
    return middle + near > 1000 ? middle + near - 1000 : 0;
}

/* Keys, and numbers around them. hi: where ranges of a few keys end. */
static questions questions_new(const keyset *s, uint64_t n, rnd *r)
{
    questions x = { .n = n, .q = need(n * 8), .hi = need(n * 8), .out = need(n * 8),
                    .keys = need(n * 8), .first = need((n + 1) * 8) };
    for (uint64_t i = 0; i < n; i++) {
        uint64_t rank = some_rank(s, r), more = rnd_below(r, 40);
        x.q[i] = key_of(rank) + rnd_below(r, 3) - (rank > 0);
        x.hi[i] = rnd_below(r, 20) ? key_of(rank + more) - rnd_below(r, 2) : x.q[i] / 2;
    }
    x.q[0] = 0;
    x.hi[0] = 0;
    return x;
}

static void questions_free(questions *x)
{
    free(x->q);
    free(x->hi);
    free(x->out);
    free(x->keys);
    free(x->first);
}

enum { GET, LEFT, RIGHT, FLOOR, CEIL, VERBS };
static const char *const verb_names[] = { "get", "rank left", "rank right", "floor", "ceil" };

static sx_status ask_verb(unsigned verb, const sx_index *ix, const sx_column *q, sx_column *out,
                          sx_column *keys)
{
    switch (verb) {
    case GET: return sx_get(ix, q, out, NULL);
    case LEFT: return sx_rank(ix, q, SX_LEFT, out, NULL);
    case RIGHT: return sx_rank(ix, q, SX_RIGHT, out, NULL);
    case FLOOR: return sx_floor(ix, q, out, keys, NULL);
    default: return sx_ceil(ix, q, out, keys, NULL);
    }
}

/* The number that a verb gives for q, and the rank whose key it gives. */
static uint64_t answer(unsigned verb, const keyset *s, uint64_t q, uint64_t *rank)
{
    uint64_t left = rank_left(s, q);
    *rank = verb == FLOOR ? rank_right(s, q) - 1 : left;
    if (verb == GET)
        return left < s->n && key_of(left) == q ? row_at(s, left) : SX_MISS;
    return verb == LEFT ? left : verb == RIGHT ? rank_right(s, q) : row_at(s, *rank);
}

static const char *look_at_points(const sx_index *ix, const keyset *s, const questions *x)
{
    sx_column q = column(SX_U64, x->n, x->q), out = column(SX_U64, x->n, x->out);
    sx_column keys = column(SX_U64, x->n, x->keys);
    for (unsigned verb = 0; verb < VERBS; verb++) {
        memset(x->keys, 0xa7, x->n * 8);
        if (ask_verb(verb, ix, &q, &out, &keys) != SX_OK)
            return wrong("%s: %s", verb_names[verb], sx_detail());
        for (uint64_t i = 0; i < x->n; i++) {
            uint64_t rank, want = answer(verb, s, x->q[i], &rank);
            uint64_t key = verb >= FLOOR && rank < s->n ? key_of(rank) : 0xa7a7a7a7a7a7a7a7u;
            if (x->out[i] != want || x->keys[i] != key)
                return wrong("%s of %" PRIu64 ": %" PRIu64 ", key %" PRIu64 "; not %" PRIu64
                             ", %" PRIu64, verb_names[verb], x->q[i], x->out[i], x->keys[i], want,
                             key);
        }
    }
    return NULL;
}

static const char *look_at_ranks(const sx_index *ix, const keyset *s, const questions *x, rnd *r)
{
    sx_column ranks = column(SX_U64, x->n, x->first), out = column(SX_U64, x->n, x->out);
    sx_column keys = column(SX_U64, x->n, x->keys);
    for (uint64_t i = 0; i < x->n; i++)
        x->first[i] = some_rank(s, r);
    if (sx_key_at(ix, &ranks, &keys, &out, NULL) != SX_OK)
        return wrong("key_at: %s", sx_detail());
    for (uint64_t i = 0; i < x->n; i++)
        if (x->out[i] != row_at(s, x->first[i]) ||
            (x->first[i] < s->n && x->keys[i] != key_of(x->first[i])))
            return wrong("key_at %" PRIu64 ": row %" PRIu64, x->first[i], x->out[i]);
    return NULL;
}

/* Rows and keys of ranges of a few keys. */
static const char *look_at_ranges(const sx_index *ix, const keyset *s, const questions *x)
{
    sx_column lo = column(SX_U64, x->n, x->q), hi = column(SX_U64, x->n, x->hi);
    sx_column first = column(SX_U64, x->n + 1, x->first);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
    uint64_t total = 0, *rows, *keys;
    const char *why = NULL;
    if (sx_range(ix, &ranges, &first, NULL, NULL, NULL) != SX_OK)
        return wrong("ranges: %s", sx_detail());
    total = x->first[x->n];
    rows = need(total * 8 + 8);
    keys = need(total * 8 + 8);
    sx_column out = column(SX_U64, total, rows), found = column(SX_U64, total, keys);
    if (sx_range(ix, &ranges, &first, &out, &found, NULL) != SX_OK)
        why = wrong("ranges: %s", sx_detail());
    for (uint64_t i = 0, at = 0; i < x->n && !why; i++) {
        uint64_t begin = rank_left(s, x->q[i]), end = rank_right(s, x->hi[i]);
        if (x->first[i] != at)
            why = wrong("range %" PRIu64 " begins at %" PRIu64 ", not %" PRIu64, i, x->first[i],
                        at);
        for (uint64_t rank = begin; x->q[i] <= x->hi[i] && rank < end && !why; rank++, at++)
            if (rows[at] != row_at(s, rank) || keys[at] != key_of(rank))
                why = wrong("range %" PRIu64 ", rank %" PRIu64 ": row %" PRIu64, i, rank, rows[at]);
    }
    free(rows);
    free(keys);
    return why;
}

/* Nearly all keys: how many, and the sum of their rows. */
static const char *look_at_wide(const sx_index *ix, const keyset *s)
{
    uint64_t ends[2] = { key_of(3), key_of(s->n - 2) }, count[1], sum[1];
    uint64_t want = rows_sum(s, 3, s->n - 1);
    sx_column lo = column(SX_U64, 1, &ends[0]), hi = column(SX_U64, 1, &ends[1]);
    sx_column counts = column(SX_U64, 1, count), sums = column(SX_U64, 1, sum);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
    sx_aggregates out = { .size = sizeof out, .count = &counts, .sum = &sums };
    if (sx_range_aggregate(ix, &ranges, &out, NULL) != SX_OK)
        return wrong("aggregate: %s", sx_detail());
    if (count[0] != s->n - 4 || sum[0] != want)
        return wrong("all but four: %" PRIu64 " keys, rows sum up to %" PRIu64 ", not %" PRIu64,
                     count[0], sum[0], want);
    return NULL;
}

/* Everything, or a failed test. Returns the seconds that gets took. */
static double ask_everything(const sx_index *ix, const keyset *s, const char *what)
{
    bool large = s->n > LARGE;
    rnd r = rnd_start(test_seed());
    questions x = questions_new(s, large ? 1u << 22 : 20000, &r);
    sx_column q = column(SX_U64, x.n, x.q), out = column(SX_U64, x.n, x.out);
    double since = seconds(), gets;
    const char *why = look_at_points(ix, s, &x);
    begin_step("%s", what);
    if (!why)
        why = look_at_ranks(ix, s, &x, &r);
    if (!why)
        why = look_at_ranges(ix, s, &x);
    if (!why)
        why = look_at_wide(ix, s);
    report(s, what, since);
    since = seconds();
    if (!why && sx_get(ix, &q, &out, NULL) != SX_OK)
        why = sx_detail();
    gets = seconds() - since;
    if (large && !why)
        printf("    %-52s %8.1f M/s\n", "  of gets, one call", (double)x.n / gets * 1e-6);
    questions_free(&x);
    if (why)
        fail_msg("%s: %s", what, why);
    return gets;
}

/* ---- more than 2^32 keys ------------------------------------------------------------- */

static const char *named(const char *spec, const char *rest)
{
    static char texts[6][SX_SPEC_MAX + 40];
    static unsigned turn;
    char *text = texts[turn++ % COUNT_OF(texts)];
    snprintf(text, sizeof texts[0], "%s%s", spec, rest);
    return text;
}

static sx_index *build(sx_device *dev, const keyset *s, const uint64_t *keys, const uint64_t *rows,
                       const char *spec)
{
    sx_column k = column(SX_U64, s->n, keys), r = column(SX_U64, s->n, rows);
    sx_index *ix = NULL;
    double since = seconds();
    begin_step("building %s", spec);
    if (sx_build(&ix, dev, spec, &k, rows ? &r : NULL, NULL) != SX_OK)
        fail_msg("%s: %s", spec, sx_detail());
    report(s, named("build ", spec), since);
    return ix;
}

static sx_index *load(sx_device *dev, const keyset *s, const char *path, unsigned flags,
                      const char *what)
{
    sx_index *ix = NULL;
    double since = seconds();
    if (sx_load(&ix, dev, path, flags, NULL) != SX_OK)
        fail_msg("%s: %s", what, sx_detail());
    report(s, what, since);
    return ix;
}

/* Whether the GPU takes part, whatever that gains. */
static sx_device *gpu_device(uint64_t memory)
{
    char options[80];
    int n = snprintf(options, sizeof options, "side=gpu%s",
                     kernel_is_gpu() ? "" : ",bucket=700");
    if (memory)
        snprintf(options + n, sizeof options - (size_t)n, ",memory=%" PRIu64, memory);
    return device_open(kernel_with(options));
}

/* Keys that ascend, and no rows: built, saved and loaded, on the CPU and hybrid. */
static void test_many(void **state)
{
    const char *spec = *state;
    keyset s = { keys_many, false };
    uint64_t bytes = s.n * 8;
    if (host_memory() < bytes / 4 * 9)    /* the keys twice, and what is above them */
        SKIP("too little memory on the host: SX_HUGE_KEYS makes the test smaller");
    uint64_t *keys = reserve(bytes);
    char *path = temp_path("huge.sxt");
    sx_device *cpu = device_open("cpu"), *gpu = gpu_device(0);
    double since = seconds();
    make_keys(&s, keys, NULL);
    report(&s, "keys", since);
    sx_index *ix = build(gpu, &s, keys, NULL, named(spec, " place=hybrid"));
    ask_everything(ix, &s, named(spec, " hybrid"));
    sx_free(ix);
    ix = build(cpu, &s, keys, NULL, spec);
    munmap(keys, bytes);
    ask_everything(ix, &s, named(spec, " on the CPU"));
    if (s.n <= LARGE)
        OK(sx_check(ix, NULL));
    since = seconds();
    OK(sx_save(ix, path, NULL));
    report(&s, "save", since);
    sx_free(ix);
    ix = load(cpu, &s, path, SX_LOAD_VERIFY, "load, verified");
    ask_everything(ix, &s, "loaded on the CPU");
    sx_free(ix);
    ix = load(gpu, &s, path, SX_LOAD_HYBRID, "load hybrid");
    ask_everything(ix, &s, "loaded hybrid");
    sx_free(ix);
    unlink(path);
    free(path);
    sx_close(gpu);
    sx_close(cpu);
}

/* ---- larger than the GPU's memory ------------------------------------------------------ */

/* Pairs whose leaves are twice the device's memory: a hybrid index of them is as right as one
 * whose device has memory enough, and one in the device's memory is refused. */
static void test_capped(void **state)
{
    const char *spec = *state;
    keyset s = { pairs_all, true };
    uint64_t leaves = s.n * 16;
    sx_index *none = NULL;
    double took[2];
    if (host_memory() < leaves / 2 * 7)
        SKIP("too little memory on the host: SX_HUGE_LOG2 makes the test smaller");
    uint64_t *keys = reserve(s.n * 8), *rows = reserve(s.n * 8);
    make_keys(&s, keys, rows);
    for (unsigned capped = 0; capped < 2; capped++) {
        sx_device *dev = gpu_device(capped ? leaves / 2 : 0);
        sx_index *ix = build(dev, &s, keys, rows, named(spec, " place=hybrid"));
        sx_column k = column(SX_U64, s.n, keys), r = column(SX_U64, s.n, rows);
        took[capped] = ask_everything(ix, &s, capped ? "capped" : "not capped");
        if (capped) {
            assert_int_equal(sx_build(&none, dev, spec, &k, &r, NULL), SX_ENOMEM);
            assert_non_null(strstr(sx_detail(), "bytes needed"));
            assert_null(none);
        }
        sx_free(ix);
        sx_close(dev);
    }
    if (s.n > LARGE)
        printf("    %-52s %8.2f x\n", "capped, times not capped", took[0] / took[1]);
    munmap(keys, s.n * 8);
    munmap(rows, s.n * 8);
}

/* ---- the arithmetic itself --------------------------------------------------------------- */

/* Against a plain loop over a few keys. */
static void test_arithmetic(void **state)
{
    (void)state;
    keyset s = { 200, false };
    rnd r = rnd_start(test_seed());
    for (uint64_t rank = 1; rank < s.n; rank++)
        assert_true(key_of(rank - 1) < key_of(rank));
    for (unsigned i = 0; i < 40; i++) {
        keyset of = { 200, i % 2 };
        uint64_t begin = rnd_below(&r, 100), end = begin + rnd_below(&r, 100), sum = 0;
        for (uint64_t rank = begin; rank < end; rank++)
            sum += row_at(&of, rank);
        assert_int_equal(rows_sum(&of, begin, end), sum);
    }
    assert_true(key_of((1ull << 34) - 1) > key_of(1ull << 33));
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t q = key_of(rnd_below(&r, s.n + 3)) + rnd_below(&r, 3) - 1, below = 0, upto = 0;
        for (uint64_t rank = 0; rank < s.n; rank++) {
            below += key_of(rank) < q;
            upto += key_of(rank) <= q;
        }
        assert_int_equal(rank_left(&s, q), below);
        assert_int_equal(rank_right(&s, q), upto);
    }
}

/* A number of the environment. */
static uint64_t told(const char *name, uint64_t usual, uint64_t least, uint64_t most)
{
    const char *text = getenv(name);
    uint64_t x = text && *text ? strtoull(text, NULL, 10) : usual;
    if (x < least || x > most)
        die("%s is %s; allowed: %" PRIu64 " to %" PRIu64, name, text, least, most);
    return x;
}

int main(void)
{
    static const char *const specs[] = { "btree", "pivot" };
    static const char *const names[][2] = { { "btree, many keys", "btree, capped" },
                                            { "pivot, many keys", "pivot, capped" } };
    const char *wanted = getenv("SX_HUGE_SPECS");
    struct CMUnitTest tests[1 + 2 * COUNT_OF(specs)] = { cmocka_unit_test(test_arithmetic) };
    size_t n = 1;
    keys_many = told("SX_HUGE_KEYS", SMALL_KEYS, 10000, STEP << 4);
    pairs_all = 1ull << told("SX_HUGE_LOG2", SMALL_LOG2, 12, 33);
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        if (wanted && *wanted && !strstr(wanted, specs[i]))
            continue;
        tests[n++] = (struct CMUnitTest){ names[i][0], test_many, NULL, NULL, (void *)specs[i] };
        tests[n++] = (struct CMUnitTest){ names[i][1], test_capped, NULL, NULL, (void *)specs[i] };
    }
    test_seed();
    /* What is left out has no name, and cmocka passes over it. */
    return cmocka_run_group_tests_name("huge", tests, NULL, NULL) != 0;
}
