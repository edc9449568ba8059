/* test_fork.c - fork() with a device whose pool has been at work, and while
 * other threads hold every lock there is.
 *
 * The child has only the thread that forked. The pool's threads are gone, and
 * one of them may have held a lock. Both sides must go on. If a child hangs, its
 * alarm ends it, which fails the test. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "on_device.h"
#include "stand_in.h"

typedef struct {
    sx_device *dev;
    sx_index *ix;
    dataset *small, *large;       /* questions about the same keys */
} scene;

static scene make_scene(const char *spec)
{
    scene s = { .dev = device_open("cpu:threads=2") };
    rnd r = rnd_start(test_seed());
    uint64_t n = 30000;
    uint64_t *keys = need(n * sizeof *keys);
    keys_make(SX_U64, KEYS_RANDOM, n, &r, keys);
    s.small = data_wrap(SX_U64, n, keys, ROWS_NULL, NULL, 20, &r);
    s.large = data_wrap(SX_U64, n, keys, ROWS_NULL, NULL, 60000, &r);
    free(keys);
    if (data_build(s.small, s.dev, spec, NULL, &s.ix) != SX_OK)
        die("%s: %s", spec, sx_detail());
    return s;
}

static void free_scene(scene *s)
{
    sx_free(s->ix);
    sx_close(s->dev);
    data_free(s->small);
    data_free(s->large);
}

static const char *ask_both(const scene *s)
{
    asker *a = asker_new();
    static char copy[600];
    const char *why = ask(a, s->ix, s->small, SX_U32, NULL);
    if (!why)
        why = ask_points(a, s->ix, s->large, SX_U64, NULL);
    if (!why)
        why = ask_limit(a, s->ix, s->large, 4, 0, SX_U64, NULL);
    if (why) {
        snprintf(copy, sizeof copy, "%s", why);
        why = copy;
    }
    asker_free(a);
    return why;
}

typedef const char *child_fn(scene *s);

static pid_t start_child(scene *s, child_fn *fn)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        alarm(HANGS_S);
        const char *why = fn(s);
        if (why)
            fprintf(stderr, "child: %s\n", why);
        _exit(why != NULL);
    }
    return pid;
}

static void end_child(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid)
        die("waitpid");
    if (WIFSIGNALED(status))
        fail_msg("the child ended by signal %d%s", WTERMSIG(status),
                 WTERMSIG(status) == SIGALRM ? ": it hung" : "");
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- what children do ---------------------------------------------------- */

static const char *child_asks(scene *s)
{
    return ask_both(s);
}

/* Small batches never touch the pool; they work before it starts again. */
static const char *child_asks_little(scene *s)
{
    asker *a = asker_new();
    const char *why = ask(a, s->ix, s->small, SX_U64, NULL);
    return why;                   /* a goes with the process */
}

static const char *child_builds(scene *s)
{
    sx_index *ix = NULL;
    if (data_build(s->large, s->dev, "pivot(k=5)", NULL, &ix) != SX_OK)
        return sx_detail();
    sx_free(s->ix);
    s->ix = ix;
    const char *why = ask_both(s);
    free_scene(s);                /* its pool is joined */
    if (why)
        return why;
    scene fresh = make_scene("eytzinger");
    why = ask_both(&fresh);
    free_scene(&fresh);
    return why;
}

/* The parent's threads are not there, so the child's pool starts its own. */
static const char *child_has_threads(scene *s)
{
    const char *why = ask_both(s);
    unsigned threads = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && (e = readdir(dir)); )
        threads += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return why ? why : dir && threads < 2 ? "its pool has not started again" : NULL;
}

static const char *child_closes(scene *s)
{
    free_scene(s);                /* never having used it */
    return NULL;
}

static const char *child_forks(scene *s)
{
    const char *why = ask_both(s);
    if (why)
        return why;
    pid_t pid = start_child(s, child_asks);
    int status;
    why = ask_both(s);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        return "the grandchild failed";
    return why;
}

/* ---- tests --------------------------------------------------------------- */

static void test_after_use(void **state)
{
    (void)state;
    if (UNDER_TSAN)
        SKIP("ThreadSanitizer can't follow a fork with threads");
    static child_fn *const children[] = {
        child_asks, child_asks_little, child_builds, child_has_threads, child_closes,
        child_forks,
    };
    static const char *const specs[] = { "sorted", "eytzinger(k=9)",
                                         "pivot(layout=pairs)" };
    for (size_t spec = 0; spec < COUNT_OF(specs); spec++) {
        scene s = make_scene(specs[spec]);
        for (size_t i = 0; i < COUNT_OF(children); i++) {
            const char *why = ask_both(&s);     /* the pool runs */
            if (why)
                fail_msg("%s", why);
            pid_t pid = start_child(&s, children[i]);
            why = ask_both(&s);                 /* at the same time */
            end_child(pid);
            if (why)
                fail_msg("parent: %s", why);
        }
        free_scene(&s);
    }
}

/* Before the pool ever started. */
static void test_before_use(void **state)
{
    (void)state;
    scene s = make_scene("pivot");
    end_child(start_child(&s, child_asks));
    const char *why = ask_both(&s);
    if (why)
        fail_msg("parent: %s", why);
    free_scene(&s);
}

typedef struct {
    scene *s;
    atomic_int stop;
    atomic_uint batches;
    char why[600];
} busy_state;

static void *stay_busy(void *arg)
{
    busy_state *b = arg;
    asker *a = asker_new();
    while (!atomic_load(&b->stop) && !b->why[0]) {
        const char *why = ask_points(a, b->s->ix, b->s->large, SX_U64, NULL);
        if (why)
            snprintf(b->why, sizeof b->why, "%s", why);
        atomic_fetch_add(&b->batches, 1);
    }
    asker_free(a);
    return NULL;
}

/* Another thread is inside a large batch at the moment of the fork. */
static void test_during_use(void **state)
{
    (void)state;
    if (UNDER_TSAN)
        SKIP("ThreadSanitizer can't follow a fork with threads");
    scene s = make_scene("pivot");
    busy_state busy = { .s = &s };
    pthread_t thread;
    if (pthread_create(&thread, NULL, stay_busy, &busy) != 0)
        die("no thread");
    while (atomic_load(&busy.batches) == 0)
        usleep(1000);
    for (unsigned i = 0; i < 12; i++) {
        usleep(i * 700);          /* another moment each time */
        pid_t pid = start_child(&s, i % 3 == 2 ? child_builds : child_asks);
        end_child(pid);
    }
    atomic_store(&busy.stop, 1);
    pthread_join(thread, NULL);
    if (busy.why[0])
        fail_msg("the busy thread: %s", busy.why);
    free_scene(&s);
}

/* ---- locks of the library's own, and of devices ---------------------------- */

static const char *list_devices(bool *cuda_forked)
{
    sx_device_info info = { .size = sizeof info };
    for (unsigned i = 0; sx_device_at(i, &info) == SX_OK; i++) {
        if (strcmp(info.name, "cuda:0") == 0)
            *cuda_forked = strstr(info.detail, "fork") != NULL;
        else if (strncmp(info.name, "cpu:avx", 7) != 0 && !info.usable)
            return "a device of every machine is not usable";
    }
    return NULL;
}

/* A thread that opens cuda:0 is held in the middle of loading the backend: the
 * file is a pipe, which has a writer and no data. */
static void *open_cuda(void *path)
{
    sx_device *dev;
    (void)path;
    return sx_open(&dev, "cuda:0") == SX_ENODEV ? NULL : "cuda:0 of an empty file";
}

static const char *child_lists_while_loading(scene *s)
{
    (void)s;
    bool forked = false;
    const char *why = list_devices(&forked);
    sx_device *dev;
    if (why)
        return why;
    if (!forked)
        return "loading goes on where another thread was in the middle of it";
    return sx_open(&dev, "cuda:0") == SX_EFORK ? NULL : "it is not SX_EFORK";
}

static const char *child_loads(scene *s)
{
    char *path = temp_path("pipe.so");
    pthread_t thread;
    void *why = NULL;
    int end, status;
    if (mkfifo(path, 0600) != 0)
        return "mkfifo";
    setenv("SEXTANT_CUDA", path, 1);
    if (pthread_create(&thread, NULL, open_cuda, NULL) != 0)
        return "no thread";
    while ((end = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
        usleep(1000);             /* nobody reads it yet */
    pid_t pid = start_child(s, child_lists_while_loading);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        why = "the grandchild failed, or hung";
    close(end);
    if (!why)
        pthread_join(thread, &why);
    unlink(path);
    free(path);
    return why;
}

/* In a process of its own, since the path of the backend is found out once. */
static void test_while_loading(void **state)
{
    (void)state;
    if (UNDER_TSAN)
        SKIP("ThreadSanitizer can't follow a fork with threads");
    char *path = temp_path("");   /* the directory is this process's */
    free(path);
    end_child(start_child(NULL, child_loads));
}

/* Kernels: the emulator works as in the parent; a GPU says that it can't. */
static const char *child_uses_everything(scene *s)
{
    bool forked;
    sx_index *ix = NULL;
    sx_status expected = kernel_is_gpu() ? SX_EFORK : SX_OK;
    const char *why = list_devices(&forked);
    if (why)
        return why;
    if (data_build(s->small, s->dev, "eytzinger", NULL, &ix) != expected)
        return "building on a device of the parent's";
    if (expected == SX_EFORK)
        return forked ? NULL : "a GPU is usable after fork()";
    asker *a = asker_new();
    if (!why)
        why = ask_points(a, s->ix, s->small, SX_U64, NULL);
    if (!why)
        why = ask_points(a, ix, s->small, SX_U64, NULL);
    sx_free(ix);
    if (why)
        return why;
    static const char *const names[] = { "cpu:threads=2", "simt" };
    for (size_t i = 0; i < COUNT_OF(names) && !why; i++) {
        sx_device *dev = device_open(names[i]);
        if (data_build(s->small, dev, "pivot", NULL, &ix) != SX_OK)
            die("%s: %s", names[i], sx_detail());
        why = ask_points(a, ix, s->small, SX_U64, NULL);
        sx_free(ix);
        sx_close(dev);
    }
    return why;
}

static void *stay_listing(void *arg)
{
    busy_state *b = arg;
    bool forked;
    while (!atomic_load(&b->stop))
        if (list_devices(&forked))
            snprintf(b->why, sizeof b->why, "a device can't be listed");
    return NULL;
}

static void test_during_kernels(void **state)
{
    (void)state;
    if (UNDER_TSAN)
        SKIP("ThreadSanitizer can't follow a fork with threads");
    if (UNDER_ASAN)               /* its allocator's locks stay held in the child */
        SKIP("AddressSanitizer's allocator hangs after a fork while threads allocate");
    scene s = { .dev = device_open(kernel_with("")) };
    rnd r = rnd_start(test_seed());
    s.small = data_make(SX_U64, KEYS_RANDOM, 500, ROWS_NULL, 60, &r);
    s.large = data_make(SX_U64, KEYS_RANDOM, 10, ROWS_NULL, 10, &r);
    s.ix = index_of(s.dev, s.small, "pivot");
    busy_state asks = { .s = &(scene){ .ix = s.ix, .large = s.small } }, lists = { .s = &s };
    pthread_t asking[2], listing[2];
    for (unsigned i = 0; i < 2; i++)
        if (pthread_create(&asking[i], NULL, stay_busy, &asks) != 0 ||
            pthread_create(&listing[i], NULL, stay_listing, &lists) != 0)
            die("no thread");
    while (atomic_load(&asks.batches) == 0)
        usleep(1000);
    for (unsigned i = 0; i < 60; i++)
        end_child(start_child(&s, child_uses_everything));
    atomic_store(&asks.stop, 1);
    atomic_store(&lists.stop, 1);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(asking[i], NULL);
        pthread_join(listing[i], NULL);
    }
    if (asks.why[0] || lists.why[0])
        fail_msg("the busy threads: %s %s", asks.why, lists.why);
    free_scene(&s);
}

/* The way to a device is measured under a lock, when the first index that needs it
 * is built. */
static uint64_t half_a_second(const sx_view *v, unsigned n)
{
    (void)v;
    if (n < 2)
        usleep(500000);           /* the other thread is in there, this one can fork */
    return 0;
}

static void *build_both(void *arg)
{
    scene *s = arg;
    return data_build(s->small, s->dev, "pivot place=both", NULL, &s->ix) == SX_OK
               ? NULL : "place=both";
}

static const char *child_builds_both(scene *s)
{
    takes_ns = NULL;
    if (build_both(s))
        return sx_detail();
    asker *a = asker_new();
    return ask_points(a, s->ix, s->small, SX_U64, NULL);
}

static void test_while_measuring(void **state)
{
    (void)state;
    if (UNDER_TSAN)
        SKIP("ThreadSanitizer can't follow a fork with threads");
    scene s = { .dev = device_open("simt") };
    rnd r = rnd_start(test_seed());
    pthread_t thread;
    void *why;
    s.small = data_make(SX_U64, KEYS_RANDOM, 9000, ROWS_NULL, 60, &r);
    s.large = data_make(SX_U64, KEYS_RANDOM, 10, ROWS_NULL, 10, &r);
    stand_in(s.dev, OF_QUESTIONS);
    takes_ns = half_a_second;
    if (pthread_create(&thread, NULL, build_both, &s) != 0)
        die("no thread");
    while (atomic_load(&asked) == 0)
        usleep(1000);
    end_child(start_child(&s, child_builds_both));
    pthread_join(thread, &why);
    assert_null(why);
    stand_back(s.dev);
    free_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_while_loading),
        cmocka_unit_test(test_before_use),
        cmocka_unit_test(test_after_use),
        cmocka_unit_test(test_during_use),
        cmocka_unit_test(test_during_kernels),
        cmocka_unit_test(test_while_measuring),
    };
    test_seed();
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL) != 0;
}
