/* strings.h - strings as keys: a code of 4 or 8 bytes for each, which families search, and the
 * strings themselves, which settle what codes leave open.
 *
 * Strings are in ascending order, one behind the other:
 *
 *     offsets |base|d0|d1| ... |d27|base|d28| ...     lines: a base of 8 bytes, and 28 distances
 *                                                     from it, of 2 bytes, the first of them 0
 *     bytes   |string 0|string 1| ... |string n-1|
 *
 * The last distance says where string n-1 ends; what is behind it in its line is 0. If 28 strings
 * have 64 KiB or more, all offsets are one behind the other instead: of 4 bytes, or 8 if the strings
 * have 4 GiB or more.
 *
 * A code never descends: if s <= t, then code(s) <= code(t), for all strings there are. So all
 * strings whose codes are below that of q are below q, and q's place is at or behind the left
 * bound of its code, in the run of strings that have this code, or right behind that run. Comparing
 * strings says where; a run is mostly one string. That is right whatever the codes are, as long as
 * they never descend.
 *
 * The code of a string is the number of its group, then what is behind that which the group shares:
 *
 *     | group: `bits` bits | a place in a range of the other bits, which the next bytes narrow |
 *
 * The digit of a byte is its place among the bytes that occur in strings, from 1 on, and 0 behind
 * the string's end; there are `base` of them. Each digit has a share of the range, in order, about as
 * large as it is frequent behind the byte before (or anywhere, if there is one row of shares). A
 * byte's share is the range for the next byte. So it goes on up to the string's end, for `chars` bytes,
 * or as long as the range has SX_SHARES numbers or more. Of a smaller one, one more byte takes the
 * begin of its share; codes of 4 bytes, where these are a third of all bits, go on while there are
 * two numbers. The code is where the range begins. Frequent bytes take few bits of it: of
 * words, 14 letters fit where 8 bytes would. A byte that does not occur, as only queries have it, takes
 * the begin of the next one's share, and that is the end.
 *
 * Such codes never descend. Of s <= t in a group, take the first byte in which they differ. Up to
 * there the range was narrowed to the same. The digit of s is smaller, so its range ends where that
 * of t begins, or before, and a code is not above the end of any range it came by, even an empty one.
 * If it is the same digit, then s or t has a byte that does not occur, and ends there: if it is s, then
 * at the begin of what t goes on in; if it is t, then s has no byte with this digit, as that would be
 * above t's, and ends there, too.
 *
 * While a range has SX_SHARES numbers or more, no digit's part of it is empty. So strings with equal
 * codes have the same bytes up to there, which need not be compared (`same`). Bytes behind that are
 * not among these: a part of them may be empty, and begin where the next one does. If a string ends in
 * such a range, no other has its code (SX_SAME_WHOLE): a longer one has a digit above 0 there. But
 * strings that end at a fork have the code of a group without any byte behind it, so where there are
 * forks this is said only of codes with a tail above 0.
 *
 * Where nearly all bytes occur, base is 0, and the next bits of the string stand there as they are.
 *
 * Groups are consecutive strings with a common prefix, the leaves of a small tree over prefixes
 * (section `groups`; keys/string_groups.c makes it). It branches only where strings would have
 * equal codes, and only as far as 3/4 of a byte a key allow, so that a cache holds it:
 *
 *     cells   a place of the tree: `skip` bytes of the pool that all strings there share, then
 *             a group, or a fork
 *     forks   a branch by one byte: a bit for each byte that has a child. Children are consecutive
 *             cells; `group` and `end` are the first group below and the one behind the last
 *
 *     groups | digits, shares, if there is a base | fork 0 | fork 1 | ... | cell 0 | ... | pool |
 *              512 bytes, some rows                  48 bytes each           12 bytes each
 *
 * A row of shares has base + 1 numbers of 16 bits: where the share of each digit begins, out of
 * SX_SHARES, and the end. All rows together are filled up to a multiple of 8 bytes. Row d is for bytes
 * behind digit d, row 0 for the first byte of all.
 *
 * Cell 0 is the root. Numbers ascend level by level: children of fork i lie before those of fork
 * i + 1, forks are referred to in the order of their cells, and so are skipped bytes. A string that
 * leaves the tree between two children, or in skipped bytes, gets the first code of the group
 * behind that place. One that ends at a fork gets the first code below it.
 *
 * Nothing here trusts the bytes it reads: each number ends in a minimum, and each step down takes a
 * byte of the query.
 *
 * Written in the common subset of C11 and CUDA C++. */
#ifndef SX_STRINGS_H
#define SX_STRINGS_H

#include "keys/encode.h"

#include <string.h>

#ifndef SX_FN
#define SX_FN static inline
#endif

typedef struct {
    uint64_t bits[4];
    uint32_t child;               /* the first one's cell */
    uint32_t group, end;
    uint8_t before[4];            /* children before each word of bits */
} sx_fork;

#define SX_TO_FORK 0x80000000u
typedef struct {
    uint32_t to;                  /* a group; or a fork, with SX_TO_FORK */
    uint32_t skip, skip_at;       /* bytes, and where they are in the pool */
} sx_cell;

typedef struct {
    const unsigned char *offsets, *bytes, *groups, *marks;
    uint64_t size;                /* bytes of all strings */
    uint32_t forks, cells, pool;
    uint16_t offset_bytes;        /* 2: lines; 4, 8; 0: keys are not strings */
    uint16_t bits;                /* of a group's number */
    uint16_t base, rows;          /* of shares: 1, or as many as base */
    uint16_t chars;               /* bytes behind a group that codes stand for, at most */
    uint8_t marked;               /* there is a section `marks` (string_marks.h) */
    uint8_t code_bytes;           /* 4 or 8 */
} sx_strings;

/* digits[c] of byte c: 2 * digit + 1, or, if it does not occur, 2 * the next one's. */
#define SX_DIGITS_BYTES 512u

#ifndef SX_SHARES                 /* proofs have fewer */
#define SX_SHARES 4096u           /* all of them */
#endif
#define SX_CHARS_MOST 48u         /* bytes of a code */

#define SX_STRING_MOST UINT32_MAX /* bytes of one */

/* `same` of a string that is alone with its code. It is more than groups skip and codes stand for. */
#define SX_SAME_WHOLE 0x80000000u

/* Bytes of an offset, unless they are in lines. */
SX_FN uint32_t sx_offset_bytes(uint64_t size)
{
    return size > UINT32_MAX ? 8 : 4;
}

/* A line of offsets. */
#define SX_OFFSET_LINE 64u
#define SX_LINE_STRINGS 28u
#define SX_LINE_REACH 65536u      /* distances are below that */

/* What the section has, of n strings. */
SX_FN uint64_t sx_offsets_bytes(uint64_t n, uint32_t offset_bytes)
{
    return offset_bytes == 2 ? (n / SX_LINE_STRINGS + 1) * SX_OFFSET_LINE : (n + 1) * offset_bytes;
}

/* Digits and shares. */
SX_FN uint64_t sx_digits_bytes(uint32_t base, uint32_t rows)
{
    return base ? SX_DIGITS_BYTES + (rows * (base + 1) * 2 + 7) / 8 * (uint64_t)8 : 0;
}

SX_FN uint64_t sx_groups_bytes(const sx_strings *s)
{
    return sx_digits_bytes(s->base, s->rows) + s->forks * (uint64_t)sizeof(sx_fork) +
           s->cells * (uint64_t)sizeof(sx_cell) + s->pool;
}

SX_FN const unsigned char *sx_forks_of(const sx_strings *s)
{
    return s->groups + sx_digits_bytes(s->base, s->rows);
}

/* Bits that number so many groups. */
SX_FN uint32_t sx_group_bits(uint32_t groups)
{
    uint32_t bits = 0;

    while (bits < 32 && ((uint64_t)1 << bits) < groups)
        bits++;
    return bits;
}

SX_FN const sx_fork *sx_fork_at(const sx_strings *s, uint32_t i)
{
    return (const sx_fork *)(const void *)sx_forks_of(s) + (i < s->forks ? i : s->forks - 1);
}

SX_FN const sx_cell *sx_cell_at(const sx_strings *s, uint32_t i)
{
    return (const sx_cell *)(const void *)(sx_forks_of(s) + s->forks * (uint64_t)sizeof(sx_fork)) +
           (i < s->cells ? i : s->cells - 1);
}

/* The fork that a cell refers to; NULL: it is a group. */
SX_FN const sx_fork *sx_fork_of(const sx_strings *s, const sx_cell *c)
{
    return (c->to & SX_TO_FORK) && s->forks ? sx_fork_at(s, c->to & ~SX_TO_FORK) : NULL;
}

SX_FN uint32_t sx_popcount(uint64_t x)
{
#ifdef __CUDA_ARCH__
    return (uint32_t)__popcll(x);
#else
    return (uint32_t)__builtin_popcountll(x);
#endif
}

SX_FN uint32_t sx_fork_children(const sx_fork *f)
{
    return f->before[3] + sx_popcount(f->bits[3]);
}

/* The bits of a code that its group leaves. */
SX_FN uint32_t sx_tail_bits(const sx_strings *s)
{
    return 8u * s->code_bytes - s->bits;
}

/* The first code of a group; behind the last group, the largest code there is. */
SX_FN uint64_t sx_group_code(const sx_strings *s, uint32_t group)
{
    if (group >= s->cells - s->forks)
        return s->code_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    return s->bits ? (uint64_t)group << (sx_tail_bits(s) & 63) : 0;
}

/* A code as it is stored. */
SX_FN uint64_t sx_code_load(const void *codes, uint32_t code_bytes, uint64_t i)
{
    return code_bytes == 4 ? ((const uint32_t *)codes)[i] : ((const uint64_t *)codes)[i];
}

/* ---- 8 bytes at a time on a GPU, which reads only whole words --------------------------- */

/* Whether the words that the next 8 of `left` bytes are in end inside of these. They may begin
 * before p, as memory is given in whole words. */
SX_FN int sx_word_inside(const unsigned char *p, uint64_t left)
{
    uint32_t before = (uint32_t)((uintptr_t)p & 7);

    return before ? left + before >= 16 : left >= 8;
}

/* 8 bytes from p on, the first one lowest. */
SX_FN uint64_t sx_word_from(const unsigned char *p)
{
    uint32_t before = (uint32_t)((uintptr_t)p & 7);
    const uint64_t *w = (const uint64_t *)(const void *)(p - before);

    return before ? w[0] >> 8 * before | w[1] << (64 - 8 * before) : w[0];
}

/* The same for the first one highest. */
SX_FN uint64_t sx_word_swapped(uint64_t x)
{
#ifdef __CUDA_ARCH__
    return (uint64_t)__byte_perm((uint32_t)x, 0, 0x0123) << 32 |
           __byte_perm((uint32_t)(x >> 32), 0, 0x0123);
#else
    return __builtin_bswap64(x);
#endif
}

/* Of m bytes, those before the first that differs. */
SX_FN uint64_t sx_bytes_same(const unsigned char *a, const unsigned char *b, uint64_t m)
{
    uint64_t i = 0;

    while (sx_word_inside(a + i, m - i) && sx_word_inside(b + i, m - i) &&
           sx_word_from(a + i) == sx_word_from(b + i))
        i += 8;
    while (i < m && a[i] == b[i])
        i++;
    return i;
}

/* 8 bytes of a string from `at` <= length on, the first one highest, 0 behind its end. */
SX_FN uint64_t sx_string_word(const unsigned char *q, uint64_t length, uint64_t at)
{
    uint64_t x = 0, left = length - at;
#ifndef __CUDA_ARCH__
    if (length >= 8) {            /* the last 8 bytes, or 8 before them */
        memcpy(&x, q + (left >= 8 ? at : length - 8), 8);
        x = __builtin_bswap64(x);
        return left >= 8 ? x : left ? x << (64 - 8 * left) : 0;
    }
#else
    if (sx_word_inside(q + at, left))
        return sx_word_swapped(sx_word_from(q + at));
#endif
    for (uint32_t i = 0; i < 8; i++)
        x = x << 8 | (i < left ? q[at + i] : 0);
    return x;
}

/* Whether only q has its code, which is coded from `at` on, with a range left behind its last byte. */
SX_FN int sx_code_whole(const sx_strings *s, uint64_t length, uint64_t at, uint64_t tail,
                        uint64_t range)
{
    return length - at < s->chars && range >= SX_SHARES && (tail > 0 || s->forks == 0);
}

/* sx_string_tail() of codes of 4 bytes, if there is a base. */
SX_FN uint32_t sx_string_tail4(const sx_strings *s, const unsigned char *q, uint64_t length,
                               uint64_t at, uint64_t *same)
{
    const uint16_t *digits = (const uint16_t *)(const void *)s->groups;
    const uint16_t *shares = digits + SX_DIGITS_BYTES / 2;
    uint32_t most = s->base - 1u, row = s->rows > 1 ? s->base + 1u : 0;
    uint32_t x = 0, range = s->bits ? (uint32_t)1 << (sx_tail_bits(s) & 31) : UINT32_MAX;
    uint64_t end = length - at < s->chars ? length : at + s->chars, from = at;
    uint32_t before = at > 0 ? digits[q[at - 1]] >> 1 : 0;

    before = before < most ? before : most;
    for (*same = at; at < end && range > 1; at++) {
        uint32_t d = digits[q[at]], digit = d >> 1 < most ? d >> 1 : most;
        const uint16_t *share = shares + before * row + digit;
        uint32_t first = (uint32_t)((uint64_t)range * share[0] / SX_SHARES);
        x += first;
        if (!(d & 1)) {
            *same = 0;
            return x;
        }
        *same += range >= SX_SHARES;      /* then no part of it is empty */
        range = (uint32_t)((uint64_t)range * share[1] / SX_SHARES) - first;
        before = digit;
    }
    if (sx_code_whole(s, length, from, x, range))
        *same = SX_SAME_WHOLE;
    return x;
}

/* What a code has behind the group's number. *same: bytes of q up to which all strings with this
 * code are like it; SX_SAME_WHOLE: no other string has it. */
SX_FN uint64_t sx_string_tail(const sx_strings *s, const unsigned char *q, uint64_t length,
                              uint64_t at, uint64_t *same)
{
    const uint16_t *digits = (const uint16_t *)(const void *)s->groups;
    const uint16_t *shares = digits + (s->base ? SX_DIGITS_BYTES / 2 : 0);
    uint32_t most = s->base - 1u, row = s->rows > 1 ? s->base + 1u : 0;
    uint32_t before;
    uint64_t x = 0, range = s->bits ? (uint64_t)1 << (sx_tail_bits(s) & 63) : UINT64_MAX, end;
    uint64_t from = at;

    if (!s->base) {
        *same = at + sx_tail_bits(s) / 8;
        return sx_string_word(q, length, at) >> ((64 - sx_tail_bits(s)) & 63);
    }
    if (s->code_bytes == 4)
        return sx_string_tail4(s, q, length, at, same);
    end = length - at < s->chars ? length : at + s->chars;
    before = at > 0 ? digits[q[at - 1]] >> 1 : 0;
    before = before < most ? before : most;
    for (*same = at; at < end; *same = ++at) {
        uint32_t d = digits[q[at]], digit = d >> 1 < most ? d >> 1 : most;
        const uint16_t *share = shares + before * row + digit;
        uint64_t part = range / SX_SHARES;
        if (part == 0)            /* the last one, as far as it goes */
            return x + range * share[0] / SX_SHARES;
        x += part * share[0];
        if (!(d & 1)) {
            *same = 0;
            return x;
        }
        range = part * (uint32_t)(share[1] - share[0]);
        before = digit;
    }
    if (sx_code_whole(s, length, from, x, range))
        *same = SX_SAME_WHOLE;
    return x;
}

/* Below 0, 0, or above 0: the bytes of q from `at` on, compared with m others. 0: q goes on with
 * these. */
SX_FN int sx_skip_order(const unsigned char *q, uint64_t length, uint64_t at,
                        const unsigned char *skip, uint64_t m)
{
    uint64_t i = 0;

#ifdef __CUDA_ARCH__
    i = sx_bytes_same(q + at, skip, m < length - at ? m : length - at);
#else
    if (m >= 8 && length - at >= m) {
        int order = memcmp(q + at, skip, m);
        return (order > 0) - (order < 0);
    }
#endif
    for (; i < m; i++) {
        if (at + i >= length)
            return -1;
        if (q[at + i] != skip[i])
            return q[at + i] < skip[i] ? -1 : 1;
    }
    return 0;
}

/* A walk down the tree: the cell where it is, and how many bytes of q are behind it; in the end the
 * code. */
typedef struct {
    uint64_t at;
    uint64_t code;
    uint64_t same;                /* bytes that q shares with each string of its code, if both have
                                     as many; 0 if it left the tree or has a byte that does not
                                     occur; SX_SAME_WHOLE if each string of its code is q. All
                                     others of its code have the same number there */
    uint32_t cell;
} sx_code_walk;

SX_FN int sx_code_done(sx_code_walk *w, uint64_t code)
{
    w->code = code;
    return 1;
}

/* One step down, which takes a byte of q. Returns 1 in the end. */
SX_FN int sx_code_step(const sx_strings *s, const unsigned char *q, uint64_t length,
                       sx_code_walk *w)
{
    const unsigned char *pool = s->groups + sx_groups_bytes(s) - s->pool;
    const sx_cell *c = sx_cell_at(s, w->cell);
    const sx_fork *f = sx_fork_of(s, c);
    uint32_t begin = c->skip_at < s->pool ? c->skip_at : s->pool;
    uint32_t skip = c->skip < s->pool - begin ? c->skip : s->pool - begin;
    uint32_t word, child;
    uint64_t bit;
    int order = skip ? sx_skip_order(q, length, w->at, pool + begin, skip) : 0;

    if (order < 0)
        return sx_code_done(w, sx_group_code(s, f ? f->group : c->to));
    if (order > 0)
        return sx_code_done(w, sx_group_code(s, f ? f->end : c->to + 1));
    w->at += skip;
    if (!f)
        return sx_code_done(w, sx_group_code(s, c->to) |
                                   sx_string_tail(s, q, length, w->at, &w->same));
    if (w->at >= length)
        return sx_code_done(w, sx_group_code(s, f->group));
    word = q[w->at] >> 6;
    bit = (uint64_t)1 << (q[w->at] & 63);
    child = f->before[word] + sx_popcount(f->bits[word] & (bit - 1));
    w->cell = f->child + child;
    if (!(f->bits[word] & bit)) { /* the first group behind that place */
        const sx_fork *next;
        if (child >= sx_fork_children(f))
            return sx_code_done(w, sx_group_code(s, f->end));
        c = sx_cell_at(s, w->cell);
        next = sx_fork_of(s, c);
        return sx_code_done(w, sx_group_code(s, next ? next->group : c->to));
    }
    w->at++;
    return 0;
}

/* All of it. */
SX_FN sx_code_walk sx_string_walk(const sx_strings *s, const unsigned char *q, uint64_t length)
{
    sx_code_walk w = {0, 0, 0, 0};

    while (!sx_code_step(s, q, length, &w))
        ;
    return w;
}

SX_FN uint64_t sx_string_code(const sx_strings *s, const unsigned char *q, uint64_t length)
{
    return sx_string_walk(s, q, length).code;
}

/* ---- the strings -------------------------------------------------------------------- */

/* An offset of a column. */
SX_FN uint64_t sx_offset_raw(const void *offsets, uint32_t offset_bytes, uint64_t i)
{
    return offset_bytes == 8 ? ((const uint64_t *)offsets)[i] : ((const uint32_t *)offsets)[i];
}

/* Where an offset is, or its line. */
SX_FN const unsigned char *sx_offset_place(const sx_strings *s, uint64_t i)
{
    return s->offsets + (s->offset_bytes == 2 ? i / SX_LINE_STRINGS * SX_OFFSET_LINE
                                              : i * s->offset_bytes);
}

/* An offset as it is stored. */
SX_FN uint64_t sx_offset_at(const sx_strings *s, uint64_t i)
{
    const unsigned char *line;

    if (s->offset_bytes != 2)
        return sx_offset_raw(s->offsets, s->offset_bytes, i);
    line = sx_offset_place(s, i);
    return *(const uint64_t *)(const void *)line +
           ((const uint16_t *)(const void *)(line + 8))[i % SX_LINE_STRINGS];
}

/* String i: where it begins, and its length. Both are inside of the section. */
SX_FN const unsigned char *sx_string_at(const sx_strings *s, uint64_t i, uint64_t *length)
{
    uint64_t a = sx_offset_at(s, i), b = sx_offset_at(s, i + 1);

    a = a < s->size ? a : s->size;
    b = b < s->size ? b : s->size;
    *length = b > a ? b - a : 0;
    return s->bytes + a;
}

/* Below 0, 0, or above 0. */
SX_FN int sx_bytes_order(const unsigned char *a, uint64_t a_length, const unsigned char *b,
                         uint64_t b_length)
{
    uint64_t m = a_length < b_length ? a_length : b_length;
    int order = 0;

#ifdef __CUDA_ARCH__
    uint64_t i = sx_bytes_same(a, b, m);

    if (i < m)
        order = (int)a[i] - (int)b[i];
#else
    if (m)
        order = memcmp(a, b, m);
#endif
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

/* String i, compared with q. */
SX_FN int sx_string_order(const sx_strings *s, uint64_t i, const unsigned char *q, uint64_t length)
{
    uint64_t own;
    const unsigned char *p = sx_string_at(s, i, &own);

    return sx_bytes_order(p, own, q, length);
}

/* The same if both share their first `same` bytes, as far as they have these. */
SX_FN int sx_string_order_from(const sx_strings *s, uint64_t i, const unsigned char *q,
                               uint64_t length, uint64_t same)
{
    uint64_t own;
    const unsigned char *p = sx_string_at(s, i, &own);

    same = same < own ? same : own;
    same = same < length ? same : length;
    return sx_bytes_order(p + same, own - same, q + same, length - same);
}

/* The first position from `from` on, of n, whose string is not before q: not below it, or (right)
 * above it. Strings before `from` are before q. Takes doubling steps, then halves the last one. */
SX_FN uint64_t sx_string_bound(const sx_strings *s, uint64_t n, uint64_t from,
                               const unsigned char *q, uint64_t length, int right)
{
    uint64_t step = 1, end;

    if (from >= n || sx_string_order(s, from, q, length) >= right)
        return from;
    while (step < n - from && sx_string_order(s, from + step, q, length) < right) {
        from += step;
        step *= 2;
    }
    end = step < n - from ? from + step : n;
    while (end - from > 1) {      /* `from` is before q, and `end` is not */
        uint64_t half = from + (end - from) / 2;
        if (sx_string_order(s, half, q, length) < right)
            from = half;
        else
            end = half;
    }
    return end;
}

/* Whether string i begins with q. */
SX_FN int sx_string_begins(const sx_strings *s, uint64_t i, const unsigned char *q, uint64_t length)
{
    uint64_t own;
    const unsigned char *p = sx_string_at(s, i, &own);

    return own >= length && sx_bytes_order(p, length, q, length) == 0;
}

/* The first position from `from` on, of n, whose string does not begin with q. Strings before
 * `from` are below q. */
SX_FN uint64_t sx_string_prefix_end(const sx_strings *s, uint64_t n, uint64_t from,
                                    const unsigned char *q, uint64_t length)
{
    uint64_t step = 1, end;

    if (from >= n || !sx_string_begins(s, from, q, length))
        return from;
    while (step < n - from && sx_string_begins(s, from + step, q, length)) {
        from += step;
        step *= 2;
    }
    end = step < n - from ? from + step : n;
    while (end - from > 1) {      /* `from` begins with q, and `end` does not */
        uint64_t half = from + (end - from) / 2;
        if (sx_string_begins(s, half, q, length))
            from = half;
        else
            end = half;
    }
    return end;
}

#endif
