/* choose.h - what the files of this room have of each other. */
#ifndef SX_CHOOSE_H
#define SX_CHOOSE_H

#include "query/index.h"

#include "base/text.h"

/* ---- contest.c ------------------------------------------------------------------ */

/* Specs that may win, the likeliest last. */
typedef struct {
    unsigned count;
    sx_spec spec[SX_CONTENDERS];
} sx_contenders;

/* Builds one contender into *s, out of the sorted arrays. */
sx_status sx_contender_build(sx_device *dev, sx_store *s, const sx_spec *spec, sx_sorted *sorted,
                             const sx_input *in, sx_err *err);

/* Builds the fastest contender, and says why. SX_ENOMEM: there is no memory for questions,
 * or for any contender beside them; nothing is built. */
sx_status sx_contest(sx_device *dev, sx_store *s, uint32_t purpose, const sx_contenders *list,
                     sx_sorted *sorted, const sx_input *in, sx_text *why, sx_err *err);

/* ---- choose.c ------------------------------------------------------------------- */

/* Whether `auto` looks at n keys, if they differ. */
int sx_will_look(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width);

/* ---- pieces.c: a look at some keys ------------------------------------------- */

/* Whether so many bytes of keys and rows are mostly in a GPU's L2, where it hardly matters
 * whether a key and its row are side by side. */
static inline int sx_is_near(uint64_t bytes)
{
    return bytes <= 64ull << 20;
}

/* The keys of a sample of n, which a sort is to bring along; none where keys are too few, or
 * there is no memory. */
void sx_peek_begin(sx_peek *out, const sx_device *dev, uint64_t n, uint32_t width);

typedef struct sx_sample sx_sample;
/* Of keys that are sorted, but not built into anything yet; NULL where they are too few. */
sx_status sx_sample_take(sx_sample **out, sx_device *dev, const sx_sorted *sorted,
                         const sx_input *in, sx_err *err);
void sx_sample_drop(sx_sample *sample);       /* NULL is fine */
/* The part of the keys that equal a key `ranks` away, a power of two up to 512. */
double sx_sample_repeats(const sx_sample *sample, uint32_t ranks);
/* Chooses a guide's pieces, and its bucket unless the spec has one: one piece where keys lie
 * evenly, more pieces and smaller buckets where they do not. The upper part takes at most
 * top_space bytes. *cost: units that a walk looks at on average, and what it takes besides,
 * counted in units; if that is more than `most`, any number above it. */
sx_status sx_sample_guide(const sx_sample *sample, sx_device *dev, sx_spec *spec,
                          const sx_sorted *sorted, uint64_t top_space, double most, double *cost,
                          sx_err *err);
/* The same, with a sample of its own. */
sx_status sx_resolve_pieces(sx_device *dev, sx_spec *spec, const sx_sorted *sorted,
                            const sx_input *in, uint64_t top_space, sx_err *err);
#define SX_LEAST_BUCKET 1u        /* keys of the smallest bucket that is chosen */
/* Memory of the host that a look takes. */
uint64_t sx_sample_bytes(uint64_t n);

/* ---- epsilon.c: a pgm's eps and search ----------------------------------------- */

/* Builds the run of a pgm whose spec is in *s, into *s. Finds eps if the spec has none, and
 * says why it is this one. Finds out how its segments are searched faster. spent_ns: what
 * the build took so far. */
sx_status sx_build_pgm(const sx_site *site, sx_store *s, sx_sorted *sorted, const sx_input *in,
                       uint64_t spent_ns, sx_err *err);
sx_status sx_bound_pgm(sx_device *at, const sx_spec *asked, uint32_t width, uint32_t row_bytes,
                       uint64_t n, sx_bounds *out, sx_err *err);

#endif
