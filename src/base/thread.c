#define _GNU_SOURCE
#include "base/thread.h"

#include <signal.h>
#include <stdatomic.h>

static atomic_long fail_countdown;

void sx_thread_fail_from(long nth)
{
    atomic_store(&fail_countdown, nth);
}

/* Counts down to 1, and stays there. */
static int told_to_fail(void)
{
    long before = atomic_load_explicit(&fail_countdown, memory_order_relaxed);

    while (before > 1 && !atomic_compare_exchange_weak(&fail_countdown, &before, before - 1))
        ;
    return before == 1;
}

int sx_thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
    static const int raised[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t sent, before;
    int failed;

    if (told_to_fail())
        return 0;
    sigfillset(&sent);
    for (unsigned i = 0; i < sizeof raised / sizeof raised[0]; i++)
        sigdelset(&sent, raised[i]);
    pthread_sigmask(SIG_BLOCK, &sent, &before);
    failed = pthread_create(thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}
