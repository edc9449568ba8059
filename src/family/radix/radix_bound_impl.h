/* radix_bound_impl.h - a walk in a radix tree by one thread of a GPU, one width of key. Behind
 * gpu_near_impl.h. */
#define SX_BYTES_BELOW(p, b) F(bytes_below)((p), (b))
#define SX_BYTES_BELOW_4(p, b) sx_radix_below_4(*(const uint32_t *)(const void *)(p), (b))

SX_DEV uint32_t F(bytes_below)(const unsigned char *p, uint32_t b)
{
    uint4 x = sx_load16_any(p);

    return sx_radix_below_4(x.x, b) + sx_radix_below_4(x.y, b) + sx_radix_below_4(x.z, b) +
           sx_radix_below_4(x.w, b);
}

#include "family/radix/radix_walk_impl.h"

/* The bound in a window of `count` keys from `start` on. It is halved until it is no longer than
 * a line; then its keys are counted, 16 bytes at a time: most windows are one or two of these,
 * and a unit of the array would be more. */
SX_DEV uint64_t F(radix_finish)(const sx_view *v, uint64_t start, uint64_t count, KEY q,
                                uint32_t unit)
{
    uint32_t per = unit > 1 ? 16 / W : 1;
    uint64_t end, rank;

    if (count == 0)
        return start;
    while (count > 64 / W) {
        uint64_t half = count / 2;
        start += sx_pick(F(slot_key)(v, start + half - 1) < q, half, 0);
        count -= half;
    }
    end = start + count;
    start -= start % per;
    rank = start;
    for (; start < end; start += per) {
        const unsigned char *p = v->keys + sx_key_offset(v, start);
        rank += unit > 1 ? F(count_16)(sx_load16(p), q) : SX_LOAD(p) < q;
    }
    return sx_min64(rank, v->n);
}

SX_DEV uint64_t F(radix_bound)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                               const unsigned char *top, uint64_t top_bytes)
{
    uint64_t count, start = F(radix_ended)(v, F(radix_walk)(v, q), &count);

    (void)top;                    /* nothing is staged: the first nodes are as near in L1 */
    (void)top_bytes;
    return F(array_slot)(v, F(radix_finish)(v, start, count, q, unit), slot);
}

#undef SX_BYTES_BELOW_4
#undef SX_BYTES_BELOW
