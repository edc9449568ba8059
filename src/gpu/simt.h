/* simt.h - blocks of GPU threads on the host, for tests.
 *
 * A launch runs its blocks one after the other. The threads of a block are
 * fibers, 32 of them a warp; a thread runs until it meets a barrier or a
 * warp operation, and others run meanwhile. In which order they run can be
 * chosen, since a kernel's answers must not depend on it. Faults (a warp
 * operation that not all named lanes reach, a barrier that some threads
 * never meet or meet on another line, a misaligned vector load) are
 * reported with their place instead of hanging.
 *
 * It is for tests: a launch holds a lock, so that one runs at a time. */
#ifndef SX_SIMT_H
#define SX_SIMT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    unsigned thread, block;       /* this thread in its block, its block */
    unsigned block_threads, blocks;
} simt_place;

extern simt_place simt_self;      /* of the thread that runs now */

typedef enum { SIMT_FORWARD, SIMT_REVERSED, SIMT_SHUFFLED } simt_order;

/* How threads take turns from now on; seed is for SIMT_SHUFFLED. */
void simt_set_order(simt_order order, uint64_t seed);

/* Runs fn(args) on blocks x threads (at most 1024) threads. 0, or -1 after a
 * fault, which simt_fault() describes. */
int simt_launch(void (*fn)(const void *), const void *args, unsigned blocks, unsigned threads);
const char *simt_fault(void);

/* ---- called by kernels, through vendor_simt.h -------------------------- */

void simt_barrier(const char *file, int line);
uint64_t simt_shuffle_xor(unsigned mask, uint64_t v, unsigned lanes, const char *file, int line);
unsigned simt_ballot(unsigned mask, int v, const char *file, int line);
unsigned long long simt_atomic_min(unsigned long long *p, unsigned long long v);
unsigned long long simt_atomic_max(unsigned long long *p, unsigned long long v);
void simt_expect_aligned(const void *p, size_t bytes, const char *file, int line);

#endif
