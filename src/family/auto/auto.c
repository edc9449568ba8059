/* auto.c - `auto` is a spec, but never an index: it becomes one of the other families
 * (choose/choose.c). */
#include "family/family.h"

static const sx_param params[] = {
    {"for", SX_P_FOR, offsetof(sx_spec, purpose), 0, 0, {"mixed", "point", "range", "memory"}},
    SX_PARAMS_END,
};

const sx_family sx_family_auto = {
    .name = "auto",
    .what = "the family that measures best on these keys",
    .traits = SX_CHOSEN | SX_HAS_UPPER | SX_SIZES_KNOWN,
    .params = params,
};
