/* families_gpu_impl.h - the tables of families for a GPU, in the unit of its backend. */
#include "family/family_gpu.h"

/* In the order of families.def. */
static const sx_family_gpu *const gpu_families[] = {
#define SX_FAMILY(TAG, name) &sx_gpu_of_##name,
#include "family/families.def"
#undef SX_FAMILY
};

static const sx_family_gpu *sx_family_gpu_of(uint32_t family)
{
    return gpu_families[family];
}
