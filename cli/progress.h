/* progress.h - a bar on stderr while long work runs.
 *
 * Appears after half a second and only on a terminal; leaves no trace. A
 * small thread of its own draws it, so that work which cannot report still
 * shows that time passes. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

/* total 0: how far along is not known, only the seconds are shown. Ends a
 * bar that is still there. */
void progress_start(const char *what, uint64_t total);
void progress_at(uint64_t done);
/* The tick of an sx_call: how far the library is, of a total that it says. */
int progress_tick(void *unused, uint64_t done, uint64_t total);
void progress_stop(void);         /* harmless when nothing runs */

#endif
