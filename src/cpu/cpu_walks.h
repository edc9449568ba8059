/* cpu_walks.h - work on keys other than walks, as compiled for one width and
 * instruction set. */
#ifndef SX_CPU_WALKS_H
#define SX_CPU_WALKS_H

#include "family/family_cpu.h"
#include "place/backend.h"

typedef struct {
    uint64_t min, max, sum;
    int extremes;                 /* min and max are wanted */
} sx_fold;

typedef struct {
    /* hit[i]: slot[i] holds a key equal to q[i]. */
    void (*equal)(const sx_view *v, const void *q, const uint64_t *slot,
                  unsigned char *hit, unsigned m);
    /* empty[i]: lo[i] > hi[i]. */
    void (*crossed)(const void *lo, const void *hi, unsigned char *empty, unsigned m);
    /* Bits of q[i] behind the first bits[i] become ones, or zeros. */
    void (*set_rest)(void *q, const unsigned char *bits, unsigned m, int ones);
    /* Takes the rows of n slots, from `slot` on, into a fold. used: slots of a small block
     * that are not left out; in large blocks all are used. */
    void (*fold_slots)(const sx_view *v, uint64_t slot, uint64_t n, uint32_t used, sx_fold *f);
} sx_cpu_walks;

/* Blocks of at most this many rows are not worth setting up vectors for. */
#define SX_SMALL_BLOCK 8u

/* Faster bounds than the family's own for an index of at most these bytes of keys; or
 * NULL. */
#define SX_SMALL_BYTES (32u << 10)
sx_bounds_fn *sx_cpu_small_for(sx_simd level, const sx_view *v);

/* NULL if this build lacks the instruction set. */
const sx_cpu_walks *sx_cpu_walks_for(sx_simd level, uint32_t width);

#endif
