/* prove_once.c - positions and ranks where equal keys are stored once, whatever is in
 * `starts`. */
#include "prove.h"

/* A view of n values, and as many ranks or more. */
static sx_view once_view(void)
{
    sx_view v = some_view();

    ASSUME(v.n >= 1 && v.n <= v.ranks && v.ranks <= SX_KEYS_MAX);
    v.traits = SX_ONCE;
    v.starts = section(sx_starts_bytes(v.n, v.ranks, ROWS));
    v.rows = ROWS ? section(v.ranks * ROWS) : NULL;
    return v;
}

/* Every position, and the one behind the last, has a rank up to the number of ranks. */
void start(void)
{
    sx_view v = once_view();
    uint64_t at = nondet_u64();

    ASSUME(at <= v.n);
    ASSERT(sx_rank_at(&v, at) <= v.ranks, "a rank");
    END;
}

/* The first row and the last row of a position are inside. */
void row_of(void)
{
    sx_view v = once_view();
    uint64_t at = nondet_u64();

    ASSUME(at < v.n);
    sx_row_of(&v, at, at, nondet_u32() & 1);
    END;
}

/* A window of positions: after a halving the rest is one, too, and smaller. */
void position_halve(void)
{
    sx_view v = once_view();
    window_of w = some_window(v.n);
    uint64_t at = sx_position_halve(&v, w.at, w.half, nondet_u64());

    window_halved(w, at);
    END;
}
