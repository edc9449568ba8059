/* bench_run.c - one index, one operation. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "progress.h"
#include "say.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double median_of(double *values, uint64_t n)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* ---- times of calls ---------------------------------------------------- */

call_times calls_of(const bench_options *o, uint64_t queries, uint64_t batch)
{
    call_times calls = { .space = 0 };

    if (!o->latency)
        return calls;
    calls.space = o->runs * ((queries + batch - 1) / batch);
    calls.seconds = must_alloc(calls.space, sizeof *calls.seconds);
    return calls;
}

void calls_add(call_times *calls, double seconds)
{
    if (calls->n < calls->space)
        calls->seconds[calls->n++] = seconds;
}

void calls_end(call_times *calls, bench_result *result)
{
    result->call_p50_s = result->call_p99_s = 0;
    if (calls->n) {
        result->call_p50_s = median_of(calls->seconds, calls->n);
        result->call_p99_s = calls->seconds[(calls->n * 99 + 99) / 100 - 1];
    }
    free(calls->seconds);
}

/* ---- asking ------------------------------------------------------------ */

typedef struct {
    sx_column rows;               /* or ranks, or sums */
    sx_column keys;               /* key_at only */
} answers;

static sx_status ask(const sx_index *ix, bench_op op, const sx_column *q,
                     const sx_column *hi, answers *out)
{
    sx_ranges ranges = { .size = sizeof ranges, .lo = q, .hi = hi };
    sx_aggregates sums = { .size = sizeof sums, .sum = &out->rows };

    switch (op) {
    case OP_GET: return sx_get(ix, q, &out->rows, NULL);
    case OP_RANK: return sx_rank(ix, q, SX_LEFT, &out->rows, NULL);
    case OP_FLOOR: return sx_floor(ix, q, &out->rows, NULL, NULL);
    case OP_CEIL: return sx_ceil(ix, q, &out->rows, NULL, NULL);
    case OP_KEY_AT: return sx_key_at(ix, q, &out->keys, &out->rows, NULL);
    case OP_RANGE: return sx_range_aggregate(ix, &ranges, &sums, NULL);
    case OP_COUNT: break;
    }
    return SX_OK;
}

/* Asks all queries once, --batch at a time; returns the seconds. For each call
 * whose time is wanted the clock is read once more. */
static double pass(const sx_index *ix, const bench_task *task,
                   uint64_t batch, const answers *all, call_times *calls)
{
    double start = seconds_now(), since = start;

    for (uint64_t i = 0; i < task->q.n; i += batch) {
        uint64_t n = task->q.n - i < batch ? task->q.n - i : batch;
        sx_column q = column_part(&task->q, i, n), hi = q;
        answers part = { .rows = column_part(&all->rows, i, n) };

        if (task->op == OP_RANGE)
            hi = column_part(&task->hi, i, n);
        if (task->op == OP_KEY_AT)
            part.keys = column_part(&all->keys, i, n);
        expect_ok(ask(ix, task->op, &q, &hi, &part), op_name(task->op));
        if (calls->space) {
            double now = seconds_now();

            calls_add(calls, now - since);
            since = now;
        }
    }
    return seconds_now() - start;
}

static uint64_t count_wrong(const bench_work *work, const bench_task *task,
                            const answers *all)
{
    const uint64_t *rows = all->rows.data;
    size_t size = sx_type_bytes(work->keys.type);
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < task->q.n; i++) {
        bool bad = rows[i] != task->right[i];

        if (task->op == OP_KEY_AT)
            bad |= reference_compare(work->keys.type,
                                     (char *)all->keys.data + i * size,
                                     (char *)task->right_keys + i * size)
                   != 0;
        wrong += bad;
    }
    return wrong;
}

/* Answers are compared after the first pass, into memory that held none, and
 * again after the last. */
bench_result bench_measure(const sx_index *ix, const bench_work *work,
                           const bench_task *task, const bench_options *o)
{
    uint64_t n = task->q.n, batch = o->batch ? o->batch : n, again;
    size_t size = sx_type_bytes(work->keys.type);
    double *times = must_alloc(o->runs, sizeof *times);
    answers all = { .rows = column_over(SX_U64, n, must_alloc(n, 8)) };
    call_times none = { .space = 0 }, calls = calls_of(o, n, batch);
    bench_result result;

    memset(all.rows.data, 0xa5, (size_t)n * 8);
    if (task->op == OP_KEY_AT) {
        all.keys = column_over(work->keys.type, n, must_alloc(n, size));
        memset(all.keys.data, 0xa5, (size_t)n * size);
    }
    progress_start("measuring", 0);
    pass(ix, task, batch, &all, &none);
    result.wrong = count_wrong(work, task, &all);
    for (uint64_t i = 0; i < o->runs; i++)
        times[i] = pass(ix, task, batch, &all, &calls);
    again = count_wrong(work, task, &all);
    progress_stop();
    if (again > result.wrong)
        result.wrong = again;
    result.median_s = median_of(times, o->runs);
    result.least_s = times[0];
    calls_end(&calls, &result);
    free(times);
    free(all.rows.data);
    free(all.keys.data);
    return result;
}
