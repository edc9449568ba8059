#include "base/share.h"

#include "base/alloc.h"

typedef struct {
    sx_share_fn *fn;
    void *work;
    uint64_t n, piece;
    sx_progress *progress;
} shared;

static void share_part(void *work, unsigned part)
{
    shared *s = work;
    uint64_t first = s->piece * part, end = first + s->piece;

    end = end < s->n ? end : s->n;
    if (sx_progress_stopped(s->progress))
        return;
    s->fn(s->work, first, end);
    sx_progress_add(s->progress, end - first);
}

/* The most grains of a piece, if there is a tick: 16384 queries take less than 1 ms. */
#define TICK_GRAINS 64u

void sx_share(const sx_sharing *sharing, uint64_t n, uint64_t grain, sx_share_fn *fn, void *work)
{
    sx_progress *progress = sharing->progress;
    shared s = {fn, work, n, n, progress};
    uint64_t worth = n / (SX_SHARE_EACH * grain);
    uint32_t threads = sharing->threads < worth ? sharing->threads : (uint32_t)worth;

    if (threads < 2 && !progress) {
        fn(work, 0, n);
        return;
    }
    if (threads < 2)              /* the pool takes 0 for all */
        threads = 1;
    /* Pieces small enough that a late thread delays nobody for long. */
    if (threads > 1)
        s.piece = sx_round_up(n / (threads * 32u) + 1, grain);
    if (progress && s.piece > TICK_GRAINS * grain)
        s.piece = TICK_GRAINS * grain;
    if (n > 0)
        sx_pool_run(sharing->pool, threads, (unsigned)((n + s.piece - 1) / s.piece), share_part, &s);
}
