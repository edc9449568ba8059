/* gpu_texts.h - columns of strings, and from the code of a string to its place, for kernels of any
 * family. Include a vendor header before it.
 *
 * Offsets of queries, which the caller may change at any time, are believed only as far as the bytes
 * there are. */
#ifndef SX_GPU_TEXTS_H
#define SX_GPU_TEXTS_H

#include "family/slots.h"
#include "gpu/gpu_args.h"
#include "keys/string_marks.h"

/* String i, inside of the bytes whatever its offsets are. */
SX_DEV const unsigned char *sx_text_at(const sx_gpu_texts *t, uint64_t i, uint64_t *length)
{
    uint64_t size = (uint64_t)(t->end - t->bytes);
    uint64_t before = t->cut ? sx_offset_raw(t->offsets, t->offset_bytes, 0) : 0;
    uint64_t a = sx_offset_raw(t->offsets, t->offset_bytes, t->skip + i) - before;
    uint64_t b = sx_offset_raw(t->offsets, t->offset_bytes, t->skip + i + 1) - before;

    a = a < size ? a : size;
    b = b < size ? b : size;
    *length = b > a ? b - a : 0;
    return t->bytes + a;
}

/* A string that is searched for. */
typedef struct {
    const unsigned char *q;
    uint64_t length, code, same;
    int right;                    /* strings that are equal to it are before its bound */
    int equal;                    /* the last one that was found not to be before is */
} sx_gpu_search;

SX_DEV uint64_t sx_text_code(const sx_view *v, uint64_t position)
{
    return sx_code_load(v->keys + sx_key_offset(v, sx_slot_of_rank(v, position)), v->width, 0);
}

/* Whether the string at this position, which has no smaller code, is before q's bound. */
SX_DEV int sx_text_before(const sx_view *v, uint64_t position, sx_gpu_search *s)
{
    int order;

    s->equal = 0;
    if (sx_text_code(v, position) != s->code)
        return 0;
    order = sx_string_order_from(&v->strings, position, s->q, s->length, s->same);
    s->equal = order == 0 && !s->right;
    return order < s->right;
}

/* Goes as far as marks lead in the run that begins at *from. Returns 1 if that is the bound; if not,
 * strings before *from are before. */
SX_DEV int sx_text_marked(const sx_view *v, uint64_t *from, sx_gpu_search *s)
{
    const sx_strings *of = &v->strings;
    uint64_t lo = *from, m = sx_mark_run(of, v->n, lo, s->same), own;
    const unsigned char *p;
    sx_mark_bits q, other;
    uint32_t bit;
    int order;

    if (m < 2 || sx_text_code(v, lo) != s->code)
        return 0;
    q = sx_mark_bits_of(s->q, s->length, s->same);
    *from = sx_mark_nearest(of, lo, lo + m, &q);
    order = sx_string_order_from(of, *from, s->q, s->length, s->same);
    s->equal = !s->right && order == 0;
    if (order == 0)
        return !s->right;
    p = sx_string_at(of, *from, &own);
    other = sx_mark_bits_of(p, own, s->same);
    bit = sx_mark_between(&q, &other);
    if (bit == SX_MARK_FAR)
        return order > 0;
    *from = sx_mark_bound(of, lo, lo + m, *from, bit, order < 0);
    return 1;
}

/* The first position from `from` on that is not before. Takes doubling steps, then halves the last
 * one, so that it ends whatever the strings are. */
SX_DEV uint64_t sx_text_bound(const sx_view *v, uint64_t from, sx_gpu_search *s)
{
    uint64_t step = 1, end;
    int equal;

    s->equal = 0;
    if (s->same == SX_SAME_WHOLE && !s->right && from < v->n) {   /* nothing is left to compare */
        s->equal = sx_text_code(v, from) == s->code;
        return from;
    }
    if (v->strings.marks && from < v->n && sx_text_marked(v, &from, s))
        return from;
    if (from >= v->n || !sx_text_before(v, from, s))
        return from;
    while (step < v->n - from && sx_text_before(v, from + step, s)) {
        from += step;
        step *= 2;
    }
    end = step < v->n - from ? from + step : v->n;
    equal = end < v->n && s->equal;
    while (end - from > 1) {      /* `from` is before, and `end` is not */
        uint64_t half = from + (end - from) / 2;
        if (sx_text_before(v, half, s)) {
            from = half;
        } else {
            end = half;
            equal = s->equal;
        }
    }
    s->equal = equal;
    return end;
}

#endif
