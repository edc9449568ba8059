/* replace.h - writing a file so that it takes its name whole, or not at all. */
#ifndef SX_REPLACE_H
#define SX_REPLACE_H

#include "base/tick.h"

/* A part of a file's bytes; parts follow each other. */
typedef struct {
    const void *data;
    uint64_t bytes;
} sx_part;

/* Replaces the file at path, or a link there; anything else is refused. sextant.h says at
 * sx_save() who may read the new file, and what a kill leaves. A byte is SX_WRITE_UNITS of
 * progress. If progress is stopped, nothing is left. */
#define SX_WRITE_UNITS 3u
sx_status sx_replace_file(const char *path, const sx_part *parts, unsigned count,
                          sx_progress *progress, sx_err *err);

/* A failure's sentence: `doing` something with the file at path, and errno's text. */
sx_status sx_io_failed(const char *doing, const char *path, sx_err *err);

#endif
