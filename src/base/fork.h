/* fork.h - objects with locks and threads, when the program forks.
 *
 * The child has only the thread that forked: threads of the others' objects are gone
 * there, and locks they held stay held. So each such object is on a list, and the child
 * puts it back into a state that needs none of them. The list does not change while
 * fork() is under way. */
#ifndef SX_FORK_H
#define SX_FORK_H

typedef struct sx_forked {        /* a part of the object */
    void (*in_child)(void *object);
    void *object;
    struct sx_forked *prev, *next;
} sx_forked;

/* From here to sx_fork_leave() the child of a fork() calls in_child(object), once.
 * It may not call these two. */
void sx_fork_join(sx_forked *entry, void (*in_child)(void *object), void *object);
void sx_fork_leave(sx_forked *entry);

#endif
