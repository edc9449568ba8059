/* prove_strings.c - codes of strings and their marks (keys/strings.h, keys/string_marks.h), whatever
 * is in the sections.
 *
 * Bytes of sections are any, as memory that nobody wrote has any; but other than in other proofs they
 * stay what they are. Loops are unrolled. So queries have up to LENGTH bytes, codes stand for up to
 * CHARS of these, and trees and runs are small: sections of exactly their size, with nothing behind
 * them that could hide a read. */
#include <stdint.h>
#include <string.h>

static int read_order(const void *a, const void *b, uint64_t m);
static void read_word(uint64_t *to, const void *from, uint64_t m);
#define memcmp(a, b, m) read_order((a), (b), (m))
#define memcpy(to, from, m) read_word((to), (from), (m))
#include "prove.h"
#include "keys/string_marks.h"

#define LENGTH 9u
#define CHARS 3u

/* Comparing m bytes reads these. */
static int read_order(const void *a, const void *b, uint64_t m)
{
    reads(a, m, 1);
    reads(b, m, 1);
    return nondet_int();
}

/* Copying a word reads it. */
static void read_word(uint64_t *to, const void *from, uint64_t m)
{
    reads(from, m, 1);
    *to = nondet_u64();
}

sx_strings nondet_strings(void);

/* Strings with some tree of CELLS cells, FORKS of which fork, and POOL skipped bytes; codes are made
 * with BASE digits and STRING_ROWS rows of shares. */
static sx_strings some_strings(void)
{
    sx_strings s = nondet_strings();

    s.cells = CELLS;
    s.forks = FORKS;
    s.pool = POOL;
    s.base = BASE;
    s.rows = STRING_ROWS;
    s.chars = BASE ? CHARS : 0;
    ASSUME(s.bits <= 31 && (s.code_bytes == 4 || s.code_bytes == 8));
    s.groups = section(sx_groups_bytes(&s));
    return s;
}

/* A step down takes a byte of the string, or is the last one. */
void code_step(void)
{
    sx_strings s = some_strings();
    uint64_t length = nondet_u64(), at;
    sx_code_walk w = {nondet_u64(), 0, 0, nondet_u32()};
    const unsigned char *q;

    ASSUME(length <= LENGTH && w.at <= length);
    q = section(length);
    at = w.at;
    if (!sx_code_step(&s, q, length, &w))
        ASSERT(w.at > at && w.at <= length, "a byte was taken");
    END;
}

/* ---- codes never descend ------------------------------------------------------------------ */

#ifndef SHORT
#define SHORT 2u                  /* bytes of a string */
#define BITS 58u                  /* of a code, for its group */
#define CODE_BYTES 8
#endif
#define BYTES 3u                  /* that strings are made of: two of these occur, so the base is 4 */
#define DIGITS 4u

/* The section as it is; a solver likes types. */
typedef struct {
    uint16_t digits[256];
    uint16_t share[(STRING_ROWS * (DIGITS + 1) + 3) / 4 * 4];
    sx_fork fork[FORKS];
    sx_cell cell[CELLS];
    unsigned char pool[POOL];
} sections_of;

sections_of nondet_sections(void);

/* Digits and shares as sx_groups_check() wants them (keys/string_groups.c). */
static void some_digits(const sections_of *g)
{
    const uint16_t *share = g->share;
    uint32_t next = 1;

    for (uint32_t c = 0; c < BYTES; c++) {
        ASSUME(g->digits[c] >> 1 == next);
        next += g->digits[c] & 1;
    }
    ASSUME(next == DIGITS - 1);
    for (uint32_t r = 0; r < STRING_ROWS; r++, share += DIGITS + 1) {
        ASSUME(share[0] == 0 && share[DIGITS] == SX_SHARES);
        for (uint32_t d = 0; d < DIGITS; d++)
            ASSUME(share[d] < share[d + 1]);
    }
}

/* One group, or a root that forks into groups. The root skips bytes of the pool. */
static void some_tree(sections_of *g)
{
    for (uint32_t i = 0; i < CELLS; i++)
        g->cell[i] = (sx_cell){FORKS ? i ? i - 1 : SX_TO_FORK : 0, i ? 0 : POOL, i ? POOL : 0};
    if (FORKS) {
        uint64_t bits = g->fork[0].bits[0];
        ASSUME(sx_popcount(bits) == CELLS - 1 && bits < 1u << BYTES);
        g->fork[0] = (sx_fork){{bits}, 1, 0, CELLS - 1, {0, CELLS - 1, CELLS - 1, CELLS - 1}};
    }
}

static uint64_t some_string(unsigned char q[SHORT])
{
    uint64_t length = nondet_u64();

    for (uint32_t i = 0; i < SHORT; i++) {
        q[i] = (unsigned char)nondet_u32();
        ASSUME(q[i] < BYTES);
    }
    ASSUME(length <= SHORT);
    return length;
}

static int not_above(const unsigned char *q, uint64_t q_length, const unsigned char *t,
                     uint64_t t_length)
{
    for (uint32_t i = 0; i < SHORT && i < q_length; i++) {
        if (i >= t_length)
            return 0;
        if (q[i] != t[i])
            return q[i] < t[i];
    }
    return 1;
}

/* The tree has two levels at most. */
static sx_code_walk walk_of(const sx_strings *s, const unsigned char *q, uint64_t length)
{
    sx_code_walk w = {0, 0, 0, 0};

    if (!sx_code_step(s, q, length, &w))
        ASSERT(sx_code_step(s, q, length, &w), "the walk ends");
    return w;
}

/* Whether q could be a key: its bytes occur, and it does not leave the tree. */
static int may_be_key(const sections_of *g, const unsigned char *q, uint64_t length)
{
    for (uint32_t i = 0; i < SHORT && i < length; i++)
        if (!(g->digits[q[i]] & 1))
            return 0;
    for (uint32_t i = 0; i < POOL; i++)
        if (i >= length || q[i] != g->pool[i])
            return 0;
    return !FORKS || length == POOL || (g->fork[0].bits[0] >> q[POOL] & 1);
}

static void some_codes(sx_strings *s, sections_of *g)
{
    s->cells = CELLS;
    s->forks = FORKS;
    s->pool = POOL;
    s->base = DIGITS;
    s->rows = STRING_ROWS;
    s->chars = SHORT;
    s->bits = BITS;
    s->code_bytes = CODE_BYTES;
    s->groups = (const unsigned char *)g;
    some_digits(g);
    some_tree(g);
}

/* A string that is said to be alone with its code has it alone, of all that could be keys. */
void code_whole(void)
{
    sx_strings s = {0};
    sections_of g = nondet_sections();
    unsigned char q[SHORT], t[SHORT];
    uint64_t q_length = some_string(q), t_length = some_string(t);

    some_codes(&s, &g);
    ASSUME(may_be_key(&g, t, t_length));
    ASSUME(walk_of(&s, q, q_length).same == SX_SAME_WHOLE);
    if (walk_of(&s, q, q_length).code == walk_of(&s, t, t_length).code)
        ASSERT(not_above(q, q_length, t, t_length) && not_above(t, t_length, q, q_length),
               "only q has its code");
    END;
}

/* Of two strings, whether they are keys or not. So many BITS of a code are the group's that ranges
 * become small soon, and shares of them empty. */
void code_order(void)
{
    sx_strings s = {0};
    sections_of g = nondet_sections();
    unsigned char q[SHORT], t[SHORT];
    uint64_t q_length = some_string(q), t_length = some_string(t);

    some_codes(&s, &g);
    ASSUME(not_above(q, q_length, t, t_length));
    ASSERT(walk_of(&s, q, q_length).code <= walk_of(&s, t, t_length).code, "codes never descend");
    END;
}

/* ---- strings ------------------------------------------------------------------------------ */

/* Offsets of n strings, in lines or one behind the other. */
static sx_strings some_offsets(uint64_t n)
{
    sx_strings s = nondet_strings();

    s.offset_bytes = OFFSET_BYTES;
    ASSUME(small(n) && small(s.size));
    s.offsets = section(sx_offsets_bytes(n, s.offset_bytes));
    s.bytes = section(s.size);
    return s;
}

/* A string is inside of the bytes, whatever its offsets are. */
void string_bytes(void)
{
    uint64_t n = nondet_u64(), i = nondet_u64(), length;
    sx_strings s = some_offsets(n);
    const unsigned char *p;

    ASSUME(i < n);
    p = sx_string_at(&s, i, &length);
    reads(p, length, 1);
    END;
}

/* ---- marks -------------------------------------------------------------------------------- */

#define STRINGS 10u               /* that have marks */

/* Strings with any marks, and the run that begins with string *lo. */
static sx_strings some_marks(uint64_t *lo, uint64_t *hi)
{
    sx_strings s = nondet_strings();

    *lo = nondet_u64();
    ASSUME(*lo < STRINGS);
    s.marks = section(STRINGS);
    *hi = *lo + sx_mark_run(&s, STRINGS, *lo, nondet_u64());
    ASSERT(*hi >= *lo && *hi <= STRINGS, "a run of strings");
    ASSUME(*hi > *lo);
    return s;
}

/* The string that is nearest to q is one of the run. */
void mark_nearest(void)
{
    uint64_t lo, hi, at;
    sx_strings s = some_marks(&lo, &hi);
    sx_mark_bits q = {{nondet_u64(), nondet_u64(), nondet_u64(), nondet_u64()}};

    at = sx_mark_nearest(&s, lo, hi, &q);
    ASSERT(at >= lo && at < hi, "a string of the run");
    END;
}

/* Where strings begin or end that q differs from in one bit, or far away. */
void mark_bound(void)
{
    uint64_t lo, hi, at = nondet_u64(), to;
    sx_strings s = some_marks(&lo, &hi);

    ASSUME(at >= lo && at < hi);
    to = sx_mark_bound(&s, lo, hi, at, nondet_u32(), nondet_u32() & 1);
    ASSERT(to >= lo && to <= hi, "a place in the run");
    to = sx_mark_far_end(&s, hi, at);
    ASSERT(to > at && to <= hi, "a place behind it");
    END;
}
