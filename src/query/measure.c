#include "query/measure.h"

#include "query/index.h"

const sx_cost *sx_index_cost(const sx_index *ix)
{
    return ix->both ? &ix->cost : NULL;
}

void sx_index_side(sx_index *ix, uint32_t side)
{
    ix->cost.side = side;
}
