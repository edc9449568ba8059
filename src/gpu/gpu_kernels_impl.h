/* gpu_kernels_impl.h - kernels that know no family, for one width of key: columns in, slots
 * out. */
#include "family/generic/gpu_begin.h"
#include "family/generic/gpu_columns_impl.h"
#include "family/generic/gpu_side_impl.h"
#include "family/generic/gpu_answer_impl.h"
#include "gpu/gpu_whole_impl.h"
#include "gpu/gpu_fill_impl.h"

/* ---- ranks and keys ----------------------------------------------------------------- */

SX_KERNEL(F(k_key_at), sx_gpu_lookup)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        uint64_t rank = ap->rank_bytes ? sx_number_at(ap->q, ap->rank_bytes, i)
                                       : sx_some_rank(i, ap->ahead, v->ranks);
        uint64_t slot = rank < v->ranks ? sx_slot_of_rank(v, sx_position_of(v, rank)) : SX_NO_SLOT;
        F(put)(ap, i, slot == SX_NO_SLOT || !ap->out ? SX_MISS : sx_row_at(v, slot, rank), slot);
    }
}

/* ---- building ----------------------------------------------------------------------- */

/* The ends of ranges that prefixes are: zeros behind the prefix, and ones. */
SX_KERNEL(F(k_prefix_ends), sx_prefix_ends)
{
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        uint32_t bits = ap->bits ? ap->bits[i] : ap->length;
        KEY key = F(read_key)(ap->key_type, ap->of, i);
        KEY rest = bits >= 8 * W ? 0 : (KEY)((KEY)~(KEY)0 >> bits);
        F(write_key)(ap->key_type, ap->lo, i, (KEY)(key & ~rest));
        F(write_key)(ap->key_type, ap->hi, i, (KEY)(key | rest));
    }
}

/* Each lane has four keys on their way at a time. Of random keys every warp sees a descent at once. */
#define SX_LOOK 4u

SX_KERNEL(F(k_descent), sx_gpu_input)
{
    const KEY *k = (const KEY *)ap->keys;
    int descends = 0;

    for (uint64_t base = (SX_THREAD - SX_LANE) * SX_LOOK; base + 1 < ap->n && !SX_ANY(descends);
         base += SX_THREADS * SX_LOOK) {
        SX_UNROLL
        for (unsigned t = 0; t < SX_LOOK; t++) {
            uint64_t i = base + t * 32 + SX_LANE;
            descends |= i + 1 < ap->n && k[i] > k[i + 1];
        }
    }
    sx_block_max((uint64_t)descends, &ap->facts->descends);
    sx_post_facts(ap);
}

/* Takes keys as a sort wants them, and looks at rows. With `rows` it takes these, too, and looks
 * whether keys descend. It reads keys twice for that, so the caller may change one in between: that
 * they ascend must not be relied on then. A thread has four keys on their way before it stores one, as
 * the compiler can't know that it stores them elsewhere. */
SX_KERNEL(F(k_take), sx_gpu_input)
{
    uint64_t reserved = ap->row_type == SX_U64 ? SX_MISS : SX_MISS32, max = 0, first = 0;
    uint32_t bytes = ap->row_type == SX_U64 ? 8 : 4;
    int descends = 0;

    for (uint64_t from = SX_THREAD; from < ap->n; from += SX_LOOK * SX_THREADS) {
        KEY key[SX_LOOK];
        uint64_t row[SX_LOOK];
        SX_UNROLL
        for (unsigned t = 0; t < SX_LOOK; t++) {
            uint64_t i = from + t * SX_THREADS;
            key[t] = 0;
            row[t] = 0;
            if (i >= ap->n)
                continue;
            key[t] = F(read_key)(ap->key_type, ap->in_keys, i);
            row[t] = ap->row_type ? sx_number_at(ap->in_rows, bytes, i) : i;
            if (ap->rows && i + 1 < ap->n)
                descends |= key[t] > F(read_key)(ap->key_type, ap->in_keys, i + 1);
        }
        SX_UNROLL
        for (unsigned t = 0; t < SX_LOOK; t++) {
            uint64_t i = from + t * SX_THREADS;
            if (i >= ap->n)
                continue;
            ((KEY *)ap->keys)[i] = key[t];
            if (ap->rows)
                sx_put_number(ap->rows, ap->row_bytes, i, row[t]);
            if (ap->row_type && row[t] == reserved && first == 0)
                first = ap->n - i;
            max = row[t] > max ? row[t] : max;
        }
    }
    sx_block_max(max, &ap->facts->max_row);
    SX_BARRIER();
    sx_block_max((uint64_t)descends, &ap->facts->descends);
    SX_BARRIER();
    sx_block_max(first, &ap->facts->reserved_from);
}

/* Keys at these ranks, whatever they are. */
SX_DEV void F(peek)(const sx_gpu_input *ap, const KEY *k)
{

    for (uint64_t i = SX_THREAD; i < ap->ranks; i += SX_THREADS) {
        uint64_t rank = ap->rank[i] < ap->n ? ap->rank[i] : ap->n - 1;
        ((KEY *)ap->peeked)[i] = k[rank];
    }
}

SX_KERNEL(F(k_peek), sx_gpu_input)
{
    F(peek)(ap, (const KEY *)ap->keys);
}

/* Looks for equal keys, and counts values by tiles, each of which is a warp's turn. It also takes
 * keys that are wanted as soon as they are sorted, and fills the last line. */
#if SX_VALUES_TILE != 32 * SX_LOOK
#error "a tile is no warp's turn"
#endif
SX_DEV void F(repeat)(const sx_gpu_input *ap, KEY *k)
{
    uint64_t from = 0, all = 0;

    F(peek)(ap, k);
    for (uint64_t i = ap->n + SX_THREAD; i < ap->space; i += SX_THREADS)
        k[i] = (KEY)~(KEY)0;
    for (uint64_t base = (SX_THREAD - SX_LANE) * SX_LOOK; base < ap->n;
         base += SX_THREADS * SX_LOOK) {
        int begins[SX_LOOK];
        uint32_t values = 0;
        SX_UNROLL
        for (unsigned t = 0; t < SX_LOOK; t++) {
            uint64_t i = base + t * 32 + SX_LANE;
            begins[t] = i < ap->n && (i == 0 || k[i] != k[i - 1]);
        }
        SX_UNROLL
        for (unsigned t = 0; t < SX_LOOK; t++) {
            uint64_t i = base + t * 32 + SX_LANE;
            if (i < ap->n && !begins[t] && from == 0)
                from = ap->n - (i - 1);
            values += SX_POPC(SX_BALLOT(begins[t]));
        }
        if (SX_LANE == 0) {
            ap->count[base / (32 * SX_LOOK)] = values;
            all += values;
        }
    }
    sx_block_max(from, &ap->facts->repeat_from);
    SX_BARRIER();
    sx_block_sum(all, &ap->facts->values);
    sx_post_facts(ap);
}
#undef SX_LOOK

SX_KERNEL(F(k_repeat), sx_gpu_input)
{
    F(repeat)(ap, (KEY *)ap->keys);
}

/* Values that begin in tiles before this one. */
SX_DEV uint64_t F(values_before)(const sx_gpu_values *ap, uint64_t tile)
{
    uint64_t sum = 0;

    if (!ap->few)
        return ap->count[tile];
    for (uint64_t t = SX_LANE; t < tile; t += 32)
        sum += ap->count[t];
    for (unsigned s = 16; s > 0; s /= 2)
        sum += SX_SHUFFLE_XOR(sum, s);
    return sum;
}

/* Where all is if there are so many values. */
SX_DEV void F(place_values)(sx_gpu_values *to, uint64_t values)
{
    uint64_t firsts = sx_firsts_offset(values, to->n);

    to->space = (values * W + SX_LINE - 1) / SX_LINE * SX_LINE / W;
    to->firsts = (unsigned char *)to->starts + firsts;
    to->start_space = firsts / to->start_bytes;
}

/* What is behind the last of `values` values. */
SX_DEV void F(values_end)(const sx_gpu_values *ap, uint64_t values)
{
    for (uint64_t i = values + SX_LANE; i < ap->space; i += 32)
        ((KEY *)ap->to_keys)[i] = (KEY)~(KEY)0;
    for (uint64_t i = values + SX_LANE; i < ap->start_space; i += 32)
        sx_put_number(ap->starts, ap->start_bytes, i, i == values ? ap->n : 0);
}

/* Each value once, and where its keys begin. A warp has a tile of keys, and k_repeat counted
 * values by tiles. All keys of a lane are on their way before the first is looked at. */
#define SX_ITS (SX_VALUES_TILE / 32)
SX_DEV void F(values)(const sx_gpu_values *ap)
{
    const KEY *k = (const KEY *)ap->keys;
    uint64_t tiles = (ap->n - 1) / SX_VALUES_TILE + 1;
    sx_gpu_values to = *ap;

    if (ap->early)
        F(place_values)(&to, F(values_before)(ap, tiles));
    for (uint64_t tile = SX_THREAD / 32; tile < tiles; tile += SX_THREADS / 32) {
        uint64_t at = F(values_before)(ap, tile);
        uint64_t from = tile * SX_VALUES_TILE + SX_LANE;
        KEY own[SX_ITS];
        int begins[SX_ITS];
        SX_UNROLL
        for (unsigned t = 0; t < SX_ITS; t++) {
            uint64_t i = from + t * 32;
            own[t] = i < ap->n ? k[i] : 0;
            begins[t] = i < ap->n && (i == 0 || own[t] != k[i - 1]);
        }
        SX_UNROLL
        for (unsigned t = 0; t < SX_ITS; t++) {
            unsigned all = SX_BALLOT(begins[t]);
            if (begins[t]) {
                uint64_t place = at + SX_POPC(all & ((1u << SX_LANE) - 1));
                ((KEY *)to.to_keys)[place] = own[t];
                sx_put_number(to.starts, to.start_bytes, place, from + t * 32);
                if (ap->row_bytes)
                    sx_put_number(to.firsts, ap->row_bytes, place,
                                  sx_number_at(ap->rows, ap->row_bytes, from + t * 32));
            }
            at += SX_POPC(all);
        }
        if (tile == tiles - 1)
            F(values_end)(&to, at);
    }
}
#undef SX_ITS

SX_KERNEL(F(k_values), sx_gpu_values)
{
    F(values)(ap);
}

#include "gpu/gpu_few_impl.h"

/* One load and one store per slot: where its key comes from is arithmetic. */
SX_KERNEL(F(k_slots), sx_gpu_build)
{
    const sx_view *v = &ap->v;

    for (uint64_t slot = ap->whole + SX_THREAD; slot < v->slots; slot += SX_THREADS) {
        KEY *to = (KEY *)(void *)(ap->keys + sx_key_offset(v, slot));
        unsigned char *row = ap->rows ? ap->rows + sx_row_offset(v, slot) : 0;
        uint64_t rank = sx_rank_of_slot(v, slot);
        if (rank == SX_HOLE)
            continue;
        if (rank >= v->n) {
            *to = (KEY)~(KEY)0;
            if (row && (v->block || sx_slots_gaps(v)))
                sx_put_number(row, v->row_bytes, 0, SX_MISS);
            continue;
        }
        *to = ((const KEY *)ap->from_keys)[rank];
        if (row)
            sx_put_number(row, v->row_bytes, 0,
                          sx_number_at(ap->from_rows, v->row_bytes, rank));
    }
}

#include "family/generic/gpu_end.h"
