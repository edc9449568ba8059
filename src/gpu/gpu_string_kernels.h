/* gpu_string_kernels.h - kernels for strings (keys/strings.h), which know no family:
 *
 *     k_codes       strings -> codes, which the family's own kernels then search as unsigned keys
 *     k_settle      positions of codes -> positions of strings -> answers
 *     k_ranks       ranks -> positions and rows
 *     k_ends        ranks of both ends of ranges -> spans
 *     k_fold_spans  rows of spans, folded
 *     k_string_*    strings as results: lengths, offsets, bytes
 *
 * A thread has a string, unless it says otherwise. Offsets of queries, which the caller may change
 * at any time, and of files are believed only as far as the bytes there are. */
#ifndef SX_GPU_STRING_KERNELS_H
#define SX_GPU_STRING_KERNELS_H

#include "family/generic/gpu_texts.h"

SX_KERNEL(k_codes, sx_gpu_codes)
{
    const sx_strings *s = &ap->keys;

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        sx_code_walk w = {0, 0, 0, 0};
        uint64_t length;
        const unsigned char *q = sx_text_at(&ap->q, i, &length);
        if (s->cells > 0)         /* of no strings there are none */
            while (!sx_code_step(s, q, length, &w))
                ;
        sx_put_number(ap->code, ap->code_bytes, i, w.code);
        ap->same[i] = (uint32_t)(w.same < UINT32_MAX ? w.same : UINT32_MAX);
    }
}

/* ---- from codes to strings --------------------------------------------------------------- */

/* What answers a question whose bound is at this position; *position becomes that of the string
 * that answers, or n. */
SX_DEV uint64_t sx_text_number(const sx_gpu_settle *ap, uint64_t *position, int equal)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    uint64_t at = *position;

    if (ap->op == SX_OP_RANK_LEFT || ap->op == SX_OP_RANK_RIGHT)
        return sx_rank_at(v, at);
    if (ap->op == SX_OP_FLOOR)
        at--;                     /* 0 - 1 is past the end: no such string */
    if (at >= v->n || (ap->op == SX_OP_GET && !equal))
        at = v->n;
    *position = at;
    if (at == v->n || !ap->out)
        return SX_MISS;
    return sx_row_of(v, sx_slot_of_rank(v, at), at, ap->op == SX_OP_FLOOR);
}

SX_DEV void sx_text_put(const sx_gpu_settle *ap, uint64_t i, uint64_t number, uint64_t position)
{
    if (ap->out)
        sx_put_result(ap->out, ap->out_bytes, i, number);
    if (ap->at)
        ap->at[i] = position < SX_GPU_VIEW(&ap->views)->n ? position : SX_MISS;
}

SX_KERNEL(k_settle, sx_gpu_settle)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        sx_gpu_search s;
        uint64_t position, number;
        s.q = sx_text_at(&ap->q, i, &s.length);
        s.code = sx_number_at(ap->code, v->width, i);
        s.same = ap->same[i];
        s.right = sx_side_of(ap->op) == SX_RIGHT;
        position = sx_text_bound(v, ap->position[i], &s);
        if (ap->prefix)
            position = sx_string_prefix_end(&v->strings, v->n, position, s.q, s.length);
        number = sx_text_number(ap, &position, s.equal);
        sx_text_put(ap, i, number, position);
    }
}

SX_KERNEL(k_ranks, sx_gpu_settle)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        uint64_t rank = sx_number_at(ap->rank, ap->rank_bytes, i), position = v->n;
        uint64_t row = SX_MISS;
        if (rank < v->ranks) {
            position = sx_position_of(v, rank);
            row = ap->out ? sx_row_at(v, sx_slot_of_rank(v, position), rank) : SX_MISS;
        }
        sx_text_put(ap, i, row, position);
    }
}

/* ---- ranges ------------------------------------------------------------------------------ */

SX_KERNEL(k_ends, sx_gpu_ends)
{
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        uint64_t start = ap->lo[i], end = ap->hi[i];
        uint64_t count = end < start ? 0 : end - start;   /* it may end before it begins */
        if (count > ap->limit) {
            start += ap->last ? count - ap->limit : 0;
            count = ap->limit;
        }
        if (ap->start)
            ap->start[i] = start;
        ap->count[i] = count;
    }
}

/* A warp has a span. */
SX_KERNEL(k_fold_spans, sx_gpu_folds)
{
    const sx_view *v = SX_GPU_VIEW(&ap->spans.views);
    int extremes = ap->min || ap->max;

    for (uint64_t i = SX_THREAD / 32; i < ap->spans.n; i += SX_THREADS / 32) {
        sx_gpu_fold_state f = sx_fold_begin();
        sx_fold_span(v, &f, ap->spans.start[i], ap->spans.count[i], SX_LANE, 32, extremes);
        sx_fold_lanes(&f, 32);
        if (SX_LANE == 0)
            sx_put_fold(ap, i, ap->spans.count[i], &f);
    }
}

/* ---- strings as results ------------------------------------------------------------------- */

/* The string at a position; all ones, or one past the end, is an empty one. */
SX_DEV const unsigned char *sx_text_taken(const sx_gpu_take *ap, uint64_t i, uint64_t *length)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    *length = 0;
    return ap->at[i] < v->n ? sx_string_at(&v->strings, ap->at[i], length) : 0;
}

SX_KERNEL(k_string_lengths, sx_gpu_take)
{
    for (uint64_t i = SX_THREAD; i <= ap->n; i += SX_THREADS) {
        uint64_t length = 0;
        if (i < ap->n)
            (void)sx_text_taken(ap, i, &length);
        ap->sum[i] = length;
    }
}

/* What becomes of a call with a stream. SX_ESPACE: there are offsets and no bytes; SX_EINVAL: there
 * are none of either, as offsets can't say so much. */
SX_DEV uint32_t sx_take_status(const sx_gpu_take *ap)
{
    if (!ap->total)
        return SX_OK;
    if (ap->offset_bytes == 4 && *ap->total > UINT32_MAX)
        return SX_EINVAL;
    return *ap->total > ap->space ? SX_ESPACE : SX_OK;
}

SX_KERNEL(k_string_status, sx_gpu_take)
{
    if (SX_THREAD == 0 && ap->status)
        *ap->status = sx_take_status(ap);
}

SX_KERNEL(k_string_offsets, sx_gpu_take)
{
    uint64_t n = sx_take_status(ap) == SX_EINVAL ? 0 : ap->n;

    for (uint64_t i = SX_THREAD; i < n; i += SX_THREADS)
        sx_put_number(ap->offsets, ap->offset_bytes, i, ap->sum[i]);
}

/* Lanes that write a string together. */
#define SX_TEXT_LANES 8u

/* Each goes where its offset says, as far as there is space. */
SX_KERNEL(k_string_bytes, sx_gpu_take)
{
    uint64_t n = sx_take_status(ap) == SX_OK ? ap->n : 0;

    for (uint64_t i = SX_THREAD / SX_TEXT_LANES; i < n; i += SX_THREADS / SX_TEXT_LANES) {
        uint64_t length, space;
        unsigned char *to = (unsigned char *)sx_text_at(&ap->to, i, &space);
        const unsigned char *from = sx_text_taken(ap, i, &length);
        length = length < space ? length : space;
        for (uint64_t k = SX_LANE % SX_TEXT_LANES; k < length; k += SX_TEXT_LANES)
            to[k] = from[k];
    }
}

#endif
