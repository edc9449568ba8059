/* reference_impl.h - the reference for one key type. Include with
 *
 *     NAME(x)         the function x of this type
 *     KEY             the C type of a key
 *     BEFORE(a, b)    whether a comes before b
 *
 * defined; they are undefined again at the end. */

typedef struct {
    KEY key;
    uint64_t row;
} NAME(pair);

/* ---- sorting: merge sort, bottom up, stable ---------------------------- */

/* Merges a[from..middle) and a[middle..to) into b. */
static void NAME(merge)(const NAME(pair) *a, NAME(pair) *b, uint64_t from,
                        uint64_t middle, uint64_t to)
{
    uint64_t left = from, right = middle, at = from;

    while (left < middle && right < to) {
        bool take_right = BEFORE(a[right].key, a[left].key);

        b[at++] = a[take_right ? right : left];
        right += take_right;
        left += !take_right;
    }
    memcpy(b + at, a + left, (middle - left) * sizeof *b);
    at += middle - left;
    memcpy(b + at, a + right, (to - right) * sizeof *b);
}

/* Insertion sort, for the short runs that merging begins with. */
static void NAME(sort_run)(NAME(pair) *a, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        NAME(pair) moving = a[i];
        uint64_t hole = i;

        for (; hole && BEFORE(moving.key, a[hole - 1].key); hole--)
            a[hole] = a[hole - 1];
        a[hole] = moving;
    }
}

/* Sorts a with the help of b; returns the array that holds the result. */
static NAME(pair) *NAME(sort)(NAME(pair) *a, NAME(pair) *b, uint64_t n)
{
    for (uint64_t i = 0; i < n; i += RUN)
        NAME(sort_run)(a + i, n - i < RUN ? n - i : RUN);
    for (uint64_t width = RUN; width < n; width *= 2) {
        NAME(pair) *other = a;

        for (uint64_t i = 0; i < n; i += 2 * width) {
            uint64_t middle = n - i < width ? n : i + width;
            uint64_t to = n - i < 2 * width ? n : i + 2 * width;

            NAME(merge)(a, b, i, middle, to);
        }
        a = b;
        b = other;
    }
    return a;
}

static bool NAME(in_order)(const KEY *keys, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++)
        if (BEFORE(keys[i], keys[i - 1]))
            return false;
    return true;
}

static void NAME(build)(reference *ref, const sx_column *keys,
                        const sx_column *rows)
{
    uint64_t n = ref->n, bytes = n * sizeof(NAME(pair));
    NAME(pair) *a, *b, *sorted;
    const KEY *from = keys->data;

    if (NAME(in_order)(from, n)) {
        memcpy(ref->keys, from, n * sizeof *from);
        for (uint64_t i = 0; i < n; i++)
            ref->rows[i] = row_at(rows, i);
        return;
    }
    a = huge_alloc(bytes);
    b = huge_alloc(bytes);
    for (uint64_t i = 0; i < n; i++)
        a[i] = (NAME(pair)){ .key = from[i], .row = row_at(rows, i) };
    sorted = NAME(sort)(a, b, n);
    for (uint64_t i = 0; i < n; i++) {
        ((KEY *)ref->keys)[i] = sorted[i].key;
        ref->rows[i] = sorted[i].row;
    }
    huge_free(a, bytes);
    huge_free(b, bytes);
}

static int NAME(compare)(const void *a, const void *b)
{
    KEY x = *(const KEY *)a, y = *(const KEY *)b;

    return BEFORE(x, y) ? -1 : BEFORE(y, x);
}

/* ---- binary search ----------------------------------------------------- */

/* How many keys are before q. */
static inline uint64_t NAME(lower)(const KEY *keys, uint64_t n, KEY q)
{
    uint64_t lo = 0, hi = n;

    while (lo < hi) {
        uint64_t middle = lo + (hi - lo) / 2;

        if (BEFORE(keys[middle], q))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* How many keys are before q or equal to it. */
static inline uint64_t NAME(upper)(const KEY *keys, uint64_t n, KEY q)
{
    uint64_t lo = 0, hi = n;

    while (lo < hi) {
        uint64_t middle = lo + (hi - lo) / 2;

        if (BEFORE(q, keys[middle]))
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

static void NAME(answer)(const reference *ref, bench_op op, const void *q,
                         const void *hi, uint64_t n, uint64_t *out,
                         void *keys_out)
{
    const KEY *keys = ref->keys, *lo_keys = q, *hi_keys = hi;
    const uint64_t *rows = ref->rows, *ranks = q;
    uint64_t size = ref->n, at, end, sum;

    switch (op) {
    case OP_GET:
        for (uint64_t i = 0; i < n; i++) {
            at = NAME(lower)(keys, size, lo_keys[i]);
            out[i] = at < size && !BEFORE(lo_keys[i], keys[at]) ? rows[at]
                                                                : SX_MISS;
        }
        break;
    case OP_RANK:
        for (uint64_t i = 0; i < n; i++)
            out[i] = NAME(lower)(keys, size, lo_keys[i]);
        break;
    case OP_FLOOR:
        for (uint64_t i = 0; i < n; i++) {
            at = NAME(upper)(keys, size, lo_keys[i]);
            out[i] = at ? rows[at - 1] : SX_MISS;
        }
        break;
    case OP_CEIL:
        for (uint64_t i = 0; i < n; i++) {
            at = NAME(lower)(keys, size, lo_keys[i]);
            out[i] = at < size ? rows[at] : SX_MISS;
        }
        break;
    case OP_KEY_AT:
        for (uint64_t i = 0; i < n; i++) {
            out[i] = SX_MISS;
            if (ranks[i] < size) {
                out[i] = rows[ranks[i]];
                ((KEY *)keys_out)[i] = keys[ranks[i]];
            }
        }
        break;
    case OP_RANGE:
        for (uint64_t i = 0; i < n; i++) {
            at = NAME(lower)(keys, size, lo_keys[i]);
            end = NAME(upper)(keys, size, hi_keys[i]);
            for (sum = 0; at < end; at++)
                sum += rows[at];
            out[i] = sum;
        }
        break;
    case OP_COUNT:
        break;
    }
}

static uint64_t NAME(hits)(const reference *ref, const void *q,
                           const void *hi, uint64_t n)
{
    const KEY *lo_keys = q, *hi_keys = hi;
    uint64_t hits = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = NAME(lower)(ref->keys, ref->n, lo_keys[i]);
        uint64_t end = NAME(upper)(ref->keys, ref->n, hi_keys[i]);

        hits += end > at ? end - at : 0;
    }
    return hits;
}

#undef NAME
#undef KEY
#undef BEFORE
