/* gpu_fill.h - outputs of ranges, and which ranks they are, for kernels of any width. Include a vendor
 * header before it.
 *
 *     span     |    0    |  1  |             2             |  3  | ...
 *     output    0 1 2 3 4 5 6 7 8 ...                              first[0] = 0, first[3] = 22, ...
 *
 * Output o of span i is the key of rank start[i] + (o - first[i]). A warp takes a tile of neighbouring
 * outputs at a time. All its lanes look for the span of the tile's first output together. From there on
 * the next spans are near. Spans are memory of the caller, who may change them meanwhile. So each rank is
 * compared with how many there are, and lanes decide by what all of them see wherever they must
 * meet again. */
#ifndef SX_GPU_FILL_H
#define SX_GPU_FILL_H

#include "family/generic/gpu_numbers.h"

/* The span that output o belongs to: the last whose first is at or before o. The lanes look in 32 places
 * at a time. */
SX_DEV uint64_t sx_span_of(const uint64_t *first, uint64_t n, uint64_t o)
{
    uint64_t i = 0, len = n;      /* it is in [i, i + len) */

    while (len > 1) {
        uint64_t step = (len + 31) / 32, at = SX_LANE * step;
        int before = SX_LANE == 0 || (at < len && first[i + at] <= o);
        uint64_t skipped = (SX_POPC(SX_BALLOT(before)) - 1) * step;
        i += skipped;
        len = len - skipped < step ? len - skipped : step;
    }
    return i;
}

/* The same for one lane, of a span that is at or behind i, most often near it. */
SX_DEV uint64_t sx_span_from(const uint64_t *first, uint64_t n, uint64_t i, uint64_t o)
{
    uint64_t step = 1, end;       /* first[end] > o, or end is n */

    for (; n - i > step && first[i + step] <= o; step *= 2)
        i += step;
    end = n - i > step ? i + step : n;
    while (end - i > 1) {
        uint64_t mid = i + (end - i) / 2;
        if (first[mid] <= o)
            i = mid;
        else
            end = mid;
    }
    return i;
}

/* Where outputs end. All lanes of a warp get the same number. None if there is no space for all (k_space
 * says so). */
SX_DEV uint64_t sx_fill_end(const sx_gpu_fill *ap)
{
    uint64_t end = ap->to;

    if (end == UINT64_MAX) {
        end = ap->first[ap->n];
        end = SX_SHUFFLE(end, 0);
        end = end > ap->space ? 0 : end;
    }
    return end;
}

/* Where a tile that begins with output o ends. */
SX_DEV uint64_t sx_fill_stop(uint64_t o, uint64_t end)
{
    return end - o < SX_FILL_TILE ? end : o + SX_FILL_TILE;
}

/* ---- steps: SX_FILL_EACH outputs of each lane --------------------------------------------------- */

#define SX_FILL_STEP (32 * SX_FILL_EACH)

/* Where a warp is: in span i; where the next begins; what is to be added to an output of it to have its
 * rank. */
typedef struct {
    uint64_t i, next, add;
} sx_fill_span;

SX_DEV sx_fill_span sx_fill_at(const sx_gpu_fill *ap, uint64_t i)
{
    sx_fill_span at;

    at.i = i;
    at.next = ap->first[i + 1];
    at.add = ap->start[i] - ap->first[i];
    return at;
}

/* What is to be added to each output of a step in which spans behind *s begin. *s becomes the last of
 * them. Lane l reads span l + 1 behind *s, and all lanes go through those that begin here. If there are
 * more than lanes know of, each output looks for its own. left: outputs of the step. */
SX_DEV void sx_fill_adds(const sx_gpu_fill *ap, uint64_t step, uint32_t left, sx_fill_span *s,
                         uint64_t add[SX_FILL_EACH])
{
    uint64_t its = s->i + 1 + SX_LANE, first = its <= ap->n ? ap->first[its] : UINT64_MAX;
    uint64_t its_add = its < ap->n ? ap->start[its] - first : 0, i = s->i;
    unsigned begin = SX_POPC(SX_BALLOT(first - step < SX_FILL_STEP));

    if (begin == 32) {
        SX_UNROLL
        for (unsigned t = 0; t < SX_FILL_EACH; t++) {
            if (SX_LANE + 32 * t < left)
                i = sx_span_from(ap->first, ap->n, i, step + SX_LANE + 32 * t);
            add[t] = ap->start[i] - ap->first[i];
        }
        *s = sx_fill_at(ap, SX_SHUFFLE(i, 31));
        return;
    }
    for (unsigned j = 0; j < begin; j++) {
        uint32_t from = (uint32_t)(SX_SHUFFLE(first, j) - step);
        s->add = SX_SHUFFLE(its_add, j);
        SX_UNROLL
        for (unsigned t = 0; t < SX_FILL_EACH; t++)
            if (SX_LANE + 32 * t >= from)
                add[t] = s->add;
    }
    s->i = sx_min64(i + begin, ap->n - 1);        /* n: behind the last output */
    s->next = SX_SHUFFLE(first, begin);
}

/* The ranks of a lane's outputs step + SX_LANE + 32 t, SX_MISS from `stop` on. The step begins in span *s,
 * or where that ends. *s becomes the span in which it ends: most often the same, if spans are long. */
SX_DEV void sx_fill_ranks(const sx_gpu_fill *ap, uint64_t step, uint64_t stop, sx_fill_span *s,
                          uint64_t rank[SX_FILL_EACH])
{
    uint32_t left = (uint32_t)sx_min64(stop - step, SX_FILL_STEP);

    SX_UNROLL
    for (unsigned t = 0; t < SX_FILL_EACH; t++)
        rank[t] = s->add;
    if (SX_ANY(s->next - step < SX_FILL_STEP))
        sx_fill_adds(ap, step, left, s, rank);
    SX_UNROLL
    for (unsigned t = 0; t < SX_FILL_EACH; t++)
        rank[t] = SX_LANE + 32 * t < left ? rank[t] + step + SX_LANE + 32 * t : SX_MISS;
}

/* Writes the rows of these ranks, which lie in order of rank in one array, to outputs to + 32 t. All
 * loads come first, with no branch between them, so that all are on their way at once. */
SX_DEV void sx_put_rows(const sx_gpu_fill *ap, const sx_view *v, const uint64_t rank[SX_FILL_EACH],
                        uint64_t to)
{
    uint64_t row[SX_FILL_EACH];

    SX_UNROLL
    for (unsigned t = 0; t < SX_FILL_EACH; t++)
        row[t] = rank[t] < v->ranks ? rank[t] : 0;
    if (v->row_bytes == 4) {
        SX_UNROLL
        for (unsigned t = 0; t < SX_FILL_EACH; t++)
            row[t] = ((const uint32_t *)(const void *)v->rows)[row[t]];
    } else if (v->row_bytes == 8) {
        SX_UNROLL
        for (unsigned t = 0; t < SX_FILL_EACH; t++)
            row[t] = ((const uint64_t *)(const void *)v->rows)[row[t]];
    }
    if (ap->row_bytes == 4) {
        SX_UNROLL
        for (unsigned t = 0; t < SX_FILL_EACH; t++)
            if (rank[t] < v->ranks)
                SX_STREAM_STORE((uint32_t *)ap->rows + to + 32 * t, (uint32_t)row[t]);
    } else {
        SX_UNROLL
        for (unsigned t = 0; t < SX_FILL_EACH; t++)
            if (rank[t] < v->ranks)
                SX_STREAM_STORE((uint64_t *)ap->rows + to + 32 * t, row[t]);
    }
}

#endif
