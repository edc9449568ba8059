/* test_file.c - files: their format, that indexes come back as they were, and that
 * the same index always gives the same bytes. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "on_device.h"
#include "specimen.h"
#include "sxfile.h"

static sx_device *dev;
static asker *asking;

/* ---- the format ---------------------------------------------------------- */

static bool all_zero(const unsigned char *p, size_t n)
{
    while (n--)
        if (*p++)
            return false;
    return true;
}

static void check_format(const specimen *s, size_t kind)
{
    const unsigned char *f = s->file;
    sx_index_info info = { .size = sizeof info };
    uint32_t sections = get32(f + F_SECTIONS);
    size_t header = F_TABLE + S_ENTRY * (size_t)sections, end = header;
    uint32_t of_run = 0;
    assert_int_equal(sx_describe(s->ix, &info), SX_OK);
    assert_memory_equal(f + F_MAGIC, F_MAGIC_BYTES, 8);
    assert_int_equal(get32(f + F_VERSION), 2);
    assert_int_equal(get32(f + F_RUNS), 1);
    assert_int_equal(get32(f + F_ORDER), 0x01020304);
    assert_int_equal(get64(f + F_BYTES), s->bytes);
    assert_int_equal(s->bytes % 64, 0);
    assert_int_equal(get32(f + F_FRONT_BYTES), header);
    assert_int_equal(get64(f + F_HASH), front_hash(f, header));
    assert_int_equal(get64(f + F_N), s->d->n);
    assert_int_equal(get64(f + R_N), s->d->n);
    assert_int_equal(get64(f + F_MAX_ROW), s->d->truth->max_row);
    assert_int_equal(get64(f + R_MAX_ROW), s->d->truth->max_row);
    assert_int_equal(get32(f + R_SIGN), 1);
    assert_int_equal(get32(f + F_TYPE), s->d->type);
    assert_int_equal(f[R_WIDTH], s->d->width);
    assert_int_equal(f[R_ROW_BYTES],
                     info.implicit_rows ? 0 : kinds[kind].row_bytes);
    bool are_positions = true;    /* few keys that are shuffled may be sorted again */
    for (uint64_t i = 0; i < s->d->n; i++)
        are_positions &= s->d->truth->rows[i] == i;
    assert_true(!info.implicit_rows || are_positions);
    uint64_t values = s->d->n > 0, stored;
    for (uint64_t i = 1; i < s->d->n; i++)
        values += oracle_compare(s->d->type, oracle_key(s->d->truth, i - 1),
                                 oracle_key(s->d->truth, i)) != 0;
    stored = strstr(info.spec, "layout=once") ? values : s->d->n;
    assert_int_equal(get64(f + R_STORED), stored);
    assert_int_equal(get32(f + F_FLAGS), info.unique);
    assert_int_equal(f[R_FLAGS] | f[R_FLAGS + 1] << 8,
                     info.unique | (stored > 0 && stored == values) << 1);
    assert_memory_equal(f + R_SPEC, info.spec, sizeof info.spec);
    assert_true(all_zero(f + F_ZERO, F_HEADER - F_ZERO));
    assert_true(all_zero(f + R_ZERO, F_TABLE - R_ZERO));

    uint64_t data_bytes = 0;
    for (uint32_t i = 0; i < sections; i++) {
        const unsigned char *e = f + F_TABLE + i * S_ENTRY;
        const char *name = (const char *)e + S_NAME;
        uint64_t at = get64(e + S_OFFSET), n = get64(e + S_BYTES);
        static const char *const names[] = { "keys", "rows", "pairs", "starts", "pivots", "nodes", "pieces",
                                             "inner", "last", "links",
                                             "guide", "levels", "segments", "tree", "why", "notes" };
        bool known = false;
        for (size_t j = 0; j < COUNT_OF(names); j++)
            known |= strncmp(name, names[j], 16) == 0;
        assert_true(known && all_zero(e + strlen(name), 16 - strlen(name)));
        assert_true(at % 64 == 0 && at >= end && at - end < 64);
        assert_true(all_zero(f + end, at - end));
        assert_true(n <= s->bytes - at);
        assert_int_equal(get64(e + S_HASH), XXH3_64bits(f + at, with_gap(n)));
        assert_int_equal(get32(e + S_FLAGS),
                         strcmp(name, "levels") == 0 || strcmp(name, "tree") == 0);
        bool notes = strcmp(name, "notes") == 0;
        assert_int_equal(get32(e + S_RUN), notes ? UINT32_MAX : 0);
        of_run += !notes;
        assert_true(all_zero(e + S_ZERO, S_ENTRY - S_ZERO));
        end = at + n;
        if (strcmp(name, "why") != 0 && !notes)
            data_bytes += n;
    }
    assert_true(s->bytes - end < 64 && all_zero(f + end, s->bytes - end));
    assert_int_equal(info.bytes, data_bytes);
    assert_int_equal(get32(f + R_SECTIONS), of_run);
    assert_int_equal(sections - of_run, kind % 3 == 0);
    assert_true(data_bytes >= stored * s->d->width + s->d->n * f[R_ROW_BYTES]);
}

static void test_format(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++)
        for (uint64_t n = 0; n < 1500; n = n * 3 + 1) {
            specimen s = make_specimen(dev, kind, n);
            check_format(&s, kind);
            free_specimen(&s);
        }
}

/* Every way of loading gives an index with the right answers. */
static void test_round_trip(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++)
        for (uint64_t n = 0; n < 3000; n = n * 2 + 3)
            for (unsigned flags = 0; flags < 4; flags++) {
                specimen s = make_specimen(dev, kind, n);
                sx_index *ix = NULL;
                sx_index_info before = { .size = sizeof before };
                sx_index_info after = before;
                if (sx_load(&ix, dev, s.path, flags, NULL) != SX_OK)
                    fail_msg("%s", sx_detail());
                sx_describe(s.ix, &before);
                sx_describe(ix, &after);
                assert_memory_equal(&before, &after, sizeof before);
                assert_int_equal(sx_check(ix, NULL), SX_OK);
                const char *wrong = ask(asking, ix, s.d, SX_U64, NULL);
                if (wrong)
                    fail_msg("%s: %s", kinds[kind].spec, wrong);
                /* Saved again: the same bytes. */
                size_t bytes;
                unsigned char *again = saved_bytes(ix, s.path, &bytes);
                assert_int_equal(bytes, s.bytes);
                assert_memory_equal(again, s.file, bytes);
                free(again);
                sx_free(ix);
                free_specimen(&s);
            }
}

/* ---- the same bytes ------------------------------------------------------- */

/* By two saves, two builds, any instructions, any number of threads. */
static void test_deterministic(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "sorted", "sorted(layout=pairs)", "eytzinger", "eytzinger(k=2)",
        "eytzinger(layout=pairs)", "pivot", "pivot(layout=pairs)", "btree",
        "btree(k=3)", "btree(layout=split)", "btree(fill=80)", "btree(fill=60,layout=split)",
        "radix", "radix(leaf=1,layout=pairs)",
    };
    static const uint64_t sizes[] = { 1000, 150000 };
    char *path = temp_path("same.sxt");
    sx_device *two = device_open("cpu:threads=2");
    sx_device *levels[SIMD_LEVELS];
    devices_open(levels);
    sx_device *devices[] = { dev, two, levels[0], levels[1], levels[2] };
    rnd r = rnd_start(test_seed());
    for (size_t i = 0; i < COUNT_OF(specs) * COUNT_OF(sizes); i++) {
        const char *spec = specs[i % COUNT_OF(specs)];
        dataset *d = data_make(key_types[i % COUNT_OF(key_types)],
                               KEYS_DUPLICATES, sizes[i / COUNT_OF(specs)],
                               (row_kind)(i % ROWS_KINDS), 3, &r);
        unsigned char *wanted = NULL;
        size_t wanted_bytes = 0;
        for (uint32_t j = 0; j < 2 * COUNT_OF(devices); j++) {
            sx_call call = { .size = sizeof call, .threads = j % 3 };
            sx_device *on = devices[j / 2];
            sx_index *ix = NULL;
            size_t bytes;
            if (!on)
                continue;
            if (data_build(d, on, spec, &call, &ix) != SX_OK)
                fail_msg("%s: %s", spec, sx_detail());
            unsigned char *got = saved_bytes(ix, path, &bytes);
            if (!wanted) {        /* the first; saved once more */
                wanted = got;
                wanted_bytes = bytes;
                got = saved_bytes(ix, path, &bytes);
            }
            if (bytes != wanted_bytes || memcmp(got, wanted, bytes) != 0)
                fail_msg("%s: other bytes on device %u", spec, j / 2);
            free(got);
            sx_free(ix);
        }
        free(wanted);
        data_free(d);
    }
    devices_close(levels);
    sx_close(two);
    free(path);
}

/* auto says why, and its resolved spec builds the same sections. */
static void test_auto(void **state)
{
    (void)state;
    char *path = temp_path("auto.sxt");
    rnd r = rnd_start(test_seed());
    dataset *d = data_make(SX_U64, KEYS_RANDOM, 20000, ROWS_U64_WIDE, 90, &r);
    sx_index *ix = NULL, *loaded = NULL, *again = NULL;
    sx_index_info info = { .size = sizeof info };
    assert_int_equal(data_build(d, dev, "auto", NULL, &ix), SX_OK);
    assert_int_equal(sx_describe(ix, &info), SX_OK);
    assert_int_equal(sx_save(ix, path, NULL), SX_OK);
    assert_int_equal(sx_load(&loaded, dev, path, SX_LOAD_VERIFY, NULL), SX_OK);
    size_t bytes = 0, bytes2 = 0;
    assert_int_equal(sx_explain(ix, SX_JSON, NULL, &bytes), SX_ESPACE);
    assert_int_equal(sx_explain(loaded, SX_JSON, NULL, &bytes2), SX_ESPACE);
    char *why = need(bytes), *why2 = need(bytes2);
    assert_int_equal(sx_explain(ix, SX_JSON, why, &bytes), SX_OK);
    assert_int_equal(sx_explain(loaded, SX_JSON, why2, &bytes2), SX_OK);
    assert_non_null(strstr(why, "why"));
    assert_non_null(strstr(why2, "why"));
    const char *wrong = ask(asking, loaded, d, SX_U64, NULL);
    if (wrong)
        fail_msg("%s: %s", info.spec, wrong);

    size_t n, n2;
    unsigned char *file = saved_bytes(ix, path, &n);
    assert_int_equal(data_build(d, dev, info.spec, NULL, &again), SX_OK);
    unsigned char *file2 = saved_bytes(again, path, &n2);
    for (uint32_t i = 0; i < get32(file2 + F_SECTIONS); i++) {
        const unsigned char *e2 = file2 + F_TABLE + i * S_ENTRY;
        bool found = false;
        for (uint32_t j = 0; j < get32(file + F_SECTIONS); j++) {
            const unsigned char *e = file + F_TABLE + j * S_ENTRY;
            found |= memcmp(e, e2, 16) == 0 &&
                     get64(e + S_HASH) == get64(e2 + S_HASH);
        }
        assert_true(found);
    }
    free(file);
    free(file2);
    free(why);
    free(why2);
    sx_free(ix);
    sx_free(loaded);
    sx_free(again);
    data_free(d);
    free(path);
}

/* ---- saving over a file that is mapped ------------------------------------------- */

/* The new file takes the old one's name. Indexes that have mapped the old one keep it. */
static void test_save_over_mapped(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        specimen a = make_specimen(dev, kind, 3000);
        sx_index *mapped = NULL;
        assert_int_equal(sx_load(&mapped, dev, a.path, 0, NULL), SX_OK);
        specimen b = make_specimen(dev, (kind + 1) % COUNT_OF(kinds), 10);
        assert_string_equal(a.path, b.path);    /* saved over it */
        const char *wrong = ask(asking, mapped, a.d, SX_U64, NULL);
        if (wrong)
            fail_msg("after a save over it: %s", wrong);
        /* Over the file it is mapped from, by itself. */
        assert_int_equal(sx_save(mapped, a.path, NULL), SX_OK);
        check_file_is(a.path, a.file, a.bytes);
        unlink(a.path);
        wrong = ask(asking, mapped, a.d, SX_U64, NULL);
        if (wrong)
            fail_msg("after its file is gone: %s", wrong);
        sx_free(mapped);
        free_specimen(&a);
        free_specimen(&b);
    }
}

/* ---- more keys than 32 bits count ------------------------------------------- */

/* The front of a file with a hole for its n keys, a multiple of 16: all keys are 0, and only
 * what questions touch is read. Returns the file's bytes. */
#define HOLE_FRONT (F_TABLE + S_ENTRY)
static uint64_t hole_front(uint64_t n, unsigned char f[HOLE_FRONT])
{
    const uint64_t header = HOLE_FRONT;
    memset(f, 0, header);
    memcpy(f + F_MAGIC, F_MAGIC_BYTES, 8);
    put(f + F_VERSION, 2, 4);
    put(f + F_ORDER, 0x01020304, 4);
    put(f + F_BYTES, header + n * 4, 8);
    put(f + F_FRONT_BYTES, header, 4);
    put(f + F_RUNS, 1, 4);
    put(f + F_SECTIONS, 1, 4);
    put(f + R_SECTIONS, 1, 4);
    put(f + R_SIGN, 1, 4);
    put_keys(f, n, n - 1);
    put(f + F_TYPE, SX_U32, 4);
    f[R_WIDTH] = 4;
    memcpy(f + R_SPEC, "sorted(layout=split)", 20);
    memcpy(f + F_TABLE, "keys", 4);
    put(f + F_TABLE + S_OFFSET, header, 8);
    put(f + F_TABLE + S_BYTES, n * 4, 8);
    seal_header(f, header);
    return header + n * 4;
}

/* No addresses are left for the mapping: that is not the file's fault. */
static void test_no_space_to_map(void **state)
{
    (void)state;
    unsigned char f[HOLE_FRONT];
    const uint64_t bytes = hole_front(1ull << 46, f);
    int fd = memfd_create("hole", MFD_CLOEXEC);
    char path[64], number[32];
    sx_index *ix = NULL;
    assert_true(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    snprintf(number, sizeof number, "%llu", (unsigned long long)bytes);
    assert_int_equal(pwrite(fd, f, sizeof f, 0), sizeof f);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    assert_int_equal(sx_load(&ix, dev, path, 0, NULL), SX_ENOMEM);
    assert_non_null(strstr(sx_detail(), path));
    assert_non_null(strstr(sx_detail(), number));
    assert_null(ix);
    close(fd);
}

static void test_more_than_4_billion(void **state)
{
    (void)state;
    const uint64_t n = (1ull << 32) + 64;
    unsigned char f[HOLE_FRONT];
    const uint64_t file_bytes = hole_front(n, f);
    char *path = temp_path("hole.sxt");
    sx_index *ix = NULL;
    write_file(path, f, sizeof f);
    if (truncate(path, (off_t)file_bytes) != 0) {
        free(path);
        SKIP("the file system has no such large files");
    }
    if (sx_load(&ix, dev, path, 0, NULL) != SX_OK)
        fail_msg("%s", sx_detail());

    uint32_t q[2] = { 0, 1 }, narrow[2] = { 7, 7 };
    uint64_t wide[2], sum[1], at[3] = { n - 1, n, 1ull << 32 };
    sx_column queries = column(SX_U32, 2, q), out = column(SX_U64, 2, wide);
    sx_column out32 = column(SX_U32, 2, narrow), one = column(SX_U32, 1, q);
    assert_int_equal(sx_rank(ix, &queries, SX_RIGHT, &out, NULL), SX_OK);
    assert_true(wide[0] == n && wide[1] == n);
    assert_int_equal(sx_rank(ix, &queries, SX_LEFT, &out, NULL), SX_OK);
    assert_true(wide[0] == 0 && wide[1] == n);
    assert_int_equal(sx_get(ix, &queries, &out, NULL), SX_OK);
    assert_true(wide[0] == 0 && wide[1] == SX_MISS);
    assert_int_equal(sx_floor(ix, &queries, &out, NULL, NULL), SX_OK);
    assert_true(wide[0] == n - 1 && wide[1] == n - 1);

    /* Ranks and rows that 32 bits can't hold. */
    assert_int_equal(sx_rank(ix, &queries, SX_LEFT, &out32, NULL), SX_EINVAL);
    assert_non_null(strstr(sx_detail(), "42949673"));
    assert_int_equal(sx_get(ix, &queries, &out32, NULL), SX_EINVAL);
    assert_non_null(strstr(sx_detail(), "4294967359"));
    assert_true(narrow[0] == 7 && narrow[1] == 7);

    sx_ranges ranges = { .size = sizeof ranges, .lo = &one, .hi = &one };
    sx_column counts = column(SX_U64, 1, sum);
    assert_int_equal(sx_range_count(ix, &ranges, &counts, NULL), SX_OK);
    assert_true(sum[0] == n);
    ranges.limit = 2;
    ranges.last = 1;
    sx_column first = column(SX_U64, 2, at);
    assert_int_equal(sx_range(ix, &ranges, &first, &out, NULL, NULL), SX_OK);
    assert_true(at[0] == 0 && at[1] == 2 && wide[0] == n - 2 &&
                wide[1] == n - 1);
    sx_free(ix);
    free(path);
}

static int go_on(void *context, uint64_t done, uint64_t all)
{
    (void)context;
    (void)done;
    (void)all;
    return 0;
}

/* Calls with a tick work on sections in pieces of 4 MiB. That changes neither the file nor
 * whether it is found right. */
static void test_pieces(void **state)
{
    (void)state;
    uint64_t n = (9u << 20) / 4 + 3;
    uint32_t *data = need(n * 4);
    for (uint64_t i = 0; i < n; i++)
        data[i] = (uint32_t)i * 5;
    sx_column keys = column(SX_U32, n, data);
    sx_call ticks = { .size = sizeof ticks, .tick = go_on };
    char *path = temp_path("pieces.sxt");
    sx_index *ix = NULL, *loaded = NULL;
    size_t bytes;
    OK(sx_build(&ix, dev, "sorted", &keys, NULL, NULL));
    unsigned char *file = saved_bytes(ix, path, &bytes);
    for (unsigned flags = SX_LOAD_VERIFY; flags <= (SX_LOAD_VERIFY | SX_LOAD_COPY); flags++) {
        OK(sx_load(&loaded, dev, path, flags, &ticks));
        OK(sx_save(loaded, path, &ticks));
        sx_free(loaded);
        check_file_is(path, file, bytes);
        OK(sx_load(&loaded, dev, path, flags, NULL));
        sx_free(loaded);
    }
    /* The last byte but the gap, then the first of the second piece. */
    uint64_t begin = get64(file + F_TABLE + S_OFFSET);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t at = i ? begin + (4u << 20) : begin + n * 4 - 1;
        file[at] ^= 1;
        write_file(path, file, bytes);
        file[at] ^= 1;
        REFUSED(sx_load(&loaded, dev, path, SX_LOAD_VERIFY, &ticks), SX_ECORRUPT, "'keys'");
        REFUSED(sx_load(&loaded, dev, path, SX_LOAD_VERIFY, NULL), SX_ECORRUPT, "'keys'");
    }
    sx_free(ix);
    free(file);
    free(path);
    free(data);
}

/* No file; and a file that takes more memory than allowed, which is known before any is
 * taken. */
static void test_not_loaded(void **state)
{
    (void)state;
    specimen s = make_specimen(dev, 0, 1000);
    sx_index_info info = { .size = sizeof info };
    sx_call call = { .size = sizeof call };
    sx_index *ix = NULL;
    char *folder = temp_path("");
    REFUSED(sx_load(&ix, dev, "/dev/null", 0, NULL), SX_EIO, "'/dev/null' is not an ordinary file");
    REFUSED(sx_load(&ix, dev, folder, 0, NULL), SX_EIO, "is not an ordinary file");
    OK(sx_describe(s.ix, &info));
    call.max_bytes = info.bytes - 1;
    REFUSED(sx_load(&ix, dev, s.path, SX_LOAD_COPY, &call), SX_ENOMEM, "a copy of '");
    call.max_bytes++;
    OK(sx_load(&ix, dev, s.path, SX_LOAD_COPY, &call));
    sx_free(ix);
    free(folder);
    free_specimen(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_save_over_mapped),
        cmocka_unit_test(test_no_space_to_map),
        cmocka_unit_test(test_more_than_4_billion),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_not_loaded),
    };
    test_seed();
    dev = device_open("cpu:threads=1");
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("file", tests, NULL, NULL);
    asker_free(asking);
    sx_close(dev);
    return failed != 0;
}
