/* gpu_hint_impl.h - the kernel for hybrid indexes, one width: how far the top
 * of an index leads each query. The CPU goes on from there.
 *
 * Parameters as in gpu_walk_impl.h. */

SX_DEV uint64_t F(hint)(const sx_gpu_hints *ap, KEY w)
{
    const sx_view *v = &ap->v;

    if (v->family == SX_FAM_EYTZ)
        return F(eytz_hint)(v, w);
    if (v->family == SX_FAM_GUIDE)
        return F(guide_hint)(v, w);
    if (v->family == SX_FAM_PGM)
        return F(pgm_hint)(v, w);
    return F(pivot_hint)(v, w);
}

SX_KERNEL(F(k_hint), sx_gpu_hints)
{
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY q = F(read_query)(ap->key_type, ap->q, i);
        /* the largest key has no successor; the CPU knows what is right of it */
        sx_put_result(ap->out, 8, i, F(hint)(ap, (KEY)(q + (ap->right && q != (KEY)~(KEY)0))));
    }
}
