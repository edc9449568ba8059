#include "family/radix/radix_make.h"
#include "family/radix/radix_check.h"
#include "family/shape.h"

#include <inttypes.h>
#include <string.h>

static const sx_param params[] = {
    SX_PARAM("leaf", SX_RADIX_LEAF, of.radix.leaf, 1, SX_RADIX_LEAF_MAX),
    SX_PARAMS_OF_LEAVES,
    SX_PARAMS_END,
};

/* Random keys make children of about equally many keys, 256 times fewer than the node has. Where
 * that ends with children of 16 on average, leaves of up to 32 keys make nearly all of them leaves,
 * and the nodes above narrow. Elsewhere keys about ten apart decide, as numbers with a check digit
 * are: 25 or 26 differ in the last byte, and as bits they say for certain whether a key is there.
 * Keys of 16 bytes are in leaves of four lines at most. Codes of strings that have 4 bytes are there
 * to save memory: nodes of 100 keys, of which 70 have a byte of their own, take more than the codes
 * do. So their leaves have up to 16 lines, and a walk halves them in the time that it takes to come
 * through one node more. */
static uint32_t usual_leaf(const sx_view *v)
{
    uint64_t n = v->n;

    if (v->strings.code_bytes == 4)
        return SX_RADIX_LEAF_MAX;
    if (v->width == 16)
        return 16;
    while (n > 255)
        n /= 256;
    return n >= 12 && n <= 32 ? 32 : 24;
}

static sx_status shape(sx_view *v, sx_spec *spec, const sx_target *target, sx_err *err)
{
    (void)target;
    (void)err;
    if (!(spec->given & SX_RADIX_LEAF))
        spec->of.radix.leaf = usual_leaf(v);
    v->of.radix.leaf = spec->of.radix.leaf;
    v->of.radix.root = sx_radix_window(0, v->n);
    spec->given = SX_RADIX_LEAF;
    sx_shape_slots(v, v->n);
    v->unit = sx_array_unit(v);
    return SX_OK;
}

static sx_status complete(sx_view *v, const void *meta, uint64_t bytes, sx_err *err)
{
    sx_radix_meta m;

    if (bytes != sizeof m)
        return sx_fail(err, SX_ECORRUPT, "the section 'tree' has an impossible size");
    memcpy(&m, meta, sizeof m);
    return sx_radix_shape(v, &m, err);
}

/* A node with c children, all of them wide, takes at most 44 (c - 1) + 40 bytes, head and stem
 * of 16 bytes; all children together are at most as many as keys. There is a node for each depth
 * and leaf + 1 keys at most. */
static void most(sx_view *v)
{
    sx_radix *t = &v->of.radix;
    uint64_t nodes = v->n / (t->leaf + 1) * v->width;
    uint64_t bytes = v->n <= t->leaf ? 0
                     : 44 * v->n + (sx_radix_head(v->width) + 24) * (nodes + 1) + 2 * SX_RADIX_UNIT;

    t->units = bytes / SX_RADIX_UNIT;
    t->levels = bytes ? v->width : 0;
}

static uint64_t bytes(const sx_view *v, unsigned section)
{
    const sx_radix *t = &v->of.radix;

    if (section == SX_SEC_TREE)
        return sizeof(sx_radix_meta);
    return section == SX_SEC_RADIX_NODES && t->units ? t->units * SX_RADIX_UNIT + SX_RADIX_SPARE : 0;
}

static uint64_t upper(const sx_view *v, unsigned section)
{
    return section == SX_SEC_RADIX_NODES ? bytes(v, section) : 0;
}

static void bind(sx_view *v, const void *const base[SX_SECTIONS])
{
    v->of.radix.nodes = base[SX_SEC_RADIX_NODES];
}

static const char *const kind_names[SX_RADIX_KINDS] = {"4", "16", "48", "256", "bits"};

static void explain(const sx_view *v, const sx_spec *spec, sx_text *t, sx_format format)
{
    const sx_radix *r = &v->of.radix;

    (void)spec;
    if (format == SX_JSON) {
        sx_text_add(t, ", \"leaf\": %u, \"levels\": %u, \"nodes\": {", r->leaf, r->levels);
        for (uint32_t k = 0; k < SX_RADIX_KINDS; k++)
            sx_text_add(t, "%s\"%s\": %" PRIu64, k ? ", " : "", kind_names[k], r->count[k]);
        sx_text_add(t, "}");
        return;
    }
    sx_text_add(t, "tree     %u level%s; leaves of up to %u keys; nodes for 4, 16, 48, 256 children "
                "and of bits:", r->levels, r->levels == 1 ? "" : "s", r->leaf);
    for (uint32_t k = 0; k < SX_RADIX_KINDS; k++)
        sx_text_add(t, " %" PRIu64, r->count[k]);
    sx_text_add(t, "\n");
}

static uint32_t levels(const sx_view *v)
{
    return v->of.radix.levels;
}

const sx_family sx_family_radix = {
    .name = "radix",
    .what = "sorted array under an adaptive radix tree",
    .traits = SX_SLOTS_ARE_RANKS | SX_HAS_UPPER | SX_NARROW_CODES | SX_FINDS_PREFIXES,
    .params = params,
    .sections = {"tree", "nodes"},
    .shape = shape,
    .complete = complete,
    .most = most,
    .meta = SX_SEC_TREE,
    .bytes = bytes,
    .upper = upper,
    .levels = levels,
    .bind = bind,
    .check = sx_radix_check,
    .order = "P1",
    .unused = "P2",
    .explain = explain,
};
