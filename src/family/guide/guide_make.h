/* guide_make.h - a guide's pieces and records out of the sorted array, on the
 * host, one by one. */
#ifndef SX_GUIDE_MAKE_H
#define SX_GUIDE_MAKE_H

#include "family/view.h"

/* First key number `piece`; the largest key behind the last piece. */
void sx_guide_make_first(const sx_view *v, const unsigned char *keys, uint64_t piece,
                         unsigned char *to);
sx_piece_map sx_guide_make_map(const sx_view *v, const unsigned char *keys, uint64_t piece);
/* The pieces are in v. */
void sx_guide_make_record(const sx_view *v, const unsigned char *keys, uint64_t record,
                          unsigned char to[SX_GUIDE_RECORD]);

#endif
