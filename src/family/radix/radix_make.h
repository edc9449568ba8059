/* radix_make.h - a radix tree out of a sorted array: what the host does for either backend. */
#ifndef SX_RADIX_MAKE_H
#define SX_RADIX_MAKE_H

#include "base/status.h"
#include "family/view.h"

/* Nodes as they are made, in order, each with its kind and its units in `place`: gives each its
 * place, and says what meta is. n keys. */
void sx_radix_sum(sx_radix_making *nodes, uint64_t count, uint64_t n, sx_radix_meta *meta);
/* Completes a shape by it. SX_ECORRUPT: no tree has such numbers. */
sx_status sx_radix_shape(sx_view *v, const sx_radix_meta *meta, sx_err *err);

#endif
