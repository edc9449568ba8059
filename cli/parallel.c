#include "parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "progress.h"

enum { THREADS_MAX = 16 };

typedef struct {
    void (*body)(void *, uint64_t, uint64_t);
    void *context;
    uint64_t n;
    atomic_ullong next;
} loop;

static void *take_parts(void *argument)
{
    loop *l = argument;

    while (true) {
        uint64_t from = atomic_fetch_add(&l->next, PARALLEL_PART);

        if (from >= l->n)
            return NULL;
        progress_at(from);
        l->body(l->context, from, l->n - from < PARALLEL_PART
                                      ? l->n : from + PARALLEL_PART);
    }
}

/* This thread takes part, so nothing fails if no other can be started. */
void parallel_for(uint64_t n, void (*body)(void *, uint64_t, uint64_t),
                  void *context)
{
    loop l = { .body = body, .context = context, .n = n };
    uint64_t parts = (n + PARALLEL_PART - 1) / PARALLEL_PART;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t threads[THREADS_MAX];
    int started = 0;

    while (started + 1 < THREADS_MAX && started + 1 < cores &&
           (uint64_t)started + 1 < parts &&
           pthread_create(&threads[started], NULL, take_parts, &l) == 0)
        started++;
    take_parts(&l);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}
