/* sorted_cpu.c - searches in a sorted array on a CPU. */
#include "family/generic/groups.h"

#define SX_BODY "family/sorted/sorted_cpu_impl.h"
#include "family/generic/cpu_each.h"

const sx_family_cpu sx_cpu_of_sorted = {.bounds = SX_BOUNDS_ALL};
