/* core_uses.h - how many calls are inside an object that may be closed meanwhile.
 *
 *     bit 31  MADE     what it is for was made; before, it can't be used
 *     bit 30  CLOSED   nobody comes in any more
 *     bit 29  ALONE    one is inside who must be alone; others wait until it has left
 *     bit 28  CLAIMED  somebody makes what it is for, or has made it
 *     below   how many are inside
 *
 * Nobody comes in once it is CLOSED, so the count reaches 0 once after that: whoever brings
 * it there frees what is inside, and nobody else does. All is atomic, since a Python without a
 * GIL runs calls at the same time. With a GIL it costs some nanoseconds. */
#ifndef SX_PY_CORE_USES_H
#define SX_PY_CORE_USES_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define USES_MADE (1u << 31)
#define USES_CLOSED (1u << 30)
#define USES_ALONE (1u << 29)
#define USES_CLAIMED (1u << 28)
#define USES_COUNT (USES_CLAIMED - 1)

typedef atomic_uint uses;         /* zero: nothing is made */

static inline bool uses_open(uses *u)
{
    return (atomic_load(u) & (USES_MADE | USES_CLOSED)) == USES_MADE;
}

/* False: not made, or closed. `and_close`: closes it, with the caller inside. */
static inline bool uses_enter(uses *u, bool and_close)
{
    unsigned was = atomic_load(u);

    while ((was & (USES_MADE | USES_CLOSED)) == USES_MADE) {
        if (was & USES_ALONE) {   /* for as long as a note takes */
            sched_yield();
            was = atomic_load(u);
        } else if (atomic_compare_exchange_weak(u, &was,
                                                (was | (and_close ? USES_CLOSED : 0)) + 1)) {
            return true;
        }
    }
    return false;
}

/* Of one who is inside: whether nobody else is; then the others wait. */
static inline bool uses_alone(uses *u)
{
    unsigned was = atomic_load(u);

    while ((was & USES_COUNT) == 1)
        if (atomic_compare_exchange_weak(u, &was, was | USES_ALONE))
            return true;
    return false;
}

/* True: the caller was the last one, and frees. */
static inline bool uses_leave(uses *u, bool was_alone)
{
    unsigned was = atomic_fetch_sub(u, was_alone ? USES_ALONE + 1 : 1);

    return (was & USES_CLOSED) && (was & USES_COUNT) == 1;
}

/* True: nobody is inside, and the caller frees. */
static inline bool uses_close(uses *u)
{
    unsigned was = atomic_fetch_or(u, USES_CLOSED);

    return (was & (USES_MADE | USES_CLOSED | USES_COUNT)) == USES_MADE;
}

/* Who may make what it is for: true for one, until it gives up. */
static inline bool uses_claim(uses *u)
{
    return !(atomic_fetch_or(u, USES_CLAIMED) & USES_CLAIMED);
}

static inline void uses_give_up(uses *u)
{
    atomic_fetch_and(u, ~USES_CLAIMED);
}

/* All that was made was written before. */
static inline void uses_made(uses *u)
{
    atomic_fetch_or(u, USES_MADE);
}

#endif
