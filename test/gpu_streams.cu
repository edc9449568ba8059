/* gpu_streams.cu - what the library promises about streams, threads and
 * memory of a program's own, on a GPU.
 *
 * Most of it is about time, so a kernel that dawdles writes the queries. A call
 * that does not wait for it where it should answers other questions, and a call
 * that waits where it should not is late. SX_TEST_GPU=cuda:1 is another GPU.
 * Exits with 1 if any check failed. */
#include <sextant.h>

#include <cuda_runtime.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vector>

#define SMALL 20000u              /* keys of an index: even */
#define BIG (1u << 24)
#define MANY 400000u              /* queries */
#define SOME 100000u
#define EACH 3u                   /* hits of a range */
#define MS 1000000ull             /* nanoseconds */

static sx_device *dev;
static sx_index *small_ix, *big_ix;
static int gpu;
static unsigned passed, failed;

/* ---- saying what is wrong -------------------------------------------------------------- */

__attribute__((format(printf, 2, 3)))
static bool check(bool right, const char *format, ...)
{
    va_list args;

    right ? passed++ : failed++;
    printf(right ? "ok    " : "FAIL  ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    return right;
}

/* Ends the program if the test itself can't continue. */
static void must(cudaError_t e)
{
    if (e == cudaSuccess)
        return;
    printf("FAIL  CUDA: %s\n", cudaGetErrorString(e));
    exit(1);
}

static void must(sx_status st, const char *doing)
{
    if (st == SX_OK)
        return;
    printf("FAIL  %s: status %d: %s\n", doing, (int)st, sx_detail());
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- kernels --------------------------------------------------------------------------- */

/* Keys are 0 .. keys-1, the row of k is k ^ 1. */
__host__ __device__ static uint32_t query(uint32_t i, uint32_t salt, uint32_t keys)
{
    return (uint32_t)((i * 7919ull + salt) % (keys - EACH + 1));
}

__device__ static void dawdle(uint64_t ns)
{
    uint64_t begin, t;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    while (t - begin < ns);
}

__global__ static void spin(uint64_t ns)
{
    dawdle(ns);
}

/* One block, late. */
__global__ static void produce(uint32_t *lo, uint32_t *hi, uint32_t n, uint32_t salt,
                               uint32_t keys, uint64_t ns)
{
    dawdle(ns);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
        lo[i] = query(i, salt, keys);
        hi[i] = lo[i] + EACH - 1;
    }
}

__global__ static void count_wrong(const uint32_t *rows, uint32_t n, uint32_t salt, uint32_t keys,
                                   unsigned long long *wrong)
{
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (rows[i] != (query(i, salt, keys) ^ 1))
            atomicAdd(wrong, 1ull);
}

/* ---- questions ------------------------------------------------------------------------- */

static sx_column column(int type, int place, uint64_t n, const void *data)
{
    sx_column c = {};

    c.type = type;
    c.place = place;
    c.n = n;
    c.data = (void *)data;
    return c;
}

static sx_index *build(const std::vector<uint32_t> &keys)
{
    sx_column c = column(SX_U32, SX_HOST, keys.size(), keys.data());
    sx_index *ix = NULL;

    must(sx_build(&ix, dev, "pivot(layout=pairs)", &c, NULL, NULL), "sx_build");
    return ix;
}

static std::vector<uint32_t> keys_of(uint32_t n)
{
    std::vector<uint32_t> keys(n);

    for (uint32_t i = 0; i < n; i++)
        keys[i] = i ^ 1;
    return keys;
}

typedef enum { GET, RANK, RANGE, FOLD, VERBS } verb;
static const char *const verbs[VERBS] = { "sx_get", "sx_rank", "sx_range", "sx_range_aggregate" };

typedef struct {
    uint32_t n, salt, keys;
    uint32_t *lo, *hi;            /* what is asked; lo alone where it is a point */
    uint32_t *rows;               /* or ranks; EACH for each range */
    uint32_t *status;
    uint64_t *first, *fold[4];    /* count, min, max, sum */
} question;

template <typename T> static T *gpu_new(size_t n)
{
    T *p;

    must(cudaMalloc((void **)&p, n * sizeof(T)));
    return p;
}

static question question_new(uint32_t n, uint32_t salt, uint32_t keys)
{
    question q = {};

    q.n = n;
    q.salt = salt;
    q.keys = keys;
    q.lo = gpu_new<uint32_t>(n);
    q.hi = gpu_new<uint32_t>(n);
    q.rows = gpu_new<uint32_t>((size_t)EACH * n);
    q.status = gpu_new<uint32_t>(1);
    q.first = gpu_new<uint64_t>(n + 1);
    for (unsigned i = 0; i < 4; i++)
        q.fold[i] = gpu_new<uint64_t>(n);
    return q;
}

static void question_free(question *q)
{
    must(cudaFree(q->lo));
    must(cudaFree(q->hi));
    must(cudaFree(q->rows));
    must(cudaFree(q->status));
    must(cudaFree(q->first));
    for (unsigned i = 0; i < 4; i++)
        must(cudaFree(q->fold[i]));
}

/* Sets queries that miss, and outputs that are no answer. Nothing runs afterwards. */
static void poison(question *q)
{
    must(cudaMemset(q->lo, 0xff, q->n * sizeof *q->lo));
    must(cudaMemset(q->hi, 0, q->n * sizeof *q->hi));
    must(cudaMemset(q->rows, 0xee, (size_t)EACH * q->n * sizeof *q->rows));
    must(cudaMemset(q->status, 0xee, sizeof *q->status));
    must(cudaMemset(q->first, 0xee, (q->n + 1) * sizeof *q->first));
    for (unsigned i = 0; i < 4; i++)
        must(cudaMemset(q->fold[i], 0xee, q->n * sizeof *q->fold[i]));
    must(cudaDeviceSynchronize());
}

static void produce_on(const question *q, cudaStream_t stream, uint64_t ns)
{
    produce<<<1, 256, 0, stream>>>(q->lo, q->hi, q->n, q->salt, q->keys, ns);
    must(cudaGetLastError());
}

/* Asks with columns in device memory; stream NULL: waits. */
static sx_status ask(const question *q, const sx_index *ix, int what, void *stream)
{
    sx_column lo = column(SX_U32, SX_DEVICE, q->n, q->lo);
    sx_column hi = column(SX_U32, SX_DEVICE, q->n, q->hi);
    sx_column numbers = column(SX_U32, SX_DEVICE, q->n, q->rows);
    sx_column rows = column(SX_U32, SX_DEVICE, (uint64_t)EACH * q->n, q->rows);
    sx_column first = column(SX_U64, SX_DEVICE, q->n + 1, q->first);
    sx_column fold[4];
    sx_ranges ranges = { sizeof ranges, &lo, &hi, 0, 0, 0 };
    sx_aggregates all = { sizeof all, &fold[0], &fold[1], &fold[2], &fold[3] };
    sx_call call = {};

    for (unsigned i = 0; i < 4; i++)
        fold[i] = column(SX_U64, SX_DEVICE, q->n, q->fold[i]);
    call.size = sizeof call;
    call.stream = stream;
    call.status = stream ? q->status : NULL;
    switch (what) {
    case GET: return sx_get(ix, &lo, &numbers, &call);
    case RANK: return sx_rank(ix, &lo, SX_LEFT, &numbers, &call);
    case RANGE: return sx_range(ix, &ranges, &first, &rows, NULL, &call);
    default: return sx_range_aggregate(ix, &ranges, &all, &call);
    }
}

template <typename T> static std::vector<T> fetch(const T *p, size_t n)
{
    std::vector<T> v(n);

    must(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}

static uint64_t wrong_gets(const question *q, const uint32_t *rows)
{
    uint64_t wrong = 0;

    for (uint32_t i = 0; i < q->n; i++)
        wrong += rows[i] != (query(i, q->salt, q->keys) ^ 1);
    return wrong;
}

static uint64_t wrong_ranges(const question *q)
{
    std::vector<uint32_t> rows = fetch(q->rows, (size_t)EACH * q->n);
    std::vector<uint64_t> first = fetch(q->first, q->n + 1);
    uint64_t wrong = first[q->n] != (uint64_t)EACH * q->n;

    for (uint32_t i = 0; i < q->n; i++) {
        wrong += first[i] != (uint64_t)EACH * i;
        for (uint32_t j = 0; j < EACH; j++)
            wrong += rows[(size_t)EACH * i + j] != ((query(i, q->salt, q->keys) + j) ^ 1);
    }
    return wrong;
}

static uint64_t wrong_folds(const question *q)
{
    std::vector<uint64_t> got[4];
    uint64_t wrong = 0;

    for (unsigned f = 0; f < 4; f++)
        got[f] = fetch(q->fold[f], q->n);
    for (uint32_t i = 0; i < q->n; i++) {
        uint64_t min = UINT64_MAX, max = 0, sum = 0;
        for (uint32_t j = 0; j < EACH; j++) {
            uint64_t row = (query(i, q->salt, q->keys) + j) ^ 1;
            min = row < min ? row : min;
            max = row > max ? row : max;
            sum += row;
        }
        wrong += got[0][i] != EACH || got[1][i] != min || got[2][i] != max || got[3][i] != sum;
    }
    return wrong;
}

/* How many answers are wrong, when all is done. */
static uint64_t wrong_answers(const question *q, int what)
{
    std::vector<uint32_t> numbers;
    uint64_t wrong = 0;

    if (what == RANGE)
        return wrong_ranges(q);
    if (what == FOLD)
        return wrong_folds(q);
    numbers = fetch(q->rows, q->n);
    if (what == GET)
        return wrong_gets(q, numbers.data());
    for (uint32_t i = 0; i < q->n; i++)
        wrong += numbers[i] != query(i, q->salt, q->keys);
    return wrong;
}

/* ---- two threads ------------------------------------------------------------------------- */

#define CALLS 1000

typedef struct {
    sx_index *ix;
    question q;
    unsigned long long *wrong;    /* in device memory */
    int failures;
    char why[300];
} worker;

static void *ask_often(void *arg)
{
    worker *w = (worker *)arg;

    must(cudaSetDevice(gpu));
    for (int i = 0; i < CALLS; i++) {
        must(cudaMemsetAsync(w->q.rows, 0xee, w->q.n * 4ull, cudaStreamPerThread));
        if (ask(&w->q, w->ix, GET, NULL) != SX_OK && !w->failures++)
            snprintf(w->why, sizeof w->why, ": %s", sx_detail());
        count_wrong<<<256, 256, 0, cudaStreamPerThread>>>(w->q.rows, w->q.n, w->q.salt, w->q.keys,
                                                          w->wrong);
    }
    must(cudaStreamSynchronize(cudaStreamPerThread));
    return NULL;
}

/* The upper parts of the two take different amounts of shared memory. */
static void check_threads(void)
{
    worker w[2] = {};
    pthread_t threads[2];

    for (unsigned i = 0; i < 2; i++) {
        w[i].ix = i ? big_ix : small_ix;
        w[i].q = question_new(MANY, 5 + i, i ? BIG : SMALL);
        w[i].wrong = gpu_new<unsigned long long>(1);
        must(cudaMemset(w[i].wrong, 0, sizeof *w[i].wrong));
        produce_on(&w[i].q, NULL, 0);
    }
    must(cudaDeviceSynchronize());
    for (unsigned i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, ask_often, &w[i]) != 0)
            exit(1);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 2; i++) {
        unsigned long long wrong = fetch(w[i].wrong, 1)[0];
        check(!w[i].failures && !wrong, "two threads, the %s index: %d of %d calls failed, %llu "
              "answers wrong%s", i ? "big" : "small", w[i].failures, CALLS, wrong, w[i].why);
        question_free(&w[i].q);
        must(cudaFree(w[i].wrong));
    }
}

/* ---- after the default stream ---------------------------------------------------------------- */

static void check_default_stream(void)
{
    question q = question_new(MANY, 11, BIG);
    std::vector<uint32_t> host(MANY), zeros(MANY);
    sx_column lo = column(SX_U32, SX_DEVICE, MANY, q.lo);
    sx_column rows = column(SX_U32, SX_HOST, MANY, host.data());
    sx_column none = column(SX_U32, SX_HOST, MANY, zeros.data());
    uint64_t wrong = 0;
    sx_status st;

    for (unsigned twice = 0; twice < 2; twice++) {    /* first calls wait for other reasons */
        poison(&q);
        produce_on(&q, cudaStreamLegacy, 50 * MS);
        st = sx_get(big_ix, &lo, &rows, NULL);
        wrong = wrong_gets(&q, host.data());
        check(st == SX_OK && !wrong, "queries from a kernel on the default stream, rows on the "
              "host: status %d, %llu wrong", (int)st, (unsigned long long)wrong);

        poison(&q);
        produce_on(&q, cudaStreamLegacy, 50 * MS);
        st = ask(&q, big_ix, GET, NULL);
        wrong = wrong_answers(&q, GET);
        check(st == SX_OK && !wrong, "queries from a kernel on the default stream, rows on the "
              "device: status %d, %llu wrong", (int)st, (unsigned long long)wrong);

        poison(&q);
        produce_on(&q, cudaStreamLegacy, 50 * MS);
        st = sx_column_copy(&rows, &lo, dev);
        wrong = 0;
        for (uint32_t i = 0; i < MANY; i++)
            wrong += host[i] != query(i, q.salt, q.keys);
        check(st == SX_OK && !wrong, "sx_column_copy to the host after a kernel on the default "
              "stream: status %d, %llu wrong", (int)st, (unsigned long long)wrong);

        poison(&q);
        produce_on(&q, cudaStreamLegacy, 50 * MS);
        st = sx_column_copy(&lo, &none, dev);         /* not to be written over by the kernel */
        must(cudaDeviceSynchronize());
        host = fetch(q.lo, MANY);
        rows.data = host.data();
        wrong = 0;
        for (uint32_t i = 0; i < MANY; i++)
            wrong += host[i] != 0;
        check(st == SX_OK && !wrong, "sx_column_copy from the host after a kernel on the default "
              "stream: status %d, %llu wrong", (int)st, (unsigned long long)wrong);
    }
    question_free(&q);
}

/* ---- streams of the caller's ----------------------------------------------------------------- */

static void check_streams(void)
{
    question q = question_new(SOME, 17, BIG);
    cudaStream_t own, streams[3];
    static const char *const names[3] = { "a stream of its own", "stream 1", "stream 2" };

    must(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    streams[0] = own;
    streams[1] = (cudaStream_t)(void *)1;
    streams[2] = (cudaStream_t)(void *)2;
    for (unsigned s = 0; s < 3; s++)
        for (int v = 0; v < VERBS; v++) {
            double took = 0;
            uint32_t status;
            uint64_t wrong;
            sx_status st = SX_OK;
            for (unsigned late = 0; late < 2 && st == SX_OK; late++) {    /* kernels load first */
                q.salt++;
                poison(&q);
                produce_on(&q, streams[s], late ? 500 * MS : 0);
                took = now();
                st = ask(&q, big_ix, v, streams[s]);
                took = now() - took;
                must(cudaStreamSynchronize(streams[s]));
            }
            wrong = wrong_answers(&q, v);
            status = fetch(q.status, 1)[0];
            check(st == SX_OK && status == SX_OK && !wrong, "%s on %s: status %d, later %u, %llu "
                  "wrong", verbs[v], names[s], (int)st, status, (unsigned long long)wrong);
            check(took < 0.2, "%s on %s returns at once: %.3f s", verbs[v], names[s], took);
        }
    must(cudaStreamDestroy(own));
    question_free(&q);
}

#define STREAMS 8
#define ROUNDS 20

static void check_many_streams(void)
{
    question q[STREAMS];
    cudaStream_t streams[STREAMS];
    uint64_t wrong[VERBS] = {};
    unsigned failures[VERBS] = {};

    for (unsigned i = 0; i < STREAMS; i++) {
        q[i] = question_new(SOME, i, i % 2 ? BIG : SMALL);
        must(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < STREAMS; i++) {
            q[i].salt = 100 * round + i;
            poison(&q[i]);
        }
        for (unsigned i = 0; i < STREAMS; i++) {
            unsigned v = (i + round) % VERBS;
            produce_on(&q[i], streams[i], 5 * MS);
            failures[v] += ask(&q[i], i % 2 ? big_ix : small_ix, (int)v, streams[i]) != SX_OK;
        }
        for (unsigned i = 0; i < STREAMS; i++)
            must(cudaStreamSynchronize(streams[i]));
        for (unsigned i = 0; i < STREAMS; i++) {
            unsigned v = (i + round) % VERBS;
            wrong[v] += wrong_answers(&q[i], (int)v);
            failures[v] += fetch(q[i].status, 1)[0] != SX_OK;
        }
    }
    for (unsigned v = 0; v < VERBS; v++)
        check(!failures[v] && !wrong[v], "%s on %d streams at once: %u failed, %llu wrong",
              verbs[v], STREAMS, failures[v], (unsigned long long)wrong[v]);
    for (unsigned i = 0; i < STREAMS; i++) {
        must(cudaStreamDestroy(streams[i]));
        question_free(&q[i]);
    }
}

/* ---- others do not wait ---------------------------------------------------------------------- */

/* Makes a call while a stream of the caller's dawdles and has a question queued behind that.
 * The first time kernels are loaded and memory is taken. */
template <typename F> static void check_not_late(const char *what, question *queued, F call)
{
    cudaStream_t stream;
    double took = 0;
    bool right = true, busy = false;

    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (unsigned turn = 0; turn < 2; turn++) {
        poison(queued);
        produce_on(queued, stream, 0);
        spin<<<1, 1, 0, stream>>>(500 * MS);
        must(cudaGetLastError());
        must(ask(queued, big_ix, RANGE, stream), "sx_range on a busy stream");
        took = now();
        right = call() && right;
        took = now() - took;
        busy = cudaStreamQuery(stream) == cudaErrorNotReady;
        (void)cudaGetLastError();
        must(cudaStreamSynchronize(stream));
        right = right && !wrong_ranges(queued);
    }
    check(right && busy && took < 0.3, "%s while another stream is busy: %s, %.3f s, the stream "
          "%s", what, right ? "right" : "wrong", took, busy ? "still busy" : "done");
    must(cudaStreamDestroy(stream));
}

static void check_others(void)
{
    question queued = question_new(SOME, 23, BIG), q = question_new(MANY, 29, BIG);
    std::vector<uint32_t> keys = keys_of(SMALL), host(MANY), rows(MANY);
    sx_column hosts = column(SX_U32, SX_HOST, MANY, host.data());
    sx_column to = column(SX_U32, SX_HOST, MANY, rows.data());
    std::vector<sx_index *> built;

    poison(&q);
    produce_on(&q, NULL, 0);
    must(cudaDeviceSynchronize());
    for (uint32_t i = 0; i < MANY; i++)
        host[i] = query(i, q.salt, q.keys);
    check_not_late("sx_get of columns on the device", &queued,
                   [&] { return ask(&q, big_ix, GET, NULL) == SX_OK; });
    check(wrong_answers(&q, GET) == 0, "and its answers are right");
    check_not_late("sx_build", &queued, [&] { built.push_back(build(keys)); return true; });
    check_not_late("sx_get of columns on the host", &queued,
                   [&] { return sx_get(big_ix, &hosts, &to, NULL) == SX_OK; });
    check(wrong_gets(&q, rows.data()) == 0, "and its answers are right");
    for (sx_index *ix : built)
        sx_free(ix);
    question_free(&queued);
    question_free(&q);
}

/* ---- failures, and other memory -------------------------------------------------------------- */

static void check_after_failure(void)
{
    question q = question_new(SOME, 31, BIG);
    sx_column from = column(SX_U32, SX_DEVICE, 1ull << 40, q.lo);
    sx_column to = column(SX_U32, SX_DEVICE, 1ull << 40, q.rows);
    sx_status st;

    poison(&q);
    produce_on(&q, NULL, 0);
    must(cudaDeviceSynchronize());
    st = sx_column_copy(&to, &from, dev);
    check(st != SX_OK && sx_detail()[0], "sx_column_copy of too many: status %d: %s", (int)st,
          st != SX_OK ? sx_detail() : "none");
    st = ask(&q, big_ix, GET, NULL);
    check(st == SX_OK, "the next call is right: status %d%s%s", (int)st, st != SX_OK ? ": " : "",
          st != SX_OK ? sx_detail() : "");
    check(wrong_answers(&q, GET) == 0, "and its answers are right");
    question_free(&q);
}

static void check_memory(void)
{
    static const uint32_t sizes[2] = { 100, MANY };

    for (unsigned s = 0; s < 2; s++)
        for (unsigned managed = 0; managed < 2; managed++) {
            question q = {};
            uint32_t *from, *rows;
            uint64_t wrong;
            sx_status st;
            q.n = sizes[s];
            q.salt = 37;
            q.keys = BIG;
            for (unsigned i = 0; i < 2; i++) {
                void **p = (void **)(i ? &rows : &from);
                must(managed ? cudaMallocManaged(p, q.n * sizeof *rows)
                             : cudaHostAlloc(p, q.n * sizeof *rows, cudaHostAllocDefault));
            }
            for (uint32_t i = 0; i < q.n; i++)
                from[i] = query(i, q.salt, q.keys);
            memset(rows, 0xee, q.n * sizeof *rows);
            sx_column in = column(SX_U32, managed ? SX_DEVICE : SX_HOST, q.n, from);
            sx_column out = column(SX_U32, managed ? SX_DEVICE : SX_HOST, q.n, rows);
            st = sx_get(big_ix, &in, &out, NULL);
            wrong = wrong_gets(&q, rows);
            check(st == SX_OK && !wrong, "%s memory, %u queries: status %d, %llu wrong%s%s",
                  managed ? "managed" : "pinned", q.n, (int)st, (unsigned long long)wrong,
                  st != SX_OK ? ": " : "", st != SX_OK ? sx_detail() : "");
            for (unsigned i = 0; i < 2; i++)
                must(managed ? cudaFree(i ? rows : from) : cudaFreeHost(i ? rows : from));
        }
}

int main(void)
{
    const char *name = getenv("SX_TEST_GPU");

    name = name && *name ? name : "cuda:0";
    gpu = strchr(name, ':') ? atoi(strchr(name, ':') + 1) : 0;
    must(sx_open(&dev, name), name);
    must(cudaSetDevice(gpu));
    small_ix = build(keys_of(SMALL));
    big_ix = build(keys_of(BIG));
    check_threads();
    check_default_stream();
    check_streams();
    check_many_streams();
    check_others();
    check_after_failure();
    check_memory();
    sx_free(small_ix);
    sx_free(big_ix);
    sx_close(dev);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
