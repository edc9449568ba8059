/* test_gpu_large.c - a GPU with as many keys as it is made for.
 *
 * Row i has the key 3 * (i ^ scramble), for 2^30 rows. Every number below 2^30
 * comes once, so rank r has the key 3 * r and the row r ^ scramble, and the answer
 * to any question is arithmetic. Every answer is looked at.
 *
 * `make gpu-test` runs this with SX_TEST_GPU=cuda:0; elsewhere all but the
 * arithmetic is skipped. SX_LARGE_LOG2=12 makes it 2^12 rows, which the
 * emulator can do as well; 26 suits a GPU with little memory. */
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

static uint64_t rows_all;         /* 2^30 */
static uint32_t scramble;
static bool can_run;
#define NO_GPU "there is no GPU: make gpu-test, or SX_LARGE_LOG2=n for the emulator"
static uint32_t *all_keys;        /* of all rows; 4 GiB, made once */

/* ---- what answers must be ------------------------------------------------- */

#define POISON 0xa7a7a7a7u

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t rank_left(uint64_t n, uint32_t q)
{
    return least(((uint64_t)q + 2) / 3, n);
}

static uint64_t rank_right(uint64_t n, uint32_t q)
{
    return least((uint64_t)q / 3 + 1, n);
}

/* The row at a rank; ranks past the last have none. n is a power of two, and the
 * index of the first n rows has their bits of the scramble. */
static uint32_t row_at(uint64_t n, uint64_t rank)
{
    return rank < n ? (uint32_t)rank ^ (scramble & (uint32_t)(n - 1)) : SX_MISS32;
}

typedef enum { GET, LEFT, RIGHT, FLOOR, CEIL, VERBS } verb;
static const char *const verb_names[VERBS] = { "get", "rank left", "rank right", "floor", "ceil" };

/* The number that a verb gives for q in an index of n rows, and the key. */
static uint32_t answer(verb v, uint64_t n, uint32_t q, uint32_t *key)
{
    uint64_t rank = v == FLOOR ? rank_right(n, q) - 1 : rank_left(n, q);
    *key = rank < n ? (uint32_t)(3 * rank) : POISON;
    switch (v) {
    case GET: return q % 3 ? SX_MISS32 : row_at(n, rank);
    case LEFT: return (uint32_t)rank;
    case RIGHT: return (uint32_t)rank_right(n, q);
    default: return row_at(n, rank);
    }
}

typedef struct { uint64_t count, min, max, sum; } fold;

/* The fold over the rows at ranks [begin, end) of all: in each aligned block of 2^k
 * ranks the low k bits take every value. */
static fold fold_of(uint64_t begin, uint64_t end)
{
    fold f = { end - begin, UINT64_MAX, UINT64_MAX, 0 };
    uint64_t most = 0;
    for (uint64_t at = begin, size; at < end; at += size) {
        size = at ? at & -at : rows_all;
        while (size > end - at)
            size /= 2;
        uint64_t low = (at ^ scramble) & -size, high = low + size - 1;
        f.sum += size * low + (size % 2 ? 0 : size / 2 * (size - 1));
        f.min = least(f.min, low);
        most = high > most ? high : most;
    }
    if (begin < end)
        f.max = most;
    return f;
}

/* ---- work shared by threads of this program ---------------------------------- */

#define HELPERS 16u

typedef struct job job;
typedef uint64_t job_fn(const job *j, uint64_t begin, uint64_t end);

struct job {
    job_fn *fn;                   /* returns the first wrong element, or NONE */
    uint64_t n;                   /* elements */
    uint64_t rows;                /* of the index asked */
    uint64_t seed;
    verb what;
    uint32_t *q, *numbers, *keys;
};
#define NONE UINT64_MAX

typedef struct { const job *j; uint64_t begin, end, wrong; pthread_t thread; } helper;

static void *help(void *arg)
{
    helper *h = arg;
    h->wrong = h->j->fn(h->j, h->begin, h->end);
    return NULL;
}

static uint64_t together(const job *j)
{
    helper h[HELPERS];
    uint64_t each = j->n / HELPERS + 1, wrong = NONE;
    for (unsigned i = 0; i < HELPERS; i++) {
        h[i] = (helper){ .j = j, .begin = least(i * each, j->n),
                         .end = least((i + 1) * each, j->n) };
        if (pthread_create(&h[i].thread, NULL, help, &h[i]) != 0)
            die("no thread");
    }
    for (unsigned i = 0; i < HELPERS; i++) {
        pthread_join(h[i].thread, NULL);
        wrong = least(wrong, h[i].wrong);
    }
    return wrong;
}

static uint64_t make_keys(const job *j, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++)
        j->q[i] = 3 * ((uint32_t)i ^ scramble);
    return NONE;
}

/* Half of them are keys, and most of the rest are between two keys. */
static uint32_t query(uint64_t seed, uint64_t i)
{
    rnd r = rnd_start(seed + i * 0x9e3779b97f4a7c15u);
    uint64_t x = rnd_next(&r);
    uint32_t key = 3 * (uint32_t)(x >> 8 & (rows_all - 1));
    return x & 1 ? key : x & 0x3e ? key + 1 + (x >> 6 & 1)
         : UINT32_MAX - (uint32_t)(x >> 8 & 0xffff);
}

static uint64_t make_queries(const job *j, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++)
        j->q[i] = query(j->seed, i);
    return NONE;
}

static uint64_t check_answers(const job *j, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++) {
        uint32_t key, number = answer(j->what, j->rows, j->q[i], &key);
        if (j->numbers[i] != number || (j->keys && j->keys[i] != key))
            return i;
    }
    return NONE;
}

/* ---- helpers ---------------------------------------------------------------------- */

/* A sentence in a static buffer, one per thread. */
static const char *say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *say(const char *format, ...)
{
    static _Thread_local char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return text;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report(const char *spec, const char *step, double since)
{
    printf("    %-20s %-28s %6.2f s\n", spec, step, seconds() - since);
    fflush(stdout);
}

/* Memory that is not taken before it is used. */
static void *reserve(uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED)
        die("%llu bytes of memory", (unsigned long long)bytes);
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

static void make_all_keys(void)
{
    if (all_keys)
        return;
    all_keys = reserve(rows_all * sizeof *all_keys);
    job j = { .fn = make_keys, .n = rows_all, .q = all_keys };
    together(&j);
}

/* All that was queued on this thread's stream is done when a call that waits for
 * that stream is; copies inside device memory do. */
static const char *wait_for_stream(sx_device *dev, sx_column *word)
{
    sx_column a = slice(word, 0, 1), b = slice(word, 1, 1);
    return sx_column_copy(&b, &a, dev) == SX_OK ? NULL : sx_detail();
}

#define TRY(step) do { \
        const char *why_ = (step); \
        if (why_) \
            return why_; \
    } while (0)
#define TRY_SX(call) do { \
        if ((call) != SX_OK) \
            return say("%s: %s", #call, sx_detail()); \
    } while (0)

/* ---- points: many queries, every answer ---------------------------------------------- */

static sx_status ask_verb(verb v, const sx_index *ix, const sx_column *q, sx_column *numbers,
                          sx_column *keys, const sx_call *call)
{
    switch (v) {
    case GET: return sx_get(ix, q, numbers, call);
    case LEFT: return sx_rank(ix, q, SX_LEFT, numbers, call);
    case RIGHT: return sx_rank(ix, q, SX_RIGHT, numbers, call);
    case FLOOR: return sx_floor(ix, q, numbers, keys, call);
    default: return sx_ceil(ix, q, numbers, keys, call);
    }
}

static const char *complain_point(const job *j, uint64_t i)
{
    uint32_t key, number = answer(j->what, j->rows, j->q[i], &key);
    return say("%s of %" PRIu32 " [%" PRIu64 " of %" PRIu64 "]: %" PRIu32 ", not %" PRIu32
               "%s", verb_names[j->what], j->q[i], i, j->n, j->numbers[i], number,
               j->keys && j->keys[i] != key ? ", or another key" : "");
}

static const char *many_points(const sx_index *ix, const char *spec)
{
    uint64_t n = rows_all / 16, bytes = n * sizeof (uint32_t);
    uint32_t *q = reserve(bytes), *numbers = reserve(bytes), *keys = reserve(bytes);
    sx_column queries = column(SX_U32, n, q), out = column(SX_U32, n, numbers);
    sx_column out_keys = column(SX_U32, n, keys);
    const char *why = NULL;
    job j = { .fn = make_queries, .n = n, .rows = rows_all, .seed = test_seed(), .q = q };
    together(&j);
    for (unsigned v = 0; v < VERBS && !why; v++) {
        double since = seconds();
        bool with_keys = v == FLOOR || v == CEIL;
        memset(numbers, 0xa7, bytes);
        if (with_keys)
            memset(keys, 0xa7, bytes);
        if (ask_verb((verb)v, ix, &queries, &out, &out_keys, NULL) != SX_OK)
            why = sx_detail();
        j.fn = check_answers;
        j.what = (verb)v;
        j.numbers = numbers;
        j.keys = with_keys ? keys : NULL;
        uint64_t wrong = why ? NONE : together(&j);
        if (wrong != NONE)
            why = complain_point(&j, wrong);
        report(spec, verb_names[v], since);
    }
    munmap(q, bytes);
    munmap(numbers, bytes);
    munmap(keys, bytes);
    return why;
}

/* ---- ranges: more than 2^32 results of one call ------------------------------------------ */

#define RANGES 7

typedef struct {
    uint64_t begin[RANGES], end[RANGES];        /* ranks */
    uint64_t first[RANGES + 1];
    uint32_t lo[RANGES], hi[RANGES];
} big_ranges;

/* Nearly five times all keys, with ranges of one and of none between. */
static big_ranges make_ranges(void)
{
    uint64_t n = rows_all;
    big_ranges b = { .begin = { 11, 40, 0, n / 16, n / 2, 7, 1 },
                     .end = { n - 5, 40, n, n - 3, n / 2 + 1, n, n - n / 32 } };
    for (unsigned i = 0; i < RANGES; i++) {
        /* ends that are keys, and ends between keys */
        b.lo[i] = (uint32_t)(3 * b.begin[i] - (i % 2 && b.begin[i] ? 2 : 0));
        b.hi[i] = (uint32_t)(3 * b.end[i] - 3 + i % 3);
        b.first[i + 1] = b.first[i] + b.end[i] - b.begin[i];
    }
    b.lo[1] = 1000;               /* above hi: empty */
    b.hi[1] = 5;
    return b;
}

/* The row that belongs to output o. */
static uint32_t row_of_output(const big_ranges *b, uint64_t o)
{
    unsigned i = 0;
    while (o >= b->first[i + 1])
        i++;
    return row_at(rows_all, b->begin[i] + (o - b->first[i]));
}

static uint64_t check_outputs(const job *j, uint64_t begin, uint64_t end)
{
    big_ranges b = make_ranges();
    for (uint64_t o = begin; o < end; o++)
        if (j->numbers[o] != row_of_output(&b, o))
            return o;
    return NONE;
}

#define WINDOW 20000u
#define WINDOWS (3 * RANGES + 64 + 4)

/* The windows of outputs that are looked at: at both ends, round 2^32 (or 4 times the
 * keys), where ranges meet, and anywhere. */
static unsigned make_windows(const big_ranges *b, uint64_t at[WINDOWS], uint64_t size)
{
    uint64_t total = b->first[RANGES];
    rnd r = rnd_start(test_seed() + 5);
    unsigned n = 0;
    at[n++] = 0;
    at[n++] = total - size;
    at[n++] = 4 * rows_all - size / 2;
    for (unsigned i = 1; i < RANGES; i++)
        at[n++] = b->first[i] > size / 2 ? b->first[i] - size / 2 : 0;
    for (unsigned i = 0; i < 64; i++)
        at[n++] = rnd_below(&r, total - size);
    for (unsigned i = 0; i < n; i++)
        at[i] = least(at[i], total - size);
    return n;
}

/* Writes POISON into the windows; or looks that it is still there; or that the rows
 * are. */
typedef enum { PUT_POISON, SEE_POISON, SEE_ROWS } window_task;

static const char *in_windows(sx_device *dev, const big_ranges *b, sx_column *rows,
                              window_task task)
{
    uint64_t at[WINDOWS], size = least(WINDOW, rows_all / 8);
    unsigned n = make_windows(b, at, size);
    uint32_t *here = need(size * sizeof *here);
    sx_column host = column(SX_U32, size, here);
    const char *why = NULL;
    for (unsigned w = 0; w < n && !why; w++) {
        sx_column there = slice(rows, at[w], size);
        memset(here, 0xa7, size * sizeof *here);
        if (sx_column_copy(task ? &host : &there, task ? &there : &host, dev) != SX_OK)
            why = sx_detail();
        for (uint64_t i = 0; i < size && task && !why; i++) {
            uint32_t want = task == SEE_ROWS ? row_of_output(b, at[w] + i) : POISON;
            if (here[i] != want)
                why = say("output %" PRIu64 " of %" PRIu64 ": row %" PRIu32 ", not %" PRIu32,
                          at[w] + i, b->first[RANGES], here[i], want);
        }
    }
    free(here);
    return why;
}

static const char *check_firsts(const big_ranges *b, const uint64_t *first)
{
    for (unsigned i = 0; i <= RANGES; i++)
        if (first[i] != b->first[i])
            return say("first[%u] is %" PRIu64 ", not %" PRIu64, i, first[i], b->first[i]);
    return NULL;
}

/* The columns of one such call in device memory. */
typedef struct { sx_column lo, hi, first, rows, word; } range_columns;

static const char *range_columns_new(range_columns *c, sx_device *dev, const big_ranges *b)
{
    sx_column lo = column(SX_U32, RANGES, b->lo), hi = column(SX_U32, RANGES, b->hi);
    TRY_SX(sx_column_new(&c->lo, dev, SX_U32, RANGES));
    TRY_SX(sx_column_new(&c->hi, dev, SX_U32, RANGES));
    TRY_SX(sx_column_new(&c->first, dev, SX_U64, RANGES + 1));
    TRY_SX(sx_column_new(&c->word, dev, SX_U32, 2));
    TRY_SX(sx_column_new(&c->rows, dev, SX_U32, b->first[RANGES]));
    TRY_SX(sx_column_copy(&c->lo, &lo, dev));
    TRY_SX(sx_column_copy(&c->hi, &hi, dev));
    return NULL;
}

static void range_columns_free(range_columns *c, sx_device *dev)
{
    sx_column *all[] = { &c->lo, &c->hi, &c->first, &c->rows, &c->word };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        sx_column_free(all[i], dev);
}

/* First a call that waits, which finds out the space, then calls on a stream: with one
 * element too few, then with all. */
static const char *range_there(sx_device *dev, const sx_index *ix, const big_ranges *b,
                               range_columns *c, int step)
{
    uint64_t first[RANGES + 1];
    uint32_t word = POISON;
    sx_column host_first = column(SX_U64, RANGES + 1, first);
    sx_column host_word = column(SX_U32, 1, &word);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &c->lo, .hi = &c->hi };
    sx_call call = { .size = sizeof call };
    sx_column rows = slice(&c->rows, 0, c->rows.n - (step == 1));
    if (step > 0) {
        call.stream = (void *)2;
        call.status = c->word.data;
    }
    TRY(in_windows(dev, b, &c->rows, PUT_POISON));
    TRY_SX(sx_column_copy(&c->word, &host_word, dev));
    TRY_SX(sx_range(ix, &ranges, &c->first, &rows, NULL, &call));
    TRY(wait_for_stream(dev, &c->word));
    TRY_SX(sx_column_copy(&host_first, &c->first, dev));
    host_word = column(SX_U32, 1, &word);
    sx_column first_word = slice(&c->word, 0, 1);
    TRY_SX(sx_column_copy(&host_word, &first_word, dev));
    TRY(check_firsts(b, first));
    uint32_t want = step == 0 ? POISON : step == 1 ? SX_ESPACE : SX_OK;
    if (word != want)
        return say("step %d: the status word is %" PRIu32 ", not %" PRIu32, step, word, want);
    return in_windows(dev, b, &c->rows, step == 1 ? SEE_POISON : SEE_ROWS);
}

static const char *big_folds(const sx_index *ix, const big_ranges *b)
{
    uint64_t got[4][RANGES];
    sx_column lo = column(SX_U32, RANGES, b->lo), hi = column(SX_U32, RANGES, b->hi), out[4];
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
    for (unsigned i = 0; i < 4; i++)
        out[i] = column(SX_U64, RANGES, got[i]);
    sx_aggregates g = { sizeof g, &out[0], &out[1], &out[2], &out[3] };
    TRY_SX(sx_range_aggregate(ix, &ranges, &g, NULL));
    for (unsigned i = 0; i < RANGES; i++) {
        fold f = fold_of(b->begin[i], b->end[i]);
        if (got[0][i] != f.count || got[1][i] != f.min || got[2][i] != f.max ||
            got[3][i] != f.sum)
            return say("range %u: count %" PRIu64 " min %" PRIu64 " max %" PRIu64 " sum %" PRIu64
                       ", not %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, i, got[0][i],
                       got[1][i], got[2][i], got[3][i], f.count, f.min, f.max, f.sum);
    }
    return NULL;
}

static const char *many_rows(sx_device *dev, const sx_index *ix, const char *spec)
{
    static const char *const steps[3] = { "rows, waiting", "rows, no room", "rows on a stream" };
    big_ranges b = make_ranges();
    range_columns c = { 0 };
    const char *why = range_columns_new(&c, dev, &b);
    for (int step = 0; step < 3 && !why; step++) {
        double since = seconds();
        why = range_there(dev, ix, &b, &c, step);
        report(spec, steps[step], since);
    }
    range_columns_free(&c, dev);
    double since = seconds();
    if (!why)
        why = big_folds(ix, &b);
    report(spec, "aggregates", since);
    return why;
}

/* ---- threads, each with a stream of its own --------------------------------------------- */

#define THREADS 8u
#define ROUNDS 12u

typedef struct {
    pthread_t thread;
    unsigned number;
    sx_device *dev;
    const sx_index *ix;
    char why[600];
} asking_thread;

static const char *ask_on_stream(asking_thread *t, sx_column there[4], uint32_t *here[3],
                                 uint64_t n, unsigned round)
{
    verb v = (verb)((round + t->number) % VERBS);
    bool with_keys = v == FLOOR || v == CEIL;
    sx_call call = { .size = sizeof call, .stream = (void *)2, .status = there[3].data };
    job j = { .n = n, .rows = rows_all, .what = v, .q = here[0], .numbers = here[1],
              .keys = with_keys ? here[2] : NULL,
              .seed = test_seed() + 1000 * (t->number + 1) + round };
    uint32_t word[2] = { POISON, POISON };
    sx_column host_word = column(SX_U32, 2, word);
    make_queries(&j, 0, n);
    memset(here[2], 0xa7, n * sizeof (uint32_t));
    for (unsigned i = 0; i < 3; i += 2) {       /* queries, and keys to be left alone */
        sx_column from = column(SX_U32, n, here[i]);
        TRY_SX(sx_column_copy(&there[i], &from, t->dev));
    }
    TRY_SX(sx_column_copy(&there[3], &host_word, t->dev));
    TRY_SX(ask_verb(v, t->ix, &there[0], &there[1], &there[2], &call));
    TRY(wait_for_stream(t->dev, &there[3]));
    for (unsigned i = 1; i < 3; i++) {
        sx_column to = column(SX_U32, n, here[i]);
        TRY_SX(sx_column_copy(&to, &there[i], t->dev));
    }
    TRY_SX(sx_column_copy(&host_word, &there[3], t->dev));
    uint64_t wrong = check_answers(&j, 0, n);
    if (wrong != NONE)
        return complain_point(&j, wrong);
    return word[0] == SX_OK ? NULL : say("the status word is %" PRIu32, word[0]);
}

static void *ask_rounds(void *arg)
{
    asking_thread *t = arg;
    uint64_t n = rows_all / 1024 + t->number;   /* of different lengths */
    sx_column there[4] = { 0 };
    uint32_t *here[3];
    const char *why = NULL;
    for (unsigned i = 0; i < 3; i++)
        here[i] = need(n * sizeof (uint32_t));
    for (unsigned i = 0; i < 4 && !why; i++)
        if (sx_column_new(&there[i], t->dev, SX_U32, i < 3 ? n : 2) != SX_OK)
            why = sx_detail();
    for (unsigned round = 0; round < ROUNDS && !why; round++)
        why = ask_on_stream(t, there, here, n, round);
    if (why)
        snprintf(t->why, sizeof t->why, "thread %u: %s", t->number, why);
    for (unsigned i = 0; i < 4; i++)
        sx_column_free(&there[i], t->dev);
    for (unsigned i = 0; i < 3; i++)
        free(here[i]);
    return NULL;
}

static const char *many_threads(sx_device *dev, const sx_index *ix, const char *spec)
{
    asking_thread t[THREADS];
    const char *why = NULL;
    double since = seconds();
    for (unsigned i = 0; i < THREADS; i++) {
        t[i] = (asking_thread){ .number = i, .dev = dev, .ix = ix };
        if (pthread_create(&t[i].thread, NULL, ask_rounds, &t[i]) != 0)
            die("no thread");
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(t[i].thread, NULL);
        if (!why && t[i].why[0])
            why = say("%s", t[i].why);
    }
    report(spec, "threads and their streams", since);
    return why;
}

/* ---- tests ------------------------------------------------------------------------- */

/* The formulas above, against loops over few rows. */
static void test_arithmetic(void **state)
{
    (void)state;
    uint64_t kept = rows_all;
    uint32_t kept_scramble = scramble;
    rows_all = 256;
    scramble &= 255;
    for (uint32_t q = 0; q < 3 * 256 + 9; q++) {
        uint64_t below = 0, upto = 0;
        uint32_t row = SX_MISS32, floor_row = SX_MISS32, ceil_row = SX_MISS32, k;
        uint32_t floor_key = 0, ceil_key = UINT32_MAX;
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t key = 3 * (i ^ scramble);
            below += key < q;
            upto += key <= q;
            row = key == q ? i : row;
            if (key <= q && key >= floor_key) {
                floor_key = key;
                floor_row = i;
            }
            if (key >= q && key < ceil_key) {
                ceil_key = key;
                ceil_row = i;
            }
        }
        assert_int_equal(answer(GET, 256, q, &k), row);
        assert_int_equal(answer(LEFT, 256, q, &k), below);
        assert_int_equal(answer(RIGHT, 256, q, &k), upto);
        assert_int_equal(answer(CEIL, 256, q, &k), ceil_row);
        assert_int_equal(k, ceil_row == SX_MISS32 ? POISON : ceil_key);
        assert_int_equal(answer(FLOOR, 256, q, &k), floor_row);
        assert_int_equal(k, floor_key);
    }
    for (uint64_t begin = 0; begin <= 256; begin += 5)
        for (uint64_t end = begin; end <= 256; end++) {
            fold f = fold_of(begin, end), g = { 0, UINT64_MAX, 0, 0 };
            for (uint64_t r = begin; r < end; r++) {
                uint64_t row = r ^ scramble;
                g.count++;
                g.sum += row;
                g.min = least(g.min, row);
                g.max = row > g.max ? row : g.max;
            }
            assert_true(f.count == g.count && f.sum == g.sum && f.min == g.min);
            assert_true(f.max == (g.count ? g.max : UINT64_MAX));
        }
    rows_all = kept;
    scramble = kept_scramble;
}

static const char *const specs[] = {
    "sorted", "eytzinger", "pivot(layout=split)", "pivot(layout=pairs)"
};

/* The device; skips the test if it is too small for this many rows: it needs keys and
 * rows four times while they are sorted, or the results of large ranges. */
static sx_device *open_or_skip(void)
{
    sx_device_info info = { .size = sizeof info };
    if (!can_run)
        SKIP(NO_GPU);
    sx_device *dev = device_open(kernel_with(""));
    assert_int_equal(sx_device_describe(dev, &info), SX_OK);
    if (info.memory && info.memory < 40 * rows_all) {
        sx_close(dev);
        SKIP("too little memory on the device: SX_LARGE_LOG2 makes the test smaller");
    }
    return dev;
}

static sx_index *build_all(sx_device *dev, const char *spec)
{
    sx_index *ix = NULL;
    make_all_keys();
    double since = seconds();
    sx_column keys = column(SX_U32, rows_all, all_keys);
    if (sx_build(&ix, dev, spec, &keys, NULL, NULL) != SX_OK)
        fail_msg("%s: %s", spec, sx_detail());
    report(spec, "build", since);
    return ix;
}

static void test_family(void **state)
{
    const char *spec = *state, *why;
    sx_device *dev = open_or_skip();
    sx_index *ix = build_all(dev, spec);
    why = many_points(ix, spec);
    if (!why)
        why = many_rows(dev, ix, spec);
    if (!why)
        why = many_threads(dev, ix, spec);
    sx_free(ix);
    sx_close(dev);
    if (why)
        fail_msg("%s: %s", spec, why);
}

/* Rows of the same ranges in host memory, all of them looked at. */
static void test_host_rows(void **state)
{
    (void)state;
    big_ranges b = make_ranges();
    uint64_t total = b.first[RANGES], first[RANGES + 1];
    sx_device *dev = open_or_skip();
    if (host_memory() < total * 4 + rows_all * 8) {
        sx_close(dev);
        SKIP("too little memory on the host");
    }
    sx_index *ix = build_all(dev, specs[2]);
    double since = seconds();
    sx_column lo = column(SX_U32, RANGES, b.lo), hi = column(SX_U32, RANGES, b.hi);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
    uint32_t *here = reserve(total * sizeof *here);
    sx_column at = column(SX_U64, RANGES + 1, first), rows = column(SX_U32, total - 1, here);
    assert_int_equal(sx_range(ix, &ranges, &at, &rows, NULL, NULL), SX_ESPACE);
    assert_null(check_firsts(&b, first));
    rows.n = total;
    if (sx_range(ix, &ranges, &at, &rows, NULL, NULL) != SX_OK)
        fail_msg("%s", sx_detail());
    report(specs[2], "rows on the host", since);
    assert_null(check_firsts(&b, first));
    job j = { .fn = check_outputs, .n = total, .numbers = here };
    uint64_t wrong = together(&j);
    if (wrong != NONE)
        fail_msg("output %" PRIu64 ": row %" PRIu32 ", not %" PRIu32, wrong, here[wrong],
                 row_of_output(&b, wrong));
    munmap(here, total * sizeof *here);
    sx_free(ix);
    sx_close(dev);
}

/* memory= is a little less than the keys, so they can't be built. The first sixteenth of
 * them can, and then, with hardly any memory left, is asked more than the rest could
 * hold. */
static void test_little_memory(void **state)
{
    (void)state;
    enum { KEPT = 40 };
    char options[64];
    sx_column kept[KEPT];
    unsigned count = 0;
    sx_index *ix = NULL;
    if (!can_run)
        SKIP(NO_GPU);
    make_all_keys();
    uint64_t cap = 3 * rows_all, n = rows_all / 16;
    snprintf(options, sizeof options, "memory=%" PRIu64, cap);
    sx_device *dev = device_open(kernel_with(options));
    sx_column keys = column(SX_U32, rows_all, all_keys);
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        assert_int_equal(sx_build(&ix, dev, specs[i], &keys, NULL, NULL), SX_ENOMEM);
        assert_non_null(strstr(sx_detail(), "bytes needed"));
        assert_null(ix);
    }
    uint32_t *few = reserve(n * sizeof *few);
    for (uint64_t i = 0; i < n; i++)
        few[i] = 3 * ((uint32_t)i ^ (scramble & (uint32_t)(n - 1)));
    sx_column few_keys = column(SX_U32, n, few);
    if (sx_build(&ix, dev, specs[3], &few_keys, NULL, NULL) != SX_OK)
        fail_msg("%" PRIu64 " keys in %" PRIu64 " bytes: %s", n, cap, sx_detail());
    for (uint64_t size = cap / 4; size > cap / 512 && count < KEPT;) {
        sx_status st = sx_column_new(&kept[count], dev, SX_U32, size / 4);
        if (st == SX_OK)
            count++;
        else if (st == SX_ENOMEM)
            size /= 2;
        else
            fail_msg("%s", sx_detail());
    }
    double since = seconds();
    uint32_t *numbers = reserve(rows_all * sizeof *numbers);
    sx_column out = column(SX_U32, rows_all, numbers);
    if (sx_get(ix, &keys, &out, NULL) != SX_OK)
        fail_msg("%s", sx_detail());
    report(specs[3], "with little memory", since);
    job j = { .fn = check_answers, .n = rows_all, .rows = n, .what = GET, .q = all_keys,
              .numbers = numbers };
    uint64_t wrong = together(&j);
    if (wrong != NONE)
        fail_msg("%s", complain_point(&j, wrong));
    for (unsigned i = 0; i < count; i++)
        sx_column_free(&kept[i], dev);
    munmap(numbers, rows_all * sizeof *numbers);
    munmap(few, n * sizeof *few);
    sx_free(ix);
    sx_close(dev);
}

int main(void)
{
    const char *given = getenv("SX_LARGE_LOG2");
    int log2 = given && *given ? atoi(given) : 30;
    struct CMUnitTest tests[COUNT_OF(specs) + 3] = { cmocka_unit_test(test_arithmetic) };
    size_t n = 1;
    if (log2 < 10 || log2 > 30)   /* three times the last must fit 32 bits */
        die("SX_LARGE_LOG2 is %d; allowed: 10 to 30", log2);
    rows_all = 1ull << log2;
    scramble = 0x2c9277b5u & (uint32_t)(rows_all - 1);
    can_run = kernel_is_gpu() || (given && *given);
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        tests[n++] = (struct CMUnitTest){ specs[i], test_family, NULL, NULL, (void *)specs[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_host_rows);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_little_memory);
    test_seed();
    int failed = cmocka_run_group_tests_name("gpu large", tests, NULL, NULL);
    if (all_keys)
        munmap(all_keys, rows_all * sizeof *all_keys);
    return failed != 0;
}
