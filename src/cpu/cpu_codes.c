/* cpu_codes.c - strings become codes (keys/strings.h), 64 at a time:
 *
 *     1. walks go down the tree of prefixes together, a level a round, so that their reads overlap
 *     2. the tails behind their groups are coded, with AVX-512 eight at once
 *
 * How far down a string goes, and where its code ends, is at random. A branch on that would be foretold
 * wrongly for every string. So each is put into the list of the next round, which grows by 1 or by 0. What
 * is rare has branches, and is left to sx_code_step() and sx_string_tail(), which say what a code
 * is. */
#include "cpu/cpu_strings.h"

#include "family/generic/groups.h"
#include "family/generic/simd.h"

#define WALKS 64u                 /* that go down together: bits of a word */
#define LONG 32u                  /* strings of more bytes go by so fast that those which are ... */
#define AHEAD 3072u               /* ... so far behind in their column are asked for */

typedef struct {
    const unsigned char *q[WALKS];
    uint64_t length[WALKS];
    uint64_t at[WALKS];           /* bytes that are behind it; in the end its tail begins there */
    uint64_t code[WALKS];
    uint32_t cell[WALKS];
    const unsigned char *begin, *end;     /* the bytes of the column */
} walks;

static inline uint64_t word_at(const unsigned char *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof x);
    return x;
}

/* Whether q goes on with m bytes, as many of which it has. Nearly always these are 16 at most, and as
 * likely none as any: a vector ends with them, which may begin before. That is in the column, and in
 * the section, as forks and cells are before the pool. */
static inline int goes_on(const unsigned char *begin, const unsigned char *q,
                          const unsigned char *skip, uint32_t m)
{
#ifdef SX_HAVE_X86
    if (q - begin >= 16) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(q + m - 16));
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(skip + m - 16));
        uint32_t equal = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)), last = m < 16 ? m : 16;
        if ((equal | 0xffffu >> last) != 0xffff)
            return 0;
        return m <= 16 || memcmp(q, skip, m - 16) == 0;
    }
#else
    (void)begin;
#endif
    return memcmp(q, skip, m) == 0;
}

/* The same of many bytes, which are nearly always the same. */
static inline int goes_on_long(const unsigned char *q, const unsigned char *skip, uint64_t m)
{
    uint64_t x = 0;

    if (m < 8)
        return memcmp(q, skip, m) == 0;
    for (uint64_t i = 0; i < m - 8; i += 8)
        x |= word_at(q + i) ^ word_at(skip + i);
    return (x | (word_at(q + m - 8) ^ word_at(skip + m - 8))) == 0;
}

/* Where a tree is: walks write, so that a compiler would look it up in the strings again each time. */
typedef struct {
    const sx_fork *forks;
    const sx_cell *cells;
    const unsigned char *pool;
    uint32_t last_fork, last_cell, pool_bytes;
} tree;

static inline tree tree_of(const sx_strings *s)
{
    return (tree){sx_fork_at(s, 0), sx_cell_at(s, 0), s->groups + sx_groups_bytes(s) - s->pool,
                  s->forks - 1, s->cells - 1, s->pool};
}

/* A step of string i, if there are forks. Returns 1 if it went down one, and 0 if it is at a group,
 * behind the bytes that this skips; -1: it leaves the way of nearly all strings, and is where it
 * was. */
static inline int step(const tree *t, walks *w, const unsigned char *column, unsigned i)
{
    const unsigned char *q = w->q[i];
    uint32_t cell = w->cell[i], forks, number, begin, skip, byte, child;
    const sx_cell *c = t->cells + (cell < t->last_cell ? cell : t->last_cell);
    uint64_t from = w->at[i], length = w->length[i], at, bits, bit;
    const sx_fork *f;

    forks = c->to / SX_TO_FORK;
    number = forks ? c->to & ~SX_TO_FORK : 0;
    f = t->forks + (number < t->last_fork ? number : t->last_fork);
    begin = c->skip_at < t->pool_bytes ? c->skip_at : t->pool_bytes;
    skip = c->skip < t->pool_bytes - begin ? c->skip : t->pool_bytes - begin;
    at = from + skip;
    if (at + forks > length || length == 0 || !goes_on(column, q + from, t->pool + begin, skip))
        return -1;
    byte = q[at < length ? at : 0];       /* a group needs none */
    bits = f->bits[byte >> 6];
    bit = (uint64_t)1 << (byte & 63);
    child = f->child + f->before[byte >> 6] + sx_popcount(bits & (bit - 1));
    if (forks & !(bits & bit))
        return -1;
    w->at[i] = at + forks;
    w->cell[i] = forks ? child : cell;
    __builtin_prefetch(t->cells + (child < t->last_cell ? child : t->last_cell));
    return (int)forks;
}

/* Has what a cell refers to on its way. */
static inline void ask_cell(const tree *t, uint32_t cell)
{
    const sx_cell *c = t->cells + (cell < t->last_cell ? cell : t->last_cell);
    uint32_t number = c->to & ~SX_TO_FORK;
    const sx_fork *f = t->forks + (number < t->last_fork ? number : t->last_fork);

    __builtin_prefetch(f);
    __builtin_prefetch((const unsigned char *)(f + 1) - 1);
    __builtin_prefetch(t->pool + (c->skip_at < t->pool_bytes ? c->skip_at : 0));
}

/* Takes a walk that left the way to its end, or a step further. */
static int step_aside(const sx_strings *s, walks *w, unsigned i, uint64_t *same)
{
    sx_code_walk one = {w->at[i], 0, 0, w->cell[i]};
    int went = !sx_code_step(s, w->q[i], w->length[i], &one);

    w->at[i] = one.at;
    w->cell[i] = one.cell;
    w->code[i] = one.code;
    same[i] = one.same;
    return went;
}

/* The first step of all walks, which are at the root: what it skips is the same for all, and often
 * long. Those that leave the way of nearly all strings stay there. */
static inline void leave_root(const tree *t, walks *w, unsigned m)
{
    const sx_cell *c = t->cells;
    uint32_t number = c->to & ~SX_TO_FORK;
    const sx_fork *f = t->forks + (number < t->last_fork ? number : t->last_fork);
    uint32_t skip = c->skip < t->pool_bytes ? c->skip : t->pool_bytes;
    const unsigned char *bytes = t->pool + (c->skip_at < t->pool_bytes - skip
                                                ? c->skip_at : t->pool_bytes - skip);

    for (unsigned i = 0; i < m && c->to >= SX_TO_FORK; i++) {
        const unsigned char *q = w->q[i];
        uint64_t bits, bit;
        uint32_t child;
        if (w->length[i] <= skip || !goes_on_long(q, bytes, skip))
            continue;
        bits = f->bits[q[skip] >> 6];
        bit = (uint64_t)1 << (q[skip] & 63);
        if (!(bits & bit))
            continue;
        child = f->child + f->before[q[skip] >> 6] + sx_popcount(bits & (bit - 1));
        w->at[i] = skip + 1;
        w->cell[i] = child;
        __builtin_prefetch(t->cells + (child < t->last_cell ? child : t->last_cell));
    }
}

/* Takes all walks down. Returns those that are at a group, a bit for each. The codes of others are
 * known. */
static inline uint64_t go_down(const sx_strings *s, walks *w, unsigned m, uint64_t *same)
{
    unsigned char on[WALKS];
    const unsigned char *column = w->begin;
    const tree t = tree_of(s);
    uint64_t grouped = 0;

    leave_root(&t, w, m);
    for (unsigned i = 0; i < m; i++)
        on[i] = (unsigned char)i;
    for (unsigned left = m, kept; left > 0; left = kept) {
        kept = 0;
        for (unsigned k = 0; k < left; k++)
            ask_cell(&t, w->cell[on[k]]);
        for (unsigned k = 0; k < left; k++) {
            unsigned i = on[k];
            int went = step(&t, w, column, i);
            uint64_t there = went == 0;
            if (went < 0)
                went = step_aside(s, w, i, same);
            grouped |= there << i;
            on[kept] = (unsigned char)i;
            kept += (unsigned)went;
        }
    }
    return grouped;
}

/* The same in a tree without forks. */
static inline uint64_t go_to_one(const sx_strings *s, walks *w, unsigned m, uint64_t *same)
{
    const sx_cell *c = sx_cell_at(s, 0);
    const unsigned char *pool = s->groups + sx_groups_bytes(s) - s->pool;
    uint64_t skip = c->skip < s->pool ? c->skip : s->pool, grouped = 0;

    for (unsigned i = 0; i < m; i++)
        if (skip == 0 || (w->length[i] >= skip && memcmp(w->q[i], pool, skip) == 0)) {
            w->at[i] = skip;
            grouped |= (uint64_t)1 << i;
        } else {
            (void)step_aside(s, w, i, same);
        }
    return grouped;
}

/* ---- tails -------------------------------------------------------------------------------- */

static inline uint64_t group_code(const sx_strings *s, const walks *w, unsigned i)
{
    return sx_group_code(s, sx_cell_at(s, w->cell[i])->to);
}

/* The tails of these strings, one by one. */
static inline void take_tails(const sx_strings *s, walks *w, uint64_t grouped, uint64_t *same)
{
    for (; grouped; grouped &= grouped - 1) {
        unsigned i = (unsigned)__builtin_ctzll(grouped);
        w->code[i] = group_code(s, w, i) |
                     sx_string_tail(s, w->q[i], w->length[i], w->at[i], &same[i]);
    }
}

#ifdef SX_HAVE_X86
#define LANES 8u                  /* strings of a vector */

typedef struct {
    const unsigned char *p[WALKS];
    uint8_t n[WALKS];             /* bytes that codes may stand for */
    uint16_t row[WALKS];          /* of shares, for the first byte */
} tails;

typedef struct {
    __m512i digits[8];
    __m512i most, row;            /* 16 bits each */
    const uint16_t *shares;
} tables;

/* What `digits` says of bytes, each in 16 bits. */
SX_TARGET_avx512 SX_INLINE __m512i digits_of(const tables *t, __m512i bytes)
{
    __mmask32 second = _mm512_test_epi16_mask(bytes, _mm512_set1_epi16(64));
    __mmask32 upper = _mm512_test_epi16_mask(bytes, _mm512_set1_epi16(128));
    __m512i a = _mm512_permutex2var_epi16(t->digits[0], bytes, t->digits[1]);
    __m512i b = _mm512_permutex2var_epi16(t->digits[2], bytes, t->digits[3]);
    __m512i c = _mm512_permutex2var_epi16(t->digits[4], bytes, t->digits[5]);
    __m512i d = _mm512_permutex2var_epi16(t->digits[6], bytes, t->digits[7]);

    return _mm512_mask_blend_epi16(upper, _mm512_mask_blend_epi16(second, a, b),
                                   _mm512_mask_blend_epi16(second, c, d));
}

/* 8 bytes of each. */
SX_TARGET_avx512 SX_INLINE __m512i bytes_of(const unsigned char *const *p, unsigned done)
{
    return _mm512_set_epi64((long long)word_at(p[7] + done), (long long)word_at(p[6] + done),
                            (long long)word_at(p[5] + done), (long long)word_at(p[4] + done),
                            (long long)word_at(p[3] + done), (long long)word_at(p[2] + done),
                            (long long)word_at(p[1] + done), (long long)word_at(p[0] + done));
}

static inline int two(const tables *t, uint16_t at)
{
    int both;

    memcpy(&both, t->shares + at, sizeof both);
    return both;
}

/* Where shares begin, and where the next ones do, for each: of every fourth number. */
SX_TARGET_avx512 SX_INLINE __m512i shares_at(const tables *t, const uint16_t *at)
{
    __m256i all = _mm256_set_epi32(two(t, at[28]), two(t, at[24]), two(t, at[20]), two(t, at[16]),
                                   two(t, at[12]), two(t, at[8]), two(t, at[4]), two(t, at[0]));

    return _mm512_cvtepu32_epi64(all);
}

/* The lanes of a mask that has 4 bits for each. */
static inline unsigned lanes_of(uint32_t words)
{
    unsigned some = 0;

    for (unsigned i = 0; i < LANES; i++)
        some |= (unsigned)((words >> 4 * i & 15) != 0) << i;
    return some;
}

/* Ranges are narrowed by a byte, in the lanes that have one. */
typedef struct {
    __m512i x, range;
    __m512i wide;                 /* bytes that narrowed ranges of SX_SHARES numbers or more */
} coding;

SX_TARGET_avx512 SX_INLINE void narrow_by(coding *c, __mmask8 own, __m512i both, int narrow)
{
    const __m512i one = _mm512_set1_epi64(1);
    __m512i first = _mm512_and_si512(both, _mm512_set1_epi64(0xffff));
    __m512i end = _mm512_srli_epi64(both, 16), part = _mm512_srli_epi64(c->range, 12);
    __mmask8 large = _mm512_test_epi64_mask(part, part), few;

    c->wide = _mm512_mask_add_epi64(c->wide, own & large, c->wide, one);
    if (narrow) {
        __m512i from;
        few = _mm512_mask_cmpgt_epu64_mask(own, c->range, one);
        from = _mm512_srli_epi64(_mm512_mul_epu32(c->range, first), 12);
        c->x = _mm512_mask_add_epi64(c->x, few, c->x, from);
        c->range = _mm512_mask_sub_epi64(
            c->range, few, _mm512_srli_epi64(_mm512_mul_epu32(c->range, end), 12), from);
    } else {                      /* a small range has one more byte, and becomes 0 */
        few = own & (__mmask8)~large;
        c->x = _mm512_mask_add_epi64(c->x, own, c->x, _mm512_mullo_epi64(part, first));
        c->x = _mm512_mask_add_epi64(c->x, few, c->x,
                                     _mm512_srli_epi64(_mm512_mul_epu32(c->range, first), 12));
        c->range = _mm512_mask_mullo_epi64(c->range, own, part, _mm512_sub_epi64(end, first));
    }
}

/* Codes tails in the lanes, 8 bytes at a time until nothing is left of any. Returns the lanes that
 * have a byte which does not occur.
 *
 *     bytes of a lane    |b0|b1|b2|b3|b4|b5|b6|b7|
 *     even, odd          | b0  | b2  | b4  | b6  |      | b1  | b3  | b5  | b7  |
 *
 * Their digits, and with these where their shares are, are found at once, in 16 bits each: there are
 * fewer shares than that. */
SX_TARGET_avx512 SX_INLINE unsigned code_lanes(const tables *t, const tails *a, unsigned from,
                                               int narrow, coding *c)
{
    const __m512i even_at = _mm512_set1_epi64(0x0006000400020000), ones = _mm512_set1_epi16(1);
    const __m512i spread = _mm512_broadcast_i32x4(
        _mm_set_epi8(9, 8, 9, 8, 9, 8, 9, 8, 1, 0, 1, 0, 1, 0, 1, 0));
    __m512i left = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)(a->n + from)));
    __m512i row = _mm512_cvtepu16_epi64(_mm_loadu_si128((const void *)(a->row + from)));
    _Alignas(64) uint16_t at[2][32];
    unsigned missing = 0;

    for (unsigned done = 0; done < SX_CHARS_MOST; done += 8) {
        __m512i bytes = bytes_of(a->p + from, done), count = _mm512_shuffle_epi8(left, spread);
        __m512i even = digits_of(t, _mm512_and_si512(bytes, _mm512_set1_epi16(0xff)));
        __m512i odd = digits_of(t, _mm512_srli_epi16(bytes, 8));
        uint32_t none = _mm512_mask_testn_epi16_mask(_mm512_cmpgt_epi16_mask(count, even_at), even,
                                                     ones);
        __m512i odd_rows;
        count = _mm512_subs_epu16(count, ones);
        none |= _mm512_mask_testn_epi16_mask(_mm512_cmpgt_epi16_mask(count, even_at), odd, ones);
        if (none)
            missing |= lanes_of(none);
        even = _mm512_min_epu16(_mm512_srli_epi16(even, 1), t->most);
        odd = _mm512_min_epu16(_mm512_srli_epi16(odd, 1), t->most);
        odd_rows = _mm512_mullo_epi16(odd, t->row);
        _mm512_store_si512(at[0], _mm512_add_epi16(even, _mm512_or_si512(
                                                             _mm512_slli_epi64(odd_rows, 16), row)));
        _mm512_store_si512(at[1], _mm512_add_epi16(odd, _mm512_mullo_epi16(even, t->row)));
        row = _mm512_srli_epi64(odd_rows, 48);
#pragma GCC unroll 8
        for (unsigned k = 0; k < 8; k++)
            narrow_by(c, _mm512_cmpgt_epi64_mask(left, _mm512_set1_epi64(k)),
                      shares_at(t, at[k & 1] + k / 2), narrow);
        left = _mm512_maskz_sub_epi64(_mm512_cmpgt_epu64_mask(c->range, _mm512_set1_epi64(narrow)),
                                      left, _mm512_set1_epi64(8));
        if (!_mm512_cmpgt_epi64_mask(left, _mm512_setzero_si512()))
            break;
    }
    return missing;
}

/* Lanes need bytes that can be read. Returns the strings that have these. */
static inline uint64_t fill_lanes(const sx_strings *s, walks *w, uint64_t grouped, tails *a)
{
    static const unsigned char nothing[SX_CHARS_MOST];
    const uint16_t *digits = (const uint16_t *)(const void *)s->groups;
    uint32_t most = s->base - 1u, row = s->rows > 1 ? s->base + 1u : 0;
    uint32_t chars = s->chars < SX_CHARS_MOST ? s->chars : SX_CHARS_MOST;
    unsigned end = grouped ? WALKS - (unsigned)__builtin_clzll(grouped) / LANES * LANES : 0;
    uint64_t some = 0;

    for (unsigned i = 0; i < end; i++) {
        const unsigned char *p;
        uint64_t left;
        uint32_t before = 0;
        a->p[i] = nothing;
        a->n[i] = 0;
        a->row[i] = 0;
        if (!(grouped >> i & 1))
            continue;
        p = w->q[i] + w->at[i];
        left = w->length[i] - w->at[i];
        if (w->end - p < (ptrdiff_t)SX_CHARS_MOST)
            continue;
        if (w->at[i] > 0)
            before = digits[p[-1]] >> 1;
        a->p[i] = p;
        a->n[i] = (uint8_t)(left < chars ? left : chars);
        a->row[i] = (uint16_t)((before < most ? before : most) * row);
        w->code[i] = group_code(s, w, i);
        some |= (uint64_t)1 << i;
    }
    return some;
}

/* The same as take_tails(), if there is a base. */
SX_TARGET_avx512 SX_INLINE void take_lanes(const sx_strings *s, walks *w, uint64_t grouped,
                                           uint64_t *same, int narrow)
{
    const uint16_t *digits = (const uint16_t *)(const void *)s->groups;
    const __m512i none = _mm512_setzero_si512();
    uint64_t all = s->bits ? (uint64_t)1 << (sx_tail_bits(s) & 63) : narrow ? UINT32_MAX : UINT64_MAX;
    tails a;
    uint64_t some = fill_lanes(s, w, grouped, &a);
    tables t;

    t.shares = digits + SX_DIGITS_BYTES / 2;
    t.most = _mm512_set1_epi16((short)(s->base - 1u));
    t.row = _mm512_set1_epi16((short)(s->rows > 1 ? s->base + 1u : 0));
    for (unsigned k = 0; k < 8; k++)
        t.digits[k] = _mm512_loadu_si512(digits + 32 * k);
    for (unsigned i = 0; i < WALKS && some >> i; i += LANES) {
        coding c = {none, _mm512_set1_epi64((long long)all), none};
        unsigned missing = code_lanes(&t, &a, i, narrow, &c);
        __mmask8 own = (__mmask8)(some >> i & ~missing), whole;
        __m512i at = _mm512_loadu_si512(w->at + i), code = _mm512_loadu_si512(w->code + i);
        __m512i left = _mm512_sub_epi64(_mm512_loadu_si512(w->length + i), at);
        whole = _mm512_cmplt_epu64_mask(left, _mm512_set1_epi64(s->chars)) &
                _mm512_cmpge_epu64_mask(c.range, _mm512_set1_epi64(SX_SHARES)) &
                (s->forks ? _mm512_cmpneq_epi64_mask(c.x, none) : 255);
        at = _mm512_mask_mov_epi64(_mm512_add_epi64(at, c.wide), whole,
                                   _mm512_set1_epi64(SX_SAME_WHOLE));
        _mm512_mask_storeu_epi64(w->code + i, own, _mm512_or_si512(code, c.x));
        _mm512_mask_storeu_epi64(same + i, own, at);
        some &= ~((uint64_t)missing << i);
    }
    take_tails(s, w, grouped & ~some, same);
}
#endif

/* ---- all of it ------------------------------------------------------------------------------ */

static inline uint64_t walk_all(const sx_strings *s, walks *w, const sx_asked *q, uint64_t at,
                                unsigned m, uint64_t *same)
{
    int ahead = !q->number && sx_slice_bytes(q->of, at, at + m) > (uint64_t)m * LONG;

    w->begin = q->of->data ? q->of->data : (const void *)"";
    w->end = w->begin + (q->of->data ? q->of->bytes : 0);
    for (unsigned i = 0; i < m; i++) {
        w->q[i] = sx_asked_string(q, at + i, &w->length[i]);
        __builtin_prefetch(w->q[i]);
        if (ahead) {              /* also what a string of a line or more goes on with */
            sx_ask_line(w->q[i], AHEAD);
            sx_ask_line(w->q[i], AHEAD + SX_LINE);
        }
        w->at[i] = 0;
        w->cell[i] = 0;
    }
    return s->forks ? go_down(s, w, m, same) : go_to_one(s, w, m, same);
}

static inline void put_codes(const sx_strings *s, const walks *w, unsigned m, void *codes)
{
    for (unsigned i = 0; i < m; i++)
        if (s->code_bytes == 8)
            ((uint64_t *)codes)[i] = w->code[i];
        else
            ((uint32_t *)codes)[i] = (uint32_t)w->code[i];
}

static void codes_scalar(const sx_strings *s, const sx_asked *q, uint64_t at, unsigned m, void *codes,
                         uint64_t *same)
{
    walks w;

    take_tails(s, &w, walk_all(s, &w, q, at, m, same), same);
    put_codes(s, &w, m, codes);
}

#ifdef SX_HAVE_X86
/* Counting bits is an instruction that not every processor has. Others are not for this: compilers put
 * a walk's numbers into vectors where they can. */
static __attribute__((flatten, noinline, target("popcnt,bmi,bmi2"))) uint64_t
walk_counting(const sx_strings *s, walks *w, const sx_asked *q, uint64_t at, unsigned m,
              uint64_t *same)
{
    return walk_all(s, w, q, at, m, same);
}

static __attribute__((flatten, target("popcnt,bmi,bmi2"))) void
codes_avx2(const sx_strings *s, const sx_asked *q, uint64_t at, unsigned m, void *codes,
           uint64_t *same)
{
    walks w;

    take_tails(s, &w, walk_all(s, &w, q, at, m, same), same);
    put_codes(s, &w, m, codes);
}

__attribute__((flatten)) SX_TARGET_avx512 static void codes_avx512(const sx_strings *s,
                                                                   const sx_asked *q, uint64_t at,
                                                                   unsigned m, void *codes,
                                                                   uint64_t *same)
{
    walks w;
    uint64_t grouped = walk_counting(s, &w, q, at, m, same);

    if (!s->base)
        take_tails(s, &w, grouped, same);
    else if (s->code_bytes == 4)
        take_lanes(s, &w, grouped, same, 1);
    else
        take_lanes(s, &w, grouped, same, 0);
    put_codes(s, &w, m, codes);
}
#endif

typedef void codes_fn(const sx_strings *s, const sx_asked *q, uint64_t at, unsigned m, void *codes,
                      uint64_t *same);
static codes_fn *const codes_of[SX_SIMD_LEVELS] = {
    codes_scalar,
#ifdef SX_HAVE_X86
    codes_avx2, codes_avx512,
#endif
};

void sx_cpu_codes(const sx_cpu *cpu, const sx_view *v, const sx_asked *q, uint64_t at, unsigned m,
                  void *codes, uint64_t *same)
{
    for (unsigned i = 0; i < m; i += WALKS) {
        unsigned some = m - i < WALKS ? m - i : WALKS;
        unsigned char *to = (unsigned char *)codes + i * v->width;
        if (v->n == 0) {
            memset(to, 0, some * v->width);
            memset(same + i, 0, some * sizeof *same);
        } else {
            codes_of[cpu->level](&v->strings, q, at + i, some, to, same + i);
        }
    }
}

typedef struct {
    const sx_cpu *cpu;
    const sx_view *v;
    sx_asked q;
    sx_text_codes to;
} code_work;

static void code_share(void *work, uint64_t first, uint64_t end)
{
    const code_work *w = work;

    for (uint64_t at = first; at < end; at += SX_CHUNK) {
        unsigned m = end - at < SX_CHUNK ? (unsigned)(end - at) : SX_CHUNK;
        sx_text_codes to = sx_text_codes_from(&w->to, at, w->v->width);
        sx_cpu_codes(w->cpu, w->v, &w->q, at, m, to.code, to.same);
    }
}

void sx_cpu_text_codes(void *self, const sx_views *views, const sx_slice *q, uint64_t n,
                       uint32_t threads, const sx_text_codes *to)
{
    code_work w = {self, sx_one_view(views), {q, NULL}, *to};

    sx_cpu_share(self, threads, NULL, n, SX_CHUNK, code_share, &w);
}
