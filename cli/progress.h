/* progress.h - a bar on stderr while long work runs.
 *
 * It appears after half a second and only on a terminal, and leaves no trace. A
 * small thread of its own draws it, so that work which cannot report still
 * shows that time passes. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

/* total 0: it is not known how far the work is, and only seconds are shown.
 * Ends a bar that is still there. */
void progress_start(const char *what, uint64_t total);
void progress_at(uint64_t done);
/* The tick of an sx_call: the library says how far it is, of which total. */
int progress_tick(void *unused, uint64_t done, uint64_t total);
void progress_stop(void);         /* harmless when nothing runs */

#endif
