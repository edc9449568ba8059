/* test_climb.c - climbs that come to no end, and arguments of sx_climb() and sx_prefix() that are
 * refused. What is right is asked of every index in test_matrix.c (ask.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "on_device.h"

#define N 100u

static sx_device *cpu, *kernels;

static sx_index *hundred(sx_device *dev, const char *spec)
{
    uint64_t keys[N];
    sx_index *ix = NULL;
    for (uint64_t i = 0; i < N; i++)
        keys[i] = i * 10;
    sx_column c = column(SX_U64, N, keys);
    OK(sx_build(&ix, dev, spec, &c, NULL, NULL));
    return ix;
}

/* ---- circles ---------------------------------------------------------------------------- */

/* Keys 0 to way - 1 lead into a circle of `length` keys, which begins with key `way`. The others
 * lead to the last key, the top. */
static void try_circle(sx_index *ix, unsigned way, unsigned length)
{
    uint64_t parents[N], of[N], rows[N], keys[N];
    uint32_t steps[N];
    char words[64];
    for (unsigned i = 0; i < N; i++) {
        of[i] = (uint64_t)(N - 1 - i) * 10;       /* so that the first in a circle is not the first */
        parents[i] = (i + 1 < way + length ? i + 1u : i + 1 == way + length ? way : N - 1) * 10;
    }
    memset(keys, 0x5a, sizeof keys);
    sx_column q = column(SX_U64, N, of), p = column(SX_U64, N, parents), r = column(SX_U64, N, rows),
              k = column(SX_U64, N, keys), s = column(SX_U32, N, steps);
    sx_climbs c = { .size = sizeof c, .of = &q, .parents = &p };
    snprintf(words, sizeof words, "from key %u on", N - way - length);
    REFUSED(sx_climb(ix, &c, &r, &k, &s, NULL), SX_EINVAL, words);
    snprintf(words, sizeof words, "%u of %u keys", way + length, N);
    assert_non_null(strstr(sx_detail(), words));
    for (unsigned i = 0; i < N; i++) {
        bool lost = N - 1 - i < way + length;
        assert_int_equal(rows[i], lost ? SX_MISS : N - 1);
        assert_int_equal(steps[i], lost ? SX_MISS32 : i > 0);
        assert_int_equal(keys[i], lost ? 0x5a5a5a5a5a5a5a5aull : (N - 1) * 10);
    }
    /* With a limit no way is endless. */
    c.limit = 7;
    OK(sx_climb(ix, &c, &r, NULL, &s, NULL));
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(steps[i], N - 1 - i < way + length ? 7 : i > 0);
}

static void test_circles(void **state)
{
    (void)state;
    static const char *const specs[] = { "radix(leaf=1)", "pivot", "btree" };
    for (unsigned s = 0; s < COUNT_OF(specs); s++)
        for (unsigned k = 0; k < 2; k++) {
            sx_index *ix = hundred(k ? kernels : cpu, specs[s]);
            for (unsigned way = 0; way < 12; way++)
                for (unsigned length = 2; length < 12; length++)
                    try_circle(ix, way, length);
            try_circle(ix, 40, 50);
            sx_free(ix);
        }
}

/* ---- what is refused -------------------------------------------------------------------- */

static void test_climb_arguments(void **state)
{
    (void)state;
    sx_index *ix = hundred(cpu, "radix");
    uint64_t keys[N] = { 0 }, rows[N];
    uint32_t steps[N], narrow[N] = { 0 };
    sx_column q = column(SX_U64, 3, keys), p = column(SX_U64, N, keys), few = column(SX_U64, N - 1, keys),
              other = column(SX_U32, N, narrow), r = column(SX_U64, N, rows),
              s = column(SX_U32, N, steps), short_steps = column(SX_U32, 2, steps);
    sx_climbs c = { .size = sizeof c, .of = &q, .parents = &p };
    OK(sx_climb(ix, &c, &r, NULL, &s, NULL));
    REFUSED(sx_climb(NULL, &c, &r, NULL, &s, NULL), SX_EINVAL, "index");
    REFUSED(sx_climb(ix, NULL, &r, NULL, &s, NULL), SX_EINVAL, "climbs");
    REFUSED(sx_climb(ix, &c, NULL, NULL, NULL, NULL), SX_EINVAL, "no output");
    REFUSED(sx_climb(ix, &c, &r, NULL, &short_steps, NULL), SX_ESPACE, "steps");
    REFUSED(sx_climb(ix, &c, &r, NULL, &r, NULL), SX_EINVAL, "u32");
    REFUSED(sx_climb(ix, &c, &r, &other, &s, NULL), SX_EINVAL, "keys");
    c.parents = &few;
    REFUSED(sx_climb(ix, &c, &r, NULL, &s, NULL), SX_EINVAL, "99 parents");
    c.parents = &other;
    REFUSED(sx_climb(ix, &c, &r, NULL, &s, NULL), SX_EINVAL, "parents");
    c.parents = NULL;
    REFUSED(sx_climb(ix, &c, &r, NULL, &s, NULL), SX_EINVAL, "parents");
    c.parents = &p;
    c.of = NULL;
    REFUSED(sx_climb(ix, &c, &r, NULL, &s, NULL), SX_EINVAL, "of");
    c.of = &q;
    c.reserved = 1;
    REFUSED(sx_climb(ix, &c, &r, NULL, &s, NULL), SX_EINVAL, "reserved");
    sx_free(ix);
    ix = hundred(kernels, "radix");
    sx_call on = { .size = sizeof on, .stream = (void *)2 };
    c.reserved = 0;
    q.place = p.place = r.place = s.place = SX_DEVICE;    /* the emulator's memory is the host's */
    REFUSED(sx_climb(ix, &c, &r, NULL, &s, &on), SX_ENOSYS, "stream");
    sx_free(ix);
}

static void test_prefix_arguments(void **state)
{
    (void)state;
    sx_index *ix = hundred(cpu, "radix");
    uint64_t keys[3] = { 0, 5, 900 }, first[4], rows[N];
    uint32_t bits[3] = { 64, 65, 0 };
    float floats[2] = { 1, 2 };
    sx_column of = column(SX_U64, 3, keys), f = column(SX_U64, 4, first), less = column(SX_U64, 3, first),
              lengths = column(SX_U32, 3, bits), fewer = column(SX_U32, 2, bits),
              wide = column(SX_U64, 3, keys), r = column(SX_U64, 2, rows),
              odd = column(SX_F32, 2, floats);
    sx_prefixes p = { .size = sizeof p, .of = &of, .length = 64 };
    OK(sx_prefix(ix, &p, &f, NULL, NULL, NULL));
    assert_int_equal(first[3], 2);                /* 0 and 900 are there, 5 is not */
    p.length = 65;
    REFUSED(sx_prefix(ix, &p, &f, NULL, NULL, NULL), SX_EINVAL, "65 bits is longer");
    p.bits = &lengths;
    REFUSED(sx_prefix(ix, &p, &f, NULL, NULL, NULL), SX_EINVAL, "prefix 1 has 65 bits");
    bits[1] = 0;
    OK(sx_prefix(ix, &p, &f, NULL, NULL, NULL));
    assert_int_equal(first[3], 1 + N + N);
    p.bits = &fewer;
    REFUSED(sx_prefix(ix, &p, &f, NULL, NULL, NULL), SX_EINVAL, "2 elements");
    p.bits = &wide;
    REFUSED(sx_prefix(ix, &p, &f, NULL, NULL, NULL), SX_EINVAL, "u64");
    p.bits = NULL;
    p.length = 0;
    REFUSED(sx_prefix(ix, &p, &less, NULL, NULL, NULL), SX_EINVAL, "first");
    REFUSED(sx_prefix(ix, &p, &f, &r, NULL, NULL), SX_ESPACE, "300");
    assert_int_equal(first[3], 3 * N);
    p.limit = 2;
    p.last = 1;
    REFUSED(sx_prefix(ix, &p, &f, &r, NULL, NULL), SX_ESPACE, "6");
    p.reserved = 1;
    REFUSED(sx_prefix(ix, &p, &f, NULL, NULL, NULL), SX_EINVAL, "reserved");
    p.reserved = 0;
    p.of = &odd;
    REFUSED(sx_prefix(ix, &p, &f, NULL, NULL, NULL), SX_EINVAL, "f32");
    sx_call tight = { .size = sizeof tight, .max_bytes = 47 };
    p.of = &of;
    OK(sx_prefix(ix, &p, &f, NULL, NULL, &tight));        /* no columns of ends */
    REFUSED(sx_prefix(ix, NULL, &f, NULL, NULL, NULL), SX_EINVAL, "prefixes");
    REFUSED(sx_prefix(NULL, &p, &f, NULL, NULL, NULL), SX_EINVAL, "index");
    sx_free(ix);
    ix = NULL;
    OK(sx_build(&ix, cpu, "radix", &odd, NULL, NULL));
    p.of = &odd;
    REFUSED(sx_prefix(ix, &p, &f, NULL, NULL, NULL), SX_ENOSYS, "have no prefixes");
    sx_free(ix);
    ix = hundred(kernels, "pivot");
    p.of = &of;
    REFUSED(sx_prefix(ix, &p, &f, NULL, NULL, &tight), SX_ENOMEM, "48 bytes");
    sx_free(ix);
}

/* Strings climb as numbers do; what is right is asked in texts_climb.c. */
static void test_string_climb_arguments(void **state)
{
    (void)state;
    static const char words[] = "aababcabd";      /* a, ab, abc, abd */
    uint64_t offsets[5] = { 0, 1, 3, 6, 9 }, rows[4] = { 7, 7, 7, 7 };
    uint32_t above_offsets[5] = { 0, 1, 2, 4, 6 }, steps[4] = { 7, 7, 7, 7 };    /* a, a, ab, ab */
    uint64_t found[5];
    char above[] = "aaabab", bytes[8] = "";
    sx_column keys = { .type = SX_STR, .n = 4, .data = (void *)words, .offsets = offsets,
                       .offset_bytes = 8, .bytes = 9 },
              parents = { .type = SX_STR, .n = 4, .data = above, .offsets = above_offsets,
                          .offset_bytes = 4, .bytes = 6 },
              out = { .type = SX_STR, .n = 4, .data = bytes, .offsets = found, .offset_bytes = 8,
                      .bytes = 3 },
              r = column(SX_U64, 4, rows), s = column(SX_U32, 4, steps), numbers = column(SX_U64, 4, rows);
    sx_climbs c = { .size = sizeof c, .of = &keys, .parents = &parents };
    sx_device *const devices[] = { cpu, kernels };
    for (unsigned d = 0; d < COUNT_OF(devices); d++) {
        sx_index *ix = NULL;
        out.bytes = 3;
        rows[0] = steps[0] = 7;
        OK(sx_build(&ix, devices[d], "radix", &keys, NULL, NULL));
        REFUSED(sx_climb(ix, &c, &r, &out, &s, NULL), SX_ESPACE, "sx_climb: keys has room for 3 bytes, but 4");
        assert_true(found[4] == 4 && rows[0] == 7 && steps[0] == 7);
        out.bytes = 4;
        OK(sx_climb(ix, &c, &r, &out, &s, NULL));
        assert_memory_equal(bytes, "aaaa", 4);
        assert_true(rows[3] == 0 && steps[0] == 0 && steps[1] == 1 && steps[3] == 2);
        out.n = 3;
        REFUSED(sx_climb(ix, &c, &r, &out, &s, NULL), SX_ESPACE, "keys");
        out.n = 4;
        REFUSED(sx_climb(ix, &c, NULL, &numbers, NULL, NULL), SX_EINVAL, "keys are u64");
        parents.n = 3;
        REFUSED(sx_climb(ix, &c, &r, &out, &s, NULL), SX_EINVAL, "3 parents");
        parents.n = 4;
        above_offsets[1] = 3;
        REFUSED(sx_climb(ix, &c, &r, &out, &s, NULL), SX_EINVAL, "sx_climb: offset 2 of parents is 2, below");
        above_offsets[1] = 1;
        sx_free(ix);
    }
}

/* Prefixes of strings are whole strings; what is wrong with them is said in the name of the verb. */
static void test_string_prefix_arguments(void **state)
{
    (void)state;
    static const char words[] = "aababcabd";      /* a, ab, abc, abd */
    uint64_t offsets[5] = { 0, 1, 3, 6, 9 }, first[4] = { 0 }, rows[4];
    uint32_t of_offsets[4] = { 0, 0, 2, 6 }, bits[3] = { 0 };     /* "", ab, abcd */
    char asked[] = "ababcd", bytes[64];
    uint64_t found[5];
    sx_column keys = { .type = SX_STR, .n = 4, .data = (void *)words, .offsets = offsets,
                       .offset_bytes = 8, .bytes = 9 },
              of = { .type = SX_STR, .n = 3, .data = asked, .offsets = of_offsets, .offset_bytes = 4,
                     .bytes = 6 },
              out = { .type = SX_STR, .n = 7, .data = bytes, .offsets = found, .offset_bytes = 8,
                      .bytes = 6 },
              f = column(SX_U64, 4, first), r = column(SX_U64, 4, rows),
              lengths = column(SX_U32, 3, bits);
    sx_prefixes p = { .size = sizeof p, .of = &of };
    sx_index *ix = NULL;
    OK(sx_build(&ix, cpu, "pivot", &keys, NULL, NULL));
    OK(sx_prefix(ix, &p, &f, NULL, NULL, NULL));
    assert_int_equal(first[1], 4);
    assert_int_equal(first[2], 7);
    assert_int_equal(first[3], 7);                /* no key begins with a longer one */
    REFUSED(sx_prefix(ix, &p, &f, &r, NULL, NULL), SX_ESPACE, "sx_prefix: rows has room for 4, but 7");
    out.n = 6;
    REFUSED(sx_prefix(ix, &p, &f, NULL, &out, NULL), SX_ESPACE, "sx_prefix: keys has room for 6, but 7");
    p.limit = 1;                  /* a, ab */
    out.bytes = 2;
    REFUSED(sx_prefix(ix, &p, &f, NULL, &out, NULL), SX_ESPACE, "sx_prefix: keys has room for 2 bytes");
    assert_int_equal(found[2], 3);
    out.bytes = 3;
    OK(sx_prefix(ix, &p, &f, &r, &out, NULL));
    assert_memory_equal(bytes, "aab", 3);
    p.length = 8;
    REFUSED(sx_prefix(ix, &p, &f, NULL, NULL, NULL), SX_EINVAL, "length of sx_prefixes is not 0");
    p.length = 0;
    p.bits = &lengths;
    REFUSED(sx_prefix(ix, &p, &f, NULL, NULL, NULL), SX_EINVAL, "bits of sx_prefixes is not 0");
    p.bits = NULL;
    of_offsets[1] = 3;
    REFUSED(sx_prefix(ix, &p, &f, NULL, NULL, NULL), SX_EINVAL, "sx_prefix: offset 2 of of is 2, below");
    of_offsets[1] = 0;
    sx_call tight = { .size = sizeof tight, .max_bytes = 80 };
    p.limit = 0;
    out.n = 7;
    REFUSED(sx_prefix(ix, &p, &f, NULL, &out, &tight), SX_ENOMEM, "sx_prefix: 7 strings need 56 bytes");
    sx_free(ix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_circles),
        cmocka_unit_test(test_climb_arguments),
        cmocka_unit_test(test_prefix_arguments),
        cmocka_unit_test(test_string_prefix_arguments),
        cmocka_unit_test(test_string_climb_arguments),
    };
    cpu = device_open("cpu");
    kernels = device_open(kernel_with(""));
    int failed = cmocka_run_group_tests_name("climb", tests, NULL, NULL);
    sx_close(cpu);
    sx_close(kernels);
    return failed != 0;
}
