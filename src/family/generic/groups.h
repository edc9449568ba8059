/* groups.h - how walks are driven on a CPU.
 *
 * A walk alone waits for memory most of the time. So up to GROUP walks go down level by level
 * together. Each step prefetches the line that its walk needs next, and that line travels
 * while the other walks step. */
#ifndef SX_GROUPS_H
#define SX_GROUPS_H

#include "family/family_cpu.h"
#include "family/generic/simd.h"

/* Walks that go down together. Measured on Zen 4 at 2^24 and 2^26 keys: 32 hides memory; 64
 * gives no more, 16 a third less. At most FEW walks have no others to wait with, so each of
 * their steps prefetches the lines of both outcomes. */
#define GROUP 32u
#define FEW 4u

/* Prefetches the line at p into the second cache. That keeps more lines on their way than the
 * first one, and while a group steps, its lines would push each other out of the first: at 2^25
 * keys walks take 0.6 to 0.9 of the time so on Zen 4; where the caches hold the index, the same. */
#define SX_ASK(p) __builtin_prefetch((p), 0, 2)

/* The address `bytes` behind p, to be prefetched and never read. It may be past the section's
 * end, so no pointer is computed. */
SX_INLINE const void *sx_ahead(const void *p, uint64_t bytes)
{
    return (const void *)((uintptr_t)p + bytes);
}

/* The same for the line `bytes` behind p, for a walk whose turn is some hundred walks away. On Zen 4
 * a thread got a random line every 4.7 ns so, and every 9.0 ns into the first cache. */
SX_INLINE void sx_ask_line(const void *p, uint64_t bytes)
{
    SX_ASK(sx_ahead(p, bytes));
}

/* The same for the keys of a window of slots, if these are in a few lines, or else for its middle,
 * where a search begins. rows: for rows of the window, too, unless it has more than a line of
 * keys. */
#define SX_ASK_LINES 4u
SX_INLINE void sx_ask_window(const sx_view *v, uint64_t slot, uint64_t count, int rows)
{
    uint64_t first = sx_key_offset(v, slot), last = sx_key_offset(v, slot + count - 1);

    if (last - first >= SX_ASK_LINES * 64u) {
        sx_ask_line(v->keys, sx_key_offset(v, slot + count / 2));
        return;
    }
    for (uint64_t i = 0; i <= (first % 64 + last - first) / 64; i++)      /* for any `slot` */
        sx_ask_line(v->keys, first + i * 64);
    if (rows && v->row_bytes && last - first < 64)
        sx_ask_line(v->rows, sx_row_offset(v, slot + count / 2));
}

#endif
