/* cpu_spans.c - ranges on the CPU: a chunk of them becomes spans of ranks, which are handed over or
 * folded. */
#include "cpu/cpu_chunk.h"

#include "base/past.h"
#include "family/slots.h"

#include <pthread.h>
#include <string.h>

typedef struct {
    sx_means walks;
    const sx_view *v;
    const sx_span_query *job;
    const sx_type_info *type;
    uint64_t *start, *count;      /* spans: results */
    const sx_range_folds *folds;   /* fold: results */
    const sx_cpu *cpu;
    int past;                     /* spans: results go past the caches */
} span_work;

/* Replaces the encoded lower ends of a chunk of ranges by the upper ones, and says which ranges
 * are empty. Walks need much stack, so the stack of this is gone before the next walk. */
static __attribute__((noinline)) void take_upper(const span_work *w, sx_chunk *c, uint64_t at,
                                                 unsigned char empty[SX_CHUNK])
{
    _Alignas(64) unsigned char lo[SX_CHUNK * 16];

    memset(empty, 0, c->m);
    if (w->type->bytes == 0)      /* strings: such a range ends before it begins */
        return;
    memcpy(lo, c->q, c->m * w->v->width);
    w->type->encode(c->q, sx_slice_at(&w->job->hi, at), c->m);
    w->walks.keys->crossed(lo, c->q, empty, c->m);
}

/* Finds one end of ranges, whose keys are encoded unless they are strings. */
static void find_end(const span_work *w, sx_chunk *c, uint64_t at, const sx_slice *q,
                     const sx_text_codes *known, sx_side side, const sx_state *entry)
{
    entry = entry ? entry + at : NULL;
    if (w->type->bytes)
        sx_chunk_bounds(&w->walks, w->v, c, 0, c->m, side, entry, 0, 0);
    else
        sx_find_strings(w->cpu, &w->walks, w->v, c, q, known, at, side, entry, 0);
    sx_to_ranks(w->v, c);
}

/* Finds strings that begin with the chunk's: the ranks of the first of them go to `start`, those
 * behind the last into the chunk. */
static __attribute__((noinline)) void find_prefixes(const span_work *w, sx_chunk *c, uint64_t at,
                                                    uint64_t *start)
{
    const sx_view *v = w->v;
    uint64_t position[SX_CHUNK];

    sx_find_strings(w->cpu, &w->walks, v, c, &w->job->lo, &w->job->codes_lo, at, SX_LEFT,
                 w->job->entry_lo ? w->job->entry_lo + at : NULL, 0);
    memcpy(position, c->at, c->m * sizeof *position);
    sx_to_ranks(v, c);
    memcpy(start, c->at, c->m * sizeof *start);
    for (unsigned i = 0; i < c->m; i++) {
        uint64_t length;
        const unsigned char *q = sx_slice_string(&w->job->lo, at + i, &length);
        c->at[i] = sx_string_prefix_end(&v->strings, v->n, position[i], q, length);
    }
    sx_to_ranks(v, c);
}

/* The bits of prefixes [at, at + m), which are up to 128. Those in device memory are not checked
 * before. */
static void take_bits(const span_work *w, uint64_t at, unsigned m, unsigned char *bits)
{
    const sx_slice *column = &w->job->hi;
    uint32_t most = 8 * w->v->width;

    for (unsigned i = 0; i < m; i++) {
        uint32_t its = column->data ? *(const uint32_t *)sx_slice_at(column, at + i) : w->job->length;
        bits[i] = (unsigned char)(its < most ? its : most);
    }
}

/* The same for keys. Where the family has no walk for both ends, or the index is so small that others
 * search it faster, they are the bounds of the prefix with zeros behind it and with ones. */
static __attribute__((noinline)) void find_bits(const span_work *w, sx_chunk *c, uint64_t at,
                                                uint64_t *start)
{
    const sx_family_cpu *family = sx_family_cpu_of(w->v->family);
    unsigned width = w->v->width == 4 ? 0 : w->v->width == 8 ? 1 : 2;
    sx_prefixes_fn *prefixes = family->prefixes[w->cpu->level][width];
    unsigned char *bits = c->flag;        /* walks need the stack */

    take_bits(w, at, c->m, bits);
    w->type->encode(c->q, sx_slice_at(&w->job->lo, at), c->m);
    w->walks.keys->set_rest(c->q, bits, c->m, 0);
    if (prefixes && w->walks.bounds == family->bounds[w->cpu->level][width]) {
        prefixes(w->v, c->q, bits, c->m, start, c->at);
    } else {
        w->walks.bounds(w->v, c->q, c->m, SX_LEFT, NULL, start, NULL, 0);
        w->walks.keys->set_rest(c->q, bits, c->m, 1);
        w->walks.bounds(w->v, c->q, c->m, SX_RIGHT, NULL, c->at, NULL, 0);
    }
    for (unsigned i = 0; w->v->starts && i < c->m; i++)
        start[i] = sx_start_at(w->v, start[i]);
    sx_to_ranks(w->v, c);
}

/* Finds both ends of ranges, and says which of them are empty; ends as above. */
static void find_ends(const span_work *w, sx_chunk *c, uint64_t at, uint64_t *start,
                      unsigned char empty[SX_CHUNK])
{
    const sx_span_query *job = w->job;

    if (w->type->bytes)
        w->type->encode(c->q, sx_slice_at(&job->lo, at), c->m);
    find_end(w, c, at, &job->lo, &job->codes_lo, SX_LEFT, job->entry_lo);
    memcpy(start, c->at, c->m * sizeof *start);
    take_upper(w, c, at, empty);
    find_end(w, c, at, &job->hi, &job->codes_hi, SX_RIGHT, job->entry_hi);
}

/* Ranges [at, at + c->m) as spans of ranks. */
static void span_chunk(const span_work *w, sx_chunk *c, uint64_t at,
                       uint64_t *start, uint64_t *count)
{
    const sx_span_query *job = w->job;
    unsigned char empty[SX_CHUNK] = {0};

    if (job->prefix && w->type->bytes)
        find_bits(w, c, at, start);
    else if (job->prefix)
        find_prefixes(w, c, at, start);
    else
        find_ends(w, c, at, start, empty);
    for (unsigned i = 0; i < c->m; i++) {
        /* If keys do not ascend (a damaged file), a range may end before it starts. */
        count[i] = empty[i] || c->at[i] < start[i] ? 0 : c->at[i] - start[i];
        if (count[i] > job->limit) {
            if (job->last)
                start[i] += count[i] - job->limit;
            count[i] = job->limit;
        }
    }
}

/* The chunk that begins with range `at`, and what is done beside it. */
static void next_chunk(const span_work *w, const sx_asking *a, sx_chunk *c, uint64_t at, uint64_t end,
                       uint64_t *start, uint64_t *count)
{
    sx_chunk_begin(c, a, at, end);
    span_chunk(w, c, at, start, count);
    sx_do_beside(&w->job->how, at, at + c->m);
}

static void put_spans(uint64_t *to, uint64_t at, const uint64_t *x, unsigned m, int past)
{
    if (to && past)
        sx_copy_past(to + at, x, m * sizeof *x);
    else if (to)
        memcpy(to + at, x, m * sizeof *x);
}

static void spans_share(void *work, uint64_t first, uint64_t end)
{
    const span_work *w = work;
    sx_asking a = sx_asking_for(w->v, w->job->entry_lo, w->job->entry_hi, 0);
    sx_chunk c;
    uint64_t start[SX_CHUNK], count[SX_CHUNK];

    sx_ask_first(&a, first, end);
    for (uint64_t at = first; at < end; at += c.m) {
        next_chunk(w, &a, &c, at, end, start, count);
        put_spans(w->start, at, start, c.m, w->past);
        put_spans(w->count, at, count, c.m, w->past);
    }
    sx_past_end();
}

/* start may be NULL */
static void find_spans(const sx_cpu *cpu, const sx_view *v, const sx_span_query *job,
                       uint64_t *start, uint64_t *count)
{
    span_work w = {sx_means_for(cpu, v, job->entry_lo || job->entry_hi), v, job,
                   sx_type_of(job->key_type), start, count, NULL, cpu,
                   sx_goes_past(job->how.batch * sizeof *count)};

    sx_cpu_share(cpu, job->how.threads, job->how.progress, job->n, SX_CHUNK, spans_share, &w);
}

sx_status sx_cpu_spans(void *self, const sx_views *views, const sx_span_query *job,
                       const sx_spans *to, sx_err *err)
{
    sx_view own;

    find_spans(self, sx_walked_view(self, views, &own), job, to->start, to->first);
    return sx_progress_status(job->how.progress, err);
}

static void fold_span(const span_work *w, uint64_t start, uint64_t count, sx_fold *f)
{
    const sx_view *v = w->v;
    uint64_t stretches;

    if (v->row_bytes == 0 && count > 0) {         /* rows are the ranks */
        uint64_t last = start + count - 1;
        f->min = start;
        f->max = last;
        /* the sum start..last, halving whichever factor is even */
        f->sum = count % 2 ? (count * ((start + last) / 2))
                           : (count / 2 * (start + last));
        return;
    }
    stretches = count > 0 ? sx_row_stretch_count(v, start, start + count) : 0;
    /* Leaves that are small blocks, and alike, are taken in one go. */
    if (stretches > 1 && sx_block_keys(v) < v->block && v->block <= SX_SMALL_BLOCK) {
        sx_stretch r = sx_row_stretch_of(v, 0, start, start + count);
        w->walks.keys->fold_slots(v, r.slot, count, sx_block_keys(v), f);
        return;
    }
    for (uint64_t i = 0; i < stretches; i++) {
        sx_stretch r = sx_row_stretch_of(v, i, start, start + count);
        w->walks.keys->fold_slots(v, r.slot, r.n, v->block, f);
    }
}

static void put_number(const sx_slice *to, uint64_t i, uint64_t x)
{
    if (to->data)
        *(uint64_t *)sx_slice_at(to, i) = x;
}

/* Whether smallest and largest rows are wanted. */
static int wants_extremes(const sx_range_folds *out)
{
    return out->min.data || out->max.data;
}

static void put_fold(const sx_range_folds *out, uint64_t i, uint64_t count, const sx_fold *f)
{
    put_number(&out->count, i, count);
    put_number(&out->min, i, f->min);
    put_number(&out->max, i, count ? f->max : SX_MISS);
    put_number(&out->sum, i, f->sum);
}

static void fold_share(void *work, uint64_t first, uint64_t end)
{
    const span_work *w = work;
    const sx_range_folds *out = w->folds;
    sx_asking a = sx_asking_for(w->v, w->job->entry_lo, w->job->entry_hi, 0);
    sx_chunk c;
    uint64_t start[SX_CHUNK], count[SX_CHUNK];

    sx_ask_first(&a, first, end);
    for (uint64_t at = first; at < end; at += c.m) {
        next_chunk(w, &a, &c, at, end, start, count);
        for (unsigned i = 0; i < c.m; i++) {
            sx_fold f = {SX_MISS, 0, 0, wants_extremes(out)};
            if (f.extremes || out->sum.data)
                fold_span(w, start[i], count[i], &f);
            put_fold(out, at + i, count[i], &f);
        }
    }
    sx_past_end();
}

/* For few ranges, which may hold many hits. The hits of all ranges, one behind the other, are
 * cut into pieces of equal size. Each is folded by itself and then taken into its range. */
typedef struct {
    const span_work *w;
    unsigned n;
    const uint64_t *start, *first;        /* of n ranges, and where the last one ends */
    sx_fold fold[SX_CHUNK];
    pthread_mutex_t lock;         /* guards fold */
} hit_work;

static void hits_share(void *work, uint64_t begin, uint64_t end)
{
    hit_work *h = work;

    for (unsigned i = 0; i < h->n; i++) {
        uint64_t b = h->first[i] > begin ? h->first[i] : begin;
        uint64_t e = h->first[i + 1] < end ? h->first[i + 1] : end;
        sx_fold f = {SX_MISS, 0, 0, h->fold[i].extremes};
        if (b >= e)
            continue;
        fold_span(h->w, h->start[i] + (b - h->first[i]), e - b, &f);
        pthread_mutex_lock(&h->lock);
        h->fold[i].min = f.min < h->fold[i].min ? f.min : h->fold[i].min;
        h->fold[i].max = f.max > h->fold[i].max ? f.max : h->fold[i].max;
        h->fold[i].sum += f.sum;
        pthread_mutex_unlock(&h->lock);
    }
}

/* Finding ranges and folding them take much stack each, so not both at once. */
static __attribute__((noinline)) void find_few(const span_work *w, unsigned n, uint64_t *start,
                                               uint64_t *count)
{
    sx_chunk c;

    sx_chunk_begin(&c, NULL, 0, n);
    span_chunk(w, &c, 0, start, count);
}

static __attribute__((noinline)) void fold_hits(const sx_cpu *cpu, const span_work *w, unsigned n,
                                                const uint64_t *start, const uint64_t *first)
{
    hit_work h = {.w = w, .n = n, .start = start, .first = first};

    for (unsigned i = 0; i < n; i++)
        h.fold[i] = (sx_fold){SX_MISS, 0, 0, wants_extremes(w->folds)};
    if (wants_extremes(w->folds) || w->folds->sum.data) {
        pthread_mutex_init(&h.lock, NULL);
        sx_progress_units(w->job->how.progress, first[n]);
        sx_cpu_share(cpu, w->job->how.threads, w->job->how.progress, first[n], 4096, hits_share,
                     &h);
        pthread_mutex_destroy(&h.lock);
    }
    for (unsigned i = 0; i < n; i++)
        put_fold(w->folds, i, first[i + 1] - first[i], &h.fold[i]);
}

static void fold_few(const sx_cpu *cpu, const span_work *w)
{
    unsigned n = (unsigned)w->job->n;
    uint64_t start[SX_CHUNK], first[SX_CHUNK + 1];

    first[0] = 0;
    find_few(w, n, start, first + 1);
    sx_do_beside(&w->job->how, 0, n);
    sx_past_end();
    for (unsigned i = 0; i < n; i++)
        first[i + 1] += first[i];
    fold_hits(cpu, w, n, start, first);
}

sx_status sx_cpu_fold(void *self, const sx_views *views, const sx_span_query *job,
                      const sx_range_folds *out, sx_err *err)
{
    const sx_cpu *cpu = self;
    sx_view own;
    const sx_view *v = sx_walked_view(cpu, views, &own);
    span_work w = {sx_means_for(cpu, v, job->entry_lo || job->entry_hi), v, job,
                   sx_type_of(job->key_type), NULL, NULL, out, cpu, 0};

    if (job->n <= SX_CHUNK)
        fold_few(cpu, &w);
    else
        sx_cpu_share(cpu, job->how.threads, job->how.progress, job->n, 4, fold_share, &w);
    return sx_progress_status(job->how.progress, err);
}
