/* sort_strings.c - first all strings by 8 bytes, as numbers are sorted; then each run of strings
 * that these leave equal by itself.
 *
 *     1. Strip what all strings share, take the next 8 bytes of each as a number (its word), and
 *        sort words with positions by sx_sort().
 *     2. A run of equal words: strings that end inside of the word come first, the shorter ones
 *        first. The others share the word: strip what they share behind it, and take the next one.
 *     3. A run of many strings is dealt out by the bytes of their words, one after the other, until
 *        runs are small. Small runs are merged, by words and then by the bytes behind them.
 *
 * Runs wait in a list instead of a recursion, so that no strings are too long for a stack. */
#include "sort/sort_strings.h"

#include "base/alloc.h"
#include "keys/strings.h"
#include "sort/sort.h"

#define SMALL 4096u               /* strings that are merged */
#define TINY 12u                  /* strings that are inserted */
#define PARTS 64u
#define FEW (1u << 14)            /* strings that are one part */

/* Strings [a, b) share `depth` bytes, and then `used` bytes of their words. */
typedef struct {
    uint64_t a, b, depth;
    uint32_t used;
} run;

typedef struct {
    const sx_string_arrays *s;
    run *list;                    /* that wait */
    uint64_t waiting, space;
    sx_status st;
    sx_err err;
} sorter;

typedef struct {
    const sx_string_arrays *s;
    uint64_t depth;
    unsigned parts;
    uint64_t begin[PARTS + 1];
    sorter part[PARTS];
} all_parts;

static uint64_t position(const sx_string_arrays *s, unsigned which, uint64_t i)
{
    return s->row_bytes == 8 ? ((const uint64_t *)s->rows[which])[i]
                             : ((const uint32_t *)s->rows[which])[i];
}

static void set_position(const sx_string_arrays *s, unsigned which, uint64_t i, uint64_t x)
{
    if (s->row_bytes == 8)
        ((uint64_t *)s->rows[which])[i] = x;
    else
        ((uint32_t *)s->rows[which])[i] = (uint32_t)x;
}

static uint64_t *words(const sx_string_arrays *s, unsigned which)
{
    return s->keys[which];
}

/* Word and position i go to j of the other arrays. */
static void move(const sx_string_arrays *s, unsigned from, uint64_t i, unsigned to, uint64_t j)
{
    words(s, to)[j] = words(s, from)[i];
    set_position(s, to, j, position(s, from, i));
}

static const unsigned char *string_of(const sx_string_arrays *s, uint64_t i, uint64_t *length)
{
    uint64_t p = position(s, 0, i);

    *length = s->begin[p + 1] - s->begin[p];
    return s->data + s->begin[p];
}

/* Bytes that the strings at two places share from `from` on, which both have, up to `most`. */
static uint64_t shared(const unsigned char *a, const unsigned char *b, uint64_t from, uint64_t most)
{
    uint64_t i = 0;

    while (i < most && a[from + i] == b[from + i])
        i++;
    return i;
}

/* What strings [a, b) share from `from` on, which all have. */
static uint64_t shared_by_all(const sx_string_arrays *s, uint64_t a, uint64_t b, uint64_t from)
{
    uint64_t length, most;
    const unsigned char *first = string_of(s, a, &length);

    most = length - from;
    for (uint64_t i = a + 1; i < b && most > 0; i++) {
        const unsigned char *p = string_of(s, i, &length);
        most = shared(first, p, from, most < length - from ? most : length - from);
    }
    return most;
}

static void take_words(const sx_string_arrays *s, uint64_t a, uint64_t b, uint64_t depth)
{
    for (uint64_t i = a; i < b; i++) {
        uint64_t length;
        const unsigned char *p = string_of(s, i, &length);
        words(s, 0)[i] = sx_string_word(p, length, depth < length ? depth : length);
    }
}

/* ---- few strings ------------------------------------------------------------------- */

/* Whether string j of arrays `y` comes before string i of arrays `x`: their words are from `depth`
 * on. */
static int comes_before(const sx_string_arrays *s, unsigned y, uint64_t j, unsigned x, uint64_t i,
                        uint64_t depth)
{
    uint64_t p, q, p_length, q_length;

    if (words(s, y)[j] != words(s, x)[i])
        return words(s, y)[j] < words(s, x)[i];
    p = position(s, y, j);
    q = position(s, x, i);
    p_length = s->begin[p + 1] - s->begin[p];
    q_length = s->begin[q + 1] - s->begin[q];
    if (p_length <= depth + 8 || q_length <= depth + 8)
        return p_length < q_length;
    return sx_bytes_order(s->data + s->begin[p] + depth + 8, p_length - depth - 8,
                          s->data + s->begin[q] + depth + 8, q_length - depth - 8) < 0;
}

/* Word and position i of the first arrays go to place `to` <= i, and others make room. */
static void insert(const sx_string_arrays *s, uint64_t i, uint64_t to)
{
    uint64_t word = words(s, 0)[i], at = position(s, 0, i);

    for (; i > to; i--)
        move(s, 0, i - 1, 0, i);
    words(s, 0)[to] = word;
    set_position(s, 0, to, at);
}

static void merge(const sx_string_arrays *s, uint64_t a, uint64_t b, uint64_t depth)
{
    uint64_t mid = a + (b - a) / 2, i = a, j = mid;

    if (b - a <= TINY) {
        for (i = a + 1; i < b; i++) {
            for (j = i; j > a && comes_before(s, 0, i, 0, j - 1, depth); j--)
                ;
            insert(s, i, j);
        }
        return;
    }
    merge(s, a, mid, depth);
    merge(s, mid, b, depth);
    if (!comes_before(s, 0, mid, 0, mid - 1, depth))
        return;
    for (uint64_t k = a; k < mid; k++)
        move(s, 0, k, 1, k);
    for (uint64_t to = a; i < mid; to++) {        /* the left half waits in the other arrays */
        if (j < b && comes_before(s, 0, j, 1, i, depth))
            move(s, 0, j++, 0, to);
        else
            move(s, 1, i++, 0, to);
    }
}

/* ---- many strings -------------------------------------------------------------------- */

static void push(sorter *w, run r)
{
    if (r.b - r.a < 2 || w->st != SX_OK)
        return;
    if (w->waiting == w->space) {
        uint64_t space = w->space ? 2 * w->space : 256;
        void *list;
        w->st = sx_alloc_array(&list, space, sizeof(run), "sorting strings", &w->err);
        if (w->st != SX_OK)
            return;
        if (w->waiting)
            memcpy(list, w->list, w->waiting * sizeof(run));
        sx_release(w->list);
        w->list = list;
        w->space = space;
    }
    w->list[w->waiting++] = r;
}

/* Deals strings out by one byte of their words. Returns 0 if all have the same. */
static int deal(sorter *w, const run *r)
{
    const sx_string_arrays *s = w->s;
    unsigned shift = 56 - 8 * r->used;
    uint64_t count[257] = {0}, begin;

    for (uint64_t i = r->a; i < r->b; i++)
        count[(words(s, 0)[i] >> shift & 255) + 1]++;
    for (unsigned d = 1; d <= 256; d++)
        if (count[d] == r->b - r->a)
            return 0;
    count[0] = r->a;
    for (unsigned d = 1; d <= 256; d++)
        count[d] += count[d - 1];
    for (uint64_t i = r->a; i < r->b; i++)
        move(s, 0, i, 1, count[words(s, 0)[i] >> shift & 255]++);
    for (uint64_t i = r->a; i < r->b; i++)
        move(s, 1, i, 0, i);
    begin = r->a;
    for (unsigned d = 0; d < 256; d++) {          /* count[d] is where digit d ends now */
        push(w, (run){begin, count[d], r->depth, r->used + 1});
        begin = count[d];
    }
    return 1;
}

/* Strings that end inside of their words, or with them, come first, and are sorted. Returns how
 * many they are. The words are equal. */
static uint64_t put_ended_first(const sx_string_arrays *s, const run *r)
{
    uint64_t ended = 0, others = 0, length, least = UINT64_MAX, most = 0;

    for (uint64_t i = r->a; i < r->b; i++) {
        string_of(s, i, &length);
        if (length > r->depth + 8) {
            move(s, 0, i, 1, r->a + others++);
            continue;
        }
        least = length < least ? length : least;
        most = length > most ? length : most;
        move(s, 0, i, 0, r->a + ended++);
    }
    for (uint64_t i = 0; i < others && ended; i++)
        move(s, 1, r->a + i, 0, r->a + ended + i);
    if (least < most)
        merge(s, r->a, r->a + ended, r->depth);
    return ended;
}

static void sort_run(sorter *w, run r)
{
    const sx_string_arrays *s = w->s;

    if (r.b - r.a <= SMALL) {
        merge(s, r.a, r.b, r.depth);
        return;
    }
    for (; r.used < 8; r.used++)
        if (deal(w, &r))
            return;
    r.a += put_ended_first(s, &r);
    if (r.b - r.a < 2)
        return;
    r.depth += 8;
    r.depth += shared_by_all(s, r.a, r.b, r.depth);
    take_words(s, r.a, r.b, r.depth);
    r.used = 0;
    push(w, r);
}

static void sort_part(void *work, unsigned part)
{
    all_parts *all = work;
    sorter *w = &all->part[part];
    const sx_string_arrays *s = w->s;
    uint64_t end = all->begin[part + 1];

    for (uint64_t a = all->begin[part], b; a < end && w->st == SX_OK; a = b) {
        for (b = a + 1; b < end && words(s, 0)[b] == words(s, 0)[a]; b++)
            ;
        push(w, (run){a, b, all->depth, 8});
        while (w->waiting > 0 && w->st == SX_OK && !sx_progress_stopped(s->progress))
            sort_run(w, w->list[--w->waiting]);
        w->waiting = 0;
    }
    sx_release(w->list);
}

int sx_strings_ascend(const sx_string_arrays *s)
{
    for (uint64_t i = 1; i < s->n; i++)
        if (sx_bytes_order(s->data + s->begin[i - 1], s->begin[i] - s->begin[i - 1],
                           s->data + s->begin[i], s->begin[i + 1] - s->begin[i]) > 0)
            return 0;
    return 1;
}

sx_status sx_sort_strings(sx_pool *pool, unsigned threads, const sx_string_arrays *s, sx_err *err)
{
    sx_sort_arrays numbers = {.width = 8, .row_bytes = s->row_bytes, .n = s->n,
                              .in_keys = s->keys[0], .in_rows = s->rows[0],
                              .keys = {s->keys[0], s->keys[1]}, .rows = {s->rows[0], s->rows[1]},
                              .progress = s->progress};
    all_parts *all;
    sx_status st = sx_alloc_zero((void **)&all, sizeof *all, "sorting strings", err);

    if (st != SX_OK)
        return st;
    for (uint64_t i = 0; i < s->n; i++)
        set_position(s, 0, i, i);
    all->s = s;
    all->depth = shared_by_all(s, 0, s->n, 0);
    take_words(s, 0, s->n, all->depth);
    st = sx_sort(pool, threads, &numbers, err);
    all->parts = s->n < FEW ? 1 : PARTS;
    for (unsigned p = 0; p <= all->parts && st == SX_OK; p++) {
        uint64_t at = p == all->parts ? s->n : s->n / all->parts * p;
        while (at > 0 && at < s->n && words(s, 0)[at] == words(s, 0)[at - 1])
            at++;                 /* a run is in one part */
        all->begin[p] = at;
        if (p < all->parts)
            all->part[p].s = s;
    }
    if (st == SX_OK)
        sx_pool_run(pool, threads, all->parts, sort_part, all);
    for (unsigned p = 0; p < all->parts && st == SX_OK; p++) {
        st = all->part[p].st;
        if (st != SX_OK)
            *err = all->part[p].err;
    }
    sx_release(all);
    return st == SX_OK ? sx_progress_status(s->progress, err) : st;
}
