#include "base/fork.h"

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static sx_forked *all;

static void before_fork(void)
{
    pthread_mutex_lock(&list_lock);
}

static void parent_after_fork(void)
{
    pthread_mutex_unlock(&list_lock);
}

static void child_after_fork(void)
{
    for (sx_forked *entry = all; entry; entry = entry->next)
        entry->in_child(entry->object);
    pthread_mutex_unlock(&list_lock);
}

/* The handlers are registered when the library is loaded. If its first use did it, a
 * fork() in the middle could leave a child with half of them, or with two sets. */
__attribute__((constructor)) static void watch_fork(void)
{
    pthread_atfork(before_fork, parent_after_fork, child_after_fork);
}

void sx_fork_join(sx_forked *entry, void (*in_child)(void *object), void *object)
{
    entry->in_child = in_child;
    entry->object = object;
    entry->prev = NULL;
    pthread_mutex_lock(&list_lock);
    entry->next = all;
    if (all)
        all->prev = entry;
    all = entry;
    pthread_mutex_unlock(&list_lock);
}

void sx_fork_leave(sx_forked *entry)
{
    pthread_mutex_lock(&list_lock);
    *(entry->prev ? &entry->prev->next : &all) = entry->next;
    if (entry->next)
        entry->next->prev = entry->prev;
    pthread_mutex_unlock(&list_lock);
}
