/* bench_kernels_simt.c - the kernels of bench_kernels.h in the emulator. Its
 * memory is the host's, and it has no clock. */
#include "gpu/vendor_simt.h"

#include <stdio.h>

#include "base/alloc.h"
#include "bench_kernels.h"
#include "sextant.h"
#include "sort/sort.h"

#include "bench_kernels_impl.h"

/* Small, as in the emulator's backend, so that some threads have several turns
 * of a loop, and some none. */
enum { BLOCK = 64, GRID_MOST = 7 };

static unsigned grid_for(uint64_t threads)
{
    uint64_t blocks = (threads + BLOCK - 1) / BLOCK;

    return blocks < 1 ? 1 : blocks > GRID_MOST ? GRID_MOST : (unsigned)blocks;
}

/* By one thread, as the backend sorts. */
static sx_status sort(const measure_job *job, sx_err *err)
{
    sx_sort_arrays a = {
        .width = job->width, .row_bytes = job->row_bytes, .n = job->n,
        .in_keys = job->keys, .in_rows = job->rows,
        .keys = { job->keys_out, NULL }, .rows = { job->rows_out, NULL },
    };
    sx_pool *pool = NULL;
    sx_status status = sx_pool_new(&pool, 1, 0, err);

    if (status == SX_OK)
        status = sx_alloc(&a.keys[1], job->n * job->width, "sorting", err);
    if (status == SX_OK)
        status = sx_alloc(&a.rows[1], job->n * job->row_bytes, "sorting", err);
    if (status == SX_OK)
        status = sx_sort(pool, 1, &a, err);
    sx_release(a.keys[1]);
    sx_release(a.rows[1]);
    sx_pool_free(pool);
    return status;
}

static const char *simt_open(int device)
{
    (void)device;
    return NULL;
}

static const char *simt_run(measure_job *job)
{
    static char text[512];
    char fault[256];
    sx_word found = 0;
    sx_err err;

    job->ns = job->found = 0;
    if (job->what == MEASURE_SORT) {
        if (sort(job, &err) == SX_OK)
            return NULL;
        snprintf(text, sizeof text, "simt, measuring: %.400s", err.text);
        return text;
    }
    launch(job, &found, grid_for(job->queries), BLOCK, NULL);
    if (simt_take_fault(fault, sizeof fault) != SIMT_FINE) {
        snprintf(text, sizeof text, "simt, measuring: %s", fault);
        return text;
    }
    job->found = found;
    return NULL;
}

static void simt_rest(void)
{                                 /* nothing is kept */
}

const bench_kernels simt_kernels = {
    .abi = BENCH_KERNELS_ABI, .open = simt_open, .run = simt_run,
    .rest = simt_rest,
};
