/* gpu_halving_impl.h - the first steps of a search in a sorted array, near. Behind
 * gpu_near_impl.h. */

/* The key that a plain array's search compares with in `len` units after `path` (a 1,
 * then a bit per step so far); 0 where the search is over before. */
SX_DEV KEY F(top_key)(const sx_view *v, uint32_t unit, uint64_t len, uint64_t path)
{
    uint64_t at = 0;
    const unsigned char *p;
    uint32_t steps = 0;

    while (path >> (steps + 1))
        steps++;
    while (steps-- > 0 && len > 1) {
        at += (path >> steps & 1) * (len / 2);
        len -= len / 2;
    }
    if (len <= 1)
        return 0;
    p = F(array_unit)(v, at + len / 2 - 1, unit) + (unit - 1) * W;
    return *(const KEY *)(const void *)p;
}

/* Those of a whole block, into shared memory: every thread takes part. */
SX_DEV void F(fill_halvings)(const sx_gpu_lookup *ap, uint64_t len)
{
    KEY *top = (KEY *)(void *)SX_SHARED;

    for (uint32_t i = SX_TID; i < ap->top_bytes / W; i += SX_BLOCK_THREADS)
        top[i] = i > 0 ? F(top_key)(SX_GPU_VIEW(&ap->views), ap->unit, len, i) : 0;
    SX_BARRIER();
}

/* A section's beginning, into shared memory. */
SX_DEV void F(fill_copy)(const sx_gpu_lookup *ap, const unsigned char *section)
{
    KEY *top = (KEY *)(void *)SX_SHARED;

    for (uint32_t i = SX_TID; i < ap->top_bytes / W; i += SX_BLOCK_THREADS)
        top[i] = ((const KEY *)(const void *)section)[i];
    SX_BARRIER();
}
