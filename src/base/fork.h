/* fork.h - objects with locks and threads, when the program forks.
 *
 * The child has only the thread that forked. All other threads are gone, and locks that
 * they held stay held. So each object with locks or threads is on a list, and the child
 * puts it back into a state that needs none of them. The list does not change while
 * fork() is under way. */
#ifndef SX_FORK_H
#define SX_FORK_H

typedef struct sx_forked {        /* a part of the object */
    void (*in_child)(void *object);
    void *object;
    struct sx_forked *prev, *next;
} sx_forked;

/* From sx_fork_join() to sx_fork_leave() the child of a fork() calls in_child(object),
 * once. in_child() may call neither of these two. */
void sx_fork_join(sx_forked *entry, void (*in_child)(void *object), void *object);
void sx_fork_leave(sx_forked *entry);

#endif
