/* oracle.c - see oracle.h. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sextant.h"

size_t oracle_width(int type)
{
    switch (type) {
    case SX_U32: case SX_I32: case SX_F32: return 4;
    case SX_U64: case SX_I64: case SX_T64: case SX_F64: return 8;
    case SX_B16: return 16;
    default: abort();
    }
}

/* NaNs are one key behind everything else. */
static int compare_doubles(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
    return a < b ? -1 : a > b ? 1 : 0;
}

#define COMPARE_AS(ctype) do { \
        ctype x, y; \
        memcpy(&x, a, sizeof x); \
        memcpy(&y, b, sizeof y); \
        return x < y ? -1 : x > y ? 1 : 0; \
    } while (0)

int oracle_compare(int type, const void *a, const void *b)
{
    switch (type) {
    case SX_U32: COMPARE_AS(uint32_t);
    case SX_U64: COMPARE_AS(uint64_t);
    case SX_I32: COMPARE_AS(int32_t);
    case SX_I64: COMPARE_AS(int64_t);
    case SX_F32: {
        float x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return compare_doubles(x, y);
    }
    case SX_F64: {
        double x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return compare_doubles(x, y);
    }
    case SX_B16: return memcmp(a, b, 16);
    case SX_T64: {                /* the least number comes last */
        int64_t x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        if (x == INT64_MIN || y == INT64_MIN)
            return (x == INT64_MIN ? 1 : 0) - (y == INT64_MIN ? 1 : 0);
        return x < y ? -1 : x > y ? 1 : 0;
    }
    default: abort();
    }
}

const unsigned char *oracle_element(const oracle_elements *e, uint64_t i)
{
    return e->data + i * e->width;
}

size_t oracle_element_bytes(const oracle_elements *e, uint64_t i)
{
    (void)i;                      /* all are as long */
    return e->width;
}

const void *oracle_key(const oracle *o, uint64_t i)
{
    oracle_elements e = { o->keys, o->width };
    return oracle_element(&e, i);
}

static int compare_elements(int type, const oracle_elements *e, uint64_t i, uint64_t j)
{
    return oracle_compare(type, oracle_element(e, i), oracle_element(e, j));
}

static void *need(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        abort();
    return p;
}

/* Stable merge sort of positions [a, b) of in, through tmp. */
static void sort_positions(int type, const oracle_elements *keys, uint64_t *pos, uint64_t *tmp,
                           uint64_t a, uint64_t b)
{
    if (b - a < 2)
        return;
    uint64_t mid = a + (b - a) / 2, i = a, j = mid, out = a;
    sort_positions(type, keys, pos, tmp, a, mid);
    sort_positions(type, keys, pos, tmp, mid, b);
    while (i < mid || j < b) {
        /* Of equal keys that of the left half goes first. */
        if (j == b || (i < mid && compare_elements(type, keys, pos[i], pos[j]) <= 0))
            tmp[out++] = pos[i++];
        else
            tmp[out++] = pos[j++];
    }
    memcpy(pos + a, tmp + a, (b - a) * sizeof *pos);
}

oracle *oracle_new(int type, uint64_t n, const void *keys,
                   const uint64_t *rows)
{
    oracle *o = need(sizeof *o);
    oracle_elements in = { keys, oracle_width(type) };
    size_t bytes = 0;
    for (uint64_t i = 0; i < n; i++)
        bytes += oracle_element_bytes(&in, i);
    *o = (oracle){ .type = type, .width = in.width, .n = n };
    o->keys = need(bytes);
    o->rows = need(n * sizeof *o->rows);

    uint64_t *pos = need(n * sizeof *pos), *tmp = need(n * sizeof *tmp);
    unsigned char *to = o->keys;
    uint64_t ascending = 1;       /* keys from the first on */
    while (ascending < n && compare_elements(type, &in, ascending - 1, ascending) <= 0)
        ascending++;
    for (uint64_t i = 0; i < n; i++)
        pos[i] = i;
    if (ascending < n)
        sort_positions(type, &in, pos, tmp, 0, n);
    for (uint64_t i = 0; i < n; i++) {
        bytes = oracle_element_bytes(&in, pos[i]);
        memcpy(to, oracle_element(&in, pos[i]), bytes);
        to += bytes;
        o->rows[i] = rows ? rows[pos[i]] : pos[i];
        if (o->rows[i] > o->max_row)
            o->max_row = o->rows[i];
    }
    free(pos);
    free(tmp);
    return o;
}

void oracle_free(oracle *o)
{
    if (!o)
        return;
    free(o->keys);
    free(o->rows);
    free(o);
}

uint64_t oracle_rank(const oracle *o, const void *q, int right)
{
    uint64_t lo = 0, hi = o->n;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        int c = oracle_compare(o->type, oracle_key(o, mid), q);
        if (c < 0 || (right && c == 0))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

uint64_t oracle_get(const oracle *o, const void *q)
{
    uint64_t i = oracle_rank(o, q, 0);
    if (i == o->n || oracle_compare(o->type, oracle_key(o, i), q) != 0)
        return ORACLE_NONE;
    return o->rows[i];
}

uint64_t oracle_floor(const oracle *o, const void *q)
{
    uint64_t i = oracle_rank(o, q, 1);
    return i ? i - 1 : ORACLE_NONE;
}

uint64_t oracle_ceil(const oracle *o, const void *q)
{
    uint64_t i = oracle_rank(o, q, 0);
    return i < o->n ? i : ORACLE_NONE;
}

oracle_span oracle_range(const oracle *o, const void *lo, const void *hi,
                         uint64_t limit, int last)
{
    uint64_t a = oracle_rank(o, lo, 0), b = oracle_rank(o, hi, 1);
    if (b < a)                    /* lo > hi */
        b = a;
    if (limit && b - a > limit) {
        if (last)
            a = b - limit;
        else
            b = a + limit;
    }
    oracle_span s = { a, b - a, ORACLE_NONE, ORACLE_NONE, 0 };
    for (uint64_t i = a; i < b; i++) {
        uint64_t r = o->rows[i];
        if (i == a || r < s.min)
            s.min = r;
        if (i == a || r > s.max)
            s.max = r;
        s.sum += r;
    }
    return s;
}
