/* shape.h - from a spec to the exact shape of an index, and its sections. */
#ifndef SX_SHAPE_H
#define SX_SHAPE_H

#include "family/family.h"

/* Fills a view but for its pointers, and completes the spec: every
 * parameter the family has is given afterwards. */
sx_status sx_shape(sx_view *out, sx_spec *spec, const sx_target *target, const sx_facts *facts,
                   sx_err *err);
/* For a file, whose spec is complete. */
extern const sx_target sx_any_target;

/* For families: sets slots for `used` keys, in whole lines or blocks; then the unit of a
 * sorted array, a line or a block (see sx_view). */
void sx_shape_slots(sx_view *v, uint64_t used);
uint32_t sx_array_unit(const sx_view *v);

/* NULL: the family has no such section. */
const char *sx_section_name(const sx_view *v, unsigned section);
/* Bytes of a section in this shape; 0: there is none (or it is empty). */
uint64_t sx_section_bytes(const sx_view *v, unsigned section);
/* Bytes at the start of a section that are the upper part: what a walk reads before it
 * comes to the leaves, and what a device has of a hybrid index. 0: none. */
uint64_t sx_upper_bytes(const sx_view *v, unsigned section);
/* Levels of the upper part (state.h); 0: there is none. */
uint32_t sx_view_levels(const sx_view *v);
/* Whether a section is an array as the sort leaves it: sorted keys in whole lines, rows in
 * order of rank, starts, or what strings have. Then nothing needs to be moved. */
int sx_section_stays(const sx_view *v, unsigned section);
/* Whether a section is a pool (growing.h). */
int sx_section_pool(const sx_view *v, unsigned section);
/* Points the view at its sections; base[section] is NULL if there is none. */
void sx_view_bind(sx_view *v, const void *const base[SX_SECTIONS]);

#endif
