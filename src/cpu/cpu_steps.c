/* cpu_steps.c - some levels of walks in the upper part of an index, on the CPU. */
#include "cpu/cpu_backend.h"

typedef struct {
    sx_steps_fn *steps;
    const sx_view *v;
    const sx_steps *job;
    const sx_type_info *type;
} steps_work;

static void steps_share(void *work, uint64_t first, uint64_t end)
{
    const steps_work *w = work;
    const sx_steps *job = w->job;
    _Alignas(64) unsigned char q[SX_CHUNK * 16];
    unsigned m;

    for (uint64_t at = first; at < end; at += m) {
        int head = at < job->head;
        m = end - at < SX_CHUNK ? (unsigned)(end - at) : SX_CHUNK;
        if (head)                 /* a chunk is of the head or of the rest */
            m = (unsigned)sx_head_part(job->head, at, m);
        w->type->encode(q, sx_slice_at(&job->q, at), m);
        w->steps(w->v, q, m, job->side, head ? job->head_from : job->from,
                 head ? job->head_to : job->to, job->in ? job->in + at : NULL, job->out + at);
    }
}

sx_status sx_cpu_steps(void *self, const sx_views *views, const sx_steps *job, sx_err *err)
{
    const sx_cpu *cpu = self;
    const sx_view *v = sx_one_view(views);
    unsigned width = v->width == 4 ? 0 : v->width == 8 ? 1 : 2;
    steps_work w = {sx_family_cpu_of(v->family)->steps[cpu->level][width], v, job,
                    sx_type_of(job->key_type)};

    (void)err;
    sx_cpu_share(cpu, job->threads, NULL, job->n, SX_CHUNK, steps_share, &w);
    return SX_OK;
}
