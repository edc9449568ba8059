/* bench_gpu_run.c - one index, one operation. */
#include <stdlib.h>
#include <string.h>

#include "bench_gpu.h"
#include "pinned.h"
#include "progress.h"
#include "say.h"

enum { CALLS_PER_RUN = 200, CALLS_MAX = 1000 }; /* of the op small */

typedef struct {
    sx_column rows;               /* or ranks, or sums */
    sx_column keys;               /* key_at only */
} answers;

/* ---- all in the device's memory ---------------------------------------- */

static sx_status ask(const sx_index *ix, int op, const sx_column *q,
                     const sx_column *hi, answers *out, const sx_call *call)
{
    sx_ranges ranges = { .size = sizeof ranges, .lo = q, .hi = hi };
    sx_aggregates sums = { .size = sizeof sums, .sum = &out->rows };

    switch (op) {
    case OP_RANK: return sx_rank(ix, q, SX_LEFT, &out->rows, call);
    case OP_FLOOR: return sx_floor(ix, q, &out->rows, NULL, call);
    case OP_CEIL: return sx_ceil(ix, q, &out->rows, NULL, call);
    case OP_KEY_AT: return sx_key_at(ix, q, &out->keys, &out->rows, call);
    case OP_RANGE: return sx_range_aggregate(ix, &ranges, &sums, call);
    }
    return sx_get(ix, q, &out->rows, call);
}

/* Queries in a call. The op small is one call. */
static uint64_t batch_of(const gpu_bench *b, const gpu_task *task)
{
    return b->o->batch && task->op != OP_SMALL ? b->o->batch : task->q.n;
}

/* Asks all queries once, --batch at a time; seconds of the device's clock. */
static double pass(const gpu_bench *b, const sx_index *ix,
                   const gpu_task *task, const answers *all,
                   call_times *calls)
{
    uint64_t batch = batch_of(b, task), ns = 0, sum = 0;
    bool ascend = b->o->sorted && task->op != OP_KEY_AT &&
                  task->op != OP_RANGE;
    sx_call call = { .size = sizeof call, .device_ns = &ns,
                     .hints = ascend ? SX_ASCENDING : 0 };

    for (uint64_t i = 0; i < task->q.n; i += batch) {
        uint64_t n = task->q.n - i < batch ? task->q.n - i : batch;
        sx_column q = there_part(&task->q, i, n), hi = q;
        answers part = { .rows = there_part(&all->rows, i, n) };

        if (task->op == OP_RANGE)
            hi = there_part(&task->hi, i, n);
        if (task->op == OP_KEY_AT)
            part.keys = there_part(&all->keys, i, n);
        expect_ok(ask(ix, task->op, &q, &hi, &part, &call),
                  op_name(task->op));
        calls_add(calls, (double)ns * 1e-9);
        sum += ns;
    }
    return (double)sum * 1e-9;
}

static void blank_out(gpu_bench *b, sx_column *column)
{
    sx_column blank = *column;

    if (!column->data)
        return;
    blank.data = b->blank.data;
    expect_ok(sx_column_copy(column, &blank, b->device), NULL);
}

static uint64_t count_wrong(gpu_bench *b, const gpu_task *task,
                            const answers *all)
{
    uint64_t wrong = gpu_differences(b, &task->right, &all->rows);

    if (task->op == OP_KEY_AT)
        wrong += gpu_differences(b, &task->right_keys, &all->keys);
    return wrong;
}

/* Answers are compared after the first pass, into memory that held none, and
 * again after the last. */
static bench_result run_there(gpu_bench *b, const sx_index *ix,
                              const gpu_task *task, double *times)
{
    answers all = { .rows = there_new(b, task->right.type, task->q.n) };
    call_times none = { .space = 0 }, calls = calls_of(b->o, task->q.n,
                                                      batch_of(b, task));
    bench_result result;
    uint64_t again;

    if (task->op == OP_KEY_AT)
        all.keys = there_new(b, b->o->type, task->q.n);
    blank_out(b, &all.rows);
    blank_out(b, &all.keys);
    pass(b, ix, task, &all, &none);
    result.wrong = count_wrong(b, task, &all);
    for (uint64_t i = 0; i < b->o->runs; i++)
        times[i] = pass(b, ix, task, &all, &calls);
    again = count_wrong(b, task, &all);
    if (again > result.wrong)
        result.wrong = again;
    result.median_s = median_of(times, b->o->runs);
    result.least_s = times[0];
    calls_end(&calls, &result);
    there_free(b, &all.rows);
    there_free(b, &all.keys);
    return result;
}

/* ---- columns of the host, by the host's clock --------------------------- */

/* Asks all queries once, --batch at a time. */
static double host_pass(const gpu_bench *b, const sx_index *ix,
                        const gpu_task *task, const sx_column *all_q,
                        const sx_column *all_rows, call_times *calls)
{
    uint64_t batch = batch_of(b, task);
    sx_call call = { .size = sizeof call,
                     .hints = b->o->sorted ? SX_ASCENDING : 0 };
    double start = seconds_now(), since = start;

    for (uint64_t i = 0; i < all_q->n; i += batch) {
        uint64_t n = all_q->n - i < batch ? all_q->n - i : batch;
        sx_column q = there_part(all_q, i, n);
        sx_column rows = there_part(all_rows, i, n);

        expect_ok(sx_get(ix, &q, &rows, &call), op_name(task->op));
        if (calls->space) {
            double now = seconds_now();

            calls_add(calls, now - since);
            since = now;
        }
    }
    return seconds_now() - start;
}

static bench_result time_host(gpu_bench *b, const sx_index *ix,
                              const gpu_task *task, const sx_column *q,
                              sx_column *rows, double *times, uint64_t runs)
{
    size_t size = sx_type_bytes(rows->type);
    call_times none = { .space = 0 }, calls = calls_of(b->o, q->n,
                                                      batch_of(b, task));
    bench_result result;
    sx_column there;

    memset(rows->data, 0xa5, rows->n * size);
    host_pass(b, ix, task, q, rows, &none);
    there = there_copy(b, rows);
    result.wrong = gpu_differences(b, &task->right, &there);
    for (uint64_t i = 0; i < runs; i++)
        times[i] = host_pass(b, ix, task, q, rows, &calls);
    expect_ok(sx_column_copy(&there, rows, b->device), NULL);
    if (gpu_differences(b, &task->right, &there) > result.wrong)
        result.wrong = gpu_differences(b, &task->right, &there);
    there_free(b, &there);
    result.median_s = median_of(times, runs);
    result.least_s = times[0];
    calls_end(&calls, &result);
    return result;
}

static bench_result run_pageable(gpu_bench *b, const sx_index *ix,
                                 const gpu_task *task, double *times)
{
    uint64_t n = task->q.n;
    size_t size = sx_type_bytes(b->number);
    sx_column rows = column_over(b->number, n, must_alloc(n, size));
    bench_result result = time_host(b, ix, task, &b->host_queries, &rows,
                                    times, b->o->runs);

    free(rows.data);
    return result;
}

bool gpu_pin(int op, void *memory, uint64_t bytes)
{
    static bool said[OP_ALL];
    const char *why;

    if (pin(memory, bytes, &why))
        return true;
    if (!said[op]) {
        progress_stop();
        fprintf(stderr, "sextant: bench: %s is left out, memory can't be pinned: %s\n",
                op_name(op), why);
        said[op] = true;
    }
    return false;
}

/* Pinned memory has pages of its own. */
static bench_result run_pinned(gpu_bench *b, const sx_index *ix,
                               const gpu_task *task, double *times)
{
    uint64_t n = task->q.n;
    uint64_t q_bytes = n * sx_type_bytes(b->o->type);
    uint64_t bytes = q_bytes + n * sx_type_bytes(b->number);
    char *memory = huge_alloc(bytes + 64);
    uint64_t rows_at = (q_bytes + 63) / 64 * 64;
    sx_column q = column_over(b->o->type, n, memory);
    sx_column rows = column_over(b->number, n, memory + rows_at);
    bench_result result = { .median_s = -1 };

    memcpy(memory, b->host_queries.data, q_bytes);
    memset(rows.data, 0xa5, bytes - q_bytes);
    if (gpu_pin(task->op, memory, bytes + 64)) {
        result = time_host(b, ix, task, &q, &rows, times, b->o->runs);
        unpin(memory);
    }
    huge_free(memory, bytes + 64);
    return result;
}

/* ---- one operation ------------------------------------------------------ */

bench_result gpu_run(gpu_bench *b, const sx_index *ix, const gpu_task *task)
{
    uint64_t calls = b->o->runs * CALLS_PER_RUN;
    uint64_t space = b->o->runs > CALLS_MAX ? b->o->runs : CALLS_MAX;
    double *times = must_alloc(space, sizeof *times);
    uint64_t few[GPU_SMALL];
    sx_column rows = column_over(b->number, task->q.n, few);
    bench_result result;

    if (calls > CALLS_MAX)
        calls = CALLS_MAX;
    if (task->op == OP_LINES) {   /* not of an index: print_baseline() has it */
        free(times);
        return (bench_result){ .median_s = -1 };
    }
    progress_start("measuring", 0);
    if (task->op == OP_GET_PAGEABLE)
        result = run_pageable(b, ix, task, times);
    else if (task->op == OP_GET_PINNED)
        result = run_pinned(b, ix, task, times);
    else if (task->op >= OP_RANGE_ROWS && task->op <= OP_RANGE_PINNED)
        result = gpu_run_ranges(b, ix, task, batch_of(b, task), times);
    else if (task->op == OP_SMALL)
        result = time_host(b, ix, task, &task->q, &rows, times, calls);
    else
        result = run_there(b, ix, task, times);
    progress_stop();
    free(times);
    return result;
}
