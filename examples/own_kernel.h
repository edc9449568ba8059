/* own_kernel.h - what one thread of the example's kernel does.
 *
 * Trades are logged in no order: when, and how much. An order comes at some
 * time and wants some amount. How far back does one have to look until that
 * much has been traded? The end of this search depends on what it finds on
 * its way, so no batch of ranges can ask it. */
#ifndef OWN_KERNEL_H
#define OWN_KERNEL_H

#include "sextant_device.cuh"

typedef struct {                  /* columns in the GPU's memory */
    const uint32_t *amount;       /* of trade i; the index has its time */
    const uint64_t *at;           /* the time of order i */
    const uint32_t *wanted;
    uint64_t window;              /* trades older than that don't count */
    uint64_t *since;              /* result: the time of the oldest trade
                                     needed, SX_MISS: there were too few */
} own_orders;

SX_DEVICE_FUNCTION void own_order(const sx_handle *h, const own_orders *orders, uint64_t i)
{
    uint64_t at = orders->at[i], since = SX_MISS, sum = 0;
    /* Trades up to then: the last of them is the one before this rank. */
    uint64_t rank = sx_device_rank_u64(h, at, SX_RIGHT);

    while (since == SX_MISS && rank > 0) {
        uint64_t when = sx_device_key_at_u64(h, --rank);
        if (at - when > orders->window)
            break;
        sum += orders->amount[sx_device_row_at(h, rank)];
        if (sum >= orders->wanted[i])
            since = when;
    }
    orders->since[i] = since;
}

#endif
