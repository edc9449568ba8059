/* io.c - what the reading and the writing of columns share. */
#include "io.h"

#include <string.h>

#include "opts.h"
#include "say.h"

bool is_dash(const char *path)
{
    return !strcmp(path, "-");
}

void expect_one_stdin(const char *a, const char *b)
{
    if (is_dash(a) && is_dash(b))
        fail_usage("only one file can be '-', for stdin is read once");
}

bool format_is_text(file_format format)
{
    return format == FORMAT_TEXT || format == FORMAT_CSV || format == FORMAT_TSV;
}

file_format format_of_name(const char *path, file_format asked)
{
    static const struct { const char *end; file_format format; } names[] = {
        { ".txt", FORMAT_TEXT },   { ".csv", FORMAT_CSV },
        { ".tsv", FORMAT_TSV },    { ".tab", FORMAT_TSV },
        { ".sosd", FORMAT_SOSD },  { ".npy", FORMAT_NPY },
        { ".raw", FORMAT_RAW },    { ".bin", FORMAT_RAW },
        /* Data sets of the SOSD benchmark have such names. */
        { "_uint32", FORMAT_SOSD }, { "_uint64", FORMAT_SOSD },
    };

    if (asked != FORMAT_UNKNOWN)
        return asked;
    if (is_dash(path))
        return FORMAT_TEXT;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char packed[16];

        snprintf(packed, sizeof packed, "%s.gz", names[i].end);
        if (ends_with(path, names[i].end) || ends_with(path, packed))
            return names[i].format;
    }
    return FORMAT_UNKNOWN;
}

file_format format_needed(const char *path, file_format asked)
{
    file_format format = format_of_name(path, asked);

    if (format == FORMAT_UNKNOWN)
        fail_usage("%s: the name does not tell the format; add --format %s",
                   path, IN_FORMAT_CHOICES);
    return format;
}

file_format format_of_output(const char *path, file_format asked)
{
    file_format format = format_of_name(path, asked);

    return format == FORMAT_UNKNOWN || format_is_text(format) ? FORMAT_TEXT : format;
}

bool output_is_csv(const char *path, file_format asked)
{
    return format_of_name(path, asked) == FORMAT_CSV;
}

sx_column column_over(int type, uint64_t n, void *data)
{
    return (sx_column){ .type = type, .place = SX_HOST, .n = n,
                        .data = data };
}

sx_column column_part(const sx_column *whole, uint64_t from, uint64_t n)
{
    sx_column part = column_over(whole->type, n, whole->data);

    if (whole->type == SX_STR) {  /* the first offset need not be 0 */
        part.offsets = (uint64_t *)whole->offsets + from;
        part.offset_bytes = whole->offset_bytes;
        part.bytes = whole->bytes;
    } else {
        part.data = (char *)whole->data + from * sx_type_bytes(whole->type);
    }
    return part;
}

void swap_if_big_endian(int type, void *values, uint64_t n)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    size_t size = sx_type_bytes(type);

    if (type == SX_B16)           /* bytes, not a number */
        return;
    for (uint64_t i = 0; i < n; i++) {
        unsigned char *v = (unsigned char *)values + i * size;

        for (size_t b = 0; b < size / 2; b++) {
            unsigned char c = v[b];

            v[b] = v[size - 1 - b];
            v[size - 1 - b] = c;
        }
    }
#else
    (void)type, (void)values, (void)n;
#endif
}
