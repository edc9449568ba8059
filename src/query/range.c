/* range.c - the verbs that ask about ranges: count, then fill; or fold. */
#include "query/index.h"

#include "base/cancel.h"

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
                           .lo = r->lo->data, .hi = r->hi->data,
                           .lo_there = r->lo->place == SX_DEVICE,
                           .hi_there = r->hi->place == SX_DEVICE,
                           .limit = r->limit ? r->limit : UINT64_MAX, .last = r->last,
                           .how = sx_how_of(how)};
    return SX_OK;
}

static sx_status check_u64_out(const sx_index_version *now, const sx_column *c,
                               const sx_call *how, uint64_t n, const char *verb, const char *name,
                               sx_err *err)
{
    sx_status st = sx_check_numbers(c, now->dev, how, 0, verb, name, err);

    return st == SX_OK ? sx_check_space(c, n, verb, name, err) : st;
}

/* The first phase ends at that part, and has a unit for each range. */
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

static sx_status count_ranges(const sx_index_version *now, const sx_ranges *ranges,
                              sx_column *counts, const sx_call *call, sx_err *err)
{
    static const char verb[] = "sx_range_count";
    sx_span_query job;
    sx_call how;
    sx_timing timing;
    sx_progress progress;
    sx_status st = check_ranges(now, ranges, call, &job, &how, verb, err);

    if (st == SX_OK)
        st = check_u64_out(now, counts, &how, job.n, verb, "counts", err);
    if (st != SX_OK)
        return st;
    begin_progress(&progress, &how, &job, SX_PROGRESS_ALL, verb);
    sx_timing_begin(&timing, &job.how);
    if (job.n > 0 || job.how.stream)
        st = sx_answer_count(now, &job, counts->data, counts->place == SX_DEVICE, err);
    return end_question(&job, &timing, st, err);
}

sx_status sx_range_count(const sx_index *ix, const sx_ranges *ranges, sx_column *counts,
                         const sx_call *call)
{
    sx_err err;
    sx_pin pin;
    sx_status st = sx_need(ix, "sx_range_count", "the index", &err);

    if (st == SX_OK) {
        SX_UNCANCELLED_IF(ix->dev->backend->gpu);
        pin = sx_pin_version(ix);
        st = count_ranges(pin.now, ranges, counts, call, &err);
        sx_unpin(ix, &pin);
    }
    return sx_report(&err, st);
}

/* Memory for so many ranges, and of columns in device memory that an index on the host
 * has to bring; but for results, whose number is not known yet. */
static sx_status check_scratch(const sx_index_version *now, const sx_span_query *job,
                               sx_range_out *out, const char *verb, sx_err *err)
{
    const sx_device *at = sx_one_run(now)->replica[0].dev;
    uint64_t each = 0, word = sizeof(uint64_t);

    if (out->rows || out->keys)
        each = at->backend->gpu ? 3 * word : word;
    else if (at->backend->gpu && !out->first_there)
        each = 2 * word;          /* offsets are summed up there, and come from there */
    if (at != now->dev) {
        each += (job->lo_there + job->hi_there) * sx_type_bytes(job->key_type);
        each += out->first_there || out->rows_there || out->keys_there ? word : 0;
    }
    if (out->max_bytes == 0)
        return SX_OK;
    if (each == 0 || job->n < out->max_bytes / each) {
        out->max_bytes -= (job->n + 1) * each;    /* are left for them; 0 would be any */
        out->max_bytes += out->max_bytes == 0;
        return SX_OK;
    }
    return sx_fail(err, SX_ENOMEM, "%s: %llu ranges need %llu bytes of scratch, more than "
                   "max_bytes = %llu", verb, (unsigned long long)job->n,
                   (unsigned long long)((job->n + 1) * each), (unsigned long long)out->max_bytes);
}

static sx_status read_ranges(const sx_index_version *now, const sx_ranges *ranges,
                             sx_column *first, sx_column *rows, sx_column *keys,
                             const sx_call *call, sx_err *err)
{
    static const char verb[] = "sx_range";
    sx_span_query job;
    sx_call how;
    sx_timing timing;
    sx_progress progress;
    sx_range_out out;
    sx_status st = check_ranges(now, ranges, call, &job, &how, verb, err);

    if (st == SX_OK)
        st = check_u64_out(now, first, &how, job.n + 1, verb, "first", err);
    if (st == SX_ESPACE)          /* which would say that first is filled */
        st = SX_EINVAL;
    if (st == SX_OK && rows)
        st = sx_check_out_numbers(rows, now->dev, &how, 0, now->max_row, 1, verb, "rows", err);
    if (st == SX_OK && keys)
        st = sx_check_out_keys(now, keys, &how, 0, verb, "keys", err);
    if (st != SX_OK)
        return st;
    out = (sx_range_out){.first = first->data, .first_there = first->place == SX_DEVICE,
                         .rows_wanted = rows != NULL, .keys_wanted = keys != NULL,
                         .rows = rows ? rows->data : NULL, .rows_space = rows ? rows->n : 0,
                         .row_bytes = rows ? (uint32_t)sx_type_bytes(rows->type) : 0,
                         .rows_there = rows && rows->place == SX_DEVICE,
                         .keys = keys ? keys->data : NULL, .keys_space = keys ? keys->n : 0,
                         .keys_there = keys && keys->place == SX_DEVICE,
                         .max_bytes = how.max_bytes};
    st = check_scratch(now, &job, &out, verb, err);
    if (st != SX_OK)
        return st;
    /* They are found, and then filled. */
    begin_progress(&progress, &how, &job,
                   rows || keys ? SX_PROGRESS_ALL / 2 : SX_PROGRESS_ALL, verb);
    sx_timing_begin(&timing, &job.how);
    st = sx_answer_range(now, &job, &out, err);
    return end_question(&job, &timing, st, err);
}

sx_status sx_range(const sx_index *ix, const sx_ranges *ranges, sx_column *first,
                   sx_column *rows, sx_column *keys, const sx_call *call)
{
    sx_err err;
    sx_pin pin;
    sx_status st = sx_need(ix, "sx_range", "the index", &err);

    if (st == SX_OK) {
        SX_UNCANCELLED_IF(ix->dev->backend->gpu);
        pin = sx_pin_version(ix);
        st = read_ranges(pin.now, ranges, first, rows, keys, call, &err);
        sx_unpin(ix, &pin);
    }
    return sx_report(&err, st);
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
            uint64_t **to;
            uint32_t *there;
        } outs[] = {{own.count, "count", &folds.count, &folds.count_there},
                    {own.min, "min", &folds.min, &folds.min_there},
                    {own.max, "max", &folds.max, &folds.max_there},
                    {own.sum, "sum", &folds.sum, &folds.sum_there}};
        for (unsigned i = 0; i < 4 && st == SX_OK; i++) {
            if (!outs[i].column)
                continue;
            st = check_u64_out(now, outs[i].column, &how, job.n, verb, outs[i].name, err);
            *outs[i].to = outs[i].column->data;
            *outs[i].there = outs[i].column->place == SX_DEVICE;
        }
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
    sx_err err;
    sx_pin pin;
    sx_status st = sx_need(ix, "sx_range_aggregate", "the index", &err);

    if (st == SX_OK) {
        SX_UNCANCELLED_IF(ix->dev->backend->gpu);
        pin = sx_pin_version(ix);
        st = fold_ranges(pin.now, ranges, out, call, &err);
        sx_unpin(ix, &pin);
    }
    return sx_report(&err, st);
}
