/* index_check.h - proving that an index is what its shape says. */
#ifndef SX_INDEX_CHECK_H
#define SX_INDEX_CHECK_H

#include "base/tick.h"
#include "family/view.h"

/* The numbered invariants of FAM/FAM.h, and of keys and rows:
 *   K1  every key is what encode.h makes of some element of its type: another, as floats
 *       can have, would equal no query
 *   K2  stored keys are distinct if, and only if, the view says so
 *   V1  layout=once: starts ascend strictly from 0 to the number of ranks; zeros are behind
 *   V2  layout=once: first rows are those of the ranks that start
 *   R1  no row is above max_row, and some row equals it; it is 0 if there are no keys
 *   R2  unused slots that have a row hold one of all ones */
sx_status sx_index_check(const sx_view *v, int key_type, uint64_t max_row, int unique,
                         sx_progress *progress, sx_err *err);

/* For families: the key at p; the largest key there can be; and a failure, with what is
 * wrong where. */
sx_key16 sx_check_key(const sx_view *v, const unsigned char *p);
sx_key16 sx_check_largest(const sx_view *v);
sx_status sx_check_broken(const sx_view *v, const char *rule, const char *what, uint64_t where,
                          sx_err *err);

#endif
