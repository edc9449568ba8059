/* cpu_backend.h - the CPU as a device. */
#ifndef SX_CPU_BACKEND_H
#define SX_CPU_BACKEND_H

#include "base/pool.h"
#include "cpu/cpu_walks.h"

typedef struct {
    sx_simd level;
    unsigned threads;
    int threads_told;             /* not just as many as there are */
    sx_search search;             /* if told */
    sx_pool *pool;
} sx_cpu;

sx_status sx_cpu_sort(void *self, const sx_input *in, sx_sorted *out, sx_err *err);
sx_status sx_cpu_build(void *self, sx_view *shape, sx_sorted *sorted,
                       uint32_t threads, void *base[SX_SECTION_KINDS], sx_err *err);
/* The segments of a pgm over sorted keys, and with them its shape. */
sx_status sx_cpu_fit(const sx_cpu *cpu, sx_view *v, const sx_sorted *sorted, uint32_t threads,
                     void *base[SX_SECTION_KINDS], sx_err *err);
/* Bytes it takes at most beside keys and segments, whatever the threads. */
uint64_t sx_cpu_fit_peak(const sx_view *shape);
uint64_t sx_cpu_build_peak(const void *self, const sx_view *shape);

sx_status sx_cpu_lookup(void *self, const sx_view *v, const sx_lookup *job, sx_err *err);
sx_status sx_cpu_range_count(void *self, const sx_view *v, const sx_span_query *job,
                             uint64_t *count, uint32_t count_there, sx_err *err);
sx_status sx_cpu_range(void *self, const sx_view *v, const sx_span_query *job,
                       const sx_range_out *out, sx_err *err);
sx_status sx_cpu_fold(void *self, const sx_view *v, const sx_span_query *job,
                      const sx_range_folds *out, sx_err *err);

/* Shares n items over the pool, in pieces of a multiple of `grain` items;
 * fn(work, first, end). Each thread that is woken has SX_SHARE_EACH grains to do, or
 * more: 2048 queries take 40 us and more, and waking one thread 9 (Zen 4, idle). */
typedef void sx_share_fn(void *work, uint64_t first, uint64_t end);
#define SX_SHARE_EACH 8u
/* With progress, or NULL: an item is a unit, and a piece is short enough for ticks. Some
 * pieces are left out where it is stopped: the caller looks at its status then. */
void sx_cpu_share(const sx_cpu *cpu, uint32_t threads, sx_progress *progress, uint64_t n,
                  uint64_t grain, sx_share_fn *fn, void *work);

#endif
