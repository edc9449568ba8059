/* test_balance.c - hybrid indexes whose two sides share levels and queries: answers for
 * every balance and every strategy, which levels each side walks, and failures on either side in the
 * middle of a call. */
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

static void set_balance(sx_index *ix, uint32_t depth, uint32_t share, uint32_t own,
                        uint32_t strategy)
{
    now_of(ix)->cost.entries.balance = (sx_balance){ depth, share, own };
    now_of(ix)->cost.travel.strategy = strategy;
}

static void ask_beside(sx_device *dev, const sx_index *ix, const dataset *d, const char *what)
{
    asking->no_streams = true;
    ask_all(asking, dev, ix, d, what);
    asking->no_streams = false;
}

/* ---- answers ---------------------------------------------------------------------------- */

/* What a job must be, whoever has it. */
static struct {
    uint32_t depth, share, own, levels;
    _Atomic unsigned gpu, cpu, wrong;
} expected;

static int heads_right(const sx_steps *job)
{
    return job->head == (job->n * expected.share + 512) / 1024 && job->n > 0 && job->n <= 16;
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
                         uint32_t depth, uint32_t share, uint32_t own, uint32_t strategy)
{
    char what[200];
    uint32_t levels = upper_levels(ix);
    bool helps = depth < levels;
    snprintf(what, sizeof what, "%s, type %d, depth %u of %u, share %u, own %u, strategy %u", spec,
             d->type, depth, levels, share, own, strategy);
    expected.depth = depth;
    expected.share = share;
    expected.own = own;
    expected.levels = levels;
    expected.gpu = expected.cpu = expected.wrong = 0;
    set_balance(ix, depth, share, own, strategy);
    ask_beside(dev, ix, d, what);
    if (expected.wrong)
        fail_msg("%s: %u jobs have other levels or queries", what, expected.wrong);
    if (own >= 1000 && own < 1024)        /* nothing is left but what the CPU gives away */
        helps = helps && expected.gpu > 0;
    else
        helps = helps && own < 1024;
    if ((expected.gpu > 0) != helps ||
        expected.cpu != (depth + share > 0 && helps ? expected.gpu : 0))
        fail_msg("%s: %u jobs of the GPU, %u of the CPU", what, expected.gpu, expected.cpu);
}

static void test_answers(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open(kernel_with("bucket=16,side=gpu"));
    const char *spec;
    for (size_t s = 0; (spec = hybrid_spec_at(s)) != NULL; s++)
        for (unsigned t = 0; t < COUNT_OF(device_widths); t++) {
            if (UNDER_TSAN && t != s % COUNT_OF(device_widths))
                continue;         /* one width each: the threads do the same with all */
            dataset *d = data_make(device_widths[t], s % 2 ? KEYS_DUPLICATES : KEYS_RANDOM,
                                   700 + 100 * t, (row_kind)((s + t) % ROWS_KINDS), 90, &r);
            sx_index *ix = index_of(dev, d, spec);
            static const uint32_t shares[] = { 0, 1, 300, 512, 1000, 1024 };
            static const uint32_t owns[] = { 1, 200, 512, 900, 1023, 1024 };
            uint32_t levels = upper_levels(ix);
            assert_true(levels > 0);
            both_stand_in(dev);
            gpu_table.steps = watched_gpu;
            cpu_table.steps = watched_cpu;
            for (uint32_t depth = 0; depth <= levels; depth++)
                for (unsigned i = 0; i < (depth < levels ? 5 : 1); i++) {
                    uint32_t turn = (uint32_t)s + t + depth;
                    ask_balanced(dev, ix, d, spec, depth,
                                 i % 3 == 0 ? 0 : shares[1 + (turn + i) % (COUNT_OF(shares) - 1)],
                                 i < 3 ? 0 : owns[(2 * turn + i) % COUNT_OF(owns)], (turn + i) % 4);
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
    uint32_t levels = upper_levels(ix);
    char options[100], words[100];
    explained(ix, "the CPU walks 0, the GPU the rest\n", "\"depth\": 0, \"share\": 0.0000, \"own\": 0.0000, \"told\": "
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
            snprintf(words, sizeof words, "\"share\": %s, \"own\": 0.0000, \"told\": true, \"strategy\": \"%s\"",
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
    /* The CPU's own queries; all of them are the CPU alone, whatever the levels. */
    static const struct {
        const char *options, *text, *json;
        bool helps;
    } owns[] = {
        { "own=0.25", "the GPU the rest; 0.250 of a batch the CPU answers alone, as the device's "
          "name says", "\"depth\": 0, \"share\": 0.0000, \"own\": 0.2500, \"told\": true", true },
        { "own=.5,depth=1,share=.5", "walks 1, for 0.500 of a bucket one more, the GPU the rest; 0.500 "
          "of a batch the CPU answers alone", "\"share\": 0.5000, \"own\": 0.5000", true },
        { "own=1", "; 1.000 of a batch the CPU answers alone", "\"entered_from\": null", false },
        { "own=1,depth=1", "; 1.000 of a batch", "\"entered_from\": null", false },
    };
    for (size_t i = 0; i < COUNT_OF(owns); i++) {
        snprintf(options, sizeof options, "bucket=16,side=gpu,%s", owns[i].options);
        sx_device *dev = device_open(kernel_with(options));
        ix = index_of(dev, d, "eytzinger(k=4) place=hybrid");
        explained(ix, owns[i].text, owns[i].json);
        stand_in(dev, OF_ENTRIES);
        ask_beside(dev, ix, d, owns[i].options);
        assert_int_equal(asked > 0, owns[i].helps);
        stand_back(dev);
        sx_free(ix);
        sx_close(dev);
    }
    /* One of the three says all. Others than hybrid indexes do not care. */
    sx_device *dev = device_open(kernel_with("bucket=16,share=0.5"));
    ix = index_of(dev, d, "pivot place=hybrid");
    assert_int_equal(now_of(ix)->cost.entries.balance.share, 512);
    assert_int_equal(now_of(ix)->cost.entries.balance.depth, 0);
    assert_int_equal(now_of(ix)->cost.entries.balance.own, 0);
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
    uint32_t levels = upper_levels(ix);
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

/* ---- strategies ------------------------------------------------------------------------------- */

/* Who is at work. The GPU's job of the first bucket waits for `wanted` of them at once, and that of
 * the second one for the CPU, where the strategy has such a thing. If the CPU has queries of its own,
 * that of the first bucket waits for it, too: it begins with them. */
static _Atomic int on_gpu, on_cpu, most_on_gpu, both_at_once;
static const char *queries_at;    /* of the first bucket, of 16 keys of 8 bytes */
static int wanted;
static bool wants_both, wants_first;

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
                          (bucket == !wants_first && wants_both && !atomic_load(&both_at_once));
         ms++) {
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
    both_stand_in(dev);
    gpu_table.steps = seen_gpu;
    cpu_table.steps = seen_steps;
    cpu_table.lookup = seen_lookup;
    for (uint32_t strategy = SX_BUCKETS_SEQUENTIAL; strategy <= SX_BUCKETS_DOUBLE; strategy++)
        for (uint32_t turn = 0; turn < 3; turn++) {
            uint32_t share = turn == 1 ? 512 : 0, own = turn == 2 ? 512 : 0;
            if (own && strategy == SX_BUCKETS_SEQUENTIAL)
                continue;         /* both are at work on one bucket */
            most_on_gpu = both_at_once = 0;
            wanted = strategy == SX_BUCKETS_DOUBLE ? 2 : 1;
            wants_both = strategy != SX_BUCKETS_SEQUENTIAL;
            wants_first = own > 0;
            queries_at = (const char *)d->q.data + d->queries * own / 1024 * 8;
            set_balance(ix, share > 0, share, own, strategy);
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
    unsigned buckets;
    sx_column q = column(d->type, n, d->q.data), out = column(SX_U64, n, rows);
    sx_index *ix = index_of(dev, d, "eytzinger(k=4) place=hybrid");
    for (unsigned way = 0; way < 24; way++) {
        uint32_t strategy = way % 4, share = way / 4 % 3 * 400;
        set_balance(ix, share > 0, share, way < 12 ? 0 : 300, strategy);
        stand_in(dev, OF_ENTRIES);
        OK(sx_get(ix, &q, &out, NULL));
        buckets = asked;
        assert_true(way < 12 ? buckets == (n + BUCKET - 1) / BUCKET : buckets > 4);
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
    /* A GPU that fails with buckets that the CPU gave away, as many as these are this time. */
    for (unsigned turn = 0; turn < 40; turn++) {
        fail_with = turn % 2 ? SX_EDEVICE : SX_ENOMEM;
        fail_from = turn / 2 % 10;
        set_balance(ix, turn % 4 / 2, 0, 900, 0);
        stand_in(dev, OF_ENTRIES);
        memset(rows, GUARD_FILL, n * 8);
        sx_status st = sx_get(ix, &q, &out, NULL);
        assert_true(st == SX_OK || (turn % 2 && st == SX_EDEVICE));
        for (uint64_t i = 0; i < n; i++)
            if (rows[i] != d->get[i] && st == SX_OK)
                fail_msg("turn %u: row %llu is wrong", turn, (unsigned long long)i);
            else if (rows[i] != d->get[i])
                for (; i < n; i++)
                    assert_int_equal(rows[i], GUARD_FILL * 0x0101010101010101ull);
        fail_with = SX_OK;
        stand_back(dev);
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
        set_balance(ix, 1, 300, strategy % 2 * 400, strategy);
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

/* A host that searches a pgm another way than its GPU shares no levels with it. It can have queries
 * of its own. */
static void test_other_search(void **state)
{
    (void)state;
    static const char *const options[] = { "depth=1", "share=0.5", "own=0.5", "depth=0" };
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 9000, ROWS_U32, 10, &r);
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        char name[100];
        sx_err err;
        snprintf(name, sizeof name, "bucket=16,side=gpu,search=complete,%s", options[i]);
        sx_device *dev = device_open(kernel_with(name));
        sx_index *ix = index_of(dev, d, "pgm(eps=3,eps2=2) place=hybrid");
        uint32_t levels = upper_levels(ix), *concise = &view_of(ix)->of.pgm.concise;
        assert_true(levels > 1);
        assert_int_equal(sx_shared_levels(replica_of(ix, 1), replica_of(ix, 0)), levels);
        *concise = !*concise;
        assert_int_equal(sx_shared_levels(replica_of(ix, 1), replica_of(ix, 0)), 0);
        sx_status st = sx_cost_measure(now_of(ix), &err);
        if (i < 2) {
            assert_int_equal(st, SX_EINVAL);
            assert_non_null(strstr(err.text, "searches this index another way"));
        } else {
            assert_int_equal(st, SX_OK);
        }
        *concise = !*concise;
        sx_free(ix);
        sx_close(dev);
    }
    data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_other_search),
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
