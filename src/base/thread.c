#define _GNU_SOURCE
#include "base/thread.h"

#include <signal.h>

int sx_thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
    static const int raised[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t sent, before;
    int failed;

    sigfillset(&sent);
    for (unsigned i = 0; i < sizeof raised / sizeof raised[0]; i++)
        sigdelset(&sent, raised[i]);
    pthread_sigmask(SIG_BLOCK, &sent, &before);
    failed = pthread_create(thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}
