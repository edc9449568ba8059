/* pivot_cpu.c - walks under pivots on a CPU, and the pivots. */
#include "family/generic/groups.h"

#define SX_BODY "family/pivot/pivot_cpu_impl.h"
#include "family/generic/cpu_each.h"

/* An entry is a window. */
static void ask(const sx_view *v, const sx_state *entry, unsigned m, int rows)
{
    uint64_t window = v->of.pivot.window;

    for (unsigned j = 0; j < m; j++)
        sx_ask_window(v, entry[j].at * window, window, rows);
}

/* ---- building --------------------------------------------------------------------- */

typedef struct {
    const sx_view *v;
    const unsigned char *keys;    /* sorted */
    unsigned char *pivots;
    uint32_t level;
} filling;

/* Pivots [first, end) of a level; width is a constant. */
static inline __attribute__((always_inline)) void
copy_pivots(const filling *w, uint64_t first, uint64_t end, uint32_t width)
{
    const sx_pivot *t = &w->v->of.pivot;
    unsigned char *to = w->pivots + t->first[w->level] * (t->k - 1u) * width;
    sx_stretch_ranks it = sx_pivot_sources(t, w->level, first);

    for (uint64_t i = first; i < end; i++) {
        uint64_t source = sx_place_next(&it);
        if (source < w->v->n)
            memcpy(to + i * width, w->keys + source * width, width);
        else
            memset(to + i * width, 0xff, width);
    }
}

static void fill_level(void *work, uint64_t first, uint64_t end)
{
    const filling *w = work;

    if (w->v->width == 4)
        copy_pivots(w, first, end, 4);
    else if (w->v->width == 8)
        copy_pivots(w, first, end, 8);
    else
        copy_pivots(w, first, end, 16);
}

static void fill(const sx_view *v, const void *keys, const sx_sharing *sharing,
                 void *const base[SX_SECTIONS])
{
    const sx_pivot *t = &v->of.pivot;
    filling w = {v, keys, base[SX_SEC_PIVOTS], 0};

    for (; w.level < t->levels; w.level++)
        sx_share(sharing, (t->first[w.level + 1] - t->first[w.level]) * (t->k - 1u), 4096,
                 fill_level, &w);
}

static uint64_t units(const sx_view *v)
{
    return sx_pivot_keys(&v->of.pivot);
}

const sx_family_cpu sx_cpu_of_pivot = {.bounds = SX_BOUNDS_ALL, .steps = SX_STEPS_ALL, .ask = ask,
                                       .fill = fill, .units = units};
