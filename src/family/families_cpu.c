#include "family/family_cpu.h"

#define SX_FAMILY(TAG, name) extern const sx_family_cpu sx_cpu_of_##name;
#include "family/families.def"
#undef SX_FAMILY

static const sx_family_cpu *const families[SX_FAM_AUTO] = {
#define SX_FAMILY(TAG, name) [SX_FAM_##TAG] = &sx_cpu_of_##name,
#include "family/families.def"
#undef SX_FAMILY
};

const sx_family_cpu *sx_family_cpu_of(uint32_t family)
{
    return families[family];
}
