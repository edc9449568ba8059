/* walks_impl.h - walks of all families by one thread of a GPU, for one width of key: for
 * code that does not know which family an index has (sextant_device.cuh).
 *
 * Parameters: W, F(name), KEY; a vendor header before it. */
#include "family/generic/gpu_count_impl.h"
#include "family/generic/gpu_near_impl.h"
#include "family/generic/gpu_side_impl.h"

#define SX_FAMILY_BOUNDS
#include "family/families.def"
#undef SX_FAMILY_BOUNDS

/* The position of the left bound of q, and its slot. */
SX_DEV uint64_t F(left_bound)(const sx_view *v, KEY q, uint64_t *slot)
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

/* The same on either side. */
SX_DEV uint64_t F(bound)(const sx_view *v, KEY q, sx_side side, uint64_t *slot)
{
    *slot = SX_NO_SLOT;
    return F(is_end)(q, side) ? v->n : F(left_bound)(v, F(behind)(q, side), slot);
}

/* The positions of the first key that begins with the first bits of q, and behind the last. More
 * bits than it has are all of it. */
SX_DEV uint64_t F(prefix_bounds)(const sx_view *v, KEY q, uint32_t bits, uint64_t *behind)
{
    KEY rest = bits < 8 * W ? (KEY)((KEY)~(KEY)0 >> bits) : 0;
    uint64_t slot;

    *behind = 0;
    if (v->n == 0)
        return 0;
    switch (v->family) {
#define SX_FAMILY_PREFIX(TAG, name)                                    \
    case SX_FAM_##TAG:                                                 \
        return F(name##_prefix)(v, q, bits, behind);
#include "family/families.def"
#undef SX_FAMILY_PREFIX
    default:
        *behind = F(bound)(v, (KEY)(q | rest), SX_RIGHT, &slot);
        return F(bound)(v, (KEY)(q & (KEY)~rest), SX_LEFT, &slot);
    }
}

#include "family/generic/gpu_count_end.h"
