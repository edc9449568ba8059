/* sorted_cpu_impl.h - sorted_cpu.c for one width and one instruction set. */
#include "family/generic/cpu_begin.h"
#include "family/generic/array_cpu_impl.h"

SX_WALK void F(descend)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                        uint64_t at[GROUP], uint32_t unit, int rows)
{
    (void)entry;                   /* there is no upper part */
    for (unsigned j = 0; j < GROUP; j++)
        at[j] = 0;
    F(narrow)(v, q, m, at, F(array_units)(v, unit), unit, rows && v->row_bytes != 0);
}

#include "family/generic/array_groups_impl.h"
#include "family/generic/cpu_side_impl.h"
#include "family/generic/cpu_end.h"
