#include "progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

enum { BAR_CELLS = 30, FIRST_MS = 500, EVERY_MS = 200 };

static struct {
    bool running;                 /* only the main thread reads it */
    bool shown;                   /* only the drawing thread, until joined */
    const char *what;
    _Atomic uint64_t total, done;
    double since;
    pthread_t thread;
    pthread_mutex_t lock;         /* guards end */
    pthread_cond_t wake;
    bool end;
} bar = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void draw(void)
{
    double elapsed = seconds_now() - bar.since;
    uint64_t done = atomic_load(&bar.done), total = atomic_load(&bar.total);

    if (total == 0) {
        fprintf(stderr, "\r\033[K%s %.0f s", bar.what, elapsed);
    } else {
        double part = (double)done / (double)total;
        int cells;

        part = part > 1 ? 1 : part;
        cells = (int)(part * BAR_CELLS);
        fprintf(stderr, "\r\033[K%s [%.*s%*s] %3.0f %%", bar.what, cells,
                "##############################", BAR_CELLS - cells, "",
                part * 100);
    }
    fflush(stderr);
    bar.shown = true;
}

static struct timespec from_now(long ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static void *draw_until_end(void *unused)
{
    long wait_ms = FIRST_MS;

    (void)unused;
    pthread_mutex_lock(&bar.lock);
    while (!bar.end) {
        struct timespec until = from_now(wait_ms);

        if (pthread_cond_timedwait(&bar.wake, &bar.lock, &until) != 0 &&
            !bar.end) {
            draw();
            wait_ms = EVERY_MS;
        }
    }
    pthread_mutex_unlock(&bar.lock);
    return NULL;
}

void progress_start(const char *what, uint64_t total)
{
    pthread_condattr_t attr;

    progress_stop();
    if (!isatty(STDERR_FILENO))
        return;
    bar.what = what;
    atomic_store(&bar.total, total);
    atomic_store(&bar.done, 0);
    bar.since = seconds_now();
    bar.end = false;
    bar.shown = false;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&bar.wake, &attr);
    pthread_condattr_destroy(&attr);
    /* Without a thread there is no bar; nothing else depends on it. */
    bar.running = pthread_create(&bar.thread, NULL, draw_until_end,
                                 NULL) == 0;
}

void progress_at(uint64_t done)
{
    atomic_store(&bar.done, done);
}

int progress_tick(void *unused, uint64_t done, uint64_t total)
{
    (void)unused;
    atomic_store(&bar.done, done);
    atomic_store(&bar.total, total);
    return 0;
}

void progress_stop(void)
{
    if (!bar.running)
        return;
    pthread_mutex_lock(&bar.lock);
    bar.end = true;
    pthread_cond_signal(&bar.wake);
    pthread_mutex_unlock(&bar.lock);
    pthread_join(bar.thread, NULL);
    pthread_cond_destroy(&bar.wake);
    bar.running = false;
    if (bar.shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
