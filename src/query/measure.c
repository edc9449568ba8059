#include "query/measure.h"

#include "query/index.h"

/* Nobody publishes while a bench measures. */
const sx_cost *sx_index_cost(const sx_index *ix)
{
    const sx_index_version *now = atomic_load(&((sx_index *)ix)->now);

    return sx_run_place(sx_one_run(now)) == SX_PLACE_BOTH ? &now->cost : NULL;
}

void sx_index_side(sx_index *ix, uint32_t side)
{
    atomic_load(&ix->now)->cost.side = side;
}
