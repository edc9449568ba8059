#include "place/store.h"

#include "base/alloc.h"

#include <sys/mman.h>

uint64_t sx_store_bytes(const sx_store *store)
{
    uint64_t bytes = 0;

    for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
        bytes += sx_section_bytes(&store->view, kind);
    return bytes;
}

uint64_t sx_host_bytes(const sx_view *v)
{
    uint64_t all = 0;

    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        uint64_t bytes = sx_section_bytes(v, kind);
        all += sx_section_pool(v, kind) ? sx_alloc_pool_bytes(bytes) : bytes;
    }
    return all;
}

void sx_store_bind(sx_store *store)
{
    sx_view_bind(&store->view, (const void *const *)store->base);
}

void sx_store_drop(sx_store *store, const sx_backend *backend, void *self)
{
    if (store->map)
        munmap(store->map, store->map_bytes);
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        if (!store->map)
            backend->release(self, store->base[kind]);
        store->base[kind] = NULL;
    }
    store->map = NULL;
}

/* Bytes that are copied between two looks at progress. */
#define COPY_PIECE (64ull << 20)

static sx_status copy_section(const sx_backend *backend, void *self, void *to, int to_there,
                              const void *from, int from_there, uint64_t bytes,
                              sx_progress *progress, sx_err *err)
{
    sx_status st = SX_OK;

    for (uint64_t at = 0, n; at < bytes && st == SX_OK; at += n) {
        n = bytes - at < COPY_PIECE ? bytes - at : COPY_PIECE;
        st = backend->copy(self, (unsigned char *)to + at, to_there,
                           (const unsigned char *)from + at, from_there, n, err);
        sx_progress_add(progress, n);
        if (st == SX_OK)
            st = sx_progress_status(progress, err);
    }
    return st;
}

sx_status sx_store_on_host(const sx_store *store, const sx_backend *backend, void *self,
                           sx_store *out, sx_progress *progress, sx_err *err)
{
    sx_store copy = *store;
    sx_status st = SX_OK;

    if (backend->gpu) {
        sx_progress_units(progress, sx_store_bytes(store));
        for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
            copy.base[kind] = NULL;
        for (unsigned kind = 0; kind < SX_SECTIONS && st == SX_OK; kind++) {
            uint64_t bytes = sx_section_bytes(&store->view, kind);
            if (bytes == 0)
                continue;
            st = sx_alloc(&copy.base[kind], bytes, sx_section_name(&store->view, kind), err);
            if (st == SX_OK)
                st = copy_section(backend, self, copy.base[kind], 0, store->base[kind], 1, bytes,
                                  progress, err);
        }
        if (st != SX_OK) {
            sx_store_leave(&copy, backend);
            return st;
        }
        sx_store_bind(&copy);
    }
    *out = copy;
    return SX_OK;
}

void sx_store_leave(sx_store *on_host, const sx_backend *backend)
{
    if (backend->gpu)
        sx_store_drop(on_host, &sx_backend_cpu, NULL);
}

/* Whether it has nodes, or numbers of some. */
static int tidied(const sx_view *v, unsigned kind)
{
    return kind >= SX_SEC_OWN || sx_section_pool(v, kind);
}

uint64_t sx_tidy_bytes(const sx_view *v)
{
    const sx_family *family = sx_family_of(v->family);
    sx_view tidy;
    uint64_t bytes = 0;

    if (!family->tidy || !family->tidy_shape(v, &tidy))
        return 0;
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
        bytes += tidied(&tidy, kind) ? sx_section_bytes(&tidy, kind) : 0;
    return bytes;
}

sx_status sx_store_tidy(const sx_store *store, sx_store *out, sx_err *err)
{
    const sx_family *family = sx_family_of(store->view.family);
    sx_status st = SX_OK;

    *out = *store;
    if (!family->tidy || !family->tidy_shape(&store->view, &out->view))
        return SX_OK;
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        uint64_t bytes = sx_section_bytes(&out->view, kind);
        if (!tidied(&out->view, kind))
            continue;
        out->base[kind] = NULL;
        if (bytes > 0 && st == SX_OK)
            st = sx_alloc(&out->base[kind], bytes, sx_section_name(&out->view, kind), err);
    }
    if (st != SX_OK) {
        sx_store_untidy(out, store);
        return st;
    }
    family->tidy(&store->view, &out->view, out->base);
    sx_store_bind(out);
    return SX_OK;
}

void sx_store_untidy(sx_store *tidy, const sx_store *store)
{
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
        if (tidy->base[kind] != store->base[kind])
            sx_release(tidy->base[kind]);
}

sx_status sx_store_place(sx_store *store, const sx_backend *backend, void *self,
                         sx_progress *progress, sx_err *err)
{
    sx_store there = *store;
    sx_status st = SX_OK;

    if (!backend->gpu)
        return SX_OK;
    sx_progress_units(progress, sx_store_bytes(store));
    there.map = NULL;
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
        there.base[kind] = NULL;
    for (unsigned kind = 0; kind < SX_SECTIONS && st == SX_OK; kind++) {
        uint64_t bytes = sx_section_bytes(&store->view, kind);
        if (bytes == 0)
            continue;
        st = backend->alloc(self, &there.base[kind], bytes, sx_section_name(&store->view, kind), err);
        if (st == SX_OK)
            st = copy_section(backend, self, there.base[kind], 1, store->base[kind], 0, bytes,
                              progress, err);
    }
    sx_store_drop(store, &sx_backend_cpu, NULL);
    if (st != SX_OK) {
        sx_store_drop(&there, backend, self);
        return st;
    }
    *store = there;
    sx_store_bind(store);
    return SX_OK;
}
