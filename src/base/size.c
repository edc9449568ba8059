#include "base/size.h"

#include <string.h>

/* value becomes value * factor + more; false if that is past 64 bits. */
static int grow(uint64_t *value, uint64_t factor, uint64_t more)
{
    return !__builtin_mul_overflow(*value, factor, value) &&
           !__builtin_add_overflow(*value, more, value);
}

/* The number that begins at `at`; returns where its digits end. Clears *fits if it is too
 * large. */
static const char *digits(const char *at, const char *end, uint64_t *value, int *fits)
{
    *value = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        *fits = grow(value, 10, (uint64_t)(*at - '0')) && *fits;
    return at;
}

/* Multiplies value by base, `times` times. For 0 and 1 the number of times is no matter. */
static int multiply(uint64_t *value, uint64_t base, uint64_t times)
{
    if (base <= 1 || *value == 0) {
        *value = times ? *value * base : *value;
        return 1;
    }
    for (; times; times--)
        if (!grow(value, base, 0))
            return 0;
    return 1;
}

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* 1 to 4 for K to T, with or without iB behind the letter; 0: it is no unit. */
static unsigned unit(const char *at, const char *end)
{
    static const char units[] = "kmgt";
    const char *found = strchr(units, small(*at));

    if (!small(*at) || !found ||
        !(end - at == 1 || (end - at == 3 && small(at[1]) == 'i' && small(at[2]) == 'b')))
        return 0;
    return (unsigned)(found - units) + 1;
}

sx_size_kind sx_size_parse(const char *text, size_t length, uint64_t *out)
{
    const char *end = text + length;
    uint64_t value, times;
    int fits = 1;
    const char *at = digits(text, end, &value, &fits);

    if (at == text)
        return SX_SIZE_NONE;
    if (at < end && (*at == '^' || small(*at) == 'e')) {
        int power = *at == '^';
        const char *from = at + 1;
        uint64_t base = value;
        at = digits(from, end, &times, &fits);
        if (at == from || at < end)
            return SX_SIZE_NONE;
        value = power ? 1 : value;
        fits = fits && multiply(&value, power ? base : 10, times);
    } else if (at < end) {
        unsigned steps = unit(at, end);
        if (!steps)
            return SX_SIZE_NONE;
        fits = fits && grow(&value, 1ull << 10 * steps, 0);
    }
    if (!fits)
        return SX_SIZE_TOO_LARGE;
    *out = value;
    return SX_SIZE_OK;
}
