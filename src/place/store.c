#include "place/store.h"

#include "base/alloc.h"

#include <sys/mman.h>

uint64_t sx_store_bytes(const sx_store *store)
{
    uint64_t bytes = 0;

    for (unsigned kind = 0; kind < SX_SECTION_KINDS; kind++)
        bytes += sx_section_bytes(&store->view, kind);
    return bytes;
}

void sx_store_bind(sx_store *store)
{
    sx_view_bind(&store->view, (const void *const *)store->base);
}

void sx_store_drop(sx_store *store, const sx_backend *backend, void *self)
{
    if (store->map)
        munmap(store->map, store->map_bytes);
    for (unsigned kind = 0; kind < SX_SECTION_KINDS; kind++) {
        if (!store->map)
            backend->release(self, store->base[kind]);
        store->base[kind] = NULL;
    }
    store->map = NULL;
}
