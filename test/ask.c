/* ask.c - see ask.h. */
#include "ask.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns, here and in device memory ---------------------------------- */

asker *asker_new(void)
{
    asker *a = need(sizeof *a);
    *a = (asker){ .r = rnd_start(test_seed()) };
    return a;
}

void asker_free(asker *a)
{
    asker_use(a, NULL);
    for (size_t i = 0; i < COUNT_OF(a->box); i++)
        guard_free(&a->box[i].host);
    free(a);
}

void asker_use(asker *a, sx_device *dev)
{
    if (a->dev == dev)
        return;
    for (size_t i = 0; i < COUNT_OF(a->box) && a->dev; i++) {
        sx_column_free(&a->box[i].there, a->dev);
        a->box[i].away = false;
    }
    for (size_t i = 0; i < COUNT_OF(a->mark) && a->dev; i++)
        sx_column_free(&a->mark[i], a->dev);
    a->dev = dev;
    for (size_t i = 0; i < COUNT_OF(a->mark) && a->dev; i++)
        if (sx_column_new(&a->mark[i], a->dev, SX_U32, 1) != SX_OK)
            die("a column: %s", sx_detail());
}

void ask_note(asker *a, const char *verb)
{
    unsigned i = 0;
    while (sx_verb_at(i) && strcmp(sx_verb_at(i), verb) != 0)
        i++;
    if (!sx_verb_at(i))
        die("no verb '%s'", verb);
    a->verbs |= 1u << i;
}

/* The same for a question with this many answers, and for the places of its columns. */
static void note_answers(asker *a, const char *verb, uint64_t answers)
{
    if (!answers)
        return;
    ask_note(a, verb);
    if (a->way == WAY_DEVICE || a->way == WAY_STREAM)
        ask_note(a, "device_columns");
    if (a->way == WAY_STREAM)
        ask_note(a, "streams");
}

/* Makes space for this many bytes in device memory. */
static void make_there(asker *a, box *b, uint64_t bytes)
{
    uint64_t n = bytes / 8 + 1;
    if (b->there.n >= n)
        return;
    sx_column_free(&b->there, a->dev);
    if (sx_column_new(&b->there, a->dev, SX_U64, n + n / 2) != SX_OK)
        die("a column: %s", sx_detail());
}

/* Elements of that memory, as a column. */
static sx_column part(const box *b, int type, uint64_t first, uint64_t n)
{
    sx_column c = column(type, n, (char *)b->there.data + first * oracle_width(type));
    c.place = SX_DEVICE;
    return c;
}

static void copy(asker *a, sx_column to, sx_column from)
{
    if (sx_column_copy(&to, &from, a->dev) != SX_OK)
        die("copying a column: %s", sx_detail());
}

/* Whether the next column of this question is in device memory. */
static bool is_there(asker *a)
{
    return a->way == WAY_DEVICE || a->way == WAY_STREAM ||
           (a->way == WAY_MIXED && rnd_below(&a->r, 2));
}

/* Whether that is memory of the device itself. The emulator's memory is the host's, so memory
 * between pages that trap can stand for it, too. */
static bool is_column(asker *a)
{
    return kernel_is_gpu() || rnd_below(&a->r, 3) == 0;
}

static sx_column input(asker *a, unsigned which, int type, uint64_t n, const void *data)
{
    box *b = &a->box[which];
    sx_column here = column(type, n, data);
    if (!is_there(a))
        return here;
    if (!is_column(a)) {
        here.place = SX_DEVICE;
        return here;
    }
    uint64_t before = rnd_below(&a->r, 4);      /* not always at the start of a line */
    make_there(a, b, (before + n) * oracle_width(type));
    copy(a, part(b, type, before, n), here);
    return part(b, type, before, n);
}

/* Space for exactly this many elements, which all are GUARD_FILL. */
static sx_column *output_space(asker *a, unsigned which, int type, uint64_t space)
{
    box *b = &a->box[which];
    size_t width = oracle_width(type);
    bool there = is_there(a);
    b->away = there && is_column(a);
    b->before = b->away ? rnd_below(&a->r, 4) : 0;
    uint64_t all = b->before + space + (b->away ? 5 : 0);
    unsigned char *data = guard_fit(&b->host, all * width, a->turn++ % 2);
    b->seen = column(type, space, data + b->before * width);
    b->given = b->seen;
    b->given.place = there ? SX_DEVICE : SX_HOST;
    if (b->away) {
        make_there(a, b, all * width);
        copy(a, part(b, type, 0, all), column(type, all, data));
        b->given = part(b, type, b->before, space);
    }
    return &b->given;
}

/* Space for n elements, sometimes with one more that must stay as it is. */
static sx_column *output(asker *a, unsigned which, int type, uint64_t n)
{
    return output_space(a, which, type, n + a->turn / 2 % 2);
}

static void fetch(asker *a, box *b)
{
    if (!b->away)
        return;
    uint64_t all = b->host.bytes / oracle_width(b->seen.type);
    copy(a, column(b->seen.type, all, b->host.data), part(b, b->seen.type, 0, all));
    b->away = false;
}

/* ---- looking at answers ----------------------------------------------- */

static const char *complain(asker *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *complain(asker *a, const char *format, ...)
{
    static const char *const ways[WAYS] = { "host", "device", "stream", "mixed" };
    va_list args;
    va_start(args, format);
    vsnprintf(a->why, sizeof a->why, format, args);
    va_end(args);
    size_t used = strlen(a->why);
    snprintf(a->why + used, sizeof a->why - used, " (%s columns%s%s%s)", ways[a->way],
             a->how.hints ? ", hint" : "", a->up ? ", ascending" : "",
             a->how.device_ns ? ", timed" : "");
    return a->why;
}

static bool untouched(const unsigned char *from, const unsigned char *to)
{
    for (; from < to; from++)
        if (*from != GUARD_FILL)
            return false;
    return true;
}

/* Nothing was written behind the n answers, nor before them. */
static const char *check_edges(asker *a, const char *what, unsigned which, uint64_t n)
{
    const box *b = &a->box[which];
    const unsigned char *first = b->seen.data;
    if (!guard_intact(&b->host) || !untouched(b->host.data, first) ||
        !untouched(first + n * oracle_width(b->seen.type), b->host.data + b->host.bytes))
        return complain(a, "%s: wrote outside its %" PRIu64 " answers",
                        what, n);
    return NULL;
}

static uint64_t number_at(const sx_column *c, uint64_t i)
{
    if (c->type == SX_U64)
        return ((const uint64_t *)c->data)[i];
    uint32_t x = ((const uint32_t *)c->data)[i];
    return x == SX_MISS32 ? ORACLE_NONE : x;
}

static const char *check_numbers(asker *a, const char *what,
                                 const uint64_t *want, uint64_t n)
{
    const sx_column *c = &a->box[BOX_NUMBERS].seen;
    for (uint64_t i = 0; i < n; i++)
        if (number_at(c, i) != want[i])
            return complain(a, "%s [%" PRIu64 " of %" PRIu64 "]: %" PRIu64
                            ", not %" PRIu64, what, i, n, number_at(c, i),
                            want[i]);
    return check_edges(a, what, BOX_NUMBERS, n);
}

/* Keys at places[i]; outputs without a place are as they were. */
static const char *check_keys(asker *a, const char *what, const oracle *truth,
                              const uint64_t *places, uint64_t n)
{
    const unsigned char *keys = a->box[BOX_KEYS].seen.data;
    for (uint64_t i = 0; i < n; i++) {
        const unsigned char *key = keys + i * truth->width;
        if (places[i] == ORACLE_NONE) {
            if (!untouched(key, key + truth->width))
                return complain(a, "%s: wrote key %" PRIu64 ", which has no"
                                " match", what, i);
        } else if (oracle_compare(truth->type, key,
                                  oracle_key(truth, places[i])) != 0) {
            return complain(a, "%s: key %" PRIu64 " is not the one at %"
                            PRIu64, what, i, places[i]);
        }
    }
    return check_edges(a, what, BOX_KEYS, n);
}

/* Every failure of a step ends the function with its sentence. */
#define TRY(step) do { \
        const char *why_ = (step); \
        if (why_) \
            return why_; \
    } while (0)

/* ---- one question ------------------------------------------------------- */

/* How the next question is asked, as far as the caller leaves it open. Its
 * columns come next, then the call, then end(). */
static const sx_call *begin(asker *a, const sx_call *call)
{
    a->how = (sx_call){ .size = sizeof a->how };
    if (call)
        memcpy(&a->how, call, call->size < sizeof *call ? call->size : sizeof *call);
    a->how.size = sizeof a->how;
    a->way = a->dev ? (ask_way)rnd_below(&a->r, WAYS) : WAY_HOST;
    if (a->way == WAY_STREAM && a->no_streams)
        a->way = WAY_DEVICE;
    a->ways[a->way]++;
    if (rnd_below(&a->r, 2))
        a->how.hints |= SX_ASCENDING;
    a->hinted += a->how.hints;
    a->ns = UINT64_MAX;
    if (a->way != WAY_STREAM) {
        if (rnd_below(&a->r, 4) == 0)
            a->how.device_ns = &a->ns;
        return &a->how;
    }
    /* The stream of this thread: calls that wait use it, too. */
    a->how.stream = (void *)2;
    if (rnd_below(&a->r, 4))
        a->how.status = output_space(a, BOX_STATUS, SX_U32, 1)->data;
    return &a->how;
}

/* A queued call is done when a later call on its stream is. Copies between columns in device
 * memory are made on that stream. */
static void wait_for_stream(asker *a)
{
    copy(a, a->mark[0], a->mark[1]);
}

static const char *wrong_status(asker *a, const char *what, sx_status got, sx_status want)
{
    return complain(a, "%s: status %d, not %d; detail: %s", what, (int)got,
                    (int)want, got == SX_OK ? "none" : sx_detail());
}

/* The call returned as it should, and its outputs come to the host. With a stream a lack of
 * space is found out later. */
static const char *end(asker *a, const char *what, sx_status got, sx_status want)
{
    bool queued = a->how.stream && want != SX_EINVAL;
    if (got != (queued ? SX_OK : want))
        return wrong_status(a, what, got, queued ? SX_OK : want);
    if (a->how.stream)
        wait_for_stream(a);
    for (size_t i = 0; i < COUNT_OF(a->box); i++)
        fetch(a, &a->box[i]);
    if (a->how.status) {
        uint32_t word = *(const uint32_t *)a->box[BOX_STATUS].seen.data;
        if (queued && word != (uint32_t)want)
            return complain(a, "%s: the status word is %u, not %d", what, word, (int)want);
        TRY(check_edges(a, "status word", BOX_STATUS, queued));
    }
    if (a->how.device_ns && got == SX_OK && a->ns == UINT64_MAX)
        return complain(a, "%s: device_ns was not set", what);
    return NULL;
}

sx_status ask_build(asker *a, const dataset *d, const char *spec, sx_index **out)
{
    begin(a, NULL);
    a->how.status = NULL;
    a->how.device_ns = NULL;      /* only questions take it */
    a->how.hints = 0;
    int row_type = d->row_kind == ROWS_U32 ? SX_U32 : SX_U64;
    sx_column keys = input(a, BOX_Q, d->type, d->n, d->keys.data), rows;
    bool given = !rows_are_positions(d->row_kind);
    if (given)
        rows = input(a, BOX_ROWS, row_type, d->n, d->rows.data);
    return sx_build(out, a->dev, spec, &keys, given ? &rows : NULL, &a->how);
}

/* ---- points ----------------------------------------------------------- */

/* A verb that gives the row, the key or both at one place per query. */
typedef sx_status verb(const sx_index *, const sx_column *, sx_column *,
                       sx_column *, const sx_call *);

static sx_status key_at(const sx_index *ix, const sx_column *in,
                        sx_column *rows, sx_column *keys, const sx_call *call)
{
    return sx_key_at(ix, in, keys, rows, call);
}

static const char *ask_places(asker *a, const char *what, verb *ask_verb,
                              const sx_index *ix, const oracle *truth,
                              const sx_column *from, const uint64_t *places,
                              int out_type, const sx_call *call)
{
    uint64_t n = from->n;
    unsigned which = a->turn / 4 % 3;     /* 0: both, 1: rows, 2: keys */
    const sx_call *how = begin(a, call);
    sx_column in = input(a, BOX_Q, from->type, n, from->data);
    sx_column *rows = output(a, BOX_NUMBERS, out_type, n);
    sx_column *keys = output(a, BOX_KEYS, truth->type, n);
    const sx_column *seen = &a->box[BOX_NUMBERS].seen;
    bool fits = out_type == SX_U64 || truth->max_row < SX_MISS32;
    sx_status want = fits || which == 2 ? SX_OK : SX_EINVAL;
    TRY(end(a, what, ask_verb(ix, &in, which == 2 ? NULL : rows,
                              which == 1 ? NULL : keys, how), want));
    if (want != SX_OK || which == 2)
        TRY(check_edges(a, what, BOX_NUMBERS, 0));
    if (want != SX_OK || which == 1)
        TRY(check_edges(a, what, BOX_KEYS, 0));
    if (want != SX_OK)
        return NULL;
    if (which != 1)
        TRY(check_keys(a, what, truth, places, n));
    if (which != 2) {
        for (uint64_t i = 0; i < n; i++) {
            uint64_t row = places[i] == ORACLE_NONE ? ORACLE_NONE
                                                    : truth->rows[places[i]];
            if (number_at(seen, i) != row)
                return complain(a, "%s: row %" PRIu64 " of %" PRIu64 ": %"
                                PRIu64 ", not %" PRIu64, what, i, n,
                                number_at(seen, i), row);
        }
        TRY(check_edges(a, what, BOX_NUMBERS, n));
    }
    note_answers(a, what, n);
    return NULL;
}

/* Ranks up to the end and behind it, as U32 or U64. */
static const char *ask_key_at(asker *a, const sx_index *ix, const dataset *d,
                              int out_type, const sx_call *call)
{
    uint64_t step = d->n / (d->queries + 1) + 1, n = 0;
    uint64_t count = d->n / step + 8;
    int type = a->turn % 2 ? SX_U32 : SX_U64;
    uint64_t top = type == SX_U32 ? UINT32_MAX : UINT64_MAX;
    uint64_t *places = need(count * sizeof *places);
    const uint64_t behind[] = { d->n, d->n + 1, top, top - 1 };
    for (uint64_t at = 0; at < d->n; at += step)
        places[n++] = at;
    for (size_t i = 0; i < COUNT_OF(behind); i++)
        places[n++] = behind[i];
    void *in = guard_fit(&a->box[BOX_Q].host, n * oracle_width(type), true);
    for (uint64_t i = 0; i < n; i++) {
        if (type == SX_U32)
            ((uint32_t *)in)[i] = (uint32_t)places[i];
        else
            ((uint64_t *)in)[i] = places[i];
        if (places[i] >= d->n)
            places[i] = ORACLE_NONE;
    }
    sx_column ranks = column(type, n, in);
    const char *why = ask_places(a, "key_at", key_at, ix, d->truth, &ranks,
                                 places, out_type, call);
    free(places);
    return why;
}

static const char *ask_numbers(asker *a, const char *what, const sx_index *ix, int side,
                               const sx_column *from, const uint64_t *answers, int out_type,
                               sx_status want, const sx_call *call)
{
    const sx_call *how = begin(a, call);
    sx_column q = input(a, BOX_Q, from->type, from->n, from->data);
    sx_column *out = output(a, BOX_NUMBERS, out_type, q.n);
    TRY(end(a, what, side < 0 ? sx_get(ix, &q, out, how)
                              : sx_rank(ix, &q, (sx_side)side, out, how), want));
    if (want != SX_OK)
        return check_edges(a, what, BOX_NUMBERS, 0);
    TRY(check_numbers(a, what, answers, q.n));
    note_answers(a, side < 0 ? "get" : "rank", q.n);
    return NULL;
}

const char *ask_points(asker *a, const sx_index *ix, const dataset *d,
                       int out_type, const sx_call *call)
{
    bool fits = out_type == SX_U64 || d->truth->max_row < SX_MISS32;
    bool up = a->up = rnd_below(&a->r, 3) == 0;
    sx_column q = column(d->type, d->queries, up ? d->up.q.data : d->q.data);

    TRY(ask_numbers(a, "get", ix, -1, &q, up ? d->up.get : d->get, out_type,
                    fits ? SX_OK : SX_EINVAL, call));
    TRY(ask_numbers(a, "rank left", ix, SX_LEFT, &q, up ? d->up.left : d->left, out_type, SX_OK,
                    call));
    TRY(ask_numbers(a, "rank right", ix, SX_RIGHT, &q, up ? d->up.right : d->right, out_type,
                    SX_OK, call));
    TRY(ask_places(a, "floor", sx_floor, ix, d->truth, &q, up ? d->up.floor : d->floor,
                   out_type, call));
    TRY(ask_places(a, "ceil", sx_ceil, ix, d->truth, &q, up ? d->up.ceil : d->ceil, out_type,
                   call));
    a->up = false;
    return ask_key_at(a, ix, d, out_type, call);
}

/* ---- ranges ----------------------------------------------------------- */

typedef struct {
    sx_column lo, hi;
    sx_ranges ranges;
} range_input;

/* The ranges of d as the input of the question that has begun. */
static const sx_ranges *input_ranges(asker *a, const dataset *d, uint64_t limit, uint32_t last,
                                     range_input *in)
{
    in->lo = input(a, BOX_LO, d->type, d->ranges, d->lo.data);
    in->hi = input(a, BOX_HI, d->type, d->ranges, d->hi.data);
    in->ranges = (sx_ranges){ sizeof in->ranges, &in->lo, &in->hi, limit, last, 0 };
    return &in->ranges;
}

static const char *check_first(asker *a, const dataset *d, const oracle_span *spans)
{
    const uint64_t *at = a->box[BOX_FIRST].seen.data;
    uint64_t sum = 0;
    for (uint64_t i = 0; i <= d->ranges; i++) {
        if (at[i] != sum)
            return complain(a, "range: first[%" PRIu64 "] is %" PRIu64
                            ", not %" PRIu64, i, at[i], sum);
        sum += i < d->ranges ? spans[i].count : 0;
    }
    return check_edges(a, "range first", BOX_FIRST, d->ranges + 1);
}

/* Rows and keys of all ranges, if they were wanted. */
static const char *check_hits(asker *a, const dataset *d, const oracle_span *spans, bool rows,
                              bool keys)
{
    const sx_column *r = &a->box[BOX_NUMBERS].seen;
    const unsigned char *k = a->box[BOX_KEYS].seen.data;
    uint64_t o = 0;
    for (uint64_t i = 0; i < d->ranges; i++)
        for (uint64_t j = 0; j < spans[i].count; j++, o++) {
            uint64_t place = spans[i].first + j;
            if (rows && number_at(r, o) != d->truth->rows[place])
                return complain(a, "range %" PRIu64 ": row %" PRIu64 " is %"
                                PRIu64 ", not %" PRIu64, i, j,
                                number_at(r, o), d->truth->rows[place]);
            if (keys && oracle_compare(d->type, k + o * d->width,
                                       oracle_key(d->truth, place)) != 0)
                return complain(a, "range %" PRIu64 ": key %" PRIu64
                                " is not the one at %" PRIu64, i, j, place);
        }
    TRY(check_edges(a, "range rows", BOX_NUMBERS, rows ? o : 0));
    return check_edges(a, "range keys", BOX_KEYS, keys ? o : 0);
}

static const char *ask_range_rows(asker *a, const sx_index *ix,
                                  const dataset *d, uint64_t limit, uint32_t last,
                                  const oracle_span *spans, int out_type,
                                  const sx_call *call)
{
    uint64_t hits = 0;
    unsigned which = a->turn / 4 % 3;     /* 0: both, 1: rows, 2: keys */
    bool fits = out_type == SX_U64 || d->truth->max_row < SX_MISS32;
    sx_status want = fits || which == 2 ? SX_OK : SX_EINVAL;
    range_input in;
    for (uint64_t i = 0; i < d->ranges; i++)
        hits += spans[i].count;

    /* 1. Sizes. */
    const sx_call *how = begin(a, call);
    const sx_ranges *ranges = input_ranges(a, d, limit, last, &in);
    sx_column *first = output(a, BOX_FIRST, SX_U64, d->ranges + 1);
    TRY(end(a, "range sizes", sx_range(ix, ranges, first, NULL, NULL, how), SX_OK));
    TRY(check_first(a, d, spans));

    /* 2. Rows, keys or both. */
    how = begin(a, call);
    ranges = input_ranges(a, d, limit, last, &in);
    first = output(a, BOX_FIRST, SX_U64, d->ranges + 1);
    sx_column *rows = output(a, BOX_NUMBERS, out_type, hits);
    sx_column *keys = output(a, BOX_KEYS, d->type, hits);
    TRY(end(a, "range", sx_range(ix, ranges, first, which == 2 ? NULL : rows,
                                 which == 1 ? NULL : keys, how), want));
    if (want == SX_OK)
        TRY(check_first(a, d, spans));
    else
        TRY(check_edges(a, "range first", BOX_FIRST, 0));
    if (want == SX_OK) {
        TRY(check_hits(a, d, spans, which != 2, which != 1));
        if (which != 2)
            note_answers(a, "range_rows", hits);
        if (which != 1)
            note_answers(a, "range_keys", hits);
    }
    if (want != SX_OK || hits == 0 || rnd_below(&a->r, 2))
        return NULL;

    /* 3. One output is too small: first is filled, nothing else. */
    how = begin(a, call);
    ranges = input_ranges(a, d, limit, last, &in);
    first = output(a, BOX_FIRST, SX_U64, d->ranges + 1);
    bool short_rows = which == 1 || (which == 0 && rnd_below(&a->r, 2));
    uint64_t less = rnd_below(&a->r, 2) ? hits - 1 : rnd_below(&a->r, hits);
    rows = output_space(a, BOX_NUMBERS, out_type, short_rows ? less : hits);
    keys = output_space(a, BOX_KEYS, d->type, short_rows ? hits : less);
    TRY(end(a, "range without room", sx_range(ix, ranges, first, which == 2 ? NULL : rows,
                                              which == 1 ? NULL : keys, how), SX_ESPACE));
    TRY(check_first(a, d, spans));
    TRY(check_edges(a, "range without room, rows", BOX_NUMBERS, 0));
    return check_edges(a, "range without room, keys", BOX_KEYS, 0);
}

static const char *ask_aggregates(asker *a, const sx_index *ix,
                                  const dataset *d, uint64_t limit, uint32_t last,
                                  const oracle_span *spans,
                                  const sx_call *call)
{
    static const char *const names[4] = { "count", "min", "max", "sum" };
    sx_column *wanted[4];
    range_input in;
    unsigned missing = a->turn / 4 % 5;   /* one of them NULL, or none */
    const sx_call *how = begin(a, call);
    const sx_ranges *ranges = input_ranges(a, d, limit, last, &in);
    for (unsigned i = 0; i < 4; i++) {
        wanted[i] = output(a, BOX_FOLDS + i, SX_U64, d->ranges);
        if (i == missing)
            wanted[i] = NULL;
    }
    sx_aggregates g = { sizeof g, wanted[0], wanted[1], wanted[2],
                        wanted[3] };
    TRY(end(a, "aggregate", sx_range_aggregate(ix, ranges, &g, how), SX_OK));
    for (unsigned c = 0; c < 4; c++) {
        const uint64_t *got = a->box[BOX_FOLDS + c].seen.data;
        for (uint64_t i = 0; c != missing && i < d->ranges; i++) {
            uint64_t want = c == 0 ? spans[i].count : c == 1 ? spans[i].min
                          : c == 2 ? spans[i].max : spans[i].sum;
            if (got[i] != want)
                return complain(a, "aggregate %s [%" PRIu64 "]: %" PRIu64
                                ", not %" PRIu64, names[c], i, got[i], want);
        }
        TRY(check_edges(a, names[c], BOX_FOLDS + c,
                        c == missing ? 0 : d->ranges));
    }
    note_answers(a, "aggregate", d->ranges);
    return NULL;
}

/* ---- prefixes ---------------------------------------------------------- */

/* Prefixes of the lower ends of ranges, all of one length or of many. */
static const char *ask_prefix(asker *a, const sx_index *ix, const dataset *d, int out_type,
                              const sx_call *call)
{
    const struct range_mode *mode = &range_modes[rnd_below(&a->r, RANGE_MODES)];
    bool fits = out_type == SX_U64 || d->truth->max_row < SX_MISS32, each;
    sx_status want = fits ? SX_OK : SX_EINVAL;
    unsigned most = 8 * (unsigned)d->width, all = (unsigned)rnd_below(&a->r, most + 1);
    dataset few = *d;             /* as many ranges as there are prefixes */
    uint32_t *bits = need((d->ranges + 1) * sizeof *bits);
    oracle_span *spans = need((d->ranges + 1) * sizeof *spans);
    uint64_t hits = 0;
    const char *why = NULL;
    const sx_call *how = begin(a, call);
    each = a->way != WAY_MIXED && rnd_below(&a->r, 2);    /* both columns in one place */
    few.ranges = 0;
    for (uint64_t i = 0; i < d->ranges && hits <= 4 * d->n + 1000; i++) {
        bits[i] = each ? (uint32_t)rnd_below(&a->r, most + 1) : all;
        spans[i] = data_prefix(d, d->lo.data + i * d->width, bits[i], mode->limit, mode->last);
        hits += spans[i].count;
        few.ranges++;
    }
    sx_column of = input(a, BOX_LO, d->type, few.ranges, d->lo.data);
    sx_column lengths = input(a, BOX_HI, SX_U32, few.ranges, bits);
    sx_prefixes p = { .size = sizeof p, .of = &of, .bits = each ? &lengths : NULL, .length = all,
                      .limit = mode->limit, .last = mode->last };
    sx_column *first = output(a, BOX_FIRST, SX_U64, few.ranges + 1);
    sx_column *rows = output(a, BOX_NUMBERS, out_type, hits);
    sx_column *keys = output(a, BOX_KEYS, d->type, hits);
    why = end(a, "prefix", sx_prefix(ix, &p, first, rows, keys, how), want);
    if (!why && want == SX_OK)
        why = check_first(a, &few, spans);
    if (!why && want == SX_OK)
        why = check_hits(a, &few, spans, true, true);
    if (!why && want == SX_OK)
        note_answers(a, "prefix", hits);
    free(bits);
    free(spans);
    return why;
}

/* ---- climbs ------------------------------------------------------------ */

#define PARENTS_MOST 100000u

/* Each key's parent is below it, or it is nobody's, or itself. */
static const char *ask_climb(asker *a, const sx_index *ix, const dataset *d, const sx_call *call)
{
    uint64_t n = d->n ? d->truth->max_row + 1 : 0, m = d->queries < 30 ? d->queries : 30;
    uint32_t limit = (uint32_t)rnd_below(&a->r, 4);
    const sx_call *how;
    if (n > PARENTS_MOST)
        return NULL;
    unsigned char *parents = need((n + 1) * d->width);
    uint64_t *places = need((m + 1) * sizeof *places);
    uint32_t *steps = need((m + 1) * sizeof *steps);
    const char *why = NULL;
    memset(parents, 0, n * d->width);
    for (uint64_t i = 0; i < d->n; i++) {
        unsigned char *to = parents + d->truth->rows[i] * d->width;
        if (rnd_below(&a->r, 9) == 0)
            memset(to, (int)rnd_below(&a->r, 120), d->width);
        else
            memcpy(to, oracle_key(d->truth, i / 3), d->width);
    }
    for (uint64_t i = 0; i < d->n; i++) {         /* keys may share a row: no way leads up */
        unsigned char *to = parents + d->truth->rows[i] * d->width;
        if (oracle_compare(d->type, to, oracle_key(d->truth, i)) > 0)
            memcpy(to, oracle_key(d->truth, 0), d->width);
    }
    for (uint64_t i = 0; i < m; i++)
        places[i] = data_top(d, parents, d->q.data + i * d->width, limit, &steps[i]);
    do
        how = begin(a, call);
    while (a->way == WAY_STREAM);
    sx_column of = input(a, BOX_Q, d->type, m, d->q.data);
    sx_column above = input(a, BOX_ROWS, d->type, n, parents);
    sx_climbs c = { .size = sizeof c, .of = &of, .parents = &above, .limit = limit };
    sx_column *rows = output(a, BOX_NUMBERS, SX_U64, m), *keys = output(a, BOX_KEYS, d->type, m);
    sx_column *far = output(a, BOX_FIRST, SX_U32, m);
    why = end(a, "climb", sx_climb(ix, &c, rows, keys, far, how), SX_OK);
    for (uint64_t i = 0; i < m && !why; i++) {
        uint64_t row = places[i] == ORACLE_NONE ? ORACLE_NONE : d->truth->rows[places[i]];
        uint64_t got = number_at(&a->box[BOX_NUMBERS].seen, i);
        uint32_t far_got = ((const uint32_t *)a->box[BOX_FIRST].seen.data)[i];
        if (got != row || far_got != steps[i])
            why = complain(a, "climb [%" PRIu64 "]: row %" PRIu64 ", %u steps, not %" PRIu64 ", %u", i,
                           got, far_got, row, steps[i]);
    }
    if (!why)
        why = check_keys(a, "climb", d->truth, places, m);
    if (!why)
        why = check_edges(a, "climb", BOX_NUMBERS, m);
    if (!why)
        note_answers(a, "climb", d->n ? m : 0);
    free(parents);
    free(places);
    free(steps);
    return why;
}

/* All questions about ranges with one limit, whose answers are known. */
static const char *ask_spans(asker *a, const sx_index *ix, const dataset *d,
                             uint64_t limit, uint32_t last,
                             const oracle_span *spans, int out_type,
                             const sx_call *call)
{
    range_input in;
    const sx_call *how = begin(a, call);
    const sx_ranges *ranges = input_ranges(a, d, limit, last, &in);
    sx_column *out = output(a, BOX_NUMBERS, SX_U64, d->ranges);
    const sx_column *seen = &a->box[BOX_NUMBERS].seen;
    TRY(end(a, "range_count", sx_range_count(ix, ranges, out, how), SX_OK));
    for (uint64_t i = 0; i < d->ranges; i++)
        if (number_at(seen, i) != spans[i].count)
            return complain(a, "range_count [%" PRIu64 "] limit %" PRIu64
                            " %s: %" PRIu64 ", not %" PRIu64, i, limit,
                            last ? "last" : "first", number_at(seen, i),
                            spans[i].count);
    TRY(check_edges(a, "range_count", BOX_NUMBERS, d->ranges));
    note_answers(a, "range_count", d->ranges);
    TRY(ask_range_rows(a, ix, d, limit, last, spans, out_type, call));
    return ask_aggregates(a, ix, d, limit, last, spans, call);
}

const char *ask_ranges(asker *a, const sx_index *ix, const dataset *d,
                       int out_type, const sx_call *call)
{
    for (int mode = 0; mode < RANGE_MODES; mode++)
        TRY(ask_spans(a, ix, d, range_modes[mode].limit,
                      range_modes[mode].last, d->spans[mode], out_type,
                      call));
    return NULL;
}

const char *ask_limit(asker *a, const sx_index *ix, const dataset *d,
                      uint64_t limit, uint32_t last, int out_type,
                      const sx_call *call)
{
    oracle_span *spans = data_spans(d, limit, last);
    const char *why = ask_spans(a, ix, d, limit, last, spans, out_type, call);
    free(spans);
    return why;
}

const char *ask(asker *a, const sx_index *ix, const dataset *d, int out_type,
                const sx_call *call)
{
    TRY(ask_points(a, ix, d, out_type, call));
    if (d->type != SX_F32 && d->type != SX_F64 && d->type != SX_T64)
        TRY(ask_prefix(a, ix, d, out_type, call));
    TRY(ask_climb(a, ix, d, call));
    return ask_ranges(a, ix, d, out_type, call);
}

/* ---- the index itself -------------------------------------------------- */

const char *ask_description(asker *a, const sx_index *ix, const dataset *d)
{
    sx_index_info info = { .size = sizeof info };
    a->way = WAY_HOST;
    a->how = (sx_call){ .size = sizeof a->how };
    a->up = false;
    TRY(end(a, "check", sx_check(ix, NULL), SX_OK));
    ask_note(a, "check");
    TRY(end(a, "describe", sx_describe(ix, &info), SX_OK));
    uint64_t max_row = d->truth->max_row;
    int row_type = max_row < SX_MISS32 ? SX_U32 : SX_U64;
    bool implicit = rows_are_positions(d->row_kind);
    for (uint64_t i = 0; implicit && i < d->n; i++)
        implicit = d->truth->rows[i] == i;
    if (info.n != d->n || info.key_type != d->type ||
        info.max_row != max_row || info.row_type != row_type ||
        (d->n && info.implicit_rows != implicit) || info.unique)
        return complain(a, "describe: n %" PRIu64 " key type %d max row %"
                        PRIu64 " row type %d implicit %u unique %u, not %"
                        PRIu64 " %d %" PRIu64 " %d %d 0", info.n,
                        info.key_type, info.max_row, info.row_type,
                        info.implicit_rows, info.unique, d->n, d->type,
                        max_row, row_type, implicit);
    if (!memchr(info.spec, 0, sizeof info.spec) || !info.spec[0])
        return complain(a, "describe: no spec");
    return NULL;
}
