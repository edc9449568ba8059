/* bench_collect.c - threads that each have one key at a time, with a call for
 * each key and with collectors: how many keys a second, and how long each. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "json.h"
#include "opts.h"
#include "progress.h"
#include "say.h"

enum { SUBMITTERS_MOST = 1024, COUNTS_MOST = 64 };

/* ---- how long keys took -------------------------------------------------- */

/* Times by their five leading binary digits: within 3 % up to any length. */
enum { FINE = 32, TIMES = 60 * FINE };

typedef struct {
    uint64_t keys, wrong, longest_ns;
    uint64_t count[TIMES];
} tally;

static unsigned place_of(uint64_t ns)
{
    unsigned shift = ns < FINE ? 0 : 58 - (unsigned)__builtin_clzll(ns);

    return shift * FINE + (unsigned)(ns >> shift);
}

/* The middle of the times that are counted there. */
static double time_at(unsigned place)
{
    unsigned shift = place < 2 * FINE ? 0 : place / FINE - 1;
    double first = (double)((uint64_t)(place - shift * FINE) << shift);

    return first + (double)((1ull << shift) - 1) / 2;
}

static void tally_add(tally *t, uint64_t ns)
{
    t->keys++;
    t->count[place_of(ns)]++;
    if (ns > t->longest_ns)
        t->longest_ns = ns;
}

static void tally_merge(tally *sum, const tally *t)
{
    sum->keys += t->keys;
    sum->wrong += t->wrong;
    if (t->longest_ns > sum->longest_ns)
        sum->longest_ns = t->longest_ns;
    for (unsigned i = 0; i < TIMES; i++)
        sum->count[i] += t->count[i];
}

/* Microseconds that this part of the keys did not exceed. */
static double percentile_us(const tally *t, double part)
{
    double seen = 0, wanted = part * (double)t->keys, ns = 0;

    for (unsigned i = 0; i < TIMES && (seen < wanted || seen == 0); i++)
        if (t->count[i]) {
            seen += (double)t->count[i];
            ns = time_at(i);
        }
    return (ns < (double)t->longest_ns ? ns : (double)t->longest_ns) / 1000;
}

/* ---- submitting ---------------------------------------------------------- */

typedef struct {                  /* one measurement */
    const bench_options *o;
    const bench_task *task;
    const sx_index *ix;
    sx_collector *collector;      /* NULL: a call for each key */
    uint64_t submitters;
    pthread_barrier_t start;
    uint64_t from, until;         /* keys that begin between these count */
} trial;

typedef struct {
    trial *trial;
    uint64_t number;
    pthread_t thread;
    tally tally;
} submitter;

static uint64_t ns_now(void)
{
    return (uint64_t)(seconds_now() * 1e9);
}

static sx_status ask_alone(const trial *t, void *key, uint64_t *answer)
{
    sx_column q = column_over(t->task->q.type, 1, key);
    sx_column out = column_over(SX_U64, 1, answer);

    switch (t->task->op) {
    case OP_RANK: return sx_rank(t->ix, &q, SX_LEFT, &out, NULL);
    case OP_FLOOR: return sx_floor(t->ix, &q, &out, NULL, NULL);
    case OP_CEIL: return sx_ceil(t->ix, &q, &out, NULL, NULL);
    default: return sx_get(t->ix, &q, &out, NULL);
    }
}

static sx_status ask_collected(const trial *t, void *key, uint64_t *answer)
{
    static const sx_ask what[] = {
        [OP_GET] = SX_ASK_GET, [OP_RANK] = SX_ASK_RANK_LEFT,
        [OP_FLOOR] = SX_ASK_FLOOR, [OP_CEIL] = SX_ASK_CEIL,
    };

    return sx_collect(t->collector, what[t->task->op], key, answer, -1);
}

/* All answers are compared, also those of the warm-up. */
static void *submit(void *argument)
{
    submitter *s = argument;
    const trial *t = s->trial;
    const bench_task *task = t->task;
    size_t size = sx_type_bytes(task->q.type);
    uint64_t at = task->q.n / t->submitters * s->number, ns;

    pthread_barrier_wait(&s->trial->start);
    for (ns = ns_now(); ns < t->until; ) {
        uint64_t answer = ~task->right[at], begin = ns;
        char *key = (char *)task->q.data + at * size;

        expect_ok(t->collector ? ask_collected(t, key, &answer)
                               : ask_alone(t, key, &answer), "a key");
        s->tally.wrong += answer != task->right[at];
        at = at + 1 < task->q.n ? at + 1 : 0;
        ns = ns_now();
        if (begin >= t->from)
            tally_add(&s->tally, ns - begin);
    }
    return NULL;
}

static tally *run_trial(trial *t)
{
    submitter *all = must_alloc(t->submitters, sizeof *all);
    tally *sum = must_alloc(1, sizeof *sum);

    memset(all, 0, (size_t)t->submitters * sizeof *all);
    memset(sum, 0, sizeof *sum);
    pthread_barrier_init(&t->start, NULL, (unsigned)t->submitters + 1);
    for (uint64_t i = 0; i < t->submitters; i++) {
        all[i].trial = t;
        all[i].number = i;
        if (pthread_create(&all[i].thread, NULL, submit, &all[i]) != 0)
            fail("the system has no thread for submitter %llu of %llu",
                 (unsigned long long)i + 1, (unsigned long long)t->submitters);
    }
    t->from = ns_now() + t->o->ms * 100000;       /* a tenth more to warm up */
    t->until = t->from + t->o->ms * 1000000;
    pthread_barrier_wait(&t->start);
    for (uint64_t i = 0; i < t->submitters; i++) {
        pthread_join(all[i].thread, NULL);
        tally_merge(sum, &all[i].tally);
    }
    pthread_barrier_destroy(&t->start);
    free(all);
    return sum;
}

/* ---- printing ------------------------------------------------------------ */

typedef struct {                  /* a line */
    const bench_options *o;
    const char *spec, *requested, *device;
    bench_op op;
    uint64_t submitters;
    const sx_collector_info *info; /* NULL: a call for each key */
    const tally *tally;
} result;

static const struct { const char *name, *title; double part; } percentiles[] = {
    { "p50_us", "p50", 0.5 }, { "p90_us", "p90", 0.9 },
    { "p99_us", "p99", 0.99 }, { "p999_us", "p99.9", 0.999 },
    { "max_us", "max us", 1 },
};

enum { PERCENTILES = sizeof percentiles / sizeof *percentiles };

/* Counts all batches, also those of the warm-up. */
static double keys_per_batch(const sx_collector_info *info)
{
    if (!info)
        return 1;
    return info->batches ? (double)info->answered / (double)info->batches : 0;
}

static const char *way_of(const result *r)
{
    return !r->info ? "direct" : r->info->eager ? "eager" : "collected";
}

static double mkeys_per_s(const result *r)
{
    return (double)r->tally->keys / (double)r->o->ms * 1e-3;
}

static void print_head(FILE *to, const bench_options *o,
                       const sx_device_info *device)
{
    char skewed[24];

    print_title(to, o, device);
    fprintf(to, "\n  %llu queries%s, %g %% misses; %llu ms each\n\n",
            (unsigned long long)o->queries, skew_text(o, skewed),
            100 * o->misses, (unsigned long long)o->ms);
    fprintf(to, "%s%-40s %-6s %10s %-9s %9s", bold(to), "spec", "op",
            "submitters", "way", "M/s");
    for (int i = 0; i < PERCENTILES; i++)
        fprintf(to, " %9s", percentiles[i].title);
    fprintf(to, " %10s %6s%s\n", "keys/batch", "wrong", plain(to));
}

static void print_text(FILE *to, const result *r)
{
    fprintf(to, "%-40s %-6s %10llu %-9s ", r->spec, op_name(r->op),
            (unsigned long long)r->submitters,
            way_of(r));
    if (r->tally->wrong)
        fprintf(to, "%s%9s%s", red(to), "WRONG", plain(to));
    else
        fprintf(to, "%9.4f", mkeys_per_s(r));
    for (int i = 0; i < PERCENTILES; i++)
        fprintf(to, " %9.2f", percentile_us(r->tally, percentiles[i].part));
    fprintf(to, " %10.1f %6llu\n", keys_per_batch(r->info),
            (unsigned long long)r->tally->wrong);
}

static void print_json(FILE *to, const result *r)
{
    json j = json_line(to);

    json_string(&j, "spec", r->spec);
    json_string(&j, "device", r->device);
    json_string(&j, "type", sx_type_name(r->o->type));
    json_string(&j, "dist", keys_name(r->o));
    json_unsigned(&j, "n", r->o->n);
    json_string(&j, "op", op_name(r->op));
    json_string(&j, "way", way_of(r));
    json_unsigned(&j, "submitters", r->submitters);
    json_unsigned(&j, "batch", r->info ? r->info->batch : 1);
    json_unsigned(&j, "interval_us", r->info ? r->info->interval_us : 0);
    json_unsigned(&j, "ms", r->o->ms);
    json_unsigned(&j, "keys", r->tally->keys);
    if (r->tally->wrong)
        json_null(&j, "mkeys_per_s");
    else
        json_real(&j, "mkeys_per_s", mkeys_per_s(r));
    for (int i = 0; i < PERCENTILES; i++)
        json_real(&j, percentiles[i].name,
                  percentile_us(r->tally, percentiles[i].part));
    json_real(&j, "keys_per_batch", keys_per_batch(r->info));
    json_unsigned(&j, "batches", r->info ? r->info->batches : r->tally->keys);
    json_unsigned(&j, "full", r->info ? r->info->full : r->tally->keys);
    json_unsigned(&j, "wrong", r->tally->wrong);
    json_string(&j, "requested_spec", r->requested);
    json_real(&j, "misses", r->o->misses);
    json_string(&j, "rows", rows_name(r->o));
    json_end_line(&j);
}

/* ---- all of it ----------------------------------------------------------- */

typedef enum { WAY_DIRECT, WAY_COLLECTED, WAY_EAGER, WAYS } way;

typedef struct {
    uint64_t count[COUNTS_MOST];
    int n;
} submitter_list;

static submitter_list split_submitters(const char *text)
{
    submitter_list list = { .n = 0 };

    for (bool more = true; more; ) {
        size_t length = strcspn(text, ",");
        char word[24];
        uint64_t count = 0;

        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (length >= sizeof word || !parse_size(word, &count) || count < 1 ||
            count > SUBMITTERS_MOST)
            fail_usage("--submitters wants numbers from 1 to %d with commas "
                       "between, not '%.*s'", SUBMITTERS_MOST, (int)length,
                       text);
        if (list.n == COUNTS_MOST)
            fail_usage("--submitters lists more than %d", COUNTS_MOST);
        list.count[list.n++] = count;
        more = text[length] == ',';
        text += length + more;
    }
    return list;
}

/* A collector as the options say. By default half of the submitters fill a
 * batch, so that one half gathers while the other is being answered. */
static sx_collector *new_collector(const sx_index *ix, const bench_options *o,
                                   uint64_t submitters, bool eager)
{
    uint64_t batch = o->batch ? o->batch : (submitters + 1) / 2;
    sx_collect_options options = { sizeof options, (uint32_t)batch,
                                   (uint32_t)o->interval, eager, 0 };
    sx_collector *collector;

    expect_ok(sx_collector_new(&collector, ix, &options), NULL);
    return collector;
}

/* Returns the number of wrong answers. */
static uint64_t measure(output *out, result *r, trial *t, way how)
{
    sx_collector_info info = { .size = sizeof info };
    tally *sum;
    uint64_t wrong;

    t->collector = how == WAY_DIRECT ? NULL
                   : new_collector(t->ix, t->o, t->submitters,
                                   how == WAY_EAGER);
    progress_start("measuring", 0);
    sum = run_trial(t);
    progress_stop();
    if (t->collector)
        expect_ok(sx_collector_describe(t->collector, &info), NULL);
    sx_collector_free(t->collector);
    r->submitters = t->submitters;
    r->op = t->task->op;
    r->info = how == WAY_DIRECT ? NULL : &info;
    r->tally = sum;
    if (t->o->json)
        print_json(out->to, r);
    else
        print_text(out->to, r);
    output_check(out);
    wrong = sum->wrong;
    free(sum);
    return wrong;
}

static uint64_t bench_spec(output *out, const bench_options *o,
                           const bench_work *work, sx_device *device,
                           const char *device_name, const char *spec,
                           const submitter_list *list)
{
    trial t = { .o = o };
    uint64_t wrong = 0;
    sx_index_info info;
    sx_index *ix;
    result r = { .o = o, .requested = spec, .device = device_name };

    progress_start("building", 0);
    expect_ok(sx_build(&ix, device, spec, &work->keys, work_rows(work), NULL),
              spec);
    progress_stop();
    info = describe(ix);
    r.spec = info.spec;
    t.ix = ix;
    for (int i = 0; i < work->task_count; i++)
        for (int k = 0; k < list->n; k++) {
            t.task = &work->tasks[i];
            t.submitters = list->count[k];
            for (way how = WAY_DIRECT; how < WAYS; how++)
                wrong += measure(out, &r, &t, how);
        }
    sx_free(ix);
    return wrong;
}

uint64_t bench_collect(const bench_options *o, const spec_list *specs,
                       sx_device *device, const bool wanted[OP_ALL],
                       const char *path)
{
    submitter_list list = split_submitters(o->submitters);
    sx_device_info info = { .size = sizeof info };
    uint64_t wrong = 0;
    bench_work work;
    output out;

    for (int op = OP_KEY_AT; op < OP_ALL; op++)
        if (wanted[op])
            fail_usage("--collect is for get, rank, floor and ceil, not for "
                       "%s", op_name(op));
    if (o->batch > SX_COLLECT_MOST)
        fail_usage("--collect is for a --batch of at most %u, not of %llu",
                   SX_COLLECT_MOST, (unsigned long long)o->batch);
    if (o->interval > UINT32_MAX)
        fail_usage("--interval is at most %u, not %llu", UINT32_MAX,
                   (unsigned long long)o->interval);
    expect_ok(sx_device_describe(device, &info), NULL);
    out = output_open(path);
    if (o->json)
        print_header(&out, o, &info);
    else
        print_head(out.to, o, &info);
    work = work_prepare(o, wanted);
    for (int i = 0; i < specs->count; i++)
        wrong += bench_spec(&out, o, &work, device, info.name, specs->spec[i],
                            &list);
    work_free(&work);
    output_close(&out);
    return wrong;
}
