/* spec.h - spec strings: "pivot(k=9,layout=pairs) unique". */
#ifndef SX_SPEC_H
#define SX_SPEC_H

#include "base/status.h"
#include "base/text.h"

#include <stddef.h>
#include "family/parts.h"

/* Bits of `given`: a family's own are in its header, from 1 on. */
#define SX_P_FOR (1u << 29)
#define SX_P_LAYOUT (1u << 30)
#define SX_P_BLOCK (1u << 31)

enum { SX_SPLIT, SX_PAIRS, SX_LAYOUT_ONCE };              /* layout= */
enum { SX_FOR_MIXED, SX_FOR_POINT, SX_FOR_RANGE, SX_FOR_MEMORY }; /* for= */
enum { SX_PLACE_USUAL, SX_PLACE_HOST, SX_PLACE_DEVICE, SX_PLACE_HYBRID,
       SX_PLACE_BOTH };           /* place= */

#define SX_BLOCK_MAX 64u

typedef struct {
    uint32_t family;              /* SX_FAM_ */
    uint32_t given;               /* parameters, as bits: the rest is to be chosen */
    uint32_t layout, block, purpose;
    uint32_t unique;
    uint32_t place;               /* SX_PLACE_; USUAL: where its device has all */
    union {
#define SX_FAMILY(TAG, name) struct sx_params_##name name;
#include "family/families.def"
#undef SX_FAMILY
    } of;
} sx_spec;

/* A parameter takes a number in [min, max] or one of some words. */
typedef struct {
    const char *name;             /* NULL: behind the last */
    uint32_t bit;
    size_t field;                 /* offset in sx_spec, of 32 bits */
    uint32_t min, max;
    const char *words[5];         /* value = position */
} sx_param;
#define SX_PARAM(name, bit, field, min, max) {name, bit, offsetof(sx_spec, field), min, max, {0}}
/* Those that all families have; or the first alone, where a block is always a line. */
#define SX_PARAM_LAYOUT                                                                  \
    {"layout", SX_P_LAYOUT, offsetof(sx_spec, layout), 0, 0, {"split", "pairs", "once"}}
#define SX_PARAMS_OF_LEAVES                                                              \
    SX_PARAM_LAYOUT,                                                                     \
    {"block", SX_P_BLOCK, offsetof(sx_spec, block), 1, SX_BLOCK_MAX, {0}}
#define SX_PARAMS_END {NULL, 0, 0, 0, 0, {0}}

sx_status sx_spec_parse(sx_spec *out, const char *text, sx_err *err);

/* The text that parses to this spec; at most SX_SPEC_MAX bytes with NUL. */
void sx_spec_print(const sx_spec *spec, char text[SX_SPEC_MAX]);

/* "host", "device", "hybrid", "both" */
const char *sx_place_name(uint32_t place);
#endif
