#include "query/cost.h"

/* ---- the CPU ------------------------------------------------------------------ */

/* Searches that a question takes. A rank is looked up without one, in a part of its time. */
static double searches_of(const sx_cost_cpu *cpu, const sx_batch *b)
{
    return b->searches ? b->searches : cpu->at_part;
}

/* A call whose questions take `part` of their usual time. */
static double cpu_ns(const sx_cost_cpu *cpu, const sx_batch *b, double part)
{
    uint32_t threads = b->threads && b->threads < cpu->threads ? b->threads : cpu->threads;
    double work = (double)b->n * searches_of(cpu, b) * part, each;

    if (threads > b->n / cpu->share)
        threads = (uint32_t)(b->n / cpu->share);
    if (threads < 2)
        return cpu->call_ns + work * cpu->query_ns;
    /* Threads are woken one by one. They share the memory's bandwidth, so fewer may be as
     * fast as all. */
    each = cpu->query_ns / threads;
    each = each > cpu->pooled_ns ? each : cpu->pooled_ns;
    return cpu->pool_ns * threads / cpu->threads + work * each;
}

double sx_cost_of_cpu(const sx_cost *c, const sx_batch *b)
{
    return cpu_ns(&c->cpu, b, 1);
}

/* ---- the GPU ------------------------------------------------------------------ */

/* Elements that travel together, as gpu_trip_run() cuts a batch. */
static uint64_t chunk_of(const sx_travel *t, uint64_t n, uint64_t each)
{
    uint64_t chunk = n / 8 + 1, most = t->channel_bytes / each;

    if (chunk < t->chunk)
        chunk = t->chunk;
    if (chunk > most)
        chunk = most;
    return chunk < n ? chunk : n;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* A call that copies this many bytes of pageable memory in one chunk: between the measured
 * points, or on from the last two. */
static double one_chunk(const sx_link *l, double bytes)
{
    unsigned i = 1;
    double slope;

    while (i + 1 < SX_LINK_POINTS && l->chunk[i].bytes < bytes)
        i++;
    slope = (l->chunk[i].ns - l->chunk[i - 1].ns) / (l->chunk[i].bytes - l->chunk[i - 1].bytes);
    if (bytes < l->chunk[0].bytes)
        return l->chunk[0].ns;
    return l->chunk[i - 1].ns + slope * (bytes - l->chunk[i - 1].bytes);
}

/* The first chunk's way, and for each further chunk the slowest part of it. */
static double staged(const sx_cost *c, const sx_batch *b, double kernel)
{
    uint64_t each = b->in_bytes + b->out_bytes;
    double n = (double)chunk_of(&c->travel, b->n, each), chunks = (double)b->n / n;
    double in = n * b->in_bytes * c->link.in_ns[1], out = n * b->out_bytes * c->link.out_ns[1];
    double slowest = larger(n * kernel, larger(in, out));

    if (b->pinned)
        return c->link.staged_ns + in + n * kernel + out + (chunks - 1) * slowest;
    /* The same threads fill and empty pinned memory. */
    slowest = larger(slowest, n * (b->in_bytes * c->link.in_ns[0] +
                                   b->out_bytes * c->link.out_ns[0]));
    return one_chunk(&c->link, n * (double)each) + n * kernel + (chunks - 1) * slowest;
}

double sx_cost_of_gpu(const sx_cost *c, const sx_batch *b)
{
    uint64_t each = b->in_bytes + b->out_bytes;
    double kernel = c->gpu.query_ns * (b->searches ? b->searches : 1);

    if (b->n * each <= c->travel.direct_bytes)
        return b->trips * (c->link.direct_ns + c->gpu.call_ns) +
               (double)b->n * ((double)each * c->link.direct_byte_ns + kernel);
    return (b->trips - 1) * c->link.staged_ns + b->trips * c->gpu.call_ns + staged(c, b, kernel);
}

/* ---- who answers ----------------------------------------------------------------- */

uint32_t sx_cost_side(const sx_cost *c, const sx_batch *b)
{
    if (c->side)
        return c->side;
    return sx_cost_of_cpu(c, b) <= sx_cost_of_gpu(c, b) ? SX_SIDE_CPU : SX_SIDE_GPU;
}

#define CROSSOVER_MOST (1ull << 40)

/* The next batch size to look at: a power of two, or the last size before the CPU wakes one
 * more thread, where it is slowest. */
static uint64_t next_size(const sx_cost_cpu *cpu, uint64_t n)
{
    uint64_t power = 1, threads = (n + 1) / cpu->share + 1, last = threads * cpu->share - 1;

    while (power <= n)
        power *= 2;
    return threads <= cpu->threads && last < power ? last : power;
}

uint64_t sx_cost_crossover(const sx_cost *c, const sx_batch *like)
{
    sx_batch b = *like;
    uint64_t below = 0, n = 1;    /* the CPU's, the GPU's */

    for (b.n = 1; sx_cost_side(c, &b) != SX_SIDE_GPU; b.n = next_size(&c->cpu, below)) {
        if (b.n >= CROSSOVER_MOST)
            return 0;
        below = b.n;
    }
    for (n = b.n; below + 1 < n; ) {
        b.n = below + (n - below) / 2;
        if (sx_cost_side(c, &b) == SX_SIDE_GPU)
            n = b.n;
        else
            below = b.n;
    }
    return n;
}

/* ---- entries ---------------------------------------------------------------------- */

/* Waking the worker that has the GPU make entries, and waiting for its end. */
#define WORKER_NS 15e3

typedef struct {
    double gpu, cpu;              /* when each side is done with all buckets so far */
    double busy;                  /* what the CPU has had to do */
} both_sides;

/* Adds buckets of n questions each. The CPU answers a bucket when it has its entries and is done
 * with the bucket before. So its end is that of a chain: the GPU's buckets up to one of them, and
 * the CPU's from that one on. The longest chain changes over at the first or the last bucket. */
static void add_buckets(const sx_cost *c, const sx_batch *b, both_sides *t, double buckets,
                        uint64_t n, unsigned columns)
{
    sx_batch one = *b;            /* with as many threads as the call may have */
    double gpu = columns * (c->entries.call_ns + (double)n * c->entries.query_ns), cpu;

    one.n = n;
    one.searches = columns;
    cpu = cpu_ns(&c->cpu, &one, c->entries.entered_ns / c->cpu.pooled_ns);
    t->busy += buckets * cpu;
    if (c->travel.strategy == SX_BUCKETS_SEQUENTIAL) {
        t->gpu = t->cpu = larger(t->gpu, t->cpu) + buckets * (gpu + cpu);
        return;
    }
    t->cpu = larger(larger(t->cpu, t->gpu + gpu) + buckets * cpu, t->gpu + buckets * gpu + cpu);
    t->gpu += buckets * gpu;
}

sx_buckets sx_cost_cut(const sx_cost *c, uint64_t n, uint64_t bucket, unsigned columns)
{
    return sx_buckets_of(n, bucket, columns, c->travel.strategy, &c->entries.balance);
}

static double entered_ns(const sx_cost *c, const sx_batch *b, uint64_t bucket, unsigned columns)
{
    sx_buckets cut = sx_cost_cut(c, b->n, bucket, columns);
    both_sides t = {WORKER_NS, 0, 0};
    sx_batch own = *b;            /* the CPU's own queries, for which it need not wait */
    uint64_t at = 0, with;

    own.n = sx_balance_own(&c->entries.balance, b->n);
    with = b->n - own.n;
    while (at < with && at < cut.most) {          /* buckets that grow */
        uint64_t n = sx_bucket_length(&cut, with, at);
        add_buckets(c, b, &t, 1, n, columns);
        at += n;
    }
    if (with - at >= cut.most)
        add_buckets(c, b, &t, (double)((with - at) / cut.most), cut.most, columns);
    if ((with - at) % cut.most)
        add_buckets(c, b, &t, 1, (with - at) % cut.most, columns);
    return own.n > 0 ? larger(t.cpu, t.busy + sx_cost_of_cpu(c, &own)) : t.cpu;
}

int sx_cost_entries_pay(const sx_cost *c, const sx_batch *b, uint64_t bucket, unsigned columns)
{
    double gain = columns > 1 && c->entries.range_gain > 0 ? c->entries.range_gain
                                                           : c->entries.gain;

    if (b->n < sx_cost_cut(c, b->n, bucket, columns).first)
        return 0;
    if (c->side)
        return c->side == SX_SIDE_GPU;
    if ((gain > 0 && gain < SX_LEAST_GAIN) || b->n < c->entries.least)
        return 0;
    if (gain > 0 && c->entries.least > 0)         /* trials said so, whatever the model says */
        return 1;
    return entered_ns(c, b, bucket, columns) < sx_cost_of_cpu(c, b);
}

/* ---- usual numbers ------------------------------------------------------------------ */

sx_link sx_link_usual(void)
{
    return (sx_link){.direct_ns = 12e3, .direct_byte_ns = 0.05, .staged_ns = 40e3,
                     .in_ns = {0.06, 0.02}, .out_ns = {0.06, 0.02},
                     .chunk = {{128e3, 55e3}, {512e3, 100e3}, {2e6, 200e3}, {4e6, 300e3}}};
}

/* Numbers of an index in the cache, by the steps of a binary search. */
void sx_cost_usual(sx_cost *c, const sx_view *v, uint32_t threads, uint64_t share)
{
    double steps = 1;

    for (uint64_t n = v->n; n > 0; n /= 2)
        steps++;
    c->measured = 0;
    c->cpu = (sx_cost_cpu){.call_ns = 100 + 5 * steps, .query_ns = 2 * steps, .pool_ns = 20e3,
                           .pooled_ns = 2 * steps / (threads ? threads : 1), .threads = threads,
                           .share = share, .at_part = 0.5};
    c->gpu = (sx_cost_gpu){.call_ns = 100 * steps, .query_ns = 0.1};
    c->entries = (sx_cost_entries){.call_ns = c->link.staged_ns,
                               .query_ns = 8 * (c->link.in_ns[0] + c->link.out_ns[1]) + 0.1,
                               .entered_ns = c->cpu.pooled_ns / 2};
}
