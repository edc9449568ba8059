/* measure.h - the cost model of an index on both sides, for the bench; not part of
 * the library's interface. */
#ifndef SX_QUERY_MEASURE_H
#define SX_QUERY_MEASURE_H

#include "query/cost.h"

/* The model of an index with place=both; NULL for others. */
const sx_cost *sx_index_cost(const sx_index *ix);
/* Has one side (SX_SIDE_) answer from now on, or the faster one (0). Call it while
 * nobody asks. */
void sx_index_side(sx_index *ix, uint32_t side);

#endif
