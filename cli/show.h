/* show.h - what is printed for an answer: its row, its key, values of its row, its
 * line.
 *
 * As text these are words with blanks between, as csv fields, '-' for no match. Files of numbers
 * have one column: rows, or keys, or one column of values. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "io.h"
#include "json.h"
#include "lines.h"
#include "opts.h"

typedef struct {                  /* options of the verbs that answer */
    word_list lines, lines_as, columns, values;
    const char *fallback;         /* --default */
} show_options;

#define OPTIONS_SHOW(o)                                                 \
    { "--lines", 0, OPT_WORDS, "FILE", &(o)->lines,                     \
      "print the lines of this file instead of their numbers; again for more" }, \
    { "--lines-as", 0, OPT_WORDS, "WORDS", &(o)->lines_as,              \
      "how they are written, e.g. csv,header=no (as when the index was built)" }, \
    { "--columns", 0, OPT_WORDS, "LIST", &(o)->columns,                 \
      "with --lines: only these columns, names or numbers, e.g. 2,3" }, \
    { "--values", 0, OPT_WORDS, "FILE", &(o)->values,                   \
      "print the values of these .npy columns instead of their rows" }, \
    { "--default", 0, OPT_WORD, "VALUE", &(o)->fallback,                \
      "the key or value to write where there is no match (-)" }

typedef struct {
    const notation *as;
    int key_type;
    bool rows, keys, json;        /* whether rows and keys are printed */
    bool csv;                     /* as fields with commas between, else as words */
    lines *lines;                 /* NULL: none */
    time_unit unit;               /* of keys that are times */
    sx_column value[WORDS_MOST];
    time_unit value_unit;         /* of the first column of values */
    unsigned values;
    const char *fallback;         /* NULL: a dash */
    uint64_t none;                /* another row that means no match (networks.h) */
} show;

/* Usage error where options can't be together. row_wanted: rows are printed even
 * beside lines or values. */
show show_open(const show_options *o, const sx_index *ix, file_format out_format,
               bool keys, bool row_wanted, bool as_json);
void show_close(show *s);

/* A column of words of the command line. */
sx_column keys_of_words(const word_list *words, const char *name, const notation *as,
                        int type);

/* Usage error if the output is a file that is read. */
void show_expect_other_files(const show_options *o, const char *out);

/* Usage error if stdin is to be read twice. path: another file that is read; NULL:
 * none. */
void show_expect_one_stdin(const show_options *o, const char *path);

/* Makes rows that mean no match SX_MISS. */
void show_settle(const show *s, uint64_t *rows, uint64_t n);

/* One answer, without a line end. row: SX_MISS for no match. Its key is number i of
 * keys; NULL: there is none. */
void show_print(const show *s, FILE *to, uint64_t row, const sx_column *keys, uint64_t i);
/* The same as members of an object. */
void show_json(const show *s, json *j, uint64_t row, const sx_column *keys, uint64_t i);

/* Type of the column that a file of numbers gets, and its values: of n answers, the
 * first of which is number `from` (for errors). */
int show_type(const show *s);
time_unit show_unit(const show *s);      /* of that column, if it has times */
void show_put(const show *s, column_writer *w, const uint64_t *rows, const void *keys,
              uint64_t n, uint64_t from);

#endif
