/* past.h - writes past the caches: of much memory that nobody reads soon. Its lines need not be read
 * before they are written, and push nothing out that somebody does read. */
#ifndef SX_PAST_H
#define SX_PAST_H

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define SX_PAST_LINE 64u

/* Whether a batch writes so many bytes that they go past. Fewer may still be in a cache when somebody
 * wants them. */
static inline int sx_goes_past(uint64_t bytes)
{
    return bytes > 16u << 20;
}

/* Whole lines go past. What is before and behind them does not, as others write the rest of its line.
 * Others see it after sx_past_end(). */
static inline void sx_copy_past(void *to, const void *from, uint64_t bytes)
{
#ifdef __SSE2__
    unsigned char *t = to;
    const unsigned char *f = from;
    uint64_t head = (uint64_t)(-(uintptr_t)t & (SX_PAST_LINE - 1));

    head = head < bytes ? head : bytes;
    memcpy(t, f, head);
    for (t += head, f += head, bytes -= head; bytes >= SX_PAST_LINE; bytes -= SX_PAST_LINE)
        for (unsigned i = 0; i < SX_PAST_LINE / 16; i++, t += 16, f += 16)
            _mm_stream_si128((__m128i *)(void *)t, _mm_loadu_si128((const __m128i *)(const void *)f));
    memcpy(t, f, bytes);
#else
    memcpy(to, from, bytes);
#endif
}

/* At the end of each share of work that may have written so. */
static inline void sx_past_end(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#endif
