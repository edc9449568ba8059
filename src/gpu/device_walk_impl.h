/* device_walk_impl.h - what sextant_device.cuh asks, for one width of key.
 *
 * Parameters as in walks_impl.h. */

#include "family/walks_impl.h"

SX_DEV uint64_t F(get)(const sx_view *v, KEY q)
{
    uint64_t slot, rank = F(bound)(v, q, &slot);

    if (slot == SX_NO_SLOT || F(slot_key)(v, slot) != q)
        return SX_MISS;
    return sx_row_at(v, slot, rank);
}

SX_DEV uint64_t F(rank)(const sx_view *v, KEY q, sx_side side)
{
    uint64_t slot;

    return side == SX_RIGHT ? F(right_rank)(v, q) : F(bound)(v, q, &slot);
}

SX_DEV uint64_t F(range)(const sx_view *v, KEY lo, KEY hi, uint64_t *start)
{
    uint64_t slot, end;

    *start = F(bound)(v, lo, &slot);
    end = F(right_rank)(v, hi);
    return end > *start ? end - *start : 0;       /* lo > hi: none */
}

/* rank < n */
SX_DEV KEY F(key)(const sx_view *v, uint64_t rank)
{
    return F(slot_key)(v, sx_slot_of_rank(v, rank));
}
