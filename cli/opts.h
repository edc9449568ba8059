/* opts.h - the command line of every verb, from one table each.
 *
 * A verb lists its operands and options. parse_arguments() fills in those that
 * were given, or prints the help that follows from the same table, or fails
 * with the offending word. */
#ifndef CLI_OPTS_H
#define CLI_OPTS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    OPT_FLAG,                     /* bool */
    OPT_WORD,                     /* const char * */
    OPT_WORDS,                    /* word_list: may be given again */
    OPT_SIZE,                     /* uint64_t, see parse_size() */
    OPT_COUNT,                    /* uint64_t, a size of at least 1 */
    OPT_FRACTION,                 /* double from 0 to 1 */
    OPT_CHOICE,                   /* int: 1 for the first word of value */
    OPT_TYPE                      /* int: the sx_type of one of the words of value */
} option_kind;

#define WORDS_MOST 64u
typedef struct {
    const char *word[WORDS_MOST];
    unsigned n;
} word_list;

typedef struct {
    const char *name;             /* "--mode"; NULL ends the table */
    char letter;                  /* 'o' for -o; 0: none */
    option_kind kind;
    const char *value;            /* "N", or the choices "get|rank|floor" */
    void *to;
    const char *help;
} option;

typedef struct {                  /* words of the command line, in their order */
    const char **word;
    unsigned n;
} operand_list;

typedef struct {
    const char *name;             /* "QUERIES"; NULL ends the table */
    const char **to;
    operand_list *all;            /* not NULL: this one takes all that are left */
    bool optional;
} operand;

#define OPERAND(name, to)          { name, to, 0, false }
#define OPERAND_OPTIONAL(name, to) { name, to, 0, true }
#define OPERANDS(name, all)        { name, 0, all, false }   /* one or more */
#define OPERAND_END                { 0, 0, 0, false }

typedef struct {
    const char *summary;          /* what the verb does, for the help */
    const operand *operands;
    const option *options;
} command_line;

#define NOT_GIVEN UINT64_MAX      /* first value of a size that must be given */

/* argv[0] is the verb. Long options may be shortened to a beginning that only one of
 * them has. --complete, which no help lists, prints the options for the completion of
 * shells (completion/): name, value and help, with tabs between. */
void parse_arguments(const command_line *line, int argc, char **argv);

/* Usage error unless the option was given. */
void require_option(bool given, const char *name);

/* A size such as 1000, 2^24, 16M, 4GiB or 1e6, as the library reads those in
 * devices' names; false if it is none. */
bool parse_size(const char *text, uint64_t *out);

/* Choices that several verbs share. The numbers of the words of formats are those of
 * file_format. */
#define TYPE_CHOICES   "u32|u64|i32|i64|f32|f64|b16|t64"
#define KEY_TYPE_CHOICES TYPE_CHOICES "|str"   /* where keys are not generated */
#define FORMAT_CHOICES "text|sosd|raw|npy"
#define IN_FORMAT_CHOICES FORMAT_CHOICES "|csv|tsv"
#define OUT_FORMAT_CHOICES FORMAT_CHOICES "|csv"   /* of answers */

/* Options that several verbs share. */
#define OPTION_TYPE(to, help) \
    { "--type", 0, OPT_TYPE, TYPE_CHOICES, to, help }
#define OPTION_FORMAT(to, help) \
    { "--format", 0, OPT_CHOICE, FORMAT_CHOICES, to, help }
#define OPTION_IN_FORMAT(to, help) \
    { "--format", 0, OPT_CHOICE, IN_FORMAT_CHOICES, to, help }
#define OPTION_OUT_FORMAT(to) \
    { "--out-format", 0, OPT_CHOICE, OUT_FORMAT_CHOICES, to, \
      "format of the output (by its name)" }
#define OPTION_OUTPUT(to, help) \
    { "--output", 'o', OPT_WORD, "FILE", to, help }
#define OPTION_JSON(to) \
    { "--json", 0, OPT_FLAG, 0, to, "one JSON object per line" }
#define OPTION_DEVICE(to) \
    { "--device", 0, OPT_WORD, "NAME", to, \
      "where to work, e.g. cpu:avx2 (sextant devices lists them)" }
#define OPTION_THREADS(to) \
    { "--threads", 0, OPT_COUNT, "N", to, "use at most so many threads" }
#define OPTION_COPY(to) \
    { "--copy", 0, OPT_FLAG, 0, to, \
      "read the index into memory instead of mapping it" }
#define OPTION_PLACE(to) \
    { "--place", 0, OPT_CHOICE, "host|device|hybrid|both", to, \
      "on a GPU: where to put the index (its memory)" }
/* Options of every verb that opens an index: o is its open_options. */
#define OPTIONS_OPEN_INDEX(o, as_json)                                  \
    OPTION_JSON(as_json), OPTION_COPY(&(o)->copy),                      \
    OPTION_PLACE(&(o)->place),                                          \
    OPTION_DEVICE(&(o)->device), OPTION_THREADS(&(o)->threads)
/* How text is written: t is a text_options. */
#define OPTIONS_TEXT(t, what)                                           \
    { "--column", 0, OPT_WORD, "NAME|NUMBER", &(t)->column,             \
      "csv, tsv: the column that has the " what },                      \
    { "--delimiter", 0, OPT_WORD, "C", &(t)->delimiter,                 \
      "csv, tsv: between fields; tab is \\t (, or a tab)" },           \
    { "--comment", 0, OPT_WORD, "C", &(t)->comment,                     \
      "text, csv, tsv: lines that begin with it are skipped" },         \
    { "--header", 0, OPT_CHOICE, "yes|no", &(t)->header,                \
      "csv, tsv: whether the first line has names (as it looks)" },     \
    { "--ragged", 0, OPT_FLAG, 0, &(t)->ragged,                         \
      "csv, tsv: lines may have other numbers of fields" },             \
    { "--no-quotes", 0, OPT_FLAG, 0, &(t)->no_quotes,                   \
      "csv: a quote is a character as any other" }
#define OPTION_END { 0, 0, OPT_FLAG, 0, 0, 0 }

#endif
