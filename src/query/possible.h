/* possible.h - which index can be where: the one place that knows. */
#ifndef SX_POSSIBLE_H
#define SX_POSSIBLE_H

#include "family/spec.h"
#include "place/registry.h"

/* Fails with the reason (SX_ENOSYS) if no index of the family can be in this place, an
 * SX_PLACE_. The usual place always can be. Building, loading, estimating and sx_possible() ask
 * this, so that they have one answer and one sentence. */
sx_status sx_check_place(uint32_t family, uint32_t place, const sx_backend_kind *kind, sx_err *err);
/* The same, for calls with a stream; then for prefixes, which keys of some types have. */
sx_status sx_check_streams(uint32_t place, const sx_backend_kind *kind, sx_err *err);
sx_status sx_check_prefixes(int key_type, sx_err *err);

/* The kind of an open device. */
static inline sx_backend_kind sx_kind_of(const sx_device *dev)
{
    return (sx_backend_kind){dev->backend->name, dev->backend->gpu};
}

#endif
