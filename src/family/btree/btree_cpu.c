/* btree_cpu.c - walks in a tree of lines on a CPU, and its nodes. */
#include "family/generic/groups.h"

#define SX_VECTORS_scalar 0       /* by instruction set: whether there are vectors */
#define SX_VECTORS_avx2 1
#define SX_VECTORS_avx512 1
#define SX_BODY "family/btree/btree_cpu_impl.h"
#include "family/generic/cpu_each.h"

#ifdef SX_LAB
#define LAB_WAYS lab_ways
static void lab_ways(sx_view *v, const sx_cpu_lab *how)
{
    v->of.btree.lab_node = how->node;
    v->of.btree.lab_pipeline = how->pipeline;
}
#else
#define LAB_WAYS NULL
#endif

/* An entry is a leaf. */
static void ask(const sx_view *v, const sx_state *entry, unsigned m, int rows)
{
    uint64_t row_step = rows && !v->block ? v->of.btree.leaf * (uint64_t)v->row_bytes : 0;

    for (unsigned j = 0; j < m; j++) {
        sx_ask_line(v->keys, entry[j].at * SX_BTREE_LINE);
        if (row_step)
            sx_ask_line(v->rows, entry[j].at * row_step);
    }
}

/* ---- building --------------------------------------------------------------------- */

typedef struct {
    const sx_view *v;
    const unsigned char *keys;    /* sorted */
    unsigned char *nodes, *leaves;
    uint32_t level;
} filling;

/* Nodes [first, end) of a level; width is a constant. */
static inline __attribute__((always_inline)) void
copy_nodes(const filling *w, uint64_t first, uint64_t end, uint32_t width)
{
    const sx_btree *t = &w->v->of.btree;
    uint64_t under = sx_btree_source(t, w->level, 0, 0) + 1;

    for (uint64_t g = first; g < end; g++) {
        unsigned char *to = w->nodes + (t->first[w->level] + g) * SX_BTREE_LINE;
        uint64_t source = sx_btree_source(t, w->level, g, 0);
        memset(to, 0xff, SX_BTREE_LINE);
        for (uint32_t j = 0; j + 1 < t->k && source < w->v->n; j++, source += under)
            memcpy(to + j * width, w->keys + source * width, width);
    }
}

static void fill_level(void *work, uint64_t first, uint64_t end)
{
    const filling *w = work;

    if (w->v->width == 4)
        copy_nodes(w, first, end, 4);
    else if (w->v->width == 8)
        copy_nodes(w, first, end, 8);
    else
        copy_nodes(w, first, end, 16);
}

/* What leaves [first, end) have beside pairs. */
static void clear_leaves(void *work, uint64_t first, uint64_t end)
{
    const filling *w = work;
    const sx_btree *t = &w->v->of.btree;
    uint32_t keys_end = sx_btree_keys_end(t, w->v->width);
    uint32_t rows_end = sx_btree_rows_end(t, w->v->row_bytes);

    for (uint64_t i = first; i < end; i++) {
        unsigned char *leaf = w->leaves + i * SX_BTREE_LINE;
        memset(leaf + keys_end, 0, t->rows_at - keys_end);
        memset(leaf + rows_end, 0, SX_BTREE_LINE - rows_end);
    }
}

static void fill(const sx_view *v, const void *keys, const sx_sharing *sharing,
                 void *const base[SX_SECTIONS])
{
    const sx_btree *t = &v->of.btree;
    filling w = {v, keys, base[SX_SEC_NODES], base[SX_SEC_PAIRS], 0};

    for (; w.level < t->levels; w.level++)
        sx_share(sharing, t->first[w.level + 1] - t->first[w.level], 512, fill_level, &w);
    if (!sx_btree_full(t, v->width, v->row_bytes))
        sx_share(sharing, t->leaves, 4096, clear_leaves, &w);
}

static uint64_t units(const sx_view *v)
{
    const sx_btree *t = &v->of.btree;

    return t->first[t->levels] + (sx_btree_full(t, v->width, v->row_bytes) ? 0 : t->leaves);
}

const sx_family_cpu sx_cpu_of_btree = {.bounds = SX_BOUNDS_ALL, .steps = SX_STEPS_ALL, .ask = ask,
                                       .fill = fill, .units = units, .lab = LAB_WAYS};
