/* epsilon.c - how wrong a pgm's segments may be, if its spec does not say it, and
 * how they are searched.
 *
 * Segments that are nearly right make short windows among the keys, but there
 * are many of them. The best eps depends on the keys and on the device's caches.
 * So segments are made for real, first with an eps that is mostly good, and asked.
 * Then eps is doubled as long as that is clearly faster; if it never is, eps is
 * halved likewise. The best so far stays while the next is made, so nothing is
 * made twice (unless the index has pairs, which candidates have not). Trying ends
 * when it has taken as long as the build took before.
 *
 * A budget says how many bytes the segments may take. The more there are, the
 * more nearly right they are, so the smallest eps that fits is the first.
 *
 * Segments are walked level by level (complete), or those of the last level are
 * searched at once (concise). The faster way is taken, measured likewise. It is
 * no part of the index: it is neither in its spec nor in its file. */
#include "choose/choose.h"
#include "choose/questions.h"

#include "base/machine.h"
#include "base/text.h"

#include <string.h>

/* Six rounds of asking may take one part in EPS_PART of the time that the build took so far,
 * as making segments takes longer. If only the way to search is wanted, it is one in
 * SEARCH_PART. */
#define EPS_PART 8
#define SEARCH_PART 128
/* Before a way to search is timed, points are asked untimed, this many times those of a
 * round. Both ways are asked in turn, this many times, of which the first does not count:
 * the one that comes first finds less in the cache. A CPU is asked other points each time. */
#define SEARCH_WARM 4u
#define SEARCH_TURNS 3u
#define SEARCH_ROUNDS (2 * SEARCH_TURNS * SX_ASK_ROUNDS)
/* A GPU is asked this many times as much, in this many sets. With less it mostly waits, and
 * both ways take equally long. */
#define SEARCH_MORE 4u
#define SEARCH_SETS 3u
/* At most this many segments are searched at once, if nobody measures. A measurement must
 * say that the other way takes less than this many 16ths of the time: a difference below
 * that is noise, and would make an index slow by chance. */
#define CONCISE_MOST 32u
#define SEARCH_16THS 15u
/* Candidates are powers of two from 2^LEAST_BIT to 2^MOST_BIT. If none of these fits a
 * budget, larger ones are tried, up to SX_EPS_MAX. */
#define LEAST_BIT 2u
#define MOST_BIT 11u
#define MAX_BIT 20u

/* A candidate: its own sections, without the keys and rows that all share. */
typedef struct {
    sx_view view;                 /* bound; n = 0: there is none */
    void *levels, *segments;
} candidate;

typedef struct {
    sx_device *dev;               /* where the index will be */
    const sx_device *of;          /* whose index it is; its name may say how to search */
    sx_spec spec;                 /* as asked */
    sx_sorted *sorted;
    const sx_input *in;
    sx_questions q;
    uint64_t space;               /* bytes for segments; UINT64_MAX: any */
    candidate best;
    unsigned duels;
    sx_text why;
} fitting;

/* ---- how segments are searched ---------------------------------------------------- */

static uint32_t usual_search(const sx_device *dev, const sx_view *v)
{
    sx_search told = dev->backend->search(dev->self);

    if (v->of.pgm.levels < 2)
        return 0;
    return told == SX_SEARCH_ANY ? v->of.pgm.level_count[v->of.pgm.levels - 1] <= CONCISE_MOST
                                 : told == SX_SEARCH_CONCISE;
}

void sx_take_usual_search(const sx_device *dev, sx_view *v)
{
    if (v->family == SX_FAM_PGM)
        v->of.pgm.concise = usual_search(dev, v);
}

static int is_told(const sx_device *dev)
{
    return dev->backend->search(dev->self) != SX_SEARCH_ANY;
}

static sx_questions trial_questions(const sx_device *dev, uint64_t ns)
{
    unsigned points = sx_question_count(dev, ns);

    return (sx_questions){.points = points, .sets = SX_TRIAL_SETS, .warm = SX_TRIAL_WARM * points};
}

/* Measures both ways to search, and takes the usual one unless the other is faster. */
static sx_status measure_search(sx_device *dev, sx_view *v, const sx_input *in, sx_questions *q,
                                sx_err *err)
{
    uint64_t best[2] = {UINT64_MAX, UINT64_MAX}, ns;
    uint32_t usual = usual_search(dev, v);
    sx_status st = SX_OK;

    for (unsigned ask = 0; ask < 2 * SEARCH_TURNS && st == SX_OK; ask++) {
        v->of.pgm.concise = ask % 2;
        st = sx_questions_ask(dev, v, in, q, &ns, err);
        if (ask >= 2 && ns < best[ask % 2])
            best[ask % 2] = ns;
    }
    v->of.pgm.concise = st == SX_OK && best[!usual] < best[usual] / 16 * SEARCH_16THS ? !usual : usual;
    return st;
}

/* For segments that are at `dev`, of an index of device `of`. */
static sx_status choose_search(sx_device *dev, const sx_device *of, sx_view *v, const sx_input *in,
                               uint64_t spent_ns, sx_err *err)
{
    unsigned points = sx_question_count(dev, spent_ns / SEARCH_PART);
    sx_questions q = {.points = points, .sets = SEARCH_ROUNDS, .warm = SEARCH_WARM * points};
    sx_status st;

    if (dev->backend->gpu)
        q = (sx_questions){.points = SEARCH_MORE * points, .sets = SEARCH_SETS};
    v->of.pgm.concise = usual_search(of, v);
    if (v->of.pgm.levels < 2 || v->n < sx_measured_from(dev) || is_told(of))
        return SX_OK;
    st = sx_questions_make(dev, v, in, &q, err);
    if (st == SX_OK)
        st = measure_search(dev, v, in, &q, err);
    sx_questions_drop(dev, &q);
    return st == SX_ENOMEM ? SX_OK : st;  /* the index is there, and stays as it is */
}

/* ---- candidates ------------------------------------------------------------------ */

static void drop_candidate(fitting *f, candidate *l)
{
    f->dev->backend->release(f->dev->self, l->levels);
    f->dev->backend->release(f->dev->self, l->segments);
    *l = (candidate){0};
}

/* The shape of a candidate. It is split, so that the sorted arrays are its keys and
 * rows, and can be taken back. */
static sx_status shape_candidate(const fitting *f, uint32_t eps, sx_view *out, sx_err *err)
{
    sx_spec spec = f->spec;
    sx_facts facts = sx_facts_of(f->sorted);

    spec.of.pgm.eps = eps;
    spec.layout = f->sorted->starts ? SX_LAYOUT_ONCE : SX_SPLIT;
    spec.given = (spec.given | SX_PGM_EPS | SX_P_LAYOUT) & ~(uint32_t)(SX_PGM_BUDGET | SX_P_BLOCK);
    return sx_shape(out, &spec, &f->dev->backend->target, &facts, err);
}

static sx_status make_candidate(fitting *f, uint32_t eps, candidate *out, sx_err *err)
{
    void *base[SX_SECTIONS] = {0};
    candidate l = {0};
    sx_status st = shape_candidate(f, eps, &l.view, err);

    if (st == SX_OK)
        st = f->dev->backend->build(f->dev->self, &l.view, f->sorted, f->in->threads, base, err);
    if (st != SX_OK)
        return st;
    sx_view_bind(&l.view, (const void *const *)base);
    sx_sorted_take_back(f->sorted, &l.view, base);
    l.levels = base[SX_SEC_LEVELS];
    l.segments = base[SX_SEC_SEGMENTS];
    *out = l;
    return SX_OK;
}

static int fits(const fitting *f, const sx_view *v)
{
    return sx_section_bytes(v, SX_SEC_SEGMENTS) <= f->space;
}

/* The smallest budget that the segments fit. */
static uint64_t kib_of(const sx_view *v)
{
    return (sx_section_bytes(v, SX_SEC_SEGMENTS) + 1023) >> 10;
}

/* Whether segments of this eps fit whatever the keys are. */
static int surely_fits(const fitting *f, uint32_t eps)
{
    sx_view v;
    sx_err err;

    if (shape_candidate(f, eps, &v, &err) != SX_OK)
        return 0;
    sx_family_of(SX_FAM_PGM)->most(&v);
    return fits(f, &v);
}

/* Makes the best candidate the one with the smallest eps from 2^low on that fits the
 * budget. A larger eps has no more segments, so each try halves the candidates. */
static sx_status fit_budget(fitting *f, unsigned low, sx_err *err)
{
    unsigned high = MAX_BIT;      /* fits, or none does */
    sx_status st = SX_OK;

    while (high > low && surely_fits(f, 1u << (high - 1)))
        high--;
    while (st == SX_OK && (low < high || f->best.view.n == 0)) {
        unsigned middle = low + (high - low) / 2;
        candidate now = {0};
        st = make_candidate(f, 1u << middle, &now, err);
        if (st == SX_OK && fits(f, &now.view)) {
            drop_candidate(f, &f->best);
            f->best = now;
            high = middle;
            continue;
        }
        if (st == SX_OK && middle == high)
            st = sx_fail(err, SX_ENOMEM, "sx_build: the segments of these keys take at least %llu "
                         "KiB (eps=%u), more than budget=%u allows",
                         (unsigned long long)kib_of(&now.view), 1u << middle, f->spec.of.pgm.budget);
        drop_candidate(f, &now);
        low = middle + 1;
    }
    return st;
}

/* ---- measuring -------------------------------------------------------------------- */

static void say_time(fitting *f, uint32_t eps, const char *took, uint64_t ns)
{
    sx_text_add(&f->why, "eps=%u %s", eps, took);
    sx_text_fixed(&f->why, (double)ns * 1e-3, 1);
    sx_text_add(&f->why, " us");
}

/* Decides how the candidate is searched. */
static sx_status search_candidate(fitting *f, candidate *l, sx_err *err)
{
    l->view.of.pgm.concise = usual_search(f->of, &l->view);
    if (is_told(f->of) || l->view.of.pgm.levels < 2)
        return SX_OK;
    return measure_search(f->dev, &l->view, f->in, &f->q, err);
}

/* Asks the best and another candidate. If the other is clearly faster, it becomes the
 * best; the loser is dropped. */
static sx_status duel(fitting *f, candidate *now, int *won, sx_err *err)
{
    uint64_t ns[2];
    sx_status st = sx_questions_ask(f->dev, &f->best.view, f->in, &f->q, &ns[0], err);

    *won = 0;
    if (st == SX_OK)
        st = sx_questions_ask(f->dev, &now->view, f->in, &f->q, &ns[1], err);
    if (st == SX_OK) {
        if (f->duels++ == 0)
            sx_text_add(&f->why, "%u points among these keys, the best of %u times: ",
                        f->q.points, SX_ASK_ROUNDS);
        say_time(f, f->best.view.of.pgm.eps, "took ", ns[0]);
        sx_text_add(&f->why, " and ");
        say_time(f, now->view.of.pgm.eps, "", ns[1]);
        sx_text_add(&f->why, "; ");
        *won = sx_clearly_less(ns[1], ns[0]);
    }
    if (*won) {
        candidate before = f->best;
        f->best = *now;
        *now = before;
    }
    drop_candidate(f, now);
    return st;
}

/* Goes on to twice eps, or half of it, as long as that wins. After `end` only the first
 * try is made. */
static sx_status climb(fitting *f, int up, uint64_t end, unsigned *steps, sx_err *err)
{
    int won = 1;
    sx_status st = SX_OK;

    while (won && st == SX_OK) {
        uint64_t eps = up ? 2 * (uint64_t)f->best.view.of.pgm.eps : f->best.view.of.pgm.eps / 2;
        candidate now = {0};
        if (eps < 1u << LEAST_BIT || eps > 1u << MOST_BIT || (f->duels > 0 && sx_clock_ns() > end))
            return SX_OK;
        st = make_candidate(f, (uint32_t)eps, &now, err);
        if (st == SX_OK && !fits(f, &now.view)) {
            drop_candidate(f, &now);
            return SX_OK;
        }
        if (st == SX_OK)
            st = search_candidate(f, &now, err);
        if (st == SX_OK)
            st = duel(f, &now, &won, err);
        else
            drop_candidate(f, &now);
        *steps += st == SX_OK && won;
    }
    return st == SX_ENOMEM ? SX_OK : st;  /* the best is there, and stays */
}

/* Looks for a candidate that is better than the best so far. */
static sx_status improve(fitting *f, uint64_t spent_ns, sx_err *err)
{
    uint64_t begin = sx_clock_ns();
    unsigned steps = 0;
    sx_status st;

    f->q = trial_questions(f->dev, spent_ns / EPS_PART);
    st = sx_questions_make(f->dev, &f->best.view, f->in, &f->q, err);
    if (st == SX_OK)
        st = search_candidate(f, &f->best, err);
    if (st == SX_ENOMEM) {                /* for making questions, or for asking them */
        f->best.view.of.pgm.concise = usual_search(f->of, &f->best.view);
        sx_text_add(&f->why, "eps=%u; not measured, for want of memory", f->best.view.of.pgm.eps);
        return SX_OK;
    }
    if (st == SX_OK)
        st = climb(f, 1, begin + spent_ns, &steps, err);
    if (st == SX_OK && steps == 0 && f->space == UINT64_MAX)
        st = climb(f, 0, begin + spent_ns, &steps, err);
    sx_text_add(&f->why, "%s eps=%u; trying took ", f->duels ? "so" : "no other was tried than",
                f->best.view.of.pgm.eps);
    sx_text_fixed(&f->why, (double)(sx_clock_ns() - begin) * 1e-6, 1);
    sx_text_add(&f->why, " ms in all");
    return st;
}

/* Finds eps. The best candidate is there afterwards, unless a rule decided. */
static sx_status find_eps(fitting *f, uint32_t *eps, uint64_t spent_ns, sx_err *err)
{
    int few = f->sorted->n < sx_measured_from(f->dev);
    uint64_t begin = sx_clock_ns();
    unsigned first = f->dev->backend->gpu ? 3 : 4;       /* 8, 16 */
    sx_status st = SX_OK;

    *eps = 1u << first;
    if (f->sorted->n == 0)
        return SX_OK;
    if (few && f->space == UINT64_MAX) {
        sx_text_add(&f->why, "the usual eps for so few keys; not measured, since a build is over "
                    "sooner");
        return SX_OK;
    }
    if (f->space != UINT64_MAX)
        st = fit_budget(f, few ? first : LEAST_BIT, err);
    else
        st = make_candidate(f, *eps, &f->best, err);
    if (st != SX_OK)
        return st;
    if (f->space != UINT64_MAX)
        sx_text_add(&f->why, "eps=%u is the smallest that fits budget=%u%s", f->best.view.of.pgm.eps,
                    f->spec.of.pgm.budget, few ? ", from the usual one on; not measured for so few keys"
                                        : "; ");
    if (few)
        f->best.view.of.pgm.concise = usual_search(f->of, &f->best.view);
    else
        st = improve(f, spent_ns + (sx_clock_ns() - begin), err);
    *eps = f->best.view.of.pgm.eps;
    return st;
}

/* ---- building ---------------------------------------------------------------------- */

/* Makes the best candidate the index, if it has the index's layout. */
static int keep_best(fitting *f, sx_store *s)
{
    if (f->best.view.n == 0 || !sx_section_stays(&s->view, SX_SEC_KEYS))
        return 0;
    s->view = f->best.view;
    sx_sorted_give(f->sorted, &s->view, s->base);
    s->base[SX_SEC_LEVELS] = f->best.levels;
    s->base[SX_SEC_SEGMENTS] = f->best.segments;
    f->best = (candidate){0};
    return 1;
}

sx_status sx_build_pgm(const sx_site *site, sx_store *s, sx_sorted *sorted, const sx_input *in,
                       uint64_t spent_ns, sx_err *err)
{
    sx_device *dev = site->at;
    fitting f = {.dev = dev, .spec = s->spec, .sorted = sorted, .in = in, .space = UINT64_MAX,
                 .of = site->of, .why = {s->why, SX_WHY_MAX, strlen(s->why)}};
    sx_facts facts = sx_facts_of(sorted);
    sx_status st = SX_OK;

    if (s->spec.given & SX_PGM_BUDGET)
        f.space = (uint64_t)s->spec.of.pgm.budget << 10;
    if (!(s->spec.given & SX_PGM_EPS))
        st = find_eps(&f, &s->spec.of.pgm.eps, spent_ns, err);
    s->spec.given |= SX_PGM_EPS;
    if (st == SX_OK)
        st = sx_shape(&s->view, &s->spec, &dev->backend->target, &facts, err);
    if (st == SX_OK && !keep_best(&f, s)) {
        uint32_t levels = f.best.view.of.pgm.levels, concise = f.best.view.of.pgm.concise;
        drop_candidate(&f, &f.best);
        st = dev->backend->build(dev->self, &s->view, sorted, in->threads, s->base, err);
        if (st == SX_OK) {
            sx_store_bind(s);
            s->view.of.pgm.concise = concise;
            if (levels == 0)              /* nothing was measured yet */
                st = choose_search(dev, site->of, &s->view, in, spent_ns, err);
            if (st != SX_OK)
                sx_store_drop(s, dev->backend, dev->self);
        }
    }
    drop_candidate(&f, &f.best);
    sx_questions_drop(dev, &f.q);
    return st;
}

/* ---- beforehand --------------------------------------------------------------------- */

/* Raises *most to the bounds of one eps. */
static sx_status add_bounds(sx_device *at, sx_spec spec, uint32_t width, uint32_t row_bytes,
                            uint64_t n, uint64_t space, sx_bounds *most, sx_err *err)
{
    sx_store store = {0};
    sx_facts facts = {.n = n, .ranks = n, .width = width, .row_bytes = row_bytes};
    sx_status st = sx_shape(&store.view, &spec, &at->backend->target, &facts, err);

    if (st != SX_OK || n == 0)
        return st;
    sx_family_of(SX_FAM_PGM)->most(&store.view);
    uint64_t all = sx_section_bytes(&store.view, SX_SEC_SEGMENTS);
    uint64_t over = all > space ? all - space : 0;
    uint64_t resident = sx_store_bytes(&store) - over, top = sx_upper_block_bytes(&store.view) - over;
    uint64_t peak = at->backend->build_peak(at->self, &store.view);
    most->resident = resident > most->resident ? resident : most->resident;
    most->top = top > most->top ? top : most->top;
    most->peak = peak > most->peak ? peak : most->peak;
    most->segments = all > most->segments ? all : most->segments;
    return SX_OK;
}

sx_status sx_bound_pgm(sx_device *at, const sx_spec *asked, uint32_t width, uint32_t row_bytes,
                       uint64_t n, sx_bounds *out, sx_err *err)
{
    uint64_t space = asked->given & SX_PGM_BUDGET ? (uint64_t)asked->of.pgm.budget << 10 : UINT64_MAX;
    unsigned bits = asked->given & SX_PGM_EPS ? LEAST_BIT : MAX_BIT;
    sx_bounds most = {0};
    sx_status st = SX_OK;

    for (unsigned bit = LEAST_BIT; bit <= bits && st == SX_OK; bit++) {
        sx_spec spec = *asked;
        if (!(asked->given & SX_PGM_EPS))
            spec.of.pgm.eps = 1u << bit;
        spec.given |= SX_PGM_EPS;
        st = add_bounds(at, spec, width, row_bytes, n, space, &most, err);
        spec.of.pgm.cuts = 1;                    /* as one thread cuts them */
        if (st == SX_OK && !(asked->given & SX_PGM_CUTS)) {
            spec.given |= SX_PGM_CUTS;
            st = add_bounds(at, spec, width, row_bytes, n, space, &most, err);
        }
    }
    if (!(asked->given & SX_PGM_EPS))       /* the best stays while another is tried */
        most.peak += most.segments + SX_PGM_LEVELS * sizeof(uint64_t);
    if (n >= sx_measured_from(at))
        most.peak += sx_question_bytes(at, n);
    *out = most;
    return st;
}
