/* gpu_count_impl.h - the parameters of walks (array_walk_impl.h) on a GPU, for one width of
 * key: how one thread reads and counts keys.
 *
 * Parameters: W, F(name), KEY; a vendor header before it. Kernels include it, and so does
 * sextant_device.cuh, for kernels of the user's own. */

#define SX_WALK SX_DEV
#define SX_LOAD(p) (*(const KEY *)(const void *)(p))
#define SX_COUNT(p, m, q) F(count)((p), (m), (q))
#define SX_COUNT_UNIT(p, m, q) F(count_unit)((p), (m), (q))

SX_DEV unsigned F(count)(const unsigned char *p, uint32_t m, KEY q)
{
    unsigned below = 0;

    for (uint32_t i = 0; i < m; i++)
        below += SX_LOAD(p + i * W) < q;
    return below;
}

/* The keys in 16 bytes that are below q. */
SX_DEV unsigned F(count_16)(uint4 x, KEY q)
{
#if W == 4
    return (unsigned)((x.x < q) + (x.y < q) + (x.z < q) + (x.w < q));
#elif W == 8
    return (unsigned)(((uint64_t)x.x | (uint64_t)x.y << 32) < q) +
           (unsigned)(((uint64_t)x.z | (uint64_t)x.w << 32) < q);
#else
    return (unsigned)(((KEY)((uint64_t)x.z | (uint64_t)x.w << 32) << 64 |
                       ((uint64_t)x.x | (uint64_t)x.y << 32)) < q);
#endif
}

/* m keys are 16, 32 or 64 bytes (a unit, see sx_view). All loads are on their way before
 * the first is needed. */
SX_DEV unsigned F(count_unit)(const unsigned char *p, uint32_t m, KEY q)
{
    uint4 a = sx_load16(p), b, c, d;
    unsigned below;

    if (m * W == 16)
        return F(count_16)(a, q);
    b = sx_load16(p + 16);
    if (m * W == 32)
        return F(count_16)(a, q) + F(count_16)(b, q);
    c = sx_load16(p + 32);
    d = sx_load16(p + 48);
    below = F(count_16)(a, q) + F(count_16)(b, q);
    return below + F(count_16)(c, q) + F(count_16)(d, q);
}

SX_DEV KEY F(slot_key)(const sx_view *v, uint64_t slot)
{
    return SX_LOAD(v->keys + sx_key_offset(v, slot));
}
