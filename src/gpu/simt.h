/* simt.h - blocks of GPU threads on the host, for tests.
 *
 * A launch runs its blocks one after the other. The threads of a block are
 * fibers, 32 of them a warp. A thread runs until it meets a barrier or a
 * warp operation, and others run meanwhile. In which order they run can be
 * chosen, since a kernel's answers must not depend on it. In shuffled order
 * a thread also makes way for others at one in four of its atomics. Faults
 * (a warp operation that not all named lanes reach, a sort that some threads
 * never reach, a barrier that threads meet on different lines, a write
 * outside of shared memory, a misaligned vector load) are reported with their
 * place instead of hanging or passing.
 *
 * A launch holds a lock, so that one runs at a time. */
#ifndef SX_SIMT_H
#define SX_SIMT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define SIMT_WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_WITH_ASAN 1
#endif
#endif

typedef struct {
    unsigned thread, block;       /* this thread in its block, its block */
    unsigned block_threads, blocks;
    unsigned char *shared;        /* of the block; if it has none, a place that traps */
} simt_place;

extern simt_place simt_self;      /* of the thread that runs now */

typedef enum { SIMT_FORWARD, SIMT_REVERSED, SIMT_SHUFFLED } simt_order;

/* How threads take turns in launches of the caller's thread from now on; seed is for
 * SIMT_SHUFFLED. */
void simt_set_order(simt_order order, uint64_t seed);

/* Shared memory that a block can have on an H200. */
#define SIMT_SHARED_MAX (227u << 10)

/* Runs fn(args) on blocks x threads threads (whole warps, at most 1024) with shared_bytes
 * of shared memory in each block, which begin as 0xa5. Returns 0, or -1 after a fault,
 * which simt_fault() describes. Until somebody has asked for the fault, later launches of
 * this thread do not run and return -1 as well. */
int simt_launch(void (*fn)(const void *), const void *args, unsigned blocks, unsigned threads,
                size_t shared_bytes);
const char *simt_fault(void);
/* Copies the fault and forgets it. */
typedef enum { SIMT_FINE, SIMT_FAULT, SIMT_NO_MEMORY } simt_end;
simt_end simt_take_fault(char *text, size_t space);

/* ---- called by kernels, through vendor_simt.h -------------------------- */

typedef enum { SIMT_ATOMIC_MIN, SIMT_ATOMIC_MAX, SIMT_ATOMIC_ADD } simt_atomic;

void simt_barrier(const char *file, int line);
void simt_warp_sync(const char *file, int line);
uint64_t simt_shuffle(unsigned mask, uint64_t v, unsigned lane, const char *file, int line);
uint64_t simt_shuffle_xor(unsigned mask, uint64_t v, unsigned lanes, const char *file, int line);
unsigned simt_ballot(unsigned mask, int v, const char *file, int line);
/* Returns what was there before. */
unsigned long long simt_atomic64(simt_atomic op, unsigned long long *p, unsigned long long v);
void simt_block_sort(unsigned block, unsigned items, uint32_t *keys, uint32_t *values,
                     unsigned bits, const char *file, int line);
void simt_expect_aligned(const void *p, size_t bytes, const char *file, int line);

#endif
