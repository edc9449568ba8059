/* simt_fiber.h - what the emulator's scheduler (simt.c) and its operations
 * (simt_ops.c) know of a thread. */
#ifndef SX_SIMT_FIBER_H
#define SX_SIMT_FIBER_H

#include "gpu/simt.h"

#if !defined(__x86_64__)
#include <ucontext.h>
#define WITH_UCONTEXT 1
#endif

typedef enum { READY, AT_BARRIER, IN_SORT, IN_WARP, DONE } fiber_state;
typedef enum { OP_SYNC, OP_BALLOT, OP_SHUFFLE, OP_SHUFFLE_XOR } warp_op;

typedef struct {
    fiber_state state;
    const char *file;             /* where it waits */
    int line;
    struct {
        warp_op op;
        unsigned mask, from;      /* from: the lane whose value it asks for */
        uint64_t value, result;
    } warp;
    struct {
        unsigned items, bits;
        uint32_t *keys, *values;
    } sort;
    unsigned char *stack;
    void *fake;                   /* AddressSanitizer's, while switched away */
#ifdef WITH_UCONTEXT
    ucontext_t context;
#else
    void *sp;
#endif
} fiber;

#define SIMT_THREADS_MAX 1024u
extern fiber simt_fibers[SIMT_THREADS_MAX];   /* simt_self.block_threads of them run */

/* Where a block sorts. */
typedef struct {
    uint32_t digits, place;       /* what is compared: the low bits, then where it was */
    uint32_t key, value;
} sort_item;
#define SIMT_ITEMS_MAX 32u        /* of each thread */
#define SIMT_SORT_BYTES (SIMT_THREADS_MAX * SIMT_ITEMS_MAX * sizeof(sort_item))
extern void *simt_sort_space;

/* ---- simt.c ------------------------------------------------------------- */

/* The first fault of a launch is kept: what follows is often its echo. */
void simt_report(const char *file, int line, unsigned thread, const char *what);

/* The running thread waits. Others run until its state is READY again. */
void simt_wait(fiber_state state, const char *file, int line);

/* The running thread is at fault and does not go on. */
_Noreturn void simt_stop(const char *file, int line, const char *what);

/* A random number below n in shuffled order, n - 1 in other orders. */
unsigned simt_dice(unsigned n);

/* ---- simt_ops.c ---------------------------------------------------------- */

/* All threads of the block wait in the same sort. 0, or -1 after a fault. */
int simt_sort_now(void);

#endif
