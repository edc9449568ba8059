/* eytzinger_cpu.c - walks in a tree in level order on a CPU. */
#include "family/generic/groups.h"

#define SX_BODY "family/eytzinger/eytzinger_cpu_impl.h"
#include "family/generic/cpu_each.h"

/* An entry is a node of the first level behind the upper part. */
static void ask(const sx_view *v, const sx_state *entry, unsigned m, int rows)
{
    const sx_eytzinger *t = &v->of.eytzinger;
    uint64_t first = t->level_first[sx_eytz_upper_levels(t)], keys = t->k - 1u;

    (void)rows;                   /* a walk goes on from there */
    for (unsigned j = 0; j < m; j++)
        sx_ask_window(v, first + entry[j].at * keys, keys, 0);
}

const sx_family_cpu sx_cpu_of_eytzinger = {.bounds = SX_BOUNDS_ALL, .steps = SX_STEPS_ALL, .ask = ask};
