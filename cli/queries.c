#include "queries.h"

#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "misses.h"
#include "progress.h"
#include "rng.h"
#include "say.h"

enum { PROGRESS_EVERY = 1 << 16 };

/* Draws a key with odds of about 1/rank: every length in bits of the rank is as
 * likely as the others, and so is every rank of one length. The shuffle spreads
 * the ranks over the keys. */
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
    bool any_misses = miss_below && n;
    misses m;

    if (keys->n == 0 && n > 0)
        fail("there are no keys to draw queries from");
    if (any_misses)
        m = misses_of(ref);
    progress_start("drawing queries", n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at;

        if (i % PROGRESS_EVERY == 0)
            progress_at(i);
        if (rng_next(&r) >> 11 < miss_below) {
            misses_draw(&m, &r, out + i * size);
            continue;
        }
        at = mix_wanted->zipf ? draw_zipf(keys->n, &spread, &r)
                              : rng_below(&r, keys->n);
        memcpy(out + i * size, (const char *)keys->data + at * size, size);
    }
    progress_stop();
    if (any_misses)
        misses_free(&m);
    return column_over(keys->type, n, out);
}
