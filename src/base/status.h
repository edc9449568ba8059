/* status.h - how failures travel inside the library.
 *
 * Every internal function that can fail takes an sx_err and returns an
 * sx_status. The sentence is written where the fault is seen, into a buffer
 * of the caller, so that pool threads and backends touch no shared state;
 * only the API layer copies it to the thread's sx_detail(). */
#ifndef SX_STATUS_H
#define SX_STATUS_H

#include "sextant.h"

typedef struct {
    char text[512];
} sx_err;

/* Writes the sentence and returns status, for `return sx_fail(...)`. */
sx_status sx_fail(sx_err *err, sx_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Keeps err as this thread's sx_detail() when status is a failure. */
sx_status sx_report(const sx_err *err, sx_status status);

#endif
