/* slice.h - a column, or consecutive elements of one, as the engine has it: bytes that know their
 * elements. Other code asks here where element i is, or how many bytes some elements have, and
 * does not multiply.
 *
 *     data   |  e0  |  e1  |  e2  |  ...        each bytes an element
 *
 * All elements have the same length today. Elements of different lengths will have offsets, as
 * in sx_column, and only these functions will have to know.
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
    uint32_t each;                /* bytes of an element; 0: there is no column */
    int32_t place;                /* sx_place */
    const void *offsets;          /* NULL; later n + 1: where each element begins in data */
    uint32_t offset_bytes;        /* 0; later bytes of an offset */
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
    sx_slice none = {0};

    return c ? sx_slice_fixed(c->data, sx_type_bytes(c->type), c->n, c->place) : none;
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

    return s->each && n > UINT64_MAX / s->each ? UINT64_MAX : n * s->each;
}

/* The address of element i, or (i = n) of the end. NULL if there is no data. */
static inline void *sx_slice_at(const sx_slice *s, uint64_t i)
{
    return s->data ? (unsigned char *)s->data + i * s->each : NULL;
}

/* Elements [a, b) as a slice. One without data stays without. */
static inline sx_slice sx_slice_part(const sx_slice *s, uint64_t a, uint64_t b)
{
    sx_slice part = *s;

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
    uint64_t one = sx_slices_bytes(s, count, a, a + 1);   /* all are as long */

    return one == 0 || bytes / one > most ? most : bytes / one;
}

/* The same for one slice, up to its end. */
static inline uint64_t sx_slice_cut(const sx_slice *s, uint64_t a, uint64_t bytes)
{
    return sx_slices_cut(&s, 1, a, s->n - a, bytes);
}

#endif
