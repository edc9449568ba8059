/* radix_cpu.c - walks in a radix tree on a CPU, and the tree: all threads count the nodes that
 * begin with their keys, list them, find their kinds, and fill them. */
#include "base/alloc.h"
#include "family/generic/groups.h"
#include "family/radix/radix_make.h"

#include <string.h>

/* Of the 16 bytes at p: how many are below b. */
SX_INLINE unsigned bytes_below_scalar(const unsigned char *p, uint32_t b)
{
    return sx_radix_below_4(load_4(p), b) + sx_radix_below_4(load_4(p + 4), b) +
           sx_radix_below_4(load_4(p + 8), b) + sx_radix_below_4(load_4(p + 12), b);
}

#ifdef SX_HAVE_X86
/* Those whose maximum with b is not the byte itself. */
SX_TARGET_avx2 SX_INLINE unsigned bytes_below_avx2(const unsigned char *p, uint32_t b)
{
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i not_below = _mm_cmpeq_epi8(_mm_max_epu8(x, _mm_set1_epi8((char)b)), x);

    return 16 - (unsigned)__builtin_popcount((unsigned)_mm_movemask_epi8(not_below));
}

SX_TARGET_avx512 SX_INLINE unsigned bytes_below_avx512(const unsigned char *p, uint32_t b)
{
    return (unsigned)__builtin_popcount(_mm_cmplt_epu8_mask(
        _mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8((char)b)));
}
#endif

#define SX_BODY "family/radix/radix_cpu_impl.h"
#include "family/generic/cpu_each.h"

/* An entry is a window, as radix_ended() reads it. One of all keys begins with a search of these,
 * whose first lines are in a cache. */
static void ask(const sx_view *v, const sx_state *entry, unsigned m, int rows)
{
    for (unsigned j = 0; j < m; j++) {
        uint64_t count = entry[j].at >> 48 & SX_RADIX_MANY;
        if (count < SX_RADIX_HERE && entry[j].at & SX_RADIX_DONE)
            sx_ask_window(v, entry[j].at & SX_RADIX_RANK, count ? count : 1, rows);
    }
}

/* ---- building --------------------------------------------------------------------- */

/* Keys whose nodes are counted together. */
#define PART 16384u

typedef struct {
    const sx_view *v;
    const void *keys;             /* sorted */
    uint64_t *part;               /* nodes that begin in each part; then those before it */
    sx_radix_making *nodes;
    uint64_t count;
    unsigned char *to;
    sx_progress *progress;
} making;

#define W 4
#include "family/radix/radix_make_cpu_impl.h"
#undef W
#define W 8
#include "family/radix/radix_make_cpu_impl.h"
#undef W
#define W 16
#include "family/radix/radix_make_cpu_impl.h"
#undef W

#define BY_WIDTH(w, name, ...)                                   \
    ((w)->v->width == 4   ? name##_4(__VA_ARGS__)                \
     : (w)->v->width == 8 ? name##_8(__VA_ARGS__)                \
                          : name##_16(__VA_ARGS__))

static void count_part(void *work, uint64_t first, uint64_t end)
{
    making *w = work;

    for (uint64_t p = first; p < end; p++)
        w->part[p] = BY_WIDTH(w, list_part, w, p, NULL);
}

static void list_part(void *work, uint64_t first, uint64_t end)
{
    making *w = work;

    for (uint64_t p = first; p < end; p++)
        (void)BY_WIDTH(w, list_part, w, p, w->nodes + w->part[p]);
}

static void size_nodes(void *work, uint64_t first, uint64_t end)
{
    making *w = work;

    if (sx_progress_add(w->progress, 0))
        return;
    for (uint64_t i = first; i < end; i++)
        BY_WIDTH(w, size_node, w, &w->nodes[i]);
}

static void fill_nodes(void *work, uint64_t first, uint64_t end)
{
    making *w = work;

    if (sx_progress_add(w->progress, 0))
        return;
    for (uint64_t i = first; i < end; i++)
        BY_WIDTH(w, fill_node, w, &w->nodes[i]);
}

/* Counts become sums: where the nodes of each part go. */
static uint64_t sum_parts(uint64_t *part, uint64_t parts)
{
    uint64_t sum = 0;

    for (uint64_t p = 0; p < parts; p++) {
        uint64_t here = part[p];
        part[p] = sum;
        sum += here;
    }
    return sum;
}

/* The list of nodes, with kinds and sizes. */
static sx_status list_nodes(making *w, const sx_sharing *sharing, sx_err *err)
{
    uint64_t parts = (w->v->n + PART - 1) / PART;
    sx_sharing quiet = *sharing;
    sx_status st = sx_alloc_array((void **)&w->part, parts, sizeof *w->part, "a radix tree", err);

    quiet.progress = NULL;
    if (st != SX_OK)
        return st;
    sx_share(sharing, parts, 1, count_part, w);
    st = sx_progress_status(sharing->progress, err);
    if (st != SX_OK)
        return st;
    w->count = sum_parts(w->part, parts);
    st = sx_alloc_array((void **)&w->nodes, w->count + 1, sizeof *w->nodes, "a radix tree", err);
    if (st != SX_OK)
        return st;
    sx_share(sharing, parts, 1, list_part, w);
    st = sx_progress_status(sharing->progress, err);
    if (st == SX_OK)
        sx_share(&quiet, w->count, 16, size_nodes, w);
    return st == SX_OK ? sx_progress_status(sharing->progress, err) : st;
}

static sx_status put_nodes(making *w, sx_view *v, const sx_sharing *sharing,
                           void *base[SX_SECTIONS], sx_err *err)
{
    sx_sharing quiet = *sharing;
    sx_radix_meta meta;
    uint64_t bytes;
    sx_status st;

    quiet.progress = NULL;
    sx_radix_sum(w->nodes, w->count, v->n, &meta);
    st = sx_radix_shape(v, &meta, err);
    bytes = sx_section_bytes(v, SX_SEC_RADIX_NODES);
    if (st == SX_OK)
        st = sx_alloc(&base[SX_SEC_TREE], sizeof meta, "tree", err);
    if (st == SX_OK && bytes)
        st = sx_alloc_zero(&base[SX_SEC_RADIX_NODES], bytes, "nodes", err);
    if (st != SX_OK)
        return st;
    memcpy(base[SX_SEC_TREE], &meta, sizeof meta);
    w->to = base[SX_SEC_RADIX_NODES];
    sx_share(&quiet, w->count, 16, fill_nodes, w);
    return sx_progress_status(sharing->progress, err);
}

static sx_status fit(sx_view *v, const void *keys, const sx_sharing *sharing,
                     void *base[SX_SECTIONS], sx_err *err)
{
    making w = {.v = v, .keys = keys, .progress = sharing->progress};
    sx_status st = list_nodes(&w, sharing, err);

    if (st == SX_OK)
        st = put_nodes(&w, v, sharing, base, err);
    sx_release(w.part);
    sx_release(w.nodes);
    return st;
}

static uint64_t fit_peak(const sx_view *v)
{
    const sx_radix *t = &v->of.radix;
    uint64_t nodes = v->n / (t->leaf + 1) * v->width + 1;

    return (v->n / PART + 1) * sizeof(uint64_t) + (nodes + 1) * sizeof(sx_radix_making);
}

/* Parts of keys, counted twice. */
static uint64_t units(const sx_view *v)
{
    return 2 * ((v->n + PART - 1) / PART);
}

const sx_family_cpu sx_cpu_of_radix = {.bounds = SX_BOUNDS_ALL, .steps = SX_STEPS_ALL, .ask = ask,
                                       .prefixes = SX_PREFIXES_ALL, .fit = fit,
                                       .fit_peak = fit_peak, .units = units};
