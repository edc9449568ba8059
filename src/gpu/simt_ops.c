/* simt_ops.c - what threads of the emulator do together: warp operations,
 * atomics, the sort of a block. See simt.h. */
#include "gpu/simt_fiber.h"

#include <stdlib.h>

/* ---- warps ----------------------------------------------------------------- */

/* Whether every lane of the mask waits at the operation that lane `me` waits at. */
static int warp_complete(const fiber *lanes, const fiber *me)
{
    for (unsigned l = 0; l < 32; l++) {
        const fiber *f = &lanes[l];
        if ((me->warp.mask >> l & 1) &&
            (f->state != IN_WARP || f->warp.mask != me->warp.mask || f->warp.op != me->warp.op ||
             f->line != me->line || f->file != me->file))
            return 0;
    }
    return 1;
}

static void finish_warp(fiber *lanes, const fiber *me)
{
    unsigned mask = me->warp.mask, ballot = 0;

    for (unsigned l = 0; l < 32; l++)
        if ((mask >> l & 1) && lanes[l].warp.value)
            ballot |= 1u << l;
    for (unsigned l = 0; l < 32; l++) {
        fiber *f = &lanes[l];
        if (!(mask >> l & 1))
            continue;
        f->warp.result = f->warp.op == OP_BALLOT ? ballot : lanes[f->warp.from].warp.value;
        f->state = READY;
    }
}

static uint64_t warp(warp_op op, unsigned mask, uint64_t v, unsigned from, const char *file,
                     int line)
{
    fiber *lanes = &simt_fibers[simt_self.thread & ~31u], *f = &simt_fibers[simt_self.thread];

    if (!(mask >> (simt_self.thread & 31) & 1))
        simt_stop(file, line, "calls a warp operation whose mask leaves it out");
    if (!(mask >> from & 1))
        simt_stop(file, line, "shuffles from a lane that its mask leaves out");
    f->warp.op = op;
    f->warp.mask = mask;
    f->warp.from = from;
    f->warp.value = v;
    f->file = file;
    f->line = line;
    f->state = IN_WARP;
    if (warp_complete(lanes, f))
        finish_warp(lanes, f);
    else
        simt_wait(IN_WARP, file, line);
    return f->warp.result;
}

void simt_warp_sync(const char *file, int line)
{
    warp(OP_SYNC, ~0u, 0, simt_self.thread & 31, file, line);
}

/* As on the GPU, the low five bits of a lane count. */
uint64_t simt_shuffle(unsigned mask, uint64_t v, unsigned lane, const char *file, int line)
{
    return warp(OP_SHUFFLE, mask, v, lane & 31, file, line);
}

uint64_t simt_shuffle_xor(unsigned mask, uint64_t v, unsigned lanes, const char *file, int line)
{
    return warp(OP_SHUFFLE_XOR, mask, v, (simt_self.thread ^ lanes) & 31, file, line);
}

unsigned simt_ballot(unsigned mask, int v, const char *file, int line)
{
    return (unsigned)warp(OP_BALLOT, mask, v != 0, simt_self.thread & 31, file, line);
}

/* ---- atomics ----------------------------------------------------------------- */

static uint64_t updated(simt_atomic op, uint64_t old, uint64_t v)
{
    switch (op) {
    case SIMT_ATOMIC_MIN: return v < old ? v : old;
    case SIMT_ATOMIC_MAX: return v > old ? v : old;
    default:              return old + v;
    }
}

/* Of eight throws, one lets others run before an atomic and one after it. */
enum { THROWS = 8, YIELD_BEFORE = 0, YIELD_AFTER = 1 };

static void yield_if(int yes)
{
    if (yes)
        simt_wait(READY, NULL, 0);
}

unsigned long long simt_atomic64(simt_atomic op, unsigned long long *p, unsigned long long v)
{
    unsigned long long old;
    unsigned thrown = simt_dice(THROWS);

    yield_if(thrown == YIELD_BEFORE);
    old = *p;
    *p = updated(op, old, v);
    yield_if(thrown == YIELD_AFTER);
    return old;
}

/* ---- the sort of a block ------------------------------------------------------- */

static int by_digits(const void *a, const void *b)
{
    const sort_item *x = a, *y = b;

    if (x->digits != y->digits)
        return x->digits < y->digits ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

int simt_sort_now(void)
{
    unsigned block = simt_self.block_threads, items = simt_fibers->sort.items;
    unsigned bits = simt_fibers->sort.bits;
    sort_item *all = simt_sort_space;

    for (unsigned t = 1; t < block; t++) {
        const fiber *f = &simt_fibers[t];
        if (f->sort.items != items || f->sort.bits != bits) {
            simt_report(f->file, f->line, t, "sorts items or bits unlike its block");
            return -1;
        }
    }
    for (unsigned t = 0; t < block; t++)
        for (unsigned j = 0; j < items; j++) {
            uint32_t key = simt_fibers[t].sort.keys[j], place = t * items + j;
            all[place] = (sort_item){key & UINT32_MAX >> (32 - bits), place, key,
                                     simt_fibers[t].sort.values[j]};
        }
    qsort(all, (size_t)block * items, sizeof *all, by_digits);
    for (unsigned t = 0; t < block; t++)
        for (unsigned j = 0; j < items; j++) {
            simt_fibers[t].sort.keys[j] = all[j * block + t].key;
            simt_fibers[t].sort.values[j] = all[j * block + t].value;
        }
    return 0;
}

void simt_block_sort(unsigned block, unsigned items, uint32_t *keys, uint32_t *values,
                     unsigned bits, const char *file, int line)
{
    fiber *f = &simt_fibers[simt_self.thread];

    if (block != simt_self.block_threads)
        simt_stop(file, line, "sorts with a sort for blocks of another size");
    if (items > SIMT_ITEMS_MAX)
        simt_stop(file, line, "sorts more than 32 items of each thread");
    if (bits < 1 || bits > 32)
        simt_stop(file, line, "sorts by a number of bits that is not 1 to 32");
    f->sort.items = items;
    f->sort.bits = bits;
    f->sort.keys = keys;
    f->sort.values = values;
    simt_wait(IN_SORT, file, line);
}

/* ---- loads --------------------------------------------------------------------- */

void simt_expect_aligned(const void *p, size_t bytes, const char *file, int line)
{
    if ((uintptr_t)p % bytes)
        simt_stop(file, line, "loads a vector from a misaligned address");
}
