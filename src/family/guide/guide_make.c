#include "family/guide/guide_make.h"


#include <string.h>

#define W 4
#include "family/guide/guide_make_impl.h"
#undef W
#define W 8
#include "family/guide/guide_make_impl.h"
#undef W
#define W 16
#include "family/guide/guide_make_impl.h"
#undef W

void sx_guide_make_first(const sx_view *v, const unsigned char *keys, uint64_t piece,
                         unsigned char *to)
{
    if (piece < v->of.guide.pieces)
        memcpy(to, keys + sx_piece_rank(&v->of.guide, v->n, piece) * v->width, v->width);
    else
        memset(to, 0xff, v->width);
}

sx_piece_map sx_guide_make_map(const sx_view *v, const unsigned char *keys, uint64_t piece)
{
    return v->width == 4   ? make_map_4(v, keys, piece)
           : v->width == 8 ? make_map_8(v, keys, piece)
                           : make_map_16(v, keys, piece);
}

void sx_guide_make_record(const sx_view *v, const unsigned char *keys, uint64_t record,
                          unsigned char to[SX_GUIDE_RECORD])
{
    if (v->width == 4)
        guide_record_4(v, keys, record, to);
    else if (v->width == 8)
        guide_record_8(v, keys, record, to);
    else
        guide_record_16(v, keys, record, to);
}
