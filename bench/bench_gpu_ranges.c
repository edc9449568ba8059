/* bench_gpu_ranges.c - rows of ranges, ends and results in the host's memory. */
#include <stdlib.h>
#include <string.h>

#include "bench_gpu.h"
#include "say.h"

typedef struct {
    sx_column lo, hi;
    sx_column first;              /* of each call, one more than its ranges */
    sx_column rows;
    sx_column right;              /* sums of the rows of each range */
    uint64_t batch;
} range_work;

static range_work work_new(gpu_bench *b, const gpu_task *task, uint64_t batch)
{
    uint64_t calls = (task->q.n + batch - 1) / batch;

    return (range_work){
        .lo = here_copy(b, &task->q), .hi = here_copy(b, &task->hi),
        .first = column_over(SX_U64, task->q.n + calls,
                             must_alloc(task->q.n + calls, 8)),
        .rows = column_over(b->number, task->work,
                            must_alloc(task->work,
                                       sx_type_bytes(b->number))),
        .right = here_copy(b, &task->right), .batch = batch,
    };
}

static void work_drop(range_work *w)
{
    free(w->lo.data);
    free(w->hi.data);
    free(w->first.data);
    free(w->rows.data);
    free(w->right.data);
}

/* Asks all ranges once. The rows of a call are behind those of the one before. */
static double pass(const range_work *w, const sx_index *ix, call_times *calls)
{
    uint64_t done = 0, call = 0;
    double start = seconds_now(), since = start;

    for (uint64_t i = 0; i < w->lo.n; i += w->batch, call++) {
        uint64_t n = w->lo.n - i < w->batch ? w->lo.n - i : w->batch;
        sx_column lo = column_part(&w->lo, i, n), hi = column_part(&w->hi, i, n);
        sx_column first = column_part(&w->first, i + call, n + 1);
        sx_column rows = column_part(&w->rows, done, w->rows.n - done);
        sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };

        expect_ok(sx_range(ix, &ranges, &first, &rows, NULL, NULL),
                  op_name(OP_RANGE_PAGEABLE));
        done += ((const uint64_t *)first.data)[n];
        if (calls->space) {
            double now = seconds_now();

            calls_add(calls, now - since);
            since = now;
        }
    }
    return seconds_now() - start;
}

/* Of one call, ranges whose rows have another sum. A call's rows begin where those of the
 * calls before it end. */
static uint64_t wrong_of_call(const range_work *w, uint64_t at, uint64_t n,
                              const uint64_t *first, uint64_t done)
{
    const uint64_t *right = w->right.data;
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t sum = 0;

        for (uint64_t r = first[i]; r < first[i + 1]; r++)
            sum += number_at(&w->rows, done + r);
        wrong += sum != right[at + i];
    }
    return wrong;
}

static uint64_t count_wrong(const range_work *w)
{
    const uint64_t *first = w->first.data;
    uint64_t wrong = 0, done = 0;

    for (uint64_t i = 0; i < w->lo.n; i += w->batch) {
        uint64_t n = w->lo.n - i < w->batch ? w->lo.n - i : w->batch;

        if (first[n] > w->rows.n - done)
            return w->lo.n;
        wrong += wrong_of_call(w, i, n, first, done);
        done += first[n];
        first += n + 1;
    }
    return done == w->rows.n ? wrong : w->lo.n;
}

bench_result gpu_run_ranges(gpu_bench *b, const sx_index *ix,
                            const gpu_task *task, uint64_t batch,
                            double *times)
{
    range_work w = work_new(b, task, batch);
    call_times none = { .space = 0 }, calls = calls_of(b->o, task->q.n, batch);
    bench_result result;
    uint64_t again;

    memset(w.rows.data, 0xa5, w.rows.n * sx_type_bytes(b->number));
    pass(&w, ix, &none);
    result.wrong = count_wrong(&w);
    for (uint64_t i = 0; i < b->o->runs; i++)
        times[i] = pass(&w, ix, &calls);
    again = count_wrong(&w);
    if (again > result.wrong)
        result.wrong = again;
    work_drop(&w);
    result.median_s = median_of(times, b->o->runs);
    result.least_s = times[0];
    calls_end(&calls, &result);
    return result;
}
