/* prove_radix.c - steps in a radix tree, whatever its bytes are. prove_array.c has the array behind
 * them. That a walk ends needs no proof: the driver counts its levels, which radix_is() bounds. */
#include "prove.h"

static inline uint32_t read_bytes(const void *p, uint32_t m, uint64_t aligned)
{
    uint32_t c = nondet_u32();

    reads(p, m, aligned);
    ASSUME(c <= m);
    return c;
}

static inline uint64_t read_number(const void *p, uint64_t bytes)
{
    reads(p, bytes, bytes);
    return nondet_u64();
}

#define SX_RADIX_NUMBER(type, p) ((type)read_number((p), sizeof(type)))
#define SX_BYTES_BELOW(p, b) read_bytes((p), 16, 16)
#define SX_BYTES_BELOW_4(p, b) read_bytes((p), 4, 4)
#include "family/generic/array_walk_impl.h"
#include "family/radix/radix_walk_impl.h"

static sx_view radix_view(void)
{
    sx_view v = some_view();

    ASSUME(radix_is(&v) && v.of.radix.levels > 0 && small(v.of.radix.units));
    v.of.radix.nodes = section(v.of.radix.units * SX_RADIX_UNIT + SX_RADIX_SPARE);
    return v;
}

/* A state that is done is a window of the array, or gives one. */
static void window_is(const sx_view *v, uint64_t state)
{
    uint64_t count, start = F(radix_ended)(v, state, &count);

    ASSERT(start <= v->n && count <= v->n - start, "a window of the array");
}

/* Nodes of one kind at a time. */
#ifndef KIND
#define KIND SX_RADIX_BITS
#endif
static int is_kind(uint64_t state)
{
    uint32_t kind = (uint32_t)(state >> 48) & 7u;

    return KIND < SX_RADIX_BITS ? kind == KIND : kind >= SX_RADIX_BITS;
}

/* A node leads to another, or to a window. */
void radix_step(void)
{
    sx_view v = radix_view();
    uint64_t state = nondet_u64(), next;

    ASSUME(!(state & SX_RADIX_DONE) && (state & SX_RADIX_AT) < v.of.radix.units);
    ASSUME(is_kind(state));
    next = F(radix_step)(&v, state, nondet_key());
    if (next & SX_RADIX_DONE)
        window_is(&v, next);
    else
        ASSERT((next & SX_RADIX_AT) < v.of.radix.units, "a node");
    END;
}

/* Any number is a state of a level, or done; and any number ends in a window. */
void radix_enter(void)
{
    sx_view v = radix_view();
    uint32_t l = nondet_u32();
    uint64_t state;

    ASSUME(l <= v.of.radix.levels);
    state = F(radix_enter)(&v, l, nondet_u64());
    ASSERT(state & SX_RADIX_DONE || (l < v.of.radix.levels && (state & SX_RADIX_AT) < v.of.radix.units),
           "a node, or done");
    window_is(&v, nondet_u64());
    END;
}

/* Both ends of a prefix that ends in this node, of one kind, are windows, or nodes that lead to one. A
 * driver reads no more of these than radix_end_window() does. */
void radix_ends(void)
{
    sx_view v = radix_view();
    uint64_t state = nondet_u64(), lo, hi;
    uint32_t bits = nondet_u32();

    ASSUME(!(state & SX_RADIX_DONE) && (state & SX_RADIX_AT) < v.of.radix.units &&
           !F(radix_goes_on)(state, bits));
    ASSUME(is_kind(state));
    F(radix_ends)(&v, state, nondet_key(), bits, &lo, &hi);
    window_is(&v, F(radix_end_window)(&v, nondet_int() ? lo : hi));
    END;
}
