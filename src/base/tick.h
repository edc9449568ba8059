/* tick.h - how far a call has come, told to the caller's tick, which may stop it.
 *
 * A call's work is SX_PROGRESS_ALL parts. Verbs cut it into phases, which end at a part
 * that the verb guesses beforehand. Whoever does the work of a phase counts units of its
 * own, keys or bytes or queries, in one step or several:
 *
 *     0                        700000                       950000      1000000
 *     | sort                     | build                      | complete  |     parts
 *     | 9 units for each key     | step | next step | ...|    |
 *                                 3/4 of the phase, 3/4 of the rest, ...
 *
 * All threads that work add units, and look whether they are to stop. Only the thread
 * that called ticks, between two pieces of its own work, and no more often than every
 * SX_TICK_NS. It holds no lock then that anybody waits for. What is told never goes back;
 * all parts are told once, at the end, when the call has succeeded.
 *
 * NULL stands for a call without a tick everywhere. Shared with C++: a plain struct, whose
 * common fields are read and written by __atomic_ builtins. */
#ifndef SX_TICK_H
#define SX_TICK_H

#include "base/status.h"

#include <pthread.h>

#define SX_PROGRESS_ALL 1000000u
#define SX_TICK_NS 5000000u

typedef struct {
    int (*tick)(void *context, uint64_t done, uint64_t total);
    void *context;
    const char *verb;
    pthread_t caller;
    uint64_t next_ns;             /* no tick before that */
    uint64_t told;                /* parts: by the last tick, */
    uint64_t begin, end;          /* of the step, */
    uint64_t phase_end;           /* and where its phase ends */
    uint64_t units;               /* of the step; the calling thread sets it */
    uint64_t done;                /* of these; shared */
    uint32_t stopped;             /* shared */
} sx_progress;

/* Ticks for the first time. Returns p, or NULL where the call has no tick. */
sx_progress *sx_progress_begin(sx_progress *p, const sx_call *call, const char *verb);
/* After the call has got that status: ticks for the last time, if it succeeded. */
void sx_progress_end(sx_progress *p, sx_status st);

/* By the calling thread, while no other works: the next phase begins, which ends at
 * `part`; the next step begins, of so many units, which may not be the last of its phase
 * (step) or is (units). */
void sx_progress_phase(sx_progress *p, uint64_t part);
void sx_progress_step(sx_progress *p, uint64_t units);
void sx_progress_units(sx_progress *p, uint64_t units);

/* By any thread: so many units more are done. Whether it is to stop. */
int sx_progress_add(sx_progress *p, uint64_t units);
int sx_progress_stopped(const sx_progress *p);

/* SX_ECANCELED if it is to stop. Who does anything that can't be undone looks here
 * first. */
sx_status sx_progress_status(const sx_progress *p, sx_err *err);

#endif
