/* pgm_lanes_impl.h - pgm_fit_impl.h's segments, the same to the last bit, by
 * SX_FIT_LANES lanes of a warp for a part. Parameters as there; after it.
 *
 * Points. At most one point has rank i: for the first of equal keys, that key; for
 * the last of several, the extra point. Behind the part there is at most one more:
 * the extra point of a run that leaves it, or the final one. So lanes look at a
 * window of ranks, one each. A line's sum at a point follows from the line alone:
 *
 *     dx * (y + eps - height of its left corner) - dy * (x - x of that corner)
 *
 * Hence the first point of a window that changes anything is found at once, and all
 * before it are done. The keys of the next window are on their way meanwhile.
 *
 * Hulls are in shared memory, with space for SX_FIT_NEAR corners each. Let a, b be
 * neighbours on a hull, and c a corner of a new point. c is beyond them if it is above
 * the line through them (an upper corner, to which a line sinks) or below it (a lower
 * corner, to which a line rises). The line turns about a of the first two that c is
 * beyond, on the one hull, and c goes behind b of the last two, on the other. If there
 * are none, it turns about the last corner, and c goes behind the first. Each lane looks
 * at two corners.
 *
 * All groups of a warp go the same way: what one of them does, all of them pass
 * through, those that do not need it without effect. So a turn about one hull and
 * one about the other are one piece of code.
 *
 * Heights are counted from the part's first rank on, in 32 bits that wrap: those
 * that are compared differ by less than 2^30. A part that needs more space for a
 * hull, or whose last point is higher, is left to k_fit_again. */

/* dx * dy; unsigned, as lanes without a point compute something, too. */
#if W == 16
typedef F(fit_sum) F(near_sum);

SX_DEV F(near_sum) F(near_up)(KEY dx, uint32_t dy)
{
    return F(sum_of)(dx, (int64_t)dy);
}

SX_DEV F(near_sum) F(near_times)(KEY dx, int32_t dy)
{
    return F(sum_of)(dx, dy);
}

SX_DEV F(near_sum) F(near_minus)(F(near_sum) a, F(near_sum) b)
{
    return F(sum_minus)(a, b);
}

SX_DEV int F(near_below)(F(near_sum) a, F(near_sum) b)
{
    return F(sum_below)(a, b);
}

SX_DEV int F(near_negative)(F(near_sum) a)
{
    return (int64_t)a.high < 0;
}
#else
typedef F(fit_size) F(near_sum);

SX_DEV F(near_sum) F(near_up)(KEY dx, uint32_t dy)
{
    return (F(fit_size))dx * dy;
}

SX_DEV F(near_sum) F(near_times)(KEY dx, int32_t dy)
{
    return (F(fit_size))dx * (uint32_t)dy - ((F(fit_size))(dy < 0 ? dx : 0) << 32);
}

SX_DEV F(near_sum) F(near_minus)(F(near_sum) a, F(near_sum) b)
{
    return a - b;
}

SX_DEV int F(near_below)(F(near_sum) a, F(near_sum) b)
{
    return (F(fit_sum))a < (F(fit_sum))b;
}

SX_DEV int F(near_negative)(F(near_sum) a)
{
    return (F(fit_sum))a < 0;
}
#endif

typedef struct {
    KEY x;
    uint32_t y;
} __attribute__((aligned(W == 4 ? 8 : 16))) F(near_corner);

typedef struct {
    F(near_corner) from;          /* its left corner */
    KEY dx;
    int32_t dy;
} F(near_line);

typedef struct {                  /* the same in all lanes of a group, except * */
    const KEY *keys;              /* from the part's first on */
    uint64_t n, first;
    uint32_t len, edge;           /* of the part; the last of its keys that may be read */
    uint32_t begin;               /* the first run that begins in it */
    int32_t back;                 /* the first key that may be read: -1, or 0 */
    uint32_t eps, floor;          /* rank 0 is -floor, or below -eps */
    uint32_t me, lead, group;     /* *lane in the warp; the group's first; all of them */
    int second;                   /* *of the second half of the group ... */
    uint32_t half_lead, half;     /* *... which has these lanes */
    F(near_corner) *hulls;        /* the upper one, then the lower one */
    uint32_t upper_from, upper_to, lower_from, lower_to;
    F(near_corner) start;         /* the segment's first point */
    F(near_line) least, most;
    uint32_t base;                /* the window: the rank that lane 0 of the warp would have
                                     in it */
    uint32_t seen, points;        /* lanes that have a point in it; those still to be done */
    uint32_t old_base, old_seen;  /* the last window before it that had any, */
    KEY old_x;                    /* *and a point there */
    uint32_t single;              /* all ones: the segment has one point */
    KEY x;                        /* *its point; its upper corner, and from there to the */
    uint32_t top, span;           /* *lower one */
    KEY before, here, behind;     /* *of the next window: a key and its neighbours */
    int on, tail, again;
} F(near_state);

/* The lowest lane of a set; 32 if it is empty. */
SX_DEV uint32_t F(near_lowest)(uint32_t lanes)
{
    return SX_POPC((lanes - 1) & ~lanes);
}

/* The height of a point's lower corner. The span is cut off at rank 0. */
SX_DEV uint32_t F(near_low)(const F(near_state) *s, uint32_t y)
{
    int32_t low = (int32_t)(y - s->eps), floor = -(int32_t)s->floor;

    return (uint32_t)(low < floor ? floor : low);
}

SX_DEV F(near_line) F(near_between)(F(near_corner) from, F(near_corner) to)
{
    F(near_line) l;

    l.from = from;
    l.dx = (KEY)(to.x - from.x);
    l.dy = (int32_t)(to.y - from.y);
    return l;
}

/* Whether c is above the line through a and b (above is 1), or below it (0). Of neighbours
 * on a hull, b is not below a. There is no branch. */
SX_DEV int F(near_beyond)(F(near_corner) a, F(near_corner) b, F(near_corner) c, int above)
{
    F(near_sum) rise = F(near_times)((KEY)(b.x - a.x), (int32_t)(c.y - a.y));
    F(near_sum) line = F(near_up)((KEY)(c.x - a.x), (uint32_t)(b.y - a.y));

    rise = F(near_minus)(F(near_minus)(rise, line), F(near_up)(1, (uint32_t)above));
    return F(near_negative)(rise) != above;
}

/* The part takes more space than there is here. */
SX_DEV void F(near_give_up)(F(near_state) *s)
{
    s->again = 1;
    s->points = 0;
}

/* ---- windows ---------------------------------------------------------------- */

/* Sends for the keys of the window at `base`. */
SX_DEV void F(near_send)(F(near_state) *s, uint32_t base)
{
    uint32_t i = base + s->me, j = i < s->edge ? i + 1 : s->edge;

    i = i < s->edge ? i : s->edge;
    s->here = s->keys[i];
    s->behind = s->keys[j];
    s->before = s->keys[(int32_t)i - 1 < s->back ? s->back : (int32_t)i - 1];
}

SX_DEV void F(near_enter)(F(near_state) *s, uint32_t base, KEY x)
{
    s->base = base;
    s->x = x;
    s->top = base + s->me + s->eps;
    s->span = s->top - F(near_low)(s, base + s->me);
}

/* The keys have come, and those of the window behind are sent for. Returns whether this
 * lane has a point. */
SX_DEV int F(near_window)(F(near_state) *s, uint32_t base)
{
    uint32_t i = base + s->me;
    int begins = s->before != s->here || i == s->begin;
    int extra = (KEY)(s->behind - s->here) > 1;          /* at the edge they are one */

    F(near_enter)(s, base, (KEY)(s->here + !begins));
    F(near_send)(s, base + SX_FIT_LANES);
    return i >= s->begin && i < s->len && (begins || extra);
}

/* The point behind the part, if there is one, in a window of its own. */
SX_DEV int F(near_tail)(F(near_state) *s)
{
    const KEY *keys = s->keys - s->first;
    uint64_t last = F(fit_run_last)(keys, s->n, s->first + s->len - 1), y = s->n;
    KEY x = keys[last];

    s->tail = 1;
    s->on = x != (KEY)~(KEY)0;
    if (last + 1 < s->n) {
        y = last;
        s->on = last >= s->first + s->len && (KEY)(keys[last + 1] - x) > 1;
    }
    y -= s->first;
    if (s->on && y + 2 * (uint64_t)s->eps >= (uint64_t)1 << 30) {
        s->again = 1;
        s->on = 0;
    }
    F(near_enter)(s, (uint32_t)y - s->lead, (KEY)(x + 1));
    return s->on && s->me == s->lead;
}

/* Goes on from a window to the next. Returns whether this lane has a point there. */
SX_DEV int F(near_next)(F(near_state) *s)
{
    uint32_t i = s->base + s->lead + SX_FIT_LANES;
    uint64_t last;

    if (s->tail || s->again) {
        s->on = 0;
        return 0;
    }
    if (!s->seen && i < s->len) {                /* inside of a run: on to its end */
        last = F(fit_run_last)(s->keys - s->first, s->n, s->first + i - 1) - s->first;
        if (last > i) {
            i = last < s->len ? (uint32_t)last : s->len;
            F(near_send)(s, i - s->lead);
        }
    }
    return i < s->len ? F(near_window)(s, i - s->lead) : F(near_tail)(s);
}

/* ---- segments --------------------------------------------------------------- */

SX_DEV void F(near_put)(F(near_state) *s, uint32_t at, F(near_corner) c)
{
    if (s->me == s->lead)
        s->hulls[at] = c;
}

/* A segment begins with a point. */
SX_DEV void F(near_start)(F(near_state) *s, KEY x, uint32_t y)
{
    F(near_corner) c;

    s->start.x = c.x = x;
    s->start.y = y;
    c.y = y + s->eps;
    F(near_put)(s, 0, c);
    c.y = F(near_low)(s, y);
    F(near_put)(s, SX_FIT_NEAR, c);
    s->upper_from = s->lower_from = 0;
    s->upper_to = s->lower_to = 1;
    s->single = ~0u;
}

/* Its second point makes the lines. */
SX_DEV void F(near_second)(F(near_state) *s, F(near_corner) top, F(near_corner) low)
{
    F(near_corner) from = s->start;

    from.y = s->start.y + s->eps;
    s->least = F(near_between)(from, low);
    from.y = F(near_low)(s, s->start.y);
    s->most = F(near_between)(from, top);
    F(near_put)(s, 1, top);
    F(near_put)(s, SX_FIT_NEAR + 1, low);
    s->upper_to = s->lower_to = 2;
    s->single = 0;
}

/* Groups that are `on` turn a line about one hull, to a corner c of a new point, and put c
 * behind the other hull. If it sinks, `most` turns to the upper corner, about lower ones. If
 * it rises, `least` turns to the lower corner, about upper ones. The upper corner of the same
 * point may be the last of those; but c is below any line to it, so nothing turns about it.
 *
 * The lanes of the first half look for the corner to turn about, from the left. Those of the
 * second half look for the corner to put c behind, from the right. Lanes that have found it
 * find it again while others look further. */
SX_DEV void F(near_turn)(F(near_state) *s, F(near_corner) c, int on, int sinks)
{
    int upper = sinks == s->second;              /* this lane's hull */
    const F(near_corner) *hull = s->hulls + (upper ? 0 : SX_FIT_NEAR);
    uint32_t from = upper ? s->upper_from : s->lower_from;
    uint32_t to = upper ? s->upper_to : s->lower_to;
    uint32_t at = s->second ? to : from, pairs = to - from - 1, me = s->me - s->half_lead;
    F(near_corner) hinge;
    int more;

    do {
        uint32_t i = at + (s->second ? 0u - 2 - me : me), stops, off;
        int in = me < pairs;
        i = in ? i : 0;
        stops = SX_BALLOT(in & F(near_beyond)(hull[i], hull[i + 1], c, sinks)) & s->half;
        more = on && !stops && pairs > SX_FIT_LANES / 2;
        off = F(near_lowest)(stops) - s->half_lead;
        off = off < SX_FIT_LANES / 2 ? off : SX_FIT_LANES / 2;
        off = off < pairs ? off : pairs;
        at += s->second ? 0 - off : off;
        pairs -= off;
    } while (SX_ANY(more));
    from = SX_SHUFFLE(at, s->lead);
    to = SX_SHUFFLE(at, s->lead + SX_FIT_LANES / 2);
    SX_WARP_SYNC();               /* all have read what is written over below */
    if (!on)
        return;
    hinge = s->hulls[(sinks ? SX_FIT_NEAR : 0) + from];
    F(near_put)(s, (sinks ? 0 : SX_FIT_NEAR) + to++, c);
    if (sinks) {
        s->most = F(near_between)(hinge, c);
        s->lower_from = from;
        s->upper_to = to;
    } else {
        s->least = F(near_between)(hinge, c);
        s->upper_from = from;
        s->lower_to = to;
    }
    if (to == SX_FIT_NEAR)        /* there is always space for one */
        F(near_give_up)(s);
}

/* The record, by two lanes, one for either line. All lanes of a warp come. Groups that are
 * not `on` have no line that ends with `last`. */
SX_DEV sx_segment F(near_record)(const F(near_state) *s, F(near_corner) last, int on)
{
    KEY span = on ? (KEY)(last.x - s->start.x) : 0;
    uint64_t slope = 0, height = 0;
    uint32_t lz = 0, odd = s->me & 1;
    F(fit_line) l;

    if (span > 0) {
        lz = F(fit_key_zeros)(span);
        l.from.x = odd ? s->least.from.x : s->most.from.x;
        l.from.y = s->first + (uint64_t)(int32_t)(odd ? s->least.from.y : s->most.from.y);
        l.dx = odd ? s->least.dx : s->most.dx;
        l.dy = odd ? s->least.dy : s->most.dy;
        if (l.dy > 0)
            F(fit_add_line)(&l, s->start.x, lz, &slope, &height);
        else
            height = F(fit_level)(s->first + s->start.y, s->first + last.y, s->eps);
    }
    slope += SX_SHUFFLE_XOR(slope, 1u);
    height += SX_SHUFFLE_XOR(height, 1u);
    return span > 0 ? F(fit_middle)(slope, height, lz) : F(fit_point)(s->first + s->start.y);
}

/* ---- parts ------------------------------------------------------------------ */

/* Goes up to the first point, which begins a segment. keys, n, eps, hulls and lanes are
 * set, the rest is 0. All lanes of a warp come. */
SX_DEV void F(near_begin)(F(near_state) *s, uint64_t first, uint64_t end)
{
    uint64_t y = first > 0 && first < end ? F(fit_run_last)(s->keys, s->n, first - 1) + 1 : first;
    uint32_t base = (uint32_t)(y - first) / SX_FIT_LANES * SX_FIT_LANES - s->lead;
    int has = 0;

    s->on = y < end;
    if (s->on) {
        s->keys += first;
        s->first = first;
        s->len = (uint32_t)(end - first);
        s->edge = end < s->n ? s->len : s->len - 1;
        s->begin = (uint32_t)(y - first);
        s->back = first > 0 ? -1 : 0;
        s->floor = first < s->eps ? (uint32_t)first : s->eps;
        F(near_start)(s, s->keys[s->begin], s->begin);
        F(near_send)(s, base);
        has = F(near_window)(s, base);
    }
    s->seen = SX_BALLOT(has) & s->group;
    s->points = s->seen & (s->seen - 1);
    SX_WARP_SYNC();
}

/* The point before lane j's. All lanes of a warp come. */
SX_DEV F(near_corner) F(near_last)(const F(near_state) *s, uint32_t j)
{
    uint32_t before = s->seen & SX_LOW_BITS(j), lanes = before ? before : s->old_seen;
    uint32_t lane = lanes ? 31 - SX_CLZ(lanes) : 0;
    KEY x = F(shuffle_key)(s->x, lane), old_x = F(shuffle_key)(s->old_x, lane);
    F(near_corner) last;

    last.x = before ? x : old_x;
    last.y = (before ? s->base : s->old_base) + lane;
    return last;
}

/* Where the segments of a part go. */
typedef struct {
    KEY *keys;
    sx_segment *records;
    uint64_t count;
} F(near_out);

SX_DEV void F(near_end)(const F(near_state) *s, F(near_out) *out, F(near_corner) last, int on)
{
    sx_segment record = F(near_record)(s, last, on);

    if (!on)
        return;
    if (s->me == s->lead) {
        out->keys[out->count] = s->start.x;
        out->records[out->count] = record;
    }
    out->count++;
}

/* What a point does if it is not just one turn. All lanes of a warp come. */
SX_DEV void F(near_rest)(F(near_state) *s, F(near_out) *out, F(near_corner) top, F(near_corner) low,
                         uint32_t lane, int ends, int both, int second)
{
    if (SX_ANY(both)) {
        SX_WARP_SYNC();           /* the upper corner is there */
        F(near_turn)(s, low, both, 0);
    }
    if (second)
        F(near_second)(s, top, low);
    if (SX_ANY(ends)) {
        F(near_end)(s, out, F(near_last)(s, lane), ends);
        if (ends)
            F(near_start)(s, top.x, s->base + lane);
    }
}

/* Groups that are done with their window go on to the next. All lanes of a warp come. */
SX_DEV void F(near_advance)(F(near_state) *s, int next)
{
    uint32_t seen;
    int has = 0;

    if (next) {
        if (s->seen) {
            s->old_base = s->base;
            s->old_seen = s->seen;
            s->old_x = s->x;
        }
        has = F(near_next)(s);
    }
    seen = SX_BALLOT(has) & s->group;
    if (next)
        s->seen = s->points = seen;
}

/* One step of all groups of a warp: up to the first point that changes anything, and on to
 * the next window if no point is left in this one. 0: all are done. */
SX_DEV int F(near_step)(F(near_state) *s, F(near_out) *out)
{
    F(near_sum) sum1 = F(near_minus)(
        F(near_up)(s->least.dx, (uint32_t)(s->top - s->least.from.y)),
        F(near_times)((KEY)(s->x - s->least.from.x), s->least.dy));
    F(near_sum) sum2 = F(near_minus)(         /* this line rises */
        F(near_up)(s->most.dx, (uint32_t)(s->top - s->most.from.y)),
        F(near_up)((KEY)(s->x - s->most.from.x), (uint32_t)s->most.dy));
    F(near_sum) space1 = F(near_up)(s->least.dx, s->span), space2 = F(near_up)(s->most.dx, s->span);
    uint32_t ends = SX_BALLOT(F(near_negative)(sum1) || F(near_below)(space2, sum2));
    uint32_t sinks = SX_BALLOT(F(near_negative)(sum2));
    uint32_t rises = SX_BALLOT(F(near_below)(space1, sum1));
    uint32_t hit = (ends | sinks | rises | s->single) & s->points, turns, lane;
    F(near_corner) top, low;
    int both, next;

    hit &= 0 - hit;               /* the first */
    s->points &= ~(hit | (hit - 1));
    lane = SX_POPC(hit - 1) & 31;
    top.x = low.x = F(shuffle_key)(s->x, lane);
    top.y = s->base + lane + s->eps;
    low.y = F(near_low)(s, s->base + lane);
    ends &= hit & ~s->single;
    turns = hit & ~(s->single | ends);
    both = (turns & sinks & rises) != 0;
    if (SX_ANY(turns))
        F(near_turn)(s, sinks & hit ? top : low, turns != 0, (sinks & hit) != 0);
    if (SX_ANY((hit & (s->single | ends)) || both))
        F(near_rest)(s, out, top, low, lane, ends != 0, both, (hit & s->single) != 0);
    next = s->on && !s->points;
    if (SX_ANY(next)) {
        F(near_advance)(s, next);
        if (!SX_ANY(s->on))
            return 0;
    }
    SX_WARP_SYNC();
    return 1;
}

/* The segments of part [first, end) of the n keys, as pgm_fit_part(), or SX_FIT_AGAIN. Each
 * group of a warp's lanes has a part, or an empty one. */
SX_DEV uint64_t F(near_fit_part)(const KEY *keys, uint64_t n, uint64_t first, uint64_t end,
                                 uint32_t eps, F(near_corner) *hulls, KEY *out_keys,
                                 sx_segment *records)
{
    F(near_state) s = {0};
    F(near_out) out = {0};
    int some;

    s.keys = keys;
    s.n = n;
    s.eps = eps;
    s.hulls = hulls;
    s.me = SX_LANE;
    s.lead = SX_LANE / SX_FIT_LANES * SX_FIT_LANES;
    s.group = SX_LOW_BITS(SX_FIT_LANES) << s.lead;
    s.second = SX_LANE % SX_FIT_LANES >= SX_FIT_LANES / 2;
    s.half_lead = s.lead + (s.second ? SX_FIT_LANES / 2 : 0);
    s.half = SX_LOW_BITS(SX_FIT_LANES / 2) << s.half_lead;
    s.upper_to = s.lower_to = 1;
    out.keys = out_keys;
    out.records = records;
    F(near_begin)(&s, first, end);
    some = s.on;
    if (SX_ANY(s.on))
        while (F(near_step)(&s, &out))
            ;
    F(near_end)(&s, &out, F(near_last)(&s, 32), some && !s.again);
    return s.again ? SX_FIT_AGAIN : out.count;
}
