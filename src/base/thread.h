/* thread.h - how the library starts a thread. */
#ifndef SX_THREAD_H
#define SX_THREAD_H

#include <pthread.h>

/* Whether fn(arg) runs in a thread of its own now. The new thread blocks signals that are
 * sent, which belong to the program's own threads. A signal that an instruction raises
 * (SIGSEGV, SIGBUS and their like) goes to the thread that raised it. Of these it blocks
 * what the caller blocks, so that the program's handlers run. */
int sx_thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg);

/* For tests: from the nth start from now on all fail (0: none does). */
void sx_thread_fail_from(long nth);

#endif
