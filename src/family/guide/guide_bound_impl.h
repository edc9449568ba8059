/* guide_bound_impl.h - a walk under a guide by one thread of a GPU, one width of key.
 * Behind gpu_near_impl.h. */
#define SX_RECORD_WINDOW(p, j, count) F(record_window)((p), (j), (count))

/* Four counts of a record, in bytes `first` to first + 3: adds up those before `byte`, and
 * finds the one in it. */
SX_DEV void F(record_part)(uint32_t counts, uint32_t first, uint32_t byte, uint32_t *before,
                           uint32_t *count)
{
    *before = SX_SUM_BYTES(counts & SX_LOW_BITS(byte > first ? 8 * (byte - first) : 0), *before);
    *count = byte / 4 == first / 4 ? counts >> 8 * (byte & 3) & 255u : *count;
}

/* sx_record_window() in 32 bits. Both halves are on their way before either is
 * needed. */
SX_DEV uint64_t F(record_window)(const unsigned char *p, uint32_t j, uint32_t *count)
{
    uint4 a = sx_load16(p), b = sx_load16(p + 16);
    uint32_t byte = SX_GUIDE_HEAD + j, before = 0, c = 0;

    F(record_part)(a.y & 0xffff0000u, 4, byte, &before, &c);     /* the rest is of begin */
    F(record_part)(a.z, 8, byte, &before, &c);
    F(record_part)(a.w, 12, byte, &before, &c);
    F(record_part)(b.x, 16, byte, &before, &c);
    F(record_part)(b.y, 20, byte, &before, &c);
    F(record_part)(b.z, 24, byte, &before, &c);
    F(record_part)(b.w, 28, byte, &before, &c);
    *count = c;
    return (a.x | (uint64_t)(a.y & 0xffff) << 32) + (c == SX_GUIDE_CROWDED ? 0 : before);
}

#include "family/guide/guide_walk_impl.h"

SX_DEV uint64_t F(guide_bound)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                               const unsigned char *top, uint64_t top_bytes)
{
    uint32_t fraction;
    uint64_t bucket = F(guide_cell)(v, q, &fraction), count;
    uint64_t start = F(guide_window)(v, bucket, &count);

    (void)top;                    /* nothing is staged: records are as near in L1 */
    (void)top_bytes;
    return F(array_slot)(v, F(guide_finish)(v, q, start, count,
                                            F(guide_guess)(v, q, start, count, fraction, unit),
                                            unit), slot);
}

#undef SX_RECORD_WINDOW
