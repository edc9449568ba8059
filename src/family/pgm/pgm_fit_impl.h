/* pgm_fit_impl.h - segments as long as they can be over the points of a part
 * of the keys. Points, records, what they guarantee: pgm.h.
 *
 * Parameters as in array_walk_impl.h: W, KEY, F(name), SX_WALK. Nothing is
 * allocated; keys of a part + 2 * eps < 2^30, n + eps < 2^48 - 1, eps >= 1.
 *
 * Parts. A part [first, end) owns the runs of equal keys that begin in it, whole,
 * even if they reach behind `end`. It has their points: each run's first, its
 * extra point, and if it is the last run of all, the final point. Hence the points
 * of all parts, one part behind the other, are the points of the whole array, and
 * (L), (U) hold for any cuts. A part in which no run begins has no segments.
 *
 * How. A line here is straight, and segments come from lines. A line fits the
 * points so far if it meets, at each of them, the span from y - eps to y + eps: no
 * upper corner is below it, and no lower corner is above. Of all lines that fit,
 * `least` has the least slope: it goes through an upper corner and a lower one
 * further right. `most` has the most slope: it goes through a lower corner and an
 * upper one further right. A new point whose span is all below `least` or all
 * above `most` ends the segment. If its upper corner is below `most`, that line
 * turns down, about a corner on the hull of the lower corners. If its lower corner
 * is above `least`, that line turns up, about the hull of the upper corners.
 * Either pivot only moves right, and a corner leaves its hull once: O(n).
 *
 * Each line has a sum, dx * (y + eps - height of the line at x), exact, which goes
 * from point to point. The upper corner is below the line if the sum is negative.
 * The lower corner is above it if the sum exceeds `space`, 2 * eps * dx. Most
 * points turn neither line and end nothing; for these that is all.
 *
 * Bounds. Heights differ by less than 2^49 (W == 4: 2^30), x by 2^(8 * W).
 * So products are below 2^62, 2^113 and 2^177, and sums of three fit in signed
 * 64, 128 and 192 bits. */

/* Signed sums of products of a distance and a difference of heights. */
#if W == 16
typedef struct {
    uint64_t low, mid, high;
} F(fit_sum);

SX_WALK F(fit_sum) F(sum_plus)(F(fit_sum) a, F(fit_sum) b)
{
    unsigned __int128 t = (unsigned __int128)a.low + b.low;

    a.low = (uint64_t)t;
    t = (t >> 64) + a.mid + b.mid;
    a.mid = (uint64_t)t;
    a.high += b.high + (uint64_t)(t >> 64);
    return a;
}

SX_WALK F(fit_sum) F(sum_minus)(F(fit_sum) a, F(fit_sum) b)
{
    unsigned __int128 t = (unsigned __int128)a.low - b.low;

    a.low = (uint64_t)t;
    t = (unsigned __int128)a.mid - b.mid - ((uint64_t)(t >> 64) & 1);
    a.mid = (uint64_t)t;
    a.high -= b.high + ((uint64_t)(t >> 64) & 1);
    return a;
}

SX_WALK F(fit_sum) F(sum_of)(KEY dx, int64_t dy)
{
    uint64_t size = dy < 0 ? (uint64_t)0 - (uint64_t)dy : (uint64_t)dy;
    unsigned __int128 t = (unsigned __int128)(uint64_t)dx * size;
    F(fit_sum) a, zero;

    a.low = (uint64_t)t;
    t = (t >> 64) + (unsigned __int128)(uint64_t)(dx >> 64) * size;
    a.mid = (uint64_t)t;
    a.high = (uint64_t)(t >> 64);
    zero.low = zero.mid = zero.high = 0;
    return dy < 0 ? F(sum_minus)(zero, a) : a;
}

SX_WALK int F(sum_below)(F(fit_sum) a, F(fit_sum) b)
{
    return (int64_t)F(sum_minus)(a, b).high < 0;
}

SX_WALK int F(sum_within)(F(fit_sum) a, F(fit_sum) most)
{
    return (int64_t)a.high >= 0 && !F(sum_below)(most, a);
}
#else
#if W == 4
typedef int64_t F(fit_sum);
typedef uint64_t F(fit_size);
#else
typedef __int128 F(fit_sum);
typedef unsigned __int128 F(fit_size);
#endif

SX_WALK F(fit_sum) F(sum_plus)(F(fit_sum) a, F(fit_sum) b)
{
    return a + b;
}

SX_WALK F(fit_sum) F(sum_minus)(F(fit_sum) a, F(fit_sum) b)
{
    return a - b;
}

SX_WALK F(fit_sum) F(sum_of)(KEY dx, int64_t dy)
{
    return (F(fit_sum))dx * dy;
}

SX_WALK int F(sum_below)(F(fit_sum) a, F(fit_sum) b)
{
    return a < b;
}

SX_WALK int F(sum_within)(F(fit_sum) a, F(fit_sum) most)
{
    return (F(fit_size))a <= (F(fit_size))most;
}
#endif

typedef struct {                  /* a corner, or a point */
    KEY x;
    uint64_t y;
} F(fit_corner);

typedef struct {
    F(fit_corner) from;           /* its left corner */
    KEY dx;                       /* from there to the right one */
    int64_t dy;
    F(fit_sum) sum, space;
} F(fit_line);

typedef struct {
    const KEY *keys;
    uint64_t first;               /* of the part; entries of hulls are from here */
    uint64_t eps;
    uint32_t *upper, *lower;      /* entry: (rank - first) * 2, + 1 for an extra point */
    uint32_t upper_from, upper_to, lower_from, lower_to;
    uint32_t points;              /* of the segment: 1, or 2 for more */
    F(fit_corner) start, last;    /* its first and its last point */
    F(fit_line) least, most;
} F(fit_state);

/* Whether the slope of a is below that of b. */
SX_WALK int F(fit_flatter)(const F(fit_line) *a, const F(fit_line) *b)
{
    return F(sum_below)(F(sum_of)(b->dx, a->dy), F(sum_of)(a->dx, b->dy));
}

/* The same, if neither falls. */
SX_WALK int F(fit_flatter_up)(const F(fit_line) *a, const F(fit_line) *b)
{
#if W == 16
    return F(fit_flatter)(a, b);
#else
    return (F(fit_size))b->dx * (uint64_t)a->dy < (F(fit_size))a->dx * (uint64_t)b->dy;
#endif
}

SX_WALK uint64_t F(fit_low)(uint64_t y, uint64_t eps)
{
    return y > eps ? y - eps : 0;
}

SX_WALK F(fit_corner) F(fit_upper)(const F(fit_state) *s, uint32_t i)
{
    uint32_t entry = s->upper[i];
    F(fit_corner) c;

    c.y = s->first + (entry >> 1);
    c.x = (KEY)(s->keys[c.y] + (KEY)(entry & 1));
    c.y += s->eps;
    return c;
}

SX_WALK F(fit_corner) F(fit_lower)(const F(fit_state) *s, uint32_t i)
{
    uint32_t entry = s->lower[i];
    F(fit_corner) c;

    c.y = s->first + (entry >> 1);
    c.x = (KEY)(s->keys[c.y] + (KEY)(entry & 1));
    c.y = F(fit_low)(c.y, s->eps);
    return c;
}

SX_WALK F(fit_line) F(fit_between)(F(fit_corner) from, F(fit_corner) to)
{
    F(fit_line) l;

    l.from = from;
    l.dx = (KEY)(to.x - from.x);
    l.dy = (int64_t)(to.y - from.y);
    return l;
}

/* Sets a line at a point whose upper corner is `above` it. */
SX_WALK void F(fit_set_line)(F(fit_line) *l, const F(fit_line) *as, uint64_t eps, uint64_t above)
{
    l->from = as->from;
    l->dx = as->dx;
    l->dy = as->dy;
    l->sum = F(sum_of)(as->dx, (int64_t)above);
    l->space = F(sum_of)(as->dx, (int64_t)(2 * eps));
}

/* Moves a line to the point dx further right and one rank up. */
SX_WALK void F(fit_move_line)(F(fit_line) *l, KEY dx)
{
    l->sum = F(sum_minus)(F(sum_plus)(l->sum, F(sum_of)(l->dx, 1)), F(sum_of)(dx, l->dy));
}

/* Turns `most`: the line of least slope from a lower corner to `to`, an upper one. */
SX_WALK void F(fit_turn_most)(F(fit_state) *s, F(fit_corner) to)
{
    F(fit_line) best = F(fit_between)(F(fit_lower)(s, s->lower_from), to), l;

    while (s->lower_from + 1 < s->lower_to) {
        l = F(fit_between)(F(fit_lower)(s, (uint32_t)(s->lower_from + 1)), to);
        if (F(fit_flatter_up)(&best, &l))
            break;
        best = l;
        s->lower_from++;
    }
    F(fit_set_line)(&s->most, &best, s->eps, 0);
}

/* Turns `least`: the line of most slope from one of the upper corners before `upper_to`
 * to `to`, a lower one. The upper corner of the same point is `above` it. */
SX_WALK void F(fit_turn_least)(F(fit_state) *s, F(fit_corner) to, uint64_t above, uint32_t upper_to)
{
    F(fit_line) best = F(fit_between)(F(fit_upper)(s, s->upper_from), to), l;

    while (s->upper_from + 1 < upper_to) {
        l = F(fit_between)(F(fit_upper)(s, (uint32_t)(s->upper_from + 1)), to);
        if (F(fit_flatter)(&l, &best))
            break;
        best = l;
        s->upper_from++;
    }
    F(fit_set_line)(&s->least, &best, s->eps, above);
}

/* Puts a corner behind the hull of upper corners, along which slopes rise, and takes off
 * those that this leaves above the hull. */
SX_WALK void F(fit_push_upper)(F(fit_state) *s, F(fit_corner) c, uint32_t entry)
{
    F(fit_corner) a, b = F(fit_upper)(s, (uint32_t)(s->upper_to - 1));
    F(fit_line) ab, ac;

    while (s->upper_to >= s->upper_from + 2) {
        a = F(fit_upper)(s, (uint32_t)(s->upper_to - 2));
        ab = F(fit_between)(a, b);
        ac = F(fit_between)(a, c);
        if (F(fit_flatter_up)(&ab, &ac))
            break;
        b = a;
        s->upper_to--;
    }
    s->upper[s->upper_to++] = entry;
}

SX_WALK void F(fit_push_lower)(F(fit_state) *s, F(fit_corner) c, uint32_t entry)
{
    F(fit_corner) a, b = F(fit_lower)(s, (uint32_t)(s->lower_to - 1));
    F(fit_line) ab, ac;

    while (s->lower_to >= s->lower_from + 2) {
        a = F(fit_lower)(s, (uint32_t)(s->lower_to - 2));
        ab = F(fit_between)(a, b);
        ac = F(fit_between)(a, c);
        if (F(fit_flatter_up)(&ac, &ab))
            break;
        b = a;
        s->lower_to--;
    }
    s->lower[s->lower_to++] = entry;
}

/* A segment begins with point (x, y). Until there are lines, every point goes to fit_add(). */
SX_WALK void F(fit_start)(F(fit_state) *s, KEY x, uint64_t y, uint32_t entry)
{
    s->points = 1;
    s->start.x = s->last.x = x;
    s->start.y = s->last.y = y;
    s->upper_from = s->lower_from = 0;
    s->upper_to = s->lower_to = 1;
    s->upper[0] = s->lower[0] = entry;
    s->least.from = s->most.from = s->start;
    s->least.dx = s->most.dx = 0;
    s->least.dy = s->most.dy = 0;
    s->least.sum = s->most.sum = F(sum_of)(1, -1);
    s->least.space = s->most.space = F(sum_of)(0, 0);
}

/* The second point: it makes the lines. */
SX_WALK void F(fit_second)(F(fit_state) *s, F(fit_corner) top, F(fit_corner) low, uint32_t entry)
{
    F(fit_corner) from = s->start;
    F(fit_line) l;

    from.y = s->start.y + s->eps;
    l = F(fit_between)(from, low);
    F(fit_set_line)(&s->least, &l, s->eps, top.y - low.y);
    from.y = F(fit_low)(s->start.y, s->eps);
    l = F(fit_between)(from, top);
    F(fit_set_line)(&s->most, &l, s->eps, 0);
    s->upper[s->upper_to++] = entry;
    s->lower[s->lower_to++] = entry;
    s->points = 2;
}

/* Adds a point further right, to which the lines have moved. 0: no line fits it too. The
 * entry of a part's last point is never read again, so it may be anything: its rank may
 * be far behind the part. */
SX_WALK int F(fit_add)(F(fit_state) *s, KEY x, uint64_t y, uint32_t entry)
{
    F(fit_sum) none = F(sum_of)(0, 0), space1 = s->least.space, space2 = s->most.space;
    F(fit_corner) top, low;
    uint32_t upper_to;
    int sinks, rises;

    top.x = low.x = x;
    top.y = y + s->eps;
    low.y = F(fit_low)(y, s->eps);
    if (s->points == 1) {
        F(fit_second)(s, top, low, entry);
        return 1;
    }
    if (y < s->eps) {             /* the span is cut off at 0 */
        space1 = F(sum_of)(s->least.dx, (int64_t)(top.y - low.y));
        space2 = F(sum_of)(s->most.dx, (int64_t)(top.y - low.y));
    }
    if (F(sum_below)(s->least.sum, none) || F(sum_below)(space2, s->most.sum))
        return 0;
    sinks = F(sum_below)(s->most.sum, none);
    rises = F(sum_below)(space1, s->least.sum);
    upper_to = s->upper_to;
    if (sinks) {
        F(fit_turn_most)(s, top);
        F(fit_push_upper)(s, top, entry);
        upper_to = (uint32_t)(s->upper_to - 1);    /* without `top`, right above `low` */
    }
    if (rises) {
        F(fit_turn_least)(s, low, top.y - low.y, upper_to);
        F(fit_push_lower)(s, low, entry);
    }
    return 1;
}

SX_WALK uint32_t F(fit_zeros)(uint64_t v)        /* leading zeros; v is not 0 */
{
    uint32_t zeros = 0, half;

    for (half = 32; half > 0; half /= 2)
        if (v >> (64 - half) == 0) {
            zeros += half;
            v <<= half;
        }
    return zeros;
}

/* The slope dy / dx in units of 2^(lz - 72) (W == 16: 2^(lz - 136)), rounded up by
 * at most 2; and (dx * h - dy * a) / dx, not negative, in units of 1/256, rounded
 * up by less than 1.2. dy > 0. Both are at most 2^57. */
#if W == 16
SX_WALK uint32_t F(fit_key_zeros)(KEY v)
{
    return v >> 64 ? F(fit_zeros)((uint64_t)(v >> 64)) : 64 + F(fit_zeros)((uint64_t)v);
}

/* a * 2^e * t / dx rounded down, or 1 less; a >= 2^63, 0 < t <= 2^57, result <= 2^57.
 * With 61 bits of the quotient right, the rounding before the last is below 1/8. */
SX_WALK uint64_t F(fit_scale)(uint64_t a, int e, uint64_t t, KEY dx)
{
    uint32_t zeros = F(fit_key_zeros)(dx), shift = F(fit_zeros)(t) - 2;
    uint64_t divisor;             /* 2^62 .. 2^63, not below dx in its units */

    if (zeros < 65) {
        divisor = (uint64_t)(dx >> (65 - zeros));
        divisor += (dx & (((KEY)1 << (65 - zeros)) - 1)) != 0;
    } else {
        divisor = (uint64_t)dx << (zeros - 65);
    }
    e -= (int)shift + 65 - (int)zeros;
    a = (uint64_t)((unsigned __int128)a * (t << shift) / divisor);
    return e <= -64 ? 0 : a >> -e;               /* a >= 2^61, so e < 0 */
}

SX_WALK uint64_t F(fit_slope)(KEY dx, uint64_t dy, uint32_t lz)
{
    return F(fit_scale)((uint64_t)1 << 63, 65 - (int)lz, 256 * dy, dx) + 2;
}

SX_WALK uint64_t F(fit_height)(const F(fit_line) *l, KEY a)
{
    uint32_t zeros;

    if (a == 0)
        return 256 * l->from.y;
    zeros = F(fit_key_zeros)(a);
    return 256 * l->from.y - F(fit_scale)((uint64_t)(a << zeros >> 64), 64 - (int)zeros,
                                          256 * (uint64_t)l->dy, l->dx);
}
#else
SX_WALK uint32_t F(fit_key_zeros)(KEY v)
{
    return F(fit_zeros)(v);
}

SX_WALK uint64_t F(fit_slope)(KEY dx, uint64_t dy, uint32_t lz)
{
    return (uint64_t)(((unsigned __int128)dy << (72 - lz)) / dx) + 1;
}

SX_WALK uint64_t F(fit_height)(const F(fit_line) *l, KEY a)
{
    return 256 * l->from.y - (uint64_t)((unsigned __int128)a * (256 * (uint64_t)l->dy) / l->dx);
}
#endif

/* Adds a line's slope, and its height at x0. */
SX_WALK void F(fit_add_line)(const F(fit_line) *l, KEY x0, uint32_t lz, uint64_t *slope,
                             uint64_t *height)
{
    *slope += F(fit_slope)(l->dx, (uint64_t)l->dy, lz);
    *height += F(fit_height)(l, (KEY)(l->from.x - x0));
}

/* The height of a level line from rank `start` to rank `last`. */
SX_WALK uint64_t F(fit_level)(uint64_t start, uint64_t last, uint64_t eps)
{
    uint64_t low = F(fit_low)(last, eps), high = start + eps;

    return 256 * (low + (high - low) / 2);
}

/* The record of a single point. */
SX_WALK sx_segment F(fit_point)(uint64_t y)
{
    sx_segment record;

    record.slope = 0;
    record.base = 256 * y << 8 | (W == 16 ? 127 : 63);
    return record;
}

/* The record of two lines whose slopes and heights are added up. */
SX_WALK sx_segment F(fit_middle)(uint64_t slope, uint64_t height, uint32_t lz)
{
    sx_segment record;

    record.slope = (slope + 1) / 2;
    record.base = ((height + 1) / 2 + 2) << 8 | lz;
    return record;
}

/* The record of the segment: the line in the middle between `least` and `most`,
 * which fits as both do.
 *
 * Let f be that line, in units of 1/256, s its slope. f(x0) is at least y0 - eps
 * >= 0 and at most 256 * (n + eps). C is in f(x0) + [2, 3.7]; the slope is too large
 * by at most 2.5 in its unit, and times D < 2^64 by at most 2.5 behind the product's
 * upper half; that half loses less than 1, and D of 16-byte keys less than one
 * unit, 2^-6 behind the product. So f(x) < C + P < f(x) + 7 at every point: as
 * the bounds on f(x) / 256 are whole numbers, they hold for (C + P) >> 8 too.
 *
 * `least` may fall. Then a level line takes its place, which fits too: of two lines
 * that fit, all in between do. So no line falls. A line that fits rises by at
 * most n + eps < 2^48 over the segment, hence the slope is at most
 * 256 * 2^48 * 2^64 / 2^63 = 2^57 before it is rounded up. */
SX_WALK sx_segment F(fit_record)(const F(fit_state) *s)
{
    KEY span = (KEY)(s->last.x - s->start.x);
    uint64_t slope = 0, height = 0;
    uint32_t lz;

    if (span == 0)
        return F(fit_point)(s->start.y);
    lz = F(fit_key_zeros)(span);
    F(fit_add_line)(&s->most, s->start.x, lz, &slope, &height);
    if (s->least.dy > 0)
        F(fit_add_line)(&s->least, s->start.x, lz, &slope, &height);
    else
        height += F(fit_level)(s->start.y, s->last.y, s->eps);
    return F(fit_middle)(slope, height, lz);
}

/* The last rank of the run of equal keys that holds rank i. */
SX_WALK uint64_t F(fit_run_last)(const KEY *keys, uint64_t n, uint64_t i)
{
    KEY x = keys[i];
    uint64_t step = 1, end;

    while (step < n - i && keys[i + step] == x) {
        i += step;
        step *= 2;
    }
    end = step < n - i ? i + step : n;           /* keys[end] is not x, keys[i] is */
    while (i + 1 < end) {
        step = i + (end - i) / 2;
        if (keys[step] == x)
            i = step;
        else
            end = step;
    }
    return i;
}

/* Goes from the point (*x, *y) to the part's next; 0 if there is none. *y is n for the
 * final point. */
SX_WALK int F(fit_next)(const KEY *keys, uint64_t n, uint64_t end, KEY *x, uint64_t *y,
                        uint32_t *extra)
{
    uint64_t run, next;
    KEY gap;

    if (*y >= n)
        return 0;
    run = *extra ? *y : F(fit_run_last)(keys, n, *y);
    next = run + 1;
    gap = next < n ? (KEY)(keys[next] - *x) : (KEY)((KEY)~(KEY)0 - *x);
    if (next == n ? gap > 0 : run > *y && gap > 1) {
        *x += 1;
        *y = next == n ? n : run;
        *extra = 1;
        return 1;
    }
    if (next >= end)
        return 0;
    *x = keys[next];
    *y = next;
    *extra = 0;
    return 1;
}

/* Moves both lines to point (x, y) from the last one; 0 if it is too far up. */
SX_WALK int F(fit_move)(F(fit_state) *s, KEY x, uint64_t y)
{
    int64_t rise = (int64_t)(y - s->last.y) - 1;

#if W == 4                        /* only behind a run that leaves the part */
    if (y - s->start.y + 2 * s->eps >= (uint64_t)1 << 30)
        return 0;
#endif
    if (rise > 0) {
        s->least.sum = F(sum_plus)(s->least.sum, F(sum_of)(s->least.dx, rise));
        s->most.sum = F(sum_plus)(s->most.sum, F(sum_of)(s->most.dx, rise));
    }
    F(fit_move_line)(&s->least, (KEY)(x - s->last.x));
    F(fit_move_line)(&s->most, (KEY)(x - s->last.x));
    return 1;
}

/* The segments of part [first, end) of the n keys, in order: first values to out_keys,
 * records to out. Returns how many there are. `hull` has sx_hull_entries(), the others
 * sx_pgm_most(). Keys behind `end` are read if a run leaves the part. */
SX_WALK uint64_t F(pgm_fit_part)(const KEY *keys, uint64_t n, uint64_t first, uint64_t end,
                                 uint64_t eps, uint32_t *hull, KEY *out_keys, sx_segment *out)
{
    uint64_t y = first > 0 ? F(fit_run_last)(keys, n, first - 1) + 1 : 0, segments = 0;
    uint32_t extra = 0;
    uint32_t entry;
    F(fit_state) s;
    KEY x;
    int near;

    if (y >= end)
        return 0;
    s.keys = keys;
    s.first = first;
    s.eps = eps;
    s.upper = hull;
    s.lower = hull + (end - first + 1);
    x = keys[y];
    F(fit_start)(&s, x, y, (uint32_t)((y - first) * 2));
    for (;;) {
        near = 1;
        if (y + 1 < end && keys[y + 1] != x) {   /* most points: the next key */
            x = keys[++y];
            extra = 0;
            F(fit_move_line)(&s.least, (KEY)(x - s.last.x));
            F(fit_move_line)(&s.most, (KEY)(x - s.last.x));
        } else if (F(fit_next)(keys, n, end, &x, &y, &extra)) {
            near = F(fit_move)(&s, x, y);
        } else {
            break;
        }
        if (y < eps || !near || !F(sum_within)(s.least.sum, s.least.space) ||
            !F(sum_within)(s.most.sum, s.most.space)) {
            entry = (uint32_t)((y - first) * 2 + extra);
            if (!near || !F(fit_add)(&s, x, y, entry)) {
                out_keys[segments] = s.start.x;
                out[segments++] = F(fit_record)(&s);
                F(fit_start)(&s, x, y, entry);
            }
        }
        s.last.x = x;
        s.last.y = y;
    }
    out_keys[segments] = s.start.x;
    out[segments++] = F(fit_record)(&s);
    return segments;
}
