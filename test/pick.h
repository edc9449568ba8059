/* pick.h - random indexes: a spec, how many keys, and which. */
#ifndef PICK_H
#define PICK_H

#include "support.h"

/* Any family, layout and parameters there can be. */
void pick_spec(rnd *r, char *out, size_t space);
/* Up to 8192, small ones and those around powers of two more often. */
uint64_t pick_size(rnd *r);
/* Runs of different kinds of keys, so that one set has gaps, clusters and
 * duplicates. */
void pick_keys(rnd *r, int type, uint64_t n, unsigned char *out);

#endif
