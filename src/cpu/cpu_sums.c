/* cpu_sums.c - counts of ranges become offsets, by all threads.
 *
 *     counts   | 2 0 1 | 4 1 0 | 3 3 |     parts, one after the other or at once
 *     sums     |   3   |   5   |  6  |     of each; then what is before each: 0, 3, 8
 *     offsets  | 0 2 2 | 3 7 8 | 8 11 | 14 */
#include "cpu/cpu_backend.h"

#include "place/ranges.h"

#define PARTS 64u
#define FEW (1u << 15)            /* one thread is done with fewer before others are awake */

typedef struct {
    uint64_t *first, n;
    uint64_t sum[PARTS];
} summing;

static uint64_t part_begin(const summing *w, unsigned part)
{
    return part == PARTS ? w->n : w->n / PARTS * part;
}

static void sum_part(void *work, unsigned part)
{
    summing *w = work;
    uint64_t sum = 0;

    for (uint64_t i = part_begin(w, part); i < part_begin(w, part + 1); i++)
        sum += w->first[i];
    w->sum[part] = sum;
}

static void place_part(void *work, unsigned part)
{
    const summing *w = work;
    uint64_t at = w->sum[part];

    for (uint64_t i = part_begin(w, part); i < part_begin(w, part + 1); i++) {
        uint64_t count = w->first[i];
        w->first[i] = at;
        at += count;
    }
}

sx_status sx_cpu_sum_up(void *self, void *stream, const sx_spans *spans, void *scratch,
                        uint64_t *bytes, uint64_t *total, sx_err *err)
{
    const sx_cpu *cpu = self;
    summing w = {.first = spans->first, .n = spans->n};
    uint64_t at = 0;

    (void)stream;
    (void)scratch;
    (void)bytes;
    (void)err;
    if (w.n < FEW) {
        *total = sx_ranges_sum_up(w.first, w.n);
        return SX_OK;
    }
    sx_pool_run(cpu->pool, spans->threads, PARTS, sum_part, &w);
    for (unsigned part = 0; part < PARTS; part++) {
        uint64_t sum = w.sum[part];
        w.sum[part] = at;
        at += sum;
    }
    sx_pool_run(cpu->pool, spans->threads, PARTS, place_part, &w);
    w.first[w.n] = *total = at;
    return SX_OK;
}
