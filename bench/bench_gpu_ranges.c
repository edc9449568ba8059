/* bench_gpu_ranges.c - rows of ranges, by the host's clock: ends and results in its memory, ordinary or
 * pinned, or in the device's. */
#include <stdlib.h>
#include <string.h>

#include "bench_gpu.h"
#include "pinned.h"
#include "say.h"

typedef struct {
    gpu_bench *b;
    int op;
    sx_column lo, hi;
    sx_column first;              /* of each call, one more than its ranges */
    sx_column rows;
    sx_column right;              /* sums of the rows of each range, on the host */
    uint64_t batch;
    char *pinned;                 /* lo, hi, first and rows; NULL: each is alone */
    uint64_t pinned_bytes;
} range_work;

static bool is_there(const range_work *w)
{
    return w->op == OP_RANGE_ROWS;
}

/* Columns of the host go into one block with pages of its own, which can be pinned. */
static void work_together(range_work *w)
{
    sx_column *all[] = { &w->lo, &w->hi, &w->first, &w->rows };
    uint64_t at[4], end = 0;

    for (int i = 0; i < 4; i++) {
        at[i] = end;
        end += (all[i]->n * sx_type_bytes(all[i]->type) + 63) / 64 * 64;
    }
    w->pinned_bytes = end;
    w->pinned = huge_alloc(end);
    for (int i = 0; i < 4; i++) {
        if (i < 2)                /* the others are results */
            memcpy(w->pinned + at[i], all[i]->data, all[i]->n * sx_type_bytes(all[i]->type));
        free(all[i]->data);
        all[i]->data = w->pinned + at[i];
    }
}

static range_work work_new(gpu_bench *b, const gpu_task *task, uint64_t batch)
{
    uint64_t firsts = task->q.n + (task->q.n + batch - 1) / batch;
    range_work w = { .b = b, .op = task->op, .batch = batch,
                     .right = here_copy(b, &task->right) };

    if (is_there(&w)) {
        w.lo = task->q;
        w.hi = task->hi;
        w.first = there_new(b, SX_U64, firsts);
        w.rows = there_new(b, b->number, task->work);
        return w;
    }
    w.lo = here_copy(b, &task->q);
    w.hi = here_copy(b, &task->hi);
    w.first = column_over(SX_U64, firsts, must_alloc(firsts, 8));
    w.rows = column_over(b->number, task->work,
                         must_alloc(task->work, sx_type_bytes(b->number)));
    if (task->op == OP_RANGE_PINNED)
        work_together(&w);
    return w;
}

static void work_drop(range_work *w)
{
    free(w->right.data);
    if (is_there(w)) {
        there_free(w->b, &w->first);
        there_free(w->b, &w->rows);
        return;
    }
    if (w->pinned) {
        huge_free(w->pinned, w->pinned_bytes);
        return;
    }
    free(w->lo.data);
    free(w->hi.data);
    free(w->first.data);
    free(w->rows.data);
}

/* Writes over what is there from before. */
static void blank_rows(range_work *w)
{
    uint64_t bytes = w->rows.n * sx_type_bytes(w->b->number);
    sx_column blank;

    if (!is_there(w)) {
        memset(w->rows.data, 0xa5, bytes);
        return;
    }
    blank = column_over(w->b->number, w->rows.n, must_alloc(bytes, 1));
    memset(blank.data, 0xa5, bytes);
    expect_ok(sx_column_copy(&w->rows, &blank, w->b->device), NULL);
    free(blank.data);
}

/* Asks all ranges once. The rows of a call are behind those of the one before. */
static double pass(const range_work *w, const sx_index *ix, call_times *calls)
{
    uint64_t done = 0, call = 0;
    double sum = 0;

    for (uint64_t i = 0; i < w->lo.n; i += w->batch, call++) {
        uint64_t n = w->lo.n - i < w->batch ? w->lo.n - i : w->batch;
        sx_column lo = there_part(&w->lo, i, n), hi = there_part(&w->hi, i, n);
        sx_column first = there_part(&w->first, i + call, n + 1), last;
        sx_column rows = there_part(&w->rows, done, w->rows.n - done);
        sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
        double since = seconds_now(), took;
        uint64_t end;

        expect_ok(sx_range(ix, &ranges, &first, &rows, NULL, NULL),
                  op_name(w->op));
        took = seconds_now() - since;
        calls_add(calls, took);
        sum += took;
        last = there_part(&first, n, 1);
        if (is_there(w)) {
            sx_column here = column_over(SX_U64, 1, &end);

            expect_ok(sx_column_copy(&here, &last, w->b->device), NULL);
        } else {
            end = *(const uint64_t *)last.data;
        }
        done += end;
    }
    return sum;
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

static uint64_t wrong_here(const range_work *w)
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

static uint64_t count_wrong(const range_work *w)
{
    range_work here = *w;
    uint64_t wrong;

    if (!is_there(w))
        return wrong_here(w);
    here.first = here_copy(w->b, &w->first);
    here.rows = here_copy(w->b, &w->rows);
    wrong = wrong_here(&here);
    free(here.first.data);
    free(here.rows.data);
    return wrong;
}

bench_result gpu_run_ranges(gpu_bench *b, const sx_index *ix,
                            const gpu_task *task, uint64_t batch,
                            double *times)
{
    range_work w = work_new(b, task, batch);
    call_times none = { .space = 0 }, calls = calls_of(b->o, task->q.n, batch);
    bench_result result = { .median_s = -1 };
    uint64_t again;

    if (w.pinned && !gpu_pin(w.op, w.pinned, w.pinned_bytes)) {
        work_drop(&w);
        return result;
    }
    blank_rows(&w);
    pass(&w, ix, &none);
    result.wrong = count_wrong(&w);
    for (uint64_t i = 0; i < b->o->runs; i++)
        times[i] = pass(&w, ix, &calls);
    again = count_wrong(&w);
    if (again > result.wrong)
        result.wrong = again;
    if (w.pinned)
        unpin(w.pinned);
    work_drop(&w);
    result.median_s = median_of(times, b->o->runs);
    result.least_s = times[0];
    calls_end(&calls, &result);
    return result;
}
