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
/* Places of all spreads on the way down to one range. A spread goes by SPREAD_BITS
 * of the 128 bits that a key may have. Where its range is small it goes by fewer
 * bits, and has fewer places, too. A place is two numbers, and each spread has one
 * number more behind its last place. */
#define PLACES_MAX (2u * SPREAD_MAX * (128 / SPREAD_BITS + 1) + 128 / SPREAD_BITS_LEAST + 1)
#define IN_CACHE (1u << 20)       /* bytes of keys and rows; with their copy they
                                     fit an L2, or take a good part of an L3 */
#define MAX_PARTS 64u

/* What a thread owns during a sort. */
typedef struct {
    unsigned char *lines;         /* for each bucket a line of keys, lines of rows */
    unsigned char vary[16];
    int as_counted;               /* its spread filled its places exactly */
    uint64_t count[256];
    uint64_t *place, *begin;      /* of the first spread */
    uint64_t *places;             /* of later spreads; `used` of them are in use */
    unsigned used;
    sx_progress *progress;        /* or NULL */
} sx_sort_thread;

#define PIECE (1ull << 18)        /* keys of a pass between two looks at progress */

typedef struct {
    sx_sort_arrays *a;
    unsigned parts;
    unsigned digits;              /* buckets of the first spread */
    int shift;
    unsigned char first[16];      /* a key that others are compared with */
    _Atomic unsigned next_bucket;
    uint64_t bucket[SPREAD_MAX + 1];
    sx_sort_thread thread[];
} sx_sort_work;

/* A thread's buffers. Keys have one line, rows up to two (16 rows of 8 bytes); places
 * follow. A sort that never spreads has no buffers. */
#define LINES_BYTES ((uint64_t)SPREAD_MAX * 3 * SX_LINE)
#define BUFFER_BYTES (LINES_BYTES + (2ull * SPREAD_MAX + PLACES_MAX) * sizeof(uint64_t))

static uint64_t part_begin(const sx_sort_work *w, unsigned part)
{
    return w->a->n / w->parts * part + w->a->n % w->parts * part / w->parts;
}

/* How many top bits buckets of n keys go by: each is to have some 2^13 keys. */
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
            w->thread[p].place[d] = w->thread[p].begin[d] = at;
            at += c;
        }
    }
    w->bucket[w->digits] = at;
}

/* Stores that do not fetch the line they overwrite. Addresses and bytes are multiples
 * of 16. */
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
    uint64_t head, each;          /* bytes of all threads' records; of one buffer */
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
    int sorted;

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
        t->progress = a->progress;
    }

    switch (a->width * 16 + a->row_bytes) {
    case 0x044: sorted = sort_k4_r4(w, pool); break;
    case 0x048: sorted = sort_k4_r8(w, pool); break;
    case 0x084: sorted = sort_k8_r4(w, pool); break;
    case 0x088: sorted = sort_k8_r8(w, pool); break;
    case 0x104: sorted = sort_k16_r4(w, pool); break;
    default:    sorted = sort_k16_r8(w, pool); break;
    }
    sx_release(w);
    st = sx_progress_status(a->progress, err);
    if (st != SX_OK)
        return st;
    return sorted ? SX_OK
                  : sx_fail(err, SX_EINVAL, "sx_build: keys changed while they were sorted; "
                            "they must stay as they are until it returns");
}

/* ---- neighbours ----------------------------------------------------------- */

typedef struct {
    uint32_t width;
    uint64_t n;
    const void *keys;
    const void *from;             /* keys are copied from there; NULL: they are here */
    unsigned parts;
    _Atomic uint64_t first;
    sx_progress *progress;
} neighbour_work;

/* The first i in [i, e) whose key is above the next one, or e. */
#define NEIGHBOURS(type)                                                    \
    static uint64_t descent_##type(const type *k, uint64_t i, uint64_t e)   \
    {                                                                       \
        while (i < e && k[i] <= k[i + 1])                                   \
            i++;                                                            \
        return i;                                                           \
    }
NEIGHBOURS(sx_key4)
NEIGHBOURS(sx_key8)
NEIGHBOURS(sx_key16)

static uint64_t descent(const neighbour_work *w, uint64_t i, uint64_t e)
{
    return w->width == 4   ? descent_sx_key4(w->keys, i, e)
           : w->width == 8 ? descent_sx_key8(w->keys, i, e)
                           : descent_sx_key16(w->keys, i, e);
}

static void found(neighbour_work *w, uint64_t i)
{
    uint64_t seen = atomic_load(&w->first);

    while (i < seen && !atomic_compare_exchange_weak(&w->first, &seen, i))
        ;
}

static uint64_t neighbour_begin(const neighbour_work *w, unsigned part)
{
    return part == w->parts ? w->n : w->n / w->parts * part;
}

#define COPY_KEYS 1024u           /* keys of a piece, compared while they are in L1 */

/* Copies keys piece by piece, and compares them in the copy. The caller compares the keys
 * on both sides of a seam between parts, when both parts are done. */
static void part_ascending(void *work, unsigned part)
{
    neighbour_work *w = work;
    uint64_t i = neighbour_begin(w, part), e = neighbour_begin(w, part + 1);
    uint64_t before = i;          /* the first key not compared with its next */
    uint64_t n = e - i;

    if (sx_progress_stopped(w->progress))
        return;
    while (i < e && atomic_load_explicit(&w->first, memory_order_relaxed) == w->n) {
        uint64_t m = e - i < COPY_KEYS ? e - i : COPY_KEYS;
        if (w->from)
            memcpy((unsigned char *)w->keys + i * w->width,
                   (const unsigned char *)w->from + i * w->width, m * w->width);
        i += m;
        if (descent(w, before, i - 1) < i - 1)
            found(w, before);
        before = i - 1;
    }
    sx_progress_add(w->progress, n);
}

static neighbour_work neighbours(uint32_t width, uint64_t n, const void *keys,
                                 sx_progress *progress)
{
    return (neighbour_work){.width = width, .n = n, .keys = keys, .progress = progress,
                            .parts = n < 1u << 16 ? 1 : 64, .first = n};
}

int sx_take_ascending(sx_pool *pool, unsigned threads, uint32_t width, uint64_t n,
                      void *keys, const void *from, sx_progress *progress)
{
    neighbour_work w = neighbours(width, n, keys, progress);

    w.from = from == keys ? NULL : from;
    sx_pool_run(pool, threads, w.parts, part_ascending, &w);
    if (atomic_load(&w.first) < n || sx_progress_stopped(progress))
        return 0;
    for (unsigned part = 1; part < w.parts; part++) {
        uint64_t i = neighbour_begin(&w, part);
        if (descent(&w, i - 1, i) < i)
            return 0;
    }
    return 1;
}
