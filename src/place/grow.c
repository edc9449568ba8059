#include "place/grow.h"

#include "base/alloc.h"

#include <string.h>
#include <sys/mman.h>

/* ---- extents ------------------------------------------------------------------------ */

static void release(const sx_device *dev, void *block, uint64_t map_bytes)
{
    if (map_bytes > 0)
        munmap(block, map_bytes);
    else
        dev->backend->release(dev->self, block);
}

static void let_go(sx_extent *e)
{
    if (!e || atomic_fetch_sub(&e->users, 1) > 1)
        return;
    release(e->dev, e->block, e->map_bytes);
    sx_release(e);
}

void sx_extents_drop(sx_replica *r)
{
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        let_go(r->extent[kind]);
        r->extent[kind] = NULL;
    }
}

static sx_status new_extent(sx_extent **out, sx_device *dev, void *block, uint64_t map_bytes,
                            sx_err *err)
{
    sx_status st = sx_alloc((void **)out, sizeof **out, "an extent", err);

    if (st == SX_OK) {
        (*out)->dev = dev;
        (*out)->block = block;
        (*out)->map_bytes = map_bytes;
        atomic_init(&(*out)->users, 1);
    }
    return st;
}

/* The memory of a replica goes to extents: one for a file or for the block of an upper part, in
 * which all sections are, or one for each section. Readers look at neither. */
static sx_status make_extents(sx_replica *r, sx_err *err)
{
    void *all = r->map ? r->map : r->block;
    sx_extent *made[SX_SECTIONS] = {NULL}, *common = NULL;
    sx_status st = SX_OK;

    if (r->counted)
        return SX_OK;
    if (all)
        st = new_extent(&common, r->dev, all, r->map ? r->map_bytes : 0, err);
    for (unsigned kind = 0; kind < SX_SECTIONS && st == SX_OK; kind++) {
        if (!r->base[kind])
            continue;
        if (common) {
            atomic_fetch_add(&common->users, 1);
            made[kind] = common;
        } else {
            st = new_extent(&made[kind], r->dev, r->base[kind], 0, err);
        }
    }
    if (st != SX_OK) {            /* the memory is still the replica's own */
        for (unsigned kind = 0; kind < SX_SECTIONS && !common; kind++)
            sx_release(made[kind]);
        sx_release(common);
        return st;
    }
    if (common)
        let_go(common);           /* sections have it; without any it is gone */
    memcpy(r->extent, made, sizeof r->extent);
    r->counted = 1;
    return SX_OK;
}

sx_status sx_run_follow(sx_run *next, sx_run *run, sx_err *err)
{
    for (unsigned i = 0; i < run->replicas; i++) {
        sx_status st = make_extents(&run->replica[i], err);
        if (st != SX_OK)
            return st;
    }
    *next = *run;
    for (unsigned i = 0; i < next->replicas; i++)
        for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
            if (next->replica[i].extent[kind])
                atomic_fetch_add(&next->replica[i].extent[kind]->users, 1);
    return SX_OK;
}

/* ---- growing ------------------------------------------------------------------------- */

/* Whether it is a block of base/alloc.h by itself. In a file others are before it, if only the
 * front; an upper part is on a device. */
static int own_block(const sx_replica *r, unsigned kind)
{
    return r->extent[kind] && !r->dev->backend->gpu && r->extent[kind]->block == r->base[kind];
}

/* A section gets memory of its own, with the first `kept` bytes of what it had. pool: it will
 * grow. */
static sx_status move(sx_replica *r, unsigned kind, uint64_t kept, uint64_t bytes, int pool,
                      sx_err *err)
{
    const sx_backend *be = r->dev->backend;
    const char *what = sx_section_name(&r->view, kind);
    sx_extent *e = NULL;
    void *block = NULL;
    sx_status st = be->gpu ? be->alloc(r->dev->self, &block, bytes, what, err)
                   : pool  ? sx_alloc_pool(&block, bytes, what, err)
                           : sx_alloc(&block, bytes, what, err);

    if (st != SX_OK)
        return st;
    if (own_block(r, kind) && sx_has_small_pages(r->base[kind]))
        sx_small_pages(block);
    if (kept > 0 && be->gpu)
        st = be->copy(r->dev->self, block, 1, r->base[kind], 1, kept, err);
    else if (kept > 0)
        memcpy(block, r->base[kind], kept);
    if (st == SX_OK)
        st = new_extent(&e, r->dev, block, 0, err);
    if (st != SX_OK) {
        release(r->dev, block, 0);
        return st;
    }
    if (r->part == SX_UPPER)      /* the block of all stays, as long as others are there */
        r->block_bytes += bytes - (r->extent[kind] && r->extent[kind]->block != r->block
                                       ? r->space[kind] : 0);
    let_go(r->extent[kind]);
    r->extent[kind] = e;
    r->base[kind] = block;
    r->space[kind] = bytes;
    sx_view_bind(&r->view, (const void *const *)r->base);
    return SX_OK;
}

static sx_status grow(sx_growing *g, unsigned kind, uint64_t bytes, sx_err *err)
{
    sx_replica *r = ((sx_replica_growing *)(void *)g)->r;
    uint64_t most, wanted;
    sx_status st;

    if (bytes <= r->space[kind])
        return SX_OK;
    most = own_block(r, kind) ? sx_alloc_most_of(r->base[kind]) : 0;
    if (bytes > most)             /* half as much again, so that it seldom moves */
        return move(r, kind, sx_replica_bytes(r, kind), bytes + bytes / 2, 1, err);
    wanted = sx_min64(sx_round_up(bytes + bytes / 8, SX_LINE), most);
    st = sx_alloc_extend(r->base[kind], wanted, sx_section_name(&r->view, kind), err);
    if (st == SX_OK)
        r->space[kind] = wanted;
    return st;
}

static sx_status renew(sx_growing *g, unsigned kind, uint64_t bytes, sx_err *err)
{
    return move(((sx_replica_growing *)(void *)g)->r, kind, 0, bytes, 0, err);
}

void sx_replica_grows(sx_replica_growing *out, sx_replica *r)
{
    *out = (sx_replica_growing){{&r->view, r->base, r->space, grow, renew}, r};
}
