/* io_npy.c - the header of NumPy's .npy files.
 *
 *     bytes 0..5   \x93NUMPY
 *           6, 7   version, major and minor
 *           8..    length of the rest: 2 bytes (version 1), 4 (2 and 3)
 *           ..     {'descr': '<u8', 'fortran_order': False, 'shape': (7,), }
 *                  blanks and a newline, so that the values start at a
 *                  multiple of 64 */
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "say.h"

/* NumPy itself refuses longer headers by default. */
enum { HEADER_MAX = 10000 };

static const char magic[6] = "\x93NUMPY";

/* The names of types; V16 is written for 16-byte keys. */
static const struct { const char *descr; int type; } dtypes[] = {
    { "<u4", SX_U32 },  { "<u8", SX_U64 },  { "<i4", SX_I32 },
    { "<i8", SX_I64 },  { "<f4", SX_F32 },  { "<f8", SX_F64 },
    { "|V16", SX_B16 }, { "|S16", SX_B16 },
    { "<i8", SX_T64 },            /* for writing times whose unit is not known */
};

/* ---- the dictionary, by recursive descent over its text ---------------- */

typedef struct {
    const char *at;
    const char *name;             /* of the file */
} cursor;

_Noreturn static void bad_header(const cursor *c)
{
    fail("%s: the .npy header is not understood at '%.20s'", c->name, c->at);
}

static bool accept(cursor *c, const char *token)
{
    size_t length = strlen(token);

    c->at += strspn(c->at, " \t\n");
    if (strncmp(c->at, token, length))
        return false;
    c->at += length;
    return true;
}

static void expect(cursor *c, const char *token)
{
    if (!accept(c, token))
        bad_header(c);
}

static void quoted(cursor *c, char *out, size_t space)
{
    const char *quote = accept(c, "'") ? "'" : "\"";
    size_t length;

    if (*quote == '"')
        expect(c, quote);
    length = strcspn(c->at, quote);
    if (length >= space || !c->at[length])
        bad_header(c);
    memcpy(out, c->at, length);
    out[length] = 0;
    c->at += length + 1;
}

static uint64_t number(cursor *c)
{
    uint64_t value = 0;

    c->at += strspn(c->at, " ");
    if (*c->at < '0' || *c->at > '9')
        bad_header(c);
    for (; *c->at >= '0' && *c->at <= '9'; c->at++) {
        unsigned digit = (unsigned)(*c->at - '0');

        if (value > (UINT64_MAX - digit) / 10)
            fail("%s: the .npy header has a shape past 64 bits", c->name);
        value = value * 10 + digit;
    }
    return value;
}

typedef struct {
    char descr[32];
    bool fortran;
    int dimensions;               /* -1: no shape seen */
    uint64_t shape[2];
} dictionary;

static void read_shape(cursor *c, dictionary *d)
{
    d->dimensions = 0;
    expect(c, "(");
    while (!accept(c, ")")) {
        uint64_t extent = number(c);

        if (d->dimensions < 2)
            d->shape[d->dimensions] = extent;
        d->dimensions++;
        if (!accept(c, ",")) {
            expect(c, ")");
            break;
        }
    }
}

static void read_descr(cursor *c, dictionary *d)
{
    if (accept(c, "["))
        fail("%s: the .npy file holds records; columns of numbers or of 16 "
             "bytes can be read", c->name);
    quoted(c, d->descr, sizeof d->descr);
}

static dictionary read_dictionary(cursor *c)
{
    dictionary d = { .dimensions = -1 };
    bool order_seen = false;

    expect(c, "{");
    while (!accept(c, "}")) {
        char key[32];

        quoted(c, key, sizeof key);
        expect(c, ":");
        if (!strcmp(key, "descr")) {
            read_descr(c, &d);
        } else if (!strcmp(key, "fortran_order")) {
            order_seen = true;
            d.fortran = accept(c, "True");
            if (!d.fortran)
                expect(c, "False");
        } else if (!strcmp(key, "shape")) {
            read_shape(c, &d);
        } else {
            fail("%s: the .npy header has an unknown entry '%s'", c->name,
                 key);
        }
        if (!accept(c, ",")) {
            expect(c, "}");
            break;
        }
    }
    if (!d.descr[0] || !order_seen || d.dimensions < 0)
        fail("%s: the .npy header lacks descr, fortran_order or shape",
             c->name);
    return d;
}

/* ---- reading ----------------------------------------------------------- */

static npy_header understood(const dictionary *d, const char *name)
{
    time_unit unit;

    /* (n, 16) single bytes: arrays of UUIDs often come like this. */
    if (d->dimensions == 2 && !d->fortran && d->shape[1] == 16 &&
        (!strcmp(d->descr, "|u1") || !strcmp(d->descr, "|i1")))
        return (npy_header){ .type = SX_B16, .n = d->shape[0] };
    if (d->dimensions != 1)
        fail("%s: the .npy array has %d dimensions, not 1", name,
             d->dimensions);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(d->descr, dtypes[i].descr))
            return (npy_header){ .type = dtypes[i].type, .n = d->shape[0] };
    if (unit_parse(d->descr, &unit))
        return (npy_header){ .type = SX_T64, .unit = unit, .n = d->shape[0] };
    if (!strncmp(d->descr, "<M8", 3) || !strncmp(d->descr, "<m8", 3))
        fail("%s: the .npy dtype '%s' has no unit out of Y M W D h m s ms us ns ps fs as",
             name, d->descr);
    if (d->descr[0] == '>')
        fail("%s: the .npy dtype '%s' is big-endian, not little-endian",
             name, d->descr);
    fail("%s: the .npy dtype '%s' is not one of u4 u8 i4 i8 f4 f8 M8 m8 V16 S16",
         name, d->descr);
}

npy_header npy_read_header(input *in)
{
    unsigned char start[8], length_bytes[4] = { 0 };
    char text[HEADER_MAX + 1];
    cursor c = { .at = text, .name = in->name };
    dictionary d;
    uint32_t length;

    input_exactly(in, start, sizeof start, ".npy header");
    if (memcmp(start, magic, sizeof magic))
        fail("%s: this is no .npy file, it does not start with \\x93NUMPY",
             in->name);
    if (start[6] < 1 || start[6] > 3)
        fail("%s: .npy version %d.%d is not 1, 2 or 3", in->name, start[6],
             start[7]);
    input_exactly(in, length_bytes, start[6] == 1 ? 2 : 4, ".npy header");
    length = (uint32_t)length_bytes[0] | (uint32_t)length_bytes[1] << 8 |
             (uint32_t)length_bytes[2] << 16 |
             (uint32_t)length_bytes[3] << 24;
    if (length > HEADER_MAX)
        fail("%s: the .npy header of %u bytes is longer than %d", in->name,
             length, HEADER_MAX);
    input_exactly(in, text, length, ".npy header");
    text[length] = 0;
    d = read_dictionary(&c);
    return understood(&d, in->name);
}

/* ---- writing ----------------------------------------------------------- */

void npy_write_header(FILE *to, int type, time_unit unit, uint64_t n)
{
    const char *descr = "";
    char times[TIME_UNIT_MAX];
    char text[128];               /* with the 10 bytes before: 128 is plenty */
    int used, total;

    for (size_t i = sizeof dtypes / sizeof *dtypes; i-- > 0; )
        if (dtypes[i].type == type)
            descr = dtypes[i].descr; /* the first of the type stays */
    if (type == SX_T64 && unit.kind) {
        unit_descr(unit, times);
        descr = times;
    }
    used = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': "
                    "False, 'shape': (%llu,), }", descr,
                    (unsigned long long)n);
    total = (10 + used + 1 + 63) / 64 * 64 - 10;
    fwrite(magic, 1, sizeof magic, to);
    fputc(1, to);
    fputc(0, to);
    fputc(total & 255, to);
    fputc(total >> 8, to);
    fprintf(to, "%-*s\n", total - 1, text);
}
