/* texts.c - see texts.h. */
#include "texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- strings -------------------------------------------------------------------- */

texts texts_from(uint64_t n, const text *of, unsigned offset_bytes)
{
    texts t = { .n = n, .offset_bytes = offset_bytes, .of = need((n + 1) * sizeof *t.of) };
    uint64_t at = 0;
    for (uint64_t i = 0; i < n; i++)
        t.bytes += of[i].bytes;
    t.data = guard_new(t.bytes + 1);
    t.offsets = guard_new((n + 1) * offset_bytes);
    unsigned char *data = guard_fit(&t.data, t.bytes, true);
    unsigned char *offsets = guard_fit(&t.offsets, (n + 1) * offset_bytes, true);
    for (uint64_t i = 0; i <= n; i++) {
        memcpy(offsets + i * offset_bytes, &at, offset_bytes);
        if (i == n)
            break;
        t.of[i] = (text){ data + at, of[i].bytes };
        if (of[i].bytes)
            memcpy(data + at, of[i].data, of[i].bytes);
        at += of[i].bytes;
    }
    return t;
}

sx_device *text_cpu;

int text_cpu_open(void **state)
{
    (void)state;
    text_cpu = device_open("cpu:threads=1");
    return 0;
}

int text_cpu_close(void **state)
{
    (void)state;
    sx_close(text_cpu);
    return 0;
}

void texts_free(texts *t)
{
    guard_free(&t->data);
    guard_free(&t->offsets);
    free(t->of);
}

sx_column texts_column(const texts *t)
{
    return (sx_column){ .type = SX_STR, .n = t->n, .data = t->data.data,
                        .offsets = t->offsets.data, .offset_bytes = t->offset_bytes,
                        .bytes = t->bytes };
}

#define ONE_MOST 300u

/* Up to `most` syllables from place `at` on; returns where they end. */
static unsigned add_syllables(char *to, unsigned at, unsigned most, rnd *r)
{
    static const char *const some[] = { "ba", "counter", "de", "inter", "ly", "ness", "o", "re",
                                        "tion", "un", "\xc3\xa4", "er" };
    for (uint64_t k = rnd_below(r, most + 1); k > 0; k--) {
        const char *s = some[rnd_below(r, COUNT_OF(some))];
        memcpy(to + at, s, strlen(s));
        at += (unsigned)strlen(s);
    }
    return at;
}

/* One of n / 3 beginnings, some of them more often than others; what follows is nothing, zeros,
 * letters, or long. */
static unsigned one_tied(unsigned char *to, uint64_t n, rnd *r)
{
    uint64_t stem = rnd_below(r, 8) ? rnd_below(r, n / 3 + 1) : 0;
    rnd letters = rnd_start(stem + 1);
    unsigned bytes = 24, more = (unsigned)rnd_below(r, 12);
    for (unsigned k = 0; k < bytes; k++)
        to[k] = (unsigned char)('a' + rnd_below(&letters, 26));
    if (rnd_below(r, 4) == 0)     /* a part of it alone */
        bytes -= (unsigned)rnd_below(r, 10);
    switch (rnd_below(r, 5)) {
    case 0:
        more = 0;
        break;
    case 1:
        memset(to + bytes, 0, more);
        break;
    case 2:                       /* further than marks reach */
        more += 40;
        memset(to + bytes, 'x', more);
        to[bytes + more - 1] = (unsigned char)('a' + rnd_below(r, 26));
        break;
    default:
        for (unsigned k = 0; k < more; k++)
            to[bytes + k] = (unsigned char)('a' + rnd_below(r, 3));
        break;
    }
    return bytes + more;
}

/* String i of its kind, at most ONE_MOST bytes. */
static unsigned one_text(texts_kind kind, uint64_t i, uint64_t n, unsigned char *to, rnd *r)
{
    static const char shared[] = "/srv/archive/projects/2026/sextant/measurements/of/everything/";
    unsigned bytes = 0;
    switch (kind) {
    case TEXTS_RANDOM:
        bytes = (unsigned)rnd_below(r, 21);
        for (unsigned k = 0; k < bytes; k++)
            to[k] = (unsigned char)rnd_next(r);
        break;
    case TEXTS_FEW_BYTES:
        bytes = (unsigned)rnd_below(r, 24);
        for (unsigned k = 0; k < bytes; k++)
            to[k] = rnd_below(r, 5) ? 0 : 0xff;
        break;
    case TEXTS_EQUAL:
        bytes = 37;
        memset(to, 'e', bytes);
        break;
    case TEXTS_ZEROS:
        bytes = (unsigned)(i % ONE_MOST);
        memset(to, 0, bytes);
        break;
    case TEXTS_NESTED:
        bytes = (unsigned)(i * 7 / 5 % ONE_MOST);
        for (unsigned k = 0; k < bytes; k++)
            to[k] = (unsigned char)('a' + k % 3);
        break;
    case TEXTS_PATHS:
        memcpy(to, shared, sizeof shared - 1);
        bytes = sizeof shared - 1;
        for (unsigned level = 0; level < 3; level++) {
            bytes = add_syllables((char *)to, bytes, 3, r);
            to[bytes++] = '/';
        }
        bytes += (unsigned)sprintf((char *)to + bytes, "file%05u.txt", (unsigned)rnd_below(r, n));
        break;
    case TEXTS_WORDS:
        bytes = add_syllables((char *)to, 0, 6, r);
        break;
    case TEXTS_DUPLICATES:
        bytes = (unsigned)sprintf((char *)to, "the same and long beginning %03u",
                                  (unsigned)rnd_below(r, n / 20 + 1));
        break;
    case TEXTS_TIED:
        bytes = one_tied(to, n, r);
        break;
    case TEXTS_WIDE:
        to[0] = (unsigned char)i;
        memcpy(to + 1, "and the same", 12);
        to[13] = (unsigned char)rnd_below(r, 3);
        bytes = 14;
        break;
    default:
        break;
    }
    return bytes;
}

texts texts_make(texts_kind kind, uint64_t n, unsigned offset_bytes, rnd *r)
{
    unsigned char *data = need(n * ONE_MOST + 1);
    text *of = need((n + 1) * sizeof *of);
    for (uint64_t i = 0; i < n; i++) {
        of[i].data = data + i * ONE_MOST;
        of[i].bytes = one_text(kind, i, n, data + i * ONE_MOST, r);
    }
    for (uint64_t i = n; i-- > 1;) {              /* in any order */
        uint64_t j = rnd_below(r, i + 1);
        text t = of[i];
        of[i] = of[j];
        of[j] = t;
    }
    texts t = texts_from(n, of, offset_bytes);
    free(of);
    free(data);
    return t;
}

texts texts_near(const texts *keys, uint64_t n, unsigned offset_bytes, rnd *r)
{
    text *of = need((n + 1) * sizeof *of);
    unsigned char **own = need((n + 1) * sizeof *own);
    for (uint64_t i = 0; i < n; i++) {
        text k = keys->n ? keys->of[rnd_below(r, keys->n)] : (text){ NULL, 0 };
        own[i] = need(k.bytes + 2);
        if (k.bytes)
            memcpy(own[i], k.data, k.bytes);
        switch (rnd_below(r, 6)) {
        case 0:                   /* shorter */
            k.bytes = k.bytes ? rnd_below(r, k.bytes) : 0;
            break;
        case 1:                   /* longer */
            own[i][k.bytes++] = (unsigned char)(rnd_below(r, 2) ? 0 : rnd_next(r));
            break;
        case 2:                   /* another byte somewhere */
            if (k.bytes)
                own[i][rnd_below(r, k.bytes)] = (unsigned char)rnd_next(r);
            break;
        case 3:                   /* the next one, or the one before */
            if (k.bytes)
                own[i][k.bytes - 1] += rnd_below(r, 2) ? 1 : 255;
            break;
        default:
            break;
        }
        of[i] = (text){ own[i], k.bytes };
    }
    texts t = texts_from(n, of, offset_bytes);
    for (uint64_t i = 0; i < n; i++)
        free(own[i]);
    free(own);
    free(of);
    return t;
}

/* ---- answers ------------------------------------------------------------------------ */

text_case text_case_of(const texts *keys, const uint64_t *rows)
{
    return (text_case){ .keys = keys, .rows = rows,
                        .truth = text_oracle_new(keys->n, keys->of, rows) };
}

void text_case_free(text_case *c)
{
    text_oracle_free(c->truth);
}

sx_status text_build(const text_case *c, sx_device *dev, const char *spec, const sx_call *call,
                     sx_index **out)
{
    sx_column keys = texts_column(c->keys);
    sx_column rows = column(SX_U64, c->keys->n, c->rows);
    return sx_build(out, dev, spec, &keys, c->rows ? &rows : NULL, call);
}

void text_note(text_case *c, const char *verb)
{
    for (unsigned i = 0; sx_verb_at(i); i++)
        if (strcmp(sx_verb_at(i), verb) == 0)
            c->verbs |= 1u << i;
}

answers answers_new(uint64_t n, uint64_t bytes, unsigned offset_bytes)
{
    answers a = { .data = guard_new(bytes + 1), .offsets = guard_new((n + 1) * offset_bytes) };
    a.given = (sx_column){ .type = SX_STR, .n = n, .bytes = bytes, .offset_bytes = offset_bytes,
                           .data = guard_fit(&a.data, bytes, true),
                           .offsets = guard_fit(&a.offsets, (n + 1) * offset_bytes, true) };
    return a;
}

void answers_free(answers *a)
{
    guard_free(&a->data);
    guard_free(&a->offsets);
}

uint64_t offset_of(const answers *a, uint64_t i)
{
    uint64_t x = 0;
    memcpy(&x, a->offsets.data + i * a->given.offset_bytes, a->given.offset_bytes);
    return x;
}

const char *compare_answers(text_case *c, const answers *a, uint64_t n, const text *want,
                            const char *what)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (offset_of(a, i) != at)
            return WRONG("%s: string %llu begins at %llu, not %llu", what, (unsigned long long)i,
                         (unsigned long long)offset_of(a, i), (unsigned long long)at);
        if (want[i].bytes && memcmp(a->data.data + at, want[i].data, want[i].bytes) != 0)
            return WRONG("%s: another string %llu", what, (unsigned long long)i);
        at += want[i].bytes;
    }
    if (offset_of(a, n) != at)
        return WRONG("%s: strings end at %llu, not %llu", what,
                     (unsigned long long)offset_of(a, n), (unsigned long long)at);
    if (!guard_intact(&a->data) || !guard_intact(&a->offsets))
        return WRONG("%s: writes outside of its output", what);
    return NULL;
}

typedef sx_status point_fn(const sx_index *ix, const sx_column *q, sx_column *rows,
                           sx_column *keys, const sx_call *call);

static sx_status key_at(const sx_index *ix, const sx_column *q, sx_column *rows, sx_column *keys,
                        const sx_call *call)
{
    return sx_key_at(ix, q, keys, rows, call);
}

/* Rows and strings of n queries, in two passes; where[i] is the position of each, or none. */
static const char *ask_keys(text_case *c, const sx_index *ix, point_fn *fn, const char *verb,
                            const sx_column *q, const uint64_t *where, unsigned offset_bytes)
{
    uint64_t n = q->n, bytes = 0, *rows = need((n + 1) * sizeof *rows);
    text *want = need((n + 1) * sizeof *want);
    const char *wrong = NULL;
    for (uint64_t i = 0; i < n; i++) {
        want[i] = where[i] == ORACLE_NONE ? (text){ NULL, 0 } : c->truth->keys[where[i]];
        bytes += want[i].bytes;
        rows[i] = 4711;
    }
    answers a = answers_new(n, bytes, offset_bytes);
    sx_column out = column(SX_U64, n, rows);
    if (bytes > 0) {              /* the first pass tells how much is needed */
        a.given.bytes = 0;
        a.given.data = NULL;
        sx_status st = fn(ix, q, &out, &a.given, NULL);
        if (st != SX_ESPACE || offset_of(&a, n) != bytes || !strstr(sx_detail(), "needed"))
            wrong = WRONG("%s: status %d without space, %llu bytes needed, not %llu: %s", verb,
                          (int)st, (unsigned long long)offset_of(&a, n), (unsigned long long)bytes,
                          sx_detail());
        for (uint64_t i = 0; i < n && !wrong; i++)
            if (rows[i] != 4711)
                wrong = WRONG("%s: rows are written without space for keys", verb);
        a.given.bytes = bytes;
        a.given.data = a.data.data;
    }
    if (!wrong && fn(ix, q, &out, &a.given, NULL) != SX_OK)
        wrong = WRONG("%s: %s", verb, sx_detail());
    for (uint64_t i = 0; i < n && !wrong; i++)
        if (rows[i] != (where[i] == ORACLE_NONE ? SX_MISS : c->truth->rows[where[i]]))
            wrong = WRONG("%s: query %llu has row %llu", verb, (unsigned long long)i,
                          (unsigned long long)rows[i]);
    if (!wrong)
        wrong = compare_answers(c, &a, n, want, verb);
    if (!wrong && fn(ix, q, NULL, &a.given, NULL) != SX_OK)
        wrong = WRONG("%s without rows: %s", verb, sx_detail());
    if (!wrong)
        wrong = compare_answers(c, &a, n, want, verb);
    if (!wrong)
        text_note(c, verb);
    answers_free(&a);
    free(rows);
    free(want);
    return wrong;
}

static const char *ask_points(text_case *c, const sx_index *ix, const texts *q, rnd *r)
{
    const text_oracle *o = c->truth;
    uint64_t n = q->n, *got = need((n + 1) * sizeof *got), *where = need((n + 1) * sizeof *where);
    sx_column queries = texts_column(q), out = column(SX_U64, n, got);
    const char *wrong = NULL;
    if (sx_get(ix, &queries, &out, NULL) != SX_OK)
        wrong = WRONG("get: %s", sx_detail());
    for (uint64_t i = 0; i < n && !wrong; i++)
        if (got[i] != text_get(o, q->of[i]))
            wrong = WRONG("get: query %llu has row %llu, not %llu", (unsigned long long)i,
                          (unsigned long long)got[i],
                          (unsigned long long)text_get(o, q->of[i]));
    if (!wrong)
        text_note(c, "get");
    for (int side = 0; side < 2 && !wrong; side++) {
        if (sx_rank(ix, &queries, side ? SX_RIGHT : SX_LEFT, &out, NULL) != SX_OK)
            wrong = WRONG("rank: %s", sx_detail());
        for (uint64_t i = 0; i < n && !wrong; i++)
            if (got[i] != text_rank(o, q->of[i], side))
                wrong = WRONG("rank %d: query %llu has %llu, not %llu", side,
                              (unsigned long long)i, (unsigned long long)got[i],
                              (unsigned long long)text_rank(o, q->of[i], side));
        if (!wrong)
            text_note(c, "rank");
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t rank = text_rank(o, q->of[i], 1);
        where[i] = rank ? rank - 1 : ORACLE_NONE;
    }
    if (!wrong)
        wrong = ask_keys(c, ix, sx_floor, "floor", &queries, where, rnd_below(r, 2) ? 4 : 8);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t rank = text_rank(o, q->of[i], 0);
        where[i] = rank < o->n ? rank : ORACLE_NONE;
    }
    if (!wrong)
        wrong = ask_keys(c, ix, sx_ceil, "ceil", &queries, where, rnd_below(r, 2) ? 4 : 8);
    for (uint64_t i = 0; i < n; i++) {
        got[i] = rnd_below(r, o->n + 3);
        where[i] = got[i] < o->n ? got[i] : ORACLE_NONE;
    }
    if (!wrong)
        wrong = ask_keys(c, ix, key_at, "key_at", &out, where, rnd_below(r, 2) ? 4 : 8);
    free(got);
    free(where);
    return wrong;
}

/* A question whose answers are lists: of ranges, or of prefixes. */
typedef struct {
    const char *verb;
    uint64_t n;
    const sx_ranges *ranges;
    const sx_prefixes *prefixes;  /* or NULL */
} list_ask;

static sx_status ask_list(const list_ask *a, const sx_index *ix, sx_column *first, sx_column *rows,
                          sx_column *keys)
{
    return a->prefixes ? sx_prefix(ix, a->prefixes, first, rows, keys, NULL)
                       : sx_range(ix, a->ranges, first, rows, keys, NULL);
}

/* Rows and keys of lists, first with space for a byte too few. */
static const char *compare_lists(text_case *c, const sx_index *ix, const list_ask *ask,
                                 const oracle_span *want, unsigned offset_bytes)
{
    uint64_t n = ask->n, total = 0, bytes = 0, at = 0;
    uint64_t *first = need((n + 1) * sizeof *first), *rows;
    text *strings;
    const char *wrong = NULL;
    for (uint64_t i = 0; i < n; i++)
        total += want[i].count;
    rows = need((total + 1) * sizeof *rows);
    strings = need((total + 1) * sizeof *strings);
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < want[i].count; k++) {
            strings[at] = c->truth->keys[want[i].first + k];
            bytes += strings[at++].bytes;
        }
    answers a = answers_new(total, bytes, offset_bytes);
    sx_column to = column(SX_U64, n + 1, first), out = column(SX_U64, total, rows);
    if (bytes > 0) {
        a.given.bytes = bytes - 1;
        rows[0] = 4711;
        if (ask_list(ask, ix, &to, &out, &a.given) != SX_ESPACE ||
            offset_of(&a, total) != bytes || first[n] != total || rows[0] != 4711 ||
            strncmp(sx_detail(), ask->verb, strlen(ask->verb)) != 0)
            wrong = WRONG("%s: a byte too few, and not SX_ESPACE with offsets alone: %s", ask->verb,
                          sx_detail());
        a.given.bytes = bytes;
    }
    if (!wrong && ask_list(ask, ix, &to, &out, &a.given) != SX_OK)
        wrong = WRONG("%s: %s", ask->verb, sx_detail());
    at = 0;
    for (uint64_t i = 0; i <= n && !wrong; i++) {
        if (first[i] != at)
            wrong = WRONG("%s: %llu begins at %llu, not %llu", ask->verb, (unsigned long long)i,
                          (unsigned long long)first[i], (unsigned long long)at);
        for (uint64_t k = 0; i < n && k < want[i].count && !wrong; k++, at++)
            if (rows[at] != c->truth->rows[want[i].first + k])
                wrong = WRONG("%s: %llu has another row %llu", ask->verb, (unsigned long long)i,
                              (unsigned long long)k);
    }
    if (!wrong)
        wrong = compare_answers(c, &a, total, strings, ask->verb);
    answers_free(&a);
    free(first);
    free(rows);
    free(strings);
    return wrong;
}

static const char *ask_ranges(text_case *c, const sx_index *ix, const texts *lo, const texts *hi,
                              uint64_t limit, uint32_t last, rnd *r)
{
    uint64_t n = lo->n, bytes = (n + 1) * sizeof(uint64_t);
    uint64_t *counts = need(bytes), *min = need(bytes), *max = need(bytes), *sum = need(bytes);
    oracle_span *want = need((n + 1) * sizeof *want);
    sx_column from = texts_column(lo), to = texts_column(hi);
    sx_column out[4] = { column(SX_U64, n, counts), column(SX_U64, n, min), column(SX_U64, n, max),
                         column(SX_U64, n, sum) };
    sx_ranges ranges = { .size = sizeof ranges, .lo = &from, .hi = &to, .limit = limit,
                         .last = last };
    sx_aggregates all = { .size = sizeof all, .min = &out[1], .max = &out[2], .sum = &out[3] };
    const char *wrong = NULL;
    for (uint64_t i = 0; i < n; i++)
        want[i] = text_range(c->truth, lo->of[i], hi->of[i], limit, (int)last);
    if (sx_range_count(ix, &ranges, &out[0], NULL) != SX_OK ||
        sx_range_aggregate(ix, &ranges, &all, NULL) != SX_OK)
        wrong = WRONG("ranges: %s", sx_detail());
    for (uint64_t i = 0; i < n && !wrong; i++)
        if (counts[i] != want[i].count || min[i] != want[i].min || max[i] != want[i].max ||
            sum[i] != want[i].sum)
            wrong = WRONG("range %llu: count %llu, not %llu; or an aggregate", (unsigned long long)i,
                          (unsigned long long)counts[i], (unsigned long long)want[i].count);
    if (!wrong) {
        text_note(c, "range_count");
        text_note(c, "aggregate");
        list_ask list = { "sx_range", n, &ranges, NULL };
        wrong = compare_lists(c, ix, &list, want, rnd_below(r, 2) ? 4 : 8);
    }
    if (!wrong) {
        text_note(c, "range_rows");
        text_note(c, "range_keys");
    }
    free(counts);
    free(min);
    free(max);
    free(sum);
    free(want);
    return wrong;
}

/* The beginnings of some strings, which may be empty; the last one is longer than all keys. */
static texts some_prefixes(const texts *near, uint64_t n, rnd *r)
{
    text *of = need((n + 1) * sizeof *of);
    uint64_t most = 1;
    for (uint64_t i = 0; i < near->n; i++)
        most = near->of[i].bytes >= most ? near->of[i].bytes + 1 : most;
    unsigned char *zeros = need(most + 1);
    memset(zeros, 0, most);
    for (uint64_t i = 0; i < n; i++) {
        of[i] = near->of[rnd_below(r, near->n)];
        of[i].bytes -= rnd_below(r, of[i].bytes + 1);
    }
    of[n] = (text){ zeros, most };
    texts some = texts_from(n + 1, of, rnd_below(r, 2) ? 4 : 8);
    free(zeros);
    free(of);
    return some;
}

static const char *ask_prefixes(text_case *c, const sx_index *ix, const texts *q, uint64_t limit,
                                uint32_t last, rnd *r)
{
    uint64_t n = q->n, *first = need((n + 1) * sizeof *first), total = 0;
    oracle_span *want = need(n * sizeof *want);
    sx_column of = texts_column(q), to = column(SX_U64, n + 1, first);
    sx_prefixes prefixes = { .size = sizeof prefixes, .of = &of, .limit = limit, .last = last };
    list_ask list = { "sx_prefix", n, NULL, &prefixes };
    const char *wrong = NULL;
    if (sx_prefix(ix, &prefixes, &to, NULL, NULL, NULL) != SX_OK)
        wrong = WRONG("prefix: %s", sx_detail());
    for (uint64_t i = 0; i < n && !wrong; i++) {
        want[i] = text_prefix(c->truth, q->of[i]);
        if (limit && want[i].count > limit) {
            want[i].first += last ? want[i].count - limit : 0;
            want[i].count = limit;
        }
        if (first[i] != total || first[i + 1] - first[i] != want[i].count)
            wrong = WRONG("prefix %llu: %llu keys, not %llu", (unsigned long long)i,
                          (unsigned long long)(first[i + 1] - first[i]),
                          (unsigned long long)want[i].count);
        total += want[i].count;
    }
    if (!wrong)
        wrong = compare_lists(c, ix, &list, want, rnd_below(r, 2) ? 4 : 8);
    if (!wrong)
        text_note(c, "prefix");
    free(first);
    free(want);
    return wrong;
}

const char *text_ask(text_case *c, const sx_index *ix, uint64_t n, rnd *r)
{
    sx_index_info info = { .size = sizeof info };
    const char *wrong = NULL;
    if (sx_describe(ix, &info) != SX_OK || info.n != c->truth->n || info.key_type != SX_STR ||
        info.max_row != c->truth->max_row)
        return WRONG("describe");
    if (sx_check(ix, NULL) != SX_OK)
        return WRONG("check: %s", sx_detail());
    text_note(c, "check");
    texts q = texts_near(c->keys, n, rnd_below(r, 2) ? 4 : 8, r);
    wrong = ask_points(c, ix, &q, r);
    texts lo = texts_near(c->keys, n / 8 + 1, 8, r), hi = texts_near(c->keys, n / 8 + 1, 4, r);
    for (unsigned mode = 0; mode < 3 && !wrong; mode++)
        wrong = ask_ranges(c, ix, &lo, &hi, mode ? 3 : 0, mode == 2, r);
    texts few = some_prefixes(&q, n / 32 + 1, r);
    for (unsigned mode = 0; mode < 3 && !wrong; mode++)
        wrong = ask_prefixes(c, ix, &few, mode ? 3 : 0, mode == 2, r);
    if (!wrong)
        wrong = text_climb(c, ix, NULL, &q, r);
    texts_free(&few);
    texts_free(&q);
    texts_free(&lo);
    texts_free(&hi);
    return wrong;
}
