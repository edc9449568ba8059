/* pieces.c - a look at some keys: how often they repeat, and how many pieces and how
 * large cells suit a guide. A few numbers of pieces and cells are compared, by how many
 * units a walk would look at under each.
 *
 * All that a walk depends on is known without a guide, from a sample of the keys, each with
 * some keys on either side of it: where the key's cell and its record begin and end, and
 * how many of the keys around are in them. From these follows which unit is guessed, how far
 * that is from the right one, and whether the record is crowded.
 *
 *              cell          next
 *     - x ---- | x x --- q x ---- | --- x ---      start: 2 before q; 4 keys, of which
 *                                                  q, 7/10 along, is guessed the third */
#include "choose/choose.h"

#include "base/alloc.h"
#include "family/slots.h"

#include <string.h>

/* Fewer keys are no sample, and pieces of fewer keys are not worth their search. */
#define LEAST 4096u
#define PIECE_KEYS 1024u
/* How many samples there are, and how many ranks away on either side other keys are read. A GPU
 * sorts few keys sooner than a host works on many samples, so it takes fewer there: a quarter, or
 * half of them. */
#define SAMPLES 256u
#define FEW_KEYS (1u << 20)
#define SOME_KEYS (1u << 24)
static const uint32_t away[] = {1,   2,   3,   4,   5,    6,    7,    8,     10,    12,      14,
                                16,  20,  24,  32,  40,   48,   64,   96,    128,   192,     256,
                                384, 512, 768, 1024, 2048, 4096, 16384, 65536, 1u << 18, 1u << 20};
#define SIDE (sizeof away / sizeof away[0])
#define NEAR (2 * SIDE + 1)
/* Numbers kept of each sample: for keys near it, and for both ends of its piece, with each
 * number of pieces. */
#define PIECES 4u
#define KEPT (NEAR + 2 * PIECES)
#define END(p) (NEAR + 2 * (p))

/* The choices: a number of pieces; and keys of a cell, where 0 stands for as many as
 * usual. */
static const uint32_t cuts[PIECES] = {1, 256, 2048, SX_PIECES_MAX};
#define BUCKETS 3u
static const uint32_t buckets[BUCKETS] = {0, 4, SX_LEAST_BUCKET};

struct sx_sample {
    uint64_t n;
    uint64_t samples;
    uint32_t pieces[PIECES];      /* as in cuts[], or fewer where there are few keys */
    uint64_t *ranks;              /* KEPT of each sample */
    int borrowed;                 /* these and `far`, behind them, are an sx_peek's */
    double *far;                  /* KEPT of each sample: how far each key is above it; at
                                     END(p) how far it is into its piece, then how long
                                     the piece is */
};

/* ---- the sample ----------------------------------------------------------------- */

/* The rank of sample s: one out of each of so many stretches, not at equal distances. */
static uint64_t some_rank(const sx_sample *all, uint64_t s)
{
    uint64_t length = all->n / all->samples, first = length * s;
    uint64_t mixed = (s + 1) * 0x9e3779b97f4a7c15ull;

    return first + (uint64_t)((unsigned __int128)mixed * length >> 64);
}

/* Where the piece that a rank is in begins and ends. */
static void piece_ends(uint64_t n, uint64_t pieces, uint64_t rank, uint64_t ends[2])
{
    uint64_t p = rank * pieces / n;       /* below 2^64: 48 and 16 bits */

    p += p + 1 < pieces && (p + 1) * n / pieces <= rank;
    ends[0] = p * n / pieces;
    ends[1] = p + 1 < pieces ? (p + 1) * n / pieces : n - 1;
}

static void choose_ranks(const sx_sample *all)
{
    for (uint64_t s = 0; s < all->samples; s++) {
        uint64_t *r = all->ranks + s * KEPT, middle = some_rank(all, s);
        r[SIDE] = middle;
        for (unsigned i = 0; i < SIDE; i++) {
            r[SIDE + 1 + i] = middle + away[i] < all->n ? middle + away[i] : all->n - 1;
            r[SIDE - 1 - i] = middle > away[i] ? middle - away[i] : 0;
        }
        for (unsigned p = 0; p < PIECES; p++)
            piece_ends(all->n, all->pieces[p], middle, r + END(p));
    }
}

/* How far `to` is above `from`, of keys that fit 64 bits, as most do, or do not. */
static double distance_64(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) : -(double)(from - to);
}

static double distance(sx_key16 from, sx_key16 to)
{
    sx_key16 d = to > from ? to - from : from - to;
    double x = d >> 64 ? (double)(uint64_t)(d >> 64) * 0x1p64 + (double)(uint64_t)d
                       : (double)(uint64_t)d;

    return to > from ? x : -x;
}

/* The same of keys of 4 bytes, by the processor's own conversion. */
static double distance_32(uint32_t from, uint32_t to)
{
    return (double)((int64_t)to - (int64_t)from);
}

/* The distances of one sample, from its encoded keys. */
#define MEASURE(key, distance_of)                                                      \
    do {                                                                               \
        const key *k = keys;                                                           \
        for (unsigned i = 0; i < NEAR; i++)                                            \
            far[i] = distance_of(k[SIDE], k[i]);                                       \
        for (unsigned p = 0; p < PIECES; p++) {                                        \
            far[END(p)] = distance_of(k[END(p)], k[SIDE]);                             \
            far[END(p) + 1] = distance_of(k[END(p)], k[END(p) + 1]) + 1;               \
        }                                                                              \
    } while (0)
static void measure_keys(const void *keys, uint32_t width, double *far)
{
    if (width == 4)
        MEASURE(sx_key4, distance_32);
    else if (width == 8)
        MEASURE(sx_key8, distance_64);
    else
        MEASURE(sx_key16, distance);
}

/* Keys that came with the sort. */
static void take_peeked(const sx_peek *peek, uint32_t width, sx_sample *all)
{
    const unsigned char *keys = peek->keys;

    for (uint64_t s = 0; s < all->samples; s++)
        measure_keys(keys + s * KEPT * width, width, all->far + s * KEPT);
}

/* scratch: space for all keys of the sample, as they come. */
static sx_status take_sample(sx_device *dev, const sx_sorted *sorted, const sx_input *in,
                             sx_sample *all, unsigned char *scratch, sx_err *err)
{
    const sx_type_info *type = sx_type_of(in->key_type);
    sx_spec plain = {.family = SX_FAM_SORTED};
    uint64_t keys = all->samples * KEPT;
    sx_lookup pick = {.op = SX_OP_KEY_AT, .key_type = in->key_type, .n = keys,
                      .q = sx_slice_fixed(all->ranks, 8, keys, SX_HOST),
                      .keys = sx_slice_fixed(scratch, type->bytes, keys, SX_HOST),
                      .how.threads = in->threads};
    _Alignas(64) unsigned char encoded[KEPT * 16];
    sx_facts facts = {.n = sorted->n, .ranks = sorted->n, .width = sorted->width};
    sx_view array;                /* of the keys that are stored */
    sx_status st = sx_shape(&array, &plain, &dev->backend->target, &facts, err);

    if (st != SX_OK)
        return st;
    sx_view_bind(&array, (const void *const[SX_SECTIONS]){[SX_SEC_KEYS] = sorted->keys});
    st = dev->backend->lookup(dev->self, SX_ONE_VIEW(&array), &pick, err);
    for (uint64_t s = 0; s < all->samples && st == SX_OK; s++) {
        type->encode(encoded, scratch + s * KEPT * type->bytes, KEPT);
        measure_keys(encoded, sorted->width, all->far + s * KEPT);
    }
    return st;
}

/* ---- walks ------------------------------------------------------------------------ */

static double log2_up(double x)
{
    double steps = 0;

    for (; x > 1; x /= 2)
        steps++;
    return steps;
}

/* The rank of the first key that is `border` or more above a sample, by the keys near
 * it: between two of them keys are taken to lie evenly. */
static double rank_at(const uint64_t *ranks, const double *far, double border)
{
    unsigned i = 0;
    double steps;

    for (unsigned len = NEAR; len > 1;) { /* the last key below the border, or the first key */
        unsigned half = len / 2;
        i += far[i + half] < border ? half : 0;
        len -= half;
    }
    if (far[i] >= border || i + 1 == NEAR)        /* the border is farther away than the keys */
        return (double)ranks[i];
    steps = (border - far[i]) / (far[i + 1] - far[i]) * (double)(ranks[i + 1] - ranks[i]);
    return (double)ranks[i] + (steps > 1 ? steps : 1);
}

/* rank_at() of 0: mostly the key before a sample is another one. */
static uint64_t rank_of_first(const uint64_t *ranks, const double *far)
{
    return far[SIDE - 1] < 0 ? ranks[SIDE] : (uint64_t)rank_at(ranks, far, 0);
}

/* Whether a record between these borders has few keys for certain, and so none of its cells too many:
 * FEW ranks away on either side keys are outside of it. */
#define FEW 18u                   /* in away[]: less than half of SX_GUIDE_MOST */
static int has_few(const double *far, double low, double high)
{
    return far[SIDE - 1 - FEW] < low && far[SIDE + 1 + FEW] >= high;
}

/* Whether a cell between these borders certainly has too many keys; cells have this width. */
static int is_crowded(const uint64_t *ranks, const double *far, double low, double high, double width)
{
    unsigned i = SIDE;

    while (i > 0 && far[i - 1] >= low)
        i--;
    for (unsigned j = i; j < NEAR && far[j] < high; j++) {
        while (far[j] - far[i] >= width)
            i++;
        if (ranks[j] - ranks[i] >= SX_GUIDE_MOST)
            return 1;
    }
    return 0;
}

/* Units that the walk for sample s looks at, under the guide of this shape. */
static double turns_of(const sx_sample *all, uint64_t s, unsigned pieces, const sx_view *v)
{
    const uint64_t *ranks = all->ranks + s * KEPT;
    const double *far = all->far + s * KEPT;
    double here = far[END(pieces)], width = far[END(pieces) + 1] / (double)v->of.guide.piece_cells;
    double place = here / width, low = (double)(uint64_t)place * width - here, start, count;
    double record = (double)((uint64_t)place / SX_GUIDE_CELLS * SX_GUIDE_CELLS) * width - here;
    double record_end = record + SX_GUIDE_CELLS * width;
    uint64_t unit = v->unit, right = rank_of_first(ranks, far) / unit, guess;

    count = has_few(far, record, record_end)
                ? 0 : rank_at(ranks, far, record_end) - rank_at(ranks, far, record);
    if (count > SX_GUIDE_MOST && is_crowded(ranks, far, record, record_end, width))
        return 1 + log2_up(count / (double)unit);
    low = low < 0 ? low : 0;      /* it was rounded */
    start = rank_at(ranks, far, low);
    count = rank_at(ranks, far, low + width) - start;
    guess = (uint64_t)(start + count * (place - (double)(uint64_t)place)) / unit;
    right = right > guess ? right - guess : guess - right;
    return right <= SX_GUIDE_NEXT ? 1 + (double)right
                                  : 1 + SX_GUIDE_NEXT + log2_up(count / (double)unit);
}

/* The mean of turns_of(); if that is more than `most`, any number above `most`. */
static double mean_turns(const sx_sample *all, unsigned pieces, const sx_view *v, double most)
{
    double samples = (double)all->samples, sum = samples; /* each looks at least at one unit */

    for (uint64_t s = 0; s < all->samples && sum <= most * samples; s++)
        sum += turns_of(all, s, pieces, v) - 1;
    return sum / samples;
}

/* ---- the choice -------------------------------------------------------------------- */

/* What a search for the piece costs, and cells smaller than usual, since the guide is larger
 * and further away: measured, and counted in units looked at. A GPU whose cache has keys and
 * rows waits longer for a piece, and hardly for a larger guide. */
typedef struct {
    double pieces[PIECES], cell;  /* cell: each time that it is halved, up to cell_most */
    double cell_most;
} tolls;

static const tolls far_tolls = {{0, 0.16, 0.24, 0.50}, 0.12, 0.43};
static const tolls far_wide_tolls = {{0, 0.13, 0.34, 0.60}, 0.09, 0.43};
static const tolls near_tolls[] = {{{0, 0.23, 0.36, 0.60}, 0.040, 0.15},
                                   {{0, 0.50, 0.70, 0.95}, 0.055, 0.20},
                                   {{0, 0.41, 0.65, 1.00}, 0.040, 0.15}};

static const tolls *tolls_of(const sx_device *dev, const sx_sorted *sorted)
{
    uint64_t bytes = sorted->n * (sorted->width + sorted->row_bytes);

    if (!dev->backend->gpu)
        return &far_tolls;
    if (!sx_is_near(bytes))
        return sorted->width > 8 ? &far_wide_tolls : &far_tolls;
    return &near_tolls[sorted->width == 4 ? 0 : sorted->width == 8 ? 1 : 2];
}

static double cell_toll(const tolls *t, double usual, double bucket)
{
    double toll = 0;

    for (; bucket < usual; bucket *= 2)
        toll += t->cell * (usual / bucket < 2 ? usual / bucket - 1 : 1);
    return toll < t->cell_most ? toll : t->cell_most;
}

/* The spec of one of these choices. */
static sx_spec with_choice(sx_spec spec, uint32_t pieces, uint32_t bucket)
{
    spec.of.guide.pieces = pieces;
    spec.given |= SX_GUIDE_PIECES;
    if (bucket) {
        spec.of.guide.bucket = bucket;
        spec.given |= SX_GUIDE_BUCKET;
    }
    return spec;
}

/* Whether an index of this shape can be: its upper part fits, and lanes that read together
 * can number its cells in 32 bits. */
static int can_be(const sx_device *dev, const sx_view *v, uint64_t top_space)
{
    return sx_upper_block_bytes(v) <= top_space &&
           !(dev->backend->gpu && sx_guide_cells(&v->of.guide) > UINT32_MAX);
}

/* Takes the first choice, one piece and the usual cell, if no other can be. A cost above `most` may
 * be any such number. */
static sx_status choose_among(sx_device *dev, const sx_sample *all, const sx_sorted *sorted,
                              sx_spec *spec, uint64_t top_space, double most, double *cost,
                              sx_err *err)
{
    sx_spec asked = *spec;
    sx_facts facts = sx_facts_of(sorted);
    const tolls *t = tolls_of(dev, sorted);
    uint32_t usual = 0;

    for (unsigned c = 0; c < PIECES * BUCKETS; c++) {
        unsigned p = c / BUCKETS, bucket = buckets[c % BUCKETS];
        sx_spec tried = with_choice(asked, all->pieces[p], bucket);
        double toll = t->pieces[p] + (bucket ? cell_toll(t, usual, bucket) : 0), its;
        sx_view v;
        sx_status st;
        if (bucket && ((asked.given & SX_GUIDE_BUCKET) || 2 * bucket > usual))
            continue;             /* the spec has a bucket, or this is about the usual one */
        if (c > 0 && 1 + toll >= *cost)
            continue;             /* it can't be better */
        st = sx_shape(&v, &tried, &dev->backend->target, &facts, err);
        if (st != SX_OK)
            return st;
        if (c > 0 && !can_be(dev, &v, top_space))
            continue;
        its = toll + mean_turns(all, p, &v, (c > 0 && *cost < most ? *cost : most) - toll);
        if (c == 0)
            usual = tried.of.guide.bucket;
        if (c == 0 || its < *cost) {
            *cost = its;
            *spec = with_choice(asked, tried.of.guide.pieces, bucket);
        }
    }
    return SX_OK;
}

/* Ranks, keys as they come, and distances. */
#define RANK_BYTES(samples) ((samples) * KEPT * sizeof(uint64_t))
#define KEY_BYTES(samples) ((samples) * KEPT * 16ull)
#define FAR_BYTES(samples) ((samples) * KEPT * sizeof(double))

uint64_t sx_sample_bytes(uint64_t n)
{
    return n < LEAST ? 0 : sizeof(sx_sample) + RANK_BYTES(SAMPLES) + KEY_BYTES(SAMPLES) +
                           FAR_BYTES(SAMPLES);
}

void sx_sample_drop(sx_sample *all)
{
    if (all && !all->borrowed) {
        sx_release(all->far);
        sx_release(all->ranks);
    }
    sx_release(all);
}

/* n >= LEAST keys: how many samples, and of how many pieces. */
static sx_sample plan_sample(int gpu, uint64_t n)
{
    sx_sample all = {.n = n, .samples = SAMPLES};

    if (gpu && n <= SOME_KEYS)
        all.samples /= n <= FEW_KEYS ? 4 : 2;
    for (unsigned p = 0; p < PIECES; p++)
        for (all.pieces[p] = cuts[p]; n / all.pieces[p] < PIECE_KEYS;)
            all.pieces[p] /= 2;
    return all;
}

/* Distances come behind the ranks. They are written once now, so that the system has given memory
 * for them before a GPU waits for what follows from them. */
static double *far_of(const sx_peek *peek)
{
    return (double *)(void *)(peek->rank + peek->n);
}

static void choose_for_gpu(const sx_peek *peek)
{
    sx_sample all = plan_sample(1, peek->of);

    all.ranks = peek->rank;
    choose_ranks(&all);
    memset(far_of(peek), 0, FAR_BYTES(all.samples));
}

void sx_peek_begin(sx_peek *out, const sx_device *dev, uint64_t n, uint32_t width)
{
    void *ranks = NULL, *keys = NULL;
    sx_err err;
    sx_sample all;

    *out = (sx_peek){0};
    if (n < LEAST)
        return;
    all = plan_sample(dev->backend->gpu, n);
    if (sx_alloc(&ranks, RANK_BYTES(all.samples) + FAR_BYTES(all.samples), "a sample", &err) !=
            SX_OK ||
        sx_alloc(&keys, all.samples * KEPT * width, "a sample", &err) != SX_OK) {
        sx_release(ranks);        /* then the sample is taken later, or not at all */
        return;
    }
    *out = (sx_peek){.n = all.samples * KEPT, .rank = ranks, .keys = keys, .of = n,
                     .choose = choose_for_gpu};
}

void sx_peek_end(sx_peek *peek)
{
    sx_release(peek->rank);
    sx_release(peek->keys);
    *peek = (sx_peek){0};
}

/* Keys of a sample that did not come with the sort. */
static sx_status take_later(sx_device *dev, const sx_sorted *sorted, const sx_input *in,
                            sx_sample *all, sx_err *err)
{
    const sx_backend *be = dev->backend;
    sx_peek peek = {.n = all->samples * KEPT, .rank = all->ranks};
    void *scratch = NULL;
    sx_status st = sx_alloc(&scratch, KEY_BYTES(all->samples), "a sample", err);

    peek.keys = scratch;
    choose_ranks(all);
    if (st == SX_OK && be->peek) {
        st = be->peek(dev->self, sorted, &peek, err);
        if (st == SX_OK && peek.taken)
            take_peeked(&peek, sorted->width, all);
        else if (st == SX_OK)
            st = sx_fail(err, SX_ENOMEM, "no memory for a look at keys");
    } else if (st == SX_OK) {
        st = take_sample(dev, sorted, in, all, scratch, err);
    }
    sx_release(scratch);
    return st;
}

sx_status sx_sample_take(sx_sample **out, sx_device *dev, const sx_sorted *sorted,
                         const sx_input *in, sx_err *err)
{
    /* of all keys, as they were when they were sorted */
    const sx_peek *peek = in->peek && in->peek->taken && sorted->n == in->n ? in->peek : NULL;
    sx_sample *all = NULL;
    sx_status st;

    *out = NULL;
    if (sorted->n < LEAST)
        return SX_OK;
    st = sx_alloc((void **)&all, sizeof *all, "a sample", err);
    if (st != SX_OK)
        return st;
    *all = plan_sample(dev->backend->gpu, sorted->n);
    if (peek) {
        all->borrowed = 1;
        all->ranks = peek->rank;
        all->far = far_of(peek);
        take_peeked(peek, sorted->width, all);
        *out = all;
        return SX_OK;
    }
    st = sx_alloc((void **)&all->ranks, RANK_BYTES(all->samples), "a sample", err);
    if (st == SX_OK)
        st = sx_alloc((void **)&all->far, FAR_BYTES(all->samples), "a sample", err);
    if (st == SX_OK)
        st = take_later(dev, sorted, in, all, err);
    if (st == SX_OK)
        *out = all;
    else
        sx_sample_drop(all);
    return st;
}

double sx_sample_repeats(const sx_sample *all, uint32_t ranks)
{
    uint64_t equal = 0;
    unsigned i = 0;

    while (away[i] < ranks)
        i++;
    for (uint64_t s = 0; all && s < all->samples; s++) {
        const double *far = all->far + s * KEPT + SIDE;
        equal += far[i + 1] == 0 || far[-1 - (int)i] == 0;
    }
    return all ? (double)equal / (double)all->samples : 0;
}

sx_status sx_sample_guide(const sx_sample *all, sx_device *dev, sx_spec *spec,
                          const sx_sorted *sorted, uint64_t top_space, double most, double *cost,
                          sx_err *err)
{
    *cost = 1;
    *spec = with_choice(*spec, 1, 0);
    return all ? choose_among(dev, all, sorted, spec, top_space, most, cost, err) : SX_OK;
}

sx_status sx_resolve_pieces(sx_device *dev, sx_spec *spec, const sx_sorted *sorted,
                            const sx_input *in, uint64_t top_space, sx_err *err)
{
    sx_sample *all;
    double cost;
    sx_status st = sx_sample_take(&all, dev, sorted, in, err);

    if (st == SX_OK)
        st = sx_sample_guide(all, dev, spec, sorted, top_space, UINT32_MAX, &cost, err);
    sx_sample_drop(all);
    return st;
}
