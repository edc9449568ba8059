/* gpu_kernels.h - kernels that know no family, for all widths. Include a vendor header
 * before it. */
#ifndef SX_GPU_KERNELS_H
#define SX_GPU_KERNELS_H

#include "family/generic/gpu_numbers.h"
#include "gpu/gpu_fill.h"

/* What all threads of all blocks have, put together in one word: the largest number, or the sum.
 * Atomics on one word come one after the other, so a block has one, and none for a 0. First each
 * warp puts together what its lanes have, then the first warp what warps have, of which there are
 * at most 32. Shared memory: SX_MERGE_SHARED bytes. Between two of them there is a barrier. */
#define SX_MERGE_SHARED(threads) ((threads) / 32 * 8)
#define SX_MERGE(name, merge, atomic)                                                   \
    SX_DEV uint64_t name##_of_lanes(uint64_t x)                                         \
    {                                                                                   \
        for (unsigned s = 16; s > 0; s /= 2) {                                          \
            uint64_t other = SX_SHUFFLE_XOR(x, s);                                      \
            x = merge;                                                                  \
        }                                                                               \
        return x;                                                                       \
    }                                                                                   \
    SX_DEV void name(uint64_t x, unsigned long long *to)                                \
    {                                                                                   \
        uint64_t *of_warp = (uint64_t *)(void *)SX_SHARED;                              \
        x = name##_of_lanes(x);                                                         \
        if (SX_LANE == 0)                                                               \
            of_warp[SX_TID / 32] = x;                                                   \
        SX_BARRIER();                                                                   \
        if (SX_TID >= 32)                                                               \
            return;                                                                     \
        x = name##_of_lanes(SX_LANE < SX_BLOCK_THREADS / 32 ? of_warp[SX_LANE] : 0);    \
        if (SX_TID == 0 && x > 0)                                                       \
            atomic(to, (sx_word)x);                                                     \
    }
SX_MERGE(sx_block_max, other > x ? other : x, atomicMax)
SX_MERGE(sx_block_sum, other + x, atomicAdd)

/* The last block that comes here copies the facts to where the host sees them, and then says that
 * they are there. The host reads them at once, and what other blocks wrote for it: the last block saw
 * that before it said so. The next kernel counts its own blocks. */
SX_DEV void sx_post_facts(const sx_gpu_input *ap)
{
    const volatile sx_gpu_facts *facts = ap->facts;

    if (SX_TID > 0 || !ap->post)
        return;
    if (SX_BLOCKS > 1) {          /* a block alone is the last, and a fence takes long */
        SX_FENCE();
        if (atomicAdd(&ap->facts->blocks, (sx_word)1) + 1 < SX_BLOCKS)
            return;
    }
    ap->post->max_row = facts->max_row;
    ap->post->reserved_from = facts->reserved_from;
    ap->post->descends = facts->descends;
    ap->post->repeat_from = facts->repeat_from;
    ap->post->values = facts->values;
    ap->facts->blocks = 0;
    SX_FENCE_HOST();
    *(volatile unsigned long long *)&ap->post->blocks = SX_BLOCKS;
}

/* k_few_sort: shared memory of a block, so little that a launch need not ask for it. Each warp has keys
 * there, and then ranks of 32 keys. */
#define SX_FEW_SHARED(threads) ((threads) * 4)

/* The first facts, from what was found out of each group. Its lane 0 is the thread that adds to them. */
SX_DEV void sx_few_facts(const sx_gpu_few *ap)
{
    uint64_t max_row = 0, reserved_from = 0;
    int descends = 0;

    for (uint64_t group = SX_LANE; group < SX_FEW_GROUPS(ap->in.n); group += 32) {
        sx_gpu_facts part = ap->part[group];
        max_row = part.max_row > max_row ? part.max_row : max_row;
        reserved_from = part.reserved_from > reserved_from ? part.reserved_from : reserved_from;
        descends |= part.descends > 0;
    }
    max_row = sx_block_max_of_lanes(max_row);
    reserved_from = sx_block_max_of_lanes(reserved_from);
    descends = SX_ANY(descends);
    if (SX_LANE == 0)
        *ap->in.facts = (sx_gpu_facts){max_row, reserved_from, (sx_word)descends, 0, 0, 0};
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

#include "gpu/gpu_string_kernels.h"

/* ---- rows, whatever the width of keys ------------------------------------------ */

SX_KERNEL(k_store_rows, sx_gpu_input)
{
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS)
        sx_put_number(ap->rows, ap->row_bytes, i,
                      ap->row_type ? sx_number_at(ap->in_rows, ap->row_type == SX_U64 ? 8 : 4, i)
                                   : i);
}

/* Pairs of an ascending array, 16 bytes at a time: the keys of a block are
 * neighbours where they come from, and so are its rows. */
SX_KERNEL(k_blocks, sx_gpu_build)
{
    const sx_view *v = &ap->v;
    uint32_t keys = v->block * v->width / 16, rows = v->block * v->row_bytes / 16;
    uint32_t pieces = keys + rows;
    uint64_t n = ap->whole * pieces;

    SX_UNROLL_BY_4
    for (uint64_t i = SX_THREAD; i < n; i += SX_THREADS) {
        uint64_t block = i / pieces;
        uint32_t piece = (uint32_t)(i - block * pieces);
        const unsigned char *from = piece < keys
            ? (const unsigned char *)ap->from_keys + (block * keys + piece) * 16
            : (const unsigned char *)ap->from_rows + (block * rows + piece - keys) * 16;
        *(uint4 *)(void *)(ap->keys + i * 16) = sx_load16(from);
    }
}

/* The outcome of filling `first[n]` results into `space`. */
SX_KERNEL(k_space, sx_gpu_fill)
{
    if (SX_THREAD == 0 && ap->status)
        *ap->status = ap->first && ap->first[ap->n] > ap->space ? SX_ESPACE : SX_OK;
}

#endif
