/* test_string_groups.c - trees of prefixes (keys/string_groups.h): which of them is taken, and that
 * codes of each lead to every string. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "keys/string_groups.h"
#include "texts.h"

#define ALL UINT64_MAX            /* bytes: every tree is good */

/* Sorted strings as an index has them, and one of their trees. */
typedef struct {
    const text_oracle *o;
    sx_strings s;
    uint32_t *offsets, *shared;
    unsigned char *bytes;
    void *groups;
    uint64_t tree;                /* its bytes: without digits and shares */
    uint64_t ties;                /* strings that it takes to be tied */
} sorted;

static sorted sorted_of(const text_oracle *o)
{
    sorted t = { .o = o };
    uint64_t size = 0;
    for (uint64_t i = 0; i < o->n; i++)
        size += o->keys[i].bytes;
    t.offsets = need((o->n + 1) * sizeof *t.offsets);
    t.shared = need((o->n + 1) * sizeof *t.shared);
    t.bytes = need(size + 1);
    t.s = (sx_strings){ .offsets = (unsigned char *)t.offsets, .bytes = t.bytes, .size = size,
                        .offset_bytes = 4, .code_bytes = 8 };
    size = 0;
    for (uint64_t i = 0; i < o->n; i++) {
        const text *k = &o->keys[i], *b = i ? k - 1 : k;
        uint32_t m = 0;
        t.offsets[i] = (uint32_t)size;
        if (k->bytes)
            memcpy(t.bytes + size, k->data, k->bytes);
        size += k->bytes;
        while (m < k->bytes && m < b->bytes && k->data[m] == b->data[m])
            m++;
        t.shared[i] = i == 0 ? 0 : m == k->bytes && m == b->bytes ? SX_EQUAL : m;
    }
    t.offsets[o->n] = (uint32_t)size;
    return t;
}

static void sorted_free(sorted *t)
{
    free(t->offsets);
    free(t->shared);
    free(t->bytes);
}

/* Makes a tree; the caller gives it back. */
static sorted make(const sorted *of, uint64_t good)
{
    sorted t = *of;
    sx_err err;
    assert_int_equal(sx_groups_make_good(&t.s, t.o->n, t.shared, good, &t.groups, &t.ties, &err),
                     SX_OK);
    assert_int_equal(sx_groups_check(&t.s, &err), SX_OK);
    t.tree = sx_groups_bytes(&t.s) - sx_digits_bytes(t.s.base, t.s.rows);
    assert_true(sx_groups_bytes(&t.s) <= sx_groups_most(t.o->n));
    return t;
}

static bool same(const sorted *a, const sorted *b)
{
    uint64_t bytes = sx_groups_bytes(&a->s);
    return bytes == sx_groups_bytes(&b->s) && memcmp(a->groups, b->groups, bytes) == 0;
}

static uint64_t code_of(const sorted *t, text q)
{
    return sx_string_walk(&t->s, q.data, q.bytes).code;
}

/* Codes of keys never descend, and the bound of a query's code is not behind the query's. */
static void must_find(const sorted *t, const texts *q)
{
    const text_oracle *o = t->o;
    uint64_t *code = need((o->n + 1) * sizeof *code);
    for (uint64_t i = 0; i < o->n; i++) {
        code[i] = code_of(t, o->keys[i]);
        if (i > 0 && code[i] < code[i - 1])
            fail_msg("the code of string %llu descends", (unsigned long long)i);
    }
    for (uint64_t i = 0; i < q->n; i++) {
        uint64_t own = code_of(t, q->of[i]), lo = 0, hi = o->n, at;
        while (lo < hi) {
            uint64_t half = lo + (hi - lo) / 2;
            if (code[half] < own)
                lo = half + 1;
            else
                hi = half;
        }
        at = sx_string_bound(&t->s, o->n, lo, q->of[i].data, q->of[i].bytes, 0);
        if (at != text_rank(o, q->of[i], 0))
            fail_msg("query %llu: bound %llu, not %llu", (unsigned long long)i,
                     (unsigned long long)at, (unsigned long long)text_rank(o, q->of[i], 0));
    }
    free(code);
}

/* The most ties of a tree that may take the place of the first one. */
static uint64_t ties_most(const sorted *first)
{
    return first->ties + first->ties / 8 + first->o->n / 256;
}

/* A tree that is good is taken as it is. Otherwise smaller ones are tried, up to one that is good, as
 * long as they have hardly more ties than the first. */
static void try_trees(const texts *keys, rnd *r, unsigned *smaller, unsigned *stopped)
{
    text_oracle *o = text_oracle_new(keys->n, keys->of, NULL);
    texts q = texts_near(keys, 300, 4, r);
    sorted all = sorted_of(o), first = make(&all, ALL), least = make(&all, 0), before = first;
    assert_true(least.tree <= first.tree && least.ties <= ties_most(&first));
    must_find(&first, &q);
    must_find(&least, &q);
    before.groups = NULL;
    for (uint64_t good = first.tree; good + 1 > 0;) {
        sorted t = make(&all, good);
        if (good == first.tree)
            assert_true(same(&t, &first));
        else
            assert_true(t.tree <= before.tree);
        assert_true(t.ties <= ties_most(&first));
        if (t.tree > good) {      /* none is better, and none will be */
            assert_true(same(&t, &least));
            *stopped += t.s.forks > 0;
            sx_release(t.groups);
            break;
        }
        if (before.tree > t.tree) {
            must_find(&t, &q);
            *smaller += 1;
        }
        before = t;
        good = t.tree - 1;        /* the next one is smaller */
        sx_release(t.groups);
    }
    sx_release(first.groups);
    sx_release(least.groups);
    sorted_free(&all);
    texts_free(&q);
    text_oracle_free(o);
}

static void test_choice(void **state)
{
    (void)state;
    static const texts_kind kinds[] = { TEXTS_TIED, TEXTS_PATHS, TEXTS_WORDS, TEXTS_RANDOM,
                                        TEXTS_DUPLICATES, TEXTS_NESTED };
    rnd r = rnd_start(test_seed() + 51);
    unsigned smaller = 0, stopped = 0;
    for (unsigned k = 0; k < COUNT_OF(kinds); k++)
        for (unsigned turn = 0; turn < 4; turn++) {
            texts keys = texts_make(kinds[k], 500 + rnd_below(&r, 6000), 4, &r);
            try_trees(&keys, &r, &smaller, &stopped);
            texts_free(&keys);
        }
    printf("%u smaller trees, %u that ended it\n", smaller, stopped);
    assert_true(smaller > 0 && stopped > 0);      /* some trees have others to choose from */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests_name("groups of strings", tests, NULL, NULL);
}
