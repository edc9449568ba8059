/* cpu_steps_impl.h - F(steps) of a family with an upper part (sx_steps_fn), for one width and
 * one instruction set: behind cpu_side_impl.h and the family's F(enter) and F(step), as
 * gpu_steps_impl.h has them. */

TARGET static void F(steps)(const sx_view *v, const void *queries, unsigned m, sx_side side,
                            uint32_t from, uint32_t to, const sx_state *in, sx_state *out)
{
    const KEY *q = queries;
    KEY next[SX_CHUNK];
    uint64_t at[SX_CHUNK];

    /* The largest key stays as it is: whoever ends the walk knows that its bound is the end. */
    if (side == SX_RIGHT) {
        F(successors)(q, m, next);
        q = next;
    }
    for (unsigned j = 0; j < m; j++) {
        at[j] = in ? in[j].at : 0;
        if (!(at[j] & SX_STATE_DONE))
            at[j] = F(enter)(v, from, at[j]);
    }
    for (uint32_t l = from; l < to; l++)
        for (unsigned j = 0; j < m; j++)
            if (!(at[j] & SX_STATE_DONE))
                at[j] = F(step)(v, l, at[j], q[j]);
    for (unsigned j = 0; j < m; j++)
        out[j].at = at[j];
}
