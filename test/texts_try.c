/* texts_try.c - strings in indexes of every spec, with columns wherever they can be; and in damaged
 * ones. See texts.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sxfile.h"
#include "texts.h"

/* ---- columns in device memory ----------------------------------------------------------- */

sx_column text_there(sx_device *dev, sx_column host)
{
    sx_column c;
    sx_status st = host.type == SX_STR
                       ? sx_column_strings(&c, dev, host.n, host.bytes, host.offset_bytes)
                       : sx_column_new(&c, dev, host.type, host.n);
    if (st != SX_OK || sx_column_copy(&c, &host, dev) != SX_OK)
        die("a column in device memory: %s", sx_detail());
    return c;
}

void text_fetch(sx_device *dev, const sx_column *from, sx_column *to)
{
    sx_column other = text_there(dev, *from);
    if (sx_column_copy(to, &other, dev) != SX_OK)
        die("a column from device memory: %s", sx_detail());
    sx_column_free(&other, dev);
}

static const char *compare_numbers(text_case *c, sx_device *dev, const sx_column *got,
                                   const uint64_t *want, sx_status st, const char *verb)
{
    uint64_t n = got->n, *here = need((n + 1) * sizeof *here);
    sx_column to = column(SX_U64, n, here);
    const char *wrong = st == SX_OK ? NULL : WRONG("%s in device memory: %s", verb, sx_detail());
    if (!wrong)
        text_fetch(dev, got, &to);
    for (uint64_t i = 0; i < n && !wrong; i++)
        if (here[i] != want[i])
            wrong = WRONG("%s in device memory: query %llu has %llu, not %llu", verb,
                          (unsigned long long)i, (unsigned long long)here[i],
                          (unsigned long long)want[i]);
    free(here);
    return wrong;
}

/* Questions with numbers as answers. */
static const char *ask_numbers_there(text_case *c, const sx_index *ix, sx_device *dev,
                                     const texts *q, const texts *hi, const sx_call *call)
{
    uint64_t n = q->n, *want = need((n + 1) * sizeof *want), *sums = need((n + 1) * sizeof *sums);
    sx_column from = text_there(dev, texts_column(q)), to = text_there(dev, texts_column(hi));
    sx_column out = text_there(dev, column(SX_U64, n, want));
    sx_ranges ranges = { .size = sizeof ranges, .lo = &from, .hi = &to, .limit = 9 };
    sx_aggregates sum = { .size = sizeof sum, .sum = &out };
    const char *wrong;
    for (uint64_t i = 0; i < n; i++)
        want[i] = text_get(c->truth, q->of[i]);
    wrong = compare_numbers(c, dev, &out, want, sx_get(ix, &from, &out, call), "get");
    for (uint64_t i = 0; i < n; i++)
        want[i] = text_rank(c->truth, q->of[i], 1);
    if (!wrong)
        wrong = compare_numbers(c, dev, &out, want, sx_rank(ix, &from, SX_RIGHT, &out, call),
                                "rank");
    for (uint64_t i = 0; i < n; i++) {
        oracle_span s = text_range(c->truth, q->of[i], hi->of[i], 9, 0);
        want[i] = s.count;
        sums[i] = s.sum;
    }
    if (!wrong)
        wrong = compare_numbers(c, dev, &out, want, sx_range_count(ix, &ranges, &out, call),
                                "range_count");
    if (!wrong)
        wrong = compare_numbers(c, dev, &out, sums, sx_range_aggregate(ix, &ranges, &sum, call),
                                "aggregate");
    if (!wrong)
        text_note(c, call ? "streams" : "device_columns");
    sx_column_free(&from, dev);
    sx_column_free(&to, dev);
    sx_column_free(&out, dev);
    free(want);
    free(sums);
    return wrong;
}

/* Rows and strings at or below queries, all in device memory; first with a byte too few. */
static const char *ask_strings_there(text_case *c, const sx_index *ix, sx_device *dev,
                                     const texts *q, unsigned offset_bytes)
{
    uint64_t n = q->n, bytes = 0, *row = need((n + 1) * sizeof *row);
    text *want = need((n + 1) * sizeof *want);
    const char *wrong = NULL;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t rank = text_rank(c->truth, q->of[i], 1);
        want[i] = rank ? c->truth->keys[rank - 1] : (text){ NULL, 0 };
        row[i] = rank ? c->truth->rows[rank - 1] : SX_MISS;
        bytes += want[i].bytes;
    }
    answers a = answers_new(n, bytes, offset_bytes);
    sx_column from = text_there(dev, texts_column(q)), rows = text_there(dev, column(SX_U64, n, row));
    sx_column keys = a.given;
    if (sx_column_strings(&keys, dev, n, bytes, offset_bytes) != SX_OK)
        die("%s", sx_detail());
    keys.bytes -= bytes > 0;
    if (bytes > 0 && sx_floor(ix, &from, &rows, &keys, NULL) != SX_ESPACE)
        wrong = WRONG("floor in device memory: a byte too few, and not SX_ESPACE");
    keys.bytes = bytes;
    if (!wrong && bytes > 0) {    /* offsets are there */
        text_fetch(dev, &keys, &a.given);
        if (offset_of(&a, n) != bytes)
            wrong = WRONG("floor in device memory: %llu bytes needed, not %llu",
                          (unsigned long long)offset_of(&a, n), (unsigned long long)bytes);
    }
    if (!wrong)
        wrong = compare_numbers(c, dev, &rows, row, sx_floor(ix, &from, &rows, &keys, NULL),
                                "floor");
    if (!wrong) {
        text_fetch(dev, &keys, &a.given);
        wrong = compare_answers(c, &a, n, want, "floor in device memory");
    }
    sx_column_free(&from, dev);
    sx_column_free(&rows, dev);
    sx_column_free(&keys, dev);
    answers_free(&a);
    free(row);
    free(want);
    return wrong;
}

/* Questions whose answers are strings, in a call that is queued. */
enum { QUEUED_FLOOR, QUEUED_CEIL, QUEUED_KEY_AT, QUEUED_KINDS };

static sx_status queue_strings(int kind, const sx_index *ix, const sx_column *q, sx_column *rows,
                               sx_column *keys, const sx_call *call)
{
    return kind == QUEUED_FLOOR  ? sx_floor(ix, q, rows, keys, call)
           : kind == QUEUED_CEIL ? sx_ceil(ix, q, rows, keys, call)
                                 : sx_key_at(ix, q, keys, rows, call);
}

/* The position that answers query i; ranks are those of QUEUED_KEY_AT. */
static uint64_t queued_position(const text_oracle *o, int kind, const texts *q, const uint64_t *ranks,
                                uint64_t i)
{
    uint64_t at = kind == QUEUED_KEY_AT ? ranks[i] : text_rank(o, q->of[i], kind == QUEUED_FLOOR);
    at -= kind == QUEUED_FLOOR;   /* 0 - 1 is past the end */
    return at < o->n ? at : ORACLE_NONE;
}

/* Rows and strings by a queued call: its status word tells what happened. First a byte is missing,
 * and no byte is written. */
static const char *ask_strings_queued(text_case *c, const sx_index *ix, sx_device *dev, int kind,
                                      const texts *q, unsigned offset_bytes, rnd *r)
{
    uint64_t n = q->n, bytes = 0, size = (n + 1) * sizeof(uint64_t);
    uint64_t *row = need(size), *rank = need(size), *any = memset(need(size), 0x11, size);
    uint32_t said = 99;
    text *want = need((n + 1) * sizeof *want);
    const char *wrong = NULL;
    for (uint64_t i = 0; i < n; i++) {
        rank[i] = rnd_below(r, c->truth->n + 3);
        uint64_t at = queued_position(c->truth, kind, q, rank, i);
        want[i] = at == ORACLE_NONE ? (text){ NULL, 0 } : c->truth->keys[at];
        row[i] = at == ORACLE_NONE ? SX_MISS : c->truth->rows[at];
        bytes += want[i].bytes;
    }
    answers a = answers_new(n, bytes, offset_bytes);
    if (bytes > 0)
        memset(a.given.data, 0x5a, bytes);
    sx_column from = text_there(dev, kind == QUEUED_KEY_AT ? column(SX_U64, n, rank) : texts_column(q));
    sx_column rows = text_there(dev, column(SX_U64, n, any));
    sx_column status_here = column(SX_U32, 1, &said), status = text_there(dev, status_here);
    sx_column keys;
    sx_call call = { .size = sizeof call, .stream = (void *)2, .status = status.data };
    if (sx_column_strings(&keys, dev, n, bytes, offset_bytes) != SX_OK ||
        sx_column_copy(&keys, &a.given, dev) != SX_OK)
        die("%s", sx_detail());
    for (unsigned missing = bytes > 0; !wrong; missing--) {
        keys.bytes = bytes - missing;
        sx_status st = queue_strings(kind, ix, &from, &rows, &keys, &call);
        keys.bytes = bytes;
        text_fetch(dev, &status, &status_here);
        text_fetch(dev, &keys, &a.given);
        if (st != SX_OK || said != (missing ? SX_ESPACE : SX_OK))
            wrong = WRONG("queued %d: status %d, %u later, with %u bytes too few: %s", kind, (int)st,
                          said, missing, sx_detail());
        else if (offset_of(&a, n) != bytes)
            wrong = WRONG("queued %d: %llu bytes needed, not %llu", kind,
                          (unsigned long long)offset_of(&a, n), (unsigned long long)bytes);
        for (uint64_t i = 0; missing && i < bytes && !wrong; i++)
            if (((unsigned char *)a.given.data)[i] != 0x5a)
                wrong = WRONG("queued %d: bytes are written without space for all", kind);
        if (!missing)
            break;
    }
    if (!wrong)
        wrong = compare_answers(c, &a, n, want, "queued strings");
    if (!wrong)
        wrong = compare_numbers(c, dev, &rows, row, SX_OK, "queued strings");
    sx_column_free(&from, dev);
    sx_column_free(&rows, dev);
    sx_column_free(&keys, dev);
    sx_column_free(&status, dev);
    answers_free(&a);
    free(row);
    free(rank);
    free(any);
    free(want);
    return wrong;
}

const char *text_ask_there(text_case *c, const sx_index *ix, sx_device *dev, bool streams,
                           uint64_t n, rnd *r)
{
    sx_call call = { .size = sizeof call, .stream = (void *)2 };
    texts q = texts_near(c->keys, n, rnd_below(r, 2) ? 4 : 8, r);
    texts hi = texts_near(c->keys, n, rnd_below(r, 2) ? 4 : 8, r);
    const char *wrong = ask_numbers_there(c, ix, dev, &q, &hi, NULL);
    if (!wrong)
        wrong = ask_strings_there(c, ix, dev, &q, rnd_below(r, 2) ? 4 : 8);
    if (!wrong)
        wrong = text_climb(c, ix, dev, &q, r);
    if (!wrong && streams)
        wrong = ask_numbers_there(c, ix, dev, &q, &hi, &call);
    for (int kind = 0; kind < QUEUED_KINDS && !wrong && streams; kind++)
        wrong = ask_strings_queued(c, ix, dev, kind, &q, rnd_below(r, 2) ? 4 : 8, r);
    texts_free(&q);
    texts_free(&hi);
    return wrong;
}

/* ---- every kind of strings --------------------------------------------------------------- */

uint64_t *text_rows(uint64_t n, rnd *r)
{
    uint64_t *rows = need((n + 1) * sizeof *rows), few = rnd_below(r, 2);
    for (uint64_t i = 0; i < n; i++)
        rows[i] = few || rnd_below(r, 2) ? rnd_below(r, 1000) : rnd_next(r) >> 8;
    return rows;
}

void text_must(const char *wrong, const char *spec, const char *device, uint64_t n, int kind)
{
    if (wrong)
        fail_msg("%s on %s, %llu strings of kind %d: %s", spec, device, (unsigned long long)n, kind,
                 wrong);
}

static const uint64_t sizes[] = { 0, 1, 2, 3, 17, 300, 900 };

bool text_can_be(const char *family, const char *verb, const char *place, const char *device)
{
    sx_status st = sx_possible(family, SX_STR, verb, place, device);
    if (st != SX_OK && st != SX_ENOSYS)
        die("sx_possible: %s", sx_detail());
    return st == SX_OK;
}

void text_verbs(uint32_t done, const char *family, const char *place, const char *device)
{
    for (unsigned v = 0; sx_verb_at(v); v++)
        if (text_can_be(family, sx_verb_at(v), place, device) != (done >> v & 1))
            fail_msg("%s place=%s on %s: %s is %s", family, place, device, sx_verb_at(v),
                     done >> v & 1 ? "done, but can't be" : "not done, but can be");
}

static const char *through_a_file(text_case *c, const sx_index *ix, sx_device *dev, unsigned flags,
                                  rnd *r)
{
    char *path = temp_path("strings.sxt");
    sx_index *loaded = NULL;
    const char *wrong = NULL;
    if (sx_save(ix, path, NULL) != SX_OK || sx_load(&loaded, dev, path, flags, NULL) != SX_OK)
        wrong = sx_detail();
    if (!wrong)
        wrong = text_ask(c, loaded, 60, r);
    if (!wrong) {
        text_note(c, "save");
        text_note(c, "load");
    }
    sx_free(loaded);
    free(path);
    return wrong;
}

uint32_t text_try(const char *spec, sx_device *dev, const char *device, unsigned load,
                         bool there, rnd *r)
{
    static unsigned turn;
    uint32_t verbs = 0;
    const char *matrix = getenv("SX_MATRIX");
    int step = there && !(matrix && strcmp(matrix, "full") == 0) ? 3 : 1;
    for (int kind = (int)turn % step; kind < TEXTS_KINDS; kind += step) {
        uint64_t n = sizes[turn++ % COUNT_OF(sizes)];
        texts keys = texts_make(kind, n, turn % 2 ? 4 : 8, r);
        uint64_t *rows = turn % 3 ? text_rows(n, r) : NULL;
        text_case c = text_case_of(&keys, rows);
        sx_index *ix = NULL;
        if (text_build(&c, dev, spec, NULL, &ix) != SX_OK)
            text_must(sx_detail(), spec, device, n, kind);
        text_note(&c, "build");
        text_must(text_ask(&c, ix, turn % 4 ? 60 : 700, r), spec, device, n, kind);
        if (there)
            text_must(text_ask_there(&c, ix, dev, !(load & (SX_LOAD_HOST | SX_LOAD_HYBRID)),
                                turn % 4 ? 60 : 300, r), spec, device, n, kind);
        if (turn % 2)
            text_must(through_a_file(&c, ix, dev, load | turn / 2 % 4, r), spec, device, n, kind);
        verbs |= c.verbs;
        sx_free(ix);
        text_case_free(&c);
        texts_free(&keys);
        free(rows);
    }
    return verbs;
}

/* ---- damaged files --------------------------------------------------------------------- */

unsigned char *text_section(unsigned char *file, const char *name, uint64_t *bytes)
{
    for (uint32_t i = 0; i < get32(file + F_SECTIONS); i++) {
        unsigned char *e = file + F_TABLE + i * S_ENTRY;
        if (strcmp((char *)e + S_NAME, name) == 0) {
            *bytes = get64(e + S_BYTES);
            return file + get64(e + S_OFFSET);
        }
    }
    die("no section %s", name);
}

void text_damage(unsigned char *file, size_t bytes, unsigned which, rnd *r)
{
    static const char *const sections[] = { "offsets", "bytes", "groups", "marks", "keys" };
    uint64_t its, many = 1 + rnd_below(r, 12);
    unsigned char *at = text_section(file, sections[which % COUNT_OF(sections)], &its);
    while (many-- > 0) {
        uint64_t where = rnd_below(r, its) / 4 * 4;
        uint32_t x = rnd_below(r, 3) ? (uint32_t)rnd_next(r) : (uint32_t)rnd_below(r, 3) - 1;
        memcpy(at + where, &x, its - where < 4 ? its - where : 4);
    }
    seal_sections(file, bytes);
    seal_header(file, bytes);
}

/* Climbs through parents that are some of the queries. */
static void climb_anything(const sx_index *ix, const texts *q)
{
    sx_index_info info = { .size = sizeof info };
    assert_int_equal(sx_describe(ix, &info), SX_OK);
    if (info.n == 0 || info.max_row > 10000 || q->n == 0)
        return;
    uint64_t rows = info.max_row + 1, row[64];
    text *of = need(rows * sizeof *of);
    for (uint64_t i = 0; i < rows; i++)
        of[i] = q->of[i * 7 % q->n];
    texts parents = texts_from(rows, of, 4);
    sx_column queries = texts_column(q), above = texts_column(&parents);
    sx_column out = column(SX_U64, q->n, row);
    sx_climbs climbs = { .size = sizeof climbs, .of = &queries, .parents = &above };
    answers a = answers_new(64, 1 << 16, 8);
    sx_status st = sx_climb(ix, &climbs, &out, &a.given, NULL, NULL);
    assert_true(st == SX_OK || st == SX_ESPACE || (st == SX_EINVAL && strstr(sx_detail(), "circle")));
    answers_free(&a);
    texts_free(&parents);
    free(of);
}

void text_ask_anything(const sx_index *ix, const texts *q)
{
    uint64_t numbers[64], first[65], rank[64];
    sx_column queries = texts_column(q), out = column(SX_U64, q->n, numbers);
    sx_column to = column(SX_U64, q->n + 1, first), ranks = column(SX_U64, q->n, rank);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &queries, .hi = &queries, .limit = 5 };
    answers a = answers_new(64 * 5, 1 << 16, 8);
    assert_int_equal(sx_get(ix, &queries, &out, NULL), SX_OK);
    assert_int_equal(sx_rank(ix, &queries, SX_RIGHT, &out, NULL), SX_OK);
    for (uint64_t i = 0; i < q->n; i++)
        rank[i] = i * 3;
    sx_status st[] = { sx_floor(ix, &queries, &out, &a.given, NULL),
                       sx_ceil(ix, &queries, NULL, &a.given, NULL),
                       sx_key_at(ix, &ranks, &a.given, NULL, NULL),
                       sx_range(ix, &ranges, &to, NULL, &a.given, NULL) };
    for (size_t i = 0; i < COUNT_OF(st); i++)
        assert_true(st[i] == SX_OK || st[i] == SX_ESPACE);
    answers_free(&a);
    climb_anything(ix, q);
}
