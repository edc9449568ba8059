/* ranges.h - what every backend says alike about results of ranges. */
#ifndef SX_RANGES_H
#define SX_RANGES_H

#include "place/backend.h"

/* Counts in first[0..n) become offsets in first[0..n]; returns the last one. The caller
 * knows that the sum is below 2^64. first[] may be the user's, who may change it while we
 * work. So the total that was returned counts, and numbers read from first[] later are
 * compared with it before they are believed. */
uint64_t sx_ranges_sum_up(uint64_t *first, uint64_t n);

/* SX_ESPACE unless `total` results have space. */
sx_status sx_ranges_check_space(const sx_range_out *out, uint64_t total, const char *verb,
                                sx_err *err);

#endif
