/* whole.h - files that are written whole or not at all.
 *
 * A file is written beside its place, as .sextant-out-PID-N.tmp, and takes its
 * name when it is complete. Until then the old file is as it was. However the
 * process ends, unless it is killed outright, nothing else is left behind. */
#ifndef CLI_WHOLE_H
#define CLI_WHOLE_H

#include <stdbool.h>

typedef struct whole_file whole_file;       /* a file that is not complete yet */

void whole_init(void);            /* once, before the first file */

/* True: path is an ordinary file, or does not exist yet, and can be written like
 * this. False: it is a pipe, a device or a folder, or can't be looked at. */
bool whole_can_be(const char *path);

/* Begins a file. The caller writes to *fd and closes it. The mode is the old
 * file's, or that of the umask. NULL: errno says why not. */
whole_file *whole_begin(const char *path, int *fd);

/* All is written: the file takes its name. False: errno says why not, and the
 * old file is as it was. */
bool whole_end(whole_file *w);

/* As if it had never begun. */
void whole_drop(whole_file *w);

#endif
