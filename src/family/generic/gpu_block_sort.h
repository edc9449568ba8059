/* gpu_block_sort.h - a block sorts numbers of its own: a bitonic sort. Include a vendor header
 * before it.
 *
 * Thread t of `block` has `items` of the numbers, those at t, t + block, t + 2 * block ...:
 *
 *     distance    partners of a number           how they meet
 *     >= block    in the same thread             in registers
 *     32 ..       in another warp                in shared memory
 *     < 32        in another lane                by a shuffle
 *
 * Runs of `size` numbers are sorted, upwards and downwards in turn, and two of them make one run
 * of twice the size, until there is one. */
#ifndef SX_GPU_BLOCK_SORT_H
#define SX_GPU_BLOCK_SORT_H

/* block, from 32 on, and items are powers of two. space: shared memory for two numbers for each
 * that is sorted, which is free again when this returns. All threads of the block take part. */
SX_DEV void sx_block_sort(uint32_t *mine, unsigned block, unsigned items, uint32_t *space)
{
    unsigned count = block * items, turn = 0;

    for (unsigned size = 2; size <= count; size *= 2)
        for (unsigned distance = size / 2; distance > 0; distance /= 2) {
            /* Two spaces in turn: one barrier has numbers written before they are read, and that
             * of the turn between has them read before others take their place. */
            uint32_t *all = space + (turn & 1) * count;
            if (distance >= 32 && distance < block) {
                SX_UNROLL
                for (unsigned j = 0; j < items; j++)
                    all[j * block + SX_TID] = mine[j];
                SX_BARRIER();
                turn++;
            }
            SX_UNROLL
            for (unsigned j = 0; j < items; j++) {
                unsigned at = j * block + SX_TID;
                int lower = !(at & distance), up = !(at & size);
                uint32_t other;
                if (distance >= block) {
                    SX_UNROLL
                    for (unsigned i = j + 1; i < items; i++) {
                        uint32_t a = mine[j], b = mine[i];
                        if (i * block == j * block + distance && lower && (a > b) == up) {
                            mine[j] = b;
                            mine[i] = a;
                        }
                    }
                    continue;
                }
                other = distance < 32 ? SX_SHUFFLE_XOR(mine[j], distance) : all[at ^ distance];
                if ((other < mine[j]) == (lower == up))
                    mine[j] = other;
            }
        }
    SX_BARRIER();
}

#endif
