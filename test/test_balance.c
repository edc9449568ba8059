/* test_balance.c - hybrid indexes whose two sides share the levels of the upper part: answers for
 * every balance and every strategy, which levels each side walks, how the balance is found, and
 * failures on either side in the middle of a call. */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/machine.h"
#include "base/tick.h"
#include "on_device.h"
#include "inside.h"
#include "stand_in.h"

static asker *asking;

/* Beside the families as they are, which a loop over all of them adds. */
static const char *const specs[] = {
    "pivot(k=3,leaf=3)", "pivot(k=5,levels=2,layout=pairs)", "guide(bucket=3,pieces=5,layout=pairs)",
    "eytzinger(k=2)", "eytzinger(k=4,layout=pairs)", "pgm(eps=3,eps2=2,layout=pairs)",
};

/* The i-th spec, hybrid, of those above and of all families with an upper part; NULL: behind the
 * last. */
static const char *spec_at(size_t i)
{
    static char text[SX_SPEC_MAX];
    uint32_t family = 0;
    if (i < COUNT_OF(specs)) {
        snprintf(text, sizeof text, "%s place=hybrid", specs[i]);
        return text;
    }
    for (i -= COUNT_OF(specs); family < SX_FAMILIES; family++)
        if (sx_family_of(family)->levels && i-- == 0)
            break;
    if (family == SX_FAMILIES)
        return NULL;
    snprintf(text, sizeof text, "%s place=hybrid", sx_family_listed(family));
    return text;
}

static uint32_t levels_of(const sx_index *ix)
{
    return sx_view_levels(&replica_of(ix, 1)->view);
}

static void set_balance(sx_index *ix, uint32_t depth, uint32_t share, uint32_t strategy)
{
    now_of(ix)->cost.entries.balance = (sx_balance){ depth, share };
    now_of(ix)->cost.travel.strategy = strategy;
}

static void ask_beside(sx_device *dev, const sx_index *ix, const dataset *d, const char *what)
{
    asking->no_streams = true;
    ask_all(asking, dev, ix, d, what);
    asking->no_streams = false;
}

/* ---- stand-ins for both sides ---------------------------------------------------------- */

static const sx_backend *gpu_own, *cpu_own;
static sx_backend gpu_table, cpu_table;
static sx_device *gpu_dev, *cpu_dev;

/* Tables that are those of the device and its host, and may be changed until both_back(). */
static void both_stand_in(sx_device *dev)
{
    sx_err err;
    gpu_dev = dev;
    assert_int_equal(sx_device_host(dev, &cpu_dev, &err), SX_OK);
    gpu_own = gpu_dev->backend;
    cpu_own = cpu_dev->backend;
    gpu_table = *gpu_own;
    cpu_table = *cpu_own;
    gpu_dev->backend = &gpu_table;
    cpu_dev->backend = &cpu_table;
}

static void both_back(void)
{
    gpu_dev->backend = gpu_own;
    cpu_dev->backend = cpu_own;
}

/* ---- answers ---------------------------------------------------------------------------- */

/* What a job must be, whoever has it. */
static struct {
    uint32_t depth, share, levels;
    _Atomic unsigned gpu, cpu, wrong;
} expected;

static int heads_right(const sx_steps *job)
{
    return job->head == (job->n * expected.share + 512) / 1024;
}

static sx_status watched_gpu(void *self, const sx_views *v, const sx_steps *job, sx_err *err)
{
    expected.gpu++;
    expected.wrong += job->from != expected.depth || job->to != expected.levels ||
                      !heads_right(job) ||
                      (job->head && (job->head_from != expected.depth + 1 ||
                                     job->head_to != expected.levels));
    return gpu_own->steps(self, v, job, err);
}

static sx_status watched_cpu(void *self, const sx_views *v, const sx_steps *job, sx_err *err)
{
    expected.cpu++;
    expected.wrong += job->from != 0 || job->to != expected.depth || !heads_right(job) ||
                      (job->head && (job->head_from != 0 || job->head_to != expected.depth + 1));
    return cpu_own->steps(self, v, job, err);
}

/* Every question, with the balance: the answers are right, and each side walks its levels. */
static void ask_balanced(sx_device *dev, sx_index *ix, const dataset *d, const char *spec,
                         uint32_t depth, uint32_t share, uint32_t strategy)
{
    char what[200];
    uint32_t levels = levels_of(ix);
    snprintf(what, sizeof what, "%s, type %d, depth %u of %u, share %u, strategy %u", spec, d->type,
             depth, levels, share, strategy);
    expected.depth = depth;
    expected.share = share;
    expected.levels = levels;
    expected.gpu = expected.cpu = expected.wrong = 0;
    set_balance(ix, depth, share, strategy);
    ask_beside(dev, ix, d, what);
    if (expected.wrong)
        fail_msg("%s: %u jobs have other levels", what, expected.wrong);
    if ((expected.gpu > 0) != (depth < levels) ||
        expected.cpu != (depth + share > 0 && depth < levels ? expected.gpu : 0))
        fail_msg("%s: %u jobs of the GPU, %u of the CPU", what, expected.gpu, expected.cpu);
}

static void test_answers(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with("bucket=16,side=gpu"));
    const char *spec;
    for (size_t s = 0; (spec = spec_at(s)) != NULL; s++)
        for (unsigned t = 0; t < COUNT_OF(device_widths); t++) {
            if (UNDER_TSAN && t != s % COUNT_OF(device_widths))
                continue;         /* one width each: the threads do the same with all */
            dataset *d = data_make(device_widths[t], s % 2 ? KEYS_DUPLICATES : KEYS_RANDOM,
                                   700 + 100 * t, (row_kind)((s + t) % ROWS_KINDS), 90, &r);
            sx_index *ix = index_of(dev, d, spec);
            static const uint32_t shares[] = { 0, 1, 300, 512, 1000, 1024 };
            uint32_t levels = levels_of(ix);
            assert_true(levels > 0);
            both_stand_in(dev);
            gpu_table.steps = watched_gpu;
            cpu_table.steps = watched_cpu;
            for (uint32_t depth = 0; depth <= levels; depth++)
                for (unsigned i = 0; i < (depth < levels ? 3 : 1); i++) {
                    uint32_t turn = (uint32_t)s + t + depth;
                    ask_balanced(dev, ix, d, spec, depth,
                                 i == 0 ? 0 : shares[1 + (turn + i) % (COUNT_OF(shares) - 1)],
                                 (turn + i) % 4);
                }
            both_back();
            sx_free(ix);
            data_free(d);
        }
    sx_close(dev);
}

/* ---- what a device's name says ------------------------------------------------------------ */

static void test_told(void **state)
{
    (void)state;
    static const char *const strategies[] = { "sequential", "pipelined", "double" };
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_DUPLICATES, 3000, ROWS_U32, 200, &r);
    sx_device *plain = device_open(kernel_with("bucket=16,side=gpu"));
    sx_index *ix = index_of(plain, d, "eytzinger(k=4) place=hybrid");
    uint32_t levels = levels_of(ix);
    char options[100], words[100];
    explained(ix, "the CPU walks 0, the GPU the rest\n", "\"depth\": 0, \"share\": 0.0000, \"told\": "
              "false, \"strategy\": \"double\", \"tried\": []}");
    sx_free(ix);
    sx_close(plain);
    assert_true(levels > 2);
    for (uint32_t depth = 0; depth <= levels; depth++)
        for (unsigned s = 0; s < COUNT_OF(strategies); s++) {
            const char *share = depth == levels ? "0" : s == 0 ? "0" : s == 1 ? "0.25" : ".999";
            snprintf(options, sizeof options, "bucket=16,side=gpu,depth=%u,share=%s,strategy=%s",
                     depth, share, strategies[s]);
            sx_device *dev = device_open(kernel_with(options));
            ix = index_of(dev, d, "eytzinger(k=4) place=hybrid");
            snprintf(options, sizeof options, "of %u levels the CPU walks %u", levels, depth);
            snprintf(words, sizeof words, "\"share\": %s, \"told\": true, \"strategy\": \"%s\"",
                     depth == levels || s == 0 ? "0.0000" : s == 1 ? "0.2500" : "0.9990",
                     strategies[s]);
            explained(ix, options, words);
            explained(ix, "as the device's name says", depth == levels ? "\"entered_from\": null"
                                                                       : "\"entered_from\": 16");
            stand_in(dev, OF_ENTRIES);
            ask_beside(dev, ix, d, words);
            assert_int_equal(asked > 0, depth < levels);
            stand_back(dev);
            sx_free(ix);
            sx_close(dev);
        }
    /* One of the two says both. Others than hybrid indexes do not care. */
    sx_device *dev = device_open(kernel_with("bucket=16,share=0.5"));
    ix = index_of(dev, d, "pivot place=hybrid");
    assert_int_equal(now_of(ix)->cost.entries.balance.share, 512);
    assert_int_equal(now_of(ix)->cost.entries.balance.depth, 0);
    sx_free(ix);
    sx_close(dev);
    dev = device_open(kernel_with("depth=60"));
    sx_free(index_of(dev, d, "pivot place=both"));
    sx_free(index_of(dev, d, "pivot"));
    sx_close(dev);
    data_free(d);
}

static void test_refused(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 3000, ROWS_U32, 10, &r);
    dataset *none = data_make(SX_U64, KEYS_RANDOM, 0, ROWS_U32, 10, &r);
    sx_device *dev = device_open(kernel_with("")), *told;
    sx_index *ix = index_of(dev, d, "pivot place=hybrid"), *other = NULL;
    char options[100], words[100], *path = temp_path("balance.sxt");
    uint32_t levels = levels_of(ix);
    OK(sx_save(ix, path, NULL));
    sx_free(ix);
    snprintf(options, sizeof options, "depth=%u", levels + 1);
    snprintf(words, sizeof words, "depth is %u, but the upper part of this index has %u levels; "
             "allowed: 0 to %u", levels + 1, levels, levels);
    told = device_open(kernel_with(options));
    REFUSED(data_build(d, told, "pivot place=hybrid", NULL, &other), SX_EINVAL, words);
    REFUSED(sx_load(&other, told, path, SX_LOAD_HYBRID, NULL), SX_EINVAL, words);
    REFUSED(data_build(none, told, "pivot place=hybrid", NULL, &other), SX_EINVAL, "0 levels");
    assert_null(other);
    sx_close(told);
    snprintf(options, sizeof options, "share=0.5,depth=%u", levels);
    told = device_open(kernel_with(options));
    REFUSED(data_build(d, told, "pivot place=hybrid", NULL, &other), SX_EINVAL,
            "share is 0.500 at depth");
    assert_null(other);
    sx_close(told);
    sx_close(dev);
    unlink(path);
    free(path);
    data_free(none);
    data_free(d);
}

/* ---- how the balance is found ---------------------------------------------------------------- */

/* Two sides whose levels take as long as the test says. Each thread has a clock of its own, and
 * only its own work moves that: the time of a call is that of the side that took longer. */
#define LEVELS_MOST 64u
static struct {
    double cpu[LEVELS_MOST], gpu[LEVELS_MOST];    /* ns of a query */
    double leaves, trip;                          /* a query; a job of the GPU */
    double second;                                /* of a search: what it takes if another one has
                                                     just been beside it */
    uint32_t levels;
} sim;
static _Thread_local double sim_now;

static uint64_t sim_clock(void)
{
    return 1000 + (uint64_t)sim_now;
}

static double sum_of(const double *level, uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t l = from; l < to; l++)
        sum += level[l];
    return sum;
}

static double work_of(const double *level, const sx_steps *job)
{
    return (double)job->head * sum_of(level, job->head_from, job->head_to) +
           (double)(job->n - job->head) * sum_of(level, job->from, job->to);
}

static sx_status sim_gpu(void *self, const sx_views *v, const sx_steps *job, sx_err *err)
{
    sim_now += sim.trip + work_of(sim.gpu, job);
    return gpu_own->steps(self, v, job, err);
}

static sx_status sim_cpu(void *self, const sx_views *v, const sx_steps *job, sx_err *err)
{
    sim_now += work_of(sim.cpu, job);
    return cpu_own->steps(self, v, job, err);
}

static sx_status sim_lookup(void *self, const sx_views *v, const sx_lookup *job, sx_err *err)
{
    if (job->op != SX_OP_KEY_AT)
        sim_now += (double)job->n *
                   (sim.leaves + (job->entry ? 0 : sum_of(sim.cpu, 0, sim.levels)));
    return cpu_own->lookup(self, v, job, err);
}

/* Both ends of a range. */
static sx_status sim_spans(void *self, const sx_views *v, const sx_span_query *job,
                           const sx_spans *to, sx_err *err)
{
    sim_now += (double)job->n * (1 + sim.second) *
               (sim.leaves + (job->entry_lo ? 0 : sum_of(sim.cpu, 0, sim.levels)));
    return cpu_own->spans(self, v, job, to, err);
}

enum { SIM_BUCKET = 64, SIM_SHARES = 64 };

/* Equation 4, with a trip for each bucket. share: of SIM_SHARES. */
static double sim_time(uint32_t depth, uint32_t share, double *cpu, double *gpu)
{
    double part = (double)share / SIM_SHARES;
    *cpu = sim.leaves + sum_of(sim.cpu, 0, depth);
    *gpu = 0;
    if (depth < sim.levels) {
        *cpu += part * sim.cpu[depth];
        *gpu = sim.trip / SIM_BUCKET + (1 - part) * sim.gpu[depth] +
               sum_of(sim.gpu, depth + 1, sim.levels);
    }
    return *cpu > *gpu ? *cpu : *gpu;
}

/* The best of all balances with a GPU. */
static double sim_best(void)
{
    double best = 1e30, cpu, gpu;
    for (uint32_t depth = 0; depth < sim.levels; depth++)
        for (uint32_t share = 0; share < SIM_SHARES; share++) {
            double ns = sim_time(depth, share, &cpu, &gpu);
            best = ns < best ? ns : best;
        }
    return best;
}

typedef enum { SLOW_GPU, SLOW_CPU, EVEN, SLOW_LEAVES, LONG_TRIPS, FAR_LEVELS, AT_RANDOM,
               SIM_KINDS } sim_kind;

static void sim_make(sim_kind kind, uint32_t levels, rnd *r)
{
    memset(&sim, 0, sizeof sim);
    sim.levels = levels;
    sim.second = 1;
    sim.leaves = kind == SLOW_LEAVES ? 60000 : 1000 + (double)rnd_below(r, 3000);
    sim.trip = kind == LONG_TRIPS ? 200000 : (double)rnd_below(r, 20000);
    for (uint32_t l = 0; l < levels; l++) {
        double x = 500 + (double)rnd_below(r, 1000);
        double slow[SIM_KINDS] = { 8, 0.1, 1, 2, 1, 1, (double)rnd_below(r, 400) / 100 };
        sim.cpu[l] = kind == FAR_LEVELS ? x * (l + 1) : x;
        sim.gpu[l] = x * slow[kind];
    }
}

/* Measures the index again with these sides; what it found is within 5 % of the best, and so is
 * what it has measured. The GPU is asked if and only if that is worth it. */
static void try_sim(sx_device *dev, sx_index *ix, const dataset *d, sim_kind kind, const char *spec)
{
    const sx_cost_entries *e = &now_of(ix)->cost.entries;
    double cpu, gpu, best = sim_best(), alone = sim.leaves + sum_of(sim.cpu, 0, sim.levels);
    char what[200];
    sx_err err;
    snprintf(what, sizeof what, "%s, kind %d, %u levels", spec, (int)kind, sim.levels);
    both_stand_in(dev);
    gpu_table.steps = sim_gpu;
    cpu_table.steps = sim_cpu;
    cpu_table.lookup = sim_lookup;
    cpu_table.spans = sim_spans;
    sx_clock_replace(sim_clock);
    sx_status st = sx_cost_measure(now_of(ix), &err);
    sx_clock_replace(NULL);
    both_back();
    if (st != SX_OK)
        fail_msg("%s: %s", what, err.text);
    assert_true(e->balance.depth < sim.levels && e->balance.share < SX_SHARE_ALL);
    double found = sim_time(e->balance.depth, e->balance.share / (SX_SHARE_ALL / SIM_SHARES), &cpu,
                            &gpu);
    if (found > 1.05 * best)
        fail_msg("%s: depth %u, share %u: %.0f ns, the best has %.0f", what, e->balance.depth,
                 e->balance.share, found, best);
    if (e->best.ns < 0.99 * found || e->best.ns > 1.01 * found ||
        e->best.cpu_ns < 0.99 * cpu || e->best.cpu_ns > 1.01 * cpu ||
        e->best.gpu_ns < 0.99 * gpu || e->best.gpu_ns > 1.01 * gpu)
        fail_msg("%s: measured %.0f (%.0f, %.0f), not %.0f (%.0f, %.0f)", what, e->best.ns,
                 e->best.cpu_ns, e->best.gpu_ns, found, cpu, gpu);
    (void)sim_time(0, 0, &cpu, &gpu);
    if (gpu < 0.99 * cpu)         /* nothing to find: the plain hybrid waits for the CPU */
        assert_true(e->trials == 1 && !sx_balance_walks(&e->balance));
    else if (gpu > 1.01 * cpu)
        assert_true(e->trials > 5);
    if (now_of(ix)->cost.side)
        return;
    assert_true(e->alone_ns > 0.99 * alone && e->alone_ns < 1.01 * alone);
    stand_in(dev, OF_ENTRIES);
    ask_beside(NULL, ix, d, what);
    stand_back(dev);
    if (alone / found < 1.09 && asked > 0)
        fail_msg("%s: the GPU is asked for a gain of %.3f", what, alone / found);
    if (alone / found > 1.3 && asked == 0)
        fail_msg("%s: the GPU is not asked for a gain of %.3f", what, alone / found);
}

static void discover_on(const char *options, unsigned rounds)
{
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 9000, ROWS_U32, 500, &r);
    sx_device *dev = device_open(kernel_with(options));
    const char *spec;
    for (size_t s = 0; (spec = spec_at(s)) != NULL; s++) {
        sx_index *ix = index_of(dev, d, spec);
        for (int kind = 0; kind < SIM_KINDS; kind++)
            for (unsigned i = 0; i < (kind == AT_RANDOM ? 4 * rounds : rounds); i++) {
                sim_make((sim_kind)kind, levels_of(ix), &r);
                try_sim(dev, ix, d, (sim_kind)kind, spec);
            }
        sx_free(ix);
    }
    sx_close(dev);
    data_free(d);
}

static void test_discovery(void **state)
{
    (void)state;
    discover_on("bucket=64,strategy=pipelined", UNDER_TSAN ? 1 : 2);
}

/* Whether the GPU makes entries for as many gets as there are queries, and for as many ranges. */
static void asked_for(sx_device *dev, const sx_index *ix, const dataset *d, bool of[2])
{
    uint64_t *out = need(d->queries * sizeof *out);
    sx_column q = column(d->type, d->queries, d->q.data), to = column(SX_U64, d->queries, out);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &q, .hi = &q };
    for (unsigned i = 0; i < 2; i++) {
        stand_in(dev, OF_ENTRIES);
        sx_status st = i ? sx_range_count(ix, &ranges, &to, NULL) : sx_get(ix, &q, &to, NULL);
        of[i] = asked > 0;
        stand_back(dev);
        OK(st);
    }
    free(out);
}

/* A range is two searches for the GPU. For a CPU that finds the second one's lines in its cache it
 * is hardly more than one: then entries may pay for gets and not for ranges. */
static void test_ranges_tried(void **state)
{
    (void)state;
    static const double second[] = { 0, 1 };
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 9000, ROWS_U32, 500, &r);
    sx_device *dev = device_open(kernel_with("bucket=64,strategy=pipelined"));
    sx_index *ix = index_of(dev, d, "btree place=hybrid");
    for (unsigned i = 0; i < COUNT_OF(second); i++) {
        const sx_cost_entries *e = &now_of(ix)->cost.entries;
        bool of[2];
        memset(&sim, 0, sizeof sim);
        sim.levels = levels_of(ix);
        sim.leaves = 1000;
        sim.second = second[i];
        for (uint32_t l = 0; l < sim.levels; l++) {
            sim.cpu[l] = 3000.0 / sim.levels;
            sim.gpu[l] = 1000.0 / sim.levels;     /* as long as leaves: there is no better balance */
        }
        try_sim(dev, ix, d, AT_RANDOM, "ranges");
        double with = 2 * 1000, alone = 4000 * (1 + second[i]);
        if (e->range_gain < 0.97 * alone / with || e->range_gain > 1.03 * alone / with)
            fail_msg("ranges gain %.3f, not %.3f", e->range_gain, alone / with);
        asked_for(dev, ix, d, of);
        assert_true(of[0] && of[1]);
        explained(ix, i ? "ranges were found 4.00 times" : "ranges were found 2.00 times",
                  i ? "\"range_gain\": 4.000" : "\"range_gain\": 2.000");
        now_of(ix)->cost.entries.range_gain = 1.05;
        asked_for(dev, ix, d, of);
        assert_true(of[0] && !of[1]);
    }
    sx_free(ix);
    sx_close(dev);
    data_free(d);
}

/* Where the GPU helps in any case, its share is found as well. */
static void test_discovery_told(void **state)
{
    (void)state;
    discover_on("bucket=64,side=gpu,strategy=pipelined", 1);
}

/* The explanation has what was found, and by what times. */
static void test_explained(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 9000, ROWS_U32, 500, &r);
    sx_device *dev = device_open(kernel_with("bucket=64,strategy=pipelined"));
    sx_index *ix = index_of(dev, d, "eytzinger(k=4) place=hybrid");
    memset(&sim, 0, sizeof sim);
    sim.levels = levels_of(ix);
    assert_int_equal(sim.levels, 5);
    sim.leaves = 1000;
    for (uint32_t l = 0; l < 5; l++) {            /* the best: 2.5 levels */
        sim.cpu[l] = 1000;
        sim.gpu[l] = 1400;
    }
    try_sim(dev, ix, d, AT_RANDOM, "five levels");
    explained(ix, "balance  of 5 levels the CPU walks 2, for 0.500 of a bucket one more, the GPU the "
              "rest\ntried    so a query of a large call takes 3500.000 ns (CPU 3500.000, GPU "
              "3500.000), 7000.000 ns if the GPU walks all levels (CPU 1000.000, GPU 7000.000), "
              "6000.000 ns by the CPU alone\n",
              "\"balance\": {\"levels\": 5, \"depth\": 2, \"share\": 0.5000, \"told\": false, "
              "\"strategy\": \"pipelined\", \"best\": {\"depth\": 2, \"share\": 0.5000, \"query_ns\": "
              "3500.0000, \"cpu_query_ns\": 3500.0000, \"gpu_query_ns\": 3500.0000}, \"plain\": "
              "{\"depth\": 0, \"share\": 0.0000, \"query_ns\": 7000.0000, \"cpu_query_ns\": "
              "1000.0000, \"gpu_query_ns\": 7000.0000}, "
              "\"alone_query_ns\": 6000.0000, \"tried\": [{\"depth\": 0, \"share\": 0.0000, "
              "\"query_ns\": 7000.0000, ");
    sx_free(ix);
    sx_close(dev);
    data_free(d);
}

/* ---- strategies ------------------------------------------------------------------------------- */

/* Who is at work. The GPU's job of the first bucket waits for `wanted` of them at once, and that of
 * the second one for the CPU, where the strategy has such a thing. */
static _Atomic int on_gpu, on_cpu, most_on_gpu, both_at_once;
static const char *queries_at;    /* of the first bucket, of 16 keys of 8 bytes */
static int wanted;
static bool wants_both;

static void look(void)
{
    int now = atomic_load(&on_gpu);
    if (now > atomic_load(&most_on_gpu))
        atomic_store(&most_on_gpu, now);
    if (now > 0 && atomic_load(&on_cpu))
        atomic_store(&both_at_once, 1);
}

static sx_status seen_gpu(void *self, const sx_views *v, const sx_steps *job, sx_err *err)
{
    ptrdiff_t bucket = ((const char *)job->q.data - queries_at) / (16 * 8);
    atomic_fetch_add(&on_gpu, 1);
    look();
    for (unsigned ms = 0; (bucket == 0 && atomic_load(&most_on_gpu) < wanted) ||
                          (bucket == 1 && wants_both && !atomic_load(&both_at_once)); ms++) {
        if (ms > HANGS_S * 1000u)
            die("bucket %d waits for the other side", (int)bucket);
        usleep(1000);
    }
    usleep(100);
    look();
    sx_status st = gpu_own->steps(self, v, job, err);
    atomic_fetch_sub(&on_gpu, 1);
    return st;
}

static sx_status seen_steps(void *self, const sx_views *v, const sx_steps *job, sx_err *err)
{
    atomic_store(&on_cpu, 1);
    look();
    sx_status st = cpu_own->steps(self, v, job, err);
    look();
    atomic_store(&on_cpu, 0);
    return st;
}

static sx_status seen_lookup(void *self, const sx_views *v, const sx_lookup *job, sx_err *err)
{
    atomic_store(&on_cpu, 1);
    look();
    sx_status st = cpu_own->lookup(self, v, job, err);
    usleep(100);
    look();
    atomic_store(&on_cpu, 0);
    return st;
}

/* What is done at once: never two things, the two sides, or two buckets on the GPU as well. */
static void test_strategies(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with("bucket=16,side=gpu"));
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 2500, ROWS_U32, 400, &r);
    uint64_t *rows = need(d->queries * 8);
    sx_column q = column(d->type, d->queries, d->q.data);
    sx_column out = column(SX_U64, d->queries, rows);
    sx_index *ix = index_of(dev, d, "eytzinger(k=4) place=hybrid");
    queries_at = (const char *)d->q.data;
    both_stand_in(dev);
    gpu_table.steps = seen_gpu;
    cpu_table.steps = seen_steps;
    cpu_table.lookup = seen_lookup;
    for (uint32_t strategy = SX_BUCKETS_SEQUENTIAL; strategy <= SX_BUCKETS_DOUBLE; strategy++)
        for (uint32_t share = 0; share <= 512; share += 512) {
            most_on_gpu = both_at_once = 0;
            wanted = strategy == SX_BUCKETS_DOUBLE ? 2 : 1;
            wants_both = strategy != SX_BUCKETS_SEQUENTIAL;
            set_balance(ix, share > 0, share, strategy);
            OK(sx_get(ix, &q, &out, NULL));
            assert_memory_equal(rows, d->get, d->queries * 8);
            assert_int_equal(most_on_gpu, wanted);
            assert_int_equal(both_at_once, wants_both);
        }
    both_back();
    sx_free(ix);
    sx_close(dev);
    free(rows);
    data_free(d);
}

/* ---- failures and calls that are stopped --------------------------------------------------------- */

static _Atomic unsigned cpu_jobs;
static unsigned cpu_fails_at;
static sx_status cpu_fails_with;

static sx_status failing_steps(void *self, const sx_views *v, const sx_steps *job, sx_err *err)
{
    if (cpu_jobs++ == cpu_fails_at)
        return sx_fail(err, cpu_fails_with, "told to fail on the host");
    return cpu_own->steps(self, v, job, err);
}

/* Either side fails at every bucket: without memory the CPU goes on alone, other failures end the
 * call. Each way, and with any balance. */
static void test_failures(void **state)
{
    (void)state;
    enum { BUCKET = 16 };
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with("bucket=16,side=gpu"));
    dataset *d = data_make(SX_I64, KEYS_DUPLICATES, 2500, ROWS_U64_SMALL, 150, &r);
    uint64_t n = d->queries, *rows = need(n * 8);
    unsigned buckets = (unsigned)((n + BUCKET - 1) / BUCKET);
    sx_column q = column(d->type, n, d->q.data), out = column(SX_U64, n, rows);
    sx_index *ix = index_of(dev, d, "eytzinger(k=4) place=hybrid");
    for (unsigned way = 0; way < 12; way++) {
        uint32_t strategy = way % 4, share = way / 4 * 400;
        set_balance(ix, share > 0, share, strategy);
        stand_in(dev, OF_ENTRIES);
        for (fail_from = 0; fail_from <= buckets; fail_from++)
            for (unsigned kind = 0; kind < 2; kind++) {
                begin_step("way %u, from %u, kind %u", way, fail_from, kind);
                fail_with = kind ? SX_EDEVICE : SX_ENOMEM;
                asked = 0;
                memset(rows, GUARD_FILL, n * 8);
                if (kind && fail_from < buckets) {
                    REFUSED(sx_get(ix, &q, &out, NULL), SX_EDEVICE, "told to fail");
                    for (uint64_t i = 0; i < n; i++)
                        if (rows[i] != d->get[i])
                            for (; i < n; i++)    /* nothing behind the first that is missing */
                                assert_int_equal(rows[i], GUARD_FILL * 0x0101010101010101ull);
                } else {
                    OK(sx_get(ix, &q, &out, NULL));
                    assert_memory_equal(rows, d->get, n * 8);
                }
            }
        fail_with = SX_OK;
        stand_back(dev);
        both_stand_in(dev);
        cpu_table.steps = failing_steps;
        for (cpu_fails_at = 0; share > 0 && cpu_fails_at <= buckets; cpu_fails_at++)
            for (unsigned kind = 0; kind < 2; kind++) {
                cpu_fails_with = kind ? SX_EIO : SX_ENOMEM;
                cpu_jobs = 0;
                if (kind && cpu_fails_at < buckets) {
                    REFUSED(sx_get(ix, &q, &out, NULL), SX_EIO, "on the host");
                } else {
                    OK(sx_get(ix, &q, &out, NULL));
                    assert_memory_equal(rows, d->get, n * 8);
                }
            }
        both_back();
        ask_beside(dev, ix, d, "afterwards");
    }
    free(rows);
    data_free(d);
    sx_free(ix);
    sx_close(dev);
}

static uint64_t jumping_clock(void)
{
    static _Atomic uint64_t now;
    return atomic_fetch_add(&now, SX_TICK_NS) + SX_TICK_NS;
}

typedef struct {
    unsigned ticks, stop_at;
} stopping;

static int stop_tick(void *context, uint64_t done, uint64_t total)
{
    stopping *s = context;
    (void)done;
    (void)total;
    return s->ticks++ == s->stop_at ? -1 : 0;
}

/* A call is stopped at each of its ticks, and the next one is right. */
static void test_stopped(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with("bucket=16,side=gpu"));
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 2500, ROWS_U32, 150, &r);
    uint64_t *rows = need(d->queries * 8);
    sx_column q = column(d->type, d->queries, d->q.data);
    sx_column out = column(SX_U64, d->queries, rows);
    sx_index *ix = index_of(dev, d, "eytzinger(k=4) place=hybrid");
    for (uint32_t strategy = 0; strategy < 4; strategy++) {
        sx_status st = SX_ECANCELED;
        set_balance(ix, 1, 300, strategy);
        for (unsigned k = 0; st != SX_OK; k++) {
            stopping s = { 0, k };
            sx_call call = { .size = sizeof call, .tick = stop_tick, .tick_context = &s };
            sx_clock_replace(jumping_clock);
            st = sx_get(ix, &q, &out, &call);
            sx_clock_replace(NULL);
            if (st == SX_OK)
                assert_true(k > 3);               /* every bucket ticks */
            else
                assert_int_equal(st, SX_ECANCELED);
            OK(sx_get(ix, &q, &out, NULL));
            assert_memory_equal(rows, d->get, d->queries * 8);
        }
    }
    sx_free(ix);
    sx_close(dev);
    free(rows);
    data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_discovery),
        cmocka_unit_test(test_ranges_tried),
        cmocka_unit_test(test_discovery_told),
        cmocka_unit_test(test_explained),
        cmocka_unit_test(test_strategies),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_stopped),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("balance", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
