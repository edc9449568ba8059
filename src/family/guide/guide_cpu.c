/* guide_cpu.c - walks under a guide on a CPU, and the guide. */
#include "family/generic/groups.h"
#include "family/guide/guide_make.h"
#include "family/guide/guide_simd.h"

/* Walks under a guide prefetch lines PART at a time: a core has buffers for about two
 * dozen, and drops requests beyond that. While walk i prefetches its record, walk i -
 * ENTER has got its own and prefetches a unit of keys, and walk i - LOOK looks at its
 * unit. Measured on Zen 4 at 2^26 keys, against 32 at a time: half the time. */
#define PART 8u
#define ENTER PART
#define LOOK (3 * PART)

/* The walks of a chunk: the window that holds a walk's bound, and the unit that the walk
 * looks at. */
typedef struct {
    uint64_t start[SX_CHUNK], end[SX_CHUNK], rank[SX_CHUNK];
    uint64_t at[SX_CHUNK];        /* at first, the cell */
    uint32_t fraction[SX_CHUNK];
    /* Walks whose guess was wrong. Every look writes behind the last, even if it was right. */
    uint16_t late[SX_CHUNK + 1];
    unsigned lates;
} guide_walks;

#define SX_BODY "family/guide/guide_cpu_impl.h"
#include "family/generic/cpu_each.h"

/* An entry says where in its window the query would be. */
static void ask(const sx_view *v, const sx_state *entry, unsigned m, int rows)
{
    for (unsigned j = 0; j < m; j++) {
        uint64_t start = entry[j].at & ((1ull << SX_GUIDE_START_BITS) - 1);
        uint64_t count = entry[j].at >> SX_GUIDE_START_BITS & 255;
        uint64_t fraction = entry[j].at >> SX_GUIDE_FRACTION_AT & 255;
        if (count != SX_GUIDE_CROWDED)
            sx_ask_window(v, start + (count * fraction >> 8), 1, rows);
    }
}

/* ---- building --------------------------------------------------------------------- */

typedef struct {
    const sx_view *v;             /* with its pieces */
    const unsigned char *keys;    /* sorted */
    unsigned char *records;
} filling;

/* Records [first, end). Each begins where the one before ended, but finds that by itself. */
static void fill_records(void *work, uint64_t first, uint64_t end)
{
    const filling *w = work;

    for (uint64_t r = first; r < end; r++)
        sx_guide_make_record(w->v, w->keys, r, w->records + r * SX_GUIDE_RECORD);
}

static void fill(const sx_view *v, const void *keys, const sx_sharing *sharing,
                 void *const base[SX_SECTIONS])
{
    const sx_guide *g = &v->of.guide;
    unsigned char *pieces = base[SX_SEC_PIECES];
    sx_piece_map *maps = (sx_piece_map *)(void *)(pieces + sx_piece_key_bytes(g, v->width));
    sx_view with_pieces = *v;
    filling w = {&with_pieces, keys, base[SX_SEC_RECORDS]};

    for (uint64_t p = 0; p < sx_piece_key_bytes(g, v->width) / v->width; p++)
        sx_guide_make_first(v, keys, p, pieces + p * v->width);
    for (uint64_t p = 0; p < g->pieces; p++)
        maps[p] = sx_guide_make_map(v, keys, p);
    sx_view_bind(&with_pieces, (const void *const *)base);
    sx_share(sharing, sx_guide_records(g), 64, fill_records, &w);
}

static uint64_t units(const sx_view *v)
{
    return sx_guide_records(&v->of.guide);
}

const sx_family_cpu sx_cpu_of_guide = {.bounds = SX_BOUNDS_ALL, .steps = SX_STEPS_ALL, .ask = ask,
                                       .fill = fill, .units = units};
