/* io.h - columns from files and to files.
 *
 *     text   one value per line
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

#include "sextant.h"
#include "whole.h"

typedef enum {                    /* in the order of FORMAT_CHOICES */
    FORMAT_UNKNOWN,
    FORMAT_TEXT,
    FORMAT_SOSD,
    FORMAT_RAW,
    FORMAT_NPY
} file_format;

/* The format asked for. If there is none, that of the name; text for "-";
 * otherwise FORMAT_UNKNOWN. */
file_format format_of_name(const char *path, file_format asked);
/* The same, but a usage error in place of FORMAT_UNKNOWN. */
file_format format_needed(const char *path, file_format asked);

/* For results: text in place of FORMAT_UNKNOWN. */
file_format format_of_output(const char *path, file_format asked);

bool is_dash(const char *path);
/* Usage error if both are "-": stdin can be read once only. */
void expect_one_stdin(const char *a, const char *b);

/* ---- reading (io_read.c, io_npy.c) ------------------------------------- */

/* Reads a whole column. type 0: the type that an .npy file or the ending
 * _uint32 or _uint64 of the name says; if neither does, a usage error that
 * asks for --type. Free data with free(). */
sx_column read_column(const char *path, file_format format, int type);

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

/* n values of the type will follow. */
column_writer writer_start(output out, file_format format, int type,
                           uint64_t n);
void writer_put(column_writer *w, const void *values, uint64_t n);
void writer_close(column_writer *w);

/* Usage error if both are one ordinary file, by whatever names: nobody wants
 * to lose the input. */
void expect_other_file(const char *out, const char *in);

/* ---- shared by the above ----------------------------------------------- */

typedef struct {                  /* a file being read */
    FILE *from;
    const char *name;
    bool sized;                   /* a regular file: size is its bytes */
    uint64_t size;
    uint64_t offset;              /* bytes read so far, for errors */
} input;

/* Fills bytes, or fails and says that the `what` is cut short. */
void input_exactly(input *in, void *bytes, size_t count, const char *what);

typedef struct {                  /* what the header of an .npy file says */
    int type;                     /* sx_type; 16 bytes of any kind: SX_B16 */
    uint64_t n;
} npy_header;

npy_header npy_read_header(input *in);
void npy_write_header(FILE *to, int type, uint64_t n);

/* Turns values from the machine's byte order to little-endian, or back. */
void swap_if_big_endian(int type, void *values, uint64_t n);

#endif
