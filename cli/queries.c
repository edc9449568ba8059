#include "queries.h"

#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "progress.h"
#include "rng.h"
#include "say.h"
#include "value.h"

enum {
    MISS_TRIES = 10000,           /* before believing there are no misses */
    PROGRESS_EVERY = 1 << 16
};

/* Bit number b of a key, counted from its least significant one: byte 0 is
 * the last byte of a 16-byte key, else as the machine has it. */
static void flip_bit(unsigned char *key, size_t size, unsigned b)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    size_t byte = size - 1 - b / 8;
#else
    size_t byte = size == 16 ? size - 1 - b / 8 : b / 8;
#endif

    key[byte] ^= (unsigned char)(1u << (b % 8));
}

/* Scrambles the lower bits of a key, sometimes few, sometimes all but the
 * sign: something near a key, yet (mostly) none. */
static void disturb(unsigned char *key, size_t size, rng *r)
{
    unsigned bits = 1 + (unsigned)rng_below(r, size * 8 - 1);
    uint64_t flips = 0;

    for (unsigned b = 0; b < bits; b++) {
        if (b % 64 == 0)
            flips = rng_next(r);
        if (flips & 1)
            flip_bit(key, size, b);
        flips >>= 1;
    }
}

static void draw_miss(const sx_column *keys, const reference *ref, rng *r,
                      unsigned char *out)
{
    size_t size = sx_type_bytes(keys->type);

    for (int i = 0; i < MISS_TRIES; i++) {
        memcpy(out, (const char *)keys->data +
                        rng_below(r, keys->n) * size, size);
        disturb(out, size, r);
        if (!value_is_not_finite(keys->type, out) && !reference_has(ref, out))
            return;
    }
    fail("no value was found that is not a key, so there are no misses to "
         "ask for");
}

/* A key asked for with odds of about 1/rank: every length in bits of the
 * rank is as likely as the others, and so is every rank of one length. The
 * shuffle spreads the ranks over the keys. */
static uint64_t draw_zipf(uint64_t n, const shuffle *spread, rng *r)
{
    unsigned bits = 1;
    uint64_t rank;

    while (bits < 64 && n >> bits)
        bits++;
    do {
        unsigned length = (unsigned)rng_below(r, bits) + 1;

        rank = (1ull << (length - 1)) +
               (length > 1 ? rng_next(r) >> (65 - length) : 0);
    } while (rank > n);
    return shuffle_at(spread, rank - 1);
}

sx_column draw_queries(const sx_column *keys, const reference *ref,
                       uint64_t n, const query_mix *mix_wanted)
{
    size_t size = sx_type_bytes(keys->type);
    rng r = rng_of(mix_wanted->seed, 1000);
    shuffle spread = shuffle_of(keys->n, &r);
    uint64_t miss_below = (uint64_t)(mix_wanted->misses * 0x1p53);
    unsigned char *out = must_alloc(n, size);

    if (keys->n == 0 && n > 0)
        fail("there are no keys to draw queries from");
    progress_start("drawing queries", n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at;

        if (i % PROGRESS_EVERY == 0)
            progress_at(i);
        if (rng_next(&r) >> 11 < miss_below) {
            draw_miss(keys, ref, &r, out + i * size);
            continue;
        }
        at = mix_wanted->zipf ? draw_zipf(keys->n, &spread, &r)
                              : rng_below(&r, keys->n);
        memcpy(out + i * size, (const char *)keys->data + at * size, size);
    }
    progress_stop();
    return column_over(keys->type, n, out);
}
