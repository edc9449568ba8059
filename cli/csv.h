/* csv.h - records and fields of text, as they come.
 *
 *     "Smith, J",12,"said ""no"""\r\n        a record: a line, or several if a
 *      -------- --  -----------              quoted field has line ends inside
 *      fields, 0, 1 and 2
 *
 * One scanner reads them all: CSV as in RFC 4180, TSV (no quotes), and a value a
 * line (no delimiter either). A window of the file is in memory at a time, or all
 * of it, where it is mapped. Lines without a quote are the usual case: memchr()
 * finds their ends, and delimiters are found eight bytes at a time. Records with
 * quotes are read field by field, eight bytes at a time, too. */
#ifndef CLI_CSV_H
#define CLI_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "input.h"

typedef struct {                  /* how a text is written */
    char delimiter;               /* between fields; 0: a line is one field */
    char comment;                 /* a line that begins with it is skipped; 0: none */
    bool quotes;                  /* fields may be in quotes */
    bool skips_empty;             /* empty lines are skipped; else they are records */
    bool ragged;                  /* records may have other numbers of fields */
} dialect;

typedef struct {
    const char *text;             /* without its quotes */
    size_t length;
    bool quoted, doubled;         /* doubled: "" stands for a quote in it */
} csv_field;

typedef struct {
    dialect how;
    const char *name;             /* for errors */
    input *in;                    /* NULL: all of the text is in memory */
    char *buffer;
    uint64_t space;
    const char *at, *end;         /* what is in memory and not read yet */
    bool over;                    /* nothing comes behind `end` */
    uint64_t line;                /* number of the line at `at`, from 1 */
    const char *quote;            /* the first quote from `at` on, or `end` */

    const char *begin, *stop;     /* the record, without its line end */
    uint64_t record_line;         /* number of its first line */
    unsigned width;               /* fields of the first record; 0: none yet */
    bool parsed;                  /* the record has quotes, and its fields are known: */
    csv_field *field;
    unsigned fields, field_space;
} csv;

/* Reads from a file that was opened as text. */
csv csv_of_input(input *in, dialect how);
/* Reads text in memory, which has to stay. */
csv csv_of_memory(const char *text, uint64_t length, const char *name, dialect how);
void csv_free(csv *c);

/* Goes to the next record; false at the end. Fails where quotes are wrong. */
bool csv_next(csv *c);

/* Field i of the record, and how many fields the record has. A field that is not
 * there has no text (NULL). Fails if the first record has another number of fields,
 * unless the text is ragged. */
csv_field csv_get(csv *c, unsigned i);
unsigned csv_fields(csv *c);

/* Where in the file a byte of the record is: the line, and the byte in the line
 * from 1. */
typedef struct { uint64_t line, column; } csv_place;
csv_place csv_where(const csv *c, const char *at);

/* The text of a field as it is meant: "" is one quote. Only where that differs it is
 * copied to *scratch, which grows, and is to be freed. */
const char *csv_meant(const csv_field *f, char **scratch, size_t *length);

/* Prints a field with commas round it in mind: in quotes where a reader would take it for
 * something else. */
void csv_print(FILE *to, const char *text, size_t length);
void csv_print_quoted(FILE *to, const char *text, size_t length);   /* in any case */

/* Splits text at delimiters, 8 bytes at a time: where field i is (NULL: it is not
 * there), and how many there are. */
unsigned csv_split(const char *text, const char *stop, char delimiter, unsigned i,
                   const char **from, const char **to);

#endif
