/* lines.h - the way back to the data: the line of a file that a row stands for.
 *
 * Row r is record r of the files, one behind the other: headers, comments and empty
 * lines do not count, as when their keys were read. The files are mapped, and an
 * array has where each record begins. */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include "csv.h"
#include "io.h"
#include "json.h"
#include "opts.h"

typedef struct lines lines;

/* Opens the files. columns: names or numbers with commas between; none: whole lines.
 * How they are written: as the index's note says, and ways, words of --lines-as
 * (lines_as.h). */
lines *lines_open(const word_list *paths, const word_list *ways, const word_list *columns,
                  const sx_index *ix);
void lines_free(lines *l);

/* The columns of the row's line as the file has them, with its delimiters between; as_csv:
 * as csv has them. SX_MISS: a dash for each. Fails if there is no such line. */
void lines_print(const lines *l, FILE *to, uint64_t row, bool as_csv);
/* The same as a member: "fields", an array of texts, or "line"; null for SX_MISS. */
void lines_json(const lines *l, json *j, uint64_t row);

#endif
