/* family.h - the table that every family fills, and the list of tables.
 *
 * A family's own code is in its folder: its part of the view, parameters and sections
 * (FAM.h), shape, sizes, check and explanation (FAM.c), the walk (FAM_walk_impl.h) and the
 * drivers of backends. Other code asks a trait or calls the table. */
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
    uint64_t n;                   /* keys that are stored: each one, or each value once */
    uint64_t ranks;               /* all keys there are */
    uint32_t width, row_bytes;    /* row_bytes: 0, 4, 8 */
    uint32_t distinct;            /* no key is stored twice */
    sx_strings strings;           /* what sections of strings have; where they are does not
                                     matter */
} sx_facts;

typedef struct {
    const char *name, *what;
    /* Of a family whose name is that of one before it: the parameter that means this one, and a
     * spec of it. NULL: its name is one. */
    const char *by, *listed;
    uint32_t traits;              /* see view.h */
    const sx_param *params;
    const char *sections[SX_SECTIONS - SX_SEC_OWN];   /* names of its own sections */

    /* Completes a view, whose head lacks only slots and unit, and a spec, whose layout is
     * resolved: by all that n and the spec determine. */
    sx_status (*shape)(sx_view *v, sx_spec *spec, const sx_target *target, sx_err *err);
    /* Keys of a block of pairs, if the spec does not say it; 0: as many as a node has. */
    uint32_t (*block)(const sx_view *v, const sx_spec *spec, const sx_target *target);
    /* complete: the rest of a shape that depends on keys, from a file's section `meta`. most:
     * the most that it could be. NULL if sizes are known. */
    sx_status (*complete)(sx_view *v, const void *meta, uint64_t bytes, sx_err *err);
    void (*most)(sx_view *v);
    unsigned meta;                /* that section, or 0 */

    /* bytes: of a section of its own. upper: bytes at the start of any section that are the
     * upper part, which a walk reads before it comes to the leaves. NULL: there are none. */
    uint64_t (*bytes)(const sx_view *v, unsigned section);
    uint64_t (*upper)(const sx_view *v, unsigned section);
    /* Levels of the upper part (state.h). NULL: none. */
    uint32_t (*levels)(const sx_view *v);
    void (*bind)(sx_view *v, const void *const base[SX_SECTIONS]);
    /* Whether a section, of its own or not, is a pool, which may grow (growing.h). NULL: none. */
    int (*pool)(const sx_view *v, unsigned section);
    /* What a file holds, if pools have nodes that are free: shape says which sections there would
     * be without these, and returns 0 if there are none; tidy fills those of its own and pools,
     * which base[] has space for. NULL: there are never any. */
    int (*tidy_shape)(const sx_view *v, sx_view *tidy);
    void (*tidy)(const sx_view *v, const sx_view *tidy, void *const base[SX_SECTIONS]);

    /* Checks the family's numbered invariants (FAM.h); keys are in order. NULL: it has none. */
    sx_status (*check)(const sx_view *v, sx_err *err);
    const char *order, *unused;   /* what its rules of order and of unused slots are called */
    /* Its line of text, or its members of a JSON object, each behind a comma. */
    void (*explain)(const sx_view *v, const sx_spec *spec, sx_text *t, sx_format format);
    /* Whether parameters that are right each by itself go together: NULL, or a sentence why
     * not, with the bits of two parameters. */
    const char *(*together)(const sx_spec *spec, uint32_t bits[2]);
} sx_family;

const sx_family *sx_family_of(uint32_t family);
/* What lists call it: a spec that means this family and no other. */
const char *sx_family_listed(uint32_t family);
/* Bytes of the codes that it searches for strings (keys/strings.h), unless a test says otherwise:
 * sx_codes_told is 0, 4 or 8. Any family can have either. */
uint32_t sx_family_codes(uint32_t family);
extern uint32_t sx_codes_told;
/* Adds the names of its parameters: "k, layout, block". */
void sx_family_params(const sx_family *family, sx_text *t);

#endif
