/* gpu_kernels_impl.h - the kernels for one width of key.
 *
 * Parameter: W (4, 8, 16). Written in the common subset of C11 and CUDA
 * C++, over vendor_cuda.h or vendor_simt.h. */

#define NAME3_(a, b) a##_##b
#define NAME3(a, b) NAME3_(a, b)
#define F(name) NAME3(name, W)
#define NAME2_(a, b) a##b
#define NAME2(a, b) NAME2_(a, b)
#define KEY NAME2(sx_key, W)
#define SX_WALK SX_DEV
#define SX_LOAD(p) (*(const KEY *)(const void *)(p))
#define SX_COUNT(p, m, q) F(count)((p), (m), (q))
#define SX_COUNT_UNIT(p, m, q) F(count_unit)((p), (m), (q))

SX_DEV unsigned F(count)(const unsigned char *p, uint32_t m, KEY q)
{
    unsigned below = 0;

    for (uint32_t i = 0; i < m; i++)
        below += SX_LOAD(p + i * W) < q;
    return below;
}

/* The keys in 16 bytes that are below q. */
SX_DEV unsigned F(count_16)(uint4 x, KEY q)
{
#if W == 4
    return (unsigned)((x.x < q) + (x.y < q) + (x.z < q) + (x.w < q));
#elif W == 8
    return (unsigned)(((uint64_t)x.x | (uint64_t)x.y << 32) < q) +
           (unsigned)(((uint64_t)x.z | (uint64_t)x.w << 32) < q);
#else
    return (unsigned)(((KEY)((uint64_t)x.z | (uint64_t)x.w << 32) << 64 |
                       ((uint64_t)x.x | (uint64_t)x.y << 32)) < q);
#endif
}

/* m keys are 1, 2 or 4 times 16 bytes (sx_pivot_unit()). All loads are on
 * their way before the first is needed. */
SX_DEV unsigned F(count_unit)(const unsigned char *p, uint32_t m, KEY q)
{
    uint4 a = sx_load16(p), b, c, d;
    unsigned below;

    if (m * W == 16)
        return F(count_16)(a, q);
    b = sx_load16(p + 16);
    if (m * W == 32)
        return F(count_16)(a, q) + F(count_16)(b, q);
    c = sx_load16(p + 32);
    d = sx_load16(p + 48);
    below = F(count_16)(a, q) + F(count_16)(b, q);
    return below + F(count_16)(c, q) + F(count_16)(d, q);
}

#include "index/eytz_walk_impl.h"
#include "index/pivot_walk_impl.h"

/* ---- keys in columns ------------------------------------------------------- */

SX_DEV KEY F(read_key)(int type, const void *column, uint64_t i)
{
#if W == 4
    uint32_t b = ((const uint32_t *)column)[i];
    return type == SX_U32 ? b : type == SX_I32 ? sx_enc_i32(b) : sx_enc_f32(b);
#elif W == 8
    uint64_t b = ((const uint64_t *)column)[i];
    return type == SX_U64 ? b : type == SX_I64 ? sx_enc_i64(b) : sx_enc_f64(b);
#else
    (void)type;
    return sx_enc_b16((const unsigned char *)column + i * 16);
#endif
}

SX_DEV void F(write_key)(int type, void *column, uint64_t i, KEY k)
{
#if W == 4
    ((uint32_t *)column)[i] = type == SX_U32 ? k : type == SX_I32 ? sx_dec_i32(k) : sx_dec_f32(k);
#elif W == 8
    ((uint64_t *)column)[i] = type == SX_U64 ? k : type == SX_I64 ? sx_dec_i64(k) : sx_dec_f64(k);
#else
    (void)type;
    sx_dec_b16(k, (unsigned char *)column + i * 16);
#endif
}

SX_DEV KEY F(slot_key)(const sx_view *v, uint64_t slot)
{
    return SX_LOAD(v->keys + sx_key_offset(v, slot));
}

/* ---- one walk ------------------------------------------------------------------ */

SX_DEV uint64_t F(pivot_bound)(const sx_view *v, KEY q)
{
    uint32_t unit = sx_pivot_unit(v);
    uint64_t len = F(pivot_window)(v, unit), at = 0;

    for (uint32_t l = 0; l < v->levels; l++)
        at = F(pivot_level)(v, l, at, F(pivot_last_child)(v, l), q, unit);
    at = F(pivot_begin)(v, at, len, unit);
    while (len > 1) {
        uint64_t half = len / 2;
        len -= half;
        at = F(pivot_halve)(v, at, half, q, unit);
    }
    return F(pivot_finish)(v, at, q, unit);
}

SX_DEV uint64_t F(eytz_bound)(const sx_view *v, KEY q, uint64_t *slot)
{
    int shape = sx_eytz_shape(v);
    uint64_t g = 0;

    for (uint32_t t = 0; t < v->levels; t++)
        g = F(eytz_level)(v, t, g, slot, q, shape);
    return F(eytz_finish)(v, g, slot, q, shape);
}

/* The rank of the lower bound of q, and its slot. */
SX_DEV uint64_t F(bound)(const sx_view *v, KEY q, uint64_t *slot)
{
    uint64_t rank;

    *slot = SX_NO_SLOT;
    if (v->n == 0)
        return 0;
    if (v->family == SX_FAM_EYTZ)
        return F(eytz_bound)(v, q, slot);
    rank = F(pivot_bound)(v, q);
    if (rank < v->n)
        *slot = rank;
    return rank;
}

SX_DEV uint64_t F(right_rank)(const sx_view *v, KEY q)
{
    uint64_t slot;

    return q == (KEY)~(KEY)0 ? v->n : F(bound)(v, (KEY)(q + 1), &slot);
}

/* ---- questions --------------------------------------------------------------------- */

SX_KERNEL(F(k_lookup), sx_gpu_lookup)
{
    const sx_view *v = &ap->v;

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        uint64_t rank, slot = SX_NO_SLOT;
        if (ap->op == SX_OP_KEY_AT) {
            rank = sx_number_at(ap->q, ap->rank_bytes, i);
        } else {
            KEY q = F(read_key)(ap->key_type, ap->q, i);
            if (ap->op == SX_OP_RANK_RIGHT || ap->op == SX_OP_FLOOR)
                rank = F(right_rank)(v, q) - (ap->op == SX_OP_FLOOR);
            else
                rank = F(bound)(v, q, &slot);
            if (ap->op == SX_OP_GET && slot != SX_NO_SLOT && F(slot_key)(v, slot) != q)
                slot = SX_NO_SLOT;
        }
        if (ap->op == SX_OP_RANK_LEFT || ap->op == SX_OP_RANK_RIGHT) {
            sx_put_number(ap->out, ap->out_bytes, i, rank);
            continue;
        }
        if ((ap->op == SX_OP_KEY_AT || ap->op == SX_OP_FLOOR) && rank < v->n)
            slot = sx_slot_of_rank(v, rank);
        if (ap->out)
            sx_put_number(ap->out, ap->out_bytes, i,
                          slot == SX_NO_SLOT ? SX_MISS : sx_row_at(v, slot, rank));
        if (ap->keys && slot != SX_NO_SLOT)
            F(write_key)(ap->key_type, ap->keys, i, F(slot_key)(v, slot));
    }
}

SX_KERNEL(F(k_spans), sx_gpu_spans)
{
    const sx_view *v = &ap->v;

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY lo = F(read_key)(ap->key_type, ap->lo, i), hi = F(read_key)(ap->key_type, ap->hi, i);
        uint64_t slot, start = F(bound)(v, lo, &slot), end = F(right_rank)(v, hi);
        uint64_t count = lo > hi || end < start ? 0 : end - start;
        if (count > ap->limit) {
            start += ap->last ? count - ap->limit : 0;
            count = ap->limit;
        }
        if (ap->start)
            ap->start[i] = start;
        ap->count[i] = count;
    }
}

/* A thread per result: the span it belongs to is found by its offset. */
SX_KERNEL(F(k_fill), sx_gpu_fill)
{
    const sx_view *v = &ap->v;

    for (uint64_t o = ap->from + SX_THREAD; o < ap->to; o += SX_THREADS) {
        uint64_t lo = 0, hi = ap->n, rank, slot;
        while (hi - lo > 1) {
            uint64_t mid = lo + (hi - lo) / 2;
            if (ap->first[mid] <= o)
                lo = mid;
            else
                hi = mid;
        }
        rank = ap->start[lo] + (o - ap->first[lo]);
        slot = sx_slot_of_rank(v, rank);
        if (ap->rows)
            sx_put_number(ap->rows, ap->row_bytes, o - ap->from, sx_row_at(v, slot, rank));
        if (ap->keys)
            F(write_key)(ap->key_type, ap->keys, o - ap->from, F(slot_key)(v, slot));
    }
}

/* ---- building ------------------------------------------------------------------------ */

SX_KERNEL(F(k_encode), sx_gpu_input)
{
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS)
        ((KEY *)ap->keys)[i] = F(read_key)(ap->key_type, ap->in_keys, i);
}

SX_KERNEL(F(k_descent), sx_gpu_input)
{
    const KEY *k = (const KEY *)ap->keys;

    for (uint64_t i = SX_THREAD; i + 1 < ap->n; i += SX_THREADS)
        if (k[i] > k[i + 1])
            atomicMin(&ap->facts->descent_at, (sx_word)i);
}

SX_KERNEL(F(k_repeat), sx_gpu_input)
{
    const KEY *k = (const KEY *)ap->keys;

    for (uint64_t i = SX_THREAD; i + 1 < ap->n; i += SX_THREADS)
        if (k[i] == k[i + 1])
            atomicMin(&ap->facts->repeat_at, (sx_word)i);
}

/* One load and one store per slot: where its key comes from is arithmetic. */
SX_KERNEL(F(k_slots), sx_gpu_build)
{
    const sx_view *v = &ap->v;

    for (uint64_t slot = SX_THREAD; slot < v->slots; slot += SX_THREADS) {
        KEY *to = (KEY *)(void *)(ap->keys + sx_key_offset(v, slot));
        unsigned char *row = ap->rows ? ap->rows + sx_row_offset(v, slot) : 0;
        uint64_t rank;
        if (slot >= v->n) {
            *to = (KEY)~(KEY)0;
            if (v->block)
                sx_put_number(row, v->row_bytes, 0, SX_MISS);
            continue;
        }
        rank = sx_rank_of_slot(v, slot);
        *to = ((const KEY *)ap->from_keys)[rank];
        if (v->row_bytes)
            sx_put_number(row, v->row_bytes, 0,
                          sx_number_at(ap->from_rows, v->row_bytes, rank));
    }
}

SX_KERNEL(F(k_pivots), sx_gpu_build)
{
    const sx_view *v = &ap->v;
    const KEY *from = (const KEY *)ap->from_keys;
    KEY *to = (KEY *)(void *)ap->pivots;

    for (uint64_t i = SX_THREAD; i < v->level_first[v->levels]; i += SX_THREADS) {
        uint32_t l = 0;
        while (l + 1 < v->levels && v->level_first[l + 1] <= i)
            l++;
        uint64_t source = sx_pivot_source(v, l, i - v->level_first[l]);
        to[i] = source < v->n ? from[source] : (KEY)~(KEY)0;
    }
}

#undef SX_COUNT_UNIT
#undef SX_COUNT
#undef SX_LOAD
#undef SX_WALK
#undef KEY
#undef F
