/* gpu_stage_impl.h - brings columns of the caller, wherever they are, to a kernel
 * and back, element by element.
 *
 * Columns in device memory are used where they are. Columns of the host travel in
 * chunks, cut by bytes, over a few channels. A channel is a stream with a piece of
 * device memory and a piece of pinned memory:
 *
 *     channel 0   | fill | in | kernel | out | empty |   chunk 0, 4, 8, ...
 *     channel 1          | fill | in | kernel | out | empty |      1, 5, ...
 *
 * So copies both ways, kernels, and the threads that fill and empty pinned memory
 * all work at the same time. Pinned memory of the caller needs no filling and
 * emptying. The kernel reads and writes a small batch in pinned memory itself: one
 * launch is all there is to wait for.
 *
 * A column of strings is three here: offsets, of which a chunk has one more than it has strings;
 * bytes, cut by the offsets; and a column of no bytes, whose place is where the bytes before it
 * end. In device memory bytes are not cut. Offsets of the host may change meanwhile. So a chunk
 * reads each of them once, and has no more bytes than there is space for; these columns come behind
 * all others. */

#define GPU_COLUMNS_MAX 11

typedef struct {
    sx_slice of;                  /* the caller's; without data: no such column */
    uint32_t in, out;             /* the kernel reads it, writes it */
    uint32_t pinned;              /* found out here */
    uint32_t more;                /* elements that a chunk has behind its own: 0, 1 */
} gpu_column;

/* Queues work on elements [at, at + n) on a stream. dev: where their columns
 * begin, for the device. */
typedef sx_status gpu_work(sx_gpu *g, gpu_stream stream, const void *job, uint64_t at, uint64_t n,
                           void *const dev[GPU_COLUMNS_MAX], sx_err *err);
/* Takes memory that work on this stream will need, for `most` elements at a time: for each stream
 * once, before any result is there, so that a call without memory leaves its outputs as they
 * were. */
typedef sx_status gpu_ready(sx_gpu *g, gpu_stream stream, const void *job, uint64_t most,
                            sx_err *err);

typedef struct {
    gpu_stream stream;
    void *dev, *pinned;
    uint64_t dev_bytes, pinned_bytes;
    uint64_t at, n;               /* the chunk on its way; n 0: none */
    struct {
        void *host;
        uint64_t bytes;
    } part[GPU_COLUMNS_MAX];      /* of each column of the host */
} gpu_channel;

typedef struct gpu_stage {        /* of one call at a time */
    gpu_channel channel[GPU_CHANNELS];
    struct gpu_stage *next;
} gpu_stage;

/* Element `to` of a column whose element `from` is at p, for the device. NULL if there is no
 * such column. */
static void *gpu_on(void *p, const sx_slice *of, uint64_t from, uint64_t to)
{
    return p ? (unsigned char *)p + sx_slice_bytes(of, from, to) : NULL;
}

/* ---- stages: kept for the next call ------------------------------------------ */

static void gpu_stage_free(sx_gpu *g, gpu_stage *s)
{
    for (unsigned l = 0; l < GPU_CHANNELS; l++) {
        sx_gpu_free(g, s->channel[l].stream, s->channel[l].dev);
        gpu_unpin(s->channel[l].pinned);
        gpu_stream_free(s->channel[l].stream);
    }
    sx_release(s);
}

/* Gives up all stages that no call uses at the moment. Returns whether there were any. Their
 * memory is free by then. */
static int gpu_give_up_idle(sx_gpu *g)
{
    gpu_stage *s, *next;
    sx_err err;
    int any;

    pthread_mutex_lock(&g->lock);
    s = g->stages;
    g->stages = NULL;
    g->idle = 0;
    pthread_mutex_unlock(&g->lock);
    any = s != NULL;
    for (; s; s = next) {
        next = s->next;
        for (unsigned l = 0; l < GPU_CHANNELS; l++) {
            sx_gpu_free(g, s->channel[l].stream, s->channel[l].dev);
            s->channel[l].dev = NULL;
            (void)sx_gpu_wait(g, s->channel[l].stream, "giving memory back", &err);
        }
        gpu_stage_free(g, s);
    }
    return any;
}

static sx_status gpu_stage_take(sx_gpu *g, gpu_stage **out, sx_err *err)
{
    void *memory;
    gpu_stage *s;
    sx_status st;

    pthread_mutex_lock(&g->lock);
    s = g->stages;
    if (s) {
        g->stages = s->next;
        g->idle--;
    }
    pthread_mutex_unlock(&g->lock);
    if (s) {
        *out = s;
        return SX_OK;
    }
    st = sx_alloc_zero(&memory, sizeof *s, "a stage", err);
    if (st != SX_OK)
        return st;
    s = (gpu_stage *)memory;
    for (unsigned l = 0; l < GPU_CHANNELS && st == SX_OK; l++)
        st = gpu_stream_new(&s->channel[l].stream, err);
    if (st == SX_OK)
        *out = s;
    else
        gpu_stage_free(g, s);
    return st;
}

static void gpu_stage_give(sx_gpu *g, gpu_stage *s)
{
    int keep;

    pthread_mutex_lock(&g->lock);
    keep = g->idle < GPU_IDLE_MOST;
    if (keep) {
        s->next = g->stages;
        g->stages = s;
        g->idle++;
    }
    pthread_mutex_unlock(&g->lock);
    if (!keep)
        gpu_stage_free(g, s);
}

/* ---- filling and emptying ------------------------------------------------------- */

typedef struct {
    unsigned char *to;
    const unsigned char *from;
    uint64_t bytes;
} gpu_copying;

#define GPU_COPY_PIECE (1u << 18)

static void gpu_copy_piece(void *work, unsigned part)
{
    const gpu_copying *c = (const gpu_copying *)work;
    uint64_t at = (uint64_t)part * GPU_COPY_PIECE, n = c->bytes - at;

    memcpy(c->to + at, c->from + at, n < GPU_COPY_PIECE ? n : GPU_COPY_PIECE);
}

static void gpu_copy_host(sx_gpu *g, uint32_t threads, void *to, const void *from, uint64_t bytes)
{
    gpu_copying c = {(unsigned char *)to, (const unsigned char *)from, bytes};

    sx_pool_run(g->pool, threads, (unsigned)((bytes + GPU_COPY_PIECE - 1) / GPU_COPY_PIECE),
                gpu_copy_piece, &c);
}

/* ---- one call ----------------------------------------------------------------------- */

typedef struct {
    sx_gpu *g;
    gpu_column *columns;
    unsigned count;
    gpu_work *work;
    gpu_ready *ready;             /* or NULL */
    const void *job;
    const char *what;             /* for errors */
    uint32_t threads;
    sx_progress *progress;        /* or NULL; an element is a unit */
    const sx_slice *travel[GPU_COLUMNS_MAX];      /* columns of the host */
    unsigned travels;
    int direct;                   /* the kernel reads and writes pinned memory */
    uint64_t n;                   /* elements */
    uint64_t most;                /* of a chunk, by number ... */
    uint64_t most_bytes;          /* ... and by bytes; a longer element is a chunk alone */
    uint64_t space;               /* of a chunk in a channel */
    gpu_stage *stage;
} gpu_trip;

/* Whether there is such a column, and it is on the host. */
static int gpu_travels(const gpu_column *col)
{
    return col->of.data && !sx_slice_there(&col->of);
}

/* Length of the chunk that begins with element `at`, which is below n; at least 1. */
static uint64_t gpu_trip_cut(const gpu_trip *t, uint64_t at)
{
    uint64_t most = t->n - at < t->most ? t->n - at : t->most;
    uint64_t cut = sx_slices_cut(t->travel, t->travels, at, most, t->most_bytes);

    return cut > 0 ? cut : 1;
}

/* Space that any chunk takes in a channel, each column at a 16-byte boundary. Lowers `most` to
 * the longest chunk. One with strings may be another one when it is cut again. */
static uint64_t gpu_trip_space(gpu_trip *t)
{
    uint64_t bytes = 0, longest = 0, n;

    for (unsigned c = 0; c < t->travels; c++)
        if (t->travel[c]->offsets)
            bytes = t->most_bytes;
    for (uint64_t at = 0; at < t->n; at += n) {
        uint64_t its;
        n = gpu_trip_cut(t, at);
        its = sx_slices_bytes(t->travel, t->travels, at, at + n);
        bytes = its > bytes ? its : bytes;
        longest = n > longest ? n : longest;
    }
    t->most = longest;
    for (unsigned c = 0; c < t->count; c++)       /* 8: an element more */
        bytes += 16 + (t->columns[c].more ? 8 : 0);
    return bytes;
}

static sx_status gpu_channel_pin(gpu_channel *channel, uint64_t bytes, sx_err *err)
{
    sx_status st;

    if (channel->pinned_bytes >= bytes)
        return SX_OK;
    gpu_unpin(channel->pinned);
    channel->pinned = NULL;
    channel->pinned_bytes = 0;
    st = gpu_pin(&channel->pinned, bytes, err);
    if (st == SX_OK)
        channel->pinned_bytes = bytes;
    return st;
}

static sx_status gpu_channel_space(gpu_trip *t, gpu_channel *channel, uint64_t bytes, int pinned, sx_err *err)
{
    sx_status st = SX_OK;

    if (!t->direct && channel->dev_bytes < bytes) {
        sx_gpu_free(t->g, channel->stream, channel->dev);
        channel->dev = NULL;
        channel->dev_bytes = 0;
        st = sx_gpu_alloc(t->g, channel->stream, &channel->dev, bytes, "a batch", err);
        if (st == SX_OK)
            channel->dev_bytes = bytes;
    }
    return st == SX_OK && (pinned || t->direct) ? gpu_channel_pin(channel, bytes, err) : st;
}

/* Waits for the chunk that a channel has on its way, and empties pinned memory. */
static sx_status gpu_channel_finish(gpu_trip *t, gpu_channel *channel, sx_err *err)
{
    uint64_t offset = 0;
    sx_status st = sx_gpu_wait(t->g, channel->stream, t->what, err);

    for (unsigned c = 0; c < t->count; c++) {
        const gpu_column *col = &t->columns[c];
        uint64_t bytes = channel->part[c].bytes;
        if (!gpu_travels(col))
            continue;
        if (st == SX_OK && col->out && (!col->pinned || t->direct))
            gpu_copy_host(t->g, t->threads, channel->part[c].host,
                          (unsigned char *)channel->pinned + offset, bytes);
        offset = sx_round_up(offset + bytes, 16);
    }
    sx_progress_add(t->progress, channel->n);
    channel->n = 0;
    return st == SX_OK ? sx_progress_status(t->progress, err) : st;
}

static sx_status gpu_channel_start(gpu_trip *t, gpu_channel *channel, uint64_t at, uint64_t n, sx_err *err)
{
    void *dev[GPU_COLUMNS_MAX] = {0};
    uint64_t offset = 0;
    sx_status st = SX_OK;

    for (unsigned c = 0; c < t->count; c++) {
        const gpu_column *col = &t->columns[c];
        uint64_t bytes;
        void *from = sx_slice_span(&col->of, at, at + n + col->more, &bytes);
        if (!gpu_travels(col)) {
            dev[c] = from;
            continue;
        }
        bytes = sx_min64(bytes, t->space - offset);
        channel->part[c].host = from;
        channel->part[c].bytes = bytes;
        dev[c] = (unsigned char *)(t->direct ? channel->pinned : channel->dev) + offset;
        if (col->in && (!col->pinned || t->direct)) {
            gpu_copy_host(t->g, t->threads, (unsigned char *)channel->pinned + offset, from, bytes);
            from = (unsigned char *)channel->pinned + offset;
        }
        if (st == SX_OK && col->in && !t->direct)
            st = sx_gpu_copy(t->g, channel->stream, dev[c], from, bytes, err);
        offset = sx_min64(sx_round_up(offset + bytes, 16), t->space);
    }
    if (st == SX_OK)
        st = t->work(t->g, channel->stream, t->job, at, n, dev, err);
    offset = 0;
    for (unsigned c = 0; c < t->count && !t->direct; c++) {
        const gpu_column *col = &t->columns[c];
        uint64_t bytes = channel->part[c].bytes;
        if (!gpu_travels(col))
            continue;
        if (st == SX_OK && col->out)
            st = sx_gpu_copy(t->g, channel->stream,
                          col->pinned ? channel->part[c].host
                                      : (unsigned char *)channel->pinned + offset,
                          dev[c], bytes, err);
        offset = sx_round_up(offset + bytes, 16);
    }
    channel->at = at;
    channel->n = n;
    return st;
}

/* Takes space in channels. Chunks become smaller until memory allows them; at worst there is
 * one channel. */
static sx_status gpu_trip_spaces(gpu_trip *t, unsigned *channels, int pinned, sx_err *err)
{
    for (;;) {
        uint64_t bytes = t->space = gpu_trip_space(t);
        sx_status st = SX_OK;
        for (unsigned l = 0; l < *channels && st == SX_OK; l++)
            st = gpu_channel_space(t, &t->stage->channel[l], bytes, pinned, err);
        if (st != SX_ENOMEM || (t->most <= GPU_CHUNK_LEAST && *channels == 1))
            return st;
        if (t->most <= GPU_CHUNK_LEAST)
            *channels = 1;
        t->most = t->most / 2 > GPU_CHUNK_LEAST ? t->most / 2 : GPU_CHUNK_LEAST;
        t->most_bytes = t->most_bytes / 2 > GPU_CHUNK_LEAST * 16 ? t->most_bytes / 2
                                                                 : GPU_CHUNK_LEAST * 16;
        for (unsigned l = 0; l < GPU_CHANNELS; l++) {      /* so that smaller chunks can share it */
            sx_gpu_free(t->g, t->stage->channel[l].stream, t->stage->channel[l].dev);
            t->stage->channel[l].dev = NULL;
            t->stage->channel[l].dev_bytes = 0;
        }
    }
}

static sx_status gpu_trip_run(gpu_trip *t, sx_err *err)
{
    uint64_t n = t->n, all = sx_slices_bytes(t->travel, t->travels, 0, n), turn = 0, length;
    unsigned channels = 0;
    int pinned = 0, any_there = 0;
    sx_err other;
    sx_status st = gpu_stage_take(t->g, &t->stage, err);

    if (st != SX_OK)
        return st;
    t->direct = all <= GPU_DIRECT_BYTES;
    for (unsigned c = 0; c < t->count; c++) {
        gpu_column *col = &t->columns[c];
        any_there |= sx_slice_there(&col->of) && col->of.data;
        if (!gpu_travels(col) || t->direct || !(col->in | col->out))
            continue;
        col->pinned = gpu_is_pinned(col->of.data) &&
                      gpu_is_pinned((const char *)sx_slice_at(&col->of, n) - 1);
        pinned |= !col->pinned;
    }
    /* Enough chunks that channels overlap, and none so small that launches count. */
    t->most = t->direct ? n : n / 8 + 1 > GPU_CHUNK_GOOD ? n / 8 + 1 : GPU_CHUNK_GOOD;
    t->most_bytes = t->direct ? all : GPU_CHANNEL_BYTES;
    for (uint64_t at = 0; at < n && channels < GPU_CHANNELS; at += gpu_trip_cut(t, at))
        channels++;
    st = gpu_trip_spaces(t, &channels, pinned, err);
    for (unsigned l = 0; l < channels && st == SX_OK && t->ready; l++) {
        st = t->ready(t->g, t->stage->channel[l].stream, t->job, t->most, err);
        if (st == SX_ENOMEM && l > 0) {   /* the others take turns */
            channels = l;
            st = SX_OK;
        }
    }
    /* columns in device memory may still be on their way there */
    for (unsigned l = 0; l < channels && st == SX_OK && any_there; l++)
        st = gpu_follow_caller(t->stage->channel[l].stream, err);
    for (uint64_t at = 0; at < n && st == SX_OK; at += length, turn++) {
        gpu_channel *channel = &t->stage->channel[turn % channels];
        length = gpu_trip_cut(t, at);
        if (channel->n > 0)
            st = gpu_channel_finish(t, channel, err);
        if (st == SX_OK)
            st = gpu_channel_start(t, channel, at, length, err);
    }
    /* In the order they started. After a failure this only waits for their end. */
    for (unsigned l = 0; l < channels; l++) {
        gpu_channel *channel = &t->stage->channel[(turn + l) % channels];
        if (channel->n == 0)
            continue;
        if (st == SX_OK) {
            st = gpu_channel_finish(t, channel, err);
        } else {
            (void)sx_gpu_wait(t->g, channel->stream, t->what, &other);
            channel->n = 0;
        }
    }
    gpu_stage_give(t->g, t->stage);
    return st;
}

/* Runs work on n elements of columns. With a stream it is queued there. Without one it is done
 * when this returns. */
static sx_status gpu_run_ready(sx_gpu *g, const sx_how *how, gpu_column *columns, unsigned count,
                               uint64_t n, gpu_ready *ready, gpu_work *work, const void *job,
                               const char *what, sx_err *err)
{
    gpu_trip trip = {0};
    gpu_timer timer;
    void *dev[GPU_COLUMNS_MAX] = {0};
    gpu_stream stream = gpu_stream_of(how->stream);
    sx_status st;

    trip.g = g;
    trip.columns = columns;
    trip.count = count;
    trip.work = work;
    trip.ready = ready;
    trip.job = job;
    trip.what = what;
    trip.threads = how->threads;
    trip.progress = how->progress;
    trip.n = n;
    if (n == 0)
        return SX_OK;
    for (unsigned c = 0; c < count; c++)
        if (gpu_travels(&columns[c]))
            trip.travel[trip.travels++] = &columns[c].of;
    if (trip.travels > 0)
        return gpu_trip_run(&trip, err);
    for (unsigned c = 0; c < count; c++)
        dev[c] = columns[c].of.data;
    gpu_timer_begin(&timer, stream, how->device_ns);
    st = ready ? ready(g, stream, job, n, err) : SX_OK;
    if (st == SX_OK)
        st = work(g, stream, job, 0, n, dev, err);
    gpu_timer_mark(&timer, stream);
    if (st == SX_OK && !how->stream)
        st = sx_gpu_wait(g, stream, what, err);
    gpu_timer_end(&timer, st == SX_OK ? how->device_ns : NULL);
    sx_progress_add(how->progress, n);
    return st == SX_OK ? sx_progress_status(how->progress, err) : st;
}

static sx_status gpu_run_columns(sx_gpu *g, const sx_how *how, gpu_column *columns, unsigned count,
                                 uint64_t n, gpu_work *work, const void *job, const char *what,
                                 sx_err *err)
{
    return gpu_run_ready(g, how, columns, count, n, NULL, work, job, what, err);
}
