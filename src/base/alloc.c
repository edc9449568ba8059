#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* This record lies before each block and says how to give the block back:
 *
 *     start        block                          block + bytes     block + most
 *     | ... |record| bytes the caller sees ... |                      |
 *                                              '- address space: PROT_NONE, no memory -'
 */
typedef struct {
    void *start;
    uint64_t mapped;              /* bytes mapped; 0: from the heap */
    uint64_t bytes;
    uint64_t most;                /* that it can have where it is; as many as it has, unless it
                                     is a pool */
    int small;                    /* pages, by wish */
} record;

#define HUGE_PAGE (2u << 20)
/* From this size on a block gets its own mapping with huge pages. Below it
 * the rounding to whole huge pages would waste more than it gives. */
#define HUGE_FROM (4u << 20)

/* A pool of that size reserves address space for as many times its bytes. That costs nothing but
 * addresses, of which there are 2^47; the factor bounds how often a pool moves that grows without
 * end: three times from 4 MiB to 64 GiB. */
#define RESERVE_TIMES 16u

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

static record record_of(const void *block)
{
    record r;

    memcpy(&r, (const unsigned char *)block - sizeof r, sizeof r);
    return r;
}

static void note(void *block, record r)
{
    memcpy((unsigned char *)block - sizeof r, &r, sizeof r);
}

/* The block of a mapping: it starts at a huge page, and its record lies on the ordinary page
 * before. The rest of the mapping before the record is address space that never becomes
 * memory. */
static unsigned char *block_in(void *map)
{
    return (unsigned char *)(uintptr_t)sx_round_up((uintptr_t)map + sizeof(record), HUGE_PAGE);
}

static void huge_pages(unsigned char *block, uint64_t bytes)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(block, sx_round_up(bytes, 4096), MADV_HUGEPAGE);
#else
    (void)block, (void)bytes;
#endif
}

sx_status sx_alloc(void **out, uint64_t bytes, const char *what, sx_err *err)
{
    uint64_t mapped = 0;
    unsigned char *start = NULL, *block = NULL;

    if (bytes < (uint64_t)PTRDIFF_MAX / 2 && !told_to_fail()) {
        if (bytes >= HUGE_FROM) {
            mapped = sx_round_up(bytes, HUGE_PAGE) + HUGE_PAGE;
            void *map = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (map != MAP_FAILED) {
                start = map;
                block = block_in(map);
                huge_pages(block, bytes);
            }
        } else {
            start = aligned_alloc(SX_LINE, sx_round_up(bytes + 1, SX_LINE) + SX_LINE);
            block = start ? start + SX_LINE : NULL;
        }
    }
    if (!block)
        return sx_fail(err, SX_ENOMEM, "no memory for %s: %llu bytes", what,
                       (unsigned long long)bytes);
    note(block, (record){start, mapped, bytes, bytes, 0});
    count_live(bytes);
    *out = block;
    return SX_OK;
}

/* The first `bytes` of a pool's block become memory, in whole huge pages. */
static int commit(void *start, unsigned char *block, uint64_t bytes)
{
    uint64_t length = (uint64_t)(block - (unsigned char *)start) + sx_round_up(bytes, HUGE_PAGE);

    return mprotect(start, length, PROT_READ | PROT_WRITE) == 0;
}

sx_status sx_alloc_pool(void **out, uint64_t bytes, const char *what, sx_err *err)
{
    uint64_t most, mapped;
    unsigned char *block;
    void *map = MAP_FAILED;

    if (bytes < HUGE_FROM || bytes > (uint64_t)PTRDIFF_MAX / 4 / RESERVE_TIMES)
        return sx_alloc(out, bytes, what, err);
    most = sx_round_up(bytes * RESERVE_TIMES, HUGE_PAGE);
    mapped = most + HUGE_PAGE;
    if (!told_to_fail())
        map = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)        /* a limit of addresses: it will move when it grows */
        return sx_alloc(out, bytes, what, err);
    block = block_in(map);
    huge_pages(block, most);
    if (!commit(map, block, bytes)) {
        munmap(map, mapped);
        return sx_alloc(out, bytes, what, err);
    }
    note(block, (record){map, mapped, bytes, most, 0});
    count_live(bytes);
    *out = block;
    return SX_OK;
}

uint64_t sx_alloc_pool_bytes(uint64_t bytes)
{
    return bytes < HUGE_FROM ? bytes : sx_round_up(bytes, HUGE_PAGE);
}

uint64_t sx_alloc_most_of(const void *block)
{
    return record_of(block).most;
}

sx_status sx_alloc_extend(void *block, uint64_t bytes, const char *what, sx_err *err)
{
    record r = record_of(block);

    if (bytes <= r.bytes)
        return SX_OK;
    if (bytes > r.most || told_to_fail() || !commit(r.start, block, bytes))
        return sx_fail(err, SX_ENOMEM, "no memory for %s to grow from %llu bytes to %llu", what,
                       (unsigned long long)r.bytes, (unsigned long long)bytes);
    count_live(bytes - r.bytes);
    r.bytes = bytes;
    note(block, r);
    return SX_OK;
}

void sx_small_pages(void *block)
{
    record r = record_of(block);

    r.small = 1;
    note(block, r);
#ifdef MADV_NOHUGEPAGE
    if (r.mapped)
        (void)madvise(block, sx_round_up(r.most, 4096), MADV_NOHUGEPAGE);
#endif
}

int sx_has_small_pages(const void *block)
{
    return record_of(block).small;
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
    record r = record_of(block);
    atomic_fetch_sub(&live_bytes, r.bytes);
    if (r.mapped)
        munmap(r.start, r.mapped);
    else
        free(r.start);
}
