/* test_cancel.c - no verb is a cancellation point: a thread that is cancelled inside a verb
 * ends behind it, and leaves nothing of it: no memory, no open file, no file. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "ask.h"
#include "base/alloc.h"

static const char *const devices[] = { "cpu:threads=2", "simt" };
static const char *const specs[] = { "auto", "pgm", "pivot place=both" };

/* What one thread works with. */
typedef struct {
    const char *device, *spec, *path;
    dataset *d;
    const char *_Atomic wrong;    /* what ended it, or NULL */
    _Atomic unsigned rounds;
} job;

static unsigned entries(const char *path)
{
    DIR *dir = opendir(path);
    unsigned n = 0;
    if (!dir)
        die("opening %s", path);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void expect(job *j, sx_status st, const char *verb)
{
    if (st != SX_OK && !j->wrong)
        j->wrong = verb;
}

/* Every verb that looks at files, asks the system, or waits for other threads. */
static void every_verb(job *j)
{
    sx_device *dev = NULL;
    sx_index *ix = NULL, *loaded = NULL;
    sx_device_info about = { .size = sizeof about };
    sx_estimate_info estimate = { .size = sizeof estimate };
    sx_column column = { 0 };
    static _Thread_local char text[65536];
    size_t bytes = sizeof text;

    expect(j, sx_open(&dev, j->device), "sx_open");
    if (j->wrong)
        return;
    expect(j, sx_device_describe(dev, &about), "sx_device_describe");
    expect(j, sx_device_at(0, &about), "sx_device_at");
    expect(j, estimate_of(dev, j->spec, j->d->type, j->d->n, SX_U64, &estimate), "sx_estimate");
    expect(j, data_build(j->d, dev, j->spec, NULL, &ix), "sx_build");
    if (!j->wrong) {
        expect(j, sx_explain(ix, SX_JSON, text, &bytes), "sx_explain");
        expect(j, sx_check(ix, NULL), "sx_check");
        expect(j, sx_save(ix, j->path, NULL), "sx_save");
        expect(j, sx_load(&loaded, dev, j->path, SX_LOAD_COPY | SX_LOAD_VERIFY, NULL), "sx_load");
    }
    if (!j->wrong) {
        sx_free(loaded);
        expect(j, sx_load(&loaded, dev, j->path, 0, NULL), "sx_load");
    }
    expect(j, sx_column_new(&column, dev, SX_U64, 1000), "sx_column_new");
    sx_column_free(&column, dev);
    sx_free(loaded);
    sx_free(ix);
    sx_close(dev);
}

/* It is cancelled before it begins: any cancellation point would end it. */
static void *cancelled_before(void *arg)
{
    job *j = arg;
    pthread_cancel(pthread_self());
    every_verb(j);
    atomic_fetch_add(&j->rounds, 1);
    pthread_testcancel();
    return NULL;
}

/* Saves and loads until it is cancelled. */
static void *until_cancelled(void *arg)
{
    job *j = arg;
    for (;;) {
        every_verb(j);
        atomic_fetch_add(&j->rounds, 1);
        pthread_testcancel();
    }
    return NULL;
}

/* Runs it until a thread of it was cancelled, in a folder of its own; nothing is left. */
static void run(void *(*fn)(void *), job *j, unsigned rounds_first)
{
    char *folder = temp_path("cancel");
    uint64_t live = sx_alloc_live();
    unsigned fds = entries("/proc/self/fd");
    pthread_t thread;
    void *end = NULL;

    mkdir(folder, 0700);
    atomic_store(&j->rounds, 0);
    j->wrong = NULL;
    assert_int_equal(pthread_create(&thread, NULL, fn, j), 0);
    while (atomic_load(&j->rounds) < rounds_first && !j->wrong)
        sched_yield();
    if (fn == until_cancelled)
        pthread_cancel(thread);
    assert_int_equal(pthread_join(thread, &end), 0);
    if (j->wrong)
        fail_msg("%s on %s: %s", j->spec, j->device, j->wrong);
    assert_ptr_equal(end, PTHREAD_CANCELED);
    if (atomic_load(&j->rounds) == 0)
        fail_msg("%s on %s: cancelled in the middle of a verb", j->spec, j->device);
    if (sx_alloc_live() != live || entries("/proc/self/fd") != fds)
        fail_msg("%s on %s: %lld bytes and %d descriptors are left", j->spec, j->device,
                 (long long)(sx_alloc_live() - live), (int)(entries("/proc/self/fd") - fds));
    assert_int_equal(entries(folder), 3);         /* ., .. and the index */
    remove(j->path);
    free(folder);
}

static void each(void *(*fn)(void *), unsigned times)
{
    rnd r = rnd_start(test_seed());
    char *path = temp_path("cancel/index.sxt");
    for (size_t i = 0; i < COUNT_OF(devices); i++)
        for (size_t s = 0; s < COUNT_OF(specs); s++) {
            if (i == 0 && strstr(specs[s], "place"))
                continue;         /* needs a GPU */
            job j = { .device = devices[i], .spec = specs[s], .path = path };
            j.d = data_make(SX_U64, KEYS_RANDOM, 3000, ROWS_U64_WIDE, 10, &r);
            for (unsigned n = 0; n < times; n++)
                run(fn, &j, fn == until_cancelled ? n % 3 : 0);
            data_free(j.d);
        }
    free(path);
}

static void test_cancelled_before(void **state)
{
    (void)state;
    each(cancelled_before, 1);
}

static void test_cancelled_meanwhile(void **state)
{
    (void)state;
    each(until_cancelled, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancelled_before),
        cmocka_unit_test(test_cancelled_meanwhile),
    };
    test_seed();
    return cmocka_run_group_tests_name("cancel", tests, NULL, NULL) != 0;
}
