/* runtime_cuda.h - a CUDA device, and its sizes. */
#ifndef SX_RUNTIME_CUDA_H
#define SX_RUNTIME_CUDA_H

#define GPU_FIT_BLOCK 64u
#define GPU_BLOCK 256u
#define GPU_BLOCK_MOST 1024u
#define GPU_GRID_MOST (1u << 30)
/* Up to so many keys are sorted by comparing each pair of them, and a warp has so many groups of them on
 * their way at a time. */
#define GPU_FEW 4096u
#define GPU_FEW_AHEAD 4u
#define GPU_IDLE_MOST 4u
#define GPU_SPANS (1ull << 20)
#define GPU_TEXTS (1ull << 21)
#define GPU_WHOLE_EACH 1u
#define GPU_CHANNELS 4u
#define GPU_CHANNEL_BYTES (16ull << 20)
#define GPU_CHUNK_LEAST 1024ull
#define GPU_SCRATCH (16ull << 20)
#define GPU_CHUNK_GOOD (1ull << 18)
#define GPU_DIRECT_BYTES (128ull << 10)
#define GPU_WINDOW_BYTES 16384u    /* of ascending questions */
#define GPU_BUCKET (1ull << 21)
/* Up to so many bytes of keys are sorted before it is known whether they ascend: such a sort is
 * little more than its launches, and to wait for the answer takes a third as long. */
#define GPU_SORT_AT_ONCE (4ull << 20)
#define GPU_SAMPLE (1ull << 18)
#define GPU_RESIDENT_WARPS 48u     /* of a multiprocessor, where a thread has 40 registers */
#define GPU_COPY_THREADS 8u       /* more do not fill pinned memory faster */

typedef cudaStream_t gpu_stream;

typedef struct {
    int device;
    unsigned multiprocessors, resident;
    size_t shared_bytes;          /* of a multiprocessor */
    uint64_t l2_bytes, persist;
    sx_gpu_tune tune;
    cudaMemPool_t memory;
    sx_allocator from;            /* take is NULL: from the pool */
    sx_pool *pool;
    pthread_mutex_t lock;         /* guards stages */
    pthread_mutex_t limit;        /* guards taking memory, if there is a limit */
    struct gpu_stage *stages;     /* stages that no call uses now, and how many */
    unsigned idle;
    uint64_t free_seen, free_seen_at;     /* bytes that were free, and when */
} sx_gpu;

#endif
