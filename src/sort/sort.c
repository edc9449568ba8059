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
#define SPREAD_MAX (1u << SPREAD_BITS)
#define IN_CACHE (1u << 20)       /* bytes of keys and rows: half of an L2 and
                                     its copy, or a good part of an L3 */
#define MAX_PARTS 64u

/* What one thread owns during a sort. */
typedef struct {
    unsigned char *lines;         /* a line of keys, lines of rows per bucket */
    unsigned char vary[16];
    uint64_t place[SPREAD_MAX], begin[SPREAD_MAX];
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

/* Keys: one line; rows: up to two lines (16 rows of 8 bytes). */
#define LINES_BYTES ((uint64_t)SPREAD_MAX * 3 * SX_LINE)

static uint64_t part_begin(const sx_sort_work *w, unsigned part)
{
    return w->a->n / w->parts * part + w->a->n % w->parts * part / w->parts;
}

/* Top bits that the buckets of n keys go by: buckets of some 2^13 keys. */
static unsigned spread_bits(uint64_t n, int top)
{
    int bits = 63 - __builtin_clzll(n) - 13;

    if (bits < 5)
        bits = 5;
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

uint64_t sx_sort_scratch(unsigned threads)
{
    uint64_t parts = threads < MAX_PARTS ? threads : MAX_PARTS;

    return sizeof(sx_sort_work) + parts * (sizeof(sx_sort_thread) + LINES_BYTES + SX_LINE);
}

sx_status sx_sort(sx_pool *pool, unsigned threads, sx_sort_arrays *a, sx_err *err)
{
    sx_sort_work *w;
    unsigned char *lines;
    unsigned parts = threads < MAX_PARTS ? threads : MAX_PARTS;
    sx_status st;

    if (a->n < 1u << 16)          /* too little to share */
        parts = 1;
    uint64_t head = sx_round_up(sizeof *w + parts * sizeof w->thread[0], SX_LINE);
    st = sx_alloc((void **)&w, head + parts * LINES_BYTES, "sorting", err);
    if (st != SX_OK)
        return st;
    w->a = a;
    w->parts = parts;
    atomic_init(&w->next_bucket, 0);
    lines = (unsigned char *)w + head;
    for (unsigned p = 0; p < parts; p++)
        w->thread[p].lines = lines + p * LINES_BYTES;

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

/* ---- is it sorted already? ----------------------------------------------- */

typedef struct {
    uint32_t width;
    uint64_t n;
    const void *keys;
    unsigned parts;
    _Atomic uint64_t first;
} descent_work;

#define DESCENT(type)                                                   \
    {                                                                   \
        const type *k = w->keys;                                        \
        for (; i < e && k[i] <= k[i + 1]; i++)                          \
            ;                                                           \
    }

static void part_descent(void *work, unsigned part)
{
    descent_work *w = work;
    uint64_t pairs = w->n - 1;
    uint64_t i = pairs / w->parts * part;
    uint64_t e = part + 1 == w->parts ? pairs : pairs / w->parts * (part + 1);

    if (i >= atomic_load(&w->first))
        return;
    if (w->width == 4)
        DESCENT(sx_key4)
    else if (w->width == 8)
        DESCENT(sx_key8)
    else
        DESCENT(sx_key16)
    if (i == e)
        return;
    uint64_t seen = atomic_load(&w->first);
    while (i < seen && !atomic_compare_exchange_weak(&w->first, &seen, i))
        ;
}

uint64_t sx_first_descent(sx_pool *pool, unsigned threads, uint32_t width,
                          uint64_t n, const void *keys)
{
    descent_work w = {.width = width, .n = n, .keys = keys,
                      .parts = n < 1u << 16 ? 1 : 64, .first = n};

    if (n > 1)
        sx_pool_run(pool, threads, w.parts, part_descent, &w);
    return atomic_load(&w.first);
}
