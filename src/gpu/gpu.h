/* gpu.h - a GPU for host code that queues work on it, CUDA's or the emulator's. The
 * backend (gpu_backend_impl.h) and the units of families include it. */
#ifndef SX_GPU_H
#define SX_GPU_H

#ifdef __CUDACC__
#include "gpu/vendor_cuda.h"
#else
#include "gpu/vendor_simt.h"
#define SX_FIT_NEAR 32u           /* small, as sizes of the emulator are */
#define SX_VALUES_FEW 4u
#define SX_FILL_EACH 4u
#endif

/* Whether there are kernels that run only if the device's name says so (doc/LAB.md). The
 * emulator always has them, so that they are tested. */
#if defined(SX_LAB) || !defined(__CUDACC__)
#define GPU_LAB 1
#else
#define GPU_LAB 0
#endif

#ifdef __cplusplus
extern "C" {
#endif
#include "base/alloc.h"
#include "base/pool.h"
#include "family/slots.h"
#include "gpu/gpu_args.h"
#include "gpu/gpu_tune.h"
#ifdef __cplusplus
}
#endif

#include <string.h>

#ifdef __CUDACC__
#include "gpu/runtime_cuda.h"
#else
#include "gpu/runtime_simt.h"
#endif

/* Device memory, in a stream's order; copies between any two places, queued. */
sx_status sx_gpu_alloc(sx_gpu *g, gpu_stream stream, void **out, uint64_t bytes, const char *what,
                       sx_err *err);
void sx_gpu_free(sx_gpu *g, gpu_stream stream, void *p);
sx_status sx_gpu_copy(sx_gpu *g, gpu_stream stream, void *to, const void *from, uint64_t bytes,
                      sx_err *err);
/* After launches: whether they were accepted. Then: waits until a queue is empty. */
sx_status sx_gpu_launched(sx_gpu *g, const char *what, sx_err *err);
sx_status sx_gpu_wait(sx_gpu *g, gpu_stream stream, const char *what, sx_err *err);
/* Blocks of GPU_BLOCK threads to launch for this many threads. */
unsigned sx_gpu_grid(const sx_gpu *g, uint64_t threads);

/* Of so many blocks, those that a launch has if it may have `most`, and the device's name (blocks=)
 * may allow fewer. Kernels loop, so that any number does. */
static inline unsigned gpu_grid_of(const sx_gpu *g, uint64_t blocks, uint64_t most)
{
    if (g->tune.blocks && g->tune.blocks < most)
        most = g->tune.blocks;
    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

/* Launches `name` for this many threads; with _W it is name##_4, name##_8 or name##_16. */
#define GPU_RUN(name, threads, stream, args) \
    SX_LAUNCH(name, sx_gpu_grid(g, (threads)), GPU_BLOCK, 0, (stream), (args))
#define GPU_RUN_W(name, width, threads, stream, args)                  \
    do {                                                               \
        if ((width) == 4)                                              \
            GPU_RUN(name##_4, (threads), (stream), (args));            \
        else if ((width) == 8)                                         \
            GPU_RUN(name##_8, (threads), (stream), (args));            \
        else                                                           \
            GPU_RUN(name##_16, (threads), (stream), (args));           \
    } while (0)

/* How points are asked: which kernel, and how it is launched (gpu_ask_impl.h). */
typedef struct {
    uint32_t walk, staged, reorder, schedule;
    uint32_t block, each;
    uint32_t shared_bytes;
    unsigned grid;
    unsigned resident;            /* threads that a multiprocessor has at a time */
    int ascending;
    int constant;                 /* the top is in constant memory */
    int two;                      /* lanes read a leaf in twos */
    const void *top;              /* to be kept in L2 */
    uint64_t top_bytes;
} gpu_plan;

#define GPU_LAUNCH_PLAN(name)                                                               \
    SX_LAUNCH_TOP(name, p->grid, p->block, p->shared_bytes, stream, a, p->top, p->top_bytes)

#endif
