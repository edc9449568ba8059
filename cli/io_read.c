/* io_read.c - columns from files.
 *
 * No number of a header is believed before the bytes are there: the size of
 * a regular file bounds every allocation, and for a pipe the buffer grows
 * only as data comes. */
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "key_column.h"
#include "progress.h"
#include "say.h"

enum { STEP_BYTES = 1 << 20 };    /* read at a time */

#define UNTIL_END UINT64_MAX

/* ---- binary ------------------------------------------------------------ */

/* Values to have space for at first: all that the file can hold, or few if
 * its size is not known. */
static uint64_t first_space(const input *in, uint64_t wanted, size_t size)
{
    uint64_t space = in->sized ? (in->size - in->offset) / size + 1
                              : STEP_BYTES / size;

    return wanted < space ? wanted : space;
}

_Noreturn static void fail_cut_short(const input *in, uint64_t wanted,
                                     uint64_t there)
{
    fail("%s: cut short: %llu values are announced, %llu are there",
         in->name, (unsigned long long)wanted, (unsigned long long)there);
}

/* Reads the values from here on: exactly `wanted`, or UNTIL_END. */
static sx_column read_values(input *in, int type, uint64_t wanted)
{
    size_t size = sx_type_bytes(type);
    uint64_t space, n = 0;
    unsigned char *data;
    size_t rest = 0;              /* bytes of a value that is not whole yet */
    char behind;

    if (in->sized && in->offset > in->size)
        in->sized = false;        /* the file has grown since */
    if (in->sized && wanted != UNTIL_END &&
        wanted > (in->size - in->offset) / size)
        fail_cut_short(in, wanted, (in->size - in->offset) / size);
    space = first_space(in, wanted, size);
    data = must_alloc(space, size);
    progress_start("reading", in->packed);
    while (n < wanted) {
        uint64_t step = space - n;
        size_t got;

        if (step == 0) {
            space = space + space / 2 + STEP_BYTES / size;
            data = must_grow(data, space, size);
            continue;
        }
        step = step < STEP_BYTES ? step : STEP_BYTES;
        step = step < wanted - n ? step : wanted - n;
        got = input_some(in, data + n * size, (size_t)step * size);
        n += got / size;
        rest = got % size;
        progress_at(input_progress(in));
        if (got < step * size)
            break;
    }
    progress_stop();
    if (wanted != UNTIL_END && n < wanted)
        fail_cut_short(in, wanted, n);
    if (wanted == UNTIL_END && rest)
        fail("%s: %llu bytes are no whole number of %s values of %zu bytes",
             in->name, (unsigned long long)in->offset, sx_type_name(type),
             size);
    if (wanted != UNTIL_END && input_some(in, &behind, 1))
        fail("%s: more bytes follow the %llu announced values, at byte %llu",
             in->name, (unsigned long long)wanted,
             (unsigned long long)in->offset - 1);
    swap_if_big_endian(type, data, n);
    return column_over(type, n, must_grow(data, n, size));
}

static sx_column read_sosd(input *in, int type)
{
    uint64_t n;

    input_exactly(in, &n, sizeof n, "count of 8 bytes");
    swap_if_big_endian(SX_U64, &n, 1);
    if (n == UNTIL_END)           /* no file holds that many */
        fail_cut_short(in, n, 0);
    return read_values(in, type, n);
}

/* ---- columns ----------------------------------------------------------- */

static int type_of_name(const char *path)
{
    static const struct { const char *part; int type; } names[] = {
        { "uint32", SX_U32 }, { "uint64", SX_U64 },
    };

    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *part = strstr(name, names[i].part);

        /* At the end of the name, or right before its extension. */
        if (part && (!part[6] || part[6] == '.'))
            return names[i].type;
    }
    return 0;
}

/* Puts the values of a file that is no text behind the column. */
static void append_values(growing_column *to, const char *path, file_format format)
{
    input in = input_open(path, false);
    int type = to->column.type;
    size_t size;
    sx_column part;

    if (format == FORMAT_NPY) {
        npy_header header = npy_read_header(&in);

        if (type && type != header.type)
            fail("%s: the .npy file holds %s values, but %s are needed",
                 path, sx_type_name(header.type), sx_type_name(type));
        to->column.type = header.type;
        part = read_values(&in, header.type, header.n);
        if (header.unit.kind && to->unit.kind)
            unit_convert(part.data, part.n, header.unit, to->unit, in.name);
        else if (header.unit.kind)
            to->unit = header.unit;
    } else {
        part = format == FORMAT_SOSD ? read_sosd(&in, type)
                                     : read_values(&in, type, UNTIL_END);
    }
    input_close(&in);
    size = sx_type_bytes(part.type);
    if (to->column.n == 0) {
        free(to->column.data);
        to->column = part;
    } else {
        to->column.data = must_grow(to->column.data, to->column.n + part.n, size);
        memcpy((char *)to->column.data + to->column.n * size, part.data, part.n * size);
        to->column.n += part.n;
        free(part.data);
    }
    to->space = to->column.n;
}

sx_column read_keys(const char *const *paths, unsigned n, const reading *how,
                    text_facts *facts)
{
    text_facts unasked = { 0 };
    growing_column to = { .column = column_over(how->type, 0, NULL),
                          .as = how->as ? how->as : notation_at(0),
                          .unit = how->unit };

    for (unsigned i = 0; i < n; i++) {
        file_format format = format_needed(paths[i], how->format);

        if (format != FORMAT_NPY && !to.column.type)
            to.column.type = type_of_name(paths[i]);
        if (format != FORMAT_NPY && !to.column.type)
            fail_usage("%s: the file does not tell the type of its keys; add "
                       "--type%s", paths[i],
                       format_is_text(format) ? " or --keys-as" : "");
        if (to.column.type == SX_STR && !format_is_text(format))
            fail_usage("%s: strings are read from text, csv and tsv files", paths[i]);
        if (format_is_text(format))
            (to.column.type == SX_STR ? read_text_whole : read_text)
                (paths[i], format, &how->text, take_key, &to, facts ? facts : &unasked);
        else
            append_values(&to, paths[i], format);
    }
    if (to.column.type != SX_STR)
        to.column.data = must_grow(to.column.data, to.column.n,
                                   sx_type_bytes(to.column.type));
    else if (!to.column.offsets)  /* no string was read */
        to.column = key_space(SX_STR, 0);
    if (to.column.type == SX_STR && to.column.n == 0)
        ((uint64_t *)to.column.offsets)[0] = 0;
    if (facts)
        facts->unit = to.unit;
    return to.column;
}

sx_column read_column(const char *path, file_format format, int type)
{
    return read_keys(&path, 1, &(reading){ .format = format, .type = type },
                     NULL);
}

/* NumPy makes signed integers by default, so rows often are. If none is
 * negative, the same bytes are right. */
static void make_unsigned(sx_column *rows, const char *path)
{
    bool wide = rows->type == SX_I64;

    for (uint64_t i = 0; i < rows->n; i++) {
        int64_t row = wide ? ((int64_t *)rows->data)[i]
                           : ((int32_t *)rows->data)[i];

        if (row < 0)
            fail("%s: row %lld at position %llu is negative", path,
                 (long long)row, (unsigned long long)i);
    }
    rows->type = wide ? SX_U64 : SX_U32;
}

/* Building would find it, too, but does not know the file. */
static void refuse_reserved(const sx_column *rows, const char *path)
{
    bool wide = rows->type == SX_U64;
    uint64_t reserved = wide ? SX_MISS : SX_MISS32;

    for (uint64_t i = 0; i < rows->n; i++)
        if ((wide ? ((const uint64_t *)rows->data)[i]
                  : ((const uint32_t *)rows->data)[i]) == reserved)
            fail("%s: row %llu at position %llu is reserved: all ones means "
                 "no match", path, (unsigned long long)reserved,
                 (unsigned long long)i);
}

sx_column read_rows(const char *path, file_format format, int type)
{
    sx_column rows;

    if (format != FORMAT_NPY) {
        rows = read_column(path, format, type ? type : SX_U64);
        refuse_reserved(&rows, path);
        return rows;
    }
    rows = read_column(path, format, 0);
    if (rows.type == SX_I32 || rows.type == SX_I64)
        make_unsigned(&rows, path);
    if ((rows.type != SX_U32 && rows.type != SX_U64) ||
        (type && type != rows.type))
        fail("%s: the .npy file holds %s values, but rows are %s", path,
             sx_type_name(rows.type), type ? sx_type_name(type)
                                           : "u32 or u64");
    refuse_reserved(&rows, path);
    return rows;
}
