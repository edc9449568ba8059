/* store.h - a run as data in one memory: it is built, saved in a file, and placed on a
 * device. When it is complete it becomes the first replica of a run (run.h).
 *
 * Sections are flat arrays without pointers, so that saving is writing them
 * and loading is mapping them. */
#ifndef SX_STORE_H
#define SX_STORE_H

#include "place/backend.h"
#include "place/notes.h"

#define SX_WHY_MAX 2048

/* What is true of a run wherever its sections are; it goes into its file with them. Fields
 * are listed once: a store has them as its own and, to be copied together, as `info`. */
#define SX_RUN_INFO                                                                      \
    sx_spec spec;                 /* resolved */                                         \
    int key_type;                                                                        \
    uint64_t max_row;                                                                    \
    char why[SX_WHY_MAX];         /* why auto chose this spec, or a pgm its eps; or "" */

typedef struct {
    SX_RUN_INFO
} sx_run_info;

typedef struct {
    union {
        struct {
            SX_RUN_INFO
        };
        sx_run_info info;
    };
    sx_view view;                 /* bound to base[] */
    void *base[SX_SECTIONS];      /* NULL: no such section */
    void *map;                    /* the file that sections lie in; NULL: each section
                                     is a block of its backend */
    uint64_t map_bytes;
    sx_notes notes;               /* the index's (query/version.h), while it is saved or
                                     loaded */
} sx_store;

uint64_t sx_store_bytes(const sx_store *store);
/* What sections of this shape take of the host: more than their bytes, as pools have whole pages. */
uint64_t sx_host_bytes(const sx_view *shape);
void sx_store_bind(sx_store *store);
/* Gives back all sections. */
void sx_store_drop(sx_store *store, const sx_backend *backend, void *self);

/* The store where the host can read it: itself, or a copy if its backend keeps
 * sections elsewhere. sx_store_leave() gives a copy back. Here and below, progress
 * counts bytes. */
sx_status sx_store_on_host(const sx_store *store, const sx_backend *backend, void *self,
                           sx_store *out, sx_progress *progress, sx_err *err);
void sx_store_leave(sx_store *on_host, const sx_backend *backend);

/* A store on the host as a file holds it: without what is free in its pools. That is itself, or
 * has sections of its own, which sx_store_untidy() gives back. */
sx_status sx_store_tidy(const sx_store *store, sx_store *out, sx_err *err);
void sx_store_untidy(sx_store *tidy, const sx_store *store);
/* Bytes of those sections. */
uint64_t sx_tidy_bytes(const sx_view *v);

/* Moves a store from the host to where the backend wants it. On failure it is
 * gone. */
sx_status sx_store_place(sx_store *store, const sx_backend *backend, void *self,
                         sx_progress *progress, sx_err *err);

/* doc/FORMAT.md describes the file. */
sx_status sx_store_save(const sx_store *store, const char *path, sx_progress *progress,
                        sx_err *err);
/* flags: SX_LOAD_. The store is on the host afterwards. max_bytes: the most memory for a
 * copy; 0: any */
sx_status sx_store_load(sx_store *out, const char *path, unsigned flags, uint64_t max_bytes,
                        sx_progress *progress, sx_err *err);

#endif
