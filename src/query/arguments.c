#include "query/index.h"

#include "base/machine.h"
#include "query/possible.h"

#include <stddef.h>
#include <string.h>

sx_status sx_need(const void *argument, const char *verb, const char *name, sx_err *err)
{
    if (!argument)
        return sx_fail(err, SX_EINVAL, "%s: %s is NULL", verb, name);
    return SX_OK;
}

/* Whether a call to an index in this place can have a stream. */
static sx_status check_streams(uint32_t place, const sx_device *dev, const char *verb, sx_err *err)
{
    sx_backend_kind kind = sx_kind_of(dev);
    sx_err why;
    sx_status st = sx_check_streams(place, &kind, &why);

    return st == SX_OK ? SX_OK : sx_fail(err, st, "%s: a stream is given, but %s", verb, why.text);
}

sx_status sx_check_call(const sx_call *call, const sx_device *dev, sx_call *out, const char *verb,
                        sx_err *err)
{
    sx_status st;

    memset(out, 0, sizeof *out);
    if (!call)
        return SX_OK;
    st = SX_TAKE(out, call, sx_call, SX_CALL_SIZE_1, verb, err);
    if (st != SX_OK)
        return st;
    if (out->hints & ~SX_ASCENDING)
        return sx_fail(err, SX_EINVAL, "%s: hints of sx_call are %u; allowed: 0, 1 (ascending)",
                       verb, out->hints);
    if (out->stream) {
        st = check_streams(SX_PLACE_USUAL, dev, verb, err);
        if (st != SX_OK)
            return st;
    }
    if (out->status && !out->stream)
        return sx_fail(err, SX_EINVAL, "%s: a status word is given, but no stream: the call "
                       "returns the status", verb);
    if (out->device_ns && out->stream)
        return sx_fail(err, SX_EINVAL, "%s: device_ns is of calls that wait, and a stream is given",
                       verb);
    if ((uintptr_t)out->status % sizeof *out->status)
        return sx_fail(err, SX_EINVAL, "%s: the status word, %p, is not at a multiple of %zu", verb,
                       (void *)out->status, sizeof *out->status);
    return out->status ? dev->backend->check_pointer(dev->self, out->status, sizeof *out->status,
                                                     SX_DEVICE, verb, "status", err)
                       : SX_OK;
}

sx_status sx_check_question(const sx_call *call, const sx_index_version *now, sx_call *out,
                            const char *verb, sx_err *err)
{
    sx_status st = sx_check_call(call, now->dev, out, verb, err);

    if (st == SX_OK && out->stream && out->tick)
        return sx_fail(err, SX_EINVAL, "%s: a tick is of calls that wait, and a stream is given",
                       verb);
    return st == SX_OK && out->stream
               ? check_streams(sx_run_place(sx_one_run(now)), now->dev, verb, err) : st;
}

sx_status sx_check_work(const sx_call *call, const sx_device *dev, int streams, sx_call *out,
                        const char *verb, sx_err *err)
{
    sx_status st = sx_check_call(call, dev, out, verb, err);

    if (st == SX_OK && (out->status || out->device_ns))
        return sx_fail(err, SX_EINVAL, "%s: %s is given, but only questions have one", verb,
                       out->status ? "a status word" : "device_ns");
    if (st == SX_OK && out->stream && !streams)
        return sx_fail(err, SX_EINVAL, "%s: a stream is given, but only questions and sx_build() "
                       "have one", verb);
    return st;
}

sx_status sx_check_copy(const sx_index_version *now, const sx_call *how, int saved, const char *verb,
                        sx_err *err)
{
    const sx_run *run = sx_one_run(now);
    uint64_t bytes = run->replica[0].dev->backend->gpu ? sx_run_used(run) : 0;
    uint64_t tidy = saved ? sx_tidy_bytes(&run->replica[0].view) : 0;

    if (how->max_bytes && tidy > 0 && bytes + tidy > how->max_bytes)
        return sx_fail(err, SX_ENOMEM, "%s: nodes of the index are free, and what a file has of it "
                       "is copied first: %llu bytes, more than max_bytes = %llu", verb,
                       (unsigned long long)(bytes + tidy), (unsigned long long)how->max_bytes);
    if (how->max_bytes && bytes > how->max_bytes)
        return sx_fail(err, SX_ENOMEM, "%s: the index is on a GPU, and a copy on the host takes "
                       "%llu bytes, more than max_bytes = %llu", verb, (unsigned long long)bytes,
                       (unsigned long long)how->max_bytes);
    return SX_OK;
}

sx_how sx_how_of(const sx_call *call, uint64_t batch)
{
    return (sx_how){.threads = call->threads, .hints = call->hints, .stream = call->stream,
                    .status = call->status, .device_ns = call->device_ns, .batch = batch};
}

void sx_timing_begin(sx_timing *timing, sx_how *how)
{
    *timing = (sx_timing){.to = how->device_ns};
    if (timing->to) {
        how->device_ns = &timing->ns;
        timing->begin = sx_clock_ns();
    }
}

void sx_timing_end(const sx_timing *timing, sx_status st)
{
    if (timing->to && st == SX_OK)
        *timing->to = timing->ns ? timing->ns : sx_clock_ns() - timing->begin;
}

sx_status sx_check_column(const sx_column *c, const sx_device *dev, const sx_call *how,
                          const char *verb, const char *name, sx_err *err)
{
    const sx_type_info *type;
    uint64_t bytes;
    sx_status st;

    if (!c)
        return sx_need(c, verb, name, err);
    type = sx_type_of(c->type);
    if (!type)
        return sx_fail(err, SX_EINVAL, "%s: the type of %s is %d; allowed: %s", verb, name,
                       c->type, sx_type_list());
    if (c->place != SX_HOST && (c->place != SX_DEVICE || !dev->backend->gpu))
        return sx_fail(err, SX_EINVAL, "%s: the place of %s is %d; allowed: 0 (host)%s", verb,
                       name, c->place, dev->backend->gpu ? ", 1 (device)" : "");
    if (how->stream && c->place != SX_DEVICE && c->n > 0)
        return sx_fail(err, SX_EINVAL, "%s: %s is on the host, but with a stream every column is "
                       "in device memory", verb, name);
    if (c->validity)
        return sx_fail(err, SX_EINVAL, "%s: validity of %s is %p, not NULL: all elements are there",
                       verb, name, c->validity);
    for (unsigned i = 0; i < sizeof c->reserved / sizeof c->reserved[0]; i++)
        if (c->reserved[i])
            return sx_fail(err, SX_EINVAL, "%s: reserved[%u] of %s is %u, not 0", verb, i, name,
                           c->reserved[i]);
    st = sx_check_strings(c, dev, verb, name, err);
    if (st != SX_OK || c->type == SX_STR)
        return st;
    if (__builtin_mul_overflow(c->n, (uint64_t)type->bytes, &bytes) || bytes > PTRDIFF_MAX)
        return sx_fail(err, SX_EINVAL, "%s: %s can't have %llu elements of %u bytes", verb,
                       name, (unsigned long long)c->n, type->bytes);
    if (c->n > 0 && !c->data)
        return sx_fail(err, SX_EINVAL, "%s: data of %s is NULL, with %llu elements", verb,
                       name, (unsigned long long)c->n);
    if (c->place == SX_DEVICE && type->bytes < 16 && (uintptr_t)c->data % type->bytes)
        return sx_fail(err, SX_EINVAL, "%s: data of %s, %p, is not at a multiple of %u", verb,
                       name, c->data, type->bytes);
    if (c->n > 0 && dev->backend->check_pointer)
        return dev->backend->check_pointer(dev->self, c->data, bytes, c->place, verb, name, err);
    return SX_OK;
}

static sx_status check_type(const sx_index_version *now, const sx_column *c, const sx_call *how,
                            const char *verb, const char *name, sx_err *err)
{
    sx_status st = sx_check_column(c, now->dev, how, verb, name, err);

    if (st == SX_OK && c->type != now->key_type)
        return sx_fail(err, SX_EINVAL, "%s: %s are %s, but the keys of the index are %s", verb,
                       name, sx_type_name(c->type), sx_type_name(now->key_type));
    return st;
}

sx_status sx_check_keys(const sx_index_version *now, const sx_column *c, const sx_call *how,
                        const char *verb, const char *name, sx_err *err)
{
    sx_status st = check_type(now, c, how, verb, name, err);

    return st == SX_OK ? sx_check_offsets(c, verb, name, err) : st;
}

sx_status sx_check_numbers(const sx_column *c, const sx_device *dev, const sx_call *how,
                           int u32_too, const char *verb, const char *name, sx_err *err)
{
    sx_status st = sx_check_column(c, dev, how, verb, name, err);

    if (st != SX_OK)
        return st;
    if (c->type != SX_U64 && !(u32_too && c->type == SX_U32))
        return sx_fail(err, SX_EINVAL, "%s: %s are %s; allowed: %su64", verb, name,
                       sx_type_name(c->type), u32_too ? "u32, " : "");
    if (c->n > 0 && (uintptr_t)c->data % sx_type_bytes(c->type))
        return sx_fail(err, SX_EINVAL, "%s: data of %s, %p, is not at a multiple of %zu", verb,
                       name, c->data, sx_type_bytes(c->type));
    return SX_OK;
}

sx_status sx_check_space(const sx_column *c, uint64_t n, const char *verb, const char *name,
                        sx_err *err)
{
    if (c->n < n)
        return sx_fail(err, SX_ESPACE, "%s: %s has room for %llu, but %llu are needed", verb,
                       name, (unsigned long long)c->n, (unsigned long long)n);
    return SX_OK;
}

sx_status sx_check_out_numbers(const sx_column *c, const sx_device *dev, const sx_call *how,
                               uint64_t n, uint64_t largest, int rows, const char *verb,
                               const char *name, sx_err *err)
{
    sx_status st = sx_check_numbers(c, dev, how, 1, verb, name, err);

    if (st == SX_OK)
        st = sx_check_space(c, n, verb, name, err);
    if (st == SX_OK && c->type == SX_U32 && largest >= SX_MISS32 + (uint64_t)!rows)
        return sx_fail(err, SX_EINVAL, "%s: %s are u32, but the index has %llu, which needs "
                       "u64", verb, name, (unsigned long long)largest);
    return st;
}

sx_status sx_check_out_keys(const sx_index_version *now, const sx_column *c, const sx_call *how,
                            uint64_t n, const char *verb, const char *name, sx_err *err)
{
    sx_status st = check_type(now, c, how, verb, name, err);

    return st == SX_OK ? sx_check_space(c, n, verb, name, err) : st;
}
