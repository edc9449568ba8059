/* gpu_far_impl.h - behind F(bound_near) of a family. */

/* The walk where it is rare: a call, which leaves the registers to the rest. */
SX_DEV_FAR uint64_t F(bound_far)(const sx_view *v, KEY w, uint64_t *slot, uint32_t unit)
{
    return F(bound_near)(v, w, slot, unit, 0, 0);
}

SX_DEV uint64_t F(right_bound)(const sx_view *v, KEY q)
{
    uint64_t slot;

    return q == (KEY)~(KEY)0 ? v->n : F(bound_near)(v, (KEY)(q + 1), &slot, v->unit, 0, 0);
}
