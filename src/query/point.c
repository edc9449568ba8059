/* point.c - the verbs that ask about single keys and ranks. */
#include "query/index.h"

static sx_status check_scratch(const sx_index_version *now, const sx_lookup *job,
                               uint64_t max_bytes, const char *verb, sx_err *err)
{
    sx_text_asked asked = {.n = job->n, .searches = job->op != SX_OP_KEY_AT,
                           .column = {&job->q, NULL, &job->out}, .keys = &job->keys};

    return sx_check_text_scratch(now, &asked, max_bytes, verb, err);
}

/* Checks the outputs, then runs the batch. rows, keys: NULL if not wanted. */
static sx_status run(const sx_index_version *now, sx_lookup *job, sx_column *rows,
                     sx_column *keys, const sx_call *how, const char *verb, sx_err *err)
{
    int ranks = job->op == SX_OP_RANK_LEFT || job->op == SX_OP_RANK_RIGHT;
    sx_timing timing;
    sx_progress progress;
    sx_status st = SX_OK;

    if (ranks)
        st = sx_need(rows, verb, "ranks", err);
    if (st == SX_OK && !rows && !keys)
        return sx_fail(err, SX_EINVAL, "%s: no output is wanted, rows and keys are NULL", verb);
    if (st == SX_OK && rows)
        st = sx_check_out_numbers(rows, now->dev, how, job->n, ranks ? now->n : now->max_row,
                                  !ranks, verb, ranks ? "ranks" : "rows", err);
    if (st == SX_OK && keys)
        st = sx_check_out_keys(now, keys, how, job->n, verb, "keys", err);
    if (st != SX_OK)
        return st;
    job->key_type = now->key_type;
    job->how = sx_how_of(how, job->n);
    job->out = sx_slice_of(rows);
    job->keys = sx_slice_of(keys);
    st = check_scratch(now, job, how->max_bytes, verb, err);
    if (st != SX_OK)
        return st;
    job->how.progress = sx_progress_begin(&progress, how, verb);
    sx_progress_phase(job->how.progress, SX_PROGRESS_ALL);
    sx_progress_units(job->how.progress, job->n);
    sx_timing_begin(&timing, &job->how);
    if (job->keys.offsets)
        st = sx_answer_strings(now, job, verb, err);
    else if (job->n > 0 || job->how.stream)
        st = sx_answer_lookup(now, job, err);
    if (st == SX_OK)
        st = sx_progress_status(job->how.progress, err);
    sx_timing_end(&timing, st);
    sx_progress_end(job->how.progress, st);
    return st;
}

/* Asks about keys, or (SX_OP_KEY_AT) about ranks. */
static sx_status ask(const sx_index *ix, sx_op op, const sx_column *q, sx_column *rows,
                     sx_column *keys, const sx_call *call, const char *verb)
{
    sx_question own;
    const sx_index_version *now;
    sx_err *err = &own.err;
    sx_call how;
    sx_lookup job = {.op = op};
    sx_status st = sx_question_begin(&own, ix, verb);

    now = own.held.now;
    if (st == SX_OK)
        st = sx_check_question(call, now, &how, verb, err);
    if (st == SX_OK)
        st = op == SX_OP_KEY_AT ? sx_check_numbers(q, now->dev, &how, 1, verb, "ranks", err)
                                : sx_check_keys(now, q, &how, verb, "queries", err);
    if (st == SX_OK) {
        job.n = q->n;
        job.q = sx_slice_of(q);
        st = run(now, &job, rows, keys, &how, verb, err);
    }
    return sx_question_end(&own, st);
}

sx_status sx_get(const sx_index *ix, const sx_column *q, sx_column *rows, const sx_call *call)
{
    return ask(ix, SX_OP_GET, q, rows, NULL, call, "sx_get");
}

sx_status sx_rank(const sx_index *ix, const sx_column *q, sx_side side, sx_column *ranks,
                  const sx_call *call)
{
    sx_err err;

    if (side != SX_LEFT && side != SX_RIGHT)
        return sx_report(&err, sx_fail(&err, SX_EINVAL, "sx_rank: side is %d; allowed: 0 (left), "
                                       "1 (right)", (int)side));
    return ask(ix, side == SX_LEFT ? SX_OP_RANK_LEFT : SX_OP_RANK_RIGHT, q, ranks, NULL, call,
               "sx_rank");
}

sx_status sx_floor(const sx_index *ix, const sx_column *q, sx_column *rows, sx_column *keys,
                   const sx_call *call)
{
    return ask(ix, SX_OP_FLOOR, q, rows, keys, call, "sx_floor");
}

sx_status sx_ceil(const sx_index *ix, const sx_column *q, sx_column *rows, sx_column *keys,
                  const sx_call *call)
{
    return ask(ix, SX_OP_CEIL, q, rows, keys, call, "sx_ceil");
}

sx_status sx_key_at(const sx_index *ix, const sx_column *ranks, sx_column *keys,
                    sx_column *rows, const sx_call *call)
{
    return ask(ix, SX_OP_KEY_AT, ranks, rows, keys, call, "sx_key_at");
}
