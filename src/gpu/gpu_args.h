/* gpu_args.h - what each kernel takes: one struct, by value. */
#ifndef SX_GPU_ARGS_H
#define SX_GPU_ARGS_H

#include "place/backend.h"

typedef struct {                  /* see sx_lookup */
    sx_view v;
    int op, key_type;
    uint32_t rank_bytes, out_bytes;
    uint64_t n;
    const void *q;
    void *out, *keys;
} sx_gpu_lookup;

typedef struct {                  /* see sx_span_query */
    sx_view v;
    int key_type;
    uint32_t last;
    uint64_t n, limit;
    const void *lo, *hi;
    uint64_t *start, *count;      /* start may be NULL */
} sx_gpu_spans;

typedef struct {                  /* see sx_span_fill; outputs [from, to) */
    sx_view v;
    int key_type;
    uint32_t row_bytes;
    uint64_t n, from, to;
    const uint64_t *start, *first;
    void *rows, *keys;            /* of output `from` on */
} sx_gpu_fill;

typedef struct {                  /* see sx_span_folds */
    sx_view v;
    uint64_t n;
    const uint64_t *start, *count;
    uint64_t *min, *max, *sum;
} sx_gpu_fold;

/* What is found out about an input on the way. */
typedef struct {
    unsigned long long max_row;
    unsigned long long reserved_at;   /* first row of all ones, or n */
    unsigned long long descent_at;    /* first key above the next one, or n */
    unsigned long long repeat_at;     /* first key equal to the next one, or n */
} sx_gpu_facts;

typedef struct {
    uint64_t n;
    int key_type, row_type;
    uint32_t row_bytes;           /* to store rows with */
    const void *in_keys, *in_rows;
    void *keys, *rows;
    sx_gpu_facts *facts;
} sx_gpu_input;

typedef struct {
    sx_view v;
    const void *from_keys, *from_rows;
    unsigned char *keys, *rows, *pivots;
} sx_gpu_build;

#endif
