/* answer.c - sends questions to whoever the plan says (plan.c).
 *
 * A device, or a host whose columns are its own, takes columns as they are. The host beside
 * a device takes queries in buckets, maybe with entries (hybrid.c). Columns in device
 * memory visit it while it works on them. */
#include "query/index.h"

#include "base/alloc.h"
#include "place/ranges.h"

#include <string.h>

/* ---- columns in device memory --------------------------------------------------- */

#define VISITS 10u

typedef struct {
    const sx_device *dev;         /* whose columns they are */
    unsigned n;
    struct {
        void *here;
        sx_slice home;
        uint64_t bytes;
        int out;
    } visit[VISITS];
} visits;

/* *s, with n elements, becomes memory of the host, whose contents go home in the end if `out`. */
static sx_status stand_in(visits *all, sx_slice *s, uint64_t n, int out, sx_err *err)
{
    uint64_t bytes = sx_slice_bytes(s, 0, n);
    void *here;
    sx_status st = sx_alloc(&here, bytes, "columns of the device", err);

    if (st == SX_OK) {
        all->visit[all->n].here = here;
        all->visit[all->n].home = *s;
        all->visit[all->n].bytes = bytes;
        all->visit[all->n++].out = out;
        s->data = here;
        s->place = SX_HOST;
    }
    return st;
}

/* A column of strings that are queries comes whole. */
static sx_status bring_strings(visits *all, sx_slice *s, sx_err *err)
{
    const sx_device *dev = all->dev;
    sx_slice offsets = sx_slice_fixed(s->offsets, s->each, s->n + 1, SX_DEVICE);
    sx_slice bytes = sx_slice_fixed(s->data, 1, s->bytes, SX_DEVICE);
    sx_slice *const parts[2] = {&offsets, &bytes};
    sx_status st = SX_OK;

    for (unsigned i = 0; i < 2 && st == SX_OK; i++) {
        const void *home = parts[i]->data;
        uint64_t its = sx_slice_bytes(parts[i], 0, parts[i]->n);
        if (its == 0)
            continue;
        st = stand_in(all, parts[i], parts[i]->n, 0, err);
        if (st == SX_OK)
            st = dev->backend->copy(dev->self, parts[i]->data, 0, home, 1, its, err);
    }
    s->offsets = offsets.data;
    s->data = bytes.data;
    s->place = SX_HOST;
    return st;
}

/* The same for a column in device memory, with its contents if `in`. Others stay as they are. */
static sx_status bring(visits *all, sx_slice *s, uint64_t n, int in, int out, sx_err *err)
{
    const sx_device *dev = all->dev;
    const void *home = s->data;
    sx_status st;

    if (s->offsets)
        return sx_slice_there(s) ? bring_strings(all, s, err) : SX_OK;
    if (!home || !sx_slice_there(s) || n == 0)
        return SX_OK;
    st = stand_in(all, s, n, out, err);
    if (st == SX_OK && in)
        st = dev->backend->copy(dev->self, s->data, 0, home, 1, sx_slice_bytes(s, 0, n), err);
    return st;
}

/* Outputs go home if st is SX_OK; all memory goes back. */
static sx_status leave(visits *all, sx_status st, sx_err *err)
{
    const sx_device *dev = all->dev;

    for (unsigned i = 0; i < all->n; i++) {
        const sx_slice *home = &all->visit[i].home;
        if (st == SX_OK && all->visit[i].out && sx_slice_there(home))
            st = dev->backend->copy(dev->self, home->data, 1, all->visit[i].here, 0,
                                    all->visit[i].bytes, err);
        else if (st == SX_OK && all->visit[i].out)
            memcpy(home->data, all->visit[i].here, all->visit[i].bytes);
        sx_release(all->visit[i].here);
    }
    all->n = 0;
    return st;
}

/* ---- batches, as the plan sees them ------------------------------------------------ */

/* Trips to a GPU that ranges take: one to find them, one to read and send keys and rows.
 * Hits are not known beforehand, and cost both sides. */
enum { TRIPS_COUNT = 1, TRIPS_FOLD = 2, TRIPS_RANGE = 2 };

static sx_batch batch_of(const sx_span_query *job, uint32_t out_bytes, uint32_t trips)
{
    return (sx_batch){.n = job->n, .in_bytes = sx_query_bytes(&job->lo) + sx_query_bytes(&job->hi),
                      .out_bytes = out_bytes, .searches = 2, .trips = trips,
                      .threads = job->how.threads};
}

/* Whether lower or upper ends of ranges are in device memory. */
static uint32_t ends_there(const sx_span_query *job)
{
    return sx_slice_there(&job->lo) | sx_slice_there(&job->hi);
}

/* Whether all columns are on the host, so that either side could answer. */
static int on_host(const sx_how *how, uint32_t there)
{
    return !there && !how->stream;
}

/* ---- codes of strings ------------------------------------------------------------------ */

/* Bytes of a key, of who answers. */
static uint32_t key_width(const sx_plan *plan)
{
    sx_views views = sx_plan_views(plan);

    return sx_one_view(&views)->width;
}

/* The GPU makes entries of codes, and knows no strings: so these are made before, for both sides.
 * Without memory for them the CPU goes on alone. */
static sx_status take_codes(visits *all, sx_plan *plan, sx_entered *ask,
                            sx_text_codes *const to[2], uint64_t n, sx_err *err)
{
    const sx_device *dev = plan->by->dev;
    sx_views views = sx_plan_views(plan);
    uint32_t each = key_width(plan);
    sx_status st = SX_OK;

    if (sx_type_bytes(ask->key_type) > 0 || !plan->entries || ask->columns == 0)
        return SX_OK;
    for (unsigned c = 0; c < ask->columns && st == SX_OK; c++) {
        sx_slice numbers = sx_slice_fixed(NULL, 2 * sizeof(uint64_t), n, SX_HOST);
        sx_text_codes codes;
        st = stand_in(all, &numbers, n, 0, err);
        if (st != SX_OK)
            break;
        codes = (sx_text_codes){(unsigned char *)((uint64_t *)numbers.data + n), numbers.data};
        dev->backend->codes(dev->self, &views, &ask->q[c], n, ask->threads, &codes);
        *to[c] = codes;
        ask->q[c] = sx_slice_fixed(codes.code, each, n, SX_HOST);
        ask->side[c] = SX_LEFT;
    }
    ask->key_type = sx_code_type(each);
    if (st == SX_ENOMEM) {
        plan->entries = NULL;
        return SX_OK;
    }
    return st;
}

/* ---- points ------------------------------------------------------------------------ */

typedef struct {
    const sx_plan *plan;
    const sx_lookup *job;
} points;

/* Asks the backend of who answers about all runs. */
static sx_status ask_points(const sx_plan *plan, const sx_lookup *job, sx_err *err)
{
    const sx_device *dev = plan->by->dev;
    sx_views views = sx_plan_views(plan);

    return dev->backend->lookup(dev->self, &views, job, err);
}

static sx_status answer_points(void *work, uint64_t at, uint64_t n, const sx_help *help,
                               sx_err *err)
{
    const points *w = work;
    sx_lookup part = *w->job;

    part.n = n;
    part.q = sx_slice_part(&part.q, at, at + n);
    part.out = sx_slice_part(&part.out, at, at + n);
    part.keys = sx_slice_part(&part.keys, at, at + n);
    part.at = sx_slice_part(&part.at, at, at + n);
    part.entry = help->entry[0];
    part.how.beside = help->beside;
    part.codes = sx_text_codes_from(&part.codes, at, key_width(w->plan));
    return ask_points(w->plan, &part, err);
}

sx_status sx_answer_lookup(const sx_index_version *now, const sx_lookup *job, sx_err *err)
{
    sx_batch b = {.n = job->n, .in_bytes = sx_query_bytes(&job->q),
                  .out_bytes = (job->out.data ? job->out.each : 0) +
                               (job->keys.data ? job->keys.each : 0),
                  .searches = job->op != SX_OP_KEY_AT, .trips = 1, .threads = job->how.threads};
    sx_plan plan = sx_plan_of(now, &b,
                              on_host(&job->how, sx_slice_there(&job->q) |
                                                     sx_slice_there(&job->out) |
                                                     sx_slice_there(&job->keys) |
                                                     sx_slice_there(&job->at)),
                              job->q.data, job->out.data ? job->out.data : job->keys.data);
    sx_lookup here = *job;
    visits all = {.dev = now->dev};
    points w = {&plan, &here};
    sx_entered ask = {.key_type = job->key_type, .columns = b.searches,
                      .threads = job->how.threads,
                      .side = {sx_side_of(job->op)}};
    sx_status st;

    if (!plan.visit) {
        do
            st = ask_points(&plan, job, err);
        while (sx_plan_again(&plan, st));
        return st;
    }
    st = bring(&all, &here.q, job->n, 1, 0, err);
    if (st == SX_OK)
        st = bring(&all, &here.out, job->n, 0, 1, err);
    if (st == SX_OK)              /* keys without a match stay as they are */
        st = bring(&all, &here.keys, job->n, 1, 1, err);
    ask.q[0] = here.q;
    if (st == SX_OK)
        st = take_codes(&all, &plan, &ask, (sx_text_codes *const[2]){&here.codes, NULL}, job->n, err);
    if (st == SX_OK)
        st = sx_hybrid_run(&plan, &ask, job->n, answer_points, &w, NULL, err);
    return leave(&all, st, err);
}

/* ---- ranges -------------------------------------------------------------------------- */

typedef struct {
    const sx_plan *plan;
    const sx_span_query *job;
    const sx_entered *ask;        /* NULL unless the host beside a GPU answers */
    const sx_spans *spans;
    const sx_range_folds *folds;
    const sx_range_out *out;
    const char *verb;             /* of whoever wants `out` */
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

/* Ranges [at, at + n), with what helps. width: of codes, if they are known. */
static sx_span_query part_of(const sx_span_query *job, uint32_t width, uint64_t at, uint64_t n,
                             const sx_help *help)
{
    sx_span_query part = *job;

    part.n = n;
    part.lo = sx_slice_part(&job->lo, at, at + n);
    part.hi = sx_slice_part(&job->hi, at, at + n);
    part.entry_lo = help->entry[0];
    part.entry_hi = help->entry[1];
    part.how.beside = help->beside;
    part.codes_lo = sx_text_codes_from(&job->codes_lo, at, width);
    part.codes_hi = sx_text_codes_from(&job->codes_hi, at, width);
    return part;
}

static sx_status answer_spans(void *work, uint64_t at, uint64_t n, const sx_help *help,
                              sx_err *err)
{
    const ranges *w = work;
    sx_span_query part = part_of(w->job, key_width(w->plan), at, n, help);
    sx_spans to = *w->spans;

    to.n = n;
    to.start = to.start ? to.start + at : NULL;
    to.first += at;
    return ask_spans(w->plan, &part, &to, err);
}

static sx_status answer_fold(void *work, uint64_t at, uint64_t n, const sx_help *help,
                             sx_err *err)
{
    const ranges *w = work;
    sx_span_query part = part_of(w->job, key_width(w->plan), at, n, help);
    sx_range_folds out = {.count = sx_slice_part(&w->folds->count, at, at + n),
                          .min = sx_slice_part(&w->folds->min, at, at + n),
                          .max = sx_slice_part(&w->folds->max, at, at + n),
                          .sum = sx_slice_part(&w->folds->sum, at, at + n)};

    return ask_fold(w->plan, &part, &out, err);
}

/* Prefixes that are brought already become the ranges that they are, as the GPU makes entries for
 * ends. Without memory for these the CPU goes on alone. */
static sx_status make_ends(visits *all, sx_plan *plan, sx_span_query *here, sx_err *err)
{
    const sx_type_info *type = sx_type_of(here->key_type);
    sx_slice lo = sx_slice_fixed(NULL, type->bytes, here->n, SX_HOST), hi = lo;
    sx_status st;

    if (!here->prefix || type->bytes == 0 || !plan->entries)
        return SX_OK;
    st = stand_in(all, &lo, here->n, 0, err);
    if (st == SX_OK)
        st = stand_in(all, &hi, here->n, 0, err);
    if (st == SX_OK) {
        sx_prefix_make_ends(type, &here->lo, &here->hi, here->length, here->n, lo.data, hi.data);
        here->lo = lo;
        here->hi = hi;
        here->prefix = 0;
        return SX_OK;
    }
    plan->entries = NULL;
    return st == SX_ENOMEM ? SX_OK : st;
}

/* Brings the ends of ranges to the host, and says what entries to ask for. */
static sx_status bring_ranges(visits *all, sx_plan *plan, const sx_span_query *job,
                              sx_span_query *here, sx_entered *ask, sx_err *err)
{
    sx_status st;

    *here = *job;
    st = bring(all, &here->lo, job->n, 1, 0, err);
    if (st == SX_OK)
        st = bring(all, &here->hi, job->n, 1, 0, err);
    if (st == SX_OK)
        st = make_ends(all, plan, here, err);
    *ask = (sx_entered){.key_type = job->key_type, .q = {here->lo, here->hi},
                        .side = {SX_LEFT, SX_RIGHT}, .columns = here->prefix ? 1 : 2,
                        .threads = job->how.threads};
    return st == SX_OK ? take_codes(all, plan, ask, (sx_text_codes *const[2]){&here->codes_lo,
                                                                               &here->codes_hi},
                                    job->n, err)
                       : st;
}

sx_status sx_answer_count(const sx_index_version *now, const sx_span_query *job,
                          const sx_slice *count, sx_err *err)
{
    sx_batch b = batch_of(job, count->each, TRIPS_COUNT);
    sx_plan plan = sx_plan_of(now, &b, on_host(&job->how, ends_there(job) | sx_slice_there(count)),
                              job->lo.data, count->data);
    visits all = {.dev = now->dev};
    sx_span_query here;
    sx_entered ask;
    sx_spans to = {.n = job->n, .first = count->data, .there = sx_slice_there(count), .last = 1};
    ranges w = {.plan = &plan, .job = &here, .spans = &to};
    sx_slice column = *count;
    sx_status st;

    if (!plan.visit) {
        do
            st = ask_spans(&plan, job, &to, err);
        while (sx_plan_again(&plan, st));
        return st;
    }
    st = bring_ranges(&all, &plan, job, &here, &ask, err);
    if (st == SX_OK)
        st = bring(&all, &column, job->n, 0, 1, err);
    if (st == SX_OK) {
        to.first = column.data;
        to.there = 0;
        st = sx_hybrid_run(&plan, &ask, job->n, answer_spans, &w, NULL, err);
    }
    return leave(&all, st, err);
}

sx_status sx_answer_fold(const sx_index_version *now, const sx_span_query *job,
                         const sx_range_folds *out, sx_err *err)
{
    sx_range_folds to = *out;
    sx_slice *const columns[] = {&to.count, &to.min, &to.max, &to.sum};
    uint32_t bytes = 0, there = ends_there(job);
    sx_batch b;
    sx_plan plan;
    visits all = {.dev = now->dev};
    sx_span_query here;
    sx_entered ask;
    ranges w = {.plan = &plan, .job = &here, .folds = &to};
    sx_status st;

    for (unsigned i = 0; i < 4; i++) {
        bytes += columns[i]->data ? columns[i]->each : 0;
        there |= sx_slice_there(columns[i]);
    }
    b = batch_of(job, bytes, TRIPS_FOLD);
    plan = sx_plan_of(now, &b, on_host(&job->how, there), job->lo.data, NULL);
    if (!plan.visit) {
        do
            st = ask_fold(&plan, job, out, err);
        while (sx_plan_again(&plan, st));
        return st;
    }
    st = bring_ranges(&all, &plan, job, &here, &ask, err);
    for (unsigned i = 0; i < 4 && st == SX_OK; i++)
        st = bring(&all, columns[i], job->n, 0, 1, err);
    if (st == SX_OK)
        st = sx_hybrid_run(&plan, &ask, job->n, answer_fold, &w, NULL, err);
    return leave(&all, st, err);
}

/* Ranges that are counted at a time, to see whether their total fits 64 bits. */
#define TOTAL_PIECE (1u << 18)
#define TOTAL_PIECE_LEAST 1024u

/* Whether all ranges together hold fewer than 2^64 keys. Hardly any call has so many
 * ranges, of so large an index, that this is not known at once. Such a call is counted
 * beforehand, so that a refusal leaves first as it was. */
static sx_status check_total(const sx_index_version *now, const sx_span_query *job,
                             uint64_t max_bytes, const char *verb, sx_err *err)
{
    static const sx_help none = {.beside = {NULL, NULL}};
    uint64_t most = job->limit < now->n ? job->limit : now->n, total = 0;
    uint64_t piece = max_bytes && max_bytes / sizeof total < TOTAL_PIECE
                         ? max_bytes / sizeof total : TOTAL_PIECE;
    void *memory;
    sx_slice counts;
    sx_status st;

    if (!__builtin_mul_overflow(job->n, most, &total))
        return SX_OK;
    if (job->how.stream)
        return sx_fail(err, SX_EINVAL, "%s: %llu ranges of up to %llu keys may hold 2^64 or "
                       "more together, which is not known before with a stream; allowed: fewer "
                       "ranges, or a limit up to %llu", verb, (unsigned long long)job->n,
                       (unsigned long long)most, (unsigned long long)(UINT64_MAX / job->n));
    if (piece < TOTAL_PIECE_LEAST)
        piece = TOTAL_PIECE_LEAST;
    st = sx_alloc_array(&memory, piece, sizeof total, "ranges", err);
    if (st != SX_OK)
        return st;
    counts = sx_slice_fixed(memory, sizeof total, piece, SX_HOST);
    total = 0;
    for (uint64_t at = 0; at < job->n && st == SX_OK; at += piece) {
        sx_span_query part = part_of(job, 0, at, job->n - at < piece ? job->n - at : piece, &none);
        const uint64_t *count = memory;
        part.how.device_ns = NULL;
        st = sx_answer_count(now, &part, &counts, err);
        for (uint64_t i = 0; i < part.n && st == SX_OK; i++)
            if (__builtin_add_overflow(total, count[i], &total))
                st = sx_fail(err, SX_EINVAL, "%s: ranges 0 to %llu hold 2^64 keys or more "
                             "together", verb, (unsigned long long)(at + i));
    }
    sx_release(memory);
    return st;
}

/* Whoever the plan says finds the ranges; the host beside a GPU may have entries. */
static sx_status find_ranges(void *work, const sx_spans *to, sx_err *err)
{
    ranges *w = work;

    w->spans = to;
    return w->ask ? sx_hybrid_run(w->plan, w->ask, w->job->n, answer_spans, w, NULL, err)
                  : ask_spans(w->plan, w->job, to, err);
}

/* Results in device memory visit the host if it answers. */
static sx_status fill_ranges(void *work, const sx_spans *spans, uint64_t total, sx_err *err)
{
    const ranges *w = work;
    const sx_device *dev = w->plan->by->dev;
    sx_views views = sx_plan_views(w->plan);
    visits all = {.dev = w->dev};
    sx_range_out here = *w->out;
    uint64_t bytes;
    sx_status st = SX_OK;

    if (here.keys.offsets) {
        st = sx_spans_strings(w->plan, w->job, spans, total, &here.keys, here.max_bytes,
                              w->verb, err);
        if (st != SX_OK)
            return st;
        here.keys = (sx_slice){0};
    }
    if (w->ask) {
        bytes = (sx_slice_there(&here.rows) ? sx_slice_bytes(&here.rows, 0, total) : 0) +
                (sx_slice_there(&here.keys) ? sx_slice_bytes(&here.keys, 0, total) : 0);
        if (here.max_bytes && bytes > here.max_bytes)
            return sx_fail(err, SX_ENOMEM, "%s: %llu results in device memory need %llu "
                           "bytes on the host, more than max_bytes = %llu", w->verb,
                           (unsigned long long)total, (unsigned long long)bytes,
                           (unsigned long long)here.max_bytes);
        st = bring(&all, &here.rows, total, 0, 1, err);
        if (st == SX_OK)
            st = bring(&all, &here.keys, total, 0, 1, err);
    }
    if (st == SX_OK && (here.rows.data || here.keys.data || w->job->how.stream))
        st = dev->backend->fill(dev->self, &views, w->job, spans, &here, total, err);
    return leave(&all, st, err);
}

sx_status sx_answer_range(const sx_index_version *now, const sx_span_query *job,
                          const sx_range_out *out, const char *verb, sx_err *err)
{
    sx_batch b = batch_of(job, sizeof(uint64_t), TRIPS_RANGE);
    sx_plan plan;
    visits all = {.dev = now->dev}, offsets = {.dev = now->dev};
    sx_span_query here;
    sx_entered ask;
    sx_range_out to = *out;
    ranges w = {.plan = &plan, .job = job, .out = out, .dev = now->dev, .verb = verb};
    uint32_t there = sx_slice_there(&out->first) | sx_slice_there(&out->rows) |
                     sx_slice_there(&out->keys);
    sx_status st = check_total(now, job, out->max_bytes, verb, err), space;

    if (st != SX_OK)
        return st;
    plan = sx_plan_of(now, &b, on_host(&job->how, ends_there(job) | there), job->lo.data,
                      out->first.data);
    if (!plan.visit) {
        do
            st = sx_spans_answer(plan.by, job, out, find_ranges, fill_ranges, &w, verb, err);
        while (sx_plan_again(&plan, st));
        return st;
    }
    w.ask = &ask;
    w.job = &here;
    st = bring_ranges(&all, &plan, job, &here, &ask, err);
    /* Memory for results on the device is taken when first is known, so that a call without
     * enough leaves all outputs as they were. */
    if (st == SX_OK && there)
        st = stand_in(&offsets, &to.first, job->n + 1, 1, err);
    if (st == SX_OK)
        st = sx_spans_answer(plan.by, &here, &to, find_ranges, fill_ranges, &w, verb, err);
    /* first is filled even if there is too little space for results */
    space = st == SX_ESPACE ? st : SX_OK;
    st = leave(&offsets, space == SX_OK ? st : SX_OK, err);
    st = leave(&all, st, err);
    return st == SX_OK ? space : st;
}

/* ---- climbs ------------------------------------------------------------------------------ */

sx_status sx_answer_climb(const sx_index_version *now, const sx_climb_query *job,
                          sx_circles *circles, sx_err *err)
{
    sx_batch b = {.n = job->n, .in_bytes = sx_query_bytes(&job->of),
                  .out_bytes = (job->rows.data ? job->rows.each : 0) +
                               (job->keys.data ? job->keys.each : 0),
                  .searches = 1, .trips = 1, .threads = job->how.threads};
    uint32_t there = sx_slice_there(&job->of) | sx_slice_there(&job->parents) |
                     sx_slice_there(&job->rows) | sx_slice_there(&job->keys) |
                     sx_slice_there(&job->steps) | sx_slice_there(&job->at);
    sx_plan plan = sx_plan_of(now, &b, on_host(&job->how, there), job->of.data, NULL);
    const sx_device *dev;
    visits brought = {.dev = now->dev};
    sx_climb_query here = *job;
    sx_views views;
    sx_status st = SX_OK;

    do {
        dev = plan.by->dev;
        views = sx_plan_views(&plan);
        if (!plan.visit)
            st = dev->backend->climb(dev->self, &views, job, circles, err);
    } while (!plan.visit && sx_plan_again(&plan, st));
    if (!plan.visit)
        return st;
    st = bring(&brought, &here.of, job->n, 1, 0, err);
    if (st == SX_OK)
        st = bring(&brought, &here.parents, job->parents.n, 1, 0, err);
    if (st == SX_OK)
        st = bring(&brought, &here.rows, job->n, 0, 1, err);
    if (st == SX_OK)              /* keys without a top stay as they are */
        st = bring(&brought, &here.keys, job->n, 1, 1, err);
    if (st == SX_OK)
        st = bring(&brought, &here.steps, job->n, 0, 1, err);
    if (st == SX_OK)
        st = dev->backend->climb(dev->self, &views, &here, circles, err);
    return leave(&brought, st, err);
}
