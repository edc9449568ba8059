#include "calendar.h"

#include <stdbool.h>

#define EPOCH 719528              /* days_before(1970) */

static bool leap(wide year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int month_days(wide year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return days[month - 1] + (month == 2 && leap(year));
}

wide down(wide a, wide b)
{
    return a / b - (a % b < 0);
}

/* Days from 0000-01-01 to the first day of a year. */
static wide days_before(wide year)
{
    wide last = year - 1;

    return 365 * year + down(last, 4) - down(last, 100) + down(last, 400) + 1;
}

wide days_of(calendar_day d)
{
    wide days = days_before(d.year) - EPOCH + d.day - 1;

    for (int m = 1; m < d.month; m++)
        days += month_days(d.year, m);
    return days;
}

calendar_day day_of(wide days)
{
    wide from_zero = days + EPOCH, rest;
    /* 400 years have 146097 days: too early, by two years at most. */
    calendar_day d = { .year = down(from_zero * 400, 146097) - 1, .month = 1 };

    while (days_before(d.year + 1) <= from_zero)
        d.year++;
    rest = from_zero - days_before(d.year);
    while (rest >= month_days(d.year, d.month))
        rest -= month_days(d.year, d.month++);
    d.day = (int)rest + 1;
    return d;
}
