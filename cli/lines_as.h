/* lines_as.h - how lines were written that keys came from, kept in a note of the index.
 *
 *     csv header=yes delimiter=3b comment=00 quotes=1 ragged=0 named=text
 *
 * is a file that was read as csv although its name says text. Bytes are hexadecimal, 00:
 * none. Where files of one build differ, each way is there once, and a digit a file says
 * which one is its own; the last digit counts for all files behind it:
 *
 *     csv header=yes ...; tsv header=yes ...; files=001
 *
 * "none" is a file without lines, such as .npy. An index has no note if its files were
 * read as their names say without it: text, and neither comments nor a header. */
#ifndef CLI_LINES_AS_H
#define CLI_LINES_AS_H

#include "csv.h"
#include "io.h"

#define NOTE_LINES "lines"

typedef struct {
    file_format format;           /* text, csv or tsv */
    dialect how;
    bool header;
} lines_as;

/* Sets the note of an index whose keys came from these files. */
void lines_note(sx_index *ix, const char *const *paths, unsigned n, const reading *read,
                const text_facts *facts);

/* How file number f of --lines is written. The note says it if it is about a file whose
 * name tells the same format, or about this format; and for a name that tells none.
 * Otherwise it is as usual for the format that the name tells. header: whether it has one
 * then. */
lines_as lines_as_of(const sx_index *ix, unsigned f, const char *path, bool header);

/* Changes what the words say, such as "csv,header=no,delimiter=;" (--lines-as); usage
 * error where they can't be. A format comes first, and if it is another one, begins with
 * what is usual for it. */
void lines_as_change(lines_as *as, const char *words, bool header);

#endif
