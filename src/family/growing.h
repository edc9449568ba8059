/* growing.h - memory for a family that makes the next run out of another one.
 *
 * The next run begins with all sections of the one before, and whoever reads that one goes on
 * doing so. So nobody writes into what the run before uses. A section that is a pool
 * (sx_family's pool()) has space behind that, and nodes are written there; a section of another
 * kind is made anew.
 *
 *     run before   |used .........|
 *     next run     |used .........|new nodes ...|space   |
 *                  '--- one block, or, if it had to move, a copy of what is used ---' */
#ifndef SX_GROWING_H
#define SX_GROWING_H

#include "family/shape.h"

typedef struct sx_growing {
    sx_view *v;                   /* of the next run, bound to base[] */
    void **base;
    const uint64_t *space;        /* bytes there are at each base; at least what the view uses */
    /* Makes space for `bytes` in a pool. If that moves it, what the view uses is copied. */
    sx_status (*grow)(struct sx_growing *g, unsigned section, uint64_t bytes, sx_err *err);
    /* Gives a section new memory of `bytes`, contents undefined; what it had, it has no more. */
    sx_status (*renew)(struct sx_growing *g, unsigned section, uint64_t bytes, sx_err *err);
} sx_growing;

#endif
