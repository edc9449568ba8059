/* alloc.h - all memory of the library comes from here.
 *
 * Big blocks are mapped at 2 MiB boundaries and advised to use huge pages:
 * random lookups then miss the TLB far less (measured: 1.4 x). Every block
 * starts at a 64-byte boundary, so that a node never straddles a line. */
#ifndef SX_ALLOC_H
#define SX_ALLOC_H

#include "base/status.h"

#define SX_LINE 64u               /* cache line, node and section alignment */

static inline uint64_t sx_round_up(uint64_t x, uint64_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

/* Memory at a line boundary, contents undefined. If there is none, the failure's
 * sentence says `what` it was for. *out is never NULL on success. */
sx_status sx_alloc(void **out, uint64_t bytes, const char *what, sx_err *err);
void sx_release(void *block);     /* NULL is fine */

/* Memory of a section that may grow. A large one has address space behind it, where it can have
 * up to sx_alloc_most_of() bytes without being moved. A system that refuses addresses gives it
 * none: then, as of a small one, that is as many as it has. */
sx_status sx_alloc_pool(void **out, uint64_t bytes, const char *what, sx_err *err);
uint64_t sx_alloc_pool_bytes(uint64_t bytes);     /* what that takes: whole huge pages, if large */
uint64_t sx_alloc_most_of(const void *block);
/* Makes it `bytes` long, at most that many. What is there stays, and others may read it
 * meanwhile. */
sx_status sx_alloc_extend(void *block, uint64_t bytes, const char *what, sx_err *err);

/* Asks for small pages in a block that has not been touched yet, also where it will grow; then
 * whether that was asked for. */
void sx_small_pages(void *block);
int sx_has_small_pages(const void *block);

/* The same, all zero. */
sx_status sx_alloc_zero(void **out, uint64_t bytes, const char *what, sx_err *err);

/* count x each bytes. A product past 64 bits is SX_ENOMEM, too. */
sx_status sx_alloc_array(void **out, uint64_t count, uint64_t each,
                         const char *what, sx_err *err);

/* For tests: the nth allocation from now fails, once (0: none does). */
void sx_alloc_fail_at(long nth);
/* For tests: bytes that are allocated and not released; the most of these there
 * were since the last call of sx_alloc_most(). */
uint64_t sx_alloc_live(void);
uint64_t sx_alloc_most(void);

#endif
