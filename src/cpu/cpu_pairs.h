/* cpu_pairs.h - rows that lie beside their keys, in blocks. */
#ifndef SX_CPU_PAIRS_H
#define SX_CPU_PAIRS_H

#include "family/view.h"

/* The rows of m slots whose keys are q; SX_MISS where there is another key, or no slot. */
void sx_cpu_get_pairs(const sx_view *v, const void *q, const uint64_t *slot, unsigned m,
                      uint64_t *row);

/* The rows of ranks [a, b) as numbers of 4 or 8 bytes. Slots are ranks, or leave gaps. */
void sx_cpu_pair_rows(const sx_view *v, uint64_t a, uint64_t b, void *out, uint32_t bytes);

#endif
