/* cost_measure.c - measures the numbers of the model (cost.h): of the way to a device, once
 * while it is open, and of an index, when it is built.
 *
 * Most times are medians of a few, as calls to come will take. A lack of memory is no
 * failure: then numbers are the usual ones. */
#include "choose/probe.h"

#include "base/alloc.h"
#include "base/machine.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define TIMES 7u
/* No time is 0, whatever the clock says. */
#define LEAST 1e-4
/* An index of fewer keys is not measured: its build is over sooner. */
#define MEASURED_FROM 8192u
/* An index is asked one question for this many keys. */
#define KEYS_PER_QUESTION 16u
#define QUESTIONS (1u << 18)      /* at most, unless a pool needs more */
/* A chunk has at least this many questions more than a batch without copies, so that the
 * batches measured in between differ. */
#define LONGER 81u
/* Questions that one thread of a CPU is asked at once. */
#define ALONE 2048u
/* Questions that all its threads are asked at most: two shares for each of 32. */
#define POOLED_MOST (1u << 17)
/* Questions that a GPU is asked from the host, to see how long a walk is. */
#define FEW 32u

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static double median(uint64_t ns[TIMES])
{
    qsort(ns, TIMES, sizeof *ns, ascending);
    return (double)ns[TIMES / 2];
}

/* (time - without) / parts, but above 0. */
static double part_of(double time, double without, double parts)
{
    double each = (time - without) / parts;

    return each > LEAST ? each : LEAST;
}

/* What a call takes. One call before is not timed: it warms up. */
static sx_status time_lookup(const sx_device *dev, const sx_view *v, const sx_lookup *job,
                             double *ns, sx_err *err)
{
    uint64_t all[TIMES];
    sx_status st = dev->backend->lookup(dev->self, SX_ONE_VIEW(v), job, err);

    for (unsigned i = 0; i < TIMES && st == SX_OK; i++) {
        uint64_t begin = sx_clock_ns();
        st = dev->backend->lookup(dev->self, SX_ONE_VIEW(v), job, err);
        all[i] = sx_clock_ns() - begin;
    }
    if (st == SX_OK)
        *ns = median(all);
    return st;
}

/* What a call of n questions takes; each time they are others of a column of that length. */
static sx_status time_questions(const sx_device *dev, const sx_view *v, const sx_lookup *job,
                                uint64_t n, uint64_t column, double *ns, sx_err *err)
{
    uint64_t all[TIMES];
    sx_lookup part = *job;
    sx_status st = SX_OK;

    part.n = n;
    for (unsigned i = 0; i < TIMES && st == SX_OK; i++) {
        uint64_t begin, at = (column - n) / TIMES * i;
        part.q = sx_slice_part(&job->q, at, at + n);
        begin = sx_clock_ns();
        st = dev->backend->lookup(dev->self, SX_ONE_VIEW(v), &part, err);
        all[i] = sx_clock_ns() - begin;
    }
    if (st == SX_OK)
        *ns = median(all);
    return st;
}

/* ---- the way to a device ---------------------------------------------------------- */

static sx_status time_copy(const sx_device *dev, void *to, int to_there, const void *from,
                           int from_there, uint64_t bytes, double *byte_ns, sx_err *err)
{
    const sx_backend *be = dev->backend;
    uint64_t best = UINT64_MAX;
    sx_status st = SX_OK;

    for (unsigned i = 0; i < 4 && st == SX_OK; i++) {
        uint64_t begin = sx_clock_ns(), ns;
        st = be->copy(dev->self, to, to_there, from, from_there, bytes, err);
        ns = sx_clock_ns() - begin;
        best = ns < best ? ns : best;
    }
    *byte_ns = part_of((double)best, 0, (double)bytes);
    return st;
}

/* What a byte takes from and to memory that is pinned, and that is not. */
static sx_status measure_bytes(const sx_device *dev, uint64_t bytes, void *there, sx_link *link,
                               sx_err *err)
{
    const sx_backend *be = dev->backend;
    void *here = NULL, *pinned = NULL;
    sx_status st = sx_alloc(&here, bytes, "measuring", err);

    if (st == SX_OK)
        st = be->pin(dev->self, &pinned, bytes, err);
    if (st == SX_OK) {
        memset(here, 0, bytes);   /* pages come into being when they are used first */
        memset(pinned, 0, bytes);
        st = time_copy(dev, there, 1, here, 0, bytes, &link->in_ns[0], err);
    }
    if (st == SX_OK)
        st = time_copy(dev, here, 0, there, 1, bytes, &link->out_ns[0], err);
    if (st == SX_OK)
        st = time_copy(dev, there, 1, pinned, 0, bytes, &link->in_ns[1], err);
    if (st == SX_OK)
        st = time_copy(dev, pinned, 0, there, 1, bytes, &link->out_ns[1], err);
    sx_release(here);
    be->unpin(dev->self, pinned);
    return st;
}

/* Calls that are not copied, to an index of one key, 0: of one question, and of as many
 * as go this way. */
static sx_status measure_direct(const sx_device *dev, const sx_view *one, sx_lookup *job,
                                uint64_t most, sx_link *link, sx_err *err)
{
    double ns;
    sx_status st;

    job->n = 1;
    st = time_lookup(dev, one, job, &link->direct_ns, err);
    job->n = most;
    if (st == SX_OK)
        st = time_lookup(dev, one, job, &ns, err);
    if (st == SX_OK)
        link->direct_byte_ns = part_of(ns, link->direct_ns, (double)(most - 1) * 2 * 8);
    return st;
}

/* Calls that are copied, from the smallest to a whole chunk. */
static sx_status measure_chunks(const sx_device *dev, const sx_view *one, sx_lookup *job,
                                uint64_t least, uint64_t most, sx_link *link, sx_err *err)
{
    double before = link->direct_ns;
    sx_status st = SX_OK;

    for (unsigned i = 0; i < SX_LINK_POINTS && st == SX_OK; i++) {
        double ns = 0;
        job->n = least + (most - least) / (1u << 2 * (SX_LINK_POINTS - 1)) * ((1u << 2 * i) - 1);
        if (i + 1 == SX_LINK_POINTS)
            job->n = most;
        st = time_lookup(dev, one, job, &ns, err);
        before = ns > before ? ns : before;       /* more bytes are not faster: that was noise */
        link->chunk[i].bytes = (double)job->n * 2 * 8;
        link->chunk[i].ns = before;
    }
    if (st == SX_OK) {
        double way = link->chunk[0].bytes / 2 * (link->in_ns[0] + link->in_ns[1] +
                                                 link->out_ns[0] + link->out_ns[1]);
        link->staged_ns = part_of(link->chunk[0].ns, way, 1);
        if (link->staged_ns < link->direct_ns)
            link->staged_ns = link->direct_ns;
    }
    return st;
}

static sx_status measure_calls(const sx_device *dev, const sx_travel *t, const sx_view *one,
                               sx_link *link, sx_err *err)
{
    uint64_t direct = t->direct_bytes / 16, *q = NULL;
    uint64_t most = t->chunk > direct + LONGER ? t->chunk : direct + LONGER;
    sx_lookup job = {.op = SX_OP_RANK_LEFT, .key_type = SX_U64};
    sx_status st = sx_alloc_array((void **)&q, 2 * most, sizeof *q, "measuring", err);

    if (st != SX_OK)
        return st;
    memset(q, 0, 2 * most * sizeof *q);
    job.q = sx_slice_fixed(q, sizeof *q, most, SX_HOST);
    job.out = sx_slice_fixed(q + most, sizeof *q, most, SX_HOST);
    st = measure_direct(dev, one, &job, direct, link, err);
    if (st == SX_OK)
        st = measure_chunks(dev, one, &job, direct + 1, most, link, err);
    sx_release(q);
    return st;
}

static sx_status measure_link(const sx_device *dev, sx_link *link, sx_err *err)
{
    const sx_backend *be = dev->backend;
    sx_spec plain = {.family = SX_FAM_SORTED};
    const void *base[SX_SECTIONS] = {0};
    sx_travel t;
    sx_view one;
    void *there = NULL;
    uint64_t bytes;
    sx_facts facts = {.n = 1, .ranks = 1, .width = 8, .distinct = 1};
    sx_status st = sx_shape(&one, &plain, &dev->backend->target, &facts, err);

    be->travel(dev->self, &t);
    bytes = t.channel_bytes;      /* they travel in eight chunks, which overlap */
    if (st == SX_OK)
        st = be->alloc(dev->self, &there, bytes, "measuring", err);
    if (st == SX_OK)
        st = measure_bytes(dev, bytes, there, link, err);
    if (st == SX_OK) {            /* measure_bytes() has left zeros there */
        base[SX_SEC_KEYS] = there;
        sx_view_bind(&one, base);
        st = measure_calls(dev, &t, &one, link, err);
    }
    be->release(dev->self, there);
    return st;
}

sx_status sx_device_link(sx_device *dev, sx_link *out, sx_err *err)
{
    sx_status st = SX_OK;

    pthread_mutex_lock(&dev->link_lock);
    if (!dev->link_known) {
        sx_link link = sx_link_usual();
        st = measure_link(dev, &link, err);
        if (st == SX_OK) {
            dev->link = link;
            dev->link_known = 1;
        }
    }
    *out = dev->link_known ? dev->link : sx_link_usual();
    pthread_mutex_unlock(&dev->link_lock);
    return st == SX_ENOMEM ? SX_OK : st;
}

/* ---- an index ----------------------------------------------------------------------- */

sx_slice sx_probe_keys(const sx_probe *q)
{
    return sx_slice_fixed(q->keys, sx_type_bytes(q->key_type), q->n, SX_HOST);
}

static sx_slice numbers_of(const sx_probe *q, const uint64_t *numbers)
{
    return sx_slice_fixed(numbers, sizeof *numbers, q->n, SX_HOST);
}

void sx_probe_drop(sx_probe *q)
{
    sx_release(q->ranks);
    sx_release(q->keys);
    sx_release(q->out);
}

int sx_probe_type(const sx_index_version *now)
{
    return sx_type_bytes(now->key_type) > 0
               ? now->key_type : sx_code_type(sx_one_run(now)->replica[0].view.width);
}

sx_status sx_probe_make(const sx_replica *here, int key_type, sx_probe *q, sx_err *err)
{
    sx_lookup pick = {.op = SX_OP_KEY_AT, .key_type = key_type, .n = q->n};
    uint64_t x = 1;               /* any seed: these are only timed */
    sx_status st = sx_alloc_array((void **)&q->ranks, q->n, 8, "questions", err);

    if (st == SX_OK)
        st = sx_alloc_array(&q->keys, q->n, sx_type_bytes(key_type), "questions", err);
    if (st == SX_OK)
        st = sx_alloc_array((void **)&q->out, q->n, 8, "questions", err);
    if (st != SX_OK)
        return st;
    memset(q->out, 0, q->n * 8);
    for (uint64_t i = 0; i < q->n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        q->ranks[i] = (uint64_t)((unsigned __int128)x * here->view.ranks >> 64);
    }
    q->key_type = key_type;
    pick.q = numbers_of(q, q->ranks);
    pick.keys = sx_probe_keys(q);
    return here->dev->backend->lookup(here->dev->self, SX_ONE_VIEW(&here->view), &pick, err);
}

sx_lookup sx_probe_get(const sx_probe *q)
{
    return (sx_lookup){.op = SX_OP_GET, .key_type = q->key_type, .n = q->n, .q = sx_probe_keys(q),
                       .out = numbers_of(q, q->out)};
}

/* Two shares for every thread, up to POOLED_MOST. */
static uint64_t pooled_questions(const sx_cost_cpu *cpu)
{
    uint64_t n = 2 * (cpu->threads ? cpu->threads : 1) * cpu->share;

    return n < POOLED_MOST ? n : POOLED_MOST;
}

static sx_status measure_cpu(const sx_replica *here, const sx_probe *q, sx_cost_cpu *cpu,
                             sx_err *err)
{
    const sx_device *host = here->dev;
    uint64_t alone = ALONE;
    uint64_t most = pooled_questions(cpu), least = most / 2;
    sx_lookup get = sx_probe_get(q), at = get;
    double one, many, ranks;
    sx_status st;

    get.how.threads = at.how.threads = 1;
    at.op = SX_OP_KEY_AT;
    at.q = numbers_of(q, q->ranks);
    st = time_questions(host, &here->view, &get, alone, q->n, &many, err);
    if (st == SX_OK)
        st = time_questions(host, &here->view, &get, 1, q->n, &one, err);
    if (st == SX_OK)
        st = time_questions(host, &here->view, &at, alone, q->n, &ranks, err);
    if (st != SX_OK)
        return st;
    cpu->query_ns = part_of(many, one, (double)alone - 1);
    cpu->call_ns = part_of(one, cpu->query_ns, 1);
    cpu->at_part = part_of(ranks, cpu->call_ns, (double)alone) / cpu->query_ns;
    cpu->pooled_ns = cpu->query_ns / (cpu->threads ? cpu->threads : 1);
    if (cpu->threads < 2)
        return SX_OK;
    get.how.threads = 0;
    st = time_questions(host, &here->view, &get, most, q->n, &many, err);
    if (st == SX_OK)
        st = time_questions(host, &here->view, &get, least, q->n, &one, err);
    if (st == SX_OK) {
        double each = part_of(many, one, (double)(most - least));
        /* Not faster than the threads can be, nor so slow that waking them took nothing. */
        each = each < cpu->pooled_ns ? cpu->pooled_ns : each;
        cpu->pooled_ns = each > many / (double)most ? many / (double)most : each;
        cpu->pool_ns = part_of(many, (double)most * cpu->pooled_ns, 1);
    }
    return st;
}

static sx_status measure_gpu(const sx_replica *there, const sx_probe *q, sx_cost *c, sx_err *err)
{
    const sx_device *dev = there->dev;
    const sx_backend *be = dev->backend;
    uint64_t n = q->of_gpu, bytes = n * sx_type_bytes(q->key_type), few = n / 8 + 1, busy = 0;
    uint64_t took[2] = {0, 0};
    sx_lookup get = sx_probe_get(q);
    double way, ns = 0;
    void *keys = NULL, *out = NULL;
    sx_status st = time_questions(dev, &there->view, &get, FEW, q->n, &ns, err);

    if (st == SX_OK)
        st = be->alloc(dev->self, &keys, bytes, "questions", err);
    if (st == SX_OK)
        st = be->alloc(dev->self, &out, n * 8, "questions", err);
    if (st == SX_OK)
        st = be->copy(dev->self, keys, 1, q->keys, 0, bytes, err);
    get.q = sx_slice_fixed(keys, get.q.each, n, SX_DEVICE);
    get.out = sx_slice_fixed(out, 8, n, SX_DEVICE);
    get.how.device_ns = &busy;
    for (unsigned i = 0; i < 4 && st == SX_OK; i++) {     /* the second time counts */
        uint64_t begin = sx_clock_ns();
        busy = 0;
        get.n = i % 2 ? n : few;
        st = be->lookup(dev->self, SX_ONE_VIEW(&there->view), &get, err);
        took[i % 2] = busy ? busy : sx_clock_ns() - begin;
    }
    if (st == SX_OK) {            /* the difference is without the launch */
        c->gpu.query_ns = part_of((double)took[1], (double)took[0], (double)(n - few));
        way = c->link.direct_ns + FEW * ((double)(bytes / n + 8) * c->link.direct_byte_ns +
                                         c->gpu.query_ns);
        c->gpu.call_ns = part_of(ns, way, 1);
    }
    be->release(dev->self, keys);
    be->release(dev->self, out);
    return st;
}

/* What the levels that the CPU walks before the GPU take it. */
static sx_status time_walks(const sx_replica *here, const sx_steps *job, double *ns, sx_err *err)
{
    const sx_device *host = here->dev;
    uint64_t all[TIMES];
    sx_status st = SX_OK;

    for (unsigned i = 0; i < TIMES && st == SX_OK; i++) {
        uint64_t begin = sx_clock_ns();
        st = host->backend->steps(host->self, SX_ONE_VIEW(&here->view), job, err);
        all[i] = sx_clock_ns() - begin;
    }
    if (st == SX_OK)
        *ns = median(all);
    return st;
}

/* Numbers of the balance that c has: the CPU's levels, the GPU's, and answers from entries. */
static sx_status time_entries(const sx_replica *upper, const sx_replica *here, const sx_probe *q,
                              sx_state *states, sx_cost *c, sx_err *err)
{
    const sx_device *dev = upper->dev;
    const sx_balance *balance = &c->entries.balance;
    uint64_t n = q->of_gpu, few = n / 8 + 1, ns[2][2];
    sx_steps walk = {.key_type = q->key_type, .q = sx_probe_keys(q), .n = n,
                     .to = balance->depth, .head_to = balance->depth + 1,
                     .head = sx_balance_head(balance, n), .out = states};
    sx_steps job = walk;
    sx_lookup get = sx_probe_get(q);
    double walked = 0, plain, entered;
    sx_status st = SX_OK;

    if (sx_balance_walks(balance)) {
        st = time_walks(here, &walk, &walked, err);
        job.in = states;
    }
    job.from = walk.to;
    job.head_from = walk.head_to;
    job.to = job.head_to = sx_view_levels(&upper->view);
    job.out = states + n;
    for (unsigned i = 0; i < 4 && st == SX_OK; i++) {
        uint64_t begin = sx_clock_ns();
        job.n = i % 2 ? n : few;
        job.head = sx_head_part(walk.head, 0, job.n);
        st = dev->backend->steps(dev->self, SX_ONE_VIEW(&upper->view), &job, err);
        ns[i / 2][i % 2] = sx_clock_ns() - begin; /* the second time counts */
    }
    get.n = n;
    get.entry = job.out;
    if (st == SX_OK)
        st = time_lookup(here->dev, &here->view, &get, &entered, err);
    get.entry = NULL;
    if (st == SX_OK)
        st = time_lookup(here->dev, &here->view, &get, &plain, err);
    if (st == SX_OK) {
        c->entries.query_ns = part_of((double)ns[1][1], (double)ns[1][0], (double)(n - few));
        c->entries.call_ns = part_of((double)ns[1][0], (double)few * c->entries.query_ns, 1);
        c->entries.entered_ns = part_of(c->cpu.pooled_ns * (walked + entered) /
                                        (plain > 1 ? plain : 1), 0, 1);
    }
    return st;
}

sx_status sx_measure_entries(const sx_replica *upper, const sx_replica *here, const sx_probe *q,
                             sx_cost *c, sx_err *err)
{
    const sx_device *dev = upper->dev;
    void *states;                 /* in, and out */
    sx_status st = dev->backend->pin(dev->self, &states, 2 * q->of_gpu * sizeof(sx_state), err);

    if (st == SX_OK) {
        st = time_entries(upper, here, q, states, c, err);
        dev->backend->unpin(dev->self, states);
    }
    return st;
}

static sx_status measure_index(sx_index_version *now, sx_cost *c, sx_err *err)
{
    const sx_run *run = sx_one_run(now);
    const sx_replica *here = sx_run_find(run, 0, SX_WHOLE), *there = sx_run_find(run, 1, SX_WHOLE);
    const sx_replica *upper = sx_run_find(run, 1, SX_UPPER);
    sx_probe q = {.n = now->n / KEYS_PER_QUESTION};
    sx_status st;

    if (q.n > QUESTIONS)
        q.n = QUESTIONS;
    if (q.n < pooled_questions(&c->cpu))
        q.n = pooled_questions(&c->cpu);
    /* A GPU gets all of them, even of a small index: a few thousand take it no longer than
     * the error of its clock. */
    q.of_gpu = q.n < c->travel.sample ? q.n : c->travel.sample;
    if (upper && (!upper->block ||
                  sx_balance_alone(&c->entries.balance, sx_view_levels(&upper->view))))
        upper = NULL;             /* the CPU answers alone */
    st = sx_probe_make(here, sx_probe_type(now), &q, err);
    if (st == SX_OK)
        st = measure_cpu(here, &q, &c->cpu, err);
    if (st == SX_OK && there)
        st = measure_gpu(there, &q, c, err);
    if (st == SX_OK && upper)
        st = sx_measure_entries(upper, here, &q, c, err);
    c->measured = st == SX_OK;
    sx_probe_drop(&q);
    if (st == SX_OK && upper && c->side != SX_SIDE_CPU)
        st = sx_try_entries(now, upper, here, c, err);
    return st;
}

/* Host memory: questions with their ranks, answers, and two states. Device memory takes less. */
uint64_t sx_cost_bytes(uint64_t n, uint32_t key_bytes)
{
    uint64_t most = n / KEYS_PER_QUESTION < QUESTIONS ? n / KEYS_PER_QUESTION : QUESTIONS;
    uint64_t trial = n < SX_TRIAL_QUESTIONS ? n : SX_TRIAL_QUESTIONS;

    most += POOLED_MOST;
    return n < MEASURED_FROM ? 0 : (most > trial ? most : trial) * (5 * sizeof(uint64_t) + key_bytes);
}

/* Whether a hybrid index has the levels that its device's name speaks of. */
static sx_status check_balance(const sx_index_version *now, sx_err *err)
{
    const sx_replica *upper = sx_run_find(sx_one_run(now), 1, SX_UPPER);
    sx_device_info info = {.size = sizeof info};
    char number[16] = "";
    sx_text share = {number, sizeof number, 0};
    sx_travel t;
    uint32_t levels;

    now->dev->backend->travel(now->dev->self, &t);
    if (!upper || !t.balanced)
        return SX_OK;
    levels = upper->block ? sx_view_levels(&upper->view) : 0;
    now->dev->backend->describe(now->dev->self, &info);
    if (t.balance.depth > levels)
        return sx_fail(err, SX_EINVAL, "device '%.40s': depth is %u, but the upper part of this "
                       "index has %u levels; allowed: 0 to %u", info.name, t.balance.depth, levels,
                       levels);
    if (sx_balance_walks(&t.balance) && t.balance.depth < levels &&
        sx_shared_levels(upper, sx_run_find(sx_one_run(now), 0, SX_WHOLE)) == 0)
        return sx_fail(err, SX_EINVAL, "device '%.40s': depth is %u, but the CPU searches this index "
                       "another way than the GPU, so they can't share its %u levels; allowed: 0 and "
                       "%u, or one way for both (search=)", info.name, t.balance.depth, levels, levels);
    if (t.balance.depth < levels || t.balance.share == 0)
        return SX_OK;
    sx_text_fixed(&share, (double)t.balance.share / SX_SHARE_ALL, 3);
    return sx_fail(err, SX_EINVAL, "device '%.40s': share is %s at depth %u, behind which the upper "
                   "part of this index has no level to share; allowed: 0", info.name, number,
                   levels);
}

sx_status sx_cost_measure(sx_index_version *now, sx_err *err)
{
    sx_device_info info = {.size = sizeof info};
    const sx_device *host = sx_run_find(sx_one_run(now), 0, SX_WHOLE)->dev;
    sx_travel there, here;
    sx_cost c = {0}, usual;
    sx_status st = check_balance(now, err);

    if (st != SX_OK)
        return st;

    host->backend->describe(host->self, &info);
    host->backend->travel(host->self, &here);
    now->dev->backend->travel(now->dev->self, &there);
    c.travel = there;
    c.side = there.side;
    st = sx_device_link(now->dev, &c.link, err);
    sx_cost_usual(&c, &sx_one_run(now)->replica[0].view, info.threads, here.chunk);
    c.entries.balance = there.balance;
    if (now->n < MEASURED_FROM)
        c.entries.gain = 1;       /* the index is in the host's caches */
    usual = c;
    if (st == SX_OK && now->n >= MEASURED_FROM)
        st = measure_index(now, &c, err);
    now->cost = st == SX_OK ? c : usual;
    return st == SX_ENOMEM ? SX_OK : st;
}
