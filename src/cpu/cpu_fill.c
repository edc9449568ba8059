/* cpu_fill.c - rows and keys of spans on the CPU. */
#include "cpu/cpu_backend.h"

#include "base/alloc.h"
#include "base/past.h"
#include "cpu/cpu_pairs.h"
#include "family/generic/simd.h"
#include "family/slots.h"

#include <string.h>

typedef struct fill_work {
    const sx_view *v;
    const sx_range_out *out;
    const sx_type_info *type;
    const sx_spans *spans;
    int past;                     /* rows go past the caches */
    void (*rows)(const struct fill_work *w, uint64_t i, uint64_t first, uint64_t end);
} fill_work;

static void put_row(const sx_slice *to, uint64_t i, uint64_t row)
{
    if (to->each == 8)
        ((uint64_t *)to->data)[i] = row;
    else
        ((uint32_t *)to->data)[i] = (uint32_t)row;
}

/* Rows of n consecutive places, the first of which has this rank, to outputs [to, ...). */
static void put_row_run(const fill_work *w, uint64_t place, uint64_t rank, uint64_t n, uint64_t to)
{
    const sx_view *v = w->v;
    const sx_range_out *job = w->out;

    if (v->row_bytes == job->rows.each)
        memcpy(sx_slice_at(&job->rows, to), v->rows + sx_row_offset(v, place),
               sx_slice_bytes(&job->rows, to, to + n));
    else
        for (uint64_t i = 0; i < n; i++)
            put_row(&job->rows, to + i, sx_row_at(v, place + i, rank + i));
}

/* `left` slots of consecutive ranks to outputs [to, ...), in pieces that each lie in one block. */
static void fill_ascending(const fill_work *w, uint64_t slot, uint64_t rank, uint64_t left,
                           uint64_t to)
{
    const sx_view *v = w->v;
    const sx_range_out *job = w->out;

    while (left > 0) {
        uint64_t n = left, space = v->block ? v->block - (slot & (v->block - 1u)) : n;
        if (n > space)
            n = space;
        if (job->rows.data && !v->block)
            put_row_run(w, slot, rank, n, to);
        if (job->keys.data)
            w->type->decode(sx_slice_at(&job->keys, to), v->keys + sx_key_offset(v, slot), n);
        slot += n;
        rank += n;
        left -= n;
        to += n;
    }
}

/* Ranks [a, b), leaf by leaf, to outputs [to, ...). */
static void fill_leaves(const fill_work *w, uint64_t a, uint64_t b, uint64_t to)
{
    uint64_t leaves = sx_stretch_count(w->v, a, b);

    for (uint64_t i = 0; i < leaves; i++) {
        sx_stretch r = sx_stretch_of(w->v, i, a, b);
        fill_ascending(w, r.slot, r.first, r.n, to + (r.first - a));
    }
}

/* The same if equal keys are stored once: rows as they lie, and each key as often as it has
 * ranks among these. */
static void fill_values(const fill_work *w, uint64_t a, uint64_t b, uint64_t to)
{
    const sx_view *v = w->v;
    const sx_range_out *job = w->out;
    unsigned bytes = w->type->bytes;
    unsigned char *out;

    if (job->rows.data)
        put_row_run(w, a, a, b - a, to);
    if (!job->keys.data || a >= b)
        return;
    out = sx_slice_at(&job->keys, to);
    for (uint64_t at = sx_position_of(v, a); a < b; at++) {
        _Alignas(16) unsigned char key[16], element[16];
        uint64_t end = at + 1 < v->n ? sx_start_at(v, at + 1) : v->ranks;
        end = end > b ? b : end;
        memcpy(key, v->keys + sx_key_offset(v, sx_slot_of_rank(v, at)), v->width);
        w->type->decode(element, key, 1);
        for (; a < end; a++, out += bytes)
            memcpy(out, element, bytes);
        if (at + 1 >= v->n)
            break;
    }
}

/* The same, level by level. Each stretch is read in one sweep, and its keys go to the places
 * that their ranks say. */
static void fill_levels(const fill_work *w, uint64_t a, uint64_t b, uint64_t to)
{
    const sx_view *v = w->v;
    const sx_range_out *job = w->out;

    for (uint64_t l = 0; l < sx_stretch_count(v, a, b); l++) {
        sx_stretch r = sx_stretch_of(v, l, a, b);
        sx_stretch_ranks it = sx_stretch_begin(v, &r, 0);
        for (uint64_t j = 0; j < r.n; j++) {
            uint64_t rank = sx_stretch_next(v, &it), at = to + rank - a;
            uint64_t row = sx_row_at(v, r.slot + j, rank);
            if (job->rows.data)
                put_row(&job->rows, at, row);
            if (job->keys.data) {
                _Alignas(16) unsigned char key[16];
                memcpy(key, v->keys + sx_key_offset(v, r.slot + j), v->width);
                w->type->decode(sx_slice_at(&job->keys, at), key, 1);
            }
        }
    }
}

/* The positions of ranks [a, b). */
static void fill_positions(const sx_view *v, uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t at = a < b ? sx_position_of(v, a) : 0;

    for (; a < b; a++) {
        while (v->starts && at + 1 < v->n && sx_start_at(v, at + 1) <= a)
            at++;
        *out++ = v->starts ? at : a;
    }
}

/* Ranks [a, b), in any layout. */
static void fill_ranks(const fill_work *w, uint64_t a, uint64_t b, uint64_t to)
{
    const sx_view *v = w->v;
    const sx_range_out *job = w->out;
    int ranks = (v->traits & SX_SLOTS_ARE_RANKS) != 0;

    if (job->at.data) {
        fill_positions(v, a, b, sx_slice_at(&job->at, to));
        return;
    }
    if (v->starts) {
        fill_values(w, a, b, to);
        return;
    }
    if (!ranks && !sx_slots_gaps(v)) {
        fill_levels(w, a, b, to);
        return;
    }
    if (v->block && job->rows.data)
        sx_cpu_pair_rows(v, a, b, sx_slice_at(&job->rows, to), job->rows.each);
    if (v->block && !job->keys.data)
        return;
    if (ranks)
        fill_ascending(w, a, a, b - a, to);
    else
        fill_leaves(w, a, b, to);
}

/* first[i], read once: it is the caller's memory, which may change. */
static uint64_t offset_at(const uint64_t *first, uint64_t i)
{
    return __atomic_load_n(&first[i], __ATOMIC_RELAXED);
}

/* Where the results of a rank are. */
static const unsigned char *result_at(const fill_work *w, uint64_t rank)
{
    const sx_view *v = w->v;
    uint64_t slot = sx_slot_of_rank(v, rank);

    return v->row_bytes && w->out->rows.data ? v->rows + sx_row_offset(v, slot)
                                             : v->keys + sx_key_offset(v, slot);
}

/* A range mostly begins where no other did before, so its first lines are prefetched RANGES_AHEAD
 * ranges sooner. Those of a long one follow by themselves. */
#define RANGES_AHEAD 16u
#define LINES_AHEAD 4u
static void ask_range(const fill_work *w, uint64_t i)
{
    const sx_view *v = w->v;
    const sx_spans *s = w->spans;
    uint64_t begin = i < s->n ? s->start[i] : v->n, more;
    const unsigned char *p, *last;

    if (begin >= v->n || v->starts || !(v->block || (v->traits & SX_SLOTS_ARE_RANKS)))
        return;
    more = offset_at(s->first, i + 1) - offset_at(s->first, i);
    if (more == 0)
        return;
    p = result_at(w, begin);
    last = result_at(w, more < v->n - begin ? begin + more - 1 : v->n - 1);
    for (unsigned line = 0; line < LINES_AHEAD && p < last; line++, p += SX_LINE)
        __builtin_prefetch(p);
    __builtin_prefetch(last);
}

/* ---- rows of short spans ------------------------------------------------------------------ */

/* Spans of up to SHORT rows, on average, have a way of their own, as a general copy takes more steps than
 * there are rows. Where rows are in one array, it is soon as fast. */
#define SHORT 64u
#define SHORT_OF_ARRAY 4u

/* Their rows are collected in a buffer, which leaves the first cache many lines at a time. If each row
 * went past the caches by itself, lines would leave half-filled, as the core needs their place for those
 * that it reads: fill took a tenth to a fifth longer so. */
#define HELD_BYTES 4096u
#define STEP_BYTES 32u

typedef struct {
    _Alignas(SX_LINE) unsigned char rows[HELD_BYTES + SHORT * 8 + STEP_BYTES];
    uint64_t to, n;               /* outputs [to, to + n) are held */
} held_rows;

static void let_go(const fill_work *w, held_rows *h)
{
    unsigned char *to = sx_slice_at(&w->out->rows, h->to);
    uint64_t bytes = h->n * w->out->rows.each;

    if (w->past)
        sx_copy_past(to, h->rows, bytes);
    else
        memcpy(to, h->rows, bytes);
    h->n = 0;
}

/* Where the row of a rank is, if rows are in order of rank. */
static inline uint64_t row_offset(const sx_view *v, uint64_t rank, uint32_t bytes)
{
    return (rank >> v->block_shift) * v->block_bytes +
           (rank & ((1ull << v->block_shift) - 1)) * bytes;
}

/* Asks for the lines of span i. */
#define SPANS_AHEAD 32u
static inline void ask_rows(const fill_work *w, uint64_t i, uint32_t bytes)
{
    const sx_spans *s = w->spans;
    uint64_t a = s->start[i], n = offset_at(s->first, i + 1) - offset_at(s->first, i), line, last;

    if (n == 0 || n > SHORT || a >= w->v->ranks)
        return;
    line = row_offset(w->v, a, bytes) / SX_LINE;
    last = row_offset(w->v, a + n - 1, bytes) / SX_LINE;
    for (; line <= last; line++)
        __builtin_prefetch((const void *)((uintptr_t)w->v->rows + line * SX_LINE), 0, 2);
}

/* Rows of ranks [a, a + n), which are in several blocks, block by block. A block's rows are whole steps.
 * So only in the first block, where the range begins anywhere, a step may go on behind the end: what it
 * writes there is written again, and what it reads is in the next block, whose line is on its way. */
static inline void hold_blocks(const sx_view *v, uint64_t a, uint64_t n, unsigned char *to,
                               uint32_t bytes)
{
    uint64_t in_block = 1ull << v->block_shift;

    while (n > 0) {
        const unsigned char *p = v->rows + row_offset(v, a, bytes);
        uint64_t run = in_block - (a & (in_block - 1));
        run = run < n ? run : n;
        for (uint64_t i = 0; i < run * bytes; i += STEP_BYTES)
            memcpy(to + i, p + i, STEP_BYTES);
        to += run * bytes;
        a += run;
        n -= run;
    }
}

/* The same, row by row. */
static inline __attribute__((always_inline)) void
hold_each(const sx_view *v, uint64_t a, uint64_t n, unsigned char *to, uint32_t from_bytes,
          uint32_t to_bytes)
{
    for (uint64_t i = 0; i < n; i++) {
        const void *p = v->rows + row_offset(v, a + i, from_bytes);
        uint64_t row = from_bytes == 8 ? *(const uint64_t *)p : *(const uint32_t *)p;
        if (to_bytes == 8)
            ((uint64_t *)(void *)to)[i] = row;
        else
            ((uint32_t *)(void *)to)[i] = (uint32_t)row;
    }
}

/* What of outputs [first, end) is rows of spans from i on. Sizes are constants. */
static inline __attribute__((always_inline)) void
fill_rows(const fill_work *w, uint64_t i, uint64_t first, uint64_t end, uint32_t from_bytes,
          uint32_t to_bytes)
{
    const sx_view *v = w->v;
    const sx_spans *s = w->spans;
    uint64_t from = offset_at(s->first, i), to;
    int steps = from_bytes == to_bytes && v->block * from_bytes >= STEP_BYTES;
    held_rows h;

    h.n = 0;
    for (; i < s->n && from < end; i++, from = to) {
        uint64_t b = from > first ? from : first, e, a = s->start[i] + (b - from), n;
        unsigned char *at;
        to = offset_at(s->first, i + 1);
        e = to < end ? to : end;
        if (i + SPANS_AHEAD < s->n)
            ask_rows(w, i + SPANS_AHEAD, from_bytes);
        if (b >= e || a > v->ranks || e - b > v->ranks - a)
            continue;
        n = e - b;
        if (n > SHORT) {
            fill_ranks(w, a, a + n, b);
            continue;
        }
        if (h.n > 0 && (h.n * to_bytes >= HELD_BYTES || b != h.to + h.n))
            let_go(w, &h);
        if (h.n == 0)
            h.to = b;
        at = h.rows + h.n * to_bytes;
        if (steps && a >> v->block_shift < (a + n - 1) >> v->block_shift)
            hold_blocks(v, a, n, at, to_bytes);
        else
            hold_each(v, a, n, at, from_bytes, to_bytes);
        h.n += n;
    }
    if (h.n > 0)
        let_go(w, &h);
    if (w->past)
        sx_past_end();
}

typedef void rows_fn(const fill_work *w, uint64_t i, uint64_t first, uint64_t end);
#define FILL_ROWS(from, to)                                                                  \
    static void fill_##from##_##to(const fill_work *w, uint64_t i, uint64_t first, uint64_t end) \
    {                                                                                        \
        fill_rows(w, i, first, end, from, to);                                               \
    }
FILL_ROWS(4, 4)
FILL_ROWS(4, 8)
FILL_ROWS(8, 4)
FILL_ROWS(8, 8)

/* The function for spans that are short on average, if rows are all that is wanted, and are stored in
 * order of rank; or NULL. */
static rows_fn *rows_fn_for(const fill_work *w, uint64_t total)
{
    static rows_fn *const of[2][2] = {{fill_4_4, fill_4_8}, {fill_8_4, fill_8_8}};
    const sx_view *v = w->v;
    const sx_range_out *out = w->out;

    if (!out->rows.data || out->keys.data || out->at.data || v->row_bytes == 0 ||
        !(v->starts || (v->traits & SX_SLOTS_ARE_RANKS)) ||
        total / w->spans->n > (v->block ? SHORT : SHORT_OF_ARRAY))
        return NULL;
    return of[v->row_bytes == 8][out->rows.each == 8];
}

/* Outputs [first, end), which may begin and end inside of spans. Whatever the offsets are,
 * no others are written and no ranks past the end are read. */
static void fill_share(void *work, uint64_t first, uint64_t end)
{
    const fill_work *w = work;
    const uint64_t *f = w->spans->first;
    uint64_t lo = 0, hi = w->spans->n;            /* the span that holds `first` */

    while (hi - lo > 1) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (offset_at(f, mid) <= first)
            lo = mid;
        else
            hi = mid;
    }
    if (w->rows) {
        w->rows(w, lo, first, end);
        return;
    }
    for (uint64_t i = lo; i < w->spans->n; i++) {
        uint64_t from = offset_at(f, i), to = offset_at(f, i + 1);
        uint64_t b = from > first ? from : first, e = to < end ? to : end;
        uint64_t a = w->spans->start[i] + (b - from);
        if (from >= end)
            break;
        if (b >= e || a > w->v->ranks || e - b > w->v->ranks - a)
            continue;
        ask_range(w, i + RANGES_AHEAD);
        fill_ranks(w, a, a + (e - b), b);
    }
}

sx_status sx_cpu_fill(void *self, const sx_views *views, const sx_span_query *job,
                      const sx_spans *spans, const sx_range_out *out, uint64_t total, sx_err *err)
{
    fill_work w = {sx_one_view(views), out, sx_type_of(job->key_type), spans,
                   sx_goes_past(sx_slice_bytes(&out->rows, 0, total)), NULL};

    if (spans->n > 0)
        w.rows = rows_fn_for(&w, total);
    sx_cpu_share(self, job->how.threads, job->how.progress, total, 1024, fill_share, &w);
    return sx_progress_status(job->how.progress, err);
}
