/* bench_gpu_data.c - keys and queries, brought to the device. */
#include <stdlib.h>
#include <string.h>

#include "bench_gpu.h"
#include "gen.h"
#include "parallel.h"
#include "progress.h"
#include "say.h"

enum { SORT_RUNS = 3 };

/* ---- keys and rows ----------------------------------------------------- */

/* Rows that need all of their width: beyond 2^33 for 64 bits. */
static void make_rows(gpu_bench *b)
{
    const bench_options *o = b->o;
    sx_column rows;

    if (o->rows == ROWS_32 && o->n > UINT32_MAX / 2)
        fail("--rows 32 is for at most %u keys", UINT32_MAX / 2);
    b->number = o->rows == ROWS_64 || o->n >= UINT32_MAX ? SX_U64 : SX_U32;
    b->row_base = o->rows == ROWS_NONE ? 0
                  : o->rows == ROWS_32 ? 12345 : 1ull << 33;
    rows = counting(b->number, o->n, b->row_base);
    b->rows = there_copy(b, &rows);
    if (o->from_host)
        b->host_rows = rows;
    else
        free(rows.data);
}

static void make_keys(gpu_bench *b)
{
    const bench_options *o = b->o;
    void *keys = o->keys ? o->file_keys.data
                         : must_alloc(o->n, sx_type_bytes(o->type));

    if (o->unique)
        gen_unique(o->type, o->n, o->seed, keys);
    else if (!o->keys)
        gen_keys_parallel((distribution)o->dist, o->type, o->n, o->seed,
                          keys);
    b->host_keys = column_over(o->type, o->n, keys);
    progress_start("copying", 0);
    b->keys = there_copy(b, &b->host_keys);
    make_rows(b);
    progress_stop();
}

/* Builds are compared with the sort alone. */
static void sort_keys(gpu_bench *b)
{
    bool same = is_own_code(b->o->type);
    sx_column codes = b->keys;
    measure_job job = { .what = MEASURE_SORT,
                        .width = (uint32_t)sx_type_bytes(b->o->type),
                        .row_bytes = (uint32_t)sx_type_bytes(b->number),
                        .n = b->o->n, .rows = b->rows.data };

    if (!same) {
        sx_column host = encoded(&b->host_keys);

        codes = there_copy(b, &host);
        free(host.data);
    }
    b->sorted_keys = there_new(b, codes.type, b->o->n);
    b->sorted_rows = there_new(b, b->number, b->o->n);
    job.keys = codes.data;
    job.keys_out = b->sorted_keys.data;
    job.rows_out = b->sorted_rows.data;
    progress_start("sorting", 0);
    b->sort_s = gpu_time(b, &job, SORT_RUNS);
    progress_stop();
    if (!same)
        there_free(b, &codes);
}

/* ---- queries ----------------------------------------------------------- */

typedef struct {
    const bench_options *o;
    const sx_column *keys;
    unsigned char *out;
    skew skew;
    const sx_column *order;       /* rows in the order of the keys; NULL: a draw
                                     is a place in the input, not a rank */
    uint64_t row_base;
    unique_keys unique;
    uint64_t miss_below;
} drawing;

/* Scrambles lower bits, of a float those of the fraction: the result is near a
 * key, and mostly no key. */
static void disturb(int type, unsigned char *key, rng *r)
{
    size_t size = sx_type_bytes(type);
    unsigned most = type == SX_F32 ? 22 : type == SX_F64 ? 51
                    : size == 4 ? 31 : 63;
    unsigned highest = (unsigned)rng_below(r, most);
    uint64_t flips = 1ull << highest | rng_next(r) % (1ull << highest);

    for (size_t i = 0; i < (size < 8 ? size : 8); i++)
        key[size == 16 ? 15 - i : i] ^= (unsigned char)(flips >> 8 * i);
}

static uint64_t draw_place(const drawing *d, rng *r)
{
    uint64_t at = skew_draw(&d->skew, r);

    return d->order ? number_at(d->order, at) - d->row_base : at;
}

static void draw_part(void *context, uint64_t from, uint64_t to)
{
    const drawing *d = context;
    rng r = rng_of(d->o->seed, 1000 + (from / PARALLEL_PART << 32));
    uint64_t n = d->keys->n;
    size_t size = sx_type_bytes(d->o->type);

    for (uint64_t i = from; i < to; i++) {
        bool miss = d->miss_below && rng_next(&r) >> 11 < d->miss_below;

        if (miss && d->o->unique && !d->order) {
            uint64_t others = unique_count(&d->unique) - n;

            unique_put(&d->unique, n + rng_below(&r, others), d->out, i);
            continue;
        }
        memcpy(d->out + i * size,
               (const char *)d->keys->data + draw_place(d, &r) * size, size);
        if (miss)
            disturb(d->o->type, d->out + i * size, &r);
    }
}

typedef struct {
    const sx_column *from, *places;
    char *to;
} pick_request;

static void pick_part(void *context, uint64_t from, uint64_t to)
{
    const pick_request *p = context;
    size_t size = sx_type_bytes(p->from->type);

    for (uint64_t i = from; i < to; i++)
        memcpy(p->to + i * size,
               (const char *)p->from->data + number_at(p->places, i) * size,
               size);
}

/* Sorts queries, by their ranks among the keys; the device sorts. */
static void sort_queries(gpu_bench *b)
{
    uint64_t n = b->o->queries;
    int type = n < UINT32_MAX ? SX_U32 : SX_U64;
    sx_column codes = encoded(&b->host_queries), places;
    sx_column there_codes = there_copy(b, &codes), there_places;
    sx_column keys_out = there_new(b, codes.type, n);
    sx_column places_out = there_new(b, type, n);
    pick_request p = { .from = &b->host_queries, .places = &places };
    measure_job job = { .what = MEASURE_SORT,
                        .width = (uint32_t)sx_type_bytes(b->o->type),
                        .row_bytes = (uint32_t)sx_type_bytes(type), .n = n,
                        .keys = there_codes.data, .keys_out = keys_out.data,
                        .rows_out = places_out.data };

    free(codes.data);
    places = counting(type, n, 0);
    there_places = there_copy(b, &places);
    free(places.data);
    job.rows = there_places.data;
    gpu_measure(b, &job);
    places = here_copy(b, &places_out);
    p.to = must_alloc(n, sx_type_bytes(b->o->type));
    parallel_for(n, pick_part, &p);
    free(places.data);
    free(b->host_queries.data);
    b->host_queries.data = p.to;
    there_free(b, &there_codes);
    there_free(b, &there_places);
    there_free(b, &keys_out);
    there_free(b, &places_out);
}

static void make_queries(gpu_bench *b)
{
    const bench_options *o = b->o;
    rng r = rng_of(o->seed, 1000);
    sx_column order = { 0 };
    drawing d = { .o = o, .keys = &b->host_keys, .row_base = b->row_base,
                  .skew = skew_over((skew_kind)o->skew, o->n, &r),
                  .unique = unique_of(o->type, o->seed),
                  .miss_below = (uint64_t)(o->misses * 0x1p53) };

    if (o->misses > 0 && o->unique && unique_count(&d.unique) == o->n)
        fail("every uniform value is a key, so there are no misses to ask "
             "for");
    if (skew_by_rank(d.skew.kind)) {
        order = here_copy(b, &b->sorted_rows);
        d.order = &order;
    }
    d.out = must_alloc(o->queries, sx_type_bytes(o->type));
    progress_start("drawing queries", o->queries);
    parallel_for(o->queries, draw_part, &d);
    progress_stop();
    free(order.data);
    b->host_queries = column_over(o->type, o->queries, d.out);
    if (o->sorted)
        sort_queries(b);
    b->queries = b->encoded_queries = there_copy(b, &b->host_queries);
    if (!is_own_code(o->type)) {
        sx_column codes = encoded(&b->host_queries);

        b->encoded_queries = there_copy(b, &codes);
        free(codes.data);
    }
}

/* ---- all of it --------------------------------------------------------- */

void gpu_prepare(gpu_bench *b)
{
    const bench_options *o = b->o;
    sx_column gathered = there_new(b, SX_U32, o->queries);
    measure_job gather = {
        .what = MEASURE_GATHER, .row_bytes = 4,
        .n = o->n * sx_type_bytes(o->type) / 4, .queries = o->queries,
        .out = gathered.data,
    };

    make_keys(b);
    sort_keys(b);
    gather.keys = b->keys.data;
    b->gather_s = gpu_time(b, &gather, o->runs);
    there_free(b, &gathered);
    make_queries(b);
}

void gpu_release(gpu_bench *b)
{
    bool same = b->queries.data == b->encoded_queries.data;

    for (int i = 0; i < b->task_count; i++) {
        gpu_task *task = &b->tasks[i];

        if (task->q.data != b->queries.data)
            there_free(b, &task->q);
        if (task->right.data != b->right_rows.data &&
            task->right.data != b->right_ranks.data)
            there_free(b, &task->right);
        there_free(b, &task->hi);
        there_free(b, &task->right_keys);
    }
    there_free(b, &b->keys);
    there_free(b, &b->rows);
    there_free(b, &b->sorted_keys);
    there_free(b, &b->sorted_rows);
    there_free(b, &b->queries);
    if (!same)
        there_free(b, &b->encoded_queries);
    there_free(b, &b->right_rows);
    there_free(b, &b->right_ranks);
    there_free(b, &b->iota);
    there_free(b, &b->blank);
    free(b->host_keys.data);
    free(b->host_rows.data);
    free(b->host_queries.data);
}
