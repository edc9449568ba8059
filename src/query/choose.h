/* choose.h - what `auto` chooses among, between choose.c and contest.c. */
#ifndef SX_CHOOSE_H
#define SX_CHOOSE_H

#include "query/index.h"

#include "base/text.h"

/* Specs that may win, the likeliest last. */
typedef struct {
    unsigned count;
    sx_spec spec[SX_CONTENDERS];
} sx_contenders;

/* Builds one of them into *s, out of the sorted arrays. */
sx_status sx_contender_build(sx_device *dev, sx_store *s, const sx_spec *spec, sx_sorted *sorted,
                             const sx_input *in, sx_err *err);

/* Builds the fastest of them, and says why. SX_ENOMEM: there is no memory for questions,
 * or for any contender beside them; nothing is built. */
sx_status sx_contest(sx_device *dev, sx_store *s, uint32_t purpose, const sx_contenders *list,
                     sx_sorted *sorted, const sx_input *in, sx_text *why, sx_err *err);

#endif
