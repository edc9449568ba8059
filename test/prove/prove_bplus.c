/* prove_bplus.c - steps in a tree of nodes in pools. Parameters: ROWS; BLOCK, pairs of a line, or
 * 0; UNIT, keys of a line; LEVELS. Children, records and the chain are memory with any bytes. */
#include "prove.h"

#include "family/bplus/bplus_walk_impl.h"

static sx_view bplus_view(void)
{
    sx_view v = some_view();
    sx_bplus *t = &v.of.bplus;
    uint64_t lines;

    v.block_bytes = BLOCK ? SX_BPLUS_LINE : 0;
    t->leaf = UNIT;
    t->levels = LEVELS;
    t->fan_shift = (uint16_t)__builtin_ctz(SX_BPLUS_FAN(W));
    t->slot_shift = (uint16_t)(t->fan_shift + __builtin_ctz(UNIT));
    ASSUME(bplus_is(&v));
    lines = t->last_pool << t->fan_shift;
    t->nodes = section(t->inner_pool * SX_BPLUS_INNER(W));
    t->lasts = section(t->last_pool * SX_BPLUS_LAST(W));
    t->links = section(sx_bplus_links_bytes(t));
    v.keys = section(lines * SX_BPLUS_LINE);
    if (BLOCK)
        v.rows = v.keys + SX_BPLUS_ROWS_AT;
    else
        v.rows = ROWS ? section(v.slots * ROWS) : NULL;
    return v;
}

/* A node leads to one of the next level's pool, or to a line. Level 0 is any but the last two if
 * LEVELS is 3, the one before the last if it is 2, and the last if it is 1. */
void bplus_level(void)
{
    sx_view v = bplus_view();
    const sx_bplus *t = &v.of.bplus;
    uint64_t at = nondet_u64(), next;

    ASSUME(at <= F(bplus_latest)(t, 0));
    next = F(bplus_step)(&v, 0, at, nondet_key());
    ASSERT(next <= F(bplus_latest)(t, 1), "a state of the next level");
    ASSERT(F(bplus_latest)(t, 1) < (LEVELS == 1   ? t->last_pool << t->fan_shift
                                    : LEVELS == 2 ? t->last_pool
                                                  : t->inner_pool), "which is in its pool");
    END;
}

/* Any number is a state of a level, or an entry. */
void bplus_enter(void)
{
    sx_view v = bplus_view();
    const sx_bplus *t = &v.of.bplus;

    ASSERT(F(bplus_enter)(&v, 0, nondet_u64()) <= F(bplus_latest)(t, 0), "the first node");
    ASSERT(F(bplus_enter)(&v, LEVELS - 1, nondet_u64()) < t->last_pool, "a last inner node");
    ASSERT(LEVELS < 3 || F(bplus_enter)(&v, 1, nondet_u64()) < t->inner_pool, "an inner node");
    ASSERT(F(bplus_enter)(&v, LEVELS, nondet_u64()) < t->last_pool << t->fan_shift, "a line");
    END;
}

static void reads_slot(const sx_view *v, uint64_t slot)
{
    ASSERT(slot < v->slots, "a slot");
    reads(v->keys + sx_key_offset(v, slot), W, W);
    if (ROWS)
        reads(v->rows + sx_row_offset(v, slot), ROWS, ROWS);
}

/* Where a walk ends: the keys of a line, the position, and its slot, which has a key and a row. */
void bplus_finish(void)
{
    sx_view v = bplus_view();
    uint64_t at = nondet_u64(), position, slot;
    uint32_t c;

    ASSUME(at < v.of.bplus.last_pool << v.of.bplus.fan_shift);
    c = SX_COUNT(F(bplus_leaf)(&v, at), UNIT, nondet_key());
    position = F(bplus_position)(&v, at, c, UNIT);
    slot = F(bplus_slot)(&v, at, c, position, UNIT);
    ASSERT(position <= v.n, "a position");
    ASSERT((slot == SX_NO_SLOT) == (position == v.n), "a slot, if there is a key");
    if (slot != SX_NO_SLOT)
        reads_slot(&v, slot);
    END;
}

/* A rank has a slot, whatever place it is looked for in; and a slot's rank can be read. */
void bplus_slots(void)
{
    sx_view v = bplus_view();
    uint64_t place = nondet_u64(), slot = nondet_u64();

    ASSUME(place < v.of.bplus.leaves);
    reads_slot(&v, sx_bplus_slot_at(&v.of.bplus, place, nondet_u64()));
    ASSERT(sx_bplus_guess(&v.of.bplus, nondet_u64()) < v.of.bplus.leaves, "a place");
    ASSUME(slot < v.slots);
    (void)sx_bplus_rank_of_slot(&v.of.bplus, slot);
    END;
}

/* A stretch is in one leaf, and its ranks are in the span. */
void bplus_stretch(void)
{
    sx_view v = bplus_view();
    uint64_t place = nondet_u64(), a = nondet_u64(), b = nondet_u64();
    sx_stretch r;

    ASSUME(place < v.of.bplus.leaves && a < b && b <= v.n);
    r = sx_bplus_stretch_at(&v.of.bplus, place, a, b);
    ASSERT(r.first >= a && r.first < b && r.n <= b - r.first, "ranks of the span");
    ASSERT(r.slot < v.slots && r.n <= v.slots - r.slot, "slots");
    ASSERT(r.n == 0 || r.slot >> v.of.bplus.slot_shift == (r.slot + r.n - 1) >> v.of.bplus.slot_shift,
           "of one leaf");
    END;
}

/* A search among places ends in one of them. */
void bplus_halve(void)
{
    sx_view v = bplus_view();
    window_of w = some_window(v.of.bplus.leaves);

    window_halved(w, sx_bplus_halve(&v.of.bplus, w.at, w.half, nondet_u64()));
    END;
}
