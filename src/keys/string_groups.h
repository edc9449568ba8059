/* string_groups.h - makes the groups of sorted strings (strings.h). */
#ifndef SX_STRING_GROUPS_H
#define SX_STRING_GROUPS_H

#include "base/status.h"
#include "keys/strings.h"

/* The most bytes that groups of n strings have, and that making them takes beside these. */
uint64_t sx_groups_most(uint64_t n);
uint64_t sx_groups_scratch(uint64_t n);

/* Fills in the numbers of *s, whose strings are there, n of them, and the block of its groups,
 * which the caller gives back. shared[i] says how many bytes strings i-1 and i share; SX_EQUAL:
 * they are the same. */
#define SX_EQUAL UINT32_MAX
sx_status sx_groups_make(sx_strings *s, uint64_t n, const uint32_t *shared, void **groups,
                         sx_err *err);

/* The same, where `good` is as many bytes of a tree as it may have without a search for a smaller
 * one: few enough, and a few strings have a choice of trees, too. *ties: strings that it takes to
 * have the code of the one before. */
sx_status sx_groups_make_good(sx_strings *s, uint64_t n, const uint32_t *shared, uint64_t good,
                              void **groups, uint64_t *ties, sx_err *err);

/* Whether groups are as strings.h draws them, so that codes never descend: SX_ECORRUPT says what
 * is wrong. */
sx_status sx_groups_check(const sx_strings *s, sx_err *err);

#endif
