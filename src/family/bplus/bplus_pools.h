/* bplus_pools.h - nodes are taken out of a tree's pools, and given back, while the next run is
 * made out of one that others read (family/growing.h).
 *
 *     begin    a copy of the links, to be changed
 *     take     a number that the tree before has not: a free one, or the next behind the pool,
 *              which grows. The caller writes the node, and the leaf of a last inner node.
 *     give     a number that the next tree has not. Readers of the tree before still read the
 *              node, so nothing of it is written, and it is not taken before the next but one.
 *     end      the new links; the view is that of the next tree
 *
 * Between begin and end the caller keeps records, chain, sizes and the root as the next tree will
 * have them. A number that is given back has a record, or a size, of 0.
 *
 * Versions that stay (query/version.h) may be older than the tree before, and read nodes that are
 * free there. As long as one does, nothing that is free is taken: `reuse` is 0. */
#ifndef SX_BPLUS_POOLS_H
#define SX_BPLUS_POOLS_H

#include "family/growing.h"

enum { SX_BPLUS_LASTS, SX_BPLUS_INNERS, SX_BPLUS_POOLS };

typedef struct {
    unsigned char *used;          /* of each number: whether the next tree has it */
    uint64_t space;               /* numbers that there is working memory for */
    const uint32_t *list;         /* free numbers of the tree before, in its links; ... */
    uint64_t free, next;          /* ... how many there are, and how many are taken */
    uint64_t nodes;               /* of the next tree */
} sx_bplus_pool;

typedef struct {
    sx_growing *g;
    int reuse;
    sx_bplus_pool pool[SX_BPLUS_POOLS];
    /* The next tree's, by number, or (chain) by place. They move when a pool grows. */
    sx_bplus_record *records;
    uint32_t *chain, *sizes;
} sx_bplus_pools;

/* On failure there is nothing to end. The view has keys. */
sx_status sx_bplus_pools_begin(sx_bplus_pools *p, sx_growing *g, int reuse, sx_err *err);
/* pool: SX_BPLUS_LASTS, with a leaf, or SX_BPLUS_INNERS. On failure all is as it was. */
sx_status sx_bplus_pools_take(sx_bplus_pools *p, unsigned pool, uint32_t *number, sx_err *err);
sx_status sx_bplus_pools_give(sx_bplus_pools *p, unsigned pool, uint32_t number, sx_err *err);
/* Writes the links. The chain has as many leaves as last inner nodes are used. On failure the
 * tree can be ended again, or left, and then nobody may look at its view. */
sx_status sx_bplus_pools_end(sx_bplus_pools *p, sx_err *err);
/* Gives back working memory; after begin, whatever happened. */
void sx_bplus_pools_leave(sx_bplus_pools *p);

/* The tree without free nodes, numbered as a build does it (sx_family's tidy). */
int sx_bplus_tidy_shape(const sx_view *v, sx_view *tidy);
void sx_bplus_tidy(const sx_view *v, const sx_view *tidy, void *const base[SX_SECTIONS]);

#endif
