/* tick.h - tells the caller's tick how far a call has come; the tick may stop the call.
 *
 * A call's work is SX_PROGRESS_ALL parts. Verbs cut it into phases. Each phase ends at a
 * part that the verb guesses beforehand. Whoever does the work of a phase counts units of
 * its own, keys or bytes or queries, in one step or several:
 *
 *     0                        700000                       950000      1000000
 *     | sort                     | build                      | complete  |     parts
 *     | 9 units for each key     | step | next step | ...|    |
 *                                 3/4 of the phase, 3/4 of the rest, ...
 *
 * All threads that work add units, and look whether they are to stop. Only the thread
 * that called ticks, between two pieces of its own work, and at most once in SX_TICK_NS.
 * It holds no lock then that another thread waits for. The parts that a tick is told never
 * become fewer. All of them are told once, at the end, when the call has succeeded.
 *
 * NULL everywhere stands for a call without a tick. The struct is shared with C++, so it is
 * plain, and __atomic_ builtins read and write the fields that threads share. */
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
    uint64_t next_ns;             /* no tick before this time */
    uint64_t told;                /* parts, by the last tick */
    uint64_t begin, end;          /* parts where the step begins and ends */
    uint64_t phase_end;           /* part where its phase ends */
    uint64_t units;               /* of the step; the calling thread sets it */
    uint64_t done;                /* units that are done; shared */
    uint32_t stopped;             /* shared */
} sx_progress;

/* Ticks for the first time. Returns p, or NULL where the call has no tick. */
sx_progress *sx_progress_begin(sx_progress *p, const sx_call *call, const char *verb);
/* Ticks for the last time, if the call's status is SX_OK. */
void sx_progress_end(sx_progress *p, sx_status st);

/* The calling thread begins, while no other works: the next phase, which ends at `part`; a
 * step of `units`, which more steps of the phase may follow; the last step of the phase. */
void sx_progress_phase(sx_progress *p, uint64_t part);
void sx_progress_step(sx_progress *p, uint64_t units);
void sx_progress_units(sx_progress *p, uint64_t units);

/* By any thread: `units` more are done. Returns whether the thread is to stop. */
int sx_progress_add(sx_progress *p, uint64_t units);
int sx_progress_stopped(const sx_progress *p);

/* SX_ECANCELED if the call is to stop. Whoever does anything that can't be undone looks
 * here first. */
sx_status sx_progress_status(const sx_progress *p, sx_err *err);

#endif
