/* guide_make_impl.h - guide_make.c for one width W. */
#include "family/generic/width_begin.h"
#define SX_LOAD(p) (*(const KEY *)(const void *)(p))
#define SX_COUNT(p, m, q) F(count)((p), (m), (q))
#define SX_COUNT_UNIT(p, m, q) F(count)((p), (m), (q))
#define SX_RECORD_WINDOW(p, j, count) sx_record_window((p), (j), (count))

static inline unsigned F(count)(const unsigned char *p, uint32_t m, KEY q)
{
    unsigned below = 0;

    for (uint32_t i = 0; i < m; i++)
        below += SX_LOAD(p + i * W) < q;
    return below;
}

#include "family/generic/array_walk_impl.h"
#include "family/guide/guide_walk_impl.h"

static sx_piece_map F(make_map)(const sx_view *v, const unsigned char *keys, uint64_t piece)
{
    uint64_t end = piece + 1 < v->of.guide.pieces ? sx_piece_rank(&v->of.guide, v->n, piece + 1) : v->n - 1;

    return F(guide_map)(v, SX_LOAD(keys + sx_piece_rank(&v->of.guide, v->n, piece) * W), SX_LOAD(keys + end * W));
}

#undef SX_RECORD_WINDOW
#undef SX_COUNT_UNIT
#undef SX_COUNT
#undef SX_LOAD
#include "family/generic/width_end.h"
