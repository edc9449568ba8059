/* pick.h - random indexes: a spec, a number of keys, and the keys. */
#ifndef PICK_H
#define PICK_H

#include "support.h"

/* Any family, layout and parameters there can be. */
void pick_spec(rnd *r, char *out, size_t space);
/* Up to 8192; small numbers and those around powers of two are more frequent. */
uint64_t pick_size(rnd *r);
/* Runs of different kinds of keys, so that one set has gaps, clusters and
 * duplicates. */
void pick_keys(rnd *r, int type, uint64_t n, unsigned char *out);

#endif
