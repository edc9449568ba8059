/* backend.h - what a backend does for the library, as a short table of
 * functions. The CPU's and the emulator's are linked in. CUDA's is loaded at
 * run time and checked by its ABI number.
 *
 * Every function may be called from many threads at once. One that fails
 * writes its sentence into the caller's sx_err and changes nothing. */
#ifndef SX_BACKEND_H
#define SX_BACKEND_H

#include "base/tick.h"
#include "family/shape.h"
#include "keys/slice.h"

#define SX_BACKEND_ABI 34

typedef enum { SX_OP_GET, SX_OP_RANK_LEFT, SX_OP_RANK_RIGHT, SX_OP_FLOOR,
               SX_OP_CEIL, SX_OP_KEY_AT } sx_op;

/* The side of the bound that answers it. */
SX_FN sx_side sx_side_of(int op)
{
    return op == SX_OP_RANK_RIGHT || op == SX_OP_FLOOR ? SX_RIGHT : SX_LEFT;
}

/* How a walk comes to a pgm's last level: level by level, or by a search of that
 * level at once. This is no part of an index: both answer the same. */
typedef enum { SX_SEARCH_ANY, SX_SEARCH_COMPLETE, SX_SEARCH_CONCISE } sx_search;

/* What a CPU does beside a question, since its threads wait for memory anyway: fn(work, first, end)
 * for parts of the batch, each element in one of them, before the call returns SX_OK. What it writes
 * past the caches (base/past.h) others see, too. fn NULL: nothing. */
typedef struct {
    void (*fn)(void *work, uint64_t first, uint64_t end);
    void *work;
} sx_beside;

/* How a call runs; see sx_call. */
typedef struct {
    uint32_t threads;             /* at most; 0: all */
    uint32_t hints;
    void *stream;                 /* NULL: wait */
    uint32_t *status;
    uint64_t *device_ns;
    sx_progress *progress;        /* or NULL; units are queries, ranges or results */
    sx_beside beside;             /* points, spans and folds only */
    uint64_t batch;               /* queries or ranges of the whole call, of which a job may have a part */
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
 * SX_RUNS_MAX grows what a launch carries: 560 bytes a view of the 4096 that every GPU takes. */
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

/* Codes of strings, one for each query of a batch, as wide as the view's keys; or NULL: they are not
 * known yet. */
typedef struct {
    unsigned char *code;
    uint64_t *same;
} sx_text_codes;

/* Those from query `at` on. */
static inline sx_text_codes sx_text_codes_from(const sx_text_codes *c, uint64_t at, uint32_t width)
{
    sx_text_codes rest = *c;

    if (c->code) {
        rest.code += at * width;
        rest.same += at;
    }
    return rest;
}

/* One batch of point questions. Of columns of its size a batch takes the first n elements. */
typedef struct {
    sx_op op;
    int key_type;
    uint64_t n;
    sx_slice q;                   /* keys of key_type; KEY_AT: ranks of 4 or 8 bytes, or none:
                                     query i has the rank sx_some_rank(i, ahead, n) */
    uint32_t ahead;
    sx_slice out;                 /* rows or ranks, of 4 or 8 bytes; or none: not wanted */
    sx_slice keys;                /* keys found, of key_type; or none */
    sx_slice at;                  /* of strings, in place of keys: positions, uint64_t, all ones
                                     for none; or none. It may be q, of ranks */
    const sx_state *entry;        /* where each walk continues, or NULL; see sx_steps */
    sx_text_codes codes;          /* of q; a CPU's */
    sx_how how;
} sx_lookup;

/* Strings at positions, one behind the other. */
typedef struct {
    uint64_t n;
    const uint64_t *at;           /* in the backend's memory. All ones, or past the end: an empty
                                     one */
    sx_slice to;                  /* n + 1 offsets are written if there is no data; with data strings
                                     are, where these say; with a stream both, if there is space */
    uint64_t *total;              /* bytes; without data and without a stream */
    sx_how how;
} sx_string_take;

/* One batch of ranges. */
typedef struct {
    int key_type;
    uint32_t last;                /* the limit keeps the last results of a range */
    uint32_t prefix;              /* ranges hold all that begin with lo. Strings: hi is lo. Keys,
                                     on a CPU or if the family has SX_FINDS_PREFIXES: hi has how
                                     many bits of each, uint32_t; it is none if ... */
    uint32_t length;              /* ... so many are of all */
    uint64_t n;
    sx_slice lo, hi;
    uint64_t limit;               /* UINT64_MAX: none */
    const sx_state *entry_lo, *entry_hi;  /* or NULL */
    sx_text_codes codes_lo, codes_hi;     /* a CPU's */
    sx_how how;
} sx_span_query;

/* Ranges as spans of ranks. first[] has how many ranks each has and, once it is summed up,
 * how many results are before it. */
typedef struct {
    uint64_t n;
    uint64_t *start;              /* where each begins; NULL: not wanted */
    uint64_t *first;              /* one more than there are spans */
    uint32_t there;               /* both are in the backend's memory, not on the host */
    uint32_t last;                /* no results follow, so a stream's status word is
                                     written now */
    uint32_t threads;             /* of a CPU that sums up, at most; 0: all */
} sx_spans;

/* Levels [from, to) of walks in an upper part (family/state.h), of which there are as many as
 * the family's levels() says. Behind the last level states are entries, where the CPU's walk
 * continues. All columns are on the host. The first queries of a batch, its head, may have other
 * levels than the rest: so two sides share a level. */
typedef struct {
    int key_type;
    sx_side side;                 /* of the bounds that the walks end at */
    uint64_t n;
    sx_slice q;
    uint32_t from, to;
    uint64_t head;                /* queries; 0: there is no head ... */
    uint32_t head_from, head_to;  /* ... that has these levels */
    const sx_state *in;           /* NULL: walks begin at level 0 */
    sx_state *out;                /* may be `in` */
    uint32_t threads;
} sx_steps;

/* Of n queries from `at` on, those that are in a head. */
static inline uint64_t sx_head_part(uint64_t head, uint64_t at, uint64_t n)
{
    return head <= at ? 0 : head - at < n ? head - at : n;
}

/* Where the rows and keys of ranges go: those of range i to [first[i], first[i+1]). */
typedef struct {
    sx_slice first;               /* uint64_t, one more than there are ranges */
    sx_slice rows, keys;          /* or none; their n is the space there is */
    sx_slice at;                  /* of strings, in place of keys, and then of rows, too: positions,
                                     uint64_t; or none */
    uint64_t max_bytes;           /* of scratch; 0: any */
} sx_range_out;

/* Results of aggregation, uint64_t, one per range; or none: not wanted. */
typedef struct {
    sx_slice count, min, max, sum;
} sx_range_folds;

#define SX_CLIMB_ENDLESS (UINT32_MAX - 1)     /* no limit, so circles are looked for */

/* One batch of climbs; see sx_climbs. */
typedef struct {
    int key_type;
    uint32_t limit;               /* steps; at most SX_CLIMB_ENDLESS */
    uint64_t n;
    sx_slice of, parents;         /* parents has its own number of elements */
    sx_slice rows, keys, steps;   /* or none */
    sx_slice at;                  /* of strings, in place of keys: as in sx_lookup */
    sx_how how;
} sx_climb_query;

/* Keys whose parents lead in a circle: the first of them, UINT64_MAX if there is none; and how
 * many there are. */
typedef struct {
    uint64_t first, count;
} sx_circles;

/* Prefixes in device memory, and the ends of the ranges that they are. */
typedef struct {
    int key_type;
    uint32_t length;              /* bits of all, if `bits` is NULL */
    uint64_t n;
    const void *of;
    const uint32_t *bits;
    void *lo, *hi;
} sx_prefix_ends;

/* Keys that are wanted as soon as they are sorted. A GPU brings them with the rest of what it says
 * of them, so that nobody waits for them alone; others leave them. */
typedef struct sx_peek {
    uint64_t n;
    uint64_t *rank;
    void *keys;                   /* as they are stored */
    int taken;                    /* they are there */
    uint64_t of;                  /* keys that are sorted */
    void (*choose)(const struct sx_peek *peek);   /* sets `rank`, while the sort is under way;
                                                     NULL: they are set */
} sx_peek;

/* Keys as they come in; and sorted, below. */
typedef struct {
    int key_type;
    int row_type;                 /* SX_U32, SX_U64; 0: rows are positions, there are none */
    uint32_t threads;
    uint16_t unique;
    uint16_t code_bytes;          /* of strings: 4 or 8 */
    uint64_t n;
    sx_slice keys, rows;
    void *stream;                 /* the columns are complete when it has come to this call */
    sx_progress *progress;        /* of the sort; or NULL */
    sx_peek *peek;                /* or NULL */
} sx_input;

typedef struct {
    uint64_t n;                   /* keys in `keys`: all of them, or each value once */
    uint64_t ranks;               /* all keys there are */
    uint64_t values;              /* different keys among them */
    uint64_t max_row;
    uint32_t width;
    uint32_t row_bytes;           /* 0: the input ascends and rows are ranks */
    void *keys;                   /* whole lines; the largest key fills the last one */
    void *rows;                   /* of all ranks */
    void *starts;                 /* NULL unless keys are each value once (see sx_view) */
    sx_strings strings;           /* keys are codes of these; offset_bytes 0: they are not */
    void *offsets, *bytes, *groups, *marks;       /* of strings: their sections */
    uint64_t string_values;       /* different strings */
    void *tally;                  /* of a GPU's sort: what once() needs to know; or NULL */
    void *early_keys, *early_starts; /* of few keys on a GPU: each value once, made before anybody asks for
                                     it; or NULL. once() takes them, and leaves all keys in their place */
    void *spare_keys, *spare_rows; /* arrays the sort needed, at least as large, or NULL;
                                     build may make sections of them */
    uint64_t spare_key_bytes;
    sx_progress *progress;        /* of builds, each of which is a step; or NULL. It is set
                                     after the sort */
} sx_sorted;

static inline sx_facts sx_facts_of(const sx_sorted *s)
{
    sx_facts f = {s->n, s->ranks, s->width, s->row_bytes, s->n == s->values && s->n > 0,
                  s->strings};

    return f;
}

/* How many keys there are if equal ones are stored once. Different strings may have equal codes. */
static inline uint64_t sx_values_of(const sx_sorted *s)
{
    return s->strings.offset_bytes ? s->string_values : s->values;
}

static inline void sx_hand_over(void **from, void **to, int stays)
{
    if (stays) {
        *to = *from;
        *from = NULL;
    }
}

/* Arrays that are sections as they are become sections; then they become arrays again. */
static inline void sx_sorted_give(sx_sorted *s, const sx_view *v, void *base[SX_SECTIONS])
{
    sx_hand_over(&s->keys, &base[SX_SEC_KEYS], sx_section_stays(v, SX_SEC_KEYS));
    sx_hand_over(&s->rows, &base[SX_SEC_ROWS], sx_section_stays(v, SX_SEC_ROWS));
    sx_hand_over(&s->starts, &base[SX_SEC_STARTS], sx_section_stays(v, SX_SEC_STARTS));
    sx_hand_over(&s->offsets, &base[SX_SEC_OFFSETS], sx_section_stays(v, SX_SEC_OFFSETS));
    sx_hand_over(&s->bytes, &base[SX_SEC_BYTES], sx_section_stays(v, SX_SEC_BYTES));
    sx_hand_over(&s->groups, &base[SX_SEC_GROUPS], sx_section_stays(v, SX_SEC_GROUPS));
    sx_hand_over(&s->marks, &base[SX_SEC_MARKS], sx_section_stays(v, SX_SEC_MARKS));
}

static inline void sx_sorted_take_back(sx_sorted *s, const sx_view *v, void *base[SX_SECTIONS])
{
    sx_hand_over(&base[SX_SEC_KEYS], &s->keys, sx_section_stays(v, SX_SEC_KEYS));
    sx_hand_over(&base[SX_SEC_ROWS], &s->rows, sx_section_stays(v, SX_SEC_ROWS));
    sx_hand_over(&base[SX_SEC_STARTS], &s->starts, sx_section_stays(v, SX_SEC_STARTS));
    sx_hand_over(&base[SX_SEC_OFFSETS], &s->offsets, sx_section_stays(v, SX_SEC_OFFSETS));
    sx_hand_over(&base[SX_SEC_BYTES], &s->bytes, sx_section_stays(v, SX_SEC_BYTES));
    sx_hand_over(&base[SX_SEC_GROUPS], &s->groups, sx_section_stays(v, SX_SEC_GROUPS));
    sx_hand_over(&base[SX_SEC_MARKS], &s->marks, sx_section_stays(v, SX_SEC_MARKS));
}

/* Who answers where both sides could, if the device's name says it. */
enum { SX_SIDE_CPU = 1, SX_SIDE_GPU };

/* How the sides of a hybrid index share a batch: `own` of SX_SHARE_ALL queries the CPU answers all by
 * itself, and these are its first. For the others it walks `depth` levels of the upper part, for
 * `share` of SX_SHARE_ALL of each bucket one more, and the GPU the rest. */
#define SX_SHARE_ALL 1024u
typedef struct {
    uint32_t depth, share, own;
} sx_balance;

/* Of a batch of n queries: those that the CPU answers without entries. */
static inline uint64_t sx_balance_own(const sx_balance *b, uint64_t n)
{
    return (n * b->own + SX_SHARE_ALL / 2) / SX_SHARE_ALL;
}

/* Whether that leaves nothing for a GPU that has so many levels. */
static inline int sx_balance_alone(const sx_balance *b, uint32_t levels)
{
    return b->depth >= levels || b->own >= SX_SHARE_ALL;
}

/* Whether the CPU walks anything of the upper part before the GPU does. */
static inline int sx_balance_walks(const sx_balance *b)
{
    return b->depth > 0 || b->share > 0;
}

/* Queries of a bucket of n for which it walks one level more. */
static inline uint64_t sx_balance_head(const sx_balance *b, uint64_t n)
{
    return (n * b->share + SX_SHARE_ALL / 2) / SX_SHARE_ALL;
}

/* What of the buckets of a hybrid index is done at the same time; 0 is the usual one.
 *   sequential  one bucket is under way, on one side or on the other; queries of the CPU's own
 *               are answered while it is on the GPU
 *   pipelined   one is on the GPU, while the CPU works on others
 *   double      two are on the GPU: one may be copied while the kernel works on the other */
enum { SX_BUCKETS_SEQUENTIAL = 1, SX_BUCKETS_PIPELINED, SX_BUCKETS_DOUBLE };

/* How columns of the host come to a device and back; the cost model computes with it. */
typedef struct {
    uint64_t direct_bytes;        /* batches of at most this size are not copied: kernels
                                     read and write them in pinned memory */
    uint64_t chunk;               /* the least elements of a larger batch that travel together
                                     (CPU: that are worth waking a thread for). A chunk is an
                                     eighth of the batch if that is more, ... */
    uint64_t channel_bytes;       /* ... but at most this large */
    uint64_t stage_bytes;         /* device memory that columns on their way take, or less
                                     where less is free */
    uint64_t sample;              /* questions that keep all of the device busy; of a GPU only */
    uint32_t side;                /* SX_SIDE_; 0: the device's name does not say it */
    uint32_t strategy;            /* SX_BUCKETS_; the same */
    uint32_t balanced;            /* the name says this balance, ... */
    sx_balance balance;           /* ... which an index may have too few levels for */
    uint32_t alone;               /* a CPU whose name or SEXTANT_THREADS says one thread */
} sx_travel;

typedef struct {
    uint32_t abi;
    const char *name;             /* "cpu" */
    uint32_t gpu;                 /* it has memory of its own, where sections are and
                                     columns may be. Otherwise both are in the host's */
    sx_target target;             /* what sections are made for */

    /* args: the part of the name behind its first colon or comma, or "". */
    sx_status (*open)(void **self, const char *args, sx_err *err);
    void (*close)(void *self);
    /* Fills name, detail, threads, memory of an open device. */
    void (*describe)(const void *self, sx_device_info *info);

    /* Memory where this backend's sections live. */
    sx_status (*alloc)(void *self, void **out, uint64_t bytes,
                       const char *what, sx_err *err);
    void (*release)(void *self, void *block);
    /* Waits for calls with streams that may still use memory about to be released; or NULL. */
    void (*settle)(void *self);
    /* From host memory or this backend's (there) to either of them; NULL for a CPU. */
    sx_status (*copy)(void *self, void *to, int to_there, const void *from, int from_there,
                      uint64_t bytes, sx_err *err);

    sx_status (*sort)(void *self, const sx_input *in, sx_sorted *out, sx_err *err);
    /* Reduces keys to each value once, and makes their starts. It gives back the spare arrays
     * first; on failure the rest is as it was. */
    sx_status (*once)(void *self, sx_sorted *sorted, uint32_t threads, sx_err *err);
    /* Makes the sections of a shape, and completes a shape that depends on the keys
     * (the levels of a pgm). It may keep arrays of `sorted` as sections, and sets
     * those to NULL there. base[] is all NULL before. */
    sx_status (*build)(void *self, sx_view *shape, sx_sorted *sorted,
                       uint32_t threads, void *base[SX_SECTIONS],
                       sx_err *err);
    /* Most memory that sort, once and build of this shape take at any time. */
    uint64_t (*build_peak)(const void *self, const sx_view *shape);

    sx_status (*lookup)(void *self, const sx_views *views, const sx_lookup *job, sx_err *err);
    /* spans finds ranges. fill writes the `total` rows and keys of spans that are summed up,
     * wherever the spans are. total UINT64_MAX: with a stream, all of them if they have space. */
    sx_status (*spans)(void *self, const sx_views *views, const sx_span_query *job,
                       const sx_spans *to, sx_err *err);
    sx_status (*fill)(void *self, const sx_views *views, const sx_span_query *job,
                      const sx_spans *spans, const sx_range_out *out, uint64_t total, sx_err *err);
    /* See sx_string_take. */
    sx_status (*take_strings)(void *self, const sx_views *views, const sx_string_take *job,
                              sx_err *err);
    /* Codes of n strings of the host, and what they share with strings of the same code (sx_code_walk):
     * a hybrid index searches for these. A CPU's; others have NULL. */
    void (*codes)(void *self, const sx_views *views, const sx_slice *q, uint64_t n, uint32_t threads,
                  const sx_text_codes *to);
    /* The most bytes of scratch that codes of n strings, or of n ranges of these, take. travels: a
     * column of the call is on the host. A GPU's; a CPU has NULL, and codes on its stacks. */
    uint64_t (*text_scratch)(const void *self, uint64_t n, int ranges, int travels);
    /* Aggregates of the rows of ranges. */
    sx_status (*fold)(void *self, const sx_views *views, const sx_span_query *job,
                      const sx_range_folds *out, sx_err *err);

    /* All steps of climbs. */
    sx_status (*climb)(void *self, const sx_views *views, const sx_climb_query *job,
                       sx_circles *circles, sx_err *err);

    /* The rest is a GPU's, and NULL for a CPU unless a comment says otherwise. First: memory
     * from the caller's allocator. */
    sx_status (*use_allocator)(void *self, const sx_allocator *allocator, sx_err *err);
    /* Fails if p, `bytes` long, is certainly not memory of the place. */
    sx_status (*check_pointer)(void *self, const void *p, uint64_t bytes, int place,
                               const char *verb, const char *name, sx_err *err);

    /* For spans in device memory. scratch: memory in the order of a stream (NULL: of the
     * backend's own). sum_up: their sum, UINT64_MAX with a stream; scratch NULL: only says how
     * many bytes scratch must have; a CPU has it, too, and needs none. offsets: copies `first` to
     * the host. */
    sx_status (*scratch)(void *self, void *stream, void **out, uint64_t bytes, sx_err *err);
    void (*unscratch)(void *self, void *stream, void *p);
    sx_status (*sum_up)(void *self, void *stream, const sx_spans *spans, void *scratch,
                        uint64_t *bytes, uint64_t *total, sx_err *err);
    sx_status (*offsets)(void *self, const sx_how *how, const sx_spans *spans, uint64_t *to,
                         sx_err *err);

    /* Queues the making of ends. */
    sx_status (*prefix_ends)(void *self, void *stream, const sx_prefix_ends *job, sx_err *err);

    /* steps: some levels of walks. `upper` is an index of which this device may have only the
     * upper part. A CPU has it, too. bucket: how many queries are worth a trip. pin: pinned
     * memory, which states travel to without a copy in between. */
    sx_status (*steps)(void *self, const sx_views *upper, const sx_steps *job, sx_err *err);
    uint64_t (*bucket)(const void *self);
    sx_status (*pin)(void *self, void **out, uint64_t bytes, sx_err *err);
    void (*unpin)(void *self, void *block);
    /* Bytes of memory that an index could take now, or, if `enough` of them are at hand, as many as
     * these; UINT64_MAX: it is not known. */
    uint64_t (*space)(void *self, uint64_t enough);

    /* How this device's name says to search a pgm's segments (search=). Every backend
     * has it. */
    sx_search (*search)(const void *self);
    /* A CPU has this one, too. */
    void (*travel)(const void *self, sx_travel *out);
    /* Whether memory of the host is pinned, and needs no copy on its way. */
    int (*is_pinned)(void *self, const void *p);
    /* Keys of sorted arrays. They are not taken if there is no memory for them. */
    sx_status (*peek)(void *self, const sx_sorted *sorted, sx_peek *peek, sx_err *err);
} sx_backend;

extern const sx_backend sx_backend_cpu, sx_backend_simt;

#endif
