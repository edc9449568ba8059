/* climb.c - from keys to their parents, up to the top: all steps in one call. */
#include "query/index.h"

static const char verb[] = "sx_climb";

static sx_status check_climbs(const sx_index_version *now, const sx_climbs *given,
                              const sx_call *call, sx_climb_query *job, sx_call *how, sx_err *err)
{
    sx_climbs own;
    sx_status st = sx_need(given, verb, "climbs", err);

    if (st == SX_OK)
        st = SX_TAKE(&own, given, sx_climbs, SX_CLIMBS_SIZE_1, verb, err);
    if (st == SX_OK)
        st = sx_check_question(call, now, how, verb, err);
    if (st == SX_OK && how->stream)
        st = sx_fail(err, SX_ENOSYS, "%s: a stream is given, but circles are reported when the call "
                     "returns", verb);
    if (st == SX_OK)
        st = sx_check_keys(now, own.of, how, verb, "of", err);
    if (st == SX_OK)
        st = sx_check_keys(now, own.parents, how, verb, "parents", err);
    if (st != SX_OK)
        return st;
    if (now->n > 0 && own.parents->n <= now->max_row)
        return sx_fail(err, SX_EINVAL, "%s: there are %llu parents, but rows up to %llu; allowed: one "
                       "parent for each row", verb, (unsigned long long)own.parents->n,
                       (unsigned long long)now->max_row);
    if (own.reserved)
        return sx_fail(err, SX_EINVAL, "%s: reserved of sx_climbs is %u, not 0", verb, own.reserved);
    *job = (sx_climb_query){.key_type = now->key_type, .n = own.of->n, .of = sx_slice_of(own.of),
                            .parents = sx_slice_of(own.parents),
                            .limit = own.limit && own.limit < SX_CLIMB_ENDLESS ? own.limit : SX_CLIMB_ENDLESS,
                            .how = sx_how_of(how, own.of->n)};
    return SX_OK;
}

static sx_status check_outputs(const sx_index_version *now, sx_climb_query *job, sx_column *rows,
                               sx_column *keys, sx_column *steps, const sx_call *how, sx_err *err)
{
    sx_status st = SX_OK;

    if (!rows && !keys && !steps)
        return sx_fail(err, SX_EINVAL, "%s: no output is wanted: rows, keys and steps are NULL",
                       verb);
    if (rows)
        st = sx_check_out_numbers(rows, now->dev, how, job->n, now->max_row, 1, verb, "rows", err);
    if (st == SX_OK && keys)
        st = sx_check_out_keys(now, keys, how, job->n, verb, "keys", err);
    if (st == SX_OK && steps)
        st = sx_check_numbers(steps, now->dev, how, 1, verb, "steps", err);
    if (st == SX_OK && steps && steps->type != SX_U32)
        st = sx_fail(err, SX_EINVAL, "%s: steps are of type %s; allowed: u32", verb,
                     sx_type_name(steps->type));
    if (st == SX_OK && steps)
        st = sx_check_space(steps, job->n, verb, "steps", err);
    job->rows = sx_slice_of(rows);
    job->keys = sx_slice_of(keys);
    job->steps = sx_slice_of(steps);
    return st;
}

static sx_status climb(const sx_index_version *now, const sx_climbs *given, sx_column *rows,
                       sx_column *keys, sx_column *steps, const sx_call *call, sx_err *err)
{
    sx_climb_query job;
    sx_call how;
    sx_timing timing;
    sx_progress progress;
    sx_circles circles = {.first = UINT64_MAX};
    sx_status st = check_climbs(now, given, call, &job, &how, err);

    if (st == SX_OK)
        st = check_outputs(now, &job, rows, keys, steps, &how, err);
    if (st == SX_OK) {
        sx_text_asked asked = {.n = job.n, .column = {&job.of, NULL, &job.rows, &job.steps},
                               .keys = &job.keys};
        st = sx_check_text_scratch(now, &asked, how.max_bytes, verb, err);
    }
    if (st != SX_OK)
        return st;
    job.how.progress = sx_progress_begin(&progress, &how, verb);
    sx_progress_phase(job.how.progress, SX_PROGRESS_ALL);
    sx_progress_units(job.how.progress, job.n);
    sx_timing_begin(&timing, &job.how);
    if (job.keys.offsets)
        st = sx_answer_climb_strings(now, &job, &circles, verb, err);
    else if (job.n > 0)
        st = sx_answer_climb(now, &job, &circles, err);
    if (st == SX_OK)
        st = sx_progress_status(job.how.progress, err);
    if (st == SX_OK && circles.count > 0)
        st = sx_fail(err, SX_EINVAL, "%s: parents lead in a circle from key %llu on%s; %llu of %llu "
                     "keys have no top", verb, (unsigned long long)circles.first,
                     circles.count > 1 ? " (the first of these)" : "",
                     (unsigned long long)circles.count, (unsigned long long)job.n);
    sx_timing_end(&timing, st);
    sx_progress_end(job.how.progress, st);
    return st;
}

sx_status sx_climb(const sx_index *ix, const sx_climbs *climbs, sx_column *rows, sx_column *keys,
                   sx_column *steps, const sx_call *call)
{
    sx_question q;
    sx_status st = sx_question_begin(&q, ix, verb);

    if (st == SX_OK)
        st = climb(q.held.now, climbs, rows, keys, steps, call, &q.err);
    return sx_question_end(&q, st);
}
