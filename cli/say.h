/* say.h - how the tool ends, complains and colours.
 *
 * Every failure is one line on stderr, "sextant: VERB: sentence", and ends the
 * process: a command line tool could do nothing useful afterwards. So callers
 * need not carry errors upwards. */
#ifndef CLI_SAY_H
#define CLI_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sextant.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* The verb that error lines name; NULL before it is known. */
void say_verb(const char *verb);
const char *said_verb(void);

_Noreturn void fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
_Noreturn void fail_usage(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Fails with the library's own sentence unless status is SX_OK. what: the
 * file or thing concerned, NULL for none. */
void expect_ok(sx_status status, const char *what);
/* The same where the fault is a word of the command line. */
void expect_ok_usage(sx_status status, const char *what);

/* Memory, or failure; never NULL, not even for 0 bytes. */
void *must_alloc(uint64_t count, size_t bytes_each);
void *must_grow(void *old, uint64_t count, size_t bytes_each);

/* Escape sequences to print round words on this stream: empty strings if it is
 * no terminal or NO_COLOR is set. */
const char *bold(FILE *stream);
const char *red(FILE *stream);
const char *plain(FILE *stream);

double seconds_now(void);         /* monotonic */

#endif
