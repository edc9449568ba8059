/* cpu_climb.c - climbs on the CPU: the keys of a chunk go up together, a step at a time, and
 * those that have come to their tops leave it.
 *
 * A string stands for itself here by the position of the first one equal to it: two are equal if
 * these numbers are. */
#include "cpu/cpu_backend.h"

#include "cpu/cpu_strings.h"
#include "family/slots.h"
#include "keys/types.h"

#include <string.h>

typedef struct {
    const sx_cpu *cpu;
    const sx_view *v;
    const sx_climb_query *job;
    const sx_type_info *type;
    int strings;
    uint32_t width;               /* of what stands for a key: of a string, its position's */
    sx_bounds_fn *bounds;
    const sx_cpu_walks *keys;
    sx_circles *circles;
} climb_work;

/* Keys of a thread at a time: half of what others take, as ways are large and threads may have
 * small stacks. */
#define CLIMB_CHUNK (SX_CHUNK / 2)

/* Where a key's way stands. To see a circle it leaves a mark, each time twice as far from the
 * last one, and looks whether it comes by there again. */
typedef struct {
    _Alignas(16) unsigned char key[16];   /* encoded; of a string, its position */
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
    if (job->at.data && row != SX_MISS)
        memcpy(sx_slice_at(&job->at, i), a->key, sizeof row);
    else if (job->at.data)
        memcpy(sx_slice_at(&job->at, i), &row, sizeof row);
    if (!circle)
        return;
    __atomic_fetch_add(&w->circles->count, 1, __ATOMIC_RELAXED);
    for (uint64_t first = __atomic_load_n(&w->circles->first, __ATOMIC_RELAXED);
         i < first && !__atomic_compare_exchange_n(&w->circles->first, &first, i, 0,
                                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED);)
        ;
}

/* The rows of m keys; SX_MISS: it is not there. */
static void get_rows(const climb_work *w, const void *q, unsigned m, uint64_t row[CLIMB_CHUNK])
{
    uint64_t position[CLIMB_CHUNK], slot[CLIMB_CHUNK];
    unsigned char hit[CLIMB_CHUNK];

    if (w->v->n == 0) {
        memset(row, 0xff, m * sizeof *row);
        return;
    }
    w->bounds(w->v, q, m, SX_LEFT, NULL, position, slot, 1);
    w->keys->equal(w->v, q, slot, hit, m);
    for (unsigned i = 0; i < m; i++)
        row[i] = hit[i] ? sx_row_of(w->v, slot[i], position[i], 0) : SX_MISS;
}

/* The same for strings, of which q gets the positions. Numbers do without the stack of this. */
static __attribute__((noinline)) void get_strings(const climb_work *w, const sx_asked *asked,
                                                  uint64_t at, unsigned m, uint64_t *q,
                                                  uint64_t row[CLIMB_CHUNK])
{
    _Alignas(64) uint64_t code[CLIMB_CHUNK];
    uint64_t same[CLIMB_CHUNK];
    unsigned char hit[CLIMB_CHUNK];
    const sx_view *v = w->v;
    sx_settle settle = {w->cpu, v, *asked, at, m, same, hit, q, 0};

    if (v->n == 0) {
        memset(row, 0xff, m * sizeof *row);
        memset(q, 0xff, m * sizeof *q);
        return;
    }
    sx_cpu_codes(w->cpu, v, asked, at, m, code, same);
    w->bounds(v, code, m, SX_LEFT, NULL, q, row, 0);      /* slots, before they are rows */
    w->keys->equal(v, code, row, hit, m);
    sx_cpu_settle(&settle, SX_LEFT);
    for (unsigned i = 0; i < m; i++)
        row[i] = hit[i] && q[i] < v->n ? sx_row_of(v, sx_slot_of_rank(v, q[i]), q[i], 0) : SX_MISS;
}

/* Takes one step of a way to key q, which has this row. Returns whether it goes on. */
static int go_up(const climb_work *w, way *a, const unsigned char *q, uint64_t row, uint64_t at)
{
    uint32_t width = w->width;
    int own = w->strings && memcmp(q, a->key, width) == 0;

    if (row == SX_MISS || own) {  /* nobody knows the parent; a string that is its own */
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

/* The strings above those that are still on their way, by their numbers. */
static unsigned number_parents(const climb_work *w, way *all, unsigned m, uint64_t *number,
                               uint64_t at)
{
    unsigned left = 0;

    for (unsigned i = 0; i < m; i++) {
        if (all[i].row >= w->job->parents.n) {        /* a damaged file's row may be any */
            put_way(w, &all[i], at, 0);
            continue;
        }
        number[left] = all[i].row;
        all[left++] = all[i];
    }
    return left;
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

/* The keys of a chunk, and their rows. */
static void begin_ways(const climb_work *w, uint64_t at, unsigned m, unsigned char *q, uint64_t *row)
{
    if (w->strings) {
        get_strings(w, &(sx_asked){&w->job->of, NULL}, at, m, (uint64_t *)(void *)q, row);
        return;
    }
    w->type->encode(q, sx_slice_at(&w->job->of, at), m);
    get_rows(w, q, m, row);
}

/* The same for their parents. Returns how many keys are still on their way. */
static unsigned next_ways(const climb_work *w, way *all, unsigned m, unsigned char *q, uint64_t *row,
                          uint64_t at)
{
    uint64_t *number = (uint64_t *)(void *)q + CLIMB_CHUNK;  /* positions take half of q */
    unsigned left;

    if (w->strings) {
        left = number_parents(w, all, m, number, at);
        get_strings(w, &(sx_asked){&w->job->parents, number}, 0, left, (uint64_t *)(void *)q, row);
        return left;
    }
    left = find_parents(w, all, m, q, at);
    get_rows(w, q, left, row);
    return left;
}

static void climb_chunk(const climb_work *w, uint64_t at, unsigned m)
{
    _Alignas(64) unsigned char q[CLIMB_CHUNK * 16];
    way all[CLIMB_CHUNK];
    uint64_t row[CLIMB_CHUNK];
    uint32_t width = w->width;
    unsigned left = 0;

    begin_ways(w, at, m, q, row);
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
        unsigned here = next_ways(w, all, left, q, row, at);
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
    for (uint64_t at = first; at < end; at += CLIMB_CHUNK)
        climb_chunk(work, at, end - at < CLIMB_CHUNK ? (unsigned)(end - at) : CLIMB_CHUNK);
}

sx_status sx_cpu_climb(void *self, const sx_views *views, const sx_climb_query *job,
                       sx_circles *circles, sx_err *err)
{
    const sx_cpu *cpu = self;
    const sx_view *v = sx_one_view(views);
    unsigned width = v->width == 4 ? 0 : v->width == 8 ? 1 : 2;
    int strings = sx_type_bytes(job->key_type) == 0;
    climb_work w = {.cpu = cpu, .v = v, .job = job, .type = sx_type_of(job->key_type),
                    .strings = strings, .width = strings ? sizeof(uint64_t) : v->width,
                    .bounds = sx_family_cpu_of(v->family)->bounds[cpu->level][width],
                    .keys = sx_cpu_walks_for(cpu->level, v->width), .circles = circles};

    sx_cpu_share(cpu, job->how.threads, job->how.progress, job->n, CLIMB_CHUNK, climb_share, &w);
    return sx_progress_status(job->how.progress, err);
}
