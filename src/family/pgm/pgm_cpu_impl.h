/* pgm_cpu_impl.h - pgm_cpu.c for one width and one instruction set. */
#include "family/generic/cpu_begin.h"
#define SX_LOAD_SEGMENT(p, s) memcpy(&(s), (p), SX_SEGMENT)
#define SX_COUNT_FROM(keys, i, m, q) F(count_from)((keys), (i), (m), (q))

/* In pieces as large as a line, wherever they begin. */
SX_WALK uint64_t F(count_from)(const unsigned char *keys, uint64_t i, uint64_t m, KEY q)
{
    const unsigned char *p = keys + i * W;
    uint64_t c = SX_COUNT_UNIT(p, 64 / W, q);

    for (uint64_t seen = 64 / W; seen < m; seen += 64 / W)
        c += SX_COUNT_UNIT(p + seen * W, 64 / W, q);
    return c;
}

#include "family/generic/array_cpu_impl.h"
#include "family/pgm/pgm_walk_impl.h"

/* Each step prefetches the keys that it will look at, or the record of the
 * segment that it has found. */
SX_WALK void F(descend)(const sx_view *v, const KEY *q, unsigned m, const sx_state *entry,
                            uint64_t at[GROUP], uint32_t unit, int rows)
{
    const sx_pgm *t = &v->of.pgm;
    uint64_t len = F(pgm_units)(v, unit), latest = F(array_units)(v, unit) - len, count;
    uint64_t first = t->level_first[t->levels - 1], last_key = (unit - 1) * W;

    for (unsigned j = 0; j < GROUP; j++)
        at[j] = 0;
    for (uint32_t l = 1; l < t->levels && !t->concise && !entry; l++) {
        const unsigned char *keys = t->segment_keys + (t->level_first[l] + 1) * W;
        const unsigned char *segments = t->segments + t->level_first[l] * SX_SEGMENT;
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(pgm_start)(v, l - 1, at[j], q[j], t->segment_keys, t->segments);
            SX_ASK(keys + at[j] * W);
            SX_ASK(keys + at[j] * W + 63);
            if (W > 4)
                SX_ASK(keys + at[j] * W + 127);
        }
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(pgm_find)(v, l, at[j], q[j], t->segment_keys);
            SX_ASK(segments + at[j] * SX_SEGMENT);
            SX_ASK(segments + at[j] * SX_SEGMENT + 31);
        }
    }
    for (uint64_t some = t->level_count[t->levels - 1]; some > 1 && t->concise && !entry;
         some -= some / 2)
        for (unsigned j = 0; j < m; j++) {
            at[j] = F(pgm_halve)(v, at[j], some / 2, q[j]);
            if (some == 2)
                SX_ASK(t->segments + (first + at[j]) * SX_SEGMENT);
        }
    for (unsigned j = 0; j < m; j++) {
        at[j] = (entry ? entry[j].at : F(pgm_window)(v, at[j], q[j], &count)) / unit;
        at[j] = at[j] < latest ? at[j] : latest;
        SX_ASK(F(array_unit)(v, at[j] + (len > 1 ? len / 2 - 1 : 0), unit) +
                           (len > 1 ? last_key : 0));
    }
    F(narrow)(v, q, m, at, len, unit, rows && v->row_bytes != 0);
}

#include "family/generic/array_groups_impl.h"
#include "family/generic/cpu_side_impl.h"

SX_WALK uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(pgm_enter)(v, l, at);
}

SX_WALK uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(pgm_step)(v, l, at, q);
}
#include "family/generic/cpu_steps_impl.h"

#undef SX_COUNT_FROM
#undef SX_LOAD_SEGMENT
#include "family/generic/cpu_end.h"
