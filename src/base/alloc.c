#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* This record lies before each block and says how to give the block back:
 *
 *     start        block
 *     | ... |record| bytes the caller sees ... |
 */
typedef struct {
    void *start;
    uint64_t mapped;              /* bytes mapped; 0: from the heap */
    uint64_t bytes;
} record;

#define HUGE_PAGE (2u << 20)
/* From this size on a block gets its own mapping with huge pages. Below it
 * the rounding to whole huge pages would waste more than it gives. */
#define HUGE_FROM (4u << 20)

_Static_assert(sizeof(record) <= SX_LINE, "the record fits its line");

static atomic_long fail_countdown;
static _Atomic uint64_t live_bytes, most_bytes;

void sx_alloc_fail_at(long nth)
{
    atomic_store(&fail_countdown, nth);
}

uint64_t sx_alloc_live(void)
{
    return atomic_load(&live_bytes);
}

uint64_t sx_alloc_most(void)
{
    return atomic_exchange(&most_bytes, atomic_load(&live_bytes));
}

static void count_live(uint64_t bytes)
{
    uint64_t live = atomic_fetch_add(&live_bytes, bytes) + bytes, most = atomic_load(&most_bytes);

    while (live > most && !atomic_compare_exchange_weak(&most_bytes, &most, live))
        ;
}

static int told_to_fail(void)
{
    return atomic_load_explicit(&fail_countdown, memory_order_relaxed) > 0 &&
           atomic_fetch_sub(&fail_countdown, 1) == 1;
}

sx_status sx_alloc(void **out, uint64_t bytes, const char *what, sx_err *err)
{
    uint64_t mapped = 0;
    unsigned char *start = NULL, *block = NULL;

    if (bytes < (uint64_t)PTRDIFF_MAX / 2 && !told_to_fail()) {
        if (bytes >= HUGE_FROM) {
            /* The block starts at a huge page, and its record lies on the
             * ordinary page before. The rest of the mapping before the record
             * is address space that never becomes memory. */
            mapped = sx_round_up(bytes, HUGE_PAGE) + HUGE_PAGE;
            void *map = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (map != MAP_FAILED) {
                start = map;
                block = (unsigned char *)(uintptr_t)sx_round_up(
                    (uintptr_t)start + sizeof(record), HUGE_PAGE);
#ifdef MADV_HUGEPAGE
                (void)madvise(block, sx_round_up(bytes, 4096), MADV_HUGEPAGE);
#endif
            }
        } else {
            start = aligned_alloc(SX_LINE, sx_round_up(bytes + 1, SX_LINE) + SX_LINE);
            block = start ? start + SX_LINE : NULL;
        }
    }
    if (!block)
        return sx_fail(err, SX_ENOMEM, "no memory for %s: %llu bytes", what,
                       (unsigned long long)bytes);
    record *r = (record *)(void *)(block - sizeof(record));
    r->start = start;
    r->mapped = mapped;
    r->bytes = bytes;
    count_live(bytes);
    *out = block;
    return SX_OK;
}

void sx_small_pages(void *block)
{
    record r;

    memcpy(&r, (unsigned char *)block - sizeof r, sizeof r);
#ifdef MADV_NOHUGEPAGE
    if (r.mapped)
        (void)madvise(block, sx_round_up(r.bytes, 4096), MADV_NOHUGEPAGE);
#endif
}

sx_status sx_alloc_zero(void **out, uint64_t bytes, const char *what, sx_err *err)
{
    sx_status st = sx_alloc(out, bytes, what, err);

    if (st == SX_OK)
        memset(*out, 0, bytes);
    return st;
}

sx_status sx_alloc_array(void **out, uint64_t count, uint64_t each,
                         const char *what, sx_err *err)
{
    uint64_t bytes;

    if (__builtin_mul_overflow(count, each, &bytes))
        return sx_fail(err, SX_ENOMEM, "no memory for %s: %llu x %llu bytes",
                       what, (unsigned long long)count,
                       (unsigned long long)each);
    return sx_alloc(out, bytes, what, err);
}

void sx_release(void *block)
{
    if (!block)
        return;
    record r;
    memcpy(&r, (unsigned char *)block - sizeof r, sizeof r);
    atomic_fetch_sub(&live_bytes, r.bytes);
    if (r.mapped)
        munmap(r.start, r.mapped);
    else
        free(r.start);
}
