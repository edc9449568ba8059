/* gpu_measure_impl.h - simple kernels to hold an index's against: what the
 * hardware allows, what plain binary search does, and whether two arrays are
 * the same (sx_measure). They share nothing with the walks. */

typedef struct {
    uint64_t n, queries;
    const void *keys, *rows, *q;
    void *out, *rank_out;
    uint32_t row_bytes, width;
    sx_word *found;
} sx_gpu_measure;

/* A bijection of 64-bit numbers: places in random order. */
SX_DEV uint64_t sx_scatter(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

SX_KERNEL(k_gather, sx_gpu_measure)
{
    const uint32_t *from = (const uint32_t *)ap->keys;
    uint32_t *to = (uint32_t *)ap->out;

    for (uint64_t i = SX_THREAD; i < ap->queries; i += SX_THREADS)
        to[i] = from[(sx_scatter(i + 77) >> 32) * ap->n >> 32];
}

SX_KERNEL(k_differ, sx_gpu_measure)
{
    unsigned different = 0;

    for (uint64_t i = SX_THREAD; i < ap->queries; i += SX_THREADS)
        different += sx_number_at(ap->out, ap->row_bytes, i) != sx_number_at(ap->q, ap->row_bytes, i);
    if (different)
        atomicAdd(ap->found, (sx_word)different);
}

/* Unsigned keys in ascending order, as the text books have it. */
#define SX_PLAIN_SEARCH(name, key)                                                        \
    SX_KERNEL(name, sx_gpu_measure)                                                       \
    {                                                                                     \
        const key *keys = (const key *)ap->keys, *q = (const key *)ap->q;                 \
        for (uint64_t i = SX_THREAD; i < ap->queries; i += SX_THREADS) {                  \
            uint64_t low = 0, high = ap->n;                                               \
            while (low < high) {                                                          \
                uint64_t middle = (low + high) / 2;                                       \
                if (keys[middle] < q[i])                                                  \
                    low = middle + 1;                                                     \
                else                                                                      \
                    high = middle;                                                        \
            }                                                                             \
            if (ap->rank_out)                                                             \
                sx_put_number(ap->rank_out, ap->row_bytes, i, low);                       \
            if (ap->out)                                                                  \
                sx_put_number(ap->out, ap->row_bytes, i,                                  \
                              low < ap->n && keys[low] == q[i]                            \
                                  ? sx_number_at(ap->rows, ap->row_bytes, low) : SX_MISS); \
        }                                                                                 \
    }
SX_PLAIN_SEARCH(k_plain_search_4, sx_key4)
SX_PLAIN_SEARCH(k_plain_search_8, sx_key8)
SX_PLAIN_SEARCH(k_plain_search_16, sx_key16)

static sx_status gpu_backend_measure(void *self, sx_measure *job, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_stream stream = gpu_stream_of(NULL);
    uint32_t width = sx_type_of(job->key_type)->width;
    sx_gpu_measure a = {0};
    sx_sorted sorted = {0};
    gpu_timer timer;
    void *found = NULL;
    sx_status st = gpu_enter(g, err);

    a.n = job->n;
    a.queries = job->queries;
    a.keys = job->keys;
    a.rows = job->rows;
    a.q = job->q;
    a.out = job->out;
    a.rank_out = job->rank_out;
    a.row_bytes = job->row_bytes;
    a.width = width;
    job->ns = job->found = 0;
    if (st == SX_OK && job->what == SX_MEASURE_DIFFER)
        st = gpu_alloc(g, stream, &found, sizeof(sx_word), "counting", err);
    a.found = (sx_word *)found;
    if (st == SX_OK && found)
        st = gpu_set(g, stream, found, 0, sizeof(sx_word), err);
    if (st != SX_OK) {
        gpu_free(g, stream, found);
        return st;
    }
    gpu_timer_begin(&timer, stream, &job->ns);
    switch (job->what) {
    case SX_MEASURE_GATHER:
        GPU_RUN(k_gather, job->queries, stream, &a);
        break;
    case SX_MEASURE_SEARCH:
        GPU_RUN_W(k_plain_search, width, job->queries, stream, &a);
        break;
    case SX_MEASURE_DIFFER:
        GPU_RUN(k_differ, job->queries, stream, &a);
        break;
    case SX_MEASURE_SORT:
        sorted.n = job->n;
        sorted.width = width;
        sorted.row_bytes = job->row_bytes;
        sorted.keys = job->keys_out;
        sorted.rows = job->rows_out;
        st = gpu_sort(g, stream, &sorted, job->keys, job->rows, err);
        break;
    }
    if (st == SX_OK)
        st = gpu_launched(g, "measuring", err);
    gpu_timer_mark(&timer, stream);
    if (st == SX_OK && found)
        st = gpu_copy(g, stream, &job->found, found, sizeof(sx_word), err);
    gpu_free(g, stream, found);
    if (st == SX_OK)
        st = gpu_wait(g, stream, "measuring", err);
    gpu_timer_end(&timer, st == SX_OK ? &job->ns : NULL);
    return st;
}
