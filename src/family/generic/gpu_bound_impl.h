/* gpu_bound_impl.h - bounds by one thread, for one width and one family whose keys have
 * successors: behind its
 *
 *   F(bound_near)(v, w, &slot, unit, top, top_bytes)   the position of the left bound, and its
 *                                                      slot */
#include "family/generic/gpu_side_impl.h"

/* The position of q's bound on that side, and its slot. */
SX_DEV uint64_t F(bound)(const sx_view *v, KEY q, sx_side side, uint64_t *slot, uint32_t unit,
                         const unsigned char *top, uint64_t top_bytes)
{
    int end;
    KEY w = F(walked)(q, side, &end);

    return F(bounded_slot)(v, end, F(bound_near)(v, w, slot, unit, top, top_bytes), slot);
}

/* The position alone, for a side that is a constant: with a branch around the walk it takes
 * fewer registers. */
SX_DEV uint64_t F(position)(const sx_view *v, KEY q, sx_side side)
{
    uint64_t slot;

    return F(is_end)(q, side) ? v->n : F(bound_near)(v, F(behind)(q, side), &slot, v->unit, 0, 0);
}

/* The walk to a position if it is rare: a call, which leaves the registers to the rest. */
SX_DEV_FAR uint64_t F(left_far)(const sx_view *v, KEY w, uint32_t unit)
{
    uint64_t slot;

    return F(bound_near)(v, w, &slot, unit, 0, 0);
}

SX_DEV uint64_t F(bound_far)(const sx_view *v, KEY q, sx_side side, uint32_t unit)
{
    int end;
    KEY w = F(walked)(q, side, &end);

    return F(bounded)(v, end, F(left_far)(v, w, unit));
}
