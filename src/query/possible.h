/* possible.h - which index can be where: the one place that knows. */
#ifndef SX_POSSIBLE_H
#define SX_POSSIBLE_H

#include "family/spec.h"
#include "place/registry.h"

/* Fails with the reason if no index of the family can be there: an SX_PLACE_,
 * but not the usual one, which always can be. */
sx_status sx_check_place(uint32_t family, uint32_t place, const sx_backend_kind *kind,
                         sx_err *err);

#endif
