/* runtime_simt.h - the emulated device, and its sizes. */
#ifndef SX_RUNTIME_SIMT_H
#define SX_RUNTIME_SIMT_H

#include "base/fork.h"
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>

/* All small, so that a few hundred elements take every way there is. */
#define GPU_FIT_BLOCK 64u
#define GPU_BLOCK 64u
#define GPU_BLOCK_MOST 128u
#define GPU_GRID_MOST 7u          /* some threads take several turns of a loop, some none */
#define GPU_FEW 160u
#define GPU_FEW_AHEAD 2u
#define GPU_IDLE_MOST 4u
#define GPU_SPANS 50ull
#define GPU_TEXTS 70ull
#define GPU_WHOLE_EACH 1u
#define GPU_CHANNELS 3u
#define GPU_CHANNEL_BYTES 2048ull
#define GPU_CHUNK_LEAST 8ull
#define GPU_SCRATCH 4096ull
#define GPU_CHUNK_GOOD 32ull
#define GPU_DIRECT_BYTES 256ull
#define GPU_WINDOW_BYTES 512u
#define GPU_BUCKET 48ull
#define GPU_SORT_AT_ONCE 1024ull
#define GPU_RESIDENT_WARPS 4u
#define GPU_SAMPLE 256ull

typedef void *gpu_stream;         /* work is done when it is queued */

typedef struct {
    sx_pool *pool;                /* of one thread, for the sort */
    simt_order order;
    uint64_t seed;
    unsigned multiprocessors, resident;
    uint64_t l2_bytes, persist;
    sx_gpu_tune tune;
    sx_allocator from;
    _Atomic uint64_t used;        /* bytes */
    sx_forked forked;
    pthread_mutex_t lock, limit;
    struct gpu_stage *stages;     /* stages that no call uses now, and how many */
    unsigned idle;
} sx_gpu;

#endif
