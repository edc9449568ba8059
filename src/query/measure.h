/* measure.h - what a GPU's speed is compared with: for the tool's bench, and
 * not part of the library's interface. */
#ifndef SX_QUERY_MEASURE_H
#define SX_QUERY_MEASURE_H

#include "place/backend.h"

/* All arrays are in the device's memory. SX_ENOSYS: it is no GPU. */
sx_status sx_device_measure(sx_device *dev, sx_measure *job);

#endif
