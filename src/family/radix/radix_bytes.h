/* radix_bytes.h - how many bytes in a row are below another, in the common subset of C11 and
 * CUDA C++: without vectors, four at a time. */
#ifndef SX_RADIX_BYTES_H
#define SX_RADIX_BYTES_H

#include "family/family_id.h"

#ifdef __CUDA_ARCH__
#define SX_RADIX_POPC(x) ((uint32_t)__popc(x))
#else
#define SX_RADIX_POPC(x) ((uint32_t)__builtin_popcount(x))
#endif

/* Of the four bytes of x. The highest bit of each decides, unless it is the same in b. Then the
 * lower seven do: they are subtracted with the highest bit set, so that nothing is borrowed from
 * the next byte. */
SX_FN uint32_t sx_radix_below_4(uint32_t x, uint32_t b)
{
    uint32_t all = b * 0x01010101u, high = 0x80808080u;
    uint32_t rest = (x | high) - (all & ~high);

    return SX_RADIX_POPC(((~x & all) | (~(x ^ all) & ~rest)) & high);
}

#endif
