/* bench_kernels_impl.h - the kernels of bench_kernels.h. They share nothing
 * with the walks. A vendor header and sextant.h must be included before. */

typedef struct {
    uint64_t n, queries;
    const void *keys, *rows, *q;
    void *out, *rank_out;
    uint32_t row_bytes;
    sx_word *found;
} kernel_args;

SX_DEV uint64_t read_number(const void *column, uint32_t bytes, uint64_t i)
{
    return bytes == 8 ? ((const uint64_t *)column)[i]
                      : ((const uint32_t *)column)[i];
}

SX_DEV void write_number(void *column, uint32_t bytes, uint64_t i, uint64_t x)
{
    if (bytes == 8)
        ((uint64_t *)column)[i] = x;
    else
        ((uint32_t *)column)[i] = (uint32_t)x;
}

/* A bijection of 64-bit numbers: places in random order. */
SX_DEV uint64_t scatter(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

SX_KERNEL(k_gather, kernel_args)
{
    const uint32_t *from = (const uint32_t *)ap->keys;
    uint32_t *to = (uint32_t *)ap->out;

    for (uint64_t i = SX_THREAD; i < ap->queries; i += SX_THREADS)
        to[i] = from[(scatter(i + 77) >> 32) * ap->n >> 32];
}

SX_KERNEL(k_differ, kernel_args)
{
    unsigned different = 0;

    for (uint64_t i = SX_THREAD; i < ap->queries; i += SX_THREADS)
        different += read_number(ap->out, ap->row_bytes, i) !=
                     read_number(ap->q, ap->row_bytes, i);
    if (different)
        atomicAdd(ap->found, (sx_word)different);
}

/* Unsigned keys in ascending order, searched as in textbooks. */
#define PLAIN_SEARCH(name, key)                                               \
    SX_KERNEL(name, kernel_args)                                              \
    {                                                                         \
        const key *keys = (const key *)ap->keys, *q = (const key *)ap->q;     \
        for (uint64_t i = SX_THREAD; i < ap->queries; i += SX_THREADS) {      \
            uint64_t low = 0, high = ap->n;                                   \
            while (low < high) {                                              \
                uint64_t middle = (low + high) / 2;                           \
                if (keys[middle] < q[i])                                      \
                    low = middle + 1;                                         \
                else                                                          \
                    high = middle;                                            \
            }                                                                 \
            if (ap->rank_out)                                                 \
                write_number(ap->rank_out, ap->row_bytes, i, low);            \
            if (ap->out)                                                      \
                write_number(ap->out, ap->row_bytes, i,                       \
                             low < ap->n && keys[low] == q[i]                 \
                                 ? read_number(ap->rows, ap->row_bytes, low)  \
                                 : SX_MISS);                                  \
        }                                                                     \
    }
PLAIN_SEARCH(k_plain_search_4, uint32_t)
PLAIN_SEARCH(k_plain_search_8, uint64_t)
PLAIN_SEARCH(k_plain_search_16, unsigned __int128)
#undef PLAIN_SEARCH

/* Queues the kernel of a job that is no sort. *found is 0 before. */
static void launch(const measure_job *job, sx_word *found, unsigned grid,
                   unsigned block, void *stream)
{
    kernel_args a;

    a.n = job->n;
    a.queries = job->queries;
    a.keys = job->keys;
    a.rows = job->rows;
    a.q = job->q;
    a.out = job->out;
    a.rank_out = job->rank_out;
    a.row_bytes = job->row_bytes;
    a.found = found;
    if (job->what == MEASURE_GATHER)
        SX_LAUNCH(k_gather, grid, block, 0, stream, &a);
    else if (job->what == MEASURE_DIFFER)
        SX_LAUNCH(k_differ, grid, block, 0, stream, &a);
    else if (job->width == 4)
        SX_LAUNCH(k_plain_search_4, grid, block, 0, stream, &a);
    else if (job->width == 8)
        SX_LAUNCH(k_plain_search_8, grid, block, 0, stream, &a);
    else
        SX_LAUNCH(k_plain_search_16, grid, block, 0, stream, &a);
}
