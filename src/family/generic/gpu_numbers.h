/* gpu_numbers.h - columns of numbers, and folds of rows, for kernels of any width. Include a
 * vendor header before it. */
#ifndef SX_GPU_NUMBERS_H
#define SX_GPU_NUMBERS_H

#include "family/slots.h"
#include "gpu/gpu_args.h"

SX_DEV uint64_t sx_number_at(const void *column, uint32_t bytes, uint64_t i)
{
    return bytes == 8 ? ((const uint64_t *)column)[i] : ((const uint32_t *)column)[i];
}

SX_DEV void sx_put_number(void *column, uint32_t bytes, uint64_t i, uint64_t x)
{
    if (bytes == 8)
        ((uint64_t *)column)[i] = x;
    else
        ((uint32_t *)column)[i] = (uint32_t)x;
}

/* The same for results that nobody reads soon. */
SX_DEV void sx_put_result(void *column, uint32_t bytes, uint64_t i, uint64_t x)
{
    if (bytes == 8)
        SX_STREAM_STORE((uint64_t *)column + i, x);
    else
        SX_STREAM_STORE((uint32_t *)column + i, (uint32_t)x);
}

/* ---- folds of rows, whatever the width of keys ------------------------------------- */

typedef struct {
    uint64_t min, max, sum;
} sx_gpu_fold_state;

SX_DEV sx_gpu_fold_state sx_fold_begin(void)
{
    sx_gpu_fold_state f;

    f.min = SX_MISS;
    f.max = f.sum = 0;
    return f;
}

SX_DEV void sx_fold_row(sx_gpu_fold_state *f, uint64_t row, int extremes)
{
    f->sum += row;
    if (extremes) {
        f->min = row < f->min ? row : f->min;
        f->max = row > f->max ? row : f->max;
    }
}

/* Four rows that lie side by side. */
SX_DEV void sx_fold_four(sx_gpu_fold_state *f, uint4 x, int extremes)
{
    f->sum += (uint64_t)x.x + x.y + ((uint64_t)x.z + x.w);
    if (extremes) {
        uint32_t a = x.x < x.y ? x.x : x.y, b = x.z < x.w ? x.z : x.w;
        uint32_t c = x.x < x.y ? x.y : x.x, d = x.z < x.w ? x.w : x.z;
        a = a < b ? a : b;
        c = c < d ? d : c;
        f->min = a < f->min ? a : f->min;
        f->max = c > f->max ? c : f->max;
    }
}

/* Lane `me` of `lanes` folds its part of a stretch. Rows of 4 bytes that lie side by side are
 * read four at a time, and SX_FOLD_AHEAD times before the first of them is needed: how fast a
 * long range is depends on how many reads are under way. */
#define SX_FOLD_AHEAD 4u
SX_DEV void sx_fold_stretch(const sx_view *v, sx_gpu_fold_state *f, const sx_stretch *r, unsigned me,
                        unsigned lanes, int extremes)
{
    uint64_t slot = r->slot, end = slot + r->n, head = (slot + 3) & ~3ull;

    if (v->row_bytes == 4 && (!v->block || v->block % 4 == 0) && head + 4 <= end &&
        (uintptr_t)v->rows % 16 == 0 && v->block_bytes % 16 == 0) {
        uint64_t body = (end - head) & ~3ull, j = 4 * me, step = 4 * lanes;
        for (uint64_t s = slot + me; s < head; s += lanes)
            sx_fold_row(f, sx_row_in(v, s), extremes);
        for (; j + (SX_FOLD_AHEAD - 1) * step < body; j += SX_FOLD_AHEAD * step) {
            uint4 x[SX_FOLD_AHEAD];
            SX_UNROLL
            for (unsigned t = 0; t < SX_FOLD_AHEAD; t++)
                x[t] = sx_load16(v->rows + sx_row_offset(v, head + j + t * step));
            SX_UNROLL
            for (unsigned t = 0; t < SX_FOLD_AHEAD; t++)
                sx_fold_four(f, x[t], extremes);
        }
        for (; j < body; j += step)
            sx_fold_four(f, sx_load16(v->rows + sx_row_offset(v, head + j)), extremes);
        slot = head + body;
    }
    for (uint64_t s = slot + me; s < end; s += lanes)
        sx_fold_row(f, sx_row_in(v, s), extremes);
}

SX_DEV void sx_fold_span(const sx_view *v, sx_gpu_fold_state *f, uint64_t start, uint64_t count,
                         unsigned me, unsigned lanes, int extremes)
{
    if (v->row_bytes == 0) {      /* rows are the ranks: nothing is read, one lane knows all */
        if (me == 0 && count > 0) {
            uint64_t last = start + count - 1;
            f->min = start;
            f->max = last;
            /* the sum start..last, halving whichever factor is even */
            f->sum = count % 2 ? count * ((start + last) / 2) : count / 2 * (start + last);
        }
        return;
    }
    if (count == 0)
        return;
    uint64_t leaves = sx_slots_gaps(v) && !v->starts ? sx_stretch_count(v, start, start + count) : 0;
    if (leaves * 8 > count) {     /* small ones: each lane has leaves of its own */
        for (uint64_t i = me; i < leaves; i += lanes) {
            sx_stretch r = sx_stretch_of(v, i, start, start + count);
            sx_fold_stretch(v, f, &r, 0, 1, extremes);
        }
        return;
    }
    for (uint32_t i = 0; i < (uint32_t)sx_row_stretch_count(v, start, start + count); i++) {
        sx_stretch r = sx_row_stretch_of(v, i, start, start + count);
        sx_fold_stretch(v, f, &r, me, lanes, extremes);
    }
}

/* The folds of a group of lanes become one, which each lane of it gets. */
SX_DEV void sx_fold_lanes(sx_gpu_fold_state *f, unsigned lanes)
{
    for (unsigned s = lanes / 2; s > 0; s /= 2) {
        uint64_t other = SX_SHUFFLE_XOR(f->min, s);
        f->min = other < f->min ? other : f->min;
        other = SX_SHUFFLE_XOR(f->max, s);
        f->max = other > f->max ? other : f->max;
        f->sum += SX_SHUFFLE_XOR(f->sum, s);
    }
}

SX_DEV void sx_put_fold(const sx_gpu_folds *ap, uint64_t i, uint64_t count,
                        const sx_gpu_fold_state *f)
{
    if (ap->min)
        ap->min[i] = f->min;
    if (ap->max)
        ap->max[i] = count ? f->max : SX_MISS;
    if (ap->sum)
        ap->sum[i] = f->sum;
}

/* A range as a span of ranks, from the ranks of its ends. Returns how many ranks it has. */
SX_DEV uint64_t sx_span(const sx_gpu_spans *ap, int crossed, uint64_t *start, uint64_t end)
{
    uint64_t count = crossed || end < *start ? 0 : end - *start;

    if (count > ap->limit) {
        *start += ap->last ? count - ap->limit : 0;
        count = ap->limit;
    }
    return count;
}

/* Lanes for a short range, and the most rows of each before the whole warp is worth it. */
#define SX_FOLD_LANES 8u
#define SX_FOLD_SHORT 32u

#endif
