/* io_read.c - columns from files.
 *
 * No number of a header is believed before the bytes are there: the size of
 * a regular file bounds every allocation, and for a pipe the buffer grows
 * only as data comes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "progress.h"
#include "say.h"
#include "value.h"

enum {
    STEP_BYTES = 1 << 20,         /* read at a time */
    LINE_MAX_BYTES = 128          /* no value needs half of it */
};

#define UNTIL_END UINT64_MAX

/* ---- opening ----------------------------------------------------------- */

static input input_open(const char *path)
{
    input in = { .name = is_dash(path) ? "stdin" : path };
    struct stat st;

    in.from = is_dash(path) ? stdin : fopen(path, "rb");
    if (!in.from || fstat(fileno(in.from), &st))
        fail("%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        fail("%s: is a directory", path);
    /* Where stdin stands in a file is not known, so it is read to its end. */
    if (S_ISREG(st.st_mode) && !is_dash(path)) {
        in.sized = true;
        in.size = (uint64_t)st.st_size;
    }
    setvbuf(in.from, NULL, _IOFBF, STEP_BYTES);
    return in;
}

static void input_close(input *in)
{
    if (ferror(in->from))
        fail("%s: reading failed after %llu bytes", in->name,
             (unsigned long long)in->offset);
    if (in->from != stdin)
        fclose(in->from);
}

static size_t input_some(input *in, void *bytes, size_t count)
{
    size_t got = fread(bytes, 1, count, in->from);

    if (got < count && ferror(in->from))
        fail("%s: %s", in->name, strerror(errno));
    in->offset += got;
    return got;
}

void input_exactly(input *in, void *bytes, size_t count, const char *what)
{
    if (input_some(in, bytes, count) < count)
        fail("%s: the %s is cut short: the file ends at byte %llu",
             in->name, what, (unsigned long long)in->offset);
}

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

    if (in->sized && in->offset > in->size)
        in->sized = false;        /* the file has grown since */
    if (in->sized && wanted != UNTIL_END &&
        wanted > (in->size - in->offset) / size)
        fail_cut_short(in, wanted, (in->size - in->offset) / size);
    space = first_space(in, wanted, size);
    data = must_alloc(space, size);
    progress_start("reading", in->sized ? in->size : 0);
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
        progress_at(in->offset);
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
    if (wanted != UNTIL_END && fgetc(in->from) != EOF)
        fail("%s: more bytes follow the %llu announced values, at byte %llu",
             in->name, (unsigned long long)wanted,
             (unsigned long long)in->offset);
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

/* ---- text -------------------------------------------------------------- */

/* Reads a line without its end and the blanks round it; false at the end of the
 * file. A NUL byte, or the end of too long a line, becomes '?', which no value
 * contains. */
static bool read_line(input *in, char line[LINE_MAX_BYTES])
{
    size_t length = 0;
    int c = getc_unlocked(in->from);

    if (c == EOF)
        return false;
    for (; c != EOF && c != '\n'; c = getc_unlocked(in->from)) {
        in->offset++;
        if (length == 0 && (c == ' ' || c == '\t'))
            continue;
        if (length < LINE_MAX_BYTES - 1)
            line[length++] = c ? (char)c : '?';
        else
            line[LINE_MAX_BYTES - 2] = '?';
    }
    in->offset += c == '\n';
    while (length && (line[length - 1] == ' ' || line[length - 1] == '\t' ||
                      line[length - 1] == '\r'))
        length--;
    line[length] = 0;
    return true;
}

static sx_column read_text(input *in, int type)
{
    size_t size = sx_type_bytes(type);
    uint64_t space = STEP_BYTES / size, n = 0;
    unsigned char *data = must_alloc(space, size);
    char line[LINE_MAX_BYTES];

    progress_start("reading", in->sized ? in->size : 0);
    while (read_line(in, line)) {
        if (n == space) {
            space += space / 2;
            data = must_grow(data, space, size);
            progress_at(in->offset);
        }
        if (!value_parse(type, line, data + n * size))
            fail("%s:%llu: '%.40s' is not %s", in->name,
                 (unsigned long long)n + 1, line, value_expected(type));
        n++;
    }
    progress_stop();
    return column_over(type, n, must_grow(data, n, size));
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

sx_column read_column(const char *path, file_format format, int type)
{
    input in = input_open(path);
    sx_column column;

    if (format == FORMAT_NPY) {
        npy_header header = npy_read_header(&in);

        if (type && type != header.type)
            fail("%s: the .npy file holds %s values, but %s are needed",
                 path, sx_type_name(header.type), sx_type_name(type));
        column = read_values(&in, header.type, header.n);
        input_close(&in);
        return column;
    }
    if (!type)
        type = type_of_name(path);
    if (!type)
        fail_usage("%s: the file does not tell the type of its keys; add "
                   "--type", path);
    switch (format) {
    case FORMAT_SOSD: column = read_sosd(&in, type); break;
    case FORMAT_RAW: column = read_values(&in, type, UNTIL_END); break;
    default: column = read_text(&in, type); break;
    }
    input_close(&in);
    return column;
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
