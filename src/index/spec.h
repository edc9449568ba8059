/* spec.h - spec strings: "pivot(k=9,layout=pairs) unique". */
#ifndef SX_SPEC_H
#define SX_SPEC_H

#include "base/status.h"
#include "base/text.h"
#include "index/family.h"

enum {                            /* parameters, as bits */
    SX_P_K = 1, SX_P_LEAF = 2, SX_P_LEVELS = 4, SX_P_LAYOUT = 8,
    SX_P_BLOCK = 16, SX_P_FOR = 32, SX_P_BUCKET = 64, SX_P_PIECES = 128,
    SX_P_EPS = 256, SX_P_EPS2 = 512, SX_P_CUTS = 1024, SX_P_BUDGET = 2048
};

enum { SX_SPLIT, SX_PAIRS };                              /* layout= */
enum { SX_FOR_MIXED, SX_FOR_POINT, SX_FOR_RANGE, SX_FOR_MEMORY }; /* for= */
enum { SX_PLACE_USUAL, SX_PLACE_HOST, SX_PLACE_DEVICE, SX_PLACE_HYBRID,
       SX_PLACE_BOTH };           /* place= */

#define SX_K_MAX 33u
#define SX_LEAF_MAX 4096u
#define SX_BLOCK_MAX 64u
#define SX_BUCKET_MAX 128u
#define SX_PIECES_MAX 65536u
#define SX_EPS_MAX (1u << 20)
#define SX_EPS2_MAX 1024u
#define SX_BUDGET_MAX 999999999u  /* KiB */

typedef struct {
    sx_family family;
    uint32_t given;               /* SX_P_ bits: the rest is to be chosen */
    uint32_t k, leaf, levels, layout, block, purpose, bucket, pieces, eps, eps2, cuts, budget;
    uint32_t unique;
    uint32_t place;               /* SX_PLACE_; USUAL: where its device has all */
} sx_spec;

sx_status sx_spec_parse(sx_spec *out, const char *text, sx_err *err);

/* The text that parses to this spec; at most SX_SPEC_MAX bytes with NUL. */
void sx_spec_print(const sx_spec *spec, char text[SX_SPEC_MAX]);

/* "host", "device", "hybrid", "both" */
const char *sx_place_name(uint32_t place);
const char *sx_family_name(sx_family family);
const char *sx_family_what(sx_family family);
/* Adds the names of its parameters: "k, layout, block". */
void sx_family_params(sx_family family, sx_text *t);
/* Whether it has levels above its keys, which can be in another memory than
 * they are: all but a plain array have. */
int sx_family_has_upper(sx_family family);

#endif
