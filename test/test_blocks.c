/* test_blocks.c - blocks that can become longer where they are (sx_alloc_pool() of
 * src/base/alloc.h): their bytes, their pages, what is counted, and where the system has no
 * addresses for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "support.h"

#define MIB (1ull << 20)

/* The kernel's flags of the memory at an address, "" if it does not say. */
static void flags_at(const void *p, char out[200])
{
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[400];
    bool here = false;
    out[0] = '\0';
    while (f && fgets(line, sizeof line, f)) {
        unsigned long long from, to;
        if (sscanf(line, "%llx-%llx ", &from, &to) == 2)
            here = (uintptr_t)p >= from && (uintptr_t)p < to;
        else if (here && strncmp(line, "VmFlags:", 8) == 0)
            snprintf(out, 200, "%.199s", line);
    }
    if (f)
        fclose(f);
}

/* A large pool becomes longer where it is, by steps, and what is in it stays. */
static void test_block(void **state)
{
    (void)state;
    uint64_t live = sx_alloc_live();
    sx_err err;
    for (unsigned small = 0; small < 2; small++) {
        void *block;
        char first[200], last[200];
        uint64_t bytes = 5 * MIB + 100;
        assert_int_equal(sx_alloc_pool(&block, bytes, "a test", &err), SX_OK);
        if (small)
            sx_small_pages(block);
        assert_int_equal(sx_has_small_pages(block), small);
        assert_true(sx_alloc_most_of(block) >= 16 * bytes);
        assert_int_equal(sx_alloc_live(), live + bytes);
        memset(block, 0x5a, bytes);
        for (unsigned step = 0; step < 6; step++) {
            uint64_t next = bytes + 1 + step * 3 * MIB;
            unsigned char *p = block;
            assert_int_equal(sx_alloc_extend(block, next, "a test", &err), SX_OK);
            assert_int_equal(sx_alloc_live(), live + next);
            p[next - 1] = 0x5a;
            for (uint64_t i = bytes; i + 1 < next; i += 4096)
                assert_int_equal(p[i], 0);
            memset(p + bytes, 0x5a, next - bytes);
            bytes = next;
        }
        for (uint64_t i = 0; i < bytes; i++)
            if (((unsigned char *)block)[i] != 0x5a)
                fail_msg("byte %llu changed", (unsigned long long)i);
        flags_at(block, first);
        flags_at((char *)block + bytes - 1, last);
        assert_string_equal(first, last);
        if (strstr(first, " hg") || strstr(first, " nh"))
            assert_non_null(strstr(first, small ? " nh" : " hg"));
        /* what can't be changes nothing */
        assert_int_equal(sx_alloc_extend(block, sx_alloc_most_of(block) + 1, "a test", &err), SX_ENOMEM);
        assert_non_null(strstr(err.text, "a test"));
        sx_alloc_fail_at(1);
        assert_int_equal(sx_alloc_extend(block, bytes + MIB, "a test", &err), SX_ENOMEM);
        sx_alloc_fail_at(0);
        assert_int_equal(sx_alloc_live(), live + bytes);
        assert_int_equal(sx_alloc_extend(block, bytes - 1, "a test", &err), SX_OK);
        assert_int_equal(sx_alloc_live(), live + bytes);
        sx_release(block);
        assert_int_equal(sx_alloc_live(), live);
    }
}

/* Without addresses it is an ordinary block. */
static void test_no_addresses(void **state)
{
    (void)state;
    sx_err err;
    void *block;
    sx_alloc_fail_at(1);
    assert_int_equal(sx_alloc_pool(&block, 5 * MIB, "a test", &err), SX_OK);
    sx_alloc_fail_at(0);
    assert_int_equal(sx_alloc_most_of(block), 5 * MIB);
    sx_release(block);
    assert_int_equal(sx_alloc_pool(&block, 5000, "a test", &err), SX_OK);
    assert_int_equal(sx_alloc_most_of(block), 5000);
    sx_release(block);
    assert_int_equal(sx_alloc_pool(&block, UINT64_MAX / 3, "a test", &err), SX_ENOMEM);
}

/* The same by a limit of the system; a sanitizer would not live with it. */
static void test_limit(void **state)
{
    (void)state;
    if (UNDER_ASAN || UNDER_TSAN)
        SKIP("sanitizers need addresses");
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = { 2048 * MIB, 2048 * MIB };
        sx_err err;
        void *block;
        int wrong = setrlimit(RLIMIT_AS, &limit) != 0 ||
                    sx_alloc_pool(&block, 200 * MIB, "a test", &err) != SX_OK ||
                    sx_alloc_most_of(block) != 200 * MIB;
        _exit(wrong ? 1 : 0);
    }
    int status = -1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_no_addresses),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests_name("blocks", tests, NULL, NULL) != 0;
}
