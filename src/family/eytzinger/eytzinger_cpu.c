/* eytzinger_cpu.c - walks in a tree in level order on a CPU. */
#include "family/generic/groups.h"

#define SX_BODY "family/eytzinger/eytzinger_cpu_impl.h"
#include "family/generic/cpu_each.h"

const sx_family_cpu sx_cpu_of_eytzinger = {.bounds = SX_BOUNDS_ALL, .steps = SX_STEPS_ALL};
