/* plan.c - who answers a question: of a version's replicas the one whose memory the columns
 * are in, or the faster one (cost.h); and whether the GPU makes entries for it. */
#include "query/index.h"

/* Pinned columns of a large batch make the GPU faster. They are looked for only if that would
 * change the side. */
static uint32_t faster(const sx_index_version *now, const sx_batch *b, const void *in,
                       const void *out)
{
    const sx_device *dev = now->dev;
    uint32_t side = sx_cost_side(&now->cost, b);
    sx_batch pinned = *b;

    if (side == SX_SIDE_GPU || now->cost.side)
        return side;
    pinned.pinned = 1;
    if (sx_cost_side(&now->cost, &pinned) == side || !dev->backend->is_pinned(dev->self, in) ||
        (out && !dev->backend->is_pinned(dev->self, out)))
        return side;
    return SX_SIDE_GPU;
}

/* Whether entries pay, and for what buckets. Each column that is searched for has its own. A CPU
 * that answers alone wants none. */
static int cut_for(const sx_index_version *now, const sx_replica *upper, const sx_batch *b,
                   sx_buckets *cut)
{
    uint64_t bucket;

    if (!upper->block || b->searches == 0 ||
        sx_balance_alone(&now->cost.entries.balance, sx_view_levels(&upper->view)))
        return 0;
    bucket = upper->dev->backend->bucket(upper->dev->self);
    *cut = sx_cost_cut(&now->cost, b->n, bucket, b->searches);
    return sx_cost_entries_pay(&now->cost, b, bucket, b->searches);
}

/* Two, unless the strategy says otherwise: while one bucket is copied the GPU walks for the
 * other. Ranges are bound by the CPU, which a second worker takes time from. */
static unsigned workers_for(uint32_t strategy, const sx_batch *b)
{
    return strategy == SX_BUCKETS_DOUBLE || (!strategy && b->searches < 2) ? 2 : 1;
}

sx_plan sx_plan_of(const sx_index_version *now, const sx_batch *b, int on_host, const void *in,
                   const void *out)
{
    const sx_run *run = sx_one_run(now);
    const sx_replica *first = &run->replica[0], *second = &run->replica[1];
    sx_plan plan = {.now = now, .by = first, .visit = first->dev != now->dev};

    if (run->replicas == 1)
        return plan;
    if (second->part == SX_UPPER) {
        plan.entries = cut_for(now, second, b, &plan.cut) ? second : NULL;
        plan.balance = now->cost.entries.balance;
        plan.workers = workers_for(now->cost.travel.strategy, b);
    } else if (on_host && b->n > 0) {
        if (faster(now, b, in, out) == SX_SIDE_CPU)
            plan.by = second;
        else
            plan.instead = second;
    }
    return plan;
}

sx_views sx_plan_views(const sx_plan *plan)
{
    return sx_version_views(plan->now, plan->by);
}

int sx_plan_again(sx_plan *plan, sx_status st)
{
    if (st != SX_ENOMEM || !plan->instead)
        return 0;
    plan->by = plan->instead;
    plan->instead = NULL;
    return 1;
}
