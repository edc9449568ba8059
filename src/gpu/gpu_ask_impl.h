/* gpu_ask_impl.h - questions to a GPU: which kernel answers them, and how it
 * is launched. */

/* ---- points: the plan -----------------------------------------------------------
 *
 * Options that the device's name leaves out are chosen by the shape of the index.
 * Measured on an H200 (doc/papers/binary-search.md has the tables):
 *
 *   walk      whole if all keys fit into shared memory and there are questions
 *             enough to pay for the copy. Otherwise shared if it can be (see
 *             shared_args() of families): a node is asked for once instead of
 *             piece by piece. Otherwise alone; also under segments if keys are in
 *             L2. Group never won: lanes that wait together wait as long as one.
 *   pin       what fits beside two blocks of 1024 threads, and then with static
 *             scheduling, as the copy is made once per block. Nothing is staged if
 *             there are too few questions to pay for the copy, nor in a tree in
 *             level order, under segments or under a guide, whose top is in L1
 *             anyway.
 *   reorder   pays by 15 % if a search has many steps and the array is far
 *             larger than L2: plain binary search (lookup) and binary trees in
 *             level order (double). Otherwise it costs more than it gives.
 *   persist   the top of the search in a part of L2 that is set aside: 10 %
 *             faster, but that part is lost to all other kernels (sorting took
 *             18 % longer). So this is done only if the device's name says so. By
 *             default leaves are read so that they are the first to leave L2. */
/* Steps of a search in a tree of all keys in `space` bytes of shared memory; 0: there can't be such
 * a tree. */
static uint32_t gpu_whole_steps(const sx_view *v, uint64_t space)
{
    uint32_t steps = 0;

    if (!(v->traits & SX_SLOTS_ARE_RANKS))
        return 0;
    while (v->n >> steps > 0 && steps < 31)
        steps++;
    return (uint64_t)v->width << steps <= space ? steps : 0;
}

/* Plans a block that has all keys in shared memory, if that can be and is asked for, or pays: if
 * there are GPU_WHOLE_EACH questions for each node that is copied. */
static int gpu_plan_whole(const sx_gpu *g, const sx_view *v, sx_gpu_lookup *a, gpu_plan *p)
{
    const sx_gpu_tune *tune = &g->tune;
    uint32_t blocks = g->resident / GPU_BLOCK_MOST;       /* of a multiprocessor */
    uint32_t steps = gpu_whole_steps(v, gpu_whole_space(g, blocks));
    int told = tune->walk || tune->staged || tune->reorder || tune->schedule || tune->each;

    if (steps == 0 && blocks > 1) {       /* one with more keys is still faster than other walks */
        blocks = 1;
        steps = gpu_whole_steps(v, gpu_whole_space(g, blocks));
    }
    if (steps == 0 || (told && tune->walk != SX_WALK_WHOLE) ||
        (!told && a->n < ((uint64_t)g->multiprocessors * blocks << steps) * GPU_WHOLE_EACH))
        return 0;
    p->walk = SX_WALK_WHOLE;
    p->staged = SX_STAGE_NONE;
    p->schedule = SX_SCHEDULE_STATIC;
    p->block = tune->block ? tune->block : GPU_BLOCK_MOST;
    p->each = 1;
    p->resident = blocks * GPU_BLOCK_MOST;
    p->shared_bytes = v->width << steps;
    a->steps = steps;
    return 1;
}

static gpu_plan gpu_points_plan(const sx_gpu *g, const sx_view *v, sx_gpu_lookup *a, int ascending,
                                int waits)
{
    const sx_family_gpu *family = sx_family_gpu_of(v->family);
    const sx_gpu_tune *tune = &g->tune;
    sx_gpu_habits habits = family->habits(g, v);
    int few = a->n < (uint64_t)g->multiprocessors * g->resident;
    gpu_plan p = {0};
    uint64_t all;

    if (!ascending && gpu_plan_whole(g, v, a, &p))
        return p;
    p.ascending = ascending;
    if (family->shared_args)
        family->shared_args(v, a);
    p.walk = tune->walk ? tune->walk : habits.alone ? SX_WALK_ALONE : SX_WALK_SHARED;
    if (p.walk == SX_WALK_WHOLE || (p.walk == SX_WALK_SHARED && a->leaf_bytes == 0))
        p.walk = SX_WALK_ALONE;
    p.constant = tune->staged == SX_STAGE_CONSTANT && habits.constant && v->n > 0 &&
                 !ascending && waits;
    if (p.constant)
        p.walk = SX_WALK_ALONE;
    p.reorder = tune->reorder ? tune->reorder : SX_REORDER_NONE;
    if (!tune->reorder && !tune->walk && !few && !ascending && v->n * v->width > 2 * g->l2_bytes)
        p.reorder = habits.reorder;
    if (p.reorder != SX_REORDER_NONE)
        p.walk = SX_WALK_ALONE;
    p.staged = tune->staged ? tune->staged : few || !habits.stages ? SX_STAGE_NONE : SX_STAGE_STEPS;
    if (p.walk == SX_WALK_GROUP || (ascending && !tune->staged) || p.staged == SX_STAGE_CONSTANT)
        p.staged = SX_STAGE_NONE;
    p.block = tune->block ? tune->block : p.staged != SX_STAGE_NONE ? GPU_BLOCK_MOST : GPU_BLOCK;
    p.schedule = tune->schedule ? tune->schedule
                 : p.staged != SX_STAGE_NONE ? SX_SCHEDULE_STATIC : SX_SCHEDULE_DYNAMIC;
    p.each = tune->each ? tune->each : 1;
    if (p.reorder != SX_REORDER_NONE) {           /* kernels of 1024 or 2048 questions */
        p.block = p.block < 128 ? 128 : p.block;
        if (p.block * p.each < 1024)
            p.each = 1024 / p.block;
        if (p.block * p.each > 2048 || (p.block * p.each) % 1024)
            p.each = 2048 / p.block;
    }
    if (ascending) {              /* a block has many tiles, of 16 bytes a thread */
        p.staged = SX_STAGE_NONE;
        p.schedule = SX_SCHEDULE_STATIC;
        p.block = p.block < 512 ? p.block : 512;
        p.each = tune->each ? tune->each : 16 / v->width;
        a->window = GPU_WINDOW_BYTES / v->width;
        p.shared_bytes = SX_WINDOW_HEAD + GPU_WINDOW_BYTES;
    }
    if (p.walk == SX_WALK_SHARED && habits.windows && p.block > 512)
        p.block = 512;
    p.two = p.walk == SX_WALK_SHARED && habits.two;
    if (p.two && p.staged == SX_STAGE_NONE && !tune->block && !ascending)
        p.block = 128;
    p.resident = g->resident;     /* or as many as SX_KERNEL_1536 says */
    if (((p.walk == SX_WALK_SHARED && habits.windows) || ascending) && p.resident > 1536)
        p.resident = 1536;
    a->each = p.each;
    if (family->staged_bytes && v->n > 0 && p.staged != SX_STAGE_NONE)
        a->top_bytes = family->staged_bytes(v, p.staged, gpu_staged_space(g, p.resident / p.block));
    if (habits.resident && habits.resident < p.resident && p.schedule == SX_SCHEDULE_STATIC &&
        p.block <= habits.resident)
        p.resident = habits.resident;
    p.shared_bytes += a->top_bytes;
    if (p.constant)
        a->top_bytes = family->staged_bytes(v, SX_STAGE_STEPS, SX_CONSTANT_BYTES);
    a->twice = p.reorder == SX_REORDER_DOUBLE;
    if (a->twice)
        p.shared_bytes += p.block * p.each * 8;
    a->lanes = habits.lanes;
    all = family->search_bytes(v, &p.top);
    p.top_bytes = all < g->persist ? all : g->persist;
    return p;
}

static sx_status gpu_launch_whole(sx_gpu *g, const gpu_plan *p, gpu_stream stream,
                                  const sx_gpu_lookup *a, sx_err *err)
{
    (void)g;
    (void)err;
    if (SX_GPU_VIEW(&a->views)->width == 4)
        SX_LAUNCH(k_whole_4, p->grid, p->block, p->shared_bytes, stream, a);
    else if (SX_GPU_VIEW(&a->views)->width == 8)
        SX_LAUNCH(k_whole_8, p->grid, p->block, p->shared_bytes, stream, a);
    else
        SX_LAUNCH(k_whole_16, p->grid, p->block, p->shared_bytes, stream, a);
    return SX_OK;
}

static unsigned gpu_plan_grid(const sx_gpu *g, const gpu_plan *p, uint64_t threads)
{
    uint64_t per_block = (uint64_t)p->block * p->each, blocks = (threads + per_block - 1) / per_block;
    uint64_t resident = (uint64_t)g->multiprocessors * (p->resident / p->block);

    if (p->schedule == SX_SCHEDULE_STATIC && blocks > resident)
        blocks = resident;
    return gpu_grid_of(g, blocks, GPU_GRID_MOST);
}

/* ---- points ------------------------------------------------------------------------ */

static sx_gpu_views gpu_views_of(const sx_views *views)
{
    sx_gpu_views list;

    list.count = views->count;
    for (uint32_t i = 0; i < views->count; i++)
        list.of[i] = *views->of[i];
    return list;
}

/* Asks the family about a->n keys of 4, 8 or 16 bytes, at most SX_LAUNCH_MOST. */
static sx_status gpu_launch_points(sx_gpu *g, gpu_stream stream, const sx_view *v, sx_gpu_lookup *a,
                                   const sx_how *how, sx_err *err)
{
    int ascending = (how->hints & SX_ASCENDING) != 0 && (v->traits & SX_SLOTS_ARE_RANKS) &&
                    !g->tune.walk && !g->tune.reorder;
    gpu_plan plan = gpu_points_plan(g, v, a, ascending, !how->stream);

    plan.grid = gpu_plan_grid(g, &plan, plan.walk == SX_WALK_GROUP ? a->n * a->lanes : a->n);
    return plan.walk == SX_WALK_WHOLE
               ? gpu_launch_whole(g, &plan, stream, a, err)
               : sx_family_gpu_of(v->family)->points(g, &plan, stream, a, err);
}

typedef struct {
    const sx_views *views;
    const sx_lookup *job;
} gpu_points;

enum { POINT_Q, POINT_OUT, POINT_KEYS, POINT_COLUMNS };

static sx_status gpu_points_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                                 uint64_t n, void *const dev[], sx_err *err)
{
    const gpu_points *w = (const gpu_points *)work;
    const sx_lookup *job = w->job;
    const sx_view *v = sx_one_view(w->views);
    sx_status st = SX_OK;

    for (uint64_t done = 0; done < n && st == SX_OK; done += SX_LAUNCH_MOST) {
        sx_gpu_lookup a = {0};
        a.views = gpu_views_of(w->views);
        a.op = job->op;
        a.key_type = job->key_type;
        a.rank_bytes = job->op == SX_OP_KEY_AT ? job->q.each : 0;
        a.ahead = job->ahead;
        a.out_bytes = job->out.each;
        a.n = sx_min64(n - done, SX_LAUNCH_MOST);
        a.q = gpu_on(dev[POINT_Q], &job->q, at, at + done);
        a.out = gpu_on(dev[POINT_OUT], &job->out, at, at + done);
        a.keys = gpu_on(dev[POINT_KEYS], &job->keys, at, at + done);
        a.unit = v->unit;
        if (job->op == SX_OP_KEY_AT)
            GPU_RUN_W(k_key_at, v->width, a.n, stream, &a);
        else
            st = gpu_launch_points(g, stream, v, &a, &job->how, err);
    }
    return st == SX_OK ? sx_gpu_launched(g, "looking up keys", err) : st;
}

/* Writes the status of a call that was queued: nothing can go wrong any more. */
static sx_status gpu_say_done(sx_gpu *g, const sx_how *how, sx_err *err)
{
    sx_gpu_fill a = {0};

    if (!how->stream || !how->status)
        return SX_OK;
    a.status = how->status;
    GPU_RUN(k_space, 1, gpu_stream_of(how->stream), &a);
    return sx_gpu_launched(g, "writing the status", err);
}

static void gpu_out_column(gpu_column *c, sx_slice of)
{
    c->of = of;
    c->out = 1;
}

#include "gpu/gpu_strings_impl.h"

static sx_status gpu_backend_lookup(void *self, const sx_views *views, const sx_lookup *job,
                                    sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_points w = {views, job};
    gpu_column columns[POINT_COLUMNS] = {
        {job->q, 1, 0, 0, 0},
        {job->out, 0, 1, 0, 0},
        /* keys without a match stay as they are */
        {job->keys, 1, 1, 0, 0},
    };
    sx_status st = gpu_enter(g, err);

    if (st == SX_OK && gpu_are_strings(job->key_type))
        st = gpu_lookup_strings(g, views, job, err);
    else if (st == SX_OK)
        st = gpu_run_columns(g, &job->how, columns, POINT_COLUMNS, job->n, gpu_points_work, &w,
                             "looking up keys", err);
    return st == SX_OK ? gpu_say_done(g, &job->how, err) : st;
}

/* ---- ranges -------------------------------------------------------------------------- */

typedef struct {
    const sx_views *views;
    const sx_span_query *job;
    uint64_t *start;              /* fill: of spans, in device memory, or NULL */
    const sx_range_folds *folds;
    const sx_range_out *out;
    const uint64_t *first;        /* in device memory */
    uint64_t from, n;             /* fill: the first output, how many spans */
} gpu_ranges;

enum { RANGE_LO, RANGE_HI, RANGE_START, RANGE_COUNT, RANGE_MIN, RANGE_MAX, RANGE_SUM,
       RANGE_COLUMNS };

static sx_gpu_spans gpu_spans_args(const gpu_ranges *w, uint64_t n, void *const dev[])
{
    sx_gpu_spans a = {0};

    a.views = gpu_views_of(w->views);
    a.key_type = w->job->key_type;
    a.last = w->job->last;
    a.length = w->job->length;
    a.n = n;
    a.limit = w->job->limit;
    a.lo = dev[RANGE_LO];
    a.hi = dev[RANGE_HI];
    a.start = (uint64_t *)dev[RANGE_START];
    a.count = (uint64_t *)dev[RANGE_COUNT];
    return a;
}

static sx_status gpu_spans_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                                uint64_t n, void *const dev[], sx_err *err)
{
    const gpu_ranges *w = (const gpu_ranges *)work;
    const sx_family_gpu *family = sx_family_gpu_of(sx_one_view(w->views)->family);
    sx_gpu_spans a = gpu_spans_args(w, n, dev);

    (void)at;
    if (w->job->prefix)
        family->prefixes(g, stream, &a);
    else
        family->spans(g, stream, &a);
    return sx_gpu_launched(g, "finding ranges", err);
}

/* The columns of ranges that their kernels read. */
static void gpu_range_columns(gpu_column columns[RANGE_COLUMNS], const sx_span_query *job)
{
    gpu_column lo = {job->lo, 1, 0, 0, 0}, hi = {job->hi, 1, 0, 0, 0};

    memset(columns, 0, RANGE_COLUMNS * sizeof columns[0]);
    columns[RANGE_LO] = lo;
    columns[RANGE_HI] = hi;
}

static sx_status gpu_find_spans(sx_gpu *g, const sx_views *views, const sx_span_query *job,
                                const sx_spans *to, sx_err *err)
{
    gpu_ranges w = {views, job, NULL, NULL, NULL, NULL, 0, 0};
    gpu_column columns[RANGE_COLUMNS];
    int place = to->there ? SX_DEVICE : SX_HOST;
    sx_slice starts = sx_slice_fixed(to->start, 8, job->n, place);
    sx_slice counts = sx_slice_fixed(to->first, 8, job->n, place);
    sx_how how = job->how;

    if (gpu_are_strings(job->key_type))
        return gpu_ask_text_ranges(g, views, job, &starts, &counts, NULL, err);
    gpu_range_columns(columns, job);
    gpu_out_column(&columns[RANGE_START], starts);
    gpu_out_column(&columns[RANGE_COUNT], counts);
    /* Spans are summed up next, on the same stream, and that waits. */
    if (to->there && !to->last && !how.stream)
        how.stream = gpu_stream_of(NULL);
    return gpu_run_columns(g, &how, columns, RANGE_COLUMNS, job->n, gpu_spans_work, &w,
                           "finding ranges", err);
}

static sx_status gpu_backend_spans(void *self, const sx_views *views, const sx_span_query *job,
                                   const sx_spans *to, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_status st = gpu_enter(g, err);

    /* memory for spans was taken in one stream's order, and channels are other streams */
    if (st == SX_OK && to->there && !to->last && !job->how.stream)
        st = sx_gpu_wait(g, gpu_stream_of(NULL), "ranges", err);
    if (st == SX_OK)
        st = gpu_find_spans(g, views, job, to, err);
    return st == SX_OK && to->last ? gpu_say_done(g, &job->how, err) : st;
}

static sx_status gpu_fold_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                               uint64_t n, void *const dev[], sx_err *err)
{
    const gpu_ranges *w = (const gpu_ranges *)work;
    const sx_view *v = sx_one_view(w->views);
    sx_gpu_folds a = {0};
    uint64_t warps = (uint64_t)g->multiprocessors * (g->resident / 64);

    (void)at;
    a.spans = gpu_spans_args(w, n, dev);
    a.unit = v->unit;
    a.scan = g->tune.scan ? g->tune.scan : SX_SCAN_MIXED;
    a.ranges = 1;                 /* more only if there are ranges enough for all warps */
    while (a.ranges < 16 && n > warps * a.ranges)
        a.ranges *= 2;
    a.min = (uint64_t *)dev[RANGE_MIN];
    a.max = (uint64_t *)dev[RANGE_MAX];
    a.sum = (uint64_t *)dev[RANGE_SUM];
    sx_family_gpu_of(v->family)->fold(g, stream, &a, (n + a.ranges - 1) / a.ranges * 32);
    return sx_gpu_launched(g, "summing ranges", err);
}

static sx_status gpu_backend_fold(void *self, const sx_views *views, const sx_span_query *job,
                                  const sx_range_folds *out, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_ranges w = {views, job, NULL, out, NULL, NULL, 0, 0};
    gpu_column columns[RANGE_COLUMNS];
    sx_status st = gpu_enter(g, err);

    gpu_range_columns(columns, job);
    gpu_out_column(&columns[RANGE_COUNT], out->count);
    gpu_out_column(&columns[RANGE_MIN], out->min);
    gpu_out_column(&columns[RANGE_MAX], out->max);
    gpu_out_column(&columns[RANGE_SUM], out->sum);
    if (st == SX_OK && gpu_are_strings(job->key_type))
        st = gpu_ask_text_ranges(g, views, job, NULL, &out->count, out, err);
    else if (st == SX_OK)
        st = gpu_run_columns(g, &job->how, columns, RANGE_COLUMNS, job->n, gpu_fold_work, &w,
                             "summing ranges", err);
    return st == SX_OK ? gpu_say_done(g, &job->how, err) : st;
}

/* ---- rows and keys of ranges ----------------------------------------------------------- */

enum { FILL_ROWS, FILL_KEYS, FILL_AT, FILL_COLUMNS };

static sx_gpu_fill gpu_fill_args(const gpu_ranges *w, void *rows, void *keys, void *at)
{
    sx_gpu_fill a = {0};

    a.views = gpu_views_of(w->views);
    a.key_type = w->job->key_type;
    a.row_bytes = w->out->rows.each;
    a.n = w->n;
    a.start = w->start;
    a.first = w->first;
    a.rows = rows;
    a.keys = keys;
    a.at = (uint64_t *)at;
    return a;
}

/* Whether all that is wanted lies in order of rank in one array. */
static int gpu_in_ranks(const sx_gpu_fill *a)
{
    const sx_view *v = SX_GPU_VIEW(&a->views);
    int slots = (v->traits & SX_SLOTS_ARE_RANKS) && !v->block && !v->starts;

    return (!a->rows || slots || v->starts || v->row_bytes == 0) && (!a->keys || slots) && !a->at;
}

/* outputs: how many there are; UINT64_MAX: nobody knows. */
static void gpu_launch_fill(sx_gpu *g, gpu_stream stream, const sx_gpu_fill *a, uint64_t outputs)
{
    uint64_t threads = outputs == UINT64_MAX ? (uint64_t)g->multiprocessors * g->resident
                                             : (outputs + SX_FILL_TILE - 1) / SX_FILL_TILE * 32;

    if (gpu_in_ranks(a))
        GPU_RUN_W(k_fill_ranks, SX_GPU_VIEW(&a->views)->width, threads, stream, a);
    else
        GPU_RUN_W(k_fill, SX_GPU_VIEW(&a->views)->width, threads, stream, a);
}

static sx_status gpu_fill_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                               uint64_t n, void *const dev[], sx_err *err)
{
    const gpu_ranges *w = (const gpu_ranges *)work;
    sx_gpu_fill a = gpu_fill_args(w, dev[FILL_ROWS], dev[FILL_KEYS], dev[FILL_AT]);

    a.from = w->from + at;
    a.to = a.from + n;
    gpu_launch_fill(g, stream, &a, n);
    return sx_gpu_launched(g, "collecting ranges", err);
}

/* Writes all `total` results of the spans in *w. w->from is the first output. */
static sx_status gpu_fill(sx_gpu *g, const gpu_ranges *w, uint64_t total, sx_err *err)
{
    const sx_range_out *out = w->out;
    gpu_column columns[FILL_COLUMNS] = {
        {sx_slice_part(&out->rows, w->from, w->from + total), 0, 1, 0, 0},
        {sx_slice_part(&out->keys, w->from, w->from + total), 0, 1, 0, 0},
        {sx_slice_part(&out->at, w->from, w->from + total), 0, 1, 0, 0},
    };

    return gpu_run_columns(g, &w->job->how, columns, FILL_COLUMNS, total, gpu_fill_work, w,
                           "collecting ranges", err);
}

/* ---- spans in device memory ------------------------------------------------------------ */

static sx_status gpu_backend_scratch(void *self, void *stream, void **out, uint64_t bytes,
                                     sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_status st = gpu_enter(g, err);

    return st == SX_OK ? sx_gpu_alloc(g, gpu_stream_of(stream), out, bytes, "ranges", err) : st;
}

static void gpu_backend_unscratch(void *self, void *stream, void *p)
{
    sx_gpu_free((sx_gpu *)self, gpu_stream_of(stream), p);
}

static sx_status gpu_backend_sum_up(void *self, void *stream, const sx_spans *spans, void *scratch,
                                    uint64_t *bytes, uint64_t *total, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_stream in = gpu_stream_of(stream);
    sx_status st = gpu_enter(g, err);

    if (st == SX_OK && scratch)
        st = gpu_set(g, in, spans->first + spans->n, 0, 8, err);
    if (st == SX_OK)
        st = gpu_sum_up(g, in, scratch, bytes, spans->first, spans->n + 1, err);
    if (st != SX_OK || !scratch)
        return st;
    *total = UINT64_MAX;
    if (stream)
        return SX_OK;
    st = sx_gpu_copy(g, in, total, spans->first + spans->n, 8, err);
    return st == SX_OK ? sx_gpu_wait(g, in, "finding ranges", err) : st;
}

static sx_status gpu_offsets_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                                  uint64_t n, void *const dev[], sx_err *err)
{
    return sx_gpu_copy(g, stream, dev[0], ((const sx_spans *)work)->first + at, n * 8, err);
}

static sx_status gpu_backend_offsets(void *self, const sx_how *how, const sx_spans *spans,
                                     uint64_t *to, sx_err *err)
{
    gpu_column column = {sx_slice_fixed(to, 8, spans->n + 1, SX_HOST), 0, 1, 0, 0};
    sx_how quiet = {0};           /* copying is no part of the question's progress */

    quiet.threads = how->threads;
    return gpu_run_columns((sx_gpu *)self, &quiet, &column, 1, spans->n + 1, gpu_offsets_work,
                           spans, "ranges", err);
}

/* ---- results of spans ------------------------------------------------------------------- */

/* With a stream: the fill is queued behind the search, and no total is known yet. */
static sx_status gpu_queue_fill(sx_gpu *g, gpu_stream stream, const gpu_ranges *w, sx_err *err)
{
    const sx_range_out *out = w->out;
    sx_gpu_fill a = gpu_fill_args(w, out->rows.data, out->keys.data, NULL);

    a.to = UINT64_MAX;
    a.space = sx_slice_wanted(&out->rows) ? out->rows.n : UINT64_MAX;
    if (sx_slice_wanted(&out->keys) && out->keys.n < a.space)
        a.space = out->keys.n;
    a.status = w->job->how.status;
    if (w->start)
        gpu_launch_fill(g, stream, &a, a.to);
    GPU_RUN(k_space, 1, stream, &a);
    return sx_gpu_launched(g, "collecting ranges", err);
}

/* Spans are on the host, as the device has no memory for all of them. They are copied there
 * GPU_SPANS at a time. */
static sx_status gpu_fill_parts(sx_gpu *g, gpu_ranges *w, const sx_spans *spans, uint64_t total,
                                sx_err *err)
{
    uint64_t most = spans->n < GPU_SPANS ? spans->n : GPU_SPANS;
    gpu_stream stream = gpu_stream_of(NULL);
    void *start = NULL, *first = NULL;
    sx_status st = sx_gpu_alloc(g, stream, &start, most * 8, "ranges", err);

    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, &first, (most + 1) * 8, "ranges", err);
    w->start = (uint64_t *)start;
    w->first = (const uint64_t *)first;
    for (uint64_t at = 0; at < spans->n && st == SX_OK; at += w->n) {
        w->n = spans->n - at < most ? spans->n - at : most;
        st = sx_gpu_copy(g, stream, start, spans->start + at, w->n * 8, err);
        if (st == SX_OK)
            st = sx_gpu_copy(g, stream, first, spans->first + at, (w->n + 1) * 8, err);
        if (st == SX_OK)
            st = sx_gpu_wait(g, stream, "ranges", err);
        if (st == SX_OK) {        /* read once: whatever it is, outputs end at total */
            uint64_t to = *(const volatile uint64_t *)&spans->first[at + w->n];
            to = to > total ? total : to < w->from ? w->from : to;
            st = gpu_fill(g, w, to - w->from, err);
            w->from = to;
        }
    }
    sx_gpu_free(g, stream, start);
    sx_gpu_free(g, stream, first);
    return st;
}

static sx_status gpu_backend_fill(void *self, const sx_views *views, const sx_span_query *job,
                                  const sx_spans *spans, const sx_range_out *out, uint64_t total,
                                  sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_ranges w = {views, job, spans->start, NULL, out, spans->first, 0, spans->n};
    sx_status st = gpu_enter(g, err);

    if (st != SX_OK)
        return st;
    return job->how.stream ? gpu_queue_fill(g, gpu_stream_of(job->how.stream), &w, err)
           : spans->there  ? gpu_fill(g, &w, total, err)
                           : gpu_fill_parts(g, &w, spans, total, err);
}
