#include "cpu/cpu_chunk.h"

#include "cpu/cpu_strings.h"
#include "family/slots.h"

#include <string.h>

static void no_bounds(const sx_view *v, const void *q, unsigned m, sx_side side,
                      const sx_state *entry, uint64_t *rank, uint64_t *slot, int rows)
{
    (void)v;
    (void)q;
    (void)side;
    (void)entry;
    (void)rows;
    for (unsigned i = 0; i < m; i++) {
        rank[i] = 0;
        if (slot)
            slot[i] = SX_NO_SLOT;
    }
}

sx_means sx_means_for(const sx_cpu *cpu, const sx_view *v, int entered)
{
    unsigned width = v->width == 4 ? 0 : v->width == 8 ? 1 : 2;
    sx_bounds_fn *bounds = v->n == 0 ? no_bounds
                           : cpu->whole && !entered ? sx_cpu_small_for(cpu->level, v) : NULL;

    if (!bounds)
        bounds = sx_family_cpu_of(v->family)->bounds[cpu->level][width];
    return (sx_means){bounds, sx_cpu_walks_for(cpu->level, v->width)};
}

#define ENTERED_CHUNK 64u

/* Lines of keys that are asked for without the lines of rows between them came later than ever on
 * Zen 4. */
sx_asking sx_asking_for(const sx_view *v, const sx_state *lo, const sx_state *hi, int rows)
{
    int asks = lo && v->n > 0 && (rows || v->block_bytes <= 64 || !v->block);

    return (sx_asking){asks ? sx_family_cpu_of(v->family)->ask : NULL, v, {lo, hi}, rows};
}

void sx_ask_entries(const sx_asking *a, uint64_t from, uint64_t to, uint64_t end)
{
    if (!a->ask)
        return;
    to = to < end ? to : end;
    for (unsigned i = 0; i < 2 && a->entry[i] && from < to; i++)
        a->ask(a->v, a->entry[i] + from, (unsigned)(to - from), a->rows);
}

unsigned sx_chunk_length(const sx_asking *a, uint64_t at, uint64_t end)
{
    unsigned most = a->ask ? ENTERED_CHUNK : SX_CHUNK;

    return end - at < most ? (unsigned)(end - at) : most;
}

const sx_view *sx_walked_view(const sx_cpu *cpu, const sx_views *views, sx_view *own)
{
    const sx_view *v = sx_one_view(views);
    const sx_family_cpu *family = sx_family_cpu_of(v->family);

    if (!family->lab || (!cpu->lab.node && !cpu->lab.pipeline))
        return v;
    *own = *v;
    family->lab(own, &cpu->lab);
    return own;
}

void sx_find_strings(const sx_cpu *cpu, const sx_means *w, const sx_view *v, sx_chunk *c,
                     const sx_slice *q, const sx_text_codes *known, uint64_t at, sx_side side,
                     const sx_state *entry, int rows)
{
    uint64_t before[SX_CHUNK], same[SX_CHUNK];
    sx_settle settle = {v, {q, NULL}, at, c->m, same, c->flag, c->at};

    if (known->code) {
        sx_text_codes from = sx_text_codes_from(known, at, v->width);
        memcpy(c->q, from.code, c->m * v->width);
        memcpy(same, from.same, c->m * sizeof *same);
    } else {
        sx_cpu_codes(cpu, v, &settle.q, at, c->m, c->q, same);
    }
    w->bounds(v, c->q, c->m, SX_LEFT, entry, c->at, c->slot, rows);
    sx_cpu_settle_soon(v, c->at, c->m);
    w->keys->equal(v, c->q, c->slot, c->flag, c->m);
    memcpy(before, c->at, c->m * sizeof *before);
    sx_cpu_settle(&settle, side);
    for (unsigned i = 0; i < c->m; i++)
        if (c->at[i] != before[i])
            c->slot[i] = c->at[i] < v->n ? sx_slot_of_rank(v, c->at[i]) : SX_NO_SLOT;
}
