/* texts_climb.c - climbs of strings, against an oracle. See texts.h. */
#include "texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARENTS_MOST 100000u
#define UNTOUCHED 4711u

/* One call, what it is to answer, and what it did. */
typedef struct {
    uint64_t n, bytes;            /* queries; bytes of their tops */
    uint64_t lost, first_lost;    /* queries that lead in circles */
    text *tops;
    uint64_t *rows, *got_rows;
    uint32_t *steps, *got_steps;
    answers keys;
} climbing;

/* The parent of each row: most keys have one below them, or (circles) anywhere; some are their own,
 * and some have one that nobody knows. */
static texts some_parents(const text_case *c, uint64_t rows, bool circles, rnd *r)
{
    const text_oracle *o = c->truth;
    text *of = need((rows + 1) * sizeof *of);
    texts near = texts_near(c->keys, 20, 4, r);
    for (uint64_t i = 0; i < rows; i++)
        of[i] = near.of[rnd_below(r, near.n)];
    for (uint64_t i = 0; i < o->n; i++) {
        uint64_t kind = rnd_below(r, 9);
        text *to = &of[o->rows[i]];
        *to = kind == 0 ? near.of[rnd_below(r, near.n)]
              : kind == 1 ? o->keys[i] : o->keys[circles ? rnd_below(r, o->n) : i / 3];
    }
    for (uint64_t i = 0; i < o->n && !circles; i++)       /* keys may share a row: no way leads up */
        if (text_compare(of[o->rows[i]], o->keys[i]) > 0)
            of[o->rows[i]] = o->keys[0];
    texts parents = texts_from(rows, of, rnd_below(r, 2) ? 4 : 8);
    texts_free(&near);
    free(of);
    return parents;
}

static climbing climbing_new(const text_case *c, const texts *parents, const texts *q, uint32_t limit,
                             rnd *r)
{
    uint64_t n = q->n;
    climbing k = { .n = n, .tops = need((n + 1) * sizeof *k.tops),
                   .rows = need((n + 1) * sizeof *k.rows), .got_rows = need((n + 1) * sizeof *k.rows),
                   .steps = need((n + 1) * sizeof *k.steps),
                   .got_steps = need((n + 1) * sizeof *k.steps) };
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = text_top(c->truth, parents->of, q->of[i], limit, &k.steps[i]);
        k.tops[i] = at == ORACLE_NONE ? (text){ NULL, 0 } : c->truth->keys[at];
        k.rows[i] = at == ORACLE_NONE ? SX_MISS : c->truth->rows[at];
        k.bytes += k.tops[i].bytes;
        if (k.steps[i] == ORACLE_CIRCLE && k.lost++ == 0)
            k.first_lost = i;
        k.got_rows[i] = UNTOUCHED;
        k.got_steps[i] = UNTOUCHED;
    }
    k.keys = answers_new(n, k.bytes, rnd_below(r, 2) ? 4 : 8);
    return k;
}

static void climbing_free(climbing *k)
{
    free(k->tops);
    free(k->rows);
    free(k->got_rows);
    free(k->steps);
    free(k->got_steps);
    answers_free(&k->keys);
}

/* Whether the status is right, and its sentence. */
static const char *check_end(text_case *c, const climbing *k, sx_status st)
{
    char words[80];
    if (k->lost == 0)
        return st == SX_OK ? NULL : WRONG("climb: %s", sx_detail());
    snprintf(words, sizeof words, "from key %llu on", (unsigned long long)k->first_lost);
    if (st != SX_EINVAL || !strstr(sx_detail(), words))
        return WRONG("climb: status %d, not a circle %s: %s", (int)st, words, sx_detail());
    snprintf(words, sizeof words, "%llu of %llu keys", (unsigned long long)k->lost,
             (unsigned long long)k->n);
    return strstr(sx_detail(), words) ? NULL : WRONG("climb: not %s: %s", words, sx_detail());
}

static const char *check_numbers(text_case *c, const climbing *k, bool untouched)
{
    for (uint64_t i = 0; i < k->n; i++) {
        uint64_t row = untouched ? UNTOUCHED : k->rows[i];
        uint32_t steps = untouched ? UNTOUCHED : k->steps[i];
        if (k->got_rows[i] != row || k->got_steps[i] != steps)
            return WRONG("climb [%llu]: row %llu, %u steps, not %llu, %u", (unsigned long long)i,
                         (unsigned long long)k->got_rows[i], k->got_steps[i], (unsigned long long)row,
                         steps);
    }
    return NULL;
}

/* Columns where they are for a call: those of the host, or copies in device memory. */
enum { OF, PARENTS, ROWS, STEPS, KEYS, COLUMNS };
typedef struct {
    sx_device *dev;
    sx_column host[COLUMNS], used[COLUMNS];
} columns;

static void columns_place(columns *all, rnd *r)
{
    for (unsigned i = 0; i < COLUMNS; i++)
        all->used[i] = all->dev && rnd_below(r, 4) ? text_there(all->dev, all->host[i]) : all->host[i];
}

/* Outputs come to the host; copies go back. */
static void columns_leave(columns *all)
{
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (all->used[i].place == SX_HOST)
            continue;
        if (i >= ROWS) {
            all->used[i].bytes = all->host[i].bytes;
            text_fetch(all->dev, &all->used[i], &all->host[i]);
        }
        sx_column_free(&all->used[i], all->dev);
    }
}

static const char *climb(text_case *c, const sx_index *ix, sx_device *dev, const texts *q,
                         const texts *parents, uint32_t limit, rnd *r)
{
    climbing k = climbing_new(c, parents, q, limit, r);
    columns all = { dev, { texts_column(q), texts_column(parents), column(SX_U64, k.n, k.got_rows),
                           column(SX_U32, k.n, k.got_steps), k.keys.given }, { { 0 } } };
    sx_climbs climbs = { .size = sizeof climbs, .of = &all.used[OF], .parents = &all.used[PARENTS],
                         .limit = limit };
    const char *wrong = NULL;
    if (k.bytes > 0) {            /* a byte too few: only offsets are written */
        columns_place(&all, r);
        all.used[KEYS].bytes--;
        sx_status st = sx_climb(ix, &climbs, &all.used[ROWS], &all.used[KEYS], &all.used[STEPS], NULL);
        all.used[KEYS].bytes++;
        columns_leave(&all);
        if (st != SX_ESPACE || offset_of(&k.keys, k.n) != k.bytes)
            wrong = WRONG("climb: status %d without space, %llu bytes needed, not %llu: %s", (int)st,
                          (unsigned long long)offset_of(&k.keys, k.n), (unsigned long long)k.bytes,
                          sx_detail());
        if (!wrong)
            wrong = check_numbers(c, &k, true);
    }
    for (unsigned with = 0; with < 2 && !wrong; with++) { /* without keys, and with them */
        columns_place(&all, r);
        wrong = check_end(c, &k, sx_climb(ix, &climbs, &all.used[ROWS], with ? &all.used[KEYS] : NULL,
                                          &all.used[STEPS], NULL));
        columns_leave(&all);
        if (!wrong)
            wrong = check_numbers(c, &k, false);
    }
    if (!wrong)
        wrong = compare_answers(c, &k.keys, k.n, k.tops, "climb");
    climbing_free(&k);
    return wrong;
}

const char *text_climb(text_case *c, const sx_index *ix, sx_device *dev, const texts *q, rnd *r)
{
    uint64_t rows = c->truth->n ? c->truth->max_row + 1 : 0;
    uint32_t limit = (uint32_t)rnd_below(r, 4);
    const char *wrong;
    if (rows > PARENTS_MOST)
        return NULL;
    texts parents = some_parents(c, rows, rnd_below(r, 2), r);
    wrong = climb(c, ix, dev, q, &parents, rnd_below(r, 2) ? limit : 0, r);
    if (!wrong)
        text_note(c, "climb");
    texts_free(&parents);
    return wrong;
}
