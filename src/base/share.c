#include "base/share.h"

#include "base/alloc.h"

typedef struct {
    sx_share_fn *fn;
    void *work;
    uint64_t n, piece;
} shared;

static void share_part(void *work, unsigned part)
{
    shared *s = work;
    uint64_t first = s->piece * part, end = first + s->piece;

    s->fn(s->work, first, end < s->n ? end : s->n);
}

void sx_share(const sx_sharing *sharing, uint64_t n, uint64_t grain, sx_share_fn *fn, void *work)
{
    shared s = {fn, work, n, n};
    uint64_t worth = n / (SX_SHARE_EACH * grain);
    uint32_t threads = sharing->threads < worth ? sharing->threads : (uint32_t)worth;

    if (threads < 2) {
        fn(work, 0, n);
        return;
    }
    /* Pieces small enough that a late thread delays nobody for long. */
    s.piece = sx_round_up(n / (threads * 32u) + 1, grain);
    sx_pool_run(sharing->pool, threads, (unsigned)((n + s.piece - 1) / s.piece), share_part, &s);
}
