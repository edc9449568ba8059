#include "query/measure.h"

#include "query/index.h"

sx_status sx_device_measure(sx_device *dev, sx_measure *job)
{
    sx_err err;

    if (!dev->backend->measure)
        return sx_report(&err, sx_fail(&err, SX_ENOSYS, "%s has nothing to measure with",
                                       dev->backend->name));
    return sx_report(&err, dev->backend->measure(dev->self, job, &err));
}

const sx_cost *sx_index_cost(const sx_index *ix)
{
    return ix->both ? &ix->cost : NULL;
}

void sx_index_side(sx_index *ix, uint32_t side)
{
    ix->cost.side = side;
}
