/* index.h - how verbs check their arguments and answer, each with the version of its index
 * that it holds (version.h). */
#ifndef SX_INDEX_H
#define SX_INDEX_H

#include "query/buckets.h"
#include "query/sizes.h"
#include "query/version.h"

/* ---- question.c: from an index to its version, and back to the caller ------------- */

/* A verb that asks an index. From its begin on it has a version, q->held.now, and its thread is not
 * cancelled where a GPU answers. If the begin fails, nothing is held. The end is called in either
 * case; it lets go, and keeps the sentence of a failure. */
typedef struct {
    const sx_index *ix;           /* NULL: nothing is held */
    sx_hold held;
    int cancel;                   /* see base/cancel.h */
    sx_err err;
} sx_question;
sx_status sx_question_begin(sx_question *q, const sx_index *ix, const char *verb);
sx_status sx_question_end(sx_question *q, sx_status st);

/* ---- arguments.c: each says which argument of which verb is wrong -------- */

sx_status sx_need(const void *argument, const char *verb, const char *name, sx_err *err);
/* call NULL: defaults */
sx_status sx_check_call(const sx_call *call, const sx_device *dev, sx_call *out, const char *verb,
                        sx_err *err);
/* The same for a question to an index. One that is on the host has no streams. */
sx_status sx_check_question(const sx_call *call, const sx_index_version *now, sx_call *out,
                            const char *verb, sx_err *err);
/* The same for verbs that are no questions: they have no status word and no device_ns,
 * and, but for sx_build(), no stream. */
sx_status sx_check_work(const sx_call *call, const sx_device *dev, int streams, sx_call *out,
                        const char *verb, sx_err *err);
/* Whether the copies on the host that an index needs are within max_bytes: one if it is on a GPU,
 * and one to be saved if its pools have free nodes. */
sx_status sx_check_copy(const sx_index_version *now, const sx_call *how, int saved, const char *verb,
                        sx_err *err);
/* The part of saving and checking that is making such a copy (base/tick.h). */
#define SX_PART_COPIED (SX_PROGRESS_ALL / 100 * 20)
sx_how sx_how_of(const sx_call *call, uint64_t batch);
/* A column of any key type, in a place that this call to this device allows. */
sx_status sx_check_column(const sx_column *c, const sx_device *dev, const sx_call *how,
                          const char *verb, const char *name, sx_err *err);
/* strings.c: what a column of strings has beside others; then whether the offsets of an input are
 * right. Columns of other types pass both, unless they have what strings have. Offsets in device
 * memory are not looked at: whoever reads them stays inside of the data whatever they are. */
sx_status sx_check_strings(const sx_column *c, const sx_device *dev, const char *verb,
                           const char *name, sx_err *err);
sx_status sx_check_offsets(const sx_column *c, const char *verb, const char *name, sx_err *err);
/* An input of the index's key type. */
sx_status sx_check_keys(const sx_index_version *now, const sx_column *c, const sx_call *how,
                        const char *verb, const char *name, sx_err *err);
/* A column of U64, or also of U32 if u32_too. */
sx_status sx_check_numbers(const sx_column *c, const sx_device *dev, const sx_call *how,
                           int u32_too, const char *verb, const char *name, sx_err *err);
/* An output with space for n results. */
sx_status sx_check_space(const sx_column *c, uint64_t n, const char *verb, const char *name,
                        sx_err *err);
/* An output of numbers, for n results up to `largest`. Rows must be below all ones, which
 * mean no match. Then an output of the index's keys. */
sx_status sx_check_out_numbers(const sx_column *c, const sx_device *dev, const sx_call *how,
                               uint64_t n, uint64_t largest, int rows, const char *verb,
                               const char *name, sx_err *err);
sx_status sx_check_out_keys(const sx_index_version *now, const sx_column *c, const sx_call *how,
                            uint64_t n, const char *verb, const char *name, sx_err *err);

/* Fills the caller's device_ns with what the backend measures, or with the time that passed
 * if the backend has no clock of its own. */
typedef struct {
    uint64_t *to, begin, ns;
} sx_timing;
void sx_timing_begin(sx_timing *timing, sx_how *how);
void sx_timing_end(const sx_timing *timing, sx_status st);

/* ---- range.c --------------------------------------------------------------------- */

/* sx_range() of a version, in the name of a verb. */
typedef struct {
    const char *verb;
    sx_column *first, *rows, *keys;
    uint32_t prefix, length;      /* see sx_span_query */
    const sx_column *bits;        /* the same, in place of hi; or NULL */
} sx_range_ask;
/* The ends, lo and hi, of the ranges that n prefixes are; all is on the host. bits: or none, and
 * then `length` of all. */
void sx_prefix_make_ends(const sx_type_info *type, const sx_slice *of, const sx_slice *bits,
                         uint32_t length, uint64_t n, void *lo, void *hi);
sx_status sx_read_ranges(const sx_index_version *now, const sx_ranges *ranges,
                         const sx_range_ask *ask, const sx_call *call, sx_err *err);

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

/* Bytes that a query has on its way, of strings on average. */
static inline uint32_t sx_query_bytes(const sx_slice *q)
{
    uint64_t each = q->offsets && q->n > 0 ? q->bytes / q->n : 0;

    return q->each + (uint32_t)(each < 1u << 20 ? each : 1u << 20);
}

/* The plan for a batch. on_host: all its columns are on the host, and it has no stream. in
 * and out are two of these columns; out may be NULL. */
sx_plan sx_plan_of(const sx_index_version *now, const sx_batch *b, int on_host, const void *in,
                   const void *out);
/* All runs, in the memory of the replica that answers. */
sx_views sx_plan_views(const sx_plan *plan);
/* Whether a question that ended in this status is to be asked again. Then the plan has
 * another replica answer it. */
int sx_plan_again(sx_plan *plan, sx_status st);

/* ---- answer.c: the backend's questions, to whoever the plan says ------------------ */

sx_status sx_answer_lookup(const sx_index_version *now, const sx_lookup *job, sx_err *err);
sx_status sx_answer_count(const sx_index_version *now, const sx_span_query *job,
                          const sx_slice *count, sx_err *err);
sx_status sx_answer_range(const sx_index_version *now, const sx_span_query *job,
                          const sx_range_out *out, const char *verb, sx_err *err);
sx_status sx_answer_fold(const sx_index_version *now, const sx_span_query *job,
                         const sx_range_folds *out, sx_err *err);

sx_status sx_answer_climb(const sx_index_version *now, const sx_climb_query *job,
                          sx_circles *circles, sx_err *err);

/* ---- scratch.c: what questions about strings take beside their columns ---------------- */

/* One question. Columns of numbers come last; those that a question does not have are NULL. */
enum { SX_TEXT_NUMBERS = 2, SX_TEXT_COLUMNS = 6 };
typedef struct {
    uint64_t n;                   /* strings, ranks, ranges or prefixes that are asked about */
    unsigned searches;            /* columns of strings whose codes are made: 0, 1, 2 */
    int ranges;
    const sx_slice *column[SX_TEXT_COLUMNS];
    const sx_slice *keys;         /* where n strings go that are found; NULL: as many are not */
} sx_text_asked;

/* Strings as results: n of them, who answers, and where they go. */
uint64_t sx_found_scratch(const sx_device *at, uint64_t n, const sx_slice *keys);
uint64_t sx_text_scratch(const sx_index_version *now, const sx_text_asked *of);
/* Whether that is within max_bytes. Keys that are no strings pass. */
sx_status sx_check_text_scratch(const sx_index_version *now, const sx_text_asked *of,
                                uint64_t max_bytes, const char *verb, sx_err *err);

/* ---- strings.c: strings as results ------------------------------------------------- */

/* Answers a lookup whose keys are strings. SX_ESPACE: only offsets are written. */
sx_status sx_answer_strings(const sx_index_version *now, const sx_lookup *job, const char *verb,
                            sx_err *err);
/* The same for climbs. */
sx_status sx_answer_climb_strings(const sx_index_version *now, const sx_climb_query *job,
                                  sx_circles *circles, const char *verb, sx_err *err);
/* The strings of spans that are summed up, which are `total`. */
sx_status sx_spans_strings(const sx_plan *plan, const sx_span_query *job, const sx_spans *spans,
                           uint64_t total, const sx_slice *keys, uint64_t max_bytes,
                           const char *verb, sx_err *err);

/* ---- spans.c: results of ranges ----------------------------------------------------- */

/* sx_find_fn finds the ranges. sx_fill_fn writes the results of spans that are summed up. */
typedef sx_status sx_find_fn(void *work, const sx_spans *to, sx_err *err);
typedef sx_status sx_fill_fn(void *work, const sx_spans *spans, uint64_t total, sx_err *err);
/* All of sx_range(), answered by one replica, in the name of a verb. If its memory is the
 * host's, out->first is on the host, too. */
sx_status sx_spans_answer(const sx_replica *by, const sx_span_query *job, const sx_range_out *out,
                          sx_find_fn *find, sx_fill_fn *fill, void *work, const char *verb,
                          sx_err *err);

/* ---- hybrid.c: the GPU walks the upper part or some of it, the CPU the rest ---------- */

/* Columns of queries that need entries, all on the host. */
typedef struct {
    int key_type;
    unsigned columns;             /* 0, 1, 2 */
    sx_slice q[2];
    sx_side side[2];              /* see sx_steps */
    uint32_t threads;
} sx_entered;

/* What a bucket is answered with: entry[c] has the entries of column c from its first query on, or
 * is NULL; and what is to be done beside it. */
typedef struct {
    const sx_state *entry[2];
    sx_beside beside;
} sx_help;
/* Answers queries [at, at + n). */
typedef sx_status sx_answer_fn(void *work, uint64_t at, uint64_t n, const sx_help *help,
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

/* ---- choose/cost_measure.c: the numbers of cost.h ------------------------------ */

sx_status sx_device_link(sx_device *dev, sx_link *out, sx_err *err);
/* Measures the cost of a version whose run has two replicas. Nobody has the version yet. */
sx_status sx_cost_measure(sx_index_version *now, sx_err *err);
/* Most memory that this takes on either side, without staging and without what a device's
 * first index takes once. */
uint64_t sx_cost_bytes(uint64_t n, uint32_t key_bytes);

/* ---- explain_cost.c: those numbers, if an index has any ----------------------------- */

void sx_explain_cost(const sx_index_version *now, sx_format format, sx_text *t);

/* ---- choose/questions.c ------------------------------------------------------------ */

/* Most memory that measuring takes. */
uint64_t sx_question_bytes(const sx_device *dev, uint64_t n);

/* ---- choose/choose.c: what auto does ------------------------------------------------ */

#define SX_CONTENDERS 6u
/* The specs that auto may take, whatever the keys are. Pieces and cells of guides are still
 * open. */
unsigned sx_may_win(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width,
                    uint32_t row_bytes, sx_spec out[SX_CONTENDERS]);

/* Bytes that an index may take beyond these specs if it stores each key once, with starts. */
uint64_t sx_once_bytes(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width,
                       uint32_t row_bytes);

/* Whether equal keys are stored once by what is known before a look at them: the spec says it, or
 * leaves it to auto and it pays. Strings for a GPU are asked on the host, where this is done. */
int sx_once_wanted(const sx_spec *asked, const sx_sorted *sorted);

/* Memory that the questions of a contest take. */
uint64_t sx_contest_bytes(const sx_device *dev, const sx_spec *asked, uint64_t n);

/* Builds the index that suits the keys, the device and spec's purpose into *s, and says why
 * there. Before, *s is all zero but for its type, its largest row, and why it has its place. */
sx_status sx_choose(sx_device *dev, sx_store *s, const sx_spec *spec, sx_sorted *sorted,
                    const sx_input *in, sx_err *err);

/* ---- choose/make.c: the build of any spec ------------------------------------------ */

/* Where a run is made. `at` builds it and has its sections. `of` is the index's device:
 * `at`, or the GPU beside it. Its name may say how to search, and it has `space` bytes free
 * for an upper part. */
typedef struct {
    sx_device *at;
    const sx_device *of;
    uint64_t space;
} sx_site;
/* Before the sort: the keys that choosing will look at, if it does and a GPU sorts. They are asked
 * for with the sort (sx_input), and given back when the index is made. */
void sx_make_peek(const sx_site *site, const sx_spec *spec, uint64_t n, uint32_t width,
                  sx_peek *peek);
void sx_peek_end(sx_peek *peek);
/* Builds what `spec` asks for into *s, which is all zero but for its type, its largest row,
 * and why it has its place. spent_ns: what the build has taken so far. */
sx_status sx_make(const sx_site *site, sx_store *s, const sx_spec *spec, sx_sorted *sorted,
                  const sx_input *in, uint64_t spent_ns, sx_err *err);
/* Upper bounds, in bytes: of all sections; of what a build takes; of the upper part; of the
 * segments while eps is measured, whatever the budget is; of a sample on the host. */
typedef struct {
    uint64_t resident, peak, top, segments, sample;
} sx_bounds;
/* Raises *most to the bounds of any index that the spec can become at this device. */
sx_status sx_bound(sx_device *at, const sx_spec *spec, uint32_t width, uint32_t row_bytes,
                   uint64_t n, sx_bounds *most, sx_err *err);

/* ---- choose/epsilon.c ----------------------------------------------------------- */

/* Sets whether a pgm's segments of the last level are searched at once, if nobody measures
 * that: as the device's name says, or if they are few. Leaves other families alone. */
void sx_take_usual_search(const sx_device *dev, sx_view *v);

#endif
