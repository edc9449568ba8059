#include "time_unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calendar.h"
#include "notation.h"
#include "open.h"
#include "say.h"

#define NAT INT64_MIN             /* no time: in every unit */
#define E9  ((wide)1000000000)

/* Units of a fixed length in attoseconds; years and months have months. */
static const struct { char word[3]; bool months; wide length; } units[] = {
    { "Y", true, 12 },              { "M", true, 1 },
    { "W", false, 604800 * E9 * E9 }, { "D", false, 86400 * E9 * E9 },
    { "h", false, 3600 * E9 * E9 },   { "m", false, 60 * E9 * E9 },
    { "s", false, E9 * E9 },          { "ms", false, E9 * 1000000 },
    { "us", false, E9 * 1000 },       { "ns", false, E9 },
    { "ps", false, 1000000 },         { "fs", false, 1000 },
    { "as", false, 1 },
};

static const wide day = 86400 * E9 * E9;

/* ---- names ------------------------------------------------------------------------ */

static int number_of(const char *word, size_t length)
{
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].word) == length && !memcmp(units[i].word, word, length))
            return (int)i;
    return -1;
}

bool unit_parse(const char *text, time_unit *out)
{
    static const struct { const char *name; char kind; } names[] = {
        { "datetime64", 'M' }, { "timedelta64", 'm' }, { "<M8", 'M' }, { "<m8", 'm' },
    };
    const char *at = NULL;
    uint64_t count = 0;
    size_t length;

    *out = (time_unit){ .count = 1 };
    for (unsigned i = 0; i < sizeof names / sizeof *names && !at; i++)
        if (!strncmp(text, names[i].name, strlen(names[i].name))) {
            at = text + strlen(names[i].name);
            out->kind = names[i].kind;
        }
    if (!at)
        return false;
    if (!*at)
        return true;
    if (*at++ != '[')
        return false;
    for (; *at >= '0' && *at <= '9' && count < INT32_MAX; at++)
        count = count * 10 + (uint64_t)(*at - '0');
    if (count > INT32_MAX || (at[-1] != '[' && count == 0))
        return false;
    length = strcspn(at, "]");
    if (strcmp(at + length, "]") || number_of(at, length) < 0)
        return false;
    out->count = count ? (uint32_t)count : 1;
    memcpy(out->word, at, length);
    return true;
}

static void print(time_unit u, const char *moment, const char *duration,
                  char out[TIME_UNIT_MAX])
{
    char count[16] = "";

    if (u.count != 1)
        snprintf(count, sizeof count, "%u", u.count);
    snprintf(out, TIME_UNIT_MAX, *u.word ? "%s[%s%s]" : "%s", u.kind == 'M' ? moment : duration,
             count, u.word);
}

void unit_name(time_unit u, char out[TIME_UNIT_MAX])
{
    print(u, "datetime64", "timedelta64", out);
}

void unit_descr(time_unit u, char out[TIME_UNIT_MAX])
{
    print(u, "<M8", "<m8", out);
}

time_unit unit_of_index(const sx_index *ix)
{
    const char *unit = sx_note_of(ix, NOTE_UNIT), *as = sx_note_of(ix, NOTE_KEYS_AS);
    time_unit u = { 0 };

    if (describe(ix).key_type != SX_T64)
        return u;
    if (as && !strcmp(as, "iso8601"))
        return (time_unit){ 'M', "ns", 1 };
    if (!unit || *unit == '<' || !unit_parse(unit, &u))
        u.kind = 0;
    return u;
}

/* ---- numbers ---------------------------------------------------------------------- */

static bool has_months(time_unit u)
{
    return units[number_of(u.word, strlen(u.word))].months;
}

static wide step_of(time_unit u)  /* in months, or in attoseconds */
{
    return units[number_of(u.word, strlen(u.word))].length * u.count;
}

static wide divisor(wide a, wide b)
{
    while (b) {
        wide rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* How many steps of `to` are number steps of `from`; false if that is no whole number. A
 * number past 127 bits becomes one that is too far, too. */
static bool rescale(wide number, wide from, wide to, wide *out)
{
    wide common = divisor(from, to), steps = from / common, parts = to / common;

    if (number % parts)
        return false;
    if (__builtin_mul_overflow(number / parts, steps, out))
        *out = (wide)INT64_MAX + 1;
    return true;
}

/* From months to steps of a fixed length and back, by the calendar. */
static bool from_months(int64_t time, time_unit from, time_unit to, wide *out)
{
    wide months = time * step_of(from), years = down(months, 12);
    calendar_day d = { 1970 + years, (int)(months - 12 * years) + 1, 1 };

    return rescale(days_of(d), day, step_of(to), out);
}

static bool to_months(int64_t time, time_unit from, time_unit to, wide *out)
{
    wide days;
    calendar_day d;

    if (!rescale(time, step_of(from), day, &days))
        return false;
    d = day_of(days);
    return d.day == 1 && rescale((d.year - 1970) * 12 + d.month - 1, 1, step_of(to), out);
}

static bool convert(int64_t time, time_unit from, time_unit to, wide *out)
{
    if (has_months(from) == has_months(to))
        return rescale(time, step_of(from), step_of(to), out);
    return (has_months(from) ? from_months : to_months)(time, from, to, out);
}

void unit_convert(int64_t *times, uint64_t n, time_unit from, time_unit to, const char *path)
{
    char given[TIME_UNIT_MAX], wanted[TIME_UNIT_MAX];

    unit_name(from, given);
    unit_name(to, wanted);
    if (from.kind != to.kind)
        fail("%s: the .npy file holds %s values, but %s are needed", path, given, wanted);
    if (!*from.word || !*to.word || !strcmp(given, wanted))
        return;
    if (from.kind == 'm' && has_months(from) != has_months(to))
        fail("%s: the .npy file holds %s values, but %s are needed, and no number of these is "
             "as long: months have 28 to 31 days", path, given, wanted);
    for (uint64_t i = 0; i < n; i++) {
        wide made;

        if (times[i] == NAT)
            continue;
        if (!convert(times[i], from, to, &made))
            fail("%s: %lld at position %llu, in %s, is no whole number in %s, the unit that is "
                 "needed", path, (long long)times[i], (unsigned long long)i, given, wanted);
        if (made > INT64_MAX || made <= NAT)
            fail("%s: %lld at position %llu, in %s, is too large a number in %s, the unit that "
                 "is needed", path, (long long)times[i], (unsigned long long)i, given, wanted);
        times[i] = (int64_t)made;
    }
}
