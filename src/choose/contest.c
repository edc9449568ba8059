/* contest.c - finds the fastest of several specs, on the real keys at their real number.
 *
 * Each is built, asked the kind of questions to come, and dropped again; the fastest becomes
 * the index. Only one of them is there at a time, beside the sorted arrays that all are
 * made of, so a contest takes no more memory than its largest contender. The likeliest
 * winner comes last, so that mostly nothing is built twice.
 *
 * Points and ranges are asked apart, and each time is compared with the best one for the
 * same kind. Where both kinds matter, a contender is as good as the worse of its two. */
#include "choose/choose.h"
#include "choose/questions.h"

#include "base/machine.h"

/* A contender this close to the best is as good: timings are noisy. */
#define AS_GOOD 1.03

enum { POINTS, RANGES, KINDS };

typedef struct {
    uint64_t ns[KINDS];           /* 0: not asked */
    uint32_t concise;             /* see sx_view */
    int ran;                      /* it could be built and asked */
} result;

typedef struct {
    sx_device *dev;
    sx_store *s;                  /* the contender that is there now */
    sx_sorted *sorted;
    const sx_input *in;
    sx_questions q[KINDS];
    result results[SX_CONTENDERS];
} contest;

sx_status sx_contender_build(sx_device *dev, sx_store *s, const sx_spec *spec, sx_sorted *sorted,
                             const sx_input *in, sx_err *err)
{
    sx_facts facts = sx_facts_of(sorted);
    sx_status st;

    s->spec = *spec;
    st = sx_shape(&s->view, &s->spec, &dev->backend->target, &facts, err);
    if (st == SX_OK)
        st = dev->backend->build(dev->self, &s->view, sorted, in->threads, s->base, err);
    if (st != SX_OK)
        return st;
    sx_store_bind(s);
    sx_take_usual_search(dev, &s->view);
    return SX_OK;
}

static sx_status enter(contest *c, const sx_spec *spec, sx_err *err)
{
    return sx_contender_build(c->dev, c->s, spec, c->sorted, c->in, err);
}

/* Takes the arrays back for the next contender. */
static void leave(contest *c)
{
    sx_sorted_take_back(c->sorted, &c->s->view, c->s->base);
    sx_store_drop(c->s, c->dev->backend, c->dev->self);
}

/* A pgm of several levels is searched in the faster of two ways. */
static sx_status ask(contest *c, result *r, sx_err *err)
{
    sx_view *v = &c->s->view;
    int both = v->family == SX_FAM_PGM && v->of.pgm.levels > 1 &&
               c->dev->backend->search(c->dev->self) == SX_SEARCH_ANY;
    sx_status st = SX_OK;

    r->concise = v->family == SX_FAM_PGM ? v->of.pgm.concise : 0;
    for (unsigned kind = 0; kind < KINDS && st == SX_OK; kind++)
        if (c->q[kind].points + c->q[kind].ranges > 0)
            st = sx_questions_ask(c->dev, v, c->in, &c->q[kind], &r->ns[kind], err);
    if (both && st == SX_OK && r->ns[POINTS] > 0) {
        uint64_t ns;
        v->of.pgm.concise = !v->of.pgm.concise;
        st = sx_questions_ask(c->dev, v, c->in, &c->q[POINTS], &ns, err);
        if (st == SX_OK && ns < r->ns[POINTS]) {
            r->ns[POINTS] = ns;
            r->concise = v->of.pgm.concise;
        }
    }
    return st;
}

/* A contender's time over the best time, for the kind of questions where that is larger. */
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

/* The best of those that were asked; or the one that is there, if it is as good. */
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

static const char *const layout_words[] = {
    [SX_SPLIT] = "split", [SX_PAIRS] = "pairs", [SX_LAYOUT_ONCE] = "once",
};

static void say(const contest *c, const sx_contenders *list, uint64_t begin, sx_text *why)
{
    if (c->q[POINTS].points > 0)
        sx_text_add(why, "%u points", c->q[POINTS].points);
    if (c->q[RANGES].ranges > 0)
        sx_text_add(why, "%s%u ranges", c->q[POINTS].points ? " and " : "", c->q[RANGES].ranges);
    sx_text_add(why, " among these keys, the best of %u times:", c->q[POINTS].rounds ? c->q[POINTS].rounds : c->q[RANGES].rounds);
    for (unsigned i = 0; i < list->count; i++) {
        const result *r = &c->results[i];
        sx_text_add(why, "%s %s(", i ? ";" : "", sx_family_of(list->spec[i].family)->name);
        if (list->spec[i].family == SX_FAM_PGM && (list->spec[i].given & SX_PGM_EPS))
            sx_text_add(why, "eps=%u,", list->spec[i].of.pgm.eps);
        sx_text_add(why, "layout=%s)", layout_words[list->spec[i].layout]);
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
    sx_spec plain = {.family = SX_FAM_SORTED, .given = SX_P_LAYOUT,
                     .layout = c->sorted->starts ? SX_LAYOUT_ONCE : SX_SPLIT};
    sx_facts facts = sx_facts_of(c->sorted);
    unsigned points = sx_contest_points(c->sorted->n), ranges = points / SX_POINTS_PER_RANGE;
    sx_view array;
    sx_status st = sx_shape(&array, &plain, &c->dev->backend->target, &facts, err);

    if (st != SX_OK)
        return st;
    sx_view_bind(&array, (const void *const[SX_SECTIONS]){
                             [SX_SEC_KEYS] = c->sorted->keys, [SX_SEC_ROWS] = c->sorted->rows,
                             [SX_SEC_STARTS] = c->sorted->starts});
    if (purpose != SX_FOR_RANGE) {
        c->q[POINTS] = sx_contest_questions(points, 0);
        st = sx_questions_make(c->dev, &array, c->in, &c->q[POINTS], err);
    }
    if (st == SX_OK && purpose != SX_FOR_POINT) {
        c->q[RANGES] = sx_contest_questions(0, ranges);
        st = sx_questions_make(c->dev, &array, c->in, &c->q[RANGES], err);
    }
    return st;
}

/* A contender without enough memory is left out. If none could be asked, one that could at
 * least be built stays. */
static sx_status hold(contest *c, const sx_contenders *list, sx_text *why, sx_err *err)
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
        if (best == count) {      /* then one is there, but none was asked */
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
    if (c->s->view.family == SX_FAM_PGM && c->results[there].ran)
        c->s->view.of.pgm.concise = c->results[there].concise;
    say(c, list, begin, why);
    return SX_OK;
}

sx_status sx_contest(sx_device *dev, sx_store *s, uint32_t purpose, const sx_contenders *list,
                     sx_sorted *sorted, const sx_input *in, sx_text *why, sx_err *err)
{
    contest c = {.dev = dev, .s = s, .sorted = sorted, .in = in};
    sx_status st = make_questions(&c, purpose, err);

    if (st == SX_OK)
        st = hold(&c, list, why, err);
    for (unsigned kind = 0; kind < KINDS; kind++)
        sx_questions_drop(dev, &c.q[kind]);
    return st;
}
