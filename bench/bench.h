/* bench.h - the parts of sextant-bench.
 *
 * bench_work.c   keys, questions, and the right answers from plain binary
 *                search, which is timed on the way
 * bench_run.c    one index, one operation: time and wrong answers
 * bench_print.c  the header, then a line for each measurement
 * bench_collect.c  threads with one key each, collected and not
 * bench_sweep.c  batches of many sizes, for the CPU or the GPU
 * bench_main.c   options, and the loop over specs and operations
 * bench_gpu.h    the same on a GPU, whose memory holds all of it */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "io.h"
#include "json.h"
#include "open.h"
#include "reference.h"
#include "skew.h"

#define OP_WORDS "get,rank,floor,ceil,key_at,range"
#define GPU_OP_WORDS "get_pageable,get_pinned,small,range_rows,range_pageable,range_pinned,lines"

enum {                            /* on a GPU only, in this order */
    OP_GET_PAGEABLE = OP_COUNT,
    OP_GET_PINNED,
    OP_SMALL,
    OP_RANGE_ROWS,
    OP_RANGE_PAGEABLE,
    OP_RANGE_PINNED,
    OP_LINES,                     /* of no index: the host's memory */
    OP_ALL
};

enum { SPECS_MAX = 64, BATCHES_MAX = 32 };

typedef struct {
    char *text;                   /* a copy, cut at the commas */
    const char *spec[SPECS_MAX];
    int count;
} spec_list;

enum { ROWS_NONE = 1, ROWS_32, ROWS_64 }; /* in the order of --rows */

typedef struct {
    open_options open;
    int type, dist, rows;
    uint64_t n, queries, runs, hits, seed;
    uint64_t batch;               /* the one whose turn it is; 0: all */
    uint64_t batches[BATCHES_MAX]; /* at least one */
    int batch_count;
    double misses;
    bool zipf, json, unique;
    int skew;                     /* as settled, with --zipf: a skew_kind */
    const char *keys;             /* a file; NULL: of the distribution */
    sx_column file_keys;          /* the keys of that file; whoever makes keys
                                     of it frees it */
    bool latency;                 /* of each call, too */
    bool explain;                 /* JSON: with how the index is made up */
    bool sorted;                  /* from here on: on a GPU only */
    uint64_t ranges;              /* 0: by hits */
    uint64_t builds;              /* NOT_GIVEN: some */
    bool from_host;               /* builds read the host's memory */
    bool collect;                 /* from here on: with --collect only */
    const char *submitters;
    uint64_t interval, ms;
    int sweep;                    /* 1: batch; from here on: with it only */
    const char *sizes, *plot;
} bench_options;

typedef struct {
    bench_op op;
    sx_column q;                  /* queries; ranks for key_at; lo for range */
    sx_column hi;                 /* range only */
    uint64_t *right;              /* answers */
    void *right_keys;             /* key_at only */
    uint64_t work;                /* answers, or hits for range */
    double seconds;               /* plain binary search for all queries */
} bench_task;

typedef struct {
    sx_column keys, rows;
    reference ref;
    double sort_seconds;
    sx_column point_queries;      /* shared by get, rank, floor and ceil */
    bench_task tasks[OP_COUNT];
    int task_count;
} bench_work;

/* wanted[op]: whether the operation is asked for. */
bench_work work_prepare(const bench_options *o,
                        const bool wanted[OP_COUNT]);
void work_free(bench_work *work);
/* NULL where rows are positions. */
const sx_column *work_rows(const bench_work *work);

typedef struct {
    double median_s, least_s;     /* of one pass over all queries */
    uint64_t wrong;               /* answers */
    double call_p50_s, call_p99_s; /* of one call; 0: not asked for */
} bench_result;

bench_result bench_measure(const sx_index *ix, const bench_work *work,
                           const bench_task *task, const bench_options *o);
double median_of(double *values, uint64_t n); /* sorts them */

/* How long each call took, of as many calls as there is space for. */
typedef struct {
    double *seconds;
    uint64_t n, space;
} call_times;

/* For all calls of the timed runs, if --latency is given. */
call_times calls_of(const bench_options *o, uint64_t queries,
                    uint64_t batch);
void calls_add(call_times *calls, double seconds);
/* Puts them into the result; frees them. */
void calls_end(call_times *calls, bench_result *result);


/* Returns the number of wrong answers. */
uint64_t bench_collect(const bench_options *o, const spec_list *specs,
                       sx_device *device, const bool wanted[OP_ALL],
                       const char *path);

uint64_t bench_sweep(const bench_options *o, const spec_list *specs,
                     sx_device *device, const bool wanted[OP_ALL],
                     const char *path);

typedef struct {                  /* what a line says of an index */
    const char *spec, *requested;
    const char *device;
    const char *options;          /* of its name */
    uint32_t threads;
    double bytes_per_key, build_s;
    const char *explained;        /* JSON; NULL: not asked for */
} bench_subject;

/* Times of calls, if they were asked for. */
void json_calls(json *j, const bench_result *result);

const char *op_name(int op);
/* The part of a device's name behind its first comma. */
const char *options_of(const char *device);
const char *rows_name(const bench_options *o);
/* The distribution, or the file of --keys without its folder. */
const char *keys_name(const bench_options *o);
/* What queries are where they are not uniform: ", zipf"; else "". */
const char *skew_text(const bench_options *o, char text[24]);
void version_text(char text[32]);
/* The machine, the device and the keys; its last line is still open. */
void print_title(FILE *to, const bench_options *o,
                 const sx_device_info *device);
void print_header(output *out, const bench_options *o,
                  const sx_device_info *device);
void print_line(output *out, const bench_options *o,
                const bench_subject *subject, const bench_task *task,
                const bench_result *result);

#endif
