/* cpu_lookup.c - batches of questions on the CPU: encode a chunk of queries,
 * walk it, turn positions and slots into the answers asked for. */
#include "cpu/cpu_chunk.h"

#include "base/past.h"
#include "cpu/cpu_pairs.h"
#include "family/slots.h"

#include <string.h>

/* The slots of positions. Prefetches their keys, and rows that are in the slots. */
static void find_slots(const sx_view *v, sx_chunk *c)
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
static void to_last_ranks(const sx_view *v, sx_chunk *c)
{
    for (unsigned i = 0; v->starts && i < c->m; i++)
        c->at[i] = c->slot[i] == SX_NO_SLOT ? v->ranks : sx_start_at(v, c->at[i] + 1) - 1;
}

/* From ranks to slots. The chunk keeps its ranks. */
static void find_ranks(const sx_view *v, sx_chunk *c)
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
static void put_numbers(const sx_lookup *job, uint64_t at, const uint64_t *x, unsigned m)
{
    const sx_slice *to = &job->out;
    void *out = sx_slice_at(to, at);

    if (to->each == 8 && sx_goes_past(job->how.batch * sizeof *x)) {
        sx_copy_past(out, x, m * sizeof *x);
    } else if (to->each == 8) {
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
static int put_get_rows(const sx_view *v, const sx_chunk *c, const sx_lookup *job, uint64_t at)
{
    uint64_t row[SX_CHUNK];
    const void *rows = v->rows;
    int ranks = (v->traits & SX_SLOTS_ARE_RANKS) != 0;

    if (job->keys.data || !job->out.data || v->row_bytes == 0 || (v->starts && !ranks))
        return 0;
    if (v->block) {
        sx_cpu_get_pairs(v, c->q, c->slot, c->m, row);
        put_numbers(job, at, row, c->m);
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
    put_numbers(job, at, row, c->m);
    return 1;
}

/* Writes the rows of the chunk's slots, all ones for none. c->at has their ranks, or
 * (firsts) the positions whose first rows they are. */
static void put_rows(const sx_view *v, const sx_chunk *c, int firsts, const sx_lookup *job, uint64_t at)
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
    put_numbers(job, at, row, c->m);
}

/* Writes the keys of the chunk's slots. An output without a slot stays as it is. */
static void put_keys(const sx_view *v, const sx_chunk *c, const sx_type_info *type,
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
static void put_positions(const sx_view *v, const sx_chunk *c, const sx_slice *out, uint64_t at)
{
    uint64_t *to = sx_slice_at(out, at);

    for (unsigned i = 0; i < c->m; i++) {
        uint64_t position = c->slot[i] == SX_NO_SLOT ? v->n : sx_rank_of_slot(v, c->slot[i]);
        to[i] = position < v->n ? position : SX_MISS;
    }
}

typedef struct {
    sx_means walks;
    const sx_view *v;
    const sx_lookup *job;
    const sx_type_info *type;
    const sx_cpu *cpu;            /* of strings; NULL: keys are not */
} lookup_work;

/* Finds bounds of the chunk's queries. slots: they are wanted, too. */
static void find(const lookup_work *w, sx_chunk *c, uint64_t at, sx_side side, int slots)
{
    const sx_lookup *job = w->job;
    const sx_state *entry = job->entry ? job->entry + at : NULL;
    int rows = slots && job->out.data && !w->v->starts;        /* the walk can prefetch them */

    if (w->cpu)
        sx_find_strings(w->cpu, &w->walks, w->v, c, &job->q, &job->codes, at, side, entry,
                        rows);
    else
        sx_chunk_bounds(&w->walks, w->v, c, 0, c->m, side, entry, slots, rows);
}

static void lookup_chunk(const lookup_work *w, sx_chunk *c, uint64_t at)
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
            sx_to_ranks(v, c);
        break;
    case SX_OP_RANK_LEFT:
    case SX_OP_RANK_RIGHT:
        find(w, c, at, sx_side_of(job->op), 0);
        sx_to_ranks(v, c);
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
            sx_to_ranks(v, c);
        break;
    case SX_OP_KEY_AT:
        find_ranks(v, c);
        break;
    }
    if (job->op == SX_OP_RANK_LEFT || job->op == SX_OP_RANK_RIGHT) {
        put_numbers(job, at, c->at, c->m);
        return;
    }
    if (job->out.data)
        put_rows(v, c, firsts, job, at);
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
    sx_asking a = sx_asking_for(w->v, w->job->entry, NULL, rows);
    sx_chunk c;

    sx_ask_first(&a, first, end);
    for (uint64_t at = first; at < end; at += c.m) {
        sx_chunk_begin(&c, &a, at, end);
        lookup_chunk(w, &c, at);
        sx_do_beside(&w->job->how, at, at + c.m);
    }
    sx_past_end();
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
    const sx_view *v = sx_walked_view(cpu, views, &own);
    const sx_type_info *type = sx_type_of(job->key_type);
    lookup_work w = {sx_means_for(cpu, v, job->entry != NULL), v, job, type, type->bytes ? NULL : cpu};

    sx_cpu_share(cpu, job->how.threads, job->how.progress, job->n, grain_of(v), lookup_share, &w);
    return sx_progress_status(job->how.progress, err);
}
