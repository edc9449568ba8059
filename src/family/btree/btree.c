#include "family/shape.h"

#include "base/alloc.h"
#include "family/index_check.h"

#include <inttypes.h>
#include <string.h>

_Static_assert(SX_BTREE_LINE == SX_LINE, "a node is a line");

static const sx_param params[] = {
    SX_PARAM("k", SX_BTREE_K, of.btree.k, 2, SX_BTREE_K_MAX),
    SX_PARAM_LAYOUT,
    SX_PARAMS_END,
};

/* Pairs, if there are rows to keep beside keys and the spec does not say otherwise. A line
 * says how many. */
static void shape_leaves(sx_view *v, sx_spec *spec)
{
    sx_btree *t = &v->of.btree;

    if (!(spec->given & SX_P_LAYOUT) && v->row_bytes > 0)
        spec->layout = SX_PAIRS;
    t->leaf = (uint16_t)sx_line_keys(v);
    if (spec->layout == SX_PAIRS) {
        t->leaf = (uint16_t)sx_btree_pairs(v->width, v->row_bytes);
        t->rows_at = (uint16_t)SX_BTREE_ROWS_AT(v->width, v->row_bytes);
        v->block = (uint16_t)sx_btree_places(t->leaf);
        v->block_shift = (uint16_t)__builtin_ctz(v->block);
        v->block_bytes = SX_BTREE_LINE;
    }
    t->leaves = (v->n + t->leaf - 1) / t->leaf;
    v->unit = t->leaf;
    v->slots = t->leaves * sx_btree_places(t->leaf);
    if (!sx_btree_gaps(t))
        v->traits |= SX_SLOTS_ARE_RANKS;
}

/* Levels of nodes over leaves: until one node is enough. A GPU's nodes have a child less than
 * places + 1, so that lanes and children are as many. */
static sx_status shape(sx_view *v, sx_spec *spec, const sx_target *target, sx_err *err)
{
    sx_btree *t = &v->of.btree;
    uint32_t most = sx_line_keys(v) + 1, levels = 0;
    uint64_t nodes[SX_LEVELS_MAX], children;

    if (!(spec->given & SX_BTREE_K))
        spec->of.btree.k = target->gpu ? most - 1 : most;
    if (spec->of.btree.k > most)
        return sx_fail(err, SX_EINVAL, "btree: k can't be %u for keys of %u bytes, of which a node "
                       "has %u; allowed: 2 to %u", spec->of.btree.k, (unsigned)v->width, most - 1,
                       most);
    t->k = (uint16_t)spec->of.btree.k;
    shape_leaves(v, spec);
    for (children = t->leaves; children > 1; nodes[levels++] = children)
        children = (children + t->k - 1) / t->k;
    t->levels = (uint16_t)levels;
    for (uint32_t l = 0; l < levels; l++)
        t->first[l + 1] = t->first[l] + nodes[levels - 1 - l];
    spec->given = SX_BTREE_K;
    return SX_OK;
}

static uint64_t bytes(const sx_view *v, unsigned section)
{
    const sx_btree *t = &v->of.btree;

    return section == SX_SEC_NODES ? t->first[t->levels] * SX_BTREE_LINE : 0;
}

static uint64_t upper(const sx_view *v, unsigned section)
{
    return section == SX_SEC_NODES ? bytes(v, section) : 0;
}

static void bind(sx_view *v, const void *const base[SX_SECTIONS])
{
    v->of.btree.nodes = base[SX_SEC_NODES];
    if (v->block && v->keys)
        v->rows = v->keys + v->of.btree.rows_at;
}

/* ---- check ----------------------------------------------------------------------- */

static sx_status check_node(const sx_view *v, uint32_t l, uint64_t g, sx_err *err)
{
    const sx_btree *t = &v->of.btree;
    const unsigned char *node = t->nodes + (t->first[l] + g) * SX_BTREE_LINE;

    for (uint32_t j = 0; j < sx_line_keys(v); j++) {
        uint64_t source = j < t->k - 1u ? sx_btree_source(t, l, g, j) : v->n;
        sx_key16 want = sx_check_largest(v);
        if (source < v->n)
            want = sx_check_key(v, v->keys + sx_key_offset(v, sx_btree_slot_of_rank(t, source)));
        if (sx_check_key(v, node + j * v->width) != want)
            return sx_check_broken(v, "B3", "not the key it stands for, separator",
                                   (t->first[l] + g) * sx_line_keys(v) + j, err);
    }
    return SX_OK;
}

static int is_zero(const unsigned char *p, const unsigned char *end)
{
    while (p < end && *p == 0)
        p++;
    return p == end;
}

static sx_status check(const sx_view *v, sx_err *err)
{
    const sx_btree *t = &v->of.btree;
    uint32_t keys_end = sx_btree_keys_end(t, v->width);
    uint32_t rows_end = sx_btree_rows_end(t, v->row_bytes);
    sx_status st = SX_OK;

    for (uint32_t l = 0; l < t->levels; l++)
        for (uint64_t g = 0; g < t->first[l + 1] - t->first[l] && st == SX_OK; g++)
            st = check_node(v, l, g, err);
    for (uint64_t i = 0; v->block && i < t->leaves && st == SX_OK; i++) {
        const unsigned char *leaf = v->keys + i * SX_BTREE_LINE;
        if (!is_zero(leaf + keys_end, leaf + t->rows_at) ||
            !is_zero(leaf + rows_end, leaf + SX_BTREE_LINE))
            return sx_check_broken(v, "B4", "not 0 beside its pairs, leaf", i, err);
    }
    return st;
}

static void explain(const sx_view *v, const sx_spec *spec, sx_text *t, sx_format format)
{
    const sx_btree *b = &v->of.btree;

    (void)spec;
    if (format == SX_JSON)
        sx_text_add(t, ", \"k\": %u, \"levels\": %u, \"leaf\": %u, \"leaves\": %" PRIu64, b->k,
                    b->levels, b->leaf, b->leaves);
    else
        sx_text_add(t, "levels   %u of nodes, %u children each, over %" PRIu64 " leaves of %u keys\n",
                    b->levels, b->k, b->leaves, b->leaf);
}

static uint32_t levels(const sx_view *v)
{
    return v->of.btree.levels;
}

const sx_family sx_family_btree = {
    .name = "btree",
    .what = "tree of lines over lines of keys and rows",
    .traits = SX_HAS_UPPER | SX_SIZES_KNOWN,
    .params = params,
    .sections = {"nodes"},
    .shape = shape,
    .bytes = bytes,
    .upper = upper,
    .levels = levels,
    .bind = bind,
    .check = check,
    .order = "B1",
    .unused = "B2",
    .explain = explain,
};
