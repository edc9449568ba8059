/* registry.h - devices by name. */
#ifndef SX_REGISTRY_H
#define SX_REGISTRY_H

#include "place/backend.h"

#include <stdatomic.h>

struct sx_device {
    const sx_backend *backend;
    void *self;
    _Atomic unsigned refs;        /* sx_open()'s, and one per index */
    _Atomic(struct sx_device *) host;     /* see sx_device_host() */
};

sx_status sx_device_open(sx_device **out, const char *name, sx_err *err);
void sx_device_hold(sx_device *dev);
void sx_device_drop(sx_device *dev);

/* The CPU beside a device, opened when it is needed first and closed with it: for
 * what a GPU's index has on the host. A CPU is its own. */
sx_status sx_device_host(sx_device *dev, sx_device **out, sx_err *err);

/* The i-th device there could be; 0 past the last one. */
int sx_device_known(unsigned i, sx_device_info *info);

#endif
