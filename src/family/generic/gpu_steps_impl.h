/* gpu_steps_impl.h - the kernel for hybrid indexes, for one width and one family: levels
 * [from, to) of walks in the upper part of an index, state in, state out. Behind the family's
 *
 *   F(enter)(v, level, at)    any number as a state at that level
 *   F(step)(v, level, at, w)  from a state at that level to one at the next */

SX_KERNEL(F(k_steps), sx_gpu_steps)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY q = F(read_query)(ap->key_type, ap->q, i);
        /* the largest key has no successor; who ends the walk knows what is right of it */
        KEY w = (KEY)(q + (ap->right && q != (KEY)~(KEY)0));
        uint64_t at = ap->in ? ap->in[i].at : 0;

        if (!(at & SX_STATE_DONE))
            at = F(enter)(v, ap->from, at);
        for (uint32_t l = ap->from; l < ap->to && !(at & SX_STATE_DONE); l++)
            at = F(step)(v, l, at, w);
        SX_STREAM_STORE(&ap->out[i].at, at);
    }
}
