/* slice.h - a column, or consecutive elements of one, as the engine has it: bytes that know their
 * elements. Other code asks here where element i is, or how many bytes some elements have, and
 * does not multiply.
 *
 *     data   |  e0  |  e1  |  e2  |  ...        each bytes an element
 *
 * Strings have offsets, as in sx_column; `each` is the bytes of an offset then. Their offsets can
 * be asked for on the host only, and count as the caller has them: whoever has not looked at them
 * compares with `bytes` before it believes them (sx_slice_string()).
 *
 * A slice without data is a column that is not wanted, or, if `each` is not 0, one that is wanted
 * and has space for no element.
 *
 * Written in the common subset of C11 and C++. */
#ifndef SX_SLICE_H
#define SX_SLICE_H

#include "keys/types.h"

typedef struct {
    void *data;                   /* element 0; only read if it is an input */
    uint64_t n;                   /* elements */
    uint32_t each;                /* bytes of an element, or of an offset; 0: there is no
                                     column */
    int32_t place;                /* sx_place */
    const void *offsets;          /* strings: n + 1, where each begins in data; or NULL */
    uint64_t bytes;               /* strings: of data */
} sx_slice;

/* n elements of `each` bytes. */
static inline sx_slice sx_slice_fixed(const void *data, uint64_t each, uint64_t n, int place)
{
    sx_slice s = {0};

    s.data = (void *)data;
    s.n = n;
    s.each = (uint32_t)each;
    s.place = place;
    return s;
}

/* A column that has been checked; NULL: none. */
static inline sx_slice sx_slice_of(const sx_column *c)
{
    sx_slice s = {0};

    if (c)
        s = sx_slice_fixed(c->data, c->offset_bytes ? c->offset_bytes : sx_type_bytes(c->type),
                           c->n, c->place);
    if (c && c->offset_bytes) {
        s.offsets = c->offsets;
        s.bytes = c->bytes;
    }
    return s;
}

/* Offset i <= n of strings on the host, never above the bytes there are. It is the caller's, and
 * is read once: it may change. */
static inline uint64_t sx_slice_offset(const sx_slice *s, uint64_t i)
{
    uint64_t at = s->each == 8 ? ((const volatile uint64_t *)s->offsets)[i]
                               : ((const volatile uint32_t *)s->offsets)[i];

    return at < s->bytes ? at : s->bytes;
}

/* The same, not inlined: compilers warn of numbers of elements that no column of strings has. */
static __attribute__((noinline, unused)) uint64_t sx_slice_begins(const sx_slice *s, uint64_t i)
{
    return sx_slice_offset(s, i);
}

/* String i on the host, inside of the data whatever its offsets are. */
static inline const unsigned char *sx_slice_string(const sx_slice *s, uint64_t i, uint64_t *length)
{
    uint64_t a = sx_slice_offset(s, i), b = sx_slice_offset(s, i + 1);

    *length = b > a ? b - a : 0;
    return s->data ? (const unsigned char *)s->data + a : (const unsigned char *)"";
}

/* Whether the column is wanted, even if it has space for no element. */
static inline int sx_slice_wanted(const sx_slice *s)
{
    return s->each > 0;
}

/* Whether it is in device memory. */
static inline uint32_t sx_slice_there(const sx_slice *s)
{
    return s->place == SX_DEVICE;
}

/* Bytes of elements [a, b), at most UINT64_MAX. */
static inline uint64_t sx_slice_bytes(const sx_slice *s, uint64_t a, uint64_t b)
{
    uint64_t n = b - a;

    if (s->offsets) {
        uint64_t from = sx_slice_begins(s, a), to = sx_slice_begins(s, b);
        return to > from ? to - from : 0;
    }
    return s->each && n > UINT64_MAX / s->each ? UINT64_MAX : n * s->each;
}

/* The address of element i, or (i = n) of the end. NULL if there is no data. */
static inline void *sx_slice_at(const sx_slice *s, uint64_t i)
{
    if (s->offsets)
        return s->data ? (unsigned char *)s->data + sx_slice_begins(s, i) : NULL;
    return s->data ? (unsigned char *)s->data + i * s->each : NULL;
}

/* Both for elements [a, b). Offsets are read once, so that all of it is inside of the data whatever
 * the caller does to them. */
static inline void *sx_slice_span(const sx_slice *s, uint64_t a, uint64_t b, uint64_t *bytes)
{
    uint64_t from, to;

    if (!s->offsets) {
        *bytes = sx_slice_bytes(s, a, b);
        return sx_slice_at(s, a);
    }
    from = sx_slice_begins(s, a);
    to = sx_slice_begins(s, b);
    *bytes = to > from ? to - from : 0;
    return s->data ? (unsigned char *)s->data + from : NULL;
}

/* Elements [a, b) as a slice. One without data stays without. */
static inline sx_slice sx_slice_part(const sx_slice *s, uint64_t a, uint64_t b)
{
    sx_slice part = *s;

    if (s->offsets) {             /* they count from the same byte */
        part.offsets = (const unsigned char *)s->offsets + a * s->each;
        part.n = b - a;
        return part;
    }
    part.data = sx_slice_at(s, a);
    part.n = s->data ? b - a : 0;
    return part;
}

/* ---- slices whose elements go together ------------------------------------------------ */

/* Bytes of elements [a, b) of all slices. */
static inline uint64_t sx_slices_bytes(const sx_slice *const *s, unsigned count, uint64_t a,
                                       uint64_t b)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < count; i++) {
        uint64_t bytes = sx_slice_bytes(s[i], a, b);
        all = bytes > UINT64_MAX - all ? UINT64_MAX : all + bytes;
    }
    return all;
}

/* How many elements from a on, at most `most`, have at most `bytes` in all slices together. 0:
 * not even one. */
static inline uint64_t sx_slices_cut(const sx_slice *const *s, unsigned count, uint64_t a,
                                     uint64_t most, uint64_t bytes)
{
    uint64_t one = sx_slices_bytes(s, count, a, a + 1), lo = 0, hi = most;
    int strings = 0;

    for (unsigned i = 0; i < count; i++)
        strings |= s[i]->offsets != NULL;
    if (!strings)                 /* all elements are as long */
        return one == 0 || bytes / one > most ? most : bytes / one;
    while (lo < hi) {             /* `lo` elements fit */
        uint64_t half = lo + (hi - lo + 1) / 2;
        if (sx_slices_bytes(s, count, a, a + half) <= bytes)
            lo = half;
        else
            hi = half - 1;
    }
    return lo;
}

/* The same for one slice, up to its end. */
static inline uint64_t sx_slice_cut(const sx_slice *s, uint64_t a, uint64_t bytes)
{
    return sx_slices_cut(&s, 1, a, s->n - a, bytes);
}

#endif
