/* guide_gpu_impl.h - guide_gpu.cu for one width of key. */
#include "family/generic/gpu_begin.h"
#include "family/generic/gpu_columns_impl.h"
#include "family/generic/gpu_near_impl.h"
#include "family/guide/guide_bound_impl.h"

SX_DEV uint64_t F(bound_near)(const sx_view *v, KEY q, uint64_t *slot, uint32_t unit,
                              const unsigned char *top, uint64_t top_bytes)
{
    *slot = SX_NO_SLOT;
    return v->n == 0 ? 0 : F(guide_bound)(v, q, slot, unit, top, top_bytes);
}

SX_DEV void F(fill_top)(const sx_gpu_lookup *ap)
{
    (void)ap;                     /* nothing is staged */
}

#include "family/generic/gpu_bound_impl.h"
#include "family/generic/gpu_points_impl.h"
#include "family/generic/gpu_ascending_impl.h"
#include "family/generic/gpu_ranges_impl.h"
#include "family/generic/gpu_climb_impl.h"
#include "family/generic/gpu_reorders_impl.h"

SX_DEV uint64_t F(enter)(const sx_view *v, uint32_t l, uint64_t at)
{
    return F(guide_enter)(v, l, at);
}

SX_DEV uint64_t F(step)(const sx_view *v, uint32_t l, uint64_t at, KEY q)
{
    return F(guide_step)(v, l, at, q);
}
#include "family/generic/gpu_steps_impl.h"

#if GPU_LAB
/* There is nothing to share: all lanes do the same. */
SX_DEV uint64_t F(group_bound)(const sx_gpu_lookup *ap, KEY w, uint64_t *slot)
{
    return F(bound_near)(SX_GPU_VIEW(&ap->views), w, slot, ap->unit, 0, 0);
}

#define SX_GROUP_KERNEL
#include "family/generic/gpu_group_impl.h"
#undef SX_GROUP_KERNEL
#endif

/* ---- lanes that read together --------------------------------------------------------- */

#include "family/generic/gpu_leaf_impl.h"

/* A guide's window for w, in units [*from, *to). Returns which of them to look at first.
 * Cells have 32-bit numbers (shared_args()). */
SX_DEV uint32_t F(find_window)(const sx_gpu_lookup *ap, KEY w, uint32_t *from, uint32_t *to)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    uint32_t fraction, count, shift = sx_log2(ap->unit), last = (uint32_t)((v->slots - 1) >> shift);
    uint32_t bucket = (uint32_t)F(guide_cell)(v, w, &fraction);
    uint32_t record = bucket / SX_GUIDE_CELLS, at;
    uint64_t start = F(record_window)(v->of.guide.records + (uint64_t)record * SX_GUIDE_RECORD,
                                       bucket - record * SX_GUIDE_CELLS, &count);

    if (count == SX_GUIDE_CROWDED) {
        uint64_t keys;
        start = F(guide_window)(v, bucket, &keys);
        *from = (uint32_t)(start >> shift);
        *to = (uint32_t)((start + keys + ap->unit - 1) >> shift);
        return (uint32_t)F(guide_guess)(v, w, start, keys, fraction, ap->unit);
    }
    at = (uint32_t)((start + ((uint64_t)count * fraction >> 32)) >> shift);
    *from = (uint32_t)(start >> shift);
    *to = (uint32_t)((start + count + ap->unit - 1) >> shift);
    *to = *to < last + 1 ? *to : last + 1;
    return at < last ? at : last;
}

#define SX_BESIDE SX_GUIDE_NEXT
#include "family/generic/gpu_window_impl.h"
#undef SX_BESIDE

/* ---- building ------------------------------------------------------------------------- */

/* A thread makes a piece: its first key and its map. */
SX_KERNEL(F(k_pieces), sx_gpu_build)
{
    const sx_view *v = &ap->v;
    const KEY *from = (const KEY *)ap->from_keys;
    KEY *firsts = (KEY *)(void *)ap->own[0];
    const sx_guide *g = &v->of.guide;
    sx_piece_map *maps = (sx_piece_map *)(void *)(ap->own[0] + sx_piece_key_bytes(g, W));

    for (uint64_t p = SX_THREAD; p < sx_piece_key_bytes(g, W) / W; p += SX_THREADS) {
        KEY first = p < g->pieces ? from[sx_piece_rank(g, v->n, p)] : (KEY)~(KEY)0;
        firsts[p] = first;
        if (p < g->pieces)
            maps[p] = F(guide_map)(v, first, from[p + 1 < g->pieces
                                                      ? sx_piece_rank(g, v->n, p + 1) : v->n - 1]);
    }
}

/* Of keys that a warp has, one a lane and ascending: how many have a number below `least`. */
SX_DEV uint32_t F(lanes_below)(uint32_t number, uint32_t least)
{
    uint32_t below = 0;

    SX_UNROLL
    for (uint32_t s = 16; s > 0; s /= 2)
        below += SX_SHUFFLE(number, below + s - 1) < least ? s : 0;
    return below + (SX_SHUFFLE(number, below) < least);
}

/* The first 32 of keys [first, last), one a lane. */
SX_DEV KEY F(lane_key)(const unsigned char *keys, uint64_t first, uint64_t last)
{
    return first + SX_LANE < last ? SX_LOAD(keys + (first + SX_LANE) * W) : 0;
}

/* Where the cell of each lane begins, of a record whose keys are [first, last), of which `key` is the
 * lane's among the first 32, and whose cells are all of one piece. Lanes read keys side by side, and
 * each says of which cell its key is. */
SX_DEV uint64_t F(cell_starts)(const sx_view *v, const unsigned char *keys, uint64_t record,
                               uint32_t piece, uint64_t first, uint64_t last, KEY key)
{
    uint32_t lane = SX_LANE, fraction;
    uint64_t begin = first;

    for (uint64_t at = first; at < last; at += 32) {
        KEY next = F(lane_key)(keys, at + 32, last);
        uint32_t number = SX_GUIDE_CELLS;         /* of no cell */
        if (at + lane < last)
            number = (uint32_t)(F(guide_cell_in)(v, key, piece, &fraction) -
                                record * SX_GUIDE_CELLS);
        begin += F(lanes_below)(number, lane);
        key = next;
    }
    return begin < last ? begin : last;
}

/* More keys of a record than this are searched, and not read one by one. */
#define SX_READ_MOST 256u
#define SX_TURNS 16u

/* A warp makes records, SX_TURNS at a time, out of the keys and the pieces in v, as guide_record()
 * does. First half of its lanes find where each of these records begins, among all keys of a piece,
 * and the others where it ends. Then, of each record, every lane finds where one cell begins, among
 * the few keys in between, and writes one byte; meanwhile keys of the next one come. A warp's records
 * are far apart, as many keys may be in a few records side by side. */
SX_KERNEL(F(k_guide), sx_gpu_build)
{
    const sx_view *v = &ap->v;
    const unsigned char *keys = (const unsigned char *)ap->from_keys;
    uint64_t step = v->n / v->of.guide.pieces + 1, cells = sx_guide_cells(&v->of.guide);
    uint64_t records = sx_guide_records(&v->of.guide), of_piece = v->of.guide.piece_cells;
    uint64_t warps = SX_THREADS / 32;
    uint32_t lane = SX_LANE, cell = lane < SX_GUIDE_HEAD ? 0 : lane - SX_GUIDE_HEAD;

    for (uint64_t base = SX_THREAD / 32; base < records; base += SX_TURNS * warps) {
        uint64_t its = base + lane % SX_TURNS * warps + lane / SX_TURNS, last, r = base;
        its = F(guide_start)(v, keys, its * SX_GUIDE_CELLS, 0, step);
        last = SX_SHUFFLE(its, SX_TURNS);
        KEY key = F(lane_key)(keys, SX_SHUFFLE(its, 0), last);
        for (uint32_t k = 0; k < SX_TURNS && r < records; k++, r += warps) {
            uint64_t first = SX_SHUFFLE(its, k), next = SX_SHUFFLE(its, (k + 1) % SX_TURNS), count;
            uint64_t mine = r * SX_GUIDE_CELLS + lane, begin = lane > 0 ? last : first;
            uint64_t next_last = SX_SHUFFLE(its, SX_TURNS + (k + 1) % SX_TURNS);
            uint32_t piece = (uint32_t)(r * SX_GUIDE_CELLS / of_piece);
            KEY next_key = F(lane_key)(keys, next, next_last);
            int crowded;
            if (last - first <= SX_READ_MOST &&
                ((r + 1) * SX_GUIDE_CELLS - 1) / of_piece == piece)
                begin = F(cell_starts)(v, keys, r, piece, first, last, key);
            else if (lane > 0 && lane < SX_GUIDE_CELLS && mine < cells)
                begin = F(guide_start_in)(v, keys, mine, (uint32_t)(mine / of_piece), first, last);
            count = SX_SHUFFLE(begin, cell + 1) - SX_SHUFFLE(begin, cell);
            crowded = SX_ANY(count > SX_GUIDE_MOST);
            ap->own[1][r * SX_GUIDE_RECORD + lane] =
                (unsigned char)(lane < SX_GUIDE_HEAD ? first >> 8 * lane : crowded ? 255 : count);
            key = next_key;
            last = next_last;
        }
    }
}
#undef SX_TURNS
#undef SX_READ_MOST

#include "family/generic/gpu_end.h"
