/* registry.h - devices by name. */
#ifndef SX_REGISTRY_H
#define SX_REGISTRY_H

#include "base/fork.h"
#include "base/worker.h"
#include "place/backend.h"

#include <pthread.h>
#include <stdatomic.h>

/* A backend by the name of its devices, whether this machine can use it or not. */
typedef struct {
    const char *name;             /* "cpu", "cuda", "simt" */
    uint32_t gpu;                 /* it has memory of its own, and streams */
} sx_backend_kind;

/* The backend of a device's name, and the part of the name behind its colon or comma. */
sx_status sx_backend_of(const char *device, const sx_backend_kind **out, const char **args,
                        sx_err *err);

#define SX_LINK_POINTS 4u
/* What the way to a device takes, in nanoseconds; choose/cost_measure.c measures it. */
typedef struct {
    double direct_ns;             /* a call of one question: T_init and K_init */
    double direct_byte_ns;        /* a byte of a batch that is not copied */
    double staged_ns;             /* a call whose columns are copied, without its bytes */
    double in_ns[2], out_ns[2];   /* a byte; [0] of pageable memory, [1] of pinned */
    /* Whole calls of one chunk of pageable memory: the more bytes, the more threads
     * copy them. Both numbers ascend. */
    struct {
        double bytes, ns;
    } chunk[SX_LINK_POINTS];
} sx_link;

struct sx_device {
    const sx_backend *backend;
    void *self;
    _Atomic unsigned refs;        /* one of sx_open(), and one of each index */
    _Atomic(struct sx_device *) host;     /* see sx_device_host() */
    _Atomic(void *) entries;      /* pinned memory for entries (query/hybrid.c) that no call
                                     uses now, or NULL */
    _Atomic(void *) spare;        /* memory of the host that the last call kept, or NULL */
    sx_workers workers;           /* have a GPU make entries, one for each call in flight */
    sx_forked forked;
    pthread_mutex_t link_lock;    /* held while the link is measured */
    _Atomic int link_known;       /* set when the link is complete, and never reset */
    sx_link link;
};

sx_status sx_device_open(sx_device **out, const char *name, sx_err *err);
void sx_device_hold(sx_device *dev);
void sx_device_drop(sx_device *dev);

/* The CPU beside a device, which has what a GPU's index keeps on the host. It is opened
 * when it is needed first and closed with the device. A CPU is its own. */
sx_status sx_device_host(sx_device *dev, sx_device **out, sx_err *err);

/* Memory of the host for the length of a call. The device keeps one large block for later calls, as
 * new pages take a while to come. Smaller ones the heap has at hand, and larger ones are not kept.
 * sx_device_keep takes a block back, or NULL. sx_device_rest gives back the one that is kept. */
#define SX_SPARE_LEAST (4u << 20)
#define SX_SPARE_MOST (64u << 20)
sx_status sx_device_spare(sx_device *dev, void **out, uint64_t bytes, const char *what, sx_err *err);
void sx_device_keep(sx_device *dev, void *block);
void sx_device_rest(sx_device *dev);

/* The i-th device that a machine could have; 0 past the last one. */
int sx_device_known(unsigned i, sx_device_info *info);

#endif
