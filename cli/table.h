/* table.h - columns of csv and tsv files by name or number, and how such files are
 * written. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "csv.h"
#include "io.h"

#define COLUMNS_MOST 65536u

/* As the options say; usage error where they can't be. */
dialect dialect_of(file_format format, const text_options *options);

/* Digits are a number, anything else is a name. */
bool column_is_named(const char *column);
unsigned column_numbered(const char *option, const char *word);   /* from 0 */
/* The field of that name in the record, a header; fails if there is none. */
unsigned column_named(csv *c, const char *name);

/* Leaves out the blanks round a text. */
void trim(const char **text, size_t *length);

#endif
