/* bench_gpu_columns.c - columns on the device and on the host. */
#include <stdlib.h>
#include <string.h>

#include "bench_gpu.h"
#include "parallel.h"
#include "say.h"

/* ---- columns ----------------------------------------------------------- */

sx_column there_new(gpu_bench *b, int type, uint64_t n)
{
    sx_column c;

    expect_ok(sx_column_new(&c, b->device, type, n), NULL);
    return c;
}

sx_column there_copy(gpu_bench *b, const sx_column *host)
{
    sx_column c = there_new(b, host->type, host->n);

    expect_ok(sx_column_copy(&c, host, b->device), NULL);
    return c;
}

void there_free(gpu_bench *b, sx_column *column)
{
    sx_column_free(column, b->device);
}

sx_column there_part(const sx_column *whole, uint64_t from, uint64_t n)
{
    sx_column part = column_part(whole, from, n);

    part.place = whole->place;
    return part;
}

sx_column here_copy(gpu_bench *b, const sx_column *there)
{
    sx_column c = column_over(there->type, there->n,
                              must_alloc(there->n,
                                         sx_type_bytes(there->type)));

    expect_ok(sx_column_copy(&c, there, b->device), NULL);
    return c;
}

/* ---- measuring --------------------------------------------------------- */

static void run(const gpu_bench *b, measure_job *job)
{
    const char *why = b->kernels->run(job);

    if (why)
        fail("%s", why);
}

void gpu_measure(gpu_bench *b, measure_job *job)
{
    run(b, job);
    b->kernels->rest();
}

/* The emulator has no clock, so the host's counts there. Memory is kept from
 * run to run, and given back after the last one. */
double gpu_time(gpu_bench *b, measure_job *job, uint64_t runs)
{
    double *times = must_alloc(runs, sizeof *times), median;

    run(b, job);
    for (uint64_t i = 0; i < runs; i++) {
        double start = seconds_now();

        run(b, job);
        times[i] = job->ns ? (double)job->ns * 1e-9 : seconds_now() - start;
    }
    b->kernels->rest();
    median = median_of(times, runs);
    free(times);
    return median;
}

/* Keys of 16 bytes count as two. */
uint64_t gpu_differences(gpu_bench *b, const sx_column *a,
                         const sx_column *c)
{
    size_t size = sx_type_bytes(a->type);
    measure_job job = {
        .what = MEASURE_DIFFER, .row_bytes = size == 4 ? 4 : 8,
        .queries = size == 16 ? 2 * a->n : a->n,
        .q = a->data, .out = c->data,
    };

    gpu_measure(b, &job);
    return job.found;
}

/* ---- numbers ----------------------------------------------------------- */

uint64_t number_at(const sx_column *numbers, uint64_t i)
{
    return numbers->type == SX_U32 ? ((const uint32_t *)numbers->data)[i]
                                   : ((const uint64_t *)numbers->data)[i];
}

void number_put(const sx_column *numbers, uint64_t i, uint64_t number)
{
    if (numbers->type == SX_U32)
        ((uint32_t *)numbers->data)[i] = (uint32_t)number;
    else
        ((uint64_t *)numbers->data)[i] = number;
}

typedef struct {
    sx_column to;
    uint64_t base;
} count_request;

static void count_part(void *context, uint64_t from, uint64_t to)
{
    const count_request *r = context;

    for (uint64_t i = from; i < to; i++)
        number_put(&r->to, i, r->base + i);
}

sx_column counting(int type, uint64_t n, uint64_t base)
{
    count_request r = {
        .to = column_over(type, n, must_alloc(n, sx_type_bytes(type))),
        .base = base,
    };

    parallel_for(n, count_part, &r);
    return r.to;
}

/* ---- keys as unsigned numbers ------------------------------------------
 *
 * The code is our own, so that the right answers do not depend on the library's
 * idea of order. All NaNs are one number, the greatest; -0.0 is 0.0. */

bool is_own_code(int type)
{
    return type == SX_U32 || type == SX_U64;
}

typedef struct {
    const sx_column *from;
    void *to;
} encode_request;

static unsigned __int128 big_endian(const unsigned char *bytes)
{
    unsigned __int128 number = 0;

    for (int i = 0; i < 16; i++)
        number = number << 8 | bytes[i];
    return number;
}

static uint32_t encode_f32(uint32_t bits)
{
    if ((bits & 0x7fffffff) > 0x7f800000)
        return UINT32_MAX;
    if (bits == 1u << 31)
        bits = 0;
    return bits >> 31 ? ~bits : bits ^ 1u << 31;
}

static uint64_t encode_f64(uint64_t bits)
{
    if ((bits & INT64_MAX) > 0x7ffull << 52)
        return UINT64_MAX;
    if (bits == 1ull << 63)
        bits = 0;
    return bits >> 63 ? ~bits : bits ^ 1ull << 63;
}

static void encode_part(void *context, uint64_t from, uint64_t to)
{
    const encode_request *r = context;
    int type = r->from->type;
    bool is_float = type == SX_F32 || type == SX_F64;
    size_t size = sx_type_bytes(type);
    const uint32_t *in4 = r->from->data;
    const uint64_t *in8 = r->from->data;
    const unsigned char *in16 = r->from->data;

    if (is_own_code(type)) {
        memcpy((char *)r->to + from * size, in16 + from * size,
               (to - from) * size);
        return;
    }
    for (uint64_t i = from; i < to; i++) {
        if (size == 4)
            ((uint32_t *)r->to)[i] = is_float ? encode_f32(in4[i])
                                              : in4[i] ^ 1u << 31;
        else if (size == 8)
            ((uint64_t *)r->to)[i] = is_float ? encode_f64(in8[i])
                                              : in8[i] ^ 1ull << 63;
        else
            ((unsigned __int128 *)r->to)[i] = big_endian(in16 + 16 * i);
    }
}

sx_column encoded(const sx_column *keys)
{
    size_t size = sx_type_bytes(keys->type);
    encode_request r = { .from = keys, .to = must_alloc(keys->n, size) };

    parallel_for(keys->n, encode_part, &r);
    return column_over(size == 4 ? SX_U32 : size == 8 ? SX_U64 : SX_B16,
                       keys->n, r.to);
}
