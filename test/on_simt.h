/* on_simt.h - runs kernels of a test in the emulator, in every order of turns,
 * and has the arrays they work on. */
#ifndef ON_SIMT_H
#define ON_SIMT_H

#include <stdint.h>
#include <string.h>

#include "gpu/vendor_simt.h"

#define BLOCKS 3u
#define THREADS 96u
#define ALL (BLOCKS * THREADS)

typedef struct {
    uint64_t *in, *out;           /* one of each for every thread */
    unsigned *word;               /* a few for all threads */
    sx_word *long_word;
} columns;

static uint64_t in[ALL], out[ALL];
static unsigned word[8];
static sx_word long_word[8];
static const columns arrays = {in, out, word, long_word};

static const struct {
    simt_order order;
    uint64_t seed;
} orders[] = {
    {SIMT_FORWARD, 0}, {SIMT_REVERSED, 0}, {SIMT_SHUFFLED, 0}, {SIMT_SHUFFLED, 1},
    {SIMT_SHUFFLED, 2}, {SIMT_SHUFFLED, 1234567},
};

static inline int begin(size_t order)
{
    if (order == sizeof orders / sizeof *orders)
        return 0;
    simt_set_order(orders[order].order, orders[order].seed);
    for (unsigned i = 0; i < ALL; i++) {
        in[i] = 0x100000001u * i * i + 1;
        out[i] = 0;
    }
    memset(word, 0, sizeof word);
    memset(long_word, 0, sizeof long_word);
    return 1;
}

#define EACH_ORDER(o) for (size_t o = 0; begin(o); o++)

#define RUN_WITH(name, blocks, threads, shared_bytes, args)                         \
    do {                                                                            \
        if (SX_LAUNCH(name, blocks, threads, shared_bytes, NULL, args) != 0)        \
            fail_msg("%s: %s", #name, simt_fault());                                \
    } while (0)
#define RUN(name) RUN_WITH(name, BLOCKS, THREADS, 0, &arrays)

static inline uint64_t sum_of_out(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < ALL; i++)
        sum += out[i];
    return sum;
}

#endif
