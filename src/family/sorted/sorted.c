#include "family/shape.h"

static const sx_param params[] = {SX_PARAMS_OF_LEAVES, SX_PARAMS_END};

static sx_status shape(sx_view *v, sx_spec *spec, const sx_target *target, sx_err *err)
{
    (void)target;
    (void)err;
    spec->given = 0;
    sx_shape_slots(v, v->n);
    v->unit = sx_array_unit(v);
    return SX_OK;
}

const sx_family sx_family_sorted = {
    .name = "sorted",
    .what = "sorted array",
    .traits = SX_SLOTS_ARE_RANKS | SX_SIZES_KNOWN,
    .params = params,
    .shape = shape,
    .order = "P1",
    .unused = "P2",
};
