/* store.h - an index as data: what a file holds and a device places.
 *
 * Sections are flat arrays without pointers, so that saving is writing them
 * and loading is mapping them. */
#ifndef SX_STORE_H
#define SX_STORE_H

#include "place/backend.h"

#define SX_WHY_MAX 2048

typedef struct {
    sx_spec spec;                 /* resolved */
    sx_view view;                 /* bound to base[] */
    int key_type;
    uint64_t max_row;
    void *base[SX_SECTION_KINDS]; /* NULL: no such section */
    void *map;                    /* the file they lie in; NULL: each section
                                     is a block of its backend */
    uint64_t map_bytes;
    char why[SX_WHY_MAX];         /* why auto chose this spec, or "" */
} sx_store;

uint64_t sx_store_bytes(const sx_store *store);
void sx_store_bind(sx_store *store);
/* Gives back all sections. */
void sx_store_drop(sx_store *store, const sx_backend *backend, void *self);

/* doc/FORMAT.md describes the file. */
sx_status sx_store_save(const sx_store *store, const char *path, sx_err *err);
/* flags: SX_LOAD_ */
sx_status sx_store_load(sx_store *out, const char *path, unsigned flags, sx_err *err);

#endif
