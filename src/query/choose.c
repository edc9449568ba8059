/* choose.c - what `auto` does: build the favourite for the purpose, ask it
 * and the plain sorted array the kind of questions to come, on the real keys
 * at their real number, and keep the favourite unless the array is clearly
 * faster.
 *
 * The sorted array is there in any case, and the favourite mostly stays, so
 * measuring costs little more than the questions. What is never faster is
 * not tried: `eytzinger` loses to `pivot` on every purpose but memory. */
#include "query/index.h"

#include "base/alloc.h"
#include "base/machine.h"
#include "base/text.h"

#include <string.h>

/* Part of the build so far that asking may take, one in so many. */
#define BUDGET_PART 32
#define ROUNDS 3u
#define RANGE_HITS 128u
#define POINTS_PER_RANGE 8u       /* where both are asked */
/* Up to so many bytes of keys, all in the cache, binary search is the
 * favourite among what takes no extra memory. */
#define SORTED_BYTES (256u << 10)
/* The array wins when it needs less than so many % of the favourite's time:
 * timings are noisy. */
#define CLEARLY 93

/* Where a GPU's pivots take more, far more than its L2 holds, it pays to have
 * fewer of them (4-byte keys) or fewer levels (8-byte keys). */
#define PIVOT_BYTES (100u << 20)

/* How to ask: a guess of what a query takes, in picoseconds, to make so many,
 * how many make a round at most and at least, and from how many keys on (a
 * build of fewer is over before measuring would tell anything). A GPU is asked
 * in its own memory and by its own clock. */
typedef struct {
    uint64_t query_ps;
    unsigned most, least, from;
} manner;
static const manner on_cpu = {200000, 1u << 10, 1u << 6, 1u << 16};
static const manner on_gpu = {100, 1u << 16, 1u << 14, 1u << 22};

static const manner *manner_of(const sx_device *dev)
{
    return dev->backend->device_columns ? &on_gpu : &on_cpu;
}

/* On a GPU a key and its row are one read if they are side by side, so points
 * want pairs; ranges read fewer bytes from rows alone. On a CPU both lines
 * are asked for at once, and pairs win nothing. */
sx_spec sx_favourite(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width)
{
    sx_spec spec = {.family = SX_FAM_PIVOT, .unique = asked->unique, .place = asked->place};

    if (asked->purpose == SX_FOR_MEMORY) {        /* not a byte beside keys and rows */
        spec.family = n * width <= SORTED_BYTES && asked->place != SX_PLACE_HYBRID ? SX_FAM_SORTED
                                                                                 : SX_FAM_EYTZ;
    } else if (dev->backend->device_columns && asked->purpose != SX_FOR_RANGE) {
        spec.layout = SX_PAIRS;
        spec.given = SX_P_LAYOUT;
        if (n / 8 * width > PIVOT_BYTES && width == 4) {
            spec.leaf = 16;
            spec.given |= SX_P_LEAF;
        } else if (n / 8 * width > PIVOT_BYTES && width == 8) {
            spec.k = 9;
            spec.given |= SX_P_K;
        }
    }
    return spec;
}

/* Questions: keys of the index in random order, and ranges from such. Each
 * round of each contender has its own, since what was asked before is in the
 * cache. All in memory of the device. */
#define SETS (2u * ROUNDS)
typedef struct {
    unsigned points, ranges;      /* of one round */
    int there;
    void *key, *lo, *hi, *out;
} questions;

static uint64_t question_bytes(unsigned points, unsigned ranges, size_t key_bytes)
{
    return (uint64_t)SETS * ((points + 2ull * ranges) * key_bytes +
                             (points > ranges ? points : ranges) * sizeof(uint64_t));
}

uint64_t sx_question_bytes(const sx_device *dev)
{
    unsigned most = manner_of(dev)->most;

    return question_bytes(most, most, 16) + SETS * most * sizeof(uint64_t);
}

static void drop_questions(sx_device *dev, questions *q)
{
    dev->backend->release(dev->self, q->key);
    dev->backend->release(dev->self, q->lo);
    dev->backend->release(dev->self, q->hi);
    dev->backend->release(dev->self, q->out);
}

/* Keys of the index at the ranks of the host's list. */
static sx_status pick_keys(sx_device *dev, const sx_view *v, const sx_input *in, questions *q,
                           const uint64_t *ranks, uint64_t n, void **keys, sx_err *err)
{
    const sx_backend *be = dev->backend;
    sx_lookup pick = {.op = SX_OP_KEY_AT, .key_type = in->key_type, .rank_bytes = 8, .n = n,
                      .how.threads = in->threads, .q = ranks, .keys_there = (uint32_t)q->there};
    sx_status st;

    if (n == 0)
        return SX_OK;
    st = be->alloc(dev->self, keys, n * sx_type_bytes(in->key_type), "questions", err);
    pick.keys = *keys;
    return st == SX_OK ? be->lookup(dev->self, v, &pick, err) : st;
}

static sx_status make_questions(sx_device *dev, const sx_view *v, const sx_input *in,
                                questions *q, sx_err *err)
{
    uint64_t x = 1;               /* any seed: these are only timed */
    uint64_t points = SETS * (uint64_t)q->points, ranges = SETS * (uint64_t)q->ranges;
    uint64_t n = points > ranges ? points : ranges, *ranks;
    sx_status st = sx_alloc_array((void **)&ranks, n, sizeof *ranks, "questions", err);

    if (st != SX_OK)
        return st;
    for (uint64_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        ranks[i] = (uint64_t)((x >> 16) * (unsigned __int128)v->n >> 48);
    }
    q->there = dev->backend->device_columns != 0;
    st = dev->backend->alloc(dev->self, &q->out, n * sizeof(uint64_t), "questions", err);
    if (st == SX_OK)
        st = pick_keys(dev, v, in, q, ranks, points, &q->key, err);
    if (st == SX_OK)
        st = pick_keys(dev, v, in, q, ranks, ranges, &q->lo, err);
    for (uint64_t i = 0; i < ranges; i++)
        ranks[i] = ranks[i] + RANGE_HITS < v->n ? ranks[i] + RANGE_HITS : v->n - 1;
    if (st == SX_OK)
        st = pick_keys(dev, v, in, q, ranks, ranges, &q->hi, err);
    sx_release(ranks);
    return st;
}

/* Nanoseconds for what the purpose asks most, the best round of some. */
static sx_status ask_all(sx_device *dev, const sx_view *v, const sx_input *in, unsigned contender,
                         questions *q, uint64_t *best, sx_err *err)
{
    size_t bytes = sx_type_bytes(in->key_type);
    uint32_t there = (uint32_t)q->there;
    uint64_t device_ns;
    sx_how how = {.threads = in->threads, .device_ns = q->there ? &device_ns : NULL};
    sx_lookup point = {.op = SX_OP_GET, .key_type = in->key_type, .n = q->points, .how = how,
                       .out = q->out, .out_bytes = 8, .q_there = there, .out_there = there};
    sx_span_query range = {.key_type = in->key_type, .how = how, .n = q->ranges,
                           .limit = UINT64_MAX, .lo_there = there, .hi_there = there};
    sx_range_folds sum = {.sum = q->out, .sum_there = there};
    sx_status st = SX_OK;

    *best = UINT64_MAX;
    for (unsigned round = 0; round < ROUNDS && st == SX_OK; round++) {
        uint64_t set = 2 * round + contender;
        point.q = (unsigned char *)q->key + set * q->points * bytes;
        range.lo = (unsigned char *)q->lo + set * q->ranges * bytes;
        range.hi = (unsigned char *)q->hi + set * q->ranges * bytes;
        device_ns = 0;
        uint64_t t = sx_clock_ns();
        if (q->points > 0)
            st = dev->backend->lookup(dev->self, v, &point, err);
        if (st == SX_OK && q->ranges > 0)
            st = dev->backend->fold(dev->self, v, &range, &sum, err);
        t = device_ns ? device_ns : sx_clock_ns() - t;
        *best = t < *best ? t : *best;
    }
    return st;
}

/* Asks the favourite, which is built in *s, and the sorted array, which is
 * either still in *sorted or a part of it. */
static sx_status compare(sx_device *dev, const sx_store *s, const sx_view *array,
                         const sx_input *in, questions *q, int *array_wins, sx_text *why,
                         sx_err *err)
{
    uint64_t begin = sx_clock_ns(), ns[2];
    sx_status st = ask_all(dev, &s->view, in, 0, q, &ns[0], err);

    if (st == SX_OK)
        st = ask_all(dev, array, in, 1, q, &ns[1], err);
    if (st != SX_OK)
        return st;
    *array_wins = ns[1] < ns[0] / 100 * CLEARLY;
    if (q->points > 0)
        sx_text_add(why, "%u points", q->points);
    if (q->ranges > 0)
        sx_text_add(why, "%s%u ranges", why->length ? " and " : "", q->ranges);
    sx_text_add(why, " among these keys took %s ", sx_family_name(s->view.family));
    sx_text_fixed(why, (double)ns[0] * 1e-3, 1);
    sx_text_add(why, " us and sorted ");
    sx_text_fixed(why, (double)ns[1] * 1e-3, 1);
    sx_text_add(why, " us, the best of %u times; asking took ", ROUNDS);
    sx_text_fixed(why, (double)(sx_clock_ns() - begin) * 1e-6, 1);
    sx_text_add(why, " ms in all");
    return SX_OK;
}

/* Makes sections of the plain array in place of the favourite's. */
static sx_status fall_back(sx_device *dev, sx_store *s, const sx_view *array, sx_sorted *sorted,
                           uint32_t threads, sx_err *err)
{
    if (!sorted->keys) {          /* they had become the favourite's */
        sorted->keys = s->base[SX_SEC_KEYS];
        sorted->rows = s->base[SX_SEC_ROWS];
        s->base[SX_SEC_KEYS] = s->base[SX_SEC_ROWS] = NULL;
    }
    sx_store_drop(s, dev->backend, dev->self);
    s->view = *array;
    s->view.distinct = sorted->distinct;
    return dev->backend->build(dev->self, &s->view, sorted, threads, s->base, err);
}

static sx_status measure(sx_device *dev, sx_store *s, uint32_t purpose, sx_sorted *sorted,
                         const sx_input *in, uint64_t points, sx_text *why, sx_err *err)
{
    sx_spec plain = {.family = SX_FAM_SORTED, .unique = s->spec.unique, .place = s->spec.place};
    sx_sorted arrays = *sorted;
    sx_view array;
    questions q = {0};
    const manner *m = manner_of(dev);
    int array_wins = 0;
    sx_status st = sx_shape(&array, &plain, dev->backend->node_bytes, sorted->width,
                            sorted->row_bytes, sorted->n, err);

    if (st != SX_OK)
        return st;
    if (!arrays.keys) {
        arrays.keys = s->base[SX_SEC_KEYS];
        arrays.rows = s->base[SX_SEC_ROWS];
    }
    sx_view_bind(&array, (const void *const[SX_SECTION_KINDS]){
                             [SX_SEC_KEYS] = arrays.keys, [SX_SEC_ROWS] = arrays.rows});
    q.points = points > m->most ? m->most : points < m->least ? m->least : (unsigned)points;
    q.ranges = purpose == SX_FOR_POINT   ? 0
               : purpose == SX_FOR_RANGE ? q.points
                                         : q.points / POINTS_PER_RANGE;
    if (purpose == SX_FOR_RANGE)
        q.points = 0;
    sx_store_bind(s);
    st = make_questions(dev, &s->view, in, &q, err);
    if (st == SX_ENOMEM) {                /* the index is there: it stays */
        sx_text_add(why, "the usual choice; not measured, for want of memory");
        drop_questions(dev, &q);
        return SX_OK;
    }
    if (st == SX_OK)
        st = compare(dev, s, &array, in, &q, &array_wins, why, err);
    if (st == SX_OK && array_wins) {
        s->spec = plain;
        st = fall_back(dev, s, &array, sorted, in->threads, err);
    }
    drop_questions(dev, &q);
    return st;
}

/* ---- how skewed keys are ---------------------------------------------------- */

#define SAMPLES 1024u
/* A piece that flattens a skewed distribution has at least so many keys. */
#define PIECE_KEYS 1024u
/* Keys are skewed where so many of SAMPLES equal parts of them lie this many
 * times denser than the average: their buckets would be too full to count. */
#define DENSE 10
#define DENSE_PARTS 10u

static sx_key16 encoded_at(const sx_type_info *type, const unsigned char *keys, unsigned i)
{
    sx_key4 k4;
    sx_key8 k8;
    sx_key16 k16;

    switch (type->width) {
    case 4:
        type->encode(&k4, keys + i * type->bytes, 1);
        return k4;
    case 8:
        type->encode(&k8, keys + i * type->bytes, 1);
        return k8;
    default:
        type->encode(&k16, keys + i * type->bytes, 1);
        return k16;
    }
}

sx_status sx_resolve_pieces(sx_device *dev, sx_spec *spec, const sx_sorted *sorted,
                            const sx_input *in, sx_err *err)
{
    sx_spec plain = {.family = SX_FAM_SORTED};
    const sx_type_info *type = sx_type_of(in->key_type);
    unsigned char keys[(SAMPLES + 1) * 16];
    uint64_t ranks[SAMPLES + 1];
    sx_lookup pick = {.op = SX_OP_KEY_AT, .key_type = in->key_type, .rank_bytes = 8,
                      .n = SAMPLES + 1, .q = ranks, .keys = keys, .how.threads = in->threads};
    sx_view array;
    unsigned dense = 0;
    sx_status st;

    spec->pieces = 1;
    if (sorted->n < 4 * SAMPLES)
        return SX_OK;
    st = sx_shape(&array, &plain, dev->backend->node_bytes, sorted->width, sorted->row_bytes,
                  sorted->n, err);
    if (st != SX_OK)
        return st;
    sx_view_bind(&array, (const void *const[SX_SECTION_KINDS]){
                             [SX_SEC_KEYS] = sorted->keys, [SX_SEC_ROWS] = sorted->rows});
    for (unsigned i = 0; i <= SAMPLES; i++)
        ranks[i] = (uint64_t)((unsigned __int128)i * (sorted->n - 1) / SAMPLES);
    st = dev->backend->lookup(dev->self, &array, &pick, err);
    if (st != SX_OK)
        return st;
    sx_key16 all = encoded_at(type, keys, SAMPLES) - encoded_at(type, keys, 0);
    for (unsigned i = 0; i < SAMPLES; i++) {
        sx_key16 part = encoded_at(type, keys, i + 1) - encoded_at(type, keys, i);
        dense += part < all / (SAMPLES * DENSE);
    }
    if (dense > DENSE_PARTS)
        while (spec->pieces < SX_GUIDE_PIECES && sorted->n / spec->pieces > 2 * PIECE_KEYS)
            spec->pieces *= 2;
    return SX_OK;
}

sx_status sx_choose(sx_device *dev, sx_store *s, const sx_spec *spec, sx_sorted *sorted,
                    const sx_input *in, uint64_t spent_ns, sx_err *err)
{
    sx_text why = {s->why, SX_WHY_MAX, strlen(s->why)};
    sx_status st;

    s->spec = sx_favourite(dev, spec, sorted->n, sorted->width);
    st = sx_shape(&s->view, &s->spec, dev->backend->node_bytes, sorted->width, sorted->row_bytes,
                  sorted->n, err);
    s->view.distinct = sorted->distinct;
    if (st == SX_OK)
        st = dev->backend->build(dev->self, &s->view, sorted, in->threads, s->base, err);
    if (st != SX_OK)
        return st;
    if (spec->place == SX_PLACE_HYBRID)
        sx_text_add(&why, "%sthe usual choice of what has a top; not measured", why.length ? "; "
                                                                                         : "");
    else if (sorted->n < manner_of(dev)->from || s->view.family == SX_FAM_SORTED)
        sx_text_add(&why, "the usual choice for so few keys; not measured, since a build is over "
                    "sooner");
    else
        st = measure(dev, s, spec->purpose, sorted, in,
                     spent_ns * 1000 / BUDGET_PART / (2 * ROUNDS * manner_of(dev)->query_ps), &why, err);
    if (st != SX_OK)
        sx_store_drop(s, dev->backend, dev->self);
    return st;
}
