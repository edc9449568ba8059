/* test_slice.c - columns as the engine has them (keys/slice.h): where elements are, how long
 * some are, and how many go into so many bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "keys/slice.h"
#include "support.h"

#define N 40u

static unsigned char memory[N * 16];

static const unsigned widths[] = { 1, 4, 8, 16 };

static void test_places(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT_OF(widths); w++) {
        sx_slice s = sx_slice_fixed(memory, widths[w], N, SX_HOST);
        assert_true(sx_slice_wanted(&s) && !sx_slice_there(&s));
        for (uint64_t a = 0; a <= N; a++) {
            assert_ptr_equal(sx_slice_at(&s, a), memory + a * widths[w]);
            for (uint64_t b = a; b <= N; b++) {
                sx_slice part = sx_slice_part(&s, a, b);
                assert_int_equal(sx_slice_bytes(&s, a, b), (b - a) * widths[w]);
                assert_ptr_equal(part.data, sx_slice_at(&s, a));
                assert_ptr_equal(sx_slice_at(&part, part.n), sx_slice_at(&s, b));
                assert_int_equal(part.n, b - a);
                assert_int_equal(part.each, s.each);
            }
        }
    }
}

/* Of columns; and of those that are not there, or have space for none. */
static void test_columns(void **state)
{
    (void)state;
    sx_column c = { .type = SX_B16, .place = SX_DEVICE, .n = 7, .data = memory };
    sx_column empty = { .type = SX_U32 };
    sx_slice s = sx_slice_of(&c), none = sx_slice_of(NULL), space = sx_slice_of(&empty);
    assert_true(s.data == memory && s.n == 7 && s.each == 16 && sx_slice_there(&s));
    assert_true(!s.offsets && s.bytes == 0);
    s = sx_slice_part(&s, 2, 5);
    assert_true(s.data == memory + 32 && s.n == 3 && sx_slice_there(&s));
    assert_true(!sx_slice_wanted(&none) && !sx_slice_there(&none));
    assert_true(sx_slice_wanted(&space) && space.n == 0);
    assert_null(sx_slice_at(&none, 3));
    assert_null(sx_slice_at(&space, 0));
    assert_int_equal(sx_slice_bytes(&none, 3, 9), 0);
    none = sx_slice_part(&none, 3, 9);
    assert_true(!none.data && none.n == 0 && !sx_slice_wanted(&none));
    space = sx_slice_part(&space, 3, 9);
    assert_true(!space.data && space.n == 0 && sx_slice_wanted(&space));
}

/* As many as fit, and one more does not: for every budget, from every element on. */
static void test_cut(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT_OF(widths); w++) {
        sx_slice s = sx_slice_fixed(memory, widths[w], N, SX_HOST);
        for (uint64_t a = 0; a <= N; a++)
            for (uint64_t bytes = 0; bytes <= sizeof memory + 20; bytes++) {
                uint64_t cut = sx_slice_cut(&s, a, bytes);
                assert_true(a + cut <= N && sx_slice_bytes(&s, a, a + cut) <= bytes);
                assert_true(a + cut == N || sx_slice_bytes(&s, a, a + cut + 1) > bytes);
            }
        assert_int_equal(sx_slice_cut(&s, 0, widths[w] - 1), 0);  /* not even one */
        assert_int_equal(sx_slice_cut(&s, 0, UINT64_MAX), N);
        s.n = 0;
        assert_int_equal(sx_slice_cut(&s, 0, 1000), 0);
    }
}

/* Slices of several widths together; those without elements take nothing. */
static void test_together(void **state)
{
    (void)state;
    sx_slice none = sx_slice_of(NULL);
    sx_slice a = sx_slice_fixed(memory, 8, N, SX_HOST), b = sx_slice_fixed(memory, 16, N, SX_HOST);
    sx_slice c = sx_slice_fixed(memory, 4, N, SX_HOST);
    const sx_slice *all[] = { &a, &none, &b, &c };
    assert_int_equal(sx_slices_bytes(all, 4, 3, 10), 7 * 28);
    assert_int_equal(sx_slices_bytes(all, 0, 3, 10), 0);
    for (uint64_t most = 0; most < N; most++)
        for (uint64_t bytes = 0; bytes < N * 28 + 30; bytes++) {
            uint64_t cut = sx_slices_cut(all, 4, 0, most, bytes);
            assert_true(cut <= most && sx_slices_bytes(all, 4, 0, cut) <= bytes);
            assert_true(cut == most || sx_slices_bytes(all, 4, 0, cut + 1) > bytes);
        }
    assert_int_equal(sx_slices_cut(all + 1, 1, 0, 5, 0), 5);
    assert_int_equal(sx_slices_cut(all, 0, 0, 5, 0), 5);
}

/* Numbers that are no sizes of anything: a product that is not there is as large as can be, and
 * nothing wraps around. */
static void test_overflow(void **state)
{
    (void)state;
    sx_slice s = sx_slice_fixed(memory, 16, UINT64_MAX, SX_HOST), t = s;
    const sx_slice *two[] = { &s, &t };
    assert_int_equal(sx_slice_bytes(&s, 0, UINT64_MAX / 16), UINT64_MAX / 16 * 16);
    assert_true(sx_slice_bytes(&s, 0, UINT64_MAX / 16 + 1) == UINT64_MAX);
    assert_true(sx_slice_bytes(&s, 1, UINT64_MAX) == UINT64_MAX);
    assert_true(sx_slices_bytes(two, 2, 0, UINT64_MAX / 16) == UINT64_MAX);
    assert_int_equal(sx_slice_cut(&s, 0, UINT64_MAX), UINT64_MAX / 16);
    assert_int_equal(sx_slices_cut(two, 2, 0, UINT64_MAX, UINT64_MAX), UINT64_MAX / 32);
    assert_int_equal(sx_slice_cut(&s, UINT64_MAX - 3, UINT64_MAX), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_overflow),
    };
    test_seed();
    return cmocka_run_group_tests_name("slice", tests, NULL, NULL) != 0;
}
