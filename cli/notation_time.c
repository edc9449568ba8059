/* notation_time.c - times and dates of ISO 8601, in the Gregorian calendar.
 *
 *     2026-11-16                     midnight; a date
 *     2026-11-16T23:15               blank or T between date and time
 *     2026-11-16T23:15:40.123456789  a comma for the point is allowed, too
 *     2026-11-16T23:15+01:00         Z, +hh, +hhmm or +hh:mm; no zone means UTC
 *
 * A time is nanoseconds since 1970 in UTC, in 64 bits: from 1677-09-21T00:12:43.145224193Z
 * to 2262-04-11T23:47:16.854775807Z; the nanosecond before these is "NaT", no time, which
 * t64 keys have behind all others. A date is days since 1970, in 32 bits. Years have
 * four digits, or a sign and up to seven. UTC's leap seconds (23:59:60) have no number
 * of their own, so they are refused. */
#include <stdio.h>
#include <string.h>

#include "calendar.h"
#include "notation.h"

#define NS 1000000000
#define DAY_S 86400

static size_t print_day(int64_t days, char *text)
{
    calendar_day d = day_of(days);

    return (size_t)snprintf(text, VALUE_TEXT_MAX, d.year < 0 || d.year > 9999
                            ? "%+05lld-%02d-%02d" : "%04lld-%02d-%02d",
                            (long long)d.year, d.month, d.day);
}

/* ---- reading --------------------------------------------------------------------- */

typedef struct {
    const char *at, *end;
} reader;

static bool take(reader *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* A number of exactly that many digits. */
static bool digits(reader *r, int count, int64_t *out)
{
    int64_t value = 0;

    for (int i = 0; i < count; i++, r->at++) {
        if (r->at == r->end || (unsigned)(*r->at - '0') > 9)
            return false;
        value = value * 10 + (*r->at - '0');
    }
    *out = value;
    return true;
}

static bool read_year(reader *r, int64_t *year)
{
    bool minus = r->at < r->end && *r->at == '-', sign = minus || (r->at < r->end &&
                                                                    *r->at == '+');
    int count = 4;

    r->at += sign;
    if (sign)
        for (count = 0; count < 7 && r->at + count < r->end && r->at[count] != '-'; )
            count++;
    if (count < 4 || !digits(r, count, year))
        return false;
    *year = minus ? -*year : *year;
    return true;
}

static bool read_day(reader *r, int64_t *days)
{
    int64_t year, month, day;

    if (!read_year(r, &year) || !take(r, '-') || !digits(r, 2, &month) ||
        !take(r, '-') || !digits(r, 2, &day) || month < 1 || month > 12 || day < 1 ||
        day > month_days(year, (int)month))
        return false;
    *days = (int64_t)days_of((calendar_day){ year, (int)month, (int)day });
    return true;
}

/* Digits behind the point; more than nine only if they are zeros. */
static bool read_fraction(reader *r, int64_t *ns)
{
    int64_t unit = NS;
    const char *from = r->at;

    *ns = 0;
    for (; r->at < r->end && (unsigned)(*r->at - '0') <= 9; r->at++) {
        unit /= 10;
        if (!unit && *r->at != '0')
            return false;
        *ns += unit * (*r->at - '0');
    }
    return r->at > from;
}

static bool read_clock(reader *r, int64_t *seconds, int64_t *ns)
{
    int64_t hour, minute, second = 0;

    *ns = 0;
    if (!digits(r, 2, &hour) || !take(r, ':') || !digits(r, 2, &minute))
        return false;
    if (take(r, ':')) {
        if (!digits(r, 2, &second))
            return false;
        if ((take(r, '.') || take(r, ',')) && !read_fraction(r, ns))
            return false;
    }
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *seconds = hour * 3600 + minute * 60 + second;
    return true;
}

/* Seconds that the zone is ahead of UTC. */
static bool read_zone(reader *r, int64_t *ahead)
{
    int64_t hour, minute = 0, sign = 1;

    *ahead = 0;
    if (r->at == r->end || take(r, 'Z') || take(r, 'z'))
        return true;
    if (take(r, '-'))
        sign = -1;
    else if (!take(r, '+'))
        return false;
    if (!digits(r, 2, &hour))
        return false;
    if (r->at < r->end && ((void)take(r, ':'), !digits(r, 2, &minute)))
        return false;
    *ahead = sign * (hour * 3600 + minute * 60);
    return hour <= 23 && minute <= 59;
}

bool parse_time(int type, const char *text, size_t length, void *out)
{
    reader r = { text, text + length };
    int64_t days, seconds = 0, ns = 0, ahead = 0;
    __int128 total;

    if (type == SX_T64 && length == 3 && !memcmp(text, "NaT", 3)) {
        *(int64_t *)out = INT64_MIN;
        return true;
    }
    if (!read_day(&r, &days))
        return false;
    if (r.at < r.end && ((!take(&r, 'T') && !take(&r, 't') && !take(&r, ' ')) ||
                         !read_clock(&r, &seconds, &ns) || !read_zone(&r, &ahead)))
        return false;
    total = ((__int128)days * DAY_S + seconds - ahead) * NS + ns;
    *(int64_t *)out = (int64_t)total;
    return r.at == r.end && total >= INT64_MIN + (type == SX_T64) && total <= INT64_MAX;
}

size_t print_time(int type, const void *value, char text[VALUE_TEXT_MAX])
{
    int64_t total = *(const int64_t *)value, seconds = (int64_t)down(total, NS);
    int64_t ns = total % NS + (total % NS < 0 ? NS : 0), day = (int64_t)down(seconds, DAY_S);
    int in_day = (int)(seconds - day * DAY_S);
    size_t n;

    if (type == SX_T64 && total == INT64_MIN)
        return (size_t)snprintf(text, VALUE_TEXT_MAX, "NaT");
    n = print_day(day, text);
    n += (size_t)snprintf(text + n, VALUE_TEXT_MAX - n, "T%02d:%02d:%02d", in_day / 3600,
                          in_day / 60 % 60, in_day % 60);
    if (ns) {
        n += (size_t)snprintf(text + n, VALUE_TEXT_MAX - n, ".%09d", (int)ns);
        while (text[n - 1] == '0')
            n--;
    }
    text[n++] = 'Z';
    text[n] = 0;
    return n;
}

const char *expected_time(int type)
{
    (void)type;
    return "a time such as 2026-11-16T23:15:40.5Z or 2026-11-16 23:15+01:00, from 1677 to "
           "2262 and in whole nanoseconds";
}

bool parse_date(int type, const char *text, size_t length, void *out)
{
    reader r = { text, text + length };
    int64_t days;

    (void)type;
    if (!read_day(&r, &days) || r.at != r.end || days < INT32_MIN || days > INT32_MAX)
        return false;
    *(int32_t *)out = (int32_t)days;
    return true;
}

size_t print_date(int type, const void *value, char text[VALUE_TEXT_MAX])
{
    (void)type;
    return print_day(*(const int32_t *)value, text);
}

const char *expected_date(int type)
{
    (void)type;
    return "a date such as 2026-11-16";
}
