/* prefix.c - keys that begin with some bits. They are a range: from the prefix with zeros behind
 * it to the prefix with ones behind it. A CPU makes both ends itself, a chunk at a time, unless the
 * family finds them by one walk (SX_FINDS_PREFIXES). A GPU has kernels for such families only: of
 * others both ends are made beforehand, and the range is asked for. Strings that begin with some bytes have no
 * last one, so whoever finds ranges finds where these end. */
#include "query/index.h"

#include "base/alloc.h"
#include "query/possible.h"

#include <string.h>

static const char verb[] = "sx_prefix";

/* A copy of what the caller asks for, and the ends of its ranges, if they are wanted. */
typedef struct {
    sx_prefixes own;
    const sx_type_info *type;
    sx_device *dev;
    sx_call how;
    uint32_t whole;               /* prefixes are asked for as they are */
    void *lo, *hi;
    int there;                    /* in device memory */
} prefixes;

static sx_status check_bits(const prefixes *p, const sx_index_version *now, sx_err *err)
{
    const sx_prefixes *a = &p->own;
    uint32_t most = 8 * p->type->width;
    const uint32_t *bits;
    sx_status st;

    if (p->type->bytes == 0)
        return a->bits || a->length
                   ? sx_fail(err, SX_EINVAL, "%s: %s of sx_prefixes is not 0: prefixes of strings are "
                             "whole strings, not bits", verb, a->bits ? "bits" : "length")
                   : SX_OK;
    if (!a->bits && a->length > most)
        return sx_fail(err, SX_EINVAL, "%s: a prefix of %u bits is longer than a key of %s; allowed: "
                       "0 to %u", verb, a->length, p->type->name, most);
    if (!a->bits)
        return SX_OK;
    st = sx_check_numbers(a->bits, now->dev, &p->how, 1, verb, "bits", err);
    if (st != SX_OK)
        return st;
    if (a->bits->type != SX_U32 || a->bits->n != a->of->n || a->bits->place != a->of->place)
        return sx_fail(err, SX_EINVAL, "%s: bits has %llu elements of %s in place %d for %llu "
                       "prefixes in place %d; allowed: u32, as many, in the same place", verb,
                       (unsigned long long)a->bits->n, sx_type_name(a->bits->type), a->bits->place,
                       (unsigned long long)a->of->n, a->of->place);
    bits = a->bits->data;
    for (uint64_t i = 0; a->bits->place == SX_HOST && i < a->bits->n; i++)
        if (bits[i] > most)
            return sx_fail(err, SX_EINVAL, "%s: prefix %llu has %u bits, more than a key of %s; "
                           "allowed: 0 to %u", verb, (unsigned long long)i, bits[i], p->type->name,
                           most);
    return SX_OK;
}

static sx_status check_prefixes(prefixes *p, const sx_index_version *now, const sx_prefixes *given,
                                const sx_call *call, sx_err *err)
{
    const sx_replica *first = &sx_one_run(now)->replica[0];
    sx_err why;
    sx_status st = sx_need(given, verb, "prefixes", err);

    if (st == SX_OK)
        st = SX_TAKE(&p->own, given, sx_prefixes, SX_PREFIXES_SIZE_1, verb, err);
    if (st == SX_OK)
        st = sx_check_question(call, now, &p->how, verb, err);
    if (st == SX_OK && sx_check_prefixes(now->key_type, &why) != SX_OK)
        st = sx_fail(err, SX_ENOSYS, "%s: %s", verb, why.text);
    if (st == SX_OK)
        st = sx_check_keys(now, p->own.of, &p->how, verb, "of", err);
    if (st != SX_OK)
        return st;
    if (p->own.reserved)
        return sx_fail(err, SX_EINVAL, "%s: reserved of sx_prefixes is %llu, not 0", verb,
                       (unsigned long long)p->own.reserved);
    p->type = sx_type_of(now->key_type);
    p->whole = p->type->bytes == 0 || !first->dev->backend->gpu ||
               (first->view.traits & SX_FINDS_PREFIXES) != 0;
    p->dev = now->dev;
    p->how.size = sizeof p->how;  /* it is a call again */
    return check_bits(p, now, err);
}

void sx_prefix_make_ends(const sx_type_info *type, const sx_slice *of, const sx_slice *bits,
                         uint32_t length, uint64_t n, void *lo, void *hi)
{
    uint32_t width = type->width;

    for (uint64_t i = 0; i < n; i++) {
        uint32_t its = bits->data ? *(const uint32_t *)sx_slice_at(bits, i) : length;
        _Alignas(16) unsigned char key[16] = {0}, end[16];
        type->encode(key, sx_slice_at(of, i), 1);
        memcpy(end, key, sizeof end);
        for (uint32_t b = 0; b < width; b++) {
            /* Bits of byte b, counted from the highest one, that belong to the prefix. */
            uint32_t of_byte = its <= 8 * b ? 0 : its - 8 * b >= 8 ? 8 : its - 8 * b;
            unsigned char rest = (unsigned char)(0xffu >> of_byte);
            key[width - 1 - b] &= (unsigned char)~rest;
            end[width - 1 - b] |= rest;
        }
        type->decode((unsigned char *)lo + i * width, key, 1);
        type->decode((unsigned char *)hi + i * width, end, 1);
    }
}

static void drop_ends(prefixes *p)
{
    const sx_backend *be = p->dev->backend;

    if (p->there) {
        be->unscratch(p->dev->self, p->how.stream, p->lo);
        be->unscratch(p->dev->self, p->how.stream, p->hi);
    } else {
        sx_release(p->lo);
        sx_release(p->hi);
    }
}

static sx_status take_ends(prefixes *p, sx_err *err)
{
    const sx_backend *be = p->dev->backend;
    uint64_t n = p->own.of->n, bytes = n * p->type->width;
    sx_status st;

    if (p->whole)
        return SX_OK;
    p->there = p->own.of->place == SX_DEVICE;
    if (p->how.max_bytes && 2 * bytes >= p->how.max_bytes)
        return sx_fail(err, SX_ENOMEM, "%s: %llu prefixes need %llu bytes of scratch, not less than "
                       "max_bytes = %llu", verb, (unsigned long long)n,
                       (unsigned long long)(2 * bytes), (unsigned long long)p->how.max_bytes);
    p->how.max_bytes -= p->how.max_bytes ? 2 * bytes : 0;
    if (!p->there) {
        st = sx_alloc(&p->lo, bytes + 1, "prefixes", err);
        if (st == SX_OK)
            st = sx_alloc(&p->hi, bytes + 1, "prefixes", err);
        if (st == SX_OK) {
            sx_slice of = sx_slice_of(p->own.of), bits = sx_slice_of(p->own.bits);
            sx_prefix_make_ends(p->type, &of, &bits, p->own.length, n, p->lo, p->hi);
        }
        return st;
    }
    st = be->scratch(p->dev->self, p->how.stream, &p->lo, bytes + 16, err);
    if (st == SX_OK)
        st = be->scratch(p->dev->self, p->how.stream, &p->hi, bytes + 16, err);
    if (st == SX_OK) {
        sx_prefix_ends ends = {.key_type = p->own.of->type, .n = n, .of = p->own.of->data,
                               .bits = p->own.bits ? p->own.bits->data : NULL,
                               .length = p->own.length, .lo = p->lo, .hi = p->hi};
        st = be->prefix_ends(p->dev->self, p->how.stream, &ends, err);
    }
    return st;
}

static sx_status ask_prefixes(const sx_index_version *now, const sx_prefixes *given,
                              sx_column *first, sx_column *rows, sx_column *keys,
                              const sx_call *call, sx_err *err)
{
    prefixes p = {.dev = NULL};
    sx_status st = check_prefixes(&p, now, given, call, err);

    if (st != SX_OK)
        return st;
    st = take_ends(&p, err);
    if (st == SX_OK) {
        sx_column lo = *p.own.of, hi = *p.own.of;
        sx_ranges ranges = {.size = sizeof ranges, .lo = &lo, .hi = &hi, .limit = p.own.limit,
                            .last = p.own.last};
        sx_range_ask ask = {.verb = verb, .first = first, .rows = rows, .keys = keys,
                            .prefix = p.whole, .length = p.own.length, .bits = p.own.bits};
        if (!ask.prefix) {
            lo.data = p.lo;
            hi.data = p.hi;
        }
        st = sx_read_ranges(now, &ranges, &ask, &p.how, err);
    }
    drop_ends(&p);
    return st;
}

sx_status sx_prefix(const sx_index *ix, const sx_prefixes *given, sx_column *first, sx_column *rows,
                    sx_column *keys, const sx_call *call)
{
    sx_question q;
    sx_status st = sx_question_begin(&q, ix, verb);

    if (st == SX_OK)
        st = ask_prefixes(q.held.now, given, first, rows, keys, call, &q.err);
    return sx_question_end(&q, st);
}
