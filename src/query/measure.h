/* measure.h - what a GPU's speed is compared with, and what the model of an index
 * on both sides says: for the tool's bench, and not part of the library's
 * interface. */
#ifndef SX_QUERY_MEASURE_H
#define SX_QUERY_MEASURE_H

#include "query/cost.h"

/* All arrays are in the device's memory. SX_ENOSYS: it is no GPU. */
sx_status sx_device_measure(sx_device *dev, sx_measure *job);

/* The model of an index on both sides; NULL: it is not. */
const sx_cost *sx_index_cost(const sx_index *ix);
/* Has one side (SX_SIDE_) answer from now on; 0: the faster. */
void sx_index_side(sx_index *ix, uint32_t side);

#endif
