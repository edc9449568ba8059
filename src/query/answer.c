/* answer.c - questions go to whoever the plan says (plan.c).
 *
 * A device, or a host whose columns are its own, has them as they are. The host beside a
 * device takes its queries in buckets, maybe with entries (hybrid.c), and columns in device
 * memory visit it while it works on them. */
#include "query/index.h"

#include "base/alloc.h"
#include "place/ranges.h"

#include <string.h>

/* ---- columns in device memory --------------------------------------------------- */

#define VISITS 6u

typedef struct {
    const sx_device *dev;         /* whose columns they are */
    unsigned n;
    struct {
        void *here, *home;
        uint64_t bytes;
        uint32_t there;           /* home is in device memory */
        int out;
    } visit[VISITS];
} visits;

/* *here becomes memory of the host that goes to `data` in the end (out). */
static sx_status stand_in(visits *all, void *data, uint32_t there, uint64_t bytes, int out,
                          void **here, sx_err *err)
{
    sx_status st = sx_alloc(here, bytes, "columns of the device", err);

    if (st == SX_OK) {
        all->visit[all->n].here = *here;
        all->visit[all->n].home = data;
        all->visit[all->n].bytes = bytes;
        all->visit[all->n].there = there;
        all->visit[all->n++].out = out;
    }
    return st;
}

/* The same, if data is in device memory, and with what it holds (in); else *here
 * is data. */
static sx_status bring(visits *all, void *data, uint32_t there, uint64_t bytes, int in, int out,
                       void **here, sx_err *err)
{
    const sx_device *dev = all->dev;
    sx_status st;

    *here = data;
    if (!data || !there || bytes == 0)
        return SX_OK;
    st = stand_in(all, data, there, bytes, out, here, err);
    if (st == SX_OK && in)
        st = dev->backend->copy(dev->self, *here, 0, data, 1, bytes, err);
    return st;
}

/* Outputs go home if all went well; all memory goes back. */
static sx_status leave(visits *all, sx_status st, sx_err *err)
{
    const sx_device *dev = all->dev;

    for (unsigned i = 0; i < all->n; i++) {
        if (st == SX_OK && all->visit[i].out && all->visit[i].there)
            st = dev->backend->copy(dev->self, all->visit[i].home, 1, all->visit[i].here, 0,
                                    all->visit[i].bytes, err);
        else if (st == SX_OK && all->visit[i].out)
            memcpy(all->visit[i].home, all->visit[i].here, all->visit[i].bytes);
        sx_release(all->visit[i].here);
    }
    all->n = 0;
    return st;
}

/* Element `at` of a column, which may be NULL. */
static void *element(const void *column, uint64_t at, uint64_t each)
{
    return column ? (unsigned char *)column + at * each : NULL;
}

/* ---- batches, as the plan sees them ------------------------------------------------ */

/* How many trips to a GPU ranges take: to find them; and to read their keys and rows, and
 * send those. Hits are not known beforehand, and cost either side. */
enum { TRIPS_COUNT = 1, TRIPS_FOLD = 2, TRIPS_RANGE = 2 };

static sx_batch batch_of(const sx_span_query *job, uint32_t out_bytes, uint32_t trips)
{
    return (sx_batch){.n = job->n, .in_bytes = 2 * (uint32_t)sx_type_bytes(job->key_type),
                      .out_bytes = out_bytes, .searches = 2, .trips = trips,
                      .threads = job->how.threads};
}

/* Whether all columns are on the host, so that either side could answer. */
static int on_host(const sx_how *how, uint32_t there)
{
    return !there && !how->stream;
}

/* ---- points ------------------------------------------------------------------------ */

typedef struct {
    const sx_plan *plan;
    const sx_lookup *job;
} points;

/* The backend of who answers, asked about all runs. */
static sx_status ask_points(const sx_plan *plan, const sx_lookup *job, sx_err *err)
{
    const sx_device *dev = plan->by->dev;
    sx_views views = sx_plan_views(plan);

    return dev->backend->lookup(dev->self, &views, job, err);
}

static sx_status answer_points(void *work, uint64_t at, uint64_t n, const sx_state *const entry[2],
                               sx_err *err)
{
    const points *w = work;
    sx_lookup part = *w->job;
    uint64_t bytes = sx_type_bytes(part.key_type);

    part.n = n;
    part.q = element(part.q, at, part.op == SX_OP_KEY_AT ? part.rank_bytes : bytes);
    part.out = element(part.out, at, part.out_bytes);
    part.keys = element(part.keys, at, bytes);
    part.entry = entry[0];
    return ask_points(w->plan, &part, err);
}

sx_status sx_answer_lookup(const sx_index_version *now, const sx_lookup *job, sx_err *err)
{
    uint64_t bytes = sx_type_bytes(job->key_type);
    sx_batch b = {.n = job->n,
                  .in_bytes = (uint32_t)(job->op == SX_OP_KEY_AT ? job->rank_bytes : bytes),
                  .out_bytes = (job->out ? job->out_bytes : 0) +
                               (job->keys ? (uint32_t)bytes : 0),
                  .searches = job->op != SX_OP_KEY_AT, .trips = 1, .threads = job->how.threads};
    sx_plan plan = sx_plan_of(now, &b,
                              on_host(&job->how, job->q_there | job->out_there | job->keys_there),
                              job->q, job->out ? job->out : job->keys);
    sx_lookup here = *job;
    visits all = {.dev = now->dev};
    points w = {&plan, &here};
    void *q, *out, *keys;
    sx_entered ask = {.key_type = job->key_type, .columns = b.searches,
                      .threads = job->how.threads,
                      .right = {job->op == SX_OP_RANK_RIGHT || job->op == SX_OP_FLOOR}};
    sx_status st;

    if (!plan.visit) {
        do
            st = ask_points(&plan, job, err);
        while (sx_plan_again(&plan, st));
        return st;
    }
    st = bring(&all, (void *)job->q, job->q_there,
               job->n * (job->op == SX_OP_KEY_AT ? job->rank_bytes : bytes), 1, 0, &q, err);
    if (st == SX_OK)
        st = bring(&all, job->out, job->out_there, job->n * job->out_bytes, 0, 1, &out, err);
    if (st == SX_OK)              /* keys stay as they are where there is no match */
        st = bring(&all, job->keys, job->keys_there, job->n * bytes, 1, 1, &keys, err);
    if (st == SX_OK) {
        here.q = ask.q[0] = q;
        here.out = out;
        here.keys = keys;
        here.q_there = here.out_there = here.keys_there = 0;
        st = sx_hybrid_run(&plan, &ask, job->n, answer_points, &w, err);
    }
    return leave(&all, st, err);
}

/* ---- ranges -------------------------------------------------------------------------- */

typedef struct {
    const sx_plan *plan;
    const sx_span_query *job;
    const sx_entered *ask;        /* of an index on the host of a GPU */
    const sx_spans *spans;
    const sx_range_folds *folds;
    const sx_range_out *out;
    const sx_device *dev;         /* the index's */
} ranges;

static sx_status ask_spans(const sx_plan *plan, const sx_span_query *job, const sx_spans *to,
                           sx_err *err)
{
    const sx_device *dev = plan->by->dev;
    sx_views views = sx_plan_views(plan);

    return dev->backend->spans(dev->self, &views, job, to, err);
}

static sx_status ask_fold(const sx_plan *plan, const sx_span_query *job, const sx_range_folds *out,
                          sx_err *err)
{
    const sx_device *dev = plan->by->dev;
    sx_views views = sx_plan_views(plan);

    return dev->backend->fold(dev->self, &views, job, out, err);
}

/* Ranges [at, at + n), with their entries. */
static sx_span_query part_of(const sx_span_query *job, uint64_t at, uint64_t n,
                             const sx_state *const entry[2])
{
    sx_span_query part = *job;
    uint64_t bytes = sx_type_bytes(job->key_type);

    part.n = n;
    part.lo = element(job->lo, at, bytes);
    part.hi = element(job->hi, at, bytes);
    part.entry_lo = entry[0];
    part.entry_hi = entry[1];
    return part;
}

static sx_status answer_spans(void *work, uint64_t at, uint64_t n, const sx_state *const entry[2],
                              sx_err *err)
{
    const ranges *w = work;
    sx_span_query part = part_of(w->job, at, n, entry);
    sx_spans to = *w->spans;

    to.n = n;
    to.start = element(to.start, at, sizeof *to.start);
    to.first += at;
    return ask_spans(w->plan, &part, &to, err);
}

static sx_status answer_fold(void *work, uint64_t at, uint64_t n, const sx_state *const entry[2],
                             sx_err *err)
{
    const ranges *w = work;
    sx_span_query part = part_of(w->job, at, n, entry);
    sx_range_folds out = {.count = element(w->folds->count, at, sizeof(uint64_t)),
                          .min = element(w->folds->min, at, sizeof(uint64_t)),
                          .max = element(w->folds->max, at, sizeof(uint64_t)),
                          .sum = element(w->folds->sum, at, sizeof(uint64_t))};

    return ask_fold(w->plan, &part, &out, err);
}

/* The ends of ranges on the host, and what entries to ask for. */
static sx_status bring_ranges(visits *all, const sx_span_query *job, sx_span_query *here,
                              sx_entered *ask, sx_err *err)
{
    uint64_t bytes = job->n * sx_type_bytes(job->key_type);
    void *lo, *hi;
    sx_status st = bring(all, (void *)job->lo, job->lo_there, bytes, 1, 0, &lo, err);

    if (st == SX_OK)
        st = bring(all, (void *)job->hi, job->hi_there, bytes, 1, 0, &hi, err);
    if (st != SX_OK)
        return st;
    *here = *job;
    here->lo = lo;
    here->hi = hi;
    here->lo_there = here->hi_there = 0;
    *ask = (sx_entered){.key_type = job->key_type, .q = {lo, hi}, .right = {0, 1}, .columns = 2,
                        .threads = job->how.threads};
    return SX_OK;
}

sx_status sx_answer_count(const sx_index_version *now, const sx_span_query *job, uint64_t *count,
                          uint32_t count_there, sx_err *err)
{
    sx_batch b = batch_of(job, sizeof *count, TRIPS_COUNT);
    sx_plan plan = sx_plan_of(now, &b,
                              on_host(&job->how, job->lo_there | job->hi_there | count_there),
                              job->lo, count);
    visits all = {.dev = now->dev};
    sx_span_query here;
    sx_entered ask;
    sx_spans to = {.n = job->n, .first = count, .there = count_there, .last = 1};
    ranges w = {.plan = &plan, .job = &here, .spans = &to};
    void *column;
    sx_status st;

    if (!plan.visit) {
        do
            st = ask_spans(&plan, job, &to, err);
        while (sx_plan_again(&plan, st));
        return st;
    }
    st = bring_ranges(&all, job, &here, &ask, err);
    if (st == SX_OK)
        st = bring(&all, count, count_there, job->n * sizeof *count, 0, 1, &column, err);
    if (st == SX_OK) {
        to.first = column;
        to.there = 0;
        st = sx_hybrid_run(&plan, &ask, job->n, answer_spans, &w, err);
    }
    return leave(&all, st, err);
}

sx_status sx_answer_fold(const sx_index_version *now, const sx_span_query *job,
                         const sx_range_folds *out, sx_err *err)
{
    uint32_t columns = (uint32_t)(!!out->count + !!out->min + !!out->max + !!out->sum);
    sx_batch b = batch_of(job, (uint32_t)sizeof(uint64_t) * columns, TRIPS_FOLD);
    sx_plan plan = sx_plan_of(now, &b,
                              on_host(&job->how, job->lo_there | job->hi_there |
                                                     out->count_there | out->min_there |
                                                     out->max_there | out->sum_there),
                              job->lo, NULL);
    visits all = {.dev = now->dev};
    sx_span_query here;
    sx_entered ask;
    sx_range_folds to = {0};
    ranges w = {.plan = &plan, .job = &here, .folds = &to};
    uint64_t bytes = job->n * sizeof(uint64_t);
    sx_status st;

    if (!plan.visit) {
        do
            st = ask_fold(&plan, job, out, err);
        while (sx_plan_again(&plan, st));
        return st;
    }
    st = bring_ranges(&all, job, &here, &ask, err);
    if (st == SX_OK)
        st = bring(&all, out->count, out->count_there, bytes, 0, 1, (void **)&to.count, err);
    if (st == SX_OK)
        st = bring(&all, out->min, out->min_there, bytes, 0, 1, (void **)&to.min, err);
    if (st == SX_OK)
        st = bring(&all, out->max, out->max_there, bytes, 0, 1, (void **)&to.max, err);
    if (st == SX_OK)
        st = bring(&all, out->sum, out->sum_there, bytes, 0, 1, (void **)&to.sum, err);
    if (st == SX_OK)
        st = sx_hybrid_run(&plan, &ask, job->n, answer_fold, &w, err);
    return leave(&all, st, err);
}

/* Ranges whose counts are added up at a time, to see whether they can be. */
#define TOTAL_PIECE (1u << 18)
#define TOTAL_PIECE_LEAST 1024u

/* Whether all ranges together hold fewer than 2^64 keys. Hardly any call has so many
 * ranges of an index so large that this is not known; one that has is counted once
 * more beforehand, so that a refusal leaves first as it was. */
static sx_status check_total(const sx_index_version *now, const sx_span_query *job,
                             uint64_t max_bytes, sx_err *err)
{
    static const sx_state *const none[2] = {NULL, NULL};
    uint64_t most = job->limit < now->n ? job->limit : now->n, total = 0;
    uint64_t piece = max_bytes && max_bytes / sizeof total < TOTAL_PIECE
                         ? max_bytes / sizeof total : TOTAL_PIECE;
    void *memory;
    sx_status st;

    if (!__builtin_mul_overflow(job->n, most, &total))
        return SX_OK;
    if (job->how.stream)
        return sx_fail(err, SX_EINVAL, "sx_range: %llu ranges of up to %llu keys may hold 2^64 or "
                       "more together, which is not known before with a stream; allowed: fewer "
                       "ranges, or a limit up to %llu", (unsigned long long)job->n,
                       (unsigned long long)most, (unsigned long long)(UINT64_MAX / job->n));
    if (piece < TOTAL_PIECE_LEAST)
        piece = TOTAL_PIECE_LEAST;
    st = sx_alloc_array(&memory, piece, sizeof total, "ranges", err);
    if (st != SX_OK)
        return st;
    total = 0;
    for (uint64_t at = 0; at < job->n && st == SX_OK; at += piece) {
        sx_span_query part = part_of(job, at, job->n - at < piece ? job->n - at : piece, none);
        const uint64_t *count = memory;
        part.how.device_ns = NULL;
        st = sx_answer_count(now, &part, memory, 0, err);
        for (uint64_t i = 0; i < part.n && st == SX_OK; i++)
            if (__builtin_add_overflow(total, count[i], &total))
                st = sx_fail(err, SX_EINVAL, "sx_range: ranges 0 to %llu hold 2^64 keys or more "
                             "together", (unsigned long long)(at + i));
    }
    sx_release(memory);
    return st;
}

/* By whoever the plan says, with entries if an index on the host of a GPU has them. */
static sx_status find_ranges(void *work, const sx_spans *to, sx_err *err)
{
    ranges *w = work;

    w->spans = to;
    return w->ask ? sx_hybrid_run(w->plan, w->ask, w->job->n, answer_spans, w, err)
                  : ask_spans(w->plan, w->job, to, err);
}

/* Results in device memory of an index on the host visit it. */
static sx_status fill_ranges(void *work, const sx_spans *spans, uint64_t total, sx_err *err)
{
    const ranges *w = work;
    const sx_device *dev = w->plan->by->dev;
    sx_views views = sx_plan_views(w->plan);
    visits all = {.dev = w->dev};
    sx_range_out here = *w->out;
    uint64_t row_bytes, key_bytes, bytes;
    sx_status st = SX_OK;

    if (w->ask) {
        row_bytes = total * here.row_bytes;
        key_bytes = total * sx_type_bytes(w->job->key_type);
        bytes = (here.rows_there ? row_bytes : 0) + (here.keys_there ? key_bytes : 0);
        if (here.max_bytes && bytes > here.max_bytes)
            return sx_fail(err, SX_ENOMEM, "sx_range: %llu results in device memory need %llu "
                           "bytes on the host, more than max_bytes = %llu",
                           (unsigned long long)total, (unsigned long long)bytes,
                           (unsigned long long)here.max_bytes);
        st = bring(&all, here.rows, here.rows_there, row_bytes, 0, 1, &here.rows, err);
        if (st == SX_OK)
            st = bring(&all, here.keys, here.keys_there, key_bytes, 0, 1, &here.keys, err);
        here.rows_there = here.keys_there = 0;
    }
    if (st == SX_OK)
        st = dev->backend->fill(dev->self, &views, w->job, spans, &here, total, err);
    return leave(&all, st, err);
}

sx_status sx_answer_range(const sx_index_version *now, const sx_span_query *job,
                          const sx_range_out *out, sx_err *err)
{
    sx_batch b = batch_of(job, sizeof(uint64_t), TRIPS_RANGE);
    sx_plan plan;
    visits all = {.dev = now->dev}, offsets = {.dev = now->dev};
    sx_span_query here;
    sx_entered ask;
    sx_range_out to = *out;
    ranges w = {.plan = &plan, .job = job, .out = out, .dev = now->dev};
    void *first;
    sx_status st = check_total(now, job, out->max_bytes, err), space;

    if (st != SX_OK)
        return st;
    plan = sx_plan_of(now, &b,
                      on_host(&job->how, job->lo_there | job->hi_there | out->first_there |
                                             out->rows_there | out->keys_there),
                      job->lo, out->first);
    if (!plan.visit) {
        do
            st = sx_spans_answer(plan.by, job, out, find_ranges, fill_ranges, &w, err);
        while (sx_plan_again(&plan, st));
        return st;
    }
    w.ask = &ask;
    w.job = &here;
    st = bring_ranges(&all, job, &here, &ask, err);
    /* Memory for the rest, if it is on the device, is taken when first is known:
     * whoever has too little finds all outputs as they were. */
    if (st == SX_OK && (out->first_there || out->rows_there || out->keys_there)) {
        st = stand_in(&offsets, out->first, out->first_there, (job->n + 1) * sizeof(uint64_t), 1,
                      &first, err);
        to.first = first;
        to.first_there = 0;
    }
    if (st == SX_OK)
        st = sx_spans_answer(plan.by, &here, &to, find_ranges, fill_ranges, &w, err);
    /* where there is no space first is filled, too */
    space = st == SX_ESPACE ? st : SX_OK;
    st = leave(&offsets, space == SX_OK ? st : SX_OK, err);
    st = leave(&all, st, err);
    return st == SX_OK ? space : st;
}
