/* bench_kernels.h - simple kernels to compare an index's with, all on arrays in
 * the device's memory, timed there: what the hardware allows, what plain binary
 * search does, how long the sort takes, and whether two arrays are the same.
 * They are the bench's own: no backend knows of them.
 *
 * bench_kernels_impl.h   the kernels, in the common subset of C11 and CUDA C++
 * bench_kernels_cuda.cu  launched by CUDA: libsextant-bench-cuda.so, which is
 *                        loaded for a cuda device
 * bench_kernels_simt.c   launched by the emulator
 * bench_kernels.c        finds those of a device
 *
 * CUDA's share the device's primary context, and so memory and the thread's
 * own stream, with the library's backend. */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#include <stdint.h>

typedef enum {
    MEASURE_GATHER,               /* out[i] = 4 bytes at a random place of keys */
    MEASURE_SEARCH,               /* out[i] = row of the first key equal to q[i], by
                                     plain binary search; rank_out: its rank */
    MEASURE_SORT,                 /* keys and rows, sorted into keys_out, rows_out */
    MEASURE_DIFFER                /* found = elements in which out and q differ */
} measure_what;

typedef struct {
    measure_what what;
    uint32_t width;               /* of a key: 4, 8, 16 bytes */
    uint32_t row_bytes;           /* of rows and out, 4 or 8; DIFFER: of elements */
    uint64_t n, queries;
    const void *keys, *rows, *q;  /* SEARCH: keys ascend, encoded or unsigned */
    void *out, *rank_out, *keys_out, *rows_out;
    uint64_t ns, found;           /* results; ns 0: the device has no clock */
} measure_job;

#define BENCH_KERNELS_ABI 1

/* Functions return NULL, or a sentence about the failure that is good until the
 * next call. One thread calls them. */
typedef struct {
    uint32_t abi;
    const char *(*open)(int device);      /* before the others */
    const char *(*run)(measure_job *job); /* returns when the job is done */
    /* Gives back memory that is kept for the next sort. */
    void (*rest)(void);
} bench_kernels;

extern const bench_kernels simt_kernels;

/* The kernels of a device, opened; fails if there are none. name: as
 * sx_device_describe() says it. */
const bench_kernels *kernels_of(const char *name);

#endif
