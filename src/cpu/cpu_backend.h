/* cpu_backend.h - the CPU as a device. */
#ifndef SX_CPU_BACKEND_H
#define SX_CPU_BACKEND_H

#include "base/share.h"
#include "cpu/cpu_walks.h"

/* What sections that the device builds are on: as memory comes; on small pages; or the upper part
 * as it comes and leaves on small pages. */
typedef enum { SX_PAGES_HUGE, SX_PAGES_SMALL, SX_PAGES_UPPER } sx_cpu_pages;

typedef struct {
    sx_simd level;
    unsigned threads;
    int threads_told;             /* the device's name or the environment says
                                     how many */
    sx_search search;             /* of the device's name; or SX_SEARCH_ANY */
    int whole;                    /* cpu_small.c searches small indexes */
    sx_cpu_lab lab;               /* of the device's name; or zero */
    sx_cpu_pages pages;           /* the same */
    sx_pool *pool;
} sx_cpu;

sx_status sx_cpu_sort(void *self, const sx_input *in, sx_sorted *out, sx_err *err);
sx_status sx_cpu_once(void *self, sx_sorted *sorted, uint32_t threads, sx_err *err);
sx_status sx_cpu_build(void *self, sx_view *shape, sx_sorted *sorted,
                       uint32_t threads, void *base[SX_SECTIONS], sx_err *err);
uint64_t sx_cpu_build_peak(const void *self, const sx_view *shape);

sx_status sx_cpu_lookup(void *self, const sx_views *views, const sx_lookup *job, sx_err *err);
sx_status sx_cpu_spans(void *self, const sx_views *views, const sx_span_query *job,
                       const sx_spans *to, sx_err *err);
sx_status sx_cpu_sum_up(void *self, void *stream, const sx_spans *spans, void *scratch,
                        uint64_t *bytes, uint64_t *total, sx_err *err);
sx_status sx_cpu_fill(void *self, const sx_views *views, const sx_span_query *job,
                      const sx_spans *spans, const sx_range_out *out, uint64_t total, sx_err *err);
sx_status sx_cpu_fold(void *self, const sx_views *views, const sx_span_query *job,
                      const sx_range_folds *out, sx_err *err);

sx_status sx_cpu_climb(void *self, const sx_views *views, const sx_climb_query *job,
                       sx_circles *circles, sx_err *err);

sx_status sx_cpu_steps(void *self, const sx_views *views, const sx_steps *job, sx_err *err);

/* The device's threads that take part: at most `threads`, or all (0). */
sx_sharing sx_cpu_sharing(const sx_cpu *cpu, uint32_t threads, sx_progress *progress);
/* sx_share() by these threads. */
void sx_cpu_share(const sx_cpu *cpu, uint32_t threads, sx_progress *progress, uint64_t n,
                  uint64_t grain, sx_share_fn *fn, void *work);

#endif
