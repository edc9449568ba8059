/* cost.h - what a call takes on the CPU and on the GPU, in nanoseconds, so that
 * the faster one answers.
 *
 * The model is that of the paper on GPU-PGM, fitted to what a call really does:
 *
 *   T_gpu(Q) = T_init + K_init + Q (bytes / B + P_gpu)       the batch is not copied
 *            = one chunk's way, T_init and K_init in it,     columns travel in chunks:
 *              + the slowest part of it for each further       parts of the way overlap
 *   T_cpu(Q) = call + Q P_cpu                                one thread
 *            = pool t + Q P_cpu(t)                           t threads, depending on Q
 *
 * T_init, K_init and B are the device's (sx_link), measured once while it is open.
 * P_gpu and P_cpu are the index's, measured when it is built. */
#ifndef SX_COST_H
#define SX_COST_H

#include "place/registry.h"
#include "query/buckets.h"

typedef struct {                  /* nanoseconds; none is 0 */
    double call_ns, query_ns;     /* one thread: a call, each question of it */
    double pool_ns, pooled_ns;    /* the same with all threads */
    uint32_t threads;             /* how many threads that is */
    uint64_t share;               /* questions that are worth waking a thread for; fewer than
                                     two shares are one thread's */
    double at_part;               /* the part of a search's time that key_at takes */
} sx_cost_cpu;

typedef struct {
    double call_ns;               /* what a call takes beyond one to an index of one key */
    double query_ns;              /* a question, with all of the device at work */
} sx_cost_gpu;

/* A question of large calls to a hybrid index, tried; 0: not tried. */
typedef struct {
    sx_balance balance;
    double ns;                    /* of the call */
    double cpu_ns, gpu_ns;        /* of its sides, which overlap */
} sx_trial;

/* So many trials are kept for those who want to know. */
#define SX_TRIALS_MOST 40u

typedef struct {                  /* of a hybrid index */
    sx_balance balance;           /* what the numbers below are of */
    double call_ns, query_ns;     /* making entries, the way to them and back included */
    double entered_ns;            /* a question for the CPU, all threads, with entries, and the
                                     levels that it walks before */
    double gain;                  /* how many times as fast as the CPU alone the two were,
                                     tried: both use the host's memory, which the other
                                     numbers do not show. 0: not tried; 1: neither, as
                                     the index is in the host's caches */
    double range_gain;            /* the same of ranges, tried where gets gain; 0: not tried */
    uint64_t least;               /* questions of the smallest batch that gained, tried; 0: not
                                     tried */
    double alone_ns;              /* a question of large calls to the CPU alone, tried; 0: not */
    sx_trial best;                /* of the balance above, in turns with that ... */
    sx_trial plain;               /* ... and with this one, if it was in question: the GPU walks
                                     all levels */
    uint32_t trials;              /* by which the balance was found */
    sx_trial trial[SX_TRIALS_MOST];
} sx_cost_entries;

typedef struct {
    sx_travel travel;
    sx_link link;
    sx_cost_cpu cpu;
    sx_cost_gpu gpu;
    sx_cost_entries entries;
    uint32_t measured;            /* 0: usual numbers, for want of keys or memory */
    uint32_t side;                /* SX_SIDE_ that answers; 0: the faster one */
} sx_cost;

/* A call, as the model sees it; columns are on the host. */
typedef struct {
    uint64_t n;
    uint32_t in_bytes, out_bytes; /* of an element, in all columns together */
    uint32_t searches;            /* of an element: 1; of a range: 2; of a rank: 0 */
    uint32_t trips;               /* to the GPU and back: 1; ranges more */
    uint32_t threads;             /* at most; 0: all */
    uint32_t pinned;              /* columns need no copy on their way */
} sx_batch;

double sx_cost_of_cpu(const sx_cost *c, const sx_batch *b);
double sx_cost_of_gpu(const sx_cost *c, const sx_batch *b);
/* The SX_SIDE_ that answers such a call: the one that is set, or the faster. */
uint32_t sx_cost_side(const sx_cost *c, const sx_batch *b);

/* The smallest batch like this one (its n does not matter) that is the GPU's;
 * 0: none is. */
uint64_t sx_cost_crossover(const sx_cost *c, const sx_batch *like);

/* Entries that gained less in a trial may lose another time. */
#define SX_LEAST_GAIN 1.10

/* How a batch of n questions is cut, with `columns` of entries for each, on a device whose buckets
 * have so many at most (buckets.h). */
sx_buckets sx_cost_cut(const sx_cost *c, uint64_t n, uint64_t bucket, unsigned columns);

/* Whether entries pay for such a batch, with `columns` of them for each question, on a device
 * whose buckets have at most `bucket` entries (buckets.h). A bucket that is the only one has
 * nothing to overlap with. */
int sx_cost_entries_pay(const sx_cost *c, const sx_batch *b, uint64_t bucket, unsigned columns);

/* Usual numbers, if nothing was measured. */
sx_link sx_link_usual(void);
void sx_cost_usual(sx_cost *c, const sx_view *v, uint32_t threads, uint64_t share);

#endif
