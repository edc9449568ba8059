#include "family/shape.h"

#include "base/alloc.h"
#include "family/index_check.h"

#include <inttypes.h>

static const sx_param params[] = {
    SX_PARAM("k", SX_PIVOT_K, of.pivot.k, 2, SX_K_MAX),
    SX_PARAM("leaf", SX_PIVOT_LEAF, of.pivot.leaf, 1, SX_LEAF_MAX),
    SX_PARAM("levels", SX_PIVOT_LEVELS, of.pivot.levels, 0, SX_LEVELS_MAX),
    SX_PARAMS_OF_LEAVES,
    SX_PARAMS_END,
};

/* Under nodes of the natural size a leaf has at least 8 keys, which keeps
 * the pivots at one key in eight. */
static sx_pivot_params resolve(const sx_view *v, const sx_spec *spec, const sx_target *target)
{
    sx_pivot_params p = spec->of.pivot;
    uint32_t natural = target->node_bytes / v->width;

    if (!(spec->given & SX_PIVOT_K))
        p.k = natural + 1;
    if (!(spec->given & SX_PIVOT_LEAF))
        p.leaf = p.k == natural + 1 && natural < 8 ? 8 : p.k - 1;
    return p;
}

/* A block is a node's keys, which one comparison takes. For a GPU it is a leaf, which
 * lanes read together. */
static uint32_t block(const sx_view *v, const sx_spec *spec, const sx_target *target)
{
    sx_pivot_params p = resolve(v, spec, target);

    return target->node_bytes < SX_LINE ? p.leaf : p.k - 1;
}

/* Keys that a walk may compare at once where it ends: the k-1 of a node, if leaves
 * are made of such pieces, and each is aligned to 16 bytes, in a line. */
static uint32_t unit_of(const sx_view *v)
{
    const sx_pivot *t = &v->of.pivot;
    uint32_t unit = t->k - 1u;

    if (t->levels == 0)
        return sx_array_unit(v);
    if (sx_line_keys(v) % unit || unit * v->width < 16 || t->leaf % unit ||
        (v->block && (v->block != unit || v->block_bytes % 16)))
        return 1;
    return unit;
}

/* Levels of pivots over ceil(n / leaf) leaves, until one node is enough. */
static sx_status shape(sx_view *v, sx_spec *spec, const sx_target *target, sx_err *err)
{
    sx_pivot_params *p = &spec->of.pivot;
    sx_pivot *t = &v->of.pivot;
    uint64_t nodes[SX_LEVELS_MAX], children;
    uint32_t full = 0, levels;

    (void)err;
    *p = resolve(v, spec, target);
    children = (v->n + p->leaf - 1) / p->leaf;
    while (children > 1) {
        children = (children + p->k - 1) / p->k;
        nodes[full++] = children;
    }
    levels = full;
    if ((spec->given & SX_PIVOT_LEVELS) && p->levels < full)
        levels = p->levels;
    t->window = p->leaf;
    for (uint32_t d = levels; d < full; d++)
        t->window *= p->k;
    for (uint32_t l = 0; l < levels; l++)
        t->first[l + 1] = t->first[l] + nodes[full - 1 - l];
    t->windows = t->window ? (v->n + t->window - 1) / t->window : 0;
    t->k = (uint16_t)p->k;
    t->leaf = p->leaf;
    t->levels = (uint16_t)(p->levels = levels);
    spec->given = SX_PIVOT_K | SX_PIVOT_LEAF | SX_PIVOT_LEVELS;
    sx_shape_slots(v, v->n);
    v->unit = unit_of(v);
    return SX_OK;
}

static uint64_t bytes(const sx_view *v, unsigned section)
{
    return section == SX_SEC_PIVOTS ? sx_pivot_keys(&v->of.pivot) * v->width : 0;
}

static uint64_t upper(const sx_view *v, unsigned section)
{
    return section == SX_SEC_PIVOTS ? bytes(v, section) : 0;
}

static void bind(sx_view *v, const void *const base[SX_SECTIONS])
{
    v->of.pivot.pivots = base[SX_SEC_PIVOTS];
}

static sx_status check(const sx_view *v, sx_err *err)
{
    const sx_pivot *t = &v->of.pivot;

    for (uint32_t l = 0; l < t->levels; l++)
        for (uint64_t i = 0; i < (t->first[l + 1] - t->first[l]) * (t->k - 1u); i++) {
            uint64_t source = sx_pivot_source(t, l, i), at = t->first[l] * (t->k - 1u) + i;
            sx_key16 want = source < v->n ? sx_check_key(v, v->keys + sx_key_offset(v, source))
                                          : sx_check_largest(v);
            if (sx_check_key(v, t->pivots + at * v->width) != want)
                return sx_check_broken(v, "P3", "not the key it stands for, pivot", at, err);
        }
    return SX_OK;
}

static void explain(const sx_view *v, const sx_spec *spec, sx_text *t, sx_format format)
{
    const sx_pivot *p = &v->of.pivot;

    (void)spec;
    if (format == SX_JSON)
        sx_text_add(t, ", \"k\": %u, \"levels\": %u, \"leaf\": %u, \"window\": %" PRIu64, p->k,
                    p->levels, p->leaf, p->window);
    else
        sx_text_add(t, "levels   %u of pivots, %u per node, over windows of %" PRIu64 " keys\n",
                    p->levels, p->k - 1u, p->window);
}

static uint32_t levels(const sx_view *v)
{
    return v->of.pivot.levels;
}

const sx_family sx_family_pivot = {
    .name = "pivot",
    .what = "sorted array under a tree of pivots",
    .traits = SX_SLOTS_ARE_RANKS | SX_HAS_UPPER | SX_SIZES_KNOWN,
    .params = params,
    .sections = {"pivots"},
    .shape = shape,
    .block = block,
    .bytes = bytes,
    .upper = upper,
    .levels = levels,
    .bind = bind,
    .check = check,
    .order = "P1",
    .unused = "P2",
    .explain = explain,
};
