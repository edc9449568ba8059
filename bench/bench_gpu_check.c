/* bench_gpu_check.c - a part of the device's plain binary search counted again
 * on the host, in the tool's own idea of order.
 *
 * Each key is looked up among a sample of the queries, sorted and each once.
 * The keys below query j of the sample are those that fall before it. */
#include <stdlib.h>
#include <string.h>

#include "bench_gpu.h"
#include "parallel.h"
#include "progress.h"
#include "say.h"

enum {
    SAMPLE_RUNS = 16,             /* of neighbouring queries */
    SAMPLE_RUN = 1 << 12,
    COUNT_STEP = 1 << 12          /* keys looked up at a time */
};

typedef struct {
    const gpu_bench *b;
    reference samples;            /* rows: places in sorted order */
    uint64_t *below;              /* [j]: keys with j samples <= them; summed
                                     up: keys below sample j */
    uint64_t *first;              /* position of the first equal key */
} recount;

static void recount_part(void *context, uint64_t from, uint64_t to)
{
    const recount *c = context;
    int type = c->b->o->type;
    size_t size = sx_type_bytes(type);
    const char *keys = c->b->host_keys.data, *samples = c->samples.keys;
    uint64_t at[COUNT_STEP];

    for (uint64_t i = from; i < to; i++) {
        uint64_t left = to - i < COUNT_STEP ? to - i : COUNT_STEP, j;

        if ((i - from) % COUNT_STEP == 0)
            reference_answer(&c->samples, OP_FLOOR, keys + i * size, NULL,
                             left, at, NULL);
        j = at[(i - from) % COUNT_STEP];
        if (j == SX_MISS) {
            __atomic_fetch_add(&c->below[0], 1, __ATOMIC_RELAXED);
            continue;
        }
        __atomic_fetch_add(&c->below[j + 1], 1, __ATOMIC_RELAXED);
        if (reference_compare(type, keys + i * size, samples + j * size))
            continue;
        for (uint64_t old = __atomic_load_n(&c->first[j], __ATOMIC_RELAXED);
             i < old; )
            if (__atomic_compare_exchange_n(&c->first[j], &old, i, false,
                                            __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
                break;
    }
}

static void check_run(recount *c, const sx_column *queries,
                      const sx_column *ranks, const sx_column *rows)
{
    uint64_t *at = must_alloc(queries->n, sizeof *at);

    reference_answer(&c->samples, OP_GET, queries->data, NULL, queries->n,
                     at, NULL);
    for (uint64_t i = 0; i < queries->n; i++) {
        uint64_t first = c->first[at[i]], row;

        row = first != UINT64_MAX ? first + c->b->row_base
              : rows->type == SX_U32 ? SX_MISS32 : SX_MISS;
        if (number_at(ranks, i) != c->below[at[i]] ||
            number_at(rows, i) != row)
            fail("plain binary search on the device says rank %llu, row "
                 "%llu where counting says %llu, %llu",
                 (unsigned long long)number_at(ranks, i),
                 (unsigned long long)number_at(rows, i),
                 (unsigned long long)c->below[at[i]],
                 (unsigned long long)row);
    }
    free(at);
}

/* Where run number r of the sample begins, and how many queries it has. */
static uint64_t run_from(const gpu_bench *b, uint64_t r, uint64_t *n)
{
    uint64_t queries = b->o->queries, stride = queries / SAMPLE_RUNS;

    if (queries <= SAMPLE_RUNS * SAMPLE_RUN) {
        *n = r ? 0 : queries;
        return 0;
    }
    *n = SAMPLE_RUN;
    return r * stride;
}

static reference take_samples(gpu_bench *b)
{
    size_t size = sx_type_bytes(b->o->type);
    char *keys = must_alloc(SAMPLE_RUNS * SAMPLE_RUN, size);
    uint64_t count = 0, distinct = 0, n;
    sx_column column;
    reference samples;

    for (uint64_t r = 0; r < SAMPLE_RUNS; r++) {
        uint64_t from = run_from(b, r, &n);

        memcpy(keys + count * size,
               (char *)b->host_queries.data + from * size, n * size);
        count += n;
    }
    column = column_over(b->o->type, count, keys);
    reference_sort_keys(&column);
    for (uint64_t i = 0; i < count; i++)
        if (!i || reference_compare(b->o->type, keys + i * size,
                                    keys + (i - 1) * size))
            memmove(keys + distinct++ * size, keys + i * size, size);
    column.n = distinct;
    samples = reference_build(&column, NULL);
    free(keys);
    return samples;
}

void gpu_check_sample(gpu_bench *b)
{
    recount c = { .b = b, .samples = take_samples(b) };
    uint64_t n = c.samples.n;

    c.below = must_alloc(n + 1, sizeof *c.below);
    c.first = must_alloc(n, sizeof *c.first);
    memset(c.below, 0, (n + 1) * sizeof *c.below);
    memset(c.first, 0xff, n * sizeof *c.first);
    progress_start("counting", b->o->n);
    parallel_for(b->o->n, recount_part, &c);
    progress_stop();
    for (uint64_t j = 1; j <= n; j++)
        c.below[j] += c.below[j - 1];
    for (uint64_t r = 0; r < SAMPLE_RUNS; r++) {
        uint64_t count, from = run_from(b, r, &count);
        sx_column part = there_part(&b->right_ranks, from, count), ranks;
        sx_column queries = column_part(&b->host_queries, from, count), rows;

        if (!count)
            continue;
        ranks = here_copy(b, &part);
        part = there_part(&b->right_rows, from, count);
        rows = here_copy(b, &part);
        check_run(&c, &queries, &ranks, &rows);
        free(ranks.data);
        free(rows.data);
    }
    reference_free(&c.samples);
    free(c.below);
    free(c.first);
}
