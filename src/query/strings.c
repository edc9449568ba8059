/* strings.c - columns of strings: whether they are what they should be, and strings as results. */
#include "query/index.h"

#include "base/alloc.h"
#include "query/possible.h"

#include <string.h>

/* ---- columns ------------------------------------------------------------------------ */

static const char *field_of_others(const sx_column *c)
{
    return c->offsets ? "offsets" : c->offset_bytes ? "offset_bytes" : c->bytes ? "bytes" : NULL;
}

sx_status sx_check_strings(const sx_column *c, const sx_device *dev, const char *verb,
                           const char *name, sx_err *err)
{
    uint64_t bytes;
    sx_status st;

    if (c->type != SX_STR) {
        const char *field = field_of_others(c);
        return field ? sx_fail(err, SX_EINVAL, "%s: %s of %s is not 0: it is for strings, and these "
                               "are %s", verb, field, name, sx_type_name(c->type)) : SX_OK;
    }
    if (c->offset_bytes != 4 && c->offset_bytes != 8)
        return sx_fail(err, SX_EINVAL, "%s: offset_bytes of %s is %u; allowed: 4, 8", verb, name,
                       c->offset_bytes);
    if (!c->offsets)
        return sx_fail(err, SX_EINVAL, "%s: offsets of %s is NULL; strings have n + 1", verb, name);
    if ((uintptr_t)c->offsets % c->offset_bytes)
        return sx_fail(err, SX_EINVAL, "%s: offsets of %s, %p, is not at a multiple of %u", verb,
                       name, c->offsets, c->offset_bytes);
    if (c->n == UINT64_MAX ||
        __builtin_mul_overflow(c->n + 1, (uint64_t)c->offset_bytes, &bytes) ||
        bytes > PTRDIFF_MAX || c->bytes > PTRDIFF_MAX)
        return sx_fail(err, SX_EINVAL, "%s: %s can't have %llu strings of %llu bytes together",
                       verb, name, (unsigned long long)c->n, (unsigned long long)c->bytes);
    if (c->bytes > 0 && !c->data)
        return sx_fail(err, SX_EINVAL, "%s: data of %s is NULL, with %llu bytes", verb, name,
                       (unsigned long long)c->bytes);
    if (!dev->backend->check_pointer)
        return SX_OK;
    st = dev->backend->check_pointer(dev->self, c->offsets, bytes, c->place, verb, name, err);
    return st == SX_OK && c->bytes > 0
               ? dev->backend->check_pointer(dev->self, c->data, c->bytes, c->place, verb, name, err)
               : st;
}

sx_status sx_check_offsets(const sx_column *c, const char *verb, const char *name, sx_err *err)
{
    uint64_t before = 0;

    if (c->type != SX_STR || c->place != SX_HOST)
        return SX_OK;
    for (uint64_t i = 0; i <= c->n; i++) {
        uint64_t at = c->offset_bytes == 8 ? ((const uint64_t *)c->offsets)[i]
                                           : ((const uint32_t *)c->offsets)[i];
        if (at < before)
            return sx_fail(err, SX_EINVAL, "%s: offset %llu of %s is %llu, below the one before, "
                           "%llu", verb, (unsigned long long)i, name, (unsigned long long)at,
                           (unsigned long long)before);
        if (at > c->bytes)
            return sx_fail(err, SX_EINVAL, "%s: offset %llu of %s is %llu, but data has %llu bytes",
                           verb, (unsigned long long)i, name, (unsigned long long)at,
                           (unsigned long long)c->bytes);
        if (i > 0 && at - before > SX_STRING_MOST)
            return sx_fail(err, SX_EINVAL, "%s: string %llu of %s has %llu bytes; at most: %llu",
                           verb, (unsigned long long)i - 1, name, (unsigned long long)(at - before),
                           (unsigned long long)SX_STRING_MOST);
        before = at;
    }
    return SX_OK;
}

/* ---- strings as results --------------------------------------------------------------------
 *
 * Positions of strings, in the memory of who answers; from these offsets; and if there is space for
 * all of them, bytes. */

static sx_status take(const sx_plan *plan, const sx_string_take *job, sx_err *err)
{
    const sx_device *dev = plan->by->dev;
    sx_views views = sx_plan_views(plan);

    return dev->backend->take_strings(dev->self, &views, job, err);
}

/* Writes the offsets of strings at positions, and says whether there is space for these. */
static sx_status measure(const sx_plan *plan, const uint64_t *at, uint64_t n, const sx_slice *to,
                         const sx_how *how, uint64_t *total, const char *verb, sx_err *err)
{
    sx_string_take job = {.n = n, .at = at, .total = total, .how = *how};
    sx_status st = SX_OK;

    if (to->each == 4) {          /* nothing is written if offsets could not say it */
        st = take(plan, &job, err);
        if (st == SX_OK && *total > UINT32_MAX)
            st = sx_fail(err, SX_EINVAL, "%s: the keys have %llu bytes, which offsets of 4 bytes "
                         "can't say; allowed: offset_bytes = 8", verb, (unsigned long long)*total);
    }
    job.to = *to;
    job.to.data = NULL;
    if (st == SX_OK)
        st = take(plan, &job, err);
    if (st == SX_OK && *total > to->bytes)
        st = sx_fail(err, SX_ESPACE, "%s: keys has room for %llu bytes, but %llu are needed", verb,
                     (unsigned long long)to->bytes, (unsigned long long)*total);
    return st;
}

/* The same, and then writes the strings. */
static sx_status put(const sx_plan *plan, const uint64_t *at, uint64_t n, const sx_slice *to,
                     const sx_how *how, const char *verb, sx_err *err)
{
    sx_string_take job = {.n = n, .at = at, .to = *to, .how = *how};
    uint64_t total = 0;
    sx_status st = measure(plan, at, n, to, how, &total, verb, err);

    return st == SX_OK && to->data && total > 0 ? take(plan, &job, err) : st;
}

/* The same for a column in device memory if the host answers: by copies there. */
static sx_status put_there(const sx_plan *plan, const uint64_t *at, uint64_t n, const sx_slice *to,
                           const sx_how *how, const char *verb, sx_err *err)
{
    const sx_device *dev = plan->now->dev;
    sx_slice here = *to;
    void *offsets = NULL, *bytes = NULL;
    uint64_t total = 0;
    sx_err other;
    sx_status st = sx_alloc_array(&offsets, n + 1, to->each, "offsets", err), copied;

    if (st != SX_OK)
        return st;
    here.offsets = offsets;
    here.place = SX_HOST;
    st = measure(plan, at, n, &here, how, &total, verb, err);
    if (st == SX_OK && total > 0) {
        sx_string_take job = {.n = n, .at = at, .how = *how};
        st = sx_alloc(&bytes, total, "strings", err);
        here.data = bytes;
        job.to = here;
        if (st == SX_OK)
            st = take(plan, &job, err);
        if (st == SX_OK)
            st = dev->backend->copy(dev->self, to->data, 1, bytes, 0, total, err);
    }
    if (st == SX_OK || st == SX_ESPACE) {
        copied = dev->backend->copy(dev->self, (void *)to->offsets, 1, offsets, 0,
                                    (n + 1) * to->each, &other);
        if (copied != SX_OK) {
            st = copied;
            *err = other;
        }
    }
    sx_release(offsets);
    sx_release(bytes);
    return st;
}

static sx_status put_strings(const sx_plan *plan, const uint64_t *at, uint64_t n, const sx_slice *to,
                             const sx_how *how, const char *verb, sx_err *err)
{
    return (sx_slice_there(to) && !plan->by->dev->backend->gpu ? put_there : put)(plan, at, n, to,
                                                                                how, verb, err);
}

/* Memory for positions, where they are looked for; and as a column. */
static sx_status take_positions(const sx_plan *plan, uint64_t n, void **at, sx_slice *column,
                                sx_err *err)
{
    const sx_device *dev = plan->by->dev;
    sx_status st = n > 0 ? dev->backend->alloc(dev->self, at, n * sizeof(uint64_t), "strings", err)
                         : SX_OK;

    *column = sx_slice_fixed(*at, sizeof(uint64_t), n, dev->backend->gpu ? SX_DEVICE : SX_HOST);
    return st;
}

static void give_positions(const sx_plan *plan, void *at)
{
    plan->by->dev->backend->release(plan->by->dev->self, at);
}

/* Numbers wait on the host until there is space for keys: n of them, which a column of the caller
 * is to have. */
static sx_status wait_numbers(const sx_slice *home, uint64_t n, sx_slice *here, sx_err *err)
{
    void *numbers = NULL;
    sx_status st;

    if (!sx_slice_wanted(home) || n == 0)
        return SX_OK;
    st = sx_alloc(&numbers, n * home->each, "rows", err);
    *here = sx_slice_fixed(numbers, home->each, n, SX_HOST);
    return st;
}

/* They go there if st is SX_OK. */
static sx_status leave_numbers(const sx_device *dev, const sx_slice *home, const sx_slice *here,
                               sx_status st, sx_err *err)
{
    uint64_t bytes = here->n * here->each;

    if (here->data == home->data)
        return st;
    if (st == SX_OK && sx_slice_there(home))
        st = dev->backend->copy(dev->self, home->data, 1, here->data, 0, bytes, err);
    else if (st == SX_OK)
        memcpy(home->data, here->data, bytes);
    sx_release(here->data);
    return st;
}

/* A part of sx_answer_strings(), of who the plan says. */
static sx_status answer_by(const sx_plan *plan, const sx_lookup *job, const char *verb, sx_err *err)
{
    const sx_index_version *now = plan->now;
    sx_lookup find = *job;
    void *at = NULL;
    sx_status st;

    find.keys = (sx_slice){0};
    st = take_positions(plan, job->n, &at, &find.at, err);
    if (st == SX_OK)
        st = wait_numbers(&job->out, job->n, &find.out, err);
    if (st == SX_OK && job->n > 0)
        st = sx_answer_lookup(now, &find, err);
    if (st == SX_OK)
        st = put_strings(plan, at, job->n, &job->keys, &job->how, verb, err);
    st = leave_numbers(now->dev, &job->out, &find.out, st, err);
    give_positions(plan, at);
    return st;
}

/* With a stream nothing is known before it is done. So all is queued, one behind the other, and the
 * device compares the bytes with the space. */
static sx_status queue(const sx_plan *plan, const sx_lookup *job, sx_err *err)
{
    const sx_device *dev = plan->by->dev;
    sx_lookup find = *job;
    sx_string_take put = {.n = job->n, .to = job->keys, .how = job->how};
    void *at = NULL;
    sx_status st = SX_OK;

    if (job->n > 0)
        st = dev->backend->scratch(dev->self, job->how.stream, &at, job->n * sizeof(uint64_t), err);
    find.keys = (sx_slice){0};
    find.at = sx_slice_fixed(at, sizeof(uint64_t), job->n, SX_DEVICE);
    find.how.status = NULL;       /* it is written last */
    if (st == SX_OK && job->n > 0)
        st = sx_answer_lookup(plan->now, &find, err);
    put.at = at;
    if (st == SX_OK)
        st = take(plan, &put, err);
    if (at)
        dev->backend->unscratch(dev->self, job->how.stream, at);
    return st;
}

/* Columns in device memory are as good on the host here, where all of it waits anyway. */
sx_status sx_answer_strings(const sx_index_version *now, const sx_lookup *job, const char *verb,
                            sx_err *err)
{
    sx_batch b = {.n = job->n, .in_bytes = sx_query_bytes(&job->q), .out_bytes = 2 * sizeof(uint64_t),
                  .searches = job->op != SX_OP_KEY_AT, .trips = 2, .threads = job->how.threads};
    sx_plan plan = sx_plan_of(now, &b,
                              !(sx_slice_there(&job->q) | sx_slice_there(&job->out) |
                                sx_slice_there(&job->keys)), job->q.data, NULL);
    sx_status st;

    if (job->how.stream)
        return queue(&plan, job, err);
    do
        st = answer_by(&plan, job, verb, err);
    while (sx_plan_again(&plan, st));
    return st;
}

/* A part of sx_answer_climb_strings(), of who the plan says. */
static sx_status climb_by(const sx_plan *plan, const sx_climb_query *job, sx_circles *circles,
                          const char *verb, sx_err *err)
{
    const sx_index_version *now = plan->now;
    sx_climb_query find = *job;
    void *at = NULL;
    sx_status st;

    find.keys = (sx_slice){0};
    *circles = (sx_circles){.first = UINT64_MAX};     /* another replica may have counted */
    st = take_positions(plan, job->n, &at, &find.at, err);
    if (st == SX_OK)
        st = wait_numbers(&job->rows, job->n, &find.rows, err);
    if (st == SX_OK)
        st = wait_numbers(&job->steps, job->n, &find.steps, err);
    if (st == SX_OK && job->n > 0)
        st = sx_answer_climb(now, &find, circles, err);
    if (st == SX_OK)
        st = put_strings(plan, at, job->n, &job->keys, &job->how, verb, err);
    st = leave_numbers(now->dev, &job->rows, &find.rows, st, err);
    st = leave_numbers(now->dev, &job->steps, &find.steps, st, err);
    give_positions(plan, at);
    return st;
}

sx_status sx_answer_climb_strings(const sx_index_version *now, const sx_climb_query *job,
                                  sx_circles *circles, const char *verb, sx_err *err)
{
    sx_batch b = {.n = job->n, .in_bytes = sx_query_bytes(&job->of),
                  .out_bytes = 2 * sizeof(uint64_t), .searches = 1, .trips = 2,
                  .threads = job->how.threads};
    sx_plan plan = sx_plan_of(now, &b,
                              !(sx_slice_there(&job->of) | sx_slice_there(&job->parents) |
                                sx_slice_there(&job->rows) | sx_slice_there(&job->keys) |
                                sx_slice_there(&job->steps)), job->of.data, NULL);
    sx_status st;

    do
        st = climb_by(&plan, job, circles, verb, err);
    while (sx_plan_again(&plan, st));
    return st;
}

sx_status sx_spans_strings(const sx_plan *plan, const sx_span_query *job, const sx_spans *spans,
                           uint64_t total, const sx_slice *keys, uint64_t max_bytes,
                           const char *verb, sx_err *err)
{
    const sx_device *dev = plan->by->dev;
    sx_views views = sx_plan_views(plan);
    sx_span_query quiet = *job;
    sx_range_out out = {.max_bytes = max_bytes};
    uint64_t needed = sx_found_scratch(plan->by->dev, total, keys);
    void *at = NULL;
    sx_status st;

    if (max_bytes && needed > max_bytes)
        return sx_fail(err, SX_ENOMEM, "%s: %llu strings need %llu bytes of scratch, more than "
                       "max_bytes = %llu", verb, (unsigned long long)total,
                       (unsigned long long)needed, (unsigned long long)max_bytes);
    quiet.how.progress = NULL;
    st = take_positions(plan, total, &at, &out.at, err);
    if (st == SX_OK && total > 0 && !dev->backend->gpu)
        memset(at, 0xff, total * sizeof(uint64_t));       /* spans may have changed meanwhile */
    if (st == SX_OK && total > 0)
        st = dev->backend->fill(dev->self, &views, &quiet, spans, &out, total, err);
    if (st == SX_OK)
        st = put_strings(plan, at, total, keys, &job->how, verb, err);
    give_positions(plan, at);
    return st;
}
