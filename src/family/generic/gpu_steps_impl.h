/* gpu_steps_impl.h - the kernel for hybrid indexes, for one width and one family: levels
 * [from, to) of walks in the upper part of an index, those of the head for its queries, state
 * in, state out. Behind gpu_side_impl.h and the family's
 *
 *   F(enter)(v, level, at)    any number as a state at that level
 *   F(step)(v, level, at, w)  from a state at that level to one at the next */

/* A thread reads its next query while it walks: where few blocks have many queries, most of a
 * turn was waiting for that read. */
SX_KERNEL(F(k_steps), sx_gpu_steps)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    uint64_t first = SX_THREAD < ap->n ? SX_THREAD : 0;
    KEY q = F(read_query)(ap->key_type, ap->q, first);
    uint64_t at = ap->in ? ap->in[first].at : 0;

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        int end;                  /* left to whoever ends the walk */
        KEY w = F(walked)(q, ap->side, &end);
        uint64_t next = 0;
        uint32_t from = i < ap->head ? ap->head_from : ap->from;
        uint32_t to = i < ap->head ? ap->head_to : ap->to;

        if (i + SX_THREADS < ap->n) {
            q = F(read_query)(ap->key_type, ap->q, i + SX_THREADS);
            next = ap->in ? ap->in[i + SX_THREADS].at : 0;
        }
        if (!(at & SX_STATE_DONE))
            at = F(enter)(v, from, at);
        for (uint32_t l = from; l < to && !(at & SX_STATE_DONE); l++)
            at = F(step)(v, l, at, w);
        SX_STREAM_STORE(&ap->out[i].at, at);
        at = next;
    }
}
