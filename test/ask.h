/* ask.h - data with known answers, and a function that asks an index every
 * question there is and compares with the oracle. Like support.h without
 * cmocka: functions return a sentence about what is wrong, or NULL.
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

    uint64_t ranges;
    guard lo, hi;
    oracle_span *spans[RANGE_MODES];
} dataset;

/* About so many queries, and a third as many ranges. */
dataset *data_make(int type, key_kind kind, uint64_t n, row_kind rows,
                   uint64_t queries, rnd *r);
/* The same around keys at hand, and rows unless row_kind makes them
 * positions. */
dataset *data_wrap(int type, uint64_t n, const void *keys, row_kind row_kind,
                   const uint64_t *rows, uint64_t queries, rnd *r);
void data_free(dataset *d);

sx_status data_build(const dataset *d, sx_device *dev, const char *spec,
                     const sx_call *call, sx_index **out);

/* ---- asking --------------------------------------------------------- */

typedef struct {
    guard numbers, keys;          /* outputs */
    guard first;                  /* sx_range()'s, and sx_key_at()'s input */
    guard aggregates[4];
    unsigned turn;                /* rotates what differs between calls */
    char why[512];
} asker;

asker *asker_new(void);
void asker_free(asker *a);

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
