/* gpu_few_impl.h - few keys, for one width of key: sorted, looked at, and each value once. Two launches in
 * place of many, as launches take longer than the work. Behind gpu_kernels_impl.h's kernels.
 *
 * A key's place is the number of keys that come before it: those below it, and equal ones that stand before
 * it in the input. Each pair of keys is compared for that, but by all multiprocessors at once, and there are
 * no turns that wait for each other, as there are where one block sorts digit by digit. Keys are in groups
 * of 32:
 *
 *     group      | 0  | 1  | 2  | 3  | 4  | 5  | ...
 *     read by      w0   w1   ..   w0   w1   ..          warps of a block, each of which has a lane for ...
 *     compared with each key of the block's own group   ... each of these 32 keys; sums of the warps are ranks
 */

/* Keys that a warp has in shared memory at a time. */
#define SX_NEAR (128u / W)

/* Of keys in shared memory those below `limit`. */
SX_DEV uint32_t F(count_below)(const KEY *near, KEY limit)
{
    uint32_t count = 0;

    SX_UNROLL
    for (unsigned j = 0; j < SX_NEAR; j++)
        count += near[j] < limit;
    return count;
}

/* Of a group, of which each lane has one key, those that come before key i. Where all of them stand before
 * it, equal ones do: they are below the next larger key, or, if there is none, all keys are. */
SX_DEV uint32_t F(count_group)(KEY its, uint64_t group, KEY key, uint64_t i)
{
    KEY *near = (KEY *)(void *)SX_SHARED + SX_TID / 32 * SX_NEAR, limit = (KEY)(key + (group < i / 32));
    uint32_t count = 0;

    SX_UNROLL
    for (unsigned at = 0; at < 32; at += SX_NEAR) {
        if (SX_LANE / SX_NEAR == at / SX_NEAR)
            near[SX_LANE % SX_NEAR] = its;
        SX_WARP_SYNC();
        count += F(count_below)(near, limit);
        for (unsigned j = 0; group == i / 32 && j < SX_NEAR; j++)
            count += near[j] == key && at + j < SX_LANE;
        SX_WARP_SYNC();
    }
    return limit < key ? 32 : count;
}

/* Key i; behind the last the largest, which comes before none. */
SX_DEV KEY F(few_key)(const sx_gpu_input *ap, uint64_t i)
{
    return i < ap->n ? F(read_key)(ap->key_type, ap->in_keys, i) : (KEY)~(KEY)0;
}

/* Of all groups that this warp reads, keys before key i. While it compares one, others are on their way. */
SX_DEV uint32_t F(count_all)(const sx_gpu_input *ap, KEY key, uint64_t i)
{
    uint64_t groups = SX_FEW_GROUPS(ap->n), warps = SX_BLOCK_THREADS / 32, group = SX_TID / 32;
    uint32_t count = 0;
    KEY its[GPU_FEW_AHEAD];

    SX_UNROLL
    for (unsigned t = 0; t < GPU_FEW_AHEAD; t++)
        its[t] = F(few_key)(ap, (group + t * warps) * 32 + SX_LANE);
    while (group < groups) {
        SX_UNROLL
        for (unsigned t = 0; t < GPU_FEW_AHEAD; t++, group += warps) {
            KEY now = its[t];
            its[t] = F(few_key)(ap, (group + GPU_FEW_AHEAD * warps) * 32 + SX_LANE);
            if (group < groups)
                count += F(count_group)(now, group, key, i);
        }
    }
    return count;
}

/* Sorts a group, and says what it found out of its keys and rows. Keys are read several times, so the caller
 * may change one in between: then it may come before itself. */
SX_DEV void F(sort_group)(const sx_gpu_few *few, uint64_t group)
{
    const sx_gpu_input *ap = &few->in;
    uint32_t *of_warp = (uint32_t *)(void *)SX_SHARED, rank;
    uint64_t i = group * 32 + SX_LANE, row = 0, first = 0;
    int first_warp = SX_TID < 32, descends = 0;
    KEY key = F(few_key)(ap, i);

    if (first_warp && i < ap->n) {
        row = ap->row_type ? ((const uint32_t *)ap->in_rows)[i] : i;
        first = ap->row_type && row == SX_MISS32 ? ap->n - i : 0;
        descends = i + 1 < ap->n && key > F(few_key)(ap, i + 1);
    }
    rank = F(count_all)(ap, key, i);
    of_warp[SX_TID] = rank;               /* where only this warp had keys */
    SX_BARRIER();
    if (first_warp) {
        for (unsigned w = 1; w < SX_BLOCK_THREADS / 32; w++)
            rank += of_warp[w * 32 + SX_LANE];
        if (i < ap->n && rank < ap->n) {
            ((KEY *)ap->to_keys)[rank] = key;
            ((uint32_t *)ap->to_rows)[rank] = (uint32_t)row;
        }
        row = sx_block_max_of_lanes(row);
        first = sx_block_max_of_lanes(first);
        descends = SX_ANY(descends);
        if (SX_LANE == 0)
            few->part[group] = (sx_gpu_facts){row, first, (sx_word)descends, 0, 0, 0};
    }
    SX_BARRIER();
}

SX_KERNEL(F(k_few_sort), sx_gpu_few)
{
    for (uint64_t group = SX_BLOCK; group < SX_FEW_GROUPS(ap->in.n); group += SX_BLOCKS)
        F(sort_group)(ap, group);
}

/* One block puts facts together, looks at what is sorted, and posts all that. Then it takes each value once:
 * whether that is wanted the host says later, but the GPU would wait for it. All threads see counts of values,
 * as there were barriers since these were made. */
SX_KERNEL_1024(F(k_few_look), sx_gpu_few)
{
    if (SX_TID < 32)
        sx_few_facts(ap);
    F(repeat)(&ap->in, (KEY *)ap->in.to_keys);
    if (ap->once.to_keys)
        F(values)(&ap->once);
}
#undef SX_NEAR
