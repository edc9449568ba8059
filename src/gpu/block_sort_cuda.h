/* block_sort_cuda.h - a block's own sort, by CUB. Only units whose kernels sort include it: CUB
 * takes five seconds of a compiler's time. */
#ifndef SX_BLOCK_SORT_CUDA_H
#define SX_BLOCK_SORT_CUDA_H

#include <cub/block/block_radix_sort.cuh>

/* Sorts the pairs of a whole block stably by the low `bits` (1 to 32) bits of their
 * keys. Each thread brings ITEMS neighbours of BLOCK * ITEMS pairs, and leaves with
 * every BLOCK-th: its j-th is then the (j * BLOCK + SX_TID)-th. */
#define SX_BLOCK_SORT(BLOCK, ITEMS, keys, values, bits) \
    sx_block_sort<(BLOCK), (ITEMS)>((keys), (values), (bits))

template <int BLOCK, int ITEMS>
SX_DEV void sx_block_sort(uint32_t (&keys)[ITEMS], uint32_t (&values)[ITEMS], unsigned bits)
{
    typedef cub::BlockRadixSort<uint32_t, BLOCK, ITEMS, uint32_t> sorter;
    static __shared__ typename sorter::TempStorage storage;

    sorter(storage).SortBlockedToStriped(keys, values, 0, (int)bits);
    __syncthreads();                     /* the storage is free for the next sort */
}

#endif
