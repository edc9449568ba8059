/* gpu_backend_impl.h - a GPU as a backend, for CUDA and for the emulator
 * alike. Before it come a vendor header, gpu_kernels.h, and the runtime:
 *
 *   sx_gpu                         an open device: tune, pool, lock, stages,
 *                                  multiprocessors, resident (threads of one),
 *                                  l2_bytes, persist (of them set aside)
 *   gpu_stream                     a queue; gpu_stream_of(the caller's or
 *                                  NULL), gpu_stream_new, gpu_stream_free
 *   gpu_enter(g, err)              at the start of every call
 *   sx_gpu_alloc, sx_gpu_free      device memory, in a stream's order
 *   gpu_free_bytes(g, enough)      how much of it is free, or any number that is enough
 *   sx_gpu_copy, gpu_set           queued; between any two places
 *   sx_gpu_launched(g, what, err)  after launches: whether they were accepted
 *   sx_gpu_wait(g, stream, what, err)   until a queue is empty
 *   gpu_told(word)                 whether a kernel has set a word of pinned memory
 *   gpu_pin, gpu_unpin, gpu_is_pinned   host memory that a device can read
 *   gpu_timer_begin, _mark, _end   nanoseconds between, added to a number
 *   gpu_sort, gpu_sum_up           device-wide primitives
 *   sx_gpu_grid(g, threads)        blocks of GPU_BLOCK threads
 *   gpu_staged_space(g, blocks)       shared memory of each block to stage an upper
 *                                  part in, if this many blocks share it
 *   gpu_whole_space(g, blocks)     the same for all keys of an index
 *   GPU_BLOCK, GPU_BLOCK_MOST      threads of a block: usually, at most;
 *                                  GPU_FIT_BLOCK: of a kernel of few, slow threads
 *   GPU_IDLE_MOST, GPU_CHANNELS, GPU_CHANNEL_BYTES, GPU_CHUNK_LEAST,
 *   GPU_CHUNK_GOOD, GPU_DIRECT_BYTES, GPU_SPANS, GPU_TEXTS, GPU_WHOLE_EACH, GPU_GRID_MOST,
 *   GPU_FEW, GPU_FEW_AHEAD, GPU_BUCKET, GPU_SAMPLE, GPU_SCRATCH, GPU_SORT_AT_ONCE     see where they are used */
#include "family/families_gpu_impl.h"
#include "gpu/gpu_stage_impl.h"

#include "gpu/gpu_ask_impl.h"

#include "gpu/gpu_build_impl.h"

/* ---- sections ------------------------------------------------------------------------------ */

static sx_status gpu_backend_alloc(void *self, void **out, uint64_t bytes, const char *what,
                                   sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_stream stream = gpu_stream_of(NULL);
    sx_status st = gpu_enter(g, err);

    void *block = NULL;

    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, &block, bytes, what, err);
    if (st == SX_OK)
        st = sx_gpu_wait(g, stream, what, err);      /* any stream may use it from now on */
    if (st == SX_OK)
        *out = block;
    else
        sx_gpu_free(g, stream, block);
    return st;
}

/* Streams of the caller may still use memory that is about to be given back. */
static void gpu_backend_settle(void *self)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_err err;

    if (gpu_enter(g, &err) == SX_OK)
        gpu_settle();
}

static void gpu_backend_release(void *self, void *block)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_err err;

    if (block && gpu_enter(g, &err) == SX_OK)
        sx_gpu_free(g, gpu_stream_of(NULL), block);
}

static sx_status gpu_move_work(sx_gpu *g, gpu_stream stream, const void *job, uint64_t at,
                               uint64_t n, void *const dev[], sx_err *err)
{
    (void)job;
    (void)at;
    return sx_gpu_copy(g, stream, dev[1], dev[0], n, err);
}

static sx_status gpu_backend_copy(void *self, void *to, int to_there, const void *from,
                                  int from_there, uint64_t bytes, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_column columns[2] = {
        {sx_slice_fixed(from, 1, bytes, from_there ? SX_DEVICE : SX_HOST), 1, 0, 0, 0},
        {sx_slice_fixed(to, 1, bytes, to_there ? SX_DEVICE : SX_HOST), 0, 1, 0, 0},
    };
    sx_how how = {0};
    sx_status st = gpu_enter(g, err);

    return st == SX_OK ? gpu_run_columns(g, &how, columns, 2, bytes, gpu_move_work, NULL, "copying",
                                         err)
                       : st;
}

/* ---- climbs, prefixes --------------------------------------------------------------------- */

#include "gpu/gpu_climbs_impl.h"

/* ---- some levels of walks, for hybrid indexes ------------------------------------------------- */

enum { STEPS_Q, STEPS_IN, STEPS_OUT, STEPS_COLUMNS };

typedef struct {
    const sx_views *upper;
    const sx_steps *job;
} gpu_stepping;

static sx_status gpu_steps_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                                uint64_t n, void *const dev[], sx_err *err)
{
    const gpu_stepping *w = (const gpu_stepping *)work;
    sx_gpu_steps a = {0};

    a.views = gpu_views_of(w->upper);
    a.key_type = w->job->key_type;
    a.side = w->job->side;
    a.from = w->job->from;
    a.to = w->job->to;
    a.head = sx_head_part(w->job->head, at, n);
    a.head_from = w->job->head_from;
    a.head_to = w->job->head_to;
    a.n = n;
    a.q = dev[STEPS_Q];
    a.in = (const sx_state *)dev[STEPS_IN];
    a.out = (sx_state *)dev[STEPS_OUT];
    sx_family_gpu_of(SX_GPU_VIEW(&a.views)->family)->steps(g, stream, &a);
    return sx_gpu_launched(g, "walking an upper part", err);
}

static sx_status gpu_backend_steps(void *self, const sx_views *upper, const sx_steps *job,
                                   sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_stepping w = {upper, job};
    gpu_column columns[STEPS_COLUMNS] = {
        {job->q, 1, 0, 0, 0},
        {sx_slice_fixed(job->in, sizeof *job->in, job->n, SX_HOST), 1, 0, 0, 0},
        {sx_slice_fixed(job->out, sizeof *job->out, job->n, SX_HOST), 0, 1, 0, 0},
    };
    sx_how how = {0};
    sx_status st = gpu_enter(g, err);

    how.threads = job->threads;
    return st == SX_OK ? gpu_run_columns(g, &how, columns, STEPS_COLUMNS, job->n, gpu_steps_work,
                                         &w, "walking an upper part", err)
                       : st;
}

static uint64_t gpu_backend_bucket(const void *self)
{
    const sx_gpu *g = (const sx_gpu *)self;

    return g->tune.bucket ? g->tune.bucket : GPU_BUCKET;
}

static sx_status gpu_backend_pin(void *self, void **out, uint64_t bytes, sx_err *err)
{
    sx_status st = gpu_enter((sx_gpu *)self, err);

    return st == SX_OK ? gpu_pin(out, bytes, err) : st;
}

static void gpu_backend_unpin(void *self, void *block)
{
    sx_err err;

    if (block && gpu_enter((sx_gpu *)self, &err) == SX_OK)
        gpu_unpin(block);
}

static void gpu_backend_travel(const void *self, sx_travel *out)
{
    const sx_gpu *g = (const sx_gpu *)self;

    out->direct_bytes = GPU_DIRECT_BYTES;
    out->chunk = GPU_CHUNK_GOOD;
    out->channel_bytes = GPU_CHANNEL_BYTES;
    out->stage_bytes = GPU_CHANNELS * GPU_CHANNEL_BYTES;
    out->sample = GPU_SAMPLE;
    out->side = g->tune.side;
    out->strategy = g->tune.strategy;
    out->balanced = g->tune.balanced;
    out->balance.depth = g->tune.depth;
    out->balance.share = g->tune.share;
    out->balance.own = g->tune.own;
}

static int gpu_backend_is_pinned(void *self, const void *p)
{
    sx_err err;

    return gpu_enter((sx_gpu *)self, &err) == SX_OK && gpu_is_pinned(p);
}

static uint64_t gpu_backend_space(void *self, uint64_t enough)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_err err;

    return g->from.take || gpu_enter(g, &err) != SX_OK ? UINT64_MAX
                                                               : gpu_free_bytes(g, enough);
}

static sx_search gpu_backend_search(const void *self)
{
    return (sx_search)((const sx_gpu *)self)->tune.search;
}
