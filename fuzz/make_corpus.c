/* make_corpus.c - writes the seeds of both fuzz targets:
 *     make corpus
 * To be run again when the file format or the spec grammar grows. New seeds are
 * added to the ends of the lists, so that the others keep their names. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sextant.h"

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, sx_detail());
    exit(1);
}

static void write_seed(const char *dir, unsigned number, const char *kind,
                       const void *data, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%02u", dir, kind, number);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0)
        fail(path);
}

/* Writes one file more, with one byte of it changed: a field of the header, of the
 * run, of the first section's entry, or of the data. The target makes its hashes right
 * again, except for the first file. */
static void write_damaged(const char *dir, unsigned number, unsigned char *file,
                          size_t bytes)
{
    static const unsigned at[] = { 24, 8, 12, 16, 32, 36, 40, 44, 48, 56, 64, 100, 128, 256, 260,
                                   264, 272, 280, 288, 289, 290, 300, 320, 336, 340, 344, 352,
                                   370 };
    unsigned place = at[number % (sizeof at / sizeof *at)];
    if (number >= sizeof at / sizeof *at || place + 1 >= bytes)
        place = (unsigned)bytes - 100;
    file[0] = (unsigned char)((place == 24 ? 0 : 12) | number % 4);
    file[1 + place] ^= 5;
    write_seed(dir, number, "damaged", file, bytes + 1);
}

/* A file of n keys behind the byte that says how to load it. */
static void write_index(const char *dir, sx_device *dev, const char *spec,
                        int type, uint64_t n, int row_type, int with_notes)
{
    static unsigned number;
    unsigned char keys[64 * 16], file[16384];
    uint64_t rows[64];
    char path[4096];
    for (size_t i = 0; i < sizeof keys; i++)
        keys[i] = (unsigned char)(i * 37 + i / 7);
    /* Three of a value, where each value is stored once. */
    for (size_t i = 0, w = sx_type_bytes(type); i < n && strstr(spec, "once"); i++)
        memcpy(keys + i * w, keys + i / 3 * 3 * w, w);
    for (unsigned i = 0; i < 64; i++)
        rows[i] = i * 3;
    sx_column k = { .type = type, .n = n, .data = keys };
    /* Strings of 0 to 11 bytes, most of which begin alike. */
    uint32_t offsets[65] = { 0 };
    for (unsigned i = 0; i < 64 && type == SX_STR; i++) {
        unsigned which = strstr(spec, "once") ? i / 3 : i, length = which * 7 % 12;
        memset(keys + offsets[i], 'a', length);
        if (length > 9)
            keys[offsets[i] + 9] = (unsigned char)which;
        offsets[i + 1] = offsets[i] + length;
    }
    if (type == SX_STR) {
        k.offsets = offsets;
        k.offset_bytes = 4;
        k.bytes = offsets[n];
    }
    sx_column r = { .type = row_type, .n = n, .data = rows };
    sx_index *ix = NULL;
    snprintf(path, sizeof path, "%s/making", dir);
    if (sx_build(&ix, dev, spec, &k, row_type ? &r : NULL, NULL) != SX_OK ||
        (with_notes && (sx_note(ix, "unit", "ns") || sx_note(ix, "\xc3\xa4", "\n"))) ||
        sx_save(ix, path, NULL) != SX_OK)
        fail(spec);
    sx_free(ix);
    FILE *f = fopen(path, "rb");
    size_t bytes = f ? fread(file + 1, 1, sizeof file - 1, f) : 0;
    if (!f || bytes == 0 || bytes == sizeof file - 1)
        fail(path);
    fclose(f);
    unlink(path);
    file[0] = (unsigned char)(12 | number % 4);
    write_seed(dir, number, "index", file, bytes + 1);
    write_damaged(dir, number++, file, bytes);
}

static const struct {
    const char *spec;
    int type;
    unsigned n;
    int rows;                     /* 0: positions */
    int notes;
} indexes[] = {
    { "sorted", SX_U64, 0, 0, 0 },
    { "sorted", SX_U64, 1, SX_U32, 0 },
    { "sorted(layout=pairs)", SX_U32, 20, SX_U32, 0 },
    { "sorted unique", SX_B16, 12, SX_U64, 0 },
    { "eytzinger(k=2)", SX_F32, 33, 0, 0 },
    { "eytzinger(k=9)", SX_I64, 40, SX_U64, 0 },
    { "eytzinger(k=5,layout=pairs)", SX_F64, 30, SX_U64, 0 },
    { "eytzinger(k=33)", SX_U32, 50, SX_U32, 0 },
    { "pivot(k=3)", SX_U64, 50, SX_U64, 0 },
    { "pivot(k=2,leaf=1)", SX_I32, 30, 0, 0 },
    { "pivot(k=5,layout=pairs,block=1)", SX_B16, 40, SX_U32, 0 },
    { "pivot(k=4,levels=1)", SX_U32, 60, SX_U64, 0 },
    { "auto", SX_U64, 30, SX_U64, 0 },
    { "sorted", SX_U64, 50, 0, 0 },
    { "eytzinger(k=3)", SX_U32, 50, 0, 0 },
    { "eytzinger(k=3,layout=pairs)", SX_B16, 20, SX_U32, 0 },
    { "pivot", SX_F64, 60, SX_U64, 0 },
    { "pivot(k=17,layout=pairs) unique", SX_U32, 60, SX_U64, 0 },
    { "pgm(eps=1,eps2=1)", SX_U64, 60, 0, 0 },
    { "pgm(eps=1,eps2=1,cuts=9)", SX_U32, 60, SX_U32, 0 },
    { "pgm(eps=2,layout=pairs)", SX_B16, 64, SX_U64, 0 },
    { "pgm", SX_F64, 1, 0, 0 },
    { "guide", SX_U64, 64, 0, 0 },
    { "guide(bucket=2,pieces=3)", SX_U32, 60, SX_U32, 0 },
    { "guide(bucket=1,pieces=7,layout=pairs)", SX_B16, 50, SX_U64, 0 },
    { "guide(pieces=2) unique", SX_F64, 1, SX_U32, 0 },
    { "pgm(budget=1)", SX_I64, 64, SX_U32, 0 },
    { "sorted(layout=once)", SX_U32, 60, SX_U32, 0 },
    { "eytzinger(k=5,layout=once)", SX_U64, 50, SX_U64, 0 },
    { "pivot(k=3,layout=once)", SX_F32, 60, 0, 0 },
    { "guide(bucket=2,pieces=3,layout=once)", SX_B16, 40, SX_U32, 0 },
    { "pgm(eps=1,eps2=1,layout=once)", SX_I32, 64, SX_U64, 0 },
    { "btree(k=3)", SX_U64, 60, SX_U64, 0 },
    { "btree(k=2)", SX_U64, 50, SX_U32, 0 },
    { "btree(k=4)", SX_U32, 60, SX_U64, 0 },
    { "btree(k=5)", SX_B16, 40, SX_U32, 0 },
    { "btree(k=3,layout=once)", SX_F32, 64, SX_U32, 0 },
    { "sorted", SX_U64, 0, 0, 1 },
    { "auto", SX_U32, 20, SX_U32, 1 },
    { "pgm(eps=1)", SX_U32, 30, SX_U32, 1 },
    { "sorted", SX_STR, 60, SX_U32, 0 },
    { "pivot(k=3)", SX_STR, 64, 0, 0 },
    { "eytzinger(k=3,layout=once)", SX_STR, 60, SX_U32, 0 },
    { "btree(k=3)", SX_STR, 50, SX_U64, 0 },
    { "guide(bucket=2,pieces=3)", SX_STR, 40, 0, 0 },
    { "sorted", SX_STR, 1, 0, 0 },
};

int main(int argc, char **argv)
{
    static const char *const specs[] = {
        "", "auto", "auto(for=point)", "auto(for=range) unique",
        "auto(for=memory)", "auto(for=mixed) place=host", "sorted",
        "sorted()", "sorted(layout=split)", "sorted(layout=pairs)",
        "sorted(layout=pairs,block=1) unique", "sorted unique place=host",
        "eytzinger", "eytzinger(k=2)", "eytzinger(k=33)", "eytzinger(k=34)",
        "eytzinger(k=9,layout=pairs)", " eytzinger ( k = 5 ) ", "pivot",
        "pivot(k=17,levels=2,leaf=8,layout=pairs,block=64)",
        "pivot(levels=0)", "pivot(k=2,leaf=4096)", "pivot(k=2,levels=48)",
        "pivot(k=9", "pivot(k=9,,)", "pivot(k=99999999999)", "pivot(k=9,k=9)",
        "btree(fill=80)", "unique", "sorted place=device",
        "pivot(k=9)\tunique", "pgm", "pgm(eps=1,eps2=1,cuts=1048576)",
        "pgm(eps=1048576,eps2=1024,layout=pairs) unique", "pgm(eps=0)",
        "pgm(eps=2,cuts=7,layout=pairs,block=1)", "pgm(cuts=0)",
        "guide", "guide(bucket=1,pieces=65536)", "guide(bucket=128,pieces=3)",
        "guide(bucket=3,pieces=5,layout=pairs,block=8) unique", "guide(pieces=0)",
        "pgm(budget=1)", "pgm(budget=64,eps2=2,layout=pairs)", "pgm(eps=4,budget=1)",
        "pgm(budget=0)", "pivot place=hybrid", "guide(bucket=5) place=hybrid unique",
        "sorted place=hybrid", "pgm place=both", "auto(for=point) place=both",
        "guide place=host place=both", "pgm(budget=1,cuts=32)",
        "btree", "btree(k=17)", "btree(k=9,layout=pairs)", "btree(k=2,layout=split) unique",
        "btree(layout=once) place=hybrid", "btree(block=4)",
    };
    if (argc != 3) {
        fprintf(stderr, "usage: make_corpus LOAD-DIR SPEC-DIR\n");
        return 2;
    }
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++)
        write_seed(argv[2], i, "spec", specs[i], strlen(specs[i]));

    sx_device *dev;
    if (sx_open(&dev, "cpu:scalar,threads=1") != SX_OK)
        fail("open");
    for (unsigned i = 0; i < sizeof indexes / sizeof *indexes; i++)
        write_index(argv[1], dev, indexes[i].spec, indexes[i].type, indexes[i].n,
                    indexes[i].rows, indexes[i].notes);
    sx_close(dev);
    return 0;
}
