/* array_cpu_impl.h - searches in a sorted array, many at a time, for one width and one
 * instruction set: between cpu_begin.h and cpu_end.h. */
#include "family/generic/array_walk_impl.h"

/* From windows of `len` units, which begin at at[j] and whose middles are prefetched,
 * to the unit that holds the bound. That unit is prefetched, with its rows. */
SX_WALK void F(narrow)(const sx_view *v, const KEY *q, unsigned m, uint64_t at[GROUP],
                       uint64_t len, uint32_t unit, int rows)
{
    uint64_t row_step = v->block ? v->block_bytes : unit * (uint64_t)v->row_bytes;
    uint64_t last_key = (unit - 1) * W;

    while (len > 1) {
        uint64_t half = len / 2;
        len -= half;
        if (m <= FEW && len > 1)
            for (unsigned j = 0; j < m; j++) {
                uint64_t probe = at[j] + len / 2 - 1;
                SX_ASK(F(array_unit)(v, probe, unit) + last_key);
                SX_ASK(F(array_unit)(v, probe + half, unit) + last_key);
            }
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(array_halve)(v, at[j], half, q[j], unit);
            SX_ASK(F(array_unit)(v, at[j] + (len > 1 ? len / 2 - 1 : 0), unit) +
                               (len > 1 ? last_key : 0));
            if (rows && unit > 1 && len == 1)
                SX_ASK(sx_ahead(v->rows, at[j] * row_step));
        }
    }
}

SX_WALK void F(finish_all)(const sx_view *v, const KEY *q, unsigned m,
                                 const uint64_t at[GROUP], uint64_t *rank, uint32_t unit, int rows)
{
    rows = rows && v->row_bytes != 0;
    for (unsigned j = 0; j < m; j++) {
        rank[j] = F(array_finish)(v, at[j], q[j], unit);
        if (rows)
            SX_ASK(sx_ahead(v->rows, sx_row_offset(v, rank[j])));
    }
}
