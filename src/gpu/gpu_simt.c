/* gpu_simt.c - the device `simt`: every kernel on the host, in the emulator
 * of simt.h. For tests; nothing falls back to it. */
#include "gpu/vendor_simt.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "gpu/gpu_kernels.h"
#include "sort/sort.h"

#include <inttypes.h>
#include <stdio.h>

#define GPU_BLOCK 64u

typedef struct {
    sx_pool *pool;                /* of one thread, for the sort */
    simt_order order;
    uint64_t seed;
    void *stream;
} sx_gpu;

static sx_status gpu_enter(sx_gpu *g, sx_err *err)
{
    (void)err;
    simt_set_order(g->order, g->seed);
    return SX_OK;
}

/* Few blocks: several turns of a loop for some threads, and none for some. */
static unsigned gpu_grid(const sx_gpu *g, uint64_t items)
{
    uint64_t blocks = (items + GPU_BLOCK - 1) / GPU_BLOCK;

    (void)g;
    return blocks < 1 ? 1 : blocks > 7 ? 7 : (unsigned)blocks;
}

static sx_status gpu_alloc(sx_gpu *g, void **out, uint64_t bytes, const char *what, sx_err *err)
{
    sx_status st = sx_alloc(out, bytes, what, err);

    (void)g;
    if (st == SX_OK)
        memset(*out, 0xa5, bytes);        /* device memory is never zero by itself */
    return st;
}

static void gpu_free(sx_gpu *g, void *p)
{
    (void)g;
    sx_release(p);
}

static sx_status gpu_in(sx_gpu *g, void *to, const void *host, uint64_t bytes, sx_err *err)
{
    (void)g;
    (void)err;
    memcpy(to, host, bytes);
    return SX_OK;
}

static sx_status gpu_out(sx_gpu *g, void *host, const void *from, uint64_t bytes, sx_err *err)
{
    return gpu_in(g, host, from, bytes, err);
}

static sx_status gpu_set(sx_gpu *g, void *p, int byte, uint64_t n, sx_err *err)
{
    (void)g;
    (void)err;
    memset(p, byte, n);
    return SX_OK;
}

static sx_status gpu_done(sx_gpu *g, const char *what, sx_err *err)
{
    (void)g;
    if (simt_fault()[0])
        return sx_fail(err, SX_EDEVICE, "simt, %s: %s", what, simt_fault());
    return SX_OK;
}

static sx_status gpu_sort(sx_gpu *g, uint32_t width, uint32_t row_bytes, uint64_t n, void *keys[2],
                          void *rows[2], unsigned *where, sx_err *err)
{
    sx_sort_arrays a = {.width = width, .row_bytes = row_bytes, .n = n, .in_keys = keys[0],
                        .in_rows = rows[0], .keys = {keys[0], keys[1]},
                        .rows = {rows[0], rows[1]}};

    *where = 0;
    return sx_sort(g->pool, 1, &a, err);
}

#include "gpu/gpu_backend_impl.h"

static sx_status simt_open(void **self, const char *args, sx_err *err)
{
    simt_order order = SIMT_FORWARD;
    uint64_t seed = 0;
    sx_gpu *g;
    sx_status st;

    if (strcmp(args, "reversed") == 0)
        order = SIMT_REVERSED;
    else if (sscanf(args, "seed=%" SCNu64, &seed) == 1)
        order = SIMT_SHUFFLED;
    else if (args[0] != '\0')
        return sx_fail(err, SX_EINVAL, "device 'simt:%.40s': allowed: simt, simt:reversed, "
                       "simt:seed=N", args);
    st = sx_alloc((void **)&g, sizeof *g, "a device", err);
    if (st != SX_OK)
        return st;
    g->stream = NULL;
    g->order = order;
    g->seed = seed;
    st = sx_pool_new(&g->pool, 1, err);
    if (st != SX_OK) {
        sx_release(g);
        return st;
    }
    *self = g;
    return SX_OK;
}

static void simt_close(void *self)
{
    sx_gpu *g = self;

    sx_pool_free(g->pool);
    sx_release(g);
}

static void simt_describe(const void *self, sx_device_info *info)
{
    (void)self;
    snprintf(info->name, sizeof info->name, "simt");
    snprintf(info->detail, sizeof info->detail,
             "GPU kernels emulated on the host, thread by thread: for tests");
    info->usable = 1;
    info->threads = 1;
    info->memory = 0;
}

const sx_backend sx_backend_simt = {
    .abi = SX_BACKEND_ABI,
    .name = "simt",
    .host_sections = 1,
    .device_columns = 1,
    .node_bytes = 32,             /* as on the GPU it stands for */
    .open = simt_open,
    .close = simt_close,
    .describe = simt_describe,
    .alloc = gpu_backend_alloc,
    .release = gpu_backend_release,
    .copy_in = gpu_backend_copy_in,
    .copy_out = gpu_backend_copy_out,
    .sort = gpu_backend_sort,
    .build = gpu_backend_build,
    .build_peak = gpu_backend_peak,
    .lookup = gpu_backend_lookup,
    .spans = gpu_backend_spans,
    .fill = gpu_backend_fill,
    .fold = gpu_backend_fold,
};
