/* gpu_lanes_impl.h - pgm_fit_impl.h's segments, the same to the last bit, by
 * SX_FIT_LANES lanes of a warp for a part. Parameters as there; after it.
 *
 * Points. At most one has rank i: of the first of equal keys, that key; of the last
 * of several, the extra point. Behind the part, there is at most one more: the extra
 * point of a run that leaves it, or the final one. So lanes look at a window of
 * ranks, one each. What a line's sum is at a point follows from the line alone:
 *
 *     dx * (y + eps - height of its left corner) - dy * (x - x of that corner)
 *
 * Hence the first point of a window that changes anything is found at once, and all
 * before it are done. The keys of the next window are on their way meanwhile.
 *
 * Hulls are in shared memory, with room for SX_FIT_NEAR corners each. The corners a,
 * b of each pair of neighbours on a hull and the new corner c make a bend: the line
 * about a hull stops turning at the first pair that c is not beyond, a corner behind
 * it takes off all pairs behind the last such; lanes look at one pair each.
 *
 * All groups of a warp go the same way: what one of them does, all of them pass
 * through, those that do not need it without effect. So a turn about one hull and
 * one about the other are one piece of code.
 *
 * Heights are counted from the part's first rank on, in 32 bits that wrap: those
 * that are compared differ by less than 2^30. A part that needs more room for a
 * hull, or whose last point is higher, is left to k_fit_again. */

#undef SX_FIT_NEAR
#define SX_FIT_NEAR (SX_FIT_NEAR_BYTES / (2 * W))

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
    F(near_sum) room;
} F(near_line);

typedef struct {                  /* all lanes of a group have the same, but for * */
    const KEY *keys;              /* from the part's first on */
    uint64_t n, first;
    uint32_t len, edge;           /* of the part; the last of its keys that may be read */
    uint32_t begin;               /* the first run that begins in it */
    uint32_t eps, floor, cut;     /* heights: see near_low() */
    uint32_t lane, shift;         /* *in the group; of the group's lanes in a ballot */
    F(near_corner) *hulls;        /* the upper one, then the lower one */
    uint32_t upper_from, upper_to, lower_from, lower_to;
    F(near_corner) start, last;   /* points of the segment */
    F(near_line) least, most;
    uint32_t base, seen, points;  /* the window: lanes with a point, those to be done */
    uint32_t single;              /* all ones: the segment has one point */
    KEY x;                        /* *its point's */
    KEY before, here, behind;     /* *of the next window: a key and its neighbours */
    int on, tail, again;
} F(near_state);

SX_DEV KEY F(near_shuffle)(KEY x, unsigned lane)
{
#if W == 16
    return (KEY)SX_SHUFFLE((uint64_t)(x >> 64), lane) << 64 | SX_SHUFFLE((uint64_t)x, lane);
#else
    return SX_SHUFFLE(x, lane);
#endif
}

/* Of the group's lanes. */
SX_DEV uint32_t F(near_ballot)(const F(near_state) *s, int what)
{
    return SX_BALLOT(what) >> s->shift & SX_LOW_BITS(SX_FIT_LANES);
}

/* The lowest lane of some; their number if there is none. */
SX_DEV uint32_t F(near_lowest)(uint32_t lanes)
{
    return lanes ? SX_POPC((lanes - 1) & ~lanes) : SX_FIT_LANES;
}

/* The lower corner's height of a point; the span is cut off at rank 0, which is
 * -floor. */
SX_DEV uint32_t F(near_low)(const F(near_state) *s, uint32_t y)
{
    int32_t low = (int32_t)(y - s->eps), floor = -(int32_t)s->floor;

    return (uint32_t)(low < floor ? floor : low);
}

/* dx * (y + eps - height of the line); top is y + eps. */
SX_DEV F(near_sum) F(near_at)(const F(near_line) *l, KEY x, uint32_t top)
{
    return F(near_minus)(F(near_up)(l->dx, (uint32_t)(top - l->from.y)),
                         F(near_times)((KEY)(x - l->from.x), l->dy));
}

SX_DEV F(near_line) F(near_between)(const F(near_state) *s, F(near_corner) from, F(near_corner) to)
{
    F(near_line) l;

    l.from = from;
    l.dx = (KEY)(to.x - from.x);
    l.dy = (int32_t)(to.y - from.y);
    l.room = F(near_up)(l.dx, 2 * s->eps);
    return l;
}

/* Is c above the line through a and b, or below it? Of neighbours on a hull, b is
 * not below a. */
SX_DEV int F(near_beyond)(F(near_corner) a, F(near_corner) b, F(near_corner) c, int above)
{
    F(near_sum) rise = F(near_times)((KEY)(b.x - a.x), (int32_t)(c.y - a.y));
    F(near_sum) line = F(near_up)((KEY)(c.x - a.x), (uint32_t)(b.y - a.y));

    return above ? F(near_below)(line, rise) : F(near_below)(rise, line);
}

/* It takes more than there is here. */
SX_DEV void F(near_give_up)(F(near_state) *s)
{
    s->again = 1;
    s->on = 0;
    s->points = 0;
}

/* ---- windows ---------------------------------------------------------------- */

/* Sends for the keys of the window at `base`. */
SX_DEV void F(near_send)(F(near_state) *s, uint32_t base)
{
    uint32_t i = base + s->lane, j = i < s->edge ? i + 1 : s->edge;

    i = i < s->edge ? i : s->edge;
    s->here = s->keys[i];
    s->behind = s->keys[j];
    s->before = s->keys[(int64_t)i - (s->first + i > 0)];
}

/* They are there; returns whether this lane has a point. */
SX_DEV int F(near_enter)(F(near_state) *s, uint32_t base)
{
    uint32_t i = base + s->lane;
    int begins = s->before != s->here || s->first + i == 0;
    int extra = i < s->edge && (KEY)(s->behind - s->here) > 1;

    s->x = (KEY)(s->here + !begins);
    s->base = base;
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
    if (s->on && y + 2 * (uint64_t)s->eps >= (uint64_t)1 << 30)
        F(near_give_up)(s);
    s->x = (KEY)(x + 1);
    s->base = (uint32_t)y;
    return s->on && s->lane == 0;
}

/* From a window on to the next; 0: this lane has no point there. */
SX_DEV int F(near_next)(F(near_state) *s)
{
    uint32_t base = s->base + SX_FIT_LANES;
    uint64_t last;

    if (s->tail) {
        s->on = 0;
        return 0;
    }
    if (!s->seen && base < s->len) {             /* inside of a run: on to its end */
        last = F(fit_run_last)(s->keys - s->first, s->n, s->first + base - 1) - s->first;
        if (last > base) {
            base = last < s->len ? (uint32_t)last : s->len;
            F(near_send)(s, base);
        }
    }
    return base < s->len ? F(near_enter)(s, base) : F(near_tail)(s);
}

/* ---- segments --------------------------------------------------------------- */

SX_DEV void F(near_put)(F(near_state) *s, uint32_t at, F(near_corner) c)
{
    if (s->lane == 0)
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
    s->least = F(near_between)(s, from, low);
    from.y = F(near_low)(s, s->start.y);
    s->most = F(near_between)(s, from, top);
    F(near_put)(s, 1, top);
    F(near_put)(s, SX_FIT_NEAR + 1, low);
    s->upper_to = s->lower_to = 2;
    s->single = 0;
}

/* Those groups that are `on` turn a line about one hull, to a corner of a new point,
 * and put the other corner behind the other hull: if it sinks, `most` to the
 * upper corner about lower ones; if it rises, `least` to the lower corner about
 * upper ones, of which those before upper_to are older than the point. */
SX_DEV void F(near_turn)(F(near_state) *s, F(near_corner) top, F(near_corner) low, int on, int sinks,
                         uint32_t upper_to)
{
    const F(near_corner) *about = s->hulls + (sinks ? SX_FIT_NEAR : 0);
    const F(near_corner) *behind = s->hulls + (sinks ? 0 : SX_FIT_NEAR);
    F(near_corner) c = sinks ? top : low;
    uint32_t from = sinks ? s->lower_from : s->upper_from, to = sinks ? s->lower_to : upper_to;
    uint32_t left = sinks ? s->upper_from : s->lower_from;
    uint32_t right = sinks ? s->upper_to : s->lower_to;
    int turns = on, pops = on;
    F(near_line) l;

    do {
        uint32_t i = from + s->lane, j = right - 2 - s->lane, stops, keeps;
        int stop = 0, keep = 0;
        if (turns && i + 1 < to)
            stop = F(near_beyond)(about[i], about[i + 1], c, sinks);
        if (pops && right >= left + 2 + s->lane)
            keep = F(near_beyond)(behind[j], behind[j + 1], c, sinks);
        stops = F(near_ballot)(s, stop);
        keeps = F(near_ballot)(s, keep);
        if (turns) {
            from += F(near_lowest)(stops);
            turns = !stops && from + 1 < to;
            from = from < to ? from : to - 1;
        }
        if (pops) {
            uint32_t off = F(near_lowest)(keeps);
            pops = !keeps && right >= left + 2 + off;
            right = right >= left + 1 + off ? right - off : left + 1;
        }
    } while (SX_ANY(turns || pops));
    if (!on)
        return;
    l = F(near_between)(s, about[from], c);
    if (right == SX_FIT_NEAR) {
        F(near_give_up)(s);
        return;
    }
    F(near_put)(s, (sinks ? 0 : SX_FIT_NEAR) + right++, c);
    if (sinks) {
        s->most = l;
        s->lower_from = from;
        s->upper_to = right;
    } else {
        s->least = l;
        s->upper_from = from;
        s->lower_to = right;
    }
}

/* The record, by two lanes: one knows about either line. All lanes of a warp come. */
SX_DEV sx_segment F(near_record)(const F(near_state) *s, F(near_corner) last)
{
    KEY span = (KEY)(last.x - s->start.x);
    uint64_t slope = 0, height = 0;
    uint32_t lz = 0, odd = s->lane & 1;
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

/* Up to the first point, which begins a segment; keys, n, eps, hulls, lane and shift
 * are set, all else is 0. All lanes of a warp come. */
SX_DEV void F(near_begin)(F(near_state) *s, uint64_t first, uint64_t end)
{
    uint64_t y = first > 0 && first < end ? F(fit_run_last)(s->keys, s->n, first - 1) + 1 : first;
    uint32_t base = (uint32_t)(y - first) / SX_FIT_LANES * SX_FIT_LANES;
    int has = 0;

    s->on = y < end;
    if (s->on) {
        s->keys += first;
        s->first = first;
        s->len = (uint32_t)(end - first);
        s->edge = end < s->n ? s->len : s->len - 1;
        s->begin = (uint32_t)(y - first);
        s->floor = first < s->eps ? (uint32_t)first : s->eps;
        s->cut = s->eps - s->floor;
        F(near_start)(s, s->keys[s->begin], s->begin);
        F(near_send)(s, base);
        has = F(near_enter)(s, base);
    }
    s->seen = F(near_ballot)(s, has);
    s->points = s->seen & (s->seen - 1);
    SX_WARP_SYNC();
}

/* The point before lane j's, of this window or the last one that had any. */
SX_DEV F(near_corner) F(near_last)(const F(near_state) *s, uint32_t j)
{
    uint32_t before = s->seen & SX_LOW_BITS(j);
    uint32_t lane = before ? 31 - SX_CLZ(before) : 0;
    F(near_corner) last = s->last;
    KEY x = F(near_shuffle)(s->x, s->shift + lane);

    if (before) {
        last.x = x;
        last.y = s->base + lane;
    }
    return last;
}

/* Segments of a part go here. */
typedef struct {
    KEY *keys;
    sx_segment *records;
    uint64_t count;
} F(near_out);

SX_DEV void F(near_end)(const F(near_state) *s, F(near_out) *out, F(near_corner) last, int on)
{
    sx_segment record = F(near_record)(s, last);

    if (!on)
        return;
    if (s->lane == 0) {
        out->keys[out->count] = s->start.x;
        out->records[out->count] = record;
    }
    out->count++;
}

/* A point that makes a line turn, or both. */
SX_DEV void F(near_point)(F(near_state) *s, F(near_corner) top, F(near_corner) low, int sinks,
                          int rises)
{
    int both = sinks && rises;

    F(near_turn)(s, top, low, sinks || rises, sinks, s->upper_to);
    if (SX_ANY(both))             /* the new corner is right above `low` */
        F(near_turn)(s, top, low, both && s->on, 0, s->upper_to - 1);
}

/* One step of all groups of a warp: up to the first point that changes anything,
 * and on to the next window if there is none left in this. */
SX_DEV void F(near_step)(F(near_state) *s, F(near_out) *out)
{
    uint32_t y = s->base + s->lane, ends, sinks, rises, hit, j;
    F(near_sum) sum1 = F(near_at)(&s->least, s->x, y + s->eps), room1 = s->least.room;
    F(near_sum) sum2 = F(near_at)(&s->most, s->x, y + s->eps), room2 = s->most.room;
    F(near_corner) top, low;
    int next, has = 0;

    if (y < s->cut) {             /* the span is cut off */
        room1 = F(near_up)(s->least.dx, (uint32_t)(y + s->eps - F(near_low)(s, y)));
        room2 = F(near_up)(s->most.dx, (uint32_t)(y + s->eps - F(near_low)(s, y)));
    }
    ends = F(near_ballot)(s, F(near_negative)(sum1) || F(near_below)(room2, sum2));
    sinks = F(near_ballot)(s, F(near_negative)(sum2));
    rises = F(near_ballot)(s, F(near_below)(room1, sum1));
    hit = (ends | sinks | rises | s->single) & s->points;
    hit &= 0 - hit;               /* the first */
    s->points &= ~(hit | (hit - 1));
    j = SX_POPC(hit - 1) % SX_FIT_LANES;
    top.x = low.x = F(near_shuffle)(s->x, s->shift + j);
    top.y = s->base + j + s->eps;
    low.y = F(near_low)(s, s->base + j);
    ends &= hit & ~s->single;
    sinks &= hit & ~(s->single | ends);
    rises &= hit & ~(s->single | ends);
    if (SX_ANY(sinks | rises))
        F(near_point)(s, top, low, sinks != 0, rises != 0);
    if (hit & s->single)
        F(near_second)(s, top, low);
    if (SX_ANY(ends)) {
        F(near_end)(s, out, F(near_last)(s, j), ends != 0);
        if (ends)
            F(near_start)(s, top.x, s->base + j);
    }
    next = s->on && !s->points;
    if (SX_ANY(next)) {
        F(near_corner) last = F(near_last)(s, SX_FIT_LANES);
        if (next) {
            s->last = last;
            has = F(near_next)(s);
        }
        hit = F(near_ballot)(s, has);
        if (next)
            s->seen = s->points = hit;
    }
    SX_WARP_SYNC();
}

/* The segments of part [first, end) of the n keys, as pgm_fit_part(), or SX_FIT_AGAIN;
 * for each group of a warp's lanes one, or none if it is empty. */
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
    s.lane = SX_LANE % SX_FIT_LANES;
    s.shift = SX_LANE - s.lane;
    out.keys = out_keys;
    out.records = records;
    F(near_begin)(&s, first, end);
    some = s.on;
    while (SX_ANY(s.on))
        F(near_step)(&s, &out);
    F(near_end)(&s, &out, s.last, some && !s.again);
    return s.again ? SX_FIT_AGAIN : out.count;
}
