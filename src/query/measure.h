/* measure.h - what the model of an index on both sides says: for the bench, and
 * not part of the library's interface. */
#ifndef SX_QUERY_MEASURE_H
#define SX_QUERY_MEASURE_H

#include "query/cost.h"

/* The model of an index on both sides; NULL: it is not. */
const sx_cost *sx_index_cost(const sx_index *ix);
/* Has one side (SX_SIDE_) answer from now on; 0: the faster. While nobody asks. */
void sx_index_side(sx_index *ix, uint32_t side);

#endif
