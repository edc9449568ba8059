/* bench_lines.c - the limit of the host's memory for a hybrid index: a bare loop, on all
 * cores, that reads the one line of each query. Which line that is, is known beforehand.
 *
 *     place    | 7 | 2 | 9 | ...     a column, as entries are
 *     lines    | 0 | 1 | 2 | ...     as many bytes as keys and rows take
 *     out[i] = a number in line place[i] */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench_gpu.h"
#include "rng.h"
#include "say.h"

enum { LINE = 64, NUMBERS = LINE / 8, AHEAD = 32, THREADS_MAX = 256 };

typedef struct {
    uint64_t *lines, count;
    uint64_t *place, *out, n;
    unsigned threads;
    uint64_t runs;
    pthread_barrier_t turn;       /* all threads, and the one that times */
} line_work;

typedef struct {
    line_work *w;
    unsigned me;
    pthread_t thread;
} line_thread;

static uint64_t part(uint64_t n, unsigned i, unsigned of)
{
    return (uint64_t)((unsigned __int128)n * i / of);
}

/* A number that only this line has. */
static uint64_t mark(uint64_t line)
{
    return line * 0x9e3779b97f4a7c15u + 1;
}

static void read_lines(const line_work *w, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        uint64_t next = i + AHEAD < to ? i + AHEAD : i;

        __builtin_prefetch(w->lines + w->place[next] * NUMBERS);
        w->out[i] = w->lines[w->place[i] * NUMBERS + i % NUMBERS];
    }
}

/* Fills its part of the lines, and then reads in as many turns as there are runs, and one. */
static void *take_turns(void *argument)
{
    const line_thread *t = argument;
    line_work *w = t->w;
    uint64_t from = part(w->n, t->me, w->threads);
    uint64_t to = part(w->n, t->me + 1, w->threads);

    for (uint64_t i = part(w->count, t->me, w->threads);
         i < part(w->count, t->me + 1, w->threads); i++)
        for (unsigned k = 0; k < NUMBERS; k++)
            w->lines[i * NUMBERS + k] = mark(i);
    for (uint64_t i = from; i < to; i++)
        w->out[i] = 0;
    for (uint64_t run = 0; run <= w->runs; run++) {
        pthread_barrier_wait(&w->turn);
        read_lines(w, from, to);
        pthread_barrier_wait(&w->turn);
    }
    return NULL;
}

static void start(line_work *w, line_thread *threads)
{
    for (unsigned i = 0; i < w->threads; i++) {
        threads[i].w = w;
        threads[i].me = i;
        if (pthread_create(&threads[i].thread, NULL, take_turns, &threads[i]))
            fail("no thread could be started");
    }
}

static uint64_t count_wrong(const line_work *w)
{
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < w->n; i++)
        wrong += w->out[i] != mark(w->place[i]);
    return wrong;
}

bench_result lines_run(const gpu_bench *b, double *times)
{
    uint64_t pair = sx_type_bytes(b->o->type) + sx_type_bytes(b->number);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    line_thread threads[THREADS_MAX];
    line_work w = { .count = b->o->n / (LINE / pair) + 1, .n = b->o->queries,
                    .runs = b->o->runs,
                    .threads = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX
                                                                   : (unsigned)cores };
    rng r = rng_of(b->o->seed, 4000);
    bench_result result = { .call_p50_s = 0 };

    w.lines = huge_alloc(w.count * LINE);
    w.place = must_alloc(w.n, sizeof *w.place);
    w.out = must_alloc(w.n, sizeof *w.out);
    for (uint64_t i = 0; i < w.n; i++)
        w.place[i] = rng_below(&r, w.count);
    pthread_barrier_init(&w.turn, NULL, w.threads + 1);
    start(&w, threads);
    for (uint64_t run = 0; run <= w.runs; run++) {        /* the first warms up */
        double since;

        pthread_barrier_wait(&w.turn);
        since = seconds_now();
        pthread_barrier_wait(&w.turn);
        times[run ? run - 1 : 0] = seconds_now() - since;
    }
    for (unsigned i = 0; i < w.threads; i++)
        pthread_join(threads[i].thread, NULL);
    pthread_barrier_destroy(&w.turn);
    result.wrong = count_wrong(&w);
    result.median_s = median_of(times, w.runs);
    result.least_s = times[0];
    huge_free(w.lines, w.count * LINE);
    free(w.place);
    free(w.out);
    return result;
}
