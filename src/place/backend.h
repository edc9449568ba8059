/* backend.h - what a backend does for the library: a short table of
 * functions. The CPU's and the emulator's are linked in; CUDA's is loaded at
 * run time and checked by its ABI number.
 *
 * Every function may be called from many threads at once. Failures write
 * their sentence into the caller's sx_err and change nothing. */
#ifndef SX_BACKEND_H
#define SX_BACKEND_H

#include "base/tick.h"
#include "family/shape.h"
#include "keys/types.h"

#define SX_BACKEND_ABI 19

typedef enum { SX_OP_GET, SX_OP_RANK_LEFT, SX_OP_RANK_RIGHT, SX_OP_FLOOR,
               SX_OP_CEIL, SX_OP_KEY_AT } sx_op;

/* How a pgm's last level is reached: level by level, or by a search in it at
 * once. No part of an index: either answers the same. */
typedef enum { SX_SEARCH_ANY, SX_SEARCH_COMPLETE, SX_SEARCH_CONCISE } sx_search;

/* How a call runs; see sx_call. */
typedef struct {
    uint32_t threads;             /* at most; 0: all */
    uint32_t hints;
    void *stream;                 /* NULL: wait */
    uint32_t *status;
    uint64_t *device_ns;
    sx_progress *progress;        /* or NULL; units are queries or ranges, but for those
                                     of a second half, which counts its own */
} sx_how;

/* The runs of an index that a call is answered from, in one memory; a launch gets all of them.
 * There is one, until there are updates. Then there are several, the newest first, and what is
 * said of an index below is meant of all its runs together:
 *   - a rank is the sum of the ranks in each run, those of a run that takes keys away
 *     subtracted;
 *   - the row of a key is that of the newest run that has it;
 *   - a span of ranks is a span in each run, its results merged in the order of keys;
 *   - entries are of the oldest run, which has nearly all keys; the others are small.
 * So kernels will loop over the list where they take its one view now (gpu_args.h), and with
 * SX_RUNS_MAX grows what a launch carries: 504 bytes a view of the 4096 that every GPU takes. */
#define SX_RUNS_MAX 1u

typedef struct {
    uint32_t count;               /* at least 1 */
    const sx_view *of[SX_RUNS_MAX];
} sx_views;

/* The one that backends look at, as long as there is one: whoever calls this is to be looked at
 * when there are more. */
static inline const sx_view *sx_one_view(const sx_views *views)
{
    return views->of[0];
}

/* A list of this one. */
#define SX_ONE_VIEW(v) (&(const sx_views){1, {(v)}})

/* One batch of point questions. _there: in the device's memory. */
typedef struct {
    sx_op op;
    int key_type;
    uint64_t n;
    const void *q;                /* keys of key_type; KEY_AT: ranks ... */
    uint32_t rank_bytes;          /* ... of so many bytes; or NULL and 0: query i has
                                     the rank sx_some_rank(i, ahead, n) */
    uint32_t ahead;
    uint32_t out_bytes;           /* of a row or rank: 4, 8 */
    void *out;                    /* rows or ranks, NULL: not wanted */
    void *keys;                   /* keys found, of key_type, or NULL */
    uint32_t q_there, out_there, keys_there;
    const sx_state *entry;        /* where each walk goes on, or NULL; see sx_steps */
    sx_how how;
} sx_lookup;

/* One batch of ranges. */
typedef struct {
    int key_type;
    uint32_t last;                /* the limit keeps the last ones */
    uint64_t n;
    const void *lo, *hi;
    uint64_t limit;               /* UINT64_MAX: none */
    uint32_t lo_there, hi_there;
    const sx_state *entry_lo, *entry_hi;  /* or NULL */
    sx_how how;
} sx_span_query;

/* Ranges as spans of ranks: where each begins, and how many ranks it has; when that is
 * summed up, how many results are before it. */
typedef struct {
    uint64_t n;
    uint64_t *start;              /* or NULL: not wanted */
    uint64_t *first;              /* summed up: one more than there are spans */
    uint32_t there;               /* both are in the backend's memory, not on the host */
    uint32_t last;                /* no results are to follow: a stream's status word is
                                     written */
} sx_spans;

/* Levels [from, to) of walks in an upper part (family/state.h), of which there are as many as
 * the family's levels() says. Behind the last of them states are entries, from where the CPU's
 * walk goes on. All columns are on the host. */
typedef struct {
    int key_type;
    uint32_t right;               /* of the key's successor: for right ranks, floor */
    uint64_t n;
    const void *q;
    uint32_t from, to;
    const sx_state *in;           /* NULL: from is 0 */
    sx_state *out;                /* may be `in` */
    uint32_t threads;
} sx_steps;

/* Where the rows and keys of ranges go: of range i to [first[i], first[i+1]). */
typedef struct {
    uint64_t *first;              /* one more than there are ranges */
    void *rows, *keys;            /* or NULL */
    uint32_t rows_wanted, keys_wanted;    /* though they may have space for none */
    uint64_t rows_space, keys_space;
    uint32_t row_bytes;
    uint32_t first_there, rows_there, keys_there;
    uint64_t max_bytes;           /* of scratch; 0: any */
} sx_range_out;

/* Results of aggregation, one per range; NULL: not wanted. */
typedef struct {
    uint64_t *count, *min, *max, *sum;
    uint32_t count_there, min_there, max_there, sum_there;
} sx_range_folds;

/* Keys as they come, and sorted. */
typedef struct {
    int key_type;
    int row_type;                 /* SX_U32, SX_U64; 0: rows are positions */
    uint32_t threads;
    uint32_t unique;
    uint64_t n;
    const void *keys, *rows;
    uint32_t keys_there, rows_there;
    void *stream;                 /* the columns are there when it has come so far */
    sx_progress *progress;        /* of the sort; or NULL */
} sx_input;

typedef struct {
    uint64_t n;                   /* keys here: all, or each value once */
    uint64_t ranks;               /* keys that there are */
    uint64_t values;              /* different ones among them */
    uint64_t max_row;
    uint32_t width;
    uint32_t row_bytes;           /* 0: the input ascends and rows are ranks */
    void *keys;                   /* whole lines, the rest the largest key */
    void *rows;                   /* of all ranks */
    void *starts;                 /* NULL, or keys are each value once (see sx_view) */
    void *spare_keys, *spare_rows; /* arrays the sort needed, at least as large;
                                     build may make sections of them. Or NULL */
    uint64_t spare_key_bytes;
    sx_progress *progress;        /* of builds, a step each; or NULL. Set after the
                                     sort */
} sx_sorted;

static inline sx_facts sx_facts_of(const sx_sorted *s)
{
    sx_facts f = {s->n, s->ranks, s->width, s->row_bytes, s->n == s->values && s->n > 0};

    return f;
}

static inline void sx_hand_over(void **from, void **to, int stays)
{
    if (stays) {
        *to = *from;
        *from = NULL;
    }
}

/* Arrays that are sections as they are become those; and are arrays again. */
static inline void sx_sorted_give(sx_sorted *s, const sx_view *v, void *base[SX_SECTIONS])
{
    sx_hand_over(&s->keys, &base[SX_SEC_KEYS], sx_section_stays(v, SX_SEC_KEYS));
    sx_hand_over(&s->rows, &base[SX_SEC_ROWS], sx_section_stays(v, SX_SEC_ROWS));
    sx_hand_over(&s->starts, &base[SX_SEC_STARTS], sx_section_stays(v, SX_SEC_STARTS));
}

static inline void sx_sorted_take_back(sx_sorted *s, const sx_view *v, void *base[SX_SECTIONS])
{
    sx_hand_over(&base[SX_SEC_KEYS], &s->keys, sx_section_stays(v, SX_SEC_KEYS));
    sx_hand_over(&base[SX_SEC_ROWS], &s->rows, sx_section_stays(v, SX_SEC_ROWS));
    sx_hand_over(&base[SX_SEC_STARTS], &s->starts, sx_section_stays(v, SX_SEC_STARTS));
}

/* How columns of the host come to a device and back: what a cost is computed
 * with. Who answers where either side could, if the device's name says. */
enum { SX_SIDE_CPU = 1, SX_SIDE_GPU };

typedef struct {
    uint64_t direct_bytes;        /* batches of so many bytes are not copied: kernels
                                     read and write them over there */
    uint64_t chunk;               /* elements of a larger one that travel together (CPU:
                                     that are worth waking a thread for) ... */
    uint64_t channel_bytes;          /* ... or an eighth of it, but not more than this */
    uint64_t stage_bytes;         /* device memory that what is on its way takes; where
                                     there is less, less */
    uint64_t sample;              /* questions that keep all of the device busy; of a GPU only */
    uint32_t side;                /* 0: not told */
    uint32_t alone;               /* a CPU that was told to use one thread */
} sx_travel;

typedef struct {
    uint32_t abi;
    const char *name;             /* "cpu" */
    uint32_t gpu;                 /* it has memory of its own, where sections are and
                                     columns may be; else the host's are its own */
    sx_target target;             /* what sections are made for */

    /* args: what follows the name and its colon or comma, or "". */
    sx_status (*open)(void **self, const char *args, sx_err *err);
    void (*close)(void *self);
    /* Fills name, detail, threads, memory of an open device. */
    void (*describe)(const void *self, sx_device_info *info);

    /* Memory where this backend's sections live. */
    sx_status (*alloc)(void *self, void **out, uint64_t bytes,
                       const char *what, sx_err *err);
    void (*release)(void *self, void *block);
    /* Before memory is released that calls with streams may still use; or NULL. */
    void (*settle)(void *self);
    /* Between any two of host memory and such memory (there); NULL for a CPU. */
    sx_status (*copy)(void *self, void *to, int to_there, const void *from, int from_there,
                      uint64_t bytes, sx_err *err);

    sx_status (*sort)(void *self, const sx_input *in, sx_sorted *out, sx_err *err);
    /* Keys become each value once, and get their starts; what the sort left besides is
     * given back. On failure all is as it was. */
    sx_status (*once)(void *self, sx_sorted *sorted, uint32_t threads, sx_err *err);
    /* Makes the sections of a shape, and completes it where it depends on the
     * keys (the levels of a pgm). It may keep arrays of `sorted` as sections,
     * and sets those to NULL there. base[] is all NULL before. */
    sx_status (*build)(void *self, sx_view *shape, sx_sorted *sorted,
                       uint32_t threads, void *base[SX_SECTIONS],
                       sx_err *err);
    /* Most memory that sort, once and build of this shape take, all at once. */
    uint64_t (*build_peak)(const void *self, const sx_view *shape);

    sx_status (*lookup)(void *self, const sx_views *views, const sx_lookup *job, sx_err *err);
    /* Finds ranges; and writes the `total` rows and keys of spans that are summed up, from
     * wherever these are. total UINT64_MAX: with a stream, all of them if they have space. */
    sx_status (*spans)(void *self, const sx_views *views, const sx_span_query *job,
                       const sx_spans *to, sx_err *err);
    sx_status (*fill)(void *self, const sx_views *views, const sx_span_query *job,
                      const sx_spans *spans, const sx_range_out *out, uint64_t total, sx_err *err);
    /* Aggregates of the rows of ranges. */
    sx_status (*fold)(void *self, const sx_views *views, const sx_span_query *job,
                      const sx_range_folds *out, sx_err *err);

    /* The rest is a GPU's, and NULL elsewhere unless it says else: memory from the
     * caller, and what a pointer is. */
    sx_status (*use_allocator)(void *self, const sx_allocator *allocator, sx_err *err);
    /* Fails if p, `bytes` long, is certainly not memory of the place. */
    sx_status (*check_pointer)(void *self, const void *p, uint64_t bytes, int place,
                               const char *verb, const char *name, sx_err *err);

    /* Of spans there: memory in the order of a stream (NULL: its own); their sum, UINT64_MAX
     * with a stream (scratch NULL: only says how many bytes it must have); offsets to the
     * host. */
    sx_status (*scratch)(void *self, void *stream, void **out, uint64_t bytes, sx_err *err);
    void (*unscratch)(void *self, void *stream, void *p);
    sx_status (*sum_up)(void *self, void *stream, const sx_spans *spans, void *scratch,
                        uint64_t *bytes, uint64_t *total, sx_err *err);
    sx_status (*offsets)(void *self, const sx_how *how, const sx_spans *spans, uint64_t *to,
                         sx_err *err);

    /* Some levels of walks; `upper` is an index of which this device may have the upper part
     * only. A CPU has this one, too. How many queries are worth a trip; and host memory that
     * states travel to without a copy in between. */
    sx_status (*steps)(void *self, const sx_views *upper, const sx_steps *job, sx_err *err);
    uint64_t (*bucket)(const void *self);
    sx_status (*pin)(void *self, void **out, uint64_t bytes, sx_err *err);
    void (*unpin)(void *self, void *block);
    /* Bytes of memory that an index could take now; UINT64_MAX: nobody knows. */
    uint64_t (*space)(void *self);

    /* How this device was told to search a pgm's lines (search=). Every backend
     * has it. */
    sx_search (*search)(const void *self);
    /* A CPU has this one, too. */
    void (*travel)(const void *self, sx_travel *out);
    /* Whether memory of the host needs no copy on its way. */
    int (*is_pinned)(void *self, const void *p);
} sx_backend;

extern const sx_backend sx_backend_cpu, sx_backend_simt;

#endif
