/* cpu_chunk.h - a chunk of queries on its way: what points and ranges do alike. */
#ifndef SX_CPU_CHUNK_H
#define SX_CPU_CHUNK_H

#include "cpu/cpu_backend.h"

typedef struct sx_asking sx_asking;

typedef struct {
    unsigned m;
    const sx_asking *asks;        /* for walks from entries, or NULL */
    uint64_t left;                /* queries that it may ask for, from the first of the chunk on */
    _Alignas(64) unsigned char q[SX_CHUNK * 16];      /* encoded */
    unsigned char flag[SX_CHUNK];
    uint64_t at[SX_CHUNK];        /* positions; from sx_to_ranks() on, ranks */
    uint64_t slot[SX_CHUNK];
} sx_chunk;

/* The functions for a chunk: bounds, and other work on keys. */
typedef struct {
    sx_bounds_fn *bounds;
    const sx_cpu_walks *keys;
} sx_means;

/* entered: walks go on from entries, as only the family's own do. */
sx_means sx_means_for(const sx_cpu *cpu, const sx_view *v, int entered);
/* The view that walks get: in a laboratory it may say another way to walk. */
const sx_view *sx_walked_view(const sx_cpu *cpu, const sx_views *views, sx_view *own);

/* Positions become the ranks of their first keys. */
static inline void sx_to_ranks(const sx_view *v, sx_chunk *c)
{
    for (unsigned i = 0; v->starts && i < c->m; i++)
        c->at[i] = sx_start_at(v, c->at[i]);
}

/* Finds the bounds of strings [at, at + c->m) of a column: positions and slots. The chunk's flags
 * say where a string is equal. known: the column's codes, if they are. rows: the walk asks for those
 * of its slots, which are mostly those of the strings. */
void sx_find_strings(const sx_cpu *cpu, const sx_means *w, const sx_view *v, sx_chunk *c,
                     const sx_slice *q, const sx_text_codes *known, uint64_t at, sx_side side,
                     const sx_state *entry, int rows);

/* ---- walks from entries -------------------------------------------------------- */

/* Where such walks go on is known beforehand. So the memory there is asked for SX_ASKED queries
 * before its turn, whatever chunk they are in: then it is on its way while others are answered. That is
 * done for SX_ASKED_PART queries at a time, between the walks of as many. A core that asks for more
 * lines than it can have on their way waits, and has none on their way while it walks for long. */
#define SX_ASKED 128u
#define SX_ASKED_PART 64u

struct sx_asking {
    sx_ask_fn *ask;               /* NULL: nobody asks */
    const sx_view *v;
    const sx_state *entry[2];     /* the second may be NULL */
    int rows;
};

sx_asking sx_asking_for(const sx_view *v, const sx_state *lo, const sx_state *hi, int rows);
/* Asks for the first SX_ASKED of queries [from, end). */
void sx_ask_first(const sx_asking *a, uint64_t from, uint64_t end);

/* The chunk that begins with query `at` of those before `end`. */
static inline void sx_chunk_begin(sx_chunk *c, const sx_asking *asks, uint64_t at, uint64_t end)
{
    c->m = end - at < SX_CHUNK ? (unsigned)(end - at) : SX_CHUNK;
    c->asks = asks;
    c->left = end - at;
}

/* The bounds of queries [from, to) of a chunk, whose keys are encoded: positions, and with `slots`
 * slots. entry: of the chunk's first query, or NULL. rows: the walk asks for those of its slots. */
void sx_chunk_bounds(const sx_means *w, const sx_view *v, sx_chunk *c, unsigned from, unsigned to,
                     sx_side side, const sx_state *entry, int slots, int rows);

/* What is done beside queries [first, end). */
static inline void sx_do_beside(const sx_how *how, uint64_t first, uint64_t end)
{
    if (how->beside.fn)
        how->beside.fn(how->beside.work, first, end);
}

#endif
