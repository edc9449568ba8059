/* inside.h - for tests that look at what an index is made of, or change it: its present
 * version, the one run of that, and the run's replicas (place/run.h). */
#ifndef INSIDE_H
#define INSIDE_H

#include "query/index.h"

static inline sx_index_version *now_of(const sx_index *ix)
{
    return atomic_load(&((sx_index *)ix)->now);
}

static inline sx_run *run_of(const sx_index *ix)
{
    return sx_one_run(now_of(ix));
}

static inline sx_replica *replica_of(const sx_index *ix, unsigned i)
{
    return &run_of(ix)->replica[i];
}

/* Of what is whole. */
static inline sx_view *view_of(const sx_index *ix)
{
    return &replica_of(ix, 0)->view;
}

#endif
