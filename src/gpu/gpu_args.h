/* gpu_args.h - what each kernel takes: one struct, by value. */
#ifndef SX_GPU_ARGS_H
#define SX_GPU_ARGS_H

#include "place/backend.h"

#define SX_GIVEN_ALIGN 256u       /* of memory from the caller, as sextant.h asks for */

#define SX_SHARED_LEVELS 24u
/* Most questions of one launch: their numbers, and one more turn of a loop over them, have 32
 * bits. */
#define SX_LAUNCH_MOST (1ull << 31)

/* sx_views by value: in constant memory, where it takes no registers. */
typedef struct {
    sx_view of[SX_RUNS_MAX];
    uint32_t count;
} sx_gpu_views;

/* As sx_one_view(): the one view of a list that kernels look at. (With a function instead some
 * kernels take two more registers.) */
#define SX_GPU_VIEW(views) (&(views)->of[0])

typedef struct {                  /* see sx_lookup */
    sx_gpu_views views;
    int op, key_type;
    uint32_t rank_bytes, out_bytes;
    uint64_t n;                   /* at most SX_LAUNCH_MOST */
    const void *q;
    void *out, *keys;
    uint32_t unit;                /* of the view */
    uint32_t top_bytes;           /* of the search's top, staged in shared memory */
    uint32_t lanes;               /* group: of a question */
    /* shared: nodes of node_bytes, numbered through all `levels`; the first near_levels
     * are whole in the top. Leaves of leaf_bytes, which begin with keys of leaf_key_bytes; the
     * last is at leaf_latest. leaf_step is leaf_bytes again, as kernels compile to other code
     * without it. 0 leaf_bytes: shared can't be used */
    uint32_t node_bytes, levels, near_levels;
    uint32_t node_first[SX_SHARED_LEVELS], last_child[SX_SHARED_LEVELS];
    uint32_t leaf_bytes, leaf_key_bytes, leaf_step;
    uint64_t leaf_latest;
    uint32_t each, window;        /* ascending: questions of a thread in a tile, most keys of a
                                     window */
    uint32_t twice;               /* reorder: results, too */
    uint32_t steps;               /* whole: of the search */
    uint32_t ahead;               /* key_at without q: see sx_lookup */
} sx_gpu_lookup;

typedef struct {                  /* see sx_steps */
    sx_gpu_views views;           /* of the upper part only */
    int key_type;
    sx_side side;
    uint32_t from, to;
    uint32_t head_from, head_to;
    uint64_t head;
    uint64_t n;
    const void *q;
    const sx_state *in;
    sx_state *out;
} sx_gpu_steps;

/* sx_gpu_lookup with the top of a pgm, keys before segments, in the arguments: a kernel reads
 * it from constant memory. */
#define SX_CONSTANT_BYTES 2048u
typedef struct {
    sx_gpu_lookup a;
    uint64_t top[SX_CONSTANT_BYTES / 8] __attribute__((aligned(16)));
} sx_gpu_lookup_constant;

/* k_ascending: shared memory before the keys of the window. */
#define SX_WINDOW_HEAD 16u

typedef struct {                  /* see sx_span_query */
    sx_gpu_views views;
    int key_type;
    uint32_t last;
    uint32_t length;              /* k_prefixes: bits of all; or hi has uint32_t */
    uint64_t n, limit;
    const void *lo, *hi;
    uint64_t *start, *count;      /* start may be NULL */
} sx_gpu_spans;

typedef struct {                  /* see sx_climb_query; keys [before, before + n) */
    sx_gpu_views views;
    int key_type;
    uint32_t limit, row_bytes;
    uint64_t n, before;
    const void *of, *parents;
    uint64_t parents_n;
    void *rows, *keys;            /* or NULL */
    uint32_t *steps;              /* the same */
    unsigned long long *circles;  /* the first key of one, and how many */
} sx_gpu_climb;

enum { SX_SCAN_THREAD = 1, SX_SCAN_MIXED, SX_SCAN_WARP };

typedef struct {                  /* see sx_range_folds */
    sx_gpu_spans spans;           /* its count may be NULL, too */
    uint32_t unit, scan;
    uint32_t ranges;              /* of a warp at a time: 1, 2, 4, 8, 16 */
    uint64_t *min, *max, *sum;
} sx_gpu_folds;

/* Neighbouring outputs that a warp takes at a time: on an H200 fewer are faster than more, as what all
 * warps read and write at a time is close together, down to the search that each begins with. */
#define SX_FILL_TILE 1024u
/* k_fill_ranks: those of a lane that are on their way at a time. 32 times as many are a step. */
#ifndef SX_FILL_EACH
#define SX_FILL_EACH 8u
#endif

typedef struct {                  /* see sx_range_out; outputs [from, to) */
    sx_gpu_views views;
    int key_type;
    uint32_t row_bytes;
    uint64_t n, from, to;         /* to UINT64_MAX: all, if they have space */
    uint64_t space;
    const uint64_t *start, *first;
    void *rows, *keys;            /* from output `from` on */
    uint64_t *at;                 /* the same */
    uint32_t *status;             /* k_space: or NULL; first may be NULL there */
} sx_gpu_fill;

/* ---- strings (gpu_string_kernels.h) --------------------------------------------------- */

/* A column of strings, or a chunk of one. */
typedef struct {
    const void *offsets;
    const unsigned char *bytes, *end;
    uint32_t offset_bytes;
    uint32_t cut;                 /* bytes begin with the string that offsets begin with */
    uint64_t skip;                /* strings before the first of this launch */
} sx_gpu_texts;

typedef struct {                  /* sx_gpu_climb of strings, whose keys are positions */
    sx_gpu_climb a;
    sx_gpu_texts of, parents;
    uint64_t *at;                 /* in place of keys; or NULL */
} sx_gpu_text_climb;

typedef struct {
    sx_strings keys;
    sx_gpu_texts q;
    uint64_t n;
    void *code;                   /* as keys are stored */
    uint32_t code_bytes;
    uint32_t *same;               /* at most UINT32_MAX: sx_code_walk's */
} sx_gpu_codes;

typedef struct {                  /* see sx_lookup */
    sx_gpu_views views;
    int op;
    uint32_t prefix;              /* the answer is where strings that begin with q end */
    uint32_t out_bytes, rank_bytes;
    uint64_t n;
    sx_gpu_texts q;
    const void *code;             /* as keys are stored */
    const uint64_t *position;     /* of q's code, on the left */
    const uint32_t *same;
    const void *rank;             /* key_at: in place of these */
    void *out;                    /* or NULL */
    uint64_t *at;                 /* the same */
} sx_gpu_settle;

typedef struct {                  /* ranks of the ends of ranges become spans */
    uint64_t n, limit;
    uint32_t last;
    const uint64_t *lo, *hi;
    uint64_t *start, *count;      /* start may be NULL */
} sx_gpu_ends;

typedef struct {                  /* see sx_string_take */
    sx_gpu_views views;
    uint64_t n;
    const uint64_t *at;
    uint64_t *sum;                /* n + 1: lengths, and then where each string begins */
    void *offsets;                /* k_string_offsets: the same, as the caller wants it */
    uint32_t offset_bytes;
    sx_gpu_texts to;
    const uint64_t *total;        /* with a stream: bytes of all, which may be too many; or NULL */
    uint64_t space;
    uint32_t *status;             /* k_string_status: or NULL */
} sx_gpu_take;

/* What kernels find out about an input of n keys. All is 0 to begin with. Places are counted from
 * the end, so that the first one is a maximum, and none is 0. */
typedef struct {
    unsigned long long max_row;
    unsigned long long reserved_from; /* n less the place of the first row of all ones */
    unsigned long long descends;      /* whether a key is above the next one */
    unsigned long long repeat_from;   /* n less the place of the first key equal to the next one */
    unsigned long long values;        /* different keys */
    unsigned long long blocks;        /* of k_descent, and then of k_repeat, that are over; on the
                                         board 0 until the facts are there */
} sx_gpu_facts;

typedef struct {
    uint64_t n;
    int key_type, row_type;
    uint32_t row_bytes;           /* of a row that is stored */
    const void *in_keys, *in_rows;
    void *keys, *rows;
    void *to_keys, *to_rows;      /* k_few_sort: sorted; a row has 4 bytes */
    sx_gpu_facts *facts;
    const uint64_t *rank;         /* k_repeat, k_peek: keys at these ranks, which may be any numbers, */
    uint64_t ranks;
    void *peeked;                 /* go here */
    sx_gpu_facts *post;           /* k_descent, k_repeat: on the board, a copy; or NULL */
    uint64_t space;               /* k_repeat: the largest key fills keys [n, space) */
    uint64_t *count;              /* k_repeat: of values that begin in each tile. k_few_sort and k_few_look
                                     do all that k_take, k_repeat and k_values do */
} sx_gpu_input;

#define SX_VALUES_TILE 128u       /* keys */
#ifndef SX_VALUES_FEW
#define SX_VALUES_FEW 2048u       /* tiles */
#endif

typedef struct {
    uint64_t n;
    const void *keys;
    const uint64_t *count;        /* of values that begin in each tile; or, unless there are few
                                     tiles, in all before it */
    void *to_keys;
    uint64_t space;               /* the largest key fills to_keys up to here */
    void *starts, *firsts;        /* see sx_view */
    uint64_t start_space;         /* 0 fills starts up to here */
    const void *rows;
    uint32_t start_bytes, row_bytes;
    uint32_t few;
    uint32_t early;               /* nobody has counted values yet: space, firsts and start_space follow
                                     from them */
} sx_gpu_values;

#define SX_FEW_GROUPS(n) (((n) + 31) / 32)

typedef struct {                  /* few keys, whose rows have 4 bytes (gpu_few_impl.h) */
    sx_gpu_input in;
    sx_gpu_facts *part;           /* what is known of each group of 32 keys before they are sorted */
    sx_gpu_values once;           /* to_keys NULL: values are not taken */
} sx_gpu_few;

typedef struct {
    sx_view v;
    const void *from_keys, *from_rows;
    unsigned char *keys, *rows;   /* rows: or NULL */
    unsigned char *own[SX_SECTIONS - SX_SEC_OWN];     /* the family's sections */
    uint64_t whole;               /* k_blocks: how many blocks; k_slots: the first slot, as
                                     those before are there already */
} sx_gpu_build;

/* SX_FIT_LANES lanes (8, 16, 32) fit segments to a part together. SX_FIT_NEAR corners of each
 * of its hulls are in shared memory (random keys have 20 with an epsilon of 128, 50 with
 * 4096). If that is too few, SX_FIT_AGAIN takes the place of a count. */
#ifndef SX_FIT_LANES
#define SX_FIT_LANES 16u
#endif
#ifndef SX_FIT_NEAR
#define SX_FIT_NEAR 64u
#endif
/* Lanes of a warp that make such a part again, one lane each. What a lane does next depends on
 * every key, so more lanes would mostly wait for each other. */
#define SX_AGAIN_LANES 2u
#define SX_FIT_SHARED(width) (4 * SX_FIT_NEAR * (width))    /* bytes, of a part */
#define SX_FIT_AGAIN (1ull << 63)

typedef struct {                  /* see pgm_gpu_impl.h and pgm_lanes_impl.h */
    const void *below;            /* k_level: the segments' first keys */
    uint64_t n;
    uint32_t eps, parts;
    uint64_t hull_space, space;     /* of a part */
    uint32_t *hulls;              /* k_fit_again */
    unsigned char *keys, *to_keys;
    sx_segment *segments, *to_segments;
    uint64_t *count;              /* of each part; k_fit_again: or SX_FIT_AGAIN + the place of
                                     its hulls; k_collect: of all parts before it */
    uint64_t total, entries;
} sx_gpu_fit;

#endif
