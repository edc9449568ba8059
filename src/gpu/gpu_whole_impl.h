/* gpu_whole_impl.h - an index so small that each block has all of its keys in shared memory,
 * for one width of key. Behind gpu_answer_impl.h. What is above the keys is not needed
 * there, so families whose slots are positions have this kernel in common.
 *
 * Shared memory has them as a complete binary tree in level order, 2^steps - 1 nodes, those
 * without a key with the largest. A level's nodes are neighbours, so lanes that are in
 * different nodes mostly read different banks. A step goes from node e to 2e + 1, or to
 * 2e + 2 if its key is below the question; behind the last one the way that was taken,
 * read as a number, is the position. */

SX_DEV void F(fill_whole)(const sx_gpu_lookup *ap, KEY *tree)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    uint32_t steps = ap->steps, nodes = (1u << steps) - 1;

    for (uint32_t e = SX_TID; e < nodes; e += SX_BLOCK_THREADS) {
        uint32_t level = 31 - SX_CLZ(e + 1), place = e + 1 - (1u << level);
        uint64_t position = ((2ull * place + 1) << (steps - 1 - level)) - 1;
        tree[e] = position < v->n ? F(slot_key)(v, position) : (KEY)~(KEY)0;
    }
    SX_BARRIER();
}

SX_KERNEL_2048(F(k_whole), sx_gpu_lookup)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);
    KEY *tree = (KEY *)(void *)SX_SHARED;
    uint32_t steps = ap->steps, nodes = (1u << steps) - 1;

    F(fill_whole)(ap, tree);
    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY q = F(read_query)(ap->key_type, ap->q, i);
        int all;
        KEY w = F(walked)(ap, q, &all);
        uint32_t e = 0, position, bound;
        uint64_t slot;
        for (uint32_t s = 0; s < steps; s++)
            e = 2 * e + 1 + (tree[e] < w);
        position = (uint32_t)sx_min64(e - nodes, v->n);
        slot = position < v->n ? position : SX_NO_SLOT;
        /* The last node whose key was not below: where the way turned left last. */
        bound = (e + 1) >> sx_first_zero(e + 1);
        if (ap->op == SX_OP_GET && (bound == 0 || tree[bound - 1] != q))
            slot = SX_NO_SLOT;
        uint64_t number = F(number)(ap, q, all, position, &slot, 1);
        F(put)(ap, i, number, slot);
    }
}
