/* bench_gpu_right.c - the right answers: plain binary search in the sorted
 * array, on the device; and, where that is not enough, sums and steps to the
 * next rank on the host. */
#include <stdlib.h>
#include <string.h>

#include "bench_gpu.h"
#include "parallel.h"
#include "progress.h"
#include "rng.h"
#include "say.h"

enum { SUM_STEP = 1 << 8 };       /* rows between two sums that are kept */

/* As on the CPU: enough for a steady time. */
#define RANGE_HITS_MAX (1ull << 27)

/* ---- plain binary search ----------------------------------------------- */

static measure_job search_for(const gpu_bench *b, const sx_column *codes)
{
    return (measure_job){
        .what = MEASURE_SEARCH, .width = (uint32_t)sx_type_bytes(b->o->type),
        .row_bytes = (uint32_t)sx_type_bytes(b->number), .n = b->o->n,
        .queries = codes->n, .keys = b->sorted_keys.data,
        .rows = b->sorted_rows.data, .q = codes->data,
    };
}

/* Ranks of encoded keys of the host; on the host, to be freed. */
static sx_column ranks_of(gpu_bench *b, const sx_column *codes)
{
    sx_column q = there_copy(b, codes);
    sx_column ranks = there_new(b, b->number, codes->n), here;
    measure_job job = search_for(b, &q);

    job.rank_out = ranks.data;
    gpu_measure(b, &job);
    here = here_copy(b, &ranks);
    there_free(b, &q);
    there_free(b, &ranks);
    return here;
}

static sx_column lower_ranks(gpu_bench *b, const sx_column *keys)
{
    sx_column codes = encoded(keys), ranks = ranks_of(b, &codes);

    free(codes.data);
    return ranks;
}

/* Adds one to a code; false if it was the last one, and has become 0. */
static bool step(size_t size, void *code)
{
    if (size == 4)
        return ++*(uint32_t *)code != 0;
    if (size == 8)
        return ++*(uint64_t *)code != 0;
    return ++*(unsigned __int128 *)code != 0;
}

/* How many keys are at or below each: they are below the next code. */
static sx_column upper_ranks(gpu_bench *b, const sx_column *keys)
{
    size_t size = sx_type_bytes(keys->type);
    sx_column codes = encoded(keys), ranks;
    char *code = codes.data;
    bool *last = must_alloc(keys->n, sizeof *last);

    for (uint64_t i = 0; i < keys->n; i++)
        last[i] = !step(size, code + i * size);
    ranks = ranks_of(b, &codes);
    for (uint64_t i = 0; i < keys->n; i++)
        if (last[i])
            number_put(&ranks, i, b->o->n);
    free(last);
    free(codes.data);
    return ranks;
}

/* Rows at ranks; all ones past the last. The ranks are searched for in
 * 0, 1, 2, ... */
static sx_column rows_at(gpu_bench *b, const sx_column *ranks)
{
    sx_column rows = there_new(b, b->number, ranks->n);
    measure_job job = search_for(b, ranks);

    if (!b->iota.data) {
        sx_column numbers = counting(b->number, b->o->n, 0);

        b->iota = there_copy(b, &numbers);
        free(numbers.data);
    }
    job.width = (uint32_t)sx_type_bytes(b->number);
    job.keys = b->iota.data;
    job.out = rows.data;
    gpu_measure(b, &job);
    return rows;
}

typedef struct {
    const gpu_bench *b;
    sx_column rows;
    char *to;
} keys_request;

static void keys_part(void *context, uint64_t from, uint64_t to)
{
    const keys_request *r = context;
    size_t size = sx_type_bytes(r->b->o->type);
    const char *keys = r->b->host_keys.data;

    for (uint64_t i = from; i < to; i++)
        memcpy(r->to + i * size,
               keys + (number_at(&r->rows, i) - r->b->row_base) * size,
               size);
}

/* The keys of rows, by their positions in the input; on the host. */
static sx_column keys_of_rows(gpu_bench *b, const sx_column *rows)
{
    keys_request r = { .b = b, .rows = here_copy(b, rows) };

    r.to = must_alloc(rows->n, sx_type_bytes(b->o->type));
    parallel_for(rows->n, keys_part, &r);
    free(r.rows.data);
    return column_over(b->o->type, rows->n, r.to);
}

/* ---- ranges ------------------------------------------------------------ */

static uint64_t sum_up_to(const sx_column *rows, const uint64_t *sums,
                          uint64_t rank)
{
    uint64_t sum = sums[rank / SUM_STEP];

    for (uint64_t i = rank / SUM_STEP * SUM_STEP; i < rank; i++)
        sum += number_at(rows, i);
    return sum;
}

/* Sums of the rows of ranks from..to-1, from sums of all rows before. */
static void make_sums(gpu_bench *b, gpu_task *task, const sx_column *from,
                      const sx_column *to)
{
    sx_column rows = here_copy(b, &b->sorted_rows);
    uint64_t steps = b->o->n / SUM_STEP + 1, sum = 0;
    uint64_t *sums = must_alloc(steps, sizeof *sums);
    uint64_t *right = must_alloc(from->n, sizeof *right);
    sx_column column = column_over(SX_U64, from->n, right);

    for (uint64_t i = 0; i < b->o->n; i++) {
        if (i % SUM_STEP == 0)
            sums[i / SUM_STEP] = sum;
        sum += number_at(&rows, i);
    }
    if (b->o->n % SUM_STEP == 0)
        sums[steps - 1] = sum;
    task->work = 0;
    for (uint64_t i = 0; i < from->n; i++) {
        right[i] = sum_up_to(&rows, sums, number_at(to, i)) -
                   sum_up_to(&rows, sums, number_at(from, i));
        task->work += number_at(to, i) - number_at(from, i);
    }
    task->right = there_copy(b, &column);
    free(right);
    free(sums);
    free(rows.data);
}

/* From a random key to the one --hits further: exactly --hits hits, more if
 * the ends have equal keys. */
static void make_ranges(gpu_bench *b, gpu_task *task)
{
    const bench_options *o = b->o;
    uint64_t hits = o->hits < o->n ? o->hits : o->n;
    uint64_t most = RANGE_HITS_MAX / hits + 1;
    uint64_t n = o->ranges ? o->ranges
                 : o->queries < most ? o->queries : most;
    sx_column ends[2], from, to;
    rng r = rng_of(o->seed, 3000);
    sx_column at = counting(b->number, n, 0);

    for (uint64_t i = 0; i < n; i++)
        number_put(&at, i, rng_below(&r, o->n - hits + 1));
    for (int end = 0; end < 2; end++) {
        sx_column ranks = there_copy(b, &at), rows = rows_at(b, &ranks);

        ends[end] = keys_of_rows(b, &rows);
        there_free(b, &ranks);
        there_free(b, &rows);
        for (uint64_t i = 0; i < n; i++)
            number_put(&at, i, number_at(&at, i) + hits - 1);
    }
    task->q = there_copy(b, &ends[0]);
    task->hi = there_copy(b, &ends[1]);
    from = lower_ranks(b, &ends[0]);
    to = upper_ranks(b, &ends[1]);
    make_sums(b, task, &from, &to);
    task->bytes = n * (2 * sx_type_bytes(o->type) + 8) +
                  task->work * sx_type_bytes(b->number);
    free(at.data);
    free(ends[0].data);
    free(ends[1].data);
    free(from.data);
    free(to.data);
}

/* ---- points ------------------------------------------------------------ */

static void answer_floor(gpu_bench *b, gpu_task *task)
{
    sx_column ranks = upper_ranks(b, &b->host_queries), there;

    for (uint64_t i = 0; i < ranks.n; i++)
        number_put(&ranks, i, number_at(&ranks, i) - 1); /* -1: none */
    there = there_copy(b, &ranks);
    task->right = rows_at(b, &there);
    there_free(b, &there);
    free(ranks.data);
}

static void answer_key_at(gpu_bench *b, gpu_task *task)
{
    uint64_t n = b->o->queries;
    sx_column ranks = counting(b->number, n, 0), keys;
    rng r = rng_of(b->o->seed, 2000);

    for (uint64_t i = 0; i < n; i++)
        number_put(&ranks, i, rng_below(&r, b->o->n));
    task->q = there_copy(b, &ranks);
    free(ranks.data);
    task->right = rows_at(b, &task->q);
    keys = keys_of_rows(b, &task->right);
    task->right_keys = there_copy(b, &keys);
    free(keys.data);
    task->plain_s = 0;
    task->bytes = n * (2 * sx_type_bytes(b->number) +
                       sx_type_bytes(b->o->type));
}

static void make_task(gpu_bench *b, gpu_task *task)
{
    uint64_t n = b->o->queries;

    task->q = b->queries;
    task->right = task->op == OP_RANK ? b->right_ranks : b->right_rows;
    task->work = n;
    task->bytes = n * (sx_type_bytes(b->o->type) +
                       sx_type_bytes(b->number));
    if (task->op < OP_COUNT)
        task->plain_s = task->op == OP_RANK ? b->rank_s : b->get_s;
    switch (task->op) {
    case OP_FLOOR: answer_floor(b, task); break;
    case OP_CEIL: task->right = rows_at(b, &b->right_ranks); break;
    case OP_KEY_AT: answer_key_at(b, task); break;
    case OP_RANGE:
    case OP_RANGE_ROWS:
    case OP_RANGE_PAGEABLE:
    case OP_RANGE_PINNED:
        task->plain_s = 0;
        make_ranges(b, task);
        break;
    case OP_SMALL:
        task->q.n = task->right.n = n < GPU_SMALL ? n : GPU_SMALL;
        task->bytes = task->bytes / n * task->q.n;
        task->work = task->q.n;
        break;
    }
}

/* ---- all of it --------------------------------------------------------- */

static void count_found(gpu_bench *b)
{
    size_t size = sx_type_bytes(b->number);
    sx_column ones = column_over(b->number, b->o->queries,
                                 must_alloc(b->o->queries, size)), there;

    memset(ones.data, 0xff, b->o->queries * size);
    there = there_copy(b, &ones);
    b->found = gpu_differences(b, &there, &b->right_rows);
    there_free(b, &there);
    free(ones.data);
}

/* Answers are written over this: none can be there from before. */
static void make_blank(gpu_bench *b)
{
    uint64_t n = b->o->queries * (sx_type_bytes(b->o->type) == 16 ? 2 : 1);
    sx_column blank;

    for (int i = 0; i < b->task_count; i++)
        n = n < b->tasks[i].q.n ? b->tasks[i].q.n : n;
    blank = column_over(SX_U64, n, must_alloc(n, 8));
    memset(blank.data, 0xa5, n * 8);
    b->blank = there_copy(b, &blank);
    free(blank.data);
}

void gpu_answer(gpu_bench *b, const bool wanted[OP_ALL])
{
    measure_job job = search_for(b, &b->encoded_queries);

    b->right_rows = there_new(b, b->number, b->o->queries);
    b->right_ranks = there_new(b, b->number, b->o->queries);
    progress_start("binary search", 0);
    job.out = b->right_rows.data;
    b->get_s = gpu_time(b, &job, b->o->runs);
    job.out = NULL;
    job.rank_out = b->right_ranks.data;
    b->rank_s = gpu_time(b, &job, b->o->runs);
    progress_stop();
    gpu_check_sample(b);
    count_found(b);
    for (int op = 0; op < OP_ALL; op++) {
        if (!wanted[op])
            continue;
        b->tasks[b->task_count].op = op;
        make_task(b, &b->tasks[b->task_count++]);
    }
    there_free(b, &b->iota);
    make_blank(b);
}
