/* specimen.h - indexes of every family and their files, for tests that look into files
 * or damage them. */
#ifndef SPECIMEN_H
#define SPECIMEN_H

#include <stdlib.h>
#include <string.h>

#include "ask.h"

static const struct specimen_kind {
    const char *spec;
    int type;
    row_kind rows;
    int row_bytes;                /* as the file has it */
} kinds[] = {
    { "sorted", SX_U64, ROWS_U64_WIDE, 8 },
    { "sorted(layout=pairs)", SX_U32, ROWS_U32, 4 },
    { "sorted", SX_B16, ROWS_IMPLICIT, 0 },
    { "eytzinger(k=2)", SX_F32, ROWS_NULL, 4 },
    { "eytzinger(k=9,layout=pairs)", SX_I64, ROWS_U64_WIDE, 8 },
    { "eytzinger(k=10)", SX_U64, ROWS_IMPLICIT, 0 },
    { "pivot(k=3)", SX_F64, ROWS_U64_SMALL, 4 },
    { "pivot(k=4,levels=1)", SX_U32, ROWS_U64_EDGE, 8 },
    { "pivot(k=5,layout=pairs,block=1)", SX_B16, ROWS_U32, 4 },
    { "auto", SX_U64, ROWS_U64_WIDE, 8 },
    { "guide(bucket=3,pieces=5)", SX_U64, ROWS_U32, 4 },
    { "guide(bucket=2,pieces=3,layout=pairs)", SX_B16, ROWS_U64_WIDE, 8 },
    { "pgm(eps=1,eps2=1)", SX_U64, ROWS_NULL, 4 },
    { "pgm(eps=2,cuts=3,layout=pairs)", SX_B16, ROWS_U64_WIDE, 8 },
    { "sorted(layout=once)", SX_U64, ROWS_U64_WIDE, 8 },
    { "sorted(layout=once)", SX_F32, ROWS_IMPLICIT, 0 },
    { "eytzinger(k=9,layout=once)", SX_I32, ROWS_U32, 4 },
    { "guide(bucket=3,pieces=5,layout=once)", SX_B16, ROWS_NULL, 4 },
    { "pgm(eps=2,cuts=3,layout=once)", SX_F64, ROWS_U64_EDGE, 8 },
    { "btree", SX_U64, ROWS_U64_WIDE, 8 },
    { "btree(k=3)", SX_U64, ROWS_U32, 4 },
    { "btree(k=4)", SX_B16, ROWS_U64_SMALL, 4 },
    { "btree(k=2)", SX_F32, ROWS_U64_EDGE, 8 },
    { "btree(k=5)", SX_B16, ROWS_U64_WIDE, 8 },
    { "btree(k=16)", SX_I32, ROWS_IMPLICIT, 0 },
    { "btree(k=8,layout=once)", SX_I64, ROWS_U32, 4 },
    { "btree(fill=100)", SX_U64, ROWS_U64_WIDE, 8 },
    { "btree(fill=50)", SX_B16, ROWS_U64_SMALL, 4 },
    { "btree(fill=80,layout=once)", SX_B16, ROWS_U32, 4 },
    { "btree(fill=90,layout=split)", SX_B16, ROWS_U64_WIDE, 8 },
    { "radix(leaf=1)", SX_U32, ROWS_U32, 4 },
    { "radix(leaf=3,layout=pairs)", SX_U64, ROWS_U64_WIDE, 8 },
    { "radix(leaf=1)", SX_B16, ROWS_IMPLICIT, 0 },
    { "radix(leaf=2,layout=once)", SX_F64, ROWS_NULL, 4 },
    { "pivot(k=17) unique", SX_I32, ROWS_IMPLICIT, 0 },
};

static inline bool is_unique(size_t kind)
{
    return strstr(kinds[kind].spec, "unique") != NULL;
}

static inline bool is_once(size_t kind)
{
    return strstr(kinds[kind].spec, "once") != NULL;
}

typedef struct {
    dataset *d;
    sx_index *ix;
    char *path;
    unsigned char *file;          /* the bytes as saved */
    size_t bytes;
} specimen;

static inline specimen make_specimen(sx_device *dev, size_t kind,
                                     uint64_t n)
{
    specimen s = { .path = temp_path("specimen.sxt") };
    rnd r = rnd_start(test_seed() + kind);
    s.d = data_make(kinds[kind].type, is_unique(kind) ? KEYS_DENSE
                    : is_once(kind) ? KEYS_DUPLICATES : KEYS_RANDOM, n, kinds[kind].rows, 60, &r);
    if (data_build(s.d, dev, kinds[kind].spec, NULL, &s.ix) != SX_OK)
        die("%s: %s", kinds[kind].spec, sx_detail());
    /* Every third has notes, behind why or other sections. */
    if (kind % 3 == 0 && (sx_note(s.ix, "unit", "ns") != SX_OK ||
                          sx_note(s.ix, "\xc3\xa4", "") != SX_OK))
        die("%s", sx_detail());
    s.file = saved_bytes(s.ix, s.path, &s.bytes);
    return s;
}

static inline void free_specimen(specimen *s)
{
    sx_free(s->ix);
    data_free(s->d);
    free(s->path);
    free(s->file);
}

static inline void check_file_is(const char *path, const unsigned char *want,
                                 size_t bytes)
{
    size_t now_bytes;
    unsigned char *now = read_file(path, &now_bytes);
    assert_int_equal(now_bytes, bytes);
    assert_memory_equal(now, want, bytes);
    free(now);
}

#endif
