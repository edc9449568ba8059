/* index.h - how the verbs look at their arguments and answer; each with the version of its
 * index that it has pinned (version.h). */
#ifndef SX_INDEX_H
#define SX_INDEX_H

#include "query/buckets.h"
#include "query/sizes.h"
#include "query/version.h"

/* ---- arguments.c: each says which argument of which verb is wrong -------- */

sx_status sx_need(const void *argument, const char *verb, const char *name, sx_err *err);
/* call NULL: defaults */
sx_status sx_check_call(const sx_call *call, const sx_device *dev, sx_call *out, const char *verb,
                        sx_err *err);
/* The same for questions to an index: its host has no streams. */
sx_status sx_check_question(const sx_call *call, const sx_index_version *now, sx_call *out,
                            const char *verb, sx_err *err);
/* The same for verbs that are no questions: they have no status word and no device_ns,
 * and, but for sx_build(), no stream. */
sx_status sx_check_work(const sx_call *call, const sx_device *dev, int streams, sx_call *out,
                        const char *verb, sx_err *err);
/* Whether a copy of an index on the host, where it is on a GPU, is within max_bytes. */
sx_status sx_check_copy(const sx_index_version *now, const sx_call *how, const char *verb,
                        sx_err *err);
/* Part of the work of saving and checking that such a copy is (base/tick.h). */
#define SX_PART_COPIED (SX_PROGRESS_ALL / 100 * 20)
sx_how sx_how_of(const sx_call *call);
/* A column of any key type, where this call to this device may have it. */
sx_status sx_check_column(const sx_column *c, const sx_device *dev, const sx_call *how,
                          const char *verb, const char *name, sx_err *err);
/* A column of the index's key type. */
sx_status sx_check_keys(const sx_index_version *now, const sx_column *c, const sx_call *how,
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
sx_status sx_check_out_keys(const sx_index_version *now, const sx_column *c, const sx_call *how,
                            uint64_t n, const char *verb, const char *name, sx_err *err);

/* The caller's device_ns: what the backend measures, or the time that passed
 * where it has no clock of its own. */
typedef struct {
    uint64_t *to, begin, ns;
} sx_timing;
void sx_timing_begin(sx_timing *timing, sx_how *how);
void sx_timing_end(const sx_timing *timing, sx_status st);

/* ---- plan.c: who answers ------------------------------------------------------- */

typedef struct {
    const sx_index_version *now;
    const sx_replica *by;         /* who answers: the one run's; the others' are beside it */
    const sx_replica *instead;    /* who does where that has no memory for it; or NULL */
    const sx_replica *entries;    /* who makes entries for it, or NULL: ... */
    sx_buckets cut;               /* ... for so many queries at a time, */
    sx_balance balance;           /* ... from where the CPU has come to, */
    unsigned workers;             /* ... for so many buckets at once: 1, 2 */
    int visit;                    /* columns in device memory come to the host for it */
} sx_plan;

/* For such a batch. on_host: all its columns are there, and it has no stream; in and out
 * are two of them (out may be NULL). */
sx_plan sx_plan_of(const sx_index_version *now, const sx_batch *b, int on_host, const void *in,
                   const void *out);
/* The runs of who answers. */
sx_views sx_plan_views(const sx_plan *plan);
/* Whether a question that has come to this is to be asked again, of another. */
int sx_plan_again(sx_plan *plan, sx_status st);

/* ---- answer.c: the backend's questions, to whoever the plan says ------------------ */

sx_status sx_answer_lookup(const sx_index_version *now, const sx_lookup *job, sx_err *err);
sx_status sx_answer_count(const sx_index_version *now, const sx_span_query *job,
                          const sx_slice *count, sx_err *err);
sx_status sx_answer_range(const sx_index_version *now, const sx_span_query *job,
                          const sx_range_out *out, sx_err *err);
sx_status sx_answer_fold(const sx_index_version *now, const sx_span_query *job,
                         const sx_range_folds *out, sx_err *err);

/* ---- spans.c: results of ranges ----------------------------------------------------- */

/* Finds the ranges; and writes the results of spans that are summed up. */
typedef sx_status sx_find_fn(void *work, const sx_spans *to, sx_err *err);
typedef sx_status sx_fill_fn(void *work, const sx_spans *spans, uint64_t total, sx_err *err);
/* All of sx_range(), by a replica in whose memory the spans are: first, if it is out's own
 * column, is there too, or the replica is a device's. */
sx_status sx_spans_answer(const sx_replica *by, const sx_span_query *job, const sx_range_out *out,
                          sx_find_fn *find, sx_fill_fn *fill, void *work, sx_err *err);

/* ---- hybrid.c: the GPU walks the upper part or some of it, the CPU the rest ---------- */

/* The columns of queries that entries are made of, all on the host. */
typedef struct {
    int key_type;
    unsigned columns;             /* 0, 1, 2 */
    sx_slice q[2];
    sx_side side[2];              /* see sx_steps */
    uint32_t threads;
} sx_entered;

/* Answers queries [at, at + n), entry[c] those of column c from `at` on, or NULL. */
typedef sx_status sx_answer_fn(void *work, uint64_t at, uint64_t n, const sx_state *const entry[2],
                               sx_err *err);
/* What each side took, without waiting for the other. */
typedef struct {
    uint64_t cpu_ns, gpu_ns;
} sx_sides;
/* Calls it for n queries, in buckets with entries if the plan has them. took: or NULL. */
sx_status sx_hybrid_run(const sx_plan *plan, const sx_entered *ask, uint64_t n,
                        sx_answer_fn *answer, void *work, sx_sides *took, sx_err *err);
/* Gives back memory for entries that the device keeps from one call to the next. */
void sx_hybrid_rest(sx_device *dev);

/* ---- cost_measure.c: the numbers of cost.h ----------------------------------- */

sx_status sx_device_link(sx_device *dev, sx_link *out, sx_err *err);
/* Those of a version whose run has two replicas, into its cost; nobody has it yet. */
sx_status sx_cost_measure(sx_index_version *now, sx_err *err);
/* Memory that this takes at most, on either side; what the first index of a device
 * takes once is not counted, as staging is not. */
uint64_t sx_cost_bytes(uint64_t n, uint32_t key_bytes);

/* ---- explain_cost.c: those numbers, where an index has any ---------------------- */

void sx_explain_cost(const sx_index_version *now, sx_format format, sx_text *t);

/* ---- questions.c ---------------------------------------------------------- */

/* Memory that measuring takes, at most. */
uint64_t sx_question_bytes(const sx_device *dev, uint64_t n);

/* ---- choose.c: what auto does ------------------------------------------ */

#define SX_CONTENDERS 6u
/* What it may take, whatever the keys are; pieces and buckets of guides are still to be
 * found. */
unsigned sx_may_win(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width,
                    uint32_t row_bytes, sx_spec out[SX_CONTENDERS]);

/* Bytes that keys may take beyond that because each is stored once, with starts. */
uint64_t sx_once_bytes(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width,
                       uint32_t row_bytes);

/* Memory that its questions take. */
uint64_t sx_contest_bytes(const sx_device *dev, const sx_spec *asked, uint64_t n);

/* Builds the index that suits the keys, the device and spec's purpose into
 * *s, which is all zero but for its type, largest row, and why it has its place;
 * and says why there. */
sx_status sx_choose(sx_device *dev, sx_store *s, const sx_spec *spec, sx_sorted *sorted,
                    const sx_input *in, sx_err *err);

/* ---- make.c: the build of any spec ------------------------------------------- */

/* Where a run is made: `at` builds it and has its sections. `of` is the index's device, that
 * or the one beside it, whose name may say how to search; it has so many bytes free for an
 * upper part. */
typedef struct {
    sx_device *at;
    const sx_device *of;
    uint64_t space;
} sx_site;
/* Builds what `spec` asks for into *s, which is all zero but for its type, largest row, and
 * why it has its place. spent_ns: what the build took so far. */
sx_status sx_make(const sx_site *site, sx_store *s, const sx_spec *spec, sx_sorted *sorted,
                  const sx_input *in, uint64_t spent_ns, sx_err *err);
/* Upper bounds, in bytes: of all sections, of what a build takes, of the upper part, of the
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
