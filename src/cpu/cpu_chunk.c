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

/* Lines of keys that are asked for without the lines of rows between them came later than ever on
 * Zen 4. */
sx_asking sx_asking_for(const sx_view *v, const sx_state *lo, const sx_state *hi, int rows)
{
    int asks = lo && v->n > 0 && (rows || v->block_bytes <= 64 || !v->block);

    return (sx_asking){asks ? sx_family_cpu_of(v->family)->ask : NULL, v, {lo, hi}, rows};
}

void sx_ask_first(const sx_asking *a, uint64_t from, uint64_t end)
{
    uint64_t n = end - from < SX_ASKED ? end - from : SX_ASKED;

    for (unsigned i = 0; a->ask && i < 2 && a->entry[i]; i++)
        a->ask(a->v, a->entry[i] + from, (unsigned)n, a->rows);
}

void sx_chunk_bounds(const sx_means *w, const sx_view *v, sx_chunk *c, unsigned from, unsigned to,
                     sx_side side, const sx_state *entry, int slots, int rows)
{
    sx_ask_fn *ask = entry && c->asks ? c->asks->ask : NULL;
    unsigned n;

    for (; from < to; from += n) {
        n = ask && to - from > SX_ASKED_PART ? SX_ASKED_PART : to - from;
        if (ask && from + SX_ASKED < c->left) {
            uint64_t left = c->left - from - SX_ASKED;
            ask(v, entry + from + SX_ASKED, left < n ? (unsigned)left : n, c->asks->rows);
        }
        w->bounds(v, c->q + from * v->width, n, side, entry ? entry + from : NULL, c->at + from,
                  slots ? c->slot + from : NULL, rows);
    }
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

typedef struct {
    const sx_means *w;
    sx_chunk *c;
    const sx_text_codes *known;   /* codes, if they are */
    const sx_state *entry;        /* or NULL */
    sx_settle settle;
    uint64_t *same;
    int rows;                     /* are asked for by the walk */
} finding;

/* The codes of strings [from, end) of the chunk. */
static void find_codes(const finding *f, unsigned from, unsigned end)
{
    const sx_settle *job = &f->settle;
    uint32_t width = job->v->width;
    unsigned char *q = f->c->q + from * width;

    if (f->known->code) {
        sx_text_codes at = sx_text_codes_from(f->known, job->at + from, width);
        memcpy(q, at.code, (end - from) * width);
        memcpy(f->same + from, at.same, (end - from) * sizeof *f->same);
    } else {
        sx_cpu_codes(job->cpu, job->v, &job->q, job->at + from, end - from, q, f->same + from);
    }
}

/* Their bounds. */
static void find_bounds(const finding *f, unsigned from, unsigned end)
{
    sx_chunk_bounds(f->w, f->settle.v, f->c, from, end, SX_LEFT, f->entry, 1, f->rows);
}

static void find_equal(const finding *f, unsigned from, unsigned end)
{
    const sx_view *v = f->settle.v;
    sx_chunk *c = f->c;

    f->w->keys->equal(v, c->q + from * v->width, c->slot + from, c->flag + from, end - from);
}

/* What codes leave open, for all strings. Walks do without the stack of this. */
static __attribute__((noinline)) void settle_all(const finding *f, sx_side side)
{
    uint64_t before[SX_CHUNK];
    const sx_view *v = f->settle.v;
    sx_chunk *c = f->c;

    memcpy(before, c->at, c->m * sizeof *before);
    sx_cpu_settle(&f->settle, side);
    for (unsigned i = 0; i < c->m; i++)
        if (c->at[i] != before[i])
            c->slot[i] = c->at[i] < v->n ? sx_slot_of_rank(v, c->at[i]) : SX_NO_SLOT;
}

/* Making codes and going by marks is work with hardly any memory; so others' lines are on their way
 * meanwhile. Each group is a step behind the next:
 *
 *     t        codes and bounds      asks for marks
 *     t - 1    goes by marks                  offsets, rows
 *     t - 2    takes offsets                  bytes
 *     t - 3    is compared
 *
 * Group t - 1 takes the place of t - 3. */
static __attribute__((noinline)) void find_marked(finding *f, sx_side side)
{
    const sx_view *v = f->settle.v;
    sx_chunk *c = f->c;
    unsigned m = c->m, groups = (m + SX_SEARCHES - 1) / SX_SEARCHES;
    sx_marked g[2];

    f->rows = 0;
    for (unsigned t = 0; t < groups + 3; t++) {
        unsigned from = t * SX_SEARCHES, end = m - from < SX_SEARCHES ? m : from + SX_SEARCHES;
        if (t < groups) {
            find_codes(f, from, end);
            find_bounds(f, from, end);
            sx_cpu_settle_soon(v, c->at + from, end - from);
        }
        if (t >= 3)
            sx_marked_end(&f->settle, &g[(t - 1) % 2]);
        if (t >= 2 && t < groups + 2)
            sx_marked_ask(&f->settle, &g[t % 2]);
        if (t >= 1 && t <= groups) {
            end = m < from ? m : from;
            find_equal(f, from - SX_SEARCHES, end);
            sx_marked_begin(&f->settle, from - SX_SEARCHES, end, &g[(t - 1) % 2]);
        }
    }
    if (side == SX_RIGHT)
        sx_cpu_settle_right(&f->settle);
    for (unsigned i = 0; i < m; i++)
        c->slot[i] = c->at[i] < v->n ? sx_slot_of_rank(v, c->at[i]) : SX_NO_SLOT;
}

void sx_find_strings(const sx_cpu *cpu, const sx_means *w, const sx_view *v, sx_chunk *c,
                     const sx_slice *q, const sx_text_codes *known, uint64_t at, sx_side side,
                     const sx_state *entry, int rows)
{
    uint64_t same[SX_CHUNK];
    finding f = {w, c, known, entry,
                 {cpu, v, {q, NULL}, at, c->m, same, c->flag, c->at, rows && v->row_bytes},
                 same, rows};

    if (v->strings.marks) {
        find_marked(&f, side);
        return;
    }
    find_codes(&f, 0, c->m);
    find_bounds(&f, 0, c->m);
    find_equal(&f, 0, c->m);
    settle_all(&f, side);
}
