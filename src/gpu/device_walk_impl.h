/* device_walk_impl.h - the questions of sextant_device.cuh, for one width of key.
 *
 * Parameters as in walks_impl.h. */

#include "family/walks_impl.h"

SX_DEV uint64_t F(get)(const sx_view *v, KEY q)
{
    uint64_t slot, position = F(bound)(v, q, SX_LEFT, &slot);

    if (slot == SX_NO_SLOT || F(slot_key)(v, slot) != q)
        return SX_MISS;
    return sx_row_of(v, slot, position, 0);
}

SX_DEV uint64_t F(rank)(const sx_view *v, KEY q, sx_side side)
{
    uint64_t slot;

    return sx_rank_at(v, F(bound)(v, q, side, &slot));
}

SX_DEV uint64_t F(range)(const sx_view *v, KEY lo, KEY hi, uint64_t *start)
{
    uint64_t slot, end;

    *start = sx_rank_at(v, F(bound)(v, lo, SX_LEFT, &slot));
    end = sx_rank_at(v, F(bound)(v, hi, SX_RIGHT, &slot));
    return end > *start ? end - *start : 0;       /* lo > hi: none */
}

/* Keys that begin with the first bits of this one; more bits than it has are all of it. */
SX_DEV uint64_t F(prefix)(const sx_view *v, KEY key, uint32_t bits, uint64_t *start)
{
    uint64_t end;

    *start = sx_rank_at(v, F(prefix_bounds)(v, key, bits, &end));
    end = sx_rank_at(v, end);
    return end > *start ? end - *start : 0;
}

/* rank is below v->ranks. */
SX_DEV KEY F(key)(const sx_view *v, uint64_t rank)
{
    return F(slot_key)(v, sx_slot_of_rank(v, sx_position_of(v, rank)));
}
