/* possible.h - which index can be where: the one place that knows. */
#ifndef SX_POSSIBLE_H
#define SX_POSSIBLE_H

#include "index/spec.h"
#include "place/registry.h"

typedef enum {
    SX_AT_HOST,                   /* every section in the host's memory */
    SX_AT_DEVICE,                 /* ... in the device's own */
    SX_AT_BOTH,                   /* "hybrid": keys and rows in the host's, what
                                     is above them in the device's */
    SX_AT_PLACES
} sx_at;

/* Fails with the reason if no index of the family can be there. */
sx_status sx_check_place(sx_family family, sx_at at, const sx_backend_kind *kind, sx_err *err);

#endif
