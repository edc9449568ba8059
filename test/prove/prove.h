/* prove.h - what the proofs of all families share (scripts/prove.py runs them).
 *
 * Parameters: W, the width of keys; ROWS, BLOCK and UNIT, a layout and how a walk compares
 * keys in it.
 *
 * A lemma is a function without loops. It has some view, which shapes.h alone constrains;
 * sections of exactly their size; some state that an earlier lemma has shown to be possible;
 * and any query. It takes one step of a walk. What the step reads must be inside, and what it
 * leaves must be what the next step assumes, with a measure that has fallen.
 *
 * Levels are called 0 and 1, of LEVELS = 1 or 2, but their numbers are any: whatever is
 * assumed of level 0 is true of all, and a step knows only its own level and the next.
 *
 * Keys are never stored: a read is checked, and then has any value, another one each time.
 * So the proofs hold for all bytes, and even for bytes that change meanwhile. The checker
 * itself looks at every address that is computed, read or not (--pointer-overflow-check):
 * one byte behind a section is allowed, as in C. */
#ifndef SX_PROVE_H
#define SX_PROVE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A walk knows only its own family's part of a view. If parts lie beside each other, and not
 * in one place, constants in them stay constants for the checker. */
#define union struct
#include "family/view.h"
#undef union
#include "shapes.h"

#define ASSUME(x) __CPROVER_assume(x)
#define ASSERT(x, what) __CPROVER_assert(x, what)
/* Where a lemma ends. scripts/prove.py wants this assertion to fail: otherwise no case gets
 * that far, and all assertions before hold for no case at all. */
#define END __CPROVER_assert(0, "the end is not reached")

/* By default a layout without rows: most steps do not know of rows. */
#ifndef ROWS
#define ROWS 0
#endif
#ifndef BLOCK
#define BLOCK 0
#endif
#ifndef UNIT
#define UNIT 1
#endif

uint64_t nondet_u64(void);
uint32_t nondet_u32(void);
int nondet_int(void);

#include "family/generic/width_begin.h"

KEY nondet_key(void);
sx_view nondet_view(void);

/* ---- reads --------------------------------------------------------------------------- */

static inline void reads(const void *p, uint64_t bytes, uint64_t aligned)
{
    ASSERT(__CPROVER_r_ok(p, bytes), "read inside the section");
    ASSERT(__CPROVER_POINTER_OFFSET(p) % aligned == 0, "read aligned");
}

static inline KEY read_key(const void *p)
{
    reads(p, W, W);
    return nondet_key();
}

/* How many of m keys are below a query. */
static inline uint32_t read_count(const void *p, uint64_t m, uint64_t aligned)
{
    uint32_t c = nondet_u32();

    reads(p, m * W, aligned);
    ASSUME(c <= m);
    return c;
}

#define SX_LOAD(p) read_key(p)
#define SX_COUNT(p, m, q) read_count((p), (m), W)
#define SX_COUNT_UNIT(p, m, q) read_count((p), (m), 16)

/* ---- views --------------------------------------------------------------------------- */

static inline unsigned char *section(uint64_t bytes)
{
    return malloc(bytes);
}

/* Binds the leaves of v, whose shape the caller has assumed. */
static inline void bind_leaves(sx_view *v)
{
    if (v->block) {
        v->keys = section((v->slots >> v->block_shift) * v->block_bytes);
        v->rows = v->keys + v->block * W;
    } else {
        v->keys = section(v->slots * W);
        v->rows = v->row_bytes ? section(v->n * v->row_bytes) : NULL;
    }
}

/* A view of this layout; numbers that are multiplied with are constants. */
static inline sx_view some_view(void)
{
    sx_view v = nondet_view();

    v.starts = NULL;
    v.width = W;
    v.row_bytes = ROWS;
    v.block = BLOCK;
    v.block_shift = BLOCK ? (uint32_t)__builtin_ctz(BLOCK + !BLOCK) : 63;
    v.block_bytes = BLOCK * (uint64_t)(W + ROWS);
    v.unit = UNIT;
    return v;
}

/* A window of len > 1 things among `all`, which is about to be halved. */
typedef struct {
    uint64_t all, at, len, half;
} window_of;

static inline window_of some_window(uint64_t all)
{
    window_of w = {.all = all, .at = nondet_u64(), .half = nondet_u64()};
    uint64_t odd = nondet_u64();

    ASSUME(odd <= 1 && w.half >= 1 && small(w.half) && small(w.at));
    w.len = 2 * w.half + odd;     /* half = len / 2 */
    ASSUME(w.at + w.len <= all);
    return w;
}

/* After a halving the rest begins behind len / 2 things, or not: it is smaller, and among them. */
static inline void window_halved(window_of w, uint64_t at)
{
    uint64_t left = w.len - w.half;

    ASSERT(left >= 1 && left < w.len, "the window shrinks");
    ASSERT(at >= w.at && small(at) && at + left <= w.all, "it stays inside");
}

#endif
