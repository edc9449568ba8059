/* pgm_cpu.c - walks under segments on a CPU; and the segments: all threads fit those of parts
 * of the keys, then the same with the segments' first keys, until one segment is left. */
#include "base/alloc.h"
#include "family/generic/groups.h"
#include "family/pgm/pgm_make.h"
#include "family/pgm/pgm_shape.h"

#include <stdatomic.h>
#include <string.h>

#define SX_BODY "family/pgm/pgm_cpu_impl.h"
#include "family/generic/cpu_each.h"

/* An entry is where a window begins. */
static void ask(const sx_view *v, const sx_state *entry, unsigned m, int rows)
{
    uint64_t window = 2 * (uint64_t)v->of.pgm.eps + 2;

    for (unsigned j = 0; j < m; j++)
        sx_ask_window(v, entry[j].at, window, rows);
}

/* ---- building --------------------------------------------------------------------- */

/* One level while it is made. Each part has space for as many segments as the largest
 * can have. Afterwards they lie one behind the other. */
typedef struct {
    const void *below;            /* the keys that it is over */
    sx_fitting of;
    uint32_t width;
    uint64_t space;                /* of a part */
    unsigned char *keys;
    sx_segment *segments;
    uint64_t count;
    uint64_t *part_count;
    _Atomic int failed;           /* there was no memory for the hulls */
    sx_progress *progress;
} level;

static uint64_t part_space(sx_fitting of)
{
    return sx_pgm_most((of.n + of.cuts - 1) / of.cuts + 1, of.eps);
}

static void fit_part(void *work, unsigned part)
{
    level *w = work;
    uint64_t first = sx_pgm_part(w->of.n, w->of.cuts, part);
    uint64_t end = sx_pgm_part(w->of.n, w->of.cuts, part + 1);
    void *hulls = NULL;
    sx_err err;

    if (first == end || sx_progress_stopped(w->progress))
        return;
    if (sx_alloc(&hulls, sx_hull_entries(end - first) * sizeof(uint32_t), "hulls", &err) !=
        SX_OK) {
        atomic_store(&w->failed, 1);
        return;
    }
    w->part_count[part] = sx_pgm_fit(w->width, w->below, w->of.n, first, end, w->of.eps, hulls,
                                     w->keys + part * w->space * w->width,
                                     w->segments + part * w->space);
    sx_release(hulls);
    sx_progress_add(w->progress, end - first);
}

static void drop_level(level *w)
{
    sx_release(w->keys);
    sx_release(w->segments);
    w->keys = NULL;
    w->segments = NULL;
}

static sx_status fit_level(const sx_sharing *sharing, level *w, sx_err *err)
{
    void *keys = NULL, *segments = NULL, *counts = NULL;
    uint64_t n = w->of.n;
    uint32_t cuts = w->of.cuts;
    sx_status st;

    w->space = part_space(w->of);
    st = sx_alloc_array(&keys, cuts * w->space, w->width, "segments", err);
    if (st == SX_OK)
        st = sx_alloc_array(&segments, cuts * w->space, SX_SEGMENT, "segments", err);
    if (st == SX_OK)
        st = sx_alloc_array(&counts, cuts, sizeof(uint64_t), "segments", err);
    w->keys = keys;
    w->segments = segments;
    w->part_count = counts;
    if (st == SX_OK) {
        memset(counts, 0, cuts * sizeof(uint64_t));
        sx_pool_run(sharing->pool, sharing->threads, cuts, fit_part, w);
        st = sx_progress_status(w->progress, err);
        if (st == SX_OK && w->failed)
            st = sx_fail(err, SX_ENOMEM, "no memory for the hulls of %llu keys, %llu bytes a thread",
                         (unsigned long long)n,
                         (unsigned long long)(sx_hull_entries(n / cuts + 1) * 4));
    }
    for (uint32_t p = 0; p < cuts && st == SX_OK; p++) {
        memmove(w->keys + w->count * w->width, w->keys + p * w->space * w->width,
                w->part_count[p] * w->width);
        memmove(w->segments + w->count, w->segments + p * w->space,
                w->part_count[p] * SX_SEGMENT);
        w->count += w->part_count[p];
    }
    sx_release(counts);
    if (st != SX_OK)
        drop_level(w);
    return st;
}

/* The levels, from the keys up, become the sections of a shape. */
static sx_status put_levels(sx_view *v, const level *w, uint32_t levels,
                            void *base[SX_SECTIONS], sx_err *err)
{
    uint64_t counts[SX_PGM_LEVELS];
    sx_status st;

    for (uint32_t l = 0; l < levels; l++)
        counts[l] = w[levels - 1 - l].count;
    st = sx_shape_levels(v, counts, levels, err);
    if (st == SX_OK)
        st = sx_alloc(&base[SX_SEC_LEVELS], sx_section_bytes(v, SX_SEC_LEVELS), "levels", err);
    if (st == SX_OK)
        st = sx_alloc(&base[SX_SEC_SEGMENTS], sx_section_bytes(v, SX_SEC_SEGMENTS), "segments",
                      err);
    if (st != SX_OK)
        return st;
    memcpy(base[SX_SEC_LEVELS], counts, levels * sizeof *counts);
    unsigned char *keys = base[SX_SEC_SEGMENTS];
    for (uint32_t l = 0; l < levels; l++)
        sx_pgm_put_level(v, l, w[levels - 1 - l].keys, w[levels - 1 - l].segments, keys,
                         keys + sx_segment_key_bytes(&v->of.pgm, v->width));
    return SX_OK;
}

static sx_status fit(sx_view *v, const void *keys, const sx_sharing *sharing,
                     void *base[SX_SECTIONS], sx_err *err)
{
    level w[SX_PGM_LEVELS];
    uint32_t levels = 0;
    sx_status st;

    memset(w, 0, sizeof w);
    do {
        level *below = levels ? &w[levels - 1] : NULL, *now = &w[levels];
        now->below = below ? below->keys : keys;
        now->progress = sharing->progress;
        now->of = sx_level_fitting(&v->of.pgm, below ? below->count : v->n, levels);
        now->width = v->width;
        st = fit_level(sharing, now, err);
        levels++;
    } while (st == SX_OK && w[levels - 1].count > 1 && levels < SX_PGM_LEVELS);
    if (st == SX_OK)
        st = put_levels(v, w, levels, base, err);
    for (uint32_t l = 0; l < levels; l++)
        drop_level(&w[l]);
    return st;
}

static uint64_t fit_peak(const sx_view *v)
{
    const sx_pgm *t = &v->of.pgm;
    /* The hulls of all parts at once, or of a single one; levels above have less. */
    uint64_t bytes = 2 * sizeof(uint32_t) * (v->n + 2 * (uint64_t)t->cuts);

    for (uint32_t l = 0; l < t->levels; l++) {
        sx_fitting of = sx_level_fitting(t, sx_level_below(t, v->n, l), t->levels - 1 - l);
        bytes += of.cuts * (part_space(of) * (v->width + SX_SEGMENT) + sizeof(uint64_t));
    }
    return bytes;
}

static uint64_t units(const sx_view *v)
{
    return v->n;
}

const sx_family_cpu sx_cpu_of_pgm = {.bounds = SX_BOUNDS_ALL, .steps = SX_STEPS_ALL, .ask = ask,
                                     .fit = fit, .fit_peak = fit_peak, .units = units};
