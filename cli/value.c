#include "value.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sextant.h"

enum { FLOAT_TEXT_MAX = 128 };    /* no float needs half of it */

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The magnitude of an unsigned number. strtoull() would also take blanks, signs
 * and octal, which are not allowed here. */
static bool parse_decimal(const char *text, size_t length, uint64_t *out)
{
    uint64_t value = 0;

    if (!length)
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(text[i] - '0');

        /* 19 digits are below 2^64 in any case. */
        if (digit > 9 || (i >= 19 && value > (UINT64_MAX - digit) / 10))
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

bool parse_hex(const char *text, size_t length, uint64_t *out)
{
    uint64_t value = 0;

    if (!length)
        return false;
    for (size_t i = 0; i < length; i++) {
        int digit = hex_digit(text[i]);

        if (digit < 0 || value >> 60)
            return false;
        value = value << 4 | (unsigned)digit;
    }
    *out = value;
    return true;
}

static bool parse_unsigned(const char *text, size_t length, uint64_t max, uint64_t *out)
{
    bool hex = length > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');

    return (hex ? parse_hex(text + 2, length - 2, out)
                : parse_decimal(text, length, out)) && *out <= max;
}

static bool parse_signed(const char *text, size_t length, int64_t max, int64_t *out)
{
    bool minus = length && *text == '-';
    uint64_t magnitude;

    if (!parse_unsigned(text + minus, length - minus, (uint64_t)max + minus, &magnitude))
        return false;
    *out = (int64_t)(minus ? 0 - magnitude : magnitude);
    return true;
}

/* Overflow to infinity is refused, as the word was finite, and so is underflow
 * to 0, as it was not 0. A number with fewer bits than usual is ordinary
 * rounding. */
static bool parse_real(const char *text, size_t length, double *d, float *f)
{
    char word[FLOAT_TEXT_MAX], *end;
    double value;

    if (!length || length >= sizeof word || isspace((unsigned char)*text))
        return false;
    memcpy(word, text, length);
    word[length] = 0;
    errno = 0;
    value = d ? (*d = strtod(word, &end)) : (*f = strtof(word, &end));
    return end == word + length && !(errno == ERANGE && (isinf(value) || value == 0));
}

bool parse_b16(const char *word, size_t length, unsigned char out[16])
{
    bool dashes = length == 36;
    int digits = 0;

    if (length != 32 && length != 36)
        return false;
    for (size_t i = 0; i < length; i++) {
        int digit;

        if (dashes && (i == 8 || i == 13 || i == 18 || i == 23)) {
            if (word[i] != '-')
                return false;
            continue;
        }
        digit = hex_digit(word[i]);
        if (digit < 0)
            return false;
        out[digits / 2] = (unsigned char)(digits % 2
            ? out[digits / 2] | digit : digit << 4);
        digits++;
    }
    return true;
}

bool value_parse(int type, const char *text, size_t length, void *out)
{
    uint64_t u;
    int64_t i;

    switch (type) {
    case SX_U32:
        if (!parse_unsigned(text, length, UINT32_MAX, &u))
            return false;
        *(uint32_t *)out = (uint32_t)u;
        return true;
    case SX_U64:
        return parse_unsigned(text, length, UINT64_MAX, out);
    case SX_I32:
        if (!parse_signed(text, length, INT32_MAX, &i))
            return false;
        *(int32_t *)out = (int32_t)i;
        return true;
    case SX_I64:
        return parse_signed(text, length, INT64_MAX, out);
    case SX_T64:
        if (length == 3 && !memcmp(text, "NaT", 3)) {
            *(int64_t *)out = INT64_MIN;
            return true;
        }
        return parse_signed(text, length, INT64_MAX, out);
    case SX_F32:
        return parse_real(text, length, NULL, out);
    case SX_F64:
        return parse_real(text, length, out, NULL);
    case SX_B16:
        return parse_b16(text, length, out);
    }
    return false;
}

static size_t print_unsigned(uint64_t u, bool minus, char *text)
{
    char reversed[24];
    size_t digits = 0, length = 0;

    do {
        reversed[digits++] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (minus)
        text[length++] = '-';
    while (digits)
        text[length++] = reversed[--digits];
    text[length] = 0;
    return length;
}

static size_t print_signed(int64_t i, char *text)
{
    return print_unsigned(i < 0 ? 0 - (uint64_t)i : (uint64_t)i, i < 0, text);
}

/* The fewest digits that bring the value back: 9 are enough for every float, 17
 * for every double. Up to 6, or 15, digits of the usual numbers are never more than
 * are needed, as %g leaves zeros at the end out; only numbers with fewer bits than
 * usual may need fewer. printf would put a sign before some NaNs, but all NaNs are
 * one key. */
static size_t print_float(float f, char *text)
{
    int length = snprintf(text, VALUE_TEXT_MAX, "nan");

    for (int digits = fabsf(f) < FLT_MIN ? 1 : 6; digits <= 9 && !isnan(f); digits++) {
        length = snprintf(text, VALUE_TEXT_MAX, "%.*g", digits, (double)f);
        if (strtof(text, NULL) == f)
            break;
    }
    return (size_t)length;
}

static size_t print_double(double d, char *text)
{
    int length = snprintf(text, VALUE_TEXT_MAX, "nan");

    for (int digits = fabs(d) < DBL_MIN ? 1 : 15; digits <= 17 && !isnan(d); digits++) {
        length = snprintf(text, VALUE_TEXT_MAX, "%.*g", digits, d);
        if (strtod(text, NULL) == d)
            break;
    }
    return (size_t)length;
}

static size_t print_b16(const unsigned char *bytes, char *text)
{
    for (int i = 0; i < 16; i++) {
        text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    text[32] = 0;
    return 32;
}

size_t value_print(int type, const void *value, char text[VALUE_TEXT_MAX])
{
    switch (type) {
    case SX_U32: return print_unsigned(*(const uint32_t *)value, false, text);
    case SX_U64: return print_unsigned(*(const uint64_t *)value, false, text);
    case SX_I32: return print_signed(*(const int32_t *)value, text);
    case SX_I64: return print_signed(*(const int64_t *)value, text);
    case SX_T64:
        return *(const int64_t *)value == INT64_MIN
                   ? (size_t)snprintf(text, VALUE_TEXT_MAX, "NaT")
                   : print_signed(*(const int64_t *)value, text);
    case SX_F32: return print_float(*(const float *)value, text);
    case SX_F64: return print_double(*(const double *)value, text);
    case SX_B16: return print_b16(value, text);
    }
    text[0] = 0;
    return 0;
}

const char *value_expected(int type)
{
    switch (type) {
    case SX_U32: return "a u32 (0 to 4294967295)";
    case SX_U64: return "a u64 (0 to 18446744073709551615)";
    case SX_I32: return "an i32 (-2147483648 to 2147483647)";
    case SX_I64:
        return "an i64 (-9223372036854775808 to 9223372036854775807)";
    case SX_T64:
        return "a t64 (-9223372036854775807 to 9223372036854775807, or NaT)";
    case SX_F32: return "an f32 (0, or 1.4e-45 to 3.4e+38 in size)";
    case SX_F64: return "an f64 (0, or 4.9e-324 to 1.7e+308 in size)";
    case SX_B16: return "a b16 (32 hex digits, or a UUID)";
    }
    return "of a known type";
}

bool value_is_not_finite(int type, const void *value)
{
    return (type == SX_F32 && !isfinite(*(const float *)value)) ||
           (type == SX_F64 && !isfinite(*(const double *)value));
}
