/* range.c - the verbs that ask about ranges: count, then fill; or fold. */
#include "query/index.h"

#include "base/alloc.h"

static sx_status check_ranges(const sx_index *ix, const sx_ranges *r, const sx_call *call,
                              sx_span_query *job, sx_call *how, const char *verb, sx_err *err)
{
    sx_status st = sx_need(ix, verb, "the index", err);

    if (st == SX_OK)
        st = sx_need(r, verb, "ranges", err);
    if (st == SX_OK)
        st = sx_check_size(r->size, sizeof *r, verb, "sx_ranges", err);
    if (st == SX_OK)
        st = sx_check_call(call, how, verb, err);
    if (st == SX_OK)
        st = sx_check_keys(ix, r->lo, NULL, verb, "lo", err);
    if (st == SX_OK)
        st = sx_check_keys(ix, r->hi, NULL, verb, "hi", err);
    if (st != SX_OK)
        return st;
    if (r->lo->n != r->hi->n)
        return sx_fail(err, SX_EINVAL, "%s: %llu lower ends but %llu upper ends", verb,
                       (unsigned long long)r->lo->n, (unsigned long long)r->hi->n);
    if (r->reserved)
        return sx_fail(err, SX_EINVAL, "%s: reserved of sx_ranges is %u, not 0", verb,
                       r->reserved);
    *job = (sx_span_query){.key_type = ix->store.key_type, .threads = how->threads,
                           .n = r->lo->n, .lo = r->lo->data, .hi = r->hi->data,
                           .limit = r->limit ? r->limit : UINT64_MAX, .last = r->last};
    return SX_OK;
}

static sx_status check_u64_out(const sx_column *c, uint64_t n, const char *verb,
                               const char *name, sx_err *err)
{
    sx_status st = sx_check_numbers(c, NULL, 0, verb, name, err);

    return st == SX_OK ? sx_check_room(c, n, verb, name, err) : st;
}

sx_status sx_range_count(const sx_index *ix, const sx_ranges *ranges, sx_column *counts,
                         const sx_call *call)
{
    sx_err err;
    sx_span_query job;
    sx_call how;
    sx_status st = check_ranges(ix, ranges, call, &job, &how, "sx_range_count", &err);

    if (st == SX_OK)
        st = check_u64_out(counts, job.n, "sx_range_count", "counts", &err);
    if (st == SX_OK && job.n > 0)
        st = ix->dev->backend->spans(ix->dev->self, &ix->store.view, &job, NULL, counts->data,
                                     &err);
    return sx_report(&err, st);
}

/* Counts in first[0..n) become offsets in first[0..n]. (When they overflow
 * the counts stay there: the only output that is touched.) */
static sx_status sum_up(uint64_t *first, uint64_t n, sx_err *err)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < n; i++)
        if (__builtin_add_overflow(sum, first[i], &sum))
            return sx_fail(err, SX_EINVAL, "sx_range: the ranges up to %llu hold more than "
                           "2^64 keys together", (unsigned long long)i);
    sum = 0;
    for (uint64_t i = 0; i <= n; i++) {
        uint64_t count = i < n ? first[i] : 0;
        first[i] = sum;
        sum += count;
    }
    return SX_OK;
}

static sx_status fill(const sx_index *ix, const sx_span_query *q, const uint64_t *start,
                      sx_column *first, sx_column *rows, sx_column *keys, sx_err *err)
{
    const uint64_t *offset = first->data;
    sx_span_fill job = {.key_type = ix->store.key_type, .threads = q->threads, .n = q->n,
                        .start = start, .first = offset};
    sx_status st = SX_OK;

    if (rows)
        st = sx_check_room(rows, offset[q->n], "sx_range", "rows", err);
    if (st == SX_OK && keys)
        st = sx_check_room(keys, offset[q->n], "sx_range", "keys", err);
    if (st != SX_OK || offset[q->n] == 0)
        return st;
    job.rows = rows ? rows->data : NULL;
    job.row_bytes = rows ? (uint32_t)sx_type_bytes(rows->type) : 0;
    job.keys = keys ? keys->data : NULL;
    return ix->dev->backend->fill(ix->dev->self, &ix->store.view, &job, err);
}

sx_status sx_range(const sx_index *ix, const sx_ranges *ranges, sx_column *first,
                   sx_column *rows, sx_column *keys, const sx_call *call)
{
    static const char verb[] = "sx_range";
    sx_err err;
    sx_span_query job;
    sx_call how;
    void *start = NULL;
    sx_status st = check_ranges(ix, ranges, call, &job, &how, verb, &err);

    if (st == SX_OK)
        st = check_u64_out(first, job.n + 1, verb, "first", &err);
    if (st == SX_ESPACE)          /* which would say that first is filled */
        st = SX_EINVAL;
    if (st == SX_OK && rows)
        st = sx_check_out_numbers(rows, NULL, 0, ix->store.max_row, 1, verb, "rows", &err);
    if (st == SX_OK && keys)
        st = sx_check_out_keys(ix, keys, NULL, 0, verb, "keys", &err);
    if (st == SX_OK && (rows || keys)) {
        if (how.max_bytes && job.n > how.max_bytes / sizeof(uint64_t))
            st = sx_fail(&err, SX_ENOMEM, "%s: %llu ranges need %llu bytes of scratch, more "
                         "than max_bytes = %llu", verb, (unsigned long long)job.n,
                         (unsigned long long)job.n * sizeof(uint64_t),
                         (unsigned long long)how.max_bytes);
        else
            st = sx_alloc_array(&start, job.n, sizeof(uint64_t), "ranges", &err);
    }
    if (st == SX_OK && job.n > 0)
        st = ix->dev->backend->spans(ix->dev->self, &ix->store.view, &job, start, first->data,
                                     &err);
    if (st == SX_OK)
        st = sum_up(first->data, job.n, &err);
    if (st == SX_OK && (rows || keys))
        st = fill(ix, &job, start, first, rows, keys, &err);
    sx_release(start);
    return sx_report(&err, st);
}

sx_status sx_range_aggregate(const sx_index *ix, const sx_ranges *ranges, sx_aggregates *out,
                             const sx_call *call)
{
    static const char verb[] = "sx_range_aggregate";
    sx_err err;
    sx_span_query job;
    sx_call how;
    sx_span_folds folds = {0};
    sx_status st = check_ranges(ix, ranges, call, &job, &how, verb, &err);

    if (st == SX_OK)
        st = sx_need(out, verb, "the output", &err);
    if (st == SX_OK)
        st = sx_check_size(out->size, sizeof *out, verb, "sx_aggregates", &err);
    if (st == SX_OK) {
        struct {
            const sx_column *column;
            const char *name;
            uint64_t **to;
        } outs[] = {{out->count, "count", &folds.count}, {out->min, "min", &folds.min},
                    {out->max, "max", &folds.max}, {out->sum, "sum", &folds.sum}};
        for (unsigned i = 0; i < 4 && st == SX_OK; i++) {
            if (!outs[i].column)
                continue;
            st = check_u64_out(outs[i].column, job.n, verb, outs[i].name, &err);
            *outs[i].to = outs[i].column->data;
        }
        if (st == SX_OK && job.n > 0)
            st = ix->dev->backend->fold(ix->dev->self, &ix->store.view, &job, &folds, &err);
    }
    return sx_report(&err, st);
}
