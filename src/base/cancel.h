/* cancel.h - no verb is a cancellation point.
 *
 * A thread that is cancelled inside a verb would leave behind what the verb holds:
 * memory, open files, locks, threads that work with its memory. So a cancellation waits
 * until the verb ends:
 *
 *     SX_UNCANCELLED;                    from here to the end of the block
 *     SX_UNCANCELLED_IF(condition);      the same, if the condition holds
 *
 * Either costs as much as a short lookup does, so questions have one only on ways that
 * reach a cancellation point. They may be nested. */
#ifndef SX_CANCEL_H
#define SX_CANCEL_H

#include <pthread.h>

/* Returns the state before; below 0: the state was left alone. */
static inline int sx_cancel_off(int wanted)
{
    int before = -1;

    if (wanted)
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void sx_cancel_back(const int *before)
{
    if (*before >= 0)
        pthread_setcancelstate(*before, NULL);
}

#define SX_UNCANCELLED_IF(condition)                                          \
    __attribute__((cleanup(sx_cancel_back), unused)) const int sx_uncancelled = \
        sx_cancel_off(condition)
#define SX_UNCANCELLED SX_UNCANCELLED_IF(1)

#endif
