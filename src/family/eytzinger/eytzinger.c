#include "family/shape.h"

#include "base/alloc.h"

#include <inttypes.h>

static const sx_param params[] = {
    SX_PARAM("k", SX_EYTZ_K, of.eytzinger.k, 2, SX_K_MAX),
    SX_PARAMS_OF_LEAVES,
    SX_PARAMS_END,
};

static uint32_t children(const sx_view *v, const sx_spec *spec, const sx_target *target)
{
    return spec->given & SX_EYTZ_K ? spec->of.eytzinger.k : target->node_bytes / v->width + 1;
}

static uint32_t block(const sx_view *v, const sx_spec *spec, const sx_target *target)
{
    return children(v, spec, target) - 1;
}

static sx_status shape(sx_view *v, sx_spec *spec, const sx_target *target, sx_err *err)
{
    sx_eytzinger *e = &v->of.eytzinger;
    uint64_t power = 1;           /* k^t */

    (void)err;
    e->k = spec->of.eytzinger.k = children(v, spec, target);
    while (power - 1 + power * (e->k - 1) <= v->n) {
        e->level_first[e->levels++] = power - 1;
        power *= e->k;
    }
    e->level_first[e->levels] = power - 1;
    e->bottom = v->n - (power - 1);
    spec->given = SX_EYTZ_K;
    /* the bottom's last node is whole */
    sx_shape_slots(v, e->level_first[e->levels] + sx_round_up(e->bottom, e->k - 1));
    v->unit = sx_eytz_unit(e->k, v->width, v->block, v->block_bytes);
    return SX_OK;
}

/* Some full levels, of keys or of pairs. */
static uint64_t upper(const sx_view *v, unsigned section)
{
    const sx_eytzinger *e = &v->of.eytzinger;
    uint64_t slots = e->level_first[sx_eytz_upper_levels(e)];

    return section == SX_SEC_KEYS    ? slots * v->width
           : section == SX_SEC_PAIRS ? (slots + v->block - 1) / v->block * v->block_bytes
                                     : 0;
}

static void explain(const sx_view *v, const sx_spec *spec, sx_text *t, sx_format format)
{
    const sx_eytzinger *e = &v->of.eytzinger;

    (void)spec;
    if (format == SX_JSON)
        sx_text_add(t, ", \"k\": %u, \"levels\": %u", e->k, e->levels);
    else
        sx_text_add(t, "levels   %u full, %u keys per node, and %" PRIu64 " keys below\n",
                    e->levels, e->k - 1, e->bottom);
}

static uint32_t levels(const sx_view *v)
{
    return sx_eytz_upper_levels(&v->of.eytzinger);
}

const sx_family sx_family_eytzinger = {
    .name = "eytzinger",
    .what = "k-ary search tree in level order, no extra memory",
    .traits = SX_HAS_UPPER | SX_SIZES_KNOWN,
    .params = params,
    .shape = shape,
    .block = block,
    .upper = upper,
    .levels = levels,
    .order = "E1",
    .unused = "E2",
    .explain = explain,
};
