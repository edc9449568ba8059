/* pieces.c - a look at some keys: how often they repeat, and how many pieces and how
 * large cells a guide gets, unless told, by how many units a walk would look at under
 * each of a few.
 *
 * Of a sample of the keys, each with some on either side of it, what a walk depends on is
 * known without a guide: where the key's cell and its record begin and end, how many of
 * the keys around are in them, and so which unit is guessed, how far that is from the
 * right one, and whether the record is crowded.
 *
 *              cell          next
 *     - x ---- | x x --- q x ---- | --- x ---      start: 2 before q; 4 keys, of which
 *                                                  q, 7/10 along, is guessed the third */
#include "choose/choose.h"

#include "base/alloc.h"
#include "family/slots.h"

/* Fewer keys are no sample, and pieces of fewer are not worth their search. */
#define LEAST 4096u
#define PIECE_KEYS 1024u
/* So many samples, and so far away on either side are the keys that are looked at. */
#define SAMPLES 256u
static const uint32_t away[] = {1,   2,   3,   4,   5,    6,    7,    8,     10,    12,      14,
                                16,  20,  24,  32,  40,   48,   64,   96,    128,   192,     256,
                                384, 512, 768, 1024, 2048, 4096, 16384, 65536, 1u << 18, 1u << 20};
#define SIDE (sizeof away / sizeof away[0])
#define NEAR (2 * SIDE + 1)
/* What is kept of a sample: of the keys near it; and for each number of pieces of both
 * ends of its piece. */
#define PIECES 4u
#define KEPT (NEAR + 2 * PIECES)
#define END(p) (NEAR + 2 * (p))

/* What can be chosen: so many pieces, with what their search costs, counted in units
 * looked at, as measured; and so many keys of a cell, or (0) as many as usual. */
static const struct {
    uint32_t pieces;
    double toll;
} cuts[PIECES] = {{1, 0}, {256, 0.16}, {2048, 0.24}, {SX_PIECES_MAX, 0.50}};
#define BUCKETS 3u
static const uint32_t buckets[BUCKETS] = {0, 4, SX_LEAST_BUCKET};

struct sx_sample {
    uint64_t n;
    uint32_t pieces[PIECES];      /* as many as so many keys are cut into */
    uint64_t *ranks;              /* KEPT of each sample */
    double *far;                  /* KEPT of each sample: how far each key is above it; at
                                     END(p) how far it is into its piece, then how long
                                     that is */
};

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

static void choose_ranks(sx_sample *all)
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
            piece_ends(all->n, all->pieces[p], middle, r + END(p));
    }
}

static sx_key16 key_at(const void *keys, unsigned i, uint32_t width)
{
    return width == 4   ? ((const sx_key4 *)keys)[i]
           : width == 8 ? ((const sx_key8 *)keys)[i]
                        : ((const sx_key16 *)keys)[i];
}

static double distance(sx_key16 from, sx_key16 to)
{
    sx_key16 d = to > from ? to - from : from - to;
    double x = d >> 64 ? (double)(uint64_t)(d >> 64) * 0x1p64 + (double)(uint64_t)d
                       : (double)(uint64_t)d;

    return to > from ? x : -x;
}

/* Of a sample, whose encoded keys these are. */
static void measure_keys(const void *keys, uint32_t width, double *far)
{
    sx_key16 q = key_at(keys, SIDE, width);

    for (unsigned i = 0; i < NEAR; i++)
        far[i] = distance(q, key_at(keys, i, width));
    for (unsigned p = 0; p < PIECES; p++) {
        sx_key16 begin = key_at(keys, END(p), width);
        far[END(p)] = distance(begin, q);
        far[END(p) + 1] = distance(begin, key_at(keys, END(p) + 1, width)) + 1;
    }
}

/* scratch: space for all keys, as they come. */
static sx_status take_sample(sx_device *dev, const sx_sorted *sorted, const sx_input *in,
                             sx_sample *all, unsigned char *scratch, sx_err *err)
{
    const sx_type_info *type = sx_type_of(in->key_type);
    sx_spec plain = {.family = SX_FAM_SORTED};
    sx_lookup pick = {.op = SX_OP_KEY_AT, .key_type = in->key_type, .rank_bytes = 8,
                      .n = SAMPLES * KEPT, .q = all->ranks, .keys = scratch,
                      .how.threads = in->threads};
    _Alignas(64) unsigned char encoded[KEPT * 16];
    sx_facts facts = {.n = sorted->n, .ranks = sorted->n, .width = sorted->width};
    sx_view array;                /* of the keys that are stored */
    sx_status st = sx_shape(&array, &plain, &dev->backend->target, &facts, err);

    if (st != SX_OK)
        return st;
    sx_view_bind(&array, (const void *const[SX_SECTIONS]){[SX_SEC_KEYS] = sorted->keys});
    choose_ranks(all);
    st = dev->backend->lookup(dev->self, SX_ONE_VIEW(&array), &pick, err);
    for (uint64_t s = 0; s < SAMPLES && st == SX_OK; s++) {
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

    for (unsigned len = NEAR; len > 1;) { /* the last that is nearer, or the first */
        unsigned half = len / 2;
        i += far[i + half] < border ? half : 0;
        len -= half;
    }
    if (far[i] >= border || i + 1 == NEAR)        /* it is farther away than is looked */
        return (double)ranks[i];
    steps = (border - far[i]) / (far[i + 1] - far[i]) * (double)(ranks[i + 1] - ranks[i]);
    return (double)ranks[i] + (steps > 1 ? steps : 1);
}

/* Whether some cell, all so wide, between these borders certainly has too many keys. */
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
    uint64_t unit = v->unit, right = (uint64_t)rank_at(ranks, far, 0) / unit, guess;

    count = rank_at(ranks, far, record_end) - rank_at(ranks, far, record);
    if (count > SX_GUIDE_MOST && is_crowded(ranks, far, record, record_end, width))
        return 1 + log2_up(count / (double)unit);
    low = low < 0 ? low : 0;      /* it is rounded */
    start = rank_at(ranks, far, low);
    count = rank_at(ranks, far, low + width) - start;
    guess = (uint64_t)(start + count * (place - (double)(uint64_t)place)) / unit;
    right = right > guess ? right - guess : guess - right;
    return right <= SX_GUIDE_NEXT ? 1 + (double)right
                                  : 1 + SX_GUIDE_NEXT + log2_up(count / (double)unit);
}

/* On average; or, if that is more than `most`, any number above it. */
static double mean_turns(const sx_sample *all, unsigned pieces, const sx_view *v, double most)
{
    double sum = SAMPLES;         /* each looks at one at least */

    for (uint64_t s = 0; s < SAMPLES && sum <= most * SAMPLES; s++)
        sum += turns_of(all, s, pieces, v) - 1;
    return sum / SAMPLES;
}

/* ---- the choice -------------------------------------------------------------------- */

/* Smaller cells than usual make a guide that is larger and further away. */
static double bucket_toll(double usual, double bucket)
{
    double toll = 0;

    for (; bucket < usual; bucket *= 2)
        toll += 0.12 * (usual / bucket < 2 ? usual / bucket - 1 : 1);
    return toll < 0.43 ? toll : 0.43;
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

/* Whether an index of this shape can be had: its top fits, and lanes that read together
 * number its cells in 32 bits. */
static int can_be(const sx_device *dev, const sx_view *v, uint64_t top_space)
{
    return sx_upper_block_bytes(v) <= top_space &&
           !(dev->backend->gpu && sx_guide_cells(&v->of.guide) > UINT32_MAX);
}

/* The first choice, one piece and the usual cell, is taken if no other can be. */
static sx_status choose_among(sx_device *dev, const sx_sample *all, const sx_sorted *sorted,
                              sx_spec *spec, uint64_t top_space, double *cost, sx_err *err)
{
    sx_spec asked = *spec;
    sx_facts facts = sx_facts_of(sorted);
    uint32_t usual = 0;

    for (unsigned c = 0; c < PIECES * BUCKETS; c++) {
        unsigned p = c / BUCKETS, bucket = buckets[c % BUCKETS];
        sx_spec tried = with_choice(asked, all->pieces[p], bucket);
        double toll = cuts[p].toll + (bucket ? bucket_toll(usual, bucket) : 0), its;
        sx_view v;
        sx_status st;
        if (bucket && ((asked.given & SX_GUIDE_BUCKET) || 2 * bucket > usual))
            continue;             /* another is told, or this is about the usual one */
        if (c > 0 && 1 + toll >= *cost)
            continue;             /* it can't be better */
        st = sx_shape(&v, &tried, &dev->backend->target, &facts, err);
        if (st != SX_OK)
            return st;
        if (c > 0 && !can_be(dev, &v, top_space))
            continue;
        its = toll + mean_turns(all, p, &v, c > 0 ? *cost - toll : UINT32_MAX);
        if (c == 0)
            usual = tried.of.guide.bucket;
        if (c == 0 || its < *cost) {
            *cost = its;
            *spec = with_choice(asked, tried.of.guide.pieces, bucket);
        }
    }
    return SX_OK;
}

/* Ranks, keys as they come, and how far they are. */
#define RANK_BYTES (SAMPLES * KEPT * sizeof(uint64_t))
#define KEY_BYTES (SAMPLES * KEPT * 16ull)
#define FAR_BYTES (SAMPLES * KEPT * sizeof(double))

uint64_t sx_sample_bytes(uint64_t n)
{
    return n < LEAST ? 0 : sizeof(sx_sample) + RANK_BYTES + KEY_BYTES + FAR_BYTES;
}

void sx_sample_drop(sx_sample *all)
{
    if (all) {
        sx_release(all->far);
        sx_release(all->ranks);
    }
    sx_release(all);
}

sx_status sx_sample_take(sx_sample **out, sx_device *dev, const sx_sorted *sorted,
                         const sx_input *in, sx_err *err)
{
    sx_sample *all = NULL;
    void *scratch = NULL;
    sx_status st;

    *out = NULL;
    if (sorted->n < LEAST)
        return SX_OK;
    st = sx_alloc_zero((void **)&all, sizeof *all, "a sample", err);
    if (st != SX_OK)
        return st;
    all->n = sorted->n;
    st = sx_alloc((void **)&all->ranks, RANK_BYTES, "a sample", err);
    if (st == SX_OK)
        st = sx_alloc((void **)&all->far, FAR_BYTES, "a sample", err);
    if (st == SX_OK)
        st = sx_alloc(&scratch, KEY_BYTES, "a sample", err);
    if (st == SX_OK)
        st = take_sample(dev, sorted, in, all, scratch, err);
    sx_release(scratch);
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
    for (uint64_t s = 0; all && s < SAMPLES; s++) {
        const double *far = all->far + s * KEPT + SIDE;
        equal += far[i + 1] == 0 || far[-1 - (int)i] == 0;
    }
    return (double)equal / SAMPLES;
}

sx_status sx_sample_guide(const sx_sample *all, sx_device *dev, sx_spec *spec,
                          const sx_sorted *sorted, uint64_t top_space, double *cost, sx_err *err)
{
    *cost = 1;
    *spec = with_choice(*spec, 1, 0);
    return all ? choose_among(dev, all, sorted, spec, top_space, cost, err) : SX_OK;
}

sx_status sx_resolve_pieces(sx_device *dev, sx_spec *spec, const sx_sorted *sorted,
                            const sx_input *in, uint64_t top_space, sx_err *err)
{
    sx_sample *all;
    double cost;
    sx_status st = sx_sample_take(&all, dev, sorted, in, err);

    if (st == SX_OK)
        st = sx_sample_guide(all, dev, spec, sorted, top_space, &cost, err);
    sx_sample_drop(all);
    return st;
}
