#include "family/bplus/bplus_pools.h"

#include "base/alloc.h"

#include <string.h>

static const char *const names[] = {"last inner nodes", "inner nodes"};

static uint64_t *numbers_of(sx_bplus *t, unsigned pool)
{
    return pool == SX_BPLUS_LASTS ? &t->last_pool : &t->inner_pool;
}

static const uint32_t *free_list(const sx_bplus *t, unsigned pool)
{
    uint64_t at = pool == SX_BPLUS_LASTS ? sx_bplus_free_at(t) : sx_bplus_free_inner_at(t);

    return (const uint32_t *)(const void *)(t->links + at);
}

/* ---- working memory ----------------------------------------------------------------- */

/* A longer copy of an array, all zero behind it. */
static sx_status longer(void **out, const void *from, uint64_t n, uint64_t space, uint64_t each,
                        sx_err *err)
{
    sx_status st = sx_alloc_array(out, space, each, "nodes that change", err);

    if (st == SX_OK) {
        if (n > 0)
            memcpy(*out, from, n * each);
        memset((unsigned char *)*out + n * each, 0, (space - n) * each);
    }
    return st;
}

static void replace(void **array, void *by)
{
    sx_release(*array);
    *array = by;
}

/* Working memory for half as many numbers again. */
static sx_status make_space(sx_bplus_pools *p, unsigned pool, sx_err *err)
{
    sx_bplus_pool *of = &p->pool[pool];
    uint64_t n = of->space, space = n + n / 2 + 16;
    void *used = NULL, *records = NULL, *chain = NULL, *sizes = NULL;
    sx_status st = longer(&used, of->used, n, space, 1, err);

    if (st == SX_OK && pool == SX_BPLUS_LASTS)
        st = longer(&records, p->records, n, space, sizeof *p->records, err);
    if (st == SX_OK && pool == SX_BPLUS_LASTS)
        st = longer(&chain, p->chain, n, space, sizeof *p->chain, err);
    if (st == SX_OK && pool == SX_BPLUS_INNERS)
        st = longer(&sizes, p->sizes, n, space, sizeof *p->sizes, err);
    if (st != SX_OK) {
        sx_release(used);
        sx_release(records);
        sx_release(chain);
        return st;
    }
    replace((void **)&of->used, used);
    if (pool == SX_BPLUS_LASTS) {
        replace((void **)&p->records, records);
        replace((void **)&p->chain, chain);
    } else {
        replace((void **)&p->sizes, sizes);
    }
    of->space = space;
    return SX_OK;
}

sx_status sx_bplus_pools_begin(sx_bplus_pools *p, sx_growing *g, int reuse, sx_err *err)
{
    sx_bplus *t = &g->v->of.bplus;
    const unsigned char *links = t->links;
    sx_status st = SX_OK;

    *p = (sx_bplus_pools){.g = g, .reuse = reuse};
    p->pool[SX_BPLUS_LASTS].nodes = t->leaves;
    p->pool[SX_BPLUS_INNERS].nodes = t->inner;
    for (unsigned pool = 0; pool < SX_BPLUS_POOLS && st == SX_OK; pool++) {
        sx_bplus_pool *of = &p->pool[pool];
        uint64_t numbers = *numbers_of(t, pool);
        of->free = numbers - of->nodes;
        if (numbers == 0)         /* no inner nodes */
            continue;
        while (of->space < numbers && st == SX_OK)
            st = make_space(p, pool, err);
        if (st != SX_OK)
            break;
        of->list = free_list(t, pool);
        memset(of->used, 1, numbers);
        for (uint64_t i = 0; i < of->free; i++)
            of->used[of->list[i]] = 0;
    }
    if (st != SX_OK) {
        sx_bplus_pools_leave(p);
        return st;
    }
    memcpy(p->records, links, t->last_pool * sizeof *p->records);
    memcpy(p->chain, links + sx_bplus_chain_at(t), t->leaves * 4);
    if (t->inner_pool > 0)
        memcpy(p->sizes, links + sx_bplus_sizes_at(t), t->inner_pool * 4);
    return SX_OK;
}

void sx_bplus_pools_leave(sx_bplus_pools *p)
{
    for (unsigned pool = 0; pool < SX_BPLUS_POOLS; pool++)
        sx_release(p->pool[pool].used);
    sx_release(p->records);
    sx_release(p->chain);
    sx_release(p->sizes);
    *p = (sx_bplus_pools){0};
}

/* ---- taking and giving ----------------------------------------------------------------- */

/* Space for one more number in all sections that a pool has. What did grow, if another one
 * can't, just has space. */
static sx_status grow(sx_bplus_pools *p, unsigned pool, sx_err *err)
{
    sx_growing *g = p->g;
    sx_view more = *g->v;
    sx_status st = SX_OK;

    if (p->pool[pool].space == *numbers_of(&more.of.bplus, pool))
        st = make_space(p, pool, err);
    ++*numbers_of(&more.of.bplus, pool);
    more.slots = more.of.bplus.last_pool << more.of.bplus.slot_shift;
    for (unsigned kind = 0; kind < SX_SECTIONS && st == SX_OK; kind++)
        if (sx_section_pool(&more, kind) && sx_section_bytes(&more, kind) > g->space[kind])
            st = g->grow(g, kind, sx_section_bytes(&more, kind), err);
    return st;
}

sx_status sx_bplus_pools_take(sx_bplus_pools *p, unsigned pool, uint32_t *number, sx_err *err)
{
    sx_view *v = p->g->v;
    sx_bplus_pool *of = &p->pool[pool];
    uint64_t *numbers = numbers_of(&v->of.bplus, pool), taken;
    sx_status st = SX_OK;

    if (p->reuse && of->next < of->free) {
        taken = of->list[of->next++];
    } else {
        if (*numbers == SX_BPLUS_MOST)
            return sx_fail(err, SX_EINVAL, "btree(fill): the pool of %s has %llu numbers, and "
                           "more can't be", names[pool], SX_BPLUS_MOST);
        st = grow(p, pool, err);
        if (st != SX_OK)
            return st;
        taken = (*numbers)++;
        v->slots = v->of.bplus.last_pool << v->of.bplus.slot_shift;
    }
    of->used[taken] = 1;
    of->nodes++;
    *number = (uint32_t)taken;
    return SX_OK;
}

sx_status sx_bplus_pools_give(sx_bplus_pools *p, unsigned pool, uint32_t number, sx_err *err)
{
    sx_bplus_pool *of = &p->pool[pool];

    if (number >= *numbers_of(&p->g->v->of.bplus, pool) || !of->used[number])
        return sx_fail(err, SX_EINVAL, "btree(fill): number %u is given back to the pool of %s, "
                       "which has it, or has it not", number, names[pool]);
    of->used[number] = 0;
    of->nodes--;
    if (pool == SX_BPLUS_LASTS)
        p->records[number] = (sx_bplus_record){0, 0, 0};
    else
        p->sizes[number] = 0;
    return SX_OK;
}

/* ---- links ------------------------------------------------------------------------------- */

/* Numbers that the next tree has not, in ascending order. */
static void write_free(const sx_bplus_pool *of, uint64_t numbers, uint32_t *to)
{
    for (uint64_t i = 0; i < numbers; i++)
        if (!of->used[i])
            *to++ = (uint32_t)i;
}

sx_status sx_bplus_pools_end(sx_bplus_pools *p, sx_err *err)
{
    sx_growing *g = p->g;
    sx_bplus *t = &g->v->of.bplus, next = *t;
    unsigned char *links;
    sx_status st;

    next.leaves = p->pool[SX_BPLUS_LASTS].nodes;
    next.inner = p->pool[SX_BPLUS_INNERS].nodes;
    st = g->renew(g, SX_SEC_LINKS, sx_bplus_links_bytes(&next), err);
    if (st != SX_OK)
        return st;
    t->leaves = next.leaves;
    t->inner = next.inner;
    links = g->base[SX_SEC_LINKS];
    memcpy(links, p->records, t->last_pool * sizeof *p->records);
    memcpy(links + sx_bplus_chain_at(t), p->chain, t->leaves * 4);
    if (t->inner_pool > 0)
        memcpy(links + sx_bplus_sizes_at(t), p->sizes, t->inner_pool * 4);
    write_free(&p->pool[SX_BPLUS_LASTS], t->last_pool,
               (uint32_t *)(void *)(links + sx_bplus_free_at(t)));
    write_free(&p->pool[SX_BPLUS_INNERS], t->inner_pool,
               (uint32_t *)(void *)(links + sx_bplus_free_inner_at(t)));
    return SX_OK;
}

/* ---- without free nodes ------------------------------------------------------------------- */

int sx_bplus_tidy_shape(const sx_view *v, sx_view *tidy)
{
    const sx_bplus *t = &v->of.bplus;

    if (v->n == 0 || (t->last_pool == t->leaves && t->inner_pool == t->inner && t->root == 0))
        return 0;
    *tidy = *v;
    tidy->of.bplus.last_pool = t->leaves;
    tidy->of.bplus.inner_pool = t->inner;
    tidy->of.bplus.root = 0;
    tidy->slots = t->leaves << t->slot_shift;
    return 1;
}

/* Leaf `place` of the tree becomes number `place`, in all sections that have leaves. */
static void tidy_leaf(const sx_view *v, uint64_t place, void *const base[SX_SECTIONS])
{
    const sx_bplus *t = &v->of.bplus;
    uint64_t from = sx_bplus_leaf_at(t, place), last = SX_BPLUS_LAST(v->width);
    uint64_t slots = 1ull << t->slot_shift, leaf = (uint64_t)SX_BPLUS_LINE << t->fan_shift;
    void *keys = base[v->block ? SX_SEC_PAIRS : SX_SEC_KEYS];

    memcpy((unsigned char *)base[SX_SEC_LAST] + place * last, t->lasts + from * last, last);
    memcpy((unsigned char *)keys + place * leaf, v->keys + from * leaf, leaf);
    if (!v->block && base[SX_SEC_ROWS] && sx_section_pool(v, SX_SEC_ROWS))
        memcpy((unsigned char *)base[SX_SEC_ROWS] + place * slots * v->row_bytes,
               v->rows + from * slots * v->row_bytes, slots * v->row_bytes);
}

/* Inner nodes in the order of levels, then of keys. A node's number in the old pool waits, until
 * its turn comes, where its size will be. */
static void tidy_inner(const sx_view *v, const sx_bplus *to, unsigned char *nodes, uint32_t *sizes)
{
    const sx_bplus *t = &v->of.bplus;
    uint64_t bytes = SX_BPLUS_INNER(v->width), done = 0, known = 1;

    sizes[0] = (uint32_t)t->root;
    for (uint32_t l = 0; l + 1u < t->levels; l++) {
        uint64_t level_end = known, leaf = 0;
        for (; done < level_end; done++) {
            uint64_t from = sx_min64(sizes[done], t->inner_pool - 1);
            uint32_t size = sx_bplus_size_of(t, from);
            uint32_t *child = (uint32_t *)(void *)(nodes + done * bytes + SX_BPLUS_LAST(v->width));
            memcpy(nodes + done * bytes, t->nodes + from * bytes, bytes);
            sizes[done] = size;
            for (uint32_t j = 0; j < size && j < 1u << t->fan_shift; j++) {
                if (l + 2u == t->levels) {
                    child[j] = (uint32_t)leaf++;
                } else if (known < to->inner) {
                    sizes[known] = child[j];
                    child[j] = (uint32_t)known++;
                }
            }
        }
    }
}

void sx_bplus_tidy(const sx_view *v, const sx_view *tidy, void *const base[SX_SECTIONS])
{
    const sx_bplus *t = &v->of.bplus, *to = &tidy->of.bplus;
    unsigned char *links = base[SX_SEC_LINKS];
    sx_bplus_record *records = (sx_bplus_record *)(void *)links;
    uint32_t *chain = (uint32_t *)(void *)(links + sx_bplus_chain_at(to));

    for (uint64_t place = 0; place < t->leaves; place++) {
        tidy_leaf(v, place, base);
        records[place] = *sx_bplus_record_of(t, sx_bplus_leaf_at(t, place));
        chain[place] = (uint32_t)place;
    }
    if (t->inner > 0)
        tidy_inner(v, to, base[SX_SEC_INNER],
                   (uint32_t *)(void *)(links + sx_bplus_sizes_at(to)));
}
