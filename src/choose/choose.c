/* choose.c - what `auto` does: a look at some keys and, where that does not settle it, a
 * contest (contest.c).
 *
 * For a GPU the look settles it. It says how many units a walk under a guide would look at
 * (pieces.c), how often keys repeat, how wide they are and whether all fits the cache. From
 * these follows which spec is the fastest, or as good. The limits below come from a survey
 * of 25 distributions and of 2^12 to 2^28 keys of three widths on an H200 (bench/auto.py).
 * A contest there took longer than the sort, and mostly agreed with the look.
 *
 * CPUs differ more, in caches and in how much of them a process gets. Their builds take so
 * long that a contest is a small part of them. */
#include "choose/choose.h"
#include "choose/questions.h"

#include "base/alloc.h"

#include <string.h>

/* Up to this many bytes of keys, all in the cache, binary search is the favourite among
 * families that take no extra memory. */
#define SORTED_BYTES (256u << 10)
/* Where a GPU's pivots take more bytes, far more than its L2 holds, it pays to have
 * fewer of them (4-byte keys) or fewer levels (8-byte keys). */
#define PIVOT_BYTES (100u << 20)
/* Beyond this many bytes hardly any keys and rows are in a GPU's L2. Few are: sx_is_near(). */
#define FAR_BYTES (512ull << 20)

/* The most units that a walk under a guide may look at, tolls included, where it is still
 * as fast as pivots on a GPU. In the cache near_limit() says it. Far away pivots take many
 * reads. Wide keys have few pivots a read, and ranges leave
 * less to gain. GUIDE_CPU: where a guide may still be the fastest on a CPU. */
#define GUIDE_AWAY 1.6
#define GUIDE_FAR 2.0
#define GUIDE_WIDE 1.8
#define GUIDE_WIDE_NEAR 1.7
#define GUIDE_RANGES 1.5
#define GUIDE_CPU 2.5
/* Up to this many units, 8-byte keys and 8-byte rows are best side by side under a guide. */
#define GUIDE_PAIRS 1.25
/* Equal keys are stored once if that takes less memory than this many 16ths of all keys. A
 * search among values is worth more than a key beside its row, and cells and segments
 * suit keys that do not repeat. */
#define ONCE_16THS 17u
/* For points on a GPU speed counts for more: if no guide suits the keys as they come, equal
 * keys are stored once if there are at most this many 8ths as many values, and that takes at
 * most this many halves of keys and rows together. */
#define ONCE_HALVES 3u
#define ONCE_8THS 7u
/* A GPU's wide keys are looked at from this many values on, if there are enough keys for a
 * look. Fewer values are searched whole. Narrower keys with too few values for a look get
 * pivots. */
#define VALUES_LOOKED_AT (1u << 12)
/* If this part of the keys is in short runs of equal ones, rows that are side by side are
 * read faster. */
#define SOME_RUNS 0.1
#define SHORT_RUN 32u

/* ---- who may win ---------------------------------------------------------------- */

/* What was seen of the keys: which part of them is in runs of equal ones, and for each
 * layout the guide that suits them, with what its walks cost. Where that is more than `most`, no
 * guide wins, and nobody looked closer. */
typedef struct {
    double in_runs;
    double most, cost[2];
    sx_spec guide[2];
} seen;

/* On a CPU a guide's pairs are blocks of a line, or little more, and so are its
 * buckets: a lookup is a record and a line. */
static sx_spec guide_of(const sx_device *dev, sx_spec guide, uint32_t layout, uint32_t width,
                        uint32_t row_bytes)
{
    guide.family = SX_FAM_GUIDE;
    guide.layout = layout;
    guide.given = SX_P_LAYOUT;
    if (!dev->backend->gpu && layout == SX_PAIRS) {
        guide.block = 1;
        while (guide.block * (width + row_bytes) < SX_LINE)
            guide.block *= 2;
        guide.of.guide.bucket = 4;
        guide.given |= SX_P_BLOCK | SX_GUIDE_BUCKET;
    }
    return guide;
}

static void add(sx_contenders *list, sx_spec spec)
{
    list->spec[list->count++] = spec;
}

static sx_spec with_layout(sx_spec spec, uint32_t family, uint32_t layout)
{
    spec.family = family;
    spec.layout = layout;
    spec.given |= SX_P_LAYOUT;
    return spec;
}

/* Pairs of a leaf are one read for a GPU. */
static sx_spec pivot_pairs(sx_spec spec, uint64_t n, uint32_t width, int runs)
{
    if (n / 8 * width > PIVOT_BYTES && width == 4 && !runs) {
        spec.of.pivot.leaf = 16;
        spec.given = SX_PIVOT_LEAF;
    } else if (n / 8 * width > PIVOT_BYTES && width == 8) {
        spec.of.pivot.k = 9;
        spec.given = SX_PIVOT_K;
    }
    return with_layout(spec, SX_FAM_PIVOT, SX_PAIRS);
}

/* The same for keys and rows in a GPU's cache. Pivots get slower with every level there is,
 * and a unit more takes a guide longer than its first: both ways took equally long on an
 * H200 at these limits, by keys from 2^16 to 2^22. Below 1 no guide wins. */
static double near_limit(uint32_t width, int pairs, uint64_t n)
{
    double doublings = -16;

    for (; n > 1; n /= 2)
        doublings++;
    if (width == 4)
        return pairs ? 1.28 + 0.028 * doublings : 0.97 + 0.030 * doublings;
    return pairs ? 1.40 + 0.075 * doublings : 1.16 + 0.080 * doublings;
}

/* Whether a guide is the fastest on a GPU whose cache has keys and rows: of pairs, if there
 * may be pairs, or of arrays. */
static int guide_wins_near(const seen *looked, uint64_t n, uint32_t width, int *pairs)
{
    if (*pairs && looked->cost[1] < near_limit(width, 1, n))
        return 1;
    *pairs = 0;
    return looked->cost[0] < near_limit(width, 0, n);
}

/* The same if keys and rows come from beyond the cache. */
static int guide_wins_far(const seen *looked, uint32_t purpose, uint64_t bytes)
{
    return looked->cost[1] < (purpose == SX_FOR_RANGE ? GUIDE_RANGES
                              : bytes < FAR_BYTES     ? GUIDE_AWAY
                                                      : GUIDE_FAR);
}

static sx_spec settle_gpu(sx_spec spec, uint32_t purpose, uint64_t n, uint32_t width,
                          uint32_t row_bytes, const seen *looked)
{
    uint64_t bytes = n * (width + row_bytes);
    int near = sx_is_near(bytes), runs = looked->in_runs >= SOME_RUNS;
    int may_pair = purpose != SX_FOR_RANGE && row_bytes > 0 && width <= 8, pairs = may_pair;

    if (width > 8    ? looked->cost[0] < (near ? GUIDE_WIDE_NEAR : GUIDE_WIDE)
        : near       ? guide_wins_near(looked, n, width, &pairs)
                     : guide_wins_far(looked, purpose, bytes)) {
        if (width == 8 && row_bytes == 8 &&
            (purpose != SX_FOR_POINT || looked->cost[1] >= GUIDE_PAIRS))
            pairs = 0;
        return looked->guide[pairs];
    }
    if (may_pair && !near && !(runs && (width == 8 || purpose != SX_FOR_POINT)))
        return pivot_pairs(spec, n, width, runs);
    return with_layout(spec, SX_FAM_PIVOT, SX_SPLIT);
}

/* looked NULL: all that may win, whatever the keys are, with these guides. Otherwise the
 * winner, behind the spec that takes the least memory. */
static void list_gpu(sx_contenders *list, sx_spec spec, uint32_t purpose, uint64_t n,
                     uint32_t width, uint32_t row_bytes, const seen *looked,
                     const sx_spec guide[2])
{
    add(list, with_layout(spec, SX_FAM_PIVOT, SX_SPLIT));
    if (looked) {
        add(list, settle_gpu(spec, purpose, n, width, row_bytes, looked));
        return;
    }
    add(list, guide[0]);
    if (purpose == SX_FOR_RANGE)
        return;
    if (row_bytes > 0) {
        add(list, guide[1]);
        add(list, pivot_pairs(spec, n, width, 1));    /* the larger one */
    }
}

static void list_cpu(sx_contenders *list, sx_spec spec, uint32_t purpose, uint32_t row_bytes,
                     const seen *looked, const sx_spec guide[2])
{
    int points = purpose == SX_FOR_POINT && row_bytes > 0;

    if (points) {                 /* a key and its row are in one line, or in two */
        add(list, with_layout(spec, SX_FAM_PIVOT, SX_PAIRS));
        add(list, with_layout(spec, SX_FAM_BTREE, SX_PAIRS));
    }
    if (points && (!looked || looked->cost[1] < GUIDE_CPU))
        add(list, guide[1]);
    if (!looked || looked->cost[0] < GUIDE_CPU)
        add(list, guide[0]);
    add(list, with_layout(spec, SX_FAM_PIVOT, SX_SPLIT));
}

/* The spec that is taken without a look. A GPU finds few wide keys faster without pivots. */
static sx_spec favourite(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width)
{
    sx_spec spec = {.family = SX_FAM_PIVOT, .unique = asked->unique, .place = asked->place};

    if (asked->purpose == SX_FOR_MEMORY)          /* not a byte beside keys and rows */
        spec.family = n * width <= SORTED_BYTES && asked->place != SX_PLACE_HYBRID ? SX_FAM_SORTED
                                                                                 : SX_FAM_EYTZ;
    else if (dev->backend->gpu && width > 8 && asked->place != SX_PLACE_HYBRID &&
             n < sx_look_from(dev))
        spec.family = SX_FAM_SORTED;
    return spec;
}

/* Whether n keys, of which `stored` are stored, get a look. */
static int has_look_at(const sx_device *dev, const sx_spec *asked, uint64_t n, uint64_t stored,
                       uint32_t width)
{
    return asked->purpose != SX_FOR_MEMORY && asked->place != SX_PLACE_HYBRID &&
           n >= sx_look_from(dev) &&
           stored >= (dev->backend->gpu && width > 8 ? VALUES_LOOKED_AT : sx_look_from(dev) / 2);
}

static int has_look(const sx_device *dev, const sx_spec *asked, uint64_t n)
{
    return has_look_at(dev, asked, n, n, 0);
}

int sx_will_look(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width)
{
    return asked->family == SX_FAM_AUTO && has_look_at(dev, asked, n, n, width);
}

static int has_contest(const sx_device *dev, const sx_spec *asked, uint64_t n)
{
    return has_look(dev, asked, n) && !dev->backend->gpu;
}

static sx_contenders list_all(const sx_device *dev, const sx_spec *asked, int looks, uint64_t n,
                              uint32_t width, uint32_t row_bytes, const seen *looked)
{
    sx_contenders list = {0};
    sx_spec spec = {.unique = asked->unique, .place = asked->place};
    sx_spec any[2] = {guide_of(dev, spec, SX_SPLIT, width, row_bytes),
                      guide_of(dev, spec, SX_PAIRS, width, row_bytes)};
    const sx_spec *guide = looked ? looked->guide : any;

    if (!looks)
        add(&list, favourite(dev, asked, n, width));
    else if (dev->backend->gpu)
        list_gpu(&list, spec, asked->purpose, n, width, row_bytes, looked, guide);
    else
        list_cpu(&list, spec, asked->purpose, row_bytes, looked, guide);
    return list;
}

unsigned sx_may_win(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width,
                    uint32_t row_bytes, sx_spec out[SX_CONTENDERS])
{
    sx_contenders list = list_all(dev, asked, has_look(dev, asked, n), n, width, row_bytes, NULL);

    memcpy(out, list.spec, sizeof list.spec);
    return list.count;
}

uint64_t sx_contest_bytes(const sx_device *dev, const sx_spec *asked, uint64_t n)
{
    return has_contest(dev, asked, n) ? sx_question_bytes(dev, n) : 0;
}

/* ---- equal keys ----------------------------------------------------------------- */

static int once_pays(const sx_spec *asked, const sx_sorted *sorted)
{
    uint64_t all = sorted->n * sorted->width;
    uint64_t values = sx_values_of(sorted);
    uint64_t once = values * sorted->width + sx_starts_bytes(values, sorted->n, sorted->row_bytes);

    if (sorted->n == 0 || values == sorted->n)
        return 0;
    return once < (asked->purpose == SX_FOR_MEMORY ? all : all / 16 * ONCE_16THS);
}

int sx_once_wanted(const sx_spec *asked, const sx_sorted *sorted)
{
    if (asked->family == SX_FAM_AUTO)
        return once_pays(asked, sorted);
    return (asked->given & SX_P_LAYOUT) && asked->layout == SX_LAYOUT_ONCE;
}

/* Whether points on a GPU would find keys faster that are stored once, if it can't be a
 * guide that finds them as they come. Of strings that is not so: comparing them takes longer
 * than finding their codes, however many of these there are. */
static int once_is_faster(const sx_device *dev, const sx_spec *asked, const sx_sorted *sorted)
{
    uint64_t all = sorted->n * (sorted->width + sorted->row_bytes);
    uint64_t values = sx_values_of(sorted);
    uint64_t once = values * sorted->width + sorted->n * sorted->row_bytes +
                    sx_starts_bytes(values, sorted->n, sorted->row_bytes);

    return dev->backend->gpu && asked->purpose == SX_FOR_POINT && !sorted->starts &&
           !sorted->strings.offset_bytes && values <= sorted->n / 8 * ONCE_8THS &&
           once <= all / 2 * ONCE_HALVES;
}

uint64_t sx_once_bytes(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width,
                       uint32_t row_bytes)
{
    if (asked->purpose == SX_FOR_MEMORY)
        return 0;
    return dev->backend->gpu && asked->purpose == SX_FOR_POINT
               ? n * (width + row_bytes) / 2 * (ONCE_HALVES - 2) : n * width / 16 * (ONCE_16THS - 16);
}

/* Makes all specs of the list layout=once. */
static void store_once(sx_contenders *list)
{
    for (unsigned i = 0; i < list->count; i++) {
        list->spec[i].layout = SX_LAYOUT_ONCE;
        list->spec[i].given |= SX_P_LAYOUT;
    }
}

/* ---- the look --------------------------------------------------------------------- */

/* Whether a GPU's arrays are looked at for themselves. What suits pairs suits arrays, but
 * in the cache a guide of arrays may win where one of pairs, whose units are shorter, does
 * not. */
static int looks_at_arrays(const sx_sorted *sorted, const seen *pairs)
{
    return sorted->width == 8 && sx_is_near(sorted->n * (sorted->width + sorted->row_bytes)) &&
           pairs->cost[1] >= near_limit(sorted->width, 1, sorted->n);
}

/* The most that walks under a guide may cost where it still wins (settle_gpu(), list_cpu()). No walk
 * costs less than 1. */
static double most_units(const sx_device *dev, const sx_spec *asked, const sx_sorted *sorted)
{
    uint32_t row_bytes = sorted->starts ? 0 : sorted->row_bytes;

    if (!dev->backend->gpu)
        return GUIDE_CPU;
    return sorted->width <= 8 && sx_is_near(sorted->n * (sorted->width + row_bytes))
               ? near_limit(sorted->width, asked->purpose != SX_FOR_RANGE && row_bytes > 0, sorted->n)
               : GUIDE_FAR;
}

/* If there is no memory for a look, keys get no guide. */
static sx_status look(sx_device *dev, const sx_spec *asked, const sx_sorted *sorted,
                      const sx_input *in, seen *out, sx_err *err)
{
    sx_spec spec = {.unique = asked->unique, .place = asked->place};
    int gpu = dev->backend->gpu, has_pairs = !sorted->starts && !(gpu && sorted->width > 8);
    uint32_t arrays = sorted->starts ? SX_LAYOUT_ONCE : SX_SPLIT;
    sx_sample *sample = NULL;
    sx_status st = sx_sample_take(&sample, dev, sorted, in, err);

    *out = (seen){.most = most_units(dev, asked, sorted), .cost = {GUIDE_CPU, GUIDE_CPU}};
    if (st != SX_OK || !sample)
        return st == SX_ENOMEM ? SX_OK : st;
    out->in_runs = sx_sample_repeats(sample, SHORT_RUN);
    for (int pairs = has_pairs; pairs >= 0 && st == SX_OK; pairs--) {
        sx_spec guide = guide_of(dev, spec, pairs ? SX_PAIRS : arrays, sorted->width,
                                 sorted->row_bytes);
        if (pairs < has_pairs && gpu && !looks_at_arrays(sorted, out)) {
            guide.of.guide.pieces = out->guide[1].of.guide.pieces;
            guide.of.guide.bucket = out->guide[1].of.guide.bucket;
            guide.given |= out->guide[1].given & (SX_GUIDE_PIECES | SX_GUIDE_BUCKET);
            out->cost[0] = out->cost[1];
        } else {
            st = sx_sample_guide(sample, dev, &guide, sorted, UINT64_MAX, out->most,
                                 &out->cost[pairs], err);
        }
        out->guide[pairs] = guide;
    }
    if (!has_pairs) {
        out->guide[1] = out->guide[0];
        out->cost[1] = out->cost[0];
    }
    sx_sample_drop(sample);
    return st;
}

static void say_once(const sx_sorted *sorted, sx_text *why)
{
    sx_text_add(why, "%s%llu keys have %llu values, so equal keys are stored once",
                why->length ? "; " : "", (unsigned long long)sorted->ranks,
                (unsigned long long)sx_values_of(sorted));
}

static void say_seen(const seen *looked, sx_text *why)
{
    int less = looked->cost[0] <= looked->most;

    sx_text_add(why, "a look at some keys: a guide's walk would look at %s",
                less ? "" : "more than ");
    sx_text_fixed(why, less ? looked->cost[0] : looked->most, 2);
    sx_text_add(why, " units, and ");
    sx_text_fixed(why, looked->in_runs * 100, 0);
    sx_text_add(why, " %% of the keys are in runs of equal ones");
}

/* Builds the likeliest spec that there is memory for. */
static sx_status take_usual(sx_device *dev, sx_store *s, const sx_contenders *list,
                            sx_sorted *sorted, const sx_input *in, unsigned *taken, sx_err *err)
{
    sx_status st = SX_ENOMEM;

    for (*taken = list->count; *taken > 0 && st == SX_ENOMEM;)
        st = sx_contender_build(dev, s, &list->spec[--*taken], sorted, in, err);
    return st;
}

/* Stores equal keys once. If there is no memory for that, they are stored as they come. */
static sx_status keep_values(sx_device *dev, sx_sorted *sorted, const sx_input *in, sx_text *why,
                             sx_err *err)
{
    sx_status st = dev->backend->once(dev->self, sorted, in->threads, err);

    if (sorted->starts)
        say_once(sorted, why);
    return st == SX_ENOMEM ? SX_OK : st;
}

/* A look at the keys, if there are enough of them and a guide may win, and who may win then. */
static sx_status list_seen(sx_device *dev, const sx_spec *asked, const sx_sorted *sorted,
                           const sx_input *in, int *looks, seen *looked, sx_contenders *list,
                           sx_err *err)
{
    sx_status st = SX_OK;

    *looks = has_look_at(dev, asked, sorted->ranks, sorted->n, sorted->width) &&
             most_units(dev, asked, sorted) > 1;
    if (*looks)
        st = look(dev, asked, sorted, in, looked, err);
    *list = list_all(dev, asked, *looks, sorted->n, sorted->width,
                     sorted->starts ? 0 : sorted->row_bytes, looked);
    if (sorted->starts)
        store_once(list);
    return st;
}

sx_status sx_choose(sx_device *dev, sx_store *s, const sx_spec *asked, sx_sorted *sorted,
                    const sx_input *in, sx_err *err)
{
    sx_text why = {s->why, SX_WHY_MAX, strlen(s->why)};
    int looks = 0, contest;
    sx_contenders list = {0};
    seen looked = {0};
    unsigned taken = 0;
    sx_status st = SX_OK;

    if (sorted->starts)           /* strings for a GPU come so */
        say_once(sorted, &why);
    else if (once_pays(asked, sorted))
        st = keep_values(dev, sorted, in, &why, err);
    if (st == SX_OK)
        st = list_seen(dev, asked, sorted, in, &looks, &looked, &list, err);
    if (st == SX_OK && once_is_faster(dev, asked, sorted) &&
        list.spec[list.count - 1].family != SX_FAM_GUIDE) {
        st = keep_values(dev, sorted, in, &why, err);
        if (st == SX_OK && sorted->starts)
            st = list_seen(dev, asked, sorted, in, &looks, &looked, &list, err);
    }
    if (st != SX_OK)
        return st;
    contest = has_contest(dev, asked, sorted->n) && list.count > 1;
    if (why.length)
        sx_text_add(&why, "; ");
    if (contest)
        st = sx_contest(dev, s, asked->purpose, &list, sorted, in, &why, err);
    if (!contest || st == SX_ENOMEM) {
        st = take_usual(dev, s, &list, sorted, in, &taken, err);
        if (contest || taken + 1 < list.count)
            sx_text_add(&why, "the usual choice; not measured, for want of memory");
        else if (asked->place == SX_PLACE_HYBRID)
            sx_text_add(&why, "the usual choice of what has an upper part; not measured");
        else if (asked->purpose == SX_FOR_MEMORY)
            sx_text_add(&why, "the usual choice of what takes no extra memory; not measured");
        else if (!looks)
            sx_text_add(&why, "the usual choice for so few keys; not measured, since a build is "
                        "over sooner");
        else
            say_seen(&looked, &why);
    }
    if (st != SX_OK)
        sx_store_drop(s, dev->backend, dev->self);
    return st;
}
