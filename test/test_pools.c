/* test_pools.c - pools of nodes grow (src/place/grow.h, src/family/bplus/bplus_pools.h), and a
 * version that shares memory with the one before is made out of it, as updates will do: nodes are
 * taken, written elsewhere and given back, while threads ask. Clean under ThreadSanitizer.
 *
 * A change moves leaves and, with them, all nodes above: it writes copies, and never a node that
 * the tree before has. So all answers stay, and so does the file. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "family/bplus/bplus_pools.h"
#include "family/index_check.h"
#include "inside.h"
#include "on_device.h"
#include "place/grow.h"

static asker *asking;

#define MIB (1ull << 20)

/* ---- changes ------------------------------------------------------------------------------ */

/* Which numbers of a pool the test takes to be used, free, or given back just now. */
enum { USED, FREE, GIVEN };
typedef struct { unsigned char *state; uint64_t numbers, space; } model;

typedef struct {
    sx_index *ix;
    sx_index_version *next;
    sx_replica_growing grows;
    sx_bplus_pools pools;
    model model[SX_BPLUS_POOLS];
    int reuse;
} change;

static sx_bplus *tree_of(change *c)
{
    return &c->grows.r->view.of.bplus;
}

static uint64_t numbers_of(change *c, unsigned pool)
{
    return pool == SX_BPLUS_LASTS ? tree_of(c)->last_pool : tree_of(c)->inner_pool;
}

/* A change begins in which the model has what is free in the links. */
static sx_status change_begin(change *c, sx_index *ix, int reuse, sx_err *err)
{
    *c = (change){ .ix = ix, .reuse = reuse };
    sx_status st = sx_version_follow(&c->next, now_of(ix), err);
    if (st != SX_OK)
        return st;
    sx_replica_grows(&c->grows, &c->next->run[0]->replica[0]);
    const sx_bplus *t = tree_of(c);
    const unsigned char *end = t->links + sx_section_bytes(view_of(ix), SX_SEC_LINKS);
    uint64_t free_inner = t->inner_pool - t->inner, free_last = t->last_pool - t->leaves;
    for (unsigned pool = 0; pool < SX_BPLUS_POOLS; pool++) {
        model *m = &c->model[pool];
        uint64_t count = pool == SX_BPLUS_LASTS ? free_last : free_inner;
        const unsigned char *list = end - 4 * (free_inner + (pool == SX_BPLUS_LASTS ? free_last : 0));
        m->numbers = numbers_of(c, pool);
        m->space = m->numbers + 1000;
        m->state = need(m->space);
        memset(m->state, USED, m->space);
        for (uint64_t i = 0; i < count; i++) {
            uint32_t number;
            memcpy(&number, list + 4 * i, 4);
            assert_true(number < m->numbers && m->state[number] == USED);
            m->state[number] = FREE;
        }
    }
    st = sx_bplus_pools_begin(&c->pools, &c->grows.growing, reuse, err);
    if (st != SX_OK) {
        sx_version_drop(c->next);
        c->next = NULL;
    }
    return st;
}

static void change_free(change *c)
{
    sx_bplus_pools_leave(&c->pools);
    for (unsigned pool = 0; pool < SX_BPLUS_POOLS; pool++)
        free(c->model[pool].state);
}

/* It never was. */
static void change_drop(change *c)
{
    change_free(c);
    sx_version_drop(c->next);
}

static sx_status take(change *c, unsigned pool, uint32_t *number, sx_err *err)
{
    model *m = &c->model[pool];
    sx_status st = sx_bplus_pools_take(&c->pools, pool, number, err);
    uint64_t want = 0;
    if (st != SX_OK)
        return st;
    while (want < m->numbers && !(c->reuse && m->state[want] == FREE))
        want++;
    if (*number != want)
        fail_msg("number %u of pool %u is taken, not %llu", *number, pool, (unsigned long long)want);
    if (want == m->numbers && m->numbers++ == m->space) {
        m->space = 2 * m->space;
        m->state = realloc(m->state, m->space);
        assert_non_null(m->state);
    }
    m->state[want] = USED;
    assert_int_equal(numbers_of(c, pool), m->numbers);
    return SX_OK;
}

static void give(change *c, unsigned pool, uint32_t number)
{
    sx_err err;
    assert_int_equal(sx_bplus_pools_give(&c->pools, pool, number, &err), SX_OK);
    c->model[pool].state[number] = GIVEN;
    assert_int_equal(sx_bplus_pools_give(&c->pools, pool, number, &err), SX_EINVAL);
}

/* The links are written, and the free numbers there are those of the model. */
static sx_status change_end(change *c, sx_err *err)
{
    sx_status st = sx_bplus_pools_end(&c->pools, err);
    if (st != SX_OK)
        return st;
    const sx_bplus *t = tree_of(c);
    const unsigned char *links = c->grows.r->base[SX_SEC_LINKS];
    uint64_t at = sx_section_bytes(&c->grows.r->view, SX_SEC_LINKS) -
                  4 * (t->last_pool - t->leaves + t->inner_pool - t->inner);
    for (unsigned pool = 0; pool < SX_BPLUS_POOLS; pool++)
        for (uint64_t i = 0; i < c->model[pool].numbers; i++)
            if (c->model[pool].state[i] != USED) {
                uint32_t number;
                memcpy(&number, links + at, 4);
                assert_int_equal(number, i);
                at += 4;
            }
    assert_int_equal(at, sx_section_bytes(&c->grows.r->view, SX_SEC_LINKS));
    return SX_OK;
}

static void change_publish(change *c)
{
    sx_err err;
    if (change_end(c, &err) != SX_OK)
        fail_msg("%s", err.text);
    change_free(c);
    sx_index_publish(c->ix, c->next);
}

/* ---- leaves that move ---------------------------------------------------------------------- */

static unsigned char *node_of(change *c, unsigned pool, uint32_t number)
{
    unsigned width = c->grows.r->view.width, m = 64 / width, last = 64 + 64 * m;
    return pool == SX_BPLUS_LASTS
               ? (unsigned char *)c->grows.r->base[SX_SEC_LAST] + (uint64_t)number * last
               : (unsigned char *)c->grows.r->base[SX_SEC_INNER] + (uint64_t)number * (last + m * m * 4);
}

static uint32_t child_of(change *c, uint32_t node, uint32_t j)
{
    unsigned width = c->grows.r->view.width;
    uint32_t number;
    memcpy(&number, node_of(c, SX_BPLUS_INNERS, node) + 64 + 4096 / width + 4 * j, 4);
    return number;
}

static uint64_t leaves_under(change *c, unsigned level, uint32_t node)
{
    if (level + 1u == tree_of(c)->levels)
        return 1;
    uint64_t sum = 0;
    for (uint32_t j = 0; j < c->pools.sizes[node]; j++)
        sum += leaves_under(c, level + 1, child_of(c, node, j));
    return sum;
}

/* A node gets another number. */
static sx_status move_node(change *c, unsigned pool, uint32_t from, uint32_t *to, sx_err *err)
{
    const sx_view *v = &c->grows.r->view;
    unsigned m = 64 / v->width, fan = m * m;
    sx_status st = take(c, pool, to, err);
    if (st != SX_OK)
        return st;
    memcpy(node_of(c, pool, *to), node_of(c, pool, from),
           64 + 64 * m + (pool == SX_BPLUS_INNERS ? fan * 4 : 0));
    if (pool == SX_BPLUS_LASTS) {
        unsigned char *keys = c->grows.r->base[v->block ? SX_SEC_PAIRS : SX_SEC_KEYS];
        unsigned char *rows = v->block || (v->traits & SX_ONCE) ? NULL : c->grows.r->base[SX_SEC_ROWS];
        uint64_t row_bytes = (uint64_t)fan * m * v->row_bytes;
        memcpy(keys + *to * 64ull * fan, keys + from * 64ull * fan, 64 * fan);
        if (rows)
            memcpy(rows + *to * row_bytes, rows + from * row_bytes, row_bytes);
        c->pools.records[*to] = c->pools.records[from];
        c->pools.chain[c->pools.records[from].place] = *to;
    } else {
        c->pools.sizes[*to] = c->pools.sizes[from];
    }
    give(c, pool, from);
    return SX_OK;
}

/* The leaf at a place, and all nodes above it. */
static sx_status move_leaf(change *c, uint64_t place, sx_err *err)
{
    unsigned levels = tree_of(c)->levels, width = c->grows.r->view.width;
    uint32_t path[16], child[16], to = 0;
    path[0] = (uint32_t)tree_of(c)->root;
    for (unsigned l = 0; l + 1 < levels; l++) {
        uint64_t under;
        for (child[l] = 0;; child[l]++, place -= under) {
            path[l + 1] = child_of(c, path[l], child[l]);
            under = leaves_under(c, l + 1, path[l + 1]);
            if (place < under)
                break;
        }
    }
    for (unsigned l = levels; l-- > 0;) {
        uint32_t below = to;
        sx_status st = move_node(c, l + 1 == levels ? SX_BPLUS_LASTS : SX_BPLUS_INNERS, path[l], &to, err);
        if (st != SX_OK)
            return st;
        if (l + 1 < levels)
            memcpy(node_of(c, SX_BPLUS_INNERS, to) + 64 + 4096 / width + 4 * child[l], &below, 4);
    }
    tree_of(c)->root = to;
    return SX_OK;
}

/* One change: some leaves move, and some nodes are taken and given back for nothing. */
static sx_status change_some(change *c, unsigned moves, unsigned more, rnd *r, sx_err *err)
{
    sx_status st = SX_OK;
    uint32_t *kept = need(4 * (more + 1)), *pool = need(4 * (more + 1));
    unsigned n = 0;
    while (st == SX_OK && (moves > 0 || more > 0)) {
        if (moves > 0 && rnd_below(r, moves + more) < moves) {
            moves--;
            st = move_leaf(c, rnd_below(r, tree_of(c)->leaves), err);
        } else {
            more--;
            pool[n] = (uint32_t)rnd_below(r, SX_BPLUS_POOLS);
            st = take(c, pool[n], &kept[n], err);
            if (st == SX_OK)
                memset(node_of(c, pool[n], kept[n]), 0xcc, 64);
            n += st == SX_OK;
        }
        if (n > 0 && (moves + more == 0 || rnd_below(r, 3) == 0)) {
            uint64_t i = rnd_below(r, n);
            give(c, pool[i], kept[i]);
            kept[i] = kept[--n];
            pool[i] = pool[n];
        }
    }
    while (n-- > 0)
        give(c, pool[n], kept[n]);
    free(kept);
    free(pool);
    return st;
}

/* ---- trees that change ---------------------------------------------------------------------- */

static const struct { int type; row_kind rows; const char *spec; uint64_t n; } trees[] = {
    { SX_U64, ROWS_U64_WIDE, "btree(fill=70)", 30000 },
    { SX_U32, ROWS_U32, "btree(fill=50,layout=split)", 9000 },
    { SX_B16, ROWS_U32, "btree(fill=80)", 3000 },
    { SX_B16, ROWS_U64_WIDE, "btree(fill=100,layout=once)", 2000 },
    { SX_F64, ROWS_IMPLICIT, "btree(fill=90)", 40000 },
    { SX_I64, ROWS_U32, "btree(fill=60)", 100 },          /* one leaf */
};

/* Nodes are taken and given back at random, change after change: links are as the model has them,
 * answers stay, and a file is that of the tree as it was built. */
static void test_model(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu:threads=2");
    for (unsigned i = 0; i < COUNT_OF(trees); i++) {
        dataset *d = data_make(trees[i].type, KEYS_DUPLICATES, trees[i].n, trees[i].rows, 40, &r);
        sx_index *ix = index_of(dev, d, trees[i].spec);
        char *path = temp_path("pools.sxt");
        size_t bytes, again;
        unsigned char *before = saved_bytes(ix, path, &bytes), *after;
        uint64_t live = sx_alloc_live();
        for (unsigned round = 0; round < 8; round++) {
            change c;
            sx_err err;
            begin_step("%s, change %u", trees[i].spec, round);
            if (change_begin(&c, ix, round % 3 != 1, &err) != SX_OK ||
                change_some(&c, 1 + (unsigned)rnd_below(&r, 20), (unsigned)rnd_below(&r, 200), &r,
                            &err) != SX_OK)
                fail_msg("%s", err.text);
            if (round == 4) {
                change_drop(&c);          /* nobody will miss it */
                continue;
            }
            change_publish(&c);
            OK(sx_check(ix, NULL));
            if (round % 4 == 3)
                ask_all(asking, NULL, ix, d, trees[i].spec);
            sx_call little = { .size = sizeof little, .max_bytes = 1000 };
            REFUSED(sx_save(ix, path, &little), SX_ENOMEM, "max_bytes = 1000");
            after = saved_bytes(ix, path, &again);
            assert_int_equal(again, bytes);
            assert_memory_equal(after, before, bytes);
            free(after);
        }
        assert_true(sx_alloc_live() > live);
        sx_free(ix);
        free(before);
        free(path);
        data_free(d);
    }
    sx_close(dev);
}

/* A pool that grows without end is moved as long as it is small; from then on it stays, until its
 * addresses are used up. */
static void test_steps(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu:threads=1");
    dataset *d = data_make(SX_B16, KEYS_RANDOM, 3000, ROWS_U32, 40, &r);
    sx_index *ix = index_of(dev, d, "btree(fill=80)");
    unsigned moved = 0, stayed = 0;
    uint64_t most = 70 * MIB, bytes = 0;
    sx_index_info info = { .size = sizeof info };
    char text[4000];
    size_t size = sizeof text;
    while (bytes < most) {
        change c;
        sx_err err;
        uint32_t number;
        if (change_begin(&c, ix, 0, &err) != SX_OK)
            fail_msg("%s", err.text);
        void *base = c.grows.r->base[SX_SEC_PAIRS];
        uint64_t room = sx_alloc_most_of(base), space;
        bytes = sx_section_bytes(&c.grows.r->view, SX_SEC_PAIRS);
        for (uint64_t i = 0; i < bytes / 1024 / 3 + 10; i++) {
            sx_status st = sx_bplus_pools_take(&c.pools, SX_BPLUS_LASTS, &number, &err);
            if (st != SX_OK)
                fail_msg("%s", err.text);
            assert_int_equal(sx_bplus_pools_give(&c.pools, SX_BPLUS_LASTS, number, &err), SX_OK);
        }
        bytes = sx_section_bytes(&c.grows.r->view, SX_SEC_PAIRS);
        space = c.grows.growing.space[SX_SEC_PAIRS];
        assert_true(space >= bytes && space <= bytes * 2);
        if (bytes <= room) {
            assert_ptr_equal(c.grows.r->base[SX_SEC_PAIRS], base);
            stayed++;
        } else {
            assert_ptr_not_equal(c.grows.r->base[SX_SEC_PAIRS], base);
            moved++;
        }
        if (sx_bplus_pools_end(&c.pools, &err) != SX_OK)
            fail_msg("%s", err.text);
        change_free(&c);
        sx_index_publish(ix, c.next);
    }
    assert_true(moved >= 6 && stayed >= 5);
    OK(sx_check(ix, NULL));
    ask_all(asking, NULL, ix, d, "steps");
    OK(sx_describe(ix, &info));
    assert_true(info.bytes >= bytes && info.bytes < 3 * bytes);
    OK(sx_explain(ix, SX_TEXT, text, &size));
    assert_non_null(strstr(text, " to grow"));
    size = sizeof text;
    OK(sx_explain(ix, SX_JSON, text, &size));
    assert_true(is_json(text) && strstr(text, "\"space\": "));
    sx_free(ix);
    data_free(d);
    sx_close(dev);
}

/* ---- failures ----------------------------------------------------------------------------- */

/* Each allocation of a change fails once: what was published stays, and no memory is lost. */
static void test_failures(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu:threads=1");
    dataset *d = data_make(SX_B16, KEYS_DUPLICATES, 2000, ROWS_U64_WIDE, 30, &r);
    for (unsigned file = 0; file < 2; file++) {
        sx_index *ix = index_of(dev, d, "btree(fill=80,layout=split)");
        unsigned failures = 0;
        bool done = false;
        if (file) {               /* the same of a file that is mapped */
            char *path = temp_path("failing.sxt");
            OK(sx_save(ix, path, NULL));
            sx_free(ix);
            OK(sx_load(&ix, dev, path, 0, NULL));
            free(path);
        }
        uint64_t live = 0;
        for (long nth = 1; !done; nth++) {
            rnd same = r;
            change c;
            sx_err err;
            sx_alloc_fail_at(nth);
            sx_status st = change_begin(&c, ix, 1, &err);
            bool begun = st == SX_OK;
            if (st == SX_OK)
                st = change_some(&c, 5, 300, &same, &err);
            if (st == SX_OK)
                st = change_end(&c, &err);
            done = st == SX_OK;
            sx_alloc_fail_at(0);
            if (!done && (st != SX_ENOMEM || !strstr(err.text, "memory")))
                fail_msg("allocation %ld: status %d: %s", nth, (int)st, err.text);
            failures += !done;
            if (done)
                change_free(&c), sx_index_publish(ix, c.next);
            else if (begun)
                change_drop(&c);
            else
                change_free(&c);
            OK(sx_check(ix, NULL));
            if (begun && !live)
                live = sx_alloc_live();
            if (begun && !done)
                assert_int_equal(sx_alloc_live(), live);
            if (nth % 8 == 1 || done)
                ask_all(asking, NULL, ix, d, "a failing allocation");
        }
        assert_true(failures > 20);
        sx_free(ix);
    }
    data_free(d);
    sx_close(dev);
}

/* ---- readers -------------------------------------------------------------------------------- */

typedef struct {
    const sx_index *ix;
    const dataset *d;
    _Atomic int *stop;
    uint64_t asked;
    const char *wrong;
} reader;

static void *read_on(void *arg)
{
    reader *me = arg;
    uint64_t n = me->d->queries, *got = need(8 * n);
    while (!atomic_load(me->stop) || me->asked == 0) {
        sx_index_info info = { .size = sizeof info };
        sx_column q = column(me->d->type, n, me->d->q.data), out = column(SX_U64, n, got);
        if (sx_get(me->ix, &q, &out, NULL) != SX_OK || memcmp(got, me->d->get, 8 * n) != 0)
            me->wrong = "get";
        if (sx_rank(me->ix, &q, SX_RIGHT, &out, NULL) != SX_OK || memcmp(got, me->d->right, 8 * n) != 0)
            me->wrong = "rank";
        if (sx_describe(me->ix, &info) != SX_OK || info.n != me->d->n)
            me->wrong = "describe";
        me->asked++;
    }
    free(got);
    return NULL;
}

/* Leaves and nodes move and pools grow, by reserved addresses and by moving, while threads ask. One
 * version stays meanwhile, and is as it was. */
static void test_readers(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu:threads=1");
    dataset *d = data_make(SX_U64, KEYS_DUPLICATES, 200000, ROWS_U32, 200, &r);
    sx_index *ix = index_of(dev, d, "btree(fill=70)");
    sx_index_version *old = now_of(ix);
    const sx_view *v = &old->run[0]->replica[0].view;
    static _Atomic int stop;      /* a test that fails leaves threads behind */
    static reader readers[2];
    pthread_t threads[2];
    bool in_place = sx_alloc_most_of(replica_of(ix, 0)->base[SX_SEC_PAIRS]) > 16 * MIB;
    assert_true(in_place);
    atomic_store(&old->stays, 1);
    for (unsigned i = 0; i < 2; i++) {
        readers[i] = (reader){ .ix = ix, .d = d, .stop = &stop };
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    }
    for (unsigned round = 0; round < 12; round++) {
        change c;
        sx_err err;
        if (change_begin(&c, ix, 0, &err) != SX_OK || change_some(&c, 60, 100, &r, &err) != SX_OK)
            fail_msg("%s", err.text);
        change_publish(&c);
    }
    atomic_store(&stop, 1);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        if (readers[i].wrong)
            fail_msg("%s", readers[i].wrong);
    }
    sx_err err;
    OK(sx_check(ix, NULL));
    assert_int_equal(sx_index_check(v, SX_U64, old->max_row, 0, NULL, &err), SX_OK);
    assert_ptr_equal(replica_of(ix, 0)->base[SX_SEC_PAIRS], v->keys);
    assert_ptr_not_equal(replica_of(ix, 0)->base[SX_SEC_INNER], v->of.bplus.nodes);
    ask_all(asking, NULL, ix, d, "readers");
    sx_free(ix);
    data_free(d);
    sx_close(dev);
}

/* ---- files and devices ------------------------------------------------------------------------ */

/* A mapped file, and a copy of one, grow; the file stays as it was. */
static void test_loaded(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu:threads=1");
    for (unsigned i = 0; i < 2 * COUNT_OF(trees); i++) {
        unsigned k = i / 2;
        dataset *d = data_make(trees[k].type, KEYS_DUPLICATES, trees[k].n, trees[k].rows, 30, &r);
        sx_index *made = index_of(dev, d, trees[k].spec), *ix;
        char *path = temp_path("loaded.sxt");
        size_t bytes, again;
        unsigned char *before = saved_bytes(made, path, &bytes), *after;
        change c;
        sx_err err;
        OK(sx_load(&ix, dev, path, i % 2 ? SX_LOAD_COPY : 0, NULL));
        for (unsigned round = 0; round < 2; round++) {
            if (change_begin(&c, ix, 1, &err) != SX_OK || change_some(&c, 5, 50, &r, &err) != SX_OK)
                fail_msg("%s", err.text);
            change_publish(&c);
        }
        OK(sx_check(ix, NULL));
        ask_all(asking, NULL, ix, d, trees[k].spec);
        after = read_file(path, &again);
        assert_int_equal(again, bytes);
        assert_memory_equal(after, before, bytes);
        free(after);
        free(before);
        free(path);
        sx_free(ix);
        sx_free(made);
        data_free(d);
    }
    sx_close(dev);
}

static _Atomic int blocks;

static void *take_block(void *context, uint64_t bytes, void *stream)
{
    (void)context;
    (void)stream;
    void *p = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (p)
        atomic_fetch_add(&blocks, 1);
    return p;
}

static void give_block(void *context, void *p, void *stream)
{
    (void)context;
    (void)stream;
    atomic_fetch_sub(&blocks, p != NULL);
    free(p);
}

/* In a device's memory, the caller's allocator or not, pools move; and so in an upper part. */
static void test_devices(void **state)
{
    (void)state;
    static const char *const places[] = { "device", "hybrid", "both" };
    rnd r = rnd_start(test_seed());
    for (unsigned turn = 0; turn < 2 * COUNT_OF(places); turn++) {
        sx_device *dev = device_open(kernel_device((turn * 5) % kernel_devices()));
        sx_allocator from = { sizeof from, take_block, give_block, NULL };
        dataset *d = data_make(SX_U64, KEYS_DUPLICATES, 2000, ROWS_U32, 30, &r);
        sx_index_version *next;
        char spec[80];
        sx_err err;
        if (turn % 2 && !kernel_is_gpu())
            OK(sx_device_allocator(dev, &from));
        snprintf(spec, sizeof spec, "btree(fill=60) place=%s", places[turn / 2]);
        sx_index *ix = index_of(dev, d, spec);
        for (unsigned round = 0; round < 3; round++) {
            if (sx_version_follow(&next, now_of(ix), &err) != SX_OK)
                fail_msg("%s", err.text);
            sx_run *run = next->run[0];
            for (unsigned i = 0; i < run->replicas; i++)
                for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
                    sx_replica_growing g;
                    sx_replica_grows(&g, &run->replica[i]);
                    uint64_t space = g.growing.space[kind];
                    void *base = g.growing.base[kind];
                    if (space == 0 || !sx_section_pool(&run->replica[i].view, kind))
                        continue;
                    if (g.growing.grow(&g.growing, kind, space + 1000, &err) != SX_OK)
                        fail_msg("%s", err.text);
                    assert_true(g.growing.space[kind] >= space + 1000);
                    assert_ptr_not_equal(g.growing.base[kind], base);
                }
            sx_index_publish(ix, next);
            OK(sx_check(ix, NULL));
        }
        asking->no_streams = turn / 2 == 1;
        ask_all(asking, dev, ix, d, spec);
        asking->no_streams = false;
        sx_free(ix);
        sx_close(dev);
        assert_int_equal(atomic_load(&blocks), 0);
        data_free(d);
    }
}

/* A tree with free nodes, another root and a disorder of numbers, in the memory of a device. */
static void test_kernels(void **state)
{
    (void)state;
    if (kernel_is_gpu())
        SKIP("the test writes nodes, which it can in the emulator's memory only");
    rnd r = rnd_start(test_seed());
    for (unsigned turn = 0; turn < (UNDER_ASAN || UNDER_TSAN ? 6 : 12); turn++) {
        static const char *const options[] = { "", "walk=shared,pin=full", "walk=shared,pin=steps",
                                               "walk=shared,pin=none" };
        sx_device *dev = device_open(kernel_with(options[turn % COUNT_OF(options)]));
        dataset *d = data_make(device_widths[turn % 3], KEYS_DUPLICATES, turn % 3 ? 1500 : 6000,
                               turn % 2 ? ROWS_U32 : ROWS_U64_WIDE, 30, &r);
        sx_index *ix = index_of(dev, d, "btree(fill=50)");
        for (unsigned round = 0; round < 2; round++) {
            change c;
            sx_err err;
            if (change_begin(&c, ix, 1, &err) != SX_OK || change_some(&c, 8, 30, &r, &err) != SX_OK)
                fail_msg("%s", err.text);
            change_publish(&c);
        }
        OK(sx_check(ix, NULL));
        asking->no_streams = false;
        ask_all(asking, dev, ix, d, options[turn % COUNT_OF(options)]);
        sx_free(ix);
        sx_close(dev);
        data_free(d);
    }
}

/* ---- what is wrong ------------------------------------------------------------------------------ */

/* Each bit of the links of a tree with free nodes; then two free numbers change places. */
static void test_wrong(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu:threads=1");
    dataset *d = data_make(SX_B16, KEYS_RANDOM, 500, ROWS_U32, 30, &r);
    sx_index *ix = index_of(dev, d, "btree(fill=75)");
    change c;
    sx_err err;
    if (change_begin(&c, ix, 1, &err) != SX_OK || change_some(&c, 6, 12, &r, &err) != SX_OK)
        fail_msg("%s", err.text);
    change_publish(&c);
    OK(sx_check(ix, NULL));
    const sx_view *v = view_of(ix);
    const sx_bplus *t = &v->of.bplus;
    uint64_t bytes = sx_section_bytes(v, SX_SEC_LINKS), numbers = t->inner_pool - t->inner;
    unsigned char *links = replica_of(ix, 0)->base[SX_SEC_LINKS], x[4];
    assert_true(numbers > 2 && t->last_pool > t->leaves + 2);
    for (uint64_t bit = 0; bit < 8 * bytes; bit += UNDER_TSAN ? 1 + rnd_below(&r, 30) : 1) {
        links[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (sx_check(ix, NULL) != SX_ECORRUPT)
            fail_msg("bit %llu of links", (unsigned long long)bit);
        links[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (uint64_t at = bytes - 4 * numbers; at + 8 <= bytes; at += 4) {
        memcpy(x, links + at, 4);
        memcpy(links + at, links + at + 4, 4);
        REFUSED(sx_check(ix, NULL), SX_ECORRUPT, "T7");
        memcpy(links + at + 4, x, 4);
        REFUSED(sx_check(ix, NULL), SX_ECORRUPT, "T7");
        memcpy(links + at + 4, links + at, 4);
        memcpy(links + at, x, 4);
    }
    OK(sx_check(ix, NULL));
    sx_free(ix);
    data_free(d);
    sx_close(dev);
}

/* A large pool has whole huge pages, and an estimate counts them: it is no less than what the
 * index takes of the host. */
static void test_estimate(void **state)
{
    (void)state;
    enum { N = 300000 };
    uint64_t *values = need(N * sizeof *values), pages = 0;
    sx_column keys = column(SX_U64, N, values);
    sx_estimate_info e = { .size = sizeof e };
    sx_device *dev = device_open("cpu");
    sx_index *ix = NULL;
    for (uint64_t i = 0; i < N; i++)
        values[i] = (N - i) * 7;  /* rows are stored */
    OK(sx_build(&ix, dev, "btree(fill=100)", &keys, NULL, NULL));
    OK(estimate_of(dev, "btree(fill=100)", SX_U64, N, 0, &e));
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        uint64_t bytes = sx_section_bytes(view_of(ix), kind);
        if (sx_section_pool(view_of(ix), kind) && bytes >= 4 * MIB)
            pages += (bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
        else
            pages += bytes;
    }
    assert_true(pages > sx_store_bytes(&(sx_store){ .view = *view_of(ix) }));
    assert_true(e.host_resident >= pages);
    assert_true(e.host_peak >= pages);
    sx_free(ix);
    sx_close(dev);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_steps), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_readers), cmocka_unit_test(test_loaded),
        cmocka_unit_test(test_devices), cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_wrong), cmocka_unit_test(test_estimate),
    };
    test_seed();
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("pools", tests, NULL, NULL);
    asker_free(asking);
    return failed != 0;
}
