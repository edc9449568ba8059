/* sort_cuda.cu - see sort_cuda.h: CUB's radix sort, for each width of keys and
 * of rows, and its sum. */
#include "gpu/sort_cuda.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

template <class key, class row>
static cudaError_t sort_pairs(void *scratch, size_t *bytes, const sx_cuda_pairs *p,
                              cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortPairs(scratch, *bytes, (const key *)p->keys,
                                           (key *)p->keys_out, (const row *)p->rows,
                                           (row *)p->rows_out, p->n, 0, (int)sizeof(key) * 8,
                                           stream);
}

template <class key>
static cudaError_t sort_keys(void *scratch, size_t *bytes, const sx_cuda_pairs *p,
                             cudaStream_t stream)
{
    return p->row_bytes == 4 ? sort_pairs<key, uint32_t>(scratch, bytes, p, stream)
                             : sort_pairs<key, uint64_t>(scratch, bytes, p, stream);
}

cudaError_t sx_cuda_sort(void *scratch, size_t *bytes, const sx_cuda_pairs *pairs,
                         cudaStream_t stream)
{
    if (pairs->width == 4)
        return sort_keys<uint32_t>(scratch, bytes, pairs, stream);
    if (pairs->width == 8)
        return sort_keys<uint64_t>(scratch, bytes, pairs, stream);
    return sort_keys<unsigned __int128>(scratch, bytes, pairs, stream);
}

cudaError_t sx_cuda_sum_up(void *scratch, size_t *bytes, uint64_t *numbers, uint64_t n,
                           cudaStream_t stream)
{
    return cub::DeviceScan::ExclusiveSum(scratch, *bytes, numbers, numbers, n, stream);
}
