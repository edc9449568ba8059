/* sort_cuda.h - the sort of pairs on NVIDIA GPUs. It is a unit of its own, which
 * knows nothing of indexes: it compiles beside the backend's kernels, and only when
 * it changes itself. The bench measures the same unit alone. */
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

#endif
