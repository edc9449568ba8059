/* ask.h - data with known answers, and a function that asks an index every
 * question there is and compares with the oracle. Like support.h it does not
 * use cmocka: functions return a sentence about what is wrong, or NULL.
 */
#ifndef ASK_H
#define ASK_H

#include "oracle.h"
#include "support.h"

/* ---- data: keys, rows, questions, and what the answers must be ----------- */

#define RANGE_MODES 4
extern const struct range_mode { uint64_t limit; uint32_t last; }
    range_modes[RANGE_MODES];

typedef struct {
    int type;
    size_t width;                 /* bytes of a key */
    uint64_t n;
    row_kind row_kind;
    guard keys, rows;             /* as passed to sx_build() */
    oracle *truth;

    uint64_t queries;             /* how many */
    guard q;
    uint64_t *get, *left, *right; /* row, ranks */
    uint64_t *floor, *ceil;       /* positions in truth */
    struct {                      /* the same in ascending order */
        guard q;
        uint64_t *get, *left, *right, *floor, *ceil;
    } up;

    uint64_t ranges;
    guard lo, hi;
    oracle_span *spans[RANGE_MODES];
} dataset;

/* About `queries` queries, and a third as many ranges. */
dataset *data_make(int type, key_kind kind, uint64_t n, row_kind rows,
                   uint64_t queries, rnd *r);
/* The same for keys that are there, and for rows unless row_kind makes them
 * positions. */
dataset *data_wrap(int type, uint64_t n, const void *keys, row_kind row_kind,
                   const uint64_t *rows, uint64_t queries, rnd *r);
void data_free(dataset *d);

bool rows_are_positions(row_kind kind);         /* sx_build() gets none */
/* The spans of all ranges with a limit. Free them. */
oracle_span *data_spans(const dataset *d, uint64_t limit, uint32_t last);

/* The keys that begin with the first bits of a key, by the bits that the type has: looked at one
 * by one. Then, from q up to its top: the top's place, or ORACLE_NONE, and the steps. parents:
 * one key for each row. */
oracle_span data_prefix(const dataset *d, const unsigned char *of, unsigned bits, uint64_t limit,
                        uint32_t last);
uint64_t data_top(const dataset *d, const unsigned char *parents, const void *q, uint32_t limit,
                  uint32_t *steps);

sx_status data_build(const dataset *d, sx_device *dev, const char *spec,
                     const sx_call *call, sx_index **out);

/* ---- asking --------------------------------------------------------- */

/* A column of a question, as the caller has it and as the test looks at it. */
typedef struct {
    guard host;
    sx_column there;              /* memory of the device, kept for the next */
    sx_column given;              /* the output as it is passed */
    sx_column seen;               /* the same on the host; all of `host` but
                                     the answers must stay as they are */
    uint64_t before;              /* elements of `there` before `given` */
    bool away;                    /* the output is in `there` */
} box;

enum { BOX_NUMBERS, BOX_KEYS, BOX_FIRST, BOX_FOLDS, BOX_Q = BOX_FOLDS + 4, BOX_LO, BOX_HI, BOX_ROWS,
       BOX_STATUS, BOX_COUNT };

/* If a device takes columns in its memory, each question takes one of these
 * ways, in no order that repeats. */
typedef enum { WAY_HOST, WAY_DEVICE, WAY_STREAM, WAY_MIXED, WAYS } ask_way;

typedef struct {
    box box[BOX_COUNT];
    unsigned turn;                /* rotates what differs between calls */
    sx_device *dev;               /* for columns in its memory; NULL: none */
    rnd r;
    bool no_streams;              /* the index is on the host of its device */
    ask_way way;                  /* of the question being asked, and ... */
    bool up;                      /* ... whether its queries ascend */
    sx_call how;
    uint64_t ns;
    sx_column mark[2];            /* one element each, in device memory */
    uint64_t ways[WAYS], hinted;  /* how many questions */
    uint32_t verbs;               /* done, and right: bit i is sx_verb_at(i) */
    char why[512];
} asker;

asker *asker_new(void);
void asker_free(asker *a);

/* From now on columns may be in this device's memory; NULL: in none. Call it
 * with NULL, or asker_free(), before the device is closed. */
void asker_use(asker *a, sx_device *dev);

/* Notes that this was done, and that its results are right. */
void ask_note(asker *a, const char *verb);

/* data_build() on that device, with the input in any of the ways. */
sx_status ask_build(asker *a, const dataset *d, const char *spec, sx_index **out);

/* Every question, answered into columns of out_type; NULL if all answers
 * are right. A U32 column that can't hold the largest row must be refused,
 * and left alone. */
const char *ask(asker *a, const sx_index *ix, const dataset *d, int out_type,
                const sx_call *call);

/* The questions that return one thing per query. */
const char *ask_points(asker *a, const sx_index *ix, const dataset *d,
                       int out_type, const sx_call *call);
/* The questions about ranges, with the limits above or another one. */
const char *ask_ranges(asker *a, const sx_index *ix, const dataset *d,
                       int out_type, const sx_call *call);
const char *ask_limit(asker *a, const sx_index *ix, const dataset *d,
                      uint64_t limit, uint32_t last, int out_type,
                      const sx_call *call);

/* sx_describe() agrees with the data; sx_check() finds nothing. */
const char *ask_description(asker *a, const sx_index *ix, const dataset *d);

#endif
