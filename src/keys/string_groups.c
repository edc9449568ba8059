/* string_groups.c - the tree over prefixes that codes of strings begin with (strings.h).
 *
 * Each cell is a stretch of strings. One whose strings would have few equal codes, or are all the
 * same, becomes a group. Others fork by the byte in which they first differ. Cells are made in the
 * order of their numbers, each from a task that is in the same place of a list:
 *
 *     1. Fork where more than `ties` strings would have the code of the string before.
 *     2. If that takes too many bytes, begin again with twice as many ties; and also if it takes
 *        many, as long as hardly more strings tie.
 *     3. Number the groups: count those below each cell, from the last to the first, then hand out
 *        numbers from the first cell to the last.
 *
 * All of it works on how many bytes neighbours share, and looks at strings only for the bytes
 * themselves. */
#include "keys/string_groups.h"

#include "base/alloc.h"

#define LEAST_BYTES 4096u         /* that few strings may take, too */
#define MOST_BYTES (2u << 20)     /* what a core's cache holds ... */
#define GOOD_BYTES (512u << 10)   /* ... beside others: a smaller tree is worth some more ties, */
#define MORE_TIES 8u              /* one for so many that there are, */
#define MORE_STRINGS 256u         /* and one for so many strings */
#define TIES_FIRST 2u             /* string comparisons that nobody notices */
#define FEW_TIES 8u               /* one in so many is not worth a step down for all */
#define MANY 65536u               /* trees of fewer strings are in a core's first caches ... */
#define MOST_RUNS 1u              /* ... and so many ties among 4 strings are not worth a tree; ... */
#define NARROW_RUNS 3u            /* ... if codes have 4 bytes, marks are there, which make them cheap */
#define LARGE_SKIP 16u            /* a skip of this part of all bytes is too large */
#define GROUP_BITS 16u            /* of groups that are still to be made: decides whether codes are
                                     equal */
#define BASE_MOST 181u           /* more take as many bits as bytes do */
#define ROWS_PART 4u              /* of all bytes, that shares may take */
#define NEGLIGIBLE 256u           /* one tie in so many */
#define SAMPLE 16384u             /* strings whose bytes are counted, ... */
#define LOOK 64u                  /* ... so many of each, behind those that all share */

typedef struct {
    uint64_t begin, end;          /* strings */
    uint64_t depth;               /* bytes that they share, before the cell skips any */
    uint32_t groups;              /* below */
    uint32_t first;               /* the first one's number */
} task;

typedef struct {
    sx_strings *s;
    const uint32_t *shared;
    uint64_t most, good, ties;
    uint32_t chars;               /* of a code, on average */
    uint32_t cost;                /* of a byte on average, in 1/16 bits */
    uint16_t digits[256];
    uint32_t *count;              /* how often digits follow each other, in rows */
    uint16_t *shares;
    task *tasks;
    unsigned char *out;           /* cells grow from the front, forks from the back */
    uint32_t cells, forks;
    uint64_t pool;
    uint64_t left;                /* strings that tie, in all groups */
} maker;

uint64_t sx_groups_most(uint64_t n)
{
    uint64_t most = n / 4 * 3;    /* an index of strings has 18 bytes a key beside these */

    return (most < LEAST_BYTES ? LEAST_BYTES : most < MOST_BYTES ? most : MOST_BYTES);
}

static uint64_t cells_most(uint64_t n)
{
    return sx_groups_most(n) / sizeof(sx_cell);
}

#define SHARES_MOST (BASE_MOST * (BASE_MOST + 1))

uint64_t sx_groups_scratch(uint64_t n)
{
    return sx_groups_most(n) + cells_most(n) * sizeof(task) +
           SHARES_MOST * (sizeof(uint32_t) + sizeof(uint16_t));
}

static sx_cell *cell_at(const maker *m, uint32_t i)
{
    return (sx_cell *)(void *)m->out + i;
}

static sx_fork *fork_at(const maker *m, uint32_t i)
{
    return (sx_fork *)(void *)(m->out + m->most / sizeof(sx_fork) * sizeof(sx_fork)) - 1 - i;
}

/* Whether so many more cells, forks and skipped bytes are within the limit. */
static int fits(const maker *m, uint64_t cells, uint64_t forks, uint64_t skip)
{
    return (m->cells + cells) * sizeof(sx_cell) + (m->forks + forks + 1) * sizeof(sx_fork) +
           m->pool + skip <= m->most;
}

/* What all strings of a task share; SX_EQUAL: they are the same. */
static uint32_t shared_by_all(const maker *m, const task *t)
{
    uint32_t least = SX_EQUAL;

    for (uint64_t i = t->begin + 1; i < t->end; i++)
        least = m->shared[i] < least ? m->shared[i] : least;
    return least;
}

/* How many strings would have the code of the one before, which is another string. */
static uint64_t count_ties(const maker *m, const task *t, uint64_t depth)
{
    uint64_t ties = 0;

    for (uint64_t i = t->begin + 1; i < t->end; i++)
        ties += m->shared[i] != SX_EQUAL && m->shared[i] >= depth + m->chars;
    return ties;
}

/* Bytes that so many bits stand for. */
static uint32_t chars_of(const maker *m, uint32_t bits)
{
    uint32_t chars = bits * 16 / m->cost;

    return chars < SX_CHARS_MOST ? chars : SX_CHARS_MOST;
}

/* Whether one group does: its codes need no bits for a number, and what ties are left are settled
 * sooner by comparing strings than by steps down a tree. */
static int one_is_enough(maker *m, uint64_t n)
{
    task all = {.begin = 0, .end = n};
    uint32_t chars = m->chars, depth = shared_by_all(m, &all);
    uint64_t ties;

    m->chars = chars_of(m, 8u * m->s->code_bytes);
    ties = count_ties(m, &all, depth);
    m->chars = chars;
    return n >= MANY && ties <= n / 4 * (m->s->code_bytes == 4 ? NARROW_RUNS : MOST_RUNS);
}

/* The first string of a task that is longer than what all share. */
static uint64_t first_longer(const maker *m, const task *t, uint64_t depth)
{
    uint64_t i = t->begin, length;

    for (; i < t->end; i++) {
        sx_string_at(m->s, i, &length);
        if (length > depth)
            break;
    }
    return i;
}

/* Has the cell fork. Returns 0 if there is no space for it. */
static int make_fork(maker *m, sx_cell *c, const task *t, uint64_t depth)
{
    uint64_t from = first_longer(m, t, depth), children = 1, begin = from, length;
    sx_fork *f;

    for (uint64_t i = from + 1; i < t->end; i++)
        children += m->shared[i] == depth;
    if (!fits(m, children, 1, depth - t->depth))
        return 0;
    f = fork_at(m, m->forks);
    *f = (sx_fork){.child = m->cells};
    c->to = SX_TO_FORK | m->forks++;
    for (uint64_t i = from + 1; i <= t->end; i++) {
        unsigned char byte;
        if (i < t->end && m->shared[i] != depth)
            continue;
        byte = sx_string_at(m->s, begin, &length)[depth];
        f->bits[byte >> 6] |= 1ull << (byte & 63);
        m->tasks[m->cells++] = (task){.begin = begin, .end = i, .depth = depth + 1};
        begin = i;
    }
    for (unsigned w = 1; w < 4; w++)
        f->before[w] = (uint8_t)(f->before[w - 1] + sx_popcount(f->bits[w - 1]));
    return 1;
}

/* Makes cell i out of its task. Returns 0 if there is no space for a fork. A cell that would skip a
 * good part of all there may be (the root: half of it) becomes a group that skips nothing, and its
 * strings are told apart by comparing them. */
static int make_cell(maker *m, uint32_t i)
{
    const task *t = &m->tasks[i];
    uint64_t depth = shared_by_all(m, t), skip, ties;
    sx_cell *c = cell_at(m, i);

    *c = (sx_cell){.skip_at = (uint32_t)m->pool};
    if (depth == SX_EQUAL || count_ties(m, t, t->depth) == 0)
        return 1;                 /* a group that need not skip anything */
    skip = depth - t->depth;
    if (skip > m->most / (i ? LARGE_SKIP : 2) || !fits(m, 0, 0, skip)) {
        m->left += count_ties(m, t, t->depth);
        return 1;
    }
    ties = count_ties(m, t, depth);
    if (ties <= m->ties || ties <= (t->end - t->begin) / FEW_TIES)
        m->left += ties;
    else if (!make_fork(m, c, t, depth))
        return 0;
    c->skip = (uint32_t)skip;
    m->pool += skip;
    return 1;
}

static void number_groups(maker *m)
{
    for (uint32_t i = m->cells; i-- > 0;) {
        const sx_cell *c = cell_at(m, i);
        task *t = &m->tasks[i];
        t->groups = !(c->to & SX_TO_FORK);
        if (!t->groups) {
            const sx_fork *f = fork_at(m, c->to & ~SX_TO_FORK);
            for (uint32_t k = 0; k < sx_fork_children(f); k++)
                t->groups += m->tasks[f->child + k].groups;
        }
    }
    m->tasks[0].first = 0;
    for (uint32_t i = 0; i < m->cells; i++) {
        sx_cell *c = cell_at(m, i);
        uint32_t next = m->tasks[i].first;
        if (!(c->to & SX_TO_FORK)) {
            c->to = next;
            continue;
        }
        sx_fork *f = fork_at(m, c->to & ~SX_TO_FORK);
        f->group = next;
        for (uint32_t k = 0; k < sx_fork_children(f); k++) {
            m->tasks[f->child + k].first = next;
            next += m->tasks[f->child + k].groups;
        }
        f->end = next;
    }
}

/* Counts how often digits follow each other in a sample that depends on n alone. */
static void count_digits(maker *m, uint64_t n, uint64_t shared)
{
    const sx_strings *s = m->s;
    uint64_t samples = n < SAMPLE ? n : SAMPLE;

    memset(m->count, 0, s->rows * (s->base + 1u) * sizeof *m->count);
    for (uint64_t k = 0; k < samples; k++) {
        uint64_t length, at = shared, end;
        const unsigned char *p = sx_string_at(s, n / samples * k + n % samples * k / samples, &length);
        uint32_t before = at > 0 ? m->digits[p[at - 1]] >> 1 : 0;
        for (end = length < at + LOOK ? length : at + LOOK; at < end; at++) {
            uint32_t digit = m->digits[p[at]] >> 1;
            m->count[(s->rows > 1 ? before * (s->base + 1u) : 0) + digit]++;
            before = digit;
        }
    }
}

/* 16 times the logarithm to base 2. */
static uint32_t log16(uint64_t x)
{
    unsigned bits = 63 - (unsigned)__builtin_clzll(x);

    return bits * 16 + (uint32_t)((bits >= 4 ? x >> (bits - 4) : x << (4 - bits)) & 15);
}

/* Shares as digits were counted, none of them empty; and what a byte costs. */
static void take_shares(maker *m)
{
    uint32_t base = m->s->base;
    uint64_t all = 0, cost = 0;

    for (uint32_t r = 0; r < m->s->rows; r++) {
        const uint32_t *count = m->count + r * (base + 1);
        uint16_t *share = m->shares + r * (base + 1);
        uint64_t sum = 0, before = 0;
        for (uint32_t d = 0; d < base; d++)
            sum += count[d];
        for (uint32_t d = 0; d <= base; d++) {
            share[d] = (uint16_t)(d + (sum ? (SX_SHARES - base) * before / sum
                                           : (SX_SHARES - base) * d / base));
            before += d < base ? count[d] : 0;
            if (d > 0)
                cost += count[d - 1] * (uint64_t)(12 * 16 - log16(share[d] - share[d - 1u]));
        }
        all += sum;
    }
    m->cost = (uint32_t)(all ? cost / all : 128);
    m->cost = m->cost ? m->cost : 1;
}

/* Which bytes occur decides the digits, and the base. */
static void take_digits(maker *m, uint64_t n)
{
    sx_strings *s = m->s;
    unsigned char occurs[256] = {0};
    uint32_t next = 1;

    for (uint64_t i = 0; i < s->size; i++)
        occurs[s->bytes[i]] = 1;
    for (unsigned c = 0; c < 256; c++) {
        m->digits[c] = (uint16_t)(2 * next + occurs[c]);
        next += occurs[c];
    }
    s->base = (uint16_t)(next + 1 <= BASE_MOST ? next + 1 : 0);
    s->rows = (uint16_t)(!s->base ? 0 : sx_digits_bytes(s->base, s->base) <=
                                            sx_groups_most(n) / ROWS_PART ? s->base : 1);
    m->cost = 128;
    if (s->base) {
        task all = {.begin = 0, .end = n};
        uint64_t shared = shared_by_all(m, &all), length;
        sx_string_at(s, 0, &length);
        count_digits(m, n, shared < length ? shared : length);
        take_shares(m);
    }
    m->chars = chars_of(m, 8u * s->code_bytes - GROUP_BITS);
    m->most = sx_groups_most(n) - sx_digits_bytes(s->base, s->rows);
}

/* How many bytes tell all strings of a single group from those before them, but for a few: more only
 * take time. Several groups are there as no number of bytes does. */
static uint32_t chars_needed(const maker *m, uint64_t n)
{
    uint64_t more[SX_CHARS_MOST + 1] = {0}, left = 0;
    uint32_t chars = SX_CHARS_MOST, at = cell_at(m, 0)->skip;

    if (m->forks)
        return SX_CHARS_MOST;
    for (uint64_t i = 1; i < n; i++)
        if (m->shared[i] != SX_EQUAL)
            more[m->shared[i] - at < SX_CHARS_MOST ? m->shared[i] - at + 1 : SX_CHARS_MOST]++;
    while (chars > 1 && left + more[chars] <= n / NEGLIGIBLE)
        left += more[chars--];
    return chars;
}

/* Forks, cells and the pool as the section has them. */
static sx_status put_together(const maker *m, uint64_t n, void **out, sx_err *err)
{
    sx_strings *s = m->s;
    unsigned char *to, *pool;
    uint64_t length;
    sx_status st;

    s->forks = m->forks;
    s->cells = m->cells;
    s->pool = (uint32_t)m->pool;
    s->bits = (uint16_t)sx_group_bits(m->cells - m->forks);
    s->chars = s->base ? (uint16_t)chars_needed(m, n) : 0;
    st = sx_alloc(out, sx_groups_bytes(s), "groups of strings", err);
    if (st != SX_OK)
        return st;
    to = *out;
    if (s->base) {
        uint64_t shares = s->rows * (s->base + 1u) * sizeof *m->shares;
        memcpy(to, m->digits, SX_DIGITS_BYTES);
        memcpy(to + SX_DIGITS_BYTES, m->shares, shares);
        memset(to + SX_DIGITS_BYTES + shares, 0,
               sx_digits_bytes(s->base, s->rows) - SX_DIGITS_BYTES - shares);
        to += sx_digits_bytes(s->base, s->rows);
    }
    for (uint32_t i = 0; i < m->forks; i++, to += sizeof(sx_fork))
        memcpy(to, fork_at(m, i), sizeof(sx_fork));
    memcpy(to, m->out, m->cells * sizeof(sx_cell));
    pool = to + m->cells * sizeof(sx_cell);
    for (uint32_t i = 0; i < m->cells; i++) {
        const sx_cell *c = cell_at(m, i);
        if (c->skip)
            memcpy(pool + c->skip_at,
                   sx_string_at(s, m->tasks[i].begin, &length) + m->tasks[i].depth, c->skip);
    }
    s->groups = *out;
    return SX_OK;
}

/* Makes cells and forks that leave m->ties in each group, or fewer. Returns 0 if these have no space. */
static int make_tree(maker *m, uint64_t n)
{
    int fit = 1;

    m->cells = 1;
    m->forks = 0;
    m->pool = m->left = 0;
    m->tasks[0] = (task){.begin = 0, .end = n};
    for (uint32_t i = 0; i < m->cells && fit; i++)
        fit = make_cell(m, i);
    return fit;
}

static uint64_t tree_bytes(const maker *m)
{
    return m->cells * sizeof(sx_cell) + m->forks * sizeof(sx_fork) + m->pool;
}

/* Makes the tree. With n ties nothing forks, and all fits; then it gets no smaller. */
static void make_good_tree(maker *m, uint64_t n)
{
    uint64_t ties, most;

    while (!make_tree(m, n))
        m->ties *= 2;
    most = m->left + m->left / MORE_TIES + n / MORE_STRINGS;
    ties = m->ties;
    while (tree_bytes(m) > m->good && m->forks > 0 && m->left <= most) {
        ties = m->ties;
        m->ties *= 2;
        (void)make_tree(m, n);    /* a smaller one fits, too */
    }
    if (m->left > most) {         /* the one before was better */
        m->ties = ties;
        (void)make_tree(m, n);
    }
}

sx_status sx_groups_make_good(sx_strings *s, uint64_t n, const uint32_t *shared, uint64_t good,
                              void **groups, uint64_t *ties, sx_err *err)
{
    maker m = {.s = s, .shared = shared, .good = good, .ties = TIES_FIRST};
    sx_status st = sx_alloc_array((void **)&m.tasks, cells_most(n), sizeof(task),
                                  "groups of strings", err);

    if (st == SX_OK)
        st = sx_alloc_array((void **)&m.count, SHARES_MOST, sizeof *m.count, "groups of strings",
                            err);
    if (st == SX_OK)
        st = sx_alloc_array((void **)&m.shares, SHARES_MOST, sizeof *m.shares, "groups of strings",
                            err);
    if (st == SX_OK) {
        take_digits(&m, n);
        if (one_is_enough(&m, n))
            m.ties = n;
        st = sx_alloc((void **)&m.out, m.most, "groups of strings", err);
    }
    if (st == SX_OK) {
        make_good_tree(&m, n);
        number_groups(&m);
        st = put_together(&m, n, groups, err);
    }
    *ties = m.left;
    sx_release(m.tasks);
    sx_release(m.count);
    sx_release(m.shares);
    sx_release(m.out);
    return st;
}

sx_status sx_groups_make(sx_strings *s, uint64_t n, const uint32_t *shared, void **groups,
                         sx_err *err)
{
    uint64_t ties;

    return sx_groups_make_good(s, n, shared, GOOD_BYTES, groups, &ties, err);
}

/* ---- checking ---------------------------------------------------------------------------- */

static sx_status broken(const char *what, uint32_t where, sx_err *err)
{
    return sx_fail(err, SX_ECORRUPT, "strings, invariant S3: %s %u", what, where);
}

/* The first group below a cell, and the one behind its last. */
static void groups_of(const sx_strings *s, uint32_t cell, uint32_t *first, uint32_t *end)
{
    const sx_cell *c = sx_cell_at(s, cell);
    const sx_fork *f = sx_fork_of(s, c);

    *first = f ? f->group : c->to;
    *end = f ? f->end : c->to + 1;
}

/* Whether a fork's children follow each other, and are where they belong. */
static sx_status check_fork(const sx_strings *s, uint32_t i, uint32_t child, sx_err *err)
{
    const sx_fork *f = sx_fork_at(s, i);
    uint32_t next = f->group, first, end, before = 0;

    for (unsigned w = 0; w < 4; w++) {
        if (f->before[w] != before)
            return broken("children are miscounted in fork", i, err);
        before += sx_popcount(f->bits[w]);
    }
    if (before == 0 || f->child != child || before > s->cells - child)
        return broken("children are not where they should be of fork", i, err);
    for (uint32_t k = 0; k < before; k++) {
        groups_of(s, child + k, &first, &end);
        if (first != next || end <= first)
            return broken("groups do not follow each other below fork", i, err);
        next = end;
    }
    return f->end == next ? SX_OK : broken("another group is said to be behind fork", i, err);
}

/* Whether digits ascend with their bytes, each by one, and the base is as many as there are. */
static sx_status check_digits(const sx_strings *s, sx_err *err)
{
    const uint16_t *digits = (const uint16_t *)(const void *)s->groups;
    uint32_t next = 1;

    for (unsigned c = 0; c < 256 && s->base; c++) {
        if (digits[c] >> 1 != next)
            return broken("another digit should be that of byte", c, err);
        next += digits[c] & 1;
    }
    return !s->base || s->base == next + 1 ? SX_OK : broken("digits are not as many as", s->base,
                                                              err);
}

/* Whether the shares of each row ascend from nothing to all. */
static sx_status check_shares(const sx_strings *s, sx_err *err)
{
    const uint16_t *share = (const uint16_t *)(const void *)(s->groups + SX_DIGITS_BYTES);
    uint32_t all = s->rows * (s->base + 1u);

    for (uint32_t i = 0; i < all && s->base; i++) {
        uint32_t digit = i % (s->base + 1u);
        if (digit == 0 ? share[i] != 0 : share[i] <= share[i - 1])
            return broken("shares do not ascend in row", i / (s->base + 1u), err);
        if (digit == s->base && share[i] != SX_SHARES)
            return broken("not all is shared out in row", i / (s->base + 1u), err);
    }
    for (uint64_t i = all; i < (sx_digits_bytes(s->base, s->rows) - SX_DIGITS_BYTES) / 2 && s->base; i++)
        if (share[i])
            return broken("something is behind row", s->rows, err);
    return SX_OK;
}

sx_status sx_groups_check(const sx_strings *s, sx_err *err)
{
    uint32_t forks = 0, child = 1, first, end;
    uint64_t pool = 0;
    sx_status st = check_digits(s, err);

    if (st == SX_OK)
        st = check_shares(s, err);
    if (st != SX_OK)
        return st;
    for (uint32_t i = 0; i < s->cells; i++) {
        const sx_cell *c = sx_cell_at(s, i);
        if (c->skip_at != pool || c->skip > s->pool - pool)
            return broken("skipped bytes are not where they should be of cell", i, err);
        pool += c->skip;
        if (!(c->to & SX_TO_FORK))
            continue;
        if (c->to != (SX_TO_FORK | forks) || forks >= s->forks)
            return broken("another fork should be that of cell", i, err);
        if (i >= child)
            return broken("no fork has cell", i, err);
        st = check_fork(s, forks, child, err);
        if (st != SX_OK)
            return st;
        child += sx_fork_children(sx_fork_at(s, forks++));
    }
    groups_of(s, 0, &first, &end);
    if (forks != s->forks || child != s->cells || pool != s->pool || first != 0 ||
        end != s->cells - s->forks || s->bits != sx_group_bits(end))
        return broken("the tree does not end where its section does, in cells", s->cells, err);
    return SX_OK;
}
