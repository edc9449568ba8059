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

/* The address `bytes` behind p, to be prefetched and never read. It may be past the section's
 * end, so no pointer is computed. */
SX_INLINE const void *sx_ahead(const void *p, uint64_t bytes)
{
    return (const void *)((uintptr_t)p + bytes);
}

#endif
