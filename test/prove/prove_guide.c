/* prove_guide.c - steps under a guide. */
#include "prove.h"

/* What sx_record_window() returns; prove_walks.c proves it. */
static inline uint64_t record_any(const unsigned char *p, uint32_t j, uint32_t *count)
{
    uint64_t start = nondet_u64();

    reads(p, SX_GUIDE_RECORD, 16);
    ASSERT(j < SX_GUIDE_CELLS, "a cell of the record");
    *count = nondet_u32();
    ASSUME(*count <= SX_GUIDE_CROWDED && start < (1ull << 48) + SX_GUIDE_CELLS * 255);
    return start;
}
#define SX_RECORD_WINDOW(p, j, count) record_any((p), (j), (count))

#include "family/generic/array_walk_impl.h"
#include "family/guide/guide_walk_impl.h"

static sx_view guide_view(void)
{
    sx_view v = some_view();

    ASSUME(guide_is(&v));
    return v;
}

/* One section has both. Here they are two, so that each read is checked by itself. */
static void bind_pieces(sx_view *v)
{
    sx_guide *g = &v->of.guide;

    g->piece_keys = section(sx_piece_key_bytes(g, W));
    g->piece_maps = section(g->pieces * sizeof(sx_piece_map));
}

/* The state of a search: the bound is in [start, end], and the walk looks at unit `at`, which
 * has a part of the window, or is the one behind the keys. */
static int looks(const sx_view *v, uint64_t start, uint64_t end, uint64_t at)
{
    uint64_t first = at * UNIT, last = (v->slots - 1) / UNIT;

    return start <= end && end <= v->n && at <= last &&
           ((first <= end && first + UNIT > start) || (start == v->slots && at == last));
}

/* A window of pieces among all, halved. */
void guide_skip(void)
{
    sx_view v = guide_view();
    window_of w = some_window(v.of.guide.pieces);

    bind_pieces(&v);
    window_halved(w, F(guide_skip)(nondet_key(), v.of.guide.piece_keys, (uint32_t)w.at,
                                   (uint32_t)w.half));
    END;
}

/* A piece's cell. All pieces have equally many cells, so with those of the pieces before it
 * is one of all: p < pieces and c < cells, so p * cells + c < pieces * cells. */
void guide_cell(void)
{
    sx_view v = guide_view();
    const sx_guide *g = &v.of.guide;
    uint32_t piece = nondet_u32(), fraction;

    ASSUME(piece < g->pieces);
    bind_pieces(&v);
    ASSERT(F(guide_cell_of)(&v, nondet_key(), piece, &fraction) < g->piece_cells,
           "a cell of the piece");
    END;
}

/* A cell's window. The number of cells is any that pieces of them can make. */
void guide_window(void)
{
    sx_view v = guide_view();
    uint64_t cell = nondet_u64(), count, start;

    v.of.guide.pieces = 1;
    ASSUME(v.of.guide.piece_cells <= SX_PIECES_MAX * SX_PIECE_CELLS_MAX);
    v.of.guide.records = section(sx_guide_records(&v.of.guide) * SX_GUIDE_RECORD);
    ASSUME(cell < sx_guide_cells(&v.of.guide));
    start = F(guide_window)(&v, cell, &count);
    ASSERT(start <= v.n && count <= v.n - start, "a window of the keys");
    END;
}

/* Any entry gives a window. An entry that says nothing begins anew, as above. */
void guide_entry(void)
{
    sx_view v = guide_view();
    sx_state entry = {.at = nondet_u64()};
    uint64_t count, start;
    uint32_t fraction;

    ASSUME((entry.at >> 47 & 255) != SX_GUIDE_CROWDED);
    start = F(guide_from_entry)(&v, nondet_key(), entry, &count, &fraction);
    ASSERT(start <= v.n && count <= v.n - start, "a window of the keys");
    END;
}

/* A window's first unit to look at, where a cell has few keys. */
void guide_guess(void)
{
    sx_view v = guide_view();
    uint64_t start = nondet_u64(), count = nondet_u64(), at;

    ASSUME(count <= SX_GUIDE_MOST && start <= v.n && count <= v.n - start);
    at = F(guide_guess)(&v, nondet_key(), start, count, nondet_u32(), UNIT);
    ASSERT(looks(&v, start, start + count, at), "a unit of the window");
    END;
}

/* The same in a crowded cell: the units between `at` and `end` become fewer, and both stay in
 * the window's units. guide_guess() begins and ends with such a pair: */
void guide_halve(void)
{
    sx_view v = guide_view();
    uint64_t at = nondet_u64(), end = nondet_u64(), a, b, last = (v.slots - 1) / UNIT;

    bind_leaves(&v);
    ASSUME(at < end && end <= last);
    a = at;
    b = end;
    F(guide_halve)(&v, nondet_key(), &a, &b, UNIT);
    ASSERT(at <= a && a <= b && b <= end && b - a < end - at, "fewer units");
    END;
}

/* the units of its window; any of them can come out. */
void guide_crowd(void)
{
    sx_view v = guide_view();
    uint64_t start = nondet_u64(), count = nondet_u64(), last = (v.slots - 1) / UNIT, at, end;

    ASSUME(count > SX_GUIDE_MOST && start <= v.n && count <= v.n - start);
    at = nondet_u64();
    end = (start + count) / UNIT < last ? (start + count) / UNIT : last;
    ASSUME(start / UNIT < end ? at >= start / UNIT && at <= end : at == start / UNIT);
    ASSERT(looks(&v, start, start + count, at), "a unit of the window");
    END;
}

/* A look at a unit: the walk ends, or goes on in a smaller window, or in the same one at a
 * unit further left. */
void guide_turn(void)
{
    sx_view v = guide_view();
    uint64_t start = nondet_u64(), end = nondet_u64(), at = nondet_u64(), c;
    uint64_t start0 = start, end0 = end, at0 = at;

    bind_leaves(&v);
    ASSUME(looks(&v, start, end, at));
    if (F(guide_turn)(&v, nondet_key(), &start, &end, &at, &c, UNIT, nondet_int())) {
        ASSERT(looks(&v, start, end, at), "a unit of the window");
        ASSERT(start >= start0 && end <= end0 &&
               (end - start < end0 - start0 || at < at0), "less to look at");
        END;
    } else {
        ASSERT(at == at0 && c <= UNIT, "keys of that unit");
        END;
    }
}

/* ---- the CPU's driver, which looks without a branch --------------------------------------- */

#define SX_CHUNK 1u
typedef struct {
    uint64_t start[SX_CHUNK], end[SX_CHUNK], rank[SX_CHUNK], at[SX_CHUNK];
    uint32_t fraction[SX_CHUNK];
    uint16_t late[SX_CHUNK + 1];
    unsigned lates;
} guide_walks;
guide_walks nondet_walks(void);

#define PART 8u
#define ENTER PART
#define LOOK (3 * PART)
#undef SX_RECORD_WINDOW
#define record_window_scalar(p, j, count) record_any((p), (j), (count))
#include "prove_cpu.h"
#include "family/guide/guide_cpu_impl.h"

/* As guide_turn(). */
void guide_look(void)
{
    sx_view v = guide_view();
    guide_walks g = nondet_walks();
    uint64_t start, end, at;

    bind_leaves(&v);
    g.lates = 0;
    ASSUME(looks(&v, g.start[0], g.end[0], g.at[0]));
    start = g.start[0];
    end = g.end[0];
    at = g.at[0];
    CPU(guide_look)(&v, nondet_key(), &g, 0, nondet_int(), UNIT);
    ASSERT(g.rank[0] <= v.n && g.lates <= 1, "a rank");
    if (g.lates) {
        ASSERT(looks(&v, g.start[0], g.end[0], g.at[0]), "a unit of the window");
        ASSERT(g.start[0] >= start && g.end[0] <= end &&
               (g.end[0] - g.start[0] < end - start || g.at[0] < at), "less to look at");
    }
    END;
}
