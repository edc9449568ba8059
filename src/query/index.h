/* index.h - an index, and how the verbs look at their arguments. */
#ifndef SX_INDEX_H
#define SX_INDEX_H

#include "place/registry.h"
#include "place/store.h"
#include "query/cost.h"
#include "query/sizes.h"

/* What a hybrid index has beside its store. */
typedef struct {
    sx_top top;                   /* on the index's device */
    _Atomic(void *) spare;        /* memory for entries that no call uses now, or NULL */
} sx_hybrid;

/* What an index on both sides has beside its store, which is on its device. */
typedef struct {
    sx_device *host;
    sx_store store;               /* there, byte for byte the same */
} sx_both;

struct sx_index {
    sx_device *dev;               /* where its columns may be */
    sx_device *at;                /* where its sections are and who answers: dev, or
                                     the CPU beside it */
    sx_store store;
    sx_hybrid *hybrid;            /* or NULL */
    sx_both *both;                /* or NULL */
    sx_cost cost;                 /* of these two */
};

/* ---- arguments.c: each says which argument of which verb is wrong -------- */

sx_status sx_need(const void *argument, const char *verb, const char *name, sx_err *err);
/* call NULL: defaults */
sx_status sx_check_call(const sx_call *call, const sx_device *dev, sx_call *out, const char *verb,
                        sx_err *err);
/* The same for questions to an index: its host has no streams. */
sx_status sx_check_question(const sx_call *call, const sx_index *ix, sx_call *out,
                            const char *verb, sx_err *err);
/* The same for verbs that are no questions: they have no status word and no device_ns,
 * and, but for sx_build(), no stream. */
sx_status sx_check_work(const sx_call *call, const sx_device *dev, int streams, sx_call *out,
                        const char *verb, sx_err *err);
/* Whether a copy of an index on the host, where it is on a GPU, is within max_bytes. */
sx_status sx_check_copy(const sx_index *ix, const sx_call *how, const char *verb, sx_err *err);
/* Part of the work of saving and checking that such a copy is (base/tick.h). */
#define SX_PART_COPIED (SX_PROGRESS_ALL / 100 * 20)
sx_how sx_how_of(const sx_call *call);
/* A column of any key type, where this call to this device may have it. */
sx_status sx_check_column(const sx_column *c, const sx_device *dev, const sx_call *how,
                          const char *verb, const char *name, sx_err *err);
/* A column of the index's key type. */
sx_status sx_check_keys(const sx_index *ix, const sx_column *c, const sx_call *how,
                        const char *verb, const char *name, sx_err *err);
/* A column of numbers: U64, or U32 too if it may be. */
sx_status sx_check_numbers(const sx_column *c, const sx_device *dev, const sx_call *how,
                           int u32_too, const char *verb, const char *name, sx_err *err);
/* An output for n results. */
sx_status sx_check_space(const sx_column *c, uint64_t n, const char *verb, const char *name,
                        sx_err *err);
/* An output of numbers for n results up to `largest`; rows: all ones means no
 * match there. And one of the index's keys. */
sx_status sx_check_out_numbers(const sx_column *c, const sx_device *dev, const sx_call *how,
                               uint64_t n, uint64_t largest, int rows, const char *verb,
                               const char *name, sx_err *err);
sx_status sx_check_out_keys(const sx_index *ix, const sx_column *c, const sx_call *how, uint64_t n,
                            const char *verb, const char *name, sx_err *err);

/* The caller's device_ns: what the backend measures, or the time that passed
 * where it has no clock of its own. */
typedef struct {
    uint64_t *to, begin, ns;
} sx_timing;
void sx_timing_begin(sx_timing *timing, sx_how *how);
void sx_timing_end(const sx_timing *timing, sx_status st);

/* ---- answer.c: the backend's questions, to wherever the index is ---------- */

sx_status sx_answer_lookup(const sx_index *ix, const sx_lookup *job, sx_err *err);
sx_status sx_answer_count(const sx_index *ix, const sx_span_query *job, uint64_t *count,
                          uint32_t count_there, sx_err *err);
sx_status sx_answer_range(const sx_index *ix, const sx_span_query *job, const sx_range_out *out,
                          sx_err *err);
sx_status sx_answer_fold(const sx_index *ix, const sx_span_query *job, const sx_range_folds *out,
                         sx_err *err);

/* ---- hybrid.c: the GPU walks the top, the CPU the rest ------------------- */

/* Places the top of an index that is on its host; and gives it back. */
sx_status sx_hybrid_new(sx_index *ix, sx_err *err);
void sx_hybrid_free(sx_index *ix);

/* The columns of queries that entries are made of, all on the host. */
typedef struct {
    unsigned columns;             /* 0, 1, 2 */
    const void *q[2];
    uint32_t right[2];            /* see sx_entries */
    uint32_t threads;
} sx_entered;

/* Answers queries [at, at + n), entry[c] those of column c from `at` on, or NULL. */
typedef sx_status sx_answer_fn(void *work, uint64_t at, uint64_t n, const uint64_t *const entry[2],
                               sx_err *err);
/* Calls it for n queries in as many parts as entries make worth while. */
sx_status sx_hybrid_run(const sx_index *ix, const sx_entered *ask, uint64_t n, sx_answer_fn *answer,
                        void *work, sx_err *err);

/* ---- both.c: an index on both sides ---------------------------------------- */

/* Copies an index that is on its device to the host; and gives that back. */
sx_status sx_both_new(sx_index *ix, sx_progress *progress, sx_err *err);
void sx_both_free(sx_index *ix);

/* Who answers, and the index there. */
typedef struct {
    const sx_device *at;
    const sx_view *view;
} sx_answering;

/* That of a batch of host columns, in and out two of them (out may be NULL); an
 * empty one is the device's. */
sx_answering sx_both_side(const sx_index *ix, sx_batch *b, const void *in, const void *out);
/* Whether such a batch, which has come to this, is to be asked again: a GPU that has
 * no memory for it leaves it to the host. */
int sx_both_again(const sx_index *ix, const sx_batch *b, sx_status st, sx_answering *who);
/* Whether the host's copy is what the device has, of which `copy` is a sound copy: then it
 * is sound, too. */
sx_status sx_both_check(const sx_index *ix, const sx_store *copy, sx_err *err);

/* ---- cost_measure.c: the numbers of cost.h ----------------------------------- */

sx_status sx_device_link(sx_device *dev, sx_link *out, sx_err *err);
/* Those of an index that is built, hybrid or on both sides, into ix->cost. */
sx_status sx_cost_measure(sx_index *ix, sx_err *err);
/* Memory that this takes at most, on either side; what the first index of a device
 * takes once is not counted, as staging is not. */
uint64_t sx_cost_bytes(uint64_t n, uint32_t key_bytes);

/* ---- explain_cost.c: those numbers, where an index has any ---------------------- */

void sx_explain_cost(const sx_index *ix, sx_format format, sx_text *t);

/* ---- questions.c ---------------------------------------------------------- */

/* Memory that measuring takes, at most. */
uint64_t sx_question_bytes(const sx_device *dev, uint64_t n);

/* ---- choose.c: what auto does ------------------------------------------ */

#define SX_CONTENDERS 6u
/* What it may take, whatever the keys are; pieces and buckets of guides are still to be
 * found. */
unsigned sx_may_win(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width,
                    uint32_t row_bytes, sx_spec out[SX_CONTENDERS]);

/* Memory that its questions take. */
uint64_t sx_contest_bytes(const sx_device *dev, const sx_spec *asked, uint64_t n);

/* Builds the index that suits the keys, the device and spec's purpose into
 * *s, which is all zero but for its type, largest row, and why it has its place;
 * and says why there. */
sx_status sx_choose(sx_device *dev, sx_store *s, const sx_spec *spec, sx_sorted *sorted,
                    const sx_input *in, sx_err *err);

/* ---- make.c: the build of any spec ------------------------------------------- */

/* Builds what `spec` asks for into ix->store. device_space: bytes that the index's device
 * has free for its upper part; spent_ns: what the build took so far. */
sx_status sx_make(sx_index *ix, const sx_spec *spec, sx_sorted *sorted, const sx_input *in,
                  uint64_t device_space, uint64_t spent_ns, sx_err *err);
/* Upper bounds, in bytes: of all sections, of what a build takes, of the top, of the
 * segments while eps is found, whatever the budget is, and of a sample on the host. */
typedef struct {
    uint64_t resident, peak, top, lines, sample;
} sx_bounds;
/* Raises *most to those of any index that the spec can become at this device. */
sx_status sx_bound(sx_device *at, const sx_spec *spec, uint32_t width, uint32_t row_bytes,
                   uint64_t n, sx_bounds *most, sx_err *err);

/* ---- epsilon.c --------------------------------------------------------------- */

/* Sets whether the last level's lines are searched at once, if nobody measures: as the
 * device was told, or where they are few. Leaves other families alone. */
void sx_take_usual_search(const sx_device *dev, sx_view *v);

#endif
