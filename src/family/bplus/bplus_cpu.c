/* bplus_cpu.c - walks in a tree of nodes in pools on a CPU, and its nodes and links. */
#include "family/generic/groups.h"

#define SX_VECTORS_scalar 0       /* by instruction set: whether there are vectors */
#define SX_VECTORS_avx2 1
#define SX_VECTORS_avx512 1
#define SX_BODY "family/bplus/bplus_cpu_impl.h"
#include "family/generic/cpu_each.h"

#ifdef SX_LAB
#define LAB_WAYS lab_ways
static void lab_ways(sx_view *v, const sx_cpu_lab *how)
{
    v->of.bplus.lab_node = how->node;
    v->of.bplus.lab_pipeline = how->pipeline;
}
#else
#define LAB_WAYS NULL
#endif

/* An entry is a line of a leaf, which has a record. */
static void ask(const sx_view *v, const sx_state *entry, unsigned m, int rows)
{
    const sx_bplus *t = &v->of.bplus;
    uint64_t row_step = rows && !v->block ? v->unit * (uint64_t)v->row_bytes : 0;

    for (unsigned j = 0; j < m; j++) {
        sx_ask_line(v->keys, entry[j].at * SX_BPLUS_LINE);
        sx_ask_line(t->links, (entry[j].at >> t->fan_shift) * sizeof(sx_bplus_record));
        if (row_step)
            sx_ask_line(v->rows, entry[j].at * row_step);
    }
}

/* ---- building --------------------------------------------------------------------- */

typedef struct {
    const sx_view *v;
    const unsigned char *keys;    /* sorted */
    unsigned char *nodes, *lasts, *links, *pairs;
    uint32_t level;
} filling;

static void copy_key(unsigned char *to, const unsigned char *from, uint32_t width)
{
    if (width == 8)
        memcpy(to, from, 8);
    else if (width == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, 16);
}

/* The index of a node whose separators are there. */
static void fill_index(unsigned char *node, uint32_t width)
{
    uint32_t m = SX_BPLUS_KEYS(width);

    for (uint32_t s = 0; s < m; s++)
        copy_key(node + s * width, node + SX_BPLUS_LINE + ((s + 1) * m - 1) * width, width);
}

/* Nodes [first, end) of a level of inner nodes. */
static void fill_inner(void *work, uint64_t first, uint64_t end)
{
    const filling *w = work;
    const sx_bplus *t = &w->v->of.bplus;
    uint32_t width = w->v->width, l = w->level, fan = 1u << t->fan_shift;
    uint64_t nodes = sx_bplus_nodes(t, l), below = sx_bplus_nodes(t, l + 1);
    uint64_t base = l + 2u < t->levels ? t->first[l + 1] : 0;     /* its number in the pool */
    uint32_t *sizes = (uint32_t *)(void *)(w->links + sx_bplus_sizes_at(t));

    for (uint64_t g = first; g < end; g++) {
        unsigned char *to = w->nodes + (t->first[l] + g) * SX_BPLUS_INNER(width);
        uint32_t *child = (uint32_t *)(void *)(to + SX_BPLUS_LAST(width));
        uint64_t begin = sx_bplus_before(below, nodes, g);
        uint32_t size = (uint32_t)(sx_bplus_before(below, nodes, g + 1) - begin);
        memset(to, 0xff, SX_BPLUS_LAST(width));
        for (uint32_t j = 0; j < fan; j++)
            child[j] = j < size ? (uint32_t)(base + begin + j) : 0;
        for (uint32_t j = 0; j + 1 < size; j++)
            copy_key(to + SX_BPLUS_LINE + j * width,
                     w->keys + (sx_bplus_end(t, w->v->n, l + 1, begin + j) - 1) * width, width);
        fill_index(to, width);
        sizes[t->first[l] + g] = size;
    }
}

/* Last inner nodes [first, end), and the links of their leaves. */
static void fill_lasts(void *work, uint64_t first, uint64_t end)
{
    const filling *w = work;
    const sx_bplus *t = &w->v->of.bplus;
    uint32_t width = w->v->width;
    sx_bplus_record *records = (sx_bplus_record *)(void *)w->links;
    uint32_t *chain = (uint32_t *)(void *)(w->links + sx_bplus_chain_at(t));

    for (uint64_t p = first; p < end; p++) {
        unsigned char *to = w->lasts + p * SX_BPLUS_LAST(width);
        uint64_t begin = sx_bplus_before(w->v->n, t->leaves, p);
        uint64_t stop = sx_bplus_before(w->v->n, t->leaves, p + 1);
        memset(to, 0xff, SX_BPLUS_LAST(width));
        for (uint64_t rank = begin + t->leaf; rank < stop; rank += t->leaf)
            copy_key(to + SX_BPLUS_LINE + ((rank - begin) / t->leaf - 1) * width,
                     w->keys + (rank - 1) * width, width);
        fill_index(to, width);
        records[p] = (sx_bplus_record){begin, (uint32_t)(stop - begin), (uint32_t)p};
        chain[p] = (uint32_t)p;
    }
}

/* What lines [first, end) have beside pairs. */
static void clear_lines(void *work, uint64_t first, uint64_t end)
{
    const filling *w = work;
    const sx_view *v = w->v;
    uint32_t keys = v->of.bplus.leaf * v->width, rows = v->of.bplus.leaf * v->row_bytes;

    for (uint64_t i = first; i < end; i++) {
        unsigned char *line = w->pairs + i * SX_BPLUS_LINE;
        memset(line + keys, 0, SX_BPLUS_ROWS_AT - keys);
        memset(line + SX_BPLUS_ROWS_AT + rows, 0, SX_BPLUS_LINE - SX_BPLUS_ROWS_AT - rows);
    }
}

/* Whether lines have bytes that belong to no pair. */
static int rest_of_lines(const sx_view *v)
{
    return v->block && (v->width != v->row_bytes);
}

static void fill(const sx_view *v, const void *keys, const sx_sharing *sharing,
                 void *const base[SX_SECTIONS])
{
    const sx_bplus *t = &v->of.bplus;
    filling w = {v, keys, base[SX_SEC_INNER], base[SX_SEC_LAST], base[SX_SEC_LINKS],
                 base[SX_SEC_PAIRS], 0};

    for (; w.level + 1u < t->levels; w.level++)
        sx_share(sharing, sx_bplus_nodes(t, w.level), 16, fill_inner, &w);
    sx_share(sharing, t->leaves, 16, fill_lasts, &w);
    if (rest_of_lines(v))
        sx_share(sharing, t->leaves << t->fan_shift, 4096, clear_lines, &w);
}

static uint64_t units(const sx_view *v)
{
    const sx_bplus *t = &v->of.bplus;

    return t->inner + t->leaves + (rest_of_lines(v) ? t->leaves << t->fan_shift : 0);
}

const sx_family_cpu sx_cpu_of_bplus = {.bounds = SX_BOUNDS_ALL, .steps = SX_STEPS_ALL, .ask = ask,
                                       .fill = fill, .units = units, .lab = LAB_WAYS};
