/* cpu_walks.h - the walks as compiled for one width and instruction set. */
#ifndef SX_CPU_WALKS_H
#define SX_CPU_WALKS_H

#include "base/machine.h"
#include "place/backend.h"

/* Queries handled at a time: encoded, walked, answered. A chunk's state
 * stays in L1 and L2. */
#define SX_CHUNK 256u

typedef struct {
    uint64_t min, max, sum;
    int extremes;                 /* min and max are wanted */
} sx_fold;

typedef struct {
    /* Lower bounds of m <= SX_CHUNK keys of the view's width: the ranks,
     * and, unless slot is NULL, the slots (SX_NO_SLOT: every key is below).
     * `rows` says that the rows there are wanted soon. hint: NULL, or where
     * each walk goes on (sx_hints). */
    void (*bounds)(const sx_view *v, const void *q, unsigned m, const uint64_t *hint,
                   uint64_t *rank, uint64_t *slot, int rows);
    /* q[i] + 1 for right ranks; max[i]: q[i] was the largest key, which has
     * no successor (it is left as it is). */
    void (*successors)(const void *q, void *next, unsigned char *max, unsigned m);
    /* hit[i]: slot[i] holds a key equal to q[i]. */
    void (*equal)(const sx_view *v, const void *q, const uint64_t *slot,
                  unsigned char *hit, unsigned m);
    /* empty[i]: lo[i] > hi[i]. */
    void (*crossed)(const void *lo, const void *hi, unsigned char *empty, unsigned m);
    /* Takes the rows of n slots into a fold. */
    void (*fold_slots)(const sx_view *v, uint64_t slot, uint64_t n, sx_fold *f);
} sx_cpu_walks;

/* NULL where this build lacks the instruction set. */
const sx_cpu_walks *sx_cpu_walks_for(sx_simd level, uint32_t width);

#endif
