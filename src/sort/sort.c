#include "sort/sort.h"

#include "base/alloc.h"
#include "keys/encode.h"

#include <stdatomic.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define SMALL 32u                 /* insertion sort up to here */
#define SPREAD_BITS 11            /* at most; 2048 lines of buffer fit L2 */
#define SPREAD_BITS_LEAST 5
#define SPREAD_MAX (1u << SPREAD_BITS)
/* Places of all spreads on the way down to one range. Each goes by at least
 * SPREAD_BITS of the 128 bits a key may have, or by fewer when its range is
 * small, and then has fewer places too; two numbers a place. */
#define PLACES_MAX (2u * SPREAD_MAX * (128 / SPREAD_BITS + 1))
#define IN_CACHE (1u << 20)       /* bytes of keys and rows: half of an L2 and
                                     its copy, or a good part of an L3 */
#define MAX_PARTS 64u

/* What one thread owns during a sort. */
typedef struct {
    unsigned char *lines;         /* a line of keys, lines of rows per bucket */
    unsigned char vary[16];
    uint64_t count[256];
    uint64_t *place, *begin;      /* of the first spread */
    uint64_t *places;             /* of those after it, `used` of them in use */
    unsigned used;
} sx_sort_thread;

typedef struct {
    sx_sort_arrays *a;
    unsigned parts;
    unsigned digits;              /* buckets of the first spread */
    int shift;
    _Atomic unsigned next_bucket;
    uint64_t bucket[SPREAD_MAX + 1];
    sx_sort_thread thread[];
} sx_sort_work;

/* A thread's buffers. Keys: one line; rows: up to two (16 rows of 8 bytes);
 * then places. A sort that never spreads has none of them. */
#define LINES_BYTES ((uint64_t)SPREAD_MAX * 3 * SX_LINE)
#define BUFFER_BYTES (LINES_BYTES + (2ull * SPREAD_MAX + PLACES_MAX) * sizeof(uint64_t))

static uint64_t part_begin(const sx_sort_work *w, unsigned part)
{
    return w->a->n / w->parts * part + w->a->n % w->parts * part / w->parts;
}

/* Top bits that the buckets of n keys go by: buckets of some 2^13 keys. */
static unsigned spread_bits(uint64_t n, int top)
{
    int bits = 63 - __builtin_clzll(n) - 13;

    if (bits < SPREAD_BITS_LEAST)
        bits = SPREAD_BITS_LEAST;
    if (bits > SPREAD_BITS)
        bits = SPREAD_BITS;
    return (unsigned)(bits > top + 1 ? top + 1 : bits);
}

/* Counts become the places where each digit's first key goes. */
static void places(uint64_t *count, unsigned digits, uint64_t at)
{
    for (unsigned d = 0; d < digits; d++) {
        uint64_t c = count[d];
        count[d] = at;
        at += c;
    }
}

/* The same for the counts of all threads: bucket by bucket, and in it
 * thread by thread, which keeps the sort stable. */
static void shared_places(sx_sort_work *w)
{
    uint64_t at = 0;

    for (unsigned d = 0; d < w->digits; d++) {
        w->bucket[d] = at;
        for (unsigned p = 0; p < w->parts; p++) {
            uint64_t c = w->thread[p].place[d];
            w->thread[p].place[d] = at;
            at += c;
        }
    }
    w->bucket[w->digits] = at;
}

/* Stores that do not fetch the line they overwrite. Multiples of 16 bytes
 * at 16-byte boundaries. */
static inline void sx_stream(void *to, const void *from, size_t bytes)
{
#ifdef __SSE2__
    for (size_t i = 0; i < bytes; i += 16)
        _mm_stream_si128((__m128i *)(void *)((unsigned char *)to + i),
                         _mm_load_si128((const __m128i *)(const void *)
                                        ((const unsigned char *)from + i)));
#else
    memcpy(to, from, bytes);
#endif
}

static inline void sx_stream_end(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#define SX_KEY_(w) sx_key##w
#define SX_KEY(w) SX_KEY_(w)
#define SX_ROW_4 uint32_t
#define SX_ROW_8 uint64_t
#define SX_ROW_(r) SX_ROW_##r
#define SX_ROW(r) SX_ROW_(r)

#define R 4
#define W 4
#include "sort/sort_impl.h"
#undef W
#define W 8
#include "sort/sort_impl.h"
#undef W
#define W 16
#include "sort/sort_impl.h"
#undef W
#undef R
#define R 8
#define W 4
#include "sort/sort_impl.h"
#undef W
#define W 8
#include "sort/sort_impl.h"
#undef W
#define W 16
#include "sort/sort_impl.h"
#undef W
#undef R

typedef struct {
    unsigned parts;
    uint64_t head, each;          /* bytes: all threads' records; a buffer */
} sort_plan;

static sort_plan plan(unsigned threads, uint64_t n, uint32_t pair_bytes)
{
    sort_plan p = {threads < MAX_PARTS ? threads : MAX_PARTS, 0, BUFFER_BYTES};

    if (n < 1u << 16)             /* too little to share */
        p.parts = 1;
    if (n * pair_bytes <= IN_CACHE)
        p.each = 0;
    p.head = sx_round_up(sizeof(sx_sort_work) + p.parts * sizeof(sx_sort_thread), SX_LINE);
    return p;
}

uint64_t sx_sort_scratch(unsigned threads, uint64_t n, uint32_t pair_bytes)
{
    sort_plan p = plan(threads, n, pair_bytes);

    return p.head + p.parts * p.each;
}

sx_status sx_sort(sx_pool *pool, unsigned threads, sx_sort_arrays *a, sx_err *err)
{
    sort_plan p = plan(threads, a->n, a->width + a->row_bytes);
    sx_sort_work *w;
    sx_status st = sx_alloc((void **)&w, p.head + p.parts * p.each, "sorting", err);

    if (st != SX_OK)
        return st;
    w->a = a;
    w->parts = p.parts;
    atomic_init(&w->next_bucket, 0);
    for (unsigned i = 0; i < p.parts; i++) {
        sx_sort_thread *t = &w->thread[i];
        unsigned char *buffer = (unsigned char *)w + p.head + i * p.each;
        t->lines = buffer;
        t->place = (uint64_t *)(void *)(buffer + LINES_BYTES);
        t->begin = t->place + SPREAD_MAX;
        t->places = t->begin + SPREAD_MAX;
        t->used = 0;
    }

    switch (a->width * 16 + a->row_bytes) {
    case 0x044: sort_k4_r4(w, pool); break;
    case 0x048: sort_k4_r8(w, pool); break;
    case 0x084: sort_k8_r4(w, pool); break;
    case 0x088: sort_k8_r8(w, pool); break;
    case 0x104: sort_k16_r4(w, pool); break;
    default:    sort_k16_r8(w, pool); break;
    }
    sx_release(w);
    return SX_OK;
}

/* ---- neighbours ----------------------------------------------------------- */

typedef struct {
    uint32_t width;
    uint64_t n;
    const void *keys;
    int equal;                    /* looks for equal neighbours, else descents */
    unsigned parts;
    _Atomic uint64_t first;
} neighbour_work;

/* The first i in [i, e) whose key is above (or equal to) the next one, or e. */
#define NEIGHBOURS(type)                                                    \
    static uint64_t first_##type(const type *k, uint64_t i, uint64_t e, int equal) \
    {                                                                       \
        if (equal)                                                          \
            while (i < e && k[i] != k[i + 1])                               \
                i++;                                                        \
        else                                                                \
            while (i < e && k[i] <= k[i + 1])                               \
                i++;                                                        \
        return i;                                                           \
    }
NEIGHBOURS(sx_key4)
NEIGHBOURS(sx_key8)
NEIGHBOURS(sx_key16)

static void part_neighbours(void *work, unsigned part)
{
    neighbour_work *w = work;
    uint64_t pairs = w->n - 1, i = pairs / w->parts * part;
    uint64_t e = part + 1 == w->parts ? pairs : pairs / w->parts * (part + 1);

    if (i >= atomic_load(&w->first))
        return;
    i = w->width == 4   ? first_sx_key4(w->keys, i, e, w->equal)
        : w->width == 8 ? first_sx_key8(w->keys, i, e, w->equal)
                        : first_sx_key16(w->keys, i, e, w->equal);
    if (i == e)
        return;
    uint64_t seen = atomic_load(&w->first);
    while (i < seen && !atomic_compare_exchange_weak(&w->first, &seen, i))
        ;
}

static uint64_t first_neighbour(sx_pool *pool, unsigned threads, uint32_t width, uint64_t n,
                                const void *keys, int equal)
{
    neighbour_work w = {.width = width, .n = n, .keys = keys, .equal = equal,
                        .parts = n < 1u << 16 ? 1 : 64, .first = n};

    if (n > 1)
        sx_pool_run(pool, threads, w.parts, part_neighbours, &w);
    return atomic_load(&w.first);
}

uint64_t sx_first_descent(sx_pool *pool, unsigned threads, uint32_t width, uint64_t n,
                          const void *keys)
{
    return first_neighbour(pool, threads, width, n, keys, 0);
}

uint64_t sx_first_repeat(sx_pool *pool, unsigned threads, uint32_t width, uint64_t n,
                         const void *keys)
{
    return first_neighbour(pool, threads, width, n, keys, 1);
}
