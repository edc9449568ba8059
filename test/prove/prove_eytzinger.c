/* prove_eytzinger.c - steps in a tree in level order. Parameters: UNIT; LEVELS; K, children of
 * a node, if the length of a loop over its keys must be known. */
#define SX_TIMES(a, b) __CPROVER_uninterpreted_times((a), (b))
unsigned long __CPROVER_uninterpreted_times(unsigned long a, unsigned long b);
#include "prove.h"

#include "family/eytzinger/eytzinger_walk_impl.h"


/* UNIT 0 is a walk that takes nodes of any k; otherwise k follows from UNIT. */
static sx_view tree_view(void)
{
    sx_view v = some_view();

    v.unit = nondet_u32();
#if UNIT
    v.of.eytzinger.k = UNIT + 1;
#elif defined K
    v.of.eytzinger.k = K;
#endif
    v.of.eytzinger.levels = LEVELS;
    ASSUME(eytzinger_is(&v) && (UNIT == 0 || v.unit == UNIT));
    bind_leaves(&v);
    return v;
}

static int slot_is(const sx_view *v, uint64_t slot)
{
    return slot == SX_NO_SLOT || slot < v->n;
}

/* Level t has level_first[t] + 1 nodes: from one of them to one of the next level. */
void eytz_level(void)
{
    sx_view v = tree_view();
    const sx_eytzinger *e = &v.of.eytzinger;
    const uint32_t t = 0;         /* any: see prove.h */
    uint64_t g = nondet_u64(), slot = nondet_u64();

    ASSUME(eytzinger_level_is(&v, t, g) && slot_is(&v, slot));
    g = F(eytz_level)(&v, t, g, &slot, nondet_key(), UNIT);
    ASSERT(g <= e->level_first[t + 1], "a node of the next level");
    ASSERT(slot_is(&v, slot), "a slot");
    END;
}

/* Below the full levels. */
void eytz_finish(void)
{
    sx_view v = tree_view();
    const sx_eytzinger *e = &v.of.eytzinger;
    uint64_t g = nondet_u64(), slot = nondet_u64();

    ASSUME(eytzinger_node_is(&v, g) && eytzinger_node_is(&v, 0));
    ASSUME(SX_TIMES(0, v.of.eytzinger.k - 1) == 0);
    ASSUME(g <= e->level_first[e->levels] && slot_is(&v, slot));
    ASSERT(F(eytz_finish)(&v, g, &slot, nondet_key(), UNIT) <= v.n, "a rank");
    ASSERT(slot_is(&v, slot), "a slot");
    END;
}

/* Any entry is a node of its level. */
void eytz_from_entry(void)
{
    sx_view v = tree_view();
    const uint32_t t = 0;

    ASSERT(F(eytz_enter)(&v, t, nondet_u64()) <= v.of.eytzinger.level_first[t], "a node");
    END;
}
