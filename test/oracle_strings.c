/* oracle_strings.c - see oracle_strings.h. */
#include "oracle_strings.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

int text_compare(text a, text b)
{
    uint64_t both = a.bytes < b.bytes ? a.bytes : b.bytes;
    int c = both ? memcmp(a.data, b.data, both) : 0;
    if (c != 0)
        return c;
    return a.bytes < b.bytes ? -1 : a.bytes > b.bytes ? 1 : 0;
}

typedef struct { text key; uint64_t row, came; } entry;

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int c = text_compare(x->key, y->key);
    if (c != 0)
        return c;
    return x->came < y->came ? -1 : 1;
}

text_oracle *text_oracle_new(uint64_t n, const text *keys, const uint64_t *rows)
{
    text_oracle *o = need(sizeof *o);
    entry *all = need(n * sizeof *all);
    for (uint64_t i = 0; i < n; i++)
        all[i] = (entry){ keys[i], rows ? rows[i] : i, i };
    qsort(all, n, sizeof *all, compare_entries);
    *o = (text_oracle){ .n = n, .keys = need(n * sizeof *o->keys),
                        .rows = need(n * sizeof *o->rows) };
    for (uint64_t i = 0; i < n; i++) {
        o->keys[i] = all[i].key;
        o->rows[i] = all[i].row;
        o->max_row = all[i].row > o->max_row ? all[i].row : o->max_row;
    }
    free(all);
    return o;
}

void text_oracle_free(text_oracle *o)
{
    if (!o)
        return;
    free(o->keys);
    free(o->rows);
    free(o);
}

uint64_t text_rank(const text_oracle *o, text q, int right)
{
    uint64_t lo = 0, hi = o->n;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        int c = text_compare(o->keys[mid], q);
        if (c < 0 || (right && c == 0))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

uint64_t text_get(const text_oracle *o, text q)
{
    uint64_t i = text_rank(o, q, 0);
    return i < o->n && text_compare(o->keys[i], q) == 0 ? o->rows[i] : ORACLE_NONE;
}

static oracle_span span_of(const text_oracle *o, uint64_t a, uint64_t b, uint64_t limit, int last)
{
    b = b < a ? a : b;
    if (limit && b - a > limit) {
        if (last)
            a = b - limit;
        else
            b = a + limit;
    }
    oracle_span s = { a, b - a, ORACLE_NONE, ORACLE_NONE, 0 };
    for (uint64_t i = a; i < b; i++) {
        uint64_t r = o->rows[i];
        s.min = i == a || r < s.min ? r : s.min;
        s.max = i == a || r > s.max ? r : s.max;
        s.sum += r;
    }
    return s;
}

oracle_span text_range(const text_oracle *o, text lo, text hi, uint64_t limit, int last)
{
    return span_of(o, text_rank(o, lo, 0), text_rank(o, hi, 1), limit, last);
}

oracle_span text_prefix(const text_oracle *o, text q)
{
    uint64_t a = text_rank(o, q, 0), b = a;
    while (b < o->n && o->keys[b].bytes >= q.bytes &&
           (q.bytes == 0 || memcmp(o->keys[b].data, q.data, q.bytes) == 0))
        b++;
    return span_of(o, a, b, 0, 0);
}

uint64_t text_top(const text_oracle *o, const text *parents, text q, uint32_t limit, uint32_t *steps)
{
    uint64_t at = text_rank(o, q, 0);
    *steps = 0;
    if (at == o->n || text_compare(o->keys[at], q) != 0)
        return ORACLE_NONE;
    while (!limit || *steps < limit) {
        text above = parents[o->rows[at]];
        uint64_t next = text_rank(o, above, 0);
        if (next == o->n || next == at || text_compare(o->keys[next], above) != 0)
            break;
        at = next;
        if (++*steps > o->n && !limit) {          /* more than there are keys: it was there before */
            *steps = ORACLE_CIRCLE;
            return ORACLE_NONE;
        }
    }
    return at;
}
