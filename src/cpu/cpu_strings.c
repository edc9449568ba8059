#include "cpu/cpu_strings.h"

#include "family/generic/groups.h"
#include "family/generic/simd.h"
#include "family/slots.h"
#include "keys/string_marks.h"

#define SETTLES 64u               /* that are settled together: their lines fit a core's first cache */

/* ---- from codes to strings ------------------------------------------------------------- */

static uint64_t code_at(const sx_view *v, uint64_t position)
{
    return sx_code_load(v->keys + sx_key_offset(v, sx_slot_of_rank(v, position)), v->width, 0);
}

/* Where strings with the code at position `from` end. Mostly that is the next one. */
static uint64_t run_end(const sx_view *v, uint64_t from)
{
    uint64_t code = code_at(v, from), step = 1, end;

    while (step < v->n - from && code_at(v, from + step) == code) {
        from += step;
        step *= 2;
    }
    end = step < v->n - from ? from + step : v->n;
    while (end - from > 1) {
        uint64_t half = from + (end - from) / 2;
        if (code_at(v, half) == code)
            from = half;
        else
            end = half;
    }
    return end;
}

static uint64_t middle(const sx_run_search *r)
{
    return r->lo + (r->hi - r->lo) / 2;
}

static uint64_t word_at(const unsigned char *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof x);
    return x;
}

/* Where the string that q is compared with is read first, `most` bytes at a time. */
static inline const unsigned char *first_read(const sx_run_search *r, uint64_t most)
{
    uint64_t last = r->own < most ? 0 : r->own - most;

    return r->p + (r->same < last ? r->same : last);
}

/* Takes the string it is compared with, and has the bytes on their way that order_from() will
 * read. */
static inline void ask_bytes(const sx_strings *s, sx_run_search *r)
{
    r->p = sx_string_at(s, r->at, &r->own);
    if (r->same < r->own) {
        __builtin_prefetch(first_read(r, 8));
        __builtin_prefetch(r->p + r->own - 1);
    }
}

/* The order of two strings that share their first `same` bytes, as far as they have these. Words
 * of 8 bytes are compared; the last one may begin in what is known to be the same. */
static inline int order_from(const unsigned char *a, uint64_t a_length, const unsigned char *b,
                             uint64_t b_length, uint64_t same)
{
    uint64_t m = a_length < b_length ? a_length : b_length, x, y;

    if (same < m && m < 8)
        return sx_bytes_order(a + same, a_length - same, b + same, b_length - same);
    for (; same < m; same += 8) {
        uint64_t at = same < m - 8 ? same : m - 8;
        x = word_at(a + at);
        y = word_at(b + at);
        if (x != y)
            return __builtin_bswap64(x) < __builtin_bswap64(y) ? -1 : 1;
    }
    return (a_length > b_length) - (a_length < b_length);
}

/* Whether a string and q, which share their first `same` bytes, are the same: of those that marks led to
 * nearly all are, and all that is left of them is mostly in two vectors. Returns 0 also if it is not. */
static inline int is_same(const sx_run_search *r)
{
#ifdef SX_HAVE_X86
    if (r->own == r->length && r->own >= 16 && r->same + 32 >= r->own) {
        uint64_t last = r->own - 16, first = r->same < last ? r->same : last;
        __m128i a = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(r->p + first)),
                                   _mm_loadu_si128((const __m128i *)(const void *)(r->q + first)));
        __m128i b = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(r->p + last)),
                                   _mm_loadu_si128((const __m128i *)(const void *)(r->q + last)));
        return _mm_movemask_epi8(_mm_and_si128(a, b)) == 0xffff;
    }
#else
    (void)r;
#endif
    return 0;
}

/* Has the code behind a bound on its way, which says whether a run has one string. */
static void ask_run(const sx_view *v, uint64_t position)
{
    if (position + 1 < v->n)
        __builtin_prefetch(v->keys + sx_key_offset(v, sx_slot_of_rank(v, position + 1)));
}

/* Goes on behind strings that are below q, up to where their runs end. Returns how many searches
 * are left. */
static unsigned go_on(const sx_settle *job, sx_run_search *all, unsigned left)
{
    unsigned kept = 0;

    for (unsigned k = 0; k < left; k++)
        ask_run(job->v, all[k].lo - 1);
    for (unsigned k = 0; k < left; k++) {
        sx_run_search *r = &all[k];
        r->hi = run_end(job->v, r->lo - 1);
        if (r->lo < r->hi)
            all[kept++] = *r;
        else
            job->position[r->i] = r->lo;
    }
    return kept;
}

/* All strings go on together, each by one comparison a round: offsets are here, so their bytes are
 * asked for, and they are compared when these are here. A run of one code is halved. alone: runs
 * count as one string until that is below q. */
static void search_runs(const sx_settle *job, sx_run_search *all, unsigned left, int alone)
{
    const sx_strings *s = &job->v->strings;

    for (; left > 0; alone = 0) {
        unsigned kept = 0;
        for (unsigned k = 0; k < left; k++) {
            all[k].at = middle(&all[k]);
            ask_bytes(s, &all[k]);
        }
        for (unsigned k = 0; k < left; k++) {
            sx_run_search *r = &all[k];
            int order = order_from(r->p, r->own, r->q, r->length, r->same);
            if (order < 0) {
                r->lo = r->at + 1;
            } else {
                r->hi = r->at;
                job->open[r->i] = order == 0;     /* the last one that is not below q counts */
            }
            if (alone ? order < 0 : r->lo < r->hi) {
                __builtin_prefetch(sx_offset_place(s, middle(r)));
                all[kept++] = *r;
            } else {
                job->position[r->i] = r->lo;
            }
        }
        left = alone ? go_on(job, all, kept) : kept;
    }
}

/* A search by marks ends where one comparison says. Returns 1 if strings are left that marks do not
 * tell apart. */
static int end_marked(const sx_settle *job, sx_run_search *r)
{
    const sx_strings *s = &job->v->strings;
    uint64_t *position = &job->position[r->i];
    int order = is_same(r) ? 0 : order_from(r->p, r->own, r->q, r->length, r->same);
    sx_mark_bits q, p;
    uint32_t bit;

    job->open[r->i] = order == 0;
    *position = r->at;
    if (order == 0)
        return 0;
    if (r->hi - r->lo == 1) {
        *position += order < 0;
        return 0;
    }
    q = sx_mark_bits_of(r->q, r->length, r->same);
    p = sx_mark_bits_of(r->p, r->own, r->same);
    bit = sx_mark_between(&q, &p);
    if (bit != SX_MARK_FAR) {
        *position = sx_mark_bound(s, r->lo, r->hi, r->at, bit, order < 0);
        return 0;
    }
    if (order > 0)
        return 0;
    r->lo = r->at + 1;
    r->hi = sx_mark_far_end(s, r->hi, r->at);
    *position = r->lo;
    return r->lo < r->hi;
}

/* Whether string i of a job is still searched for: its code is there, and others may have it. */
static int is_open(const sx_settle *job, unsigned i)
{
    int open = job->open[i] && job->position[i] < job->v->n;      /* in a damaged file it may be n */

    job->open[i] = open && job->same[i] == SX_SAME_WHOLE;     /* nothing is left to compare */
    return open && !job->open[i];
}

/* Finds the strings that marks lead to, and has their offsets on their way. */
void sx_marked_begin(const sx_settle *job, unsigned from, unsigned end, sx_marked *g)
{
    const sx_view *v = job->v;
    const sx_strings *s = &v->strings;
    const sx_slice *of = job->q.of;
    unsigned left = 0;

    for (unsigned i = from; i < end; i++) {
        sx_run_search *r = &g->all[left];
        uint64_t m;
        if (!is_open(job, i))
            continue;
        r->lo = job->position[i];
        r->same = job->same[i];
        r->i = i;
        r->q = sx_asked_string(&job->q, job->at + i, &r->length);
        m = sx_mark_run(s, v->n, r->lo, r->same);
        r->marked = m > 0;
        r->hi = r->lo + (m ? m : 1);
        __builtin_prefetch(s->marks + r->hi - 1);
        left++;
    }
    g->left = left;
    sx_cpu_nearest(job->cpu->level, s, v->n,
                   of->data ? (const unsigned char *)of->data + of->bytes : NULL, g->all, left);
    for (unsigned k = 0; k < left; k++) {
        uint64_t at = g->all[k].at;
        SX_ASK(sx_offset_place(s, at));
        SX_ASK(sx_offset_place(s, at + 1));
        if (job->rows)
            SX_ASK(v->rows + sx_row_offset(v, sx_slot_of_rank(v, at)));
    }
}

/* Takes the strings. */
void sx_marked_ask(const sx_settle *job, sx_marked *g)
{
    for (unsigned k = 0; k < g->left; k++) {
        sx_run_search *r = &g->all[k];
        r->p = sx_string_at(&job->v->strings, r->at, &r->own);
        if (r->same < r->own) {
            SX_ASK(first_read(r, 16));
            SX_ASK(r->p + r->own - 1);
        }
    }
}

/* Compares each string with that one. Runs that are left are halved. */
void sx_marked_end(const sx_settle *job, sx_marked *g)
{
    const sx_strings *s = &job->v->strings;
    unsigned kept = 0;

    for (unsigned k = 0; k < g->left; k++) {
        sx_run_search *r = &g->all[k];
        if (!r->marked)
            r->hi = run_end(job->v, r->lo);
        if (!r->marked || end_marked(job, r)) {
            g->all[kept] = *r;
            __builtin_prefetch(sx_offset_place(s, middle(&g->all[kept++])));
        }
    }
    search_runs(job, g->all, kept, 0);
}

/* While one group goes by its marks, the strings of the one before are on their way, and the one before
 * that is done and gives its place. */
static __attribute__((noinline)) void settle_marked(const sx_settle *job)
{
    unsigned groups = (job->m + SX_SEARCHES - 1) / SX_SEARCHES;
    sx_marked g[2];

    for (unsigned t = 0; t < groups + 3; t++) {
        unsigned from = t * SX_SEARCHES;
        if (t >= 3)
            sx_marked_end(job, &g[(t - 1) % 2]);
        if (t >= 2 && t < groups + 2)
            sx_marked_ask(job, &g[t % 2]);
        if (t >= 1 && t <= groups)
            sx_marked_begin(job, from - SX_SEARCHES, job->m < from ? job->m : from, &g[(t - 1) % 2]);
        if (t < groups)
            sx_cpu_settle_soon(job->v, job->position + from,
                               job->m - from < SX_SEARCHES ? job->m - from : SX_SEARCHES);
    }
}

/* Without forks few strings have the code of another one (string_groups.c), and where runs end is
 * asked only behind a string that is below q. */
static __attribute__((noinline)) void settle_some(const sx_settle *job, unsigned from, unsigned end)
{
    const sx_view *v = job->v;
    const sx_strings *s = &v->strings;
    sx_run_search all[SETTLES];
    unsigned left = 0;
    int alone = s->forks == 0;

    for (unsigned i = from; i < end; i++) {
        if (!is_open(job, i))
            continue;
        all[left].lo = job->position[i];
        all[left].same = job->same[i];
        all[left++].i = i;
        __builtin_prefetch(sx_offset_place(s, job->position[i]));
        if (!alone)
            ask_run(v, job->position[i]);
    }
    for (unsigned k = 0; k < left; k++) {
        sx_run_search *r = &all[k];
        r->hi = alone ? r->lo + 1 : run_end(v, r->lo);
        r->q = sx_asked_string(&job->q, job->at + r->i, &r->length);
        if (r->hi - r->lo > 1)
            __builtin_prefetch(sx_offset_place(s, middle(r)));
    }
    search_runs(job, all, left, alone);
}

void sx_cpu_settle_soon(const sx_view *v, const uint64_t *position, unsigned m)
{
    for (unsigned i = 0; i < m; i++) {
        sx_ask_line(v->strings.marks, position[i]);
        sx_ask_line(v->strings.marks, position[i] + SX_SEARCHES - 1);
    }
}

void sx_cpu_settle_right(const sx_settle *job)
{
    for (unsigned i = 0; i < job->m; i++)
        if (job->open[i]) {
            uint64_t length;
            const unsigned char *q = sx_asked_string(&job->q, job->at + i, &length);
            job->position[i] = sx_string_bound(&job->v->strings, job->v->n, job->position[i] + 1, q,
                                               length, 1);
        }
}

void sx_cpu_settle(const sx_settle *job, sx_side side)
{
    if (job->v->strings.marks)
        settle_marked(job);
    else
        for (unsigned i = 0; i < job->m; i += SETTLES)
            settle_some(job, i, job->m - i < SETTLES ? job->m : i + SETTLES);
    if (side == SX_RIGHT)
        sx_cpu_settle_right(job);
}

/* ---- strings as results ---------------------------------------------------------------- */

typedef struct {
    const sx_view *v;
    const sx_string_take *job;
} take_work;

/* Lengths that are asked for before they are read. */
#define AHEAD 16u

static const unsigned char *string_of(const take_work *w, uint64_t i, uint64_t *length)
{
    uint64_t at = w->job->at[i];

    if (i + AHEAD < w->job->n && w->job->at[i + AHEAD] < w->v->n)
        __builtin_prefetch(sx_offset_place(&w->v->strings, w->job->at[i + AHEAD]));
    *length = 0;
    return at < w->v->n ? sx_string_at(&w->v->strings, at, length) : NULL;
}

/* Each string goes where its offset says, if that is inside of the space. The offsets are the
 * caller's, who may change them. */
static void take_share(void *work, uint64_t first, uint64_t end)
{
    const take_work *w = work;
    const sx_slice *to = &w->job->to;

    for (uint64_t i = first; i < end; i++) {
        uint64_t length, from = sx_slice_offset(to, i);
        const unsigned char *p = string_of(w, i, &length);
        if (length > 0 && length <= to->bytes - from)
            memcpy((unsigned char *)to->data + from, p, length);
    }
}

static void put_offset(const sx_slice *to, uint64_t i, uint64_t x)
{
    if (to->offsets && to->each == 8)
        ((uint64_t *)to->offsets)[i] = x;
    else if (to->offsets)
        ((uint32_t *)to->offsets)[i] = (uint32_t)x;
}

sx_status sx_cpu_take_strings(void *self, const sx_views *views, const sx_string_take *job,
                              sx_err *err)
{
    take_work w = {sx_one_view(views), job};
    uint64_t sum = 0, length;

    if (job->to.data) {
        sx_cpu_share(self, job->how.threads, NULL, job->n, 256, take_share, &w);
        return sx_progress_status(job->how.progress, err);
    }
    for (uint64_t i = 0; i < job->n; i++) {
        put_offset(&job->to, i, sum);
        string_of(&w, i, &length);
        sum += length;
    }
    put_offset(&job->to, job->n, sum);
    *job->total = sum;
    return SX_OK;
}
