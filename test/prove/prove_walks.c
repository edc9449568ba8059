/* prove_walks.c - whole walks by one thread, from sx_shape() to the row, of a shape given by
 * parameters: FAMILY, N, SPEC (its parameters), ROWS; W; LINKED, whether it is bytes that say
 * which slot has which rank. Sections have exactly their size and any bytes.
 *
 * These are the walks of family/walks_impl.h, with the reads of a GPU's thread. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define union struct
#include "family/pgm/pgm_shape.h"
#include "family/shape.h"
#include "family/slots.h"

#ifndef LINKED
#define LINKED 0
#endif

#define ASSUME(x) __CPROVER_assume(x)
#define ASSERT(x, what) __CPROVER_assert(x, what)
#define END __CPROVER_assert(0, "the end is not reached")   /* see prove.h */

#define SX_DEV static inline
#define SX_UNROLL
typedef struct {
    uint32_t x, y, z, w;
} uint4;
uint4 nondet_uint4(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);

static inline uint4 sx_load16(const void *p)
{
    ASSERT(__CPROVER_r_ok(p, 16), "read inside the section");
    ASSERT(__CPROVER_POINTER_OFFSET(p) % 16 == 0, "read aligned");
    return nondet_uint4();
}
#define sx_load16_any(p) sx_load16(p)
#define SX_SUM_BYTES(x, sum) ((sum) + ((x) & 255) + ((x) >> 8 & 255) + ((x) >> 16 & 255) + ((x) >> 24))
#define SX_LOW_BITS(bits) ((bits) < 32 ? (1u << (bits)) - 1 : ~0u)

#include "family/generic/width_begin.h"
#undef SX_WALK
#include "family/walks_impl.h"

KEY nondet_key(void);

/* ---- the reads of walks, which the lemmas of steps take for granted ---------------------- */

#if W == 4
#define LINE 16
#elif W == 8
#define LINE 8
#else
#define LINE 4
#endif

void gpu_count_unit(void)
{
    uint32_t unit = nondet_u32();
    unsigned char *p;

    ASSUME(unit == LINE || unit == LINE / 2 || unit * W == 16);
    p = malloc(unit * W);
    ASSERT(F(count_unit)(p, unit, nondet_key()) <= unit, "so many keys at most");
    END;
}

void gpu_record(void)
{
    unsigned char *p = malloc(SX_GUIDE_RECORD);
    uint32_t j = nondet_u32(), count;
    uint64_t start;

    ASSUME(j < SX_GUIDE_CELLS);
    start = F(record_window)(p, j, &count);
    ASSERT(start < (1ull << 48) + SX_GUIDE_CELLS * 255 && count <= 255, "a window");
    END;
}

void scalar_record(void)
{
    unsigned char *p = malloc(SX_GUIDE_RECORD);
    uint32_t j = nondet_u32(), count;
    uint64_t start;

    ASSUME(j < SX_GUIDE_CELLS);
    start = sx_record_window(p, j, &count);
    ASSERT(start < (1ull << 48) + SX_GUIDE_CELLS * 255 && count <= 255, "a window");
    END;
}

/* The promise of count_any() in prove_pgm.c; there are 16 / W - 1 keys before key i, or none. */
void gpu_count_from(void)
{
    uint64_t m = nondet_u64(), i = nondet_u64(), more;
    unsigned char *keys;

    ASSUME(m <= 20 && i <= 20);
    more = m + 64 / W > 16 ? m + 64 / W : 16;
    keys = malloc((i + more) * W);
    ASSERT(F(count_from)(keys, i, m, nondet_key()) <= m + 16, "so many at most");
    END;
}

/* ---- whole walks ------------------------------------------------------------------------ */

#ifdef FAMILY
void walk(void)
{
    sx_spec spec = {.family = FAMILY, SPEC};
    sx_facts facts = {.n = N, .ranks = N, .width = W, .row_bytes = ROWS};
    sx_view v;
    sx_err err;
    const void *base[SX_SECTIONS];
    uint64_t rank, slot;

    sx_shape(&v, &spec, &sx_any_target, &facts, &err);
#ifdef SEGMENTS
    {
        uint64_t segments[] = {SEGMENTS};
        sx_shape_levels(&v, segments, sizeof segments / sizeof segments[0], &err);
        v.of.pgm.concise = nondet_u32() & 1;
    }
#endif
    v.distinct = nondet_u32() & 1;
    for (unsigned i = 0; i < SX_SECTIONS; i++)
        base[i] = sx_section_bytes(&v, i) ? malloc(sx_section_bytes(&v, i)) : NULL;
    sx_view_bind(&v, base);
    rank = F(bound)(&v, nondet_key(), nondet_u32() & 1 ? SX_RIGHT : SX_LEFT, &slot);
    ASSERT(rank <= N, "a rank");
    ASSERT(slot == SX_NO_SLOT || (slot < v.slots && (LINKED || sx_rank_of_slot(&v, slot) < N)), "a slot");
    if (slot != SX_NO_SLOT) {
        F(slot_key)(&v, slot);
        sx_row_at(&v, slot, rank);
    }
    if (rank < N && LINKED)
        F(slot_key)(&v, sx_slot_of_rank(&v, rank));
    else if (rank < N)
        ASSERT(sx_rank_of_slot(&v, sx_slot_of_rank(&v, rank)) == rank, "a rank has a slot");
    END;
}
#endif
