/* prove_btree.c - steps in a tree of lines. Parameters: ROWS; BLOCK, slots of a leaf of pairs, or
 * 0; UNIT, keys of a leaf; LEVELS. */
#define SX_TIMES(a, b) __CPROVER_uninterpreted_times((a), (b))
unsigned long __CPROVER_uninterpreted_times(unsigned long a, unsigned long b);
#include "prove.h"

#include "family/btree/btree_walk_impl.h"

static sx_view btree_view(void)
{
    sx_view v = some_view();

    v.block_bytes = BLOCK ? SX_BTREE_LINE : 0;
    v.of.btree.leaf = UNIT;
    v.of.btree.levels = LEVELS;
    ASSUME(btree_is(&v));
    v.of.btree.nodes = section(v.of.btree.first[LEVELS] * SX_BTREE_LINE);
    v.keys = section(v.of.btree.leaves * SX_BTREE_LINE);
    if (BLOCK)
        v.rows = v.keys + v.of.btree.rows_at;
    else
        v.rows = ROWS ? section(v.n * ROWS) : NULL;
    return v;
}

/* A node of level l leads to one of the next, or to a leaf. */
void btree_level(void)
{
    sx_view v = btree_view();
    const sx_btree *t = &v.of.btree;
    const uint32_t l = 0;         /* any: see prove.h */
    uint64_t at = nondet_u64(), last, child;

    ASSUME(btree_level_is(&v, l));
    ASSUME(l + 1 == t->levels || btree_level_is(&v, l + 1));
    ASSUME(at < t->first[l + 1] - t->first[l]);
    last = F(btree_last_child)(t, l);
    child = F(btree_level)(t, l, at, last, nondet_key(), t->k);
    ASSERT(child <= last, "a child");
    ASSERT(last < (l + 1 == t->levels ? t->leaves : t->first[l + 2] - t->first[l + 1]),
           "of the next level");
    END;
}

/* Any number is a state of a level, or an entry. */
void btree_enter(void)
{
    sx_view v = btree_view();
    const sx_btree *t = &v.of.btree;

    ASSUME(btree_level_is(&v, 0) && t->first[0] == 0 && t->first[1] == 1);
    ASSERT(F(btree_enter)(&v, 0, nondet_u64()) == 0, "the first node");
    ASSUME(LEVELS == 1 || btree_level_is(&v, 1));
    ASSERT(F(btree_enter)(&v, 1, nondet_u64()) < (LEVELS == 1 ? t->leaves : t->first[2] - t->first[1]),
           "a node of the level, or a leaf");
    ASSERT(F(btree_from_entry)(&v, (sx_state){.at = nondet_u64()}) < t->leaves, "a leaf");
    END;
}

/* Where a walk ends: the keys of a leaf, the position, and its slot, which has a key and a row. */
void btree_finish(void)
{
    sx_view v = btree_view();
    uint64_t at = nondet_u64(), c, position, slot;

    ASSUME(at < v.of.btree.leaves);
    c = SX_COUNT(F(btree_leaf)(&v, at), UNIT, nondet_key());
    position = F(btree_position)(v.n, at, c, UNIT);
    slot = F(btree_slot)(v.n, at, c, UNIT);
    ASSERT(position <= v.n, "a position");
    ASSERT((slot == SX_NO_SLOT) == (position == v.n), "a slot, if there is a key");
    if (slot != SX_NO_SLOT) {
        ASSERT(slot < v.slots && sx_btree_rank_of_slot(&v.of.btree, slot) == position, "its slot");
        reads(v.keys + sx_key_offset(&v, slot), W, W);
        if (ROWS)
            reads(v.rows + sx_row_offset(&v, BLOCK ? slot : position), ROWS, ROWS);
    }
    END;
}

/* A rank's slot is the one that has this rank. */
void btree_slots(void)
{
    sx_view v = btree_view();
    uint64_t rank = nondet_u64(), slot;

    ASSUME(rank < v.n);
    slot = sx_btree_slot_of_rank(&v.of.btree, rank);
    ASSERT(slot < v.slots, "a slot");
    ASSERT(sx_btree_rank_of_slot(&v.of.btree, slot) == rank, "of that rank");
    END;
}
