/* backend.h - what a backend does for the library: a short table of
 * functions. The CPU's is linked in; others are loaded at run time and
 * checked by their ABI number.
 *
 * Every function may be called from many threads at once. Failures write
 * their sentence into the caller's sx_err and change nothing. */
#ifndef SX_BACKEND_H
#define SX_BACKEND_H

#include "index/shape.h"
#include "keys/types.h"

#define SX_BACKEND_ABI 3

typedef enum { SX_OP_GET, SX_OP_RANK_LEFT, SX_OP_RANK_RIGHT, SX_OP_FLOOR,
               SX_OP_CEIL, SX_OP_KEY_AT } sx_op;

/* One batch of point questions. */
typedef struct {
    sx_op op;
    int key_type;
    uint64_t n;
    const void *q;                /* keys of key_type; KEY_AT: ranks ... */
    uint32_t rank_bytes;          /* ... of so many bytes */
    uint32_t threads;             /* at most; 0: all */
    void *out;                    /* rows or ranks, NULL: not wanted */
    uint32_t out_bytes;           /* of one of them: 4, 8 */
    void *keys;                   /* keys found, of key_type, or NULL */
    uint32_t q_there, out_there, keys_there;  /* in the device's memory */
} sx_lookup;

/* One batch of ranges, as spans of ranks [start, start + count). */
typedef struct {
    int key_type;
    uint32_t threads;
    uint64_t n;
    const void *lo, *hi;
    uint64_t limit;               /* UINT64_MAX: none */
    uint32_t last;                /* the limit keeps the last ones */
} sx_span_query;

/* Where the rows and keys of spans go: span i to [first[i], first[i+1]). */
typedef struct {
    int key_type;
    uint32_t threads;
    uint64_t n;
    const uint64_t *start, *first;
    void *rows;                   /* or NULL */
    uint32_t row_bytes;
    void *keys;                   /* or NULL */
} sx_span_fill;

/* Results of aggregation, one per span; NULL: not wanted. */
typedef struct {
    uint64_t *count, *min, *max, *sum;
} sx_span_folds;

/* Keys as they come, and sorted. */
typedef struct {
    int key_type;
    int row_type;                 /* SX_U32, SX_U64; 0: rows are positions */
    uint32_t threads;
    uint32_t unique;
    uint64_t n;
    const void *keys, *rows;
    uint32_t keys_there, rows_there;          /* in the device's memory */
} sx_input;

typedef struct {
    uint64_t n, max_row;
    uint32_t width;
    uint32_t row_bytes;           /* 0: the input ascends and rows are ranks */
    void *keys;                   /* whole lines, the rest the largest key */
    void *rows;
    void *spare_keys, *spare_rows; /* arrays the sort needed, at least as large;
                                     build may make sections of them. Or NULL */
    uint64_t spare_key_bytes;
} sx_sorted;

typedef struct {
    uint32_t abi;
    const char *name;             /* "cpu" */
    uint32_t host_sections;       /* sections are memory the host can read */
    uint32_t device_columns;      /* columns may lie in the device's memory */
    uint32_t node_bytes;          /* of a node, unless a spec says else: what
                                     one step of a walk reads best */

    /* args: what follows "name:", or "". */
    sx_status (*open)(void **self, const char *args, sx_err *err);
    void (*close)(void *self);
    /* Fills name, detail, threads, memory of an open device. */
    void (*describe)(const void *self, sx_device_info *info);

    /* Memory where this backend's sections live. */
    sx_status (*alloc)(void *self, void **out, uint64_t bytes,
                       const char *what, sx_err *err);
    void (*release)(void *self, void *block);
    /* Host memory to such memory and back; NULL where host_sections. */
    sx_status (*copy_in)(void *self, void *to, const void *host, uint64_t bytes, sx_err *err);
    sx_status (*copy_out)(void *self, void *host, const void *from, uint64_t bytes, sx_err *err);

    sx_status (*sort)(void *self, const sx_input *in, sx_sorted *out, sx_err *err);
    /* Makes the sections of a shape. It may keep arrays of `sorted` as
     * sections, and sets those to NULL there. base[] is all NULL before. */
    sx_status (*build)(void *self, const sx_view *shape, sx_sorted *sorted,
                       uint32_t threads, void *base[SX_SECTION_KINDS],
                       sx_err *err);
    /* Most memory that sort and build of this shape take, all at once. */
    uint64_t (*build_peak)(const void *self, const sx_view *shape);

    sx_status (*lookup)(void *self, const sx_view *v, const sx_lookup *job, sx_err *err);
    sx_status (*spans)(void *self, const sx_view *v, const sx_span_query *job,
                       uint64_t *start, uint64_t *count, sx_err *err);
    sx_status (*fill)(void *self, const sx_view *v, const sx_span_fill *job, sx_err *err);
    sx_status (*fold)(void *self, const sx_view *v, const sx_span_query *job,
                      const sx_span_folds *out, sx_err *err);
} sx_backend;

extern const sx_backend sx_backend_cpu, sx_backend_simt;

#endif
