/* both.c - place=both: the whole index on a GPU and once more on the host, and who
 * answers (cost.h). Columns in device memory and streams are the GPU's. */
#include "query/index.h"

#include "base/alloc.h"

#include <string.h>

sx_status sx_both_new(sx_index *ix, sx_progress *progress, sx_err *err)
{
    sx_both *b;
    sx_status st = sx_alloc_zero((void **)&b, sizeof *b, "an index on both sides", err);

    if (st != SX_OK)
        return st;
    st = sx_device_host(ix->dev, &b->host, err);
    if (st == SX_OK)
        st = sx_store_on_host(&ix->store, ix->dev->backend, ix->dev->self, &b->store, progress,
                              err);
    if (st == SX_OK) {
        sx_take_usual_search(b->host, &b->store.view);        /* not as the GPU does */
        ix->both = b;
    } else {
        sx_release(b);
    }
    return st;
}

void sx_both_free(sx_index *ix)
{
    if (!ix->both)
        return;
    sx_store_drop(&ix->both->store, ix->both->host->backend, ix->both->host->self);
    sx_release(ix->both);
    ix->both = NULL;
}

/* Columns of a large batch may be pinned: that makes a difference to the GPU. */
static uint32_t faster(const sx_index *ix, sx_batch *b, const void *in, const void *out)
{
    const sx_device *dev = ix->dev;
    uint32_t side = sx_cost_side(&ix->cost, b);

    if (side == SX_SIDE_GPU || ix->cost.side)
        return side;
    b->pinned = 1;
    if (sx_cost_side(&ix->cost, b) == side || !dev->backend->is_pinned(dev->self, in) ||
        (out && !dev->backend->is_pinned(dev->self, out)))
        return side;
    return SX_SIDE_GPU;
}

sx_answering sx_both_side(const sx_index *ix, sx_batch *b, const void *in, const void *out)
{
    if (!ix->both || b->n == 0 || faster(ix, b, in, out) == SX_SIDE_GPU)
        return (sx_answering){ix->dev, &ix->store.view};
    return (sx_answering){ix->both->host, &ix->both->store.view};
}

int sx_both_again(const sx_index *ix, const sx_batch *b, sx_status st, sx_answering *who)
{
    if (st != SX_ENOMEM || !ix->both || b->n == 0 || who->at != ix->dev)
        return 0;
    *who = (sx_answering){ix->both->host, &ix->both->store.view};
    return 1;
}

sx_status sx_both_check(const sx_index *ix, const sx_store *copy, sx_err *err)
{
    const sx_store *s = &ix->both->store;

    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        uint64_t bytes = sx_section_bytes(&s->view, kind);
        if (bytes > 0 && memcmp(s->base[kind], copy->base[kind], bytes) != 0)
            return sx_fail(err, SX_ECORRUPT, "place=both: section %s is not the same on the host "
                           "and on the device", sx_section_name(&ix->store.view, kind));
    }
    return SX_OK;
}
