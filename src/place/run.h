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
 * Replica 0 is whole and has all the others were made of, byte for byte. Nothing of a run
 * changes when it is complete. */
#ifndef SX_PLACE_RUN_H
#define SX_PLACE_RUN_H

#include "place/registry.h"
#include "place/store.h"

enum { SX_WHOLE, SX_UPPER };

typedef struct {
    sx_device *dev;               /* in whose memory it is, and who answers from it: the
                                     index's device, or the CPU beside it */
    uint32_t part;                /* SX_WHOLE, SX_UPPER */
    sx_view view;                 /* bound to base[]; of an upper part: without leaves */
    void *base[SX_SECTIONS];      /* NULL: no such section */
    void *block;                  /* of an upper part: all its sections lie in it. NULL: each
                                     is a block of its own, or there are none */
    uint64_t block_bytes;
    void *map;                    /* see sx_store */
    uint64_t map_bytes;
} sx_replica;

#define SX_REPLICAS_MAX 2u

typedef struct {
    sx_run_info info;
    unsigned replicas;
    sx_replica replica[SX_REPLICAS_MAX];
} sx_run;

/* A store that is complete, in the memory of dev, becomes a run's replica 0. */
void sx_run_begin(sx_run *run, const sx_store *store, sx_device *dev);
/* One replica more: the upper part, on a device; all of it, on a host. Progress counts
 * bytes. */
sx_status sx_run_add_upper(sx_run *run, sx_device *dev, sx_err *err);
sx_status sx_run_add_host(sx_run *run, sx_device *host, sx_progress *progress, sx_err *err);
/* Gives back all memory of its sections. */
void sx_run_drop(sx_run *run);

/* SX_PLACE_HOST, _DEVICE, _HYBRID or _BOTH. */
uint32_t sx_run_place(const sx_run *run);
/* The replica of a part on the host, or (gpu) on a device; NULL: there is none. */
const sx_replica *sx_run_find(const sx_run *run, uint32_t gpu, uint32_t part);
/* Bytes of all sections of replica 0; of a shape's upper part, as a device has it. */
uint64_t sx_run_bytes(const sx_run *run);
uint64_t sx_upper_block_bytes(const sx_view *v);

/* Replica 0 as a store that the host can read: its own sections, or a copy of them;
 * sx_run_leave() gives that back. */
sx_status sx_run_on_host(const sx_run *run, sx_store *out, sx_progress *progress, sx_err *err);
void sx_run_leave(const sx_run *run, sx_store *on_host);
/* Whether a second whole replica is what the first is, of which `copy` is a sound copy:
 * then it is sound, too. */
sx_status sx_run_compare(const sx_run *run, const sx_store *copy, sx_err *err);

#endif
