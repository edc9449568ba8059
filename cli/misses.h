/* misses.h - values near keys that are no keys.
 *
 * They lie between two neighbouring keys, which the caller picks among those
 * with a value between them. They are mostly near one of the two keys: half of
 * them within the square root of the gap. If keys are so dense that no two
 * have a value between them, they are near the least key and below it, or near
 * the greatest and above it. They are never NaN or infinite. */
#ifndef CLI_MISSES_H
#define CLI_MISSES_H

#include <stdint.h>

#include "reference.h"
#include "rng.h"

typedef struct {
    const reference *ref;
    uint64_t ordered;             /* keys that are no NaNs; they come first */
    uint64_t gaps;
    uint64_t *gap;                /* each before the key of this rank */
} misses;

/* Fails if every value of the type is a key. */
misses misses_of(const reference *ref);
void misses_free(misses *m);

/* Writes one such value, of the keys' type, that lies in gap number 0..gaps-1. */
void misses_draw(const misses *m, uint64_t number, rng *r, void *out);

#endif
