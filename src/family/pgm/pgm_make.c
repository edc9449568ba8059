#include "family/pgm/pgm_make.h"

#include <string.h>

#define W 4
#include "family/pgm/pgm_make_impl.h"
#undef W
#define W 8
#include "family/pgm/pgm_make_impl.h"
#undef W
#define W 16
#include "family/pgm/pgm_make_impl.h"
#undef W

uint64_t sx_pgm_fit(uint32_t width, const void *keys, uint64_t n, uint64_t first, uint64_t end,
                    uint32_t eps, uint32_t *hulls, void *out_keys, sx_segment *out)
{
    return width == 4   ? pgm_fit_part_4(keys, n, first, end, eps, hulls, out_keys, out)
           : width == 8 ? pgm_fit_part_8(keys, n, first, end, eps, hulls, out_keys, out)
                        : pgm_fit_part_16(keys, n, first, end, eps, hulls, out_keys, out);
}

void sx_pgm_put_level(const sx_view *v, uint32_t l, const void *from_keys, const sx_segment *from,
                      unsigned char *keys, unsigned char *segments)
{
    uint64_t m = v->of.pgm.level_count[l], rest = v->of.pgm.level_first[l + 1] - v->of.pgm.level_first[l] - m;
    sx_segment end = {0, sx_level_below(&v->of.pgm, v->n, l) << 16};

    keys += v->of.pgm.level_first[l] * v->width;
    segments += v->of.pgm.level_first[l] * SX_SEGMENT;
    memcpy(keys, from_keys, m * v->width);
    memset(keys + m * v->width, 0xff, rest * v->width);
    memcpy(segments, from, m * SX_SEGMENT);
    memset(segments + m * SX_SEGMENT, 0, rest * SX_SEGMENT);
    memcpy(segments + m * SX_SEGMENT, &end, SX_SEGMENT);
}
