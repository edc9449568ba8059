/* choose.c - what `auto` does: a contest, on the real keys at their real number.
 *
 * A look at some keys says which specs may win (sx_contenders()). Each of them is built,
 * asked the kind of questions to come, and dropped again; the fastest is the index. Only
 * one of them is there at a time, beside the sorted arrays that all are made of, so a
 * contest takes no more memory than its largest contender. The likeliest winner comes
 * last: then nothing is built twice. Where only one spec may win, nothing is asked.
 *
 * Points and ranges are asked apart. Where both matter, a contender is as good as its
 * worse part: that of the time the best one took for it. */
#include "query/index.h"
#include "query/questions.h"

#include "base/alloc.h"
#include "base/machine.h"
#include "base/text.h"
#include "index/pgm_layout.h"

#include <string.h>

/* Up to so many bytes of keys, all in the cache, binary search is the
 * favourite among what takes no extra memory. */
#define SORTED_BYTES (256u << 10)
/* Where a GPU's pivots take more, far more than its L2 holds, it pays to have
 * fewer of them (4-byte keys) or fewer levels (8-byte keys). */
#define PIVOT_BYTES (100u << 20)
/* Keys and rows of so many bytes are mostly in a GPU's L2, where it hardly matters
 * whether a key and its row are side by side; from so many on some are not; and more
 * than so many mostly are not. */
#define CACHED_BYTES (64ull << 20)
#define LEAST_FAR_BYTES (16ull << 20)
#define MOST_NEAR_BYTES (256ull << 20)
/* Units that a walk under a guide may look at, tolls included (pieces.c), where pivots
 * are always faster; and where they never are, unless all is in the cache. */
#define GUIDE_COST 2.5
#define GUIDE_SURE 1.5
/* Keys repeat where so many equal a neighbour; and have few values where so many are in
 * long runs of equal ones. Lines are worth their fitting, which takes longer than all
 * else, only there. */
#define REPEATS 0.25
#define FEW_VALUES 0.95
#define LONG_RUN 32u
/* What is this close to the best is as good: timings are noisy. */
#define AS_GOOD 1.03

/* ---- who takes part ------------------------------------------------------------- */

/* What was seen of the keys: how often they repeat, and for both layouts the guide that
 * suits them with what its walks cost. */
typedef struct {
    double repeats, in_runs;
    double cost[2];
    sx_spec guide[2];
} seen;

typedef struct {
    unsigned count;
    sx_spec spec[SX_CONTENDERS];
} contenders;

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
        guide.bucket = 4;
        guide.given |= SX_P_BLOCK | SX_P_BUCKET;
    }
    return guide;
}

static void add(contenders *list, sx_spec spec, uint32_t family, uint32_t layout)
{
    spec.family = family;
    spec.layout = layout;
    spec.given |= SX_P_LAYOUT;
    list->spec[list->count++] = spec;
}

static void add_lines(contenders *list, sx_spec spec, uint32_t eps, uint32_t layout)
{
    spec.eps = eps;
    spec.given = SX_P_EPS;
    add(list, spec, SX_FAM_PGM, layout);
}

/* A GPU's pairs of a leaf are one read. */
static void add_pivot_pairs(contenders *list, sx_spec spec, uint64_t n, uint32_t width)
{
    if (n / 8 * width > PIVOT_BYTES && width == 4) {
        spec.leaf = 16;
        spec.given = SX_P_LEAF;
    } else if (n / 8 * width > PIVOT_BYTES && width == 8) {
        spec.k = 9;
        spec.given = SX_P_K;
    }
    add(list, spec, SX_FAM_PIVOT, SX_PAIRS);
}

/* looked NULL: whoever may take part, whatever the keys are; with these guides. */
static void list_gpu(contenders *list, sx_spec spec, uint32_t purpose, uint64_t n, uint32_t width,
                     uint32_t row_bytes, const seen *looked, const sx_spec guide[2])
{
    uint64_t bytes = n * (width + row_bytes);
    int points = purpose != SX_FOR_RANGE, ranges = purpose != SX_FOR_POINT;
    int repeats = !looked || looked->repeats >= REPEATS;
    int few_values = !looked || looked->in_runs >= FEW_VALUES;
    int split = !looked || looked->cost[0] < GUIDE_COST;
    int pairs = row_bytes > 0 && (!looked || looked->cost[1] < GUIDE_COST);
    int sure = looked && split && looked->cost[0] < GUIDE_SURE && bytes > CACHED_BYTES;

    if (!sure && (ranges || bytes <= MOST_NEAR_BYTES || repeats || row_bytes == 0))
        add(list, spec, SX_FAM_PIVOT, SX_SPLIT);
    if (points && !sure && row_bytes > 0 && bytes > LEAST_FAR_BYTES)
        add_pivot_pairs(list, spec, n, width);
    if (points && few_values && n <= SX_PGM_MOST) {
        add_lines(list, spec, 8, SX_SPLIT);
        if (bytes <= MOST_NEAR_BYTES && row_bytes > 0)
            add_lines(list, spec, 2, SX_PAIRS);
    }
    if (split && (ranges || bytes <= CACHED_BYTES || row_bytes == 0))
        list->spec[list->count++] = guide[0];
    if (points && pairs)
        list->spec[list->count++] = guide[1];
}

static void list_cpu(contenders *list, sx_spec spec, uint32_t purpose, uint32_t row_bytes,
                     const seen *looked, const sx_spec guide[2])
{
    int points = purpose == SX_FOR_POINT && row_bytes > 0;

    if (points)
        add(list, spec, SX_FAM_PIVOT, SX_PAIRS);
    if (points && (!looked || looked->cost[1] < GUIDE_COST))
        list->spec[list->count++] = guide[1];
    if (!looked || looked->cost[0] < GUIDE_COST)
        list->spec[list->count++] = guide[0];
    add(list, spec, SX_FAM_PIVOT, SX_SPLIT);
}

/* The one that is taken without a contest. */
static sx_spec favourite(const sx_spec *asked, uint64_t n, uint32_t width)
{
    sx_spec spec = {.family = SX_FAM_PIVOT, .unique = asked->unique, .place = asked->place};

    if (asked->purpose == SX_FOR_MEMORY)          /* not a byte beside keys and rows */
        spec.family = n * width <= SORTED_BYTES && asked->place != SX_PLACE_HYBRID ? SX_FAM_SORTED
                                                                                 : SX_FAM_EYTZ;
    return spec;
}

static int has_contest(const sx_device *dev, const sx_spec *asked, uint64_t n)
{
    return asked->purpose != SX_FOR_MEMORY && asked->place != SX_PLACE_HYBRID &&
           n >= sx_contest_from(dev);
}

static contenders list_all(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width,
                           uint32_t row_bytes, const seen *looked)
{
    contenders list = {0};
    sx_spec spec = {.unique = asked->unique, .place = asked->place};
    sx_spec any[2] = {guide_of(dev, spec, SX_SPLIT, width, row_bytes),
                      guide_of(dev, spec, SX_PAIRS, width, row_bytes)};
    const sx_spec *guide = looked ? looked->guide : any;

    if (!has_contest(dev, asked, n))
        list.spec[list.count++] = favourite(asked, n, width);
    else if (dev->backend->gpu)
        list_gpu(&list, spec, asked->purpose, n, width, row_bytes, looked, guide);
    else
        list_cpu(&list, spec, asked->purpose, row_bytes, looked, guide);
    return list;
}

unsigned sx_contenders(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width,
                       uint32_t row_bytes, sx_spec out[SX_CONTENDERS])
{
    contenders list = list_all(dev, asked, n, width, row_bytes, NULL);

    memcpy(out, list.spec, sizeof list.spec);
    return list.count;
}

uint64_t sx_contest_bytes(const sx_device *dev, const sx_spec *asked, uint64_t n)
{
    return has_contest(dev, asked, n) ? sx_question_bytes(dev, n) : 0;
}

/* Keys that can't be looked at, for want of memory, get no guide. */
static sx_status look(sx_device *dev, const sx_spec *asked, const sx_sorted *sorted,
                      const sx_input *in, seen *out, sx_err *err)
{
    sx_spec spec = {.unique = asked->unique, .place = asked->place};
    sx_sample *sample = NULL;
    sx_status st = sx_sample_take(&sample, dev, sorted, in, err);

    *out = (seen){.cost = {GUIDE_COST, GUIDE_COST}};
    if (st != SX_OK || !sample)
        return st == SX_ENOMEM ? SX_OK : st;
    out->repeats = sx_sample_repeats(sample, 1);
    out->in_runs = sx_sample_repeats(sample, LONG_RUN);
    for (int pairs = 1; pairs >= 0 && st == SX_OK; pairs--) {
        sx_spec guide = guide_of(dev, spec, pairs ? SX_PAIRS : SX_SPLIT, sorted->width,
                                 sorted->row_bytes);
        if (!pairs && dev->backend->gpu) {        /* what suits pairs suits arrays */
            guide.pieces = out->guide[1].pieces;
            guide.bucket = out->guide[1].bucket;
            guide.given |= out->guide[1].given & (SX_P_PIECES | SX_P_BUCKET);
            out->cost[0] = out->cost[1];
        } else {
            st = sx_sample_guide(sample, dev, &guide, sorted, UINT64_MAX, &out->cost[pairs], err);
        }
        out->guide[pairs] = guide;
    }
    sx_sample_drop(sample);
    return st;
}

/* ---- the contest ------------------------------------------------------------------ */

enum { POINTS, RANGES, KINDS };

typedef struct {
    uint64_t ns[KINDS];           /* 0: not asked */
    uint32_t concise;             /* see sx_view */
    int ran;                      /* it could be built and asked */
} result;

typedef struct {
    sx_device *dev;
    sx_store *s;                  /* whoever is there now */
    sx_sorted *sorted;
    const sx_input *in;
    sx_questions q[KINDS];
    result results[SX_CONTENDERS];
} contest;

static sx_status enter(contest *c, const sx_spec *spec, sx_err *err)
{
    sx_store *s = c->s;
    sx_status st;

    s->spec = *spec;
    st = sx_shape(&s->view, &s->spec, c->dev->backend->node_bytes, c->sorted->width,
                  c->sorted->row_bytes, c->sorted->n, err);
    s->view.distinct = c->sorted->distinct;
    if (st == SX_OK)
        st = c->dev->backend->build(c->dev->self, &s->view, c->sorted, c->in->threads, s->base,
                                    err);
    if (st != SX_OK)
        return st;
    sx_store_bind(s);
    s->view.concise = sx_usual_search(c->dev, &s->view);
    return SX_OK;
}

/* The arrays are there for the next one again. */
static void leave(contest *c)
{
    if (sx_shape_is_arrays(&c->s->view)) {
        c->sorted->keys = c->s->base[SX_SEC_KEYS];
        c->sorted->rows = c->s->base[SX_SEC_ROWS];
        c->s->base[SX_SEC_KEYS] = c->s->base[SX_SEC_ROWS] = NULL;
    }
    sx_store_drop(c->s, c->dev->backend, c->dev->self);
}

/* Lines of several levels are searched in the faster of two ways. */
static sx_status ask(contest *c, result *r, sx_err *err)
{
    sx_view *v = &c->s->view;
    int both = v->family == SX_FAM_PGM && v->levels > 1 &&
               c->dev->backend->search(c->dev->self) == SX_SEARCH_ANY;
    sx_status st = SX_OK;

    r->concise = v->concise;
    for (unsigned kind = 0; kind < KINDS && st == SX_OK; kind++)
        if (c->q[kind].points + c->q[kind].ranges > 0)
            st = sx_questions_ask(c->dev, v, c->in, &c->q[kind], &r->ns[kind], err);
    if (both && st == SX_OK && r->ns[POINTS] > 0) {
        uint64_t ns;
        v->concise = !v->concise;
        st = sx_questions_ask(c->dev, v, c->in, &c->q[POINTS], &ns, err);
        if (st == SX_OK && ns < r->ns[POINTS]) {
            r->ns[POINTS] = ns;
            r->concise = v->concise;
        }
    }
    return st;
}

/* Part of the best time that a contender took, of the kind it is worse at. */
static double score(const contest *c, unsigned count, unsigned i)
{
    double worst = 0;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        uint64_t best = UINT64_MAX;
        for (unsigned j = 0; j < count; j++)
            if (c->results[j].ran && c->results[j].ns[kind] < best)
                best = c->results[j].ns[kind];
        if (best > 0 && (double)c->results[i].ns[kind] / (double)best > worst)
            worst = (double)c->results[i].ns[kind] / (double)best;
    }
    return worst;
}

/* The best of those that could be asked; or the one that is there, if it is as good. */
static unsigned winner(const contest *c, unsigned count, unsigned there)
{
    unsigned best = count;

    for (unsigned i = 0; i < count; i++)
        if (c->results[i].ran && (best == count || score(c, count, i) < score(c, count, best)))
            best = i;
    if (best < count && there < count && c->results[there].ran &&
        score(c, count, there) <= AS_GOOD * score(c, count, best))
        return there;
    return best;
}

static void say(const contest *c, const contenders *list, uint64_t begin, sx_text *why)
{
    if (c->q[POINTS].points > 0)
        sx_text_add(why, "%u points", c->q[POINTS].points);
    if (c->q[RANGES].ranges > 0)
        sx_text_add(why, "%s%u ranges", c->q[POINTS].points ? " and " : "", c->q[RANGES].ranges);
    sx_text_add(why, " among these keys, the best of %u times:", c->q[POINTS].rounds ? c->q[POINTS].rounds : c->q[RANGES].rounds);
    for (unsigned i = 0; i < list->count; i++) {
        const result *r = &c->results[i];
        sx_text_add(why, "%s %s(", i ? ";" : "", sx_family_name(list->spec[i].family));
        if (list->spec[i].given & SX_P_EPS)
            sx_text_add(why, "eps=%u,", list->spec[i].eps);
        sx_text_add(why, "layout=%s)", list->spec[i].layout == SX_PAIRS ? "pairs" : "split");
        for (unsigned kind = 0; kind < KINDS && r->ran; kind++)
            if (r->ns[kind] > 0) {
                sx_text_add(why, kind && r->ns[POINTS] ? " and " : " took ");
                sx_text_fixed(why, (double)r->ns[kind] * 1e-3, 1);
                sx_text_add(why, " us");
            }
        if (!r->ran)
            sx_text_add(why, " had no memory");
    }
    sx_text_add(why, "; the contest took ");
    sx_text_fixed(why, (double)(sx_clock_ns() - begin) * 1e-6, 1);
    sx_text_add(why, " ms in all");
}

/* Makes the questions out of the sorted arrays. */
static sx_status make_questions(contest *c, uint32_t purpose, sx_err *err)
{
    sx_spec plain = {.family = SX_FAM_SORTED};
    unsigned points = sx_contest_points(c->dev, c->sorted->n), ranges = points / SX_POINTS_PER_RANGE;
    sx_view array;
    sx_status st = sx_shape(&array, &plain, c->dev->backend->node_bytes, c->sorted->width,
                            c->sorted->row_bytes, c->sorted->n, err);

    if (st != SX_OK)
        return st;
    sx_view_bind(&array, (const void *const[SX_SECTION_KINDS]){
                             [SX_SEC_KEYS] = c->sorted->keys, [SX_SEC_ROWS] = c->sorted->rows});
    if (purpose != SX_FOR_RANGE) {
        c->q[POINTS] = sx_contest_questions(c->dev, points, 0);
        st = sx_questions_make(c->dev, &array, c->in, &c->q[POINTS], err);
    }
    if (st == SX_OK && purpose != SX_FOR_POINT) {
        c->q[RANGES] = sx_contest_questions(c->dev, 0, ranges);
        st = sx_questions_make(c->dev, &array, c->in, &c->q[RANGES], err);
    }
    return st;
}

/* Whoever has no memory is left out. If nobody could be asked, whoever could at least be
 * built stays. */
static sx_status hold(contest *c, const contenders *list, sx_text *why, sx_err *err)
{
    uint64_t begin = sx_clock_ns();
    unsigned count = list->count, there = count, best;
    sx_status st = SX_OK;

    for (unsigned i = 0; i < count; i++) {
        if (there < count)
            leave(c);
        there = count;
        st = enter(c, &list->spec[i], err);
        if (st == SX_OK) {
            there = i;
            st = ask(c, &c->results[i], err);
            c->results[i].ran = st == SX_OK;
        }
        if (st != SX_OK && st != SX_ENOMEM)
            return st;
    }
    while ((best = winner(c, count, there)) != there) {
        if (best == count) {      /* then somebody is there, but was not asked */
            sx_text_add(why, "the usual choice; not measured, for want of memory");
            return SX_OK;
        }
        if (there < count)
            leave(c);
        there = count;
        st = enter(c, &list->spec[best], err);
        if (st == SX_OK)
            there = best;
        else if (st == SX_ENOMEM)
            c->results[best].ran = 0;
        else
            return st;
    }
    if (there == count)           /* nobody could be built */
        return st;
    c->s->view.concise = c->results[there].concise;
    say(c, list, begin, why);
    return SX_OK;
}

static void drop_questions(contest *c)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        sx_questions_drop(c->dev, &c->q[kind]);
        c->q[kind] = (sx_questions){0};
    }
}

/* Without questions there is more memory: the likeliest that can be built. */
static sx_status take_usual(contest *c, const contenders *list, sx_err *err)
{
    sx_status st = SX_ENOMEM;

    drop_questions(c);
    for (unsigned i = list->count; i-- > 0 && st == SX_ENOMEM;)
        st = enter(c, &list->spec[i], err);
    return st;
}

sx_status sx_choose(sx_device *dev, sx_store *s, const sx_spec *asked, sx_sorted *sorted,
                    const sx_input *in, sx_err *err)
{
    sx_text why = {s->why, SX_WHY_MAX, strlen(s->why)};
    contest c = {.dev = dev, .s = s, .sorted = sorted, .in = in};
    contenders list;
    seen looked = {0};
    sx_status st = SX_OK;
    int measured = 0;

    if (has_contest(dev, asked, sorted->n))
        st = look(dev, asked, sorted, in, &looked, err);
    if (st != SX_OK)
        return st;
    list = list_all(dev, asked, sorted->n, sorted->width, sorted->row_bytes, &looked);
    if (why.length)
        sx_text_add(&why, "; ");
    if (list.count > 1) {
        st = make_questions(&c, asked->purpose, err);
        measured = st == SX_OK;
    }
    if (measured)
        st = hold(&c, &list, &why, err);
    if (st == SX_ENOMEM || (st == SX_OK && !measured)) {
        measured = 0;
        st = take_usual(&c, &list, err);
    }
    if (st != SX_OK)
        sx_store_drop(s, dev->backend, dev->self);
    else if (list.count > 1 && !measured)
        sx_text_add(&why, "the usual choice; not measured, for want of memory");
    else if (asked->place == SX_PLACE_HYBRID)
        sx_text_add(&why, "the usual choice of what has a top; not measured");
    else if (asked->purpose == SX_FOR_MEMORY)
        sx_text_add(&why, "the usual choice of what takes no extra memory; not measured");
    else if (list.count == 1 && !has_contest(dev, asked, sorted->n))
        sx_text_add(&why, "the usual choice for so few keys; not measured, since a build is over "
                    "sooner");
    else if (list.count == 1)
        sx_text_add(&why, "a look at some keys left no other choice");
    drop_questions(&c);
    return st;
}
