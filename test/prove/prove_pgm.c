/* prove_pgm.c - steps under segments. */
unsigned __int128 nondet_wide(void);
#define SX_TIMES(a, b) nondet_wide()
#include "prove.h"

#define SX_LOAD_SEGMENT(p, s)              \
    do {                                   \
        reads((p), SX_SEGMENT, 16);        \
        (s).slope = nondet_u64();          \
        (s).base = nondet_u64();           \
    } while (0)

/* What prove_walks.c proves of a GPU's count, and cpu_count_from() below of a CPU's: it looks
 * at least at m keys from key i on, and at a line more, or 16 keys; a GPU's begins at a
 * multiple of 16 bytes. */
static inline uint64_t count_any(const unsigned char *keys, uint64_t i, uint64_t m)
{
    uint64_t before = i & (16 / W - 1), c = nondet_u64(), more = m + 64 / W;

    reads(keys + (i - before) * W, (before + (more > 16 ? more : 16)) * W, 16);
    ASSUME(c <= m + 16);
    return c;
}
#define SX_COUNT_FROM(keys, i, m, q) count_any((keys), (i), (m))

#include "family/generic/array_walk_impl.h"
#include "family/pgm/pgm_walk_impl.h"

static sx_view pgm_view(void)
{
    sx_view v = some_view();

    v.of.pgm.levels = LEVELS;
    ASSUME(pgm_is(&v));
    return v;
}

/* One section has both. Here they are two, so that each read is checked by itself. */
static void bind_segments(sx_view *v)
{
    sx_pgm *t = &v->of.pgm;

    t->segment_keys = section(sx_segment_key_bytes(t, W));
    t->segments = section(t->level_first[t->levels] * SX_SEGMENT);
}

/* A segment of level l leads into level l + 1. */
void pgm_start(void)
{
    sx_view v = pgm_view();
    const sx_pgm *t = &v.of.pgm;
    const uint32_t l = 0;         /* any: see prove.h */
    uint64_t at = nondet_u64();

    ASSUME(pgm_level_is(&v, l) && pgm_level_is(&v, l + 1));
    ASSUME(at < t->level_count[l]);
    bind_segments(&v);
    at = F(pgm_start)(&v, l, at, nondet_key(), t->segment_keys, t->segments);
    ASSERT(at < t->level_count[l + 1], "a segment of the next level");
    END;
}

/* From there it goes on to a segment behind it, or stays. */
void pgm_find(void)
{
    sx_view v = pgm_view();
    const sx_pgm *t = &v.of.pgm;
    const uint32_t l = 0;
    uint64_t at = nondet_u64();

    ASSUME(pgm_level_is(&v, l));
    ASSUME(at < t->level_count[l]);
    bind_segments(&v);
    at = F(pgm_find)(&v, l, at, nondet_key(), t->segment_keys);
    ASSERT(at < t->level_count[l], "a segment of the level");
    END;
}

/* The last level, searched at once: a window of len segments, halved. */
void pgm_halve(void)
{
    sx_view v = pgm_view();
    const sx_pgm *t = &v.of.pgm;
    window_of w;

    ASSUME(pgm_level_is(&v, t->levels - 1));
    bind_segments(&v);
    w = some_window(t->level_count[t->levels - 1]);
    window_halved(w, F(pgm_halve)(&v, w.at, w.half, nondet_key()));
    END;
}

/* A segment of the last level leads to keys. */
void pgm_window(void)
{
    sx_view v = pgm_view();
    const sx_pgm *t = &v.of.pgm;
    uint64_t at = nondet_u64(), count;

    ASSUME(pgm_level_is(&v, t->levels - 1) && at < t->level_count[t->levels - 1]);
    bind_segments(&v);
    at = F(pgm_window)(&v, at, nondet_key(), &count);
    ASSERT(at <= v.n && count <= v.n - at, "a window of the keys");
    END;
}

/* A window of units. The driver chooses where it begins: at all - len at the latest. */
void pgm_begin(void)
{
    sx_view v = pgm_view();
    uint64_t all = F(array_units)(&v, UNIT), len = F(pgm_units)(&v, UNIT);

    ASSERT(len >= 1 && len <= all, "not empty");
    END;
}

/* ---- a CPU's way to count ---------------------------------------------------------------- */

#undef SX_LOAD_SEGMENT
#undef SX_COUNT_FROM
#include "prove_cpu.h"
#include "family/pgm/pgm_cpu_impl.h"

/* The promise of count_any(), without the keys before i; for up to five lines. */
void cpu_count_from(void)
{
    uint64_t i = nondet_u64(), m = nondet_u64(), more = m + 64 / W;
    unsigned char *keys;

    ASSUME(small(i) && m <= 256 / W + 1);
    keys = section((i + (more > 16 ? more : 16)) * W);
    ASSERT(CPU(count_from)(keys, i, m, nondet_key()) <= m + 16, "so many at most");
    END;
}
