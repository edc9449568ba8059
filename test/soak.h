/* soak.h - what the parts of the soak share.
 *
 * soak.c has the workers and checks what must not grow, soak_jobs.c has the peaceful jobs,
 * soak_rough.c forks, kills, cancelled threads and failing allocations. */
#ifndef SOAK_H
#define SOAK_H

#include <pthread.h>

#include "ask.h"

/* ThreadSanitizer can follow neither a program that forks while it has threads, nor the
 * fibers of the emulator. */
#define WATCHED_THREADS UNDER_TSAN

/* ---- devices, open all the time ------------------------------------------------ */

#define DEVICES_MOST 10u

typedef struct {
    char name[160];
    sx_device *dev;
    bool kernels;                 /* columns may be in its memory; specs have places */
    bool gpu;                     /* a real one: children can't use it */
} soak_device;

extern soak_device devices[DEVICES_MOST];
extern unsigned device_count;

/* ---- workers --------------------------------------------------------------------- */

typedef enum {
    JOB_ASK,                      /* build, ask everything, build again */
    JOB_SHARED,                   /* ask an index that others ask, too; or replace it */
    JOB_FILE,                     /* save, load anywhere, ask */
    JOB_LOOK,                     /* check, explain, estimate, what can be */
    JOB_COLLECT,                  /* threads with one key each */
    JOB_COME_AND_GO,              /* a device of its own */
    JOB_FORK,                     /* a child asks and builds */
    JOB_KILL,                     /* a child is killed while it saves */
    JOB_CANCEL,                   /* a thread is cancelled inside a verb */
    JOB_FAIL,                     /* every allocation of a call fails once; alone */
    JOB_STORM,                    /* many threads while allocations fail; alone */
    JOB_KINDS
} job_kind;

typedef struct {
    unsigned number;
    pthread_t thread;
    rnd r;                        /* of the job, which uses no other */
    asker *asking;
    char doing[400];              /* for failures, and for hangs */
    char why[800];
    uint64_t done[JOB_KINDS], questions, builds, no_memory, old_files, new_files, cancelled;
} worker;

/* Returns what is wrong, or NULL; and notes what it is doing. */
typedef const char *job_fn(worker *w);
extern const struct job { const char *name; job_fn *fn; unsigned weight; bool alone; }
    jobs[JOB_KINDS];

void doing(worker *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *complain(worker *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- an index and what it must answer ------------------------------------------------ */

typedef struct {
    dataset *d;
    sx_index *ix;
    const soak_device *on;
    char spec[SX_SPEC_MAX];
} subject;

/* Any device, or a CPU. */
const soak_device *pick_device(worker *w, bool cpu);
/* Data, and (subject_make) an index of it, of `most` keys at most. NULL, or what is wrong. */
void subject_plan(worker *w, subject *s, const soak_device *on, uint64_t most);
const char *subject_make(worker *w, subject *s, const soak_device *on, uint64_t most);
void subject_free(subject *s);
/* Asks an index of its data some questions, on that device. */
const char *subject_ask(worker *w, const subject *s, const sx_index *ix, const soak_device *on);

/* A path of this worker. Free it. */
char *worker_path(const worker *w, const char *name);

/* ---- jobs ------------------------------------------------------------------------- */

const char *job_ask(worker *w);
const char *job_shared(worker *w);
const char *job_file(worker *w);
const char *job_look(worker *w);
const char *job_collect(worker *w);
const char *job_come_and_go(worker *w);
const char *job_fork(worker *w);
const char *job_kill(worker *w);
const char *job_cancel(worker *w);
const char *job_fail(worker *w);
const char *job_storm(worker *w);

void shared_free(void);           /* what job_shared() keeps */

#endif
