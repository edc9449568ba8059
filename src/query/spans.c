/* spans.c - results of ranges: find, sum up, compare the space, fill. This exists once, for
 * every backend and whoever finds the spans.
 *
 *     find     start[i], count[i]           ranges as spans of ranks
 *     sum up   first[i] = count[0..i)       where the results of each begin
 *     compare  first[n] <= space            SX_ESPACE if not, with first filled
 *     fill     results first[i], ...        rows and keys of ranks start[i], ...
 *
 * Spans stay where they are found: on the host, or in device memory, where they are summed
 * up, too. A device without memory for all of them hands them to the host. */
#include "query/index.h"

#include "base/alloc.h"
#include "place/ranges.h"

#include <string.h>

/* Memory of one call. All of it is taken before anything is written, so that a call without
 * enough leaves its outputs as they were. */
typedef struct {
    sx_device *dev;
    void *stream;
    void *start, *first, *sums;
    uint64_t sum_bytes;
    int there;                    /* in device memory; those of a GPU may be on the host */
} memory;

static void give_back(memory *m)
{
    void *all[] = {m->start, m->first, m->sums};

    for (unsigned i = 0; i < 3; i++) {
        if (m->there)
            m->dev->backend->unscratch(m->dev->self, m->stream, all[i]);
        else
            sx_device_keep(m->dev, all[i]);
    }
    m->start = m->first = m->sums = NULL;
}

static sx_status take(memory *m, void **out, uint64_t bytes, sx_err *err)
{
    return m->there ? m->dev->backend->scratch(m->dev->self, m->stream, out, bytes, err)
                    : sx_device_spare(m->dev, out, bytes, "ranges", err);
}

/* The offsets are in the caller's column if that is in the same memory. But a GPU without memory
 * for spans may have none for results either, and strings as results take memory when their number
 * is known; without it the column must stay as it was. */
static sx_status take_memory(memory *m, sx_spans *s, const sx_range_out *out, sx_err *err)
{
    const sx_backend *be = m->dev->backend;
    uint64_t word = sizeof(uint64_t), unused;
    int own = sx_slice_there(&out->first) != (m->there != 0) || (be->gpu && !m->there) ||
              out->keys.offsets != NULL;
    sx_status st = SX_OK;

    if (own)
        st = take(m, &m->first, (s->n + 1) * word, err);
    s->first = own ? m->first : out->first.data;
    if (st == SX_OK && m->there)
        st = be->sum_up(m->dev->self, m->stream, s, NULL, &m->sum_bytes, &unused, err);
    if (st == SX_OK && m->there)
        st = take(m, &m->sums, m->sum_bytes, err);
    if (st == SX_OK && (out->rows.data || out->keys.data || out->keys.offsets) && s->n > 0)
        st = take(m, &m->start, s->n * word, err);
    s->start = m->start;
    s->there = m->there != 0;
    if (st != SX_OK)
        give_back(m);
    return st;
}

/* Offsets of ours go to the caller's column. The status stays, unless that fails. Whoever finds and
 * fills spans needs the stack that this takes. */
static __attribute__((noinline)) sx_status hand_out(const memory *m, const sx_spans *s,
                                                    const sx_span_query *job, const sx_range_out *out,
                                                    sx_status st, sx_err *err)
{
    const sx_backend *be = m->dev->backend;
    uint64_t bytes = sx_slice_bytes(&out->first, 0, s->n + 1);
    sx_err other;
    sx_status copied = SX_OK;

    if (!m->there)
        memcpy(out->first.data, m->first, bytes);
    else if (sx_slice_there(&out->first))
        copied = be->copy(m->dev->self, out->first.data, 1, m->first, 1, bytes, &other);
    else
        copied = be->offsets(m->dev->self, &job->how, s, out->first.data, &other);
    if (copied != SX_OK) {
        st = copied;
        *err = other;
    }
    return st;
}

sx_status sx_spans_answer(const sx_replica *by, const sx_span_query *job, const sx_range_out *out,
                          sx_find_fn *find, sx_fill_fn *fill, void *work, const char *verb,
                          sx_err *err)
{
    const sx_backend *be = by->dev->backend;
    memory m = {.dev = by->dev, .stream = job->how.stream, .there = be->gpu != 0};
    sx_spans s = {.n = job->n, .threads = job->how.threads};
    uint64_t total = 0;
    sx_status st = take_memory(&m, &s, out, err);

    if (st == SX_ENOMEM && m.there && !sx_slice_there(&out->first)) {
        m.there = 0;
        st = take_memory(&m, &s, out, err);
    }
    if (st != SX_OK)
        return st;
    st = find(work, &s, err);
    if (st == SX_OK && (m.there || !be->gpu))
        st = be->sum_up(by->dev->self, m.stream, &s, m.sums, &m.sum_bytes, &total, err);
    else if (st == SX_OK)         /* of a GPU, whose own is for its memory */
        total = sx_ranges_sum_up(s.first, s.n);
    if (st == SX_OK && !m.stream)
        st = sx_ranges_check_space(out, total, verb, err);
    if (st == SX_OK && (s.start || m.stream || out->keys.offsets)) {
        sx_progress_phase(job->how.progress, SX_PROGRESS_ALL);
        sx_progress_units(job->how.progress, total);
        st = fill(work, &s, total, err);
    }
    if ((st == SX_OK || st == SX_ESPACE) && m.first)
        st = hand_out(&m, &s, job, out, st, err);
    give_back(&m);
    return st;
}
