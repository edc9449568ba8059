/* sorted_bound_impl.h - a search in a sorted array by one thread of a GPU, one width of
 * key. Behind gpu_near_impl.h. */

SX_DEV uint64_t F(sorted_bound)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                                const unsigned char *top, uint64_t top_bytes)
{
    uint64_t at = F(halvings)(v, 0, F(array_units)(v, unit), q, unit, top, top_bytes);

    return F(array_slot)(v, F(array_finish)(v, at, q, unit), slot);
}
