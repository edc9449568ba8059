#include "queries.h"

#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "misses.h"
#include "progress.h"
#include "rng.h"
#include "say.h"

enum { PROGRESS_EVERY = 1 << 16 };

bool needs_order(const query_mix *wanted)
{
    return wanted->misses > 0 || skew_by_rank(wanted->skew);
}

sx_column draw_queries(const sx_column *keys, const reference *ref,
                       uint64_t n, const query_mix *wanted)
{
    size_t size = sx_type_bytes(keys->type);
    bool by_rank = skew_by_rank(wanted->skew);
    const char *from = by_rank ? ref->keys : keys->data;
    rng r = rng_of(wanted->seed, 1000);
    skew of_keys = skew_over(wanted->skew, keys->n, &r), of_gaps = of_keys;
    uint64_t miss_below = (uint64_t)(wanted->misses * 0x1p53);
    unsigned char *out = must_alloc(n, size);
    bool any_misses = miss_below && n;
    misses m;

    if (keys->n == 0 && n > 0)
        fail("there are no keys to draw queries from");
    if (any_misses) {
        m = misses_of(ref);
        of_gaps.kind = by_rank ? wanted->skew : SKEW_UNIFORM;
        of_gaps.n = m.gaps;
    }
    progress_start("drawing queries", n);
    for (uint64_t i = 0; i < n; i++) {
        if (i % PROGRESS_EVERY == 0)
            progress_at(i);
        if (rng_next(&r) >> 11 < miss_below)
            misses_draw(&m, skew_draw(&of_gaps, &r), &r, out + i * size);
        else
            memcpy(out + i * size, from + skew_draw(&of_keys, &r) * size,
                   size);
    }
    progress_stop();
    if (any_misses)
        misses_free(&m);
    return column_over(keys->type, n, out);
}
