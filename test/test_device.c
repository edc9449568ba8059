/* test_device.c - columns in the memory of a device.
 *
 * On the emulator that memory is the host's, so the same arrays are given as
 * host and as device columns, in all mixtures, and must give the same
 * answers; on a real GPU (SX_TEST_GPU) the mixtures need memory that only
 * CUDA can give, so there the test asks nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support.h"

#define KEYS 700u
#define QUERIES 300u

static void fill_bytes(rnd *r, void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)p)[i] = (unsigned char)rnd_below(r, 256);
}

static sx_column at(int place, int type, uint64_t n, void *data)
{
    return (sx_column){ .type = type, .place = place, .n = n, .data = data };
}

/* Every verb that takes such columns, each column host (0) or device (1) as
 * the bits of `mixture` say; all outputs end up in *out. */
typedef struct {
    uint64_t get[QUERIES], rank[QUERIES], floor_row[QUERIES], row_at[QUERIES];
    uint64_t floor_key[2 * QUERIES], key_at[2 * QUERIES];
} outputs;

static void ask_all(sx_device *dev, const char *spec, int type, void *keys, void *rows, void *q,
                    uint64_t *ranks, unsigned mixture, outputs *out)
{
    int in = mixture & 1, to = mixture >> 1 & 1, key_to = mixture >> 2 & 1;
    sx_column k = at(in, type, KEYS, keys), r = at(to, SX_U64, KEYS, rows);
    sx_column queries = at(in, type, QUERIES, q), rk = at(in, SX_U64, QUERIES, ranks);
    sx_column o;
    sx_column ok;
    sx_index *ix;

    memset(out, 0x5a, sizeof *out);
    assert_int_equal(sx_build(&ix, dev, spec, &k, &r, NULL), SX_OK);
    assert_int_equal(sx_check(ix), SX_OK);
    o = at(to, SX_U64, QUERIES, out->get);
    assert_int_equal(sx_get(ix, &queries, &o, NULL), SX_OK);
    o = at(to, SX_U64, QUERIES, out->rank);
    assert_int_equal(sx_rank(ix, &queries, SX_RIGHT, &o, NULL), SX_OK);
    o = at(to, SX_U64, QUERIES, out->floor_row);
    ok = at(key_to, type, QUERIES, out->floor_key);
    assert_int_equal(sx_floor(ix, &queries, &o, &ok, NULL), SX_OK);
    o = at(to, SX_U64, QUERIES, out->row_at);
    ok = at(key_to, type, QUERIES, out->key_at);
    assert_int_equal(sx_key_at(ix, &rk, &ok, &o, NULL), SX_OK);
    sx_free(ix);
}

static void test_mixtures(void **state)
{
    static const int types[] = { SX_U32, SX_F64, SX_B16 };
    static const char *const specs[] = { "sorted", "pivot(layout=pairs)", "eytzinger(k=4)" };
    rnd r = rnd_start(test_seed());

    (void)state;
    if (getenv("SX_TEST_GPU"))
        skip();
    for (unsigned t = 0; t < 3; t++)
        for (unsigned s = 0; s < 3; s++) {
            size_t bytes = sx_type_bytes(types[t]);
            void *keys = need(KEYS * bytes), *q = need(QUERIES * bytes);
            uint64_t *rows = need(KEYS * sizeof *rows), *ranks = need(QUERIES * sizeof *ranks);
            outputs *host = need(sizeof *host), *mixed = need(sizeof *mixed);
            sx_device *cpu = device_open("cpu"), *dev = device_open("simt");
            fill_bytes(&r, keys, KEYS * bytes);
            memcpy(q, keys, QUERIES * bytes);
            fill_bytes(&r, q, QUERIES / 2 * bytes);
            for (unsigned i = 0; i < KEYS; i++)
                rows[i] = rnd_below(&r, 1000);
            for (unsigned i = 0; i < QUERIES; i++)
                ranks[i] = rnd_below(&r, KEYS + 20);
            ask_all(cpu, specs[s], types[t], keys, rows, q, ranks, 0, host);
            for (unsigned mixture = 0; mixture < 8; mixture++) {
                ask_all(dev, specs[s], types[t], keys, rows, q, ranks, mixture, mixed);
                assert_memory_equal(host, mixed, sizeof *host);
            }
            sx_close(cpu);
            sx_close(dev);
            free(keys);
            free(q);
            free(rows);
            free(ranks);
            free(host);
            free(mixed);
        }
}

/* The CPU takes no such columns, and elements on a device must be aligned. */
static void test_refused(void **state)
{
    uint64_t key[4] = { 1, 2, 3, 4 }, out[5] = { 7, 7, 7, 7, 7 };
    sx_column k = at(SX_DEVICE, SX_U64, 4, key), o = at(SX_HOST, SX_U64, 4, out);
    sx_column odd = at(SX_DEVICE, SX_U64, 1, (char *)key + 1);
    sx_device *cpu = device_open("cpu"), *dev = device_open("simt");
    sx_index *ix = NULL;

    (void)state;
    assert_int_equal(sx_build(&ix, cpu, "sorted", &k, NULL, NULL), SX_EINVAL);
    assert_non_null(strstr(sx_detail(), "place of keys is 1"));
    assert_null(ix);
    assert_int_equal(sx_build(&ix, dev, "sorted", &k, NULL, NULL), SX_OK);
    assert_int_equal(sx_get(ix, &odd, &o, NULL), SX_EINVAL);
    assert_non_null(strstr(sx_detail(), "multiple of 8"));
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(out[i], 7);
    sx_free(ix);
    sx_close(cpu);
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixtures),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL) != 0;
}
