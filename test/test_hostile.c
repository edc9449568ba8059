/* test_hostile.c - damaged and forged files.
 *
 * Damage to the header is always found, damage to the data if the caller asks for
 * it. A forged file, whose hashes are right, may be refused, or loads. Then every
 * question must stay inside the index (exercise.h, under a sanitizer). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exercise.h"
#include "forge.h"

static sx_device *dev;

/* The library's status for these bytes. An index that it makes is exercised. */
static sx_status try_bytes(const char *what, const void *bytes, size_t n,
                           unsigned flags)
{
    const char *path = memory_file(bytes, n);
    sx_index *const mark = (sx_index *)&dev, *ix = mark;
    sx_status s = sx_load(&ix, dev, path, flags, NULL);
    if (s == SX_OK) {
        const char *wrong = exercise(ix, n);
        if (wrong)
            fail_msg("%s: %s", what, wrong);
        sx_free(ix);
    } else if (ix != mark) {
        fail_msg("%s: a failed load changed *out", what);
    } else if (s != SX_ECORRUPT || !strstr(sx_detail(), path)) {
        fail_msg("%s: status %d: %s", what, (int)s, sx_detail());
    }
    return s;
}

static void refused(const char *what, const void *bytes, size_t n)
{
    for (unsigned flags = 0; flags < 4; flags++)
        if (try_bytes(what, bytes, n, flags) == SX_OK)
            fail_msg("%s: loaded with flags %u", what, flags);
}

/* ---- damage ----------------------------------------------------------- */

static void test_truncations(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        specimen s = make_specimen(dev, kind, 40);
        size_t header = get32(s.file + F_FRONT_BYTES);
        for (size_t n = 0; n < s.bytes;
             n += n < header || n + 70 > s.bytes ? 1 : 7)
            refused("cut off", s.file, n);
        unsigned char *longer = need(s.bytes + 64);
        memcpy(longer, s.file, s.bytes);
        memset(longer + s.bytes, 0, 64);
        refused("one byte more", longer, s.bytes + 1);
        refused("64 bytes more", longer, s.bytes + 64);
        free(longer);
        free_specimen(&s);
    }
}

/* Sections whose checksum is compared whenever a file is loaded. */
static bool always_verified(const unsigned char *entry)
{
    return get32(entry + S_FLAGS) == 1 || strcmp((const char *)entry, "why") == 0 ||
           strcmp((const char *)entry, "notes") == 0;
}

/* Every bit of a file is checked, or refused if it is set. Those of the front, between
 * sections, and of small sections always are, the rest if the caller asks for it. */
static void every_bit(const specimen *s, unsigned char *file)
{
    size_t front = get32(file + F_FRONT_BYTES);
    for (size_t bit = 0; bit < 8 * s->bytes; bit++) {
        size_t at = bit / 8;
        bool data = false;
        for (uint32_t i = 0; i < get32(s->file + F_SECTIONS); i++) {
            const unsigned char *e = s->file + F_TABLE + i * S_ENTRY;
            data |= at >= get64(e + S_OFFSET) && at < get64(e + S_OFFSET) + get64(e + S_BYTES) &&
                    !always_verified(e);
        }
        unsigned flags = (data ? SX_LOAD_VERIFY : 0) | (bit % 3 ? 0 : SX_LOAD_COPY);
        file[at] ^= (unsigned char)(1u << bit % 8);
        if (try_bytes("a flipped bit", file, s->bytes, flags) == SX_OK)
            fail_msg("%s, %llu keys: bit %zu of byte %zu was not seen", s->file + R_SPEC,
                     (unsigned long long)s->d->n, bit % 8, at);
        /* No size in a damaged header is held against the file. */
        if (at >= F_BYTES && at < front && !strstr(sx_detail(), "header"))
            fail_msg("bit %zu of byte %zu: %s", bit % 8, at, sx_detail());
        file[at] ^= (unsigned char)(1u << bit % 8);
    }
}

static void test_every_bit(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 0, 1, 5 };
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            specimen s = make_specimen(dev, kind, sizes[i]);
            unsigned char *file = need(s.bytes);
            memcpy(file, s.file, s.bytes);
            every_bit(&s, file);
            free(file);
            free_specimen(&s);
        }
}

/* It is found if the caller asks to verify, and harmless if not. */
static void test_data_flips(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        specimen s = make_specimen(dev, kind, 50);
        const unsigned char *entries = s.file + F_TABLE;
        for (uint32_t sec = 0; sec < get32(s.file + F_SECTIONS); sec++) {
            uint64_t at = get64(entries + sec * S_ENTRY + S_OFFSET);
            uint64_t n = get64(entries + sec * S_ENTRY + S_BYTES);
            for (uint64_t i = 0; i < n; i += i + 9 < n ? 7 : 1) {
                unsigned char bit = (unsigned char)(1u << i % 8);
                s.file[at + i] ^= bit;
                unsigned verify = SX_LOAD_VERIFY | (i % 2 ? SX_LOAD_COPY : 0);
                if (try_bytes("data flip", s.file, s.bytes, verify) == SX_OK)
                    fail_msg("flip of byte %llu not found",
                             (unsigned long long)(at + i));
                try_bytes("data flip", s.file, s.bytes, i / 2 % 2);
                s.file[at + i] ^= bit;
            }
        }
        free_specimen(&s);
    }
}

/* ---- forgeries: the header's hash is right ----------------------------------- */

static void forged(specimen *s, const char *what)
{
    seal_header(s->file, s->bytes);
    refused(what, s->file, s->bytes);
}

/* One field set to a value, everything else as it was. */
static void forge(specimen *s, const char *what, size_t at, uint64_t value,
                  size_t bytes)
{
    uint64_t old = 0;
    char name[96];
    memcpy(&old, s->file + at, bytes);
    if (old == value)
        return;
    snprintf(name, sizeof name, "%s %llu", what, (unsigned long long)value);
    put(s->file + at, value, bytes);
    forged(s, name);
    put(s->file + at, old, bytes);
}

static void test_forged_numbers(void **state)
{
    (void)state;
    static const struct { const char *what; size_t at, bytes; } fields[] = {
        { "file bytes", F_BYTES, 8 }, { "front bytes", F_FRONT_BYTES, 4 },
        { "runs", F_RUNS, 4 }, { "sections", F_SECTIONS, 4 }, { "n", F_N, 8 },
        { "largest row", F_MAX_ROW, 8 }, { "flags", F_FLAGS, 4 }, { "sign", R_SIGN, 4 },
        { "the run's sections", R_SECTIONS, 4 }, { "stored keys", R_STORED, 8 },
        { "the run's n", R_N, 8 }, { "the run's largest row", R_MAX_ROW, 8 },
    };
    static const uint64_t lies[] = {
        0, 1, 2, 63, 64, 255, 256, 257, 320, 1u << 16, UINT32_MAX,
        1ull << 32, 1ull << 48, (1ull << 48) + 1, 1ull << 61, 1ull << 63,
        UINT64_MAX - 63, UINT64_MAX
    };
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        specimen s = make_specimen(dev, kind, 1000);
        for (size_t f = 0; f < COUNT_OF(fields); f++)
            for (size_t i = 0; i < COUNT_OF(lies); i++)
                if (fields[f].bytes == 8 || lies[i] <= UINT32_MAX)
                    forge(&s, fields[f].what, fields[f].at, lies[i],
                          fields[f].bytes);
        for (size_t at = 0; at < 3; at++) {
            static const size_t of_n[] = { F_N, R_N, R_STORED };
            uint64_t n = get64(s.file + of_n[at]);
            forge(&s, "n", of_n[at], n + 200, 8);
            forge(&s, "n", of_n[at], n - 200, 8);
            forge(&s, "n", of_n[at], n + 1, 8);
            forge(&s, "n", of_n[at], n - 1, 8);
        }
        forge(&s, "version", F_VERSION, 0, 4);
        forge(&s, "version", F_VERSION, 1, 4);
        forge(&s, "version", F_VERSION, 3, 4);
        forge(&s, "byte order", F_ORDER, 0x04030201, 4);
        for (uint64_t type = 0; type < 300; type += type < 20 ? 1 : 47)
            if (sx_type_bytes((int)type) != s.d->width)
                forge(&s, "type", F_TYPE, type, 4);
        for (uint64_t i = 0; i < 256; i += i < 33 ? 1 : 31) {
            forge(&s, "width", R_WIDTH, i, 1);
            /* half a line holds as many rows of 4 bytes as of 8, if keys are as wide: then
               sx_check() knows, not the size of a section */
            if (!strstr(kinds[kind].spec, "fill=") || i != 8 || s.d->width < 8)
                forge(&s, "row bytes", R_ROW_BYTES, i, 1);
        }
        for (unsigned bit = 2; bit < 16; bit++)
            forge(&s, "the run's flags", R_FLAGS, s.file[R_FLAGS] | 1u << bit, 2);
        for (unsigned bit = 1; bit < 32; bit++)
            forge(&s, "flags", F_FLAGS, s.file[F_FLAGS] | 1u << bit, 4);
        forge(&s, "flags", F_FLAGS, s.file[F_FLAGS] ^ 1u, 4);  /* unique */
        forge(&s, "the run's flags", R_FLAGS, s.file[R_FLAGS] ^ 1u, 2);
        for (size_t i = F_ZERO; i < F_HEADER; i++)
            forge(&s, "reserved byte", i, 1, 1);
        for (size_t i = R_ZERO; i < F_TABLE; i++)
            forge(&s, "reserved byte of the run", i, 1, 1);
        /* A section less, with a header of matching length. */
        uint32_t sections = get32(s.file + F_SECTIONS);
        put(s.file + F_SECTIONS, sections - 1, 4);
        put(s.file + F_FRONT_BYTES, F_TABLE + S_ENTRY * (sections - 1), 4);
        forged(&s, "a section less");
        put(s.file + R_SECTIONS, get32(s.file + R_SECTIONS) - 1, 4);
        forged(&s, "a section less, of the run too");
        put(s.file + F_SECTIONS, 0x03fffffb, 4);  /* 320 + 64 * wraps to 0 */
        put(s.file + F_FRONT_BYTES, 0, 4);
        forged(&s, "sections that overflow");
        free_specimen(&s);
    }
}

static void test_forged_sections(void **state)
{
    (void)state;
    static const uint64_t lies[] = {
        0, 1, 8, 63, 64, 128, 255, 256, 1ull << 20, 1ull << 32, 1ull << 63,
        UINT64_MAX, UINT64_MAX - 63, UINT64_MAX - 511
    };
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        specimen s = make_specimen(dev, kind, 1000);
        uint32_t sections = get32(s.file + F_SECTIONS);
        assert_true(sections >= 1);
        for (uint32_t sec = 0; sec < sections; sec++) {
            size_t e = F_TABLE + sec * S_ENTRY;
            uint64_t at = get64(s.file + e + S_OFFSET);
            uint64_t n = get64(s.file + e + S_BYTES);
            for (size_t i = 0; i < COUNT_OF(lies); i++) {
                forge(&s, "offset", e + S_OFFSET, lies[i], 8);
                forge(&s, "section bytes", e + S_BYTES, lies[i], 8);
            }
            forge(&s, "offset", e + S_OFFSET, at + 1, 8);
            forge(&s, "offset", e + S_OFFSET, at + 8, 8);
            forge(&s, "offset", e + S_OFFSET, at - 64, 8);
            forge(&s, "offset", e + S_OFFSET, s.bytes, 8);
            forge(&s, "offset", e + S_OFFSET, s.bytes - 64, 8);
            forge(&s, "section bytes", e + S_BYTES, n + 1, 8);
            forge(&s, "section bytes", e + S_BYTES, n - 1, 8);
            forge(&s, "section bytes", e + S_BYTES, n + 64, 8);
            forge(&s, "section bytes", e + S_BYTES, s.bytes, 8);
            for (size_t i = S_ZERO; i < S_ENTRY; i++)
                forge(&s, "reserved byte", e + i, 1, 1);
            for (unsigned bit = 0; bit < 32; bit++) {
                forge(&s, "run", e + S_RUN, get32(s.file + e + S_RUN) ^ 1u << bit, 4);
                forge(&s, "flags", e + S_FLAGS, get32(s.file + e + S_FLAGS) ^ 1u << bit, 4);
            }
            forge(&s, "run", e + S_RUN, UINT32_MAX, 4);
            /* Names: another one, none, too long, of another section. */
            unsigned char name[16];
            static const char *const names[] = {
                "kays", "", "keys\0x", "keyskeyskeyskeysk", "whyy", "KEYS"
            };
            memcpy(name, s.file + e, 16);
            for (size_t i = 0; i < COUNT_OF(names); i++) {
                memset(s.file + e, 0, 16);
                memcpy(s.file + e, names[i], i == 2 ? 6 : i == 3 ? 16 :
                       strlen(names[i]));
                forged(&s, "a section's name");
            }
            if (sections > 1) {
                memcpy(s.file + e, s.file + F_TABLE + S_ENTRY *
                       ((sec + 1) % sections), 16);
                forged(&s, "two sections of one name");
                memcpy(s.file + e, name, 16);
                put(s.file + e + S_OFFSET, get64(s.file + F_TABLE + S_ENTRY *
                    ((sec + 1) % sections) + S_OFFSET), 8);
                forged(&s, "two sections in one place");
                put(s.file + e + S_OFFSET, at, 8);
            }
            memcpy(s.file + e, name, 16);
        }
        free_specimen(&s);
    }
}

static void test_forged_specs(void **state)
{
    (void)state;
    static const char *const lies[] = {
        "", "auto", "auto(for=point)", "bushtree", "sorted", "sorted(",
        "sorted(layout=pairs,block=3)", "eytzinger", "eytzinger(k=33)",
        "eytzinger(k=34)", "pivot", "pivot(k=2,leaf=1)",
        "pivot(k=4,leaf=4096,levels=0,layout=split)", "pivot(k=1)",
        "sorted(layout=pairs,block=1)", "sorted(layout=split) unique unique",
        "eytzinger(k=9,layout=split) place=device",
        "eytzinger(k=2,layout=pairs,block=64)", "btree", "btree(k=2,layout=pairs)",
        "btree(k=17,layout=split)", "btree(k=5,layout=once)", "btree(fill=50,layout=pairs)",
        "btree(fill=100,layout=split)", "btree(fill=49,layout=pairs)", "unique", "\xff\xff\xff",
        "radix(leaf=1)", "radix(leaf=255)",
    };
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        specimen s = make_specimen(dev, kind, 1000);
        char right[SX_SPEC_MAX];
        memcpy(right, s.file + R_SPEC, sizeof right);
        for (size_t i = 0; i < COUNT_OF(lies); i++) {
            memset(s.file + R_SPEC, 0, SX_SPEC_MAX);
            memcpy(s.file + R_SPEC, lies[i], strlen(lies[i]));
            /* Refused, or a spec that these sections fit just as well. */
            seal_header(s.file, s.bytes);
            for (unsigned flags = 0; flags < 4; flags++)
                try_bytes(lies[i], s.file, s.bytes, flags);
            if (i < 6 || i == 9)
                refused(lies[i], s.file, s.bytes);
        }
        memset(s.file + R_SPEC, 'k', SX_SPEC_MAX);
        forged(&s, "a spec without end");
        memset(s.file + R_SPEC, ' ', SX_SPEC_MAX);
        forged(&s, "a spec of blanks");
        memcpy(s.file + R_SPEC, right, sizeof right);
        memset(s.file + R_SPEC + strlen(right), ' ',
               SX_SPEC_MAX - strlen(right));
        forged(&s, "a spec with blanks for an end");
        memcpy(s.file + R_SPEC, right, sizeof right);
        s.file[R_SPEC + SX_SPEC_MAX - 1] = 'x';
        forged(&s, "something behind the spec");
        free_specimen(&s);
    }
}

/* ---- forged data: every hash is right -------------------------------------- */

static void test_forged_data(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 1, 2, 17, 64, 300, 1000 };
    rnd r = rnd_start(test_seed());
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++)
            for (int how = 0; how < 5; how++) {
                specimen s = make_specimen(dev, kind, sizes[i]);
                uint32_t sections = get32(s.file + F_SECTIONS);
                /* One section, or (in the last round) all. */
                for (uint32_t sec = 0; sec <= sections; sec++) {
                    unsigned char *file = need(s.bytes);
                    memcpy(file, s.file, s.bytes);
                    for (uint32_t j = 0; j < sections; j++) {
                        unsigned char *e = file + F_TABLE + j * S_ENTRY;
                        if (j == sec || sec == sections)
                            fill(file + get64(e + S_OFFSET),
                                 get64(e + S_BYTES), how, &r);
                    }
                    seal_sections(file, s.bytes);
                    seal_header(file, s.bytes);
                    for (unsigned flags = 0; flags < 4; flags++)
                        try_bytes("forged data", file, s.bytes, flags);
                    free(file);
                }
                free_specimen(&s);
            }
}

/* The reason of auto's choice is shown as it is; a forger may write anything there. */
static void test_forged_why(void **state)
{
    (void)state;
    size_t kind = 0;
    while (strcmp(kinds[kind].spec, "auto") != 0)
        kind++;
    specimen s = make_specimen(dev, kind, 100);
    uint64_t n = 0;
    unsigned char *why = section(&s, "why", &n);
    assert_non_null(why);
    for (unsigned round = 0; round < 4; round++) {
        sx_index *ix = NULL;
        for (uint64_t i = 0; i < n; i++)
            why[i] = round == 0 ? (unsigned char)(' ' + i % 95)
                   : round == 1 ? "\"\\%s%n/"[i % 7]
                   : round == 2 ? (i == n / 2 ? 0x1b : 'x')
                   : (i == n - 1 ? 0xff : 'x');
        seal_sections(s.file, s.bytes);
        seal_header(s.file, s.bytes);
        /* Bytes that a terminal would obey are not accepted. */
        if (round >= 2) {
            assert_int_equal(sx_load(&ix, dev, memory_file(s.file, s.bytes), 2, NULL),
                             SX_ECORRUPT);
            assert_non_null(strstr(sx_detail(), "why"));
            continue;
        }
        assert_int_equal(sx_load(&ix, dev, memory_file(s.file, s.bytes), 2, NULL),
                         SX_OK);
        for (int format = SX_TEXT; format <= SX_JSON; format++) {
            size_t bytes = 0;
            sx_explain(ix, (sx_format)format, NULL, &bytes);
            char *text = need(bytes);
            assert_int_equal(sx_explain(ix, (sx_format)format, text, &bytes),
                             SX_OK);
            assert_int_equal(strlen(text) + 1, bytes);
            if (format == SX_JSON && !is_json(text))
                fail_msg("not JSON: %s", text);
            free(text);
        }
        sx_free(ix);
    }
    free_specimen(&s);
}

/* Notes are believed no more than other sections. Those that sx_note() refuses are refused
 * here, and so is another order. */
static void test_forged_notes(void **state)
{
    (void)state;
#define TEXTS(s) s, sizeof s              /* with the 0 at its end */
    static const struct { const char *text; size_t bytes; const char *word; } forged_as[] = {
        { TEXTS("a\0b\0ab\0"), NULL },
        { TEXTS("=\0b"), "U+003D" },
        { TEXTS("\n\0b"), "U+000A" },
        { TEXTS("\0b"), "0 bytes; allowed: 1 to 63" },
        { TEXTS("a\0\xff"), "0xff" },
        { TEXTS("\xc3\0\xa4"), "0xc3" },
        { TEXTS("b\0\0a\0"), "'b' comes before note 'a'" },
        { TEXTS("a\0x\0a\0y"), "'a' comes before note 'a'" },
        { TEXTS("a\0x\0b"), "3 texts" },
        { TEXTS(""), "1 texts" },
        { "a\0b", 3, "1 texts" },
        { "abc", 3, "0 texts" },
        { "a\0\0\0", 4, "3 texts" },
    };
#undef TEXTS
    specimen s = make_specimen(dev, 0, 10);
    uint32_t sections = get32(s.file + F_SECTIONS);
    size_t entry = F_TABLE + (sections - 1) * S_ENTRY, at = get64(s.file + entry + S_OFFSET);
    assert_string_equal((char *)s.file + entry, "notes");
    /* These, then too long a name, too long a value, too many, as many as can be. */
    for (size_t i = 0; i < COUNT_OF(forged_as) + 4; i++) {
        size_t given = i - COUNT_OF(forged_as), n = 0;
        char *text = need(70000);
        const char *word = i < COUNT_OF(forged_as) ? forged_as[i].word
                         : given == 0 ? "64 bytes" : given == 1 ? "4096 bytes"
                         : given == 2 ? "130 texts" : NULL;
        memset(text, 'x', 70000);
        if (i < COUNT_OF(forged_as)) {
            n = forged_as[i].bytes;
            memcpy(text, forged_as[i].text, n);
        } else if (given < 2) {
            text[given == 0 ? 64 : 1] = '\0';
            n = given == 0 ? 66 : 2 + 4096 + 1;
            text[n - 1] = '\0';
        } else {
            for (unsigned j = 0; j < (given == 2 ? 65 : 64); j++, n += 1000) {
                sprintf(text + n, "%02u", j);
                text[n + 999] = '\0';
            }
        }
        unsigned char *file = need(at + with_gap(n));
        memset(file, 0, at + with_gap(n));
        memcpy(file, s.file, at);
        memcpy(file + at, text, n);
        put(file + entry + S_BYTES, n, 8);
        put(file + F_BYTES, at + with_gap(n), 8);
        seal_sections(file, at + with_gap(n));
        seal_header(file, at + with_gap(n));
        for (unsigned flags = 0; flags < 4; flags++) {
            sx_status status = try_bytes("forged notes", file, at + with_gap(n), flags);
            if (status != (word ? SX_ECORRUPT : SX_OK) ||
                (word && (!strstr(sx_detail(), "'notes'") || !strstr(sx_detail(), word))))
                fail_msg("notes %zu: status %d, %s", i, (int)status, sx_detail());
        }
        free(text);
        free(file);
    }
    free_specimen(&s);
}

/* ---- files that this library does not read -------------------------------------- */

static void told(const void *bytes, size_t n, const char *sentence)
{
    for (unsigned flags = 0; flags < 4; flags++) {
        assert_int_equal(try_bytes(sentence, bytes, n, flags), SX_ECORRUPT);
        if (!strstr(sx_detail(), sentence))
            fail_msg("'%s' is not '%s'", sx_detail(), sentence);
    }
}

/* The header of an empty index, as Sextant 0.1 wrote it. */
static void test_format_1(void **state)
{
    (void)state;
    unsigned char f[256] = F_MAGIC_BYTES;
    put(f + 8, 1, 4);
    put(f + 12, 0x01020304, 4);
    put(f + 16, sizeof f, 8);
    put(f + 32, sizeof f, 4);
    put(f + 56, SX_U64, 4);
    f[60] = 8;
    memcpy(f + 64, "sorted(layout=split)", 20);
    put(f + 24, front_hash(f, sizeof f), 8);
    told(f, sizeof f, "has format 1, of Sextant before 0.3; this library reads 2: build it again "
         "from its keys");
    put(f + 8, 3, 4);
    told(f, sizeof f, "has format 3; this library reads 2");
    put(f + 12, 0x04030201, 4);
    told(f, sizeof f, "other byte order");
}

struct lie {
    size_t at, bytes;
    uint64_t value;
};

/* One run more, as a later library may write; and a run that takes keys away. */
static void test_runs(void **state)
{
    (void)state;
    specimen s = make_specimen(dev, 0, 100);
    unsigned char *file = need(s.bytes + 192);
    memcpy(file, s.file, F_TABLE);
    memcpy(file + F_TABLE, s.file + F_HEADER, 192);
    memcpy(file + F_TABLE + 192, s.file + F_TABLE, s.bytes - F_TABLE);
    put(file + F_BYTES, s.bytes + 192, 8);
    put(file + F_RUNS, 2, 4);
    put(file + F_FRONT_BYTES, get32(file + F_FRONT_BYTES) + 192, 4);
    seal_header(file, s.bytes + 192);
    told(file, s.bytes + 192, "has 2 runs; this library reads 1");
    free(file);
    put(s.file + R_SIGN, UINT32_MAX, 4);
    seal_header(s.file, s.bytes);
    told(s.file, s.bytes, "has a run of sign -1; this library reads 1");
    free_specimen(&s);
}

/* Lies that agree with each other, so that no field gives another away. */
static void lie_twice(const specimen *s, const struct lie *lies, unsigned count,
                      const char *sentence)
{
    unsigned char *file = need(s->bytes);
    memcpy(file, s->file, s->bytes);
    for (unsigned i = 0; i < count; i++)
        put(file + lies[i].at, lies[i].value, lies[i].bytes);
    seal_header(file, s->bytes);
    told(file, s->bytes, sentence);
    free(file);
}

/* A spec that leaves out parameters, which its reader would choose. */
static void name_alone(const specimen *s)
{
    unsigned char *file = need(s->bytes);
    memcpy(file, s->file, s->bytes);
    char *open = strchr((char *)file + R_SPEC, '('), *close = strchr(open, ')');
    memmove(open, close + 1, SX_SPEC_MAX - (size_t)(close + 1 - ((char *)file + R_SPEC)));
    seal_header(file, s->bytes);
    told(file, s->bytes, "its spec is not a resolved one");
    free(file);
}

static void test_consistent_lies(void **state)
{
    (void)state;
    unsigned stored = 0, ranks = 0;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        specimen s = make_specimen(dev, kind, 1000);
        uint64_t n = get64(s.file + R_N), unique = get32(s.file + F_FLAGS) & 1;
        struct lie flags[] = { { F_FLAGS, 4, unique ^ 1u },
                               { R_FLAGS, 2, (s.file[R_FLAGS] & 2u) | (unique ^ 1u) } };
        lie_twice(&s, flags, 2, "its spec can't be read");
        if (strstr((const char *)s.file + R_SPEC, "layout=split"))
            name_alone(&s);
        struct lie mark[] = { { F_ORDER, 4, 0x01020305 } };
        lie_twice(&s, mark, 1, "no byte order mark");
        /* As many sections as the file has bytes for, and a header of that size. */
        uint64_t many = (s.bytes - F_TABLE) / S_ENTRY;
        struct lie sections[] = { { F_SECTIONS, 4, many }, { R_SECTIONS, 4, many },
                                  { F_FRONT_BYTES, 4, F_TABLE + S_ENTRY * many } };
        lie_twice(&s, sections, 3, "its header has an impossible size");
        /* One rank less than keys are stored. */
        unsigned row_bytes = s.file[R_ROW_BYTES];
        uint64_t fewer = get64(s.file + R_STORED) - 1;
        uint64_t max_row = row_bytes ? get64(s.file + R_MAX_ROW) : fewer - 1;
        struct lie keys[] = { { F_N, 8, fewer }, { R_N, 8, fewer }, { F_MAX_ROW, 8, max_row },
                              { R_MAX_ROW, 8, max_row } };
        lie_twice(&s, keys, 4, "its number of stored keys can't be");
        uint64_t rows[] = { row_bytes == 8 ? UINT64_MAX : UINT32_MAX, n, n - 2 };
        for (unsigned i = 0; i < (row_bytes ? 1 : 3); i++) {
            struct lie largest[] = { { F_MAX_ROW, 8, rows[i] }, { R_MAX_ROW, 8, rows[i] } };
            lie_twice(&s, largest, 2, "its largest row can't be");
        }
        stored += row_bytes == 4;
        ranks += row_bytes == 0;
        free_specimen(&s);
    }
    assert_true(stored > 0 && ranks > 0);
}

/* Nothing but a header: the smallest file, and lies in it. */
static void test_forged_empty(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        specimen s = make_specimen(dev, kind, 0);
        assert_int_equal(try_bytes("empty", s.file, s.bytes, 0), SX_OK);
        assert_int_equal(try_bytes("empty", s.file, s.bytes, 3), SX_OK);
        for (uint64_t n = 1; n; n *= 16)
            for (unsigned at = 0; at < 3; at++)
                forge(&s, "n of an empty index", at == 0 ? F_N : at == 1 ? R_N : R_STORED, n, 8);
        forge(&s, "flags of an empty index", R_FLAGS, s.file[R_FLAGS] | 2u, 2);
        for (unsigned row_bytes = 0; row_bytes <= 8; row_bytes += 4) {
            s.file[R_ROW_BYTES] = (unsigned char)row_bytes;
            for (uint64_t row = 1; row < 100; row += 76) {
                put(s.file + R_MAX_ROW, row, 8);
                forge(&s, "largest row of an empty index", F_MAX_ROW, row, 8);
                put(s.file + R_MAX_ROW, 0, 8);
            }
        }
        free_specimen(&s);
    }
}

/* Random bytes of the header, several at once, hashes right. */
static void test_forged_at_random(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    for (unsigned round = 0; round < 3000; round++) {
        specimen s;
        static specimen kept[COUNT_OF(kinds)];
        size_t kind = round % COUNT_OF(kinds);
        if (!kept[kind].file)
            kept[kind] = make_specimen(dev, kind, 30);
        s = kept[kind];
        size_t header = get32(s.file + F_FRONT_BYTES);
        unsigned char *file = need(s.bytes);
        memcpy(file, s.file, s.bytes);
        for (uint64_t i = 0; i <= rnd_below(&r, 4); i++) {
            size_t at = 8 + rnd_below(&r, header - 8);
            file[at] = rnd_below(&r, 2) ? (unsigned char)rnd_next(&r)
                     : (unsigned char)(file[at] ^ 1u << rnd_below(&r, 8));
        }
        seal_header(file, s.bytes);
        try_bytes("random header", file, s.bytes, round / 16 % 4);
        free(file);
        if (round + COUNT_OF(kinds) >= 3000)
            free_specimen(&kept[kind]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncations),
        cmocka_unit_test(test_every_bit),
        cmocka_unit_test(test_data_flips),
        cmocka_unit_test(test_forged_numbers),
        cmocka_unit_test(test_forged_sections),
        cmocka_unit_test(test_forged_specs),
        cmocka_unit_test(test_forged_data),
        cmocka_unit_test(test_forged_why),
        cmocka_unit_test(test_forged_notes),
        cmocka_unit_test(test_forged_empty),
        cmocka_unit_test(test_forged_at_random),
        cmocka_unit_test(test_format_1),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_consistent_lies),
    };
    test_seed();
    dev = device_open("cpu:threads=1");
    int failed = cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
    sx_close(dev);
    return failed != 0;
}
