/* prove_pivot.c - steps under pivots. Parameters: UNIT, from which a node's k follows if it
 * is not 1; LEVELS. prove_array.c has the array behind them. */
#define SX_TIMES(a, b) __CPROVER_uninterpreted_times((a), (b))
unsigned long __CPROVER_uninterpreted_times(unsigned long a, unsigned long b);
#include "prove.h"

#include "family/generic/array_walk_impl.h"
#include "family/pivot/pivot_walk_impl.h"

static sx_view pivot_view(void)
{
    sx_view v = some_view();

#if UNIT > 1
    v.of.pivot.k = UNIT + 1;
#endif
    v.of.pivot.levels = LEVELS;
    ASSUME(pivot_is(&v));
    v.of.pivot.pivots = section(SX_TIMES(v.of.pivot.first[LEVELS], v.of.pivot.k - 1u) * W);
    return v;
}

/* A node of level l leads to one of the next, or to a window. */
void pivot_level(void)
{
    sx_view v = pivot_view();
    const sx_pivot *t = &v.of.pivot;
    const uint32_t l = 0;         /* any: see prove.h */
    uint64_t at = nondet_u64(), last, child;

    ASSUME(pivot_level_is(&v, l));
    ASSUME(l + 1 == t->levels || pivot_level_is(&v, l + 1));
    ASSUME(at < t->first[l + 1] - t->first[l] && pivot_node_is(&v, l, at));
    last = F(pivot_last_child)(t, l);
    child = F(pivot_level)(t, l, at, last, nondet_key(), UNIT);
    ASSERT(child <= last, "a child");
    ASSERT(last < (l + 1 == t->levels ? t->windows : t->first[l + 2] - t->first[l + 1]),
           "of the next level");
    END;
}

/* Any number leads to a window of the array, be it a window's or an entry. */
void pivot_begin(void)
{
    sx_view v = pivot_view();
    uint64_t all, len, at;

    all = F(array_units)(&v, UNIT);
    len = F(pivot_window)(&v, UNIT);
    ASSERT(len >= 1 && len <= all, "not empty");
    at = F(pivot_begin)(&v, nondet_u64(), len, UNIT);
    ASSERT(at <= all - len, "a window of the array");
    at = F(pivot_from_entry)(&v, (sx_state){.at = nondet_u64()}, len, UNIT);
    ASSERT(at <= all - len, "a window of the array");
    END;
}
