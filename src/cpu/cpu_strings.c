#include "cpu/cpu_strings.h"

#include "family/generic/simd.h"

/* Compiled twice, since counting bits is an instruction that not every processor has. */
#define CODES(name, attributes)                                                               \
    attributes static void name(const sx_strings *s, const sx_slice *q, uint64_t at, unsigned m, \
                                uint64_t *code)                                               \
    {                                                                                         \
        for (unsigned i = 0; i < m; i++) {                                                    \
            uint64_t length;                                                                  \
            const unsigned char *p = sx_slice_string(q, at + i, &length);                     \
            code[i] = sx_string_code(s, p, length);                                           \
        }                                                                                     \
    }
CODES(codes_plain, )
#ifdef SX_HAVE_X86
CODES(codes_popcnt, __attribute__((flatten, target("popcnt,bmi,bmi2"))))
#endif

void sx_cpu_codes(const sx_cpu *cpu, const sx_view *v, const sx_slice *q, uint64_t at, unsigned m,
                  uint64_t *code)
{
    if (v->n == 0)
        memset(code, 0, m * sizeof *code);
#ifdef SX_HAVE_X86
    else if (cpu->level != SX_SCALAR)
        codes_popcnt(&v->strings, q, at, m, code);
#endif
    else
        codes_plain(&v->strings, q, at, m, code);
}

/* Has the offsets of strings on their way for all of a chunk, then their bytes, and compares when
 * both are here. */
void sx_cpu_settle(const sx_view *v, const sx_slice *q, uint64_t at, unsigned m, sx_side side,
                   unsigned char *open, uint64_t *position)
{
    const sx_strings *s = &v->strings;
    uint64_t length;

    for (unsigned i = 0; i < m; i++)
        if (open[i])
            __builtin_prefetch(s->offsets + position[i] * s->offset_bytes);
    for (unsigned i = 0; i < m; i++)
        if (open[i]) {
            const unsigned char *p = sx_string_at(s, position[i], &length);
            __builtin_prefetch(p);
            if (((uintptr_t)p & 63) + length > 64)
                __builtin_prefetch(p + 64);
        }
    for (unsigned i = 0; i < m; i++) {
        const unsigned char *p;
        int order;
        if (!open[i])
            continue;
        p = sx_slice_string(q, at + i, &length);
        order = sx_string_order(s, position[i], p, length);
        if (order < 0) {
            position[i] = sx_string_bound(s, v->n, position[i] + 1, p, length, 0);
            order = position[i] < v->n ? sx_string_order(s, position[i], p, length) : 1;
        }
        open[i] = order == 0;
        if (side == SX_RIGHT && order == 0)
            position[i] = sx_string_bound(s, v->n, position[i] + 1, p, length, 1);
    }
}

/* ---- strings as results ---------------------------------------------------------------- */

typedef struct {
    const sx_view *v;
    const sx_string_take *job;
} take_work;

/* Lengths that are asked for before they are read. */
#define AHEAD 16u

static const unsigned char *string_of(const take_work *w, uint64_t i, uint64_t *length)
{
    uint64_t at = w->job->at[i];

    if (i + AHEAD < w->job->n && w->job->at[i + AHEAD] < w->v->n)
        __builtin_prefetch(w->v->strings.offsets +
                           w->job->at[i + AHEAD] * w->v->strings.offset_bytes);
    *length = 0;
    return at < w->v->n ? sx_string_at(&w->v->strings, at, length) : NULL;
}

/* Each string goes where its offset says, if that is inside of the space. The offsets are the
 * caller's, who may change them. */
static void take_share(void *work, uint64_t first, uint64_t end)
{
    const take_work *w = work;
    const sx_slice *to = &w->job->to;

    for (uint64_t i = first; i < end; i++) {
        uint64_t length, from = sx_slice_offset(to, i);
        const unsigned char *p = string_of(w, i, &length);
        if (length > 0 && length <= to->bytes - from)
            memcpy((unsigned char *)to->data + from, p, length);
    }
}

static void put_offset(const sx_slice *to, uint64_t i, uint64_t x)
{
    if (to->offsets && to->each == 8)
        ((uint64_t *)to->offsets)[i] = x;
    else if (to->offsets)
        ((uint32_t *)to->offsets)[i] = (uint32_t)x;
}

sx_status sx_cpu_take_strings(void *self, const sx_views *views, const sx_string_take *job,
                              sx_err *err)
{
    take_work w = {sx_one_view(views), job};
    uint64_t sum = 0, length;

    if (job->to.data) {
        sx_cpu_share(self, job->how.threads, NULL, job->n, 256, take_share, &w);
        return sx_progress_status(job->how.progress, err);
    }
    for (uint64_t i = 0; i < job->n; i++) {
        put_offset(&job->to, i, sum);
        string_of(&w, i, &length);
        sum += length;
    }
    put_offset(&job->to, job->n, sum);
    *job->total = sum;
    return SX_OK;
}
