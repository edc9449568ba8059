/* cpu_lookup.c - batches of questions on the CPU: encode a chunk of queries,
 * walk it, turn positions and slots into the answers asked for. */
#include "cpu/cpu_backend.h"

#include "base/alloc.h"
#include "cpu/cpu_pairs.h"
#include "cpu/cpu_strings.h"
#include "family/slots.h"

#include <pthread.h>
#include <string.h>

/* One chunk of queries on its way. */
typedef struct {
    unsigned m;
    _Alignas(64) unsigned char q[SX_CHUNK * 16];      /* encoded */
    unsigned char flag[SX_CHUNK];
    uint64_t at[SX_CHUNK];        /* positions; from to_ranks() on, ranks */
    uint64_t slot[SX_CHUNK];
} chunk;

/* The functions for a chunk: bounds, and other work on keys. */
typedef struct {
    sx_bounds_fn *bounds;
    const sx_cpu_walks *keys;
} means;

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

/* entered: walks go on from entries, as only the family's own do. */
static means means_for(const sx_cpu *cpu, const sx_view *v, int entered)
{
    unsigned width = v->width == 4 ? 0 : v->width == 8 ? 1 : 2;
    sx_bounds_fn *bounds = v->n == 0 ? no_bounds
                           : cpu->whole && !entered ? sx_cpu_small_for(cpu->level, v) : NULL;

    if (!bounds)
        bounds = sx_family_cpu_of(v->family)->bounds[cpu->level][width];
    return (means){bounds, sx_cpu_walks_for(cpu->level, v->width)};
}

/* ---- walks from entries -------------------------------------------------------- */

/* Where such walks go on is known beforehand. So the memory there is asked for ASKED queries
 * before its turn, whatever chunk they are in, and a small chunk at a time: then it is on its way
 * while others are answered. */
#define ENTERED_CHUNK 64u
#define ASKED 128u

typedef struct {
    sx_ask_fn *ask;               /* NULL: nobody asks */
    const sx_view *v;
    const sx_state *entry[2];     /* the second may be NULL */
    int rows;
} asking;

/* Lines of keys that are asked for without the lines of rows between them came later than ever on
 * Zen 4. */
static asking asking_for(const sx_view *v, const sx_state *lo, const sx_state *hi, int rows)
{
    int asks = lo && v->n > 0 && (rows || v->block_bytes <= 64 || !v->block);

    return (asking){asks ? sx_family_cpu_of(v->family)->ask : NULL, v, {lo, hi}, rows};
}

/* Asks for queries [from, to) of those before `end`. */
static void ask(const asking *a, uint64_t from, uint64_t to, uint64_t end)
{
    if (!a->ask)
        return;
    to = to < end ? to : end;
    for (unsigned i = 0; i < 2 && a->entry[i] && from < to; i++)
        a->ask(a->v, a->entry[i] + from, (unsigned)(to - from), a->rows);
}

/* The queries of a chunk that begins with `at`. */
static unsigned chunk_length(const asking *a, uint64_t at, uint64_t end)
{
    unsigned most = a->ask ? ENTERED_CHUNK : SX_CHUNK;

    return end - at < most ? (unsigned)(end - at) : most;
}

/* What is done beside queries [first, end). */
static void beside(const sx_how *how, uint64_t first, uint64_t end)
{
    if (how->beside.fn)
        how->beside.fn(how->beside.work, first, end);
}

/* The view that walks get: in a laboratory it may say another way to walk. */
static const sx_view *walked_view(const sx_cpu *cpu, const sx_views *views, sx_view *own)
{
    const sx_view *v = sx_one_view(views);
    const sx_family_cpu *family = sx_family_cpu_of(v->family);

    if (!family->lab || (!cpu->lab.node && !cpu->lab.pipeline))
        return v;
    *own = *v;
    family->lab(own, &cpu->lab);
    return own;
}

/* Finds positions. entry: those of these queries and this side, or NULL. */
static void find_bounds(const means *w, const sx_view *v, chunk *c, sx_side side,
                        const sx_state *entry)
{
    w->bounds(v, c->q, c->m, side, entry, c->at, NULL, 0);
}

/* Positions become the ranks of their first keys. */
static void to_ranks(const sx_view *v, chunk *c)
{
    for (unsigned i = 0; v->starts && i < c->m; i++)
        c->at[i] = sx_start_at(v, c->at[i]);
}

/* The slots of positions. Prefetches their keys, and rows that are in the slots. */
static void find_slots(const sx_view *v, chunk *c)
{
    for (unsigned i = 0; i < c->m; i++) {
        c->slot[i] = c->at[i] < v->n ? sx_slot_of_rank(v, c->at[i]) : SX_NO_SLOT;
        if (c->slot[i] == SX_NO_SLOT)
            continue;
        __builtin_prefetch(v->keys + sx_key_offset(v, c->slot[i]));
        if (v->row_bytes && !v->starts)
            __builtin_prefetch(v->rows + sx_row_offset(v, c->slot[i]));
    }
}

/* Positions become the ranks of their last keys. */
static void to_last_ranks(const sx_view *v, chunk *c)
{
    for (unsigned i = 0; v->starts && i < c->m; i++)
        c->at[i] = c->slot[i] == SX_NO_SLOT ? v->ranks : sx_start_at(v, c->at[i] + 1) - 1;
}

/* From ranks to slots. The chunk keeps its ranks. */
static void find_ranks(const sx_view *v, chunk *c)
{
    uint64_t rank[SX_CHUNK];

    if (!v->starts) {
        find_slots(v, c);
        return;
    }
    memcpy(rank, c->at, c->m * sizeof *rank);
    for (unsigned i = 0; i < c->m; i++)
        c->at[i] = rank[i] < v->ranks ? sx_position_of(v, rank[i]) : v->n;
    find_slots(v, c);
    memcpy(c->at, rank, c->m * sizeof *rank);
}

/* Writes elements [at, at + m), of 8 bytes or 4. */
static void put_numbers(const sx_slice *to, uint64_t at, const uint64_t *x, unsigned m)
{
    void *out = sx_slice_at(to, at);

    if (to->each == 8) {
        memcpy(out, x, m * sizeof *x);
    } else {
        for (unsigned i = 0; i < m; i++)
            ((uint32_t *)out)[i] = (uint32_t)x[i];
    }
}

/* Loops so short that a core has many of their reads on the way at once, without prefetching. */
static void split_rows8(uint64_t *out, const uint64_t *slot, const uint64_t *rows, unsigned m)
{
    for (unsigned i = 0; i < m; i++)
        out[i] = slot[i] == SX_NO_SLOT ? SX_MISS : rows[slot[i]];
}

static void split_rows4(uint64_t *out, const uint64_t *slot, const uint32_t *rows, unsigned m)
{
    for (unsigned i = 0; i < m; i++)
        out[i] = slot[i] == SX_NO_SLOT ? SX_MISS : rows[slot[i]];
}

/* The same of slots whose keys are q, if keys and rows are in arrays: the most frequent
 * question, in one pass. */
#define GET_ROWS(w, r)                                                                      \
    static void get_rows_##w##_##r(uint64_t *out, const uint64_t *slot, const void *queries, \
                                   const void *keys, const void *rows, unsigned m)          \
    {                                                                                       \
        const sx_key##w *q = queries, *k = keys;                                            \
        const uint##r##_t *row = rows;                                                      \
        for (unsigned i = 0; i < m; i++) {                                                  \
            uint64_t at = slot[i] == SX_NO_SLOT ? 0 : slot[i];                              \
            int hit = (slot[i] != SX_NO_SLOT) & (k[at] == q[i]);                            \
            uint64_t its = row[at];                                                         \
            out[i] = hit ? its : SX_MISS;                                                   \
        }                                                                                   \
    }
GET_ROWS(4, 32)
GET_ROWS(4, 64)
GET_ROWS(8, 32)
GET_ROWS(8, 64)
GET_ROWS(16, 32)
GET_ROWS(16, 64)

/* Writes the rows of a get, if this one pass can. Returns whether it did. */
static int put_get_rows(const sx_view *v, const chunk *c, const sx_lookup *job, uint64_t at)
{
    uint64_t row[SX_CHUNK];
    const void *rows = v->rows;
    int ranks = (v->traits & SX_SLOTS_ARE_RANKS) != 0;

    if (job->keys.data || !job->out.data || v->row_bytes == 0 || (v->starts && !ranks))
        return 0;
    if (v->block) {
        sx_cpu_get_pairs(v, c->q, c->slot, c->m, row);
        put_numbers(&job->out, at, row, c->m);
        return 1;
    }
    if (v->starts)
        rows = v->starts + sx_firsts_offset(v->n, v->ranks);
    switch (v->width * 16 + v->row_bytes) {
    case 0x044: get_rows_4_32(row, c->slot, c->q, v->keys, rows, c->m); break;
    case 0x048: get_rows_4_64(row, c->slot, c->q, v->keys, rows, c->m); break;
    case 0x084: get_rows_8_32(row, c->slot, c->q, v->keys, rows, c->m); break;
    case 0x088: get_rows_8_64(row, c->slot, c->q, v->keys, rows, c->m); break;
    case 0x104: get_rows_16_32(row, c->slot, c->q, v->keys, rows, c->m); break;
    default:    get_rows_16_64(row, c->slot, c->q, v->keys, rows, c->m); break;
    }
    put_numbers(&job->out, at, row, c->m);
    return 1;
}

/* Writes the rows of the chunk's slots, all ones for none. c->at has their ranks, or
 * (firsts) the positions whose first rows they are. */
static void put_rows(const sx_view *v, const chunk *c, int firsts, const sx_slice *out, uint64_t at)
{
    uint64_t row[SX_CHUNK], other[SX_CHUNK];
    const uint64_t *place = c->slot;
    const void *rows = v->rows;

    /* Rows are in order of rank, first rows in order of position, which a slot may be. */
    if (v->starts && !(firsts && (v->traits & SX_SLOTS_ARE_RANKS))) {
        uint64_t most = firsts ? v->n : v->ranks;
        for (unsigned i = 0; i < c->m; i++)
            other[i] = c->slot[i] == SX_NO_SLOT || c->at[i] >= most ? SX_NO_SLOT : c->at[i];
        place = other;
    }
    if (firsts)
        rows = v->starts + sx_firsts_offset(v->n, v->ranks);
    if (!v->block && v->row_bytes == 8)
        split_rows8(row, place, rows, c->m);
    else if (!v->block && v->row_bytes == 4)
        split_rows4(row, place, rows, c->m);
    else
        for (unsigned i = 0; i < c->m; i++)
            row[i] = place[i] == SX_NO_SLOT ? SX_MISS : sx_row_at(v, place[i], c->at[i]);
    put_numbers(out, at, row, c->m);
}

/* Writes the keys of the chunk's slots. An output without a slot stays as it is. */
static void put_keys(const sx_view *v, const chunk *c, const sx_type_info *type,
                     const sx_slice *out, uint64_t at)
{
    _Alignas(64) unsigned char key[SX_CHUNK * 16];
    unsigned width = v->width, m = 0;

    /* Consecutive keys are decoded in one go. */
    for (unsigned i = 0; i <= c->m; i++) {
        if (i < c->m && c->slot[i] != SX_NO_SLOT) {
            const unsigned char *from = v->keys + sx_key_offset(v, c->slot[i]);
            if (width == 8)
                memcpy(key + m++ * 8, from, 8);
            else if (width == 4)
                memcpy(key + m++ * 4, from, 4);
            else
                memcpy(key + m++ * 16, from, 16);
        } else if (m > 0) {
            type->decode(sx_slice_at(out, at + i - m), key, m);
            m = 0;
        }
    }
}

/* Writes the positions of the chunk's slots, all ones for none; also, in a damaged file, of a
 * slot that has none. */
static void put_positions(const sx_view *v, const chunk *c, const sx_slice *out, uint64_t at)
{
    uint64_t *to = sx_slice_at(out, at);

    for (unsigned i = 0; i < c->m; i++) {
        uint64_t position = c->slot[i] == SX_NO_SLOT ? v->n : sx_rank_of_slot(v, c->slot[i]);
        to[i] = position < v->n ? position : SX_MISS;
    }
}

/* Finds the bounds of strings [at, at + c->m) of a column: positions and slots. The chunk's flags
 * say where a string is equal. known: the column's codes, if they are. Numbers do without the
 * stack of this. */
static __attribute__((noinline)) void find_strings(const sx_cpu *cpu, const means *w,
                                                   const sx_view *v, chunk *c, const sx_slice *q,
                                                   const sx_text_codes *known, uint64_t at,
                                                   sx_side side, const sx_state *entry)
{
    uint64_t before[SX_CHUNK], same[SX_CHUNK];
    uint64_t *code = (uint64_t *)(void *)c->q;
    sx_settle settle = {v, {q, NULL}, at, c->m, code, same, c->flag, c->at};

    if (known->code) {
        memcpy(code, known->code + at, c->m * sizeof *code);
        memcpy(same, known->same + at, c->m * sizeof *same);
    } else {
        sx_cpu_codes(cpu, v, &settle.q, at, c->m, code, same);
    }
    w->bounds(v, c->q, c->m, SX_LEFT, entry, c->at, c->slot, 0);
    w->keys->equal(v, c->q, c->slot, c->flag, c->m);
    memcpy(before, c->at, c->m * sizeof *before);
    sx_cpu_settle(&settle, side);
    for (unsigned i = 0; i < c->m; i++)
        if (c->at[i] != before[i])
            c->slot[i] = c->at[i] < v->n ? sx_slot_of_rank(v, c->at[i]) : SX_NO_SLOT;
}

typedef struct {
    means walks;
    const sx_view *v;
    const sx_lookup *job;
    const sx_type_info *type;
    const sx_cpu *cpu;            /* of strings; NULL: keys are not */
} lookup_work;

/* Finds bounds of the chunk's queries. slots: they are wanted, too. */
static void find(const lookup_work *w, chunk *c, uint64_t at, sx_side side, int slots)
{
    const sx_lookup *job = w->job;
    const sx_state *entry = job->entry ? job->entry + at : NULL;
    int rows = slots && job->out.data && !w->v->starts;        /* the walk can prefetch them */

    if (w->cpu)
        find_strings(w->cpu, &w->walks, w->v, c, &job->q, &job->codes, at, side, entry);
    else
        w->walks.bounds(w->v, c->q, c->m, side, entry, c->at, slots ? c->slot : NULL, rows);
}

static void lookup_chunk(const lookup_work *w, chunk *c, uint64_t at)
{
    const sx_lookup *job = w->job;
    const sx_view *v = w->v;
    int firsts = v->starts && v->row_bytes && (job->op == SX_OP_GET || job->op == SX_OP_CEIL);

    if (job->op == SX_OP_KEY_AT)
        for (unsigned i = 0; i < c->m; i++)
            c->at[i] = !job->q.data       ? sx_some_rank(at + i, job->ahead, v->ranks)
                       : job->q.each == 8 ? ((const uint64_t *)job->q.data)[at + i]
                                          : ((const uint32_t *)job->q.data)[at + i];
    else if (!w->cpu)
        w->type->encode(c->q, sx_slice_at(&job->q, at), c->m);

    switch (job->op) {
    case SX_OP_GET:
        find(w, c, at, SX_LEFT, 1);
        if (!w->cpu && v->n > 0 && put_get_rows(v, c, job, at))
            return;
        if (!w->cpu)
            w->walks.keys->equal(v, c->q, c->slot, c->flag, c->m);
        for (unsigned i = 0; i < c->m; i++)
            if (!c->flag[i])
                c->slot[i] = SX_NO_SLOT;
        if (!firsts)
            to_ranks(v, c);
        break;
    case SX_OP_RANK_LEFT:
    case SX_OP_RANK_RIGHT:
        find(w, c, at, sx_side_of(job->op), 0);
        to_ranks(v, c);
        break;
    case SX_OP_FLOOR:
        find(w, c, at, SX_RIGHT, 0);
        for (unsigned i = 0; i < c->m; i++)
            c->at[i]--;           /* 0 - 1 is past the end: no such key */
        find_slots(v, c);
        to_last_ranks(v, c);
        break;
    case SX_OP_CEIL:
        find(w, c, at, SX_LEFT, 1);
        if (!firsts)
            to_ranks(v, c);
        break;
    case SX_OP_KEY_AT:
        find_ranks(v, c);
        break;
    }
    if (job->op == SX_OP_RANK_LEFT || job->op == SX_OP_RANK_RIGHT) {
        put_numbers(&job->out, at, c->at, c->m);
        return;
    }
    if (job->out.data)
        put_rows(v, c, firsts, &job->out, at);
    if (job->keys.data)
        put_keys(v, c, w->type, &job->keys, at);
    if (job->at.data)
        put_positions(v, c, &job->at, at);
}

static void lookup_share(void *work, uint64_t first, uint64_t end)
{
    const lookup_work *w = work;
    int rows = w->job->out.data && !w->v->starts &&
               (w->job->op == SX_OP_GET || w->job->op == SX_OP_CEIL);
    asking a = asking_for(w->v, w->job->entry, NULL, rows);
    chunk c;

    ask(&a, first, first + ASKED, end);
    for (uint64_t at = first; at < end; at += c.m) {
        c.m = chunk_length(&a, at, end);
        ask(&a, at + ASKED, at + ASKED + c.m, end);
        lookup_chunk(w, &c, at);
        beside(&w->job->how, at, at + c.m);
    }
}

/* Queries of an index beyond the caches take so long that half as many of them are worth waking a
 * thread for: on 16 cores a call of 2^14 took 81 us instead of 117. */
#define FAR_BYTES (64ull << 20)
static uint64_t grain_of(const sx_view *v)
{
    return v->slots * (v->width + v->row_bytes) > FAR_BYTES ? SX_CHUNK / 2 : SX_CHUNK;
}

sx_status sx_cpu_lookup(void *self, const sx_views *views, const sx_lookup *job, sx_err *err)
{
    const sx_cpu *cpu = self;
    sx_view own;
    const sx_view *v = walked_view(cpu, views, &own);
    const sx_type_info *type = sx_type_of(job->key_type);
    lookup_work w = {means_for(cpu, v, job->entry != NULL), v, job, type, type->bytes ? NULL : cpu};

    sx_cpu_share(cpu, job->how.threads, job->how.progress, job->n, grain_of(v), lookup_share, &w);
    return sx_progress_status(job->how.progress, err);
}

/* ---- ranges ------------------------------------------------------------- */

typedef struct {
    means walks;
    const sx_view *v;
    const sx_span_query *job;
    const sx_type_info *type;
    uint64_t *start, *count;      /* spans: results */
    const sx_range_folds *folds;   /* fold: results */
    const sx_cpu *cpu;
} span_work;

/* Replaces the encoded lower ends of a chunk of ranges by the upper ones, and says which ranges
 * are empty. Walks need much stack, so the stack of this is gone before the next walk. */
static __attribute__((noinline)) void take_upper(const span_work *w, chunk *c, uint64_t at,
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
static void find_end(const span_work *w, chunk *c, uint64_t at, const sx_slice *q,
                     const sx_text_codes *known, sx_side side, const sx_state *entry)
{
    entry = entry ? entry + at : NULL;
    if (w->type->bytes)
        find_bounds(&w->walks, w->v, c, side, entry);
    else
        find_strings(w->cpu, &w->walks, w->v, c, q, known, at, side, entry);
    to_ranks(w->v, c);
}

/* Finds strings that begin with the chunk's: the ranks of the first of them go to `start`, those
 * behind the last into the chunk. */
static __attribute__((noinline)) void find_prefixes(const span_work *w, chunk *c, uint64_t at,
                                                    uint64_t *start)
{
    const sx_view *v = w->v;
    uint64_t position[SX_CHUNK];

    find_strings(w->cpu, &w->walks, v, c, &w->job->lo, &w->job->codes_lo, at, SX_LEFT,
                 w->job->entry_lo ? w->job->entry_lo + at : NULL);
    memcpy(position, c->at, c->m * sizeof *position);
    to_ranks(v, c);
    memcpy(start, c->at, c->m * sizeof *start);
    for (unsigned i = 0; i < c->m; i++) {
        uint64_t length;
        const unsigned char *q = sx_slice_string(&w->job->lo, at + i, &length);
        c->at[i] = sx_string_prefix_end(&v->strings, v->n, position[i], q, length);
    }
    to_ranks(v, c);
}

/* Finds both ends of ranges, and says which of them are empty; ends as above. */
static void find_ends(const span_work *w, chunk *c, uint64_t at, uint64_t *start,
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
static void span_chunk(const span_work *w, chunk *c, uint64_t at,
                       uint64_t *start, uint64_t *count)
{
    const sx_span_query *job = w->job;
    unsigned char empty[SX_CHUNK] = {0};

    if (job->prefix)
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

static void spans_share(void *work, uint64_t first, uint64_t end)
{
    const span_work *w = work;
    asking a = asking_for(w->v, w->job->entry_lo, w->job->entry_hi, 0);
    chunk c;
    uint64_t start[SX_CHUNK], count[SX_CHUNK];

    ask(&a, first, first + ASKED, end);
    for (uint64_t at = first; at < end; at += c.m) {
        c.m = chunk_length(&a, at, end);
        ask(&a, at + ASKED, at + ASKED + c.m, end);
        span_chunk(w, &c, at, start, count);
        beside(&w->job->how, at, at + c.m);
        if (w->start)
            memcpy(w->start + at, start, c.m * sizeof *start);
        memcpy(w->count + at, count, c.m * sizeof *count);
    }
}

/* start may be NULL */
static void find_spans(const sx_cpu *cpu, const sx_view *v, const sx_span_query *job,
                       uint64_t *start, uint64_t *count)
{
    span_work w = {means_for(cpu, v, job->entry_lo || job->entry_hi), v, job,
                   sx_type_of(job->key_type), start, count, NULL, cpu};

    sx_cpu_share(cpu, job->how.threads, job->how.progress, job->n, SX_CHUNK, spans_share, &w);
}

sx_status sx_cpu_spans(void *self, const sx_views *views, const sx_span_query *job,
                       const sx_spans *to, sx_err *err)
{
    sx_view own;

    find_spans(self, walked_view(self, views, &own), job, to->start, to->first);
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
    asking a = asking_for(w->v, w->job->entry_lo, w->job->entry_hi, 0);
    chunk c;
    uint64_t start[SX_CHUNK], count[SX_CHUNK];

    ask(&a, first, first + ASKED, end);
    for (uint64_t at = first; at < end; at += c.m) {
        c.m = chunk_length(&a, at, end);
        ask(&a, at + ASKED, at + ASKED + c.m, end);
        span_chunk(w, &c, at, start, count);
        beside(&w->job->how, at, at + c.m);
        for (unsigned i = 0; i < c.m; i++) {
            sx_fold f = {SX_MISS, 0, 0, wants_extremes(out)};
            if (f.extremes || out->sum.data)
                fold_span(w, start[i], count[i], &f);
            put_fold(out, at + i, count[i], &f);
        }
    }
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
    chunk c;

    c.m = n;
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
    beside(&w->job->how, 0, n);
    for (unsigned i = 0; i < n; i++)
        first[i + 1] += first[i];
    fold_hits(cpu, w, n, start, first);
}

sx_status sx_cpu_fold(void *self, const sx_views *views, const sx_span_query *job,
                      const sx_range_folds *out, sx_err *err)
{
    const sx_cpu *cpu = self;
    sx_view own;
    const sx_view *v = walked_view(cpu, views, &own);
    span_work w = {means_for(cpu, v, job->entry_lo || job->entry_hi), v, job,
                   sx_type_of(job->key_type), NULL, NULL, out, cpu};

    if (job->n <= SX_CHUNK)
        fold_few(cpu, &w);
    else
        sx_cpu_share(cpu, job->how.threads, job->how.progress, job->n, 4, fold_share, &w);
    return sx_progress_status(job->how.progress, err);
}
