/* ids_threads.c - from ids to rows, by several threads at once.
 *
 *     cc ids_threads.c $(pkg-config --cflags --libs sextant) -pthread -o ids_threads
 *     ./ids_threads
 *
 * One index, built once, which any number of threads may ask. Each has queries and
 * answers of its own, and asks for many at a time: that is what makes it fast. A call
 * may use threads of the library's; here each call keeps to the thread it comes from
 * (.threads = 1). */
#include <pthread.h>
#include <sextant.h>
#include <stdio.h>
#include <stdlib.h>

enum { IDS = 1 << 20, THREADS = 4, BATCH = 1 << 14, BATCHES = 16 };

/* Row r of the table has this id: all are different, in no order. */
static uint64_t id_of(uint64_t row)
{
    return row * 0x9e3779b97f4a7c15u;
}

typedef struct {
    const sx_index *index;
    uint64_t seed, hits, wrong;
    sx_status status;
    char why[256];                /* sx_detail() is each thread's own */
} worker;

static void *ask(void *context)
{
    worker *w = context;
    uint64_t *query = malloc(BATCH * sizeof *query);
    uint32_t *row = malloc(BATCH * sizeof *row);
    sx_column queries = { .type = SX_U64, .n = BATCH, .data = query };
    sx_column rows = { .type = SX_U32, .n = BATCH, .data = row };
    sx_call call = { .size = sizeof call, .threads = 1 };

    for (int batch = 0; batch < BATCHES && query && row && !w->status; batch++) {
        for (int i = 0; i < BATCH; i++) {
            w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
            query[i] = id_of(w->seed >> 43);    /* of 2 * IDS rows: half are there */
        }
        w->status = sx_get(w->index, &queries, &rows, &call);
        for (int i = 0; i < BATCH && !w->status; i++) {
            w->hits += row[i] != SX_MISS32;
            w->wrong += row[i] != SX_MISS32 && id_of(row[i]) != query[i];
        }
    }
    if (w->status)
        snprintf(w->why, sizeof w->why, "%s", sx_detail());
    free(query);
    free(row);
    return NULL;
}

int main(void)
{
    uint64_t *id = malloc(IDS * sizeof *id), hits = 0, wrong = 0;
    sx_column keys = { .type = SX_U64, .n = IDS, .data = id };
    pthread_t thread[THREADS];
    worker workers[THREADS] = { { 0 } };
    sx_device *device;
    sx_index *index;

    for (uint64_t row = 0; id && row < IDS; row++)
        id[row] = id_of(row);
    if (!id || sx_open(&device, NULL) ||
        sx_build(&index, device, "auto", &keys, NULL, NULL)) {
        fprintf(stderr, "%s\n", id ? sx_detail() : "no memory");
        return 1;
    }
    free(id);                     /* the index has what it needs */

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){ .index = index, .seed = (uint64_t)i };
        if (pthread_create(&thread[i], NULL, ask, &workers[i]))
            return perror("pthread_create"), 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        if (workers[i].status)
            return fprintf(stderr, "%s\n", workers[i].why), 1;
        hits += workers[i].hits;
        wrong += workers[i].wrong;
    }
    printf("%d threads asked for %d ids: %llu found, %llu wrong\n", THREADS,
           THREADS * BATCHES * BATCH, (unsigned long long)hits, (unsigned long long)wrong);
    sx_free(index);
    sx_close(device);
    return wrong != 0;
}
