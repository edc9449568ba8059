/* explain_cost.c - the numbers that decide who answers. */
#include "query/index.h"

#include "base/text.h"

#include <inttypes.h>

/* The batch that numbers of batches are about: a get with rows of 8 bytes. */
static sx_batch usual_batch(const sx_index_version *now)
{
    return (sx_batch){.in_bytes = (uint32_t)sx_type_bytes(now->key_type), .out_bytes = 8,
                      .searches = 1, .trips = 1};
}

static int is_both(const sx_index_version *now)
{
    return sx_run_place(sx_one_run(now)) == SX_PLACE_BOTH;
}

/* Levels of the upper part that a GPU has of a hybrid index. */
static uint32_t levels_of(const sx_index_version *now)
{
    const sx_replica *upper = sx_run_find(sx_one_run(now), 1, SX_UPPER);

    return upper && upper->block ? sx_view_levels(&upper->view) : 0;
}

static double part_of_all(uint32_t share)
{
    return (double)share / SX_SHARE_ALL;
}

/* The smallest batch that gets entries; 0: none. */
static uint64_t entered_from(const sx_index_version *now)
{
    const sx_cost *c = &now->cost;
    uint64_t bucket = now->dev->backend->bucket(now->dev->self);
    sx_batch b = usual_batch(now);

    if (sx_balance_alone(&c->entries.balance, levels_of(now)))
        return 0;
    for (b.n = sx_bucket_least(bucket, 1); b.n < bucket << 20; b.n *= 2)
        if (sx_cost_entries_pay(c, &b, bucket, 1))
            return b.n;
    return 0;
}

static void add(sx_text *t, const char *before, double x, unsigned decimals, const char *behind)
{
    sx_text_add(t, "%s", before);
    sx_text_fixed(t, x, decimals);
    sx_text_add(t, "%s", behind);
}

static const char *told(const sx_cost *c)
{
    return c->side == SX_SIDE_CPU ? "cpu" : c->side == SX_SIDE_GPU ? "gpu" : NULL;
}

/* ---- text -------------------------------------------------------------------------- */

static void text_link(const sx_link *l, sx_text *t)
{
    add(t, "way      a call takes the GPU ", l->direct_ns * 1e-3, 2, " us, ");
    add(t, "", l->staged_ns * 1e-3, 2, " us where columns are copied; GB/s in and out: ");
    add(t, "", 1 / l->in_ns[0], 2, " and ");
    add(t, "", 1 / l->out_ns[0], 2, ", pinned ");
    add(t, "", 1 / l->in_ns[1], 2, " and ");
    add(t, "", 1 / l->out_ns[1], 2, ", not copied ");
    add(t, "", 1 / l->direct_byte_ns, 2, "\n");
}

static void text_cpu(const sx_cost_cpu *c, sx_text *t)
{
    add(t, "cpu      a call takes ", c->call_ns * 1e-3, 3, " us and ");
    add(t, "", c->query_ns, 2, " ns a query");
    sx_text_add(t, "; one more thread for each %" PRIu64 " queries; on %u threads, ", c->share,
                c->threads);
    add(t, "", c->pool_ns * 1e-3, 2, " us and ");
    add(t, "", c->pooled_ns, 3, " ns\n");
}

static void text_both(const sx_index_version *now, sx_text *t)
{
    const sx_cost *c = &now->cost;
    sx_batch b = usual_batch(now);
    uint64_t from = sx_cost_crossover(c, &b);

    add(t, "gpu      beside the way a call takes ", c->gpu.call_ns * 1e-3, 3, " us and ");
    add(t, "", c->gpu.query_ns, 4, " ns a query\n");
    if (told(c))
        sx_text_add(t, "answers  the %s, as the device's name says\n",
                    c->side == SX_SIDE_CPU ? "CPU" : "GPU");
    else if (from == 0)
        sx_text_add(t, "answers  the CPU, batches of any size\n");
    else
        sx_text_add(t, "answers  the CPU below %" PRIu64 " queries, the GPU from there on\n", from);
}

/* Who walks which levels, and by what times that was decided. */
static void text_balance(const sx_index_version *now, sx_text *t)
{
    const sx_cost_entries *h = &now->cost.entries;
    const sx_balance *b = &h->balance;
    uint32_t levels = levels_of(now);

    sx_text_add(t, "balance  of %u level%s the CPU walks %u", levels, levels == 1 ? "" : "s",
                b->depth);
    if (b->share > 0)
        add(t, ", for ", part_of_all(b->share), 3, " of a bucket one more");
    sx_text_add(t, ", the GPU the rest");
    if (b->own > 0)
        add(t, "; ", part_of_all(b->own), 3, " of a batch the CPU answers alone");
    sx_text_add(t, "%s\n", now->cost.travel.balanced ? ", as the device's name says" : "");
    if (h->best.ns == 0)
        return;
    add(t, "tried    so a query of a large call takes ", h->best.ns, 3, " ns (CPU ");
    add(t, "", h->best.cpu_ns, 3, ", GPU ");
    add(t, "", h->best.gpu_ns, 3, ")");
    if (h->plain.ns > 0) {
        add(t, ", ", h->plain.ns, 3, " ns if the GPU walks all levels (CPU ");
        add(t, "", h->plain.cpu_ns, 3, ", GPU ");
        add(t, "", h->plain.gpu_ns, 3, ")");
    }
    if (h->alone_ns > 0)
        add(t, ", ", h->alone_ns, 3, " ns by the CPU alone");
    sx_text_add(t, "\n");
}

static void text_entries(const sx_index_version *now, sx_text *t)
{
    const sx_cost_entries *h = &now->cost.entries;
    uint64_t from = entered_from(now);

    add(t, "entries  a bucket takes the GPU ", h->call_ns * 1e-3, 2, " us and ");
    add(t, "", h->query_ns, 3, " ns a query; with entries the CPU takes ");
    add(t, "", h->entered_ns, 3, " ns\n");
    text_balance(now, t);
    if (h->gain > 0 && h->gain != 1)
        add(t, "tried    with entries large calls were ", h->gain, 2, " times as fast as without\n");
    if (h->range_gain > 0)
        add(t, "tried    with entries ranges were found ", h->range_gain, 2, " times as fast\n");
    if (from)
        sx_text_add(t, "answers  the CPU, from %" PRIu64 " queries on with entries\n", from);
    else
        sx_text_add(t, "answers  the CPU alone: entries do not pay\n");
}

/* ---- JSON ---------------------------------------------------------------------------- */

static void json_link(const sx_link *l, sx_text *t)
{
    add(t, "\"link\": {\"direct_ns\": ", l->direct_ns, 1, ", ");
    add(t, "\"direct_byte_ns\": ", l->direct_byte_ns, 5, ", ");
    add(t, "\"staged_ns\": ", l->staged_ns, 1, ", ");
    add(t, "\"pageable_in_byte_ns\": ", l->in_ns[0], 5, ", ");
    add(t, "\"pageable_out_byte_ns\": ", l->out_ns[0], 5, ", ");
    add(t, "\"pinned_in_byte_ns\": ", l->in_ns[1], 5, ", ");
    add(t, "\"pinned_out_byte_ns\": ", l->out_ns[1], 5, "}");
}

static void json_cpu(const sx_cost_cpu *c, sx_text *t)
{
    add(t, ", \"cpu\": {\"call_ns\": ", c->call_ns, 1, ", ");
    add(t, "\"query_ns\": ", c->query_ns, 4, ", ");
    add(t, "\"pool_ns\": ", c->pool_ns, 1, ", ");
    add(t, "\"pooled_query_ns\": ", c->pooled_ns, 4, ", ");
    sx_text_add(t, "\"threads\": %u, \"share\": %" PRIu64 "}", c->threads, c->share);
}

/* null: there is no such batch. */
static void json_from(const char *name, uint64_t from, sx_text *t)
{
    if (from)
        sx_text_add(t, ", \"%s\": %" PRIu64, name, from);
    else
        sx_text_add(t, ", \"%s\": null", name);
}

static void json_trial(const sx_trial *x, sx_text *t)
{
    sx_text_add(t, "{\"depth\": %u, ", x->balance.depth);
    add(t, "\"share\": ", part_of_all(x->balance.share), 4, ", ");
    add(t, "\"own\": ", part_of_all(x->balance.own), 4, ", ");
    add(t, "\"query_ns\": ", x->ns, 4, ", ");
    add(t, "\"cpu_query_ns\": ", x->cpu_ns, 4, ", ");
    add(t, "\"gpu_query_ns\": ", x->gpu_ns, 4, "}");
}

static void json_balance(const sx_index_version *now, sx_text *t)
{
    static const char *const by[] = {"double", "sequential", "pipelined", "double"};
    const sx_cost_entries *h = &now->cost.entries;

    sx_text_add(t, ", \"balance\": {\"levels\": %u, \"depth\": %u, ", levels_of(now),
                h->balance.depth);
    add(t, "\"share\": ", part_of_all(h->balance.share), 4, ", ");
    add(t, "\"own\": ", part_of_all(h->balance.own), 4, ", ");
    sx_text_add(t, "\"told\": %s, \"strategy\": \"%s\"",
                now->cost.travel.balanced ? "true" : "false", by[now->cost.travel.strategy]);
    if (h->best.ns > 0) {
        sx_text_add(t, ", \"best\": ");
        json_trial(&h->best, t);
    }
    if (h->plain.ns > 0) {
        sx_text_add(t, ", \"plain\": ");
        json_trial(&h->plain, t);
    }
    if (h->alone_ns > 0)
        add(t, ", \"alone_query_ns\": ", h->alone_ns, 4, "");
    sx_text_add(t, ", \"tried\": [");
    for (uint32_t i = 0; i < h->trials; i++) {
        sx_text_add(t, i ? ", " : "");
        json_trial(&h->trial[i], t);
    }
    sx_text_add(t, "]}");
}

static void explain_json(const sx_index_version *now, sx_text *t)
{
    const sx_cost *c = &now->cost;
    sx_batch b = usual_batch(now);

    sx_text_add(t, ", \"cost\": {\"measured\": %s, ", c->measured ? "true" : "false");
    json_link(&c->link, t);
    json_cpu(&c->cpu, t);
    if (is_both(now)) {
        add(t, ", \"gpu\": {\"call_ns\": ", c->gpu.call_ns, 1, ", ");
        add(t, "\"query_ns\": ", c->gpu.query_ns, 4, "}");
        json_from("crossover", sx_cost_crossover(c, &b), t);
        sx_text_add(t, ", \"below\": \"%s\", \"above\": \"%s\"", told(c) ? told(c) : "cpu",
                    told(c) ? told(c) : sx_cost_crossover(c, &b) ? "gpu" : "cpu");
    } else {
        add(t, ", \"entries\": {\"call_ns\": ", c->entries.call_ns, 1, ", ");
        add(t, "\"query_ns\": ", c->entries.query_ns, 4, ", ");
        add(t, "\"entered_query_ns\": ", c->entries.entered_ns, 4, ", ");
        add(t, "\"gain\": ", c->entries.gain, 3, ", ");
        add(t, "\"range_gain\": ", c->entries.range_gain, 3, "}");
        json_balance(now, t);
        json_from("entered_from", entered_from(now), t);
    }
    sx_text_add(t, "}");
}

void sx_explain_cost(const sx_index_version *now, sx_format format, sx_text *t)
{
    if (sx_one_run(now)->replicas < 2)
        return;
    if (format == SX_JSON) {
        explain_json(now, t);
        return;
    }
    sx_text_add(t, "cost     %s\n", now->cost.measured
                ? "measured with keys of this index, for columns of the host"
                : "not measured for this index: usual numbers, for columns of the host");
    text_link(&now->cost.link, t);
    text_cpu(&now->cost.cpu, t);
    if (is_both(now))
        text_both(now, t);
    else
        text_entries(now, t);
}
