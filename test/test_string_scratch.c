/* test_string_scratch.c - max_bytes of questions about strings: what they take is known before, to
 * the byte; a call with a byte less writes nothing, and one that may take it takes no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "texts.h"

#define OK(call) do { \
        if ((call) != SX_OK) \
            fail_msg("%s: %s", #call, sx_detail()); \
    } while (0)

enum { KEYS = 600, N = 90, HITS = 40 * N, EACH = 4, SPACE = 1 << 16 };

/* Queries, and columns for answers: in memory of the host, and on a device of which they are
 * copies. */
typedef struct {
    sx_device *dev;               /* NULL: columns are on the host */
    sx_index *ix;
    texts q;
    sx_column lo, parents, number[4], first, rows, steps, keys;   /* as calls get them */
    sx_column here[8];            /* outputs on the host: number[0] to [3], first, rows, steps, keys */
} asking;

typedef sx_status verb_fn(asking *a, const sx_call *call);

static sx_status ask_get(asking *a, const sx_call *call)
{
    return sx_get(a->ix, &a->lo, &a->number[0], call);
}

static sx_status ask_rank(asking *a, const sx_call *call)
{
    return sx_rank(a->ix, &a->lo, SX_RIGHT, &a->number[0], call);
}

static sx_status ask_floor(asking *a, const sx_call *call)
{
    return sx_floor(a->ix, &a->lo, &a->number[0], &a->keys, call);
}

static sx_status ask_count(asking *a, const sx_call *call)
{
    sx_ranges r = { .size = sizeof r, .lo = &a->lo, .hi = &a->lo };
    return sx_range_count(a->ix, &r, &a->number[0], call);
}

static sx_status ask_fold(asking *a, const sx_call *call)
{
    sx_ranges r = { .size = sizeof r, .lo = &a->lo, .hi = &a->lo };
    sx_aggregates all = { .size = sizeof all, .count = &a->number[0], .min = &a->number[1],
                          .max = &a->number[2], .sum = &a->number[3] };
    return sx_range_aggregate(a->ix, &r, &all, call);
}

static sx_status ask_rows(asking *a, const sx_call *call)
{
    sx_ranges r = { .size = sizeof r, .lo = &a->lo, .hi = &a->lo };
    return sx_range(a->ix, &r, &a->first, &a->rows, NULL, call);
}

static sx_status ask_strings(asking *a, const sx_call *call)
{
    sx_prefixes p = { .size = sizeof p, .of = &a->lo, .limit = 1 };
    return sx_prefix(a->ix, &p, &a->first, &a->rows, &a->keys, call);
}

static sx_status ask_climb(asking *a, const sx_call *call)
{
    sx_climbs c = { .size = sizeof c, .of = &a->lo, .parents = &a->parents, .limit = 1 };
    return sx_climb(a->ix, &c, &a->rows, &a->keys, &a->steps, call);
}

/* Bytes of the queries as a column that visits the host. */
#define VISIT(a) ((N + 1) * EACH + (a)->q.bytes)
/* Of strings as results, n of them: on a GPU; on the host; and there on their way to a device. */
#define FOUND_GPU(n) (8 * (n) + 16 * ((n) + 1))
#define FOUND(n) (8 * (n))
#define FOUND_SENT(n) (FOUND(n) + ((n) + 1) * EACH + SPACE)
/* An emulated device makes codes of 70 strings at a time, in 3 channels of 32 if columns travel. A
 * GPU does more. */
#define CODES(there, each) (uint64_t)((there) ? 70 * (each) : 3 * 32 * (each))

/* What each verb takes by itself on a device; on a host with columns of its own; and by columns of a
 * device; and for how many columns codes are made where the index is hybrid. */
static const struct {
    const char *name;
    verb_fn *ask;
    uint64_t gpu[2];              /* columns are on the host; on the device */
    uint64_t host, sent;
    unsigned visits, codes;       /* columns of queries */
} verbs[] = {
    { "get", ask_get, { CODES(0, 20), CODES(1, 20) }, 0, 8 * N, 1, 1 },
    { "rank", ask_rank, { CODES(0, 20), CODES(1, 20) }, 0, 8 * N, 1, 1 },
    { "floor", ask_floor, { CODES(0, 20) + FOUND_GPU(N) + 8 * N, CODES(1, 20) + FOUND_GPU(N) + 8 * N },
      FOUND(N) + 8 * N, FOUND_SENT(N) + 8 * N, 1, 1 },
    { "count", ask_count, { CODES(0, 52), CODES(1, 52) }, 0, 8 * N, 2, 2 },
    { "fold", ask_fold, { CODES(0, 52), CODES(1, 52) }, 0, 4 * 8 * N, 2, 2 },
    { "rows", ask_rows, { CODES(0, 52) + 24 * (N + 1), CODES(1, 52) + 24 * (N + 1) }, 8 * (N + 1),
      16 * (N + 1), 2, 2 },
    { "strings", ask_strings, { CODES(0, 52) + 24 * (N + 1), CODES(1, 52) + 24 * (N + 1) },
      16 * (N + 1), 24 * (N + 1), 2, 1 },
    { "climb", ask_climb, { FOUND_GPU(N) + 12 * N, FOUND_GPU(N) + 12 * N }, FOUND(N) + 12 * N,
      FOUND_SENT(N) + 12 * N, 1, 0 },
};

static const char *const places[] = { "host", "device", "hybrid", "both" };

/* Of ranges: those for results come on top, which are known when ranges are found. */
static uint64_t needed(const asking *a, unsigned v, const char *place)
{
    bool gpu = a->dev && (!strcmp(place, "device") || !strcmp(place, "both"));
    bool there = a->dev && a->lo.place == SX_DEVICE;
    uint64_t bytes = gpu ? verbs[v].gpu[there] : there ? verbs[v].sent : verbs[v].host;
    if (!gpu && there)
        bytes += verbs[v].visits * VISIT(a);
    if (!strcmp(place, "hybrid"))
        bytes += verbs[v].codes * 16 * N;
    return bytes;
}

static sx_column *output(asking *a, unsigned i)
{
    return i < 4 ? &a->number[i] : i == 4 ? &a->first : i == 5 ? &a->rows : i == 6 ? &a->steps
                                                                              : &a->keys;
}

static uint64_t bytes_of(const sx_column *c)
{
    return c->type == SX_STR ? c->bytes : c->n * (c->type == SX_U32 ? 4 : 8);
}

/* All outputs are filled with one byte. */
static void fill(asking *a, unsigned char byte)
{
    for (unsigned i = 0; i < 8; i++) {
        sx_column *c = &a->here[i];
        memset(c->data, byte, bytes_of(c));
        if (c->type == SX_STR)    /* offsets that a copy would take */
            memset(c->offsets, 0, (c->n + 1) * EACH);
        if (a->lo.place == SX_DEVICE)
            OK(sx_column_copy(output(a, i), c, a->dev));
    }
}

/* They come to the host. */
static void fetch(asking *a)
{
    for (unsigned i = 0; i < 8 && a->lo.place == SX_DEVICE; i++)
        text_fetch(a->dev, output(a, i), &a->here[i]);
}

/* What results of ranges take when their number is known. */
static uint64_t needed_then(const asking *a, unsigned v, const char *place, uint64_t total)
{
    bool gpu = a->dev && (!strcmp(place, "device") || !strcmp(place, "both"));
    bool there = a->dev && a->lo.place == SX_DEVICE;
    if (!strcmp(place, "both") && !there)     /* the host answers if there is too little for a GPU */
        gpu = false;
    if (verbs[v].ask == ask_strings)
        return gpu ? FOUND_GPU(total) : there ? FOUND_SENT(total) : FOUND(total);
    return verbs[v].ask == ask_rows && there && !gpu ? 8 * total : 0;
}

/* Fails, and leaves all outputs as they were. */
static void must_refuse(asking *a, unsigned v, const char *place, uint64_t max_bytes)
{
    sx_call call = { .size = sizeof call, .max_bytes = max_bytes };
    fill(a, 0x5a);
    sx_status st = verbs[v].ask(a, &call);
    if (st != SX_ENOMEM || !strstr(sx_detail(), "max_bytes = "))
        fail_msg("%s, place %s, %llu bytes: status %d, %s", verbs[v].name, place,
                 (unsigned long long)max_bytes, (int)st, sx_detail());
    fetch(a);
    for (unsigned i = 0; i < 8; i++) {
        const unsigned char *p = a->here[i].data;
        for (uint64_t k = 0; k < bytes_of(&a->here[i]); k++)
            if (p[k] != 0x5a)
                fail_msg("%s, place %s: output %u is written", verbs[v].name, place, i);
        for (uint64_t k = 0; a->here[i].offsets && k <= a->here[i].n; k++)
            if (((uint32_t *)a->here[i].offsets)[k] != 0)
                fail_msg("%s, place %s: offsets are written", verbs[v].name, place);
    }
}

/* Blocks have a line before them, and are whole lines. */
#define OVERHEAD 4096u

/* With the least that it may take, a call answers as without a limit, and takes no more. */
static void must_answer(asking *a, unsigned v, const char *place, uint64_t max_bytes)
{
    sx_call call = { .size = sizeof call, .max_bytes = max_bytes };
    void *want[8];
    fill(a, 0x5a);
    OK(verbs[v].ask(a, NULL));
    fetch(a);
    for (unsigned i = 0; i < 8; i++) {
        want[i] = need(bytes_of(&a->here[i]) + 1);
        memcpy(want[i], a->here[i].data, bytes_of(&a->here[i]));
    }
    fill(a, 0x5a);
    uint64_t live = sx_alloc_live();
    sx_alloc_most();
    sx_status st = verbs[v].ask(a, &call);
    uint64_t most = sx_alloc_most() - live;
    if (st != SX_OK)
        fail_msg("%s, place %s, %llu bytes: %s", verbs[v].name, place,
                 (unsigned long long)max_bytes, sx_detail());
    fetch(a);
    for (unsigned i = 0; i < 8; i++) {
        assert_memory_equal(want[i], a->here[i].data, bytes_of(&a->here[i]));
        free(want[i]);
    }
    if (verbs[v].ask == ask_climb)    /* parents that travel do not count */
        max_bytes += a->parents.bytes + (a->parents.n + 1) * EACH;
    if (!kernel_is_gpu() && most > max_bytes + OVERHEAD)
        fail_msg("%s, place %s: it took %llu bytes, not %llu", verbs[v].name, place,
                 (unsigned long long)most, (unsigned long long)max_bytes);
}

static void try_verbs(asking *a, const char *place)
{
    for (unsigned v = 0; v < COUNT_OF(verbs); v++) {
        uint64_t bytes = needed(a, v, place), then, total;
        OK(verbs[v].ask(a, NULL));
        fetch(a);
        total = ((uint64_t *)a->here[4].data)[N];
        then = needed_then(a, v, place, total);
        if (bytes + then == 0) {          /* 0 would be no limit */
            must_answer(a, v, place, 1);
            continue;
        }
        if (bytes > 1)
            must_refuse(a, v, place, bytes - 1);
        if (then > 0)
            must_refuse(a, v, place, bytes + then - 1);
        must_answer(a, v, place, bytes + then);
    }
}

static void columns_new(asking *a, sx_device *dev, const texts *parents)
{
    static const int types[] = { SX_U64, SX_U64, SX_U64, SX_U64, SX_U64, SX_U64, SX_U32, SX_STR };
    a->lo = texts_column(&a->q);
    a->parents = texts_column(parents);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t n = i == 4 ? N + 1 : i == 5 ? HITS : N;
        sx_column c = { .type = types[i], .n = n, .data = need(types[i] == SX_STR ? SPACE : 8 * n) };
        memset(c.data, 0, types[i] == SX_STR ? SPACE : 8 * n);
        if (types[i] == SX_STR) {
            c.offset_bytes = EACH;
            c.offsets = need((n + 1) * EACH);
            c.bytes = SPACE;
            memset(c.offsets, 0, (n + 1) * EACH);
        }
        a->here[i] = c;
        *output(a, i) = dev ? text_there(dev, c) : c;
    }
    if (dev) {
        a->lo = text_there(dev, a->lo);
        a->parents = text_there(dev, a->parents);
    }
}

static void columns_free(asking *a, sx_device *dev)
{
    for (unsigned i = 0; i < 8; i++) {
        if (dev)
            sx_column_free(output(a, i), dev);
        free(a->here[i].data);
        free(a->here[i].offsets);
    }
    if (dev) {
        sx_column_free(&a->lo, dev);
        sx_column_free(&a->parents, dev);
    }
}

static void test_places(void **state)
{
    (void)state;
    if (kernel_is_gpu())
        SKIP("a GPU makes codes of more strings at a time than there are here");
    rnd r = rnd_start(test_seed() + 41);
    texts keys = texts_make(TEXTS_WORDS, KEYS, EACH, &r), parents = texts_near(&keys, KEYS, EACH, &r);
    text_case c = text_case_of(&keys, NULL);
    for (unsigned p = 0; p < COUNT_OF(places); p++)
        for (unsigned there = 0; there < 2; there++) {
            char spec[40];
            asking a = { .dev = device_open(kernel_with("side=gpu,bucket=16")) };
            snprintf(spec, sizeof spec, "pivot place=%s", places[p]);
            OK(text_build(&c, a.dev, spec, NULL, &a.ix));
            a.q = texts_near(&keys, N, EACH, &r);
            columns_new(&a, there ? a.dev : NULL, &parents);
            try_verbs(&a, places[p]);
            columns_free(&a, there ? a.dev : NULL);
            texts_free(&a.q);
            sx_free(a.ix);
            sx_close(a.dev);
        }
    text_case_free(&c);
    texts_free(&keys);
    texts_free(&parents);
}

/* A CPU takes memory for strings as results alone. */
static void test_cpu(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed() + 42);
    texts keys = texts_make(TEXTS_WORDS, KEYS, EACH, &r), parents = texts_near(&keys, KEYS, EACH, &r);
    text_case c = text_case_of(&keys, NULL);
    sx_device *cpu = device_open("cpu");
    asking a = { .q = texts_near(&keys, N, EACH, &r) };
    OK(text_build(&c, cpu, "pivot", NULL, &a.ix));
    columns_new(&a, NULL, &parents);
    try_verbs(&a, "host");
    columns_free(&a, NULL);
    texts_free(&a.q);
    sx_free(a.ix);
    sx_close(cpu);
    text_case_free(&c);
    texts_free(&keys);
    texts_free(&parents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_cpu),
    };
    return cmocka_run_group_tests_name("scratch of strings", tests, NULL, NULL);
}
