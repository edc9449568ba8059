/* walks_impl.h - walks of all families by one thread of a GPU, for one width of key: for
 * code that does not know which family an index has (sextant_device.cuh).
 *
 * Parameters: W, F(name), KEY; a vendor header before it. */
#include "family/generic/gpu_count_impl.h"
#include "family/generic/gpu_near_impl.h"

#define SX_FAMILY_BOUNDS
#include "family/families.def"
#undef SX_FAMILY_BOUNDS

/* The position of the lower bound of q, and its slot. */
SX_DEV uint64_t F(bound)(const sx_view *v, KEY q, uint64_t *slot)
{
    *slot = SX_NO_SLOT;
    if (v->n == 0)
        return 0;
    switch (v->family) {
#define SX_FAMILY(TAG, name)                                           \
    case SX_FAM_##TAG:                                                 \
        return F(name##_bound)(v, q, slot, v->unit, 0, 0);
#include "family/families.def"
#undef SX_FAMILY
    default:
        return 0;
    }
}

SX_DEV uint64_t F(right_bound)(const sx_view *v, KEY q)
{
    uint64_t slot;

    return q == (KEY)~(KEY)0 ? v->n : F(bound)(v, (KEY)(q + 1), &slot);
}

#include "family/generic/gpu_count_end.h"
