#include "index/shape.h"

#include "base/alloc.h"
#include "index/eytz_layout.h"
#include "index/guide_layout.h"
#include "index/pgm_layout.h"

/* Room for `used` slots, in whole lines or blocks. */
static void shape_slots(sx_view *v, const sx_spec *spec, uint64_t used)
{
    uint64_t unit = sx_line_keys(v);

    v->block = spec->layout == SX_PAIRS ? spec->block : 0;
    v->block_shift = v->block ? (uint32_t)__builtin_ctz(v->block) : 63;
    v->block_bytes = v->block * (uint64_t)(v->width + v->row_bytes);
    if (v->block > unit)
        unit = v->block;
    v->slots = sx_round_up(used, unit);
}

/* Levels of pivots over ceil(n / leaf) leaves: until one node is enough. */
static void shape_pivot(sx_view *v, sx_spec *spec)
{
    uint64_t nodes[SX_LEVELS_MAX], children;
    uint32_t full = 0, levels, m = spec->k - 1;
    uint64_t first = 0;

    children = (v->n + spec->leaf - 1) / spec->leaf;
    while (children > 1) {
        children = (children + spec->k - 1) / spec->k;
        nodes[full++] = children;
    }
    levels = full;
    if ((spec->given & SX_P_LEVELS) && spec->levels < full)
        levels = spec->levels;
    v->window = spec->leaf;
    for (uint32_t d = levels; d < full; d++)
        v->window *= spec->k;
    for (uint32_t l = 0; l < levels; l++) {
        v->level_nodes[l] = nodes[full - 1 - l];
        v->level_first[l] = first;
        first += v->level_nodes[l] * m;
    }
    v->level_first[levels] = first;
    v->levels = spec->levels = levels;
}

static void shape_eytz(sx_view *v)
{
    uint64_t power = 1;           /* k^t */

    while (power - 1 + power * (v->k - 1) <= v->n) {
        v->level_nodes[v->levels] = power;
        v->level_first[v->levels++] = power - 1;
        power *= v->k;
    }
    v->level_first[v->levels] = power - 1;
    v->bottom = v->n - (power - 1);
}

/* Keys of a bucket, unless told. The fewer, the nearer is a guess, and the more
 * of a cache the guide takes. On a CPU 16: 0.08 bytes a key. On a GPU as many as
 * leave most of L2 to the rest, but 4 to 40. */
#define GUIDE_BYTES (16u << 20)
/* Pairs in blocks of one sector pay up to here, about half of which is in L2: more
 * guesses are wrong, but that costs less than a second sector does. */
#define SECTOR_BYTES (256ull << 20)
static uint32_t guide_bucket(uint64_t n, int gpu)
{
    uint64_t keys = (n / SX_GUIDE_BUCKETS * SX_GUIDE_RECORD + GUIDE_BYTES - 1) / GUIDE_BYTES;

    if (!gpu)
        return 16;
    return keys < 4 ? 4 : keys > 40 ? 40 : (uint32_t)keys;
}

static void shape_guide(sx_view *v, sx_spec *spec, int gpu)
{
    uint64_t buckets;

    if (!(spec->given & SX_P_PIECES))
        spec->pieces = 1;
    if (!(spec->given & SX_P_BUCKET))
        spec->bucket = guide_bucket(v->n, gpu);
    if (spec->pieces > v->n)
        spec->pieces = v->n ? (uint32_t)v->n : 1;
    buckets = (v->n + spec->bucket - 1) / spec->bucket;
    v->pieces = spec->pieces;
    v->piece_buckets = (buckets + v->pieces - 1) / v->pieces;
    if (v->piece_buckets < 1)
        v->piece_buckets = 1;
    if (v->piece_buckets > SX_PIECE_BUCKETS_MAX)
        v->piece_buckets = SX_PIECE_BUCKETS_MAX;
}

/* Builds say eps, which they find if they are not told. Lines wrong by 64 ranks
 * take a thousandth of what keys do, mostly. */
static void shape_pgm(sx_view *v, sx_spec *spec)
{
    if (!(spec->given & SX_P_EPS))
        spec->eps = 64;
    if (!(spec->given & SX_P_EPS2))
        spec->eps2 = 4;
    if (!(spec->given & SX_P_CUTS))
        spec->cuts = sx_pgm_cuts(v->n, spec->eps);
    if (v->n / spec->cuts >= SX_PART_MOST)
        spec->cuts = (uint32_t)(v->n / SX_PART_MOST) + 1;
    if (spec->cuts > v->n)                /* parts without keys take memory, too */
        spec->cuts = v->n ? (uint32_t)v->n : 1;
    v->cuts = spec->cuts;
    v->eps = spec->eps;
    v->eps2 = spec->eps2;
}

static void add_level(sx_view *v, uint64_t segments)
{
    v->level_nodes[v->levels] = segments;
    v->level_first[v->levels + 1] = v->level_first[v->levels] + sx_level_entries(segments);
    v->levels++;
}

sx_status sx_shape_levels(sx_view *v, const uint64_t *segments, uint64_t levels, sx_err *err)
{
    v->levels = 0;
    v->level_first[0] = 0;
    if (levels == 0 || levels > SX_LEVELS_MAX || segments[0] != 1)
        return sx_fail(err, SX_ECORRUPT, "%llu levels of segments, the first of %llu",
                       (unsigned long long)levels,
                       (unsigned long long)(levels ? segments[0] : 0));
    for (uint64_t l = 0; l < levels; l++) {
        uint64_t below = l + 1 < levels ? segments[l + 1] : v->n;
        if (segments[l] == 0 || segments[l] > below || below > v->n ||
            (l + 1 < levels && segments[l] >= below)) {
            v->levels = 0;
            return sx_fail(err, SX_ECORRUPT, "level %llu has %llu segments over %llu",
                           (unsigned long long)l, (unsigned long long)segments[l],
                           (unsigned long long)below);
        }
        add_level(v, segments[l]);
    }
    return SX_OK;
}

void sx_shape_levels_most(sx_view *v)
{
    uint64_t most[SX_LEVELS_MAX], m = v->n;
    uint32_t levels = 0;

    do {                          /* as sx_pgm_most(), for all parts together */
        sx_fitting f = sx_level_fitting(v, m, levels);
        uint64_t segments = m / (2 * (uint64_t)f.eps + 1) + 1 + 2 * ((uint64_t)f.cuts - 1);
        m = segments < m || m == 1 ? segments : m;
        most[levels++] = m;
    } while (m > 1 && levels < SX_LEVELS_MAX);
    v->levels = 0;
    v->level_first[0] = 0;
    while (levels > 0)
        add_level(v, most[--levels]);
}

sx_status sx_shape(sx_view *out, sx_spec *spec, uint32_t node_bytes, uint32_t width,
                   uint32_t row_bytes, uint64_t n, sx_err *err)
{
    sx_view v = {.n = n, .family = spec->family, .width = width, .row_bytes = row_bytes};
    uint32_t natural = node_bytes / width;

    if (n > SX_KEYS_MAX)
        return sx_fail(err, SX_EINVAL, "%llu keys are more than an index can hold (%llu)",
                       (unsigned long long)n, (unsigned long long)SX_KEYS_MAX);
    if (!(spec->given & SX_P_K))
        spec->k = natural + 1;
    /* Under nodes of the natural size a leaf has at least 8 keys, which keeps
     * the pivots at one key in eight. */
    if (!(spec->given & SX_P_LEAF))
        spec->leaf = spec->k == natural + 1 && natural < 8 ? 8 : spec->k - 1;
    /* Without rows there is nothing to keep beside the keys. */
    if (!(spec->given & SX_P_LAYOUT) || row_bytes == 0)
        spec->layout = SX_SPLIT;
    if (spec->layout == SX_PAIRS) {
        /* A block is a node's keys, which one comparison takes; where nodes
         * are half a line (a GPU) it is a leaf, which lanes read together. */
        uint32_t m = spec->family == SX_FAM_PIVOT && node_bytes < SX_LINE ? spec->leaf
                                                                          : spec->k - 1;
        if (spec->family == SX_FAM_GUIDE && node_bytes < SX_LINE && width + row_bytes == 8 &&
            n * 8 <= SECTOR_BYTES)
            m = 4;
        if (!(spec->given & SX_P_BLOCK))
            spec->block = spec->family != SX_FAM_SORTED && !(m & (m - 1)) && m <= SX_BLOCK_MAX
                              ? m : natural;
        /* Keys and rows stay aligned: either part of a block is a multiple
         * of both. */
        if (spec->block * row_bytes < width)
            spec->block = width / row_bytes;
        if (spec->block * width < row_bytes)
            spec->block = row_bytes / width;
    }
    v.k = spec->k;
    v.leaf = spec->leaf;
    switch (spec->family) {
    case SX_FAM_SORTED:
        spec->given = SX_P_LAYOUT;
        v.window = n;
        shape_slots(&v, spec, n);
        break;
    case SX_FAM_PIVOT:
        shape_pivot(&v, spec);
        spec->given = SX_P_K | SX_P_LEAF | SX_P_LEVELS | SX_P_LAYOUT;
        shape_slots(&v, spec, n);
        break;
    case SX_FAM_EYTZ:
        shape_eytz(&v);
        spec->given = SX_P_K | SX_P_LAYOUT;
        /* the bottom's last node is whole */
        shape_slots(&v, spec, v.level_first[v.levels] + sx_round_up(v.bottom, v.k - 1));
        break;
    case SX_FAM_GUIDE:
        shape_guide(&v, spec, node_bytes < SX_LINE);
        spec->given = SX_P_BUCKET | SX_P_PIECES | SX_P_LAYOUT;
        shape_slots(&v, spec, n);
        break;
    case SX_FAM_PGM:
        if (n > SX_PGM_MOST)
            return sx_fail(err, SX_EINVAL, "%llu keys are more than a pgm can hold (%llu)",
                           (unsigned long long)n, (unsigned long long)SX_PGM_MOST);
        shape_pgm(&v, spec);
        spec->given = SX_P_EPS | SX_P_EPS2 | SX_P_CUTS | SX_P_LAYOUT;
        shape_slots(&v, spec, n);
        break;
    default:
        return sx_fail(err, SX_EINVAL, "'%s' has no shape of its own",
                       sx_family_name(spec->family));
    }
    if (spec->layout == SX_PAIRS)
        spec->given |= SX_P_BLOCK;
    v.windows = v.window ? (n + v.window - 1) / v.window : 0;
    *out = v;
    return SX_OK;
}

const char *sx_section_name(sx_section_kind kind)
{
    static const char *const names[] = {"keys", "rows", "pairs", "pivots", "pieces",
                                        "guide", "levels", "segments"};

    return names[kind];
}

uint64_t sx_section_bytes(const sx_view *v, sx_section_kind kind)
{
    if (v->n == 0)
        return 0;
    switch (kind) {
    case SX_SEC_KEYS:
        return v->block ? 0 : v->slots * v->width;
    case SX_SEC_ROWS:
        return v->block ? 0 : v->n * v->row_bytes;
    case SX_SEC_PAIRS:
        return v->block ? v->slots / v->block * v->block_bytes : 0;
    case SX_SEC_PIVOTS:
        return v->family == SX_FAM_PIVOT ? v->level_first[v->levels] * v->width : 0;
    case SX_SEC_PIECES:
        return v->family == SX_FAM_GUIDE
                   ? sx_piece_key_bytes(v) + v->pieces * sizeof(sx_piece_map) : 0;
    case SX_SEC_GUIDE:
        return v->family == SX_FAM_GUIDE ? sx_guide_records(v) * SX_GUIDE_RECORD : 0;
    case SX_SEC_LEVELS:
        return v->family == SX_FAM_PGM ? v->levels * sizeof(uint64_t) : 0;
    case SX_SEC_SEGMENTS:
        return v->family == SX_FAM_PGM && v->levels
                   ? sx_segment_key_bytes(v) + v->level_first[v->levels] * SX_SEGMENT : 0;
    default:
        return 0;
    }
}

uint64_t sx_upper_bytes(const sx_view *v, sx_section_kind kind)
{
    uint64_t slots;

    if (kind == SX_SEC_PIVOTS || kind == SX_SEC_PIECES || kind == SX_SEC_GUIDE ||
        kind == SX_SEC_SEGMENTS)
        return sx_section_bytes(v, kind);
    if (v->family != SX_FAM_EYTZ || sx_section_bytes(v, kind) == 0)
        return 0;
    slots = v->level_first[sx_eytz_upper_levels(v)];
    if (kind == SX_SEC_KEYS)
        return slots * v->width;
    return kind == SX_SEC_PAIRS ? (slots + v->block - 1) / v->block * v->block_bytes : 0;
}

int sx_shape_is_arrays(const sx_view *v)
{
    return v->family != SX_FAM_EYTZ && !v->block;
}

void sx_view_bind(sx_view *v, const void *const base[SX_SECTION_KINDS])
{
    if (v->block) {
        v->keys = base[SX_SEC_PAIRS];
        v->rows = v->keys ? v->keys + v->block * v->width : NULL;
    } else {
        v->keys = base[SX_SEC_KEYS];
        v->rows = base[SX_SEC_ROWS];
    }
    v->pivots = base[SX_SEC_PIVOTS];
    v->segment_keys = base[SX_SEC_SEGMENTS];
    v->segments = v->segment_keys ? v->segment_keys + sx_segment_key_bytes(v) : NULL;
    v->guide = base[SX_SEC_GUIDE];
    v->piece_keys = base[SX_SEC_PIECES];
    v->piece_maps = v->piece_keys ? v->piece_keys + sx_piece_key_bytes(v) : NULL;
}
