#include "family/family.h"

_Static_assert(sizeof(sx_state) <= SX_STATE_MOST, "states travel");

#define SX_FAMILY(TAG, name) extern const sx_family sx_family_##name;
#include "family/families.def"
#undef SX_FAMILY
extern const sx_family sx_family_auto;

static const sx_family *const families[SX_FAMILIES] = {
#define SX_FAMILY(TAG, name) [SX_FAM_##TAG] = &sx_family_##name,
#include "family/families.def"
#undef SX_FAMILY
    [SX_FAM_AUTO] = &sx_family_auto,
};

const sx_family *sx_family_of(uint32_t family)
{
    return families[family];
}

uint32_t sx_codes_told;

uint32_t sx_family_codes(uint32_t family)
{
    return sx_codes_told ? sx_codes_told : sx_family_of(family)->traits & SX_NARROW_CODES ? 4 : 8;
}

const char *sx_family_listed(uint32_t family)
{
    return families[family]->listed ? families[family]->listed : families[family]->name;
}

void sx_family_params(const sx_family *family, sx_text *t)
{
    for (const sx_param *p = family->params; p->name; p++)
        sx_text_add(t, "%s%s", p == family->params ? "" : ", ", p->name);
}
