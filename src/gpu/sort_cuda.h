/* sort_cuda.h - the sort of pairs and the sum of numbers on NVIDIA GPUs. They are a unit of their
 * own, which knows nothing of indexes: it compiles beside the backend's kernels, and only when
 * it changes itself. No other unit includes these parts of CUB, which take five seconds of a
 * compiler's time. The bench measures the same unit alone. */
#ifndef SX_SORT_CUDA_H
#define SX_SORT_CUDA_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t width;               /* bytes of a key, which is unsigned: 4, 8, 16 */
    uint32_t row_bytes;           /* 4, 8 */
    uint64_t n;
    const void *keys, *rows;
    void *keys_out, *rows_out;    /* other arrays */
} sx_cuda_pairs;

/* Queues a stable sort. scratch NULL: only says how many bytes it must have. */
cudaError_t sx_cuda_sort(void *scratch, size_t *bytes, const sx_cuda_pairs *pairs,
                         cudaStream_t stream);

/* Queues that n numbers become the sums of the numbers before them. scratch as above. */
cudaError_t sx_cuda_sum_up(void *scratch, size_t *bytes, uint64_t *numbers, uint64_t n,
                           cudaStream_t stream);

#endif
