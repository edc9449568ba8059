/* grow.h - runs that have memory in common, and sections that grow.
 *
 * The run of a next version has most sections of the one before. So memory belongs to extents,
 * and each run that has a section in one counts there; the last to let go gives it back.
 *
 *     run of version 7   keys  last  inner  links         keys and last had space behind them
 *                          |     |      |      |
 *     extents             |..|  |..|  |..|   |..|
 *                          |     |
 *     run of version 8   keys  last  inner  links         inner moved, links are new
 *                                      |      |
 *                                    |...|  |..|
 *
 * A section grows in place if its block has space or, on a host, addresses behind it
 * (base/alloc.h). Otherwise it moves: a section in a file that is mapped, in the block of an
 * upper part, in memory of a device, which may be of the caller's allocator, or where the system
 * gave no addresses. A run before keeps what it had: no reader sees bytes move or change.
 *
 * Only one run at a time may be made out of another one, and only out of the newest: two would
 * write to the same space. */
#ifndef SX_PLACE_GROW_H
#define SX_PLACE_GROW_H

#include "family/growing.h"
#include "place/run.h"

/* Makes `next`, which has all sections of all replicas of `run`. sx_run_drop() of either leaves
 * the other whole. Readers of `run` do not notice. */
sx_status sx_run_follow(sx_run *next, sx_run *run, sx_err *err);

/* How a family makes more of a replica of such a run. */
typedef struct {
    sx_growing growing;           /* first, as its functions get a pointer to it */
    sx_replica *r;
} sx_replica_growing;

void sx_replica_grows(sx_replica_growing *out, sx_replica *r);

/* Counts down for each section; for runs. */
void sx_extents_drop(sx_replica *r);

#endif
