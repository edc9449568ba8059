/* notes.h - pairs of text that a caller keeps in an index.
 *
 *     name 0 value 0 name 0 value 0 ...
 *
 * The pairs are one block, in ascending order of the names' bytes, and no name is there
 * twice. So the same notes are the same bytes, in whatever order they came. The file's
 * section is this block.
 * sextant.h says what names and values can be. */
#ifndef SX_NOTES_H
#define SX_NOTES_H

#include "base/status.h"

typedef struct {
    char *text;                   /* NULL: there are none */
    uint64_t bytes;
} sx_notes;

/* The i-th note; 0: there is none. The value of a name; NULL: there is none. */
int sx_notes_at(const sx_notes *notes, unsigned i, const char **name, const char **value);
const char *sx_notes_find(const sx_notes *notes, const char *name);

/* Value NULL: takes the note away. On failure all notes are as they were. */
sx_status sx_notes_set(sx_notes *notes, const char *name, const char *value, sx_err *err);

/* Whether bytes of unknown origin are such a block. They need not even end in a 0. */
sx_status sx_notes_check(const sx_notes *notes, sx_err *err);

void sx_notes_drop(sx_notes *notes);

#endif
