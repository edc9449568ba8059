/* gpu_climbs_impl.h - climbs and the ends of prefixes, as the backend does them. Keys travel in
 * chunks; parents, which any step may ask for, are in device memory as a whole. */

enum { CLIMB_OF, CLIMB_ROWS, CLIMB_KEYS, CLIMB_STEPS, CLIMB_COLUMNS };

typedef struct {
    const sx_views *views;
    const sx_climb_query *job;
    const void *parents;
    sx_word *circles;
} gpu_climbing;

static sx_status gpu_climb_work(sx_gpu *g, gpu_stream stream, const void *work, uint64_t at,
                                uint64_t n, void *const dev[], sx_err *err)
{
    const gpu_climbing *w = (const gpu_climbing *)work;
    sx_gpu_climb a = {0};

    a.views = gpu_views_of(w->views);
    a.key_type = w->job->key_type;
    a.limit = w->job->limit;
    a.row_bytes = w->job->rows.each;
    a.n = n;
    a.before = at;
    a.of = dev[CLIMB_OF];
    a.parents = w->parents;
    a.parents_n = w->job->parents.n;
    a.rows = dev[CLIMB_ROWS];
    a.keys = dev[CLIMB_KEYS];
    a.steps = (uint32_t *)dev[CLIMB_STEPS];
    a.circles = w->circles;
    sx_family_gpu_of(SX_GPU_VIEW(&a.views)->family)->climb(g, stream, &a);
    return sx_gpu_launched(g, "climbing", err);
}

/* Parents and the count of circles, before and after. */
static sx_status gpu_climb_all(sx_gpu *g, gpu_stream stream, gpu_climbing *w, sx_circles *circles,
                               void **parents, void **words, sx_err *err)
{
    const sx_climb_query *job = w->job;
    uint64_t bytes = sx_slice_bytes(&job->parents, 0, job->parents.n);
    gpu_column columns[CLIMB_COLUMNS] = {
        {job->of, 1, 0, 0, 0}, {job->rows, 0, 1, 0, 0}, {job->keys, 1, 1, 0, 0}, {job->steps, 0, 1, 0, 0},
    };
    sx_word both[2] = {~(sx_word)0, 0};
    sx_status st = sx_gpu_alloc(g, stream, words, sizeof both, "climbs", err);

    if (st == SX_OK && !sx_slice_there(&job->parents) && bytes > 0)
        st = sx_gpu_alloc(g, stream, parents, bytes, "parents", err);
    if (st == SX_OK && *parents)
        st = sx_gpu_copy(g, stream, *parents, job->parents.data, bytes, err);
    if (st == SX_OK)
        st = sx_gpu_copy(g, stream, *words, both, sizeof both, err);
    if (st == SX_OK)
        st = sx_gpu_wait(g, stream, "climbing", err);     /* channels have streams of their own */
    w->parents = *parents ? *parents : job->parents.data;
    w->circles = (sx_word *)*words;
    if (st == SX_OK)
        st = gpu_run_columns(g, &job->how, columns, CLIMB_COLUMNS, job->n, gpu_climb_work, w,
                             "climbing", err);
    if (st == SX_OK)
        st = sx_gpu_copy(g, stream, both, *words, sizeof both, err);
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
    gpu_climbing w = {views, job, NULL, NULL};
    void *parents = NULL, *words = NULL;
    sx_status st = gpu_enter(g, err);

    if (st != SX_OK)
        return st;
    st = gpu_climb_all(g, stream, &w, circles, &parents, &words, err);
    sx_gpu_free(g, stream, parents);
    sx_gpu_free(g, stream, words);
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
