/* sort_impl.h - the radix sort for one width of key and of row.
 *
 * Parameters: W (4, 8, 16) bytes of a key, R (4, 8) bytes of a row.
 *
 * A range of keys is sorted from its highest varying bit downwards:
 *
 *   1. up to SMALL keys: insertion sort;
 *   2. a range too large for the cache: one pass spreads it over 2^d buckets
 *      by its top d varying bits. It goes through buffers of one line per
 *      bucket, which are written out whole, past the cache. Then each bucket
 *      is a range of its own;
 *   3. any other range: stable counting passes of 8 bits, from low to high,
 *      order it by its top varying bits, by as many as tell n keys apart that
 *      are spread evenly. Keys that are still equal in those bits are a range
 *      of their own, mostly a tiny one.
 *
 * Each step is stable, and each looks only at bits that vary, so no key
 * distribution costs more than a pass per 5 bits of key (the fewest that a
 * spread goes by). */

#define CAT3_(a, b, c, d) a##b##_##c##d
#define CAT3(a, b, c, d) CAT3_(a, b, c, d)
#define F(name) CAT3(name##_k, W, r, R)
#define KEY SX_KEY(W)
#define ROW SX_ROW(R)
#define PER_LINE (SX_LINE / W)    /* keys in one line */

typedef struct {
    KEY *k[2];
    ROW *r[2];
} F(arrays);

static void F(insertion)(KEY *k, ROW *r, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        KEY key = k[i];
        ROW row = r[i];
        uint64_t j = i;
        for (; j > 0 && key < k[j - 1]; j--) {
            k[j] = k[j - 1];
            r[j] = r[j - 1];
        }
        k[j] = key;
        r[j] = row;
    }
}

/* The bits in which n keys differ from `first`. */
static KEY F(varying)(const KEY *k, uint64_t n, KEY first)
{
    KEY v = 0;

    for (uint64_t i = 0; i < n; i++)
        v |= k[i] ^ first;
    return v;
}

static int F(top_bit)(KEY v)      /* of v != 0 */
{
#if W == 4
    return 31 - __builtin_clz(v);
#elif W == 8
    return 63 - __builtin_clzll(v);
#else
    uint64_t high = (uint64_t)(v >> 64);
    return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)v);
#endif
}

static void F(count)(const KEY *k, uint64_t n, int shift, unsigned digits, uint64_t *count)
{
    for (uint64_t i = 0; i < n; i++)
        count[(unsigned)(k[i] >> shift) & (digits - 1)]++;
}

static void F(histogram)(const KEY *k, uint64_t n, int shift, unsigned digits,
                         uint64_t *count)
{
    memset(count, 0, digits * sizeof *count);
    F(count)(k, n, shift, digits, count);
}

/* One counting pass in cache; count[] becomes the places. */
static void F(pass)(const KEY *k, const ROW *r, KEY *k2, ROW *r2, uint64_t n,
                    int shift, uint64_t *count)
{
    F(histogram)(k, n, shift, 256, count);
    places(count, 256, 0);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t p = count[(unsigned)(k[i] >> shift) & 255]++;
        k2[p] = k[i];
        r2[p] = r[i];
    }
}

/* Spreads n keys over the buckets: place[] has their next free places, which began
 * at begin[] and end at end[]. A bucket's keys gather in its line of `lines`, and a full
 * line is streamed to memory. A line that this call does not fill from its start is
 * copied key by key, since its other keys belong to another thread or bucket.
 *
 * The keys may be the caller's, and change after they were counted. Each is read
 * once, and nothing is written at end[] or behind. Returns the bits in which keys
 * differ from `first`. These and place[] tell whether the keys that were spread are
 * those that were counted. If progress is stopped, only some keys are spread. */
static KEY F(spread)(const KEY *k, const ROW *r, KEY *k2, ROW *r2, uint64_t n,
                     KEY first, int shift, unsigned digits, uint64_t *place,
                     const uint64_t *begin, const uint64_t *end, const sx_sort_thread *t)
{
    KEY *lk = (KEY *)(void *)t->lines, vary = 0;
    ROW *lr = (ROW *)(void *)(t->lines + (size_t)digits * SX_LINE);

    for (uint64_t i = 0, from = 0; i < n && !sx_progress_add(t->progress, i - from); ) {
        uint64_t e = n - i < PIECE ? n : i + PIECE;
        for (from = i; i < e; i++) {
            KEY key = k[i];
            unsigned d = (unsigned)(key >> shift) & (digits - 1);
            uint64_t p = place[d]++, in = p % PER_LINE;
            vary |= key ^ first;
            lk[d * PER_LINE + in] = key;
            lr[d * PER_LINE + in] = r[i];
            if (in == PER_LINE - 1 && p < end[d]) {
                uint64_t b = p - in;
                if (b >= begin[d]) {
                    sx_stream(k2 + b, lk + d * PER_LINE, SX_LINE);
                    sx_stream(r2 + b, lr + d * PER_LINE, PER_LINE * R);
                } else {
                    for (b = begin[d]; b <= p; b++) {
                        k2[b] = lk[d * PER_LINE + b % PER_LINE];
                        r2[b] = lr[d * PER_LINE + b % PER_LINE];
                    }
                }
            }
        }
    }
    for (unsigned d = 0; d < digits; d++) {
        uint64_t b = place[d] - place[d] % PER_LINE;
        if (b < begin[d])
            b = begin[d];
        for (; b < place[d] && b < end[d]; b++) {
            k2[b] = lk[d * PER_LINE + b % PER_LINE];
            r2[b] = lr[d * PER_LINE + b % PER_LINE];
        }
    }
    sx_stream_end();
    return vary;
}

static void F(order_by_spread)(const F(arrays) *a, unsigned from, uint64_t at,
                               uint64_t n, int top, sx_sort_thread *t);
static void F(order_in_cache)(const F(arrays) *a, unsigned from, uint64_t at,
                              uint64_t n, int top, sx_sort_thread *t);

/* Sorts keys [at, at+n) of arrays `from`; the result goes to arrays 0. */
static void F(sort_range)(const F(arrays) *a, unsigned from, uint64_t at,
                          uint64_t n, sx_sort_thread *t)
{
    KEY vary = n > 1 ? F(varying)(a->k[from] + at, n, a->k[from][at]) : 0;

    if (vary && n > SMALL) {
        if (n * (W + R) > IN_CACHE)
            F(order_by_spread)(a, from, at, n, F(top_bit)(vary), t);
        else
            F(order_in_cache)(a, from, at, n, F(top_bit)(vary), t);
        return;
    }
    if (from != 0) {
        memcpy(a->k[0] + at, a->k[1] + at, n * W);
        memcpy(a->r[0] + at, a->r[1] + at, n * R);
    }
    if (vary)
        F(insertion)(a->k[0] + at, a->r[0] + at, n);
}

/* Step 2: spreads the range by its top bits, then sorts each bucket. Places
 * live in the thread's scratch, a piece for each range on the way down, since
 * stacks of threads may be small. */
static void F(order_by_spread)(const F(arrays) *a, unsigned from, uint64_t at,
                               uint64_t n, int top, sx_sort_thread *t)
{
    unsigned bits = spread_bits(n, top), digits = 1u << bits;
    int shift = top + 1 - (int)bits;
    uint64_t *place = t->places + t->used, *begin = place + digits;
    const KEY *k = a->k[from] + at;

    t->used += 2 * digits + 1;
    F(histogram)(k, n, shift, digits, place);
    places(place, digits, at);
    memcpy(begin, place, digits * sizeof *place);
    begin[digits] = at + n;
    F(spread)(k, a->r[from] + at, a->k[!from], a->r[!from], n, k[0], shift, digits, place,
              begin, begin + 1, t);
    for (unsigned d = 0; d < digits && !sx_progress_add(t->progress, 0); d++)
        F(sort_range)(a, !from, begin[d], begin[d + 1] - begin[d], t);
    t->used -= 2 * digits + 1;
}

/* Step 3: orders by as many top bits as tell all but a few of n evenly spread keys
 * apart, then sorts keys that are equal in those bits. */
static void F(order_in_cache)(const F(arrays) *a, unsigned from, uint64_t at,
                              uint64_t n, int top, sx_sort_thread *t)
{
    int bits = 63 - __builtin_clzll(n) + 8;
    if (bits > top + 1)
        bits = top + 1;
    int low = top + 1 - bits;
    for (int shift = low; shift <= top; shift += 8, from = !from)
        F(pass)(a->k[from] + at, a->r[from] + at, a->k[!from] + at,
                a->r[!from] + at, n, shift, t->count);
    if (from != 0) {
        memcpy(a->k[0] + at, a->k[1] + at, n * W);
        memcpy(a->r[0] + at, a->r[1] + at, n * R);
    }
    if (low == 0)
        return;
    const KEY *k = a->k[0] + at;
    for (uint64_t b = 0, e; b < n; b = e) {
        KEY same = k[b] >> low;
        for (e = b + 1; e < n && k[e] >> low == same; e++)
            ;
        if (e - b > 1)
            F(sort_range)(a, 0, at + b, e - b, t);
    }
}

/* ---- all of it: the first spread by all threads, then bucket by bucket ---- */

static KEY F(first_key)(const sx_sort_work *w)
{
    KEY first;

    memcpy(&first, w->first, W);
    return first;
}

static void F(part_vary)(void *work, unsigned part)
{
    sx_sort_work *w = work;
    uint64_t b = part_begin(w, part), e = part_begin(w, part + 1), m;
    KEY v = 0;

    for (; b < e && !sx_progress_stopped(w->a->progress); b += m) {
        m = e - b < PIECE ? e - b : PIECE;
        v |= F(varying)((const KEY *)w->a->in_keys + b, m, F(first_key)(w));
        sx_progress_add(w->a->progress, m);
    }
    memcpy(&w->thread[part].vary, &v, W);
}

static void F(part_histogram)(void *work, unsigned part)
{
    sx_sort_work *w = work;
    uint64_t b = part_begin(w, part), e = part_begin(w, part + 1), m;
    uint64_t *count = w->thread[part].place;

    memset(count, 0, w->digits * sizeof *count);
    for (; b < e && !sx_progress_stopped(w->a->progress); b += m) {
        m = e - b < PIECE ? e - b : PIECE;
        F(count)((const KEY *)w->a->in_keys + b, m, w->shift, w->digits, count);
        sx_progress_add(w->a->progress, m);
    }
}

static void F(part_spread)(void *work, unsigned part)
{
    sx_sort_work *w = work;
    uint64_t b = part_begin(w, part), e = part_begin(w, part + 1);
    sx_sort_thread *t = &w->thread[part];
    const uint64_t *end = part + 1 < w->parts ? w->thread[part + 1].begin : w->bucket + 1;
    KEY vary = F(spread)((const KEY *)w->a->in_keys + b, (const ROW *)w->a->in_rows + b,
                         w->a->keys[1], w->a->rows[1], e - b, F(first_key)(w), w->shift,
                         w->digits, t->place, t->begin, end, t);

    memcpy(&t->vary, &vary, W);
    t->as_counted = memcmp(t->place, end, w->digits * sizeof *end) == 0;
}

/* All parts' varying bits. */
static KEY F(all_vary)(const sx_sort_work *w)
{
    KEY v, all = 0;

    for (unsigned p = 0; p < w->parts; p++) {
        memcpy(&v, &w->thread[p].vary, W);
        all |= v;
    }
    return all;
}

static void F(bucket_sort)(void *work, unsigned part)
{
    sx_sort_work *w = work;
    F(arrays) a = {{w->a->keys[0], w->a->keys[1]}, {w->a->rows[0], w->a->rows[1]}};

    for (;;) {
        unsigned d = atomic_fetch_add(&w->next_bucket, 1);
        if (d >= w->digits)
            return;
        uint64_t b = w->bucket[d], n = w->bucket[d + 1] - b;
        F(sort_range)(&a, 1, b, n, &w->thread[part]);
        if (sx_progress_add(w->a->progress, n))
            return;
    }
}

/* Whether it went well: 0 if keys changed meanwhile. Up to the first spread they are
 * the caller's. There each bucket must get as many keys as were counted, and none may
 * differ above the bits that buckets go by. The keys that were spread are ours, and
 * are sorted whatever they are. */
static int F(sort)(sx_sort_work *w, sx_pool *pool)
{
    sx_sort_arrays *x = w->a;
    F(arrays) a = {{x->keys[0], x->keys[1]}, {x->rows[0], x->rows[1]}};
    int large = x->n * (W + R) > IN_CACHE, top;
    KEY vary = 0;

    memcpy(w->first, x->in_keys, W);
    if (large) {
        sx_pool_run(pool, w->parts, w->parts, F(part_vary), w);
        vary = F(all_vary)(w);
    }
    if (sx_progress_stopped(x->progress))
        return 1;                 /* the caller looks at progress */
    if (!vary) {
        if (x->in_keys != x->keys[0])
            memcpy(x->keys[0], x->in_keys, x->n * W);
        if (x->in_rows != x->rows[0])
            memcpy(x->rows[0], x->in_rows, x->n * R);
        F(sort_range)(&a, 0, 0, x->n, &w->thread[0]);
        return 1;
    }
    top = F(top_bit)(vary);
    w->digits = 1u << spread_bits(x->n, top);
    w->shift = top + 1 - (int)spread_bits(x->n, top);
    sx_pool_run(pool, w->parts, w->parts, F(part_histogram), w);
    shared_places(w);
    sx_pool_run(pool, w->parts, w->parts, F(part_spread), w);
    for (unsigned p = 0; p < w->parts; p++)
        if (!w->thread[p].as_counted)
            return 0;
    if (F(all_vary)(w) >> top >> 1)
        return 0;
    sx_pool_run(pool, w->parts, w->parts, F(bucket_sort), w);
    return 1;
}

#undef PER_LINE
#undef ROW
#undef KEY
#undef F
#undef CAT3
#undef CAT3_
