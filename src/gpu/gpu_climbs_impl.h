/* gpu_climbs_impl.h - climbs and the ends of prefixes, as the backend does them. Keys travel in
 * chunks; parents, which any step may ask for, are in device memory as a whole. */

enum { CLIMB_OF, CLIMB_ROWS, CLIMB_KEYS, CLIMB_STEPS, CLIMB_BYTES, CLIMB_END, CLIMB_COLUMNS };

typedef struct {
    const sx_views *views;
    const sx_climb_query *job;
    sx_slice parents;             /* in device memory */
    sx_word *circles;
} gpu_climbing;

static sx_gpu_climb gpu_climb_args(const gpu_climbing *w, uint64_t at, uint64_t n, void *const dev[])
{
    sx_gpu_climb a = {0};

    a.views = gpu_views_of(w->views);
    a.key_type = w->job->key_type;
    a.limit = w->job->limit;
    a.row_bytes = w->job->rows.each;
    a.n = n;
    a.before = at;
    a.of = dev[CLIMB_OF];
    a.parents = w->parents.data;
    a.parents_n = w->parents.n;
    a.rows = dev[CLIMB_ROWS];
    a.keys = dev[CLIMB_KEYS];
    a.steps = (uint32_t *)dev[CLIMB_STEPS];
    a.circles = w->circles;
    return a;
}

static sx_status gpu_climb_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                                uint64_t n, void *const dev[], sx_err *err)
{
    sx_gpu_climb a = gpu_climb_args((const gpu_climbing *)work, at, n, dev);

    sx_family_gpu_of(SX_GPU_VIEW(&a.views)->family)->climb(g, stream, &a);
    return sx_gpu_launched(g, "climbing", err);
}

static sx_status gpu_climb_texts_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                                      uint64_t n, void *const dev[], sx_err *err)
{
    const gpu_climbing *w = (const gpu_climbing *)work;
    const sx_slice *above = &w->parents;
    /* Empty strings may have no memory of their own. */
    unsigned char *bytes = (unsigned char *)(above->data ? above->data : (void *)above->offsets);
    sx_gpu_text_climb a;

    memset(&a, 0, sizeof a);
    a.a = gpu_climb_args(w, at, n, dev);
    a.of = gpu_texts_of(&w->job->of, dev[CLIMB_OF], dev[CLIMB_BYTES], dev[CLIMB_END]);
    a.parents = gpu_texts_of(above, (void *)above->offsets, bytes,
                             bytes + (above->data ? above->bytes : 0));
    a.at = (uint64_t *)dev[CLIMB_KEYS];
    sx_family_gpu_of(SX_GPU_VIEW(&a.a.views)->family)->climb_texts(g, stream, &a);
    return sx_gpu_launched(g, "climbing", err);
}

/* What a climb takes of device memory: parents of the host, of strings in two pieces, and the
 * count of circles. */
enum { CLIMB_PARENTS, CLIMB_OFFSETS, CLIMB_CIRCLES, CLIMB_PIECES };

/* Queues a copy of `bytes` of the host in device memory of ours. */
static sx_status gpu_climb_bring(sx_gpu *g, gpu_stream stream, void **piece, const void *from,
                                 uint64_t bytes, sx_err *err)
{
    sx_status st = bytes ? sx_gpu_alloc(g, stream, piece, bytes, "parents", err) : SX_OK;

    return st == SX_OK && bytes ? sx_gpu_copy(g, stream, *piece, from, bytes, err) : st;
}

static sx_status gpu_bring_parents(sx_gpu *g, gpu_stream stream, gpu_climbing *w,
                                   void *piece[CLIMB_PIECES], sx_err *err)
{
    const sx_slice *home = &w->job->parents;
    uint64_t bytes = home->offsets ? home->bytes : sx_slice_bytes(home, 0, home->n);
    sx_status st;

    w->parents = *home;
    if (sx_slice_there(home))
        return SX_OK;
    st = gpu_climb_bring(g, stream, &piece[CLIMB_PARENTS], home->data, bytes, err);
    if (st == SX_OK && home->offsets)
        st = gpu_climb_bring(g, stream, &piece[CLIMB_OFFSETS], home->offsets,
                             (home->n + 1) * home->each, err);
    w->parents.data = piece[CLIMB_PARENTS];
    w->parents.offsets = piece[CLIMB_OFFSETS];
    w->parents.place = SX_DEVICE;
    return st;
}

/* Parents and the count of circles, before and after. */
static sx_status gpu_climb_all(sx_gpu *g, gpu_stream stream, gpu_climbing *w, sx_circles *circles,
                               void *piece[CLIMB_PIECES], sx_err *err)
{
    const sx_climb_query *job = w->job;
    int strings = gpu_are_strings(job->key_type);
    gpu_column columns[CLIMB_COLUMNS] = {
        {job->of, 1, 0, 0, 0}, {job->rows, 0, 1, 0, 0}, {job->keys, 1, 1, 0, 0}, {job->steps, 0, 1, 0, 0},
    };
    sx_word both[2] = {~(sx_word)0, 0};
    sx_status st = gpu_climb_bring(g, stream, &piece[CLIMB_CIRCLES], both, sizeof both, err);

    if (st == SX_OK)
        st = gpu_bring_parents(g, stream, w, piece, err);
    if (st == SX_OK)
        st = sx_gpu_wait(g, stream, "climbing", err);     /* channels have streams of their own */
    w->circles = (sx_word *)piece[CLIMB_CIRCLES];
    if (strings) {
        gpu_text_columns(&job->of, 0, &columns[CLIMB_OF], &columns[CLIMB_BYTES], &columns[CLIMB_END]);
        gpu_out_column(&columns[CLIMB_KEYS], job->at);
    }
    if (st == SX_OK)
        st = gpu_run_columns(g, &job->how, columns, CLIMB_COLUMNS, job->n,
                             strings ? gpu_climb_texts_work : gpu_climb_work, w, "climbing", err);
    if (st == SX_OK)
        st = sx_gpu_copy(g, stream, both, piece[CLIMB_CIRCLES], sizeof both, err);
    if (st == SX_OK)
        st = sx_gpu_wait(g, stream, "climbing", err);
    circles->first = both[0];
    circles->count = both[1];
    return st;
}

static sx_status gpu_backend_climb(void *self, const sx_views *views, const sx_climb_query *job,
                                   sx_circles *circles, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_stream stream = gpu_stream_of(NULL);
    gpu_climbing w = {views, job, job->parents, NULL};
    void *piece[CLIMB_PIECES] = {NULL};
    sx_status st = gpu_enter(g, err);

    if (st != SX_OK)
        return st;
    st = gpu_climb_all(g, stream, &w, circles, piece, err);
    for (unsigned i = 0; i < CLIMB_PIECES; i++)
        sx_gpu_free(g, stream, piece[i]);
    return st;
}

static sx_status gpu_backend_prefix_ends(void *self, void *stream, const sx_prefix_ends *job,
                                         sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_stream queue = gpu_stream_of(stream);
    uint32_t width = (uint32_t)sx_type_bytes(job->key_type);
    sx_status st = gpu_enter(g, err);

    if (st != SX_OK)
        return st;
    if (job->n > 0)
        GPU_RUN_W(k_prefix_ends, width, job->n, queue, job);
    return sx_gpu_launched(g, "making ends of prefixes", err);
}
