#include "networks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

typedef struct {
    address_span span;
    uint64_t at;                  /* position among those that were read */
} network;

typedef struct {
    network *all;
    uint64_t n, space;
    int type;                     /* 0: none was read yet */
} network_list;

static const char *take_network(void *context, const char *text, size_t length)
{
    network_list *list = context;
    const char *expected;

    if (list->n == list->space) {
        list->space += list->space / 2 + 1024;
        list->all = must_grow(list->all, list->space, sizeof *list->all);
    }
    expected = parse_network(&list->type, text, length, &list->all[list->n].span);
    if (expected)
        return expected;
    list->all[list->n].at = list->n;
    list->n++;
    return NULL;
}

/* By first address; of these the largest network first, so that those inside come
 * behind those round them; of equal ones the first that was read. */
static int compare(const void *a, const void *b)
{
    const network *x = a, *y = b;

    if (x->span.first != y->span.first)
        return x->span.first < y->span.first ? -1 : 1;
    if (x->span.last != y->span.last)
        return x->span.last > y->span.last ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static uint64_t row_of(const sx_column *rows, uint64_t at)
{
    if (!rows)
        return at;
    return rows->type == SX_U32 ? ((const uint32_t *)rows->data)[at]
                                : ((const uint64_t *)rows->data)[at];
}

/* ---- pieces ------------------------------------------------------------------- */

typedef struct {
    pieces *to;
    uint64_t space;
    unsigned __int128 last_key;   /* of the piece written last, if `open`: a later
                                     word about its first address replaces it */
    bool open;
} piece_writer;

static void store_key(const pieces *p, uint64_t i, unsigned __int128 key)
{
    if (p->keys.type == SX_U32) {
        ((uint32_t *)p->keys.data)[i] = (uint32_t)key;
        return;
    }
    for (int b = 15; b >= 0; b--, key >>= 8)
        ((unsigned char *)p->keys.data)[i * 16 + (unsigned)b] = (unsigned char)key;
}

/* From this address on the row is that one. A later word about the same address
 * counts, and a piece with the row of the one before is none. */
static void from_here(piece_writer *w, unsigned __int128 key, uint64_t row)
{
    pieces *p = w->to;
    uint64_t *rows;

    if (w->open && w->last_key == key)
        p->keys.n--;
    rows = p->rows.data;
    w->open = !p->keys.n || rows[p->keys.n - 1] != row;
    if (!w->open)
        return;
    if (p->keys.n == w->space) {
        w->space += w->space / 2 + 1024;
        p->keys.data = must_grow(p->keys.data, w->space, sx_type_bytes(p->keys.type));
        p->rows.data = rows = must_grow(p->rows.data, w->space, 8);
    }
    store_key(p, p->keys.n, key);
    rows[p->keys.n] = row;
    w->last_key = key;
    p->keys.n++;
}

/* Walks the sorted networks. `open` are those that hold the present address, each
 * inside the one before. */
static void cut(piece_writer *w, const network_list *list, const sx_column *rows)
{
    const network *open[129];     /* one a length at most */
    unsigned depth = 0;
    unsigned __int128 greatest = list->type == SX_U32 ? UINT32_MAX
                                                      : ~(unsigned __int128)0;

    for (uint64_t i = 0; i <= list->n; i++) {
        const network *next = i < list->n ? &list->all[i] : NULL;

        while (depth && (!next || open[depth - 1]->span.last < next->span.first)) {
            unsigned __int128 last = open[--depth]->span.last;

            if (last < greatest)
                from_here(w, last + 1, depth ? row_of(rows, open[depth - 1]->at)
                                             : w->to->none);
        }
        if (!next || (depth && open[depth - 1]->span.first == next->span.first &&
                      open[depth - 1]->span.last == next->span.last))
            continue;
        open[depth++] = next;
        from_here(w, next->span.first, row_of(rows, next->at));
    }
}

static uint64_t greatest_row(const sx_column *rows, uint64_t n)
{
    uint64_t greatest = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t row = row_of(rows, i);

        greatest = row > greatest ? row : greatest;
    }
    return greatest;
}

pieces read_networks(const char *const *paths, unsigned n, const reading *how,
                     const sx_column *rows, text_facts *facts)
{
    network_list list = { .type = how->type };
    pieces p = { .none = 0 };
    piece_writer w = { .to = &p };

    for (unsigned i = 0; i < n; i++) {
        file_format format = format_needed(paths[i], how->format);

        if (!format_is_text(format))
            fail_usage("%s: networks are read from text, csv and tsv files", paths[i]);
        read_text(paths[i], format, &how->text, take_network, &list, facts);
    }
    if (rows && rows->n != list.n)
        fail("there are %" PRIu64 " networks, but %" PRIu64 " rows", list.n, rows->n);
    p.networks = list.n;
    p.none = list.n ? greatest_row(rows, list.n) + 1 : 0;
    if (p.none == SX_MISS)
        fail("row %" PRIu64 " is too large: the next number has to be free, for no "
             "network", p.none - 1);
    p.keys = column_over(list.type ? list.type : SX_U32, 0, must_alloc(0, 1));
    p.rows = column_over(SX_U64, 0, must_alloc(0, 1));
    if (list.n)
        qsort(list.all, (size_t)list.n, sizeof *list.all, compare);
    cut(&w, &list, rows);
    p.rows.n = p.keys.n;
    free(list.all);
    return p;
}
