/* gpu_entry_impl.h - the kernel for hybrid indexes, for one width and one family: how far
 * the upper part of an index leads each query. The CPU goes on from there. Behind the
 * family's F(entry)(v, w). */

SX_KERNEL(F(k_entry), sx_gpu_entries)
{
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY q = F(read_query)(ap->key_type, ap->q, i);
        /* the largest key has no successor; the CPU knows what is right of it */
        sx_put_result(ap->out, 8, i, F(entry)(&ap->v, (KEY)(q + (ap->right && q != (KEY)~(KEY)0))));
    }
}
