/* run.h - a run: keys and rows of one spec, and the memories that have them.
 *
 * What is in one memory is a replica. A place is a choice of replicas and nothing more:
 *
 *     place     replica[0]             replica[1]
 *     host      the host: whole
 *     device    the device: whole
 *     hybrid    the host: whole        the device: the upper part
 *     both      the device: whole      the host: whole
 *
 * Replica 0 is whole, and the other is a copy of it, or of parts of it, byte for byte.
 * A run that is complete never changes. But it may lend its memory to the run that follows it
 * (grow.h). */
#ifndef SX_PLACE_RUN_H
#define SX_PLACE_RUN_H

#include "place/registry.h"
#include "place/store.h"

enum { SX_WHOLE, SX_UPPER };

/* Memory that is given back as one, when no section of any run lies in it (grow.h). */
typedef struct {
    sx_device *dev;
    void *block;                  /* of the device's backend, ... */
    uint64_t map_bytes;           /* ... unless it is a file, mapped with these bytes */
    _Atomic uint32_t users;       /* sections of runs */
} sx_extent;

typedef struct {
    sx_device *dev;               /* has it in its memory and answers from it: the index's
                                     device, or the CPU beside it */
    uint32_t part;                /* SX_WHOLE, SX_UPPER */
    sx_view view;                 /* bound to base[]; that of an upper part has no leaves */
    void *base[SX_SECTIONS];      /* NULL: no such section */
    void *block;                  /* all sections of an upper part lie in it. NULL: each is a
                                     block of its own, or there are none */
    uint64_t block_bytes;         /* with those of sections that have left it */
    void *map;                    /* see sx_store */
    uint64_t map_bytes;
    uint64_t space[SX_SECTIONS];  /* bytes there are for each section: what it uses, and space
                                     to grow */
    /* Readers do not look at the rest. */
    uint32_t counted;             /* its memory belongs to extents, since another run was made
                                     out of this one, or this one out of another */
    sx_extent *extent[SX_SECTIONS];       /* if so: where each section lies */
} sx_replica;

#define SX_REPLICAS_MAX 2u

typedef struct {
    sx_run_info info;
    unsigned replicas;
    sx_replica replica[SX_REPLICAS_MAX];
} sx_run;

/* A complete store in the memory of dev becomes replica 0 of a run. */
void sx_run_begin(sx_run *run, const sx_store *store, sx_device *dev);
/* Adds a replica: the upper part on a device; or a whole one on a host, where progress
 * counts bytes. */
sx_status sx_run_add_upper(sx_run *run, sx_device *dev, sx_err *err);
sx_status sx_run_add_host(sx_run *run, sx_device *host, sx_progress *progress, sx_err *err);
/* Gives back all memory of its sections. */
void sx_run_drop(sx_run *run);

/* SX_PLACE_HOST, _DEVICE, _HYBRID or _BOTH. */
uint32_t sx_run_place(const sx_run *run);
/* The replica with this part, on the host or (gpu) on a device; NULL: there is none. */
const sx_replica *sx_run_find(const sx_run *run, uint32_t gpu, uint32_t part);
/* Bytes of a section in a replica that are used; of all sections of replica 0. */
uint64_t sx_replica_bytes(const sx_replica *r, unsigned kind);
uint64_t sx_run_used(const sx_run *run);
/* Bytes of memory for a section of replica 0, used or not: those of all; of a device's block for
 * a shape's upper part. Addresses that have no memory do not count. */
uint64_t sx_run_section(const sx_run *run, unsigned kind);
uint64_t sx_run_bytes(const sx_run *run);
uint64_t sx_upper_block_bytes(const sx_view *v);

/* Replica 0 as a store that the host can read: its own sections, or a copy of them, which
 * sx_run_leave() gives back. */
sx_status sx_run_on_host(const sx_run *run, sx_store *out, sx_progress *progress, sx_err *err);
void sx_run_leave(const sx_run *run, sx_store *on_host);
/* Whether a second whole replica is the same as the first, of which `copy` is a sound copy:
 * then the second is sound, too. */
sx_status sx_run_compare(const sx_run *run, const sx_store *copy, sx_err *err);

/* Levels of the upper part between which a walk can change sides. None can if the replicas
 * search differently, as those of a pgm may: then their states differ, too, but for entries. */
uint32_t sx_shared_levels(const sx_replica *upper, const sx_replica *whole);

#endif
