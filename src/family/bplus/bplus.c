#include "family/shape.h"

#include "base/alloc.h"
#include "family/bplus/bplus_check.h"
#include "family/bplus/bplus_pools.h"

#include <inttypes.h>

_Static_assert(SX_BPLUS_LINE == SX_LINE, "nodes are lines");
_Static_assert(sizeof(sx_bplus_record) == 16, "records have no padding");

static const sx_param params[] = {
    SX_PARAM("fill", SX_BPLUS_FILL, of.bplus.fill, 50, 100),
    SX_PARAM_LAYOUT,
    SX_PARAMS_END,
};

/* Nodes of up to `most` members for m of them: `fill` percent of each is used, but not less
 * than half of it. */
static uint64_t nodes_for(uint64_t m, uint64_t most, uint32_t fill)
{
    uint64_t wanted = most * fill / 100, nodes = (m + wanted - 1) / wanted;
    uint64_t half_full = m / (most / 2);

    nodes = sx_min64(nodes, half_full);
    return nodes > 0 ? nodes : 1;
}

/* Pairs, if there are rows to keep beside keys and the spec does not say otherwise. */
static void shape_leaves(sx_view *v, sx_spec *spec)
{
    sx_bplus *t = &v->of.bplus;

    if (!(spec->given & SX_P_LAYOUT) && v->row_bytes > 0)
        spec->layout = SX_PAIRS;
    t->leaf = (uint16_t)sx_line_keys(v);
    if (spec->layout == SX_PAIRS) {
        t->leaf = (uint16_t)sx_bplus_pairs(v->width, v->row_bytes);
        v->block = t->leaf;
        v->block_shift = (uint16_t)__builtin_ctz(v->block);
        v->block_bytes = SX_BPLUS_LINE;
    }
    v->unit = t->leaf;
    t->fan_shift = (uint16_t)__builtin_ctz(SX_BPLUS_FAN(v->width));
    t->slot_shift = (uint16_t)(t->fan_shift + __builtin_ctz(t->leaf));
    if (v->n == 0)
        return;
    t->leaves = nodes_for(v->n, 1ull << t->slot_shift, spec->of.bplus.fill);
    t->last_pool = t->leaves;
    t->each = v->n / t->leaves;
    t->more = v->n % t->leaves;
    v->slots = t->leaves << t->slot_shift;
}

/* Levels of inner nodes over last ones: until one node is enough. */
static sx_status shape(sx_view *v, sx_spec *spec, const sx_target *target, sx_err *err)
{
    sx_bplus *t = &v->of.bplus;
    uint64_t nodes[SX_BPLUS_LEVELS], children;
    uint32_t levels = 0, fill = spec->of.bplus.fill;

    (void)target;
    shape_leaves(v, spec);
    if (t->leaves > SX_BPLUS_MOST)
        return sx_fail(err, SX_EINVAL, "btree(fill=%u): %llu keys of %u bytes need %llu leaves; "
                       "allowed: up to %llu", fill, (unsigned long long)v->n, (unsigned)v->width,
                       (unsigned long long)t->leaves, SX_BPLUS_MOST);
    for (children = t->leaves; children > 1; nodes[levels++] = children)
        children = nodes_for(children, 1ull << t->fan_shift, fill);
    for (uint32_t l = 0; l < levels; l++)
        t->first[l + 1] = t->first[l] + nodes[levels - 1 - l];
    t->inner = t->inner_pool = t->first[levels];
    t->levels = (uint16_t)(v->n > 0 ? levels + 1 : 0);
    spec->given = SX_BPLUS_FILL;
    return SX_OK;
}

static uint64_t bytes(const sx_view *v, unsigned section)
{
    const sx_bplus *t = &v->of.bplus;

    return section == SX_SEC_INNER  ? t->inner_pool * SX_BPLUS_INNER(v->width)
           : section == SX_SEC_LAST ? t->last_pool * SX_BPLUS_LAST(v->width)
                                    : sx_bplus_links_bytes(t);
}

static uint64_t upper(const sx_view *v, unsigned section)
{
    return section == SX_SEC_INNER || section == SX_SEC_LAST ? bytes(v, section) : 0;
}

static void bind(sx_view *v, const void *const base[SX_SECTIONS])
{
    v->of.bplus.nodes = base[SX_SEC_INNER];
    v->of.bplus.lasts = base[SX_SEC_LAST];
    v->of.bplus.links = base[SX_SEC_LINKS];
    if (v->block && v->keys)
        v->rows = v->keys + SX_BPLUS_ROWS_AT;
}

/* Leaves, and nodes. Rows that are not in slots are none of them, and links are made anew. */
static int pool(const sx_view *v, unsigned section)
{
    return section == SX_SEC_INNER || section == SX_SEC_LAST || section == SX_SEC_KEYS ||
           section == SX_SEC_PAIRS || (section == SX_SEC_ROWS && !(v->traits & SX_ONCE));
}

static void explain(const sx_view *v, const sx_spec *spec, sx_text *t, sx_format format)
{
    const sx_bplus *b = &v->of.bplus;
    unsigned fan = 1u << b->fan_shift, most = 1u << b->slot_shift;

    if (format == SX_JSON)
        sx_text_add(t, ", \"fill\": %u, \"levels\": %u, \"fanout\": %u, \"leaf\": %u, \"leaves\": %"
                    PRIu64 ", \"nodes\": %" PRIu64, spec->of.bplus.fill, b->levels, fan, most,
                    b->leaves, b->inner + b->leaves);
    else
        sx_text_add(t, "levels   %u of nodes, up to %u children each, over %" PRIu64 " leaves of up "
                    "to %u keys; %u %% of both are used\n", b->levels, fan, b->leaves, most,
                    spec->of.bplus.fill);
}

static uint32_t levels(const sx_view *v)
{
    return v->of.bplus.levels;
}

const sx_family sx_family_bplus = {
    .name = "btree",
    .by = "fill",
    .listed = "btree(fill=100)",
    .what = "tree of nodes in pools over large leaves, laid out for updates",
    .traits = SX_HAS_UPPER | SX_SIZES_KNOWN,
    .params = params,
    .sections = {"inner", "last", "links"},
    .shape = shape,
    .bytes = bytes,
    .upper = upper,
    .levels = levels,
    .bind = bind,
    .pool = pool,
    .tidy_shape = sx_bplus_tidy_shape,
    .tidy = sx_bplus_tidy,
    .check = sx_bplus_check,
    .order = "T1",
    .unused = "T2",
    .explain = explain,
};
