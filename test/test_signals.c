/* test_signals.c - a program's handlers run in the library's threads, too.
 *
 * If a thread blocks the signal of its own fault, the process ends, whatever handler
 * there is. So each fault is made in a child, whose handler exits with a number of its
 * own if it runs in another thread than the caller's. If the caller meets the fault, too,
 * it waits for that. If a child hangs, its alarm ends it, which fails the test. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "on_device.h"

#define HANDLED 77

static pthread_t caller;

static void on_fault(int number)
{
    (void)number;
    if (!pthread_equal(pthread_self(), caller))
        _exit(HANDLED);
    for (;;)
        pause();
}

/* fn(arg), in a child, faults in a thread of the library. */
static void faults(int number, void (*fn)(void *arg), void *arg)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        alarm(HANGS_S);
        caller = pthread_self();
        struct sigaction action = { .sa_handler = on_fault };
        sigaction(number, &action, NULL);
        fn(arg);
        fprintf(stderr, "there was no fault\n");
        _exit(1);
    }
    if (waitpid(pid, &status, 0) != pid)
        die("waitpid");
    if (WIFSIGNALED(status))
        fail_msg("the handler of signal %d did not run: signal %d%s", number, WTERMSIG(status),
                 WTERMSIG(status) == SIGALRM ? ", the child hung" : "");
    assert_int_equal(WEXITSTATUS(status), HANDLED);
}

static dataset *some_data(uint64_t n)
{
    rnd r = rnd_start(test_seed());
    return data_make(SX_U64, KEYS_RANDOM, n, ROWS_NULL, 10, &r);
}

/* ---- a file that is cut under an index ----------------------------------------------- */

static void ask_cut_file(void *arg)
{
    enum { MANY = 200000 };
    sx_device *dev = device_open("cpu:threads=2");
    sx_index *ix = NULL;
    uint64_t *q = need(MANY * sizeof *q), *out = need(MANY * sizeof *out);
    sx_column queries = column(SX_U64, MANY, q), rows = column(SX_U64, MANY, out);
    rnd r = rnd_start(test_seed());
    for (unsigned i = 0; i < MANY; i++)
        q[i] = rnd_next(&r);
    if (sx_load(&ix, dev, arg, 0, NULL) != SX_OK)
        die("%s", sx_detail());
    if (truncate(arg, 4096) != 0)
        die("truncate");
    (void)sx_get(ix, &queries, &rows, NULL);
}

static void test_pool(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu");
    dataset *d = some_data(100000);
    sx_index *ix = index_of(dev, d, "sorted");
    char *path = temp_path("cut.sxt");
    OK(sx_save(ix, path, NULL));
    faults(SIGBUS, ask_cut_file, path);
    free(path);
    sx_free(ix);
    data_free(d);
    sx_close(dev);
}

/* ---- queries that can't be read --------------------------------------------------------- */

/* The thread that makes a hybrid index's entries reads them first. */
static void ask_nothing(void *arg)
{
    enum { MANY = 4096 };
    sx_device *dev = device_open("simt:side=gpu,bucket=64");
    sx_index *ix = index_of(dev, arg, "pivot place=hybrid");
    uint64_t *q = mmap(NULL, MANY * sizeof *q, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t *out = need(MANY * sizeof *out);
    sx_column queries = column(SX_U64, MANY, q), rows = column(SX_U64, MANY, out);
    if (q == MAP_FAILED)
        die("mmap");
    (void)sx_get(ix, &queries, &rows, NULL);
}

static void test_hybrid(void **state)
{
    (void)state;
    dataset *d = some_data(3000);
    faults(SIGSEGV, ask_nothing, d);
    data_free(d);
}

/* ---- signals that are sent ---------------------------------------------------------------- */

static volatile sig_atomic_t elsewhere;

static void on_usr1(int number)
{
    (void)number;
    if (!pthread_equal(pthread_self(), caller))
        elsewhere = 1;
}

/* Signals go to the program's own threads, and wait if those block them. */
static void test_sent(void **state)
{
    (void)state;
    sx_device *dev = device_open("cpu:threads=4");
    dataset *d = some_data(200000);
    sx_index *ix = index_of(dev, d, "sorted");        /* its threads run now */
    sigset_t usr1, pending;
    struct sigaction action = { .sa_handler = on_usr1 };
    caller = pthread_self();
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    kill(getpid(), SIGUSR1);
    sigpending(&pending);
    assert_true(sigismember(&pending, SIGUSR1));
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    assert_false(elsewhere);
    sx_free(ix);
    data_free(d);
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_hybrid),
        cmocka_unit_test(test_sent),
    };
    test_seed();
    return cmocka_run_group_tests_name("signals", tests, NULL, NULL) != 0;
}
