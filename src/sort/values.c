/* values.c - see values.h. Keys are cut into parts. Each part counts the values that begin
 * in it, and writes them behind those of the parts before. */
#include "sort/values.h"

#include "keys/encode.h"

#include <stdatomic.h>

#define PARTS 64u
#define FEW (1u << 16)            /* keys that are one part */

typedef struct {
    sx_ascending of;
    sx_values to;
    unsigned parts;
    uint64_t count[PARTS + 1];    /* values of a part; then of all parts before it */
    _Atomic uint64_t repeat;
} values_work;

/* Where a value begins, and its first row. */
static inline void note(const sx_values *to, uint64_t at, uint64_t i)
{
    if (to->start_bytes == 8)
        ((uint64_t *)to->starts)[at] = i;
    else
        ((uint32_t *)to->starts)[at] = (uint32_t)i;
    if (to->row_bytes == 8)
        ((uint64_t *)to->firsts)[at] = ((const uint64_t *)to->rows)[i];
    else if (to->row_bytes == 4)
        ((uint32_t *)to->firsts)[at] = ((const uint32_t *)to->rows)[i];
}

/* How many values begin in [i, e). *again: the first key there that is equal to the key
 * before it, or e. i > 0. */
#define VALUES(type)                                                                     \
    static uint64_t count_##type(const type *k, uint64_t i, uint64_t e, uint64_t *again) \
    {                                                                                    \
        uint64_t count = 0, n = e - i, first = i;                                        \
                                                                                         \
        for (; i < e; i++)                                                               \
            count += k[i] != k[i - 1];                                                   \
        *again = e;                                                                      \
        for (i = first; i < e && count < n; i++)                                         \
            if (k[i] == k[i - 1]) {                                                      \
                *again = i;                                                              \
                break;                                                                   \
            }                                                                            \
        return count;                                                                    \
    }                                                                                    \
    static void take_##type(const type *k, uint64_t i, uint64_t e, uint64_t at,          \
                            const sx_values *to)                                         \
    {                                                                                    \
        for (; i < e; i++) {                                                             \
            if (i > 0 && k[i] == k[i - 1])                                               \
                continue;                                                                \
            ((type *)to->keys)[at] = k[i];                                               \
            note(to, at++, i);                                                           \
        }                                                                                \
    }
VALUES(sx_key4)
VALUES(sx_key8)
VALUES(sx_key16)

static uint64_t part_begin(const values_work *w, unsigned part)
{
    return part == w->parts ? w->of.n : w->of.n / w->parts * part;
}

static void part_count(void *work, unsigned part)
{
    values_work *w = work;
    uint64_t i = part_begin(w, part), e = part_begin(w, part + 1), again, seen;
    uint64_t from = i > 0 ? i : 1;        /* the first key always begins a value */

    if (sx_progress_stopped(w->of.progress))
        return;
    w->count[part] = i == 0;
    w->count[part] += w->of.width == 4   ? count_sx_key4(w->of.keys, from, e, &again)
                      : w->of.width == 8 ? count_sx_key8(w->of.keys, from, e, &again)
                                         : count_sx_key16(w->of.keys, from, e, &again);
    seen = atomic_load(&w->repeat);
    while (again < e && again - 1 < seen &&
           !atomic_compare_exchange_weak(&w->repeat, &seen, again - 1))
        ;
    sx_progress_add(w->of.progress, e - i);
}

static void part_take(void *work, unsigned part)
{
    const values_work *w = work;
    uint64_t i = part_begin(w, part), e = part_begin(w, part + 1), at = w->count[part];

    if (w->of.width == 4)
        take_sx_key4(w->of.keys, i, e, at, &w->to);
    else if (w->of.width == 8)
        take_sx_key8(w->of.keys, i, e, at, &w->to);
    else
        take_sx_key16(w->of.keys, i, e, at, &w->to);
}

static uint64_t count_values(values_work *w, sx_pool *pool, unsigned threads)
{
    uint64_t all = 0;

    w->parts = w->of.n < FEW ? 1 : PARTS;
    atomic_init(&w->repeat, w->of.n);
    if (w->of.n == 0)
        return 0;
    sx_pool_run(pool, threads, w->parts, part_count, w);
    for (unsigned part = 0; part < w->parts; part++) {
        uint64_t its = w->count[part];
        w->count[part] = all;
        all += its;
    }
    return all;
}

uint64_t sx_values_count(sx_pool *pool, unsigned threads, const sx_ascending *of,
                         uint64_t *repeat)
{
    values_work w = {.of = *of};
    uint64_t values = count_values(&w, pool, threads);

    *repeat = atomic_load(&w.repeat);
    return values;
}

void sx_values_take(sx_pool *pool, unsigned threads, const sx_ascending *of, const sx_values *to)
{
    values_work w = {.of = *of, .to = *to};

    count_values(&w, pool, threads);
    if (sx_progress_stopped(of->progress))
        return;                   /* counts are not those of all parts */
    if (of->n > 0)
        sx_pool_run(pool, threads, w.parts, part_take, &w);
    if (to->start_bytes == 8)
        ((uint64_t *)to->starts)[to->values] = of->n;
    else
        ((uint32_t *)to->starts)[to->values] = (uint32_t)of->n;
}
