/* string_gets.c - how fast strings are found, with queries and rows in the device's memory:
 *
 *     string_gets DEVICE SPEC words|paths|random|long N [QUERIES [RUNS]]
 *
 * words: made of syllables, of 3 to 20 bytes, 9 on average, as in a dictionary; paths: folders and
 * files below 60 bytes that all share; random: 12 bytes of any; long: random letters, as many as the
 * paths have. All different, random hits. Prints a JSON line. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alone.h"

#define LONGEST 128u

static void *taken(uint64_t bytes)
{
    void *p = calloc(bytes + 1, 1);

    if (!p)
        exit(1);
    return p;
}

/* Syllables by the digits of x, which they tell apart: an index among 64, 12 to 48 bits. */
static unsigned syllables(char *to, uint64_t x, unsigned least)
{
    static const char *const first = "bcdfghklmnprstvz", *const second = "aeio";
    unsigned n = 0;

    for (unsigned k = 0; k < least || x > 0; k++, x /= 64) {
        to[n++] = first[x % 16];
        to[n++] = second[x / 16 % 4];
    }
    return n;
}

static unsigned one(const char *kind, uint64_t i, char *to)
{
    static const char shared[] = "/srv/archive/projects/2026/sextant/measurements/of/everything";
    unsigned n = 0;

    if (kind[0] == 'r') {
        for (uint64_t k = 0; k < 12; k += 4) {
            uint32_t x = (uint32_t)mixed(3 * i + k / 4);
            memcpy(to + k, &x, 4);
        }
        return 12;
    }
    if (kind[0] == 'w') {         /* an ending that is no syllable tells lengths apart */
        n = syllables(to, mixed(i) >> (28 + mixed(i + 7) % 5 * 6), 1);
        n += (unsigned)snprintf(to + n, 8, "%s", i % 3 ? i % 3 == 1 ? "y" : "ng" : "");
        return n;
    }
    n = (unsigned)snprintf(to, LONGEST, "%.60s/", shared);
    n += syllables(to + n, mixed(i / 400), 3);
    n += (unsigned)snprintf(to + n, LONGEST - n, "/part-%05llu.txt", (unsigned long long)(i % 400));
    for (unsigned k = 0; kind[0] == 'l' && k < n; k++)
        to[k] = (char)('a' + mixed(i * LONGEST + k) % 26);
    return n;
}

typedef struct {
    sx_column column;
    uint32_t *offsets;
    char *bytes;
} strings;

/* String `which(i)`, for all i below n. */
static strings strings_of(const char *kind, uint64_t n, uint64_t of, uint64_t seed)
{
    strings s = { .offsets = taken((n + 1) * sizeof *s.offsets), .bytes = taken(n * LONGEST) };
    uint64_t at = 0;

    for (uint64_t i = 0; i < n; i++) {
        at += one(kind, seed ? mixed(i + seed) % of : i, s.bytes + at);
        s.offsets[i + 1] = (uint32_t)at;
    }
    s.column = (sx_column){ .type = SX_STR, .n = n, .data = s.bytes, .offsets = s.offsets,
                            .offset_bytes = 4, .bytes = at };
    return s;
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 4 ? strtoull(argv[4], NULL, 10) : 0, best = UINT64_MAX, ns = 0, wrong = 0;
    uint64_t m = argc > 5 ? strtoull(argv[5], NULL, 10) : 1u << 23;
    int runs = argc > 6 ? atoi(argv[6]) : 5;
    sx_device *dev;
    sx_index *ix;

    if (n == 0) {
        fprintf(stderr, "usage: string_gets DEVICE SPEC words|paths|random|long N [QUERIES [RUNS]]\n");
        return 2;
    }
    expect(sx_open(&dev, argv[1]));
    strings keys = strings_of(argv[3], n, n, 0), asked = strings_of(argv[3], m, n, 99);
    uint32_t *row = taken(m * sizeof *row);
    sx_column rows = { .type = SX_U32, .n = m, .data = row }, q, r;
    expect(sx_build(&ix, dev, argv[2], &keys.column, NULL, NULL));
    expect(sx_column_strings(&q, dev, m, asked.column.bytes, 4));
    expect(sx_column_copy(&q, &asked.column, dev));
    expect(sx_column_new(&r, dev, SX_U32, m));
    sx_call call = { .size = sizeof call, .device_ns = &ns };
    for (int i = 0; i < runs; i++) {
        expect(sx_get(ix, &q, &r, &call));
        best = ns < best ? ns : best;
    }
    expect(sx_column_copy(&rows, &r, dev));
    for (uint64_t i = 0; i < m; i++) {            /* words may come twice: any of them is right */
        uint64_t a = asked.offsets[i], length = asked.offsets[i + 1] - a, k = row[i];
        wrong += k >= n || keys.offsets[k + 1] - keys.offsets[k] != length ||
                 memcmp(keys.bytes + keys.offsets[k], asked.bytes + a, length) != 0;
    }
    sx_index_info info = { .size = sizeof info };
    expect(sx_describe(ix, &info));
    printf("{\"op\": \"string_get\", \"device\": \"%s\", \"spec\": \"%s\", \"keys\": \"%s\", \"n\": %llu, "
           "\"queries\": %llu, \"bytes_per_query\": %.3g, \"extra_bytes_per_key\": %.3g, "
           "\"get_gps\": %.4g, \"wrong\": %llu}\n",
           argv[1], argv[2], argv[3], (unsigned long long)n, (unsigned long long)m,
           (double)asked.column.bytes / (double)m,
           ((double)info.bytes - (double)keys.column.bytes) / (double)n, (double)m / (double)best,
           (unsigned long long)wrong);
    return wrong != 0;
}
