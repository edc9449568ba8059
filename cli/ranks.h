/* ranks.h - keys and rows by their ranks: what at, head and tail share. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "open.h"
#include "show.h"

typedef struct {
    open_options open;
    show_options shown;
    const char *index, *out;
    int out_format;
    bool keys, rows, json;
} rank_options;

#define OPTIONS_RANKS(o)                                                \
    { "--rows", 0, OPT_FLAG, 0, &(o)->rows, "only rows" },              \
    { "--keys", 0, OPT_FLAG, 0, &(o)->keys, "only keys" },              \
    OPTIONS_SHOW(&(o)->shown),                                          \
    OPTION_OUTPUT(&(o)->out, "where to (stdout)"),                      \
    OPTION_OUT_FORMAT(&(o)->out_format),                                \
    OPTIONS_OPEN_INDEX(&(o)->open, &(o)->json)

/* The ranks to print, out of the number of keys: a U64 column to be freed. */
typedef sx_column (*rank_chooser)(const void *context, uint64_t keys);

/* Prints what is at these ranks, a line each: row and key. */
int print_ranks(const rank_options *o, rank_chooser choose, const void *context);

/* Ranks [from, from + n). */
sx_column ranks_from(uint64_t from, uint64_t n);

#endif
