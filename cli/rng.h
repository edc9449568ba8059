/* rng.h - random numbers that depend on the seed alone: SplitMix64.
 *
 * It is small, and good enough for keys: a counter with an odd step, whose
 * values mix() scrambles. */
#ifndef CLI_RNG_H
#define CLI_RNG_H

#include <stdint.h>

typedef struct { uint64_t state; } rng;

static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* stream: another sequence from the same seed. */
static inline rng rng_of(uint64_t seed, uint64_t stream)
{
    return (rng){ mix(seed) ^ mix(~stream) };
}

static inline uint64_t rng_next(rng *r)
{
    return mix(r->state += 0x9e3779b97f4a7c15u);
}

/* From 0 to bound - 1, by the upper half of a product. For bounds below 2^40
 * the bias does not matter. */
static inline uint64_t rng_below(rng *r, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)rng_next(r) * bound) >> 64);
}

/* In (0, 1], so that its logarithm is finite. */
static inline double rng_unit(rng *r)
{
    return (double)((rng_next(r) >> 11) + 1) * 0x1p-53;
}

/* A random order of 0..n-1 that needs no memory: steps that are one-to-one
 * modulo 2^bits, repeated until the result is below n. */
typedef struct {
    uint64_t n, mask;
    unsigned shift;
    uint64_t factor[3], add[3];
} shuffle;

static inline shuffle shuffle_of(uint64_t n, rng *r)
{
    shuffle s = { .n = n };
    unsigned bits = 1;

    while (bits < 64 && (n - (n > 0)) >> bits)
        bits++;
    s.mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    s.shift = bits / 2 + 1;
    for (int i = 0; i < 3; i++) {
        s.factor[i] = rng_next(r) | 1;
        s.add[i] = rng_next(r);
    }
    return s;
}

static inline uint64_t shuffle_at(const shuffle *s, uint64_t i)
{
    do {
        for (int k = 0; k < 3; k++) {
            i = (i * s->factor[k] + s->add[k]) & s->mask;
            i ^= i >> s->shift;
        }
    } while (i >= s->n);
    return i;
}

#endif
