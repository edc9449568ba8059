/* io.h - columns from files and to files.
 *
 *     text   one value per line
 *     csv    fields with commas between, as in RFC 4180 (csv.h)
 *     tsv    fields with tabs between; read only
 *     sosd   uint64 count, then the values (the format of the SOSD benchmark)
 *     raw    the values alone
 *     npy    NumPy's .npy, one-dimensional, version 1 or 2
 *
 * All little-endian. "-" is stdin or stdout. Every failure names the file,
 * the place in it and the value, and ends the process. */
#ifndef CLI_IO_H
#define CLI_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "input.h"
#include "notation.h"
#include "sextant.h"
#include "time_unit.h"
#include "whole.h"

typedef enum {                    /* in the order of IN_FORMAT_CHOICES */
    FORMAT_UNKNOWN,
    FORMAT_TEXT,
    FORMAT_SOSD,
    FORMAT_RAW,
    FORMAT_NPY,
    FORMAT_CSV,
    FORMAT_TSV
} file_format;

bool format_is_text(file_format format);   /* text, csv or tsv */

/* The format asked for. If there is none, that of the name, without a .gz behind
 * it; text for "-"; otherwise FORMAT_UNKNOWN. */
file_format format_of_name(const char *path, file_format asked);
/* The same, but a usage error in place of FORMAT_UNKNOWN. */
file_format format_needed(const char *path, file_format asked);

/* For results: text in place of FORMAT_UNKNOWN, csv and tsv. A column of numbers is the
 * same in all of them; whether other answers are written as csv, the second one says. */
file_format format_of_output(const char *path, file_format asked);
bool output_is_csv(const char *path, file_format asked);

bool is_dash(const char *path);
/* Usage error if both are "-": stdin can be read once only. */
void expect_one_stdin(const char *a, const char *b);

/* ---- reading (io_read.c, io_npy.c, io_text.c) --------------------------- */

typedef struct {                  /* options for text; all 0: the usual */
    const char *column;           /* which field, by name or number; NULL: the only
                                     one */
    const char *delimiter, *comment;
    int header;                   /* 0: see io_text.c; 1: there is one; 2: none */
    bool ragged, no_quotes;
} text_options;

typedef struct {                  /* what was found in files */
    int header;                   /* as in text_options; 0: no record was read */
    const char *path;             /* of the first text with records */
    time_unit unit;               /* of times in .npy files, or as asked for */
} text_facts;

typedef struct {                  /* how columns are read */
    file_format format;           /* FORMAT_UNKNOWN: as each name says */
    int type;                     /* 0: see read_column() */
    const notation *as;           /* NULL: none */
    text_options text;
    time_unit unit;               /* that times of .npy files get; kind 0: they keep theirs,
                                     and those of several files that of the first */
} reading;

/* Reads the keys of n files, one behind the other. facts may be NULL. */
sx_column read_keys(const char *const *paths, unsigned n, const reading *how,
                    text_facts *facts);

/* Reads a whole column. type 0: the type that an .npy file or the ending
 * _uint32 or _uint64 of the name says; if neither does, a usage error that
 * asks for --type. Free data with free(). */
sx_column read_column(const char *path, file_format format, int type);

/* Takes the text of one field. Returns NULL, or what the text should have been, for
 * a sentence such as "'x' is not a u32". */
typedef const char *(*text_taker)(void *context, const char *text, size_t length);
/* Hands the chosen field of every record to the taker. format: text, csv or tsv. */
void read_text(const char *path, file_format format, const text_options *options,
               text_taker take, void *context, text_facts *facts);
/* The same, but blanks round a field are parts of it. */
void read_text_whole(const char *path, file_format format, const text_options *options,
                     text_taker take, void *context, text_facts *facts);
/* A column that keys are put behind, by a taker. */
typedef struct {
    sx_column column;
    uint64_t space;               /* for keys; of strings, for offsets */
    uint64_t bytes_space;         /* for bytes of strings */
    const notation *as;
    time_unit unit;
} growing_column;
const char *take_key(void *growing, const char *text, size_t length);

/* Reads rows: U32 or U64, none of them all ones, in .npy files also i32 and
 * i64 without negative values. type 0: as an .npy file says, U64 in other
 * formats. */
sx_column read_rows(const char *path, file_format format, int type);

/* A column of part of another one. */
sx_column column_part(const sx_column *whole, uint64_t from, uint64_t n);
sx_column column_over(int type, uint64_t n, void *data);

/* ---- writing (io_write.c) ---------------------------------------------- */

typedef struct {
    FILE *to;
    const char *name;             /* for errors */
    whole_file *file;                  /* NULL: stdout, a pipe or a device */
} output;

void output_init(void);           /* once, before the first output */
/* To be opened before the work whose results go there: then the user knows at
 * once what can't be written. The file is made, or replaced, when it is
 * closed. */
output output_open(const char *path);
/* Fails where output_open() would, and leaves the file as it is. */
void expect_writable(const char *path);
/* Fails if anything could not be written; quietly if the reader has gone. */
void output_check(output *out);
void output_close(output *out);   /* checks, too */

typedef struct {
    output out;
    file_format format;
    int type;
    bool dash_for_miss;           /* text: '-' for all ones in a U64 column */
} column_writer;

/* n values of the type will follow. unit: of times, for .npy files; kind 0: it is not
 * known. */
column_writer writer_start(output out, file_format format, int type, time_unit unit,
                           uint64_t n);
void writer_put(column_writer *w, const void *values, uint64_t n);
void writer_close(column_writer *w);

/* Usage error if both are one ordinary file, by whatever names: nobody wants
 * to lose the input. */
void expect_other_file(const char *out, const char *in);

/* ---- shared by the above ----------------------------------------------- */

typedef struct {                  /* what the header of an .npy file says */
    int type;                     /* sx_type; 16 bytes of any kind: SX_B16 */
    time_unit unit;               /* of SX_T64 */
    uint64_t n;
} npy_header;

npy_header npy_read_header(input *in);
void npy_write_header(FILE *to, int type, time_unit unit, uint64_t n);

/* Turns values from the machine's byte order to little-endian, or back. */
void swap_if_big_endian(int type, void *values, uint64_t n);

#endif
