/* gpu_strings_impl.h - questions about strings to a GPU. Codes of the queries are made there, the
 * family's kernels search them as unsigned keys, and a last kernel compares strings:
 *
 *     strings  --k_codes-->  codes  --the family-->  positions  --k_settle-->  answers
 *
 * Codes and positions are in scratch memory, of GPU_TEXTS strings at most; more take turns. */

static int gpu_are_strings(int key_type)
{
    return sx_type_of(key_type)->bytes == 0;
}

/* ---- columns of strings --------------------------------------------------------------- */

/* The three columns of one, of which the first may be apart from the others (gpu_stage_impl.h). */
static void gpu_text_columns(const sx_slice *of, int out, gpu_column *offsets, gpu_column *bytes,
                             gpu_column *end)
{
    gpu_column none = {sx_slice_fixed(NULL, 0, 0, SX_HOST), 0, 0, 0, 0};

    *offsets = *bytes = *end = none;
    offsets->of = sx_slice_fixed(of->offsets, of->each, of->n + 1, of->place);
    offsets->in = 1;
    offsets->more = 1;
    if (sx_slice_there(of)) {     /* as they are, for every chunk */
        bytes->of = sx_slice_fixed(of->data, 0, 0, SX_DEVICE);
        end->of = sx_slice_fixed(of->data ? (unsigned char *)of->data + of->bytes : NULL, 0, 0,
                                 SX_DEVICE);
        return;
    }
    bytes->of = *of;
    bytes->in = !out;
    bytes->out = out != 0;
    end->of = sx_slice_fixed(of->data, 0, 0, SX_HOST);
}

static sx_gpu_texts gpu_texts_of(const sx_slice *of, void *offsets, void *bytes, void *end)
{
    sx_gpu_texts t = {0};

    t.offsets = offsets;
    t.bytes = (const unsigned char *)bytes;
    t.end = (const unsigned char *)end;
    t.offset_bytes = of->each;
    t.cut = !sx_slice_there(of);
    return t;
}

/* ---- codes and positions ---------------------------------------------------------------- */

typedef struct {
    uint64_t n;                   /* strings that there is space for */
    void *block, *code;
    uint64_t *position;
    uint64_t *number[4];          /* of ranges: ranks of their ends, and spans */
    uint32_t *same;
} gpu_text_scratch;

/* The scratch of one call: of each stream that its work is queued on. */
typedef struct {
    unsigned numbers;
    unsigned streams;
    gpu_stream stream[GPU_CHANNELS];
    gpu_text_scratch of[GPU_CHANNELS];
} gpu_text_space;

/* Bytes of it for each string. */
static uint64_t gpu_text_each(unsigned numbers)
{
    return (2 + numbers) * 8 + 4;
}

/* Numbers of each range. */
#define GPU_TEXT_NUMBERS 4u

/* All that a call takes at most. If columns travel, each channel has scratch for its chunk. */
static uint64_t gpu_backend_text_scratch(const void *self, uint64_t n, int ranges, int travels)
{
    uint64_t most = n / 8 + 1 > GPU_CHUNK_GOOD ? n / 8 + 1 : GPU_CHUNK_GOOD;

    (void)self;
    n = sx_min64(n, GPU_TEXTS);
    return (travels ? GPU_CHANNELS * sx_min64(n, most) : n) *
           gpu_text_each(ranges ? GPU_TEXT_NUMBERS : 0);
}

/* Takes scratch for `most` strings, or for as many as memory allows. */
static sx_status gpu_text_space_take(sx_gpu *g, gpu_stream stream, uint64_t most,
                                     gpu_text_space *space, sx_err *err)
{
    gpu_text_scratch *s = &space->of[space->streams];
    sx_status st;

    memset(s, 0, sizeof *s);
    s->n = sx_min64(most, GPU_TEXTS);
    do {
        uint64_t words = (2 + space->numbers) * s->n;
        st = sx_gpu_alloc(g, stream, &s->block, s->n * gpu_text_each(space->numbers),
                          "codes of strings", err);
        if (st == SX_OK) {
            s->code = s->block;
            s->position = (uint64_t *)s->block + s->n;
            for (unsigned i = 0; i < space->numbers; i++)
                s->number[i] = s->position + (1 + i) * s->n;
            s->same = (uint32_t *)((uint64_t *)s->block + words);
            space->stream[space->streams++] = stream;
        } else {
            s->n /= 2;
        }
    } while (st == SX_ENOMEM && s->n >= GPU_CHUNK_LEAST);
    return st;
}

static const gpu_text_scratch *gpu_text_scratch_of(const gpu_text_space *space, gpu_stream stream)
{
    unsigned i = 0;

    while (i + 1 < space->streams && space->stream[i] != stream)
        i++;
    return &space->of[i];
}

/* Gives it back in the order of `stream`, the caller's or (NULL) the thread's; then work elsewhere
 * has ended. */
static void gpu_text_space_give(sx_gpu *g, void *stream, gpu_text_space *space)
{
    for (unsigned i = 0; i < space->streams; i++)
        sx_gpu_free(g, gpu_stream_of(stream), space->of[i].block);
}

/* The positions of the codes of n strings, on the left. Walks find ranks: in a view without starts
 * these are positions. */
static sx_status gpu_find_codes(sx_gpu *g, gpu_stream stream, const sx_views *views,
                                const sx_how *how, const sx_gpu_texts *q, uint64_t n,
                                const gpu_text_scratch *s, sx_err *err)
{
    sx_gpu_codes a = {0};
    sx_gpu_lookup walk = {0};
    sx_view *v;

    a.keys = sx_one_view(views)->strings;
    a.q = *q;
    a.n = n;
    a.code = s->code;
    a.code_bytes = sx_one_view(views)->width;
    a.same = s->same;
    GPU_RUN(k_codes, n, stream, &a);
    walk.views = gpu_views_of(views);
    v = SX_GPU_VIEW(&walk.views);
    v->starts = NULL;
    v->ranks = v->n;
    walk.op = SX_OP_RANK_LEFT;
    walk.key_type = sx_code_type(v->width);
    walk.out_bytes = 8;
    walk.n = n;
    walk.q = s->code;
    walk.out = s->position;
    walk.unit = v->unit;
    return gpu_launch_points(g, stream, v, &walk, how, err);
}

static sx_gpu_settle gpu_settle_args(const sx_views *views, const sx_gpu_texts *q, uint64_t n,
                                     const gpu_text_scratch *s)
{
    sx_gpu_settle a = {0};

    a.views = gpu_views_of(views);
    a.q = *q;
    a.n = n;
    a.code = s->code;
    a.position = s->position;
    a.same = s->same;
    return a;
}

/* ---- points ---------------------------------------------------------------------------- */

enum { TEXT_OFFSETS, TEXT_OUT, TEXT_AT, TEXT_BYTES, TEXT_END, TEXT_COLUMNS };

typedef struct {
    const sx_views *views;
    const sx_lookup *job;
    gpu_text_space *space;
} gpu_text_points;

static sx_status gpu_text_points_ready(sx_gpu *g, gpu_stream stream, const void *work, uint64_t most,
                                     sx_err *err)
{
    return gpu_text_space_take(g, stream, most, ((const gpu_text_points *)work)->space, err);
}

static sx_status gpu_text_points_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                                      uint64_t n, void *const dev[], sx_err *err)
{
    const gpu_text_points *w = (const gpu_text_points *)work;
    const sx_lookup *job = w->job;
    sx_gpu_texts q = gpu_texts_of(&job->q, dev[TEXT_OFFSETS], dev[TEXT_BYTES], dev[TEXT_END]);
    const gpu_text_scratch *s = gpu_text_scratch_of(w->space, stream);
    sx_status st = SX_OK;

    for (uint64_t done = 0; done < n && st == SX_OK; done += s->n) {
        uint64_t some = sx_min64(n - done, s->n);
        sx_gpu_settle a;
        q.skip = done;
        st = gpu_find_codes(g, stream, w->views, &job->how, &q, some, s, err);
        a = gpu_settle_args(w->views, &q, some, s);
        a.op = job->op;
        a.out_bytes = job->out.each;
        a.out = gpu_on(dev[TEXT_OUT], &job->out, at, at + done);
        a.at = (uint64_t *)gpu_on(dev[TEXT_AT], &job->at, at, at + done);
        if (st == SX_OK) {
            GPU_RUN(k_settle, some, stream, &a);
            st = sx_gpu_launched(g, "looking up strings", err);
        }
    }
    return st;
}

/* Of ranks: offsets are the ranks. */
static sx_status gpu_text_ranks_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                                     uint64_t n, void *const dev[], sx_err *err)
{
    const gpu_text_points *w = (const gpu_text_points *)work;
    sx_gpu_settle a = {0};

    (void)at;
    a.views = gpu_views_of(w->views);
    a.op = w->job->op;
    a.n = n;
    a.rank = dev[TEXT_OFFSETS];
    a.rank_bytes = w->job->q.each;
    a.out = dev[TEXT_OUT];
    a.out_bytes = w->job->out.each;
    a.at = (uint64_t *)dev[TEXT_AT];
    GPU_RUN(k_ranks, n, stream, &a);
    return sx_gpu_launched(g, "looking up strings", err);
}

static sx_status gpu_lookup_strings(sx_gpu *g, const sx_views *views, const sx_lookup *job,
                                    sx_err *err)
{
    gpu_text_space space = {0};
    gpu_text_points w = {views, job, &space};
    gpu_column columns[TEXT_COLUMNS] = {
        {job->q, 1, 0, 0, 0},
        {job->out, 0, 1, 0, 0},
        {job->at, 0, 1, 0, 0},
    };
    sx_status st;

    if (job->op == SX_OP_KEY_AT)
        return gpu_run_columns(g, &job->how, columns, TEXT_BYTES, job->n, gpu_text_ranks_work, &w,
                               "looking up strings", err);
    gpu_text_columns(&job->q, 0, &columns[TEXT_OFFSETS], &columns[TEXT_BYTES], &columns[TEXT_END]);
    st = gpu_run_ready(g, &job->how, columns, TEXT_COLUMNS, job->n, gpu_text_points_ready,
                       gpu_text_points_work, &w, "looking up strings", err);
    gpu_text_space_give(g, job->how.stream, &space);
    return st;
}

/* ---- ranges ------------------------------------------------------------------------------ */

enum { TEXTS_LO, TEXTS_HI, TEXTS_START, TEXTS_COUNT, TEXTS_MIN, TEXTS_MAX, TEXTS_SUM,
       TEXTS_LO_BYTES, TEXTS_LO_END, TEXTS_HI_BYTES, TEXTS_HI_END, TEXTS_COLUMNS };

typedef struct {
    const sx_views *views;
    const sx_span_query *job;
    int folds;                    /* folds are wanted, not spans */
    gpu_text_space *space;
} gpu_text_ranges;

static sx_status gpu_text_ranges_ready(sx_gpu *g, gpu_stream stream, const void *work, uint64_t most,
                                     sx_err *err)
{
    return gpu_text_space_take(g, stream, most, ((const gpu_text_ranges *)work)->space, err);
}

/* The ranks of one end of some ranges. again: codes and positions of these strings are there. */
static sx_status gpu_find_ends(sx_gpu *g, gpu_stream stream, const gpu_text_ranges *w,
                               const sx_gpu_texts *q, uint64_t n, int op, int again,
                               const gpu_text_scratch *s, uint64_t *rank, sx_err *err)
{
    sx_gpu_settle a = gpu_settle_args(w->views, q, n, s);
    sx_status st = again ? SX_OK : gpu_find_codes(g, stream, w->views, &w->job->how, q, n, s, err);

    a.op = op;
    a.prefix = again != 0;
    a.out_bytes = 8;
    a.out = rank;
    if (st != SX_OK)
        return st;
    GPU_RUN(k_settle, n, stream, &a);
    return sx_gpu_launched(g, "finding ranges", err);
}

/* Spans of some ranges, to memory of the caller or (start NULL) of ours; then their folds. */
static sx_status gpu_text_spans(sx_gpu *g, gpu_stream stream, const gpu_text_ranges *w,
                                const gpu_text_scratch *s, uint64_t n, sx_gpu_folds *folds,
                                sx_err *err)
{
    sx_gpu_ends a = {0};

    a.n = n;
    a.limit = w->job->limit;
    a.last = w->job->last;
    a.lo = s->number[0];
    a.hi = s->number[1];
    if (w->folds && !folds->spans.start)
        folds->spans.start = s->number[2];
    if (!folds->spans.count)
        folds->spans.count = s->number[3];
    a.start = folds->spans.start;
    a.count = folds->spans.count;
    GPU_RUN(k_ends, n, stream, &a);
    if (w->folds && (folds->min || folds->max || folds->sum)) {
        folds->spans.views = gpu_views_of(w->views);
        folds->spans.n = n;
        GPU_RUN(k_fold_spans, n * 32, stream, folds);
    }
    return sx_gpu_launched(g, "finding ranges", err);
}

static sx_status gpu_text_ranges_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                                      uint64_t n, void *const dev[], sx_err *err)
{
    const gpu_text_ranges *w = (const gpu_text_ranges *)work;
    const sx_span_query *job = w->job;
    sx_slice numbers = sx_slice_fixed(NULL, 8, 0, SX_DEVICE);
    sx_gpu_texts lo = gpu_texts_of(&job->lo, dev[TEXTS_LO], dev[TEXTS_LO_BYTES], dev[TEXTS_LO_END]);
    sx_gpu_texts hi = gpu_texts_of(&job->hi, dev[TEXTS_HI], dev[TEXTS_HI_BYTES], dev[TEXTS_HI_END]);
    const gpu_text_scratch *s = gpu_text_scratch_of(w->space, stream);
    sx_status st = SX_OK;

    for (uint64_t done = 0; done < n && st == SX_OK; done += s->n) {
        uint64_t some = sx_min64(n - done, s->n);
        sx_gpu_folds folds = {0};
        lo.skip = hi.skip = done;
        st = gpu_find_ends(g, stream, w, &lo, some, SX_OP_RANK_LEFT, 0, s, s->number[0], err);
        if (st == SX_OK && job->prefix)
            st = gpu_find_ends(g, stream, w, &lo, some, SX_OP_RANK_LEFT, 1, s, s->number[1], err);
        else if (st == SX_OK)
            st = gpu_find_ends(g, stream, w, &hi, some, SX_OP_RANK_RIGHT, 0, s, s->number[1], err);
        folds.spans.start = (uint64_t *)gpu_on(dev[TEXTS_START], &numbers, at, at + done);
        folds.spans.count = (uint64_t *)gpu_on(dev[TEXTS_COUNT], &numbers, at, at + done);
        folds.min = (uint64_t *)gpu_on(dev[TEXTS_MIN], &numbers, at, at + done);
        folds.max = (uint64_t *)gpu_on(dev[TEXTS_MAX], &numbers, at, at + done);
        folds.sum = (uint64_t *)gpu_on(dev[TEXTS_SUM], &numbers, at, at + done);
        if (st == SX_OK)
            st = gpu_text_spans(g, stream, w, s, some, &folds, err);
    }
    return st;
}

/* start and folds may be NULL. */
static sx_status gpu_ask_text_ranges(sx_gpu *g, const sx_views *views, const sx_span_query *job,
                                     const sx_slice *start, const sx_slice *count,
                                     const sx_range_folds *folds, sx_err *err)
{
    gpu_text_space space = {0};
    gpu_text_ranges w = {views, job, folds != NULL, &space};
    gpu_column columns[TEXTS_COLUMNS];
    sx_status st;

    memset(columns, 0, sizeof columns);
    gpu_text_columns(&job->lo, 0, &columns[TEXTS_LO], &columns[TEXTS_LO_BYTES],
                     &columns[TEXTS_LO_END]);
    if (!job->prefix)
        gpu_text_columns(&job->hi, 0, &columns[TEXTS_HI], &columns[TEXTS_HI_BYTES],
                         &columns[TEXTS_HI_END]);
    if (start)
        gpu_out_column(&columns[TEXTS_START], *start);
    gpu_out_column(&columns[TEXTS_COUNT], *count);
    if (folds) {
        gpu_out_column(&columns[TEXTS_MIN], folds->min);
        gpu_out_column(&columns[TEXTS_MAX], folds->max);
        gpu_out_column(&columns[TEXTS_SUM], folds->sum);
    }
    space.numbers = GPU_TEXT_NUMBERS;
    st = gpu_run_ready(g, &job->how, columns, TEXTS_COLUMNS, job->n, gpu_text_ranges_ready,
                       gpu_text_ranges_work, &w, "finding ranges", err);
    gpu_text_space_give(g, job->how.stream, &space);
    return st;
}

/* ---- strings as results ------------------------------------------------------------------- */

typedef struct {
    const sx_views *views;
    const sx_string_take *job;
    uint64_t *sum;
} gpu_taking;

static sx_status gpu_take_offsets_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                                       uint64_t n, void *const dev[], sx_err *err)
{
    const gpu_taking *w = (const gpu_taking *)work;
    sx_gpu_take a = {0};

    a.n = n;
    a.sum = w->sum + at;
    a.offsets = dev[0];
    a.offset_bytes = w->job->to.each;
    GPU_RUN(k_string_offsets, n, stream, &a);
    return sx_gpu_launched(g, "offsets of strings", err);
}

/* Queues where strings begin, one behind the other, into memory of ours. */
static sx_status gpu_sum_lengths(sx_gpu *g, gpu_stream stream, gpu_taking *w, void **sum,
                                 void **scratch, sx_err *err)
{
    const sx_string_take *job = w->job;
    uint64_t bytes = 0;
    sx_gpu_take a = {0};
    sx_status st = sx_gpu_alloc(g, stream, sum, (job->n + 1) * 8, "lengths of strings", err);

    if (st != SX_OK)
        return st;
    w->sum = a.sum = (uint64_t *)*sum;
    st = gpu_sum_up(g, stream, NULL, &bytes, w->sum, job->n + 1, err);
    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, scratch, bytes, "lengths of strings", err);
    if (st != SX_OK)
        return st;
    a.views = gpu_views_of(w->views);
    a.n = job->n;
    a.at = job->at;
    GPU_RUN(k_string_lengths, job->n + 1, stream, &a);
    st = sx_gpu_launched(g, "lengths of strings", err);
    return st == SX_OK ? gpu_sum_up(g, stream, *scratch, &bytes, w->sum, job->n + 1, err) : st;
}

/* The same, and waits; *total is where the last one ends. */
static sx_status gpu_measure_strings(sx_gpu *g, gpu_taking *w, void **sum, void **scratch,
                                     sx_err *err)
{
    const sx_string_take *job = w->job;
    gpu_stream stream = gpu_stream_of(NULL);
    gpu_column column = {sx_slice_fixed(job->to.offsets, job->to.each, job->n + 1, job->to.place),
                         0, 1, 0, 0};
    sx_how quiet = {0};
    sx_status st = gpu_sum_lengths(g, stream, w, sum, scratch, err);

    if (st == SX_OK)
        st = sx_gpu_copy(g, stream, job->total, w->sum + job->n, 8, err);
    if (st == SX_OK)              /* channels are other streams */
        st = sx_gpu_wait(g, stream, "lengths of strings", err);
    quiet.threads = job->how.threads;
    if (st == SX_OK && job->to.offsets)
        st = gpu_run_columns(g, &quiet, &column, 1, job->n + 1, gpu_take_offsets_work, w,
                             "offsets of strings", err);
    return st;
}

enum { TAKE_OFFSETS, TAKE_AT, TAKE_BYTES, TAKE_END, TAKE_COLUMNS };

static sx_status gpu_take_bytes_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                                     uint64_t n, void *const dev[], sx_err *err)
{
    const gpu_taking *w = (const gpu_taking *)work;
    sx_gpu_take a = {0};

    (void)at;
    a.views = gpu_views_of(w->views);
    a.n = n;
    a.at = (const uint64_t *)dev[TAKE_AT];
    a.to = gpu_texts_of(&w->job->to, dev[TAKE_OFFSETS], dev[TAKE_BYTES], dev[TAKE_END]);
    GPU_RUN(k_string_bytes, n * SX_TEXT_LANES, stream, &a);
    return sx_gpu_launched(g, "bytes of strings", err);
}

/* With a stream: all of it, one behind the other. The device compares bytes and space. */
static sx_status gpu_queue_strings(sx_gpu *g, gpu_taking *w, void **sum, void **scratch, sx_err *err)
{
    const sx_string_take *job = w->job;
    gpu_stream stream = gpu_stream_of(job->how.stream);
    unsigned char *bytes = (unsigned char *)job->to.data;
    sx_gpu_take a = {0};
    sx_status st = gpu_sum_lengths(g, stream, w, sum, scratch, err);

    if (st != SX_OK)
        return st;
    a.views = gpu_views_of(w->views);
    a.n = job->n + 1;
    a.at = job->at;
    a.sum = w->sum;
    a.offsets = (void *)job->to.offsets;
    a.offset_bytes = job->to.each;
    a.to = gpu_texts_of(&job->to, a.offsets, bytes, bytes ? bytes + job->to.bytes : NULL);
    a.total = w->sum + job->n;
    a.space = job->to.bytes;
    a.status = job->how.status;
    GPU_RUN(k_string_offsets, a.n, stream, &a);
    a.n = bytes ? job->n : 0;
    if (a.n > 0)
        GPU_RUN(k_string_bytes, a.n * SX_TEXT_LANES, stream, &a);
    GPU_RUN(k_string_status, 1, stream, &a);
    return sx_gpu_launched(g, "strings", err);
}

static sx_status gpu_backend_take_strings(void *self, const sx_views *views,
                                          const sx_string_take *job, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_taking w = {views, job, NULL};
    gpu_column columns[TAKE_COLUMNS];
    sx_how quiet = {0};
    void *sum = NULL, *scratch = NULL;
    sx_status st = gpu_enter(g, err);

    if (st == SX_OK && (!job->to.data || job->how.stream)) {
        st = (job->how.stream ? gpu_queue_strings : gpu_measure_strings)(g, &w, &sum, &scratch, err);
        sx_gpu_free(g, gpu_stream_of(job->how.stream), sum);
        sx_gpu_free(g, gpu_stream_of(job->how.stream), scratch);
        return st;
    }
    memset(columns, 0, sizeof columns);
    gpu_text_columns(&job->to, 1, &columns[TAKE_OFFSETS], &columns[TAKE_BYTES], &columns[TAKE_END]);
    columns[TAKE_AT].of = sx_slice_fixed(job->at, 8, job->n, SX_DEVICE);
    columns[TAKE_AT].in = 1;
    quiet.threads = job->how.threads;
    return st == SX_OK ? gpu_run_columns(g, &quiet, columns, TAKE_COLUMNS, job->n,
                                         gpu_take_bytes_work, &w, "bytes of strings", err)
                       : st;
}
