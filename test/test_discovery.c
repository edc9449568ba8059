/* test_discovery.c - how a hybrid index finds its balance, on sides whose levels take as long as the
 * test says: what it finds is near the best of all there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/machine.h"
#include "on_device.h"
#include "inside.h"
#include "stand_in.h"

static asker *asking;

static void ask_beside(sx_device *dev, const sx_index *ix, const dataset *d, const char *what)
{
    asking->no_streams = true;
    ask_all(asking, dev, ix, d, what);
    asking->no_streams = false;
}

/* Two sides whose levels take as long as the test says. Each thread has a clock of its own, and
 * only its own work moves that: the time of a call is that of the side that took longer. */
#define LEVELS_MOST 64u
static struct {
    double cpu[LEVELS_MOST], gpu[LEVELS_MOST];    /* ns of a query */
    double leaves, trip;                          /* a query; a job of the GPU */
    double second;                                /* of a search: what it takes if another one has
                                                     just been beside it */
    double crowded;                               /* of the CPU's own queries: what they take beside
                                                     a GPU at work */
    uint32_t levels;
} sim;
static _Thread_local double sim_now;

static uint64_t sim_clock(void)
{
    return 1000 + (uint64_t)sim_now;
}

enum { SIM_BUCKET = 64, SIM_CALL = 8 * SIM_BUCKET, SIM_STEP = SX_SHARE_ALL / 64 };

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
    /* Those of a CPU that is alone come in larger calls. */
    double part = job->n < SIM_CALL && !job->entry ? sim.crowded : 1;
    if (job->op != SX_OP_KEY_AT)
        sim_now += (double)job->n * part *
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

static double sim_alone(void)
{
    return sim.leaves + sum_of(sim.cpu, 0, sim.levels);
}

/* Equation 4, for a call whose first queries are the CPU's own, with a trip for each bucket of the
 * others: what a query takes, and either side of it. */
static double sim_time(const sx_balance *b, double *cpu, double *gpu)
{
    sx_buckets cut = sx_buckets_of(SIM_CALL, SIM_BUCKET, 1, SX_BUCKETS_PIPELINED, b);
    uint64_t with = SIM_CALL - (SIM_CALL * b->own + SX_SHARE_ALL / 2) / SX_SHARE_ALL;
    double entered = (double)with, heads = 0, trips = 0;
    for (uint64_t at = 0, n; at < with; at += n) {
        n = sx_bucket_length(&cut, with, at);
        heads += (double)((n * b->share + SX_SHARE_ALL / 2) / SX_SHARE_ALL);
        trips++;
    }
    *cpu = (SIM_CALL - entered) * sim_alone() * sim.crowded + heads * sim.cpu[b->depth] +
           entered * (sim.leaves + sum_of(sim.cpu, 0, b->depth));
    *gpu = trips * sim.trip + entered * sum_of(sim.gpu, b->depth, sim.levels) -
           heads * sim.gpu[b->depth];
    *cpu /= SIM_CALL;
    *gpu /= SIM_CALL;
    return *cpu > *gpu ? *cpu : *gpu;
}

/* The best of all balances with a GPU. */
static double sim_best(sx_balance *of)
{
    double best = 1e30, cpu, gpu;
    sx_balance b;
    for (b.depth = 0; b.depth < sim.levels; b.depth++)
        for (b.share = 0; b.share < SX_SHARE_ALL; b.share += SIM_STEP)
            for (b.own = 0; b.own < SX_SHARE_ALL; b.own += SIM_STEP) {
                double ns = sim_time(&b, &cpu, &gpu);
                *of = ns < best ? b : *of;
                best = ns < best ? ns : best;
            }
    return best;
}

typedef enum { SLOW_GPU, SLOW_CPU, EVEN, SLOW_LEAVES, LONG_TRIPS, FAR_LEVELS, CROWDED,
               AT_RANDOM, SIM_KINDS } sim_kind;

static void sim_make(sim_kind kind, uint32_t levels, rnd *r)
{
    memset(&sim, 0, sizeof sim);
    sim.levels = levels;
    sim.second = 1;
    sim.crowded = kind == CROWDED ? 2 : 1;
    sim.leaves = kind == SLOW_LEAVES ? 60000 : 1000 + (double)rnd_below(r, 3000);
    sim.trip = kind == LONG_TRIPS ? 100000 : (double)rnd_below(r, 20000);
    for (uint32_t l = 0; l < levels; l++) {
        double x = 500 + (double)rnd_below(r, 1000);
        double slow[SIM_KINDS] = { 8, 0.1, 1, 2, 1, 1, 8, (double)rnd_below(r, 400) / 100 };
        sim.cpu[l] = kind == FAR_LEVELS ? x * (l + 1) : x;
        sim.gpu[l] = kind == CROWDED && l + 1 < levels ? 0 : x * slow[kind];
    }
}

/* Measures the index again with these sides; what it found is within 5 % of the best, and so is
 * what it has measured. The GPU is asked if and only if that is worth it. */
static void try_sim(sx_device *dev, sx_index *ix, const dataset *d, sim_kind kind, const char *spec)
{
    const sx_cost_entries *e = &now_of(ix)->cost.entries;
    static const sx_balance plain = { 0, 0, 0 };
    sx_balance of;
    double cpu, gpu, best = sim_best(&of), alone = sim_alone();
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
    assert_true(e->balance.depth < sim.levels && e->balance.share < SX_SHARE_ALL &&
                e->balance.own < SX_SHARE_ALL);
    double found = sim_time(&e->balance, &cpu, &gpu);
    if (found > 1.05 * best)
        fail_msg("%s: depth %u, share %u, own %u: %.0f ns; depth %u, share %u, own %u have %.0f", what,
                 e->balance.depth, e->balance.share, e->balance.own, found, of.depth, of.share, of.own,
                 best);
    if (e->best.ns < 0.99 * found || e->best.ns > 1.01 * found ||
        e->best.cpu_ns < 0.99 * cpu || e->best.cpu_ns > 1.01 * cpu ||
        e->best.gpu_ns < 0.99 * gpu || e->best.gpu_ns > 1.01 * gpu)
        fail_msg("%s: measured %.0f (%.0f, %.0f), not %.0f (%.0f, %.0f)", what, e->best.ns,
                 e->best.cpu_ns, e->best.gpu_ns, found, cpu, gpu);
    (void)sim_time(&plain, &cpu, &gpu);
    if (gpu < 0.99 * cpu)         /* nothing to find: the plain hybrid waits for the CPU */
        assert_true(e->trials == 1 && !sx_balance_walks(&e->balance) && e->balance.own == 0);
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
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 9000, ROWS_U32, SIM_CALL + 90, &r);
    sx_device *dev = device_open(kernel_with(options));
    const char *spec;
    for (size_t s = 0; (spec = hybrid_spec_at(s)) != NULL; s++) {
        sx_index *ix = index_of(dev, d, spec);
        for (int kind = 0; kind < SIM_KINDS; kind++)
            for (unsigned i = 0; i < (kind == AT_RANDOM ? 4 * rounds : rounds); i++) {
                sim_make((sim_kind)kind, upper_levels(ix), &r);
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
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 9000, ROWS_U32, SIM_CALL + 90, &r);
    sx_device *dev = device_open(kernel_with("bucket=64,strategy=pipelined"));
    sx_index *ix = index_of(dev, d, "btree place=hybrid");
    for (unsigned i = 0; i < COUNT_OF(second); i++) {
        const sx_cost_entries *e = &now_of(ix)->cost.entries;
        bool of[2];
        memset(&sim, 0, sizeof sim);
        sim.levels = upper_levels(ix);
        sim.leaves = 1000;
        sim.crowded = 1;
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

/* The explanation has what was found, and by what times: levels that take either side the same are
 * shared; if only the last one takes the GPU long, the CPU has queries of its own. */
static void test_explained(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 9000, ROWS_U32, SIM_CALL + 90, &r);
    sx_device *dev = device_open(kernel_with("bucket=64,strategy=pipelined"));
    sx_index *ix = index_of(dev, d, "eytzinger(k=4) place=hybrid");
    memset(&sim, 0, sizeof sim);
    sim.levels = upper_levels(ix);
    assert_int_equal(sim.levels, 5);
    sim.leaves = 1000;
    sim.crowded = 1;
    for (uint32_t l = 0; l < 5; l++) {            /* the best: 2.5 levels */
        sim.cpu[l] = 1000;
        sim.gpu[l] = 1400;
    }
    try_sim(dev, ix, d, AT_RANDOM, "five levels");
    explained(ix, "balance  of 5 levels the CPU walks 2, for 0.500 of a bucket one more, the GPU the "
              "rest\ntried    so a query of a large call takes 3500.000 ns (CPU 3500.000, GPU "
              "3500.000), 7000.000 ns if the GPU walks all levels (CPU 1000.000, GPU 7000.000), "
              "6000.000 ns by the CPU alone\n",
              "\"balance\": {\"levels\": 5, \"depth\": 2, \"share\": 0.5000, \"own\": 0.0000, "
              "\"told\": false, \"strategy\": \"pipelined\", \"best\": {\"depth\": 2, \"share\": "
              "0.5000, \"own\": 0.0000, \"query_ns\": 3500.0000, \"cpu_query_ns\": 3500.0000, "
              "\"gpu_query_ns\": 3500.0000}, \"plain\": {\"depth\": 0, \"share\": 0.0000, \"own\": "
              "0.0000, \"query_ns\": 7000.0000, \"cpu_query_ns\": 1000.0000, \"gpu_query_ns\": "
              "7000.0000}, \"alone_query_ns\": 6000.0000, \"tried\": [{\"depth\": 0, \"share\": "
              "0.0000, \"own\": 0.0000, \"query_ns\": 7000.0000, ");
    for (uint32_t l = 0; l < 5; l++)              /* the best: half of a batch */
        sim.gpu[l] = l == 4 ? 7000 : 0;
    try_sim(dev, ix, d, AT_RANDOM, "the last of five levels");
    explained(ix, "balance  of 5 levels the CPU walks 0, the GPU the rest; 0.500 of a batch the CPU "
              "answers alone\ntried    so a query of a large call takes 3500.000 ns (CPU 3500.000, "
              "GPU 3500.000), 7000.000 ns if the GPU walks all levels (CPU 1000.000, GPU 7000.000), "
              "6000.000 ns by the CPU alone\n",
              "\"depth\": 0, \"share\": 0.0000, \"own\": 0.5000, \"told\": false, ");
    sx_free(ix);
    sx_close(dev);
    data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_discovery),
        cmocka_unit_test(test_ranges_tried),
        cmocka_unit_test(test_discovery_told),
        cmocka_unit_test(test_explained),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("discovery", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
