/* pieces.c - how many pieces and how large buckets a guide gets, unless told: a look
 * at some keys says how many units a walk would look at under each of a few.
 *
 * Of a sample of the keys, each with some on either side of it, everything that a walk
 * depends on is known without a guide: where the bucket of the key begins and ends, how
 * many of the keys around are in it, and so which unit is guessed, and how far that is
 * from the right one.
 *
 *              bucket          next
 *     - x ---- | x x --- q x ---- | --- x ---      start: 2 before q; 4 keys, of which
 *                                                  q, 7/10 along, is guessed the third */
#include "query/index.h"

#include "base/alloc.h"
#include "index/slots.h"

/* Fewer keys are no sample, and pieces of fewer are not worth their search. */
#define LEAST 4096u
#define PIECE_KEYS 1024u
/* So many samples, and so far away on either side are the keys that are looked at. */
#define SAMPLES 256u
static const uint32_t away[] = {1,   2,   3,   4,   5,    6,    7,     8,     9,      10,
                                11,  12,  13,  14,  15,   16,   20,    24,    32,     40,
                                48,  64,  80,  96,  128,  160,  192,   256,   512,    1024,
                                2048, 4096, 16384, 65536, 1u << 18, 1u << 20};
#define SIDE (sizeof away / sizeof away[0])
#define NEAR (2 * SIDE + 1)
/* What is kept of a sample: keys near it, and both ends of its piece for each number
 * of pieces. */
#define PIECES 4u
#define KEPT (NEAR + 2 * PIECES)

/* What can be chosen: so many pieces, with what their search costs, counted in units
 * looked at, as measured; and so many keys of a bucket, or (0) as many as usual. */
static const struct {
    uint32_t pieces;
    double toll;
} cuts[PIECES] = {{1, 0}, {256, 0.16}, {2048, 0.24}, {SX_PIECES_MAX, 0.50}};
#define BUCKETS 3u
static const uint32_t buckets[BUCKETS] = {0, 4, SX_GUIDE_BUCKET};

typedef struct {
    uint64_t n;
    uint32_t width;
    uint32_t pieces[PIECES];      /* as many as so many keys are cut into */
    uint64_t *ranks;              /* KEPT of each sample */
    unsigned char *keys;          /* of these ranks, encoded */
} sampled;

static sx_key16 key_of(const sampled *all, uint64_t i)
{
    const void *key = all->keys + i * all->width;

    return all->width == 4   ? *(const sx_key4 *)key
           : all->width == 8 ? *(const sx_key8 *)key
                             : *(const sx_key16 *)key;
}

static double distance(sx_key16 from, sx_key16 to)
{
    sx_key16 d = to > from ? to - from : from - to;
    double x = (double)(uint64_t)(d >> 64) * 0x1p64 + (double)(uint64_t)d;

    return to > from ? x : -x;
}

/* ---- the sample ----------------------------------------------------------------- */

/* One rank out of each of SAMPLES stretches, not at equal distances. */
static uint64_t some_rank(uint64_t n, uint64_t s)
{
    uint64_t first = n / SAMPLES * s, length = n / SAMPLES;
    uint64_t mixed = (s + 1) * 0x9e3779b97f4a7c15ull;

    return first + (uint64_t)((unsigned __int128)mixed * length >> 64);
}

/* The piece that a rank is in, and where it begins and ends. */
static void piece_ends(uint64_t n, uint64_t pieces, uint64_t rank, uint64_t ends[2])
{
    uint64_t p = (uint64_t)((unsigned __int128)rank * pieces / n);

    p += p + 1 < pieces && (p + 1) * n / pieces <= rank;
    ends[0] = p * n / pieces;
    ends[1] = p + 1 < pieces ? (p + 1) * n / pieces : n - 1;
}

static void choose_ranks(sampled *all)
{
    for (unsigned p = 0; p < PIECES; p++)
        for (all->pieces[p] = cuts[p].pieces; all->n / all->pieces[p] < PIECE_KEYS;)
            all->pieces[p] /= 2;
    for (uint64_t s = 0; s < SAMPLES; s++) {
        uint64_t *r = all->ranks + s * KEPT, middle = some_rank(all->n, s);
        r[SIDE] = middle;
        for (unsigned i = 0; i < SIDE; i++) {
            r[SIDE + 1 + i] = middle + away[i] < all->n ? middle + away[i] : all->n - 1;
            r[SIDE - 1 - i] = middle > away[i] ? middle - away[i] : 0;
        }
        for (unsigned p = 0; p < PIECES; p++)
            piece_ends(all->n, all->pieces[p], middle, r + NEAR + 2 * p);
    }
}

/* scratch: room for as many keys as they come. */
static sx_status take_sample(sx_device *dev, const sx_sorted *sorted, const sx_input *in,
                             sampled *all, void *scratch, sx_err *err)
{
    sx_spec plain = {.family = SX_FAM_SORTED};
    sx_lookup pick = {.op = SX_OP_KEY_AT, .key_type = in->key_type, .rank_bytes = 8,
                      .n = SAMPLES * KEPT, .q = all->ranks, .keys = scratch,
                      .how.threads = in->threads};
    sx_view array;
    sx_status st = sx_shape(&array, &plain, dev->backend->node_bytes, sorted->width,
                            sorted->row_bytes, sorted->n, err);

    if (st != SX_OK)
        return st;
    sx_view_bind(&array, (const void *const[SX_SECTION_KINDS]){
                             [SX_SEC_KEYS] = sorted->keys, [SX_SEC_ROWS] = sorted->rows});
    choose_ranks(all);
    st = dev->backend->lookup(dev->self, &array, &pick, err);
    if (st == SX_OK)
        sx_type_of(in->key_type)->encode(all->keys, scratch, SAMPLES * KEPT);
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

/* The rank of the first key that is not below `border`, between keys i and i + 1 of a
 * sample, which are d[0] and d[1] from where the piece begins. */
static double rank_between(const uint64_t *ranks, unsigned i, const double d[2], double border)
{
    double part = (border - d[0]) / (d[1] - d[0]);
    double steps = part * (double)(ranks[i + 1] - ranks[i]);

    return (double)ranks[i] + (steps > 1 ? steps : 1);
}

/* Units that the walk for sample s looks at, under the guide of this shape. */
static double turns_of(const sampled *all, uint64_t s, unsigned pieces, const sx_view *v)
{
    const uint64_t *ranks = all->ranks + s * KEPT;
    uint64_t at = s * KEPT, unit = sx_walk_unit(v), right, guess;
    unsigned first = SIDE, last = SIDE;
    sx_key16 q = key_of(all, at + SIDE), begin = key_of(all, at + NEAR + 2 * pieces);
    double width = (distance(begin, key_of(all, at + NEAR + 2 * pieces + 1)) + 1) /
                   (double)v->piece_buckets;
    double here = distance(begin, q), place = here / width, low, high, d[2], e[2], start, count;

    while (first > 0 && key_of(all, at + first - 1) == q)
        first--;
    right = ranks[first];         /* q's lower bound */
    low = (double)(uint64_t)place * width;
    low = low < here ? low : here;        /* they are rounded */
    high = low + width > here ? low + width : here + width;
    d[1] = d[0] = e[0] = e[1] = here;
    while (d[0] >= low && first > 0) {
        d[1] = d[0];
        d[0] = distance(begin, key_of(all, at + --first));
    }
    while (e[1] < high && last + 1 < NEAR) {
        e[0] = e[1];
        e[1] = distance(begin, key_of(all, at + ++last));
    }
    /* It may begin or end farther away than is looked. */
    start = d[0] < low ? rank_between(ranks, first, d, low) : (double)ranks[0];
    count = (e[1] < high ? (double)ranks[last] : rank_between(ranks, last - 1, e, high)) - start;
    if (count > SX_GUIDE_MOST)
        return 1 + log2_up(count / (double)unit);
    guess = (uint64_t)(start + count * (place - (double)(uint64_t)place)) / unit;
    right /= unit;
    right = right > guess ? right - guess : guess - right;
    return right <= SX_GUIDE_NEXT ? 1 + (double)right
                                  : 1 + SX_GUIDE_NEXT + log2_up(count / (double)unit);
}

static double mean_turns(const sampled *all, unsigned pieces, const sx_view *v)
{
    double sum = 0;

    for (uint64_t s = 0; s < SAMPLES; s++)
        sum += turns_of(all, s, pieces, v);
    return sum / SAMPLES;
}

/* ---- the choice -------------------------------------------------------------------- */

/* Smaller buckets than usual make a guide that is larger and further away. */
static double bucket_toll(double usual, double bucket)
{
    double toll = 0;

    for (; bucket < usual; bucket *= 2)
        toll += 0.12 * (usual / bucket < 2 ? usual / bucket - 1 : 1);
    return toll < 0.43 ? toll : 0.43;
}

static sx_status choose_among(sx_device *dev, const sampled *all, const sx_sorted *sorted,
                              sx_spec *spec, double *cost, sx_err *err)
{
    sx_spec asked = *spec;
    uint32_t usual = 0;

    *cost = 1e9;                  /* of none */
    for (unsigned c = 0; c < PIECES * BUCKETS; c++) {
        unsigned pieces = c / BUCKETS, bucket = buckets[c % BUCKETS];
        sx_spec tried = asked;
        sx_view v;
        double its = cuts[pieces].toll + (bucket ? bucket_toll(usual, bucket) : 0);
        sx_status st;
        if ((bucket && ((asked.given & SX_P_BUCKET) || 2 * bucket > usual)) || 1 + its >= *cost)
            continue;             /* it is not wanted, is about the usual one, can't be better */
        tried.pieces = all->pieces[pieces];
        tried.bucket = bucket ? bucket : asked.bucket;
        tried.given |= SX_P_PIECES | (bucket ? SX_P_BUCKET : 0);
        st = sx_shape(&v, &tried, dev->backend->node_bytes, sorted->width, sorted->row_bytes,
                      sorted->n, err);
        if (st != SX_OK)
            return st;
        usual = c == 0 ? tried.bucket : usual;
        its += mean_turns(all, pieces, &v);
        if (its < *cost) {
            *cost = its;
            spec->pieces = tried.pieces;
            spec->bucket = tried.bucket;
            spec->given = asked.given | (bucket ? SX_P_BUCKET : 0);
        }
    }
    return SX_OK;
}

/* A sample has a rank, a key as it came and one encoded for each that is kept. */
#define RANK_BYTES (SAMPLES * KEPT * sizeof(uint64_t))
#define KEY_BYTES (SAMPLES * KEPT * 16ull)

uint64_t sx_sample_bytes(uint64_t n)
{
    return n < LEAST ? 0 : RANK_BYTES + 2 * KEY_BYTES;
}

sx_status sx_resolve_pieces(sx_device *dev, sx_spec *spec, const sx_sorted *sorted,
                            const sx_input *in, double *cost, sx_err *err)
{
    sampled all = {.n = sorted->n, .width = sorted->width};
    void *scratch = NULL;
    sx_status st;

    *cost = 1;
    spec->pieces = 1;
    if (sorted->n < LEAST)
        return SX_OK;
    st = sx_alloc((void **)&all.ranks, RANK_BYTES, "a sample", err);
    if (st == SX_OK)
        st = sx_alloc((void **)&all.keys, KEY_BYTES, "a sample", err);
    if (st == SX_OK)
        st = sx_alloc(&scratch, KEY_BYTES, "a sample", err);
    if (st == SX_OK)
        st = take_sample(dev, sorted, in, &all, scratch, err);
    if (st == SX_OK)
        st = choose_among(dev, &all, sorted, spec, cost, err);
    sx_release(scratch);
    sx_release(all.keys);
    sx_release(all.ranks);
    return st;
}
