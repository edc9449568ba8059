#include "place/grow.h"

#include "base/alloc.h"

#include <string.h>
#include <sys/mman.h>

/* It has as much space as it uses. */
static void set_space(sx_replica *r)
{
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
        r->space[kind] = sx_replica_bytes(r, kind);
}

void sx_run_begin(sx_run *run, const sx_store *store, sx_device *dev)
{
    sx_replica *r = &run->replica[0];

    run->info = store->info;
    run->replicas = 1;
    *r = (sx_replica){.dev = dev, .part = SX_WHOLE, .view = store->view, .map = store->map,
                      .map_bytes = store->map_bytes};
    memcpy(r->base, store->base, sizeof r->base);
    set_space(r);
}

/* Replica 0 as a store that borrows its sections. */
static void borrow(const sx_run *run, sx_store *out)
{
    const sx_replica *r = &run->replica[0];

    out->info = run->info;
    out->view = r->view;
    memcpy(out->base, r->base, sizeof out->base);
    out->map = r->map;
    out->map_bytes = r->map_bytes;
}

static void drop_replica(sx_replica *r)
{
    const sx_backend *be = r->dev->backend;

    if (r->counted)
        sx_extents_drop(r);
    else if (r->map)
        munmap(r->map, r->map_bytes);
    else if (r->part == SX_UPPER)
        be->release(r->dev->self, r->block);
    else
        for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
            be->release(r->dev->self, r->base[kind]);
}

void sx_run_drop(sx_run *run)
{
    while (run->replicas > 0)
        drop_replica(&run->replica[--run->replicas]);
}

/* ---- a second replica --------------------------------------------------------- */

#define UPPER_ALIGN 256u          /* of each section in the block, as if it had its own memory */

uint64_t sx_upper_block_bytes(const sx_view *v)
{
    uint64_t bytes = 0;

    for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
        bytes += sx_round_up(sx_upper_bytes(v, kind), UPPER_ALIGN);
    return bytes;
}

sx_status sx_run_add_upper(sx_run *run, sx_device *dev, sx_err *err)
{
    const sx_replica *whole = &run->replica[0];
    const sx_backend *be = dev->backend;
    sx_replica upper = {.dev = dev, .part = SX_UPPER, .view = whole->view,
                        .block_bytes = sx_upper_block_bytes(&whole->view)};
    uint64_t at = 0;
    sx_status st = SX_OK;

    if (upper.block_bytes > 0)
        st = be->alloc(dev->self, &upper.block, upper.block_bytes, "the upper part of a hybrid index",
                       err);
    for (unsigned kind = 0; kind < SX_SECTIONS && st == SX_OK; kind++) {
        uint64_t bytes = sx_upper_bytes(&whole->view, kind);
        if (bytes == 0)
            continue;
        upper.base[kind] = (unsigned char *)upper.block + at;
        st = be->copy(dev->self, upper.base[kind], 1, whole->base[kind], 0, bytes, err);
        at += sx_round_up(bytes, UPPER_ALIGN);
    }
    if (st != SX_OK) {
        be->release(dev->self, upper.block);
        return st;
    }
    sx_view_bind(&upper.view, (const void *const *)upper.base);
    set_space(&upper);
    run->replica[run->replicas++] = upper;
    return SX_OK;
}

sx_status sx_run_add_host(sx_run *run, sx_device *host, sx_progress *progress, sx_err *err)
{
    sx_store copy;
    sx_replica *r = &run->replica[run->replicas];
    sx_status st = sx_run_on_host(run, &copy, progress, err);

    if (st != SX_OK)
        return st;
    *r = (sx_replica){.dev = host, .part = SX_WHOLE, .view = copy.view};
    memcpy(r->base, copy.base, sizeof r->base);
    set_space(r);
    run->replicas++;
    return SX_OK;
}

/* ---- what there is -------------------------------------------------------------- */

const sx_replica *sx_run_find(const sx_run *run, uint32_t gpu, uint32_t part)
{
    for (unsigned i = 0; i < run->replicas; i++)
        if (!run->replica[i].dev->backend->gpu == !gpu && run->replica[i].part == part)
            return &run->replica[i];
    return NULL;
}

uint32_t sx_run_place(const sx_run *run)
{
    return sx_run_find(run, 1, SX_UPPER)       ? SX_PLACE_HYBRID
           : run->replicas > 1                 ? SX_PLACE_BOTH
           : run->replica[0].dev->backend->gpu ? SX_PLACE_DEVICE
                                               : SX_PLACE_HOST;
}

uint64_t sx_replica_bytes(const sx_replica *r, unsigned kind)
{
    return r->part == SX_UPPER ? sx_upper_bytes(&r->view, kind) : sx_section_bytes(&r->view, kind);
}

uint64_t sx_run_used(const sx_run *run)
{
    uint64_t bytes = 0;

    for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
        bytes += sx_replica_bytes(&run->replica[0], kind);
    return bytes;
}

uint64_t sx_run_section(const sx_run *run, unsigned kind)
{
    return run->replica[0].space[kind];
}

uint64_t sx_run_bytes(const sx_run *run)
{
    uint64_t bytes = 0;

    for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
        bytes += sx_run_section(run, kind);
    return bytes;
}

/* ---- on the host ------------------------------------------------------------------- */

sx_status sx_run_on_host(const sx_run *run, sx_store *out, sx_progress *progress, sx_err *err)
{
    const sx_device *dev = run->replica[0].dev;
    sx_store there;

    borrow(run, &there);
    return sx_store_on_host(&there, dev->backend, dev->self, out, progress, err);
}

void sx_run_leave(const sx_run *run, sx_store *on_host)
{
    sx_store_leave(on_host, run->replica[0].dev->backend);
}

sx_status sx_run_compare(const sx_run *run, const sx_store *copy, sx_err *err)
{
    const sx_replica *r = &run->replica[1];

    if (run->replicas < 2 || r->part != SX_WHOLE)
        return SX_OK;
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        uint64_t bytes = sx_section_bytes(&r->view, kind);
        if (bytes > 0 && memcmp(r->base[kind], copy->base[kind], bytes) != 0)
            return sx_fail(err, SX_ECORRUPT, "place=both: section %s is not the same on the host "
                           "and on the device", sx_section_name(&r->view, kind));
    }
    return SX_OK;
}

uint32_t sx_shared_levels(const sx_replica *upper, const sx_replica *whole)
{
    uint32_t levels = sx_view_levels(&upper->view);

    return levels == sx_view_levels(&whole->view) ? levels : 0;
}
