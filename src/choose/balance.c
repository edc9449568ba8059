/* balance.c - tries a hybrid index: how its two sides share the levels of the upper part and the
 * queries of a batch, whether it is faster with its GPU than without, and from which batch on.
 *
 * The CPU walks D levels, for a part R of the queries one more, and the GPU the rest of L. With
 * C_i and G_i for what level i takes the CPU and the GPU, and E for what is below the upper part,
 * a query takes (equation 4 of the paper on HB+)
 *
 *     max( E + C_0 + ... + C_(D-1) + R C_D ,  (1 - R) G_D + G_(D+1) + ... + G_(L-1) )
 *
 * The first grows with D + R and the second shrinks, so the least is where they cross. The paper's
 * algorithm finds it: one level more for the CPU as long as the GPU takes longer, and then R by
 * halves, in steps of 1/32. (Its prose uses R for the other part of a bucket. The equation and the
 * algorithm agree, and we follow these.)
 *
 *     D + R     0 ----- 1 ----- 2 ----- 3            levels of the CPU
 *     slower   GPU     GPU     CPU                   so D is 1
 *                         GPU CPU                    and R is between 1/4 and 1/2, ...
 *
 * Levels that are in the CPU's caches cost it much and spare the GPU little. So there is a third
 * number: a part S of a batch that the CPU answers alone, which takes it A a query. With C and G
 * for what both sides take a query at D, R = 0, that is
 *
 *     max( (1 - S) C + S A ,  (1 - S) G )            equal at  S = (G - C) / (G - C + A)
 *
 *     S          0 ---------- s ---------- 1
 *     G - C    G - C                       -A        s: where the line between them is 0
 *
 * The trials of D have C and G of every D that is worth it, so the best D for S is known without
 * more of them. One at the s above says how far from even the sides really are, the line through
 * it gives the next s, and so on. R and S are not combined. R mixes two ways to answer, D and D + 1;
 * S mixes D and the CPU alone. Of three ways, two of them mixed are as fast as any mix.
 *
 * A trial is a call like any other. The times of both sides are taken while they work beside each
 * other, as they share the host's memory. The fastest with an S, the fastest without and the plain
 * hybrid are called in turns, and the best of these has to win against the CPU alone. */
#include "choose/probe.h"

#include "base/machine.h"

/* Trials have the questions of a few buckets, up to SX_TRIAL_QUESTIONS. */
#define TRIAL_BUCKETS 8u
/* Calls of a trial while a balance is sought; the best counts. */
#define SEARCH_CALLS 2u
/* Calls in turns with others. There are more of them while their gain is near 1: the host's speed
 * moves by a tenth from one moment to another, and only calls beside each other have the same. */
#define TURNS 3u
#define TURNS_MOST 9u
#define DOUBT 1.25
/* R is found in steps of this. */
#define SHARE_STEP (SX_SHARE_ALL / 32)
/* An S is not tried beside one that is nearer than this. It moves more than R does: a query of the
 * CPU alone costs it all levels, and spares the GPU all. */
#define OWN_STEP (SX_SHARE_ALL / 64)
#define OWN_TRIALS 4u

typedef struct {
    sx_index_version *now;
    const sx_probe *q;
    sx_cost *cost;                /* what is known so far */
    uint32_t levels;
    uint64_t at;                  /* where the next questions begin: each call has others */
    unsigned columns;             /* 1: gets; 2: ranges of one key, both ends with entries */
} trying;

static const sx_balance plain = {0, 0, 0};

/* ---- one call ---------------------------------------------------------------------- */

typedef struct {
    const sx_plan *plan;
    const sx_lookup *job;
} part;

static sx_status answer_part(void *work, uint64_t at, uint64_t n, const sx_help *help,
                             sx_err *err)
{
    const part *w = work;
    const sx_device *host = w->plan->by->dev;
    sx_views views = sx_plan_views(w->plan);
    sx_lookup job = *w->job;

    job.n = n;
    job.q = sx_slice_part(&job.q, at, at + n);
    job.out = sx_slice_part(&job.out, at, at + n);
    job.entry = help->entry[0];
    job.how.beside = help->beside;
    return host->backend->lookup(host->self, &views, &job, err);
}

/* The same of ranges that begin and end with the keys asked for. */
static sx_status count_part(void *work, uint64_t at, uint64_t n, const sx_help *help,
                            sx_err *err)
{
    const part *w = work;
    const sx_device *host = w->plan->by->dev;
    sx_views views = sx_plan_views(w->plan);
    sx_slice ends = sx_slice_part(&w->job->q, at, at + n);
    sx_span_query job = {.key_type = w->job->key_type, .n = n, .lo = ends, .hi = ends,
                         .limit = UINT64_MAX, .entry_lo = help->entry[0], .entry_hi = help->entry[1],
                         .how.beside = help->beside};
    sx_spans to = {.n = n, .first = (uint64_t *)w->job->out.data + at};

    return host->backend->spans(host->self, &views, &job, &to, err);
}

static sx_batch batch_of(const trying *t, uint64_t n)
{
    return (sx_batch){.n = n, .in_bytes = t->columns * (uint32_t)sx_type_bytes(t->q->key_type),
                      .out_bytes = 8, .searches = t->columns, .trips = 1};
}

/* What a question of n takes. balance NULL: the CPU alone. The better of this and *best stays. */
static sx_status call_once(trying *t, uint64_t n, const sx_balance *balance, sx_trial *best,
                           sx_err *err)
{
    sx_batch b = batch_of(t, n);
    sx_lookup get = sx_probe_get(t->q);
    sx_entered ask = {.key_type = t->q->key_type, .columns = t->columns,
                      .side = {SX_LEFT, SX_RIGHT}};
    sx_sides took = {0, 0};
    sx_plan plan;
    part w = {&plan, &get};
    uint64_t begin, ns;
    double each;
    sx_status st;

    if (t->at + n > t->q->n)
        t->at = 0;
    get.n = n;
    ask.q[0] = ask.q[1] = get.q = sx_slice_part(&get.q, t->at, t->at + n);
    t->at += n;
    t->now->cost = *t->cost;
    t->now->cost.side = balance ? SX_SIDE_GPU : SX_SIDE_CPU;
    t->now->cost.entries.balance = balance ? *balance : plain;
    begin = sx_clock_ns();
    plan = sx_plan_of(t->now, &b, 1, get.q.data, get.out.data);
    st = sx_hybrid_run(&plan, &ask, n, t->columns > 1 ? count_part : answer_part, &w, &took, err);
    ns = sx_clock_ns() - begin;
    if (ns < took.gpu_ns)         /* a call is not over before either side is */
        ns = took.gpu_ns;
    each = (double)(ns ? ns : 1) / (double)n;
    if (st == SX_OK && (best->ns == 0 || each < best->ns))
        *best = (sx_trial){balance ? *balance : plain, each, (double)took.cpu_ns / (double)n,
                           (double)took.gpu_ns / (double)n};
    return st;
}

/* ---- the balance -------------------------------------------------------------------- */

/* A trial of the search, which is written down: *is. *best becomes the better one. */
static sx_status sample(trying *t, const sx_balance *balance, sx_trial *best, sx_trial *is,
                        sx_err *err)
{
    sx_cost_entries *e = &t->cost->entries;
    sx_status st = SX_OK;

    *is = (sx_trial){.ns = 0};
    for (unsigned i = 0; i < SEARCH_CALLS && st == SX_OK; i++)
        st = call_once(t, t->q->n, balance, is, err);
    if (st != SX_OK)
        return st;
    if (best->ns == 0 || is->ns < best->ns)
        *best = *is;
    if (e->trials < SX_TRIALS_MOST)
        e->trial[e->trials++] = *is;
    return SX_OK;
}

static int gpu_is_slower(const sx_trial *x)
{
    return x->gpu_ns > x->cpu_ns;
}

/* D and R, where the GPU is slower at D, R = 0. All levels are the CPU alone, which has nothing to
 * wait for. */
static sx_status find_levels(trying *t, sx_trial *best, sx_err *err)
{
    uint32_t depth = 0, below = 0, above = SX_SHARE_ALL;  /* parts: the GPU is slower, it is not */
    sx_trial is;
    sx_status st = SX_OK;

    while (st == SX_OK && depth + 1 < t->levels) {
        st = sample(t, &(sx_balance){depth + 1, 0, 0}, best, &is, err);
        if (!gpu_is_slower(&is))
            break;
        depth++;
    }
    while (st == SX_OK && t->levels > 0 && above - below > SHARE_STEP) {
        uint32_t share = below + (above - below) / 2;
        st = sample(t, &(sx_balance){depth, share, 0}, best, &is, err);
        if (gpu_is_slower(&is))
            below = share;
        else
            above = share;
    }
    return st;
}

/* How long the CPU waits. `from` is a trial without S in which the GPU was slower. That call took some
 * more than the GPU's side, as the last entries are answered when all are made, and so does this. */
static double waits_ns(const sx_trial *from, const sx_trial *x)
{
    return x->gpu_ns * (from->ns / from->gpu_ns) - x->cpu_ns;
}

/* What a query would take with S, by a trial without; *own: that S. */
static double foresee(const sx_trial *x, double alone, double *own)
{
    double over = waits_ns(x, x);

    *own = over / (over + alone);
    return (1 - *own) * x->ns;
}

/* The D for S, by the trials that were; NULL: no S would be faster than `than`. */
static const sx_trial *depth_for_own(const sx_cost_entries *e, double alone, double than,
                                     double *own)
{
    const sx_trial *best = NULL;

    for (uint32_t i = 0; i < e->trials; i++) {
        const sx_trial *x = &e->trial[i];
        double its, ns;
        if (x->balance.share > 0 || x->balance.own > 0 || !gpu_is_slower(x))
            continue;
        ns = foresee(x, alone, &its);
        if (ns < than) {
            best = x;
            than = ns;
            *own = its;
        }
    }
    return best;
}

/* S, where the GPU is slower without. Others that were tried took `than`. */
static sx_status find_own(trying *t, double than, sx_trial *best, sx_err *err)
{
    sx_trial alone = {.ns = 0}, from, is;
    const sx_trial *x;
    double own = 0, fell;
    uint32_t before = 0;
    sx_status st = SX_OK;

    for (unsigned i = 0; i < SEARCH_CALLS && st == SX_OK; i++)
        st = call_once(t, t->q->n, NULL, &alone, err);
    x = st == SX_OK ? depth_for_own(&t->cost->entries, alone.cpu_ns, than, &own) : NULL;
    if (!x)
        return st;
    from = *x;
    for (unsigned i = 0; i < OWN_TRIALS && st == SX_OK; i++) {
        double most = (double)(SX_SHARE_ALL - OWN_STEP);
        double share = own * SX_SHARE_ALL < most ? own * SX_SHARE_ALL + 0.5 : most;
        sx_balance b = {from.balance.depth, 0, (uint32_t)share};
        uint32_t moved = b.own > before ? b.own - before : before - b.own;
        if (b.own == 0 || (i > 0 && moved < OWN_STEP))
            break;
        st = sample(t, &b, best, &is, err);
        before = b.own;
        /* Where the line from S = 0 through this trial is 0. One that does not fall is noise. */
        fell = waits_ns(&from, &from) - waits_ns(&from, &is);
        if (fell <= 0)
            break;
        own = (double)b.own / SX_SHARE_ALL * waits_ns(&from, &from) / fell;
    }
    return st;
}

/* The fastest without an S and, if there is one, with an S. */
static sx_status discover(trying *t, sx_balance found[2], sx_err *err)
{
    sx_trial shared = {.ns = 0}, own = {.ns = 0}, is;
    sx_trial warm_up = {.ns = 0}; /* takes what is kept for later calls */
    int slower;                   /* the GPU; otherwise more work for the CPU makes it slower */
    sx_status st = call_once(t, t->q->n, &plain, &warm_up, err);

    if (st == SX_OK)
        st = sample(t, &plain, &shared, &is, err);
    slower = st == SX_OK && gpu_is_slower(&is);
    if (slower)
        st = find_levels(t, &shared, err);
    if (slower && st == SX_OK)
        st = find_own(t, shared.ns, &own, err);
    found[0] = shared.balance;
    found[1] = own.ns > 0 ? own.balance : shared.balance;
    return st;
}

/* ---- whether it pays ----------------------------------------------------------------- */

static int same(const sx_balance *a, const sx_balance *b)
{
    return a->depth == b->depth && a->share == b->share && a->own == b->own;
}

/* Calls of n questions without and with entries, in turns. *gain: how many times as fast they are
 * with entries, the median of the turns. alone and with are the best of each. */
static sx_status take_turns(trying *t, uint64_t n, const sx_balance *balance, sx_trial *alone,
                            sx_trial *with, double *gain, sx_err *err)
{
    double sorted[TURNS_MOST];
    unsigned turns = 0;
    sx_status st = SX_OK;

    *alone = *with = (sx_trial){.ns = 0};
    do {
        sx_trial one = {.ns = 0}, other = {.ns = 0};
        unsigned at = turns;
        st = call_once(t, n, NULL, &one, err);
        if (st == SX_OK)
            st = call_once(t, n, balance, &other, err);
        if (st != SX_OK)
            return st;
        if (turns == 0 || one.ns < alone->ns)
            *alone = one;
        if (turns == 0 || other.ns < with->ns)
            *with = other;
        for (; at > 0 && sorted[at - 1] > one.ns / other.ns; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = one.ns / other.ns;
        *gain = sorted[turns / 2];
        turns++;
    } while (turns < TURNS || (turns < TURNS_MOST && *gain > 1 / DOUBT && *gain < DOUBT));
    return SX_OK;
}

/* The balances found and, if that is in question, the plain hybrid, in turns: the best one. Of
 * equal ones it is that with less for the CPU. */
static sx_status take_better(trying *t, const sx_balance found[2], int or_plain, sx_trial *better,
                             sx_err *err)
{
    const sx_balance *of[] = {&plain, &found[0], &found[1]};
    sx_trial took[3] = {{.ns = 0}, {.ns = 0}, {.ns = 0}};
    int asked[] = {or_plain && !(same(&found[0], &plain) && same(&found[1], &plain)), 1,
                   !same(&found[1], &found[0])};
    sx_status st = SX_OK;

    asked[1] = !asked[0] || !same(&found[0], &plain);
    for (unsigned i = 0; i < 3 * TURNS && st == SX_OK; i++)
        if (asked[i % 3])
            st = call_once(t, t->q->n, of[i % 3], &took[i % 3], err);
    t->cost->entries.plain = took[0];
    *better = took[0];
    for (unsigned i = 1; i < 3; i++)
        if (asked[i] && (better->ns == 0 || took[i].ns < better->ns))
            *better = took[i];
    return st;
}

/* The better balance, unless it is told, and what it gains. A device whose name says that the GPU
 * helps does not ask whether it pays. */
static sx_status take_best(trying *t, const sx_balance found[2], int told, sx_err *err)
{
    sx_cost_entries *e = &t->cost->entries;
    sx_trial alone = {.ns = 0}, with = {.balance = found[0]};
    double gain = 0;
    sx_status st = SX_OK;

    if (!told || t->cost->side)
        st = take_better(t, found, !told, &with, err);
    if (st == SX_OK && !t->cost->side) {
        sx_balance balance = with.balance;
        st = take_turns(t, t->q->n, &balance, &alone, &with, &gain, err);
    }
    if (st != SX_OK)
        return st;
    e->balance = with.balance;
    e->best = with;
    e->alone_ns = alone.ns;
    if (gain > 0)
        e->gain = gain;
    return SX_OK;
}

/* The smallest batch that gains, by halves: from the trials' down, as long as trials say so. The
 * model is not asked. It takes the GPU's side from calls that nothing else goes on beside, and
 * where the GPU has few blocks they take three times as long. */
static sx_status find_least(trying *t, uint64_t bucket, sx_err *err)
{
    sx_cost_entries *e = &t->cost->entries;
    sx_balance balance = e->balance;
    sx_trial alone, with;
    double gain = SX_LEAST_GAIN;
    sx_status st = SX_OK;

    e->least = t->q->n;
    while (st == SX_OK && gain >= SX_LEAST_GAIN && e->least / 2 >= sx_bucket_least(bucket, 1)) {
        st = take_turns(t, e->least / 2, &balance, &alone, &with, &gain, err);
        if (st == SX_OK && gain >= SX_LEAST_GAIN)
            e->least /= 2;
    }
    return st;
}

/* Whether entries pay for ranges, too. The second search of a range mostly finds its lines in the
 * cache, so they gain less than gets do. */
static sx_status try_ranges(trying *t, sx_err *err)
{
    sx_balance balance = t->cost->entries.balance;
    sx_trial alone, with;
    sx_status st;

    t->columns = 2;
    st = take_turns(t, t->q->n, &balance, &alone, &with, &t->cost->entries.range_gain, err);
    t->columns = 1;
    return st;
}

/* The balance, unless the device's name says it; numbers of it; and whether entries pay. */
static sx_status try_all(trying *t, const sx_replica *upper, const sx_replica *here,
                         uint64_t bucket, sx_err *err)
{
    sx_cost *c = t->cost;
    sx_balance before = c->entries.balance, found[] = {before, before};
    int told = c->travel.balanced;
    sx_status st = told ? SX_OK : discover(t, found, err);

    if (st == SX_OK)
        st = take_best(t, found, told, err);
    if (st == SX_OK && !same(&c->entries.balance, &before))
        st = sx_measure_entries(upper, here, t->q, c, err);
    if (st == SX_OK && !c->side && c->entries.gain >= SX_LEAST_GAIN)
        st = find_least(t, bucket, err);
    if (st == SX_OK && !c->side && c->entries.gain >= SX_LEAST_GAIN)
        st = try_ranges(t, err);
    return st;
}

/* An index of fewer keys than the trial has questions is in the host's caches, where entries
 * gain nothing. */
sx_status sx_try_entries(sx_index_version *now, const sx_replica *upper, const sx_replica *here,
                         sx_cost *c, sx_err *err)
{
    uint64_t bucket = now->dev->backend->bucket(now->dev->self);
    sx_probe q = {.n = bucket < SX_TRIAL_QUESTIONS / TRIAL_BUCKETS ? TRIAL_BUCKETS * bucket
                                                                   : SX_TRIAL_QUESTIONS};
    sx_cost before = now->cost, tried = *c;
    trying t = {now, &q, &tried, sx_shared_levels(upper, here), 0, 1};
    sx_status st;

    if (q.n > now->n) {
        c->entries.gain = 1;
        return SX_OK;
    }
    q.of_gpu = q.n < c->travel.sample ? q.n : c->travel.sample;
    st = sx_probe_make(here, sx_probe_type(now), &q, err);
    if (st == SX_OK)
        st = try_all(&t, upper, here, bucket, err);
    if (st == SX_OK)
        *c = tried;
    now->cost = before;
    sx_probe_drop(&q);
    sx_hybrid_rest(now->dev);
    return st == SX_ENOMEM ? SX_OK : st;  /* not tried: then the model says */
}
