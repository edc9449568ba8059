/* gpu_steps_impl.h - the kernel for hybrid indexes, for one width and one family: levels
 * [from, to) of walks in the upper part of an index, those of the head for its queries, state
 * in, state out. Behind gpu_side_impl.h and the family's
 *
 *   F(enter)(v, level, at)    any number as a state at that level
 *   F(step)(v, level, at, w)  from a state at that level to one at the next */

SX_KERNEL(F(k_steps), sx_gpu_steps)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY q = F(read_query)(ap->key_type, ap->q, i);
        int end;                  /* left to whoever ends the walk */
        KEY w = F(walked)(q, ap->side, &end);
        uint64_t at = ap->in ? ap->in[i].at : 0;
        uint32_t from = i < ap->head ? ap->head_from : ap->from;
        uint32_t to = i < ap->head ? ap->head_to : ap->to;

        if (!(at & SX_STATE_DONE))
            at = F(enter)(v, from, at);
        for (uint32_t l = from; l < to && !(at & SX_STATE_DONE); l++)
            at = F(step)(v, l, at, w);
        SX_STREAM_STORE(&ap->out[i].at, at);
    }
}
