/* thread.h - how the library starts a thread. */
#ifndef SX_THREAD_H
#define SX_THREAD_H

#include <pthread.h>

/* Whether fn(arg) runs in a thread of its own now. Signals that are sent belong to the
 * program's own threads: this one blocks them. Those that an instruction of its own
 * raises (SIGSEGV, SIGBUS and their like) nobody else can get: of them it blocks what
 * the caller does, so that the program's handlers run. */
int sx_thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg);

/* For tests: from the nth start from now on none succeeds (0: all do). */
void sx_thread_fail_from(long nth);

#endif
