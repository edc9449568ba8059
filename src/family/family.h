/* family.h - the table that every family fills, and the list of tables.
 *
 * What a family has of its own is in its folder: the part of the view, parameters and
 * sections (FAM.h), shape, sizes, check and explanation (FAM.c), the walk (FAM_walk_impl.h)
 * and the drivers of backends. Who wants to know something of an index asks a trait or
 * calls the table. */
#ifndef SX_FAMILY_H
#define SX_FAMILY_H

#include "family/spec.h"
#include "family/view.h"

/* What sections are made for. */
typedef struct {
    uint32_t gpu;
    uint32_t node_bytes;          /* of a node, unless a spec says k: what one step of a walk
                                     reads best */
} sx_target;

/* What is known of the keys. */
typedef struct {
    uint64_t n;                   /* that are stored: each one, or each value once */
    uint64_t ranks;               /* that there are */
    uint32_t width, row_bytes;    /* row_bytes: 0, 4, 8 */
    uint32_t distinct;            /* none is stored twice */
} sx_facts;

typedef struct {
    const char *name, *what;
    uint32_t traits;              /* see view.h */
    const sx_param *params;
    const char *sections[SX_SECTIONS - SX_SEC_OWN];   /* names of its own */

    /* Completes a view, whose head has n, width and row bytes and nothing else yet, and a
     * spec, whose layout is resolved: all that n and the spec determine. */
    sx_status (*shape)(sx_view *v, sx_spec *spec, const sx_target *target, sx_err *err);
    /* Keys of a block of pairs, unless the spec says it; 0: as many as a node has. */
    uint32_t (*block)(const sx_view *v, const sx_spec *spec, const sx_target *target);
    /* The rest of a shape that depends on keys: from what a file's section `meta` says.
     * And the most that could be. NULL where sizes are known. */
    sx_status (*complete)(sx_view *v, const void *meta, uint64_t bytes, sx_err *err);
    void (*most)(sx_view *v);
    unsigned meta;                /* that section, or 0 */

    /* Of its own section: bytes, and those of them at the start that are its upper part,
     * what a walk reads before it comes to the leaves. NULL: it has none. */
    uint64_t (*bytes)(const sx_view *v, unsigned section);
    uint64_t (*upper)(const sx_view *v, unsigned section);
    /* How many levels that is (state.h). NULL: none. */
    uint32_t (*levels)(const sx_view *v);
    void (*bind)(sx_view *v, const void *const base[SX_SECTIONS]);

    /* The numbered invariants of FAM.h, of keys that are in order. NULL: it has none. */
    sx_status (*check)(const sx_view *v, sx_err *err);
    const char *order, *unused;   /* what its rules of order and of unused slots are called */
    /* Its line of text, or its members of a JSON object, each behind a comma. */
    void (*explain)(const sx_view *v, const sx_spec *spec, sx_text *t, sx_format format);
    /* Whether parameters that are right each by itself go together: NULL, or a sentence
     * why not, and the two parameters' bits. */
    const char *(*together)(const sx_spec *spec, uint32_t bits[2]);
} sx_family;

const sx_family *sx_family_of(uint32_t family);
/* Adds the names of its parameters: "k, layout, block". */
void sx_family_params(const sx_family *family, sx_text *t);

#endif
