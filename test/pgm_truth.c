/* pgm_truth.c - see pgm_truth.h. */
#include "pgm_truth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sxfile.h"

static char why[300];

/* ---- keys as numbers ------------------------------------------------------- */

number number_most(int type)
{
    return (number)-1 >> (128 - 8 * sx_type_bytes(type));
}

number key_number(int type, const void *key)
{
    const unsigned char *b = key;
    number x = 0, sign = number_most(type) / 2 + 1;
    for (size_t i = 0; i < sx_type_bytes(type); i++)
        x |= (number)b[type == SX_B16 ? 15 - i : i] << 8 * i;
    if (type == SX_I32 || type == SX_I64)
        return x ^ sign;
    if (type == SX_T64)
        return x == sign ? number_most(type) : (x ^ sign) - 1;
    if (type != SX_F32 && type != SX_F64)
        return x;
    number infinity = type == SX_F32 ? 0x7f800000u : 0x7ff0000000000000u;
    if ((x & ~sign) > infinity)                 /* all NaNs are one */
        x = infinity + (type == SX_F32 ? 0x400000u : 0x8000000000000u);
    if (x == sign)                              /* -0.0 */
        x = 0;
    return x & sign ? ~x & number_most(type) : x | sign;
}

void number_key(int type, number x, void *key)
{
    unsigned char *b = key;
    for (unsigned i = 0; i < sx_type_bytes(type); i++, x >>= 8)
        b[type == SX_B16 ? 15 - i : i] = (unsigned char)x;
}

/* ---- points ---------------------------------------------------------------- */

typedef struct {
    number x;
    uint64_t y;
    uint64_t owner;               /* the first rank of its run: says its part */
} point;

/* The points of n ascending numbers; returns how many there are. Free *out. */
static uint64_t points_of(const number *x, uint64_t n, number most, point **out)
{
    point *p = need((2 * n + 1) * sizeof *p);
    uint64_t count = 0;
    for (uint64_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && x[end] == x[first]; )
            end++;
        p[count++] = (point){ x[first], first, first };
        if (end == n) {
            if (x[first] != most)
                p[count++] = (point){ x[first] + 1, n, first };
        } else if (end - first > 1 && x[end] != x[first] + 1) {
            p[count++] = (point){ x[first] + 1, end - 1, first };
        }
    }
    *out = p;
    return count;
}

/* ---- as few segments as there can be ----------------------------------------- */

typedef struct { int64_t dy; number dx; } slope;

/* |m| * x in three words, the least first. */
static void times(number x, int64_t m, uint64_t out[3])
{
    uint64_t size = m < 0 ? -(uint64_t)m : (uint64_t)m;
    number low = (number)(uint64_t)x * size, high = (x >> 64) * size + (low >> 64);
    out[0] = (uint64_t)low;
    out[1] = (uint64_t)high;
    out[2] = (uint64_t)(high >> 64);
}

static bool steeper(slope a, slope b)
{
    uint64_t u[3], v[3];
    int i = 2;
    if ((a.dy < 0) != (b.dy < 0))
        return b.dy < 0;
    times(b.dx, a.dy, u);
    times(a.dx, b.dy, v);
    while (i > 0 && u[i] == v[i])
        i--;
    return a.dy < 0 ? u[i] < v[i] : u[i] > v[i];
}

static int64_t low_of(uint64_t y, uint64_t eps)
{
    return y > eps ? (int64_t)(y - eps) : 0;
}

/* Whether one line meets all spans from max(y - eps, 0) to y + eps of points [0, m],
 * if lines with slopes from *least to *most meet those of [0, m). The lines from
 * the spans of earlier points to that of point m bound the slope. */
static bool extend(const point *p, uint64_t m, uint64_t eps, slope *least, slope *most)
{
    for (uint64_t i = 0; i < m; i++) {
        number dx = p[m].x - p[i].x;
        slope up = { (int64_t)(p[m].y + eps) - low_of(p[i].y, eps), dx };
        slope down = { low_of(p[m].y, eps) - (int64_t)(p[i].y + eps), dx };
        if (m == 1 || steeper(down, *least))
            *least = down;
        if (m == 1 || steeper(*most, up))
            *most = up;
    }
    return !steeper(*least, *most);
}

/* Where segments begin: each is as long as it can be, and none is in two parts. */
static uint64_t greedy(const point *p, uint64_t count, uint64_t n, uint64_t eps, uint64_t cuts,
                       number *starts)
{
    uint64_t segments = 0, part = 0;
    for (uint64_t i = 0, m; i < count; i += m) {
        slope least = { 0, 1 }, most = least;
        number end;               /* of the part: floor(n / cuts * (part + 1)), in two terms */
        while ((end = (number)(n / cuts) * (part + 1) + (number)(n % cuts) * (part + 1) / cuts) <=
               p[i].owner)
            part++;
        for (m = 1; i + m < count && p[i + m].owner < end; m++)
            if (!extend(p + i, m, eps, &least, &most))
                break;
        if (starts)
            starts[segments] = p[i].x;
        segments++;
    }
    return segments;
}

static number *numbers_of(const oracle *o)
{
    number *x = need(o->n * sizeof *x);
    for (uint64_t i = 0; i < o->n; i++)
        x[i] = key_number(o->type, oracle_key(o, i));
    return x;
}

uint64_t pgm_fewest(const oracle *o, uint64_t eps)
{
    number *x = numbers_of(o);
    point *p;
    uint64_t count = points_of(x, o->n, number_most(o->type), &p);
    count = greedy(p, count, o->n, eps, 1, NULL);
    free(p);
    free(x);
    return count;
}

/* ---- a file ---------------------------------------------------------------- */

unsigned char *file_section(unsigned char *file, const char *name, uint64_t *bytes)
{
    for (uint32_t i = 0; i < get32(file + F_SECTIONS); i++) {
        unsigned char *e = file + F_TABLE + i * S_ENTRY;
        if (strncmp((char *)e, name, 16) == 0) {
            *bytes = get64(e + S_BYTES);
            return file + get64(e + S_OFFSET);
        }
    }
    return NULL;
}

const char *pgm_open(pgm_file *p, unsigned char *file)
{
    unsigned eps, eps2, cuts;
    uint64_t bytes;
    *p = (pgm_file){ .type = (int)get32(file + F_TYPE), .width = file[R_WIDTH],
                     .n = get64(file + F_N) };
    if (sscanf((const char *)file + R_SPEC, "pgm(eps=%u,eps2=%u,cuts=%u,layout=", &eps, &eps2,
               &cuts) != 3)
        return "not the spec of a pgm";
    p->eps = eps;
    p->eps2 = eps2;
    p->cuts = cuts;
    const unsigned char *levels = file_section(file, "levels", &bytes);
    if (!levels)
        return p->n ? "no levels" : NULL;
    p->levels = bytes / 8;
    if (p->levels < 1 || p->levels > PGM_LEVELS || bytes % 8)
        return "an impossible number of levels";
    for (uint64_t l = 0; l < p->levels; l++) {
        p->count[l] = get64(levels + 8 * l);
        p->first[l + 1] = p->first[l] + (p->count[l] + 1 + 15) / 16 * 16 + 16;
    }
    p->keys = file_section(file, "segments", &bytes);
    if (!p->keys || bytes != p->first[p->levels] * (p->width + 16))
        return "segments of another size";
    p->segments = p->keys + p->first[p->levels] * p->width;
    return NULL;
}

static number entry_key(const pgm_file *p, uint64_t entry)
{
    number x = 0;
    memcpy(&x, p->keys + entry * p->width, p->width);
    return x;
}

static uint64_t entry_height(const pgm_file *p, uint64_t entry)
{
    return get64(p->segments + 16 * entry + 8) >> 8;
}

/* g of the layout. */
static uint64_t segment_at(const pgm_file *p, uint64_t entry, number q)
{
    unsigned bits = p->width == 16 ? 128 : 64, lz = p->segments[16 * entry + 8];
    number d = q - entry_key(p, entry);
    uint64_t far, rise;
    if (lz > 0 && d >> (bits - lz))
        far = UINT64_MAX;
    else
        far = (uint64_t)(bits == 128 ? d << lz >> 64 : d << lz);
    rise = (uint64_t)((number)far * get64(p->segments + 16 * entry) >> 64);
    return (entry_height(p, entry) + rise) >> 8;
}

/* ---- one level against the keys it is of --------------------------------------- */

typedef struct {
    const pgm_file *p;
    uint64_t level, eps, cuts;
    const number *x;              /* n numbers, ascending */
    uint64_t n;
    point *points;
    uint64_t count;
} level_check;

static const char *said(const level_check *c, const char *what, uint64_t where)
{
    snprintf(why, sizeof why, "level %" PRIu64 " of %" PRIu64 " (%" PRIu64 " segments, eps %" PRIu64
             ", %" PRIu64 " parts): %s %" PRIu64, c->level, c->p->levels, c->p->count[c->level],
             c->eps, c->cuts, what, where);
    return why;
}

static const char *wrong_starts(const level_check *c)
{
    number *starts = need(c->count * sizeof *starts);
    uint64_t m = greedy(c->points, c->count, c->n, c->eps, c->cuts, starts);
    const char *wrong = NULL;
    if (m != c->p->count[c->level])
        wrong = said(c, "segments there could be:", m);
    for (uint64_t i = 0; i < m && !wrong; i++)
        if (entry_key(c->p, c->p->first[c->level] + i) != starts[i])
            wrong = said(c, "another first key, segment", i);
    free(starts);
    return wrong;
}

static unsigned zeros_of(const pgm_file *p, number x)
{
    unsigned bits = p->width == 16 ? 128 : 64, zeros = 0;
    while (zeros + 1 < bits && !(x >> (bits - 1 - zeros)))
        zeros++;
    return zeros;
}

/* Checks (G) at every point, in the last segment that does not begin behind it,
 * and that numbers are in their ranges. */
static const char *wrong_segments(const level_check *c)
{
    const pgm_file *p = c->p;
    uint64_t first = p->first[c->level], s = 0, begin = 0;
    if (entry_key(p, first) != c->points[0].x)
        return said(c, "does not begin with the first key:", 0);
    for (uint64_t i = 0; i < c->count; i++) {
        const point *at = &c->points[i];
        if (s + 1 < p->count[c->level] && entry_key(p, first + s + 1) <= at->x) {
            s++;
            begin = i;
            if (entry_key(p, first + s) != at->x)
                return said(c, "begins with no point, segment", s);
        }
        uint64_t g = segment_at(p, first + s, at->x);
        if (g > at->y + c->eps || g + c->eps < at->y)
            return said(c, "a segment is wrong at point", i);
        bool ends = i + 1 == c->count || (s + 1 < p->count[c->level] &&
                                          entry_key(p, first + s + 1) <= at[1].x);
        if (ends && p->segments[16 * (first + s) + 8] != zeros_of(p, at->x - c->points[begin].x))
            return said(c, "wrong leading zeros, segment", s);
        if (get64(p->segments + 16 * (first + s)) > (1ull << 57) + 3)
            return said(c, "too steep, segment", s);
    }
    return s + 1 == p->count[c->level] ? NULL : said(c, "segments behind all points:", s);
}

static const char *wrong_end(const level_check *c)
{
    const pgm_file *p = c->p;
    for (uint64_t i = p->first[c->level] + p->count[c->level]; i < p->first[c->level + 1]; i++) {
        uint64_t end = i == p->first[c->level] + p->count[c->level] ? c->n << 16 : 0;
        if (entry_key(p, i) != (number)-1 >> (128 - 8 * p->width) ||
            get64(p->segments + 16 * i) != 0 || get64(p->segments + 16 * i + 8) != end)
            return said(c, "what is behind its segments, entry", i);
    }
    return NULL;
}

/* Checks (L), and (U) if x are distinct. */
static const char *wrong_window(const level_check *c, uint64_t s, number q, uint64_t bound,
                                bool distinct)
{
    const pgm_file *p = c->p;
    uint64_t entry = p->first[c->level] + s;
    uint64_t g = entry_key(p, entry) > q ? entry_height(p, entry) >> 8 : segment_at(p, entry, q);
    uint64_t next = entry_height(p, entry + 1) >> 8, at = g < next ? g : next, eps = c->eps;
    if (at > bound + eps || bound > at + eps + 1)
        return said(c, "(L) fails where the bound is", bound);
    if (distinct) {               /* the last key <= q */
        uint64_t last = bound < c->n && c->x[bound] == q ? bound + 1 : bound;
        if (last > 0 && (at > last - 1 + eps + 1 || last - 1 > at + eps))
            return said(c, "(U) fails where the last key not above is", last - 1);
    }
    return NULL;
}

static int compare_numbers(const void *a, const void *b)
{
    number x = *(const number *)a, y = *(const number *)b;
    return (x > y) - (x < y);
}

/* Every query next to a key or a segment's beginning, and both extremes. */
static const char *wrong_windows(const level_check *c)
{
    const pgm_file *p = c->p;
    number most = (number)-1 >> (128 - 8 * p->width);
    uint64_t segments = p->count[c->level], m = 0, bound = 0, s = 0;
    number *q = need((4 * (c->n + segments) + 2) * sizeof *q);
    const char *wrong = NULL;
    bool distinct = true;
    for (uint64_t i = 1; i < c->n; i++)
        distinct &= c->x[i - 1] != c->x[i];
    q[m++] = 0;
    q[m++] = most;
    for (uint64_t i = 0; i < c->n + segments; i++) {
        number x = i < c->n ? c->x[i] : entry_key(p, p->first[c->level] + i - c->n);
        q[m++] = x;
        q[m++] = x == 0 ? 0 : x - 1;
        q[m++] = x == most ? most : x + 1;
        q[m++] = x > most - 2 ? most : x + 2;
    }
    qsort(q, m, sizeof *q, compare_numbers);
    for (uint64_t i = 0; i < m && !wrong; i++) {
        while (bound < c->n && c->x[bound] < q[i])
            bound++;
        while (s + 1 < segments && entry_key(p, p->first[c->level] + s + 1) <= q[i])
            s++;
        wrong = wrong_window(c, s, q[i], bound, distinct);
    }
    free(q);
    return wrong;
}

static const char *wrong_level(level_check *c, bool starts)
{
    const char *wrong = NULL;
    c->count = points_of(c->x, c->n, (number)-1 >> (128 - 8 * c->p->width), &c->points);
    if (starts)
        wrong = wrong_starts(c);
    if (!wrong)
        wrong = wrong_segments(c);
    if (!wrong)
        wrong = wrong_end(c);
    if (!wrong)
        wrong = wrong_windows(c);
    free(c->points);
    return wrong;
}

/* Parts of m segments' first keys, unless the keys have fewer. */
static uint64_t parts_above(uint64_t m, uint64_t eps, uint64_t told)
{
    uint64_t least = 64 * (2 * eps + 2), parts = m / (least > 4096 ? least : 4096);
    parts = parts < 1 ? 1 : parts > 4096 ? 4096 : parts;
    return parts < told ? parts : told;
}

const char *pgm_wrong(const pgm_file *p, const oracle *o, bool starts)
{
    number *x = numbers_of(o);
    const char *wrong = NULL;
    uint64_t n = o->n;
    if (p->levels && p->count[0] != 1)
        wrong = "the first level has more than one segment";
    if (p->n != n)
        wrong = "another number of keys";
    for (uint64_t l = p->levels; l-- > 0 && !wrong; ) {
        bool bottom = l + 1 == p->levels;
        uint64_t eps = bottom ? p->eps : p->eps2;
        level_check c = { .p = p, .level = l, .eps = eps, .x = x, .n = n,
                          .cuts = bottom ? p->cuts : parts_above(n, eps, p->cuts) };
        wrong = wrong_level(&c, starts);
        n = p->count[l];
        for (uint64_t i = 0; i < n; i++)
            x[i] = entry_key(p, p->first[l] + i);
        if (l > 0 && !wrong && n < 2)
            wrong = "a level above a single segment";
    }
    free(x);
    return wrong;
}
