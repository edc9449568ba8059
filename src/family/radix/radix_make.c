#include "family/radix/radix_make.h"

#include <string.h>

/* Nodes on the way to one: those before it that end behind its first key. Few, as each is
 * deeper than the one before. */
#define WAY_MOST 17u

void sx_radix_sum(sx_radix_making *nodes, uint64_t count, uint64_t n, sx_radix_meta *meta)
{
    uint64_t ends[WAY_MOST];
    uint32_t way = 0;

    memset(meta, 0, sizeof *meta);
    meta->root = sx_radix_window(0, n);
    for (uint64_t i = 0; i < count; i++) {
        sx_radix_making *m = &nodes[i];
        uint32_t kind = (uint32_t)(m->place >> 56);
        uint64_t units = m->place & SX_RADIX_AT;
        while (way > 0 && ends[way - 1] <= (m->at & SX_RADIX_RANK))
            way--;
        ends[way++] = m->end;
        meta->levels = way > meta->levels ? way : meta->levels;
        meta->count[kind & 7u]++;
        m->place = (uint64_t)kind << 56 | meta->units;
        meta->units += units;
        if (i == 0)
            meta->root = sx_radix_state(kind, (uint32_t)(m->at >> 48), 0);
    }
}

static int is_kind(uint32_t kind)
{
    return kind == SX_RADIX_BITS || (kind & ~SX_RADIX_WIDE) < SX_RADIX_BITS;
}

sx_status sx_radix_shape(sx_view *v, const sx_radix_meta *meta, sx_err *err)
{
    sx_radix *t = &v->of.radix;
    uint32_t kind = (uint32_t)(meta->root >> 48) & 15u;
    uint64_t depth = meta->root >> 40 & 255u;
    int tree = meta->levels > 0;

    if (meta->levels > v->width || meta->units > SX_RADIX_AT || (meta->units > 0) != tree ||
        (tree && (meta->root != sx_radix_state(kind, (uint32_t)depth, 0) || !is_kind(kind) ||
                  depth >= v->width ||
                  meta->units * SX_RADIX_UNIT < sx_radix_bytes(kind, v->width))) ||
        (!tree && meta->root != sx_radix_window(0, v->n)))
        return sx_fail(err, SX_ECORRUPT, "%llu levels of %llu units of 16 bytes, root %llx: "
                       "no tree of %llu keys is so", (unsigned long long)meta->levels,
                       (unsigned long long)meta->units, (unsigned long long)meta->root,
                       (unsigned long long)v->n);
    t->levels = (uint32_t)meta->levels;
    t->units = meta->units;
    t->root = meta->root;
    memcpy(t->count, meta->count, sizeof t->count);
    return SX_OK;
}
