#include "query/index.h"
#include <stdio.h>
unsigned sx_choices(sx_spec out[SX_CHOICES], uint32_t purpose)
{
    (void)purpose;
    out[0] = (sx_spec){.family = SX_FAM_PIVOT};
    return 1;
}
sx_status sx_choose(sx_device *dev, sx_spec *spec, const sx_sorted *sorted, const sx_input *in,
                    uint64_t spent_ns, char why[SX_WHY_MAX], sx_err *err)
{
    (void)dev; (void)sorted; (void)in; (void)spent_ns; (void)err;
    *spec = (sx_spec){.family = SX_FAM_PIVOT, .unique = spec->unique};
    snprintf(why, SX_WHY_MAX, "x");
    return SX_OK;
}
