/* test_versions.c - an index is replaced, again and again, while threads ask it everything
 * (src/query/version.h). Clean under ThreadSanitizer.
 *
 * Each version has its own keys and rows, so that no two versions answer any call alike. The
 * answer of a call must be, byte for byte, that of one of them.
 *
 * Threads can't use cmocka: each returns a sentence about what is wrong, or NULL. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "inside.h"
#include "on_device.h"

#define VERSIONS 4u
#define READERS 3u
#define QUERIES 150u              /* more than two buckets of a hybrid index */
#define ROUNDS (UNDER_TSAN || UNDER_ASAN ? 3u : 8u)
#define PUBLISHED (UNDER_TSAN || UNDER_ASAN ? 10u : 40u)      /* at least */
/* ThreadSanitizer takes the emulator's switches between fibers for calls without a return, and
 * ends a thread that has too many of them. */
#define MOST_ROUNDS (UNDER_TSAN ? 100u : UINT32_MAX)
#define MOST_PUBLISHED (UNDER_TSAN ? 200u : UINT32_MAX)

/* ---- versions ------------------------------------------------------------- */

static uint64_t keys_of(unsigned v)
{
    return 250 + 40 * v;
}

static uint64_t row_of(unsigned v, uint64_t i)
{
    return ((uint64_t)v << 20) + i;
}

static uint64_t key_of(unsigned v, uint64_t i)
{
    return 16 * i + v;
}

static sx_status build(sx_device *dev, const char *spec, unsigned v, sx_index **out)
{
    uint64_t n = keys_of(v), *keys = need(n * 8), *rows = need(n * 8);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = key_of(v, i);
        rows[i] = row_of(v, i);
    }
    sx_column k = column(SX_U64, n, keys), r = column(SX_U64, n, rows);
    sx_status st = sx_build(out, dev, spec, &k, &r, NULL);
    free(keys);
    free(rows);
    return st;
}

/* What updates will do: publishes the next version, here that of another index. */
static sx_status publish(sx_index *ix, const char *spec, unsigned v)
{
    sx_index *other = NULL;
    sx_status st = build(ix->dev, spec, v, &other);
    if (st == SX_OK)
        sx_index_publish(ix, atomic_exchange(&other->now, NULL));
    sx_free(other);
    return st;
}

/* ---- verbs ------------------------------------------------------------------ */

/* One call, its outputs all in one piece. */
typedef struct {
    uint64_t data[8 * QUERIES];
    uint64_t used;
} answer;

static sx_column take(answer *a, uint64_t n)
{
    sx_column c = column(SX_U64, n, a->data + a->used);
    memset(c.data, 0xee, n * 8);
    a->used += n;
    return c;
}

typedef struct {
    const sx_index *ix;
    sx_device *dev;               /* NULL: of the host */
    bool streams;
    sx_column q, lo, hi, ranks;
    sx_column there[2];           /* QUERIES elements on the device */
    char *path;                   /* to save to */
    sx_device *cpu;               /* to load at */
    sx_collector *collector;
    unsigned number;
    unsigned seen[VERSIONS];      /* calls that each version answered */
} reader;

typedef sx_status verb_fn(const reader *r, answer *a);

static sx_status ask_get(const reader *r, answer *a)
{
    sx_column rows = take(a, QUERIES);
    return sx_get(r->ix, &r->q, &rows, NULL);
}

static sx_status ask_rank(const reader *r, answer *a)
{
    sx_column ranks = take(a, QUERIES);
    return sx_rank(r->ix, &r->q, a->used / QUERIES % 2 ? SX_LEFT : SX_RIGHT, &ranks, NULL);
}

static sx_status ask_floor(const reader *r, answer *a)
{
    sx_column rows = take(a, QUERIES), keys = take(a, QUERIES);
    return sx_floor(r->ix, &r->q, &rows, &keys, NULL);
}

static sx_status ask_ceil(const reader *r, answer *a)
{
    sx_column rows = take(a, QUERIES), keys = take(a, QUERIES);
    return sx_ceil(r->ix, &r->q, &rows, &keys, NULL);
}

static sx_status ask_key_at(const reader *r, answer *a)
{
    sx_column rows = take(a, QUERIES), keys = take(a, QUERIES);
    return sx_key_at(r->ix, &r->ranks, &keys, &rows, NULL);
}

static sx_status ask_count(const reader *r, answer *a)
{
    sx_ranges ranges = { .size = sizeof ranges, .lo = &r->lo, .hi = &r->hi };
    sx_column counts = take(a, QUERIES);
    return sx_range_count(r->ix, &ranges, &counts, NULL);
}

static sx_status ask_range(const reader *r, answer *a)
{
    sx_ranges ranges = { .size = sizeof ranges, .lo = &r->lo, .hi = &r->hi, .limit = 2 };
    sx_column first = take(a, QUERIES + 1), rows = take(a, 2 * QUERIES);
    sx_column keys = take(a, 2 * QUERIES);
    return sx_range(r->ix, &ranges, &first, &rows, &keys, NULL);
}

static sx_status ask_aggregate(const reader *r, answer *a)
{
    sx_ranges ranges = { .size = sizeof ranges, .lo = &r->lo, .hi = &r->hi };
    sx_column c[4] = { take(a, QUERIES), take(a, QUERIES), take(a, QUERIES), take(a, QUERIES) };
    sx_aggregates out = { .size = sizeof out, .count = &c[0], .min = &c[1], .max = &c[2],
                          .sum = &c[3] };
    return sx_range_aggregate(r->ix, &ranges, &out, NULL);
}

static sx_status tell_description(const reader *r, answer *a)
{
    sx_index_info info = { .size = sizeof info };
    sx_column told = take(a, 2);
    sx_status st = sx_describe(r->ix, &info);
    ((uint64_t *)told.data)[0] = info.n;
    ((uint64_t *)told.data)[1] = info.max_row;
    return st;
}

/* The numbers behind the same words in both. */
static sx_status tell_explanation(const reader *r, answer *a)
{
    char text[8192];
    size_t bytes = sizeof text;
    unsigned long long n = 0, max_row = 0;
    sx_column told = take(a, 2);
    sx_status st = sx_explain(r->ix, SX_JSON, text, &bytes);
    const char *at = st == SX_OK ? strstr(text, "\"n\": ") : NULL;
    if (at)
        sscanf(at, "\"n\": %llu", &n);
    at = st == SX_OK ? strstr(text, "\"max_row\": ") : NULL;
    if (at)
        sscanf(at, "\"max_row\": %llu", &max_row);
    ((uint64_t *)told.data)[0] = n;
    ((uint64_t *)told.data)[1] = max_row;
    return st;
}

static sx_status ask_check(const reader *r, answer *a)
{
    sx_column none = take(a, 1);
    (void)none;
    return sx_check(r->ix, NULL);
}

/* The contents of the saved file. */
static sx_status ask_saved(const reader *r, answer *a)
{
    sx_index *loaded = NULL;
    reader of_file = *r;
    sx_status st = sx_save(r->ix, r->path, NULL);
    if (st == SX_OK)
        st = sx_load(&loaded, r->cpu, r->path, SX_LOAD_VERIFY, NULL);
    of_file.ix = loaded;
    if (st == SX_OK)
        st = ask_get(&of_file, a);
    sx_free(loaded);
    return st;
}

/* Asks with columns in device memory, if there is any, and a stream, if that can be. */
static sx_status ask_there(const reader *r, answer *a)
{
    sx_call call = { .size = sizeof call, .stream = r->streams ? (void *)2 : NULL };
    sx_column rows = take(a, QUERIES), q = r->there[0], out = r->there[1];
    if (!r->dev)
        return sx_get(r->ix, &r->q, &rows, NULL);
    sx_status st = sx_column_copy(&q, &r->q, r->dev);
    if (st == SX_OK)
        st = sx_get(r->ix, &q, &out, &call);
    return st == SX_OK ? sx_column_copy(&rows, &out, r->dev) : st;
}

static const struct {
    const char *name;
    verb_fn *fn;
} verbs[] = {
    { "get", ask_get }, { "rank", ask_rank }, { "floor", ask_floor }, { "ceil", ask_ceil },
    { "key_at", ask_key_at }, { "range_count", ask_count }, { "range", ask_range },
    { "aggregate", ask_aggregate }, { "describe", tell_description },
    { "explain", tell_explanation }, { "check", ask_check }, { "save", ask_saved },
    { "get in device memory", ask_there },
};
#define VERBS COUNT_OF(verbs)

static answer expected[VERBS][VERSIONS];
static uint64_t query[QUERIES], low[QUERIES], high[QUERIES], rank[QUERIES];

static void ask_columns(reader *r)
{
    r->q = column(SX_U64, QUERIES, query);
    r->lo = column(SX_U64, QUERIES, low);
    r->hi = column(SX_U64, QUERIES, high);
    r->ranks = column(SX_U64, QUERIES, rank);
}

/* The right answers, from indexes that nobody replaces. */
static int expect(void **state)
{
    (void)state;
    sx_device *cpu = device_open("cpu:threads=1");
    for (uint64_t i = 0; i < QUERIES; i++) {
        uint64_t j = i * 7 % 400;
        query[i] = key_of((unsigned)i % VERSIONS, j);
        low[i] = key_of(0, j);
        high[i] = key_of(VERSIONS, j + i % 2);
        rank[i] = j;
    }
    for (unsigned v = 0; v < VERSIONS; v++) {
        sx_index *ix = NULL;
        reader r = { .cpu = cpu, .path = temp_path("expected.sxt") };
        ask_columns(&r);
        if (build(cpu, "sorted", v, &ix) != SX_OK)
            die("%s", sx_detail());
        r.ix = ix;
        for (unsigned i = 0; i < VERBS; i++)
            if (verbs[i].fn(&r, &expected[i][v]) != SX_OK)
                die("%s: %s", verbs[i].name, sx_detail());
        sx_free(ix);
        free(r.path);
    }
    sx_close(cpu);
    return 0;
}

/* The version whose answer it is; VERSIONS: none. */
static unsigned whose(unsigned verb, const answer *a)
{
    unsigned v = 0;
    while (v < VERSIONS && (a->used != expected[verb][v].used ||
                            memcmp(a->data, expected[verb][v].data, a->used * 8) != 0))
        v++;
    return v;
}

/* ---- readers ----------------------------------------------------------------- */

static _Atomic unsigned published;
static _Atomic int stop;

static const char *ask_once(reader *r)
{
    static _Thread_local char why[400];
    static _Thread_local answer a;
    for (unsigned i = 0; i < VERBS; i++) {
        unsigned v;
        a.used = 0;
        if (verbs[i].fn(r, &a) != SX_OK) {
            snprintf(why, sizeof why, "%s: %s", verbs[i].name, sx_detail());
            return why;
        }
        v = whose(i, &a);
        if (v == VERSIONS) {
            snprintf(why, sizeof why, "%s: no version answers like that", verbs[i].name);
            return why;
        }
        r->seen[v]++;
    }
    for (uint64_t i = 0; r->collector && i < 5; i++) {
        unsigned v = (unsigned)i % VERSIONS;
        uint64_t key = key_of(v, 30 * i), row = 0;
        if (sx_collect(r->collector, SX_ASK_GET, &key, &row, -1) != SX_OK)
            return sx_detail();
        if (row != row_of(v, 30 * i) && row != SX_MISS)
            return "collect: another version's row";
    }
    return NULL;
}

/* A handle's version stays as long as the index, whatever is published. */
static const char *walk_handle(const reader *r, const sx_kernel_view *h)
{
    static _Thread_local answer a;
    sx_view v = { 0 };
    sx_err err;
    memcpy(&v, h->view, sizeof h->view);
    a.used = 0;
    sx_column rows = take(&a, QUERIES);
    sx_lookup job = { .op = SX_OP_GET, .key_type = h->key_type, .n = QUERIES,
                      .q = sx_slice_of(&r->q), .out = sx_slice_of(&rows) };
    if (r->dev->backend->lookup(r->dev->self, SX_ONE_VIEW(&v), &job, &err) != SX_OK)
        return "a handle can't be asked";
    return whose(0, &a) == VERSIONS ? "a handle answers like no version" : NULL;
}

static unsigned versions_seen(const reader *r)
{
    unsigned n = 0;
    for (unsigned v = 0; v < VERSIONS; v++)
        n += r->seen[v] > 0;
    return n;
}

/* Asks until it has asked enough, and the index was replaced meanwhile: on a busy machine that
 * may take the writer a while. */
static const char *read_on(reader *r)
{
    sx_kernel_view handle;
    const char *why = NULL;
    bool handed = r->streams && r->number == 0;
    if (r->dev && (sx_column_new(&r->there[0], r->dev, SX_U64, QUERIES) != SX_OK ||
                   sx_column_new(&r->there[1], r->dev, SX_U64, QUERIES) != SX_OK))
        return sx_detail();
    if (handed && sx_kernel_handle(r->ix, &handle, sizeof handle) != SX_OK)
        why = sx_detail();
    for (unsigned round = 0; !why && round < MOST_ROUNDS &&
                             (round < ROUNDS || atomic_load(&published) < PUBLISHED ||
                              versions_seen(r) < 2); round++) {
        why = ask_once(r);
        if (!why && handed)
            why = walk_handle(r, &handle);
    }
    if (r->dev) {
        sx_column_free(&r->there[0], r->dev);
        sx_column_free(&r->there[1], r->dev);
    }
    return why;
}

static void *reading(void *arg)
{
    reader *r = arg;
    const char *why = read_on(r);
    return why ? strdup(why) : NULL;
}

typedef struct {
    sx_index *ix;
    const char *const *specs;     /* two, in turns */
} writer;

static void *writing(void *arg)
{
    writer *w = arg;
    const char *why = NULL;
    for (unsigned i = 1; !atomic_load(&stop) && !why; i++) {
        if (w->ix->dev->backend->gpu && i > MOST_PUBLISHED)
            break;
        if (publish(w->ix, w->specs[i % 2], i % VERSIONS) != SX_OK)
            why = strdup(sx_detail());
        atomic_fetch_add(&published, 1);
    }
    return (void *)why;
}

static void replace_while_asked(const char *device, const char *const specs[2], bool streams)
{
    uint64_t before = sx_alloc_live();
    sx_device *dev = device_open(device), *cpu = device_open("cpu:threads=1");
    reader r[READERS] = { 0 };
    pthread_t thread[READERS + 1];
    writer w = { .specs = specs };
    char name[40], failed[600] = "";
    unsigned answered = 0;        /* versions that did */
    begin_step("%s, %s", device, specs[0]);
    OK(build(dev, specs[0], 0, &w.ix));
    sx_collector *collector = NULL;
    sx_collect_options options = { .size = sizeof options, .batch = READERS, .eager = 1 };
    OK(sx_collector_new(&collector, w.ix, &options));
    atomic_store(&published, 0);
    atomic_store(&stop, 0);
    for (unsigned i = 0; i < READERS; i++) {
        snprintf(name, sizeof name, "versions-%u.sxt", i);
        r[i] = (reader){ .ix = w.ix, .dev = dev->backend->gpu ? dev : NULL, .streams = streams,
                         .path = temp_path(name), .cpu = cpu, .collector = collector,
                         .number = i };
        ask_columns(&r[i]);
        assert_int_equal(pthread_create(&thread[i], NULL, reading, &r[i]), 0);
    }
    assert_int_equal(pthread_create(&thread[READERS], NULL, writing, &w), 0);
    for (unsigned i = 0; i <= READERS; i++) {
        void *why = NULL;
        if (i == READERS)
            atomic_store(&stop, 1);
        pthread_join(thread[i], &why);
        if (why && !failed[0])
            snprintf(failed, sizeof failed, "%s, %s: %s %u: %s", device, specs[0],
                     i < READERS ? "reader" : "writer", i, (char *)why);
        free(why);
        if (i < READERS)
            free(r[i].path);
    }
    sx_collector_free(collector);
    sx_free(w.ix);
    sx_close(dev);
    sx_close(cpu);
    if (failed[0])
        fail_msg("%s", failed);
    for (unsigned v = 0; v < VERSIONS; v++)
        answered += r[0].seen[v] + r[1].seen[v] + r[2].seen[v] > 0;
    assert_true(answered > 1);
    assert_int_equal(sx_alloc_live(), before);
}

static void test_cpu(void **state)
{
    (void)state;
    replace_while_asked("cpu:threads=2", (const char *const[2]){ "pivot", "eytzinger" }, false);
    replace_while_asked("cpu:threads=2", (const char *const[2]){ "guide", "pgm(eps=4)" }, false);
}

static void test_places(void **state)
{
    (void)state;
    replace_while_asked("simt", (const char *const[2]){ "guide", "pivot(layout=pairs)" }, true);
    replace_while_asked("simt", (const char *const[2]){ "sorted place=host", "pivot place=host" },
                        false);
    replace_while_asked("simt,bucket=64,side=gpu",
                        (const char *const[2]){ "pivot place=hybrid", "guide place=hybrid" },
                        false);
    replace_while_asked("simt,side=gpu",
                        (const char *const[2]){ "pivot place=both", "sorted place=both" }, true);
    replace_while_asked("simt,side=cpu",
                        (const char *const[2]){ "pivot place=both", "eytzinger place=both" }, true);
}

/* Versions also move from place to place. */
static void test_moving(void **state)
{
    (void)state;
    replace_while_asked("simt,bucket=64,side=gpu",
                        (const char *const[2]){ "pivot place=hybrid", "pivot place=both" }, false);
    replace_while_asked("simt", (const char *const[2]){ "pivot place=host", "pivot" }, false);
}

/* ---- memory -------------------------------------------------------------------- */

static void test_memory_is_flat(void **state)
{
    (void)state;
    static const char *const on[][2] = {
        { "cpu:threads=1", "pivot" }, { "simt", "pivot" }, { "simt", "pivot place=host" },
        /* One worker: a second one has buffers from when it is first quick enough to help. */
        { "simt,bucket=64,side=gpu,strategy=pipelined", "pivot place=hybrid" },
        { "simt", "pivot place=both" },
    };
    for (size_t i = 0; i < (UNDER_TSAN ? 1 : COUNT_OF(on)); i++) {      /* one thread */
        sx_device *dev = device_open(on[i][0]);
        sx_index *ix = NULL;
        answer a = { .used = 0 };
        reader r = { 0 };
        uint64_t live = 0;
        OK(build(dev, on[i][1], 0, &ix));
        r.ix = ix;
        ask_columns(&r);
        for (unsigned turn = 0; turn < 12; turn++) {
            OK(publish(ix, on[i][1], 1));
            OK(publish(ix, on[i][1], 0));
            a.used = 0;
            OK(ask_get(&r, &a));
            assert_int_equal(whose(0, &a), 0);
            if (turn == 1)
                live = sx_alloc_live();
            else if (turn > 1)
                assert_int_equal(sx_alloc_live(), live);
        }
        sx_free(ix);
        sx_close(dev);
    }
}

/* ---- who waits for whom ----------------------------------------------------------- */

typedef struct {
    sx_index *ix;
    _Atomic int inside, done;
    bool forks;
    int child_status;
    unsigned ticks;
} meeting;

static uint64_t present_n(const sx_index *ix)
{
    sx_index_info info = { .size = sizeof info };
    return sx_describe(ix, &info) == SX_OK ? info.n : 0;
}

/* Stays in the call until all others see another version. The thread that published it waits
 * for this call. */
static int stay(void *context, uint64_t done, uint64_t total)
{
    meeting *m = context;
    (void)done;
    (void)total;
    if (m->ticks++ > 0)
        return 0;
    atomic_store(&m->inside, 1);
    while (present_n(m->ix) != keys_of(1))
        usleep(100);
    usleep(20000);
    return atomic_load(&m->done);         /* 1 would stop it: publishing can't be done yet */
}

static void *publish_next(void *arg)
{
    meeting *m = arg;
    while (!atomic_load(&m->inside))
        usleep(100);
    sx_status st = publish(m->ix, "pivot", 1);
    atomic_store(&m->done, 1);
    return st == SX_OK ? NULL : m;
}

static void test_a_call_keeps_its_version(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=1");
    meeting m = { 0 };
    sx_call call = { .size = sizeof call, .tick = stay, .tick_context = &m };
    pthread_t thread;
    void *failed = NULL;
    answer a = { .used = 0 };
    sx_column rows = take(&a, QUERIES), q = column(SX_U64, QUERIES, query);
    OK(build(dev, "pivot", 0, &m.ix));
    assert_int_equal(pthread_create(&thread, NULL, publish_next, &m), 0);
    OK(sx_get(m.ix, &q, &rows, &call));
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_int_equal(whose(0, &a), 0);    /* as it began */
    a.used = 0;
    rows = take(&a, QUERIES);
    OK(sx_get(m.ix, &q, &rows, NULL));
    assert_int_equal(whose(0, &a), 1);
    sx_free(m.ix);
    sx_close(dev);
}

/* A reader has read which counter to take, and then is slow. It counts in the one that is no
 * longer taken, and has the version that is there by then. The next to publish waits for it,
 * too. */
static void test_a_slow_reader(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=1");
    for (unsigned line = 0; line < SX_HOLD_LINES; line += SX_HOLD_LINES - 1) {
        meeting m = { .inside = 1 };
        pthread_t thread;
        void *failed = NULL;
        OK(build(dev, "pivot", 0, &m.ix));
        _Atomic uint32_t *counter = &m.ix->line[line].readers[atomic_load(&m.ix->turn)];
        OK(publish(m.ix, "pivot", 2));
        atomic_fetch_add(counter, 1);
        assert_int_equal(pthread_create(&thread, NULL, publish_next, &m), 0);
        while (present_n(m.ix) != keys_of(1))
            usleep(100);
        usleep(20000);
        int done = atomic_load(&m.done);
        atomic_fetch_sub(counter, 1);
        pthread_join(thread, &failed);
        assert_null(failed);
        assert_int_equal(done, 0);
        sx_free(m.ix);
    }
    sx_close(dev);
}

/* ---- fork ------------------------------------------------------------------------- */

/* In the child: publishing does not wait for calls that only the parent has. */
static int publish_in_child(sx_index *ix)
{
    answer a = { .used = 0 };
    sx_column rows = take(&a, QUERIES), q = column(SX_U64, QUERIES, query);
    alarm(HANGS_S);
    for (unsigned v = 2; v > 0; v--)
        if (publish(ix, "pivot", v) != SX_OK)
            return 2;
    if (sx_get(ix, &q, &rows, NULL) != SX_OK || whose(0, &a) != 1)
        return 3;
    sx_free(ix);
    return 0;
}

static int fork_inside(void *context, uint64_t done, uint64_t total)
{
    meeting *m = context;
    (void)done;
    (void)total;
    if (m->ticks++ > 0)
        return 0;
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid > 0) {
        waitpid(pid, &m->child_status, 0);
        return 0;
    }
    m->forks = true;              /* the child: it publishes here and goes on */
    alarm(HANGS_S);
    return publish(m->ix, "pivot", 2) != SX_OK;
}

static void *wait_inside(void *arg)
{
    meeting *m = arg;
    sx_call call = { .size = sizeof call, .tick = stay, .tick_context = m };
    answer *a = need(sizeof *a);
    a->used = 0;
    sx_column rows = take(a, QUERIES), q = column(SX_U64, QUERIES, query);
    sx_status st = sx_get(m->ix, &q, &rows, &call);
    free(a);
    return st == SX_OK ? NULL : m;
}

static void test_fork(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=1");
    sx_call call = { .size = sizeof call };
    meeting m = { 0 }, inner = { 0 };
    pthread_t thread;
    void *failed = NULL;
    int status = 0;
    OK(build(dev, "pivot", 0, &m.ix));
    assert_int_equal(pthread_create(&thread, NULL, wait_inside, &m), 0);
    while (!atomic_load(&m.inside))
        usleep(100);
    pid_t pid = fork();           /* that thread is in a call */
    if (pid == 0)
        _exit(publish_in_child(m.ix));
    assert_true(pid > 0);
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);

    /* This thread is in one, and its child stays in it. */
    inner.ix = m.ix;
    call.tick = fork_inside;
    call.tick_context = &inner;
    answer a = { .used = 0 };
    sx_column rows = take(&a, QUERIES), q = column(SX_U64, QUERIES, query);
    sx_status st = sx_get(m.ix, &q, &rows, &call);
    if (inner.forks)
        _exit(st != SX_OK ? 4 : whose(0, &a) != 0 ? 5 : publish_in_child(m.ix));
    assert_int_equal(st, SX_OK);
    assert_true(WIFEXITED(inner.child_status));
    assert_int_equal(WEXITSTATUS(inner.child_status), 0);

    OK(publish_next(&m) ? SX_EINVAL : SX_OK);
    pthread_join(thread, &failed);
    assert_null(failed);
    sx_free(m.ix);
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_moving),
        cmocka_unit_test(test_memory_is_flat),
        cmocka_unit_test(test_a_call_keeps_its_version),
        cmocka_unit_test(test_a_slow_reader),
        cmocka_unit_test(test_fork),
    };
    test_seed();
    return cmocka_run_group_tests_name("versions", tests, expect, NULL) != 0;
}
