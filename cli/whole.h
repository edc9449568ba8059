/* whole.h - files that are written whole or not at all.
 *
 * What is to become a file is written beside it, as .sextant-out-PID-N.tmp, and
 * takes its name when it is complete. Until then the old file is as it was.
 * However the process ends, short of being killed outright, nothing else is
 * left behind. */
#ifndef CLI_WHOLE_H
#define CLI_WHOLE_H

#include <stdbool.h>

typedef struct whole_file whole_file;       /* a file that is not complete yet */

void whole_init(void);            /* once, before the first */

/* True: path is an ordinary file, or nothing yet, and can be written so.
 * False: it is a pipe, a device or a folder, or nobody may look. */
bool whole_can_be(const char *path);

/* Begins one; fd gets what to write to, which the caller closes. The mode is
 * the old file's, or as the umask has it. NULL: errno says why not. */
whole_file *whole_begin(const char *path, int *fd);

/* All is written: it takes the name. False: errno says why not, and the old
 * file is as it was. */
bool whole_end(whole_file *w);

/* As if it had never begun. */
void whole_drop(whole_file *w);

#endif
