/* guide_walk_impl.h - the left bound in a sorted array under a guide.
 *
 * Parameters as in array_walk_impl.h, which comes before; and SX_RECORD_WINDOW(p, j, count), as
 * sx_record_window(). A walk is: the piece, the cell, the cell's window of keys, and the bound in
 * it. Whatever the bytes in the sections are, none leads outside of them: each step ends in a
 * minimum. */

/* One halving of first keys from number `at` on: skips `half` of them if the next is below q. */
SX_WALK uint32_t F(guide_skip)(KEY q, const unsigned char *firsts, uint32_t at, uint32_t half)
{
    return at + (uint32_t)sx_pick(SX_LOAD(firsts + (at + half) * (uint64_t)W) < q, half, 0);
}

/* The last of `len` first keys, from number `at` on, that is below q, or `at`. */
SX_WALK uint32_t F(guide_piece)(KEY q, const unsigned char *firsts, uint32_t at, uint32_t len)
{
    while (len > 1) {
        uint32_t half = len / 2;
        at = F(guide_skip)(q, firsts, at, half);
        len -= half;
    }
    return at;
}

/* The map that the first key of a piece, and `end`, that of the next, determine. */
SX_WALK sx_piece_map F(guide_map)(const sx_view *v, KEY first, KEY end)
{
    KEY span = end > first ? (KEY)(end - first) : 0;
    sx_piece_map m;

    m.shift = 0;
    while ((KEY)(span >> m.shift) >> 16 >> 15 > 1)
        m.shift++;
    m.most = (uint32_t)(span >> m.shift);
    m.scale = (v->of.guide.piece_cells << 32) / ((uint64_t)m.most + 1);
    return m;
}

/* q's cell among those of a piece, and where q is in it, as a fraction of 2^32. */
SX_WALK uint64_t F(guide_cell_of)(const sx_view *v, KEY q, uint32_t piece, uint32_t *fraction)
{
    const sx_piece_map *m = (const sx_piece_map *)(const void *)v->of.guide.piece_maps + piece;
    KEY first = SX_LOAD(v->of.guide.piece_keys + piece * (uint64_t)W);
    KEY distance = (KEY)((q > first ? (KEY)(q - first) : 0) >> (m->shift & (8 * W - 1)));
    uint64_t product = (distance < m->most ? (uint64_t)distance : m->most) * m->scale;
    uint64_t bucket = product >> 32;

    *fraction = (uint32_t)product;
    return bucket < v->of.guide.piece_cells ? bucket : v->of.guide.piece_cells - 1;
}

/* The same among the cells of all pieces. */
SX_WALK uint64_t F(guide_cell_in)(const sx_view *v, KEY q, uint32_t piece, uint32_t *fraction)
{
    return piece * v->of.guide.piece_cells + F(guide_cell_of)(v, q, piece, fraction);
}

/* The same in the last piece whose first key is below q, or in the first piece. */
SX_WALK uint64_t F(guide_cell)(const sx_view *v, KEY q, uint32_t *fraction)
{
    return F(guide_cell_in)(v, q, F(guide_piece)(q, v->of.guide.piece_keys, 0, v->of.guide.pieces), fraction);
}

/* The window of a cell: keys before it are below any query of the cell, keys behind it above. */
SX_WALK uint64_t F(guide_window)(const sx_view *v, uint64_t bucket, uint64_t *count)
{
    uint64_t record = bucket / SX_GUIDE_CELLS, start;
    const unsigned char *p = v->of.guide.records + record * SX_GUIDE_RECORD;
    uint32_t c;

    start = SX_RECORD_WINDOW(p, (uint32_t)(bucket - record * SX_GUIDE_CELLS), &c);
    *count = c;
    if (c == SX_GUIDE_CROWDED) {          /* up to where the next record begins */
        uint64_t next = *(const uint64_t *)(const void *)(p + SX_GUIDE_RECORD) & 0xffffffffffffull;
        *count = next > start ? next - start : 0;
    }
    start = start < v->n ? start : v->n;
    *count = *count < v->n - start ? *count : v->n - start;
    return start;
}

/* One halving of units [*at, *end). It looks for the first unit whose last key is not below q;
 * *end, if there is none. */
SX_WALK void F(guide_halve)(const sx_view *v, KEY q, uint64_t *at, uint64_t *end, uint32_t unit)
{
    uint64_t a = *at, b = *end, mid = a + (b - a) / 2;

    if (SX_LOAD(F(array_unit)(v, mid, unit) + (unit - 1) * W) < q)
        a = mid + 1;
    else
        b = mid;
    *at = a;
    *end = b;
}

/* The unit to look at first: where q would be if the window's keys were evenly spaced; among a
 * crowded record's keys, where its bound is. */
SX_WALK uint64_t F(guide_guess)(const sx_view *v, KEY q, uint64_t start, uint64_t count,
                                uint32_t fraction, uint32_t unit)
{
    uint32_t shift = sx_log2(unit);
    uint64_t at = start >> shift, last = (v->slots - 1) >> shift, end;

    if (count <= SX_GUIDE_MOST) {
        at = (start + (count * fraction >> 32)) >> shift;
        return at < last ? at : last;
    }
    /* units [at, end): the first whose last key is not below q, or the last */
    end = (start + count) >> shift < last ? (start + count) >> shift : last;
    while (at < end)
        F(guide_halve)(v, q, &at, &end, unit);
    return at;
}

/* The unit to look at next, if the bound is in [start, end] and not in unit `at`: the one beside
 * it, or (halve) the one in the middle. */
SX_WALK uint64_t F(guide_next)(uint64_t start, uint64_t end, uint64_t at, uint32_t unit, int halve)
{
    uint64_t beside = start > at * unit ? at + 1 : at - 1;

    return halve ? (start + (end - start) / 2) >> sx_log2(unit) : beside;
}

/* A look at unit *at. 0: *c of its keys are below q, and the bound is behind these. 1: the bound is
 * not in it. Then its window is smaller, and *at is the unit to look at next. */
SX_WALK int F(guide_turn)(const sx_view *v, KEY q, uint64_t *start, uint64_t *end, uint64_t *at,
                          uint64_t *c, uint32_t unit, int halve)
{
    const unsigned char *p = F(array_unit)(v, *at, unit);
    uint64_t first = *at * unit;

    *c = unit > 1 ? SX_COUNT_UNIT(p, unit, q) : SX_LOAD(p) < q;
    if (*c == unit && first + unit < *end)
        *start = first + unit;
    else if (*c == 0 && first > *start)
        *end = first;
    else
        return 0;
    *at = F(guide_next)(*start, *end, *at, unit, halve);
    return 1;
}

/* From unit `at` on to the bound, which is in [start, start + count]. */
SX_WALK uint64_t F(guide_finish)(const sx_view *v, KEY q, uint64_t start, uint64_t count,
                                 uint64_t at, uint32_t unit)
{
    uint64_t end = start + count, c;
    unsigned turn = 1;

    while (F(guide_turn)(v, q, &start, &end, &at, &c, unit, turn > SX_GUIDE_NEXT))
        turn++;
    c += at * unit;
    return c < v->n ? c : v->n;
}

/* ---- a walk that is cut (state.h): there is one level. The state behind it, the entry, is
 * the window and where q is in it (SX_GUIDE_START_BITS). */

SX_WALK uint64_t F(guide_enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    (void)v;
    return l > 0 ? at : 0;
}

SX_WALK uint64_t F(guide_step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    uint32_t fraction;
    uint64_t bucket = F(guide_cell)(v, q, &fraction), count;
    uint64_t start = F(guide_window)(v, bucket, &count);

    (void)l;
    (void)at;
    if (count > SX_GUIDE_MOST || start >> SX_GUIDE_START_BITS)
        return (uint64_t)SX_GUIDE_CROWDED << SX_GUIDE_START_BITS;
    return start | count << SX_GUIDE_START_BITS |
           (uint64_t)(fraction >> 24) << SX_GUIDE_FRACTION_AT;
}

/* The window, as guide_cell() and guide_window() find it. */
SX_WALK uint64_t F(guide_from_entry)(const sx_view *v, KEY q, sx_state entry, uint64_t *count,
                                    uint32_t *fraction)
{
    uint64_t start = entry.at & ((1ull << SX_GUIDE_START_BITS) - 1);

    *count = entry.at >> SX_GUIDE_START_BITS & 255;
    if (*count == SX_GUIDE_CROWDED)
        return F(guide_window)(v, F(guide_cell)(v, q, fraction), count);
    *fraction = (uint32_t)(entry.at >> SX_GUIDE_FRACTION_AT & 255) << 24;
    start = start < v->n ? start : v->n;
    *count = *count < v->n - start ? *count : v->n - start;
    return start;
}

/* ---- building: keys is the sorted array, the pieces are in v ------------------ */

/* Whether a key is in a cell before this one. The cell's piece is known, so nothing is searched:
 * keys up to the piece's first are in pieces before it, and keys above the next piece's first are
 * in pieces behind it. */
SX_WALK int F(guide_before)(const sx_view *v, KEY key, uint64_t bucket, uint32_t piece)
{
    const unsigned char *firsts = v->of.guide.piece_keys;
    uint32_t fraction;

    if (piece > 0 && key <= SX_LOAD(firsts + piece * (uint64_t)W))
        return 1;
    if (piece + 1 < v->of.guide.pieces && key > SX_LOAD(firsts + (piece + 1) * (uint64_t)W))
        return 0;
    return F(guide_cell_in)(v, key, piece, &fraction) < bucket;
}

/* The first rank of [from, end) whose key is not in a cell before this one, or `end`. */
SX_WALK uint64_t F(guide_start_in)(const sx_view *v, const unsigned char *keys, uint64_t bucket,
                                   uint32_t piece, uint64_t from, uint64_t end)
{
    while (from < end) {
        uint64_t mid = from + (end - from) / 2;
        if (F(guide_before)(v, SX_LOAD(keys + mid * W), bucket, piece))
            from = mid + 1;
        else
            end = mid;
    }
    return from;
}

/* The same from `from` on. It is probably not farther away than `step`. */
SX_WALK uint64_t F(guide_start)(const sx_view *v, const unsigned char *keys, uint64_t bucket,
                                uint64_t from, uint64_t step)
{
    uint32_t piece = (uint32_t)(bucket / v->of.guide.piece_cells);
    uint64_t end;

    if (bucket >= sx_guide_cells(&v->of.guide))
        return v->n;
    end = sx_piece_rank(&v->of.guide, v->n, piece);        /* keys before it are not above the piece's first */
    from = end = end > from ? end : from;
    while (end < v->n && F(guide_before)(v, SX_LOAD(keys + end * W), bucket, piece)) {
        from = end + 1;
        end = end + step < v->n ? end + step : v->n;
        step *= 2;
    }
    return F(guide_start_in)(v, keys, bucket, piece, from, end);
}

SX_WALK void F(guide_record)(const sx_view *v, const unsigned char *keys, uint64_t record,
                             unsigned char *to)
{
    uint64_t bucket = record * SX_GUIDE_CELLS;
    uint64_t start = F(guide_start)(v, keys, bucket, 0, v->n / v->of.guide.pieces + 1);
    uint64_t at = start, w[4] = {start, 0, 0, 0};
    int crowded = 0;

    for (uint32_t j = 0; j < SX_GUIDE_CELLS; j++) {
        uint64_t next = F(guide_start)(v, keys, bucket + j + 1, at, 1);
        uint32_t byte = SX_GUIDE_HEAD + j;
        crowded |= next - at > SX_GUIDE_MOST;
        w[byte / 8] |= ((next - at) & 255) << 8 * (byte % 8);
        at = next;
    }
    if (crowded) {
        w[0] = start | 0xffff000000000000ull;
        w[1] = w[2] = w[3] = ~0ull;
    }
    for (uint32_t i = 0; i < 4; i++)
        ((uint64_t *)(void *)to)[i] = w[i];
}
