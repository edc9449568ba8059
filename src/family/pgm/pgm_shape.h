/* pgm_shape.h - the part of a pgm's shape that its keys determine. */
#ifndef SX_PGM_SHAPE_H
#define SX_PGM_SHAPE_H

#include "family/family.h"

/* Completes the levels, root first, when it is known how many segments each
 * has. Fails if no keys could have made them. */
sx_status sx_shape_levels(sx_view *v, const uint64_t *segments, uint64_t levels, sx_err *err);

#endif
