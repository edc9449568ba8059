/* cpu_climb.c - climbs on the CPU: the keys of a chunk go up together, a step at a time, and
 * those that have come to their tops leave it. */
#include "cpu/cpu_backend.h"

#include "keys/types.h"

#include <string.h>

typedef struct {
    const sx_view *v;
    const sx_climb_query *job;
    const sx_type_info *type;
    sx_bounds_fn *bounds;
    const sx_cpu_walks *keys;
    sx_circles *circles;
} climb_work;

/* Where a key's way stands. To see a circle it leaves a mark, each time twice as far from the
 * last one, and looks whether it comes by there again. */
typedef struct {
    _Alignas(16) unsigned char key[16];   /* encoded */
    unsigned char mark[16];
    uint64_t row;
    uint32_t steps, next_mark;
    uint32_t of;                  /* its number in the chunk */
} way;

static void put_way(const climb_work *w, const way *a, uint64_t at, int circle)
{
    const sx_climb_query *job = w->job;
    uint64_t i = at + a->of, row = circle ? SX_MISS : a->row;
    uint32_t steps = circle ? SX_MISS32 : a->steps;

    if (job->rows.data && job->rows.each == 8)
        memcpy(sx_slice_at(&job->rows, i), &row, 8);
    else if (job->rows.data)
        memcpy(sx_slice_at(&job->rows, i), &(uint32_t){(uint32_t)row}, 4);
    if (job->steps.data)
        memcpy(sx_slice_at(&job->steps, i), &steps, 4);
    if (job->keys.data && row != SX_MISS)
        w->type->decode(sx_slice_at(&job->keys, i), a->key, 1);
    if (!circle)
        return;
    __atomic_fetch_add(&w->circles->count, 1, __ATOMIC_RELAXED);
    for (uint64_t first = __atomic_load_n(&w->circles->first, __ATOMIC_RELAXED);
         i < first && !__atomic_compare_exchange_n(&w->circles->first, &first, i, 0,
                                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED);)
        ;
}

/* The rows of m keys; SX_MISS: it is not there. */
static void get_rows(const climb_work *w, const void *q, unsigned m, uint64_t row[SX_CHUNK])
{
    uint64_t position[SX_CHUNK], slot[SX_CHUNK];
    unsigned char hit[SX_CHUNK];

    if (w->v->n == 0) {
        memset(row, 0xff, m * sizeof *row);
        return;
    }
    w->bounds(w->v, q, m, SX_LEFT, NULL, position, slot, 1);
    w->keys->equal(w->v, q, slot, hit, m);
    for (unsigned i = 0; i < m; i++)
        row[i] = hit[i] ? sx_row_of(w->v, slot[i], position[i], 0) : SX_MISS;
}

/* Takes one step of a way to key q, which has this row. Returns whether it goes on. */
static int go_up(const climb_work *w, way *a, const unsigned char *q, uint64_t row, uint64_t at)
{
    uint32_t width = w->v->width;

    if (row == SX_MISS) {         /* nobody knows the parent */
        put_way(w, a, at, 0);
        return 0;
    }
    memcpy(a->key, q, width);
    a->row = row;
    a->steps++;
    if (w->job->limit == SX_CLIMB_ENDLESS && memcmp(a->key, a->mark, width) == 0) {
        put_way(w, a, at, 1);
        return 0;
    }
    if (a->steps == w->job->limit) {
        put_way(w, a, at, 0);
        return 0;
    }
    if (a->steps == a->next_mark) {
        memcpy(a->mark, a->key, width);
        a->next_mark *= 2;
    }
    return 1;
}

/* The keys above those that are still on their way. One that is its own parent is at the top. */
static unsigned find_parents(const climb_work *w, way *all, unsigned m, unsigned char *q,
                             uint64_t at)
{
    uint32_t width = w->v->width;
    unsigned left = 0;

    for (unsigned i = 0; i < m; i++) {
        int known = all[i].row < w->job->parents.n;   /* a damaged file's row may be any */
        if (known)
            w->type->encode(q + left * width, sx_slice_at(&w->job->parents, all[i].row), 1);
        if (!known || memcmp(q + left * width, all[i].key, width) == 0)
            put_way(w, &all[i], at, 0);
        else
            all[left++] = all[i];
    }
    return left;
}

static void climb_chunk(const climb_work *w, uint64_t at, unsigned m)
{
    _Alignas(64) unsigned char q[SX_CHUNK * 16];
    way all[SX_CHUNK];
    uint64_t row[SX_CHUNK];
    uint32_t width = w->v->width;
    unsigned left = 0;

    w->type->encode(q, sx_slice_at(&w->job->of, at), m);
    get_rows(w, q, m, row);
    for (unsigned i = 0; i < m; i++) {
        way *a = &all[left];
        a->of = i;
        a->row = row[i];
        a->steps = 0;
        a->next_mark = 2;
        memcpy(a->key, q + i * width, width);
        memcpy(a->mark, a->key, width);
        if (row[i] == SX_MISS)
            put_way(w, a, at, 0);
        else
            left++;
    }
    while (left > 0) {
        unsigned here = find_parents(w, all, left, q, at);
        get_rows(w, q, here, row);
        left = 0;
        for (unsigned i = 0; i < here; i++) {
            way a = all[i];
            if (go_up(w, &a, q + i * width, row[i], at))
                all[left++] = a;
        }
    }
}

static void climb_share(void *work, uint64_t first, uint64_t end)
{
    for (uint64_t at = first; at < end; at += SX_CHUNK)
        climb_chunk(work, at, end - at < SX_CHUNK ? (unsigned)(end - at) : SX_CHUNK);
}

sx_status sx_cpu_climb(void *self, const sx_views *views, const sx_climb_query *job,
                       sx_circles *circles, sx_err *err)
{
    const sx_cpu *cpu = self;
    const sx_view *v = sx_one_view(views);
    unsigned width = v->width == 4 ? 0 : v->width == 8 ? 1 : 2;
    climb_work w = {.v = v, .job = job, .type = sx_type_of(job->key_type),
                    .bounds = sx_family_cpu_of(v->family)->bounds[cpu->level][width],
                    .keys = sx_cpu_walks_for(cpu->level, v->width), .circles = circles};

    sx_cpu_share(cpu, job->how.threads, job->how.progress, job->n, SX_CHUNK, climb_share, &w);
    return sx_progress_status(job->how.progress, err);
}
