/* ranges.h - what every backend says alike about results of ranges. */
#ifndef SX_RANGES_H
#define SX_RANGES_H

#include "place/backend.h"

/* Counts in first[0..n) become offsets in first[0..n]. (When they overflow
 * the counts stay there: the only output that is touched.) */
sx_status sx_ranges_sum_up(uint64_t *first, uint64_t n, sx_err *err);

/* SX_ESPACE unless `total` results have room. */
sx_status sx_ranges_check_room(const sx_range_out *out, uint64_t total, sx_err *err);

#endif
