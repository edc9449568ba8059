#include "choose/questions.h"

#include "base/machine.h"

/* Keys of a range. Equal keys may make it longer, so it is limited to them. */
#define RANGE_HITS 128u
#define SETS (2u * SX_ASK_ROUNDS)
/* Less than so many %: timings are noisy. */
#define CLEARLY 93

/* How to ask in a duel: a guess of what a query takes, in picoseconds, to make so many,
 * how many make a round at most and at least, and from how many keys on (a build of fewer
 * is over before measuring would tell anything). A GPU is asked in its own memory and by
 * its own clock, which is quiet. And from how many keys on `auto` looks at them. */
typedef struct {
    uint64_t query_ps;
    unsigned most, least, from, look_from;
} manner;
static const manner on_cpu = {200000, 1u << 10, 1u << 6, 1u << 16, 1u << 16};
static const manner on_gpu = {100, 1u << 16, 1u << 14, 1u << 22, 1u << 16};
/* Contests are a CPU's. A contender has so many rounds, each of something else, as the
 * last cache is large; and points of a round: one for so many keys, which brings the
 * upper parts into the caches, within these limits. */
#define CONTEST_ROUNDS 5u
#define CONTEST_SETS (CONTEST_ROUNDS * SX_CONTENDERS)
#define KEYS_PER_POINT 128u
#define LEAST_POINTS (1u << 10)
#define MOST_POINTS (1u << 16)

static const manner *manner_of(const sx_device *dev)
{
    return dev->backend->gpu ? &on_gpu : &on_cpu;
}

uint64_t sx_measured_from(const sx_device *dev)
{
    return manner_of(dev)->from;
}

unsigned sx_question_count(const sx_device *dev, uint64_t ns)
{
    const manner *m = manner_of(dev);
    uint64_t points = ns * 1000 / (SETS * m->query_ps);

    return points > m->most ? m->most : points < m->least ? m->least : (unsigned)points;
}

int sx_clearly_less(uint64_t ns, uint64_t than)
{
    return ns < than / 100 * CLEARLY;
}

uint64_t sx_look_from(const sx_device *dev)
{
    return manner_of(dev)->look_from;
}

unsigned sx_contest_points(uint64_t n)
{
    uint64_t points = n / KEYS_PER_POINT;

    return points > MOST_POINTS    ? MOST_POINTS
           : points < LEAST_POINTS ? LEAST_POINTS
                                   : (unsigned)points;
}

sx_questions sx_contest_questions(unsigned points, unsigned ranges)
{
    return (sx_questions){.points = points, .ranges = ranges, .sets = CONTEST_SETS,
                          .rounds = CONTEST_ROUNDS};
}

/* Of keys and results. */
uint64_t sx_question_bytes(const sx_device *dev, uint64_t n)
{
    const manner *m = manner_of(dev);
    uint64_t number = sizeof(uint64_t);
    uint64_t of_two = m->most * (SETS * 3 * 16 + number);
    uint64_t of_trials = m->most * ((SX_TRIAL_SETS + SX_TRIAL_WARM) * 16 + SX_TRIAL_WARM * number);
    uint64_t points = sx_contest_points(n), ranges = points / SX_POINTS_PER_RANGE;
    uint64_t of_contest = dev->backend->gpu ? 0
                                            : points * (CONTEST_SETS * 16 + number) +
                                                  ranges * (CONTEST_SETS * 2 * 16 + number);
    uint64_t most = of_two > of_trials ? of_two : of_trials;

    return most > of_contest ? most : of_contest;
}

void sx_questions_drop(sx_device *dev, sx_questions *q)
{
    dev->backend->release(dev->self, q->key);
    dev->backend->release(dev->self, q->lo);
    dev->backend->release(dev->self, q->hi);
    dev->backend->release(dev->self, q->out);
}

/* Keys of the index, n of them, each so many ranks ahead of some key. */
static sx_status pick_keys(sx_device *dev, const sx_view *v, const sx_input *in, sx_questions *q,
                           uint32_t ahead, uint64_t n, void **keys, sx_err *err)
{
    const sx_backend *be = dev->backend;
    sx_lookup pick = {.op = SX_OP_KEY_AT, .key_type = in->key_type, .ahead = ahead, .n = n,
                      .how.threads = in->threads, .keys_there = (uint32_t)q->there};
    sx_status st;

    if (n == 0)
        return SX_OK;
    st = be->alloc(dev->self, keys, n * sx_type_bytes(in->key_type), "questions", err);
    pick.keys = *keys;
    return st == SX_OK ? be->lookup(dev->self, SX_ONE_VIEW(v), &pick, err) : st;
}

sx_status sx_questions_make(sx_device *dev, const sx_view *v, const sx_input *in,
                            sx_questions *q, sx_err *err)
{
    unsigned sets = q->sets ? q->sets : SETS, out = q->points > q->ranges ? q->points : q->ranges;
    uint64_t points = (uint64_t)sets * q->points + q->warm, ranges = (uint64_t)sets * q->ranges;
    sx_status st;

    q->sets = sets;
    q->rounds = q->rounds ? q->rounds : SX_ASK_ROUNDS;
    q->there = dev->backend->gpu != 0;
    st = dev->backend->alloc(dev->self, &q->out, (out > q->warm ? out : q->warm) * sizeof(uint64_t),
                             "questions", err);
    if (st == SX_OK)
        st = pick_keys(dev, v, in, q, 0, points, &q->key, err);
    if (st == SX_OK)
        st = pick_keys(dev, v, in, q, 0, ranges, &q->lo, err);
    if (st == SX_OK)
        st = pick_keys(dev, v, in, q, RANGE_HITS, ranges, &q->hi, err);
    return st;
}

sx_status sx_questions_ask(sx_device *dev, const sx_view *v, const sx_input *in, sx_questions *q,
                           uint64_t *best, sx_err *err)
{
    size_t bytes = sx_type_bytes(in->key_type);
    uint32_t there = (uint32_t)q->there;
    uint64_t device_ns = 0;
    sx_how how = {.threads = in->threads, .device_ns = q->there ? &device_ns : NULL};
    sx_lookup point = {.op = SX_OP_GET, .key_type = in->key_type, .n = q->points, .how = how,
                       .out = q->out, .out_bytes = 8, .q_there = there, .out_there = there};
    sx_span_query range = {.key_type = in->key_type, .how = how, .n = q->ranges,
                           .limit = RANGE_HITS, .lo_there = there, .hi_there = there};
    sx_range_folds sum = {.sum = q->out, .sum_there = there};
    sx_status st = SX_OK;

    *best = UINT64_MAX;
    if (q->warm > 0) {
        point.n = q->warm;
        point.q = (unsigned char *)q->key + q->sets * (uint64_t)q->points * bytes;
        st = dev->backend->lookup(dev->self, SX_ONE_VIEW(v), &point, err);
        point.n = q->points;
    }
    for (unsigned round = 0; round < q->rounds && st == SX_OK; round++) {
        uint64_t set = q->next++ % q->sets;
        if (q->points > 0)
            point.q = (unsigned char *)q->key + set * q->points * bytes;
        if (q->ranges > 0) {
            range.lo = (unsigned char *)q->lo + set * q->ranges * bytes;
            range.hi = (unsigned char *)q->hi + set * q->ranges * bytes;
        }
        device_ns = 0;
        uint64_t t = sx_clock_ns();
        if (q->points > 0)
            st = dev->backend->lookup(dev->self, SX_ONE_VIEW(v), &point, err);
        if (st == SX_OK && q->ranges > 0)
            st = dev->backend->fold(dev->self, SX_ONE_VIEW(v), &range, &sum, err);
        t = device_ns ? device_ns : sx_clock_ns() - t;
        *best = t < *best ? t : *best;
    }
    return st;
}
