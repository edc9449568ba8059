/* sorted.h - a sorted array and nothing else.
 *
 * Slots are ranks. A search halves the array, unit by unit (array_walk_impl.h).
 *
 *     keys   |k0|k1|k2| ... |k(n-1)| padding up to whole lines
 *
 * Invariants (index_check.c), of every family whose slots are ranks:
 *   P1  keys ascend with the slot (strictly if unique)
 *   P2  unused slots hold the largest key
 */
#ifndef SX_SORTED_H
#define SX_SORTED_H

#include "family/stretch.h"

typedef struct sx_part_sorted {
    uint64_t none;
} sx_sorted_array;
SX_SLOTS_BY_RANK(sorted)

typedef struct sx_params_sorted {
    uint32_t none;
} sx_sorted_params;

#endif
