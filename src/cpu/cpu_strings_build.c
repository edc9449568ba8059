/* cpu_strings_build.c - from a column of strings to sorted ones with codes:
 *
 *     1. take offsets, once: they are the caller's
 *     2. sort positions (sort/sort_strings.h), unless strings ascend already
 *     3. copy strings in order, and rows
 *     4. see what neighbours share; make groups of it (keys/string_groups.h); make codes
 *     5. mark strings with equal codes, if there are many (keys/string_marks.h)
 *     6. put offsets into lines, unless strings are long
 *
 * Only steps 2 and 3 read the caller's bytes. If these change meanwhile, the copies may be out of
 * order, which step 4 sees. */
#include "cpu/cpu_strings.h"

#include "base/alloc.h"
#include "keys/string_groups.h"
#include "keys/string_marks.h"
#include "sort/sort_strings.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const sx_cpu *cpu;
    const sx_input *in;
    sx_sorted *s;
    sx_string_arrays a;
    int ascend;
    uint64_t *begin;
    uint32_t *shared;             /* SX_EQUAL, or what a string shares with the one before; when
                                     codes are made, in its place: their `same` */
    _Atomic int descends;         /* a copy does */
    _Atomic uint64_t repeats;     /* strings that are equal to the one before */
    _Atomic uint64_t ties;        /* others that have the code of the one before */
} work;

static uint64_t position(const work *w, uint64_t i)
{
    return w->ascend              ? i
           : w->a.row_bytes == 8 ? ((const uint64_t *)w->a.rows[0])[i]
                                 : ((const uint32_t *)w->a.rows[0])[i];
}

static sx_status take_offsets(work *w, sx_err *err)
{
    const sx_slice *keys = &w->in->keys;
    uint64_t n = w->in->n, last = 0;
    sx_status st = sx_alloc_array((void **)&w->begin, n + 1, sizeof *w->begin, "offsets", err);

    for (uint64_t i = 0; i <= n && st == SX_OK; i++) {
        uint64_t at = sx_slice_offset(keys, i);
        last = w->begin[i] = at > last ? at : last;
        if (i > 0 && last - w->begin[i - 1] > SX_STRING_MOST)
            st = sx_fail(err, SX_EINVAL, "string %llu has %llu bytes; at most: %llu",
                         (unsigned long long)i - 1, (unsigned long long)(last - w->begin[i - 1]),
                         (unsigned long long)SX_STRING_MOST);
    }
    w->a.begin = w->begin;
    w->a.data = keys->data ? keys->data : (const unsigned char *)"";
    return st;
}

/* Leaves positions in the first array of rows. */
static sx_status sort_positions(work *w, sx_err *err)
{
    const sx_cpu *cpu = w->cpu;
    uint64_t n = w->in->n;
    uint32_t threads = w->in->threads && w->in->threads < cpu->threads ? w->in->threads
                                                                       : cpu->threads;
    sx_status st = SX_OK;

    w->a.n = n;
    w->a.progress = w->in->progress;
    w->a.row_bytes = n - 1 < SX_MISS32 ? 4 : 8;
    w->ascend = sx_strings_ascend(&w->a);
    if (w->ascend)
        return sx_progress_status(w->in->progress, err);
    w->a.keys[0] = w->s->keys;
    st = sx_alloc_array(&w->a.keys[1], n, 8, "sorting strings", err);
    for (unsigned i = 0; i < 2 && st == SX_OK; i++)
        st = sx_alloc_array(&w->a.rows[i], n, w->a.row_bytes, "sorting strings", err);
    if (st == SX_OK)
        st = sx_sort_strings(cpu->pool, threads, &w->a, err);
    sx_release(w->a.keys[1]);
    sx_release(w->a.rows[1]);
    return st;
}

static void copy_strings(void *of, uint64_t first, uint64_t end)
{
    const work *w = of;
    const sx_strings *s = &w->s->strings;

    for (uint64_t i = first; i < end; i++) {
        uint64_t p = position(w, i), length = w->begin[p + 1] - w->begin[p];
        if (length > 0)
            memcpy((unsigned char *)w->s->bytes + sx_offset_at(s, i),
                   w->a.data + w->begin[p], length);
    }
}

static void put_offset(void *offsets, uint32_t bytes, uint64_t i, uint64_t x)
{
    if (bytes == 8)
        ((uint64_t *)offsets)[i] = x;
    else
        ((uint32_t *)offsets)[i] = (uint32_t)x;
}

static sx_status take_strings(work *w, sx_err *err)
{
    sx_sorted *s = w->s;
    uint64_t n = w->in->n, at = 0;
    uint64_t size = w->begin[n] - w->begin[0];
    uint32_t offset_bytes = sx_offset_bytes(size);
    sx_status st = sx_alloc_array(&s->offsets, n + 1, offset_bytes, "offsets", err);

    if (st == SX_OK)
        st = sx_alloc(&s->bytes, size, "strings", err);
    if (st != SX_OK)
        return st;
    s->strings = (sx_strings){.offsets = s->offsets, .bytes = s->bytes ? s->bytes : s->offsets,
                              .size = size, .code_bytes = (uint8_t)w->in->code_bytes,
                              .offset_bytes = (uint16_t)offset_bytes};
    for (uint64_t i = 0; i < n; i++) {
        uint64_t p = position(w, i);
        put_offset(s->offsets, offset_bytes, i, at);
        at += w->begin[p + 1] - w->begin[p];
    }
    put_offset(s->offsets, offset_bytes, n, at);
    sx_cpu_share(w->cpu, w->in->threads, NULL, n, 1024, copy_strings, w);
    return SX_OK;
}

/* Rows in the order of strings. Without rows of the caller's they are positions, and those of
 * strings that ascend are ranks: none are stored. */
static sx_status take_rows(work *w, sx_err *err)
{
    const sx_input *in = w->in;
    sx_sorted *s = w->s;
    sx_status st;

    if (!in->row_type) {
        s->row_bytes = w->ascend ? 0 : w->a.row_bytes;
        s->rows = w->a.rows[0];
        w->a.rows[0] = NULL;
        return SX_OK;
    }
    s->row_bytes = s->max_row < SX_MISS32 ? 4 : 8;
    st = sx_alloc_array(&s->rows, in->n, s->row_bytes, "rows", err);
    for (uint64_t i = 0; i < in->n && st == SX_OK; i++) {
        uint64_t p = position(w, i);
        put_offset(s->rows, s->row_bytes, i,
                   in->row_type == SX_U64 ? ((const uint64_t *)in->rows.data)[p]
                                          : ((const uint32_t *)in->rows.data)[p]);
    }
    return st;
}

static void see_shared(void *of, uint64_t first, uint64_t end)
{
    work *w = of;
    const sx_strings *s = &w->s->strings;
    uint64_t repeats = 0;

    for (uint64_t i = first; i < end; i++) {
        uint64_t a_length, b_length, most, m = 0;
        const unsigned char *a, *b;
        if (i == 0) {
            w->shared[0] = 0;
            continue;
        }
        a = sx_string_at(s, i - 1, &a_length);
        b = sx_string_at(s, i, &b_length);
        most = a_length < b_length ? a_length : b_length;
        while (m < most && a[m] == b[m])
            m++;
        if (m < most ? a[m] > b[m] : a_length > b_length)
            atomic_store(&w->descends, 1);
        repeats += m == a_length && m == b_length;
        w->shared[i] = m == a_length && m == b_length ? SX_EQUAL : (uint32_t)m;
    }
    atomic_fetch_add(&w->repeats, repeats);
}

static void make_codes(void *of, uint64_t first, uint64_t end)
{
    const work *w = of;
    const sx_strings *s = &w->s->strings;

    for (uint64_t i = first; i < end; i++) {
        uint64_t length;
        const unsigned char *p = sx_string_at(s, i, &length);
        sx_code_walk walk = sx_string_walk(s, p, length);
        put_offset(w->s->keys, s->code_bytes, i, walk.code);
        if (w->shared[i] != SX_EQUAL)
            w->shared[i] = (uint32_t)walk.same;
    }
}

static uint64_t code_at(const work *w, uint64_t i)
{
    return sx_code_load(w->s->keys, w->s->strings.code_bytes, i);
}

static void count_ties(void *of, uint64_t first, uint64_t end)
{
    work *w = of;
    uint64_t ties = 0;

    for (uint64_t i = first ? first : 1; i < end; i++)
        ties += w->shared[i] != SX_EQUAL && code_at(w, i) == code_at(w, i - 1);
    atomic_fetch_add(&w->ties, ties);
}

static void make_marks(void *of, uint64_t first, uint64_t end)
{
    const work *w = of;
    const sx_strings *s = &w->s->strings;
    unsigned char *marks = w->s->marks;

    for (uint64_t i = first; i < end; i++)
        if (i == 0 || code_at(w, i) != code_at(w, i - 1))
            marks[i] = w->shared[i] ? sx_marks_count(w->s->keys, s->code_bytes, w->in->n, i) : 0;
        else
            marks[i] = w->shared[i] == SX_EQUAL ? SX_MARK_FAR : sx_mark_of(s, i, w->shared[i]);
}

static sx_status take_marks(work *w, sx_err *err)
{
    sx_sorted *s = w->s;
    uint64_t n = w->in->n;
    sx_status st;

    sx_cpu_share(w->cpu, w->in->threads, NULL, n, 4096, count_ties, w);
    if (!sx_marks_pay(w->ties, n))
        return SX_OK;
    st = sx_alloc(&s->marks, n, "marks of strings", err);
    if (st != SX_OK)
        return st;
    sx_cpu_share(w->cpu, w->in->threads, NULL, n, 1024, make_marks, w);
    s->strings.marks = s->marks;
    s->strings.marked = 1;
    return SX_OK;
}

/* Memory for codes, in place of what the sort had for words: whole lines, the last one filled with
 * the largest key. */
static sx_status take_keys(sx_sorted *s, uint64_t used, sx_err *err)
{
    uint64_t bytes = sx_round_up(used, SX_LINE);
    sx_status st = SX_OK;

    if (s->strings.code_bytes != 8) {
        sx_release(s->keys);
        s->keys = NULL;
        st = sx_alloc(&s->keys, bytes, "keys", err);
    }
    if (st == SX_OK)
        memset((unsigned char *)s->keys + used, 0xff, bytes - used);
    return st;
}

static sx_status take_codes(work *w, sx_err *err)
{
    sx_sorted *s = w->s;
    uint64_t n = w->in->n;
    sx_status st = sx_alloc_array((void **)&w->shared, n, sizeof *w->shared, "strings", err);

    if (st != SX_OK)
        return st;
    sx_cpu_share(w->cpu, w->in->threads, NULL, n, 1024, see_shared, w);
    if (w->descends)
        return sx_fail(err, SX_EINVAL, "the keys changed while they were sorted");
    s->string_values = n - w->repeats;
    st = take_keys(s, n * s->strings.code_bytes, err);
    if (st != SX_OK)
        return st;
    st = sx_groups_make(&s->strings, n, w->shared, &s->groups, err);
    if (st == SX_OK)
        sx_cpu_share(w->cpu, w->in->threads, NULL, n, 1024, make_codes, w);
    return st == SX_OK ? take_marks(w, err) : st;
}

/* Whether all strings of a line are near enough to its base. */
static int lines_reach(const sx_strings *s, uint64_t n)
{
    for (uint64_t i = 0; i <= n; i += SX_LINE_STRINGS) {
        uint64_t last = i + SX_LINE_STRINGS - 1 < n ? i + SX_LINE_STRINGS - 1 : n;
        if (sx_offset_at(s, last) - sx_offset_at(s, i) >= SX_LINE_REACH)
            return 0;
    }
    return 1;
}

/* Puts offsets into lines, if they fit there. */
static sx_status shorten_offsets(sx_sorted *s, sx_err *err)
{
    sx_strings *of = &s->strings;
    uint64_t bytes = sx_offsets_bytes(s->n, 2), base = 0;
    unsigned char *lines;
    sx_status st;

    if (!lines_reach(of, s->n))
        return SX_OK;
    st = sx_alloc((void **)&lines, bytes, "offsets", err);
    if (st != SX_OK)
        return st;
    memset(lines + bytes - SX_OFFSET_LINE, 0, SX_OFFSET_LINE);
    for (uint64_t i = 0; i <= s->n; i++) {
        unsigned char *line = lines + i / SX_LINE_STRINGS * SX_OFFSET_LINE;
        uint64_t at = sx_offset_at(of, i);
        if (i % SX_LINE_STRINGS == 0) {
            base = at;
            memcpy(line, &base, sizeof base);
        }
        ((uint16_t *)(void *)(line + 8))[i % SX_LINE_STRINGS] = (uint16_t)(at - base);
    }
    sx_release(s->offsets);
    if (!s->bytes)                /* all are empty, and begin somewhere all the same */
        of->bytes = lines;
    s->offsets = lines;
    of->offsets = lines;
    of->offset_bytes = 2;
    return SX_OK;
}

sx_status sx_cpu_sort_strings(sx_cpu *cpu, const sx_input *in, sx_sorted *s, sx_err *err)
{
    work w = {.cpu = cpu, .in = in, .s = s};
    sx_status st = sx_alloc(&s->keys, sx_round_up(in->n * 8, SX_LINE), "keys", err);

    if (st == SX_OK)
        st = take_offsets(&w, err);
    if (st == SX_OK)
        st = sort_positions(&w, err);
    if (st == SX_OK)
        st = take_strings(&w, err);
    if (st == SX_OK)
        st = take_rows(&w, err);
    if (st == SX_OK)
        st = take_codes(&w, err);
    if (st == SX_OK)
        st = sx_progress_status(in->progress, err);
    sx_release(w.begin);
    sx_release(w.shared);
    sx_release(w.a.rows[0]);
    return st == SX_OK ? shorten_offsets(s, err) : st;
}

uint64_t sx_cpu_string_repeat(const sx_sorted *s)
{
    uint64_t length, next;

    for (uint64_t i = 0; i + 1 < s->n && s->string_values < s->n; i++) {
        const unsigned char *p = sx_string_at(&s->strings, i, &length);
        const unsigned char *q = sx_string_at(&s->strings, i + 1, &next);
        if (sx_bytes_order(p, length, q, next) == 0)
            return i;
    }
    return s->n;
}

/* Copies each string once, before those that are still to be read. */
static void keep_each(sx_sorted *s, void *keys, void *starts, unsigned char *firsts,
                      void *offsets, uint32_t offset_bytes, uint64_t *size)
{
    uint64_t to = 0, at = 0, before = 0, length;
    unsigned char *bytes = s->bytes ? s->bytes : s->offsets;      /* all are empty */

    for (uint64_t i = 0; i < s->n; i++) {
        const unsigned char *p = sx_string_at(&s->strings, i, &length);
        if (to > 0 && sx_bytes_order(bytes + at - before, before, p, length) == 0)
            continue;
        put_offset(keys, s->width, to, sx_code_load(s->keys, s->width, i));
        put_offset(starts, sx_start_bytes(s->n), to, i);
        put_offset(offsets, offset_bytes, to, at);
        if (s->row_bytes)
            memcpy(firsts + to * s->row_bytes, (unsigned char *)s->rows + i * s->row_bytes,
                   s->row_bytes);
        if (length > 0)
            memmove(bytes + at, p, length);
        if (s->marks)             /* the string before is equal to the last one that was kept */
            ((unsigned char *)s->marks)[to] = ((unsigned char *)s->marks)[i];
        at += length;
        before = length;
        to++;
    }
    put_offset(starts, sx_start_bytes(s->n), to, s->n);
    put_offset(offsets, offset_bytes, to, at);
    for (uint64_t i = 0; i < to && s->marks; i++) {
        unsigned char *mark = (unsigned char *)s->marks + i;
        if (*mark > 0 && (i == 0 || sx_code_load(keys, s->width, i) !=
                                        sx_code_load(keys, s->width, i - 1)))
            *mark = sx_marks_count(keys, s->width, to, i);
    }
    *size = at;
}

/* Bytes of all strings, each once. */
static uint64_t bytes_once(const sx_sorted *s)
{
    uint64_t sum = 0, before = 0, length;
    const unsigned char *last = NULL;

    for (uint64_t i = 0; i < s->n; i++) {
        const unsigned char *p = sx_string_at(&s->strings, i, &length);
        if (i == 0 || sx_bytes_order(last, before, p, length) != 0)
            sum += length;
        last = p;
        before = length;
    }
    return sum;
}

sx_status sx_cpu_string_once(sx_sorted *s, sx_err *err)
{
    uint64_t values = s->string_values, used = values * s->width;
    uint64_t bytes = sx_round_up(used, SX_LINE);
    uint32_t offset_bytes = sx_offset_bytes(bytes_once(s));
    uint64_t end = (values + 1) * sx_start_bytes(s->n);
    void *keys = NULL, *starts = NULL, *offsets = NULL;
    sx_status st = sx_alloc(&keys, bytes, "keys", err);

    if (st == SX_OK)
        st = sx_alloc(&starts, sx_starts_bytes(values, s->n, s->row_bytes), "starts", err);
    if (st == SX_OK)
        st = sx_alloc_array(&offsets, values + 1, offset_bytes, "offsets", err);
    if (st != SX_OK) {
        sx_release(keys);
        sx_release(starts);
        return st;
    }
    if (s->row_bytes)
        memset((unsigned char *)starts + end, 0, sx_firsts_offset(values, s->n) - end);
    keep_each(s, keys, starts, (unsigned char *)starts + sx_firsts_offset(values, s->n), offsets,
              offset_bytes, &s->strings.size);
    memset((unsigned char *)keys + used, 0xff, bytes - used);
    sx_release(s->keys);
    sx_release(s->offsets);
    s->keys = keys;
    s->starts = starts;
    s->offsets = offsets;
    s->strings.offsets = offsets;
    if (!s->bytes)                /* all are empty */
        s->strings.bytes = offsets;
    s->strings.offset_bytes = (uint16_t)offset_bytes;
    s->n = values;
    return shorten_offsets(s, err);
}

void sx_cpu_string_print(const sx_strings *s, uint64_t i, char *text, size_t space)
{
    uint64_t length;
    const unsigned char *p = sx_string_at(s, i, &length);
    size_t at = 1, most = space - 8;

    text[0] = '\'';
    for (uint64_t k = 0; k < length && at < most; k++)
        if (p[k] >= ' ' && p[k] <= '~')
            text[at++] = (char)p[k];
        else
            at += (size_t)snprintf(text + at, space - at, "\\x%02x", p[k]);
    snprintf(text + at, space - at, "'%s", at < most ? "" : "...");
}
