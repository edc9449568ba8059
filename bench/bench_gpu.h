/* bench_gpu.h - sextant bench on a GPU: keys, rows, questions and answers
 * are in its memory, its own clock counts, and every answer is compared
 * there.
 *
 * bench_gpu.c        the loop over devices, specs and operations
 * bench_gpu_data.c   keys and queries, brought to the device; the sort, and
 *                    the hardware's limit: a gather
 * bench_gpu_right.c  the right answers, by plain binary search there
 * bench_gpu_check.c  a part of those, counted again on the host
 * bench_gpu_columns.c  columns on the device and on the host
 * bench_gpu_run.c    one index, one operation: time and wrong answers
 * bench_gpu_ranges.c the same of ranges whose columns are on the host
 * bench_lines.c      the limit of the host's memory: a line for each query
 * bench_gpu_print.c  the header, then a line for each measurement
 * bench_kernels.h    kernels that an index's are compared with */
#ifndef CLI_BENCH_GPU_H
#define CLI_BENCH_GPU_H

#include "bench.h"
#include "bench_kernels.h"

enum {
    DEVICES_MAX = 256,
    GPU_SMALL = 1024              /* queries of the op small */
};

typedef struct {
    const char *name[DEVICES_MAX]; /* with their options */
    int count;
} device_list;

typedef struct {
    int op;
    sx_column q;                  /* queries; ranks for key_at; lo for range */
    sx_column hi;                 /* range only */
    sx_column right;              /* answers */
    sx_column right_keys;         /* key_at only */
    uint64_t work;                /* answers, or hits for range */
    uint64_t bytes;               /* that must be read and written at least */
    double plain_s;               /* plain binary search; 0: none */
} gpu_task;

/* Columns are in device memory unless their name says otherwise. */
typedef struct {
    const bench_options *o;
    sx_device *device;
    const bench_kernels *kernels;  /* of this device */
    sx_column host_keys, host_queries;
    sx_column host_rows;          /* for builds from the host only */
    int number;                   /* type of rows and ranks */
    uint64_t row_base;            /* a key's row is this + its position */
    sx_column keys, rows;         /* in the order of the input */
    sx_column sorted_keys;        /* encoded: unsigned, of the same order */
    sx_column sorted_rows;
    sx_column queries;            /* as they are ... */
    sx_column encoded_queries;    /* ... and encoded; perhaps the same memory */
    sx_column right_rows, right_ranks;
    sx_column iota;               /* 0, 1, 2, ... */
    sx_column blank;              /* bytes that no answer has */
    uint64_t found;               /* queries that are keys */
    double sort_s, gather_s, get_s, rank_s; /* gather: for all queries */
    gpu_task tasks[OP_ALL];
    int task_count;
} gpu_bench;

/* ---- bench_gpu.c ------------------------------------------------------- */

bool is_gpu(sx_device *device);
/* Usage error unless the device exists and is on the same GPU. */
void expect_gpu(const char *name, sx_device *same);
/* Returns the number of wrong answers. */
uint64_t bench_gpu(const bench_options *o, const spec_list *specs,
                   const device_list *devices, sx_device *device,
                   const bool wanted[OP_ALL], const char *path);

/* ---- bench_gpu_data.c -------------------------------------------------- */

void gpu_prepare(gpu_bench *b);
void gpu_release(gpu_bench *b);

/* ---- bench_gpu_columns.c ----------------------------------------------- */

/* Columns in device memory, and copies to it. */
sx_column there_new(gpu_bench *b, int type, uint64_t n);
sx_column there_copy(gpu_bench *b, const sx_column *host);
void there_free(gpu_bench *b, sx_column *column);
sx_column there_part(const sx_column *whole, uint64_t from, uint64_t n);
/* A copy on the host, to be freed. */
sx_column here_copy(gpu_bench *b, const sx_column *there);

/* Fails if it can't be done. */
void gpu_measure(gpu_bench *b, measure_job *job);
/* Runs once to warm up, then `runs` times; returns the median in seconds. */
double gpu_time(gpu_bench *b, measure_job *job, uint64_t runs);
/* In how many elements of 4 or 8 bytes two columns in device memory differ. */
uint64_t gpu_differences(gpu_bench *b, const sx_column *a,
                         const sx_column *c);

/* Numbers from base on, on the host; to be freed. */
sx_column counting(int type, uint64_t n, uint64_t base);
uint64_t number_at(const sx_column *numbers, uint64_t i);
void number_put(const sx_column *numbers, uint64_t i, uint64_t number);

/* Keys of the host as unsigned numbers of the same order; to be freed. */
sx_column encoded(const sx_column *keys);
bool is_own_code(int type);       /* its keys are such numbers already */

/* ---- bench_gpu_right.c ------------------------------------------------- */

void gpu_answer(gpu_bench *b, const bool wanted[OP_ALL]);

/* ---- bench_gpu_check.c ------------------------------------------------- */

/* Fails if right_ranks or right_rows are wrong somewhere in a sample. */
void gpu_check_sample(gpu_bench *b);

/* ---- bench_gpu_run.c --------------------------------------------------- */

bench_result gpu_run(gpu_bench *b, const sx_index *ix, const gpu_task *task);

/* ---- bench_gpu_ranges.c ------------------------------------------------ */

/* batch: ranges of a call. times: space for all runs. */
/* False: memory can't be pinned, which is said once for each operation. */
bool gpu_pin(int op, void *memory, uint64_t bytes);
bench_result gpu_run_ranges(gpu_bench *b, const sx_index *ix,
                            const gpu_task *task, uint64_t batch,
                            double *times);

/* ---- bench_lines.c ----------------------------------------------------- */

bench_result lines_run(const gpu_bench *b, double *times);

/* ---- bench_gpu_print.c ------------------------------------------------- */

typedef struct {                  /* what a line says of an index */
    const char *spec, *requested;
    const char *device;           /* with its options */
    sx_device_info info;
    double bytes_per_key, build_s;
    const char *explained;        /* JSON; NULL: not asked for */
} gpu_subject;

void gpu_print_header(output *out, const bench_options *o,
                      const device_list *devices,
                      const sx_device_info *info);
void gpu_print_device(output *out, const bench_options *o,
                      const device_list *devices, int i);
void gpu_print_line(output *out, const gpu_bench *b, const gpu_subject *s,
                    const gpu_task *task, const bench_result *result);

#endif
