#include "family/shape.h"

#include "base/alloc.h"
#include "family/guide/guide_make.h"
#include "family/index_check.h"

#include <inttypes.h>
#include <string.h>

_Static_assert(SX_GUIDE_RECORD == 32 && SX_GUIDE_HEAD + SX_GUIDE_CELLS == SX_GUIDE_RECORD,
               "each lane of a warp has a byte of a record");

static const sx_param params[] = {
    SX_PARAM("bucket", SX_GUIDE_BUCKET, of.guide.bucket, 1, SX_BUCKET_MAX),
    SX_PARAM("pieces", SX_GUIDE_PIECES, of.guide.pieces, 1, SX_PIECES_MAX),
    SX_PARAMS_OF_LEAVES,
    SX_PARAMS_END,
};

/* Keys of a cell, if the spec does not say it. The fewer they are, the nearer is a
 * guess, and the more of a cache the guide takes. On a CPU 16: 0.08 bytes a key. On a
 * GPU as many as leave most of L2 to the rest, from 4 to 40. */
#define GUIDE_BYTES (16u << 20)
static uint32_t usual_bucket(uint64_t n, int gpu)
{
    uint64_t keys = (n / SX_GUIDE_CELLS * SX_GUIDE_RECORD + GUIDE_BYTES - 1) / GUIDE_BYTES;

    if (!gpu)
        return 16;
    return keys < 4 ? 4 : keys > 40 ? 40 : (uint32_t)keys;
}

/* Pairs in blocks of one sector pay up to this size, of which about half is in L2:
 * more guesses are wrong, but that costs less than a second sector does. */
#define SECTOR_BYTES (256ull << 20)
static uint32_t block(const sx_view *v, const sx_spec *spec, const sx_target *target)
{
    (void)spec;
    return target->node_bytes < SX_LINE && v->width + v->row_bytes == 8 &&
                   v->n * 8 <= SECTOR_BYTES
               ? 4 : 0;
}

static sx_status shape(sx_view *v, sx_spec *spec, const sx_target *target, sx_err *err)
{
    sx_guide_params *p = &spec->of.guide;
    sx_guide *g = &v->of.guide;
    uint64_t buckets;

    (void)err;
    if (!(spec->given & SX_GUIDE_PIECES))
        p->pieces = 1;
    if (!(spec->given & SX_GUIDE_BUCKET))
        p->bucket = usual_bucket(v->n, target->node_bytes < SX_LINE);
    if (p->pieces > v->n)
        p->pieces = v->n ? (uint32_t)v->n : 1;
    buckets = (v->n + p->bucket - 1) / p->bucket;
    g->pieces = p->pieces;
    g->bucket = p->bucket;
    g->piece_cells = (buckets + g->pieces - 1) / g->pieces;
    if (g->piece_cells < 1)
        g->piece_cells = 1;
    if (g->piece_cells > SX_PIECE_CELLS_MAX)
        g->piece_cells = SX_PIECE_CELLS_MAX;
    spec->given = SX_GUIDE_BUCKET | SX_GUIDE_PIECES;
    sx_shape_slots(v, v->n);
    v->unit = sx_array_unit(v);
    return SX_OK;
}

static uint64_t bytes(const sx_view *v, unsigned section)
{
    const sx_guide *g = &v->of.guide;

    return section == SX_SEC_PIECES    ? sx_piece_key_bytes(g, v->width) + g->pieces * sizeof(sx_piece_map)
           : section == SX_SEC_RECORDS ? sx_guide_records(g) * SX_GUIDE_RECORD
                                : 0;
}

static uint64_t upper(const sx_view *v, unsigned section)
{
    return section >= SX_SEC_OWN ? bytes(v, section) : 0;
}

static void bind(sx_view *v, const void *const base[SX_SECTIONS])
{
    sx_guide *g = &v->of.guide;

    g->records = base[SX_SEC_RECORDS];
    g->piece_keys = base[SX_SEC_PIECES];
    g->piece_maps = g->piece_keys ? g->piece_keys + sx_piece_key_bytes(g, v->width) : NULL;
}

/* Compares with what the keys determine. For that they are needed in one array. */
static sx_status check(const sx_view *v, sx_err *err)
{
    const sx_guide *g = &v->of.guide;
    const unsigned char *keys = v->keys;
    void *copy = NULL;
    unsigned char key[16], record[SX_GUIDE_RECORD];
    sx_status st = SX_OK;

    if (v->block) {
        st = sx_alloc_array(&copy, v->n, v->width, "checking a guide", err);
        if (st != SX_OK)
            return st;
        for (uint64_t i = 0; i < v->n; i++)
            memcpy((unsigned char *)copy + i * v->width, v->keys + sx_key_offset(v, i), v->width);
        keys = copy;
    }
    for (uint64_t p = 0; p < sx_piece_key_bytes(g, v->width) / v->width && st == SX_OK; p++) {
        sx_guide_make_first(v, keys, p, key);
        if (memcmp(key, g->piece_keys + p * v->width, v->width) != 0)
            st = sx_check_broken(v, "G1", "not the key it begins with, piece", p, err);
    }
    for (uint64_t p = 0; p < g->pieces && st == SX_OK; p++) {
        sx_piece_map map = sx_guide_make_map(v, keys, p);
        if (memcmp(&map, g->piece_maps + p * sizeof map, sizeof map) != 0)
            st = sx_check_broken(v, "G1", "another map than its keys determine, piece", p, err);
    }
    for (uint64_t r = 0; r < sx_guide_records(g) && st == SX_OK; r++) {
        sx_guide_make_record(v, keys, r, record);
        if (memcmp(record, g->records + r * SX_GUIDE_RECORD, SX_GUIDE_RECORD) != 0)
            st = sx_check_broken(v, "G2", "not what the keys determine, record", r, err);
    }
    sx_release(copy);
    return st;
}

static void explain(const sx_view *v, const sx_spec *spec, sx_text *t, sx_format format)
{
    const sx_guide *g = &v->of.guide;

    (void)spec;
    if (format == SX_JSON)
        sx_text_add(t, ", \"bucket\": %u, \"pieces\": %u, \"piece_cells\": %" PRIu64, g->bucket,
                    g->pieces, g->piece_cells);
    else
        sx_text_add(t, "guide    %u piece%s of %" PRIu64 " cells, of %u key%s on average\n",
                    g->pieces, g->pieces == 1 ? "" : "s", g->piece_cells, g->bucket,
                    g->bucket == 1 ? "" : "s");
}

static uint32_t levels(const sx_view *v)
{
    return v->of.guide.pieces > 0;
}

const sx_family sx_family_guide = {
    .name = "guide",
    .what = "sorted array under a histogram of the key space",
    .traits = SX_SLOTS_ARE_RANKS | SX_HAS_UPPER | SX_SIZES_KNOWN,
    .params = params,
    .sections = {"pieces", "guide"},
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
