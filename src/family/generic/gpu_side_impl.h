/* gpu_side_impl.h - the side of a bound, for one width of key.
 *
 * Keys of a fixed width have successors. So their walks need not know a side: the right bound
 * of a key is the left bound of its successor, and that of the largest key, which has none, is
 * the end. This is the one place on a GPU that says so. A family whose keys have no successors
 * compares by the side, and has an F(bound) of its own.
 *
 *     w = F(walked)(q, side, &end);              what the walk is for,
 *     position = ... the left bound of w, and its slot ...
 *     position = F(bounded)(v, end, position);   where the bound is */

SX_DEV int F(is_end)(KEY q, sx_side side)
{
    return side == SX_RIGHT && q == (KEY)~(KEY)0;
}

/* For a bound that is not the end. */
SX_DEV KEY F(behind)(KEY q, sx_side side)
{
    return (KEY)(q + (side == SX_RIGHT));
}

SX_DEV KEY F(walked)(KEY q, sx_side side, int *end)
{
    *end = F(is_end)(q, side);
    return (KEY)(q + (side == SX_RIGHT && !*end));
}

SX_DEV uint64_t F(bounded)(const sx_view *v, int end, uint64_t position)
{
    return end ? v->n : position;
}

/* The same with the slot, of which the end has none. */
SX_DEV uint64_t F(bounded_slot)(const sx_view *v, int end, uint64_t position, uint64_t *slot)
{
    *slot = end ? SX_NO_SLOT : *slot;
    return F(bounded)(v, end, position);
}
