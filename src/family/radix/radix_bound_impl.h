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

/* Both ends of a prefix, as windows. */
SX_DEV void F(radix_prefix_walk)(const sx_view *v, KEY q, uint32_t bits, uint64_t *lo, uint64_t *hi)
{
    uint64_t state = v->of.radix.root;
    uint32_t l = 0;

    for (; l < v->of.radix.levels && !(state & SX_RADIX_DONE) && F(radix_goes_on)(state, bits); l++)
        state = F(radix_step)(v, state, q);
    *lo = *hi = state;
    if (l < v->of.radix.levels && !(state & SX_RADIX_DONE))
        F(radix_ends)(v, state, q, bits, lo, hi);
    *lo = F(radix_end_window)(v, *lo);
    *hi = F(radix_end_window)(v, *hi);
}

/* The positions of the first key that begins with the first bits of q, and behind the last. The view
 * has keys. */
SX_DEV uint64_t F(radix_prefix)(const sx_view *v, KEY q, uint32_t bits, uint64_t *behind)
{
    KEY rest = F(prefix_rest)(bits), last = (KEY)(q | rest);
    uint64_t lo, hi, count, start;

    q = (KEY)(q & (KEY)~rest);
    F(radix_prefix_walk)(v, q, bits < 8 * W ? bits : 8 * W, &lo, &hi);
    start = F(radix_ended)(v, hi, &count);
    *behind = last == (KEY)~(KEY)0 ? start + count
                                   : F(radix_finish)(v, start, count, (KEY)(last + 1), v->unit);
    start = F(radix_ended)(v, lo, &count);
    return F(radix_finish)(v, start, count, q, v->unit);
}

#undef SX_BYTES_BELOW_4
#undef SX_BYTES_BELOW
