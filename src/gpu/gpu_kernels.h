/* gpu_kernels.h - all kernels, for all widths. Include a vendor header
 * before it. */
#ifndef SX_GPU_KERNELS_H
#define SX_GPU_KERNELS_H

#include "gpu/gpu_args.h"
#include "index/slots.h"

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

#define W 4
#include "gpu/gpu_kernels_impl.h"
#undef W
#define W 8
#include "gpu/gpu_kernels_impl.h"
#undef W
#define W 16
#include "gpu/gpu_kernels_impl.h"
#undef W

/* ---- rows: of no width of key ------------------------------------------------ */

SX_KERNEL(k_scan_rows, sx_gpu_input)
{
    uint32_t bytes = ap->row_type == SX_U64 ? 8 : 4;
    uint64_t reserved = ap->row_type == SX_U64 ? SX_MISS : SX_MISS32, max = 0;

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        uint64_t row = sx_number_at(ap->in_rows, bytes, i);
        if (row == reserved)
            atomicMin(&ap->facts->reserved_at, (sx_word)i);
        max = row > max ? row : max;
    }
    atomicMax(&ap->facts->max_row, (sx_word)max);
}

SX_KERNEL(k_store_rows, sx_gpu_input)
{
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS)
        sx_put_number(ap->rows, ap->row_bytes, i,
                      ap->row_type ? sx_number_at(ap->in_rows, ap->row_type == SX_U64 ? 8 : 4, i)
                                   : i);
}

/* A warp per span: its lanes read neighbouring rows. */
SX_KERNEL(k_fold, sx_gpu_fold)
{
    const sx_view *v = &ap->v;

    for (uint64_t i = SX_THREAD / 32; i < ap->n; i += SX_THREADS / 32) {
        uint64_t start = ap->start[i], count = ap->count[i];
        uint64_t min = SX_MISS, max = 0, sum = 0;
        for (uint32_t run = 0; run < sx_run_count(v) && count > 0; run++) {
            sx_run r = sx_run_of(v, run, start, start + count);
            for (uint64_t j = SX_LANE; j < r.n; j += 32) {
                /* rows that are not stored are ranks; a run of them is in order */
                uint64_t row = v->row_bytes ? sx_row_at(v, r.slot + j, 0) : sx_run_rank(v, &r, j);
                sum += row;
                min = row < min ? row : min;
                max = row > max ? row : max;
            }
        }
        for (unsigned lanes = 16; lanes > 0; lanes /= 2) {
            uint64_t other = SX_SHUFFLE_XOR(min, lanes);
            min = other < min ? other : min;
            other = SX_SHUFFLE_XOR(max, lanes);
            max = other > max ? other : max;
            sum += SX_SHUFFLE_XOR(sum, lanes);
        }
        if (SX_LANE == 0) {
            if (ap->min)
                ap->min[i] = min;
            if (ap->max)
                ap->max[i] = count ? max : SX_MISS;
            if (ap->sum)
                ap->sum[i] = sum;
        }
    }
}

#endif
