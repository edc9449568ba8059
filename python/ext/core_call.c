/* core_call.c - calls without the GIL: Ctrl-C and progress= come by the call's tick. */
#include <time.h>

#include "core.h"

#define SIGNALS_NS 50000000       /* signals are looked for this often */

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The GIL is taken only now and then, since others may hold it for long. The first tick
 * and the last are always passed on. */
static int tick(void *context, uint64_t done, uint64_t total)
{
    released *r = context;
    int64_t now = now_ns();
    int stop;

    if (now - r->asked_ns < SIGNALS_NS && !(r->progress && (done == 0 || done == total)))
        return 0;
    r->asked_ns = now;
    PyEval_RestoreThread(r->thread);
    stop = PyErr_CheckSignals();
    if (!stop && r->progress) {
        PyObject *answer = PyObject_CallFunction(r->progress, "KK", (unsigned long long)done,
                                                 (unsigned long long)total);
        stop = answer ? 0 : -1;
        Py_XDECREF(answer);
    }
    r->thread = PyEval_SaveThread();
    return stop;
}

bool begin_call(released *r, PyObject *options, bool ticks)
{
    unsigned long long max_bytes = 0, stream = 0;
    unsigned threads = 0, hints = 0;
    PyObject *progress = Py_None;

    *r = (released){ .call = { .size = sizeof r->call } };
    if (options != Py_None &&
        !PyArg_ParseTuple(options, "IIKKO:options", &threads, &hints, &max_bytes, &stream,
                          &progress))
        return false;
    r->call.threads = threads;
    r->call.hints = hints;
    r->call.max_bytes = max_bytes;
    r->call.stream = (void *)(uintptr_t)stream;
    if (progress != Py_None)
        r->progress = progress;   /* the caller's tuple keeps it */
    if ((ticks || r->progress) && !stream) {
        r->call.tick = tick;
        r->call.tick_context = r;
        r->asked_ns = now_ns();
    }
    r->thread = PyEval_SaveThread();
    return true;
}

sx_status end_call(released *r, sx_status status)
{
    PyEval_RestoreThread(r->thread);
    return status == SX_OK && PyErr_Occurred() ? SX_ECANCELED : status;
}
