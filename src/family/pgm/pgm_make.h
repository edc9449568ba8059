/* pgm_make.h - a pgm's segments out of a sorted array, on the host: part by
 * part, level by level. */
#ifndef SX_PGM_MAKE_H
#define SX_PGM_MAKE_H

#include "family/view.h"

/* Fits segments, wrong by at most eps, to part [first, end) of n keys. Returns
 * how many there are, at most sx_pgm_most(). hulls: sx_hull_entries() of them. */
uint64_t sx_pgm_fit(uint32_t width, const void *keys, uint64_t n, uint64_t first, uint64_t end,
                    uint32_t eps, uint32_t *hulls, void *out_keys, sx_segment *out);

/* Puts the segments of level l into a section (its two arrays from their
 * beginnings on), with the end and what is behind it. */
void sx_pgm_put_level(const sx_view *v, uint32_t l, const void *from_keys, const sx_segment *from,
                      unsigned char *keys, unsigned char *segments);

#endif
