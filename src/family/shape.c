#include "family/shape.h"

#include "base/alloc.h"
#include "family/slots.h"

const sx_target sx_any_target = {.gpu = 0, .node_bytes = SX_LINE};

_Static_assert(offsetof(sx_view, of) <= 128, "what every walk needs is small");
_Static_assert(sizeof(sx_kernel_view) <= 512, "so is what kernels get by value");

void sx_shape_slots(sx_view *v, uint64_t used)
{
    uint64_t unit = sx_line_keys(v);

    if (v->block > unit)
        unit = v->block;
    v->slots = sx_round_up(used, unit);
}

uint32_t sx_array_unit(const sx_view *v)
{
    uint32_t line = sx_line_keys(v), unit = v->block ? v->block : line;

    if (line % unit || unit * v->width < 16 || (v->block && v->block_bytes % 16))
        return 1;
    return unit;
}

static void shape_block(sx_view *v, sx_spec *spec, const sx_target *target)
{
    const sx_family *family = sx_family_of(spec->family);
    uint32_t natural = target->node_bytes / v->width;

    /* Without rows there is nothing to keep beside the keys. */
    if (!(spec->given & SX_P_LAYOUT) || (spec->layout == SX_PAIRS && v->row_bytes == 0))
        spec->layout = SX_SPLIT;
    if (spec->layout == SX_LAYOUT_ONCE)
        v->traits |= SX_ONCE;
    v->block_shift = 63;
    if (spec->layout != SX_PAIRS)
        return;
    if (!(spec->given & SX_P_BLOCK)) {
        uint32_t m = family->block ? family->block(v, spec, target) : 0;
        spec->block = m && !(m & (m - 1)) && m <= SX_BLOCK_MAX ? m : natural;
    }
    /* Keys and rows stay aligned: either part of a block is a multiple
     * of both. */
    if (spec->block * v->row_bytes < v->width)
        spec->block = v->width / v->row_bytes;
    if (spec->block * v->width < v->row_bytes)
        spec->block = v->row_bytes / v->width;
    v->block = (uint16_t)spec->block;
    v->block_shift = (uint16_t)__builtin_ctz(v->block);
    v->block_bytes = spec->block * (uint32_t)(v->width + v->row_bytes);
}

sx_status sx_shape(sx_view *out, sx_spec *spec, const sx_target *target, const sx_facts *facts,
                   sx_err *err)
{
    const sx_family *family = sx_family_of(spec->family);
    sx_view v = {.n = facts->n, .ranks = facts->ranks, .family = spec->family,
                 .traits = family->traits, .width = (uint16_t)facts->width,
                 .row_bytes = (uint16_t)facts->row_bytes, .distinct = facts->distinct != 0,
                 .strings = facts->strings};
    sx_status st;

    if (v.ranks > SX_KEYS_MAX)
        return sx_fail(err, SX_EINVAL, "%llu keys are more than an index can hold (%llu)",
                       (unsigned long long)v.ranks, (unsigned long long)SX_KEYS_MAX);
    if (family->traits & SX_CHOSEN)
        return sx_fail(err, SX_EINVAL, "'%s' has no shape of its own", family->name);
    shape_block(&v, spec, target);
    st = family->shape(&v, spec, target, err);
    if (st != SX_OK)
        return st;
    spec->given |= SX_P_LAYOUT | (v.block ? SX_P_BLOCK : 0);
    *out = v;
    return SX_OK;
}

/* ---- sections ----------------------------------------------------------------- */

const char *sx_section_name(const sx_view *v, unsigned section)
{
    static const char *const leaves[] = {"keys", "rows", "pairs", "starts", "offsets", "bytes",
                                         "groups", "marks"};

    return section < SX_SEC_OWN ? leaves[section]
                                : sx_family_of(v->family)->sections[section - SX_SEC_OWN];
}

/* Places of rows in an array: ranks; or slots, some of them unused, if rows are in slots. */
static uint64_t row_places(const sx_view *v)
{
    return sx_slots_gaps(v) && !(v->traits & SX_ONCE) ? v->slots : v->ranks;
}

uint64_t sx_section_bytes(const sx_view *v, unsigned section)
{
    const sx_family *family = sx_family_of(v->family);

    if (v->n == 0)
        return 0;
    switch (section) {
    case SX_SEC_KEYS:
        return v->block ? 0 : v->slots * v->width;
    case SX_SEC_ROWS:
        return v->block ? 0 : row_places(v) * v->row_bytes;
    case SX_SEC_PAIRS:
        return v->block ? v->slots / v->block * v->block_bytes : 0;
    case SX_SEC_STARTS:
        return v->traits & SX_ONCE ? sx_starts_bytes(v->n, v->ranks, v->row_bytes) : 0;
    case SX_SEC_OFFSETS:
        return v->strings.offset_bytes ? sx_offsets_bytes(v->n, v->strings.offset_bytes) : 0;
    case SX_SEC_BYTES:
        return v->strings.size;
    case SX_SEC_GROUPS:
        return sx_groups_bytes(&v->strings);
    case SX_SEC_MARKS:
        return v->strings.marked ? v->n : 0;
    default:
        return family->sections[section - SX_SEC_OWN] ? family->bytes(v, section) : 0;
    }
}

uint64_t sx_upper_bytes(const sx_view *v, unsigned section)
{
    const sx_family *family = sx_family_of(v->family);

    return family->upper && sx_section_bytes(v, section) > 0 ? family->upper(v, section) : 0;
}

uint32_t sx_view_levels(const sx_view *v)
{
    const sx_family *family = sx_family_of(v->family);

    return family->levels ? family->levels(v) : 0;
}

int sx_section_pool(const sx_view *v, unsigned section)
{
    const sx_family *family = sx_family_of(v->family);

    return family->pool && sx_section_bytes(v, section) > 0 && family->pool(v, section);
}

int sx_section_stays(const sx_view *v, unsigned section)
{
    int arrays = (v->traits & SX_SLOTS_ARE_RANKS) && !v->block;

    switch (section) {
    case SX_SEC_KEYS:
        return arrays;
    case SX_SEC_ROWS:
        return arrays || (v->traits & SX_ONCE);
    case SX_SEC_STARTS:
        return (v->traits & SX_ONCE) != 0;
    case SX_SEC_OFFSETS:
    case SX_SEC_BYTES:
    case SX_SEC_GROUPS:
    case SX_SEC_MARKS:
        return v->strings.offset_bytes != 0;
    default:
        return 0;
    }
}

void sx_view_bind(sx_view *v, const void *const base[SX_SECTIONS])
{
    const sx_family *family = sx_family_of(v->family);

    if (v->block) {
        v->keys = base[SX_SEC_PAIRS];
        v->rows = v->keys ? v->keys + v->block * v->width : NULL;
    } else {
        v->keys = base[SX_SEC_KEYS];
        v->rows = base[SX_SEC_ROWS];
        v->starts = base[SX_SEC_STARTS];
    }
    v->strings.offsets = base[SX_SEC_OFFSETS];
    /* Empty strings alone have no bytes, and begin somewhere all the same. */
    v->strings.bytes = base[SX_SEC_BYTES] ? base[SX_SEC_BYTES] : base[SX_SEC_OFFSETS];
    v->strings.groups = base[SX_SEC_GROUPS];
    v->strings.marks = base[SX_SEC_MARKS];
    if (family->bind)
        family->bind(v, base);
}
