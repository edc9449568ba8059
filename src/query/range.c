/* range.c - the verbs that ask about ranges: count, then fill; or fold. */
#include "query/index.h"

static sx_status check_ranges(const sx_index_version *now, const sx_ranges *given,
                              const sx_call *call, sx_span_query *job, sx_call *how,
                              const char *verb, sx_err *err)
{
    sx_ranges own, *r = &own;
    sx_status st = sx_need(given, verb, "ranges", err);

    if (st == SX_OK)
        st = SX_TAKE(r, given, sx_ranges, SX_RANGES_SIZE_1, verb, err);
    if (st == SX_OK)
        st = sx_check_question(call, now, how, verb, err);
    if (st == SX_OK)
        st = sx_check_keys(now, r->lo, how, verb, "lo", err);
    if (st == SX_OK)
        st = sx_check_keys(now, r->hi, how, verb, "hi", err);
    if (st != SX_OK)
        return st;
    if (r->lo->n != r->hi->n)
        return sx_fail(err, SX_EINVAL, "%s: %llu lower ends but %llu upper ends", verb,
                       (unsigned long long)r->lo->n, (unsigned long long)r->hi->n);
    if (r->reserved)
        return sx_fail(err, SX_EINVAL, "%s: reserved of sx_ranges is %u, not 0", verb,
                       r->reserved);
    *job = (sx_span_query){.key_type = now->key_type, .n = r->lo->n,
                           .lo = sx_slice_of(r->lo), .hi = sx_slice_of(r->hi),
                           .limit = r->limit ? r->limit : UINT64_MAX, .last = r->last,
                           .how = sx_how_of(how, r->lo->n)};
    return SX_OK;
}

static sx_status check_u64_out(const sx_index_version *now, const sx_column *c,
                               const sx_call *how, uint64_t n, const char *verb, const char *name,
                               sx_err *err)
{
    sx_status st = sx_check_numbers(c, now->dev, how, 0, verb, name, err);

    return st == SX_OK ? sx_check_space(c, n, verb, name, err) : st;
}

/* Begins the first phase. It ends at `part`, and has a unit for each range. */
static void begin_progress(sx_progress *p, const sx_call *how, sx_span_query *job, uint64_t part,
                           const char *verb)
{
    job->how.progress = sx_progress_begin(p, how, verb);
    sx_progress_phase(job->how.progress, part);
    sx_progress_units(job->how.progress, job->n);
}

static sx_status end_question(const sx_span_query *job, const sx_timing *timing, sx_status st,
                              sx_err *err)
{
    if (st == SX_OK)
        st = sx_progress_status(job->how.progress, err);
    sx_timing_end(timing, st);
    sx_progress_end(job->how.progress, st);
    return st;
}

/* What ranges of strings take. out: columns of numbers, up to 4, if there are as many as ranges. */
static sx_text_asked texts_of(const sx_span_query *job, const sx_slice *const out[4])
{
    return (sx_text_asked){.n = job->n, .searches = job->prefix ? 1 : 2, .ranges = 1,
                           .column = {&job->lo, &job->hi, out[0], out[1], out[2], out[3]}};
}

static sx_status count_ranges(const sx_index_version *now, const sx_ranges *ranges,
                              sx_column *counts, const sx_call *call, sx_err *err)
{
    static const char verb[] = "sx_range_count";
    sx_span_query job;
    sx_call how;
    sx_timing timing;
    sx_progress progress;
    sx_text_asked asked;
    sx_slice to;
    sx_status st = check_ranges(now, ranges, call, &job, &how, verb, err);

    if (st == SX_OK)
        st = check_u64_out(now, counts, &how, job.n, verb, "counts", err);
    if (st != SX_OK)
        return st;
    to = sx_slice_of(counts);
    asked = texts_of(&job, (const sx_slice *const[4]){&to});
    st = sx_check_text_scratch(now, &asked, how.max_bytes, verb, err);
    if (st != SX_OK)
        return st;
    begin_progress(&progress, &how, &job, SX_PROGRESS_ALL, verb);
    sx_timing_begin(&timing, &job.how);
    if (job.n > 0 || job.how.stream)
        st = sx_answer_count(now, &job, &to, err);
    return end_question(&job, &timing, st, err);
}

sx_status sx_range_count(const sx_index *ix, const sx_ranges *ranges, sx_column *counts,
                         const sx_call *call)
{
    sx_question q;
    sx_status st = sx_question_begin(&q, ix, "sx_range_count");

    if (st == SX_OK)
        st = count_ranges(q.held.now, ranges, counts, call, &q.err);
    return sx_question_end(&q, st);
}

/* Whether a GPU may make entries, which it makes of both ends of prefixes. */
static int has_upper(const sx_index_version *now)
{
    const sx_run *run = sx_one_run(now);

    return run->replicas > 1 && run->replica[1].part == SX_UPPER;
}

/* Whether memory for these ranges is within max_bytes. It includes columns in device
 * memory that an index on the host has to bring, but not results, whose number is not
 * known yet: what is left of max_bytes is for them. */
static sx_status check_scratch(const sx_index_version *now, const sx_span_query *job,
                               sx_range_out *out, const char *verb, sx_err *err)
{
    const sx_device *at = sx_one_run(now)->replica[0].dev;
    uint64_t each = 0, word = sizeof(uint64_t), texts = 0, needed;
    int strings = now->key_type == SX_STR;

    if (out->rows.data || out->keys.data || out->keys.offsets)
        each = at->backend->gpu ? 3 * word : out->keys.offsets ? 2 * word : word;
    else if (at->backend->gpu && !sx_slice_there(&out->first))
        each = 2 * word;          /* offsets are summed up on the device, then copied */
    if (at != now->dev) {
        if (!strings)
            each += (sx_slice_there(&job->lo) ? job->lo.each : 0) +
                    (sx_slice_there(&job->hi) ? job->hi.each : 0) +
                    (job->prefix && has_upper(now) ? 2 * job->lo.each : 0);
        each += sx_slice_there(&out->first) || sx_slice_there(&out->rows) ||
                        sx_slice_there(&out->keys) ? word : 0;
    }
    if (out->max_bytes == 0)
        return SX_OK;
    if (strings) {
        sx_text_asked asked = texts_of(job, (const sx_slice *const[4]){NULL});
        texts = sx_text_scratch(now, &asked);
    }
    if (__builtin_mul_overflow(job->n + 1, each, &needed) ||
        __builtin_add_overflow(needed, texts, &needed))
        needed = UINT64_MAX;
    if (needed <= out->max_bytes) {
        out->max_bytes -= needed;     /* 0 would mean any number */
        out->max_bytes += out->max_bytes == 0;
        return SX_OK;
    }
    return sx_fail(err, SX_ENOMEM, "%s: %llu ranges need %llu bytes of scratch, more than "
                   "max_bytes = %llu", verb, (unsigned long long)job->n,
                   (unsigned long long)needed, (unsigned long long)out->max_bytes);
}

sx_status sx_read_ranges(const sx_index_version *now, const sx_ranges *ranges,
                         const sx_range_ask *ask, const sx_call *call, sx_err *err)
{
    const char *verb = ask->verb;
    sx_column *first = ask->first, *rows = ask->rows, *keys = ask->keys;
    sx_span_query job;
    sx_call how;
    sx_timing timing;
    sx_progress progress;
    sx_range_out out;
    sx_status st = check_ranges(now, ranges, call, &job, &how, verb, err);

    if (st == SX_OK)
        st = check_u64_out(now, first, &how, job.n + 1, verb, "first", err);
    if (st == SX_ESPACE)          /* SX_ESPACE would say that first is filled */
        st = SX_EINVAL;
    if (st == SX_OK && rows)
        st = sx_check_out_numbers(rows, now->dev, &how, 0, now->max_row, 1, verb, "rows", err);
    if (st == SX_OK && keys)
        st = sx_check_out_keys(now, keys, &how, 0, verb, "keys", err);
    if (st == SX_OK && keys && keys->type == SX_STR && how.stream)
        st = sx_fail(err, SX_ENOSYS, "%s: keys are strings, and the call has a stream: how many there "
                     "are is not known before; allowed: strings of ranges without a stream", verb);
    if (st != SX_OK)
        return st;
    job.prefix = ask->prefix;
    job.length = ask->length;
    if (ask->prefix && now->key_type != SX_STR)
        job.hi = sx_slice_of(ask->bits);
    out = (sx_range_out){.first = sx_slice_of(first), .rows = sx_slice_of(rows),
                         .keys = sx_slice_of(keys), .max_bytes = how.max_bytes};
    st = check_scratch(now, &job, &out, verb, err);
    if (st != SX_OK)
        return st;
    /* Ranges are found, and then filled. */
    begin_progress(&progress, &how, &job,
                   rows || keys ? SX_PROGRESS_ALL / 2 : SX_PROGRESS_ALL, verb);
    sx_timing_begin(&timing, &job.how);
    st = sx_answer_range(now, &job, &out, verb, err);
    return end_question(&job, &timing, st, err);
}

sx_status sx_range(const sx_index *ix, const sx_ranges *ranges, sx_column *first,
                   sx_column *rows, sx_column *keys, const sx_call *call)
{
    sx_range_ask ask = {.verb = "sx_range", .first = first, .rows = rows, .keys = keys};
    sx_question q;
    sx_status st = sx_question_begin(&q, ix, ask.verb);

    if (st == SX_OK)
        st = sx_read_ranges(q.held.now, ranges, &ask, call, &q.err);
    return sx_question_end(&q, st);
}

static sx_status fold_ranges(const sx_index_version *now, const sx_ranges *ranges,
                             sx_aggregates *out, const sx_call *call, sx_err *err)
{
    static const char verb[] = "sx_range_aggregate";
    sx_span_query job;
    sx_call how;
    sx_timing timing;
    sx_progress progress;
    sx_range_folds folds = {0};
    sx_aggregates own;
    sx_status st = check_ranges(now, ranges, call, &job, &how, verb, err);

    if (st == SX_OK)
        st = sx_need(out, verb, "the output", err);
    if (st == SX_OK)
        st = SX_TAKE(&own, out, sx_aggregates, SX_AGGREGATES_SIZE_1, verb, err);
    if (st == SX_OK) {
        struct {
            const sx_column *column;
            const char *name;
            sx_slice *to;
        } outs[] = {{own.count, "count", &folds.count},
                    {own.min, "min", &folds.min},
                    {own.max, "max", &folds.max},
                    {own.sum, "sum", &folds.sum}};
        for (unsigned i = 0; i < 4 && st == SX_OK; i++) {
            if (!outs[i].column)
                continue;
            st = check_u64_out(now, outs[i].column, &how, job.n, verb, outs[i].name, err);
            *outs[i].to = sx_slice_of(outs[i].column);
        }
    }
    if (st == SX_OK) {
        sx_text_asked asked = texts_of(&job, (const sx_slice *const[4]){&folds.count, &folds.min,
                                                                        &folds.max, &folds.sum});
        st = sx_check_text_scratch(now, &asked, how.max_bytes, verb, err);
    }
    if (st != SX_OK)
        return st;
    begin_progress(&progress, &how, &job, SX_PROGRESS_ALL, verb);
    sx_timing_begin(&timing, &job.how);
    if (job.n > 0 || job.how.stream)
        st = sx_answer_fold(now, &job, &folds, err);
    return end_question(&job, &timing, st, err);
}

sx_status sx_range_aggregate(const sx_index *ix, const sx_ranges *ranges, sx_aggregates *out,
                             const sx_call *call)
{
    sx_question q;
    sx_status st = sx_question_begin(&q, ix, "sx_range_aggregate");

    if (st == SX_OK)
        st = fold_ranges(q.held.now, ranges, out, call, &q.err);
    return sx_question_end(&q, st);
}
