/* bench_work.c - keys, questions and right answers. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "gen.h"
#include "progress.h"
#include "queries.h"
#include "rng.h"
#include "say.h"

/* There are fewer ranges if they are long: this many hits are enough for a
 * steady time, and plain binary search has to walk them, too. */
#define RANGE_HITS_MAX (1ull << 27)

/* Plain binary search may be a hundred times slower than an index; after this
 * long its time is known well enough. */
#define BASELINE_SECONDS 10.0

/* ---- keys and rows ----------------------------------------------------- */

/* Rows that need all of their width: beyond 2^33 for 64 bits. */
static sx_column make_rows(const bench_options *o)
{
    sx_column rows = { 0 };

    if (o->rows == ROWS_32) {
        uint32_t *row = must_alloc(o->n, 4);

        if (o->n > UINT32_MAX / 2)
            fail("--rows 32 is for at most %u keys", UINT32_MAX / 2);
        for (uint64_t i = 0; i < o->n; i++)
            row[i] = (uint32_t)(i + 12345);
        rows = column_over(SX_U32, o->n, row);
    } else if (o->rows == ROWS_64) {
        uint64_t *row = must_alloc(o->n, 8);

        for (uint64_t i = 0; i < o->n; i++)
            row[i] = (1ull << 33) + i;
        rows = column_over(SX_U64, o->n, row);
    }
    return rows;
}

const sx_column *work_rows(const bench_work *work)
{
    return work->rows.data ? &work->rows : NULL;
}

static void make_keys(const bench_options *o, bench_work *work)
{
    void *keys = o->keys ? o->file_keys.data
                         : must_alloc(o->n, sx_type_bytes(o->type));

    if (o->unique)
        gen_unique(o->type, o->n, o->seed, keys);
    else if (!o->keys)
        gen_keys((distribution)o->dist, o->type, o->n, o->seed, keys);
    work->keys = column_over(o->type, o->n, keys);
    work->rows = make_rows(o);
    work->sort_seconds = seconds_now();
    work->ref = reference_build(&work->keys, work_rows(work));
    work->sort_seconds = seconds_now() - work->sort_seconds;
}

/* ---- questions --------------------------------------------------------- */

static sx_column make_ranks(const bench_options *o)
{
    uint64_t *ranks = must_alloc(o->queries, 8);
    rng r = rng_of(o->seed, 2000);

    for (uint64_t i = 0; i < o->queries; i++)
        ranks[i] = rng_below(&r, o->n);
    return column_over(SX_U64, o->queries, ranks);
}

/* From a random key to the one --hits further: exactly --hits hits, more if
 * the last key has equal ones. */
static void make_ranges(const bench_options *o, const reference *ref,
                        bench_task *task)
{
    uint64_t hits = o->hits < o->n ? o->hits : o->n;
    uint64_t most = RANGE_HITS_MAX / hits + 1;
    uint64_t n = o->queries < most ? o->queries : most;
    size_t size = sx_type_bytes(o->type);
    char *lo = must_alloc(n, size), *hi = must_alloc(n, size);
    const char *keys = ref->keys;
    rng r = rng_of(o->seed, 3000);

    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = rng_below(&r, o->n - hits + 1);

        memcpy(lo + i * size, keys + at * size, size);
        memcpy(hi + i * size, keys + (at + hits - 1) * size, size);
    }
    task->q = column_over(o->type, n, lo);
    task->hi = column_over(o->type, n, hi);
    task->work = reference_hits(ref, lo, hi, n);
}

static void make_questions(const bench_options *o, bench_work *work,
                           bench_task *task)
{
    query_mix wanted = { .misses = o->misses, .seed = o->seed,
                         .skew = (skew_kind)o->skew };

    task->work = o->queries;
    if (task->op == OP_RANGE) {
        make_ranges(o, &work->ref, task);
    } else if (task->op == OP_KEY_AT) {
        task->q = make_ranks(o);
    } else {
        if (!work->point_queries.data)
            work->point_queries = draw_queries(&work->keys, &work->ref,
                                               o->queries, &wanted);
        task->q = work->point_queries;
    }
}

/* ---- right answers ----------------------------------------------------- */

/* A few queries warm up. The passes over all are timed, and are the oracle. */
static void answer_plainly(const bench_options *o, const bench_work *work,
                           bench_task *task)
{
    double *times = must_alloc(o->runs, sizeof *times);
    double since = seconds_now();
    uint64_t runs = 0;

    task->right = must_alloc(task->q.n, 8);
    if (task->op == OP_KEY_AT)
        task->right_keys = must_alloc(task->q.n, sx_type_bytes(o->type));
    progress_start("binary search", 0);
    reference_answer(&work->ref, task->op, task->q.data, task->hi.data,
                     task->q.n / 16, task->right, task->right_keys);
    while (runs < o->runs) {
        double start = seconds_now();

        reference_answer(&work->ref, task->op, task->q.data, task->hi.data,
                         task->q.n, task->right, task->right_keys);
        times[runs++] = seconds_now() - start;
        if (seconds_now() - since > BASELINE_SECONDS)
            break;
    }
    progress_stop();
    task->seconds = median_of(times, runs);
    free(times);
}

/* ---- all of it --------------------------------------------------------- */

bench_work work_prepare(const bench_options *o, const bool wanted[OP_COUNT])
{
    bench_work work = { 0 };

    make_keys(o, &work);
    for (int op = 0; op < OP_COUNT; op++) {
        bench_task *task = &work.tasks[work.task_count];

        if (!wanted[op])
            continue;
        work.task_count++;
        task->op = (bench_op)op;
        make_questions(o, &work, task);
        answer_plainly(o, &work, task);
    }
    return work;
}

void work_free(bench_work *work)
{
    for (int i = 0; i < work->task_count; i++) {
        bench_task *task = &work->tasks[i];

        if (task->q.data != work->point_queries.data)
            free(task->q.data);
        free(task->hi.data);
        free(task->right);
        free(task->right_keys);
    }
    free(work->point_queries.data);
    free(work->keys.data);
    free(work->rows.data);
    reference_free(&work->ref);
}
