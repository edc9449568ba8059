/* pgm_make.h - a pgm's segments out of a sorted array, on the host: part by
 * part, level by level. */
#ifndef SX_PGM_MAKE_H
#define SX_PGM_MAKE_H

#include "family/view.h"

/* Fits lines, wrong by at most eps, to part [first, end) of n keys; returns how
 * many there are, at most sx_pgm_most(). hulls: sx_hull_entries() of them. */
uint64_t sx_pgm_fit(uint32_t width, const void *keys, uint64_t n, uint64_t first, uint64_t end,
                    uint32_t eps, uint32_t *hulls, void *out_keys, sx_segment *out);

/* Makes level l of a section (its two arrays from their beginnings on) of its
 * segments: puts the end and what is behind it. */
void sx_pgm_put_level(const sx_view *v, uint32_t l, const void *from_keys, const sx_segment *from,
                      unsigned char *keys, unsigned char *segments);

#endif
