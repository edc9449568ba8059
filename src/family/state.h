/* state.h - where a walk stands between two levels of an upper part, in the common subset of
 * C11 and CUDA C++.
 *
 * A walk is levels 0 to L-1 of the upper part, where L is the family's levels(), and then the
 * leaves. It can be cut between any two levels: one side walks levels [a, b), state in, state
 * out, and another goes on from there.
 *
 *     level    0     1     2    ...   L-1     leaves
 *     state 0-----1-----2-----3-- ... ----L = entry
 *
 * The state at level 0 is the same for every walk and is not handed over. The state at level L
 * is called an entry: all of the upper part is behind it. What the number means is the family's
 * matter (FAM_walk_impl.h). States come from elsewhere, so any number is one: each step ends in
 * a minimum, and a wrong state gives a wrong answer and never a wrong address.
 *
 * If leaves are at different depths, a walk may be done before level b. Then the highest bit of
 * its state says so, and further levels leave it as it is. */
#ifndef SX_STATE_H
#define SX_STATE_H

#include <stdint.h>

#define SX_STATE_MOST 16u         /* bytes: each state travels */
#define SX_STATE_DONE (1ull << 63)

typedef struct {
    uint64_t at;
} sx_state;

#endif
