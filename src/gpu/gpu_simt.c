/* gpu_simt.c - the device `simt`: every kernel on the host, in the emulator
 * of simt.h. For tests; nothing falls back to it. */
#include "family/family_gpu.h"

#include "gpu/gpu_kernels.h"
#include "place/ranges.h"
#include "sort/sort.h"

#include <inttypes.h>
#include <stdio.h>

static sx_status gpu_enter(sx_gpu *g, sx_err *err)
{
    (void)err;
    simt_set_order(g->order, g->seed);
    return SX_OK;
}

static gpu_stream gpu_stream_of(void *callers)
{
    return callers;
}

static sx_status gpu_stream_new(gpu_stream *out, sx_err *err)
{
    (void)err;
    *out = NULL;
    return SX_OK;
}

static void gpu_stream_free(gpu_stream stream)
{
    (void)stream;
}

sx_status sx_gpu_launched(sx_gpu *g, const char *what, sx_err *err)
{
    char fault[256];
    simt_end end = simt_take_fault(fault, sizeof fault);

    (void)g;
    return end == SIMT_FINE ? SX_OK
                            : sx_fail(err, end == SIMT_NO_MEMORY ? SX_ENOMEM : SX_EDEVICE,
                                      "simt, %s: %s", what, fault);
}

sx_status sx_gpu_wait(sx_gpu *g, gpu_stream stream, const char *what, sx_err *err)
{
    (void)stream;
    return sx_gpu_launched(g, what, err);
}

static int gpu_told(const unsigned long long *word)
{
    return *word != 0;
}

static sx_status gpu_follow_caller(gpu_stream stream, sx_err *err)
{
    (void)stream;
    (void)err;
    return SX_OK;
}

static void gpu_settle(void)
{                                 /* work is done when it is queued */
}

typedef struct {
    int none;
} gpu_timer;

static void gpu_timer_begin(gpu_timer *t, gpu_stream stream, const uint64_t *wanted)
{
    (void)stream;
    (void)wanted;
    t->none = 0;
}

static void gpu_timer_mark(gpu_timer *t, gpu_stream stream)
{
    (void)t;
    (void)stream;
}

/* The host's clock is as good. */
static void gpu_timer_end(gpu_timer *t, uint64_t *ns)
{
    (void)t;
    (void)ns;
}

unsigned sx_gpu_grid(const sx_gpu *g, uint64_t threads)
{
    uint64_t blocks = (threads + GPU_BLOCK - 1) / GPU_BLOCK;

    return gpu_grid_of(g, blocks, GPU_GRID_MOST);
}

static uint64_t gpu_staged_space(const sx_gpu *g, uint32_t blocks)
{
    (void)g;
    (void)blocks;
    return 480;
}

static uint64_t gpu_whole_space(const sx_gpu *g, uint32_t blocks)
{
    (void)g;
    (void)blocks;
    return 1024;
}

/* ---- memory: each block begins with its size --------------------------------------- */

#define HEAD 64u

static int gpu_take(sx_gpu *g, gpu_stream stream, void **out, uint64_t bytes, const char *what,
                    sx_err *err)
{
    unsigned char *p = NULL;
    int fits;

    if (g->from.take) {
        *out = g->from.take(g->from.context, bytes ? bytes : 1, stream);
        return *out != NULL;
    }
    pthread_mutex_lock(&g->limit);
    fits = !g->tune.memory || (g->used <= g->tune.memory && bytes <= g->tune.memory - g->used);
    if (fits && sx_alloc((void **)&p, bytes + HEAD, what, err) == SX_OK)
        g->used += bytes;
    pthread_mutex_unlock(&g->limit);
    if (!p)
        return 0;
    memcpy(p, &bytes, sizeof bytes);
    *out = p + HEAD;
    return 1;
}

static uint64_t gpu_free_bytes(sx_gpu *g, uint64_t enough)
{
    uint64_t used = g->used;

    (void)enough;
    if (!g->tune.memory)
        return UINT64_MAX;        /* as much as the host has */
    return used < g->tune.memory ? g->tune.memory - used : 0;
}

static int gpu_give_up_idle(sx_gpu *g);

sx_status sx_gpu_alloc(sx_gpu *g, gpu_stream stream, void **out, uint64_t bytes,
                           const char *what, sx_err *err)
{
    void *p = NULL;

    if (!gpu_take(g, stream, &p, bytes, what, err) &&
        (!gpu_give_up_idle(g) || !gpu_take(g, stream, &p, bytes, what, err)))
        return sx_fail(err, SX_ENOMEM, "simt has no memory for %s: %llu bytes needed, %llu free%s",
                       what, (unsigned long long)bytes,
                       (unsigned long long)(g->tune.memory ? gpu_free_bytes(g, UINT64_MAX) : 0),
                       g->from.take ? " (the allocator given has none)"
                       : g->tune.memory ? " of what memory= allows" : "");
    if (g->from.take && (uintptr_t)p % SX_GIVEN_ALIGN) {
        g->from.give(g->from.context, p, stream);
        return sx_fail(err, SX_EINVAL, "the allocator given returned %p for %s, not at a multiple "
                       "of %u", p, what, SX_GIVEN_ALIGN);
    }
    memset(p, 0xa5, bytes);       /* device memory is never zero by itself */
    *out = p;
    return SX_OK;
}

void sx_gpu_free(sx_gpu *g, gpu_stream stream, void *p)
{
    uint64_t bytes;

    if (!p)
        return;
    if (g->from.take) {
        g->from.give(g->from.context, p, stream);
        return;
    }
    memcpy(&bytes, (unsigned char *)p - HEAD, sizeof bytes);
    g->used -= bytes;
    sx_release((unsigned char *)p - HEAD);
}

sx_status sx_gpu_copy(sx_gpu *g, gpu_stream stream, void *to, const void *from, uint64_t bytes,
                          sx_err *err)
{
    (void)g;
    (void)stream;
    (void)err;
    memcpy(to, from, bytes);
    return SX_OK;
}

static sx_status gpu_set(sx_gpu *g, gpu_stream stream, void *p, int byte, uint64_t n, sx_err *err)
{
    (void)g;
    (void)stream;
    (void)err;
    memset(p, byte, n);
    return SX_OK;
}

static sx_status gpu_pin(void **out, uint64_t bytes, sx_err *err)
{
    sx_status st = sx_alloc(out, bytes, "a batch", err);

    if (st == SX_OK)
        memset(*out, 0x5a, bytes);
    return st;
}

static void gpu_unpin(void *p)
{
    sx_release(p);
}

/* Half of all addresses stand for pinned memory, so that both ways are taken. */
static int gpu_is_pinned(const void *p)
{
    return (uintptr_t)p % 512 < 256;
}

/* ---- device-wide primitives --------------------------------------------------------- */

static sx_status gpu_sort(sx_gpu *g, gpu_stream stream, sx_sorted *s, const void *keys,
                          const void *rows, void *spare, uint64_t spare_bytes, sx_err *err)
{
    sx_sort_arrays a = {.width = s->width, .row_bytes = s->row_bytes, .n = s->n, .in_keys = keys,
                        .in_rows = rows, .keys = {s->keys, NULL}, .rows = {s->rows, NULL}};
    sx_status st = sx_gpu_alloc(g, stream, &a.keys[1], s->n * s->width, "sorting", err);

    (void)spare;
    (void)spare_bytes;
    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, &a.rows[1], s->n * s->row_bytes, "sorting", err);
    if (st == SX_OK)
        st = sx_sort(g->pool, 1, &a, err);
    sx_gpu_free(g, stream, a.keys[1]);
    sx_gpu_free(g, stream, a.rows[1]);
    return st;
}

static sx_status gpu_sum_up(sx_gpu *g, gpu_stream stream, void *scratch, uint64_t *bytes,
                            uint64_t *numbers, uint64_t n, sx_err *err)
{
    uint64_t sum = 0;

    (void)g;
    (void)stream;
    (void)err;
    *bytes = 16;
    for (uint64_t i = 0; i < n && scratch; i++) {
        uint64_t number = numbers[i];
        numbers[i] = sum;
        sum += number;
    }
    return SX_OK;
}

#include "gpu/gpu_backend_impl.h"

static sx_status simt_use_allocator(void *self, const sx_allocator *allocator, sx_err *err)
{
    sx_gpu *g = self;

    (void)err;
    (void)gpu_give_up_idle(g);
    g->from = *allocator;
    return SX_OK;
}

/* Any memory of the host is the device's here. */
static sx_status simt_check_pointer(void *self, const void *p, uint64_t bytes, int place,
                                    const char *verb, const char *name, sx_err *err)
{
    (void)self;
    (void)p;
    (void)bytes;
    (void)place;
    (void)verb;
    (void)name;
    (void)err;
    return SX_OK;
}

/* Another thread may have been changing the list of stages, so the child begins
 * without them. */
static void simt_in_child(void *object)
{
    sx_gpu *g = object;

    pthread_mutex_init(&g->lock, NULL);
    pthread_mutex_init(&g->limit, NULL);
    g->stages = NULL;
    g->idle = 0;
}

/* "reversed" or "seed=N" may come before the options. */
static sx_status simt_open(void **self, const char *args, sx_err *err)
{
    simt_order order = SIMT_FORWARD;
    uint64_t seed = 0;
    int read = 0;
    size_t first = strcspn(args, ",");
    sx_gpu_tune tune;
    sx_gpu *g;
    sx_status st;

    if (first == 8 && memcmp(args, "reversed", 8) == 0)
        order = SIMT_REVERSED;
    else if (sscanf(args, "seed=%19" SCNu64 "%n", &seed, &read) == 1 && (size_t)read == first)
        order = SIMT_SHUFFLED;
    else
        first = 0;
    args += first;
    if (first > 0 && *args == ',' && !*++args)
        return sx_fail(err, SX_EINVAL, "device 'simt' ends in a comma");
    st = sx_gpu_tune_parse(&tune, args, "simt", GPU_LAB, err);
    if (st == SX_OK)
        st = sx_alloc_zero((void **)&g, sizeof *g, "a device", err);
    if (st != SX_OK)
        return st;
    g->order = order;
    g->seed = seed;
    g->tune = tune;
    g->multiprocessors = 2;
    g->l2_bytes = 4096;
    g->resident = 128;
    st = sx_pool_new(&g->pool, 1, 0, err);
    if (st != SX_OK) {
        sx_release(g);
        return st;
    }
    pthread_mutex_init(&g->lock, NULL);
    pthread_mutex_init(&g->limit, NULL);
    sx_fork_join(&g->forked, simt_in_child, g);
    *self = g;
    return SX_OK;
}

static void simt_close(void *self)
{
    sx_gpu *g = self;

    sx_fork_leave(&g->forked);
    (void)gpu_give_up_idle(g);
    sx_pool_free(g->pool);
    pthread_mutex_destroy(&g->lock);
    pthread_mutex_destroy(&g->limit);
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
    .gpu = 1,                     /* though its memory is the host's, too */
    .target = {.gpu = 1, .node_bytes = 32},       /* as on the GPU it stands for */
    .open = simt_open,
    .close = simt_close,
    .describe = simt_describe,
    .alloc = gpu_backend_alloc,
    .release = gpu_backend_release,
    .settle = gpu_backend_settle,
    .copy = gpu_backend_copy,
    .sort = gpu_backend_sort,
    .once = gpu_backend_once,
    .build = gpu_backend_build,
    .build_peak = gpu_backend_peak,
    .lookup = gpu_backend_lookup,
    .spans = gpu_backend_spans,
    .take_strings = gpu_backend_take_strings,
    .text_scratch = gpu_backend_text_scratch,
    .fill = gpu_backend_fill,
    .fold = gpu_backend_fold,
    .scratch = gpu_backend_scratch,
    .unscratch = gpu_backend_unscratch,
    .sum_up = gpu_backend_sum_up,
    .offsets = gpu_backend_offsets,
    .use_allocator = simt_use_allocator,
    .check_pointer = simt_check_pointer,
    .climb = gpu_backend_climb,
    .prefix_ends = gpu_backend_prefix_ends,
    .steps = gpu_backend_steps,
    .bucket = gpu_backend_bucket,
    .pin = gpu_backend_pin,
    .unpin = gpu_backend_unpin,
    .space = gpu_backend_space,
    .search = gpu_backend_search,
    .travel = gpu_backend_travel,
    .is_pinned = gpu_backend_is_pinned,
    .peek = gpu_backend_peek,
};
