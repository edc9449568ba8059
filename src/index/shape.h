/* shape.h - from a spec to the exact shape of an index, and its sections. */
#ifndef SX_SHAPE_H
#define SX_SHAPE_H

#include "index/spec.h"
#include "index/view.h"

/* Fills a view but for its pointers, and completes the spec: every
 * parameter the family has is given afterwards. node_bytes: what a node has
 * unless the spec says k; row_bytes: 0, 4, 8. */
sx_status sx_shape(sx_view *out, sx_spec *spec, uint32_t node_bytes, uint32_t width,
                   uint32_t row_bytes, uint64_t n, sx_err *err);

/* The sections of an index, in the order of the file. */
typedef enum { SX_SEC_KEYS, SX_SEC_ROWS, SX_SEC_PAIRS, SX_SEC_PIVOTS, SX_SEC_PIECES, SX_SEC_GUIDE,
               SX_SEC_LEVELS, SX_SEC_SEGMENTS,
               SX_SECTION_KINDS } sx_section_kind;

const char *sx_section_name(sx_section_kind kind);
/* Bytes of a section in this shape; 0: there is none (or it is empty). */
uint64_t sx_section_bytes(const sx_view *v, sx_section_kind kind);
/* A pgm's levels, root first, when they are known: so many segments each.
 * Fails if no keys could have made them. */
sx_status sx_shape_levels(sx_view *v, const uint64_t *segments, uint64_t levels, sx_err *err);
/* The most there could be. */
void sx_shape_levels_most(sx_view *v);
/* Bytes at the start of a section that are its index's top: what a walk reads
 * before it comes to the leaves, and what a device has of a hybrid index. 0:
 * nothing of it is. */
uint64_t sx_upper_bytes(const sx_view *v, sx_section_kind kind);
/* Sorted keys and rows, each in whole lines, are sections of this shape as
 * they are: nothing needs to be moved. */
int sx_shape_is_arrays(const sx_view *v);
/* Points the view at its sections; base[kind] NULL where there is none. */
void sx_view_bind(sx_view *v, const void *const base[SX_SECTION_KINDS]);

#endif
