/* pgm_check.c - see pgm.h.
 *
 * What a level predicts for q does not fall as q rises, as long as q stays in a
 * segment, and the right answer changes only behind a key. So of the queries
 * behind one key, up to the next, it is enough to look at the first, the last,
 * and where on any level a segment ends or begins. In between, windows begin no
 * later than at the last one and end no sooner than at the first. */
#include "family/pgm/pgm_check.h"


#include <string.h>

static sx_status broken(const char *rule, const char *what, uint32_t level, uint64_t where,
                        sx_err *err)
{
    return sx_fail(err, SX_ECORRUPT, "pgm, invariant %s: %s %llu (level %u)", rule, what,
                   (unsigned long long)where, level);
}

#define W 4
#include "family/pgm/pgm_check_impl.h"
#undef W
#define W 8
#include "family/pgm/pgm_check_impl.h"
#undef W
#define W 16
#include "family/pgm/pgm_check_impl.h"
#undef W

/* Behind the segments of each level: an end, the largest key, zeros. */
static sx_status check_ends(const sx_view *v, sx_err *err)
{
    unsigned char largest[16];

    memset(largest, 0xff, sizeof largest);
    for (uint32_t l = 0; l < v->of.pgm.levels; l++)
        for (uint64_t i = v->of.pgm.level_count[l]; i < v->of.pgm.level_first[l + 1] - v->of.pgm.level_first[l]; i++) {
            uint64_t at = v->of.pgm.level_first[l] + i;
            sx_segment want = {0, i == v->of.pgm.level_count[l] ? sx_level_below(&v->of.pgm, v->n, l) << 16 : 0};
            if (memcmp(v->of.pgm.segment_keys + at * v->width, largest, v->width) != 0 ||
                memcmp(v->of.pgm.segments + at * SX_SEGMENT, &want, SX_SEGMENT) != 0)
                return broken("S1", "not the end of a level, entry", l, i, err);
        }
    return SX_OK;
}

sx_status sx_pgm_check(const sx_view *v, sx_err *err)
{
    sx_status st = check_ends(v, err);

    if (st != SX_OK)
        return st;
    return v->width == 4 ? check_pgm_4(v, err) : v->width == 8 ? check_pgm_8(v, err)
                                                               : check_pgm_16(v, err);
}
