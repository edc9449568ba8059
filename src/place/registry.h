/* registry.h - devices by name. */
#ifndef SX_REGISTRY_H
#define SX_REGISTRY_H

#include "base/fork.h"
#include "base/worker.h"
#include "place/backend.h"

#include <pthread.h>
#include <stdatomic.h>

/* A backend by the name of its devices, whether it can be used here or not. */
typedef struct {
    const char *name;             /* "cpu", "cuda", "simt" */
    uint32_t gpu;                 /* it has memory of its own, and streams */
} sx_backend_kind;

/* That of a device's name, and what follows its colon or comma. */
sx_status sx_backend_of(const char *device, const sx_backend_kind **out, const char **args,
                        sx_err *err);

#define SX_LINK_POINTS 4u
/* What the way to a device takes, in nanoseconds; query/cost_measure.c measures it. */
typedef struct {
    double direct_ns;             /* a call of one question: T_init and K_init */
    double direct_byte_ns;        /* a byte of a batch that is not copied */
    double staged_ns;             /* a call whose columns are copied, beside the bytes: */
    double in_ns[2], out_ns[2];   /* a byte; [0] of pageable memory, [1] of pinned */
    /* Such calls of one chunk of pageable memory, all of it: more bytes, more
     * threads that copy them. Both numbers ascend. */
    struct {
        double bytes, ns;
    } chunk[SX_LINK_POINTS];
} sx_link;

struct sx_device {
    const sx_backend *backend;
    void *self;
    _Atomic unsigned refs;        /* sx_open()'s, and one per index */
    _Atomic(struct sx_device *) host;     /* see sx_device_host() */
    _Atomic(void *) entries;      /* pinned memory for a call's entries (query/hybrid.c) that
                                     no call uses now, or NULL */
    sx_workers workers;           /* who has them made, one for each call in flight */
    sx_forked forked;
    pthread_mutex_t link_lock;    /* held while the link is measured */
    _Atomic int link_known;       /* set when it is complete, and then it stays so */
    sx_link link;
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
