/* prove_array.c - a search in a sorted array, or in a window of it: all of `sorted`, and how
 * walks of pivot and pgm end. And where units of keys and rows are, in any layout. */
#include "prove.h"

#include "family/generic/array_walk_impl.h"

/* unit: v->unit, or 1, which walks may always take. */
static sx_view array_view(void)
{
    sx_view v = some_view();

    ASSUME(sorted_is(&v));
    bind_leaves(&v);
    return v;
}

/* Every unit is inside the section, aligned to 16 bytes if it has several keys. */
void array_unit(void)
{
    sx_view v = array_view();
    uint64_t at = nondet_u64();

    ASSUME(UNIT == 1 ? at < v.slots : at < v.slots / UNIT);
    reads(F(array_unit)(&v, at, UNIT), UNIT * W, UNIT == 1 ? W : 16);
    END;
}

/* A key's slot has a row. */
void row(void)
{
    sx_view v = array_view();
    uint64_t slot = nondet_u64();

    ASSUME(slot < v.n);
    reads(v.rows + sx_row_offset(&v, slot), ROWS, ROWS);
    END;
}

/* The whole array is a window: not empty, and its units are in the slots. */
void array_units(void)
{
    sx_view v = array_view();
    uint64_t all = F(array_units)(&v, UNIT);

    ASSERT(all >= 1 && all <= v.slots / UNIT, "units of the slots");
    END;
}

/* A window of len units in the array: after a halving the rest is one, too, and smaller. */
void array_halve(void)
{
    sx_view v = array_view();
    window_of w = some_window(F(array_units)(&v, UNIT));
    uint64_t at = F(array_halve)(&v, w.at, w.half, nondet_key(), UNIT);

    window_halved(w, at);
    END;
}

/* A window of one unit: its keys, and the rank. */
void array_finish(void)
{
    sx_view v = array_view();
    uint64_t at = nondet_u64();

    ASSUME(at < F(array_units)(&v, UNIT));
    ASSERT(F(array_finish)(&v, at, nondet_key(), UNIT) <= v.n, "a rank");
    END;
}
