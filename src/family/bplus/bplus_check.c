#include "family/bplus/bplus_check.h"

#include "family/index_check.h"

/* A walk over the whole tree, children in order. It ends whatever numbers say: it stops at the
 * first node, or leaf, that is one more than there are. */
typedef struct {
    const sx_view *v;
    uint64_t nodes, leaves, ranks;        /* inner nodes, leaves and keys so far */
    sx_key16 key;                 /* the last one so far */
    sx_err *err;
} checking;

static sx_status broken(const checking *c, const char *rule, const char *what, uint64_t where)
{
    return sx_check_broken(c->v, rule, what, where, c->err);
}

/* Separator, or index key, i of a node is `want`. */
static int is_key(const checking *c, const unsigned char *keys, uint32_t i, sx_key16 want)
{
    return sx_check_key(c->v, keys + i * c->v->width) == want;
}

/* T3: what is behind `used` separators, and the index. number: of the node in its pool. */
static sx_status check_rest(const checking *c, const unsigned char *node, uint32_t used,
                            uint64_t number)
{
    uint32_t m = SX_BPLUS_KEYS(c->v->width);
    const unsigned char *keys = node + SX_BPLUS_LINE;

    for (uint32_t j = used; j < m * m; j++)
        if (!is_key(c, keys, j, sx_check_largest(c->v)))
            return broken(c, "T3", "not the largest key behind the separators of node", number);
    for (uint32_t s = 0; s < m; s++)
        if (!is_key(c, node, s, sx_check_key(c->v, keys + ((s + 1) * m - 1) * c->v->width)))
            return broken(c, "T3", "not the last key of each line in the index of node", number);
    return SX_OK;
}

static int is_zero(const unsigned char *p, const unsigned char *end)
{
    while (p < end && *p == 0)
        p++;
    return p == end;
}

/* T4, of the lines of leaf p. */
static sx_status check_lines(const checking *c, uint64_t p)
{
    const sx_view *v = c->v;
    const sx_bplus *t = &v->of.bplus;
    uint32_t fan = 1u << t->fan_shift;
    const unsigned char *line = v->keys + (p << t->fan_shift) * SX_BPLUS_LINE;

    for (uint32_t i = 0; v->block && i < fan; i++, line += SX_BPLUS_LINE)
        if (!is_zero(line + t->leaf * v->width, line + SX_BPLUS_ROWS_AT) ||
            !is_zero(line + SX_BPLUS_ROWS_AT + t->leaf * v->row_bytes, line + SX_BPLUS_LINE))
            return broken(c, "T4", "not 0 beside the pairs of leaf", p);
    return SX_OK;
}

/* A last inner node, and the leaf that it owns. */
static sx_status check_last(checking *c, uint64_t p)
{
    const sx_view *v = c->v;
    const sx_bplus *t = &v->of.bplus;
    const sx_bplus_record *r = sx_bplus_record_of(t, p);
    const uint32_t *chain = (const uint32_t *)(const void *)(t->links + sx_bplus_chain_at(t));
    const unsigned char *node = t->lasts + p * SX_BPLUS_LAST(v->width);
    uint64_t most = 1ull << t->slot_shift, slot = p << t->slot_shift;
    uint32_t lines;
    sx_status st;

    if (c->leaves == t->leaves)
        return broken(c, "T5", "more leaves than there are, at leaf", p);
    if (r->place != c->leaves || chain[c->leaves] != p)
        return broken(c, "T5", "the chain has another leaf where the tree has leaf", p);
    if (r->first != c->ranks)
        return broken(c, "T6", "not as many keys as a record says are before leaf", p);
    if (r->keys > most || r->keys < (t->leaves > 1 ? most / 2 : 1))
        return broken(c, "T6", "too few keys, or too many, in leaf", p);
    lines = (r->keys + t->leaf - 1) / t->leaf;
    for (uint32_t j = 0; j + 1 < lines; j++)
        if (!is_key(c, node + SX_BPLUS_LINE, j,
                    sx_check_key(v, v->keys + sx_key_offset(v, slot + (j + 1) * t->leaf - 1))))
            return broken(c, "T3", "not the last key of a line, in last inner node", p);
    st = check_rest(c, node, lines - 1, p);
    if (st == SX_OK)
        st = check_lines(c, p);
    c->key = sx_check_key(v, v->keys + sx_key_offset(v, slot + r->keys - 1));
    c->ranks += r->keys;
    c->leaves++;
    return st;
}

/* Node `at` of level l, and all under it. */
static sx_status check_node(checking *c, uint32_t l, uint64_t at)
{
    const sx_bplus *t = &c->v->of.bplus;
    const unsigned char *node;
    const uint32_t *child;
    uint32_t fan = 1u << t->fan_shift, size;
    sx_status st = SX_OK;

    if (l + 1u == t->levels)
        return check_last(c, at);
    if (c->nodes++ == t->inner)
        return broken(c, "T5", "more inner nodes than there are, at node", at);
    node = t->nodes + at * SX_BPLUS_INNER(c->v->width);
    child = (const uint32_t *)(const void *)(node + SX_BPLUS_LAST(c->v->width));
    size = sx_bplus_size_of(t, at);
    if (size > fan || size < (l == 0 ? 2 : fan / 2))
        return broken(c, "T6", "too few children, or too many, has inner node", at);
    for (uint32_t j = 0; j < size && st == SX_OK; j++) {
        if (child[j] >= (l + 2u == t->levels ? t->last_pool : t->inner_pool))
            return broken(c, "T5", "a child that is none has inner node", at);
        st = check_node(c, l + 1, child[j]);
        if (st == SX_OK && j + 1 < size && !is_key(c, node + SX_BPLUS_LINE, j, c->key))
            return broken(c, "T3", "not the last key under a child, in inner node", at);
    }
    if (st == SX_OK && !is_zero((const unsigned char *)(child + size),
                                (const unsigned char *)(child + fan)))
        return broken(c, "T4", "not 0 behind the children of inner node", at);
    return st == SX_OK ? check_rest(c, node, size - 1, at) : st;
}

/* T7, of one pool: `count` free numbers. They ascend, so that none is there twice, and together
 * with the nodes of the tree they are as many as all: so the tree has every other number. */
static sx_status check_free(const checking *c, const uint32_t *number, uint64_t count, int last)
{
    const sx_bplus *t = &c->v->of.bplus;
    uint64_t all = last ? t->last_pool : t->inner_pool;

    for (uint64_t i = 0; i < count; i++) {
        const sx_bplus_record *r;
        if (number[i] >= all || (i > 0 && number[i] <= number[i - 1]))
            return broken(c, "T7", "free nodes of a pool do not ascend up to its end, at number", i);
        r = sx_bplus_record_of(t, number[i]);
        if (last ? r->first || r->keys || r->place : sx_bplus_size_of(t, number[i]))
            return broken(c, "T7", last ? "keys has the free last inner node"
                                        : "children has the free inner node", number[i]);
    }
    return SX_OK;
}

sx_status sx_bplus_check(const sx_view *v, sx_err *err)
{
    const sx_bplus *t = &v->of.bplus;
    const unsigned char *links = t->links;
    checking c = {.v = v, .err = err};
    sx_status st = check_node(&c, 0, t->root);

    if (st == SX_OK && c.leaves != t->leaves)
        st = broken(&c, "T5", "fewer leaves than there are:", c.leaves);
    if (st == SX_OK && c.nodes != t->inner)
        st = broken(&c, "T5", "fewer inner nodes than there are:", c.nodes);
    if (st == SX_OK && c.ranks != v->n)
        st = broken(&c, "T6", "leaves have other keys than all, as many as", c.ranks);
    if (st == SX_OK)
        st = check_free(&c, (const uint32_t *)(const void *)(links + sx_bplus_free_at(t)),
                        t->last_pool - t->leaves, 1);
    if (st == SX_OK)
        st = check_free(&c, (const uint32_t *)(const void *)(links + sx_bplus_free_inner_at(t)),
                        t->inner_pool - t->inner, 0);
    return st;
}
